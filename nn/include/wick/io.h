/* wick/io.h: file formats for data: gzip, CSV, IDX (MNIST), .npy and .npz.
 *
 * Readers give plain arrays in host memory. Nothing in a file is believed before it was checked; malformed files give
 * DATA_LOSS and a message that names the file, the place, what was got and what is wanted. `source` names bytes in
 * memory in such messages. Files are read through gzip if they are compressed. Writers replace a file as a whole or
 * not at all (wick/file.h). All functions are thread-safe on distinct objects. */
#ifndef WICK_IO_H
#define WICK_IO_H

#include <wick/context.h>

/* Readers refuse files that hold more than `max_bytes` after decompression; 0 stands for this default. */
#define WICK_IO_MAX_BYTES ((uint64_t)1 << 32)

/* A row-major array. `data` is the owner's, from malloc; zero bytes of memory are a valid array (WICK_ARRAY_INIT). */
typedef struct wick_array {
    wick_dtype dtype;
    int ndim;
    wick_dim sizes[WICK_MAX_DIMS];
    void *data;
    size_t bytes;
} wick_array;
#define WICK_ARRAY_INIT \
    { WICK_DTYPE_NONE, 0, {0}, NULL, 0 }

WICK_BEGIN_DECLS
/* An array with uninitialized data. `source` names it in the message of a failure. */
WICK_API WICK_MUST_USE wick_status *wick_array_create(wick_dtype dtype, int ndim, const wick_dim *sizes,
                                                      const char *source, wick_array *out);
/* Frees the data and empties the array. */
WICK_API void wick_array_free(wick_array *array);
/* A host tensor, owned by the innermost scope, that takes the data over without a copy; the array is empty then. */
WICK_API wick_tensor *wick_array_to_tensor(wick_context *c, wick_array *array);
/* A copy of a tensor of any device. The caller frees it. */
WICK_API WICK_MUST_USE wick_status *wick_array_from_tensor(wick_context *c, wick_tensor *t, wick_array *out);

/* ---- whole files ---- */
/* The contents, decompressed if they begin as gzip does. The caller frees *out with free(). */
WICK_API WICK_MUST_USE wick_status *wick_bytes_read(const char *path, uint64_t max_bytes, void **out,
                                                    size_t *out_bytes);

/* ---- .npy, versions 1 to 3; byte order and Fortran order are undone ---- */
WICK_API WICK_MUST_USE wick_status *wick_npy_parse(const void *data, size_t bytes, const char *source, wick_array *out);
WICK_API WICK_MUST_USE wick_status *wick_npy_read(const char *path, uint64_t max_bytes, wick_array *out);
/* bf16 and 8-bit floats have no .npy type: UNSUPPORTED. */
WICK_API WICK_MUST_USE wick_status *wick_npy_write(const char *path, const wick_array *array);

/* ---- .npz: a zip archive of .npy files ---- */
typedef struct wick_npz {
    size_t count;
    char **names; /* without ".npy", in the order of the archive */
    wick_array *arrays;
} wick_npz;
#define WICK_NPZ_INIT \
    { 0, NULL, NULL }
/* Entries that are not called NAME.npy are left out, as they are no arrays. `max_bytes` holds for their sum. */
WICK_API WICK_MUST_USE wick_status *wick_npz_read(const char *path, uint64_t max_bytes, wick_npz *out);
/* The array called `name`, lent; NULL if there is none. */
WICK_API wick_array *wick_npz_find(const wick_npz *npz, const char *name);
WICK_API void wick_npz_free(wick_npz *npz);
/* Stored without compression, as numpy.savez does. */
WICK_API WICK_MUST_USE wick_status *wick_npz_write(const char *path, const char *const *names, const wick_array *arrays,
                                                   size_t count);

/* ---- IDX, the format of MNIST; multi-byte elements become native ---- */
WICK_API WICK_MUST_USE wick_status *wick_idx_parse(const void *data, size_t bytes, const char *source, wick_array *out);
WICK_API WICK_MUST_USE wick_status *wick_idx_read(const char *path, uint64_t max_bytes, wick_array *out);

/* ---- CSV of numbers ---- */
#define WICK_CSV_NO_LABEL INT32_MIN
typedef enum wick_csv_header {
    WICK_CSV_HEADER_AUTO = 0,
    WICK_CSV_HEADER_NO = 1,
    WICK_CSV_HEADER_YES = 2
} wick_csv_header;

typedef struct wick_csv_options {
    uint32_t struct_size;
    int32_t label_column;   /* goes to `labels`; negative ones count from the last column, -1 */
    const char *label_name; /* instead of label_column: the column with this name in the header; may be NULL */
    wick_csv_header header; /* AUTO: the first row is a header if a field of it is not a number */
    char separator;         /* 0: the first of tab, semicolon, comma, space that the first row has */
    uint64_t max_bytes;
} wick_csv_options;
#define WICK_CSV_OPTIONS_INIT \
    { sizeof(wick_csv_options), WICK_CSV_NO_LABEL, NULL, WICK_CSV_HEADER_AUTO, 0, WICK_IO_MAX_BYTES }

typedef struct wick_csv {
    wick_array values; /* F64, rows x columns without the label's */
    wick_array labels; /* F64, rows; empty if no label column was asked for */
    char **names;      /* of the columns of `values`; NULL without a header */
    size_t name_count;
} wick_csv;
#define WICK_CSV_INIT \
    { WICK_ARRAY_INIT, WICK_ARRAY_INIT, NULL, 0 }

/* Decimal numbers with a point in any locale, "inf" and "nan"; fields may be quoted as RFC 4180 says; lines end in LF
 * or CRLF; empty lines and a byte order mark are skipped; with the separator space, runs of spaces are one. Every row has
 * as many fields as the first; messages name line and column. `options` may be NULL. */
WICK_API WICK_MUST_USE wick_status *wick_csv_parse(const void *data, size_t bytes, const char *source,
                                                   const wick_csv_options *options, wick_csv *out);
WICK_API WICK_MUST_USE wick_status *wick_csv_read(const char *path, const wick_csv_options *options, wick_csv *out);
WICK_API void wick_csv_free(wick_csv *csv);
WICK_END_DECLS

#endif
