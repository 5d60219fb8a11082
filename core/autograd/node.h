/* Graph nodes, edges, saved tensors. A node's block holds everything that recording needs. */
#ifndef WICK_AUTOGRAD_NODE_H
#define WICK_AUTOGRAD_NODE_H

#include "../src/dispatch.h"
#include "../src/stream.h"

typedef struct node_edge {
    wick_node *fn; /* NULL: this input needs no gradient */
    uint32_t nr;   /* which output of fn */
} node_edge;

/* What a gradient that arrives must look like. */
typedef struct node_meta {
    uint8_t dtype, ndim;
    wick_device device;
    const wick_dim *sizes;
} node_meta;

#define META_DIMS 6 /* outputs of a higher rank keep their sizes apart */

/* A saved tensor that the user's hooks have taken over. */
typedef struct saved_packed {
    wick_saved_hooks hooks;
    void *token;
    node_edge origin; /* where the tensor came from, so that what unpack gives has its history; owned */
} saved_packed;

typedef struct saved_tensor {
    wick_tensor *tensor;  /* owned; NULL: not saved, or packed */
    saved_packed *packed; /* owned */
    uint64_t version;
    uint32_t output_nr;
    uint8_t is_output; /* a detached alias of the node's own output: no cycle */
    uint8_t present;
} saved_tensor;

typedef struct node_class {
    const char *name; /* NULL: the operator's */
    /* gin[i] for edge i: owned by the innermost scope. False: the context failed. */
    bool (*apply)(wick_node *node, context_impl *c, wick_tensor **gout, wick_tensor **gin);
    /* Ends what the class put into the node. */
    void (*destroy)(wick_node *node, context_impl *c, wick_node **dying);
    /* Optional: ends what only backward needs, beside the node's saved tensors. */
    void (*release)(wick_node *node, context_impl *c);
} node_class;

/* When a hook runs: tensor hooks and retained gradients see an output's whole gradient, then the node's own. */
typedef enum hook_kind { HOOK_TENSOR, HOOK_RETAIN, HOOK_BEFORE, HOOK_AFTER, HOOK_ACCUMULATED } hook_kind;

typedef struct node_hook {
    int64_t id;
    hook_kind kind;
    uint32_t output; /* HOOK_TENSOR, HOOK_RETAIN */
    union {
        wick_tensor_hook tensor;
        wick_node_hook node;
        wick_accumulate_hook accumulated;
    } fn;
    void *user; /* HOOK_RETAIN: the tensor, which takes the hook away when it dies */
} node_hook;

struct wick_node {
    _Atomic int32_t references;
    uint16_t edge_count, out_count, saved_count, arg_count;
    uint8_t released;               /* saved tensors are gone: backward ran without retain_graph */
    uint8_t lets_undefined_through; /* apply sees NULL where an output had no gradient */
    uint8_t small;                  /* its block returns to the context's list */
    uint8_t far_sizes;              /* some meta's sizes lie apart: a rank over META_DIMS */
    uint64_t sequence;              /* higher than that of every node it leads to; 0: accumulator */
    wick_runtime *rt;
    const node_class *cls;
    const op_entry *op;
    node_edge *edges;
    node_meta *metas;
    saved_tensor *saved;
    wick_value *args;
    wick_dim *meta_room; /* META_DIMS sizes an output */
    wick_node *next_dying;
    void *payload; /* the class's own */
    node_hook *hooks;
    size_t hook_count, hook_capacity;
    char *trace;         /* anomaly mode: what made the node */
    wick_stream *stream; /* of its forward call; backward runs there; owned; NULL: the default one */
    wick_node *parent;   /* anomaly mode: the node in whose backward this one was made; owned */
};

/* What only some tensors have. Its accumulator's references are the tensor's. */
struct autograd_extra {
    wick_node accumulator;
    node_meta meta;
    tensor_impl *owner;
    wick_tensor *grad; /* owned */
    bool partial;      /* a backward that failed would have added to it */
};

autograd_extra *autograd_extra_of(tensor_impl *t); /* made when needed, by any thread; NULL: out of memory */
static inline autograd_extra *extra_of(const tensor_impl *t) { return __atomic_load_n(&t->extra, __ATOMIC_ACQUIRE); }
void autograd_extra_destroy(tensor_impl *t, context_impl *c, wick_node **dying);

/* A node with room for everything; args are copied (tensors left out; nargs 0: none are needed), metas filled later. */
wick_node *node_new(context_impl *c, const node_class *cls, const op_entry *op, int edges, int outs, int saves,
                    const wick_value *args, int nargs);
