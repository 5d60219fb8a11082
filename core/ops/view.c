/* Views that are one step of geometry: sizes, strides and offset of the result. The error texts are PyTorch's. */
#include "geometry.h"
#include "rows.h"

static const wick_tensor *self_of(const wick_value *args) { return args[0].as.tensor; }

static void keep(op_view_geometry *g, const wick_tensor *t) {
    g->ndim = t->ndim;
    memcpy(g->sizes, t->sizes, sizeof *g->sizes * t->ndim);
    memcpy(g->strides, t->strides, sizeof *g->strides * t->ndim);
}

static void remove_dim(op_view_geometry *g, int dim) {
    for (int i = dim; i + 1 < g->ndim; ++i) g->sizes[i] = g->sizes[i + 1], g->strides[i] = g->strides[i + 1];
    g->ndim--;
}

static void append_dim(op_view_geometry *g, wick_dim size, wick_dim stride) {
    g->sizes[g->ndim] = size;
    g->strides[g->ndim++] = stride;
}

static wick_status *room_for_one(const wick_tensor *t) {
    if (t->ndim < WICK_MAX_DIMS) return NULL;
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "a tensor of %d dimensions cannot get another one", t->ndim);
}

/* ---- any geometry ---- */
static wick_status *check_storage(const wick_tensor *t, const op_view_geometry *g) {
    char sizes[SIZES_TEXT], strides[SIZES_TEXT];
    int64_t span = geometry_span(g->ndim, g->sizes, g->strides);
    if (span == 0) return NULL;
    wick_dim bytes = wick_dim_mul(wick_dim_add(span < 0 ? WICK_DIM_INVALID : span, g->offset),
                                  (wick_dim)wick_dtype_bytes((wick_dtype)t->dtype));
    if (span > 0 && bytes >= 0 && (uint64_t)bytes <= t->storage->memory.bytes) return NULL;
    return WICK_ERROR(
        WICK_INVALID_ARGUMENT,
        "setStorage: sizes %s, strides %s, storage offset %lld, and itemsize %zu requiring a storage size of "
        "%lld are out of bounds for storage of size %llu",
        format_sizes(g->ndim, g->sizes, sizes, sizeof sizes),
        format_sizes(g->ndim, g->strides, strides, sizeof strides), (long long)g->offset,
        wick_dtype_bytes((wick_dtype)t->dtype), (long long)bytes, (unsigned long long)t->storage->memory.bytes);
}

static wick_status *set_strided(const wick_value *args, op_view_geometry *g) {
    char text[SIZES_TEXT];
    if (args[1].count != args[2].count)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "mismatch in length of strides and shape");
    if (args[1].count > WICK_MAX_DIMS)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "as_strided: %u dimensions are too many", args[1].count);
    g->ndim = (int)args[1].count;
    for (int i = 0; i < g->ndim; ++i) {
        g->sizes[i] = args[1].as.ints[i];
        g->strides[i] = args[2].as.ints[i];
        if (g->strides[i] < 0)
            return WICK_ERROR(WICK_INVALID_ARGUMENT,
                              "as_strided: Negative strides are not supported at the moment, got strides: %s",
                              format_sizes((int)args[2].count, args[2].as.ints, text, sizeof text));
    }
    return NULL;
}

wick_status *view_as_strided(const wick_value *args, op_view_geometry *g) {
    WICK_TRY(set_strided(args, g));
    if (args[3].tag != WICK_TAG_NONE) g->offset = args[3].as.i;
    if (g->offset < 0)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "Tensor: invalid storage offset %lld", (long long)g->offset);
    return check_storage(self_of(args), g);
}

wick_status *view_reshape_alias(const wick_value *args, op_view_geometry *g) {
    WICK_TRY(set_strided(args, g));
    return check_storage(self_of(args), g);
}

/* ---- another shape ---- */
wick_status *view_view(const wick_value *args, op_view_geometry *g) {
    const wick_tensor *t = self_of(args);
    WICK_TRY(geometry_resolve(args[1].as.ints, (int)args[1].count, t->numel, g->sizes));
    g->ndim = (int)args[1].count;
    if (geometry_view(t, g->ndim, g->sizes, g->strides)) return NULL;
    return WICK_ERROR(
        WICK_INVALID_ARGUMENT,
        "view size is not compatible with input tensor's size and stride (at least one dimension spans across "
        "two contiguous subspaces). Use .reshape(...) instead.");
}

