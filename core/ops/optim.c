/* Steps of optimizers: what kernels may take, and the same formulas in public in-place operators. The formulas and
 * their order of operations are those of torch.optim. */
#include <math.h>

#include <wick/sdk/arguments.h>

#include "boxed.h"
#include "rows.h"

static wick_tensor *item(const wick_value *list, uint32_t i) { return list->as.tensors[i]; }

/* ---- shape rules ---- */
static bool alike(const wick_tensor *a, const wick_tensor *b) {
    return a->ndim == b->ndim && !memcmp(a->sizes, b->sizes, sizeof *a->sizes * a->ndim);
}

/* Lists 1 to `lists` - 1 go with list 0; an empty optional one is allowed. Kernels get lists of one dtype without gaps. */
static wick_status *check_lists(op_infer *ix, const uint8_t *lists, int n) {
    const wick_value *self = &ix->args[WICK_OPTIM_SELF];
    for (int k = 0; k < n; ++k) {
        const wick_value *list = &ix->args[lists[k]];
        if (list->count != self->count)
            return WICK_ERROR(WICK_INVALID_ARGUMENT, "list %d has %u tensors, wanted %u", lists[k], list->count,
                              self->count);
        for (uint32_t i = 0; i < list->count; ++i) {
            const wick_tensor *t = item(list, i), *p = item(self, i);
            if (!alike(t, p))
                return WICK_ERROR(WICK_INVALID_ARGUMENT, "tensor %u of list %d has another shape than the parameter", i,
                                  lists[k]);
            if (!wick_is_contiguous(t) || t->dtype != item(self, 0)->dtype || !wick_device_equal(t->device, p->device))
                ix->decompose = true;
        }
    }
    if (self->count) ix->compute = (wick_dtype)item(self, 0)->dtype;
    ix->cast_args = 0;
    return NULL;
}

wick_status *infer_fused_adam(op_infer *ix) {
    static const uint8_t lists[] = {WICK_OPTIM_SELF, WICK_OPTIM_GRADS, WICK_ADAM_EXP_AVGS, WICK_ADAM_EXP_AVG_SQS,
                                    WICK_ADAM_MAX_EXP_AVG_SQS};
    const wick_value *steps = &ix->args[WICK_ADAM_STEPS];
    if (steps->count != ix->args[WICK_OPTIM_SELF].count)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "%u state_steps, wanted %u", steps->count,
                          ix->args[WICK_OPTIM_SELF].count);
    for (uint32_t i = 0; i < steps->count; ++i) {
        if (item(steps, i)->numel != 1)
            return WICK_ERROR(WICK_INVALID_ARGUMENT, "state_steps: tensor %u has more than one element", i);
        if (item(steps, i)->dtype != WICK_F32) ix->decompose = true;
    }
    return check_lists(ix, lists, ix->args[WICK_ADAM_AMSGRAD].as.i ? 5 : 4);
}

wick_status *infer_fused_sgd(op_infer *ix) {
    static const uint8_t lists[] = {WICK_OPTIM_SELF, WICK_OPTIM_GRADS, WICK_SGD_BUFFERS};
    return check_lists(ix, lists, ix->args[WICK_SGD_MOMENTUM].as.f != 0 ? 3 : 2);
}

/* ---- decompositions ---- */
static wick_tensor *add_scaled_(wick_context *c, wick_tensor *self, wick_tensor *other, double alpha) {
    wick_add_options o = WICK_ADD_OPTIONS_INIT;
    o.alpha = REAL(alpha);
    return wick_add_(c, self, other, &o);
}

static bool skipped(wick_context *c, wick_tensor *found_inf) { return found_inf && wick_item(c, found_inf) == 1; }

/* The gradient as the formulas want it: unscaled (in place), with the sign of a minimization. */
static wick_tensor *gradient(wick_context *c, wick_tensor *grad, wick_tensor *scale, bool maximize) {
    if (scale) wick_div_(c, grad, scale);
    return maximize ? wick_neg(c, grad) : grad;
}

static wick_tensor *decayed(wick_context *c, wick_tensor *grad, wick_tensor *param, double decay) {
    wick_add_options o = WICK_ADD_OPTIONS_INIT;
    o.alpha = REAL(decay);
    return decay != 0 ? wick_add(c, grad, param, &o) : grad;
}

/* 1 - beta^step, without the cancellation of writing it so. */
static wick_tensor *bias_correction(wick_context *c, wick_tensor *step, double beta) {
    return wick_neg_(c, wick_expm1_(c, wick_mul_scalar(c, step, REAL(log(beta)))));
}

