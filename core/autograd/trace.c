/* Anomaly mode, and the graph as text. */
#include <stdio.h>
#include <stdlib.h>

#include <wick/ops.h>

#include "node.h"

/* ---- anomaly mode ---- */
#define TRACE_BYTES 512

bool anomaly_note(context_impl *c, wick_node *node) {
    char *text = rt_alloc(c->rt, TRACE_BYTES);
    if (!text) return !FAIL(c, OUT_OF_MEMORY, "cannot note a forward call");
    snprintf(text, TRACE_BYTES, " The node was made by forward call %s, number %llu of its context%s%s.",
             node->op ? node->op->name : wick_node_name(node), (unsigned long long)node->sequence,
             c->running ? ", in the backward of " : "", c->running ? wick_node_name(c->running) : "");
    node->trace = text;
    if (c->running) node->parent = node_retain(c->running);
    return true;
}

static bool has_bad_value(context_impl *c, wick_tensor *t) {
    wick_modes modes = wick_no_grad(PUB(c));
    wick_tensor *good = wick_all(PUB(c), wick_isfinite(PUB(c), t));
    bool found = good && wick_item_int(PUB(c), good) == 0;
    wick_modes_set(PUB(c), modes);
    return found;
}

bool anomaly_check(context_impl *c, wick_node *n, wick_tensor *const *gin) {
    for (int i = 0; i < n->edge_count; ++i) {
        if (!gin[i] || !wick_dtype_is_differentiable((wick_dtype)gin[i]->dtype) || !has_bad_value(c, gin[i])) continue;
        return !FAIL(c, FAILED_PRECONDITION, "Function '%s' returned nan or infinite values in its %dth output.%s",
                     wick_node_name(n), i, n->trace ? n->trace : "");
    }
    return !c->error;
}

/* ---- text ---- */
typedef struct walk {
    wick_runtime *rt;
    const wick_node **nodes;
    size_t count, capacity;
} walk;

static int64_t index_of(const walk *w, const wick_node *n) {
    for (size_t i = 0; i < w->count; ++i)
        if (w->nodes[i] == n) return (int64_t)i;
    return -1;
}

static bool collect(walk *w, const wick_node *root) {
    if (!rt_grow(w->rt, (void **)&w->nodes, &w->capacity, w->count, sizeof *w->nodes)) return false;
    w->nodes[w->count++] = root;
    for (size_t i = 0; i < w->count; ++i)
        for (int k = 0; k < w->nodes[i]->edge_count; ++k) {
            const wick_node *next = w->nodes[i]->edges[k].fn;
            if (!next || index_of(w, next) >= 0) continue;
            if (!rt_grow(w->rt, (void **)&w->nodes, &w->capacity, w->count, sizeof *w->nodes)) return false;
            w->nodes[w->count++] = next;
        }
    return true;
}

static void print_node(FILE *out, const walk *w, size_t i) {
    const wick_node *n = w->nodes[i];
    fprintf(out, "#%zu %s", i, wick_node_name(n));
    if (n->sequence == 0) {
        char sizes[SIZES_TEXT];
        fprintf(out, " %s %s", wick_dtype_name((wick_dtype)n->metas[0].dtype),
                format_sizes(n->metas[0].ndim, n->metas[0].sizes, sizes, sizeof sizes));
    }
    for (int k = 0; k < n->edge_count; ++k) {
        if (!n->edges[k].fn)
            fprintf(out, "%s None", k ? "," : " <-");
        else
            fprintf(out, "%s #%lld.%u", k ? "," : " <-", (long long)index_of(w, n->edges[k].fn), n->edges[k].nr);
    }
    fputc('\n', out);
}

wick_status *wick_graph_to_string(wick_context *pub, const wick_tensor *t, char **out) {
    context_impl *c = ctx(pub);
    walk w = {.rt = c->rt};
    size_t bytes = 0;
    *out = NULL;
    wick_node *root = tensor_grad_fn(c, impl(t));
    if (root && !collect(&w, root)) {
        rt_free(c->rt, w.nodes);
        return WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot walk the graph");
    }
    FILE *stream = open_memstream(out, &bytes);
    if (stream) {
        for (size_t i = 0; i < w.count; ++i) print_node(stream, &w, i);
        if (fclose(stream)) free(*out), *out = NULL;
    }
    rt_free(c->rt, w.nodes);
    return *out ? NULL : WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot print the graph");
}
