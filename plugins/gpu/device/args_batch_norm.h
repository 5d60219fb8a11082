/* Arguments of batch_norm.cu, beside those of reductions. */
#ifndef WICK_GPU_ARGS_BATCH_NORM_H
#define WICK_GPU_ARGS_BATCH_NORM_H

#include "args.h"

/* Dense [samples][channels][pixels]; what belongs to a channel is dense, too. */
typedef struct gpu_batch_norm_args {
    void *y;                                   /* the result, or the gradient of x */
    const void *x, *g;                         /* g: the gradient of the result */
    const void *mean, *invstd, *weight, *bias; /* weight and bias NULL: ones, zeros */
    const void *sums; /* backward in training: by channel, sum of g and sum of g * (x - mean); else NULL */
    int32_t mean_dtype, invstd_dtype, weight_dtype, bias_dtype;
    int32_t is_variance;          /* invstd points at variances */
    int32_t packed;               /* accesses of 16 bytes, which never cross a plane */
    uint32_t n;                   /* accesses */
    gpu_divider pixels, channels; /* pixels in accesses */
    double eps, count;            /* count: elements of a channel */
} gpu_batch_norm_args;

#endif
