/* What shape rules refuse before a kernel would read or write beyond its tensors, and what comes of no elements. */
#include "plug.h"

static wick_tensor *of(wick_dtype dtype, const wick_dim *sizes, size_t ndim) {
    wick_ones_options o = WICK_ONES_OPTIONS_INIT;
    o.dtype = dtype;
    return wick_ones(C, sizes, ndim, &o);
}
#define F32(...) of(WICK_F32, DIMS(__VA_ARGS__))
static const uint8_t all_three[] = {1, 1, 1};
#define MASK wick_value_bools(all_three, 3)
#define FLAG(b) wick_value_bool(b)
#define REAL(x) wick_value_float(x)
#define NOTHING wick_value_none()

static bool call_many(const char *name, const wick_value *args, int nargs, wick_value *rets, int nrets) {
    return wick_call(C, wick_op_find(RT, name), args, nargs, rets, nrets);
}
#define MANY(name, rets, n, ...)                                                                                       \
    call_many(name, (const wick_value[]){__VA_ARGS__}, sizeof((const wick_value[]){__VA_ARGS__}) / sizeof(wick_value), \
              rets, n)

/* ---- logical reductions of nothing ---- */
static void test_any_and_all_of_nothing(void **state) {
    const wick_dtype dtypes[] = {WICK_BOOL, WICK_U8, WICK_I64, WICK_F32, WICK_F16, WICK_C64};
    for (int i = 0; i < 6; ++i) {
        wick_tensor *none = of(dtypes[i], DIMS(0)), *rows = of(dtypes[i], DIMS(2, 0));
        ASSERT_VALUES(CALL("any", V(none)), 0);
        ASSERT_VALUES(CALL("all", V(none)), 1);
        ASSERT_VALUES(CALL("any.dim", V(rows), INT(1)), 0, 0);
        ASSERT_VALUES(CALL("all.dim", V(rows), INT(1)), 1, 1);
    }
}

/* ---- arange ---- */
static void test_arange_has_no_complex_form(void **state) {
    wick_arange_options o = WICK_ARANGE_OPTIONS_INIT;
    o.dtype = WICK_C64;
    assert_null(wick_arange(C, INT(3), &o));
    assert_failed("\"arange\" not implemented for 'c64'");
    assert_null(wick_arange(C, wick_value_complex((const double[]){3, 1}), NULL));
    assert_failed("must be real");
}

/* ---- batch normalization of an empty batch ---- */
static void test_statistics_of_nothing(void **state) {
    wick_value rets[3];
    wick_tensor *x = F32(0, 3, 4), *w = F32(3);
    assert_false(MANY("native_batch_norm", rets, 3, V(x), V(w), V(w), V(w), V(w), FLAG(true), REAL(0.1), REAL(1e-5)));
    assert_failed("input tensor must have at least one element, but got input_sizes = [0, 3, 4]");
    assert_true(MANY("native_batch_norm", rets, 3, V(x), V(w), V(w), V(w), V(w), FLAG(false), REAL(0.1), REAL(1e-5)));
    ASSERT_SIZES(rets[0].as.tensor, 0, 3, 4);
}

static void test_batch_norm_of_nothing_has_gradients(void **state) {
    wick_tensor *x = grad_leaf(F32(0, 2)), *w = LEAF(1, 2), *b = LEAF(3, 4);
    wick_tensor *y =
        CALL("batch_norm", V(x), V(w), V(b), NOTHING, NOTHING, FLAG(true), REAL(0.1), REAL(1e-5), FLAG(false));
    ASSERT_SIZES(y, 0, 2);
    assert_true(backward_sum(y));
    ASSERT_GRAD(w, 0, 0);
    ASSERT_GRAD(b, 0, 0);
    ASSERT_SIZES(wick_grad_of(x), 0, 2);
}

static void test_batch_norm_backward_of_nothing(void **state) {
    wick_value rets[3];
    wick_tensor *x = F32(0, 3, 4), *w = F32(3);
    for (int training = 0; training < 2; ++training) {
        assert_true(MANY("native_batch_norm_backward", rets, 3, V(x), V(x), V(w), V(w), V(w), V(w), V(w),
                         FLAG(training), REAL(1e-5), MASK));
        ASSERT_SIZES(rets[0].as.tensor, 0, 3, 4);
        ASSERT_VALUES(rets[1].as.tensor, 0, 0, 0);
        ASSERT_VALUES(rets[2].as.tensor, 0, 0, 0);
    }
}

static void batch_backward_fails(wick_tensor *g, wick_tensor *x, wick_tensor *w, wick_tensor *mean, const char *why) {
    wick_value rets[3];
    assert_false(MANY("native_batch_norm_backward", rets, 3, V(g), V(x), V(w), NOTHING, NOTHING,
                      mean ? V(mean) : NOTHING, V(F32(3)), FLAG(true), REAL(1e-5), MASK));
    assert_failed(why);
}
static void test_batch_norm_backward_is_checked(void **state) {
    wick_tensor *x = F32(2, 3, 4), *w = F32(3);
    batch_backward_fails(F32(2, 3, 5), x, w, w,
                         "expected grad_out to have the shape [2, 3, 4] of input, got [2, 3, 5]");
    batch_backward_fails(x, x, F32(2), w, "expected weight to have 3 elements");
    batch_backward_fails(x, x, w, F32(4), "expected save_mean to have 3 elements");
    batch_backward_fails(x, x, w, NULL, "needs save_mean and save_invstd");
}

