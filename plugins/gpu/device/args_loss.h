/* Arguments of loss.cu. */
#ifndef WICK_GPU_ARGS_LOSS_H
#define WICK_GPU_ARGS_LOSS_H

#include "args.h"

enum gpu_loss_reduction { GPU_LOSS_NONE, GPU_LOSS_MEAN, GPU_LOSS_SUM };

/* Dense [samples][classes][pixels]; targets are [samples][pixels]. */
typedef struct gpu_nll_args {
    const void *x;                    /* forward: log-probabilities; cross entropy: scores, both ways */
    void *grad;                       /* backward: their gradient, zeros so far unless it is cross entropy's */
    const void *target, *weight;      /* weight by class, NULL: ones */
    void *loss, *total;               /* forward: by target or one number; the sum of weights, NULL: not wanted */
    const void *grad_loss, *total_in; /* backward */
    void *normalizer;                 /* cross entropy, [2][targets]: maximum, log(sum(exp(x - maximum))) */
    void *partial;                    /* forward: sums of blocks, when there are several */
    int32_t dtype, target_dtype, weight_dtype, loss_dtype, total_dtype, normalizer_dtype;
    int32_t reduction, no_total; /* no_total: `total` becomes 0 */
    int32_t team;                /* cross entropy: threads of a row */
    int64_t targets, classes, pixels, ignore;
} gpu_nll_args;

#endif
