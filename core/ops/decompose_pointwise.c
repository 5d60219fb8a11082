/* Elementwise operators in terms of neg, exp, log, sqrt, reciprocal, sin, cos, tanh, erf, floor, logical_not, add,
 * mul, div, pow, atan2, maximum, minimum, eq, lt, le, bitwise_and and where. */
#include <float.h>
#include <math.h>

#include "decompose.h"
#include "rows.h"

#define N(x) NUMBER(x)
#define R(x) REAL(x)

static bool is_complex(const wick_tensor *t) { return t && wick_dtype_is_complex((wick_dtype)t->dtype); }
static bool is_real(const wick_tensor *t) { return t && wick_dtype_is_floating((wick_dtype)t->dtype); }
static bool is_bool(const wick_tensor *t) { return t && t->dtype == WICK_BOOL; }

/* ---- comparisons and logic ---- */
ELEMENTWISE(ne, NOT(wick_eq(c, a, b)))
ELEMENTWISE(gt, wick_lt(c, b, a))
ELEMENTWISE(ge, wick_le(c, b, a))

static wick_tensor *truth(wick_context *c, wick_tensor *t) { return is_bool(t) ? t : NOT(NOT(t)); }
static wick_tensor *both(wick_context *c, wick_tensor *a, wick_tensor *b) {
    return wick_bitwise_and(c, truth(c, a), truth(c, b));
}
ELEMENTWISE(logical_and, both(c, a, b))
ELEMENTWISE(logical_or, NOT(wick_bitwise_and(c, NOT(a), NOT(b))))
ELEMENTWISE(logical_xor, NOT(wick_eq(c, NOT(a), NOT(b))))
ELEMENTWISE(isnan, wick_ne(c, a, a))

static wick_tensor *is_infinite(wick_context *c, wick_tensor *a) {
    if (!is_complex(a)) return EQN(wick_abs(c, a), R(INFINITY));
    return OR(is_infinite(c, wick_real(c, a)), is_infinite(c, wick_imag(c, a)));
}
static wick_tensor *no_element(wick_context *c, wick_tensor *a) {
    return wick_ne(c, wick_eq(c, a, a), wick_eq(c, a, a));
}
static bool can_be_infinite(const wick_tensor *a) { return is_real(a) || is_complex(a); }
ELEMENTWISE(isinf, can_be_infinite(a) ? is_infinite(c, a) : no_element(c, a))
ELEMENTWISE(isposinf, can_be_infinite(a) ? EQN(a, R(INFINITY)) : no_element(c, a))
ELEMENTWISE(isneginf, can_be_infinite(a) ? EQN(a, R(-INFINITY)) : no_element(c, a))
ELEMENTWISE(signbit, is_real(a)   ? OR(LTN(a, N(0)), AND(EQN(a, N(0)), LTN(wick_reciprocal(c, a), N(0))))
                     : is_bool(a) ? no_element(c, a)
                                  : LTN(a, N(0)))

/* ~a = -a - 1 */
ELEMENTWISE(bitwise_not, is_bool(a) ? NOT(a) : ADDN(NEG(a), N(-1)))
/* a + b counts the common bits twice. */
ELEMENTWISE(bitwise_or, is_bool(a) ? OR(a, b) : SUB(ADD(a, b), wick_bitwise_and(c, a, b)))
ELEMENTWISE(bitwise_xor, is_bool(a) ? wick_ne(c, a, b) : SUB(ADD(a, b), MULN(wick_bitwise_and(c, a, b), N(2))))

