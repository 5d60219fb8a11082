/* Shape rules and decompositions of pointwise.inc. Most rows need none of the former: infer_pointwise and flags do. */
#include <stdio.h>

#include <wick/ops.h>

#include "rows.h"

/* ---- shape-and-dtype rules: infer_pointwise, and what PyTorch refuses ---- */
static wick_status *refuse(const op_infer *ix, const char *what) {
    return WICK_ERROR(WICK_UNSUPPORTED, "%s is not supported for dtype %s", what, wick_dtype_name(ix->compute));
}

wick_status *infer_signed(op_infer *ix) {
    WICK_TRY(infer_pointwise(ix));
    return ix->compute == WICK_BOOL ? refuse(ix, "negation (use logical_not or bitwise_not instead)") : NULL;
}

wick_status *infer_not_complex(op_infer *ix) {
    WICK_TRY(infer_pointwise(ix));
    return wick_dtype_is_complex(ix->compute) ? refuse(ix, "this operator") : NULL;
}

wick_status *infer_test_real(op_infer *ix) {
    WICK_TRY(infer_pointwise(ix));
    return wick_dtype_is_complex(ix->compute) ? refuse(ix, "this test") : NULL;
}

wick_status *infer_order(op_infer *ix) { return infer_not_complex(ix); }

wick_status *infer_floating(op_infer *ix) {
    WICK_TRY(infer_pointwise(ix));
    return wick_dtype_is_floating(ix->compute) ? NULL : refuse(ix, "this operator");
}

wick_status *infer_floating_any(op_infer *ix) {
    WICK_TRY(infer_pointwise(ix));
    return wick_dtype_is_differentiable(ix->compute) ? NULL : refuse(ix, "this operator");
}

wick_status *infer_activation(op_infer *ix) {
    WICK_TRY(infer_pointwise(ix));
    return ix->compute == WICK_BOOL || wick_dtype_is_complex(ix->compute) ? refuse(ix, "this activation") : NULL;
}

wick_status *infer_integral(op_infer *ix) {
    WICK_TRY(infer_pointwise(ix));
    return wick_dtype_is_differentiable(ix->compute) ? refuse(ix, "a bitwise or integer operator") : NULL;
}

static wick_status *check_alpha(const op_infer *ix, int arg) {
    uint32_t tag = ix->args[arg].tag;
    if (tag == WICK_TAG_BOOL && ix->compute != WICK_BOOL)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "Boolean alpha only supported for Boolean results.");
    if (tag == WICK_TAG_C128 && !wick_dtype_is_complex(ix->compute))
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "For non-complex input tensors, argument alpha must not be a complex number.");
    if (tag == WICK_TAG_F64 && !wick_dtype_is_differentiable(ix->compute))
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "For integral input tensors, argument alpha must not be a floating point number.");
    return NULL;
}

wick_status *infer_add(op_infer *ix) {
    WICK_TRY(infer_pointwise(ix));
    return check_alpha(ix, 2);
}

wick_status *infer_sub(op_infer *ix) {
    WICK_TRY(infer_pointwise(ix));
    for (int i = 0; i < 2; ++i)
        if (arg_tensor(ix->args, i)->dtype == WICK_BOOL)
            return WICK_ERROR(WICK_UNSUPPORTED,
                              "Subtraction, the `-` operator, with a bool tensor is not supported. Use "
                              "bitwise_xor or logical_not instead.");
    return check_alpha(ix, 2);
}

wick_status *infer_addcmul(op_infer *ix) {
    WICK_TRY(infer_pointwise(ix));
    return ix->compute == WICK_BOOL ? refuse(ix, "addcmul") : check_alpha(ix, 3);
}

wick_status *infer_addcdiv(op_infer *ix) {
    WICK_TRY(infer_pointwise(ix));
    if (!wick_dtype_is_differentiable(ix->compute))
        return WICK_ERROR(WICK_UNSUPPORTED, "Integer division with addcdiv is no longer supported");
    return NULL;
}

