/* Memory: one cl_mem a block. The core caches blocks and hands out parts of them by offset. */
#include "opencl.h"

static wick_status *allocate(void *instance, int32_t index, uint64_t bytes, wick_memory *out) {
    ocl *self = instance;
    cl_int code;
    WICK_TRY(ocl_ready(self));
    cl_mem block = self->api.clCreateBuffer(self->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (code) return ocl_error(self, code, "clCreateBuffer");
    *out = (wick_memory){.handle = block, .bytes = bytes};
    return NULL;
}

/* OpenCL keeps the memory until the commands that use it are done. */
static void release(void *instance, int32_t index, wick_memory *memory) {
    const ocl *self = instance;
    self->api.clReleaseMemObject(memory->handle);
}

static wick_status *from_host(void *instance, int32_t index, void *stream, const wick_memory *dst, uint64_t offset,
                              const void *src, uint64_t bytes, uint32_t flags) {
    ocl *self = instance;
    ocl_line *line = ocl_line_of(self, index, stream);
    if (bytes == 0) return NULL;
    cl_bool wait = flags & WICK_COPY_ASYNC ? CL_FALSE : CL_TRUE;
    cl_int code = self->api.clEnqueueWriteBuffer(line->queue, dst->handle, wait, dst->offset_bytes + offset, bytes, src,
                                                 0, NULL, NULL);
    ++line->submitted;
    return code ? ocl_error(self, code, "clEnqueueWriteBuffer") : NULL;
}

static wick_status *to_host(void *instance, int32_t index, void *stream, const wick_memory *src, uint64_t offset,
                            void *dst, uint64_t bytes, uint32_t flags) {
    ocl *self = instance;
    ocl_line *line = ocl_line_of(self, index, stream);
    if (bytes == 0) return NULL;
    cl_bool wait = flags & WICK_COPY_ASYNC ? CL_FALSE : CL_TRUE;
    cl_int code = self->api.clEnqueueReadBuffer(line->queue, src->handle, wait, src->offset_bytes + offset, bytes, dst,
                                                0, NULL, NULL);
    ++line->submitted;
    if (code) return ocl_error(self, code, "at or before clEnqueueReadBuffer");
    return wait ? ocl_check_faults(self, index, line->queue) : NULL;
}

/* Copies inside the queue's order. */
static wick_status *enqueue_copy(const ocl *self, ocl_line *line, const wick_memory *dst, uint64_t dst_offset,
                                 const wick_memory *src, uint64_t src_offset, uint64_t bytes) {
    if (bytes == 0) return NULL;
    cl_int code = self->api.clEnqueueCopyBuffer(line->queue, src->handle, dst->handle, src->offset_bytes + src_offset,
                                                dst->offset_bytes + dst_offset, bytes, 0, NULL, NULL);
    ++line->submitted;
    return code ? ocl_error(self, code, "clEnqueueCopyBuffer") : NULL;
}

static wick_status *copy(void *instance, int32_t index, void *stream, const wick_memory *dst, uint64_t dst_offset,
                         const wick_memory *src, uint64_t src_offset, uint64_t bytes) {
    ocl *self = instance;
    return enqueue_copy(self, ocl_line_of(self, index, stream), dst, dst_offset, src, src_offset, bytes);
}

/* All devices share one context: the driver moves the bytes. */
static wick_status *copy_peer(void *instance, void *stream, int32_t dst_index, const wick_memory *dst,
                              uint64_t dst_offset, int32_t src_index, const wick_memory *src, uint64_t src_offset,
                              uint64_t bytes) {
    ocl *self = instance;
    return enqueue_copy(self, ocl_line_of(self, src_index, stream), dst, dst_offset, src, src_offset, bytes);
}

static wick_status *allocate_pinned(void *instance, uint64_t bytes, wick_memory *out) {
    ocl *self = instance;
    cl_int code;
    WICK_TRY(ocl_ready(self));
    cl_mem block =
        self->api.clCreateBuffer(self->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &code);
    if (code) return ocl_error(self, code, "clCreateBuffer");
    void *data = self->api.clEnqueueMapBuffer(self->devices[0].line.queue, block, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                                              0, bytes, 0, NULL, NULL, &code);
    if (code) {
        self->api.clReleaseMemObject(block);
        return ocl_error(self, code, "clEnqueueMapBuffer");
    }
    *out = (wick_memory){.handle = block, .bytes = bytes, .data = data};
    return NULL;
}

static void free_pinned(void *instance, wick_memory *memory) {
    const ocl *self = instance;
    (void)self->api.clEnqueueUnmapMemObject(self->devices[0].line.queue, memory->handle, memory->data, 0, NULL, NULL);
    self->api.clReleaseMemObject(memory->handle);
}

const wick_memory_interface ocl_memory = {
    .struct_size = sizeof ocl_memory,
    .alignment_bytes = 128,
    .allocate = allocate,
    .free = release,
    .copy_from_host = from_host,
    .copy_to_host = to_host,
    .copy = copy,
    .copy_peer = copy_peer,
    .allocate_pinned = allocate_pinned,
    .free_pinned = free_pinned,
};
