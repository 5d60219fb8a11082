/* Batch normalization: statistics or sums by channel, then one pass over the elements. */
#include "../device/args_batch_norm.h"
#include "reduce.h"

#include <wick/sdk/arguments.h>

#define THREADS 256
#define FLAGS (WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_CAPTURE_SAFE)
#define BUT_CHANNELS (~UINT64_C(2)) /* reduced: all dimensions but the second */

typedef struct batch_norm_kernels {
    gpu_reduce_kernels sums;
    gpu_kernel apply[2]; /* forward, backward */
} batch_norm_kernels;
#define KERNELS(name, finish, access, bytes)                                                                           \
    {                                                                                                                  \
        {GPU_batch_norm_sums_##name##_rows, GPU_batch_norm_sums_##name##_columns, GPU_batch_norm_sums_finish_##finish, \
         access, bytes},                                                                                               \
            {GPU_batch_norm_##name, GPU_batch_norm_backward_##name},                                                   \
    }

static const batch_norm_kernels *kernels_of(wick_dtype d) {
    static const batch_norm_kernels f32 = KERNELS(f32, f32, 4, 8), f16 = KERNELS(f16, f32, 8, 8),
                                    bf16 = KERNELS(bf16, f32, 8, 8), f64 = KERNELS(f64, f64, 2, 16);
    return d == WICK_F64 ? &f64 : d == WICK_F16 ? &f16 : d == WICK_BF16 ? &bf16 : &f32;
}

/* A vector over channels. An empty or missing one is NULL. */
typedef struct vector {
    void *data;
    int32_t dtype;
} vector;
static vector vector_of(const wick_tensor *t) {
    return t && t->numel ? (vector){gpu_data(t), t->dtype} : (vector){NULL, 0};
}

typedef struct batch_norm_job {
    const wick_kernel_call *call;
    const wick_tensor *x, *g, *y;
    vector mean, invstd, weight, bias;
    void *sums;
    bool is_variance; /* invstd is the running variance */
    double eps;
} batch_norm_job;

/* ---- element by element ---- */
static wick_status *apply(const batch_norm_job *job) {
    const wick_tensor *x = job->x;
    const int64_t access = 16 / (int64_t)wick_dtype_bytes((wick_dtype)x->dtype), channels = x->sizes[1];
    const int64_t pixels = x->numel / (x->sizes[0] * channels);
    gpu_batch_norm_args a = {.y = gpu_data(job->y),
                             .x = gpu_data(x),
                             .g = job->g ? gpu_data(job->g) : NULL,
                             .mean = job->mean.data,
                             .mean_dtype = job->mean.dtype,
                             .invstd = job->invstd.data,
                             .invstd_dtype = job->invstd.dtype,
                             .weight = job->weight.data,
                             .weight_dtype = job->weight.dtype,
                             .bias = job->bias.data,
                             .bias_dtype = job->bias.dtype,
                             .sums = job->sums,
                             .is_variance = job->is_variance,
                             .eps = job->eps,
                             .count = (double)x->sizes[0] * (double)pixels};
    a.packed = ((uintptr_t)a.x | (uintptr_t)a.y | (uintptr_t)a.g) % 16 == 0 && pixels % access == 0;
    const int64_t n = a.packed ? x->numel / access : x->numel;
    if (n > INT32_MAX)
        return WICK_HOST_ERROR(job->call->host, WICK_UNSUPPORTED, "batch_norm of %lld elements: wanted below 2^31",
                               (long long)x->numel);
    a.n = (uint32_t)n;
    a.pixels = gpu_divider_of((uint32_t)(a.packed ? pixels / access : pixels));
    a.channels = gpu_divider_of((uint32_t)channels);
    unsigned blocks = gpu_blocks(gpu_device_of(job->call), n, THREADS, 1, 64);
    return gpu_launch(job->call, kernels_of((wick_dtype)x->dtype)->apply[job->g != NULL], blocks, THREADS, 0, &a);
}

/* ---- forward ---- */
static wick_status *statistics(const batch_norm_job *job, const wick_batch_norm_call *b) {
    const wick_kernel_call *call = job->call;
    gpu_reduction r = {.args = {.finish = GPU_FINISH_BATCH, .param = b->eps, .momentum = b->momentum}};
    for (int i = 0; i < 2; ++i) {
        vector v = vector_of(i ? b->running_var : b->running_mean);
        r.args.running[i] = v.data, r.args.running_dtypes[i] = v.dtype;
    }
    r.kernels = gpu_moment_kernels((wick_dtype)job->x->dtype);
    WICK_TRY(
        gpu_reduce_shape(call, &r, job->x, BUT_CHANNELS, wick_out_tensor(call, 2), wick_out_tensor(call, 1), false));
    return gpu_reduce_run(call, &r);
}

static wick_status *check(const wick_kernel_call *call, const wick_tensor *const *tensors, int n) {
    for (int i = 0; i < n; ++i)
        if (tensors[i] && !gpu_is_real((wick_dtype)tensors[i]->dtype))
            return gpu_refuse(call, (wick_dtype)tensors[i]->dtype);
    return NULL;
}

static wick_status *forward(const wick_kernel_call *call) {
    const wick_batch_norm_call b = wick_batch_norm_read(call, call->data);
    batch_norm_job job = {.call = call,
                          .x = b.input,
                          .y = wick_out_tensor(call, 0),
                          .weight = vector_of(b.weight),
                          .bias = vector_of(b.bias),
                          .eps = b.eps};
    WICK_TRY(check(call, (const wick_tensor *[]){b.input, b.weight, b.bias}, 3));
    if (!job.x->numel) return NULL;
    if (b.training) {
        WICK_TRY(statistics(&job, &b));
        job.mean = vector_of(wick_out_tensor(call, 1)), job.invstd = vector_of(wick_out_tensor(call, 2));
    } else {
        job.mean = vector_of(b.running_mean), job.invstd = vector_of(b.running_var);
        job.is_variance = true;
    }
    return apply(&job);
}

/* ---- backward ---- */
/* `mean`, a vector over channels, lends its geometry to a gradient that is not wanted. */
static wick_status *sums(batch_norm_job *job, const wick_tensor *mean, const wick_tensor *grad_weight,
                         const wick_tensor *grad_bias) {
    const wick_kernel_call *call = job->call;
    const int64_t bytes = job->x->dtype == WICK_F64 ? 16 : 8;
    gpu_reduction r = {.kernels = &kernels_of((wick_dtype)job->x->dtype)->sums};
    WICK_TRY(gpu_scratch(call, job->x->sizes[1] * bytes, &job->sums));
    WICK_TRY(gpu_reduce_shape(call, &r, job->g, BUT_CHANNELS, grad_weight ? grad_weight : mean,
                              grad_bias ? grad_bias : mean, false));
    if (!grad_weight) r.args.out[0] = NULL;
    if (!grad_bias) r.args.out[1] = NULL;
    r.args.second = gpu_data(job->x);
    r.args.mean = job->mean.data, r.args.mean_dtype = job->mean.dtype;
    r.args.invstd = job->invstd.data, r.args.invstd_dtype = job->invstd.dtype;
    r.args.is_variance = job->is_variance, r.args.param = job->eps, r.args.sums = job->sums;
    return gpu_reduce_run(call, &r);
}

/* (grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask) */
static wick_status *backward(const wick_kernel_call *call) {
    const bool training = call->values[7].as.i != 0;
    const wick_tensor *grad_weight = wick_out_tensor(call, 1), *grad_bias = wick_out_tensor(call, 2);
    const wick_tensor *mean = wick_arg_tensor(call, training ? 5 : 3);
    batch_norm_job job = {.call = call,
                          .g = wick_arg_tensor(call, 0),
                          .x = wick_arg_tensor(call, 1),
                          .y = wick_out_tensor(call, 0),
                          .weight = vector_of(wick_arg_tensor(call, 2)),
                          .mean = vector_of(mean),
                          .invstd = vector_of(wick_arg_tensor(call, training ? 6 : 4)),
                          .is_variance = !training,
                          .eps = wick_value_as_double(&call->values[8])};
    WICK_TRY(check(call, (const wick_tensor *[]){job.g, job.x, wick_arg_tensor(call, 2)}, 3));
    if (job.g->dtype != job.x->dtype) return gpu_refuse(call, (wick_dtype)job.g->dtype);
    if (!job.x->sizes[1]) return NULL;
    if (training || grad_weight || grad_bias) WICK_TRY(sums(&job, mean, grad_weight, grad_bias));
    if (!training) job.sums = NULL;
    return job.y && job.x->numel ? apply(&job) : NULL;
}

#define FORWARD(schema, ...) \
    WICK_KERNEL_ROW_WITH(schema, forward, (&(const wick_batch_norm_form){__VA_ARGS__}), 0, FLAGS),
static const wick_kernel_row rows[] = {
    WICK_BATCH_NORMS(FORWARD) WICK_KERNEL_ROW("native_batch_norm_backward", backward, 0, FLAGS),
};
const gpu_table gpu_batch_norm_table = GPU_TABLE(rows);
