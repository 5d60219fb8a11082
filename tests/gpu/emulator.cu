/* Kernels that try what plugins/gpu/emulate promises. */
#include "../../plugins/gpu/device/gpu.h"
#include "args_emulator.h"

/* Each block reverses its part through static shared memory. */
GPU_KERNEL(reverse_static, 256, emulator_args) {
    __shared__ int kept[256];
    const int *in = static_cast<const int *>(a.in);
    int *out = static_cast<int *>(a.out);
    kept[threadIdx.x] = in[gpu_thread()];
    __syncthreads();
    out[gpu_thread()] = kept[blockDim.x - 1 - threadIdx.x];
}

GPU_KERNEL(reverse_dynamic, 256, emulator_args) {
    GPU_DYNAMIC_SHARED(int, kept);
    const int *in = static_cast<const int *>(a.in);
    int *out = static_cast<int *>(a.out);
    kept[threadIdx.x] = in[gpu_thread()];
    __syncthreads();
    out[gpu_thread()] = kept[blockDim.x - 1 - threadIdx.x];
}

/* Threads that return early do not hold a barrier up. */
GPU_KERNEL(early_return, 256, emulator_args) {
    __shared__ int sum;
    int *out = static_cast<int *>(a.out);
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    if ((int64_t)threadIdx.x >= a.n) return;
    atomicAdd(&sum, 1);
    __syncthreads();
    out[threadIdx.x] = sum;
}

GPU_KERNEL(block_sums, 256, emulator_args) {
    __shared__ double waves[8];
    const double *in = static_cast<const double *>(a.in);
    double x = 0;
    for (int64_t i = gpu_thread(); i < a.n; i += gpu_threads()) x += in[i];
    x = block_reduce(x, op_sum(), 0.0, waves);
    if (threadIdx.x == 0) atomicAdd(static_cast<double *>(a.out), x);
}

/* out[t] = {what the shuffles give} */
GPU_KERNEL(shuffles, 256, emulator_args) {
    int *out = static_cast<int *>(a.out) + 4 * gpu_thread();
    int lane = gpu_lane();
    out[0] = GPU_SHUFFLE(100 + lane, 3);
    out[1] = GPU_SHUFFLE_XOR(lane, 5);
    out[2] = GPU_SHUFFLE_DOWN(lane, 2);
    out[3] = GPU_WAVE;
}

struct wide {
    double x, y;
};
GPU_KERNEL(wide_shuffle, 64, emulator_args) {
    wide v = {(double)threadIdx.x, -(double)threadIdx.x};
    v = GPU_SHUFFLE_XOR(v, 1);
    static_cast<wide *>(a.out)[threadIdx.x] = v;
}

/* A counter each by atomicAdd and by a loop of atomicCAS. */
GPU_KERNEL(atomics, 256, emulator_args) {
    atomicAdd(static_cast<float *>(a.out), 0.5f);
    atomicAdd(static_cast<unsigned long long *>(a.out) + 1, 3ull);
    unsigned *word = static_cast<unsigned *>(a.out) + 4, old = *word, seen;
    while ((seen = atomicCAS(word, old, old + 2)) != old) old = seen;
}

/* Every thread of a grid of three dimensions writes its own number. */
GPU_KERNEL(positions, 64, emulator_args) {
    int64_t block = blockIdx.x + (int64_t)gridDim.x * (blockIdx.y + (int64_t)gridDim.y * blockIdx.z);
    int64_t thread = threadIdx.x + (int64_t)blockDim.x * (threadIdx.y + (int64_t)blockDim.y * threadIdx.z);
    int64_t threads = (int64_t)blockDim.x * blockDim.y * blockDim.z;
    static_cast<int64_t *>(a.out)[block * threads + thread] = block * 1000 + thread;
}