static wick_status *cannot_expand(const wick_tensor *t, const wick_value *sizes, int i, wick_dim existing) {
    char target[SIZES_TEXT], from[SIZES_TEXT];
    return WICK_ERROR(
        WICK_INVALID_ARGUMENT,
        "The expanded size of the tensor (%lld) must match the existing size (%lld) at non-singleton dimension "
        "%d.  Target sizes: %s.  Tensor sizes: %s",
        (long long)sizes->as.ints[i], (long long)existing, i,
        format_sizes((int)sizes->count, sizes->as.ints, target, sizeof target),
        format_sizes(t->ndim, t->sizes, from, sizeof from));
}

wick_status *view_expand(const wick_value *args, op_view_geometry *g) {
    const wick_tensor *t = self_of(args);
    int lead = (int)args[1].count - t->ndim;
    if (lead < 0 || args[1].count > WICK_MAX_DIMS)
        return WICK_ERROR(
            WICK_INVALID_ARGUMENT,
            "expand: the number of sizes provided (%u) must be greater or equal to the number of dimensions in "
            "the tensor (%d)",
            args[1].count, t->ndim);
    g->ndim = (int)args[1].count;
    for (int i = g->ndim - 1; i >= 0; --i) {
        wick_dim want = args[1].as.ints[i], size = i < lead ? 1 : t->sizes[i - lead];
        if (want == -1 && i < lead)
            return WICK_ERROR(WICK_INVALID_ARGUMENT,
                              "The expanded size of the tensor (-1) isn't allowed in a leading, "
                              "non-existing dimension %d",
                              i);
        bool same = want == -1 || want == size;
        if (!same && size != 1) return cannot_expand(t, &args[1], i, size);
        g->sizes[i] = want == -1 ? size : want;
        g->strides[i] = !same             ? 0
                        : i >= lead       ? t->strides[i - lead]
                        : i + 1 < g->ndim ? g->sizes[i + 1] * g->strides[i + 1]
                                          : 1;
    }
    return NULL;
}

/* ---- another order ---- */
wick_status *view_permute(const wick_value *args, op_view_geometry *g) {
    const wick_tensor *t = self_of(args);
    uint64_t seen = 0;
    if (args[1].count != t->ndim)
        return WICK_ERROR(
            WICK_INVALID_ARGUMENT,
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
            "desired ordering of dimensions i.e. input.dim() = %d is not equal to len(dims) = %u",
            t->ndim, args[1].count);
    g->ndim = t->ndim;
    for (int i = 0; i < t->ndim; ++i) {
        int dim;
        WICK_TRY(wrap_dim(args[1].as.ints[i], t->ndim, &dim));
        if (seen >> dim & 1) return WICK_ERROR(WICK_INVALID_ARGUMENT, "permute(): duplicate dims are not allowed.");
        seen |= UINT64_C(1) << dim;
        g->sizes[i] = t->sizes[dim];
        g->strides[i] = t->strides[dim];
    }
    return NULL;
}

static void exchange(op_view_geometry *g, int a, int b) {
    wick_dim size = g->sizes[a], stride = g->strides[a];
    if (g->ndim < 2) return;
    g->sizes[a] = g->sizes[b], g->strides[a] = g->strides[b];
    g->sizes[b] = size, g->strides[b] = stride;
}

wick_status *view_transpose(const wick_value *args, op_view_geometry *g) {
    const wick_tensor *t = self_of(args);
    int a, b;
    WICK_TRY(wrap_dim(args[1].as.i, t->ndim, &a));
    WICK_TRY(wrap_dim(args[2].as.i, t->ndim, &b));
    keep(g, t);
    exchange(g, a, b);
    return NULL;
}

wick_status *view_t(const wick_value *args, op_view_geometry *g) {
    const wick_tensor *t = self_of(args);
    if (t->ndim > 2)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "t() expects a tensor with <= 2 dimensions, but self is %dD", t->ndim);
    keep(g, t);
    exchange(g, 0, 1);
    return NULL;
}

