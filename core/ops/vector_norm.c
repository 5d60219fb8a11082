/* Norms of vectors and matrices. */
#include <math.h>

#include "boxed.h"
#include "dims.h"
#include "geometry.h"
#include "rows.h"

/* (self, ord, dim, keepdim, dtype) */
static wick_status *refuse_identity(const wick_tensor *t, double ord, const wick_value *dims, uint64_t mask) {
    if (t->numel || !(ord < 0 || isinf(ord))) return NULL;
    if (dims->tag == WICK_TAG_NONE || !dims->count)
        return WICK_ERROR(
            WICK_INVALID_ARGUMENT,
            "linalg.vector_norm cannot compute the %g norm on an empty tensor because the operation does not "
            "have an identity",
            ord);
    for (int i = 0; i < t->ndim; ++i)
        if (mask >> i & 1 && t->sizes[i] == 0)
            return WICK_ERROR(
                WICK_INVALID_ARGUMENT,
                "linalg.vector_norm cannot compute the %g norm on the dimension %d because this dimension is "
                "empty and the operation does not have an identity",
                ord, i);
    return NULL;
}

wick_status *infer_vector_norm(op_infer *ix) {
    const wick_tensor *t = arg_tensor(ix->args, 0);
    wick_dtype own = (wick_dtype)t->dtype, asked = dtype_or_none(&ix->args[4]);
    op_meta *m = &ix->outs[0];
    uint64_t mask;
    if (!wick_dtype_is_differentiable(own))
        return WICK_ERROR(WICK_UNSUPPORTED,
                          "linalg.vector_norm: Expected a floating point or complex tensor as input. Got %s",
                          wick_dtype_name(own));
    if (asked && (!wick_dtype_is_differentiable(asked) || wick_dtype_is_complex(asked) != wick_dtype_is_complex(own)))
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "linalg.vector_norm: dtype should be %s for %s inputs, but got %s",
                          wick_dtype_is_complex(own) ? "complex" : "real",
                          wick_dtype_is_complex(own) ? "complex" : "real", wick_dtype_name(asked));
    WICK_TRY(dims_mask(&ix->args[2], t->ndim, true, &mask));
    WICK_TRY(refuse_identity(t, wick_value_as_double(&ix->args[1]), &ix->args[2], mask));
    m->ndim = dims_reduce(t, mask, ix->args[3].as.i, m->sizes);
    ix->compute = asked ? asked : own;
    m->dtype = dtype_to_real(ix->compute);
    return NULL;
}

void compose_vector_norm(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_dtype asked = dtype_or_none(&args[4]), dtype = asked ? asked : (wick_dtype)T(0)->dtype;
    double ord = F(1);
    wick_value keep = args[3], dims = args[2].tag ? args[2] : INTS(&args[1].as.i, 0); /* amax knows no None */
    wick_tensor *x = cast(c, T(0), compute_dtype(dtype)), *size = wick_abs(c, x), *out;
    if (ord == INFINITY)
        out = CALL(c, amax, V(size), dims, keep);
    else if (ord == -INFINITY)
        out = CALL(c, amin, V(size), dims, keep);
    else if (ord == 0)
        out = CALL(c, sum_dim, V(wick_ne_scalar(c, x, NUMBER(0))), args[2], keep, NONE);
    else if (ord == 1)
        out = CALL(c, sum_dim, V(size), args[2], keep, NONE);
    else if (ord == 2)
        out = wick_sqrt(c, CALL(c, sum_dim, V(wick_mul(c, size, size)), args[2], keep, NONE));
    else
        out = wick_pow_scalar(c, CALL(c, sum_dim, V(wick_pow_scalar(c, size, REAL(ord))), args[2], keep, NONE),
                              REAL(1 / ord));
    give(rets, cast(c, out, dtype_to_real(dtype)));
}

/* ---- older names ---- */
static wick_value two_if_none(const wick_value *p) { return p->tag ? *p : NUMBER(2); }

DECOMPOSE(norm, CALL(c, linalg_vector_norm, args[0], args[1], NONE, BOOLEAN(false), NONE))
DECOMPOSE(norm_dim, CALL(c, linalg_vector_norm, args[0], two_if_none(&args[1]), args[2], args[3], NONE))
DECOMPOSE(norm_dim_dtype, CALL(c, linalg_vector_norm, args[0], two_if_none(&args[1]), args[2], args[3], args[4]))
DECOMPOSE(frobenius_norm, CALL(c, linalg_vector_norm, args[0], NUMBER(2), args[1], args[2], NONE))
DECOMPOSE(dist, CALL(c, norm, V(wick_sub(c, T(0), T(1), NULL)), args[2]))

