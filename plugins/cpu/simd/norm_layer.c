/* Layer normalization and group normalization, forward and backward, over contiguous tensors. */
#include "norm.h"

#include <math.h>
#include <string.h>

enum { ROW_BLOCK = 4 * NORM_BLOCK, PIECE_ELEMENTS = 65536, PIECES = 64 };

/* `groups` runs of `length` elements are normalized, each on its own. */
typedef struct layer_norm_job {
    const norm_kernels *kernels;
    acc_operand x, g, y, weight, bias;                /* weight and bias: data NULL if absent */
    const wick_tensor *mean, *rstd;                   /* [groups] */
    const wick_tensor *grad_weight, *grad_bias;       /* NULL: not wanted */
    const wick_tensor *channel_weight, *channel_bias; /* group norm's, by channel */
    int64_t groups, length;
    int64_t batch, channels, channel_length, channel_groups; /* group norm */
    double eps;
    int64_t pieces;   /* a layer norm's backward: consecutive runs */
    double *partials; /* of every piece: the gradient of the weight and of the bias; NULL: not wanted */
} layer_norm_job;

static double at_or(const wick_tensor *t, int64_t i, double fallback) {
    double value;
    norm_read(t, i, 1, fallback, &value);
    return value;
}

static const void *view(const acc_operand *o, int64_t at, int64_t n, void *buffer) {
    return o->data ? acc_view(o, at, 1, n, buffer) : NULL;
}

/* Mean and rstd of run i, stored and returned; what the results' dtype rounds off is not used. */
static void run_statistics(const layer_norm_job *job, int64_t i, double *mean, double *rstd) {
    _Alignas(64) double buffer[ROW_BLOCK];
    const void *x = NULL;
    double sum = 0, square = 0;
    for (int64_t k = 0; k < job->length; k += ROW_BLOCK) {
        int64_t n = reduce_min(ROW_BLOCK, job->length - k);
        const norm_runs run = norm_run(n);
        x = view(&job->x, i * job->length + k, n, buffer);
        sum += job->kernels->sum(x, &run);
    }
    *mean = sum / (double)job->length;
    for (int64_t k = 0; k < job->length; k += ROW_BLOCK) {
        int64_t n = reduce_min(ROW_BLOCK, job->length - k);
        const norm_runs run = norm_run(n);
        if (job->length > ROW_BLOCK) x = view(&job->x, i * job->length + k, n, buffer);
        square += job->kernels->square(x, &run, *mean);
    }
    *rstd = 1 / sqrt(square / (double)job->length + job->eps);
    norm_write(job->mean, i, 1, mean);
    norm_write(job->rstd, i, 1, rstd);
}

/* ---- layer norm ---- */
static void layer_forward(void *user, int64_t begin, int64_t end, int worker) {
    const layer_norm_job *job = user;
    _Alignas(64) double x_buffer[NORM_BLOCK], y_buffer[NORM_BLOCK], w_buffer[NORM_BLOCK], b_buffer[NORM_BLOCK];
    for (int64_t i = begin; i < end; ++i) {
        double mean, rstd;
        run_statistics(job, i, &mean, &rstd);
        for (int64_t k = 0; k < job->length; k += NORM_BLOCK) {
            int64_t n = reduce_min(NORM_BLOCK, job->length - k), at = i * job->length + k;
            void *y = acc_target(&job->y, at, 1, y_buffer);
            job->kernels->affine(y, view(&job->x, at, n, x_buffer), n, mean, rstd, view(&job->weight, k, n, w_buffer),
                                 view(&job->bias, k, n, b_buffer));
            acc_commit(&job->y, at, 1, n, y);
        }
    }
    if (job->y.streams) cpu_stream_end();
}

static void gradient_row(const layer_norm_job *job, int64_t i, double mean, double rstd) {
    _Alignas(64) double x_buffer[NORM_BLOCK], g_buffer[NORM_BLOCK], y_buffer[NORM_BLOCK], w_buffer[NORM_BLOCK];
    double sums[2] = {0, 0};
    for (int64_t k = 0; k < job->length; k += NORM_BLOCK) {
        int64_t n = reduce_min(NORM_BLOCK, job->length - k), at = i * job->length + k;
        job->kernels->affine_sums(view(&job->g, at, n, g_buffer), view(&job->x, at, n, x_buffer),
                                  view(&job->weight, k, n, w_buffer), n, mean, sums);
    }
    double b = -rstd * rstd * rstd * sums[1] / (double)job->length, c = -rstd * sums[0] / (double)job->length;
    for (int64_t k = 0; k < job->length; k += NORM_BLOCK) {
        int64_t n = reduce_min(NORM_BLOCK, job->length - k), at = i * job->length + k;
        void *y = acc_target(&job->y, at, 1, y_buffer);
        job->kernels->affine_gradient(y, view(&job->g, at, n, g_buffer), view(&job->x, at, n, x_buffer),
                                      view(&job->weight, k, n, w_buffer), n, mean, rstd, b, c);
        acc_commit(&job->y, at, 1, n, y);
    }
}