wick_status *infer_lerp(op_infer *ix) {
    WICK_TRY(infer_floating_any(ix));
    wick_dtype self = wick_tensor_dtype(arg_tensor(ix->args, 0)), end = wick_tensor_dtype(arg_tensor(ix->args, 1));
    if (self != end)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "expected dtype %s for `end` but got dtype %s", wick_dtype_name(self),
                          wick_dtype_name(end));
    return NULL;
}

wick_status *infer_div_mode(op_infer *ix) {
    const wick_value *mode = &ix->args[2];
    WICK_TRY(infer_pointwise(ix));
    if (mode->tag == WICK_TAG_NONE) {
        if (ix->compute < WICK_F16) ix->compute = ix->outs[0].dtype = ctx(ix->c)->dtype;
        return NULL;
    }
    if (strcmp(mode->as.string, "trunc") && strcmp(mode->as.string, "floor"))
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%s'",
                          mode->as.string);
    return wick_dtype_is_complex(ix->compute) ? refuse(ix, "rounding division") : NULL;
}

/* Promotes with a number as PyTorch does: only a higher category counts. */
static wick_dtype promote_number(wick_dtype d, const wick_value *v, wick_dtype floating) {
    if (v->tag == WICK_TAG_C128 && !wick_dtype_is_complex(d))
        return d == WICK_F64 || floating == WICK_F64 ? WICK_C128 : WICK_C64;
    if (v->tag == WICK_TAG_F64 && d < WICK_F16) return floating;
    if (v->tag == WICK_TAG_I64 && d == WICK_BOOL) return WICK_I64;
    return d;
}

wick_status *infer_pow_scalar(op_infer *ix) {
    const wick_value *exponent = &ix->args[1];
    WICK_TRY(infer_pointwise(ix));
    ix->compute = ix->outs[0].dtype = promote_number(ix->compute, exponent, ctx(ix->c)->dtype);
    if (!wick_dtype_is_differentiable(ix->compute) && exponent->tag == WICK_TAG_I64 && exponent->as.i < 0)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "Integers to negative integer powers are not allowed.");
    return NULL;
}

wick_status *infer_clamp(op_infer *ix) {
    WICK_TRY(infer_not_complex(ix));
    bool any = false;
    for (int i = 1; i < ix->op->base_nargs; ++i) {
        if (wick_value_is_none(&ix->args[i])) continue;
        any = true;
        ix->compute = promote_number(ix->compute, &ix->args[i], ctx(ix->c)->dtype);
    }
    ix->outs[0].dtype = ix->compute;
    return any ? NULL : WICK_ERROR(WICK_INVALID_ARGUMENT, "At least one of 'min' or 'max' must not be None");
}

wick_status *infer_clamp_tensor(op_infer *ix) {
    if (!arg_tensor(ix->args, 1) && !arg_tensor(ix->args, 2))
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "At least one of 'min' or 'max' must not be None");
    return infer_not_complex(ix);
}

static wick_status *want_same_dtype(const op_infer *ix, const char *what) {
    if (arg_tensor(ix->args, 0)->dtype == arg_tensor(ix->args, 1)->dtype) return NULL;
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: both inputs must have the same dtype, got %s and %s", what,
                      wick_dtype_name(wick_tensor_dtype(arg_tensor(ix->args, 0))),
                      wick_dtype_name(wick_tensor_dtype(arg_tensor(ix->args, 1))));
}

wick_status *infer_heaviside(op_infer *ix) {
    WICK_TRY(want_same_dtype(ix, "heaviside"));
    return infer_not_complex(ix);
}

wick_status *infer_complex(op_infer *ix) {
    WICK_TRY(want_same_dtype(ix, ix->op->name));
    WICK_TRY(infer_floating(ix));
    ix->outs[0].dtype = ix->compute == WICK_F64 ? WICK_C128 : WICK_C64;
    if (ix->compute != WICK_F64 && ix->compute != WICK_F32) return refuse(ix, "making complex numbers");
    return NULL;
}

wick_status *infer_frexp(op_infer *ix) {
    WICK_TRY(infer_floating(ix));
    ix->outs[1] = ix->outs[0];
    ix->outs[1].dtype = WICK_I32;
    return NULL;
}

