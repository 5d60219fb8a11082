/* What a gradient rule sees. A rule is written in public operators:
 *
 *     void d_mul(backward_call *b) {
 *         if (needs(b, 0)) set_grad(b, 0, wick_mul(C, GRAD, conjugate(b, saved(b, 1))));
 *         if (needs(b, 1)) set_grad(b, 1, wick_mul(C, GRAD, conjugate(b, saved(b, 0))));
 *     }
 *
 * Arguments are named by their position in the schema. A gradient may have a broadcast shape or another floating dtype:
 * the engine sums and casts it to its input's. A failure latches in the context; rules need not check. */
#ifndef WICK_AUTOGRAD_RULE_H
#define WICK_AUTOGRAD_RULE_H

#include <wick/ops.h>

#include "node.h"

struct backward_call {
    wick_context *c;
    wick_node *node;
    wick_tensor **gout; /* by output; zeros where undefined, unless the row says UNDEFINED_GRAD */
    wick_tensor **gin;  /* by edge */
};

#define C (b->c)
#define GRAD (b->gout[0])

/* Edge of argument `arg`; for a list its first item. */
static inline int rule_edge(const backward_call *b, int arg) {
    const op_entry *op = b->node->op;
    return op->list_arg_count ? edge_after_lists(b->node, arg) : op->edges[arg];
}
static inline bool needs_item(const backward_call *b, int arg, int item) {
    return b->node->edges[rule_edge(b, arg) + item].fn != NULL;
}
static inline bool needs(const backward_call *b, int arg) { return needs_item(b, arg, 0); }
static inline void set_grad_item(backward_call *b, int arg, int item, wick_tensor *grad) {
    b->gin[rule_edge(b, arg) + item] = grad;
}
static inline void set_grad(backward_call *b, int arg, wick_tensor *grad) { set_grad_item(b, arg, 0, grad); }

/* A saved argument or result; NULL if it was not saved (or is None). Scope-owned. */
wick_tensor *saved(backward_call *b, int arg);
wick_tensor *saved_item(backward_call *b, int arg, int item);
wick_tensor *result(backward_call *b, int ret);

/* Arguments that are not tensors. */
static inline const wick_value *arg(const backward_call *b, int i) { return &b->node->args[i]; }
static inline int64_t arg_int(const backward_call *b, int i) { return arg(b, i)->as.i; }
static inline bool arg_bool(const backward_call *b, int i) { return arg(b, i)->as.i != 0; }
static inline double arg_float(const backward_call *b, int i) { return wick_value_as_double(arg(b, i)); }
static inline bool arg_none(const backward_call *b, int i) { return arg(b, i)->tag == WICK_TAG_NONE; }
static inline const int64_t *arg_ints(const backward_call *b, int i) { return arg(b, i)->as.ints; }
static inline size_t arg_count(const backward_call *b, int i) { return arg(b, i)->count; }

/* What an input that needs a gradient looked like. */
static inline const node_meta *input_item(const backward_call *b, int arg, int item) {
    const node_edge *e = &b->node->edges[rule_edge(b, arg) + item];
    return &e->fn->metas[e->nr];
}
static inline const node_meta *input(const backward_call *b, int arg) { return input_item(b, arg, 0); }
/* What output `ret` looked like. */
static inline const node_meta *output(const backward_call *b, int ret) { return &b->node->metas[ret]; }

/* The conjugate of a complex tensor; others unchanged. */
static inline wick_tensor *conjugate(backward_call *b, wick_tensor *t) {
    return t && wick_dtype_is_complex((wick_dtype)t->dtype) ? wick_conj(C, t) : t;
}

#endif
