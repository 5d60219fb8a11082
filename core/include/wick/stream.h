/* wick/stream.h: asynchronous devices: streams, events, synchronization, pinned memory. Semantics are PyTorch's.
 *
 * Work of a device is put on a stream and done in its order. Every device has a default stream, which NULL names; a
 * context has a current stream per device, the default one unless set. Operators put their work on the current stream
 * of the calling context. Reading values (wick_tensor_to_host, wick_item, printing) waits for what they need. A tensor
 * made on one stream may be used on another one after an event made the second wait for the first; its memory is not
 * reused before both have passed.
 *
 * On a synchronous device (no "stream" interface) only the default stream exists and every wait returns at once.
 * Streams and events are reference-counted and thread-safe; they keep their runtime alive. */
#ifndef WICK_STREAM_H
#define WICK_STREAM_H

#include <wick/context.h>

typedef struct wick_stream wick_stream;
typedef struct wick_event wick_event;

enum wick_event_option { WICK_EVENT_DEFAULT = 0, WICK_EVENT_TIMED = 1 /* wick_event_elapsed may be asked */ };

WICK_BEGIN_DECLS
/* ---- streams ---- */
/* UNSUPPORTED if the device has no interface "stream" 1. Lower priority numbers run first; 0 is the default's. The
 * caller releases it. */
WICK_API WICK_MUST_USE wick_status *wick_stream_create(wick_runtime *runtime, wick_device device, int priority,
                                                       wick_stream **out);
WICK_API wick_stream *wick_stream_retain(wick_stream *stream);
/* NULL is allowed. The last release waits for the stream's work. */
WICK_API void wick_stream_release(wick_stream *stream);
WICK_API wick_device wick_stream_device(const wick_stream *stream);
/* Waits for all work on the stream and reports its errors. (Reads through a context name the newest operator, too.) */
WICK_API WICK_MUST_USE wick_status *wick_stream_synchronize(wick_stream *stream);
WICK_API WICK_MUST_USE wick_status *wick_stream_query(wick_stream *stream, bool *out_idle);
/* The context's current stream of the device, lent; NULL: the default stream. */
WICK_API wick_stream *wick_current_stream(const wick_context *c, wick_device device);
/* Makes `stream` (NULL: the default one) the current stream of its device `device`; the context keeps a reference. */
WICK_API bool wick_set_stream(wick_context *c, wick_device device, wick_stream *stream);
/* Waits for all work of the device, on every stream. */
WICK_API WICK_MUST_USE wick_status *wick_synchronize(wick_runtime *runtime, wick_device device);

/* ---- events ---- */
/* UNSUPPORTED if the device has no interface "event" 1. The caller releases it. */
WICK_API WICK_MUST_USE wick_status *wick_event_create(wick_runtime *runtime, wick_device device, unsigned options,
                                                      wick_event **out);
WICK_API wick_event *wick_event_retain(wick_event *event);
WICK_API void wick_event_release(wick_event *event); /* NULL is allowed */
/* Marks the work that is on the stream (NULL: the default stream of the event's device) now. */
WICK_API WICK_MUST_USE wick_status *wick_event_record(wick_event *event, wick_stream *stream);
/* Work put on the stream (NULL: the default stream of the event's device) afterwards waits for the event. */
WICK_API WICK_MUST_USE wick_status *wick_stream_wait(wick_stream *stream, wick_event *event);
WICK_API WICK_MUST_USE wick_status *wick_event_synchronize(wick_event *event);
WICK_API WICK_MUST_USE wick_status *wick_event_query(wick_event *event, bool *out_done);
/* Milliseconds between two done events that were made WICK_EVENT_TIMED. */
WICK_API WICK_MUST_USE wick_status *wick_event_elapsed(wick_event *start, wick_event *end, double *out_milliseconds);

/* ---- memory ---- */
/* Tells the allocator that `stream` (NULL: the default one) uses the tensor's memory, for use outside operators. */
WICK_API bool wick_record_stream(wick_context *c, wick_tensor *t, wick_stream *stream);
/* A new uninitialized host tensor in memory from which copies to `device` need not wait (copy_ with non_blocking).
 * UNSUPPORTED if the device offers no pinned memory. Owned by the scope. */
WICK_API wick_tensor *wick_tensor_new_pinned(wick_context *c, wick_dtype dtype, int ndim, const wick_dim *sizes,
                                             wick_device device);
WICK_API bool wick_is_pinned(const wick_tensor *t);
WICK_END_DECLS

#endif