/* A count that is negative or has all the bits leaves nothing but the sign. */
static wick_tensor *shift_is_sane(wick_context *c, wick_tensor *a, wick_tensor *b) {
    return AND(GEN(b, N(0)), LTN(b, N((int64_t)(8 * wick_dtype_bytes((wick_dtype)a->dtype)))));
}
static wick_tensor *shift_left(wick_context *c, wick_tensor *a, wick_tensor *b) {
    return WHERE_N(shift_is_sane(c, a, b), MUL(a, wick_pow_scalar_base(c, N(2), b)), N(0));
}
/* The divisor 2^63 is out of reach, but what it leaves is the sign as well. */
static wick_tensor *shift_right(wick_context *c, wick_tensor *a, wick_tensor *b) {
    wick_tensor *sane = AND(shift_is_sane(c, a, b), LTN(b, N(63)));
    wick_tensor *divisor = WHERE_N(sane, wick_pow_scalar_base(c, N(2), cast(c, b, WICK_I64)), N(1));
    wick_tensor *sign = NEG(cast(c, LTN(a, N(0)), WICK_I64));
    return WHERE(sane, integer_quotient(c, a, divisor, true), sign);
}
ELEMENTWISE(bitwise_left_shift, shift_left(c, a, b))
ELEMENTWISE(bitwise_right_shift, shift_right(c, a, b))

/* ---- arithmetic ---- */
static wick_tensor *add_scaled(wick_context *c, wick_tensor *a, wick_tensor *b, wick_value alpha) {
    wick_add_options o = WICK_ADD_OPTIONS_INIT;
    o.alpha = alpha;
    return wick_add(c, a, b, &o);
}
static wick_value negated(const wick_value *v, double parts[2]) {
    if (v->tag == WICK_TAG_F64) return R(-v->as.f);
    if (v->tag != WICK_TAG_C128) return N(-v->as.i);
    parts[0] = -v->as.c[0], parts[1] = -v->as.c[1];
    return wick_value_complex(parts);
}
static wick_tensor *difference(wick_context *c, wick_tensor *a, wick_tensor *b, const wick_value *alpha) {
    double parts[2];
    return add_scaled(c, a, b, negated(alpha, parts));
}
ELEMENTWISE(sub, difference(c, a, b, &args[2]))
ELEMENTWISE(rsub, difference(c, b, a, &args[2]))
ELEMENTWISE(addcmul, add_scaled(c, a, MUL(b, d), args[3]))
ELEMENTWISE(addcdiv, add_scaled(c, a, DIV(b, d), args[3]))

/* From the nearer end. */
static wick_tensor *interpolate(wick_context *c, wick_tensor *a, wick_tensor *b, wick_tensor *w) {
    wick_tensor *step = SUB(b, a), *near = LTN(wick_abs(c, w), R(0.5));
    return WHERE(near, ADD(a, MUL(w, step)), SUB(b, MUL(step, RSUBN(N(1), w))));
}
ELEMENTWISE(lerp, interpolate(c, a, b, d))
static wick_tensor *interpolate_by(wick_context *c, wick_tensor *a, wick_tensor *b, const wick_value *w) {
    const double parts[2] = {wick_value_as_double(w), w->tag == WICK_TAG_C128 ? w->as.c[1] : 0};
    const double rest[2] = {1 - parts[0], -parts[1]};
    wick_value by = w->tag == WICK_TAG_C128 ? wick_value_complex(rest) : R(rest[0]);
    wick_tensor *step = SUB(b, a);
    return hypot(parts[0], parts[1]) < 0.5 ? ADD(a, MULN(step, *w)) : SUB(b, MULN(step, by));
}
ELEMENTWISE(lerp_scalar, interpolate_by(c, a, b, &args[2]))

/* + 0 turns -0 into 0. */
static wick_tensor *magnitude(wick_context *c, wick_tensor *a) {
    if (is_complex(a)) return wick_hypot(c, wick_real(c, a), wick_imag(c, a));
    if (is_bool(a)) return a;
    wick_tensor *m = WHERE(LTN(a, N(0)), NEG(a), a);
    return is_real(a) ? ADDN(m, N(0)) : m;
}
ELEMENTWISE(abs, magnitude(c, a))

/* NaN has no sign here. */
static wick_tensor *sign(wick_context *c, wick_tensor *a) {
    if (is_bool(a)) return a;
    wick_dtype d = (wick_dtype)a->dtype;
    return SUB(cast(c, GTN(a, N(0)), d), cast(c, LTN(a, N(0)), d));
}
static wick_tensor *direction(wick_context *c, wick_tensor *a) {
    wick_tensor *m = wick_abs(c, a), *none = EQN(m, N(0));
    return WHEREN_(none, N(0), DIV(a, WHEREN_(none, N(1), m)));
}
ELEMENTWISE(sign, sign(c, a))
ELEMENTWISE(sgn, is_complex(a) ? direction(c, a) : sign(c, a))

