/* Distances between vectors. */
#include <math.h>

#include "boxed.h"
#include "geometry.h"
#include "rows.h"

/* ---- all pairs: x1 [..., P, M], x2 [..., R, M] -> [..., P, R] ---- */
static wick_status *check_pairs(op_infer *ix, int at, double p, op_meta *m) {
    const wick_tensor *a = arg_tensor(ix->args, at), *b = arg_tensor(ix->args, at + 1);
    if (a->ndim < 2 || b->ndim < 2)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "cdist only supports at least 2D tensors, X1 got: %dD, X2 got: %dD",
                          a->ndim, b->ndim);
    if (a->sizes[a->ndim - 1] != b->sizes[b->ndim - 1])
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "X1 and X2 must have the same number of columns. X1: %lld X2: %lld",
                          (long long)a->sizes[a->ndim - 1], (long long)b->sizes[b->ndim - 1]);
    if (!(p >= 0)) return WICK_ERROR(WICK_INVALID_ARGUMENT, "cdist only supports non-negative p values");
    if (!wick_dtype_is_floating((wick_dtype)a->dtype) || a->dtype != b->dtype)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "cdist only supports floating-point dtypes, X1 got: %s, X2 got: %s",
                          wick_dtype_name((wick_dtype)a->dtype), wick_dtype_name((wick_dtype)b->dtype));
    m->ndim = a->ndim - 2;
    memcpy(m->sizes, a->sizes, sizeof *m->sizes * (size_t)m->ndim);
    WICK_TRY(infer_broadcast(&m->ndim, m->sizes, b->ndim - 2, b->sizes));
    m->dtype = ix->compute = (wick_dtype)a->dtype;
    return NULL;
}

/* (x1, x2, p, compute_mode) */
wick_status *infer_cdist(op_infer *ix) {
    const wick_tensor *a = arg_tensor(ix->args, 0), *b = arg_tensor(ix->args, 1);
    op_meta *m = &ix->outs[0];
    WICK_TRY(check_pairs(ix, 0, ix->args[2].as.f, m));
    m->sizes[m->ndim++] = a->sizes[a->ndim - 2];
    m->sizes[m->ndim++] = b->sizes[b->ndim - 2];
    return NULL;
}

/* (grad, x1, x2, p, cdist): like x1, with the batch of both */
wick_status *infer_cdist_backward(op_infer *ix) {
    const wick_tensor *a = arg_tensor(ix->args, 1);
    op_meta *m = &ix->outs[0];
    WICK_TRY(check_pairs(ix, 1, ix->args[3].as.f, m));
    m->sizes[m->ndim++] = a->sizes[a->ndim - 2];
    m->sizes[m->ndim++] = a->sizes[a->ndim - 1];
    return NULL;
}

/* ---- the pairs i < j of one set [N, M] ---- */
static wick_status *check_set(op_infer *ix, int at, double p) {
    const wick_tensor *t = arg_tensor(ix->args, at);
    if (t->ndim != 2) return WICK_ERROR(WICK_INVALID_ARGUMENT, "pdist only supports 2D tensors, got: %dD", t->ndim);
    if (!wick_dtype_is_floating((wick_dtype)t->dtype))
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "pdist only supports floating-point dtypes");
    if (!(p >= 0)) return WICK_ERROR(WICK_INVALID_ARGUMENT, "pdist only supports non-negative p values");
    ix->compute = (wick_dtype)t->dtype;
    return NULL;
}
wick_status *infer_pdist(op_infer *ix) {
    wick_dim n = arg_tensor(ix->args, 0)->sizes[0];
    WICK_TRY(check_set(ix, 0, ix->args[1].as.f));
    meta_set(&ix->outs[0], ix->compute, 1, (wick_dim[]){wick_dim_floordiv(wick_dim_mul(n, wick_dim_sub(n, 1)), 2)});
    return NULL;
}
wick_status *infer_pdist_backward(op_infer *ix) {
    WICK_TRY(check_set(ix, 1, ix->args[2].as.f));
    meta_like(&ix->outs[0], arg_tensor(ix->args, 1));
    return NULL;
}

DECOMPOSE(pdist, CALL(c, _pdist_forward, V(wick_contiguous(c, T(0), NULL)), args[1]))
DECOMPOSE(cdist, CALL(c, _cdist_forward, args[0], args[1], args[2], args[3]))

/* The same by way of all differences: what no kernel does (F16), and what is differentiable at any order. */
void compose_cdist_forward(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *a = wick_unsqueeze(c, widen(c, T(0)), -2), *b = wick_unsqueeze(c, widen(c, T(1)), -3);
    int64_t last = -1;
    wick_tensor *off = wick_sub(c, a, b, NULL);
    give(rets, cast_like(c, CALL(c, linalg_vector_norm, V(off), args[2], INTS(&last, 1), BOOLEAN(false), NONE), T(0)));
}

/* ---- one vector with one ---- */
/* (x1, x2, dim, eps): x1 . x2 / (max(|x1|, eps) max(|x2|, eps)) */
void compose_cosine_similarity(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *unit[2];
    int64_t dim = I(2);
    wick_dtype dtype = wick_dtype_promote((wick_dtype)T(0)->dtype, (wick_dtype)T(1)->dtype);
    if (!wick_dtype_is_floating(dtype)) {
        FAIL(ctx(c), INVALID_ARGUMENT, "expected common dtype to be floating point, yet common dtype is %s",
             wick_dtype_name(dtype));
        return;
    }
    int ndim = 0;
    wick_dim sizes[WICK_MAX_DIMS];
    for (int i = 0; i < 2; ++i)
        if (wick_fail(c, infer_broadcast(&ndim, sizes, T(i)->ndim, T(i)->sizes))) return;
    for (int i = 0; i < 2; ++i) {
        wick_tensor *x = expand_of(c, cast(c, T(i), dtype), sizes, (size_t)ndim);
        wick_tensor *norm = CALL(c, linalg_vector_norm, V(x), NUMBER(2), INTS(&dim, 1), BOOLEAN(true), NONE);
        unit[i] = wick_div(c, x, wick_clamp_min(c, norm, args[3]));
    }
    give(rets, sum_dims(c, wick_mul(c, unit[0], unit[1]), &dim, 1, false));
}

/* (x1, x2, p, eps, keepdim): |x1 - x2 + eps| */
void compose_pairwise_distance(wick_context *c, const wick_value *args, wick_value *rets) {
    int64_t last = -1;
    wick_tensor *off = wick_add_scalar(c, wick_sub(c, T(0), T(1), NULL), args[3], NULL);
    give(rets, CALL(c, linalg_vector_norm, V(off), args[2], INTS(&last, 1), args[4], NONE));
}
