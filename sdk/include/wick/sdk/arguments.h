/* wick/sdk/arguments.h: where operators of many arguments have them. tests/core/test_arguments.c holds this against the
 * schemas. */
#ifndef WICK_SDK_ARGUMENTS_H
#define WICK_SDK_ARGUMENTS_H

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

/* The int argument `reduction` of a loss. */
enum wick_loss_reduction { WICK_LOSS_NONE, WICK_LOSS_MEAN, WICK_LOSS_SUM };

#endif
