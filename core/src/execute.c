/* The bottom of a call: shape rule, outputs, casts, the kernel; or a view rule; or a decomposition; or the fallback. */
#include <stdio.h>

#include "dispatch.h"
#include "geometry.h"
#include "kernels.h"
#include "op_ids.h"
#include "rows.h" /* wrap_number */
#include "step.h"
#include "stream.h"

#define MAX_VALUES (OP_MAX_ARGS + OP_MAX_RETS)

/* ---- kernels ---- */
/* Element types of plugins go only to kernels that say that they take them. */
static bool has_registered_dtype(const op_entry *op, const wick_value *args) {
    for (int k = 0; k < op->tensor_arg_count; ++k) {
        const wick_tensor *t = arg_tensor(args, op->tensor_args[k]);
        if (t && t->dtype >= WICK_DTYPE_REGISTERED) return true;
    }
    return false;
}

static bool slot_takes(const kernel_slot *slot, const op_entry *op, const wick_value *args, wick_dtype compute) {
    if (!slot->fn || (slot->dtypes && compute && !(slot->dtypes & WICK_DTYPE_BIT(compute)))) return false;
    if (slot->adapter && !kernel_adapter_takes(slot->adapter, op, args, NULL)) return false;
    return slot->flags & WICK_KERNEL_REGISTERED_DTYPES || !has_registered_dtype(op, args);
}

static const kernel_slot *find_kernel(wick_runtime *rt, wick_device device, const op_entry *op) {
    device_type *type = rt_device(rt, device.type);
    const kernel_slot *slot = type ? device_kernel(type, op->row) : NULL;
    return slot && slot->fn ? slot : NULL;
}

bool kernel_exists(wick_runtime *rt, wick_device device, const op_entry *op) { return find_kernel(rt, device, op); }

static bool slot_computes(const kernel_slot *slot, wick_dtype compute) {
    return !slot->dtypes || !compute || slot->dtypes & WICK_DTYPE_BIT(compute);
}

bool kernel_takes(wick_runtime *rt, wick_device device, const op_entry *op, wick_dtype compute, bool row_major) {
    const kernel_slot *slot = find_kernel(rt, device, op);
    return slot && slot_computes(slot, compute) && (row_major || !(slot->flags & WICK_KERNEL_CONTIGUOUS));
}

/* On an asynchronous device: the stream, and which memory it uses. */
static wick_status *launch_begin(context_impl *c, wick_kernel_call *call) {
    call->stream = stream_handle(context_stream(c, call->device));
    c->last_launch = call->op;
    return stream_note_values(c, call->values, call->nargs + call->nouts, call->device);
}

HOT wick_status *launch(context_impl *c, const kernel_slot *slot, const wick_kernel_call *call) {
    int used = c->workspaces_used, scratch = c->scratch_count;
    wick_status *s = slot->fn(call);
    c->workspaces_used = used;
    while (WICK_UNLIKELY(c->scratch_count > scratch)) tensor_release(impl(c->scratch[--c->scratch_count]), c);
    return s;
}

wick_status *slot_launch(context_impl *c, const kernel_slot *slot, const wick_kernel_call *call) {
    return launch(c, slot, call);
}

HOT wick_status *slot_run(context_impl *c, const kernel_slot *slot, const op_entry *op, wick_device device,
                          const wick_value *values, int nargs, int nouts, wick_dtype compute, uint32_t flags) {
    device_type *type = rt_device(c->rt, device.type);
    wick_kernel_call call;
    call.struct_size = sizeof call;
    call.nargs = (uint16_t)nargs;
    call.nouts = (uint16_t)nouts;
    call.op = op;
    call.values = values;
    call.data = slot->data;
    call.instance = slot->instance;
    call.host = c->pub.host;
    call.context = PUB(c);
    call.stream = NULL;
    call.philox = &c->philox;
    call.random_state = NULL;
    call.device = device;
    call.flags = flags;
    if (WICK_UNLIKELY(c->modes.deterministic)) call.flags |= WICK_CALL_DETERMINISTIC;
    if (WICK_UNLIKELY(c->modes.tf32)) call.flags |= WICK_CALL_TF32;
    call.compute_dtype = compute;
    call.reserved = 0;
    if (WICK_UNLIKELY(type->streams != NULL)) WICK_TRY(launch_begin(c, &call));
    wick_value adapted[MAX_VALUES];
    if (WICK_UNLIKELY(slot->adapter != NULL)) {
        call.nargs = (uint16_t)kernel_adapter_map(slot->adapter, values, nargs, nouts, adapted);
        call.values = adapted;
    }
    wick_status *s = WICK_LIKELY(!c->step) ? launch(c, slot, &call) : step_launch(c, slot, &call);
    return s;
}

