/* The m_ functions of wick/sdk/pointwise.inc for float, double, int32_t and int64_t. */
#ifndef WICK_GPU_MATH_H
#define WICK_GPU_MATH_H

#include "gpu.h"

#define GPU_MATH1(name, f32, f64)                  \
    GPU_FN float m_##name(float a) { return f32; } \
    GPU_FN double m_##name(double a) { return f64; }
#define GPU_MATH2(name, f32, f64)                           \
    GPU_FN float m_##name(float a, float b) { return f32; } \
    GPU_FN double m_##name(double a, double b) { return f64; }
#define GPU_WHOLE1(name, expression)                                     \
    GPU_FN int32_t m_##name(int32_t a) { return (int32_t)(expression); } \
    GPU_FN int64_t m_##name(int64_t a) { return (int64_t)(expression); }
#define GPU_WHOLE2(name, expression)                                                \
    GPU_FN int32_t m_##name(int32_t a, int32_t b) { return (int32_t)(expression); } \
    GPU_FN int64_t m_##name(int64_t a, int64_t b) { return (int64_t)(expression); }

GPU_MATH1(abs, fabsf(a), fabs(a))
GPU_MATH1(sqrt, sqrtf(a), sqrt(a))
GPU_MATH1(exp, expf(a), exp(a))
GPU_MATH1(exp2, exp2f(a), exp2(a))
GPU_MATH1(expm1, expm1f(a), expm1(a))
GPU_MATH1(log, logf(a), log(a))
GPU_MATH1(log2, log2f(a), log2(a))
GPU_MATH1(log10, log10f(a), log10(a))
GPU_MATH1(log1p, log1pf(a), log1p(a))
GPU_MATH1(sin, sinf(a), sin(a))
GPU_MATH1(cos, cosf(a), cos(a))
GPU_MATH1(tan, tanf(a), tan(a))
GPU_MATH1(sin_slow, sinf(a), sin(a))
GPU_MATH1(cos_slow, cosf(a), cos(a))
GPU_MATH1(tan_slow, tanf(a), tan(a))
GPU_MATH1(asin, asinf(a), asin(a))
GPU_MATH1(acos, acosf(a), acos(a))
GPU_MATH1(atan, atanf(a), atan(a))
GPU_MATH1(sinh, sinhf(a), sinh(a))
GPU_MATH1(cosh, coshf(a), cosh(a))
GPU_MATH1(tanh, tanhf(a), tanh(a))
GPU_MATH1(asinh, asinhf(a), asinh(a))
GPU_MATH1(acosh, acoshf(a), acosh(a))
GPU_MATH1(atanh, atanhf(a), atanh(a))
GPU_MATH1(erf, erff(a), erf(a))
GPU_MATH1(erfc, erfcf(a), erfc(a))
GPU_MATH1(floor, floorf(a), floor(a))
GPU_MATH1(ceil, ceilf(a), ceil(a))
GPU_MATH1(trunc, truncf(a), trunc(a))
GPU_MATH1(round, rintf(a), rint(a))
GPU_MATH1(reciprocal, 1.0f / a, 1.0 / a)
GPU_MATH1(sigmoid, 1.0f / (1.0f + expf(-a)), 1.0 / (1.0 + exp(-a)))
GPU_MATH1(sgn, (float)((a > 0) - (a < 0)), (double)((a > 0) - (a < 0)))
GPU_MATH1(conj, a, a)
GPU_MATH1(angle, a != a ? a : a < 0 ? 3.14159265358979f : 0.0f, a != a ? a : a < 0 ? 3.141592653589793 : 0.0)
GPU_MATH1(round_to_f16, f16_to_float(float_to_f16(a)), (double)f16_to_float(float_to_f16((float)a)))
GPU_MATH1(round_to_bf16, bf16_to_float(float_to_bf16(a)), (double)bf16_to_float(float_to_bf16((float)a)))
GPU_MATH2(pow, powf(a, b), pow(a, b))
GPU_MATH2(hypot, hypotf(a, b), hypot(a, b))
GPU_MATH2(copysign, copysignf(a, b), copysign(a, b))
GPU_MATH2(atan2, atan2f(a, b), atan2(a, b))
GPU_MATH2(fmod, fmodf(a, b), fmod(a, b))
GPU_MATH2(nextafter, nextafterf(a, b), nextafter(a, b))
GPU_MATH2(div_trunc, truncf(a / b), trunc(a / b))

GPU_FN bool m_is_nan(float a) { return a != a; }
GPU_FN bool m_is_nan(double a) { return a != a; }
GPU_FN bool m_is_inf(float a) { return fabsf(a) == __builtin_inff(); }
GPU_FN bool m_is_inf(double a) { return fabs(a) == __builtin_inf(); }
GPU_FN bool m_signbit(float a) { return float_to_bits(a) >> 31; }
GPU_FN bool m_signbit(double a) { return copysign(1.0, a) < 0; }
template <class T> GPU_FN bool m_trig_is_slow(T) { return false; }

