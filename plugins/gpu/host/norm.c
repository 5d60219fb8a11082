/* Layer, group and root-mean-square normalization. */
#include "../device/args_norm.h"
#include "element.h"

#include <wick/sdk/element.h>

#define MOST_THREADS 1024
#define BACKWARD_THREADS 512 /* of norm_backward_S */
#define COLUMNS 32           /* of a block of norm_weight_parts_C and norm_weights_finish_C */
#define ROW_PACKS 4
#define BACKWARD_PACKS 2
#define MOST_PARTS 1024
#define FLAGS (WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_CAPTURE_SAFE)

typedef struct norm_kernels {
    gpu_kernel rows, walk, rows_backward, walk_backward;
} norm_kernels;
#define KERNELS(name) \
    { GPU_norm_##name, GPU_norm_walk_##name, GPU_norm_backward_##name, GPU_norm_walk_backward_##name }
static const norm_kernels kernels_f32 = KERNELS(f32), kernels_f16 = KERNELS(f16), kernels_bf16 = KERNELS(bf16),
                          kernels_f64 = KERNELS(f64);

static const norm_kernels *kernels_of(wick_dtype d) {
    return d == WICK_F64 ? &kernels_f64 : d == WICK_F16 ? &kernels_f16 : d == WICK_BF16 ? &kernels_bf16 : &kernels_f32;
}

/* ---- operands ---- */
static wick_status *check_dtypes(const wick_kernel_call *call, const wick_tensor *const *tensors, int n) {
    for (int i = 0; i < n; ++i)
        if (tensors[i] && !gpu_is_real((wick_dtype)tensors[i]->dtype))
            return gpu_refuse(call, (wick_dtype)tensors[i]->dtype);
    return NULL;
}

static void *data_or_null(const wick_tensor *t) { return t && t->numel ? gpu_data(t) : NULL; }

static void set_weights(gpu_norm_args *a, const wick_tensor *weight, const wick_tensor *bias) {
    a->weight = data_or_null(weight), a->weight_dtype = weight ? weight->dtype : 0;
    a->bias = data_or_null(bias), a->bias_dtype = bias ? bias->dtype : 0;
}

static void set_statistics(gpu_norm_args *a, const wick_tensor *mean, const wick_tensor *rstd) {
    a->mean = mean ? gpu_data(mean) : NULL;
    a->rstd = gpu_data(rstd), a->statistic_dtype = rstd->dtype;
}

static void set_gradients(gpu_norm_args *a, const wick_tensor *weight, const wick_tensor *bias) {
    a->grads[0] = data_or_null(weight), a->grads[1] = data_or_null(bias);
    a->grad_dtype = weight ? weight->dtype : bias ? bias->dtype : 0;
}

static void set_layer(gpu_norm_args *a, const wick_tensor *x, const wick_value *shape) {
    a->x = gpu_data(x), a->dtype = x->dtype;
    a->n = wick_dim_product(shape->as.ints, (int)shape->count);
    a->rows = a->n ? x->numel / a->n : 0;
}

/* Sizes N, C, HxW, group from at[0] on. */
static void set_groups(gpu_norm_args *a, const wick_tensor *x, const wick_value *at) {
    a->x = gpu_data(x), a->dtype = x->dtype;
    a->groups = at[3].as.i, a->group_channels = at[1].as.i / a->groups, a->pixels = at[2].as.i;
    a->rows = at[0].as.i * a->groups, a->n = a->group_channels * a->pixels;
}

/* ---- launches ---- */
/* Threads of a row that hold it in registers; 0: it does not fit or is no whole accesses. */
static int32_t register_team(const gpu_norm_args *a, int packs, int64_t threads) {
    const int64_t access = 16 / (int64_t)wick_dtype_bytes((wick_dtype)a->dtype);
    uintptr_t addresses =
        (uintptr_t)a->x | (uintptr_t)a->g | (uintptr_t)a->y | (uintptr_t)a->weight | (uintptr_t)a->bias;
    if (a->pixels || addresses % 16 || a->n % access || a->n / access > packs * threads) return 0;
    int32_t team = 1;
    while (team * (team < 32 ? 1 : packs) < a->n / access) team *= 2;
    return team;
}

/* norm_S reads weight and bias of one dtype: that of the rows, or float. */
static bool weights_fit(const gpu_norm_args *a) {
    const int32_t dtype = a->weight ? a->weight_dtype : a->bias ? a->bias_dtype : a->dtype;
    return (dtype == a->dtype || dtype == WICK_F32) && (!a->bias || a->bias_dtype == dtype);
}

static int32_t walking_team(const gpu_norm_args *a) { return a->n > 16384 ? MOST_THREADS : a->n > 1024 ? 256 : 32; }

/* As many blocks as `threads_at_once` of a multiprocessor make. A team larger than 32 is a block. */
static wick_status *launch_rows(const wick_kernel_call *call, gpu_kernel kernel, const gpu_norm_args *a,
                                unsigned threads_at_once) {
    const unsigned threads = a->team > 32 ? (unsigned)a->team : 128;
    const unsigned blocks = gpu_blocks(gpu_device_of(call), a->rows * a->team, threads, 1, threads_at_once / threads);
    return gpu_launch(call, kernel, blocks, threads, 0, a);
}

static wick_status *forward(const wick_kernel_call *call, gpu_norm_args *a) {
    const norm_kernels *kernels = kernels_of((wick_dtype)a->dtype);
    if (!a->rows) return NULL;
    a->team = weights_fit(a) ? register_team(a, ROW_PACKS, MOST_THREADS) : 0;
    if (a->team) return launch_rows(call, kernels->rows, a, 8192); /* several times what fits, but not a block a row */
    a->team = walking_team(a);
    return launch_rows(call, kernels->walk, a, 65536);
}

static wick_status *make_parts(const wick_kernel_call *call, gpu_norm_args *a) {
    const int64_t bytes = a->dtype == WICK_F64 ? 8 : 4;
    return gpu_scratch(call, a->parts * 2 * a->n * bytes, &a->partial);
}

static wick_status *finish_weights(const wick_kernel_call *call, const gpu_norm_args *a) {
    gpu_kernel finish = a->dtype == WICK_F64 ? GPU_norm_weights_finish_f64 : GPU_norm_weights_finish_f32;
    return gpu_launch(call, finish, (unsigned)((a->n + COLUMNS - 1) / COLUMNS), 256, 0, a);
}

/* One pass over memory: every team adds up what its rows give to the weights. */
static wick_status *backward_in_registers(const wick_kernel_call *call, gpu_norm_args *a) {
    const unsigned threads = a->team > 32 ? (unsigned)a->team : 128, teams = threads / (unsigned)a->team;
    const bool weights = a->grads[0] || a->grads[1];
    const gpu_device *d = gpu_device_of(call);
    int64_t most = weights ? MOST_PARTS / teams : 64 * (int64_t)d->multiprocessors;
    unsigned blocks = gpu_blocks(d, a->rows * a->team, threads, weights ? 2 : 1, 1024 / threads);
    if (blocks > most) blocks = most < 1 ? 1 : (unsigned)most;
    a->parts = blocks * teams;
    if (weights) WICK_TRY(make_parts(call, a));
    WICK_TRY(gpu_launch(call, kernels_of((wick_dtype)a->dtype)->rows_backward, blocks, threads, 0, a));
    return weights ? finish_weights(call, a) : NULL;
}

static wick_status *layer_weights(const wick_kernel_call *call, gpu_norm_args *a) {
    gpu_kernel kernel = a->dtype == WICK_F64 ? GPU_norm_weight_parts_f64 : GPU_norm_weight_parts_f32;
    const int64_t across = (a->n + COLUMNS - 1) / COLUMNS, blocks = (int64_t)gpu_device_of(call)->multiprocessors * 8;
    int64_t parts = blocks / across < a->rows / 64 ? blocks / across : a->rows / 64;
    a->parts = parts < 1 ? 1 : parts > MOST_PARTS ? MOST_PARTS : (uint32_t)parts;
    WICK_TRY(make_parts(call, a));
    WICK_TRY(gpu_launch(call, kernel, (unsigned)(across * a->parts), 256, 0, a));
    return finish_weights(call, a);
}

static wick_status *group_weights(const wick_kernel_call *call, const gpu_norm_args *a) {
    gpu_kernel kernel = a->dtype == WICK_F64 ? GPU_norm_group_weights_f64 : GPU_norm_group_weights_f32;
    unsigned blocks = gpu_blocks(gpu_device_of(call), a->groups * a->group_channels, 1, 1, 64);
    return gpu_launch(call, kernel, blocks, 256, 0, a);
}

static wick_status *walk_backward(const wick_kernel_call *call, gpu_norm_args *a) {
    a->team = walking_team(a);
    if (a->y && a->rows && a->n) WICK_TRY(launch_rows(call, kernels_of((wick_dtype)a->dtype)->walk_backward, a, 65536));
    if (!a->grads[0] && !a->grads[1]) return NULL;
    return a->pixels || a->groups ? group_weights(call, a) : layer_weights(call, a);
}

static wick_status *backward(const wick_kernel_call *call, gpu_norm_args *a) {
    a->team = register_team(a, BACKWARD_PACKS, BACKWARD_THREADS);
    if (a->team && a->team < 32) a->team = 32; /* every team has a part of its own */
    return a->team && a->rows && a->n ? backward_in_registers(call, a) : walk_backward(call, a);
}

/* ---- calls ---- */
/* (input, normalized_shape, weight, bias, eps) */
static wick_status *layer_norm(const wick_kernel_call *call) {
    const wick_tensor *x = wick_arg_tensor(call, 0), *w = wick_arg_tensor(call, 2), *b = wick_arg_tensor(call, 3);
    gpu_norm_args a = {.y = gpu_data(wick_out_tensor(call, 0)), .eps = wick_value_as_double(&call->values[4])};
    WICK_TRY(check_dtypes(call, (const wick_tensor *[]){x, w, b}, 3));
    set_layer(&a, x, &call->values[1]);
    set_weights(&a, w, b);
    set_statistics(&a, wick_out_tensor(call, 1), wick_out_tensor(call, 2));
    return forward(call, &a);
}

/* (grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask) */
static wick_status *layer_norm_backward(const wick_kernel_call *call) {
    const wick_tensor *g = wick_arg_tensor(call, 0), *x = wick_arg_tensor(call, 1), *w = wick_arg_tensor(call, 5);
    gpu_norm_args a = {.g = gpu_data(g), .y = data_or_null(wick_out_tensor(call, 0))};
    WICK_TRY(check_dtypes(call, (const wick_tensor *[]){g, x, w}, 3));
    set_layer(&a, x, &call->values[2]);
    set_weights(&a, w, NULL);
    set_statistics(&a, wick_arg_tensor(call, 3), wick_arg_tensor(call, 4));
    set_gradients(&a, wick_out_tensor(call, 1), wick_out_tensor(call, 2));
    return backward(call, &a);
}

/* (input, weight, bias, N, C, HxW, group, eps) */
static wick_status *group_norm(const wick_kernel_call *call) {
    const wick_tensor *x = wick_arg_tensor(call, 0), *w = wick_arg_tensor(call, 1), *b = wick_arg_tensor(call, 2);
    gpu_norm_args a = {.y = gpu_data(wick_out_tensor(call, 0)), .eps = wick_value_as_double(&call->values[7])};
    WICK_TRY(check_dtypes(call, (const wick_tensor *[]){x, w, b}, 3));
    set_groups(&a, x, &call->values[3]);
    set_weights(&a, w, b);
    set_statistics(&a, wick_out_tensor(call, 1), wick_out_tensor(call, 2));
    return forward(call, &a);
}

/* (grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask) */
static wick_status *group_norm_backward(const wick_kernel_call *call) {
    const wick_tensor *g = wick_arg_tensor(call, 0), *x = wick_arg_tensor(call, 1), *w = wick_arg_tensor(call, 4);
    gpu_norm_args a = {.g = gpu_data(g), .y = data_or_null(wick_out_tensor(call, 0))};
    WICK_TRY(check_dtypes(call, (const wick_tensor *[]){g, x, w}, 3));
    set_groups(&a, x, &call->values[5]);
    set_weights(&a, w, NULL);
    set_statistics(&a, wick_arg_tensor(call, 2), wick_arg_tensor(call, 3));
    set_gradients(&a, wick_out_tensor(call, 1), wick_out_tensor(call, 2));
    return backward(call, &a);
}

/* ---- root-mean-square norm ---- */
/* (input, normalized_shape, weight, eps) */
static wick_status *rms_norm(const wick_kernel_call *call) {
    const wick_tensor *x = wick_arg_tensor(call, 0), *w = wick_arg_tensor(call, 2);
    const wick_value *eps = &call->values[3];
    gpu_norm_args a = {.y = gpu_data(wick_out_tensor(call, 0))};
    WICK_TRY(check_dtypes(call, (const wick_tensor *[]){x, w}, 2));
    a.eps = wick_value_is_none(eps) ? wick_element_epsilon(x->dtype) : wick_value_as_double(eps);
    set_layer(&a, x, &call->values[1]);
    set_weights(&a, w, NULL);
    set_statistics(&a, NULL, wick_out_tensor(call, 1));
    return forward(call, &a);
}

/* (grad_out, input, normalized_shape, rstd, weight, output_mask) */
static wick_status *rms_norm_backward(const wick_kernel_call *call) {
    const wick_tensor *g = wick_arg_tensor(call, 0), *x = wick_arg_tensor(call, 1), *w = wick_arg_tensor(call, 4);
    gpu_norm_args a = {.g = gpu_data(g), .y = data_or_null(wick_out_tensor(call, 0))};
    WICK_TRY(check_dtypes(call, (const wick_tensor *[]){g, x, w}, 3));
    set_layer(&a, x, &call->values[2]);
    set_weights(&a, w, NULL);
    set_statistics(&a, NULL, wick_arg_tensor(call, 3));
    set_gradients(&a, wick_out_tensor(call, 1), NULL);
    return backward(call, &a);
}

static const wick_kernel_row rows[] = {
    WICK_KERNEL_ROW("native_layer_norm", layer_norm, 0, FLAGS),
    WICK_KERNEL_ROW("native_layer_norm_backward", layer_norm_backward, 0, FLAGS),
    WICK_KERNEL_ROW("native_group_norm", group_norm, 0, FLAGS),
    WICK_KERNEL_ROW("native_group_norm_backward", group_norm_backward, 0, FLAGS),
    WICK_KERNEL_ROW("_fused_rms_norm", rms_norm, 0, FLAGS),
    WICK_KERNEL_ROW("_fused_rms_norm_backward", rms_norm_backward, 0, FLAGS),
};
const gpu_table gpu_norm_table = GPU_TABLE(rows);
