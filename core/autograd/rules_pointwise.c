/* Gradient rules of pointwise.inc: the chain rule, one line an operator. Reference: PyTorch's derivatives.yaml.
 *
 * For a complex input the gradient is that of the conjugate Wirtinger convention: grad * conj(df/dx). */
#include "../ops/rows.h"
#include "rule.h"

/* ---- a short notation ---- */
#define SELF saved(b, 0)
#define OTHER saved(b, 1)
#define RES result(b, 0)
#define REAL(x) wick_value_float(x)
#define INT(x) wick_value_int(x)
#define MUL(x, y) wick_mul(C, (x), (y))
#define DIV(x, y) wick_div(C, (x), (y))
#define ADD(x, y) wick_add(C, (x), (y), NULL)
#define SUB(x, y) wick_sub(C, (x), (y), NULL)
#define NEG(x) wick_neg(C, (x))
#define MULS(x, s) wick_mul_scalar(C, (x), (s))
#define DIVS(x, s) wick_div_scalar(C, (x), (s))
#define ADDS(x, s) wick_add_scalar(C, (x), (s), NULL)
#define RSUBS(s, x) wick_rsub_scalar(C, (x), (s), NULL) /* s - x */
#define SQUARE(x) wick_pow_scalar(C, (x), INT(2))
#define CONJ(x) conjugate(b, (x))
#define ZERO_WHERE(mask, x) wick_masked_fill(C, (x), (mask), INT(0)) /* x, 0 where mask */

/* grad * conj(factor) for the only input */
#define CHAIN(name, factor) \
    void d_##name(backward_call *b) { set_grad(b, 0, MUL(GRAD, CONJ(factor))); }
/* any expression for argument 0 */
#define RULE(name, expression) \
    void d_##name(backward_call *b) { set_grad(b, 0, (expression)); }
/* one expression for each of two inputs */
#define RULE2(name, for_0, for_1)               \
    void d_##name(backward_call *b) {           \
        if (needs(b, 0)) set_grad(b, 0, for_0); \
        if (needs(b, 1)) set_grad(b, 1, for_1); \
    }

/* ---- one input ---- */
RULE(zero, wick_zeros_like(C, GRAD, NULL))
RULE(pass, GRAD)
RULE(neg, NEG(GRAD))
RULE(conj, wick_conj(C, GRAD))
RULE(abs, MUL(GRAD, wick_sgn(C, SELF)))
CHAIN(reciprocal, NEG(SQUARE(RES)))
RULE(sqrt, DIV(GRAD, MULS(CONJ(RES), INT(2))))
CHAIN(rsqrt, MULS(wick_pow_scalar(C, RES, INT(3)), REAL(-0.5)))
CHAIN(exp, RES)
CHAIN(exp2, MULS(RES, REAL(0.693147180559945309417)))
CHAIN(expm1, ADDS(RES, INT(1)))
RULE(log, DIV(GRAD, CONJ(SELF)))
RULE(log2, DIV(GRAD, MULS(CONJ(SELF), REAL(0.693147180559945309417))))
RULE(log10, DIV(GRAD, MULS(CONJ(SELF), REAL(2.302585092994045684018))))
RULE(log1p, DIV(GRAD, CONJ(ADDS(SELF, INT(1)))))
CHAIN(sin, wick_cos(C, SELF))
CHAIN(cos, NEG(wick_sin(C, SELF)))
CHAIN(tan, ADDS(SQUARE(RES), INT(1)))
CHAIN(asin, wick_rsqrt(C, RSUBS(INT(1), SQUARE(SELF))))
CHAIN(acos, NEG(wick_rsqrt(C, RSUBS(INT(1), SQUARE(SELF)))))
RULE(atan, DIV(GRAD, CONJ(ADDS(SQUARE(SELF), INT(1)))))
CHAIN(sinh, wick_cosh(C, SELF))
CHAIN(cosh, wick_sinh(C, SELF))
RULE(tanh, wick_tanh_backward(C, GRAD, RES))
CHAIN(asinh, wick_rsqrt(C, ADDS(SQUARE(SELF), INT(1))))
CHAIN(acosh, MUL(wick_rsqrt(C, ADDS(SELF, INT(-1))), wick_rsqrt(C, ADDS(SELF, INT(1)))))
CHAIN(atanh, wick_reciprocal(C, RSUBS(INT(1), SQUARE(SELF))))
RULE(sigmoid, wick_sigmoid_backward(C, GRAD, RES))
RULE(deg2rad, MULS(GRAD, REAL(0.017453292519943295769)))
RULE(rad2deg, MULS(GRAD, REAL(57.29577951308232087680)))
RULE(nan_to_num, ZERO_WHERE(wick_logical_not(C, wick_isfinite(C, SELF)), GRAD))

