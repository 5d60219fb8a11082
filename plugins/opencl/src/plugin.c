/* The OpenCL backend: query, create, destroy. Keys of its INI section are in README.md. */
#include "opencl.h"
#include "program.h"

#include <string.h>

static const void *get_interface(void *instance, const char *name, uint32_t version) {
    static const struct {
        const char *name;
        const void *table;
    } interfaces[] = {{"memory", &ocl_memory}, {"stream", &ocl_stream}, {"event", &ocl_event}};
    for (size_t i = 0; version == 1 && i < sizeof interfaces / sizeof interfaces[0]; ++i)
        if (!strcmp(name, interfaces[i].name)) return interfaces[i].table;
    return NULL;
}

/* Copies a key's text into `buffer`. */
static wick_status *read_text(const ocl *self, const wick_config *config, const char *key, const char *fallback,
                              char *buffer, size_t bytes) {
    const char *text = self->host->config_string(config, key, fallback);
    if (strlen(text) >= bytes)
        return WICK_HOST_ERROR(self->host, WICK_INVALID_ARGUMENT, "%s: %zu bytes, at most %zu are possible", key,
                               strlen(text), bytes - 1);
    strcpy(buffer, text);
    return NULL;
}

static wick_status *register_backend(ocl *self) {
    WICK_TRY(ocl_make_rows(self));
    self->backend.struct_size = sizeof self->backend;
    self->backend.device_name = self->device_name;
    self->backend.device_count = ocl_device_count;
    self->backend.device_query = ocl_device_query;
    self->backend.synchronize = ocl_synchronize;
    self->backend.get_interface = get_interface;
    self->backend.kernels = self->rows;
    return self->host->register_backend(self->registrar, &self->backend, self);
}

static wick_status *fill(ocl *self, const wick_config *config) {
    const wick_host *host = self->host;
    const char *library = host->config_string(config, "library", "libOpenCL.so.1");
    const char *platform = host->config_string(config, "platform", "");
    const char *type = host->config_string(config, "type", "any");
    WICK_TRY(read_text(self, config, "device", "opencl", self->device_name, sizeof self->device_name));
    WICK_TRY(host->config_int(config, "specialize", OCL_SPECIALIZE, &self->specialize));
    WICK_TRY(read_text(self, config, "build_options", "", self->options, sizeof self->options));
    WICK_TRY(ocl_api_open(&self->api, host, library));
    WICK_TRY(ocl_discover(self, platform, type));
    return register_backend(self);
}

static void destroy(void *instance) {
    ocl *self = instance;
    const wick_host *host = self->host;
    ocl_programs_release(self);
    ocl_forget(self);
    ocl_api_close(&self->api);
    pthread_mutex_destroy(&self->lock);
    if (self->rows) host->free(self->registrar, self->rows);
    host->free(self->registrar, self);
}

static wick_status *create(const wick_host *host, wick_registrar *registrar, const wick_config *config, void **out) {
    ocl *self = host->allocate(registrar, sizeof *self);
    if (!self) return WICK_HOST_ERROR(host, WICK_OUT_OF_MEMORY, "opencl: no memory for the instance");
    memset(self, 0, sizeof *self);
    self->host = host, self->registrar = registrar;
    pthread_mutex_init(&self->lock, NULL);
    wick_status *status = fill(self, config);
    if (status)
        destroy(self);
    else
        *out = self;
    return status;
}

static const wick_plugin_desc descriptor = {
    WICK_PLUGIN_DESC_BASE,        .name = "opencl", .version = "0.1",
    .build = "C17, " __VERSION__, .create = create, .destroy = destroy,
};
WICK_PLUGIN(opencl, &descriptor)
