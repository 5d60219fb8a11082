/* The elementwise loops that compute in complex floats. */
#include "math_generic.h"

#define PW_CLASS pw_loops_c64
#define PW_KIND_C 1
#define SCALAR(s) CMPLXF((float)(s).re, (float)(s).im)
typedef float complex T;
typedef float REAL;
typedef float complex COMPLEX;
#include "pointwise_loops.h"
