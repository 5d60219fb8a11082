/* Elementwise kernels that look at an argument before they choose their expression. */
#include "pointwise.h"

#include <math.h>

/* The kernel's output and its first `inputs` tensors. */
static pw_eval eval_of(const wick_kernel_call *call, pw_id id, int inputs) {
    pw_eval e = {.id = id};
    e.operands[0] = wick_out_tensor(call, 0);
    for (int i = 0; i < inputs; ++i) e.operands[i + 1] = wick_arg_tensor(call, i);
    return e;
}

static wick_status *run(const wick_kernel_call *call, pw_eval e) { return pw_run(call, &e); }

static void set_real(pw_eval *e, int i, double x) {
    e->s[i] = x;
    e->si[i] = (int64_t)x;
}

static bool is_none(const wick_kernel_call *call, int arg) { return wick_value_is_none(&call->values[arg]); }

static bool is_string(const wick_kernel_call *call, int arg, const char *text) {
    return call->values[arg].tag == WICK_TAG_STRING && strcmp(call->values[arg].as.string, text) == 0;
}

static wick_dtype compute_dtype(const wick_kernel_call *call) {
    return call->compute_dtype ? (wick_dtype)call->compute_dtype : wick_tensor_dtype(wick_arg_tensor(call, 0));
}

static bool computes_whole_numbers(const wick_kernel_call *call) {
    return wick_dtype_is_integral(compute_dtype(call)) || compute_dtype(call) == WICK_BOOL;
}

/* Among three expressions, the one for the dtype computed in. */
static pw_id for_dtype(const wick_kernel_call *call, pw_id usual, pw_id f16, pw_id bf16) {
    wick_dtype dtype = compute_dtype(call);
    return dtype == WICK_F16 ? f16 : dtype == WICK_BF16 ? bf16 : usual;
}

/* ---- division ---- */
static wick_status *run_division(const wick_kernel_call *call, pw_id id) {
    pw_eval e = eval_of(call, id, 2);
    return run(call, e);
}

wick_status *pw_div_mode(const wick_kernel_call *call) {
    if (is_none(call, 2)) return run(call, eval_of(call, PW_div, 2));
    if (is_string(call, 2, "trunc")) {
        return run_division(call, for_dtype(call, PW_div_trunc, PW_div_trunc_f16, PW_div_trunc_bf16));
    }
    if (is_string(call, 2, "floor")) return run_division(call, PW_div_floor);
    return WICK_HOST_ERROR(call->host, WICK_INVALID_ARGUMENT,
                           "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%s'",
                           call->values[2].as.string);
}
wick_status *pw_floor_divide(const wick_kernel_call *call) { return run_division(call, PW_div_floor); }
wick_status *pw_fmod(const wick_kernel_call *call) { return run_division(call, PW_fmod); }
wick_status *pw_remainder(const wick_kernel_call *call) { return run_division(call, PW_remainder); }

/* ---- bounds: an absent one does not bound; both absent is the shape rule's error ---- */
static wick_status *run_bound(const wick_kernel_call *call, pw_id id, int arg) {
    pw_eval e = eval_of(call, id, 1);
    pw_set_scalar(&e, 0, &call->values[arg]);
    return run(call, e);
}

wick_status *pw_clamp(const wick_kernel_call *call) {
    if (is_none(call, 2)) return run_bound(call, PW_clamp_low, 1);
    if (is_none(call, 1)) return run_bound(call, PW_clamp_high, 2);
    pw_eval e = eval_of(call, PW_clamp_both, 1);
    pw_set_scalar(&e, 0, &call->values[1]), pw_set_scalar(&e, 1, &call->values[2]);
    return run(call, e);
}
wick_status *pw_clamp_min(const wick_kernel_call *call) { return run_bound(call, PW_clamp_low, 1); }
wick_status *pw_clamp_max(const wick_kernel_call *call) { return run_bound(call, PW_clamp_high, 1); }

wick_status *pw_clamp_tensor(const wick_kernel_call *call) {
    if (is_none(call, 2)) return run(call, eval_of(call, PW_clamp_min_tensor, 2));
    if (!is_none(call, 1)) return run(call, eval_of(call, PW_clamp_tensors, 3));
    pw_eval e = eval_of(call, PW_clamp_max_tensor, 1);
    e.operands[2] = wick_arg_tensor(call, 2);
    return run(call, e);
}

/* ---- powers and neighbours ---- */
typedef struct power_shortcut {
    double exponent;
    pw_id id;
    bool whole_numbers; /* holds for integers too */
} power_shortcut;

wick_status *pw_pow_scalar(const wick_kernel_call *call) {
    static const power_shortcut shortcuts[] = {
        {2, PW_square, true},
        {3, PW_cube, true},
        {1, PW_same, true},
        {0.5, PW_sqrt, false},
        {-0.5, PW_rsqrt, false},
        {-1, PW_reciprocal, false},
        {-2, PW_reciprocal_square, false},
    };
    pw_eval e = eval_of(call, PW_power, 1);
    pw_set_scalar(&e, 0, &call->values[1]);
    bool complex_exponent = call->values[1].tag == WICK_TAG_C128;
    for (size_t i = 0; i < sizeof shortcuts / sizeof shortcuts[0] && !complex_exponent; ++i)
        if (shortcuts[i].exponent == e.s[0] && (shortcuts[i].whole_numbers || !computes_whole_numbers(call)))
            e.id = shortcuts[i].id;
    if (e.id == PW_power && computes_whole_numbers(call) && e.s[0] < 0)
        return WICK_HOST_ERROR(call->host, WICK_INVALID_ARGUMENT,
                               "Integers to negative integer powers are not allowed.");
    return run(call, e);
}

