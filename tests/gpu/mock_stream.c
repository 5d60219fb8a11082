/* Streams as threads with a queue, events as marks in it, graphs as lists of tasks. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mock_hip.h"

/* One recording of an event. A wait that was put before the event is recorded again keeps the old one. */
typedef struct mock_mark {
    atomic_int references;
    bool done;
    double milliseconds;
} mock_mark;

struct mock_event {
    unsigned flags;
    mock_mark *mark;            /* NULL: never recorded, which counts as done */
    const mock_graph *captured; /* recorded inside a capture: of no use outside */
};

struct mock_graph {
    atomic_int references;
    mock_task *first, **end;
};

struct mock_stream {
    int device;
    pthread_t thread;
    mock_task *first, **end;
    bool busy, closing;
    int error; /* of work that failed; told by the next wait */
    mock_graph *capture;
    mock_stream *next;
};

/* One lock and one condition for everything: tests are small. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static mock_stream *streams;
static _Thread_local int thread_captures;

/* ---- tasks ---- */
static double now_milliseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void mark_release(mock_mark *mark) {
    if (mark && atomic_fetch_sub(&mark->references, 1) == 1) free(mark);
}

static void graph_release(mock_graph *graph);

static void task_free(mock_task *task) {
    mark_release(task->mark);
    if (task->graph) graph_release(task->graph);
    free(task->payload);
    free(task);
}

static void graph_release(mock_graph *graph) {
    if (atomic_fetch_sub(&graph->references, 1) != 1) return;
    for (mock_task *t = graph->first, *next; t; t = next) {
        next = t->next;
        task_free(t);
    }
    free(graph);
}

static mock_graph *graph_new(void) {
    mock_graph *graph = calloc(1, sizeof *graph);
    if (!graph) return NULL;
    atomic_init(&graph->references, 1);
    graph->end = &graph->first;
    return graph;
}

static int run_launch(const mock_task *t) {
    int result = t->launch(t->kernel, t->grid, t->block, t->shared, t->payload);
    return result == GPU_EMULATE_DONE        ? MOCK_SUCCESS
           : result == GPU_EMULATE_NO_MEMORY ? MOCK_OUT_OF_MEMORY
                                             : MOCK_LAUNCH_FAILURE;
}

