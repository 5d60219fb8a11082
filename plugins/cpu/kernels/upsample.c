/* The upsample_* family. Source positions are computed in f32 for f32 and narrower, as PyTorch does, so that the same
 * pixels are chosen. */
#include <math.h>

#include "upsample_taps.h"
#include "widen.h"

typedef enum mode { NEAREST, NEAREST_EXACT, LINEAR, CUBIC, LINEAR_SMOOTH, CUBIC_SMOOTH } mode;

typedef struct form {
    int ndim;
    mode mode;
    bool backward;
} form;

/* How output positions map to input positions in one dimension. */
typedef struct axis {
    int64_t in, out;
    bool align_corners;
    double given_scale; /* out / in as the caller gave it; 0: from the sizes */
} axis;

static int64_t clamp(int64_t i, int64_t n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

static bool is_smooth(mode m) { return m >= LINEAR_SMOOTH; }
/* Inputs that one output reaches when the image is not reduced. */
static int64_t reach(mode m) { return m == CUBIC || m == CUBIC_SMOOTH ? 4 : m == LINEAR || m == LINEAR_SMOOTH ? 2 : 1; }

static double scale_of(const axis *x) {
    if (x->align_corners) return x->out > 1 ? (double)(x->in - 1) / (double)(x->out - 1) : 0;
    return x->given_scale > 0 ? 1 / x->given_scale : (double)x->in / (double)x->out;
}

static int64_t count_of(const axis *x, mode m) {
    const double scale = scale_of(x);
    if (!is_smooth(m)) return reach(m);
    return (int64_t)ceil(0.5 * (double)reach(m) * (scale > 1 ? scale : 1)) * 2 + 1;
}

/* In T: the tables of one dimension. */
#define DEFINE_AXIS(T, FLOOR, FABS)                                                                              \
    static T scale_##T(const axis *x) {                                                                          \
        if (x->align_corners) return x->out > 1 ? (T)(x->in - 1) / (T)(x->out - 1) : 0;                          \
        return x->given_scale > 0 ? (T)(1 / x->given_scale) : (T)x->in / (T)x->out;                              \
    }                                                                                                            \
    static T position_##T(const axis *x, T scale, int64_t o) {                                                   \
        return x->align_corners ? scale * (T)o : scale * ((T)o + (T)0.5) - (T)0.5;                               \
    }                                                                                                            \
    static void nearest_##T(const axis *x, mode m, int64_t *index) {                                             \
        const T scale = scale_##T(x), shift = m == NEAREST_EXACT ? (T)0.5 : 0;                                   \
        for (int64_t o = 0; o < x->out; ++o) index[o] = clamp((int64_t)FLOOR(scale * ((T)o + shift)), x->in);    \
    }                                                                                                            \
    static void linear_##T(const axis *x, int64_t *index, T *weight) {                                           \
        const T scale = scale_##T(x);                                                                            \
        for (int64_t o = 0; o < x->out; ++o, index += 2, weight += 2) {                                          \
            T at = position_##T(x, scale, o);                                                                    \
            if (at < 0) at = 0;                                                                                  \
            index[0] = clamp((int64_t)FLOOR(at), x->in);                                                         \
            index[1] = index[0] + (index[0] < x->in - 1);                                                        \
            const T part = at - (T)index[0];                                                                     \
            weight[1] = part > 1 ? 1 : part;                                                                     \
            weight[0] = 1 - weight[1];                                                                           \
        }                                                                                                        \
    }                                                                                                            \
    /* The cubic convolution kernel with parameter a, at distance d. */                                          \
    static T cubic_kernel_##T(T d, T a) {                                                                        \
        d = FABS(d);                                                                                             \
        if (d < 1) return ((a + 2) * d - (a + 3)) * d * d + 1;                                                   \
        return d < 2 ? (((d - 5) * d + 8) * d - 4) * a : 0;                                                      \
    }                                                                                                            \
    static void cubic_##T(const axis *x, int64_t *index, T *weight) {                                            \
        const T scale = scale_##T(x);                                                                            \
        for (int64_t o = 0; o < x->out; ++o, index += 4, weight += 4) {                                          \
            const T at = position_##T(x, scale, o);                                                              \
            const int64_t base = (int64_t)FLOOR(at);                                                             \
            for (int64_t c = 0; c < 4; ++c) {                                                                    \
                index[c] = clamp(base - 1 + c, x->in);                                                           \
                weight[c] = cubic_kernel_##T(at - (T)(base - 1 + c), (T)-0.75);                                  \
            }                                                                                                    \
        }                                                                                                        \
    }                                                                                                            \
    static T smooth_kernel_##T(mode m, T d) {                                                                    \
        if (m == CUBIC_SMOOTH) return cubic_kernel_##T(d, (T)-0.5);                                              \
        return FABS(d) < 1 ? 1 - FABS(d) : 0;                                                                    \
    }                                                                                                            \
    /* The kernel is stretched where the image shrinks, and its weights are made to add up to 1. */              \
    static void smooth_##T(const axis *x, mode m, int64_t count, int64_t *index, T *weight) {                    \
        const T scale = scale_##T(x), stretch = scale >= 1 ? scale : 1, support = (T)0.5 * (T)reach(m) * stretch; \
        for (int64_t o = 0; o < x->out; ++o, index += count, weight += count) {                                  \
            const T center = scale * ((T)o + (T)0.5);                                                            \
            const int64_t low = (int64_t)(center - support + (T)0.5), high = (int64_t)(center + support + (T)0.5); \
            const int64_t begin = low < 0 ? 0 : low, end = high > x->in ? x->in : high;                          \
            T total = 0;                                                                                         \
            for (int64_t c = 0; c < count; ++c) {                                                                \
                const bool inside = begin + c < end;                                                             \
                index[c] = clamp(inside ? begin + c : begin, x->in);                                             \
                weight[c] = inside ? smooth_kernel_##T(m, ((T)(begin + c) - center + (T)0.5) / stretch) : 0;     \
                total += weight[c];                                                                              \
            }                                                                                                    \
            for (int64_t c = 0; c < count; ++c) weight[c] = total != 0 ? weight[c] / total : weight[c];          \
        }                                                                                                        \
    }                                                                                                            \
    static void fill_##T(const axis *x, mode m, int64_t count, int64_t *index, T *weight) {                      \
        if (m <= NEAREST_EXACT)                                                                                  \
            nearest_##T(x, m, index);                                                                            \
        else if (m == LINEAR)                                                                                    \
            linear_##T(x, index, weight);                                                                        \
        else if (m == CUBIC)                                                                                     \
            cubic_##T(x, index, weight);                                                                         \
        else                                                                                                     \
            smooth_##T(x, m, count, index, weight);                                                              \
    }
