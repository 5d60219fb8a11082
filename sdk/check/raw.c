#include "raw.h"

#include <string.h>

bool raw_open(runner *r, raw *out) {
    *out = (raw){.r = r};
    out->m = plugin_interface(r, "memory", &out->instance);
    out->s = plugin_interface(r, "stream", NULL);
    out->e = plugin_interface(r, "event", NULL);
    return check_that(r, out->m != NULL, "memory", "interface", "there is none");
}

wick_status *raw_upload(const raw *x, int32_t index, void *stream, const wick_memory *dst, uint64_t offset,
                        const void *src, uint64_t bytes, uint32_t flags) {
    if (x->m->copy_from_host) return x->m->copy_from_host(x->instance, index, stream, dst, offset, src, bytes, flags);
    memcpy((char *)dst->data + offset, src, bytes);
    return NULL;
}

wick_status *raw_download(const raw *x, int32_t index, void *stream, const wick_memory *src, uint64_t offset, void *dst,
                          uint64_t bytes, uint32_t flags) {
    if (x->m->copy_to_host) return x->m->copy_to_host(x->instance, index, stream, src, offset, dst, bytes, flags);
    memcpy(dst, (const char *)src->data + offset, bytes);
    return NULL;
}

wick_status *raw_copy(const raw *x, int32_t index, void *stream, const wick_memory *dst, uint64_t dst_offset,
                      const wick_memory *src, uint64_t src_offset, uint64_t bytes) {
    if (x->m->copy) return x->m->copy(x->instance, index, stream, dst, dst_offset, src, src_offset, bytes);
    memcpy((char *)dst->data + dst_offset, (const char *)src->data + src_offset, bytes);
    return NULL;
}

wick_status *raw_wait(const raw *x, int32_t index, void *stream) {
    return x->s ? x->s->synchronize(x->instance, index, stream) : NULL;
}

void raw_pattern(uint8_t *bytes, uint64_t count, uint64_t seed) {
    uint64_t state = seed;
    for (uint64_t i = 0; i < count; ++i) bytes[i] = (uint8_t)(check_random(&state) >> 24);
}

uint64_t raw_differs(const uint8_t *bytes, uint64_t count, uint64_t seed) {
    uint64_t state = seed;
    for (uint64_t i = 0; i < count; ++i)
        if (bytes[i] != (uint8_t)(check_random(&state) >> 24)) return i;
    return count;
}
