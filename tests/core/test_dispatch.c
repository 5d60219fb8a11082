/* Calls: boxed arguments and defaults, derived in-place and out forms, overlap, the meta device. */
#include "core_test.h"

static const wick_op *op(const char *name) {
    const wick_op *found = wick_op_find(RT, name);
    if (!found) fail_msg("no operator %s", name);
    return found;
}

static wick_tensor *call(const char *name, int n, const wick_value *args) {
    wick_value ret = wick_value_none();
    return wick_call(C, op(name), args, n, &ret, 1) ? ret.as.tensor : NULL;
}
#define CALL(name, ...) \
    call(name, (int)(sizeof((wick_value[]){__VA_ARGS__}) / sizeof(wick_value)), (wick_value[]){__VA_ARGS__})
#define V(t) wick_value_tensor(t)

/* ---- boxed calls ---- */
static void test_lookup(void **state) {
    wick_op_info info = {sizeof info};
    assert_ptr_equal(op("add.Tensor"), op("aten::add.Tensor"));
    assert_null(wick_op_find(RT, "no_such_operator"));
    wick_op_describe(op("add_.Tensor"), &info);
    assert_string_equal(info.name, "add_.Tensor");
    assert_string_equal(info.schema, "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)");
    assert_int_equal(info.nargs, 3);
    assert_int_equal(info.differentiable, 1);
}

static void test_operators_are_in_order(void **state) {
    wick_op_info before = {sizeof before}, now = {sizeof now};
    int count = 1;
    wick_op_describe(wick_op_at(RT, 0), &before);
    for (; wick_op_at(RT, count); ++count, before = now) {
        wick_op_describe(wick_op_at(RT, count), &now);
        assert_true(strcmp(before.name, now.name) < 0);
        assert_ptr_equal(wick_op_find(RT, now.name), wick_op_at(RT, count));
    }
    assert_true(count > 500);
}

static void test_defaults(void **state) {
    wick_tensor *x = T(1, 2), *y = T(10, 20);
    ASSERT_VALUES(CALL("add.Tensor", V(x), V(y)), 11, 22);
    ASSERT_VALUES(CALL("add.Tensor", V(x), V(y), INT(2)), 21, 42);
    ASSERT_VALUES(CALL("sum", V(x)), 3);
}

static void test_conversions_that_a_schema_implies(void **state) {
    wick_tensor *x = MATRIX(2, 2, 1, 2, 3, 4);
    ASSERT_VALUES(CALL("sum.dim_IntList", V(x), INT(0)), 4, 6);                       /* int for int[] */
    ASSERT_VALUES(CALL("add.Tensor", V(x), INT(1)), 2, 3, 4, 5);                      /* number for Tensor */
    ASSERT_VALUES(CALL("elu", V(x), INT(1), INT(1)), 1, 2, 3, 4);                     /* int for Scalar */
    ASSERT_VALUES(CALL("dropout", V(x), INT(0), wick_value_bool(false)), 1, 2, 3, 4); /* int for float */
}

static void test_argument_errors(void **state) {
    wick_tensor *x = T(1, 2);
    assert_null(CALL("add.Tensor", V(x)));
    assert_failed("add.Tensor: argument 1 (other) is missing");
    assert_null(CALL("add.Tensor", V(x), V(x), INT(1), INT(1)));
    assert_failed("add.Tensor: 4 arguments, wanted at most 3");
    assert_null(CALL("add.Tensor", V(x), wick_value_string("2", 1)));
    assert_failed("add.Tensor: argument 1 (other) must be Tensor");
    assert_null(CALL("transpose.int", V(x), wick_value_float(0), INT(0)));
    assert_failed("transpose.int: argument 1 (dim0) must be int");
    assert_null(CALL("add.Tensor", wick_value_none(), V(x)));
    assert_failed("add.Tensor: argument 0 (self) must be a tensor, got NULL");
    assert_null(CALL("add_.Tensor", INT(1), V(x)));
    assert_failed("add_.Tensor: argument 0 (self) must be Tensor");
    assert_null(CALL("cat", V(x)));
    assert_failed("cat: argument 0 (tensors) must be Tensor[]");
}

