/* Hooks live on nodes: a leaf's on its accumulator, another tensor's on the node that made it. */
#include <wick/ops.h>

#include "node.h"

static bool add(context_impl *c, wick_node *n, node_hook hook, int64_t *out_id) {
    if (!rt_grow(c->rt, (void **)&n->hooks, &n->hook_capacity, n->hook_count, sizeof *n->hooks))
        return !FAIL(c, OUT_OF_MEMORY, "cannot register a hook");
    hook.id = atomic_fetch_add(&c->rt->hook_ids, 1) + 1;
    n->hooks[n->hook_count++] = hook;
    *out_id = hook.id;
    return true;
}

static bool remove_at(wick_node *n, size_t i) {
    memmove(&n->hooks[i], &n->hooks[i + 1], sizeof *n->hooks * (--n->hook_count - i));
    return true;
}

bool wick_node_remove_hook(wick_node *n, int64_t id) {
    for (size_t i = 0; n && i < n->hook_count; ++i)
        if (n->hooks[i].id == id) return remove_at(n, i);
    return false;
}

void hooks_forget(wick_node *n, const tensor_impl *t) {
    for (size_t i = n->hook_count; i-- > 0;)
        if (n->hooks[i].kind == HOOK_RETAIN && n->hooks[i].user == t) remove_at(n, i);
}

bool hooks_retain(context_impl *c, tensor_impl *t, wick_node *node, uint32_t nr) {
    int64_t id;
    if (!add(c, node, (node_hook){.kind = HOOK_RETAIN, .output = nr, .user = t}, &id)) return false;
    if (t->retains_grad) hooks_forget(t->grad_fn, t);
    t->retains_grad = 1;
    return true;
}

/* ---- running ---- */
static bool replace(context_impl *c, wick_tensor **slot, wick_tensor *fresh, bool owned) {
    if (!fresh || fresh == *slot) return !c->error;
    if (owned) {
        wick_tensor *old = *slot;
        *slot = wick_retain(fresh);
        tensor_release(impl(old), c);
    } else {
        *slot = fresh;
    }
    return !c->error;
}

static bool run_node_hook(context_impl *c, const node_hook *h, wick_node *node, wick_tensor **grads, int n,
                          bool owned) {
    wick_tensor **seen = scope_array(c, (size_t)n);
    if (!seen) return false;
    memcpy(seen, grads, sizeof *seen * (size_t)n);
    h->fn.node(h->user, PUB(c), node, seen, n);
    for (int i = 0; i < n; ++i) {
        if (seen[i] && !grads[i])
            grads[i] = owned ? wick_retain(seen[i]) : seen[i];
        else if (!replace(c, &grads[i], seen[i], owned))
            return false;
    }
    return !c->error;
}

/* Never in place: the gradient before may be in use. */
static bool retain_gradient(context_impl *c, tensor_impl *t, wick_tensor *grad) {
    autograd_extra *x = autograd_extra_of(t);
    if (!x) return !FAIL(c, OUT_OF_MEMORY, "cannot retain a gradient");
    wick_tensor *old = x->grad, *fresh = old ? wick_add(PUB(c), old, grad, NULL) : wick_clone(PUB(c), grad, NULL);
    if (!fresh) return false;
    x->grad = wick_retain(fresh);
    if (old) tensor_release(impl(old), c);
    return true;
}

bool node_run_hooks(context_impl *c, wick_node *node, hook_kind kind, wick_tensor **grads, int n, bool owned) {
    for (size_t i = 0; i < node->hook_count; ++i) {
        node_hook h = node->hooks[i]; /* a hook may remove itself */
        if (h.kind != kind) continue;
        wick_tensor **slot = &grads[kind == HOOK_TENSOR || kind == HOOK_RETAIN ? h.output : 0];
        bool ok = true;
        if (kind == HOOK_TENSOR)
            ok = !*slot || replace(c, slot, h.fn.tensor(h.user, PUB(c), *slot), owned);
        else if (kind == HOOK_RETAIN)
            ok = !*slot || retain_gradient(c, h.user, *slot);
        else if (kind == HOOK_ACCUMULATED)
            h.fn.accumulated(h.user, PUB(c), &((autograd_extra *)node)->owner->pub);
        else
            ok = run_node_hook(c, &h, node, grads, n, owned);
        if (!ok || c->error) return false;
        if (i >= node->hook_count || node->hooks[i].id != h.id) --i;
    }
    return true;
}

