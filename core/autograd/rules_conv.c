/* Gradient rules of convolution and pooling (nn.inc). */
#include "../ops/boxed.h"
#include "../ops/rows.h"
#include "rule.h"

#define ARG(i) (*arg(b, (i)))

/* ---- convolution: stride to groups are arguments 3 to 8 ---- */
void d_convolution(backward_call *b) {
    wick_value grads[3], bias_sizes = needs(b, 2) ? INTS(input(b, 2)->sizes, 1) : NONE;
    const uint8_t mask[3] = {needs(b, 0), needs(b, 1), needs(b, 2)};
    wick_tensor *x = conjugate(b, saved(b, 0)), *w = conjugate(b, saved(b, 1));
    if (!CALL_MANY(C, convolution_backward, grads, 3, V(GRAD), V(x), V(w), bias_sizes, ARG(3), ARG(4), ARG(5), ARG(6),
                   ARG(7), ARG(8), wick_value_bools(mask, 3)))
        return;
    for (int i = 0; i < 3; ++i)
        if (mask[i]) set_grad(b, i, grads[i].as.tensor);
}

void d_im2col(backward_call *b) {
    const node_meta *x = input(b, 0);
    set_grad(b, 0, CALL(C, col2im, V(GRAD), INTS(&x->sizes[x->ndim - 2], 2), ARG(1), ARG(2), ARG(3), ARG(4)));
}
void d_col2im(backward_call *b) { set_grad(b, 0, CALL(C, im2col, V(GRAD), ARG(2), ARG(3), ARG(4), ARG(5))); }

/* ---- averages: linear, so that the gradient of the backward is the forward ---- */
#define AVERAGE(n)                                                                                                 \
    void d_avg_pool##n##d(backward_call *b) {                                                                      \
        set_grad(b, 0,                                                                                             \
                 CALL(C, avg_pool##n##d_backward, V(GRAD), V(saved(b, 0)), ARG(1), ARG(2), ARG(3), ARG(4), ARG(5), \
                      ARG(6)));                                                                                    \
    }                                                                                                              \
    void d_avg_pool##n##d_backward(backward_call *b) {                                                             \
        if (needs(b, 0))                                                                                           \
            set_grad(b, 0, CALL(C, avg_pool##n##d, V(GRAD), ARG(2), ARG(3), ARG(4), ARG(5), ARG(6), ARG(7)));      \
    }                                                                                                              \
    void d_adaptive_avg_pool##n##d(backward_call *b) {                                                             \
        set_grad(b, 0, wick__adaptive_avg_pool##n##d_backward(C, GRAD, saved(b, 0)));                              \
    }                                                                                                              \
    void d_adaptive_avg_pool##n##d_backward(backward_call *b) {                                                    \
        if (needs(b, 0))                                                                                           \
            set_grad(b, 0, wick__adaptive_avg_pool##n##d(C, GRAD, &input(b, 0)->sizes[input(b, 0)->ndim - n], n)); \
    }
AVERAGE(2)
AVERAGE(3)

/* ---- maxima: result 1 holds the place of each in its plane of n dimensions ---- */
static wick_tensor *pick(backward_call *b, wick_tensor *planes, wick_tensor *index, int n) {
    int64_t in[WICK_MAX_DIMS], out[WICK_MAX_DIMS];
    if (!planes || !index) return NULL;
    int lead = index->ndim - n;
    memcpy(in, planes->sizes, sizeof *in * (size_t)lead);
    memcpy(out, index->sizes, sizeof *out * (size_t)lead);
    in[lead] = wick_dim_product(&planes->sizes[lead], n);
    out[lead] = wick_dim_product(&index->sizes[lead], n);
    wick_tensor *flat_planes = wick_reshape(C, planes, in, (size_t)lead + 1),
                *flat_index = wick_reshape(C, index, out, (size_t)lead + 1);
    return wick_reshape(C, wick_gather(C, flat_planes, -1, flat_index, NULL), SIZES(index));
}

#define MAXIMUM(n)                                                                                                  \
    void d_max_pool##n##d(backward_call *b) {                                                                       \
        set_grad(b, 0,                                                                                              \
                 CALL(C, max_pool##n##d_with_indices_backward, V(GRAD), V(saved(b, 0)), ARG(1), ARG(2), ARG(3),     \
                      ARG(4), ARG(5), V(result(b, 1))));                                                            \
    }                                                                                                               \
    void d_max_pool##n##d_backward(backward_call *b) {                                                              \
        if (needs(b, 0)) set_grad(b, 0, pick(b, GRAD, saved(b, 7), n));                                             \
    }                                                                                                               \
    void d_adaptive_max_pool##n##d(backward_call *b) {                                                              \
        set_grad(b, 0, wick_adaptive_max_pool##n##d_backward(C, GRAD, saved(b, 0), result(b, 1)));                  \
    }                                                                                                               \
    void d_adaptive_max_pool##n##d_backward(backward_call *b) {                                                     \
        if (needs(b, 0)) set_grad(b, 0, pick(b, GRAD, saved(b, 2), n));                                             \
    }                                                                                                               \
    void d_fractional_max_pool##n##d(backward_call *b) {                                                            \
        set_grad(                                                                                                   \
            b, 0,                                                                                                   \
            CALL(C, fractional_max_pool##n##d_backward, V(GRAD), V(saved(b, 0)), ARG(1), ARG(2), V(result(b, 1)))); \
    }                                                                                                               \
    void d_fractional_max_pool##n##d_backward(backward_call *b) {                                                   \
        if (needs(b, 0)) set_grad(b, 0, pick(b, GRAD, saved(b, 4), n));                                             \
    }                                                                                                               \
    void d_max_unpool##n##d(backward_call *b) { set_grad(b, 0, pick(b, GRAD, saved(b, 1), n)); }
MAXIMUM(2)
MAXIMUM(3)
