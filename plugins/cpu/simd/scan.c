/* Scans along one dimension: cumsum, cumprod, logcumsumexp, cummax, cummin. Any strides; the accumulator is double for
 * every floating dtype. A result may be the input itself. */
#include "reduction.h"

#include "convert.h"
#include <math.h>
#include <string.h>

enum { BLOCK = 1024, COLUMNS = 128 };

/* Works through n elements: y[i] = op(acc[i or 0], x[i]), and acc becomes y. With `columns` every element has an
 * accumulator of its own, otherwise they share the first. y may be x. For cummax and cummin, index holds the place of
 * acc, `at` is that of the first element (of all of them with `columns`), and places receives the results' places. */
typedef struct scan_places {
    int64_t *index, *places, at;
} scan_places;
typedef void (*scan_fn)(void *acc, void *y, const void *x, int64_t n, bool columns, scan_places *p);

typedef struct scan_kernel {
    scan_fn scan;
    void (*start)(void *acc, int64_t n); /* n identities */
} scan_kernel;

typedef struct scan_op {
    const scan_kernel *kernels; /* by accumulator */
    bool places;                /* results: values and indices */
} scan_op;

#define DEFINE_START(name, T, IDENTITY)                  \
    static void start_##name(void *acc, int64_t n) {     \
        T *a = acc;                                      \
        for (int64_t i = 0; i < n; ++i) a[i] = IDENTITY; \
    }
#define DEFINE_SCAN(name, T, IDENTITY, COMBINE)                                                             \
    DEFINE_START(name, T, IDENTITY)                                                                         \
    static void scan_##name(void *acc, void *py, const void *px, int64_t n, bool columns, scan_places *p) { \
        T *a = acc, *y = py;                                                                                \
        const T *x = px;                                                                                    \
        if (columns) {                                                                                      \
            for (int64_t i = 0; i < n; ++i) y[i] = a[i] = COMBINE(a[i], x[i]);                              \
        } else {                                                                                            \
            T total = a[0];                                                                                 \
            for (int64_t i = 0; i < n; ++i) y[i] = total = COMBINE(total, x[i]);                            \
            a[0] = total;                                                                                   \
        }                                                                                                   \
    }
/* The last of equal elements wins; NaN wins and stays. */
#define DEFINE_EXTREME(name, T, IDENTITY, WINS)                                                             \
    DEFINE_START(name, T, IDENTITY)                                                                         \
    static void scan_##name(void *acc, void *py, const void *px, int64_t n, bool columns, scan_places *p) { \
        T *a = acc, *y = py;                                                                                \
        const T *x = px;                                                                                    \
        for (int64_t i = 0; i < n; ++i) {                                                                   \
            int64_t j = columns ? i : 0;                                                                    \
            if (WINS(x[i], a[j])) a[j] = x[i], p->index[j] = columns ? p->at : p->at + i;                   \
            y[i] = a[j], p->places[i] = p->index[j];                                                        \
        }                                                                                                   \
    }

#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define ADD_INT(a, b) ((int64_t)((uint64_t)(a) + (uint64_t)(b)))
#define MUL_INT(a, b) ((int64_t)((uint64_t)(a) * (uint64_t)(b)))
#define NOT_BELOW(x, a) ((x) != (x) || (x) >= (a))
#define NOT_ABOVE(x, a) ((x) != (x) || (x) <= (a))
#define NOT_BELOW_INT(x, a) ((x) >= (a))
#define NOT_ABOVE_INT(x, a) ((x) <= (a))

