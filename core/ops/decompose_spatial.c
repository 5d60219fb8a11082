/* Pooling and resampling of the last one to three dimensions. What is linear is a product with a small matrix in each
 * dimension, made on the host; maxima are taken over windows that index_select lays out. */
#include <math.h>
#include <stdlib.h>

#include "decompose.h"
#include "geometry.h"
#include "rows.h"

#define MAX_SPATIAL 3
#define N(x) NUMBER(x)

/* Outputs of the row's shape rule. False: the context failed. */
static bool infer_row(wick_context *c, int op_id, const wick_value *args, op_infer *ix) {
    const op_entry *op = &ctx(c)->rt->ops->entries[op_id];
    *ix = (op_infer){.c = c, .op = op, .args = args, .cast_args = UINT32_MAX};
    return !fail(ctx(c), op->def->infer(ix));
}

static bool want_floating(wick_context *c, const wick_tensor *t, const char *what) {
    if (wick_dtype_is_floating((wick_dtype)t->dtype)) return true;
    return !FAIL(ctx(c), UNSUPPORTED, "%s: no decomposition for dtype %s", what, wick_dtype_name((wick_dtype)t->dtype));
}

/* ---- linear maps, one a dimension ---- */
typedef struct axis {
    int64_t in, out;
    /* pooling */
    int64_t kernel, stride, padding;
    bool count_padding, plain; /* weights: 1 over the window with or without padding, or 1 */
    /* resampling */
    bool align_corners, wide; /* wide: positions in double precision, not in single */
    double given_scale;       /* out / in as the caller gave it; 0: from the sizes */
} axis;

/* Fills a zeroed row-major matrix [out, in]. */
typedef void (*weights_fn)(const axis *x, double *matrix);

static wick_tensor *make_matrix(wick_context *c, const axis *x, weights_fn weights, const wick_tensor *like) {
    context_impl *self = ctx(c);
    size_t count = (size_t)(x->out * x->in);
    double *values = rt_calloc(self->rt, (count + 1) * sizeof *values);
    if (!values) return FAIL(self, OUT_OF_MEMORY, "no memory for %zu weights", count), NULL;
    weights(x, values);
    wick_tensor *m = wick_tensor_from_host(c, values, WICK_F64, 2, (wick_dim[]){x->out, x->in}, like->device);
    rt_free(self->rt, values);
    return cast_like(c, m, like);
}

/* Applies the maps to the last n dimensions; `backward`: their transposes. */
static wick_tensor *map_axes(wick_context *c, wick_tensor *t, int n, const axis *axes, weights_fn weights,
                             bool backward) {
    wick_dtype dtype = (wick_dtype)t->dtype;
    t = cast(c, t, dtype == WICK_F64 ? WICK_F64 : WICK_F32);
    for (int d = 0; d < n && t; ++d) {
        wick_tensor *m = make_matrix(c, &axes[d], weights, t);
        t = multiply_axis(c, t, t->ndim - n + d, backward ? wick_t(c, m) : m);
    }
    return wick_contiguous(c, cast(c, t, dtype), NULL);
}

/* ---- average pooling ---- */
static void pool_weights(const axis *x, double *matrix) {
    for (int64_t o = 0; o < x->out; ++o) {
        int64_t start = o * x->stride - x->padding, end = start + x->kernel;
        if (end > x->in + x->padding) end = x->in + x->padding;
        int64_t whole = end - start;
        if (start < 0) start = 0;
        if (end > x->in) end = x->in;
        double divisor = x->plain ? 1 : (double)(x->count_padding ? whole : end - start);
        for (int64_t i = start; i < end; ++i) matrix[o * x->in + i] = 1 / divisor;
    }
}

