/* Variance, standard deviation and their means. One pass over memory: the moments of a block are taken in the cache and
 * merged in double (Chan et al.). A complex tensor's variance is that of its parts, added. */
#include "norm.h"

#include <math.h>
#include <string.h>

enum { COLUMNS = 128, BLOCK_ROWS = 32, SPLIT_ELEMENTS = 65536, SPLIT_UNITS = 32 };

typedef struct moments {
    double count;
    double mean[2][COLUMNS], square[2][COLUMNS]; /* by part; square: sum of (x - mean)^2 */
} moments;

typedef struct moment_op {
    bool root, mean;
} moment_op;

typedef struct moment_job {
    reduce_shape shape; /* in: strides in parts */
    acc_operand x;
    const norm_kernels *kernels;
    const wick_tensor *spread, *mean; /* results; mean may be NULL */
    int parts;
    bool root;
    double correction;
    int64_t pieces;
    moments *partials;
} moment_job;

/* Joins the moments of n more elements, in mean[] and square[], to those in `m`. */
static void merge(moments *m, int part, double n, const double *mean, const double *square, int64_t width) {
    double total = m->count + n;
    for (int64_t j = 0; j < width; ++j) {
        double delta = mean[j] - m->mean[part][j];
        m->mean[part][j] += delta * n / total;
        m->square[part][j] += square[j] + delta * delta * m->count * n / total;
    }
}

/* One block: `rows` rows of `width` columns, or a run of `rows` elements. */
static void add_block(const moment_job *job, moments *m, int64_t at, int64_t rows, int64_t stride, int64_t width) {
    _Alignas(64) double buffer[NORM_BLOCK];
    for (int part = 0; part < job->parts; ++part) {
        double mean[COLUMNS] = {0}, square[COLUMNS] = {0};
        if (!job->shape.columns) {
            const void *x = acc_view(&job->x, at + part, stride, rows, buffer);
            const norm_runs run = norm_run(rows);
            mean[0] = job->kernels->sum(x, &run) / (double)rows;
            square[0] = job->kernels->square(x, &run, mean[0]);
        } else {
            int64_t step = job->shape.column.in;
            for (int64_t i = 0; i < rows; ++i)
                job->kernels->columns_sum(mean, acc_view(&job->x, at + part + i * stride, step, width, buffer), width);
            for (int64_t j = 0; j < width; ++j) mean[j] /= (double)rows;
            for (int64_t i = 0; i < rows; ++i)
                job->kernels->columns_square(square, acc_view(&job->x, at + part + i * stride, step, width, buffer),
                                             width, mean);
        }
        merge(m, part, (double)rows, mean, square, width);
    }
    m->count += (double)rows;
}

static void run_unit(const moment_job *job, int64_t task, int64_t begin, int64_t end, moments *m) {
    static const reduce_dim single = {1, 1, {0, 0}};
    const reduce_shape *s = &job->shape;
    const reduce_dim *inner = s->nreduced ? &s->reduced[s->nreduced - 1] : &single;
    int64_t out[2], width, in = reduce_task(s, task, out, &width);
    int64_t block = s->columns ? BLOCK_ROWS : NORM_BLOCK;
    m->count = 0;
    for (int part = 0; part < job->parts; ++part) {
        memset(m->mean[part], 0, (size_t)width * sizeof(double));
        memset(m->square[part], 0, (size_t)width * sizeof(double));
    }
    for (int64_t i = begin, n; i < end; i += n) {
        int64_t outer = s->nreduced > 1 ? i / inner->size : 0, at = i - outer * inner->size;
        n = reduce_min(reduce_min(inner->size - at, end - i), block);
        add_block(job, m, in + reduce_at(s->reduced, s->nreduced - 1, outer, NULL) + at * inner->in, n, inner->in,
                  width);
    }
}

static void store_result(const wick_tensor *t, int64_t at, int64_t stride, int64_t part, const double *values,
                         int64_t n) {
    wick_dtype d = wick_tensor_dtype(t);
    bool complex = wick_dtype_is_complex(d);
    if (complex) d = d == WICK_C64 ? WICK_F32 : WICK_F64, at *= 2, stride *= 2;
    char *p = (char *)wick_data(t) + (at + part) * (int64_t)wick_dtype_bytes(d);
    acc_store(ACC_F64, d)(p, stride, values, n);
}

static void emit(const moment_job *job, int64_t task, moments *m) {
    int64_t out[2], width;
    reduce_task(&job->shape, task, out, &width);
    double divisor = fmax(m->count - job->correction, 0), spread[COLUMNS];
    for (int64_t j = 0; j < width; ++j) {
        double square = m->square[0][j] + (job->parts > 1 ? m->square[1][j] : 0);
        spread[j] = job->root ? sqrt(square / divisor) : square / divisor;
        if (m->count == 0) m->mean[0][j] = m->mean[1][j] = NAN;
    }
    store_result(job->spread, out[0], job->shape.column.out[0], 0, spread, width);
    for (int part = 0; job->mean && part < job->parts; ++part)
        store_result(job->mean, out[1], job->shape.column.out[1], part, m->mean[part], width);
}

