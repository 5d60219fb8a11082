/* Events: counters that tasks move. A record puts a task on the stream that marks the event; a wait puts one on another
 * stream that waits for the mark. Both hold a reference, so that an event may be destroyed while they are pending. */
#include "refdevice.h"

typedef struct event {
    const ref_instance *self;
    atomic_int references;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t marked;
    uint64_t recorded, done; /* numbers of records: the newest asked for, the newest reached */
    uint64_t time_ns;        /* of the newest reached */
} event;

/* A record or a wait: the event and which record is meant. */
typedef struct mark {
    event *event;
    uint64_t number;
} mark;

static void drop(event *e) {
    if (atomic_fetch_sub(&e->references, 1) != 1) return;
    pthread_cond_destroy(&e->marked);
    pthread_mutex_destroy(&e->lock);
    ref_free(e->self, e);
}

static wick_status *create(void *instance, int32_t index, uint32_t flags, void **out) {
    ref_instance *self = instance;
    event *e = ref_allocate(self, sizeof *e);
    if (!e) return REF_ERROR(self, WICK_OUT_OF_MEMORY, "%s:%d: no host memory for an event", self->device_name, index);
    *e = (event){.self = self, .references = 1};
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->marked, NULL);
    *out = e;
    return NULL;
}

static void destroy(void *instance, int32_t index, void *handle) { drop(handle); }

/* ---- on the workers ---- */
static wick_status *run_record(ref_device *device, const void *payload) {
    const mark *m = payload;
    pthread_mutex_lock(&m->event->lock);
    if (m->number > m->event->done) m->event->done = m->number, m->event->time_ns = ref_now_ns();
    pthread_cond_broadcast(&m->event->marked);
    pthread_mutex_unlock(&m->event->lock);
    return NULL;
}

static void wait_for(event *e, uint64_t number) {
    pthread_mutex_lock(&e->lock);
    while (e->done < number) pthread_cond_wait(&e->marked, &e->lock);
    pthread_mutex_unlock(&e->lock);
}

static wick_status *run_wait(ref_device *device, const void *payload) {
    const mark *m = payload;
    wait_for(m->event, m->number);
    return NULL;
}

static void discard(const ref_instance *self, void *payload) { drop(((mark *)payload)->event); }

/* ---- on the host's threads ---- */
static uint64_t newest(event *e) {
    pthread_mutex_lock(&e->lock);
    uint64_t number = e->recorded;
    pthread_mutex_unlock(&e->lock);
    return number;
}

static wick_status *put(ref_stream *stream, event *e, uint64_t number, ref_run_fn run, const char *name) {
    const ref_instance *self = e->self;
    ref_task *task = ref_task_new(self, name, NULL, run, sizeof(mark));
    if (!task) return REF_ERROR(self, WICK_OUT_OF_MEMORY, "%s: no host memory for an event's task", self->device_name);
    *(mark *)ref_task_payload(task) = (mark){e, number};
    atomic_fetch_add(&e->references, 1);
    task->discard = discard, task->control = true;
    return ref_submit(stream, task);
}

static wick_status *record(void *instance, int32_t index, void *handle, void *stream_handle) {
    event *e = handle;
    ref_stream *stream;
    WICK_TRY(ref_stream_of(&((ref_instance *)instance)->devices[index], stream_handle, &stream));
    pthread_mutex_lock(&e->lock);
    uint64_t number = e->recorded + 1;
    pthread_mutex_unlock(&e->lock);
    WICK_TRY(put(stream, e, number, run_record, "event record"));
    pthread_mutex_lock(&e->lock);
    if (number > e->recorded) e->recorded = number;
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

/* An event that was never recorded holds nobody up. */
static wick_status *wait_on_stream(void *instance, int32_t index, void *handle, void *stream_handle) {
    ref_stream *stream;
    WICK_TRY(ref_stream_of(&((ref_instance *)instance)->devices[index], stream_handle, &stream));
    uint64_t number = newest(handle);
    return number ? put(stream, handle, number, run_wait, "event wait") : NULL;
}

static wick_status *synchronize(void *instance, int32_t index, void *handle) {
    wait_for(handle, newest(handle));
    return ref_check_alive(&((ref_instance *)instance)->devices[index]);
}

static wick_status *query(void *instance, int32_t index, void *handle, bool *out_done) {
    event *e = handle;
    pthread_mutex_lock(&e->lock);
    *out_done = e->done >= e->recorded;
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

static wick_status *elapsed(void *instance, int32_t index, void *start, void *end, double *out_milliseconds) {
    ref_instance *self = instance;
    event *events[2] = {start, end};
    uint64_t times[2];
    for (int i = 0; i < 2; ++i) {
        pthread_mutex_lock(&events[i]->lock);
        bool done = events[i]->done && events[i]->done >= events[i]->recorded;
        times[i] = events[i]->time_ns;
        pthread_mutex_unlock(&events[i]->lock);
        if (!done)
            return REF_ERROR(self, WICK_FAILED_PRECONDITION, "%s:%d: the %s event was not recorded or is not done",
                             self->device_name, index, i ? "end" : "start");
    }
    *out_milliseconds = ((double)times[1] - (double)times[0]) * 1e-6;
    return NULL;
}

const wick_event_interface ref_event_interface = {
    .struct_size = sizeof ref_event_interface,
    .create = create,
    .destroy = destroy,
    .record = record,
    .wait = wait_on_stream,
    .synchronize = synchronize,
    .query = query,
    .elapsed = elapsed,
};
