/* Reductions of losses; what softmax divides by. */
#ifndef WICK_OPS_LOSS_H
#define WICK_OPS_LOSS_H

#include "../src/dispatch.h"

enum loss_reduction { LOSS_NONE, LOSS_MEAN, LOSS_SUM };

wick_tensor *loss_reduce(wick_context *c, wick_tensor *t, int64_t reduction);
/* Of scores x [N, C], [2, N]: each row's maximum, and the logarithm of its sum of exp(x - maximum). */
wick_tensor *class_normalizer(wick_context *c, wick_tensor *x);

#endif
