/* Mode memory: raw blocks and copies of the device under test. */
#include <stdlib.h>
#include <string.h>

#include "raw.h"

#define BLOCKS 48
#define HUGE_BYTES (UINT64_C(1) << 50)

/* ---- allocation ---- */
static const uint64_t sizes[] = {1, 2, 3, 15, 16, 17, 63, 64, 255, 257, 4095, 4096, 4097, 65536, 1048577, 16777216};

static bool block_is_right(raw *x, const wick_memory *m, uint64_t bytes) {
    const char *item = "allocate";
    char label[32];
    uint64_t at = x->m->flags & WICK_MEMORY_ADDRESSABLE ? (uintptr_t)m->data : m->offset_bytes;
    snprintf(label, sizeof label, "%llu bytes", (unsigned long long)bytes);
    if (m->bytes < bytes)
        check_fail(x->r, item, label, "got a block of %llu", (unsigned long long)m->bytes);
    else if (at % x->m->alignment_bytes)
        check_fail(x->r, item, label, "address or offset %#llx is not aligned to %u", (unsigned long long)at,
                   x->m->alignment_bytes);
    else if (x->m->flags & WICK_MEMORY_ADDRESSABLE && !m->data)
        check_fail(x->r, item, label, "the memory is ADDRESSABLE, but data is not set");
    else
        return check_pass(x->r, item, label), true;
    return false;
}

static void check_sizes(raw *x) {
    uint32_t a = x->m->alignment_bytes;
    check_that(x->r, a >= 16 && (a & (a - 1)) == 0, "allocate", "alignment", "got %u, wanted a power of two from 16",
               a);
    if (!a) return;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        wick_memory m = {0};
        wick_status *status = x->m->allocate(x->instance, 0, sizes[i], &m);
        if (status) {
            check_status(x->r, status, "allocate", "");
            continue;
        }
        block_is_right(x, &m, sizes[i]);
        x->m->free(x->instance, 0, &m);
    }
}

/* A device that promises more than it has must say so. */
static void check_exhausted(raw *x) {
    wick_memory m = {0};
    if (WICK_SANITIZER) {
        check_note(x->r, "allocate", "2^50 bytes", "not tried: a sanitizer's allocator ends the process");
        return;
    }
    wick_status *status = x->m->allocate(x->instance, 0, HUGE_BYTES, &m);
    wick_code code = wick_status_code(status);
    check_that(x->r, code == WICK_OUT_OF_MEMORY, "allocate", "2^50 bytes", "got %s, wanted %s", wick_code_text(code),
               wick_code_text(WICK_OUT_OF_MEMORY));
    if (!status) x->m->free(x->instance, 0, &m);
    wick_status_free(status);
    status = x->m->allocate(x->instance, 0, 4096, &m);
    if (check_status(x->r, status, "allocate", "after exhaustion")) x->m->free(x->instance, 0, &m);
}

/* ---- many blocks at once: none lies in another ---- */
static bool fill_block(raw *x, wick_memory *m, uint64_t bytes, uint64_t seed, uint8_t *host) {
    raw_pattern(host, bytes, seed);
    wick_status *status = raw_upload(x, 0, NULL, m, 0, host, bytes, 0);
    return !status || check_status(x->r, status, "copy_from_host", "many blocks");
}

static bool compare_block(raw *x, const wick_memory *m, uint64_t offset, uint64_t bytes, uint64_t seed, uint8_t *host,
                          const char *item, const char *label) {
    memset(host, 0xa5, bytes);
    wick_status *status = raw_download(x, 0, NULL, m, offset, host, bytes, 0);
    if (status) return check_status(x->r, status, item, label);
    uint64_t at = raw_differs(host, bytes, seed);
    return check_that(x->r, at == bytes, item, label, "byte %llu of %llu differs from what was written",
                      (unsigned long long)at, (unsigned long long)bytes);
}

