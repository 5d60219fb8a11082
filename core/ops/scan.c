/* Running sums, products and extrema; differences and the trapezoidal rule. */
#include "boxed.h"
#include "geometry.h"
#include "rows.h"

static wick_status *scan_like(op_infer *ix, wick_dtype dtype) {
    const wick_tensor *t = arg_tensor(ix->args, 0);
    int dim;
    WICK_TRY(wrap_dim(ix->args[1].as.i, t->ndim, &dim));
    meta_like(&ix->outs[0], t);
    ix->outs[0].dtype = dtype;
    return NULL;
}

/* (self, dim, dtype) */
wick_status *infer_cumsum(op_infer *ix) {
    wick_dtype own = (wick_dtype)arg_tensor(ix->args, 0)->dtype, asked = dtype_or_none(&ix->args[2]);
    bool inplace = ix->op->variant == VARIANT_INPLACE;
    ix->compute = asked ? asked : own < WICK_F16 && !inplace ? WICK_I64 : own;
    return scan_like(ix, ix->compute);
}

wick_status *infer_cummax(op_infer *ix) {
    wick_dtype own = (wick_dtype)arg_tensor(ix->args, 0)->dtype;
    if (wick_dtype_is_complex(own))
        return WICK_ERROR(WICK_UNSUPPORTED, "\"%s_cpu\" not implemented for '%s'", ix->op->name, wick_dtype_name(own));
    WICK_TRY(scan_like(ix, own));
    ix->outs[1] = ix->outs[0];
    ix->outs[1].dtype = WICK_I64;
    return NULL;
}

wick_status *infer_logcumsumexp(op_infer *ix) {
    wick_dtype own = (wick_dtype)arg_tensor(ix->args, 0)->dtype;
    if (!wick_dtype_is_differentiable(own))
        return WICK_ERROR(WICK_UNSUPPORTED, "\"logcumsumexp_out_cpu\" not implemented for '%s'", wick_dtype_name(own));
    return scan_like(ix, own);
}

/* ---- differences ---- */
static wick_tensor *from(wick_context *c, wick_tensor *t, int64_t dim, int64_t start, int64_t count) {
    return count > 0 ? wick_narrow(c, t, dim, start, count) : wick_narrow(c, t, dim, 0, 0);
}

static wick_tensor *difference(wick_context *c, wick_tensor *t, int dim) {
    if (!t) return NULL;
    wick_dim rest = t->sizes[dim] - 1;
    wick_tensor *high = from(c, t, dim, 1, rest), *low = from(c, t, dim, 0, rest);
    return t->dtype == WICK_BOOL ? wick_logical_xor(c, high, low) : wick_sub(c, high, low, NULL);
}

/* (self, n, dim, prepend, append) */
void compose_diff(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *parts[3], *t = T(0);
    int dim;
    size_t count = 0;
    if (t->ndim < 1 || I(1) < 0) {
        FAIL(ctx(c), INVALID_ARGUMENT,
             t->ndim < 1 ? "diff expects input to be at least one-dimensional"
                         : "order must be non-negative but got %lld",
             (long long)I(1));
        return;
    }
    if (wick_fail(c, wrap_dim(I(2), t->ndim, &dim))) return;
    if (I(1) == 0) {
        give(rets, wick_clone(c, t, NULL));
        return;
    }
    if (T(3)) parts[count++] = T(3);
    parts[count++] = t;
    if (T(4)) parts[count++] = T(4);
    if (count > 1) t = cat_of(c, parts, count, dim);
    for (int64_t i = 0; i < I(1) && t && (i == 0 || t->sizes[dim] > 0); ++i) t = difference(c, t, dim);
    give(rets, t);
}

/* ---- integration ---- */
/* The sum of each two neighbours along dim. */
static wick_tensor *pairs(wick_context *c, wick_tensor *y, int dim) {
    wick_dim rest = y->sizes[dim] - 1;
    return wick_add(c, from(c, y, dim, 1, rest), from(c, y, dim, 0, rest), NULL);
}

/* Positions x along dim of y: as a vector or with fewer dimensions; returns their distances. */
static wick_tensor *distances(wick_context *c, wick_tensor *x, const wick_tensor *y, int dim) {
    wick_dim sizes[WICK_MAX_DIMS];
    for (int i = 0; i < y->ndim; ++i) {
        int k = i - (y->ndim - x->ndim);
        sizes[i] = x->ndim == 1 ? (i == dim ? x->sizes[0] : 1) : k >= 0 ? x->sizes[k] : 1;
    }
    if (x->ndim == 1 || x->ndim < y->ndim) x = wick_reshape(c, x, sizes, (size_t)y->ndim);
    return difference(c, x, dim + (x ? x->ndim - y->ndim : 0));
}

