/* The elementwise loops that compute in doubles. */
#include "math_generic.h"

#define PW_CLASS pw_loops_f64
#define PW_KIND_R 1
#define SCALAR(s) ((s).re)
typedef double T;
typedef double REAL;
typedef double complex COMPLEX;
#include "pointwise_loops.h"
