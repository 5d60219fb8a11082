/* Sums, means, products, extrema and truth over dimensions. Error texts are PyTorch's. */
#include "boxed.h"
#include "dims.h"
#include "geometry.h"
#include "rows.h"

static const wick_tensor *self_of(const op_infer *ix) { return arg_tensor(ix->args, 0); }
static wick_dtype dtype_of(const op_infer *ix) { return (wick_dtype)self_of(ix)->dtype; }

/* Output 0 is `self` without the dimensions of argument `dims_arg` (-1: all). keep_arg -1: they go. */
static wick_status *reduce(op_infer *ix, int dims_arg, int keep_arg, bool empty_is_all, wick_dtype dtype) {
    static const wick_value all = {.tag = WICK_TAG_NONE};
    op_meta *m = &ix->outs[0];
    uint64_t mask;
    WICK_TRY(dims_mask(dims_arg < 0 ? &all : &ix->args[dims_arg], self_of(ix)->ndim, empty_is_all, &mask));
    m->ndim = dims_reduce(self_of(ix), mask, keep_arg >= 0 && ix->args[keep_arg].as.i, m->sizes);
    m->dtype = dtype;
    return NULL;
}

static wick_status *refuse_dtype(const op_infer *ix, const char *what) {
    return WICK_ERROR(WICK_UNSUPPORTED, "%s not implemented for '%s'", what, wick_dtype_name(dtype_of(ix)));
}

/* ---- sums and products ---- */
/* The dtype asked for; else integers and bool add up in I64. */
static wick_dtype sum_dtype(const op_infer *ix, int dtype_arg) {
    wick_dtype asked = dtype_or_none(&ix->args[dtype_arg]);
    return asked ? asked : dtype_of(ix) < WICK_F16 ? WICK_I64 : dtype_of(ix);
}

static wick_status *infer_sum_like(op_infer *ix, int dims_arg, int keep_arg, int dtype_arg) {
    ix->compute = sum_dtype(ix, dtype_arg);
    return reduce(ix, dims_arg, keep_arg, true, ix->compute);
}

wick_status *infer_sum(op_infer *ix) { return infer_sum_like(ix, 1, 2, 3); }
wick_status *infer_prod(op_infer *ix) { return infer_sum_like(ix, -1, -1, 1); }
wick_status *infer_nansum(op_infer *ix) {
    return wick_dtype_is_complex(dtype_of(ix)) ? refuse_dtype(ix, "nansum does not support complex inputs: nansum")
                                               : infer_sum(ix);
}

wick_status *infer_mean(op_infer *ix) {
    wick_dtype asked = dtype_or_none(&ix->args[3]), dtype = asked ? asked : dtype_of(ix);
    if (!wick_dtype_is_differentiable(dtype))
        return WICK_ERROR(
            WICK_UNSUPPORTED,
            "mean(): could not infer output dtype. %s dtype must be either a floating point or complex dtype. Got: %s",
            asked ? "Optional" : "Input", wick_dtype_name(dtype));
    ix->compute = dtype;
    return reduce(ix, 1, 2, true, dtype);
}

DECOMPOSE(sum, CALL(c, sum_dim, args[0], NONE, BOOLEAN(false), args[1]))
DECOMPOSE(mean, CALL(c, mean_dim, args[0], NONE, BOOLEAN(false), args[1]))

/* The sum over the count; F16 and BF16 add up in F32. */
void compose_mean_dim(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_dtype asked = dtype_or_none(&args[3]), dtype = asked ? asked : (wick_dtype)T(0)->dtype;
    uint64_t mask;
    if (wick_fail(c, dims_mask(&args[1], T(0)->ndim, true, &mask))) return;
    wick_dim n = dims_count(T(0)->ndim, T(0)->sizes, mask);
    wick_tensor *sum = CALL(c, sum_dim, args[0], args[1], args[2], DTYPE(compute_dtype(dtype)));
    give(rets, cast(c, wick_div_scalar(c, sum, REAL((double)n)), dtype));
}

