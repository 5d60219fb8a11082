/* wick/dim.h: sizes. An int64 whose far negative range is reserved for symbolic dimensions.
 *
 * Shape, gradient and decomposition rules do arithmetic on sizes through these helpers only, so that a symbolic
 * size can pass through them; kernels never see symbols. Overflow gives WICK_DIM_INVALID, which no tensor accepts. */
#ifndef WICK_DIM_H
#define WICK_DIM_H

#include <wick/base.h>

typedef int64_t wick_dim;

#define WICK_MAX_DIMS 64
/* Below this value a dim is a symbol: a number in a table that the tracer keeps. */
#define WICK_DIM_SYMBOL_LIMIT (INT64_MIN / 2)
/* The symbol that stands for "some size, nothing known". */
#define WICK_DIM_UNKNOWN INT64_MIN
/* The result of arithmetic that overflowed. */
#define WICK_DIM_INVALID (WICK_DIM_SYMBOL_LIMIT + 1)

static inline bool wick_dim_is_symbolic(wick_dim d) { return d < WICK_DIM_SYMBOL_LIMIT; }
static inline bool wick_dim_is_known(wick_dim d) { return d >= 0; }

static inline wick_dim wick_dim_add(wick_dim a, wick_dim b) {
    wick_dim r;
    if (WICK_UNLIKELY(wick_dim_is_symbolic(a) || wick_dim_is_symbolic(b)))
        return a == 0 ? b : b == 0 ? a : WICK_DIM_UNKNOWN;
    return __builtin_add_overflow(a, b, &r) || r <= WICK_DIM_INVALID ? WICK_DIM_INVALID : r;
}

static inline wick_dim wick_dim_sub(wick_dim a, wick_dim b) {
    wick_dim r;
    if (WICK_UNLIKELY(wick_dim_is_symbolic(a) || wick_dim_is_symbolic(b)))
        return b == 0 ? a : a == b && a != WICK_DIM_UNKNOWN ? 0 : WICK_DIM_UNKNOWN;
    return __builtin_sub_overflow(a, b, &r) || r <= WICK_DIM_INVALID ? WICK_DIM_INVALID : r;
}

static inline wick_dim wick_dim_mul(wick_dim a, wick_dim b) {
    wick_dim r;
    if (WICK_UNLIKELY(wick_dim_is_symbolic(a) || wick_dim_is_symbolic(b)))
        return a == 0 || b == 0 ? 0 : a == 1 ? b : b == 1 ? a : WICK_DIM_UNKNOWN;
    return __builtin_mul_overflow(a, b, &r) || r <= WICK_DIM_INVALID ? WICK_DIM_INVALID : r;
}

/* Floor division by a positive divisor; WICK_DIM_INVALID when the divisor is not positive. */
static inline wick_dim wick_dim_floordiv(wick_dim a, wick_dim b) {
    if (WICK_UNLIKELY(wick_dim_is_symbolic(a) || wick_dim_is_symbolic(b))) return b == 1 ? a : WICK_DIM_UNKNOWN;
    if (b <= 0) return WICK_DIM_INVALID;
    return a / b - (a % b < 0);
}

/* True only where both are known to be the same; two unknowns are not. */
static inline bool wick_dim_equal(wick_dim a, wick_dim b) { return a == b && a != WICK_DIM_UNKNOWN; }

/* Product of n sizes: 1 for n = 0. */
static inline wick_dim wick_dim_product(const wick_dim *dims, int n) {
    wick_dim p = 1;
    for (int i = 0; i < n; ++i) p = wick_dim_mul(p, dims[i]);
    return p;
}

#endif