static void test_wrong_number_of_returns(void **state) {
    wick_value args[] = {V(T(1, 2)), INT(0)}, rets[3];
    assert_false(wick_call(C, op("max.dim"), args, 2, rets, 1));
    assert_failed("max.dim: room for 1 returns, wanted 2");
    assert_true(wick_call(C, op("max.dim"), args, 2, rets, 2));
    ASSERT_VALUES(rets[0].as.tensor, 2);
    ASSERT_VALUES(rets[1].as.tensor, 1);
    assert_false(wick_call(C, NULL, args, 2, rets, 2));
    assert_failed("the operator is NULL");
}

static void test_list_returns(void **state) {
    wick_value args[] = {V(T(1, 2, 3)), INT(2)}, ret;
    assert_true(wick_call(C, op("split.Tensor"), args, 2, &ret, 1));
    assert_int_equal(ret.tag, WICK_TAG_TENSOR_LIST);
    assert_int_equal(ret.count, 2);
    ASSERT_VALUES(ret.as.tensors[1], 3);
}

static void test_scalar_returns(void **state) {
    wick_value arg = V(T(2.5)), ret;
    assert_true(wick_call(C, op("item"), &arg, 1, &ret, 1));
    assert_int_equal(ret.tag, WICK_TAG_F64);
    assert_true(ret.as.f == 2.5);
}

/* ---- derived forms ---- */
static void test_inplace(void **state) {
    wick_tensor *x = T(1, 2);
    assert_ptr_equal(wick_add_(C, x, T(10), NULL), x);
    ASSERT_VALUES(x, 11, 12);
    assert_int_equal(wick_version(x), 1);
}

static void test_inplace_keeps_the_shape(void **state) {
    wick_tensor *x = T(1, 2);
    assert_null(wick_add_(C, x, MATRIX(2, 2, 1, 2, 3, 4), NULL));
    assert_failed("output with shape [2] doesn't match the broadcast shape [2, 2]");
    assert_int_equal(wick_version(x), 0);
}

static void test_inplace_keeps_the_dtype(void **state) {
    wick_tensor *i = wick_to_dtype(C, T(1, 2), WICK_I64, NULL), *f = wick_to_dtype(C, T(1, 2), WICK_F32, NULL);
    assert_null(wick_add_(C, i, T(0.5, 0.5), NULL));
    assert_failed("result type f64 can't be cast to the desired output type i64");
    wick_add_(C, f, T(0.5, 0.5), NULL); /* f64 into f32 is of one kind */
    assert_int_equal(f->dtype, WICK_F32);
    ASSERT_VALUES(f, 1.5, 2.5);
    assert_null(wick_exp_(C, i));
    assert_failed("can't be cast to the desired output type i64");
}

static void test_out_is_resized(void **state) {
    wick_set_default_dtype(C, WICK_F64);
    wick_tensor *out = wick_empty(C, DIMS(0), NULL);
    assert_ptr_equal(wick_add_out(C, T(1, 2), MATRIX(2, 1, 10, 20), out, NULL), out);
    ASSERT_SIZES(out, 2, 2);
    ASSERT_VALUES(out, 11, 12, 21, 22);
}

static void test_out_casts(void **state) {
    wick_tensor *single = wick_to_dtype(C, T(0, 0), WICK_F32, NULL),
                *integers = wick_to_dtype(C, T(0, 0), WICK_I64, NULL);
    ASSERT_VALUES(wick_mul_out(C, T(1, 2), T(3, 4), single), 3, 8);
    assert_int_equal(single->dtype, WICK_F32);
    assert_null(wick_mul_out(C, T(1, 2), T(3, 4), integers));
    assert_failed("result type f64 can't be cast to the desired output type i64");
}

/* What the result is written to has no say in the dtype that is computed in. */
static void test_out_does_not_promote(void **state) {
    wick_tensor *a = wick_to_dtype(C, T(200), WICK_U8, NULL), *b = wick_to_dtype(C, T(100), WICK_U8, NULL);
    ASSERT_VALUES(wick_add_out(C, a, b, wick_to_dtype(C, T(0), WICK_I64, NULL), NULL), 44);
    ASSERT_VALUES(CALL("bucketize.Tensor_out", V(T(2)), V(T(1, 3)), wick_value_bool(false), wick_value_bool(false),
                       V(wick_to_dtype(C, T(0), WICK_I64, NULL))),
                  1);
}

