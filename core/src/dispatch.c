/* Calls on their way down: arguments, keys, handlers by rank. */
#include "dispatch.h"

#include <stdio.h>

#include "rows.h" /* wrap_number */

/* ---- keys and device of a call ---- */
HOT bool see_tensor(context_impl *c, call_frame *f, const wick_tensor *t) {
    f->keys |= t->keys;
    if (WICK_LIKELY(wick_device_equal(t->device, f->device))) return true;
    bool mine_mixes = f->device.type == 0 || f->device.type == c->rt->host_type;
    if (mine_mixes || (t->device.type == c->rt->host_type && t->ndim == 0)) {
        if (mine_mixes) f->device = t->device;
        return true;
    }
    if (f->op->def->flags & MIXED_DEVICE) return true;
    char a[64], b[64];
    FAIL(c, INVALID_ARGUMENT, "%s: expected all tensors to be on the same device, got %s and %s", f->op->name,
         wick_device_format(c->rt, f->device, a, sizeof a), wick_device_format(c->rt, t->device, b, sizeof b));
    return false;
}

static bool missing_tensor(context_impl *c, const op_entry *op, int i, const wick_value *v) {
    return !FAIL(c, INVALID_ARGUMENT, "%s: argument %d (%s) must be a tensor, got %s", op->name, i, op->args[i].name,
                 v->tag == WICK_TAG_NONE ? "NULL" : "another kind of value");
}

static bool see_list(context_impl *c, call_frame *f, int i) {
    const wick_value *v = &f->args[i];
    if (v->tag == WICK_TAG_NONE && f->op->args[i].optional) return true;
    if (v->tag != WICK_TAG_TENSOR_LIST) return missing_tensor(c, f->op, i, v);
    for (uint32_t k = 0; k < v->count; ++k) {
        const wick_tensor *t = v->as.tensors[k];
        if (!t && !f->op->args[i].list_optional_items)
            return !FAIL(c, INVALID_ARGUMENT, "%s: item %u of %s is NULL", f->op->name, k, f->op->args[i].name);
        if (t && !see_tensor(c, f, t)) return false;
    }
    return true;
}

static bool scan_arguments(context_impl *c, call_frame *f) {
    const op_entry *op = f->op;
    for (int k = 0; k < op->tensor_arg_count; ++k) {
        int i = op->tensor_args[k];
        const wick_value *v = &f->args[i];
        if (WICK_LIKELY(v->tag == WICK_TAG_TENSOR)) {
            if (!see_tensor(c, f, v->as.tensor)) return false;
        } else if (v->tag != WICK_TAG_NONE || (op->required_tensors >> i & 1)) {
            return missing_tensor(c, op, i, v);
        }
    }
    for (int k = 0; k < op->list_arg_count; ++k)
        if (!see_list(c, f, op->list_args[k])) return false;
    if (op->device_arg >= 0 && f->args[op->device_arg].tag == WICK_TAG_DEVICE)
        f->device = f->args[op->device_arg].as.device;
    if (!f->device.type) f->device = c->device.type ? c->device : wick_runtime_host(c->rt);
    if (WICK_UNLIKELY(!f->device.type)) return !FAIL(c, UNAVAILABLE, "%s: no device: no backend is loaded", op->name);
    return true;
}

/* ---- handlers ---- */
static bool run_interposer(context_impl *c, call_frame *f, int which, int rank) {
    int k = c->interposer_cursor[which] - 1;
    if (k < 0) return dispatch_below(c, f, rank);
    interposer i = c->interposers[which][k]; /* it may pop itself */
    uint64_t outer = c->redispatch_keys;
    bool first = k + 1 == c->interposer_count[which];
    c->redispatch_keys = (f->keys & (WICK_KEY_BIT(rank + 1) - 1)) | WICK_KEY(DENSE);
    c->interposer_cursor[which] = k;
    bool ok = i.fn(i.user, PUB(c), f->op, f->args, f->op->nargs, f->rets, f->op->nrets);
    int count = c->interposer_count[which];
    c->interposer_cursor[which] = first || k + 1 > count ? count : k + 1;
    c->redispatch_keys = outer;
    return ok && !c->error;
}

