/* Writing safetensors: as the reference does, tensors stand in order of falling alignment, then of their names, and
 * the header is padded with spaces so that the data begins at a multiple of 8. */
#include "json.h"
#include "runtime.h"
#include "safetensors.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wick/file.h>

typedef struct save_item {
    const char *name;
    wick_tensor *tensor;
    uint64_t bytes;
} save_item;

typedef struct save_job {
    wick_context *c;
    wick_runtime *rt;
    const char *path;
    save_item *items;
    size_t count;
    text header; /* its first 8 bytes are its length */
} save_job;

/* ---- text ---- */
static void append_text(text *out, const char *string) { text_append(out, string, strlen(string)); }

static void append_escaped(text *out, char c) {
    static const char values[] = "\"\\\b\f\n\r\t", names[] = "\"\\bfnrt";
    const char *found = strchr(values, c);
    if (found)
        text_print(out, "\\%c", names[found - values]);
    else
        text_print(out, "\\u%04x", (unsigned char)c);
}

static void append_quoted(text *out, const char *string) {
    append_text(out, "\"");
    while (*string) {
        size_t plain = 0;
        while ((unsigned char)string[plain] >= 0x20 && string[plain] != '"' && string[plain] != '\\') ++plain;
        text_append(out, string, plain);
        string += plain;
        if (*string) append_escaped(out, *string++);
    }
    append_text(out, "\"");
}

static void append_key(text *out, const char *key, bool *first) {
    if (!*first) append_text(out, ",");
    *first = false;
    append_quoted(out, key);
    append_text(out, ":");
}

/* ---- header ---- */
static void append_metadata(text *out, const wick_safetensors_pair *metadata, size_t count, bool *first) {
    bool first_pair = true;
    if (count == 0) return;
    append_key(out, SAFETENSORS_METADATA, first);
    append_text(out, "{");
    for (size_t i = 0; i < count; ++i) {
        append_key(out, metadata[i].key, &first_pair);
        append_quoted(out, metadata[i].value);
    }
    append_text(out, "}");
}

static void append_tensor(text *out, const save_item *item, uint64_t offset, bool *first) {
    const wick_tensor *t = item->tensor;
    append_key(out, item->name, first);
    text_print(out, "{\"dtype\":\"%s\",\"shape\":[", wick_dtype_describe(wick_tensor_dtype(t))->safetensors_name);
    for (int i = 0; i < t->ndim; ++i) text_print(out, "%s%" PRId64, i ? "," : "", t->sizes[i]);
    text_print(out, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", offset, offset + item->bytes);
}

static wick_status *build_header(save_job *job, const wick_safetensors_pair *metadata, size_t metadata_count) {
    text *out = &job->header;
    uint64_t offset = 0;
    bool first = true;
    text_append(out, "\0\0\0\0\0\0\0", SAFETENSORS_PREFIX_BYTES);
    append_text(out, "{");
    append_metadata(out, metadata, metadata_count, &first);
    for (size_t i = 0; i < job->count; offset += job->items[i++].bytes)
        append_tensor(out, &job->items[i], offset, &first);
    append_text(out, "}");
    while (!out->failed && out->length % 8) append_text(out, " ");
    if (out->failed) return WICK_ERROR(WICK_OUT_OF_MEMORY, "%s: no memory for its header", job->path);
    uint64_t length = out->length - SAFETENSORS_PREFIX_BYTES;
    if (length > WICK_SAFETENSORS_MAX_HEADER_BYTES)
        return WICK_ERROR(WICK_UNSUPPORTED,
                          "%s: names and metadata take %" PRIu64 " bytes of header, at most %d are allowed", job->path,
                          length, WICK_SAFETENSORS_MAX_HEADER_BYTES);
    memcpy(out->bytes, &length, sizeof length);
    return NULL;
}

/* ---- what is to be written ---- */
static wick_status *check_string(const save_job *job, const char *what, const char *string) {
    if (!string) return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: a %s is NULL", job->path, what);
    if (utf8_valid(string, strlen(string))) return NULL;
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: a %s is not valid UTF-8", job->path, what);
}

static wick_status *check_metadata(const save_job *job, const wick_safetensors_pair *metadata, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        WICK_TRY(check_string(job, "metadata key", metadata[i].key));
        WICK_TRY(check_string(job, "metadata value", metadata[i].value));
        for (size_t j = 0; j < i; ++j)
            if (strcmp(metadata[i].key, metadata[j].key) == 0)
                return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: two metadata keys '%s'", job->path, metadata[i].key);
    }
    return NULL;
}

