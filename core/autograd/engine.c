/* The backward engine. A heap of nodes that have received a gradient, highest sequence first: since a node's number is
 * above that of every node it leads to, whatever can still add to a node's gradient has run before it is popped. So one
 * pass suffices: no recursion, no count of dependencies. Leaves accumulate at the end, in order of arrival. */
#include <wick/ops.h>

#include "../ops/shorthand.h"
#include "engine.h"

typedef struct pending {
    wick_node *node;     /* lent by the graph, whose roots the task keeps */
    wick_tensor **grads; /* by output, owned; NULL for one output, which `single` holds */
    wick_tensor *single;
    int64_t next_free;
} pending;

typedef struct pass_callback {
    void (*fn)(void *user, wick_context *c);
    void *user;
} pass_callback;

/* A growing array. */
typedef struct u32_list {
    uint32_t *items;
    size_t count, capacity;
} u32_list;

struct engine_task {
    context_impl *c;
    unsigned flags;
    pending *slots; /* free ones are linked through next_free */
    size_t slot_count, slot_capacity;
    int64_t free_slot;
    int64_t
        front; /* one slot that is neither in the heap nor in the table: a chain needs no other; -1 free, -2 unused */
    u32_list heap;   /* slots */
    u32_list leaves; /* slots, in order of arrival */
    uint32_t *table; /* open addressing: slot + 1; 0 empty */
    size_t table_size, table_used;
    wick_device entered[CONTEXT_STREAMS];        /* devices whose stream the pass has changed */
    wick_stream *outer_streams[CONTEXT_STREAMS]; /* what it was before; owned */
    int entered_count;
    const engine_targets *targets; /* wick_grad's; NULL: accumulate into the leaves */
    pass_callback *callbacks;
    size_t callback_count, callback_capacity;
    engine_task *outer;
};

/* ---- node -> slot ---- */
static size_t hash(const wick_node *n, size_t size) {
    uint64_t h = (uint64_t)(uintptr_t)n * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(h >> 32) & (size - 1);
}

static bool no_memory(engine_task *t) { return !FAIL(t->c, OUT_OF_MEMORY, "out of memory in backward"); }

static void table_put(engine_task *t, uint32_t slot) {
    size_t i = hash(t->slots[slot].node, t->table_size);
    while (t->table[i]) i = (i + 1) & (t->table_size - 1);
    t->table[i] = slot + 1;
}

static bool table_grow(engine_task *t) {
    size_t size = t->table_size ? t->table_size * 2 : 64, old_size = t->table_size;
    uint32_t *old = t->table, *table = rt_calloc(t->c->rt, size * sizeof *table);
    if (!table) return no_memory(t);
    t->table = table;
    t->table_size = size;
    for (size_t i = 0; i < old_size; ++i)
        if (old[i]) table_put(t, old[i] - 1);
    rt_free(t->c->rt, old);
    return true;
}

static int64_t table_find(const engine_task *t, const wick_node *n) {
    if (!t->table_size) return -1;
    for (size_t i = hash(n, t->table_size); t->table[i]; i = (i + 1) & (t->table_size - 1))
        if (t->slots[t->table[i] - 1].node == n) return t->table[i] - 1;
    return -1;
}

/* Removal by shifting back what follows: the table holds only nodes that wait. */
static void table_remove(engine_task *t, uint32_t slot) {
    size_t mask = t->table_size - 1, i = hash(t->slots[slot].node, t->table_size);
    while (t->table[i] != slot + 1) i = (i + 1) & mask;
    for (size_t j = (i + 1) & mask; t->table[j]; j = (j + 1) & mask) {
        size_t home = hash(t->slots[t->table[j] - 1].node, t->table_size);
        if (((j - home) & mask) < ((j - i) & mask)) continue;
        t->table[i] = t->table[j];
        i = j;
    }
    t->table[i] = 0;
    t->table_used--;
}

/* ---- heap by sequence ---- */
static uint64_t rank_of(const engine_task *t, size_t i) { return t->slots[t->heap.items[i]].node->sequence; }

