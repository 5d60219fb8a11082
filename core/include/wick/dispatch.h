/* wick/dispatch.h: functionality keys, in the order in which dispatch visits them.
 *
 * A key set is 64 bits; the highest set bit runs first. The ranks are spaced so that a plugin can register between
 * two of ours. The device is not part of the set: it selects the table at the end. */
#ifndef WICK_DISPATCH_H
#define WICK_DISPATCH_H

#include <stdint.h>

/* X(NAME, rank, what it does) */
#define WICK_KEYS(X)                                                                 \
    X(PRE_INTERPOSER, 62, "user interposers above everything")                       \
    X(TRANSFORM_FRONT, 58, "runs the top of the context's function-transform stack") \
    X(BATCHED, 54, "batching rules")                                                 \
    X(AUTOCAST, 50, "casts by the autocast policy")                                  \
    X(AUTOGRAD, 46, "records the graph")                                             \
    X(TRACKING, 42, "view and in-place bookkeeping")                                 \
    X(NEGATIVE, 38, "resolves lazily negated inputs")                                \
    X(CONJUGATE, 34, "resolves lazily conjugated inputs")                            \
    X(FUNCTIONALIZE, 30, "removes mutation and aliasing")                            \
    X(TRANSFORM_BACK, 26, "hands on to the next transform level")                    \
    X(POST_INTERPOSER, 22, "user interposers below autograd: tracing, fake tensors") \
    X(TENSOR_CLASS, 18, "tensor classes with a behaviour of their own")              \
    X(NESTED, 14, "nested layout")                                                   \
    X(SPARSE, 10, "sparse layouts")                                                  \
    X(QUANTIZED, 6, "quantized layout")                                              \
    X(DENSE, 2, "strided memory: the backend's kernels")

enum wick_key_rank {
#define WICK_KEY_RANK(NAME, rank, text) WICK_RANK_##NAME = rank,
    WICK_KEYS(WICK_KEY_RANK)
#undef WICK_KEY_RANK
};

#define WICK_KEY_BIT(rank) (UINT64_C(1) << (rank))
#define WICK_KEY(NAME) WICK_KEY_BIT(WICK_RANK_##NAME)
/* Any of these present: the call leaves the fast path. */
#define WICK_KEYS_ABOVE_DENSE (~(WICK_KEY(DENSE) | (WICK_KEY(DENSE) - 1)))

#endif
