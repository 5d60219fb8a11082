#include "registrar.h"

#include <stdio.h>
#include <string.h>

#include "interfaces.h"
#include "kernels.h"
#include "registered.h"
#include "runtime.h"

#define LAYOUT_FIRST 16 /* registered layouts count from here */
#define DTYPES_PER_SIZE 16

/* ---- log, memory, configuration ---- */
void host_log(wick_registrar *r, wick_log_level level, const char *message) {
    rt_log(r->runtime, level, "%s", message);
}
void *host_allocate(wick_registrar *r, size_t bytes) { return r->memory.allocate(r->memory.user, bytes ? bytes : 1); }
void host_free(wick_registrar *r, void *pointer) { allocator_free(&r->memory, pointer); }

static const char *ask(const wick_config *config, const char *key) {
    text_print(config->asked, "%s\n", key);
    return key;
}

const char *host_config_string(const wick_config *config, const char *key, const char *fallback) {
    return wick_config_string(config->file, config->section, ask(config, key), fallback);
}

wick_status *host_config_int(const wick_config *config, const char *key, int64_t fallback, int64_t *out) {
    return wick_config_int(config->file, config->section, ask(config, key), fallback, out);
}

wick_status *host_config_bool(const wick_config *config, const char *key, bool fallback, bool *out) {
    return wick_config_bool(config->file, config->section, ask(config, key), fallback, out);
}

wick_status *host_config_double(const wick_config *config, const char *key, double fallback, double *out) {
    return wick_config_double(config->file, config->section, ask(config, key), fallback, out);
}

wick_status *host_config_path(const wick_config *config, const char *key, const char *fallback, char *buffer,
                              size_t bytes) {
    return wick_config_path(config->file, config->section, ask(config, key), fallback, buffer, bytes);
}

/* ---- registration ---- */
static wick_status *check_open(const wick_registrar *r, const char *function, int count) {
    if (!r->open) return WICK_ERROR(WICK_FAILED_PRECONDITION, "%s: called outside create", function);
    return count < REGISTRATIONS
               ? NULL
               : WICK_ERROR(WICK_OUT_OF_RANGE, "%s: called more than %d times", function, REGISTRATIONS);
}

static bool is_device_name(const char *name) {
    size_t n = name ? strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") : 0;
    return n && n < 32 && !name[n] && strcmp(name, "meta") != 0 && strcmp(name, "none") != 0;
}

static const char *missing_slot(const wick_backend *b) {
    return !b->device_name || !b->device_name[0] ? "device_name"
           : !b->device_count                    ? "device_count"
           : !b->device_query                    ? "device_query"
           : !b->get_interface                   ? "get_interface"
           : b->kernel_count && !b->kernels      ? "kernels"
                                                 : NULL;
}

wick_status *host_register_backend(wick_registrar *r, const wick_backend *backend, void *instance) {
    WICK_TRY(check_open(r, "register_backend", 0));
    if (r->backend) return WICK_ERROR(WICK_FAILED_PRECONDITION, "register_backend: called twice, wanted once");
    if (!backend || backend->struct_size < sizeof *backend)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "wick_backend: got %u bytes, wanted %zu",
                          backend ? backend->struct_size : 0, sizeof *backend);
    const char *missing = missing_slot(backend);
    if (missing) return WICK_ERROR(WICK_INVALID_ARGUMENT, "wick_backend: required slot %s is not set", missing);
    if (!is_device_name(backend->device_name))
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "wick_backend: device_name is \"%s\", wanted 1 to 31 letters, digits and _; not meta or none",
                          backend->device_name);
    r->backend = backend;
    r->instance = instance;
    snprintf(r->device_name, sizeof r->device_name, "%s", backend->device_name);
    return NULL;
}

wick_status *host_register_operators(wick_registrar *r, const wick_operator_row *rows, uint64_t count, void *instance) {
    WICK_TRY(check_open(r, "register_operators", r->operators_count));
    if (!rows && count) return WICK_ERROR(WICK_INVALID_ARGUMENT, "register_operators: rows is NULL");
    r->operators[r->operators_count++] = (registered_rows){"", rows, count, instance};
    return NULL;
}

wick_status *host_register_kernels(wick_registrar *r, const char *device_name, const wick_kernel_row *rows,
                                   uint64_t count, void *instance) {
    WICK_TRY(check_open(r, "register_kernels", r->kernels_count));
    if (!device_name || (!rows && count) || strlen(device_name) >= sizeof r->kernels[0].device)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "register_kernels: wanted a device name and rows");
    registered_rows *k = &r->kernels[r->kernels_count++];
    *k = (registered_rows){"", rows, count, instance};
    snprintf(k->device, sizeof k->device, "%s", device_name);
    return NULL;
}

static const char *key_owner(int rank) {
    static const char *const names[64] = {
#define KEY_NAME(NAME, rank, text) [rank] = #NAME,
        WICK_KEYS(KEY_NAME)
#undef KEY_NAME
    };
    return names[rank];
}