ELEMENTWISE(fmax, WHERE(wick_isnan(c, a), b, WHERE(wick_isnan(c, b), a, wick_maximum(c, a, b))))
ELEMENTWISE(fmin, WHERE(wick_isnan(c, a), b, WHERE(wick_isnan(c, b), a, wick_minimum(c, a, b))))
ELEMENTWISE(heaviside, WHERE(EQN(a, N(0)), b, cast(c, GTN(a, N(0)), e.wide)))
ELEMENTWISE(deg2rad, MULN(a, R(0.017453292519943295)))
ELEMENTWISE(rad2deg, MULN(a, R(57.29577951308232)))
ELEMENTWISE(copysign, WHERE(wick_signbit(c, b), NEG(wick_abs(c, a)), wick_abs(c, a)))

static wick_tensor *length_of(wick_context *c, wick_tensor *a, wick_tensor *b) {
    a = wick_abs(c, a), b = wick_abs(c, b);
    wick_tensor *more = wick_maximum(c, a, b), *less = wick_minimum(c, a, b);
    wick_tensor *plain = OR(EQN(more, N(0)), EQN(more, R(INFINITY)));
    wick_tensor *ratio = DIV(less, WHEREN_(plain, N(1), more));
    return WHERE(plain, more, MUL(more, SQRT(ADDN(MUL(ratio, ratio), N(1)))));
}
ELEMENTWISE(hypot, length_of(c, a, b))

/* The exponent joins as a number, so that it does not widen the result. */
ELEMENTWISE_AS(pow_by_scalar, pow_scalar, wick_pow(c, a, cast(c, wrap_number(c, &args[1]), e.wide)))

/* ---- rounding ---- */
static wick_tensor *round_up(wick_context *c, wick_tensor *a) { return NEG(wick_floor(c, NEG(a))); }
static wick_tensor *cut(wick_context *c, wick_tensor *a) {
    return is_real(a) ? WHERE(LTN(a, N(0)), round_up(c, a), wick_floor(c, a)) : a;
}
/* Halves to even. */
static wick_tensor *round_even(wick_context *c, wick_tensor *a) {
    if (!is_real(a)) return a;
    wick_tensor *low = wick_floor(c, a), *rest = SUB(a, low), *half = MULN(low, R(0.5));
    wick_tensor *odd = wick_ne(c, wick_floor(c, half), half);
    wick_tensor *up = OR(GTN(rest, R(0.5)), AND(EQN(rest, R(0.5)), odd));
    return WHERE(EQN(a, N(0)), a, ADD(low, cast(c, up, (wick_dtype)a->dtype)));
}
static wick_tensor *round_decimals(wick_context *c, wick_tensor *a, int64_t decimals) {
    double scale = pow(10, (double)(decimals < 0 ? -decimals : decimals));
    if (!is_real(a) || decimals == 0) return round_even(c, a);
    return decimals > 0 ? DIVN(round_even(c, MULN(a, R(scale))), R(scale))
                        : MULN(round_even(c, DIVN(a, R(scale))), R(scale));
}
ELEMENTWISE(ceil, is_real(a) ? round_up(c, a) : a)
ELEMENTWISE(trunc, cut(c, a))
ELEMENTWISE(round, round_even(c, a))
ELEMENTWISE(round_decimals, round_decimals(c, a, args[1].as.i))
ELEMENTWISE(frac, SUB(a, cut(c, a)))

