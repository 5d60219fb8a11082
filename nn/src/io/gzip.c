/* Whole files, through zlib: a file that does not begin as gzip does passes as it is. */
#include "bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define MAX_READ_BYTES ((size_t)1 << 30) /* zlib counts in int */

typedef struct gzip_stream {
    gzFile file;
    const char *path;
} gzip_stream;

/* What the last call failed with: the system's error or zlib's. */
static wick_status *gzip_error(const gzip_stream *s) {
    int code = Z_OK;
    const char *text = gzerror(s->file, &code);
    if (code == Z_ERRNO) return WICK_ERROR(WICK_IO, "%s: cannot read: %s", s->path, strerror(errno));
    if (code == Z_MEM_ERROR) return WICK_ERROR(WICK_OUT_OF_MEMORY, "%s: no memory to decompress it", s->path);
    return WICK_ERROR(WICK_DATA_LOSS, "%s: damaged gzip data: %s", s->path, text);
}

static wick_status *gzip_read(void *stream, void *buffer, size_t bytes, size_t *out_got) {
    gzip_stream *s = stream;
    int got = gzread(s->file, buffer, (unsigned)(bytes < MAX_READ_BYTES ? bytes : MAX_READ_BYTES));
    if (got < 0) return gzip_error(s);
    *out_got = (size_t)got;
    return NULL;
}

static wick_status *gzip_open(const char *path, gzFile *out) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return WICK_ERROR(errno == ENOENT ? WICK_NOT_FOUND : WICK_IO, "%s: cannot open: %s", path, strerror(errno));
    *out = gzdopen(fd, "rb");
    if (*out) return NULL;
    close(fd);
    return WICK_ERROR(WICK_OUT_OF_MEMORY, "%s: no memory to read it", path);
}

wick_status *wick_bytes_read(const char *path, uint64_t max_bytes, void **out, size_t *out_bytes) {
    gzip_stream s = {NULL, path};
    void *data = NULL;
    WICK_TRY(gzip_open(path, &s.file));
    gzbuffer(s.file, 1u << 18);
    wick_status *status = stream_read_all(gzip_read, &s, path, max_bytes, &data, out_bytes);
    /* A stream that ends early is told only here. */
    if (gzclose_r(s.file) != Z_OK && !status) status = WICK_ERROR(WICK_DATA_LOSS, "%s: truncated gzip data", path);
    if (status)
        free(data);
    else
        *out = data;
    return status;
}