static wick_status *set_item(const save_job *job, save_item *item, const char *name, wick_tensor *tensor) {
    WICK_TRY(check_string(job, "tensor's name", name));
    if (strcmp(name, SAFETENSORS_METADATA) == 0)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: no tensor may have the name '%s'", job->path, name);
    if (!tensor) return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: tensor '%s' is NULL", job->path, name);
    if (tensor->device.type == WICK_DEVICE_TYPE_META)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: tensor '%s' is on the meta device and has no data", job->path,
                          name);
    *item = (save_item){name, tensor, (uint64_t)tensor->numel * wick_dtype_bytes(wick_tensor_dtype(tensor))};
    return NULL;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const save_item *)a)->name, ((const save_item *)b)->name);
}

static int by_alignment(const void *a, const void *b) {
    size_t x = safetensors_alignment(wick_tensor_dtype(((const save_item *)a)->tensor));
    size_t y = safetensors_alignment(wick_tensor_dtype(((const save_item *)b)->tensor));
    return x == y ? by_name(a, b) : x > y ? -1 : 1;
}

static wick_status *set_items(save_job *job, const char *const *names, wick_tensor *const *tensors) {
    if (job->count > WICK_SAFETENSORS_MAX_TENSORS)
        return WICK_ERROR(WICK_UNSUPPORTED, "%s: %zu tensors, at most %d are allowed", job->path, job->count,
                          WICK_SAFETENSORS_MAX_TENSORS);
    job->items = rt_alloc(job->rt, (job->count + 1) * sizeof *job->items);
    if (!job->items) return WICK_ERROR(WICK_OUT_OF_MEMORY, "%s: no memory for its table of tensors", job->path);
    for (size_t i = 0; i < job->count; ++i) WICK_TRY(set_item(job, &job->items[i], names[i], tensors[i]));
    qsort(job->items, job->count, sizeof *job->items, by_name);
    for (size_t i = 1; i < job->count; ++i)
        if (strcmp(job->items[i - 1].name, job->items[i].name) == 0)
            return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: two tensors '%s'", job->path, job->items[i].name);
    qsort(job->items, job->count, sizeof *job->items, by_alignment);
    return NULL;
}

/* ---- data ---- */
/* Does the tensor's memory hold its elements as the file will? */
static bool is_plain(const save_job *job, const wick_tensor *t) {
    return wick_device_equal(t->device, wick_runtime_host(job->rt)) && wick_is_contiguous(t) && wick_data(t) &&
           !(t->flags & (WICK_TENSOR_CONJ | WICK_TENSOR_NEG));
}

static wick_status *write_item(const save_job *job, const save_item *item, wick_atomic_file *file) {
    if (item->bytes == 0) return NULL;
    if (is_plain(job, item->tensor)) return wick_atomic_file_write(file, wick_data(item->tensor), item->bytes);
    void *buffer = rt_alloc(job->rt, item->bytes);
    if (!buffer) return WICK_ERROR(WICK_OUT_OF_MEMORY, "%s: no memory for a copy of '%s'", job->path, item->name);
    wick_status *status = wick_tensor_to_host(job->c, item->tensor, buffer, item->bytes);
    if (!status) status = wick_atomic_file_write(file, buffer, item->bytes);
    rt_free(job->rt, buffer);
    return status;
}

static wick_status *write_all(const save_job *job, wick_atomic_file *file) {
    WICK_TRY(wick_atomic_file_write(file, job->header.bytes, job->header.length));
    for (size_t i = 0; i < job->count; ++i) WICK_TRY(write_item(job, &job->items[i], file));
    return NULL;
}

static wick_status *write_file(const save_job *job) {
    wick_atomic_file *file = NULL;
    WICK_TRY(wick_atomic_file_create(job->path, &file));
    wick_status *status = write_all(job, file);
    if (!status) return wick_atomic_file_commit(file);
    wick_atomic_file_discard(file);
    return status;
}

wick_status *wick_safetensors_save(wick_context *c, const char *path, const char *const *names,
                                   wick_tensor *const *tensors, size_t count, const wick_safetensors_pair *metadata,
                                   size_t metadata_count) {
    if (!path || (count && !(names && tensors)) || (metadata_count && !metadata))
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "safetensors: path, names, tensors or metadata is NULL");
    wick_runtime *rt = wick_context_runtime(c);
    save_job job = {.c = c, .rt = rt, .path = path, .count = count, .header.memory = runtime_allocator(rt)};
    wick_status *status = check_metadata(&job, metadata, metadata_count);
    if (!status) status = set_items(&job, names, tensors);
    if (!status) status = build_header(&job, metadata, metadata_count);
    if (!status) status = write_file(&job);
    rt_free(rt, job.items);
    text_free(&job.header);
    return status;
}
