/* Distances between rows: cdist and pdist, forward and backward, for every p-norm. */
#include "index.h"

#include <math.h>

#define LANES 8 /* sums run in lanes, so that they vectorize without changing with the compiler's mood */

/* ---- one pair of rows ---- */
/* The distance of two rows of m elements. */
typedef double (*distance_fn)(const void *a, const void *b, int64_t m, double p);
/* out += grad * d distance / d a. */
typedef void (*slope_fn)(void *out, const void *a, const void *b, double grad, double distance, int64_t m, double p);

#define SUM(acc, term) acc + (term)
#define MAX(acc, term) ((acc) > (term) || (acc) != (acc) ? (acc) : (term))
#define SIGN(x) (((x) > 0) - ((x) < 0))

/* X(name, type, join, term of a difference, distance from the total, slope of a difference). In the slope `grad` and
 * `distance` are the pair's. */
#define METRICS(X, T)                                                                            \
    X(zero, T, SUM, d != 0, total, 0)                                                            \
    X(one, T, SUM, d < 0 ? -d : d, total, grad * SIGN(d))                                        \
    X(two, T, SUM, d *d, sqrt(total), distance == 0 ? 0 : grad * d / distance)                   \
    X(power, T, SUM, pow(fabs(d), p), pow(total, 1 / p),                                         \
      distance == 0 || d == 0 ? 0 : SIGN(d) * pow(fabs(d), p - 1) * grad / pow(distance, p - 1)) \
    X(infinite, T, MAX, d < 0 ? -d : d, total, fabs(d) == distance ? grad * SIGN(d) : 0)

#define METRIC(name, T, join, term, finish, slope)                                                                    \
    static double distance_##name##_##T(const void *a_row, const void *b_row, int64_t m, double p) {                  \
        const T *a = a_row, *b = b_row;                                                                               \
        T lanes[LANES] = {0};                                                                                         \
        double total = 0;                                                                                             \
        int64_t i = 0;                                                                                                \
        for (; i + LANES <= m; i += LANES)                                                                            \
            for (int l = 0; l < LANES; ++l) {                                                                         \
                T d = a[i + l] - b[i + l];                                                                            \
                lanes[l] = (T)(join(lanes[l], (term)));                                                               \
            }                                                                                                         \
        for (; i < m; ++i) {                                                                                          \
            T d = a[i] - b[i];                                                                                        \
            total = join(total, (term));                                                                              \
        }                                                                                                             \
        for (int l = 0; l < LANES; ++l) total = join(total, lanes[l]);                                                \
        return finish;                                                                                                \
    }                                                                                                                 \
    static void slope_##name##_##T(void *out_row, const void *a_row, const void *b_row, double grad, double distance, \
                                   int64_t m, double p) {                                                             \
        const T *a = a_row, *b = b_row;                                                                               \
        T *out = out_row;                                                                                             \
        for (int64_t i = 0; i < m; ++i) {                                                                             \
            T d = a[i] - b[i];                                                                                        \
            (void)d;                                                                                                  \
            out[i] += (T)(slope);                                                                                     \
        }                                                                                                             \
    }
METRICS(METRIC, float)
METRICS(METRIC, double)

typedef struct metric {
    distance_fn distance;
    slope_fn slope;
} metric;
#define METRIC_ENTRY(name, T, ...) {distance_##name##_##T, slope_##name##_##T},
static const metric metrics[2][5] = {{METRICS(METRIC_ENTRY, float)}, {METRICS(METRIC_ENTRY, double)}};

static const metric *find_metric(wick_dtype dtype, double p) {
    int kind = p == 0 ? 0 : p == 1 ? 1 : p == 2 ? 2 : isinf(p) ? 4 : 3;
    return &metrics[dtype == WICK_F64][kind];
}

static double real_at(const cpu_view *v, int64_t i) {
    return v->dtype == WICK_F64 ? ((const double *)v->data)[i] : ((const float *)v->data)[i];
}

static void set_real(const cpu_view *v, int64_t i, double x) {
    if (v->dtype == WICK_F64)
        ((double *)v->data)[i] = x;
    else
        ((float *)v->data)[i] = (float)x;
}

