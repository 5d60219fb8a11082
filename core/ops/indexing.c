/* Gathering, scattering and masks: shape rules and decompositions. */
#include <stdio.h>
#include <wick/sdk/shape.h>

#include "geometry.h"
#include "rows.h"
#include "shorthand.h"

static wick_tensor *self_of(const wick_value *args) { return args[0].as.tensor; }

/* ---- what the families check ---- */
static bool is_index(const wick_tensor *t) { return t->dtype == WICK_I64 || t->dtype == WICK_I32; }

static wick_status *check_index_dtype(const wick_tensor *index, const char *name) {
    if (is_index(index)) return NULL;
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s(): Expected dtype int32/int64 for index, got %s", name,
                      wick_dtype_name((wick_dtype)index->dtype));
}

static wick_status *check_same_dtype(const wick_tensor *self, const wick_tensor *src, const char *name) {
    if (self->dtype == src->dtype) return NULL;
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s(): Expected self.dtype to be equal to src.dtype, got %s and %s", name,
                      wick_dtype_name((wick_dtype)self->dtype), wick_dtype_name((wick_dtype)src->dtype));
}

static int rank_of(const wick_tensor *t) { return t->ndim ? t->ndim : 1; }
static wick_dim size_of(const wick_tensor *t, int dim) { return t->ndim ? t->sizes[dim] : 1; }

/* index may not exceed `t` in any dimension but `dim`, in that one neither if `all`. */
static wick_status *check_within(const wick_tensor *index, const wick_tensor *t, int dim, bool all, const char *what) {
    char a[SIZES_TEXT], b[SIZES_TEXT];
    if (rank_of(index) != rank_of(t))
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "Index tensor must have the same number of dimensions as %s tensor",
                          what);
    for (int d = 0; d < rank_of(index); ++d)
        if ((all || d != dim) && size_of(index, d) > size_of(t, d))
            return WICK_ERROR(
                WICK_INVALID_ARGUMENT,
                "Size does not match at dimension %d expected index %s to be no larger than %s %s apart from "
                "dimension %d",
                d, format_sizes(index->ndim, index->sizes, a, sizeof a), what,
                format_sizes(t->ndim, t->sizes, b, sizeof b), dim);
    return NULL;
}

/* ---- gather and scatter: the index has the shape of what is moved ---- */
wick_status *infer_gather(op_infer *ix) {
    const wick_tensor *self = self_of(ix->args), *index = ix->args[2].as.tensor;
    int dim;
    WICK_TRY(wrap_dim(ix->args[1].as.i, self->ndim, &dim));
    meta_set(&ix->outs[0], (wick_dtype)self->dtype, index->ndim, index->sizes);
    if (index->numel == 0) return NULL;
    WICK_TRY(check_index_dtype(index, "gather"));
    return check_within(index, self, dim, false, "input");
}

static wick_status *infer_scatter_named(op_infer *ix, const char *name) {
    const wick_tensor *self = self_of(ix->args), *index = ix->args[2].as.tensor, *src = arg_tensor(ix->args, 3);
    int dim;
    WICK_TRY(wrap_dim(ix->args[1].as.i, self->ndim, &dim));
    meta_like(&ix->outs[0], self);
    if (src) WICK_TRY(check_same_dtype(self, src, name));
    if (index->numel == 0) return NULL;
    WICK_TRY(check_index_dtype(index, name));
    WICK_TRY(check_within(index, self, dim, false, "self"));
    return src ? check_within(index, src, dim, true, "src") : NULL;
}
wick_status *infer_scatter(op_infer *ix) { return infer_scatter_named(ix, "scatter"); }
wick_status *infer_scatter_add(op_infer *ix) { return infer_scatter_named(ix, "scatter_add"); }

static wick_status *check_reduce(const wick_value *reduce, const char *const *names) {
    for (int i = 0; names[i]; ++i)
        if (!strcmp(reduce->as.string, names[i])) return NULL;
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "reduce argument %s is not one of those that the operator knows",
                      reduce->as.string);
}

