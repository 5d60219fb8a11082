/* CUDA's device language on the CPU, for tests: the threads of a block are fibers on one OS thread, which yield at
 * barriers and shuffles only; blocks run one after the other. Kernels are ordinary functions, found by name with dlsym.
 * Built once per wave size (GPU_EMULATE_WAVE, 32 or 64). Several OS threads may launch at once. */
#ifndef WICK_GPU_EMULATE_H
#define WICK_GPU_EMULATE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../device/args.h"
#include "launch.h"

#ifndef GPU_EMULATE_WAVE
#define GPU_EMULATE_WAVE 32
#endif

struct gpu_dim3 {
    unsigned x, y, z;
};

/* The block that runs on this OS thread, as its current fiber sees it. */
struct gpu_emulated {
    gpu_dim3 thread, block, block_dim, grid_dim;
    unsigned char *dynamic_shared;
};
extern thread_local gpu_emulated gpu_now;

/* All threads of the block arrive before any goes on; threads that have returned do not count. */
void gpu_emulate_barrier();
/* The same within a wave, exchanging up to 16 bytes: `out` is what lane `source` gave, or `in` if there is no such. */
void gpu_emulate_shuffle(const void *in, void *out, size_t bytes, int source);

template <class T> inline T gpu_emulate_shuffle_of(T x, int source) {
    T out;
    static_assert(sizeof(T) <= 16, "shuffles carry 16 bytes");
    gpu_emulate_shuffle(&x, &out, sizeof x, source);
    return out;
}

#define threadIdx (gpu_now.thread)
#define blockIdx (gpu_now.block)
#define blockDim (gpu_now.block_dim)
#define gridDim (gpu_now.grid_dim)
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __shared__ static thread_local
#define GPU_FN static inline
#define GPU_MEMBER inline
#define GPU_UNROLL
#define GPU_ROLLED
#define GPU_WAVE GPU_EMULATE_WAVE
#define GPU_EMULATE_LANE ((int)(threadIdx.x % GPU_WAVE))
#define GPU_SHUFFLE_DOWN(x, offset) gpu_emulate_shuffle_of((x), GPU_EMULATE_LANE + (int)(offset))
#define GPU_SHUFFLE_XOR(x, mask) gpu_emulate_shuffle_of((x), GPU_EMULATE_LANE ^ (int)(mask))
#define GPU_SHUFFLE(x, lane) gpu_emulate_shuffle_of((x), (int)(lane))
#define GPU_DYNAMIC_SHARED(type, name) type *name = reinterpret_cast<type *>(gpu_now.dynamic_shared)

/* The kernel as a constant that gpu_emulate_launch takes. */
#define GPU_KERNEL(name, threads, args_type)                                                         \
    static void name##_body(const args_type &a);                                                     \
    static void name##_run(const void *args) { name##_body(*static_cast<const args_type *>(args)); } \
    extern "C" GPU_EMULATE_API const gpu_emulated_kernel name;                                       \
    const gpu_emulated_kernel name = {name##_run, sizeof(args_type), threads};                       \
    static void name##_body(const args_type &a)

static inline void __syncthreads() { gpu_emulate_barrier(); }
static inline void __syncwarp() {
    int none = 0;
    gpu_emulate_shuffle(&none, &none, sizeof none, 0);
}
/* Other OS threads may run blocks of other launches at the same addresses: real atomics. */
template <class T> static inline T atomicAdd(T *p, T x) {
    T old, sum;
    __atomic_load(p, &old, __ATOMIC_RELAXED);
    do sum = old + x;
    while (!__atomic_compare_exchange(p, &old, &sum, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}
template <class T> static inline T atomicCAS(T *p, T expected, T desired) {
    __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}
static inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

#endif
