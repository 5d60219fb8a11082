/* The core's own view of its objects: runtime, context, tensor, storage. Everything here is private to libwick. */
#ifndef WICK_CORE_RUNTIME_H
#define WICK_CORE_RUNTIME_H

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <wick/autograd.h>
#include <wick/call.h>
#include <wick/context.h>
#include <wick/sdk/plugin.h>
#include <wick/stream.h>

#include "op.h"

#define ARRAY_COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
/* The steps of every call: each is small, and together they must cost nanoseconds. */
#define HOT static inline __attribute__((always_inline))

typedef struct op_table op_table;         /* dispatch.h */
typedef struct memory_cache memory_cache; /* memory.h */
typedef struct autograd_extra autograd_extra;
typedef struct context_impl context_impl;
typedef struct engine_task engine_task;
typedef struct op_index op_index;               /* dispatch.h */
typedef struct text text;                       /* text.h */
typedef struct registered_name registered_name; /* registrar.h */

/* ---- devices ---- */
typedef enum fallback_policy { FALLBACK_ERROR, FALLBACK_WARN, FALLBACK_CPU } fallback_policy;

/* A kernel as dispatch sees it. One slot per (device type, operator row). */
typedef struct kernel_slot {
    wick_kernel_fn fn;
    const void *data;
    void *instance;
    uint32_t flags;
    uint32_t dtypes;
    uint32_t dense_dtypes; /* of those, what the short way of elementwise calls may take (execute_dense) */
    const struct kernel_adapter *adapter; /* NULL: the kernel's schema is the host's */
} kernel_slot;

/* Immutable once published; a plugin that adds kernels makes a new one. */
typedef struct kernel_table {
    struct kernel_table *older;
    kernel_slot slots[]; /* indexed by row */
} kernel_table;

/* One loaded device type. Immutable after publication but for its table of kernels. */
typedef struct device_type {
    const wick_backend *backend;
    void *instance;
    const wick_memory_interface *memory;
    const wick_stream_interface *streams; /* NULL: synchronous */
    const wick_event_interface *events;
    const wick_threads_interface *threads; /* of the host role */
    memory_cache **caches;                 /* per device index */
    memory_cache *pinned;                  /* NULL: none */
    memory_cache *kept;                    /* of step graphs that are gone; linked; under the runtime's lock */
    int32_t count;
    fallback_policy fallback;
    bool host, addressable;
    _Atomic bool graphs; /* the INI wants steps as graphs */
    char name[32];
    _Atomic(kernel_table *) kernels;
    struct kernel_adapter *adapters; /* of all its tables */
    _Atomic uint64_t *fallbacks;     /* indexed by row */
} device_type;

/* A plugin's handler of a functionality key. */
typedef struct key_handler {
    wick_key_handler_fn fn;
    void *instance;
} key_handler;

typedef struct shutdown_entry {
    void (*destroy)(void *instance);
    void *instance;
} shutdown_entry;

struct wick_runtime {
    _Atomic int64_t references; /* handles, contexts, tensors' blocks and nodes */
    wick_allocator allocator;
    wick_log_fn log;
    void *log_user;
    op_table *ops;
    _Atomic(device_type *) devices[WICK_DEVICE_TYPE_LIMIT];
    _Atomic int16_t host_type; /* 0: none */
    _Atomic int64_t live;      /* tensors and storages, less the credits that contexts hold */
    pthread_mutex_t lock;      /* the lists below */
    context_impl *contexts;
    wick_backend_info *backends[WICK_DEVICE_TYPE_LIMIT];
    int backend_count;
    shutdown_entry shutdown[WICK_DEVICE_TYPE_LIMIT];
    int shutdown_count;
    pthread_mutex_t accumulate_lock;     /* leaf gradients */
    _Atomic(key_handler *) handlers[64]; /* what plugins registered, by rank */
    _Atomic int64_t hook_ids;            /* the newest */
    _Atomic(registered_name *) names;    /* features, dtypes, layouts of plugins */
};