/* ---- a part ---- */
wick_status *view_select(const wick_value *args, op_view_geometry *g) {
    const wick_tensor *t = self_of(args);
    int64_t index = args[2].as.i;
    int dim;
    if (!t->ndim) return WICK_ERROR(WICK_OUT_OF_RANGE, "select() cannot be applied to a 0-dim tensor.");
    WICK_TRY(wrap_dim(args[1].as.i, t->ndim, &dim));
    wick_dim size = t->sizes[dim];
    if (index < -size || index >= size) {
        char sizes[SIZES_TEXT];
        return WICK_ERROR(WICK_OUT_OF_RANGE, "select(): index %lld out of range for tensor of size %s at dimension %d",
                          (long long)index, format_sizes(t->ndim, t->sizes, sizes, sizeof sizes), dim);
    }
    keep(g, t);
    g->offset += (index < 0 ? index + size : index) * t->strides[dim];
    remove_dim(g, dim);
    return NULL;
}

wick_status *view_slice(const wick_value *args, op_view_geometry *g) {
    const wick_tensor *t = self_of(args);
    int64_t step = args[4].as.i, start, length;
    int dim;
    if (!t->ndim) return WICK_ERROR(WICK_INVALID_ARGUMENT, "slice() cannot be applied to a 0-dim tensor.");
    WICK_TRY(wrap_dim(args[1].as.i, t->ndim, &dim));
    if (step <= 0) return WICK_ERROR(WICK_INVALID_ARGUMENT, "slice step must be positive");
    geometry_slice(t->sizes[dim], &args[2], &args[3], &start, &length);
    keep(g, t);
    g->offset += start * t->strides[dim];
    g->sizes[dim] = wick_dim_floordiv(wick_dim_add(length, step - 1), step);
    wick_dim stride = wick_dim_mul(t->strides[dim], step);
    g->strides[dim] = stride < 0 ? t->strides[dim] : stride; /* a step too far: at most one element is left */
    return NULL;
}

wick_status *view_diagonal(const wick_value *args, op_view_geometry *g) {
    const wick_tensor *t = self_of(args);
    int64_t offset = args[1].as.i;
    int a, b;
    WICK_TRY(wrap_dim(args[2].as.i, t->ndim, &a));
    WICK_TRY(wrap_dim(args[3].as.i, t->ndim, &b));
    if (a == b || t->ndim < 2)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "diagonal dimensions cannot be identical %lld, %lld",
                          (long long)args[2].as.i, (long long)args[3].as.i);
    wick_dim rows = wick_dim_add(t->sizes[a], offset < 0 ? offset : 0);
    wick_dim columns = wick_dim_sub(t->sizes[b], offset > 0 ? offset : 0);
    wick_dim size = rows < columns ? rows : columns;
    keep(g, t);
    if (size > 0) g->offset += offset > 0 ? offset * t->strides[b] : -offset * t->strides[a];
    wick_dim stride = t->strides[a] + t->strides[b];
    remove_dim(g, a > b ? a : b);
    remove_dim(g, a > b ? b : a);
    append_dim(g, size > 0 ? size : 0, stride);
    return NULL;
}

wick_status *view_unfold(const wick_value *args, op_view_geometry *g) {
    const wick_tensor *t = self_of(args);
    int64_t size = args[2].as.i, step = args[3].as.i;
    int dim;
    WICK_TRY(wrap_dim(args[1].as.i, t->ndim, &dim));
    WICK_TRY(room_for_one(t));
    wick_dim whole = t->ndim ? t->sizes[dim] : 1, stride = t->ndim ? t->strides[dim] : 1;
    if (size < 0) return WICK_ERROR(WICK_INVALID_ARGUMENT, "size is %lld but must be >= 0", (long long)size);
    if (size > whole)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "maximum size for tensor at dimension %d is %lld but size is %lld",
                          dim, (long long)whole, (long long)size);
    if (step <= 0) return WICK_ERROR(WICK_INVALID_ARGUMENT, "step is %lld but must be > 0", (long long)step);
    keep(g, t);
    if (t->ndim) {
        g->sizes[dim] = wick_dim_add(wick_dim_floordiv(wick_dim_sub(whole, size), step), 1);
        g->strides[dim] = wick_dim_mul(stride, step);
    }
    append_dim(g, size, stride);
    return NULL;
}

