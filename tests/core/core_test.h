/* What the tests of tensors and gradients share: one runtime with the CPU backend for a program, a fresh context with an
 * open scope for each test, and a check that a test leaves no error and no live object behind. */
#ifndef WICK_TESTS_CORE_TEST_H
#define WICK_TESTS_CORE_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <wick/autograd.h>
#include <wick/call.h>
#include <wick/config.h>
#include <wick/ops.h>

static wick_runtime *RT;
static wick_context *C;
static wick_scope SCOPE;
static wick_device CPU;

#define DIMS(...) (const wick_dim[]){__VA_ARGS__}, sizeof((const wick_dim[]){__VA_ARGS__}) / sizeof(wick_dim)
#define COUNT(...) (sizeof((const double[]){__VA_ARGS__}) / sizeof(double))
/* A one-dimensional f64 tensor. */
#define T(...) tensor_of((const double[]){__VA_ARGS__}, COUNT(__VA_ARGS__))
/* The same as a leaf that requires a gradient. */
#define LEAF(...) wick_set_requires_grad(C, T(__VA_ARGS__), true)
#define INT(i) wick_value_int(i)
#define SCALED(t, factor) wick_mul_scalar(C, t, wick_value_float(factor))
#define SUM(t) wick_sum(C, t, NULL)

/* ---- programs and tests ---- */
static inline wick_status *load_text(wick_runtime *runtime, const char *text) {
    wick_config_file *config = NULL;
    wick_status *status = wick_config_parse(text, strlen(text), "test.ini", NULL, &config);
    if (!status) status = wick_runtime_load(runtime, config);
    wick_config_free(config);
    return status;
}

#define CPU_SECTION "[plugin.cpu]\npath = " WICK_BUILD_DIR "/lib/wick/cpu.so\n"

static inline void assert_ok(wick_status *status) {
    if (!status) return;
    const wick_status *cause = wick_status_cause(status);
    fail_msg("%s (%s)", wick_status_message(status), cause ? wick_status_message(cause) : wick_status_origin(status));
}

static inline int program_start(void **state) {
    assert_ok(wick_runtime_create(NULL, &RT));
    assert_ok(load_text(RT, CPU_SECTION));
    CPU = wick_runtime_host(RT);
    return 0;
}

static inline int program_end(void **state) {
    wick_runtime_release(RT);
    return 0;
}

static inline int test_start(void **state) {
    assert_ok(wick_context_create(RT, &C));
    SCOPE = wick_scope_open(C);
    return 0;
}

static inline int test_end(void **state) {
    wick_status *left = wick_status_take(C);
    wick_scope_close(C, SCOPE);
    wick_context_destroy(C);
    assert_ok(left);
    assert_int_equal(wick_runtime_live_objects(RT), 0);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, test_start, test_end)
#define RUN(tests) cmocka_run_group_tests(tests, program_start, program_end)

/* ---- tensors ---- */
static inline wick_tensor *tensor_of(const double *values, size_t n) {
    return wick_tensor_from_host(C, values, WICK_F64, 1, (const wick_dim[]){(wick_dim)n}, CPU);
}

/* Rows of equal length. */
static inline wick_tensor *matrix(int rows, int columns, const double *values) {
    return wick_tensor_from_host(C, values, WICK_F64, 2, (const wick_dim[]){rows, columns}, CPU);
}
#define MATRIX(rows, columns, ...) matrix(rows, columns, (const double[]){__VA_ARGS__})

static inline wick_tensor *grad_leaf(wick_tensor *t) { return wick_set_requires_grad(C, t, true); }

/* ---- checks ---- */
static inline void assert_healthy(void) {
    const wick_status *s = wick_context_status(C);
    if (s) fail_msg("%s (%s)", wick_status_message(s), wick_status_origin(s));
}

static inline void assert_values(wick_tensor *t, const double *wanted, size_t n) {
    double got[256];
    assert_healthy();
    assert_non_null(t);
    assert_int_equal(wick_numel(t), n);
    wick_modes modes = wick_no_grad(C);
    wick_scope scope = wick_scope_open(C);
    wick_tensor *wide = wick_to_dtype(C, t, WICK_F64, NULL);
    assert_healthy();
    assert_ok(wick_tensor_to_host(C, wide, got, n * sizeof *got));
    wick_scope_close(C, scope);
    wick_modes_set(C, modes);
    for (size_t i = 0; i < n; ++i)
        if (!(fabs(got[i] - wanted[i]) <= 1e-6 * (1 + fabs(wanted[i]))) && !(isnan(got[i]) && isnan(wanted[i])))
            fail_msg("element %zu: got %.9g, wanted %.9g", i, got[i], wanted[i]);
}
#define ASSERT_VALUES(t, ...) assert_values(t, (const double[]){__VA_ARGS__}, COUNT(__VA_ARGS__))
#define ASSERT_GRAD(t, ...) ASSERT_VALUES(wick_grad_of(t), __VA_ARGS__)

static inline void assert_sizes(const wick_tensor *t, const wick_dim *sizes, size_t n) {
    assert_healthy();
    assert_non_null(t);
    assert_int_equal(wick_ndim(t), n);
    for (size_t i = 0; i < n; ++i) assert_int_equal(t->sizes[i], sizes[i]);
}
#define ASSERT_SIZES(t, ...) assert_sizes(t, DIMS(__VA_ARGS__))

static inline void assert_contains(const char *text, const char *part) {
    if (!strstr(text, part)) fail_msg("got \"%s\", wanted it to contain \"%s\"", text, part);
}

/* The status is an error of which message or cause contains `part`; frees it. */
static inline void assert_error(wick_status *status, const char *part) {
    char all[4096] = "";
    for (const wick_status *s = status; s; s = wick_status_cause(s)) {
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s; ", wick_status_message(s));
    }
    wick_status_free(status);
    if (!all[0]) fail_msg("no error, wanted \"%s\"", part);
    assert_contains(all, part);
}
/* The context has failed with such an error; clears it. */
static inline void assert_failed(const char *part) { assert_error(wick_status_take(C), part); }

/* A backward pass from the sum of `t`. */
static inline bool backward_sum(wick_tensor *t) { return wick_backward(C, SUM(t)); }

/* x behind `length` (even) nodes; the caller releases it. */
static inline wick_tensor *long_chain(wick_tensor *x, int length) {
    wick_tensor *y = wick_keep(C, x);
    for (int i = 0; y && i < length; ++i) {
        wick_scope scope = wick_scope_open(C);
        wick_tensor *next = wick_keep(C, wick_neg(C, y));
        wick_release(y);
        y = next;
        wick_scope_close(C, scope);
    }
    return y;
}

#endif
