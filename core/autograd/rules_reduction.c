/* Gradient rules of reductions, scans, softmax, sorting (reduction.inc). Reference: PyTorch's derivatives.yaml. */
#include <float.h>
#include <math.h>

#include "../ops/boxed.h"
#include "../ops/dims.h"
#include "../ops/rows.h"
#include "rule.h"

#define SELF saved(b, 0)
#define RES result(b, 0)
#define MUL(x, y) wick_mul(C, (x), (y))
#define DIV(x, y) wick_div(C, (x), (y))
#define ADD(x, y) wick_add(C, (x), (y), NULL)
#define SUB(x, y) wick_sub(C, (x), (y), NULL)
#define ZERO_WHERE(mask, x) wick_masked_fill(C, (x), (mask), NUMBER(0)) /* x, 0 where mask */
#define RULE(name, expression) \
    void d_##name(backward_call *b) { set_grad(b, 0, (expression)); }

/* ---- what a reduction took away ---- */
static uint64_t mask_of(backward_call *b, int dims_arg) {
    uint64_t mask = 0;
    wick_fail(C, dims_mask(arg(b, dims_arg), input(b, 0)->ndim, true, &mask));
    return mask;
}
static uint64_t all_dims(backward_call *b) { return MAX_MASK(input(b, 0)->ndim); }
static wick_tensor *restore(backward_call *b, wick_tensor *t, uint64_t mask) {
    return dims_restore(C, t, input(b, 0)->ndim, input(b, 0)->sizes, mask);
}
/* Every element of the input gets its result's gradient. */
static wick_tensor *spread(backward_call *b, wick_tensor *t, uint64_t mask) {
    return expand_of(C, restore(b, t, mask), input(b, 0)->sizes, input(b, 0)->ndim);
}
static double count_of(backward_call *b, uint64_t mask) {
    return (double)dims_count(input(b, 0)->ndim, input(b, 0)->sizes, mask);
}
static wick_tensor *sum_over(backward_call *b, wick_tensor *t, uint64_t mask) {
    int64_t dims[WICK_MAX_DIMS];
    int n = t ? dims_list(mask, t->ndim, dims) : 0;
    return n ? sum_dims(C, t, dims, (size_t)n, true) : t;
}
static wick_tensor *mean_over(backward_call *b, wick_tensor *t, uint64_t mask) {
    return wick_div_scalar(C, sum_over(b, t, mask), REAL(count_of(b, mask)));
}

/* ---- sums ---- */
RULE(sum, spread(b, GRAD, mask_of(b, 1)))
RULE(nansum, ZERO_WHERE(wick_isnan(C, SELF), spread(b, GRAD, mask_of(b, 1))))
void d_mean(backward_call *b) {
    uint64_t mask = mask_of(b, 1);
    set_grad(b, 0, wick_div_scalar(C, spread(b, GRAD, mask), REAL(count_of(b, mask))));
}

/* The product of all others: those before times those after. Right with zeros, and differentiable. */
static wick_tensor *others(backward_call *b, wick_tensor *x, int64_t dim) {
    wick_dim size = x->sizes[dim], sizes[WICK_MAX_DIMS];
    memcpy(sizes, x->sizes, sizeof *sizes * x->ndim);
    sizes[dim] = 1;
    wick_tensor *one = wick_new_ones(C, x, sizes, x->ndim, NULL);
    wick_tensor *before = cat_of(C, (wick_tensor *[]){one, wick_narrow(C, x, dim, 0, size - 1)}, 2, dim);
    wick_tensor *tail = wick_flip(C, wick_narrow(C, x, dim, 1, size - 1), &dim, 1);
    wick_tensor *after = cat_of(C, (wick_tensor *[]){one, tail}, 2, dim);
    return MUL(wick_cumprod(C, before, dim, NULL), wick_flip(C, wick_cumprod(C, after, dim, NULL), &dim, 1));
}
static wick_tensor *product_gradient(backward_call *b, wick_tensor *grad, wick_tensor *x, int64_t dim) {
    if (!x || x->sizes[dim] <= 1) return x ? expand_of(C, grad, SIZES(x)) : NULL;
    return MUL(grad, conjugate(b, others(b, x, dim)));
}
void d_prod(backward_call *b) {
    wick_tensor *x = SELF, *g = cast_like(C, GRAD, x);
    set_grad(b, 0, x && x->ndim ? wick_reshape(C, product_gradient(b, g, flat(C, x), 0), SIZES(x)) : g);
}
void d_prod_dim(backward_call *b) {
    wick_tensor *x = SELF;
    int dim;
    if (!x || wick_fail(C, wrap_dim(arg_int(b, 1), x->ndim, &dim))) return;
    set_grad(b, 0, x->ndim ? product_gradient(b, restore(b, GRAD, 1ull << dim), x, dim) : GRAD);
}

