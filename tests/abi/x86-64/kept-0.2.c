/* The plugin kept-0.2.so of ABI 0.2: a device "kept" whose memory the host does not touch, with two kernels, and an
 * operator of its own for every device. Key: devices = N (1). test_kept.c uses all of it. */
#include <stdlib.h>
#include <string.h>
#include <wick/call.h>
#include <wick/sdk/iter.h>
#include <wick/sdk/plugin.h>

typedef struct kept {
    const wick_host *host;
    wick_registrar *registrar;
    int64_t devices;
} kept;

/* ---- memory: handles, no addresses ---- */
static wick_status *allocate(void *instance, int32_t index, uint64_t bytes, wick_memory *out) {
    void *block = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!block) return WICK_HOST_ERROR(((kept *)instance)->host, WICK_OUT_OF_MEMORY, "no memory");
    *out = (wick_memory){block, 0, bytes, NULL};
    return NULL;
}
static void release(void *instance, int32_t index, wick_memory *memory) { free(memory->handle); }

static char *inside(const wick_memory *m, uint64_t offset) { return (char *)m->handle + m->offset_bytes + offset; }
static wick_status *from_host(void *instance, int32_t index, void *stream, const wick_memory *dst, uint64_t offset,
                              const void *src, uint64_t bytes, uint32_t flags) {
    memcpy(inside(dst, offset), src, bytes);
    return NULL;
}
static wick_status *to_host(void *instance, int32_t index, void *stream, const wick_memory *src, uint64_t offset,
                            void *dst, uint64_t bytes, uint32_t flags) {
    memcpy(dst, inside(src, offset), bytes);
    return NULL;
}
static wick_status *copy(void *instance, int32_t index, void *stream, const wick_memory *dst, uint64_t dst_offset,
                         const wick_memory *src, uint64_t src_offset, uint64_t bytes) {
    memmove(inside(dst, dst_offset), inside(src, src_offset), bytes);
    return NULL;
}

static const wick_memory_interface memory = {.struct_size = sizeof memory,
                                             .alignment_bytes = 64,
                                             .allocate = allocate,
                                             .free = release,
                                             .copy_from_host = from_host,
                                             .copy_to_host = to_host,
                                             .copy = copy};

/* ---- kernels ---- */
static float *elements(const wick_tensor *t) { return (float *)inside(&t->storage->memory, 0) + t->offset; }

static wick_status *add(const wick_kernel_call *call) {
    const wick_tensor *a = wick_arg_tensor(call, 0), *b = wick_arg_tensor(call, 1), *out = wick_out_tensor(call, 0);
    const float factor = (float)wick_value_as_double(&call->values[2]);
    for (int64_t i = 0; i < out->numel; ++i) elements(out)[i] = elements(a)[i] + factor * elements(b)[i];
    return NULL;
}

static wick_status *scale(const wick_kernel_call *call) {
    const wick_tensor *x = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, 0);
    const float factor = (float)wick_value_as_double(&call->values[1]);
    for (int64_t i = 0; i < out->numel; ++i) elements(out)[i] = elements(x)[i] * factor;
    return NULL;
}

#define FLAGS (WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_NO_BROADCAST | WICK_KERNEL_DETERMINISTIC)
static const wick_kernel_row kernels[] = {
    WICK_KERNEL_ROW("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", add, 1u << WICK_F32, FLAGS),
    WICK_KERNEL_ROW("kept::scale(Tensor x, float factor=2.0) -> Tensor", scale, 1u << WICK_F32, FLAGS),
    WICK_KERNEL_ROW("kept::unknown(Tensor x) -> Tensor", scale, 0, 0),
};

/* ---- the operator: on other devices it decomposes ---- */
static bool compose(void *instance, wick_context *c, const wick_value *values, wick_value *rets) {
    const wick_host *host = ((kept *)instance)->host;
    const wick_value args[] = {values[0], values[1]};
    return host->invoke(c, "mul.Scalar", wick_name_hash("mul.Scalar"), args, 2, rets, 1);
}

static bool backward(const wick_backward_call *call) {
    const wick_host *host = ((kept *)call->instance)->host;
    const wick_value args[] = {wick_value_tensor(call->grad_outputs[0]), call->values[1]};
    wick_value ret;
    if (!host->call(call->context, call->op, args, 2, &ret, 1)) return false;
    call->grad_inputs[0] = ret.as.tensor;
    return true;
}

static const wick_operator_row operators[] = {{.struct_size = sizeof(wick_operator_row),
                                               .flags = WICK_OPERATOR_POINTWISE | WICK_OPERATOR_INPLACE,
                                               .schema = "kept::scale(Tensor x, float factor=2.0) -> Tensor",
                                               .compose = compose,
                                               .backward = backward}};

/* ---- the backend ---- */
static int32_t device_count(void *instance) { return (int32_t)((kept *)instance)->devices; }
static wick_status *device_query(void *instance, int32_t index, wick_device_info *out) {
    strcpy(out->name, "kept");
    return NULL;
}
static const void *get_interface(void *instance, const char *name, uint32_t version) {
    return version == 1 && !strcmp(name, "memory") ? &memory : NULL;
}

static const wick_backend backend = {.struct_size = sizeof backend,
                                     .device_name = "kept",
                                     .device_count = device_count,
                                     .device_query = device_query,
                                     .get_interface = get_interface,
                                     .kernels = kernels,
                                     .kernel_count = sizeof kernels / sizeof kernels[0]};

/* ---- the plugin ---- */
static void destroy(void *instance) {
    kept *k = instance;
    k->host->free(k->registrar, k);
}

static wick_status *fill(kept *k, const wick_config *config) {
    WICK_TRY(k->host->config_int(config, "devices", 1, &k->devices));
    WICK_TRY(k->host->register_operators(k->registrar, operators, 1, k));
    WICK_TRY(k->host->publish(k->registrar, "kept.memory", 1, &memory, k));
    return k->host->register_backend(k->registrar, &backend, k);
}

static wick_status *create(const wick_host *host, wick_registrar *registrar, const wick_config *config, void **out) {
    kept *k = host->allocate(registrar, sizeof *k);
    if (!k) return WICK_HOST_ERROR(host, WICK_OUT_OF_MEMORY, "no memory");
    *k = (kept){host, registrar, 0};
    wick_status *status = fill(k, config);
    if (status)
        destroy(k);
    else
        *out = k;
    return status;
}

static const wick_plugin_desc descriptor = {WICK_PLUGIN_DESC_BASE,       .name = "kept",   .version = "0.2",
                                            .build = "gcc " __VERSION__, .create = create, .destroy = destroy};
WICK_PLUGIN(kept, &descriptor)
