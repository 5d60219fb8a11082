/* The loader on plugins that are right, wrong, missing or no plugins at all: state, stage and reason of each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <wick/config.h>

#define WICK_PLUGIN_STATIC
#include "../fixtures/plugins/fixture.c"
#include "flaws.h"

#define PLUGINS WICK_BUILD_DIR "/tests/plugins"
#define CPU "[plugin.cpu]\npath = " WICK_BUILD_DIR "/lib/wick/cpu.so\n"

/* ---- helpers ---- */
static wick_config_file *parse(const char *text) {
    wick_config_file *config = NULL;
    wick_status *status = wick_config_parse(text, strlen(text), "test.ini", NULL, &config);
    if (status) fail_msg("%s", wick_status_message(status));
    return config;
}

static wick_runtime *make_runtime(void) {
    wick_runtime *runtime = NULL;
    assert_null(wick_runtime_create(NULL, &runtime));
    return runtime;
}

static wick_status *load(wick_runtime *runtime, const char *text) {
    wick_config_file *config = parse(text);
    wick_status *status = wick_runtime_load(runtime, config);
    wick_config_free(config);
    return status;
}

static void assert_has(const char *text, const char *part) {
    if (!strstr(text, part)) fail_msg("got \"%s\", wanted it to contain \"%s\"", text, part);
}

/* The status is an error whose messages (with causes) contain `part`; frees it. */
static void assert_error(wick_status *status, wick_code code, const char *part) {
    char all[8192] = "";
    assert_non_null(status);
    for (const wick_status *s = status; s; s = wick_status_cause(s)) {
        size_t length = strlen(all);
        snprintf(all + length, sizeof all - length, "%s: ", wick_status_message(s));
    }
    assert_has(all, part);
    assert_int_equal(wick_status_code(status), code);
    wick_status_free(status);
}

static void assert_ok(wick_status *status) {
    if (status) { fail_msg("%s (%s)", wick_status_message(status), wick_status_message(wick_status_cause(status))); }
}

static void assert_state(const wick_backend_info *info, wick_backend_state state, const char *stage,
                         const char *reason) {
    assert_non_null(info);
    assert_string_equal(info->stage, stage);
    assert_has(info->reason, reason);
    assert_int_equal(info->state, state);
    assert_null(strchr(info->reason, '\n'));
}

/* ---- each flaw ---- */
static void write_file(const char *name, const char *bytes, size_t length) {
    char path[4096];
    snprintf(path, sizeof path, PLUGINS "/%s", name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
}

static int write_files(void **state) {
    char bytes[4096];
    FILE *file = fopen(PLUGINS "/good.so", "rb");
    if (!file || fread(bytes, 1, sizeof bytes, file) != sizeof bytes) return -1;
    fclose(file);
    write_file("cut.so", bytes, sizeof bytes);
    write_file("text.so", "#!/bin/sh\n", 10);
    write_file("empty.so", "", 0);
    return 0;
}

/* The flaw is told, and the program goes on with the backend that is right. */
static void try_flaw(const flaw *f) {
    char text[8192];
    wick_runtime *runtime = make_runtime();
    snprintf(text, sizeof text, "[plugin.x]\nrequired = yes\npath = " PLUGINS "/%s\n%s\n" CPU, f->file, f->keys);
    wick_status *status = load(runtime, text);
    const wick_backend_info *info = wick_runtime_backend(runtime, 0);
    assert_state(info, f->state, f->stage, f->reason);
    assert_has(info->tried, f->file);
    assert_int_equal(info->device_type, 0);
    assert_state(wick_runtime_backend(runtime, 1), WICK_BACKEND_READY, "ready", "");
    assert_null(wick_runtime_backend(runtime, 2));
    assert_error(status, wick_status_code(status), "plugin.x");
    wick_device device;
    assert_error(wick_runtime_device(runtime, "fixture", &device), WICK_NOT_FOUND, "fixture");
    assert_ok(wick_runtime_device(runtime, "cpu", &device));
    wick_runtime_release(runtime);
}

static void test_flaws(void **state) {
    for (size_t i = 0; i < sizeof flaws / sizeof flaws[0]; ++i)
        if (!flaws[i].slow) try_flaw(&flaws[i]);
}

/* ---- the same in the documentation ---- */
static size_t read_text(const char *path, char *out, size_t bytes) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(out, 1, bytes - 1, file);
    fclose(file);
    out[n] = '\0';
    return n;
}

