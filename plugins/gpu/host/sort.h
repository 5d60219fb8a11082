/* Sorting pairs on the device. */
#ifndef WICK_GPU_SORT_H
#define WICK_GPU_SORT_H

#include "gpu.h"

typedef struct gpu_pairs {
    void *keys, *spare_keys; /* device memory, n keys of `key_bytes` (4 or 8) each */
    uint32_t *values, *spare_values;
    uint32_t *counts; /* gpu_sort_counts(n) of them */
    uint32_t n;
    int key_bytes;
    bool numbered; /* value i is i: nothing need be in `values` */
} gpu_pairs;

uint32_t gpu_sort_counts(uint32_t n);
/* Sorts by the low `bits` bits of the keys, stably. The results are in keys and values afterwards, which may have changed
 * places with the spare ones. */
wick_status *gpu_sort_pairs(const wick_kernel_call *call, gpu_pairs *pairs, int bits);

#endif
