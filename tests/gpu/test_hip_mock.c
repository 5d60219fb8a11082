/* Plugin hip, unchanged, over the mock runtime: device, copies, operators, streams, events, graphs, failures. */
#include "../sdk/sdk_test.h"

#include <dlfcn.h>

#include <wick/autograd.h>
#include <wick/sdk/plugin.h>
#include <wick/stream.h>

#define MOCK WICK_BUILD_DIR "/tests/libmock_hip.so"
#define CPU_SECTION "[plugin.cpu]\npath = " WICK_BUILD_DIR "/lib/wick/cpu.so\n"
#define HIP_SECTION "[plugin.hip]\npath = " WICK_BUILD_DIR "/lib/wick/hip.so\nhipblaslt = no\n"
#define HIP_INI CPU_SECTION HIP_SECTION "driver = " MOCK "\n"
#define OPTIONAL "required = no\n"

static void (*mock_fail)(const char *orders);
static long (*mock_calls)(const char *call);

static int open_mock(void **state) {
    void *mock = dlopen(MOCK, RTLD_NOW | RTLD_LOCAL);
    if (!mock) fail_msg("%s", dlerror());
    *(void **)&mock_fail = dlsym(mock, "mock_hip_fail");
    *(void **)&mock_calls = dlsym(mock, "mock_hip_calls");
    assert_non_null(mock_fail);
    assert_non_null(mock_calls);
    return 0;
}

static fixture F;
static wick_device HIP;

static void start(void) {
    open_fixture(&F, HIP_INI);
    expect_ok(wick_runtime_device(F.runtime, "hip", &HIP));
}

static void end(void) {
    mock_fail(NULL);
    close_fixture(&F);
}

/* n numbers on a device: i * step - 1. */
static wick_tensor *numbers(wick_device device, wick_dim n, float step) {
    float *data = malloc((size_t)n * sizeof *data);
    for (wick_dim i = 0; i < n; ++i) data[i] = (float)i * step - 1;
    wick_tensor *t = wick_tensor_from_host(F.c, data, WICK_F32, 1, &n, device);
    free(data);
    return t;
}

static void assert_same_values(wick_tensor *a, wick_tensor *b, double tolerance) {
    expect_good(F.c);
    size_t bytes = (size_t)a->numel * sizeof(float);
    float *x = malloc(bytes), *y = malloc(bytes);
    assert_int_equal(a->numel, b->numel);
    expect_ok(wick_tensor_to_host(F.c, a, x, bytes));
    expect_ok(wick_tensor_to_host(F.c, b, y, bytes));
    for (wick_dim i = 0; i < a->numel; ++i)
        if (!(fabs(x[i] - y[i]) <= tolerance)) fail_msg("element %lld: %g and %g", (long long)i, x[i], y[i]);
    free(x);
    free(y);
}

static void assert_fails(wick_code code, const char *text) {
    wick_status *s = wick_status_take(F.c);
    assert_non_null(s);
    if (wick_status_code(s) != code || !strstr(wick_status_message(s), text))
        fail_msg("wanted code %d with '%s', got %d: %s", code, text, wick_status_code(s), wick_status_message(s));
    wick_status_free(s);
}

/* ---- the device ---- */
static void test_device(void **state) {
    wick_device_info info = {sizeof info};
    setenv("MOCK_HIP_DEVICES", "3", 1);
    start();
    expect_ok(wick_device_query(F.runtime, HIP, &info));
    assert_string_equal(info.name, "mock 0");
    assert_string_equal(info.hardware_id, "0000:00:00.0");
    assert_non_null(strstr(info.features, "waves of 64"));
    assert_non_null(strstr(info.features, "capability 9.0"));
    assert_true(info.memory_bytes == UINT64_C(4) << 30);
    wick_device third;
    expect_ok(wick_runtime_device(F.runtime, "hip:2", &third));
    expect_ok(wick_device_query(F.runtime, third, &info));
    assert_string_equal(info.name, "mock 2");
    wick_tensor *x = numbers(third, 100, 0.5f), *y = wick_to_device(F.c, x, HIP, WICK_F32, NULL);
    assert_same_values(y, numbers(F.host, 100, 0.5f), 0);
    end();
    unsetenv("MOCK_HIP_DEVICES");
}

/* The state and reason of [plugin.hip] in a runtime of its own. */
static void assert_state(const char *section, wick_backend_state state, const char *reason) {
    open_fixture(&F, section);
    const wick_backend_info *info = NULL;
    for (int i = 0; (info = wick_runtime_backend(F.runtime, i)) && strcmp(info->name, "hip") != 0;) ++i;
    assert_non_null(info);
    if (info->state != state || !strstr(info->reason, reason))
        fail_msg("wanted state %d with '%s', got %d: %s", state, reason, info->state, info->reason);
    close_fixture(&F);
}

