/* .npy: magic, version, header length, a Python dictionary literal, the elements.
 *     {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
 * https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */
#include "npy.h"

#include "bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wick/file.h>

#define NPY_MAGIC "\x93NUMPY"
#define NPY_MAGIC_BYTES 6
#define NPY_MAX_HEADER_BYTES 65535
#define NPY_ALIGNMENT 64 /* of the data, when writing */

static const struct {
    wick_dtype dtype;
    char kind;
    int bytes;
} npy_types[] = {
    {WICK_BOOL, 'b', 1}, {WICK_U8, 'u', 1},  {WICK_U16, 'u', 2}, {WICK_U32, 'u', 4},   {WICK_U64, 'u', 8},
    {WICK_I8, 'i', 1},   {WICK_I16, 'i', 2}, {WICK_I32, 'i', 4}, {WICK_I64, 'i', 8},   {WICK_F16, 'f', 2},
    {WICK_F32, 'f', 4},  {WICK_F64, 'f', 8}, {WICK_C64, 'c', 8}, {WICK_C128, 'c', 16},
};
#define NPY_TYPES (sizeof npy_types / sizeof *npy_types)

typedef struct npy_reader {
    const char *source;
    const char *at, *end; /* the rest of the header */
    wick_dtype dtype;
    bool big_endian, fortran;
    int ndim;
    wick_dim sizes[WICK_MAX_DIMS];
} npy_reader;

/* ---- the dictionary ---- */
static wick_status *bad_header(const npy_reader *r, const char *want) {
    int shown = r->end - r->at < 16 ? (int)(r->end - r->at) : 16;
    for (int i = 0; i < shown; ++i)
        if (r->at[i] < ' ' || r->at[i] > '~') shown = i;
    return WICK_ERROR(WICK_DATA_LOSS, "%s: .npy header: got '%.*s', want %s", r->source, shown, r->at, want);
}

static void skip_space(npy_reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t')) ++r->at;
}

static bool take(npy_reader *r, char c) {
    skip_space(r);
    bool found = r->at < r->end && *r->at == c;
    r->at += found;
    return found;
}

static bool take_word(npy_reader *r, const char *word) {
    size_t bytes = strlen(word);
    skip_space(r);
    if ((size_t)(r->end - r->at) < bytes || memcmp(r->at, word, bytes) != 0) return false;
    r->at += bytes;
    return true;
}

/* A quoted string without escapes, at most 15 bytes long: longer ones mean nothing here. */
static wick_status *read_string(npy_reader *r, char out[16]) {
    char quote = take(r, '\'') ? '\'' : take(r, '"') ? '"' : 0;
    size_t n = 0;
    if (!quote) return bad_header(r, "a string");
    while (r->at + n < r->end && r->at[n] != quote && r->at[n] != '\\') ++n;
    if (r->at + n >= r->end || r->at[n] != quote || n > 15) return bad_header(r, "a known string");
    memcpy(out, r->at, n);
    out[n] = '\0';
    r->at += n + 1;
    return NULL;
}

static wick_status *read_descr(npy_reader *r) {
    char text[16];
    WICK_TRY(read_string(r, text));
    bool ordered = text[0] && strchr("<>|=", text[0]);
    const char *type = ordered ? text + 1 : text;
    r->big_endian = text[0] == '>';
    for (size_t i = 0; i < NPY_TYPES; ++i) {
        char name[8];
        snprintf(name, sizeof name, "%c%d", npy_types[i].kind, npy_types[i].bytes);
        if (strcmp(name, type) == 0) r->dtype = npy_types[i].dtype;
    }
    if (r->dtype) return NULL;
    return WICK_ERROR(WICK_UNSUPPORTED, "%s: .npy elements of type '%s'; want bool, integer, float or complex numbers",
                      r->source, text);
}

static wick_status *read_fortran_order(npy_reader *r) {
    r->fortran = take_word(r, "True");
    return r->fortran || take_word(r, "False") ? NULL : bad_header(r, "True or False");
}

static wick_status *read_size(npy_reader *r, wick_dim *out) {
    skip_space(r);
    const char *start = r->at;
    for (*out = 0; r->at < r->end && *r->at >= '0' && *r->at <= '9'; ++r->at)
        if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, *r->at - '0', out))
            return bad_header(r, "a size below 2^63");
    if (r->at == start) return bad_header(r, "a size");
    take(r, 'L'); /* Python 2 wrote long integers */
    return NULL;
}

