/* Matrix products of plugin hip by hipBLASLt, which mock_blas.c imitates: what the library takes goes there, what it does
 * not take to the own kernels, and what fails is told. */
#define LIBRARY_KEYS "hipblaslt = " MOCK "\nmiopen = no\n"
#define MOCK_KEYS LIBRARY_KEYS "small_products = 0\n"
#include "mock_test.h"

#include <wick/graph.h>
#include <wick/stream.h>

static long products(void) { return mock_calls("hipblasLtMatmul"); }
static long launches(void) { return mock_calls("hipModuleLaunchKernel"); }
static long searches(void) { return mock_calls("hipblasLtMatmulAlgoGetHeuristic"); }

/* Made on the host, so that no kernel of the device has a part in it. */
static wick_tensor *numbers(wick_device device, wick_dtype dtype, const wick_dim *sizes, int ndim) {
    wick_dim n = 1;
    for (int i = 0; i < ndim; ++i) n *= sizes[i];
    float *data = malloc((size_t)n * sizeof *data);
    for (wick_dim i = 0; i < n; ++i) data[i] = (float)(i * 37 % 101) / 64 - 0.75f;
    wick_tensor *t = wick_to_dtype(F.c, wick_tensor_from_host(F.c, data, WICK_F32, ndim, sizes, F.host), dtype, NULL);
    free(data);
    return wick_to_device(F.c, t, device, dtype, NULL);
}

static void assert_alike(wick_tensor *there, wick_tensor *here, double tolerance) {
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
        if (!(fabs(values[0][i] - values[1][i]) <= tolerance))
            fail_msg("element %lld: %g, wanted %g", (long long)i, values[0][i], values[1][i]);
    free(values[0]);
    free(values[1]);
}

/* Every form with strides of its own: rows, columns, batches, accumulators, a bias, an output that is written in columns. */
enum { FORMS = 8 };
static wick_tensor *product(wick_device device, wick_dtype dtype, int form) {
    wick_tensor *a = numbers(device, dtype, (wick_dim[]){3, 21, 17}, 3);
    wick_tensor *b = wick_transpose(F.c, numbers(device, dtype, (wick_dim[]){3, 13, 17}, 3), 1, 2);
    wick_tensor *bias = numbers(device, dtype, (wick_dim[]){13}, 1),
                *c = numbers(device, dtype, (wick_dim[]){21, 13}, 2);
    wick_tensor *a0 = wick_select(F.c, a, 0, 1), *b0 = wick_select(F.c, b, 0, 2);
    wick_addmm_options scaled = WICK_ADDMM_OPTIONS_INIT;
    scaled.alpha = wick_value_float(0.5), scaled.beta = wick_value_float(-2);
    switch (form) {
    case 0: return wick_bmm(F.c, a, b);
    case 1: return wick_mm(F.c, a0, b0);
    case 2: return wick_mm(F.c, wick_transpose(F.c, b0, 0, 1), wick_transpose(F.c, a0, 0, 1));
    case 3: return wick_mm(F.c, wick_narrow(F.c, a0, 1, 2, 11), wick_narrow(F.c, b0, 0, 3, 11));
    case 4: return wick_addmm(F.c, bias, a0, b0, NULL);
    case 5: return wick_addmm(F.c, c, a0, b0, &scaled);
    case 6: return wick_baddbmm(F.c, numbers(device, dtype, (wick_dim[]){3, 21, 13}, 3), a, b, NULL);
    default: {
        wick_tensor *out = wick_transpose(F.c, numbers(device, dtype, (wick_dim[]){13, 21}, 2), 0, 1);
        return wick_mm_out(F.c, a0, b0, out);
    }
    }
}

static void test_products(void **state) {
    static const struct {
        wick_dtype dtype;
        double tolerance;
    } cases[] = {{WICK_F32, 1e-4}, {WICK_F16, 0.03}, {WICK_BF16, 0.2}};
    start();
    for (size_t i = 0; i < COUNT(cases); ++i)
        for (int form = 0; form < FORMS; ++form) {
            const long before = products(), own = launches();
            wick_tensor *there = product(HIP, cases[i].dtype, form);
            expect_good(F.c);
            if (products() != before + 1 || launches() != own)
                fail_msg("form %d of dtype %d: %ld products, %ld launches", form, cases[i].dtype, products() - before,
                         launches() - own);
            assert_alike(there, product(F.host, cases[i].dtype, form), cases[i].tolerance);
        }
    end();
}

static void test_a_plan_is_made_once(void **state) {
    start();
    const long before = searches();
    for (int i = 0; i < 3; ++i) product(HIP, WICK_F32, 1);
    expect_good(F.c);
    assert_int_equal(searches(), before + 1);
    product(HIP, WICK_F32, 0);
    assert_int_equal(searches(), before + 2);
    end();
}

