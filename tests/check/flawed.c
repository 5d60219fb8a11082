/* A small device whose flaw is an INI key: what the conformance runner must find. flaw = none is right.
 *
 * Keys: flaw = none | lost_byte | crash | endless | no_limit | wrong_add | wrong_stride | wrong_dtype | nan
 *              | half_pair | any_name */
#include <stdlib.h>
#include <string.h>
#include <wick/sdk/plugin.h>

typedef struct flawed {
    const wick_host *host;
    wick_registrar *registrar;
    wick_backend backend;
    char flaw[16];
    wick_memory_interface memory;
} flawed;

static bool has(const flawed *self, const char *flaw) { return strcmp(self->flaw, flaw) == 0; }

/* ---- memory ---- */
static wick_status *allocate(void *instance, int32_t index, uint64_t bytes, wick_memory *out) {
    const flawed *self = instance;
    if (has(self, "crash") && bytes == 4097) abort();
    if (has(self, "no_limit") && bytes > UINT64_C(1) << 40) {
        *out = (wick_memory){malloc(64), 0, bytes, NULL};
        return NULL;
    }
    void *block = bytes >> 40 ? NULL : malloc(bytes);
    if (!block) return WICK_HOST_ERROR(self->host, WICK_OUT_OF_MEMORY, "no memory");
    *out = (wick_memory){block, 0, bytes, NULL};
    return NULL;
}

static void release(void *instance, int32_t index, wick_memory *memory) { free(memory->handle); }

static char *inside(const wick_memory *memory, uint64_t offset) {
    return (char *)memory->handle + memory->offset_bytes + offset;
}

static wick_status *from_host(void *instance, int32_t index, void *stream, const wick_memory *to, uint64_t offset,
                              const void *from, uint64_t bytes, uint32_t flags) {
    const flawed *self = instance;
    if (has(self, "lost_byte") && offset % 4 == 3) --bytes;
    while (has(self, "endless") && bytes == 4095) {}
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

static void release_pinned(void *instance, wick_memory *memory) { free(memory->handle); }

/* ---- kernels ---- */
static float *address(const wick_tensor *t) {
    return (float *)(void *)inside(&t->storage->memory, (uint64_t)t->offset * sizeof(float));
}

/* Dense f32 of one shape. */
static wick_status *add(const wick_kernel_call *call) {
    const flawed *self = call->instance;
    const wick_tensor *a = wick_arg_tensor(call, 0), *b = wick_arg_tensor(call, 1), *out = wick_out_tensor(call, 0);
    float alpha = (float)wick_value_as_double(&call->values[2]);
    for (int64_t i = 0; i < out->numel; ++i) {
        address(out)[i] = address(a)[i] + alpha * address(b)[i];
        if (has(self, "wrong_add") && i == 11) address(out)[i] += 1;
        if (has(self, "nan") && out->numel > 1000 && i == 1000) address(out)[i] = 0.0f / 0.0f;
    }
    return NULL;
}

static wick_status *neg(const wick_kernel_call *call) {
    const wick_tensor *a = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, 0);
    for (int64_t i = 0; i < out->numel; ++i) address(out)[i] = -address(a)[i];
    return NULL;
}

#define F32 WICK_DTYPE_BIT(WICK_F32)
#define DENSE (WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_NO_BROADCAST)

static const wick_kernel_row kernels[] = {WICK_KERNEL_ROW("add.Tensor", add, F32, DENSE),
                                          WICK_KERNEL_ROW("neg", neg, F32, DENSE)};
/* The flaw: it does not say that it wants dense tensors. */
static const wick_kernel_row careless[] = {WICK_KERNEL_ROW("add.Tensor", add, F32, DENSE),
                                           WICK_KERNEL_ROW("neg", neg, F32, 0)};
/* The flaw: it takes any dtype for f32. */
static const wick_kernel_row dtypeless[] = {WICK_KERNEL_ROW("add.Tensor", add, F32, DENSE),
                                            WICK_KERNEL_ROW("neg", neg, F32 | WICK_DTYPE_BIT(WICK_I32), DENSE)};

/* ---- the backend ---- */
static int32_t device_count(void *instance) { return 1; }

static wick_status *device_query(void *instance, int32_t index, wick_device_info *out) {
    out->index = index;
    return NULL;
}

static const void *get_interface(void *instance, const char *name, uint32_t version) {
    const flawed *self = instance;
    bool right = strcmp(name, "memory") == 0 && version == 1;
    return right || (has(self, "any_name") && strcmp(name, "stream") != 0) ? &self->memory : NULL;
}

static void destroy(void *instance) {
    flawed *self = instance;
    self->host->free(self->registrar, self);
}

static void fill(flawed *self) {
    self->memory = (wick_memory_interface){.struct_size = sizeof self->memory,
                                           .alignment_bytes = 16,
                                           .allocate = allocate,
                                           .free = release,
                                           .copy_from_host = from_host,
                                           .copy_to_host = to_host,
                                           .copy = copy};
    if (has(self, "half_pair")) self->memory.free_pinned = release_pinned;
    self->backend = (wick_backend){.struct_size = sizeof self->backend,
                                   .device_name = "flawed",
                                   .device_count = device_count,
                                   .device_query = device_query,
                                   .get_interface = get_interface,
                                   .kernels = has(self, "wrong_stride")  ? careless
                                              : has(self, "wrong_dtype") ? dtypeless
                                                                         : kernels,
                                   .kernel_count = 2};
}

static wick_status *create(const wick_host *host, wick_registrar *registrar, const wick_config *config, void **out) {
    flawed *self = host->allocate(registrar, sizeof *self);
    if (!self) return WICK_HOST_ERROR(host, WICK_OUT_OF_MEMORY, "no memory");
    memset(self, 0, sizeof *self);
    self->host = host, self->registrar = registrar;
    const char *flaw = host->config_string(config, "flaw", "none");
    memcpy(self->flaw, flaw, strlen(flaw) < sizeof self->flaw ? strlen(flaw) : sizeof self->flaw - 1);
    fill(self);
    wick_status *status = host->register_backend(registrar, &self->backend, self);
    if (status)
        destroy(self);
    else
        *out = self;
    return status;
}

static const wick_plugin_desc descriptor = {WICK_PLUGIN_DESC_BASE, .name = "flawed", .version = "1",
                                            .build = "tests",      .create = create, .destroy = destroy};
WICK_PLUGIN(flawed, &descriptor)
