/* The functions of wick/sdk/pointwise.inc for real numbers of type T. An expression that uses another one gets no
 * kernel. */
#define __builtin_inf() INFINITY
#define __builtin_nan(text) NAN
#define K(x) ((T)(x))

T real_sgn(T x) { return (T)((x > 0) - (x < 0)); }

T real_remainder(T a, T b) {
    const T m = fmod(a, b);
    return m != 0 && (b < 0) != (m < 0) ? m + b : m;
}

T real_div_floor(T a, T b) {
    if (b == 0) return a / b;
    const T m = fmod(a, b);
    T q = (a - m) / b;
    if (m != 0 && (b < 0) != (m < 0)) q -= 1;
    if (q == 0) return copysign((T)0, a / b);
    const T f = floor(q);
    return q - f > (T)0.5 ? f + 1 : f;
}

T real_logaddexp(T a, T b) {
    if (isinf(a) && a == b) return a;
    return (a > b || a != a ? a : b) + log1p(exp(-fabs(a - b)));
}

T real_sigmoid(T x) { return (T)1 / ((T)1 + exp(-x)); }

#define m_reciprocal(x) ((T)1 / (x))
#define m_abs(x) fabs(x)
#define m_sgn(x) real_sgn(x)
#define m_pow(x, y) pow((T)(x), (T)(y))
#define m_hypot(x, y) hypot(x, y)
#define m_copysign(x, y) copysign(x, y)
#define m_exp(x) exp(x)
#define m_exp2(x) exp2(x)
#define m_expm1(x) expm1(x)
#define m_log(x) log(x)
#define m_log2(x) log2(x)
#define m_log10(x) log10(x)
#define m_log1p(x) log1p(x)
#define m_sqrt(x) sqrt(x)
#define m_logaddexp(x, y) real_logaddexp(x, y)
#define m_floor(x) floor(x)
#define m_ceil(x) ceil(x)
#define m_trunc(x) trunc(x)
#define m_round(x) rint(x)
#define m_sin(x) sin(x)
#define m_cos(x) cos(x)
#define m_tan(x) tan(x)
#define m_asin(x) asin(x)
#define m_acos(x) acos(x)
#define m_atan(x) atan(x)
#define m_atan2(x, y) atan2(x, y)
#define m_sinh(x) sinh(x)
#define m_cosh(x) cosh(x)
#define m_tanh(x) tanh(x)
#define m_asinh(x) asinh(x)
#define m_acosh(x) acosh(x)
#define m_atanh(x) atanh(x)
#define m_sigmoid(x) real_sigmoid(x)
#define m_conj(x) (x)
#define m_erf(x) erf(x)
#define m_erfc(x) erfc(x)
#define m_lgamma(x) lgamma(x)
#define m_is_nan(x) isnan(x)
#define m_is_inf(x) isinf(x)
#define m_signbit(x) signbit(x)
#define m_div_trunc(x, y) trunc((x) / (y))
#define m_div_floor(x, y) real_div_floor(x, y)
#define m_fmod(x, y) fmod(x, y)
#define m_remainder(x, y) real_remainder(x, y)