wick_status *infer_scatter_reduce(op_infer *ix) {
    static const char *const old_names[] = {"add", "multiply", NULL};
    WICK_TRY(check_reduce(&ix->args[4], old_names));
    return infer_scatter_named(ix, "scatter");
}

wick_status *infer_scatter_reduce_two(op_infer *ix) {
    static const char *const names[] = {"sum", "prod", "mean", "amax", "amin", NULL};
    WICK_TRY(check_reduce(&ix->args[4], names));
    return infer_scatter_named(ix, "scatter_reduce");
}

/* ---- index_*: the index is a list of positions ---- */
static wick_status *check_positions(const wick_tensor *index, const char *name) {
    if (index->ndim > 1) return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s(): Index is supposed to be a vector", name);
    return check_index_dtype(index, name);
}

wick_status *infer_index_select(op_infer *ix) {
    const wick_tensor *self = self_of(ix->args), *index = ix->args[2].as.tensor;
    op_meta *m = &ix->outs[0];
    int dim;
    WICK_TRY(wrap_dim(ix->args[1].as.i, self->ndim, &dim));
    WICK_TRY(check_positions(index, "index_select"));
    meta_like(m, self);
    if (m->ndim) m->sizes[dim] = index->numel;
    if (!m->ndim && index->numel != 1)
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "index_select(): Index to scalar can have only 1 value, got %lld value(s)",
                          (long long)index->numel);
    return NULL;
}

static wick_status *infer_index_write(op_infer *ix, const char *name) {
    const wick_tensor *self = self_of(ix->args), *index = ix->args[2].as.tensor, *source = arg_tensor(ix->args, 3);
    char a[SIZES_TEXT], b[SIZES_TEXT];
    int dim;
    WICK_TRY(wrap_dim(ix->args[1].as.i, self->ndim, &dim));
    WICK_TRY(check_positions(index, name));
    meta_like(&ix->outs[0], self);
    if (!source) return NULL;
    WICK_TRY(check_same_dtype(self, source, name));
    bool fits = rank_of(self) == rank_of(source) && size_of(source, dim) == index->numel;
    for (int d = 0; fits && d < self->ndim; ++d) fits = d == dim || size_of(source, d) == self->sizes[d];
    if (fits) return NULL;
    return WICK_ERROR(WICK_INVALID_ARGUMENT,
                      "%s(): source %s must have the shape of self %s, with %lld elements along dimension %d", name,
                      format_sizes(source->ndim, source->sizes, a, sizeof a),
                      format_sizes(self->ndim, self->sizes, b, sizeof b), (long long)index->numel, dim);
}
wick_status *infer_index_add(op_infer *ix) { return infer_index_write(ix, "index_add"); }
wick_status *infer_index_copy(op_infer *ix) { return infer_index_write(ix, "index_copy"); }
wick_status *infer_index_fill(op_infer *ix) { return infer_index_write(ix, "index_fill"); }

wick_status *infer_index_reduce(op_infer *ix) {
    static const char *const names[] = {"prod", "mean", "amax", "amin", NULL};
    WICK_TRY(check_reduce(&ix->args[4], names));
    return infer_index_write(ix, "index_reduce");
}

/* The positions as an index of `like`'s shape. */
static wick_tensor *spread(wick_context *c, wick_tensor *index, int dim, const wick_tensor *like) {
    wick_dim shape[WICK_MAX_DIMS];
    for (int i = 0; i < like->ndim; ++i) shape[i] = i == dim ? index->numel : 1;
    return expand_of(c, wick_reshape(c, index, shape, like->ndim), SIZES(like));
}

typedef wick_tensor *(*scatter_fn)(wick_context *c, wick_tensor *self, int64_t dim, wick_tensor *index,
                                   wick_tensor *src);
static void index_by_scatter(wick_context *c, const wick_value *args, wick_value *rets, wick_tensor *source,
                             scatter_fn by) {
    int dim;
    if (!source || wick_fail(c, wrap_dim(args[1].as.i, self_of(args)->ndim, &dim))) return;
    give(rets, by(c, self_of(args), dim, spread(c, args[2].as.tensor, dim, source), source));
}

