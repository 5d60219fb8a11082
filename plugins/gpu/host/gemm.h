/* Matrix products: what a row asks for, whoever computes it. */
#ifndef WICK_GPU_GEMM_H
#define WICK_GPU_GEMM_H

#include "../device/args_gemm.h"
#include "gpu.h"

/* out = alpha * a b + beta * c; sizes, strides and addresses are in `args` (device/args_gemm.h). All matrices have one
 * dtype. alpha and beta are there as doubles and as integers. */
struct gpu_gemm {
    wick_dtype dtype;
    gpu_gemm_args args;
};

/* The vendor's BLAS if it takes the product, else the own kernel. Nothing to do is no error. */
wick_status *gpu_gemm_run(const wick_kernel_call *call, const gpu_gemm *product);
/* The product's transpose: the same result with a, b and m, n exchanged, for libraries that think in columns. */
gpu_gemm gpu_gemm_transposed(const gpu_gemm *product);

#endif
