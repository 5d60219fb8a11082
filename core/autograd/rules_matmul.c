/* Gradient rules of matrix products (matmul.inc): the other factor, transposed and conjugated. */
#include "../ops/boxed.h"
#include "../ops/rows.h"
#include "rule.h"

#define MUL(x, y) wick_mul(C, (x), (y))

static wick_tensor *adjoint(backward_call *b, wick_tensor *t) { return conjugate(b, wick_transpose(C, t, -2, -1)); }
static wick_tensor *product(backward_call *b, wick_tensor *x, wick_tensor *y) {
    return x && x->ndim == 2 ? wick_mm(C, x, y) : wick_bmm(C, x, y);
}
/* t times the conjugate of the number in argument i */
static wick_tensor *scaled(backward_call *b, wick_tensor *t, int i) {
    const wick_value *s = arg(b, i);
    if (s->tag != WICK_TAG_C128) return wick_value_as_double(s) == 1 ? t : wick_mul_scalar(C, t, *s);
    double conjugated[2] = {s->as.c[0], -s->as.c[1]};
    return wick_mul_scalar(C, t, wick_value_complex(conjugated));
}

/* ---- products of two ---- */
void d_mm(backward_call *b) {
    if (needs(b, 0)) set_grad(b, 0, product(b, GRAD, adjoint(b, saved(b, 1))));
    if (needs(b, 1)) set_grad(b, 1, product(b, adjoint(b, saved(b, 0)), GRAD));
}
void d_mv(backward_call *b) {
    if (needs(b, 0)) set_grad(b, 0, wick_outer(C, GRAD, conjugate(b, saved(b, 1))));
    if (needs(b, 1)) set_grad(b, 1, wick_mv(C, adjoint(b, saved(b, 0)), GRAD));
}
void d_dot(backward_call *b) {
    if (needs(b, 0)) set_grad(b, 0, MUL(GRAD, conjugate(b, saved(b, 1))));
    if (needs(b, 1)) set_grad(b, 1, MUL(GRAD, conjugate(b, saved(b, 0))));
}
/* sum of conj(self) other */
void d_vdot(backward_call *b) {
    if (needs(b, 0)) set_grad(b, 0, MUL(conjugate(b, GRAD), saved(b, 1)));
    if (needs(b, 1)) set_grad(b, 1, MUL(GRAD, saved(b, 0)));
}

/* ---- with accumulation: beta is argument 3, alpha 4 ---- */
void d_addmm(backward_call *b) {
    if (needs(b, 0)) set_grad(b, 0, scaled(b, GRAD, 3));
    if (needs(b, 1)) set_grad(b, 1, scaled(b, product(b, GRAD, adjoint(b, saved(b, 2))), 4));
    if (needs(b, 2)) set_grad(b, 2, scaled(b, product(b, adjoint(b, saved(b, 1)), GRAD), 4));
}
void d_addmv(backward_call *b) {
    if (needs(b, 0)) set_grad(b, 0, scaled(b, GRAD, 3));
    if (needs(b, 1)) set_grad(b, 1, scaled(b, wick_outer(C, GRAD, conjugate(b, saved(b, 2))), 4));
    if (needs(b, 2)) set_grad(b, 2, scaled(b, wick_mv(C, adjoint(b, saved(b, 1)), GRAD), 4));
}
void d_addr(backward_call *b) {
    if (needs(b, 0)) set_grad(b, 0, scaled(b, GRAD, 3));
    if (needs(b, 1)) set_grad(b, 1, scaled(b, wick_mv(C, GRAD, conjugate(b, saved(b, 2))), 4));
    if (needs(b, 2)) set_grad(b, 2, scaled(b, wick_mv(C, wick_t(C, GRAD), conjugate(b, saved(b, 1))), 4));
}

/* The gradient of the sum over a batch is the same for every item. */
static wick_tensor *every(backward_call *b, const wick_tensor *batch) {
    return batch ? expand_of(C, GRAD, (wick_dim[]){batch->sizes[0], GRAD->sizes[0], GRAD->sizes[1]}, 3) : NULL;
}
void d_addbmm(backward_call *b) {
    if (needs(b, 0)) set_grad(b, 0, scaled(b, GRAD, 3));
    if (needs(b, 1)) set_grad(b, 1, scaled(b, wick_bmm(C, every(b, saved(b, 2)), adjoint(b, saved(b, 2))), 4));
    if (needs(b, 2)) set_grad(b, 2, scaled(b, wick_bmm(C, adjoint(b, saved(b, 1)), every(b, saved(b, 1))), 4));
}

/* ---- linear: input [..., in], weight [out, in] or [in] ---- */
static void d_linear_of_vector(backward_call *b) {
    wick_tensor *column = wick_unsqueeze(C, GRAD, -1);
    if (needs(b, 0)) set_grad(b, 0, MUL(column, conjugate(b, saved(b, 1))));
    if (needs(b, 1)) set_grad(b, 1, MUL(column, conjugate(b, saved(b, 0))));
    if (needs(b, 2)) set_grad(b, 2, GRAD);
}
void d_linear(backward_call *b) {
    const uint8_t mask[3] = {needs(b, 0), needs(b, 1), needs(b, 2)};
    wick_tensor *x = mask[1] ? conjugate(b, saved(b, 0)) : NULL, *w = mask[0] ? conjugate(b, saved(b, 1)) : NULL;
    wick_value grads[3];
    if (!mask[0] && !mask[1]) {
        set_grad(b, 2, GRAD); /* summed to the bias's shape */
        return;
    }
    if ((mask[1] ? input(b, 1)->ndim : w ? w->ndim : 2) == 1) {
        d_linear_of_vector(b);
        return;
    }
    if (!CALL_MANY(C, _linear_backward, grads, 3, V(GRAD), V(x), V(w), wick_value_bools(mask, 3))) return;
    for (int i = 0; i < 3; ++i)
        if (mask[i]) set_grad(b, i, grads[i].as.tensor);
}

/* ---- small linear algebra ---- */
static wick_tensor *cross(backward_call *b, wick_tensor *x, wick_tensor *y) {
    wick_linalg_cross_options o = WICK_LINALG_CROSS_OPTIONS_INIT;
    o.dim = arg_int(b, 2);
    return wick_linalg_cross(C, x, y, &o);
}
void d_linalg_cross(backward_call *b) {
    if (needs(b, 0)) set_grad(b, 0, cross(b, conjugate(b, saved(b, 1)), GRAD));
    if (needs(b, 1)) set_grad(b, 1, cross(b, GRAD, conjugate(b, saved(b, 0))));
}
void d_trace(backward_call *b) { set_grad(b, 0, wick_trace_backward(C, GRAD, input(b, 0)->sizes, 2)); }
