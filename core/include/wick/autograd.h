/* wick/autograd.h: gradients. Semantics and names are PyTorch's (torch.autograd). */
#ifndef WICK_AUTOGRAD_H
#define WICK_AUTOGRAD_H

#include <wick/context.h>

typedef struct wick_node wick_node;

WICK_BEGIN_DECLS
/* ---- tensors ---- */
WICK_API bool wick_requires_grad(const wick_tensor *t);
/* Only a leaf of a floating or complex dtype may change. Returns t, NULL on failure. */
WICK_API wick_tensor *wick_set_requires_grad(wick_context *c, wick_tensor *t, bool requires_grad);
WICK_API bool wick_is_leaf(const wick_tensor *t);
/* The accumulated gradient, lent; NULL if none. */
WICK_API wick_tensor *wick_grad_of(const wick_tensor *t);
/* Replaces the gradient (retains `grad`; NULL clears). */
WICK_API bool wick_set_grad(wick_context *c, wick_tensor *t, wick_tensor *grad);
/* Keeps the gradient of a non-leaf. */
WICK_API bool wick_retain_grad(wick_context *c, wick_tensor *t);
/* The node that made the tensor, lent; NULL for leaves. */
WICK_API wick_node *wick_grad_fn(const wick_tensor *t);
/* True after a backward that failed half-way touched this gradient; cleared by wick_set_grad. */
WICK_API bool wick_grad_is_partial(const wick_tensor *t);

/* ---- running backward ---- */
enum wick_backward_flag { WICK_RETAIN_GRAPH = 1, WICK_CREATE_GRAPH = 2, WICK_ALLOW_UNUSED = 4 };
/* Accumulates into the leaves. grads[i] may be NULL for a one-element root. */
WICK_API bool wick_backward_many(wick_context *c, wick_tensor *const *roots, wick_tensor *const *grads, int nroots,
                                 unsigned flags);
WICK_API bool wick_backward(wick_context *c, wick_tensor *root);
/* out[i]: gradient for inputs[i], owned by the innermost scope; NULL for an unused one with ALLOW_UNUSED. */
WICK_API bool wick_grad(wick_context *c, wick_tensor *const *outputs, wick_tensor *const *grad_outputs, int noutputs,
                        wick_tensor *const *inputs, int ninputs, unsigned flags, wick_tensor **out);

/* ---- hooks: called in order of registration; the id removes them ---- */
/* Sees the gradient of a tensor; returns a replacement (scope-owned) or NULL to leave it. */
typedef wick_tensor *(*wick_tensor_hook)(void *user, wick_context *c, wick_tensor *grad);
WICK_API int64_t wick_register_hook(wick_context *c, wick_tensor *t, wick_tensor_hook hook, void *user);
/* Runs after the leaf's gradient was accumulated. */
typedef void (*wick_accumulate_hook)(void *user, wick_context *c, wick_tensor *leaf);
WICK_API int64_t wick_register_accumulate_hook(wick_context *c, wick_tensor *t, wick_accumulate_hook hook, void *user);
/* Before (grads = output gradients) or after (grads = input gradients) a node runs; may replace entries. */
typedef void (*wick_node_hook)(void *user, wick_context *c, wick_node *node, wick_tensor **grads, int n);
WICK_API int64_t wick_node_register_prehook(wick_context *c, wick_node *node, wick_node_hook hook, void *user);
WICK_API int64_t wick_node_register_hook(wick_context *c, wick_node *node, wick_node_hook hook, void *user);
WICK_API bool wick_remove_hook(wick_tensor *t, int64_t id);
WICK_API bool wick_node_remove_hook(wick_node *node, int64_t id);
/* Runs once at the end of the backward pass that is in progress on this context. */
WICK_API bool wick_queue_callback(wick_context *c, void (*fn)(void *user, wick_context *c), void *user);

