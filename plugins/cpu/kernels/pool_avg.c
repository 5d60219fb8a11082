/* Average pooling, fixed and adaptive windows, and the backwards. */
#include <string.h>

#include "pool_windows.h"

typedef struct avg_job {
    pool_windows w;
    const void *x;
    void *y;
    int64_t divisor;      /* 0: the window's size */
    bool include_padding; /* in that size */
} avg_job;

static int64_t window_divisor(const avg_job *job, int64_t i, int64_t j, int64_t k) {
    const pool_windows *w = &job->w;
    if (job->divisor != 0) return job->divisor;
    if (job->include_padding) return w->length[0][i] * w->length[1][j] * w->length[2][k];
    return (w->end[0][i] - w->begin[0][i]) * (w->end[1][j] - w->begin[1][j]) * (w->end[2][k] - w->begin[2][k]);
}

static bool window_is_empty(const pool_windows *w, int64_t i, int64_t j, int64_t k) {
    return w->begin[0][i] >= w->end[0][i] || w->begin[1][j] >= w->end[1][j] || w->begin[2][k] >= w->end[2][k];
}

/* `use` sees the window's elements as x[at]. */
#define FOR_WINDOW(w, i, j, k, use)                                       \
    for (int64_t a = (w)->begin[0][i]; a < (w)->end[0][i]; ++a)           \
        for (int64_t b = (w)->begin[1][j]; b < (w)->end[1][j]; ++b)       \
            for (int64_t c = (w)->begin[2][k]; c < (w)->end[2][k]; ++c) { \
                const int64_t at = (a * (w)->in[1] + b) * (w)->in[2] + c; \
                use;                                                      \
            }
#define FOR_OUTPUTS(w, use)                       \
    for (int64_t i = 0; i < (w)->out[0]; ++i)     \
        for (int64_t j = 0; j < (w)->out[1]; ++j) \
            for (int64_t k = 0; k < (w)->out[2]; ++k) { use; }

#define DEFINE_AVG(name, T)                                                                          \
    static void avg_forward_##name(void *user, int64_t begin, int64_t end, int worker) {             \
        const avg_job *job = user;                                                                   \
        const pool_windows *w = &job->w;                                                             \
        T *y = (T *)job->y + begin * pool_out_plane(w);                                              \
        for (int64_t p = begin; p < end; ++p) {                                                      \
            const T *x = (const T *)job->x + p * pool_in_plane(w);                                   \
            FOR_OUTPUTS(w, {                                                                         \
                T sum = 0;                                                                           \
                FOR_WINDOW(w, i, j, k, sum += x[at])                                                 \
                *y++ = window_is_empty(w, i, j, k) ? 0 : sum / (T)window_divisor(job, i, j, k);      \
            })                                                                                       \
        }                                                                                            \
    }                                                                                                \
    static void avg_backward_##name(void *user, int64_t begin, int64_t end, int worker) {            \
        const avg_job *job = user;                                                                   \
        const pool_windows *w = &job->w;                                                             \
        const T *dy = (const T *)job->x + begin * pool_out_plane(w);                                 \
        for (int64_t p = begin; p < end; ++p) {                                                      \
            T *dx = (T *)job->y + p * pool_in_plane(w);                                              \
            memset(dx, 0, (size_t)pool_in_plane(w) * sizeof(T));                                     \
            FOR_OUTPUTS(w, {                                                                         \
                const T g = window_is_empty(w, i, j, k) ? 0 : *dy / (T)window_divisor(job, i, j, k); \
                ++dy;                                                                                \
                FOR_WINDOW(w, i, j, k, dx[at] += g)                                                  \
            })                                                                                       \
        }                                                                                            \
    }
DEFINE_AVG(f32, float)
DEFINE_AVG(f64, double)
DEFINE_AVG(i64, int64_t)

static const cpu_range_fn forward_table[] = {avg_forward_f32, avg_forward_f64, avg_forward_i64};
static const cpu_range_fn backward_table[] = {avg_backward_f32, avg_backward_f64, avg_backward_i64};

typedef struct avg_form {
    int ndim;
    bool adaptive, backward;
} avg_form;

/* The arguments after the kernel's, stride's and padding's: ceil_mode, count_include_pad, divisor_override. */
static void read_divisor(const wick_kernel_call *call, int first, avg_job *job) {
    job->include_padding = call->values[first + 4].as.i != 0;
    job->divisor = wick_value_is_none(&call->values[first + 5]) ? 0 : call->values[first + 5].as.i;
}

static wick_status *avg_pool(const wick_kernel_call *call) {
    const avg_form *form = call->data;
    const wick_tensor *from = wick_arg_tensor(call, 0), *to = wick_out_tensor(call, 0);
    const wick_tensor *in = form->backward ? to : from, *out = form->backward ? from : to;
    const wick_dtype dtype = wick_tensor_dtype(from);
    const int first = form->backward ? 2 : 1;
    if (!pool_is_native(dtype)) return cpu_call_widened(call, avg_pool);
    avg_job job = {.x = wick_data(from), .y = wick_data(to), .divisor = 0, .include_padding = false};
    if (form->adaptive) {
        WICK_TRY(pool_windows_adaptive(call, in, out, form->ndim, &job.w));
    } else {
        WICK_TRY(pool_windows_read(call, in, out, form->ndim, first, false, &job.w));
        read_divisor(call, first, &job);
    }
    const cpu_range_fn *table = form->backward ? backward_table : forward_table;
    if (to->numel > 0)
        cpu_parallel_for(cpu_of(call), job.w.planes, pool_grain(pool_in_plane(&job.w)), table[pool_type_index(dtype)],
                         &job);
    return NULL;
}

#define FORM(ndim, adaptive, backward) (&(const avg_form){ndim, adaptive, backward})
static const wick_kernel_row rows[] = {
    CPU_ROW("avg_pool2d", avg_pool, FORM(2, false, false), POOL_AVERAGED, POOL_FLAGS),
    CPU_ROW("avg_pool3d", avg_pool, FORM(3, false, false), POOL_AVERAGED, POOL_FLAGS),
    CPU_ROW("avg_pool2d_backward", avg_pool, FORM(2, false, true), POOL_AVERAGED, POOL_FLAGS),
    CPU_ROW("avg_pool3d_backward", avg_pool, FORM(3, false, true), POOL_AVERAGED, POOL_FLAGS),
    CPU_ROW("_adaptive_avg_pool2d", avg_pool, FORM(2, true, false), POOL_FLOATS, POOL_FLAGS),
    CPU_ROW("_adaptive_avg_pool3d", avg_pool, FORM(3, true, false), POOL_FLOATS, POOL_FLAGS),
    CPU_ROW("_adaptive_avg_pool2d_backward", avg_pool, FORM(2, true, true), POOL_FLOATS, POOL_FLAGS),
    CPU_ROW("_adaptive_avg_pool3d_backward", avg_pool, FORM(3, true, true), POOL_FLOATS, POOL_FLAGS),
};
const cpu_kernel_table cpu_pool_avg_table = CPU_TABLE(rows);
