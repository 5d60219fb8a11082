/* Saved tensors: what a node keeps for backward, with the version check and the user's pack and unpack hooks. */
#include "node.h"

#include <stdio.h>

/* An output is kept as a detached alias, so that the node does not own what owns the node. */
static wick_tensor *alias(context_impl *c, wick_tensor *t) {
    wick_tensor *out;
    wick_status *s = tensor_new_view(c, t->storage, (wick_dtype)t->dtype, t->ndim, t->sizes, t->strides, t->offset,
                                     t->flags, &out);
    return fail(c, s) ? NULL : out;
}

static bool pack(context_impl *c, saved_tensor *s, wick_tensor *t) {
    s->hooks = c->saved_hooks[c->saved_hooks_count - 1];
    wick_scope scope = wick_scope_open(PUB(c));
    wick_modes modes = wick_no_grad(PUB(c));
    s->token = s->hooks.pack(s->hooks.user, PUB(c), t);
    wick_modes_set(PUB(c), modes);
    wick_scope_close(PUB(c), scope);
    s->tensor = NULL;
    return !c->error;
}

bool saved_pack(context_impl *c, wick_node *node, int slot, wick_tensor *t, bool is_output, uint32_t output_nr) {
    saved_tensor *s = &node->saved[slot];
    if (t->flags & WICK_TENSOR_INFERENCE)
        return !FAIL(c, FAILED_PRECONDITION, "%s: inference tensors cannot be saved for backward; make a clone() of it in normal mode",
                     node->op ? node->op->name : node->cls->name);
    *s = (saved_tensor){.version = wick_version(t), .output_nr = output_nr, .is_output = is_output, .op = node->op};
    if (c->saved_hooks_count && c->saved_hooks[c->saved_hooks_count - 1].pack) {
        if (!pack(c, s, t)) return false;
    } else {
        s->tensor = is_output ? alias(c, t) : wick_retain(t);
        if (!s->tensor) return false;
    }
    s->present = 1;
    return true;
}

static wick_tensor *modified(context_impl *c, wick_node *node, const saved_tensor *s, uint64_t now) {
    char sizes[SIZES_TEXT];
    const wick_tensor *t = s->tensor;
    FAIL(c, FAILED_PRECONDITION,
         "one of the variables needed for gradient computation has been modified by an inplace operation: [%s %s]%s%s%s is "
         "at version %llu; expected version %llu instead",
         wick_dtype_describe((wick_dtype)t->dtype)->torch_name, format_sizes(t->ndim, t->sizes, sizes, sizeof sizes),
         s->is_output ? ", which is output 0 of " : ", saved for ", wick_node_name(node), node->trace ? node->trace : "",
         (unsigned long long)now, (unsigned long long)s->version);
    return NULL;
}

static wick_tensor *with_history(context_impl *c, wick_node *node, const saved_tensor *s, wick_tensor *plain) {
    wick_tensor *out = alias(c, plain);
    if (!out) return NULL;
    tensor_set_history(impl(out), node, s->output_nr);
    return scope_own(c, out);
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
    wick_tensor *t = s->tensor;
    if (!t) {
        t = s->hooks.unpack(s->hooks.user, PUB(c), s->token);
        if (!t || c->error) return NULL;
    } else if (wick_version(t) != s->version) {
        return modified(c, node, s, wick_version(t));
    }
    if (s->is_output) return with_history(c, node, s, t);
    return t;
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
