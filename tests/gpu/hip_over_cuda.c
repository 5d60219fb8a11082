/* HIP's runtime over NVIDIA's driver, as far as plugin hip uses it: its host side, unchanged, then runs on an NVIDIA card.
 *     [plugin.hip]
 *     driver = build/tests/libhip_over_cuda.so
 * Kernels are those of the CUDA build, embedded here, whatever image the plugin brings. Result codes are the same numbers
 * in both; their names are CUDA's. HIP_OVER_CUDA_DRIVER=FILE: another driver, for tests. */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- the driver: CUDA's column of driver.inc, and contexts ---- */
typedef struct driver {
#define GPU_DRIVER(field, parameters, cuda, hip) int(*field) parameters;
#include "../../plugins/gpu/host/driver.inc"
    int (*context_retain)(void **context, int device);
    int (*context_set)(void *context);
    int (*context_get)(void **context);
    int (*error_name)(int result, const char **name);
} driver;

static const char *const symbols[] = {
#define GPU_DRIVER(field, parameters, cuda, hip) cuda,
#include "../../plugins/gpu/host/driver.inc"
    "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuCtxGetCurrent", "cuGetErrorName"};
_Static_assert(sizeof(driver) == sizeof symbols, "a symbol per function");

enum { SUCCESS = 0, INVALID_VALUE = 1, NO_DRIVER = 35, INVALID_DEVICE = 101, NOT_FOUND = 500 };

static driver cuda;
static char no_driver[256]; /* why there is none; "": it is open */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_driver(void) {
    const char *wanted = getenv("HIP_OVER_CUDA_DRIVER"), *file = wanted ? wanted : "libcuda.so.1";
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) snprintf(no_driver, sizeof no_driver, "no NVIDIA driver: %s", dlerror());
    for (size_t i = 0; library && i < COUNT(symbols); ++i) {
        void *symbol = dlsym(library, symbols[i]);
        if (!symbol) snprintf(no_driver, sizeof no_driver, "%s has no %s", file, symbols[i]);
        memcpy((char *)&cuda + i * sizeof symbol, &symbol, sizeof symbol);
    }
}

static int open_once(void) {
    pthread_once(&once, open_driver);
    return no_driver[0] ? NO_DRIVER : SUCCESS;
}

API const char *hipGetErrorName(int result) {
    const char *name = NULL;
    if (open_once()) return no_driver;
    cuda.error_name(result, &name);
    return name;
}

/* ---- devices: HIP has numbers and a current one in each thread, CUDA has contexts ---- */
#define DEVICES 16
#define IMAGES 32

typedef struct device {
    void *context; /* the primary one; kept */
    void *modules[IMAGES];
    int module_count, module_users;
} device;

