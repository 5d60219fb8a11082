/* The autograd layer of a call: runs it below, and records what its backward needs. */
#include <stdio.h>

#include "node.h"
#include "op_ids.h"
#include "rule.h"

/* ---- which inputs need a gradient ---- */
HOT uint32_t inputs_needing_grad(context_impl *c, const call_frame *f, int nargs) {
    uint32_t mask = 0;
    const op_entry *op = f->op;
    for (int k = 0; k < op->tensor_arg_count; ++k) {
        int i = op->tensor_args[k];
        wick_tensor *t = arg_tensor(f->args, i);
        if (t && i < nargs && t->keys & WICK_KEY(AUTOGRAD) && tensor_needs_grad(c, impl(t))) mask |= 1u << i;
    }
    for (int k = 0; k < op->list_arg_count; ++k) {
        const wick_value *v = &f->args[op->list_args[k]];
        for (uint32_t n = 0; v->tag == WICK_TAG_TENSOR_LIST && n < v->count; ++n)
            if (v->as.tensors[n] && tensor_needs_grad(c, impl(v->as.tensors[n]))) mask |= 1u << op->list_args[k];
    }
    return mask;
}

HOT int count_edges(const call_frame *f, int nargs) {
    int edges = 0;
    if (!f->op->list_arg_count) return f->op->tensor_arg_count;
    for (int i = 0; i < nargs; ++i)
        if (f->op->args[i].type == TYPE_TENSOR) edges += f->op->args[i].list ? (int)f->args[i].count : 1;
    return edges;
}

HOT bool connect_tensor(context_impl *c, wick_node *node, int edge_index, wick_tensor *t) {
    node_edge edge;
    if (!edge_of(c, t, &edge)) return false;
    node_set_edge(c, node, edge_index, edge);
    return true;
}

static bool connect_lists(context_impl *c, wick_node *node, const call_frame *f, int nargs) {
    for (int i = 0, k = 0; i < nargs; ++i) {
        const wick_value *v = &f->args[i];
        if (f->op->args[i].type != TYPE_TENSOR) continue;
        uint32_t count = f->op->args[i].list ? v->count : 1;
        for (uint32_t n = 0; n < count; ++n, ++k) {
            wick_tensor *t = f->op->args[i].list ? v->as.tensors[n] : arg_tensor(f->args, i);
            if (t && !connect_tensor(c, node, k, t)) return false;
        }
    }
    return true;
}

HOT bool connect(context_impl *c, wick_node *node, const call_frame *f, int nargs, uint32_t needs) {
    const op_entry *op = f->op;
    if (op->list_arg_count) {
        if (!connect_lists(c, node, f, nargs)) return false;
    } else {
        for (; needs; needs &= needs - 1) {
            int i = __builtin_ctz(needs);
            if (!connect_tensor(c, node, op->edges[i], f->args[i].as.tensor)) return false;
        }
    }
    node->sequence = ++c->sequence;
    return true;
}

/* ---- saving ---- */
static int save_slots(const op_save *s, const wick_value *args) { return s->list ? (int)args[s->index].count : 1; }

HOT int count_saves(const call_frame *f) {
    int n = 0;
    if (WICK_LIKELY(!f->op->save_lists)) return f->op->save_count;
    for (int k = 0; k < f->op->save_count; ++k) n += save_slots(&f->op->saves[k], f->args);
    return n;
}

static bool wanted(const op_save *s, uint32_t needs) { return s->only_if < 0 || needs >> s->only_if & 1; }

HOT wick_tensor *written_of(const call_frame *f) {
    return f->op->mutated_arg >= 0 ? arg_tensor(f->args, f->op->mutated_arg) : NULL;
}

/* A copy of t's values, with t's history. */
static wick_tensor *copy_of(context_impl *c, wick_tensor *t) {
    wick_tensor *copy;
    if (fail(c, tensor_new(c, (wick_dtype)t->dtype, t->ndim, t->sizes, NULL, t->device, &copy))) return NULL;
    if (!fail(c, tensor_copy_data(c, copy, t, false)) &&
        (!impl(t)->grad_fn || tensor_set_history(c, impl(copy), impl(t)->grad_fn, impl(t)->output_nr)))
        return copy;
    tensor_release(impl(copy), c);
    return NULL;
}

/* Of what the call overwrites, self is kept as it was. Another argument that shares its storage is kept as an alias,
 * because keeping it itself would close a circle; reading it in backward will be an error: its version is past. */
