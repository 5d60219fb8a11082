#include "memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT 64
#define HUGE_PAGE (UINT64_C(2) << 20)

static wick_status *allocate(void *instance, int32_t index, uint64_t bytes, wick_memory *out) {
    const wick_host *host = ((cpu_instance *)instance)->host;
    uint64_t alignment = bytes >= HUGE_PAGE ? HUGE_PAGE : ALIGNMENT;
    void *block =
        bytes > PTRDIFF_MAX - alignment ? NULL : aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
    if (!block)
        return WICK_HOST_ERROR(host, WICK_OUT_OF_MEMORY, "cannot allocate %llu bytes", (unsigned long long)bytes);
#ifdef MADV_HUGEPAGE
    if (alignment == HUGE_PAGE) madvise(block, bytes, MADV_HUGEPAGE); /* a hint: its failure costs only speed */
#endif
    *out = (wick_memory){.handle = block, .bytes = bytes, .data = block};
    return NULL;
}

static void release(void *instance, int32_t index, wick_memory *memory) {
    free(memory->handle);
    memory->handle = memory->data = NULL;
}

static char *address(const wick_memory *memory, uint64_t offset) { return (char *)memory->data + offset; }

static wick_status *copy_from_host(void *instance, int32_t index, void *stream, const wick_memory *dst, uint64_t offset,
                                   const void *src, uint64_t bytes, uint32_t flags) {
    memcpy(address(dst, offset), src, bytes);
    return NULL;
}

static wick_status *copy_to_host(void *instance, int32_t index, void *stream, const wick_memory *src, uint64_t offset,
                                 void *dst, uint64_t bytes, uint32_t flags) {
    memcpy(dst, address(src, offset), bytes);
    return NULL;
}

static wick_status *copy(void *instance, int32_t index, void *stream, const wick_memory *dst, uint64_t dst_offset,
                         const wick_memory *src, uint64_t src_offset, uint64_t bytes) {
    memmove(address(dst, dst_offset), address(src, src_offset), bytes);
    return NULL;
}

const wick_memory_interface cpu_memory = {
    .struct_size = sizeof(wick_memory_interface),
    .flags = WICK_MEMORY_ADDRESSABLE,
    .alignment_bytes = ALIGNMENT,
    .allocate = allocate,
    .free = release,
    .copy_from_host = copy_from_host,
    .copy_to_host = copy_to_host,
    .copy = copy,
};
