/* Gradient rules of views, copies, joins and rearrangements (core/ops/view.inc, factory.inc). */
#include "../ops/rows.h"
#include "../ops/shorthand.h"
#include "rule.h"

/* A list argument as (pointer, count). */
#define INTS(i) arg_ints(b, i), arg_count(b, i)
#define INPUT(i) input(b, i)->sizes, input(b, i)->ndim

/* ---- the gradient has the same elements in another arrangement ---- */
void d_same(backward_call *b) { set_grad(b, 0, GRAD); }
void d_reshaped(backward_call *b) { set_grad(b, 0, wick_reshape(C, GRAD, INPUT(0))); }
void d_transpose(backward_call *b) { set_grad(b, 0, wick_transpose(C, GRAD, arg_int(b, 1), arg_int(b, 2))); }
void d_t(backward_call *b) { set_grad(b, 0, wick_t(C, GRAD)); }
void d_conj_view(backward_call *b) { set_grad(b, 0, wick_conj(C, GRAD)); }
void d_neg_view(backward_call *b) { set_grad(b, 0, wick_neg(C, GRAD)); }
void d_flip(backward_call *b) { set_grad(b, 0, wick_flip(C, GRAD, INTS(1))); }

void d_permute(backward_call *b) {
    int64_t inverse[WICK_MAX_DIMS];
    int ndim = (int)arg_count(b, 1);
    for (int i = 0; i < ndim; ++i) inverse[arg_ints(b, 1)[i] + (arg_ints(b, 1)[i] < 0 ? ndim : 0)] = i;
    set_grad(b, 0, wick_permute(C, GRAD, inverse, (size_t)ndim));
}

void d_roll(backward_call *b) {
    int64_t back[WICK_MAX_DIMS];
    wick_roll_options o = WICK_ROLL_OPTIONS_INIT;
    for (size_t i = 0; i < arg_count(b, 1); ++i) back[i] = -arg_ints(b, 1)[i];
    o.dims = arg_ints(b, 2), o.dims_count = arg_count(b, 2);
    set_grad(b, 0, wick_roll(C, GRAD, back, arg_count(b, 1), &o));
}

void d_view_as_real(backward_call *b) {
    set_grad(b, 0, wick_view_as_complex(C, wick_resolve_neg(C, wick_contiguous(C, GRAD, NULL))));
}
void d_view_as_complex(backward_call *b) {
    set_grad(b, 0, wick_view_as_real(C, wick_resolve_conj(C, wick_contiguous(C, GRAD, NULL))));
}

/* ---- a part of the input: the rest gets zeros ---- */
void d_select(backward_call *b) {
    set_grad(b, 0, wick_select_backward(C, GRAD, INPUT(0), arg_int(b, 1), arg_int(b, 2)));
}
void d_select_backward(backward_call *b) { set_grad(b, 0, wick_select(C, GRAD, arg_int(b, 2), arg_int(b, 3))); }

void d_slice(backward_call *b) {
    int64_t start = arg_none(b, 2) ? 0 : arg_int(b, 2), end = arg_none(b, 3) ? INT64_MAX : arg_int(b, 3);
    set_grad(b, 0, wick_slice_backward(C, GRAD, INPUT(0), arg_int(b, 1), start, end, arg_int(b, 4)));
}
void d_slice_backward(backward_call *b) {
    set_grad(b, 0, slice_of(C, GRAD, arg_int(b, 2), arg_int(b, 3), arg_int(b, 4), arg_int(b, 5)));
}

void d_diagonal(backward_call *b) {
    set_grad(b, 0, wick_diagonal_backward(C, GRAD, INPUT(0), arg_int(b, 1), arg_int(b, 2), arg_int(b, 3)));
}
void d_diagonal_backward(backward_call *b) {
    set_grad(b, 0, diagonal_of(C, GRAD, arg_int(b, 2), arg_int(b, 3), arg_int(b, 4)));
}
void d_diag_embed(backward_call *b) {
    set_grad(b, 0, diagonal_of(C, GRAD, arg_int(b, 1), arg_int(b, 2), arg_int(b, 3)));
}

void d_unfold(backward_call *b) {
    set_grad(b, 0, wick_unfold_backward(C, GRAD, INPUT(0), arg_int(b, 1), arg_int(b, 2), arg_int(b, 3)));
}
void d_unfold_backward(backward_call *b) {
    set_grad(b, 0, wick_unfold(C, GRAD, arg_int(b, 2), arg_int(b, 3), arg_int(b, 4)));
}

void d_tril(backward_call *b) {
    wick_tril_options o = WICK_TRIL_OPTIONS_INIT;
    o.diagonal = arg_int(b, 1);
    set_grad(b, 0, wick_tril(C, GRAD, &o));
}
void d_triu(backward_call *b) {
    wick_triu_options o = WICK_TRIU_OPTIONS_INIT;
    o.diagonal = arg_int(b, 1);
    set_grad(b, 0, wick_triu(C, GRAD, &o));
}

/* ---- as_strided: both geometries meet in an imagined storage ---- */
typedef struct place {
    int ndim;
    const wick_dim *sizes, *strides;
    int64_t offset;
} place;

