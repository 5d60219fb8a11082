/* dw and db. dw[(channel, tap)][channel of y] is the product of the patches, transposed, with the pixels of dy:
 * the long sum runs over the pixels of all images of a slice. */
#include "conv.h"

#include <string.h>

typedef struct weight_job {
    const conv_shape *s;
    const cpu_gemm_type *type;
    size_t bytes;
    conv_frame frame;
    cpu_product product;
    int64_t images, row_block, row_blocks;
    const char *source; /* padded images */
    const char *dy;
    char *columns; /* dy with the channel running fastest, in panels */
    char *sums;    /* [group][channel, tap][channel of y] */
    int64_t *rows, *cols;
    char *padded;
} weight_job;

static int64_t columns_count(const weight_job *job, int64_t images) { /* of one group */
    return cpu_gemm_packed_count(job->type, images * conv_volume(job->s->space.out), job->s->out_channels);
}

/* dy of one image and group to columns, for (image, group) pairs. */
static void transpose_images(void *user, int64_t begin, int64_t end, int worker) {
    const weight_job *job = user;
    const conv_shape *s = job->s;
    const int64_t pixels = conv_volume(s->space.out), n = s->out_channels, panel = job->product.panel;
    for (int64_t t = begin; t < end; ++t) {
        const int64_t image = t / s->groups, group = t % s->groups;
        const char *dy = job->dy + (size_t)(t * n * pixels) * job->bytes;
        for (int64_t j = 0; j < n; j += panel) {
            const int64_t width = n - j < panel ? n - j : panel;
            const int64_t at = group * columns_count(job, job->images) + j * job->product.k + image * pixels * panel;
            char *out = job->columns + (size_t)at * job->bytes;
            if (width % job->type->vector) memset(out, 0, (size_t)(pixels * panel) * job->bytes);
            job->type->transpose(out, panel, dy + (size_t)(j * pixels) * job->bytes, pixels, width, pixels);
        }
    }
}

static void multiply_blocks(void *user, int64_t begin, int64_t end, int worker) {
    const weight_job *job = user;
    const conv_shape *s = job->s;
    for (int64_t t = begin; t < end; ++t) {
        const int64_t group = t / job->row_blocks, m0 = t % job->row_blocks * job->row_block;
        cpu_product p = job->product;
        const int64_t m1 = m0 + job->row_block < p.m ? m0 + job->row_block : p.m;
        p.a = job->source + (size_t)(group * s->in_channels * conv_volume(job->frame.padded)) * job->bytes;
        p.b = job->columns + (size_t)(group * columns_count(job, job->images)) * job->bytes;
        p.c = job->sums + (size_t)(group * p.m * p.n) * job->bytes;
        p.s = p.c;
        job->type->run(&p, m0, m1, 0, p.n);
    }
}

/* For one or two output channels a group: dot products of image rows, dy as it lies. */
static void multiply_thin(void *user, int64_t begin, int64_t end, int worker) {
    const weight_job *job = user;
    const conv_shape *s = job->s;
    const int64_t m = job->product.m, n = s->out_channels, width = s->space.out[2], pixels = conv_volume(s->space.out);
    const int64_t x_group = s->in_channels * conv_volume(job->frame.padded);
    for (int64_t t = begin; t < end; ++t) { /* (group, tap, channel of y) as the sums lie */
        const int64_t group = t / (m * n), tap = t / n % m, channel = t % n;
        double sum = 0;
        for (int64_t image = 0; image < job->images; ++image) {
            const int64_t x = (image * s->groups + group) * x_group + job->rows[tap];
            const int64_t y = ((image * s->groups + group) * n + channel) * pixels;
            for (int64_t i = 0; i < pixels; i += width)
                sum += job->type->dot(job->source + (size_t)(x + job->cols[i]) * job->bytes, s->space.stride[2],
                                      job->dy + (size_t)(y + i) * job->bytes, 1, width);
        }
        if (s->dtype == WICK_F32)
            ((float *)job->sums)[t] += (float)sum;
        else
            ((double *)job->sums)[t] += sum;
    }
}

static void slice_offsets(const weight_job *job) {
    const conv_shape *s = job->s;
    const int64_t pixels = conv_volume(s->space.out), plane = conv_volume(job->frame.padded),
                  taps = conv_volume(s->space.kernel);
    conv_offsets(&job->frame, s->space.out, s->space.stride, job->cols);
    for (int64_t i = pixels; i < job->images * pixels; ++i)
        job->cols[i] = job->cols[i - pixels] + s->groups * s->in_channels * plane;
    conv_offsets(&job->frame, s->space.kernel, s->space.dilation, job->rows);
    for (int64_t i = taps; i < s->in_channels * taps; ++i) job->rows[i] = job->rows[i - taps] + plane;
}

static void run_slice(cpu_instance *cpu, weight_job *job) {
    const conv_shape *s = job->s;
    cpu_product *p = &job->product;
    p->k = job->images * conv_volume(s->space.out);
    p->b_panel = p->panel * p->k;
    slice_offsets(job);
    if (job->padded) {
        conv_pad(cpu, &job->frame, job->bytes, job->images * s->groups * s->in_channels, job->source, job->padded);
        job->source = job->padded;
    }
    if (s->out_channels <= 2 && job->type->dot) {
        const double pixels = (double)p->k;
        cpu_parallel_for(cpu, s->groups * p->m * p->n, 1 + (int64_t)(CPU_GRAIN / pixels), multiply_thin, job);
        return;
    }
    const int64_t image = conv_volume(s->space.out) * s->out_channels;
    cpu_parallel_for(cpu, job->images * s->groups, 1 + CPU_GRAIN / (image + 1), transpose_images, job);
    const int64_t parts = (4 * cpu_thread_count(cpu) + s->groups - 1) / s->groups;
    job->row_block = ((p->m + parts - 1) / parts + job->type->strip - 1) / job->type->strip * job->type->strip;
    job->row_blocks = (p->m + job->row_block - 1) / job->row_block;
    const double work = (double)job->row_block * (double)p->n * (double)(p->k + 1);
    cpu_parallel_for(cpu, s->groups * job->row_blocks, 1 + (int64_t)(3e5 / work), multiply_blocks, job);
}

