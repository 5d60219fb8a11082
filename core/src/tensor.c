/* Tensors and storages: one block holds a fresh tensor, its storage and, when small, its data. */
#include <stdio.h>

#include "../autograd/node.h"
#include "memory.h"
#include "runtime.h"
#include "step.h"

typedef struct block {
    storage_impl storage;
    tensor_impl tensor;
    _Alignas(16) char data[];
} block;

#define INLINE_BYTES 512 /* data up to this size lives in the block */
#define CREDITS 64

/* ---- counting live objects without an atomic per object ---- */
void credit_grow(context_impl *c) {
    atomic_fetch_add_explicit(&c->rt->references, CREDITS, memory_order_relaxed);
    atomic_fetch_add_explicit(&c->rt->live, CREDITS, memory_order_relaxed);
    c->credit += CREDITS;
}

void object_forget(wick_runtime *rt) {
    atomic_fetch_sub_explicit(&rt->live, 1, memory_order_relaxed);
    runtime_drop(rt);
}

/* ---- geometry ---- */
char *format_sizes(int ndim, const wick_dim *sizes, char *buffer, size_t bytes) {
    size_t used = (size_t)snprintf(buffer, bytes, "[");
    for (int i = 0; i < ndim && used < bytes; ++i)
        used += (size_t)snprintf(buffer + used, bytes - used, i ? ", %lld" : "%lld", (long long)sizes[i]);
    if (used < bytes) snprintf(buffer + used, bytes - used, "]");
    return buffer;
}

wick_status *geometry_check(int ndim, const wick_dim *sizes, int64_t *out_numel, wick_dim *strides) {
    char text[SIZES_TEXT];
    if (ndim < 0 || ndim > WICK_MAX_DIMS)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "a tensor of %d dimensions, wanted at most %d", ndim, WICK_MAX_DIMS);
    wick_dim step = 1;
    bool empty = false;
    for (int i = ndim - 1; i >= 0; --i) {
        if (sizes[i] < 0)
            return WICK_ERROR(WICK_INVALID_ARGUMENT, "size %lld at dimension %d of %s is negative", (long long)sizes[i],
                              i, format_sizes(ndim, sizes, text, sizeof text));
        if (strides) strides[i] = step;
        empty |= sizes[i] == 0;
        step = wick_dim_mul(step, sizes[i] ? sizes[i] : 1);
    }
    if (step == WICK_DIM_INVALID || step > (INT64_MAX >> 5))
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "size %s has too many elements",
                          format_sizes(ndim, sizes, text, sizeof text));
    *out_numel = empty ? 0 : step;
    return NULL;
}

bool geometry_contiguous(int ndim, const wick_dim *sizes, const wick_dim *strides) {
    wick_dim expected = 1;
    for (int i = ndim - 1; i >= 0; --i) {
        if (sizes[i] == 0) return true;
        if (sizes[i] != 1 && strides[i] != expected) return false;
        expected *= sizes[i];
    }
    return true;
}

int64_t geometry_span(int ndim, const wick_dim *sizes, const wick_dim *strides) {
    wick_dim span = 1;
    for (int i = 0; i < ndim; ++i) {
        if (sizes[i] == 0) return 0;
        if (strides[i] < 0) return WICK_DIM_INVALID;
        span = wick_dim_add(span, wick_dim_mul(sizes[i] - 1, strides[i]));
    }
    return span;
}

/* ---- construction ---- */
static wick_status *dims_reserve(tensor_impl *t, int ndim, wick_dim **sizes, wick_dim **strides) {
    int room = t->dims_capacity ? (int)t->dims_capacity : TENSOR_INLINE_DIMS;
    wick_dim *dims = t->dims_capacity ? (wick_dim *)t->pub.sizes : t->dims;
    if (ndim > room) {
        dims = rt_alloc(t->rt, sizeof *dims * 2 * (size_t)ndim);
        if (!dims) return WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate the sizes of a tensor");
        if (t->dims_capacity) rt_free(t->rt, (void *)t->pub.sizes);
        t->dims_capacity = (uint32_t)ndim;
        room = ndim;
    }
    *sizes = dims;
    *strides = dims + room;
    return NULL;
}

