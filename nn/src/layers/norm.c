/* Normalizations. */
#include "layer.h"

#define LAYER_NORM_DIMS 8

static bool add_affine(wick_context *c, wick_module *m, bool weight, bool bias, const wick_dim *sizes, int ndim) {
    bool ok = weight ? layer_parameter(c, m, "weight", ndim, sizes, (layer_init){INIT_CONSTANT, 1})
                     : layer_without(c, m, "weight");
    return ok && (bias ? layer_parameter(c, m, "bias", ndim, sizes, (layer_init){INIT_CONSTANT, 0})
                       : layer_without(c, m, "bias"));
}

/* ---- BatchNorm ---- */
enum { WEIGHT, BIAS, RUNNING_MEAN, RUNNING_VAR, BATCHES };

typedef struct batch_norm {
    int64_t channels;
    int min_dims, max_dims;
    wick_nn_batch_norm_options o;
} batch_norm;

static wick_tensor *batch_norm_forward(wick_module *m, wick_context *c, wick_tensor *const *inputs, int n) {
    const batch_norm *p = PAYLOAD(batch_norm, m);
    bool training = wick_module_is_training(m), tracks = p->o.track_running_stats;
    wick_tensor *x = inputs[0];
    if (x->ndim < p->min_dims || x->ndim > p->max_dims)
        return FAIL(c, INVALID_ARGUMENT, "%s: the input has %d dimensions, wanted %d", wick_module_name(m), x->ndim,
                    p->max_dims),
               NULL;
    if (training && tracks) {
        wick_modes modes = wick_no_grad(c);
        wick_add_scalar_(c, wick_module_tensor(m, BATCHES), wick_value_int(1), NULL);
        wick_modes_set(c, modes);
    }
    return wick_batch_norm(c, x, wick_module_tensor(m, WEIGHT), wick_module_tensor(m, BIAS),
                           tracks ? wick_module_tensor(m, RUNNING_MEAN) : NULL,
                           tracks ? wick_module_tensor(m, RUNNING_VAR) : NULL, training || !tracks, p->o.momentum,
                           p->o.eps, false);
}

static void batch_norm_extra(const wick_module *m, char *buffer, size_t bytes) {
    const batch_norm *p = PAYLOAD(batch_norm, m);
    snprintf(buffer, bytes, "%lld, eps=%g, momentum=%g, affine=%s, track_running_stats=%s", (long long)p->channels,
             p->o.eps, p->o.momentum, p->o.affine ? "True" : "False", p->o.track_running_stats ? "True" : "False");
}

static bool add_statistics(wick_context *c, wick_module *m, wick_dim channels) {
    wick_scope scope = wick_scope_open(c);
    wick_zeros_options count = WICK_ZEROS_OPTIONS_INIT;
    count.dtype = WICK_I64;
    bool ok = wick_module_add_buffer(c, m, "running_mean", wick_zeros(c, &channels, 1, NULL), true) &&
              wick_module_add_buffer(c, m, "running_var", wick_ones(c, &channels, 1, NULL), true) &&
              wick_module_add_buffer(c, m, "num_batches_tracked", wick_zeros(c, NULL, 0, &count), true);
    wick_scope_close(c, scope);
    return ok;
}

static wick_module *batch_norm_create(wick_context *c, const wick_module_class *cls, int64_t channels, int min_dims,
                                      int max_dims, const wick_nn_batch_norm_options *options) {
    OPTIONS(wick_nn_batch_norm_options, WICK_NN_BATCH_NORM_OPTIONS_INIT);
    if (!layer_check(c, cls->name, "the number of channels", &channels, 1, 1)) return NULL;
    wick_module *m = wick_module_create(c, cls, sizeof(batch_norm));
    if (!m) return NULL;
    *PAYLOAD(batch_norm, m) = (batch_norm){channels, min_dims, max_dims, *options};
    if (add_affine(c, m, options->affine, options->affine, &channels, 1) && options->track_running_stats)
        add_statistics(c, m, channels);
    return layer_finish(c, m);
}

static const wick_module_class batch_norm1d_class = {sizeof batch_norm1d_class, "BatchNorm1d", batch_norm_forward, NULL,
                                                     batch_norm_extra};
static const wick_module_class batch_norm2d_class = {sizeof batch_norm2d_class, "BatchNorm2d", batch_norm_forward, NULL,
                                                     batch_norm_extra};