static void test_out_of_several_returns(void **state) {
    wick_tensor *values = T(0), *indices = wick_to_dtype(C, T(0), WICK_I64, NULL);
    wick_value args[] = {V(MATRIX(2, 2, 1, 5, 7, 3)), INT(1), wick_value_bool(false), V(values), V(indices)}, rets[2];
    wick_op_info info = {sizeof info};
    const wick_op *out = wick_op_find(RT, "max.dim_max");
    if (!out) out = op("max.out_dim");
    wick_op_describe(out, &info);
    assert_true(wick_call(C, out, args, 5, rets, 2));
    assert_ptr_equal(rets[0].as.tensor, values);
    ASSERT_VALUES(values, 5, 7);
    ASSERT_VALUES(indices, 1, 0);
}

static void test_writing_to_overlapping_memory_fails(void **state) {
    wick_tensor *wide = wick_expand(C, T(1), DIMS(3), NULL);
    const char *text = "more than one element of the written-to tensor refers to a single memory location";
    assert_null(wick_add_(C, wide, T(1, 2, 3), NULL));
    assert_failed(text);
    assert_null(wick_add_out(C, T(1, 2, 3), T(1, 2, 3), wide, NULL));
    assert_failed(text);
    assert_null(wick_copy_(C, wide, T(1, 2, 3), NULL));
    assert_failed(text);
    assert_null(wick_zero_(C, wide));
    assert_failed(text);
}

static wick_tensor *window(wick_tensor *t, int64_t start) { return wick_narrow(C, t, 0, start, 3); }

static void test_inputs_that_share_the_outputs_memory(void **state) {
    wick_tensor *x = T(1, 2, 3, 4);
    assert_null(wick_add_(C, window(x, 1), window(x, 0), NULL)); /* partly the same memory */
    assert_failed(
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
        "memory location. Please clone() the tensor before performing the operation.");
    wick_add_(C, window(x, 1), window(x, 1), NULL); /* all of it */
    ASSERT_VALUES(x, 1, 4, 6, 8);
    wick_tensor *square = MATRIX(2, 2, 1, 2, 3, 4);
    assert_null(wick_mul_(C, square, wick_t(C, square)));
    assert_failed("some elements of the input tensor and the written-to tensor refer to a single memory location");
    wick_mul_(C, square, wick_clone(C, wick_t(C, square), NULL));
    ASSERT_VALUES(square, 1, 6, 6, 16);
    wick_tensor *m = MATRIX(2, 2, 1, 2, 3, 4);
    assert_ptr_equal(wick_mm_out(C, m, m, m), m); /* not elementwise: reads all before it writes */
    ASSERT_VALUES(m, 7, 10, 15, 22);
    wick_tensor *s = T(1, 2, 3);
    wick_cumsum_(C, s, 0, NULL);
    ASSERT_VALUES(s, 1, 3, 6);
}

static void test_strided_targets(void **state) {
    wick_tensor *m = MATRIX(2, 2, 1, 2, 3, 4);
    wick_add_(C, wick_select(C, m, 1, 0), T(10, 20), NULL);
    ASSERT_VALUES(m, 11, 2, 23, 4);
    wick_exp_out(C, T(0, 0), wick_select(C, m, 1, 1));
    ASSERT_VALUES(m, 11, 1, 23, 1);
}

/* ---- the meta device: shapes without memory ---- */
static const wick_device META = {WICK_DEVICE_TYPE_META, 0};

static wick_tensor *shape(int ndim, const wick_dim *sizes) {
    return wick_tensor_from_host(C, NULL, WICK_F32, ndim, sizes, META);
}
#define SHAPE(...) shape((int)(sizeof((wick_dim[]){__VA_ARGS__}) / sizeof(wick_dim)), (wick_dim[]){__VA_ARGS__})

