/* The header of a safetensors file:
 *     {"__metadata__": {"key": "value", ...}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
 * Every number and name in it may be a lie. */
#include "json.h"
#include "safetensors.h"
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct header_parser {
    wick_safetensors *file;
    json_reader json;
    int64_t begin, end; /* data_offsets of the tensor at hand */
} header_parser;

#define TENSOR_ERROR(code, file, t, format, ...) \
    WICK_ERROR(code, "%s: tensor '%.128s' " format, (file)->source, (t)->name, __VA_ARGS__)

static wick_status *grow(wick_safetensors *file, void **items, size_t *capacity, size_t count, size_t item_bytes) {
    if (allocator_grow(file->memory, items, capacity, count, item_bytes)) return NULL;
    return WICK_ERROR(WICK_OUT_OF_MEMORY, "%s: no memory for the tables of its header", file->source);
}

/* ---- one tensor ---- */
static wick_status *read_dtype(header_parser *p, wick_safetensors_info *t) {
    const char *text = NULL;
    WICK_TRY(json_string(&p->json, &text));
    for (int d = WICK_DTYPE_NONE + 1; d < WICK_DTYPE_COUNT; ++d)
        if (strcmp(text, wick_dtype_describe((wick_dtype)d)->safetensors_name) == 0) t->dtype = (wick_dtype)d;
    if (t->dtype) return NULL;
    return TENSOR_ERROR(WICK_UNSUPPORTED, p->file, t, "has the unknown dtype '%.16s'", text);
}

static wick_status *read_shape(header_parser *p, wick_safetensors_info *t) {
    wick_safetensors *file = p->file;
    WICK_TRY(json_open(&p->json, '['));
    for (bool more = true;; ++t->ndim) {
        WICK_TRY(json_element(&p->json, &more));
        if (!more) return NULL;
        if (t->ndim == WICK_MAX_DIMS)
            return TENSOR_ERROR(WICK_UNSUPPORTED, file, t, "has more than %d dimensions", WICK_MAX_DIMS);
        WICK_TRY(grow(file, (void **)&file->sizes, &file->sizes_capacity, file->sizes_count, sizeof *file->sizes));
        WICK_TRY(json_integer(&p->json, &file->sizes[file->sizes_count]));
        ++file->sizes_count;
    }
}

static wick_status *read_offsets(header_parser *p, wick_safetensors_info *t) {
    int64_t *offsets[] = {&p->begin, &p->end};
    bool more = true;
    int count = 0;
    WICK_TRY(json_open(&p->json, '['));
    for (;; ++count) {
        WICK_TRY(json_element(&p->json, &more));
        if (!more || count == 2) break;
        WICK_TRY(json_integer(&p->json, offsets[count]));
    }
    if (more || count != 2) return TENSOR_ERROR(WICK_DATA_LOSS, p->file, t, "needs %d data_offsets", 2);
    if (p->begin <= p->end && (uint64_t)p->end <= p->file->data_bytes) return NULL;
    return TENSOR_ERROR(WICK_DATA_LOSS, p->file, t,
                        "has data_offsets [%" PRId64 ", %" PRId64 "], which do not lie in the %" PRIu64
                        " bytes of data",
                        p->begin, p->end, p->file->data_bytes);
}

static const struct {
    const char *key;
    wick_status *(*read)(header_parser *p, wick_safetensors_info *t);
} fields[] = {{"dtype", read_dtype}, {"shape", read_shape}, {"data_offsets", read_offsets}};

#define FIELDS ((int)(sizeof fields / sizeof *fields))

static int find_field(const char *key) {
    int f = 0;
    while (f < FIELDS && strcmp(key, fields[f].key) != 0) ++f;
    return f;
}

static wick_status *read_fields(header_parser *p, wick_safetensors_info *t) {
    const char *key = NULL;
    unsigned seen = 0;
    WICK_TRY(json_open(&p->json, '{'));
    for (;;) {
        WICK_TRY(json_member(&p->json, &key));
        if (!key) break;
        int f = find_field(key);
        if (f == FIELDS) return TENSOR_ERROR(WICK_DATA_LOSS, p->file, t, "has the unknown field '%.32s'", key);
        if (seen & 1u << f) return TENSOR_ERROR(WICK_DATA_LOSS, p->file, t, "has two fields '%s'", key);
        seen |= 1u << f;
        WICK_TRY(fields[f].read(p, t));
    }
    for (int f = 0; f < FIELDS; ++f)
        if (!(seen & 1u << f)) return TENSOR_ERROR(WICK_DATA_LOSS, p->file, t, "lacks '%s'", fields[f].key);
    return NULL;
}

/* Elements of a shape. Zero sizes are left out of the product, so that no shape overflows in any order. */
static bool count_elements(const wick_dim *sizes, int ndim, uint64_t *out) {
    uint64_t product = 1;
    bool empty = false;
    for (int i = 0; i < ndim; ++i) {
        empty = empty || sizes[i] == 0;
        if (sizes[i] && __builtin_mul_overflow(product, (uint64_t)sizes[i], &product)) return false;
    }
    *out = empty ? 0 : product;
    return product <= INT64_MAX;
}

static wick_status *check_extent(const header_parser *p, wick_safetensors_info *t) {
    uint64_t elements = 0, wanted = 0;
    const wick_dim *sizes = t->ndim ? p->file->sizes + p->file->sizes_count - t->ndim : NULL;
    if (!count_elements(sizes, t->ndim, &elements) ||
        __builtin_mul_overflow(elements, wick_dtype_bytes(t->dtype), &wanted))
        return TENSOR_ERROR(WICK_DATA_LOSS, p->file, t, "has a shape of %d sizes whose product overflows", t->ndim);
    t->offset_bytes = (uint64_t)p->begin;
    t->bytes = (uint64_t)(p->end - p->begin);
    if (t->bytes == wanted) return NULL;
    return TENSOR_ERROR(WICK_DATA_LOSS, p->file, t,
                        "has %" PRIu64 " bytes by its data_offsets, but %" PRIu64 " by its shape and dtype", t->bytes,
                        wanted);
}

