/* Reductions of losses (wick_loss_reduction); what softmax divides by. */
#ifndef WICK_OPS_LOSS_H
#define WICK_OPS_LOSS_H

#include <wick/sdk/arguments.h>

#include "../src/dispatch.h"

wick_tensor *loss_reduce(wick_context *c, wick_tensor *t, int64_t reduction);
/* Of scores x [N, C], [2, N]: each row's maximum, and the logarithm of its sum of exp(x - maximum). */
wick_tensor *class_normalizer(wick_context *c, wick_tensor *x);

#endif
