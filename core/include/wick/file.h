/* wick/file.h: files that are replaced as a whole or not at all.
 *
 * The new contents go to a temporary file in the same directory, which takes the place of `path` by a rename once
 * every byte has reached the disk. Until then, and after any failure, the old file is untouched. A symbolic link is
 * followed; the mode of an existing file is kept. An atomic file is used by one thread at a time; two threads or
 * processes may replace the same path at the same time: one of them wins. */
#ifndef WICK_FILE_H
#define WICK_FILE_H

#include <wick/status.h>

typedef struct wick_atomic_file wick_atomic_file;

WICK_BEGIN_DECLS
/* Makes the temporary file. The caller ends it with commit or discard. */
WICK_API WICK_MUST_USE wick_status *wick_atomic_file_create(const char *path, wick_atomic_file **out);
/* Appends. After a failure the only sensible call is discard. */
WICK_API WICK_MUST_USE wick_status *wick_atomic_file_write(wick_atomic_file *file, const void *data, size_t bytes);
/* Brings the contents to the disk and renames. Frees `file` in every case. */
WICK_API WICK_MUST_USE wick_status *wick_atomic_file_commit(wick_atomic_file *file);
/* Removes the temporary file and frees `file`. NULL is allowed. */
WICK_API void wick_atomic_file_discard(wick_atomic_file *file);
/* All of it in one call. */
WICK_API WICK_MUST_USE wick_status *wick_file_replace(const char *path, const void *data, size_t bytes);
WICK_END_DECLS

#endif