/* ---- all pairs of two sets, in batches ---- */
/* Rows are dense; batches may be broadcast. */
typedef struct pairs {
    const metric *metric;
    double p;
    int64_t rows, others, columns;
    cpu_view a, b;           /* (batch..., rows, columns), (batch..., others, columns) */
    cpu_view grad, distance; /* (batch..., rows, others): backward */
    cpu_view out;
} pairs;

/* Gives a view the output's batch dimensions. */
static void expand_batch(cpu_view *v, const cpu_view *out) {
    int64_t sizes[WICK_MAX_DIMS];
    memcpy(sizes, out->sizes, (size_t)out->ndim * sizeof sizes[0]);
    sizes[out->ndim - 2] = v->sizes[v->ndim - 2], sizes[out->ndim - 1] = v->sizes[v->ndim - 1];
    cpu_view_expand(v, out->ndim, sizes);
}

/* Address of row `row` of batch `batch`. */
static char *row_of(const cpu_view *v, int64_t batch, int64_t row) {
    cpu_view batches = *v;
    batches.ndim -= 2;
    return cpu_view_at(&batches, batch) + row * v->sizes[v->ndim - 1] * v->item;
}

static void pairs_init(const wick_kernel_call *k, pairs *s, const wick_tensor *a, const wick_tensor *b, double p) {
    cpu_view_of(a, &s->a);
    cpu_view_of(b, &s->b);
    cpu_view_of(wick_out_tensor(k, 0), &s->out);
    s->p = p, s->metric = find_metric(s->out.dtype, p);
    s->rows = s->a.sizes[s->a.ndim - 2], s->others = s->b.sizes[s->b.ndim - 2], s->columns = s->a.sizes[s->a.ndim - 1];
    expand_batch(&s->a, &s->out);
    expand_batch(&s->b, &s->out);
}

static int64_t grain_of(int64_t work) { return 1 + CPU_GRAIN / (work > 0 ? work : 1); }

static void cdist_rows(void *user, int64_t begin, int64_t end, int worker) {
    const pairs *s = user;
    int64_t b_row = s->columns * s->b.item;
    for (int64_t i = begin; i < end; ++i) {
        const char *a = row_of(&s->a, i / s->rows, i % s->rows), *b = row_of(&s->b, i / s->rows, 0);
        for (int64_t j = 0; j < s->others; ++j)
            set_real(&s->out, i * s->others + j, s->metric->distance(a, b + j * b_row, s->columns, s->p));
    }
}

/* (x1, x2, p, compute_mode) */
static wick_status *cdist(const wick_kernel_call *k) {
    pairs s;
    pairs_init(k, &s, wick_arg_tensor(k, 0), wick_arg_tensor(k, 1), k->values[2].as.f);
    int64_t numel = cpu_view_numel(&s.out);
    if (numel == 0) return NULL;
    cpu_parallel_for(cpu_of(k), numel / s.others, grain_of(s.others * s.columns), cdist_rows, &s);
    return NULL;
}

static void cdist_backward_rows(void *user, int64_t begin, int64_t end, int worker) {
    const pairs *s = user;
    int64_t row = s->columns * s->b.item;
    for (int64_t i = begin; i < end; ++i) {
        int64_t batch = i / s->rows;
        const char *a = row_of(&s->a, batch, i % s->rows), *b = row_of(&s->b, batch, 0);
        cpu_view grad = s->grad, distance = s->distance;
        grad.data = row_of(&grad, batch, i % s->rows), distance.data = row_of(&distance, batch, i % s->rows);
        for (int64_t j = 0; j < s->others; ++j)
            s->metric->slope(s->out.data + i * row, a, b + j * row, real_at(&grad, j), real_at(&distance, j),
                             s->columns, s->p);
    }
}

