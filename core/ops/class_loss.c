/* Losses of class scores [N, C, ...] and class numbers: negative log-likelihood, cross entropy, margins. */
#include "boxed.h"
#include "geometry.h"
#include "loss.h"
#include "rows.h"

/* ---- shape rules: (self, target, weight, reduction, ignore_index) ---- */
static wick_status *check_classes(const wick_tensor *x, const wick_tensor *target, const wick_tensor *weight) {
    char a[SIZES_TEXT], b[SIZES_TEXT];
    wick_dim classes = x->sizes[x->ndim > 1];
    if (target->dtype != WICK_I64 && target->dtype != WICK_U8)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "expected scalar type Long or Byte but found %s",
                          wick_dtype_name((wick_dtype)target->dtype));
    bool fits = target->ndim == x->ndim - 1;
    for (int i = 0; fits && i < target->ndim; ++i) fits = target->sizes[i] == x->sizes[i ? i + 1 : 0];
    if (!fits)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "size mismatch (got input: %s, target: %s)",
                          format_sizes(x->ndim, x->sizes, a, sizeof a),
                          format_sizes(target->ndim, target->sizes, b, sizeof b));
    if (weight && (weight->ndim != 1 || weight->numel != classes))
        return WICK_ERROR(
            WICK_INVALID_ARGUMENT,
            "weight tensor should be defined either for all %lld classes or no classes but got weight tensor of "
            "shape: %s",
            (long long)classes, format_sizes(weight->ndim, weight->sizes, a, sizeof a));
    return NULL;
}

static wick_status *check_nll(op_infer *ix, int at, int n) {
    const wick_tensor *x = arg_tensor(ix->args, at);
    if (n == 4 ? x->ndim != 4 : x->ndim < 1 || x->ndim > 2)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "input tensor should be %s, got %d dimensions",
                          n == 4 ? "4D" : "1D or 2D", x->ndim);
    if (!wick_dtype_is_floating((wick_dtype)x->dtype))
        return WICK_ERROR(WICK_UNSUPPORTED, "\"nll_loss\" not implemented for '%s'",
                          wick_dtype_name((wick_dtype)x->dtype));
    ix->compute = (wick_dtype)x->dtype;
    ix->cast_args = ~(1u << (at + 1));
    return check_classes(x, arg_tensor(ix->args, at + 1), arg_tensor(ix->args, at + 2));
}

static wick_status *nll_forward(op_infer *ix, int n) {
    const wick_tensor *target = arg_tensor(ix->args, 1);
    WICK_TRY(check_nll(ix, 0, n));
    meta_set(&ix->outs[0], ix->compute, ix->args[3].as.i == WICK_LOSS_NONE ? target->ndim : 0, target->sizes);
    meta_set(&ix->outs[1], ix->compute, 0, target->sizes);
    return NULL;
}
static wick_status *nll_backward(op_infer *ix, int n) {
    WICK_TRY(check_nll(ix, 1, n));
    meta_like(&ix->outs[0], arg_tensor(ix->args, 1));
    return NULL;
}
wick_status *infer_nll_loss(op_infer *ix) { return nll_forward(ix, 2); }
wick_status *infer_nll_loss2d(op_infer *ix) { return nll_forward(ix, 4); }
wick_status *infer_nll_loss_backward(op_infer *ix) { return nll_backward(ix, 2); }
wick_status *infer_nll_loss2d_backward(op_infer *ix) { return nll_backward(ix, 4); }

/* Of the fused form: rows of classes only. The total weight and the normalizer, each row's maximum and the logarithm of
 * its sum of exp(x - maximum), are in the dtype that is computed in. */
