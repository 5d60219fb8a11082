/* What .npz needs of .npy. */
#ifndef WICK_NN_IO_NPY_H
#define WICK_NN_IO_NPY_H

#include <wick/io.h>

/* The array as the bytes of an .npy file, which the caller frees with free(). */
wick_status *npy_format(const wick_array *array, const char *source, void **out, size_t *out_bytes);

#endif