static void test_no_driver(void **state) {
    assert_state(CPU_SECTION HIP_SECTION OPTIONAL "driver = /nowhere/libamdhip64.so\n", WICK_BACKEND_NO_DEVICE,
                 "no hip driver: /nowhere/libamdhip64.so: cannot open shared object file");
    assert_state(CPU_SECTION HIP_SECTION OPTIONAL "driver = " WICK_BUILD_DIR "/lib/wick/cpu.so\n",
                 WICK_BACKEND_NO_DEVICE, "the hip driver has no hipInit: it is too old");
}

static void test_no_device(void **state) {
    setenv("MOCK_HIP_DEVICES", "0", 1);
    assert_state(HIP_INI OPTIONAL, WICK_BACKEND_NO_DEVICE, "no hip device: hipErrorNoDevice");
    unsetenv("MOCK_HIP_DEVICES");
}

static void test_failures_while_opening(void **state) {
    static const struct {
        const char *order, *reason;
        wick_backend_state state;
    } cases[] = {
        {"hipInit:1:100", "no hip device: hipErrorNoDevice", WICK_BACKEND_NO_DEVICE},
        {"hipModuleLoadData:1:200", "no kernels for mock 0 (9.0): hipErrorInvalidImage", WICK_BACKEND_NO_DEVICE},
        {"hipStreamCreateWithPriority:1:400", "making a stream: hipErrorInvalidHandle", WICK_BACKEND_REFUSED},
        {"hipSetDevice:1:101", "using the device: hipErrorInvalidDevice", WICK_BACKEND_REFUSED}};
    for (size_t i = 0; i < COUNT(cases); ++i) {
        mock_fail(cases[i].order);
        assert_state(HIP_INI OPTIONAL, cases[i].state, cases[i].reason);
    }
    mock_fail(NULL);
    assert_state(HIP_INI OPTIONAL, WICK_BACKEND_READY, "");
}

/* ---- operators ---- */
static void test_forward_and_backward(void **state) {
    start();
    wick_tensor *grads[2];
    wick_device devices[2] = {F.host, HIP};
    long launches = mock_calls("hipModuleLaunchKernel");
    for (int i = 0; i < 2; ++i) {
        wick_tensor *x = numbers(devices[i], 1001, 0.003f), *w = numbers(devices[i], 1001, 0.001f);
        wick_set_requires_grad(F.c, x, true);
        wick_tensor *y = wick_mul(F.c, wick_gelu(F.c, x, NULL), w), *g = numbers(devices[i], 1001, 0.002f);
        assert_true(wick_backward_many(F.c, &y, &g, 1, 0));
        grads[i] = wick_grad_of(x);
        assert_non_null(grads[i]);
    }
    assert_true(mock_calls("hipModuleLaunchKernel") >= launches + 4);
    assert_same_values(grads[0], grads[1], 1e-6);
    end();
}

static void test_strides_and_casts(void **state) {
    start();
    const wick_dim sizes[2] = {7, 13};
    wick_tensor *sums[2];
    wick_device devices[2] = {F.host, HIP};
    for (int i = 0; i < 2; ++i) {
        wick_tensor *x = wick_reshape(F.c, numbers(devices[i], 91, 0.25f), sizes, 2);
        wick_tensor *row = wick_narrow(F.c, numbers(devices[i], 9, 1), 0, 1, 7);
        sums[i] = wick_clone(F.c, wick_add(F.c, wick_transpose(F.c, x, 0, 1), row, NULL), NULL);
    }
    assert_same_values(sums[0], sums[1], 0);
    end();
}

/* The device computes no complex numbers; it negates their parts. */
static void test_lazy_signs(void **state) {
    start();
    const wick_dim sizes[3] = {3, 4, 2};
    wick_device devices[2] = {F.host, HIP};
    wick_tensor *results[3][2];
    for (int i = 0; i < 2; ++i) {
        wick_tensor *z = wick_view_as_complex(F.c, wick_reshape(F.c, numbers(devices[i], 24, 0.25f), sizes, 3));
        wick_tensor *t = wick_transpose(F.c, z, 0, 1), *conj = wick__conj(F.c, t), *neg = wick__neg_view(F.c, t);
        wick_tensor *resolved[] = {wick_resolve_conj(F.c, conj), wick_resolve_neg(F.c, neg),
                                   wick_resolve_neg(F.c, wick_resolve_conj(F.c, wick__neg_view(F.c, conj)))};
        for (int k = 0; k < 3; ++k) results[k][i] = wick_clone(F.c, wick_view_as_real(F.c, resolved[k]), NULL);
    }
    for (int k = 0; k < 3; ++k) assert_same_values(results[k][0], results[k][1], 0);
    wick_tensor *parts = wick_reshape(F.c, numbers(HIP, 2, 3), sizes + 2, 1); /* -1 + 2i */
    float z[2];
    expect_ok(wick_tensor_to_host(F.c, wick__conj(F.c, wick_view_as_complex(F.c, parts)), z, sizeof z));
    assert_true(z[0] == -1 && z[1] == -2);
    end();
}