static void test_meta_shapes(void **state) {
    wick_tensor *a = SHAPE(4, 1, 3), *b = SHAPE(5, 3), *parts[] = {a, a}, *second;
    uint64_t used;
    ASSERT_SIZES(wick_add(C, a, b, NULL), 4, 5, 3);
    ASSERT_SIZES(wick_exp(C, a), 4, 1, 3);
    ASSERT_SIZES(wick_relu(C, a), 4, 1, 3);
    ASSERT_SIZES(wick_gt(C, a, b), 4, 5, 3);
    ASSERT_SIZES(wick_where(C, wick_gt(C, a, b), a, b), 4, 5, 3);
    ASSERT_SIZES(wick_transpose(C, a, 0, 2), 3, 1, 4);
    ASSERT_SIZES(wick_select(C, a, 0, 2), 1, 3);
    ASSERT_SIZES(wick_narrow(C, a, 0, 1, 2), 2, 1, 3);
    ASSERT_SIZES(wick_reshape(C, a, DIMS(2, 6)), 2, 6);
    ASSERT_SIZES(wick_expand(C, a, DIMS(4, 7, 3), NULL), 4, 7, 3);
    ASSERT_SIZES(wick_unsqueeze(C, a, 0), 1, 4, 1, 3);
    ASSERT_SIZES(wick_cat(C, parts, 2, NULL), 8, 1, 3);
    ASSERT_SIZES(wick_mm(C, b, wick_t(C, b)), 5, 5);
    ASSERT_SIZES(wick_matmul(C, a, wick_t(C, b)), 4, 1, 5);
    ASSERT_SIZES(wick_max_dim(C, b, 1, NULL, &second), 5);
    assert_int_equal(second->dtype, WICK_I64);
    ASSERT_SIZES(wick_softmax(C, b, 1, NULL), 5, 3);
    ASSERT_SIZES(wick_cumsum(C, b, 0, NULL), 5, 3);
    ASSERT_SIZES(wick_sort(C, b, NULL, &second), 5, 3);
    ASSERT_SIZES(wick_clone(C, a, NULL), 4, 1, 3);
    ASSERT_SIZES(wick_to_dtype(C, a, WICK_F16, NULL), 4, 1, 3);
    ASSERT_SIZES(wick_linear(C, b, SHAPE(7, 3), SHAPE(7)), 5, 7);
    assert_int_equal(wick_numel(SUM(b)), 1);
    ASSERT_SIZES(SHAPE(1 << 20, 1 << 20), 1 << 20, 1 << 20); /* four terabytes, were it real */
    wick_memory_stats(RT, CPU, &used, NULL, NULL);
    assert_int_equal(used, 0);
}

static void test_meta_writes_and_gradients(void **state) {
    wick_tensor *a = SHAPE(2, 3), *w = wick_set_requires_grad(C, SHAPE(3), true);
    wick_add_(C, a, a, NULL);
    wick_zero_(C, a);
    assert_int_equal(wick_version(a), 2);
    backward_sum(wick_mul(C, w, a));
    ASSERT_SIZES(wick_grad_of(w), 3);
    assert_true(wick_device_equal(wick_grad_of(w)->device, META));
}

static void test_meta_has_no_values(void **state) {
    wick_tensor *a = SHAPE(1);
    wick_item(C, a);
    assert_failed("Cannot copy out of meta tensor; no data!");
    assert_null(wick_to_device(C, a, CPU, WICK_F32, NULL));
    assert_failed("Cannot copy out of meta tensor; no data!");
    assert_null(wick_nonzero(C, a));
    assert_failed("nonzero: the shape of its result depends on values");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_lookup),
        CASE(test_operators_are_in_order),
        CASE(test_defaults),
        CASE(test_conversions_that_a_schema_implies),
        CASE(test_argument_errors),
        CASE(test_wrong_number_of_returns),
        CASE(test_list_returns),
        CASE(test_scalar_returns),
        CASE(test_inplace),
        CASE(test_inplace_keeps_the_shape),
        CASE(test_inplace_keeps_the_dtype),
        CASE(test_out_is_resized),
        CASE(test_out_casts),
        CASE(test_out_does_not_promote),
        CASE(test_out_of_several_returns),
        CASE(test_writing_to_overlapping_memory_fails),
        CASE(test_inputs_that_share_the_outputs_memory),
        CASE(test_strided_targets),
        CASE(test_meta_shapes),
        CASE(test_meta_writes_and_gradients),
        CASE(test_meta_has_no_values),
    };
    return RUN(tests);
}
