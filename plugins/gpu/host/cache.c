/* Values by key. */
#include <stdlib.h>
#include <string.h>

#include "cache.h"

/* FNV-1a, a 32-bit word at a time. */
static unsigned hash(const void *key, size_t bytes) {
    const unsigned char *p = key;
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t i = 0; i + 4 <= bytes; i += 4) {
        uint32_t word;
        memcpy(&word, p + i, sizeof word);
        h = (h ^ word) * UINT64_C(1099511628211);
    }
    return (unsigned)((h ^ h >> 32) % GPU_CACHE_BUCKETS);
}

void *gpu_cache_find(const gpu_cache *cache, const void *key, size_t bytes) {
    for (const gpu_cached *p = cache->buckets[hash(key, bytes)]; p; p = p->next)
        if (p->key_bytes == bytes && !memcmp(p->key, key, bytes)) return p->value;
    return NULL;
}

bool gpu_cache_add(gpu_cache *cache, const void *key, size_t bytes, void *value, gpu_cache_release_fn release,
                   void *user) {
    gpu_cached *p = malloc(sizeof *p + bytes), **bucket = &cache->buckets[hash(key, bytes)];
    if (!p) return false;
    if (cache->count == GPU_CACHE_MOST) gpu_cache_clear(cache, release, user);
    cache->count++;
    p->next = *bucket;
    p->key_bytes = bytes;
    p->value = value;
    memcpy(p->key, key, bytes);
    *bucket = p;
    return true;
}

void gpu_cache_clear(gpu_cache *cache, gpu_cache_release_fn release, void *user) {
    for (int i = 0; i < GPU_CACHE_BUCKETS; ++i)
        for (gpu_cached *p = cache->buckets[i], *next; p; p = next) {
            next = p->next;
            release(user, p->value);
            free(p);
        }
    memset(cache, 0, sizeof *cache);
}
