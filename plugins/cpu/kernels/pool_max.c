/* Max pooling with indices, fixed and adaptive windows, and the backwards. An index counts within the input plane. As
 * in PyTorch the first maximum wins, and a NaN wins over everything before it. */
#include <math.h>
#include <string.h>

#include "pool_windows.h"

typedef struct max_job {
    pool_windows w;
    const void *x;
    void *y;
    int64_t *index;
} max_job;

#define DEFINE_MAX(name, T, lowest)                                                                                  \
    static void max_plane_##name(const pool_windows *w, const T *x, T *y, int64_t *index) {                          \
        for (int64_t i = 0; i < w->out[0]; ++i)                                                                      \
            for (int64_t j = 0; j < w->out[1]; ++j)                                                                  \
                for (int64_t k = 0; k < w->out[2]; ++k) {                                                            \
                    T best = lowest;                                                                                 \
                    int64_t at = (w->begin[0][i] * w->in[1] + w->begin[1][j]) * w->in[2] + w->begin[2][k];           \
                    for (int64_t a = w->begin[0][i]; a < w->end[0][i]; a += w->step[0])                              \
                        for (int64_t b = w->begin[1][j]; b < w->end[1][j]; b += w->step[1]) {                        \
                            const int64_t row = (a * w->in[1] + b) * w->in[2];                                       \
                            for (int64_t c = w->begin[2][k]; c < w->end[2][k]; c += w->step[2]) {                    \
                                const T v = x[row + c];                                                              \
                                const bool better = v > best || v != v;                                                  \
                                best = better ? v : best;                                                            \
                                at = better ? row + c : at;                                                          \
                            }                                                                                        \
                        }                                                                                            \
                    *y++ = best, *index++ = at;                                                                      \
                }                                                                                                    \
    }                                                                                                                \
    /* Two by two without gaps or padding: the common case, without loops over the window. */                        \
    static void max_two_##name(const pool_windows *w, const T *x, T *y, int64_t *index) {                            \
        const int64_t width = w->in[2];                                                                              \
        for (int64_t j = 0; j < w->out[1]; ++j)                                                                      \
            for (int64_t k = 0; k < w->out[2]; ++k) {                                                                \
                const int64_t at = 2 * j * width + 2 * k;                                                            \
                const T a = x[at], b = x[at + 1], c = x[at + width], d = x[at + width + 1];                          \
                const bool b_wins = b > a || b != b, d_wins = d > c || d != d;                                       \
                const T top = b_wins ? b : a, bottom = d_wins ? d : c;                                               \
                const int64_t top_at = at + b_wins, bottom_at = at + width + d_wins;                                 \
                const bool bottom_wins = bottom > top || bottom != bottom;                                           \
                *y++ = bottom_wins ? bottom : top;                                                                   \
                *index++ = bottom_wins ? bottom_at : top_at;                                                         \
            }                                                                                                        \
    }                                                                                                                \
    static void max_planes_##name(void *user, int64_t begin, int64_t end, int worker) {                              \
        const max_job *job = user;                                                                                   \
        const int64_t in = pool_in_plane(&job->w), out = pool_out_plane(&job->w);                                    \
        const bool two = is_two_by_two(&job->w);                                                                     \
        for (int64_t p = begin; p < end; ++p)                                                                        \
            (two ? max_two_##name : max_plane_##name)(&job->w, (const T *)job->x + p * in, (T *)job->y + p * out,    \
                                                      job->index + p * out);                                         \
    }                                                                                                                \
    static void max_backward_##name(void *user, int64_t begin, int64_t end, int worker) {                            \
        const max_job *job = user;                                                                                   \
        const int64_t in = pool_in_plane(&job->w), out = pool_out_plane(&job->w);                                    \
        for (int64_t p = begin; p < end; ++p) {                                                                      \
            T *dx = (T *)job->y + p * in;                                                                            \
            const T *dy = (const T *)job->x + p * out;                                                               \
            memset(dx, 0, (size_t)in * sizeof(T));                                                                   \
            for (int64_t o = 0; o < out; ++o) dx[job->index[p * out + o]] += dy[o];                                  \
        }                                                                                                            \
    }

