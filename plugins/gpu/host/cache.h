/* What is kept per shape: a key's bytes lead to a value. Not thread-safe. */
#ifndef WICK_GPU_CACHE_H
#define WICK_GPU_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPU_CACHE_BUCKETS 256
#define GPU_CACHE_MOST 4096 /* values: shapes may never end */

typedef struct gpu_cached {
    struct gpu_cached *next;
    size_t key_bytes;
    void *value;         /* the user's */
    unsigned char key[]; /* whole 32-bit words, all compared: no padding but zeros */
} gpu_cached;

typedef struct gpu_cache {
    gpu_cached *buckets[GPU_CACHE_BUCKETS];
    size_t count;
} gpu_cache;

/* The value of the key, NULL if there is none. */
void *gpu_cache_find(const gpu_cache *cache, const void *key, size_t bytes);
typedef void (*gpu_cache_release_fn)(void *user, void *value);
/* Keeps the value, which `release` frees one day, and forgets all others first if there are too many. False without
 * memory. */
bool gpu_cache_add(gpu_cache *cache, const void *key, size_t bytes, void *value, gpu_cache_release_fn release,
                   void *user);
/* Forgets everything. */
void gpu_cache_clear(gpu_cache *cache, gpu_cache_release_fn release, void *user);

#endif
