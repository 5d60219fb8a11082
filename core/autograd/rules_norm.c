/* Gradient rules of normalization (nn.inc): the fused backward operators.
 *
 * Those see the forward's statistics as constants. When the gradient itself is recorded (create_graph), the statistics
 * are measured anew, so that they depend on the input. */
#include <wick/sdk/element.h>

#include "../ops/boxed.h"
#include "../ops/dims.h"
#include "../ops/norm.h"
#include "../ops/rows.h"
#include "rule.h"

#define ARG(i) (*arg(b, (i)))

static bool recorded(backward_call *b) { return wick_is_grad_enabled(C); }

/* Gives arguments first, second, third what they need of `grads`. */
static void distribute(backward_call *b, const wick_value *grads, const int *arguments, int n) {
    for (int i = 0; i < n; ++i)
        if (needs(b, arguments[i]) && grads[i].tag == WICK_TAG_TENSOR) set_grad(b, arguments[i], grads[i].as.tensor);
}

/* (input, normalized_shape, weight, bias, eps) */
void d_layer_norm(backward_call *b) {
    const uint8_t mask[3] = {needs(b, 0), needs(b, 2), needs(b, 3)};
    wick_tensor *x = saved(b, 0), *mean = result(b, 1), *rstd = result(b, 2);
    wick_value grads[3];
    if (!x) return;
    if (recorded(b)) {
        norm_statistics s = norm_measure(C, x, norm_layer_mask(x, (int)arg_count(b, 1)), arg_float(b, 4));
        mean = s.mean, rstd = s.rstd;
    }
    if (CALL_MANY(C, native_layer_norm_backward, grads, 3, V(GRAD), V(x), ARG(1), V(mean), V(rstd), V(saved(b, 2)),
                  NONE, wick_value_bools(mask, 3)))
        distribute(b, grads, (const int[]){0, 2, 3}, 3);
}

/* What reaches x [N, group, elements] through mean and rstd: dmean / n - drstd rstd^3 (x - mean) / n */
static wick_tensor *through_outputs(backward_call *b, wick_tensor *x, wick_tensor *mean, wick_tensor *rstd) {
    double n = (double)x->sizes[2];
    wick_tensor *for_mean = b->gout[1] ? wick_div_scalar(C, wick_unsqueeze(C, b->gout[1], 2), REAL(n)) : NULL,
                *for_rstd = NULL;
    if (b->gout[2]) {
        wick_tensor *slope = wick_mul(C, b->gout[2], wick_pow_scalar(C, rstd, NUMBER(3)));
        wick_tensor *off = wick_sub(C, x, wick_unsqueeze(C, mean, 2), NULL);
        for_rstd = wick_mul(C, off, wick_div_scalar(C, wick_unsqueeze(C, slope, 2), REAL(-n)));
    }
    return for_mean && for_rstd ? wick_add(C, for_rstd, for_mean, NULL)
           : for_mean           ? expand_of(C, for_mean, SIZES(x))
                                : for_rstd;
}

/* (input, weight, bias, N, C, HxW, group, eps); the statistics are differentiable, too */
void d_group_norm(backward_call *b) {
    const uint8_t mask[3] = {needs(b, 0), needs(b, 1), needs(b, 2)};
    wick_tensor *x = saved(b, 0), *mean = result(b, 1), *rstd = result(b, 2);
    wick_tensor *groups = wick_reshape(C, x, (int64_t[]){arg_int(b, 3), arg_int(b, 6), -1}, 3);
    wick_value grads[3] = {NONE, NONE, NONE};
    if (!groups) return;
    if (recorded(b)) {
        norm_statistics s = norm_measure(C, groups, 4, arg_float(b, 7));
        mean = wick_squeeze_dim(C, s.mean, 2), rstd = wick_squeeze_dim(C, s.rstd, 2);
    }
    if (GRAD && !CALL_MANY(C, native_group_norm_backward, grads, 3, V(GRAD), V(x), V(mean), V(rstd), V(saved(b, 1)),
                           ARG(3), ARG(4), ARG(5), ARG(6), wick_value_bools(mask, 3)))
        return;
    if (mask[0] && (b->gout[1] || b->gout[2])) {
        wick_tensor *more = wick_reshape(C, through_outputs(b, groups, mean, rstd), SIZES(x));
        grads[0] = V(GRAD ? wick_add(C, grads[0].as.tensor, more, NULL) : more);
    }
    distribute(b, grads, (const int[]){0, 1, 2}, 3);
}

/* ---- batch normalization: (input, weight, bias, ...) ---- */
static void batch_rule(backward_call *b, bool training, double eps, bool has_running) {
    const uint8_t mask[3] = {needs(b, 0), needs(b, 1), needs(b, 2)};
    wick_tensor *x = saved(b, 0), *mean = training ? result(b, 1) : NULL, *rstd = training ? result(b, 2) : NULL;
    /* a training forward may have been followed by others, which changed the running statistics: it needs none */
    wick_tensor *running_mean = has_running && !training ? saved(b, 3) : NULL;
    wick_tensor *running_var = has_running && !training ? saved(b, 4) : NULL;
    wick_value grads[3];
    if (x && training && recorded(b)) {
        norm_statistics s = norm_measure(C, x, norm_batch_mask(x), eps);
        mean = flat(C, s.mean), rstd = flat(C, s.rstd);
    }
    if (CALL_MANY(C, native_batch_norm_backward, grads, 3, V(GRAD), V(x), V(saved(b, 1)), V(running_mean),
                  V(running_var), V(mean), V(rstd), BOOLEAN(training), REAL(eps), wick_value_bools(mask, 3)))
        distribute(b, grads, (const int[]){0, 1, 2}, 3);
}
void d_batch_norm(backward_call *b) { batch_rule(b, arg_bool(b, 5), arg_float(b, 7), true); }
void d_batch_norm_no_stats(backward_call *b) { batch_rule(b, true, arg_float(b, 5), false); }
void d_batch_norm_inference(backward_call *b) { batch_rule(b, false, arg_float(b, 6), true); }
void d_batch_norm_update(backward_call *b) { batch_rule(b, true, arg_float(b, 6), true); }

/* (input, normalized_shape, weight, eps) */
void d_rms_norm(backward_call *b) {
    const uint8_t mask[2] = {needs(b, 0), needs(b, 2)};
    wick_tensor *x = saved(b, 0), *rstd = result(b, 1);
    wick_value grads[2];
    if (!x) return;
    if (recorded(b)) {
        double eps = arg_none(b, 3) ? wick_element_epsilon(x->dtype) : arg_float(b, 3);
        uint64_t inner = norm_layer_mask(x, (int)arg_count(b, 1));
        int64_t dims[WICK_MAX_DIMS];
        int n = dims_list(inner, x->ndim, dims);
        wick_tensor *wide = widen(C, x);
        wick_tensor *square = CALL(C, mean_dim, V(wick_mul(C, wide, wide)), INTS(dims, n), BOOLEAN(true), NONE);
        rstd = wick_rsqrt(C, wick_add_scalar(C, square, REAL(eps), NULL));
    }
    if (CALL_MANY(C, _fused_rms_norm_backward, grads, 2, V(GRAD), V(x), ARG(1), V(rstd), V(saved(b, 2)),
                  wick_value_bools(mask, 2)))
        distribute(b, grads, (const int[]){0, 2}, 2);
}
