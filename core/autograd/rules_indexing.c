/* Gradient rules of core/ops/indexing.inc and random.inc: gathering, scattering, masks, embeddings, random numbers. */
#include "../ops/rows.h"
#include "../ops/shorthand.h"
#include "rule.h"

/* The shape of an input as (pointer, count). */
#define INPUT(i) input(b, i)->sizes, input(b, i)->ndim
#define DIM arg_int(b, 1)

static wick_tensor *zeros_like_input(backward_call *b, int i) { return zeros_of(C, GRAD, INPUT(i)); }

/* ---- gather and scatter: each is the other's gradient ---- */
void d_gather(backward_call *b) { set_grad(b, 0, wick_scatter_add(C, zeros_like_input(b, 0), DIM, saved(b, 2), GRAD)); }

void d_scatter(backward_call *b) {
    if (needs(b, 0)) set_grad(b, 0, wick_scatter_value(C, GRAD, DIM, saved(b, 2), NUMBER(0)));
    if (needs(b, 3)) set_grad(b, 3, wick_gather(C, GRAD, DIM, saved(b, 2), NULL));
}
void d_scatter_value(backward_call *b) { set_grad(b, 0, wick_scatter_value(C, GRAD, DIM, saved(b, 2), NUMBER(0))); }

void d_scatter_add(backward_call *b) {
    if (needs(b, 0)) set_grad(b, 0, GRAD);
    if (needs(b, 3)) set_grad(b, 3, wick_gather(C, GRAD, DIM, saved(b, 2), NULL));
}

/* ---- index_*: by positions along a dimension ---- */
/* What the positions select, in the shape of argument 3 (which may be 0-dim). */
static wick_tensor *selected(backward_call *b) {
    wick_tensor *s = wick_index_select(C, GRAD, DIM, saved(b, 2));
    return input(b, 3)->ndim ? s : wick_reshape(C, s, NULL, 0);
}

void d_index_select(backward_call *b) {
    set_grad(b, 0, wick_index_select_backward(C, GRAD, INPUT(0), DIM, saved(b, 2)));
}

void d_index_add(backward_call *b) {
    if (needs(b, 0)) set_grad(b, 0, GRAD);
    if (needs(b, 3)) set_grad(b, 3, wick_mul_scalar(C, selected(b), *arg(b, 4)));
}

void d_index_copy(backward_call *b) {
    if (needs(b, 0)) set_grad(b, 0, wick_index_fill(C, GRAD, DIM, saved(b, 2), NUMBER(0)));
    if (needs(b, 3)) set_grad(b, 3, selected(b));
}

void d_index_fill(backward_call *b) { set_grad(b, 0, wick_index_fill(C, GRAD, DIM, saved(b, 2), NUMBER(0))); }

/* A position named twice is filled once. */
void d_index_fill_tensor(backward_call *b) {
    if (needs(b, 0)) d_index_fill(b);
    if (!needs(b, 3)) return;
    wick_tensor *untouched = wick_index_fill(C, GRAD, DIM, saved(b, 2), NUMBER(0));
    set_grad(b, 3, wick_sum(C, wick_sub(C, GRAD, untouched, NULL), NULL));
}

/* ---- reductions by index: scatter_reduce and index_reduce differ in what moves values ---- */
typedef struct moves {
    wick_tensor *(*reduce)(backward_call *b, wick_tensor *self, wick_tensor *index, wick_tensor *src);
    wick_tensor *(*add)(backward_call *b, wick_tensor *self, wick_tensor *index, wick_tensor *src);
    wick_tensor *(*take)(backward_call *b, wick_tensor *self, wick_tensor *index);
    wick_tensor *(*clear)(backward_call *b, wick_tensor *self, wick_tensor *index);
} moves;

static wick_tensor *by_scatter_reduce(backward_call *b, wick_tensor *self, wick_tensor *index, wick_tensor *src) {
    wick_scatter_reduce_options o = WICK_SCATTER_REDUCE_OPTIONS_INIT;
    o.include_self = arg_bool(b, 5);
    return wick_scatter_reduce(C, self, DIM, index, src, arg(b, 4)->as.string, &o);
}
static wick_tensor *by_scatter_add(backward_call *b, wick_tensor *self, wick_tensor *index, wick_tensor *src) {
    return wick_scatter_add(C, self, DIM, index, src);
}
static wick_tensor *by_gather(backward_call *b, wick_tensor *self, wick_tensor *index) {
    return wick_gather(C, self, DIM, index, NULL);
}
static wick_tensor *by_scatter_zero(backward_call *b, wick_tensor *self, wick_tensor *index) {
    return wick_scatter_value(C, self, DIM, index, NUMBER(0));
}
static wick_tensor *by_index_reduce(backward_call *b, wick_tensor *self, wick_tensor *index, wick_tensor *src) {
    wick_index_reduce_options o = WICK_INDEX_REDUCE_OPTIONS_INIT;
    o.include_self = arg_bool(b, 5);
    return wick_index_reduce(C, self, DIM, index, src, arg(b, 4)->as.string, &o);
}
static wick_tensor *by_index_add(backward_call *b, wick_tensor *self, wick_tensor *index, wick_tensor *src) {
    return wick_index_add(C, self, DIM, index, src, NULL);
}
static wick_tensor *by_index_select(backward_call *b, wick_tensor *self, wick_tensor *index) {
    return wick_index_select(C, self, DIM, index);
}
static wick_tensor *by_index_zero(backward_call *b, wick_tensor *self, wick_tensor *index) {
    return wick_index_fill(C, self, DIM, index, NUMBER(0));
}
static const moves scattering = {by_scatter_reduce, by_scatter_add, by_gather, by_scatter_zero};
static const moves positioning = {by_index_reduce, by_index_add, by_index_select, by_index_zero};

