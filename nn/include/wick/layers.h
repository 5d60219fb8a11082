/* wick/layers.h: the layers of torch.nn, with its formulas, defaults, initial values and state_dict names.
 *
 * A creating function gives the caller a module with one reference; NULL: the context failed. Parameters are made on
 * the context's default device, in its default dtype, from its generator. Options may be NULL for the defaults; start
 * one from its _INIT macro. Shapes: N batch, C channels, L length, H height, W width, * any.
 * The formulas are those of https://pytorch.org/docs/stable/nn.html. Threads: see wick/module.h. */
#ifndef WICK_LAYERS_H
#define WICK_LAYERS_H

#include <wick/module.h>

typedef struct wick_nn_linear_options {
    uint32_t struct_size;
    bool bias;
} wick_nn_linear_options;
#define WICK_NN_LINEAR_OPTIONS_INIT \
    { sizeof(wick_nn_linear_options), true }

/* Entry i belongs to dimension i of the window: [0] of a 1-d one, [0] = height and [1] = width of a 2-d one. */
typedef struct wick_nn_conv_options {
    uint32_t struct_size;
    bool bias;
    int64_t stride[2], padding[2], dilation[2];
    int64_t output_padding[2]; /* transposed only */
    int64_t groups;
} wick_nn_conv_options;
#define WICK_NN_CONV_OPTIONS_INIT \
    { sizeof(wick_nn_conv_options), true, {1, 1}, {0, 0}, {1, 1}, {0, 0}, 1 }

typedef struct wick_nn_batch_norm_options {
    uint32_t struct_size;
    bool affine;
    bool track_running_stats;
    double eps, momentum;
} wick_nn_batch_norm_options;
#define WICK_NN_BATCH_NORM_OPTIONS_INIT \
    { sizeof(wick_nn_batch_norm_options), true, true, 1e-5, 0.1 }

typedef struct wick_nn_layer_norm_options {
    uint32_t struct_size;
    bool elementwise_affine;
    bool bias;
    double eps;
} wick_nn_layer_norm_options;
#define WICK_NN_LAYER_NORM_OPTIONS_INIT \
    { sizeof(wick_nn_layer_norm_options), true, true, 1e-5 }

typedef struct wick_nn_embedding_options {
    uint32_t struct_size;
    int64_t padding_idx; /* negative: none */
} wick_nn_embedding_options;
#define WICK_NN_EMBEDDING_OPTIONS_INIT \
    { sizeof(wick_nn_embedding_options), -1 }

typedef struct wick_nn_pool_options {
    uint32_t struct_size;
    bool ceil_mode;
    bool count_include_pad; /* average only */
    int64_t stride[2];      /* 0: the kernel's size */
    int64_t padding[2];
    int64_t dilation[2]; /* maximum only */
} wick_nn_pool_options;
#define WICK_NN_POOL_OPTIONS_INIT                                           \
    {                                                                       \
        sizeof(wick_nn_pool_options), false, true, {0, 0}, {0, 0}, { 1, 1 } \
    }

/* Activations: X(name, class, first argument, its default, second argument, its default); "" where there is none. */
#define WICK_NN_ACTIVATIONS(X)                                \
    X(relu, "ReLU", "", 0, "", 0)                             \
    X(relu6, "ReLU6", "", 0, "", 0)                           \
    X(gelu, "GELU", "", 0, "", 0)                             \
    X(silu, "SiLU", "", 0, "", 0)                             \
    X(mish, "Mish", "", 0, "", 0)                             \
    X(tanh, "Tanh", "", 0, "", 0)                             \
    X(sigmoid, "Sigmoid", "", 0, "", 0)                       \
    X(selu, "SELU", "", 0, "", 0)                             \
    X(hardswish, "Hardswish", "", 0, "", 0)                   \
    X(hardsigmoid, "Hardsigmoid", "", 0, "", 0)               \
    X(leaky_relu, "LeakyReLU", "negative_slope", 0.01, "", 0) \
    X(elu, "ELU", "alpha", 1, "", 0)                          \
    X(softplus, "Softplus", "beta", 1, "threshold", 20)       \
    X(softmax, "Softmax", "dim", -1, "", 0)                   \
    X(log_softmax, "LogSoftmax", "dim", -1, "", 0)

WICK_BEGIN_DECLS
/* [*, in] -> [*, out]: x W^T + b. weight [out, in], bias [out]. */
WICK_API wick_module *wick_nn_linear(wick_context *c, int64_t in_features, int64_t out_features,
                                     const wick_nn_linear_options *options);
/* [N, C, L] -> [N, out, L']. weight [out, C / groups, kernel], bias [out]. */
WICK_API wick_module *wick_nn_conv1d(wick_context *c, int64_t in_channels, int64_t out_channels, int64_t kernel,
                                     const wick_nn_conv_options *options);
