/* Functions of complex numbers: the C library's, and what it lacks. */
#ifndef WICK_CPU_MATH_COMPLEX_H
#define WICK_CPU_MATH_COMPLEX_H

#include "math_f64.h"

#define COMPLEX_LIBRARY(X) \
    X(exp)                 \
    X(log)                 \
    X(sin)                 \
    X(cos)                 \
    X(tan)                 \
    X(asin)                \
    X(acos)                \
    X(atan)                \
    X(sinh)                \
    X(cosh)                \
    X(tanh)                \
    X(asinh)               \
    X(acosh)               \
    X(atanh)               \
    X(sqrt)
#define COMPLEX_WRAP(name)                                                            \
    static inline float complex name##_c64(float complex x) { return c##name##f(x); } \
    static inline double complex name##_c128(double complex x) { return c##name(x); }
COMPLEX_LIBRARY(COMPLEX_WRAP)
#undef COMPLEX_WRAP

/* ---- in double precision; the float versions round its results ---- */
static inline double complex exp2_c128(double complex x) { return cexp(x * 0.69314718055994531); }
static inline double complex log2_c128(double complex x) {
    double complex l = clog(x);
    return CMPLX(creal(l) * 1.4426950408889634, cimag(l) * 1.4426950408889634);
}
static inline double complex log10_c128(double complex x) {
    double complex l = clog(x);
    return CMPLX(creal(l) * 0.43429448190325183, cimag(l) * 0.43429448190325183);
}
/* Real part through log1p of |1 + x|^2 - 1, so that small x keep their digits. */
static inline double complex log1p_c128(double complex x) {
    double a = creal(x), b = cimag(x);
    if (fabs(a) > 0.5 || fabs(b) > 0.5) return clog(1 + x);
    return CMPLX(0.5 * log1p(a * (2 + a) + b * b), atan2(b, 1 + a));
}
static inline double complex expm1_c128(double complex x) {
    double a = creal(x), b = cimag(x), half = sin(0.5 * b);
    double real = expm1(a) * cos(b) - 2 * half * half;
    return CMPLX(real, exp(a) * sin(b));
}
static inline double complex sigmoid_c128(double complex x) { return 1 / (1 + cexp(-x)); }
static inline double complex sgn_c128(double complex x) {
    double r = cabs(x);
    return r == 0 ? 0 : CMPLX(creal(x) / r, cimag(x) / r);
}
static inline double complex reciprocal_c128(double complex x) { return 1 / x; }
static inline double complex logaddexp_c128(double complex a, double complex b) {
    if (isnan(creal(a)) || isnan(cimag(a)) || isnan(creal(b)) || isnan(cimag(b))) return CMPLX(NAN, NAN);
    bool less = creal(a) < creal(b);
    double complex low = less ? a : b, high = less ? b : a;
    if (creal(high) == creal(low) && isinf(creal(high))) /* both infinite: no difference to be taken */
        return creal(high) < 0 ? high : clog(cexp(low) + cexp(high));
    return high + log1p_c128(cexp(low - high));
}
static inline double complex pow_c128(double complex x, double complex y) {
    if (y == 0) return 1;
    if (y == 2) return x * x;
    return cpow(x, y);
}

#define COMPLEX_ROUNDED(X) \
    X(exp2)                \
    X(log2)                \
    X(log10)               \
    X(log1p)               \
    X(expm1)               \
    X(sigmoid)             \
    X(sgn)                 \
    X(reciprocal)
#define COMPLEX_ROUND(name) \
    static inline float complex name##_c64(float complex x) { return (float complex)name##_c128(x); }
COMPLEX_ROUNDED(COMPLEX_ROUND)
#undef COMPLEX_ROUND
static inline float complex logaddexp_c64(float complex a, float complex b) { return logaddexp_c128(a, b); }
static inline float complex pow_c64(float complex x, float complex y) { return (float complex)pow_c128(x, y); }

#endif
