/* The instance of the OpenCL plugin: one platform, one context with all its chosen devices, the programs that were
 * built. */
#ifndef OCL_OPENCL_H
#define OCL_OPENCL_H

#include "api.h"

#include <pthread.h>

#define OCL_MAX_DEVICES 16
#define OCL_BUCKETS 256 /* of the cache of programs */
#define OCL_SPECIALIZE 16384

typedef struct ocl_program ocl_program; /* program.h */

/* A stream. Thread-safe. */
typedef struct ocl_line {
    cl_command_queue queue;     /* in order */
    _Atomic uint64_t submitted; /* counts after every command */
    _Atomic uint64_t finished;  /* the count before the last wait for all of them */
} ocl_line;

typedef struct ocl_device {
    cl_device_id id;
    ocl_line line; /* the default stream; made with the context */
    cl_mem fault;  /* one cl_int: what a kernel complained about, enum ocl_fault */
} ocl_device;

typedef struct ocl {
    const wick_host *host;
    wick_registrar *registrar;
    ocl_api api;
    cl_platform_id platform;
    int device_count;
    ocl_device devices[OCL_MAX_DEVICES];
    bool fp64;          /* every device computes in f64 */
    int run;            /* elements that one item of a strided elementwise kernel computes */
    int64_t specialize; /* elements from which on a kernel for exactly these dtypes is worth its compilation */
    char options[512];
    pthread_mutex_t lock; /* of what follows, and of kernel arguments between setting and launching */
    cl_context context;   /* NULL until a device is used for the first time */
    ocl_program *programs[OCL_BUCKETS];
    char device_name[32];
    wick_backend backend;
    wick_kernel_row *rows; /* host memory */
} ocl;

/* Complaints that kernels leave in a device's fault word. */
#define OCL_FAULTS(X)                                            \
    X(INDEX, 1, "an index is out of the range of its dimension") \
    X(PROBABILITY, 2, "a probability is not in [0, 1]")
enum ocl_fault {
#define OCL_FAULT_ENUM(name, value, text) OCL_FAULT_##name = value,
    OCL_FAULTS(OCL_FAULT_ENUM)
#undef OCL_FAULT_ENUM
};

/* ---- device.c ---- */
/* Chooses platform and devices; `platform` is a part of the platform's name or "", `type` gpu, cpu or any. Makes no
 * context. UNAVAILABLE, with what was found, if none fits. */
wick_status *ocl_discover(ocl *self, const char *platform, const char *type);
/* Makes the context and the default queues unless they are there. Thread-safe. */
wick_status *ocl_ready(ocl *self);
/* Releases what ocl_ready made. */
void ocl_forget(ocl *self);
int32_t ocl_device_count(void *instance);
wick_status *ocl_device_query(void *instance, int32_t index, wick_device_info *out);
wick_status *ocl_synchronize(void *instance, int32_t index);
/* Reads and clears the fault word, behind the work of the queue: INVALID_ARGUMENT if a kernel complained. */
wick_status *ocl_check_faults(ocl *self, int32_t index, cl_command_queue queue);
/* An error that names the failed function and OpenCL's code. */
wick_status *ocl_error(const ocl *self, cl_int code, const char *what);

/* What a stream's handle stands for; NULL is the device's default one. */
static inline ocl_line *ocl_line_of(ocl *self, int32_t index, void *stream) {
    return stream ? (ocl_line *)stream : &self->devices[index].line;
}

/* Waits until the queue is empty. */
cl_int ocl_finish(ocl *self, ocl_line *line);

/* ---- interfaces: memory.c, stream.c ---- */
extern const wick_memory_interface ocl_memory;
extern const wick_stream_interface ocl_stream;
extern const wick_event_interface ocl_event;

/* ---- rows.c ---- */
/* Builds self->rows for what the devices can compute. */
wick_status *ocl_make_rows(ocl *self);

#endif
