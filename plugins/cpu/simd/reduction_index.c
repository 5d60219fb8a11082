/* Reductions that name an element: argmax, argmin, max.dim, min.dim. The first of equal elements wins, the first NaN
 * over all. A block's extremum is found by a fold; only a better block is searched for its place. */
#include "reduction.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 2048, COLUMNS = 256, SPLIT_ELEMENTS = 65536, SPLIT_UNITS = 64 };

typedef struct index_kernel {
    bool (*better)(const void *x, const void *best);
    int64_t (*find)(const void *x, int64_t n, const void *value); /* the first equal element; value is among them */
    /* row number `at` meets the best of every column */
    void (*columns)(void *best, int64_t *index, const void *x, int64_t n, int64_t at);
} index_kernel;

#define DEFINE_INDEX(name, T, IS_BETTER)                                                                      \
    static bool better_##name(const void *px, const void *pbest) {                                            \
        const T x = *(const T *)px, best = *(const T *)pbest;                                                 \
        return IS_BETTER(x, best);                                                                            \
    }                                                                                                         \
    static void columns_##name(void *pbest, int64_t *restrict index, const void *px, int64_t n, int64_t at) { \
        T *restrict best = pbest;                                                                             \
        const T *restrict x = px;                                                                             \
        for (int64_t j = 0; j < n; ++j) {                                                                     \
            const T value = x[j], old = best[j];                                                              \
            const int64_t place = index[j];                                                                   \
            best[j] = IS_BETTER(value, old) ? value : old;                                                    \
            index[j] = IS_BETTER(value, old) ? at : place;                                                    \
        }                                                                                                     \
    }
#define DEFINE_FIND(name, T)                                                    \
    static int64_t find_##name(const void *px, int64_t n, const void *pvalue) { \
        const T *x = px, value = *(const T *)pvalue;                            \
        int64_t i = 0;                                                          \
        if (value != value)                                                     \
            while (i < n - 1 && x[i] == x[i]) ++i;                              \
        else                                                                    \
            while (i < n - 1 && x[i] != value) ++i;                             \
        return i;                                                               \
    }

/* A NaN beats all but a NaN: x > best or x is NaN, and best is not. The inverted comparison covers both NaN cases at
 * once, so that the loops vectorize. */
#define ABOVE(a, b) ((b) == (b) ? !((a) <= (b)) : false)
#define BELOW(a, b) ((b) == (b) ? !((a) >= (b)) : false)
#define ABOVE_INT(a, b) ((a) > (b))
#define BELOW_INT(a, b) ((a) < (b))
DEFINE_FIND(f32, float)
DEFINE_FIND(f64, double)
DEFINE_FIND(i64, int64_t)
DEFINE_INDEX(max_f32, float, ABOVE)
DEFINE_INDEX(max_f64, double, ABOVE)
DEFINE_INDEX(max_i64, int64_t, ABOVE_INT)
DEFINE_INDEX(min_f32, float, BELOW)
DEFINE_INDEX(min_f64, double, BELOW)
DEFINE_INDEX(min_i64, int64_t, BELOW_INT)

static const index_kernel kernels_max[ACC_C64] = {
    [ACC_F32] = {better_max_f32, find_f32, columns_max_f32},
    [ACC_F64] = {better_max_f64, find_f64, columns_max_f64},
    [ACC_I64] = {better_max_i64, find_i64, columns_max_i64},
};
static const index_kernel kernels_min[ACC_C64] = {
    [ACC_F32] = {better_min_f32, find_f32, columns_min_f32},
    [ACC_F64] = {better_min_f64, find_f64, columns_min_f64},
    [ACC_I64] = {better_min_i64, find_i64, columns_min_i64},
};

typedef struct index_op {
    const index_kernel *kernels; /* by accumulator, as are the folds */
    const fold_kernel *const *folds;
    bool values; /* results: values and indices, else indices */
} index_op;

typedef struct index_job {
    reduce_shape shape; /* out[0]: indices, out[1]: values */
    const index_kernel *kernel;
    const fold_kernel *fold;
    acc_operand x, values; /* values.data may be NULL */
    int64_t *indices;
    int64_t pieces;
    int acc_size;
    double partial[SPLIT_UNITS]; /* of split rows: the best value and its place, by unit */
    int64_t partial_index[SPLIT_UNITS];
} index_job;

/* ---- rows ---- */
static void best_of_row(const index_job *job, int64_t in, int64_t begin, int64_t end, void *best, int64_t *index) {
    static const reduce_dim single = {1, 1, {0, 0}};
    _Alignas(64) double buffer[BLOCK], candidate;
    const reduce_shape *s = &job->shape;
    const reduce_dim *inner = s->nreduced ? &s->reduced[s->nreduced - 1] : &single;
    const index_kernel *k = job->kernel;
    job->fold->fill(best, 1);
    *index = begin;
    for (int64_t i = begin, n; i < end; i += n) {
        int64_t outer = s->nreduced > 1 ? i / inner->size : 0, at = i - outer * inner->size;
        n = reduce_min(reduce_min(inner->size - at, end - i), BLOCK);
        int64_t offset = in + reduce_at(s->reduced, s->nreduced - 1, outer, NULL) + at * inner->in;
        const void *x = acc_view(&job->x, offset, inner->in, n, buffer);
        job->fold->fill(&candidate, 1);
        job->fold->reduce(&candidate, x, n);
        if (!k->better(&candidate, best)) continue;
        memcpy(best, &candidate, (size_t)job->acc_size);
        *index = i + k->find(x, n, best);
    }
}

