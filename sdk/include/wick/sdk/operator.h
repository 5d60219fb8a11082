/* wick/sdk/operator.h: operators of a plugin's own: schema, shape rule, decomposition, gradient; kernels for any device. */
#ifndef WICK_SDK_OPERATOR_H
#define WICK_SDK_OPERATOR_H

#include <wick/dim.h>
#include <wick/sdk/kernel.h>

/* Shape and dtype of one output. */
typedef struct wick_meta {
    uint32_t dtype; /* wick_dtype */
    int32_t ndim;
    wick_dim sizes[WICK_MAX_DIMS];
} wick_meta;

/* What a shape rule sees. Sizes may be symbolic: arithmetic on them goes through wick/dim.h. */
typedef struct wick_infer_call {
    uint32_t struct_size;
    uint16_t nargs;
    uint16_t nouts;
    const wick_op *op;
    const wick_value *values; /* complete: defaults are filled in */
    void *instance;
    const wick_host *host;
    wick_context *context;
    wick_meta *outs;        /* nouts, zeroed: to be filled */
    uint32_t compute_dtype; /* set it, and tensor arguments are cast to it before the kernel runs; NONE: no casts */
    uint32_t reserved;
} wick_infer_call;

/* What a gradient rule sees. Written in operators (wick/sdk/ops.h), so that it can be differentiated again. */
typedef struct wick_backward_call {
    uint32_t struct_size;
    uint16_t nargs;
    uint16_t nouts;
    const wick_op *op;
    void *instance;
    wick_context *context;
    const wick_value *values;         /* arguments; a tensor that `saves` does not name is None */
    const wick_value *results;        /* outputs; None unless `saves` names them */
    wick_tensor *const *grad_outputs; /* nouts; zeros where undefined */
    wick_tensor **grad_inputs;        /* nargs, NULL: set those that are needed (scope-owned) */
    const bool *needs_grad;           /* nargs */
} wick_backward_call;

enum wick_operator_flag {
    WICK_OPERATOR_POINTWISE = 1 << 0,          /* elementwise over broadcast tensors; needs no infer */
    WICK_OPERATOR_INPLACE = 1 << 1,            /* derive name_ */
    WICK_OPERATOR_OUT = 1 << 2,                /* derive name.out */
    WICK_OPERATOR_RANDOM = 1 << 3,             /* draws numel(output 0) random numbers */
    WICK_OPERATOR_NO_FALLBACK = 1 << 4,        /* must not run on the host in another device's place */
    WICK_OPERATOR_NOT_DIFFERENTIABLE = 1 << 5, /* outputs never require grad */
    WICK_OPERATOR_PROMOTE_FLOAT = 1 << 6,      /* POINTWISE: integers compute in the default floating dtype */
    WICK_OPERATOR_BOOL_RESULT = 1 << 7         /* POINTWISE: returns bool */
};

/* One operator. It needs an infer (or POINTWISE) to have kernels, or a compose, or both; with compose alone it
 * decomposes above autograd and needs no gradient. */
typedef struct wick_operator_row {
    uint32_t struct_size;
    uint32_t flags; /* wick_operator_flag */
    const char
        *schema; /* "mylib::swish(Tensor x, float beta=1.0) -> Tensor"; required; the namespace is the plugin's */
    wick_status *(*infer)(wick_infer_call *call);
    /* Sets rets (scope-owned). False: the context failed. */
    bool (*compose)(void *instance, wick_context *c, const wick_value *values, wick_value *rets);
    /* False: the context failed. Optional: not differentiable, unless compose alone is given. */
    bool (*backward)(const wick_backward_call *call);
    const char *saves; /* "x result": arguments and results that backward reads. Optional: none. */
} wick_operator_row;

/* An element type of a plugin's own: opaque bytes, promoted with itself only. */
typedef struct wick_dtype_row {
    uint32_t struct_size;
    uint32_t bytes;   /* per element (or block): 1, 2, 4, 8 or 16 */
    const char *name; /* "mylib.q4_0": unique, with the plugin's prefix */
} wick_dtype_row;

#endif
