/* The functions that the rows of <wick/sdk/pointwise.inc> are written in, for every compute class, and the inline
 * vectorizable versions behind them (math_f32.h, math_f64.h, math_complex.h, math_int.h). A GPU build supplies the same
 * names as overloads. */
#ifndef WICK_CPU_MATH_GENERIC_H
#define WICK_CPU_MATH_GENERIC_H

#include "math_complex.h"
#include "math_int.h"
#include "special.h"

/* For a real or complex, for a real, and for an integer argument. */
#define MATH_RC(name, x) \
    _Generic((x), float : name##_f32, double : name##_f64, float complex : name##_c64, double complex : name##_c128)
#define MATH_R(name, x) _Generic((x), float : name##_f32, double : name##_f64)
#define MATH_RI(name, x)           \
    _Generic((x), float            \
             : name##_f32, double  \
             : name##_f64, int64_t \
             : name##_i64, int32_t \
             : name##_i32, uint8_t \
             : name##_u8, uint64_t \
             : name##_u64)
#define MATH_RIC(name, x)                 \
    _Generic((x), float                   \
             : name##_f32, double         \
             : name##_f64, int64_t        \
             : name##_i64, int32_t        \
             : name##_i32, uint8_t        \
             : name##_u8, uint64_t        \
             : name##_u64, float complex  \
             : name##_c64, double complex \
             : name##_c128)

#define m_exp(x) MATH_RC(exp, x)(x)
#define m_exp2(x) MATH_RC(exp2, x)(x)
#define m_expm1(x) MATH_RC(expm1, x)(x)
#define m_log(x) MATH_RC(log, x)(x)
#define m_log2(x) MATH_RC(log2, x)(x)
#define m_log10(x) MATH_RC(log10, x)(x)
#define m_log1p(x) MATH_RC(log1p, x)(x)
#define m_sqrt(x) MATH_RC(sqrt, x)(x)
#define m_sin(x) MATH_RC(sin, x)(x)
#define m_cos(x) MATH_RC(cos, x)(x)
#define m_tan(x) MATH_RC(tan, x)(x)
#define m_asin(x) MATH_RC(asin, x)(x)
#define m_acos(x) MATH_RC(acos, x)(x)
#define m_atan(x) MATH_RC(atan, x)(x)
#define m_sinh(x) MATH_RC(sinh, x)(x)
#define m_cosh(x) MATH_RC(cosh, x)(x)
#define m_tanh(x) MATH_RC(tanh, x)(x)
#define m_asinh(x) MATH_RC(asinh, x)(x)
#define m_acosh(x) MATH_RC(acosh, x)(x)
#define m_atanh(x) MATH_RC(atanh, x)(x)
#define m_sigmoid(x) MATH_RC(sigmoid, x)(x)
#define m_reciprocal(x) MATH_RC(reciprocal, x)(x)
#define m_erf(x) MATH_R(erf, x)(x)
#define m_abs(x) MATH_RIC(abs, x)(x)
#define m_sgn(x) MATH_RIC(sgn, x)(x)
#define m_conj(x) MATH_RIC(conj, x)(x)
#define m_angle(x) MATH_RC(angle, x)(x)
#define m_is_nan(x) MATH_RIC(is_nan, x)(x)
#define m_is_inf(x) MATH_RIC(is_inf, x)(x)
#define m_floor(x) MATH_RI(floor, x)(x)
#define m_ceil(x) MATH_RI(ceil, x)(x)
#define m_trunc(x) MATH_RI(trunc, x)(x)
#define m_round(x) MATH_RI(round, x)(x) /* half to even */
#define m_signbit(x) MATH_RI(signbit, x)(x)
#define m_copysign(x, y) MATH_R(copysign, x)(x, y)
#define m_hypot(x, y) MATH_R(hypot, x)(x, y)
#define m_atan2(x, y) MATH_R(atan2, x)(x, y)
#define m_nextafter(x, y) MATH_R(nextafter, x)(x, y)
#define m_complex(x, y) MATH_R(complex, x)(x, y)
#define m_mantissa(x) MATH_R(mantissa, x)(x)
#define m_exponent(x) MATH_R(exponent, x)(x)
#define m_pow(x, y) MATH_RIC(pow, x)(x, y)
#define m_fmod(x, y) MATH_RI(fmod, x)(x, y)
#define m_remainder(x, y) MATH_RI(remainder, x)(x, y)
#define m_div_trunc(x, y) MATH_RI(div_trunc, x)(x, y)
#define m_div_floor(x, y) MATH_RI(div_floor, x)(x, y)
#define m_logaddexp(x, y) MATH_RC(logaddexp, x)(x, y)
#define m_gcd(x, y) MATH_RI_INT(gcd, x)(x, y)
#define m_lcm(x, y) MATH_RI_INT(lcm, x)(x, y)
#define m_shift_left(x, y) MATH_RI_INT(shift_left, x)(x, y)
#define m_shift_right(x, y) MATH_RI_INT(shift_right, x)(x, y)
#define m_nextafter_f16(x, y) nextafter_f16((float)(x), (float)(y))
#define m_nextafter_bf16(x, y) nextafter_bf16((float)(x), (float)(y))
#define m_round_to_f16(x) f32_of_f16(f16_of_f32((float)(x)))
#define m_round_to_bf16(x) f32_of_bf16(bf16_of_f32((float)(x)))
#define m_erfc(x) erfc((double)(x))
#define m_erfinv(x) cpu_erfinv(x)
#define m_erfcx(x) cpu_erfcx(x)
#define m_lgamma(x) cpu_lgamma(x)
#define m_digamma(x) cpu_digamma(x)
#define m_polygamma(n, x) cpu_polygamma((n), (x))
#define m_zeta(x, q) cpu_zeta((x), (q))
#define m_ndtri(x) cpu_ndtri(x)
#define m_log_ndtr(x) cpu_log_ndtr(x)
#define m_i0(x) cpu_i0(x)
#define m_i0e(x) cpu_i0e(x)
#define m_i1(x) cpu_i1(x)
#define m_i1e(x) cpu_i1e(x)
#define m_igamma(a, x) cpu_igamma((a), (x))
#define m_igammac(a, x) cpu_igammac((a), (x))
#define MATH_RI_INT(name, x) \
    _Generic((x), int64_t : name##_i64, int32_t : name##_i32, uint8_t : name##_u8, uint64_t : name##_u64)
/* Where the vectorized circular functions lose accuracy, and what is used there. */
#define m_trig_is_slow(x) MATH_RC(trig_is_slow, x)(x)
#define m_sin_slow(x) MATH_RC(sin_slow, x)(x)
#define m_cos_slow(x) MATH_RC(cos_slow, x)(x)
#define m_tan_slow(x) MATH_RC(tan_slow, x)(x)

/* ---- both real classes ---- */
#define REAL_FUNCTIONS(T, c, f)                                                                   \
    static inline T sqrt_##c(T x) { return __builtin_sqrt##f(x); }                                \
    static inline T floor_##c(T x) { return __builtin_floor##f(x); }                              \
    static inline T ceil_##c(T x) { return __builtin_ceil##f(x); }                                \
    static inline T trunc_##c(T x) { return __builtin_trunc##f(x); }                              \
    static inline T round_##c(T x) { return __builtin_rint##f(x); }                               \
    static inline T reciprocal_##c(T x) { return 1 / x; }                                         \
    static inline T sgn_##c(T x) { return (T)((x > 0) - (x < 0)); }                               \
    static inline T conj_##c(T x) { return x; }                                                   \
    static inline T angle_##c(T x) { return x != x ? x : x < 0 ? (T)3.14159265358979323846 : 0; } \
    static inline bool signbit_##c(T x) { return __builtin_signbit(x) != 0; }                     \
    static inline bool is_nan_##c(T x) { return x != x; }                                         \
    static inline bool is_inf_##c(T x) { return __builtin_fabs##f(x) == (T)__builtin_inf(); }     \
    static inline T atan2_##c(T y, T x) { return atan2##f(y, x); }                                \
    static inline T nextafter_##c(T x, T y) { return nextafter##f(x, y); }                        \
    static inline T fmod_##c(T a, T b) { return fmod##f(a, b); }                                  \
    static inline T remainder_##c(T a, T b) {                                                     \
        T r = fmod##f(a, b);                                                                      \
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;                                          \
    }                                                                                             \
    static inline T div_trunc_##c(T a, T b) { return trunc_##c(a / b); }                          \
    /* Python's: from the remainder, since a / b may round up to the next integer. */             \
    static inline T div_floor_##c(T a, T b) {                                                     \
        if (b == 0) return a / b;                                                                 \
        T r = fmod##f(a, b), q = (a - r) / b;                                                     \
        if (r != 0 && (b < 0) != (r < 0)) q -= 1;                                                 \
        if (q == 0) return __builtin_copysign##f(0, a / b);                                       \
        T whole = floor_##c(q);                                                                   \
        return q - whole > (T)0.5 ? whole + 1 : whole;                                            \
    }                                                                                             \
    static inline T mantissa_##c(T x) {                                                           \
        int e;                                                                                    \
        return frexp##f(x, &e);                                                                   \
    }                                                                                             \
    static inline int32_t exponent_##c(T x) {                                                     \
        int e = 0;                                                                                \
        if (x == x && !is_inf_##c(x)) (void)frexp##f(x, &e);                                      \
        return e;                                                                                 \
    }                                                                                             \
    static inline T logaddexp_##c(T a, T b) {                                                     \
        T high = a > b || a != a ? a : b;                                                         \
        T value = high + log1p_##c(exp_##c(-__builtin_fabs##f(a - b)));                           \
        return a == b && is_inf_##c(a) ? a : value;                                               \
    }