/* args: kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override */
static wick_tensor *average(wick_context *c, wick_tensor *t, int n, const wick_dim *in, const wick_dim *out,
                            const wick_value *args, bool backward) {
    axis axes[MAX_SPATIAL];
    bool overridden = args[5].tag != WICK_TAG_NONE;
    if (!want_floating(c, t, "average pooling")) return NULL;
    for (int d = 0; d < n; ++d)
        axes[d] = (axis){.in = in[d],
                         .out = out[d],
                         .kernel = entry(&args[0], d),
                         .stride = args[1].count ? entry(&args[1], d) : entry(&args[0], d),
                         .padding = entry(&args[2], d),
                         .count_padding = args[4].as.i != 0,
                         .plain = overridden};
    t = map_axes(c, t, n, axes, pool_weights, backward);
    return overridden ? DIVN(t, N(args[5].as.i)) : t;
}

static const wick_dim *last_sizes(const wick_tensor *t, int n) { return t->sizes + t->ndim - n; }

static wick_tensor *average_forward(wick_context *c, int op_id, int n, const wick_value *args) {
    op_infer ix;
    if (!infer_row(c, op_id, args, &ix)) return NULL;
    const wick_dim *out = ix.outs[0].sizes + ix.outs[0].ndim - n;
    return average(c, T(0), n, last_sizes(T(0), n), out, args + 1, false);
}
DECOMPOSE(avg_pool2d, average_forward(c, OP_ID_avg_pool2d, 2, args))
DECOMPOSE(avg_pool3d, average_forward(c, OP_ID_avg_pool3d, 3, args))
DECOMPOSE(avg_pool2d_backward, average(c, T(0), 2, last_sizes(T(1), 2), last_sizes(T(0), 2), args + 2, true))
DECOMPOSE(avg_pool3d_backward, average(c, T(0), 3, last_sizes(T(1), 3), last_sizes(T(0), 3), args + 2, true))

static int64_t adaptive_start(const axis *x, int64_t o) { return o * x->in / x->out; }
static int64_t adaptive_end(const axis *x, int64_t o) { return ((o + 1) * x->in + x->out - 1) / x->out; }
static void adaptive_weights(const axis *x, double *matrix) {
    for (int64_t o = 0; o < x->out; ++o) {
        int64_t start = adaptive_start(x, o), end = adaptive_end(x, o);
        for (int64_t i = start; i < end; ++i) matrix[o * x->in + i] = 1 / (double)(end - start);
    }
}
static wick_tensor *adaptive_average(wick_context *c, wick_tensor *t, int n, const wick_dim *in, const wick_dim *out,
                                     bool backward) {
    axis axes[MAX_SPATIAL];
    if (!want_floating(c, t, "average pooling")) return NULL;
    for (int d = 0; d < n; ++d) axes[d] = (axis){.in = in[d], .out = out[d]};
    return map_axes(c, t, n, axes, adaptive_weights, backward);
}
DECOMPOSE(_adaptive_avg_pool2d, adaptive_average(c, T(0), 2, last_sizes(T(0), 2), args[1].as.ints, false))
DECOMPOSE(_adaptive_avg_pool3d, adaptive_average(c, T(0), 3, last_sizes(T(0), 3), args[1].as.ints, false))
DECOMPOSE(_adaptive_avg_pool2d_backward, adaptive_average(c, T(0), 2, last_sizes(T(1), 2), last_sizes(T(0), 2), true))
DECOMPOSE(_adaptive_avg_pool3d_backward, adaptive_average(c, T(0), 3, last_sizes(T(1), 3), last_sizes(T(0), 3), true))

/* ---- maxima: windows as lists of positions in each dimension ---- */
typedef struct windows {
    int n;
    int64_t in[MAX_SPATIAL], out[MAX_SPATIAL], size[MAX_SPATIAL];
    int64_t *at[MAX_SPATIAL]; /* [out, size]; a window that is smaller repeats a place of its own */
    int64_t *flat;            /* [out.., size..]: positions in the whole image */
    int64_t count;            /* of elements in one window */
} windows;