wick_status *pw_nextafter(const wick_kernel_call *call) {
    return run(call, eval_of(call, for_dtype(call, PW_nextafter, PW_nextafter_f16, PW_nextafter_bf16), 2));
}

wick_status *pw_round_decimals(const wick_kernel_call *call) {
    int64_t decimals = call->values[1].as.i;
    if (decimals == 0 || computes_whole_numbers(call)) return run(call, eval_of(call, PW_round, 1));
    pw_eval e = eval_of(call, decimals > 0 ? PW_round_up_scaled : PW_round_down_scaled, 1);
    set_real(&e, 0, pow(10, fabs((double)decimals)));
    return run(call, e);
}

/* ---- activations ---- */
static wick_status *run_logit(const wick_kernel_call *call, pw_id plain, pw_id clamped, int inputs) {
    if (is_none(call, inputs)) return run(call, eval_of(call, plain, inputs));
    pw_eval e = eval_of(call, clamped, inputs);
    double eps = wick_value_as_double(&call->values[inputs]);
    bool narrow = compute_dtype(call) != WICK_F64; /* 1 - eps is taken in the class computed in */
    set_real(&e, 0, eps);
    set_real(&e, 1, narrow ? (double)(1.0f - (float)eps) : 1.0 - eps);
    return run(call, e);
}
wick_status *pw_logit(const wick_kernel_call *call) { return run_logit(call, PW_logit, PW_logit_clamped, 1); }
wick_status *pw_logit_backward(const wick_kernel_call *call) {
    return run_logit(call, PW_logit_backward, PW_logit_backward_clamped, 2);
}

static wick_status *run_gelu(const wick_kernel_call *call, pw_id by_erf, pw_id by_tanh, int inputs) {
    if (is_string(call, inputs, "none")) return run(call, eval_of(call, by_erf, inputs));
    if (is_string(call, inputs, "tanh")) return run(call, eval_of(call, by_tanh, inputs));
    return WICK_HOST_ERROR(call->host, WICK_INVALID_ARGUMENT, "approximate argument must be either none or tanh.");
}
wick_status *pw_gelu(const wick_kernel_call *call) { return run_gelu(call, PW_gelu_erf, PW_gelu_tanh, 1); }
wick_status *pw_gelu_backward(const wick_kernel_call *call) {
    return run_gelu(call, PW_gelu_erf_backward, PW_gelu_tanh_backward, 2);
}

/* elu_backward(grad_output, alpha, scale, input_scale, is_result, self_or_result) */
wick_status *pw_elu_backward(const wick_kernel_call *call) {
    pw_eval e = eval_of(call, call->values[4].as.i ? PW_elu_backward_result : PW_elu_backward, 1);
    e.operands[2] = wick_arg_tensor(call, 5);
    for (int i = 0; i < 3; ++i) pw_set_scalar(&e, i, &call->values[1 + i]);
    return run(call, e);
}

/* Two outputs, each of its own expression; one that is not wanted is None. */
static wick_status *run_pair(const wick_kernel_call *call, pw_id first, pw_id second) {
    const pw_id ids[] = {second, first}; /* an output that is also the input comes last */
    for (int i = 0; i < 2; ++i) {
        pw_eval e = eval_of(call, ids[i], 1);
        e.operands[0] = wick_out_tensor(call, 1 - i);
        wick_status *status = e.operands[0] ? run(call, e) : NULL;
        if (status) return status;
    }
    return NULL;
}
wick_status *pw_log_sigmoid_forward(const wick_kernel_call *call) {
    return run_pair(call, PW_log_sigmoid, PW_log_sigmoid_buffer);
}
wick_status *pw_frexp(const wick_kernel_call *call) { return run_pair(call, PW_mantissa, PW_exponent); }

/* ---- the rest ---- */
static double largest_of(wick_dtype dtype) {
    switch (dtype) {
    case WICK_F16: return 65504;
    case WICK_BF16: return 0x1.fep127;
    case WICK_F64: return 0x1.fffffffffffffp1023;
    case WICK_F8E4M3FN: return 448;
    case WICK_F8E5M2: return 57344;
    default: return 0x1.fffffep127;
    }
}

wick_status *pw_nan_to_num(const wick_kernel_call *call) {
    if (computes_whole_numbers(call)) return run(call, eval_of(call, PW_same, 1));
    pw_eval e = eval_of(call, PW_nan_to_num, 1);
    double largest = largest_of(compute_dtype(call)), defaults[] = {0, largest, -largest};
    for (int i = 0; i < 3; ++i) {
        if (is_none(call, 1 + i))
            set_real(&e, i, defaults[i]);
        else
            pw_set_scalar(&e, i, &call->values[1 + i]);
    }
    return run(call, e);
}

wick_status *pw_bitwise_not(const wick_kernel_call *call) {
    return run(call, eval_of(call, compute_dtype(call) == WICK_BOOL ? PW_logical_not : PW_bitwise_not, 1));
}
