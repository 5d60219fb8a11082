/* Gradient rules of the activations in pointwise.inc and of their backward operators (second order). */
#include "../ops/rows.h"
#include "rule.h"

#define SELF saved(b, 0)
#define REAL(x) wick_value_float(x)
#define INT(x) wick_value_int(x)
#define MUL(x, y) wick_mul(C, (x), (y))
#define ADD(x, y) wick_add(C, (x), (y), NULL)
#define SUB(x, y) wick_sub(C, (x), (y), NULL)
#define MULS(x, s) wick_mul_scalar(C, (x), (s))
#define ADDS(x, s) wick_add_scalar(C, (x), (s), NULL)
#define RSUBS(s, x) wick_rsub_scalar(C, (x), (s), NULL) /* s - x */
#define RULE(name, expression) \
    void d_##name(backward_call *b) { set_grad(b, 0, (expression)); }
#define RULE2(name, first, for_first, second, for_second)      \
    void d_##name(backward_call *b) {                          \
        if (needs(b, first)) set_grad(b, first, for_first);    \
        if (needs(b, second)) set_grad(b, second, for_second); \
    }

static wick_tensor *zeros(backward_call *b) { return wick_zeros_like(C, GRAD, NULL); }
static const char *approximate(backward_call *b, int i) { return arg(b, i)->as.string; }

/* ---- first order ---- */
RULE(relu, wick_threshold_backward(C, GRAD, result(b, 0), INT(0)))
RULE(threshold, wick_threshold_backward(C, GRAD, SELF, *arg(b, 1)))
RULE(leaky_relu, wick_leaky_relu_backward(C, GRAD, SELF, *arg(b, 1), false))
RULE(silu, wick_silu_backward(C, GRAD, SELF))
RULE(mish, wick_mish_backward(C, GRAD, SELF))
RULE(hardtanh, wick_hardtanh_backward(C, GRAD, SELF, *arg(b, 1), *arg(b, 2)))
RULE(hardswish, wick_hardswish_backward(C, GRAD, SELF))
RULE(hardsigmoid, wick_hardsigmoid_backward(C, GRAD, SELF))
RULE(hardshrink, wick_hardshrink_backward(C, GRAD, SELF, *arg(b, 1)))
RULE(softshrink, wick_softshrink_backward(C, GRAD, SELF, *arg(b, 1)))
RULE(softplus, wick_softplus_backward(C, GRAD, SELF, *arg(b, 1), *arg(b, 2)))
RULE(glu, wick_glu_backward(C, GRAD, SELF, arg_int(b, 1)))
RULE(log_sigmoid, wick_log_sigmoid_backward(C, GRAD, SELF, result(b, 1)))

static wick_tensor *gelu_slope(backward_call *b, wick_tensor *grad, wick_tensor *x, int mode) {
    wick_gelu_backward_options o = WICK_GELU_BACKWARD_OPTIONS_INIT;
    o.approximate = approximate(b, mode);
    return wick_gelu_backward(C, grad, x, &o);
}
RULE(gelu, gelu_slope(b, GRAD, SELF, 1))

/* In place the input is gone, and the result (for alpha >= 0) says as much. */
void d_elu(backward_call *b) {
    bool inplace = b->node->op->variant == VARIANT_INPLACE;
    if (inplace && arg_float(b, 1) < 0) {
        FAIL(ctx(C), FAILED_PRECONDITION,
             "In-place elu backward calculation is triggered with a negative slope which is not "
             "supported. This is caused by calling in-place forward function with a negative "
             "slope, please call out-of-place version instead.");
        return;
    }
    wick_tensor *x = inplace ? result(b, 0) : SELF;
    set_grad(b, 0, wick_elu_backward(C, GRAD, *arg(b, 1), *arg(b, 2), *arg(b, 3), inplace, x));
}

/* celu(x) = elu(x; alpha, 1, 1/alpha) */
void d_celu(backward_call *b) {
    set_grad(b, 0, wick_elu_backward(C, GRAD, *arg(b, 1), INT(1), REAL(1 / arg_float(b, 1)), false, SELF));
}

