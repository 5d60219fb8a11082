/* What the host hands to kernels: one struct each, the same for C and for the device compilers. Pointers are device
 * addresses; sizes and counts are in elements, strides in bytes unless a comment says otherwise. */
#ifndef WICK_GPU_ARGS_H
#define WICK_GPU_ARGS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Values of wick_dtype, whose header device compilers do not read. args_check.c holds them together. */
#ifndef __cplusplus
#include <wick/sdk/plugin.h>
#else
enum gpu_dtype {
    WICK_BOOL = 1,
    WICK_U8 = 2,
    WICK_I8 = 3,
    WICK_I16 = 4,
    WICK_I32 = 5,
    WICK_I64 = 6,
    WICK_F16 = 10,
    WICK_BF16 = 11,
    WICK_F32 = 12,
    WICK_F64 = 13
};
#endif

#define GPU_DIMS 10    /* of a walk, after merging; the host splits what has more */
#define GPU_OPERANDS 5 /* an output and up to four inputs */
#define GPU_SCALARS 4

/* n / divisor = (mulhi(n, multiplier) + n) >> shift, for n < 2^31. */
typedef struct gpu_divider {
    uint32_t divisor, multiplier, shift;
} gpu_divider;

/* A walk over fewer than 2^31 elements; dimension 0 is the innermost. */
typedef struct gpu_walk {
    int32_t ndim;
    gpu_divider sizes[GPU_DIMS];
    int64_t strides[GPU_OPERANDS][GPU_DIMS];
} gpu_walk;

/* Elementwise, all operands dense and of the kernel's own type. One that is NULL is the number at its place. */
typedef struct gpu_dense_args {
    void *out;
    const void *in[GPU_OPERANDS - 1];
    double number[GPU_OPERANDS - 1];
    int64_t whole[GPU_OPERANDS - 1]; /* the same as integers */
    int64_t n;
    double s[GPU_SCALARS];
    int64_t si[GPU_SCALARS]; /* the same as integers */
} gpu_dense_args;

/* Elementwise with broadcasts, strides and casts; operand 0 is the output. Input k is number[k] if data[k + 1] is NULL. */
typedef struct gpu_walk_args {
    void *data[GPU_OPERANDS];
    double number[GPU_OPERANDS - 1];
    int64_t whole[GPU_OPERANDS - 1];
    int32_t dtypes[GPU_OPERANDS];
    uint32_t n;
    double s[GPU_SCALARS];
    int64_t si[GPU_SCALARS];
    gpu_walk walk;
} gpu_walk_args;

#endif