static void test_documented(void **state) {
    static const char *const states[] = {"absent", "found", "refused", "no device", "ready"};
    static char doc[1 << 20], table[1 << 16];
    size_t used = 0;
    if (WICK_SANITIZER) skip(); /* some reasons are others */
    for (size_t i = 0; i < sizeof flaws / sizeof flaws[0]; ++i) {
        const flaw *f = &flaws[i];
        used += (size_t)snprintf(table + used, sizeof table - used, "| %s | %s | %s | %s |\n", f->what,
                                 states[f->state], f->stage, f->reason);
    }
    assert_true(used < sizeof table);
    read_text(WICK_SOURCE_DIR "/docs/plugin-abi.md", doc, sizeof doc);
    if (strstr(doc, table)) return;
    write_file("flaws.md", table, used);
    fail_msg("docs/plugin-abi.md does not hold the table in " PLUGINS "/flaws.md");
}

/* ---- what a newer plugin may have more ---- */
static void test_longer_table(void **state) {
    wick_runtime *runtime = make_runtime();
    assert_ok(load(runtime, "[plugin.x]\npath = " PLUGINS "/longer.so\n"));
    assert_state(wick_runtime_backend(runtime, 0), WICK_BACKEND_READY, "ready", "");
    wick_runtime_release(runtime);
}

/* ---- success ---- */
static void test_good(void **state) {
    wick_runtime *runtime = make_runtime();
    wick_device device;
    assert_ok(load(runtime, "[plugin.x]\npath = " PLUGINS "/good.so\ndevices = 3\nfallback = warn\n"));
    const wick_backend_info *info = wick_runtime_backend(runtime, 0);
    assert_state(info, WICK_BACKEND_READY, "ready", "");
    assert_string_equal(info->name, "x");
    assert_string_equal(info->device, "fixture");
    assert_string_equal(info->version, "1.2.3");
    assert_string_equal(info->reason, "");
    assert_string_equal(info->path, PLUGINS "/good.so");
    assert_int_equal(info->device_count, 3);
    assert_ok(wick_runtime_device(runtime, "fixture:2", &device));
    assert_int_equal(device.type, info->device_type);
    /* Again: it is passed over. */
    assert_ok(load(runtime, "[plugin.x]\npath = " PLUGINS "/good.so\n"));
    assert_null(wick_runtime_backend(runtime, 1));
    wick_runtime_release(runtime);
}

static void test_device_name_taken(void **state) {
    wick_runtime *runtime = make_runtime();
    wick_status *status =
        load(runtime, "[plugin.x]\npath = " PLUGINS "/good.so\n[plugin.y]\npath = " PLUGINS "/good.so\n");
    assert_error(status, WICK_FAILED_PRECONDITION, "fixture");
    assert_state(wick_runtime_backend(runtime, 0), WICK_BACKEND_READY, "ready", "");
    assert_state(wick_runtime_backend(runtime, 1), WICK_BACKEND_REFUSED, "probe", "fixture");
    wick_runtime_release(runtime);
}

static void test_static(void **state) {
    wick_runtime *runtime = make_runtime();
    wick_config_file *config = parse("[plugin.s]\ndevices = 2\n");
    assert_ok(wick_plugin_register_static(runtime, "s", wick_plugin_query_fixture, config));
    assert_state(wick_runtime_backend(runtime, 0), WICK_BACKEND_READY, "ready", "");
    assert_string_equal(wick_runtime_backend(runtime, 0)->path, "(static)");
    assert_int_equal(wick_runtime_backend(runtime, 0)->device_count, 2);
    assert_error(wick_plugin_register_static(runtime, "s", wick_plugin_query_fixture, NULL), WICK_FAILED_PRECONDITION,
                 "loaded already");
    assert_error(wick_plugin_register_static(runtime, "a/b", wick_plugin_query_fixture, NULL), WICK_INVALID_ARGUMENT,
                 "a/b");
    assert_ok(wick_runtime_load(runtime, config));
    assert_null(wick_runtime_backend(runtime, 1));
    wick_config_free(config);
    wick_runtime_release(runtime);
}

/* ---- what a file asks for ---- */
static void test_optional(void **state) {
    wick_runtime *runtime = make_runtime();
    assert_ok(load(runtime, "[plugin.gone]\nrequired = no\n[plugin.off]\nenabled = no\n"
                            "[plugin.x]\npath = " PLUGINS "/good.so\n"));
    assert_state(wick_runtime_backend(runtime, 0), WICK_BACKEND_ABSENT, "search", "gone.so was not found");
    assert_state(wick_runtime_backend(runtime, 1), WICK_BACKEND_READY, "ready", "");
    assert_null(wick_runtime_backend(runtime, 2));
    wick_runtime_release(runtime);
}