/* ---- matrices ---- */
static void refuse_spectral(wick_context *c, const char *what) {
    FAIL(ctx(c), UNSUPPORTED, "%s needs singular values, and no operator computes them", what);
}

/* (self, ord, dim, keepdim, dtype): the largest (ord > 0) or smallest sum of magnitudes of a column (1) or row (inf). */
void compose_matrix_norm(wick_context *c, const wick_value *args, wick_value *rets) {
    double ord = F(1), size = fabs(ord);
    int rows, columns;
    bool keep = I(3) != 0;
    if (T(0)->ndim < 2 || args[2].count != 2) {
        FAIL(ctx(c), INVALID_ARGUMENT,
             "linalg.matrix_norm: The input tensor must have at least 2 dimensions and dim must name 2");
        return;
    }
    if (wick_fail(c, wrap_dim(args[2].as.ints[0], T(0)->ndim, &rows)) ||
        wick_fail(c, wrap_dim(args[2].as.ints[1], T(0)->ndim, &columns)))
        return;
    if (rows == columns) {
        FAIL(ctx(c), INVALID_ARGUMENT, "linalg.matrix_norm: dims must be different. Got (%d, %d)", rows, columns);
        return;
    }
    if (size == 2) {
        refuse_spectral(c, "linalg.matrix_norm of order 2");
        return;
    }
    if (size != 1 && size != INFINITY) {
        FAIL(ctx(c), INVALID_ARGUMENT, "linalg.matrix_norm: Order %g not supported.", ord);
        return;
    }
    int64_t summed = size == 1 ? rows : columns, compared = size == 1 ? columns : rows;
    wick_tensor *sums = CALL(c, linalg_vector_norm, args[0], NUMBER(1), INTS(&summed, 1), args[3], args[4]);
    if (compared > summed && !keep) compared--;
    give(rets, ord > 0 ? CALL(c, amax, V(sums), INTS(&compared, 1), args[3])
                       : CALL(c, amin, V(sums), INTS(&compared, 1), args[3]));
}

void compose_linalg_norm(wick_context *c, const wick_value *args, wick_value *rets) {
    static const int64_t last_two[] = {-2, -1};
    bool named = args[2].tag != WICK_TAG_NONE;
    uint32_t dims = named ? args[2].count : (uint32_t)T(0)->ndim;
    if (!args[1].tag || dims == 1) {
        give(rets, CALL(c, linalg_vector_norm, args[0], two_if_none(&args[1]), args[2], args[3], args[4]));
    } else if (dims == 2) {
        give(rets,
             CALL(c, linalg_matrix_norm, args[0], args[1], named ? args[2] : INTS(last_two, 2), args[3], args[4]));
    } else {
        FAIL(ctx(c), INVALID_ARGUMENT,
             named ? "linalg.norm: If dim is specified, it must be of length 1 or 2. Got %u"
                   : "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got %uD.",
             dims);
    }
}

void compose_nuclear_norm(wick_context *c, const wick_value *args, wick_value *rets) {
    refuse_spectral(c, "nuclear_norm");
}

/* ---- renorm(self, p, dim, maxnorm): slices along dim whose norm is above maxnorm shrink to it ---- */
void compose_renorm(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = widen(c, T(0));
    int dim;
    int64_t others[WICK_MAX_DIMS];
    if (T(0)->ndim < 2 || F(1) <= 0 || F(3) < 0) {
        FAIL(ctx(c), INVALID_ARGUMENT,
             "renorm: input needs at least 2 dimensions, got %d; p must be positive and maxnorm >= 0", T(0)->ndim);
        return;
    }
    if (wick_fail(c, wrap_dim(I(2), T(0)->ndim, &dim))) return;
    int n = dims_list(MAX_MASK(T(0)->ndim) & ~(1ull << dim), T(0)->ndim, others);
    wick_tensor *norm = CALL(c, linalg_vector_norm, V(x), args[1], INTS(others, n), BOOLEAN(true), NONE);
    wick_tensor *above = wick_gt_scalar(c, norm, args[3]);
    wick_tensor *shrunk = wick_mul_scalar(c, wick_reciprocal(c, wick_add_scalar(c, norm, REAL(1e-7), NULL)), args[3]);
    wick_tensor *factor = wick_where_scalar_other(c, above, shrunk, NUMBER(1));
    give(rets, cast_like(c, wick_mul(c, x, factor), T(0)));
}