static void check_blocks(raw *x) {
    wick_memory blocks[BLOCKS] = {0};
    uint8_t host[5000];
    int made = 0;
    for (; made < BLOCKS; ++made) {
        uint64_t bytes = 1 + (uint64_t)made * 97;
        wick_status *status = x->m->allocate(x->instance, 0, bytes, &blocks[made]);
        if (status) {
            check_status(x->r, status, "allocate", "many blocks");
            break;
        }
        if (!fill_block(x, &blocks[made], bytes, (uint64_t)made, host)) break;
    }
    bool same = made == BLOCKS;
    for (int i = 0; i < made && same; ++i)
        same = compare_block(x, &blocks[i], 0, 1 + (uint64_t)i * 97, (uint64_t)i, host, "copy_to_host", "many blocks");
    for (int i = 0; i < made; ++i) x->m->free(x->instance, 0, &blocks[i]);
}

/* ---- copies at odd places ---- */
typedef struct span {
    uint64_t from, to, bytes;
} span;
static const span spans[] = {{0, 0, 1},    {1, 0, 1},      {0, 3, 5},        {7, 1, 13},    {5, 11, 256},
                             {3, 0, 4095}, {13, 29, 4097}, {1021, 7, 65521}, {0, 0, 100000}};
#define ROOM 131072

static void check_span(raw *x, const span *s, const wick_memory *a, const wick_memory *b, uint8_t *host) {
    char label[64];
    uint64_t seed = s->from * 31 + s->bytes;
    snprintf(label, sizeof label, "%llu bytes, offsets %llu and %llu", (unsigned long long)s->bytes,
             (unsigned long long)s->from, (unsigned long long)s->to);
    raw_pattern(host, s->bytes, seed);
    if (!check_status(x->r, raw_upload(x, 0, NULL, a, s->from, host, s->bytes, 0), "copy_from_host", label)) return;
    if (!compare_block(x, a, s->from, s->bytes, seed, host, "copy_to_host", label)) return;
    if (!check_status(x->r, raw_copy(x, 0, NULL, b, s->to, a, s->from, s->bytes), "copy", label)) return;
    compare_block(x, b, s->to, s->bytes, seed, host, "copy", label);
}

/* What lies around a written span stays. */
static void check_edges(raw *x, const wick_memory *m, uint8_t *host) {
    static const uint8_t zeros[64], ones[7] = {1, 1, 1, 1, 1, 1, 1};
    wick_status *status = raw_upload(x, 0, NULL, m, 0, zeros, sizeof zeros, 0);
    if (!status) status = raw_upload(x, 0, NULL, m, 13, ones, sizeof ones, 0);
    if (!status) status = raw_download(x, 0, NULL, m, 0, host, sizeof zeros, 0);
    if (status) {
        check_status(x->r, status, "copy_from_host", "edges");
        return;
    }
    int wrong = 0;
    for (int i = 0; i < 64; ++i) wrong += host[i] != (i >= 13 && i < 20);
    check_that(x->r, wrong == 0, "copy_from_host", "edges", "%d bytes around the written ones changed", wrong);
}

static void check_copies(raw *x) {
    wick_memory a = {0}, b = {0};
    uint8_t *host = malloc(ROOM);
    wick_status *status = x->m->allocate(x->instance, 0, ROOM, &a);
    if (!status) status = x->m->allocate(x->instance, 0, ROOM, &b);
    if (host && check_status(x->r, status, "allocate", "for copies")) {
        for (size_t i = 0; i < sizeof spans / sizeof spans[0]; ++i) check_span(x, &spans[i], &a, &b, host);
        check_edges(x, &a, host);
    }
    if (a.bytes) x->m->free(x->instance, 0, &a);
    if (b.bytes) x->m->free(x->instance, 0, &b);
    free(host);
}

/* ---- from device to device ---- */
static void copy_between(raw *x, int32_t from, int32_t to, const wick_memory *a, const wick_memory *b, uint8_t *host) {
    char label[32];
    snprintf(label, sizeof label, "%d to %d", from, to);
    raw_pattern(host, 4096, (uint64_t)to);
    wick_status *status = raw_upload(x, from, NULL, a, 0, host, 4096, 0);
    if (!status) status = x->m->copy_peer(x->instance, NULL, to, b, 5, from, a, 3, 4000);
    if (!status) status = raw_wait(x, from, NULL);
    memset(host, 0, 4096);
    if (!status) status = raw_download(x, to, NULL, b, 5, host, 4000, 0);
    if (!check_status(x->r, status, "copy_peer", label)) return;
    uint8_t want[4096];
    raw_pattern(want, 4096, (uint64_t)to);
    check_that(x->r, memcmp(want + 3, host, 4000) == 0, "copy_peer", label, "the bytes differ");
}

