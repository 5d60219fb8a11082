/* The folds of integers and complex numbers. */
#include "reduction_fold.h"

/* Integer sums and products wrap. */
#define ADD_INT(a, b) ((int64_t)((uint64_t)(a) + (uint64_t)(b)))
#define MUL_INT(a, b) ((int64_t)((uint64_t)(a) * (uint64_t)(b)))

DEFINE_EXTREME(greater_i64, int64_t, <=)
DEFINE_EXTREME(less_i64, int64_t, >=)

static inline acc_c64 add_c64(acc_c64 a, acc_c64 b) { return (acc_c64){a.re + b.re, a.im + b.im}; }
static inline acc_c128 add_c128(acc_c128 a, acc_c128 b) { return (acc_c128){a.re + b.re, a.im + b.im}; }
static inline acc_c64 mul_c64(acc_c64 a, acc_c64 b) {
    return (acc_c64){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
static inline acc_c128 mul_c128(acc_c128 a, acc_c128 b) {
    return (acc_c128){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

DEFINE_FOLD(sum_i64, int64_t, 0, ADD_INT)
DEFINE_FOLD(prod_i64, int64_t, 1, MUL_INT)
DEFINE_FOLD(max_i64, int64_t, INT64_MIN, greater_i64)
DEFINE_FOLD(min_i64, int64_t, INT64_MAX, less_i64)
DEFINE_FOLD(sum_c64, acc_c64, ((acc_c64){0, 0}), add_c64)
DEFINE_FOLD(prod_c64, acc_c64, ((acc_c64){1, 0}), mul_c64)
DEFINE_FOLD(sum_c128, acc_c128, ((acc_c128){0, 0}), add_c128)
DEFINE_FOLD(prod_c128, acc_c128, ((acc_c128){1, 0}), mul_c128)

#define EXPORT(name)                         \
    extern const fold_kernel CPU_NAME(name); \
    const fold_kernel CPU_NAME(name) = FOLD_ENTRY(name);
INT_FOLDS(EXPORT)
