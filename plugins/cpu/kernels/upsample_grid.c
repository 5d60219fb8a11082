/* grid_sampler_2d and 3d, and the backwards: values of an image at the positions that a grid names. */
#include <math.h>
#include <string.h>

#include "upsample_taps.h"
#include "widen.h"

typedef enum interpolation { LINEAR, NEAREST, CUBIC } interpolation;
typedef enum border { ZEROS, CLIP, REFLECT } border;

/* Dimensions are counted from the outermost of three; a missing one has size 1. Grid coordinates come innermost
 * first. */
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

#define T float
#define NAME(x) x##_f32
#define FLOOR floorf
#define NEARBYINT nearbyintf
#define FABS fabsf
#define FMOD fmodf
#include "upsample_grid.inc"

#define T double
#define NAME(x) x##_f64
#define FLOOR floor
#define NEARBYINT nearbyint
#define FABS fabs
#define FMOD fmod
#include "upsample_grid.inc"

static grid_job read_job(const wick_kernel_call *call, int first) {
    const wick_tensor *x = wick_arg_tensor(call, first), *grid = wick_arg_tensor(call, first + 1);
    const wick_value *v = &call->values[first + 2];
    const int ndim = *(const int *)call->data;
    grid_job job = {.ndim = ndim,
                    .interpolation = (interpolation)v[0].as.i,
                    .border = (border)v[1].as.i,
                    .align_corners = v[2].as.i != 0,
                    .channels = x->sizes[1],
                    .out = 1,
                    .x = wick_data(x),
                    .grid = wick_data(grid)};
    for (int d = 0; d < 3; ++d) job.in[d] = d < 3 - ndim ? 1 : x->sizes[2 + d - (3 - ndim)];
    for (int d = 0; d < ndim; ++d) job.out *= grid->sizes[1 + d];
    return job;
}

static void run(const wick_kernel_call *call, const grid_job *job, int64_t images, wick_dtype dtype) {
    cpu_parallel_for(cpu_of(call), images, 1 + CPU_GRAIN / (job->out * job->channels + 1),
                     dtype == WICK_F32 ? sample_images_f32 : sample_images_f64, (void *)(uintptr_t)job);
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

#define FLOATS WICK_DTYPES_FLOAT
#define FLAGS (WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_DETERMINISTIC)
static const int two = 2, three = 3;

static const wick_kernel_row rows[] = {
    CPU_ROW("grid_sampler_2d", grid_sampler, &two, FLOATS, FLAGS),
    CPU_ROW("grid_sampler_3d", grid_sampler, &three, FLOATS, FLAGS),
    CPU_ROW("grid_sampler_2d_backward", grid_sampler_backward, &two, FLOATS, FLAGS),
    CPU_ROW("grid_sampler_3d_backward", grid_sampler_backward, &three, FLOATS, FLAGS),
};
const cpu_kernel_table cpu_upsample_grid_table = CPU_TABLE(rows);
