#include "memory.h"

#include <stdio.h>
#include <stdlib.h>

#include "lock.h"

/* Size classes: eight steps per doubling, so at most an eighth of a block is slack. */
#define MIN_BYTES 512
#define LOG2_STEPS 3
#define STEPS (1 << LOG2_STEPS)
#define CLASSES (STEPS * 48)
/* A cache may hold this much beyond what was ever in use at once; that of an asynchronous device, which waits for all its
 * work when raw memory is freed, keeps everything until memory runs out. */
#define SLACK_BYTES (UINT64_C(64) << 20)

typedef struct bin {
    wick_memory *blocks;
    size_t count, capacity;
    uint64_t used_at; /* by the cache's clock */
} bin;

/* The free blocks of one stream. */
typedef struct stream_pool {
    struct stream_pool *next;
    const wick_stream *stream; /* NULL: the default one. No reference: blocks in use hold it. */
    bin bins[CLASSES];
} stream_pool;

/* A freed block that other streams may still be using. */
typedef struct pending_block {
    struct pending_block *next, **link; /* in the cache's list */
    bool busy;                          /* somebody is asking the plugin about it */
    wick_memory memory;
    const wick_stream
        *stream; /* to which it returns. No reference, which would keep the runtime: memory_forget_stream */
    int count;   /* of events that have not passed */
    struct mark {
        wick_device device;
        void *event;
    } marks[];
} pending_block;

struct memory_cache {
    memory_cache *next; /* memory_cache_link */
    wick_runtime *rt;
    const device_type *type;
    int index;
    short_lock lock;
    uint64_t used, peak, cached;
    uint64_t clock; /* counts blocks that are handed out and that come back */
    pending_block *pending;
    stream_pool pool; /* of the default stream */
};

static int class_of(uint64_t bytes, uint64_t *rounded) {
    if (bytes <= MIN_BYTES) {
        *rounded = MIN_BYTES;
        return 0;
    }
    int log2 = 63 - __builtin_clzll(bytes - 1); /* bytes lies in (2^log2, 2^(log2+1)] */
    int log2_step = log2 - LOG2_STEPS;
    uint64_t base = UINT64_C(1) << log2, step = UINT64_C(1) << log2_step;
    uint64_t k = (bytes - base + step - 1) >> log2_step; /* 1..STEPS */
    *rounded = base + (k << log2_step);
    return (log2 - 9) * STEPS + (int)k;
}

memory_cache *memory_cache_create(wick_runtime *rt, const device_type *type, int index) {
    memory_cache *cache = rt_calloc(rt, sizeof *cache);
    if (!cache) return NULL;
    cache->rt = rt;
    cache->type = type;
    cache->index = index;
    return cache;
}

bool memory_is_pinned(const memory_cache *cache) { return cache->index == MEMORY_PINNED; }

static void pool_end(memory_cache *cache, stream_pool *pool) {
    for (int i = 0; i < CLASSES; ++i) rt_free(cache->rt, pool->bins[i].blocks);
    if (pool != &cache->pool) rt_free(cache->rt, pool);
}

void memory_cache_destroy(memory_cache *cache) {
    if (!cache) return;
    memory_trim(cache);
    for (stream_pool *p = &cache->pool, *next; p; p = next) {
        next = p->next;
        pool_end(cache, p);
    }
    rt_free(cache->rt, cache);
}

memory_cache *memory_cache_link(memory_cache *cache, memory_cache *rest) {
    cache->next = rest;
    return cache;
}

memory_cache *memory_cache_next(const memory_cache *cache) { return cache->next; }

/* ---- raw memory ---- */
static wick_status *raw_allocate(memory_cache *cache, uint64_t bytes, wick_memory *out) {
    const wick_memory_interface *m = cache->type->memory;
    if (memory_is_pinned(cache)) return m->allocate_pinned(cache->type->instance, bytes, out);
    return m->allocate(cache->type->instance, cache->index, bytes, out);
}

static void raw_free(memory_cache *cache, wick_memory *memory) {
    const wick_memory_interface *m = cache->type->memory;
    if (memory_is_pinned(cache))
        m->free_pinned(cache->type->instance, memory);
    else
        m->free(cache->type->instance, cache->index, memory);
}

/* ---- pools; the lock is held ---- */
static stream_pool *pool_find(memory_cache *cache, const wick_stream *stream) {
    stream_pool *p = &cache->pool;
    while (p && p->stream != stream) p = p->next;
    return p;
}

static stream_pool *pool_of(memory_cache *cache, const wick_stream *stream) {
    stream_pool *p = pool_find(cache, stream);
    if (p || !(p = rt_calloc(cache->rt, sizeof *p))) return p;
    p->stream = stream;
    p->next = cache->pool.next;
    return cache->pool.next = p;
}

