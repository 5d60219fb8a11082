/* The loops in floats that are faster when they store past the caches themselves than by way of a buffer (pointwise.c): those
 * that do so little with two operands that it would show, and those that compute so much that the processor, busy with the
 * buffer, does not reach the next operands. */
#define PW_STREAMED 1
#include "math_generic.h"

#define PW_CLASS pw_loops_f32_streamed
#define PW_LOOPS(X) \
    X(add)          \
    X(sub)          \
    X(rsub)         \
    X(mul)          \
    X(tanh)         \
    X(sigmoid)      \
    X(silu)         \
    X(gelu_erf)     \
    X(gelu_tanh)
#define PW_KIND_R 1
#define SCALAR(s) ((float)(s).re)
typedef float T;
typedef float REAL;
typedef float complex COMPLEX;
#include "pointwise_loops.h"
