/* Sorting, order statistics, quantiles, unique values. Error texts are PyTorch's. */
#include <math.h>

#include "boxed.h"
#include "dims.h"
#include "geometry.h"
#include "rows.h"

/* ---- shape rules ---- */
static wick_status *pair_like(op_infer *ix, const wick_tensor *t) {
    meta_like(&ix->outs[0], t);
    meta_like(&ix->outs[1], t);
    ix->outs[1].dtype = WICK_I64;
    return NULL;
}
static wick_status *want_order(const op_infer *ix, const wick_tensor *t) {
    if (!wick_dtype_is_complex((wick_dtype)t->dtype)) return NULL;
    return WICK_ERROR(WICK_UNSUPPORTED, "%s does not support complex dtypes: they have no order", ix->op->name);
}
static wick_dim size_at(const wick_tensor *t, int dim) { return t->ndim ? t->sizes[dim] : 1; }

/* (self, stable, dim, descending) */
wick_status *infer_sort(op_infer *ix) {
    const wick_tensor *t = arg_tensor(ix->args, 0);
    int dim;
    WICK_TRY(want_order(ix, t));
    WICK_TRY(wrap_dim(ix->args[2].as.i, t->ndim, &dim));
    return pair_like(ix, t);
}

/* (self, k, dim, largest, sorted) */
wick_status *infer_topk(op_infer *ix) {
    const wick_tensor *t = arg_tensor(ix->args, 0);
    int dim;
    WICK_TRY(want_order(ix, t));
    WICK_TRY(wrap_dim(ix->args[2].as.i, t->ndim, &dim));
    if (ix->args[1].as.i < 0 || ix->args[1].as.i > size_at(t, dim))
        return WICK_ERROR(WICK_OUT_OF_RANGE, "selected index k out of range");
    WICK_TRY(pair_like(ix, t));
    for (int i = 0; i < 2 && t->ndim; ++i) ix->outs[i].sizes[dim] = ix->args[1].as.i;
    return NULL;
}

/* One element of each line along argument `dim_arg`. */
static wick_status *one_of_line(op_infer *ix, int dim_arg, bool allow_empty) {
    const wick_tensor *t = arg_tensor(ix->args, 0);
    char name[64] = {0};
    int dim;
    WICK_TRY(want_order(ix, t));
    WICK_TRY(wrap_dim(ix->args[dim_arg].as.i, t->ndim, &dim));
    memcpy(name, ix->op->name, strcspn(ix->op->name, ".") < 63 ? strcspn(ix->op->name, ".") : 63);
    if (!allow_empty && size_at(t, dim) == 0)
        return WICK_ERROR(WICK_OUT_OF_RANGE, "%s(): Expected reduction dim %d to have non-zero size.", name, dim);
    WICK_TRY(pair_like(ix, t));
    for (int i = 0; i < 2; ++i)
        ix->outs[i].ndim = dims_reduce(t, 1ull << dim, ix->args[dim_arg + 1].as.i, ix->outs[i].sizes);
    return NULL;
}
wick_status *infer_median(op_infer *ix) { return one_of_line(ix, 1, false); }
wick_status *infer_kthvalue(op_infer *ix) {
    const wick_tensor *t = arg_tensor(ix->args, 0);
    int dim;
    WICK_TRY(wrap_dim(ix->args[2].as.i, t->ndim, &dim));
    if (t->numel && (ix->args[1].as.i < 1 || ix->args[1].as.i > size_at(t, dim)))
        return WICK_ERROR(WICK_OUT_OF_RANGE, "kthvalue(): selected number k out of range for dimension %d", dim);
    return one_of_line(ix, 2, false);
}

/* ---- decompositions ---- */
#define SECOND(c, op, ...)                                               \
    do {                                                                 \
        wick_value both_[2];                                             \
        if (CALL_MANY(c, op, both_, 2, __VA_ARGS__)) rets[0] = both_[1]; \
    } while (0)

void compose_sort(wick_context *c, const wick_value *args, wick_value *rets) {
    CALL_MANY(c, sort_stable, rets, 2, args[0], BOOLEAN(false), args[1], args[2]);
}
void compose_argsort(wick_context *c, const wick_value *args, wick_value *rets) {
    SECOND(c, sort_stable, args[0], BOOLEAN(false), args[1], args[2]);
}
void compose_argsort_stable(wick_context *c, const wick_value *args, wick_value *rets) {
    SECOND(c, sort_stable, args[0], args[1], args[2], args[3]);
}
void compose_msort(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_value both[2];
    if (CALL_MANY(c, sort, both, 2, args[0], NUMBER(0), BOOLEAN(false))) rets[0] = both[0];
}

