/* What the tests of devices share: a runtime with the CPU and reference devices, a context with an open scope for each
 * test, and a check that a test leaves no error and no live object behind. */
#ifndef WICK_TESTS_DEVICE_TEST_H
#define WICK_TESTS_DEVICE_TEST_H

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
static wick_device CPU, DEVICE; /* DEVICE: under test */

#define PLUGIN(name, file) "[plugin." name "]\npath = " WICK_BUILD_DIR "/lib/wick/" file ".so\n"
#define CPU_SECTION PLUGIN("cpu", "cpu")
#define DIMS(...) (const wick_dim[]){__VA_ARGS__}, sizeof((const wick_dim[]){__VA_ARGS__}) / sizeof(wick_dim)
#define SIZES(...) \
    sizeof((const wick_dim[]){__VA_ARGS__}) / sizeof(wick_dim), (const wick_dim[]) { __VA_ARGS__ }

/* ---- statuses ---- */
/* Messages of a status and its causes. */
static inline const char *status_text(const wick_status *status) {
    static char text[4096];
    text[0] = 0;
    for (const wick_status *s = status; s; s = wick_status_cause(s)) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s; ", wick_status_message(s));
    }
    return text;
}

static inline void assert_ok(wick_status *status) {
    if (status) fail_msg("%s", status_text(status));
}

/* The status is an error of that code, of which message or cause contains `part`; frees it. */
static inline void assert_error(wick_status *status, wick_code code, const char *part) {
    assert_non_null(status);
    if (wick_status_code(status) != code || !strstr(status_text(status), part))
        fail_msg("got %s: %s wanted %s: ..%s..", wick_code_text(wick_status_code(status)), status_text(status),
                 wick_code_text(code), part);
    wick_status_free(status);
}
/* The context has failed with such an error; clears it. */
static inline void assert_failed(wick_code code, const char *part) { assert_error(wick_status_take(C), code, part); }

/* ---- runtimes and contexts ---- */
static inline wick_status *load_text(wick_runtime *runtime, const char *text) {
    wick_config_file *config = NULL;
    wick_status *status = wick_config_parse(text, strlen(text), "test.ini", NULL, &config);
    if (!status) status = wick_runtime_load(runtime, config);
    wick_config_free(config);
    return status;
}

static inline void open_runtime(const char *ini, const char *device) {
    assert_ok(wick_runtime_create(NULL, &RT));
    assert_ok(load_text(RT, ini));
    CPU = wick_runtime_host(RT);
    assert_ok(wick_runtime_device(RT, device, &DEVICE));
}

static inline void open_context(void) {
    assert_ok(wick_context_create(RT, &C));
    SCOPE = wick_scope_open(C);
    wick_manual_seed(C, 7);
}

static inline void close_context(void) {
    wick_status *left = wick_status_take(C);
    wick_scope_close(C, SCOPE);
    wick_context_destroy(C);
    assert_ok(left);
    assert_int_equal(wick_runtime_live_objects(RT), 0);
}

static inline void close_runtime(void) {
    wick_runtime_release(RT);
    RT = NULL;
}

static inline int test_start(void **state) {
    open_context();
    return 0;
}
static inline int test_end(void **state) {
    close_context();
    return 0;
}
#define CASE(name) cmocka_unit_test_setup_teardown(name, test_start, test_end)

/* ---- tensors ---- */
static inline wick_tensor *to(wick_tensor *t, wick_device device) {
    return t ? wick_to_device(C, t, device, (wick_dtype)t->dtype, NULL) : NULL;
}

/* Numbers without a pattern in [-1, 1), the same for the same seed. */
static inline wick_tensor *noise(unsigned seed, wick_device device, size_t ndim, const wick_dim *sizes) {
    size_t count = 1;
    for (size_t d = 0; d < ndim; ++d) count *= (size_t)sizes[d];
    float *values = malloc(count * sizeof *values + 1);
    for (size_t i = 0; i < count; ++i) {
        seed = seed * 1103515245u + 12345u;
        values[i] = (float)(seed >> 8 & 0xffff) / 32768 - 1;
    }
    wick_tensor *t = wick_tensor_from_host(C, values, WICK_F32, (int)ndim, sizes, device);
    free(values);
    return t;
}

static inline void assert_healthy(void) {
    const wick_status *s = wick_context_status(C);
    if (s) fail_msg("%s", status_text(s));
}

/* The elements as doubles; the caller frees them. */
static inline double *values_of(wick_tensor *t) {
    assert_healthy();
    assert_non_null(t);
    wick_modes modes = wick_no_grad(C);
    wick_scope scope = wick_scope_open(C);
    size_t bytes = (size_t)t->numel * sizeof(double);
    double *values = malloc(bytes + 1);
    wick_tensor *wide = wick_to_dtype(C, to(t, CPU), WICK_F64, NULL);
    assert_healthy();
    assert_ok(wick_tensor_to_host(C, wide, values, bytes));
    wick_scope_close(C, scope);
    wick_modes_set(C, modes);
    return values;
}

/* The largest difference, relative to values beyond 1. NaN where only one is. */
static inline double difference(wick_tensor *a, wick_tensor *b) {
    double *x = values_of(a), *y = values_of(b), most = 0;
    assert_int_equal(a->numel, b->numel);
    for (int64_t i = 0; i < a->numel; ++i) {
        if (isnan(x[i]) && isnan(y[i])) continue;
        double d = fabs(x[i] - y[i]) / (1 + fabs(y[i]));
        if (!(d <= most)) most = d;
    }
    free(x), free(y);
    return most;
}

static inline void assert_near(wick_tensor *got, wick_tensor *wanted, double tolerance, const char *what) {
    double d = difference(got, wanted);
    if (!(d <= tolerance)) fail_msg("%s: differs by %g, at most %g allowed", what, d, tolerance);
}
#define assert_same(got, wanted) assert_near(got, wanted, 0, #got)

#endif