static wick_status *check_rows(op_infer *ix, int at) {
    const wick_tensor *x = arg_tensor(ix->args, at);
    if (x->ndim != 2) return WICK_ERROR(WICK_INVALID_ARGUMENT, "input tensor should be 2D, got %d dimensions", x->ndim);
    return check_nll(ix, at, 2);
}
wick_status *infer_fused_cross_entropy(op_infer *ix) {
    WICK_TRY(check_rows(ix, 0));
    WICK_TRY(nll_forward(ix, 2));
    const wick_dim sizes[] = {2, arg_tensor(ix->args, 0)->sizes[0]};
    meta_set(&ix->outs[1], compute_dtype(ix->compute), 0, sizes);
    meta_set(&ix->outs[2], compute_dtype(ix->compute), 2, sizes);
    return NULL;
}
wick_status *infer_fused_cross_entropy_backward(op_infer *ix) {
    const wick_tensor *normalizer = arg_tensor(ix->args, 7);
    char text[SIZES_TEXT];
    WICK_TRY(check_rows(ix, 1));
    const wick_dim rows = arg_tensor(ix->args, 1)->sizes[0];
    if (normalizer->ndim != 2 || normalizer->sizes[0] != 2 || normalizer->sizes[1] != rows)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "normalizer should be [2, %lld], got %s", (long long)rows,
                          format_sizes(normalizer->ndim, normalizer->sizes, text, sizeof text));
    WICK_TRY(nll_backward(ix, 2));
    ix->cast_args &= ~(3u << 6); /* total weight and normalizer are wider than the scores */
    ix->decompose = normalizer->dtype != compute_dtype(ix->compute);
    return NULL;
}

/* ---- decompositions of both ---- */
static int class_dim(const wick_tensor *x) { return x->ndim > 1; }

typedef struct labels {
    wick_tensor *safe;   /* class numbers, 0 where ignored */
    wick_tensor *weight; /* of each sample, 0 where ignored */
} labels;

static labels read_labels(wick_context *c, wick_tensor *x, wick_tensor *target, wick_tensor *weight, int64_t ignore) {
    labels l;
    wick_tensor *number = cast(c, target, WICK_I64), *ignored = wick_eq_scalar(c, number, NUMBER(ignore));
    l.safe = wick_masked_fill(c, number, ignored, NUMBER(0));
    if (weight) {
        wick_tensor *picked = wick_index_select(c, widen(c, weight), 0, flat(c, l.safe));
        l.weight = wick_masked_fill(c, wick_reshape(c, picked, SIZES(target)), ignored, NUMBER(0));
    } else {
        l.weight = cast(c, wick_logical_not(c, ignored), compute_dtype((wick_dtype)x->dtype));
    }
    return l;
}

static wick_tensor *pick(wick_context *c, wick_tensor *x, wick_tensor *number) {
    int dim = class_dim(x);
    return wick_squeeze_dim(c, wick_gather(c, x, dim, wick_unsqueeze(c, number, dim), NULL), dim);
}

void compose_nll_loss_forward(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = T(0);
    labels l = read_labels(c, x, T(1), T(2), I(4));
    wick_tensor *loss = wick_neg(c, wick_mul(c, pick(c, widen(c, x), l.safe), l.weight)),
                *total = wick_sum(c, l.weight, NULL);
    if (I(3) != WICK_LOSS_NONE) loss = wick_sum(c, loss, NULL);
    if (I(3) == WICK_LOSS_MEAN) loss = wick_div(c, loss, total);
    if (I(3) == WICK_LOSS_NONE && x->ndim > 1) total = wick_zeros_like(c, total, NULL); /* nobody needs it then */
    rets[0] = V(cast_like(c, loss, x));
    rets[1] = V(cast_like(c, total, x));
}

/* (grad_output, self, target, weight, reduction, ignore_index, total_weight) */
void compose_nll_loss_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = T(1), *g = widen(c, T(0));
    labels l = read_labels(c, x, T(2), T(3), I(5));
    if (I(4) == WICK_LOSS_MEAN) g = wick_div(c, g, widen(c, T(6)));
    wick_tensor *each = cast_like(c, wick_neg(c, wick_mul(c, g, l.weight)), x);
    int dim = class_dim(x);
    give(rets, wick_scatter(c, wick_zeros_like(c, x, NULL), dim, wick_unsqueeze(c, l.safe, dim),
                            wick_unsqueeze(c, each, dim)));
}

static void first_of_nll(wick_context *c, const wick_value *args, wick_value *rets, int op) {
    wick_value both[2];
    if (op_calln(c, op, args, 5, both, 2)) rets[0] = both[0];
}
void compose_nll_loss(wick_context *c, const wick_value *args, wick_value *rets) {
    first_of_nll(c, args, rets, OP_ID_nll_loss_forward);
}
void compose_nll_loss2d(wick_context *c, const wick_value *args, wick_value *rets) {
    first_of_nll(c, args, rets, OP_ID_nll_loss2d_forward);
}

