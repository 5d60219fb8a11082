/* Softmax, log-softmax, log-sum-exp. */
#include "boxed.h"
#include "dims.h"
#include "geometry.h"
#include "rows.h"

static wick_status *want_floating(const wick_tensor *t, const char *name) {
    return wick_dtype_is_floating((wick_dtype)t->dtype)
               ? NULL
               : WICK_ERROR(WICK_UNSUPPORTED, "\"%s\" not implemented for '%s'", name,
                            wick_dtype_name((wick_dtype)t->dtype));
}

/* (self, dim, half_to_float) */
wick_status *infer_softmax(op_infer *ix) {
    const wick_tensor *t = arg_tensor(ix->args, 0);
    int dim;
    WICK_TRY(want_floating(t, "softmax"));
    WICK_TRY(wrap_dim(ix->args[1].as.i, t->ndim, &dim));
    meta_like(&ix->outs[0], t);
    if (!ix->args[2].as.i) return NULL;
    if (t->dtype != WICK_F16) return WICK_ERROR(WICK_UNSUPPORTED, "conversion is supported for Half type only");
    ix->outs[0].dtype = WICK_F32;
    return NULL;
}

/* (grad_output, output, dim, input_dtype) */
wick_status *infer_softmax_backward(op_infer *ix) {
    const wick_tensor *t = arg_tensor(ix->args, 0);
    int dim;
    WICK_TRY(want_floating(t, "softmax_backward"));
    WICK_TRY(wrap_dim(ix->args[2].as.i, t->ndim, &dim));
    meta_like(&ix->outs[0], t);
    ix->outs[0].dtype = (wick_dtype)ix->args[3].as.i;
    return NULL;
}

/* (self, dim, dtype) */
wick_status *infer_safe_softmax(op_infer *ix) {
    const wick_tensor *t = arg_tensor(ix->args, 0);
    wick_dtype asked = dtype_or_none(&ix->args[2]);
    int dim;
    WICK_TRY(wrap_dim(ix->args[1].as.i, t->ndim, &dim));
    meta_like(&ix->outs[0], t);
    ix->compute = ix->outs[0].dtype = asked ? asked : (wick_dtype)t->dtype;
    return wick_dtype_is_floating(ix->compute) ? NULL : want_floating(t, "softmax");
}

wick_status *infer_logsumexp(op_infer *ix) {
    const wick_tensor *t = arg_tensor(ix->args, 0);
    op_meta *m = &ix->outs[0];
    uint64_t mask;
    WICK_TRY(dims_mask(&ix->args[1], t->ndim, true, &mask));
    m->ndim = dims_reduce(t, mask, ix->args[2].as.i, m->sizes);
    m->dtype = ix->compute = t->dtype < WICK_F16 ? ctx(ix->c)->dtype : (wick_dtype)t->dtype;
    return NULL;
}

/* ---- decompositions ---- */
/* x less its maximum along dim: nothing overflows. */
static wick_tensor *below_maximum(wick_context *c, wick_tensor *x, int64_t dim) {
    return x->numel ? wick_sub(c, x, CALL(c, amax, V(x), INTS(&dim, 1), BOOLEAN(true)), NULL) : x;
}
static wick_tensor *total(wick_context *c, wick_tensor *x, int64_t dim) { return sum_dims(c, x, &dim, 1, true); }

static wick_tensor *softmax_of(wick_context *c, wick_tensor *x, int64_t dim) {
    wick_tensor *e = x ? wick_exp(c, below_maximum(c, x, dim)) : NULL;
    return wick_div(c, e, total(c, e, dim));
}

void compose_softmax_core(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, cast(c, softmax_of(c, widen(c, T(0)), I(1)), I(2) ? WICK_F32 : (wick_dtype)T(0)->dtype));
}

void compose_log_softmax_core(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = widen(c, T(0)), *low = x ? below_maximum(c, x, I(1)) : NULL;
    wick_tensor *out = wick_sub(c, low, wick_log(c, total(c, wick_exp(c, low), I(1))), NULL);
    give(rets, cast(c, out, I(2) ? WICK_F32 : (wick_dtype)T(0)->dtype));
}

/* y (g - sum(g y)) */
void compose_softmax_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *y = widen(c, T(1)), *weighted = wick_mul(c, widen(c, T(0)), y);
    wick_tensor *out = wick_sub(c, weighted, wick_mul(c, y, total(c, weighted, I(2))), NULL);
    give(rets, cast(c, out, (wick_dtype)I(3)));
}

/* g - e^y sum(g) */
void compose_log_softmax_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *g = widen(c, T(0)), *e = wick_exp(c, widen(c, T(1)));
    give(rets, cast(c, wick_sub(c, g, wick_mul(c, e, total(c, g, I(2))), NULL), (wick_dtype)I(3)));
}

/* Where everything is -inf the result is 0, not NaN. */
void compose_safe_softmax(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_dtype asked = dtype_or_none(&args[2]), dtype = asked ? asked : (wick_dtype)T(0)->dtype;
    wick_tensor *x = cast(c, T(0), compute_dtype(dtype));
    wick_tensor *masked = CALL(c, all_dim, V(wick_eq_scalar(c, x, REAL(-__builtin_inf()))), args[1], BOOLEAN(true));
    give(rets, cast(c, wick_masked_fill(c, softmax_of(c, x, I(1)), masked, NUMBER(0)), dtype));
}

static wick_tensor *as_dtype(wick_context *c, wick_tensor *t, const wick_value *dtype) {
    return dtype->tag ? cast(c, t, (wick_dtype)dtype->as.i) : t;
}
DECOMPOSE(softmax, wick__softmax(c, as_dtype(c, T(0), &args[2]), I(1), false))
DECOMPOSE(log_softmax, wick__log_softmax(c, as_dtype(c, T(0), &args[2]), I(1), false))
DECOMPOSE(special_logsumexp, CALL(c, logsumexp, args[0], args[1], args[2]))

void compose_logsumexp(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_dtype dtype = T(0)->dtype < WICK_F16 ? ctx(c)->dtype : (wick_dtype)T(0)->dtype;
    wick_tensor *x = cast(c, T(0), compute_dtype(dtype));
    if (!T(0)->numel) {
        wick_tensor *sum = CALL(c, sum_dim, V(wick_exp(c, x)), args[1], args[2], NONE);
        give(rets, cast(c, wick_log(c, sum), dtype));
        return;
    }
    wick_tensor *real = wick_dtype_is_complex(dtype) ? wick_real(c, x) : x;
    wick_tensor *top = CALL(c, amax, V(real), args[1], BOOLEAN(true));
    top = wick_masked_fill(c, top, wick_isinf(c, top), NUMBER(0));
    wick_tensor *sum = CALL(c, sum_dim, V(wick_exp(c, wick_sub(c, x, top, NULL))), args[1], args[2], NONE);
    wick_tensor *out = wick_log(c, sum);
    give(rets, cast(c, out ? wick_add(c, out, wick_reshape(c, top, SIZES(out)), NULL) : NULL, dtype));
}
