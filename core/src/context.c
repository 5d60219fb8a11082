/* Contexts: scopes, the first error, modes, generators. */
#include "../autograd/engine.h"
#include "stream.h"

#include <stdlib.h>

/* ---- life ---- */
static void context_link(context_impl *c) {
    wick_runtime *rt = c->rt;
    pthread_mutex_lock(&rt->lock);
    c->next = rt->contexts;
    c->link = &rt->contexts;
    if (c->next) c->next->link = &c->next;
    rt->contexts = c;
    pthread_mutex_unlock(&rt->lock);
}

static void context_unlink(context_impl *c) {
    pthread_mutex_lock(&c->rt->lock);
    *c->link = c->next;
    if (c->next) c->next->link = c->link;
    pthread_mutex_unlock(&c->rt->lock);
}

wick_status *wick_context_create(wick_runtime *rt, wick_context **out) {
    context_impl *c = rt_calloc(rt, sizeof *c);
    if (!c) return WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate a context");
    c->pub.host = runtime_host_table();
    c->rt = wick_runtime_retain(rt);
    c->modes.grad = 1;
    c->dtype = WICK_F32;
    c->philox.seed = 67280421310721u; /* PyTorch's default seed */
    context_link(c);
    *out = PUB(c);
    return NULL;
}

wick_status *wick_context_create_child(wick_context *parent, wick_context **out) {
    context_impl *p = ctx(parent);
    WICK_TRY(wick_context_create(p->rt, out));
    context_impl *c = ctx(*out);
    c->modes = p->modes;
    c->modes.include_keys &= ~(WICK_KEY(PRE_INTERPOSER) | WICK_KEY(POST_INTERPOSER));
    c->device = p->device;
    c->dtype = p->dtype;
    context_streams_copy(c, p);
    c->philox = (wick_philox){p->philox.seed, p->philox.offset + (++p->children << 40)};
    return NULL;
}

void wick_context_join(wick_context *parent, wick_context *child) {
    wick_fail(parent, wick_status_take(child));
    wick_context_destroy(child);
}

void wick_context_destroy(wick_context *pub) {
    if (!pub) return;
    context_impl *c = ctx(pub);
    wick_runtime *rt = c->rt;
    scopes_end(c, 0);
    scope_arrays_drop(c, 0);
    context_streams_drop(c);
    context_unlink(c);
    while (c->blocks) {
        void *b = c->blocks;
        c->blocks = *(void **)b;
        rt_free(rt, b);
    }
    atomic_fetch_sub_explicit(&rt->live, c->credit, memory_order_relaxed);
    atomic_fetch_sub_explicit(&rt->references, c->credit, memory_order_relaxed); /* ours still holds it above zero */
    wick_status_free(c->error);
    rt_free(rt, c->owned);
    engine_task_free(rt, c->engine_scratch);
    for (int i = 0; i < WORKSPACES; ++i) rt_free(rt, c->workspaces[i].data);
    rt_free(rt, c);
    runtime_drop(rt);
}

wick_runtime *wick_context_runtime(wick_context *c) { return ctx(c)->rt; }

/* ---- scopes ---- */
wick_scope wick_scope_open(wick_context *c) { return scope_open(ctx(c)); }
void wick_scope_close(wick_context *c, wick_scope scope) { scope_close(ctx(c), scope); }

wick_tensor *scope_own_growing(context_impl *c, wick_tensor *t) {
    if (!rt_grow(c->rt, (void **)&c->owned, &c->owned_capacity, c->owned_count, sizeof *c->owned)) {
        tensor_release(impl(t), c);
        FAIL(c, OUT_OF_MEMORY, "cannot grow a scope");
        return NULL;
    }
    return c->owned[c->owned_count++] = t;
}

wick_tensor *scope_take(context_impl *c, wick_scope scope, wick_tensor *t) {
    for (size_t i = c->owned_count; i-- > SCOPE_HEIGHT(scope);) {
        if (c->owned[i] != t) continue;
        for (c->owned_count--; i < c->owned_count; ++i) c->owned[i] = c->owned[i + 1];
        return t;
    }
    return wick_retain(t);
}

wick_tensor *wick_scope_adopt(wick_context *c, wick_tensor *t) { return t ? scope_own(ctx(c), t) : NULL; }

wick_tensor *wick_scope_return(wick_context *pub, wick_scope scope, wick_tensor *t) {
    context_impl *c = ctx(pub);
    wick_retain(t);
    wick_scope_close(pub, scope);
    return t && c->scope_depth ? scope_own(c, t) : t;
}

void wick_drop(wick_context *pub, wick_tensor *t) {
    context_impl *c = ctx(pub);
    for (size_t i = c->owned_count; t && i-- > 0;) {
        if (c->owned[i] != t) continue;
        memmove(&c->owned[i], &c->owned[i + 1], sizeof *c->owned * (--c->owned_count - i));
        tensor_release(impl(t), c);
        return;
    }
}