/* True if every window is two by two, side by side. */
static bool is_two_by_two(const pool_windows *w) {
    if (w->in[0] != 1 || w->out[0] != 1) return false;
    for (int d = 1; d < 3; ++d) {
        const int64_t last = w->out[d] - 1;
        if (last < 1 || w->step[d] != 1 || w->begin[d][0] != 0 || w->begin[d][1] != 2 || w->end[d][0] != 2) return false;
        if (w->begin[d][last] != 2 * last || w->end[d][last] != 2 * last + 2) return false;
        for (int64_t o = 1; o < last; ++o)
            if (w->begin[d][o] != 2 * o || w->end[d][o] != 2 * o + 2) return false;
    }
    return true;
}

DEFINE_MAX(f32, float, -INFINITY)
DEFINE_MAX(f64, double, -INFINITY)
DEFINE_MAX(i64, int64_t, INT64_MIN)

static const cpu_range_fn forward_table[] = {max_planes_f32, max_planes_f64, max_planes_i64};
static const cpu_range_fn backward_table[] = {max_backward_f32, max_backward_f64, max_backward_i64};

typedef struct max_form {
    int ndim;
    bool adaptive;
    int index; /* which argument of the backward is the indices */
} max_form;

static wick_status *max_pool(const wick_kernel_call *call) {
    const max_form *form = call->data;
    const wick_tensor *x = wick_arg_tensor(call, 0), *y = wick_out_tensor(call, 0), *index = wick_out_tensor(call, 1);
    const wick_dtype dtype = wick_tensor_dtype(x);
    if (!pool_is_native(dtype)) return cpu_call_widened(call, max_pool);
    max_job job = {.x = wick_data(x), .y = wick_data(y), .index = wick_data(index)};
    if (form->adaptive)
        WICK_TRY(pool_windows_adaptive(call, x, y, form->ndim, &job.w));
    else
        WICK_TRY(pool_windows_read(call, x, y, form->ndim, 1, true, &job.w));
    if (y->numel > 0)
        cpu_parallel_for(cpu_of(call), job.w.planes, pool_grain(pool_in_plane(&job.w)),
                         forward_table[pool_type_index(dtype)], &job);
    return NULL;
}

static wick_status *max_pool_backward(const wick_kernel_call *call) {
    const max_form *form = call->data;
    const wick_tensor *dy = wick_arg_tensor(call, 0), *index = wick_arg_tensor(call, form->index);
    const wick_tensor *dx = wick_out_tensor(call, 0);
    const wick_dtype dtype = wick_tensor_dtype(dy);
    if (!pool_is_native(dtype)) return cpu_call_widened(call, max_pool_backward);
    max_job job = {.x = wick_data(dy), .y = wick_data(dx), .index = wick_data(index)};
    WICK_TRY(pool_windows_adaptive(call, dx, dy, form->ndim, &job.w));
    if (dx->numel > 0)
        cpu_parallel_for(cpu_of(call), job.w.planes, pool_grain(pool_in_plane(&job.w)),
                         backward_table[pool_type_index(dtype)], &job);
    return NULL;
}

static const max_form max_2d = {2, false, 7}, max_3d = {3, false, 7}, adaptive_2d = {2, true, 2}, adaptive_3d = {3, true, 2};

static const wick_kernel_row rows[] = {
    CPU_ROW("max_pool2d_with_indices", max_pool, &max_2d, POOL_NUMBERS, POOL_FLAGS),
    CPU_ROW("max_pool3d_with_indices", max_pool, &max_3d, POOL_NUMBERS, POOL_FLAGS),
    CPU_ROW("adaptive_max_pool2d", max_pool, &adaptive_2d, POOL_NUMBERS, POOL_FLAGS),
    CPU_ROW("adaptive_max_pool3d", max_pool, &adaptive_3d, POOL_NUMBERS, POOL_FLAGS),
    CPU_ROW("max_pool2d_with_indices_backward", max_pool_backward, &max_2d, POOL_FLOATS, POOL_FLAGS),
    CPU_ROW("max_pool3d_with_indices_backward", max_pool_backward, &max_3d, POOL_FLOATS, POOL_FLAGS),
    CPU_ROW("adaptive_max_pool2d_backward", max_pool_backward, &adaptive_2d, POOL_FLOATS, POOL_FLAGS),
    CPU_ROW("adaptive_max_pool3d_backward", max_pool_backward, &adaptive_3d, POOL_FLOATS, POOL_FLAGS),
};
const cpu_kernel_table cpu_pool_max_table = CPU_TABLE(rows);
