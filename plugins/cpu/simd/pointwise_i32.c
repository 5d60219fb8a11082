/* The elementwise loops that compute in 32-bit integers, for the narrower ones too. */
#include "math_generic.h"

#define PW_CLASS pw_loops_i32
#define PW_KIND_I 1
#define SCALAR(s) ((int32_t)(s).i)
typedef int32_t T;
typedef int32_t REAL;
typedef int32_t COMPLEX;
#include "pointwise_loops.h"
