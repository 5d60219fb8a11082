/* Special functions by series in double precision, and the greatest common divisor. */
#include <math.h>

#include "decompose.h"
#include "rows.h"

#define N(x) NUMBER(x)
#define R(x) REAL(x)
#define PI 3.14159265358979323846
#define WIDE(t) cast(c, (t), WICK_F64)

/* ---- the complementary error function: Chebyshev series of log(erfc(z) / t) + z^2 in t = 2 / (2 + z), z >= 0 ---- */
static const double erfc_series[] = {-1.3026537197817094,
                                     6.4196979235649026e-1,
                                     1.9476473204185836e-2,
                                     -9.561514786808631e-3,
                                     -9.46595344482036e-4,
                                     3.66839497852761e-4,
                                     4.2523324806907e-5,
                                     -2.0278578112534e-5,
                                     -1.624290004647e-6,
                                     1.303655835580e-6,
                                     1.5626441722e-8,
                                     -8.5238095915e-8,
                                     6.529054439e-9,
                                     5.059343495e-9,
                                     -9.91364156e-10,
                                     -2.27365122e-10,
                                     9.6467911e-11,
                                     2.394038e-12,
                                     -6.886027e-12,
                                     8.94487e-13,
                                     3.13092e-13,
                                     -1.12708e-13,
                                     3.81e-16,
                                     7.106e-15,
                                     -1.523e-15,
                                     -9.4e-17,
                                     1.21e-16,
                                     -2.8e-17};

/* log(erfc(z)) + z^2 */
static wick_tensor *log_scaled_erfc(wick_context *c, wick_tensor *z) {
    wick_tensor *t = wick_reciprocal(c, ADDN(MULN(z, R(0.5)), N(1)));
    wick_tensor *y = ADDN(MULN(t, N(4)), N(-2)), *d = wick_zeros_like(c, t, NULL), *before = d;
    for (int k = (int)ARRAY_COUNT(erfc_series) - 1; k > 0; --k) {
        wick_tensor *next = ADDN(SUB(MUL(y, d), before), R(erfc_series[k]));
        before = d, d = next;
    }
    wick_tensor *sum = SUB(MULN(ADDN(MUL(y, d), R(erfc_series[0])), R(0.5)), before);
    return ADD(LOG(t), sum);
}
static wick_tensor *erfc_of(wick_context *c, wick_tensor *a) {
    wick_tensor *z = wick_abs(c, a), *upper = EXP(SUB(log_scaled_erfc(c, z), MUL(z, z)));
    upper = WHEREN_(EQN(z, R(INFINITY)), N(0), upper);
    return WHERE(LTN(a, N(0)), RSUBN(N(2), upper), upper);
}
static wick_tensor *erfcx_of(wick_context *c, wick_tensor *a) {
    wick_tensor *z = wick_abs(c, a), *upper = EXP(log_scaled_erfc(c, z));
    upper = WHEREN_(EQN(z, R(INFINITY)), N(0), upper);
    return WHERE(LTN(a, N(0)), SUB(MULN(EXP(MUL(z, z)), N(2)), upper), upper);
}
/* log Phi(a) = log(erfc(-a / sqrt 2) / 2); below 0 without leaving the logarithm. */
static wick_tensor *log_ndtr_of(wick_context *c, wick_tensor *a) {
    wick_tensor *z = MULN(wick_abs(c, a), R(0.70710678118654752440));
    wick_tensor *low = SUB(ADDN(log_scaled_erfc(c, z), R(-0.69314718055994530942)), MUL(z, z));
    wick_tensor *tail = EXP(low), *high = wick_log1p(c, NEG(tail));
    return WHERE(LTN(a, N(0)), low, high);
}
ELEMENTWISE(erfc, erfc_of(c, WIDE(a)))
ELEMENTWISE(special_erfcx, erfcx_of(c, WIDE(a)))
ELEMENTWISE(special_log_ndtr, log_ndtr_of(c, WIDE(a)))

/* ---- the gamma function: Lanczos' series, reflected below 1/2 ---- */
static const double lanczos[] = {0.99999999999980993,  676.5203681218851,     -1259.1392167224028,
                                 771.32342877765313,   -176.61502916214059,   12.507343278686905,
                                 -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7};