static inline void *rt_alloc(wick_runtime *rt, size_t bytes) {
    return rt->allocator.allocate(rt->allocator.user, bytes);
}
static inline void *rt_realloc(wick_runtime *rt, void *p, size_t bytes) {
    return rt->allocator.reallocate(rt->allocator.user, p, bytes);
}
static inline void rt_free(wick_runtime *rt, void *p) {
    if (p) rt->allocator.free(rt->allocator.user, p);
}
void *rt_calloc(wick_runtime *rt, size_t bytes);
char *rt_strdup(wick_runtime *rt, const char *text);
/* Grows *items (of `item` bytes each) so that index `count` fits. False when memory is exhausted; nothing changes. */
bool rt_grow(wick_runtime *rt, void **items, size_t *capacity, size_t count, size_t item);
void runtime_drop(wick_runtime *rt); /* the last reference ends it */
HOT const kernel_slot *device_kernel(const device_type *type, int row) {
    return &atomic_load_explicit(&type->kernels, memory_order_acquire)->slots[row];
}
static inline device_type *rt_device(wick_runtime *rt, int type) {
    return (unsigned)type < WICK_DEVICE_TYPE_LIMIT ? atomic_load_explicit(&rt->devices[type], memory_order_acquire)
                                                   : NULL;
}
void rt_log(wick_runtime *rt, wick_log_level level, const char *format, ...) WICK_PRINTF(3, 4);

/* The seam to the loader (loader.c). */
wick_status *runtime_publish_backend(wick_runtime *rt, const wick_backend *backend, void *instance, const char *name,
                                     int fallback, const op_index *ops, text *notes, int *out_device_type);
/* Names that plugins registered (registrar.h); the entry stays the plugin's. */
/* A cache that lives as long as the device type. */
void runtime_keep_cache(wick_runtime *rt, int device_type, memory_cache *cache);
void runtime_publish_name(wick_runtime *rt, registered_name *entry);
const registered_name *runtime_names(wick_runtime *rt);
const registered_name *runtime_name_find(wick_runtime *rt, uint32_t kind, const char *name, uint32_t version);
/* A rank that another plugin serves is refused. Withdrawn only while nobody can have used it. */
wick_status *runtime_publish_key(wick_runtime *rt, int rank, wick_key_handler_fn fn, void *instance);
void runtime_withdraw_key(wick_runtime *rt, int rank);
const wick_host *runtime_host_table(void);
const wick_allocator *runtime_allocator(wick_runtime *rt);
void runtime_record_backend(wick_runtime *rt, const wick_backend_info *info);
void runtime_on_shutdown(wick_runtime *rt, void (*destroy)(void *instance), void *instance);

/* ---- storage and tensor ---- */
typedef struct storage_impl {
    wick_storage pub;
    _Atomic int32_t references;
    uint8_t owns;  /* how the data ends: storage_data */
    uint8_t small; /* lives in a block that returns to the context's list */
    wick_runtime *rt;
    union {
        struct { /* STORAGE_WRAPPED */
            void (*deleter)(void *user);
            void *user;
        } wrapped;
        struct { /* STORAGE_CACHED */
            memory_cache *cache;
            wick_stream *stream;     /* for which it was allocated; owned; NULL: the default one */
            struct stream_use *uses; /* other streams that use it; under the cache's lock */
        } cached;
    } data;
} storage_impl;

enum storage_data { STORAGE_NONE, STORAGE_INLINE, STORAGE_CACHED, STORAGE_WRAPPED };

#define TENSOR_INLINE_DIMS 5

