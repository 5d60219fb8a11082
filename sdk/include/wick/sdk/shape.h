/* wick/sdk/shape.h: shapes that kernels read from their arguments: lines along a dimension, windows of convolutions and
 * poolings, what a list of index tensors selects. Header-only, no allocation. The shape rules have checked all of it
 * before a kernel is called. Everything works on the caller's own objects: thread-compatible. */
#ifndef WICK_SDK_SHAPE_H
#define WICK_SDK_SHAPE_H

#include <string.h>
#include <wick/sdk/arguments.h>
#include <wick/sdk/kernel.h>

/* ---- along one dimension ---- */
/* A row-major tensor as [outer, n, inner]: outer * inner lines of n elements, which lie `inner` apart. */
typedef struct wick_fold {
    int64_t outer, n, inner;
} wick_fold;

/* `dim` as wick_dim_of gives it. */
static inline wick_fold wick_fold_at(const wick_tensor *t, int dim) {
    wick_fold f;
    f.outer = f.n = f.inner = 1;
    for (int d = 0; d < t->ndim; ++d) *(d < dim ? &f.outer : d == dim ? &f.n : &f.inner) *= t->sizes[d];
    return f;
}

/* ---- reductions: the input's dimensions, those that are one run merged ---- */
/* Strides are in elements: of the input and of up to two results. */
typedef struct wick_reduce_dim {
    int64_t size, in, out[2];
} wick_reduce_dim;

/* Which dimensions, and how: those that stay; those that go, by stride, or in logical order, or with strides of results
 * that are as large as the input. */
typedef enum wick_reduce_kind {
    WICK_REDUCE_KEPT,
    WICK_REDUCE_ANY_ORDER,
    WICK_REDUCE_IN_ORDER,
    WICK_REDUCE_ELEMENTWISE
} wick_reduce_kind;

/* How far apart neighbours are. A stride of 0 repeats elements and counts as the widest. */
static inline int64_t wick_stride_distance(int64_t stride) {
    return stride < 0 ? -stride : stride ? stride : INT64_MAX;
}

/* Stable, the widest stride first. */
static inline void wick_reduce_sort_(wick_reduce_dim *dims, int n) {
    for (int i = 1; i < n; ++i) {
        const wick_reduce_dim d = dims[i];
        int j = i;
        for (; j > 0 && wick_stride_distance(dims[j - 1].in) < wick_stride_distance(d.in); --j) dims[j] = dims[j - 1];
        dims[j] = d;
    }
}

static inline int wick_reduce_merge_(wick_reduce_dim *dims, int n) {
    int last = 0;
    for (int i = 1; i < n; ++i) {
        wick_reduce_dim *a = &dims[last], *b = &dims[i];
        if (a->in == b->in * b->size && a->out[0] == b->out[0] * b->size && a->out[1] == b->out[1] * b->size) {
            b->size *= a->size;
            *a = *b;
        } else {
            dims[++last] = *b;
        }
    }
    return n ? last + 1 : 0;
}

/* The dimensions of that kind, outermost first; returns how many, *count is the product of their sizes. `mask` is
 * wick_reduced_dims; the results have the kept dimensions or all of them, out1 may be NULL. */
static inline int wick_reduce_dims(const wick_tensor *in, uint64_t mask, const wick_tensor *out0,
                                   const wick_tensor *out1, wick_reduce_kind kind, wick_reduce_dim *dims,
                                   int64_t *count) {
    const bool all = out0->ndim == in->ndim, strided = kind == WICK_REDUCE_KEPT || kind == WICK_REDUCE_ELEMENTWISE;
    int n = 0;
    *count = 1;
    for (int i = 0, o = 0; i < in->ndim; ++i) {
        const bool kept = !(mask >> i & 1), wanted = kept == (kind == WICK_REDUCE_KEPT);
        if (wanted) *count *= in->sizes[i];
        if (wanted && in->sizes[i] != 1) {
            wick_reduce_dim *d = &dims[n++];
            d->size = in->sizes[i], d->in = in->strides[i];
            d->out[0] = strided ? out0->strides[o] : 0, d->out[1] = strided && out1 ? out1->strides[o] : 0;
        }
        o += kept || all;
    }
    if (kind != WICK_REDUCE_IN_ORDER) wick_reduce_sort_(dims, n);
    return wick_reduce_merge_(dims, n);
}

/* ---- windows: of up to three spatial dimensions, which are a tensor's last; missing ones come first ---- */
/* A missing dimension has size 1 and a window of one element. */
typedef struct wick_windows {
    int64_t in[3], out[3]; /* of the image; of what is made of it, one for each window */
    int64_t kernel[3], stride[3], padding[3], dilation[3];
} wick_windows;

static inline void wick_spatial_sizes(const wick_tensor *t, int ndim, int64_t out[3]) {
    for (int d = 0; d < 3; ++d) out[d] = d < 3 - ndim ? 1 : t->sizes[t->ndim - 3 + d];
}
/* An `int[n]` argument, with `missing` for dimensions that are missing. An empty list stands for `absent`. */
static inline void wick_spatial_ints(const wick_value *v, int ndim, int64_t missing, const wick_value *absent,
                                     int64_t out[3]) {
    for (int d = 0; d < 3; ++d) {
        const uint32_t i = (uint32_t)(d - (3 - ndim));
        out[d] = d < 3 - ndim ? missing : wick_int_at(v, i, absent ? wick_int_at(absent, i, missing) : missing);
    }
}