/* (grad, x1, x2, p, cdist) -> the gradient of x1, batches expanded */
static wick_status *cdist_backward(const wick_kernel_call *k) {
    pairs s;
    pairs_init(k, &s, wick_arg_tensor(k, 1), wick_arg_tensor(k, 2), k->values[3].as.f);
    cpu_view_of(wick_arg_tensor(k, 0), &s.grad);
    cpu_view_of(wick_arg_tensor(k, 4), &s.distance);
    expand_batch(&s.grad, &s.out);
    expand_batch(&s.distance, &s.out);
    cpu_view_zero(cpu_of(k), &s.out);
    int64_t numel = cpu_view_numel(&s.out);
    if (numel == 0) return NULL;
    cpu_parallel_for(cpu_of(k), numel / s.columns, grain_of(s.others * s.columns), cdist_backward_rows, &s);
    return NULL;
}

/* ---- the pairs i < j of one set ---- */
/* Position of pair (i, i + 1) in the output. */
static int64_t first_pair(int64_t rows, int64_t i) { return i * (rows - 1) - i * (i - 1) / 2; }

static void pdist_rows(void *user, int64_t begin, int64_t end, int worker) {
    const pairs *s = user;
    int64_t row = s->columns * s->a.item;
    for (int64_t i = begin; i < end; ++i)
        for (int64_t j = i + 1, at = first_pair(s->rows, i); j < s->rows; ++j, ++at)
            set_real(&s->out, at, s->metric->distance(s->a.data + i * row, s->a.data + j * row, s->columns, s->p));
}

static void pdist_init(pairs *s, const wick_tensor *self, const wick_tensor *out, double p) {
    cpu_view_of(self, &s->a);
    cpu_view_of(out, &s->out);
    s->p = p, s->metric = find_metric(s->a.dtype, p);
    s->rows = s->a.sizes[0], s->columns = s->a.sizes[1];
}

/* (self, p) */
static wick_status *pdist(const wick_kernel_call *k) {
    pairs s;
    pdist_init(&s, wick_arg_tensor(k, 0), wick_out_tensor(k, 0), k->values[1].as.f);
    cpu_parallel_for(cpu_of(k), s.rows, grain_of(s.rows * s.columns / 2), pdist_rows, &s);
    return NULL;
}

/* Each row sums over all its pairs, so that rows are independent. */
static void pdist_backward_rows(void *user, int64_t begin, int64_t end, int worker) {
    const pairs *s = user;
    int64_t row = s->columns * s->a.item;
    for (int64_t i = begin; i < end; ++i)
        for (int64_t j = 0; j < s->rows; ++j) {
            if (j == i) continue;
            int64_t at = i < j ? first_pair(s->rows, i) + j - i - 1 : first_pair(s->rows, j) + i - j - 1;
            s->metric->slope(s->out.data + i * row, s->a.data + i * row, s->a.data + j * row, real_at(&s->grad, at),
                             real_at(&s->distance, at), s->columns, s->p);
        }
}

/* (grad, self, p, pdist) */
static wick_status *pdist_backward(const wick_kernel_call *k) {
    pairs s;
    pdist_init(&s, wick_arg_tensor(k, 1), wick_out_tensor(k, 0), k->values[2].as.f);
    cpu_view_of(wick_arg_tensor(k, 0), &s.grad);
    cpu_view_of(wick_arg_tensor(k, 3), &s.distance);
    cpu_view_zero(cpu_of(k), &s.out);
    cpu_parallel_for(cpu_of(k), s.rows, grain_of(s.rows * s.columns), pdist_backward_rows, &s);
    return NULL;
}

#define REALS (WICK_DTYPE_BIT(WICK_F32) | WICK_DTYPE_BIT(WICK_F64))
#define FLAGS (WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_CONTIGUOUS)
static const wick_kernel_row rows[] = {
    CPU_ROW("_cdist_forward", cdist, NULL, REALS, FLAGS),
    CPU_ROW("_cdist_backward", cdist_backward, NULL, REALS, FLAGS),
    CPU_ROW("_pdist_forward", pdist, NULL, REALS, FLAGS),
    CPU_ROW("_pdist_backward", pdist_backward, NULL, REALS, FLAGS),
};
const cpu_kernel_table cpu_distance_table = CPU_TABLE(rows);
