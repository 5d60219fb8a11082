#include "runtime.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "api.h"
#include "dispatch.h"
#include "kernels.h"
#include "loader.h"
#include "memory.h"
#include "registrar.h"

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
    memory_cache_destroy(type->pinned);
    for (memory_cache *next; type->kept; type->kept = next) {
        next = memory_cache_next(type->kept);
        memory_cache_destroy(type->kept);
    }
    rt_free(rt, type->caches);
    kernels_destroy(rt, type);
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
    const char *const texts[] = {info->name,  info->device, info->path,  info->version,
                                 info->stage, info->reason, info->tried, info->notes};
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
    const char **fields[] = {&copy->name,  &copy->device, &copy->path,  &copy->version,
                             &copy->stage, &copy->reason, &copy->tried, &copy->notes};
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

static wick_status *device_type_create(wick_runtime *rt, const wick_backend *backend, void *instance, const char *name,
                                       int fallback, const op_index *ops, text *notes, device_type **out) {
    device_type *type = rt_calloc(rt, sizeof *type);
    if (!type) return WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate device type %s", name);
    int rows = op_table_rows();
    type->backend = backend;
    type->instance = instance;
    type->fallback = (fallback_policy)fallback;
    type->host = (backend->flags & WICK_BACKEND_HOST) != 0;
    type->count = backend->device_count(instance);
    type->memory = backend->get_interface(instance, "memory", 1);
    type->threads = type->host ? backend->get_interface(instance, "threads", 1) : NULL;
    type->streams = backend->get_interface(instance, "stream", 1);
    type->events = type->streams ? backend->get_interface(instance, "event", 1) : NULL;
    snprintf(type->name, sizeof type->name, "%s", backend->device_name);
    type->addressable = type->memory && (type->memory->flags & WICK_MEMORY_ADDRESSABLE);
    type->fallbacks = rt_calloc(rt, sizeof *type->fallbacks * (size_t)rows);
    type->caches = rt_calloc(rt, sizeof *type->caches * (size_t)(type->count + 1));
    wick_status *s = NULL;
    if (!type->memory)
        s = WICK_ERROR(WICK_INVALID_ARGUMENT, "backend %s has no interface \"memory\" version 1", name);
    else if (!type->fallbacks || !type->caches)
        s = WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate device type %s", name);
    for (int i = 0; !s && i < type->count; ++i)
        if (!(type->caches[i] = memory_cache_create(rt, type, i)))
            s = WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate device type %s", name);
    if (!s && WICK_HAS(type->memory, wick_memory_interface, allocate_pinned) &&
        !(type->pinned = memory_cache_create(rt, type, MEMORY_PINNED)))
        s = WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate device type %s", name);
    if (!s) s = kernels_create(rt, type, ops, backend->kernels, backend->kernel_count, notes);
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
                                     int fallback, const op_index *ops, text *notes, int *out_device_type) {
    device_type *type = NULL;
    WICK_TRY(device_type_create(rt, backend, instance, name, fallback, ops, notes, &type));
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

void runtime_keep_cache(wick_runtime *rt, int id, memory_cache *cache) {
    device_type *type = rt_device(rt, id);
    pthread_mutex_lock(&rt->lock);
    type->kept = memory_cache_link(cache, type->kept);
    pthread_mutex_unlock(&rt->lock);
}

/* ---- names of plugins ---- */
void runtime_publish_name(wick_runtime *rt, registered_name *entry) {
    entry->next = rt->names;
    atomic_store_explicit(&rt->names, entry, memory_order_release);
}

const registered_name *runtime_names(wick_runtime *rt) {
    return atomic_load_explicit(&rt->names, memory_order_acquire);
}

const registered_name *runtime_name_find(wick_runtime *rt, uint32_t kind, const char *name, uint32_t version) {
    const registered_name *f = runtime_names(rt);
    while (f && (f->kind != kind || strcmp(f->name, name) || (kind == NAME_FEATURE && f->value != version)))
        f = f->next;
    return f;
}

const void *wick_feature(wick_runtime *rt, const char *name, uint32_t version, void **out_instance) {
    const registered_name *f = runtime_name_find(rt, NAME_FEATURE, name, version);
    if (f && out_instance) *out_instance = f->instance;
    return f ? f->table : NULL;
}

wick_dtype wick_runtime_dtype(wick_runtime *rt, const char *name) {
    wick_dtype own = wick_dtype_parse(name);
    const registered_name *f = own || !name ? NULL : runtime_name_find(rt, NAME_DTYPE, name, 0);
    return f ? (wick_dtype)f->value : own;
}

const char *wick_runtime_dtype_name(wick_runtime *rt, wick_dtype dtype) {
    if (dtype < WICK_DTYPE_REGISTERED) return wick_dtype_name(dtype);
    for (const registered_name *f = runtime_names(rt); f; f = f->next)
        if (f->kind == NAME_DTYPE && f->value == (uint32_t)dtype) return f->name;
    return "invalid";
}

uint32_t wick_runtime_layout(wick_runtime *rt, const char *name) {
    const registered_name *f = runtime_name_find(rt, NAME_LAYOUT, name, 0);
    return f ? f->value : WICK_STRIDED;
}

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

const void *wick_backend_interface(wick_runtime *rt, int id, const char *name, uint32_t version, void **out_instance) {
    device_type *type = rt_device(rt, id);
    const void *table = type ? type->backend->get_interface(type->instance, name, version) : NULL;
    if (table && out_instance) *out_instance = type->instance;
    return table;
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
static bool host_invoke(wick_context *c, const char *name, uint32_t hash, const wick_value *args, int nargs,
                        wick_value *rets, int nrets) {
    const wick_op *op = op_table_find_hashed(ctx(c)->rt->ops, name, hash);
    if (op) return wick_call(c, op, args, nargs, rets, nrets);
    return !FAIL(ctx(c), NOT_FOUND, "no operator %s", name);
}

/* The host role's workers, if it has any. */
static void host_parallel_for(const wick_kernel_call *call, int64_t n, int64_t grain, wick_range_fn fn, void *user) {
    wick_runtime *rt = ctx(call->context)->rt;
    const device_type *host = rt_device(rt, wick_runtime_host(rt).type);
    if (host && host->threads)
        host->threads->parallel_for(host->instance, n, grain, fn, user);
    else if (n > 0)
        fn(user, 0, n, 0);
}

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
    .config_bool = host_config_bool,
    .config_double = host_config_double,
    .config_path = host_config_path,
    .register_backend = host_register_backend,
    .register_operators = host_register_operators,
    .register_kernels = host_register_kernels,
    .register_key = host_register_key,
    .register_dtype = host_register_dtype,
    .register_layout = host_register_layout,
    .publish = host_publish,
    .find = host_find,
    .api = host_api,
    .device_workspace = dispatch_device_workspace,
    .parallel_for = host_parallel_for,
    .op_argument = wick_op_argument,
    .invoke = host_invoke,
    .op_find = host_op_find,
    .call = wick_call,
    .op_name = host_op_name,
    .retain = wick_retain,
    .release = wick_release,
    .resize_output = dispatch_resize_output,
    .redispatch = wick_redispatch,
};

const wick_host *runtime_host_table(void) { return &host_table; }