static void heap_swap(engine_task *t, size_t a, size_t b) {
    uint32_t x = t->heap.items[a];
    t->heap.items[a] = t->heap.items[b];
    t->heap.items[b] = x;
}

static void heap_push(engine_task *t, uint32_t slot) {
    size_t i = t->heap.count++;
    t->heap.items[i] = slot;
    for (; i && rank_of(t, i) > rank_of(t, (i - 1) / 2); i = (i - 1) / 2) heap_swap(t, i, (i - 1) / 2);
}

static uint32_t heap_pop(engine_task *t) {
    uint32_t top = t->heap.items[0];
    t->heap.items[0] = t->heap.items[--t->heap.count];
    for (size_t i = 0;;) {
        size_t best = i, left = 2 * i + 1;
        if (left < t->heap.count && rank_of(t, left) > rank_of(t, best)) best = left;
        if (left + 1 < t->heap.count && rank_of(t, left + 1) > rank_of(t, best)) best = left + 1;
        if (best == i) return top;
        heap_swap(t, i, best);
        i = best;
    }
}

/* ---- slots ---- */
static bool room_for(engine_task *t, u32_list *list) {
    return list->count < list->capacity ||
           rt_grow(t->c->rt, (void **)&list->items, &list->capacity, list->count, sizeof *list->items);
}

static bool room_to_enter(engine_task *t) {
    if ((t->table_used + 1) * 2 > t->table_size && !table_grow(t)) return false;
    return (room_for(t, &t->heap) && room_for(t, &t->leaves)) || no_memory(t);
}

static bool slot_room(engine_task *t) {
    return t->free_slot >= 0 ||
           rt_grow(t->c->rt, (void **)&t->slots, &t->slot_capacity, t->slot_count, sizeof *t->slots) || no_memory(t);
}

static void slot_enter(engine_task *t, int64_t slot) {
    table_put(t, (uint32_t)slot);
    t->table_used++;
    if (t->slots[slot].node->sequence)
        heap_push(t, (uint32_t)slot);
    else
        t->leaves.items[t->leaves.count++] = (uint32_t)slot;
}

/* -1 on failure. */
HOT int64_t slot_new(engine_task *t, wick_node *n) {
    wick_tensor **grads = NULL;
    bool front = n->sequence && t->front == -1;
    if (!slot_room(t) || !(front || room_to_enter(t))) return -1;
    if (n->out_count > 1 && !(grads = rt_calloc(t->c->rt, n->out_count * sizeof *grads))) {
        no_memory(t);
        return -1;
    }
    int64_t slot = t->free_slot;
    if (slot >= 0)
        t->free_slot = t->slots[slot].next_free;
    else
        slot = (int64_t)t->slot_count++;
    t->slots[slot] = (pending){n, grads, NULL, -1};
    if (front) return t->front = slot;
    slot_enter(t, slot);
    return slot;
}

static int64_t slot_find(const engine_task *t, const wick_node *n) {
    if (t->front >= 0 && t->slots[t->front].node == n) return t->front;
    return t->table_used ? table_find(t, n) : -1;
}

/* Of all that wait, the node with the highest sequence; -1 if none. */
static int64_t slot_next(engine_task *t) {
    int64_t slot = t->front;
    if (t->heap.count && (slot < 0 || rank_of(t, 0) > t->slots[slot].node->sequence)) {
        slot = heap_pop(t);
        table_remove(t, (uint32_t)slot);
    } else {
        t->front = -1;
    }
    return slot;
}

static wick_tensor **grads_of(pending *p) { return p->grads ? p->grads : &p->single; }

HOT void pending_end(engine_task *t, pending *p) {
    if (p->single) tensor_release(impl(p->single), t->c);
    for (int i = 0; p->grads && i < p->node->out_count; ++i)
        if (p->grads[i]) tensor_release(impl(p->grads[i]), t->c);
    if (p->grads) rt_free(t->c->rt, p->grads);
}

