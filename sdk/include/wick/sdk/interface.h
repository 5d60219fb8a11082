/* wick/sdk/interface.h: what a backend may offer, each by name and version through wick_backend.get_interface.
 *
 *     "memory" 1       required; raw memory and copies
 *     "stream" 1       asynchronous queues; without it the device is synchronous
 *     "event" 1        points in a stream; without it the core waits for whole streams
 *     "generator" 1    random state in device memory, for captured graphs
 *     "autocast" 1     which operators run in which precision
 *     "profiler" 1     timed activity of the device
 *     "graph" 1        capture and replay of a stream's work
 *     "ipc" 1          memory and events of another process
 *     "collectives" 1  communication among the devices of several processes
 *     "serialization" 1 what a checkpoint keeps of a device's tensors beyond their bytes
 *     "threads" 1      the host's worker threads, of the backend with the host role
 *
 * Every slot takes the instance that register_backend named and, where it concerns a device, its index. There is no
 * current device. A stream is an opaque pointer of the stream interface; NULL is the device's default stream. Unless a
 * comment says otherwise a slot is required, may be called by any thread at any time between create and destroy with no
 * core lock held, and reports errors by status (owned by the caller, made by host->status_make). */
#ifndef WICK_SDK_INTERFACE_H
#define WICK_SDK_INTERFACE_H

#include <wick/runtime.h>
#include <wick/sdk/kernel.h>

/* ---- memory ---- */
enum wick_memory_flag { WICK_MEMORY_ADDRESSABLE = 1 /* the host may read and write wick_memory.data */ };
enum wick_copy_flag {
    /* The host's side is pinned memory that stays until the stream has passed: the copy may return before it is done.
     * Without it the host's bytes are consumed, or there, when the copy returns. */
    WICK_COPY_ASYNC = 1
};

typedef struct wick_memory_interface {
    uint32_t struct_size;
    uint32_t flags;           /* wick_memory_flag */
    uint32_t alignment_bytes; /* of every block: a power of two >= 16 */
    uint32_t reserved;
    /* Raw memory, uninitialized; the core caches. bytes > 0. OUT_OF_MEMORY when there is none: the core then returns
     * its cache and asks again. */
    wick_status *(*allocate)(void *instance, int32_t index, uint64_t bytes, wick_memory *out);
    /* The device may still be working on it if it has streams: wait, or let the driver wait. Cannot fail. */
    void (*free)(void *instance, int32_t index, wick_memory *memory);
    /* Copies in the order of `stream`; offsets are relative to the memory's first byte. Required unless ADDRESSABLE. */
    wick_status *(*copy_from_host)(void *instance, int32_t index, void *stream, const wick_memory *dst, uint64_t offset,
                                   const void *src, uint64_t bytes, uint32_t flags);
    wick_status *(*copy_to_host)(void *instance, int32_t index, void *stream, const wick_memory *src, uint64_t offset,
                                 void *dst, uint64_t bytes, uint32_t flags);
    wick_status *(*copy)(void *instance, int32_t index, void *stream, const wick_memory *dst, uint64_t dst_offset,
                         const wick_memory *src, uint64_t src_offset, uint64_t bytes);
    /* From device src_index to device dst_index of this backend, in the order of `stream`, which is the source's; the
     * core makes the destination's stream wait. Optional: through host memory. */
    wick_status *(*copy_peer)(void *instance, void *stream, int32_t dst_index, const wick_memory *dst,
                              uint64_t dst_offset, int32_t src_index, const wick_memory *src, uint64_t src_offset,
                              uint64_t bytes);
    /* Host memory from which copies may be asynchronous; data is set. Both or neither. Optional: ordinary memory. */
    wick_status *(*allocate_pinned)(void *instance, uint64_t bytes, wick_memory *out);
    void (*free_pinned)(void *instance, wick_memory *memory);
} wick_memory_interface;

/* ---- streams ---- */
typedef struct wick_stream_interface {
    uint32_t struct_size;
    uint32_t flags;          /* 0 */
    int32_t priority_lowest; /* numerically largest; 0 is the default's */
    int32_t priority_highest;
    wick_status *(*create)(void *instance, int32_t index, int32_t priority, void **out_stream);
    /* No work is pending: the core has synchronized. Cannot fail. */
    void (*destroy)(void *instance, int32_t index, void *stream);
    /* Waits for all work of the stream. Errors of that work appear here. */
    wick_status *(*synchronize)(void *instance, int32_t index, void *stream);
    /* Sets *out_idle without waiting. */
    wick_status *(*query)(void *instance, int32_t index, void *stream, bool *out_idle);
} wick_stream_interface;

/* ---- events ---- */
enum wick_event_flag { WICK_EVENT_TIMING = 1 /* elapsed() may be asked */ };