wick_status *kernel_run(context_impl *c, const op_entry *op, wick_device device, const wick_value *values, int nargs,
                        int nouts, wick_dtype compute) {
    const kernel_slot *slot = find_kernel(c->rt, device, op);
    char name[64];
    if (!slot)
        return WICK_ERROR(WICK_UNSUPPORTED, "device %s has no kernel %s",
                          wick_device_format(c->rt, device, name, sizeof name), op->name);
    if (!slot_computes(slot, compute))
        return WICK_ERROR(WICK_UNSUPPORTED, "%s is not implemented for dtype %s on device %s", op->name,
                          wick_dtype_name(compute), wick_device_format(c->rt, device, name, sizeof name));
    return slot_run(c, slot, op, device, values, nargs, nouts, compute, 0);
}

void *dispatch_workspace(context_impl *c, size_t bytes) {
    if (c->workspaces_used >= WORKSPACES) return NULL;
    workspace *w = &c->workspaces[c->workspaces_used];
    if (w->bytes < bytes) {
        rt_free(c->rt, w->data);
        w->bytes = 0;
        w->data = rt_alloc(c->rt, bytes);
        if (!w->data) return NULL;
        w->bytes = bytes;
    }
    c->workspaces_used++;
    return w->data;
}

/* A temporary of the kernel's: dropped when it returns, and its memory is not reused before the stream has passed. */
wick_status *dispatch_device_workspace(const wick_kernel_call *call, uint64_t bytes, wick_memory *out) {
    context_impl *c = ctx(call->context);
    const wick_dim size = (wick_dim)(bytes ? bytes : 1);
    wick_tensor *t;
    if (c->scratch_count == SCRATCHES)
        return WICK_ERROR(WICK_OUT_OF_RANGE, "%s: device_workspace: more than %d at a time", op_full_name(call->op),
                          SCRATCHES);
    WICK_TRY(tensor_new(c, WICK_U8, 1, &size, NULL, call->device, &t));
    c->scratch[c->scratch_count++] = t;
    *out = t->storage->memory;
    return NULL;
}

wick_status *dispatch_resize_output(const wick_kernel_call *call, int output, int ndim, const wick_dim *sizes) {
    context_impl *c = ctx(call->context);
    tensor_impl *t = impl(call->values[call->nargs + output].as.tensor);
    int64_t numel;
    WICK_TRY(geometry_check(ndim, sizes, &numel, NULL));
    WICK_TRY(storage_resize(c, t->pub.storage, (uint64_t)(numel + t->pub.offset) * wick_dtype_bytes(t->pub.dtype)));
    return tensor_set_geometry(t, ndim, sizes, NULL, t->pub.offset);
}

/* ---- one execution of a kernel row ---- */
#define MAX_TEMPS (OP_MAX_ARGS + OP_MAX_RETS)

typedef struct execution {
    context_impl *c;
    call_frame *f;
    const kernel_slot *slot;
    op_infer ix;
    int nargs, nouts;
    wick_value values[MAX_VALUES];
    wick_tensor *targets[OP_MAX_RETS]; /* given by the caller; NULL: fresh */
    wick_tensor *fresh[OP_MAX_RETS];   /* owned until handed to the scope */
    wick_tensor *temps[MAX_TEMPS];     /* casts and copies, released afterwards */
    int temp_count;
} execution;

static wick_status *keep_temp(execution *x, wick_tensor *t, int value) {
    x->temps[x->temp_count++] = t;
    x->values[value].as.tensor = t;
    return NULL;
}

/* A copy of `t` with another dtype, device, shape or row-major layout, made by the device's own copy kernel. */
static wick_status *make_copy(execution *x, const wick_tensor *t, wick_dtype dtype, const wick_tensor *shape,
                              wick_device device, wick_tensor **out) {
    WICK_TRY(tensor_new(x->c, dtype, shape->ndim, shape->sizes, NULL, device, out));
    (*out)->flags |= t->flags & WICK_TENSOR_WRAPPED_NUMBER;
    wick_status *s = tensor_copy_data(x->c, *out, t, false);
    if (s) tensor_release(impl(*out), x->c);
    return s;
}

/* An elementwise kernel that does not broadcast. */
static bool wants_expanded(const execution *x, const wick_tensor *t) {
    const wick_tensor *out = arg_tensor(x->values, x->nargs);
    if (!(x->slot->flags & WICK_KERNEL_NO_BROADCAST) || !(x->f->op->def->flags & POINTWISE) || !out) return false;
    return t->ndim != out->ndim || memcmp(t->sizes, out->sizes, sizeof *t->sizes * t->ndim);
}

