/* Batch normalization, forward and backward. A channel's elements are walked as runs (NCHW) or, where channels lie
 * together (channels last, [N, C]), as rows of columns. Dense small planes (NCHW with few pixels) are columns as well:
 * a column for every pixel of a channel, whose sums are joined. Any strides. Statistics are double. */
#include "norm.h"

#include <math.h>
#include <string.h>
#include <wick/sdk/arguments.h>

enum {
    COLUMNS = 256,   /* worked on together in a column walk */
    SMALL_PLANE = 49 /* pixels; runs are faster for larger ones */
};

typedef struct batch_norm_job {
    reduce_shape
        shape; /* kept: the channel; out[0]: the result's strides, out[1]: those of grad_out or of the result */
    const norm_kernels *kernels;
    acc_operand x, g, y;
    size_t size;                                                                   /* of an accumulator */
    const wick_tensor *weight, *bias, *running_mean, *running_var, *mean, *invstd; /* any may be NULL */
    const wick_tensor *grad_weight, *grad_bias;                                    /* results of a backward */
    int64_t channels, count;                                                       /* count: elements of a channel */
    int64_t pixels;                                                                /* columns of a channel */
    int64_t column_x, column_y, column_g;
    double momentum, eps;
    bool training;
} batch_norm_job;

/* ---- the walk ---- */
typedef struct batch_norm_block {
    const batch_norm_job *job;
    int64_t channel, width; /* in channels */
    double count;           /* elements that mean and dot stand for so far, in a walk of runs */
    double mean[COLUMNS], a[COLUMNS], b[COLUMNS], c[COLUMNS]; /* coefficients by channel */
    double sum[COLUMNS], dot[COLUMNS];
    _Alignas(64) double buffers[3][NORM_BLOCK];
} batch_norm_block;

/* Where a visit works: elements x, g and y and on, n of each of `rows` runs. */
typedef struct batch_norm_part {
    int64_t x, g, y, n, rows;
    const reduce_dim *run, *row; /* from element to element, from run to run */
} batch_norm_part;
typedef void (*batch_norm_visit)(batch_norm_block *k, const batch_norm_part *part);

/* Visits the runs of a channel, as many short ones at a time as fit a buffer, or every row of a block of channels. */
static void walk(batch_norm_block *k, batch_norm_visit visit) {
    static const reduce_dim single = {1, 1, {1, 1}};
    const batch_norm_job *job = k->job;
    const reduce_shape *s = &job->shape;
    const int nruns = s->columns ? 0 : s->nreduced > 1 ? 2 : s->nreduced, outer_dims = s->nreduced - nruns;
    const reduce_dim *run = s->columns ? &s->column : nruns > 0 ? &s->reduced[s->nreduced - 1] : &single;
    const reduce_dim *row = nruns > 1 ? &s->reduced[s->nreduced - 2] : &single;
    const int64_t length = s->columns ? k->width * job->pixels : run->size, n = s->columns ? length : NORM_BLOCK;
    const int64_t rows = reduce_max(1, NORM_BLOCK / length);
    const int64_t walks = s->columns ? s->reduced_count : s->reduced_count / (length * row->size);
    batch_norm_part part = {.run = run, .row = row};
    for (int64_t outer = 0, out[2]; outer < walks; ++outer) {
        const int64_t in = reduce_at(s->reduced, outer_dims, outer, out);
        for (int64_t r = 0; r < row->size; r += rows)
            for (int64_t i = 0; i < length; i += n) {
                part.x = k->channel * job->column_x + in + r * row->in + i * run->in;
                part.y = k->channel * job->column_y + out[0] + r * row->out[0] + i * run->out[0];
                part.g = k->channel * job->column_g + out[1] + r * row->out[1] + i * run->out[1];
                part.n = reduce_min(n, length - i), part.rows = reduce_min(rows, row->size - r);
                visit(k, &part);
            }
    }
}

