/* Scaled dot-product attention. */
#include <math.h>

#include "boxed.h"
#include "geometry.h"
#include "rows.h"

static wick_tensor *turned(wick_context *c, wick_tensor *t) { return wick_transpose(c, t, -2, -1); }

static bool check_attention(wick_context *c, const wick_value *args) {
    const wick_tensor *q = T(0), *k = T(1), *v = T(2), *mask = T(3);
    if (q->dtype != k->dtype || q->dtype != v->dtype)
        return !FAIL(ctx(c), INVALID_ARGUMENT,
                     "Expected query, key, and value to have the same dtype, but got query.dtype: %s key.dtype: %s and "
                     "value.dtype: %s instead.",
                     wick_dtype_name((wick_dtype)q->dtype), wick_dtype_name((wick_dtype)k->dtype),
                     wick_dtype_name((wick_dtype)v->dtype));
    if (!wants_fractions(c, q, "scaled_dot_product_attention")) return false;
    if (q->ndim < 2 || k->ndim < 2 || v->ndim < 2)
        return !FAIL(
            ctx(c), INVALID_ARGUMENT,
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: %d, key.dim: "
            "%d and value.dim: %d instead.",
            q->ndim, k->ndim, v->ndim);
    if (mask && mask->dtype != WICK_BOOL && mask->dtype != q->dtype && mask->dtype != WICK_F32)
        return !FAIL(
            ctx(c), INVALID_ARGUMENT,
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: %s",
            wick_dtype_name((wick_dtype)mask->dtype));
    if (mask && I(5))
        return !FAIL(ctx(c), INVALID_ARGUMENT,
                     "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
    return true;
}

/* What is added to the scores: 0 where attention is allowed, -inf elsewhere. A floating mask is added as it is. */
static wick_tensor *bias_of(wick_context *c, wick_tensor *mask, const wick_tensor *q) {
    if (mask->dtype != WICK_BOOL) return mask;
    wick_tensor *zero = wick_zeros_like(c, cast_like(c, mask, q), NULL);
    return wick_masked_fill(c, zero, wick_logical_not(c, mask), REAL(-INFINITY));
}

static wick_tensor *causal_mask(wick_context *c, const wick_tensor *q, const wick_tensor *k) {
    wick_ones_options o = WICK_ONES_OPTIONS_INIT;
    o.dtype = WICK_BOOL, o.device = q->device;
    return wick_tril(c, wick_ones(c, (wick_dim[]){q->sizes[q->ndim - 2], k->sizes[k->ndim - 2]}, 2, &o), NULL);
}

/* Fewer key heads than query heads: each serves several. */
static wick_tensor *repeated_heads(wick_context *c, wick_tensor *t, const wick_tensor *q) {
    wick_dim own = t->sizes[t->ndim - 3], wanted = q->sizes[q->ndim - 3];
    int64_t dim = -3;
    wick_repeat_interleave_int_options o = WICK_REPEAT_INTERLEAVE_INT_OPTIONS_INIT;
    o.dim = &dim;
    if (own == wanted) return t;
    if (own < 1 || wanted % own) {
        FAIL(ctx(c), INVALID_ARGUMENT,
             "Number of heads in key and value must divide the number of heads in query: got %lld and %lld",
             (long long)own, (long long)wanted);
        return NULL;
    }
    return wick_repeat_interleave_int(c, t, wanted / own, &o);
}

/* (query, key, value, attn_mask, dropout_p, is_causal, dropout_mask, scale, enable_gqa) -> (output, weights).
 * The square root of the scale goes to either side, so that neither overflows. */
void compose_attention_math(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *q = T(0), *k = T(1), *v = T(2), *mask = T(3);
    if (!check_attention(c, args)) return;
    if (I(8) && q->ndim >= 3) k = repeated_heads(c, k, q), v = repeated_heads(c, v, q);
    if (!k || !v) return;
    bool negative = args[7].tag && F(7) < 0;
    double scale = sqrt(args[7].tag ? fabs(F(7)) : 1 / sqrt((double)q->sizes[q->ndim - 1]));
    wick_tensor *left = wick_mul_scalar(c, q, REAL(negative ? -scale : scale)),
                *right = wick_mul_scalar(c, turned(c, k), REAL(scale));
    wick_tensor *scores = wick_matmul(c, left, right);
    if (I(5)) mask = causal_mask(c, q, k);
    if (mask) scores = wick_add(c, scores, bias_of(c, mask, q), NULL);
    wick_tensor *weights = wick__safe_softmax(c, scores, -1, NULL), *used = weights;
    if (F(4) > 0) {
        wick_tensor *dropped = T(6);
        used = dropped ? wick_mul_scalar(c, wick_masked_fill(c, weights, wick_logical_not(c, dropped), NUMBER(0)),
                                         REAL(1 / (1 - F(4))))
                       : wick_dropout(c, weights, F(4), true);
    }
    rets[0] = V(cast_like(c, wick_matmul(c, cast_like(c, used, v), v), q));
    rets[1] = V(weights);
}

/* (query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa) */
void compose_attention(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_value both[2];
    if (CALL_MANY(c, _scaled_dot_product_attention_math, both, 2, args[0], args[1], args[2], args[3], args[4], args[5],
                  NONE, args[6], args[7]))
        rets[0] = both[0];
}

/* ---- with the softmax's denominator: (query, key, value, dropout_p, is_causal, attn_mask, scale) ---- */
static wick_tensor *scores_of(wick_context *c, wick_tensor *q, wick_tensor *k, wick_tensor *mask, bool causal,
                              const wick_value *scale) {
    double s = scale->tag ? wick_value_as_double(scale) : 1 / sqrt((double)q->sizes[q->ndim - 1]);
    wick_tensor *scores = wick_mul_scalar(c, wick_matmul(c, widen(c, q), turned(c, widen(c, k))), REAL(s));
    if (causal) mask = causal_mask(c, q, k);
    return mask ? wick_add(c, scores, bias_of(c, mask, q), NULL) : scores;
}

void compose_flash_attention(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *q = T(0), *v = T(2);
    int64_t last = -1;
    if (F(3) != 0) {
        FAIL(ctx(c), INVALID_ARGUMENT,
             "scaled_dot_product_attention_flash_attention: Currently do not support dropout > 0");
        return;
    }
    if (q->ndim != 4 || T(1)->ndim != 4 || v->ndim != 4) {
        FAIL(ctx(c), INVALID_ARGUMENT,
             "scaled_dot_product_attention_flash_attention: Accept only 4 dims inputs shape of {B, H, T, K}");
        return;
    }
    wick_tensor *scores = scores_of(c, q, T(1), T(5), I(4), &args[6]);
    wick_tensor *sums = CALL(c, logsumexp, V(scores), INTS(&last, 1), BOOLEAN(false));
    wick_tensor *weights = wick_exp(c, wick_sub(c, scores, wick_unsqueeze(c, sums, -1), NULL));
    rets[0] = V(cast_like(c, wick_matmul(c, weights, widen(c, v)), q));
    rets[1] = V(sums);
}

/* (grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask, scale) */
void compose_flash_attention_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *g = widen(c, T(0)), *q = T(1), *k = T(2), *v = widen(c, T(3));
    double s = args[9].tag ? F(9) : 1 / sqrt((double)q->sizes[q->ndim - 1]);
    wick_tensor *scores = scores_of(c, q, k, T(8), I(7), &args[9]);
    wick_tensor *weights = wick_exp(c, wick_sub(c, scores, wick_unsqueeze(c, T(5), -1), NULL));
    wick_tensor *along = sum_dims(c, wick_mul(c, g, widen(c, T(4))), (int64_t[]){-1}, 1, true);
    wick_tensor *slope = wick_mul(c, weights, wick_sub(c, wick_matmul(c, g, turned(c, v)), along, NULL));
    slope = wick_mul_scalar(c, slope, REAL(s));
    rets[0] = V(cast_like(c, wick_matmul(c, slope, widen(c, k)), q));
    rets[1] = V(cast_like(c, wick_matmul(c, turned(c, slope), widen(c, q)), k));
    rets[2] = V(cast_like(c, wick_matmul(c, turned(c, weights), g), T(3)));
}