/* ---- the backwards of group and layer normalization ---- */
static void group_backward_fails(wick_tensor *g, wick_tensor *mean, wick_tensor *w, wick_dim pixels, const char *why) {
    wick_value rets[3];
    assert_false(MANY("native_group_norm_backward", rets, 3, V(g), V(F32(2, 6, 5)), V(mean), V(F32(2, 3)), V(w), INT(2),
                      INT(6), INT(pixels), INT(3), MASK));
    assert_failed(why);
}
static void test_group_norm_backward_is_checked(void **state) {
    wick_tensor *g = F32(2, 6, 5), *mean = F32(2, 3), *w = F32(6);
    group_backward_fails(g, mean, w, 7, "Expected input to have N * C * HxW elements, but got N=2, C=6, HxW=7");
    group_backward_fails(F32(2, 6, 4), mean, w, 5, "Expected grad_out to have N * C * HxW elements");
    group_backward_fails(g, F32(2, 2), w, 5, "expected mean to have 6 elements (N * group), got shape [2, 2]");
    group_backward_fails(g, mean, F32(5), 5, "expected weight to have 6 elements");
}

static void test_group_norm_is_checked(void **state) {
    wick_value rets[3];
    wick_tensor *x = F32(2, 6, 5);
    assert_false(
        MANY("native_group_norm", rets, 3, V(x), V(F32(5)), NOTHING, INT(2), INT(6), INT(5), INT(3), REAL(1e-5)));
    assert_failed("expected weight to have 6 elements");
    assert_false(
        MANY("native_group_norm", rets, 3, V(x), NOTHING, NOTHING, INT(2), INT(6), INT(4), INT(3), REAL(1e-5)));
    assert_failed("HxW=4");
}

static void test_layer_norm_backward_is_checked(void **state) {
    wick_value rets[3];
    wick_tensor *x = F32(2, 6), *w = F32(6);
    const wick_dim shape[] = {6};
    assert_false(MANY("native_layer_norm_backward", rets, 3, V(x), V(x), wick_value_ints(shape, 1), V(F32(1, 1)),
                      V(F32(2, 1)), V(w), V(w), MASK));
    assert_failed("expected mean to have 2 elements");
    assert_false(MANY("native_layer_norm_backward", rets, 3, V(F32(2, 5)), V(x), wick_value_ints(shape, 1),
                      V(F32(2, 1)), V(F32(2, 1)), V(w), V(w), MASK));
    assert_failed("expected grad_out to have 12 elements");
}

/* ---- unfold's backward ---- */
static void test_unfold_backward_is_checked(void **state) {
    const wick_dim sizes[] = {3};
    assert_null(CALL("unfold_backward", V(F32(7, 2)), wick_value_ints(sizes, 1), INT(0), INT(2), INT(1)));
    assert_failed("a gradient of shape [7, 2] is not that of windows of 2 elements, 1 apart");
    assert_null(CALL("unfold_backward", V(F32(1, 4)), wick_value_ints(sizes, 1), INT(0), INT(4), INT(1)));
    assert_failed("windows of 4 elements, 1 apart, in a dimension of 3");
    ASSERT_VALUES(CALL("unfold_backward", V(F32(2, 2)), wick_value_ints(sizes, 1), INT(0), INT(2), INT(1)), 1, 2, 1);
}

/* ---- linear of rows that are not evenly spaced ---- */
static void test_linear_of_uneven_rows(void **state) {
    const wick_dtype dtypes[] = {WICK_U8, WICK_I8, WICK_I16, WICK_I32, WICK_I64, WICK_F32, WICK_F64, WICK_C64};
    wick_tensor *series = wick_arange(C, INT(24), NULL);
    for (int i = 0; i < 8; ++i) {
        wick_tensor *values = wick_reshape(C, wick_to_dtype(C, series, dtypes[i], NULL), DIMS(2, 3, 4));
        wick_tensor *x = wick_permute(C, values, DIMS(1, 0, 2)); /* [3, 2, 4]: rows 12, then 4 elements apart */
        wick_tensor *w = wick_to_dtype(C, MATRIX(2, 4, 1, 0, 0, 0, 0, 1, 0, 1), dtypes[i], NULL);
        wick_tensor *y = CALL("linear", V(x), V(w));
        if (wick_dtype_is_complex(dtypes[i])) y = wick_real(C, y);
        ASSERT_SIZES(y, 3, 2, 2);
        ASSERT_VALUES(y, 0, 4, 12, 28, 4, 12, 16, 36, 8, 20, 20, 44);
    }
}

/* ---- rows of complex numbers have complex norms ---- */
static void test_embedding_renorm_of_complex_rows(void **state) {
    const double parts[] = {3, 4, 0, 0, 0.1, 0, 0, 0.1};
    wick_tensor *table = wick_tensor_from_host(C, parts, WICK_C128, 2, (const wick_dim[]){2, 2}, CPU);
    wick_tensor *rows = wick_to_dtype(C, T(0, 1), WICK_I64, NULL);
    CALL("embedding_renorm_", V(table), V(rows), REAL(1), REAL(2));
    ASSERT_VALUES(wick_view_as_real(C, table), 0.6, 0.8, 0, 0, 0.1, 0, 0, 0.1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_any_and_all_of_nothing),         CASE(test_arange_has_no_complex_form),
        CASE(test_statistics_of_nothing),          CASE(test_batch_norm_of_nothing_has_gradients),
        CASE(test_batch_norm_backward_of_nothing), CASE(test_batch_norm_backward_is_checked),
        CASE(test_group_norm_backward_is_checked), CASE(test_group_norm_is_checked),
        CASE(test_layer_norm_backward_is_checked), CASE(test_unfold_backward_is_checked),
        CASE(test_linear_of_uneven_rows),          CASE(test_embedding_renorm_of_complex_rows),
    };
    return RUN(tests);
}