/* Sizes alone: an adaptive pooling's. The rest is that of a missing dimension. */
static inline void wick_windows_of(const wick_tensor *image, const wick_tensor *result, int ndim, wick_windows *w) {
    wick_spatial_sizes(image, ndim, w->in), wick_spatial_sizes(result, ndim, w->out);
    for (int d = 0; d < 3; ++d) w->kernel[d] = w->stride[d] = w->dilation[d] = 1, w->padding[d] = 0;
}

/* `v`: kernel_size, stride (none: the kernel's size), padding and, if `dilated`, dilation. */
static inline void wick_windows_pool(const wick_value *v, bool dilated, const wick_tensor *image,
                                     const wick_tensor *pooled, int ndim, wick_windows *w) {
    wick_windows_of(image, pooled, ndim, w);
    wick_spatial_ints(&v[0], ndim, 1, NULL, w->kernel);
    wick_spatial_ints(&v[1], ndim, 1, &v[0], w->stride);
    wick_spatial_ints(&v[2], ndim, 0, NULL, w->padding);
    if (dilated) wick_spatial_ints(&v[3], ndim, 1, NULL, w->dilation);
}

/* im2col, col2im, over two dimensions. `v`: kernel_size, dilation, padding, stride. */
static inline void wick_windows_columns(const wick_value *v, const wick_tensor *image, wick_windows *w) {
    wick_windows_of(image, image, 2, w);
    wick_spatial_ints(&v[0], 2, 1, NULL, w->kernel), wick_spatial_ints(&v[1], 2, 1, NULL, w->dilation);
    wick_spatial_ints(&v[2], 2, 0, NULL, w->padding), wick_spatial_ints(&v[3], 2, 1, NULL, w->stride);
    for (int d = 1; d < 3; ++d)
        w->out[d] = (w->in[d] + 2 * w->padding[d] - w->dilation[d] * (w->kernel[d] - 1) - 1) / w->stride[d] + 1;
    w->out[0] = 1;
}

/* `v`: the arguments from stride on (wick_convolution_argument). A transposed convolution is described by the one whose
 * input's gradient it is: its input is the map. */
static inline void wick_windows_convolution(const wick_value *v, const wick_tensor *image, const wick_tensor *map,
                                            const wick_tensor *weight, wick_windows *w) {
    const int ndim = weight->ndim - 2;
    wick_windows_of(image, map, ndim, w);
    wick_spatial_sizes(weight, ndim, w->kernel);
    wick_spatial_ints(&v[WICK_CONV_STRIDE], ndim, 1, NULL, w->stride);
    wick_spatial_ints(&v[WICK_CONV_PADDING], ndim, 0, NULL, w->padding);
    wick_spatial_ints(&v[WICK_CONV_DILATION], ndim, 1, NULL, w->dilation);
}

/* ---- index, index_put: what a list of index tensors selects ---- */
typedef struct wick_selection {
    wick_tensor *const *tensors;   /* of the list: integers, or NULL where the dimension is kept */
    int slots, count, first;       /* of the list; tensors among them; the slot of the first one */
    int before;                    /* dimensions of the result in front of the selected ones */
    int ndim;                      /* of what the tensors broadcast to */
    wick_dim sizes[WICK_MAX_DIMS]; /* the same */
} wick_selection;

static inline void wick_selection_broadcast_(wick_selection *s, const wick_tensor *t) {
    while (s->ndim < t->ndim) {
        memmove(s->sizes + 1, s->sizes, (size_t)s->ndim++ * sizeof s->sizes[0]);
        s->sizes[0] = 1;
    }
    for (int d = 0; d < t->ndim; ++d) {
        wick_dim *size = &s->sizes[s->ndim - t->ndim + d];
        if (*size == 1) *size = t->sizes[d];
    }
}

/* Tensors in adjacent slots select in place; otherwise the selected dimensions come first. */
static inline void wick_selection_of(const wick_value *indices, wick_selection *s) {
    int last = -1;
    s->tensors = indices->as.tensors, s->slots = (int)indices->count;
    s->count = s->first = s->ndim = 0;
    for (int i = 0; i < s->slots; ++i) {
        if (!s->tensors[i]) continue;
        if (s->count++ == 0) s->first = i;
        last = i;
        wick_selection_broadcast_(s, s->tensors[i]);
    }
    s->before = last - s->first + 1 == s->count ? s->first : 0;
}

/* Is dimension `d` of what is indexed in the result as it is? */
static inline bool wick_selection_keeps(const wick_selection *s, int d) { return d >= s->slots || !s->tensors[d]; }

/* The dimensions of the result: d >= 0 is dimension d of what is indexed, -1 - d is dimension d of the selection. Returns
 * how many there are: at most base_ndim + s->ndim, which shape rules have held to WICK_MAX_DIMS. */
static inline int wick_selection_dims(const wick_selection *s, int base_ndim, int *out) {
    int n = 0;
    for (int d = 0; d < s->before; ++d) out[n++] = d;
    for (int d = 0; d < s->ndim; ++d) out[n++] = -1 - d;
    for (int d = s->before; d < base_ndim; ++d)
        if (wick_selection_keeps(s, d)) out[n++] = d;
    return n;
}

#endif
