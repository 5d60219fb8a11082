/* Arguments of pool.cu: windows over the last three dimensions of dense planes; a missing leading one has size 1. */
#ifndef WICK_GPU_ARGS_POOL_H
#define WICK_GPU_ARGS_POOL_H

#include "args.h"

typedef struct gpu_pool_args {
    const void *x;   /* forward: input; backward: gradient of the output */
    void *y;         /* forward: output; backward: gradient of the input */
    int64_t *places; /* of maxima, in the input's plane; forward: written */
    uint32_t n;      /* elements of y */
    int32_t dtype, bytes;
    gpu_divider in[3], out[3]; /* sizes */
    int32_t kernel[3], stride[3], padding[3], dilation[3];
    int32_t adaptive;        /* sizes decide, not the four above */
    int32_t include_padding; /* in the number of elements that averages are of */
    int64_t divisor;         /* instead of that number; 0: none */
} gpu_pool_args;

/* Images [planes][height][width] and their columns [planes][taps][outputs]. */
typedef struct gpu_columns_args {
    const void *from;
    void *to;
    uint32_t n; /* elements of `to` */
    int32_t dtype, bytes;
    gpu_divider in[2], out[2], kernel[2];
    int32_t stride[2], padding[2], dilation[2];
} gpu_columns_args;

#endif
