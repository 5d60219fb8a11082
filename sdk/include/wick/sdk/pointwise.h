/* wick/sdk/pointwise.h: the expressions of pointwise.inc by number, and the operators that choose among them.
 *
 * Most rows of pointwise.inc are an operator each. Those of WICK_POINTWISE_SELECTED look at an argument first: a rounding
 * mode, an exponent, a bound that may be absent. wick_pointwise_NAME(call, run) makes that choice and hands it to `run`,
 * the plugin's own way to compute an expression:
 *
 *     #define SELECTED(name, schema, classes) \
 *         static wick_status *run_##name(const wick_kernel_call *call) { return wick_pointwise_##name(call, run); }
 *     WICK_POINTWISE_SELECTED(SELECTED)
 *
 * `classes` is what it is in pointwise.inc. With WICK_POINTWISE_COMMON, defined before this header is included and to the
 * end of the file, expressions and operators are those that pointwise.inc then has. Nothing is kept between calls:
 * thread-safe. */
#ifndef WICK_SDK_POINTWISE_H
#define WICK_SDK_POINTWISE_H

#include <math.h>
#include <string.h>
#include <wick/sdk/host.h>
#include <wick/sdk/kernel.h>

#define WICK_POINTWISE_OPERANDS 4 /* the output and three inputs */
#define WICK_POINTWISE_SCALARS 4

typedef enum wick_pointwise_id {
#define MAP1(id, ...) WICK_PW_##id,
#define MAP2(id, ...) WICK_PW_##id,
#define MAP3(id, ...) WICK_PW_##id,
#define PART1(id, ...) WICK_PW_##id,
#define PART2(id, ...) WICK_PW_##id,
#define PART3(id, ...) WICK_PW_##id,
#include <wick/sdk/pointwise.inc>
    WICK_PW_COUNT
} wick_pointwise_id;

/* A scalar argument in every class's terms. */
typedef struct wick_pointwise_scalar {
    double re, im;
    int64_t i;
} wick_pointwise_scalar;

/* One evaluation: expression, the output and the inputs, scalars. */
typedef struct wick_pointwise_eval {
    wick_pointwise_id id;
    bool refuse_zero_divisor; /* integer classes: the second input must not have a zero. The host cannot always look. */
    const wick_tensor *operands[WICK_POINTWISE_OPERANDS];
    wick_pointwise_scalar scalars[WICK_POINTWISE_SCALARS];
} wick_pointwise_eval;

typedef wick_status *(*wick_pointwise_run)(const wick_kernel_call *call, const wick_pointwise_eval *e);

static inline wick_pointwise_scalar wick_pointwise_real(double x) {
    wick_pointwise_scalar s;
    s.re = x, s.im = 0, s.i = (int64_t)x;
    return s;
}
static inline wick_pointwise_scalar wick_pointwise_scalar_of(const wick_value *v) {
    wick_pointwise_scalar s;
    if (v->tag == WICK_TAG_F64) return wick_pointwise_real(v->as.f);
    s.re = wick_value_as_double(v), s.im = v->tag == WICK_TAG_C128 ? v->as.c[1] : 0, s.i = wick_value_as_int(v);
    return s;
}

/* X(name, schema, classes) */
#define WICK_POINTWISE_SELECTED_COMMON_(X)           \
    X(div_mode, "div.Tensor_mode", RICB)             \
    X(floor_divide, "floor_divide", RI)              \
    X(fmod, "fmod.Tensor", RI)                       \
    X(remainder, "remainder.Tensor", RI)             \
    X(clamp, "clamp", RI)                            \
    X(clamp_tensor, "clamp.Tensor", RI)              \
    X(clamp_min, "clamp_min", RI)                    \
    X(clamp_max, "clamp_max", RI)                    \
    X(pow_scalar, "pow.Tensor_Scalar", RIC)          \
    X(nextafter, "nextafter", R)                     \
    X(round_decimals, "round.decimals", RI)          \
    X(logit, "logit", R)                             \
    X(logit_backward, "logit_backward", R)           \
    X(gelu, "gelu", R)                               \
    X(gelu_backward, "gelu_backward", R)             \
    X(elu_backward, "elu_backward", R)               \
    X(log_sigmoid_forward, "log_sigmoid_forward", R) \
    X(nan_to_num, "nan_to_num", RIB)                 \
    X(bitwise_not, "bitwise_not", IB)                \
    X(frexp, "frexp.Tensor", R)
