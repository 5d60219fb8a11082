/* Streams: a queue of tasks and the worker thread that runs them in order. Errors wait on the stream until somebody
 * synchronizes or copies to the host. With synchronous = yes there is no worker: a task runs where it is submitted. */
#include "refdevice.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

struct ref_stream {
    ref_device *device;
    ref_stream *next; /* of the device's list */
    pthread_t worker;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    ref_task *first, **last; /* the queue */
    uint64_t submitted, completed;
    wick_status *error; /* the first since the last report */
    ref_graph *capture; /* NULL: tasks are run */
    bool stopping;
};

ref_device *ref_stream_device(const ref_stream *stream) { return stream->device; }

uint64_t ref_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* ---- tasks ---- */
#define TASK_BYTES ((sizeof(ref_task) + 15) / 16 * 16)

ref_task *ref_task_new(const ref_instance *self, const char *name, const char *category, ref_run_fn run,
                       size_t payload_bytes) {
    ref_task *task = ref_allocate(self, TASK_BYTES + payload_bytes);
    if (task) *task = (ref_task){.name = name, .category = category, .run = run};
    return task;
}

void *ref_task_payload(ref_task *task) { return (char *)task + TASK_BYTES; }

void ref_task_delete(const ref_instance *self, ref_task *task) {
    if (task->discard) task->discard(self, ref_task_payload(task));
    ref_free(self, task);
}

wick_status *ref_check_alive(const ref_device *device) {
    const ref_instance *self = device->self;
    if (!atomic_load(&device->lost)) return NULL;
    return REF_ERROR(self, WICK_DEVICE_ERROR, "device %s:%d is lost", self->device_name, device->index);
}

wick_status *ref_task_run(ref_stream *stream, ref_task *task) {
    ref_device *device = stream->device;
    const ref_instance *self = device->self;
    if (task->control) return task->run(device, ref_task_payload(task));
    if (self->delay_us) usleep((useconds_t)self->delay_us);
    if (self->lose_device && atomic_fetch_add(&device->tasks_done, 1) >= self->lose_device)
        atomic_store(&device->lost, true);
    WICK_TRY(ref_check_alive(device));
    uint64_t start = ref_now_ns();
    wick_status *status = task->run(device, ref_task_payload(task));
    ref_profile_add(stream, task, start, ref_now_ns());
    return status;
}

/* ---- the worker ---- */
static void keep_first(ref_stream *stream, wick_status *status) {
    if (!stream->error)
        stream->error = status;
    else if (status)
        stream->device->self->host->status_free(status);
}

static void run_unlocked(ref_stream *stream, ref_task *task) {
    pthread_mutex_unlock(&stream->lock);
    wick_status *status = ref_task_run(stream, task);
    ref_task_delete(stream->device->self, task);
    pthread_mutex_lock(&stream->lock);
    keep_first(stream, status);
    ++stream->completed;
    pthread_cond_broadcast(&stream->changed);
}

static void *work(void *argument) {
    ref_stream *stream = argument;
    pthread_mutex_lock(&stream->lock);
    while (stream->first || !stream->stopping) {
        ref_task *task = stream->first;
        if (!task) {
            pthread_cond_wait(&stream->changed, &stream->lock);
            continue;
        }
        stream->first = task->next;
        if (!stream->first) stream->last = &stream->first;
        run_unlocked(stream, task);
    }
    pthread_mutex_unlock(&stream->lock);
    return NULL;
}

static void enqueue(ref_stream *stream, ref_task *task) {
    *stream->last = task;
    stream->last = &task->next;
    pthread_cond_broadcast(&stream->changed);
}

wick_status *ref_submit(ref_stream *stream, ref_task *task) {
    const ref_instance *self = stream->device->self;
    wick_status *lost = task->control ? NULL : ref_check_alive(stream->device);
    if (lost) {
        ref_task_delete(self, task);
        return lost;
    }
    pthread_mutex_lock(&stream->lock);
    if (stream->capture && !task->control) {
        ref_graph_append(stream->capture, task);
    } else {
        ++stream->submitted;
        if (self->synchronous)
            run_unlocked(stream, task);
        else
            enqueue(stream, task);
    }
    pthread_mutex_unlock(&stream->lock);
    return NULL;
}

ref_graph *ref_stream_capture(ref_stream *stream, ref_graph *graph) {
    pthread_mutex_lock(&stream->lock);
    ref_graph *before = stream->capture;
    stream->capture = graph;
    pthread_mutex_unlock(&stream->lock);
    return before;
}

/* ---- life ---- */
static wick_status *open_stream(ref_device *device, ref_stream **out) {
    ref_instance *self = device->self;
    ref_stream *stream = ref_allocate(self, sizeof *stream);
    if (!stream) return REF_ERROR(self, WICK_OUT_OF_MEMORY, "%s: no host memory for a stream", self->device_name);
    memset(stream, 0, sizeof *stream);
    stream->device = device;
    stream->last = &stream->first;
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->changed, NULL);
    int error = self->synchronous ? 0 : pthread_create(&stream->worker, NULL, work, stream);
    if (error) {
        pthread_cond_destroy(&stream->changed);
        pthread_mutex_destroy(&stream->lock);
        ref_free(self, stream);
        return REF_ERROR(self, WICK_UNAVAILABLE, "%s: no thread for a stream: %s", self->device_name, strerror(error));
    }
    *out = stream;
    return NULL;
}

