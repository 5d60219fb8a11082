/* Kernels over dense runs that the normalizations and the moments share, for F32 and F64 accumulators. Sums over a run
 * are taken in lanes; a caller adds runs of bounded length in double. */
#ifndef WICK_CPU_NORM_H
#define WICK_CPU_NORM_H

#include "reduction.h"

enum { NORM_BLOCK = 1024 /* elements of a run */ };

/* `rows` runs of n elements of up to three arrays; from one run of an array to the next are so many elements. */
typedef struct norm_runs {
    int64_t n, rows, x, g, y;
} norm_runs;
static inline norm_runs norm_run(int64_t n) { return (norm_runs){n, 1, 0, 0, 0}; }

typedef struct norm_kernels {
    /* ---- one mean for all runs ---- */
    double (*sum)(const void *x, const norm_runs *runs);
    double (*square)(const void *x, const norm_runs *runs, double mean); /* sum of (x - mean)^2 */
    /* sums[0] += sum of g, sums[1] += sum of g * (x - mean) */
    void (*gradient_sums)(const void *g, const void *x, const norm_runs *runs, double mean, double sums[2]);
    /* (x - mean) * a + b */
    void (*scale)(void *y, const void *x, const norm_runs *runs, double mean, double a, double b);
    /* a * g + b * (x - mean) + c */
    void (*gradient)(void *y, const void *g, const void *x, const norm_runs *runs, double mean, double a, double b,
                     double c);
    /* ---- one mean for every column; accumulators are double ---- */
    void (*columns_sum)(double *acc, const void *x, int64_t n);
    void (*columns_square)(double *acc, const void *x, int64_t n, const double *mean);
    void (*columns_dot)(double *acc, const void *g, const void *x, int64_t n, const double *mean);
    void (*columns_scale)(void *y, const void *x, int64_t n, const double *mean, const double *a, const double *b);
    void (*columns_gradient)(void *y, const void *g, const void *x, int64_t n, const double *mean, const double *a,
                             const double *b, const double *c);
    /* ---- layer norm: one mean for the run, weights by element; w and b may be NULL ---- */
    void (*affine)(void *y, const void *x, int64_t n, double mean, double rstd, const void *w, const void *b);
    /* sums[0] += sum of g * w, sums[1] += sum of g * w * (x - mean) */
    void (*affine_sums)(const void *g, const void *x, const void *w, int64_t n, double mean, double sums[2]);
    /* a * g * w + b * (x - mean) + c */
    void (*affine_gradient)(void *y, const void *g, const void *x, const void *w, int64_t n, double mean, double a,
                            double b, double c);
    /* gw[j] += g * (x - mean) * rstd, gb[j] += g */
    void (*affine_columns)(double *gw, double *gb, const void *g, const void *x, int64_t n, double mean, double rstd);
} norm_kernels;

#define norm_kernels_of CPU_NAME(norm_kernels_of)
extern const norm_kernels norm_kernels_of[2]; /* by acc_kind: ACC_F32, ACC_F64 */

/* ---- weights, statistics and the like: vectors of any floating dtype and stride, read and written as double ---- */
/* Elements [at, at + n); the fallback where t is NULL or empty. */
static inline void norm_read(const wick_tensor *t, int64_t at, int64_t n, double fallback, double *out) {
    if (!t || t->numel == 0) {
        for (int64_t i = 0; i < n; ++i) out[i] = fallback;
        return;
    }
    wick_dtype d = wick_tensor_dtype(t);
    int64_t stride = t->ndim ? t->strides[t->ndim - 1] : 1;
    const char *p = (const char *)wick_data(t) + at * stride * (int64_t)wick_dtype_bytes(d);
    acc_loader(ACC_F64, d)(out, p, stride, n);
}

/* Does nothing where t is NULL or empty. */
static inline void norm_write(const wick_tensor *t, int64_t at, int64_t n, const double *values) {
    if (!t || t->numel == 0) return;
    wick_dtype d = wick_tensor_dtype(t);
    int64_t stride = t->ndim ? t->strides[t->ndim - 1] : 1;
    char *p = (char *)wick_data(t) + at * stride * (int64_t)wick_dtype_bytes(d);
    acc_store(ACC_F64, d)(p, stride, values, n);
}

#endif
