/* The elementwise loops that compute in floats. */
#include "math_generic.h"

#define PW_CLASS pw_loops_f32
#define PW_KIND_R 1
#define SCALAR(s) ((float)(s).re)
typedef float T;
typedef float REAL;
typedef float complex COMPLEX;
#include "pointwise_loops.h"
