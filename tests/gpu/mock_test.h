/* What the tests of plugin hip over the mock runtime share. A file defines MOCK_KEYS, lines of [plugin.hip], before. */
#ifndef WICK_TESTS_GPU_MOCK_TEST_H
#define WICK_TESTS_GPU_MOCK_TEST_H

#include "../sdk/sdk_test.h"

#include <dlfcn.h>

#define MOCK WICK_BUILD_DIR "/tests/libmock_hip.so"
#define CPU_SECTION "[plugin.cpu]\npath = " WICK_BUILD_DIR "/lib/wick/cpu.so\n"
#define HIP_SECTION "[plugin.hip]\npath = " WICK_BUILD_DIR "/lib/wick/hip.so\n"
#define HIP_INI CPU_SECTION HIP_SECTION "driver = " MOCK "\n"

static void (*mock_fail)(const char *orders);
static long (*mock_calls)(const char *call);

/* Of a group of tests, once. */
static inline int open_mock(void **state) {
    void *mock = dlopen(MOCK, RTLD_NOW | RTLD_LOCAL);
    if (!mock) fail_msg("%s", dlerror());
    *(void **)&mock_fail = dlsym(mock, "mock_hip_fail");
    *(void **)&mock_calls = dlsym(mock, "mock_hip_calls");
    assert_non_null(mock_fail);
    assert_non_null(mock_calls);
    return 0;
}

/* Of a test. */
static fixture F;
static wick_device HIP;

static inline void start_with(const char *ini) {
    open_fixture(&F, ini);
    expect_ok(wick_runtime_device(F.runtime, "hip", &HIP));
}

static inline void start(void) { start_with(HIP_INI MOCK_KEYS); }

static inline void end(void) {
    mock_fail(NULL);
    close_fixture(&F);
}

/* Starts with two lines of [plugin.hip] and looks for a text in the device's features. */
static inline void start_and_find(const char *other, const char *line, const char *text) {
    wick_device_info info = {sizeof info};
    char ini[4096];
    snprintf(ini, sizeof ini, "%s%s%s", HIP_INI, other, line);
    start_with(ini);
    expect_ok(wick_device_query(F.runtime, HIP, &info));
    if (!strstr(info.features, text)) fail_msg("%s: no '%s' in '%s'", line, text, info.features);
}

static inline void assert_fails(wick_code code, const char *text) {
    wick_status *s = wick_status_take(F.c);
    assert_non_null(s);
    if (wick_status_code(s) != code || !strstr(wick_status_message(s), text))
        fail_msg("wanted code %d with '%s', got %d: %s", code, text, wick_status_code(s), wick_status_message(s));
    wick_status_free(s);
}

#endif