static wick_status *prepare_input(execution *x, int i) {
    wick_tensor *t = arg_tensor(x->values, i), *copy;
    if (!t) return NULL;
    bool cast = x->ix.compute && x->ix.cast_args >> i & 1 && t->dtype != x->ix.compute;
    bool fused = cast && x->slot->flags & WICK_KERNEL_FUSED_CAST;
    bool strided = x->slot->flags & WICK_KERNEL_CONTIGUOUS && !wick_is_contiguous(t);
    bool number = x->slot->flags & WICK_KERNEL_HOST_NUMBERS && t->ndim == 0 && t->device.type == x->c->rt->host_type;
    bool elsewhere = !wick_device_equal(t->device, x->f->device) && !(x->f->op->def->flags & MIXED_DEVICE) && !number;
    const wick_tensor *shape = wants_expanded(x, t) && !number ? arg_tensor(x->values, x->nargs) : t;
    if ((!cast || fused) && !strided && !elsewhere && shape == t) return NULL;
    wick_dtype dtype = cast && !fused ? x->ix.compute : (wick_dtype)t->dtype;
    WICK_TRY(make_copy(x, t, dtype, shape, number ? t->device : x->f->device, &copy));
    return keep_temp(x, copy, i);
}

static wick_status *check_overlap(const op_entry *op, const wick_tensor *t) {
    for (int i = 0; i < t->ndim; ++i)
        if (t->sizes[i] > 1 && t->strides[i] == 0)
            return WICK_ERROR(WICK_INVALID_ARGUMENT,
                              "%s: unsupported operation: more than one element of the written-to tensor refers to a "
                              "single memory location. Please clone() the tensor before performing the operation.",
                              op->name);
    return NULL;
}

static bool same_sizes(const wick_tensor *t, const op_meta *m) {
    return t->ndim == m->ndim && !memcmp(t->sizes, m->sizes, sizeof *t->sizes * (size_t)m->ndim);
}

/* Elementwise loops read and write in one walk: an input may be the target itself, but not a part of its memory in
 * another order. What is too hard to tell counts as apart. */
static bool overlaps_partly(const wick_tensor *target, const wick_tensor *in) {
    if (!wick_shares_storage(target, in) || !geometry_dense(target) || !geometry_dense(in)) return false;
    int64_t size = (int64_t)wick_dtype_bytes((wick_dtype)target->dtype),
            in_size = (int64_t)wick_dtype_bytes((wick_dtype)in->dtype);
    int64_t begin = target->offset * size, end = begin + target->numel * size;
    int64_t in_begin = in->offset * in_size, in_end = in_begin + in->numel * in_size;
    if (begin == in_begin && end == in_end)
        return target->ndim != in->ndim || memcmp(target->strides, in->strides, sizeof *in->strides * in->ndim);
    return begin < in_end && in_begin < end;
}

static wick_status *check_inputs_apart(const execution *x, const wick_tensor *target) {
    const op_entry *op = x->f->op;
    for (int k = 0; k < op->tensor_arg_count && op->def->flags & POINTWISE; ++k) {
        const wick_tensor *in = op->tensor_args[k] < op->base_nargs ? arg_tensor(x->f->args, op->tensor_args[k]) : NULL;
        if (in && in != target && overlaps_partly(target, in))
            return WICK_ERROR(
                WICK_INVALID_ARGUMENT,
                "%s: unsupported operation: some elements of the input tensor and the written-to tensor refer "
                "to a single memory location. Please clone() the tensor before performing the operation.",
                op->name);
    }
    return NULL;
}

/* In-place targets must have the result's shape; out= targets are resized to it. */
static wick_status *check_target(execution *x, wick_tensor *t, const op_meta *m) {
    const op_entry *op = x->f->op;
    char a[SIZES_TEXT], b[SIZES_TEXT];
    if (!wick_dtype_can_cast(m->dtype, (wick_dtype)t->dtype))
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: result type %s can't be cast to the desired output type %s",
                          op->name, wick_dtype_name(m->dtype), wick_dtype_name((wick_dtype)t->dtype));
    if (!same_sizes(t, m)) {
        if (op->variant != VARIANT_OUT)
            return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: output with shape %s doesn't match the broadcast shape %s",
                              op->name, format_sizes(t->ndim, t->sizes, a, sizeof a),
                              format_sizes(m->ndim, m->sizes, b, sizeof b));
        WICK_TRY(tensor_resize(x->c, t, m->ndim, m->sizes));
    }
    WICK_TRY(check_overlap(op, t));
    return check_inputs_apart(x, t);
}

/* True if the kernel may write straight into the target while it reads the inputs. */
static bool writes_in_place(const execution *x, const wick_tensor *t, const op_meta *m) {
    const op_entry *op = x->f->op;
    if (t->dtype != m->dtype && !(x->slot && x->slot->flags & WICK_KERNEL_FUSED_CAST)) return false;
    if (x->slot && x->slot->flags & WICK_KERNEL_CONTIGUOUS && !wick_is_contiguous(t)) return false;
    if (!wick_device_equal(t->device, x->f->device)) return false;
    for (int k = 0; k < op->tensor_arg_count; ++k) {
        const wick_tensor *in = arg_tensor(x->values, op->tensor_args[k]);
        if (!in || op->tensor_args[k] >= op->base_nargs || !wick_shares_storage(in, t)) continue;
        bool same = in->offset == t->offset && in->ndim == t->ndim && in->dtype == t->dtype &&
                    !memcmp(in->sizes, t->sizes, sizeof *t->sizes * t->ndim) &&
                    !memcmp(in->strides, t->strides, sizeof *t->strides * t->ndim);
        if (!same || !(op->def->flags & POINTWISE)) return false;
    }
    return true;
}

