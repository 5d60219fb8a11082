/* im2col and col2im: the patches of an image as columns, and their sum back into an image. */
#include <complex.h>
#include <string.h>
#include <wick/sdk/shape.h>

#include "conv.h"
#include "widen.h"

typedef struct im2col_job {
    wick_windows w; /* of dimensions 1 and 2 */
    int64_t planes;
    size_t bytes;
    const char *from;
    char *to;
} im2col_job;

/* kernel_size, dilation, padding, stride from `first` on; `image` and the number of its planes. */
static im2col_job read_job(const wick_kernel_call *call, int first, const wick_tensor *image) {
    im2col_job job = {.planes = 1, .bytes = wick_dtype_bytes(wick_tensor_dtype(image))};
    wick_windows_columns(&call->values[first], image, &job.w);
    for (int d = 0; d < image->ndim - 2; ++d) job.planes *= image->sizes[d];
    return job;
}

static int64_t columns_of_plane(const im2col_job *job) {
    return job->w.kernel[1] * job->w.kernel[2] * job->w.out[1] * job->w.out[2];
}

/* One row of one tap's column: `out` pixels from image row y; what lies outside the image is 0. */
static void copy_row(const im2col_job *job, const char *row, int64_t tap, char *out) {
    for (int64_t x = 0; x < job->w.out[2]; ++x, out += job->bytes) {
        const int64_t at = x * job->w.stride[2] - job->w.padding[2] + tap * job->w.dilation[2];
        if (at >= 0 && at < job->w.in[2])
            memcpy(out, row + (size_t)at * job->bytes, job->bytes);
        else
            memset(out, 0, job->bytes);
    }
}

static void im2col_planes(void *user, int64_t begin, int64_t end, int worker) {
    const im2col_job *job = user;
    char *out = job->to + (size_t)(begin * columns_of_plane(job)) * job->bytes;
    const size_t out_row = (size_t)job->w.out[2] * job->bytes;
    for (int64_t p = begin; p < end; ++p)
        for (int64_t tap = 0; tap < job->w.kernel[1] * job->w.kernel[2]; ++tap)
            for (int64_t y = 0; y < job->w.out[1]; ++y, out += out_row) {
                const int64_t at =
                    y * job->w.stride[1] - job->w.padding[1] + tap / job->w.kernel[2] * job->w.dilation[1];
                const char *row = job->from + (size_t)((p * job->w.in[1] + at) * job->w.in[2]) * job->bytes;
                if (at >= 0 && at < job->w.in[1])
                    copy_row(job, row, tap % job->w.kernel[2], out);
                else
                    memset(out, 0, out_row);
            }
}

static wick_status *im2col(const wick_kernel_call *call) {
    const wick_tensor *image = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, 0);
    im2col_job job = read_job(call, 1, image);
    job.from = wick_data(image), job.to = wick_data(out);
    if (out->numel > 0)
        cpu_parallel_for(cpu_of(call), job.planes, 1 + CPU_GRAIN / (columns_of_plane(&job) + 1), im2col_planes, &job);
    return NULL;
}

#define DEFINE_COL2IM(name, T)                                                                   \
    static void col2im_##name(void *user, int64_t begin, int64_t end, int worker) {              \
        const im2col_job *job = user;                                                            \
        const T *column = (const T *)job->from + begin * columns_of_plane(job);                  \
        for (int64_t p = begin; p < end; ++p) {                                                  \
            T *image = (T *)job->to + p * job->w.in[1] * job->w.in[2];                           \
            memset(image, 0, (size_t)(job->w.in[1] * job->w.in[2]) * sizeof(T));                 \
            for (int64_t tap = 0; tap < job->w.kernel[1] * job->w.kernel[2]; ++tap)              \
                for (int64_t o = 0; o < job->w.out[1] * job->w.out[2]; ++o, ++column) {          \
                    const int64_t y = o / job->w.out[2] * job->w.stride[1] - job->w.padding[1] + \
                                      tap / job->w.kernel[2] * job->w.dilation[1];               \
                    const int64_t x = o % job->w.out[2] * job->w.stride[2] - job->w.padding[2] + \
                                      tap % job->w.kernel[2] * job->w.dilation[2];               \
                    if (y >= 0 && y < job->w.in[1] && x >= 0 && x < job->w.in[2])                \
                        image[y * job->w.in[2] + x] += *column;                                  \
                }                                                                                \
        }                                                                                        \
    }
DEFINE_COL2IM(f32, float)
DEFINE_COL2IM(f64, double)
DEFINE_COL2IM(i64, int64_t)
DEFINE_COL2IM(c64, float complex)
DEFINE_COL2IM(c128, double complex)

static wick_status *col2im(const wick_kernel_call *call) {
    const cpu_range_fn table[WICK_DTYPE_COUNT] = {[WICK_F32] = col2im_f32,
                                                  [WICK_F64] = col2im_f64,
                                                  [WICK_I64] = col2im_i64,
                                                  [WICK_C64] = col2im_c64,
                                                  [WICK_C128] = col2im_c128};
    const wick_tensor *columns = wick_arg_tensor(call, 0), *image = wick_out_tensor(call, 0);
    const wick_dtype dtype = wick_tensor_dtype(image);
    if (cpu_wide_dtype(dtype) != dtype) return cpu_call_widened(call, col2im);
    im2col_job job = read_job(call, 2, image);
    job.from = wick_data(columns), job.to = wick_data(image);
    if (image->numel > 0)
        cpu_parallel_for(cpu_of(call), job.planes, 1 + CPU_GRAIN / (columns_of_plane(&job) + 1), table[dtype], &job);
    return NULL;
}

static const wick_kernel_row rows[] = {
    CPU_ROW("im2col", im2col, NULL, 0, WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("col2im", col2im, NULL, 0, WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_DETERMINISTIC),
};
const cpu_kernel_table cpu_conv_im2col_table = CPU_TABLE(rows);
