/* Plugin hip, unchanged, over the mock runtime: device, copies, operators, streams, events, graphs, failures. */
#define MOCK_KEYS "hipblaslt = no\nmiopen = no\n"
#include "mock_test.h"

#include <wick/autograd.h>
#include <wick/call.h>
#include <wick/graph.h>
#include <wick/sdk/plugin.h>
#include <wick/stream.h>

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
    assert_fails(WICK_OUT_OF_MEMORY, "hip:0 is out of memory: wanted 419430400 bytes, 4194304 in use, highest so far "
                                     "4194304, 0 cached, 45805696 of 50000000 free");
    assert_same_values(x, numbers(F.host, 1 << 20, 1), 0);
    wick_tensor *most = numbers(HIP, 10 << 20, 1);
    assert_same_values(most, numbers(F.host, 10 << 20, 1), 0);
    end();
    unsetenv("MOCK_HIP_MEMORY");
}

/* What the device's cache holds is there for the steps of a graph. */
static void test_memory_of_a_graph(void **state) {
    wick_step_graph *graph;
    setenv("MOCK_HIP_MEMORY", "50000000", 1);
    start();
    wick_drop(F.c, numbers(HIP, 10 << 20, 1));
    expect_ok(wick_step_graph_create(F.runtime, HIP, 1, &graph));
    assert_true(wick_step_begin(F.c, graph));
    wick_scope scope = wick_scope_open(F.c);
    assert_same_values(numbers(HIP, 9 << 20, 1), numbers(F.host, 9 << 20, 1), 0);
    numbers(HIP, 9 << 20, 1);
    assert_fails(WICK_OUT_OF_MEMORY, "hip:0 is out of memory: wanted 37748736 bytes, 37749248 in use");
    wick_scope_close(F.c, scope);
    assert_true(wick_step_end(F.c));
    wick_step_graph_destroy(graph);
    assert_same_values(numbers(HIP, 10 << 20, 1), numbers(F.host, 10 << 20, 1), 0);
    end();
    unsetenv("MOCK_HIP_MEMORY");
}