DEFINE_AXIS(float, floorf, fabsf)
DEFINE_AXIS(double, floor, fabs)

static const wick_value *optional_argument(const wick_kernel_call *call, int i) {
    return i < call->nargs && !wick_value_is_none(&call->values[i]) ? &call->values[i] : NULL;
}

/* Arguments: tensor, output_size, (backward: input_size), (align_corners unless nearest), one scale a dimension. */
static void read_axes(const wick_kernel_call *call, const form *f, const taps *t, axis *axes) {
    const int after_sizes = f->backward ? 3 : 2;
    const bool has_align = f->mode > NEAREST_EXACT;
    for (int d = 0; d < 3; ++d) {
        const int i = d - (3 - f->ndim);
        const wick_value *scale = i < 0 ? NULL : optional_argument(call, after_sizes + has_align + i);
        axes[d] = (axis){.in = t->in[d], .out = t->out[d], .given_scale = scale ? wick_value_as_double(scale) : 0};
        axes[d].align_corners = has_align && call->values[after_sizes].as.i != 0;
    }
}

static void fill_unit(taps *t, int d, bool wide) {
    t->index[d][0] = 0;
    if (!t->weight[d]) return;
    if (wide)
        *(double *)t->weight[d] = 1;
    else
        *(float *)t->weight[d] = 1;
}

