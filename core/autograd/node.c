/* Graph nodes: making, wiring, ending. */
#include "node.h"

#include <stdio.h>

/* ---- making ---- */
static size_t list_bytes(const wick_value *v) {
    switch (v->tag) {
    case WICK_TAG_I64_LIST: return v->count * sizeof(int64_t);
    case WICK_TAG_F64_LIST: return v->count * sizeof(double);
    case WICK_TAG_C128: return 2 * sizeof(double);
    case WICK_TAG_BOOL_LIST: return v->count;
    case WICK_TAG_STRING: return v->count + (size_t)1;
    case WICK_TAG_SCALAR_LIST: return v->count * sizeof(wick_value);
    default: return 0;
    }
}

#define ALIGN8(n) (((n) + 7) & ~(size_t)7)

/* Non-tensor arguments are copied with what they point to; of tensors only the presence (and a list's count) stays. */
static void copy_args(wick_node *node, const wick_value *args, int nargs, char *room) {
    for (int i = 0; i < nargs; ++i) {
        wick_value *v = &node->args[i];
        *v = args[i];
        if (v->tag == WICK_TAG_TENSOR || v->tag == WICK_TAG_TENSOR_LIST) v->as.pointer = NULL;
        size_t bytes = WICK_LIKELY(v->tag <= WICK_TAG_F64) ? 0 : list_bytes(v);
        if (!bytes) continue;
        memcpy(room, v->as.pointer, bytes);
        v->as.pointer = room;
        room += ALIGN8(bytes);
    }
}

wick_node *node_new(context_impl *c, const node_class *cls, const op_entry *op, int edges, int outs, int saves,
                    const wick_value *args, int nargs) {
    size_t lists = 0;
    if (WICK_UNLIKELY(edges > UINT16_MAX || saves > UINT16_MAX)) {
        FAIL(c, UNSUPPORTED, "gradients of more than %d tensors in one call", UINT16_MAX);
        return NULL;
    }
    for (int i = 0; i < nargs; ++i)
        if (WICK_UNLIKELY(args[i].tag > WICK_TAG_F64)) lists += ALIGN8(list_bytes(&args[i]));
    size_t bytes = sizeof(wick_node) + (size_t)edges * sizeof(node_edge) + (size_t)outs * sizeof(node_meta) +
                   (size_t)saves * sizeof(saved_tensor) + (size_t)nargs * sizeof(wick_value) + lists +
                   (size_t)outs * META_DIMS * sizeof(wick_dim);
    wick_node *n = block_take(c, bytes);
    if (!n) {
        FAIL(c, OUT_OF_MEMORY, "cannot allocate a graph node");
        return NULL;
    }
    n->references = 1;
    n->edge_count = (uint16_t)edges;
    n->out_count = (uint16_t)outs;
    n->saved_count = (uint16_t)saves;
    n->arg_count = (uint16_t)nargs;
    n->released = n->lets_undefined_through = n->far_sizes = 0;
    n->small = bytes <= BLOCK_BYTES;
    n->sequence = c->sequence + 1; /* final once it is wired; never 0: that is an accumulator's */
    n->rt = c->rt;
    n->cls = cls;
    n->op = op;
    n->payload = n->trace = NULL;
    n->hooks = NULL;
    n->hook_count = n->hook_capacity = 0;
    n->parent = NULL;
    n->stream = NULL;
    n->edges = (node_edge *)(n + 1);
    n->args = (wick_value *)(n->edges + edges);
    n->saved = (saved_tensor *)(n->args + nargs);
    n->metas = (node_meta *)(n->saved + saves);
    n->meta_room = (wick_dim *)(n->metas + outs);
    for (int i = 0; i < edges; ++i) n->edges[i].fn = NULL;
    for (int i = 0; i < outs; ++i) n->metas[i].dtype = n->metas[i].ndim = 0;
    for (int i = 0; i < saves; ++i) n->saved[i].present = 0;
    copy_args(n, args, nargs, (char *)(n->meta_room + outs * META_DIMS));
    object_born(c);
    return n;
}

bool node_set_far_sizes(context_impl *c, wick_node *n, int out, const wick_tensor *t) {
    wick_dim *sizes = rt_alloc(n->rt, sizeof *sizes * t->ndim);
    if (!sizes) n->metas[out].ndim = 0; /* nothing to free */
    if (!sizes) return !FAIL(c, OUT_OF_MEMORY, "cannot allocate a graph node");
    n->metas[out].sizes = sizes;
    n->far_sizes = 1;
    memcpy(sizes, t->sizes, sizeof *sizes * t->ndim);
    return true;
}

int edge_after_lists(const wick_node *n, int arg) {
    int edge = 0;
    for (int i = 0; i < arg; ++i)
        if (n->op->args[i].type == TYPE_TENSOR) edge += n->op->args[i].list ? (int)n->args[i].count : 1;
    return edge;
}

/* ---- the end ---- */
static void packed_free(wick_runtime *rt, saved_packed *p, wick_node **dying) {
    if (p->hooks.release) p->hooks.release(p->hooks.user, p->token);
    if (p->origin.fn) node_unref(p->origin.fn, dying);
    rt_free(rt, p);
}

