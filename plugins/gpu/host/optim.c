/* Steps of optimizers: lists of parameters become launches of up to GPU_OPTIM_ITEMS of them. */
#include "../device/args_optim.h"
#include "element.h"

#include <wick/sdk/arguments.h>

#define THREADS 256
#define FLAGS (WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_CAPTURE_SAFE)

_Static_assert(sizeof(gpu_optim_args) <= 4096, "kernel arguments are at most 4 KB");

static double number(const wick_kernel_call *call, int i) { return call->values[i].as.f; }
static bool flag(const wick_kernel_call *call, int i) { return call->values[i].as.i != 0; }
static const wick_tensor *item(const wick_kernel_call *call, int list, uint32_t i) {
    return call->values[list].as.tensors[i];
}

/* The lists of one optimizer; -1: it has none. */
typedef struct optim_lists {
    int first, second, most, steps;
    gpu_kernel kernels[4]; /* f32, f64, f16, bf16 */
} optim_lists;

static void *data_of(const wick_kernel_call *call, int list, uint32_t i) {
    return list < 0 ? NULL : gpu_data(item(call, list, i));
}

static gpu_optim_item item_of(const wick_kernel_call *call, const optim_lists *lists, uint32_t i) {
    return (gpu_optim_item){.param = data_of(call, WICK_OPTIM_SELF, i),
                            .grad = data_of(call, WICK_OPTIM_GRADS, i),
                            .first = data_of(call, lists->first, i),
                            .second = data_of(call, lists->second, i),
                            .most = data_of(call, lists->most, i),
                            .step = data_of(call, lists->steps, i),
                            .n = item(call, WICK_OPTIM_SELF, i)->numel};
}

static wick_status *check_steps(const wick_kernel_call *call, int list) {
    for (uint32_t i = 0; list >= 0 && i < call->values[list].count; ++i)
        if (!wick_device_equal(item(call, list, i)->device, call->device))
            return WICK_HOST_ERROR(call->host, WICK_INVALID_ARGUMENT,
                                   "%s: state_steps[%u] is on another device than the parameters, %s",
                                   call->host->op_name(call->op), i, gpu_of(call)->device_name);
    return NULL;
}

static wick_status *read_scales(const wick_kernel_call *call, gpu_optim_args *a, int scale_arg, int found_arg) {
    const wick_tensor *scale = wick_arg_tensor(call, scale_arg), *found = wick_arg_tensor(call, found_arg);
    for (int k = 0; k < 2; ++k) {
        const wick_tensor *t = k ? found : scale;
        if (t && t->dtype != WICK_F32 && t->dtype != WICK_F64) return gpu_refuse(call, (wick_dtype)t->dtype);
    }
    a->grad_scale = scale ? gpu_data(scale) : NULL, a->scale_wide = scale && scale->dtype == WICK_F64;
    a->found_inf = found ? gpu_data(found) : NULL, a->found_wide = found && found->dtype == WICK_F64;
    return NULL;
}

/* `a` holds the numbers; the items are filled in, launch by launch. */
static wick_status *run_all(const wick_kernel_call *call, gpu_optim_args *a, const optim_lists *lists) {
    const wick_dtype dtype = (wick_dtype)call->compute_dtype;
    const int kernel = dtype == WICK_F64 ? 1 : dtype == WICK_F16 ? 2 : dtype == WICK_BF16 ? 3 : 0;
    const uint32_t count = call->values[WICK_OPTIM_SELF].count;
    uint32_t blocks = 0;
    WICK_TRY(check_steps(call, lists->steps));
    for (uint32_t i = 0; i < count; ++i) {
        const int64_t own = (item(call, WICK_OPTIM_SELF, i)->numel + GPU_OPTIM_CHUNK - 1) / GPU_OPTIM_CHUNK;
        if (own > INT32_MAX / 2)
            return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "%s: parameter %u is too large for device %s",
                                   call->host->op_name(call->op), i, gpu_of(call)->device_name);
        if (own) {
            a->items[a->count] = item_of(call, lists, i), a->begins[a->count++] = blocks;
            blocks += (uint32_t)own;
        }
        const bool last = i + 1 == count;
        if (!a->count || (!last && a->count < GPU_OPTIM_ITEMS && blocks < INT32_MAX / 2)) continue;
        WICK_TRY(gpu_launch(call, lists->kernels[kernel], blocks, THREADS, 0, a));
        a->count = 0, blocks = 0;
    }
    return NULL;
}

/* ---- entries ---- */
static wick_status *run_adam(const wick_kernel_call *call, bool decoupled) {
    optim_lists lists = {.first = WICK_ADAM_EXP_AVGS,
                         .second = WICK_ADAM_EXP_AVG_SQS,
                         .most = flag(call, WICK_ADAM_AMSGRAD) ? WICK_ADAM_MAX_EXP_AVG_SQS : -1,
                         .steps = WICK_ADAM_STEPS,
                         .kernels = {GPU_adam_f32, GPU_adam_f64, GPU_adam_f16, GPU_adam_bf16}};
    gpu_optim_args a = {.decoupled = decoupled,
                        .amsgrad = flag(call, WICK_ADAM_AMSGRAD),
                        .maximize = flag(call, WICK_ADAM_MAXIMIZE),
                        .lr = number(call, WICK_ADAM_LR),
                        .decay = number(call, WICK_ADAM_WEIGHT_DECAY),
                        .eps = number(call, WICK_ADAM_EPS),
                        .beta1 = number(call, WICK_ADAM_BETA1),
                        .beta2 = number(call, WICK_ADAM_BETA2)};
    WICK_TRY(read_scales(call, &a, WICK_ADAM_GRAD_SCALE, WICK_ADAM_FOUND_INF));
    return run_all(call, &a, &lists);
}
static wick_status *adam(const wick_kernel_call *call) { return run_adam(call, false); }
static wick_status *adamw(const wick_kernel_call *call) { return run_adam(call, true); }

static wick_status *sgd(const wick_kernel_call *call) {
    optim_lists lists = {.first = number(call, WICK_SGD_MOMENTUM) != 0 ? WICK_SGD_BUFFERS : -1,
                         .second = -1,
                         .most = -1,
                         .steps = -1,
                         .kernels = {GPU_sgd_f32, GPU_sgd_f64, GPU_sgd_f16, GPU_sgd_bf16}};
    gpu_optim_args a = {.maximize = flag(call, WICK_SGD_MAXIMIZE),
                        .nesterov = flag(call, WICK_SGD_NESTEROV),
                        .is_first = flag(call, WICK_SGD_IS_FIRST_STEP),
                        .lr = number(call, WICK_SGD_LR),
                        .decay = number(call, WICK_SGD_WEIGHT_DECAY),
                        .momentum = number(call, WICK_SGD_MOMENTUM),
                        .dampening = number(call, WICK_SGD_DAMPENING)};
    WICK_TRY(read_scales(call, &a, WICK_SGD_GRAD_SCALE, WICK_SGD_FOUND_INF));
    return run_all(call, &a, &lists);
}

static const wick_kernel_row rows[] = {
    WICK_KERNEL_ROW("_fused_adam_", adam, GPU_REALS, FLAGS),
    WICK_KERNEL_ROW("_fused_adamw_", adamw, GPU_REALS, FLAGS),
    WICK_KERNEL_ROW("_fused_sgd_", sgd, GPU_REALS, FLAGS),
};
const gpu_table gpu_optim_table = GPU_TABLE(rows);
