/* Copies and conversions. */
#include "../src/copy.h"
#include "geometry.h"
#include "op_ids.h"
#include "rows.h"
#include "shorthand.h"

static wick_tensor *self_of(const wick_value *args) { return args[0].as.tensor; }

void compose_copy_(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *dst = self_of(args);
    for (int i = 0; i < dst->ndim; ++i)
        if (dst->sizes[i] > 1 && dst->strides[i] == 0)
            FAIL(ctx(c), INVALID_ARGUMENT,
                 "unsupported operation: more than one element of the written-to tensor refers to a "
                 "single memory location. Please clone() the tensor before performing the operation.");
    if (wick_failed(c) || wick_fail(c, tensor_copy_data(ctx(c), dst, args[1].as.tensor, args[2].as.i != 0))) return;
    version_bump(dst);
    give(rets, dst);
}

/* ---- new tensors with the same elements ---- */
static wick_tensor *copied(wick_context *c, wick_tensor *t, wick_dtype dtype, wick_device device, bool non_blocking,
                           const wick_value *format) {
    wick_memory_format f =
        format->tag == WICK_TAG_MEMORY_FORMAT ? (wick_memory_format)format->as.i : WICK_PRESERVE_FORMAT;
    wick_dim strides[WICK_MAX_DIMS];
    wick_tensor *out;
    if (f == WICK_PRESERVE_FORMAT && !geometry_dense(t)) f = WICK_CONTIGUOUS_FORMAT;
    if (wick_fail(c, geometry_format(f, t, t->ndim, t->sizes, strides)) ||
        wick_fail(c, tensor_new(ctx(c), dtype, t->ndim, t->sizes, strides, device, &out)))
        return NULL;
    if (!scope_own(ctx(c), out) || wick_fail(c, tensor_copy_data(ctx(c), out, t, non_blocking))) return NULL;
    return out;
}

void compose_clone(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    give(rets, copied(c, t, (wick_dtype)t->dtype, t->device, false, &args[1]));
}

void compose_to_copy(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    wick_dtype dtype = args[1].tag == WICK_TAG_DTYPE ? (wick_dtype)args[1].as.i : (wick_dtype)t->dtype;
    wick_device device = args[3].tag == WICK_TAG_DEVICE ? args[3].as.device : t->device;
    if (args[4].tag == WICK_TAG_BOOL && args[4].as.i)
        FAIL(ctx(c), UNSUPPORTED, "pin_memory: no backend here offers pinned memory");
    else
        give(rets, copied(c, t, dtype, device, args[5].as.i != 0, &args[6]));
}

void compose_contiguous(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    wick_clone_options o = WICK_CLONE_OPTIONS_INIT;
    o.memory_format = (int)args[1].as.i;
    if (o.memory_format == WICK_PRESERVE_FORMAT)
        FAIL(ctx(c), INVALID_ARGUMENT, "preserve memory format is unsupported by the contiguous operator");
    else
        give(rets, wick_is_contiguous_as(t, (wick_memory_format)o.memory_format) ? t : wick_clone(c, t, &o));
}

void compose_copy(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    wick__to_copy_options o = WICK__TO_COPY_OPTIONS_INIT;
    o.dtype = (wick_dtype)t->dtype, o.device = t->device;
    give(rets, wick__to_copy(c, expand_of(c, args[1].as.tensor, SIZES(t)), &o));
}

/* ---- to: self when nothing changes ---- */
typedef struct target {
    wick_dtype dtype;
    wick_device device;
    const wick_value *layout, *pin_memory, *non_blocking, *copy, *format;
} target;

static void give_converted(wick_context *c, wick_tensor *t, const target *to, wick_value *rets) {
    bool formatted = wick_value_is_none(to->format) || to->format->as.i == WICK_PRESERVE_FORMAT ||
                     wick_is_contiguous_as(t, (wick_memory_format)to->format->as.i);
    if (!to->copy->as.i && t->dtype == to->dtype && wick_device_equal(t->device, to->device) && formatted)
        return give(rets, t);
    wick_value args[] = {wick_value_tensor(t), wick_value_dtype(to->dtype), *to->layout, wick_value_device(to->device),
                         *to->pin_memory,      *to->non_blocking,           *to->format};
    give(rets, op_call1(c, OP_ID__to_copy, args, ARRAY_COUNT(args)));
}

static const wick_value none;

void compose_to_dtype(wick_context *c, const wick_value *args, wick_value *rets) {
    target to = {(wick_dtype)args[1].as.i, self_of(args)->device, &none, &none, &args[2], &args[3], &args[4]};
    give_converted(c, self_of(args), &to, rets);
}

void compose_to_dtype_layout(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    target to = {args[1].tag == WICK_TAG_DTYPE ? (wick_dtype)args[1].as.i : (wick_dtype)t->dtype,
                 args[3].tag == WICK_TAG_DEVICE ? args[3].as.device : t->device,
                 &args[2],
                 &args[4],
                 &args[5],
                 &args[6],
                 &args[7]};
    give_converted(c, t, &to, rets);
}

void compose_to_device(wick_context *c, const wick_value *args, wick_value *rets) {
    target to = {(wick_dtype)args[2].as.i, args[1].as.device, &none, &none, &args[3], &args[4], &args[5]};
    give_converted(c, self_of(args), &to, rets);
}

void compose_to_other(wick_context *c, const wick_value *args, wick_value *rets) {
    const wick_tensor *other = args[1].as.tensor;
    target to = {(wick_dtype)other->dtype, other->device, &none, &none, &args[2], &args[3], &args[4]};
    give_converted(c, self_of(args), &to, rets);
}

void compose_type_as(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, wick_to_other(c, self_of(args), args[1].as.tensor, NULL));
}

/* ---- one element ---- */
void compose_local_scalar_dense(wick_context *c, const wick_value *args, wick_value *rets) {
    tensor_scalar(ctx(c), self_of(args), &rets[0]);
}

void compose_item(wick_context *c, const wick_value *args, wick_value *rets) {
    if (self_of(args)->numel == 1)
        wick__local_scalar_dense(c, self_of(args), &rets[0]);
    else
        FAIL(ctx(c), INVALID_ARGUMENT, "a Tensor with %lld elements cannot be converted to Scalar",
             (long long)self_of(args)->numel);
}

void compose_is_nonzero(wick_context *c, const wick_value *args, wick_value *rets) {
    int64_t n = self_of(args)->numel;
    wick_value v;
    if (n != 1)
        FAIL(ctx(c), INVALID_ARGUMENT,
             n ? "Boolean value of Tensor with more than one value is ambiguous"
               : "Boolean value of Tensor with no values is ambiguous");
    else if (tensor_scalar(ctx(c), self_of(args), &v))
        rets[0] = wick_value_bool(v.tag == WICK_TAG_C128  ? v.as.c[0] != 0 || v.as.c[1] != 0
                                  : v.tag == WICK_TAG_F64 ? v.as.f != 0
                                                          : v.as.i != 0);
}