/* Any number of dimensions: 1 and 2 are nll_loss's, others fold into the 4 of nll_loss2d. */
void compose_nll_loss_nd(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = T(0), *target = T(1);
    if (x->ndim < 1) {
        FAIL(ctx(c), INVALID_ARGUMENT, "Expected 1 or more dimensions (got %d)", x->ndim);
    } else if (x->ndim != 1 && (!target->ndim || x->sizes[0] != target->sizes[0])) {
        FAIL(ctx(c), INVALID_ARGUMENT, "Expected input batch_size (%lld) to match target batch_size (%lld).",
             (long long)x->sizes[0], (long long)(target->ndim ? target->sizes[0] : 1));
    } else if (x->ndim <= 2) {
        give(rets, CALL(c, nll_loss, args[0], args[1], args[2], args[3], args[4]));
    } else if (x->ndim == 4) {
        give(rets, CALL(c, nll_loss2d, args[0], args[1], args[2], args[3], args[4]));
    } else {
        wick_dim pixels = wick_dim_product(&x->sizes[2], x->ndim - 2);
        char a[SIZES_TEXT], b[SIZES_TEXT];
        if (target->ndim != x->ndim - 1 ||
            memcmp(&target->sizes[1], &x->sizes[2], sizeof *x->sizes * (size_t)(x->ndim - 2))) {
            FAIL(ctx(c), INVALID_ARGUMENT, "Expected target size to be that of input %s without its classes, got %s",
                 format_sizes(x->ndim, x->sizes, a, sizeof a), format_sizes(target->ndim, target->sizes, b, sizeof b));
            return;
        }
        wick_tensor *image = wick_reshape(c, x, (int64_t[]){x->sizes[0], x->sizes[1], 1, pixels}, 4);
        wick_tensor *labels = wick_reshape(c, target, (int64_t[]){x->sizes[0], 1, pixels}, 3);
        wick_tensor *out = CALL(c, nll_loss2d, V(image), V(labels), args[2], args[3], args[4]);
        give(rets, I(3) == WICK_LOSS_NONE ? wick_reshape(c, out, SIZES(target)) : out);
    }
}

/* ---- cross entropy: (self, target, weight, reduction, ignore_index, label_smoothing) ---- */
static wick_tensor *class_weights(wick_context *c, wick_tensor *weight, const wick_tensor *x) {
    int64_t sizes[WICK_MAX_DIMS];
    for (int i = 0; i < x->ndim; ++i) sizes[i] = i == class_dim(x) ? -1 : 1;
    return wick_reshape(c, weight, sizes, (size_t)x->ndim);
}

/* -sum over classes of target log p */
static wick_tensor *with_probabilities(wick_context *c, const wick_value *args, wick_tensor *log_p) {
    wick_tensor *x = T(0), *target = T(1);
    int64_t dim = class_dim(x);
    double smoothing = F(5), classes = (double)x->sizes[dim];
    if (!wick_dtype_is_floating((wick_dtype)target->dtype) || I(4) >= 0) {
        FAIL(ctx(c), INVALID_ARGUMENT,
             I(4) >= 0 ? "ignore_index is not supported for floating point target"
                       : "Expected floating point type for target with class probabilities, got %s",
             wick_dtype_name((wick_dtype)target->dtype));
        return NULL;
    }
    if (smoothing > 0)
        target = wick_add_scalar(c, wick_mul_scalar(c, target, REAL(1 - smoothing)), REAL(smoothing / classes), NULL);
    wick_tensor *terms = wick_mul(c, log_p, target);
    if (T(2)) terms = wick_mul(c, terms, class_weights(c, T(2), x));
    if (I(3) == WICK_LOSS_NONE) return wick_neg(c, sum_dims(c, terms, &dim, 1, false));
    wick_tensor *sum = wick_neg(c, wick_sum(c, terms, NULL));
    return I(3) == WICK_LOSS_MEAN ? wick_div_scalar(c, sum, REAL((double)x->numel / classes)) : sum;
}