/* Adds run i to the gradients of weight and bias, while it is in the cache. */
static void add_weight_gradient(const layer_norm_job *job, int64_t i, double mean, double rstd, double *gw) {
    _Alignas(64) double x_buffer[NORM_BLOCK], g_buffer[NORM_BLOCK];
    double *gb = gw + job->length;
    for (int64_t k = 0; k < job->length; k += NORM_BLOCK) {
        int64_t n = reduce_min(NORM_BLOCK, job->length - k), at = i * job->length + k;
        job->kernels->affine_columns(gw + k, gb + k, view(&job->g, at, n, g_buffer), view(&job->x, at, n, x_buffer), n,
                                     mean, rstd);
    }
}

static void layer_backward(void *user, int64_t begin, int64_t end, int worker) {
    const layer_norm_job *job = user;
    for (int64_t piece = begin; piece < end; ++piece) {
        double *gw = job->partials ? job->partials + piece * 2 * job->length : NULL;
        if (gw) memset(gw, 0, (size_t)(2 * job->length) * sizeof(double));
        int64_t first = job->groups * piece / job->pieces, last = job->groups * (piece + 1) / job->pieces;
        for (int64_t i = first; i < last; ++i) {
            double mean = at_or(job->mean, i, 0), rstd = at_or(job->rstd, i, 1);
            if (job->y.data) gradient_row(job, i, mean, rstd);
            if (gw) add_weight_gradient(job, i, mean, rstd, gw);
        }
    }
}

static void join_weight_gradients(const layer_norm_job *job) {
    double *sum = job->partials;
    for (int64_t piece = 1; piece < job->pieces; ++piece)
        for (int64_t j = 0; j < 2 * job->length; ++j) sum[j] += sum[piece * 2 * job->length + j];
    norm_write(job->grad_weight, 0, job->length, sum);
    norm_write(job->grad_bias, 0, job->length, sum + job->length);
}

/* ---- group norm: run i is sample i / channel_groups, group i % channel_groups ---- */
static void group_forward(void *user, int64_t begin, int64_t end, int worker) {
    const layer_norm_job *job = user;
    _Alignas(64) double x_buffer[NORM_BLOCK], y_buffer[NORM_BLOCK];
    int64_t per_group = job->channels / job->channel_groups;
    for (int64_t i = begin; i < end; ++i) {
        double mean, rstd;
        run_statistics(job, i, &mean, &rstd);
        for (int64_t c = 0; c < per_group; ++c) {
            int64_t channel = i % job->channel_groups * per_group + c;
            double a = rstd * at_or(job->channel_weight, channel, 1), b = at_or(job->channel_bias, channel, 0);
            for (int64_t k = 0; k < job->channel_length; k += NORM_BLOCK) {
                int64_t n = reduce_min(NORM_BLOCK, job->channel_length - k);
                int64_t at = i * job->length + c * job->channel_length + k;
                const norm_runs run = norm_run(n);
                void *y = acc_target(&job->y, at, 1, y_buffer);
                job->kernels->scale(y, view(&job->x, at, n, x_buffer), &run, mean, a, b);
                acc_commit(&job->y, at, 1, n, y);
            }
        }
    }
}

/* sums[0] = sum of g, sums[1] = sum of g * (x - mean) over one channel of one sample. */
static void channel_sums(const layer_norm_job *job, int64_t at, double mean, double sums[2]) {
    _Alignas(64) double x_buffer[NORM_BLOCK], g_buffer[NORM_BLOCK];
    sums[0] = sums[1] = 0;
    for (int64_t k = 0; k < job->channel_length; k += NORM_BLOCK) {
        int64_t n = reduce_min(NORM_BLOCK, job->channel_length - k);
        const norm_runs run = norm_run(n);
        job->kernels->gradient_sums(view(&job->g, at + k, n, g_buffer), view(&job->x, at + k, n, x_buffer), &run, mean,
                                    sums);
    }
}

