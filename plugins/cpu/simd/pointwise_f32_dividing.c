/* The loops in floats that are faster with the hardware's division than with multiplications alone, on AMD's processors with
 * registers of 512 bits (pointwise.c). */
#define CPU_DIVIDES_FAST 1
#include "math_generic.h"
#define m_normal_cdf normal_cdf_f32

#define PW_CLASS pw_loops_f32_dividing
#define PW_LOOPS(X)      \
    X(tanh)              \
    X(sigmoid)           \
    X(silu)              \
    X(silu_backward)     \
    X(erf)               \
    X(gelu_erf)          \
    X(gelu_erf_backward) \
    X(gelu_tanh)         \
    X(gelu_tanh_backward)
#define PW_KIND_R 1
#define SCALAR(s) ((float)(s).re)
typedef float T;
typedef float REAL;
typedef float complex COMPLEX;
#include "pointwise_loops.h"