/* Sizes that geometry_check has passed, with the `numel` it found; they do not lie in the tensor itself. */
static wick_status *geometry_store(tensor_impl *t, int ndim, const wick_dim *sizes, const wick_dim *strides,
                                   int64_t numel, int64_t offset) {
    wick_dim *own_sizes = NULL, *own_strides = NULL;
    WICK_TRY(dims_reserve(t, ndim, &own_sizes, &own_strides));
    for (int i = 0; i < ndim; ++i) {
        own_sizes[i] = sizes[i];
        own_strides[i] = strides[i];
    }
    t->pub.ndim = (uint8_t)ndim;
    t->pub.sizes = own_sizes;
    t->pub.strides = own_strides;
    t->pub.offset = offset;
    t->pub.numel = numel;
    bool dense = geometry_contiguous(ndim, own_sizes, own_strides);
    t->pub.flags = (uint16_t)((t->pub.flags & ~WICK_TENSOR_CONTIGUOUS) | (dense ? WICK_TENSOR_CONTIGUOUS : 0));
    return NULL;
}

wick_status *tensor_set_geometry(tensor_impl *t, int ndim, const wick_dim *sizes, const wick_dim *strides,
                                 int64_t offset) {
    wick_dim contiguous[WICK_MAX_DIMS], kept[WICK_MAX_DIMS]; /* what is given may be the tensor's own */
    int64_t numel;
    WICK_TRY(geometry_check(ndim, sizes, &numel, strides ? NULL : contiguous));
    if (ndim) memcpy(kept, sizes, sizeof *kept * (size_t)ndim);
    if (ndim && strides) memcpy(contiguous, strides, sizeof *kept * (size_t)ndim);
    return geometry_store(t, ndim, kept, contiguous, numel, offset);
}

HOT void storage_init(storage_impl *s, wick_runtime *rt, wick_device device) {
    s->pub.struct_size = sizeof(wick_storage);
    s->pub.device = device;
    s->pub.memory = (wick_memory){NULL, 0, 0, NULL};
    s->pub.version = 0;
    atomic_init(&s->references, 1);
    s->owns = STORAGE_NONE;
    s->small = 0;
    s->rt = rt;
}

/* Lazy signs and inference mode send every call by their handlers. */
HOT uint64_t keys_of(uint16_t flags) {
    if (WICK_LIKELY(!(flags & (WICK_TENSOR_CONJ | WICK_TENSOR_NEG | WICK_TENSOR_INFERENCE)))) return WICK_KEY(DENSE);
    return WICK_KEY(DENSE) | (flags & WICK_TENSOR_CONJ ? WICK_KEY(CONJUGATE) : 0) |
           (flags & WICK_TENSOR_NEG ? WICK_KEY(NEGATIVE) : 0) |
           (flags & WICK_TENSOR_INFERENCE ? WICK_KEY(TRACKING) : 0);
}

HOT void tensor_init(tensor_impl *t, wick_runtime *rt, wick_dtype dtype, wick_storage *storage, uint16_t flags) {
    t->pub = (wick_tensor){.struct_size = sizeof(wick_tensor),
                           .dtype = (uint8_t)dtype,
                           .flags = flags,
                           .device = storage->device,
                           .layout = WICK_STRIDED,
                           .keys = keys_of(flags),
                           .storage = storage};
    atomic_init(&t->references, 1);
    t->requires_grad = t->in_block = t->retains_grad = t->view_mode = 0;
    t->rt = rt;
    t->grad_fn = NULL;
    t->output_nr = t->dims_capacity = 0;
    t->attr_version = 0;
    t->extra = NULL;
    t->base = NULL;
}

static wick_status *data_allocate(context_impl *c, storage_impl *s, uint64_t bytes) {
    wick_device d = s->pub.device;
    device_type *type = rt_device(c->rt, d.type);
    if (d.type == WICK_DEVICE_TYPE_META || bytes == 0) {
        s->pub.memory.bytes = bytes;
        return NULL;
    }
    if (!type || d.index < 0 || d.index >= type->count)
        return WICK_ERROR(WICK_UNAVAILABLE, "no device of type %d, index %d: no loaded backend serves it", d.type,
                          d.index);
    wick_stream *stream = context_stream(c, d);
    memory_cache *cache = WICK_UNLIKELY(c->step != NULL) ? step_memory(c, d) : NULL;
    if (WICK_UNLIKELY(cache != NULL)) WICK_TRY(step_reserve(c, bytes));
    if (!cache) cache = type->caches[d.index];
    WICK_TRY(memory_allocate(cache, stream, bytes, &s->pub.memory));
    s->owns = STORAGE_CACHED;
    s->data.cached.cache = cache;
    s->data.cached.stream = wick_stream_retain(stream);
    s->data.cached.uses = NULL;
    return NULL;
}