wick_status *host_register_key(wick_registrar *r, int rank, wick_key_handler_fn handler, void *instance) {
    WICK_TRY(check_open(r, "register_key", r->key_count));
    if (rank <= WICK_RANK_DENSE || rank > 63 || !handler)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "register_key: got rank %d, wanted %d to 63 and a handler", rank,
                          WICK_RANK_DENSE + 1);
    if (key_owner(rank))
        return WICK_ERROR(WICK_FAILED_PRECONDITION, "register_key: rank %d is the core's own %s", rank,
                          key_owner(rank));
    r->keys[r->key_count++] = (registered_key){rank, handler, instance};
    return NULL;
}

/* ---- names ---- */
/* How many of the kind there are, of the value's group (value & mask), here and in the runtime. */
static int count_names(const wick_registrar *r, uint32_t kind, uint32_t value, uint32_t mask) {
    int n = 0;
    for (int i = 0; i < r->name_count; ++i) n += r->names[i].kind == kind && (r->names[i].value & mask) == value;
    for (const registered_name *f = runtime_names(r->runtime); f; f = f->next)
        n += f->kind == kind && (f->value & mask) == value;
    return n;
}

static bool same_name(const registered_name *f, uint32_t kind, const char *name, uint32_t version) {
    return f->kind == kind && !strcmp(f->name, name) && (kind != NAME_FEATURE || f->value == version);
}

static bool name_taken(const wick_registrar *r, uint32_t kind, const char *name, uint32_t version) {
    for (int i = 0; i < r->name_count; ++i)
        if (same_name(&r->names[i], kind, name, version)) return true;
    return runtime_name_find(r->runtime, kind, name, version) != NULL;
}

static wick_status *add_name(wick_registrar *r, const char *function, registered_name entry, const char *name) {
    WICK_TRY(check_open(r, function, r->name_count));
    if (!name || !*name || strlen(name) >= sizeof entry.name)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: wanted a name of 1 to %zu bytes", function,
                          sizeof entry.name - 1);
    if (name_taken(r, entry.kind, name, entry.value))
        return WICK_ERROR(WICK_FAILED_PRECONDITION, "%s: \"%s\" is registered already", function, name);
    snprintf(entry.name, sizeof entry.name, "%s", name);
    r->names[r->name_count++] = entry;
    return NULL;
}

wick_status *host_register_dtype(wick_registrar *r, const wick_dtype_row *row, wick_dtype *out) {
    if (!row || row->struct_size < sizeof *row || !row->bytes || row->bytes > 16 || row->bytes & (row->bytes - 1))
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "register_dtype: wanted a row of 1, 2, 4, 8 or 16 bytes an element");
    uint32_t group = WICK_DTYPE_REGISTERED | (uint32_t)__builtin_ctz(row->bytes) << 4;
    int number = count_names(r, NAME_DTYPE, group, 0xf0);
    if (number >= DTYPES_PER_SIZE)
        return WICK_ERROR(WICK_OUT_OF_RANGE, "register_dtype: more than %d types of %u bytes", DTYPES_PER_SIZE,
                          row->bytes);
    if (row->name && wick_dtype_parse(row->name))
        return WICK_ERROR(WICK_FAILED_PRECONDITION, "register_dtype: %s is the core's own", row->name);
    WICK_TRY(add_name(r, "register_dtype", (registered_name){.kind = NAME_DTYPE, .value = group | (uint32_t)number},
                      row->name));
    *out = (wick_dtype)(group | (uint32_t)number);
    return NULL;
}

wick_status *host_register_layout(wick_registrar *r, const char *name, uint32_t *out_layout) {
    uint32_t layout = LAYOUT_FIRST + (uint32_t)count_names(r, NAME_LAYOUT, 0, 0);
    WICK_TRY(add_name(r, "register_layout", (registered_name){.kind = NAME_LAYOUT, .value = layout}, name));
    *out_layout = layout;
    return NULL;
}

wick_status *host_publish(wick_registrar *r, const char *name, uint32_t version, const void *table, void *instance) {
    if (!table) return WICK_ERROR(WICK_INVALID_ARGUMENT, "publish: the table is NULL");
    return add_name(r, "publish",
                    (registered_name){.kind = NAME_FEATURE, .value = version, .table = table, .instance = instance},
                    name);
}

const void *host_find(wick_registrar *r, const char *name, uint32_t version, void **out_instance) {
    return wick_feature(r->runtime, name, version, out_instance);
}

bool registrar_filled(const wick_registrar *r) {
    return r->backend || r->key_count || r->kernels_count || r->operators_count || r->name_count;
}

