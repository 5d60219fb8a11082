/* Kernels by name, and their launch. */
#include "gpu.h"

static const char *const names[GPU_KERNEL_COUNT] = {
#define GPU_K(name) #name,
#include "../device/kernels.inc"
};

/* The first use of a kernel on a device. */
static wick_status *find(gpu_device *d, gpu_kernel kernel, void **out) {
    gpu_instance *gpu = d->gpu;
    void *function = NULL;
    int result = GPU_NOT_FOUND;
    pthread_mutex_lock(&gpu->lock);
    for (int i = 0; i < d->module_count && result == GPU_NOT_FOUND; ++i)
        result = gpu->driver.module_function(&function, d->modules[i], names[kernel]);
    if (!result) atomic_store_explicit(&d->functions[kernel], function, memory_order_release);
    pthread_mutex_unlock(&gpu->lock);
    *out = function;
    return gpu_check(gpu, result, names[kernel]);
}

static int start(const gpu_device *d, void *function, const unsigned grid[3], const unsigned block[3],
                 unsigned shared_bytes, void *stream, void **parameters) {
    const gpu_instance *gpu = d->gpu;
    if (gpu->vendor->launch) return gpu->vendor->launch(d, function, grid, block, shared_bytes, stream, parameters);
    return gpu->driver.launch(function, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared_bytes, stream,
                              parameters, NULL);
}

wick_status *gpu_launch_grid(const wick_kernel_call *call, gpu_kernel kernel, const unsigned grid[3],
                             const unsigned block[3], unsigned shared_bytes, const void *args) {
    gpu_device *d = gpu_device_of(call);
    gpu_instance *gpu = d->gpu;
    int result = gpu->vendor->make_current(d);
    if (WICK_UNLIKELY(result)) return gpu_check(gpu, result, "using the device");
    void *function = atomic_load_explicit(&d->functions[kernel], memory_order_acquire);
    if (WICK_UNLIKELY(!function)) WICK_TRY(find(d, kernel, &function));
    result = start(d, function, grid, block, shared_bytes, gpu_stream(d, call->stream), (void **)&args);
    return WICK_LIKELY(!result) ? NULL : gpu_check(gpu, result, names[kernel]);
}

wick_status *gpu_launch(const wick_kernel_call *call, gpu_kernel kernel, unsigned grid, unsigned threads,
                        unsigned shared_bytes, const void *args) {
    const unsigned grids[3] = {grid, 1, 1}, blocks[3] = {threads, 1, 1};
    return gpu_launch_grid(call, kernel, grids, blocks, shared_bytes, args);
}

unsigned gpu_blocks(const gpu_device *d, int64_t n, unsigned threads, unsigned per_thread, unsigned waves) {
    int64_t chunk = (int64_t)threads * per_thread, blocks = (n + chunk - 1) / chunk;
    int64_t most = (int64_t)d->multiprocessors * waves;
    if (blocks > most) blocks = most;
    return blocks < 1 ? 1 : (unsigned)blocks;
}