/* ---- extrema ---- */
/* Equal ones share the gradient. */
static wick_tensor *share(backward_call *b, wick_tensor *grad, wick_tensor *equal, uint64_t mask) {
    return DIV(MUL(restore(b, grad, mask), equal), sum_over(b, equal, mask));
}
static wick_tensor *extremum(backward_call *b, wick_tensor *grad, wick_tensor *value, uint64_t mask) {
    return share(b, grad, wick_eq(C, SELF, restore(b, value, mask)), mask);
}
RULE(amax, extremum(b, GRAD, RES, mask_of(b, 1)))
void d_aminmax(backward_call *b) {
    uint64_t mask = mask_of(b, 1);
    set_grad(b, 0, ADD(extremum(b, b->gout[0], result(b, 0), mask), extremum(b, b->gout[1], result(b, 1), mask)));
}
/* A NaN result comes from the NaNs. */
void d_max_all(backward_call *b) {
    wick_tensor *x = SELF, *value = RES;
    wick_tensor *same = wick_where(C, wick_isnan(C, value), wick_isnan(C, x), wick_eq(C, x, value));
    set_grad(b, 0, share(b, GRAD, same, all_dims(b)));
}

/* One element of each line was taken: result 1 says which. */
static wick_tensor *taken(backward_call *b, int dim_arg, bool keepdim) {
    return wick_value_selecting_reduction_backward(C, GRAD, arg_int(b, dim_arg), result(b, 1), input(b, 0)->sizes,
                                                   input(b, 0)->ndim, keepdim);
}
RULE(taken, taken(b, 1, arg_bool(b, 2)))
RULE(kthvalue, taken(b, 2, arg_bool(b, 3)))
RULE(sort, taken(b, 1, true))
RULE(topk, taken(b, 2, true))

/* (grad, dim, indices, sizes, keepdim) */
void d_selecting_backward(backward_call *b) {
    wick_tensor *index = saved(b, 2), *grad = GRAD;
    bool added = !arg_bool(b, 4) && grad->ndim > 0;
    if (added) index = wick_unsqueeze(C, index, arg_int(b, 1));
    wick_tensor *out = wick_gather(C, grad, arg_int(b, 1), index, NULL);
    set_grad(b, 0, added ? wick_squeeze_dim(C, out, arg_int(b, 1)) : out);
}

/* ---- spread: (self, dim, correction, keepdim) ---- */
static double free_count(backward_call *b, uint64_t mask) {
    return count_of(b, mask) - (arg_none(b, 2) ? 1 : arg_float(b, 2));
}

/* 2 / (n - correction) (x - mean) */
static wick_tensor *var_gradient(backward_call *b, wick_tensor *grad) {
    uint64_t mask = mask_of(b, 1);
    double n = free_count(b, mask);
    if (n == 0 && arg_none(b, 1)) return wick_mul_scalar(C, spread(b, grad, mask), REAL(INFINITY));
    wick_tensor *x = SELF, *scaled = wick_mul_scalar(C, restore(b, grad, mask), REAL(2 / n));
    return MUL(scaled, SUB(x, mean_over(b, x, mask)));
}
/* the variance's gradient over 2 std, 0 where std is 0 */
static wick_tensor *std_gradient(backward_call *b, wick_tensor *grad) {
    wick_tensor *std = RES, *g = DIV(grad, wick_mul_scalar(C, std, NUMBER(2)));
    return var_gradient(b, ZERO_WHERE(wick_eq_scalar(C, std, NUMBER(0)), g));
}
static void with_mean(backward_call *b, wick_tensor *(*of)(backward_call *, wick_tensor *)) {
    uint64_t mask = mask_of(b, 1);
    wick_tensor *first = b->gout[0] ? of(b, b->gout[0]) : NULL;
    wick_tensor *second = b->gout[1] ? wick_div_scalar(C, spread(b, b->gout[1], mask), REAL(count_of(b, mask))) : NULL;
    set_grad(b, 0, first && second ? ADD(first, second) : first ? first : second);
}
RULE(var, var_gradient(b, GRAD))
RULE(std, std_gradient(b, GRAD))
void d_var_mean(backward_call *b) { with_mean(b, var_gradient); }
void d_std_mean(backward_call *b) { with_mean(b, std_gradient); }

