/* Public operators in the forms that decompositions and gradient rules use most, without their option structs. */
#ifndef WICK_OPS_SHORTHAND_H
#define WICK_OPS_SHORTHAND_H

#include <wick/ops.h>

#include "../src/dispatch.h"

#define NUMBER(x) wick_value_int(x)
#define REAL(x) wick_value_float(x)

/* The argument that a list of sizes holds, as (pointer, count). */
#define LIST(value) (value).as.ints, (value).count
#define SIZES(t) (t)->sizes, (t)->ndim

static inline void give(wick_value *rets, wick_tensor *t) { rets[0] = wick_value_tensor(t); }
static inline void give_list(wick_value *rets, wick_tensor *const *items, size_t n) {
    rets[0] = wick_value_tensors(items, n);
}

static inline wick_tensor *zeros_of(wick_context *c, wick_tensor *like, const wick_dim *sizes, size_t ndim) {
    return like ? wick_new_zeros(c, like, sizes, ndim, NULL) : NULL;
}
/* [start, end) by step; end INT64_MAX: to the end. */
static inline wick_tensor *slice_of(wick_context *c, wick_tensor *t, int64_t dim, int64_t start, int64_t end,
                                    int64_t step) {
    wick_slice_options o = WICK_SLICE_OPTIONS_INIT;
    o.dim = dim, o.start = &start, o.end = &end, o.step = step;
    return wick_slice(c, t, &o);
}
static inline wick_tensor *diagonal_of(wick_context *c, wick_tensor *t, int64_t offset, int64_t dim1, int64_t dim2) {
    wick_diagonal_options o = WICK_DIAGONAL_OPTIONS_INIT;
    o.offset = offset, o.dim1 = dim1, o.dim2 = dim2;
    return wick_diagonal(c, t, &o);
}
static inline wick_tensor *strided_of(wick_context *c, wick_tensor *t, int ndim, const wick_dim *sizes,
                                      const wick_dim *strides, int64_t offset) {
    wick_as_strided_options o = WICK_AS_STRIDED_OPTIONS_INIT;
    o.storage_offset = &offset;
    return wick_as_strided(c, t, sizes, (size_t)ndim, strides, (size_t)ndim, &o);
}
static inline wick_tensor *expand_of(wick_context *c, wick_tensor *t, const wick_dim *sizes, size_t ndim) {
    return wick_expand(c, t, sizes, ndim, NULL);
}
static inline wick_tensor *flat(wick_context *c, wick_tensor *t) { return wick_reshape(c, t, (int64_t[]){-1}, 1); }
static inline wick_tensor *cat_of(wick_context *c, wick_tensor *const *items, size_t n, int64_t dim) {
    wick_cat_options o = WICK_CAT_OPTIONS_INIT;
    o.dim = dim;
    return wick_cat(c, items, n, &o);
}
static inline wick_tensor *stack_of(wick_context *c, wick_tensor *const *items, size_t n, int64_t dim) {
    wick_stack_options o = WICK_STACK_OPTIONS_INIT;
    o.dim = dim;
    return wick_stack(c, items, n, &o);
}
static inline size_t unbind_of(wick_context *c, wick_tensor *t, int64_t dim, wick_tensor *const **out) {
    wick_unbind_options o = WICK_UNBIND_OPTIONS_INIT;
    o.dim = dim;
    return wick_unbind(c, t, &o, out);
}
static inline wick_tensor *sum_dims(wick_context *c, wick_tensor *t, const int64_t *dims, size_t n, bool keepdim) {
    wick_sum_dim_options o = WICK_SUM_DIM_OPTIONS_INIT;
    o.keepdim = keepdim;
    return wick_sum_dim(c, t, dims, n, &o);
}
/* 0, 1, ..., n - 1 as I64 on the device of `like`. */
static inline wick_tensor *counting(wick_context *c, int64_t n, const wick_tensor *like) {
    wick_arange_options o = WICK_ARANGE_OPTIONS_INIT;
    if (!like) return NULL;
    o.dtype = WICK_I64, o.device = like->device;
    return wick_arange(c, wick_value_int(n), &o);
}
static inline wick_tensor *cast(wick_context *c, wick_tensor *t, wick_dtype dtype) {
    return t && t->dtype != dtype ? wick_to_dtype(c, t, dtype, NULL) : t;
}
static inline wick_tensor *cast_like(wick_context *c, wick_tensor *t, const wick_tensor *like) {
    return like ? cast(c, t, (wick_dtype)like->dtype) : NULL;
}

/* False, with an error that names the operator: its results are no whole numbers, and those of `t` are. */
bool wants_fractions(wick_context *c, const wick_tensor *t, const char *op);

#endif