/* ---- a gradient arrives ---- */
HOT bool conforms(const wick_tensor *grad, const node_meta *m) {
    if (grad->ndim != m->ndim || grad->dtype != m->dtype || !wick_device_equal(grad->device, m->device)) return false;
    for (int i = 0; i < m->ndim; ++i)
        if (grad->sizes[i] != m->sizes[i]) return false;
    return true;
}

/* Mostly, as with a bias, only leading dimensions are too many. */
static wick_tensor *sum_broadcast(context_impl *c, wick_tensor *grad, const node_meta *m) {
    const int lead = grad->ndim - m->ndim;
    int64_t dims[WICK_MAX_DIMS];
    if (memcmp(grad->sizes + lead, m->sizes, sizeof *m->sizes * m->ndim))
        return wick_sum_to_size(PUB(c), grad, m->sizes, m->ndim);
    for (int i = 0; i < lead; ++i) dims[i] = i;
    return sum_dims(PUB(c), grad, dims, (size_t)lead, false);
}

/* Sums broadcast dimensions away and casts, so that the gradient looks like what it is the gradient of. */
static wick_tensor *conform(context_impl *c, wick_node *from, wick_tensor *grad, const node_meta *m) {
    char a[SIZES_TEXT], b[SIZES_TEXT];
    bool same = grad->ndim == m->ndim && !memcmp(grad->sizes, m->sizes, sizeof *m->sizes * m->ndim);
    if (!same) {
        bool broadcast = grad->ndim >= m->ndim;
        for (int i = 1; broadcast && i <= m->ndim; ++i)
            broadcast = m->sizes[m->ndim - i] == grad->sizes[grad->ndim - i] || m->sizes[m->ndim - i] == 1;
        if (!broadcast) {
            FAIL(c, INTERNAL, "Function %s returned an invalid gradient: got %s but expected shape compatible with %s",
                 from ? wick_node_name(from) : "root", format_sizes(grad->ndim, grad->sizes, a, sizeof a),
                 format_sizes(m->ndim, m->sizes, b, sizeof b));
            return NULL;
        }
        grad = sum_broadcast(c, grad, m);
    }
    if (grad && !wick_device_equal(grad->device, m->device)) {
        FAIL(c, INVALID_ARGUMENT, "Function %s returned an invalid gradient: expected device %s but got %s",
             from ? wick_node_name(from) : "root", wick_device_format(c->rt, m->device, a, sizeof a),
             wick_device_format(c->rt, grad->device, b, sizeof b));
        return NULL;
    }
    if (grad && grad->dtype != m->dtype) {
        if (wick_dtype_is_complex((wick_dtype)grad->dtype) && !wick_dtype_is_complex((wick_dtype)m->dtype))
            grad = wick_real(PUB(c), grad);
        if (grad && grad->dtype != m->dtype) grad = wick_to_dtype(PUB(c), grad, (wick_dtype)m->dtype, NULL);
    }
    return grad;
}

/* The slot takes a reference to `grad`: the scope's own, if it may (`move`). Two gradients are added, in the order in
 * which they came. */
HOT bool arrive(engine_task *t, wick_node *from, node_edge edge, wick_tensor *grad, wick_scope scope, bool move) {
    context_impl *c = t->c;
    const node_meta *meta = &edge.fn->metas[edge.nr];
    if (WICK_UNLIKELY(!conforms(grad, meta)) && !(grad = conform(c, from, grad, meta))) return false;
    int64_t slot = slot_find(t, edge.fn);
    if (slot < 0 && (slot = slot_new(t, edge.fn)) < 0) return false;
    wick_tensor **into = &grads_of(&t->slots[slot])[edge.nr];
    if (*into) {
        grad = wick_add(PUB(c), *into, grad, NULL);
        if (!grad) return false;
        tensor_release(impl(*into), c);
        move = true;
    }
    *into = move ? scope_take(c, scope, grad) : wick_retain(grad);
    return true;
}