static wick_tensor *without_nan(wick_context *c, wick_tensor *t) {
    return wick_dtype_is_floating((wick_dtype)t->dtype) ? wick_where_scalar_self(c, wick_isnan(c, t), NUMBER(0), t) : t;
}
DECOMPOSE(nansum, CALL(c, sum_dim, V(without_nan(c, T(0))), args[1], args[2], args[3]))

void compose_nanmean(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_dtype dtype = (wick_dtype)T(0)->dtype;
    if (!wick_dtype_is_differentiable(dtype)) {
        FAIL(ctx(c), UNSUPPORTED, "nanmean(): expected input to have floating point or complex dtype but got %s",
             wick_dtype_name(dtype));
        return;
    }
    wick_tensor *counted = wick_logical_not(c, wick_isnan(c, T(0)));
    wick_tensor *count = CALL(c, sum_dim, V(counted), args[1], args[2], NONE);
    give(rets, wick_div(c, CALL(c, nansum, args[0], args[1], args[2], args[3]), count));
}

/* Sums the leading dimensions away and those that the target has as 1. */
void compose_sum_to_size(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = T(0);
    if (!args[1].count) {
        give(rets, wick_sum(c, t, NULL));
        return;
    }
    int lead = t->ndim - (int)args[1].count, n = 0;
    int64_t dims[WICK_MAX_DIMS];
    bool fits = lead >= 0;
    for (int i = 0; fits && i < t->ndim; ++i) {
        wick_dim want = i < lead ? 1 : args[1].as.ints[i - lead];
        fits = i < lead || want == 1 || want == t->sizes[i];
        if (i < lead || (want == 1 && t->sizes[i] != 1)) dims[n++] = i;
    }
    if (!fits) {
        char a[SIZES_TEXT], b[SIZES_TEXT];
        FAIL(ctx(c), INVALID_ARGUMENT, "size %s is not expandable to size %s.",
             format_sizes((int)args[1].count, args[1].as.ints, a, sizeof a),
             format_sizes(t->ndim, t->sizes, b, sizeof b));
        return;
    }
    const bool only_lead = n == lead;
    if (n) t = sum_dims(c, t, dims, (size_t)n, !only_lead);
    give(rets, lead > 0 && !only_lead && t ? wick_view(c, t, LIST(args[1])) : t);
}

/* ---- extrema ---- */
static wick_status *want_dim(const char *name) {
    return WICK_ERROR(
        WICK_OUT_OF_RANGE,
        "%s(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
        "'dim' argument.",
        name);
}

/* A maximum of nothing does not exist. */
static wick_status *refuse_empty(const op_infer *ix, uint64_t mask, bool named, const char *name) {
    const wick_tensor *t = self_of(ix);
    if (t->numel) return NULL;
    if (!named) return want_dim(name);
    for (int i = 0; i < t->ndim; ++i)
        if (mask >> i & 1 && t->sizes[i] == 0)
            return WICK_ERROR(WICK_OUT_OF_RANGE, "%s(): Expected reduction dim %d to have non-zero size.", name, i);
    return NULL;
}

/* The row's own name, without its overload. */
static const char *base_name(const op_infer *ix, char buffer[64]) {
    size_t n = strcspn(ix->op->name, ".");
    memcpy(buffer, ix->op->name, n = n < 63 ? n : 63);
    buffer[n] = '\0';
    return buffer;
}

static wick_status *infer_extremum(op_infer *ix, int dims_arg, int keep_arg, wick_dtype dtype) {
    char name[64];
    uint64_t mask = 0;
    if (wick_dtype_is_complex(dtype_of(ix))) return refuse_dtype(ix, base_name(ix, name));
    const wick_value *dims = dims_arg < 0 ? NULL : &ix->args[dims_arg];
    bool named = dims && (dims->tag == WICK_TAG_I64 || (dims->tag == WICK_TAG_I64_LIST && dims->count));
    if (named) WICK_TRY(dims_mask(dims, self_of(ix)->ndim, true, &mask));
    WICK_TRY(refuse_empty(ix, mask, named, base_name(ix, name)));
    return reduce(ix, dims_arg, keep_arg, true, dtype);
}

