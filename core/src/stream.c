#include "stream.h"

#include "dispatch.h"
#include "memory.h"
#include "step.h"

struct wick_event {
    _Atomic int32_t references;
    wick_device device;
    wick_runtime *rt;
    void *handle;
    unsigned options;
};

static device_type *find_device(wick_runtime *rt, wick_device d) {
    device_type *type = rt_device(rt, d.type);
    return type && d.index >= 0 && d.index < type->count ? type : NULL;
}

static wick_status *unknown_device(wick_runtime *rt, const char *function, wick_device d) {
    char name[64];
    return WICK_ERROR(WICK_NOT_FOUND, "%s: no device %s, index %d", function,
                      wick_device_format(rt, d, name, sizeof name), d.index);
}

static wick_status *no_interface(const device_type *type, const char *function, const char *interface) {
    return WICK_ERROR(WICK_UNSUPPORTED, "%s: device %s has no interface \"%s\" 1", function, type->name, interface);
}

/* ---- streams ---- */
wick_status *wick_stream_create(wick_runtime *rt, wick_device device, int priority, wick_stream **out) {
    const device_type *type = find_device(rt, device);
    if (!type) return unknown_device(rt, "wick_stream_create", device);
    if (!type->streams) return no_interface(type, "wick_stream_create", "stream");
    wick_stream *s = rt_alloc(rt, sizeof *s);
    if (!s) return WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate a stream");
    *s = (wick_stream){1, device, rt, NULL};
    wick_status *status = type->streams->create(type->instance, device.index, priority, &s->handle);
    if (status) {
        rt_free(rt, s);
        return status;
    }
    wick_runtime_retain(rt);
    *out = s;
    return NULL;
}

wick_stream *wick_stream_retain(wick_stream *s) {
    if (s) reference_add(&s->references);
    return s;
}

/* Whoever waits here cannot be told of an error; the next user of the device is. */
void wick_stream_release(wick_stream *s) {
    if (!s || !reference_drop(&s->references)) return;
    wick_runtime *rt = s->rt;
    const device_type *type = rt_device(rt, s->device.type);
    wick_status_free(type->streams->synchronize(type->instance, s->device.index, s->handle));
    memory_forget_stream(type->caches[s->device.index], s);
    type->streams->destroy(type->instance, s->device.index, s->handle);
    rt_free(rt, s);
    runtime_drop(rt);
}

wick_device wick_stream_device(const wick_stream *s) { return s->device; }

wick_status *stream_wait_host(const device_type *type, int index, wick_stream *stream) {
    return type->streams ? type->streams->synchronize(type->instance, index, stream_handle(stream)) : NULL;
}

wick_status *wick_stream_synchronize(wick_stream *s) {
    return stream_wait_host(rt_device(s->rt, s->device.type), s->device.index, s);
}

wick_status *wick_stream_query(wick_stream *s, bool *out_idle) {
    const device_type *type = rt_device(s->rt, s->device.type);
    return type->streams->query(type->instance, s->device.index, s->handle, out_idle);
}

wick_status *wick_synchronize(wick_runtime *rt, wick_device device) {
    const device_type *type = find_device(rt, device);
    if (device.type == WICK_DEVICE_TYPE_META) return NULL;
    if (!type) return unknown_device(rt, "wick_synchronize", device);
    const wick_backend *b = type->backend;
    return WICK_HAS(b, wick_backend, synchronize) ? b->synchronize(type->instance, device.index) : NULL;
}

wick_status *stream_error(const context_impl *c, wick_status *s) {
    if (!s || !c->last_launch) return s;
    return wick_status_wrap(s, __FILE__, __LINE__, "%s (asynchronous: at or before operator %s)",
                            wick_status_message(s), c->last_launch->name);
}

/* ---- the current streams of a context ---- */
wick_stream *context_stream_find(const context_impl *c, wick_device device) {
    for (int i = 0; i < c->stream_count; ++i)
        if (wick_device_equal(c->streams[i]->device, device)) return c->streams[i];
    return NULL;
}

wick_stream *wick_current_stream(const wick_context *c, wick_device device) {
    return context_stream((const context_impl *)c, device);
}

