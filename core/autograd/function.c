/* Custom functions: forward and backward callbacks as one node. */
#include <stdio.h>

#include <wick/ops.h>

#include "node.h"

struct wick_function_call {
    wick_function fn;
    node_class cls; /* with the function's own name */
    char name[64];
    void *user;
    context_impl *c;       /* while forward runs */
    wick_node *node;       /* not owned: the node owns this call; NULL if nothing needs a gradient */
    wick_tensor **to_save; /* during forward: owned */
    int save_count;
    const wick_tensor *dirty_tensors[64], *fixed_tensors[64]; /* matched by address after forward */
    int dirty_count, fixed_count;
    bool materialize;
    uint64_t needs; /* bit i: input i needs a gradient */
    wick_runtime *rt;
};

static void call_free(wick_function_call *call, context_impl *c) {
    for (int i = 0; i < call->save_count; ++i)
        if (call->to_save[i]) tensor_release(impl(call->to_save[i]), c);
    rt_free(call->rt, call->to_save);
    if (call->fn.destroy) call->fn.destroy(call->user);
    rt_free(call->rt, call);
}

static bool apply(wick_node *node, context_impl *c, wick_tensor **gout, wick_tensor **gin) {
    wick_function_call *call = node->payload;
    if (node->released && node->saved_count)
        return !FAIL(c, FAILED_PRECONDITION, "%s: Trying to backward through the graph a second time", call->name);
    bool ok = call->fn.backward(call, PUB(c), gout, node->out_count, gin, node->edge_count);
    return (ok || !FAIL(c, FAILED_PRECONDITION, "%s: backward failed", call->name)) && !c->error;
}

static void destroy(wick_node *node, context_impl *c, wick_node **dying) {
    if (node->payload) call_free(node->payload, c);
}

static bool contains(const wick_tensor *const *list, int n, const wick_tensor *t) {
    for (int i = 0; i < n; ++i)
        if (list[i] == t) return true;
    return false;
}

static wick_node *make_node(context_impl *c, wick_function_call *call, wick_tensor *const *inputs, int n,
                            int noutputs) {
    wick_node *node = node_new(c, &call->cls, NULL, n, noutputs, call->save_count, NULL, 0);
    if (!node) return NULL;
    for (int i = 0; i < n; ++i) {
        node_edge edge = {NULL, 0};
        if (inputs[i] && call->needs >> (i & 63) & 1 && !edge_of(c, inputs[i], &edge)) {
            node_release(node, c);
            return NULL;
        }
        node_set_edge(c, node, i, edge);
    }
    node->sequence = ++c->sequence;
    for (int i = 0; c->stream_count && i < n && !node->stream; ++i)
        if (inputs[i]) node_keep_stream(c, node, inputs[i]->device);
    node->lets_undefined_through = !call->materialize;
    if (!c->modes.anomaly || anomaly_note(c, node)) return node;
    node_release(node, c);
    return NULL;
}

static bool check_dirty(context_impl *c, const wick_function_call *call) {
    for (int i = 0; i < call->dirty_count; ++i)
        if (impl(call->dirty_tensors[i])->requires_grad)
            return !FAIL(c, FAILED_PRECONDITION,
                         "%s: a leaf Variable that requires grad has been used in an in-place operation.", call->name);
    return true;
}

/* An output that is an input was either written to (dirty) or passes through as a view of it. */
static bool attach(context_impl *c, wick_function_call *call, wick_node *node, wick_tensor *const *inputs, int n,
                   wick_tensor **outputs, int m) {
    for (int i = 0; i < m; ++i) {
        if (!outputs[i]) continue;
        bool dirty = contains(call->dirty_tensors, call->dirty_count, outputs[i]);
        bool fixed = contains(call->fixed_tensors, call->fixed_count, outputs[i]);
        if (!dirty && contains((const wick_tensor *const *)inputs, n, outputs[i]))
            outputs[i] = wick_alias(PUB(c), wick_detach(PUB(c), outputs[i]));
        if (!outputs[i] || !node_set_meta(c, node, i, outputs[i])) return false;
        if (fixed || !wick_dtype_is_differentiable((wick_dtype)outputs[i]->dtype)) continue;
        bool rebase = dirty && impl(outputs[i])->base;
        if (rebase && m > 1)
            return !FAIL(c, UNSUPPORTED, "%s: a view can be marked dirty only by a function with one output",
                         call->name);
        if (!(rebase ? rebase_history(c, impl(outputs[i]), node)
                     : tensor_set_history(c, impl(outputs[i]), node, (uint32_t)i)))
            return false;
    }
    return true;
}

