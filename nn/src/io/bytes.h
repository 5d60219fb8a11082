/* Reading streams of unknown length; bytes that are too few, too many, or not in this machine's order. */
#ifndef WICK_NN_IO_BYTES_H
#define WICK_NN_IO_BYTES_H

#include <wick/io.h>

/* Fills up to `bytes` bytes of `buffer`; *out_got = 0 at the end of the stream. */
typedef wick_status *(*stream_read_fn)(void *stream, void *buffer, size_t bytes, size_t *out_got);

/* Reads to the end into memory that the caller frees with free(). What is allocated follows what was really read, not
 * what a file claims to hold. More than `max_bytes` is an error. */
wick_status *stream_read_all(stream_read_fn read, void *stream, const char *source, uint64_t max_bytes, void **out,
                             size_t *out_bytes);

/* Are the `got` bytes behind a header as many as the dtype and sizes in it want? Sizes are not negative. */
wick_status *bytes_check(const char *source, wick_dtype dtype, int ndim, const wick_dim *sizes, size_t got);

/* Reverses the bytes of each of `count` elements. */
void bytes_swap(void *data, size_t element_bytes, size_t count);

#endif