typedef struct wick_event_interface {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    wick_status *(*create)(void *instance, int32_t index, uint32_t flags, void **out_event);
    void (*destroy)(void *instance, int32_t index, void *event); /* pending or not; cannot fail */
    /* Marks all work that is on the stream now (NULL: the default one of device `index`, the event's own); an earlier
     * mark is forgotten. An event that was never recorded is done: waits for it return at once. */
    wick_status *(*record)(void *instance, int32_t index, void *event, void *stream);
    /* Work put on `stream` afterwards waits for the event; the host does not. `index` is the device of the stream,
     * which may be another one of this backend than the event's: NULL is its default stream. */
    wick_status *(*wait)(void *instance, int32_t index, void *event, void *stream);
    wick_status *(*synchronize)(void *instance, int32_t index, void *event); /* the host waits */
    wick_status *(*query)(void *instance, int32_t index, void *event, bool *out_done);
    /* Between two done events made with TIMING. Optional: not supported. */
    wick_status *(*elapsed)(void *instance, int32_t index, void *start, void *end, double *out_milliseconds);
} wick_event_interface;

/* ---- generator ---- */
typedef struct wick_generator_interface {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    /* Writes {seed, offset} as two uint64 to 16 bytes of device memory, in the order of the stream. A kernel that is
     * captured in a graph reads its state from there instead of from the call. */
    wick_status *(*write_state)(void *instance, int32_t index, void *stream, const wick_memory *state,
                                uint64_t offset_bytes, const wick_philox *philox);
} wick_generator_interface;

/* ---- autocast ---- */
typedef enum wick_autocast_rule {
    WICK_AUTOCAST_LOWER = 1,   /* runs in the lower precision: matmul, conv */
    WICK_AUTOCAST_F32 = 2,     /* runs in f32: exp, sum, softmax, losses */
    WICK_AUTOCAST_PROMOTE = 3, /* runs in the widest dtype of its inputs */
    WICK_AUTOCAST_KEEP = 4     /* as without autocast */
} wick_autocast_rule;

typedef struct wick_autocast_row {
    const char *op; /* "mm" */
    uint32_t rule;  /* wick_autocast_rule */
    uint32_t reserved;
} wick_autocast_row;

/* A table, no code: rows differ from the core's own policy. */
typedef struct wick_autocast_interface {
    uint32_t struct_size;
    uint32_t dtypes;        /* WICK_DTYPE_BITs that autocast may lower to here */
    uint32_t default_dtype; /* wick_dtype */
    uint32_t row_count;
    const wick_autocast_row *rows;
} wick_autocast_interface;

/* ---- profiler ---- */
typedef struct wick_activity {
    uint32_t struct_size;
    int32_t index;        /* of the device */
    const char *name;     /* kernel or copy; lent for the call */
    const char *category; /* "kernel", "copy", "synchronize", ... */
    void *stream;
    uint64_t start_ns; /* CLOCK_MONOTONIC */
    uint64_t end_ns;
    uint64_t correlation; /* of the launching call, 0 if unknown */
    uint64_t bytes;       /* moved, 0 if unknown */
} wick_activity;
typedef void (*wick_activity_fn)(void *user, const wick_activity *activity);

typedef struct wick_profiler_interface {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    /* From start to stop every activity of all devices is collected. FAILED_PRECONDITION if started already. */
    wick_status *(*start)(void *instance);
    /* Waits for the devices, hands out what was collected in order of start time, and forgets it. */
    wick_status *(*stop)(void *instance, wick_activity_fn sink, void *user);
} wick_profiler_interface;

/* ---- graphs ---- */
typedef struct wick_graph_interface {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    /* Work put on the stream is recorded instead of run, until end. No raw allocation, free or query happens between. */
    wick_status *(*capture_begin)(void *instance, int32_t index, void *stream);
    /* Ends the capture, on failure too; *out_graph can be launched any number of times, one launch at a time. */
    wick_status *(*capture_end)(void *instance, int32_t index, void *stream, void **out_graph);
    wick_status *(*launch)(void *instance, int32_t index, void *graph, void *stream);
    void (*destroy)(void *instance, int32_t index, void *graph); /* no launch is pending; cannot fail */
} wick_graph_interface;

/* ---- other processes ---- */
#define WICK_IPC_HANDLE_BYTES 64
typedef struct wick_ipc_handle {
    uint8_t bytes[WICK_IPC_HANDLE_BYTES];
} wick_ipc_handle;

typedef struct wick_ipc_interface {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    wick_status *(*export_memory)(void *instance, int32_t index, const wick_memory *memory, wick_ipc_handle *out);
    /* The memory of another process, until close_memory. */
    wick_status *(*open_memory)(void *instance, int32_t index, const wick_ipc_handle *handle, wick_memory *out);
    void (*close_memory)(void *instance, int32_t index, wick_memory *memory);
    /* Optional, both or neither: events. */
    wick_status *(*export_event)(void *instance, int32_t index, void *event, wick_ipc_handle *out);
    wick_status *(*open_event)(void *instance, int32_t index, const wick_ipc_handle *handle, void **out_event);
} wick_ipc_interface;

