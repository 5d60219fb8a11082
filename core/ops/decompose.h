/* Decompositions for devices that have primitives only: the frame of elementwise ones, and short names for the
 * operators that all of them are written in. A file that includes this has the context at hand as `c`. */
#ifndef WICK_OPS_DECOMPOSE_H
#define WICK_OPS_DECOMPOSE_H

#include "boxed.h"

/* ---- the frame: tensor arguments in the dtype to compute in, by their place among the tensor arguments ---- */
typedef struct elementwise {
    wick_tensor *in[4]; /* NULL: None */
    wick_dtype wide;    /* the row's compute dtype; f16, bf16 and narrower as f32 */
    wick_dtype result;  /* of output 0 */
} elementwise;

/* Applies the shape rule of the row and casts. False: the context failed. */
bool elementwise_begin(wick_context *c, int op_id, const wick_value *args, elementwise *e);
/* The value in the result's dtype, and a tensor of its own: what a differentiable row returns must not be an argument. */
wick_tensor *elementwise_end(wick_context *c, const elementwise *e, wick_tensor *value);

/* The decomposition of the row `name` (as in OP_ID_name): an expression in a, b and d, which are its tensors. */
#define ELEMENTWISE(name, ...) ELEMENTWISE_AS(name, name, __VA_ARGS__)
#define ELEMENTWISE_AS(function, name, ...)                                              \
    void compose_##function(wick_context *c, const wick_value *args, wick_value *rets) { \
        elementwise e;                                                                   \
        if (!elementwise_begin(c, OP_ID_##name, args, &e)) return;                       \
        wick_tensor *a = e.in[0], *b = e.in[1], *d = e.in[2];                            \
        (void)a, (void)b, (void)d;                                                       \
        give(rets, elementwise_end(c, &e, (__VA_ARGS__)));                               \
    }

/* ---- short names; those ending in N take a number ---- */
#define ADD(x, y) wick_add(c, (x), (y), NULL)
#define SUB(x, y) wick_sub(c, (x), (y), NULL)
#define MUL(x, y) wick_mul(c, (x), (y))
#define DIV(x, y) wick_div(c, (x), (y))
#define ADDN(x, n) wick_add_scalar(c, (x), (n), NULL)
#define MULN(x, n) wick_mul_scalar(c, (x), (n))
#define DIVN(x, n) wick_div_scalar(c, (x), (n))
#define RSUBN(n, x) wick_rsub_scalar(c, (x), (n), NULL) /* n - x */
#define NEG(x) wick_neg(c, (x))
#define EXP(x) wick_exp(c, (x))
#define LOG(x) wick_log(c, (x))
#define SQRT(x) wick_sqrt(c, (x))
#define WHERE(p, x, y) wick_where(c, (p), (x), (y))
#define WHERE_N(p, x, n) wick_where_scalar_other(c, (p), (x), (n))
#define WHEREN_(p, n, y) wick_where_scalar_self(c, (p), (n), (y))
#define EQN(x, n) wick_eq_scalar(c, (x), (n))
#define LTN(x, n) wick_lt_scalar(c, (x), (n))
#define LEN(x, n) wick_le_scalar(c, (x), (n))
#define GTN(x, n) wick_gt_scalar(c, (x), (n))
#define GEN(x, n) wick_ge_scalar(c, (x), (n))
#define NOT(x) wick_logical_not(c, (x))
#define AND(x, y) wick_logical_and(c, (x), (y))
#define OR(x, y) wick_logical_or(c, (x), (y))

/* floor(a / b) or trunc(a / b) of integers, as i64; what a zero divisor gives is left open. */
wick_tensor *integer_quotient(wick_context *c, wick_tensor *a, wick_tensor *b, bool floored);

/* A matrix product along dimension `dim` of t: out[.., o, ..] = sum over i of matrix[o][i] t[.., i, ..]. */
wick_tensor *multiply_axis(wick_context *c, wick_tensor *t, int dim, wick_tensor *matrix);

#endif