/* Replaces lazily conjugated or negated inputs by their values. */
static bool resolve_lazy(context_impl *c, call_frame *f, int rank) {
    wick_value args[OP_MAX_ARGS];
    if (f->op->def->flags & CONJ_OK) return dispatch_below(c, f, rank);
    memcpy(args, f->args, sizeof *args * f->op->nargs);
    for (int k = 0; k < f->op->tensor_arg_count; ++k) {
        wick_value *v = &args[f->op->tensor_args[k]];
        if (v->tag != WICK_TAG_TENSOR || !(v->as.tensor->flags & (WICK_TENSOR_CONJ | WICK_TENSOR_NEG))) continue;
        if (f->op->mutated_args >> f->op->tensor_args[k] & 1)
            return !FAIL(c, UNSUPPORTED, "%s: cannot write to a lazily conjugated tensor: resolve it first",
                         f->op->name);
        if (!(v->as.tensor = tensor_resolve(c, v->as.tensor))) return false;
    }
    wick_tensor *items[256];
    for (int k = 0; k < f->op->list_arg_count; ++k) {
        wick_value *v = &args[f->op->list_args[k]];
        if (v->tag != WICK_TAG_TENSOR_LIST || v->count > ARRAY_COUNT(items)) continue;
        for (uint32_t n = 0; n < v->count; ++n) {
            wick_tensor *t = v->as.tensors[n];
            items[n] = t && t->flags & (WICK_TENSOR_CONJ | WICK_TENSOR_NEG) ? tensor_resolve(c, t) : t;
            if (t && !items[n]) return false;
        }
        v->as.tensors = items;
    }
    call_frame below = {f->op,     args, f->rets, f->keys & ~(WICK_KEY(CONJUGATE) | WICK_KEY(NEGATIVE)),
                        f->device, NULL, false};
    return dispatch_below(c, &below, rank);
}

/* What inference mode made stays as it is outside: no version counts its writes. */
static bool track_writes(context_impl *c, call_frame *f, int rank) {
    for (int i = 0; i < f->op->nargs; ++i) {
        const wick_tensor *t = arg_tensor(f->args, i);
        if (f->op->mutated_args >> i & 1 && t && t->flags & WICK_TENSOR_INFERENCE && !c->modes.inference)
            return !FAIL(c, FAILED_PRECONDITION,
                         "%s: Inplace update to inference tensor outside InferenceMode is not allowed", f->op->name);
    }
    return dispatch_below(c, f, rank);
}

static bool run_registered(context_impl *c, call_frame *f, int rank) {
    key_handler *h = atomic_load_explicit(&c->rt->handlers[rank], memory_order_acquire);
    if (!h) return dispatch_below(c, f, rank);
    uint64_t outer = c->redispatch_keys;
    c->redispatch_keys = (f->keys & (WICK_KEY_BIT(rank) - 1)) | WICK_KEY(DENSE);
    bool ok = h->fn(h->instance, PUB(c), f->op, f->args, f->op->nargs, f->rets, f->op->nrets);
    c->redispatch_keys = outer;
    return ok && !c->error;
}

/* An implicit composite decomposes as soon as only autograd and what lies below it remain. */
static bool run_handler(context_impl *c, call_frame *f, int rank) {
    if (rank < WICK_RANK_AUTOGRAD && f->op->def->kind == WICK_OP_IMPLICIT) return execute_compose(c, f);
    switch (rank) {
    case WICK_RANK_PRE_INTERPOSER: return run_interposer(c, f, WICK_INTERPOSE_API, rank);
    case WICK_RANK_POST_INTERPOSER: return run_interposer(c, f, WICK_INTERPOSE_KERNEL, rank);
    case WICK_RANK_TRACKING: return track_writes(c, f, rank);
    case WICK_RANK_NEGATIVE:
    case WICK_RANK_CONJUGATE: return resolve_lazy(c, f, rank);
    default: return run_registered(c, f, rank);
    }
}