/* (1 - s) nll + s / C (-sum over classes of log p) */
static wick_tensor *smoothed(wick_context *c, const wick_value *args, wick_tensor *log_p, wick_tensor *nll) {
    wick_tensor *x = T(0), *target = T(1), *weight = T(2);
    int64_t dim = class_dim(x);
    wick_tensor *terms = weight ? wick_mul(c, log_p, class_weights(c, weight, x)) : log_p;
    wick_tensor *ignored = wick_eq_scalar(c, target, NUMBER(I(4)));
    wick_tensor *smooth = wick_masked_fill(c, wick_neg(c, sum_dims(c, terms, &dim, 1, false)), ignored, NUMBER(0));
    if (I(3) != WICK_LOSS_NONE) smooth = wick_sum(c, smooth, NULL);
    if (I(3) == WICK_LOSS_MEAN) {
        labels l = read_labels(c, x, target, weight, I(4));
        smooth = wick_div(c, smooth, wick_sum(c, l.weight, NULL));
    }
    wick_tensor *rest = wick_mul_scalar(c, smooth, REAL(F(5) / (double)x->sizes[dim]));
    return wick_add(c, wick_mul_scalar(c, nll, REAL(1 - F(5))), rest, NULL);
}

wick_tensor *class_normalizer(wick_context *c, wick_tensor *x) {
    const int64_t dim = 1;
    wick_tensor *top = wick_amax(c, x, &(wick_amax_options){sizeof(wick_amax_options), &dim, 1, true});
    wick_tensor *rest = wick_log(c, sum_dims(c, wick_exp(c, wick_sub(c, x, top, NULL)), &dim, 1, false));
    return wick_stack(c, (wick_tensor *[]){wick_squeeze_dim(c, top, 1), rest}, 2, 0);
}

/* (self, target, weight, reduction, ignore_index) */
void compose_fused_cross_entropy(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = widen(c, T(0)), *log_p = wick_log_softmax(c, x, 1, NULL);
    wick_value both[2];
    if (!CALL_MANY(c, nll_loss_forward, both, 2, V(log_p), args[1], V(widen(c, T(2))), args[3], args[4])) return;
    rets[0] = V(cast_like(c, both[0].as.tensor, T(0)));
    rets[1] = both[1];
    rets[2] = V(class_normalizer(c, x));
}

/* (grad_output, self, target, weight, reduction, ignore_index, total_weight, normalizer) */
void compose_fused_cross_entropy_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = widen(c, T(1)), *top = wick_select(c, T(7), 0, 0), *rest = wick_select(c, T(7), 0, 1);
    wick_tensor *log_p = wick_sub(c, wick_sub(c, x, wick_unsqueeze(c, top, 1), NULL), wick_unsqueeze(c, rest, 1), NULL);
    wick_tensor *g =
        CALL(c, nll_loss_backward, V(widen(c, T(0))), V(log_p), args[2], V(widen(c, T(3))), args[4], args[5], args[6]);
    wick_tensor *grad =
        CALL(c, _log_softmax_backward_data, V(g), V(log_p), NUMBER(1), DTYPE(compute_dtype((wick_dtype)T(1)->dtype)));
    give(rets, cast_like(c, grad, T(1)));
}

/* Does the device compute log-softmax and loss at once, reading the scores once each way? What does not fit goes the other
 * way, to its errors. */
static bool has_fused(wick_context *c, const wick_value *args) {
    const wick_tensor *x = T(0), *target = T(1);
    return x->ndim == 2 && target->ndim == 1 && target->sizes[0] == x->sizes[0] && F(5) == 0 &&
           wick_dtype_is_floating((wick_dtype)x->dtype) && op_has_kernel(c, OP_ID__fused_cross_entropy, x->device);
}

static bool same_shape(const wick_tensor *a, const wick_tensor *b) {
    return a->ndim == b->ndim && !memcmp(a->sizes, b->sizes, sizeof *a->sizes * a->ndim);
}

void compose_cross_entropy_loss(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = T(0);
    if (x->ndim < 1 || F(5) < 0 || F(5) > 1) {
        FAIL(ctx(c), INVALID_ARGUMENT,
             "cross_entropy: input needs a dimension of classes, and label_smoothing must be between 0.0 and "
             "1.0. Got: %g",
             F(5));
        return;
    }
    if (has_fused(c, args)) {
        wick_value all[3];
        if (CALL_MANY(c, _fused_cross_entropy, all, 3, args[0], args[1], args[2], args[3], args[4])) rets[0] = all[0];
        return;
    }
    wick_tensor *log_p = wick_log_softmax(c, x, class_dim(x), NULL);
    if (same_shape(x, T(1))) {
        give(rets, with_probabilities(c, args, log_p));
        return;
    }
    wick_tensor *nll = CALL(c, nll_loss_nd, V(log_p), args[1], args[2], args[3], args[4]);
    give(rets, F(5) > 0 ? smoothed(c, args, log_p, nll) : nll);
}

