/* Create, destroy, devices, and the backend's table. Probing needs no driver: a machine without one is UNAVAILABLE. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas.h"
#include "dnn.h"
#include "gemm.h"

/* ---- the driver ---- */
static const char *const symbols[][2] = {
#define GPU_DRIVER(field, parameters, cuda, hip) {cuda, hip},
#include "driver.inc"
};
#define SYMBOLS (sizeof symbols / sizeof symbols[0])

static wick_status *open_driver(gpu_instance *gpu, const wick_config *config) {
    const char *wanted = gpu->host->config_string(config, "driver", NULL);
    char tried[512] = "";
    for (const char *const *name = gpu->vendor->libraries; *name && !gpu->library; ++name) {
        const char *file = wanted ? wanted : *name;
        gpu->library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
        size_t used = strlen(tried);
        if (!gpu->library) snprintf(tried + used, sizeof tried - used, "%s%s", used ? "; " : "", dlerror());
        if (wanted) break;
    }
    if (!gpu->library)
        return WICK_HOST_ERROR(gpu->host, WICK_UNAVAILABLE, "no %s driver: %s", gpu->vendor->name, tried);
    for (size_t i = 0; i < SYMBOLS; ++i) {
        const char *name = symbols[i][gpu->vendor->column];
        void *symbol = dlsym(gpu->library, name);
        if (!symbol)
            return WICK_HOST_ERROR(gpu->host, WICK_UNAVAILABLE, "the %s driver has no %s: it is too old",
                                   gpu->vendor->name, name);
        memcpy((char *)&gpu->driver + i * sizeof symbol, &symbol, sizeof symbol);
    }
    return gpu->vendor->open(gpu);
}

wick_status *gpu_check(const gpu_instance *gpu, int result, const char *what) {
    if (!result) return NULL;
    return WICK_HOST_ERROR(gpu->host, result == GPU_OUT_OF_MEMORY ? WICK_OUT_OF_MEMORY : WICK_DEVICE_ERROR,
                           "%s: %s: %s (%d)", gpu->device_name, what, gpu->vendor->error_text(gpu, result), result);
}

/* ---- devices ---- */
static int attribute(const gpu_device *d, int number, int otherwise) {
    int value = otherwise;
    if (number >= 0 && d->gpu->driver.device_attribute(&value, number, d->handle)) value = otherwise;
    return value;
}

/* A device that does not start is as none, even if it is for want of memory: the other backends work without it. */
static wick_status *started(const gpu_instance *gpu, int result, const char *what) {
    if (!result) return NULL;
    return WICK_HOST_ERROR(gpu->host, WICK_UNAVAILABLE, "%s: %s: %s (%d)", gpu->device_name, what,
                           gpu->vendor->error_text(gpu, result), result);
}

static wick_status *load_modules(gpu_device *d) {
    const gpu_instance *gpu = d->gpu;
    const gpu_vendor *v = gpu->vendor;
    for (; v->images[d->module_count]; ++d->module_count) {
        int result = gpu->driver.module_load(&d->modules[d->module_count], v->images[d->module_count]);
        if (result == GPU_OUT_OF_MEMORY) return started(gpu, result, "loading the kernels");
        if (result)
            return WICK_HOST_ERROR(gpu->host, WICK_UNAVAILABLE, "no kernels for %s (%d.%d): %s (%d)%s%s", d->name,
                                   d->major, d->minor, v->error_text(gpu, result), result,
                                   v->images_note[0] ? "; " : "", v->images_note);
    }
    return NULL;
}

static wick_status *open_device(gpu_instance *gpu, int index) {
    gpu_device *d = &gpu->devices[index];
    const gpu_driver *driver = &gpu->driver;
    const gpu_vendor *v = gpu->vendor;
    d->gpu = gpu;
    d->index = index;
    WICK_TRY(started(gpu, driver->device_get(&d->handle, index), "finding a device"));
    if (driver->device_name(d->name, sizeof d->name, d->handle)) snprintf(d->name, sizeof d->name, "%s", v->name);
    if (driver->device_pci(d->pci, sizeof d->pci, d->handle)) d->pci[0] = 0;
    d->multiprocessors = attribute(d, v->attribute.multiprocessors, 1);
    d->wave = attribute(d, v->attribute.wave, 32);
    d->shared_bytes = attribute(d, v->attribute.shared_bytes, 48 << 10);
    d->major = attribute(d, v->attribute.major, 0);
    d->minor = attribute(d, v->attribute.minor, 0);
    WICK_TRY(started(gpu, v->open_device(d), "opening the device"));
    WICK_TRY(started(gpu, v->make_current(d), "using the device"));
    WICK_TRY(load_modules(d));
    return started(gpu, driver->stream_create(&d->stream, 1, 0), "making a stream");
}

static void close_device(gpu_device *d) {
    const gpu_driver *driver = &d->gpu->driver;
    if (!d->context || d->gpu->vendor->make_current(d)) return;
    if (d->stream) driver->stream_synchronize(d->stream);
    if (d->stream) driver->stream_destroy(d->stream);
    while (d->module_count) driver->module_unload(d->modules[--d->module_count]);
    d->gpu->vendor->close_device(d);
}

