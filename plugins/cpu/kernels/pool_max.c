/* Max pooling with indices, fixed and adaptive windows, and the backwards. An index counts within the input plane. As
 * in PyTorch the first maximum wins, and a NaN wins over everything before it. */
#include <math.h>
#include <string.h>
#include <wick/sdk/shape.h>

#include "pool_windows.h"

typedef struct max_job {
    pool_windows w;
    const void *x;
    void *y;
    int64_t *index;
    /* fractional pooling: every plane has windows of its own, of these sizes, placed by `ndim` random numbers */
    const void *samples;
    int ndim;
    int64_t kernel[3];
    int64_t *places; /* memory for a plane's windows, a thread */
} max_job;

/* The windows that worker `worker` fills for one plane. */
static pool_windows own_windows(const max_job *job, int worker) {
    pool_windows w = job->w;
    int64_t *next = job->places + 2 * worker * (w.out[0] + w.out[1] + w.out[2]);
    for (int d = 0; d < 3; ++d) {
        w.begin[d] = next, w.end[d] = next + w.out[d];
        next += 2 * w.out[d];
    }
    return w;
}

/* True if every window is two by two, side by side. */
static bool is_two_by_two(const pool_windows *w) {
    if (w->in[0] != 1 || w->out[0] != 1 || w->in[2] > INT32_MAX / 2) return false;
    for (int d = 1; d < 3; ++d) {
        const int64_t last = w->out[d] - 1;
        if (last < 1 || w->step[d] != 1 || w->begin[d][0] != 0 || w->begin[d][1] != 2 || w->end[d][0] != 2)
            return false;
        if (w->begin[d][last] != 2 * last || w->end[d][last] != 2 * last + 2) return false;
        for (int64_t o = 1; o < last; ++o)
            if (w->begin[d][o] != 2 * o || w->end[d][o] != 2 * o + 2) return false;
    }
    return true;
}

#define T float
#define OFFSET int32_t
#define EVEN 0, 2, 4, 6
#define ODD 1, 3, 5, 7
#define NAME(x) x##_f32
#define LOWEST -INFINITY
#define IS_NAN(v) ((v) != (v))
#include "pool_max.inc"

#define T double
#define OFFSET int64_t
#define EVEN 0, 2
#define ODD 1, 3
#define NAME(x) x##_f64
#define LOWEST -INFINITY
#define IS_NAN(v) ((v) != (v))
#include "pool_max.inc"

#define T int64_t
#define OFFSET int64_t
#define EVEN 0, 2
#define ODD 1, 3
#define NAME(x) x##_i64
#define LOWEST INT64_MIN
#define IS_NAN(v) 0
#include "pool_max.inc"

static const cpu_range_fn forward_table[] = {max_planes_f32, max_planes_f64, max_planes_i64};
static const cpu_range_fn fractional_table[] = {fractional_planes_f32, fractional_planes_f64, fractional_planes_i64};
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

static wick_status *fractional_max_pool(const wick_kernel_call *call) {
    const max_form *form = call->data;
    const wick_tensor *x = wick_arg_tensor(call, 0), *y = wick_out_tensor(call, 0);
    const wick_dtype dtype = wick_tensor_dtype(x);
    if (!pool_is_native(dtype)) return cpu_call_widened(call, fractional_max_pool);
    max_job job = {.x = wick_data(x),
                   .y = wick_data(y),
                   .index = wick_data(wick_out_tensor(call, 1)),
                   .samples = wick_data(wick_arg_tensor(call, 3)),
                   .ndim = form->ndim};
    WICK_TRY(pool_windows_adaptive(call, x, y, form->ndim, &job.w));
    wick_spatial_ints(&call->values[1], form->ndim, 1, NULL, job.kernel);
    const int64_t places = 2 * (job.w.out[0] + job.w.out[1] + job.w.out[2]) * cpu_thread_count(cpu_of(call));
    WICK_TRY(cpu_scratch(call, (size_t)places * sizeof(int64_t), (void **)&job.places));
    if (y->numel > 0)
        cpu_parallel_for(cpu_of(call), job.w.planes, pool_grain(pool_in_plane(&job.w)),
                         fractional_table[pool_type_index(dtype)], &job);
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

static const max_form max_2d = {2, false, 7}, max_3d = {3, false, 7}, adaptive_2d = {2, true, 2},
                      adaptive_3d = {3, true, 2};
static const max_form fractional_2d = {2, false, 4}, fractional_3d = {3, false, 4};

static const wick_kernel_row rows[] = {
    CPU_ROW("max_pool2d_with_indices", max_pool, &max_2d, POOL_NUMBERS, POOL_FLAGS),
    CPU_ROW("max_pool3d_with_indices", max_pool, &max_3d, POOL_NUMBERS, POOL_FLAGS),
    CPU_ROW("adaptive_max_pool2d", max_pool, &adaptive_2d, POOL_NUMBERS, POOL_FLAGS),
    CPU_ROW("adaptive_max_pool3d", max_pool, &adaptive_3d, POOL_NUMBERS, POOL_FLAGS),
    CPU_ROW("max_pool2d_with_indices_backward", max_pool_backward, &max_2d, POOL_FLOATS, POOL_FLAGS),
    CPU_ROW("max_pool3d_with_indices_backward", max_pool_backward, &max_3d, POOL_FLOATS, POOL_FLAGS),
    CPU_ROW("adaptive_max_pool2d_backward", max_pool_backward, &adaptive_2d, POOL_FLOATS, POOL_FLAGS),
    CPU_ROW("adaptive_max_pool3d_backward", max_pool_backward, &adaptive_3d, POOL_FLOATS, POOL_FLAGS),
    CPU_ROW("fractional_max_pool2d", fractional_max_pool, &fractional_2d, POOL_FLOATS, POOL_FLAGS),
    CPU_ROW("fractional_max_pool3d", fractional_max_pool, &fractional_3d, POOL_FLOATS, POOL_FLAGS),
    CPU_ROW("fractional_max_pool2d_backward", max_pool_backward, &fractional_2d, POOL_FLOATS, POOL_FLAGS),
    CPU_ROW("fractional_max_pool3d_backward", max_pool_backward, &fractional_3d, POOL_FLOATS, POOL_FLAGS),
};
const cpu_kernel_table cpu_pool_max_table = CPU_TABLE(rows);