/* log Gamma(x) for x >= 1/2 */
static wick_tensor *log_gamma_right(wick_context *c, wick_tensor *x) {
    wick_tensor *sum = wick_full_like(c, x, R(lanczos[0]), NULL), *t = ADDN(x, R(6.5));
    for (int k = 1; k < ARRAY_COUNT(lanczos); ++k)
        sum = ADD(sum, MULN(wick_reciprocal(c, ADDN(x, N(k - 1))), R(lanczos[k])));
    wick_tensor *main = SUB(MUL(ADDN(x, R(-0.5)), LOG(t)), t);
    return ADD(ADDN(main, R(0.91893853320467274178)), LOG(sum));
}
/* sin(pi x) of the distance to the nearest integer: exact 0 there */
static wick_tensor *sin_pi(wick_context *c, wick_tensor *x) {
    return wick_sin(c, MULN(SUB(x, wick_round(c, x)), R(PI)));
}
static wick_tensor *log_gamma(wick_context *c, wick_tensor *a) {
    wick_tensor *left = LTN(a, R(0.5)), *x = WHERE(left, RSUBN(N(1), a), a);
    wick_tensor *right = log_gamma_right(c, x);
    wick_tensor *mirrored = SUB(RSUBN(R(1.14472988584940017414), LOG(wick_abs(c, sin_pi(c, a)))), right);
    wick_tensor *endless = EQN(wick_abs(c, a), R(INFINITY));
    return WHEREN_(endless, R(INFINITY), WHERE(left, mirrored, right));
}
ELEMENTWISE(lgamma, log_gamma(c, WIDE(a)))

/* ---- zeta(s, q) = sum of (q + k)^-s: some terms, then Euler and Maclaurin ---- */
enum { ZETA_TERMS = 12, ZETA_CORRECTIONS = 8 };
/* B_2j / (2j)! */
static const double zeta_corrections[ZETA_CORRECTIONS] = {1.0 / 12,          -1.0 / 720,
                                                          1.0 / 30240,       -1.0 / 1209600,
                                                          1.0 / 47900160,    -691.0 / 1307674368000,
                                                          1.0 / 74724249600, -3617.0 / 10670622842880000};

static wick_tensor *power_of(wick_context *c, wick_tensor *x, wick_tensor *s) { return wick_pow(c, x, NEG(s)); }
static wick_tensor *zeta_right(wick_context *c, wick_tensor *s, wick_tensor *q) {
    wick_tensor *sum = power_of(c, q, s);
    for (int k = 1; k < ZETA_TERMS; ++k) sum = ADD(sum, power_of(c, ADDN(q, N(k)), s));
    wick_tensor *end = ADDN(q, N(ZETA_TERMS)), *term = power_of(c, end, s);
    sum = ADD(sum, ADD(DIV(MUL(term, end), ADDN(s, N(-1))), MULN(term, R(0.5))));
    wick_tensor *factor = DIV(MUL(term, s), end);
    for (int j = 0; j < ZETA_CORRECTIONS; ++j) {
        sum = ADD(sum, MULN(factor, R(zeta_corrections[j])));
        factor = DIV(MUL(factor, MUL(ADDN(s, N(2 * j + 1)), ADDN(s, N(2 * j + 2)))), MUL(end, end));
    }
    return sum;
}
/* s = 1 has no value, s < 1 none here; whole q <= 0 are poles, others below 0 have values for whole s only. */
static wick_tensor *zeta_of(wick_context *c, wick_tensor *s, wick_tensor *q) {
    wick_tensor *whole_q = wick_eq(c, wick_floor(c, q), q), *whole_s = wick_eq(c, wick_floor(c, s), s);
    wick_tensor *low = LEN(q, N(0)), *value = zeta_right(c, s, q);
    value = WHEREN_(AND(low, NOT(whole_s)), R(NAN), value);
    value = WHEREN_(AND(low, whole_q), R(INFINITY), value);
    return WHEREN_(EQN(s, N(1)), R(INFINITY), WHEREN_(LTN(s, N(1)), R(NAN), value));
}
ELEMENTWISE(special_zeta, zeta_of(c, WIDE(a), WIDE(b)))

