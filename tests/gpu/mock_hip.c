/* The mock HIP runtime's devices, memory, modules and launches. MOCK_HIP_... variables: plugins/gpu/README.md. Compiled a
 * second time under the names of CUDA's driver (MOCK_CUDA; mock_cuda.c has what only that has). */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mock_hip.h"

static _Thread_local int current;

/* ---- devices ---- */
static int device_total(void) {
    const char *text = getenv("MOCK_HIP_DEVICES");
    return text ? atoi(text) : 1;
}

static bool is_device(int device) { return device >= 0 && device < device_total(); }

int mock_current_device(void) { return current; }

MOCK_API int hipInit(unsigned flags) {
    MOCK_ENTER("hipInit");
    return device_total() > 0 ? MOCK_SUCCESS : MOCK_NO_DEVICE;
}

MOCK_API int hipDriverGetVersion(int *out) {
    MOCK_ENTER("hipDriverGetVersion");
    *out = 60000000;
    return MOCK_SUCCESS;
}

MOCK_API int hipGetDeviceCount(int *out) {
    MOCK_ENTER("hipGetDeviceCount");
    *out = device_total();
    return *out > 0 ? MOCK_SUCCESS : MOCK_NO_DEVICE;
}

MOCK_API int hipDeviceGet(int *out, int index) {
    MOCK_ENTER("hipDeviceGet");
    *out = index;
    return is_device(index) ? MOCK_SUCCESS : MOCK_INVALID_DEVICE;
}

MOCK_API int hipSetDevice(int device) {
    MOCK_ENTER("hipSetDevice");
    if (!is_device(device)) return MOCK_INVALID_DEVICE;
    current = device;
    return MOCK_SUCCESS;
}

MOCK_API int hipDeviceGetName(char *out, int bytes, int device) {
    MOCK_ENTER("hipDeviceGetName");
    snprintf(out, (size_t)bytes, "mock %d", device);
    return is_device(device) ? MOCK_SUCCESS : MOCK_INVALID_DEVICE;
}

MOCK_API int hipDeviceGetPCIBusId(char *out, int bytes, int device) {
    MOCK_ENTER("hipDeviceGetPCIBusId");
    snprintf(out, (size_t)bytes, "0000:%02x:00.0", device);
    return is_device(device) ? MOCK_SUCCESS : MOCK_INVALID_DEVICE;
}

MOCK_API int hipDeviceTotalMem(size_t *out, int device) {
    MOCK_ENTER("hipDeviceTotalMem");
    size_t unused;
    if (!is_device(device)) return MOCK_INVALID_DEVICE;
    mock_memory_info(device, &unused, out);
    return MOCK_SUCCESS;
}

MOCK_API int hipMemGetInfo(size_t *out_free, size_t *out_total) {
    MOCK_ENTER("hipMemGetInfo");
    mock_memory_info(current, out_free, out_total);
    return MOCK_SUCCESS;
}

MOCK_API int hipDeviceSynchronize(void) {
    MOCK_ENTER("hipDeviceSynchronize");
    return mock_thread_captures() ? MOCK_CAPTURE_UNSUPPORTED : mock_wait_device(current);
}

#ifdef MOCK_CUDA
#define NAME(hip, cuda) "CUDA_ERROR_" cuda
#define NUMBER(hip, cuda) cuda
#else
#define NAME(hip, cuda) "hipError" hip
#define NUMBER(hip, cuda) hip
#endif

