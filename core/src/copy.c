/* Elements from one tensor to another: across shapes, dtypes, lazy signs and devices. */
#include <string.h>

#include "copy.h"
#include "op_ids.h"
#include "step.h"
#include "stream.h"

#define LAZY (WICK_TENSOR_CONJ | WICK_TENSOR_NEG)

static const op_entry *entry(const context_impl *c, int id) { return &c->rt->ops->entries[id]; }

/* ---- aliases on the stack: what a kernel is shown of a tensor ---- */
typedef struct alias {
    wick_tensor tensor;
    wick_dim strides[WICK_MAX_DIMS];
} alias;

/* The stored values of `t`, its lazy signs left aside. */
static void alias_stored(alias *a, const wick_tensor *t) {
    a->tensor = *t;
    a->tensor.flags &= (uint16_t)~LAZY;
}

/* The stored values of `src` in the shape of `like`. */
static wick_status *alias_expanded(alias *a, const wick_tensor *src, const wick_tensor *like) {
    char from[SIZES_TEXT], to[SIZES_TEXT];
    int missing = like->ndim - src->ndim;
    alias_stored(a, src);
    bool fits = missing >= 0;
    for (int i = 0; fits && i < like->ndim; ++i) {
        int k = i - missing;
        bool repeated = k < 0 || (src->sizes[k] == 1 && like->sizes[i] != 1);
        fits = repeated || src->sizes[k] == like->sizes[i];
        a->strides[i] = repeated ? 0 : src->strides[k];
    }
    if (!fits)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "output with shape %s doesn't match the broadcast shape %s",
                          format_sizes(like->ndim, like->sizes, to, sizeof to),
                          format_sizes(src->ndim, src->sizes, from, sizeof from));
    bool same = src->ndim == like->ndim && src->numel == like->numel;
    if (!same) a->tensor.flags &= (uint16_t)~WICK_TENSOR_CONTIGUOUS;
    a->tensor.ndim = like->ndim;
    a->tensor.numel = like->numel;
    a->tensor.sizes = like->sizes;
    a->tensor.strides = a->strides;
    return NULL;
}

/* ---- within a device ---- */
static wick_status *copy_within(context_impl *c, wick_tensor *dst, wick_tensor *src) {
    wick_value values[] = {wick_value_tensor(dst), wick_value_tensor(src), wick_value_bool(false),
                           wick_value_tensor(dst)};
    return kernel_run(c, entry(c, OP_ID_copy_), dst->device, values, 3, 1, (wick_dtype)dst->dtype);
}

static bool applies(const context_impl *c, int op, const wick_tensor *t) {
    return kernel_takes(c->rt, t->device, entry(c, op), (wick_dtype)t->dtype, wick_is_contiguous(t));
}

static wick_status *apply_in_place(context_impl *c, int op, wick_tensor *t) {
    wick_value values[] = {wick_value_tensor(t), wick_value_tensor(t)};
    return kernel_run(c, entry(c, op), t->device, values, 1, 1, (wick_dtype)t->dtype);
}

static bool same_elements(const wick_tensor *a, const wick_tensor *b) {
    size_t bytes = sizeof *a->sizes * a->ndim;
    return a->storage == b->storage && a->offset == b->offset && a->dtype == b->dtype && a->ndim == b->ndim &&
           ((a->flags ^ b->flags) & LAZY) == 0 && !memcmp(a->sizes, b->sizes, bytes) &&
           !memcmp(a->strides, b->strides, bytes);
}

/* ---- between devices: row-major bytes ---- */
static uint64_t byte_offset(const wick_tensor *t) {
    return (uint64_t)t->offset * wick_dtype_bytes((wick_dtype)t->dtype);
}

/* An addressable device may still be working on what the host is about to touch. */
static wick_status *settle(const context_impl *c, const device_type *type, wick_device device) {
    return stream_error(c, stream_wait_host(type, device.index, context_stream(c, device)));
}

static wick_status *bytes_to_host(context_impl *c, const wick_tensor *src, void *buffer, uint64_t bytes,
                                  uint32_t flags) {
    const device_type *type = rt_device(c->rt, src->device.type);
    void *stream = stream_handle(context_stream(c, src->device));
    if (c->step) WICK_TRY(step_break(c, src->device, "the host reads a tensor"));
    if (!type->addressable) {
        wick_status *s = type->memory->copy_to_host(type->instance, src->device.index, stream, &src->storage->memory,
                                                    byte_offset(src), buffer, bytes, flags);
        return stream_error(c, s);
    }
    WICK_TRY(settle(c, type, src->device));
    memcpy(buffer, wick_data(src), bytes);
    return NULL;
}

