/* Platforms, devices, the context, errors. */
#include "opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PLATFORMS 16

/* ---- errors ---- */
#define CODES(X)                                    \
    X(CL_DEVICE_NOT_FOUND)                          \
    X(CL_DEVICE_NOT_AVAILABLE)                      \
    X(CL_COMPILER_NOT_AVAILABLE)                    \
    X(CL_MEM_OBJECT_ALLOCATION_FAILURE)             \
    X(CL_OUT_OF_RESOURCES)                          \
    X(CL_OUT_OF_HOST_MEMORY)                        \
    X(CL_BUILD_PROGRAM_FAILURE)                     \
    X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) \
    X(CL_INVALID_VALUE)                             \
    X(CL_INVALID_CONTEXT)                           \
    X(CL_INVALID_COMMAND_QUEUE)                     \
    X(CL_INVALID_MEM_OBJECT)                        \
    X(CL_INVALID_BUFFER_SIZE)                       \
    X(CL_INVALID_BUILD_OPTIONS)                     \
    X(CL_INVALID_KERNEL_ARGS)                       \
    X(CL_INVALID_ARG_INDEX)                         \
    X(CL_INVALID_ARG_SIZE)                          \
    X(CL_INVALID_WORK_GROUP_SIZE)                   \
    X(CL_INVALID_GLOBAL_WORK_SIZE)                  \
    X(CL_INVALID_EVENT)

static const char *code_name(cl_int code) {
    static const struct {
        cl_int code;
        const char *name;
    } names[] = {
#define CODE_NAME(name) {name, #name},
        CODES(CODE_NAME)
#undef CODE_NAME
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (names[i].code == code) return names[i].name;
    return "OpenCL error";
}

wick_status *ocl_error(const ocl *self, cl_int code, const char *what) {
    bool memory = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
                  code == CL_OUT_OF_HOST_MEMORY || code == CL_INVALID_BUFFER_SIZE;
    return WICK_HOST_ERROR(self->host, memory ? WICK_OUT_OF_MEMORY : WICK_DEVICE_ERROR, "%s: %s (%d)", what,
                           code_name(code), (int)code);
}

wick_status *ocl_check_faults(ocl *self, int32_t index, cl_command_queue queue) {
    static const char *const texts[] = {
#define FAULT_TEXT(name, value, text) [value] = text,
        OCL_FAULTS(FAULT_TEXT)
#undef FAULT_TEXT
    };
    cl_int word = 0, zero = 0;
    cl_mem fault = self->devices[index].fault;
    cl_int code = self->api.clEnqueueReadBuffer(queue, fault, CL_TRUE, 0, sizeof word, &word, 0, NULL, NULL);
    if (code) return ocl_error(self, code, "at or before waiting for the device: clEnqueueReadBuffer");
    if (word == 0) return NULL;
    code = self->api.clEnqueueWriteBuffer(queue, fault, CL_TRUE, 0, sizeof zero, &zero, 0, NULL, NULL);
    if (code) return ocl_error(self, code, "clEnqueueWriteBuffer");
    const char *text = word > 0 && (size_t)word < sizeof texts / sizeof texts[0] ? texts[word] : "unknown complaint";
    return WICK_HOST_ERROR(self->host, WICK_INVALID_ARGUMENT, "an operator before this point: %s", text);
}

/* ---- discovery ---- */
typedef struct found {
    char seen[512]; /* names of the platforms, for the error */
    size_t used;
} found;

static void note(found *f, const char *name) {
    int n = snprintf(f->seen + f->used, sizeof f->seen - f->used, "%s%s", f->used ? ", " : "", name);
    if (n > 0 && (size_t)n < sizeof f->seen - f->used) f->used += (size_t)n;
}

static bool has_fp64(const ocl *self, cl_device_id device) {
    char extensions[4096] = "";
    return !self->api.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof extensions - 1, extensions, NULL) &&
           strstr(extensions, "cl_khr_fp64");
}

/* A device with a compiler, little-endian like every host of wick. */
static bool usable(const ocl *self, cl_device_id device) {
    cl_bool available = CL_FALSE, compiler = CL_FALSE, little = CL_FALSE;
    return !self->api.clGetDeviceInfo(device, CL_DEVICE_AVAILABLE, sizeof available, &available, NULL) &&
           !self->api.clGetDeviceInfo(device, CL_DEVICE_COMPILER_AVAILABLE, sizeof compiler, &compiler, NULL) &&
           !self->api.clGetDeviceInfo(device, CL_DEVICE_ENDIAN_LITTLE, sizeof little, &little, NULL) && available &&
           compiler && little;
}

/* Neighbouring items of a GPU read neighbouring elements in one go; on a CPU each item walks a stretch of its own. */
static int run_of(const ocl *self, cl_device_id device) {
    cl_device_type type = CL_DEVICE_TYPE_GPU;
    (void)self->api.clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    return (type & CL_DEVICE_TYPE_CPU) != 0 ? 16 : 1;
}

