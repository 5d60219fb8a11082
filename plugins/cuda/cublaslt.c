/* The numbers of cuBLASLt: cublasLt.h and cublas_api.h. libraries_check.c compares where these are there. */
#include "libraries.h"

static const char *const files[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so", NULL};
static const char *const symbols[] = {
#define GPU_BLAS(field, parameters, name) "cublas" name,
#include "../gpu/host/blas.inc"
};
_Static_assert(sizeof(gpu_blas_functions) == sizeof symbols, "a symbol per function");

const gpu_blas_vendor cuda_cublaslt = {
    .name = "cuBLASLt",
    .lib = {"cublaslt", files, symbols, sizeof symbols / sizeof symbols[0]},
    .compute = {.f32 = 68, .tf32 = 77, .f64 = 70},
    .operation = {0, 1},
    .desc = {.transpose_a = 3, .transpose_b = 4, .epilogue = 7, .bias = 8, .bias_type = -1},
    .layout = {.batch_count = 5, .batch_stride = 6},
    .preference = {.workspace = 1, .alignment = 5},
    .result = {.workspace = 64, .status = 72},
};