static bool windows_allocate(wick_context *c, windows *w) {
    int64_t places = 1, listed = 0;
    w->count = 1;
    for (int d = 0; d < w->n; ++d) {
        places *= w->out[d] * w->size[d], listed += w->out[d] * w->size[d];
        w->count *= w->size[d];
    }
    int64_t *block = rt_alloc(ctx(c)->rt, (size_t)(places + listed + 1) * sizeof *block);
    if (!block) return !FAIL(ctx(c), OUT_OF_MEMORY, "no memory for %lld places in windows", (long long)places);
    w->flat = block;
    block += places;
    for (int d = 0; d < w->n; ++d) w->at[d] = block, block += w->out[d] * w->size[d];
    return true;
}

static void fill_flat(windows *w) {
    int64_t outputs = 1;
    for (int d = 0; d < w->n; ++d) outputs *= w->out[d];
    for (int64_t o = 0; o < outputs; ++o)
        for (int64_t k = 0; k < w->count; ++k) {
            int64_t place = 0, step = 1, out = o, tap = k;
            for (int d = w->n - 1; d >= 0; --d) {
                place += w->at[d][out % w->out[d] * w->size[d] + tap % w->size[d]] * step;
                out /= w->out[d], tap /= w->size[d], step *= w->in[d];
            }
            w->flat[o * w->count + k] = place;
        }
}

/* x as [.., out.., count]: positions are picked in each dimension, then the windows' own dimensions come last. */
static wick_tensor *lay_out(wick_context *c, wick_tensor *x, const windows *w) {
    int lead = x->ndim - w->n;
    wick_dim sizes[WICK_MAX_DIMS];
    int64_t order[WICK_MAX_DIMS];
    for (int d = 0; d < lead; ++d) sizes[d] = x->sizes[d], order[d] = d;
    for (int d = 0; d < w->n && x; ++d) {
        wick_dim places = w->out[d] * w->size[d];
        wick_tensor *index = wick_tensor_from_host(c, w->at[d], WICK_I64, 1, &places, x->device);
        x = wick_index_select(c, x, lead + d, index);
        sizes[lead + 2 * d] = w->out[d], sizes[lead + 2 * d + 1] = w->size[d];
        order[lead + d] = lead + 2 * d, order[lead + w->n + d] = lead + 2 * d + 1;
    }
    int ndim = lead + 2 * w->n;
    x = wick_permute(c, wick_reshape(c, x, sizes, (size_t)ndim), order, (size_t)ndim);
    for (int d = 0; d < w->n; ++d) sizes[lead + d] = w->out[d];
    sizes[lead + w->n] = w->count;
    return wick_reshape(c, x, sizes, (size_t)(lead + w->n + 1));
}

static void take_maxima(wick_context *c, wick_tensor *self, windows *w, wick_value *rets) {
    wick_dim sizes[MAX_SPATIAL + 1];
    fill_flat(w);
    wick_tensor *x = lay_out(c, self, w);
    wick_tensor *place = CALL(c, argmax, V(x), wick_value_int(-1), BOOLEAN(true));
    for (int d = 0; d < w->n; ++d) sizes[d] = w->out[d];
    sizes[w->n] = w->count;
    wick_tensor *flat_places = wick_tensor_from_host(c, w->flat, WICK_I64, w->n + 1, sizes, self->device);
    rt_free(ctx(c)->rt, w->flat);
    if (wick_failed(c)) return;
    rets[0] = V(wick_squeeze_dim(c, wick_gather(c, x, -1, place, NULL), -1));
    wick_tensor *everywhere = expand_of(c, flat_places, x->sizes, x->ndim);
    rets[1] = V(wick_squeeze_dim(c, wick_gather(c, everywhere, -1, place, NULL), -1));
}