/* sgn: 0 for real numbers; for complex ones the part of grad at right angles to the result, over |self| */
void d_sgn(backward_call *b) {
    if (!wick_dtype_is_complex(wick_tensor_dtype(GRAD))) {
        set_grad(b, 0, wick_zeros_like(C, GRAD, NULL));
        return;
    }
    wick_tensor *sgn = RES, *size = wick_abs(C, SELF);
    wick_tensor *along = MUL(sgn, wick_real(C, MUL(GRAD, wick_conj(C, sgn))));
    set_grad(b, 0, ZERO_WHERE(wick_eq_scalar(C, size, INT(0)), DIV(SUB(GRAD, along), size)));
}

/* sinc(x) = sin(pi x) / (pi x) */
void d_sinc(backward_call *b) {
    wick_tensor *pi_x = MULS(SELF, REAL(3.14159265358979323846));
    wick_tensor *slope = DIV(SUB(MUL(pi_x, wick_cos(C, pi_x)), wick_sin(C, pi_x)), MUL(pi_x, SELF));
    wick_tensor *out = MUL(GRAD, CONJ(slope));
    set_grad(b, 0, ZERO_WHERE(wick_eq_scalar(C, SELF, INT(0)), out));
}

void d_logit(backward_call *b) {
    if (arg_none(b, 1)) {
        set_grad(b, 0, DIV(GRAD, MUL(SELF, RSUBS(INT(1), SELF))));
        return;
    }
    wick_tensor *outside =
        wick_logical_or(C, wick_lt_scalar(C, SELF, *arg(b, 1)), wick_gt_scalar(C, SELF, REAL(1 - arg_float(b, 1))));
    set_grad(b, 0, ZERO_WHERE(outside, DIV(GRAD, MUL(SELF, RSUBS(INT(1), SELF)))));
}

/* ---- special functions ---- */
#define TWO_OVER_SQRT_PI 1.12837916709551257390
#define HALF_SQRT_PI 0.88622692545275801365
#define HALF_SQRT_TWO_PI 1.25331413731550025121
CHAIN(erf, MULS(wick_exp(C, NEG(SQUARE(SELF))), REAL(TWO_OVER_SQRT_PI)))
CHAIN(erfc, MULS(wick_exp(C, NEG(SQUARE(SELF))), REAL(-TWO_OVER_SQRT_PI)))
CHAIN(erfinv, MULS(wick_exp(C, SQUARE(RES)), REAL(HALF_SQRT_PI)))
CHAIN(lgamma, wick_digamma(C, SELF))
CHAIN(digamma, wick_polygamma(C, 1, SELF))
CHAIN(i0, wick_special_i1(C, SELF))
CHAIN(special_i0e, SUB(wick_special_i1e(C, SELF), MUL(wick_sgn(C, SELF), RES)))
CHAIN(special_erfcx, ADDS(MULS(MUL(SELF, RES), INT(2)), REAL(-TWO_OVER_SQRT_PI)))
CHAIN(special_entr, RSUBS(INT(-1), wick_log(C, SELF)))
CHAIN(special_ndtri, MULS(wick_exp(C, DIVS(SQUARE(RES), INT(2))), REAL(2 * HALF_SQRT_TWO_PI)))
RULE(special_log_ndtr,
     DIVS(DIV(GRAD, wick_special_erfcx(C, MULS(SELF, REAL(-0.70710678118654752440)))), REAL(HALF_SQRT_TWO_PI)))

void d_polygamma(backward_call *b) { set_grad(b, 1, MUL(GRAD, wick_polygamma(C, arg_int(b, 0) + 1, saved(b, 1)))); }