/* The condition takes no part in promotion and is not cast. */
static wick_status *infer_selected(op_infer *ix, int mask_arg, const char *name) {
    const wick_tensor *mask = arg_tensor(ix->args, mask_arg);
    if (mask->dtype != WICK_BOOL && mask->dtype != WICK_U8)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "expected %s to be a boolean tensor, but got a tensor with dtype %s",
                          name, wick_dtype_name(wick_tensor_dtype(mask)));
    ix->cast_args = ~(1u << mask_arg);
    return NULL;
}

wick_status *infer_where(op_infer *ix) {
    wick_value others[OP_MAX_ARGS];
    op_infer without = *ix;
    WICK_TRY(infer_pointwise(ix));
    memcpy(others, ix->args, sizeof *others * ix->op->nargs);
    others[0] = wick_value_none();
    without.args = others;
    WICK_TRY(infer_result_type(&without, &ix->compute));
    ix->outs[0].dtype = ix->compute;
    return infer_selected(ix, 0, "condition");
}

wick_status *infer_masked_fill(op_infer *ix) {
    WICK_TRY(infer_pointwise(ix));
    const wick_tensor *value = arg_tensor(ix->args, 2);
    if (value && value->ndim)
        return WICK_ERROR(
            WICK_INVALID_ARGUMENT,
            "masked_fill only supports a 0-dimensional value tensor, but got tensor with %d dimension(s).",
            value->ndim);
    ix->compute = ix->outs[0].dtype = wick_tensor_dtype(arg_tensor(ix->args, 0));
    return infer_selected(ix, 1, "mask");
}

wick_status *infer_log_sigmoid(op_infer *ix) {
    WICK_TRY(infer_floating(ix));
    ix->outs[1] = ix->outs[0];
    return NULL;
}

wick_status *infer_log_sigmoid_backward(op_infer *ix) {
    WICK_TRY(infer_floating(ix));
    return NULL;
}

static wick_status *glu_geometry(op_infer *ix, const wick_tensor *self, int dim_arg, bool halve) {
    int dim;
    WICK_TRY(wrap_dim(ix->args[dim_arg].as.i, self->ndim, &dim));
    op_meta *m = &ix->outs[0];
    if (self->ndim == 0 || self->sizes[dim] % 2)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "Halving dimension must be even, but dimension %d is size %lld", dim,
                          (long long)(self->ndim ? self->sizes[dim] : 1));
    m->ndim = self->ndim;
    m->dtype = ix->compute = wick_tensor_dtype(self);
    memcpy(m->sizes, self->sizes, sizeof *m->sizes * self->ndim);
    if (halve) m->sizes[dim] = wick_dim_floordiv(self->sizes[dim], 2);
    return wick_dtype_is_floating(m->dtype) ? NULL : refuse(ix, "glu");
}

wick_status *infer_glu(op_infer *ix) { return glu_geometry(ix, arg_tensor(ix->args, 0), 1, true); }
wick_status *infer_glu_backward(op_infer *ix) { return glu_geometry(ix, arg_tensor(ix->args, 1), 2, false); }

wick_status *infer_prelu_backward(op_infer *ix) {
    WICK_TRY(infer_floating(ix));
    ix->outs[1] = ix->outs[0];
    return NULL;
}

/* ---- numbers as tensors ---- */
wick_tensor *wrap_number(wick_context *pub, const wick_value *v) {
    static const wick_dtype dtypes[] = {
        [WICK_TAG_BOOL] = WICK_BOOL, [WICK_TAG_I64] = WICK_I64, [WICK_TAG_F64] = WICK_F64, [WICK_TAG_C128] = WICK_C128};
    context_impl *c = ctx(pub);
    wick_tensor *t, scalar = {.flags = WICK_TENSOR_CONTIGUOUS, .numel = 1, .device = wick_runtime_host(c->rt)};
    wick_status *s = tensor_new_like(c, dtypes[v->tag], &scalar, &t);
    if (fail(c, s)) return NULL;
    t->flags = (uint16_t)((t->flags | WICK_TENSOR_WRAPPED_NUMBER) & ~WICK_TENSOR_INFERENCE);
    if (v->tag == WICK_TAG_BOOL)
        *(uint8_t *)wick_data(t) = v->as.i != 0;
    else if (v->tag == WICK_TAG_C128)
        memcpy(wick_data(t), v->as.c, 2 * sizeof(double));
    else
        memcpy(wick_data(t), &v->as, sizeof(int64_t));
    return scope_own(c, t);
}