/* ---- running one node ---- */
/* Operators' rules do not look at gradients of indices and the like; users' functions see zeros for them. */
static bool wants_gradient(const wick_node *n, int i) {
    return !n->op || op_differentiates(n->op, i, (wick_dtype)n->metas[i].dtype);
}

/* The only output of a node that runs has a gradient. */
static bool fill_undefined(context_impl *c, wick_node *n, wick_tensor **grads) {
    if (n->op && n->op->def->flags & UNDEFINED_GRAD) return true;
    for (int i = 0; i < n->out_count; ++i) {
        const node_meta *m = &n->metas[i];
        if (grads[i] || !m->dtype || n->lets_undefined_through || !wants_gradient(n, i)) continue;
        wick_zeros_options o = WICK_ZEROS_OPTIONS_INIT;
        o.dtype = (wick_dtype)m->dtype;
        o.device = m->device;
        if (!(grads[i] = wick_zeros(PUB(c), m->sizes, m->ndim, &o))) return false;
    }
    return true;
}

#define FEW 16

static bool handed_again(wick_tensor *const *gin, int i, int n) {
    for (int k = 0; k < n; ++k)
        if (k != i && gin[k] == gin[i]) return true;
    return false;
}

static bool hand_on(engine_task *t, wick_node *n, wick_tensor **gin, wick_scope scope) {
    for (int i = 0, count = n->edge_count; i < count; ++i) {
        node_edge edge = n->edges[i];
        if (!gin[i] || !edge.fn || (t->targets && !engine_visits(t->targets, edge.fn))) continue;
        if (!arrive(t, n, edge, gin[i], scope, count <= 4 && !handed_again(gin, i, count))) return false;
    }
    return true;
}

static bool run_node(engine_task *t, wick_node *n, wick_tensor *const *grads, wick_scope scope) {
    context_impl *c = t->c;
    wick_tensor *few_in[FEW], **gin = few_in, *few_out[FEW], **gout = few_out;
    if (n->edge_count > FEW && !(gin = scope_array(c, n->edge_count))) return false;
    if (n->out_count > FEW && !(gout = scope_array(c, n->out_count))) return false;
    for (int i = 0; i < n->edge_count; ++i) gin[i] = NULL;
    for (int i = 0; i < n->out_count; ++i) gout[i] = grads[i];
    wick_node *outer = c->running;
    c->running = n;
    bool ok = (n->out_count == 1 || fill_undefined(c, n, gout)) && n->cls->apply(n, c, gout, gin) && !c->error &&
              (!n->hooks || node_run_hooks(c, n, HOOK_AFTER, gin, n->edge_count, false)) &&
              (!c->modes.anomaly || anomaly_check(c, n, gin)) && hand_on(t, n, gin, scope);
    c->running = outer;
    if (!(t->flags & WICK_RETAIN_GRAPH)) node_release_saved(n, c);
    return ok;
}

/* ---- leaves ---- */
/* A gradient that nobody else holds becomes the leaf's own; another is copied, as later writes must not show. */
static wick_tensor *first_gradient(context_impl *c, wick_tensor *grad) {
    bool own = atomic_load(&impl(grad)->references) == 1 && atomic_load(&storage_of(grad)->references) == 1 &&
               !impl(grad)->base && wick_is_contiguous(grad) && !impl(grad)->grad_fn && !impl(grad)->requires_grad;
    return own ? grad : wick_clone(PUB(c), grad, NULL);
}

static bool accumulate(context_impl *c, autograd_extra *x, wick_tensor *grad, bool create_graph) {
    pthread_mutex_lock(&c->rt->accumulate_lock);
    wick_tensor *old = x->grad, *fresh = old;
    if (create_graph)
        fresh = old ? wick_add(PUB(c), old, grad, NULL) : wick_clone(PUB(c), grad, NULL);
    else if (!old)
        fresh = first_gradient(c, grad);
    else
        wick_add_(PUB(c), old, grad, NULL);
    if (fresh && fresh != old && !c->error) {
        x->grad = wick_retain(fresh);
        if (old) tensor_release(impl(old), c);
    }
    pthread_mutex_unlock(&c->rt->accumulate_lock);
    return !c->error;
}