typedef struct tensor_impl {
    wick_tensor pub;
    _Atomic int32_t references;
    uint8_t requires_grad; /* of a leaf */
    uint8_t in_block;      /* lives in its storage's block */
    uint8_t retains_grad;
    uint8_t view_mode; /* view_mode */
    wick_runtime *rt;
    wick_node *grad_fn; /* of a non-leaf; owned */
    uint32_t output_nr;
    uint32_t dims_capacity;   /* 0: inline */
    uint64_t attr_version;    /* of a view: the version for which grad_fn is right */
    autograd_extra *extra;    /* gradient, hooks, accumulator: rarely there; read through extra_of */
    struct tensor_impl *base; /* of a view; owned */
    wick_dim dims[2 * TENSOR_INLINE_DIMS];
} tensor_impl;

/* How a view came to be: decides what an in-place write may do to its history. */
enum view_mode { VIEW_DEFAULT, VIEW_NO_GRAD, VIEW_INFERENCE, VIEW_CUSTOM };

static inline tensor_impl *impl(const wick_tensor *t) { return (tensor_impl *)t; }
static inline storage_impl *storage_of(const wick_tensor *t) { return (storage_impl *)t->storage; }

/* A new uninitialized tensor with a storage of its own; strides NULL: contiguous. One reference, no scope. */
wick_status *tensor_new(context_impl *c, wick_dtype dtype, int ndim, const wick_dim *sizes, const wick_dim *strides,
                        wick_device device, wick_tensor **out);
/* A new row-major tensor whose memory comes from `cache`: pinned memory. */
wick_status *tensor_new_cached(context_impl *c, wick_dtype dtype, int ndim, const wick_dim *sizes, wick_device device,
                               memory_cache *cache, wick_tensor **out);
/* A new row-major tensor of the same sizes and device as `like`, which is row-major. */
wick_status *tensor_new_like(context_impl *c, wick_dtype dtype, const wick_tensor *like, wick_tensor **out);
/* A new tensor that shares `storage`. One reference, no scope. */
wick_status *tensor_new_view(context_impl *c, wick_storage *storage, wick_dtype dtype, int ndim, const wick_dim *sizes,
                             const wick_dim *strides, int64_t offset, uint16_t flags, wick_tensor **out);
/* Replaces sizes, strides and offset in place (strides NULL: contiguous) and refreshes numel and flags. */
wick_status *tensor_set_geometry(tensor_impl *t, int ndim, const wick_dim *sizes, const wick_dim *strides,
                                 int64_t offset);
/* Makes the storage at least `bytes` long, keeping its contents. */
wick_status *storage_resize(context_impl *c, wick_storage *s, uint64_t bytes);
/* Replaces t's storage by another one of the same content rules (set_). */
void tensor_set_storage(tensor_impl *t, storage_impl *s);
/* Gives t a new shape, growing its storage if it must (resize_). */
wick_status *tensor_resize(context_impl *c, wick_tensor *t, int ndim, const wick_dim *sizes);
/* dst <- src, elementwise after broadcasting, across dtypes, layouts and devices; no rules, no version bump. With
 * `non_blocking` a copy between a device and pinned memory may return before it is done. */
wick_status *tensor_copy_data(context_impl *c, wick_tensor *dst, const wick_tensor *src, bool non_blocking);
/* Makes `view` a tracked view of `self` (of its base, if self is a view). */
void view_track(context_impl *c, tensor_impl *view, tensor_impl *self);
/* Values of a lazily conjugated or negated tensor, scope-owned; others pass through. NULL on failure. */
wick_tensor *tensor_resolve(context_impl *c, wick_tensor *t);
HOT void reference_add(_Atomic int32_t *count) { atomic_fetch_add_explicit(count, 1, memory_order_relaxed); }
/* Drops a reference; true: it was the last. A reader that sees a count of one is the only owner: no one else raises it. */
HOT bool reference_drop(_Atomic int32_t *count) {
    return atomic_load_explicit(count, memory_order_acquire) == 1 ||
           atomic_fetch_sub_explicit(count, 1, memory_order_acq_rel) == 1;
}
void storage_retain(storage_impl *s);
void storage_release(storage_impl *s, context_impl *c);
/* Drops a reference; `c` (may be NULL) lets the freed block be reused without locks. */
void tensor_release(tensor_impl *t, context_impl *c);
wick_status *storage_new_wrapped(wick_runtime *rt, wick_device device, void *data, uint64_t bytes,
                                 void (*deleter)(void *), void *user, storage_impl **out);
