/* The plugin kept-0.1.so: a device "kept" of ABI 0.1 with addressable memory and one kernel. Key: devices = N (1). */
#include <stdlib.h>
#include <string.h>
#include <wick/sdk/iter.h>
#include <wick/sdk/plugin.h>

typedef struct kept {
    const wick_host *host;
    wick_registrar *registrar;
    int64_t devices;
} kept;

static wick_status *allocate(void *instance, int32_t index, uint64_t bytes, wick_memory *out) {
    void *data = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!data) return WICK_HOST_ERROR(((kept *)instance)->host, WICK_OUT_OF_MEMORY, "no memory");
    *out = (wick_memory){data, 0, bytes, data};
    return NULL;
}
static void release(void *instance, int32_t index, wick_memory *memory) { free(memory->handle); }

static const wick_memory_interface memory = {.struct_size = sizeof memory,
                                             .flags = WICK_MEMORY_ADDRESSABLE,
                                             .alignment_bytes = 64,
                                             .allocate = allocate,
                                             .free = release};

static wick_status *add(const wick_kernel_call *call) {
    wick_tensor *out = wick_out_tensor(call, 0);
    const wick_tensor *operands[] = {out, wick_arg_tensor(call, 0), wick_arg_tensor(call, 1)};
    const float factor = (float)wick_value_as_double(&call->values[2]);
    wick_iter it;
    if (!wick_iter_init(&it, out, operands, 3, 0)) return WICK_HOST_ERROR(call->host, WICK_INVALID_ARGUMENT, "shapes");
    wick_cursor c = wick_cursor_at(&it, 0);
    for (int64_t i = 0; i < it.numel; ++i, wick_cursor_advance(&it, &c, 1))
        *(float *)wick_cursor_address(&it, &c, 0) =
            *(float *)wick_cursor_address(&it, &c, 1) + factor * *(float *)wick_cursor_address(&it, &c, 2);
    return NULL;
}

static const wick_kernel_row kernels[] = {
    {sizeof(wick_kernel_row), WICK_KERNEL_DETERMINISTIC, "add.Tensor", add, NULL, WICK_DTYPE_BIT(WICK_F32), 0}};

static int32_t device_count(void *instance) { return (int32_t)((kept *)instance)->devices; }
static wick_status *device_query(void *instance, int32_t index, wick_device_info *out) { return NULL; }
static const void *get_interface(void *instance, const char *name, uint32_t version) {
    return version == 1 && !strcmp(name, "memory") ? &memory : NULL;
}

static const wick_backend backend = {.struct_size = sizeof backend,
                                     .device_name = "kept",
                                     .device_count = device_count,
                                     .device_query = device_query,
                                     .get_interface = get_interface,
                                     .kernels = kernels,
                                     .kernel_count = 1};

static void destroy(void *instance) {
    kept *k = instance;
    k->host->free(k->registrar, k);
}

static wick_status *create(const wick_host *host, wick_registrar *registrar, const wick_config *config, void **out) {
    kept *k = host->allocate(registrar, sizeof *k);
    if (!k) return WICK_HOST_ERROR(host, WICK_OUT_OF_MEMORY, "no memory");
    *k = (kept){host, registrar, 0};
    wick_status *status = host->config_int(config, "devices", 1, &k->devices);
    if (!status) status = host->register_backend(registrar, &backend, k);
    if (status)
        destroy(k);
    else
        *out = k;
    return status;
}

static const wick_plugin_desc descriptor = {.struct_size = sizeof descriptor,
                                            .magic = WICK_PLUGIN_MAGIC,
                                            .abi_major = WICK_ABI_MAJOR,
                                            .abi_minor = WICK_ABI_MINOR,
                                            .host_abi_minor_min = WICK_ABI_MINOR,
                                            .sanitizer = WICK_SANITIZER,
                                            .name = "kept",
                                            .version = "0.1",
                                            .build = "gcc " __VERSION__,
                                            .create = create,
                                            .destroy = destroy};
WICK_PLUGIN(kept, &descriptor)