bool wick_set_stream(wick_context *pub, wick_device device, wick_stream *stream) {
    context_impl *c = ctx(pub);
    char a[64], b[64];
    if (c->error || (c->step && fail(c, step_break(c, device, "another stream becomes current")))) return false;
    if (stream && !wick_device_equal(stream->device, device))
        return !FAIL(c, INVALID_ARGUMENT, "wick_set_stream: a stream of %s was given for %s",
                     wick_device_format(c->rt, stream->device, a, sizeof a),
                     wick_device_format(c->rt, device, b, sizeof b));
    int i = 0;
    while (i < c->stream_count && !wick_device_equal(c->streams[i]->device, device)) ++i;
    if (i == CONTEXT_STREAMS)
        return !FAIL(c, OUT_OF_RANGE, "wick_set_stream: streams of more than %d devices", CONTEXT_STREAMS);
    wick_stream *old = i < c->stream_count ? c->streams[i] : NULL;
    if (stream) {
        c->streams[i] = wick_stream_retain(stream);
        if (!old) c->stream_count++;
    } else if (old) {
        c->streams[i] = c->streams[--c->stream_count];
    }
    wick_stream_release(old);
    return true;
}

void context_streams_copy(context_impl *to, const context_impl *from) {
    to->stream_count = from->stream_count;
    for (int i = 0; i < from->stream_count; ++i) to->streams[i] = wick_stream_retain(from->streams[i]);
}

void context_streams_drop(context_impl *c) {
    while (c->stream_count) wick_stream_release(c->streams[--c->stream_count]);
}

/* ---- one stream waits for another ---- */
static wick_status *order_by_event(const device_type *type, int first_index, wick_stream *first, int then_index,
                                   wick_stream *then) {
    const wick_event_interface *e = type->events;
    void *event;
    WICK_TRY(e->create(type->instance, first_index, 0, &event));
    wick_status *s = e->record(type->instance, first_index, event, stream_handle(first));
    if (!s) s = e->wait(type->instance, then_index, event, stream_handle(then));
    e->destroy(type->instance, first_index, event);
    return s;
}

wick_status *stream_order(wick_runtime *rt, wick_device first_device, wick_stream *first, wick_device then_device,
                          wick_stream *then) {
    const device_type *type = rt_device(rt, first_device.type);
    if (!type->streams || (first == then && wick_device_equal(first_device, then_device))) return NULL;
    return type->events && first_device.type == then_device.type
               ? order_by_event(type, first_device.index, first, then_device.index, then)
               : stream_wait_host(type, first_device.index, first);
}

/* ---- who uses which memory ---- */
wick_status *storage_note(context_impl *c, storage_impl *s, wick_device device, wick_stream *stream) {
    if (s->owns != STORAGE_CACHED) return NULL;
    if (s->data.cached.stream == stream && wick_device_equal(s->pub.device, device)) return NULL;
    return memory_note_use(s->data.cached.cache, &s->data.cached.uses, device, stream);
}

wick_status *stream_note_values(context_impl *c, const wick_value *values, int n, wick_device device) {
    wick_stream *stream = context_stream(c, device);
    for (int i = 0; i < n; ++i) {
        const wick_value *v = &values[i];
        uint32_t count = v->tag == WICK_TAG_TENSOR_LIST ? v->count : v->tag == WICK_TAG_TENSOR;
        wick_tensor *const *list = v->tag == WICK_TAG_TENSOR_LIST ? v->as.tensors : &v->as.tensor;
        for (uint32_t k = 0; k < count; ++k)
            if (list[k] && wick_device_equal(list[k]->device, device))
                WICK_TRY(storage_note(c, storage_of(list[k]), device, stream));
    }
    return NULL;
}

bool wick_record_stream(wick_context *pub, wick_tensor *t, wick_stream *stream) {
    context_impl *c = ctx(pub);
    if (c->error) return false;
    if (!t) return !FAIL(c, INVALID_ARGUMENT, "wick_record_stream: the tensor is NULL");
    return !fail(c, storage_note(c, storage_of(t), stream ? stream->device : t->device, stream));
}

/* ---- events ---- */
wick_status *wick_event_create(wick_runtime *rt, wick_device device, unsigned options, wick_event **out) {
    const device_type *type = find_device(rt, device);
    if (!type) return unknown_device(rt, "wick_event_create", device);
    if (!type->events) return no_interface(type, "wick_event_create", "event");
    wick_event *e = rt_alloc(rt, sizeof *e);
    if (!e) return WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate an event");
    *e = (wick_event){1, device, rt, NULL, options};
    uint32_t flags = options & WICK_EVENT_TIMED ? WICK_EVENT_TIMING : 0;
    wick_status *s = type->events->create(type->instance, device.index, flags, &e->handle);
    if (s) {
        rt_free(rt, e);
        return s;
    }
    wick_runtime_retain(rt);
    *out = e;
    return NULL;
}