static void test_all_are_tried(void **state) {
    wick_runtime *runtime = make_runtime();
    assert_error(load(runtime, "[plugin.gone]\n[plugin.x]\npath = " PLUGINS "/good.so\n"), WICK_NOT_FOUND,
                 "plugin.gone: search");
    assert_state(wick_runtime_backend(runtime, 1), WICK_BACKEND_READY, "ready", "");
    wick_runtime_release(runtime);
}

static void test_list(void **state) {
    wick_runtime *runtime = make_runtime();
    assert_int_equal(setenv("WICK_PLUGIN_PATH", "relative:/nonexistent::" PLUGINS, 1), 0);
    assert_ok(load(runtime, "[runtime]\nplugins = good\n[plugin.unlisted]\n"));
    const wick_backend_info *info = wick_runtime_backend(runtime, 0);
    assert_state(info, WICK_BACKEND_READY, "ready", "");
    assert_has(info->tried, "relative: passed over, not an absolute folder\n");
    assert_has(info->tried, "/nonexistent/good.so: No such file or directory");
    assert_null(wick_runtime_backend(runtime, 1));
    wick_runtime_release(runtime);
}

/* What is installed comes first, in name order and not required; then what the file names besides. */
static void test_auto(void **state) {
    wick_runtime *runtime = make_runtime();
    const wick_backend_info *info, *last = NULL;
    assert_ok(load(runtime, "[runtime]\nplugins = auto\n[plugin.0]\npath = " PLUGINS "/good.so\n"));
    for (int i = 0; (info = wick_runtime_backend(runtime, i)) != NULL; ++i) {
        if (last && strcmp(info->name, "0") != 0) assert_true(strcmp(last->name, info->name) < 0);
        last = info;
    }
    assert_string_equal(last->name, "0");
    assert_state(last, WICK_BACKEND_READY, "ready", "");
    wick_runtime_release(runtime);
}

static void test_never_the_current_folder(void **state) {
    wick_runtime *runtime = make_runtime();
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(PLUGINS), 0);
    assert_int_equal(setenv("WICK_PLUGIN_PATH", ".:", 1), 0);
    assert_error(load(runtime, "[plugin.good]\n"), WICK_NOT_FOUND, "good.so was not found");
    assert_int_equal(chdir(before), 0);
    wick_runtime_release(runtime);
}

static void test_relative_to_the_file(void **state) {
    wick_runtime *runtime = make_runtime();
    wick_config_file *config = NULL;
    static const char text[] = "[plugin.x]\npath = plugins/good.so\n";
    assert_ok(wick_config_parse(text, sizeof text - 1, WICK_BUILD_DIR "/tests/test.ini", NULL, &config));
    assert_ok(wick_runtime_load(runtime, config));
    assert_string_equal(wick_runtime_backend(runtime, 0)->path, PLUGINS "/good.so");
    wick_config_free(config);
    wick_runtime_release(runtime);
}

