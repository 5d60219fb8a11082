/* The elementwise loops that compute in bytes and bools. */
#include "math_generic.h"

#define PW_CLASS pw_loops_u8
#define PW_KIND_I 1
#define SCALAR(s) ((uint8_t)(s).i)
typedef uint8_t T;
typedef uint8_t REAL;
typedef uint8_t COMPLEX;
#include "pointwise_loops.h"