#ifdef WICK_POINTWISE_COMMON
#define WICK_POINTWISE_SELECTED(X) WICK_POINTWISE_SELECTED_COMMON_(X)
#else
#define WICK_POINTWISE_SELECTED(X) WICK_POINTWISE_SELECTED_COMMON_(X) X(polygamma, "polygamma", R)
#endif

/* ---- what a choice looks at ---- */
/* The call's output and its first `inputs` tensors. */
static inline wick_pointwise_eval wick_pointwise_of_(const wick_kernel_call *call, wick_pointwise_id id, int inputs) {
    wick_pointwise_eval e;
    memset(&e, 0, sizeof e);
    e.id = id;
    e.operands[0] = wick_out_tensor(call, 0);
    for (int i = 0; i < inputs; ++i) e.operands[i + 1] = wick_arg_tensor(call, i);
    return e;
}
static inline wick_status *wick_pointwise_plain_(const wick_kernel_call *call, wick_pointwise_run run,
                                                 wick_pointwise_id id, int inputs) {
    const wick_pointwise_eval e = wick_pointwise_of_(call, id, inputs);
    return run(call, &e);
}
static inline bool wick_pointwise_none_(const wick_kernel_call *call, int arg) {
    return wick_value_is_none(&call->values[arg]);
}
static inline bool wick_pointwise_text_(const wick_kernel_call *call, int arg, const char *text) {
    return call->values[arg].tag == WICK_TAG_STRING && strcmp(call->values[arg].as.string, text) == 0;
}
static inline wick_dtype wick_pointwise_dtype_(const wick_kernel_call *call) {
    return call->compute_dtype ? (wick_dtype)call->compute_dtype : wick_tensor_dtype(wick_arg_tensor(call, 0));
}
static inline bool wick_pointwise_whole_(const wick_kernel_call *call) {
    const wick_dtype dtype = wick_pointwise_dtype_(call);
    return wick_dtype_is_integral(dtype) || dtype == WICK_BOOL;
}
/* Among three expressions, the one for the dtype computed in. */
static inline wick_pointwise_id wick_pointwise_by_dtype_(const wick_kernel_call *call, wick_pointwise_id usual,
                                                         wick_pointwise_id f16, wick_pointwise_id bf16) {
    const wick_dtype dtype = wick_pointwise_dtype_(call);
    return dtype == WICK_F16 ? f16 : dtype == WICK_BF16 ? bf16 : usual;
}

/* ---- division: (self, other), div with a rounding mode behind them ---- */
static inline wick_status *wick_pointwise_divide_(const wick_kernel_call *call, wick_pointwise_run run,
                                                  wick_pointwise_id id) {
    wick_pointwise_eval e = wick_pointwise_of_(call, id, 2);
    e.refuse_zero_divisor = true;
    return run(call, &e);
}
static inline wick_status *wick_pointwise_div_mode(const wick_kernel_call *call, wick_pointwise_run run) {
    if (wick_pointwise_none_(call, 2)) return wick_pointwise_plain_(call, run, WICK_PW_div, 2);
    if (wick_pointwise_text_(call, 2, "trunc"))
        return wick_pointwise_divide_(
            call, run,
            wick_pointwise_by_dtype_(call, WICK_PW_div_trunc, WICK_PW_div_trunc_f16, WICK_PW_div_trunc_bf16));
    if (wick_pointwise_text_(call, 2, "floor")) return wick_pointwise_divide_(call, run, WICK_PW_div_floor);
    return WICK_HOST_ERROR(call->host, WICK_INVALID_ARGUMENT,
                           "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%s'",
                           call->values[2].as.string);
}
static inline wick_status *wick_pointwise_floor_divide(const wick_kernel_call *call, wick_pointwise_run run) {
    return wick_pointwise_divide_(call, run, WICK_PW_div_floor);
}
static inline wick_status *wick_pointwise_fmod(const wick_kernel_call *call, wick_pointwise_run run) {
    return wick_pointwise_divide_(call, run, WICK_PW_fmod);
}
static inline wick_status *wick_pointwise_remainder(const wick_kernel_call *call, wick_pointwise_run run) {
    return wick_pointwise_divide_(call, run, WICK_PW_remainder);
}