/* ---- division with a remainder: quotients of reals in double precision, of integers exact ---- */
static wick_tensor *real_rest(wick_context *c, wick_tensor *a, wick_tensor *b) {
    wick_dtype d = (wick_dtype)a->dtype;
    wick_tensor *x = cast(c, a, WICK_F64), *y = cast(c, b, WICK_F64);
    wick_tensor *rest = SUB(x, MUL(y, cut(c, DIV(x, y))));
    wick_tensor *plain = AND(EQN(wick_abs(c, y), R(INFINITY)), wick_isfinite(c, x));
    return cast(c, WHERE(plain, x, rest), d);
}
static wick_tensor *rest_like_dividend(wick_context *c, wick_tensor *a, wick_tensor *b) {
    if (is_real(a)) return real_rest(c, a, b);
    return SUB(cast(c, a, WICK_I64), MUL(integer_quotient(c, a, b, false), b));
}
static wick_tensor *rest_like_divisor(wick_context *c, wick_tensor *a, wick_tensor *b) {
    wick_tensor *rest = rest_like_dividend(c, a, b);
    wick_tensor *other = wick_ne(c, LTN(rest, N(0)), LTN(b, N(0)));
    return WHERE(AND(wick_ne_scalar(c, rest, N(0)), other), ADD(rest, b), rest);
}
static wick_tensor *real_quotient(wick_context *c, wick_tensor *a, wick_tensor *b, bool floored) {
    wick_tensor *q = DIV(a, b), *whole;
    if (!floored) return cut(c, q);
    whole = wick_round(c, DIV(SUB(a, rest_like_divisor(c, a, b)), b));
    return WHERE(EQN(b, N(0)), q, whole);
}
static wick_tensor *quotient(wick_context *c, wick_tensor *a, wick_tensor *b, const wick_value *mode) {
    if (mode->tag == WICK_TAG_NONE) return DIV(a, b);
    bool floored = mode->as.string[0] == 'f';
    return is_real(a) ? real_quotient(c, a, b, floored) : integer_quotient(c, a, b, floored);
}
/* PyTorch rounds the quotient to a reduced dtype before it cuts. */
static wick_tensor *rounded_quotient(wick_context *c, const elementwise *e, const wick_value *mode) {
    if (mode->tag == WICK_TAG_STRING && mode->as.string[0] == 't' && e->wide != e->result && is_real(e->in[0]))
        return cut(c, cast(c, cast(c, DIV(e->in[0], e->in[1]), e->result), e->wide));
    return quotient(c, e->in[0], e->in[1], mode);
}
ELEMENTWISE(div_mode, rounded_quotient(c, &e, &args[2]))
ELEMENTWISE(fmod, rest_like_dividend(c, a, b))
ELEMENTWISE(remainder, rest_like_divisor(c, a, b))

/* ---- exponentials and logarithms ---- */
/* tanh keeps what exp(a) - 1 loses near 0. */
static wick_tensor *expm1_of(wick_context *c, wick_tensor *a) {
    wick_tensor *t = wick_tanh(c, MULN(a, R(0.5)));
    wick_tensor *near = LTN(wick_abs(c, a), R(0.5));
    return WHERE(near, DIV(MULN(t, N(2)), RSUBN(N(1), t)), ADDN(EXP(a), N(-1)));
}
/* Kahan: the rounding of 1 + a cancels. */
static wick_tensor *log1p_of(wick_context *c, wick_tensor *a) {
    wick_tensor *u = ADDN(a, N(1)), *step = ADDN(u, N(-1)), *none = EQN(step, N(0));
    wick_tensor *near = LTN(wick_abs(c, a), R(0.5));
    wick_tensor *safe = WHEREN_(none, N(1), step);
    return WHERE(near, WHERE(none, a, DIV(MUL(LOG(u), a), safe)), LOG(u));
}
static wick_tensor *sigmoid_of(wick_context *c, wick_tensor *a) { return wick_reciprocal(c, ADDN(EXP(NEG(a)), N(1))); }

ELEMENTWISE(rsqrt, wick_reciprocal(c, SQRT(a)))
ELEMENTWISE(exp2, wick_pow_scalar_base(c, N(2), a))
ELEMENTWISE(expm1, expm1_of(c, a))
ELEMENTWISE(log2, MULN(LOG(a), R(1.4426950408889634)))
ELEMENTWISE(log10, MULN(LOG(a), R(0.43429448190325183)))
ELEMENTWISE(log1p, log1p_of(c, a))
ELEMENTWISE(sigmoid, sigmoid_of(c, a))
ELEMENTWISE(sigmoid_backward, MUL(a, wick_conj_physical(c, MUL(RSUBN(N(1), b), b))))
ELEMENTWISE(tanh_backward, MUL(a, wick_conj_physical(c, RSUBN(N(1), MUL(b, b)))))