static void emit_row(const index_job *job, const int64_t out[2], const void *best, int64_t index) {
    job->indices[out[0]] = index;
    if (job->values.data) job->values.store(job->values.data + out[1] * job->values.size, 1, best, 1);
}

static void row_units(void *user, int64_t begin, int64_t end, int worker) {
    index_job *job = user;
    const reduce_shape *s = &job->shape;
    for (int64_t unit = begin; unit < end; ++unit) {
        int64_t piece = unit % job->pieces, n = s->reduced_count, out[2], index, width;
        int64_t in = reduce_task(s, unit / job->pieces, out, &width);
        double best;
        best_of_row(job, in, n * piece / job->pieces, n * (piece + 1) / job->pieces, &best, &index);
        if (job->pieces == 1)
            emit_row(job, out, &best, index);
        else
            job->partial[unit] = best, job->partial_index[unit] = index;
    }
}

static void join_pieces(index_job *job) {
    for (int64_t row = 0; row < job->shape.kept_count; ++row) {
        int64_t out[2], width, first = row * job->pieces, at = first;
        for (int64_t unit = first + 1; unit < first + job->pieces; ++unit)
            if (job->kernel->better(&job->partial[unit], &job->partial[at])) at = unit;
        reduce_task(&job->shape, row, out, &width);
        emit_row(job, out, &job->partial[at], job->partial_index[at]);
    }
}

/* ---- columns ---- */
static void column_units(void *user, int64_t begin, int64_t end, int worker) {
    const index_job *job = user;
    const reduce_shape *s = &job->shape;
    _Alignas(64) double buffer[COLUMNS], best[COLUMNS];
    int64_t index[COLUMNS];
    for (int64_t task = begin; task < end; ++task) {
        int64_t out[2], width, in = reduce_task(s, task, out, &width);
        job->fold->fill(best, width);
        memset(index, 0, sizeof index);
        for (int64_t i = 0; i < s->reduced_count; ++i) {
            int64_t at = in + reduce_at(s->reduced, s->nreduced, i, NULL);
            job->kernel->columns(best, index, acc_view(&job->x, at, s->column.in, width, buffer), width, i);
        }
        for (int64_t j = 0; j < width; ++j) job->indices[out[0] + j * s->column.out[0]] = index[j];
        if (job->values.data)
            job->values.store(job->values.data + out[1] * job->values.size, s->column.out[1], best, width);
    }
}

/* ---- call: (self, dim, keepdim) ---- */
static wick_status *index_call(const wick_kernel_call *call) {
    const index_op *op = call->data;
    const wick_tensor *x = wick_arg_tensor(call, 0), *indices = wick_out_tensor(call, op->values ? 1 : 0);
    const wick_tensor *values = op->values ? wick_out_tensor(call, 0) : NULL;
    acc_kind acc = acc_of(wick_tensor_dtype(x));
    index_job job;
    job.values.data = NULL;
    if (acc >= ACC_C64 || !acc_operand_init(&job.x, acc, x) || (values && !acc_operand_init(&job.values, acc, values)))
        return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "complex numbers and this dtype have no order");
    reduce_shape *s = &job.shape;
    reduce_shape_init(s, x, wick_reduced_dims(&call->values[1], x->ndim), indices, values, WICK_REDUCE_IN_ORDER);
    if (s->kept_count == 0) return NULL;
    job.kernel = &op->kernels[acc], job.fold = op->folds[acc], job.acc_size = acc_bytes[acc];
    job.indices = wick_data(indices);
    reduce_split(s, COLUMNS, 1);
    job.pieces = 1;
    if (!s->columns && s->kept_count < SPLIT_UNITS / 2)
        job.pieces = reduce_max(1, reduce_min(SPLIT_UNITS / s->kept_count, x->numel / SPLIT_ELEMENTS));
    int64_t units = s->tasks * job.pieces;
    int64_t grain = reduce_max(1, CPU_GRAIN * units / reduce_max(1, x->numel));
    cpu_parallel_for(cpu_of(call), units, grain, s->columns ? column_units : row_units, &job);
    if (job.pieces > 1) join_pieces(&job);
    return NULL;
}

static const index_op op_argmax = {kernels_max, fold_max, false}, op_argmin = {kernels_min, fold_min, false};
static const index_op op_max = {kernels_max, fold_max, true}, op_min = {kernels_min, fold_min, true};

static const wick_kernel_row rows[] = {
    CPU_ROW("argmax", index_call, &op_argmax, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("argmin", index_call, &op_argmin, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("max.dim", index_call, &op_max, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("min.dim", index_call, &op_min, 0, WICK_KERNEL_DETERMINISTIC),
};
const cpu_kernel_table CPU_NAME(reduction_index_table) = CPU_TABLE(rows);