/* Runs as dense accumulators: in place, `row` apart, or one behind the other in `buffer`. *step: from one to the next. */
static const void *view_runs(const acc_operand *o, int64_t at, int64_t run, int64_t row, const batch_norm_part *part,
                             size_t size, void *buffer, int64_t *step) {
    *step = row;
    if (o->native && run == 1) return o->data + at * o->size;
    *step = part->n;
    for (int64_t r = 0; r < part->rows; ++r)
        o->load((char *)buffer + (size_t)(r * part->n) * size, o->data + (at + r * row) * o->size, run, part->n);
    return buffer;
}
static const void *view_x(batch_norm_block *k, const batch_norm_part *p, norm_runs *runs) {
    return view_runs(&k->job->x, p->x, p->run->in, p->row->in, p, k->job->size, k->buffers[0], &runs->x);
}
static const void *view_g(batch_norm_block *k, const batch_norm_part *p, norm_runs *runs) {
    return view_runs(&k->job->g, p->g, p->run->out[1], p->row->out[1], p, k->job->size, k->buffers[1], &runs->g);
}
/* Where the results go until commit_y brings them to where they belong. */
static void *target_y(batch_norm_block *k, const batch_norm_part *p, norm_runs *runs) {
    void *y = acc_target(&k->job->y, p->y, p->run->out[0], k->buffers[2]);
    runs->y = y == (void *)k->buffers[2] ? p->n : p->row->out[0];
    return y;
}
static void commit_y(batch_norm_block *k, const batch_norm_part *p, const char *y) {
    if (y != (const char *)k->buffers[2]) return;
    for (int64_t r = 0; r < p->rows; ++r)
        acc_commit(&k->job->y, p->y + r * p->row->out[0], p->run->out[0], p->n, y + (size_t)(r * p->n) * k->job->size);
}
static norm_runs runs_of(const batch_norm_part *p) { return (norm_runs){.n = p->n, .rows = p->rows}; }

/* Column sums become sums of channels, in place. */
static void join_pixels(const batch_norm_block *k, double *values) {
    const int64_t pixels = k->job->pixels;
    for (int64_t j = 0; j < k->width && pixels > 1; ++j) {
        double sum = 0;
        for (int64_t i = 0; i < pixels; ++i) sum += values[j * pixels + i];
        values[j] = sum;
    }
}
/* The reverse: every pixel of a channel gets its value. */
static void spread_pixels(const batch_norm_block *k, double *values) {
    const int64_t pixels = k->job->pixels;
    for (int64_t j = k->width - 1; j >= 0 && pixels > 1; --j)
        for (int64_t i = pixels - 1; i >= 0; --i) values[j * pixels + i] = values[j];
}

static void visit_sum(batch_norm_block *k, const batch_norm_part *p) {
    norm_runs runs;
    k->job->kernels->columns_sum(k->sum, view_x(k, p, &runs), p->n);
}
static void visit_square(batch_norm_block *k, const batch_norm_part *p) {
    norm_runs runs;
    k->job->kernels->columns_square(k->dot, view_x(k, p, &runs), p->n, k->mean);
}
/* Mean and sum of squares of runs, while they are in the cache, joined to those of the runs before (Chan et al.). */
static void visit_moments(batch_norm_block *k, const batch_norm_part *p) {
    norm_runs runs = runs_of(p);
    const void *px = view_x(k, p, &runs);
    double n = (double)(p->n * p->rows), mean = k->job->kernels->sum(px, &runs) / n;
    double square = k->job->kernels->square(px, &runs, mean), total = k->count + n, delta = mean - k->mean[0];
    k->mean[0] += delta * n / total;
    k->dot[0] += square + delta * delta * k->count * n / total;
    k->count = total;
}