static wick_tensor *clamp_to(wick_context *c, wick_tensor *a, double low, double high) {
    return WHERE_N(LEN(WHERE_N(GEN(a, R(low)), a, R(low)), R(high)), WHERE_N(GEN(a, R(low)), a, R(low)), R(high));
}
static wick_tensor *logit_of(wick_context *c, wick_tensor *a, const wick_value *eps) {
    double limit = eps->tag == WICK_TAG_NONE ? -1 : wick_value_as_double(eps);
    if (limit >= 0) a = WHERE(wick_isnan(c, a), a, clamp_to(c, a, limit, 1 - limit));
    return LOG(DIV(a, RSUBN(N(1), a)));
}
/* Outside of the range there is no gradient, or with bounds none at all. */
static wick_tensor *logit_gradient(wick_context *c, wick_tensor *g, wick_tensor *a, const wick_value *eps) {
    double limit = eps->tag == WICK_TAG_NONE ? -1 : wick_value_as_double(eps), low = limit < 0 ? 0 : limit;
    wick_tensor *outside = OR(LTN(a, R(low)), GTN(a, R(1 - low)));
    return WHEREN_(outside, R(limit < 0 ? NAN : 0), DIV(g, MUL(a, RSUBN(N(1), a))));
}
ELEMENTWISE(logit, logit_of(c, a, &args[1]))
ELEMENTWISE(logit_backward, logit_gradient(c, a, b, &args[2]))

/* log(exp a + exp b), bases other than e through their logarithm */
static wick_tensor *log_sum(wick_context *c, wick_tensor *a, wick_tensor *b, double unit) {
    wick_tensor *swapped =
        is_complex(a) ? wick_lt(c, wick_real(c, a), wick_real(c, b)) : OR(wick_lt(c, a, b), wick_isnan(c, b));
    wick_tensor *more = WHERE(swapped, b, a), *less = WHERE(swapped, a, b), *same = wick_eq(c, a, b);
    wick_tensor *gap = WHEREN_(same, N(0), SUB(less, more));
    return ADD(more, DIVN(log1p_of(c, EXP(MULN(gap, R(unit)))), R(unit)));
}
ELEMENTWISE(logaddexp, log_sum(c, a, b, 1))
ELEMENTWISE(logaddexp2, log_sum(c, a, b, 0.69314718055994531))

static wick_tensor *x_times(wick_context *c, wick_tensor *a, wick_tensor *b, wick_tensor *factor) {
    return WHERE(wick_isnan(c, b), b, WHEREN_(EQN(a, N(0)), N(0), MUL(a, factor)));
}
ELEMENTWISE(xlogy, x_times(c, a, b, LOG(b)))
ELEMENTWISE(special_xlog1py, x_times(c, a, b, log1p_of(c, b)))
ELEMENTWISE(special_entr, WHEREN_(LTN(a, N(0)), R(-INFINITY), WHEREN_(EQN(a, N(0)), N(0), NEG(MUL(a, LOG(a))))))

/* ---- circular and hyperbolic functions ---- */
static wick_tensor *times_i(wick_context *c, wick_tensor *a, double by) {
    return MULN(a, wick_value_complex((const double[]){0, by}));
}
static wick_tensor *one_minus_square(wick_context *c, wick_tensor *a) { return MUL(RSUBN(N(1), a), ADDN(a, N(1))); }
static wick_tensor *complex_asin(wick_context *c, wick_tensor *a) {
    return times_i(c, LOG(ADD(times_i(c, a, 1), SQRT(one_minus_square(c, a)))), -1);
}
static wick_tensor *complex_atan(wick_context *c, wick_tensor *a) {
    wick_tensor *ia = times_i(c, a, 1);
    return times_i(c, SUB(LOG(RSUBN(N(1), ia)), LOG(ADDN(ia, N(1)))), 0.5);
}
ELEMENTWISE(tan, DIV(wick_sin(c, a), wick_cos(c, a)))
ELEMENTWISE(asin, is_complex(a) ? complex_asin(c, a) : wick_atan2(c, a, SQRT(one_minus_square(c, a))))
ELEMENTWISE(acos, is_complex(a) ? RSUBN(R(1.5707963267948966), complex_asin(c, a))
                                : wick_atan2(c, SQRT(one_minus_square(c, a)), a))
