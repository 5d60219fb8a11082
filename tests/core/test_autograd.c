/* Gradients: leaves, accumulation, graphs kept and made, wick_grad, modes, errors. */
#include "core_test.h"

/* ---- leaves and requires_grad ---- */
static void test_leaf(void **state) {
    wick_tensor *x = LEAF(1, 2), *y = SCALED(x, 2), *plain = T(1, 2);
    assert_true(wick_requires_grad(x) && wick_is_leaf(x));
    assert_true(wick_requires_grad(y) && !wick_is_leaf(y));
    assert_true(!wick_requires_grad(plain) && wick_is_leaf(plain));
    assert_null(wick_grad_fn(x));
    assert_string_equal(wick_node_name(wick_grad_fn(y)), "MulBackward0");
    assert_false(wick_requires_grad(SCALED(plain, 2)));
}

static void test_requires_grad_of_integers_fails(void **state) {
    wick_tensor *i = wick_to_dtype(C, T(1, 2), WICK_I64, NULL);
    assert_null(wick_set_requires_grad(C, i, true));
    assert_failed("only Tensors of floating point and complex dtype can require gradients");
}

static void test_requires_grad_of_a_computed_tensor(void **state) {
    wick_tensor *y = SCALED(LEAF(1), 2);
    assert_non_null(wick_set_requires_grad(C, y, true));
    assert_null(wick_set_requires_grad(C, y, false));
    assert_failed("you can only change requires_grad flags of leaf variables");
}

static void test_requires_grad_taken_back(void **state) {
    wick_tensor *x = LEAF(1, 2);
    wick_set_requires_grad(C, x, false);
    assert_false(wick_requires_grad(SCALED(x, 2)));
}

static void test_comparisons_need_no_gradient(void **state) {
    wick_tensor *x = LEAF(1, 2);
    assert_false(wick_requires_grad(wick_gt(C, x, T(1, 1))));
}

/* ---- accumulation ---- */
static void test_backward(void **state) {
    wick_tensor *x = LEAF(1, 2, 3);
    assert_true(backward_sum(wick_mul(C, x, x)));
    ASSERT_GRAD(x, 2, 4, 6);
}

static void test_two_backwards_accumulate(void **state) {
    wick_tensor *x = LEAF(1, 2);
    backward_sum(SCALED(x, 3));
    wick_tensor *first = wick_grad_of(x);
    backward_sum(SCALED(x, 4));
    ASSERT_GRAD(x, 7, 7);
    assert_ptr_equal(wick_grad_of(x), first); /* in place, as PyTorch does */
    wick_set_grad(C, x, NULL);
    assert_null(wick_grad_of(x));
}

static void test_gradients_do_not_share_memory(void **state) {
    wick_tensor *x = LEAF(1, 2), *y = LEAF(3, 4), *seed = T(1, 10);
    wick_tensor *root = wick_add(C, x, y, NULL);
    wick_backward_many(C, &root, &seed, 1, 0);
    wick_zero_(C, wick_grad_of(x));
    ASSERT_GRAD(y, 1, 10);
    ASSERT_VALUES(seed, 1, 10);
}

static void test_gradients_do_not_share_memory_under_create_graph(void **state) {
    wick_tensor *x = LEAF(1, 2), *y = LEAF(3, 4), *seed = T(1, 10);
    wick_tensor *root = wick_add(C, x, y, NULL);
    wick_backward_many(C, &root, &seed, 1, WICK_CREATE_GRAPH);
    wick_zero_(C, wick_grad_of(x));
    ASSERT_GRAD(y, 1, 10);
    ASSERT_VALUES(seed, 1, 10);
}

static void test_diamond(void **state) {
    wick_tensor *x = LEAF(2), *a = SCALED(x, 3), *b = wick_mul(C, a, a), *c = wick_mul(C, a, b);
    backward_sum(wick_add(C, b, c, NULL)); /* 9x^2 + 27x^3 */
    ASSERT_GRAD(x, 18 * 2 + 81 * 4);
}

static void test_same_root_twice(void **state) {
    wick_tensor *x = LEAF(2), *y = SUM(wick_mul(C, x, x)), *roots[] = {y, y};
    wick_backward_many(C, roots, NULL, 2, 0);
    ASSERT_GRAD(x, 8);
}

static void test_backward_from_a_leaf(void **state) {
    wick_tensor *x = LEAF(2);
    wick_backward(C, x);
    ASSERT_GRAD(x, 1);
}