HOT bool save_input(context_impl *c, wick_node *node, const call_frame *f, int slot, wick_tensor *t, bool is_self) {
    const wick_tensor *written = written_of(f);
    if (!t) return true;
    if (!written || !wick_shares_storage(written, t)) return saved_pack(c, node, slot, t, false, 0);
    wick_tensor *kept = is_self ? copy_of(c, t) : saved_alias(c, t);
    bool ok = kept && saved_pack(c, node, slot, kept, false, 0);
    if (kept) tensor_release(impl(kept), c);
    return ok;
}

HOT bool save_inputs(context_impl *c, wick_node *node, const call_frame *f, uint32_t needs) {
    int slot = 0;
    for (int k = 0; k < f->op->save_count; ++k) {
        const op_save *s = &f->op->saves[k];
        int count = save_slots(s, f->args);
        bool keep = !s->result && wanted(s, needs);
        for (int n = 0; keep && n < count; ++n) {
            wick_tensor *t = s->list ? f->args[s->index].as.tensors[n] : arg_tensor(f->args, s->index);
            if (!save_input(c, node, f, slot + n, t, s->index == f->op->mutated_arg)) return false;
        }
        slot += count;
    }
    return true;
}

static bool save_results(context_impl *c, wick_node *node, const call_frame *f, uint32_t needs) {
    for (int k = 0, slot = 0; k < f->op->save_count; ++k) {
        const op_save *s = &f->op->saves[k];
        if (s->result && wanted(s, needs) && f->rets[s->index].tag == WICK_TAG_TENSOR) {
            wick_tensor *t = f->rets[s->index].as.tensor;
            bool own = impl(t)->grad_fn == node || t == written_of(f); /* a view that was written to has a newer node */
            if (!saved_pack(c, node, slot, t, own, s->index)) return false;
        }
        slot += save_slots(s, f->args);
    }
    return true;
}

/* Several saves may name one argument under different conditions: the one that is present counts. */
static wick_tensor *unpack(backward_call *b, int result_flag, int index, int item) {
    const op_entry *op = b->node->op;
    bool named = false;
    for (int k = 0, at = 0; k < op->save_count; ++k) {
        const op_save *s = &op->saves[k];
        if (s->result == result_flag && s->index == index) {
            if (b->node->released || b->node->saved[at + item].present) return saved_unpack(ctx(C), b->node, at + item);
            named = true;
        }
        at += save_slots(s, b->node->args);
    }
    if (!named) FAIL(ctx(C), INTERNAL, "the gradient rule of %s reads a tensor that its row does not save", op->name);
    return NULL;
}

wick_tensor *saved(backward_call *b, int arg) { return unpack(b, 0, arg, 0); }
wick_tensor *saved_item(backward_call *b, int arg, int item) { return unpack(b, 0, arg, item); }
wick_tensor *result(backward_call *b, int ret) { return unpack(b, 1, ret, 0); }

/* ---- the node of an operator ---- */
static bool apply_rule(wick_node *node, context_impl *c, wick_tensor **gout, wick_tensor **gin) {
    backward_call b = {PUB(c), node, gout, gin};
    if (!node->op->def->grad) return !FAIL(c, UNSUPPORTED, "derivative for %s is not implemented", node->op->name);
    node->op->def->grad(&b);
    return !c->error;
}

static void destroy_payload(wick_node *node, context_impl *c, wick_node **dying) { rt_free(node->rt, node->payload); }

const node_class op_node_class = {NULL, apply_rule, destroy_payload};

/* ---- in-place writes ---- */
static bool check_inplace(context_impl *c, const op_entry *op, wick_tensor *pub) {
    tensor_impl *t = impl(pub);
    if (t->requires_grad && !t->grad_fn)
        return !FAIL(c, FAILED_PRECONDITION,
                     "%s: a leaf Variable that requires grad is being used in an in-place operation.", op->name);
    if (!t->base) return true;
    if (t->base->requires_grad && !t->base->grad_fn)
        return !FAIL(c, FAILED_PRECONDITION,
                     "%s: a view of a leaf Variable that requires grad is being used in an in-place operation.",
                     op->name);
    if (t->view_mode == VIEW_NO_GRAD)
        return !FAIL(c, FAILED_PRECONDITION,
                     "%s: a view was created in no_grad mode and is being modified inplace with grad mode enabled",
                     op->name);
    return true;
}