ELEMENTWISE(atan, is_complex(a) ? complex_atan(c, a) : wick_atan2(c, a, wick_ones_like(c, a, NULL)))

/* (e + e / (e + 1)) / 2 with e = exp(a) - 1 keeps what the difference of exponentials loses near 0. */
static wick_tensor *sinh_of(wick_context *c, wick_tensor *a) {
    wick_tensor *m = expm1_of(c, a), *near = LTN(wick_abs(c, a), N(1));
    return MULN(WHERE(near, ADD(m, DIV(m, ADDN(m, N(1)))), SUB(EXP(a), EXP(NEG(a)))), R(0.5));
}
/* An odd function: on the right half nothing cancels in the sum. */
static wick_tensor *complex_asinh(wick_context *c, wick_tensor *a) {
    wick_tensor *left = LTN(wick_real(c, a), N(0)), *right = WHERE(left, NEG(a), a);
    wick_tensor *grown = LOG(ADD(right, SQRT(ADDN(MUL(right, right), N(1)))));
    return WHERE(left, NEG(grown), grown);
}
static wick_tensor *asinh_of(wick_context *c, wick_tensor *a) {
    if (is_complex(a)) return complex_asinh(c, a);
    wick_tensor *m = wick_abs(c, a), *square = MUL(m, m);
    wick_tensor *grown = log1p_of(c, ADD(m, DIV(square, ADDN(SQRT(ADDN(square, N(1))), N(1)))));
    wick_tensor *huge = GTN(m, R(1e9));
    return wick_copysign(c, WHERE(huge, ADDN(LOG(m), R(0.69314718055994531)), grown), a);
}
static wick_tensor *acosh_of(wick_context *c, wick_tensor *a) {
    wick_tensor *t = ADDN(a, N(-1));
    if (is_complex(a)) return LOG(ADD(a, MUL(SQRT(ADDN(a, N(1))), SQRT(t))));
    wick_tensor *huge = GTN(a, R(1e9));
    return WHERE(huge, ADDN(LOG(a), R(0.69314718055994531)), log1p_of(c, ADD(t, SQRT(MUL(t, ADDN(t, N(2)))))));
}
static wick_tensor *atanh_of(wick_context *c, wick_tensor *a) {
    if (is_complex(a)) return MULN(SUB(LOG(ADDN(a, N(1))), LOG(RSUBN(N(1), a))), R(0.5));
    return MULN(log1p_of(c, DIV(MULN(a, N(2)), RSUBN(N(1), a))), R(0.5));
}
ELEMENTWISE(sinh, sinh_of(c, a))
ELEMENTWISE(cosh, MULN(ADD(EXP(a), EXP(NEG(a))), R(0.5)))
ELEMENTWISE(asinh, asinh_of(c, a))
ELEMENTWISE(acosh, acosh_of(c, a))
ELEMENTWISE(atanh, atanh_of(c, a))

static wick_tensor *sinc_of(wick_context *c, wick_tensor *a) {
    wick_tensor *turned = MULN(a, R(3.141592653589793)), *none = EQN(a, N(0));
    return WHEREN_(none, N(1), DIV(wick_sin(c, turned), WHEREN_(none, N(1), turned)));
}
ELEMENTWISE(sinc, sinc_of(c, a))