static void test_broadcast_inputs_are_summed(void **state) {
    wick_tensor *row = LEAF(1, 2), *column = grad_leaf(MATRIX(3, 1, 1, 2, 3));
    backward_sum(wick_mul(C, row, column));
    ASSERT_GRAD(row, 6, 6);
    ASSERT_GRAD(column, 3, 3, 3);
    ASSERT_SIZES(wick_grad_of(column), 3, 1);
}

static void test_lists(void **state) {
    wick_tensor *x = LEAF(1, 2), *y = LEAF(3), *parts[] = {x, T(9), y, x}, *const * halves;
    wick_tensor *joined = wick_cat(C, parts, 4, NULL);
    assert_int_equal(wick_split(C, joined, 3, NULL, &halves), 2);
    backward_sum(wick_mul(C, halves[1], T(10, 20, 30)));
    ASSERT_GRAD(x, 20, 30);
    ASSERT_GRAD(y, 10);
}

static void test_several_results(void **state) {
    wick_tensor *x = grad_leaf(MATRIX(2, 3, 1, 5, 2, 6, 4, 3)), *indices;
    wick_tensor *best = wick_max_dim(C, x, 1, NULL, &indices);
    assert_true(wick_requires_grad(best) && !wick_requires_grad(indices));
    backward_sum(wick_mul(C, best, T(10, 20)));
    ASSERT_GRAD(x, 0, 10, 0, 20, 0, 0);
    wick_set_grad(C, x, NULL);
    backward_sum(wick_mul(C, wick_sort(C, x, NULL, &indices), MATRIX(2, 3, 1, 2, 3, 4, 5, 6)));
    ASSERT_GRAD(x, 1, 3, 2, 6, 5, 4);
}

static void test_gradient_has_the_dtype_of_its_leaf(void **state) {
    wick_tensor *half = grad_leaf(wick_to_dtype(C, T(1, 2), WICK_F32, NULL));
    backward_sum(wick_mul(C, half, T(3, 4)));
    assert_int_equal(wick_grad_of(half)->dtype, WICK_F32);
    ASSERT_GRAD(half, 3, 4);
}

static void test_set_grad_checks(void **state) {
    wick_tensor *x = LEAF(1, 2);
    assert_true(wick_set_grad(C, x, T(5, 6)));
    ASSERT_GRAD(x, 5, 6);
    assert_false(wick_set_grad(C, x, T(5)));
    assert_failed("assigned grad has data of a different type or size");
}

static void test_retain_grad(void **state) {
    wick_tensor *x = LEAF(1, 2), *y = SCALED(x, 2);
    assert_true(wick_retain_grad(C, y) && wick_retain_grad(C, y));
    wick_tensor *z = SUM(wick_mul(C, y, y));
    wick_backward_many(C, &z, NULL, 1, WICK_RETAIN_GRAPH);
    ASSERT_GRAD(y, 4, 8);
    wick_backward(C, z);
    ASSERT_GRAD(y, 8, 16); /* accumulates like a leaf's */
    ASSERT_GRAD(x, 16, 32);
}

static void test_retain_grad_follows_inplace_writes(void **state) {
    wick_tensor *x = LEAF(1, 2), *y = SCALED(x, 2);
    wick_retain_grad(C, y);
    wick_mul_scalar_(C, y, wick_value_float(5));
    backward_sum(SCALED(y, 3));
    ASSERT_GRAD(y, 3, 3);
    ASSERT_GRAD(x, 30, 30);
}

static void test_retain_grad_of_a_tensor_that_dies(void **state) {
    wick_tensor *x = LEAF(1, 2), *y = SCALED(x, 2);
    wick_retain_grad(C, y);
    wick_mul_scalar_(C, y, wick_value_float(5));
    wick_tensor *z = SUM(y);
    wick_drop(C, y);
    assert_true(wick_backward(C, z));
    ASSERT_GRAD(x, 10, 10);
}

static void test_retain_grad_without_gradient_fails(void **state) {
    assert_false(wick_retain_grad(C, T(1)));
    assert_failed("can't retain_grad on a tensor that has requires_grad=False");
}

/* ---- the life of a graph ---- */
static void test_second_backward_fails(void **state) {
    wick_tensor *x = LEAF(1, 2), *y = SUM(wick_mul(C, x, x));
    wick_backward(C, y);
    assert_false(wick_backward(C, y));
    assert_failed("Trying to backward through the graph a second time");
}