/* [N, C, H, W] -> [N, out, H', W']. weight [out, C / groups, height, width], bias [out]. */
WICK_API wick_module *wick_nn_conv2d(wick_context *c, int64_t in_channels, int64_t out_channels, int64_t kernel_height,
                                     int64_t kernel_width, const wick_nn_conv_options *options);
/* [N, C, H, W] -> [N, out, H', W']. weight [C, out / groups, height, width], bias [out]. */
WICK_API wick_module *wick_nn_conv_transpose2d(wick_context *c, int64_t in_channels, int64_t out_channels,
                                               int64_t kernel_height, int64_t kernel_width,
                                               const wick_nn_conv_options *options);
/* [N, C] or [N, C, L], the same shape out. weight, bias, running_mean, running_var [C]; num_batches_tracked. */
WICK_API wick_module *wick_nn_batch_norm1d(wick_context *c, int64_t channels,
                                           const wick_nn_batch_norm_options *options);
/* [N, C, H, W], the same shape out. */
WICK_API wick_module *wick_nn_batch_norm2d(wick_context *c, int64_t channels,
                                           const wick_nn_batch_norm_options *options);
/* [*, shape], the same shape out. weight, bias of `shape` (at most 8 dimensions). */
WICK_API wick_module *wick_nn_layer_norm(wick_context *c, const int64_t *shape, int ndim,
                                         const wick_nn_layer_norm_options *options);
/* [N, C, *], the same shape out. weight, bias [C]. */
WICK_API wick_module *wick_nn_group_norm(wick_context *c, int64_t groups, int64_t channels, double eps, bool affine);
/* Integers [*] -> [*, dim]. weight [count, dim]. */
WICK_API wick_module *wick_nn_embedding(wick_context *c, int64_t count, int64_t dim,
                                        const wick_nn_embedding_options *options);
/* [N, C, H, W] -> [N, C, H', W']. */
WICK_API wick_module *wick_nn_max_pool2d(wick_context *c, int64_t kernel_height, int64_t kernel_width,
                                         const wick_nn_pool_options *options);
WICK_API wick_module *wick_nn_avg_pool2d(wick_context *c, int64_t kernel_height, int64_t kernel_width,
                                         const wick_nn_pool_options *options);
/* [N, C, H, W] -> [N, C, height, width]. */
WICK_API wick_module *wick_nn_adaptive_avg_pool2d(wick_context *c, int64_t height, int64_t width);
/* In training zeroes elements with probability p and scales the others by 1 / (1 - p). */
WICK_API wick_module *wick_nn_dropout(wick_context *c, double p);
/* Joins dimensions start to end, both included; PyTorch's defaults are 1 and -1. */
WICK_API wick_module *wick_nn_flatten(wick_context *c, int64_t start_dim, int64_t end_dim);
WICK_API wick_module *wick_nn_identity(wick_context *c);
/* Runs its children "0", "1", ... one after the other. Takes over the references to all of them, on failure too. */
WICK_API wick_module *wick_nn_sequential(wick_context *c, wick_module *const *children, int n);
/* By name ("leaky_relu"), with the arguments of the table above. */
WICK_API wick_module *wick_nn_activation(wick_context *c, const char *name, double first, double second);
/* wick_nn_relu(c), wick_nn_elu(c), ...: with their defaults. */
#define WICK_NN_ACTIVATION_DECLARE(name, cls, a, da, b, db) WICK_API wick_module *wick_nn_##name(wick_context *c);
WICK_NN_ACTIVATIONS(WICK_NN_ACTIVATION_DECLARE)
#undef WICK_NN_ACTIVATION_DECLARE

/* ---- initial values: torch.nn.init, from the context's generator, in place ---- */
/* Elements that one output depends on: the product of all sizes but the first. */
WICK_API int64_t wick_init_fan_in(const wick_tensor *weight);
/* Between -bound and bound. */
WICK_API bool wick_init_uniform(wick_context *c, wick_tensor *t, double bound);
/* kaiming_uniform_ with a leaky ReLU of slope a. */
WICK_API bool wick_init_kaiming_uniform(wick_context *c, wick_tensor *weight, double a);
WICK_API bool wick_init_normal(wick_context *c, wick_tensor *t, double mean, double std);
WICK_API bool wick_init_constant(wick_context *c, wick_tensor *t, double value);

/* ---- layers by text: "conv2d(16, kernel=3, padding=1)" ---- */
typedef struct wick_layer_info {
    uint32_t struct_size;
    const char *name;      /* "conv2d" */
    const char *arguments; /* "out_channels, kernel:size, stride:size=1, ..." */
    const char *doc;       /* one line */
} wick_layer_info;
/* The known layers; false past the end. */
WICK_API bool wick_layer_describe(size_t index, wick_layer_info *out);
/* Makes the layer that `spec` describes for inputs of a shape without its batch dimension: a linear(10) behind [64] has
 * 64 input features. The failure names what was got and what is wanted. */
WICK_API wick_module *wick_layer_parse(wick_context *c, const char *spec, int ndim, const wick_dim *shape);
WICK_END_DECLS

#endif