static bool run_leaf(engine_task *t, wick_node *n, wick_tensor *grad) {
    autograd_extra *x = (autograd_extra *)n;
    if (t->targets) return true;
    return accumulate(t->c, x, grad, t->flags & WICK_CREATE_GRAPH) &&
           (!n->hooks || (node_run_hooks(t->c, n, HOOK_ACCUMULATED, &x->grad, 1, false) &&
                          node_run_hooks(t->c, n, HOOK_AFTER, &grad, 0, false)));
}

/* ---- streams ---- */
static bool note_entered(engine_task *t, wick_device device, wick_stream *outer) {
    for (int i = 0; i < t->entered_count; ++i)
        if (wick_device_equal(t->entered[i], device)) return true;
    if (t->entered_count == CONTEXT_STREAMS)
        return !FAIL(t->c, OUT_OF_RANGE, "backward over streams of more than %d devices", CONTEXT_STREAMS);
    t->entered[t->entered_count] = device;
    t->outer_streams[t->entered_count++] = wick_stream_retain(outer);
    return true;
}

/* Makes `stream` current; it waits for what the pass has put on the one before. So the pass is in order. */
static bool switch_stream(context_impl *c, wick_device device, wick_stream *stream) {
    wick_stream *now = context_stream(c, device);
    if (now == stream) return true;
    return !fail(c, stream_order(c->rt, device, now, device, stream)) && wick_set_stream(PUB(c), device, stream);
}

/* A node runs on the stream of its forward call. */
HOT bool enter_stream(engine_task *t, const wick_node *n) {
    context_impl *c = t->c;
    if (WICK_LIKELY(!n->stream && !c->stream_count) || !n->sequence || !n->out_count) return true;
    wick_device device = n->stream ? n->stream->device : n->metas[0].device;
    wick_stream *now = context_stream(c, device);
    return now == n->stream || (note_entered(t, device, now) && switch_stream(c, device, n->stream));
}

/* The caller's streams wait for the pass. After a failure too: whoever takes the error goes on from there. */
static void leave_streams(engine_task *t) {
    context_impl *c = t->c;
    wick_status *error = c->error;
    c->error = NULL;
    while (t->entered_count) {
        int i = --t->entered_count;
        switch_stream(c, t->entered[i], t->outer_streams[i]);
        wick_stream_release(t->outer_streams[i]);
    }
    if (!error) return;
    wick_status_free(c->error);
    c->error = error;
}

static void queue_inputs(engine_task *t, const wick_node *n) {
    for (int i = 0; i < n->edge_count; ++i) {
        wick_node *next = n->edges[i].fn;
        if (next && slot_find(t, next) < 0 && slot_new(t, next) < 0) return;
    }
}

static bool run_slot(engine_task *t, uint32_t slot) {
    context_impl *c = t->c;
    pending p = t->slots[slot]; /* slots may move while the node runs */
    t->slots[slot].next_free = t->free_slot;
    t->slots[slot].node = NULL;
    t->free_slot = slot;
    wick_tensor **grads = grads_of(&p);
    wick_scope scope = scope_open(c);
    bool ok = enter_stream(t, p.node);
    ok = ok && (!p.node->hooks || (node_run_hooks(c, p.node, HOOK_TENSOR, grads, p.node->out_count, true) &&
                                   node_run_hooks(c, p.node, HOOK_RETAIN, grads, p.node->out_count, false) &&
                                   node_run_hooks(c, p.node, HOOK_BEFORE, grads, p.node->out_count, true)));
    if (ok && t->targets) engine_capture(t->targets, p.node, grads);
    if (ok && p.node->sequence == 0)
        ok = run_leaf(t, p.node, grads[0]);
    else if (ok && (!t->targets || engine_runs(t->targets, p.node)))
        ok = run_node(t, p.node, grads, scope);
    scope_close(c, scope);
    if (!ok) queue_inputs(t, p.node); /* see mark_partial */
    pending_end(t, &p);
    return ok;
}