static void test_retain_graph(void **state) {
    wick_tensor *x = LEAF(1, 2), *y = SUM(wick_mul(C, x, x));
    assert_true(wick_backward_many(C, &y, NULL, 1, WICK_RETAIN_GRAPH));
    assert_true(wick_backward(C, y));
    ASSERT_GRAD(x, 4, 8);
}

static wick_tensor *derivative(wick_tensor *y, wick_tensor *x) {
    wick_tensor *out = NULL, *root = SUM(y);
    return wick_grad(C, &root, NULL, 1, &x, 1, WICK_CREATE_GRAPH, &out) ? out : NULL;
}

static void test_third_derivative(void **state) {
    wick_tensor *x = LEAF(2, 3);
    wick_tensor *y = wick_mul(C, wick_mul(C, x, x), wick_mul(C, x, x));
    wick_tensor *first = derivative(y, x), *second = derivative(first, x), *third = derivative(second, x);
    ASSERT_VALUES(first, 32, 108);
    ASSERT_VALUES(second, 48, 108);
    ASSERT_VALUES(third, 48, 72);
    assert_true(wick_requires_grad(third));
}

static void test_second_derivative_through_a_saved_result(void **state) {
    wick_tensor *x = LEAF(1);
    ASSERT_VALUES(derivative(derivative(wick_exp(C, x), x), x), exp(1));
}

static void test_backward_with_create_graph(void **state) {
    wick_tensor *x = LEAF(2), *y = SUM(wick_mul(C, wick_mul(C, x, x), x));
    wick_backward_many(C, &y, NULL, 1, WICK_CREATE_GRAPH);
    wick_tensor *slope = wick_keep(C, wick_grad_of(x));
    assert_true(wick_requires_grad(slope));
    wick_set_grad(C, x, NULL);
    backward_sum(slope);
    ASSERT_GRAD(x, 12);
    wick_release(slope);
}

/* ---- wick_grad ---- */
static void test_grad_of_several(void **state) {
    wick_tensor *x = LEAF(2), *y = LEAF(3), *out[2];
    wick_tensor *roots[] = {SUM(wick_mul(C, x, y)), SUM(wick_mul(C, y, y))}, *inputs[] = {x, y};
    assert_true(wick_grad(C, roots, NULL, 2, inputs, 2, 0, out));
    ASSERT_VALUES(out[0], 3);
    ASSERT_VALUES(out[1], 8);
    assert_null(wick_grad_of(x)); /* leaves stay as they were */
}

static void test_grad_of_an_unused_input(void **state) {
    wick_tensor *x = LEAF(2), *unused = LEAF(3), *out[2] = {NULL, x};
    wick_tensor *root = SUM(SCALED(x, 3)), *inputs[] = {x, unused};
    assert_true(wick_grad(C, &root, NULL, 1, inputs, 2, WICK_RETAIN_GRAPH | WICK_ALLOW_UNUSED, out));
    ASSERT_VALUES(out[0], 3);
    assert_null(out[1]);
    assert_false(wick_grad(C, &root, NULL, 1, inputs, 2, 0, out));
    assert_failed("appears to not have been used in the graph (input 1)");
}

static void test_grad_of_a_non_leaf(void **state) {
    wick_tensor *x = LEAF(2), *y = SCALED(x, 3), *root = SUM(wick_mul(C, y, y)), *inputs[] = {y, x}, *out[2];
    assert_true(wick_grad(C, &root, NULL, 1, inputs, 2, WICK_RETAIN_GRAPH, out));
    ASSERT_VALUES(out[0], 12);
    ASSERT_VALUES(out[1], 36);
    assert_true(wick_grad(C, &root, NULL, 1, inputs, 1, 0, out));
    ASSERT_VALUES(out[0], 12);
}

static void test_grad_of_an_output(void **state) {
    wick_tensor *x = LEAF(2, 3), *y = SCALED(x, 3), *seed = T(1, 5), *inputs[] = {y, y, x}, *out[3];
    assert_true(wick_grad(C, &y, &seed, 1, inputs, 3, 0, out));
    ASSERT_VALUES(out[0], 1, 5);
    ASSERT_VALUES(out[1], 1, 5);
    ASSERT_VALUES(out[2], 3, 15);
    assert_true(wick_grad(C, &x, &seed, 1, &x, 1, 0, out));
    ASSERT_VALUES(out[0], 1, 5);
}