static bool take(memory_cache *cache, bin *b, wick_memory *out) {
    if (!b->count) return false;
    *out = b->blocks[--b->count];
    cache->cached -= out->bytes;
    return true;
}

/* False: the block does not fit in. */
static bool put(memory_cache *cache, stream_pool *pool, const wick_memory *memory) {
    uint64_t rounded;
    bin *b = pool ? &pool->bins[class_of(memory->bytes, &rounded)] : NULL;
    if (!b || !rt_grow(cache->rt, (void **)&b->blocks, &b->capacity, b->count, sizeof *b->blocks)) return false;
    b->blocks[b->count++] = *memory;
    cache->cached += memory->bytes;
    b->used_at = ++cache->clock;
    return true;
}

static void account(memory_cache *cache, uint64_t bytes) {
    cache->used += bytes;
    if (cache->used > cache->peak) cache->peak = cache->used;
}

/* ---- blocks that wait for other streams ---- */
/* A device that cannot say counts as done: its work is lost. */
static bool mark_passed(memory_cache *cache, const struct mark *m, bool wait) {
    const device_type *type = cache->type;
    bool done = true;
    wick_status *s = wait ? type->events->synchronize(type->instance, m->device.index, m->event)
                          : type->events->query(type->instance, m->device.index, m->event, &done);
    bool passed = s || done;
    wick_status_free(s);
    if (passed) type->events->destroy(type->instance, m->device.index, m->event);
    return passed;
}

static bool block_passed(memory_cache *cache, pending_block *p, bool wait) {
    while (p->count && mark_passed(cache, &p->marks[p->count - 1], wait)) p->count--;
    return !p->count;
}

static bool has_room(const memory_cache *cache, const wick_memory *memory) {
    return cache->type->streams || cache->used + cache->cached + memory->bytes <= cache->peak + SLACK_BYTES;
}

/* A block of the size that has not been wanted for longest. */
static bool take_oldest(memory_cache *cache, wick_memory *out) {
    bin *oldest = NULL;
    for (stream_pool *p = &cache->pool; p; p = p->next)
        for (int i = 0; i < CLASSES; ++i)
            if (p->bins[i].count && (!oldest || p->bins[i].used_at < oldest->used_at)) oldest = &p->bins[i];
    return oldest && take(cache, oldest, out);
}

/* A block that was in use makes room for itself: what lies unused must not keep it out of the cache for ever. */
static void block_return(memory_cache *cache, wick_stream *stream, wick_memory *memory) {
    wick_memory old;
    lock_take(&cache->lock);
    cache->used -= memory->bytes;
    while (!has_room(cache, memory) && take_oldest(cache, &old)) {
        lock_give(&cache->lock);
        raw_free(cache, &old);
        lock_take(&cache->lock);
    }
    bool keep = has_room(cache, memory) && put(cache, pool_of(cache, stream), memory);
    lock_give(&cache->lock);
    if (!keep) raw_free(cache, memory);
    wick_stream_release(stream);
}

/* The first from `p` on that nobody is asking about. The lock is held. */
static pending_block *pending_claim(pending_block *p) {
    while (p && p->busy) p = p->next;
    if (p) p->busy = true;
    return p;
}

static void pending_link(memory_cache *cache, pending_block *p) {
    p->next = cache->pending;
    p->link = &cache->pending;
    if (p->next) p->next->link = &p->next;
    __atomic_store_n(&cache->pending, p, __ATOMIC_RELAXED); /* read without the lock */
}

static void pending_unlink(pending_block *p) {
    __atomic_store_n(p->link, p->next, __ATOMIC_RELAXED);
    if (p->next) p->next->link = p->link;
}

/* Puts a block back that was asked about. Returns the next one, claimed. */
static pending_block *pending_settle(memory_cache *cache, pending_block *p, bool passed) {
    lock_take(&cache->lock);
    pending_block *next = pending_claim(p->next);
    p->busy = false;
    if (passed) pending_unlink(p);
    bool keep = passed && has_room(cache, &p->memory) && put(cache, pool_of(cache, p->stream), &p->memory);
    lock_give(&cache->lock);
    if (passed && !keep) raw_free(cache, &p->memory);
    if (passed) rt_free(cache->rt, p);
    return next;
}

/* The plugin is asked without the lock: others may allocate meanwhile. */
static void pending_collect(memory_cache *cache, bool wait) {
    lock_take(&cache->lock);
    pending_block *p = pending_claim(cache->pending);
    lock_give(&cache->lock);
    while (p) p = pending_settle(cache, p, block_passed(cache, p, wait));
}