static wick_tensor *at_place(wick_context *c, wick_tensor *storage, const place *p) {
    return strided_of(c, storage, p->ndim, p->sizes, p->strides, p->offset);
}

/* True unless each element surely has a place of its own: the strides, sorted, step over what lies within. */
static bool may_overlap(const place *p) {
    wick_dim reach = 0, last = -1;
    for (int n = 0; n < p->ndim; ++n) {
        int best = -1;
        for (int i = 0; i < p->ndim; ++i)
            if (p->sizes[i] > 1 && p->strides[i] > last && (best < 0 || p->strides[i] < p->strides[best])) best = i;
        if (best < 0) break;
        for (int i = 0; i < p->ndim; ++i)
            if (i != best && p->sizes[i] > 1 && p->strides[i] == p->strides[best]) return true;
        if (p->strides[best] <= reach) return true;
        last = p->strides[best];
        reach += (p->sizes[best] - 1) * last;
    }
    return false;
}

/* What `values`, laid out at `p`, add up to in a storage of n elements. */
static wick_tensor *sum_at_place(wick_context *c, wick_tensor *values, const place *p, wick_dim n) {
    wick_tensor *where = flat(c, at_place(c, counting(c, n, values), p));
    return wick_index_add(c, zeros_of(c, values, &n, 1), 0, where, flat(c, values), NULL);
}

/* Elements of the input that share a place share the gradient. */
static wick_tensor *divide_shared(wick_context *c, wick_tensor *sum, const place *p, wick_dim n) {
    wick_tensor *where = flat(c, at_place(c, counting(c, n, sum), p));
    wick_tensor *ones = where ? wick_new_ones(c, sum, SIZES(where), NULL) : NULL;
    wick_tensor *count = wick_index_add(c, zeros_of(c, sum, &n, 1), 0, where, ones, NULL);
    wick_clamp_options o = WICK_CLAMP_OPTIONS_INIT;
    o.min = NUMBER(1);
    return wick_div(c, sum,
                    wick_clamp(c, wick_dtype_is_complex((wick_dtype)sum->dtype) ? wick_real(c, count) : count, &o));
}

static wick_tensor *as_strided_grad(wick_context *c, wick_tensor *grad, place in, place out) {
    int64_t first = in.offset < out.offset ? in.offset : out.offset;
    in.offset -= first, out.offset -= first;
    wick_dim n = in.offset + geometry_span(in.ndim, in.sizes, in.strides);
    wick_dim n_out = out.offset + geometry_span(out.ndim, out.sizes, out.strides);
    if (n_out > n) n = n_out;
    wick_tensor *sum = sum_at_place(c, grad, &out, n);
    if (may_overlap(&in)) sum = divide_shared(c, sum, &in, n);
    return at_place(c, sum, &in);
}

void d_as_strided(backward_call *b) {
    const geometry *g = b->node->payload;
    place in = {g->ndim, g->sizes, g->strides, g->offset};
    place out = {(int)arg_count(b, 1), arg_ints(b, 1), arg_ints(b, 2), arg_none(b, 3) ? g->offset : arg_int(b, 3)};
    set_grad(b, 0, as_strided_grad(C, GRAD, in, out));
}

/* ---- scatters of views: the slot's gradient is src's ---- */
static wick_tensor *zeros_like_input(backward_call *b, int i) { return zeros_of(C, GRAD, INPUT(i)); }
static wick_tensor *zeros_like(backward_call *b, wick_tensor *t) { return t ? wick_zeros_like(C, t, NULL) : NULL; }

void d_diagonal_scatter(backward_call *b) {
    wick_diagonal_scatter_options o = WICK_DIAGONAL_SCATTER_OPTIONS_INIT;
    o.offset = arg_int(b, 2), o.dim1 = arg_int(b, 3), o.dim2 = arg_int(b, 4);
    wick_tensor *slot = diagonal_of(C, GRAD, o.offset, o.dim1, o.dim2);
    if (needs(b, 0)) set_grad(b, 0, wick_diagonal_scatter(C, GRAD, zeros_like(b, slot), &o));
    if (needs(b, 1)) set_grad(b, 1, slot);
}

void d_select_scatter(backward_call *b) {
    wick_tensor *slot = wick_select(C, GRAD, arg_int(b, 2), arg_int(b, 3));
    if (needs(b, 0)) set_grad(b, 0, wick_select_scatter(C, GRAD, zeros_like(b, slot), arg_int(b, 2), arg_int(b, 3)));
    if (needs(b, 1)) set_grad(b, 1, slot);
}

void d_slice_scatter(backward_call *b) {
    int64_t start = arg_none(b, 3) ? 0 : arg_int(b, 3), end = arg_none(b, 4) ? INT64_MAX : arg_int(b, 4);
    wick_slice_scatter_options o = WICK_SLICE_SCATTER_OPTIONS_INIT;
    o.dim = arg_int(b, 2), o.start = &start, o.end = &end, o.step = arg_int(b, 5);
    wick_tensor *slot = slice_of(C, GRAD, o.dim, start, end, o.step);
    if (needs(b, 0)) set_grad(b, 0, wick_slice_scatter(C, GRAD, zeros_like(b, slot), &o));
    if (needs(b, 1)) set_grad(b, 1, slot);
}