wick_module *wick_nn_batch_norm1d(wick_context *c, int64_t channels, const wick_nn_batch_norm_options *options) {
    return batch_norm_create(c, &batch_norm1d_class, channels, 2, 3, options);
}
wick_module *wick_nn_batch_norm2d(wick_context *c, int64_t channels, const wick_nn_batch_norm_options *options) {
    return batch_norm_create(c, &batch_norm2d_class, channels, 4, 4, options);
}

/* ---- LayerNorm ---- */
typedef struct layer_norm {
    int ndim;
    int64_t shape[LAYER_NORM_DIMS];
    double eps;
} layer_norm;

static wick_tensor *layer_norm_forward(wick_module *m, wick_context *c, wick_tensor *const *inputs, int n) {
    const layer_norm *p = PAYLOAD(layer_norm, m);
    wick_layer_norm_options o = WICK_LAYER_NORM_OPTIONS_INIT;
    o.eps = p->eps;
    return wick_layer_norm(c, inputs[0], p->shape, (size_t)p->ndim, wick_module_tensor(m, WEIGHT),
                           wick_module_tensor(m, BIAS), &o);
}

static void layer_norm_extra(const wick_module *m, char *buffer, size_t bytes) {
    const layer_norm *p = PAYLOAD(layer_norm, m);
    char shape[SHAPE_TEXT];
    snprintf(buffer, bytes, "%s, eps=%g, elementwise_affine=%s", shape_text(p->ndim, p->shape, shape), p->eps,
             wick_module_tensor(m, WEIGHT) ? "True" : "False");
}

static const wick_module_class layer_norm_class = {sizeof layer_norm_class, "LayerNorm", layer_norm_forward, NULL,
                                                   layer_norm_extra};

wick_module *wick_nn_layer_norm(wick_context *c, const int64_t *shape, int ndim,
                                const wick_nn_layer_norm_options *options) {
    OPTIONS(wick_nn_layer_norm_options, WICK_NN_LAYER_NORM_OPTIONS_INIT);
    if (ndim < 1 || ndim > LAYER_NORM_DIMS)
        return FAIL(c, INVALID_ARGUMENT, "LayerNorm: %d dimensions, wanted 1 to %d", ndim, LAYER_NORM_DIMS), NULL;
    if (!layer_check(c, "LayerNorm", "a size", shape, ndim, 1)) return NULL;
    wick_module *m = wick_module_create(c, &layer_norm_class, sizeof(layer_norm));
    if (!m) return NULL;
    layer_norm *p = PAYLOAD(layer_norm, m);
    *p = (layer_norm){.ndim = ndim, .eps = options->eps};
    memcpy(p->shape, shape, sizeof *shape * (size_t)ndim);
    add_affine(c, m, options->elementwise_affine, options->elementwise_affine && options->bias, shape, ndim);
    return layer_finish(c, m);
}

/* ---- GroupNorm ---- */
typedef struct group_norm {
    int64_t groups, channels;
    double eps;
} group_norm;

static wick_tensor *group_norm_forward(wick_module *m, wick_context *c, wick_tensor *const *inputs, int n) {
    const group_norm *p = PAYLOAD(group_norm, m);
    wick_group_norm_options o = WICK_GROUP_NORM_OPTIONS_INIT;
    o.eps = p->eps;
    return wick_group_norm(c, inputs[0], p->groups, wick_module_tensor(m, WEIGHT), wick_module_tensor(m, BIAS), &o);
}

static void group_norm_extra(const wick_module *m, char *buffer, size_t bytes) {
    const group_norm *p = PAYLOAD(group_norm, m);
    snprintf(buffer, bytes, "%lld, %lld, eps=%g, affine=%s", (long long)p->groups, (long long)p->channels, p->eps,
             wick_module_tensor(m, WEIGHT) ? "True" : "False");
}

static const wick_module_class group_norm_class = {sizeof group_norm_class, "GroupNorm", group_norm_forward, NULL,
                                                   group_norm_extra};

wick_module *wick_nn_group_norm(wick_context *c, int64_t groups, int64_t channels, double eps, bool affine) {
    if (!layer_check(c, "GroupNorm", "groups", &groups, 1, 1) ||
        !layer_check(c, "GroupNorm", "the number of channels", &channels, 1, 1))
        return NULL;
    if (channels % groups)
        return FAIL(c, INVALID_ARGUMENT, "GroupNorm: %lld channels do not divide into %lld groups", (long long)channels,
                    (long long)groups),
               NULL;
    wick_module *m = wick_module_create(c, &group_norm_class, sizeof(group_norm));
    if (!m) return NULL;
    *PAYLOAD(group_norm, m) = (group_norm){groups, channels, eps};
    add_affine(c, m, affine, affine, &channels, 1);
    return layer_finish(c, m);
}