/* args: self, kernel_size, stride, padding, dilation, ceil_mode */
static void max_pool(wick_context *c, int op_id, int n, const wick_value *args, wick_value *rets) {
    op_infer ix;
    windows w = {.n = n};
    if (!infer_row(c, op_id, args, &ix)) return;
    for (int d = 0; d < n; ++d) {
        w.in[d] = last_sizes(T(0), n)[d];
        w.out[d] = ix.outs[0].sizes[ix.outs[0].ndim - n + d];
        w.size[d] = entry(&args[1], d);
    }
    if (!windows_allocate(c, &w)) return;
    for (int d = 0; d < n; ++d) {
        int64_t stride = args[2].count ? entry(&args[2], d) : w.size[d], dilation = entry(&args[4], d);
        for (int64_t o = 0; o < w.out[d]; ++o)
            for (int64_t k = 0; k < w.size[d]; ++k) {
                int64_t start = o * stride - entry(&args[3], d), at = start + k * dilation;
                while (at < 0) at += dilation;
                while (at >= w.in[d]) at -= dilation;
                w.at[d][o * w.size[d] + k] = at;
            }
    }
    take_maxima(c, T(0), &w, rets);
}
void compose_max_pool2d_with_indices(wick_context *c, const wick_value *args, wick_value *rets) {
    max_pool(c, OP_ID_max_pool2d_with_indices, 2, args, rets);
}
void compose_max_pool3d_with_indices(wick_context *c, const wick_value *args, wick_value *rets) {
    max_pool(c, OP_ID_max_pool3d_with_indices, 3, args, rets);
}

/* args: self, output_size */
static void adaptive_max_pool(wick_context *c, int n, const wick_value *args, wick_value *rets) {
    windows w = {.n = n};
    axis axes[MAX_SPATIAL];
    for (int d = 0; d < n; ++d) {
        axes[d] = (axis){.in = last_sizes(T(0), n)[d], .out = entry(&args[1], d)};
        w.in[d] = axes[d].in, w.out[d] = axes[d].out, w.size[d] = 1;
        for (int64_t o = 0; o < w.out[d]; ++o) {
            int64_t size = adaptive_end(&axes[d], o) - adaptive_start(&axes[d], o);
            if (size > w.size[d]) w.size[d] = size;
        }
    }
    if (!windows_allocate(c, &w)) return;
    for (int d = 0; d < n; ++d)
        for (int64_t o = 0; o < w.out[d]; ++o)
            for (int64_t k = 0; k < w.size[d]; ++k) {
                int64_t at = adaptive_start(&axes[d], o) + k, last = adaptive_end(&axes[d], o) - 1;
                w.at[d][o * w.size[d] + k] = at < last ? at : last;
            }
    take_maxima(c, T(0), &w, rets);
}
void compose_adaptive_max_pool2d(wick_context *c, const wick_value *args, wick_value *rets) {
    adaptive_max_pool(c, 2, args, rets);
}
void compose_adaptive_max_pool3d(wick_context *c, const wick_value *args, wick_value *rets) {
    adaptive_max_pool(c, 3, args, rets);
}

/* The last n dimensions as one. */
static wick_tensor *flatten_last(wick_context *c, wick_tensor *t, int n) {
    wick_dim sizes[WICK_MAX_DIMS], last = 1;
    for (int d = 0; d < t->ndim; ++d)
        if (d < t->ndim - n)
            sizes[d] = t->sizes[d];
        else
            last *= t->sizes[d];
    sizes[t->ndim - n] = last;
    return wick_reshape(c, t, sizes, (size_t)(t->ndim - n + 1));
}

