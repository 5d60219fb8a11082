/* Softmax, its logarithm, and their gradients, along one dimension. */
#include "../device/args_softmax.h"
#include "element.h"

#include <wick/sdk/shape.h>

#define MOST_THREADS 1024
#define ROW_PACKS 4  /* device/rows.h */
#define WIDE_PACKS 7 /* device/softmax.cu */
#define FLAGS (WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_CAPTURE_SAFE)

/* By direction: forward, backward. */
typedef struct softmax_kernels {
    gpu_kernel rows[2], walk[2];
    gpu_kernel wide; /* forward of longer rows in registers; GPU_KERNEL_COUNT: there is none */
} softmax_kernels;
#define KERNELS(name, wide)                                                    \
    {                                                                          \
        {GPU_softmax_##name, GPU_softmax_backward_##name},                     \
            {GPU_softmax_long_##name, GPU_softmax_long_backward_##name}, wide, \
    }
static const softmax_kernels kernels_f32 = KERNELS(f32, GPU_KERNEL_COUNT), kernels_f64 = KERNELS(f64, GPU_KERNEL_COUNT),
                             kernels_f16 = KERNELS(f16, GPU_softmax_wide_f16),
                             kernels_bf16 = KERNELS(bf16, GPU_softmax_wide_bf16);
static const gpu_kernel columns_f32[2] = {GPU_softmax_columns_f32, GPU_softmax_columns_backward_f32},
                        columns_f64[2] = {GPU_softmax_columns_f64, GPU_softmax_columns_backward_f64};

static const softmax_kernels *kernels_of(wick_dtype d) {
    return d == WICK_F64 ? &kernels_f64 : d == WICK_F16 ? &kernels_f16 : d == WICK_BF16 ? &kernels_bf16 : &kernels_f32;
}

static wick_status *run_columns(const wick_kernel_call *call, const gpu_softmax_args *a, bool backward) {
    bool wide = a->in_dtype == WICK_F64 || a->out_dtype == WICK_F64 || a->result_dtype == WICK_F64;
    unsigned blocks = gpu_blocks(gpu_device_of(call), a->rows * a->inner * 8, 256, 1, 64);
    return gpu_launch(call, (wide ? columns_f64 : columns_f32)[backward], blocks, 256, 0, a);
}

/* Accesses of a row; 0: rows are no whole ones. */
static int64_t packs_of(const gpu_softmax_args *a) {
    const int64_t access = 16 / (int64_t)wick_dtype_bytes((wick_dtype)a->in_dtype);
    bool aligned = ((uintptr_t)a->in | (uintptr_t)a->out | (uintptr_t)a->result) % 16 == 0;
    return aligned && a->n % access == 0 ? a->n / access : 0;
}

static int32_t register_team(int64_t packs) {
    int32_t team = 1;
    while (team * (team < 32 ? 2 : ROW_PACKS) < packs) team *= 2;
    return team;
}

/* Long rows are read twice. Those that are worked on at the same time should be in the cache then: a block a
 * multiprocessor where rows are large. */
static unsigned long_blocks(const gpu_device *d, const gpu_softmax_args *a, unsigned threads) {
    const int64_t bytes = a->n * (int64_t)wick_dtype_bytes((wick_dtype)a->in_dtype);
    return gpu_blocks(d, a->rows * a->team, threads, 1, bytes > 96 << 10 ? 1 : 64);
}

static wick_status *run_rows(const wick_kernel_call *call, gpu_softmax_args *a, bool backward) {
    const softmax_kernels *kernels = kernels_of((wick_dtype)a->in_dtype);
    const gpu_device *d = gpu_device_of(call);
    const int64_t packs = packs_of(a);
    if (packs && packs <= ROW_PACKS * MOST_THREADS) {
        a->team = register_team(packs);
        unsigned threads = a->team > 32 ? (unsigned)a->team : 128; /* a larger team is a block */
        unsigned blocks = gpu_blocks(d, a->rows * a->team, threads, 1, 64);
        return gpu_launch(call, kernels->rows[backward], blocks, threads, 0, a);
    }
    if (packs && packs <= WIDE_PACKS * MOST_THREADS && !backward && kernels->wide != GPU_KERNEL_COUNT)
        return gpu_launch(call, kernels->wide, gpu_blocks(d, a->rows, 1, 1, 64), MOST_THREADS, 0, a);
    a->team = a->n > 16 * 1024 ? MOST_THREADS : a->n > 1024 ? 256 : 32;
    unsigned threads = a->team > 32 ? (unsigned)a->team : 128;
    return gpu_launch(call, kernels->walk[backward], long_blocks(d, a, threads), threads, 0, a);
}

static wick_status *run(const wick_kernel_call *call, const wick_tensor *in, const wick_tensor *result, int dim_arg,
                        bool log, bool safe) {
    const wick_tensor *out = wick_out_tensor(call, 0);
    const wick_tensor *tensors[] = {in, out, result ? result : in};
    for (int i = 0; i < 3; ++i)
        if (!gpu_is_real((wick_dtype)tensors[i]->dtype)) return gpu_refuse(call, (wick_dtype)tensors[i]->dtype);
    const wick_fold fold = wick_fold_at(in, wick_dim_of(&call->values[dim_arg], in->ndim));
    gpu_softmax_args a = {.out = gpu_data(out),
                          .in = gpu_data(in),
                          .result = gpu_data(tensors[2]),
                          .in_dtype = in->dtype,
                          .result_dtype = tensors[2]->dtype,
                          .out_dtype = out->dtype,
                          .rows = fold.outer,
                          .n = fold.n,
                          .inner = fold.inner,
                          .log = log,
                          .safe = safe};
    if (!out->numel) return NULL;
    bool same = in->dtype == out->dtype && in->dtype == tensors[2]->dtype;
    return same && a.inner == 1 ? run_rows(call, &a, result != NULL) : run_columns(call, &a, result != NULL);
}

static const bool plain = false, logarithm = true;

/* (self, dim, half_to_float) */
static wick_status *softmax_call(const wick_kernel_call *call) {
    return run(call, wick_arg_tensor(call, 0), NULL, 1, *(const bool *)call->data, false);
}
/* (self, dim, dtype) */
static wick_status *safe_softmax_call(const wick_kernel_call *call) {
    return run(call, wick_arg_tensor(call, 0), NULL, 1, false, true);
}
/* (grad_output, output, dim, input_dtype) */
static wick_status *softmax_backward_call(const wick_kernel_call *call) {
    return run(call, wick_arg_tensor(call, 0), wick_arg_tensor(call, 1), 2, *(const bool *)call->data, false);
}

#define ROW(schema, fn, data, flags) WICK_KERNEL_ROW_WITH(schema, fn, data, 0, flags)
static const wick_kernel_row rows[] = {
    ROW("_softmax", softmax_call, &plain, FLAGS),
    ROW("_log_softmax", softmax_call, &logarithm, FLAGS),
    ROW("_safe_softmax", safe_softmax_call, NULL, FLAGS | WICK_KERNEL_FUSED_CAST),
    ROW("_softmax_backward_data", softmax_backward_call, &plain, FLAGS),
    ROW("_log_softmax_backward_data", softmax_backward_call, &logarithm, FLAGS),
};
const gpu_table gpu_softmax_table = GPU_TABLE(rows);