static wick_status *prepare_output(execution *x, int i) {
    op_meta *m = &x->ix.outs[i];
    wick_value *v = &x->values[x->nargs + i];
    *v = wick_value_none();
    if (m->absent) return NULL;
    wick_tensor *target = x->targets[i];
    if (target) WICK_TRY(check_target(x, target, m));
    if (target && writes_in_place(x, target, m)) {
        *v = wick_value_tensor(target);
        return NULL;
    }
    WICK_TRY(
        tensor_new(x->c, m->dtype, m->ndim, m->sizes, m->has_strides ? m->strides : NULL, x->f->device, &x->fresh[i]));
    *v = wick_value_tensor(x->fresh[i]);
    return NULL;
}

static wick_status *finish_output(execution *x, int i) {
    wick_tensor *target = x->targets[i];
    if (!target) return NULL;
    if (x->fresh[i]) {
        WICK_TRY(tensor_copy_data(x->c, target, x->fresh[i], false));
        tensor_release(impl(x->fresh[i]), x->c);
        x->fresh[i] = NULL;
    }
    version_bump(target);
    return NULL;
}

/* Rows that write to lists have no output to finish. */
static void bump_lists(execution *x) {
    const op_entry *op = x->f->op;
    for (int k = 0; k < op->list_arg_count; ++k) {
        const wick_value *v = &x->f->args[op->list_args[k]];
        if (!(op->mutated_args >> op->list_args[k] & 1) || v->tag != WICK_TAG_TENSOR_LIST) continue;
        for (uint32_t i = 0; i < v->count; ++i)
            if (v->as.tensors[i]) version_bump(v->as.tensors[i]);
    }
}

/* What a kernel wrote to the copy of an argument. Targets are prepare_output's. */
static wick_status *write_back(execution *x) {
    const op_entry *op = x->f->op;
    for (int k = 0; k < op->tensor_arg_count; ++k) {
        const int i = op->tensor_args[k];
        wick_tensor *given = i < x->nargs ? arg_tensor(x->f->args, i) : NULL, *used = arg_tensor(x->values, i);
        if (!given || given == used || given == x->targets[0] || !(op->mutated_args >> i & 1)) continue;
        WICK_TRY(tensor_copy_data(x->c, given, used, false));
    }
    return NULL;
}

static void advance_generator(execution *x) {
    const wick_value *out = &x->values[x->nargs];
    if (out->tag == WICK_TAG_TENSOR) x->c->philox.offset += ((uint64_t)out->as.tensor->numel + 3) / 4;
}

/* A kernel that wants row-major outputs must not be handed the shape rule's preserved strides. */
static void plain_outputs(execution *x) {
    for (int i = 0; i < x->nouts; ++i)
        if (x->slot->flags & WICK_KERNEL_CONTIGUOUS) x->ix.outs[i].has_strides = false;
}

static wick_status *run(execution *x) {
    const op_entry *op = x->f->op;
    if (x->slot) plain_outputs(x);
    for (int i = 0; i < x->nouts; ++i) WICK_TRY(prepare_output(x, i));
    if (x->f->device.type != WICK_DEVICE_TYPE_META) {
        for (int k = 0; k < op->tensor_arg_count; ++k)
            if (op->tensor_args[k] < x->nargs) WICK_TRY(prepare_input(x, op->tensor_args[k]));
        WICK_TRY(slot_run(x->c, x->slot, op, x->f->device, x->values, x->nargs, x->nouts, x->ix.compute, 0));
        if (op->mutated_args) WICK_TRY(write_back(x));
    }
    if (op->def->flags & RANDOM) advance_generator(x);
    for (int i = 0; i < x->nouts; ++i) WICK_TRY(finish_output(x, i));
    if (op->mutated_args && op->list_arg_count) bump_lists(x);
    return NULL;
}

static void execution_begin(execution *x, context_impl *c, call_frame *f) {
    const op_entry *op = f->op;
    x->c = c;
    x->f = f;
    x->nargs = op->base_nargs;
    x->nouts = op->nrets;
    x->temp_count = 0;
    x->ix.c = PUB(c);
    x->ix.op = op;
    x->ix.args = f->args;
    x->ix.compute = WICK_DTYPE_NONE;
    x->ix.cast_args = UINT32_MAX;
    x->ix.decompose = false;
    for (int i = 0; i < x->nargs; ++i) x->values[i] = f->args[i]; /* few: no call of memcpy */
    for (int i = 0; i < x->nouts; ++i) {
        x->fresh[i] = x->targets[i] = NULL;
        x->ix.outs[i].absent = x->ix.outs[i].has_strides = false;
        if (op->variant == VARIANT_OUT) x->targets[i] = arg_tensor(f->args, x->nargs + i);
    }
    if (op->variant == VARIANT_INPLACE || op->def->flags & MUTATES) x->targets[0] = arg_tensor(f->args, 0);
}

