/* The elementwise loops that compute in 64-bit integers. */
#include "math_generic.h"

#define PW_CLASS pw_loops_i64
#define PW_KIND_I 1
#define SCALAR(s) ((s).i)
typedef int64_t T;
typedef int64_t REAL;
typedef int64_t COMPLEX;
#include "pointwise_loops.h"