/* The same for whatever a call writes to, one tensor or a list. */
static bool check_writes(context_impl *c, const call_frame *f) {
    const wick_value *v = &f->args[f->op->mutated_arg];
    if (v->tag == WICK_TAG_TENSOR) return check_inplace(c, f->op, v->as.tensor);
    for (uint32_t i = 0; v->tag == WICK_TAG_TENSOR_LIST && i < v->count; ++i)
        if (v->as.tensors[i] && !check_inplace(c, f->op, v->as.tensors[i])) return false;
    return true;
}

/* One result takes over the recorder's reference to the node. */
HOT bool attach_results(context_impl *c, wick_node *node, call_frame *f, bool *node_taken) {
    for (int i = 0; i < f->op->nrets; ++i) {
        if (f->rets[i].tag != WICK_TAG_TENSOR) continue;
        wick_tensor *t = f->rets[i].as.tensor;
        if (!node_set_meta(c, node, i, t)) return false;
        if (!op_differentiates(f->op, i, (wick_dtype)t->dtype)) continue;
        if (t == written_of(f) && impl(t)->base) {
            if (!rebase_history(c, impl(t), node)) return false;
            continue;
        }
        wick_node *reference = *node_taken ? node_retain(node) : node;
        *node_taken = true;
        if (!tensor_take_history(c, impl(t), reference, (uint32_t)i)) return false;
    }
    return true;
}

/* How long each part of a cat is along its dimension. */
static wick_dim *lengths_of(wick_runtime *rt, const call_frame *f) {
    const wick_value *list = &f->args[0];
    wick_dim *lengths = rt_calloc(rt, sizeof *lengths * (list->count + 1));
    for (uint32_t i = 0; lengths && i < list->count; ++i) {
        const wick_tensor *t = list->as.tensors[i];
        int64_t dim = f->args[1].as.i + (f->args[1].as.i < 0 ? t->ndim : 0);
        if (dim >= 0 && dim < t->ndim) lengths[i] = t->sizes[dim];
    }
    return lengths;
}

/* as_strided's rule needs to know what it looked at, cat's how long the parts were. */
static bool keep_geometry(context_impl *c, wick_node *node, const call_frame *f) {
    int id = f->op->functional->id;
    if (id == OP_ID_as_strided)
        node->payload = geometry_of(c->rt, arg_tensor(f->args, 0));
    else if (id == OP_ID_cat)
        node->payload = lengths_of(c->rt, f);
    else
        return true;
    return node->payload || !FAIL(c, OUT_OF_MEMORY, "cannot allocate a graph node");
}

static bool record(context_impl *c, call_frame *f, uint32_t needs) {
    const op_entry *op = f->op;
    int nargs = op->nargs;
    bool taken = false;
    int kept_args = op->plain_args ? 0 : nargs;
    wick_node *node =
        node_new(c, &op_node_class, op, count_edges(f, nargs), op->nrets, count_saves(f), f->args, kept_args);
    if (node) node_keep_stream(c, node, f->device);
    bool ok = node && connect(c, node, f, nargs, needs) && save_inputs(c, node, f, needs) &&
              keep_geometry(c, node, f) && (!c->modes.anomaly || anomaly_note(c, node)) &&
              dispatch_below(c, f, WICK_RANK_AUTOGRAD) && attach_results(c, node, f, &taken) &&
              (!op->save_results || save_results(c, node, f, needs));
    if (node && !taken) node_release(node, c);
    return ok;
}

bool autograd_allows_out(context_impl *c, const call_frame *f) {
    const op_entry *op = f->op;
    if (op->def->flags & NOT_DIFFERENTIABLE || !inputs_needing_grad(c, f, op->nargs)) return true;
    return !FAIL(
        c, FAILED_PRECONDITION,
        "%s: functions with out=... arguments don't support automatic differentiation, but one of the arguments "
        "requires grad.",
        op->name);
}

bool autograd_dispatch(context_impl *c, call_frame *f) {
    const op_entry *op = f->op;
    uint32_t needs = inputs_needing_grad(c, f, op->base_nargs);
    bool differentiable = !(op->def->flags & NOT_DIFFERENTIABLE) && !op->ret_list;
    if (op->variant == VARIANT_OUT && !autograd_allows_out(c, f)) return false;
    if (op->def->kind == WICK_OP_IMPLICIT) return execute_compose(c, f);
    if (!needs || (!differentiable && op->mutated_arg < 0)) return dispatch_below(c, f, WICK_RANK_AUTOGRAD);
    if (op->mutated_arg >= 0 && !check_writes(c, f)) return false;
    if (differentiable && op_is_transparent(op->def)) return execute_compose(c, f);
    return differentiable ? record(c, f, needs) : dispatch_below(c, f, WICK_RANK_AUTOGRAD);
}