/* ---- publication ---- */
/* The operators' rows, in one block that the registrar keeps. *out: the index that finds them. */
static wick_status *make_operators(wick_registrar *r, const op_index **out) {
    uint64_t count = 0, n = 0;
    for (int i = 0; i < r->operators_count; ++i) count += r->operators[i].count;
    if (!count) return NULL;
    if (count > OP_REGISTERED_ROWS)
        return WICK_ERROR(WICK_OUT_OF_RANGE, "register_operators: more than %d operators", OP_REGISTERED_ROWS);
    const op_row *rows[OP_REGISTERED_ROWS];
    r->operator_rows = rt_calloc(r->runtime, sizeof *r->operator_rows * count);
    if (!r->operator_rows) return WICK_ERROR(WICK_OUT_OF_MEMORY, "cannot allocate operators");
    for (int i = 0; i < r->operators_count; ++i) {
        const wick_operator_row *given = r->operators[i].rows;
        for (uint64_t k = 0; k < r->operators[i].count; ++k, ++n) {
            WICK_TRY(registered_op_init(&r->operator_rows[n], &given[k], r->operators[i].instance));
            rows[n] = &r->operator_rows[n].row;
        }
    }
    return op_table_extend(r->runtime, r->runtime->ops, rows, (int)count, out);
}

static wick_status *publish_keys(const wick_registrar *r) {
    for (int i = 0; i < r->key_count; ++i) {
        const registered_key *k = &r->keys[i];
        wick_status *status = runtime_publish_key(r->runtime, k->rank, k->handler, k->instance);
        if (!status) continue;
        while (i-- > 0) runtime_withdraw_key(r->runtime, r->keys[i].rank);
        return status;
    }
    return NULL;
}

static void withdraw_keys(const wick_registrar *r) {
    for (int i = 0; i < r->key_count; ++i) runtime_withdraw_key(r->runtime, r->keys[i].rank);
}

/* New kernel tables for other plugins' devices: all are made before the first is put in place. */
typedef struct kernel_changes {
    kernel_table *tables[WICK_DEVICE_TYPE_LIMIT]; /* by device type; NULL: unchanged */
} kernel_changes;

static bool serves(const device_type *type, const char *device) {
    return strcmp(device, "*") ? !strcmp(type->name, device) : type->addressable && !type->streams;
}

static wick_status *change_kernels(wick_registrar *r, const registered_rows *k, const op_index *ops, text *notes,
                                   kernel_changes *changes) {
    bool found = !strcmp(k->device, "*");
    for (int i = WICK_DEVICE_TYPE_META + 1; i < WICK_DEVICE_TYPE_LIMIT; ++i) {
        device_type *type = rt_device(r->runtime, i);
        kernel_table **table = &changes->tables[i], *more;
        if (!type || !serves(type, k->device)) continue;
        found = true;
        WICK_TRY(kernels_extend(r->runtime, type, *table ? *table : type->kernels, ops, k->rows, k->count, k->instance,
                                notes, &more));
        kernel_table_free(r->runtime, *table);
        *table = more;
    }
    if (found) return NULL;
    return WICK_ERROR(WICK_NOT_FOUND, "register_kernels: no device \"%s\" is loaded: load its plugin before",
                      k->device);
}

static wick_status *make_kernels(wick_registrar *r, const op_index *ops, text *notes, kernel_changes *changes) {
    for (int i = 0; i < r->kernels_count; ++i) WICK_TRY(change_kernels(r, &r->kernels[i], ops, notes, changes));
    return NULL;
}

static void end_kernels(wick_registrar *r, kernel_changes *changes, bool publish) {
    for (int i = 0; i < WICK_DEVICE_TYPE_LIMIT; ++i) {
        if (changes->tables[i] && publish)
            kernels_replace(rt_device(r->runtime, i), changes->tables[i]);
        else
            kernel_table_free(r->runtime, changes->tables[i]);
    }
}

static wick_status *publish_backend(wick_registrar *r, const char *name, int fallback, const op_index *ops, text *notes,
                                    int *out_type, int32_t *out_count) {
    if (!r->backend) return NULL;
    *out_count = r->backend->device_count(r->instance);
    if (*out_count <= 0) return WICK_ERROR(WICK_UNAVAILABLE, "no device");
    WICK_TRY(interfaces_check(r->backend, r->instance));
    return runtime_publish_backend(r->runtime, r->backend, r->instance, name, fallback, ops, notes, out_type);
}

wick_status *registrar_publish(wick_registrar *r, const char *name, int fallback, text *notes, int *out_type,
                               int32_t *out_count) {
    const op_index *before = op_table_index(r->runtime->ops), *ops = before;
    kernel_changes changes = {{NULL}};
    WICK_TRY(make_operators(r, &ops));
    wick_status *s = make_kernels(r, ops, notes, &changes);
    if (!s) s = publish_keys(r);
    if (!s && (s = publish_backend(r, name, fallback, ops, notes, out_type, out_count)) != NULL) withdraw_keys(r);
    end_kernels(r, &changes, !s);
    if (s) {
        if (ops != before) op_table_discard(r->runtime, r->runtime->ops, ops);
        return s;
    }
    op_table_publish(r->runtime->ops, ops);
    if (r->backend) rt_device(r->runtime, *out_type)->graphs = r->graphs;
    for (int i = 0; i < r->name_count; ++i) runtime_publish_name(r->runtime, &r->names[i]);
    return NULL;
}

void registrar_end(wick_registrar *r) { rt_free(r->runtime, r->operator_rows); }
