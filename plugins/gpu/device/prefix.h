/* Sums over the threads of a block in front of each. */
#ifndef WICK_GPU_PREFIX_H
#define WICK_GPU_PREFIX_H

#include "gpu.h"

/* The sum of `x` over the threads before this one; *total: over all. `shared`: a number per wave. Every thread of the
 * block, which is of whole waves, must call it. */
GPU_FN uint32_t block_before(uint32_t x, uint32_t *shared, uint32_t *total) {
    const int lane = gpu_lane(), wave = (int)threadIdx.x / GPU_WAVE, waves = (int)blockDim.x / GPU_WAVE;
    uint32_t sum = x;
    for (int offset = 1; offset < GPU_WAVE; offset *= 2) {
        uint32_t before = GPU_SHUFFLE(sum, lane < offset ? lane : lane - offset);
        if (lane >= offset) sum += before;
    }
    if (lane == GPU_WAVE - 1) shared[wave] = sum;
    __syncthreads();
    uint32_t all = 0, behind = 0;
    for (int i = 0; i < waves; ++i) {
        if (i == wave) behind = all;
        all += shared[i];
    }
    *total = all;
    __syncthreads();
    return behind + sum - x;
}

#endif
