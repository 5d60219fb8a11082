/* A device plugin in full: device "tiny", whose memory the host cannot read, with four kernels. docs/plugin-guide.md
 * explains it, part by part. Key of its INI section: devices = N (1). */
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

/* ---- kernels: always the out form; the core has checked and allocated ---- */
static void *address(const wick_tensor *t) {
    return inside(&t->storage->memory, (uint64_t)t->offset * wick_dtype_bytes(wick_tensor_dtype(t)));
}
#define WICK_LOOPS_ADDRESS(tensor) address(tensor)
#include <wick/sdk/loops.h>
#include <wick/sdk/schemas.h>

static wick_status *neg(const wick_kernel_call *call) {
    const wick_tensor *in = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, 0);
    const float *x = address(in);
    float *y = address(out);
    for (int64_t i = 0; i < out->numel; ++i) y[i] = -x[i];
    return NULL;
}

static void add_row(void *user, const void *const *in, void *out, int64_t n) {
    const float *x = in[0], *y = in[1], alpha = *(const float *)user;
    float *z = out;
    for (int64_t i = 0; i < n; ++i) z[i] = x[i] + alpha * y[i];
}

static wick_status *add(const wick_kernel_call *call) {
    float alpha = (float)wick_value_as_double(&call->values[2]);
    return wick_pointwise_as(call, WICK_F32, WICK_F32, add_row, &alpha);
}

static void copy_row(void *user, const void *const *in, void *out, int64_t n) {
    memmove(out, in[1], (size_t)n * *(const size_t *)user);
}

static wick_status *copy_elements(const wick_kernel_call *call) {
    const wick_dtype dtype = wick_tensor_dtype(wick_out_tensor(call, 0));
    size_t bytes = wick_dtype_bytes(dtype);
    return wick_pointwise_as(call, dtype, dtype, copy_row, &bytes);
}

static void largest_of_row(void *user, void *state, const void *in, int64_t first, int64_t n) {
    const float *x = in;
    float *largest = state;
    for (int64_t i = 0; i < n; ++i)
        if (x[i] > *largest || x[i] != x[i]) *largest = x[i];
}

static wick_status *amax(const wick_kernel_call *call) {
    static const float lowest = -__builtin_inff();
    const wick_tensor *in = wick_arg_tensor(call, 0);
    const wick_reduction largest = {WICK_F32, WICK_F32, sizeof lowest, &lowest, largest_of_row, NULL, NULL};
    return wick_reduce(call, in, wick_out_tensor(call, 0), wick_reduced_dims(&call->values[1], in->ndim), &largest);
}

#define F32 WICK_DTYPE_BIT(WICK_F32)
#define HALVES (WICK_DTYPE_BIT(WICK_F16) | WICK_DTYPE_BIT(WICK_BF16))

static const wick_kernel_row kernels[] = {
    WICK_KERNEL_ROW(WICK_SCHEMA_copy_, copy_elements, 0, WICK_KERNEL_FUSED_CAST | WICK_KERNEL_DETERMINISTIC),
    WICK_KERNEL_ROW(WICK_SCHEMA_neg, neg, F32, WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_DETERMINISTIC),
    WICK_KERNEL_ROW(WICK_SCHEMA_add_Tensor, add, F32 | HALVES, WICK_KERNEL_FUSED_CAST | WICK_KERNEL_DETERMINISTIC),
    WICK_KERNEL_ROW(WICK_SCHEMA_amax, amax, F32 | HALVES, WICK_KERNEL_DETERMINISTIC),
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
    WICK_PLUGIN_DESC_BASE,        .name = "tiny",   .version = "0.1",
    .build = "C17, " __VERSION__, .create = create, .destroy = destroy,
};
WICK_PLUGIN(tiny, &descriptor)