static void group_backward(void *user, int64_t begin, int64_t end, int worker) {
    const layer_norm_job *job = user;
    _Alignas(64) double x_buffer[NORM_BLOCK], g_buffer[NORM_BLOCK], y_buffer[NORM_BLOCK];
    int64_t per_group = job->channels / job->channel_groups;
    for (int64_t i = begin; i < end; ++i) {
        int64_t channel = i % job->channel_groups * per_group;
        double mean = at_or(job->mean, i, 0), rstd = at_or(job->rstd, i, 1), sum = 0, dot = 0, sums[2];
        for (int64_t c = 0; c < per_group; ++c) {
            double w = at_or(job->channel_weight, channel + c, 1);
            channel_sums(job, i * job->length + c * job->channel_length, mean, sums);
            sum += w * sums[0], dot += w * sums[1];
        }
        double b = -rstd * rstd * rstd * dot / (double)job->length, shift = -rstd * sum / (double)job->length;
        for (int64_t c = 0; c < per_group; ++c) {
            double a = rstd * at_or(job->channel_weight, channel + c, 1);
            for (int64_t k = 0; k < job->channel_length; k += NORM_BLOCK) {
                int64_t n = reduce_min(NORM_BLOCK, job->channel_length - k);
                int64_t at = i * job->length + c * job->channel_length + k;
                const norm_runs run = norm_run(n);
                void *y = acc_target(&job->y, at, 1, y_buffer);
                job->kernels->gradient(y, view(&job->g, at, n, g_buffer), view(&job->x, at, n, x_buffer), &run, mean, a,
                                       b, shift);
                acc_commit(&job->y, at, 1, n, y);
            }
        }
    }
}

static void group_weight_gradient(void *user, int64_t begin, int64_t end, int worker) {
    const layer_norm_job *job = user;
    int64_t per_group = job->channels / job->channel_groups;
    for (int64_t channel = begin; channel < end; ++channel) {
        double gw = 0, gb = 0, sums[2];
        for (int64_t sample = 0; sample < job->batch; ++sample) {
            int64_t run = sample * job->channel_groups + channel / per_group;
            channel_sums(job, (sample * job->channels + channel) * job->channel_length, at_or(job->mean, run, 0), sums);
            gw += sums[1] * at_or(job->rstd, run, 1), gb += sums[0];
        }
        norm_write(job->grad_weight, channel, 1, &gw);
        norm_write(job->grad_bias, channel, 1, &gb);
    }
}

/* ---- calls ---- */
static wick_status *prepare(const wick_kernel_call *call, layer_norm_job *job, const wick_tensor *x,
                            const wick_tensor *g, const wick_tensor *y) {
    acc_kind acc = acc_of(wick_tensor_dtype(x));
    if (acc > ACC_F64 || !acc_operand_init(&job->x, acc, x) || (g && !acc_operand_init(&job->g, acc, g)) ||
        (y && !acc_operand_init(&job->y, acc, y)))
        return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "normalization has no kernel for these dtypes");
    job->kernels = &norm_kernels_of[acc];
    return NULL;
}

static wick_status *prepare_layer(const wick_kernel_call *call, layer_norm_job *job, const wick_tensor *x,
                                  const wick_value *shape, const wick_tensor *weight, const wick_tensor *bias) {
    acc_kind acc = acc_of(wick_tensor_dtype(x));
    if ((weight && !acc_operand_init(&job->weight, acc, weight)) || (bias && !acc_operand_init(&job->bias, acc, bias)))
        return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "layer norm has no kernel for these weights");
    job->length = wick_dim_product(shape->as.ints, (int)shape->count);
    job->groups = job->length ? x->numel / job->length : 0;
    return NULL;
}

static void parallel_runs(const wick_kernel_call *call, layer_norm_job *job, cpu_range_fn fn) {
    cpu_parallel_for(cpu_of(call), job->groups, reduce_max(1, CPU_GRAIN / reduce_max(1, job->length)), fn, job);
}

/* (input, normalized_shape, weight, bias, eps) */
static wick_status *layer_norm_call(const wick_kernel_call *call) {
    const wick_tensor *x = wick_arg_tensor(call, 0);
    layer_norm_job job = {.mean = wick_out_tensor(call, 1), .rstd = wick_out_tensor(call, 2)};
    job.eps = wick_value_as_double(&call->values[4]);
    WICK_TRY(prepare(call, &job, x, NULL, wick_out_tensor(call, 0)));
    WICK_TRY(prepare_layer(call, &job, x, &call->values[1], wick_arg_tensor(call, 2), wick_arg_tensor(call, 3)));
    acc_stream(&job.y, cpu_of(call), x->numel, 1, true);
    parallel_runs(call, &job, layer_forward);
    return NULL;
}