static bool integration_dim(wick_context *c, const wick_value *args, int arg, int *dim) {
    return !wick_fail(c, wrap_dim(I(arg), T(0)->ndim, dim));
}
static wick_tensor *halved(wick_context *c, wick_tensor *t) { return wick_div_scalar(c, t, REAL(2)); }

void compose_trapezoid_dx(wick_context *c, const wick_value *args, wick_value *rets) {
    int dim;
    if (!integration_dim(c, args, 2, &dim)) return;
    wick_tensor *sums = sum_dims(c, pairs(c, T(0), dim), (int64_t[]){dim}, 1, false);
    give(rets, wick_mul_scalar(c, halved(c, sums), args[1]));
}
void compose_trapezoid_x(wick_context *c, const wick_value *args, wick_value *rets) {
    int dim;
    if (!integration_dim(c, args, 2, &dim)) return;
    wick_tensor *areas = wick_mul(c, pairs(c, T(0), dim), distances(c, T(1), T(0), dim));
    give(rets, halved(c, sum_dims(c, areas, (int64_t[]){areas ? dim + areas->ndim - T(0)->ndim : 0}, 1, false)));
}
void compose_cumulative_trapezoid_dx(wick_context *c, const wick_value *args, wick_value *rets) {
    int dim;
    if (!integration_dim(c, args, 2, &dim)) return;
    wick_tensor *areas = wick_mul_scalar(c, pairs(c, T(0), dim), REAL(F(1) / 2));
    give(rets, wick_cumsum(c, areas, dim, NULL));
}
void compose_cumulative_trapezoid_x(wick_context *c, const wick_value *args, wick_value *rets) {
    int dim;
    if (!integration_dim(c, args, 2, &dim)) return;
    wick_tensor *areas = wick_mul(c, pairs(c, T(0), dim), distances(c, T(1), T(0), dim));
    give(rets, halved(c, wick_cumsum(c, areas, areas ? dim + areas->ndim - T(0)->ndim : 0, NULL)));
}

/* ---- the gradient of cumprod ---- */
/* Sums from each position to the end. */
static wick_tensor *cumsum_back(wick_context *c, wick_tensor *t, int64_t dim) {
    return wick_flip(c, wick_cumsum(c, wick_flip(c, t, &dim, 1), dim, NULL), &dim, 1);
}

/* d out[j] / d in[k] for all j >= k: the product of the first j + 1 elements without the k-th. */
static wick_tensor *products_without(wick_context *c, wick_tensor *in, int64_t dim, int64_t k) {
    wick_dim size = in->sizes[dim];
    wick_prod_dim_options keep = WICK_PROD_DIM_OPTIONS_INIT;
    keep.keepdim = true;
    wick_tensor *before = wick_prod_dim(c, wick_narrow(c, in, dim, 0, k), dim, &keep);
    if (k == size - 1) return before;
    wick_tensor *after = wick_cumprod(c, wick_narrow(c, in, dim, k + 1, size - k - 1), dim, NULL);
    return cat_of(c, (wick_tensor *[]){before, wick_mul(c, before, after)}, 2, dim);
}

static wick_tensor *cumprod_backward_with_zeros(wick_context *c, wick_tensor *grad, wick_tensor *in, int64_t dim) {
    wick_dim size = in->sizes[dim];
    wick_tensor **parts = scope_array(ctx(c), (size_t)size);
    for (int64_t k = 0; parts && k < size && !wick_failed(c); ++k) {
        wick_tensor *slopes = wick_conj(c, products_without(c, in, dim, k));
        wick_tensor *reached = wick_narrow(c, grad, dim, k, size - k);
        parts[k] = sum_dims(c, wick_mul(c, reached, slopes), &dim, 1, true);
    }
    return wick_failed(c) || !parts ? NULL : cat_of(c, parts, (size_t)size, dim);
}

/* Without zeros among the inputs, sum over j >= k of grad[j] out[j] / in[k]. (grad, input, dim, output) */
void compose_cumprod_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *grad = T(0), *in = T(1);
    int dim;
    if (wick_fail(c, wrap_dim(I(2), in->ndim, &dim))) return;
    if (in->numel <= 1 || in->sizes[dim] == 1) {
        give(rets, grad);
        return;
    }
    wick_tensor *any_zero = wick_any(c, wick_eq_scalar(c, in, NUMBER(0)));
    if (any_zero && wick_item_int(c, any_zero)) {
        give(rets, cumprod_backward_with_zeros(c, grad, in, dim));
        return;
    }
    wick_tensor *weighted = wick_mul(c, wick_conj(c, T(3)), grad);
    give(rets, wick_div(c, cumsum_back(c, weighted, dim), wick_conj(c, in)));
}
