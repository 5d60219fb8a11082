/* Streams are in-order command queues; events are markers in them. */
#include "opencl.h"

/* ---- streams ---- */
static wick_status *stream_create(void *instance, int32_t index, int32_t priority, void **out) {
    ocl *self = instance;
    cl_int code;
    WICK_TRY(ocl_ready(self));
    ocl_line *line = self->host->allocate(self->registrar, sizeof *line);
    if (!line) return WICK_HOST_ERROR(self->host, WICK_OUT_OF_MEMORY, "opencl: no memory for a stream");
    *line = (ocl_line){.queue = NULL};
    line->queue =
        self->api.clCreateCommandQueue(self->context, self->devices[index].id, CL_QUEUE_PROFILING_ENABLE, &code);
    if (!code) return *out = line, NULL;
    self->host->free(self->registrar, line);
    return ocl_error(self, code, "clCreateCommandQueue");
}

static void stream_destroy(void *instance, int32_t index, void *stream) {
    const ocl *self = instance;
    ocl_line *line = stream;
    self->api.clReleaseCommandQueue(line->queue);
    self->host->free(self->registrar, line);
}

cl_int ocl_finish(ocl *self, ocl_line *line) {
    uint64_t submitted = line->submitted;
    cl_int code = self->api.clFinish(line->queue);
    if (!code) line->finished = submitted;
    return code;
}

static wick_status *stream_synchronize(void *instance, int32_t index, void *stream) {
    ocl *self = instance;
    WICK_TRY(ocl_ready(self));
    ocl_line *line = ocl_line_of(self, index, stream);
    cl_int code = ocl_finish(self, line);
    if (code) return ocl_error(self, code, "at or before clFinish");
    return ocl_check_faults(self, index, line->queue);
}

/* True if the mark has been passed; an error of the work before it is a negative status of OpenCL's. */
static wick_status *passed(const ocl *self, cl_event mark, bool *out) {
    cl_int state = CL_COMPLETE;
    cl_int code = self->api.clGetEventInfo(mark, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    if (!code && state < 0) code = state;
    if (code) return ocl_error(self, code, "at or before an event");
    *out = state == CL_COMPLETE;
    return NULL;
}

static cl_int mark_queue(const ocl *self, cl_command_queue queue, cl_event *out) {
    cl_int code = self->api.clEnqueueMarkerWithWaitList(queue, 0, NULL, out);
    return code ? code : self->api.clFlush(queue);
}

/* A marker in an empty queue is not passed at once: that nothing came after the last wait is known without one. */
static wick_status *stream_query(void *instance, int32_t index, void *stream, bool *out_idle) {
    ocl *self = instance;
    cl_event mark;
    WICK_TRY(ocl_ready(self));
    ocl_line *line = ocl_line_of(self, index, stream);
    *out_idle = line->submitted == line->finished;
    if (*out_idle) return NULL;
    cl_int code = mark_queue(self, line->queue, &mark);
    if (code) return ocl_error(self, code, "clEnqueueMarkerWithWaitList");
    wick_status *status = passed(self, mark, out_idle);
    self->api.clReleaseEvent(mark);
    return status;
}

const wick_stream_interface ocl_stream = {
    .struct_size = sizeof ocl_stream,
    .create = stream_create,
    .destroy = stream_destroy,
    .synchronize = stream_synchronize,
    .query = stream_query,
};

/* ---- events ---- */
typedef struct event {
    cl_event mark; /* NULL: never recorded, which counts as done */
} event;

static wick_status *event_create(void *instance, int32_t index, uint32_t flags, void **out) {
    const ocl *self = instance;
    event *e = self->host->allocate(self->registrar, sizeof *e);
    if (!e) return WICK_HOST_ERROR(self->host, WICK_OUT_OF_MEMORY, "opencl: no memory for an event");
    e->mark = NULL, *out = e;
    return NULL;
}

static void forget_mark(const ocl *self, event *e) {
    if (e->mark) self->api.clReleaseEvent(e->mark);
    e->mark = NULL;
}

static void event_destroy(void *instance, int32_t index, void *handle) {
    const ocl *self = instance;
    forget_mark(self, handle);
    self->host->free(self->registrar, handle);
}

static wick_status *event_record(void *instance, int32_t index, void *handle, void *stream) {
    ocl *self = instance;
    event *e = handle;
    cl_event mark;
    WICK_TRY(ocl_ready(self));
    cl_int code = mark_queue(self, ocl_line_of(self, index, stream)->queue, &mark);
    if (code) return ocl_error(self, code, "clEnqueueMarkerWithWaitList");
    forget_mark(self, e);
    e->mark = mark;
    return NULL;
}

static wick_status *event_wait(void *instance, int32_t index, void *handle, void *stream) {
    ocl *self = instance;
    const event *e = handle;
    ocl_line *line = ocl_line_of(self, index, stream);
    if (!e->mark) return NULL;
    cl_int code = self->api.clEnqueueBarrierWithWaitList(line->queue, 1, &e->mark, NULL);
    ++line->submitted;
    return code ? ocl_error(self, code, "clEnqueueBarrierWithWaitList") : NULL;
}

static wick_status *event_synchronize(void *instance, int32_t index, void *handle) {
    const ocl *self = instance;
    const event *e = handle;
    if (!e->mark) return NULL;
    cl_int code = self->api.clWaitForEvents(1, &e->mark);
    return code ? ocl_error(self, code, "at or before clWaitForEvents") : NULL;
}

static wick_status *event_query(void *instance, int32_t index, void *handle, bool *out_done) {
    const ocl *self = instance;
    const event *e = handle;
    *out_done = true;
    return e->mark ? passed(self, e->mark, out_done) : NULL;
}

static wick_status *event_elapsed(void *instance, int32_t index, void *start, void *end, double *out_milliseconds) {
    const ocl *self = instance;
    const event *from = start, *to = end;
    cl_ulong begin = 0, finish = 0;
    if (!from->mark || !to->mark)
        return WICK_HOST_ERROR(self->host, WICK_FAILED_PRECONDITION, "elapsed: an event was never recorded");
    cl_int code = self->api.clGetEventProfilingInfo(from->mark, CL_PROFILING_COMMAND_END, sizeof begin, &begin, NULL);
    if (!code)
        code = self->api.clGetEventProfilingInfo(to->mark, CL_PROFILING_COMMAND_END, sizeof finish, &finish, NULL);
    if (code) return ocl_error(self, code, "clGetEventProfilingInfo");
    *out_milliseconds = ((double)finish - (double)begin) * 1e-6;
    return NULL;
}

const wick_event_interface ocl_event = {
    .struct_size = sizeof ocl_event,
    .create = event_create,
    .destroy = event_destroy,
    .record = event_record,
    .wait = event_wait,
    .synchronize = event_synchronize,
    .query = event_query,
    .elapsed = event_elapsed,
};
