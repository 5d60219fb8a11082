#include "memory.h"

/* Size classes: eight steps per doubling, so at most an eighth of a block is slack. */
#define MIN_BYTES 512
#define STEPS 8
#define CLASSES (STEPS * 48)
/* The cache may hold this much beyond what was ever in use at once. */
#define SLACK_BYTES (UINT64_C(64) << 20)

typedef struct bin {
    wick_memory *blocks;
    size_t count, capacity;
} bin;

struct memory_cache {
    wick_runtime *rt;
    const device_type *type;
    int index;
    pthread_mutex_t lock;
    uint64_t used, peak, cached;
    bin bins[CLASSES];
};

static int class_of(uint64_t bytes, uint64_t *rounded) {
    if (bytes <= MIN_BYTES) {
        *rounded = MIN_BYTES;
        return 0;
    }
    int log2 = 63 - __builtin_clzll(bytes - 1); /* bytes lies in (2^log2, 2^(log2+1)] */
    uint64_t base = UINT64_C(1) << log2, step = base / STEPS;
    uint64_t k = (bytes - base + step - 1) / step; /* 1..STEPS */
    *rounded = base + k * step;
    return (log2 - 9) * STEPS + (int)k;
}

memory_cache *memory_cache_create(wick_runtime *rt, const device_type *type, int index) {
    memory_cache *cache = rt_calloc(rt, sizeof *cache);
    if (!cache) return NULL;
    cache->rt = rt;
    cache->type = type;
    cache->index = index;
    pthread_mutex_init(&cache->lock, NULL);
    return cache;
}

void memory_cache_destroy(memory_cache *cache) {
    if (!cache) return;
    memory_trim(cache);
    for (int i = 0; i < CLASSES; ++i) rt_free(cache->rt, cache->bins[i].blocks);
    pthread_mutex_destroy(&cache->lock);
    rt_free(cache->rt, cache);
}

static void raw_free(memory_cache *cache, wick_memory *memory) {
    cache->type->memory->free(cache->type->instance, cache->index, memory);
}

static bool take(memory_cache *cache, bin *b, wick_memory *out) {
    if (!b->count) return false;
    *out = b->blocks[--b->count];
    cache->cached -= out->bytes;
    return true;
}

static void account(memory_cache *cache, uint64_t bytes) {
    cache->used += bytes;
    if (cache->used > cache->peak) cache->peak = cache->used;
}

wick_status *memory_allocate(memory_cache *cache, uint64_t bytes, wick_memory *out) {
    uint64_t rounded;
    if (bytes > (UINT64_C(1) << 56))
        return WICK_ERROR(WICK_OUT_OF_MEMORY, "%s:%d cannot allocate %llu bytes", cache->type->name, cache->index,
                          (unsigned long long)bytes);
    int k = class_of(bytes, &rounded);
    pthread_mutex_lock(&cache->lock);
    bool found = take(cache, &cache->bins[k], out);
    if (found) account(cache, out->bytes);
    pthread_mutex_unlock(&cache->lock);
    if (found) return NULL;

    wick_status *s = cache->type->memory->allocate(cache->type->instance, cache->index, rounded, out);
    if (wick_status_code(s) == WICK_OUT_OF_MEMORY) {
        wick_status_free(s);
        memory_trim(cache);
        s = cache->type->memory->allocate(cache->type->instance, cache->index, rounded, out);
    }
    if (s) {
        return wick_status_wrap(s, __FILE__, __LINE__,
                                "%s:%d is out of memory: wanted %llu bytes, %llu in use, highest so far %llu",
                                cache->type->name, cache->index, (unsigned long long)bytes,
                                (unsigned long long)cache->used, (unsigned long long)cache->peak);
    }
    pthread_mutex_lock(&cache->lock);
    out->bytes = rounded;
    account(cache, rounded);
    pthread_mutex_unlock(&cache->lock);
    return NULL;
}

void memory_free(memory_cache *cache, wick_memory *memory) {
    uint64_t rounded;
    bin *b = &cache->bins[class_of(memory->bytes, &rounded)];
    pthread_mutex_lock(&cache->lock);
    cache->used -= memory->bytes;
    bool keep = cache->used + cache->cached + memory->bytes <= cache->peak + SLACK_BYTES &&
                rt_grow(cache->rt, (void **)&b->blocks, &b->capacity, b->count, sizeof *b->blocks);
    if (keep) {
        b->blocks[b->count++] = *memory;
        cache->cached += memory->bytes;
    }
    pthread_mutex_unlock(&cache->lock);
    if (!keep) raw_free(cache, memory);
}

void memory_trim(memory_cache *cache) {
    for (int i = 0; i < CLASSES; ++i) {
        wick_memory block;
        for (bool found = true; found;) {
            pthread_mutex_lock(&cache->lock);
            found = take(cache, &cache->bins[i], &block);
            pthread_mutex_unlock(&cache->lock);
            if (found) raw_free(cache, &block);
        }
    }
}

static memory_cache *cache_of(wick_runtime *rt, wick_device device) {
    device_type *type = rt_device(rt, device.type);
    return type && device.index >= 0 && device.index < type->count ? type->caches[device.index] : NULL;
}

void wick_memory_stats(wick_runtime *rt, wick_device device, uint64_t *used, uint64_t *peak, uint64_t *cached) {
    memory_cache *cache = cache_of(rt, device);
    uint64_t figures[3] = {0, 0, 0};
    if (cache) {
        pthread_mutex_lock(&cache->lock);
        figures[0] = cache->used, figures[1] = cache->peak, figures[2] = cache->cached;
        pthread_mutex_unlock(&cache->lock);
    }
    if (used) *used = figures[0];
    if (peak) *peak = figures[1];
    if (cached) *cached = figures[2];
}

void wick_memory_reset_peak(wick_runtime *rt, wick_device device) {
    memory_cache *cache = cache_of(rt, device);
    if (!cache) return;
    pthread_mutex_lock(&cache->lock);
    cache->peak = cache->used;
    pthread_mutex_unlock(&cache->lock);
}

void wick_memory_trim(wick_runtime *rt, wick_device device) {
    memory_cache *cache = cache_of(rt, device);
    if (cache) memory_trim(cache);
}
