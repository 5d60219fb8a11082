/* The CUDA plugin: what NVIDIA's driver has that the shared host side (plugins/gpu) does not know. */
#include <dlfcn.h>
#include <string.h>

#include "launch.h"
#include "libraries.h"

/* ---- driver functions beside driver.inc's ---- */
enum { RETAIN, RELEASE, SET_CURRENT, GET_CURRENT, ERROR_NAME, NEEDED, LAUNCH = NEEDED, FUNCTIONS };
static const char *const symbols[FUNCTIONS] = {"cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2",
                                               "cuCtxSetCurrent",          "cuCtxGetCurrent",
                                               "cuGetErrorName",           "cuLaunchKernelEx"};
typedef int (*retain_fn)(void **context, int device);
typedef int (*release_fn)(int device);
typedef int (*set_current_fn)(void *context);
typedef int (*get_current_fn)(void **context);
typedef int (*error_name_fn)(int result, const char **name);
typedef int (*launch_fn)(const cuda_launch *launch, void *function, void **parameters, void **extra);

static wick_status *open_vendor(gpu_instance *gpu) {
    for (int i = 0; i < FUNCTIONS; ++i)
        if (!(gpu->vendor_functions[i] = dlsym(gpu->library, symbols[i])) && i < NEEDED)
            return WICK_HOST_ERROR(gpu->host, WICK_UNAVAILABLE, "the cuda driver has no %s: it is too old", symbols[i]);
    return NULL;
}

#define CALL(gpu, number, type) ((type)(gpu)->vendor_functions[number])

static const char *error_text(const gpu_instance *gpu, int result) {
    const char *name = NULL;
    if (gpu->vendor_functions[ERROR_NAME]) CALL(gpu, ERROR_NAME, error_name_fn)(result, &name);
    return name ? name : "unknown error";
}

/* The primary context: other libraries of the process use the same one. */
static int open_device(gpu_device *d) { return CALL(d->gpu, RETAIN, retain_fn)(&d->context, d->handle); }

static void close_device(gpu_device *d) {
    CALL(d->gpu, RELEASE, release_fn)(d->handle);
    d->context = NULL;
}

/* Asking is much cheaper than setting. */
static int make_current(gpu_device *d) {
    void *now = NULL;
    if (!CALL(d->gpu, GET_CURRENT, get_current_fn)(&now) && now == d->context) return 0;
    return CALL(d->gpu, SET_CURRENT, set_current_fn)(d->context);
}

/* On Hopper and newer a kernel is set up while the one before it ends; it waits in gpu_await_earlier (device/gpu.h). */
static int launch(const gpu_device *d, void *function, const unsigned grid[3], const unsigned block[3],
                  unsigned shared_bytes, void *stream, void **parameters) {
    const gpu_instance *gpu = d->gpu;
    if (d->major < 9 || !gpu->vendor_functions[LAUNCH])
        return gpu->driver.launch(function, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared_bytes,
                                  stream, parameters, NULL);
    cuda_launch_attribute early = {.id = CUDA_LAUNCH_PROGRAMMATIC, .value = {.yes = 1}};
    const cuda_launch l = {.grid = {grid[0], grid[1], grid[2]},
                           .block = {block[0], block[1], block[2]},
                           .shared_bytes = shared_bytes,
                           .stream = stream,
                           .attributes = &early,
                           .attribute_count = 1};
    return CALL(gpu, LAUNCH, launch_fn)(&l, function, parameters, NULL);
}

/* ---- the plugin ---- */
extern const void *const gpu_images[];

static const char *const driver_names[] = {"libcuda.so.1", "libcuda.so", NULL};

static const gpu_vendor vendor = {
    .name = "cuda",
    .libraries = driver_names,
    .column = 0,
    .images = gpu_images,
#ifdef CUDA_WITHOUT_KERNELS
    .images_note = "built without nvcc: it has no kernels of its own",
#else
    .images_note = "",
#endif
    /* CU_DEVICE_ATTRIBUTE_... of cuda.h */
    .attribute = {.multiprocessors = 16, .wave = 10, .shared_bytes = 97, .clock_khz = 13, .major = 75, .minor = 76},
    .open = open_vendor,
    .make_current = make_current,
    .launch = launch,
    .open_device = open_device,
    .close_device = close_device,
    .error_text = error_text,
    .blas = &cuda_cublaslt,
    .dnn = &cuda_cudnn,
};

static wick_status *create(const wick_host *host, wick_registrar *registrar, const wick_config *config, void **out) {
    return gpu_create(&vendor, host, registrar, config, out);
}

static const wick_plugin_desc descriptor = {
    WICK_PLUGIN_DESC_BASE,        .name = "cuda",   .version = WICK_VERSION_STRING,
    .build = "C17, " __VERSION__, .create = create, .destroy = gpu_destroy,
};
WICK_PLUGIN(cuda, &descriptor)