static void visit_scale(batch_norm_block *k, const batch_norm_part *p) {
    norm_runs runs = runs_of(p);
    const void *px = view_x(k, p, &runs);
    void *py = target_y(k, p, &runs);
    if (k->job->shape.columns)
        k->job->kernels->columns_scale(py, px, p->n, k->mean, k->a, k->b);
    else
        k->job->kernels->scale(py, px, &runs, k->mean[0], k->a[0], k->b[0]);
    commit_y(k, p, py);
}

static void visit_dot(batch_norm_block *k, const batch_norm_part *p) {
    norm_runs runs = runs_of(p);
    const void *px = view_x(k, p, &runs), *pg = view_g(k, p, &runs);
    const norm_kernels *kernels = k->job->kernels;
    if (k->job->shape.columns) {
        kernels->columns_sum(k->sum, pg, p->n);
        kernels->columns_dot(k->dot, pg, px, p->n, k->mean);
    } else {
        double sums[2] = {k->sum[0], k->dot[0]};
        kernels->gradient_sums(pg, px, &runs, k->mean[0], sums);
        k->sum[0] = sums[0], k->dot[0] = sums[1];
    }
}

static void visit_gradient(batch_norm_block *k, const batch_norm_part *p) {
    norm_runs runs = runs_of(p);
    const void *px = view_x(k, p, &runs), *pg = view_g(k, p, &runs);
    void *py = target_y(k, p, &runs);
    if (k->job->shape.columns)
        k->job->kernels->columns_gradient(py, pg, px, p->n, k->mean, k->a, k->b, k->c);
    else
        k->job->kernels->gradient(py, pg, px, &runs, k->mean[0], k->a[0], k->b[0], k->c[0]);
    commit_y(k, p, py);
}

/* ---- forward ---- */
static void update_running(const wick_tensor *running, int64_t channel, int64_t n, double momentum, const double *now) {
    double old[COLUMNS];
    norm_read(running, channel, n, 0, old);
    for (int64_t j = 0; j < n; ++j) old[j] = momentum * now[j] + (1 - momentum) * old[j];
    norm_write(running, channel, n, old);
}

/* Stores a statistic and goes on with what was stored: a backward will see no more of it. */
static void publish(const wick_tensor *t, const batch_norm_block *k, double *values) {
    norm_write(t, k->channel, k->width, values);
    if (t && t->numel) norm_read(t, k->channel, k->width, 0, values);
}

/* Leaves the mean of the block's channels in k->mean and the sum of squared differences from it in k->dot. */
static void batch_moments(batch_norm_block *k) {
    memset(k->sum, 0, sizeof k->sum);
    memset(k->dot, 0, sizeof k->dot);
    memset(k->mean, 0, sizeof k->mean);
    k->count = 0;
    if (!k->job->shape.columns) {
        walk(k, visit_moments);
        return;
    }
    walk(k, visit_sum);
    join_pixels(k, k->sum);
    for (int64_t j = 0; j < k->width; ++j) k->sum[j] /= (double)k->job->count;
    memcpy(k->mean, k->sum, sizeof k->mean);
    spread_pixels(k, k->mean);
    walk(k, visit_square);
    join_pixels(k, k->dot);
    memcpy(k->mean, k->sum, sizeof k->mean);
}

/* Leaves mean and invstd of the block in k->mean and k->a. */
static void batch_statistics(batch_norm_block *k) {
    const batch_norm_job *job = k->job;
    double n = (double)job->count, unbiased[COLUMNS];
    batch_moments(k);
    for (int64_t j = 0; j < k->width; ++j) {
        unbiased[j] = k->dot[j] / (n - 1);
        k->a[j] = 1 / sqrt(k->dot[j] / n + job->eps);
    }
    publish(job->mean, k, k->mean);
    update_running(job->running_mean, k->channel, k->width, job->momentum, k->mean);
    update_running(job->running_var, k->channel, k->width, job->momentum, unbiased);
    publish(job->invstd, k, k->a);
}