/* I1' = I0 - I1 / x, at 0: 1/2 */
static wick_tensor *bessel_slope(backward_call *b, wick_tensor *x, wick_tensor *value, wick_tensor *i0) {
    wick_tensor *near = wick_le_scalar(C, wick_abs(C, x), REAL(x->dtype == WICK_F64 ? 2.2e-16 : 1.19e-7));
    wick_tensor *safe = wick_where_scalar_self(C, near, INT(1), x);
    wick_tensor *slope = SUB(i0, DIV(value, safe));
    return wick_where_scalar_self(C, near, REAL(0.5), slope);
}
RULE(special_i1, MUL(GRAD, bessel_slope(b, SELF, RES, wick_i0(C, SELF))))
RULE(special_i1e, MUL(GRAD, SUB(bessel_slope(b, SELF, RES, wick_special_i0e(C, SELF)), MUL(wick_sgn(C, SELF), RES))))

/* d/dx P(a, x) = x^(a-1) e^-x / Gamma(a) */
static wick_tensor *gamma_density(backward_call *b) {
    wick_tensor *a = SELF, *x = OTHER;
    wick_tensor *log_density = SUB(SUB(MUL(ADDS(a, INT(-1)), wick_log(C, x)), x), wick_lgamma(C, a));
    return wick_exp(C, log_density);
}
static void no_derivative(backward_call *b, int argument) {
    if (needs(b, argument))
        FAIL(ctx(C), UNSUPPORTED, "the derivative for '%s' of %s is not implemented", b->node->op->args[argument].name,
             b->node->op->name);
}
void d_igamma(backward_call *b) {
    no_derivative(b, 0);
    if (needs(b, 1)) set_grad(b, 1, MUL(GRAD, gamma_density(b)));
}
void d_igammac(backward_call *b) {
    no_derivative(b, 0);
    if (needs(b, 1)) set_grad(b, 1, NEG(MUL(GRAD, gamma_density(b))));
}
void d_special_zeta(backward_call *b) {
    no_derivative(b, 0);
    if (needs(b, 1)) set_grad(b, 1, MUL(GRAD, MUL(NEG(SELF), wick_special_zeta(C, ADDS(SELF, INT(1)), OTHER))));
}

/* ---- arithmetic of two ---- */
/* grad * conj(s) for a real or complex number s; alpha == 1 costs nothing. */
static wick_tensor *times_number(backward_call *b, wick_tensor *grad, const wick_value *s) {
    if (s->tag != WICK_TAG_C128 && wick_value_as_double(s) == 1.0) return grad;
    double parts[2];
    if (s->tag != WICK_TAG_C128) return MULS(grad, *s);
    parts[0] = s->as.c[0];
    parts[1] = -s->as.c[1];
    return MULS(grad, wick_value_complex(parts));
}
RULE2(add, GRAD, times_number(b, GRAD, arg(b, 2)))
RULE2(sub, GRAD, NEG(times_number(b, GRAD, arg(b, 2))))
RULE2(rsub, NEG(times_number(b, GRAD, arg(b, 2))), GRAD)
RULE2(mul, MUL(GRAD, CONJ(OTHER)), MUL(GRAD, CONJ(SELF)))
RULE2(div, DIV(GRAD, CONJ(OTHER)), NEG(MUL(GRAD, CONJ(DIV(DIV(SELF, OTHER), OTHER)))))
RULE2(remainder, GRAD, NEG(MUL(GRAD, wick_div_mode(C, SELF, OTHER, "floor"))))
RULE2(fmod, GRAD, NEG(MUL(GRAD, wick_div_mode(C, SELF, OTHER, "trunc"))))

void d_div_mode(backward_call *b) {
    if (arg_none(b, 2)) {
        d_div(b);
        return;
    }
    if (needs(b, 0)) set_grad(b, 0, wick_zeros_like(C, GRAD, NULL));
    if (needs(b, 1)) set_grad(b, 1, wick_zeros_like(C, GRAD, NULL));
}