/* ---- clamping ---- */
static wick_tensor *at_least(wick_context *c, wick_tensor *a, const wick_value *low) {
    return low->tag == WICK_TAG_NONE ? a : wick_maximum(c, a, wrap_number(c, low));
}
static wick_tensor *at_most(wick_context *c, wick_tensor *a, const wick_value *high) {
    return high->tag == WICK_TAG_NONE ? a : wick_minimum(c, a, wrap_number(c, high));
}
ELEMENTWISE(clamp, at_most(c, at_least(c, a, &args[1]), &args[2]))
ELEMENTWISE(clamp_min, at_least(c, a, &args[1]))
ELEMENTWISE(clamp_max, at_most(c, a, &args[1]))
ELEMENTWISE(clamp_min_tensor, wick_maximum(c, a, b))
ELEMENTWISE(clamp_max_tensor, wick_minimum(c, a, b))
static wick_tensor *clamp_between(wick_context *c, wick_tensor *a, wick_tensor *low, wick_tensor *high) {
    if (low) a = wick_maximum(c, a, low);
    return high ? wick_minimum(c, a, high) : a;
}
ELEMENTWISE(clamp_tensor, clamp_between(c, a, b, d))

static double largest_of(wick_dtype d) {
    switch (d) {
    case WICK_F16: return 65504;
    case WICK_BF16: return 0x1.fep127;
    case WICK_F64: return DBL_MAX;
    default: return FLT_MAX;
    }
}
static wick_tensor *without_extremes(wick_context *c, wick_tensor *a, const wick_value *v, wick_dtype d) {
    if (!is_real(a)) return wick_clone(c, a, NULL);
    double most = largest_of(d), replacements[3] = {0, most, -most};
    for (int i = 0; i < 3; ++i)
        if (v[i].tag != WICK_TAG_NONE) replacements[i] = wick_value_as_double(&v[i]);
    wick_tensor *t = WHEREN_(wick_isnan(c, a), R(replacements[0]), a);
    t = WHEREN_(EQN(a, R(INFINITY)), R(replacements[1]), t);
    return WHEREN_(EQN(a, R(-INFINITY)), R(replacements[2]), t);
}
ELEMENTWISE(nan_to_num, without_extremes(c, a, &args[1], e.result))

/* ---- complex numbers ---- */
DECOMPOSE(_conj_physical, wick_conj_physical(c, T(0)))
static wick_tensor *from_parts(wick_context *c, wick_tensor *re, wick_tensor *im) {
    wick_tensor *const *list;
    size_t n = wick_broadcast_tensors(c, (wick_tensor *[]){re, im}, 2, &list);
    return n == 2 ? wick_view_as_complex(c, stack_of(c, list, 2, -1)) : NULL;
}
ELEMENTWISE(complex, from_parts(c, a, b))
ELEMENTWISE(polar, from_parts(c, MUL(a, wick_cos(c, b)), MUL(a, wick_sin(c, b))))
static wick_tensor *angle_of(wick_context *c, wick_tensor *a) {
    if (is_complex(a)) return wick_atan2(c, wick_imag(c, a), wick_real(c, a));
    wick_tensor *t = WHERE_N(wick_ne(c, a, a), a, N(0));
    return WHEREN_(LTN(a, N(0)), R(3.141592653589793), t);
}
ELEMENTWISE(angle, angle_of(c, a))

/* ---- mantissa and exponent: a logarithm that may be one off, then put right ---- */
void compose_frexp(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *self = T(0), *x = cast(c, self, WICK_F64), *size = wick_abs(c, x);
    wick_tensor *plain = NOT(AND(GTN(size, N(0)), LTN(size, R(INFINITY))));
    wick_tensor *e = ADDN(wick_floor(c, wick_log2(c, WHEREN_(plain, N(1), size))), N(1));
    wick_tensor *m = DIV(x, wick_exp2(c, e)), *large = GEN(wick_abs(c, m), N(1)), *small = LTN(wick_abs(c, m), R(0.5));
    m = WHERE(large, MULN(m, R(0.5)), WHERE(small, MULN(m, N(2)), m));
    e = SUB(ADD(e, cast(c, large, WICK_F64)), cast(c, small, WICK_F64));
    rets[0] = V(cast_like(c, WHERE(plain, x, m), self));
    rets[1] = V(cast(c, WHEREN_(plain, N(0), e), WICK_I32));
}
