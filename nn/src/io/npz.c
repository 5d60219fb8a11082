/* .npz through libzip. */
#include "bytes.h"
#include "npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wick/file.h>
#include <zip.h>

#define NPY_SUFFIX ".npy"
#define NPY_SUFFIX_BYTES 4

static wick_status *zip_failure(zip_t *zip, const char *path, const char *what) {
    int code = zip_error_code_zip(zip_get_error(zip));
    return WICK_ERROR(code == ZIP_ER_MEMORY ? WICK_OUT_OF_MEMORY : WICK_DATA_LOSS, "%s: cannot %s: %s", path, what,
                      zip_strerror(zip));
}

/* ---- reading ---- */
typedef struct npz_reader {
    zip_t *zip;
    const char *path;
    uint64_t left_bytes;
    wick_npz *npz;
} npz_reader;

typedef struct entry_stream {
    npz_reader *reader;
    zip_file_t *entry;
    const char *name;
} entry_stream;

static wick_status *entry_read(void *stream, void *buffer, size_t bytes, size_t *out_got) {
    entry_stream *s = stream;
    zip_int64_t got = zip_fread(s->entry, buffer, bytes);
    if (got < 0)
        return WICK_ERROR(WICK_DATA_LOSS, "%s: damaged entry '%.128s': %s", s->reader->path, s->name,
                          zip_file_strerror(s->entry));
    *out_got = (size_t)got;
    return NULL;
}

static wick_status *read_bytes(npz_reader *r, zip_uint64_t index, const char *name, void **out, size_t *out_bytes) {
    entry_stream s = {r, zip_fopen_index(r->zip, index, 0), name};
    if (!s.entry) return zip_failure(r->zip, r->path, "open an entry");
    wick_status *status = stream_read_all(entry_read, &s, r->path, r->left_bytes, out, out_bytes);
    zip_fclose(s.entry);
    return status;
}

/* Appends the entry to r->npz, whose tables have room for all. */
static wick_status *read_entry(npz_reader *r, zip_uint64_t index) {
    const char *name = zip_get_name(r->zip, index, 0);
    size_t length = name ? strlen(name) : 0, bytes = 0;
    if (!name) return zip_failure(r->zip, r->path, "read an entry's name");
    if (length < NPY_SUFFIX_BYTES || strcmp(name + length - NPY_SUFFIX_BYTES, NPY_SUFFIX) != 0) return NULL;
    void *data = NULL;
    WICK_TRY(read_bytes(r, index, name, &data, &bytes));
    char *key = strndup(name, length - NPY_SUFFIX_BYTES);
    wick_array *array = &r->npz->arrays[r->npz->count];
    wick_status *status = key ? wick_npy_parse(data, bytes, r->path, array)
                              : WICK_ERROR(WICK_OUT_OF_MEMORY, "%s: no memory for a name", r->path);
    free(data);
    if (status) {
        free(key);
        return status;
    }
    r->npz->names[r->npz->count++] = key;
    r->left_bytes -= bytes;
    return NULL;
}

static wick_status *read_entries(npz_reader *r) {
    zip_int64_t count = zip_get_num_entries(r->zip, 0);
    r->npz->names = calloc((size_t)count + 1, sizeof *r->npz->names);
    r->npz->arrays = calloc((size_t)count + 1, sizeof *r->npz->arrays);
    if (!r->npz->names || !r->npz->arrays)
        return WICK_ERROR(WICK_OUT_OF_MEMORY, "%s: no memory for %lld entries", r->path, (long long)count);
    for (zip_int64_t i = 0; i < count; ++i) {
        if (r->left_bytes == 0) return WICK_ERROR(WICK_UNSUPPORTED, "%s: more bytes than the limit", r->path);
        WICK_TRY(read_entry(r, (zip_uint64_t)i));
    }
    return NULL;
}

static wick_status *open_failure(const char *path, int code) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    wick_code kind = code == ZIP_ER_NOENT                         ? WICK_NOT_FOUND
                     : code == ZIP_ER_OPEN || code == ZIP_ER_READ ? WICK_IO
                                                                  : WICK_DATA_LOSS;
    wick_status *status = WICK_ERROR(kind, "%s: cannot open the zip archive: %s", path, zip_error_strerror(&error));
    zip_error_fini(&error);
    return status;
}

wick_status *wick_npz_read(const char *path, uint64_t max_bytes, wick_npz *out) {
    int code = 0;
    wick_npz npz = WICK_NPZ_INIT;
    npz_reader r = {zip_open(path, ZIP_RDONLY, &code), path, max_bytes ? max_bytes : WICK_IO_MAX_BYTES, &npz};
    if (!r.zip) return open_failure(path, code);
    wick_status *status = read_entries(&r);
    zip_discard(r.zip);
    if (status)
        wick_npz_free(&npz);
    else
        *out = npz;
    return status;
}

