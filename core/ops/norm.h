/* What normalization's decompositions and gradient rules share. */
#ifndef WICK_OPS_NORM_H
#define WICK_OPS_NORM_H

#include "../src/dispatch.h"

/* Mean and 1 / sqrt(variance + eps) over the dimensions of `mask`, which are kept. Scope-owned; NULL on failure. */
typedef struct norm_statistics {
    wick_tensor *mean, *rstd, *var;
} norm_statistics;
norm_statistics norm_measure(wick_context *c, wick_tensor *x, uint64_t mask, double eps);

/* All dimensions but the channels'. */
static inline uint64_t norm_batch_mask(const wick_tensor *x) {
    return (x->ndim < 64 ? (1ull << x->ndim) - 1 : UINT64_MAX) & ~2ull;
}
/* The last `n` dimensions. */
static inline uint64_t norm_layer_mask(const wick_tensor *x, int n) {
    uint64_t all = x->ndim < 64 ? (1ull << x->ndim) - 1 : UINT64_MAX;
    return n >= x->ndim ? all : all & ~((1ull << (x->ndim - n)) - 1);
}

#endif