void d_as_strided_scatter(backward_call *b) {
    wick_tensor *grad = wick_contiguous(C, GRAD, NULL);
    int64_t offset = arg_none(b, 4) ? 0 : arg_int(b, 4);
    wick_as_strided_scatter_options o = WICK_AS_STRIDED_SCATTER_OPTIONS_INIT;
    o.storage_offset = &offset;
    wick_tensor *slot = strided_of(C, grad, (int)arg_count(b, 2), arg_ints(b, 2), arg_ints(b, 3), offset);
    if (needs(b, 0)) set_grad(b, 0, wick_as_strided_scatter(C, grad, zeros_like(b, slot), INTS(2), INTS(3), &o));
    if (needs(b, 1)) set_grad(b, 1, slot);
}

/* ---- joins and repetitions ---- */
/* The payload holds each part's length; 0 for one that was skipped. */
void d_cat(backward_call *b) {
    const wick_dim *lengths = b->node->payload;
    wick_dim start = 0;
    for (int i = 0; i < (int)b->node->args[0].count; start += lengths[i++]) {
        if (!needs_item(b, 0, i)) continue;
        const node_meta *m = input_item(b, 0, i);
        bool skipped = m->ndim == 1 && m->sizes[0] == 0;
        set_grad_item(b, 0, i,
                      skipped ? zeros_of(C, GRAD, m->sizes, m->ndim)
                              : slice_of(C, GRAD, arg_int(b, 1), start, start + lengths[i], 1));
    }
}

/* Each dimension of the gradient is (times, size): the sum over times. */
void d_repeat(backward_call *b) {
    const node_meta *in = input(b, 0);
    wick_dim split[2 * WICK_MAX_DIMS];
    int64_t times[WICK_MAX_DIMS];
    int ndim = (int)arg_count(b, 1), lead = ndim - in->ndim, n = 0, repeated = 0;
    for (int i = 0; i < ndim; ++i) {
        wick_dim size = i < lead ? 1 : in->sizes[i - lead];
        if (arg_ints(b, 1)[i] == 0) return set_grad(b, 0, zeros_like_input(b, 0));
        if (arg_ints(b, 1)[i] != 1) times[repeated++] = n, split[n++] = arg_ints(b, 1)[i];
        if (i >= lead)
            split[n++] = size;
        else if (arg_ints(b, 1)[i] == 1)
            times[repeated++] = n, split[n++] = 1;
    }
    wick_tensor *grad = wick_reshape(C, GRAD, split, (size_t)n);
    set_grad(b, 0, repeated ? sum_dims(C, grad, times, (size_t)repeated, false) : grad);
}

/* ---- padding ---- */
void d_constant_pad(backward_call *b) {
    int64_t back[2 * WICK_MAX_DIMS];
    for (size_t i = 0; i < arg_count(b, 1); ++i) back[i] = -arg_ints(b, 1)[i];
    set_grad(b, 0, wick_constant_pad_nd(C, GRAD, back, arg_count(b, 1), NULL));
}

#define PAD_RULES(name)                                                                                        \
    void d_##name(backward_call *b) { set_grad(b, 0, wick_##name##_backward(C, GRAD, saved(b, 0), INTS(1))); } \
    void d_##name##_backward(backward_call *b) {                                                               \
        if (needs(b, 0)) set_grad(b, 0, wick_##name(C, GRAD, INTS(2)));                                        \
        if (needs(b, 1)) set_grad(b, 1, zeros_like_input(b, 1));                                               \
    }
PAD_RULES(reflection_pad1d)
PAD_RULES(reflection_pad2d)
PAD_RULES(reflection_pad3d)
PAD_RULES(replication_pad1d)
PAD_RULES(replication_pad2d)
PAD_RULES(replication_pad3d)

/* ---- copies and fills ---- */
void d_zeros(backward_call *b) { set_grad(b, 0, zeros_like_input(b, 0)); }

static wick_tensor *to_input(backward_call *b, int i, wick_tensor *grad) {
    wick_to_options o = WICK_TO_OPTIONS_INIT;
    o.dtype = (wick_dtype)input(b, i)->dtype, o.device = input(b, i)->device;
    if (grad && wick_dtype_is_complex((wick_dtype)grad->dtype) && !wick_dtype_is_complex(o.dtype))
        grad = wick_real(C, grad);
    return wick_to(C, grad, &o);
}

void d_copy(backward_call *b) {
    if (needs(b, 0)) set_grad(b, 0, zeros_like_input(b, 0));
    if (needs(b, 1)) set_grad(b, 1, to_input(b, 1, GRAD));
}

void d_to_copy(backward_call *b) { set_grad(b, 0, to_input(b, 0, GRAD)); }

void d_fill_tensor(backward_call *b) {
    if (needs(b, 0)) set_grad(b, 0, zeros_like_input(b, 0));
    if (needs(b, 1)) set_grad(b, 1, wick_sum(C, GRAD, NULL));
}