/* Takes the edge's reference. A context's nodes are numbered in order of creation, and above all that they lead to. */
HOT void node_set_edge(context_impl *c, wick_node *node, int i, node_edge edge) {
    node->edges[i] = edge;
    if (edge.fn && edge.fn->sequence > c->sequence) c->sequence = edge.fn->sequence;
}
/* The call's stream on `device`. */
HOT void node_keep_stream(context_impl *c, wick_node *node, wick_device device) {
    if (WICK_UNLIKELY(c->stream_count)) node->stream = wick_stream_retain(context_stream(c, device));
}
bool node_set_far_sizes(context_impl *c, wick_node *node, int out, const wick_tensor *t);
HOT bool node_set_meta(context_impl *c, wick_node *n, int out, const wick_tensor *t) {
    wick_dim *sizes = n->meta_room + out * META_DIMS;
    n->metas[out] = (node_meta){t->dtype, t->ndim, t->device, sizes};
    if (WICK_UNLIKELY(t->ndim > META_DIMS)) return node_set_far_sizes(c, n, out, t);
    for (int i = 0; i < t->ndim; ++i) sizes[i] = t->sizes[i];
    return true;
}
/* References of an accumulator are its tensor's. */
#define IS_ACCUMULATOR(n) ((n)->sequence == 0)
static inline tensor_impl *leaf_of(wick_node *n) { return ((autograd_extra *)n)->owner; }
HOT wick_node *node_retain(wick_node *n) {
    reference_add(IS_ACCUMULATOR(n) ? &leaf_of(n)->references : &n->references);
    return n;
}
void tensor_unref(tensor_impl *t, context_impl *c, wick_node **dying);
/* A dead node is put on the list. */
HOT void node_unref(wick_node *n, wick_node **dying) {
    if (IS_ACCUMULATOR(n)) {
        tensor_unref(leaf_of(n), NULL, dying);
    } else if (reference_drop(&n->references)) {
        n->next_dying = *dying;
        *dying = n;
    }
}
/* Destroys a list of dead nodes and everything that dies with them, without recursion. */
void nodes_destroy(wick_node *dying, context_impl *c);
void node_release(wick_node *node, context_impl *c);
void node_release_saved(wick_node *node, context_impl *c);

/* The edge of argument `arg` of an operator that has lists among its tensor arguments; for a list its first item. */
int edge_after_lists(const wick_node *node, int arg);

/* The node that made t; for a view whose base was written to, made anew. Lent. */
wick_node *view_grad_fn(context_impl *c, tensor_impl *view);
HOT wick_node *tensor_grad_fn(context_impl *c, tensor_impl *t) { return t->base ? view_grad_fn(c, t) : t->grad_fn; }
HOT bool tensor_needs_grad(context_impl *c, tensor_impl *t) {
    return t->requires_grad || t->grad_fn || (t->base && view_grad_fn(c, t));
}
/* The edge that leads from a use of `t` into the graph; fn NULL if it needs no gradient. Retained. */
bool edge_of_leaf(context_impl *c, tensor_impl *t, node_edge *out);
HOT bool edge_of(context_impl *c, wick_tensor *t, node_edge *out) {
    wick_node *fn = tensor_grad_fn(c, impl(t));
    if (!fn) return edge_of_leaf(c, impl(t), out);
    *out = (node_edge){node_retain(fn), impl(t)->output_nr};
    return true;
}
/* Makes `t` output `nr` of `node`. False: the context failed (a retained gradient could not move along). */
bool tensor_set_history(context_impl *c, tensor_impl *t, wick_node *node, uint32_t nr);
/* The same for a tensor that had a history or has more than values; takes the caller's reference to the node. */
bool tensor_change_history(context_impl *c, tensor_impl *t, wick_node *node, uint32_t nr);
HOT bool tensor_take_history(context_impl *c, tensor_impl *t, wick_node *node, uint32_t nr) {
    if (t->grad_fn || t->base || t->retains_grad) return tensor_change_history(c, t, node, nr);
    t->grad_fn = node;
    t->output_nr = nr;
    t->requires_grad = 0;
    t->pub.keys |= WICK_KEY(AUTOGRAD);
    return true;
}

wick_tensor *saved_alias(context_impl *c, wick_tensor *t); /* the same elements without history; owned */
bool saved_pack(context_impl *c, wick_node *node, int slot, wick_tensor *t, bool is_output, uint32_t output_nr);
/* Lent as long as the node keeps it, or scope-owned. NULL on failure (latched) or if nothing was saved. */
wick_tensor *saved_unpack(context_impl *c, wick_node *node, int slot);

/* ---- views and in-place writes (view.c) ---- */
typedef struct geometry {
    int ndim;
    uint16_t dtype, flags;
    int64_t offset;
    wick_dim *sizes, *strides; /* behind the struct */
} geometry;
geometry *geometry_of(wick_runtime *rt, const wick_tensor *t); /* freed with rt_free; NULL: out of memory */
/* `node` wrote to t, a view: the base's history becomes "node on that slice, the rest as before". */
bool rebase_history(context_impl *c, tensor_impl *t, wick_node *node);
/* Anomaly mode: remembers what made the node (trace.c). */
bool anomaly_note(context_impl *c, wick_node *node);
bool anomaly_check(context_impl *c, wick_node *node, wick_tensor *const *gin);
/* Runs a node's hooks of one kind over gradients (hooks.c). `owned`: the array holds references, which replacements take
 * over; else it is scope-owned. False: the context failed. */
bool node_run_hooks(context_impl *c, wick_node *node, hook_kind kind, wick_tensor **grads, int n, bool owned);
/* The retained gradient of a tensor: it moves to the node that makes the tensor now, and ends with the tensor. */
bool hooks_retain(context_impl *c, tensor_impl *t, wick_node *node, uint32_t nr);
void hooks_forget(wick_node *node, const tensor_impl *t);

extern const node_class op_node_class;

#endif