/* exponent * self^(exponent - 1), 0 where the exponent is 0 */
void d_pow_scalar(backward_call *b) {
    const wick_value *e = arg(b, 1);
    double minus_one[2];
    if (e->tag != WICK_TAG_C128 && wick_value_as_double(e) == 0) {
        set_grad(b, 0, wick_zeros_like(C, GRAD, NULL));
        return;
    }
    wick_value less = e->tag == WICK_TAG_F64 ? REAL(e->as.f - 1) : INT(e->as.i - 1);
    if (e->tag == WICK_TAG_C128) {
        minus_one[0] = e->as.c[0] - 1, minus_one[1] = e->as.c[1];
        less = wick_value_complex(minus_one);
    }
    set_grad(b, 0, MUL(GRAD, CONJ(MULS(wick_pow_scalar(C, SELF, less), *e))));
}

/* self^exponent * log self, 0 where self is 0 and the exponent is not negative */
static wick_tensor *pow_for_exponent(backward_call *b) {
    wick_tensor *zero_base = wick_logical_and(C, wick_eq_scalar(C, SELF, INT(0)),
                                              wick_dtype_is_complex(wick_tensor_dtype(OTHER))
                                                  ? wick_ge_scalar(C, wick_real(C, OTHER), INT(0))
                                                  : wick_ge_scalar(C, OTHER, INT(0)));
    return ZERO_WHERE(zero_base, MUL(GRAD, CONJ(MUL(RES, wick_log(C, SELF)))));
}
static wick_tensor *pow_for_base(backward_call *b) {
    wick_tensor *slope = MUL(OTHER, wick_pow(C, SELF, ADDS(OTHER, INT(-1))));
    return ZERO_WHERE(wick_eq_scalar(C, OTHER, INT(0)), MUL(GRAD, CONJ(slope)));
}
RULE2(pow, pow_for_base(b), pow_for_exponent(b))

/* x * log y, 0 where x is 0 and y is not NaN */
RULE2(xlogy,
      ZERO_WHERE(wick_logical_and(C, wick_eq_scalar(C, saved(b, 0), INT(0)), wick_le_scalar(C, OTHER, INT(0))),
                 MUL(GRAD, wick_log(C, OTHER))),
      DIV(MUL(GRAD, SELF), OTHER))
RULE2(special_xlog1py,
      ZERO_WHERE(wick_logical_and(C, wick_eq_scalar(C, saved(b, 0), INT(0)), wick_le_scalar(C, OTHER, INT(-1))),
                 MUL(GRAD, wick_log1p(C, OTHER))),
      DIV(MUL(GRAD, SELF), ADDS(OTHER, INT(1))))

static wick_tensor *over_square_sum(backward_call *b, wick_tensor *x) {
    wick_tensor *sum = ADD(SQUARE(SELF), SQUARE(OTHER));
    return ZERO_WHERE(wick_eq_scalar(C, sum, INT(0)), DIV(MUL(GRAD, x), sum));
}
RULE2(atan2, over_square_sum(b, OTHER), over_square_sum(b, NEG(SELF)))
RULE2(hypot, MUL(GRAD, DIV(SELF, RES)), MUL(GRAD, DIV(OTHER, RES)))
RULE2(logaddexp, MUL(GRAD, CONJ(wick_exp(C, SUB(SELF, RES)))), MUL(GRAD, CONJ(wick_exp(C, SUB(OTHER, RES)))))
RULE2(logaddexp2, MUL(GRAD, wick_exp2(C, SUB(SELF, RES))), MUL(GRAD, wick_exp2(C, SUB(OTHER, RES))))

/* result has other's sign: the slope is +1 or -1, and 0 at 0 */
static wick_tensor *copysign_for_self(backward_call *b) {
    wick_tensor *zero = wick_eq_scalar(C, SELF, INT(0));
    return MUL(GRAD, ZERO_WHERE(zero, DIV(RES, SELF)));
}
RULE2(copysign, copysign_for_self(b), wick_zeros_like(C, GRAD, NULL))

/* Ties share the gradient. */
static wick_tensor *half_where_equal(backward_call *b, wick_tensor *equal) {
    return wick_where(C, equal, DIVS(GRAD, INT(2)), GRAD);
}
#define EQUAL wick_eq(C, SELF, OTHER)
RULE2(maximum, ZERO_WHERE(wick_lt(C, SELF, OTHER), half_where_equal(b, EQUAL)),
      ZERO_WHERE(wick_gt(C, SELF, OTHER), half_where_equal(b, EQUAL)))
