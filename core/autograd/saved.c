/* Saved tensors: what a node keeps for backward, with the version check and the user's pack and unpack hooks. */
#include "node.h"

#include <stdio.h>

/* An output is kept as a detached alias, so that the node does not own what owns the node. */
wick_tensor *saved_alias(context_impl *c, wick_tensor *t) {
    wick_tensor *out;
    wick_status *s =
        tensor_new_view(c, t->storage, (wick_dtype)t->dtype, t->ndim, t->sizes, t->strides, t->offset, t->flags, &out);
    return fail(c, s) ? NULL : out;
}

/* Hooks see a detached alias: what pack keeps must not own the node. */
static bool call_pack(context_impl *c, saved_packed *p, wick_tensor *t) {
    wick_scope scope = wick_scope_open(PUB(c));
    wick_modes modes = wick_no_grad(PUB(c));
    wick_tensor *plain = saved_alias(c, t);
    if (plain && scope_own(c, plain)) p->token = p->hooks.pack(p->hooks.user, PUB(c), plain);
    bool packed = p->token != NULL;
    wick_modes_set(PUB(c), modes);
    wick_scope_close(PUB(c), scope);
    if (c->error && packed && p->hooks.release) p->hooks.release(p->hooks.user, p->token);
    return !c->error;
}

static bool pack(context_impl *c, saved_tensor *s, wick_tensor *t) {
    saved_packed *p = rt_calloc(c->rt, sizeof *p);
    if (!p) return !FAIL(c, OUT_OF_MEMORY, "cannot pack a saved tensor");
    p->hooks = c->saved_hooks[c->saved_hooks_count - 1];
    if (!call_pack(c, p, t)) {
        rt_free(c->rt, p);
        return false;
    }
    s->packed = p;
    return s->is_output || edge_of(c, t, &p->origin);
}

bool saved_pack(context_impl *c, wick_node *node, int slot, wick_tensor *t, bool is_output, uint32_t output_nr) {
    saved_tensor *s = &node->saved[slot];
    if (t->flags & WICK_TENSOR_INFERENCE)
        return !FAIL(c, FAILED_PRECONDITION,
                     "%s: inference tensors cannot be saved for backward; make a clone() of it in normal mode",
                     node->op ? node->op->name : node->cls->name);
    *s = (saved_tensor){.version = wick_version(t), .output_nr = output_nr, .is_output = is_output};
    bool ok = true;
    if (c->saved_hooks_count && !(t->flags & WICK_TENSOR_WRAPPED_NUMBER))
        ok = pack(c, s, t);
    else
        s->tensor = is_output ? saved_alias(c, t) : wick_retain(t);
    s->present = s->tensor || s->packed;
    return ok && s->present;
}

static wick_tensor *modified(context_impl *c, wick_node *node, const saved_tensor *s, uint64_t now) {
    char sizes[SIZES_TEXT], role[32] = "an input";
    const wick_tensor *t = s->tensor;
    if (s->is_output) snprintf(role, sizeof role, "output %u", s->output_nr);
    FAIL(
        c, FAILED_PRECONDITION,
        "one of the variables needed for gradient computation has been modified by an inplace operation: [%s %s], which is "
        "%s of %s, is at version %llu; expected version %llu instead.%s",
        wick_dtype_describe((wick_dtype)t->dtype)->torch_name, format_sizes(t->ndim, t->sizes, sizes, sizeof sizes),
        role, wick_node_name(node), (unsigned long long)now, (unsigned long long)s->version,
        node->trace ? node->trace : "");
    return NULL;
}

/* `plain`, scope-owned, as an output of `node`. */
static wick_tensor *with_history(context_impl *c, wick_node *node, uint32_t nr, wick_tensor *plain) {
    wick_tensor *out = saved_alias(c, plain);
    if (!out || !scope_own(c, out)) return NULL;
    return tensor_set_history(c, impl(out), node, nr) ? out : NULL;
}

static wick_tensor *unpack(context_impl *c, wick_node *node, const saved_tensor *s) {
    const saved_packed *p = s->packed;
    wick_tensor *t = p->hooks.unpack(p->hooks.user, PUB(c), p->token);
    if (c->error) return NULL;
    if (!t) {
        FAIL(c, FAILED_PRECONDITION, "%s: the unpack hook returned NULL", wick_node_name(node));
        return NULL;
    }
    if (s->is_output) return with_history(c, node, s->output_nr, t);
    return p->origin.fn ? with_history(c, p->origin.fn, p->origin.nr, t) : t;
}

wick_tensor *saved_unpack(context_impl *c, wick_node *node, int slot) {
    saved_tensor *s = &node->saved[slot];
    if (node->released) {
        FAIL(c, FAILED_PRECONDITION,
             "%s: Trying to backward through the graph a second time (or directly access saved tensors after they have "
             "already been freed). Specify WICK_RETAIN_GRAPH if you need to backward through the graph a second time",
             wick_node_name(node));
        return NULL;
    }
    if (!s->present) return NULL;
    if (s->packed) return unpack(c, node, s);
    uint64_t now = wick_version(s->tensor);
    if (now != s->version) return modified(c, node, s, now);
    return s->is_output ? with_history(c, node, s->output_nr, s->tensor) : s->tensor;
}

bool wick_saved_hooks_push(wick_context *pub, const wick_saved_hooks *hooks) {
    context_impl *c = ctx(pub);
    if (c->saved_hooks_count >= SAVED_HOOKS_LIMIT)
        return !FAIL(c, OUT_OF_RANGE, "more than %d pairs of saved-tensor hooks", SAVED_HOOKS_LIMIT);
    if (hooks->struct_size < sizeof *hooks || !hooks->pack || !hooks->unpack)
        return !FAIL(c, INVALID_ARGUMENT, "saved-tensor hooks need struct_size, pack and unpack");
    c->saved_hooks[c->saved_hooks_count++] = *hooks;
    return true;
}

void wick_saved_hooks_pop(wick_context *pub) {
    if (ctx(pub)->saved_hooks_count) ctx(pub)->saved_hooks_count--;
}