/* Gives the results to the caller, or drops everything. */
static bool execution_end(execution *x, wick_status *s) {
    for (int i = 0; i < x->temp_count; ++i) tensor_release(impl(x->temps[i]), x->c);
    for (int i = 0; i < x->nouts; ++i) {
        if (s && x->fresh[i]) tensor_release(impl(x->fresh[i]), x->c);
        if (s) continue;
        if (x->fresh[i] && !scope_own(x->c, x->fresh[i])) x->fresh[i] = NULL;
        x->f->rets[i] = wick_value_tensor(x->fresh[i] ? x->fresh[i] : x->targets[i]);
    }
    return !fail(x->c, s) && !x->c->error;
}

/* ---- fallback and errors ---- */
static wick_dtype shown_dtype(const execution *x) {
    if (x->ix.compute) return x->ix.compute;
    for (int k = 0; k < x->f->op->tensor_arg_count; ++k) {
        const wick_tensor *t = arg_tensor(x->f->args, x->f->op->tensor_args[k]);
        if (t) return (wick_dtype)t->dtype;
    }
    return WICK_DTYPE_NONE;
}

static bool no_kernel(execution *x) {
    char device[64];
    wick_device_format(x->c->rt, x->f->device, device, sizeof device);
    const char *op = x->f->op->name;
    const kernel_slot *slot = find_kernel(x->c->rt, x->f->device, x->f->op);
    int argument;
    if (slot && slot->adapter && !kernel_adapter_takes(slot->adapter, x->f->op, x->f->args, &argument))
        return !FAIL(x->c, UNSUPPORTED,
                     "%s: the kernel of device %s was built for a schema without argument %s, which "
                     "must equal its default",
                     op, device, x->f->op->args[argument].name);
    if (slot)
        return !FAIL(x->c, UNSUPPORTED, "%s is not implemented for dtype %s on device %s", op,
                     wick_dtype_name(shown_dtype(x)), device);
    return !FAIL(x->c, UNSUPPORTED, "%s has no kernel on device %s, no decomposition, and its fallback policy is error",
                 op, device);
}

/* Not for rows that write to lists: their results would stay on the host. */
static bool may_fall_back(const execution *x) {
    wick_runtime *rt = x->c->rt;
    const op_entry *op = x->f->op;
    device_type *type = rt_device(rt, x->f->device.type);
    wick_device host = wick_runtime_host(rt);
    return type && type->fallback != FALLBACK_ERROR && !type->host && host.type &&
           !(op->def->flags & (NO_FALLBACK | DYNAMIC_SHAPE)) && !(op->mutated_args && op->list_arg_count) &&
           find_kernel(rt, host, op);
}

static wick_status *to_device(execution *x, const wick_tensor *t, wick_device device, wick_tensor **out) {
    WICK_TRY(tensor_new(x->c, (wick_dtype)t->dtype, t->ndim, t->sizes, NULL, device, out));
    wick_status *s = tensor_copy_data(x->c, *out, t, false);
    if (s) tensor_release(impl(*out), x->c);
    return s;
}

/* `*t` on the host, owned by the scope. What is there already, numbers too, stays what it is. */
static bool bring_to_host(execution *x, wick_tensor **t) {
    wick_device host = wick_runtime_host(x->c->rt);
    if (!*t || wick_device_equal((*t)->device, host)) return true;
    return !fail(x->c, to_device(x, *t, host, t)) && scope_own(x->c, *t);
}

static bool bring_list_to_host(execution *x, wick_value *v) {
    wick_tensor **items = scope_array(x->c, v->count);
    if (!items) return false;
    memcpy(items, v->as.tensors, sizeof *items * v->count);
    v->as.tensors = items;
    for (uint32_t i = 0; i < v->count; ++i)
        if (!bring_to_host(x, &items[i])) return false;
    return true;
}

static bool bring_args_to_host(execution *x, const op_entry *op, wick_value *args) {
    memcpy(args, x->f->args, sizeof *args * (size_t)x->nargs);
    for (int k = 0; k < op->tensor_arg_count; ++k) {
        wick_value *v = &args[op->tensor_args[k]];
        if (v->tag == WICK_TAG_TENSOR && !bring_to_host(x, &v->as.tensor)) return false;
    }
    for (int k = 0; k < op->list_arg_count; ++k) {
        wick_value *v = &args[op->list_args[k]];
        if (v->tag == WICK_TAG_TENSOR_LIST && !bring_list_to_host(x, v)) return false;
    }
    return true;
}