HOT bool inline_ok(context_impl *c, wick_device d, uint64_t bytes) {
    return bytes <= INLINE_BYTES && d.type == c->rt->host_type && d.type;
}

wick_status *tensor_new(context_impl *c, wick_dtype dtype, int ndim, const wick_dim *sizes, const wick_dim *strides,
                        wick_device device, wick_tensor **out) {
    int64_t numel;
    wick_dim own[WICK_MAX_DIMS];
    WICK_TRY(geometry_check(ndim, sizes, &numel, strides ? NULL : own));
    const int64_t span = strides ? geometry_span(ndim, sizes, strides) : numel;
    if (span < 0 || span > (INT64_MAX >> 5)) return WICK_ERROR(WICK_INVALID_ARGUMENT, "strides reach too far");
    uint64_t bytes = (uint64_t)span * wick_dtype_bytes(dtype);
    bool small = inline_ok(c, device, bytes);
    block *b = block_take(c, sizeof *b + (small ? bytes : 0));
    if (!b) return WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate a tensor");
    storage_init(&b->storage, c->rt, device);
    tensor_init(&b->tensor, c->rt, dtype, &b->storage.pub, c->modes.inference ? WICK_TENSOR_INFERENCE : 0);
    b->tensor.in_block = 1;
    wick_status *s = geometry_store(&b->tensor, ndim, sizes, strides ? strides : own, numel, 0);
    if (!s && small) {
        b->storage.owns = STORAGE_INLINE;
        b->storage.pub.memory = (wick_memory){b->data, 0, bytes, b->data};
    } else if (!s) {
        s = data_allocate(c, &b->storage, bytes);
    }
    if (s) {
        if (b->tensor.dims_capacity) rt_free(c->rt, (void *)b->tensor.pub.sizes);
        block_give(c->rt, c, b, sizeof *b + (small ? bytes : 0) <= BLOCK_BYTES);
        return s;
    }
    b->storage.small = sizeof *b + (small ? bytes : 0) <= BLOCK_BYTES;
    object_born(c);
    *out = &b->tensor.pub;
    return NULL;
}

/* Without the checks of tensor_new: `like` has passed them. Small and row-major only; else the general way. */
wick_status *tensor_new_like(context_impl *c, wick_dtype dtype, const wick_tensor *like, wick_tensor **out) {
    uint64_t bytes = (uint64_t)like->numel * wick_dtype_bytes(dtype);
    int ndim = like->ndim;
    if (ndim > TENSOR_INLINE_DIMS || !inline_ok(c, like->device, bytes) || !(like->flags & WICK_TENSOR_CONTIGUOUS))
        return tensor_new(c, dtype, ndim, like->sizes, NULL, like->device, out);
    block *b = block_take(c, sizeof *b + bytes);
    if (WICK_UNLIKELY(!b)) return WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate a tensor");
    tensor_impl *t = &b->tensor;
    storage_init(&b->storage, c->rt, like->device);
    b->storage.small = sizeof *b + bytes <= BLOCK_BYTES;
    b->storage.owns = STORAGE_INLINE;
    b->storage.pub.memory = (wick_memory){b->data, 0, bytes, b->data};
    tensor_init(t, c->rt, dtype, &b->storage.pub,
                (uint16_t)(WICK_TENSOR_CONTIGUOUS | (c->modes.inference ? WICK_TENSOR_INFERENCE : 0)));
    t->in_block = 1;
    t->pub.ndim = (uint8_t)ndim;
    t->pub.numel = like->numel;
    t->pub.sizes = t->dims;
    t->pub.strides = t->dims + TENSOR_INLINE_DIMS;
    for (int i = 0; i < ndim; ++i) {
        t->dims[i] = like->sizes[i];
        t->dims[TENSOR_INLINE_DIMS + i] = like->strides[i];
    }
    object_born(c);
    *out = &t->pub;
    return NULL;
}