RULE2(minimum, ZERO_WHERE(wick_gt(C, SELF, OTHER), half_where_equal(b, EQUAL)),
      ZERO_WHERE(wick_lt(C, SELF, OTHER), half_where_equal(b, EQUAL)))
/* fmax takes self where self >= other or other is NaN */
static wick_tensor *takes_self(backward_call *b, wick_tensor *order) {
    return wick_logical_or(C, order, wick_isnan(C, OTHER));
}
#define TAKES_MAX takes_self(b, wick_ge(C, SELF, OTHER))
#define TAKES_MIN takes_self(b, wick_le(C, SELF, OTHER))
RULE2(fmax, ZERO_WHERE(wick_logical_not(C, TAKES_MAX), GRAD), ZERO_WHERE(TAKES_MAX, GRAD))
RULE2(fmin, ZERO_WHERE(wick_logical_not(C, TAKES_MIN), GRAD), ZERO_WHERE(TAKES_MIN, GRAD))

void d_frexp(backward_call *b) {
    set_grad(b, 0, DIV(GRAD, wick_exp2(C, wick_to_dtype(C, result(b, 1), wick_tensor_dtype(GRAD), NULL))));
}

/* ---- complex numbers ---- */
RULE2(complex, wick_real(C, GRAD), wick_imag(C, GRAD))

void d_angle(backward_call *b) {
    wick_tensor *z = SELF;
    if (!wick_dtype_is_complex(wick_tensor_dtype(z))) {
        set_grad(b, 0,
                 wick_where_scalar_self(C, wick_isnan(C, z), REAL(__builtin_nan("")), wick_zeros_like(C, GRAD, NULL)));
        return;
    }
    wick_tensor *size2 = SQUARE(wick_abs(C, z)), *none = wick_eq_scalar(C, size2, INT(0));
    wick_tensor *re = DIV(NEG(wick_imag(C, z)), size2), *im = DIV(wick_real(C, z), size2);
    set_grad(b, 0, ZERO_WHERE(none, wick_complex(C, MUL(GRAD, re), MUL(GRAD, im))));
}

/* abs * e^(i angle) */
void d_polar(backward_call *b) {
    wick_tensor *g = wick_conj(C, GRAD), *z = RES;
    static const double i[2] = {0, 1};
    if (needs(b, 0)) set_grad(b, 0, wick_real(C, MUL(g, wick_sgn(C, z))));
    if (needs(b, 1)) set_grad(b, 1, wick_real(C, MUL(g, MULS(z, wick_value_complex(i)))));
}

/* ---- selection and clamping ---- */
void d_where(backward_call *b) {
    wick_tensor *condition = saved(b, 0);
    if (needs(b, 1)) set_grad(b, 1, wick_where_scalar_other(C, condition, GRAD, INT(0)));
    if (needs(b, 2)) set_grad(b, 2, wick_where_scalar_self(C, condition, INT(0), GRAD));
}
void d_masked_fill_scalar(backward_call *b) { set_grad(b, 0, ZERO_WHERE(saved(b, 1), GRAD)); }
void d_masked_fill(backward_call *b) {
    if (needs(b, 0)) set_grad(b, 0, ZERO_WHERE(saved(b, 1), GRAD));
    if (needs(b, 2)) set_grad(b, 2, wick_sum(C, wick_where_scalar_other(C, saved(b, 1), GRAD, INT(0)), NULL));
}

/* Zero outside [low, high]; None bounds nothing. */
static wick_tensor *within(backward_call *b, const wick_value *low, const wick_value *high) {
    wick_tensor *out = GRAD;
    if (low && low->tag) out = ZERO_WHERE(wick_lt_scalar(C, SELF, *low), out);
    if (high && high->tag) out = ZERO_WHERE(wick_gt_scalar(C, SELF, *high), out);
    return out;
}
RULE(clamp, within(b, arg(b, 1), arg(b, 2)))
RULE(clamp_min, within(b, arg(b, 1), NULL))
RULE(clamp_max, within(b, NULL, arg(b, 1)))
RULE2(clamp_min_tensor, ZERO_WHERE(wick_lt(C, SELF, OTHER), GRAD), ZERO_WHERE(wick_ge(C, SELF, OTHER), GRAD))
RULE2(clamp_max_tensor, ZERO_WHERE(wick_gt(C, SELF, OTHER), GRAD), ZERO_WHERE(wick_le(C, SELF, OTHER), GRAD))

