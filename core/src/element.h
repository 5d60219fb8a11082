/* One element of any dtype as a number. */
#ifndef WICK_CORE_ELEMENT_H
#define WICK_CORE_ELEMENT_H

#include <wick/value.h>

/* Reads the element at `data` as a Scalar: BOOL, I64 (U64 wraps), F64, or C128, whose value is written to `parts`. */
wick_value element_value(wick_dtype dtype, const void *data, double parts[2]);
/* As a double: a complex number gives its real part. */
double element_double(wick_dtype dtype, const void *data);

#endif
