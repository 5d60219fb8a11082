/* The elementwise engine. Loops (pointwise_CLASS.c, made from <wick/sdk/pointwise.inc>) work on packed arrays of their
 * compute class; the engine (pointwise.c) brings any dtypes, strides and broadcasts there, a block at a time. */
#ifndef WICK_CPU_POINTWISE_H
#define WICK_CPU_POINTWISE_H

#include "convert.h"

#include <wick/sdk/iter.h>

#define PW_MAX_OPERANDS 4 /* the output and three inputs */
#define PW_MAX_SCALARS 4

/* Every expression has a number. */
typedef enum pw_id {
#define MAP1(id, ...) PW_##id,
#define MAP2(id, ...) PW_##id,
#define MAP3(id, ...) PW_##id,
#define PART1(id, ...) PW_##id,
#define PART2(id, ...) PW_##id,
#define PART3(id, ...) PW_##id,
#include <wick/sdk/pointwise.inc>
    PW_COUNT
} pw_id;

/* A scalar argument in every class's terms. */
typedef struct pw_scalar {
    double re, im;
    int64_t i;
} pw_scalar;

static inline pw_scalar pw_real(double x) { return (pw_scalar){x, 0, (int64_t)x}; }
static inline pw_scalar pw_scalar_of(const wick_value *v) {
    if (v->tag == WICK_TAG_F64) return pw_real(v->as.f);
    if (v->tag == WICK_TAG_C128) return (pw_scalar){v->as.c[0], v->as.c[1], (int64_t)v->as.c[0]};
    return (pw_scalar){(double)v->as.i, 0, v->as.i};
}

/* out and in[] are packed arrays of n elements; out may be one of the inputs. */
typedef void (*pw_loop)(void *out, const void *const *in, int64_t n, const pw_scalar *scalars);

/* By class and expression; NULL where the expression has no meaning. */
extern const pw_loop *const CPU_NAME(pw_loops)[CPU_CLASS_COUNT];

/* One evaluation: which expression, its output and inputs, its scalars. */
typedef struct pw_eval {
    pw_id id;
    bool refuse_zero_divisor; /* integer classes: the second input must not have a zero */
    const wick_tensor *operands[PW_MAX_OPERANDS];
    pw_scalar scalars[PW_MAX_SCALARS];
} pw_eval;

/* Runs it, in parallel where that pays. Fails with UNSUPPORTED if the expression has no meaning for the dtype. */
wick_status *CPU_NAME(pw_run)(const wick_kernel_call *k, const pw_eval *e);

/* Kernels that choose among expressions (pointwise_select.c). */
#define PW_SELECTED(X)                               \
    X(div_mode, "div.Tensor_mode", RICB)             \
    X(floor_divide, "floor_divide", RI)              \
    X(fmod, "fmod.Tensor", RI)                       \
    X(remainder, "remainder.Tensor", RI)             \
    X(clamp, "clamp", RI)                            \
    X(clamp_tensor, "clamp.Tensor", RI)              \
    X(clamp_min, "clamp_min", RI)                    \
    X(clamp_max, "clamp_max", RI)                    \
    X(pow_scalar, "pow.Tensor_Scalar", RIC)          \
    X(nextafter, "nextafter", R)                     \
    X(round_decimals, "round.decimals", RI)          \
    X(logit, "logit", R)                             \
    X(logit_backward, "logit_backward", R)           \
    X(gelu, "gelu", R)                               \
    X(gelu_backward, "gelu_backward", R)             \
    X(elu_backward, "elu_backward", R)               \
    X(log_sigmoid_forward, "log_sigmoid_forward", R) \
    X(nan_to_num, "nan_to_num", RIB)                 \
    X(bitwise_not, "bitwise_not", IB)                \
    X(polygamma, "polygamma", R)                     \
    X(frexp, "frexp.Tensor", R)
#define PW_DECLARE(name, schema, classes) wick_status *CPU_NAME(pw_##name)(const wick_kernel_call *k);
PW_SELECTED(PW_DECLARE)
#undef PW_DECLARE

#endif