static wick_status *read_shape(npy_reader *r) {
    bool comma = true;
    if (!take(r, '(')) return bad_header(r, "a tuple");
    for (; !take(r, ')'); ++r->ndim) {
        if (!comma) return bad_header(r, "',' or ')'");
        if (r->ndim == WICK_MAX_DIMS) return bad_header(r, "at most 64 sizes");
        WICK_TRY(read_size(r, &r->sizes[r->ndim]));
        comma = take(r, ',');
    }
    return r->ndim == 1 && !comma ? bad_header(r, "a tuple: (n,)") : NULL;
}

static const struct {
    const char *key;
    wick_status *(*read)(npy_reader *r);
} npy_fields[] = {{"descr", read_descr}, {"fortran_order", read_fortran_order}, {"shape", read_shape}};
#define NPY_FIELDS (sizeof npy_fields / sizeof *npy_fields)

static wick_status *read_field(npy_reader *r, unsigned *seen) {
    char key[16];
    size_t f = 0;
    WICK_TRY(read_string(r, key));
    while (f < NPY_FIELDS && strcmp(key, npy_fields[f].key) != 0) ++f;
    if (f == NPY_FIELDS || *seen & 1u << f)
        return WICK_ERROR(WICK_DATA_LOSS, "%s: .npy header has %s '%s'", r->source,
                          f == NPY_FIELDS ? "the unknown field" : "two fields", key);
    if (!take(r, ':')) return bad_header(r, "':'");
    *seen |= 1u << f;
    return npy_fields[f].read(r);
}

static wick_status *read_dictionary(npy_reader *r) {
    unsigned seen = 0;
    bool comma = true;
    if (!take(r, '{')) return bad_header(r, "'{'");
    while (!take(r, '}')) {
        if (!comma) return bad_header(r, "',' or '}'");
        WICK_TRY(read_field(r, &seen));
        comma = take(r, ',');
    }
    skip_space(r);
    if (r->at != r->end) return bad_header(r, "nothing behind '}'");
    if (seen == (1u << NPY_FIELDS) - 1) return NULL;
    return WICK_ERROR(WICK_DATA_LOSS, "%s: .npy header lacks one of descr, fortran_order and shape", r->source);
}

/* Finds the header by version and length; *out_data is what follows it. */
static wick_status *read_preamble(npy_reader *r, const char *data, size_t bytes, const char **out_data) {
    const unsigned char *b = (const unsigned char *)data;
    if (bytes < NPY_MAGIC_BYTES + 4 || memcmp(data, NPY_MAGIC, NPY_MAGIC_BYTES) != 0)
        return WICK_ERROR(WICK_DATA_LOSS, "%s: not an .npy file: it does not begin with \\x93NUMPY", r->source);
    int version = b[NPY_MAGIC_BYTES];
    size_t prefix = NPY_MAGIC_BYTES + (version == 1 ? 4 : 6);
    if (version < 1 || version > 3 || b[NPY_MAGIC_BYTES + 1] != 0)
        return WICK_ERROR(WICK_UNSUPPORTED, "%s: .npy version %d.%d, want 1.0, 2.0 or 3.0", r->source, version,
                          b[NPY_MAGIC_BYTES + 1]);
    uint32_t length = b[8] | (uint32_t)b[9] << 8;
    if (version > 1 && bytes >= prefix) length |= (uint32_t)b[10] << 16 | (uint32_t)b[11] << 24;
    if (length > NPY_MAX_HEADER_BYTES || bytes < prefix || length > bytes - prefix)
        return WICK_ERROR(WICK_DATA_LOSS, "%s: truncated: .npy header of %" PRIu32 " bytes in a file of %zu", r->source,
                          length, bytes);
    r->at = data + prefix;
    r->end = r->at + length;
    *out_data = r->end;
    return read_dictionary(r);
}

/* ---- the elements ---- */
/* Walks the output row-major; `index` counts as an odometer, and `from` follows it by column-major strides. */
static void copy_fortran(const wick_array *array, const char *data) {
    size_t item = wick_dtype_bytes(array->dtype), from = 0, stride[WICK_MAX_DIMS];
    wick_dim index[WICK_MAX_DIMS] = {0};
    for (int d = 0; d < array->ndim; ++d) stride[d] = d ? stride[d - 1] * (size_t)array->sizes[d - 1] : item;
    for (size_t to = 0; to < array->bytes; to += item) {
        memcpy((char *)array->data + to, data + from, item);
        int d = array->ndim - 1;
        for (; d >= 0 && ++index[d] == array->sizes[d]; --d) {
            from -= stride[d] * (size_t)(array->sizes[d] - 1);
            index[d] = 0;
        }
        if (d >= 0) from += stride[d];
    }
}