/* alpha times what is added, in its dtype: of integers a whole number of times, of bool either all or nothing. */
static wick_tensor *scaled_source(wick_context *c, wick_tensor *source, const wick_value *alpha) {
    const wick_dtype dtype = (wick_dtype)source->dtype;
    if (wick_dtype_is_differentiable(dtype)) return cast(c, wick_mul_scalar(c, source, *alpha), dtype);
    const bool times_one = alpha->tag != WICK_TAG_C128 && wick_value_as_double(alpha) == 1;
    if (times_one || (dtype == WICK_BOOL && wick_value_as_double(alpha) != 0)) return source;
    return cast(c, wick_mul_scalar(c, source, NUMBER(dtype == WICK_BOOL ? 0 : wick_value_as_int(alpha))), dtype);
}

void compose_index_add(wick_context *c, const wick_value *args, wick_value *rets) {
    index_by_scatter(c, args, rets, scaled_source(c, args[3].as.tensor, &args[4]), wick_scatter_add);
}
void compose_index_copy(wick_context *c, const wick_value *args, wick_value *rets) {
    index_by_scatter(c, args, rets, args[3].as.tensor, wick_scatter);
}

void compose_index_fill(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *self = self_of(args);
    wick_dim sizes[WICK_MAX_DIMS];
    int dim;
    if (wick_fail(c, wrap_dim(args[1].as.i, self->ndim, &dim))) return;
    memcpy(sizes, self->sizes, sizeof *sizes * self->ndim);
    if (self->ndim) sizes[dim] = args[2].as.tensor->numel;
    wick_tensor *shape = wick_new_empty(c, self, sizes, self->ndim, NULL);
    if (shape) give(rets, wick_scatter_value(c, self, dim, spread(c, args[2].as.tensor, dim, shape), args[3]));
}

void compose_index_fill_tensor(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *value = args[3].as.tensor;
    wick_value number;
    if (value->ndim)
        FAIL(ctx(c), INVALID_ARGUMENT,
             "index_fill_ only supports a 0-dimensional value tensor, but got tensor with %d dimension(s).",
             value->ndim);
    else if (wick__local_scalar_dense(c, value, &number))
        give(rets, wick_index_fill(c, self_of(args), args[1].as.i, args[2].as.tensor, number));
}

void compose_index_select_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *zeros = zeros_of(c, self_of(args), LIST(args[1]));
    give(rets, wick_index_add(c, zeros, args[2].as.i, args[3].as.tensor, self_of(args), NULL));
}

/* Positions counted from the end become positions from the start. */
static wick_tensor *from_start(wick_context *c, wick_tensor *index, wick_dim size) {
    wick_tensor *behind = cast_like(c, wick_lt_scalar(c, index, NUMBER(0)), index);
    return wick_add(c, index, wick_mul_scalar(c, behind, NUMBER(size)), NULL);
}

void compose_take_along_dim(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *self = self_of(args), *index = args[1].as.tensor;
    wick_dim a[WICK_MAX_DIMS], b[WICK_MAX_DIMS];
    int dim, na = self->ndim, nb = index->ndim;
    if (args[2].tag == WICK_TAG_NONE)
        return give(rets, wick_gather(c, flat(c, self), 0, from_start(c, flat(c, index), self->numel), NULL));
    if (na != nb)
        FAIL(ctx(c), INVALID_ARGUMENT,
             "torch.take_along_dim(): input and indices should have the same number of dimensions, but "
             "got %d dimensions for input, and %d dimensions for indices",
             na, nb);
    if (wick_failed(c) || wick_fail(c, wrap_dim(args[2].as.i, na, &dim))) return;
    memcpy(a, self->sizes, sizeof *a * (size_t)na);
    memcpy(b, index->sizes, sizeof *b * (size_t)nb);
    a[dim] = index->sizes[dim], b[dim] = self->sizes[dim];
    if (wick_fail(c, infer_broadcast(&na, a, index->ndim, index->sizes)) ||
        wick_fail(c, infer_broadcast(&nb, b, self->ndim, self->sizes)))
        return;
    index = from_start(c, expand_of(c, index, a, (size_t)na), self->sizes[dim]);
    give(rets, wick_gather(c, expand_of(c, self, b, (size_t)nb), dim, index, NULL));
}

