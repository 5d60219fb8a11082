/* A view's slot in a copy of the base, or in zeros: the scatters and the backwards of slicing views. */
#include "geometry.h"
#include "op_ids.h"
#include "rows.h"
#include "shorthand.h"

/* out with `src` in the place that operator `id` shows of it. `args` are the scatter's: (self, src, ...). */
static void scatter_into(wick_context *c, const wick_value *args, wick_value *rets, int id, int nargs) {
    wick_tensor *out = wick_clone(c, args[0].as.tensor, NULL), *src = args[1].as.tensor;
    wick_value view[5] = {wick_value_tensor(out)};
    char a[SIZES_TEXT], b[SIZES_TEXT];
    memcpy(view + 1, args + 2, sizeof *view * (size_t)(nargs - 1));
    wick_tensor *slot = out ? op_call1(c, id, view, nargs) : NULL;
    if (!slot) return;
    if (slot->ndim != src->ndim || memcmp(slot->sizes, src->sizes, sizeof *src->sizes * src->ndim)) {
        FAIL(ctx(c), INVALID_ARGUMENT,
             "expected src to have a size equal to the slice of self. src size = %s, slice size = %s",
             format_sizes(src->ndim, src->sizes, a, sizeof a), format_sizes(slot->ndim, slot->sizes, b, sizeof b));
        return;
    }
    wick_copy_(c, slot, src, NULL);
    give(rets, out);
}

void compose_diagonal_scatter(wick_context *c, const wick_value *args, wick_value *rets) {
    scatter_into(c, args, rets, OP_ID_diagonal, 4);
}
void compose_select_scatter(wick_context *c, const wick_value *args, wick_value *rets) {
    scatter_into(c, args, rets, OP_ID_select, 3);
}
void compose_slice_scatter(wick_context *c, const wick_value *args, wick_value *rets) {
    scatter_into(c, args, rets, OP_ID_slice, 5);
}
void compose_as_strided_scatter(wick_context *c, const wick_value *args, wick_value *rets) {
    scatter_into(c, args, rets, OP_ID_as_strided, 4);
}

/* Zeros of `args[1]`'s sizes with the gradient in that place. `args` are the backward's: (grad, sizes, ...). */
static void backward_into(wick_context *c, const wick_value *args, wick_value *rets, int id, int nargs) {
    wick_tensor *out = zeros_of(c, args[0].as.tensor, LIST(args[1]));
    wick_value view[5] = {wick_value_tensor(out)};
    memcpy(view + 1, args + 2, sizeof *view * (size_t)(nargs - 1));
    wick_tensor *slot = out ? op_call1(c, id, view, nargs) : NULL;
    wick_copy_(c, slot, args[0].as.tensor, NULL);
    give(rets, out);
}

void compose_select_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    backward_into(c, args, rets, OP_ID_select, 3);
}
void compose_slice_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    backward_into(c, args, rets, OP_ID_slice, 5);
}
void compose_diagonal_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    backward_into(c, args, rets, OP_ID_diagonal, 4);
}

/* ---- unfold's backward: windows overlap, so they add up ---- */
/* (grad_in, input_sizes, dim, size, step): the gradient has the shape that unfold gave. */
static wick_status *check_windows(const wick_value *args) {
    const wick_tensor *grad = args[0].as.tensor;
    const wick_dim size = args[3].as.i, step = args[4].as.i;
    const int ndim = (int)args[1].count;
    char text[SIZES_TEXT];
    int dim;
    WICK_TRY(wrap_dim(args[2].as.i, ndim, &dim));
    const wick_dim whole = ndim ? args[1].as.ints[dim] : 1;
    if (step < 1 || size < 0 || size > whole)
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "unfold_backward: windows of %lld elements, %lld apart, in a dimension of %lld",
                          (long long)size, (long long)step, (long long)whole);
    bool fits = grad->ndim == ndim + 1 && grad->sizes[ndim] == size;
    for (int d = 0; fits && d < ndim; ++d)
        fits = grad->sizes[d] == (d == dim ? (whole - size) / step + 1 : args[1].as.ints[d]);
    if (fits) return NULL;
    return WICK_ERROR(WICK_INVALID_ARGUMENT,
                      "unfold_backward: a gradient of shape %s is not that of windows of %lld elements, %lld apart",
                      format_sizes(grad->ndim, grad->sizes, text, sizeof text), (long long)size, (long long)step);
}

wick_status *infer_unfold_backward(op_infer *ix) {
    WICK_TRY(check_windows(ix->args));
    meta_set(&ix->outs[0], (wick_dtype)ix->args[0].as.tensor->dtype, (int)ix->args[1].count, ix->args[1].as.ints);
    return NULL;
}

void compose_unfold_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *grad = args[0].as.tensor, *out = zeros_of(c, grad, LIST(args[1]));
    int dim, ndim = (int)args[1].count;
    if (!out || wick_fail(c, wrap_dim(args[2].as.i, ndim, &dim))) return;
    if (ndim == 0) return give(rets, wick_reshape(c, wick_sum(c, grad, NULL), NULL, 0));
    wick_tensor *at = flat(c, wick_unfold(c, counting(c, out->sizes[dim], grad), 0, args[3].as.i, args[4].as.i));
    wick_tensor *windows = wick_movedim_int(c, grad, -1, dim + 1);
    wick_flatten_options o = WICK_FLATTEN_OPTIONS_INIT;
    o.start_dim = dim, o.end_dim = dim + 1;
    give(rets, wick_index_add(c, out, dim, at, wick_flatten(c, windows, &o), NULL));
}