static wick_status *bytes_from_host(context_impl *c, const wick_tensor *dst, const void *buffer, uint64_t bytes,
                                    uint32_t flags) {
    const device_type *type = rt_device(c->rt, dst->device.type);
    void *stream = stream_handle(context_stream(c, dst->device));
    if (c->step) WICK_TRY(step_break(c, dst->device, "the host writes a tensor"));
    if (!type->addressable) {
        wick_status *s = type->memory->copy_from_host(type->instance, dst->device.index, stream, &dst->storage->memory,
                                                      byte_offset(dst), buffer, bytes, flags);
        return stream_error(c, s);
    }
    WICK_TRY(settle(c, type, dst->device));
    memcpy(wick_data(dst), buffer, bytes);
    return NULL;
}

/* Between two devices of one backend, in the order of both streams: the source's waits until the target may be
 * written, the target's until it was. */
static wick_status *peer_copy(context_impl *c, const device_type *type, wick_tensor *dst, const wick_tensor *src,
                              uint64_t bytes) {
    wick_stream *from = context_stream(c, src->device), *to = context_stream(c, dst->device);
    if (c->step) WICK_TRY(step_break(c, src->device, "a copy to another device"));
    if (c->step) WICK_TRY(step_break(c, dst->device, "a copy from another device"));
    WICK_TRY(storage_note(c, storage_of(src), src->device, from));
    WICK_TRY(storage_note(c, storage_of(dst), src->device, from));
    WICK_TRY(stream_order(c->rt, dst->device, to, src->device, from));
    WICK_TRY(type->memory->copy_peer(type->instance, stream_handle(from), dst->device.index, &dst->storage->memory,
                                     byte_offset(dst), src->device.index, &src->storage->memory, byte_offset(src),
                                     bytes));
    return stream_order(c->rt, src->device, from, dst->device, to);
}

/* The host's side of an asynchronous copy: its memory stays until the device's stream has passed. */
static wick_status *async_flags(context_impl *c, const wick_tensor *host, wick_device device, bool non_blocking,
                                uint32_t *flags) {
    *flags = 0;
    if (!non_blocking || !wick_is_pinned(host)) return NULL;
    *flags = WICK_COPY_ASYNC;
    return storage_note(c, storage_of(host), device, context_stream(c, device));
}

static wick_status *bounce_copy(context_impl *c, wick_tensor *dst, const wick_tensor *src, uint64_t bytes) {
    void *bounce = rt_alloc(c->rt, bytes);
    if (!bounce)
        return WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate %llu bytes to copy between devices",
                          (unsigned long long)bytes);
    wick_status *s = bytes_to_host(c, src, bounce, bytes, 0);
    if (!s) s = bytes_from_host(c, dst, bounce, bytes, 0);
    rt_free(c->rt, bounce);
    return s;
}

/* Both row-major, of one dtype and size. */
static wick_status *transfer(context_impl *c, wick_tensor *dst, const wick_tensor *src, bool non_blocking) {
    device_type *from = rt_device(c->rt, src->device.type), *to = rt_device(c->rt, dst->device.type);
    uint64_t bytes = (uint64_t)dst->numel * wick_dtype_bytes((wick_dtype)dst->dtype);
    uint32_t flags;
    if (!bytes) return NULL;
    if (from == to && WICK_HAS(to->memory, wick_memory_interface, copy_peer)) return peer_copy(c, to, dst, src, bytes);
    if (to->addressable) {
        WICK_TRY(settle(c, to, dst->device));
        WICK_TRY(async_flags(c, dst, src->device, non_blocking, &flags));
        return bytes_to_host(c, src, wick_data(dst), bytes, flags);
    }
    if (from->addressable) {
        WICK_TRY(settle(c, from, src->device));
        WICK_TRY(async_flags(c, src, dst->device, non_blocking, &flags));
        return bytes_from_host(c, dst, wick_data(src), bytes, flags);
    }
    return bounce_copy(c, dst, src, bytes);
}

