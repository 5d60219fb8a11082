/* Rows of reductions: sums, products, extrema and their places, truth, counts, norms, moments. */
#include <math.h>

#include "reduce.h"

#define FLAGS (WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_CAPTURE_SAFE)
#define CAST_FLAGS (FLAGS | WICK_KERNEL_FUSED_CAST)

#define KERNELS(name, finish, access, bytes) \
    { GPU_reduce_##name##_rows, GPU_reduce_##name##_columns, GPU_reduce_##finish, access, bytes }

/* ---- folds ---- */
typedef enum acc_kind { ACC_F32, ACC_F64, ACC_I64, ACC_COUNT } acc_kind;

static acc_kind acc_of(wick_dtype d) { return !gpu_is_real(d) ? ACC_I64 : d == WICK_F64 ? ACC_F64 : ACC_F32; }

static const gpu_reduce_kernels fold_any[ACC_COUNT] = {
    [ACC_F32] = KERNELS(any_f32, finish_f32, 1, 4),
    [ACC_F64] = KERNELS(any_f64, finish_f64, 1, 8),
    [ACC_I64] = KERNELS(any_i64, finish_i64, 1, 8),
};

/* Those of one fold and dtype; what is not listed goes through fold_any. */
typedef struct fold_entry {
    int fold;
    wick_dtype dtype;
    gpu_reduce_kernels kernels;
} fold_entry;
static const fold_entry fold_entries[] = {
    {GPU_FOLD_SUM, WICK_F32, KERNELS(sum_f32, finish_f32, 4, 4)},
    {GPU_FOLD_SUM, WICK_F16, KERNELS(sum_f16, finish_f32, 8, 4)},
    {GPU_FOLD_SUM, WICK_BF16, KERNELS(sum_bf16, finish_f32, 8, 4)},
    {GPU_FOLD_SUM, WICK_F64, KERNELS(sum_f64, finish_f64, 2, 8)},
    {GPU_FOLD_SUM, WICK_I32, KERNELS(sum_i32, finish_i64, 4, 8)},
    {GPU_FOLD_SUM, WICK_I64, KERNELS(sum_i64, finish_i64, 2, 8)},
    {GPU_FOLD_MAX, WICK_F32, KERNELS(max_f32, finish_f32, 4, 4)},
    {GPU_FOLD_MAX, WICK_F16, KERNELS(max_f16, finish_f32, 8, 4)},
    {GPU_FOLD_MAX, WICK_BF16, KERNELS(max_bf16, finish_f32, 8, 4)},
    {GPU_FOLD_MIN, WICK_F32, KERNELS(min_f32, finish_f32, 4, 4)},
    {GPU_FOLD_MIN, WICK_F16, KERNELS(min_f16, finish_f32, 8, 4)},
    {GPU_FOLD_MIN, WICK_BF16, KERNELS(min_bf16, finish_f32, 8, 4)},
};

static const gpu_reduce_kernels *fold_kernels(int fold, int map, wick_dtype dtype, acc_kind acc) {
    for (size_t i = 0; map == GPU_MAP_NONE && i < sizeof fold_entries / sizeof *fold_entries; ++i)
        if (fold_entries[i].fold == fold && fold_entries[i].dtype == dtype && acc_of(dtype) == acc)
            return &fold_entries[i].kernels;
    return &fold_any[acc];
}

enum { ALL_DIMS = 0xff };
typedef struct fold_op {
    uint8_t fold, map, finish;
    uint8_t dims_arg; /* ALL_DIMS: everything is reduced */
    uint8_t output;
    uint8_t empty_is_none; /* an empty list of dims reduces nothing */
} fold_op;

/* The least and the greatest of no truth values are no truth values: none is true, all are. */
static uint8_t fold_of(const fold_op *op, int64_t count) {
    if (count || op->map != GPU_MAP_TRUTH) return op->fold;
    return op->fold == GPU_FOLD_MAX ? GPU_FOLD_SUM : op->fold == GPU_FOLD_MIN ? GPU_FOLD_PROD : op->fold;
}

static wick_status *run_fold(const wick_kernel_call *call, const fold_op *op, double param) {
    const wick_tensor *in = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, op->output);
    const wick_value *dims = op->dims_arg == ALL_DIMS ? NULL : &call->values[op->dims_arg];
    const bool nothing = op->empty_is_none && dims->tag == WICK_TAG_I64_LIST && !dims->count;
    const wick_dtype from = (wick_dtype)in->dtype, to = (wick_dtype)out->dtype;
    if (!gpu_has_dtype(from) || !gpu_has_dtype(to)) return gpu_refuse(call, gpu_has_dtype(from) ? to : from);
    gpu_reduction r = {.args = {.fold = op->fold, .map = op->map, .finish = op->finish, .param = param}};
    r.kernels = fold_kernels(op->fold, op->map, from, op->map == GPU_MAP_TRUTH ? ACC_I64 : acc_of(to));
    uint64_t mask = !dims ? ~UINT64_C(0) : nothing ? 0 : wick_reduced_dims(dims, in->ndim);
    WICK_TRY(gpu_reduce_shape(call, &r, in, mask, out, NULL, false));
    r.args.fold = fold_of(op, r.args.count);
    if (op->finish == GPU_FINISH_DIVIDE) r.args.param = (double)r.args.count;
    return gpu_reduce_run(call, &r);
}

