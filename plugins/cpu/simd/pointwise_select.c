/* Elementwise kernels that look at an argument before they choose their expression. */
#include "pointwise.h"

#include <math.h>

/* The kernel's output and its first `inputs` tensors. */
static pw_eval eval_of(const wick_kernel_call *k, pw_id id, int inputs) {
    pw_eval e = {.id = id};
    e.operands[0] = wick_out_tensor(k, 0);
    for (int i = 0; i < inputs; ++i) e.operands[i + 1] = wick_arg_tensor(k, i);
    return e;
}

static wick_status *run(const wick_kernel_call *k, pw_eval e) { return CPU_NAME(pw_run)(k, &e); }

static pw_scalar scalar(const wick_kernel_call *k, int arg) { return pw_scalar_of(&k->values[arg]); }

static bool is_none(const wick_kernel_call *k, int arg) { return wick_value_is_none(&k->values[arg]); }

static bool is_string(const wick_kernel_call *k, int arg, const char *text) {
    return k->values[arg].tag == WICK_TAG_STRING && strcmp(k->values[arg].as.string, text) == 0;
}

static wick_dtype compute_dtype(const wick_kernel_call *k) {
    return k->compute_dtype ? (wick_dtype)k->compute_dtype : wick_tensor_dtype(wick_arg_tensor(k, 0));
}

static bool computes_whole_numbers(const wick_kernel_call *k) {
    return wick_dtype_is_integral(compute_dtype(k)) || compute_dtype(k) == WICK_BOOL;
}

/* Among three expressions, the one for the dtype computed in. */
static pw_id for_dtype(const wick_kernel_call *k, pw_id usual, pw_id f16, pw_id bf16) {
    wick_dtype dtype = compute_dtype(k);
    return dtype == WICK_F16 ? f16 : dtype == WICK_BF16 ? bf16 : usual;
}

/* ---- division ---- */
static wick_status *run_division(const wick_kernel_call *k, pw_id id) {
    pw_eval e = eval_of(k, id, 2);
    e.refuse_zero_divisor = true;
    return run(k, e);
}

wick_status *CPU_NAME(pw_div_mode)(const wick_kernel_call *k) {
    if (is_none(k, 2)) return run(k, eval_of(k, PW_div, 2));
    if (is_string(k, 2, "trunc")) {
        return run_division(k, for_dtype(k, PW_div_trunc, PW_div_trunc_f16, PW_div_trunc_bf16));
    }
    if (is_string(k, 2, "floor")) return run_division(k, PW_div_floor);
    return WICK_HOST_ERROR(k->host, WICK_INVALID_ARGUMENT,
                           "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%s'",
                           k->values[2].as.string);
}
wick_status *CPU_NAME(pw_floor_divide)(const wick_kernel_call *k) { return run_division(k, PW_div_floor); }
wick_status *CPU_NAME(pw_fmod)(const wick_kernel_call *k) { return run_division(k, PW_fmod); }
wick_status *CPU_NAME(pw_remainder)(const wick_kernel_call *k) { return run_division(k, PW_remainder); }

/* ---- bounds: an absent one does not bound; both absent is the shape rule's error ---- */
static wick_status *run_bound(const wick_kernel_call *k, pw_id id, int arg) {
    pw_eval e = eval_of(k, id, 1);
    e.scalars[0] = scalar(k, arg);
    return run(k, e);
}

wick_status *CPU_NAME(pw_clamp)(const wick_kernel_call *k) {
    if (is_none(k, 2)) return run_bound(k, PW_clamp_low, 1);
    if (is_none(k, 1)) return run_bound(k, PW_clamp_high, 2);
    pw_eval e = eval_of(k, PW_clamp_both, 1);
    e.scalars[0] = scalar(k, 1), e.scalars[1] = scalar(k, 2);
    return run(k, e);
}
wick_status *CPU_NAME(pw_clamp_min)(const wick_kernel_call *k) { return run_bound(k, PW_clamp_low, 1); }
wick_status *CPU_NAME(pw_clamp_max)(const wick_kernel_call *k) { return run_bound(k, PW_clamp_high, 1); }

wick_status *CPU_NAME(pw_clamp_tensor)(const wick_kernel_call *k) {
    if (is_none(k, 2)) return run(k, eval_of(k, PW_clamp_min_tensor, 2));
    if (!is_none(k, 1)) return run(k, eval_of(k, PW_clamp_tensors, 3));
    pw_eval e = eval_of(k, PW_clamp_max_tensor, 1);
    e.operands[2] = wick_arg_tensor(k, 2);
    return run(k, e);
}

/* ---- powers and neighbours ---- */
typedef struct power_shortcut {
    double exponent;
    pw_id id;
    bool whole_numbers; /* holds for integers too */
} power_shortcut;

wick_status *CPU_NAME(pw_pow_scalar)(const wick_kernel_call *k) {
    static const power_shortcut shortcuts[] = {
        {2, PW_square, true},
        {3, PW_cube, true},
        {1, PW_same, true},
        {0.5, PW_sqrt, false},
        {-0.5, PW_rsqrt, false},
        {-1, PW_reciprocal, false},
        {-2, PW_reciprocal_square, false},
    };
    pw_eval e = eval_of(k, PW_power, 1);
    e.scalars[0] = scalar(k, 1);
    bool complex_exponent = e.scalars[0].im != 0;
    for (size_t i = 0; i < sizeof shortcuts / sizeof shortcuts[0] && !complex_exponent; ++i)
        if (shortcuts[i].exponent == e.scalars[0].re && (shortcuts[i].whole_numbers || !computes_whole_numbers(k)))
            e.id = shortcuts[i].id;
    if (e.id == PW_power && computes_whole_numbers(k) && e.scalars[0].re < 0)
        return WICK_HOST_ERROR(k->host, WICK_INVALID_ARGUMENT, "Integers to negative integer powers are not allowed.");
    return run(k, e);
}