/* ---- registration ---- */
static wick_node *home_of(context_impl *c, wick_tensor *pub, const char *what) {
    tensor_impl *t = impl(pub);
    wick_node *fn = tensor_grad_fn(c, t);
    if (fn) return fn;
    autograd_extra *x = t->requires_grad ? autograd_extra_of(t) : NULL;
    if (!x && t->requires_grad)
        FAIL(c, OUT_OF_MEMORY, "cannot register a hook");
    else if (!x)
        FAIL(c, FAILED_PRECONDITION, "cannot register a hook on a tensor that doesn't require gradient (%s)", what);
    return x ? &x->accumulator : NULL;
}

int64_t wick_register_hook(wick_context *pub, wick_tensor *t, wick_tensor_hook hook, void *user) {
    context_impl *c = ctx(pub);
    int64_t id = 0;
    if (c->error) return 0;
    wick_node *n = home_of(c, t, "wick_register_hook");
    node_hook h = {
        .kind = HOOK_TENSOR, .output = impl(t)->grad_fn ? impl(t)->output_nr : 0, .fn.tensor = hook, .user = user};
    return n && add(c, n, h, &id) ? id : 0;
}

int64_t wick_register_accumulate_hook(wick_context *pub, wick_tensor *t, wick_accumulate_hook hook, void *user) {
    context_impl *c = ctx(pub);
    int64_t id = 0;
    if (c->error) return 0;
    wick_node *n = home_of(c, t, "wick_register_accumulate_hook");
    if (n && n->sequence) {
        FAIL(c, FAILED_PRECONDITION, "post accumulate grad hooks cannot be registered on non-leaf tensors");
        return 0;
    }
    node_hook h = {.kind = HOOK_ACCUMULATED, .fn.accumulated = hook, .user = user};
    return n && add(c, n, h, &id) ? id : 0;
}

static int64_t add_node_hook(wick_context *pub, wick_node *node, hook_kind kind, wick_node_hook hook, void *user) {
    int64_t id = 0;
    node_hook h = {.kind = kind, .fn.node = hook, .user = user};
    return !ctx(pub)->error && add(ctx(pub), node, h, &id) ? id : 0;
}

int64_t wick_node_register_prehook(wick_context *c, wick_node *node, wick_node_hook hook, void *user) {
    return add_node_hook(c, node, HOOK_BEFORE, hook, user);
}
int64_t wick_node_register_hook(wick_context *c, wick_node *node, wick_node_hook hook, void *user) {
    return add_node_hook(c, node, HOOK_AFTER, hook, user);
}

bool wick_remove_hook(wick_tensor *t, int64_t id) {
    if (wick_node_remove_hook(impl(t)->grad_fn, id)) return true;
    return extra_of(impl(t)) && wick_node_remove_hook(&extra_of(impl(t))->accumulator, id);
}

bool wick_retain_grad(wick_context *pub, wick_tensor *t) {
    context_impl *c = ctx(pub);
    if (c->error) return false;
    wick_node *fn = tensor_grad_fn(c, impl(t));
    if (!fn && impl(t)->requires_grad) return true; /* a leaf keeps its gradient anyway */
    if (!fn) return !FAIL(c, FAILED_PRECONDITION, "can't retain_grad on a tensor that has requires_grad=False");
    if (impl(t)->retains_grad) return true;
    if (!autograd_extra_of(impl(t))) return !FAIL(c, OUT_OF_MEMORY, "cannot retain a gradient");
    return hooks_retain(c, impl(t), fn, impl(t)->output_nr);
}