/* Every tensor saved for backward passes, detached, through pack; what unpack gives back gets its history again.
 * Innermost pair only. */
typedef struct wick_saved_hooks {
    uint32_t struct_size;
    uint32_t flags;                                                   /* 0 */
    void *(*pack)(void *user, wick_context *c, wick_tensor *t);       /* returns a token */
    wick_tensor *(*unpack)(void *user, wick_context *c, void *token); /* scope-owned */
    void (*release)(void *user, void *token);
    void *user;
} wick_saved_hooks;
WICK_API bool wick_saved_hooks_push(wick_context *c, const wick_saved_hooks *hooks);
WICK_API void wick_saved_hooks_pop(wick_context *c);

/* ---- the graph ---- */
WICK_API const char *wick_node_name(const wick_node *node); /* "MulBackward0", "AccumulateGrad" */
WICK_API uint64_t wick_node_sequence(const wick_node *node);
WICK_API int wick_node_inputs(const wick_node *node);
/* next_functions[i]: lent, NULL where the input needs no gradient. */
WICK_API wick_node *wick_node_next(const wick_node *node, int i, int *out_output_nr);
/* Text of the graph behind `t`, a node a line; the caller frees it with free(). */
WICK_API WICK_MUST_USE wick_status *wick_graph_to_string(wick_context *c, const wick_tensor *t, char **out);

/* ---- custom functions ---- */
typedef struct wick_function_call wick_function_call;
typedef struct wick_function {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    const char *name;
    /* Computes outputs (scope-owned) from inputs; gradient recording is off inside. */
    bool (*forward)(wick_function_call *call, wick_context *c, wick_tensor *const *inputs, int ninputs,
                    wick_tensor **outputs, int noutputs);
    /* grad_outputs are never NULL (zeros where undefined) unless materialize is off; sets grad_inputs, NULL for none.
     * Recorded itself under create_graph. */
    bool (*backward)(wick_function_call *call, wick_context *c, wick_tensor *const *grad_outputs, int noutputs,
                     wick_tensor **grad_inputs, int ninputs);
    void (*destroy)(void *user); /* optional: ends `user` with the node */
} wick_function;
WICK_API bool wick_function_apply(wick_context *c, const wick_function *fn, void *user, wick_tensor *const *inputs,
                                  int ninputs, wick_tensor **outputs, int noutputs);
WICK_API void *wick_function_user(wick_function_call *call);
/* From forward: save tensors for backward (inputs or outputs; NULL allowed). */
WICK_API bool wick_function_save(wick_function_call *call, wick_tensor *const *tensors, int n);
/* From backward: the i-th saved tensor, checked for in-place changes. */
WICK_API wick_tensor *wick_function_saved(wick_function_call *call, wick_context *c, int i);
WICK_API void wick_function_mark_dirty(wick_function_call *call, wick_tensor *t);
WICK_API void wick_function_mark_non_differentiable(wick_function_call *call, wick_tensor *t);
WICK_API void wick_function_set_materialize_grads(wick_function_call *call, bool on);
WICK_API bool wick_function_needs_input_grad(wick_function_call *call, int i);

/* ---- checks ---- */
/* Compares analytical with numerical derivatives; inputs should be F64 (or C128). fn fills outputs (scope-owned). */
typedef bool (*wick_check_fn)(void *user, wick_context *c, wick_tensor *const *inputs, int n, wick_tensor **outputs,
                              int m);
WICK_API WICK_MUST_USE wick_status *wick_gradcheck(wick_context *c, wick_check_fn fn, void *user,
                                                   wick_tensor *const *inputs, int n, int noutputs, double eps,
                                                   double rtol, double atol);
WICK_API WICK_MUST_USE wick_status *wick_gradgradcheck(wick_context *c, wick_check_fn fn, void *user,
                                                       wick_tensor *const *inputs, int n, int noutputs, double eps,
                                                       double rtol, double atol);
WICK_END_DECLS

#endif