wick_status *CPU_NAME(pw_nextafter)(const wick_kernel_call *k) {
    return run(k, eval_of(k, for_dtype(k, PW_nextafter, PW_nextafter_f16, PW_nextafter_bf16), 2));
}

wick_status *CPU_NAME(pw_round_decimals)(const wick_kernel_call *k) {
    int64_t decimals = k->values[1].as.i;
    if (decimals == 0 || computes_whole_numbers(k)) return run(k, eval_of(k, PW_round, 1));
    pw_eval e = eval_of(k, decimals > 0 ? PW_round_up_scaled : PW_round_down_scaled, 1);
    e.scalars[0] = pw_real(pow(10, fabs((double)decimals)));
    return run(k, e);
}

/* ---- activations ---- */
static wick_status *run_logit(const wick_kernel_call *k, pw_id plain, pw_id clamped, int inputs) {
    if (is_none(k, inputs)) return run(k, eval_of(k, plain, inputs));
    pw_eval e = eval_of(k, clamped, inputs);
    double eps = wick_value_as_double(&k->values[inputs]);
    bool narrow = compute_dtype(k) != WICK_F64; /* 1 - eps is taken in the class computed in */
    e.scalars[0] = pw_real(eps);
    e.scalars[1] = pw_real(narrow ? (double)(1.0f - (float)eps) : 1.0 - eps);
    return run(k, e);
}
wick_status *CPU_NAME(pw_logit)(const wick_kernel_call *k) { return run_logit(k, PW_logit, PW_logit_clamped, 1); }
wick_status *CPU_NAME(pw_logit_backward)(const wick_kernel_call *k) {
    return run_logit(k, PW_logit_backward, PW_logit_backward_clamped, 2);
}

static wick_status *run_gelu(const wick_kernel_call *k, pw_id by_erf, pw_id by_tanh, int inputs) {
    if (is_string(k, inputs, "none")) return run(k, eval_of(k, by_erf, inputs));
    if (is_string(k, inputs, "tanh")) return run(k, eval_of(k, by_tanh, inputs));
    return WICK_HOST_ERROR(k->host, WICK_INVALID_ARGUMENT, "approximate argument must be either none or tanh.");
}
wick_status *CPU_NAME(pw_gelu)(const wick_kernel_call *k) { return run_gelu(k, PW_gelu_erf, PW_gelu_tanh, 1); }
wick_status *CPU_NAME(pw_gelu_backward)(const wick_kernel_call *k) {
    return run_gelu(k, PW_gelu_erf_backward, PW_gelu_tanh_backward, 2);
}

/* elu_backward(grad_output, alpha, scale, input_scale, is_result, self_or_result) */
wick_status *CPU_NAME(pw_elu_backward)(const wick_kernel_call *k) {
    pw_eval e = eval_of(k, k->values[4].as.i ? PW_elu_backward_result : PW_elu_backward, 1);
    e.operands[2] = wick_arg_tensor(k, 5);
    for (int i = 0; i < 3; ++i) e.scalars[i] = scalar(k, 1 + i);
    return run(k, e);
}

/* Two outputs, each of its own expression; one that is not wanted is None. */
static wick_status *run_pair(const wick_kernel_call *k, pw_id first, pw_id second) {
    const pw_id ids[] = {second, first}; /* an output that is also the input comes last */
    for (int i = 0; i < 2; ++i) {
        pw_eval e = eval_of(k, ids[i], 1);
        e.operands[0] = wick_out_tensor(k, 1 - i);
        wick_status *status = e.operands[0] ? run(k, e) : NULL;
        if (status) return status;
    }
    return NULL;
}
wick_status *CPU_NAME(pw_log_sigmoid_forward)(const wick_kernel_call *k) {
    return run_pair(k, PW_log_sigmoid, PW_log_sigmoid_buffer);
}
wick_status *CPU_NAME(pw_frexp)(const wick_kernel_call *k) { return run_pair(k, PW_mantissa, PW_exponent); }

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

wick_status *CPU_NAME(pw_nan_to_num)(const wick_kernel_call *k) {
    if (computes_whole_numbers(k)) return run(k, eval_of(k, PW_same, 1));
    pw_eval e = eval_of(k, PW_nan_to_num, 1);
    double largest = largest_of(compute_dtype(k)), defaults[] = {0, largest, -largest};
    for (int i = 0; i < 3; ++i) e.scalars[i] = is_none(k, 1 + i) ? pw_real(defaults[i]) : scalar(k, 1 + i);
    return run(k, e);
}

wick_status *CPU_NAME(pw_bitwise_not)(const wick_kernel_call *k) {
    return run(k, eval_of(k, compute_dtype(k) == WICK_BOOL ? PW_logical_not : PW_bitwise_not, 1));
}

/* polygamma(int n, Tensor self) */
wick_status *CPU_NAME(pw_polygamma)(const wick_kernel_call *k) {
    int64_t n = k->values[0].as.i;
    if (n < 0 || n > INT32_MAX)
        return WICK_HOST_ERROR(k->host, WICK_INVALID_ARGUMENT, "polygamma(n, x) does not support negative n.");
    pw_eval e = eval_of(k, n == 0 ? PW_digamma : PW_polygamma, 0);
    e.operands[1] = wick_arg_tensor(k, 1);
    e.scalars[0] = pw_real((double)n);
    return run(k, e);
}
