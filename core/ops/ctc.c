/* Connectionist temporal classification (Graves et al., 2006): the sum over all alignments of labels to time steps, as
 * recursions over time in log space. Labels are extended with blanks around each: L = 2 S + 1 places. */
#include <math.h>

#include "boxed.h"
#include "geometry.h"
#include "loss.h"
#include "rows.h"

/* What both directions start from: all [N, ...]. */
typedef struct alignment {
    wick_tensor *log_probs; /* [N, T, C] */
    wick_tensor *places;    /* [N, L]: the label of each place */
    wick_tensor *skip;      /* [N, L]: may be entered from two places before */
    wick_tensor *scores;    /* [N, T, L]: log-probability of each place's label */
    wick_tensor *last;      /* [N, L]: an alignment may end here */
    wick_tensor *lengths;   /* [N, 1], of the inputs */
    wick_dim batch, steps, width;
} alignment;

static wick_tensor *from_list(wick_context *c, const wick_value *list, const wick_tensor *like) {
    const wick_dim size = list->count;
    return wick_to_device(c, wick_tensor_from_host(c, list->as.ints, WICK_I64, 1, &size, wick_runtime_host(ctx(c)->rt)),
                          like->device, WICK_I64, NULL);
}

static bool check_ctc(wick_context *c, const wick_tensor *log_probs, const wick_tensor *targets, const wick_value *in,
                      const wick_value *out, int64_t blank, int64_t *longest) {
    wick_dim total = 0;
    if (log_probs->ndim != 3 || !wick_dtype_is_floating((wick_dtype)log_probs->dtype))
        return !FAIL(ctx(c), INVALID_ARGUMENT, "ctc_loss: log_probs must be a floating tensor [T, N, C]");
    if (blank < 0 || blank >= log_probs->sizes[2])
        return !FAIL(ctx(c), INVALID_ARGUMENT, "blank must be in label range");
    if (in->count != log_probs->sizes[1] || out->count != log_probs->sizes[1])
        return !FAIL(ctx(c), INVALID_ARGUMENT, "input_lengths and target_lengths must be of size batch_size");
    if (targets->dtype != WICK_I64 && targets->dtype != WICK_I32)
        return !FAIL(ctx(c), INVALID_ARGUMENT, "ctc_loss: targets must be I64 or I32");
    for (uint32_t n = 0; n < out->count; ++n) {
        if (in->as.ints[n] < 0 || in->as.ints[n] > log_probs->sizes[0])
            return !FAIL(ctx(c), INVALID_ARGUMENT,
                         "Expected input_lengths to have value at most %lld, but got value %lld",
                         (long long)log_probs->sizes[0], (long long)in->as.ints[n]);
        if (out->as.ints[n] < 0)
            return !FAIL(ctx(c), INVALID_ARGUMENT, "ctc_loss: target lengths must not be negative");
        if (out->as.ints[n] > *longest) *longest = out->as.ints[n];
        total = wick_dim_add(total, out->as.ints[n]);
    }
    bool fits = targets->ndim == 1
                    ? targets->numel == total
                    : targets->ndim == 2 && targets->sizes[0] == (wick_dim)out->count && targets->sizes[1] >= *longest;
    return fits || !FAIL(ctx(c), INVALID_ARGUMENT,
                         "Expected targets to be [N, S] or all labels in one row, as target_lengths say");
}

/* Labels as [N, S]; after a sample's end they do not matter. */
static wick_tensor *padded_labels(wick_context *c, wick_tensor *targets, const wick_value *lengths, int64_t longest) {
    targets = cast(c, targets, WICK_I64);
    if (!targets || targets->ndim == 2) return wick_narrow(c, targets, 1, 0, longest);
    wick_tensor **rows = scope_array(ctx(c), lengths->count);
    int64_t at = 0;
    for (uint32_t n = 0; rows && n < lengths->count; ++n) {
        int64_t own = lengths->as.ints[n];
        rows[n] = wick_constant_pad_nd(c, wick_narrow(c, targets, 0, at, own), (int64_t[]){0, longest - own}, 2, NULL);
        at += own;
    }
    return wick_failed(c) || !rows ? NULL : stack_of(c, rows, lengths->count, 0);
}