static void adam_one(wick_context *c, const wick_value *args, uint32_t i, bool decoupled) {
    wick_tensor *param = item(&args[WICK_OPTIM_SELF], i), *m = item(&args[WICK_ADAM_EXP_AVGS], i),
                *v = item(&args[WICK_ADAM_EXP_AVG_SQS], i);
    const bool wide = param->dtype == WICK_F64 || param->dtype == WICK_C128;
    wick_tensor *step = cast(c, item(&args[WICK_ADAM_STEPS], i), wide ? WICK_F64 : WICK_F32);
    wick_tensor *grad = gradient(c, item(&args[WICK_OPTIM_GRADS], i), arg_tensor(args, WICK_ADAM_GRAD_SCALE),
                                 args[WICK_ADAM_MAXIMIZE].as.i);
    if (decoupled && F(WICK_ADAM_WEIGHT_DECAY) != 0)
        wick_mul_scalar_(c, param, REAL(1 - F(WICK_ADAM_LR) * F(WICK_ADAM_WEIGHT_DECAY)));
    else if (!decoupled)
        grad = decayed(c, grad, param, F(WICK_ADAM_WEIGHT_DECAY));
    wick_lerp_scalar_(c, m, grad, REAL(1 - F(WICK_ADAM_BETA1)));
    wick_addcmul_options o = WICK_ADDCMUL_OPTIONS_INIT;
    o.value = REAL(1 - F(WICK_ADAM_BETA2));
    wick_addcmul_(c, wick_mul_scalar_(c, v, REAL(F(WICK_ADAM_BETA2))), grad, grad, &o);
    if (args[WICK_ADAM_AMSGRAD].as.i)
        v = wick_maximum_out(c, item(&args[WICK_ADAM_MAX_EXP_AVG_SQS], i), v,
                             item(&args[WICK_ADAM_MAX_EXP_AVG_SQS], i));
    wick_tensor *root = wick_sqrt(c, bias_correction(c, step, F(WICK_ADAM_BETA2)));
    wick_tensor *denominator = wick_add_scalar_(c, wick_div_(c, wick_sqrt(c, v), root), REAL(F(WICK_ADAM_EPS)), NULL);
    wick_tensor *update = wick_div_(c, wick_div(c, m, bias_correction(c, step, F(WICK_ADAM_BETA1))), denominator);
    add_scaled_(c, param, update, -F(WICK_ADAM_LR));
}

static void adam_all(wick_context *c, const wick_value *args, bool decoupled) {
    if (skipped(c, arg_tensor(args, WICK_ADAM_FOUND_INF))) return;
    for (uint32_t i = 0; i < args[WICK_OPTIM_SELF].count && !wick_failed(c); ++i) {
        wick_scope scope = wick_scope_open(c);
        adam_one(c, args, i, decoupled);
        wick_scope_close(c, scope);
    }
}
void compose_fused_adam(wick_context *c, const wick_value *args, wick_value *rets) { adam_all(c, args, false); }
void compose_fused_adamw(wick_context *c, const wick_value *args, wick_value *rets) { adam_all(c, args, true); }

static void sgd_one(wick_context *c, const wick_value *args, uint32_t i) {
    wick_tensor *param = item(&args[WICK_OPTIM_SELF], i);
    wick_tensor *grad = gradient(c, item(&args[WICK_OPTIM_GRADS], i), arg_tensor(args, WICK_SGD_GRAD_SCALE),
                                 args[WICK_SGD_MAXIMIZE].as.i);
    grad = decayed(c, grad, param, F(WICK_SGD_WEIGHT_DECAY));
    if (F(WICK_SGD_MOMENTUM) != 0) {
        wick_tensor *buffer = item(&args[WICK_SGD_BUFFERS], i);
        if (args[WICK_SGD_IS_FIRST_STEP].as.i)
            wick_copy_(c, buffer, grad, NULL);
        else
            add_scaled_(c, wick_mul_scalar_(c, buffer, REAL(F(WICK_SGD_MOMENTUM))), grad, 1 - F(WICK_SGD_DAMPENING));
        grad = args[WICK_SGD_NESTEROV].as.i ? decayed(c, grad, buffer, F(WICK_SGD_MOMENTUM)) : buffer;
    }
    add_scaled_(c, param, grad, -F(WICK_SGD_LR));
}

void compose_fused_sgd(wick_context *c, const wick_value *args, wick_value *rets) {
    if (skipped(c, arg_tensor(args, WICK_SGD_FOUND_INF))) return;
    for (uint32_t i = 0; i < args[WICK_OPTIM_SELF].count && !wick_failed(c); ++i) {
        wick_scope scope = wick_scope_open(c);
        sgd_one(c, args, i);
        wick_scope_close(c, scope);
    }
}