static wick_status *add_output(op_infer *ix, wick_dtype dtype) {
    ix->outs[1] = ix->outs[0];
    ix->outs[1].dtype = dtype;
    return NULL;
}

wick_status *infer_amax(op_infer *ix) { return infer_extremum(ix, 1, 2, dtype_of(ix)); }
wick_status *infer_argmax(op_infer *ix) { return infer_extremum(ix, 1, 2, WICK_I64); }
wick_status *infer_max_all(op_infer *ix) { return infer_extremum(ix, -1, -1, dtype_of(ix)); }
wick_status *infer_max_dim(op_infer *ix) {
    WICK_TRY(infer_amax(ix));
    return add_output(ix, WICK_I64);
}
wick_status *infer_aminmax(op_infer *ix) {
    WICK_TRY(infer_amax(ix));
    return add_output(ix, dtype_of(ix));
}

DECOMPOSE(max_all, CALL(c, amax, args[0], INTS(args[0].as.ints, 0), BOOLEAN(false)))
DECOMPOSE(min_all, CALL(c, amin, args[0], INTS(args[0].as.ints, 0), BOOLEAN(false)))

void compose_aminmax(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_value dims = args[1].tag == WICK_TAG_NONE ? INTS(&args[1].as.i, 0) : INTS(&args[1].as.i, 1);
    rets[0] = V(CALL(c, amin, args[0], dims, args[2]));
    rets[1] = V(CALL(c, amax, args[0], dims, args[2]));
}

/* ---- truth ---- */
/* Bytes answer in bytes: an old habit. */
wick_status *infer_truth(op_infer *ix) {
    return reduce(ix, 1, 2, false, dtype_of(ix) == WICK_U8 ? WICK_U8 : WICK_BOOL);
}
wick_status *infer_count_nonzero(op_infer *ix) { return reduce(ix, 1, -1, true, WICK_I64); }

DECOMPOSE(any, CALL(c, any_dims, args[0], NONE, BOOLEAN(false)))
DECOMPOSE(all, CALL(c, all_dims, args[0], NONE, BOOLEAN(false)))
DECOMPOSE(any_dim, CALL(c, any_dims, args[0], INTS(&args[1].as.i, 1), args[2]))
DECOMPOSE(all_dim, CALL(c, all_dims, args[0], INTS(&args[1].as.i, 1), args[2]))

void compose_count_nonzero(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_value dims = args[1].tag == WICK_TAG_I64 ? INTS(&args[1].as.i, 1) : args[1];
    give(rets, CALL(c, sum_dim, V(wick_ne_scalar(c, T(0), NUMBER(0))), dims, BOOLEAN(false), NONE));
}

static bool truth(wick_context *c, wick_tensor *t) { return wick_item_int(c, t) != 0; }

void compose_equal(wick_context *c, const wick_value *args, wick_value *rets) {
    const wick_tensor *a = T(0), *b = T(1);
    bool same = a->ndim == b->ndim && !memcmp(a->sizes, b->sizes, sizeof *a->sizes * a->ndim);
    if (a->dtype != b->dtype) {
        FAIL(ctx(c), INVALID_ARGUMENT, "Expected object of data type %s but got data type %s for argument 'other'",
             wick_dtype_name((wick_dtype)a->dtype), wick_dtype_name((wick_dtype)b->dtype));
        return;
    }
    rets[0] = BOOLEAN(same && truth(c, wick_all(c, wick_eq(c, T(0), T(1)))));
}

void compose_allclose(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *close = CALL(c, isclose, args[0], args[1], args[2], args[3], args[4]);
    rets[0] = BOOLEAN(truth(c, wick_all(c, close)));
}
