/* The OpenCL plugin through the public API, on whatever platform there is: states, copies, kernels against the CPU's,
 * streams and events, faults. Without any platform the tests are skipped, with the reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* must follow */
#include <cmocka.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wick/config.h>
#include <wick/ops.h>
#include <wick/stream.h>

enum { N = 1000 };

typedef struct world {
    wick_runtime *runtime;
    wick_context *c;
    wick_device cpu, device;
} world;

static wick_runtime *load(const char *keys) {
    char ini[512];
    wick_runtime *runtime = NULL;
    wick_config_file *config = NULL;
    int bytes = snprintf(ini, sizeof ini, "[plugin.cpu]\n[plugin.opencl]\nrequired = no\n%s\n", keys);
    assert_null(wick_runtime_create(NULL, &runtime));
    assert_null(wick_config_parse(ini, (size_t)bytes, "test.ini", NULL, &config));
    wick_status_free(wick_runtime_load(runtime, config));
    wick_config_free(config);
    return runtime;
}

static const wick_backend_info *info_of(wick_runtime *runtime) { return wick_runtime_backend(runtime, 1); }

/* Once, before the tests: is there any platform, and was the plugin built? */
static const char *missing_platform(void) {
    static char reason[256];
    wick_runtime *runtime = load("");
    const wick_backend_info *info = info_of(runtime);
    bool missing = info && (info->state == WICK_BACKEND_NO_DEVICE || info->state == WICK_BACKEND_ABSENT);
    snprintf(reason, sizeof reason, "%s", missing ? info->reason : "");
    wick_runtime_release(runtime);
    return missing ? reason : NULL;
}

static int open_world(void **state) {
    static world w;
    w = (world){.runtime = load("")};
    if (wick_context_create(w.runtime, &w.c) || wick_runtime_device(w.runtime, "opencl", &w.device)) return -1;
    w.cpu = wick_runtime_host(w.runtime);
    wick_manual_seed(w.c, 7);
    *state = &w;
    return 0;
}

static int close_world(void **state) {
    world *w = *state;
    wick_context_destroy(w->c);
    int64_t live = wick_runtime_live_objects(w->runtime);
    wick_runtime_release(w->runtime);
    return live == 0 ? 0 : -1;
}

static void to_host(world *w, wick_tensor *t, float *out, size_t n) {
    assert_null(wick_context_status(w->c));
    assert_null(wick_tensor_to_host(w->c, t, out, n * sizeof *out));
}

/* ---- loading ---- */
static void no_such_platform_is_no_device(void **state) {
    (void)state;
    wick_runtime *runtime = load("platform = there is none of this name");
    assert_int_equal(info_of(runtime)->state, WICK_BACKEND_NO_DEVICE);
    assert_non_null(strstr(info_of(runtime)->reason, "there is none of this name"));
    wick_runtime_release(runtime);
}

static void no_library_is_no_device(void **state) {
    (void)state;
    wick_runtime *runtime = load("library = /nonexistent/libOpenCL.so");
    assert_int_equal(info_of(runtime)->state, WICK_BACKEND_NO_DEVICE);
    assert_non_null(strstr(info_of(runtime)->reason, "/nonexistent/libOpenCL.so"));
    wick_runtime_release(runtime);
}

static void wrong_type_is_refused(void **state) {
    (void)state;
    wick_runtime *runtime = load("type = quantum");
    assert_int_not_equal(info_of(runtime)->state, WICK_BACKEND_READY);
    assert_non_null(strstr(info_of(runtime)->reason, "quantum"));
    wick_runtime_release(runtime);
}

static void device_key_names_the_device(void **state) {
    (void)state;
    wick_device device;
    wick_runtime *runtime = load("device = ocl");
    assert_null(wick_runtime_device(runtime, "ocl", &device));
    wick_runtime_release(runtime);
}

/* ---- memory and kernels ---- */
static void copies_keep_the_bytes(void **state) {
    world *w = *state;
    float in[N], out[N];
    wick_scope scope = wick_scope_open(w->c);
    for (int i = 0; i < N; ++i) in[i] = (float)i * 0.25f;
    to_host(w, wick_tensor_from_host(w->c, in, WICK_F32, 1, (wick_dim[]){N}, w->device), out, N);
    assert_memory_equal(in, out, sizeof in);
    wick_scope_close(w->c, scope);
}

/* sum((x + y^T) * 2, 0) for a strided operand, an operand of another dtype and a number of the host. */
static wick_tensor *expression(world *w, wick_device device) {
    float x[12];
    int64_t y[12];
    for (int i = 0; i < 12; ++i) x[i] = (float)i, y[i] = 100 * i;
    wick_tensor *a = wick_tensor_from_host(w->c, x, WICK_F32, 2, (wick_dim[]){3, 4}, device);
    wick_tensor *b = wick_tensor_from_host(w->c, y, WICK_I64, 2, (wick_dim[]){4, 3}, device);
    wick_tensor *two = wick_tensor_from_host(w->c, (float[]){2}, WICK_F32, 0, NULL, w->cpu);
    wick_tensor *sum = wick_add(w->c, a, wick_transpose(w->c, b, 0, 1), NULL);
    return wick_matmul(w->c, wick_mul(w->c, sum, two),
                       wick_tensor_from_host(w->c, x, WICK_F32, 2, (wick_dim[]){4, 3}, device));
}