static void uses_end(memory_cache *cache, stream_use *uses) {
    for (stream_use *next; uses; uses = next) {
        next = uses->next;
        wick_stream_release(uses->stream);
        rt_free(cache->rt, uses);
    }
}

static wick_status *mark_use(memory_cache *cache, pending_block *p, const stream_use *use) {
    const wick_event_interface *e = cache->type->events;
    struct mark *m = &p->marks[p->count];
    m->device = use->device;
    WICK_TRY(e->create(cache->type->instance, use->device.index, 0, &m->event));
    wick_status *s = e->record(cache->type->instance, use->device.index, m->event, stream_handle(use->stream));
    if (s)
        e->destroy(cache->type->instance, use->device.index, m->event);
    else
        p->count++;
    return s;
}

/* Without events, or memory for the note, the host waits at once. */
static void free_after_uses(memory_cache *cache, wick_stream *stream, stream_use *uses, wick_memory *memory) {
    size_t n = 0;
    for (const stream_use *u = uses; u; u = u->next) ++n;
    pending_block *p = cache->type->events ? rt_calloc(cache->rt, sizeof *p + n * sizeof *p->marks) : NULL;
    for (const stream_use *u = uses; u; u = u->next) {
        wick_status *s = p ? mark_use(cache, p, u) : NULL;
        if (!p || s) wick_status_free(stream_wait_host(cache->type, u->device.index, u->stream));
        wick_status_free(s);
    }
    uses_end(cache, uses);
    if (!p) {
        block_return(cache, stream, memory);
        return;
    }
    p->memory = *memory;
    p->stream = stream;
    lock_take(&cache->lock);
    cache->used -= memory->bytes;
    pending_link(cache, p);
    lock_give(&cache->lock);
    wick_stream_release(stream);
}

wick_status *memory_note_use(memory_cache *cache, stream_use **uses, wick_device device, wick_stream *stream) {
    lock_take(&cache->lock);
    stream_use *u = *uses;
    while (u && !(u->stream == stream && wick_device_equal(u->device, device))) u = u->next;
    bool known = u != NULL;
    if (!known && (u = rt_alloc(cache->rt, sizeof *u))) {
        *u = (stream_use){*uses, device, wick_stream_retain(stream)};
        *uses = u;
    }
    lock_give(&cache->lock);
    return u ? NULL : WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot note that a stream uses a tensor");
}

/* ---- allocation ---- */
/* ", FREE of TOTAL free", as the device says; "" if it does not. */
static void describe_free(const memory_cache *cache, char *out, size_t bytes) {
    const device_type *type = cache->type;
    wick_device_info info = {.struct_size = sizeof info};
    *out = 0;
    if (memory_is_pinned(cache)) return;
    wick_status *s = type->backend->device_query(type->instance, cache->index, &info);
    if (!s && info.memory_bytes)
        snprintf(out, bytes, ", %llu of %llu free", (unsigned long long)info.memory_free_bytes,
                 (unsigned long long)info.memory_bytes);
    wick_status_free(s);
}

static wick_status *out_of_memory(const memory_cache *cache, wick_status *s, uint64_t bytes) {
    char left[64];
    describe_free(cache, left, sizeof left);
    return wick_status_wrap(
        s, __FILE__, __LINE__,
        "%s:%d is out of %smemory: wanted %llu bytes, %llu in use, highest so far %llu, %llu cached%s",
        cache->type->name, memory_is_pinned(cache) ? 0 : cache->index, memory_is_pinned(cache) ? "pinned " : "",
        (unsigned long long)bytes, (unsigned long long)cache->used, (unsigned long long)cache->peak,
        (unsigned long long)cache->cached, left);
}

bool memory_has(memory_cache *cache, wick_stream *stream, uint64_t bytes) {
    uint64_t rounded;
    lock_take(&cache->lock);
    const stream_pool *pool = pool_find(cache, stream);
    bool found = pool && pool->bins[class_of(bytes, &rounded)].count;
    lock_give(&cache->lock);
    return found;
}