static wick_status *open_devices(gpu_instance *gpu, const wick_config *config) {
    int64_t wanted;
    int there = 0;
    WICK_TRY(gpu->host->config_int(config, "devices", GPU_DEVICES, &wanted));
    if (wanted < 1 || wanted > GPU_DEVICES)
        return WICK_HOST_ERROR(gpu->host, WICK_INVALID_ARGUMENT, "devices = %lld: wanted 1 to %d", (long long)wanted,
                               GPU_DEVICES);
    int result = gpu->driver.init(0);
    if (!result) result = gpu->driver.device_count(&there);
    if (result || there < 1)
        return WICK_HOST_ERROR(gpu->host, WICK_UNAVAILABLE, "no %s device: %s", gpu->vendor->name,
                               result ? gpu->vendor->error_text(gpu, result) : "the driver counts none");
    int count = there < wanted ? there : (int)wanted;
    for (; gpu->count < count; ++gpu->count) {
        wick_status *s = open_device(gpu, gpu->count);
        if (s) close_device(&gpu->devices[gpu->count]);
        if (s) return s;
    }
    return NULL;
}

/* ---- the backend ---- */
static int32_t device_count(void *instance) { return ((gpu_instance *)instance)->count; }

static wick_status *device_query(void *instance, int32_t index, wick_device_info *out) {
    gpu_instance *gpu = instance;
    gpu_device *d = &gpu->devices[index];
    size_t free_bytes = 0, total = 0;
    GPU_TRY(gpu, gpu->vendor->make_current(d), "using the device");
    GPU_TRY(gpu, gpu->driver.memory_info(&free_bytes, &total), "asking for memory");
    out->index = index;
    snprintf(out->name, sizeof out->name, "%s", d->name);
    snprintf(out->hardware_id, sizeof out->hardware_id, "%s", d->pci);
    const char *notes[] = {gpu->library_notes, gpu->vendor->images_note};
    size_t used =
        (size_t)snprintf(out->features, sizeof out->features, "%d multiprocessors, waves of %d, capability %d.%d",
                         d->multiprocessors, d->wave, d->major, d->minor);
    for (int i = 0; i < 2 && used < sizeof out->features; ++i)
        if (notes[i][0]) used += (size_t)snprintf(out->features + used, sizeof out->features - used, "; %s", notes[i]);
    out->memory_bytes = total;
    out->memory_free_bytes = free_bytes;
    return NULL;
}

static wick_status *synchronize(void *instance, int32_t index) {
    gpu_instance *gpu = instance;
    GPU_TRY(gpu, gpu->vendor->make_current(&gpu->devices[index]), "using the device");
    GPU_TRY(gpu, gpu->driver.synchronize(), "waiting for the device");
    return NULL;
}

static const void *get_interface(void *instance, const char *name, uint32_t version) {
    static const struct {
        const char *name;
        const void *table;
    } interfaces[] = {{"memory", &gpu_memory_interface},
                      {"stream", &gpu_stream_interface},
                      {"event", &gpu_event_interface},
                      {"graph", &gpu_graph_interface},
                      {"generator", &gpu_generator_interface}};
    for (size_t i = 0; version == 1 && i < sizeof interfaces / sizeof interfaces[0]; ++i)
        if (!strcmp(interfaces[i].name, name)) return interfaces[i].table;
    return NULL;
}

/* ---- kernels ---- */
static const gpu_table *const tables[] = {
#define LIST_TABLE(name) &gpu_##name##_table,
    GPU_TABLES(LIST_TABLE)
#undef LIST_TABLE
};
#define TABLES (sizeof tables / sizeof tables[0])

static wick_status *join_tables(gpu_instance *gpu) {
    uint64_t n = 0;
    for (size_t i = 0; i < TABLES; ++i) n += tables[i]->count;
    gpu->rows = malloc(n * sizeof *gpu->rows);
    if (!gpu->rows) return WICK_HOST_ERROR(gpu->host, WICK_OUT_OF_MEMORY, "no memory for the kernel table");
    for (size_t i = 0; i < TABLES; ++i)
        for (uint64_t k = 0; k < tables[i]->count; ++k) gpu->rows[gpu->row_count++] = tables[i]->rows[k];
    return NULL;
}

/* ---- life ---- */
void gpu_destroy(void *instance) {
    gpu_instance *gpu = instance;
    gpu_dnn_close(gpu);
    gpu_blas_close(gpu);
    while (gpu->count) close_device(&gpu->devices[--gpu->count]);
    pthread_mutex_destroy(&gpu->lock);
    free(gpu->rows);
    free(gpu); /* the driver stays mapped: it has threads and exit handlers */
}

static wick_status *fill(gpu_instance *gpu, const wick_config *config) {
    const char *name = gpu->host->config_string(config, "device", gpu->vendor->name);
    snprintf(gpu->device_name, sizeof gpu->device_name, "%s", name);
    WICK_TRY(open_driver(gpu, config));
    WICK_TRY(open_devices(gpu, config));
    WICK_TRY(gpu_gemm_open(gpu, config));
    WICK_TRY(gpu_blas_open(gpu, config));
    WICK_TRY(gpu_dnn_open(gpu, config));
    WICK_TRY(join_tables(gpu));
    gpu->backend = (wick_backend){
        .struct_size = sizeof gpu->backend,
        .device_name = gpu->device_name,
        .device_count = device_count,
        .device_query = device_query,
        .synchronize = synchronize,
        .get_interface = get_interface,
        .kernels = gpu->rows,
        .kernel_count = gpu->row_count,
    };
    return gpu->host->register_backend(gpu->registrar, &gpu->backend, gpu);
}

wick_status *gpu_create(const gpu_vendor *vendor, const wick_host *host, wick_registrar *registrar,
                        const wick_config *config, void **out) {
    gpu_instance *gpu = calloc(1, sizeof *gpu);
    if (!gpu) return WICK_HOST_ERROR(host, WICK_OUT_OF_MEMORY, "no memory for the instance");
    gpu->host = host;
    gpu->registrar = registrar;
    gpu->vendor = vendor;
    pthread_mutex_init(&gpu->lock, NULL);
    wick_status *s = fill(gpu, config);
    if (s)
        gpu_destroy(gpu);
    else
        *out = gpu;
    return s;
}