static const device_type *type_of(const wick_event *e) { return rt_device(e->rt, e->device.type); }

wick_event *wick_event_retain(wick_event *e) {
    if (e) reference_add(&e->references);
    return e;
}

void wick_event_release(wick_event *e) {
    if (!e || !reference_drop(&e->references)) return;
    wick_runtime *rt = e->rt;
    type_of(e)->events->destroy(type_of(e)->instance, e->device.index, e->handle);
    rt_free(rt, e);
    runtime_drop(rt);
}

static wick_status *check_stream(const wick_event *e, const wick_stream *stream, const char *function) {
    char a[64], b[64];
    if (!stream || stream->device.type == e->device.type) return NULL;
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: an event of %s with a stream of %s", function,
                      wick_device_format(e->rt, e->device, a, sizeof a),
                      wick_device_format(e->rt, stream->device, b, sizeof b));
}

wick_status *wick_event_record(wick_event *e, wick_stream *stream) {
    WICK_TRY(check_stream(e, stream, "wick_event_record"));
    if (stream && stream->device.index != e->device.index)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "wick_event_record: an event of index %d with a stream of index %d",
                          e->device.index, stream->device.index);
    return type_of(e)->events->record(type_of(e)->instance, e->device.index, e->handle, stream_handle(stream));
}

wick_status *wick_stream_wait(wick_stream *stream, wick_event *e) {
    WICK_TRY(check_stream(e, stream, "wick_stream_wait"));
    int index = stream ? stream->device.index : e->device.index;
    return type_of(e)->events->wait(type_of(e)->instance, index, e->handle, stream_handle(stream));
}

wick_status *wick_event_synchronize(wick_event *e) {
    return type_of(e)->events->synchronize(type_of(e)->instance, e->device.index, e->handle);
}

wick_status *wick_event_query(wick_event *e, bool *out_done) {
    return type_of(e)->events->query(type_of(e)->instance, e->device.index, e->handle, out_done);
}

wick_status *wick_event_elapsed(wick_event *start, wick_event *end, double *out_milliseconds) {
    const device_type *type = type_of(start);
    if (!WICK_HAS(type->events, wick_event_interface, elapsed))
        return WICK_ERROR(WICK_UNSUPPORTED, "wick_event_elapsed: device %s cannot time events", type->name);
    if (!(start->options & end->options & WICK_EVENT_TIMED) || !wick_device_equal(start->device, end->device))
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "wick_event_elapsed: wanted two events of one device, made with WICK_EVENT_TIMED");
    return type->events->elapsed(type->instance, start->device.index, start->handle, end->handle, out_milliseconds);
}

/* ---- pinned memory ---- */
wick_tensor *wick_tensor_new_pinned(wick_context *pub, wick_dtype dtype, int ndim, const wick_dim *sizes,
                                    wick_device device) {
    context_impl *c = ctx(pub);
    const device_type *type = find_device(c->rt, device);
    wick_device host = wick_runtime_host(c->rt);
    wick_tensor *t = NULL;
    if (c->error) return NULL;
    if (!c->scope_depth) FAIL(c, FAILED_PRECONDITION, "wick_tensor_new_pinned: no scope is open");
    if (!type)
        fail(c, unknown_device(c->rt, "wick_tensor_new_pinned", device));
    else if (!type->pinned)
        FAIL(c, UNSUPPORTED, "wick_tensor_new_pinned: device %s offers no pinned memory", type->name);
    else if (!host.type)
        FAIL(c, UNAVAILABLE, "wick_tensor_new_pinned: no backend with the host role is loaded");
    if (c->error || fail(c, tensor_new_cached(c, dtype, ndim, sizes, host, type->pinned, &t))) return NULL;
    return scope_own(c, t);
}

bool wick_is_pinned(const wick_tensor *t) {
    const storage_impl *s = storage_of(t);
    return s->owns == STORAGE_CACHED && memory_is_pinned(s->data.cached.cache);
}