/* ---- bounds: (self, min, max); an absent one does not bound; both absent is the shape rule's error ---- */
static inline wick_status *wick_pointwise_bound_(const wick_kernel_call *call, wick_pointwise_run run,
                                                 wick_pointwise_id id, int arg) {
    wick_pointwise_eval e = wick_pointwise_of_(call, id, 1);
    e.scalars[0] = wick_pointwise_scalar_of(&call->values[arg]);
    return run(call, &e);
}
static inline wick_status *wick_pointwise_clamp(const wick_kernel_call *call, wick_pointwise_run run) {
    if (wick_pointwise_none_(call, 2)) return wick_pointwise_bound_(call, run, WICK_PW_clamp_low, 1);
    if (wick_pointwise_none_(call, 1)) return wick_pointwise_bound_(call, run, WICK_PW_clamp_high, 2);
    wick_pointwise_eval e = wick_pointwise_of_(call, WICK_PW_clamp_both, 1);
    for (int i = 0; i < 2; ++i) e.scalars[i] = wick_pointwise_scalar_of(&call->values[1 + i]);
    return run(call, &e);
}
static inline wick_status *wick_pointwise_clamp_min(const wick_kernel_call *call, wick_pointwise_run run) {
    return wick_pointwise_bound_(call, run, WICK_PW_clamp_low, 1);
}
static inline wick_status *wick_pointwise_clamp_max(const wick_kernel_call *call, wick_pointwise_run run) {
    return wick_pointwise_bound_(call, run, WICK_PW_clamp_high, 1);
}
static inline wick_status *wick_pointwise_clamp_tensor(const wick_kernel_call *call, wick_pointwise_run run) {
    if (wick_pointwise_none_(call, 2)) return wick_pointwise_plain_(call, run, WICK_PW_clamp_min_tensor, 2);
    if (!wick_pointwise_none_(call, 1)) return wick_pointwise_plain_(call, run, WICK_PW_clamp_tensors, 3);
    wick_pointwise_eval e = wick_pointwise_of_(call, WICK_PW_clamp_max_tensor, 1);
    e.operands[2] = wick_arg_tensor(call, 2);
    return run(call, &e);
}

/* ---- powers and neighbours ---- */
typedef struct wick_pointwise_power_ {
    double exponent;
    wick_pointwise_id id;
    bool whole; /* holds for integers too */
} wick_pointwise_power_;