static wick_status *fold_call(const wick_kernel_call *call) { return run_fold(call, call->data, 0); }

static const fold_op op_sum = {.fold = GPU_FOLD_SUM, .dims_arg = 1};
static const fold_op op_nansum = {.fold = GPU_FOLD_SUM, .map = GPU_MAP_NAN_TO_ZERO, .dims_arg = 1};
static const fold_op op_prod = {.fold = GPU_FOLD_PROD, .dims_arg = 1};
static const fold_op op_mean = {.fold = GPU_FOLD_SUM, .finish = GPU_FINISH_DIVIDE, .dims_arg = 1};
static const fold_op op_amax = {.fold = GPU_FOLD_MAX, .dims_arg = 1};
static const fold_op op_amin = {.fold = GPU_FOLD_MIN, .dims_arg = 1};
static const fold_op op_any = {.fold = GPU_FOLD_MAX, .map = GPU_MAP_TRUTH, .dims_arg = 1, .empty_is_none = 1};
static const fold_op op_all = {.fold = GPU_FOLD_MIN, .map = GPU_MAP_TRUTH, .dims_arg = 1, .empty_is_none = 1};
static const fold_op op_count = {.fold = GPU_FOLD_SUM, .map = GPU_MAP_TRUTH, .dims_arg = 1};
static const fold_op op_prod_all = {.fold = GPU_FOLD_PROD, .dims_arg = ALL_DIMS};
static const fold_op op_max_all = {.fold = GPU_FOLD_MAX, .dims_arg = ALL_DIMS};
static const fold_op op_min_all = {.fold = GPU_FOLD_MIN, .dims_arg = ALL_DIMS};

static wick_status *aminmax_call(const wick_kernel_call *call) {
    static const fold_op highest = {.fold = GPU_FOLD_MAX, .dims_arg = 1, .output = 1};
    WICK_TRY(run_fold(call, &op_amin, 0));
    return run_fold(call, &highest, 0);
}

/* linalg_vector_norm(self, ord, dim, keepdim, dtype) */
static const fold_op norm_zero = {.fold = GPU_FOLD_SUM, .map = GPU_MAP_TRUTH, .dims_arg = 2};
static const fold_op norm_one = {.fold = GPU_FOLD_SUM, .map = GPU_MAP_ABS, .dims_arg = 2};
static const fold_op norm_two = {.fold = GPU_FOLD_SUM, .map = GPU_MAP_SQUARE, .finish = GPU_FINISH_SQRT, .dims_arg = 2};
static const fold_op norm_other = {
    .fold = GPU_FOLD_SUM, .map = GPU_MAP_ABS_POW, .finish = GPU_FINISH_ROOT, .dims_arg = 2};
static const fold_op norm_highest = {.fold = GPU_FOLD_MAX, .map = GPU_MAP_ABS, .dims_arg = 2};
static const fold_op norm_lowest = {.fold = GPU_FOLD_MIN, .map = GPU_MAP_ABS, .dims_arg = 2};

static wick_status *vector_norm_call(const wick_kernel_call *call) {
    double ord = wick_value_as_double(&call->values[1]);
    const fold_op *op = ord == 0           ? &norm_zero
                        : ord == 1         ? &norm_one
                        : ord == 2         ? &norm_two
                        : ord == INFINITY  ? &norm_highest
                        : ord == -INFINITY ? &norm_lowest
                                           : &norm_other;
    return run_fold(call, op, ord);
}

/* ---- places ---- */
static const gpu_reduce_kernels place_f32 = KERNELS(place_f32, place_finish_f32, 4, 16),
                                place_f16 = KERNELS(place_f16, place_finish_f32, 8, 16),
                                place_bf16 = KERNELS(place_bf16, place_finish_f32, 8, 16),
                                place_f64 = KERNELS(place_any_f64, place_finish_f64, 1, 16),
                                place_i64 = KERNELS(place_any_i64, place_finish_i64, 1, 16);

static const gpu_reduce_kernels *place_kernels(wick_dtype d) {
    switch (d) {
    case WICK_F32: return &place_f32;
    case WICK_F16: return &place_f16;
    case WICK_BF16: return &place_bf16;
    case WICK_F64: return &place_f64;
    default: return &place_i64;
    }
}

typedef struct place_op {
    uint8_t fold;
    bool values; /* results: values and indices, else indices */
} place_op;
static const place_op op_argmax = {GPU_FOLD_MAX, false}, op_argmin = {GPU_FOLD_MIN, false};
static const place_op op_max = {GPU_FOLD_MAX, true}, op_min = {GPU_FOLD_MIN, true};

