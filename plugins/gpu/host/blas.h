/* Matrix products by cuBLASLt or hipBLASLt, opened at run time. The two differ in numbers (gpu_blas_vendor). */
#ifndef WICK_GPU_BLAS_H
#define WICK_GPU_BLAS_H

#include "cache.h"
#include "gemm.h"
#include "library.h"

typedef struct gpu_blas_functions {
#define GPU_BLAS(field, parameters, name) int(*field) parameters;
#include "blas.inc"
} gpu_blas_functions;

/* Values of the vendor's headers; what the two share is in blas.c. Constant. */
struct gpu_blas_vendor {
    const char *name;
    gpu_library lib;
    struct {
        int f32, tf32, f64;
    } compute;
    int32_t operation[2]; /* as it is, transposed */
    struct {
        int transpose_a, transpose_b, epilogue, bias, bias_type;
    } desc; /* attributes; bias_type -1: always the result's */
    struct {
        int batch_count, batch_stride;
    } layout;
    struct {
        int workspace, alignment;
    } preference; /* alignment: the first of four attributes; -1: none */
    struct {
        int workspace, status;
    } result;               /* where a result of the heuristic has them */
    bool handle_per_stream; /* a handle serves one stream only */
};

/* gpu->blas, or a note that there is none. */
wick_status *gpu_blas_open(gpu_instance *gpu, const wick_config *config);
void gpu_blas_close(gpu_instance *gpu);
/* Leaves *out_done false where the library does not take the product. */
wick_status *gpu_blas_gemm(const wick_kernel_call *call, const gpu_gemm *product, bool *out_done);

#endif
