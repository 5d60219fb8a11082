/* logsumexp in one pass: a running maximum, and the sum of exponentials relative to it. */
#include "reduction.h"

#include "math_f32.h"

#include <math.h>

enum { BLOCK = 2048, COLUMNS = 128 };

typedef struct exp_job {
    reduce_shape shape;
    acc_operand x, y;
    acc_kind acc;
} exp_job;

/* ---- kernels by accumulator ---- */
typedef struct exp_kernel {
    /* x = exp(x - shift[j]) for rows of `width`, all the same shift if width is 1 */
    void (*exponential)(void *x, int64_t rows, int64_t width, const void *shift);
    /* Moves `sum` from the shift `from` to that of `top`, which it leaves in `from`: infinities shift by 0. */
    void (*rebase)(void *sum, void *from, const void *top, int64_t n);
    void (*finish)(void *sum, const void *shift, int64_t n); /* log(sum) + shift */
} exp_kernel;

#define DEFINE_EXP(name, T, EXP, LOG)                                                           \
    static void exponential_##name(void *px, int64_t rows, int64_t width, const void *pshift) { \
        T *restrict x = px;                                                                     \
        const T *restrict shift = pshift;                                                       \
        const T first = shift[0];                                                               \
        if (width == 1)                                                                         \
            for (int64_t i = 0; i < rows; ++i) x[i] = EXP(x[i] - first);                        \
        else                                                                                    \
            for (int64_t r = 0; r < rows; ++r, x += width)                                      \
                for (int64_t j = 0; j < width; ++j) x[j] = EXP(x[j] - shift[j]);                \
    }                                                                                           \
    static void rebase_##name(void *psum, void *pfrom, const void *ptop, int64_t n) {           \
        T *sum = psum, *from = pfrom;                                                           \
        const T *top = ptop;                                                                    \
        for (int64_t j = 0; j < n; ++j) {                                                       \
            T to = isinf(top[j]) ? 0 : top[j];                                                  \
            if (sum[j] != 0 && to != from[j]) sum[j] *= EXP(from[j] - to);                      \
            from[j] = to;                                                                       \
        }                                                                                       \
    }                                                                                           \
    static void finish_##name(void *psum, const void *pshift, int64_t n) {                      \
        T *sum = psum;                                                                          \
        const T *shift = pshift;                                                                \
        for (int64_t j = 0; j < n; ++j) sum[j] = LOG(sum[j]) + shift[j];                        \
    }
DEFINE_EXP(f32, float, exp_f32, logf)
DEFINE_EXP(f64, double, exp, log)

static const exp_kernel kernels[] = {
    [ACC_F32] = {exponential_f32, rebase_f32, finish_f32}, [ACC_F64] = {exponential_f64, rebase_f64, finish_f64}};

/* ---- one task: the elements of `width` results, in blocks of rows ---- */
typedef struct exp_state {
    _Alignas(64) double top[COLUMNS], shift[COLUMNS], sum[COLUMNS], x[BLOCK];
} exp_state;

static void add_block(const exp_job *job, exp_state *e, int64_t at, int64_t rows, int64_t stride, int64_t width) {
    const fold_kernel *highest = fold_max[job->acc], *total = fold_sum[job->acc];
    if (job->shape.columns) {
        for (int64_t i = 0; i < rows; ++i)
            job->x.load((char *)e->x + i * width * acc_bytes[job->acc], job->x.data + (at + i * stride) * job->x.size,
                        job->shape.column.in, width);
        highest->fold(e->top, e->x, rows, width, width);
    } else {
        job->x.load(e->x, job->x.data + at * job->x.size, stride, rows);
        highest->reduce(e->top, e->x, rows);
    }
    kernels[job->acc].rebase(e->sum, e->shift, e->top, width);
    kernels[job->acc].exponential(e->x, rows, width, e->shift);
    if (job->shape.columns)
        total->fold(e->sum, e->x, rows, width, width);
    else
        total->reduce(e->sum, e->x, rows);
}

static void exp_units(void *user, int64_t begin, int64_t end, int worker) {
    static const reduce_dim single = {1, 1, {0, 0}};
    const exp_job *job = user;
    const reduce_shape *s = &job->shape;
    const reduce_dim *inner = s->nreduced ? &s->reduced[s->nreduced - 1] : &single;
    exp_state e;
    for (int64_t task = begin; task < end; ++task) {
        int64_t out[2], width, in = reduce_task(s, task, out, &width);
        fold_max[job->acc]->fill(e.top, width);
        fold_sum[job->acc]->fill(e.shift, width);
        fold_sum[job->acc]->fill(e.sum, width);
        for (int64_t i = 0, n; i < s->reduced_count; i += n) {
            int64_t outer = s->nreduced > 1 ? i / inner->size : 0, at = i - outer * inner->size;
            n = reduce_min(inner->size - at, BLOCK / width);
            add_block(job, &e, in + reduce_at(s->reduced, s->nreduced - 1, outer, NULL) + at * inner->in, n, inner->in,
                      width);
        }
        kernels[job->acc].finish(e.sum, e.shift, width);
        job->y.store(job->y.data + out[0] * job->y.size, s->column.out[0], e.sum, width);
    }
}

/* (self, dim, keepdim) */
static wick_status *logsumexp_call(const wick_kernel_call *call) {
    const wick_tensor *x = wick_arg_tensor(call, 0), *y = wick_out_tensor(call, 0);
    exp_job job = {.acc = acc_of(wick_tensor_dtype(y))};
    if (job.acc > ACC_F64 || wick_dtype_is_complex(wick_tensor_dtype(x)) || !acc_operand_init(&job.y, job.acc, y) ||
        !(job.x.load = acc_loader(job.acc, wick_tensor_dtype(x))))
        return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "logsumexp has no kernel for these dtypes");
    job.x.data = wick_data(x), job.x.size = (uint8_t)wick_dtype_bytes(wick_tensor_dtype(x));
    reduce_shape *s = &job.shape;
    reduce_shape_init(s, x, wick_reduced_dims(&call->values[1], x->ndim), y, NULL, WICK_REDUCE_ANY_ORDER);
    reduce_split(s, COLUMNS, 1);
    int64_t grain = CPU_GRAIN / 4 * s->tasks / reduce_max(1, x->numel);
    cpu_parallel_for(cpu_of(call), s->tasks, reduce_max(1, grain), exp_units, &job);
    return NULL;
}

#define REAL_DTYPES WICK_DTYPES_FLOAT
static const wick_kernel_row rows[] = {
    CPU_ROW("logsumexp", logsumexp_call, NULL, REAL_DTYPES, WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_FUSED_CAST),
};
const cpu_kernel_table CPU_NAME(reduction_logsumexp_table) = CPU_TABLE(rows);
