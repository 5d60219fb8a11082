/* Gradient rules of losses (nn.inc). Losses without a rule are differentiated through their decompositions. */
#include "../ops/boxed.h"
#include "../ops/loss.h"
#include "../ops/rows.h"
#include "rule.h"

#define ARG(i) (*arg(b, (i)))

/* Losses of self - target: what self gains target loses. */
static void difference_rule(backward_call *b, wick_tensor *grad) {
    if (needs(b, 0)) set_grad(b, 0, grad);
    if (needs(b, 1)) set_grad(b, 1, wick_neg(C, grad));
}
void d_mse_loss(backward_call *b) {
    difference_rule(b, wick_mse_loss_backward(C, GRAD, saved(b, 0), saved(b, 1), arg_int(b, 2)));
}
void d_smooth_l1_loss(backward_call *b) {
    difference_rule(b, wick_smooth_l1_loss_backward(C, GRAD, saved(b, 0), saved(b, 1), arg_int(b, 2), arg_float(b, 3)));
}
void d_huber_loss(backward_call *b) {
    difference_rule(b, wick_huber_loss_backward(C, GRAD, saved(b, 0), saved(b, 1), arg_int(b, 2), arg_float(b, 3)));
}

/* The exponent is -target self: it is symmetric in the two. */
void d_soft_margin_loss(backward_call *b) {
    wick_tensor *x = saved(b, 0), *t = saved(b, 1);
    if (needs(b, 0)) set_grad(b, 0, wick_soft_margin_loss_backward(C, GRAD, x, t, arg_int(b, 2)));
    if (needs(b, 1)) set_grad(b, 1, wick_soft_margin_loss_backward(C, GRAD, t, x, arg_int(b, 2)));
}

/* (self, target, weight, reduction) */
void d_binary_cross_entropy(backward_call *b) {
    wick_tensor *x = saved(b, 0), *t = saved(b, 1), *w = saved(b, 2);
    if (needs(b, 0)) set_grad(b, 0, CALL(C, binary_cross_entropy_backward, V(GRAD), V(x), V(t), V(w), ARG(3)));
    if (!needs(b, 1) || !x) return;
    wick_tensor *slope = wick_sub(C, wick_log(C, wick_rsub_scalar(C, x, NUMBER(1), NULL)), wick_log(C, x), NULL);
    wick_tensor *g = wick_mul(C, GRAD, w ? wick_mul(C, slope, w) : slope);
    set_grad(b, 1, arg_int(b, 3) == WICK_LOSS_MEAN ? wick_div_scalar(C, g, REAL((double)x->numel)) : g);
}

/* ---- negative log-likelihood: (self, target, weight, reduction, ignore_index) ---- */
void d_nll_loss(backward_call *b) {
    set_grad(b, 0,
             wick_nll_loss_backward(C, GRAD, saved(b, 0), saved(b, 1), saved(b, 2), arg_int(b, 3), arg_int(b, 4),
                                    result(b, 1)));
}
void d_nll_loss2d(backward_call *b) {
    set_grad(b, 0,
             wick_nll_loss2d_backward(C, GRAD, saved(b, 0), saved(b, 1), saved(b, 2), arg_int(b, 3), arg_int(b, 4),
                                      result(b, 1)));
}
/* (self, target, weight, reduction, ignore_index). A second derivative has to see that the normalizer depends on self. */
void d_fused_cross_entropy(backward_call *b) {
    wick_tensor *x = saved(b, 0);
    if (!x) return;
    wick_tensor *normalizer = wick_is_grad_enabled(C) ? class_normalizer(C, widen(C, x)) : result(b, 2);
    set_grad(b, 0,
             CALL(C, _fused_cross_entropy_backward, V(GRAD), V(x), V(saved(b, 1)), V(saved(b, 2)), ARG(3), ARG(4),
                  V(result(b, 1)), V(normalizer)));
}
/* (grad_output, self, target, weight, reduction, ignore_index, total_weight): linear in grad_output */
void d_nll_loss_backward(backward_call *b) {
    if (needs(b, 0)) set_grad(b, 0, CALL(C, nll_loss, V(GRAD), V(saved(b, 2)), V(saved(b, 3)), ARG(4), ARG(5)));
}
void d_nll_loss2d_backward(backward_call *b) {
    if (needs(b, 0)) set_grad(b, 0, CALL(C, nll_loss2d, V(GRAD), V(saved(b, 2)), V(saved(b, 3)), ARG(4), ARG(5)));
}

/* (log_probs, targets, input_lengths, target_lengths, blank, zero_infinity) */
void d_ctc_loss(backward_call *b) {
    set_grad(b, 0,
             CALL(C, _ctc_loss_backward, V(GRAD), V(saved(b, 0)), V(saved(b, 1)), ARG(2), ARG(3), V(result(b, 0)),
                  V(result(b, 1)), ARG(4), ARG(5)));
}
