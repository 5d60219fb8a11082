/* The caching allocator over a backend's raw memory: one cache per device and one for its pinned memory. Blocks belong to
 * the stream that they were allocated for: freed, they serve that stream again at once, because its work is in order. A
 * block that other streams used as well comes back when events behind their work have passed. Thread-safe. */
#ifndef WICK_CORE_MEMORY_H
#define WICK_CORE_MEMORY_H

#include "stream.h"

#define MEMORY_PINNED (-1) /* as index: the pinned memory of the device type */

memory_cache *memory_cache_create(wick_runtime *rt, const device_type *type, int index);
void memory_cache_destroy(memory_cache *cache);
bool memory_is_pinned(const memory_cache *cache);
/* bytes > 0. A cached block of the size class and stream if there is one, else raw memory; when that is exhausted the
 * cache is emptied and the request repeated. */
wick_status *memory_allocate(memory_cache *cache, wick_stream *stream, uint64_t bytes, wick_memory *out);
/* True if a cached block would serve the request. */
bool memory_has(memory_cache *cache, wick_stream *stream, uint64_t bytes);
/* `stream` and `uses` come with their references. */
void memory_free(memory_cache *cache, wick_stream *stream, stream_use *uses, wick_memory *memory);
wick_status *memory_note_use(memory_cache *cache, stream_use **uses, wick_device device, wick_stream *stream);
/* Free blocks in order of address. */
void memory_sort(memory_cache *cache);
/* Links caches in a list; returns the first. */
memory_cache *memory_cache_link(memory_cache *cache, memory_cache *rest);
memory_cache *memory_cache_next(const memory_cache *cache);
void memory_trim(memory_cache *cache);
/* The stream has ended: its blocks go to the default one. */
void memory_forget_stream(memory_cache *cache, wick_stream *stream);

#endif