static void run_mark(const mock_task *t) {
    pthread_mutex_lock(&lock);
    t->mark->done = true;
    t->mark->milliseconds = now_milliseconds();
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void run_wait(const mock_task *t) {
    pthread_mutex_lock(&lock);
    while (!t->mark->done) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static int run_task(const mock_task *t);

static int run_graph(const mock_graph *graph) {
    int result = MOCK_SUCCESS;
    for (const mock_task *t = graph->first; t && !result; t = t->next) result = run_task(t);
    return result;
}

/* "asynchronous" in MOCK_HIP_FAIL: work that was taken and fails later. */
static int run_task(const mock_task *t) {
    int forced = t->kind == MOCK_MARK || t->kind == MOCK_WAIT ? 0 : mock_enter("asynchronous");
    if (forced) return forced;
    switch (t->kind) {
    case MOCK_COPY: memmove(t->to, t->payload ? t->payload : t->from, t->bytes); break;
    case MOCK_SET: memset(t->to, t->value, t->bytes); break;
    case MOCK_LAUNCH: return run_launch(t);
    case MOCK_MARK: run_mark(t); break;
    case MOCK_WAIT: run_wait(t); break;
    case MOCK_REPLAY: return run_graph(t->graph);
    }
    return MOCK_SUCCESS;
}

/* ---- queues ---- */
static void *work(void *user) {
    mock_stream *s = user;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!s->first && !s->closing) pthread_cond_wait(&changed, &lock);
        mock_task *t = s->first;
        if (!t) break;
        if (!(s->first = t->next)) s->end = &s->first;
        s->busy = true;
        pthread_mutex_unlock(&lock);
        int result = run_task(t);
        task_free(t);
        pthread_mutex_lock(&lock);
        s->busy = false;
        if (result && !s->error) s->error = result;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void append(mock_task ***end, mock_task *task) {
    task->next = NULL;
    **end = task;
    *end = &task->next;
}

int mock_put(mock_stream *s, const mock_task *task) {
    mock_task *copy = malloc(sizeof *copy);
    if (!copy) {
        free(task->payload);
        return MOCK_OUT_OF_MEMORY;
    }
    *copy = *task;
    pthread_mutex_lock(&lock);
    append(s->capture ? &s->capture->end : &s->end, copy);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return MOCK_SUCCESS;
}

bool mock_is_capturing(const mock_stream *s) {
    pthread_mutex_lock(&lock);
    bool capturing = s->capture != NULL;
    pthread_mutex_unlock(&lock);
    return capturing;
}

bool mock_thread_captures(void) { return thread_captures > 0; }

/* The lock is held. */
static int wait_idle(mock_stream *s) {
    while (s->first || s->busy) pthread_cond_wait(&changed, &lock);
    int error = s->error;
    s->error = 0;
    return error;
}

int mock_stream_wait_idle(mock_stream *s) {
    pthread_mutex_lock(&lock);
    int result = s->capture ? MOCK_CAPTURE_UNSUPPORTED : wait_idle(s);
    pthread_mutex_unlock(&lock);
    return result;
}

int mock_wait_device(int device) {
    int result = MOCK_SUCCESS;
    pthread_mutex_lock(&lock);
    for (mock_stream *s = streams; s; s = s->next) {
        int error = device < 0 || s->device == device ? wait_idle(s) : 0;
        if (error && !result) result = error;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* ---- streams ---- */
MOCK_API int hipStreamCreateWithPriority(mock_stream **out, unsigned flags, int priority) {
    MOCK_ENTER("hipStreamCreateWithPriority");
    mock_stream *s = calloc(1, sizeof *s);
    if (!s) return MOCK_OUT_OF_MEMORY;
    s->device = mock_current_device();
    s->end = &s->first;
    if (pthread_create(&s->thread, NULL, work, s)) {
        free(s);
        return MOCK_OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&lock);
    s->next = streams;
    streams = s;
    pthread_mutex_unlock(&lock);
    *out = s;
    return MOCK_SUCCESS;
}

MOCK_API int hipStreamDestroy(mock_stream *s) {
    MOCK_ENTER("hipStreamDestroy");
    if (!s) return MOCK_INVALID_HANDLE;
    pthread_mutex_lock(&lock);
    mock_stream **at = &streams;
    while (*at && *at != s) at = &(*at)->next;
    if (*at) *at = s->next;
    s->closing = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(s->thread, NULL);
    if (s->capture) graph_release(s->capture);
    free(s);
    return MOCK_SUCCESS;
}

MOCK_API int hipStreamSynchronize(mock_stream *s) {
    MOCK_ENTER("hipStreamSynchronize");
    return s ? mock_stream_wait_idle(s) : MOCK_INVALID_HANDLE;
}

MOCK_API int hipStreamQuery(mock_stream *s) {
    MOCK_ENTER("hipStreamQuery");
    if (!s) return MOCK_INVALID_HANDLE;
    pthread_mutex_lock(&lock);
    int result = s->capture ? MOCK_CAPTURE_UNSUPPORTED : s->first || s->busy ? MOCK_NOT_READY : s->error;
    pthread_mutex_unlock(&lock);
    return result;
}

/* ---- events ---- */
#define DISABLE_TIMING 2

MOCK_API int hipEventCreateWithFlags(mock_event **out, unsigned flags) {
    MOCK_ENTER("hipEventCreateWithFlags");
    mock_event *e = calloc(1, sizeof *e);
    if (!e) return MOCK_OUT_OF_MEMORY;
    e->flags = flags;
    *out = e;
    return MOCK_SUCCESS;
}

MOCK_API int hipEventDestroy(mock_event *e) {
    MOCK_ENTER("hipEventDestroy");
    if (!e) return MOCK_INVALID_HANDLE;
    mark_release(e->mark);
    free(e);
    return MOCK_SUCCESS;
}

MOCK_API int hipEventRecord(mock_event *e, mock_stream *s) {
    MOCK_ENTER("hipEventRecord");
    if (!e || !s) return MOCK_INVALID_HANDLE;
    mock_mark *mark = calloc(1, sizeof *mark);
    if (!mark) return MOCK_OUT_OF_MEMORY;
    atomic_init(&mark->references, 2); /* the event's and the task's */
    pthread_mutex_lock(&lock);
    mock_mark *old = e->mark;
    e->mark = mark;
    e->captured = s->capture;
    pthread_mutex_unlock(&lock);
    mark_release(old);
    return mock_put(s, &(mock_task){.kind = MOCK_MARK, .mark = mark});
}

MOCK_API int hipStreamWaitEvent(mock_stream *s, mock_event *e, unsigned flags) {
    MOCK_ENTER("hipStreamWaitEvent");
    if (!e || !s) return MOCK_INVALID_HANDLE;
    pthread_mutex_lock(&lock);
    mock_mark *mark = e->mark;
    bool foreign = mark && e->captured != s->capture;
    if (mark && !foreign) atomic_fetch_add(&mark->references, 1);
    pthread_mutex_unlock(&lock);
    if (foreign) return MOCK_CAPTURE_ISOLATION;
    return mark ? mock_put(s, &(mock_task){.kind = MOCK_WAIT, .mark = mark}) : MOCK_SUCCESS;
}

MOCK_API int hipEventSynchronize(mock_event *e) {
    MOCK_ENTER("hipEventSynchronize");
    if (!e) return MOCK_INVALID_HANDLE;
    pthread_mutex_lock(&lock);
    int result = e->captured ? MOCK_CAPTURE_UNSUPPORTED : MOCK_SUCCESS;
    while (!result && e->mark && !e->mark->done) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return result;
}

MOCK_API int hipEventQuery(mock_event *e) {
    MOCK_ENTER("hipEventQuery");
    if (!e) return MOCK_INVALID_HANDLE;
    pthread_mutex_lock(&lock);
    int result = e->captured ? MOCK_CAPTURE_UNSUPPORTED : e->mark && !e->mark->done ? MOCK_NOT_READY : MOCK_SUCCESS;
    pthread_mutex_unlock(&lock);
    return result;
}

MOCK_API int hipEventElapsedTime(float *out, const mock_event *start, const mock_event *end) {
    MOCK_ENTER("hipEventElapsedTime");
    if (!start || !end || !start->mark || !end->mark || (start->flags | end->flags) & DISABLE_TIMING)
        return MOCK_INVALID_HANDLE;
    pthread_mutex_lock(&lock);
    bool done = start->mark->done && end->mark->done;
    *out = done ? (float)(end->mark->milliseconds - start->mark->milliseconds) : 0;
    pthread_mutex_unlock(&lock);
    return done ? MOCK_SUCCESS : MOCK_NOT_READY;
}

/* ---- graphs: a task list; an instance is another reference to it ---- */
#define MODE_RELAXED 2

MOCK_API int hipStreamBeginCapture(mock_stream *s, int mode) {
    MOCK_ENTER("hipStreamBeginCapture");
    mock_graph *graph = s ? graph_new() : NULL;
    if (!graph) return s ? MOCK_OUT_OF_MEMORY : MOCK_INVALID_HANDLE;
    pthread_mutex_lock(&lock);
    bool again = s->capture != NULL;
    if (!again) s->capture = graph;
    pthread_mutex_unlock(&lock);
    if (again) graph_release(graph);
    if (!again && mode != MODE_RELAXED) ++thread_captures;
    return again ? MOCK_CAPTURE_UNSUPPORTED : MOCK_SUCCESS;
}

/* A failure ends the capture, too. */
MOCK_API int hipStreamEndCapture(mock_stream *s, mock_graph **out) {
    int forced = mock_enter("hipStreamEndCapture");
    if (!s) return MOCK_INVALID_HANDLE;
    pthread_mutex_lock(&lock);
    mock_graph *graph = s->capture;
    s->capture = NULL;
    pthread_mutex_unlock(&lock);
    if (!graph) return MOCK_CAPTURE_UNMATCHED;
    if (thread_captures) --thread_captures;
    if (forced)
        graph_release(graph);
    else
        *out = graph;
    return forced;
}

MOCK_API int hipStreamIsCapturing(const mock_stream *s, int *out) {
    MOCK_ENTER("hipStreamIsCapturing");
    if (!s) return MOCK_INVALID_HANDLE;
    *out = mock_is_capturing(s);
    return MOCK_SUCCESS;
}

MOCK_API int hipGraphInstantiateWithFlags(mock_graph **out, mock_graph *graph, unsigned long long flags) {
    MOCK_ENTER("hipGraphInstantiateWithFlags");
    if (!graph) return MOCK_INVALID_HANDLE;
    atomic_fetch_add(&graph->references, 1);
    *out = graph;
    return MOCK_SUCCESS;
}

MOCK_API int hipGraphLaunch(mock_graph *graph, mock_stream *s) {
    MOCK_ENTER("hipGraphLaunch");
    if (!graph || !s) return MOCK_INVALID_HANDLE;
    atomic_fetch_add(&graph->references, 1);
    return mock_put(s, &(mock_task){.kind = MOCK_REPLAY, .graph = graph});
}

MOCK_API int hipGraphDestroy(mock_graph *graph) {
    MOCK_ENTER("hipGraphDestroy");
    if (graph) graph_release(graph);
    return graph ? MOCK_SUCCESS : MOCK_INVALID_HANDLE;
}

MOCK_API int hipGraphExecDestroy(mock_graph *graph) {
    MOCK_ENTER("hipGraphExecDestroy");
    if (graph) graph_release(graph);
    return graph ? MOCK_SUCCESS : MOCK_INVALID_HANDLE;
}
