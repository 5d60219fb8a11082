/* Device memory that the host cannot touch, copies, pinned memory.
 *
 * A device is one file without a name (memfd), twice as long as its limit so that fragments never matter, mapped twice:
 * `window` for handles, where every access faults, and `alias` for workers, where only living blocks are accessible. A
 * page that no block owns lies between blocks, so that kernels that run over the end or use freed memory fault as well.
 * The file goes with the process, however it ends. */
#include "refdevice.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

/* A piece of the window, in order of its offset; neighbours are never both free. */
typedef struct ref_range {
    struct ref_range *next;
    uint64_t offset, bytes;
    bool free;
} ref_range;

/* ---- the two mappings ---- */
static wick_status *map(ref_device *device) {
    const ref_instance *self = device->self;
    size_t bytes = device->window_bytes;
    device->file = memfd_create("wick-refdevice", MFD_CLOEXEC);
    if (device->file < 0 || ftruncate(device->file, (off_t)bytes) != 0)
        return REF_ERROR(self, WICK_UNAVAILABLE, "%s: cannot make a file of %zu bytes in memory", self->device_name,
                         bytes);
    device->window = mmap(NULL, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, device->file, 0);
    device->alias = mmap(NULL, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, device->file, 0);
    if (device->window == MAP_FAILED || device->alias == MAP_FAILED)
        return REF_ERROR(self, WICK_UNAVAILABLE, "%s: cannot map %zu bytes twice", self->device_name, bytes);
    return NULL;
}

wick_status *ref_memory_open(ref_device *device) {
    ref_instance *self = device->self;
    device->file = -1;
    device->window = device->alias = MAP_FAILED;
    device->window_bytes = 2 * (((uint64_t)self->memory_bytes + PAGE - 1) / PAGE * PAGE + PAGE);
    device->ranges = ref_allocate(self, sizeof *device->ranges);
    if (!device->ranges) return REF_ERROR(self, WICK_OUT_OF_MEMORY, "%s: no host memory", self->device_name);
    *device->ranges = (ref_range){.bytes = device->window_bytes, .free = true};
    return map(device);
}

void ref_memory_close(ref_device *device) {
    for (ref_range *r = device->ranges, *next; r; r = next) {
        next = r->next;
        ref_free(device->self, r);
    }
    device->ranges = NULL;
    if (device->window != MAP_FAILED) munmap(device->window, device->window_bytes);
    if (device->alias != MAP_FAILED) munmap(device->alias, device->window_bytes);
    if (device->file >= 0) close(device->file);
}

/* Tensors without elements may have no memory: any address will do. */
char *ref_address(const ref_device *device, const wick_memory *memory, uint64_t offset) {
    if (!memory->handle) return device->alias;
    return device->alias + ((char *)memory->handle - device->window) + memory->offset_bytes + offset;
}

uint64_t ref_memory_used(ref_device *device) {
    pthread_mutex_lock(&device->lock);
    uint64_t used = device->used_bytes;
    pthread_mutex_unlock(&device->lock);
    return used;
}

/* ---- blocks: first fit. The device is locked. ---- */
/* Takes `bytes` from the front of the range; the rest becomes a range of its own. */
static bool split(ref_device *device, ref_range *range, uint64_t bytes) {
    if (range->bytes > bytes) {
        ref_range *rest = ref_allocate(device->self, sizeof *rest);
        if (!rest) return false;
        *rest = (ref_range){range->next, range->offset + bytes, range->bytes - bytes, true};
        range->next = rest, range->bytes = bytes;
    }
    range->free = false;
    return true;
}

static ref_range *take(ref_device *device, uint64_t bytes) {
    for (ref_range *r = device->ranges; r; r = r->next)
        if (r->free && r->bytes >= bytes) return split(device, r, bytes) ? r : NULL;
    return NULL;
}