void d_prelu(backward_call *b) {
    wick_tensor *for_weight, *for_self = wick__prelu_kernel_backward(C, GRAD, saved(b, 0), saved(b, 1), &for_weight);
    if (needs(b, 0)) set_grad(b, 0, for_self);
    if (needs(b, 1)) set_grad(b, 1, for_weight);
}

/* ---- second order: piecewise linear ones depend on their input only through a mask ---- */
RULE2(threshold_backward, 0, wick_threshold_backward(C, GRAD, saved(b, 1), *arg(b, 2)), 1, zeros(b))
RULE2(leaky_relu_backward, 0, wick_leaky_relu_backward(C, GRAD, saved(b, 1), *arg(b, 2), arg_bool(b, 3)), 1, zeros(b))
RULE2(hardtanh_backward, 0, wick_hardtanh_backward(C, GRAD, saved(b, 1), *arg(b, 2), *arg(b, 3)), 1, zeros(b))
RULE2(hardsigmoid_backward, 0, wick_hardsigmoid_backward(C, GRAD, saved(b, 1)), 1, zeros(b))
RULE2(shrink_backward, 0, wick_hardshrink_backward(C, GRAD, saved(b, 1), *arg(b, 2)), 1, zeros(b))

/* hardswish' = x / 3 + 1/2 on (-3, 3): its slope there is 1/3 */
static wick_tensor *hardswish_curve(backward_call *b) {
    wick_tensor *x = saved(b, 1);
    wick_tensor *inside = wick_logical_and(C, wick_gt_scalar(C, x, INT(-3)), wick_lt_scalar(C, x, INT(3)));
    return wick_where_scalar_other(C, inside, wick_div_scalar(C, MUL(GRAD, saved(b, 0)), INT(3)), INT(0));
}
RULE2(hardswish_backward, 0, wick_hardswish_backward(C, GRAD, saved(b, 1)), 1, hardswish_curve(b))

/* softplus'' = beta s (1 - s) with s = sigmoid(beta x), 0 past the threshold */
static wick_tensor *softplus_curve(backward_call *b) {
    wick_tensor *z = MULS(saved(b, 1), *arg(b, 2)), *s = wick_sigmoid(C, z);
    wick_tensor *curve = MULS(MUL(s, RSUBS(INT(1), s)), *arg(b, 2));
    wick_tensor *linear = wick_gt_scalar(C, z, *arg(b, 3));
    return wick_masked_fill(C, MUL(MUL(GRAD, saved(b, 0)), curve), linear, INT(0));
}
RULE2(softplus_backward, 0, wick_softplus_backward(C, GRAD, saved(b, 1), *arg(b, 2), *arg(b, 3)), 1, softplus_curve(b))

/* silu'' = s (1 - s) (2 + x (1 - 2 s)) */
static wick_tensor *silu_curve(backward_call *b) {
    wick_tensor *x = saved(b, 1), *s = wick_sigmoid(C, x);
    wick_tensor *inner = ADDS(MUL(x, RSUBS(INT(1), MULS(s, INT(2)))), INT(2));
    return MUL(MUL(GRAD, saved(b, 0)), MUL(MUL(s, RSUBS(INT(1), s)), inner));
}
RULE2(silu_backward, 0, wick_silu_backward(C, GRAD, saved(b, 1)), 1, silu_curve(b))

/* mish' = t + x s (1 - t^2), t = tanh(softplus x), s = sigmoid x; its own slope by the product rule */
static wick_tensor *mish_curve(backward_call *b) {
    wick_tensor *x = saved(b, 1), *s = wick_sigmoid(C, x), *t = wick_tanh(C, wick_softplus(C, x, NULL));
    wick_tensor *u = RSUBS(INT(1), MUL(t, t)); /* 1 - t^2 */
    wick_tensor *bracket = SUB(RSUBS(INT(1), s), MULS(MUL(t, s), INT(2)));
    wick_tensor *curve = MUL(MUL(s, u), ADDS(MUL(x, bracket), INT(2)));
    return MUL(MUL(GRAD, saved(b, 0)), curve);
}
RULE2(mish_backward, 0, wick_mish_backward(C, GRAD, saved(b, 1)), 1, mish_curve(b))

