/* IDX: two zero bytes, a type code, the number of dimensions, big-endian 32-bit sizes, big-endian elements. */
#include "bytes.h"

#include <stdlib.h>
#include <string.h>

#define IDX_PREFIX_BYTES 4

static wick_dtype idx_dtype(unsigned char code) {
    static const struct {
        unsigned char code;
        wick_dtype dtype;
    } codes[] = {{0x08, WICK_U8},  {0x09, WICK_I8},  {0x0b, WICK_I16},
                 {0x0c, WICK_I32}, {0x0d, WICK_F32}, {0x0e, WICK_F64}};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; ++i)
        if (codes[i].code == code) return codes[i].dtype;
    return WICK_DTYPE_NONE;
}

static wick_dim big_endian32(const unsigned char *b) {
    return (wick_dim)b[0] << 24 | (wick_dim)b[1] << 16 | (wick_dim)b[2] << 8 | (wick_dim)b[3];
}

wick_status *wick_idx_parse(const void *data, size_t bytes, const char *source, wick_array *out) {
    const unsigned char *at = data;
    wick_dim sizes[WICK_MAX_DIMS];
    if (bytes < IDX_PREFIX_BYTES || at[0] || at[1] || !idx_dtype(at[2]))
        return WICK_ERROR(WICK_DATA_LOSS, "%s: not an IDX file: it does not begin with 0, 0 and a known type code",
                          source);
    wick_dtype dtype = idx_dtype(at[2]);
    int ndim = at[3];
    size_t header = IDX_PREFIX_BYTES + 4 * (size_t)ndim;
    if (ndim > WICK_MAX_DIMS)
        return WICK_ERROR(WICK_UNSUPPORTED, "%s: IDX file of %d dimensions, at most %d are supported", source, ndim,
                          WICK_MAX_DIMS);
    if (bytes < header)
        return WICK_ERROR(WICK_DATA_LOSS, "%s: truncated: IDX header of %zu bytes in a file of %zu", source, header,
                          bytes);
    for (int i = 0; i < ndim; ++i) sizes[i] = big_endian32(at + IDX_PREFIX_BYTES + 4 * i);
    WICK_TRY(bytes_check(source, dtype, ndim, sizes, bytes - header));
    wick_array array = WICK_ARRAY_INIT;
    WICK_TRY(wick_array_create(dtype, ndim, sizes, source, &array));
    if (array.bytes) memcpy(array.data, at + header, array.bytes);
    bytes_swap(array.data, wick_dtype_bytes(dtype), array.bytes / wick_dtype_bytes(dtype));
    *out = array;
    return NULL;
}

wick_status *wick_idx_read(const char *path, uint64_t max_bytes, wick_array *out) {
    void *data = NULL;
    size_t bytes = 0;
    WICK_TRY(wick_bytes_read(path, max_bytes, &data, &bytes));
    wick_status *status = wick_idx_parse(data, bytes, path, out);
    free(data);
    return status;
}