/* ---- dimensions of size 1 ---- */
static void squeeze_marked(op_view_geometry *g, uint64_t mark) {
    for (int i = g->ndim - 1; i >= 0; --i)
        if (mark >> i & 1 && g->sizes[i] == 1) remove_dim(g, i);
}

wick_status *view_squeeze(const wick_value *args, op_view_geometry *g) {
    keep(g, self_of(args));
    squeeze_marked(g, UINT64_MAX);
    return NULL;
}

wick_status *view_squeeze_dim(const wick_value *args, op_view_geometry *g) {
    int dim;
    WICK_TRY(wrap_dim(args[1].as.i, self_of(args)->ndim, &dim));
    keep(g, self_of(args));
    squeeze_marked(g, UINT64_C(1) << dim);
    return NULL;
}

wick_status *view_squeeze_dims(const wick_value *args, op_view_geometry *g) {
    uint64_t mark = 0;
    for (uint32_t i = 0; i < args[1].count; ++i) {
        int dim;
        WICK_TRY(wrap_dim(args[1].as.ints[i], self_of(args)->ndim, &dim));
        if (mark >> dim & 1)
            return WICK_ERROR(WICK_INVALID_ARGUMENT, "dim %d appears multiple times in the list of dims", dim);
        mark |= UINT64_C(1) << dim;
    }
    keep(g, self_of(args));
    squeeze_marked(g, mark);
    return NULL;
}

wick_status *view_unsqueeze(const wick_value *args, op_view_geometry *g) {
    const wick_tensor *t = self_of(args);
    int dim;
    WICK_TRY(room_for_one(t));
    WICK_TRY(wrap_dim(args[1].as.i, t->ndim + 1, &dim));
    keep(g, t);
    wick_dim stride = dim < t->ndim ? wick_dim_mul(t->sizes[dim], t->strides[dim]) : 1;
    append_dim(g, 0, 0);
    for (int i = g->ndim - 1; i > dim; --i) g->sizes[i] = g->sizes[i - 1], g->strides[i] = g->strides[i - 1];
    g->sizes[dim] = 1;
    g->strides[dim] = stride;
    return NULL;
}

/* ---- the same elements, read differently ---- */
wick_status *view_alias(const wick_value *args, op_view_geometry *g) {
    keep(g, self_of(args));
    return NULL;
}

wick_status *view_conj(const wick_value *args, op_view_geometry *g) {
    keep(g, self_of(args));
    g->flip_flags = WICK_TENSOR_CONJ;
    if (wick_dtype_is_complex((wick_dtype)self_of(args)->dtype)) return NULL;
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "a tensor of dtype %s has no conjugate view",
                      wick_dtype_name((wick_dtype)self_of(args)->dtype));
}

wick_status *view_neg(const wick_value *args, op_view_geometry *g) {
    keep(g, self_of(args));
    g->flip_flags = WICK_TENSOR_NEG;
    return NULL;
}

wick_status *view_as_real(const wick_value *args, op_view_geometry *g) {
    const wick_tensor *t = self_of(args);
    if (!wick_dtype_is_complex((wick_dtype)t->dtype))
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "view_as_real is only supported for complex tensors");
    if (t->flags & WICK_TENSOR_CONJ)
        return WICK_ERROR(
            WICK_INVALID_ARGUMENT,
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you "
            "can view it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT "
            "alias the original.");
    WICK_TRY(room_for_one(t));
    keep(g, t);
    for (int i = 0; i < g->ndim; ++i) g->strides[i] = wick_dim_mul(g->strides[i], 2);
    append_dim(g, 2, 1);
    g->offset *= 2;
    g->dtype = dtype_to_real((wick_dtype)t->dtype);
    return NULL;
}