MOCK_API const char *hipGetErrorName(int result) {
    static const struct {
        int result;
        const char *name;
    } names[] = {{MOCK_INVALID_VALUE, NAME("InvalidValue", "INVALID_VALUE")},
                 {MOCK_OUT_OF_MEMORY, NAME("OutOfMemory", "OUT_OF_MEMORY")},
                 {MOCK_INVALID_CONFIGURATION, NAME("InvalidConfiguration", "INVALID_CONFIGURATION")},
                 {MOCK_NO_DEVICE, NAME("NoDevice", "NO_DEVICE")},
                 {MOCK_INVALID_DEVICE, NAME("InvalidDevice", "INVALID_DEVICE")},
                 {MOCK_INVALID_IMAGE, NAME("InvalidImage", "INVALID_IMAGE")},
                 {MOCK_INVALID_HANDLE, NAME("InvalidHandle", "INVALID_HANDLE")},
                 {MOCK_NOT_FOUND, NAME("NotFound", "NOT_FOUND")},
                 {MOCK_NOT_READY, NAME("NotReady", "NOT_READY")},
                 {MOCK_LAUNCH_FAILURE, NAME("LaunchFailure", "LAUNCH_FAILED")},
                 {MOCK_CAPTURE_UNSUPPORTED, NAME("StreamCaptureUnsupported", "STREAM_CAPTURE_UNSUPPORTED")},
                 {MOCK_CAPTURE_UNMATCHED, NAME("StreamCaptureUnmatched", "STREAM_CAPTURE_UNMATCHED")},
                 {MOCK_CAPTURE_ISOLATION, NAME("StreamCaptureIsolation", "STREAM_CAPTURE_ISOLATION")}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (names[i].result == result) return names[i].name;
    return NAME("Unknown", "UNKNOWN");
}

/* ---- modules: the emulated kernels, whatever the image is ---- */
typedef int (*launch_fn)(const gpu_emulated_kernel *, const unsigned[3], const unsigned[3], size_t, const void *);
typedef int (*fits_fn)(const gpu_emulated_kernel *, const unsigned[3], const unsigned[3], size_t);
typedef int (*wave_fn)(void);

static struct {
    void *handle;
    launch_fn launch;
    fits_fn fits;
    wave_fn wave;
} emulation;

/* MOCK_HIP_KERNELS, or the file beside this library. */
static const char *kernels_path(char *buffer, size_t bytes) {
    const char *chosen = getenv("MOCK_HIP_KERNELS");
    Dl_info info;
    if (chosen) return chosen;
    if (!dladdr((void *)kernels_path, &info)) return "libgpu_emulated_wave64.so";
    const char *slash = strrchr(info.dli_fname, '/');
    int folder = slash ? (int)(slash - info.dli_fname) + 1 : 0;
    snprintf(buffer, bytes, "%.*slibgpu_emulated_wave64.so", folder, info.dli_fname);
    return buffer;
}

static bool open_emulation(void) {
    char buffer[1024];
    if (emulation.handle) return true;
    void *library = dlopen(kernels_path(buffer, sizeof buffer), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "mock hip: %s\n", dlerror());
        return false;
    }
    emulation.launch = (launch_fn)dlsym(library, "gpu_emulate_launch");
    emulation.fits = (fits_fn)dlsym(library, "gpu_emulate_fits");
    emulation.wave = (wave_fn)dlsym(library, "gpu_emulate_wave");
    emulation.handle = library;
    return true;
}

/* Numbers of hipDeviceAttribute_t and CUdevice_attribute. */
MOCK_API int hipDeviceGetAttribute(int *out, int attribute, int device) {
    MOCK_ENTER("hipDeviceGetAttribute");
    static const int known[][2] = {{NUMBER(63, 16), 2} /* multiprocessors */,
                                   {NUMBER(74, 8), GPU_EMULATED_SHARED_BYTES} /* a block */,
                                   {NUMBER(74, 97), GPU_EMULATED_SHARED_BYTES} /* CUDA: with opt-in */,
                                   {NUMBER(5, 13), 1000000} /* kHz */,
                                   {NUMBER(23, 75), 9} /* major */,
                                   {NUMBER(61, 76), 0} /* minor */};
    if (!is_device(device)) return MOCK_INVALID_DEVICE;
    if (attribute == NUMBER(87, 10)) {
        if (!open_emulation()) return MOCK_NOT_FOUND;
        *out = emulation.wave();
        return MOCK_SUCCESS;
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i)
        if (known[i][0] == attribute) {
            *out = known[i][1];
            return MOCK_SUCCESS;
        }
    return MOCK_INVALID_VALUE;
}

MOCK_API int hipModuleLoadData(void **out, const void *image) {
    MOCK_ENTER("hipModuleLoadData");
    if (!image || !open_emulation()) return MOCK_INVALID_IMAGE;
    *out = emulation.handle;
    return MOCK_SUCCESS;
}

MOCK_API int hipModuleUnload(void *module) {
    MOCK_ENTER("hipModuleUnload");
    return module == emulation.handle ? MOCK_SUCCESS : MOCK_INVALID_HANDLE;
}

MOCK_API int hipModuleGetFunction(void **out, void *module, const char *name) {
    MOCK_ENTER("hipModuleGetFunction");
    if (module != emulation.handle) return MOCK_INVALID_HANDLE;
    *out = dlsym(module, name);
    return *out ? MOCK_SUCCESS : MOCK_NOT_FOUND;
}