static void kernels_agree_with_the_cpu(void **state) {
    world *w = *state;
    float mine[9], wanted[9];
    wick_scope scope = wick_scope_open(w->c);
    to_host(w, expression(w, w->device), mine, 9);
    to_host(w, expression(w, w->cpu), wanted, 9);
    for (int i = 0; i < 9; ++i) assert_true(fabsf(mine[i] - wanted[i]) <= 1e-6f * fabsf(wanted[i]));
    wick_scope_close(w->c, scope);
}

/* The same with kernels for exactly these dtypes, whatever the size. */
static void specialized_kernels_agree_too(void **state) {
    world w = {.runtime = load("specialize = 1")};
    (void)state;
    assert_null(wick_context_create(w.runtime, &w.c));
    assert_null(wick_runtime_device(w.runtime, "opencl", &w.device));
    w.cpu = wick_runtime_host(w.runtime);
    void *self = &w;
    kernels_agree_with_the_cpu(&self);
    wick_context_destroy(w.c);
    wick_runtime_release(w.runtime);
}

/* Scalars and operands of other dtypes are wrapped to the compute dtype: clamp(u8, -1, 1) has the bounds 255 and 1. */
static void numbers_wrap_as_on_the_cpu(void **state) {
    world *w = *state;
    uint8_t in[4] = {0, 1, 2, 255}, out[2][4];
    const wick_device devices[2] = {w->cpu, w->device};
    wick_scope scope = wick_scope_open(w->c);
    for (int i = 0; i < 2; ++i) {
        wick_tensor *x = wick_tensor_from_host(w->c, in, WICK_U8, 1, (wick_dim[]){4}, devices[i]);
        wick_value low = wick_value_int(-1), high = wick_value_int(1);
        wick_clamp_options options = WICK_CLAMP_OPTIONS_INIT;
        options.min = low, options.max = high;
        assert_null(wick_tensor_to_host(w->c, wick_clamp(w->c, x, &options), out[i], sizeof out[i]));
    }
    assert_memory_equal(out[0], out[1], sizeof out[0]);
    wick_scope_close(w->c, scope);
}

/* Chances of fewer dimensions than the trials. */
static void bernoulli_broadcasts_its_chances(void **state) {
    world *w = *state;
    float sure[2] = {0, 1}, out[6] = {0};
    wick_scope scope = wick_scope_open(w->c);
    wick_tensor *p = wick_tensor_from_host(w->c, sure, WICK_F32, 1, (wick_dim[]){2}, w->device);
    wick_tensor *x = wick_tensor_from_host(w->c, out, WICK_F32, 2, (wick_dim[]){3, 2}, w->device);
    to_host(w, wick_bernoulli_tensor_(w->c, x, p), out, 6);
    for (int i = 0; i < 6; ++i) assert_true(out[i] == sure[i % 2]);
    wick_scope_close(w->c, scope);
}

/* A name that the templates use is taken away: the compiler's words come each time, from memory. */
static void program_that_does_not_build_is_unsupported(void **state) {
    world w = {.runtime = load("build_options = -Dview_locate=0")};
    (void)state;
    assert_null(wick_context_create(w.runtime, &w.c));
    assert_null(wick_runtime_device(w.runtime, "opencl", &w.device));
    wick_scope scope = wick_scope_open(w.c);
    wick_tensor *x = wick_tensor_from_host(w.c, (float[]){1}, WICK_F32, 1, (wick_dim[]){1}, w.device);
    for (int i = 0; i < 2; ++i) {
        assert_null(wick_neg(w.c, x));
        wick_status *status = wick_status_take(w.c);
        assert_int_equal(wick_status_code(status), WICK_UNSUPPORTED);
        assert_non_null(strstr(wick_status_message(status), "does not build"));
        wick_status_free(status);
    }
    wick_scope_close(w.c, scope);
    wick_context_destroy(w.c);
    wick_runtime_release(w.runtime);
}

static void uniform(world *w, wick_device device, float *out) {
    wick_rng_set(w->c, 7, 5);
    to_host(w, wick_uniform_(w->c, wick_tensor_from_host(w->c, out, WICK_F32, 1, (wick_dim[]){N}, device), NULL), out,
            N);
}

static void random_bits_are_the_cpus(void **state) {
    world *w = *state;
    float mine[N] = {0}, wanted[N] = {0};
    wick_scope scope = wick_scope_open(w->c);
    uniform(w, w->device, mine), uniform(w, w->cpu, wanted);
    assert_memory_equal(mine, wanted, sizeof mine);
    assert_true(mine[0] != mine[1]);
    wick_scope_close(w->c, scope);
}