static void test_grad_input_without_gradient_fails(void **state) {
    wick_tensor *x = LEAF(2), *plain = T(1), *root = SUM(SCALED(x, 3)), *out;
    assert_false(wick_grad(C, &root, NULL, 1, &plain, 1, 0, &out));
    assert_failed("One of the differentiated Tensors does not require grad");
}

/* ---- what a backward refuses ---- */
static void test_no_gradient_to_follow(void **state) {
    assert_false(wick_backward(C, SUM(T(1))));
    assert_failed("element 0 of tensors does not require grad and does not have a grad_fn");
    wick_tensor *roots[] = {SUM(LEAF(1)), SUM(T(1))};
    assert_false(wick_backward_many(C, roots, NULL, 2, 0));
    assert_failed("element 1 of tensors does not require grad");
}

static void test_implicit_gradient_is_for_scalars(void **state) {
    assert_false(wick_backward(C, SCALED(LEAF(1, 2), 2)));
    assert_failed("grad can be implicitly created only for scalar outputs");
    wick_tensor *z = wick_to_dtype(C, LEAF(1), WICK_C128, NULL);
    assert_false(wick_backward(C, z));
    assert_failed("grad can be implicitly created only for real scalar outputs but got c128");
}

static void test_output_gradient_of_another_shape(void **state) {
    wick_tensor *y = SCALED(LEAF(1, 2), 2), *seed = T(1, 2, 3);
    assert_false(wick_backward_many(C, &y, &seed, 1, 0));
    assert_failed("Mismatch in shape: grad_output[0] has a shape of [3] and output[0] has a shape of [2].");
    seed = MATRIX(2, 2, 1, 2, 3, 4); /* would broadcast */
    assert_false(wick_backward_many(C, &y, &seed, 1, 0));
    assert_failed("Mismatch in shape");
}

static void test_null_roots(void **state) {
    wick_tensor *none = NULL, *x = LEAF(1), *out;
    assert_false(wick_backward(C, NULL));
    assert_failed("root is NULL");
    assert_false(wick_backward_many(C, &none, NULL, 1, 0));
    assert_failed("tensor 0 is NULL");
    assert_false(wick_grad(C, &none, NULL, 1, &x, 1, 0, &out));
    assert_failed("output 0 is NULL");
}

static void test_failed_backward_marks_leaves(void **state) {
    wick_tensor *x = LEAF(1, 2), *y = LEAF(1, 2), *apart = LEAF(1);
    wick_tensor *e = wick_exp(C, SCALED(x, 2)), *sum = SUM(wick_add(C, wick_mul(C, e, e), y, NULL));
    wick_mul_scalar_(C, e, wick_value_float(2));
    assert_false(wick_backward(C, sum));
    assert_failed("modified by an inplace operation");
    assert_true(wick_grad_is_partial(x) && wick_grad_is_partial(y));
    assert_false(wick_grad_is_partial(apart));
    wick_set_grad(C, x, NULL);
    assert_false(wick_grad_is_partial(x));
}

/* ---- modes ---- */
static void test_no_grad(void **state) {
    wick_tensor *x = LEAF(1);
    wick_modes before = wick_no_grad(C);
    assert_false(wick_is_grad_enabled(C));
    assert_false(wick_requires_grad(SCALED(x, 2)));
    wick_modes inner = wick_set_grad_enabled(C, true);
    assert_true(wick_requires_grad(SCALED(x, 2)));
    wick_modes_set(C, inner);
    assert_false(wick_requires_grad(SCALED(x, 2)));
    wick_modes_set(C, before);
    assert_true(wick_requires_grad(SCALED(x, 2)));
}

static void test_no_grad_allows_writes_to_leaves(void **state) {
    wick_tensor *x = LEAF(1);
    wick_modes before = wick_no_grad(C);
    wick_mul_scalar_(C, x, wick_value_float(3));
    wick_modes_set(C, before);
    ASSERT_VALUES(x, 3);
    assert_true(wick_requires_grad(x) && wick_is_leaf(x));
}

