/* Plugins that were built for this and for other versions of the ABI: this host loads them or refuses them, as the
 * versions say, and goes on. tests/abi/keep.sh makes them. */
#include <dirent.h>
#include <dlfcn.h>

#include "core/core_test.h"

#include <wick/sdk/plugin.h>

#define FOLDER WICK_SOURCE_DIR "/tests/abi/x86-64"
/* Since 1.0 a host loads every minor of its major up to its own; before, its own alone. */
#define MINOR_MIN (WICK_ABI_MAJOR ? 0 : WICK_ABI_MINOR)

static void require_machine(void) {
#if !defined(__x86_64__) || !defined(__linux__)
    print_message("skipped: the kept binaries are of x86-64 Linux\n");
    skip();
#endif
}

typedef struct kept {
    char path[512];
    int major, minor;
} kept;

/* The kept binaries, in no order. Returns their count. */
static int list_kept(kept *out, int capacity) {
    DIR *folder = opendir(FOLDER);
    int n = 0, end;
    assert_non_null(folder);
    for (struct dirent *e; (e = readdir(folder));) {
        kept k;
        end = 0;
        if (sscanf(e->d_name, "kept-%d.%d.so%n", &k.major, &k.minor, &end) != 2 || !end || e->d_name[end]) continue;
        snprintf(k.path, sizeof k.path, FOLDER "/%.200s", e->d_name);
        assert_true(n < capacity);
        out[n++] = k;
    }
    closedir(folder);
    return n;
}

static wick_status *load_kept(const kept *k, const char *keys) {
    char ini[1024];
    snprintf(ini, sizeof ini, "[plugin.kept]\nrequired = no\npath = %s\n%s\n" CPU_SECTION, k->path, keys);
    return load_text(RT, ini);
}

/* What this host must do with the binary: NULL, or the reason of its refusal. */
static const char *wanted_reason(const kept *k, char *buffer, size_t bytes) {
    snprintf(buffer, bytes, "ABI: got %d.%d, wanted %d.%d", k->major, k->minor, WICK_ABI_MAJOR, WICK_ABI_MINOR);
    if (k->major != WICK_ABI_MAJOR || k->minor < MINOR_MIN || k->minor > WICK_ABI_MINOR) return buffer;
    snprintf(buffer, bytes, "sanitizer: got none");
    return WICK_SANITIZER ? buffer : NULL;
}

static void check_kept(const kept *k) {
    char buffer[64];
    const char *reason = wanted_reason(k, buffer, sizeof buffer);
    assert_ok(wick_runtime_create(NULL, &RT));
    assert_ok(load_kept(k, ""));
    const wick_backend_info *info = wick_runtime_backend(RT, 0), *cpu = wick_runtime_backend(RT, 1);
    assert_contains(info->reason, reason ? reason : "");
    assert_int_equal(info->state, reason ? WICK_BACKEND_REFUSED : WICK_BACKEND_READY);
    assert_int_equal(cpu->state, WICK_BACKEND_READY);
    /* The program goes on with the other backend. */
    CPU = wick_runtime_host(RT);
    test_start(NULL);
    ASSERT_VALUES(wick_add(C, T(1, 2), T(3, 4), NULL), 4, 6);
    test_end(NULL);
    wick_runtime_release(RT);
    print_message("kept-%d.%d.so: %s\n", k->major, k->minor, reason ? reason : "ready");
}

static void test_every_kept_binary(void **state) {
    kept all[64];
    bool own = false;
    require_machine();
    int n = list_kept(all, 64);
    for (int i = 0; i < n; ++i) {
        check_kept(&all[i]);
        own |= all[i].major == WICK_ABI_MAJOR && all[i].minor == WICK_ABI_MINOR;
    }
    assert_true(own); /* tests/abi/keep.sh */
}

/* ---- what the one of 0.2 offers ---- */
static bool start_own(void) {
    const kept own = {FOLDER "/kept-0.2.so", 0, 2};
    char buffer[64];
    require_machine();
    if (wanted_reason(&own, buffer, sizeof buffer)) {
        print_message("skipped: this host refuses it: %s\n", buffer);
        skip();
    }
    assert_ok(wick_runtime_create(NULL, &RT));
    assert_ok(load_kept(&own, "devices = 2"));
    CPU = wick_runtime_host(RT);
    test_start(NULL);
    return true;
}

static void end_own(void) {
    test_end(NULL);
    wick_runtime_release(RT);
}

static void test_kernels_of_0_2(void **state) {
    wick_device there;
    start_own();
    assert_ok(wick_runtime_device(RT, "kept:1", &there));
    assert_contains(wick_runtime_backend(RT, 0)->notes, "kernel kept::unknown refused: unknown operator");
    wick_tensor *x = wick_to_device(C, T(1, 2, 3), there, WICK_F32, NULL);
    wick_tensor *sum =
        wick_add(C, x, x, &(wick_add_options){.struct_size = sizeof(wick_add_options), .alpha = wick_value_float(3)});
    assert_true(wick_device_equal(sum->device, there));
    ASSERT_VALUES(wick_to_device(C, sum, CPU, WICK_F32, NULL), 4, 8, 12);
    end_own();
}

static void test_operator_of_0_2(void **state) {
    wick_device there;
    start_own();
    const wick_op *scale = wick_op_find(RT, "kept::scale"), *in_place = wick_op_find(RT, "kept::scale_");
    assert_ok(wick_runtime_device(RT, "kept", &there));
    wick_value ret, args[2] = {wick_value_tensor(LEAF(1, 2)), wick_value_float(5)};
    assert_true(wick_call(C, scale, args, 2, &ret, 1));
    ASSERT_VALUES(ret.as.tensor, 5, 10);
    backward_sum(ret.as.tensor);
    ASSERT_GRAD(args[0].as.tensor, 5, 5);
    args[0] = wick_value_tensor(wick_to_device(C, T(1, 2), there, WICK_F32, NULL));
    assert_true(wick_call(C, in_place, args, 1, &ret, 1));
    ASSERT_VALUES(wick_to_device(C, args[0].as.tensor, CPU, WICK_F32, NULL), 2, 4);
    assert_non_null(wick_feature(RT, "kept.memory", 1, NULL));
    end_own();
}

/* An older host asks: the plugin itself refuses, with a reason. */
static void test_the_plugin_refuses_an_older_host(void **state) {
    require_machine();
    void *file = dlopen(FOLDER "/kept-0.2.so", RTLD_NOW | RTLD_LOCAL),
         *entry = file ? dlsym(file, "wick_plugin_query") : NULL;
    wick_plugin_query_fn query;
    const char *refusal = NULL;
    assert_non_null(entry);
    memcpy(&query, &entry, sizeof entry);
    const wick_host_info older = {sizeof older, 0, 1, 1, 0, 0}, same = {sizeof same, 0, 2, 2, 0, 0},
                         major = {sizeof major, 1, 2, 0, 0, 0};
    assert_null(query(&older, &refusal));
    assert_string_equal(refusal, "the host's ABI is older than this plugin accepts");
    assert_null(query(&major, &refusal));
    const wick_plugin_desc *desc = query(&same, &refusal);
    assert_non_null(desc);
    assert_int_equal(desc->abi_minor, 2);
    assert_int_equal(desc->struct_size, 56);
    dlclose(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kept_binary),
        cmocka_unit_test(test_kernels_of_0_2),
        cmocka_unit_test(test_operator_of_0_2),
        cmocka_unit_test(test_the_plugin_refuses_an_older_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