static wick_status *bring_back(execution *x, int i, const wick_tensor *result) {
    wick_tensor *target = x->targets[i];
    if (!target) return to_device(x, result, x->f->device, &x->fresh[i]);
    WICK_TRY(check_target(x, target, &x->ix.outs[i]));
    WICK_TRY(tensor_copy_data(x->c, target, result, false));
    version_bump(target);
    return NULL;
}

/* The same call with its tensors on the host; the results travel back. */
static bool run_on_host(execution *x) {
    context_impl *c = x->c;
    device_type *type = rt_device(c->rt, x->f->device.type);
    wick_value args[OP_MAX_ARGS], rets[OP_MAX_RETS];
    const op_entry *op = x->f->op->functional;
    if (atomic_fetch_add(&type->fallbacks[op->row], 1) == 0 && type->fallback == FALLBACK_WARN)
        rt_log(c->rt, WICK_LOG_WARNING, "%s has no kernel on device %s: running on the host", op->name, type->name);
    wick_scope scope = scope_open(c);
    call_frame host = {op, args, rets, WICK_KEY(DENSE), wick_runtime_host(c->rt), NULL, false};
    bool ok = bring_args_to_host(x, op, args) && execute(c, &host);
    for (int i = 0; ok && i < x->nouts; ++i)
        if (rets[i].tag == WICK_TAG_TENSOR) ok = !fail(c, bring_back(x, i, rets[i].as.tensor));
    scope_close(c, scope);
    for (int i = 0; i < x->nouts; ++i) {
        if (ok && x->fresh[i])
            scope_own(c, x->fresh[i]);
        else if (x->fresh[i])
            tensor_release(impl(x->fresh[i]), c);
        x->f->rets[i] = wick_value_tensor(x->fresh[i] ? x->fresh[i] : x->targets[i]);
    }
    return ok && !c->error;
}

static bool execute_kernel(context_impl *c, call_frame *f) {
    execution x;
    execution_begin(&x, c, f);
    op_infer_fn infer = f->op->def->infer;
    if (!infer && f->op->def->flags & POINTWISE) infer = infer_pointwise;
    if (!infer) return f->op->def->compose ? execute_compose(c, f) : no_kernel(&x);
    wick_status *s = infer(&x.ix);
    if (s) return !fail(c, wick_status_wrap(s, __FILE__, __LINE__, "%s: %s", f->op->name, wick_status_message(s)));
    x.slot = find_kernel(c->rt, f->device, f->op);
    if (x.ix.decompose) return execute_compose(c, f);
    bool meta = f->device.type == WICK_DEVICE_TYPE_META;
    if (meta && f->op->def->flags & DYNAMIC_SHAPE)
        return !FAIL(c, UNSUPPORTED, "%s: the shape of its result depends on values, which a meta tensor does not have",
                     f->op->name);
    if (!meta && (!x.slot || !slot_takes(x.slot, f->op, f->args, x.ix.compute))) {
        if (f->op->def->compose) return execute_compose(c, f);
        return may_fall_back(&x) ? run_on_host(&x) : no_kernel(&x);
    }
    return execution_end(&x, run(&x));
}

/* ---- the short way: elementwise on dense tensors of one shape and dtype ---- */
HOT const kernel_slot *dense_kernel(const context_impl *c, const call_frame *f) {
    const device_type *type = rt_device(c->rt, f->device.type);
    const kernel_slot *slot = type ? device_kernel(type, f->op->row) : NULL;
    if (!slot || !(slot->dense_dtypes & f->op->dense_dtypes & WICK_DTYPE_BIT(f->dense->dtype))) return NULL;
    if (!f->numbers) return slot;
    return slot->flags & WICK_KERNEL_FUSED_CAST && f->device.type == c->rt->host_type ? slot : NULL;
}

/* The result is a new tensor, or that of an in-place form its first argument. */
static bool execute_dense(context_impl *c, call_frame *f, const kernel_slot *slot) {
    const op_entry *op = f->op;
    bool fresh = op->variant == VARIANT_FUNCTIONAL;
    wick_value values[MAX_VALUES];
    wick_tensor *out = f->dense;
    wick_dtype compute = (wick_dtype)out->dtype;
    wick_status *s = NULL;
    if (fresh) s = tensor_new_like(c, op->def->flags & BOOL_RESULT ? WICK_BOOL : compute, f->dense, &out);
    if (WICK_UNLIKELY(s != NULL)) return !fail(c, s);
    for (int i = 0; i < op->nargs; ++i) values[i] = f->args[i];
    f->rets[0] = values[op->nargs] = (wick_value){.as.tensor = out, .tag = WICK_TAG_TENSOR};
    s = slot_run(c, slot, op, f->device, values, op->nargs, 1, compute, f->numbers ? 0 : WICK_CALL_DENSE);
    if (WICK_UNLIKELY(s != NULL)) {
        if (fresh) tensor_release(impl(out), c);
        return !fail(c, s);
    }
    if (fresh) return scope_own(c, out) != NULL;
    version_bump(out);
    return true;
}