/* The arguments are read before it returns, as by the real one. */
MOCK_API int hipModuleLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                   unsigned block_y, unsigned block_z, unsigned shared, mock_stream *stream,
                                   void **parameters, void **extra) {
    MOCK_ENTER("hipModuleLaunchKernel");
    if (!function || !stream) return MOCK_INVALID_HANDLE;
    if (!parameters || extra) return MOCK_INVALID_VALUE;
    mock_task t = {.kind = MOCK_LAUNCH,
                   .kernel = function,
                   .launch = emulation.launch,
                   .grid = {grid_x, grid_y, grid_z},
                   .block = {block_x, block_y, block_z},
                   .shared = shared};
    if (!emulation.fits(t.kernel, t.grid, t.block, shared)) return MOCK_INVALID_CONFIGURATION;
    t.payload = malloc(t.kernel->args_bytes);
    if (!t.payload) return MOCK_OUT_OF_MEMORY;
    memcpy(t.payload, parameters[0], t.kernel->args_bytes);
    return mock_put(stream, &t);
}

/* ---- memory ---- */
MOCK_API int hipMalloc(void **out, size_t bytes) {
    MOCK_ENTER("hipMalloc");
    if (mock_thread_captures()) return MOCK_CAPTURE_UNSUPPORTED;
    *out = mock_allocate(current, bytes, false);
    return *out ? MOCK_SUCCESS : MOCK_OUT_OF_MEMORY;
}

/* Waits for all work, as the real one. */
MOCK_API int hipFree(void *address) {
    MOCK_ENTER("hipFree");
    mock_wait_device(-1);
    return mock_release(address, false) ? MOCK_SUCCESS : MOCK_INVALID_VALUE;
}

MOCK_API int hipHostMalloc(void **out, size_t bytes, unsigned flags) {
    MOCK_ENTER("hipHostMalloc");
    if (mock_thread_captures()) return MOCK_CAPTURE_UNSUPPORTED;
    *out = mock_allocate(current, bytes, true);
    return *out ? MOCK_SUCCESS : MOCK_OUT_OF_MEMORY;
}

MOCK_API int hipHostFree(void *address) {
    MOCK_ENTER("hipHostFree");
    mock_wait_device(-1);
    return mock_release(address, true) ? MOCK_SUCCESS : MOCK_INVALID_VALUE;
}

/* Pageable memory is read before the call returns. */
MOCK_API int hipMemcpyHtoDAsync(void *to, const void *from, size_t bytes, mock_stream *stream) {
    MOCK_ENTER("hipMemcpyHtoDAsync");
    if (!stream) return MOCK_INVALID_HANDLE;
    if (!mock_holds(to, bytes, false)) return MOCK_INVALID_VALUE;
    mock_task t = {.kind = MOCK_COPY, .to = to, .from = from, .bytes = bytes};
    if (bytes && !mock_is_capturing(stream) && !mock_holds(from, bytes, true)) {
        t.payload = malloc(bytes);
        if (!t.payload) return MOCK_OUT_OF_MEMORY;
        memcpy(t.payload, from, bytes);
    }
    return mock_put(stream, &t);
}

/* Pageable memory is written before the call returns. */
MOCK_API int hipMemcpyDtoHAsync(void *to, const void *from, size_t bytes, mock_stream *stream) {
    MOCK_ENTER("hipMemcpyDtoHAsync");
    if (!stream) return MOCK_INVALID_HANDLE;
    if (!mock_holds(from, bytes, false)) return MOCK_INVALID_VALUE;
    int result = mock_put(stream, &(mock_task){.kind = MOCK_COPY, .to = to, .from = from, .bytes = bytes});
    bool waits = !mock_is_capturing(stream) && !mock_holds(to, bytes, true);
    return result || !waits ? result : mock_stream_wait_idle(stream);
}

MOCK_API int hipMemcpyDtoDAsync(void *to, const void *from, size_t bytes, mock_stream *stream) {
    MOCK_ENTER("hipMemcpyDtoDAsync");
    if (!stream) return MOCK_INVALID_HANDLE;
    if (!mock_holds(to, bytes, false) || !mock_holds(from, bytes, false)) return MOCK_INVALID_VALUE;
    return mock_put(stream, &(mock_task){.kind = MOCK_COPY, .to = to, .from = from, .bytes = bytes});
}

MOCK_API int hipMemsetD8Async(void *to, unsigned char value, size_t bytes, mock_stream *stream) {
    MOCK_ENTER("hipMemsetD8Async");
    if (!stream) return MOCK_INVALID_HANDLE;
    if (!mock_holds(to, bytes, false)) return MOCK_INVALID_VALUE;
    return mock_put(stream, &(mock_task){.kind = MOCK_SET, .to = to, .value = value, .bytes = bytes});
}
