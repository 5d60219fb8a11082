/* Convolutions of plugin hip by MIOpen, which mock_miopen.c imitates: what the library takes goes there, what it does
 * not take to the own kernels, and what fails is told. */
#define MOCK_KEYS "hipblaslt = no\nmiopen = " MOCK "\n"
#include "mock_test.h"

#include <wick/graph.h>
#include <wick/stream.h>

/* ---- what was called since the last look ---- */
static const char *const watched[] = {"miopenConvolutionForwardImmediate", "miopenConvolutionBackwardDataImmediate",
                                      "miopenConvolutionBackwardWeightsImmediate", "hipModuleLaunchKernel"};
static long before[COUNT(watched)];

static void look(void) {
    for (size_t i = 0; i < COUNT(watched); ++i) before[i] = mock_calls(watched[i]);
}

static void assert_called(const char *what, long forward, long data, long weights, long launches) {
    const long wanted[COUNT(watched)] = {forward, data, weights, launches};
    for (size_t i = 0; i < COUNT(watched); ++i)
        if (mock_calls(watched[i]) - before[i] != wanted[i])
            fail_msg("%s: %s: %ld calls, wanted %ld", what, watched[i], mock_calls(watched[i]) - before[i], wanted[i]);
    look();
}

/* None of MIOpen, but own kernels. */
static void assert_own(const char *what) {
    assert_called(what, 0, 0, 0, mock_calls(watched[3]) - before[3] ? mock_calls(watched[3]) - before[3] : 1);
}

/* ---- convolutions ---- */
typedef struct geometry {
    const char *name;
    int ndim; /* spatial */
    bool transposed;
    int64_t groups;
    wick_dim input[5], weight[5];
    int64_t stride[3], padding[3], dilation[3], output_padding[3];
} geometry;

