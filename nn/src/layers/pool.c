/* Pooling. */
#include "layer.h"

typedef struct pool {
    int64_t kernel[2];
    wick_nn_pool_options o;
} pool;

static wick_tensor *max_forward(wick_module *m, wick_context *c, wick_tensor *const *inputs, int n) {
    const pool *p = PAYLOAD(pool, m);
    const wick_max_pool2d_options o = {sizeof o, p->o.stride, 2, p->o.padding, 2, p->o.dilation, 2, p->o.ceil_mode};
    return wick_max_pool2d(c, inputs[0], p->kernel, 2, &o);
}

static wick_tensor *avg_forward(wick_module *m, wick_context *c, wick_tensor *const *inputs, int n) {
    const pool *p = PAYLOAD(pool, m);
    wick_avg_pool2d_options o = WICK_AVG_POOL2D_OPTIONS_INIT;
    o.stride = p->o.stride, o.stride_count = 2;
    o.padding = p->o.padding, o.padding_count = 2;
    o.ceil_mode = p->o.ceil_mode, o.count_include_pad = p->o.count_include_pad;
    return wick_avg_pool2d(c, inputs[0], p->kernel, 2, &o);
}

static wick_tensor *adaptive_forward(wick_module *m, wick_context *c, wick_tensor *const *inputs, int n) {
    return wick_adaptive_avg_pool2d(c, inputs[0], PAYLOAD(pool, m)->kernel, 2);
}

static void pool_extra(const wick_module *m, char *buffer, size_t bytes) {
    const pool *p = PAYLOAD(pool, m);
    snprintf(buffer, bytes, "kernel_size=(%lld, %lld), stride=(%lld, %lld), padding=(%lld, %lld)",
             (long long)p->kernel[0], (long long)p->kernel[1], (long long)p->o.stride[0], (long long)p->o.stride[1],
             (long long)p->o.padding[0], (long long)p->o.padding[1]);
}

static void adaptive_extra(const wick_module *m, char *buffer, size_t bytes) {
    const pool *p = PAYLOAD(pool, m);
    snprintf(buffer, bytes, "output_size=(%lld, %lld)", (long long)p->kernel[0], (long long)p->kernel[1]);
}

static const wick_module_class max_class = {sizeof max_class, "MaxPool2d", max_forward, NULL, pool_extra};
static const wick_module_class avg_class = {sizeof avg_class, "AvgPool2d", avg_forward, NULL, pool_extra};
static const wick_module_class adaptive_class = {sizeof adaptive_class, "AdaptiveAvgPool2d", adaptive_forward, NULL,
                                                 adaptive_extra};

static wick_module *create(wick_context *c, const wick_module_class *cls, int64_t height, int64_t width,
                           const wick_nn_pool_options *options) {
    OPTIONS(wick_nn_pool_options, WICK_NN_POOL_OPTIONS_INIT);
    pool p = {{height, width}, *options};
    if (!layer_check(c, cls->name, "a size", p.kernel, 2, 1) ||
        !layer_check(c, cls->name, "stride", p.o.stride, 2, 0) ||
        !layer_check(c, cls->name, "padding", p.o.padding, 2, 0) ||
        !layer_check(c, cls->name, "dilation", p.o.dilation, 2, 1))
        return NULL;
    for (int i = 0; i < 2; ++i)
        if (!p.o.stride[i]) p.o.stride[i] = p.kernel[i];
    wick_module *m = wick_module_create(c, cls, sizeof p);
    if (m) *PAYLOAD(pool, m) = p;
    return m;
}

wick_module *wick_nn_max_pool2d(wick_context *c, int64_t kernel_height, int64_t kernel_width,
                                const wick_nn_pool_options *options) {
    return create(c, &max_class, kernel_height, kernel_width, options);
}
wick_module *wick_nn_avg_pool2d(wick_context *c, int64_t kernel_height, int64_t kernel_width,
                                const wick_nn_pool_options *options) {
    return create(c, &avg_class, kernel_height, kernel_width, options);
}
wick_module *wick_nn_adaptive_avg_pool2d(wick_context *c, int64_t height, int64_t width) {
    return create(c, &adaptive_class, height, width, NULL);
}