/* Plans are not kept for ever: shapes may never end. */
static void test_plans_are_forgotten(void **state) {
    enum { SIDE = 65 };
    start();
    wick_tensor *a = numbers(HIP, WICK_F32, (wick_dim[]){1, SIDE}, 2),
                *b = numbers(HIP, WICK_F32, (wick_dim[]){SIDE, SIDE}, 2);
    for (int64_t k = 1; k <= SIDE; ++k)
        for (int64_t n = 1; n <= SIDE; ++n) {
            wick_scope scope = wick_scope_open(F.c);
            wick_mm(F.c, wick_narrow(F.c, a, 1, 0, k), wick_narrow(F.c, wick_narrow(F.c, b, 0, 0, k), 1, 0, n));
            wick_scope_close(F.c, scope);
        }
    expect_good(F.c);
    const long gone = mock_calls("hipblasLtMatmulDescDestroy");
    assert_true(gone >= 4096 && gone < SIDE * SIDE);
    assert_alike(product(HIP, WICK_F32, 1), product(F.host, WICK_F32, 1), 1e-4);
    end();
    assert_int_equal(mock_calls("hipblasLtMatmulDescDestroy"), mock_calls("hipblasLtMatmulDescCreate"));
}

/* The mock takes no doubles, and nobody's BLAS takes integers. */
static void test_what_the_library_does_not_take(void **state) {
    static const wick_dtype dtypes[] = {WICK_F64, WICK_I32};
    start();
    for (size_t i = 0; i < 2 * COUNT(dtypes); ++i) {
        const wick_dtype dtype = dtypes[i / 2];
        const long before = products(), own = launches();
        wick_tensor *there = product(HIP, dtype, 1);
        assert_int_equal(products(), before);
        assert_int_equal(launches(), own + 1);
        assert_alike(there, product(F.host, dtype, 1), 1e-9);
    }
    end();
}

/* m, n, k around the small kernel's tiles of 16 x 16 and 128 of k; both operands by row and by column. */
static wick_tensor *small_product(wick_device device, const wick_dim *mnk, int form) {
    const wick_dim m = mnk[0], n = mnk[1], k = mnk[2];
    wick_tensor *a = numbers(device, WICK_F32, form & 1 ? (wick_dim[]){k, m} : (wick_dim[]){m, k}, 2);
    wick_tensor *b = numbers(device, WICK_F32, form & 2 ? (wick_dim[]){n, k} : (wick_dim[]){k, n}, 2);
    if (form & 1) a = wick_t(F.c, a);
    if (form & 2) b = wick_t(F.c, b);
    return wick_mm(F.c, a, b);
}

static void test_small_products(void **state) {
    static const wick_dim sizes[][3] = {{1, 1, 1},    {16, 16, 128}, {17, 15, 129}, {15, 33, 127},
                                        {2, 40, 300}, {33, 1, 512},  {3, 5, 16},    {20, 20, 4}};
    start_with(HIP_INI LIBRARY_KEYS);
    const long before = products();
    for (size_t i = 0; i < COUNT(sizes); ++i)
        for (int form = 0; form < 4; ++form) {
            const long own = launches();
            wick_tensor *there = small_product(HIP, sizes[i], form);
            assert_int_equal(launches(), own + 1);
            assert_alike(there, small_product(F.host, sizes[i], form), 1e-3);
        }
    for (int form = 0; form < FORMS; ++form)
        assert_alike(product(HIP, WICK_F32, form), product(F.host, WICK_F32, form), 1e-4);
    assert_int_equal(products(), before);
    end();
}

static void test_what_is_a_small_product(void **state) {
    static const struct {
        const char *key;
        wick_dim mnk[3];
        bool small;
    } cases[] = {{"small_products = 210\n", {5, 6, 7}, true},
                 {"small_products = 209\n", {5, 6, 7}, false},
                 {"", {2, 2, 512}, true},
                 {"", {2, 2, 513}, false}};
    char ini[4096];
    for (size_t i = 0; i < COUNT(cases); ++i) {
        snprintf(ini, sizeof ini, "%s%s", HIP_INI LIBRARY_KEYS, cases[i].key);
        start_with(ini);
        const long before = products();
        assert_alike(small_product(HIP, cases[i].mnk, 0), small_product(F.host, cases[i].mnk, 0), 1e-3);
        assert_int_equal(products(), before + !cases[i].small);
        end();
    }
}

static void test_a_handle_for_each_stream(void **state) {
    start();
    wick_stream *stream;
    const long before = products(), handles = mock_calls("hipblasLtCreate");
    expect_ok(wick_stream_create(F.runtime, HIP, 0, &stream));
    for (int i = 0; i < 4; ++i) {
        assert_true(wick_set_stream(F.c, HIP, i % 2 ? stream : NULL));
        assert_alike(product(HIP, WICK_F32, 1), product(F.host, WICK_F32, 1), 1e-4);
    }
    assert_true(wick_set_stream(F.c, HIP, NULL));
    assert_int_equal(products(), before + 4);
    assert_int_equal(mock_calls("hipblasLtCreate"), handles + 2);
    wick_stream_release(stream);
    const long destroyed = mock_calls("hipblasLtDestroy");
    end();
    assert_int_equal(mock_calls("hipblasLtDestroy"), destroyed + 2);
}

