/* grid_sampler_2d and 3d, and the backwards: values of an image at the positions that a grid names. */
#include <math.h>
#include <string.h>

#include "upsample_taps.h"
#include "widen.h"

typedef enum interpolation { LINEAR, NEAREST, CUBIC } interpolation;
typedef enum border { ZEROS, CLIP, REFLECT } border;

/* Dimensions are counted from the outermost of three; a missing one has size 1. Grid coordinates come innermost first. */
typedef struct grid_job {
    int ndim;
    interpolation interpolation;
    border border;
    bool align_corners;
    int64_t channels, in[3], out; /* out: pixels of an output plane */
    const void *x, *grid, *dy;
    void *y, *dx, *dgrid; /* dx and dgrid may be NULL */
} grid_job;

static int64_t volume(const int64_t *n) { return n[0] * n[1] * n[2]; }

/* Everything below is in T. A tap list is the pixels that one position reads: at most 16, with the weight of each and
 * its derivative by each coordinate. */
#define MAX_TAPS 16
#define DEFINE_GRID(T, FLOOR, NEARBYINT, FABS, FMOD)                                                                   \
    typedef struct tap_list_##T {                                                                                      \
        int count;                                                                                                     \
        int64_t at[MAX_TAPS];                                                                                          \
        T weight[MAX_TAPS], slope[MAX_TAPS][3];                                                                        \
    } tap_list_##T;                                                                                                    \
    /* A position beyond the border is brought inside; *slope is the derivative of that. */                            \
    static T clip_##T(T v, int64_t n, T *slope) {                                                                      \
        if (v <= 0) return *slope = 0, (T)0;                                                                           \
        if (v >= (T)(n - 1)) return *slope = 0, (T)(n - 1);                                                            \
        return v;                                                                                                      \
    }                                                                                                                  \
    static T reflect_##T(T v, T low, T high, T *slope) {                                                               \
        if (low == high) return *slope = 0, (T)0;                                                                      \
        v -= low;                                                                                                      \
        if (v < 0) v = -v, *slope = -*slope;                                                                           \
        const T span = high - low, extra = FMOD(v, span);                                                              \
        if (FLOOR(v / span) - 2 * FLOOR(FLOOR(v / span) / 2) == 0) return extra + low;                                 \
        *slope = -*slope;                                                                                              \
        return span - extra + low;                                                                                     \
    }                                                                                                                  \
    static T inside_##T(const grid_job *job, T v, int64_t n, T *slope) {                                               \
        if (job->border == REFLECT)                                                                                    \
            v = job->align_corners ? reflect_##T(v, 0, (T)(n - 1), slope)                                              \
                                   : reflect_##T(v, (T)-0.5, (T)n - (T)0.5, slope);                                    \
        return job->border == ZEROS ? v : clip_##T(v, n, slope);                                                       \
    }                                                                                                                  \
    static T unnormalize_##T(const grid_job *job, T g, int64_t n, T *slope) {                                          \
        *slope = job->align_corners ? (T)(n - 1) / 2 : (T)n / 2;                                                       \
        return job->align_corners ? (g + 1) / 2 * (T)(n - 1) : ((g + 1) * (T)n - 1) / 2;                               \
    }                                                                                                                  \
    static void add_tap_##T(const grid_job *job, tap_list_##T *taps, const int64_t *at, T weight, const T *slope) {    \
        for (int d = 0; d < 3; ++d)                                                                                    \
            if (at[d] < 0 || at[d] >= job->in[d]) return;                                                              \
        taps->at[taps->count] = (at[0] * job->in[1] + at[1]) * job->in[2] + at[2];                                     \
        taps->weight[taps->count] = weight;                                                                            \
        memcpy(taps->slope[taps->count++], slope, 3 * sizeof(T));                                                      \
    }                                                                                                                  \
    /* v[d]: the position; s[d]: its derivative by the grid's coordinate. */                                           \
    static void linear_taps_##T(const grid_job *job, const T *v, const T *s, tap_list_##T *taps) {                     \
        const int first = 3 - job->ndim;                                                                               \
        for (int corner = 0; corner < 1 << job->ndim; ++corner) {                                                      \
            int64_t at[3] = {0, 0, 0};                                                                                 \
            T part[3] = {1, 1, 1}, sign[3] = {0, 0, 0}, weight = 1, slope[3];                                          \
            for (int d = first; d < 3; ++d) {                                                                          \
                const T base = FLOOR(v[d]);                                                                            \
                const bool upper = corner >> (2 - d) & 1;                                                              \
                at[d] = (int64_t)base + upper;                                                                         \
                part[d] = upper ? v[d] - base : base + 1 - v[d];                                                       \
                sign[d] = upper ? s[d] : -s[d];                                                                        \
                weight *= part[d];                                                                                     \
            }                                                                                                          \
            slope[0] = sign[0] * part[1] * part[2], slope[1] = sign[1] * part[0] * part[2];                            \
            slope[2] = sign[2] * part[0] * part[1];                                                                    \
            add_tap_##T(job, taps, at, weight, slope);                                                                 \
        }                                                                                                              \
    }                                                                                                                  \
    static void nearest_taps_##T(const grid_job *job, const T *v, tap_list_##T *taps) {                                \
        const T slope[3] = {0, 0, 0};                                                                                  \
        const int64_t at[3] = {(int64_t)NEARBYINT(v[0]), (int64_t)NEARBYINT(v[1]), (int64_t)NEARBYINT(v[2])};          \
        add_tap_##T(job, taps, at, 1, slope);                                                                          \
    }                                                                                                                  \
    /* Weights of four pixels around a position and their derivatives: cubic convolution with parameter -0.75. */      \
    static void cubic_weights_##T(T part, T *weight, T *slope) {                                                       \
        const T a = (T)-0.75;                                                                                          \
        for (int i = 0; i < 4; ++i) {                                                                                  \
            const T d = FABS(part + 1 - (T)i), sign = part + 1 - (T)i < 0 ? -1 : 1;                                    \
            const bool near = i == 1 || i == 2;                                                                        \
            weight[i] = near ? ((a + 2) * d - (a + 3)) * d * d + 1 : (((d - 5) * d + 8) * d - 4) * a;                  \
            slope[i] = sign * (near ? (3 * (a + 2) * d - 2 * (a + 3)) * d : ((3 * d - 10) * d + 8) * a);               \
        }                                                                                                              \
    }                                                                                                                  \
    /* The border moves each of the sixteen pixels, not the position. */                                               \
    static void cubic_taps_##T(const grid_job *job, const T *v, const T *s, tap_list_##T *taps) {                      \
        const T y0 = FLOOR(v[1]), x0 = FLOOR(v[2]);                                                                    \
        T wy[4], sy[4], wx[4], sx[4];                                                                                  \
        cubic_weights_##T(v[1] - y0, wy, sy);                                                                          \
        cubic_weights_##T(v[2] - x0, wx, sx);                                                                          \
        for (int i = 0; i < 16; ++i) {                                                                                 \
            T unused = 1;                                                                                              \
            const int r = i / 4, c = i % 4;                                                                            \
            const int64_t at[3] = {0, (int64_t)inside_##T(job, y0 - 1 + (T)r, job->in[1], &unused),                    \
                                   (int64_t)inside_##T(job, x0 - 1 + (T)c, job->in[2], &unused)};                      \
            const T slope[3] = {0, sy[r] * wx[c] * s[1], wy[r] * sx[c] * s[2]};                                        \
            add_tap_##T(job, taps, at, wy[r] * wx[c], slope);                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void find_taps_##T(const grid_job *job, const T *grid, tap_list_##T *taps) {                                \
        T v[3] = {0, 0, 0}, s[3] = {0, 0, 0};                                                                          \
        taps->count = 0;                                                                                               \
        for (int d = 3 - job->ndim; d < 3; ++d) {                                                                      \
            v[d] = unnormalize_##T(job, grid[2 - d], job->in[d], &s[d]);                                               \
            if (job->interpolation != CUBIC) v[d] = inside_##T(job, v[d], job->in[d], &s[d]);                          \
            if (!(v[d] > -1e9 && v[d] < 1e9)) v[d] = -100; /* far outside, or NaN: nothing is read there */            \
        }                                                                                                              \
        if (job->interpolation == LINEAR)                                                                              \
            linear_taps_##T(job, v, s, taps);                                                                          \
        else if (job->interpolation == NEAREST)                                                                        \
            nearest_taps_##T(job, v, taps);                                                                            \
        else                                                                                                           \
            cubic_taps_##T(job, v, s, taps);                                                                           \
    }                                                                                                                  \
    static void sample_##T(const grid_job *job, int64_t image) {                                                       \
        const int64_t plane = volume(job->in);                                                                         \
        const T *x = (const T *)job->x + image * job->channels * plane;                                                \
        T *y = (T *)job->y + image * job->channels * job->out;                                                         \
        for (int64_t o = 0; o < job->out; ++o) {                                                                       \
            tap_list_##T taps;                                                                                         \
            find_taps_##T(job, (const T *)job->grid + (image * job->out + o) * job->ndim, &taps);                      \
            for (int64_t c = 0; c < job->channels; ++c) {                                                              \
                T sum = 0;                                                                                             \
                for (int i = 0; i < taps.count; ++i) sum += x[c * plane + taps.at[i]] * taps.weight[i];                \
                y[c * job->out + o] = sum;                                                                             \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    /* What one output pixel gives back, in all channels. */                                                           \
    static void give_back_##T(const grid_job *job, int64_t image, int64_t o, const tap_list_##T *taps) {               \
        const int64_t plane = volume(job->in), base = image * job->channels;                                           \
        T *dx = job->dx ? (T *)job->dx + base * plane : NULL, slope[3] = {0, 0, 0};                                    \
        for (int64_t c = 0; c < job->channels; ++c) {                                                                  \
            const T g = ((const T *)job->dy)[(base + c) * job->out + o];                                               \
            const T *x = (const T *)job->x + (base + c) * plane;                                                       \
            for (int i = 0; i < taps->count; ++i) {                                                                    \
                if (dx) dx[c * plane + taps->at[i]] += g * taps->weight[i];                                            \
                for (int d = 0; d < 3; ++d) slope[d] += g * x[taps->at[i]] * taps->slope[i][d];                        \
            }                                                                                                          \
        }                                                                                                              \
        T *dgrid = job->dgrid ? (T *)job->dgrid + (image * job->out + o) * job->ndim : NULL;                           \
        for (int d = 3 - job->ndim; dgrid && d < 3; ++d) dgrid[2 - d] = slope[d];                                      \
    }                                                                                                                  \
    static void sample_backward_##T(const grid_job *job, int64_t image) {                                              \
        const int64_t count = job->channels * volume(job->in);                                                         \
        if (job->dx) memset((T *)job->dx + image * count, 0, (size_t)count * sizeof(T));                               \
        for (int64_t o = 0; o < job->out; ++o) {                                                                       \
            tap_list_##T taps;                                                                                         \
            find_taps_##T(job, (const T *)job->grid + (image * job->out + o) * job->ndim, &taps);                      \
            give_back_##T(job, image, o, &taps);                                                                       \
        }                                                                                                              \
    }                                                                                                                  \
    static void sample_images_##T(void *user, int64_t begin, int64_t end, int worker) {                                \
        const grid_job *job = user;                                                                                    \
        for (int64_t image = begin; image < end; ++image) (job->y ? sample_##T : sample_backward_##T)(job, image);     \
    }
DEFINE_GRID(float, floorf, nearbyintf, fabsf, fmodf)
DEFINE_GRID(double, floor, nearbyint, fabs, fmod)

static grid_job read_job(const wick_kernel_call *call, int first) {
    const wick_tensor *x = wick_arg_tensor(call, first), *grid = wick_arg_tensor(call, first + 1);
    const wick_value *v = &call->values[first + 2];
    const int ndim = *(const int *)call->data;
    grid_job job = {.ndim = ndim, .interpolation = (interpolation)v[0].as.i, .border = (border)v[1].as.i,
                    .align_corners = v[2].as.i != 0, .channels = x->sizes[1], .out = 1,
                    .x = wick_data(x), .grid = wick_data(grid)};
    for (int d = 0; d < 3; ++d) job.in[d] = d < 3 - ndim ? 1 : x->sizes[2 + d - (3 - ndim)];
    for (int d = 0; d < ndim; ++d) job.out *= grid->sizes[1 + d];
    return job;
}

static void run(const wick_kernel_call *call, const grid_job *job, int64_t images, wick_dtype dtype) {
    cpu_parallel_for(cpu_of(call), images, 1 + CPU_GRAIN / (job->out * job->channels + 1),
                     dtype == WICK_F32 ? sample_images_float : sample_images_double, (void *)(uintptr_t)job);
}

static wick_status *grid_sampler(const wick_kernel_call *call) {
    const wick_tensor *out = wick_out_tensor(call, 0);
    const wick_dtype dtype = wick_tensor_dtype(out);
    if (cpu_wide_dtype(dtype) != dtype) return cpu_call_widened(call, grid_sampler);
    if (out->numel == 0) return NULL;
    grid_job job = read_job(call, 0);
    job.y = wick_data(out);
    run(call, &job, out->sizes[0], dtype);
    return NULL;
}

static wick_status *grid_sampler_backward(const wick_kernel_call *call) {
    const wick_tensor *dy = wick_arg_tensor(call, 0), *dx = wick_out_tensor(call, 0), *dgrid = wick_out_tensor(call, 1);
    const wick_dtype dtype = wick_tensor_dtype(dy);
    if (cpu_wide_dtype(dtype) != dtype) return cpu_call_widened(call, grid_sampler_backward);
    grid_job job = read_job(call, 1);
    job.dy = wick_data(dy);
    job.dx = dx ? wick_data(dx) : NULL, job.dgrid = dgrid ? wick_data(dgrid) : NULL;
    run(call, &job, wick_arg_tensor(call, 1)->sizes[0], dtype);
    return NULL;
}

#define FLOATS \
    (WICK_DTYPE_BIT(WICK_F16) | WICK_DTYPE_BIT(WICK_BF16) | WICK_DTYPE_BIT(WICK_F32) | WICK_DTYPE_BIT(WICK_F64))
#define FLAGS (WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_DETERMINISTIC)
static const int two = 2, three = 3;

static const wick_kernel_row rows[] = {
    CPU_ROW("grid_sampler_2d", grid_sampler, &two, FLOATS, FLAGS),
    CPU_ROW("grid_sampler_3d", grid_sampler, &three, FLOATS, FLAGS),
    CPU_ROW("grid_sampler_2d_backward", grid_sampler_backward, &two, FLOATS, FLAGS),
    CPU_ROW("grid_sampler_3d_backward", grid_sampler_backward, &three, FLOATS, FLAGS),
};
const cpu_kernel_table cpu_upsample_grid_table = CPU_TABLE(rows);