static void test_bad_files(void **state) {
    static const struct {
        const char *text;
        wick_code code;
        const char *message;
    } cases[] = {
        {"", WICK_FAILED_PRECONDITION, "no backend: test.ini names none; add [plugin.NAME] or plugins = auto"},
        {"[train]\nepochs = 1\n", WICK_FAILED_PRECONDITION, "no backend: test.ini names none"},
        {"[plugin.x]\nenabled = no\n", WICK_FAILED_PRECONDITION, "no backend: test.ini names none"},
        {"[plugin.x]\nrequired = no\n", WICK_FAILED_PRECONDITION,
         "test.ini: no backend is ready: x: search: x.so was not found"},
        {"[plugin.x]\nfallback = host\n", WICK_INVALID_ARGUMENT,
         "test.ini:2: [plugin.x] fallback: got \"host\", wanted one of error|warn|cpu"},
        {"[plugin.x]\nisolate = maybe\n", WICK_INVALID_ARGUMENT, "isolate: got \"maybe\", wanted yes or no"},
        {"[plugin.a.b]\n", WICK_INVALID_ARGUMENT, "got \"a.b\", wanted a plugin's name without '.'"},
        {"[runtime]\nplugins = a/b\n", WICK_INVALID_ARGUMENT, "test.ini:2: [runtime] plugins: got \"a/b\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        wick_runtime *runtime = make_runtime();
        assert_error(load(runtime, cases[i].text), cases[i].code, cases[i].message);
        wick_runtime_release(runtime);
    }
}

static void test_default(void **state) {
    wick_runtime *runtime = make_runtime();
    assert_error(wick_runtime_load_default(runtime, "/nonexistent/wick.ini"), WICK_IO,
                 "/nonexistent/wick.ini: cannot open: No such file or directory");
    write_file("named.ini", "[plugin.good]\npath = good.so\n", 29);
    assert_int_equal(setenv("WICK_CONFIG", PLUGINS "/named.ini", 1), 0);
    assert_ok(wick_runtime_load_default(runtime, NULL));
    assert_state(wick_runtime_backend(runtime, 0), WICK_BACKEND_READY, "ready", "");
    assert_int_equal(unsetenv("WICK_CONFIG"), 0);
    wick_runtime_release(runtime);
}

/* ---- isolation ---- */
static wick_status *load_isolated(wick_runtime *runtime, const char *file, const char *keys) {
    char text[8192];
    snprintf(text, sizeof text, "[plugin.x]\nisolate = yes\npath = " PLUGINS "/%s\n%s\n", file, keys);
    return load(runtime, text);
}

static void test_isolated_refusal(void **state) {
    wick_runtime *runtime = make_runtime();
    assert_error(load_isolated(runtime, "good.so", "fail =;a\n    long"), WICK_DEVICE_ERROR, ";a\nlong");
    assert_state(wick_runtime_backend(runtime, 0), WICK_BACKEND_REFUSED, "create", ";a long");
    wick_runtime_release(runtime);
}

static void test_isolated_success(void **state) {
    wick_runtime *runtime = make_runtime();
    assert_ok(load(runtime, "[plugin.x]\nisolate = yes\npath = " PLUGINS "/good.so\n"));
    assert_state(wick_runtime_backend(runtime, 0), WICK_BACKEND_READY, "ready", "");
    wick_runtime_release(runtime);
}

static void test_no_probe_program(void **state) {
    wick_runtime *runtime = make_runtime();
    assert_int_equal(setenv("WICK_PROBE", "/nonexistent/wick-probe", 1), 0);
    assert_error(load_isolated(runtime, "good.so", ""), WICK_NOT_FOUND,
                 "isolate = yes: tried /nonexistent/wick-probe: No such file or directory");
    assert_state(wick_runtime_backend(runtime, 0), WICK_BACKEND_REFUSED, "isolate", "was not found");
    assert_int_equal(unsetenv("WICK_PROBE"), 0);
    wick_runtime_release(runtime);
}

/* ---- exhausted memory ---- */
typedef struct budget {
    int64_t left;
    int64_t live;
} budget;

static void *budget_allocate(void *user, size_t bytes) {
    budget *b = user;
    if (b->left <= 0) return NULL;
    void *p = malloc(bytes);
    if (p) b->left--, b->live++;
    return p;
}
static void *budget_reallocate(void *user, void *pointer, size_t bytes) {
    budget *b = user;
    if (b->left <= 0) return NULL;
    b->left--;
    if (!pointer) b->live++;
    return realloc(pointer, bytes);
}
static void budget_free(void *user, void *pointer) {
    ((budget *)user)->live--;
    free(pointer);
}

static void test_out_of_memory(void **state) {
    wick_config_file *config = parse("[plugin.gone]\nrequired = no\n[plugin.x]\npath = " PLUGINS "/good.so\n");
    bool failed = true;
    for (int n = 0; failed; ++n) {
        budget b = {INT64_MAX, 0};
        const wick_allocator memory = {budget_allocate, budget_reallocate, budget_free, &b};
        const wick_runtime_options options = {sizeof options, 0, &memory, NULL, NULL};
        wick_runtime *runtime = NULL;
        assert_ok(wick_runtime_create(&options, &runtime));
        b.left = n;
        wick_status *status = wick_runtime_load(runtime, config);
        failed = b.left == 0;
        if (!failed) assert_ok(status);
        wick_status_free(status);
        b.left = INT64_MAX;
        wick_runtime_release(runtime);
        assert_int_equal(b.live, 0);
    }
    wick_config_free(config);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flaws),
        cmocka_unit_test(test_documented),
        cmocka_unit_test(test_longer_table),
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_device_name_taken),
        cmocka_unit_test(test_static),
        cmocka_unit_test(test_optional),
        cmocka_unit_test(test_all_are_tried),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_auto),
        cmocka_unit_test(test_never_the_current_folder),
        cmocka_unit_test(test_relative_to_the_file),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_default),
        cmocka_unit_test(test_isolated_refusal),
        cmocka_unit_test(test_isolated_success),
        cmocka_unit_test(test_no_probe_program),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, write_files, NULL);
}
