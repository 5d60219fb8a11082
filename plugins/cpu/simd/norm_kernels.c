/* Run kernels of the normalizations. */
#include "norm.h"

#define ADD(a, b) ((a) + (b))

/* Adds EXPR over i in [0, n) to LANES sums, lane by lane; EACH runs before every LANES elements, from base_ on. */
#define ADD_LANES_EACH(lanes, n, EXPR, EACH)                              \
    do {                                                                  \
        int64_t base_ = 0;                                                \
        for (; base_ + LANES <= (n); base_ += LANES) {                    \
            EACH;                                                         \
            for (int l_ = 0; l_ < LANES; ++l_) {                          \
                const int64_t i = base_ + l_;                             \
                (lanes)[l_] += EXPR;                                      \
            }                                                             \
        }                                                                 \
        for (int64_t i = base_; i < (n); ++i) (lanes)[i - base_] += EXPR; \
    } while (0)
#define ADD_LANES(lanes, n, EXPR) ADD_LANES_EACH(lanes, n, EXPR, (void)0)

/* The sum of EXPR over i in [0, n). */
#define LANE_SUM(T, total, EXPR)          \
    do {                                  \
        enum { LANES = 128 / sizeof(T) }; \
        T lane_[LANES] = {0};             \
        ADD_LANES(lane_, n, EXPR);        \
        REDUCE_LANES(lane_, LANES, ADD);  \
        total = lane_[0];                 \
    } while (0)

#define EACH_RUN for (int64_t row = 0; row < r->rows; ++row)

