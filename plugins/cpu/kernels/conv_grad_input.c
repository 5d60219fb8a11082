/* dx: the gradient of a convolution for its input, and the forward of a transposed convolution.
 *
 * * With a stride of s the pixels of x fall into s phases a dimension. Those of one phase meet the same taps, so
 * that each phase is a convolution of stride 1 of dy with part of the weights; none multiplies with inserted
 * zeros. */
#include "conv.h"

#include <string.h>

typedef struct phase {
    int64_t first[3], count[3]; /* its pixels of x: first + i * stride */
    int64_t *rows, *cols, *scatter;
    int64_t *tap, *tap_offset; /* which taps of the kernel, where in padded dy they read */
    int64_t taps;
} phase;

typedef struct plan {
    const conv_shape *s;
    conv_frame frame;
    conv_product job;
    phase phase;
    int64_t slice, packed; /* images at a time; elements of a group's weights at most */
    bool one_phase;
    char *transposed, *weights, *padded;
} plan;

static int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0); }
/* dy is framed so that every tap of every pixel of x reads inside. */
static conv_frame frame_of(const conv_shape *s) {
    conv_frame f;
    for (int d = 0; d < 3; ++d) {
        const int64_t stride = s->space.stride[d];
        const int64_t last_pixel = (s->space.in[d] + stride - 1) / stride - 1;
        f.size[d] = s->space.out[d];
        f.low[d] = -floor_divide(s->space.padding[d] - (s->space.kernel[d] - 1) * s->space.dilation[d], stride);
        f.padded[d] = f.low[d] + last_pixel + floor_divide(stride - 1 + s->space.padding[d], stride) + 1;
        if (f.padded[d] < 1) f.padded[d] = 1;
    }
    return f;
}

/* ---- one phase ---- */
static void find_taps(const conv_shape *s, const conv_frame *f, phase *p) {
    p->taps = 0;
    const int64_t *k = s->space.kernel;
    for (int64_t t = 0; t < conv_volume(k); ++t) {
        const int64_t at[3] = {t / (k[1] * k[2]), t / k[2] % k[1], t % k[2]};
        int64_t offset = 0;
        bool meets = true;
        for (int d = 0; d < 3; ++d) {
            const int64_t position = p->first[d] + s->space.padding[d] - at[d] * s->space.dilation[d];
            meets = meets && position % s->space.stride[d] == 0;
            offset = offset * f->padded[d] + position / s->space.stride[d] + f->low[d];
        }
        if (!meets) continue;
        p->tap[p->taps] = t, p->tap_offset[p->taps++] = offset;
    }
}

static void find_pixels(const conv_shape *s, const conv_frame *f, phase *p) {
    static const int64_t unit[3] = {1, 1, 1};
    conv_offsets(f, p->count, unit, p->rows);
    int64_t *to = p->scatter;
    for (int64_t i = 0; i < p->count[0]; ++i)
        for (int64_t j = 0; j < p->count[1]; ++j)
            for (int64_t k = 0; k < p->count[2]; ++k)
                *to++ =
                    ((p->first[0] + i * s->space.stride[0]) * s->space.in[1] + p->first[1] + j * s->space.stride[1]) *
                        s->space.in[2] +
                    p->first[2] + k * s->space.stride[2];
}

/* out[(channel of y, tap)][channel of x] from w[channel of y][channel of x][tap] */
static void transpose_weights(const conv_shape *s, const phase *p, size_t bytes, const char *w, char *out) {
    const int64_t all = conv_volume(s->space.kernel);
    for (int64_t o = 0; o < s->out_channels; ++o)
        for (int64_t t = 0; t < p->taps; ++t)
            for (int64_t i = 0; i < s->in_channels; ++i, out += bytes)
                memcpy(out, w + (size_t)((o * s->in_channels + i) * all + p->tap[t]) * bytes, bytes);
}

static void pack_weights(const plan *x, const char *w) {
    const conv_shape *s = x->s;
    const cpu_product *p = &x->job.product;
    const size_t bytes = x->job.bytes,
                 group = (size_t)(s->out_channels * s->in_channels * conv_volume(s->space.kernel)) * bytes;
    for (int64_t g = 0; g < s->groups; ++g) {
        transpose_weights(s, &x->phase, bytes, w + (size_t)g * group, x->transposed);
        x->job.type->pack(x->weights + (size_t)(g * x->packed) * bytes, x->transposed, p->n, 1, p->k, 0, p->n,
                          p->panel);
    }
}