static void test_numbers_are_rounded_as_on_the_host(void **state) {
    start();
    wick_device devices[2] = {F.host, HIP};
    wick_tensor *differences[2], *products[2];
    for (int i = 0; i < 2; ++i) {
        wick_tensor *x = wick_to_dtype(F.c, numbers(devices[i], 41, 0.0625f), WICK_F16, NULL);
        wick_tensor *d = wick_sub_scalar(F.c, x, wick_value_float(0.9329070713842775), NULL);
        differences[i] = wick_to_dtype(F.c, d, WICK_F32, NULL);
        wick_tensor *p = wick_mul_scalar(F.c, x, wick_value_float(0.9329070713842775));
        products[i] = wick_to_dtype(F.c, p, WICK_F32, NULL);
    }
    assert_same_values(differences[0], differences[1], 0);
    assert_same_values(products[0], products[1], 0);
    end();
}

/* The kernel wants packed tensors: what it wrote to a copy goes back. */
static void test_strided_running_statistics(void **state) {
    start();
    const wick_dim sizes[2] = {5, 3};
    wick_device devices[2] = {F.host, HIP};
    wick_tensor *kept[2];
    for (int i = 0; i < 2; ++i) {
        wick_tensor *x = wick_reshape(F.c, numbers(devices[i], 15, 0.5f), sizes, 2), *unused[2];
        kept[i] = wick_reshape(F.c, wick_add_scalar(F.c, numbers(devices[i], 6, 0.5f), wick_value_float(2), NULL),
                               (wick_dim[]){3, 2}, 2);
        wick_tensor *mean = wick_select(F.c, kept[i], 1, 0), *variance = wick_select(F.c, kept[i], 1, 1);
        wick__native_batch_norm_legit(F.c, x, NULL, NULL, mean, variance, true, 0.5, 1e-5, &unused[0], &unused[1]);
        expect_good(F.c);
    }
    assert_same_values(kept[0], kept[1], 1e-6);
    end();
}

static void test_reductions_of_nothing(void **state) {
    start();
    bool any = true, all = false;
    wick_tensor *none = numbers(HIP, 0, 0);
    expect_ok(wick_tensor_to_host(F.c, wick_any(F.c, none), &any, 1));
    expect_ok(wick_tensor_to_host(F.c, wick_all(F.c, none), &all, 1));
    assert_false(any);
    assert_true(all);
    end();
}

/* Products with strides of every kind, batches and accumulators. */
static wick_tensor *product(wick_device device, int form) {
    const wick_dim a_sizes[] = {3, 70, 17}, b_sizes[] = {3, 33, 17}, c_sizes[] = {33};
    wick_tensor *a = wick_reshape(F.c, numbers(device, 3 * 70 * 17, 0.0007f), a_sizes, 3);
    wick_tensor *b = wick_transpose(F.c, wick_reshape(F.c, numbers(device, 3 * 33 * 17, 0.002f), b_sizes, 3), 1, 2);
    wick_tensor *c = wick_reshape(F.c, numbers(device, 33, 0.1f), c_sizes, 1);
    switch (form) {
    case 0: return wick_bmm(F.c, a, b);
    case 1: return wick_mm(F.c, wick_select(F.c, a, 0, 1), wick_select(F.c, b, 0, 2));
    case 2: return wick_addmm(F.c, c, wick_select(F.c, a, 0, 0), wick_select(F.c, b, 0, 0), NULL);
    case 3: return wick_baddbmm(F.c, c, a, b, NULL);
    default:
        return wick_mm(F.c, wick_transpose(F.c, wick_select(F.c, b, 0, 0), 0, 1),
                       wick_transpose(F.c, wick_select(F.c, a, 0, 2), 0, 1));
    }
}