typedef struct reduction {
    wick_tensor *self, *index, *src, *result;
    wick_tensor *grad_self, *grad_src;
} reduction;

/* Where exactly one zero came in, the product of the others counts; where several did, nothing does. */
static void reduce_prod(backward_call *b, const moves *m, reduction *r) {
    wick_tensor *self = wick_masked_fill(C, r->self, wick_eq_scalar(C, r->self, NUMBER(0)), NUMBER(1));
    r->grad_self = wick_div(C, wick_mul(C, GRAD, m->reduce(b, self, r->index, r->src)), self);
    wick_tensor *zero = wick_eq_scalar(C, r->src, NUMBER(0));
    wick_tensor *zeros =
        m->take(b, m->add(b, zeros_of(C, GRAD, SIZES(GRAD)), r->index, cast_like(C, zero, GRAD)), r->index);
    wick_tensor *only = wick_logical_and(C, zero, wick_eq_scalar(C, zeros, NUMBER(1)));
    wick_tensor *others = m->reduce(b, r->self, r->index, wick_masked_fill(C, r->src, only, NUMBER(1)));
    wick_tensor *alone = m->take(b, wick_mul(C, GRAD, others), r->index);
    wick_tensor *plain =
        wick_div(C, m->take(b, wick_mul(C, GRAD, r->result), r->index), wick_masked_fill(C, r->src, zero, NUMBER(1)));
    r->grad_src = wick_where(C, only, alone, plain);
}

static void reduce_mean(backward_call *b, const moves *m, reduction *r) {
    wick_tensor *start = arg_bool(b, 5) ? wick_ones_like(C, GRAD, NULL) : wick_zeros_like(C, GRAD, NULL);
    wick_tensor *n = m->add(b, start, r->index, wick_ones_like(C, r->src, NULL));
    n = wick_masked_fill(C, n, wick_eq_scalar(C, n, NUMBER(0)), NUMBER(1));
    r->grad_self = wick_div(C, GRAD, n);
    r->grad_src = m->take(b, r->grad_self, r->index);
}

/* Those that equal the extreme share its gradient. */
static void reduce_extreme(backward_call *b, const moves *m, reduction *r) {
    wick_tensor *self_is = cast_like(C, wick_eq(C, r->self, r->result), GRAD);
    wick_tensor *src_is = cast_like(C, wick_eq(C, r->src, m->take(b, r->result, r->index)), GRAD);
    wick_tensor *share = wick_div(C, GRAD, m->add(b, self_is, r->index, src_is));
    r->grad_self = wick_mul(C, self_is, share);
    r->grad_src = wick_mul(C, src_is, m->take(b, share, r->index));
}

static void d_reduce(backward_call *b, const moves *m) {
    const char *name = arg(b, 4)->as.string;
    reduction r = {saved(b, 0), saved(b, 2), saved(b, 3), result(b, 0), GRAD, NULL};
    if (wick_failed(C)) return;
    if (!strcmp(name, "prod"))
        reduce_prod(b, m, &r);
    else if (!strcmp(name, "mean"))
        reduce_mean(b, m, &r);
    else if (!strcmp(name, "sum"))
        r.grad_src = m->take(b, GRAD, r.index);
    else
        reduce_extreme(b, m, &r);
    if (!arg_bool(b, 5)) r.grad_self = m->clear(b, r.grad_self, r.index);
    if (needs(b, 0)) set_grad(b, 0, r.grad_self);
    if (needs(b, 3)) set_grad(b, 3, r.grad_src);
}
void d_scatter_reduce(backward_call *b) { d_reduce(b, &scattering); }
void d_index_reduce(backward_call *b) { d_reduce(b, &positioning); }

/* ---- index tensors ---- */
/* The saved index list; None where there was none. */
static size_t saved_indices(backward_call *b, wick_tensor **out) {
    size_t n = arg_count(b, 1);
    for (size_t i = 0; i < n; ++i) out[i] = saved_item(b, 1, (int)i);
    return n;
}