#define DEFINE_NORM_KERNELS(T, S)                                                                                      \
    static double sum_##S(const void *px, const norm_runs *r) {                                                        \
        enum { LANES = 128 / sizeof(T) };                                                                              \
        const T *x = px;                                                                                               \
        T lanes[LANES] = {0};                                                                                          \
        EACH_RUN {                                                                                                     \
            ADD_LANES(lanes, r->n, x[i]);                                                                              \
            x += r->x;                                                                                                 \
        }                                                                                                              \
        REDUCE_LANES(lanes, LANES, ADD);                                                                               \
        return lanes[0];                                                                                               \
    }                                                                                                                  \
    static double square_##S(const void *px, const norm_runs *r, double mean) {                                        \
        enum { LANES = 128 / sizeof(T) };                                                                              \
        const T *x = px, m = (T)mean;                                                                                  \
        const bool ask = cpu_prefetches_lines(); /* for what follows: this is in the cache by now */                   \
        const int64_t ahead = r->rows > 1 ? r->rows * r->x : r->n;                                                     \
        T lanes[LANES] = {0};                                                                                          \
        EACH_RUN {                                                                                                     \
            ADD_LANES_EACH(lanes, r->n, (x[i] - m) * (x[i] - m), if (ask) cpu_prefetch(x + ahead + base_, 128));       \
            x += r->x;                                                                                                 \
        }                                                                                                              \
        REDUCE_LANES(lanes, LANES, ADD);                                                                               \
        return lanes[0];                                                                                               \
    }                                                                                                                  \
    static void gradient_sums_##S(const void *pg, const void *px, const norm_runs *r, double mean, double sums[2]) {   \
        enum { LANES = 128 / sizeof(T) };                                                                              \
        const T *g = pg, *x = px, m = (T)mean;                                                                         \
        T first[LANES] = {0}, second[LANES] = {0};                                                                     \
        EACH_RUN {                                                                                                     \
            ADD_LANES(first, r->n, g[i]);                                                                              \
            ADD_LANES(second, r->n, g[i] * (x[i] - m));                                                                \
            g += r->g, x += r->x;                                                                                      \
        }                                                                                                              \
        REDUCE_LANES(first, LANES, ADD);                                                                               \
        REDUCE_LANES(second, LANES, ADD);                                                                              \
        sums[0] += first[0], sums[1] += second[0];                                                                     \
    }                                                                                                                  \
    static void scale_##S(void *py, const void *px, const norm_runs *r, double mean, double a, double b) {             \
        T *restrict y = py;                                                                                            \
        const T *restrict x = px, m = (T)mean, ta = (T)a, tb = (T)b;                                                   \
        EACH_RUN {                                                                                                     \
            for (int64_t i = 0; i < r->n; ++i) y[i] = (x[i] - m) * ta + tb;                                            \
            y += r->y, x += r->x;                                                                                      \
        }                                                                                                              \
    }                                                                                                                  \
    static void gradient_##S(void *py, const void *pg, const void *px, const norm_runs *r, double mean, double a,      \
                             double b, double c) {                                                                     \
        T *restrict y = py;                                                                                            \
        const T *restrict g = pg, *restrict x = px, m = (T)mean, ta = (T)a, tb = (T)b, tc = (T)c;                      \
        EACH_RUN {                                                                                                     \
            for (int64_t i = 0; i < r->n; ++i) y[i] = ta * g[i] + tb * (x[i] - m) + tc;                                \
            y += r->y, g += r->g, x += r->x;                                                                           \
        }                                                                                                              \
    }                                                                                                                  \
    static void columns_sum_##S(double *restrict acc, const void *px, int64_t n) {                                     \
        const T *restrict x = px;                                                                                      \
        for (int64_t i = 0; i < n; ++i) acc[i] += x[i];                                                                \
    }                                                                                                                  \
    static void columns_square_##S(double *restrict acc, const void *px, int64_t n, const double *restrict mean) {     \
        const T *restrict x = px;                                                                                      \
        for (int64_t i = 0; i < n; ++i) acc[i] += (x[i] - mean[i]) * (x[i] - mean[i]);                                 \
    }                                                                                                                  \
    static void columns_dot_##S(double *restrict acc, const void *pg, const void *px, int64_t n,                       \
                                const double *restrict mean) {                                                         \
        const T *restrict g = pg, *restrict x = px;                                                                    \
        for (int64_t i = 0; i < n; ++i) acc[i] += g[i] * (x[i] - mean[i]);                                             \
    }                                                                                                                  \
    static void columns_scale_##S(void *py, const void *px, int64_t n, const double *restrict mean,                    \
                                  const double *restrict a, const double *restrict b) {                                \
        T *restrict y = py;                                                                                            \
        const T *restrict x = px;                                                                                      \
        for (int64_t i = 0; i < n; ++i) y[i] = (T)((x[i] - mean[i]) * a[i] + b[i]);                                    \
    }                                                                                                                  \
    static void columns_gradient_##S(void *py, const void *pg, const void *px, int64_t n, const double *restrict mean, \
                                     const double *restrict a, const double *restrict b, const double *restrict c) {   \
        T *restrict y = py;                                                                                            \
        const T *restrict g = pg, *restrict x = px;                                                                    \
        for (int64_t i = 0; i < n; ++i) y[i] = (T)(a[i] * g[i] + b[i] * (x[i] - mean[i]) + c[i]);                      \
    }                                                                                                                  \
    static void affine_##S(void *py, const void *px, int64_t n, double mean, double rstd, const void *pw,              \
                           const void *pb) {                                                                           \
        T *restrict y = py;                                                                                            \
        const T *restrict x = px, *restrict w = pw, *restrict b = pb, m = (T)mean, r = (T)rstd;                        \
        if (w && b)                                                                                                    \
            for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) * r * w[i] + b[i];                                       \
        else if (w)                                                                                                    \
            for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) * r * w[i];                                              \
        else if (b)                                                                                                    \
            for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) * r + b[i];                                              \
        else                                                                                                           \
            for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) * r;                                                     \
    }                                                                                                                  \
    static void affine_sums_##S(const void *pg, const void *px, const void *pw, int64_t n, double mean,                \
                                double sums[2]) {                                                                      \
        const T *g = pg, *x = px, *w = pw, m = (T)mean;                                                                \
        T first, second;                                                                                               \
        if (w) {                                                                                                       \
            LANE_SUM(T, first, g[i] * w[i]);                                                                           \
            LANE_SUM(T, second, g[i] * w[i] * (x[i] - m));                                                             \
        } else {                                                                                                       \
            LANE_SUM(T, first, g[i]);                                                                                  \
            LANE_SUM(T, second, g[i] * (x[i] - m));                                                                    \
        }                                                                                                              \
        sums[0] += first, sums[1] += second;                                                                           \
    }                                                                                                                  \
    static void affine_gradient_##S(void *py, const void *pg, const void *px, const void *pw, int64_t n, double mean,  \
                                    double a, double b, double c) {                                                    \
        T *restrict y = py;                                                                                            \
        const T *restrict g = pg, *restrict x = px, *restrict w = pw;                                                  \
        const T m = (T)mean, ta = (T)a, tb = (T)b, tc = (T)c;                                                          \
        if (w)                                                                                                         \
            for (int64_t i = 0; i < n; ++i) y[i] = ta * g[i] * w[i] + tb * (x[i] - m) + tc;                            \
        else                                                                                                           \
            for (int64_t i = 0; i < n; ++i) y[i] = ta * g[i] + tb * (x[i] - m) + tc;                                   \
    }                                                                                                                  \
    static void affine_columns_##S(double *restrict gw, double *restrict gb, const void *pg, const void *px,           \
                                   int64_t n, double mean, double rstd) {                                              \
        const T *restrict g = pg, *restrict x = px, m = (T)mean, r = (T)rstd;                                          \
        for (int64_t i = 0; i < n; ++i) gw[i] += g[i] * ((x[i] - m) * r), gb[i] += g[i];                               \
    }

#define NORM_ENTRY(S)                                                                                         \
    {                                                                                                         \
        sum_##S, square_##S, gradient_sums_##S, scale_##S, gradient_##S, columns_sum_##S, columns_square_##S, \
            columns_dot_##S, columns_scale_##S, columns_gradient_##S, affine_##S, affine_sums_##S,            \
            affine_gradient_##S, affine_columns_##S                                                           \
    }

DEFINE_NORM_KERNELS(float, f32)
DEFINE_NORM_KERNELS(double, f64)

const norm_kernels norm_kernels_of[2] = {[ACC_F32] = NORM_ENTRY(f32), [ACC_F64] = NORM_ENTRY(f64)};