/* min(max(self, low), high) */
void d_clamp_tensor(backward_call *b) {
    wick_tensor *x = SELF, *low = saved(b, 1), *high = saved(b, 2),
                *crossed = low && high ? wick_gt(C, low, high) : NULL;
    wick_tensor *below = low ? wick_lt(C, x, low) : NULL, *above = high ? wick_gt(C, x, high) : NULL;
    if (needs(b, 0)) {
        wick_tensor *g = GRAD;
        if (below) g = ZERO_WHERE(below, g);
        if (above) g = ZERO_WHERE(above, g);
        set_grad(b, 0, g);
    }
    if (needs(b, 1)) {
        wick_tensor *g = ZERO_WHERE(wick_logical_not(C, below), GRAD);
        set_grad(b, 1, crossed ? ZERO_WHERE(wick_ge(C, low, high), g) : g);
    }
    if (needs(b, 2)) {
        wick_tensor *takes = crossed ? wick_logical_or(C, above, crossed) : above;
        set_grad(b, 2, ZERO_WHERE(wick_logical_not(C, takes), GRAD));
    }
}

/* self + weight * (end - self) */
void d_lerp(backward_call *b) {
    wick_tensor *weight = saved(b, 2);
    if (needs(b, 0)) set_grad(b, 0, MUL(GRAD, CONJ(RSUBS(INT(1), weight))));
    if (needs(b, 1)) set_grad(b, 1, MUL(GRAD, CONJ(weight)));
    if (needs(b, 2)) set_grad(b, 2, MUL(GRAD, CONJ(SUB(saved(b, 1), saved(b, 0)))));
}
void d_lerp_scalar(backward_call *b) {
    const wick_value *w = arg(b, 2);
    double rest[2] = {1 - wick_value_as_double(w), w->tag == WICK_TAG_C128 ? -w->as.c[1] : 0};
    wick_value one_minus = w->tag == WICK_TAG_C128 ? wick_value_complex(rest) : REAL(rest[0]);
    if (needs(b, 0)) set_grad(b, 0, times_number(b, GRAD, &one_minus));
    if (needs(b, 1)) set_grad(b, 1, times_number(b, GRAD, w));
}
void d_addcmul(backward_call *b) {
    if (needs(b, 0)) set_grad(b, 0, GRAD);
    if (needs(b, 1)) set_grad(b, 1, MUL(times_number(b, GRAD, arg(b, 3)), CONJ(saved(b, 2))));
    if (needs(b, 2)) set_grad(b, 2, MUL(times_number(b, GRAD, arg(b, 3)), CONJ(saved(b, 1))));
}
void d_addcdiv(backward_call *b) {
    wick_tensor *scaled = needs(b, 1) || needs(b, 2) ? times_number(b, GRAD, arg(b, 3)) : NULL;
    if (needs(b, 0)) set_grad(b, 0, GRAD);
    if (needs(b, 1)) set_grad(b, 1, DIV(scaled, CONJ(saved(b, 2))));
    if (needs(b, 2)) set_grad(b, 2, NEG(MUL(scaled, CONJ(DIV(saved(b, 1), SQUARE(saved(b, 2)))))));
}

/* ---- backward operators of elementary functions: their own gradients ---- */
/* grad * y (1 - y) */
RULE2(sigmoid_backward, MUL(GRAD, CONJ(MUL(OTHER, RSUBS(INT(1), OTHER)))),
      MUL(GRAD, CONJ(MUL(SELF, RSUBS(INT(1), MULS(OTHER, INT(2)))))))
/* grad * (1 - y^2) */
RULE2(tanh_backward, MUL(GRAD, CONJ(RSUBS(INT(1), SQUARE(OTHER)))), MUL(GRAD, CONJ(MULS(MUL(SELF, OTHER), INT(-2)))))
