/* Gradient rules of resampling (nn.inc) and of distances (matmul.inc). */
#include "../ops/boxed.h"
#include "../ops/rows.h"
#include "rule.h"

#define ARG(i) (*arg(b, (i)))

/* Resampling is linear: forward is (self, output_size, rest...), backward (grad, output_size, input_size, rest...). */
static void upsample_rule(backward_call *b, int backward_op) {
    const op_entry *op = b->node->op;
    wick_value call[8] = {V(GRAD), ARG(1), INTS(input(b, 0)->sizes, input(b, 0)->ndim)};
    for (int i = 2; i < op->nargs; ++i) call[i + 1] = ARG(i);
    set_grad(b, 0, op_call1(C, backward_op, call, op->nargs + 1));
}
static void upsample_backward_rule(backward_call *b, int forward_op) {
    const op_entry *op = b->node->op;
    wick_value call[8] = {V(GRAD), ARG(1)};
    for (int i = 3; i < op->nargs; ++i) call[i - 1] = ARG(i);
    set_grad(b, 0, op_call1(C, forward_op, call, op->nargs - 1));
}
#define UPSAMPLE(name)                                                             \
    void d_##name(backward_call *b) { upsample_rule(b, OP_ID_##name##_backward); } \
    void d_##name##_backward(backward_call *b) { upsample_backward_rule(b, OP_ID_##name); }
UPSAMPLE(upsample_nearest1d)
UPSAMPLE(upsample_nearest2d)
UPSAMPLE(upsample_nearest3d)
UPSAMPLE(_upsample_nearest_exact1d)
UPSAMPLE(_upsample_nearest_exact2d)
UPSAMPLE(_upsample_nearest_exact3d)
UPSAMPLE(upsample_linear1d)
UPSAMPLE(upsample_bilinear2d)
UPSAMPLE(upsample_trilinear3d)
UPSAMPLE(upsample_bicubic2d)
UPSAMPLE(_upsample_bilinear2d_aa)
UPSAMPLE(_upsample_bicubic2d_aa)

/* (input, grid, interpolation_mode, padding_mode, align_corners) */
static void grid_rule(backward_call *b, int backward_op) {
    const uint8_t mask[2] = {needs(b, 0), needs(b, 1)};
    const wick_value call[] = {V(GRAD), V(saved(b, 0)), V(saved(b, 1)),           ARG(2),
                               ARG(3),  ARG(4),         wick_value_bools(mask, 2)};
    wick_value grads[2];
    if (!op_calln(C, backward_op, call, 7, grads, 2)) return;
    for (int i = 0; i < 2; ++i)
        if (mask[i]) set_grad(b, i, grads[i].as.tensor);
}
void d_grid_sampler_2d(backward_call *b) { grid_rule(b, OP_ID_grid_sampler_2d_backward); }
void d_grid_sampler_3d(backward_call *b) { grid_rule(b, OP_ID_grid_sampler_3d_backward); }

/* ---- distances of all pairs ---- */
/* (x1, x2, p, compute_mode) */
void d_cdist(backward_call *b) {
    wick_tensor *x1 = saved(b, 0), *x2 = saved(b, 1), *out = result(b, 0), *g = GRAD;
    if (needs(b, 0)) set_grad(b, 0, wick__cdist_backward(C, wick_contiguous(C, g, NULL), x1, x2, arg_float(b, 2), out));
    if (!needs(b, 1)) return;
    wick_tensor *turned = wick_contiguous(C, wick_transpose(C, g, -2, -1), NULL);
    wick_tensor *turned_out = wick_contiguous(C, wick_transpose(C, out, -2, -1), NULL);
    set_grad(b, 1, wick__cdist_backward(C, turned, x2, x1, arg_float(b, 2), turned_out));
}
void d_pdist(backward_call *b) {
    set_grad(b, 0, wick__pdist_backward(C, GRAD, saved(b, 0), arg_float(b, 1), result(b, 0)));
}