/* The median of all elements; NaN if there are none. */
static void median_of_all(wick_context *c, const wick_value *args, wick_value *rets, int op) {
    wick_value both[2];
    if (!T(0)->numel) {
        give(rets, wick_new_full(c, T(0), NULL, 0,
                                 wick_dtype_is_floating((wick_dtype)T(0)->dtype) ? REAL(NAN) : NUMBER(0), NULL));
        return;
    }
    const wick_value call[] = {V(flat(c, T(0))), NUMBER(0), BOOLEAN(false)};
    if (op_calln(c, op, call, 3, both, 2)) rets[0] = both[0];
}
void compose_median(wick_context *c, const wick_value *args, wick_value *rets) {
    median_of_all(c, args, rets, OP_ID_median_dim);
}
void compose_nanmedian(wick_context *c, const wick_value *args, wick_value *rets) {
    median_of_all(c, args, rets, OP_ID_nanmedian_dim);
}

/* (grad, dim, indices, sizes, keepdim) */
void compose_selecting_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *g = T(0), *index = T(2);
    if (!I(4) && args[3].count > 0) g = wick_unsqueeze(c, g, I(1)), index = wick_unsqueeze(c, index, I(1));
    give(rets, wick_scatter(c, zeros_of(c, g, LIST(args[3])), I(1), index, g));
}

/* ---- quantiles: (self, q, dim, keepdim, interpolation) ---- */
enum interpolation { LINEAR, LOWER, HIGHER, MIDPOINT, NEAREST, INTERPOLATIONS };

static int interpolation_of(const char *name) {
    static const char *const names[] = {"linear", "lower", "higher", "midpoint", "nearest"};
    int i = 0;
    while (i < INTERPOLATIONS && strcmp(name, names[i])) ++i;
    return i;
}

static bool check_quantile(wick_context *c, wick_tensor *x, wick_tensor *q, const char *interpolation) {
    if (!q || !x) return false;
    if (x->dtype != WICK_F32 && x->dtype != WICK_F64)
        return !FAIL(ctx(c), INVALID_ARGUMENT, "quantile() input tensor must be either float or double dtype");
    if (q->ndim > 1) return !FAIL(ctx(c), INVALID_ARGUMENT, "quantile() q must be a scalar or 1D tensor");
    if (q->dtype != x->dtype)
        return !FAIL(ctx(c), INVALID_ARGUMENT, "quantile() q tensor must be same dtype as the input tensor");
    if (interpolation_of(interpolation) == INTERPOLATIONS)
        return !FAIL(ctx(c), INVALID_ARGUMENT,
                     "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got %s",
                     interpolation);
    if (!x->numel) return !FAIL(ctx(c), INVALID_ARGUMENT, "quantile() input tensor must be non-empty");
    wick_tensor *outside = wick_logical_or(c, wick_lt_scalar(c, q, NUMBER(0)), wick_gt_scalar(c, q, NUMBER(1)));
    if (wick_item_int(c, wick_any(c, outside)))
        return !FAIL(ctx(c), INVALID_ARGUMENT, "quantile() q values must be in the range [0, 1]");
    return !wick_failed(c);
}

/* Position of each quantile among the sorted elements of a line: [..., Q]. NaN sorts last. */
static wick_tensor *ranks_of(wick_context *c, wick_tensor *sorted, wick_tensor *q, bool ignore_nan) {
    wick_dim last = sorted->sizes[sorted->ndim - 1] - 1;
    wick_tensor *nan = wick_isnan(c, sorted);
    if (ignore_nan) {
        wick_tensor *present = sum_dims(c, wick_logical_not(c, nan), (int64_t[]){-1}, 1, true);
        wick_tensor *ranks = wick_mul(c, q, wick_add_scalar(c, present, NUMBER(-1), NULL));
        return wick_clamp_min(c, ranks, NUMBER(0));
    }
    wick_any_dim_options keep = WICK_ANY_DIM_OPTIONS_INIT;
    keep.keepdim = true;
    wick_tensor *ranks = wick_mul_scalar(c, q, NUMBER(last)), *poisoned = wick_any_dim(c, nan, -1, &keep);
    return wick_where_scalar_self(c, poisoned, REAL((double)last), ranks);
}

static wick_tensor *values_at(wick_context *c, wick_tensor *sorted, wick_tensor *ranks, int mode) {
    if (mode == LOWER) ranks = wick_floor(c, ranks);
    if (mode == HIGHER) ranks = wick_ceil(c, ranks);
    if (mode == NEAREST) ranks = wick_round(c, ranks);
    wick_tensor *below = cast(c, ranks, WICK_I64), *low = wick_gather(c, sorted, -1, below, NULL);
    if (mode != LINEAR && mode != MIDPOINT) return low;
    wick_tensor *high = wick_gather(c, sorted, -1, cast(c, wick_ceil(c, ranks), WICK_I64), NULL);
    wick_tensor *weight =
        mode == MIDPOINT ? wick_full_like(c, ranks, REAL(0.5), NULL) : wick_sub(c, ranks, below, NULL);
    return wick_lerp(c, low, high, weight);
}