/* ---- decompositions ---- */
#define T(i) arg_tensor(args, i)
#define NUMBER(i) wrap_number(c, &args[i])
#define RETURN(expression) (rets[0] = wick_value_tensor(expression))
#define DECOMPOSE(name, expression) \
    void compose_##name(wick_context *c, const wick_value *args, wick_value *rets) { RETURN(expression); }

static wick_value real(double x) { return wick_value_float(x); }

DECOMPOSE(positive, T(0))
DECOMPOSE(square, wick_pow_scalar(c, T(0), wick_value_int(2)))
DECOMPOSE(floor_divide, wick_div_mode(c, T(0), T(1), "floor"))
DECOMPOSE(ldexp_tensor, wick_mul(c, T(0), wick_pow_scalar_base(c, real(2), T(1))))
DECOMPOSE(masked_fill_scalar, wick_where(c, T(1), wick_to_dtype(c, NUMBER(2), wick_tensor_dtype(T(0)), NULL), T(0)))
DECOMPOSE(masked_fill_tensor, wick_where(c, T(1), wick_to_dtype(c, T(2), wick_tensor_dtype(T(0)), NULL), T(0)))
DECOMPOSE(log_sigmoid, wick_log_sigmoid_forward(c, T(0), NULL))

/* One weight, or one for each channel: it is shaped to stand at dimension 1. */
void compose_prelu(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = T(0), *weight = T(1);
    wick_dim sizes[WICK_MAX_DIMS], n = wick_numel(weight), channels = x->ndim > 1 ? wick_size(x, 1) : 1;
    if (weight->ndim > 1 || (n != 1 && (x->ndim == 0 || n != channels))) {
        wick_fail(c,
                  WICK_ERROR(WICK_INVALID_ARGUMENT, "prelu: got %lld weights in %d dimensions, wanted 1 or %lld in 1",
                             (long long)n, weight->ndim, (long long)channels));
        return;
    }
    for (int i = 0; i < x->ndim; ++i) sizes[i] = i == 1 ? n : 1;
    if (weight->ndim != x->ndim) weight = wick_reshape(c, weight, sizes, x->ndim);
    RETURN(wick__prelu_kernel(c, x, weight));
}

/* Phi(x) = (1 + erf(x / sqrt 2)) / 2 */
void compose_special_ndtr(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *e = wick_erf(c, wick_mul_scalar(c, T(0), real(0.70710678118654752440)));
    RETURN(wick_mul_scalar(c, wick_add_scalar(c, e, real(1), NULL), real(0.5)));
}

void compose_isfinite(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = T(0);
    wick_tensor *self_equal = wick_eq(c, x, x);
    if (!wick_dtype_is_differentiable(wick_tensor_dtype(x))) {
        RETURN(self_equal);
        return;
    }
    RETURN(wick_logical_and(c, self_equal, wick_ne_scalar(c, wick_abs(c, x), real(__builtin_inf()))));
}

void compose_isreal(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = T(0);
    bool is_complex = wick_dtype_is_complex(wick_tensor_dtype(x));
    RETURN(is_complex ? wick_eq_scalar(c, wick_imag(c, x), real(0)) : wick_ones_like(c, wick_eq(c, x, x), NULL));
}

/* |a - b| <= atol + rtol |b|, or equal, or both NaN */
void compose_isclose(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *a = T(0), *b = T(1), *close = wick_eq(c, a, b);
    if (args[4].as.i) close = wick_logical_or(c, close, wick_logical_and(c, wick_isnan(c, a), wick_isnan(c, b)));
    wick_tensor *allowed = wick_add_scalar(c, wick_abs(c, wick_mul_scalar(c, b, args[2])), args[3], NULL);
    wick_tensor *off = wick_abs(c, wick_sub(c, a, b, NULL));
    wick_tensor *near = wick_logical_and(c, wick_isfinite(c, off), wick_le(c, off, allowed));
    RETURN(wick_logical_or(c, close, near));
}

