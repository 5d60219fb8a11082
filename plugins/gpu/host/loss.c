/* Negative log likelihood for [C], [N, C] and [N, C, spatial...]. */
#include "../device/args_loss.h"
#include "element.h"

#include <wick/sdk/arguments.h>

#define THREADS 512
#define BLOCK_TARGETS 4096 /* more than that, and there are several blocks */
#define MOST_BLOCKS 512
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

static wick_status *run_forward(const wick_kernel_call *call, gpu_nll_args *a) {
    const bool wide = a->dtype == WICK_F64;
    int64_t blocks = (a->targets + BLOCK_TARGETS - 1) / BLOCK_TARGETS;
    blocks = blocks < 1 ? 1 : blocks > MOST_BLOCKS ? MOST_BLOCKS : blocks;
    if (blocks > 1) WICK_TRY(gpu_scratch(call, blocks * (wide ? 16 : 8), &a->partial));
    WICK_TRY(gpu_launch(call, wide ? GPU_nll_forward_f64 : GPU_nll_forward_f32, (unsigned)blocks, THREADS, 0, a));
    if (blocks == 1) return NULL;
    a->targets = blocks;
    return gpu_launch(call, wide ? GPU_nll_finish_f64 : GPU_nll_finish_f32, 1, THREADS, 0, a);
}

/* (self, target, weight, reduction, ignore_index) */
static wick_status *forward(const wick_kernel_call *call) {
    const wick_tensor *self = wick_arg_tensor(call, 0), *loss = wick_out_tensor(call, 0);
    const wick_tensor *total = wick_out_tensor(call, 1);
    gpu_nll_args a = {.reduction = (int32_t)call->values[3].as.i, .ignore = call->values[4].as.i};
    WICK_TRY(prepare(call, &a, self, wick_arg_tensor(call, 1), wick_arg_tensor(call, 2)));
    a.x = gpu_data(self);
    a.loss = gpu_data(loss), a.loss_dtype = loss->dtype;
    a.total = total ? gpu_data(total) : NULL, a.total_dtype = total ? total->dtype : 0;
    a.no_total = a.reduction == GPU_LOSS_NONE && self->ndim > 1;
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
    a.grad = gpu_data(grad);
    a.grad_loss = gpu_data(loss), a.loss_dtype = loss->dtype;
    a.total_in = gpu_data(total), a.total_dtype = total->dtype;
    WICK_TRY(clear(call, grad));
    unsigned blocks = gpu_blocks(gpu_device_of(call), a.targets, 128, 1, 64);
    gpu_kernel kernel = grad->dtype == WICK_F64 ? GPU_nll_backward_f64 : GPU_nll_backward_f32;
    return gpu_launch(call, kernel, blocks, 128, 0, &a);
}

static const wick_kernel_row rows[] = {
    WICK_KERNEL_ROW("nll_loss_forward", forward, 0, FLAGS),
    WICK_KERNEL_ROW("nll_loss_backward", backward, 0, FLAGS),
    WICK_KERNEL_ROW("nll_loss2d_forward", forward, 0, FLAGS),
    WICK_KERNEL_ROW("nll_loss2d_backward", backward, 0, FLAGS),
};
const gpu_table gpu_loss_table = GPU_TABLE(rows);
