/* The numbers of hipBLASLt: hipblaslt.h and hipblas-common.h of ROCm 6 and 7. */
#include "libraries.h"

static const char *const files[] = {"libhipblaslt.so", "libhipblaslt.so.1", "libhipblaslt.so.0", NULL};
static const char *const symbols[] = {
#define GPU_BLAS(field, parameters, name) "hipblas" name,
#include "../gpu/host/blas.inc"
};
_Static_assert(sizeof(gpu_blas_functions) == sizeof symbols, "a symbol per function");

const gpu_blas_vendor hip_hipblaslt = {
    .name = "hipBLASLt",
    .lib = {"hipblaslt", files, symbols, sizeof symbols / sizeof symbols[0]},
    .compute = {.f32 = 2, .tf32 = 6, .f64 = 7},
    .operation = {111, 112},
    .desc = {.transpose_a = 0, .transpose_b = 1, .epilogue = 2, .bias = 3, .bias_type = 4},
    .layout = {.batch_count = 0, .batch_stride = 1},
    .preference = {.workspace = 1, .alignment = -1},
    .result = {.workspace = 24, .status = 32},
    .handle_per_stream = true,
};
