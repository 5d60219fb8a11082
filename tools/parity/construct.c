#include "construct.h"

#include <string.h>

#include <wick/layers.h>

/* ---- arguments: each is taken from the map by its name; what is left over is what wick does not know ---- */
typedef struct arguments {
    const parity_case *k;
    json_t *left; /* name -> value */
    bool ok;      /* false: one has a form that wick does not take */
} arguments;

/* Positional arguments by their names, and those by name. */
static arguments arguments_of(const parity_case *k) {
    json_t *names = json_object_get(k->json, "ctor_param_names"), *item;
    arguments a = {k, json_object(), true};
    size_t i;
    json_array_foreach(json_object_get(k->json, "ctor_args"), i, item) {
        const char *name = json_string_value(json_array_get(names, i));
        if (!name || json_object_set(a.left, name, item) < 0) a.ok = false;
    }
    if (json_object_update(a.left, json_object_get(k->json, "ctor_kwargs")) < 0) a.ok = false;
    return a;
}

/* Takes an argument; a new reference, NULL if it is not given. */
static json_t *take(arguments *a, const char *name) {
    json_t *value = json_incref(json_object_get(a->left, name));
    json_object_del(a->left, name);
    return value;
}

static double take_number(arguments *a, const char *name, double preset) {
    json_t *value = take(a, name);
    double number = value ? json_number_value(value) : preset;
    if (value && !json_is_number(value)) a->ok = false;
    json_decref(value);
    return number;
}

static bool take_bool(arguments *a, const char *name, bool preset) {
    json_t *value = take(a, name);
    bool flag = value ? json_is_true(value) : preset;
    if (value && !json_is_boolean(value)) a->ok = false;
    json_decref(value);
    return flag;
}

/* A number for all of n sizes, or n of them; `out` keeps what it has if there is none. */
static void take_sizes(arguments *a, const char *name, int64_t *out, size_t n) {
    json_t *value = take(a, name);
    bool list = json_is_array(value);
    if (value && list && json_array_size(value) != n) a->ok = false;
    for (size_t i = 0; value && a->ok && i < n; ++i) {
        json_t *item = list ? json_array_get(value, i) : value;
        a->ok = json_is_integer(item);
        out[i] = json_integer_value(item);
    }
    json_decref(value);
}

/* A size that must be given. */
static int64_t take_size(arguments *a, const char *name) {
    int64_t size = -1;
    take_sizes(a, name, &size, 1);
    return size;
}

/* Leftovers that say in PyTorch's words what wick does anyway. */
static const struct {
    const char *name, *value; /* "": None or False */
} neutral[] = {
    {"inplace", ""},
    {"return_indices", ""},
    {"approximate", "none"},
    {"padding_mode", "zeros"},
    {"divisor_override", ""},
    {"size_average", ""},
    {"reduce", ""},
    {"max_norm", ""},
    {"scale_grad_by_freq", ""},
    {"sparse", ""},
};

static bool is_neutral(const char *name, json_t *value) {
    bool off = json_is_null(value) || json_is_false(value);
    const char *word = off ? "" : json_string_value(value);
    for (size_t i = 0; i < sizeof neutral / sizeof neutral[0]; ++i)
        if (strcmp(neutral[i].name, name) == 0) return word && strcmp(neutral[i].value, word) == 0;
    return false;
}

/* True if every argument was understood. */
static bool understood(const arguments *a) {
    const char *name;
    json_t *value;
    json_object_foreach(a->left, name, value) if (!is_neutral(name, value)) return false;
    return a->ok;
}

/* ---- layers: each takes its arguments and, if all are understood, makes the module; `dims` of its window ---- */
typedef wick_module *(*make_fn)(arguments *a, int dims);

static wick_module *make_linear(arguments *a, int dims) {
    wick_nn_linear_options o = WICK_NN_LINEAR_OPTIONS_INIT;
    int64_t in = take_size(a, "in_features"), out = take_size(a, "out_features");
    o.bias = take_bool(a, "bias", true);
    return understood(a) ? wick_nn_linear(a->k->p->c, in, out, &o) : NULL;
}

static wick_nn_conv_options take_conv(arguments *a, int64_t *kernel, int dims) {
    wick_nn_conv_options o = WICK_NN_CONV_OPTIONS_INIT;
    take_sizes(a, "kernel_size", kernel, (size_t)dims);
    take_sizes(a, "stride", o.stride, (size_t)dims);
    take_sizes(a, "padding", o.padding, (size_t)dims);
    take_sizes(a, "dilation", o.dilation, (size_t)dims);
    take_sizes(a, "output_padding", o.output_padding, (size_t)dims);
    take_sizes(a, "groups", &o.groups, 1);
    o.bias = take_bool(a, "bias", true);
    return o;
}

