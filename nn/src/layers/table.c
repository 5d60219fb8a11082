/* Layers by name: one row each. */
#include "layer.h"
#include "spec.h"

typedef struct layer_call {
    const char *name;
    int ndim; /* of one sample */
    const wick_dim *shape;
    const spec_value *a;
} layer_call;

typedef struct layer_row {
    const char *name, *arguments, *doc;
    int min_dims, max_dims; /* of one sample */
    wick_module *(*create)(wick_context *c, const layer_call *call);
} layer_row;

/* ---- how each is made ---- */
static wick_module *make_linear(wick_context *c, const layer_call *call) {
    wick_nn_linear_options o = WICK_NN_LINEAR_OPTIONS_INIT;
    o.bias = call->a[1].flag;
    return wick_nn_linear(c, call->shape[call->ndim - 1], call->a[0].i[0], &o);
}

static void set_pair(int64_t out[2], const spec_value *v) { out[0] = v->i[0], out[1] = v->i[1]; }

static wick_nn_conv_options conv_options(const spec_value *a) {
    wick_nn_conv_options o = WICK_NN_CONV_OPTIONS_INIT;
    set_pair(o.stride, &a[2]), set_pair(o.padding, &a[3]), set_pair(o.dilation, &a[4]);
    o.groups = a[5].i[0], o.bias = a[6].flag;
    return o;
}
#define CONV_ARGUMENTS \
    "out_channels, kernel:size, stride:size=1, padding:size=0, dilation:size=1, groups=1, bias:bool=yes"

static wick_module *make_conv1d(wick_context *c, const layer_call *call) {
    const wick_nn_conv_options o = conv_options(call->a);
    return wick_nn_conv1d(c, call->shape[0], call->a[0].i[0], call->a[1].i[0], &o);
}
static wick_module *make_conv2d(wick_context *c, const layer_call *call) {
    const wick_nn_conv_options o = conv_options(call->a);
    return wick_nn_conv2d(c, call->shape[0], call->a[0].i[0], call->a[1].i[0], call->a[1].i[1], &o);
}
static wick_module *make_conv_transpose2d(wick_context *c, const layer_call *call) {
    wick_nn_conv_options o = conv_options(call->a);
    set_pair(o.output_padding, &call->a[7]);
    return wick_nn_conv_transpose2d(c, call->shape[0], call->a[0].i[0], call->a[1].i[0], call->a[1].i[1], &o);
}

static wick_nn_batch_norm_options batch_norm_options(const spec_value *a) {
    wick_nn_batch_norm_options o = WICK_NN_BATCH_NORM_OPTIONS_INIT;
    o.eps = a[0].real, o.momentum = a[1].real, o.affine = a[2].flag;
    return o;
}
static wick_module *make_batchnorm1d(wick_context *c, const layer_call *call) {
    const wick_nn_batch_norm_options o = batch_norm_options(call->a);
    return wick_nn_batch_norm1d(c, call->shape[0], &o);
}
static wick_module *make_batchnorm2d(wick_context *c, const layer_call *call) {
    const wick_nn_batch_norm_options o = batch_norm_options(call->a);
    return wick_nn_batch_norm2d(c, call->shape[0], &o);
}
static wick_module *make_layernorm(wick_context *c, const layer_call *call) {
    wick_nn_layer_norm_options o = WICK_NN_LAYER_NORM_OPTIONS_INIT;
    o.eps = call->a[0].real;
    return wick_nn_layer_norm(c, call->shape, call->ndim, &o);
}
static wick_module *make_groupnorm(wick_context *c, const layer_call *call) {
    return wick_nn_group_norm(c, call->a[0].i[0], call->shape[0], call->a[1].real, true);
}

static wick_module *make_maxpool2d(wick_context *c, const layer_call *call) {
    wick_nn_pool_options o = WICK_NN_POOL_OPTIONS_INIT;
    set_pair(o.stride, &call->a[1]), set_pair(o.padding, &call->a[2]), set_pair(o.dilation, &call->a[3]);
    o.ceil_mode = call->a[4].flag;
    return wick_nn_max_pool2d(c, call->a[0].i[0], call->a[0].i[1], &o);
}
static wick_module *make_avgpool2d(wick_context *c, const layer_call *call) {
    wick_nn_pool_options o = WICK_NN_POOL_OPTIONS_INIT;
    set_pair(o.stride, &call->a[1]), set_pair(o.padding, &call->a[2]);
    o.ceil_mode = call->a[3].flag, o.count_include_pad = call->a[4].flag;
    return wick_nn_avg_pool2d(c, call->a[0].i[0], call->a[0].i[1], &o);
}
static wick_module *make_adaptiveavgpool2d(wick_context *c, const layer_call *call) {
    return wick_nn_adaptive_avg_pool2d(c, call->a[0].i[0], call->a[0].i[1]);
}

static wick_module *make_dropout(wick_context *c, const layer_call *call) {
    return wick_nn_dropout(c, call->a[0].real);
}
static wick_module *make_flatten(wick_context *c, const layer_call *call) {
    return wick_nn_flatten(c, call->a[0].i[0], call->a[1].i[0]);
}
static wick_module *make_identity(wick_context *c, const layer_call *call) { return wick_nn_identity(c); }
static wick_module *make_activation(wick_context *c, const layer_call *call) {
    return wick_nn_activation(c, call->name, call->a[0].real, call->a[1].real);
}

/* ---- the rows ---- */
#define ANY_DIMS 0, WICK_MAX_DIMS
#define ACTIVATION(name, arguments, doc) \
    { name, arguments, doc, ANY_DIMS, make_activation }