static void test_products(void **state) {
    start();
    long launches = mock_calls("hipModuleLaunchKernel");
    for (int form = 0; form < 5; ++form) assert_same_values(product(F.host, form), product(HIP, form), 1e-4);
    assert_int_equal(mock_calls("hipModuleLaunchKernel"), launches + 5);
    end();
}

/* ---- streams and events ---- */
static void test_streams(void **state) {
    start();
    wick_stream *stream;
    wick_event *begin, *after;
    bool done;
    double milliseconds = -1;
    expect_ok(wick_stream_create(F.runtime, HIP, 0, &stream));
    expect_ok(wick_event_create(F.runtime, HIP, WICK_EVENT_TIMED, &begin));
    expect_ok(wick_event_create(F.runtime, HIP, WICK_EVENT_TIMED, &after));
    wick_tensor *x = numbers(HIP, 5000, 0.001f), *y = x;
    expect_ok(wick_event_record(begin, NULL));
    expect_ok(wick_stream_wait(stream, begin));
    assert_true(wick_set_stream(F.c, HIP, stream));
    for (int i = 0; i < 10; ++i) y = wick_add(F.c, y, x, NULL);
    expect_ok(wick_event_record(after, stream));
    assert_true(wick_set_stream(F.c, HIP, NULL));
    expect_ok(wick_stream_wait(NULL, after));
    wick_tensor *z = wick_add(F.c, y, x, NULL);
    assert_same_values(z, wick_mul_scalar(F.c, numbers(F.host, 5000, 0.001f), wick_value_float(12)), 1e-4);
    expect_ok(wick_event_synchronize(after));
    expect_ok(wick_event_query(after, &done));
    assert_true(done);
    expect_ok(wick_event_elapsed(begin, after, &milliseconds));
    assert_true(milliseconds > 0);
    expect_ok(wick_synchronize(F.runtime, HIP));
    wick_event_release(begin);
    wick_event_release(after);
    wick_stream_release(stream);
    end();
}

static void test_pinned_copies(void **state) {
    start();
    const wick_dim n = 4096;
    wick_tensor *pinned = wick_tensor_new_pinned(F.c, WICK_F32, 1, &n, HIP);
    expect_good(F.c);
    assert_true(wick_is_pinned(pinned));
    long pinned_blocks = mock_calls("hipHostMalloc");
    assert_true(pinned_blocks > 0);
    wick_copy_(F.c, pinned, numbers(F.host, n, 0.5f), NULL);
    wick_tensor *x = wick_to_device(F.c, pinned, HIP, WICK_F32, NULL);
    assert_same_values(x, numbers(F.host, n, 0.5f), 0);
    end();
}

/* ---- graphs: the interface itself; the core's use of it has tests of its own ---- */
static void test_graph(void **state) {
    start();
    void *instance, *graph = NULL;
    const wick_graph_interface *g = wick_backend_interface(F.runtime, HIP.type, "graph", 1, &instance);
    const wick_memory_interface *m = wick_backend_interface(F.runtime, HIP.type, "memory", 1, NULL);
    const wick_stream_interface *s = wick_backend_interface(F.runtime, HIP.type, "stream", 1, NULL);
    assert_true(g && m && s);
    wick_memory a, b;
    int64_t in = 7, out = 0;
    expect_ok(m->allocate(instance, 0, sizeof in, &a));
    expect_ok(m->allocate(instance, 0, sizeof in, &b));
    expect_ok(m->copy_from_host(instance, 0, NULL, &b, 0, &out, sizeof out, 0));
    expect_ok(g->capture_begin(instance, 0, NULL));
    expect_ok(m->copy(instance, 0, NULL, &b, 0, &a, 0, sizeof in));
    expect_ok(g->capture_end(instance, 0, NULL, &graph));
    expect_ok(m->copy_from_host(instance, 0, NULL, &a, 0, &in, sizeof in, 0));
    expect_ok(m->copy_to_host(instance, 0, NULL, &b, 0, &out, sizeof out, 0));
    assert_int_equal(out, 0); /* recorded, not run */
    for (in = 7; in < 9; ++in) {
        expect_ok(m->copy_from_host(instance, 0, NULL, &a, 0, &in, sizeof in, 0));
        expect_ok(g->launch(instance, 0, graph, NULL));
        expect_ok(m->copy_to_host(instance, 0, NULL, &b, 0, &out, sizeof out, 0));
        assert_int_equal(out, in);
    }
    expect_ok(s->synchronize(instance, 0, NULL));
    g->destroy(instance, 0, graph);
    m->free(instance, 0, &a);
    m->free(instance, 0, &b);
    end();
}

