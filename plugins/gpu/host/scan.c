/* Scans along one dimension, and vectors that are series of numbers. */
#include "../device/args_scan.h"

#include <math.h>

#include "element.h"

#include <wick/sdk/shape.h>

#define THREADS 256
#define FLAGS (WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_CAPTURE_SAFE)
#define CAST_FLAGS (FLAGS | WICK_KERNEL_FUSED_CAST)

typedef struct scan_op {
    uint8_t scan;
    bool places; /* results: values and indices */
} scan_op;
static const scan_op op_sum = {GPU_SCAN_SUM, false}, op_prod = {GPU_SCAN_PROD, false}, op_log = {GPU_SCAN_LOG, false};
static const scan_op op_max = {GPU_SCAN_MAX, true}, op_min = {GPU_SCAN_MIN, true};

static wick_status *launch_scan(const wick_kernel_call *call, const gpu_scan_args *a, bool whole) {
    const gpu_device *d = gpu_device_of(call);
    if (a->inner > 1) {
        unsigned blocks = gpu_blocks(d, a->rows * a->inner, THREADS, 1, 64);
        return gpu_launch(call, whole ? GPU_scan_columns_i64 : GPU_scan_columns_f64, blocks, THREADS, 0, a);
    }
    unsigned threads = a->n <= 64 ? 64 : a->n <= 128 ? 128 : THREADS;
    return gpu_launch(call, whole ? GPU_scan_rows_i64 : GPU_scan_rows_f64, gpu_blocks(d, a->rows, 1, 1, 64), threads, 0,
                      a);
}

/* (self, dim, dtype) */
static wick_status *scan(const wick_kernel_call *call) {
    const scan_op *op = call->data;
    const wick_tensor *x = wick_arg_tensor(call, 0), *y = wick_out_tensor(call, 0);
    const wick_tensor *places = op->places ? wick_out_tensor(call, 1) : NULL;
    const wick_dtype from = (wick_dtype)x->dtype, to = (wick_dtype)y->dtype;
    if (!gpu_has_dtype(from) || !gpu_has_dtype(to)) return gpu_refuse(call, gpu_has_dtype(from) ? to : from);
    if (!x->numel) return NULL;
    const wick_fold fold = wick_fold_at(x, wick_dim_of(&call->values[1], x->ndim));
    gpu_scan_args a = {.out = gpu_data(y),
                       .places = places ? gpu_data(places) : NULL,
                       .in = gpu_data(x),
                       .in_dtype = (int32_t)from,
                       .out_dtype = (int32_t)to,
                       .in_bytes = (int32_t)wick_dtype_bytes(from),
                       .out_bytes = (int32_t)wick_dtype_bytes(to),
                       .scan = op->scan,
                       .rows = fold.outer,
                       .n = fold.n,
                       .inner = fold.inner};
    return launch_scan(call, &a, !gpu_is_real(to));
}

/* ---- series ---- */
static wick_status *launch_series(const wick_kernel_call *call, gpu_kernel kernel, gpu_series_args *a) {
    const wick_tensor *out = wick_out_tensor(call, 0);
    if (!out->numel) return NULL;
    return gpu_launch(call, kernel, gpu_blocks(gpu_device_of(call), a->n, THREADS, 4, 32), THREADS, 0, a);
}

static wick_status *prepare_series(const wick_kernel_call *call, gpu_series_args *a) {
    const wick_tensor *out = wick_out_tensor(call, 0);
    const wick_dtype dtype = (wick_dtype)out->dtype;
    if (!gpu_has_dtype(dtype)) return gpu_refuse(call, dtype);
    a->out = gpu_data(out), a->n = out->numel;
    a->dtype = (int32_t)dtype, a->bytes = (int32_t)wick_dtype_bytes(dtype);
    return NULL;
}

/* (start, end, step) */
static wick_status *arange(const wick_kernel_call *call) {
    const wick_value *start = &call->values[0], *step = &call->values[2];
    gpu_series_args a = {.series = GPU_SERIES_ARANGE,
                         .start = wick_value_as_double(start),
                         .step = wick_value_as_double(step),
                         .int_start = wick_value_as_int(start),
                         .int_step = wick_value_as_int(step)};
    WICK_TRY(prepare_series(call, &a));
    bool whole = wick_dtype_is_integral((wick_dtype)a.dtype);
    return launch_series(call, whole ? GPU_series_i64 : GPU_series_f64, &a);
}

/* (start, end, steps) */
static wick_status *space(const wick_kernel_call *call, gpu_series_args *a) {
    WICK_TRY(prepare_series(call, a));
    a->start = wick_value_as_double(&call->values[0]), a->end = wick_value_as_double(&call->values[1]);
    if (wick_dtype_is_integral((wick_dtype)a->dtype)) a->start = trunc(a->start), a->end = trunc(a->end);
    a->step = a->n > 1 ? (a->end - a->start) / (double)(a->n - 1) : 0;
    return launch_series(call, GPU_series_f64, a);
}
static wick_status *linspace(const wick_kernel_call *call) {
    gpu_series_args a = {.series = GPU_SERIES_LINSPACE};
    return space(call, &a);
}
static wick_status *logspace(const wick_kernel_call *call) {
    gpu_series_args a = {.series = GPU_SERIES_LOGSPACE, .base = wick_value_as_double(&call->values[3])};
    return space(call, &a);
}

#define ROW(schema, fn, data, flags) WICK_KERNEL_ROW_WITH(schema, fn, data, 0, flags)
static const wick_kernel_row rows[] = {
    ROW("cumsum", scan, &op_sum, CAST_FLAGS),  ROW("cumprod", scan, &op_prod, CAST_FLAGS),
    ROW("cummax", scan, &op_max, FLAGS),       ROW("cummin", scan, &op_min, FLAGS),
    ROW("logcumsumexp", scan, &op_log, FLAGS), ROW("arange.start_step", arange, NULL, FLAGS),
    ROW("linspace", linspace, NULL, FLAGS),    ROW("logspace", logspace, NULL, FLAGS),
};
const gpu_table gpu_scan_table = GPU_TABLE(rows);