/* `src` itself if it is row-major and of `dtype`, else a copy that is; *owned says that it is a copy. */
static wick_status *pack(context_impl *c, wick_tensor *src, wick_dtype dtype, wick_tensor **out, bool *owned) {
    *owned = !wick_is_contiguous(src) || src->dtype != dtype;
    *out = src;
    if (!*owned) return NULL;
    WICK_TRY(tensor_new(c, dtype, src->ndim, src->sizes, NULL, src->device, out));
    wick_status *s = copy_within(c, *out, src);
    if (s) tensor_release(impl(*out), c);
    return s;
}

static wick_status *land(context_impl *c, wick_tensor *dst, const wick_tensor *packed, bool non_blocking) {
    alias expanded;
    wick_tensor *staged;
    if (wick_is_contiguous(dst) && dst->numel == packed->numel) return transfer(c, dst, packed, non_blocking);
    WICK_TRY(tensor_new(c, (wick_dtype)packed->dtype, packed->ndim, packed->sizes, NULL, dst->device, &staged));
    wick_status *s = transfer(c, staged, packed, false);
    if (!s) s = alias_expanded(&expanded, staged, dst);
    if (!s) s = copy_within(c, dst, &expanded.tensor);
    tensor_release(impl(staged), c);
    return s;
}

static wick_status *copy_between(context_impl *c, wick_tensor *dst, wick_tensor *src, bool non_blocking) {
    wick_tensor *packed;
    bool owned;
    WICK_TRY(pack(c, src, (wick_dtype)dst->dtype, &packed, &owned));
    wick_status *s = land(c, dst, packed, non_blocking && !owned);
    if (owned) tensor_release(impl(packed), c);
    return s;
}

/* ---- lazy signs: stored values came over as they were; where two tensors read them differently, they change ---- */
/* The signs that the target's stored values lack. */
static unsigned signs_between(const wick_tensor *dst, const wick_tensor *src) {
    unsigned differ = (src->flags ^ dst->flags) & LAZY;
    if (!wick_dtype_is_complex((wick_dtype)dst->dtype) || !wick_dtype_is_complex((wick_dtype)src->dtype))
        differ &= ~(unsigned)WICK_TENSOR_CONJ;
    return dst->dtype == WICK_BOOL ? differ & ~(unsigned)WICK_TENSOR_NEG : differ;
}

/* The real (0) or the imaginary (1) parts of complex `t`: devices without complex numbers can change their sign. */
static void alias_part(alias *a, const wick_tensor *t, int part) {
    alias_stored(a, t);
    a->tensor.dtype = (uint8_t)dtype_to_real((wick_dtype)t->dtype);
    a->tensor.offset = 2 * t->offset + part;
    a->tensor.flags &= (uint16_t)~WICK_TENSOR_CONTIGUOUS;
    for (int i = 0; i < t->ndim; ++i) a->strides[i] = 2 * t->strides[i];
    a->tensor.strides = a->strides;
}

static wick_status *negate_parts(context_impl *c, const wick_tensor *t, unsigned signs) {
    const bool negated[] = {signs & WICK_TENSOR_NEG, signs == WICK_TENSOR_CONJ || signs == WICK_TENSOR_NEG};
    alias a;
    for (int part = 0; part < 2; ++part) {
        alias_part(&a, t, part);
        if (negated[part]) WICK_TRY(apply_in_place(c, OP_ID_neg, &a.tensor));
    }
    return NULL;
}

/* The one row that changes `signs`; -1: there is none. */
static int sign_op(unsigned signs) {
    return signs == WICK_TENSOR_CONJ ? OP_ID_conj_physical : signs == WICK_TENSOR_NEG ? OP_ID_neg : -1;
}

static bool changes_signs(const context_impl *c, const wick_tensor *t, unsigned signs) {
    int op = sign_op(signs);
    alias a;
    if (op >= 0 && applies(c, op, t)) return true;
    if (!wick_dtype_is_complex((wick_dtype)t->dtype)) return false;
    alias_part(&a, t, 0);
    return applies(c, OP_ID_neg, &a.tensor);
}

/* With the device's own kernels. */
static wick_status *change_signs(context_impl *c, wick_tensor *t, unsigned signs) {
    int op = sign_op(signs);
    bool whole = op >= 0 && (applies(c, op, t) || !wick_dtype_is_complex((wick_dtype)t->dtype));
    return whole ? apply_in_place(c, op, t) : negate_parts(c, t, signs);
}