/* ---- a whole pass ---- */
static engine_task *task_begin(context_impl *c, unsigned flags, const engine_targets *targets) {
    engine_task *t = c->engine_scratch;
    c->engine_scratch = NULL;
    if (!t && !(t = rt_calloc(c->rt, sizeof *t))) {
        FAIL(c, OUT_OF_MEMORY, "out of memory in backward");
        return NULL;
    }
    t->c = c;
    t->flags = flags & WICK_CREATE_GRAPH ? flags | WICK_RETAIN_GRAPH : flags;
    t->targets = targets;
    t->slot_count = t->heap.count = t->leaves.count = t->callback_count = 0;
    t->entered_count = 0;
    t->free_slot = t->front = -1;
    t->outer = c->task;
    c->task = t;
    return t;
}

void engine_task_free(wick_runtime *rt, engine_task *t) {
    if (!t) return;
    rt_free(rt, t->slots);
    rt_free(rt, t->heap.items);
    rt_free(rt, t->leaves.items);
    rt_free(rt, t->table);
    rt_free(rt, t->callbacks);
    rt_free(rt, t);
}

/* After a failure what still waits is dropped. */
static void task_abandon(engine_task *t) {
    for (size_t i = 0; i < t->slot_count; ++i) {
        pending *p = &t->slots[i];
        if (!p->node) continue;
        if (t->front != (int64_t)i) table_remove(t, (uint32_t)i);
        pending_end(t, p);
    }
}

static void task_end(engine_task *t) {
    context_impl *c = t->c;
    c->task = t->outer;
    if (c->engine_scratch)
        engine_task_free(c->rt, t);
    else
        c->engine_scratch = t;
}

static bool run_leaves(engine_task *t) {
    bool ok = true;
    for (size_t i = 0; ok && i < t->leaves.count; ++i) {
        autograd_extra *leaf = (autograd_extra *)t->slots[t->leaves.items[i]].node;
        tensor_impl *owner = impl(wick_retain(&leaf->owner->pub));
        table_remove(t, t->leaves.items[i]);
        ok = run_slot(t, t->leaves.items[i]);
        if (!ok) leaf->partial = true;
        tensor_release(owner, t->c);
    }
    return ok;
}

/* Marks the leaves that a failed pass would still have reached, found by walking on without gradients. */
static void mark_partial(engine_task *t) {
    if (t->front >= 0) {
        if (!room_to_enter(t)) return;
        slot_enter(t, t->front);
    }
    t->front = -2;
    while (t->heap.count) queue_inputs(t, t->slots[heap_pop(t)].node);
    for (size_t i = 0; i < t->slot_count; ++i) {
        wick_node *n = t->slots[i].node;
        if (n && n->sequence == 0) ((autograd_extra *)n)->partial = true;
    }
}

static bool run_callbacks(engine_task *t) {
    for (size_t i = 0; i < t->callback_count; ++i) t->callbacks[i].fn(t->callbacks[i].user, PUB(t->c));
    return !t->c->error;
}

/* Without targets a failure is told to the leaves. */
static bool run_all(engine_task *t) {
    bool ok = true;
    for (int64_t slot; ok && (slot = slot_next(t)) >= 0;) ok = run_slot(t, (uint32_t)slot);
    ok = ok && run_leaves(t);
    if (!ok && !t->targets) mark_partial(t);
    return ok && run_callbacks(t);
}

static bool check_root_gradient(context_impl *c, int i, const wick_tensor *root, const wick_tensor *grad) {
    char a[SIZES_TEXT], b[SIZES_TEXT];
    if (grad->ndim == root->ndim && !memcmp(grad->sizes, root->sizes, sizeof *root->sizes * root->ndim)) return true;
    return !FAIL(
        c, INVALID_ARGUMENT, "Mismatch in shape: grad_output[%d] has a shape of %s and output[%d] has a shape of %s.",
        i, format_sizes(grad->ndim, grad->sizes, a, sizeof a), i, format_sizes(root->ndim, root->sizes, b, sizeof b));
}