wick_status *view_as_complex(const wick_value *args, op_view_geometry *g) {
    const wick_tensor *t = self_of(args);
    int last = t->ndim - 1;
    g->dtype = t->dtype == WICK_F32 ? WICK_C64 : t->dtype == WICK_F64 ? WICK_C128 : WICK_DTYPE_NONE;
    if (!g->dtype)
        return WICK_ERROR(WICK_UNSUPPORTED,
                          "view_as_complex is only supported for float and double tensors, but got a tensor "
                          "of scalar type: %s",
                          wick_dtype_name((wick_dtype)t->dtype));
    if (last < 0) return WICK_ERROR(WICK_INVALID_ARGUMENT, "Input tensor must have one or more dimensions");
    if (t->sizes[last] != 2) return WICK_ERROR(WICK_INVALID_ARGUMENT, "Tensor must have a last dimension of size 2");
    if (t->strides[last] != 1)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "Tensor must have a last dimension with stride 1");
    if (t->offset % 2) return WICK_ERROR(WICK_INVALID_ARGUMENT, "Tensor must have a storage_offset divisible by 2");
    keep(g, t);
    g->ndim = last;
    for (int i = 0; i < last; ++i) {
        if (g->strides[i] % 2)
            return WICK_ERROR(WICK_INVALID_ARGUMENT,
                              "Tensor must have a stride divisible by 2 for all but last dimension");
        g->strides[i] /= 2;
    }
    g->offset /= 2;
    return NULL;
}

/* ---- another dtype ---- */
static wick_status *view_bytes_error(const wick_tensor *t, wick_dtype dtype, const char *what, long long got) {
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s to view %s as %s (different element sizes), but got %lld", what,
                      wick_dtype_name((wick_dtype)t->dtype), wick_dtype_name(dtype), got);
}

static wick_status *to_smaller_items(const wick_tensor *t, wick_dtype dtype, op_view_geometry *g, int64_t ratio) {
    int last = t->ndim - 1;
    if (t->strides[last] != 1)
        return view_bytes_error(t, dtype, "self.stride(-1) must be 1", (long long)t->strides[last]);
    for (int i = 0; i < last; ++i) g->strides[i] = wick_dim_mul(g->strides[i], ratio);
    g->sizes[last] = wick_dim_mul(g->sizes[last], ratio);
    g->offset *= ratio;
    return NULL;
}

static wick_status *to_larger_items(const wick_tensor *t, wick_dtype dtype, op_view_geometry *g, int64_t ratio) {
    int last = t->ndim - 1;
    if (t->sizes[last] % ratio)
        return view_bytes_error(t, dtype, "self.size(-1) must be divisible by the ratio of the sizes",
                                (long long)t->sizes[last]);
    if (t->offset % ratio)
        return view_bytes_error(t, dtype, "self.storage_offset() must be divisible by the ratio of the sizes",
                                (long long)t->offset);
    for (int i = 0; i < last; ++i) {
        if (t->strides[i] % ratio)
            return view_bytes_error(t, dtype, "self.stride() must be divisible by the ratio of the sizes",
                                    (long long)t->strides[i]);
        g->strides[i] /= ratio;
    }
    if (t->strides[last] != 1)
        return view_bytes_error(t, dtype, "self.stride(-1) must be 1", (long long)t->strides[last]);
    g->sizes[last] /= ratio;
    g->offset /= ratio;
    return NULL;
}

wick_status *view_dtype(const wick_value *args, op_view_geometry *g) {
    const wick_tensor *t = self_of(args);
    wick_dtype dtype = (wick_dtype)args[1].as.i;
    int64_t from = (int64_t)wick_dtype_bytes((wick_dtype)t->dtype), to = (int64_t)wick_dtype_bytes(dtype);
    keep(g, t);
    g->dtype = dtype;
    if (t->dtype == dtype) return NULL;
    if (t->flags & (WICK_TENSOR_CONJ | WICK_TENSOR_NEG))
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "torch.Tensor.view is not supported for conjugate view tensors when "
                                                 "converting to a different dtype.");
    if (from == to) return NULL;
    if (!t->ndim) return view_bytes_error(t, dtype, "self.dim() cannot be 0", 0);
    return from > to ? to_smaller_items(t, dtype, g, from / to) : to_larger_items(t, dtype, g, to / from);
}