static device devices[DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int current = -1;

static int open_device(int number) {
    int handle, result = SUCCESS;
    pthread_mutex_lock(&lock);
    if (!devices[number].context) {
        result = cuda.device_get(&handle, number);
        if (!result) result = cuda.context_retain(&devices[number].context, handle);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

API int hipSetDevice(int number) {
    void *now = NULL;
    if (open_once()) return NO_DRIVER;
    if (number < 0 || number >= DEVICES) return INVALID_DEVICE;
    int result = open_device(number);
    if (result) return result;
    current = number;
    if (!cuda.context_get(&now) && now == devices[number].context) return SUCCESS;
    return cuda.context_set(devices[number].context);
}

/* A thread that has chosen none works on the first. */
static int enter(void) { return current < 0 ? hipSetDevice(0) : SUCCESS; }

API int hipDeviceGet(int *out, int number) {
    int handle, result = open_once();
    *out = number;
    return result ? result : cuda.device_get(&handle, number);
}

/* hipDeviceAttribute_t, CU_DEVICE_ATTRIBUTE_... */
static const int attributes[][2] = {{63, 16} /* multiprocessors */,
                                    {87, 10} /* width of a wave */,
                                    {74, 8} /* shared bytes a block */,
                                    {5, 13} /* kHz */,
                                    {23, 75} /* major */,
                                    {61, 76} /* minor */};

API int hipDeviceGetAttribute(int *out, int attribute, int number) {
    int handle, result = open_once();
    if (!result) result = cuda.device_get(&handle, number);
    for (size_t i = 0; !result && i < COUNT(attributes); ++i)
        if (attributes[i][0] == attribute) return cuda.device_attribute(out, attributes[i][1], handle);
    return result ? result : INVALID_VALUE;
}

/* Of a device by number: no context is needed. */
#define FORWARD_DEVICE(name, field, parameters, ...)              \
    API int name parameters {                                     \
        int handle, result = open_once();                         \
        if (!result) result = cuda.device_get(&handle, number);   \
        return result ? result : cuda.field(__VA_ARGS__, handle); \
    }
FORWARD_DEVICE(hipDeviceGetName, device_name, (char *out, int bytes, int number), out, bytes)
FORWARD_DEVICE(hipDeviceGetPCIBusId, device_pci, (char *out, int bytes, int number), out, bytes)
FORWARD_DEVICE(hipDeviceTotalMem, device_memory, (size_t * out, int number), out)

/* ---- modules: one stands for all images of a device ---- */
extern const void *const gpu_images[];

static void unload(device *d) {
    while (d->module_count) cuda.module_unload(d->modules[--d->module_count]);
}

static int load(device *d) {
    int result = SUCCESS;
    while (!result && gpu_images[d->module_count]) {
        result = cuda.module_load(&d->modules[d->module_count], gpu_images[d->module_count]);
        if (!result) ++d->module_count;
    }
    if (result) unload(d);
    return result;
}

API int hipModuleLoadData(void **out, const void *image) {
    int result = enter();
    if (result) return result;
    device *d = &devices[current];
    pthread_mutex_lock(&lock);
    if (!d->module_users) result = load(d);
    if (!result) ++d->module_users;
    pthread_mutex_unlock(&lock);
    *out = d;
    return result;
}

API int hipModuleUnload(void *module) {
    device *d = module;
    pthread_mutex_lock(&lock);
    if (!--d->module_users) unload(d);
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

API int hipModuleGetFunction(void **out, void *module, const char *name) {
    const device *d = module;
    int result = NOT_FOUND;
    for (int i = 0; i < d->module_count && result == NOT_FOUND; ++i)
        result = cuda.module_function(out, d->modules[i], name);
    return result;
}

/* ---- what HIP allows and CUDA does not: nothing ---- */
API int hipMalloc(uint64_t *out, size_t bytes) {
    int result = enter();
    *out = 0;
    return result || !bytes ? result : cuda.allocate(out, bytes);
}

API int hipFree(uint64_t address) { return address ? cuda.free(address) : SUCCESS; }

/* ---- the same in both ---- */
#define FORWARD_DRIVER(name, field, parameters, argument) \
    API int name parameters {                             \
        int result = open_once();                         \
        return result ? result : cuda.field(argument);    \
    }
FORWARD_DRIVER(hipInit, init, (unsigned flags), flags)
FORWARD_DRIVER(hipDriverGetVersion, driver_version, (int *out), out)
FORWARD_DRIVER(hipGetDeviceCount, device_count, (int *out), out)

#define FORWARD(name, field, parameters, ...)             \
    API int name parameters {                             \
        int result = enter();                             \
        return result ? result : cuda.field(__VA_ARGS__); \
    }
API int hipDeviceSynchronize(void) {
    int result = enter();
    return result ? result : cuda.synchronize();
}
FORWARD(hipMemGetInfo, memory_info, (size_t * out_free, size_t *out_total), out_free, out_total)
FORWARD(hipHostMalloc, allocate_host, (void **out, size_t bytes, unsigned flags), out, bytes, flags)
FORWARD(hipHostFree, free_host, (void *address), address)
FORWARD(hipMemcpyHtoDAsync, copy_from_host, (uint64_t to, const void *from, size_t bytes, void *stream), to, from,
        bytes, stream)
FORWARD(hipMemcpyDtoHAsync, copy_to_host, (void *to, uint64_t from, size_t bytes, void *stream), to, from, bytes,
        stream)
FORWARD(hipMemcpyDtoDAsync, copy, (uint64_t to, uint64_t from, size_t bytes, void *stream), to, from, bytes, stream)
FORWARD(hipMemsetD8Async, set_bytes, (uint64_t to, unsigned char value, size_t bytes, void *stream), to, value, bytes,
        stream)

FORWARD(hipStreamCreateWithPriority, stream_create, (void **out, unsigned flags, int priority), out, flags, priority)
FORWARD(hipStreamDestroy, stream_destroy, (void *stream), stream)
FORWARD(hipStreamSynchronize, stream_synchronize, (void *stream), stream)
FORWARD(hipStreamQuery, stream_query, (void *stream), stream)
FORWARD(hipStreamWaitEvent, stream_wait, (void *stream, void *event, unsigned flags), stream, event, flags)

FORWARD(hipEventCreateWithFlags, event_create, (void **out, unsigned flags), out, flags)
FORWARD(hipEventDestroy, event_destroy, (void *event), event)
FORWARD(hipEventRecord, event_record, (void *event, void *stream), event, stream)
FORWARD(hipEventSynchronize, event_synchronize, (void *event), event)
FORWARD(hipEventQuery, event_query, (void *event), event)
FORWARD(hipEventElapsedTime, event_elapsed, (float *out_milliseconds, void *start, void *end), out_milliseconds, start,
        end)

FORWARD(hipModuleLaunchKernel, launch,
        (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
         unsigned block_z, unsigned shared_bytes, void *stream, void **parameters, void **extra),
        function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters, extra)

FORWARD(hipStreamBeginCapture, capture_begin, (void *stream, int mode), stream, mode)
FORWARD(hipStreamEndCapture, capture_end, (void *stream, void **out_graph), stream, out_graph)
FORWARD(hipStreamIsCapturing, is_capturing, (void *stream, int *out), stream, out)
FORWARD(hipGraphInstantiateWithFlags, graph_instantiate, (void **out_executable, void *graph, unsigned long long flags),
        out_executable, graph, flags)
FORWARD(hipGraphLaunch, graph_launch, (void *executable, void *stream), executable, stream)
FORWARD(hipGraphDestroy, graph_destroy, (void *graph), graph)
FORWARD(hipGraphExecDestroy, executable_destroy, (void *executable), executable)