static wick_status *make_taps(const wick_kernel_call *call, const form *f, wick_dtype dtype, taps *t) {
    axis axes[3];
    const bool wide = dtype == WICK_F64;
    read_axes(call, f, t, axes);
    for (int d = 3 - f->ndim; d < 3; ++d) t->count[d] = count_of(&axes[d], f->mode);
    WICK_TRY(taps_allocate(call, t, f->mode <= NEAREST_EXACT ? 0 : wide ? sizeof(double) : sizeof(float)));
    for (int d = 0; d < 3; ++d) {
        if (d < 3 - f->ndim)
            fill_unit(t, d, wide);
        else if (wide)
            fill_double(&axes[d], f->mode, t->count[d], t->index[d], t->weight[d]);
        else
            fill_float(&axes[d], f->mode, t->count[d], t->index[d], t->weight[d]);
    }
    return NULL;
}

static wick_status *upsample(const wick_kernel_call *call) {
    const form *f = call->data;
    const wick_tensor *from = wick_arg_tensor(call, 0), *to = wick_out_tensor(call, 0);
    const wick_dtype dtype = wick_tensor_dtype(from);
    if (dtype != WICK_U8 && cpu_wide_dtype(dtype) != dtype) return cpu_call_widened(call, upsample);
    if (to->numel == 0) return NULL;
    taps t;
    taps_sizes(&t, f->backward ? to : from, f->backward ? from : to, f->ndim);
    WICK_TRY(make_taps(call, f, dtype, &t));
    if (f->backward)
        taps_scatter(cpu_of(call), &t, dtype, wick_data(from), wick_data(to));
    else if (f->mode <= NEAREST_EXACT)
        taps_copy(cpu_of(call), &t, wick_dtype_bytes(dtype), wick_data(from), wick_data(to));
    else
        taps_sum(cpu_of(call), &t, dtype, wick_data(from), wick_data(to));
    return NULL;
}

#define FLOATS \
    (WICK_DTYPE_BIT(WICK_F16) | WICK_DTYPE_BIT(WICK_BF16) | WICK_DTYPE_BIT(WICK_F32) | WICK_DTYPE_BIT(WICK_F64))
#define FLAGS (WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_DETERMINISTIC)
#define UPSAMPLE(name, ndim, mode)                                                                        \
    CPU_ROW(name, upsample, (&(const form){ndim, mode, false}), FLOATS | WICK_DTYPE_BIT(WICK_U8), FLAGS), \
    CPU_ROW(name "_backward", upsample, (&(const form){ndim, mode, true}), FLOATS, FLAGS)

static const wick_kernel_row rows[] = {
    UPSAMPLE("upsample_nearest1d", 1, NEAREST),
    UPSAMPLE("upsample_nearest2d", 2, NEAREST),
    UPSAMPLE("upsample_nearest3d", 3, NEAREST),
    UPSAMPLE("_upsample_nearest_exact1d", 1, NEAREST_EXACT),
    UPSAMPLE("_upsample_nearest_exact2d", 2, NEAREST_EXACT),
    UPSAMPLE("_upsample_nearest_exact3d", 3, NEAREST_EXACT),
    UPSAMPLE("upsample_linear1d", 1, LINEAR),
    UPSAMPLE("upsample_bilinear2d", 2, LINEAR),
    UPSAMPLE("upsample_trilinear3d", 3, LINEAR),
    UPSAMPLE("upsample_bicubic2d", 2, CUBIC),
    UPSAMPLE("_upsample_bilinear2d_aa", 2, LINEAR_SMOOTH),
    UPSAMPLE("_upsample_bicubic2d_aa", 2, CUBIC_SMOOTH),
};
const cpu_kernel_table cpu_upsample_table = CPU_TABLE(rows);
