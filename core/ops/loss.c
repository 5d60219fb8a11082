/* Losses of a prediction and a target of the same shape: shape rules and decompositions. */
#include "loss.h"

#include "boxed.h"
#include "geometry.h"
#include "rows.h"

wick_tensor *loss_reduce(wick_context *c, wick_tensor *t, int64_t reduction) {
    return reduction == WICK_LOSS_MEAN ? wick_mean(c, t, NULL) : reduction == WICK_LOSS_SUM ? wick_sum(c, t, NULL) : t;
}

/* ---- shape rules ---- */
static int64_t reduction_of(const op_infer *ix) {
    for (int i = 0; i < ix->op->base_nargs; ++i)
        if (!strcmp(ix->op->args[i].name, "reduction")) return ix->args[i].as.i;
    return WICK_LOSS_MEAN;
}

static wick_status *broadcast_from(op_infer *ix, int first, int count) {
    op_meta *m = &ix->outs[0];
    m->ndim = 0;
    for (int i = first; i < first + count; ++i) {
        const wick_tensor *t = arg_tensor(ix->args, i);
        if (t) WICK_TRY(infer_broadcast(&m->ndim, m->sizes, t->ndim, t->sizes));
    }
    WICK_TRY(infer_result_type(ix, &ix->compute));
    m->dtype = ix->compute;
    return NULL;
}

/* (self, target, ...) */
wick_status *infer_loss(op_infer *ix) {
    WICK_TRY(broadcast_from(ix, 0, 2));
    if (reduction_of(ix) != WICK_LOSS_NONE) ix->outs[0].ndim = 0;
    return NULL;
}
/* (grad_output, self, target, ...) */
wick_status *infer_loss_backward(op_infer *ix) { return broadcast_from(ix, 1, 2); }

/* Those of which PyTorch has none for integers. */
static wick_status *check_fractions(const op_infer *ix) {
    if (wick_dtype_is_differentiable(ix->compute)) return NULL;
    return WICK_ERROR(WICK_UNSUPPORTED, "this loss is not implemented for dtype %s", wick_dtype_name(ix->compute));
}
wick_status *infer_floating_loss(op_infer *ix) {
    WICK_TRY(infer_loss(ix));
    return check_fractions(ix);
}
wick_status *infer_floating_loss_backward(op_infer *ix) {
    WICK_TRY(infer_loss_backward(ix));
    return check_fractions(ix);
}

/* ---- what a backward starts from ---- */
/* grad_output as it reaches every element. `like` has the elements' shape. */
static wick_tensor *spread(wick_context *c, wick_tensor *grad, const wick_tensor *like, int64_t reduction) {
    if (!like || reduction != WICK_LOSS_MEAN) return grad;
    return wick_div_scalar(c, grad, REAL((double)like->numel));
}
static wick_tensor *minus(wick_context *c, wick_tensor *a, wick_tensor *b) { return wick_sub(c, a, b, NULL); }
static wick_tensor *clamped(wick_context *c, wick_tensor *t, double limit) {
    wick_clamp_options o = WICK_CLAMP_OPTIONS_INIT;
    o.min = REAL(-limit), o.max = REAL(limit);
    return wick_clamp(c, t, &o);
}
/* F16 and BF16 losses are summed in F32 and then rounded. */
static wick_tensor *finish(wick_context *c, const wick_value *args, wick_tensor *loss, int64_t reduction) {
    wick_tensor *out = loss_reduce(c, loss, reduction);
    return compute_dtype((wick_dtype)T(0)->dtype) != (wick_dtype)T(0)->dtype ? cast_like(c, out, T(0)) : out;
}
#define DIFFERENCE(a, b) minus(c, widen(c, T(a)), widen(c, T(b)))

/* ---- squared error ---- */
void compose_mse_loss(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *d = DIFFERENCE(0, 1);
    give(rets, finish(c, args, wick_mul(c, d, d), I(2)));
}
void compose_mse_loss_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *d = DIFFERENCE(1, 2), *twice = wick_mul_scalar(c, d, NUMBER(2));
    give(rets, cast_like(c, wick_mul(c, twice, spread(c, T(0), d, I(3))), T(1)));
}

/* ---- absolute error, smoothed around 0: (self, target, reduction, beta) ---- */
DECOMPOSE(l1_loss, loss_reduce(c, wick_abs(c, minus(c, T(0), T(1))), I(2)))

