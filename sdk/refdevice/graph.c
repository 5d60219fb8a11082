/* Graphs: the tasks that were put on a stream while it was captured, run again in their order by every launch. Events
 * are no part of a graph: they mark and wait for what is really on the stream. */
#include "refdevice.h"

struct ref_graph {
    ref_device *device;
    ref_task *first, **last;
};

void ref_graph_append(ref_graph *graph, ref_task *task) {
    *graph->last = task;
    graph->last = &task->next;
}

static void destroy(void *instance, int32_t index, void *handle) {
    ref_graph *graph = handle;
    for (ref_task *task = graph->first, *next; task; task = next) {
        next = task->next;
        ref_task_delete(instance, task);
    }
    ref_free(instance, graph);
}

static wick_status *capture_begin(void *instance, int32_t index, void *handle) {
    ref_instance *self = instance;
    ref_stream *stream;
    WICK_TRY(ref_stream_of(&self->devices[index], handle, &stream));
    ref_graph *graph = ref_allocate(self, sizeof *graph);
    if (!graph) return REF_ERROR(self, WICK_OUT_OF_MEMORY, "%s: no host memory for a graph", self->device_name);
    *graph = (ref_graph){.device = &self->devices[index], .last = &graph->first};
    ref_graph *before = ref_stream_capture(stream, graph);
    if (!before) return NULL;
    ref_stream_capture(stream, before);
    destroy(self, index, graph);
    return REF_ERROR(self, WICK_FAILED_PRECONDITION, "%s:%d: the stream is being captured already", self->device_name,
                     index);
}

static wick_status *capture_end(void *instance, int32_t index, void *handle, void **out) {
    ref_instance *self = instance;
    ref_stream *stream;
    WICK_TRY(ref_stream_of(&self->devices[index], handle, &stream));
    ref_graph *graph = ref_stream_capture(stream, NULL);
    if (!graph)
        return REF_ERROR(self, WICK_FAILED_PRECONDITION, "%s:%d: the stream is not being captured", self->device_name,
                         index);
    *out = graph;
    return NULL;
}

/* ---- launch: one task that runs the others ---- */
typedef struct replay {
    ref_graph *graph;
    ref_stream *stream;
} replay;

static wick_status *run_replay(ref_device *device, const void *payload) {
    const replay *r = payload;
    for (ref_task *task = r->graph->first; task; task = task->next) WICK_TRY(ref_task_run(r->stream, task));
    return NULL;
}

static wick_status *launch(void *instance, int32_t index, void *handle, void *stream_handle) {
    ref_instance *self = instance;
    ref_stream *stream;
    WICK_TRY(ref_stream_of(&self->devices[index], stream_handle, &stream));
    ref_task *task = ref_task_new(self, "graph", NULL, run_replay, sizeof(replay));
    if (!task) return REF_ERROR(self, WICK_OUT_OF_MEMORY, "%s: no host memory for a launch", self->device_name);
    *(replay *)ref_task_payload(task) = (replay){handle, stream};
    task->control = true; /* what it runs is counted and delayed */
    return ref_submit(stream, task);
}

const wick_graph_interface ref_graph_interface = {
    .struct_size = sizeof ref_graph_interface,
    .capture_begin = capture_begin,
    .capture_end = capture_end,
    .launch = launch,
    .destroy = destroy,
};