wick_status *tensor_new_view(context_impl *c, wick_storage *storage, wick_dtype dtype, int ndim, const wick_dim *sizes,
                             const wick_dim *strides, int64_t offset, uint16_t flags, wick_tensor **out) {
    int64_t numel;
    wick_dim own[WICK_MAX_DIMS];
    WICK_TRY(geometry_check(ndim, sizes, &numel, strides ? NULL : own));
    tensor_impl *t = block_take(c, sizeof *t);
    if (!t) return WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate a tensor");
    tensor_init(t, c->rt, dtype, storage, flags);
    wick_status *s = geometry_store(t, ndim, sizes, strides ? strides : own, numel, offset);
    if (s) {
        block_give(c->rt, c, t, true);
        return s;
    }
    storage_retain((storage_impl *)storage);
    object_born(c);
    *out = &t->pub;
    return NULL;
}

wick_status *storage_new_wrapped(wick_runtime *rt, wick_device device, void *data, uint64_t bytes,
                                 void (*deleter)(void *), void *user, storage_impl **out) {
    storage_impl *s = rt_alloc(rt, sizeof *s);
    if (!s) return WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate a storage");
    storage_init(s, rt, device);
    s->pub.memory = (wick_memory){data, 0, bytes, data};
    s->owns = STORAGE_WRAPPED;
    s->data.wrapped.deleter = deleter;
    s->data.wrapped.user = user;
    *out = s;
    return NULL;
}

wick_status *tensor_new_cached(context_impl *c, wick_dtype dtype, int ndim, const wick_dim *sizes, wick_device device,
                               memory_cache *cache, wick_tensor **out) {
    int64_t numel;
    storage_impl *s;
    WICK_TRY(geometry_check(ndim, sizes, &numel, NULL));
    uint64_t bytes = (uint64_t)numel * wick_dtype_bytes(dtype);
    WICK_TRY(storage_new_wrapped(c->rt, device, NULL, bytes, NULL, NULL, &s));
    wick_status *status = memory_allocate(cache, NULL, bytes ? bytes : 1, &s->pub.memory);
    if (!status) {
        s->owns = STORAGE_CACHED;
        s->data.cached.cache = cache;
        s->data.cached.stream = NULL;
        s->data.cached.uses = NULL;
        status = tensor_new_view(c, &s->pub, dtype, ndim, sizes, NULL, 0,
                                 c->modes.inference ? WICK_TENSOR_INFERENCE : 0, out);
    }
    storage_release(s, c);
    return status;
}

/* ---- the end of things ---- */
void storage_retain(storage_impl *s) { reference_add(&s->references); }

static void data_release(storage_impl *s) {
    if (s->owns == STORAGE_CACHED)
        memory_free(s->data.cached.cache, s->data.cached.stream, s->data.cached.uses, &s->pub.memory);
    else if (s->owns == STORAGE_WRAPPED && s->data.wrapped.deleter)
        s->data.wrapped.deleter(s->data.wrapped.user);
    s->owns = STORAGE_NONE;
}

HOT void storage_drop(storage_impl *s, context_impl *c) {
    if (!reference_drop(&s->references)) return;
    if (WICK_UNLIKELY(s->owns > STORAGE_INLINE)) data_release(s);
    block_give(s->rt, c, s, s->small);
}

void storage_release(storage_impl *s, context_impl *c) { storage_drop(s, c); }

static block *home_block(tensor_impl *t) { return (block *)((char *)t - offsetof(block, tensor)); }

static void end_rare_parts(tensor_impl *t, context_impl *c, wick_node **dying) {
    if (t->extra) autograd_extra_destroy(t, c, dying);
    if (t->base) tensor_unref(t->base, c, dying);
    if (t->dims_capacity) rt_free(t->rt, (void *)t->pub.sizes);
}

/* The tensor itself, when nothing else hangs on it. */
HOT void tensor_free(tensor_impl *t, context_impl *c) {
    wick_runtime *rt = t->rt;
    storage_impl *s = storage_of(&t->pub), *home = t->in_block ? &home_block(t)->storage : NULL;
    if (!home) block_give(rt, c, t, true);
    if (WICK_UNLIKELY(home && home != s)) storage_release(home, c); /* set_storage had replaced it */
    storage_drop(s, c);
    object_died(rt, c);
}