static void close_stream(ref_stream *stream) {
    const ref_instance *self = stream->device->self;
    pthread_mutex_lock(&stream->lock);
    stream->stopping = true;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    if (!self->synchronous) pthread_join(stream->worker, NULL);
    if (stream->error) self->host->status_free(stream->error);
    pthread_cond_destroy(&stream->changed);
    pthread_mutex_destroy(&stream->lock);
    ref_free(self, stream);
}

/* The device is locked. */
static wick_status *open_listed(ref_device *device, ref_stream **out) {
    WICK_TRY(open_stream(device, out));
    (*out)->next = device->streams;
    device->streams = *out;
    return NULL;
}

wick_status *ref_stream_of(ref_device *device, void *handle, ref_stream **out) {
    wick_status *status = NULL;
    *out = handle;
    if (handle) return NULL;
    pthread_mutex_lock(&device->lock);
    if (!device->default_stream) status = open_listed(device, &device->default_stream);
    *out = device->default_stream;
    pthread_mutex_unlock(&device->lock);
    return status;
}

void ref_streams_close(ref_device *device) {
    for (ref_stream *stream = device->streams, *next; stream; stream = next) {
        next = stream->next;
        close_stream(stream);
    }
    device->streams = device->default_stream = NULL;
}

/* ---- waiting ---- */
/* Until all that is on the stream now is done. */
static void wait_idle(ref_stream *stream) {
    pthread_mutex_lock(&stream->lock);
    uint64_t target = stream->submitted;
    while (stream->completed < target) pthread_cond_wait(&stream->changed, &stream->lock);
    pthread_mutex_unlock(&stream->lock);
}

static wick_status *take_error(ref_stream *stream) {
    pthread_mutex_lock(&stream->lock);
    wick_status *error = stream->error;
    stream->error = NULL;
    pthread_mutex_unlock(&stream->lock);
    return error ? error : ref_check_alive(stream->device);
}

wick_status *ref_stream_refuse_capture(ref_stream *stream) {
    const ref_instance *self = stream->device->self;
    pthread_mutex_lock(&stream->lock);
    bool captured = stream->capture != NULL;
    pthread_mutex_unlock(&stream->lock);
    if (!captured) return NULL;
    return REF_ERROR(self, WICK_FAILED_PRECONDITION, "%s:%d: a stream whose work is captured cannot be waited for",
                     self->device_name, stream->device->index);
}

wick_status *ref_stream_finish(ref_stream *stream) {
    WICK_TRY(ref_stream_refuse_capture(stream));
    wait_idle(stream);
    return take_error(stream);
}

/* The first of all streams. Others are added in front only, and none goes while the caller holds `walking`. */
static ref_stream *first_stream(ref_device *device) {
    pthread_mutex_lock(&device->lock);
    ref_stream *first = device->streams;
    pthread_mutex_unlock(&device->lock);
    return first;
}

void ref_device_drain(ref_device *device) {
    pthread_mutex_lock(&device->walking);
    for (ref_stream *s = first_stream(device); s; s = s->next) wait_idle(s);
    pthread_mutex_unlock(&device->walking);
}

wick_status *ref_device_finish(ref_device *device) {
    wick_status *status = NULL;
    pthread_mutex_lock(&device->walking);
    for (ref_stream *s = first_stream(device); s; s = s->next) {
        wick_status *error = ref_stream_finish(s);
        if (!status)
            status = error;
        else if (error)
            device->self->host->status_free(error);
    }
    pthread_mutex_unlock(&device->walking);
    return status ? status : ref_check_alive(device);
}

/* ---- the interface ---- */
static wick_status *create(void *instance, int32_t index, int32_t priority, void **out) {
    ref_device *device = &((ref_instance *)instance)->devices[index];
    ref_stream *stream = NULL;
    WICK_TRY(ref_check_alive(device));
    pthread_mutex_lock(&device->lock);
    wick_status *status = open_listed(device, &stream);
    pthread_mutex_unlock(&device->lock);
    if (!status) *out = stream;
    return status;
}

static void destroy(void *instance, int32_t index, void *handle) {
    ref_device *device = &((ref_instance *)instance)->devices[index];
    ref_stream *stream = handle;
    pthread_mutex_lock(&device->walking);
    pthread_mutex_lock(&device->lock);
    ref_stream **at = &device->streams;
    while (*at && *at != stream) at = &(*at)->next;
    if (*at) *at = stream->next;
    pthread_mutex_unlock(&device->lock);
    pthread_mutex_unlock(&device->walking);
    close_stream(stream);
}

static wick_status *synchronize(void *instance, int32_t index, void *handle) {
    ref_stream *stream;
    WICK_TRY(ref_stream_of(&((ref_instance *)instance)->devices[index], handle, &stream));
    return ref_stream_finish(stream);
}

static wick_status *query(void *instance, int32_t index, void *handle, bool *out_idle) {
    ref_stream *stream;
    WICK_TRY(ref_stream_of(&((ref_instance *)instance)->devices[index], handle, &stream));
    pthread_mutex_lock(&stream->lock);
    *out_idle = stream->completed == stream->submitted;
    pthread_mutex_unlock(&stream->lock);
    return *out_idle ? take_error(stream) : NULL;
}

const wick_stream_interface ref_stream_interface = {
    .struct_size = sizeof ref_stream_interface,
    .create = create,
    .destroy = destroy,
    .synchronize = synchronize,
    .query = query,
};
