/* The loops in floats that do so little with two operands that to store the result past the caches by way of a buffer would
 * show (pointwise.c). */
#define PW_STREAMED 1
#include "math_generic.h"

#define PW_CLASS pw_loops_f32_streamed
#define PW_LOOPS(X) \
    X(add)          \
    X(sub)          \
    X(rsub)         \
    X(mul)
#define PW_KIND_R 1
#define SCALAR(s) ((float)(s).re)
typedef float T;
typedef float REAL;
typedef float complex COMPLEX;
#include "pointwise_loops.h"