/* (self, exponent) */
static inline wick_status *wick_pointwise_pow_scalar(const wick_kernel_call *call, wick_pointwise_run run) {
    static const wick_pointwise_power_ powers[] = {
        {2, WICK_PW_square, true},
        {3, WICK_PW_cube, true},
        {1, WICK_PW_same, true},
        {0.5, WICK_PW_sqrt, false},
        {-0.5, WICK_PW_rsqrt, false},
        {-1, WICK_PW_reciprocal, false},
        {-2, WICK_PW_reciprocal_square, false},
    };
    wick_pointwise_eval e = wick_pointwise_of_(call, WICK_PW_power, 1);
    e.scalars[0] = wick_pointwise_scalar_of(&call->values[1]);
    const bool whole = wick_pointwise_whole_(call), complex_exponent = e.scalars[0].im != 0;
    for (size_t i = 0; i < sizeof powers / sizeof powers[0] && !complex_exponent; ++i)
        if (powers[i].exponent == e.scalars[0].re && (powers[i].whole || !whole)) e.id = powers[i].id;
    if (e.id == WICK_PW_power && whole && e.scalars[0].re < 0)
        return WICK_HOST_ERROR(call->host, WICK_INVALID_ARGUMENT,
                               "Integers to negative integer powers are not allowed.");
    return run(call, &e);
}
static inline wick_status *wick_pointwise_nextafter(const wick_kernel_call *call, wick_pointwise_run run) {
    return wick_pointwise_plain_(
        call, run, wick_pointwise_by_dtype_(call, WICK_PW_nextafter, WICK_PW_nextafter_f16, WICK_PW_nextafter_bf16), 2);
}
/* (self, *, decimals) */
static inline wick_status *wick_pointwise_round_decimals(const wick_kernel_call *call, wick_pointwise_run run) {
    const int64_t decimals = call->values[1].as.i;
    if (decimals == 0 || wick_pointwise_whole_(call)) return wick_pointwise_plain_(call, run, WICK_PW_round, 1);
    wick_pointwise_eval e =
        wick_pointwise_of_(call, decimals > 0 ? WICK_PW_round_up_scaled : WICK_PW_round_down_scaled, 1);
    e.scalars[0] = wick_pointwise_real(pow(10, fabs((double)decimals)));
    return run(call, &e);
}

/* ---- activations ---- */
/* The inputs, then eps or None; 1 - eps is taken in the class computed in. */
static inline wick_status *wick_pointwise_logit_(const wick_kernel_call *call, wick_pointwise_run run,
                                                 wick_pointwise_id plain, wick_pointwise_id clamped, int inputs) {
    if (wick_pointwise_none_(call, inputs)) return wick_pointwise_plain_(call, run, plain, inputs);
    wick_pointwise_eval e = wick_pointwise_of_(call, clamped, inputs);
    const double eps = wick_value_as_double(&call->values[inputs]);
    const bool narrow = wick_pointwise_dtype_(call) != WICK_F64;
    e.scalars[0] = wick_pointwise_real(eps);
    e.scalars[1] = wick_pointwise_real(narrow ? (double)(1.0f - (float)eps) : 1.0 - eps);
    return run(call, &e);
}
static inline wick_status *wick_pointwise_logit(const wick_kernel_call *call, wick_pointwise_run run) {
    return wick_pointwise_logit_(call, run, WICK_PW_logit, WICK_PW_logit_clamped, 1);
}
static inline wick_status *wick_pointwise_logit_backward(const wick_kernel_call *call, wick_pointwise_run run) {
    return wick_pointwise_logit_(call, run, WICK_PW_logit_backward, WICK_PW_logit_backward_clamped, 2);
}

/* The inputs, then how it is approximated. */
static inline wick_status *wick_pointwise_gelu_(const wick_kernel_call *call, wick_pointwise_run run,
                                                wick_pointwise_id by_erf, wick_pointwise_id by_tanh, int inputs) {
    if (wick_pointwise_text_(call, inputs, "none")) return wick_pointwise_plain_(call, run, by_erf, inputs);
    if (wick_pointwise_text_(call, inputs, "tanh")) return wick_pointwise_plain_(call, run, by_tanh, inputs);
    return WICK_HOST_ERROR(call->host, WICK_INVALID_ARGUMENT, "approximate argument must be either none or tanh.");
}
static inline wick_status *wick_pointwise_gelu(const wick_kernel_call *call, wick_pointwise_run run) {
    return wick_pointwise_gelu_(call, run, WICK_PW_gelu_erf, WICK_PW_gelu_tanh, 1);
}
static inline wick_status *wick_pointwise_gelu_backward(const wick_kernel_call *call, wick_pointwise_run run) {
    return wick_pointwise_gelu_(call, run, WICK_PW_gelu_erf_backward, WICK_PW_gelu_tanh_backward, 2);
}