/* The result has the divisor's sign, as in Python. */
template <class T> GPU_FN T float_remainder(T a, T b) {
    T r = m_fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
GPU_MATH2(remainder, float_remainder(a, b), float_remainder(a, b))

/* Python's floor division: exact where a / b is not (PyTorch's div_floor_floating). */
template <class T> GPU_FN T float_div_floor(T a, T b) {
    if (b == 0) return a / b;
    T mod = m_fmod(a, b), quotient = (a - mod) / b;
    if (mod != 0 && (b < 0) != (mod < 0)) quotient -= 1;
    if (quotient == 0) return m_copysign(T(0), a / b);
    T floored = m_floor(quotient);
    return quotient - floored > T(0.5) ? floored + 1 : floored;
}
GPU_MATH2(div_floor, float_div_floor(a, b), float_div_floor(a, b))

template <class T> GPU_FN T log_add_exp(T a, T b) {
    T high = a > b || a != a ? a : b;
    return a == b && m_is_inf(a) ? a : high + m_log1p(m_exp(-m_abs(a - b)));
}
GPU_MATH2(logaddexp, log_add_exp(a, b), log_add_exp(a, b))

GPU_FN float m_mantissa(float a) {
    int exponent;
    return frexpf(a, &exponent);
}
GPU_FN double m_mantissa(double a) {
    int exponent;
    return frexp(a, &exponent);
}
GPU_FN int32_t m_exponent(float a) {
    int exponent = 0;
    frexpf(a, &exponent);
    return exponent;
}
GPU_FN int32_t m_exponent(double a) {
    int exponent = 0;
    frexp(a, &exponent);
    return exponent;
}

/* The neighbour of a in b's direction, in a 16-bit type: one step of the bits of a sign-and-magnitude number. */
GPU_FN uint16_t next_bits(uint16_t a, uint16_t zero_sign, bool up) {
    bool negative = a >> 15;
    if (!(a & 0x7fff)) return (uint16_t)(up ? 1 : 0x8001) | zero_sign;
    return (uint16_t)(negative == up ? a - 1 : a + 1);
}
GPU_FN float next_f16(float a, float b) {
    if (a != a || b != b) return a + b;
    if (a == b) return b;
    f16 h = float_to_f16(a);
    h.bits = next_bits(h.bits, 0, a < b);
    return f16_to_float(h);
}
GPU_FN float next_bf16(float a, float b) {
    if (a != a || b != b) return a + b;
    if (a == b) return b;
    bf16 h = float_to_bf16(a);
    h.bits = next_bits(h.bits, 0, a < b);
    return bf16_to_float(h);
}
GPU_MATH2(nextafter_f16, next_f16(a, b), (double)next_f16((float)a, (float)b))
GPU_MATH2(nextafter_bf16, next_bf16(a, b), (double)next_bf16((float)a, (float)b))

/* ---- integers ---- */
GPU_WHOLE1(abs, a < 0 ? -a : a)
GPU_WHOLE1(sgn, (a > 0) - (a < 0))
GPU_WHOLE1(conj, a)
GPU_WHOLE1(floor, a)
GPU_WHOLE1(ceil, a)
GPU_WHOLE1(trunc, a)
GPU_WHOLE1(round, a)
GPU_WHOLE2(div_trunc, b == 0 ? 0 : b == -1 ? -a : a / b)
GPU_WHOLE2(fmod, b == 0 || b == -1 ? 0 : a % b)
GPU_WHOLE2(remainder, b == 0 || b == -1 ? 0 : a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0))
GPU_WHOLE2(div_floor, b == 0 ? 0 : b == -1 ? -a : a / b - (a % b != 0 && (a < 0) != (b < 0)))
GPU_FN bool m_is_nan(int32_t) { return false; }
GPU_FN bool m_is_nan(int64_t) { return false; }
GPU_FN bool m_is_inf(int32_t) { return false; }
GPU_FN bool m_is_inf(int64_t) { return false; }
GPU_FN bool m_signbit(int32_t a) { return a < 0; }
GPU_FN bool m_signbit(int64_t a) { return a < 0; }

/* A negative exponent gives 1, -1 or 0, as PyTorch's kernels do. */
template <class T> GPU_FN T whole_power(T a, T b) {
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    T result = 1;
    for (; b; b /= 2, a *= a)
        if (b % 2) result *= a;
    return result;
}
GPU_WHOLE2(pow, whole_power(a, b))
template <class T> GPU_FN T whole_gcd(T a, T b) {
    while (b) {
        T r = b == -1 ? 0 : a % b;
        a = b, b = r;
    }
    return a < 0 ? -a : a;
}
GPU_WHOLE2(gcd, whole_gcd(a, b))
template <class T> GPU_FN T whole_lcm(T a, T b) {
    T g = whole_gcd(a, b);
    return g == 0 ? 0 : m_abs(a / g * b);
}
GPU_WHOLE2(lcm, whole_lcm(a, b))
template <class T> GPU_FN T shifted_left(T a, T b) {
    return b < 0 || b >= (T)(8 * sizeof(T)) ? 0 : (T)((uint64_t)a << b);
}
GPU_WHOLE2(shift_left, shifted_left(a, b))
template <class T> GPU_FN T shifted_right(T a, T b) {
    const T most = (T)(8 * sizeof(T) - 1);
    return a >> (b < 0 || b > most ? most : b);
}
GPU_WHOLE2(shift_right, shifted_right(a, b))

#endif
