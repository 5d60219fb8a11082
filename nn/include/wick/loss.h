/* wick/loss.h: loss functions of torch.nn, by options or by name.
 *
 * Formulas and defaults: https://pytorch.org/docs/stable/nn.html#loss-functions. A loss object holds its kind, options
 * and class weights; the caller frees it. It is immutable and may be shared by threads. Failures latch in the context. */
#ifndef WICK_LOSS_H
#define WICK_LOSS_H

#include <wick/context.h>

/* X(name, PyTorch's class, 1 if targets are classes, what it is) */
#define WICK_LOSSES(X)                                                                         \
    X(cross_entropy, "CrossEntropyLoss", 1, "negative log of the softmax at the target class") \
    X(nll, "NLLLoss", 1, "negative log likelihood at the target class")                        \
    X(mse, "MSELoss", 0, "mean squared error")                                                 \
    X(l1, "L1Loss", 0, "mean absolute error")                                                  \
    X(smooth_l1, "SmoothL1Loss", 0, "quadratic below beta, linear above")                      \
    X(huber, "HuberLoss", 0, "quadratic below delta, linear above")                            \
    X(bce_with_logits, "BCEWithLogitsLoss", 0, "binary cross entropy of the sigmoid")

typedef enum wick_loss_kind {
#define WICK_LOSS_ENUM(name, cls, classes, doc) WICK_LOSS_##name,
    WICK_LOSSES(WICK_LOSS_ENUM)
#undef WICK_LOSS_ENUM
        WICK_LOSS_COUNT
} wick_loss_kind;

typedef enum wick_reduction { WICK_REDUCE_NONE = 0, WICK_REDUCE_MEAN = 1, WICK_REDUCE_SUM = 2 } wick_reduction;

typedef struct wick_loss_options {
    uint32_t struct_size;
    wick_reduction reduction;
    int64_t ignore_index;    /* cross_entropy, nll: targets that do not count */
    double label_smoothing;  /* cross_entropy */
    double beta;             /* smooth_l1 */
    double delta;            /* huber */
    wick_tensor *weight;     /* cross_entropy, nll: by class; bce: by element. Retained; NULL: all 1 */
    wick_tensor *pos_weight; /* bce_with_logits. Retained; NULL: all 1 */
} wick_loss_options;
#define WICK_LOSS_OPTIONS_INIT \
    { sizeof(wick_loss_options), WICK_REDUCE_MEAN, -100, 0, 1, 1, NULL, NULL }

typedef struct wick_loss wick_loss;

WICK_BEGIN_DECLS
/* `options` may be NULL. NULL: the context failed. */
WICK_API wick_loss *wick_loss_create(wick_context *c, wick_loss_kind kind, const wick_loss_options *options);
/* NULL is allowed. */
WICK_API void wick_loss_free(wick_loss *loss);
/* The loss (scope-owned; 0-dim unless the reduction is NONE) of an input, [N, classes, *] or of the target's shape, and
 * a target: classes [N, *] as I64, or values of the input's shape. */
WICK_API wick_tensor *wick_loss_compute(wick_context *c, const wick_loss *loss, wick_tensor *input,
                                        wick_tensor *target);
WICK_API wick_loss_kind wick_loss_kind_of(const wick_loss *loss);
/* True if targets are class numbers. */
WICK_API bool wick_loss_has_classes(wick_loss_kind kind);
/* By name, "cross_entropy"; NOT_FOUND lists the known ones. */
WICK_API WICK_MUST_USE wick_status *wick_loss_find(const char *name, wick_loss_kind *out);
WICK_API const char *wick_loss_name(wick_loss_kind kind);
WICK_END_DECLS

#endif