/* psi(x) = log x - 1 / 2x - sum of B_2j / (2j x^2j), six steps to the right of where it is wanted */
static const double digamma_series[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                        1.0 / 132, -691.0 / 32760, 1.0 / 12};
static wick_tensor *digamma_right(wick_context *c, wick_tensor *x) {
    wick_tensor *sum = wick_zeros_like(c, x, NULL);
    for (int k = 0; k < 10; ++k) sum = SUB(sum, wick_reciprocal(c, ADDN(x, N(k))));
    x = ADDN(x, N(10));
    wick_tensor *inverse = wick_reciprocal(c, x), *square = MUL(inverse, inverse), *power = square;
    sum = ADD(sum, SUB(LOG(x), MULN(inverse, R(0.5))));
    for (int j = 0; j < ARRAY_COUNT(digamma_series); ++j, power = MUL(power, square))
        sum = SUB(sum, MULN(power, R(digamma_series[j])));
    return sum;
}
/* psi(1 - x) - pi / tan(pi x) below 0; 0 gives an infinity of the other sign, other whole numbers NaN */
static wick_tensor *digamma_of(wick_context *c, wick_tensor *a) {
    wick_tensor *left = LTN(a, N(0)), *right = digamma_right(c, WHERE(left, RSUBN(N(1), a), a));
    wick_tensor *turned = MULN(SUB(a, wick_round(c, a)), R(PI));
    wick_tensor *slope = MULN(DIV(wick_cos(c, turned), wick_sin(c, turned)), R(PI));
    wick_tensor *pole = AND(left, wick_eq(c, wick_floor(c, a), a)), *zero = EQN(a, N(0));
    wick_tensor *value = WHEREN_(pole, R(NAN), WHERE(left, SUB(right, slope), right));
    value = WHEREN_(EQN(a, R(INFINITY)), R(INFINITY), value);
    return WHERE(zero, wick_copysign(c, wick_full_like(c, a, R(INFINITY), NULL), NEG(a)), value);
}
ELEMENTWISE(digamma, digamma_of(c, WIDE(a)))

/* (-1)^(n + 1) n! zeta(n + 1, x) */
static wick_tensor *polygamma_of(wick_context *c, int64_t n, wick_tensor *x) {
    if (n == 0) return digamma_of(c, x);
    double factor = tgamma((double)n + 1) * (n % 2 ? 1 : -1);
    return MULN(zeta_of(c, wick_full_like(c, x, R((double)n + 1), NULL), x), R(factor));
}
void compose_polygamma(wick_context *c, const wick_value *args, wick_value *rets) {
    elementwise e;
    if (!elementwise_begin(c, OP_ID_polygamma, args, &e)) return;
    give(rets, cast(c, polygamma_of(c, args[0].as.i, WIDE(e.in[0])), e.result));
}

/* ---- Euclid, as often as any pair needs ---- */
static wick_tensor *divisor_of(wick_context *c, wick_tensor *a, wick_tensor *b) {
    a = wick_abs(c, cast(c, a, WICK_I64)), b = wick_abs(c, cast(c, b, WICK_I64));
    wick_tensor *low = wick_minimum(c, a, b);
    a = wick_maximum(c, a, b), b = low;
    while (!wick_failed(c) && b->numel && wick_item_int(c, wick_any(c, b))) {
        wick_tensor *done = EQN(b, N(0)), *rest = wick_remainder(c, a, WHEREN_(done, N(1), b));
        a = WHERE(done, a, b), b = WHEREN_(done, N(0), rest);
    }
    return a;
}
static wick_tensor *multiple_of(wick_context *c, wick_tensor *a, wick_tensor *b) {
    wick_tensor *divisor = divisor_of(c, a, b), *none = EQN(divisor, N(0));
    wick_tensor *part = integer_quotient(c, a, WHEREN_(none, N(1), divisor), false);
    return wick_abs(c, MUL(part, cast(c, b, WICK_I64)));
}
ELEMENTWISE(gcd, divisor_of(c, a, b))
ELEMENTWISE(lcm, multiple_of(c, a, b))