/* Values go where the indices say, in images of the given sizes. */
static wick_tensor *place_maxima(wick_context *c, wick_tensor *values, wick_tensor *indices, int n, const wick_dim *out,
                                 bool add) {
    wick_dim sizes[WICK_MAX_DIMS];
    int lead = values->ndim - n;
    for (int d = 0; d < lead; ++d) sizes[d] = values->sizes[d];
    for (int d = 0; d < n; ++d) sizes[lead + d] = out[d];
    wick_tensor *images = wick_new_zeros(c, values, sizes, values->ndim, NULL);
    wick_tensor *zeros = images ? flatten_last(c, images, n) : NULL;
    wick_tensor *index = flatten_last(c, indices, n), *v = flatten_last(c, values, n);
    wick_tensor *filled = add ? wick_scatter_add(c, zeros, -1, index, v) : wick_scatter(c, zeros, -1, index, v);
    return wick_reshape(c, filled, sizes, values->ndim);
}
DECOMPOSE(max_pool2d_with_indices_backward, place_maxima(c, T(0), T(7), 2, last_sizes(T(1), 2), true))
DECOMPOSE(max_pool3d_with_indices_backward, place_maxima(c, T(0), T(7), 3, last_sizes(T(1), 3), true))
DECOMPOSE(adaptive_max_pool2d_backward, place_maxima(c, T(0), T(2), 2, last_sizes(T(1), 2), true))
DECOMPOSE(adaptive_max_pool3d_backward, place_maxima(c, T(0), T(2), 3, last_sizes(T(1), 3), true))
DECOMPOSE(fractional_max_pool2d_backward, place_maxima(c, T(0), T(4), 2, last_sizes(T(1), 2), true))
DECOMPOSE(fractional_max_pool3d_backward, place_maxima(c, T(0), T(4), 3, last_sizes(T(1), 3), true))
DECOMPOSE(max_unpool2d, place_maxima(c, T(0), T(1), 2, args[2].as.ints, false))
DECOMPOSE(max_unpool3d, place_maxima(c, T(0), T(1), 3, args[2].as.ints, false))

/* ---- resampling: positions in single precision for f32 and narrower, so that the same pixels are chosen ---- */
static double rounded(const axis *x, double v) { return x->wide ? v : (double)(float)v; }
static int64_t clamped(int64_t i, int64_t n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }
static double scale_of(const axis *x) {
    if (x->align_corners) return x->out > 1 ? rounded(x, (double)(x->in - 1) / (double)(x->out - 1)) : 0;
    return rounded(x, x->given_scale > 0 ? 1 / x->given_scale : (double)x->in / (double)x->out);
}
static double position_of(const axis *x, int64_t o) {
    double scale = scale_of(x);
    return x->align_corners ? rounded(x, scale * (double)o) : rounded(x, rounded(x, scale * ((double)o + 0.5)) - 0.5);
}

