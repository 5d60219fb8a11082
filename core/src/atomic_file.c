/* Atomic replacement of a file: write beside it, fsync, rename, fsync the directory. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wick/file.h>

#define TEMPORARY_NAMES 10000
#define TEMPORARY_NAME_BYTES 48
/* Linux writes at most 2 GiB - 4 KiB in a call. */
#define WRITE_CHUNK_BYTES ((size_t)1 << 30)

struct wick_atomic_file {
    int fd;
    char *path;      /* the target, links resolved */
    char *directory; /* its folder, with the last slash; "" for the current one */
    char *temporary;
};

static wick_status *io_error(const char *what, const char *path) {
    int error = errno;
    return WICK_ERROR(error == ENOMEM ? WICK_OUT_OF_MEMORY : WICK_IO, "%s: cannot %s: %s", path, what, strerror(error));
}

static void free_file(wick_atomic_file *file) {
    if (file->fd >= 0) close(file->fd);
    free(file->path);
    free(file->directory);
    free(file->temporary);
    free(file);
}

/* The file that `path` means now: what a link points to, else the path as given. */
static char *resolve(const char *path) {
    char *real = realpath(path, NULL);
    return real || errno != ENOENT ? real : strdup(path);
}

static wick_status *set_names(wick_atomic_file *file, const char *path) {
    file->path = resolve(path);
    if (!file->path) return io_error("resolve the path", path);
    const char *slash = strrchr(file->path, '/');
    size_t length = slash ? (size_t)(slash - file->path) + 1 : 0;
    file->directory = strndup(file->path, length);
    file->temporary = malloc(length + TEMPORARY_NAME_BYTES);
    if (!file->directory || !file->temporary) return WICK_ERROR(WICK_OUT_OF_MEMORY, "%s: out of memory", path);
    return NULL;
}

/* A name of its own length, so that a target with the longest legal name can be replaced too. */
static wick_status *open_temporary(wick_atomic_file *file) {
    for (int i = 0; i < TEMPORARY_NAMES; ++i) {
        snprintf(file->temporary, strlen(file->directory) + TEMPORARY_NAME_BYTES, "%s.wick-%ld-%d.tmp", file->directory,
                 (long)getpid(), i);
        file->fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file->fd >= 0) return NULL;
        if (errno != EEXIST) break;
    }
    return io_error("create a temporary file beside it", file->path);
}

static wick_status *open_beside(wick_atomic_file *file, const char *path) {
    WICK_TRY(set_names(file, path));
    struct stat old;
    bool exists = stat(file->path, &old) == 0;
    if (exists && !S_ISREG(old.st_mode)) return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: not a regular file", path);
    WICK_TRY(open_temporary(file));
    if (!exists || fchmod(file->fd, old.st_mode & 07777) == 0) return NULL;
    wick_status *status = io_error("keep its mode", path);
    unlink(file->temporary);
    return status;
}

wick_status *wick_atomic_file_create(const char *path, wick_atomic_file **out) {
    if (!path || !*path) return WICK_ERROR(WICK_INVALID_ARGUMENT, "no file name given");
    wick_atomic_file *file = calloc(1, sizeof *file);
    if (!file) return WICK_ERROR(WICK_OUT_OF_MEMORY, "%s: out of memory", path);
    file->fd = -1;
    wick_status *status = open_beside(file, path);
    if (status)
        free_file(file);
    else
        *out = file;
    return status;
}

wick_status *wick_atomic_file_write(wick_atomic_file *file, const void *data, size_t bytes) {
    for (const char *at = data; bytes > 0;) {
        ssize_t written = write(file->fd, at, bytes < WRITE_CHUNK_BYTES ? bytes : WRITE_CHUNK_BYTES);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return io_error("write", file->path);
        at += written;
        bytes -= (size_t)written;
    }
    return NULL;
}

/* Makes the rename itself durable. File systems that cannot sync a directory say EINVAL: nothing more can be done. */
static wick_status *sync_directory(const wick_atomic_file *file) {
    const char *name = *file->directory ? file->directory : ".";
    int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return errno == EACCES ? NULL : io_error("open its directory to sync it", file->path);
    wick_status *status = NULL;
    if (fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP) status = io_error("sync its directory", file->path);
    close(fd);
    return status;
}

static wick_status *close_synced(wick_atomic_file *file) {
    wick_status *status = fsync(file->fd) == 0 ? NULL : io_error("sync", file->path);
    if (close(file->fd) != 0 && !status) status = io_error("close", file->path);
    file->fd = -1;
    return status;
}

wick_status *wick_atomic_file_commit(wick_atomic_file *file) {
    wick_status *status = close_synced(file);
    if (!status && rename(file->temporary, file->path) != 0)
        status = io_error("rename a temporary file to it", file->path);
    if (status)
        unlink(file->temporary);
    else
        status = sync_directory(file);
    free_file(file);
    return status;
}

void wick_atomic_file_discard(wick_atomic_file *file) {
    if (!file) return;
    unlink(file->temporary);
    free_file(file);
}

wick_status *wick_file_replace(const char *path, const void *data, size_t bytes) {
    wick_atomic_file *file = NULL;
    WICK_TRY(wick_atomic_file_create(path, &file));
    wick_status *status = wick_atomic_file_write(file, data, bytes);
    if (!status) return wick_atomic_file_commit(file);
    wick_atomic_file_discard(file);
    return status;
}
