/* The kernels' numbers. */
#ifndef WICK_GPU_KERNELS_H
#define WICK_GPU_KERNELS_H

typedef enum gpu_kernel {
#define GPU_K(name) GPU_##name,
#include "../device/kernels.inc"
    GPU_KERNEL_COUNT
} gpu_kernel;

#endif