static inline acc_c128 add_c128(acc_c128 a, acc_c128 b) { return (acc_c128){a.re + b.re, a.im + b.im}; }
static inline acc_c128 mul_c128(acc_c128 a, acc_c128 b) {
    return (acc_c128){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
static inline double add_exp(double a, double b) {
    double high = a > b || a != a ? a : b, low = high == a ? b : a;
    return isinf(high) && high == low ? high : high + log1p(exp(low - high));
}

/* The one of the greater real part comes first; NaN goes through. */
static inline acc_c128 add_exp_c128(acc_c128 a, acc_c128 b) {
    acc_c128 high = a.re > b.re || a.re != a.re ? a : b, low = a.re > b.re || a.re != a.re ? b : a;
    if (low.re == -INFINITY) return high;
    double complex sum = clog(1 + cexp(CMPLX(low.re - high.re, low.im - high.im)));
    return (acc_c128){high.re + creal(sum), high.im + cimag(sum)};
}

DEFINE_SCAN(sum_f64, double, 0, ADD)
DEFINE_SCAN(sum_i64, int64_t, 0, ADD_INT)
DEFINE_SCAN(sum_c128, acc_c128, ((acc_c128){0, 0}), add_c128)
DEFINE_SCAN(prod_f64, double, 1, MUL)
DEFINE_SCAN(prod_i64, int64_t, 1, MUL_INT)
DEFINE_SCAN(prod_c128, acc_c128, ((acc_c128){1, 0}), mul_c128)
DEFINE_SCAN(log_f64, double, -INFINITY, add_exp)
DEFINE_SCAN(log_c128, acc_c128, ((acc_c128){-INFINITY, 0}), add_exp_c128)
DEFINE_EXTREME(max_f64, double, -INFINITY, NOT_BELOW)
DEFINE_EXTREME(max_i64, int64_t, INT64_MIN, NOT_BELOW_INT)
DEFINE_EXTREME(min_f64, double, INFINITY, NOT_ABOVE)
DEFINE_EXTREME(min_i64, int64_t, INT64_MAX, NOT_ABOVE_INT)

static const scan_kernel sum_kernels[ACC_COUNT] = {[ACC_F64] = {scan_sum_f64, start_sum_f64},
                                                   [ACC_I64] = {scan_sum_i64, start_sum_i64},
                                                   [ACC_C128] = {scan_sum_c128, start_sum_c128}};
static const scan_kernel prod_kernels[ACC_COUNT] = {[ACC_F64] = {scan_prod_f64, start_prod_f64},
                                                    [ACC_I64] = {scan_prod_i64, start_prod_i64},
                                                    [ACC_C128] = {scan_prod_c128, start_prod_c128}};
static const scan_kernel log_kernels[ACC_COUNT] = {
    [ACC_F64] = {scan_log_f64, start_log_f64}, [ACC_C128] = {scan_log_c128, start_log_c128}};
static const scan_kernel max_kernels[ACC_COUNT] = {
    [ACC_F64] = {scan_max_f64, start_max_f64}, [ACC_I64] = {scan_max_i64, start_max_i64}};
static const scan_kernel min_kernels[ACC_COUNT] = {
    [ACC_F64] = {scan_min_f64, start_min_f64}, [ACC_I64] = {scan_min_i64, start_min_i64}};

typedef struct scan_job {
    reduce_shape shape; /* out[0]: values, out[1]: places */
    const scan_kernel *kernel;
    acc_operand x, y;
    int64_t *places; /* NULL: none wanted */
    int64_t n, in_stride, out_stride, place_stride;
} scan_job;

/* A line in blocks (columns false), or one row of neighbouring lines after the other. */
static void scan_lines(const scan_job *job, int64_t in, const int64_t out[2], int64_t width, bool columns) {
    _Alignas(64) acc_c128 x_buffer[BLOCK], y_buffer[BLOCK], acc[COLUMNS];
    int64_t index[COLUMNS] = {0}, places[BLOCK];
    scan_places p = {index, places, 0};
    const reduce_dim line = {job->n, job->in_stride, {job->out_stride, job->place_stride}};
    const reduce_dim *run = columns ? &job->shape.column : &line;
    job->kernel->start(acc, columns ? width : 1);
    for (int64_t n; p.at < job->n; p.at += columns ? 1 : n) {
        n = columns ? width : reduce_min(BLOCK, job->n - p.at);
        int64_t to = out[0] + p.at * job->out_stride, place = out[1] + p.at * job->place_stride;
        const void *x = acc_view(&job->x, in + p.at * job->in_stride, run->in, n, x_buffer);
        void *y = acc_target(&job->y, to, run->out[0], y_buffer);
        job->kernel->scan(acc, y, x, n, columns, &p);
        acc_commit(&job->y, to, run->out[0], n, y);
        if (job->places)
            for (int64_t i = 0; i < n; ++i) job->places[place + i * run->out[1]] = places[i];
    }
}

static void scan_units(void *user, int64_t begin, int64_t end, int worker) {
    const scan_job *job = user;
    for (int64_t task = begin; task < end; ++task) {
        int64_t out[2], width, in = reduce_task(&job->shape, task, out, &width);
        scan_lines(job, in, out, width, job->shape.columns);
    }
}

/* (self, dim, dtype) */
static wick_status *scan_call(const wick_kernel_call *call) {
    static const uint8_t wide[ACC_COUNT] = {ACC_F64, ACC_F64, ACC_I64, ACC_C128, ACC_C128};
    const scan_op *op = call->data;
    const wick_tensor *x = wick_arg_tensor(call, 0), *y = wick_out_tensor(call, 0);
    const wick_tensor *places = op->places ? wick_out_tensor(call, 1) : NULL;
    const int dim = wick_dim_of(&call->values[1], x->ndim);
    acc_kind acc = wide[acc_of(wick_tensor_dtype(y))];
    scan_job job = {.kernel = &op->kernels[acc], .places = places ? wick_data(places) : NULL};
    if (!job.kernel->scan || !(job.x.load = acc_loader(acc, wick_tensor_dtype(x))) || !acc_operand_init(&job.y, acc, y))
        return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "this scan has no kernel for these dtypes");
    if (x->numel == 0) return NULL;
    job.x = (acc_operand){(char *)wick_data(x), job.x.load, NULL, (uint8_t)wick_dtype_bytes(wick_tensor_dtype(x)),
                          acc_is_native(acc, wick_tensor_dtype(x))};
    reduce_shape *s = &job.shape;
    reduce_shape_init(s, x, wick_reduced_dims(&call->values[1], x->ndim), y, places, WICK_REDUCE_ELEMENTWISE);
    job.n = s->reduced_count;
    job.in_stride = x->ndim ? x->strides[dim] : 1, job.out_stride = x->ndim ? y->strides[dim] : 1;
    job.place_stride = x->ndim && places ? places->strides[dim] : 1;
    reduce_split(s, COLUMNS, 1);
    cpu_parallel_for(cpu_of(call), s->tasks, reduce_max(1, CPU_GRAIN * s->tasks / x->numel), scan_units, &job);
    return NULL;
}

static const scan_op op_sum = {sum_kernels, false}, op_prod = {prod_kernels, false}, op_log = {log_kernels, false};
static const scan_op op_max = {max_kernels, true}, op_min = {min_kernels, true};

static const wick_kernel_row rows[] = {
    CPU_ROW("cumsum", scan_call, &op_sum, 0, WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_FUSED_CAST),
    CPU_ROW("cumprod", scan_call, &op_prod, 0, WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_FUSED_CAST),
    CPU_ROW("cummax", scan_call, &op_max, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("cummin", scan_call, &op_min, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("logcumsumexp", scan_call, &op_log, 0, WICK_KERNEL_DETERMINISTIC),
};
const cpu_kernel_table CPU_NAME(scan_table) = CPU_TABLE(rows);