/* A device that cannot be used is not out of memory. */
static void test_allocations_fail_otherwise(void **state) {
    start();
    mock_fail("hipMalloc:1:999");
    assert_null(numbers(HIP, 100, 1));
    wick_status *s = wick_status_take(F.c);
    assert_int_equal(wick_status_code(s), WICK_DEVICE_ERROR);
    assert_string_equal(wick_status_message(s), "hip: allocating memory: hipErrorUnknown (999)");
    wick_status_free(s);
    end();
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

/* ---- replayed steps ---- */
static void run_step(wick_step_graph *graph, wick_tensor *(*work)(wick_tensor *x), wick_tensor *x, float *out) {
    assert_true(wick_step_begin(F.c, graph));
    wick_tensor *y = work(x);
    assert_true(wick_step_end(F.c));
    expect_ok(wick_tensor_to_host(F.c, y, out, (size_t)x->numel * sizeof *out));
}

static wick_tensor *no_draws(wick_tensor *x) { return wick_neg(F.c, wick_exp(F.c, x)); }
static wick_tensor *draws(wick_tensor *x) { return wick_dropout(F.c, x, 0.5, true); }

/* A step is one launch of its graph; where it draws random numbers, a kernel writes where they begin: no copy from the
 * host, which would wait for the device. */
static void test_replayed_steps_do_not_wait(void **state) {
    static const struct {
        wick_tensor *(*work)(wick_tensor *x);
        long launches;
    } steps[] = {{no_draws, 0}, {draws, 1}};
    for (size_t k = 0; k < COUNT(steps); ++k) {
        wick_step_graph *graph;
        start();
        wick_tensor *x = numbers(HIP, 64, 0.01f), *host = numbers(F.host, 64, 0.01f);
        float out[64], want[64];
        wick_manual_seed(F.c, 7);
        expect_ok(wick_step_graph_create(F.runtime, HIP, 1, &graph));
        for (int step = 0; step < 6; ++step) {
            const long waits = mock_calls("hipStreamSynchronize"), copies = mock_calls("hipMemcpyHtoDAsync");
            const long launches = mock_calls("hipModuleLaunchKernel"), graphs = mock_calls("hipGraphLaunch");
            wick_scope scope = wick_scope_open(F.c);
            run_step(graph, steps[k].work, x, out);
            wick_scope_close(F.c, scope);
            if (step < 3) continue;
            assert_int_equal(mock_calls("hipGraphLaunch") - graphs, 1);
            assert_int_equal(mock_calls("hipModuleLaunchKernel") - launches, steps[k].launches);
            assert_int_equal(mock_calls("hipMemcpyHtoDAsync") - copies, 0);
            assert_int_equal(mock_calls("hipStreamSynchronize") - waits, 1); /* the copy to the host at the end */
        }
        wick_manual_seed(F.c, 7);
        for (int step = 0; step < 6; ++step) {
            wick_tensor *y = steps[k].work(host);
            expect_ok(wick_tensor_to_host(F.c, y, want, sizeof want));
        }
        for (int i = 0; i < 64; ++i) assert_float_equal(out[i], want[i], 1e-6);
        wick_step_graph_destroy(graph);
        end();
    }
}

/* ---- cross entropy is one kernel each way ---- */
static wick_tensor *whole(wick_device device, const int64_t *data, wick_dim n) {
    return wick_tensor_from_host(F.c, data, WICK_I64, 1, &n, device);
}

static void cross_entropy_on(wick_device device, wick_dtype dtype, int64_t reduction, bool weighted,
                             wick_tensor **out_loss, wick_tensor **out_grad) {
    static const int64_t classes[] = {3, 0, 1, -100, 6, 2};
    wick_cross_entropy_loss_options o = WICK_CROSS_ENTROPY_LOSS_OPTIONS_INIT;
    o.reduction = reduction;
    wick_tensor *x = wick_reshape(F.c, numbers(device, 42, 0.37f), (const int64_t[]){6, 7}, 2);
    x = wick_set_requires_grad(F.c, wick_to_dtype(F.c, wick_sin(F.c, x), dtype, NULL), true);
    wick_tensor *weight = weighted ? wick_exp(F.c, numbers(device, 7, 0.3f)) : NULL;
    if (weight) weight = wick_to_dtype(F.c, weight, dtype, NULL);
    wick_tensor *loss = wick_cross_entropy_loss(F.c, x, whole(device, classes, 6), weight, &o);
    wick_backward(F.c, wick_sum(F.c, wick_mul(F.c, loss, loss), NULL));
    *out_loss = wick_to_dtype(F.c, loss, WICK_F32, NULL);
    *out_grad = wick_to_dtype(F.c, wick_grad_of(x), WICK_F32, NULL);
}

static void test_cross_entropy_is_fused(void **state) {
    start();
    for (int form = 0; form < 12; ++form) {
        const wick_dtype dtype = form / 6 ? WICK_BF16 : WICK_F32;
        const double tolerance = dtype == WICK_BF16 ? 0.03 : 1e-5;
        wick_tensor *loss[2], *grad[2];
        cross_entropy_on(F.host, dtype, form / 2 % 3, form % 2, &loss[0], &grad[0]);
        cross_entropy_on(HIP, dtype, form / 2 % 3, form % 2, &loss[1], &grad[1]);
        assert_same_values(loss[1], loss[0], tolerance);
        assert_same_values(grad[1], grad[0], tolerance);
    }
    wick_tensor *x = wick_reshape(F.c, numbers(HIP, 42, 0.37f), (const int64_t[]){6, 7}, 2);
    assert_null(wick_cross_entropy_loss(F.c, x, whole(HIP, (const int64_t[]){1, 2}, 2), NULL, NULL));
    assert_fails(WICK_INVALID_ARGUMENT, "Expected input batch_size (6) to match target batch_size (2)");
    const wick_op *op = wick_op_find(F.runtime, "_fused_cross_entropy");
    assert_true(wick_op_has_kernel(F.runtime, op, HIP.type));
    assert_true(wick_op_has_kernel(F.runtime, op, F.host.type));
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device),
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
        cmocka_unit_test(test_memory_of_a_graph),
        cmocka_unit_test(test_allocations_fail_otherwise),
        cmocka_unit_test(test_launch_failures),
        cmocka_unit_test(test_asynchronous_failures),
        cmocka_unit_test(test_each_call_failing),
        cmocka_unit_test(test_replayed_steps_do_not_wait),
        cmocka_unit_test(test_cross_entropy_is_fused),
    };
    return cmocka_run_group_tests(tests, open_mock, NULL);
}
