/* The caching allocator: one cache per device, over the backend's raw allocate and free. Thread-safe. */
#ifndef WICK_CORE_MEMORY_H
#define WICK_CORE_MEMORY_H

#include "runtime.h"

memory_cache *memory_cache_create(wick_runtime *rt, const device_type *type, int index);
void memory_cache_destroy(memory_cache *cache);
/* bytes > 0. A cached block of the size class if there is one, else raw memory; when that is exhausted the cache is
 * emptied and the request repeated. */
wick_status *memory_allocate(memory_cache *cache, uint64_t bytes, wick_memory *out);
void memory_free(memory_cache *cache, wick_memory *memory);
void memory_trim(memory_cache *cache);

#endif