/* (self, dim, keepdim) */
static wick_status *place_call(const wick_kernel_call *call) {
    const place_op *op = call->data;
    const wick_tensor *in = wick_arg_tensor(call, 0), *places = wick_out_tensor(call, op->values ? 1 : 0);
    const wick_tensor *values = op->values ? wick_out_tensor(call, 0) : NULL;
    if (!gpu_has_dtype((wick_dtype)in->dtype)) return gpu_refuse(call, (wick_dtype)in->dtype);
    gpu_reduction r = {.args = {.fold = op->fold}, .kernels = place_kernels((wick_dtype)in->dtype)};
    WICK_TRY(gpu_reduce_shape(call, &r, in, wick_reduced_dims(&call->values[1], in->ndim), places, values, true));
    return gpu_reduce_run(call, &r);
}

/* ---- moments ---- */
const gpu_reduce_kernels *gpu_moment_kernels(wick_dtype d) {
    static const gpu_reduce_kernels f32 = KERNELS(moments_f32, moments_finish_f32, 4, 12),
                                    f16 = KERNELS(moments_f16, moments_finish_f32, 8, 12),
                                    bf16 = KERNELS(moments_bf16, moments_finish_f32, 8, 12),
                                    f64 = KERNELS(moments_f64, moments_finish_f64, 2, 24);
    switch (d) {
    case WICK_F32: return &f32;
    case WICK_F16: return &f16;
    case WICK_BF16: return &bf16;
    case WICK_F64: return &f64;
    default: return NULL;
    }
}

typedef struct moment_op {
    uint8_t finish;
    bool mean;
} moment_op;
static const moment_op op_var = {GPU_FINISH_VAR, false}, op_std = {GPU_FINISH_STD, false};
static const moment_op op_var_mean = {GPU_FINISH_VAR, true}, op_std_mean = {GPU_FINISH_STD, true};

/* (self, dim, correction, keepdim) */
static wick_status *moment_call(const wick_kernel_call *call) {
    const moment_op *op = call->data;
    const wick_tensor *in = wick_arg_tensor(call, 0);
    const wick_value *correction = &call->values[2];
    gpu_reduction r = {.args = {.finish = op->finish}, .kernels = gpu_moment_kernels((wick_dtype)in->dtype)};
    if (!r.kernels) return gpu_refuse(call, (wick_dtype)in->dtype);
    r.args.param = wick_value_is_none(correction) ? 1 : wick_value_as_double(correction);
    WICK_TRY(gpu_reduce_shape(call, &r, in, wick_reduced_dims(&call->values[1], in->ndim), wick_out_tensor(call, 0),
                              op->mean ? wick_out_tensor(call, 1) : NULL, false));
    return gpu_reduce_run(call, &r);
}

/* ---- rows ---- */
#define ROW(schema, fn, data, dtypes, flags) WICK_KERNEL_ROW_WITH(schema, fn, data, dtypes, flags)
static const wick_kernel_row rows[] = {
    ROW("sum.dim_IntList", fold_call, &op_sum, GPU_REALS | GPU_WHOLES, CAST_FLAGS),
    ROW("nansum", fold_call, &op_nansum, GPU_REALS | GPU_WHOLES, CAST_FLAGS),
    ROW("prod.dim_int", fold_call, &op_prod, GPU_REALS | GPU_WHOLES, CAST_FLAGS),
    ROW("prod", fold_call, &op_prod_all, GPU_REALS | GPU_WHOLES, CAST_FLAGS),
    ROW("mean.dim", fold_call, &op_mean, GPU_REALS, CAST_FLAGS),
    ROW("amax", fold_call, &op_amax, 0, FLAGS),
    ROW("amin", fold_call, &op_amin, 0, FLAGS),
    ROW("aminmax", aminmax_call, NULL, 0, FLAGS),
    ROW("any.dims", fold_call, &op_any, 0, FLAGS),
    ROW("all.dims", fold_call, &op_all, 0, FLAGS),
    ROW("max", fold_call, &op_max_all, 0, FLAGS),
    ROW("min", fold_call, &op_min_all, 0, FLAGS),
    ROW("count_nonzero", fold_call, &op_count, 0, FLAGS),
    ROW("count_nonzero.dim_IntList", fold_call, &op_count, 0, FLAGS),
    ROW("linalg_vector_norm", vector_norm_call, NULL, GPU_REALS, CAST_FLAGS),
    ROW("argmax", place_call, &op_argmax, 0, FLAGS),
    ROW("argmin", place_call, &op_argmin, 0, FLAGS),
    ROW("max.dim", place_call, &op_max, 0, FLAGS),
    ROW("min.dim", place_call, &op_min, 0, FLAGS),
    ROW("var.correction", moment_call, &op_var, 0, FLAGS),
    ROW("std.correction", moment_call, &op_std, 0, FLAGS),
    ROW("var_mean.correction", moment_call, &op_var_mean, 0, FLAGS),
    ROW("std_mean.correction", moment_call, &op_std_mean, 0, FLAGS),
};
const gpu_table gpu_reduction_table = GPU_TABLE(rows);
