/* A runtime with the CPU plugin and one of its instruction sets. */
#ifndef WICK_TESTS_CPU_TEST_H
#define WICK_TESTS_CPU_TEST_H

#include "sdk/sdk_test.h"

static fixture F;
static const char *const isas[] = {"base", "avx2", "avx512"};

/* Opens a runtime, or returns false where the machine lacks the instruction set (or the BLAS that is asked for). `more`: lines of
 * the plugin's section; without a line about it there is no BLAS. */
static bool start_with(const char *isa, int threads, const char *more) {
    char ini[512];
    snprintf(ini, sizeof ini,
             "[plugin.cpu]\npath = " WICK_BUILD_DIR "/lib/wick/cpu.so\nisa = %s\nthreads = %d\n"
             "required = no\n%s%s",
             isa, threads, strstr(more, "blas") ? "" : "blas = none\n", more);
    wick_config_file *config = NULL;
    expect_ok(wick_runtime_create(NULL, &F.runtime));
    expect_ok(wick_config_parse(ini, strlen(ini), "test.ini", NULL, &config));
    expect_ok(wick_runtime_load(F.runtime, config));
    wick_config_free(config);
    if (wick_runtime_backend(F.runtime, 0)->state != WICK_BACKEND_READY) {
        wick_runtime_release(F.runtime);
        return false;
    }
    expect_ok(wick_context_create(F.runtime, &F.c));
    F.host = wick_runtime_host(F.runtime);
    F.scope = wick_scope_open(F.c);
    return true;
}

static inline bool start(const char *isa, int threads) { return start_with(isa, threads, ""); }

#endif