static wick_tensor *implicit_gradient(context_impl *c, wick_tensor *root) {
    wick_tensor *one;
    if (root->numel == 1 && wick_dtype_is_floating((wick_dtype)root->dtype)) {
        if (fail(c, tensor_new(c, (wick_dtype)root->dtype, root->ndim, root->sizes, NULL, root->device, &one)))
            return NULL;
        return scope_own(c, one) ? wick_fill_(PUB(c), one, wick_value_float(1)) : NULL;
    }
    if (root->numel != 1)
        FAIL(c, INVALID_ARGUMENT, "grad can be implicitly created only for scalar outputs");
    else
        FAIL(c, INVALID_ARGUMENT, "grad can be implicitly created only for real scalar outputs but got %s",
             wick_dtype_name((wick_dtype)root->dtype));
    return NULL;
}

/* *held: the root's node, which the caller keeps to the end of the pass. */
static bool push_root(engine_task *t, int i, wick_tensor *root, wick_tensor *grad, wick_scope scope, wick_node **held) {
    context_impl *c = t->c;
    node_edge edge;
    if (!root) return !FAIL(c, INVALID_ARGUMENT, "backward: tensor %d is NULL", i);
    if (!edge_of(c, root, &edge)) return false;
    *held = edge.fn;
    if (!edge.fn)
        return !FAIL(c, FAILED_PRECONDITION, "element %d of tensors does not require grad and does not have a grad_fn",
                     i);
    if (grad && !check_root_gradient(c, i, root, grad)) return false;
    if (!grad && !(grad = implicit_gradient(c, root))) return false;
    return (t->targets && !engine_visits(t->targets, edge.fn)) || arrive(t, NULL, edge, grad, scope, false);
}

bool engine_run(context_impl *c, wick_tensor *const *roots, wick_tensor *const *grads, int n, unsigned flags,
                const engine_targets *targets) {
    wick_node *few[FEW], **held = few;
    if (c->error) return false;
    if (n > FEW && !(held = rt_alloc(c->rt, sizeof *held * (size_t)n)))
        return !FAIL(c, OUT_OF_MEMORY, "out of memory in backward");
    for (int i = 0; i < n; ++i) held[i] = NULL;
    wick_modes outer = c->modes;
    wick_set_grad_enabled(PUB(c), (flags & WICK_CREATE_GRAPH) != 0);
    engine_task *t = task_begin(c, flags, targets);
    wick_scope scope = scope_open(c);
    bool ok = t != NULL;
    for (int i = 0; ok && i < n; ++i) ok = push_root(t, i, roots[i], grads ? grads[i] : NULL, scope, &held[i]);
    scope_close(c, scope);
    ok = ok && run_all(t);
    if (t && WICK_UNLIKELY(t->entered_count)) leave_streams(t), ok = ok && !c->error;
    if (t && !ok) task_abandon(t);
    if (t) task_end(t);
    for (int i = 0; i < n; ++i)
        if (held[i]) node_release(held[i], c);
    if (held != few) rt_free(c->rt, held);
    wick_modes_set(PUB(c), outer);
    return ok;
}

bool wick_queue_callback(wick_context *pub, void (*fn)(void *user, wick_context *c), void *user) {
    context_impl *c = ctx(pub);
    engine_task *t = c->task;
    if (!t) return !FAIL(c, FAILED_PRECONDITION, "wick_queue_callback: no backward pass is running on this context");
    if (!rt_grow(c->rt, (void **)&t->callbacks, &t->callback_capacity, t->callback_count, sizeof *t->callbacks))
        return no_memory(t);
    t->callbacks[t->callback_count++] = (pass_callback){fn, user};
    return true;
}