static wick_module *make_conv(arguments *a, int dims) {
    int64_t kernel[2] = {-1, -1}, in = take_size(a, "in_channels"), out = take_size(a, "out_channels");
    wick_nn_conv_options o = take_conv(a, kernel, dims);
    if (!understood(a)) return NULL;
    return dims == 1 ? wick_nn_conv1d(a->k->p->c, in, out, kernel[0], &o)
                     : wick_nn_conv2d(a->k->p->c, in, out, kernel[0], kernel[1], &o);
}

static wick_module *make_conv_transpose(arguments *a, int dims) {
    int64_t kernel[2] = {-1, -1}, in = take_size(a, "in_channels"), out = take_size(a, "out_channels");
    wick_nn_conv_options o = take_conv(a, kernel, dims);
    return understood(a) ? wick_nn_conv_transpose2d(a->k->p->c, in, out, kernel[0], kernel[1], &o) : NULL;
}

static wick_module *make_batch_norm(arguments *a, int dims) {
    wick_nn_batch_norm_options o = WICK_NN_BATCH_NORM_OPTIONS_INIT;
    int64_t channels = take_size(a, "num_features");
    o.eps = take_number(a, "eps", o.eps);
    o.momentum = take_number(a, "momentum", o.momentum);
    o.affine = take_bool(a, "affine", true);
    o.track_running_stats = take_bool(a, "track_running_stats", true);
    if (!understood(a)) return NULL;
    return (dims == 1 ? wick_nn_batch_norm1d : wick_nn_batch_norm2d)(a->k->p->c, channels, &o);
}

static wick_module *make_layer_norm(arguments *a, int dims) {
    wick_nn_layer_norm_options o = WICK_NN_LAYER_NORM_OPTIONS_INIT;
    int64_t shape[WICK_MAX_DIMS] = {0};
    json_t *given = json_object_get(a->left, "normalized_shape");
    size_t n = json_is_array(given) ? json_array_size(given) : 1;
    if (n > WICK_MAX_DIMS) return NULL;
    take_sizes(a, "normalized_shape", shape, n);
    o.eps = take_number(a, "eps", o.eps);
    o.elementwise_affine = take_bool(a, "elementwise_affine", true);
    o.bias = take_bool(a, "bias", true);
    return understood(a) ? wick_nn_layer_norm(a->k->p->c, shape, (int)n, &o) : NULL;
}

static wick_module *make_group_norm(arguments *a, int dims) {
    int64_t groups = take_size(a, "num_groups"), channels = take_size(a, "num_channels");
    double eps = take_number(a, "eps", 1e-5);
    bool affine = take_bool(a, "affine", true);
    return understood(a) ? wick_nn_group_norm(a->k->p->c, groups, channels, eps, affine) : NULL;
}

static wick_module *make_embedding(arguments *a, int dims) {
    wick_nn_embedding_options o = WICK_NN_EMBEDDING_OPTIONS_INIT;
    int64_t count = take_size(a, "num_embeddings"), dim = take_size(a, "embedding_dim");
    bool padded = json_is_integer(json_object_get(a->left, "padding_idx"));
    if (padded) take_sizes(a, "padding_idx", &o.padding_idx, 1);
    if (padded && o.padding_idx < 0) o.padding_idx += count; /* counted from the end */
    return understood(a) ? wick_nn_embedding(a->k->p->c, count, dim, &o) : NULL;
}

static wick_nn_pool_options take_pool(arguments *a, int64_t kernel[2]) {
    wick_nn_pool_options o = WICK_NN_POOL_OPTIONS_INIT;
    take_sizes(a, "kernel_size", kernel, 2);
    take_sizes(a, "stride", o.stride, 2);
    take_sizes(a, "padding", o.padding, 2);
    o.ceil_mode = take_bool(a, "ceil_mode", false);
    return o;
}

static wick_module *make_max_pool(arguments *a, int dims) {
    int64_t kernel[2] = {-1, -1};
    wick_nn_pool_options o = take_pool(a, kernel);
    take_sizes(a, "dilation", o.dilation, 2);
    return understood(a) ? wick_nn_max_pool2d(a->k->p->c, kernel[0], kernel[1], &o) : NULL;
}

static wick_module *make_avg_pool(arguments *a, int dims) {
    int64_t kernel[2] = {-1, -1};
    wick_nn_pool_options o = take_pool(a, kernel);
    o.count_include_pad = take_bool(a, "count_include_pad", true);
    return understood(a) ? wick_nn_avg_pool2d(a->k->p->c, kernel[0], kernel[1], &o) : NULL;
}

static wick_module *make_adaptive_avg_pool(arguments *a, int dims) {
    int64_t size[2] = {-1, -1};
    take_sizes(a, "output_size", size, 2);
    return understood(a) ? wick_nn_adaptive_avg_pool2d(a->k->p->c, size[0], size[1]) : NULL;
}

