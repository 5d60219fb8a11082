/* The elementwise loops that compute in complex doubles. */
#include "math_generic.h"

#define PW_CLASS pw_loops_c128
#define PW_KIND_C 1
#define SCALAR(s) CMPLX((s).re, (s).im)
typedef double complex T;
typedef double REAL;
typedef double complex COMPLEX;
#include "pointwise_loops.h"
