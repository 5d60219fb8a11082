/* The HIP plugin: what AMD's runtime has that the shared host side (plugins/gpu) does not know. One file for ROCm 5, 6 and
 * 7: only functions and attribute numbers that are the same in the three. */
#include <dlfcn.h>

#include "libraries.h"

/* ---- runtime functions beside driver.inc's ---- */
enum { SET_DEVICE, ERROR_NAME, FUNCTIONS };
static const char *const symbols[FUNCTIONS] = {"hipSetDevice", "hipGetErrorName"};
typedef int (*set_device_fn)(int device);
typedef const char *(*error_name_fn)(int result);

static wick_status *open_vendor(gpu_instance *gpu) {
    for (int i = 0; i < FUNCTIONS; ++i)
        if (!(gpu->vendor_functions[i] = dlsym(gpu->library, symbols[i])))
            return WICK_HOST_ERROR(gpu->host, WICK_UNAVAILABLE, "the hip driver has no %s: it is too old", symbols[i]);
    return NULL;
}

#define CALL(gpu, number, type) ((type)(gpu)->vendor_functions[number])

static const char *error_text(const gpu_instance *gpu, int result) {
    const char *name = CALL(gpu, ERROR_NAME, error_name_fn)(result);
    return name ? name : "unknown error";
}

static int make_current(gpu_device *d) { return CALL(d->gpu, SET_DEVICE, set_device_fn)(d->handle); }

/* The runtime makes its contexts itself. */
static int open_device(gpu_device *d) {
    d->context = d;
    return 0;
}

static void close_device(gpu_device *d) { d->context = NULL; }

/* ---- the plugin ---- */
extern const void *const gpu_images[];

static const char *const driver_names[] = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                           NULL};

static const gpu_vendor vendor = {
    .name = "hip",
    .libraries = driver_names,
    .column = 1,
    .images = gpu_images,
#ifdef HIP_WITHOUT_KERNELS
    .images_note = "built without a HIP compiler: it has no kernels of its own",
#else
    .images_note = "",
#endif
    /* hipDeviceAttribute_t since ROCm 5.1: later versions put new members where older ones are unused, or at the end */
    .attribute = {.multiprocessors = 63, .wave = 87, .shared_bytes = 74, .clock_khz = 5, .major = 23, .minor = 61},
    .open = open_vendor,
    .make_current = make_current,
    .open_device = open_device,
    .close_device = close_device,
    .error_text = error_text,
    .blas = &hip_hipblaslt,
    .dnn = &hip_miopen,
};

static wick_status *create(const wick_host *host, wick_registrar *registrar, const wick_config *config, void **out) {
    return gpu_create(&vendor, host, registrar, config, out);
}

static const wick_plugin_desc descriptor = {
    WICK_PLUGIN_DESC_BASE,        .name = "hip",    .version = WICK_VERSION_STRING,
    .build = "C17, " __VERSION__, .create = create, .destroy = gpu_destroy,
};
WICK_PLUGIN(hip, &descriptor)