static void merge_with_next(ref_device *device, ref_range *range) {
    ref_range *next = range->next;
    if (!next || !range->free || !next->free) return;
    range->bytes += next->bytes, range->next = next->next;
    ref_free(device->self, next);
}

static void give_back(ref_device *device, uint64_t offset) {
    ref_range *before = NULL, *r = device->ranges;
    while (r && r->offset != offset) before = r, r = r->next;
    if (!r) return;
    device->used_bytes -= r->bytes;
    mprotect(device->alias + offset, r->bytes, PROT_NONE);
    /* New blocks are zeros then, and the host has its memory back. That it fails is no harm. */
    if (fallocate(device->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)r->bytes) != 0) {}
    r->free = true;
    merge_with_next(device, r);
    if (before) merge_with_next(device, before);
}

/* Pages of `bytes` and one that stays out of reach. */
static uint64_t block_bytes(uint64_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE + PAGE; }

static ref_range *take_block(ref_device *device, uint64_t bytes) {
    uint64_t whole = block_bytes(bytes);
    if (device->used_bytes + whole - PAGE > (uint64_t)device->self->memory_bytes) return NULL;
    ref_range *range = take(device, whole);
    if (!range) return NULL;
    device->used_bytes += whole;
    if (mprotect(device->alias + range->offset, whole - PAGE, PROT_READ | PROT_WRITE) == 0) return range;
    give_back(device, range->offset);
    return NULL;
}

/* ---- raw memory ---- */
/* The core gives back what it caches and repeats an allocation that failed: the injected failure meets both. */
static bool fails_by_order(ref_instance *self) {
    int64_t n = atomic_fetch_add(&self->allocations, 1) + 1;
    return self->fail_allocation && (n == self->fail_allocation || n == self->fail_allocation + 1);
}

static wick_status *allocate(void *instance, int32_t index, uint64_t bytes, wick_memory *out) {
    ref_instance *self = instance;
    ref_device *device = &self->devices[index];
    WICK_TRY(ref_check_alive(device));
    if (fails_by_order(self))
        return REF_ERROR(self, WICK_OUT_OF_MEMORY, "%s:%d: the allocation of %llu bytes fails by fail_allocation",
                         self->device_name, index, (unsigned long long)bytes);
    pthread_mutex_lock(&device->lock);
    ref_range *range = bytes <= (uint64_t)self->memory_bytes ? take_block(device, bytes) : NULL;
    uint64_t used = device->used_bytes;
    pthread_mutex_unlock(&device->lock);
    if (!range)
        return REF_ERROR(self, WICK_OUT_OF_MEMORY, "%s:%d has no %llu bytes: %llu of %lld are in use",
                         self->device_name, index, (unsigned long long)bytes, (unsigned long long)used,
                         (long long)self->memory_bytes);
    *out = (wick_memory){.handle = device->window + range->offset, .bytes = bytes};
    return NULL;
}

static void release(void *instance, int32_t index, wick_memory *memory) {
    ref_device *device = &((ref_instance *)instance)->devices[index];
    ref_device_drain(device);
    pthread_mutex_lock(&device->lock);
    give_back(device, (uint64_t)((char *)memory->handle - device->window));
    pthread_mutex_unlock(&device->lock);
    *memory = (wick_memory){0};
}

/* ---- copies ---- */
typedef struct transfer {
    char *to;
    const char *from; /* NULL: the bytes follow the payload */
    uint64_t bytes;
} transfer;

static wick_status *run_transfer(ref_device *device, const void *payload) {
    const transfer *t = payload;
    memmove(t->to, t->from ? t->from : (const char *)(t + 1), t->bytes);
    return NULL;
}

