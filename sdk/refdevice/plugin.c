/* The plugin's entry: one instance for an INI section, its devices and its tables.
 *
 * Keys: device = NAME (ref), devices = N (2), memory = BYTES of each device (1 GiB), synchronous = yes | no (no),
 * delay = MICROSECONDS before each task (0), and failures on order: fail_allocation = N, fail_launch = N,
 * lose_device = N (0: never). README.md explains them. */
#include "kernel.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void *ref_allocate(const ref_instance *self, size_t bytes) { return self->host->allocate(self->registrar, bytes); }
void ref_free(const ref_instance *self, void *pointer) { self->host->free(self->registrar, pointer); }

/* ---- the backend ---- */
static int32_t device_count(void *instance) { return (int32_t)((ref_instance *)instance)->device_count; }

static wick_status *device_query(void *instance, int32_t index, wick_device_info *out) {
    ref_instance *self = instance;
    ref_device *device = &self->devices[index];
    WICK_TRY(ref_check_alive(device));
    out->index = index;
    snprintf(out->name, sizeof out->name, "reference device %d", index);
    snprintf(out->hardware_id, sizeof out->hardware_id, "%s:%d", self->device_name, index);
    snprintf(out->features, sizeof out->features, self->synchronous ? "synchronous" : "streams events graphs");
    out->memory_bytes = (uint64_t)self->memory_bytes;
    uint64_t used = ref_memory_used(device);
    out->memory_free_bytes = used < out->memory_bytes ? out->memory_bytes - used : 0;
    return NULL;
}

static wick_status *synchronize(void *instance, int32_t index) {
    return ref_device_finish(&((ref_instance *)instance)->devices[index]);
}

static const struct {
    const char *name;
    const void *table;
    bool asynchronous; /* only with streams */
} interfaces[] = {
    {"memory", &ref_memory_interface, false},     {"stream", &ref_stream_interface, true},
    {"event", &ref_event_interface, true},        {"generator", &ref_generator_interface, false},
    {"autocast", &ref_autocast_interface, false}, {"profiler", &ref_profiler_interface, false},
    {"graph", &ref_graph_interface, true},
};

static const void *get_interface(void *instance, const char *name, uint32_t version) {
    const ref_instance *self = instance;
    for (size_t i = 0; i < sizeof interfaces / sizeof *interfaces && version == 1; ++i)
        if (strcmp(interfaces[i].name, name) == 0)
            return interfaces[i].asynchronous && self->synchronous ? NULL : interfaces[i].table;
    return NULL;
}

/* ---- the INI section ---- */
static wick_status *read_int(const ref_instance *self, const wick_config *config, const char *key, int64_t fallback,
                             int64_t least, int64_t most, int64_t *out) {
    int64_t value;
    WICK_TRY(self->host->config_int(config, key, fallback, &value));
    if (value < least || value > most)
        return REF_ERROR(self, WICK_INVALID_ARGUMENT, "%s = %lld: wanted %lld to %lld", key, (long long)value,
                         (long long)least, (long long)most);
    *out = value;
    return NULL;
}

static wick_status *read_name(ref_instance *self, const wick_config *config) {
    const char *name = self->host->config_string(config, "device", "ref");
    size_t length = strlen(name), good = 0;
    while (isalnum((unsigned char)name[good]) || name[good] == '_') ++good;
    if (!length || good < length || length >= sizeof self->device_name)
        return REF_ERROR(self, WICK_INVALID_ARGUMENT, "device = %s: wanted at most %zu letters, digits and _", name,
                         sizeof self->device_name - 1);
    memcpy(self->device_name, name, length + 1);
    return NULL;
}

static wick_status *read_config(ref_instance *self, const wick_config *config) {
    WICK_TRY(read_name(self, config));
    WICK_TRY(read_int(self, config, "devices", 2, 0, REF_MAX_DEVICES, &self->device_count));
    WICK_TRY(read_int(self, config, "memory", INT64_C(1) << 30, 4096, INT64_C(1) << 40, &self->memory_bytes));
    WICK_TRY(read_int(self, config, "delay", 0, 0, 1000000, &self->delay_us));
    WICK_TRY(read_int(self, config, "fail_allocation", 0, 0, INT64_MAX, &self->fail_allocation));
    WICK_TRY(read_int(self, config, "fail_launch", 0, 0, INT64_MAX, &self->fail_launch));
    WICK_TRY(read_int(self, config, "lose_device", 0, 0, INT64_MAX, &self->lose_device));
    return self->host->config_bool(config, "synchronous", false, &self->synchronous);
}

/* ---- life ---- */
static wick_status *open_device(ref_instance *self, int32_t index) {
    ref_device *device = &self->devices[index];
    device->self = self;
    device->index = index;
    pthread_mutex_init(&device->lock, NULL);
    pthread_mutex_init(&device->walking, NULL);
    return ref_memory_open(device);
}

static void close_device(ref_device *device) {
    if (!device->self) return;
    ref_memory_close(device);
    pthread_mutex_destroy(&device->walking);
    pthread_mutex_destroy(&device->lock);
}

static void destroy(void *instance) {
    ref_instance *self = instance;
    for (int i = 0; i < self->device_count; ++i)
        if (self->devices[i].self) ref_device_drain(&self->devices[i]);
    for (int i = 0; i < self->device_count; ++i)
        if (self->devices[i].self) ref_streams_close(&self->devices[i]);
    for (int i = 0; i < self->device_count; ++i) close_device(&self->devices[i]);
    ref_profile_close(self);
    ref_free(self, self);
}

static wick_status *fill(ref_instance *self, const wick_config *config) {
    WICK_TRY(read_config(self, config));
    if (!self->device_count)
        return REF_ERROR(self, WICK_UNAVAILABLE, "%s: devices = 0: there is none", self->device_name);
    WICK_TRY(ref_profile_open(self));
    for (int32_t i = 0; i < self->device_count; ++i) WICK_TRY(open_device(self, i));
    self->backend = (wick_backend){
        .struct_size = sizeof self->backend,
        .device_name = self->device_name,
        .device_count = device_count,
        .device_query = device_query,
        .synchronize = synchronize,
        .get_interface = get_interface,
        .kernels = ref_kernels,
        .kernel_count = ref_kernel_count,
    };
    return self->host->register_backend(self->registrar, &self->backend, self);
}

static wick_status *create(const wick_host *host, wick_registrar *registrar, const wick_config *config, void **out) {
    ref_instance *self = host->allocate(registrar, sizeof *self);
    if (!self) return WICK_HOST_ERROR(host, WICK_OUT_OF_MEMORY, "refdevice: no memory for the instance");
    memset(self, 0, sizeof *self);
    self->host = host;
    self->registrar = registrar;
    wick_status *status = fill(self, config);
    if (status)
        destroy(self);
    else
        *out = self;
    return status;
}

static const wick_plugin_desc descriptor = {
    WICK_PLUGIN_DESC_BASE,        .name = "refdevice", .version = "0.1",
    .build = "C17, " __VERSION__, .create = create,    .destroy = destroy,
};
WICK_PLUGIN(refdevice, &descriptor)
