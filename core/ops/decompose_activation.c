/* Activations and their backward operators in terms of simpler elementwise operators. */
#include "decompose.h"
#include "rows.h"

#define N(x) NUMBER(x)
#define R(x) REAL(x)

static double number(const wick_value *v) { return wick_value_as_double(v); }
static wick_tensor *exp_of_scaled(wick_context *c, wick_tensor *a, double by) { return EXP(MULN(a, R(by))); }
static wick_tensor *sigmoid(wick_context *c, wick_tensor *a) { return wick_sigmoid(c, a); }

/* ---- linear pieces ---- */
ELEMENTWISE(relu, WHEREN_(LTN(a, N(0)), N(0), a))
ELEMENTWISE(threshold, WHEREN_(LEN(a, args[1]), args[2], a))
ELEMENTWISE(threshold_backward, WHEREN_(LEN(b, args[2]), N(0), a))
ELEMENTWISE(leaky_relu, WHERE(GTN(a, N(0)), a, MULN(a, args[1])))
ELEMENTWISE(leaky_relu_backward, WHERE(GTN(b, N(0)), a, MULN(a, args[2])))
ELEMENTWISE(_prelu_kernel, WHERE(GTN(a, N(0)), a, MUL(b, a)))
ELEMENTWISE(hardtanh, WHEREN_(LTN(a, args[1]), args[1], WHEREN_(GTN(a, args[2]), args[2], a)))
ELEMENTWISE(hardtanh_backward, WHEREN_(OR(LEN(b, args[2]), GEN(b, args[3])), N(0), a))

static wick_tensor *hard_gate(wick_context *c, wick_tensor *a) { /* relu6(a + 3) */
    return WHEREN_(LTN(a, N(-3)), N(0), WHEREN_(GTN(a, N(3)), N(6), ADDN(a, N(3))));
}
ELEMENTWISE(hardsigmoid, DIVN(hard_gate(c, a), N(6)))
ELEMENTWISE(hardsigmoid_backward, WHERE_N(AND(GTN(b, N(-3)), LTN(b, N(3))), MULN(a, R(1.0 / 6)), N(0)))
ELEMENTWISE(hardswish, DIVN(MUL(a, hard_gate(c, a)), N(6)))
ELEMENTWISE(hardswish_backward,
            WHEREN_(LEN(b, N(-3)), N(0), WHERE(LTN(b, N(3)), MUL(a, ADDN(DIVN(b, N(3)), R(0.5))), a)))

static wick_tensor *is_inside(wick_context *c, wick_tensor *a, double limit) {
    return AND(GEN(a, R(-limit)), LEN(a, R(limit)));
}
static wick_tensor *soft_shrink(wick_context *c, wick_tensor *a, double limit) {
    wick_tensor *low = WHERE(LTN(a, R(-limit)), ADDN(a, R(limit)), MULN(a, N(0)));
    return WHERE(GTN(a, R(limit)), ADDN(a, R(-limit)), low);
}
ELEMENTWISE(hardshrink, WHEREN_(is_inside(c, a, number(&args[1])), N(0), a))
ELEMENTWISE(hardshrink_backward, WHEREN_(is_inside(c, b, number(&args[2])), N(0), a))
ELEMENTWISE(softshrink, soft_shrink(c, a, number(&args[1])))
ELEMENTWISE(softshrink_backward, WHEREN_(is_inside(c, b, number(&args[2])), N(0), a))

/* ---- exponential ones ---- */
static wick_tensor *elu_of(wick_context *c, wick_tensor *a, double alpha, double scale, double input_scale) {
    wick_tensor *low = MULN(wick_expm1(c, MULN(a, R(input_scale))), R(alpha * scale));
    return WHERE(LTN(a, N(0)), low, MULN(a, R(scale)));
}
/* args: grad_output, alpha, scale, input_scale, is_result, self_or_result */
static wick_tensor *elu_gradient(wick_context *c, wick_tensor *g, wick_tensor *x, const wick_value *args) {
    double alpha = number(&args[1]), scale = number(&args[2]), input_scale = number(&args[3]);
    wick_tensor *slope =
        args[4].as.i ? ADDN(x, R(alpha * scale)) : MULN(exp_of_scaled(c, x, input_scale), R(alpha * scale));
    return WHERE(LEN(x, N(0)), MUL(MULN(g, R(input_scale)), slope), MULN(g, R(scale)));
}
ELEMENTWISE(elu, elu_of(c, a, number(&args[1]), number(&args[2]), number(&args[3])))
ELEMENTWISE(elu_backward, elu_gradient(c, a, b, args))
ELEMENTWISE(celu, elu_of(c, a, number(&args[1]), 1, 1 / number(&args[1])))
ELEMENTWISE(silu, MUL(a, sigmoid(c, a)))