/* ---- views ---- */
static bool execute_view(context_impl *c, call_frame *f) {
    const op_entry *op = f->op;
    wick_tensor *self = arg_tensor(f->args, 0), *out;
    op_view_geometry g;
    g.dtype = WICK_DTYPE_NONE;
    g.flip_flags = 0;
    g.offset = self->offset;
    wick_status *s = op->def->view(f->args, &g);
    if (s) return !fail(c, wick_status_wrap(s, __FILE__, __LINE__, "%s: %s", op->name, wick_status_message(s)));
    if (op->variant == VARIANT_INPLACE) {
        if (fail(c, tensor_set_geometry(impl(self), g.ndim, g.sizes, g.strides, g.offset))) return false;
        version_bump(self);
        f->rets[0] = wick_value_tensor(self);
        return true;
    }
    uint16_t flags =
        (uint16_t)((self->flags & (WICK_TENSOR_CONJ | WICK_TENSOR_NEG | WICK_TENSOR_INFERENCE)) ^ g.flip_flags);
    s = tensor_new_view(c, self->storage, g.dtype ? g.dtype : (wick_dtype)self->dtype, g.ndim, g.sizes, g.strides,
                        g.offset, flags, &out);
    if (fail(c, s)) return false;
    if (!(op->def->flags & NOT_DIFFERENTIABLE)) view_track(c, impl(out), impl(self));
    f->rets[0] = wick_value_tensor(out);
    return scope_own(c, out) != NULL;
}

/* ---- decompositions ---- */
/* A result of the functional form goes where the in-place or out form wants it. */
static bool store_result(context_impl *c, call_frame *f, int i, wick_tensor *result) {
    wick_tensor *target =
        f->op->variant == VARIANT_OUT ? arg_tensor(f->args, f->op->base_nargs + i) : arg_tensor(f->args, 0);
    char a[SIZES_TEXT], b[SIZES_TEXT];
    bool same =
        target->ndim == result->ndim && !memcmp(target->sizes, result->sizes, sizeof *target->sizes * target->ndim);
    if (!wick_dtype_can_cast((wick_dtype)result->dtype, (wick_dtype)target->dtype))
        return !FAIL(c, INVALID_ARGUMENT, "%s: result type %s can't be cast to the desired output type %s", f->op->name,
                     wick_dtype_name((wick_dtype)result->dtype), wick_dtype_name((wick_dtype)target->dtype));
    if (!same && f->op->variant == VARIANT_INPLACE)
        return !FAIL(c, INVALID_ARGUMENT, "%s: output with shape %s doesn't match the broadcast shape %s", f->op->name,
                     format_sizes(target->ndim, target->sizes, a, sizeof a),
                     format_sizes(result->ndim, result->sizes, b, sizeof b));
    if (!same && fail(c, tensor_resize(c, target, result->ndim, result->sizes))) return false;
    wick_value copy_args[3] = {wick_value_tensor(target), wick_value_tensor(result), wick_value_bool(false)};
    f->rets[i] = wick_value_tensor(target);
    return op_call1(PUB(c), OP_ID_copy_, copy_args, 3) != NULL;
}

/* A tensor that the call wrote to is the caller's already. */
static bool is_new(const call_frame *f, const wick_value *ret) {
    return ret->tag == WICK_TAG_TENSOR && !(f->op->def->flags & MUTATES && ret->as.tensor == arg_tensor(f->args, 0));
}

static bool hand_list_outward(context_impl *c, call_frame *f, const wick_value *list, wick_scope scope) {
    uint32_t count = list->count;
    wick_tensor *const *items = list->as.tensors, **kept = rt_alloc(c->rt, sizeof *kept * (count + 1));
    for (uint32_t i = 0; kept && i < count; ++i) kept[i] = wick_retain(items[i]);
    scope_close(c, scope);
    wick_tensor **array = kept ? scope_array(c, count) : NULL;
    for (uint32_t i = 0; kept && i < count; ++i) {
        if (array)
            array[i] = scope_own(c, kept[i]);
        else
            tensor_release(impl(kept[i]), c);
    }
    rt_free(c->rt, kept);
    if (!array) return !FAIL(c, OUT_OF_MEMORY, "%s: cannot return %u tensors", f->op->name, count);
    f->rets[0] = wick_value_tensors(array, count);
    return !c->error;
}

/* ---- results of a row with a gradient of its own are new: an argument would take the node's history, and one that is
 * saved would keep itself alive ---- */