static bool has_rare_parts(const tensor_impl *t) { return t->extra || t->base || t->dims_capacity; }

static void tensor_destroy(tensor_impl *t, context_impl *c, wick_node **dying) {
    if (has_rare_parts(t)) end_rare_parts(t, c, dying);
    if (t->grad_fn) node_unref(t->grad_fn, dying);
    tensor_free(t, c);
}

void tensor_unref(tensor_impl *t, context_impl *c, wick_node **dying) {
    if (reference_drop(&t->references)) tensor_destroy(t, c, dying);
}

static void tensor_end(tensor_impl *t, context_impl *c) {
    wick_node *dying = NULL;
    tensor_destroy(t, c, &dying);
    if (dying) nodes_destroy(dying, c);
}

void tensor_release(tensor_impl *t, context_impl *c) {
    if (!reference_drop(&t->references)) return;
    if (has_rare_parts(t) || t->grad_fn)
        tensor_end(t, c);
    else
        tensor_free(t, c);
}

wick_tensor *wick_retain(wick_tensor *tensor) {
    if (tensor) reference_add(&impl(tensor)->references);
    return tensor;
}

void wick_release(wick_tensor *tensor) {
    if (tensor) tensor_release(impl(tensor), NULL);
}

/* ---- changing a storage in place ---- */
wick_status *storage_resize(context_impl *c, wick_storage *pub, uint64_t bytes) {
    storage_impl *s = (storage_impl *)pub;
    if (bytes <= pub->memory.bytes) return NULL;
    if (s->owns == STORAGE_WRAPPED)
        return WICK_ERROR(WICK_FAILED_PRECONDITION, "a wrapped buffer of %llu bytes cannot grow to %llu",
                          (unsigned long long)pub->memory.bytes, (unsigned long long)bytes);
    storage_impl grown;
    storage_init(&grown, s->rt, pub->device);
    WICK_TRY(data_allocate(c, &grown, bytes));
    if (pub->memory.bytes && grown.owns == STORAGE_CACHED) {
        device_type *type = rt_device(c->rt, pub->device.type);
        uint64_t kept = pub->memory.bytes;
        if (type->addressable) {
            memcpy(grown.pub.memory.data, pub->memory.data, kept);
        } else {
            wick_stream *stream = context_stream(c, pub->device);
            wick_status *st = storage_note(c, s, pub->device, stream);
            if (!st)
                st = type->memory->copy(type->instance, pub->device.index, stream_handle(stream), &grown.pub.memory, 0,
                                        &pub->memory, 0, kept);
            if (st) {
                data_release(&grown);
                return st;
            }
        }
    }
    data_release(s);
    s->owns = grown.owns;
    s->data = grown.data;
    pub->memory = grown.pub.memory;
    return NULL;
}

void tensor_set_storage(tensor_impl *t, storage_impl *s) {
    storage_impl *old = storage_of(&t->pub), *home = t->in_block ? &home_block(t)->storage : NULL;
    if (s == old) return;
    if (s != home) storage_retain(s); /* a tensor holds its home for life */
    t->pub.storage = &s->pub;
    if (old != home)
        storage_release(old, NULL);
    else if (atomic_load(&old->references) == 1)
        data_release(old); /* the block itself stays: the tensor lives in it */
}

/* ---- public readers ---- */
bool wick_is_contiguous_as(const wick_tensor *t, wick_memory_format format) {
    static const int8_t order_2d[] = {1, 3, 2, 0}, order_3d[] = {1, 4, 3, 2, 0};
    const int8_t *order = format == WICK_CHANNELS_LAST ? order_2d : format == WICK_CHANNELS_LAST_3D ? order_3d : NULL;
    if (!order) return wick_is_contiguous(t);
    int ndim = format == WICK_CHANNELS_LAST ? 4 : 5;
    if (t->ndim != ndim) return false;
    wick_dim expected = 1;
    for (int i = 0; i < ndim; ++i) {
        int d = order[i];
        if (t->sizes[d] != 1 && t->strides[d] != expected) return false;
        expected *= t->sizes[d];
    }
    return true;
}

bool wick_shares_storage(const wick_tensor *a, const wick_tensor *b) { return a->storage == b->storage; }
uint64_t wick_version(const wick_tensor *t) { return __atomic_load_n(&t->storage->version, __ATOMIC_RELAXED); }
