/* Streams and events: order within a stream, waiting between two, and what the host may ask. */
#include <stdlib.h>
#include <string.h>
#include <wick/stream.h>

#include "raw.h"

#define BYTES 262144
#define ROUNDS 40

/* ---- order within one stream, the default one too ---- */
static bool chain(raw *x, void *stream, wick_memory m[2], uint8_t *host, uint64_t seed, const char *label) {
    raw_pattern(host, BYTES, seed);
    wick_status *status = raw_upload(x, 0, stream, &m[0], 0, host, BYTES, 0);
    memset(host, 0, BYTES); /* without ASYNC the bytes were consumed */
    for (int i = 0; i < 5 && !status; ++i) status = raw_copy(x, 0, stream, &m[(i + 1) % 2], 0, &m[i % 2], 0, BYTES);
    if (!status) status = raw_download(x, 0, stream, &m[1], 0, host, BYTES, 0);
    if (status) return check_status(x->r, status, "stream order", label);
    uint64_t at = raw_differs(host, BYTES, seed);
    return at == BYTES || check_that(x->r, false, "stream order", label,
                                     "byte %llu differs after five copies on one stream", (unsigned long long)at);
}

static void check_stream(raw *x, void *stream, wick_memory m[2], uint8_t *host, const char *label) {
    bool idle = false;
    for (uint64_t round = 0; round < ROUNDS; ++round)
        if (!chain(x, stream, m, host, round, label)) return;
    check_pass(x->r, "stream order", label);
    if (!x->s || !check_status(x->r, x->s->synchronize(x->instance, 0, stream), "stream synchronize", label)) return;
    if (check_status(x->r, x->s->query(x->instance, 0, stream, &idle), "stream query", label))
        check_that(x->r, idle, "stream query", label, "not idle after synchronize");
}

static bool two_blocks(raw *x, wick_memory m[2]) {
    m[0] = m[1] = (wick_memory){0};
    wick_status *status = x->m->allocate(x->instance, 0, BYTES, &m[0]);
    if (!status) status = x->m->allocate(x->instance, 0, BYTES, &m[1]);
    return !status || check_status(x->r, status, "allocate", "for streams");
}

static void free_blocks(raw *x, wick_memory m[2]) {
    for (int i = 0; i < 2; ++i)
        if (m[i].bytes) x->m->free(x->instance, 0, &m[i]);
}

void check_streams(raw *x) {
    wick_memory m[2];
    void *stream = NULL;
    uint8_t *host = malloc(BYTES);
    if (host && two_blocks(x, m)) {
        check_stream(x, NULL, m, host, "default stream");
        if (!x->s)
            check_note(x->r, "streams", "", "none: the device is synchronous");
        else if (check_status(x->r, x->s->create(x->instance, 0, 0, &stream), "stream create", "")) {
            check_stream(x, stream, m, host, "own stream");
            x->s->destroy(x->instance, 0, stream);
        }
    }
    if (x->s)
        check_that(x->r, x->s->priority_highest <= 0 && x->s->priority_lowest >= 0, "stream create", "priorities",
                   "got %d to %d, wanted 0 between", x->s->priority_highest, x->s->priority_lowest);
    free_blocks(x, m);
    free(host);
}

/* ---- one stream waits for another through an event ---- */
typedef struct pair {
    void *streams[2];
    void *events[3];
} pair;

static wick_status *make_pair(raw *x, pair *p) {
    for (int i = 0; i < 2; ++i) WICK_TRY(x->s->create(x->instance, 0, 0, &p->streams[i]));
    for (int i = 0; i < 3; ++i) WICK_TRY(x->e->create(x->instance, 0, WICK_EVENT_TIMING, &p->events[i]));
    return NULL;
}

static void end_pair(raw *x, pair *p) {
    for (int i = 0; i < 3; ++i)
        if (p->events[i]) x->e->destroy(x->instance, 0, p->events[i]);
    for (int i = 0; i < 2; ++i)
        if (p->streams[i]) x->s->destroy(x->instance, 0, p->streams[i]);
}

/* Written on stream 0, read on stream 1, round after round with other bytes. */
static wick_status *hand_over(raw *x, const pair *p, wick_memory m[2], uint8_t *host, uint64_t seed) {
    raw_pattern(host, BYTES, seed);
    WICK_TRY(x->e->record(x->instance, 0, p->events[0], p->streams[0]));
    WICK_TRY(raw_upload(x, 0, p->streams[0], &m[0], 0, host, BYTES, 0));
    for (int i = 0; i < 4; ++i) WICK_TRY(raw_copy(x, 0, p->streams[0], &m[(i + 1) % 2], 0, &m[i % 2], 0, BYTES));
    WICK_TRY(x->e->record(x->instance, 0, p->events[1], p->streams[0]));
    WICK_TRY(x->e->wait(x->instance, 0, p->events[1], p->streams[1]));
    WICK_TRY(raw_copy(x, 0, p->streams[1], &m[1], 0, &m[0], 0, BYTES));
    memset(host, 0, BYTES);
    WICK_TRY(raw_download(x, 0, p->streams[1], &m[1], 0, host, BYTES, 0));
    WICK_TRY(x->e->record(x->instance, 0, p->events[2], p->streams[1]));
    return x->e->synchronize(x->instance, 0, p->events[2]);
}