static void prepare_phase(plan *x, int64_t number, const char *w) {
    const conv_shape *s = x->s;
    phase *p = &x->phase;
    for (int d = 2; d >= 0; --d) {
        p->first[d] = number % s->space.stride[d], number /= s->space.stride[d];
        p->count[d] = p->first[d] < s->space.in[d] ? (s->space.in[d] - p->first[d] - 1) / s->space.stride[d] + 1 : 0;
    }
    find_taps(s, &x->frame, p);
    find_pixels(s, &x->frame, p);
    const int64_t plane = conv_volume(x->frame.padded);
    for (int64_t o = 0; o < s->out_channels; ++o)
        for (int64_t t = 0; t < p->taps; ++t) p->cols[o * p->taps + t] = o * plane + p->tap_offset[t];
    x->job.row_length = p->count[2];
    x->job.product.m = conv_volume(p->count);
    x->job.product.k = s->out_channels * p->taps;
    x->job.product.b_panel = x->job.product.panel * x->job.product.k;
    pack_weights(x, w);
}

/* ---- all of it ---- */
static void *take(char **memory, size_t bytes) {
    char *taken = *memory;
    *memory += cpu_whole_lines(bytes);
    return taken;
}

/* Lays out the scratch memory from `memory` on and returns its end; NULL only measures. */
static char *lay_out(plan *x, char *memory) {
    const conv_shape *s = x->s;
    const int64_t taps = conv_volume(s->space.kernel), pixels = conv_volume(s->space.in), y_channels = s->out_channels;
    const size_t bytes = x->job.bytes;
    x->phase.rows = take(&memory, (size_t)pixels * sizeof(int64_t));
    x->phase.scatter = take(&memory, (size_t)pixels * sizeof(int64_t));
    x->phase.cols = take(&memory, (size_t)(y_channels * taps) * sizeof(int64_t));
    x->phase.tap = take(&memory, (size_t)taps * sizeof(int64_t));
    x->phase.tap_offset = take(&memory, (size_t)taps * sizeof(int64_t));
    x->transposed = take(&memory, (size_t)(y_channels * taps * s->in_channels) * bytes);
    x->weights = take(&memory, (size_t)(s->groups * x->packed) * bytes);
    if (!x->one_phase)
        x->job.block = take(&memory, (size_t)(cpu_thread_count(x->job.cpu) * CONV_BLOCK * s->in_channels) * bytes);
    if (!conv_frame_is_plain(&x->frame))
        x->padded = take(&memory, (size_t)(x->slice * s->groups * y_channels * conv_volume(x->frame.padded)) * bytes);
    return memory;
}

static plan make_plan(cpu_instance *cpu, const conv_shape *s, const void *bias) {
    plan x = {.s = s, .frame = frame_of(s), .one_phase = conv_volume(s->space.stride) == 1};
    conv_product *job = &x.job;
    *job = (conv_product){.cpu = cpu, .type = cpu_gemm_type_of(cpu, s->dtype), .bytes = wick_dtype_bytes(s->dtype)};
    const int64_t n = s->in_channels, panel = cpu_gemm_panel(job->type, n), pixels = conv_volume(s->space.in);
    job->product = (cpu_product){.n = n,
                                 .b_row = panel,
                                 .panel = panel,
                                 .c_row = 1,
                                 .c_col = pixels,
                                 .s_col = 1,
                                 .alpha = 1,
                                 .beta = bias ? 1 : 0};
    job->groups = s->groups, job->bias = bias, job->bias_group = n;
    job->source_group = s->out_channels * conv_volume(x.frame.padded),
    job->source_image = s->groups * job->source_group;
    job->out_group = n * pixels, job->out_image = s->groups * job->out_group;
    x.slice = conv_slice(&x.frame, s->batch, s->groups * s->out_channels, job->bytes);
    x.packed = cpu_gemm_packed_count(job->type, s->out_channels * conv_volume(s->space.kernel), n);
    job->weights_group = x.packed;
    return x;
}

wick_status *conv_grad_input(const wick_kernel_call *call, const conv_shape *s, const void *dy, const void *w,
                             const void *bias, void *dx) {
    cpu_instance *cpu = cpu_of(call);
    plan x = make_plan(cpu, s, bias);
    void *memory;
    WICK_TRY(cpu_scratch(call, (size_t)(lay_out(&x, (char *)64) - (char *)64), &memory));
    lay_out(&x, memory);
    conv_product *job = &x.job;
    job->weights = x.weights;
    job->product.rows = x.phase.rows, job->product.cols = x.phase.cols;
    job->scatter = x.one_phase ? NULL : x.phase.scatter;
    const int64_t planes = s->groups * s->out_channels, plane = conv_volume(s->space.out);
    for (int64_t i = 0; i < s->batch; i += x.slice) {
        job->images = s->batch - i < x.slice ? s->batch - i : x.slice;
        job->source = (const char *)dy + (size_t)(i * planes * plane) * job->bytes;
        job->out = (char *)dx + (size_t)(i * job->out_image) * job->bytes;
        if (!conv_frame_is_plain(&x.frame)) {
            conv_pad(cpu, &x.frame, job->bytes, job->images * planes, job->source, x.padded);
            job->source = x.padded;
        }
        for (int64_t number = 0; number < conv_volume(s->space.stride); ++number) {
            prepare_phase(&x, number, w);
            if (job->product.m > 0) conv_run(job);
        }
    }
    return NULL;
}
