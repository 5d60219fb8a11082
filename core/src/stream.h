/* Streams and events inside the core: which one a call uses, and how one waits for another. */
#ifndef WICK_CORE_STREAM_H
#define WICK_CORE_STREAM_H

#include <wick/stream.h>

#include "runtime.h"

struct wick_stream {
    _Atomic int32_t references;
    wick_device device;
    wick_runtime *rt;
    void *handle;
};

/* A stream that uses memory beside the one that it was allocated for. Owns its reference. */
typedef struct stream_use {
    struct stream_use *next;
    wick_device device;
    wick_stream *stream; /* NULL: the default one */
} stream_use;

static inline void *stream_handle(const wick_stream *s) { return s ? s->handle : NULL; }

wick_stream *context_stream_find(const context_impl *c, wick_device device);
/* The current stream; NULL: the default one. Lent. */
HOT wick_stream *context_stream(const context_impl *c, wick_device device) {
    return WICK_LIKELY(!c->stream_count) ? NULL : context_stream_find(c, device);
}
void context_streams_copy(context_impl *to, const context_impl *from);
void context_streams_drop(context_impl *c);

/* What is put on `then` from now on waits for what is on `first`; both of one backend. */
wick_status *stream_order(wick_runtime *rt, wick_device first_device, wick_stream *first, wick_device then_device,
                          wick_stream *then);
/* The host waits. */
wick_status *stream_wait_host(const device_type *type, int index, wick_stream *stream);
/* Work on `stream` of `device` uses the storage; that of a call uses its tensors. */
wick_status *storage_note(context_impl *c, storage_impl *s, wick_device device, wick_stream *stream);
wick_status *stream_note_values(context_impl *c, const wick_value *values, int n, wick_device device);
/* Errors that surface while the host waits name the newest operator. */
wick_status *stream_error(const context_impl *c, wick_status *s);

#endif