static void running_statistics(batch_norm_block *k) {
    norm_read(k->job->running_mean, k->channel, k->width, 0, k->mean);
    norm_read(k->job->running_var, k->channel, k->width, 1, k->a);
    for (int64_t j = 0; j < k->width; ++j) k->a[j] = 1 / sqrt(k->a[j] + k->job->eps);
}

static void forward_block(batch_norm_block *k) {
    if (k->job->training)
        batch_statistics(k);
    else
        running_statistics(k);
    double weight[COLUMNS];
    norm_read(k->job->weight, k->channel, k->width, 1, weight);
    norm_read(k->job->bias, k->channel, k->width, 0, k->b);
    for (int64_t j = 0; j < k->width; ++j) k->a[j] *= weight[j];
    spread_pixels(k, k->mean), spread_pixels(k, k->a), spread_pixels(k, k->b);
    walk(k, visit_scale);
}

/* ---- backward ---- */
static void backward_block(batch_norm_block *k) {
    const batch_norm_job *job = k->job;
    double weight[COLUMNS], invstd[COLUMNS], n = (double)job->count;
    if (job->training) {
        norm_read(job->mean, k->channel, k->width, 0, k->mean);
        norm_read(job->invstd, k->channel, k->width, 1, invstd);
    } else {
        running_statistics(k);
        memcpy(invstd, k->a, sizeof invstd);
    }
    norm_read(job->weight, k->channel, k->width, 1, weight);
    memset(k->sum, 0, sizeof k->sum);
    memset(k->dot, 0, sizeof k->dot);
    spread_pixels(k, k->mean);
    if (job->training || job->grad_weight || job->grad_bias) walk(k, visit_dot);
    join_pixels(k, k->sum), join_pixels(k, k->dot);
    for (int64_t j = 0; j < k->width; ++j) {
        k->a[j] = weight[j] * invstd[j];
        k->b[j] = job->training ? -k->a[j] * invstd[j] * invstd[j] * k->dot[j] / n : 0;
        k->c[j] = job->training ? -k->a[j] * k->sum[j] / n : 0;
        k->dot[j] *= invstd[j];
    }
    norm_write(job->grad_weight, k->channel, k->width, k->dot);
    norm_write(job->grad_bias, k->channel, k->width, k->sum);
    spread_pixels(k, k->a), spread_pixels(k, k->b), spread_pixels(k, k->c);
    if (job->y.data) walk(k, visit_gradient);
}

/* ---- calls ---- */
static void run_blocks(const batch_norm_job *job, int64_t begin, int64_t end, void (*block)(batch_norm_block *k)) {
    batch_norm_block k;
    k.job = job;
    int64_t step = job->shape.columns ? COLUMNS / job->pixels : 1;
    for (int64_t i = begin; i < end; ++i) {
        k.channel = i * step;
        k.width = reduce_min(step, job->channels - k.channel);
        block(&k);
    }
}
static void forward_units(void *user, int64_t begin, int64_t end, int worker) {
    run_blocks(user, begin, end, forward_block);
}
static void backward_units(void *user, int64_t begin, int64_t end, int worker) {
    run_blocks(user, begin, end, backward_block);
}

/* Turns the walk of dense small planes into one of columns: the samples are its rows. */
static void walk_pixels(batch_norm_job *job, const wick_tensor *x, const wick_tensor *y, const wick_tensor *g) {
    const int64_t samples = x->sizes[0], row = x->numel / samples, pixels = row / job->channels;
    if (pixels < 2 || pixels > SMALL_PLANE || samples < 2) return;
    if (!wick_is_contiguous(x) || !wick_is_contiguous(y) || !wick_is_contiguous(g)) return;
    reduce_shape *s = &job->shape;
    job->pixels = pixels;
    s->columns = true;
    s->nreduced = 1, s->reduced_count = samples;
    s->reduced[0] = (reduce_dim){samples, row, {row, row}};
    s->column = (reduce_dim){row, 1, {1, 1}};
}