/* ---- margins between the right class and the others ---- */
/* [N, C] of [N, C], [C] or one number. */
static wick_tensor *as_rows(wick_context *c, wick_tensor *t) {
    return t->ndim > 1 ? t : wick_reshape(c, t, (int64_t[]){1, t->numel}, 2);
}

typedef struct margins {
    wick_tensor *rows, *number, *gap; /* gap: margin - x[right] + x, 0 at the right class */
    double p;
} margins;

/* `v`: self, target, p, margin */
static margins measure(wick_context *c, const wick_value *v) {
    margins m = {.p = wick_value_as_double(&v[2])};
    wick_tensor *x = v[0].as.tensor, *target = v[1].as.tensor;
    if (!wants_fractions(c, x, "multi_margin_loss")) return m;
    if (x->ndim > 2 || target->dtype != WICK_I64 || target->numel != (x->ndim == 2 ? x->sizes[0] : 1) ||
        (m.p != 1 && m.p != 2)) {
        FAIL(ctx(c), INVALID_ARGUMENT,
             "multi_margin_loss: expected scores [N, C] or [C], one I64 target for each sample and p of 1 or 2");
        return m;
    }
    m.rows = as_rows(c, widen(c, x));
    m.number = wick_reshape(c, target, (int64_t[]){-1, 1}, 2);
    wick_tensor *right = wick_gather(c, m.rows, 1, m.number, NULL);
    wick_tensor *gap = wick_add_scalar(c, wick_sub(c, m.rows, right, NULL), v[3], NULL);
    m.gap = wick_clamp_min(c, wick_scatter_value(c, gap, 1, m.number, NUMBER(0)), NUMBER(0));
    return m;
}

static wick_tensor *weight_of_rows(wick_context *c, wick_tensor *t, wick_tensor *weight, const margins *m) {
    return weight
               ? wick_mul(c, t,
                          wick_reshape(c, wick_index_select(c, weight, 0, flat(c, m->number)), (int64_t[]){-1, 1}, 2))
               : t;
}

/* (self, target, p, margin, weight, reduction) */
void compose_multi_margin_loss(wick_context *c, const wick_value *args, wick_value *rets) {
    margins m = measure(c, args);
    wick_tensor *terms = weight_of_rows(c, m.p == 1 ? m.gap : wick_mul(c, m.gap, m.gap), T(4), &m);
    wick_tensor *loss = CALL(c, mean_dim, V(terms), INTS((const int64_t[]){1}, 1), BOOLEAN(false), NONE);
    if (!loss) return;
    wick_tensor *out = loss_reduce(c, loss, I(5));
    if (I(5) == WICK_LOSS_NONE && T(1)->ndim == 0) out = wick_squeeze_dim(c, out, 0);
    give(rets, cast_like(c, out, T(0)));
}

/* (grad_output, self, target, p, margin, weight, reduction) */
void compose_multi_margin_loss_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    margins m = measure(c, &args[1]);
    if (!m.rows) return;
    wick_tensor *slope =
        m.p == 1 ? cast_like(c, wick_gt_scalar(c, m.gap, NUMBER(0)), m.rows) : wick_mul_scalar(c, m.gap, NUMBER(2));
    slope = wick_div_scalar(c, weight_of_rows(c, slope, T(5), &m), REAL((double)m.rows->sizes[1]));
    wick_tensor *right = wick_neg(c, sum_dims(c, slope, (int64_t[]){1}, 1, true));
    wick_tensor *g = I(6) == WICK_LOSS_NONE ? wick_reshape(c, T(0), (int64_t[]){-1, 1}, 2) : T(0);
    if (I(6) == WICK_LOSS_MEAN) g = wick_div_scalar(c, g, REAL((double)m.rows->sizes[0]));
    wick_tensor *out = wick_mul(c, wick_scatter_add(c, slope, 1, m.number, right), g);
    give(rets, cast_like(c, wick_reshape(c, out, SIZES(T(1))), T(1)));
}