/* log Gamma_p(x) = p (p - 1) / 4 log pi + sum_i lgamma(x - i / 2) */
void compose_mvlgamma(wick_context *c, const wick_value *args, wick_value *rets) {
    int64_t p = args[1].as.i;
    wick_tensor *sum = NULL;
    if (p < 1) {
        FAIL(ctx(c), INVALID_ARGUMENT, "p has to be greater than or equal to 1");
        return;
    }
    for (int64_t i = 0; i < p; ++i) {
        wick_tensor *term = wick_lgamma(c, wick_add_scalar(c, T(0), real(-0.5 * (double)i), NULL));
        sum = sum ? wick_add(c, sum, term, NULL) : term;
    }
    RETURN(wick_add_scalar(c, sum, real((double)(p * (p - 1)) / 4.0 * 1.1447298858494001741), NULL));
}

static wick_tensor *as_double(wick_context *c, wick_tensor *t) {
    wick_dtype d = wick_tensor_dtype(t);
    return wick_to_dtype(c, t, wick_dtype_is_complex(d) ? WICK_C128 : WICK_F64, NULL);
}

DECOMPOSE(float_power_tensor_tensor, wick_pow(c, as_double(c, T(0)), as_double(c, T(1))))
DECOMPOSE(float_power_tensor_scalar, wick_pow_scalar(c, as_double(c, T(0)), args[1]))
DECOMPOSE(float_power_scalar,
          wick_pow_scalar_base(c, args[0].tag == WICK_TAG_C128 ? args[0] : real(wick_value_as_double(&args[0])),
                               as_double(c, T(1))))

void compose_relu6(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_hardtanh_options o = WICK_HARDTANH_OPTIONS_INIT;
    o.min_val = wick_value_int(0);
    o.max_val = wick_value_int(6);
    RETURN(wick_hardtanh(c, T(0), &o));
}

/* The halves of x along its dimension `dim`. */
static void halve(wick_context *c, wick_tensor *x, int64_t dim, wick_tensor **a, wick_tensor **b) {
    int64_t half = x->ndim ? wick_size(x, (int)dim) / 2 : 0;
    *a = wick_narrow(c, x, dim, 0, half);
    *b = wick_narrow(c, x, dim, half, half);
}

void compose_glu(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *a, *b;
    halve(c, T(0), args[1].as.i, &a, &b);
    RETURN(wick_mul(c, a, wick_sigmoid(c, b)));
}

void compose_glu_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *a, *b, *parts[2];
    halve(c, T(1), args[2].as.i, &a, &b);
    wick_tensor *gate = wick_sigmoid(c, b);
    parts[0] = wick_mul(c, T(0), gate);
    parts[1] = wick_mul(c, wick_mul(c, T(0), a), wick_sigmoid_backward(c, wick_ones_like(c, gate, NULL), gate));
    RETURN(wick_cat(c, parts, 2, &(wick_cat_options){sizeof(wick_cat_options), args[2].as.i}));
}

void compose_prelu_kernel_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *g = T(0), *x = T(1), *w = T(2), *positive = wick_gt_scalar(c, x, wick_value_int(0));
    rets[0] = wick_value_tensor(wick_where(c, positive, g, wick_mul(c, w, g)));
    rets[1] = wick_value_tensor(wick_where_scalar_self(c, positive, wick_value_int(0), wick_mul(c, x, g)));
}

/* Klambauer et al., Self-Normalizing Neural Networks, 2017 */
void compose_selu(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_elu_options o = WICK_ELU_OPTIONS_INIT;
    o.alpha = real(1.6732632423543772848170429916717);
    o.scale = real(1.0507009873554804934193349852946);
    RETURN(wick_elu(c, T(0), &o));
}

/* where(condition) = nonzero as a tuple of one index tensor a dimension */
void compose_where(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *const *list;
    size_t count = wick_unbind(c, wick_nonzero(c, T(0)), &(wick_unbind_options){sizeof(wick_unbind_options), 1}, &list);
    rets[0] = wick_value_tensors(list, count);
}
