/* Searching in sorted sequences, membership, histograms. */
#include "boxed.h"
#include "geometry.h"
#include "rows.h"

/* Both sides of a comparison in their common dtype; other tensor arguments as they are. */
static wick_status *common_dtype(op_infer *ix, int first, int second) {
    wick_value pair[OP_MAX_ARGS];
    op_infer only = *ix;
    for (int i = 0; i < ix->op->base_nargs; ++i) pair[i] = i == first || i == second ? ix->args[i] : wick_value_none();
    only.args = pair;
    WICK_TRY(infer_result_type(&only, &ix->compute));
    ix->cast_args = 1u << first | 1u << second;
    if (wick_dtype_is_complex(ix->compute))
        return WICK_ERROR(WICK_UNSUPPORTED, "%s does not support complex dtypes: they have no order", ix->op->name);
    return NULL;
}

/* (sorted_sequence, self, out_int32, right, side, sorter) */
wick_status *infer_searchsorted(op_infer *ix) {
    const wick_tensor *sorted = arg_tensor(ix->args, 0), *x = arg_tensor(ix->args, 1),
                      *sorter = arg_tensor(ix->args, 5);
    const char *side = ix->args[4].tag ? ix->args[4].as.string : NULL;
    if (side && strcmp(side, "left") && strcmp(side, "right"))
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "torch.searchsorted(): side can only be 'left' or 'right' but got %s",
                          side);
    if (side && !strcmp(side, "left") && ix->args[3].as.i)
        return WICK_ERROR(
            WICK_INVALID_ARGUMENT,
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True");
    if (!sorted->ndim)
        return WICK_ERROR(
            WICK_INVALID_ARGUMENT,
            "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension");
    bool fits = sorted->ndim == 1 ||
                (sorted->ndim == x->ndim && !memcmp(sorted->sizes, x->sizes, sizeof *x->sizes * (size_t)(x->ndim - 1)));
    if (!fits)
        return WICK_ERROR(
            WICK_INVALID_ARGUMENT,
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
            "boundaries tensor and input value tensor must match");
    if (sorter && (sorter->dtype != WICK_I64 || sorter->ndim != sorted->ndim ||
                   memcmp(sorter->sizes, sorted->sizes, sizeof *x->sizes * sorted->ndim)))
        return WICK_ERROR(
            WICK_INVALID_ARGUMENT,
            "torch.searchsorted(): boundary and sorter must have the same size, and sorter must be of I64");
    meta_like(&ix->outs[0], x);
    ix->outs[0].dtype = ix->args[2].as.i ? WICK_I32 : WICK_I64;
    return common_dtype(ix, 0, 1);
}

/* (self, boundaries, out_int32, right) */
wick_status *infer_bucketize(op_infer *ix) {
    const wick_tensor *x = arg_tensor(ix->args, 0), *boundaries = arg_tensor(ix->args, 1);
    if (boundaries->ndim != 1)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "boundaries tensor must be 1 dimension, but got dim(%d)",
                          boundaries->ndim);
    meta_like(&ix->outs[0], x);
    ix->outs[0].dtype = ix->args[2].as.i ? WICK_I32 : WICK_I64;
    return common_dtype(ix, 0, 1);
}

wick_status *infer_isin(op_infer *ix) {
    meta_like(&ix->outs[0], arg_tensor(ix->args, 0));
    ix->outs[0].dtype = WICK_BOOL;
    return common_dtype(ix, 0, 1);
}

/* (self, bins, min, max) */
wick_status *infer_histc(op_infer *ix) {
    const wick_tensor *t = arg_tensor(ix->args, 0);
    double low = wick_value_as_double(&ix->args[2]), high = wick_value_as_double(&ix->args[3]);
    if (!wick_dtype_is_floating((wick_dtype)t->dtype))
        return WICK_ERROR(WICK_UNSUPPORTED, "\"histogram_cpu\" not implemented for '%s'",
                          wick_dtype_name((wick_dtype)t->dtype));
    if (ix->args[1].as.i < 1) return WICK_ERROR(WICK_INVALID_ARGUMENT, "torch.histc: bins must be > 0");
    if (high < low) return WICK_ERROR(WICK_INVALID_ARGUMENT, "torch.histc: max must be larger than min");
    meta_set(&ix->outs[0], (wick_dtype)t->dtype, 1, &ix->args[1].as.i);
    return NULL;
}

/* (self, weights, minlength) */
wick_status *infer_bincount(op_infer *ix) {
    const wick_tensor *t = arg_tensor(ix->args, 0), *w = arg_tensor(ix->args, 1);
    if (t->ndim != 1 || wick_dtype_is_differentiable((wick_dtype)t->dtype) || ix->args[2].as.i < 0)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "bincount only supports 1-d non-negative integral inputs.");
    if (w && (w->ndim != 1 || w->numel != t->numel))
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "weights should be 1-d and have the same length as input");
    meta_set(&ix->outs[0], !w ? WICK_I64 : w->dtype == WICK_F32 ? WICK_F32 : WICK_F64, 1, (wick_dim[]){0});
    return NULL;
}

/* ---- numbers in a tensor's place ---- */
#define WRAPPED(i) V(wrap_number(c, &args[i]))
DECOMPOSE(isin_scalar, CALL(c, isin, args[0], WRAPPED(1), args[2], args[3]))
DECOMPOSE(isin_scalar_tensor, CALL(c, isin, WRAPPED(0), args[1], args[2], args[3]))
DECOMPOSE(searchsorted_scalar, CALL(c, searchsorted, args[0], WRAPPED(1), args[2], args[3], args[4], args[5]))
DECOMPOSE(bucketize_scalar, CALL(c, bucketize, WRAPPED(0), args[1], args[2], args[3]))
