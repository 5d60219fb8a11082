/* Makes folds: an associative operation over dense accumulators of one type. Four rows or lanes are combined as a tree
 * before they meet the accumulator, which shortens both the dependency chain and the rounding error. */
#ifndef WICK_CPU_REDUCTION_FOLD_H
#define WICK_CPU_REDUCTION_FOLD_H

#include "reduction.h"

#include <math.h>
#include <string.h>

#define LANE_BYTES 256

/* An element of four rows that are `stride` apart. */
#define FOUR_ROWS(COMBINE, x, stride) \
    COMBINE(COMBINE((x)[0], (x)[stride]), COMBINE((x)[2 * (stride)], (x)[3 * (stride)]))

/* Rows: may ask in the order of memory for as much as it reads, the next four rows if they lie together. */
#define DEFINE_FOLD(name, T, IDENTITY, COMBINE)                                                                       \
    static void name##_fill(void *acc, int64_t n) {                                                                   \
        T *a = acc;                                                                                                   \
        for (int64_t j = 0; j < n; ++j) a[j] = IDENTITY;                                                              \
    }                                                                                                                 \
    static inline void name##_rows(T *restrict a, const T *restrict x, int64_t rows, int64_t stride, int64_t width) { \
        enum { STEP = 128 / sizeof(T) };                                                                              \
        const bool ask = cpu_prefetches_rows();                                                                       \
        int64_t r = 0;                                                                                                \
        for (; r + 4 <= rows; r += 4, x += 4 * stride) {                                                              \
            const T *next = x + 4 * stride;                                                                           \
            int64_t j = 0;                                                                                            \
            for (; j + STEP <= width; j += STEP, next += 4 * STEP) {                                                  \
                if (ask) cpu_prefetch(next, 4 * 128);                                                                 \
                for (int64_t i = j; i < j + STEP; ++i) a[i] = COMBINE(a[i], FOUR_ROWS(COMBINE, x + i, stride));       \
            }                                                                                                         \
            for (; j < width; ++j) a[j] = COMBINE(a[j], FOUR_ROWS(COMBINE, x + j, stride));                           \
        }                                                                                                             \
        for (; r < rows; ++r, x += stride)                                                                            \
            for (int64_t j = 0; j < width; ++j) a[j] = COMBINE(a[j], x[j]);                                           \
    }                                                                                                                 \
    static void name##_fold(void *acc, const void *x, int64_t rows, int64_t stride, int64_t width) {                  \
        name##_rows(acc, x, rows, stride, width);                                                                     \
    }                                                                                                                 \
    static void name##_reduce(void *acc, const void *x, int64_t n) {                                                  \
        enum { LANES = LANE_BYTES / sizeof(T) };                                                                      \
        const T *p = x;                                                                                               \
        T total = *(T *)acc;                                                                                          \
        if (n >= LANES) {                                                                                             \
            T a[LANES];                                                                                               \
            const int64_t ahead = cpu_prefetch_distance();                                                            \
            memcpy(a, p, sizeof a);                                                                                   \
            for (int64_t i = LANES; i + LANES <= n; i += LANES) {                                                     \
                cpu_prefetch((const char *)(p + i) + ahead, LANE_BYTES);                                              \
                for (int j = 0; j < LANES; ++j) a[j] = COMBINE(a[j], p[i + j]);                                       \
            }                                                                                                         \
            REDUCE_LANES(a, LANES, COMBINE);                                                                          \
            total = COMBINE(total, a[0]);                                                                             \
            p += n / LANES * LANES, n %= LANES;                                                                       \
        }                                                                                                             \
        for (int64_t j = 0; j < n; ++j) total = COMBINE(total, p[j]);                                                 \
        *(T *)acc = total;                                                                                            \
    }

#define FOLD_ENTRY(name) \
    { name##_fill, name##_fold, name##_reduce }

/* The order of maxima and minima: a function, not a macro, so that both operands are loaded in any case and the loops
 * vectorize. The inverted comparison lets a NaN in b win; the second choice keeps one in a. */
#define DEFINE_EXTREME(name, T, LOSES) \
    static inline T name(T a, T b) {   \
        T winner = b LOSES a ? a : b;  \
        return a != a ? a : winner;    \
    }

/* The folds of integers and complex numbers, which reduction_fold_int.c makes. */
#define INT_FOLDS(X) \
    X(sum_i64)       \
    X(prod_i64)      \
    X(max_i64)       \
    X(min_i64)       \
    X(sum_c64)       \
    X(prod_c64)      \
    X(sum_c128)      \
    X(prod_c128)

#endif
