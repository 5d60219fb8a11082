/* The folds: sum, product, maximum and minimum over dense accumulators. Four rows or lanes are combined as a tree
 * before they meet the accumulator, which shortens both the dependency chain and the rounding error. */
#include "reduction.h"

#include <math.h>
#include <string.h>

#define LANE_BYTES 256

#define DEFINE_FOLD(name, T, IDENTITY, COMBINE)                                                                       \
    static void name##_fill(void *acc, int64_t n) {                                                                   \
        T *a = acc;                                                                                                   \
        for (int64_t j = 0; j < n; ++j) a[j] = IDENTITY;                                                              \
    }                                                                                                                 \
    static inline void name##_rows(T *restrict a, const T *restrict x, int64_t rows, int64_t stride, int64_t width) { \
        int64_t r = 0;                                                                                                \
        for (; r + 4 <= rows; r += 4, x += 4 * stride)                                                                \
            for (int64_t j = 0; j < width; ++j) {                                                                     \
                T p = COMBINE(x[j], x[j + stride]), q = COMBINE(x[j + 2 * stride], x[j + 3 * stride]);                \
                T pq = COMBINE(p, q);                                                                                 \
                a[j] = COMBINE(a[j], pq);                                                                             \
            }                                                                                                         \
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
            memcpy(a, p, sizeof a);                                                                                   \
            name##_rows(a, p + LANES, n / LANES - 1, LANES, LANES);                                                   \
            REDUCE_LANES(a, LANES, COMBINE);                                                                          \
            total = COMBINE(total, a[0]);                                                                             \
            p += n / LANES * LANES, n %= LANES;                                                                       \
        }                                                                                                             \
        for (int64_t j = 0; j < n; ++j) total = COMBINE(total, p[j]);                                                 \
        *(T *)acc = total;                                                                                            \
    }

#define FOLD_ENTRY(name) \
    { name##_fill, name##_fold, name##_reduce }

/* Integer sums and products wrap. */
#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define ADD_INT(a, b) ((int64_t)((uint64_t)(a) + (uint64_t)(b)))
#define MUL_INT(a, b) ((int64_t)((uint64_t)(a) * (uint64_t)(b)))

/* Functions, not macros: both operands are loaded in any case, so that the loops vectorize. The inverted comparison
 * lets a NaN in b win; the second choice keeps one in a. */
#define DEFINE_EXTREME(name, T, LOSES) \
    static inline T name(T a, T b) {   \
        T winner = b LOSES a ? a : b;  \
        return a != a ? a : winner;    \
    }
DEFINE_EXTREME(greater_f32, float, <=)
DEFINE_EXTREME(greater_f64, double, <=)
DEFINE_EXTREME(greater_i64, int64_t, <=)
DEFINE_EXTREME(less_f32, float, >=)
DEFINE_EXTREME(less_f64, double, >=)
DEFINE_EXTREME(less_i64, int64_t, >=)

static inline acc_c64 add_c64(acc_c64 a, acc_c64 b) { return (acc_c64){a.re + b.re, a.im + b.im}; }
static inline acc_c128 add_c128(acc_c128 a, acc_c128 b) { return (acc_c128){a.re + b.re, a.im + b.im}; }
static inline acc_c64 mul_c64(acc_c64 a, acc_c64 b) {
    return (acc_c64){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
static inline acc_c128 mul_c128(acc_c128 a, acc_c128 b) {
    return (acc_c128){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

DEFINE_FOLD(sum_f32, float, 0.0f, ADD)
DEFINE_FOLD(sum_f64, double, 0.0, ADD)
DEFINE_FOLD(sum_i64, int64_t, 0, ADD_INT)
DEFINE_FOLD(sum_c64, acc_c64, ((acc_c64){0, 0}), add_c64)
DEFINE_FOLD(sum_c128, acc_c128, ((acc_c128){0, 0}), add_c128)
DEFINE_FOLD(prod_f32, float, 1.0f, MUL)
DEFINE_FOLD(prod_f64, double, 1.0, MUL)
DEFINE_FOLD(prod_i64, int64_t, 1, MUL_INT)
DEFINE_FOLD(prod_c64, acc_c64, ((acc_c64){1, 0}), mul_c64)
DEFINE_FOLD(prod_c128, acc_c128, ((acc_c128){1, 0}), mul_c128)
DEFINE_FOLD(max_f32, float, -INFINITY, greater_f32)
DEFINE_FOLD(max_f64, double, -INFINITY, greater_f64)
DEFINE_FOLD(max_i64, int64_t, INT64_MIN, greater_i64)
DEFINE_FOLD(min_f32, float, INFINITY, less_f32)
DEFINE_FOLD(min_f64, double, INFINITY, less_f64)
DEFINE_FOLD(min_i64, int64_t, INT64_MAX, less_i64)

const fold_kernel fold_sum[ACC_COUNT] = {FOLD_ENTRY(sum_f32), FOLD_ENTRY(sum_f64), FOLD_ENTRY(sum_i64),
                                         FOLD_ENTRY(sum_c64), FOLD_ENTRY(sum_c128)};
const fold_kernel fold_prod[ACC_COUNT] = {FOLD_ENTRY(prod_f32), FOLD_ENTRY(prod_f64), FOLD_ENTRY(prod_i64),
                                          FOLD_ENTRY(prod_c64), FOLD_ENTRY(prod_c128)};
const fold_kernel fold_max[ACC_COUNT] = {FOLD_ENTRY(max_f32), FOLD_ENTRY(max_f64), FOLD_ENTRY(max_i64)};
const fold_kernel fold_min[ACC_COUNT] = {FOLD_ENTRY(min_f32), FOLD_ENTRY(min_f64), FOLD_ENTRY(min_i64)};