HOT bool dispatch_keys(context_impl *c, call_frame *f) {
    uint64_t above = f->keys & WICK_KEYS_ABOVE_DENSE;
    if (!above) return execute(c, f);
    int rank = 63 - __builtin_clzll(above);
    return rank == WICK_RANK_AUTOGRAD ? autograd_dispatch(c, f) : run_handler(c, f, rank);
}

bool dispatch_below(context_impl *c, call_frame *f, int rank) {
    uint64_t keys = f->keys;
    f->keys &= WICK_KEY_BIT(rank) - 1;
    bool ok = dispatch_keys(c, f);
    f->keys = keys;
    return ok;
}

/* What two tensors must share to be dense alike: dtype, rank, flags and device lie in eight bytes of the prefix. */
HOT uint64_t likeness(const wick_tensor *t) {
    static const wick_tensor any = {
        .dtype = UINT8_MAX, .ndim = UINT8_MAX, .flags = (uint16_t)~WICK_TENSOR_PARAMETER, .device = {-1, -1}};
    uint64_t bits, mask;
    _Static_assert(offsetof(wick_tensor, device) == offsetof(wick_tensor, dtype) + 4, "dtype, ndim, flags, device");
    memcpy(&bits, &t->dtype, sizeof bits);
    memcpy(&mask, &any.dtype, sizeof mask);
    return bits & mask;
}

static bool is_wrapped_number(const wick_tensor *t) {
    return t->flags & WICK_TENSOR_WRAPPED_NUMBER && t->ndim == 0 && !wick_dtype_is_complex((wick_dtype)t->dtype);
}

/* The short way for elementwise calls: one pass finds the keys and that all tensors are row-major and alike; real numbers
 * may stand among floating tensors. */
HOT bool scan_dense(call_frame *f) {
    int n = f->op->dense_args;
    wick_tensor *first = f->args[0].as.tensor;
    if (!n || f->args[0].tag != WICK_TAG_TENSOR) return false;
    if ((first->flags & (WICK_TENSOR_CONTIGUOUS | WICK_TENSOR_WRAPPED_NUMBER)) != WICK_TENSOR_CONTIGUOUS) return false;
    uint64_t keys = first->keys;
    for (int i = 1; i < n; ++i) {
        const wick_tensor *t = f->args[i].as.tensor;
        if (f->args[i].tag != WICK_TAG_TENSOR) return false;
        if (likeness(t) != likeness(first)) {
            if (!is_wrapped_number(t) || !wick_dtype_is_floating((wick_dtype)first->dtype)) return false;
            f->numbers = true;
            continue;
        }
        for (int d = 0; d < first->ndim; ++d)
            if (t->sizes[d] != first->sizes[d]) return false;
        if (WICK_UNLIKELY(t->storage == first->storage) && t != first && f->op->mutated_args)
            return false; /* overlap? */
        keys |= t->keys;
    }
    f->keys |= keys;
    f->device = first->device;
    f->dense = first;
    return true;
}

HOT bool dispatch(context_impl *c, const op_entry *op, const wick_value *args, wick_value *rets) {
    call_frame f = {op, args, rets, c->modes.include_keys, {0, 0}, NULL, false};
    if (WICK_UNLIKELY(!c->scope_depth))
        return !FAIL(c, FAILED_PRECONDITION, "%s: no scope is open: call wick_scope_open first", op->name);
    if (!scan_dense(&f) && !scan_arguments(c, &f)) return false;
    f.keys &= ~c->modes.exclude_keys;
    return dispatch_keys(c, &f);
}

