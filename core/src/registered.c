#include "registered.h"

#include "../autograd/rule.h"

/* ---- the shape rule ---- */
static wick_status *take_meta(const op_entry *op, int i, const wick_meta *from, op_meta *to) {
    if (!wick_dtype_bytes((wick_dtype)from->dtype) || from->ndim < 0 || from->ndim > WICK_MAX_DIMS)
        return WICK_ERROR(WICK_INTERNAL, "%s: its shape rule gave output %d dtype %u and %d dimensions", op->name, i,
                          from->dtype, from->ndim);
    to->dtype = (wick_dtype)from->dtype;
    to->ndim = from->ndim;
    memcpy(to->sizes, from->sizes, sizeof *to->sizes * (size_t)from->ndim);
    return NULL;
}

static wick_status *infer_registered(op_infer *ix) {
    const registered_op *r = ix->op->def->registered;
    wick_meta outs[OP_MAX_RETS];
    for (int i = 0; i < ix->op->nrets; ++i) outs[i].dtype = 0, outs[i].ndim = 0;
    wick_infer_call call = {.struct_size = sizeof call,
                            .nargs = ix->op->base_nargs,
                            .nouts = ix->op->nrets,
                            .op = ix->op,
                            .values = ix->args,
                            .instance = r->instance,
                            .host = ix->c->host,
                            .context = ix->c,
                            .outs = outs};
    WICK_TRY(r->plugin->infer(&call));
    ix->compute = (wick_dtype)call.compute_dtype;
    for (int i = 0; i < ix->op->nrets; ++i) WICK_TRY(take_meta(ix->op, i, &outs[i], &ix->outs[i]));
    return NULL;
}

/* ---- the decomposition ---- */
static void compose_registered(wick_context *c, const wick_value *args, wick_value *rets) {
    const op_entry *op = ctx(c)->composing;
    const registered_op *r = op->def->registered;
    if (!r->plugin->compose(r->instance, c, args, rets) && !wick_failed(c))
        FAIL(ctx(c), INTERNAL, "%s: its decomposition failed without an error", op->name);
}

/* ---- the gradient ---- */
static bool saves_argument(const op_entry *op, int is_result, int index) {
    for (int k = 0; k < op->save_count; ++k)
        if (op->saves[k].result == is_result && op->saves[k].index == index) return true;
    return false;
}

static wick_value saved_value(backward_call *b, int is_result, int index) {
    const op_entry *op = b->node->op;
    if (!saves_argument(op, is_result, index)) return wick_value_none();
    return wick_value_tensor(is_result ? result(b, index) : saved(b, index));
}

static void backward_registered(backward_call *b) {
    const op_entry *op = b->node->op;
    const registered_op *r = op->def->registered;
    wick_value values[OP_MAX_ARGS], results[OP_MAX_RETS];
    wick_tensor *grad_inputs[OP_MAX_ARGS] = {NULL};
    bool needed[OP_MAX_ARGS] = {false};
    for (int i = 0; i < op->base_nargs; ++i) {
        bool tensor = op->args[i].type == TYPE_TENSOR;
        values[i] = tensor ? saved_value(b, 0, i) : *arg(b, i);
        needed[i] = tensor && needs(b, i);
    }
    for (int i = 0; i < op->nrets; ++i) results[i] = saved_value(b, 1, i);
    if (wick_failed(C)) return;
    const wick_backward_call call = {.struct_size = sizeof call,
                                     .nargs = op->base_nargs,
                                     .nouts = op->nrets,
                                     .op = op,
                                     .instance = r->instance,
                                     .context = C,
                                     .values = values,
                                     .results = results,
                                     .grad_outputs = b->gout,
                                     .grad_inputs = grad_inputs,
                                     .needs_grad = needed};
    if (!r->plugin->backward(&call) && !wick_failed(C)) {
        FAIL(ctx(C), INTERNAL, "%s: its gradient rule failed without an error", op->name);
        return;
    }
    for (int i = 0; i < op->base_nargs; ++i)
        if (needed[i]) set_grad(b, i, grad_inputs[i]);
}

/* ---- the row ---- */
static uint32_t row_flags(uint32_t flags) {
    static const struct {
        uint32_t plugin, core;
    } map[] = {
        {WICK_OPERATOR_POINTWISE, POINTWISE},
        {WICK_OPERATOR_INPLACE, INPLACE},
        {WICK_OPERATOR_OUT, OUT},
        {WICK_OPERATOR_RANDOM, RANDOM},
        {WICK_OPERATOR_NO_FALLBACK, NO_FALLBACK},
        {WICK_OPERATOR_NOT_DIFFERENTIABLE, NOT_DIFFERENTIABLE},
        {WICK_OPERATOR_PROMOTE_FLOAT, PROMOTE_FLOAT},
        {WICK_OPERATOR_BOOL_RESULT, BOOL_RESULT},
    };
    uint32_t out = 0;
    for (int i = 0; i < ARRAY_COUNT(map); ++i)
        if (flags & map[i].plugin) out |= map[i].core;
    return out;
}

static wick_status *check_row(const wick_operator_row *row) {
    if (!row->schema) return WICK_ERROR(WICK_INVALID_ARGUMENT, "register_operators: a row has no schema");
    if (row->struct_size < sizeof *row)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "register_operators: %s: got a row of %u bytes, wanted %zu",
                          row->schema, row->struct_size, sizeof *row);
    const char *colons = strstr(row->schema, "::");
    if (!colons || colons > strchr(row->schema, '(') || !strncmp(row->schema, "aten::", 6))
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "register_operators: got \"%s\", wanted NAMESPACE::NAME(...)",
                          row->schema);
    if (!row->infer && !row->compose && !(row->flags & WICK_OPERATOR_POINTWISE))
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "register_operators: %s: wanted infer, compose or the flag POINTWISE",
                          row->schema);
    return NULL;
}

wick_status *registered_op_init(registered_op *out, const wick_operator_row *row, void *instance) {
    WICK_TRY(check_row(row));
    bool kernels = row->infer || row->flags & WICK_OPERATOR_POINTWISE;
    bool opaque = kernels || row->backward || row->flags & WICK_OPERATOR_NOT_DIFFERENTIABLE;
    wick_op_kind kind = kernels && !row->compose ? WICK_OP_PRIMITIVE : opaque ? WICK_OP_EXPLICIT : WICK_OP_IMPLICIT;
    *out = (registered_op){.row = {.schema = row->schema,
                                   .kind = kind,
                                   .infer = row->infer ? infer_registered : NULL,
                                   .compose = row->compose ? compose_registered : NULL,
                                   .grad = row->backward ? backward_registered : NULL,
                                   .saves = row->saves,
                                   .flags = row_flags(row->flags),
                                   .registered = out},
                           .plugin = row,
                           .instance = instance};
    return NULL;
}
