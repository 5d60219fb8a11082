/* wick/sdk/arguments.h: where operators of many arguments have them. tests/core/test_arguments.c holds this against the
 * schemas. */
#ifndef WICK_SDK_ARGUMENTS_H
#define WICK_SDK_ARGUMENTS_H

#include <wick/sdk/kernel.h>

/* Optimizers' steps: _fused_adam_, _fused_adamw_ and _fused_sgd_ begin alike. Up to STEPS or BUFFERS the arguments are
 * lists of tensors. */
enum wick_optim_argument { WICK_OPTIM_SELF, WICK_OPTIM_GRADS };
enum wick_adam_argument {
    WICK_ADAM_EXP_AVGS = 2,
    WICK_ADAM_EXP_AVG_SQS,
    WICK_ADAM_MAX_EXP_AVG_SQS,
    WICK_ADAM_STEPS,
    WICK_ADAM_LR,
    WICK_ADAM_BETA1,
    WICK_ADAM_BETA2,
    WICK_ADAM_WEIGHT_DECAY,
    WICK_ADAM_EPS,
    WICK_ADAM_AMSGRAD,
    WICK_ADAM_MAXIMIZE,
    WICK_ADAM_GRAD_SCALE,
    WICK_ADAM_FOUND_INF
};

enum wick_sgd_argument {
    WICK_SGD_BUFFERS = 2,
    WICK_SGD_WEIGHT_DECAY,
    WICK_SGD_MOMENTUM,
    WICK_SGD_LR,
    WICK_SGD_DAMPENING,
    WICK_SGD_NESTEROV,
    WICK_SGD_MAXIMIZE,
    WICK_SGD_IS_FIRST_STEP,
    WICK_SGD_GRAD_SCALE,
    WICK_SGD_FOUND_INF
};

/* What convolution and convolution_backward have in common, counted from the position of stride. */
enum { WICK_CONV_FIRST = 3, WICK_CONV_BACKWARD_FIRST = 4 };
enum wick_convolution_argument {
    WICK_CONV_STRIDE,
    WICK_CONV_PADDING,
    WICK_CONV_DILATION,
    WICK_CONV_TRANSPOSED,
    WICK_CONV_OUTPUT_PADDING,
    WICK_CONV_GROUPS
};

/* Batch normalizations, forward: (input, weight, bias, ..), then what a row of the table says; 0: it has none.
 * X(row, running_mean, running_var, training, momentum, eps, always in training) */
#define WICK_BATCH_NORMS(X)                                         \
    X("native_batch_norm", 3, 4, 5, 6, 7, false)                    \
    X("_native_batch_norm_legit", 3, 4, 5, 6, 7, false)             \
    X("_native_batch_norm_legit.no_stats", 0, 0, 3, 4, 5, false)    \
    X("_native_batch_norm_legit_no_training", 3, 4, 0, 5, 6, false) \
    X("_batch_norm_with_update", 3, 4, 0, 5, 6, true)
typedef struct wick_batch_norm_form {
    uint8_t running_mean, running_var, training, momentum, eps;
    bool always_training;
} wick_batch_norm_form;

/* The arguments themselves. */
typedef struct wick_batch_norm_call {
    const wick_tensor *input, *weight, *bias, *running_mean, *running_var; /* NULL: none, but for the input */
    double momentum, eps;
    bool training;
} wick_batch_norm_call;

static inline wick_batch_norm_call wick_batch_norm_read(const wick_kernel_call *call, const wick_batch_norm_form *at) {
    wick_batch_norm_call b;
    b.input = wick_arg_tensor(call, 0), b.weight = wick_arg_tensor(call, 1), b.bias = wick_arg_tensor(call, 2);
    b.running_mean = at->running_mean ? wick_arg_tensor(call, at->running_mean) : NULL;
    b.running_var = at->running_var ? wick_arg_tensor(call, at->running_var) : NULL;
    b.momentum = wick_value_as_double(&call->values[at->momentum]);
    b.eps = wick_value_as_double(&call->values[at->eps]);
    b.training = at->always_training || (at->training && call->values[at->training].as.i);
    return b;
}

/* The int argument `reduction` of a loss. */
enum wick_loss_reduction { WICK_LOSS_NONE, WICK_LOSS_MEAN, WICK_LOSS_SUM };

#endif