void compose_smooth_l1_loss(wick_context *c, const wick_value *args, wick_value *rets) {
    double beta = F(3);
    wick_tensor *size = wick_abs(c, DIFFERENCE(0, 1)), *out = size;
    if (beta < 0) {
        FAIL(ctx(c), INVALID_ARGUMENT, "smooth_l1_loss does not support negative values for beta.");
        return;
    }
    if (beta > 0) {
        wick_tensor *curve = wick_mul_scalar(c, wick_mul(c, size, size), REAL(0.5 / beta));
        out = wick_where(c, wick_lt_scalar(c, size, REAL(beta)), curve,
                         wick_add_scalar(c, size, REAL(-0.5 * beta), NULL));
    }
    give(rets, finish(c, args, out, I(2)));
}
void compose_smooth_l1_loss_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *d = DIFFERENCE(1, 2);
    double beta = F(4);
    wick_tensor *slope = beta > 0 ? clamped(c, wick_div_scalar(c, d, REAL(beta)), 1) : wick_sign(c, d);
    give(rets, cast_like(c, wick_mul(c, slope, spread(c, T(0), d, I(3))), T(1)));
}

/* (self, target, reduction, delta) */
void compose_huber_loss(wick_context *c, const wick_value *args, wick_value *rets) {
    double delta = F(3);
    if (delta <= 0) {
        FAIL(ctx(c), INVALID_ARGUMENT, "huber_loss does not support non-positive values for delta.");
        return;
    }
    wick_tensor *size = wick_abs(c, DIFFERENCE(0, 1));
    wick_tensor *curve = wick_mul_scalar(c, wick_mul(c, size, size), REAL(0.5));
    wick_tensor *line = wick_mul_scalar(c, wick_add_scalar(c, size, REAL(-0.5 * delta), NULL), REAL(delta));
    give(rets, finish(c, args, wick_where(c, wick_le_scalar(c, size, REAL(delta)), curve, line), I(2)));
}
void compose_huber_loss_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *d = DIFFERENCE(1, 2);
    give(rets, cast_like(c, wick_mul(c, clamped(c, d, F(4)), spread(c, T(0), d, I(3))), T(1)));
}

/* ---- log(1 + exp(-target self)) ---- */
void compose_soft_margin_loss(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *z = wick_mul(c, wick_neg(c, widen(c, T(1))), widen(c, T(0)));
    give(rets, finish(c, args, wick_log1p(c, wick_exp(c, z)), I(2)));
}
void compose_soft_margin_loss_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = wick_neg(c, widen(c, T(2))), *s = wick_sigmoid(c, wick_mul(c, t, widen(c, T(1))));
    give(rets, cast_like(c, wick_mul(c, wick_mul(c, t, s), spread(c, T(0), s, I(3))), T(1)));
}

/* ---- binary cross entropy: (self, target, weight, reduction) ---- */
static wick_tensor *log_not_below(wick_context *c, wick_tensor *log) { return wick_clamp_min(c, log, NUMBER(-100)); }

void compose_binary_cross_entropy(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = widen(c, T(0)), *t = widen(c, T(1));
    if (T(0)->ndim != T(1)->ndim || memcmp(T(0)->sizes, T(1)->sizes, sizeof *x->sizes * T(0)->ndim)) {
        FAIL(ctx(c), INVALID_ARGUMENT,
             "Using a target size that is different to the input size is deprecated. Please ensure they have "
             "the same size.");
        return;
    }
    wick_tensor *for_no =
        wick_mul(c, wick_add_scalar(c, t, NUMBER(-1), NULL), log_not_below(c, wick_log1p(c, wick_neg(c, x))));
    wick_tensor *loss = minus(c, for_no, wick_mul(c, t, log_not_below(c, wick_log(c, x))));
    give(rets, finish(c, args, T(2) ? wick_mul(c, loss, T(2)) : loss, I(3)));
}

/* (grad_output, self, target, weight, reduction): (x - t) / (x (1 - x)) */
void compose_binary_cross_entropy_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = widen(c, T(1)), *d = minus(c, x, widen(c, T(2)));
    wick_tensor *spread_x = wick_clamp_min(c, wick_mul(c, wick_rsub_scalar(c, x, NUMBER(1), NULL), x), REAL(1e-12));
    wick_tensor *g = wick_mul(c, wick_div(c, d, spread_x), spread(c, T(0), d, I(4)));
    give(rets, cast_like(c, T(3) ? wick_mul(c, g, T(3)) : g, T(1)));
}

/* (self, target, weight, pos_weight, reduction): (1 - t) x - (1 + (pos_weight - 1) t) log sigmoid(x) */
void compose_bce_with_logits(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = widen(c, T(0)), *t = widen(c, T(1)), *log = wick_log_sigmoid(c, x);
    if (T(3)) {
        wick_tensor *more = wick_mul(c, wick_add_scalar(c, T(3), NUMBER(-1), NULL), t);
        log = wick_mul(c, wick_add_scalar(c, more, NUMBER(1), NULL), log);
    }
    wick_tensor *loss = minus(c, wick_mul(c, wick_rsub_scalar(c, t, NUMBER(1), NULL), x), log);
    give(rets, finish(c, args, T(2) ? wick_mul(c, loss, T(2)) : loss, I(4)));
}