/* ---- index tensors: x[i, :, j] ---- */
static bool is_mask(const wick_tensor *t) { return t->dtype == WICK_BOOL || t->dtype == WICK_U8; }

static wick_status *shapes_differ(const wick_value *indices) {
    char text[SIZES_TEXT], all[SIZES_TEXT * 4] = "";
    for (uint32_t i = 0; i < indices->count; ++i) {
        const wick_tensor *t = indices->as.tensors[i];
        size_t used = strlen(all);
        if (t)
            snprintf(all + used, sizeof all - used, "%s%s", used ? ", " : "",
                     format_sizes(t->ndim, t->sizes, text, sizeof text));
    }
    return WICK_ERROR(WICK_INVALID_ARGUMENT,
                      "shape mismatch: indexing tensors could not be broadcast together with shapes %s", all);
}

static wick_status *check_indices(const wick_tensor *self, const wick_value *indices, bool *masks) {
    int dims = 0;
    for (uint32_t i = 0; i < indices->count; ++i) {
        const wick_tensor *t = indices->as.tensors[i];
        if (t && !is_mask(t) && !is_index(t))
            return WICK_ERROR(WICK_INVALID_ARGUMENT, "tensors used as indices must be long, int, byte or bool tensors");
        *masks |= t && is_mask(t);
        dims += t && is_mask(t) ? t->ndim : 1;
    }
    if (dims > self->ndim)
        return WICK_ERROR(WICK_OUT_OF_RANGE, "too many indices for tensor of dimension %d (got %d)", self->ndim, dims);
    return NULL;
}

/* The shape that integer indices select: their common shape, in place of the indexed dimensions if those are
 * adjacent, else in front. */
static wick_status *selected_shape(const wick_tensor *self, const wick_value *indices, op_meta *m) {
    wick_selection s;
    int ndim = 0, dims[2 * WICK_MAX_DIMS];
    for (uint32_t i = 0; i < indices->count; ++i) {
        const wick_tensor *t = indices->as.tensors[i];
        wick_status *error = t ? infer_broadcast(&ndim, m->sizes, t->ndim, t->sizes) : NULL;
        wick_status_free(error);
        if (error) return shapes_differ(indices);
    }
    wick_selection_of(indices, &s);
    m->dtype = (wick_dtype)self->dtype;
    m->ndim = wick_selection_dims(&s, self->ndim, dims);
    if (m->ndim > WICK_MAX_DIMS)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "the indices select more than %d dimensions", WICK_MAX_DIMS);
    for (int d = 0; d < m->ndim; ++d) m->sizes[d] = dims[d] >= 0 ? self->sizes[dims[d]] : s.sizes[-1 - dims[d]];
    return NULL;
}

wick_status *infer_index(op_infer *ix) {
    WICK_TRY(check_indices(self_of(ix->args), &ix->args[1], &ix->decompose));
    if (ix->decompose) return NULL;
    return selected_shape(self_of(ix->args), &ix->args[1], &ix->outs[0]);
}