static char *lay_out(weight_job *job, int64_t slice, char *memory) {
    const conv_shape *s = job->s;
    const int64_t pixels = conv_volume(s->space.out), plane = conv_volume(job->frame.padded);
    job->rows = (int64_t *)memory, memory += cpu_whole_lines((size_t)job->product.m * sizeof(int64_t));
    job->cols = (int64_t *)memory, memory += cpu_whole_lines((size_t)(slice * pixels) * sizeof(int64_t));
    job->columns = memory, memory += cpu_whole_lines((size_t)(s->groups * columns_count(job, slice)) * job->bytes);
    job->sums = memory, memory += cpu_whole_lines((size_t)(s->groups * job->product.m * s->out_channels) * job->bytes);
    job->padded = conv_frame_is_plain(&job->frame) ? NULL : memory;
    if (job->padded) memory += (size_t)(slice * s->groups * s->in_channels * plane) * job->bytes;
    return memory;
}

wick_status *conv_grad_weight(const wick_kernel_call *call, const conv_shape *s, const void *x, const void *dy,
                              void *dw) {
    cpu_instance *cpu = cpu_of(call);
    weight_job job = {.s = s, .type = cpu_gemm_type_of(cpu, s->dtype), .bytes = wick_dtype_bytes(s->dtype)};
    job.frame = conv_frame_of_input(s);
    const int64_t m = s->in_channels * conv_volume(s->space.kernel), n = s->out_channels,
                  panel = cpu_gemm_panel(job.type, n);
    const int64_t slice = conv_slice(&job.frame, s->batch, s->groups * (s->in_channels + n), job.bytes);
    job.product = (cpu_product){.m = m,
                                .n = n,
                                .panel = panel,
                                .b_row = panel,
                                .c_row = n,
                                .c_col = 1,
                                .s_row = n,
                                .s_col = 1,
                                .alpha = 1,
                                .beta = 1};
    void *memory;
    WICK_TRY(cpu_scratch(call, (size_t)(lay_out(&job, slice, (char *)64) - (char *)64), &memory));
    lay_out(&job, slice, memory);
    job.product.rows = job.rows, job.product.cols = job.cols;
    memset(job.sums, 0, (size_t)(s->groups * m * n) * job.bytes);
    const int64_t x_image = s->groups * s->in_channels * conv_volume(s->space.in),
                  dy_image = s->groups * n * conv_volume(s->space.out);
    for (int64_t i = 0; i < s->batch; i += slice) {
        job.images = s->batch - i < slice ? s->batch - i : slice;
        job.source = (const char *)x + (size_t)(i * x_image) * job.bytes;
        job.dy = (const char *)dy + (size_t)(i * dy_image) * job.bytes;
        run_slice(cpu, &job);
    }
    for (int64_t g = 0; g < s->groups; ++g)
        job.type->transpose((char *)dw + (size_t)(g * m * n) * job.bytes, m, job.sums + (size_t)(g * m * n) * job.bytes,
                            n, m, n);
    return NULL;
}

/* ---- db ---- */
typedef struct bias_job {
    int64_t batch, channels, pixels;
    const void *dy;
    void *db;
} bias_job;

/* Sixteen running sums, so that the loop vectorizes and errors stay small. */
#define DEFINE_BIAS(name, T)                                                             \
    static void bias_##name(void *user, int64_t begin, int64_t end, int worker) {        \
        const bias_job *job = user;                                                      \
        for (int64_t c = begin; c < end; ++c) {                                          \
            T sums[16] = {0}, total = 0;                                                 \
            for (int64_t b = 0; b < job->batch; ++b) {                                   \
                const T *p = (const T *)job->dy + (b * job->channels + c) * job->pixels; \
                int64_t i = 0;                                                           \
                for (; i + 16 <= job->pixels; i += 16)                                   \
                    for (int l = 0; l < 16; ++l) sums[l] += p[i + l];                    \
                for (; i < job->pixels; ++i) sums[i % 16] += p[i];                       \
            }                                                                            \
            for (int l = 0; l < 16; ++l) total += sums[l];                               \
            ((T *)job->db)[c] = total;                                                   \
        }                                                                                \
    }
DEFINE_BIAS(f32, float)
DEFINE_BIAS(f64, double)
DEFINE_BIAS(i64, int64_t)

void conv_grad_bias(cpu_instance *cpu, wick_dtype dtype, int64_t batch, int64_t channels, int64_t pixels,
                    const void *dy, void *db) {
    bias_job job = {batch, channels, pixels, dy, db};
    cpu_parallel_for(cpu, channels, 1 + CPU_GRAIN / (batch * pixels + 1),
                     dtype == WICK_F32   ? bias_f32
                     : dtype == WICK_F64 ? bias_f64
                                         : bias_i64,
                     &job);
}
