/* Reductions that are one fold: sums, products, extrema, logical reductions, counts and norms. */
#include "reduction.h"

#include <math.h>

/* ---- maps and finishes ---- */
#define DEFINE_MAP(name, T, EXPR)                          \
    static void name(void *acc, int64_t n, double param) { \
        T *restrict a = acc;                               \
        T p = (T)param;                                    \
        (void)p;                                           \
        for (int64_t i = 0; i < n; ++i) {                  \
            T x = a[i];                                    \
            a[i] = EXPR;                                   \
        }                                                  \
    }
#define DEFINE_REAL_MAP(name, EXPR_F32, EXPR_F64) \
    DEFINE_MAP(name##_f32, float, EXPR_F32)       \
    DEFINE_MAP(name##_f64, double, EXPR_F64)      \
    static const reduce_map_fn name[ACC_COUNT] = {name##_f32, name##_f64};

DEFINE_REAL_MAP(map_nan_to_zero, x == x ? x : 0, x == x ? x : 0)
DEFINE_REAL_MAP(map_abs, fabsf(x), fabs(x))
DEFINE_REAL_MAP(map_square, x *x, x *x)
DEFINE_REAL_MAP(map_abs_pow, powf(fabsf(x), p), pow(fabs(x), p))
DEFINE_REAL_MAP(finish_sqrt, sqrtf(x), sqrt(x))
DEFINE_REAL_MAP(finish_root, powf(x, 1 / p), pow(x, 1 / p))

/* What folding the truth of nothing leaves is neither 0 nor 1: the identities of the least and the greatest. */
DEFINE_MAP(finish_any_i64, int64_t, x > 0)
DEFINE_MAP(finish_all_i64, int64_t, x != 0)
static const reduce_map_fn finish_any[ACC_COUNT] = {[ACC_I64] = finish_any_i64};
static const reduce_map_fn finish_all[ACC_COUNT] = {[ACC_I64] = finish_all_i64};

DEFINE_MAP(finish_mean_f32, float, x / p)
DEFINE_MAP(finish_mean_f64, double, x / p)
/* A division of both parts by a real number. */
static void finish_mean_c64(void *acc, int64_t n, double param) { finish_mean_f32(acc, 2 * n, param); }
static void finish_mean_c128(void *acc, int64_t n, double param) { finish_mean_f64(acc, 2 * n, param); }
static const reduce_map_fn finish_mean[ACC_COUNT] = {[ACC_F32] = finish_mean_f32,
                                                     [ACC_F64] = finish_mean_f64,
                                                     [ACC_C64] = finish_mean_c64,
                                                     [ACC_C128] = finish_mean_c128};

/* ---- one fold ---- */
/* Which parameter a map or finish receives. */
typedef enum fold_param { PARAM_NONE, PARAM_COUNT, PARAM_ORD } fold_param;

typedef struct fold_op {
    const fold_kernel *const *fold; /* by accumulator */
    const reduce_map_fn *map;       /* by accumulator; NULL: none */
    const reduce_map_fn *finish;    /* by accumulator; NULL: none */
    fold_param param;               /* of the finish; ORD also of the map */
    uint8_t truth;                  /* folds x != 0 */
    uint8_t modulus;                /* folds |x| of complex elements into a real result */
    uint8_t dims_arg;               /* index of the dims argument */
    uint8_t output;
    uint8_t empty_is_none; /* an empty list of dims reduces nothing */
} fold_op;

static wick_status *run_fold(const wick_kernel_call *call, const fold_op *op, double ord) {
    wick_tensor *in = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, op->output);
    const wick_value *dims = &call->values[op->dims_arg];
    bool nothing = op->empty_is_none && dims->tag == WICK_TAG_I64_LIST && dims->count == 0;
    acc_kind acc = op->truth ? ACC_I64 : acc_of(wick_tensor_dtype(out));
    reduction r;
    reduce_shape_init(&r.shape, in, nothing ? 0 : wick_reduced_dims(dims, in->ndim), out, NULL, WICK_REDUCE_ANY_ORDER);
    r.fold = op->fold[acc];
    r.map = op->map ? op->map[acc] : NULL;
    r.finish = op->finish ? op->finish[acc] : NULL;
    r.load = op->truth ? acc_truth_loader(wick_tensor_dtype(in)) : acc_loader(acc, wick_tensor_dtype(in));
    r.store = acc_store(acc, wick_tensor_dtype(out));
    bool complex_in = wick_dtype_is_complex(wick_tensor_dtype(in)), complex_acc = acc >= ACC_C64;
    if (!r.fold || !r.load || !r.store || (complex_in && !complex_acc && !op->modulus && !op->truth) ||
        (op->finish && !r.finish))
        return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "this reduction has no kernel for these dtypes");
    r.direct = !op->truth && !r.map && acc_is_native(acc, wick_tensor_dtype(in));
    r.map_param = ord;
    r.finish_param = op->param == PARAM_ORD ? ord : (double)r.shape.reduced_count;
    r.acc_size = acc_bytes[acc];
    r.in_size = (uint8_t)wick_dtype_bytes(wick_tensor_dtype(in));
    r.out_size = (uint8_t)wick_dtype_bytes(wick_tensor_dtype(out));
    r.in = wick_data(in), r.out = wick_data(out);
    return reduce_run(call, &r);
}

static wick_status *fold_call(const wick_kernel_call *call) { return run_fold(call, call->data, 0); }

static const fold_op op_sum = {.fold = fold_sum, .dims_arg = 1};
static const fold_op op_nansum = {.fold = fold_sum, .map = map_nan_to_zero, .dims_arg = 1};
static const fold_op op_prod = {.fold = fold_prod, .dims_arg = 1};
static const fold_op op_mean = {.fold = fold_sum, .finish = finish_mean, .param = PARAM_COUNT, .dims_arg = 1};
static const fold_op op_amax = {.fold = fold_max, .dims_arg = 1};
static const fold_op op_amin = {.fold = fold_min, .dims_arg = 1};
static const fold_op op_any = {.fold = fold_max, .finish = finish_any, .truth = 1, .dims_arg = 1, .empty_is_none = 1};
static const fold_op op_all = {.fold = fold_min, .finish = finish_all, .truth = 1, .dims_arg = 1, .empty_is_none = 1};
static const fold_op op_count = {.fold = fold_sum, .truth = 1, .dims_arg = 1};

/* Without a dims argument everything is reduced: argument 0 is a tensor and names no dimensions. */
static const fold_op op_prod_all = {.fold = fold_prod}, op_max_all = {.fold = fold_max},
                     op_min_all = {.fold = fold_min};

/* ---- aminmax: two folds ---- */
static wick_status *aminmax_call(const wick_kernel_call *call) {
    static const fold_op lowest = {.fold = fold_min, .dims_arg = 1};
    static const fold_op highest = {.fold = fold_max, .dims_arg = 1, .output = 1};
    WICK_TRY(run_fold(call, &lowest, 0));
    return run_fold(call, &highest, 0);
}

/* ---- linalg_vector_norm(self, ord, dim, keepdim, dtype) ---- */
/* The sum of x != 0, stored as a real number: the fold is over integers. */
static const fold_op norm_zero = {.fold = fold_sum, .truth = 1, .dims_arg = 2};
static const fold_op norm_one = {.fold = fold_sum, .map = map_abs, .modulus = 1, .dims_arg = 2};
static const fold_op norm_two = {
    .fold = fold_sum, .map = map_square, .finish = finish_sqrt, .modulus = 1, .dims_arg = 2};
static const fold_op norm_any = {
    .fold = fold_sum, .map = map_abs_pow, .finish = finish_root, .param = PARAM_ORD, .modulus = 1, .dims_arg = 2};
static const fold_op norm_highest = {.fold = fold_max, .map = map_abs, .modulus = 1, .dims_arg = 2};
static const fold_op norm_lowest = {.fold = fold_min, .map = map_abs, .modulus = 1, .dims_arg = 2};

static wick_status *vector_norm_call(const wick_kernel_call *call) {
    double ord = wick_value_as_double(&call->values[1]);
    const fold_op *op = ord == 0           ? &norm_zero
                        : ord == 1         ? &norm_one
                        : ord == 2         ? &norm_two
                        : ord == INFINITY  ? &norm_highest
                        : ord == -INFINITY ? &norm_lowest
                                           : &norm_any;
    return run_fold(call, op, ord);
}

static const wick_kernel_row rows[] = {
    CPU_ROW("sum.dim_IntList", fold_call, &op_sum, 0, WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_FUSED_CAST),
    CPU_ROW("nansum", fold_call, &op_nansum, 0, WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_FUSED_CAST),
    CPU_ROW("prod.dim_int", fold_call, &op_prod, 0, WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_FUSED_CAST),
    CPU_ROW("mean.dim", fold_call, &op_mean, 0, WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_FUSED_CAST),
    CPU_ROW("amax", fold_call, &op_amax, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("amin", fold_call, &op_amin, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("aminmax", aminmax_call, NULL, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("any.dims", fold_call, &op_any, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("all.dims", fold_call, &op_all, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("prod", fold_call, &op_prod_all, 0, WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_FUSED_CAST),
    CPU_ROW("max", fold_call, &op_max_all, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("min", fold_call, &op_min_all, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("count_nonzero", fold_call, &op_count, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("count_nonzero.dim_IntList", fold_call, &op_count, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("linalg_vector_norm", vector_norm_call, NULL, 0, WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_FUSED_CAST),
};
const cpu_kernel_table CPU_NAME(reduction_table) = CPU_TABLE(rows);
