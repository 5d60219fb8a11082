#include "runtime.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "dispatch.h"
#include "loader.h"
#include "memory.h"

/* ---- memory helpers ---- */
static void *default_allocate(void *user, size_t bytes) { return malloc(bytes); }
static void *default_reallocate(void *user, void *pointer, size_t bytes) { return realloc(pointer, bytes); }
static void default_free(void *user, void *pointer) { free(pointer); }

void *rt_calloc(wick_runtime *rt, size_t bytes) {
    void *p = rt_alloc(rt, bytes);
    return p ? memset(p, 0, bytes) : NULL;
}

char *rt_strdup(wick_runtime *rt, const char *text) {
    size_t bytes = strlen(text) + 1;
    char *copy = rt_alloc(rt, bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

bool rt_grow(wick_runtime *rt, void **items, size_t *capacity, size_t count, size_t item) {
    if (count < *capacity) return true;
    size_t wanted = *capacity ? *capacity * 2 : 16;
    if (wanted > SIZE_MAX / item) return false;
    void *grown = rt_realloc(rt, *items, wanted * item);
    if (!grown) return false;
    *items = grown;
    *capacity = wanted;
    return true;
}

void rt_log(wick_runtime *rt, wick_log_level level, const char *format, ...) {
    char text[1024];
    if (!rt->log) return;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    rt->log(rt->log_user, level, text);
}

/* ---- life ---- */
wick_status *wick_runtime_create(const wick_runtime_options *options, wick_runtime **out) {
    static const wick_allocator heap = {default_allocate, default_reallocate, default_free, NULL};
    const wick_allocator *allocator = options && options->allocator ? options->allocator : &heap;
    wick_runtime *rt = allocator->allocate(allocator->user, sizeof *rt);
    if (!rt) return WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate a runtime");
    memset(rt, 0, sizeof *rt);
    rt->references = 1;
    rt->allocator = *allocator;
    if (options) rt->log = options->log, rt->log_user = options->log_user;
    pthread_mutex_init(&rt->lock, NULL);
    pthread_mutex_init(&rt->accumulate_lock, NULL);
    wick_status *s = op_table_create(rt, &rt->ops);
    if (s) {
        runtime_drop(rt);
        return s;
    }
    *out = rt;
    return NULL;
}

wick_runtime *wick_runtime_retain(wick_runtime *rt) {
    atomic_fetch_add_explicit(&rt->references, 1, memory_order_relaxed);
    return rt;
}

void wick_runtime_release(wick_runtime *rt) {
    if (rt) runtime_drop(rt);
}

static void device_type_destroy(wick_runtime *rt, device_type *type) {
    for (int i = 0; type->caches && i < type->count; ++i) memory_cache_destroy(type->caches[i]);
    rt_free(rt, type->caches);
    rt_free(rt, type->kernels);
    rt_free(rt, (void *)type->fallbacks);
    rt_free(rt, type);
}

static void destroy(wick_runtime *rt) {
    for (int i = WICK_DEVICE_TYPE_LIMIT - 1; i > WICK_DEVICE_TYPE_META; --i)
        if (rt->devices[i]) device_type_destroy(rt, rt->devices[i]);
    for (int i = rt->shutdown_count - 1; i >= 0; --i)
        if (rt->shutdown[i].destroy) rt->shutdown[i].destroy(rt->shutdown[i].instance);
    for (int i = 0; i < rt->backend_count; ++i) rt_free(rt, rt->backends[i]);
    for (int i = 0; i < ARRAY_COUNT(rt->handlers); ++i) runtime_withdraw_key(rt, i);
    if (rt->ops) op_table_destroy(rt, rt->ops);
    pthread_mutex_destroy(&rt->lock);
    pthread_mutex_destroy(&rt->accumulate_lock);
    wick_allocator a = rt->allocator;
    a.free(a.user, rt);
}

void runtime_drop(wick_runtime *rt) {
    if (atomic_fetch_sub_explicit(&rt->references, 1, memory_order_acq_rel) == 1) destroy(rt);
}

/* ---- backends ---- */
const wick_allocator *runtime_allocator(wick_runtime *rt) { return &rt->allocator; }

void runtime_on_shutdown(wick_runtime *rt, void (*destroy_fn)(void *instance), void *instance) {
    pthread_mutex_lock(&rt->lock);
    if (rt->shutdown_count < WICK_DEVICE_TYPE_LIMIT)
        rt->shutdown[rt->shutdown_count++] = (shutdown_entry){destroy_fn, instance};
    pthread_mutex_unlock(&rt->lock);
}

/* One block holds the record and its strings. */
void runtime_record_backend(wick_runtime *rt, const wick_backend_info *info) {
    const char *const texts[] = {info->name,  info->device, info->path, info->version,
                                 info->stage, info->reason, info->tried};
    size_t bytes = sizeof *info;
    for (int i = 0; i < ARRAY_COUNT(texts); ++i) bytes += strlen(texts[i] ? texts[i] : "") + 1;
    wick_backend_info *copy = rt_alloc(rt, bytes);
    if (!copy) {
        rt_log(rt, WICK_LOG_ERROR, "no memory to record backend %s", info->name);
        return;
    }
    *copy = *info;
    copy->struct_size = sizeof *copy;
    char *end = (char *)(copy + 1);
    const char **fields[] = {&copy->name,  &copy->device, &copy->path, &copy->version,
                             &copy->stage, &copy->reason, &copy->tried};
    for (int i = 0; i < ARRAY_COUNT(texts); ++i) {
        *fields[i] = end;
        end = stpcpy(end, texts[i] ? texts[i] : "") + 1;
    }
    pthread_mutex_lock(&rt->lock);
    if (rt->backend_count < WICK_DEVICE_TYPE_LIMIT)
        rt->backends[rt->backend_count++] = copy;
    else
        rt_free(rt, copy);
    pthread_mutex_unlock(&rt->lock);
}

const wick_backend_info *wick_runtime_backend(wick_runtime *rt, int index) {
    pthread_mutex_lock(&rt->lock);
    const wick_backend_info *info = index >= 0 && index < rt->backend_count ? rt->backends[index] : NULL;
    pthread_mutex_unlock(&rt->lock);
    return info;
}

/* Kernels are registered against schemas; an unknown operator or a row that does not fit is refused with a reason. */
static wick_status *fill_kernels(wick_runtime *rt, device_type *type, const wick_backend *backend) {
    for (uint64_t i = 0; i < backend->kernel_count; ++i) {
        const wick_kernel_row *row = &backend->kernels[i];
        const op_entry *op = op_table_find(rt->ops, row->schema);
        if (!op) {
            rt_log(rt, WICK_LOG_DEBUG, "backend %s: kernel for unknown operator %s ignored", type->name, row->schema);
            continue;
        }
        if (!row->fn)
            return WICK_ERROR(WICK_INVALID_ARGUMENT, "backend %s: kernel %s has no function", type->name, row->schema);
        uint32_t dtypes = row->dtypes ? row->dtypes : UINT32_MAX;
        type->kernels[op->row] = (kernel_slot){row->fn, row->data, row->flags, row->dtypes, dtypes & op->dense_dtypes};
    }
    return NULL;
}

static wick_status *device_type_create(wick_runtime *rt, const wick_backend *backend, void *instance, const char *name,
                                       int fallback, device_type **out) {
    device_type *type = rt_calloc(rt, sizeof *type);
    if (!type) return WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate device type %s", name);
    int rows = op_table_rows(rt->ops);
    type->backend = backend;
    type->instance = instance;
    type->fallback = (fallback_policy)fallback;
    type->host = (backend->flags & WICK_BACKEND_HOST) != 0;
    type->count = backend->device_count(instance);
    type->memory = backend->get_interface(instance, "memory", 1);
    snprintf(type->name, sizeof type->name, "%s", backend->device_name);
    type->addressable = type->memory && (type->memory->flags & WICK_MEMORY_ADDRESSABLE);
    type->kernels = rt_calloc(rt, sizeof *type->kernels * (size_t)rows);
    type->fallbacks = rt_calloc(rt, sizeof *type->fallbacks * (size_t)rows);
    type->caches = rt_calloc(rt, sizeof *type->caches * (size_t)(type->count + 1));
    wick_status *s = NULL;
    if (!type->memory)
        s = WICK_ERROR(WICK_INVALID_ARGUMENT, "backend %s has no interface \"memory\" version 1", name);
    else if (!type->kernels || !type->fallbacks || !type->caches)
        s = WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate device type %s", name);
    for (int i = 0; !s && i < type->count; ++i)
        if (!(type->caches[i] = memory_cache_create(rt, type, i)))
            s = WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate device type %s", name);
    if (!s) s = fill_kernels(rt, type, backend);
    if (s)
        device_type_destroy(rt, type);
    else
        *out = type;
    return s;
}

static wick_status *publish(wick_runtime *rt, device_type *type, int *out_device_type) {
    for (int i = WICK_DEVICE_TYPE_META + 1; i < WICK_DEVICE_TYPE_LIMIT; ++i) {
        device_type *other = rt->devices[i];
        if (!other) {
            atomic_store_explicit(&rt->devices[i], type, memory_order_release);
            if (type->host && !rt->host_type) rt->host_type = (int16_t)i;
            *out_device_type = i;
            return NULL;
        }
        if (!strcmp(other->name, type->name))
            return WICK_ERROR(WICK_FAILED_PRECONDITION, "device name %s is already served by another backend",
                              type->name);
    }
    return WICK_ERROR(WICK_OUT_OF_RANGE, "more than %d device types", WICK_DEVICE_TYPE_LIMIT - 2);
}

wick_status *runtime_publish_backend(wick_runtime *rt, const wick_backend *backend, void *instance, const char *name,
                                     int fallback, int *out_device_type) {
    device_type *type = NULL;
    WICK_TRY(device_type_create(rt, backend, instance, name, fallback, &type));
    pthread_mutex_lock(&rt->lock);
    wick_status *s = publish(rt, type, out_device_type);
    pthread_mutex_unlock(&rt->lock);
    if (s) device_type_destroy(rt, type);
    return s;
}

/* ---- plugins' keys ---- */
wick_status *runtime_publish_key(wick_runtime *rt, int rank, wick_key_handler_fn fn, void *instance) {
    key_handler *h = rt_alloc(rt, sizeof *h), *none = NULL;
    if (!h) return WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot register a key");
    *h = (key_handler){fn, instance};
    if (atomic_compare_exchange_strong(&rt->handlers[rank], &none, h)) return NULL;
    rt_free(rt, h);
    return WICK_ERROR(WICK_FAILED_PRECONDITION, "rank %d is already served by another plugin", rank);
}

void runtime_withdraw_key(wick_runtime *rt, int rank) { rt_free(rt, atomic_exchange(&rt->handlers[rank], NULL)); }

/* ---- devices by name ---- */
static void list_devices(wick_runtime *rt, char *text, size_t bytes) {
    size_t used = (size_t)snprintf(text, bytes, "meta");
    for (int i = WICK_DEVICE_TYPE_META + 1; i < WICK_DEVICE_TYPE_LIMIT && used < bytes; ++i)
        if (rt_device(rt, i)) used += (size_t)snprintf(text + used, bytes - used, ", %s", rt_device(rt, i)->name);
}

static int find_type(wick_runtime *rt, const char *name, size_t length) {
    if (length == 4 && !memcmp(name, "meta", 4)) return WICK_DEVICE_TYPE_META;
    for (int i = WICK_DEVICE_TYPE_META + 1; i < WICK_DEVICE_TYPE_LIMIT; ++i) {
        device_type *type = rt_device(rt, i);
        if (type && strlen(type->name) == length && !memcmp(type->name, name, length)) return i;
    }
    return 0;
}

wick_status *wick_runtime_device(wick_runtime *rt, const char *name, wick_device *out) {
    size_t length = strcspn(name, ":");
    int type = find_type(rt, name, length);
    char known[512];
    if (!type) {
        list_devices(rt, known, sizeof known);
        return WICK_ERROR(WICK_NOT_FOUND, "no device \"%s\": known are %s", name, known);
    }
    long index = 0;
    if (name[length] == ':') {
        char *end;
        index = strtol(name + length + 1, &end, 10);
        if (*end || end == name + length + 1)
            return WICK_ERROR(WICK_INVALID_ARGUMENT, "device \"%s\": wanted NAME or NAME:INDEX", name);
    }
    int count = type == WICK_DEVICE_TYPE_META ? 1 : rt_device(rt, type)->count;
    if (index < 0 || index >= count) return WICK_ERROR(WICK_OUT_OF_RANGE, "device \"%s\": there are %d", name, count);
    *out = (wick_device){(int16_t)type, (int16_t)index};
    return NULL;
}

char *wick_device_format(wick_runtime *rt, wick_device device, char *buffer, size_t bytes) {
    device_type *type = rt_device(rt, device.type);
    const char *name = device.type == WICK_DEVICE_TYPE_META ? "meta" : type ? type->name : "none";
    if (type && (type->count > 1 || device.index > 0))
        snprintf(buffer, bytes, "%s:%d", name, device.index);
    else
        snprintf(buffer, bytes, "%s", name);
    return buffer;
}

wick_status *wick_device_query(wick_runtime *rt, wick_device device, wick_device_info *out) {
    device_type *type = rt_device(rt, device.type);
    char name[64];
    if (!type || device.index < 0 || device.index >= type->count)
        return WICK_ERROR(WICK_NOT_FOUND, "no device %s:%d", wick_device_format(rt, device, name, sizeof name),
                          device.index);
    memset(out, 0, sizeof *out);
    out->struct_size = sizeof *out;
    out->index = device.index;
    return type->backend->device_query(type->instance, device.index, out);
}

wick_device wick_runtime_host(wick_runtime *rt) {
    return (wick_device){atomic_load_explicit(&rt->host_type, memory_order_acquire), 0};
}

int64_t wick_runtime_live_objects(wick_runtime *rt) {
    pthread_mutex_lock(&rt->lock);
    int64_t live = rt->live;
    for (context_impl *c = rt->contexts; c; c = c->next) live -= c->credit;
    pthread_mutex_unlock(&rt->lock);
    return live;
}

/* ---- the host table ---- */
static void *host_workspace(const wick_kernel_call *call, size_t bytes) {
    return dispatch_workspace(ctx(call->context), bytes);
}
static const wick_op *host_op_find(wick_context *c, const char *name) { return wick_op_find(ctx(c)->rt, name); }
static const char *host_op_name(const wick_op *op) { return op_full_name(op); }

static const wick_host host_table = {
    .struct_size = sizeof(wick_host),
    .abi_major = WICK_ABI_MAJOR,
    .abi_minor = WICK_ABI_MINOR,
    .status_make = wick_status_make,
    .status_free = wick_status_free,
    .log = host_log,
    .allocate = host_allocate,
    .free = host_free,
    .workspace = host_workspace,
    .config_string = host_config_string,
    .config_int = host_config_int,
    .register_backend = host_register_backend,
    .op_find = host_op_find,
    .call = wick_call,
    .op_name = host_op_name,
    .retain = wick_retain,
    .release = wick_release,
    .resize_output = dispatch_resize_output,
    .register_key = host_register_key,
    .redispatch = wick_redispatch,
};

const wick_host *runtime_host_table(void) { return &host_table; }