static void test_inference_mode(void **state) {
    wick_tensor *x = LEAF(1), *w = LEAF(2);
    wick_modes before = wick_inference_mode(C);
    wick_tensor *y = SCALED(x, 2);
    wick_mul_scalar_(C, y, wick_value_float(2));
    wick_set_grad_enabled(C, true);
    assert_false(wick_requires_grad(SCALED(x, 2)));
    wick_modes_set(C, before);
    assert_true(y->flags & WICK_TENSOR_INFERENCE);
    assert_false(wick_requires_grad(y));
    ASSERT_VALUES(SCALED(y, 2), 8); /* may be read */
    wick_mul(C, w, y);
    assert_failed("inference tensors cannot be saved for backward");
    wick_mul_scalar_(C, y, wick_value_float(2));
    assert_failed("Inplace update to inference tensor outside InferenceMode is not allowed");
    wick_set_requires_grad(C, y, true);
    assert_failed("inference tensor");
}

static void test_detach(void **state) {
    wick_tensor *x = LEAF(1, 2), *y = wick_mul(C, x, x), *d = wick_detach(C, y);
    assert_true(!wick_requires_grad(d) && wick_shares_storage(d, y));
    backward_sum(wick_mul(C, d, x));
    ASSERT_GRAD(x, 1, 4);
}

/* ---- the graph ---- */
static void test_graph_walk(void **state) {
    wick_tensor *x = LEAF(1, 2), *y = wick_exp(C, x), *z = wick_mul(C, y, T(1, 2));
    wick_node *mul = wick_grad_fn(z), *exp_node = wick_node_next(mul, 0, NULL);
    assert_int_equal(wick_node_inputs(mul), 2);
    assert_ptr_equal(exp_node, wick_grad_fn(y));
    assert_null(wick_node_next(mul, 1, NULL));
    assert_string_equal(wick_node_name(wick_node_next(exp_node, 0, NULL)), "AccumulateGrad");
    assert_true(wick_node_sequence(mul) > wick_node_sequence(exp_node));
}

static void test_graph_text(void **state) {
    char *text;
    wick_tensor *x = LEAF(1, 2), *z = wick_mul(C, wick_exp(C, x), x);
    assert_ok(wick_graph_to_string(C, z, &text));
    assert_string_equal(text, "#0 MulBackward0 <- #1.0, #2.0\n#1 ExpBackward0 <- #2.0\n#2 AccumulateGrad f64 [2]\n");
    free(text);
    assert_ok(wick_graph_to_string(C, x, &text));
    assert_string_equal(text, "");
    free(text);
}

static void test_anomaly_mode(void **state) {
    wick_set_anomaly(C, true);
    wick_tensor *x = LEAF(0), *y = SUM(wick_mul(C, wick_sqrt(C, x), T(0)));
    assert_false(wick_backward(C, y));
    const char *text = wick_status_message(wick_context_status(C));
    assert_contains(text, "Function 'SqrtBackward0' returned nan");
    assert_contains(text, "made by forward call sqrt");
    assert_failed("SqrtBackward0");
}

/* ---- size: nothing recurses over a graph ---- */
static void test_long_chain(void **state) {
    wick_tensor *x = LEAF(1), *y = long_chain(x, 100000);
    assert_true(backward_sum(y));
    ASSERT_GRAD(x, 1);
    wick_release(y);
    wick_release(long_chain(x, 100000)); /* freed without a backward */
}

/* ---- dtypes of few bits ---- */
/* Whole numbers, so that no dtype rounds them. All three operands of a convolution have gradients at once: kernels for wide
 * dtypes are given a copy of each. */
static wick_tensor *counted(wick_dtype dtype, const wick_dim *sizes, int ndim, int modulus) {
    double data[512];
    const wick_dim n = wick_dim_product(sizes, ndim);
    for (wick_dim i = 0; i < n; ++i) data[i] = (double)(i * 7 % modulus - modulus / 2);
    wick_tensor *t = wick_reshape(C, tensor_of(data, (size_t)n), sizes, (size_t)ndim);
    return wick_set_requires_grad(C, wick_detach(C, wick_to_dtype(C, t, dtype, NULL)), true);
}

static void convolve_and_back(wick_dtype dtype, double sums[3]) {
    wick_tensor *operands[] = {counted(dtype, (const wick_dim[]){1, 4, 9, 9}, 4, 3),
                               counted(dtype, (const wick_dim[]){6, 4, 3, 3}, 4, 5),
                               counted(dtype, (const wick_dim[]){6}, 1, 3)};
    wick_backward(C, SUM(wick_conv2d(C, operands[0], operands[1], operands[2], NULL)));
    for (int i = 0; i < 3; ++i) {
        assert_healthy();
        wick_tensor *grad = wick_to_dtype(C, wick_grad_of(operands[i]), WICK_F64, NULL);
        sums[i] = wick_item(C, SUM(wick_mul(C, grad, grad)));
    }
}

