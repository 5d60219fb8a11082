/* y = conv(x, w) + bias: for every image, patches times transposed weights. */
#include "conv.h"

typedef struct scratch_plan {
    size_t rows, cols, weights, padded, end; /* byte offsets */
} scratch_plan;

/* cols[channel][tap] */
static void tap_offsets(const conv_shape *s, const conv_frame *f, int64_t *cols) {
    const int64_t taps = conv_volume(s->space.kernel), plane = conv_volume(f->padded);
    conv_offsets(f, s->space.kernel, s->space.dilation, cols);
    for (int64_t c = 1; c < s->in_channels; ++c)
        for (int64_t t = 0; t < taps; ++t) cols[c * taps + t] = cols[t] + c * plane;
}

static scratch_plan plan_scratch(const conv_shape *s, const conv_frame *f, size_t bytes, int64_t slice,
                                 int64_t packed) {
    scratch_plan plan;
    const int64_t k = s->in_channels * conv_volume(s->space.kernel);
    plan.rows = 0;
    plan.cols = plan.rows + cpu_whole_lines((size_t)conv_volume(s->space.out) * sizeof(int64_t));
    plan.weights = plan.cols + cpu_whole_lines((size_t)k * sizeof(int64_t));
    plan.padded = plan.weights + cpu_whole_lines((size_t)(packed * s->groups) * bytes);
    const int64_t padded = conv_frame_is_plain(f) ? 0 : slice * s->groups * s->in_channels * conv_volume(f->padded);
    plan.end = plan.padded + (size_t)padded * bytes;
    return plan;
}

static void pack_weights(const conv_shape *s, const conv_product *job, int64_t packed, const char *w, char *out) {
    const int64_t k = job->product.k, n = job->product.n;
    for (int64_t g = 0; g < s->groups; ++g)
        job->type->pack(out + (size_t)(g * packed) * job->bytes, w + (size_t)(g * n * k) * job->bytes, 1, k, k, 0, n,
                        job->product.panel);
}

wick_status *conv_forward(const wick_kernel_call *call, const conv_shape *s, const void *x, const void *w,
                          const void *bias, void *y) {
    cpu_instance *cpu = cpu_of(call);
    const conv_frame f = conv_frame_of_input(s);
    const int64_t pixels = conv_volume(s->space.out), in_count = s->groups * s->in_channels * conv_volume(s->space.in);
    conv_product job = {.cpu = cpu, .type = cpu_gemm_type_of(cpu, s->dtype), .bytes = wick_dtype_bytes(s->dtype)};
    const int64_t k = s->in_channels * conv_volume(s->space.kernel), n = s->out_channels;
    const int64_t packed = cpu_gemm_packed_count(job.type, k, n),
                  slice = conv_slice(&f, s->batch, s->groups * s->in_channels, job.bytes);
    const scratch_plan plan = plan_scratch(s, &f, job.bytes, slice, packed);
    void *memory;
    WICK_TRY(cpu_scratch(call, plan.end, &memory));
    char *scratch = memory;
    int64_t *rows = (int64_t *)(scratch + plan.rows), *cols = (int64_t *)(scratch + plan.cols);
    conv_offsets(&f, s->space.out, s->space.stride, rows);
    tap_offsets(s, &f, cols);
    const int64_t panel = cpu_gemm_panel(job.type, n);
    job.product = (cpu_product){.m = pixels,
                                .n = n,
                                .k = k,
                                .rows = rows,
                                .cols = cols,
                                .b_row = panel,
                                .b_panel = panel * k,
                                .panel = panel,
                                .c_row = 1,
                                .c_col = pixels,
                                .s_col = 1,
                                .alpha = 1,
                                .beta = bias ? 1 : 0};
    job.row_length = s->space.out[2];
    job.groups = s->groups, job.weights = scratch + plan.weights, job.weights_group = packed;
    job.bias = bias, job.bias_group = n;
    job.source_group = s->in_channels * conv_volume(f.padded), job.source_image = s->groups * job.source_group;
    job.out_group = n * pixels, job.out_image = s->groups * job.out_group;
    pack_weights(s, &job, packed, w, scratch + plan.weights);
    for (int64_t i = 0; i < s->batch; i += slice) {
        job.images = s->batch - i < slice ? s->batch - i : slice;
        job.source = (const char *)x + (size_t)(i * in_count) * job.bytes;
        job.out = (char *)y + (size_t)(i * job.out_image) * job.bytes;
        if (!conv_frame_is_plain(&f)) {
            conv_pad(cpu, &f, job.bytes, job.images * s->groups * s->in_channels, job.source, scratch + plan.padded);
            job.source = scratch + plan.padded;
        }
        conv_run(&job);
    }
    return NULL;
}