/* Sums over no elements. */
static void gradients_of_nothing(const batch_norm_job *job) {
    static const double zeros[COLUMNS];
    for (int64_t i = 0; i < job->channels; i += COLUMNS) {
        norm_write(job->grad_weight, i, reduce_min(COLUMNS, job->channels - i), zeros);
        norm_write(job->grad_bias, i, reduce_min(COLUMNS, job->channels - i), zeros);
    }
}

/* `second` has the shape of `x`: grad_out, or the result itself in a forward. */
static wick_status *run_batch_norm(const wick_kernel_call *call, batch_norm_job *job, const wick_tensor *x,
                                   const wick_tensor *second, const wick_tensor *y, cpu_range_fn units) {
    acc_kind acc = acc_of(wick_tensor_dtype(x));
    if (acc > ACC_F64 || !acc_operand_init(&job->x, acc, x) || (y && !acc_operand_init(&job->y, acc, y)) ||
        (second && !acc_operand_init(&job->g, acc, second)))
        return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "batch norm has no kernel for these dtypes");
    const wick_tensor *full = y ? y : second;
    reduce_shape *s = &job->shape;
    reduce_shape_init(s, x, ~2ull, full, second ? second : full, WICK_REDUCE_ELEMENTWISE);
    job->kernels = &norm_kernels_of[acc];
    job->size = acc_bytes[acc];
    job->channels = x->sizes[1], job->count = s->reduced_count;
    job->column_x = x->strides[1], job->column_y = full->strides[1],
    job->column_g = (second ? second : full)->strides[1];
    job->pixels = 1;
    if (x->numel == 0) {
        gradients_of_nothing(job);
        return NULL;
    }
    walk_pixels(job, x, full, second ? second : full);
    int64_t step = s->columns ? COLUMNS / job->pixels : 1, blocks = (job->channels + step - 1) / step;
    cpu_parallel_for(cpu_of(call), blocks, reduce_max(1, CPU_GRAIN * blocks / x->numel), units, job);
    return NULL;
}

static wick_status *batch_norm_call(const wick_kernel_call *call) {
    const wick_batch_norm_call b = wick_batch_norm_read(call, call->data);
    batch_norm_job job = {.weight = b.weight,
                          .bias = b.bias,
                          .running_mean = b.running_mean,
                          .running_var = b.running_var,
                          .mean = wick_out_tensor(call, 1),
                          .invstd = wick_out_tensor(call, 2),
                          .momentum = b.momentum,
                          .eps = b.eps,
                          .training = b.training};
    return run_batch_norm(call, &job, b.input, NULL, wick_out_tensor(call, 0), forward_units);
}

/* (grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask) */
static wick_status *batch_norm_backward_call(const wick_kernel_call *call) {
    batch_norm_job job = {.weight = wick_arg_tensor(call, 2),
                          .running_mean = wick_arg_tensor(call, 3),
                          .running_var = wick_arg_tensor(call, 4),
                          .mean = wick_arg_tensor(call, 5),
                          .invstd = wick_arg_tensor(call, 6),
                          .training = call->values[7].as.i != 0,
                          .eps = wick_value_as_double(&call->values[8]),
                          .grad_weight = wick_out_tensor(call, 1),
                          .grad_bias = wick_out_tensor(call, 2)};
    return run_batch_norm(call, &job, wick_arg_tensor(call, 1), wick_arg_tensor(call, 0), wick_out_tensor(call, 0),
                          backward_units);
}

static const wick_kernel_row rows[] = {
#define FORWARD(schema, ...) \
    CPU_ROW(schema, batch_norm_call, (&(const wick_batch_norm_form){__VA_ARGS__}), 0, WICK_KERNEL_DETERMINISTIC),
    WICK_BATCH_NORMS(FORWARD)
        CPU_ROW("native_batch_norm_backward", batch_norm_backward_call, NULL, 0, WICK_KERNEL_DETERMINISTIC),
};
const cpu_kernel_table CPU_NAME(norm_table) = CPU_TABLE(rows);