/* places: blank, label, blank, label ... blank */
static wick_tensor *with_blanks(wick_context *c, wick_tensor *labels, int64_t blank) {
    wick_dim batch = labels->sizes[0], longest = labels->sizes[1];
    wick_tensor *blanks = wick_full_like(c, labels, NUMBER(blank), NULL);
    wick_tensor *pairs =
        wick_reshape(c, stack_of(c, (wick_tensor *[]){blanks, labels}, 2, 2), (int64_t[]){batch, 2 * longest}, 2);
    return cat_of(c, (wick_tensor *[]){pairs, wick_new_full(c, labels, (wick_dim[]){batch, 1}, 2, NUMBER(blank), NULL)},
                  2, 1);
}

static bool align(wick_context *c, alignment *a, wick_tensor *log_probs, wick_tensor *targets, const wick_value *in,
                  const wick_value *out, int64_t blank) {
    int64_t longest = 0;
    if (!check_ctc(c, log_probs, targets, in, out, blank, &longest)) return false;
    a->steps = log_probs->sizes[0], a->batch = log_probs->sizes[1], a->width = 2 * longest + 1;
    a->log_probs = wick_transpose(c, widen(c, log_probs), 0, 1);
    wick_tensor *labels = padded_labels(c, targets, out, longest);
    if (!labels) return false;
    a->places = with_blanks(c, labels, blank);
    wick_tensor *two_before = wick_constant_pad_nd(
        c, slice_of(c, a->places, 1, 0, a->width - 2 > 0 ? a->width - 2 : 0, 1), (int64_t[]){a->width < 2 ? 1 : 2, 0},
        2, &(wick_constant_pad_nd_options){sizeof(wick_constant_pad_nd_options), NUMBER(blank)});
    a->skip = wick_logical_and(c, wick_ne_scalar(c, a->places, NUMBER(blank)), wick_ne(c, a->places, two_before));
    wick_tensor *index = expand_of(c, wick_unsqueeze(c, a->places, 1), (wick_dim[]){a->batch, a->steps, a->width}, 3);
    a->scores = wick_gather(c, a->log_probs, 2, index, NULL);
    a->lengths = wick_unsqueeze(c, from_list(c, in, log_probs), 1);
    wick_tensor *end = wick_unsqueeze(c, wick_mul_scalar(c, from_list(c, out, log_probs), NUMBER(2)), 1),
                *place = counting(c, a->width, log_probs);
    a->last = wick_logical_or(c, wick_eq(c, place, end), wick_eq(c, place, wick_add_scalar(c, end, NUMBER(-1), NULL)));
    return !wick_failed(c);
}

/* t moved by n places (n > 0: towards higher ones); what comes in is -inf. */
static wick_tensor *moved(wick_context *c, wick_tensor *t, int64_t n) {
    wick_constant_pad_nd_options o = WICK_CONSTANT_PAD_ND_OPTIONS_INIT;
    o.value = REAL(-INFINITY);
    if (!t) return NULL;
    int64_t size = n < 0 ? -n : n, width = t->sizes[1];
    if (size >= width) return wick_full_like(c, t, REAL(-INFINITY), NULL);
    return n > 0 ? wick_constant_pad_nd(c, wick_narrow(c, t, 1, 0, width - size), (int64_t[]){size, 0}, 2, &o)
                 : wick_constant_pad_nd(c, wick_narrow(c, t, 1, size, width - size), (int64_t[]){0, size}, 2, &o);
}

