/* Negative log likelihood for [C], [N, C] and [N, C, spatial...]; cross entropy of rows. */
#include "../device/args_loss.h"
#include "element.h"

#include <wick/sdk/arguments.h>

#define THREADS 512
#define BLOCK_TARGETS 4096 /* more than that, and there are several blocks */
#define MOST_BLOCKS 512
#define MOST_ROW_BLOCKS 4096 /* of cross entropy, whose sums one block joins */
_Static_assert((int)GPU_LOSS_NONE == WICK_LOSS_NONE && (int)GPU_LOSS_MEAN == WICK_LOSS_MEAN &&
                   (int)GPU_LOSS_SUM == WICK_LOSS_SUM,
               "device code counts reductions as the schema does");

#define FLAGS (WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_CAPTURE_SAFE)

/* `classes` is the tensor with the class dimension: self, or its gradient. */
static wick_status *prepare(const wick_kernel_call *call, gpu_nll_args *a, const wick_tensor *classes,
                            const wick_tensor *target, const wick_tensor *weight) {
    const int dim = classes->ndim > 1;
    if (!gpu_is_real((wick_dtype)classes->dtype)) return gpu_refuse(call, (wick_dtype)classes->dtype);
    if (weight && !gpu_is_real((wick_dtype)weight->dtype)) return gpu_refuse(call, (wick_dtype)weight->dtype);
    if (!gpu_has_dtype((wick_dtype)target->dtype)) return gpu_refuse(call, (wick_dtype)target->dtype);
    a->dtype = classes->dtype;
    a->classes = classes->sizes[dim];
    a->pixels = 1;
    for (int i = dim + 1; i < classes->ndim; ++i) a->pixels *= classes->sizes[i];
    a->targets = target->numel;
    a->target = gpu_data(target), a->target_dtype = target->dtype;
    a->weight = weight ? gpu_data(weight) : NULL, a->weight_dtype = weight ? weight->dtype : 0;
    if (!a->pixels) a->pixels = 1;
    return NULL;
}

/* Joins the sums of `blocks` blocks. */
static wick_status *finish(const wick_kernel_call *call, gpu_nll_args *a, int64_t blocks) {
    if (blocks == 1) return NULL;
    a->targets = blocks;
    return gpu_launch(call, a->dtype == WICK_F64 ? GPU_nll_finish_f64 : GPU_nll_finish_f32, 1, THREADS, 0, a);
}

static wick_status *make_partial(const wick_kernel_call *call, gpu_nll_args *a, int64_t blocks) {
    return blocks == 1 ? NULL : gpu_scratch(call, blocks * (a->dtype == WICK_F64 ? 16 : 8), &a->partial);
}

static wick_status *run_forward(const wick_kernel_call *call, gpu_nll_args *a) {
    int64_t blocks = (a->targets + BLOCK_TARGETS - 1) / BLOCK_TARGETS;
    blocks = blocks < 1 ? 1 : blocks > MOST_BLOCKS ? MOST_BLOCKS : blocks;
    WICK_TRY(make_partial(call, a, blocks));
    WICK_TRY(gpu_launch(call, a->dtype == WICK_F64 ? GPU_nll_forward_f64 : GPU_nll_forward_f32, (unsigned)blocks,
                        THREADS, 0, a));
    return finish(call, a, blocks);
}

static void set_loss(gpu_nll_args *a, const wick_tensor *loss, const wick_tensor *total, bool batch) {
    a->loss = gpu_data(loss), a->loss_dtype = loss->dtype;
    a->total = total ? gpu_data(total) : NULL, a->total_dtype = total ? total->dtype : 0;
    a->no_total = a->reduction == GPU_LOSS_NONE && batch;
}

static void set_gradient(gpu_nll_args *a, const wick_tensor *grad, const wick_tensor *loss, const wick_tensor *total) {
    a->grad = gpu_data(grad);
    a->grad_loss = gpu_data(loss), a->loss_dtype = loss->dtype;
    a->total_in = gpu_data(total), a->total_dtype = total->dtype;
}

/* (self, target, weight, reduction, ignore_index) */
static wick_status *forward(const wick_kernel_call *call) {
    const wick_tensor *self = wick_arg_tensor(call, 0), *loss = wick_out_tensor(call, 0);
    const wick_tensor *total = wick_out_tensor(call, 1);
    gpu_nll_args a = {.reduction = (int32_t)call->values[3].as.i, .ignore = call->values[4].as.i};
    WICK_TRY(prepare(call, &a, self, wick_arg_tensor(call, 1), wick_arg_tensor(call, 2)));
    a.x = gpu_data(self);
    set_loss(&a, loss, total, self->ndim > 1);
    return run_forward(call, &a);
}

static wick_status *clear(const wick_kernel_call *call, const wick_tensor *t) {
    gpu_device *d = gpu_device_of(call);
    GPU_TRY(d->gpu, d->gpu->vendor->make_current(d), "using the device");
    size_t bytes = (size_t)t->numel * wick_dtype_bytes((wick_dtype)t->dtype);
    int result = d->gpu->driver.set_bytes((uint64_t)(uintptr_t)gpu_data(t), 0, bytes, gpu_stream(d, call->stream));
    return gpu_check(d->gpu, result, "clearing");
}