static wick_tensor *silu_gradient(wick_context *c, wick_tensor *g, wick_tensor *x) {
    wick_tensor *s = sigmoid(c, x);
    return MUL(MUL(g, s), ADDN(MUL(x, RSUBN(N(1), s)), N(1)));
}
ELEMENTWISE(silu_backward, silu_gradient(c, a, b))

static wick_tensor *soft_plus(wick_context *c, wick_tensor *a, double beta, double threshold) {
    wick_tensor *scaled = MULN(a, R(beta));
    return WHERE(GTN(scaled, R(threshold)), a, DIVN(wick_log1p(c, EXP(scaled)), R(beta)));
}
static wick_tensor *soft_plus_gradient(wick_context *c, wick_tensor *g, wick_tensor *x, double beta, double threshold) {
    wick_tensor *scaled = MULN(x, R(beta));
    return WHERE(GTN(scaled, R(threshold)), g, MUL(g, sigmoid(c, scaled)));
}
ELEMENTWISE(softplus, soft_plus(c, a, number(&args[1]), number(&args[2])))
ELEMENTWISE(softplus_backward, soft_plus_gradient(c, a, b, number(&args[2]), number(&args[3])))

static wick_tensor *mish_gradient(wick_context *c, wick_tensor *g, wick_tensor *x) {
    wick_tensor *t = wick_tanh(c, soft_plus(c, x, 1, 20));
    return MUL(g, ADD(t, MUL(MUL(x, sigmoid(c, x)), RSUBN(N(1), MUL(t, t)))));
}
ELEMENTWISE(mish, MUL(a, wick_tanh(c, soft_plus(c, a, 1, 20))))
ELEMENTWISE(mish_backward, mish_gradient(c, a, b))

void compose_log_sigmoid_forward(wick_context *c, const wick_value *args, wick_value *rets) {
    elementwise e;
    if (!elementwise_begin(c, OP_ID_log_sigmoid_forward, args, &e)) return;
    wick_tensor *a = e.in[0], *buffer = EXP(NEG(wick_abs(c, a)));
    wick_tensor *low = WHERE_N(OR(LTN(a, N(0)), wick_isnan(c, a)), a, N(0));
    rets[0] = V(cast(c, SUB(low, wick_log1p(c, buffer)), e.result));
    rets[1] = V(cast(c, buffer, e.result));
}
ELEMENTWISE(log_sigmoid_backward, MUL(a, sigmoid(c, NEG(b))))

/* ---- gelu ---- */
#define ROOT_HALF 0.70710678118654752
#define TWO_OVER_ROOT_2PI 0.79788456080286536 /* sqrt(2 / pi) */

static bool is_tanh(const wick_value *approximate) { return approximate->as.string[0] == 't'; }
static wick_tensor *gelu_inner(wick_context *c, wick_tensor *x) {
    wick_tensor *cube = MUL(MUL(x, x), x);
    return wick_tanh(c, MULN(ADD(x, MULN(cube, R(0.044715))), R(TWO_OVER_ROOT_2PI)));
}
static wick_tensor *gelu_cdf(wick_context *c, wick_tensor *x, bool tanh_form) {
    wick_tensor *t = tanh_form ? gelu_inner(c, x) : wick_erf(c, MULN(x, R(ROOT_HALF)));
    return MULN(ADDN(t, N(1)), R(0.5));
}
static wick_tensor *gelu_gradient(wick_context *c, wick_tensor *g, wick_tensor *x, bool tanh_form) {
    wick_tensor *square = MUL(x, x), *density;
    if (tanh_form) {
        wick_tensor *t = gelu_inner(c, x), *slope = ADDN(MULN(square, R(0.134145)), N(1));
        density = MUL(RSUBN(N(1), MUL(t, t)), MULN(slope, R(0.5 * TWO_OVER_ROOT_2PI)));
    } else {
        density = MULN(exp_of_scaled(c, square, -0.5), R(0.39894228040143268));
    }
    return MUL(g, ADD(gelu_cdf(c, x, tanh_form), MUL(x, density)));
}
ELEMENTWISE(gelu, MUL(a, gelu_cdf(c, a, is_tanh(&args[1]))))
ELEMENTWISE(gelu_backward, gelu_gradient(c, a, b, is_tanh(&args[2])))