/* gelu'' exact: phi(x) (2 - x^2); tanh form by the product rule */
static wick_tensor *gelu_curve(backward_call *b) {
    wick_tensor *x = saved(b, 1), *x2 = MUL(x, x), *curve;
    if (approximate(b, 2)[0] == 'n') {
        wick_tensor *phi = MULS(wick_exp(C, MULS(x2, REAL(-0.5))), REAL(0.39894228040143267794));
        curve = MUL(phi, RSUBS(INT(2), x2));
    } else {
        const double k = 0.79788456080286535588, a = 0.044715;
        wick_tensor *t = wick_tanh(C, MULS(MUL(x, ADDS(MULS(x2, REAL(a)), INT(1))), REAL(k)));
        wick_tensor *du = MULS(ADDS(MULS(x2, REAL(3 * a)), INT(1)), REAL(k)); /* slope of the argument */
        wick_tensor *u = RSUBS(INT(1), MUL(t, t));
        wick_tensor *inner = SUB(ADD(du, MULS(x2, REAL(3 * a * k))), MUL(MUL(x, t), MUL(du, du)));
        curve = MUL(u, inner);
    }
    return MUL(MUL(GRAD, saved(b, 0)), curve);
}
RULE2(gelu_backward, 0, gelu_slope(b, GRAD, saved(b, 1), 2), 1, gelu_curve(b))

/* elu' = alpha scale input_scale e^(input_scale x) below 0: its slope is that times input_scale (or, from the result y,
 * input_scale (y + alpha scale): slope input_scale) */
void d_elu_backward(backward_call *b) {
    wick_tensor *x = saved(b, 5);
    const wick_value *alpha = arg(b, 1), *scale = arg(b, 2), *input_scale = arg(b, 3);
    bool is_result = arg_bool(b, 4);
    if (needs(b, 0)) set_grad(b, 0, wick_elu_backward(C, GRAD, *alpha, *scale, *input_scale, is_result, x));
    if (!needs(b, 5)) return;
    double k = arg_float(b, 3), factor = is_result ? k : k * k * arg_float(b, 1) * arg_float(b, 2);
    wick_tensor *g = MULS(MUL(GRAD, saved(b, 0)), REAL(factor));
    if (!is_result) g = MUL(g, wick_exp(C, MULS(x, *input_scale)));
    set_grad(b, 5, wick_masked_fill(C, g, wick_gt_scalar(C, x, INT(0)), INT(0)));
}

/* log sigmoid' = 1 - s: slope -s (1 - s) */
void d_log_sigmoid_backward(backward_call *b) {
    wick_tensor *x = saved(b, 1), *s = wick_sigmoid(C, x);
    if (needs(b, 0)) set_grad(b, 0, wick_log_sigmoid_backward(C, GRAD, x, saved(b, 2)));
    if (needs(b, 1)) set_grad(b, 1, wick_neg(C, MUL(MUL(GRAD, saved(b, 0)), MUL(s, RSUBS(INT(1), s)))));
}

void d_prelu_backward(backward_call *b) {
    wick_tensor *g = saved(b, 0), *x = saved(b, 1), *w = saved(b, 2), *gs = b->gout[0], *gw = b->gout[1];
    wick_tensor *positive = wick_gt_scalar(C, x, INT(0));
    if (needs(b, 0)) set_grad(b, 0, wick_where(C, positive, gs, ADD(MUL(gs, w), MUL(gw, x))));
    if (needs(b, 1)) set_grad(b, 1, wick_masked_fill(C, MUL(gw, g), positive, INT(0)));
    if (needs(b, 2)) set_grad(b, 2, wick_masked_fill(C, MUL(gs, g), positive, INT(0)));
}
