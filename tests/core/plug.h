/* A plugin inside a test's own program: what it registers is a function of the test. With a device "dev" for it: addressable
 * memory, as many kernels as the test gives. */
#ifndef WICK_TESTS_PLUG_H
#define WICK_TESTS_PLUG_H

#define WICK_PLUGIN_STATIC
#include "core_test.h"

#include <wick/sdk/iter.h>
#include <wick/sdk/plugin.h>

typedef struct plug {
    const wick_host *host;
    wick_registrar *registrar;
    wick_backend backend; /* of its device, if it registers one */
} plug;

typedef wick_status *(*plug_fn)(plug *p);

static plug_fn plug_next;   /* what the next create() registers */
static plug *plug_last;     /* the newest that was created */
static int plugs_alive;     /* created and not destroyed */
static int64_t dev_blocks;  /* raw blocks of "dev" that are out */
static int32_t dev_devices; /* how many there are */

/* ---- the device ---- */
static inline wick_status *dev_allocate(void *instance, int32_t index, uint64_t bytes, wick_memory *out) {
    void *data = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!data) return WICK_HOST_ERROR(((plug *)instance)->host, WICK_OUT_OF_MEMORY, "no memory");
    dev_blocks++;
    *out = (wick_memory){data, 0, bytes, data};
    return NULL;
}
static inline void dev_free(void *instance, int32_t index, wick_memory *memory) {
    dev_blocks--;
    free(memory->handle);
}
static inline int32_t dev_count(void *instance) { return dev_devices; }
static inline wick_status *dev_query(void *instance, int32_t index, wick_device_info *out) { return NULL; }
static inline const void *dev_interface(void *instance, const char *name, uint32_t version) {
    static const wick_memory_interface memory = {.struct_size = sizeof memory,
                                                 .flags = WICK_MEMORY_ADDRESSABLE,
                                                 .alignment_bytes = 64,
                                                 .allocate = dev_allocate,
                                                 .free = dev_free};
    return version == 1 && !strcmp(name, "memory") ? &memory : NULL;
}

/* Copies of any layout within the device. */
static inline wick_status *dev_copy(const wick_kernel_call *call) {
    wick_tensor *out = wick_out_tensor(call, 0), *in = wick_arg_tensor(call, 1);
    const wick_tensor *operands[] = {out, in};
    wick_iter it;
    size_t bytes = wick_dtype_bytes((wick_dtype)out->dtype);
    if (in->dtype != out->dtype || !wick_iter_init(&it, out, operands, 2, 0))
        return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "dev copies like to like");
    wick_cursor c = wick_cursor_at(&it, 0);
    for (int64_t i = 0; i < it.numel; ++i, wick_cursor_advance(&it, &c, 1))
        memcpy(wick_cursor_address(&it, &c, 0), wick_cursor_address(&it, &c, 1), bytes);
    return NULL;
}

/* Registers the device with these kernels; the test's copies count as kernels too. */
static inline wick_status *plug_device(plug *p, const wick_kernel_row *rows, uint64_t count) {
    p->backend = (wick_backend){.struct_size = sizeof(wick_backend),
                                .device_name = "dev",
                                .device_count = dev_count,
                                .device_query = dev_query,
                                .get_interface = dev_interface,
                                .kernels = rows,
                                .kernel_count = count};
    return p->host->register_backend(p->registrar, &p->backend, p);
}

/* ---- the plugin ---- */
static inline void plug_destroy(void *instance) {
    plug *p = instance;
    plugs_alive--;
    p->host->free(p->registrar, p);
}

static inline wick_status *plug_create(const wick_host *host, wick_registrar *registrar, const wick_config *config,
                                       void **out) {
    plug *p = host->allocate(registrar, sizeof *p);
    if (!p) return WICK_HOST_ERROR(host, WICK_OUT_OF_MEMORY, "no memory");
    *p = (plug){.host = host, .registrar = registrar};
    plugs_alive++;
    wick_status *status = plug_next(p);
    if (status)
        plug_destroy(p);
    else
        *out = plug_last = p;
    return status;
}

static const wick_plugin_desc plug_desc = {WICK_PLUGIN_DESC_BASE, .name = "plug", .version = "1", .create = plug_create,
                                           .destroy = plug_destroy};
WICK_PLUGIN(plug, &plug_desc)

/* Loads a plugin [plugin.NAME] that registers what `fn` says. `keys`: of its section. */
static inline wick_status *plug_in_with(const char *name, plug_fn fn, const char *keys) {
    char ini[512];
    wick_config_file *config;
    snprintf(ini, sizeof ini, "[plugin.%s]\n%s\n", name, keys);
    assert_ok(wick_config_parse(ini, strlen(ini), "test.ini", NULL, &config));
    plug_next = fn;
    wick_status *status = wick_plugin_register_static(RT, name, wick_plugin_query_plug, config);
    wick_config_free(config);
    return status;
}
static inline wick_status *plug_in(const char *name, plug_fn fn) { return plug_in_with(name, fn, ""); }

/* The newest backend's record. */
static inline const wick_backend_info *plug_info(void) {
    const wick_backend_info *info = NULL, *next;
    for (int i = 0; (next = wick_runtime_backend(RT, i)) != NULL; ++i) info = next;
    return info;
}

/* ---- a runtime of its own for each test, with the CPU backend ---- */
static inline int plug_start(void **state) {
    dev_devices = 2;
    plugs_alive = 0;
    dev_blocks = 0;
    program_start(NULL);
    return test_start(NULL);
}

static inline int plug_end(void **state) {
    test_end(NULL);
    wick_runtime_release(RT);
    assert_int_equal(plugs_alive, 0);
    assert_int_equal(dev_blocks, 0);
    return 0;
}

#define PLUG_CASE(name) cmocka_unit_test_setup_teardown(name, plug_start, plug_end)
#define ROWS(rows) (rows), sizeof(rows) / sizeof((rows)[0])

static inline wick_device dev(int index) {
    wick_device d;
    char name[16];
    snprintf(name, sizeof name, "dev:%d", index);
    assert_ok(wick_runtime_device(RT, name, &d));
    return d;
}
static inline wick_tensor *there(wick_tensor *t) { return wick_to_device(C, t, dev(0), (wick_dtype)t->dtype, NULL); }
static inline wick_tensor *here(wick_tensor *t) { return wick_to_device(C, t, CPU, (wick_dtype)t->dtype, NULL); }

/* Calls an operator by name that returns one tensor. */
static inline wick_tensor *call_op(const char *name, const wick_value *args, int nargs) {
    const wick_op *op = wick_op_find(RT, name);
    wick_value ret = wick_value_none();
    if (!op) fail_msg("no operator %s", name);
    return wick_call(C, op, args, nargs, &ret, 1) ? ret.as.tensor : NULL;
}
#define CALL(name, ...) \
    call_op(name, (const wick_value[]){__VA_ARGS__}, sizeof((const wick_value[]){__VA_ARGS__}) / sizeof(wick_value))
#define V(t) wick_value_tensor(t)

static inline double *doubles(const wick_tensor *t) { return (double *)wick_data(t); }

#endif
