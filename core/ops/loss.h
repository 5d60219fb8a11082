/* Reductions of losses. */
#ifndef WICK_OPS_LOSS_H
#define WICK_OPS_LOSS_H

#include "../src/dispatch.h"

enum loss_reduction { LOSS_NONE, LOSS_MEAN, LOSS_SUM };

wick_tensor *loss_reduce(wick_context *c, wick_tensor *t, int64_t reduction);

#endif