static int64_t nearest_of(const axis *x, int64_t o, double shift) {
    return clamped((int64_t)floor(rounded(x, scale_of(x) * ((double)o + shift))), x->in);
}
static void nearest_weights(const axis *x, double *matrix) {
    for (int64_t o = 0; o < x->out; ++o) matrix[o * x->in + nearest_of(x, o, 0)] = 1;
}
static void nearest_exact_weights(const axis *x, double *matrix) {
    for (int64_t o = 0; o < x->out; ++o) matrix[o * x->in + nearest_of(x, o, 0.5)] = 1;
}
static void linear_weights(const axis *x, double *matrix) {
    for (int64_t o = 0; o < x->out; ++o) {
        double at = position_of(x, o);
        if (at < 0) at = 0;
        int64_t low = clamped((int64_t)floor(at), x->in), high = low + (low < x->in - 1);
        double part = at - (double)low > 1 ? 1 : at - (double)low;
        matrix[o * x->in + low] += 1 - part, matrix[o * x->in + high] += part;
    }
}
/* The cubic convolution kernel with parameter a, at distance d. */
static double cubic_kernel(double d, double a) {
    d = fabs(d);
    if (d < 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? (((d - 5) * d + 8) * d - 4) * a : 0;
}
static void cubic_weights(const axis *x, double *matrix) {
    for (int64_t o = 0; o < x->out; ++o) {
        double at = position_of(x, o);
        int64_t base = (int64_t)floor(at);
        for (int64_t k = base - 1; k <= base + 2; ++k)
            matrix[o * x->in + clamped(k, x->in)] += cubic_kernel(at - (double)k, -0.75);
    }
}

static double smooth_kernel(bool cubic, double d) {
    return cubic ? cubic_kernel(d, -0.5) : fabs(d) < 1 ? 1 - fabs(d) : 0;
}
/* The kernel is stretched where the image shrinks, and its weights are made to add up to 1. */
static void smooth_weights(const axis *x, double *matrix, bool cubic) {
    double scale = scale_of(x), stretch = scale >= 1 ? scale : 1, support = rounded(x, (cubic ? 2 : 1) * stretch);
    for (int64_t o = 0; o < x->out; ++o) {
        double center = rounded(x, scale * ((double)o + 0.5)), total = 0, *row = matrix + o * x->in;
        int64_t low = (int64_t)(center - support + 0.5), high = (int64_t)(center + support + 0.5);
        int64_t begin = low < 0 ? 0 : low, end = high > x->in ? x->in : high;
        for (int64_t i = begin; i < end; ++i)
            total += row[i] = smooth_kernel(cubic, ((double)i - center + 0.5) / stretch);
        for (int64_t i = begin; i < end; ++i) row[i] = total != 0 ? row[i] / total : row[i];
    }
}
static void linear_smooth_weights(const axis *x, double *matrix) { smooth_weights(x, matrix, false); }
static void cubic_smooth_weights(const axis *x, double *matrix) { smooth_weights(x, matrix, true); }

static bool has_align(weights_fn weights) { return weights != nearest_weights && weights != nearest_exact_weights; }

/* Pixels that are only moved keep their dtype. */
static wick_tensor *pick_nearest(wick_context *c, wick_tensor *t, int n, const axis *axes, double shift) {
    for (int d = 0; d < n && t; ++d) {
        int64_t *places = rt_alloc(ctx(c)->rt, (size_t)(axes[d].out + 1) * sizeof *places);
        if (!places) return FAIL(ctx(c), OUT_OF_MEMORY, "no memory for %lld places", (long long)axes[d].out), NULL;
        for (int64_t o = 0; o < axes[d].out; ++o) places[o] = nearest_of(&axes[d], o, shift);
        wick_tensor *index = wick_tensor_from_host(c, places, WICK_I64, 1, &axes[d].out, t->device);
        rt_free(ctx(c)->rt, places);
        t = wick_index_select(c, t, t->ndim - n + d, index);
    }
    return t;
}

/* args: tensor, output_size, (backward: input_size), (align_corners unless nearest), a scale for each dimension */
static wick_tensor *resample(wick_context *c, int n, weights_fn weights, bool backward, const wick_value *args) {
    wick_tensor *t = T(0);
    int after = backward ? 3 : 2;
    bool align = has_align(weights);
    axis axes[MAX_SPATIAL];
    for (int d = 0; d < n; ++d) {
        const wick_value *scale = &args[after + align + d];
        axes[d] = (axis){.in = backward ? args[2].as.ints[args[2].count - n + d] : last_sizes(t, n)[d],
                         .out = entry(&args[1], d),
                         .align_corners = align && args[after].as.i,
                         .wide = t->dtype == WICK_F64,
                         .given_scale = scale->tag == WICK_TAG_NONE ? 0 : wick_value_as_double(scale)};
    }
    if (!align && !backward) return pick_nearest(c, t, n, axes, weights == nearest_weights ? 0 : 0.5);
    return want_floating(c, t, "resampling") ? map_axes(c, t, n, axes, weights, backward) : NULL;
}
#define RESAMPLE(name, n, weights)                        \
    DECOMPOSE(name, resample(c, n, weights, false, args)) \
    DECOMPOSE(name##_backward, resample(c, n, weights, true, args))
RESAMPLE(upsample_nearest1d, 1, nearest_weights)
RESAMPLE(upsample_nearest2d, 2, nearest_weights)
RESAMPLE(upsample_nearest3d, 3, nearest_weights)
RESAMPLE(_upsample_nearest_exact1d, 1, nearest_exact_weights)
RESAMPLE(_upsample_nearest_exact2d, 2, nearest_exact_weights)
RESAMPLE(_upsample_nearest_exact3d, 3, nearest_exact_weights)
RESAMPLE(upsample_linear1d, 1, linear_weights)
RESAMPLE(upsample_bilinear2d, 2, linear_weights)
RESAMPLE(upsample_trilinear3d, 3, linear_weights)
RESAMPLE(upsample_bicubic2d, 2, cubic_weights)
RESAMPLE(_upsample_bilinear2d_aa, 2, linear_smooth_weights)
RESAMPLE(_upsample_bicubic2d_aa, 2, cubic_smooth_weights)
