/* The raw memory interface of the device under test. */
#ifndef WICK_CHECK_RAW_H
#define WICK_CHECK_RAW_H

#include "runner.h"

typedef struct raw {
    runner *r;
    const wick_memory_interface *m;
    const wick_stream_interface *s; /* NULL: synchronous */
    const wick_event_interface *e;  /* NULL: none */
    void *instance;
} raw;

/* False: there is no memory interface, which was told. */
bool raw_open(runner *r, raw *out);
/* Copies between host and device in the order of the stream; plain memory accesses where the device offers no copy. */
wick_status *raw_upload(const raw *x, int32_t index, void *stream, const wick_memory *dst, uint64_t offset,
                        const void *src, uint64_t bytes, uint32_t flags);
wick_status *raw_download(const raw *x, int32_t index, void *stream, const wick_memory *src, uint64_t offset, void *dst,
                          uint64_t bytes, uint32_t flags);
wick_status *raw_copy(const raw *x, int32_t index, void *stream, const wick_memory *dst, uint64_t dst_offset,
                      const wick_memory *src, uint64_t src_offset, uint64_t bytes);
/* Waits for the stream; a synchronous device has nothing to wait for. */
wick_status *raw_wait(const raw *x, int32_t index, void *stream);
/* Bytes that anybody can make again. */
void raw_pattern(uint8_t *bytes, uint64_t count, uint64_t seed);
/* Offset of the first byte that is not the pattern's; `count` if there is none. */
uint64_t raw_differs(const uint8_t *bytes, uint64_t count, uint64_t seed);

/* ---- streams.c ---- */
void check_streams(raw *x);
void check_events(raw *x);
void check_operators_on_streams(raw *x);

#endif
