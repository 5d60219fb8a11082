/* The elementwise loops that compute in unsigned 64-bit integers. */
#include "math_generic.h"

#define PW_CLASS pw_loops_u64
#define PW_KIND_I 1
#define SCALAR(s) ((uint64_t)(s).i)
typedef uint64_t T;
typedef uint64_t REAL;
typedef uint64_t COMPLEX;
#include "pointwise_loops.h"