/* ---- failures ---- */
static void test_out_of_memory(void **state) {
    start();
    mock_fail("hipMalloc:1,hipMalloc:2,hipMalloc:3");
    numbers(HIP, 1 << 20, 1);
    assert_fails(WICK_OUT_OF_MEMORY, "hip");
    mock_fail(NULL);
    wick_tensor *x = numbers(HIP, 1 << 20, 1);
    assert_same_values(x, numbers(F.host, 1 << 20, 1), 0);
    end();
}

static void test_memory_is_full(void **state) {
    setenv("MOCK_HIP_MEMORY", "50000000", 1);
    start();
    wick_tensor *x = numbers(HIP, 1 << 20, 1);
    expect_good(F.c);
    numbers(HIP, 100 << 20, 1);
    assert_fails(WICK_OUT_OF_MEMORY, "hip:0 is out of memory: wanted 419430400 bytes, 4194304 in use");
    assert_same_values(x, numbers(F.host, 1 << 20, 1), 0);
    end();
    unsetenv("MOCK_HIP_MEMORY");
}

static void test_launch_failures(void **state) {
    start();
    wick_tensor *x = numbers(HIP, 1000, 1);
    mock_fail("hipModuleLaunchKernel:1:719");
    assert_null(wick_add(F.c, x, x, NULL));
    assert_fails(WICK_DEVICE_ERROR, "hip: pw_add_f32: hipErrorLaunchFailure (719)");
    assert_same_values(wick_add(F.c, x, x, NULL),
                       wick_add(F.c, numbers(F.host, 1000, 1), numbers(F.host, 1000, 1), NULL), 0);
    end();
}

/* Work that fails after it was taken: told by whoever waits for it. */
static void test_asynchronous_failures(void **state) {
    start();
    wick_tensor *x = numbers(HIP, 1000, 1);
    float data[1000];
    expect_ok(wick_synchronize(F.runtime, HIP));
    mock_fail("asynchronous:1:719");
    wick_tensor *y = wick_add(F.c, x, x, NULL);
    assert_non_null(y);
    wick_status *s = wick_tensor_to_host(F.c, y, data, sizeof data);
    assert_non_null(s);
    assert_int_equal(wick_status_code(s), WICK_DEVICE_ERROR);
    assert_non_null(strstr(wick_status_message(s), "hipErrorLaunchFailure (719)"));
    wick_status_free(s);
    wick_status_free(wick_status_take(F.c));
    assert_same_values(wick_add(F.c, x, x, NULL),
                       wick_add(F.c, numbers(F.host, 1000, 1), numbers(F.host, 1000, 1), NULL), 0);
    end();
}

/* Every function that a step uses fails once, at its first call: an error each, and the next step is right. */
static void test_each_call_failing(void **state) {
    static const char *const calls[] = {
        "hipSetDevice:1:101",        "hipModuleGetFunction:1:500", "hipMemcpyHtoDAsync:1:1", "hipMemcpyDtoHAsync:1:1",
        "hipModuleLaunchKernel:1:9", "hipStreamSynchronize:1:719", "asynchronous:1:719"};
    for (size_t i = 0; i < COUNT(calls); ++i) {
        start();
        float data[100];
        mock_fail(calls[i]);
        wick_tensor *x = numbers(HIP, 100, 1), *y = x ? wick_exp(F.c, x) : NULL;
        wick_status *s = y ? wick_tensor_to_host(F.c, y, data, sizeof data) : NULL;
        wick_status *latched = wick_status_take(F.c);
        if (!s && !latched) fail_msg("%s: nothing was told", calls[i]);
        wick_status_free(s);
        wick_status_free(latched);
        mock_fail(NULL);
        assert_same_values(wick_exp(F.c, numbers(HIP, 100, 0.01f)), wick_exp(F.c, numbers(F.host, 100, 0.01f)), 1e-6);
        end();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device),
        cmocka_unit_test(test_no_driver),
        cmocka_unit_test(test_no_device),
        cmocka_unit_test(test_failures_while_opening),
        cmocka_unit_test(test_forward_and_backward),
        cmocka_unit_test(test_strides_and_casts),
        cmocka_unit_test(test_lazy_signs),
        cmocka_unit_test(test_numbers_are_rounded_as_on_the_host),
        cmocka_unit_test(test_strided_running_statistics),
        cmocka_unit_test(test_reductions_of_nothing),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_pinned_copies),
        cmocka_unit_test(test_graph),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_memory_is_full),
        cmocka_unit_test(test_launch_failures),
        cmocka_unit_test(test_asynchronous_failures),
        cmocka_unit_test(test_each_call_failing),
    };
    return cmocka_run_group_tests(tests, open_mock, NULL);
}