static wick_status *read_tensor(header_parser *p, const char *name) {
    wick_safetensors *file = p->file;
    if (file->count == WICK_SAFETENSORS_MAX_TENSORS)
        return WICK_ERROR(WICK_UNSUPPORTED, "%s: more than %d tensors", file->source, WICK_SAFETENSORS_MAX_TENSORS);
    WICK_TRY(grow(file, (void **)&file->tensors, &file->capacity, file->count, sizeof *file->tensors));
    wick_safetensors_info *t = &file->tensors[file->count++];
    *t = (wick_safetensors_info){.struct_size = sizeof *t, .name = name};
    WICK_TRY(read_fields(p, t));
    return check_extent(p, t);
}

/* ---- metadata ---- */
static wick_status *read_metadata(header_parser *p) {
    wick_safetensors *file = p->file;
    WICK_TRY(json_open(&p->json, '{'));
    for (;;) {
        wick_safetensors_pair pair;
        WICK_TRY(json_member(&p->json, &pair.key));
        if (!pair.key) return NULL;
        WICK_TRY(json_string(&p->json, &pair.value));
        WICK_TRY(grow(file, (void **)&file->metadata, &file->metadata_capacity, file->metadata_count, sizeof pair));
        file->metadata[file->metadata_count++] = pair;
    }
}

static int by_key(const void *a, const void *b) {
    const wick_safetensors_pair *x = a, *y = b;
    return strcmp(x->key, y->key);
}

static wick_status *check_metadata(wick_safetensors *file) {
    if (file->metadata_count == 0) return NULL;
    qsort(file->metadata, file->metadata_count, sizeof *file->metadata, by_key);
    for (size_t i = 1; i < file->metadata_count; ++i)
        if (strcmp(file->metadata[i - 1].key, file->metadata[i].key) == 0)
            return WICK_ERROR(WICK_DATA_LOSS, "%s: two metadata keys '%.128s'", file->source, file->metadata[i].key);
    return NULL;
}

/* ---- the whole ---- */
static wick_status *read_members(header_parser *p) {
    const char *name = NULL;
    bool has_metadata = false;
    WICK_TRY(json_open(&p->json, '{'));
    for (;;) {
        WICK_TRY(json_member(&p->json, &name));
        if (!name) return json_finish(&p->json);
        if (strcmp(name, SAFETENSORS_METADATA) != 0) {
            WICK_TRY(read_tensor(p, name));
            continue;
        }
        if (has_metadata) return WICK_ERROR(WICK_DATA_LOSS, "%s: two fields '%s'", p->file->source, name);
        has_metadata = true;
        WICK_TRY(read_metadata(p));
    }
}

/* The array of sizes no longer moves: point into it. */
static void place_sizes(wick_safetensors *file) {
    size_t at = 0;
    for (size_t i = 0; i < file->count; at += (size_t)file->tensors[i++].ndim)
        file->tensors[i].sizes = file->sizes ? file->sizes + at : NULL;
}

static int by_offset(const void *a, const void *b) {
    const wick_safetensors_info *x = a, *y = b;
    if (x->offset_bytes != y->offset_bytes) return x->offset_bytes < y->offset_bytes ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int by_name(const void *a, const void *b) {
    const wick_safetensors_info *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* The tensors, in the order of their offsets, cover the data from the first byte to the last. */
static wick_status *check_layout(wick_safetensors *file) {
    uint64_t end = 0;
    if (file->count) qsort(file->tensors, file->count, sizeof *file->tensors, by_offset);
    for (size_t i = 0; i < file->count; ++i) {
        const wick_safetensors_info *t = &file->tensors[i];
        if (t->offset_bytes < end)
            return TENSOR_ERROR(WICK_DATA_LOSS, file, t, "overlaps '%.128s'", file->tensors[i - 1].name);
        if (t->offset_bytes > end)
            return TENSOR_ERROR(WICK_DATA_LOSS, file, t,
                                "begins at byte %" PRIu64 ", behind a hole that begins at %" PRIu64, t->offset_bytes,
                                end);
        end = t->offset_bytes + t->bytes;
    }
    if (end == file->data_bytes) return NULL;
    return WICK_ERROR(WICK_DATA_LOSS, "%s: the tensors end at byte %" PRIu64 " of %" PRIu64 " bytes of data",
                      file->source, end, file->data_bytes);
}

static wick_status *check_names(wick_safetensors *file) {
    if (file->count) qsort(file->tensors, file->count, sizeof *file->tensors, by_name);
    for (size_t i = 1; i < file->count; ++i)
        if (strcmp(file->tensors[i - 1].name, file->tensors[i].name) == 0)
            return WICK_ERROR(WICK_DATA_LOSS, "%s: two tensors '%.128s'", file->source, file->tensors[i].name);
    return NULL;
}

wick_status *safetensors_parse_header(wick_safetensors *file, size_t bytes) {
    header_parser p = {.file = file, .json = {.source = file->source, .text = file->header, .bytes = bytes}};
    WICK_TRY(read_members(&p));
    place_sizes(file);
    WICK_TRY(check_layout(file));
    WICK_TRY(check_names(file));
    return check_metadata(file);
}
