/* What cuLaunchKernelEx takes: CUlaunchConfig and CUlaunchAttribute of cuda.h (CUDA 12), held together with it by
 * libraries_check.c. */
#ifndef WICK_CUDA_LAUNCH_H
#define WICK_CUDA_LAUNCH_H

#include <stdint.h>

#define CUDA_LAUNCH_PROGRAMMATIC 6 /* CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION */

typedef struct cuda_launch_attribute {
    int id;
    _Alignas(8) union {
        int yes;
        char bytes[64];
    } value;
} cuda_launch_attribute;

typedef struct cuda_launch {
    unsigned grid[3], block[3], shared_bytes;
    void *stream;
    cuda_launch_attribute *attributes;
    unsigned attribute_count;
} cuda_launch;

#endif
