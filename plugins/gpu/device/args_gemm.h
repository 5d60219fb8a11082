/* Arguments of gemm.cu. */
#ifndef WICK_GPU_ARGS_GEMM_H
#define WICK_GPU_ARGS_GEMM_H

#include "args.h"

/* Strides are in elements; a broadcast accumulator has zeros. */
typedef struct gpu_matrix {
    void *data;
    int64_t row, col, batch;
} gpu_matrix;

/* out[m, n] = alpha * a[m, k] b[k, n] + beta * c[m, n], `batch` times. c.data is NULL where beta is 0. */
typedef struct gpu_gemm_args {
    gpu_matrix a, b, c, out;
    int64_t m, n, k, batch;
    double alpha, beta;
    int64_t whole_alpha, whole_beta; /* of integers */
} gpu_gemm_args;

#endif
