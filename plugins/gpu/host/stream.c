/* Streams, events, graphs: the driver's own. */
#include "gpu.h"

static wick_status *use(gpu_instance *gpu, int32_t index) {
    return gpu_check(gpu, gpu->vendor->make_current(&gpu->devices[index]), "using the device");
}

static void *stream_of(const gpu_instance *gpu, int32_t index, void *stream) {
    return gpu_stream(&gpu->devices[index], stream);
}

/* Done, or not yet, or an error. */
static wick_status *answer(const gpu_instance *gpu, int result, const char *what, bool *out) {
    *out = result == GPU_SUCCESS;
    return result == GPU_NOT_READY ? NULL : gpu_check(gpu, result, what);
}

/* ---- streams ---- */
#define NON_BLOCKING 1 /* CU_STREAM_NON_BLOCKING, hipStreamNonBlocking */

static wick_status *stream_create(void *instance, int32_t index, int32_t priority, void **out) {
    gpu_instance *gpu = instance;
    WICK_TRY(use(gpu, index));
    return gpu_check(gpu, gpu->driver.stream_create(out, NON_BLOCKING, priority), "making a stream");
}

static void stream_destroy(void *instance, int32_t index, void *stream) {
    gpu_instance *gpu = instance;
    if (!gpu->vendor->make_current(&gpu->devices[index])) gpu->driver.stream_destroy(stream);
}

static wick_status *stream_synchronize(void *instance, int32_t index, void *stream) {
    gpu_instance *gpu = instance;
    WICK_TRY(use(gpu, index));
    return gpu_check(gpu, gpu->driver.stream_synchronize(stream_of(gpu, index, stream)), "waiting for a stream");
}

static wick_status *stream_query(void *instance, int32_t index, void *stream, bool *out_idle) {
    gpu_instance *gpu = instance;
    WICK_TRY(use(gpu, index));
    return answer(gpu, gpu->driver.stream_query(stream_of(gpu, index, stream)), "asking a stream", out_idle);
}

const wick_stream_interface gpu_stream_interface = {
    .struct_size = sizeof gpu_stream_interface,
    .priority_lowest = 0,
    .priority_highest = -5,
    .create = stream_create,
    .destroy = stream_destroy,
    .synchronize = stream_synchronize,
    .query = stream_query,
};

/* ---- events ---- */
#define DISABLE_TIMING 2 /* CU_EVENT_DISABLE_TIMING, hipEventDisableTiming */

static wick_status *event_create(void *instance, int32_t index, uint32_t flags, void **out) {
    gpu_instance *gpu = instance;
    WICK_TRY(use(gpu, index));
    unsigned driver_flags = flags & WICK_EVENT_TIMING ? 0 : DISABLE_TIMING;
    return gpu_check(gpu, gpu->driver.event_create(out, driver_flags), "making an event");
}

static void event_destroy(void *instance, int32_t index, void *event) {
    gpu_instance *gpu = instance;
    if (!gpu->vendor->make_current(&gpu->devices[index])) gpu->driver.event_destroy(event);
}

static wick_status *event_record(void *instance, int32_t index, void *event, void *stream) {
    gpu_instance *gpu = instance;
    WICK_TRY(use(gpu, index));
    return gpu_check(gpu, gpu->driver.event_record(event, stream_of(gpu, index, stream)), "recording an event");
}

static wick_status *event_wait(void *instance, int32_t index, void *event, void *stream) {
    gpu_instance *gpu = instance;
    WICK_TRY(use(gpu, index));
    return gpu_check(gpu, gpu->driver.stream_wait(stream_of(gpu, index, stream), event, 0), "waiting for an event");
}

static wick_status *event_synchronize(void *instance, int32_t index, void *event) {
    gpu_instance *gpu = instance;
    WICK_TRY(use(gpu, index));
    return gpu_check(gpu, gpu->driver.event_synchronize(event), "waiting for an event");
}

static wick_status *event_query(void *instance, int32_t index, void *event, bool *out_done) {
    gpu_instance *gpu = instance;
    WICK_TRY(use(gpu, index));
    return answer(gpu, gpu->driver.event_query(event), "asking an event", out_done);
}

static wick_status *event_elapsed(void *instance, int32_t index, void *start, void *end, double *out_milliseconds) {
    gpu_instance *gpu = instance;
    float milliseconds = 0;
    WICK_TRY(use(gpu, index));
    GPU_TRY(gpu, gpu->driver.event_elapsed(&milliseconds, start, end), "timing events");
    *out_milliseconds = milliseconds;
    return NULL;
}

const wick_event_interface gpu_event_interface = {
    .struct_size = sizeof gpu_event_interface,
    .create = event_create,
    .destroy = event_destroy,
    .record = event_record,
    .wait = event_wait,
    .synchronize = event_synchronize,
    .query = event_query,
    .elapsed = event_elapsed,
};

/* ---- graphs ---- */
#define CAPTURE_THREAD_LOCAL 1 /* CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, hipStreamCaptureModeThreadLocal */

static wick_status *capture_begin(void *instance, int32_t index, void *stream) {
    gpu_instance *gpu = instance;
    WICK_TRY(use(gpu, index));
    return gpu_check(gpu, gpu->driver.capture_begin(stream_of(gpu, index, stream), CAPTURE_THREAD_LOCAL),
                     "beginning a capture");
}

/* Whatever fails: the capture has ended. */
static wick_status *capture_end(void *instance, int32_t index, void *stream, void **out_graph) {
    gpu_instance *gpu = instance;
    const gpu_driver *driver = &gpu->driver;
    void *graph = NULL, *executable = NULL;
    const char *what = "ending a capture";
    int current = gpu->vendor->make_current(&gpu->devices[index]);
    int result = driver->capture_end(stream_of(gpu, index, stream), &graph);
    if (!result) result = current;
    if (!result) {
        what = "making a graph";
        result = driver->graph_instantiate(&executable, graph, 0);
    }
    if (graph) driver->graph_destroy(graph);
    if (!result) *out_graph = executable;
    return gpu_check(gpu, result, what);
}

static wick_status *graph_launch(void *instance, int32_t index, void *graph, void *stream) {
    gpu_instance *gpu = instance;
    WICK_TRY(use(gpu, index));
    return gpu_check(gpu, gpu->driver.graph_launch(graph, stream_of(gpu, index, stream)), "launching a graph");
}

static void graph_destroy(void *instance, int32_t index, void *graph) {
    gpu_instance *gpu = instance;
    if (!gpu->vendor->make_current(&gpu->devices[index])) gpu->driver.executable_destroy(graph);
}

const wick_graph_interface gpu_graph_interface = {
    .struct_size = sizeof gpu_graph_interface,
    .capture_begin = capture_begin,
    .capture_end = capture_end,
    .launch = graph_launch,
    .destroy = graph_destroy,
};