wick_status *infer_index_put(op_infer *ix) {
    const wick_tensor *self = self_of(ix->args), *values = ix->args[2].as.tensor;
    op_meta selected;
    char a[SIZES_TEXT], b[SIZES_TEXT];
    meta_like(&ix->outs[0], self);
    if (values->dtype != self->dtype)
        return WICK_ERROR(
            WICK_INVALID_ARGUMENT,
            "Index put requires the source and destination dtypes match, got %s for the destination and %s for the "
            "source.",
            wick_dtype_name((wick_dtype)self->dtype), wick_dtype_name((wick_dtype)values->dtype));
    WICK_TRY(check_indices(self, &ix->args[1], &ix->decompose));
    if (ix->decompose) return NULL;
    WICK_TRY(selected_shape(self, &ix->args[1], &selected));
    bool fits = values->ndim <= selected.ndim;
    for (int d = 0; fits && d < values->ndim; ++d)
        fits = values->sizes[d] == 1 || values->sizes[d] == selected.sizes[selected.ndim - values->ndim + d];
    if (fits) return NULL;
    return WICK_ERROR(WICK_INVALID_ARGUMENT,
                      "shape mismatch: value tensor of shape %s cannot be broadcast to indexing result of shape %s",
                      format_sizes(values->ndim, values->sizes, a, sizeof a),
                      format_sizes(selected.ndim, selected.sizes, b, sizeof b));
}

/* A mask stands for the positions of its true elements, one index a dimension. */
static size_t expand_masks(wick_context *c, const wick_tensor *self, const wick_value *indices, wick_tensor **out) {
    wick_tensor *const *columns;
    size_t n = 0;
    for (uint32_t i = 0; i < indices->count && !wick_failed(c); ++i) {
        wick_tensor *t = indices->as.tensors[i];
        if (!t || !is_mask(t)) {
            out[n++] = t;
            continue;
        }
        for (int d = 0; d < t->ndim; ++d)
            if (t->sizes[d] != self->sizes[(int)n + d]) {
                FAIL(ctx(c), OUT_OF_RANGE,
                     "The shape of the mask at index %d does not match the shape of the indexed tensor at index %d", d,
                     (int)n + d);
                return 0;
            }
        wick_tensor *places = wick_nonzero(c, t);
        if (t->ndim == 0) { /* x[True]: a new dimension in front is not an index that ATen's operator has */
            FAIL(ctx(c), UNSUPPORTED, "a 0-dimensional mask cannot be an index");
            return 0;
        }
        size_t count = places ? unbind_of(c, places, 1, &columns) : 0;
        for (size_t k = 0; k < count; ++k) out[n++] = columns[k];
    }
    return n;
}

static bool has_mask(const wick_value *indices) {
    for (uint32_t i = 0; i < indices->count; ++i)
        if (indices->as.tensors[i] && is_mask(indices->as.tensors[i])) return true;
    return false;
}

/* Without masks there is no kernel for it. */
void compose_index(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *indices[WICK_MAX_DIMS];
    if (!has_mask(&args[1])) return give(rets, index_by_gather(c, self_of(args), args[1].as.tensors, args[1].count));
    size_t n = expand_masks(c, self_of(args), &args[1], indices);
    if (!wick_failed(c)) give(rets, wick_index(c, self_of(args), indices, n));
}

static wick_tensor *put_at(wick_context *c, wick_tensor *self, wick_tensor *const *indices, size_t n,
                           wick_tensor *values, bool accumulate) {
    wick_index_put_options o = WICK_INDEX_PUT_OPTIONS_INIT;
    o.accumulate = accumulate;
    return wick_index_put(c, self, indices, n, values, &o);
}

void compose_index_put(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *indices[WICK_MAX_DIMS], *self = self_of(args), *values = args[2].as.tensor;
    if (!has_mask(&args[1]))
        return give(rets, index_put_by_scatter(c, self, args[1].as.tensors, args[1].count, values, args[3].as.i));
    size_t n = expand_masks(c, self, &args[1], indices);
    if (!wick_failed(c)) give(rets, put_at(c, self, indices, n, values, args[3].as.i));
}

void compose_unsafe_index(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, wick_index(c, self_of(args), args[1].as.tensors, args[1].count));
}
void compose_unsafe_index_put(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, put_at(c, self_of(args), args[1].as.tensors, args[1].count, args[2].as.tensor, args[3].as.i));
}

