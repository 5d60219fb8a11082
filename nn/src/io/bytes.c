#include "bytes.h"

#include <inttypes.h>
#include <stdlib.h>

#define FIRST_BYTES ((size_t)64 << 10)

typedef struct read_buffer {
    char *data;
    size_t bytes, capacity;
} read_buffer;

static wick_status *make_room(read_buffer *b, const char *source) {
    if (b->bytes < b->capacity) return NULL;
    size_t wanted = b->capacity ? b->capacity * 2 : FIRST_BYTES;
    char *grown = realloc(b->data, wanted);
    if (!grown) return WICK_ERROR(WICK_OUT_OF_MEMORY, "%s: no memory for %zu bytes", source, wanted);
    b->data = grown;
    b->capacity = wanted;
    return NULL;
}

static wick_status *read_into(read_buffer *b, stream_read_fn read, void *stream, const char *source,
                              uint64_t max_bytes) {
    for (size_t got = 1; got > 0; b->bytes += got) {
        WICK_TRY(make_room(b, source));
        WICK_TRY(read(stream, b->data + b->bytes, b->capacity - b->bytes, &got));
        if (got > max_bytes - b->bytes)
            return WICK_ERROR(WICK_UNSUPPORTED, "%s: more than the limit of %" PRIu64 " bytes", source, max_bytes);
    }
    return NULL;
}

wick_status *stream_read_all(stream_read_fn read, void *stream, const char *source, uint64_t max_bytes, void **out,
                             size_t *out_bytes) {
    read_buffer b = {NULL, 0, 0};
    wick_status *status = read_into(&b, read, stream, source, max_bytes ? max_bytes : WICK_IO_MAX_BYTES);
    if (status) {
        free(b.data);
        return status;
    }
    *out = b.data;
    *out_bytes = b.bytes;
    return NULL;
}

wick_status *bytes_check(const char *source, wick_dtype dtype, int ndim, const wick_dim *sizes, size_t got) {
    size_t wanted = wick_dtype_bytes(dtype);
    for (int i = 0; i < ndim; ++i)
        if (__builtin_mul_overflow(wanted, (size_t)sizes[i], &wanted))
            return WICK_ERROR(WICK_DATA_LOSS, "%s: the product of its %d sizes overflows", source, ndim);
    if (got == wanted) return NULL;
    return WICK_ERROR(WICK_DATA_LOSS, "%s: %s: %zu bytes of data, its header wants %zu", source,
                      got < wanted ? "truncated" : "oversized", got, wanted);
}

void bytes_swap(void *data, size_t element_bytes, size_t count) {
    unsigned char *at = data;
    if (element_bytes == 1) return;
    for (size_t i = 0; i < count; ++i, at += element_bytes)
        for (size_t low = 0, high = element_bytes - 1; low < high; ++low, --high) {
            unsigned char byte = at[low];
            at[low] = at[high];
            at[high] = byte;
        }
}
