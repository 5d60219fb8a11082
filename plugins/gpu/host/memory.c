/* Raw device memory and copies. A handle is the device address. */
#include "gpu.h"

static gpu_device *use(void *instance, int32_t index, int *result) {
    gpu_instance *gpu = instance;
    *result = gpu->vendor->make_current(&gpu->devices[index]);
    return &gpu->devices[index];
}

static wick_status *allocate(void *instance, int32_t index, uint64_t bytes, wick_memory *out) {
    gpu_instance *gpu = instance;
    uint64_t address = 0;
    int result;
    use(gpu, index, &result);
    if (!result) result = gpu->driver.allocate(&address, bytes);
    if (!result) *out = (wick_memory){.handle = (void *)(uintptr_t)address, .bytes = bytes};
    return gpu_check(gpu, result, "allocating memory");
}

/* The driver waits for the work that uses it. */
static void release(void *instance, int32_t index, wick_memory *memory) {
    gpu_instance *gpu = instance;
    int result;
    use(gpu, index, &result);
    if (!result) gpu->driver.free((uint64_t)(uintptr_t)memory->handle);
    memory->handle = NULL;
}

static wick_status *copy_from_host(void *instance, int32_t index, void *stream, const wick_memory *dst, uint64_t offset,
                                   const void *src, uint64_t bytes, uint32_t flags) {
    gpu_instance *gpu = instance;
    int result;
    gpu_device *d = use(gpu, index, &result);
    if (!result) result = gpu->driver.copy_from_host(gpu_address(dst, offset), src, bytes, gpu_stream(d, stream));
    if (!result && !(flags & WICK_COPY_ASYNC)) result = gpu->driver.stream_synchronize(gpu_stream(d, stream));
    return gpu_check(gpu, result, "copying from the host");
}

static wick_status *copy_to_host(void *instance, int32_t index, void *stream, const wick_memory *src, uint64_t offset,
                                 void *dst, uint64_t bytes, uint32_t flags) {
    gpu_instance *gpu = instance;
    int result;
    gpu_device *d = use(gpu, index, &result);
    if (!result) result = gpu->driver.copy_to_host(dst, gpu_address(src, offset), bytes, gpu_stream(d, stream));
    if (!result && !(flags & WICK_COPY_ASYNC)) result = gpu->driver.stream_synchronize(gpu_stream(d, stream));
    return gpu_check(gpu, result, "copying to the host");
}

static wick_status *copy(void *instance, int32_t index, void *stream, const wick_memory *dst, uint64_t dst_offset,
                         const wick_memory *src, uint64_t src_offset, uint64_t bytes) {
    gpu_instance *gpu = instance;
    int result;
    gpu_device *d = use(gpu, index, &result);
    if (!result)
        result =
            gpu->driver.copy(gpu_address(dst, dst_offset), gpu_address(src, src_offset), bytes, gpu_stream(d, stream));
    return gpu_check(gpu, result, "copying");
}

/* Addresses of all devices are one space: the driver finds the way. */
static wick_status *copy_peer(void *instance, void *stream, int32_t dst_index, const wick_memory *dst,
                              uint64_t dst_offset, int32_t src_index, const wick_memory *src, uint64_t src_offset,
                              uint64_t bytes) {
    return copy(instance, src_index, stream, dst, dst_offset, src, src_offset, bytes);
}

static wick_status *allocate_pinned(void *instance, uint64_t bytes, wick_memory *out) {
    gpu_instance *gpu = instance;
    void *address = NULL;
    int result;
    use(gpu, 0, &result);
    if (!result) result = gpu->driver.allocate_host(&address, bytes, 1 /* for all devices */);
    if (!result) *out = (wick_memory){.handle = address, .bytes = bytes, .data = address};
    return gpu_check(gpu, result, "allocating pinned memory");
}

static void free_pinned(void *instance, wick_memory *memory) {
    gpu_instance *gpu = instance;
    int result;
    use(gpu, 0, &result);
    if (!result) gpu->driver.free_host(memory->handle);
    memory->handle = memory->data = NULL;
}

const wick_memory_interface gpu_memory_interface = {
    .struct_size = sizeof gpu_memory_interface,
    .alignment_bytes = 256,
    .allocate = allocate,
    .free = release,
    .copy_from_host = copy_from_host,
    .copy_to_host = copy_to_host,
    .copy = copy,
    .copy_peer = copy_peer,
    .allocate_pinned = allocate_pinned,
    .free_pinned = free_pinned,
};