/* Indices where the mask is false may be anything: they are brought into range, and what they meet does not count. */
static size_t clamp_indices(wick_context *c, const wick_tensor *self, const wick_value *indices, wick_tensor **out) {
    for (uint32_t i = 0; i < indices->count && i < self->ndim; ++i) {
        wick_clamp_options o = WICK_CLAMP_OPTIONS_INIT;
        wick_dim size = self->sizes[i];
        o.min = NUMBER(-size), o.max = NUMBER(size - 1);
        out[i] = indices->as.tensors[i] ? wick_clamp(c, indices->as.tensors[i], &o) : NULL;
    }
    return indices->count;
}

void compose_unsafe_masked_index(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *self = self_of(args), *indices[WICK_MAX_DIMS];
    if (self->numel == 0) { /* any tensor with elements selects the same shape, and all of it is filled */
        wick_dim sizes[WICK_MAX_DIMS];
        for (int i = 0; i < self->ndim; ++i) sizes[i] = self->sizes[i] ? self->sizes[i] : 1;
        self = wick_new_full(c, self, sizes, self->ndim, args[3], NULL);
        if (!self) return;
    }
    size_t n = clamp_indices(c, self, &args[2], indices);
    wick_tensor *read = wick_failed(c) ? NULL : wick_index(c, self, indices, n);
    give(rets, wick_masked_fill(c, read, wick_logical_not(c, args[1].as.tensor), args[3]));
}

void compose_unsafe_masked_index_put(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *self = self_of(args), *indices[WICK_MAX_DIMS];
    if (self->numel == 0) return give(rets, wick_clone(c, self, NULL));
    wick_tensor *values = wick_masked_fill(c, args[3].as.tensor, wick_logical_not(c, args[1].as.tensor), NUMBER(0));
    size_t n = clamp_indices(c, self, &args[2], indices);
    if (!wick_failed(c)) give(rets, put_at(c, self, indices, n, values, true));
}

/* ---- flat positions ---- */
wick_status *infer_take(op_infer *ix) {
    const wick_tensor *self = self_of(ix->args), *index = ix->args[1].as.tensor;
    if (index->dtype != WICK_I64)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "take(): Expected a long tensor for index, but got %s",
                          wick_dtype_name((wick_dtype)index->dtype));
    if (self->numel == 0 && index->numel)
        return WICK_ERROR(WICK_OUT_OF_RANGE, "take(): tried to take from an empty tensor");
    meta_set(&ix->outs[0], (wick_dtype)self->dtype, index->ndim, index->sizes);
    return NULL;
}

wick_status *infer_put(op_infer *ix) {
    const wick_tensor *self = self_of(ix->args), *index = ix->args[1].as.tensor, *source = ix->args[2].as.tensor;
    if (index->dtype != WICK_I64)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "put_(): Expected a long tensor for index, but got %s",
                          wick_dtype_name((wick_dtype)index->dtype));
    WICK_TRY(check_same_dtype(self, source, "put_"));
    if (source->numel != index->numel)
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "put_(): Expected source and index to have the same number of elements, but got "
                          "source.numel() = %lld, index.numel() = %lld",
                          (long long)source->numel, (long long)index->numel);
    if (self->numel == 0 && index->numel)
        return WICK_ERROR(WICK_OUT_OF_RANGE, "put_(): Tried to put elements into an empty tensor");
    meta_like(&ix->outs[0], self);
    return NULL;
}

void compose_take(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *index = args[1].as.tensor;
    give(rets, wick_index(c, flat(c, self_of(args)), &index, 1));
}

void compose_put(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *self = self_of(args), *index = flat(c, args[1].as.tensor);
    wick_tensor *out =
        wick_failed(c) ? NULL : put_at(c, flat(c, self), &index, 1, flat(c, args[2].as.tensor), args[3].as.i);
    give(rets, wick_view_as(c, out, self));
}

/* ---- masks ---- */
static wick_status *check_mask(const wick_tensor *mask, const char *name) {
    if (mask->dtype == WICK_BOOL) return NULL;
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: expected BoolTensor for mask, got %s", name,
                      wick_dtype_name((wick_dtype)mask->dtype));
}

