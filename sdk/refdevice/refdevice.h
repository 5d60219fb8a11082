/* The reference device: what its files share. README.md says what it is for and in which order to read the files.
 *
 * Threads: the host's threads put tasks on streams; a stream's worker thread runs them in order. Device memory is
 * touched by workers only. Locks are held for a few instructions and never while a task runs; where two are needed,
 * that of the device comes before that of a stream. (`walking` is held longer: while the streams of a device are
 * waited for.) */
#ifndef REFDEVICE_H
#define REFDEVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <wick/sdk/plugin.h>

#define REF_MAX_DEVICES 8

typedef struct ref_instance ref_instance;
typedef struct ref_device ref_device;
typedef struct ref_stream ref_stream;
typedef struct ref_task ref_task;
typedef struct ref_graph ref_graph;

/* ---- one device ---- */
struct ref_device {
    ref_instance *self;
    int32_t index;
    /* Memory (memory.c): one file without a name, mapped twice. Handles are addresses in `window`, where nobody may
     * read or write; workers find the same bytes at the same distance from `alias`. */
    char *window, *alias;
    uint64_t window_bytes;
    int file;
    pthread_mutex_t lock; /* of what follows */
    struct ref_range *ranges;
    uint64_t used_bytes;
    ref_stream *default_stream; /* made when it is first used */
    ref_stream *streams;        /* all of them */
    pthread_mutex_t walking;    /* held while all streams are waited for, and to take one away */
    atomic_bool lost;
    atomic_llong tasks_done;
};

/* ---- one INI section ---- */
struct ref_instance {
    const wick_host *host;
    wick_registrar *registrar;
    wick_backend backend;
    char device_name[32];
    int64_t device_count;
    int64_t memory_bytes;    /* of each device */
    int64_t delay_us;        /* that each task sleeps before it runs */
    int64_t fail_allocation; /* this raw allocation fails, and its repetition; 0: none */
    int64_t fail_launch;     /* this launch of a kernel fails; 0: none */
    int64_t lose_device;     /* after so many tasks a device is lost; 0: never */
    bool synchronous;        /* no streams: tasks run where they are submitted */
    atomic_llong allocations, launches;
    struct ref_profile *profile;
    ref_device devices[REF_MAX_DEVICES];
};

#define REF_ERROR(self, code, ...) WICK_HOST_ERROR((self)->host, code, __VA_ARGS__)

void *ref_allocate(const ref_instance *self, size_t bytes); /* host memory; NULL when exhausted */
void ref_free(const ref_instance *self, void *pointer);
uint64_t ref_now_ns(void);

/* ---- memory.c ---- */
extern const wick_memory_interface ref_memory_interface;
wick_status *ref_memory_open(ref_device *device);
void ref_memory_close(ref_device *device);
/* Where a worker finds byte `offset` of the memory. */
char *ref_address(const ref_device *device, const wick_memory *memory, uint64_t offset);
uint64_t ref_memory_used(ref_device *device);

/* ---- stream.c ---- */
extern const wick_stream_interface ref_stream_interface;

/* Runs on a worker, possibly more than once (graph.c): `payload` stays as it is. */
typedef wick_status *(*ref_run_fn)(ref_device *device, const void *payload);

/* One piece of work. Its payload lies behind it in the same block. */
struct ref_task {
    ref_task *next;
    const char *name;                                         /* "add.Tensor", "copy": lives as long as the instance */
    const char *category;                                     /* of profiler activities; NULL: none of them */
    uint64_t bytes;                                           /* moved, for the profiler */
    ref_run_fn run;                                           /* control tasks run on a lost device too */
    void (*discard)(const ref_instance *self, void *payload); /* when the task goes. Optional. */
    bool control;                                             /* neither counted nor delayed: markers of events */
};

/* A task with room for a payload, NULL when memory is exhausted. */
ref_task *ref_task_new(const ref_instance *self, const char *name, const char *category, ref_run_fn run,
                       size_t payload_bytes);
void *ref_task_payload(ref_task *task);
void ref_task_delete(const ref_instance *self, ref_task *task);
/* Runs it now, on the calling thread. */
wick_status *ref_task_run(ref_stream *stream, ref_task *task);

/* The stream that a handle of the interface names. */
wick_status *ref_stream_of(ref_device *device, void *handle, ref_stream **out);
/* Puts the task on the stream, which owns it from here on, whatever is returned. */
wick_status *ref_submit(ref_stream *stream, ref_task *task);
/* Waits for the stream and reports the first error of its work since the last report. */
wick_status *ref_stream_finish(ref_stream *stream);
/* The same for all streams of a device, and without reports for those who cannot fail. */
wick_status *ref_device_finish(ref_device *device);
void ref_device_drain(ref_device *device);
wick_status *ref_check_alive(const ref_device *device);
ref_device *ref_stream_device(const ref_stream *stream);
void ref_streams_close(ref_device *device);
/* FAILED_PRECONDITION while the stream is captured: for what must wait. */
wick_status *ref_stream_refuse_capture(ref_stream *stream);
/* Tasks but those of events go to the graph instead of the worker until the graph is NULL again; returns the one
 * before. */
ref_graph *ref_stream_capture(ref_stream *stream, ref_graph *graph);

/* ---- event.c, graph.c, profiler.c, policy.c ---- */
extern const wick_event_interface ref_event_interface;
extern const wick_graph_interface ref_graph_interface;
extern const wick_profiler_interface ref_profiler_interface;
extern const wick_generator_interface ref_generator_interface;
extern const wick_autocast_interface ref_autocast_interface;
void ref_graph_append(ref_graph *graph, ref_task *task);
wick_status *ref_profile_open(ref_instance *self);
void ref_profile_close(ref_instance *self);
void ref_profile_add(ref_stream *stream, const ref_task *task, uint64_t start_ns, uint64_t end_ns);

#endif