/* ---- entries ---- */
wick_tensor *op_call1(wick_context *pub, int op_id, const wick_value *args, int nargs) {
    context_impl *c = ctx(pub);
    wick_value ret;
    if (WICK_UNLIKELY(c->error != NULL)) return NULL;
    return dispatch(c, &c->rt->ops->entries[op_id], args, &ret) ? ret.as.tensor : NULL;
}

bool op_calln(wick_context *pub, int op_id, const wick_value *args, int nargs, wick_value *rets, int nrets) {
    context_impl *c = ctx(pub);
    if (WICK_UNLIKELY(c->error != NULL)) return false;
    return dispatch(c, &c->rt->ops->entries[op_id], args, rets);
}

bool op_has_kernel(wick_context *pub, int op_id, wick_device device) {
    wick_runtime *rt = ctx(pub)->rt;
    return kernel_exists(rt, device, &rt->ops->entries[op_id]);
}

/* A boxed argument that the schema allows: a scalar for a list of fixed size, an int for a float and so on. */
static bool value_fits(const op_arg *a, const wick_value *v) {
    static const uint32_t tags[] = {
        [TYPE_TENSOR] = 1u << WICK_TAG_TENSOR,
        [TYPE_SCALAR] = 1u << WICK_TAG_BOOL | 1u << WICK_TAG_I64 | 1u << WICK_TAG_F64 | 1u << WICK_TAG_C128,
        [TYPE_INT] = 1u << WICK_TAG_I64 | 1u << WICK_TAG_BOOL | 1u << WICK_TAG_SYMBOLIC_I64,
        [TYPE_FLOAT] = 1u << WICK_TAG_F64,
        [TYPE_BOOL] = 1u << WICK_TAG_BOOL,
        [TYPE_STRING] = 1u << WICK_TAG_STRING,
        [TYPE_DTYPE] = 1u << WICK_TAG_DTYPE,
        [TYPE_LAYOUT] = 1u << WICK_TAG_LAYOUT,
        [TYPE_DEVICE] = 1u << WICK_TAG_DEVICE,
        [TYPE_MEMORY_FORMAT] = 1u << WICK_TAG_MEMORY_FORMAT,
        [TYPE_GENERATOR] = 1u << WICK_TAG_GENERATOR,
    };
    static const uint32_t lists[] = {
        [TYPE_TENSOR] = 1u << WICK_TAG_TENSOR_LIST, [TYPE_SCALAR] = 1u << WICK_TAG_SCALAR_LIST,
        [TYPE_INT] = 1u << WICK_TAG_I64_LIST,       [TYPE_FLOAT] = 1u << WICK_TAG_F64_LIST,
        [TYPE_BOOL] = 1u << WICK_TAG_BOOL_LIST,     [TYPE_GENERATOR] = 0,
    };
    if (v->tag == WICK_TAG_NONE) return a->optional || (a->type == TYPE_TENSOR && !a->list);
    return (a->list ? lists : tags)[a->type] >> v->tag & 1;
}

static const char *type_text(const op_arg *a) {
    static const char *const names[] = {"Tensor",     "Scalar", "int",    "float",        "bool",     "str",
                                        "ScalarType", "Layout", "Device", "MemoryFormat", "Generator"};
    return names[a->type];
}

