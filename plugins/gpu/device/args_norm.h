/* Arguments of norm.cu. */
#ifndef WICK_GPU_ARGS_NORM_H
#define WICK_GPU_ARGS_NORM_H

#include "args.h"

/* Dense rows of n elements, each normalized by its own mean and rstd. The weight of element i of row r is number i
 * (layer norm), or (r % groups) * group_channels + i / pixels (group norm: pixels > 0). */
typedef struct gpu_norm_args {
    void *y;                   /* the result; backward: the gradient of x, NULL: not wanted */
    const void *x, *g;         /* g: the gradient of the result */
    const void *weight, *bias; /* NULL: ones, zeros */
    void *mean, *rstd;         /* by row: written by a forward, read by a backward; mean NULL: root-mean-square norm */
    void *partial;             /* sums for the gradients of weight and bias: [part][2][n] of the compute type */
    void *grads[2];            /* of weight and bias; NULL: not wanted */
    int32_t dtype, weight_dtype, bias_dtype, statistic_dtype, grad_dtype;
    int32_t team;
    uint32_t parts;
    int64_t rows, n;
    int64_t groups, group_channels, pixels;
    double eps;
} gpu_norm_args;

#endif