static bool save_all(context_impl *c, wick_function_call *call, wick_node *node, wick_tensor *const *outputs, int m) {
    for (int i = 0; i < call->save_count; ++i) {
        wick_tensor *t = call->to_save[i];
        if (!t) continue;
        int output = -1;
        for (int k = 0; k < m; ++k)
            if (outputs[k] == t && (impl(t)->grad_fn == node || contains(call->dirty_tensors, call->dirty_count, t)))
                output = k;
        if (!saved_pack(c, node, i, t, output >= 0, output >= 0 ? (uint32_t)output : 0)) return false;
    }
    return true;
}

static bool run_forward(context_impl *c, wick_function_call *call, wick_tensor *const *inputs, int n,
                        wick_tensor **outputs, int m) {
    wick_modes modes = wick_no_grad(PUB(c));
    call->c = c;
    bool ok = call->fn.forward(call, PUB(c), inputs, n, outputs, m);
    call->c = NULL;
    ok = (ok || !FAIL(c, FAILED_PRECONDITION, "%s: forward failed", call->name)) && !c->error;
    wick_modes_set(PUB(c), modes);
    for (int i = 0; ok && i < call->dirty_count; ++i) version_bump((wick_tensor *)call->dirty_tensors[i]);
    return ok;
}

bool wick_function_apply(wick_context *pub, const wick_function *fn, void *user, wick_tensor *const *inputs,
                         int ninputs, wick_tensor **outputs, int noutputs) {
    context_impl *c = ctx(pub);
    if (c->error) return false;
    if (fn->struct_size < sizeof *fn || !fn->forward || !fn->backward || ninputs > 64 || noutputs > 64)
        return !FAIL(c, INVALID_ARGUMENT,
                     "custom function %s: needs struct_size, forward, backward and at most 64 inputs and outputs",
                     fn->name ? fn->name : "");
    wick_function_call *call = rt_calloc(c->rt, sizeof *call);
    if (!call) return !FAIL(c, OUT_OF_MEMORY, "cannot allocate a custom function's call");
    *call = (wick_function_call){.fn = *fn,
                                 .user = user,
                                 .materialize = true,
                                 .rt = c->rt,
                                 .cls = {.name = call->name, .apply = apply, .destroy = destroy}};
    snprintf(call->name, sizeof call->name, "%sBackward", fn->name ? fn->name : "CustomFunction");
    for (int i = 0; c->modes.grad && i < ninputs; ++i)
        if (inputs[i] && tensor_needs_grad(c, impl(inputs[i]))) call->needs |= UINT64_C(1) << i;
    memset(outputs, 0, sizeof *outputs * (size_t)noutputs);
    bool ok = run_forward(c, call, inputs, ninputs, outputs, noutputs);
    wick_node *node = ok && call->needs && check_dirty(c, call) ? make_node(c, call, inputs, ninputs, noutputs) : NULL;
    if (node) {
        node->payload = call;
        call->node = node;
        ok = attach(c, call, node, inputs, ninputs, outputs, noutputs) && save_all(c, call, node, outputs, noutputs);
        for (int i = 0; i < call->save_count; ++i)
            if (call->to_save[i]) tensor_release(impl(call->to_save[i]), c), call->to_save[i] = NULL;
        node_release(node, c);
    } else {
        call_free(call, c);
    }
    return ok && !c->error;
}

/* ---- what the callbacks use ---- */
void *wick_function_user(wick_function_call *call) { return call->user; }

bool wick_function_save(wick_function_call *call, wick_tensor *const *tensors, int n) {
    context_impl *c = call->c;
    if (!c) return false;
    if (call->to_save || n < 0)
        return !FAIL(c, FAILED_PRECONDITION, "%s: wick_function_save: called twice", call->name);
    call->to_save = rt_calloc(call->rt, sizeof *call->to_save * (size_t)(n + 1));
    if (!call->to_save) return !FAIL(c, OUT_OF_MEMORY, "%s: cannot save tensors", call->name);
    for (int i = 0; i < n; ++i) call->to_save[i] = wick_retain(tensors[i]);
    call->save_count = n;
    return true;
}

wick_tensor *wick_function_saved(wick_function_call *call, wick_context *c, int i) {
    if (!call->node || i < 0 || i >= call->node->saved_count) {
        FAIL(ctx(c), OUT_OF_RANGE, "%s: no saved tensor %d", call->name, i);
        return NULL;
    }
    return saved_unpack(ctx(c), call->node, i);
}

void wick_function_mark_dirty(wick_function_call *call, wick_tensor *t) {
    if (call->dirty_count < ARRAY_COUNT(call->dirty_tensors)) call->dirty_tensors[call->dirty_count++] = t;
}
void wick_function_mark_non_differentiable(wick_function_call *call, wick_tensor *t) {
    if (call->fixed_count < ARRAY_COUNT(call->fixed_tensors)) call->fixed_tensors[call->fixed_count++] = t;
}
void wick_function_set_materialize_grads(wick_function_call *call, bool on) { call->materialize = on; }
bool wick_function_needs_input_grad(wick_function_call *call, int i) { return call->needs >> (i & 63) & 1; }