wick_array *wick_npz_find(const wick_npz *npz, const char *name) {
    for (size_t i = 0; i < npz->count; ++i)
        if (strcmp(npz->names[i], name) == 0) return &npz->arrays[i];
    return NULL;
}

void wick_npz_free(wick_npz *npz) {
    for (size_t i = 0; i < npz->count; ++i) {
        free(npz->names[i]);
        wick_array_free(&npz->arrays[i]);
    }
    free(npz->names);
    free(npz->arrays);
    *npz = (wick_npz)WICK_NPZ_INIT;
}

/* ---- writing: an archive in memory, then one atomic write ---- */
static wick_status *add_file(zip_t *zip, const char *path, const char *file_name, const wick_array *array) {
    void *data = NULL;
    size_t bytes = 0;
    WICK_TRY(npy_format(array, path, &data, &bytes));
    zip_source_t *source = zip_source_buffer(zip, data, bytes, 1);
    if (!source) {
        free(data);
        return zip_failure(zip, path, "add an entry");
    }
    zip_int64_t index = zip_file_add(zip, file_name, source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
        wick_status *status = zip_error_code_zip(zip_get_error(zip)) == ZIP_ER_EXISTS
                                  ? WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: two entries '%s'", path, file_name)
                                  : zip_failure(zip, path, "add an entry");
        zip_source_free(source);
        return status;
    }
    return zip_set_file_compression(zip, (zip_uint64_t)index, ZIP_CM_STORE, 0) == 0
               ? NULL
               : zip_failure(zip, path, "store an entry");
}

static wick_status *add_entry(zip_t *zip, const char *path, const char *name, const wick_array *array) {
    size_t length = strlen(name);
    char *file_name = malloc(length + sizeof NPY_SUFFIX);
    if (!file_name) return WICK_ERROR(WICK_OUT_OF_MEMORY, "%s: no memory for a name", path);
    memcpy(file_name, name, length);
    memcpy(file_name + length, NPY_SUFFIX, sizeof NPY_SUFFIX);
    wick_status *status = add_file(zip, path, file_name, array);
    free(file_name);
    return status;
}

/* Leaves the finished archive in `archive`. */
static wick_status *build_archive(zip_source_t *archive, const char *path, const char *const *names,
                                  const wick_array *arrays, size_t count) {
    zip_error_t error;
    zip_error_init(&error);
    zip_source_keep(archive);
    zip_t *zip = zip_open_from_source(archive, ZIP_TRUNCATE, &error);
    if (!zip) {
        wick_status *status = WICK_ERROR(WICK_OUT_OF_MEMORY, "%s: no archive: %s", path, zip_error_strerror(&error));
        zip_source_free(archive);
        zip_error_fini(&error);
        return status;
    }
    zip_error_fini(&error);
    wick_status *status = NULL;
    for (size_t i = 0; !status && i < count; ++i) status = add_entry(zip, path, names[i], &arrays[i]);
    if (!status && zip_close(zip) == 0) return NULL;
    if (!status) status = zip_failure(zip, path, "finish the archive");
    zip_discard(zip);
    return status;
}

static wick_status *archive_read(void *stream, void *buffer, size_t bytes, size_t *out_got) {
    zip_int64_t got = zip_source_read(stream, buffer, bytes);
    if (got < 0) return WICK_ERROR(WICK_INTERNAL, "cannot read an archive back from memory");
    *out_got = (size_t)got;
    return NULL;
}

static wick_status *save_archive(zip_source_t *archive, const char *path) {
    void *data = NULL;
    size_t bytes = 0;
    if (zip_source_open(archive) != 0) return WICK_ERROR(WICK_INTERNAL, "%s: cannot read the archive back", path);
    wick_status *status = stream_read_all(archive_read, archive, path, UINT64_MAX, &data, &bytes);
    zip_source_close(archive);
    if (!status) status = wick_file_replace(path, data, bytes);
    free(data);
    return status;
}

wick_status *wick_npz_write(const char *path, const char *const *names, const wick_array *arrays, size_t count) {
    if (count == 0) return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: an .npz file needs at least one array", path);
    zip_source_t *archive = zip_source_buffer_create(NULL, 0, 0, NULL);
    if (!archive) return WICK_ERROR(WICK_OUT_OF_MEMORY, "%s: no memory for an archive", path);
    wick_status *status = build_archive(archive, path, names, arrays, count);
    if (!status) status = save_archive(archive, path);
    zip_source_free(archive);
    return status;
}
