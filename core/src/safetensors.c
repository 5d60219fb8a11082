/* Open safetensors files: mapping, lookup, tensors on the mapping. */
#include "safetensors.h"
#include "runtime.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static wick_status *file_new(wick_runtime *runtime, const char *source, wick_safetensors **out) {
    const wick_allocator *memory = runtime ? runtime_allocator(runtime) : allocator_default();
    size_t source_bytes = strlen(source) + 1;
    wick_safetensors *file = memory->allocate(memory->user, sizeof *file + source_bytes);
    if (!file) return WICK_ERROR(WICK_OUT_OF_MEMORY, "%s: no memory to open it", source);
    *file = (wick_safetensors){.references = 1, .memory = memory, .source = (char *)(file + 1)};
    memcpy(file->source, source, source_bytes);
    if (runtime) file->runtime = wick_runtime_retain(runtime);
    *out = file;
    return NULL;
}

static void file_release(void *user) {
    wick_safetensors *file = user;
    if (atomic_fetch_sub_explicit(&file->references, 1, memory_order_acq_rel) != 1) return;
    wick_runtime *runtime = file->runtime;
    if (file->map) munmap(file->map, file->map_bytes);
    allocator_free(file->memory, file->header);
    allocator_free(file->memory, file->tensors);
    allocator_free(file->memory, file->sizes);
    allocator_free(file->memory, file->metadata);
    allocator_free(file->memory, file);
    if (runtime) wick_runtime_release(runtime);
}

void wick_safetensors_close(wick_safetensors *file) {
    if (file) file_release(file);
}

/* ---- opening ---- */
static wick_status *header_bytes(const wick_safetensors *file, const unsigned char *prefix, uint64_t total,
                                 size_t *out) {
    uint64_t bytes = 0;
    if (total < SAFETENSORS_PREFIX_BYTES)
        return WICK_ERROR(WICK_DATA_LOSS, "%s: %" PRIu64 " bytes are too few for a safetensors file", file->source,
                          total);
    memcpy(&bytes, prefix, sizeof bytes);
    if (bytes > WICK_SAFETENSORS_MAX_HEADER_BYTES)
        return WICK_ERROR(WICK_DATA_LOSS, "%s: header of %" PRIu64 " bytes, at most %d are allowed", file->source,
                          bytes, WICK_SAFETENSORS_MAX_HEADER_BYTES);
    if (bytes > total - SAFETENSORS_PREFIX_BYTES)
        return WICK_ERROR(WICK_DATA_LOSS, "%s: truncated: header of %" PRIu64 " bytes in a file of %" PRIu64,
                          file->source, bytes, total);
    *out = (size_t)bytes;
    return NULL;
}

/* Copies the header out of `data`, the whole file in memory, and checks the copy. */
static wick_status *read_header(wick_safetensors *file, const unsigned char *data, uint64_t total) {
    size_t bytes = 0;
    WICK_TRY(header_bytes(file, data, total, &bytes));
    file->header = allocator_copy(file->memory, (const char *)data + SAFETENSORS_PREFIX_BYTES, bytes);
    if (!file->header) return WICK_ERROR(WICK_OUT_OF_MEMORY, "%s: no memory for its header", file->source);
    file->data = data + SAFETENSORS_PREFIX_BYTES + bytes;
    file->data_bytes = total - SAFETENSORS_PREFIX_BYTES - bytes;
    return safetensors_parse_header(file, bytes);
}

static wick_status *map_error(const wick_safetensors *file, const char *what) {
    wick_code code = errno == ENOENT ? WICK_NOT_FOUND : errno == ENOMEM ? WICK_OUT_OF_MEMORY : WICK_IO;
    return WICK_ERROR(code, "%s: cannot %s: %s", file->source, what, strerror(errno));
}

/* A private writable mapping: in-place operators on a tensor copy the pages that they touch. */
static wick_status *map_descriptor(wick_safetensors *file, int fd) {
    struct stat info;
    if (fstat(fd, &info) != 0) return map_error(file, "read its size");
    if (!S_ISREG(info.st_mode)) return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: not a regular file", file->source);
    if ((uint64_t)info.st_size > SIZE_MAX || info.st_size == 0)
        return WICK_ERROR(WICK_DATA_LOSS, "%s: a file of %jd bytes cannot be used", file->source,
                          (intmax_t)info.st_size);
    void *map = mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
    if (map == MAP_FAILED) return map_error(file, "map");
    file->map = map;
    file->map_bytes = (size_t)info.st_size;
    return NULL;
}

