/* What the tests of the SDK share: a runtime with the CPU plugin, a context with an open scope, checks. */
#ifndef WICK_TESTS_SDK_TEST_H
#define WICK_TESTS_SDK_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <wick/config.h>
#include <wick/ops.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Fails with the message if there is one; frees it. */
static inline void expect_ok(wick_status *status) {
    if (status) fail_msg("%s", wick_status_message(status));
}

static inline void expect_good(wick_context *c) { expect_ok(wick_status_take(c)); }

typedef struct fixture {
    wick_runtime *runtime;
    wick_context *c;
    wick_device host;
    wick_scope scope;
} fixture;

/* Loads what the INI text names. */
static inline void open_fixture(fixture *f, const char *ini) {
    wick_config_file *config = NULL;
    expect_ok(wick_runtime_create(NULL, &f->runtime));
    expect_ok(wick_config_parse(ini, strlen(ini), "test.ini", NULL, &config));
    expect_ok(wick_runtime_load(f->runtime, config));
    wick_config_free(config);
    expect_ok(wick_context_create(f->runtime, &f->c));
    f->host = wick_runtime_host(f->runtime);
    f->scope = wick_scope_open(f->c);
}

static inline void close_fixture(fixture *f) {
    wick_scope_close(f->c, f->scope);
    expect_good(f->c);
    wick_context_destroy(f->c);
    assert_int_equal(wick_runtime_live_objects(f->runtime), 0);
    wick_runtime_release(f->runtime);
}

#endif