REAL_FUNCTIONS(float, f32, f)
REAL_FUNCTIONS(double, f64, )

static inline double abs_f64(double x) { return __builtin_fabs(x); }
static inline double copysign_f64(double x, double sign) { return __builtin_copysign(x, sign); }
static inline double pow_f64(double x, double y) { return pow(x, y); }
static inline double hypot_f64(double x, double y) { return hypot(x, y); }
static inline float hypot_f32(float x, float y) {
    float r = (float)__builtin_sqrt((double)x * x + (double)y * y);
    return is_inf_f32(x) || is_inf_f32(y) ? __builtin_inff() : r;
}
static inline float complex complex_f32(float re, float im) { return CMPLXF(re, im); }
static inline double complex complex_f64(double re, double im) { return CMPLX(re, im); }

/* ---- both complex classes ---- */
#define COMPLEX_FUNCTIONS(T, R, c, f)                                                                       \
    static inline R abs_##c(T x) { return cabs##f(x); }                                                     \
    static inline R angle_##c(T x) { return carg##f(x); }                                                   \
    static inline T conj_##c(T x) { return conj##f(x); }                                                    \
    static inline bool is_nan_##c(T x) { return creal##f(x) != creal##f(x) || cimag##f(x) != cimag##f(x); } \
    static inline bool is_inf_##c(T x) { return isinf(creal##f(x)) || isinf(cimag##f(x)); }