static const struct {
    const char *cls;
    make_fn make;
    int dims;
} layers[] = {
    {"Linear", make_linear, 0},
    {"Conv1d", make_conv, 1},
    {"Conv2d", make_conv, 2},
    {"ConvTranspose2d", make_conv_transpose, 2},
    {"BatchNorm1d", make_batch_norm, 1},
    {"BatchNorm2d", make_batch_norm, 2},
    {"LayerNorm", make_layer_norm, 0},
    {"GroupNorm", make_group_norm, 0},
    {"Embedding", make_embedding, 0},
    {"MaxPool2d", make_max_pool, 2},
    {"AvgPool2d", make_avg_pool, 2},
    {"AdaptiveAvgPool2d", make_adaptive_avg_pool, 2},
};

/* ---- activations and losses: wick's own lists ---- */
static const struct {
    const char *cls, *name, *first;
    double first_preset;
    const char *second;
    double second_preset;
} activations[] = {
#define ACTIVATION(name, cls, a, da, b, db) {cls, #name, a, da, b, db},
    WICK_NN_ACTIVATIONS(ACTIVATION)
#undef ACTIVATION
};

static const char *const losses[] = {
#define LOSS(name, cls, classes, doc) [WICK_LOSS_##name] = cls,
    WICK_LOSSES(LOSS)
#undef LOSS
};

static wick_module *make_activation(arguments *a, size_t row) {
    double first = activations[row].first_preset, second = activations[row].second_preset;
    if (*activations[row].first) first = take_number(a, activations[row].first, first);
    if (*activations[row].second) second = take_number(a, activations[row].second, second);
    return understood(a) ? wick_nn_activation(a->k->p->c, activations[row].name, first, second) : NULL;
}

static wick_reduction take_reduction(arguments *a) {
    static const char *const words[] = {
        [WICK_REDUCE_NONE] = "none", [WICK_REDUCE_MEAN] = "mean", [WICK_REDUCE_SUM] = "sum"};
    json_t *value = take(a, "reduction");
    const char *word = value ? json_string_value(value) : "mean";
    int found = -1;
    for (int i = 0; word && i < 3; ++i)
        if (strcmp(word, words[i]) == 0) found = i;
    json_decref(value);
    if (found < 0) a->ok = false;
    return found < 0 ? WICK_REDUCE_MEAN : (wick_reduction)found;
}

/* An F32 tensor that is written out in the record: a number or a list of numbers. NULL if it is not given. */
static wick_tensor *take_tensor(arguments *a, const char *name) {
    json_t *value = take(a, name), *data = json_object_get(value, "tensor");
    const char *dtype = json_string_value(json_object_get(value, "dtype"));
    int64_t count = json_is_array(data) ? (int64_t)json_array_size(data) : 1;
    float *elements = arena_alloc(a->k->arena, (size_t)count * sizeof *elements);
    wick_tensor *t = NULL;
    bool given = value && !json_is_null(value), ok = dtype && strcmp(dtype, "torch.float32") == 0;
    for (int64_t i = 0; given && i < count; ++i) {
        json_t *item = json_is_array(data) ? json_array_get(data, (size_t)i) : data;
        ok = ok && json_is_number(item);
        elements[i] = (float)json_number_value(item);
    }
    if (given && ok)
        t = wick_tensor_from_host(a->k->p->c, elements, WICK_F32, json_is_array(data), &count, a->k->p->device);
    if (given && !ok) a->ok = false;
    json_decref(value);
    return t;
}

static wick_loss *make_loss(arguments *a, wick_loss_kind kind) {
    wick_loss_options o = WICK_LOSS_OPTIONS_INIT;
    o.reduction = take_reduction(a);
    take_sizes(a, "ignore_index", &o.ignore_index, 1);
    o.label_smoothing = take_number(a, "label_smoothing", o.label_smoothing);
    o.beta = take_number(a, "beta", o.beta);
    o.delta = take_number(a, "delta", o.delta);
    o.weight = take_tensor(a, "weight");
    o.pos_weight = take_tensor(a, "pos_weight");
    return understood(a) ? wick_loss_create(a->k->p->c, kind, &o) : NULL;
}

/* ---- by class ---- */
/* False: wick has no such class. */
static bool make(arguments *a, const char *cls, constructed *out) {
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; ++i)
        if (strcmp(layers[i].cls, cls) == 0) return out->module = layers[i].make(a, layers[i].dims), true;
    for (size_t i = 0; i < sizeof activations / sizeof activations[0]; ++i)
        if (strcmp(activations[i].cls, cls) == 0) return out->module = make_activation(a, i), true;
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; ++i)
        if (strcmp(losses[i], cls) == 0) return out->loss = make_loss(a, (wick_loss_kind)i), true;
    return false;
}

bool construct(const parity_case *k, constructed *out) {
    arguments a = arguments_of(k);
    *out = (constructed){NULL, NULL};
    bool known = make(&a, k->name, out) && understood(&a);
    json_decref(a.left);
    return known;
}

void constructed_free(constructed *made) {
    wick_module_release(made->module);
    wick_loss_free(made->loss);
}