/* (grad_output, alpha, scale, input_scale, is_result, self_or_result) */
static inline wick_status *wick_pointwise_elu_backward(const wick_kernel_call *call, wick_pointwise_run run) {
    wick_pointwise_eval e =
        wick_pointwise_of_(call, call->values[4].as.i ? WICK_PW_elu_backward_result : WICK_PW_elu_backward, 1);
    e.operands[2] = wick_arg_tensor(call, 5);
    for (int i = 0; i < 3; ++i) e.scalars[i] = wick_pointwise_scalar_of(&call->values[1 + i]);
    return run(call, &e);
}

/* Two outputs, each of its own expression; one that is not wanted is None. One that is also the input comes last. */
static inline wick_status *wick_pointwise_pair_(const wick_kernel_call *call, wick_pointwise_run run,
                                                wick_pointwise_id first, wick_pointwise_id second) {
    for (int i = 1; i >= 0; --i) {
        wick_pointwise_eval e = wick_pointwise_of_(call, i ? second : first, 1);
        e.operands[0] = wick_out_tensor(call, i);
        if (e.operands[0]) WICK_TRY(run(call, &e));
    }
    return NULL;
}
static inline wick_status *wick_pointwise_log_sigmoid_forward(const wick_kernel_call *call, wick_pointwise_run run) {
    return wick_pointwise_pair_(call, run, WICK_PW_log_sigmoid, WICK_PW_log_sigmoid_buffer);
}
static inline wick_status *wick_pointwise_frexp(const wick_kernel_call *call, wick_pointwise_run run) {
    return wick_pointwise_pair_(call, run, WICK_PW_mantissa, WICK_PW_exponent);
}

/* ---- the rest ---- */
static inline double wick_pointwise_largest_(wick_dtype dtype) {
    switch (dtype) {
    case WICK_F16: return 65504;
    case WICK_BF16: return 0x1.fep127;
    case WICK_F64: return 0x1.fffffffffffffp1023;
    case WICK_F8E4M3FN: return 448;
    case WICK_F8E5M2: return 57344;
    default: return 0x1.fffffep127;
    }
}
/* (self, nan, posinf, neginf) */
static inline wick_status *wick_pointwise_nan_to_num(const wick_kernel_call *call, wick_pointwise_run run) {
    if (wick_pointwise_whole_(call)) return wick_pointwise_plain_(call, run, WICK_PW_same, 1);
    wick_pointwise_eval e = wick_pointwise_of_(call, WICK_PW_nan_to_num, 1);
    const double largest = wick_pointwise_largest_(wick_pointwise_dtype_(call)), absent[] = {0, largest, -largest};
    for (int i = 0; i < 3; ++i)
        e.scalars[i] = wick_pointwise_none_(call, 1 + i) ? wick_pointwise_real(absent[i])
                                                         : wick_pointwise_scalar_of(&call->values[1 + i]);
    return run(call, &e);
}
static inline wick_status *wick_pointwise_bitwise_not(const wick_kernel_call *call, wick_pointwise_run run) {
    const bool logical = wick_pointwise_dtype_(call) == WICK_BOOL;
    return wick_pointwise_plain_(call, run, logical ? WICK_PW_logical_not : WICK_PW_bitwise_not, 1);
}
#ifndef WICK_POINTWISE_COMMON
/* (n, self) */
static inline wick_status *wick_pointwise_polygamma(const wick_kernel_call *call, wick_pointwise_run run) {
    const int64_t n = call->values[0].as.i;
    if (n < 0 || n > INT32_MAX)
        return WICK_HOST_ERROR(call->host, WICK_INVALID_ARGUMENT, "polygamma(n, x) does not support negative n.");
    wick_pointwise_eval e = wick_pointwise_of_(call, n == 0 ? WICK_PW_digamma : WICK_PW_polygamma, 0);
    e.operands[1] = wick_arg_tensor(call, 1);
    e.scalars[0] = wick_pointwise_real((double)n);
    return run(call, &e);
}
#endif

#endif