static const geometry plain[] = {
    {"1d", 1, false, 1, {2, 3, 11}, {4, 3, 3}, {2}, {1}, {1}, {0}},
    {"1d dilated", 1, false, 1, {2, 3, 11}, {4, 3, 3}, {1}, {2}, {2}, {0}},
    {"2d", 2, false, 1, {2, 3, 6, 7}, {4, 3, 3, 2}, {1, 1}, {0, 0}, {1, 1}, {0, 0}},
    {"2d strides", 2, false, 1, {2, 3, 8, 7}, {4, 3, 3, 3}, {2, 3}, {1, 2}, {1, 1}, {0, 0}},
    {"2d dilated", 2, false, 1, {2, 2, 8, 9}, {3, 2, 3, 2}, {1, 2}, {2, 1}, {2, 3}, {0, 0}},
    {"2d one tap", 2, false, 1, {2, 5, 4, 4}, {3, 5, 1, 1}, {1, 1}, {0, 0}, {1, 1}, {0, 0}},
    {"2d groups", 2, false, 2, {2, 4, 5, 6}, {6, 2, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 0}},
    {"2d by channel", 2, false, 4, {2, 4, 5, 6}, {8, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 0}},
    {"3d", 3, false, 1, {2, 2, 5, 4, 6}, {3, 2, 2, 3, 3}, {1, 2, 1}, {1, 1, 0}, {1, 1, 1}, {0, 0, 0}},
    {"3d groups", 3, false, 2, {1, 4, 4, 4, 5}, {4, 2, 2, 2, 3}, {2, 1, 1}, {0, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {"transposed 1d", 1, true, 1, {2, 3, 6}, {3, 4, 3}, {2}, {1}, {1}, {1}},
    {"transposed 2d", 2, true, 1, {2, 3, 4, 5}, {3, 4, 3, 2}, {2, 1}, {1, 0}, {1, 2}, {1, 0}},
    {"transposed 2d groups", 2, true, 2, {2, 4, 4, 3}, {4, 3, 3, 3}, {2, 2}, {1, 1}, {1, 1}, {0, 1}},
    {"transposed 3d", 3, true, 1, {1, 2, 3, 3, 4}, {2, 3, 2, 3, 2}, {1, 2, 2}, {0, 1, 0}, {1, 1, 1}, {0, 1, 1}},
};
/* What MIOpen does not get, or does not take. */
static const geometry dilated_groups = {"dilated groups", 2,      false,  2,      {2, 4, 7, 8},
                                        {6, 2, 3, 3},     {1, 1}, {1, 1}, {2, 2}, {0, 0}};
static const geometry much_output_padding = {
    "output padding beyond a stride", 2, true, 1, {1, 2, 4, 4}, {2, 3, 2, 2}, {1, 1}, {1, 1}, {2, 2}, {1, 1}};

static const struct {
    wick_dtype dtype;
    double tolerance; /* relative to 1 and the value */
} dtypes[] = {{WICK_F32, 2e-6}, {WICK_F16, 4e-3}, {WICK_BF16, 3e-2}};

/* Made on the host, so that no kernel of the device has a part in it. For the host f64, of values that `dtype` has. */
static wick_tensor *numbers(wick_device device, wick_dtype dtype, const wick_dim *sizes, int ndim) {
    wick_dim n = 1;
    for (int i = 0; i < ndim; ++i) n *= sizes[i];
    float *data = malloc((size_t)n * sizeof *data);
    for (wick_dim i = 0; i < n; ++i) data[i] = (float)(i * 37 % 101) / 64 - 0.75f;
    wick_tensor *t = wick_to_dtype(F.c, wick_tensor_from_host(F.c, data, WICK_F32, ndim, sizes, F.host), dtype, NULL);
    free(data);
    return wick_to_device(F.c, t, device, wick_device_equal(device, F.host) ? WICK_F64 : dtype, NULL);
}

static void assert_alike(const char *what, wick_tensor *there, wick_tensor *here, double tolerance) {
    expect_good(F.c);
    assert_int_equal(there->numel, here->numel);
    wick_tensor *tensors[2] = {wick_to_device(F.c, there, F.host, WICK_F64, NULL),
                               wick_to_dtype(F.c, here, WICK_F64, NULL)};
    size_t bytes = (size_t)here->numel * sizeof(double);
    double *values[2];
    for (int i = 0; i < 2; ++i) {
        expect_ok(wick_tensor_to_host(F.c, tensors[i], values[i] = malloc(bytes), bytes));
        expect_good(F.c);
    }
    for (wick_dim i = 0; i < here->numel; ++i)
        if (!(fabs(values[0][i] - values[1][i]) <= tolerance * (1 + fabs(values[1][i]))))
            fail_msg("%s, %s: element %lld: %g, wanted %g", what, wick_dtype_name((wick_dtype)there->dtype),
                     (long long)i, values[0][i], values[1][i]);
    free(values[0]);
    free(values[1]);
}

static wick_tensor *convolve(wick_device device, wick_dtype dtype, const geometry *g, bool with_bias) {
    const size_t n = (size_t)g->ndim;
    const wick_dim channels = g->transposed ? g->weight[1] * g->groups : g->weight[0];
    wick_tensor *x = numbers(device, dtype, g->input, g->ndim + 2), *w = numbers(device, dtype, g->weight, g->ndim + 2),
                *bias = with_bias ? numbers(device, dtype, &channels, 1) : NULL;
    return wick_convolution(F.c, x, w, bias, g->stride, n, g->padding, n, g->dilation, n, g->transposed,
                            g->output_padding, n, g->groups);
}

/* The gradients of input, weight and bias, those of `mask`. */
static void differentiate(wick_device device, wick_dtype dtype, const geometry *g, const wick_tensor *result,
                          const uint8_t mask[3], wick_tensor *out[3]) {
    const size_t n = (size_t)g->ndim;
    const int64_t channels = result->sizes[1];
    wick_tensor *x = numbers(device, dtype, g->input, g->ndim + 2), *w = numbers(device, dtype, g->weight, g->ndim + 2),
                *dy = numbers(device, dtype, result->sizes, result->ndim);
    out[0] = wick_convolution_backward(F.c, dy, x, w, &channels, 1, g->stride, n, g->padding, n, g->dilation, n,
                                       g->transposed, g->output_padding, n, g->groups, mask, 3, &out[1], &out[2]);
}

static void assert_gradients(const geometry *g, wick_dtype dtype, double tolerance, wick_tensor *const there[3],
                             const wick_tensor *result) {
    static const uint8_t all[3] = {1, 1, 1};
    wick_tensor *here[3];
    differentiate(F.host, dtype, g, result, all, here);
    for (int i = 0; i < 3; ++i) assert_alike(g->name, there[i], here[i], tolerance);
}

static void test_forward(void **state) {
    start();
    look();
    for (size_t i = 0; i < COUNT(plain) * COUNT(dtypes) * 2; ++i) {
        const geometry *g = &plain[i / 2 / COUNT(dtypes)];
        const wick_dtype dtype = dtypes[i / 2 % COUNT(dtypes)].dtype;
        wick_tensor *there = convolve(HIP, dtype, g, i % 2);
        expect_good(F.c);
        assert_called(g->name, !g->transposed, g->transposed, 0, i % 2);
        assert_alike(g->name, there, convolve(F.host, dtype, g, i % 2), dtypes[i / 2 % COUNT(dtypes)].tolerance);
        look();
    }
    end();
}

static void test_gradients(void **state) {
    static const uint8_t all[3] = {1, 1, 1};
    start();
    for (size_t i = 0; i < COUNT(plain) * COUNT(dtypes); ++i) {
        const geometry *g = &plain[i / COUNT(dtypes)];
        const wick_dtype dtype = dtypes[i % COUNT(dtypes)].dtype;
        wick_tensor *result = convolve(F.host, dtype, g, false), *there[3];
        look();
        differentiate(HIP, dtype, g, result, all, there);
        expect_good(F.c);
        assert_called(g->name, g->transposed, !g->transposed, 1, 2); /* the bias: a sum in two launches */
        assert_gradients(g, dtype, dtypes[i % COUNT(dtypes)].tolerance, there, result);
    }
    end();
}

static void test_some_gradients(void **state) {
    start();
    wick_tensor *result = convolve(F.host, WICK_F32, &plain[2], false), *out[3];
    look();
    differentiate(HIP, WICK_F32, &plain[2], result, (uint8_t[3]){1, 0, 0}, out);
    assert_called("of the input", 0, 1, 0, 0);
    differentiate(HIP, WICK_F32, &plain[2], result, (uint8_t[3]){0, 1, 0}, out);
    assert_called("of the weight", 0, 0, 1, 0);
    differentiate(HIP, WICK_F32, &plain[2], result, (uint8_t[3]){0, 0, 1}, out);
    assert_called("of the bias", 0, 0, 0, 2);
    end();
}

/* ---- what goes to the own kernels ---- */
static void assert_own_convolution(const geometry *g, wick_dtype dtype, double tolerance) {
    static const uint8_t all[3] = {1, 1, 1};
    wick_tensor *gradients[3];
    look();
    wick_tensor *there = convolve(HIP, dtype, g, true);
    expect_good(F.c);
    assert_own(g->name);
    assert_alike(g->name, there, convolve(F.host, dtype, g, true), tolerance);
    look();
    differentiate(HIP, dtype, g, there, all, gradients);
    expect_good(F.c);
    assert_own(g->name);
    assert_gradients(g, dtype, tolerance, gradients, there);
}

static void test_what_the_library_does_not_take(void **state) {
    start();
    assert_own_convolution(&plain[3], WICK_F64, 1e-12);
    assert_own_convolution(&plain[10], WICK_F64, 1e-12);
    for (size_t i = 0; i < COUNT(dtypes); ++i) {
        assert_own_convolution(&dilated_groups, dtypes[i].dtype, dtypes[i].tolerance);
        assert_own_convolution(&much_output_padding, dtypes[i].dtype, dtypes[i].tolerance);
    }
    end();
}

static void test_empty(void **state) {
    static const geometry none = {"no images", 2, false, 1, {0, 3, 6, 7}, {4, 3, 3, 2}, {1, 1}, {0, 0}, {1, 1}, {0, 0}};
    wick_tensor *out[3], *here[3];
    start();
    wick_tensor *result = convolve(HIP, WICK_F32, &none, true);
    assert_int_equal(result->numel, 0);
    look();
    differentiate(HIP, WICK_F32, &none, result, (uint8_t[3]){1, 1, 0}, out);
    assert_called("no images", 0, 0, 0, 0);
    differentiate(F.host, WICK_F32, &none, result, (uint8_t[3]){1, 1, 0}, here);
    assert_alike("no images", out[1], here[1], 0);
    end();
}

/* ---- plans, handles, graphs ---- */
static long searches(void) { return mock_calls("miopenConvolutionForwardGetSolution"); }

static void test_a_plan_is_made_once(void **state) {
    start();
    const long made = searches();
    for (int i = 0; i < 3; ++i) convolve(HIP, WICK_F32, &plain[2], i);
    expect_good(F.c);
    assert_int_equal(searches(), made + 1);
    convolve(HIP, WICK_F16, &plain[2], false);
    convolve(HIP, WICK_F32, &plain[3], false);
    expect_good(F.c);
    assert_int_equal(searches(), made + 3);
    end();
    static const char *const objects[][2] = {
        {"miopenCreateTensorDescriptor", "miopenDestroyTensorDescriptor"},
        {"miopenCreateConvolutionDescriptor", "miopenDestroyConvolutionDescriptor"},
        {"miopenCreate", "miopenDestroy"}};
    for (size_t i = 0; i < COUNT(objects); ++i) assert_int_equal(mock_calls(objects[i][0]), mock_calls(objects[i][1]));
}

/* The mock's fast solution has a workspace and is not deterministic. */
static void test_deterministic(void **state) {
    static const char name[] = "solution with a workspace";
    start();
    const long used = mock_calls(name);
    convolve(HIP, WICK_F32, &plain[2], false);
    assert_int_equal(mock_calls(name), used + 1);
    const wick_modes modes = wick_modes_get(F.c);
    wick_modes deterministic = modes;
    deterministic.deterministic = 1;
    wick_modes_set(F.c, deterministic);
    look();
    wick_tensor *there = convolve(HIP, WICK_F32, &plain[2], false);
    assert_called("deterministic", 1, 0, 0, 0);
    assert_int_equal(mock_calls(name), used + 1);
    wick_modes_set(F.c, modes);
    assert_alike("deterministic", there, convolve(F.host, WICK_F32, &plain[2], false), 2e-6);
    end();
}

static void test_a_handle_for_each_stream(void **state) {
    start();
    wick_stream *stream;
    const long handles = mock_calls("miopenCreate");
    expect_ok(wick_stream_create(F.runtime, HIP, 0, &stream));
    look();
    for (int i = 0; i < 4; ++i) {
        assert_true(wick_set_stream(F.c, HIP, i % 2 ? stream : NULL));
        wick_tensor *there = convolve(HIP, WICK_F32, &plain[2], false);
        assert_called("a stream", 1, 0, 0, 0);
        assert_alike("a stream", there, convolve(F.host, WICK_F32, &plain[2], false), 2e-6);
        look();
    }
    assert_true(wick_set_stream(F.c, HIP, NULL));
    assert_int_equal(mock_calls("miopenCreate"), handles + 2);
    wick_stream_release(stream);
    end();
}

/* As much memory as dilated_groups. */
static const geometry groups = {"groups", 2, false, 2, {2, 4, 7, 8}, {6, 2, 3, 3}, {1, 1}, {0, 0}, {1, 1}, {0, 0}};

/* sum += a convolution, six times: steps 0 and 1 are ordinary ones, with `first`, step 2 is captured. */
static void run_steps(const geometry *first) {
    wick_step_graph_info info = {.struct_size = sizeof info};
    wick_step_graph *graph = NULL;
    wick_tensor *wanted = convolve(F.host, WICK_F32, &groups, false), *sum;
    sum = wick_to_device(F.c, wanted, HIP, WICK_F32, NULL);
    wick_tensor *x = numbers(HIP, WICK_F32, groups.input, 4), *w = numbers(HIP, WICK_F32, groups.weight, 4);
    expect_ok(wick_step_graph_create(F.runtime, HIP, 2, &graph));
    for (int i = 0; i < 6; ++i) {
        const geometry *g = i < 2 ? first : &groups;
        assert_true(wick_step_begin(F.c, graph));
        wick_scope scope = wick_scope_open(F.c);
        wick_add_(F.c, sum,
                  wick_convolution(F.c, x, w, NULL, g->stride, 2, g->padding, 2, g->dilation, 2, false,
                                   g->output_padding, 2, g->groups),
                  NULL);
        wick_scope_close(F.c, scope);
        assert_true(wick_step_end(F.c));
        wanted = wick_add(F.c, wanted, convolve(F.host, WICK_F32, g, false), NULL);
    }
    assert_alike("a graph", sum, wanted, 1e-5);
    wick_step_graph_describe(graph, &info);
    wick_step_graph_destroy(graph);
    assert_string_equal(info.reason, "");
    assert_int_equal(info.replays, 3);
}

static void test_a_step_as_a_graph(void **state) {
    start();
    look();
    run_steps(&groups);
    assert_called("a graph", 3, 0, 0, mock_calls(watched[3]) - before[3]); /* two ordinary steps and the capture */
    end();
}

/* A plan would be compiled, which a capture forbids. */
static void test_a_graph_before_there_is_a_plan(void **state) {
    start();
    look();
    run_steps(&dilated_groups);
    assert_own("a graph without a plan");
    convolve(HIP, WICK_F32, &groups, false);
    assert_called("after the graph", 1, 0, 0, 0);
    end();
}

/* ---- failures ---- */
static void test_failures(void **state) {
    static const struct {
        const char *order, *text;
    } cases[] = {{"miopenCreate:1:6", "hip: MIOpen does not start: status 6; \"miopen = no\" does without"},
                 {"miopenSetStream:1:5", "hip: MIOpen does not start: status 5; \"miopen = no\" does without"},
                 {"miopenConvolutionForwardImmediate:1:7", "hip: MIOpen: convolution: status 7"},
                 {"hipStreamIsCapturing:1:400", "hip: asking for a capture: hipErrorInvalidHandle (400)"}};
    for (size_t i = 0; i < COUNT(cases); ++i) {
        start();
        mock_fail(cases[i].order);
        assert_null(convolve(HIP, WICK_F32, &plain[2], true));
        assert_fails(WICK_DEVICE_ERROR, cases[i].text);
        mock_fail(NULL);
        assert_alike(cases[i].text, convolve(HIP, WICK_F32, &plain[2], true),
                     convolve(F.host, WICK_F32, &plain[2], true), 2e-6);
        end();
    }
}

static void test_failures_of_gradients(void **state) {
    static const struct {
        const char *order, *text;
    } cases[] = {
        {"miopenConvolutionBackwardDataImmediate:1:5", "hip: MIOpen: gradient of a convolution's input: status 5"},
        {"miopenConvolutionBackwardWeightsImmediate:1:5", "hip: MIOpen: gradient of a convolution's weight: status 5"}};
    start();
    wick_tensor *result = convolve(F.host, WICK_F32, &plain[2], false), *out[3];
    for (size_t i = 0; i < COUNT(cases); ++i) {
        mock_fail(cases[i].order);
        differentiate(HIP, WICK_F32, &plain[2], result, (uint8_t[3]){1, 1, 1}, out);
        assert_fails(WICK_DEVICE_ERROR, cases[i].text);
    }
    end();
}

/* A plan that cannot be made leaves the convolution to the own kernels. */
static void test_failures_of_plans(void **state) {
    static const char *const calls[] = {"miopenCreateTensorDescriptor:1",
                                        "miopenCreateTensorDescriptor:3",
                                        "miopenSetTensorDescriptor:2",
                                        "miopenSetTensorDescriptor:3",
                                        "miopenCreateConvolutionDescriptor:1",
                                        "miopenInitConvolutionNdDescriptor:1",
                                        "miopenSetConvolutionGroupCount:1",
                                        "miopenConvolutionForwardGetSolution:1",
                                        "miopenConvolutionForwardCompileSolution:1,"
                                        "miopenConvolutionForwardCompileSolution:2"};
    for (size_t i = 0; i < COUNT(calls); ++i) {
        start();
        mock_fail(calls[i]);
        look();
        wick_tensor *there = convolve(HIP, WICK_F32, &plain[2], true);
        expect_good(F.c);
        assert_own(calls[i]);
        assert_alike(calls[i], there, convolve(F.host, WICK_F32, &plain[2], true), 2e-6);
        end();
    }
}

/* One that does not compile leaves it to the next. */
static void test_the_next_solution(void **state) {
    start();
    mock_fail("miopenConvolutionForwardCompileSolution:1");
    look();
    wick_tensor *there = convolve(HIP, WICK_F32, &plain[2], false);
    assert_called("the next solution", 1, 0, 0, 0);
    assert_alike("the next solution", there, convolve(F.host, WICK_F32, &plain[2], false), 2e-6);
    end();
}

/* ---- opening ---- */
static void assert_features(const char *line, const char *text) {
    start_and_find("hipblaslt = no\n", line, text);
    look();
    wick_tensor *there = convolve(HIP, WICK_F32, &plain[2], true);
    assert_own(line);
    assert_alike(line, there, convolve(F.host, WICK_F32, &plain[2], true), 2e-6);
    end();
}

static void test_without_the_library(void **state) {
    assert_features("miopen = no\n", "no miopen: by the configuration");
    assert_features("miopen = /nowhere/libMIOpen.so\n", "no miopen: /nowhere/libMIOpen.so: cannot open");
    assert_features("miopen = " WICK_BUILD_DIR "/lib/wick/cpu.so\n", "no miopen: it has no miopenCreate");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_some_gradients),
        cmocka_unit_test(test_what_the_library_does_not_take),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_a_plan_is_made_once),
        cmocka_unit_test(test_deterministic),
        cmocka_unit_test(test_a_handle_for_each_stream),
        cmocka_unit_test(test_a_step_as_a_graph),
        cmocka_unit_test(test_a_graph_before_there_is_a_plan),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_failures_of_gradients),
        cmocka_unit_test(test_failures_of_plans),
        cmocka_unit_test(test_the_next_solution),
        cmocka_unit_test(test_without_the_library),
    };
    return cmocka_run_group_tests(tests, open_mock, NULL);
}