wick_tensor *wick_keep(wick_context *c, wick_tensor *t) { return wick_retain(t); }

/* Lists of tensors that were handed out; a list dies with the scope that was innermost then. */
struct scope_array {
    struct scope_array *next;
    size_t depth;
    wick_tensor *items[];
};

wick_tensor **scope_array(context_impl *c, size_t count) {
    struct scope_array *a = rt_alloc(c->rt, sizeof *a + sizeof *a->items * (count ? count : 1));
    if (!a) {
        FAIL(c, OUT_OF_MEMORY, "cannot allocate a list of %zu tensors", count);
        return NULL;
    }
    a->depth = c->scope_depth;
    a->next = c->arrays;
    c->arrays = a;
    return a->items;
}

void scope_arrays_drop(context_impl *c, size_t depth) {
    while (c->arrays && c->arrays->depth >= depth) {
        struct scope_array *a = c->arrays;
        c->arrays = a->next;
        rt_free(c->rt, a);
    }
}

/* ---- errors ---- */
bool wick_failed(const wick_context *c) { return ((const context_impl *)c)->error != NULL; }
const wick_status *wick_context_status(const wick_context *c) { return ((const context_impl *)c)->error; }

wick_status *wick_status_take(wick_context *c) {
    wick_status *s = ctx(c)->error;
    ctx(c)->error = NULL;
    return s;
}

bool wick_fail(wick_context *c, wick_status *status) {
    if (!status) return false;
    if (ctx(c)->error)
        wick_status_free(status);
    else
        ctx(c)->error = status;
    return true;
}

/* ---- modes ---- */
wick_modes wick_modes_get(const wick_context *c) { return ((const context_impl *)c)->modes; }

/* The interposers' keys follow their stacks, which are no mode. */
void wick_modes_set(wick_context *pub, wick_modes modes) {
    static const uint64_t keys[] = {WICK_KEY(PRE_INTERPOSER), WICK_KEY(POST_INTERPOSER)};
    context_impl *c = ctx(pub);
    for (int i = 0; i < ARRAY_COUNT(keys); ++i)
        modes.include_keys = c->interposer_count[i] ? modes.include_keys | keys[i] : modes.include_keys & ~keys[i];
    c->modes = modes;
}

wick_modes wick_set_grad_enabled(wick_context *c, bool enabled) {
    wick_modes before = ctx(c)->modes, *m = &ctx(c)->modes;
    if (m->inference) return before; /* nothing records in inference mode */
    m->grad = enabled;
    m->exclude_keys = enabled ? m->exclude_keys & ~WICK_KEY(AUTOGRAD) : m->exclude_keys | WICK_KEY(AUTOGRAD);
    return before;
}

wick_modes wick_no_grad(wick_context *c) { return wick_set_grad_enabled(c, false); }

wick_modes wick_inference_mode(wick_context *c) {
    wick_modes before = wick_no_grad(c);
    ctx(c)->modes.inference = 1;
    ctx(c)->modes.exclude_keys |= WICK_KEY(TRACKING);
    return before;
}

wick_modes wick_set_anomaly(wick_context *c, bool enabled) {
    wick_modes before = ctx(c)->modes;
    ctx(c)->modes.anomaly = enabled;
    return before;
}

bool wick_is_grad_enabled(const wick_context *c) { return ((const context_impl *)c)->modes.grad; }

/* ---- defaults, random numbers ---- */
void wick_set_default_device(wick_context *c, wick_device device) { ctx(c)->device = device; }

wick_device wick_default_device(const wick_context *c) {
    const context_impl *i = (const context_impl *)c;
    return i->device.type ? i->device : wick_runtime_host(i->rt);
}

void wick_set_default_dtype(wick_context *c, wick_dtype dtype) {
    if (wick_dtype_is_floating(dtype))
        ctx(c)->dtype = dtype;
    else
        FAIL(ctx(c), INVALID_ARGUMENT, "the default dtype must be floating, got %s", wick_dtype_name(dtype));
}

wick_dtype wick_default_dtype(const wick_context *c) { return ((const context_impl *)c)->dtype; }
void wick_manual_seed(wick_context *c, uint64_t seed) { ctx(c)->philox = (wick_philox){seed, 0}; }

void wick_rng_get(const wick_context *c, uint64_t *seed, uint64_t *offset) {
    *seed = ((const context_impl *)c)->philox.seed;
    *offset = ((const context_impl *)c)->philox.offset;
}

void wick_rng_set(wick_context *c, uint64_t seed, uint64_t offset) { ctx(c)->philox = (wick_philox){seed, offset}; }
