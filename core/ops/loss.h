/* Reductions of losses: wick_loss_reduction. */
#ifndef WICK_OPS_LOSS_H
#define WICK_OPS_LOSS_H

#include <wick/sdk/arguments.h>

#include "../src/dispatch.h"

wick_tensor *loss_reduce(wick_context *c, wick_tensor *t, int64_t reduction);

#endif