wick_status *memory_allocate(memory_cache *cache, wick_stream *stream, uint64_t bytes, wick_memory *out) {
    uint64_t rounded;
    if (bytes > (UINT64_C(1) << 56))
        return WICK_ERROR(WICK_OUT_OF_MEMORY, "%s:%d cannot allocate %llu bytes", cache->type->name, cache->index,
                          (unsigned long long)bytes);
    int k = class_of(bytes, &rounded);
    if (__atomic_load_n(&cache->pending, __ATOMIC_RELAXED)) pending_collect(cache, false);
    lock_take(&cache->lock);
    stream_pool *pool = pool_find(cache, stream);
    bool found = pool && take(cache, &pool->bins[k], out);
    if (found) pool->bins[k].used_at = ++cache->clock;
    if (found) account(cache, out->bytes);
    lock_give(&cache->lock);
    if (found) return NULL;

    wick_status *s = raw_allocate(cache, rounded, out);
    if (wick_status_code(s) == WICK_OUT_OF_MEMORY) {
        wick_status_free(s);
        memory_trim(cache);
        if (cache->index >= 0) memory_trim(cache->type->caches[cache->index]); /* of a graph: the device's, too */
        s = raw_allocate(cache, rounded, out);
    }
    if (wick_status_code(s) == WICK_OUT_OF_MEMORY) return out_of_memory(cache, s, bytes);
    if (s) return s;
    lock_take(&cache->lock);
    out->bytes = rounded;
    account(cache, rounded);
    lock_give(&cache->lock);
    return NULL;
}

void memory_free(memory_cache *cache, wick_stream *stream, stream_use *uses, wick_memory *memory) {
    if (WICK_UNLIKELY(uses != NULL))
        free_after_uses(cache, stream, uses, memory);
    else
        block_return(cache, stream, memory);
}

/* One free block of any pool. */
static bool take_any(memory_cache *cache, wick_memory *out) {
    bool found = false;
    lock_take(&cache->lock);
    for (stream_pool *p = &cache->pool; p && !found; p = p->next)
        for (int i = 0; i < CLASSES && !found; ++i) found = take(cache, &p->bins[i], out);
    lock_give(&cache->lock);
    return found;
}

void memory_trim(memory_cache *cache) {
    wick_memory block;
    pending_collect(cache, true);
    while (take_any(cache, &block)) raw_free(cache, &block);
}

void memory_forget_stream(memory_cache *cache, wick_stream *stream) {
    lock_take(&cache->lock);
    stream_pool *gone = NULL;
    for (stream_pool **p = &cache->pool.next; *p; p = &(*p)->next) {
        if ((*p)->stream != stream) continue;
        gone = *p;
        *p = gone->next;
        break;
    }
    for (pending_block *p = cache->pending; p; p = p->next)
        if (p->stream == stream) p->stream = NULL;
    lock_give(&cache->lock);
    if (!gone) return;
    for (int i = 0; i < CLASSES; ++i) {
        bin *b = &gone->bins[i];
        for (size_t n = 0; n < b->count; ++n) {
            lock_take(&cache->lock);
            cache->cached -= b->blocks[n].bytes;
            bool kept = put(cache, &cache->pool, &b->blocks[n]);
            lock_give(&cache->lock);
            if (!kept) raw_free(cache, &b->blocks[n]);
        }
    }
    pool_end(cache, gone);
}

static int by_address(const void *a, const void *b) {
    const wick_memory *x = a, *y = b;
    uintptr_t p = (uintptr_t)x->handle, q = (uintptr_t)y->handle;
    return p < q ? 1 : p > q ? -1 : x->offset_bytes < y->offset_bytes ? 1 : x->offset_bytes > y->offset_bytes ? -1 : 0;
}

void memory_sort(memory_cache *cache) {
    pending_collect(cache, true);
    lock_take(&cache->lock);
    for (stream_pool *p = &cache->pool; p; p = p->next)
        for (int i = 0; i < CLASSES; ++i)
            if (p->bins[i].count > 1) qsort(p->bins[i].blocks, p->bins[i].count, sizeof(wick_memory), by_address);
    lock_give(&cache->lock);
}

/* ---- statistics ---- */
static memory_cache *cache_of(wick_runtime *rt, wick_device device) {
    device_type *type = rt_device(rt, device.type);
    return type && device.index >= 0 && device.index < type->count ? type->caches[device.index] : NULL;
}

void wick_memory_stats(wick_runtime *rt, wick_device device, uint64_t *used, uint64_t *peak, uint64_t *cached) {
    memory_cache *cache = cache_of(rt, device);
    uint64_t figures[3] = {0, 0, 0};
    if (cache) {
        lock_take(&cache->lock);
        figures[0] = cache->used, figures[1] = cache->peak, figures[2] = cache->cached;
        lock_give(&cache->lock);
    }
    if (used) *used = figures[0];
    if (peak) *peak = figures[1];
    if (cached) *cached = figures[2];
}

void wick_memory_reset_peak(wick_runtime *rt, wick_device device) {
    memory_cache *cache = cache_of(rt, device);
    if (!cache) return;
    lock_take(&cache->lock);
    cache->peak = cache->used;
    lock_give(&cache->lock);
}

void wick_memory_trim(wick_runtime *rt, wick_device device) {
    memory_cache *cache = cache_of(rt, device);
    if (cache) memory_trim(cache);
}