/* Copies the caller's arguments, fills in defaults and makes the few conversions that a schema implies. */
static bool complete(context_impl *c, const op_entry *op, const wick_value *args, int nargs, wick_value *full,
                     int64_t (*singles)[8]) {
    if (nargs > op->nargs)
        return !FAIL(c, INVALID_ARGUMENT, "%s: %d arguments, wanted at most %d", op->name, nargs, op->nargs);
    for (int i = 0; i < op->nargs; ++i) {
        const op_arg *a = &op->args[i];
        if (i >= nargs && !a->has_default && !a->optional)
            return !FAIL(c, INVALID_ARGUMENT, "%s: argument %d (%s) is missing", op->name, i, a->name);
        full[i] = i < nargs ? args[i] : a->has_default ? a->dflt : wick_value_none();
        wick_value *v = &full[i];
        if (a->type == TYPE_FLOAT && !a->list && (v->tag == WICK_TAG_I64 || v->tag == WICK_TAG_BOOL))
            *v = wick_value_float((double)v->as.i);
        if (a->type == TYPE_INT && a->list && v->tag == WICK_TAG_I64) {
            singles[0][i & 7] = v->as.i;
            *v = wick_value_ints(&singles[0][i & 7], 1);
        }
        if (a->type == TYPE_TENSOR && !a->list && !a->mutated && value_is_number(v))
            *v = wick_value_tensor(wrap_number(PUB(c), v));
        if (c->error) return false;
        if (!value_fits(a, v))
            return !FAIL(c, INVALID_ARGUMENT, "%s: argument %d (%s) must be %s%s%s", op->name, i, a->name, type_text(a),
                         a->list ? "[]" : "", a->optional ? " or None" : "");
    }
    return true;
}

bool wick_call(wick_context *pub, const wick_op *op, const wick_value *args, int nargs, wick_value *rets, int nrets) {
    context_impl *c = ctx(pub);
    wick_value full[OP_MAX_ARGS];
    int64_t singles[1][8];
    if (c->error) return false;
    if (!op) return !FAIL(c, INVALID_ARGUMENT, "wick_call: the operator is NULL: it was not found");
    int returned = op->ret_list ? 1 : op->nrets;
    if (nrets != returned)
        return !FAIL(c, INVALID_ARGUMENT, "%s: room for %d returns, wanted %d", op->name, nrets, returned);
    return complete(c, op, args, nargs, full, singles) && dispatch(c, op, full, rets);
}

bool wick_redispatch(wick_context *pub, const wick_op *op, const wick_value *args, int nargs, wick_value *rets,
                     int nrets) {
    context_impl *c = ctx(pub);
    if (c->error) return false;
    uint64_t keys = c->redispatch_keys;
    if (!keys) return !FAIL(c, FAILED_PRECONDITION, "wick_redispatch: called outside an interposer and a key handler");
    if (nargs != op->nargs)
        return !FAIL(c, INVALID_ARGUMENT, "%s: %d arguments, wanted %d", op->name, nargs, op->nargs);
    call_frame f = {op, args, rets, c->modes.include_keys, {0, 0}, NULL, false};
    if (!scan_arguments(c, &f)) return false;
    f.keys &= ~c->modes.exclude_keys & keys;
    return dispatch_keys(c, &f);
}

/* ---- interposers ---- */
static const uint64_t interposer_key[2] = {WICK_KEY(PRE_INTERPOSER), WICK_KEY(POST_INTERPOSER)};

bool wick_interposer_push(wick_context *pub, wick_interposer_rank rank, wick_interposer_fn fn, void *user) {
    context_impl *c = ctx(pub);
    int *n = &c->interposer_count[rank];
    bool idle = c->interposer_cursor[rank] == *n; /* else it takes effect when the running one returns */
    if (*n >= INTERPOSER_LIMIT) return !FAIL(c, OUT_OF_RANGE, "more than %d interposers", INTERPOSER_LIMIT);
    c->interposers[rank][(*n)++] = (interposer){fn, user};
    if (idle) c->interposer_cursor[rank] = *n;
    c->modes.include_keys |= interposer_key[rank];
    return true;
}

void wick_interposer_pop(wick_context *pub, wick_interposer_rank rank) {
    context_impl *c = ctx(pub);
    if (!c->interposer_count[rank]) return;
    int n = --c->interposer_count[rank];
    if (c->interposer_cursor[rank] > n) c->interposer_cursor[rank] = n;
    if (!c->interposer_count[rank]) c->modes.include_keys &= ~interposer_key[rank];
}