static void moment_units(void *user, int64_t begin, int64_t end, int worker) {
    const moment_job *job = user;
    for (int64_t unit = begin; unit < end; ++unit) {
        int64_t task = unit / job->pieces, piece = unit % job->pieces, n = job->shape.reduced_count;
        moments own, *m = job->pieces > 1 ? &job->partials[unit] : &own;
        run_unit(job, task, n * piece / job->pieces, n * (piece + 1) / job->pieces, m);
        if (job->pieces == 1) emit(job, task, m);
    }
}

static void join_pieces(const moment_job *job) {
    for (int64_t task = 0; task < job->shape.tasks; ++task) {
        int64_t out[2], width;
        reduce_task(&job->shape, task, out, &width);
        moments *m = &job->partials[task * job->pieces];
        for (int64_t piece = 1; piece < job->pieces; ++piece) {
            for (int part = 0; part < job->parts; ++part)
                merge(m, part, m[piece].count, m[piece].mean[part], m[piece].square[part], width);
            m->count += m[piece].count;
        }
        emit(job, task, m);
    }
}

static void double_strides(reduce_dim *dims, int n) {
    for (int i = 0; i < n; ++i) dims[i].in *= 2;
}

static wick_status *plan(const wick_kernel_call *call, moment_job *job, const wick_tensor *x) {
    reduce_shape *s = &job->shape;
    wick_dtype d = wick_tensor_dtype(x);
    job->parts = 1;
    reduce_shape_init(s, x, wick_reduced_dims(&call->values[1], x->ndim), job->spread, job->mean,
                      WICK_REDUCE_ANY_ORDER);
    if (wick_dtype_is_complex(d)) {
        d = d == WICK_C64 ? WICK_F32 : WICK_F64, job->parts = 2;
        double_strides(s->kept, s->nkept), double_strides(s->reduced, s->nreduced), double_strides(&s->column, 1);
    }
    acc_kind acc = acc_of(d);
    if (acc > ACC_F64) return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "var wants a floating or complex tensor");
    job->x = (acc_operand){(char *)wick_data(x), acc_loader(acc, d), NULL, (uint8_t)wick_dtype_bytes(d),
                           acc_is_native(acc, d)};
    job->kernels = &norm_kernels_of[acc];
    reduce_split(s, COLUMNS, 1);
    job->pieces = 1;
    if (s->tasks > 0 && s->tasks < SPLIT_UNITS / 2 && x->numel >= 2 * SPLIT_ELEMENTS) {
        job->pieces = reduce_min(SPLIT_UNITS / s->tasks, reduce_min(x->numel / SPLIT_ELEMENTS, s->reduced_count));
        job->partials = call->host->workspace(call, (size_t)(s->tasks * job->pieces) * sizeof(moments));
        if (!job->partials) return WICK_HOST_ERROR(call->host, WICK_OUT_OF_MEMORY, "no memory for partial results");
    }
    return NULL;
}

/* (self, dim, correction, keepdim) */
static wick_status *moment_call(const wick_kernel_call *call) {
    const moment_op *op = call->data;
    const wick_tensor *x = wick_arg_tensor(call, 0);
    const wick_value *correction = &call->values[2];
    moment_job job;
    job.spread = wick_out_tensor(call, 0), job.mean = op->mean ? wick_out_tensor(call, 1) : NULL;
    job.root = op->root;
    job.correction = wick_value_is_none(correction) ? 1 : wick_value_as_double(correction);
    WICK_TRY(plan(call, &job, x));
    int64_t units = job.shape.tasks * job.pieces;
    cpu_parallel_for(cpu_of(call), units, reduce_max(1, CPU_GRAIN * units / reduce_max(x->numel, 1)), moment_units,
                     &job);
    if (job.pieces > 1) join_pieces(&job);
    return NULL;
}

static const moment_op op_var = {false, false}, op_std = {true, false}, op_var_mean = {false, true},
                       op_std_mean = {true, true};

static const wick_kernel_row rows[] = {
    CPU_ROW("var.correction", moment_call, &op_var, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("std.correction", moment_call, &op_std, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("var_mean.correction", moment_call, &op_var_mean, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("std_mean.correction", moment_call, &op_std_mean, 0, WICK_KERNEL_DETERMINISTIC),
};
const cpu_kernel_table CPU_NAME(reduction_moment_table) = CPU_TABLE(rows);