/* ---- norms ---- */
/* grad, x and norm broadcast against each other; mask: what was reduced, kept with size 1. */
static wick_tensor *norm_gradient(backward_call *b, wick_tensor *x, double p, wick_tensor *grad, wick_tensor *norm,
                                  uint64_t mask) {
    wick_tensor *none = wick_eq_scalar(C, norm, NUMBER(0));
    if (p == 0) return wick_zeros_like(C, x, NULL);
    if (p == 1) return MUL(wick_sgn(C, x), grad);
    if (p == 2) return MUL(x, ZERO_WHERE(none, DIV(grad, norm)));
    wick_tensor *size = wick_abs(C, x);
    if (isinf(p)) {
        wick_tensor *at = wick_logical_or(C, wick_eq(C, size, norm), wick_isnan(C, size));
        return MUL(wick_sgn(C, x), MUL(DIV(grad, sum_over(b, at, mask)), at));
    }
    if (p < 1) {
        wick_tensor *power = ZERO_WHERE(wick_eq_scalar(C, x, NUMBER(0)), wick_pow_scalar(C, size, REAL(p - 1)));
        return MUL(MUL(MUL(wick_sgn(C, x), power), grad), wick_pow_scalar(C, norm, REAL(1 - p)));
    }
    wick_tensor *scale = ZERO_WHERE(none, DIV(grad, wick_pow_scalar(C, norm, REAL(p - 1))));
    if (p < 2) return MUL(MUL(wick_sgn(C, x), wick_pow_scalar(C, size, REAL(p - 1))), scale);
    return MUL(MUL(x, wick_pow_scalar(C, size, REAL(p - 2))), scale);
}
static void norm_rule(backward_call *b, int p_arg, uint64_t mask) {
    double p = arg_none(b, p_arg) ? 2 : arg_float(b, p_arg);
    set_grad(b, 0, norm_gradient(b, SELF, p, restore(b, GRAD, mask), restore(b, RES, mask), mask));
}
void d_norm(backward_call *b) { norm_rule(b, 1, all_dims(b)); }
void d_norm_dim(backward_call *b) { norm_rule(b, 1, mask_of(b, 2)); }
void d_vector_norm(backward_call *b) { norm_rule(b, 1, mask_of(b, 2)); }

void d_dist(backward_call *b) {
    wick_tensor *off = SUB(saved(b, 0), saved(b, 1)), *g;
    if (!off) return;
    g = norm_gradient(b, off, arg_float(b, 2), GRAD, RES, MAX_MASK(off->ndim));
    if (needs(b, 0)) set_grad(b, 0, g);
    if (needs(b, 1)) set_grad(b, 1, wick_neg(C, g));
}

/* ---- softmax and log-sum-exp ---- */
static wick_dtype input_dtype(backward_call *b) { return (wick_dtype)input(b, 0)->dtype; }
RULE(softmax, wick__softmax_backward_data(C, GRAD, RES, arg_int(b, 1), input_dtype(b)))
RULE(log_softmax, wick__log_softmax_backward_data(C, GRAD, RES, arg_int(b, 1), input_dtype(b)))

void d_logsumexp(backward_call *b) {
    uint64_t mask = mask_of(b, 1);
    wick_tensor *share_of_each = wick_exp(C, SUB(SELF, restore(b, RES, mask)));
    set_grad(b, 0, MUL(restore(b, GRAD, mask), conjugate(b, share_of_each)));
}

/* ---- scans ---- */
static wick_tensor *backwards(backward_call *b, wick_tensor *t) {
    int64_t dim = arg_int(b, 1);
    return t && t->ndim ? wick_flip(C, t, &dim, 1) : t;
}
RULE(cumsum, backwards(b, wick_cumsum(C, backwards(b, GRAD), arg_int(b, 1), NULL)))
RULE(cumprod, wick_cumprod_backward(C, cast_like(C, GRAD, RES), cast_like(C, SELF, RES), arg_int(b, 1), RES))
RULE(cummax,
     wick_scatter_add(C, zeros_of(C, GRAD, input(b, 0)->sizes, input(b, 0)->ndim), arg_int(b, 1), result(b, 1), GRAD))

/* log of the sums from each position to the end */
static wick_tensor *log_tail_sums(backward_call *b, wick_tensor *log) {
    return backwards(b, wick_logcumsumexp(C, backwards(b, log), arg_int(b, 1)));
}
/* sum over j >= i of grad[j] exp(x[i] - out[j]); logarithms of both signs apart keep it in range */
void d_logcumsumexp(backward_call *b) {
    wick_tensor *x = SELF, *out = RES, *g = GRAD;
    if (!x) return;
    if (wick_dtype_is_complex((wick_dtype)x->dtype)) {
        wick_tensor *log = log_tail_sums(b, SUB(wick_log(C, g), wick_conj(C, out)));
        set_grad(b, 0, wick_exp(C, ADD(log, wick_conj(C, x))));
        return;
    }
    wick_tensor *log = wick_log(C, wick_abs(C, g));
    wick_value never =
        REAL(x->dtype == WICK_F64 ? -DBL_MAX : -FLT_MAX); /* finite, so that its own gradient is 0, not NaN */
    wick_tensor *up = wick_where_scalar_other(C, wick_gt_scalar(C, g, NUMBER(0)), log, never);
    wick_tensor *down = wick_where_scalar_other(C, wick_lt_scalar(C, g, NUMBER(0)), log, never);
    wick_tensor *gain = wick_exp(C, ADD(log_tail_sums(b, SUB(up, out)), x));
    set_grad(b, 0, SUB(gain, wick_exp(C, ADD(log_tail_sums(b, SUB(down, out)), x))));
}
