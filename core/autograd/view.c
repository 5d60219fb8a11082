/* Views and in-place writes: bases, histories that are made anew, and the node that a write to a view becomes. */
#include <wick/ops.h>

#include "node.h"
#include "op_ids.h"

geometry *geometry_of(wick_runtime *rt, const wick_tensor *t) {
    size_t bytes = sizeof(wick_dim) * t->ndim;
    geometry *g = rt_alloc(rt, sizeof *g + 2 * bytes);
    if (!g) return NULL;
    *g = (geometry){t->ndim, t->dtype, t->flags, t->offset, (wick_dim *)(g + 1), (wick_dim *)(g + 1) + t->ndim};
    memcpy(g->sizes, t->sizes, bytes);
    memcpy(g->strides, t->strides, bytes);
    return g;
}

void view_track(context_impl *c, tensor_impl *view, tensor_impl *self) {
    if (c->modes.inference || self->pub.flags & WICK_TENSOR_INFERENCE) return;
    tensor_impl *base = self->base ? self->base : self;
    view->base = impl(wick_retain(&base->pub));
    view->view_mode = self->view_mode ? self->view_mode : c->modes.grad ? VIEW_DEFAULT : VIEW_NO_GRAD;
    view->attr_version = wick_version(&view->pub);
    view->pub.keys |= WICK_KEY(AUTOGRAD); /* its base may come to need a gradient */
}

static bool is_complex(unsigned dtype) { return wick_dtype_is_complex((wick_dtype)dtype); }

static wick_tensor *strided(context_impl *c, wick_tensor *t, const wick_dim *sizes, const wick_dim *strides, int ndim,
                            int64_t offset) {
    wick_as_strided_options at = WICK_AS_STRIDED_OPTIONS_INIT;
    at.storage_offset = &offset;
    return wick_as_strided(PUB(c), t, sizes, (size_t)ndim, strides, (size_t)ndim, &at);
}

/* A complex view of real memory: pairs, then numbers. */
static wick_tensor *view_pairs(context_impl *c, wick_tensor *base, const geometry *g, int64_t origin) {
    wick_dim sizes[WICK_MAX_DIMS + 1], strides[WICK_MAX_DIMS + 1];
    for (int i = 0; i < g->ndim; ++i) sizes[i] = g->sizes[i], strides[i] = 2 * g->strides[i];
    sizes[g->ndim] = 2, strides[g->ndim] = 1;
    return wick_view_as_complex(PUB(c), strided(c, base, sizes, strides, g->ndim + 1, 2 * g->offset - origin));
}

/* What `g` shows of `base`, by recorded operators. `origin`: base's offset when g was taken, less the one it has now. */
static wick_tensor *view_again(context_impl *c, wick_tensor *base, const geometry *g, int64_t origin) {
    wick_tensor *t;
    if (!base) return NULL;
    if (is_complex(g->dtype) && !is_complex(base->dtype))
        t = view_pairs(c, base, g, origin);
    else if (is_complex(base->dtype) && !is_complex(g->dtype))
        t = strided(c, wick_view_as_real(PUB(c), base), g->sizes, g->strides, g->ndim, g->offset - 2 * origin);
    else
        t = strided(c, base, g->sizes, g->strides, g->ndim, g->offset - origin);
    if (g->flags & WICK_TENSOR_CONJ) t = wick_conj(PUB(c), t);
    return g->flags & WICK_TENSOR_NEG ? wick__neg_view(PUB(c), t) : t;
}

/* A view that reads its base in another dtype or with another sign: its history is that of a view taken now. */
static wick_node *node_of_reading(context_impl *c, tensor_impl *view) {
    wick_modes modes = wick_set_grad_enabled(PUB(c), true);
    wick_scope scope = wick_scope_open(PUB(c));
    geometry now = {view->pub.ndim,
                    view->pub.dtype,
                    view->pub.flags,
                    view->pub.offset,
                    (wick_dim *)view->pub.sizes,
                    (wick_dim *)view->pub.strides};
    wick_tensor *again = view_again(c, &view->base->pub, &now, 0);
    wick_node *node = again && impl(again)->grad_fn ? node_retain(impl(again)->grad_fn) : NULL;
    wick_scope_close(PUB(c), scope);
    wick_modes_set(PUB(c), modes);
    return node;
}

static bool reads_otherwise(const tensor_impl *view) {
    const uint16_t lazy = WICK_TENSOR_CONJ | WICK_TENSOR_NEG;
    return view->pub.dtype != view->base->pub.dtype || ((view->pub.flags ^ view->base->pub.flags) & lazy);
}