/* (grad_output, self, target, weight, reduction, ignore_index, total_weight) */
static wick_status *backward(const wick_kernel_call *call) {
    const wick_tensor *grad = wick_out_tensor(call, 0), *loss = wick_arg_tensor(call, 0);
    const wick_tensor *total = wick_arg_tensor(call, 6);
    gpu_nll_args a = {.reduction = (int32_t)call->values[4].as.i, .ignore = call->values[5].as.i};
    WICK_TRY(prepare(call, &a, grad, wick_arg_tensor(call, 2), wick_arg_tensor(call, 3)));
    if (!grad->numel) return NULL;
    set_gradient(&a, grad, loss, total);
    WICK_TRY(clear(call, grad));
    unsigned blocks = gpu_blocks(gpu_device_of(call), a.targets, 128, 1, 64);
    gpu_kernel kernel = grad->dtype == WICK_F64 ? GPU_nll_backward_f64 : GPU_nll_backward_f32;
    return gpu_launch(call, kernel, blocks, 128, 0, &a);
}

/* ---- cross entropy ---- */
/* By direction: forward, backward. */
static gpu_kernel row_kernel(int32_t dtype, bool backward) {
    static const gpu_kernel f32[2] = {GPU_cross_entropy_f32, GPU_cross_entropy_backward_f32},
                            f16[2] = {GPU_cross_entropy_f16, GPU_cross_entropy_backward_f16},
                            bf16[2] = {GPU_cross_entropy_bf16, GPU_cross_entropy_backward_bf16},
                            f64[2] = {GPU_cross_entropy_f64, GPU_cross_entropy_backward_f64};
    return (dtype == WICK_F64 ? f64 : dtype == WICK_F16 ? f16 : dtype == WICK_BF16 ? bf16 : f32)[backward];
}

static unsigned threads_of(const gpu_nll_args *a) { return a->team > 32 ? (unsigned)a->team : 128; }

static unsigned row_blocks(const wick_kernel_call *call, const gpu_nll_args *a) {
    const unsigned blocks = gpu_blocks(gpu_device_of(call), a->targets * a->team, threads_of(a), 1, 64);
    return blocks > MOST_ROW_BLOCKS ? MOST_ROW_BLOCKS : blocks;
}

static void set_rows(gpu_nll_args *a, const wick_tensor *self, const wick_tensor *normalizer) {
    a->x = gpu_data(self), a->normalizer = gpu_data(normalizer);
    a->normalizer_dtype = normalizer->dtype;
    a->team = a->classes > 4096 ? THREADS : a->classes > 512 ? 128 : 32;
}

/* (self, target, weight, reduction, ignore_index) */
static wick_status *cross_entropy(const wick_kernel_call *call) {
    const wick_tensor *self = wick_arg_tensor(call, 0);
    gpu_nll_args a = {.reduction = (int32_t)call->values[3].as.i, .ignore = call->values[4].as.i};
    WICK_TRY(prepare(call, &a, self, wick_arg_tensor(call, 1), wick_arg_tensor(call, 2)));
    set_rows(&a, self, wick_out_tensor(call, 2));
    set_loss(&a, wick_out_tensor(call, 0), wick_out_tensor(call, 1), true);
    const unsigned blocks = row_blocks(call, &a);
    WICK_TRY(make_partial(call, &a, blocks));
    WICK_TRY(gpu_launch(call, row_kernel(a.dtype, false), blocks, threads_of(&a), 0, &a));
    return finish(call, &a, blocks);
}

/* (grad_output, self, target, weight, reduction, ignore_index, total_weight, normalizer) */
static wick_status *cross_entropy_backward(const wick_kernel_call *call) {
    const wick_tensor *grad = wick_out_tensor(call, 0), *self = wick_arg_tensor(call, 1);
    gpu_nll_args a = {.reduction = (int32_t)call->values[4].as.i, .ignore = call->values[5].as.i};
    WICK_TRY(prepare(call, &a, grad, wick_arg_tensor(call, 2), wick_arg_tensor(call, 3)));
    if (!grad->numel) return NULL;
    set_rows(&a, self, wick_arg_tensor(call, 7));
    set_gradient(&a, grad, wick_arg_tensor(call, 0), wick_arg_tensor(call, 6));
    return gpu_launch(call, row_kernel(a.dtype, true), row_blocks(call, &a), threads_of(&a), 0, &a);
}

static const wick_kernel_row rows[] = {
    WICK_KERNEL_ROW("nll_loss_forward", forward, 0, FLAGS),
    WICK_KERNEL_ROW("nll_loss_backward", backward, 0, FLAGS),
    WICK_KERNEL_ROW("nll_loss2d_forward", forward, 0, FLAGS),
    WICK_KERNEL_ROW("nll_loss2d_backward", backward, 0, FLAGS),
    WICK_KERNEL_ROW("_fused_cross_entropy", cross_entropy, 0, FLAGS),
    WICK_KERNEL_ROW("_fused_cross_entropy_backward", cross_entropy_backward, 0, FLAGS),
};
const gpu_table gpu_loss_table = GPU_TABLE(rows);