static void test_a_step_as_a_graph(void **state) {
    start();
    wick_step_graph *graph = NULL;
    wick_step_graph_info info = {.struct_size = sizeof info};
    wick_tensor *a = numbers(HIP, WICK_F32, (wick_dim[]){5, 5}, 2),
                *sum = numbers(HIP, WICK_F32, (wick_dim[]){5, 5}, 2);
    wick_tensor *here = numbers(F.host, WICK_F32, (wick_dim[]){5, 5}, 2), *wanted = here;
    expect_ok(wick_step_graph_create(F.runtime, HIP, 2, &graph));
    for (int i = 0; i < 6; ++i) {
        assert_true(wick_step_begin(F.c, graph));
        wick_scope scope = wick_scope_open(F.c);
        wick_add_(F.c, sum, wick_mm(F.c, a, a), NULL);
        wick_scope_close(F.c, scope);
        assert_true(wick_step_end(F.c));
        wanted = wick_add(F.c, wanted, wick_mm(F.c, here, here), NULL);
    }
    assert_alike(sum, wanted, 1e-4);
    wick_step_graph_describe(graph, &info);
    assert_string_equal(info.reason, "");
    assert_int_equal(info.replays, 3);
    wick_step_graph_destroy(graph);
    end();
}

/* ---- failures ---- */
static void test_failures(void **state) {
    static const struct {
        const char *order, *text;
    } cases[] = {{"hipblasLtCreate:1:6", "hip: hipBLASLt does not start: status 6; \"hipblaslt = no\" does without"},
                 {"hipblasLtMatmul:1:5", "hip: a product of 21 x 13 x 17 by hipBLASLt: status 5"}};
    start();
    for (size_t i = 0; i < COUNT(cases); ++i) {
        wick_tensor *a = numbers(HIP, WICK_F32, (wick_dim[]){21, 17}, 2),
                    *b = numbers(HIP, WICK_F32, (wick_dim[]){17, 13}, 2);
        mock_fail(cases[i].order);
        assert_null(wick_mm(F.c, a, b));
        assert_fails(WICK_DEVICE_ERROR, cases[i].text);
        mock_fail(NULL);
        assert_alike(product(HIP, WICK_F32, 1), product(F.host, WICK_F32, 1), 1e-4);
    }
    end();
}

/* A plan that cannot be made leaves the product to the own kernels. */
static void test_failures_of_plans(void **state) {
    static const char *const calls[] = {"hipblasLtMatmulDescCreate:1",       "hipblasLtMatmulDescSetAttribute:1",
                                        "hipblasLtMatrixLayoutCreate:1",     "hipblasLtMatrixLayoutCreate:4",
                                        "hipblasLtMatmulPreferenceCreate:1", "hipblasLtMatmulPreferenceSetAttribute:1",
                                        "hipblasLtMatmulAlgoGetHeuristic:1", "hipblasLtMatrixLayoutSetAttribute:1"};
    for (size_t i = 0; i < COUNT(calls); ++i) {
        start();
        const long before = products(), own = launches();
        mock_fail(calls[i]);
        wick_tensor *there = product(HIP, WICK_F32, 0);
        assert_int_equal(products(), before);
        assert_int_equal(launches(), own + 1);
        assert_alike(there, product(F.host, WICK_F32, 0), 1e-4);
        end();
    }
}

/* ---- opening ---- */
static void assert_features(const char *line, const char *text) {
    start_and_find("miopen = no\n", line, text);
    const long before = products();
    assert_alike(product(HIP, WICK_F32, 1), product(F.host, WICK_F32, 1), 1e-4);
    assert_int_equal(products(), before);
    end();
}

static void test_without_the_library(void **state) {
    assert_features("hipblaslt = no\n", "no hipblaslt: by the configuration");
    assert_features("hipblaslt = /nowhere/libhipblaslt.so\n", "no hipblaslt: /nowhere/libhipblaslt.so: cannot open");
    assert_features("hipblaslt = " WICK_BUILD_DIR "/lib/wick/cpu.so\n", "no hipblaslt: it has no hipblasLtCreate");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_a_plan_is_made_once),
        cmocka_unit_test(test_plans_are_forgotten),
        cmocka_unit_test(test_what_the_library_does_not_take),
        cmocka_unit_test(test_small_products),
        cmocka_unit_test(test_what_is_a_small_product),
        cmocka_unit_test(test_a_handle_for_each_stream),
        cmocka_unit_test(test_a_step_as_a_graph),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_failures_of_plans),
        cmocka_unit_test(test_without_the_library),
    };
    return cmocka_run_group_tests(tests, open_mock, NULL);
}