void d_index(backward_call *b) {
    wick_tensor *indices[WICK_MAX_DIMS];
    wick_index_put_options o = WICK_INDEX_PUT_OPTIONS_INIT;
    o.accumulate = true;
    size_t n = saved_indices(b, indices);
    set_grad(b, 0, wick_index_put(C, zeros_like_input(b, 0), indices, n, GRAD, &o));
}

void d_index_put(backward_call *b) {
    wick_tensor *indices[WICK_MAX_DIMS];
    size_t n = saved_indices(b, indices);
    if (needs(b, 0)) {
        wick_tensor *zero = arg_bool(b, 3) ? NULL : zeros_of(C, GRAD, NULL, 0);
        set_grad(b, 0, arg_bool(b, 3) ? GRAD : wick_index_put(C, GRAD, indices, n, zero, NULL));
    }
    if (needs(b, 2)) set_grad(b, 2, wick_index(C, GRAD, indices, n));
}

/* ---- flat positions ---- */
static wick_tensor *put(backward_call *b, wick_tensor *self, wick_tensor *index, wick_tensor *source, bool accumulate) {
    wick_put_options o = WICK_PUT_OPTIONS_INIT;
    o.accumulate = accumulate;
    return wick_put(C, self, index, source, &o);
}

void d_take(backward_call *b) { set_grad(b, 0, put(b, zeros_like_input(b, 0), saved(b, 1), GRAD, true)); }

void d_put(backward_call *b) {
    wick_tensor *index = saved(b, 1);
    if (!index) return;
    if (needs(b, 0))
        set_grad(b, 0, arg_bool(b, 3) ? GRAD : put(b, GRAD, index, zeros_of(C, GRAD, SIZES(index)), false));
    if (needs(b, 2)) set_grad(b, 2, wick_reshape(C, wick_take(C, GRAD, index), INPUT(2)));
}

/* ---- masks ---- */
void d_masked_select(backward_call *b) {
    wick_tensor *mask = saved(b, 1);
    wick_dim sizes[WICK_MAX_DIMS];
    int ndim = 0;
    if (!mask || wick_fail(C, infer_broadcast(&ndim, sizes, input(b, 0)->ndim, input(b, 0)->sizes)) ||
        wick_fail(C, infer_broadcast(&ndim, sizes, mask->ndim, mask->sizes)))
        return;
    set_grad(b, 0, wick_masked_scatter(C, zeros_of(C, GRAD, sizes, (size_t)ndim), mask, GRAD));
}

void d_masked_scatter(backward_call *b) {
    if (needs(b, 0)) set_grad(b, 0, wick_masked_fill(C, GRAD, saved(b, 1), NUMBER(0)));
    if (needs(b, 2)) set_grad(b, 2, wick_masked_scatter_backward(C, GRAD, saved(b, 1), INPUT(2)));
}

/* ---- embeddings ---- */
void d_embedding(backward_call *b) {
    if (arg_bool(b, 4))
        FAIL(ctx(C), UNSUPPORTED, "embedding: sparse gradients are not supported");
    else
        set_grad(
            b, 0,
            wick_embedding_dense_backward(C, GRAD, saved(b, 1), input(b, 0)->sizes[0], arg_int(b, 2), arg_bool(b, 3)));
}

void d_embedding_dense_backward(backward_call *b) {
    wick_tensor *indices = saved(b, 1);
    if (arg_bool(b, 4)) {
        FAIL(ctx(C), UNSUPPORTED, "embedding_backward: double backward does not support scale_grad_by_freq");
        return;
    }
    wick_tensor *rows = wick_embedding(C, GRAD, indices, NULL);
    if (arg_int(b, 3) >= 0) {
        wick_tensor *padding = wick_unsqueeze(C, wick_eq_scalar(C, indices, NUMBER(arg_int(b, 3))), -1);
        rows = wick_masked_fill(C, rows, padding, NUMBER(0));
    }
    set_grad(b, 0, wick_reshape(C, rows, INPUT(0)));
}

/* ---- random operators: what was drawn does not depend on the inputs ---- */
void d_drawn(backward_call *b) {
    for (int i = 0; i < b->node->op->nargs; ++i)
        if (b->node->op->args[i].type == TYPE_TENSOR && needs(b, i)) set_grad(b, i, zeros_like_input(b, i));
}

void d_native_dropout(backward_call *b) {
    double p = arg_float(b, 1), keep = arg_none(b, 2) || arg_bool(b, 2) ? 1 - p : 1;
    set_grad(b, 0, wick_native_dropout_backward(C, GRAD, result(b, 1), keep > 0 ? 1 / keep : 0));
}

void d_native_dropout_backward(backward_call *b) {
    set_grad(b, 0, wick_native_dropout_backward(C, GRAD, saved(b, 1), arg_float(b, 2)));
}