/* ---- Kullback-Leibler: self and, if log_target, target are logarithms: (self, target, reduction, log_target) ---- */
void compose_kl_div(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = T(0), *t = T(1), *loss;
    if (I(3))
        loss = wick_mul(c, wick_exp(c, t), minus(c, t, x));
    else
        loss = minus(c, wick_xlogy(c, t, t), wick_mul(c, t, x));
    give(rets, loss_reduce(c, loss, I(2)));
}

/* (input, target, log_input, full, eps, reduction) */
void compose_poisson_nll_loss(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = T(0), *t = T(1), *loss;
    if (I(2))
        loss = minus(c, wick_exp(c, x), wick_mul(c, t, x));
    else
        loss = minus(c, x, wick_mul(c, t, wick_log(c, wick_add_scalar(c, x, args[4], NULL))));
    if (I(3)) { /* Stirling's approximation of log t! where t > 1 */
        wick_tensor *log = wick_log(c, t),
                    *root = wick_mul_scalar(c, wick_log(c, wick_mul_scalar(c, t, REAL(6.283185307179586))), REAL(0.5));
        wick_tensor *stirling = wick_add(c, minus(c, wick_mul(c, t, log), t), root, NULL);
        loss = wick_add(c, loss, wick_masked_fill(c, stirling, wick_le_scalar(c, t, NUMBER(1)), NUMBER(0)), NULL);
    }
    give(rets, loss_reduce(c, loss, I(5)));
}

/* ---- distances and margins ---- */
static wick_tensor *relu_of(wick_context *c, wick_tensor *t) { return wick_clamp_min(c, t, NUMBER(0)); }

/* (input1, input2, target, margin, reduction): 1 - cos where target is 1, max(0, cos - margin) where -1 */
void compose_cosine_embedding_loss(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *a = T(0), *b = T(1), *target = T(2);
    int target_ndim = target->ndim;
    if (target_ndim > 1 || a->ndim != target_ndim + 1 || b->ndim != target_ndim + 1) {
        FAIL(ctx(c), INVALID_ARGUMENT,
             "%dD target tensor expects %dD input tensors, but found inputs with %d and %d dimensions", target_ndim,
             target_ndim + 1, a->ndim, b->ndim);
        return;
    }
    int64_t dim = target_ndim;
    wick_tensor *dot = sum_dims(c, wick_mul(c, a, b), &dim, 1, false);
    wick_tensor *aa = wick_add_scalar(c, sum_dims(c, wick_mul(c, a, a), &dim, 1, false), REAL(1e-12), NULL);
    wick_tensor *bb = wick_add_scalar(c, sum_dims(c, wick_mul(c, b, b), &dim, 1, false), REAL(1e-12), NULL);
    wick_tensor *cosine = wick_div(c, dot, wick_sqrt(c, wick_mul(c, aa, bb)));
    wick_tensor *alike = wick_rsub_scalar(c, cosine, NUMBER(1), NULL),
                *apart = relu_of(c, wick_add_scalar(c, cosine, REAL(-F(3)), NULL));
    wick_tensor *zero = wick_zeros_like(c, cosine, NULL);
    wick_tensor *loss = wick_add(c, wick_where(c, wick_eq_scalar(c, target, NUMBER(1)), alike, zero),
                                 wick_where(c, wick_eq_scalar(c, target, NUMBER(-1)), apart, zero), NULL);
    give(rets, loss_reduce(c, loss, I(4)));
}

/* (self, target, margin, reduction) */
void compose_hinge_embedding_loss(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = T(0), *t = T(1), *zero = wick_zeros_like(c, x, NULL);
    wick_tensor *below = relu_of(c, wick_rsub_scalar(c, x, args[2], NULL));
    wick_tensor *margin = wick_where(c, wick_ne_scalar(c, t, NUMBER(1)), below, zero);
    wick_tensor *plain = wick_where(c, wick_ne_scalar(c, t, NUMBER(-1)), x, zero);
    give(rets, loss_reduce(c, wick_add(c, margin, plain, NULL), I(3)));
}

/* (input1, input2, target, margin, reduction) */
void compose_margin_ranking_loss(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *order = wick_mul(c, wick_neg(c, T(2)), minus(c, T(0), T(1)));
    give(rets, loss_reduce(c, relu_of(c, wick_add_scalar(c, order, args[3], NULL)), I(4)));
}

static wick_tensor *distance(wick_context *c, wick_tensor *a, wick_tensor *b, const wick_value *p,
                             const wick_value *eps) {
    return CALL(c, pairwise_distance, V(a), V(b), *p, *eps, BOOLEAN(false));
}

/* (anchor, positive, negative, margin, p, eps, swap, reduction) */
void compose_triplet_margin_loss(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *near = distance(c, T(0), T(1), &args[4], &args[5]), *far = distance(c, T(0), T(2), &args[4], &args[5]);
    if (I(6)) far = wick_minimum(c, far, distance(c, T(1), T(2), &args[4], &args[5]));
    give(rets, loss_reduce(c, relu_of(c, wick_add_scalar(c, minus(c, near, far), args[3], NULL)), I(7)));
}