/* An error of the device appears where its work is waited for. */
static void index_out_of_range_is_reported(void **state) {
    world *w = *state;
    float out[1];
    wick_scope scope = wick_scope_open(w->c);
    wick_tensor *x = wick_tensor_from_host(w->c, (float[]){1, 2}, WICK_F32, 1, (wick_dim[]){2}, w->device);
    wick_tensor *i = wick_tensor_from_host(w->c, (int64_t[]){9}, WICK_I64, 1, (wick_dim[]){1}, w->device);
    wick_tensor *y = wick_gather(w->c, x, 0, i, NULL);
    wick_status *status = wick_tensor_to_host(w->c, y, out, sizeof out);
    if (!status) status = wick_status_take(w->c);
    assert_non_null(status);
    assert_non_null(strstr(wick_status_message(status), "out of the range"));
    wick_status_free(status);
    wick_status_free(wick_status_take(w->c));
    to_host(w, wick_neg(w->c, x), (float[2]){0}, 2); /* and only once */
    wick_scope_close(w->c, scope);
}

/* ---- streams ---- */
static void streams_wait_for_events(void **state) {
    world *w = *state;
    wick_stream *stream = NULL;
    wick_event *start = NULL, *end = NULL;
    float out[N];
    double ms = -1;
    wick_scope scope = wick_scope_open(w->c);
    assert_null(wick_stream_create(w->runtime, w->device, 0, &stream));
    assert_null(wick_event_create(w->runtime, w->device, WICK_EVENT_TIMED, &start));
    assert_null(wick_event_create(w->runtime, w->device, WICK_EVENT_TIMED, &end));
    for (int i = 0; i < N; ++i) out[i] = 1;
    wick_tensor *x = wick_tensor_from_host(w->c, out, WICK_F32, 1, (wick_dim[]){N}, w->device);
    x = wick_add(w->c, x, x, NULL);
    assert_null(wick_event_record(start, NULL));
    assert_null(wick_stream_wait(stream, start));
    assert_true(wick_set_stream(w->c, w->device, stream));
    x = wick_add(w->c, x, x, NULL);
    assert_null(wick_event_record(end, stream));
    to_host(w, x, out, N);
    assert_null(wick_event_synchronize(end));
    assert_null(wick_event_elapsed(start, end, &ms));
    assert_true(wick_set_stream(w->c, w->device, NULL));
    for (int i = 0; i < N; ++i) assert_true(out[i] == 4);
    assert_true(ms >= 0 && ms < 60e3);
    wick_scope_close(w->c, scope);
    wick_event_release(start), wick_event_release(end), wick_stream_release(stream);
}

static void *add_on_a_thread(void *user) {
    world w = *(world *)user;
    float out[N], wrong = 0;
    if (wick_context_create(w.runtime, &w.c)) return user;
    wick_scope scope = wick_scope_open(w.c);
    for (int i = 0; i < N; ++i) out[i] = (float)i;
    wick_tensor *x = wick_tensor_from_host(w.c, out, WICK_F32, 1, (wick_dim[]){N}, w.device);
    for (int k = 0; k < 50; ++k)
        x = wick_add(w.c, x, x, NULL),
        x = wick_mul(w.c, x, wick_reciprocal(w.c, wick_full_like(w.c, x, wick_value_float(2), NULL)));
    wick_status *status = wick_tensor_to_host(w.c, x, out, sizeof out);
    for (int i = 0; i < N; ++i) wrong += out[i] != (float)i;
    bool failed = status || wick_failed(w.c) || wrong > 0;
    wick_status_free(status);
    wick_scope_close(w.c, scope);
    wick_context_destroy(w.c);
    return failed ? user : NULL;
}

static void contexts_on_two_threads(void **state) {
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) assert_int_equal(pthread_create(&threads[i], NULL, add_on_a_thread, *state), 0);
    for (int i = 0; i < 2; ++i) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_such_platform_is_no_device),
        cmocka_unit_test(no_library_is_no_device),
        cmocka_unit_test(wrong_type_is_refused),
        cmocka_unit_test(device_key_names_the_device),
        cmocka_unit_test_setup_teardown(copies_keep_the_bytes, open_world, close_world),
        cmocka_unit_test_setup_teardown(kernels_agree_with_the_cpu, open_world, close_world),
        cmocka_unit_test(specialized_kernels_agree_too),
        cmocka_unit_test(program_that_does_not_build_is_unsupported),
        cmocka_unit_test_setup_teardown(numbers_wrap_as_on_the_cpu, open_world, close_world),
        cmocka_unit_test_setup_teardown(bernoulli_broadcasts_its_chances, open_world, close_world),
        cmocka_unit_test_setup_teardown(random_bits_are_the_cpus, open_world, close_world),
        cmocka_unit_test_setup_teardown(index_out_of_range_is_reported, open_world, close_world),
        cmocka_unit_test_setup_teardown(streams_wait_for_events, open_world, close_world),
        cmocka_unit_test_setup_teardown(contexts_on_two_threads, open_world, close_world),
    };
    setenv("POCL_CACHE_DIR", WICK_BUILD_DIR "/pocl-cache", 1);
    const char *missing = missing_platform();
    if (missing) {
        printf("skipped: %s\n", missing);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
