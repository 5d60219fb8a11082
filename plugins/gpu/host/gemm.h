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

/* The key small_products: f32 products of at most so many multiply-adds have an own kernel, which starts sooner than the
 * vendor's and sums in the CPU's order. */
wick_status *gpu_gemm_open(gpu_instance *gpu, const wick_config *config);
/* An own kernel for small products; the vendor's BLAS if it takes the product; else an own kernel. Nothing to do is no
 * error. */
wick_status *gpu_gemm_run(const wick_kernel_call *call, const gpu_gemm *product);
/* The product's transpose: the same result with a, b and m, n exchanged, for libraries that think in columns. */
gpu_gemm gpu_gemm_transposed(const gpu_gemm *product);

#endif