static bool is_argument(const call_frame *f, const wick_tensor *t) {
    for (int i = 0; i < f->op->base_nargs; ++i) {
        const wick_value *v = &f->args[i];
        if (v->tag == WICK_TAG_TENSOR && v->as.tensor == t) return true;
        for (uint32_t k = 0; v->tag == WICK_TAG_TENSOR_LIST && k < v->count; ++k)
            if (v->as.tensors[k] == t) return true;
    }
    return false;
}

static bool part_from_arguments(context_impl *c, const call_frame *f, wick_value *rets, int n) {
    if (f->op->def->kind != WICK_OP_EXPLICIT || !f->op->def->grad || f->op->def->flags & MUTATES || f->op->ret_list)
        return true;
    for (int i = 0; i < n && !c->error; ++i) {
        if (rets[i].tag != WICK_TAG_TENSOR || !is_argument(f, rets[i].as.tensor)) continue;
        const wick_value clone_args[2] = {rets[i], wick_value_none()};
        rets[i] = wick_value_tensor(op_call1(PUB(c), OP_ID_clone, clone_args, 2));
    }
    return !c->error;
}

/* Moves what a decomposition returned from its scope to the one around. */
static bool hand_outward(context_impl *c, call_frame *f, wick_value *rets, int n, wick_scope scope) {
    wick_tensor *taken[OP_MAX_RETS];
    double parts[2] = {0, 0}; /* of a complex number, which lives in the scope that closes */
    bool complex = n && rets[0].tag == WICK_TAG_C128;
    if (f->op->ret_list) return hand_list_outward(c, f, &rets[0], scope);
    if (WICK_UNLIKELY(complex)) memcpy(parts, rets[0].as.c, sizeof parts);
    for (int i = 0; i < n; ++i) taken[i] = is_new(f, &rets[i]) ? scope_take(c, scope, rets[i].as.tensor) : NULL;
    scope_close(c, scope);
    if (WICK_UNLIKELY(complex) && !(rets[0].as.c = scope_number(c, parts))) return false;
    for (int i = 0; i < n; ++i) {
        if (taken[i]) scope_own(c, taken[i]);
        f->rets[i] = rets[i];
    }
    return !c->error;
}

/* The same form of the row that does the work: a derived one writes where it should. */
static bool run_same(context_impl *c, const call_frame *f, wick_value *rets) {
    const op_entry *op = f->op->same_as;
    wick_value args[OP_MAX_ARGS];
    for (int i = 0; i < op->nargs; ++i) {
        const wick_value *v = &f->args[i];
        bool number = op->args[i].type == TYPE_TENSOR && value_is_number(v);
        args[i] = number ? wick_value_tensor(wrap_number(PUB(c), v)) : *v;
    }
    return op_calln(PUB(c), op->id, args, op->nargs, rets, op->nrets);
}

/* Runs a decomposition in a scope of its own. */
static bool compose(context_impl *c, call_frame *f) {
    const op_entry *op = f->op;
    wick_value rets[OP_MAX_RETS];
    int n = op->ret_list ? 1 : op->nrets;
    for (int i = 0; i < n; ++i) rets[i] = wick_value_none();
    wick_scope scope = scope_open(c);
    c->composing = op;
    if (op->same_as)
        run_same(c, f, rets);
    else
        op->def->compose(PUB(c), f->args, rets);
    bool ok = !c->error, derived = op->variant != VARIANT_FUNCTIONAL;
    if (ok && !derived) {
        if (part_from_arguments(c, f, rets, n)) return hand_outward(c, f, rets, n, scope);
        ok = false;
    }
    for (int i = 0; ok && i < n; ++i) {
        if (op->same_as)
            f->rets[i] = rets[i];
        else if (rets[i].tag == WICK_TAG_TENSOR)
            ok = store_result(c, f, i, rets[i].as.tensor);
    }
    scope_close(c, scope);
    return ok;
}

/* Unless it is transparent, its gradient is the row's, not the decomposition's. */
bool execute_compose(context_impl *c, call_frame *f) {
    const op_row *row = f->op->def;
    if (!row->compose && !f->op->same_as) return !FAIL(c, UNSUPPORTED, "%s: no decomposition", f->op->name);
    if (op_is_transparent(row)) return compose(c, f);
    wick_modes outer = c->modes;
    c->modes.exclude_keys |= WICK_KEY(AUTOGRAD);
    c->modes.grad = 0;
    bool ok = compose(c, f);
    wick_modes_set(PUB(c), outer);
    return ok;
}

bool execute(context_impl *c, call_frame *f) {
    const kernel_slot *slot = f->dense ? dense_kernel(c, f) : NULL;
    if (slot) return execute_dense(c, f, slot);
    switch (f->op->def->kind) {
    case WICK_OP_VIEW: return execute_view(c, f);
    case WICK_OP_CORE:
    case WICK_OP_IMPLICIT: return execute_compose(c, f);
    default: return execute_kernel(c, f);
    }
}