/* ---- several right classes a sample: target rows list them and end with -1 ---- */
typedef struct label_sets {
    wick_tensor *rows;     /* [N, C] */
    wick_tensor *number;   /* [N, C], 0 after the end */
    wick_tensor *listed;   /* [N, C]: 1 before the end */
    wick_tensor *is_right; /* [N, C]: class is listed */
    wick_tensor *gap;      /* [N, C listed, C other]: max(0, 1 - x[listed] + x[other]), 0 unless so */
} label_sets;

static label_sets read_sets(wick_context *c, wick_tensor *x, wick_tensor *target) {
    label_sets s = {NULL, NULL, NULL, NULL, NULL};
    if (!wants_fractions(c, x, "multilabel_margin_loss")) return s;
    if (x->ndim > 2 || !same_shape(x, target) || target->dtype != WICK_I64) {
        FAIL(ctx(c), INVALID_ARGUMENT,
             "multilabel_margin_loss: expected scores [N, C] or [C] and an I64 target of the same size");
        return s;
    }
    s.rows = as_rows(c, widen(c, x));
    wick_tensor *list = as_rows(c, target);
    wick_tensor *listed = wick_cumprod(c, cast(c, wick_ge_scalar(c, list, NUMBER(0)), WICK_I64), 1, NULL);
    s.number = wick_mul(c, list, listed);
    s.listed = cast_like(c, listed, s.rows);
    wick_tensor *counts = wick_scatter_add(c, wick_zeros_like(c, s.rows, NULL), 1, s.number, s.listed);
    s.is_right = cast_like(c, wick_gt_scalar(c, counts, NUMBER(0)), s.rows);
    wick_tensor *right = wick_unsqueeze(c, wick_gather(c, s.rows, 1, s.number, NULL), 2);
    wick_tensor *gap = wick_rsub_scalar(c, wick_sub(c, right, wick_unsqueeze(c, s.rows, 1), NULL), NUMBER(1), NULL);
    wick_tensor *other = wick_unsqueeze(c, wick_rsub_scalar(c, s.is_right, NUMBER(1), NULL), 1);
    s.gap = wick_mul(c, wick_clamp_min(c, gap, NUMBER(0)), wick_mul(c, wick_unsqueeze(c, s.listed, 2), other));
    return s;
}

/* (self, target, reduction) */
void compose_multilabel_margin_loss_forward(wick_context *c, const wick_value *args, wick_value *rets) {
    label_sets s = read_sets(c, T(0), T(1));
    if (!s.rows) return;
    wick_tensor *loss =
        wick_div_scalar(c, sum_dims(c, s.gap, (int64_t[]){1, 2}, 2, false), REAL((double)s.rows->sizes[1]));
    wick_tensor *out = loss_reduce(c, loss, I(2));
    if (I(2) == WICK_LOSS_NONE && T(0)->ndim < 2) out = wick_squeeze_dim(c, out, 0);
    rets[0] = V(cast_like(c, out, T(0)));
    rets[1] = V(cast_like(c, wick_reshape(c, s.is_right, SIZES(T(1))), T(0)));
}

/* (grad_output, self, target, reduction, is_target) */
void compose_multilabel_margin_loss_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    label_sets s = read_sets(c, T(1), T(2));
    if (!s.rows) return;
    wick_tensor *slope = cast_like(c, wick_gt_scalar(c, s.gap, NUMBER(0)), s.rows);
    wick_tensor *other = sum_dims(c, slope, (int64_t[]){1}, 1, false),
                *right = wick_neg(c, sum_dims(c, slope, (int64_t[]){2}, 1, false));
    wick_tensor *sum =
        wick_div_scalar(c, wick_scatter_add(c, other, 1, s.number, right), REAL((double)s.rows->sizes[1]));
    wick_tensor *g = I(3) == WICK_LOSS_NONE ? wick_reshape(c, T(0), (int64_t[]){-1, 1}, 2) : T(0);
    if (I(3) == WICK_LOSS_MEAN) g = wick_div_scalar(c, g, REAL((double)s.rows->sizes[0]));
    give(rets, cast_like(c, wick_reshape(c, wick_mul(c, sum, g), SIZES(T(1))), T(1)));
}

void compose_multilabel_margin_loss(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_value both[2];
    if (CALL_MANY(c, multilabel_margin_loss_forward, both, 2, args[0], args[1], args[2])) rets[0] = both[0];
}