static wick_status *check_bools(const wick_array *array, const char *source) {
    const unsigned char *data = array->data;
    for (size_t i = 0; array->dtype == WICK_BOOL && i < array->bytes; ++i)
        if (data[i] > 1)
            return WICK_ERROR(WICK_DATA_LOSS, "%s: element %zu is %d, a bool is 0 or 1", source, i, data[i]);
    return NULL;
}

static void fill(const npy_reader *r, const char *data, wick_array *array) {
    size_t part = wick_dtype_bytes(r->dtype) / (wick_dtype_is_complex(r->dtype) ? 2 : 1);
    if (r->fortran)
        copy_fortran(array, data);
    else if (array->bytes)
        memcpy(array->data, data, array->bytes);
    if (r->big_endian) bytes_swap(array->data, part, array->bytes / part);
}

wick_status *wick_npy_parse(const void *data, size_t bytes, const char *source, wick_array *out) {
    npy_reader r = {.source = source};
    const char *elements = NULL;
    wick_array array = WICK_ARRAY_INIT;
    WICK_TRY(read_preamble(&r, data, bytes, &elements));
    WICK_TRY(bytes_check(source, r.dtype, r.ndim, r.sizes, (size_t)((const char *)data + bytes - elements)));
    WICK_TRY(wick_array_create(r.dtype, r.ndim, r.sizes, source, &array));
    fill(&r, elements, &array);
    wick_status *status = check_bools(&array, source);
    if (status)
        wick_array_free(&array);
    else
        *out = array;
    return status;
}

wick_status *wick_npy_read(const char *path, uint64_t max_bytes, wick_array *out) {
    void *data = NULL;
    size_t bytes = 0;
    WICK_TRY(wick_bytes_read(path, max_bytes, &data, &bytes));
    wick_status *status = wick_npy_parse(data, bytes, path, out);
    free(data);
    return status;
}

/* ---- writing ---- */
/* Version 1.0 up to the data, padded so that this is aligned; returns its bytes. 64 sizes of 20 digits fit. */
static size_t format_header(const wick_array *array, size_t type, char header[2048]) {
    size_t at = NPY_MAGIC_BYTES + 4;
    at += (size_t)sprintf(header + at, "{'descr': '%c%c%d', 'fortran_order': False, 'shape': (",
                          npy_types[type].bytes == 1 ? '|' : '<', npy_types[type].kind, npy_types[type].bytes);
    for (int i = 0; i < array->ndim; ++i)
        at += (size_t)sprintf(header + at, i ? ", %" PRId64 : "%" PRId64, array->sizes[i]);
    at += (size_t)sprintf(header + at, array->ndim == 1 ? ",), }" : "), }");
    while ((at + 1) % NPY_ALIGNMENT) header[at++] = ' ';
    header[at++] = '\n';
    size_t length = at - NPY_MAGIC_BYTES - 4;
    memcpy(header, NPY_MAGIC "\x01", NPY_MAGIC_BYTES + 2);
    header[8] = (char)(length & 0xff);
    header[9] = (char)(length >> 8);
    return at;
}

wick_status *npy_format(const wick_array *array, const char *source, void **out, size_t *out_bytes) {
    char header[2048];
    size_t type = 0;
    while (type < NPY_TYPES && npy_types[type].dtype != array->dtype) ++type;
    if (type == NPY_TYPES)
        return WICK_ERROR(WICK_UNSUPPORTED, "%s: .npy has no type for %s", source, wick_dtype_name(array->dtype));
    size_t header_bytes = format_header(array, type, header);
    char *file = malloc(header_bytes + array->bytes);
    if (!file) return WICK_ERROR(WICK_OUT_OF_MEMORY, "%s: no memory to write %zu bytes", source, array->bytes);
    memcpy(file, header, header_bytes);
    if (array->bytes) memcpy(file + header_bytes, array->data, array->bytes);
    *out = file;
    *out_bytes = header_bytes + array->bytes;
    return NULL;
}

wick_status *wick_npy_write(const char *path, const wick_array *array) {
    void *file = NULL;
    size_t bytes = 0;
    WICK_TRY(npy_format(array, path, &file, &bytes));
    wick_status *status = wick_file_replace(path, file, bytes);
    free(file);
    return status;
}