/* ---- collectives ---- */
typedef enum wick_reduce_op {
    WICK_REDUCE_SUM = 0,
    WICK_REDUCE_PRODUCT = 1,
    WICK_REDUCE_MIN = 2,
    WICK_REDUCE_MAX = 3,
    WICK_REDUCE_AVERAGE = 4
} wick_reduce_op;

#define WICK_COMMUNICATOR_ID_BYTES 128
typedef struct wick_communicator_id {
    uint8_t bytes[WICK_COMMUNICATOR_ID_BYTES];
} wick_communicator_id;

/* Buffers are contiguous device memory; counts are in elements of `dtype`; work is in the order of `stream`. Every rank
 * calls the same functions in the same order. */
typedef struct wick_collectives_interface {
    uint32_t struct_size;
    uint32_t flags;                                                       /* 0 */
    wick_status *(*create_id)(void *instance, wick_communicator_id *out); /* by one rank, which tells the others */
    wick_status *(*create)(void *instance, int32_t index, const wick_communicator_id *id, int32_t ranks, int32_t rank,
                           void **out_communicator);
    void (*destroy)(void *instance, void *communicator); /* cannot fail */
    wick_status *(*all_reduce)(void *instance, void *communicator, void *stream, const wick_memory *src,
                               uint64_t src_offset, const wick_memory *dst, uint64_t dst_offset, uint64_t count,
                               wick_dtype dtype, wick_reduce_op op);
    wick_status *(*broadcast)(void *instance, void *communicator, void *stream, const wick_memory *buffer,
                              uint64_t offset, uint64_t count, wick_dtype dtype, int32_t root);
    wick_status *(*all_gather)(void *instance, void *communicator, void *stream, const wick_memory *src,
                               uint64_t src_offset, const wick_memory *dst, uint64_t dst_offset, uint64_t count,
                               wick_dtype dtype);
    wick_status *(*reduce_scatter)(void *instance, void *communicator, void *stream, const wick_memory *src,
                                   uint64_t src_offset, const wick_memory *dst, uint64_t dst_offset, uint64_t count,
                                   wick_dtype dtype, wick_reduce_op op);
    wick_status *(*send)(void *instance, void *communicator, void *stream, const wick_memory *src, uint64_t offset,
                         uint64_t count, wick_dtype dtype, int32_t peer);
    wick_status *(*receive)(void *instance, void *communicator, void *stream, const wick_memory *dst, uint64_t offset,
                            uint64_t count, wick_dtype dtype, int32_t peer);
    /* Calls between the two are one operation. Optional, both or neither: each call stands for itself. */
    wick_status *(*group_begin)(void *instance);
    wick_status *(*group_end)(void *instance);
} wick_collectives_interface;

/* ---- serialization ---- */
typedef struct wick_serialization_interface {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    /* Bytes that a checkpoint keeps beside the tensor's own (a layout, say). Writes at most `capacity` bytes and sets
     * *out_bytes to what there is; 0: nothing. */
    wick_status *(*save)(void *instance, const wick_tensor *tensor, void *buffer, uint64_t capacity,
                         uint64_t *out_bytes);
    /* Restores them on a tensor that has its elements already. */
    wick_status *(*restore)(void *instance, wick_tensor *tensor, const void *bytes, uint64_t count);
} wick_serialization_interface;

/* ---- threads ---- */
/* Work on [begin, end); `worker` is in [0, count). */
typedef void (*wick_range_fn)(void *user, int64_t begin, int64_t end, int worker);

typedef struct wick_threads_interface {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    int (*count)(void *instance);
    /* Splits [0, n) into chunks of at least `grain`, runs them on the caller and the workers and returns when all are
     * done. From inside a chunk, or when the workers are busy: on the caller alone. Cannot fail. */
    void (*parallel_for)(void *instance, int64_t n, int64_t grain, wick_range_fn fn, void *user);
} wick_threads_interface;

/* ---- the backend ---- */
enum wick_backend_flag { WICK_BACKEND_HOST = 1 /* its memory is the process's own: the host role */ };

typedef struct wick_backend {
    uint32_t struct_size;
    uint32_t flags;          /* wick_backend_flag */
    const char *device_name; /* "cpu": letters, digits and _, at most 31; unique in the process's runtime */
    /* Number of devices, asked once after create; never fails, makes no device context. 0: no device. */
    int32_t (*device_count)(void *instance);
    /* Fills what it knows of *out, which is zeroed but for struct_size: memory_bytes or memory_free_bytes 0 means
     * unknown. */
    wick_status *(*device_query)(void *instance, int32_t index, wick_device_info *out);
    /* Waits for all work of the device. Optional: synchronous device. Required with the stream interface. */
    wick_status *(*synchronize)(void *instance, int32_t index);
    /* A table of the name and version, constant for the life of the instance; NULL where there is none. */
    const void *(*get_interface)(void *instance, const char *name, uint32_t version);
    const wick_kernel_row *kernels; /* lent for the life of the instance. Optional. */
    uint64_t kernel_count;
} wick_backend;

#endif
