/* Operators that a device with few kernels composes give what the CPU's kernels give. */
#include "plug.h"

#include <stdint.h>

static wick_device REF;

static int both_start(void **state) {
    program_start(state);
    assert_ok(load_text(RT, "[plugin.refdevice]\npath = " WICK_BUILD_DIR "/lib/wick/refdevice.so\n"));
    assert_ok(wick_runtime_device(RT, "ref:0", &REF));
    return 0;
}

static wick_tensor *moved(wick_tensor *t, wick_device device) {
    return wick_to_device(C, t, device, (wick_dtype)t->dtype, NULL);
}
static wick_tensor *typed(wick_tensor *t, wick_dtype dtype) { return wick_to_dtype(C, t, dtype, NULL); }
#define BOTH(device)               \
    for (int k_ = 0; k_ < 2; ++k_) \
        for (wick_device device = k_ ? REF : CPU; device.type; device.type = 0)

/* ---- numbers beside tensors ---- */
/* 0.1 is the f32 element 0.1 only if both are compared as f32. */
static void test_searching_for_a_number(void **state) {
    const wick_value tenth = wick_value_float(0.1);
    BOTH(device) {
        wick_tensor *x = moved(typed(T(0.05, 0.1, 0.3), WICK_F32), device);
        ASSERT_VALUES(CALL("isin.Tensor_Scalar", V(x), tenth), 0, 1, 0);
        ASSERT_VALUES(CALL("isin.Scalar_Tensor", tenth, V(x)), 1);
        ASSERT_VALUES(CALL("searchsorted.Scalar", V(x), tenth), 1);
        ASSERT_VALUES(CALL("bucketize.Scalar", tenth, V(x)), 1);
        ASSERT_VALUES(CALL("bucketize.Scalar", tenth, V(x), wick_value_bool(false), wick_value_bool(true)), 2);
    }
}

static double read_double(wick_tensor *t) {
    double value;
    assert_healthy();
    assert_int_equal(t->dtype, WICK_F64);
    assert_ok(wick_tensor_to_host(C, t, &value, sizeof value));
    return value;
}

static void test_functions_of_numbers_are_double(void **state) {
    BOTH(device) {
        wick_tensor *x = moved(T(2), device);
        assert_true(fabs(read_double(CALL("xlogy.Scalar_Other", V(x), wick_value_float(3.1))) - 2 * log(3.1)) < 1e-14);
        assert_true(fabs(read_double(CALL("special_xlog1py.other_scalar", V(x), wick_value_float(3.1))) -
                         2 * log1p(3.1)) < 1e-14);
    }
}

/* ---- bool ---- */
static void test_bool_is_added_by_or(void **state) {
    const wick_dim sizes[] = {3};
    BOTH(device) {
        wick_tensor *self = moved(typed(T(0, 0, 1), WICK_BOOL), device),
                    *index = moved(typed(T(0, 0, 2), WICK_I64), device);
        wick_tensor *source = moved(typed(T(1, 1, 0), WICK_BOOL), device);
        wick_tensor *sum = CALL("index_add", V(self), INT(0), V(index), V(source));
        assert_int_equal(sum->dtype, WICK_BOOL);
        ASSERT_VALUES(sum, 1, 0, 1);
        ASSERT_VALUES(CALL("index_add", V(self), INT(0), V(index), V(source), wick_value_bool(false)), 0, 0, 1);
        wick_tensor *windows = wick_reshape(C, moved(typed(T(1, 0, 0, 1), WICK_BOOL), device), DIMS(2, 2));
        ASSERT_VALUES(CALL("unfold_backward", V(windows), wick_value_ints(sizes, 1), INT(0), INT(2), INT(1)), 1, 0, 1);
        wick_tensor *product = CALL("cumprod_", V(moved(typed(T(1, 1, 0, 1), WICK_BOOL), device)), INT(0));
        assert_int_equal(product->dtype, WICK_BOOL);
        ASSERT_VALUES(product, 1, 1, 0, 0);
    }
}

static void test_integers_are_added_a_whole_number_of_times(void **state) {
    BOTH(device) {
        wick_tensor *self = moved(typed(T(1, 1), WICK_I32), device), *index = moved(typed(T(1), WICK_I64), device);
        ASSERT_VALUES(CALL("index_add", V(self), INT(0), V(index), V(moved(typed(T(5), WICK_I32), device)), INT(3)), 1,
                      16);
    }
}

/* ---- random integers and permutations ---- */
enum { COUNT_DRAWN = 999 };

static void draw(wick_device device, int64_t from, const int64_t *to, int64_t *out) {
    wick_empty_options o = WICK_EMPTY_OPTIONS_INIT;
    o.device = device, o.dtype = WICK_I64;
    wick_manual_seed(C, 77);
    wick_tensor *t = wick_random_from_(C, wick_empty(C, DIMS(COUNT_DRAWN), &o), from, to);
    assert_healthy();
    assert_ok(wick_tensor_to_host(C, t, out, COUNT_DRAWN * sizeof *out));
}

/* The smallest and the greatest lie within a hundredth of the range of its ends. */
static void check_range(int64_t from, const int64_t *to) {
    int64_t here[COUNT_DRAWN], there[COUNT_DRAWN], low = INT64_MAX, high = INT64_MIN;
    draw(CPU, from, to, here);
    draw(REF, from, to, there);
    assert_memory_equal(here, there, sizeof here);
    for (int i = 0; i < COUNT_DRAWN; ++i) low = here[i] < low ? here[i] : low, high = here[i] > high ? here[i] : high;
    const double first = (double)from, end = to ? (double)*to : 0x1p63, part = (end - first) / 100;
    assert_true(low >= from && (!to || high < *to));
    assert_true((double)low < first + part && (double)high > end - part);
}

static void test_random_integers(void **state) {
    const int64_t ends[] = {1000, INT64_C(1) << 32, (INT64_C(1) << 32) + 5, INT64_C(1) << 40, INT64_MAX};
    for (int i = 0; i < 5; ++i) {
        check_range(0, &ends[i]);
        check_range(-500, &ends[i]);
    }
    check_range(INT64_MIN, &ends[4]);
    check_range(INT64_MIN, &(int64_t){0});
    check_range(INT64_MIN, NULL);
    check_range(-3, NULL);
    check_range(0, NULL);
}

static void test_permutations(void **state) {
    int64_t here[COUNT_DRAWN], there[COUNT_DRAWN];
    for (int n = 0; n < COUNT_DRAWN; n = 3 * n + 1) BOTH(device) {
            wick_randperm_options o = WICK_RANDPERM_OPTIONS_INIT;
            o.device = device;
            wick_manual_seed(C, 78);
            wick_tensor *t = wick_randperm(C, n, &o);
            assert_healthy();
            assert_ok(wick_tensor_to_host(C, t, device.type == CPU.type ? here : there, (size_t)n * sizeof *here));
            if (device.type != CPU.type) assert_memory_equal(here, there, (size_t)n * sizeof *here);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_searching_for_a_number), CASE(test_functions_of_numbers_are_double),
        CASE(test_bool_is_added_by_or),    CASE(test_integers_are_added_a_whole_number_of_times),
        CASE(test_random_integers),        CASE(test_permutations),
    };
    return cmocka_run_group_tests(tests, both_start, program_end);
}