static void check_peers(raw *x) {
    uint8_t host[4096];
    if (x->r->device_count < 2 || !x->m->copy_peer) {
        check_note(x->r, "copy_peer", "", "not tried: %s",
                   x->r->device_count < 2 ? "there is one device" : "the slot is not set");
        return;
    }
    for (int32_t to = 1; to < x->r->device_count && to < 4; ++to) {
        wick_memory a = {0}, b = {0};
        wick_status *status = x->m->allocate(x->instance, 0, 8192, &a);
        if (!status) status = x->m->allocate(x->instance, to, 8192, &b);
        if (check_status(x->r, status, "allocate", "for peers")) copy_between(x, 0, to, &a, &b, host);
        if (a.bytes) x->m->free(x->instance, 0, &a);
        if (b.bytes) x->m->free(x->instance, to, &b);
    }
}

/* ---- pinned memory ---- */
static void check_pinned(raw *x) {
    wick_memory pinned = {0}, m = {0};
    if (!x->m->allocate_pinned) {
        check_note(x->r, "allocate_pinned", "", "not tried: the slot is not set");
        return;
    }
    if (!check_status(x->r, x->m->allocate_pinned(x->instance, 65536, &pinned), "allocate_pinned", "")) return;
    if (check_that(x->r, pinned.data && pinned.bytes >= 65536, "allocate_pinned", "data", "data is not set") &&
        check_status(x->r, x->m->allocate(x->instance, 0, 65536, &m), "allocate", "for pinned")) {
        raw_pattern(pinned.data, 65536, 5);
        wick_status *status = raw_upload(x, 0, NULL, &m, 0, pinned.data, 65536, WICK_COPY_ASYNC);
        if (!status) status = raw_wait(x, 0, NULL);
        memset(pinned.data, 0, 65536);
        if (!status) status = raw_download(x, 0, NULL, &m, 0, pinned.data, 65536, WICK_COPY_ASYNC);
        if (!status) status = raw_wait(x, 0, NULL);
        if (check_status(x->r, status, "allocate_pinned", "asynchronous copies"))
            check_that(x->r, raw_differs(pinned.data, 65536, 5) == 65536, "allocate_pinned", "contents",
                       "the bytes differ after a round trip");
        x->m->free(x->instance, 0, &m);
    }
    x->m->free_pinned(x->instance, &pinned);
}

/* ---- the device as the core sees it ---- */
static void check_query(raw *x) {
    for (int32_t i = 0; i < x->r->device_count; ++i) {
        char label[32];
        wick_device_info info = {.struct_size = sizeof info};
        snprintf(label, sizeof label, "device %d", i);
        wick_device device = {x->r->device.type, (int16_t)i};
        if (!check_status(x->r, wick_device_query(x->r->runtime, device, &info), "device_query", label)) continue;
        check_that(x->r, memchr(info.name, '\0', sizeof info.name) != NULL, "device_query", label,
                   "the name has no end");
        check_that(x->r, info.memory_free_bytes <= info.memory_bytes || !info.memory_bytes, "device_query", label,
                   "more memory is free than there is");
    }
}

static const struct {
    const char *item;
    void (*run)(raw *x);
} steps[] = {
    {"device_query", check_query},
    {"allocate", check_sizes},
    {"allocate 2^50 bytes", check_exhausted},
    {"many blocks", check_blocks},
    {"copies", check_copies},
    {"copy_peer", check_peers},
    {"pinned", check_pinned},
    {"streams", check_streams},
    {"events", check_events},
    {"streams of operators", check_operators_on_streams},
};

void mode_memory(runner *r) {
    raw x;
    if (!plugin_open(r)) return;
    if (raw_open(r, &x)) {
        for (size_t i = 0; i < sizeof steps / sizeof steps[0]; ++i)
            if (check_begin(r, steps[i].item)) steps[i].run(&x);
    }
    plugin_close(r);
}