COMPLEX_FUNCTIONS(float complex, float, c64, f)
COMPLEX_FUNCTIONS(double complex, double, c128, )

/* ---- the integer classes ---- */
#define INT_COMMON(T, c)                                            \
    static inline T abs_##c(T x) { return x < 0 ? (T)(0 - x) : x; } \
    static inline T sgn_##c(T x) { return (T)((x > 0) - (x < 0)); } \
    static inline bool signbit_##c(T x) { return x < 0; }           \
    static inline T conj_##c(T x) { return x; }                     \
    static inline T floor_##c(T x) { return x; }                    \
    static inline T ceil_##c(T x) { return x; }                     \
    static inline T trunc_##c(T x) { return x; }                    \
    static inline T round_##c(T x) { return x; }                    \
    static inline bool is_nan_##c(T x) { return false; }            \
    static inline bool is_inf_##c(T x) { return false; }
INT_COMMON(int64_t, i64)
INT_COMMON(int32_t, i32)
INT_COMMON(uint8_t, u8)
INT_COMMON(uint64_t, u64)

static inline bool trig_is_slow_f64(double x) { return false; }
static inline bool trig_is_slow_c64(float complex x) { return false; }
static inline bool trig_is_slow_c128(double complex x) { return false; }
#define TRIG_SLOW(name)                                                                    \
    static inline float name##_slow_f32(float x) { return name##f(x); }                    \
    static inline double name##_slow_f64(double x) { return name(x); }                     \
    static inline float complex name##_slow_c64(float complex x) { return name##_c64(x); } \
    static inline double complex name##_slow_c128(double complex x) { return name##_c128(x); }
TRIG_SLOW(sin)
TRIG_SLOW(cos)
TRIG_SLOW(tan)

/* The neighbour of x in the direction of y among the half-precision values; x and y are such values. */
static inline uint16_t half_step(uint16_t x, bool x_is_zero, bool up) {
    if (x_is_zero) return up ? 0x0001 : 0x8001;
    return (uint16_t)((x & 0x8000) == 0 ? (up ? x + 1 : x - 1) : (up ? x - 1 : x + 1));
}
static inline float nextafter_f16(float x, float y) {
    if (x != x || y != y) return x + y;
    return x == y ? y : f32_of_f16(half_step(f16_of_f32(x), x == 0, y > x));
}
static inline float nextafter_bf16(float x, float y) {
    if (x != x || y != y) return x + y;
    return x == y ? y : f32_of_bf16(half_step(bf16_of_f32(x), x == 0, y > x));
}

#endif