/* As any operator that the device lacks: its fallback policy allows it, and it is counted. */
static wick_status *change_signs_on_host(context_impl *c, wick_tensor *t, unsigned signs) {
    device_type *type = rt_device(c->rt, t->device.type);
    wick_tensor *there;
    atomic_fetch_add(&type->fallbacks[entry(c, signs & WICK_TENSOR_CONJ ? OP_ID_conj_physical : OP_ID_neg)->row], 1);
    WICK_TRY(tensor_new(c, (wick_dtype)t->dtype, t->ndim, t->sizes, NULL, wick_runtime_host(c->rt), &there));
    wick_status *s = copy_between(c, there, t, false);
    if (!s) s = change_signs(c, there, signs);
    if (!s) s = copy_between(c, t, there, false);
    tensor_release(impl(there), c);
    return s;
}

static wick_status *settle_signs(context_impl *c, wick_tensor *stored, unsigned signs) {
    const device_type *type = rt_device(c->rt, stored->device.type);
    if (!signs) return NULL;
    bool own = changes_signs(c, stored, signs) || type->host || type->fallback == FALLBACK_ERROR;
    return own ? change_signs(c, stored, signs) : change_signs_on_host(c, stored, signs);
}

/* ---- what the core offers ---- */
wick_status *tensor_write(context_impl *c, wick_tensor *t, const void *buffer) {
    uint64_t bytes = (uint64_t)t->numel * wick_dtype_bytes((wick_dtype)t->dtype);
    if (!bytes || t->device.type == WICK_DEVICE_TYPE_META) return NULL;
    return bytes_from_host(c, t, buffer, bytes, 0);
}

wick_status *tensor_read(context_impl *c, const wick_tensor *t, void *buffer) {
    uint64_t bytes = (uint64_t)t->numel * wick_dtype_bytes((wick_dtype)t->dtype);
    wick_tensor *plain;
    if (!bytes) return NULL;
    if (t->device.type == WICK_DEVICE_TYPE_META)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "Cannot copy out of meta tensor; no data!");
    if (wick_is_contiguous(t) && !(t->flags & LAZY)) return bytes_to_host(c, t, buffer, bytes, 0);
    WICK_TRY(tensor_new(c, (wick_dtype)t->dtype, t->ndim, t->sizes, NULL, t->device, &plain));
    wick_status *s = tensor_copy_data(c, plain, t, false);
    if (!s) s = bytes_to_host(c, plain, buffer, bytes, 0);
    tensor_release(impl(plain), c);
    return s;
}

wick_status *tensor_copy_data(context_impl *c, wick_tensor *dst, const wick_tensor *src, bool non_blocking) {
    alias to, from;
    WICK_TRY(alias_expanded(&from, src, dst));
    if (dst->device.type == WICK_DEVICE_TYPE_META || dst->numel == 0 || same_elements(dst, src)) return NULL;
    if (src->device.type == WICK_DEVICE_TYPE_META)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "Cannot copy out of meta tensor; no data!");
    alias_stored(&to, dst);
    if (wick_device_equal(dst->device, src->device)) {
        WICK_TRY(copy_within(c, &to.tensor, &from.tensor));
    } else {
        alias_stored(&from, src);
        WICK_TRY(copy_between(c, &to.tensor, &from.tensor, non_blocking));
    }
    return settle_signs(c, &to.tensor, signs_between(dst, src));
}

wick_status *tensor_resize(context_impl *c, wick_tensor *t, int ndim, const wick_dim *sizes) {
    int64_t numel, last;
    WICK_TRY(geometry_check(ndim, sizes, &numel, NULL));
    if (ndim == t->ndim && !memcmp(sizes, t->sizes, sizeof *sizes * (size_t)ndim)) return NULL;
    last = wick_dim_mul(wick_dim_add(numel, t->offset), (wick_dim)wick_dtype_bytes((wick_dtype)t->dtype));
    if (last < 0) return WICK_ERROR(WICK_INVALID_ARGUMENT, "the new size has too many elements");
    if (numel) WICK_TRY(storage_resize(c, t->storage, (uint64_t)last));
    return tensor_set_geometry(impl(t), ndim, sizes, NULL, t->offset);
}

wick_tensor *tensor_resolve(context_impl *c, wick_tensor *t) {
    wick_tensor *plain;
    if (!(t->flags & LAZY)) return t;
    if (fail(c, tensor_new(c, (wick_dtype)t->dtype, t->ndim, t->sizes, NULL, t->device, &plain))) return NULL;
    wick_status *s = tensor_copy_data(c, plain, t, false);
    if (!s) return scope_own(c, plain);
    tensor_release(impl(plain), c);
    fail(c, s);
    return NULL;
}
