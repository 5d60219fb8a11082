/* Elements of host arrays of any dtype, and when two of them are near enough. */
#ifndef WICK_PARITY_ELEMENTS_H
#define WICK_PARITY_ELEMENTS_H

#include <wick/dtype.h>

/* PyTorch's default by dtype; zero for integers and bool. */
typedef struct tolerance {
    double rtol, atol;
} tolerance;
tolerance dtype_tolerance(wick_dtype dtype);

/* Reads element i; a complex one as two numbers. 64-bit integers lose bits: compare these by their bytes first. */
void element_read(const char *data, wick_dtype dtype, int64_t i, double out[2]);
/* Within the tolerance of `expected`, the same infinity, or both NaN. */
bool number_close(double expected, double got, tolerance t);
/* The same for two parts: finite complex numbers are near each other in the plane, not part by part. */
bool element_close(const double expected[2], const double got[2], tolerance t);

#endif