static wick_tensor *log_sum(wick_context *c, wick_tensor *x, wick_tensor *y, wick_tensor *z) {
    int64_t dim = 0;
    return CALL(c, logsumexp, V(stack_of(c, (wick_tensor *[]){x, y, z}, 3, 0)), INTS(&dim, 1), BOOLEAN(false));
}
static wick_tensor *only(wick_context *c, wick_tensor *t, wick_tensor *where) {
    return wick_where_scalar_other(c, where, t, REAL(-INFINITY));
}

/* alpha [N, T, L]: log of the sum over alignments of the first steps that have reached a place. */
static wick_tensor *forward_sums(wick_context *c, const alignment *a) {
    wick_tensor **steps = scope_array(ctx(c), (size_t)a->steps), *place = counting(c, a->width, a->scores);
    for (int64_t t = 0; steps && t < a->steps && !wick_failed(c); ++t) {
        wick_tensor *score = wick_select(c, a->scores, 1, t), *before = t ? steps[t - 1] : NULL;
        if (!t)
            steps[t] = only(c, score, wick_lt_scalar(c, place, NUMBER(2)));
        else
            steps[t] = wick_add(c, log_sum(c, before, moved(c, before, 1), only(c, moved(c, before, 2), a->skip)),
                                score, NULL);
    }
    return wick_failed(c) || !steps ? NULL : stack_of(c, steps, (size_t)a->steps, 1);
}

/* beta [N, T, L]: the same for the steps from t on, ending where each sample ends. */
static wick_tensor *backward_sums(wick_context *c, const alignment *a) {
    wick_tensor **steps = scope_array(ctx(c), (size_t)a->steps), *after = NULL;
    for (int64_t t = a->steps - 1; steps && t >= 0 && !wick_failed(c); --t) {
        wick_tensor *score = wick_select(c, a->scores, 1, t), *next = wick_full_like(c, score, REAL(-INFINITY), NULL);
        if (after)
            next =
                wick_add(c, log_sum(c, after, moved(c, after, -1), moved(c, only(c, after, a->skip), -2)), score, NULL);
        wick_tensor *is_last = wick_eq_scalar(c, a->lengths, NUMBER(t + 1));
        steps[t] = after = wick_where(c, is_last, only(c, score, a->last), next);
    }
    return wick_failed(c) || !steps ? NULL : stack_of(c, steps, (size_t)a->steps, 1);
}

/* ---- (log_probs, targets, input_lengths, target_lengths, blank, zero_infinity) -> (loss [N], log_alpha) ---- */
void compose_ctc(wick_context *c, const wick_value *args, wick_value *rets) {
    alignment a;
    int64_t dim = 1;
    if (!align(c, &a, T(0), T(1), &args[2], &args[3], I(4))) return;
    wick_tensor *alpha = forward_sums(c, &a);
    /* the last step of each sample; without any step only the empty label is reached */
    wick_tensor *at =
        wick_unsqueeze(c, wick_clamp_min(c, wick_add_scalar(c, a.lengths, NUMBER(-1), NULL), NUMBER(0)), 2);
    wick_tensor *final =
        wick_squeeze_dim(c, wick_gather(c, alpha, 1, expand_of(c, at, (wick_dim[]){a.batch, 1, a.width}, 3), NULL), 1);
    wick_tensor *empty =
        only(c, wick_zeros_like(c, final, NULL), wick_eq_scalar(c, counting(c, a.width, final), NUMBER(0)));
    final = wick_where(c, wick_eq_scalar(c, a.lengths, NUMBER(0)), empty, final);
    wick_tensor *loss = wick_neg(c, CALL(c, logsumexp, V(only(c, final, a.last)), INTS(&dim, 1), BOOLEAN(false)));
    rets[0] = V(cast_like(c, loss, T(0)));
    rets[1] = V(cast_like(c, alpha, T(0)));
}

/* (grad, log_probs, targets, input_lengths, target_lengths, neg_log_likelihood, log_alpha, blank, zero_infinity).
 * As everywhere, the gradient is that of log-probabilities which come from a log-softmax: it sums to 0 over classes. */