wick_status *infer_masked_select(op_infer *ix) {
    const wick_tensor *self = self_of(ix->args), *mask = ix->args[1].as.tensor;
    wick_dim sizes[WICK_MAX_DIMS], none = 0;
    int ndim = 0;
    WICK_TRY(check_mask(mask, "masked_select"));
    WICK_TRY(infer_broadcast(&ndim, sizes, self->ndim, self->sizes));
    WICK_TRY(infer_broadcast(&ndim, sizes, mask->ndim, mask->sizes));
    meta_set(&ix->outs[0], (wick_dtype)self->dtype, 1, &none);
    return NULL;
}

wick_status *infer_nonzero(op_infer *ix) {
    meta_set(&ix->outs[0], WICK_I64, 2, (wick_dim[]){0, self_of(ix->args)->ndim});
    return NULL;
}

wick_status *infer_nonzero_static(op_infer *ix) {
    if (ix->args[1].as.i < 0)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "nonzero_static: 'size' must be an non-negative integer");
    meta_set(&ix->outs[0], WICK_I64, 2, (wick_dim[]){ix->args[1].as.i, self_of(ix->args)->ndim});
    return NULL;
}

wick_status *infer_masked_scatter(op_infer *ix) {
    const wick_tensor *self = self_of(ix->args), *mask = ix->args[1].as.tensor;
    op_meta *m = &ix->outs[0];
    WICK_TRY(check_mask(mask, "masked_scatter"));
    WICK_TRY(check_same_dtype(self, ix->args[2].as.tensor, "masked_scatter"));
    meta_like(m, self);
    return infer_broadcast(&m->ndim, m->sizes, mask->ndim, mask->sizes);
}

void compose_masked_scatter_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *taken = wick_masked_select(c, self_of(args), args[1].as.tensor);
    wick_dim rest = taken ? wick_dim_sub(wick_dim_product(args[2].as.ints, (int)args[2].count), taken->numel) : 0;
    if (taken && rest > 0) taken = cat_of(c, (wick_tensor *[]){taken, zeros_of(c, taken, &rest, 1)}, 2, 0);
    give(rets, wick_view(c, taken, LIST(args[2])));
}

void compose_nonzero_numpy(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args)->ndim ? self_of(args) : wick_unsqueeze(c, self_of(args), 0), *const * columns;
    size_t n = unbind_of(c, wick_nonzero(c, t), 1, &columns);
    if (!wick_failed(c)) give_list(rets, columns, n);
}

void compose_argwhere(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, wick_nonzero(c, self_of(args)));
}

void compose_one_hot(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *self = self_of(args);
    int64_t classes = args[1].as.i, highest = 0;
    wick_dim sizes[WICK_MAX_DIMS + 1];
    if (self->dtype != WICK_I64)
        FAIL(ctx(c), INVALID_ARGUMENT, "one_hot is only applicable to index tensor of type LongTensor.");
    if (!self->numel && classes <= 0)
        FAIL(ctx(c), INVALID_ARGUMENT, "Can not infer total number of classes from empty tensor.");
    if (!wick_failed(c) && self->numel) {
        if (wick_item_int(c, wick_min(c, self)) < 0)
            FAIL(ctx(c), INVALID_ARGUMENT, "Class values must be non-negative.");
        highest = wick_item_int(c, wick_max(c, self));
    }
    if (classes == -1) classes = highest + 1;
    if (!wick_failed(c) && self->numel && highest >= classes)
        FAIL(ctx(c), INVALID_ARGUMENT, "Class values must be smaller than num_classes.");
    if (wick_failed(c)) return;
    memcpy(sizes, self->sizes, sizeof *sizes * self->ndim);
    sizes[self->ndim] = classes;
    wick_tensor *zeros = zeros_of(c, self, sizes, self->ndim + 1u);
    give(rets, self->numel ? wick_scatter_value(c, zeros, -1, wick_unsqueeze(c, self, -1), NUMBER(1)) : zeros);
}
