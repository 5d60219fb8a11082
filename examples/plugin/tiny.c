/* A device plugin in full: device "tiny", whose memory the host cannot read, with one kernel. docs/plugin-guide.md
 * explains it. Key of its INI section: devices = N (1). */
#include <stdlib.h>
#include <string.h>
#include <wick/sdk/plugin.h>

typedef struct tiny {
    const wick_host *host;
    wick_registrar *registrar;
    int64_t devices;
} tiny;

/* ---- memory ---- */
static wick_status *allocate(void *instance, int32_t index, uint64_t bytes, wick_memory *out) {
    const tiny *self = instance;
    void *block = malloc(bytes);
    if (!block)
        return WICK_HOST_ERROR(self->host, WICK_OUT_OF_MEMORY, "tiny: no %llu bytes", (unsigned long long)bytes);
    *out = (wick_memory){.handle = block, .bytes = bytes}; /* no .data: the host must not look inside */
    return NULL;
}

static void release(void *instance, int32_t index, wick_memory *memory) { free(memory->handle); }

static char *inside(const wick_memory *memory, uint64_t offset) {
    return (char *)memory->handle + memory->offset_bytes + offset;
}

static wick_status *from_host(void *instance, int32_t index, void *stream, const wick_memory *to, uint64_t offset,
                              const void *from, uint64_t bytes, uint32_t flags) {
    memcpy(inside(to, offset), from, bytes);
    return NULL;
}

static wick_status *to_host(void *instance, int32_t index, void *stream, const wick_memory *from, uint64_t offset,
                            void *to, uint64_t bytes, uint32_t flags) {
    memcpy(to, inside(from, offset), bytes);
    return NULL;
}

static wick_status *copy(void *instance, int32_t index, void *stream, const wick_memory *to, uint64_t to_offset,
                         const wick_memory *from, uint64_t from_offset, uint64_t bytes) {
    memmove(inside(to, to_offset), inside(from, from_offset), bytes);
    return NULL;
}

static const wick_memory_interface memory = {
    .struct_size = sizeof memory,
    .alignment_bytes = 16,
    .allocate = allocate,
    .free = release,
    .copy_from_host = from_host,
    .copy_to_host = to_host,
    .copy = copy,
};

/* ---- kernels: always the out form; the core has checked, allocated and cast ---- */
static float *elements(const wick_tensor *t) { return (float *)inside(&t->storage->memory, 0) + t->offset; }

static wick_status *neg(const wick_kernel_call *call) {
    const wick_tensor *in = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, 0);
    const float *x = elements(in);
    float *y = elements(out);
    for (int64_t i = 0; i < out->numel; ++i) y[i] = -x[i];
    return NULL;
}

static const wick_kernel_row kernels[] = {
    {
        .struct_size = sizeof(wick_kernel_row),
        .flags = WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_DETERMINISTIC,
        .schema = "neg",
        .fn = neg,
        .dtypes = WICK_DTYPE_BIT(WICK_F32),
    },
};

/* ---- the backend ---- */
static int32_t device_count(void *instance) { return (int32_t)((const tiny *)instance)->devices; }

static wick_status *device_query(void *instance, int32_t index, wick_device_info *out) {
    out->index = index;
    strcpy(out->name, "a tiny device");
    return NULL;
}

static const void *get_interface(void *instance, const char *name, uint32_t version) {
    return version == 1 && !strcmp(name, "memory") ? &memory : NULL;
}

static const wick_backend backend = {
    .struct_size = sizeof backend,
    .device_name = "tiny",
    .device_count = device_count,
    .device_query = device_query,
    .get_interface = get_interface,
    .kernels = kernels,
    .kernel_count = sizeof kernels / sizeof kernels[0],
};

/* ---- the plugin ---- */
static wick_status *fill(tiny *self, const wick_config *config) {
    WICK_TRY(self->host->config_int(config, "devices", 1, &self->devices));
    if (self->devices < 1 || self->devices > 8)
        return WICK_HOST_ERROR(self->host, WICK_INVALID_ARGUMENT, "devices = %lld: wanted 1 to 8",
                               (long long)self->devices);
    return self->host->register_backend(self->registrar, &backend, self);
}

static void destroy(void *instance) {
    tiny *self = instance;
    self->host->free(self->registrar, self);
}

static wick_status *create(const wick_host *host, wick_registrar *registrar, const wick_config *config, void **out) {
    tiny *self = host->allocate(registrar, sizeof *self);
    if (!self) return WICK_HOST_ERROR(host, WICK_OUT_OF_MEMORY, "tiny: no memory for the instance");
    *self = (tiny){.host = host, .registrar = registrar};
    wick_status *status = fill(self, config);
    if (status)
        destroy(self);
    else
        *out = self;
    return status;
}

static const wick_plugin_desc descriptor = {
    .struct_size = sizeof descriptor,
    .magic = WICK_PLUGIN_MAGIC,
    .abi_major = WICK_ABI_MAJOR,
    .abi_minor = WICK_ABI_MINOR,
    .host_abi_minor_min = WICK_ABI_MINOR,
    .sanitizer = WICK_SANITIZER,
    .name = "tiny",
    .version = "0.1",
    .build = "C17, " __VERSION__,
    .create = create,
    .destroy = destroy,
};
WICK_PLUGIN(tiny, &descriptor)