void compose_ctc_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    alignment a;
    if (!align(c, &a, T(1), T(2), &args[3], &args[4], I(7))) return;
    wick_tensor *nll = wick_reshape(c, widen(c, T(5)), (int64_t[]){a.batch, 1, 1}, 3), *beta = backward_sums(c, &a);
    wick_tensor *joint = wick_add(c, widen(c, T(6)), beta, NULL);
    wick_tensor *weight = wick_exp(c, wick_sub(c, wick_add(c, joint, nll, NULL), a.scores, NULL));
    weight = wick_masked_fill(c, weight, wick_eq_scalar(c, joint, REAL(-INFINITY)), NUMBER(0));
    wick_tensor *index = expand_of(c, wick_unsqueeze(c, a.places, 1), (wick_dim[]){a.batch, a.steps, a.width}, 3);
    wick_tensor *expected = wick_scatter_add(c, wick_zeros_like(c, a.log_probs, NULL), 2, index, weight);
    wick_tensor *out = wick_mul(c, wick_sub(c, wick_exp(c, a.log_probs), expected, NULL),
                                wick_reshape(c, widen(c, T(0)), (int64_t[]){-1, 1, 1}, 3));
    wick_tensor *past = wick_ge(c, counting(c, a.steps, T(1)), a.lengths); /* [N, T] */
    out = wick_masked_fill(c, out, wick_unsqueeze(c, past, 2), NUMBER(0));
    if (I(8)) out = wick_masked_fill(c, out, wick_eq_scalar(c, nll, REAL(INFINITY)), NUMBER(0));
    give(rets, cast_like(c, wick_transpose(c, out, 0, 1), T(1)));
}

/* ---- (log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity) ---- */
static void ctc_loss(wick_context *c, const wick_value *args, wick_value *rets, wick_value in, wick_value out) {
    wick_tensor *log_probs = T(0), *targets = T(1);
    bool single = log_probs->ndim == 2;
    wick_value both[2];
    if (single) {
        log_probs = wick_unsqueeze(c, log_probs, 1);
        targets = targets->ndim == 1 ? wick_unsqueeze(c, targets, 0) : targets;
    }
    if (!CALL_MANY(c, _ctc_loss, both, 2, V(log_probs), V(targets), in, out, args[4], args[6])) return;
    wick_tensor *loss = both[0].as.tensor;
    if (I(6)) loss = wick_masked_fill(c, loss, wick_eq_scalar(c, loss, REAL(INFINITY)), NUMBER(0));
    if (I(5) == WICK_LOSS_MEAN) loss = wick_div(c, loss, wick_clamp_min(c, from_list(c, &out, loss), NUMBER(1)));
    loss = loss_reduce(c, loss, I(5));
    give(rets, single && I(5) == WICK_LOSS_NONE ? wick_squeeze_dim(c, loss, 0) : loss);
}
void compose_ctc_loss_lengths(wick_context *c, const wick_value *args, wick_value *rets) {
    ctc_loss(c, args, rets, args[2], args[3]);
}

/* Lengths in tensors are read on the host. */
void compose_ctc_loss(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_value lists[2];
    int64_t *memory[2] = {NULL, NULL};
    bool ok = true;
    for (int i = 0; i < 2 && ok; ++i) {
        wick_tensor *t = cast(c, flat(c, T(i + 2)), WICK_I64);
        ok = t && (memory[i] = rt_alloc(ctx(c)->rt, sizeof(int64_t) * (size_t)(t->numel + 1)));
        if (!ok && t) FAIL(ctx(c), OUT_OF_MEMORY, "ctc_loss: cannot allocate %lld lengths", (long long)t->numel);
        ok = ok && !wick_fail(c, wick_tensor_to_host(c, t, memory[i], sizeof(int64_t) * (size_t)t->numel));
        if (ok) lists[i] = INTS(memory[i], t->numel);
    }
    if (ok) ctc_loss(c, args, rets, lists[0], lists[1]);
    for (int i = 0; i < 2; ++i) rt_free(ctx(c)->rt, memory[i]);
}
