/* The elementwise expressions on the host side. */
#ifndef WICK_GPU_POINTWISE_H
#define WICK_GPU_POINTWISE_H

#include "gpu.h"

#define WICK_POINTWISE_COMMON
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
#undef WICK_POINTWISE_COMMON

/* One evaluation: expression, output, inputs, scalars. */
typedef struct pw_eval {
    pw_id id;
    const wick_tensor *operands[GPU_OPERANDS];
    double s[GPU_SCALARS];
    int64_t si[GPU_SCALARS];
} pw_eval;

static inline void pw_set_scalar(pw_eval *e, int i, const wick_value *v) {
    e->s[i] = wick_value_as_double(v);
    e->si[i] = wick_value_as_int(v);
}

/* UNSUPPORTED if the expression has no kernel for the call's dtype. */
wick_status *pw_run(const wick_kernel_call *call, const pw_eval *e);

/* Kernels that look at an argument before they choose their expression (pointwise_select.c). */
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
    X(frexp, "frexp.Tensor", R)
#define PW_DECLARE(name, schema, classes) wick_status *pw_##name(const wick_kernel_call *call);
PW_SELECTED(PW_DECLARE)
#undef PW_DECLARE

#endif