static const layer_row layer_rows[] = {
    {"linear", "out_features, bias:bool=yes", "x W^T + b over the last dimension", 1, WICK_MAX_DIMS, make_linear},
    {"conv1d", CONV_ARGUMENTS, "convolution over channels x length", 2, 2, make_conv1d},
    {"conv2d", CONV_ARGUMENTS, "convolution over channels x height x width", 3, 3, make_conv2d},
    {"conv_transpose2d", CONV_ARGUMENTS ", output_padding:size=0", "transposed convolution", 3, 3,
     make_conv_transpose2d},
    {"batchnorm1d", "eps:real=1e-5, momentum:real=0.1, affine:bool=yes", "normalizes channels over the batch", 1, 2,
     make_batchnorm1d},
    {"batchnorm2d", "eps:real=1e-5, momentum:real=0.1, affine:bool=yes", "normalizes channels over batch and image", 3,
     3, make_batchnorm2d},
    {"layernorm", "eps:real=1e-5", "normalizes each sample", 1, 8, make_layernorm},
    {"groupnorm", "groups, eps:real=1e-5", "normalizes groups of channels", 1, WICK_MAX_DIMS, make_groupnorm},
    {"maxpool2d", "kernel:size, stride:size=0, padding:size=0, dilation:size=1, ceil_mode:bool=no",
     "maximum of each window", 3, 3, make_maxpool2d},
    {"avgpool2d", "kernel:size, stride:size=0, padding:size=0, ceil_mode:bool=no, count_include_pad:bool=yes",
     "mean of each window", 3, 3, make_avgpool2d},
    {"adaptiveavgpool2d", "size:size", "mean over windows that give this size", 3, 3, make_adaptiveavgpool2d},
    {"dropout", "p:real=0.5", "zeroes elements at random in training", ANY_DIMS, make_dropout},
    {"flatten", "start_dim=1, end_dim=-1", "joins dimensions; 0 is the batch", ANY_DIMS, make_flatten},
    {"identity", "", "passes its input on", ANY_DIMS, make_identity},
    ACTIVATION("relu", "", "max(0, x)"),
    ACTIVATION("relu6", "", "min(max(0, x), 6)"),
    ACTIVATION("gelu", "", "x times the normal distribution function of x"),
    ACTIVATION("silu", "", "x sigmoid(x)"),
    ACTIVATION("mish", "", "x tanh(softplus(x))"),
    ACTIVATION("tanh", "", "hyperbolic tangent"),
    ACTIVATION("sigmoid", "", "1 / (1 + exp(-x))"),
    ACTIVATION("selu", "", "scaled exponential linear unit"),
    ACTIVATION("hardswish", "", "x relu6(x + 3) / 6"),
    ACTIVATION("hardsigmoid", "", "relu6(x + 3) / 6"),
    ACTIVATION("leaky_relu", "negative_slope:real=0.01", "max(0, x) + negative_slope min(0, x)"),
    ACTIVATION("elu", "alpha:real=1", "exponential linear unit"),
    ACTIVATION("softplus", "beta:real=1, threshold:real=20", "log(1 + exp(beta x)) / beta"),
    ACTIVATION("softmax", "dim:real=-1", "exp(x) over its sum along a dimension"),
    ACTIVATION("log_softmax", "dim:real=-1", "logarithm of softmax"),
};

bool wick_layer_describe(size_t index, wick_layer_info *out) {
    if (index >= COUNT(layer_rows)) return false;
    const layer_row *row = &layer_rows[index];
    *out = (wick_layer_info){sizeof *out, row->name, row->arguments, row->doc};
    return true;
}

static const layer_row *find_row(const char *name) {
    for (size_t i = 0; i < COUNT(layer_rows); ++i)
        if (!strcmp(layer_rows[i].name, name)) return &layer_rows[i];
    return NULL;
}

static wick_status *unknown_layer(const char *name) {
    text t = {0};
    for (size_t i = 0; i < COUNT(layer_rows); ++i) text_add(&t, i ? ", %s" : "%s", layer_rows[i].name);
    wick_status *status = WICK_ERROR(WICK_NOT_FOUND, "no layer is called '%s'; there are: %s", name,
                                     t.failed ? "(no memory to list them)" : t.data);
    free(t.data);
    return status;
}

static wick_status *check_dims(const layer_row *row, int ndim, const wick_dim *shape) {
    static const char *const wanted[] = {"none", "features", "channels x length", "channels x height x width"};
    char got[SHAPE_TEXT];
    if (ndim >= row->min_dims && ndim <= row->max_dims) return NULL;
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: got samples of shape %s, wanted %s", row->name,
                      shape_text(ndim, shape, got), wanted[row->max_dims < 3 ? row->max_dims : row->min_dims]);
}

wick_module *wick_layer_parse(wick_context *c, const char *spec, int ndim, const wick_dim *shape) {
    char name[32];
    spec_value values[SPEC_ARGUMENTS];
    if (wick_failed(c)) return NULL;
    if (!spec_name(spec, name, sizeof name))
        return FAIL(c, INVALID_ARGUMENT, "'%s' is not a layer, wanted NAME or NAME(ARGUMENTS)", spec), NULL;
    const layer_row *row = find_row(name);
    if (!row) return wick_fail(c, unknown_layer(name)), NULL;
    wick_status *status = check_dims(row, ndim, shape);
    if (!status) status = spec_parse(spec, row->arguments, values);
    if (status) return wick_fail(c, status), NULL;
    const layer_call call = {row->name, ndim, shape, values};
    return row->create(c, &call);
}