static void test_convolution_of_few_bits(void **state) {
    static const wick_dtype dtypes[] = {WICK_F32, WICK_F16, WICK_BF16};
    double wanted[3], sums[3];
    convolve_and_back(WICK_F64, wanted);
    for (int k = 0; k < 3; ++k) {
        convolve_and_back(dtypes[k], sums);
        for (int i = 0; i < 3; ++i) assert_true(sums[i] == wanted[i]);
    }
}

/* Of input, weight and bias any may be frozen; weight may be a vector. */
static void test_linear_with_frozen_parts(void **state) {
    wick_tensor *x = T(1, 2), *w = T(3, -1), *rows = wick_reshape(C, T(1, 2, 3, 4), (const int64_t[]){2, 2}, 2);
    wick_tensor *bias = wick_set_requires_grad(C, wick_reshape(C, T(5), NULL, 0), true), *b1 = LEAF(0);
    backward_sum(wick_linear(C, x, w, bias));
    ASSERT_GRAD(bias, 1);
    backward_sum(wick_linear(C, rows, w, bias));
    ASSERT_GRAD(bias, 3);
    backward_sum(wick_linear(C, rows, wick_reshape(C, w, (const int64_t[]){1, 2}, 2), b1));
    ASSERT_GRAD(b1, 2);
    wick_tensor *leaf = LEAF(1, 2), *frozen = wick_reshape(C, T(3, -1), (const int64_t[]){1, 2}, 2);
    wick_tensor *y = wick_linear(C, wick_reshape(C, leaf, (const int64_t[]){1, 2}, 2), frozen, NULL);
    backward_sum(y);
    ASSERT_GRAD(leaf, 3, -1);
    y = wick_linear(C, wick_reshape(C, leaf, (const int64_t[]){1, 2}, 2), frozen, NULL);
    wick_mul_scalar_(C, frozen, wick_value_float(2));
    assert_false(wick_backward(C, SUM(y)));
    assert_failed("modified by an inplace operation");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_leaf),
        CASE(test_requires_grad_of_integers_fails),
        CASE(test_requires_grad_of_a_computed_tensor),
        CASE(test_requires_grad_taken_back),
        CASE(test_comparisons_need_no_gradient),
        CASE(test_backward),
        CASE(test_two_backwards_accumulate),
        CASE(test_gradients_do_not_share_memory),
        CASE(test_gradients_do_not_share_memory_under_create_graph),
        CASE(test_diamond),
        CASE(test_same_root_twice),
        CASE(test_backward_from_a_leaf),
        CASE(test_convolution_of_few_bits),
        CASE(test_linear_with_frozen_parts),
        CASE(test_broadcast_inputs_are_summed),
        CASE(test_lists),
        CASE(test_several_results),
        CASE(test_gradient_has_the_dtype_of_its_leaf),
        CASE(test_set_grad_checks),
        CASE(test_retain_grad),
        CASE(test_retain_grad_follows_inplace_writes),
        CASE(test_retain_grad_of_a_tensor_that_dies),
        CASE(test_retain_grad_without_gradient_fails),
        CASE(test_second_backward_fails),
        CASE(test_retain_graph),
        CASE(test_third_derivative),
        CASE(test_second_derivative_through_a_saved_result),
        CASE(test_backward_with_create_graph),
        CASE(test_grad_of_several),
        CASE(test_grad_of_an_unused_input),
        CASE(test_grad_of_a_non_leaf),
        CASE(test_grad_of_an_output),
        CASE(test_grad_input_without_gradient_fails),
        CASE(test_no_gradient_to_follow),
        CASE(test_implicit_gradient_is_for_scalars),
        CASE(test_output_gradient_of_another_shape),
        CASE(test_null_roots),
        CASE(test_failed_backward_marks_leaves),
        CASE(test_no_grad),
        CASE(test_no_grad_allows_writes_to_leaves),
        CASE(test_inference_mode),
        CASE(test_detach),
        CASE(test_graph_walk),
        CASE(test_graph_text),
        CASE(test_anomaly_mode),
        CASE(test_long_chain),
    };
    return RUN(tests);
}
