/* Elementary functions of doubles under the names that math.h dispatches on: the C library's, whose accuracy PyTorch's
 * results need, and cheap combinations of them. */
#ifndef WICK_CPU_MATH_F64_H
#define WICK_CPU_MATH_F64_H

#include "math_f32.h"

#define F64_LIBRARY(X) \
    X(exp)             \
    X(exp2)            \
    X(expm1)           \
    X(log)             \
    X(log2)            \
    X(log10)           \
    X(log1p)           \
    X(sin)             \
    X(cos)             \
    X(tan)             \
    X(asin)            \
    X(acos)            \
    X(atan)            \
    X(sinh)            \
    X(cosh)            \
    X(tanh)            \
    X(asinh)           \
    X(acosh)           \
    X(atanh)           \
    X(erf)
#define F64_WRAP(name) \
    static inline double name##_f64(double x) { return name(x); }
F64_LIBRARY(F64_WRAP)
#undef F64_WRAP

static inline double sigmoid_f64(double x) { return 1.0 / (1.0 + exp(-x)); }

#endif