/* Takes the usable devices of the type. */
static void take_devices(ocl *self, cl_platform_id platform, cl_device_type type) {
    cl_device_id ids[OCL_MAX_DEVICES];
    cl_uint count = 0;
    if (self->api.clGetDeviceIDs(platform, type, OCL_MAX_DEVICES, ids, &count)) return;
    if (count > OCL_MAX_DEVICES) count = OCL_MAX_DEVICES;
    self->platform = platform, self->device_count = 0, self->fp64 = true, self->run = 16;
    for (cl_uint i = 0; i < count; ++i) {
        if (!usable(self, ids[i])) continue;
        self->devices[self->device_count++].id = ids[i];
        if (!has_fp64(self, ids[i])) self->fp64 = false;
        if (run_of(self, ids[i]) < self->run) self->run = run_of(self, ids[i]);
    }
}

static bool parse_type(const char *text, cl_device_type *out) {
    static const struct {
        const char *name;
        cl_device_type type;
    } types[] = {{"any", CL_DEVICE_TYPE_ALL}, {"gpu", CL_DEVICE_TYPE_GPU}, {"cpu", CL_DEVICE_TYPE_CPU}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i)
        if (!strcmp(text, types[i].name)) return *out = types[i].type, true;
    return false;
}

wick_status *ocl_discover(ocl *self, const char *platform, const char *type) {
    cl_device_type wanted;
    cl_platform_id ids[MAX_PLATFORMS];
    cl_uint count = 0;
    found f = {.used = 0};
    if (!parse_type(type, &wanted))
        return WICK_HOST_ERROR(self->host, WICK_INVALID_ARGUMENT, "type = %s: wanted gpu, cpu or any", type);
    if (self->api.clGetPlatformIDs(MAX_PLATFORMS, ids, &count) || count == 0)
        return WICK_HOST_ERROR(self->host, WICK_UNAVAILABLE, "the OpenCL library knows no platform");
    for (cl_uint i = 0; i < count && i < MAX_PLATFORMS && self->device_count == 0; ++i) {
        char name[128] = "";
        (void)self->api.clGetPlatformInfo(ids[i], CL_PLATFORM_NAME, sizeof name, name, NULL);
        note(&f, name);
        if (strstr(name, platform)) take_devices(self, ids[i], wanted);
    }
    if (self->device_count > 0) return NULL;
    return WICK_HOST_ERROR(self->host, WICK_UNAVAILABLE,
                           "no device with a compiler for platform = %s, type = %s among the platforms: %s",
                           *platform ? platform : "(any)", type, f.seen);
}

/* ---- the context ---- */
static cl_int make_device(ocl *self, ocl_device *device) {
    cl_int code, zero = 0;
    device->line.queue = self->api.clCreateCommandQueue(self->context, device->id, CL_QUEUE_PROFILING_ENABLE, &code);
    if (code) return code;
    device->fault =
        self->api.clCreateBuffer(self->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof zero, &zero, &code);
    return code;
}

void ocl_forget(ocl *self) {
    for (int i = 0; i < self->device_count; ++i) {
        ocl_device *device = &self->devices[i];
        if (device->fault) self->api.clReleaseMemObject(device->fault);
        if (device->line.queue) self->api.clReleaseCommandQueue(device->line.queue);
        device->fault = NULL, device->line.queue = NULL;
    }
    if (self->context) self->api.clReleaseContext(self->context);
    self->context = NULL;
}

static wick_status *make_context(ocl *self) {
    cl_int code;
    cl_device_id ids[OCL_MAX_DEVICES];
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)self->platform, 0};
    for (int i = 0; i < self->device_count; ++i) ids[i] = self->devices[i].id;
    cl_context context = self->api.clCreateContext(properties, (cl_uint)self->device_count, ids, NULL, NULL, &code);
    if (code) return ocl_error(self, code, "clCreateContext");
    self->context = context;
    for (int i = 0; i < self->device_count && !code; ++i) code = make_device(self, &self->devices[i]);
    if (!code) return NULL;
    ocl_forget(self);
    return ocl_error(self, code, "clCreateCommandQueue");
}

wick_status *ocl_ready(ocl *self) {
    pthread_mutex_lock(&self->lock);
    wick_status *status = self->context ? NULL : make_context(self);
    pthread_mutex_unlock(&self->lock);
    return status;
}

/* ---- the backend ---- */
int32_t ocl_device_count(void *instance) { return ((const ocl *)instance)->device_count; }

wick_status *ocl_device_query(void *instance, int32_t index, wick_device_info *out) {
    const ocl *self = instance;
    cl_device_id id = self->devices[index].id;
    cl_ulong memory = 0;
    char version[96] = "", driver[96] = "";
    out->index = index;
    cl_int code = self->api.clGetDeviceInfo(id, CL_DEVICE_NAME, sizeof out->name, out->name, NULL);
    if (code) return ocl_error(self, code, "clGetDeviceInfo");
    (void)self->api.clGetDeviceInfo(id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof memory, &memory, NULL);
    (void)self->api.clGetDeviceInfo(id, CL_DEVICE_VERSION, sizeof version, version, NULL);
    (void)self->api.clGetDeviceInfo(id, CL_DRIVER_VERSION, sizeof driver, driver, NULL);
    out->memory_bytes = memory;
    snprintf(out->features, sizeof out->features, "%s, driver %s%s", version, driver, self->fp64 ? ", fp64" : "");
    return NULL;
}

wick_status *ocl_synchronize(void *instance, int32_t index) {
    ocl *self = instance;
    if (!self->context) return NULL;
    ocl_line *line = ocl_line_of(self, index, NULL);
    cl_int code = ocl_finish(self, line);
    if (code) return ocl_error(self, code, "at or before clFinish");
    return ocl_check_faults(self, index, line->queue);
}