/* A node AsStridedBackward that leads from the view's place in the base to the base's history. */
static wick_node *node_of_view(context_impl *c, tensor_impl *view) {
    const op_entry *op = &c->rt->ops->entries[OP_ID_as_strided];
    const wick_tensor *v = &view->pub;
    wick_value args[4] = {wick_value_tensor(&view->base->pub), wick_value_ints(v->sizes, v->ndim),
                          wick_value_ints(v->strides, v->ndim), wick_value_int(v->offset)};
    node_edge edge;
    if (!edge_of(c, &view->base->pub, &edge)) return NULL;
    wick_node *node = node_new(c, &op_node_class, op, 1, 1, 0, args, 4);
    if (node) {
        node_set_edge(c, node, 0, edge);
        node->sequence = ++c->sequence;
        node->payload = geometry_of(c->rt, &view->base->pub);
    }
    if (node && node->payload && node_set_meta(c, node, 0, v)) return node;
    if (node)
        node_release(node, c);
    else if (edge.fn)
        node_release(edge.fn, c);
    FAIL(c, OUT_OF_MEMORY, "cannot allocate a graph node");
    return NULL;
}

wick_node *view_grad_fn(context_impl *c, tensor_impl *t) {
    if (!c) return t->grad_fn;
    uint64_t now = wick_version(&t->pub);
    if (now == t->attr_version) return t->grad_fn;
    bool base_needs = t->base->requires_grad || t->base->grad_fn;
    if (!base_needs || !wick_dtype_is_differentiable((wick_dtype)t->pub.dtype)) return t->grad_fn;
    wick_node *node = reads_otherwise(t) ? node_of_reading(c, t) : node_of_view(c, t);
    if (!node) return NULL;
    bool ok = tensor_set_history(c, t, node, 0);
    node_release(node, c);
    return ok ? t->grad_fn : NULL;
}

/* ---- CopySlices ---- */
typedef struct copy_slices {
    wick_node *inner; /* owned: the write itself */
    geometry *base, *view;
} copy_slices;

static void copy_slices_destroy(wick_node *node, context_impl *c, wick_node **dying) {
    copy_slices *p = node->payload;
    if (!p) return;
    if (p->inner) node_unref(p->inner, dying);
    rt_free(node->rt, p->base);
    rt_free(node->rt, p->view);
    rt_free(node->rt, p);
}

/* The base's gradient outside the slice passes through; inside, the write's own gradient takes its place. */
static bool copy_slices_apply(wick_node *node, context_impl *pub, wick_tensor **gout, wick_tensor **gin) {
    copy_slices *p = node->payload;
    wick_context *c = PUB(pub);
    wick_empty_strided_options options = WICK_EMPTY_STRIDED_OPTIONS_INIT;
    options.dtype = (wick_dtype)gout[0]->dtype;
    options.device = gout[0]->device;
    wick_tensor *whole =
        wick_empty_strided(c, p->base->sizes, (size_t)p->base->ndim, p->base->strides, (size_t)p->base->ndim, &options);
    wick_copy_(c, whole, gout[0], NULL);
    wick_tensor *slice = view_again(pub, whole, p->view, p->base->offset);
    wick_tensor *written = wick_clone(c, slice, NULL);
    if (!written || !p->inner->cls->apply(p->inner, pub, &written, gin)) return false;
    if (gin[0])
        wick_copy_(c, slice, gin[0], NULL);
    else
        wick_zero_(c, slice);
    gin[0] = whole;
    return !pub->error;
}

static void copy_slices_release(wick_node *node, context_impl *c) {
    node_release_saved(((copy_slices *)node->payload)->inner, c);
}

static const node_class copy_slices_class = {"CopySlices", copy_slices_apply, copy_slices_destroy, copy_slices_release};

bool rebase_history(context_impl *c, tensor_impl *t, wick_node *inner) {
    tensor_impl *base = t->base;
    node_edge edge;
    if (!edge_of(c, &base->pub, &edge)) return false;
    wick_node *node = node_new(c, &copy_slices_class, NULL, inner->edge_count ? inner->edge_count : 1, 1, 0, NULL, 0);
    copy_slices *p = node ? rt_calloc(c->rt, sizeof *p) : NULL;
    if (!p) {
        if (edge.fn) node_release(edge.fn, c);
        if (node) node_release(node, c);
        return !FAIL(c, OUT_OF_MEMORY, "cannot allocate a graph node");
    }
    node->payload = p;
    node_set_edge(c, node, 0, edge);
    for (int i = 1; i < inner->edge_count; ++i)
        if (inner->edges[i].fn)
            node_set_edge(c, node, i, (node_edge){node_retain(inner->edges[i].fn), inner->edges[i].nr});
    node->sequence = ++c->sequence;
    p->inner = node_retain(inner);
    p->base = geometry_of(c->rt, &base->pub);
    p->view = geometry_of(c->rt, &t->pub);
    bool ok = p->base && p->view && node_set_meta(c, node, 0, &base->pub);
    if (ok) {
        t->attr_version = UINT64_MAX; /* its own history is made from the base's when asked for */
        ok = tensor_set_history(c, base, node, 0) && tensor_grad_fn(c, t) && !c->error;
    } else {
        FAIL(c, OUT_OF_MEMORY, "cannot allocate a graph node");
    }
    node_release(node, c);
    return ok;
}