static void check_waiting(raw *x, const pair *p, wick_memory m[2], uint8_t *host) {
    for (uint64_t round = 0; round < ROUNDS; ++round) {
        wick_status *status = hand_over(x, p, m, host, round);
        if (status) {
            check_status(x->r, status, "event wait", "");
            return;
        }
        uint64_t at = raw_differs(host, BYTES, round);
        if (at != BYTES) {
            check_fail(x->r, "event wait", "", "round %llu: byte %llu differs: the second stream did not wait",
                       (unsigned long long)round, (unsigned long long)at);
            return;
        }
    }
    check_pass(x->r, "event wait", "");
}

static void check_asking(raw *x, const pair *p) {
    double first = -1, whole = -1;
    for (int i = 0; i < 3; ++i) {
        bool done = false;
        if (check_status(x->r, x->e->query(x->instance, 0, p->events[i], &done), "event query", ""))
            check_that(x->r, done, "event query", "", "event %d is not done after synchronize", i);
    }
    if (!x->e->elapsed) {
        check_note(x->r, "event elapsed", "", "not tried: the slot is not set");
        return;
    }
    wick_status *status = x->e->elapsed(x->instance, 0, p->events[0], p->events[1], &first);
    if (!status) status = x->e->elapsed(x->instance, 0, p->events[0], p->events[2], &whole);
    if (check_status(x->r, status, "event elapsed", ""))
        check_that(x->r, first >= 0 && whole >= first, "event elapsed", "",
                   "got %g ms to an event and %g ms to a later one", first, whole);
}

void check_events(raw *x) {
    wick_memory m[2] = {{0}};
    pair p = {0};
    uint8_t *host = malloc(BYTES);
    if (!x->s || !x->e) {
        check_note(x->r, "events", "", "none: the device has no %s", x->s ? "events" : "streams");
    } else if (host && two_blocks(x, m) && check_status(x->r, make_pair(x, &p), "event create", "")) {
        check_waiting(x, &p, m, host);
        check_asking(x, &p);
        /* destroyed while it is pending */
        void *event = NULL;
        wick_status *status = x->e->create(x->instance, 0, 0, &event);
        if (!status) status = raw_copy(x, 0, p.streams[0], &m[1], 0, &m[0], 0, BYTES);
        if (!status) status = x->e->record(x->instance, 0, event, p.streams[0]);
        if (event) x->e->destroy(x->instance, 0, event);
        if (!status) status = raw_wait(x, 0, p.streams[0]);
        check_status(x->r, status, "event destroy", "while pending");
    }
    end_pair(x, &p);
    free_blocks(x, m);
    free(host);
}

/* ---- operators on two streams of one context ---- */
static wick_tensor *call_add(runner *r, wick_tensor *a, wick_tensor *b) {
    wick_value args[] = {wick_value_tensor(a), wick_value_tensor(b)}, ret;
    const wick_op *add = wick_op_find(r->runtime, "add.Tensor");
    return wick_call(r->c, add, args, 2, &ret, 1) ? ret.as.tensor : NULL;
}

/* 2^rounds, added up on the two streams in turn, each waiting for the other. */
static double ping_pong(runner *r, wick_stream *const streams[2], wick_event *event, int rounds) {
    const float one = 1;
    const wick_dim size = 1;
    wick_status *status = NULL;
    wick_set_stream(r->c, r->device, streams[0]);
    wick_tensor *t = wick_tensor_from_host(r->c, &one, WICK_F32, 1, &size, r->device);
    for (int i = 0; i < rounds && t && !status; ++i) {
        wick_set_stream(r->c, r->device, streams[i % 2]);
        t = call_add(r, t, t);
        status = wick_event_record(event, streams[i % 2]);
        if (!status) status = wick_stream_wait(streams[(i + 1) % 2], event);
    }
    wick_set_stream(r->c, r->device, streams[rounds % 2]);
    wick_fail(r->c, status);
    double value = t ? wick_item(r->c, t) : 0;
    wick_set_stream(r->c, r->device, NULL);
    return value;
}

void check_operators_on_streams(raw *x) {
    runner *r = x->r;
    wick_stream *streams[2] = {NULL, NULL};
    wick_event *event = NULL;
    if (!x->s || !x->e) {
        check_note(r, "streams of operators", "", "none: the device is synchronous or has no events");
        return;
    }
    wick_status *status = wick_stream_create(r->runtime, r->device, 0, &streams[0]);
    if (!status) status = wick_stream_create(r->runtime, r->device, 0, &streams[1]);
    if (!status) status = wick_event_create(r->runtime, r->device, WICK_EVENT_DEFAULT, &event);
    if (check_status(r, status, "streams of operators", "create")) {
        wick_scope scope = wick_scope_open(r->c);
        double value = ping_pong(r, streams, event, 20);
        if (check_context(r, "streams of operators", "20 additions"))
            check_that(r, value == 1048576, "streams of operators", "value", "got %g, wanted 1048576", value);
        wick_scope_close(r->c, scope);
    }
    wick_event_release(event);
    wick_stream_release(streams[0]);
    wick_stream_release(streams[1]);
    check_status(r, wick_synchronize(r->runtime, r->device), "synchronize", "");
}