/* The lines that are reduced, along a last dimension. */
static wick_tensor *lines_of(wick_context *c, wick_tensor *x, const wick_value *dim, int wrapped) {
    if (dim->tag == WICK_TAG_NONE) return flat(c, x);
    return wick_transpose(c, wick_unsqueeze(c, x, -1), wrapped, -1);
}

static void quantile(wick_context *c, const wick_value *args, wick_value *rets, wick_tensor *q, bool ignore_nan) {
    wick_tensor *x = T(0);
    const wick_value *dim = &args[2];
    wick_dim sizes[WICK_MAX_DIMS + 1];
    wick_value both[2];
    int wrapped = 0, n = 0;
    if (!check_quantile(c, x, q, args[4].as.string)) return;
    if (dim->tag && wick_fail(c, wrap_dim(dim->as.i, x->ndim, &wrapped))) return;
    /* lines are [..., 1 in dim's place..., n]: the quantiles of one line end up in the last dimension */
    wick_tensor *lines = x->ndim ? lines_of(c, x, dim, wrapped) : flat(c, x);
    if (!CALL_MANY(c, sort, both, 2, V(lines), NUMBER(-1), BOOLEAN(false))) return;
    wick_tensor *sorted = both[0].as.tensor,
                *ranks = ranks_of(c, sorted, q->ndim ? q : wick_unsqueeze(c, q, 0), ignore_nan);
    if (!ranks) return;
    wick_dim expanded[WICK_MAX_DIMS + 1];
    memcpy(expanded, sorted->sizes, sizeof *expanded * sorted->ndim);
    expanded[sorted->ndim - 1] = q->numel;
    ranks = expand_of(c, ranks, expanded, sorted->ndim);
    wick_tensor *out = wick_movedim_int(c, values_at(c, sorted, ranks, interpolation_of(args[4].as.string)), -1, 0);
    if (q->ndim) sizes[n++] = q->numel;
    uint64_t mask = dim->tag ? 1ull << wrapped : MAX_MASK(x->ndim);
    n += dims_reduce(x, mask, I(3), sizes + n);
    give(rets, wick_reshape(c, out, sizes, (size_t)n));
}

static wick_tensor *as_quantile(wick_context *c, const wick_value *args) {
    wick_scalar_tensor_options o = WICK_SCALAR_TENSOR_OPTIONS_INIT;
    o.dtype = (wick_dtype)T(0)->dtype, o.device = T(0)->device;
    if (F(1) < 0 || F(1) > 1) {
        FAIL(ctx(c), INVALID_ARGUMENT, "quantile() q must be in the range [0, 1] but got %g", F(1));
        return NULL;
    }
    return wick_scalar_tensor(c, args[1], &o);
}
void compose_quantile(wick_context *c, const wick_value *args, wick_value *rets) {
    quantile(c, args, rets, T(1), false);
}
void compose_quantile_scalar(wick_context *c, const wick_value *args, wick_value *rets) {
    quantile(c, args, rets, as_quantile(c, args), false);
}
void compose_nanquantile(wick_context *c, const wick_value *args, wick_value *rets) {
    quantile(c, args, rets, T(1), true);
}
void compose_nanquantile_scalar(wick_context *c, const wick_value *args, wick_value *rets) {
    quantile(c, args, rets, as_quantile(c, args), true);
}

/* ---- unique values: the kernels set the sizes ---- */
static wick_status *start_unique(op_infer *ix, const wick_tensor *t, int ndim) {
    wick_dim none[WICK_MAX_DIMS] = {0};
    if (ndim > 1) memcpy(none, t->sizes, sizeof *none * (size_t)ndim);
    meta_set(&ix->outs[0], (wick_dtype)t->dtype, ndim, none);
    for (int i = 1; i < 3; ++i) meta_set(&ix->outs[i], WICK_I64, 1, (wick_dim[]){0});
    return want_order(ix, t);
}
wick_status *infer_unique(op_infer *ix) { return start_unique(ix, arg_tensor(ix->args, 0), 1); }
wick_status *infer_unique_consecutive(op_infer *ix) {
    const wick_tensor *t = arg_tensor(ix->args, 0);
    int dim;
    if (ix->args[3].tag == WICK_TAG_NONE) return start_unique(ix, t, 1);
    WICK_TRY(wrap_dim(ix->args[3].as.i, t->ndim, &dim));
    return start_unique(ix, t, t->ndim ? t->ndim : 1);
}
wick_status *infer_unique_dim(op_infer *ix) {
    const wick_tensor *t = arg_tensor(ix->args, 0);
    int dim;
    WICK_TRY(wrap_dim(ix->args[1].as.i, t->ndim, &dim));
    return start_unique(ix, t, t->ndim ? t->ndim : 1);
}
