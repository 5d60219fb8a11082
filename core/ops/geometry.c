#include "geometry.h"

static wick_status *cannot_resolve(const int64_t *shape, int ndim, int64_t numel) {
    char text[SIZES_TEXT];
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "shape '%s' is invalid for input of size %lld",
                      format_sizes(ndim, shape, text, sizeof text), (long long)numel);
}

wick_status *geometry_resolve(const int64_t *shape, int ndim, int64_t numel, wick_dim *out) {
    wick_dim known = 1;
    int unknown = -1;
    char text[SIZES_TEXT];
    if (ndim > WICK_MAX_DIMS) return WICK_ERROR(WICK_INVALID_ARGUMENT, "a shape of %d dimensions is too long", ndim);
    for (int i = 0; i < ndim; ++i) {
        out[i] = shape[i];
        if (shape[i] == -1 && unknown >= 0)
            return WICK_ERROR(WICK_INVALID_ARGUMENT, "only one dimension can be inferred");
        if (shape[i] < -1)
            return WICK_ERROR(WICK_INVALID_ARGUMENT, "invalid shape dimension %lld", (long long)shape[i]);
        if (shape[i] == -1)
            unknown = i;
        else
            known = wick_dim_mul(known, shape[i]);
    }
    if (unknown < 0) return known == numel ? NULL : cannot_resolve(shape, ndim, numel);
    if (known == 0 && numel == 0)
        return WICK_ERROR(
            WICK_INVALID_ARGUMENT,
            "cannot reshape tensor of 0 elements into shape %s because the unspecified dimension size -1 can be "
            "any value and is ambiguous",
            format_sizes(ndim, shape, text, sizeof text));
    if (known <= 0 || numel % known) return cannot_resolve(shape, ndim, numel);
    out[unknown] = numel / known;
    return NULL;
}

/* Strides of a tensor without elements: as if every size were at least 1. */
static bool view_empty(const wick_tensor *t, int ndim, const wick_dim *sizes, wick_dim *strides) {
    if (ndim == t->ndim && !memcmp(sizes, t->sizes, sizeof *sizes * (size_t)ndim)) {
        memcpy(strides, t->strides, sizeof *strides * (size_t)ndim);
        return true;
    }
    wick_dim step = 1;
    for (int i = ndim - 1; i >= 0; --i) {
        strides[i] = step;
        step *= sizes[i] > 1 ? sizes[i] : 1;
    }
    return true;
}

/* Walks both shapes from the last dimension on: each run of t's dimensions that lies evenly in memory must be filled
 * by a run of the new ones. */
bool geometry_view(const wick_tensor *t, int ndim, const wick_dim *sizes, wick_dim *strides) {
    if (t->numel == 0) return view_empty(t, ndim, sizes, strides);
    int at = ndim - 1;
    wick_dim base = t->ndim ? t->strides[t->ndim - 1] : 1, run = 1, filled = 1;
    for (int d = t->ndim - 1; d >= 0; --d) {
        run *= t->sizes[d];
        if (d > 0 && (t->sizes[d - 1] == 1 || t->strides[d - 1] == run * base)) continue;
        for (; at >= 0 && (filled < run || sizes[at] == 1); --at) {
            strides[at] = filled * base;
            filled *= sizes[at];
        }
        if (filled != run) return false;
        if (d > 0) base = t->strides[d - 1], run = filled = 1;
    }
    for (; at >= 0 && sizes[at] == 1; --at) strides[at] = 1;
    return at < 0;
}

void geometry_slice(wick_dim size, const wick_value *start, const wick_value *end, int64_t *out_start,
                    int64_t *out_length) {
    int64_t a = wick_value_is_none(start) ? 0 : start->as.i, b = wick_value_is_none(end) ? INT64_MAX : end->as.i;
    if (a < 0) a += size;
    if (b < 0) b += size;
    a = a < 0 ? 0 : a > size ? size : a;
    b = b < a ? a : b > size ? size : b;
    *out_start = a;
    *out_length = b - a;
}

/* Dimensions from the fastest to the slowest in memory. */
static void order_in_memory(const wick_tensor *t, int *order) {
    for (int i = 0; i < t->ndim; ++i) {
        int d = t->ndim - 1 - i, at = i;
        for (; at > 0; --at) {
            int o = order[at - 1];
            if (t->strides[d] >= t->strides[o] || t->strides[d] == 0 || t->strides[o] == 0) break;
            order[at] = o;
        }
        order[at] = d;
    }
}

/* As PyTorch sorts them here: dimensions of size 0 and 1 do not count. */
bool geometry_dense(const wick_tensor *t) {
    int order[WICK_MAX_DIMS], n = 0;
    for (int d = t->ndim - 1; d >= 0; --d) {
        if (t->sizes[d] < 2) continue;
        int at = n++;
        for (; at > 0 && t->strides[d] < t->strides[order[at - 1]]; --at) order[at] = order[at - 1];
        order[at] = d;
    }
    wick_dim step = 1;
    for (int i = 0; i < n; ++i) {
        if (t->strides[order[i]] != step) return false;
        step *= t->sizes[order[i]];
    }
    return true;
}

static void strides_in_order(int ndim, const wick_dim *sizes, const int *order, wick_dim *strides) {
    wick_dim step = 1;
    for (int i = 0; i < ndim; ++i) {
        strides[order[i]] = step;
        step = wick_dim_mul(step, sizes[order[i]] > 1 ? sizes[order[i]] : 1);
    }
}

wick_status *geometry_format(wick_memory_format format, const wick_tensor *t, int ndim, const wick_dim *sizes,
                             wick_dim *strides) {
    static const int order_2d[] = {1, 3, 2, 0}, order_3d[] = {1, 4, 3, 2, 0};
    int wanted = format == WICK_CHANNELS_LAST ? 4 : format == WICK_CHANNELS_LAST_3D ? 5 : ndim, order[WICK_MAX_DIMS];
    if (ndim != wanted)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "required rank %d tensor to use %s format", wanted,
                          wanted == 4 ? "channels_last" : "channels_last_3d");
    if (format == WICK_PRESERVE_FORMAT && t && geometry_dense(t)) {
        memcpy(strides, t->strides, sizeof *strides * (size_t)ndim);
        return NULL;
    }
    for (int i = 0; i < ndim; ++i) order[i] = ndim - 1 - i;
    if (format == WICK_PRESERVE_FORMAT && t) order_in_memory(t, order);
    strides_in_order(ndim, sizes,
                     format == WICK_CHANNELS_LAST      ? order_2d
                     : format == WICK_CHANNELS_LAST_3D ? order_3d
                                                       : order,
                     strides);
    return NULL;
}
