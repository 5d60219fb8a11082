/* Convolutions of one and two dimensions, plain and transposed. */
#include "layer.h"

#include <math.h>

typedef struct conv {
    int dims; /* of the window */
    wick_nn_conv_options o;
} conv;

static wick_tensor *conv1d_forward(wick_module *m, wick_context *c, wick_tensor *const *inputs, int n) {
    const conv *p = PAYLOAD(conv, m);
    const wick_conv1d_options o = {sizeof o, p->o.stride, 1, p->o.padding, 1, p->o.dilation, 1, p->o.groups};
    return wick_conv1d(c, inputs[0], wick_module_tensor(m, 0), wick_module_tensor(m, 1), &o);
}

static wick_tensor *conv2d_forward(wick_module *m, wick_context *c, wick_tensor *const *inputs, int n) {
    const conv *p = PAYLOAD(conv, m);
    const wick_conv2d_options o = {sizeof o, p->o.stride, 2, p->o.padding, 2, p->o.dilation, 2, p->o.groups};
    return wick_conv2d(c, inputs[0], wick_module_tensor(m, 0), wick_module_tensor(m, 1), &o);
}

static wick_tensor *transpose2d_forward(wick_module *m, wick_context *c, wick_tensor *const *inputs, int n) {
    const conv *p = PAYLOAD(conv, m);
    wick_conv_transpose2d_options o = WICK_CONV_TRANSPOSE2D_OPTIONS_INIT;
    o.stride = p->o.stride, o.stride_count = 2;
    o.padding = p->o.padding, o.padding_count = 2;
    o.output_padding = p->o.output_padding, o.output_padding_count = 2;
    o.dilation = p->o.dilation, o.dilation_count = 2;
    o.groups = p->o.groups;
    return wick_conv_transpose2d(c, inputs[0], wick_module_tensor(m, 0), wick_module_tensor(m, 1), &o);
}

static void add_numbers(char *buffer, size_t bytes, const char *what, const int64_t *values, int n) {
    size_t used = strlen(buffer);
    used += (size_t)snprintf(buffer + used, bytes - used, ", %s=(", what);
    for (int i = 0; i < n && used < bytes; ++i)
        used += (size_t)snprintf(buffer + used, bytes - used, i ? ", %lld" : "%lld", (long long)values[i]);
    if (used < bytes) snprintf(buffer + used, bytes - used, n == 1 ? ",)" : ")");
}

static void conv_extra(const wick_module *m, char *buffer, size_t bytes) {
    const conv *p = PAYLOAD(conv, m);
    const wick_tensor *w = wick_module_tensor(m, 0);
    bool transposed = !strncmp(wick_module_name(m), "ConvTranspose", 13);
    int64_t first = w->sizes[0], second = w->sizes[1] * p->o.groups;
    snprintf(buffer, bytes, "%lld, %lld", (long long)(transposed ? first : second),
             (long long)(transposed ? second : first));
    add_numbers(buffer, bytes, "kernel_size", w->sizes + 2, p->dims);
    add_numbers(buffer, bytes, "stride", p->o.stride, p->dims);
    add_numbers(buffer, bytes, "padding", p->o.padding, p->dims);
}

static const wick_module_class conv1d_class = {sizeof conv1d_class, "Conv1d", conv1d_forward, NULL, conv_extra};
static const wick_module_class conv2d_class = {sizeof conv2d_class, "Conv2d", conv2d_forward, NULL, conv_extra};
static const wick_module_class transpose2d_class = {sizeof transpose2d_class, "ConvTranspose2d", transpose2d_forward,
                                                    NULL, conv_extra};

static bool check(wick_context *c, const char *name, int64_t in, int64_t out, const int64_t *kernel, int dims,
                  const wick_nn_conv_options *o) {
    if (!layer_check(c, name, "in_channels", &in, 1, 1) || !layer_check(c, name, "out_channels", &out, 1, 1) ||
        !layer_check(c, name, "the kernel's size", kernel, dims, 1) ||
        !layer_check(c, name, "stride", o->stride, dims, 1) || !layer_check(c, name, "padding", o->padding, dims, 0) ||
        !layer_check(c, name, "dilation", o->dilation, dims, 1) || !layer_check(c, name, "groups", &o->groups, 1, 1))
        return false;
    if (in % o->groups == 0 && out % o->groups == 0) return true;
    return !FAIL(c, INVALID_ARGUMENT, "%s: %lld input and %lld output channels do not divide into %lld groups", name,
                 (long long)in, (long long)out, (long long)o->groups);
}

static wick_module *create(wick_context *c, const wick_module_class *cls, int64_t in, int64_t out,
                           const int64_t *kernel, int dims, const wick_nn_conv_options *options) {
    OPTIONS(wick_nn_conv_options, WICK_NN_CONV_OPTIONS_INIT);
    if (!check(c, cls->name, in, out, kernel, dims, options)) return NULL;
    bool transposed = cls == &transpose2d_class;
    wick_dim sizes[4] = {transposed ? in : out, (transposed ? out : in) / options->groups};
    memcpy(sizes + 2, kernel, sizeof *kernel * (size_t)dims);
    /* kaiming, a = sqrt 5; PyTorch takes the fan from the weight's shape, for transposed ones too */
    const layer_init init = {INIT_UNIFORM, 1 / sqrt((double)wick_dim_product(sizes + 1, dims + 1))};
    wick_module *m = wick_module_create(c, cls, sizeof(conv));
    if (!m) return NULL;
    *PAYLOAD(conv, m) = (conv){dims, *options};
    layer_parameter(c, m, "weight", dims + 2, sizes, init);
    if (options->bias)
        layer_parameter(c, m, "bias", 1, &out, init);
    else
        layer_without(c, m, "bias");
    return layer_finish(c, m);
}

wick_module *wick_nn_conv1d(wick_context *c, int64_t in_channels, int64_t out_channels, int64_t kernel,
                            const wick_nn_conv_options *options) {
    return create(c, &conv1d_class, in_channels, out_channels, &kernel, 1, options);
}

wick_module *wick_nn_conv2d(wick_context *c, int64_t in_channels, int64_t out_channels, int64_t kernel_height,
                            int64_t kernel_width, const wick_nn_conv_options *options) {
    return create(c, &conv2d_class, in_channels, out_channels, (int64_t[]){kernel_height, kernel_width}, 2, options);
}

wick_module *wick_nn_conv_transpose2d(wick_context *c, int64_t in_channels, int64_t out_channels, int64_t kernel_height,
                                      int64_t kernel_width, const wick_nn_conv_options *options) {
    return create(c, &transpose2d_class, in_channels, out_channels, (int64_t[]){kernel_height, kernel_width}, 2,
                  options);
}
