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

#define T float
#define NAME(x) x##_f32
#define FLOOR floorf
#define FABS fabsf
#include "upsample_axis.inc"

#define T double
#define NAME(x) x##_f64
#define FLOOR floor
#define FABS fabs
#include "upsample_axis.inc"

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
            fill_f64(&axes[d], f->mode, t->count[d], t->index[d], t->weight[d]);
        else
            fill_f32(&axes[d], f->mode, t->count[d], t->index[d], t->weight[d]);
    }
    return NULL;
}

/* An identity in dimension d, of which the input's size is n. */
static void fill_identity(taps *t, int d, int64_t n) {
    for (int64_t o = 0; o < n; ++o) t->index[d][o] = o, ((float *)t->weight[d])[o] = 1;
}

/* Bytes are resampled a dimension at a time, innermost first, and rounded after each, as PyTorch does. */
static wick_status *upsample_bytes(const wick_kernel_call *call, const form *f, const taps *whole) {
    axis axes[3];
    read_axes(call, f, whole, axes);
    taps t = *whole;
    const void *from = wick_data(wick_arg_tensor(call, 0));
    for (int d = 0; d < 3; ++d) t.out[d] = whole->in[d];
    for (int d = 2; d >= 3 - f->ndim; --d) {
        void *to = wick_data(wick_out_tensor(call, 0));
        t.out[d] = whole->out[d], t.count[d] = count_of(&axes[d], f->mode);
        if (d > 3 - f->ndim) WICK_TRY(cpu_scratch(call, (size_t)(t.planes * t.out[0] * t.out[1] * t.out[2]), &to));
        WICK_TRY(taps_allocate(call, &t, sizeof(float)));
        for (int e = 0; e < 3; ++e)
            if (e != d) fill_identity(&t, e, t.in[e]);
        fill_f32(&axes[d], f->mode, t.count[d], t.index[d], t.weight[d]);
        taps_sum(cpu_of(call), &t, WICK_U8, from, to);
        t.in[d] = t.out[d], t.count[d] = 1, from = to;
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
    if (dtype == WICK_U8 && f->mode > NEAREST_EXACT) return upsample_bytes(call, f, &t);
    WICK_TRY(make_taps(call, f, dtype, &t));
    if (f->backward)
        taps_scatter(cpu_of(call), &t, dtype, wick_data(from), wick_data(to));
    else if (f->mode <= NEAREST_EXACT)
        taps_copy(cpu_of(call), &t, wick_dtype_bytes(dtype), wick_data(from), wick_data(to));
    else
        taps_sum(cpu_of(call), &t, dtype, wick_data(from), wick_data(to));
    return NULL;
}

#define FLOATS WICK_DTYPES_FLOAT
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