HOT void release_saved(wick_node *n, context_impl *c, wick_node **dying) {
    for (int i = 0; i < n->saved_count; ++i) {
        saved_tensor *s = &n->saved[i];
        if (!s->present) continue;
        if (s->tensor) tensor_unref(impl(s->tensor), c, dying);
        if (s->packed) packed_free(n->rt, s->packed, dying);
        s->present = 0;
    }
}

void nodes_destroy(wick_node *dying, context_impl *c) {
    while (dying) {
        wick_node *n = dying;
        wick_runtime *rt = n->rt;
        dying = n->next_dying;
        if (!n->released) release_saved(n, c, &dying);
        if (n->payload && n->cls->destroy) n->cls->destroy(n, c, &dying);
        for (int i = 0; i < n->edge_count; ++i)
            if (n->edges[i].fn) node_unref(n->edges[i].fn, &dying);
        if (n->parent) node_unref(n->parent, &dying);
        for (int i = 0; n->far_sizes && i < n->out_count; ++i)
            if (n->metas[i].ndim > META_DIMS) rt_free(rt, (void *)n->metas[i].sizes);
        wick_stream_release(n->stream);
        rt_free(rt, n->hooks);
        rt_free(rt, n->trace);
        block_give(rt, c, n, n->small);
        object_died(rt, c);
    }
}

void node_release(wick_node *n, context_impl *c) {
    wick_node *dying = NULL;
    node_unref(n, &dying);
    if (dying) nodes_destroy(dying, c);
}

void node_release_saved(wick_node *n, context_impl *c) {
    wick_node *dying = NULL;
    n->released = 1;
    if (n->saved_count) release_saved(n, c, &dying);
    if (n->cls->release) n->cls->release(n, c);
    if (dying) nodes_destroy(dying, c);
}

/* ---- a tensor's gradient-side attachments ---- */
static const node_class accumulator_class = {.name = "AccumulateGrad"};

static node_meta meta_of(const tensor_impl *t) {
    return (node_meta){t->pub.dtype, t->pub.ndim, t->pub.device, t->pub.sizes};
}

autograd_extra *autograd_extra_of(tensor_impl *t) {
    autograd_extra *x = extra_of(t), *first = NULL;
    if (x) return x;
    x = rt_calloc(t->rt, sizeof *x);
    if (!x) return NULL;
    x->owner = t;
    x->accumulator.rt = t->rt;
    x->accumulator.cls = &accumulator_class;
    x->accumulator.out_count = 1;
    x->accumulator.metas = &x->meta;
    x->meta = meta_of(t);
    if (__atomic_compare_exchange_n(&t->extra, &first, x, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return x;
    rt_free(t->rt, x); /* another thread was faster */
    return first;
}

void autograd_extra_destroy(tensor_impl *t, context_impl *c, wick_node **dying) {
    autograd_extra *x = t->extra;
    t->extra = NULL;
    if (x->grad) tensor_unref(impl(x->grad), c, dying);
    if (t->retains_grad && t->grad_fn) hooks_forget(t->grad_fn, t);
    rt_free(t->rt, x->accumulator.hooks);
    rt_free(t->rt, x);
}

/* ---- from tensors into the graph ---- */
bool edge_of_leaf(context_impl *c, tensor_impl *t, node_edge *out) {
    *out = (node_edge){NULL, 0};
    if (!t->requires_grad || c->error) return !c->error;
    autograd_extra *x = autograd_extra_of(t);
    if (!x) return !FAIL(c, OUT_OF_MEMORY, "cannot allocate a gradient accumulator");
    node_meta now = meta_of(t); /* written only after a change of shape: threads share leaves */
    if (now.sizes != x->meta.sizes || now.ndim != x->meta.ndim || now.dtype != x->meta.dtype) x->meta = now;
    *out = (node_edge){node_retain(&x->accumulator), 0};
    return true;
}

bool tensor_set_history(context_impl *c, tensor_impl *t, wick_node *node, uint32_t nr) {
    return tensor_take_history(c, t, node_retain(node), nr);
}

bool tensor_change_history(context_impl *c, tensor_impl *t, wick_node *node, uint32_t nr) {
    wick_node *old = t->grad_fn;
    if (WICK_UNLIKELY(t->retains_grad) && !hooks_retain(c, t, node, nr)) {
        node_release(node, c);
        return false;
    }
    t->grad_fn = node;
    t->output_nr = nr;
    t->requires_grad = 0;
    t->pub.keys |= WICK_KEY(AUTOGRAD);
    if (t->base) t->attr_version = wick_version(&t->pub);
    if (old) node_release(old, c);
    return true;
}

/* ---- public graph walk ---- */
const char *wick_node_name(const wick_node *n) { return n->cls->name ? n->cls->name : n->op->backward_name; }
uint64_t wick_node_sequence(const wick_node *n) { return n->sequence; }
int wick_node_inputs(const wick_node *n) { return n->edge_count; }

wick_node *wick_node_next(const wick_node *n, int i, int *out_output_nr) {
    if (i < 0 || i >= n->edge_count) return NULL;
    if (out_output_nr) *out_output_nr = (int)n->edges[i].nr;
    return n->edges[i].fn;
}