/* Checked sizes -> numel and contiguous strides (strides may be NULL). */
wick_status *geometry_check(int ndim, const wick_dim *sizes, int64_t *out_numel, wick_dim *strides);
bool geometry_contiguous(int ndim, const wick_dim *sizes, const wick_dim *strides);
/* Elements from the view's first to one past its last: 0 if there are none. WICK_DIM_INVALID on overflow. */
int64_t geometry_span(int ndim, const wick_dim *sizes, const wick_dim *strides);
/* Writers exclude each other, as wick/tensor.h demands: only readers may look at the same time. */
static inline void version_bump(wick_tensor *t) {
    uint64_t *version = &t->storage->version;
    if (!(t->flags & WICK_TENSOR_INFERENCE))
        __atomic_store_n(version, __atomic_load_n(version, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

/* ---- context ---- */
typedef struct interposer {
    wick_interposer_fn fn;
    void *user;
} interposer;

#define CONTEXT_STREAMS 32 /* devices whose current stream is not the default one */

typedef struct workspace {
    void *data;
    size_t bytes;
} workspace;
#define WORKSPACES 8
#define SCRATCHES 16

#define INTERPOSER_LIMIT 32
#define SAVED_HOOKS_LIMIT 32

struct context_impl {
    wick_context pub;
    wick_runtime *rt;
    wick_status *error;
    wick_modes modes;
    wick_tensor **owned; /* what the scopes own, innermost last */
    size_t owned_count, owned_capacity;
    size_t scope_depth;
    int64_t credit; /* live objects taken from the runtime in advance */
    void *blocks;   /* freed blocks of BLOCK_BYTES, ready for reuse */
    int32_t block_count;
    int32_t backward_depth;
    wick_device device;
    wick_dtype dtype;
    int32_t stream_count;
    wick_stream *streams[CONTEXT_STREAMS]; /* current ones, where not the default; owned */
    struct wick_step_graph *step;          /* the open one */
    const wick_op *composing;              /* whose decomposition begins */
    const wick_op *last_launch;            /* on an asynchronous device */
    wick_philox philox;
    uint64_t children; /* contexts forked from this one: each has its part of the random numbers */
    interposer interposers[2][INTERPOSER_LIMIT];
    int interposer_count[2];
    int interposer_cursor[2]; /* next one to run, while a call passes through the stack */
    uint64_t redispatch_keys; /* what wick_redispatch may still visit, inside a handler */
    wick_saved_hooks saved_hooks[SAVED_HOOKS_LIMIT];
    int saved_hooks_count;
    workspace workspaces[WORKSPACES]; /* kernels' scratch memory, kept between calls */
    int workspaces_used;              /* by the kernels that run now */
    wick_tensor *scratch[SCRATCHES];  /* device_workspace of the kernels that run now; owned */
    int scratch_count;
    uint64_t sequence;           /* of the newest graph node */
    engine_task *task;           /* the backward pass that runs */
    engine_task *engine_scratch; /* a finished one, for its arrays */
    wick_node *running;          /* the node that runs */
    struct scope_array *arrays;  /* tensor lists handed to the caller */
    context_impl *next, **link;  /* in rt->contexts */
};

static inline context_impl *ctx(wick_context *c) { return (context_impl *)c; }
#define PUB(c) (&(c)->pub)

/* Blocks of up to BLOCK_BYTES come from and return to the context's own list (`c` may be NULL when giving). */
#define BLOCK_BYTES 448
#define BLOCKS_KEPT 512
HOT void *block_take(context_impl *c, size_t bytes) {
    void *b = c->blocks;
    if (WICK_UNLIKELY(bytes > BLOCK_BYTES || !b)) return rt_alloc(c->rt, bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES);
    c->blocks = *(void **)b;
    c->block_count--;
    return b;
}
HOT void block_give(wick_runtime *rt, context_impl *c, void *b, bool small) {
    if (WICK_UNLIKELY(!c || !small || c->block_count >= BLOCKS_KEPT)) {
        rt_free(rt, b);
        return;
    }
    *(void **)b = c->blocks;
    c->blocks = b;
    c->block_count++;
}
/* Counts live objects; each keeps its runtime alive. No atomic operation where there is a context. */
void credit_grow(context_impl *c);
void object_forget(wick_runtime *rt);
HOT void object_born(context_impl *c) {
    if (WICK_UNLIKELY(c->credit <= 0)) credit_grow(c);
    c->credit--;
}
HOT void object_died(wick_runtime *rt, context_impl *c) {
    if (c)
        c->credit++;
    else
        object_forget(rt);
}

/* Gives the innermost scope the reference; on failure drops it and latches. */
wick_tensor *scope_own_growing(context_impl *c, wick_tensor *t);
HOT wick_tensor *scope_own(context_impl *c, wick_tensor *t) {
    if (WICK_UNLIKELY(c->owned_count == c->owned_capacity)) return scope_own_growing(c, t);
    return c->owned[c->owned_count++] = t;
}
/* Scopes are one stack of owned references; a scope is its depth and the stack's height when it was opened. */
#define SCOPE_HEIGHT_BITS 48
#define SCOPE_HEIGHT(scope) ((size_t)((scope) & ((UINT64_C(1) << SCOPE_HEIGHT_BITS) - 1)))
#define SCOPE_DEPTH(scope) ((size_t)((scope) >> SCOPE_HEIGHT_BITS))
/* Frees the arrays of scopes at `depth` and deeper. */
void scope_arrays_drop(context_impl *c, size_t depth);
HOT void scopes_end(context_impl *c, size_t height) {
    while (c->owned_count > height) tensor_release(impl(c->owned[--c->owned_count]), c);
}
HOT wick_scope scope_open(context_impl *c) {
    return (wick_scope)(++c->scope_depth << SCOPE_HEIGHT_BITS) | c->owned_count;
}
HOT void scope_close(context_impl *c, wick_scope scope) {
    size_t depth = SCOPE_DEPTH(scope);
    scopes_end(c, SCOPE_HEIGHT(scope));
    if (WICK_UNLIKELY(c->arrays != NULL)) scope_arrays_drop(c, depth);
    c->scope_depth = depth ? depth - 1 : 0;
}
/* A reference to t for the caller: the innermost scope's own if it has one, else a new one. */
wick_tensor *scope_take(context_impl *c, wick_scope scope, wick_tensor *t);
/* An array of tensor pointers that lives as long as the innermost scope. NULL when memory is exhausted. */
wick_tensor **scope_array(context_impl *c, size_t count);
/* A copy of a complex number that lives as long as the innermost scope. NULL when memory is exhausted (latched). */
static inline const double *scope_number(context_impl *c, const double parts[2]) {
    void *kept = scope_array(c, 2 * sizeof(double) / sizeof(wick_tensor *));
    return kept ? memcpy(kept, parts, 2 * sizeof(double)) : NULL;
}
static inline bool fail(context_impl *c, wick_status *s) { return wick_fail(PUB(c), s); }
#define FAIL(c, code, ...) wick_fail(PUB(c), WICK_ERROR(WICK_##code, __VA_ARGS__))

/* "[2, 3]" into buffer; returns buffer. */
char *format_sizes(int ndim, const wick_dim *sizes, char *buffer, size_t bytes);
#define SIZES_TEXT 256

#endif
