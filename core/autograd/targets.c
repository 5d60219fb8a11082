/* wick_grad: only what lies between the outputs and the wanted inputs runs. */
#include <stdlib.h>

#include <wick/ops.h>

#include "engine.h"

typedef struct visit {
    const wick_node *node;
    bool visits, runs;
} visit;

struct engine_targets {
    context_impl *c;
    visit *nodes; /* what the outputs reach, by ascending sequence */
    size_t count, capacity;
    uint32_t *table; /* node -> index + 1 */
    size_t table_size;
    node_edge *edges; /* of the inputs, retained */
    wick_tensor **captured;
    int input_count;
};

static size_t place(const engine_targets *t, const wick_node *n) {
    size_t mask = t->table_size - 1;
    size_t i = (size_t)(((uint64_t)(uintptr_t)n * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;
    while (t->table[i] && t->nodes[t->table[i] - 1].node != n) i = (i + 1) & mask;
    return i;
}

static const visit *look_up(const engine_targets *t, const wick_node *n) {
    uint32_t found = t->table[place(t, n)];
    return found ? &t->nodes[found - 1] : NULL;
}

bool engine_visits(const engine_targets *t, const wick_node *n) {
    const visit *v = look_up(t, n);
    return v && v->visits;
}

bool engine_runs(const engine_targets *t, const wick_node *n) {
    const visit *v = look_up(t, n);
    return v && v->runs;
}

void engine_capture(const engine_targets *t, const wick_node *n, wick_tensor *const *grads) {
    for (int i = 0; i < t->input_count; ++i)
        if (t->edges[i].fn == n && grads[t->edges[i].nr]) t->captured[i] = wick_retain(grads[t->edges[i].nr]);
}

static bool rebuild_table(engine_targets *t, size_t size) {
    uint32_t *table = rt_calloc(t->c->rt, size * sizeof *table);
    if (!table) return false;
    rt_free(t->c->rt, t->table);
    t->table = table;
    t->table_size = size;
    for (size_t i = 0; i < t->count; ++i) table[place(t, t->nodes[i].node)] = (uint32_t)i + 1;
    return true;
}

static bool discover(engine_targets *t, const wick_node *n) {
    if ((t->count + 1) * 2 > t->table_size && !rebuild_table(t, t->table_size ? t->table_size * 2 : 64)) return false;
    if (look_up(t, n)) return true;
    if (!rt_grow(t->c->rt, (void **)&t->nodes, &t->capacity, t->count, sizeof *t->nodes)) return false;
    t->nodes[t->count] = (visit){n, false, false};
    t->table[place(t, n)] = (uint32_t)++t->count;
    return true;
}

static int by_sequence(const void *a, const void *b) {
    uint64_t x = ((const visit *)a)->node->sequence, y = ((const visit *)b)->node->sequence;
    return (x > y) - (x < y);
}

static bool is_target(const engine_targets *t, const wick_node *n) {
    for (int i = 0; i < t->input_count; ++i)
        if (t->edges[i].fn == n) return true;
    return false;
}

/* The list grows while it is walked: breadth first. Then, from the leaves up, a node runs if a child is visited. */
static bool plan(engine_targets *t) {
    for (size_t i = 0; i < t->count; ++i) {
        const wick_node *n = t->nodes[i].node;
        for (int k = 0; k < n->edge_count; ++k)
            if (n->edges[k].fn && !discover(t, n->edges[k].fn)) return false;
    }
    qsort(t->nodes, t->count, sizeof *t->nodes, by_sequence);
    if (t->table_size && !rebuild_table(t, t->table_size)) return false;
    for (size_t i = 0; i < t->count; ++i) {
        visit *v = &t->nodes[i];
        for (int k = 0; k < v->node->edge_count; ++k)
            if (v->node->edges[k].fn && look_up(t, v->node->edges[k].fn)->visits) v->runs = true;
        v->visits = v->runs || is_target(t, v->node);
    }
    return true;
}

static bool prepare(engine_targets *t, wick_tensor *const *outputs, int noutputs, wick_tensor *const *inputs) {
    context_impl *c = t->c;
    bool fits = true;
    for (int i = 0; i < t->input_count; ++i) {
        if (!inputs[i]) return !FAIL(c, INVALID_ARGUMENT, "wick_grad: input %d is NULL", i);
        if (!edge_of(c, inputs[i], &t->edges[i])) return false;
        if (!t->edges[i].fn)
            return !FAIL(c, FAILED_PRECONDITION, "One of the differentiated Tensors does not require grad (input %d)",
                         i);
    }
    for (int i = 0; fits && i < noutputs; ++i) {
        if (!outputs[i]) return !FAIL(c, INVALID_ARGUMENT, "wick_grad: output %d is NULL", i);
        wick_node *fn = tensor_grad_fn(c, impl(outputs[i]));
        if (!fn && extra_of(impl(outputs[i]))) fn = &extra_of(impl(outputs[i]))->accumulator;
        if (fn) fits = discover(t, fn);
    }
    return (fits && rebuild_table(t, t->table_size ? t->table_size : 64) && plan(t)) ||
           !FAIL(c, OUT_OF_MEMORY, "out of memory in wick_grad");
}

static bool deliver(engine_targets *t, unsigned flags, wick_tensor **out) {
    for (int i = 0; i < t->input_count; ++i) {
        if (!t->captured[i] && !(flags & WICK_ALLOW_UNUSED))
            return !FAIL(t->c, FAILED_PRECONDITION,
                         "One of the differentiated Tensors appears to not have been used in the graph (input %d). Set "
                         "WICK_ALLOW_UNUSED if this is the desired behavior.",
                         i);
        out[i] = t->captured[i] ? scope_own(t->c, t->captured[i]) : NULL;
        t->captured[i] = NULL;
    }
    return !t->c->error;
}

static void finish(engine_targets *t) {
    wick_runtime *rt = t->c->rt;
    for (int i = 0; i < t->input_count; ++i) {
        if (t->edges && t->edges[i].fn) node_release(t->edges[i].fn, t->c);
        if (t->captured && t->captured[i]) tensor_release(impl(t->captured[i]), t->c);
    }
    rt_free(rt, t->edges);
    rt_free(rt, t->captured);
    rt_free(rt, t->nodes);
    rt_free(rt, t->table);
}

bool wick_grad(wick_context *pub, wick_tensor *const *outputs, wick_tensor *const *grad_outputs, int noutputs,
               wick_tensor *const *inputs, int ninputs, unsigned flags, wick_tensor **out) {
    context_impl *c = ctx(pub);
    if (c->error) return false;
    engine_targets t = {.c = c, .input_count = ninputs};
    t.edges = rt_calloc(c->rt, sizeof *t.edges * (size_t)(ninputs + 1));
    t.captured = rt_calloc(c->rt, sizeof *t.captured * (size_t)(ninputs + 1));
    bool ok = (t.edges && t.captured) || !FAIL(c, OUT_OF_MEMORY, "out of memory in wick_grad");
    ok = ok && prepare(&t, outputs, noutputs, inputs) && engine_run(c, outputs, grad_outputs, noutputs, flags, &t) &&
         deliver(&t, flags, out);
    finish(&t);
    return ok;
}

bool wick_backward_many(wick_context *c, wick_tensor *const *roots, wick_tensor *const *grads, int nroots,
                        unsigned flags) {
    return engine_run(ctx(c), roots, grads, nroots, flags, NULL);
}

bool wick_backward(wick_context *c, wick_tensor *root) {
    if (ctx(c)->error) return false;
    if (!root) return !FAIL(ctx(c), INVALID_ARGUMENT, "wick_backward: root is NULL");
    return engine_run(ctx(c), &root, NULL, 1, 0, NULL);
}