static wick_status *map_file(wick_safetensors *file) {
    int fd = open(file->source, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return map_error(file, "open");
    wick_status *status = map_descriptor(file, fd);
    close(fd);
    return status;
}

static wick_status *finish_open(wick_safetensors *file, wick_status *status, wick_safetensors **out) {
    if (status)
        file_release(file);
    else
        *out = file;
    return status;
}

wick_status *wick_safetensors_open(wick_runtime *runtime, const char *path, wick_safetensors **out) {
    wick_safetensors *file = NULL;
    if (!runtime || !path)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "safetensors: no %s given", runtime ? "path" : "runtime");
    WICK_TRY(file_new(runtime, path, &file));
    wick_status *status = map_file(file);
    if (!status) status = read_header(file, file->map, file->map_bytes);
    return finish_open(file, status, out);
}

wick_status *wick_safetensors_parse(wick_runtime *runtime, const void *data, size_t bytes, const char *source,
                                    wick_safetensors **out) {
    wick_safetensors *file = NULL;
    WICK_TRY(file_new(runtime, source ? source : "safetensors in memory", &file));
    return finish_open(file, read_header(file, data, bytes), out);
}

/* ---- looking up ---- */
size_t wick_safetensors_count(const wick_safetensors *file) { return file->count; }

const wick_safetensors_info *wick_safetensors_at(const wick_safetensors *file, size_t index) {
    return index < file->count ? &file->tensors[index] : NULL;
}

static int name_order(const void *name, const void *tensor) {
    return strcmp(name, ((const wick_safetensors_info *)tensor)->name);
}

const wick_safetensors_info *wick_safetensors_find(const wick_safetensors *file, const char *name) {
    if (file->count == 0) return NULL;
    return bsearch(name, file->tensors, file->count, sizeof *file->tensors, name_order);
}

const void *wick_safetensors_data(const wick_safetensors *file, const wick_safetensors_info *info) {
    return file->data + info->offset_bytes;
}

bool wick_safetensors_metadata_at(const wick_safetensors *file, size_t index, wick_safetensors_pair *out) {
    if (index >= file->metadata_count) return false;
    *out = file->metadata[index];
    return true;
}

static int key_order(const void *key, const void *pair) {
    return strcmp(key, ((const wick_safetensors_pair *)pair)->key);
}

const char *wick_safetensors_metadata(const wick_safetensors *file, const char *key) {
    if (file->metadata_count == 0) return NULL;
    const wick_safetensors_pair *pair =
        bsearch(key, file->metadata, file->metadata_count, sizeof *file->metadata, key_order);
    return pair ? pair->value : NULL;
}

/* ---- tensors ---- */
size_t safetensors_alignment(wick_dtype dtype) {
    return wick_dtype_bytes(dtype) / (wick_dtype_is_complex(dtype) ? 2 : 1);
}

static wick_status *check_bools(const wick_safetensors *file, const wick_safetensors_info *t) {
    const unsigned char *data = file->data + t->offset_bytes;
    for (uint64_t i = 0; i < t->bytes; ++i)
        if (data[i] > 1)
            return WICK_ERROR(WICK_DATA_LOSS, "%s: tensor '%.128s' holds %d at element %" PRIu64 ", a BOOL is 0 or 1",
                              file->source, t->name, data[i], i);
    return NULL;
}

static wick_tensor *wrap(wick_context *c, wick_safetensors *file, const wick_safetensors_info *t) {
    void *data = (void *)(file->data + t->offset_bytes);
    atomic_fetch_add_explicit(&file->references, 1, memory_order_relaxed);
    wick_tensor *tensor = wick_tensor_wrap(c, data, t->bytes, t->dtype, t->ndim, t->sizes, NULL, file_release, file);
    if (!tensor) file_release(file);
    return tensor;
}

wick_tensor *wick_safetensors_tensor(wick_context *c, wick_safetensors *file, const char *name) {
    if (wick_failed(c)) return NULL;
    const wick_safetensors_info *t = file && name ? wick_safetensors_find(file, name) : NULL;
    if (!t) {
        wick_fail(c, file && name
                         ? WICK_ERROR(WICK_NOT_FOUND, "%s: no tensor '%.128s'", file->source, name)
                         : WICK_ERROR(WICK_INVALID_ARGUMENT, "safetensors: %s is NULL", file ? "name" : "file"));
        return NULL;
    }
    if (t->dtype == WICK_BOOL && wick_fail(c, check_bools(file, t))) return NULL;
    const unsigned char *data = file->data + t->offset_bytes;
    bool aligned = (uintptr_t)data % safetensors_alignment(t->dtype) == 0;
    if (file->map && t->bytes && aligned) return wrap(c, file, t);
    return wick_tensor_from_host(c, t->bytes ? data : NULL, t->dtype, t->ndim, t->sizes,
                                 wick_runtime_host(wick_context_runtime(c)));
}