/* `staged` bytes are taken along now. */
static wick_status *submit(ref_device *device, ref_stream *stream, const transfer *what, const void *staged) {
    ref_instance *self = device->self;
    ref_task *task =
        ref_task_new(self, "copy", "copy", run_transfer, sizeof(transfer) + (staged ? (size_t)what->bytes : 0));
    if (!task)
        return REF_ERROR(self, WICK_OUT_OF_MEMORY, "%s:%d: no host memory for a copy of %llu bytes", self->device_name,
                         device->index, (unsigned long long)what->bytes);
    transfer *t = ref_task_payload(task);
    *t = *what;
    if (staged) memcpy(t + 1, staged, (size_t)what->bytes);
    task->bytes = what->bytes;
    return ref_submit(stream, task);
}

static wick_status *copy_from_host(void *instance, int32_t index, void *handle, const wick_memory *dst, uint64_t offset,
                                   const void *src, uint64_t bytes, uint32_t flags) {
    ref_device *device = &((ref_instance *)instance)->devices[index];
    bool pinned = flags & WICK_COPY_ASYNC;
    ref_stream *stream;
    WICK_TRY(ref_stream_of(device, handle, &stream));
    transfer t = {ref_address(device, dst, offset), pinned ? src : NULL, bytes};
    return submit(device, stream, &t, pinned ? NULL : src);
}

static wick_status *copy_to_host(void *instance, int32_t index, void *handle, const wick_memory *src, uint64_t offset,
                                 void *dst, uint64_t bytes, uint32_t flags) {
    ref_device *device = &((ref_instance *)instance)->devices[index];
    ref_stream *stream;
    WICK_TRY(ref_stream_of(device, handle, &stream));
    if (!(flags & WICK_COPY_ASYNC)) WICK_TRY(ref_stream_refuse_capture(stream));
    WICK_TRY(submit(device, stream, &(transfer){dst, ref_address(device, src, offset), bytes}, NULL));
    return flags & WICK_COPY_ASYNC ? NULL : ref_stream_finish(stream);
}

static wick_status *copy_peer(void *instance, void *handle, int32_t dst_index, const wick_memory *dst,
                              uint64_t dst_offset, int32_t src_index, const wick_memory *src, uint64_t src_offset,
                              uint64_t bytes) {
    ref_instance *self = instance;
    ref_device *to = &self->devices[dst_index], *from = &self->devices[src_index];
    ref_stream *stream;
    WICK_TRY(ref_check_alive(to));
    WICK_TRY(ref_stream_of(from, handle, &stream));
    transfer t = {ref_address(to, dst, dst_offset), ref_address(from, src, src_offset), bytes};
    return submit(from, stream, &t, NULL);
}

static wick_status *copy(void *instance, int32_t index, void *handle, const wick_memory *dst, uint64_t dst_offset,
                         const wick_memory *src, uint64_t src_offset, uint64_t bytes) {
    return copy_peer(instance, handle, index, dst, dst_offset, index, src, src_offset, bytes);
}

/* ---- pinned memory: any host memory would do; here it is just told apart ---- */
static wick_status *allocate_pinned(void *instance, uint64_t bytes, wick_memory *out) {
    ref_instance *self = instance;
    void *block = ref_allocate(self, (size_t)bytes);
    if (!block)
        return REF_ERROR(self, WICK_OUT_OF_MEMORY, "%s: no %llu bytes of host memory", self->device_name,
                         (unsigned long long)bytes);
    *out = (wick_memory){.handle = block, .bytes = bytes, .data = block};
    return NULL;
}

/* A copy may still be reading it. */
static void free_pinned(void *instance, wick_memory *memory) {
    ref_instance *self = instance;
    for (int i = 0; i < self->device_count; ++i) ref_device_drain(&self->devices[i]);
    ref_free(self, memory->handle);
    *memory = (wick_memory){0};
}

const wick_memory_interface ref_memory_interface = {
    .struct_size = sizeof ref_memory_interface,
    .alignment_bytes = PAGE,
    .allocate = allocate,
    .free = release,
    .copy_from_host = copy_from_host,
    .copy_to_host = copy_to_host,
    .copy = copy,
    .copy_peer = copy_peer,
    .allocate_pinned = allocate_pinned,
    .free_pinned = free_pinned,
};
