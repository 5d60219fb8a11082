/* The folds: sum, product, maximum and minimum. Those of floats are made here, the others in reduction_fold_int.c. */
#include "reduction_fold.h"

#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
DEFINE_EXTREME(greater_f32, float, <=)
DEFINE_EXTREME(greater_f64, double, <=)
DEFINE_EXTREME(less_f32, float, >=)
DEFINE_EXTREME(less_f64, double, >=)

DEFINE_FOLD(sum_f32, float, 0.0f, ADD)
DEFINE_FOLD(sum_f64, double, 0.0, ADD)
DEFINE_FOLD(prod_f32, float, 1.0f, MUL)
DEFINE_FOLD(prod_f64, double, 1.0, MUL)
DEFINE_FOLD(max_f32, float, -INFINITY, greater_f32)
DEFINE_FOLD(max_f64, double, -INFINITY, greater_f64)
DEFINE_FOLD(min_f32, float, INFINITY, less_f32)
DEFINE_FOLD(min_f64, double, INFINITY, less_f64)

#define ENTRY(name) static const fold_kernel kernel_##name = FOLD_ENTRY(name);
ENTRY(sum_f32)
ENTRY(sum_f64)
ENTRY(prod_f32)
ENTRY(prod_f64)
ENTRY(max_f32)
ENTRY(max_f64)
ENTRY(min_f32)
ENTRY(min_f64)

#define DECLARE(name) extern const fold_kernel CPU_NAME_256(name);
INT_FOLDS(DECLARE)
const fold_kernel *const fold_sum[ACC_COUNT] = {&kernel_sum_f32, &kernel_sum_f64, &CPU_NAME_256(sum_i64),
                                                &CPU_NAME_256(sum_c64), &CPU_NAME_256(sum_c128)};
const fold_kernel *const fold_prod[ACC_COUNT] = {&kernel_prod_f32, &kernel_prod_f64, &CPU_NAME_256(prod_i64),
                                                 &CPU_NAME_256(prod_c64), &CPU_NAME_256(prod_c128)};
const fold_kernel *const fold_max[ACC_COUNT] = {&kernel_max_f32, &kernel_max_f64, &CPU_NAME_256(max_i64)};
const fold_kernel *const fold_min[ACC_COUNT] = {&kernel_min_f32, &kernel_min_f64, &CPU_NAME_256(min_i64)};