/* (grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask) */
static wick_status *layer_norm_backward_call(const wick_kernel_call *call) {
    const wick_tensor *x = wick_arg_tensor(call, 1);
    layer_norm_job job = {.mean = wick_arg_tensor(call, 3),
                          .rstd = wick_arg_tensor(call, 4),
                          .grad_weight = wick_out_tensor(call, 1),
                          .grad_bias = wick_out_tensor(call, 2)};
    WICK_TRY(prepare(call, &job, x, wick_arg_tensor(call, 0), wick_out_tensor(call, 0)));
    WICK_TRY(prepare_layer(call, &job, x, &call->values[2], wick_arg_tensor(call, 5), NULL));
    job.pieces = reduce_max(1, reduce_min(reduce_min(PIECES, job.groups), x->numel / PIECE_ELEMENTS));
    if (job.grad_weight || job.grad_bias) {
        job.partials = call->host->workspace(call, (size_t)reduce_max(1, job.pieces * 2 * job.length) * sizeof(double));
        if (!job.partials) return WICK_HOST_ERROR(call->host, WICK_OUT_OF_MEMORY, "no memory for partial gradients");
    }
    cpu_parallel_for(cpu_of(call), job.pieces, 1, layer_backward, &job);
    if (job.partials) join_weight_gradients(&job);
    return NULL;
}

/* Sizes N, C, HxW, group from values[at] on. */
static void prepare_group(layer_norm_job *job, const wick_value *at, const wick_tensor *weight) {
    job->batch = at[0].as.i, job->channels = at[1].as.i, job->channel_length = at[2].as.i;
    job->channel_groups = at[3].as.i;
    job->groups = job->batch * job->channel_groups;
    job->length = job->channels / job->channel_groups * job->channel_length;
    job->channel_weight = weight;
}

/* (input, weight, bias, N, C, HxW, group, eps) */
static wick_status *group_norm_call(const wick_kernel_call *call) {
    layer_norm_job job = {.mean = wick_out_tensor(call, 1), .rstd = wick_out_tensor(call, 2)};
    job.eps = wick_value_as_double(&call->values[7]);
    job.channel_bias = wick_arg_tensor(call, 2);
    prepare_group(&job, &call->values[3], wick_arg_tensor(call, 1));
    WICK_TRY(prepare(call, &job, wick_arg_tensor(call, 0), NULL, wick_out_tensor(call, 0)));
    parallel_runs(call, &job, group_forward);
    return NULL;
}

/* (grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask) */
static wick_status *group_norm_backward_call(const wick_kernel_call *call) {
    layer_norm_job job = {.mean = wick_arg_tensor(call, 2),
                          .rstd = wick_arg_tensor(call, 3),
                          .grad_weight = wick_out_tensor(call, 1),
                          .grad_bias = wick_out_tensor(call, 2)};
    prepare_group(&job, &call->values[5], wick_arg_tensor(call, 4));
    WICK_TRY(prepare(call, &job, wick_arg_tensor(call, 1), wick_arg_tensor(call, 0), wick_out_tensor(call, 0)));
    if (job.y.data) parallel_runs(call, &job, group_backward);
    if (job.grad_weight || job.grad_bias) {
        int64_t grain = CPU_GRAIN / reduce_max(1, job.batch * job.channel_length);
        cpu_parallel_for(cpu_of(call), job.channels, reduce_max(1, grain), group_weight_gradient, &job);
    }
    return NULL;
}

#define FLAGS (WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_DETERMINISTIC)
static const wick_kernel_row rows[] = {
    CPU_ROW("native_layer_norm", layer_norm_call, NULL, 0, FLAGS),
    CPU_ROW("native_layer_norm_backward", layer_norm_backward_call, NULL, 0, FLAGS),
    CPU_ROW("native_group_norm", group_norm_call, NULL, 0, FLAGS),
    CPU_ROW("native_group_norm_backward", group_norm_backward_call, NULL, 0, FLAGS),
};
const cpu_kernel_table CPU_NAME(norm_layer_table) = CPU_TABLE(rows);
