/* Type promotion, broadcasting and the shape rule of elementwise rows. */
#include <stdio.h>

#include "dispatch.h"

/* ---- type promotion: c10's ResultTypeState ---- */
typedef struct result_type {
    wick_dtype dims, zeros, wrapped;
} result_type;

static bool promote_into(wick_dtype *into, wick_dtype d) {
    *into = *into ? wick_dtype_promote(*into, d) : d;
    return *into != WICK_DTYPE_NONE;
}

static bool see(result_type *r, const wick_tensor *t, wick_dtype floating) {
    wick_dtype d = (wick_dtype)t->dtype;
    if (t->flags & WICK_TENSOR_WRAPPED_NUMBER) {
        if (wick_dtype_is_complex(d))
            d = floating == WICK_F64 ? WICK_C128 : WICK_C64;
        else if (wick_dtype_is_floating(d))
            d = floating;
        return promote_into(&r->wrapped, d);
    }
    return promote_into(t->ndim ? &r->dims : &r->zeros, d);
}

/* A lower-priority type counts only if its category is higher. */
static wick_dtype combine(wick_dtype higher, wick_dtype lower) {
    if (!lower) return higher;
    if (!higher) return lower;
    const wick_dtype_info *h = wick_dtype_describe(higher), *l = wick_dtype_describe(lower);
    return l->category > h->category ? wick_dtype_promote(higher, lower) : higher;
}

static wick_status *no_promotion(const op_entry *op, const wick_tensor *t) {
    return WICK_ERROR(WICK_UNSUPPORTED, "%s: dtype %s does not promote with the other arguments' dtypes", op->name,
                      wick_dtype_name((wick_dtype)t->dtype));
}

/* What the results are written to has no say. */
static wick_status *result_type_of(const op_entry *op, const wick_value *args, wick_dtype floating, wick_dtype *out) {
    result_type r = {0, 0, 0};
    for (int k = 0; k < op->tensor_arg_count && op->tensor_args[k] < op->base_nargs; ++k) {
        const wick_tensor *t = arg_tensor(args, op->tensor_args[k]);
        if (t && !see(&r, t, floating)) return no_promotion(op, t);
    }
    for (int k = 0; k < op->list_arg_count; ++k) {
        const wick_value *v = &args[op->list_args[k]];
        for (uint32_t n = 0; v->tag == WICK_TAG_TENSOR_LIST && n < v->count; ++n)
            if (v->as.tensors[n] && !see(&r, v->as.tensors[n], floating)) return no_promotion(op, v->as.tensors[n]);
    }
    *out = combine(combine(r.dims, r.zeros), r.wrapped);
    return NULL;
}

wick_status *infer_result_type(const op_infer *ix, wick_dtype *out) {
    return result_type_of(ix->op, ix->args, ctx(ix->c)->dtype, out);
}

/* ---- broadcasting ---- */
wick_status *infer_broadcast(int *ndim, wick_dim *sizes, int b_ndim, const wick_dim *b_sizes) {
    if (b_ndim > *ndim) {
        int shift = b_ndim - *ndim;
        memmove(sizes + shift, sizes, sizeof *sizes * (size_t)*ndim);
        for (int i = 0; i < shift; ++i) sizes[i] = 1;
        *ndim = b_ndim;
    }
    for (int i = 1; i <= b_ndim; ++i) {
        wick_dim *a = &sizes[*ndim - i], b = b_sizes[b_ndim - i];
        if (*a == b || b == 1) continue;
        if (*a != 1)
            return WICK_ERROR(WICK_INVALID_ARGUMENT,
                              "The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton "
                              "dimension %d",
                              (long long)*a, (long long)b, *ndim - i);
        *a = b;
    }
    return NULL;
}

wick_status *wrap_dim(int64_t dim, int ndim, int *out) {
    int range = ndim ? ndim : 1;
    if (dim < -range || dim >= range)
        return WICK_ERROR(WICK_OUT_OF_RANGE,
                          "Dimension out of range (expected to be in range of [%d, %d], but got %lld)", -range,
                          range - 1, (long long)dim);
    *out = (int)(dim < 0 ? dim + range : dim);
    return NULL;
}

/* Output strides as TensorIterator chooses them: the order of dimensions that the inputs have in memory. */
static bool goes_before(const wick_tensor *const *inputs, int n, int ndim, int a, int b) {
    for (int k = 0; k < n; ++k) {
        const wick_tensor *t = inputs[k];
        int ta = a - (ndim - t->ndim), tb = b - (ndim - t->ndim);
        wick_dim sa = ta < 0 || t->sizes[ta] == 1 ? 0 : t->strides[ta];
        wick_dim sb = tb < 0 || t->sizes[tb] == 1 ? 0 : t->strides[tb];
        if (sa == 0 || sb == 0) continue;
        if (sa != sb) return sa < sb;
        if (t->sizes[ta] > t->sizes[tb]) return false;
    }
    return false;
}

static void preserve_strides(op_meta *m, const wick_tensor *const *inputs, int n) {
    int order[WICK_MAX_DIMS]; /* fastest first */
    int ndim = m->ndim;
    for (int i = 0; i < ndim; ++i) order[i] = ndim - 1 - i;
    for (int i = 1; i < ndim; ++i)
        for (int j = i; j > 0 && goes_before(inputs, n, ndim, order[j], order[j - 1]); --j) {
            int swap = order[j];
            order[j] = order[j - 1];
            order[j - 1] = swap;
        }
    wick_dim step = 1;
    for (int i = 0; i < ndim; ++i) {
        m->strides[order[i]] = step;
        step *= m->sizes[order[i]] > 1 ? m->sizes[order[i]] : 1;
    }
    m->has_strides = true;
}

static wick_status *infer_elementwise_shape(const op_infer *ix, op_meta *m) {
    const wick_tensor *strided[OP_MAX_ARGS];
    int n = 0;
    m->ndim = 0;
    m->has_strides = m->absent = false;
    for (int k = 0; k < ix->op->tensor_arg_count; ++k) {
        int i = ix->op->tensor_args[k];
        const wick_tensor *t = arg_tensor(ix->args, i);
        if (!t || i >= ix->op->base_nargs) continue;
        WICK_TRY(infer_broadcast(&m->ndim, m->sizes, t->ndim, t->sizes));
        if (t->ndim) strided[n++] = t;
    }
    bool dense = true;
    for (int k = 0; k < n; ++k) dense &= wick_is_contiguous(strided[k]);
    if (!dense) preserve_strides(m, strided, n);
    return NULL;
}

wick_dtype dtype_to_real(wick_dtype d) { return d == WICK_C64 ? WICK_F32 : d == WICK_C128 ? WICK_F64 : d; }

wick_status *infer_pointwise(op_infer *ix) {
    uint32_t flags = ix->op->def->flags;
    WICK_TRY(infer_elementwise_shape(ix, &ix->outs[0]));
    WICK_TRY(infer_result_type(ix, &ix->compute));
    if ((flags & PROMOTE_FLOAT) && ix->compute < WICK_F16) ix->compute = ctx(ix->c)->dtype;
    ix->outs[0].dtype = flags & BOOL_RESULT   ? WICK_BOOL
                        : flags & REAL_RESULT ? dtype_to_real(ix->compute)
                                              : ix->compute;
    return NULL;
}
