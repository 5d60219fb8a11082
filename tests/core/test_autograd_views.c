/* Views, in-place writes, version counters: what a write to one tensor does to the history of another. */
#include "core_test.h"

static wick_tensor *part(wick_tensor *t, int64_t start, int64_t length) { return wick_narrow(C, t, 0, start, length); }
static void scale(wick_tensor *t, double factor) { wick_mul_scalar_(C, t, wick_value_float(factor)); }

/* ---- reading through views ---- */
static void test_view_gradients(void **state) {
    wick_tensor *x = grad_leaf(MATRIX(2, 3, 1, 2, 3, 4, 5, 6));
    wick_tensor *t = wick_transpose(C, x, 0, 1), *row = wick_select(C, t, 0, 1), *few = wick_narrow(C, t, 0, 1, 2);
    backward_sum(wick_mul(C, row, T(10, 20)));
    ASSERT_GRAD(x, 0, 10, 0, 0, 20, 0);
    wick_set_grad(C, x, NULL);
    backward_sum(wick_mul(C, few, few));
    ASSERT_GRAD(x, 0, 4, 6, 0, 10, 12);
}

static void test_expand_and_reshape(void **state) {
    wick_tensor *x = LEAF(1, 2);
    wick_tensor *wide = wick_expand(C, x, DIMS(3, 2), NULL);
    backward_sum(wick_mul(C, wick_reshape(C, wide, DIMS(6)), T(1, 2, 3, 4, 5, 6)));
    ASSERT_GRAD(x, 9, 12);
}

static void test_overlapping_as_strided(void **state) {
    wick_tensor *x = LEAF(1, 2, 3);
    wick_tensor *windows = wick_as_strided(C, x, DIMS(2, 2), DIMS(1, 1), NULL); /* 1 2 / 2 3 */
    ASSERT_VALUES(windows, 1, 2, 2, 3);
    backward_sum(wick_mul(C, windows, MATRIX(2, 2, 1, 10, 100, 1000)));
    ASSERT_GRAD(x, 1, 110, 1000);
}

/* ---- writing ---- */
static void test_chain_of_writes(void **state) {
    wick_tensor *x = LEAF(1, 2), *y = SCALED(x, 1);
    scale(y, 3);
    wick_add_scalar_(C, y, wick_value_float(1), NULL);
    scale(y, 5);
    ASSERT_VALUES(y, 20, 35);
    backward_sum(y);
    ASSERT_GRAD(x, 15, 15);
}

static void test_write_to_a_base_shows_in_its_views(void **state) {
    wick_tensor *x = LEAF(1, 2, 3), *base = SCALED(x, 1), *view = part(base, 1, 2);
    scale(base, 10);
    backward_sum(wick_mul(C, view, T(1, 2)));
    ASSERT_GRAD(x, 0, 10, 20);
}

static void test_write_to_a_view_shows_in_its_base(void **state) {
    wick_tensor *x = LEAF(1, 2, 3), *base = SCALED(x, 1), *view = part(base, 1, 2);
    scale(view, 10);
    assert_string_equal(wick_node_name(wick_grad_fn(base)), "CopySlices");
    ASSERT_VALUES(base, 1, 20, 30);
    backward_sum(wick_mul(C, base, T(1, 2, 3)));
    ASSERT_GRAD(x, 1, 20, 30);
}

static void test_write_to_a_view_shows_in_other_views(void **state) {
    wick_tensor *x = LEAF(1, 2, 3), *base = SCALED(x, 1), *left = part(base, 0, 2), *right = part(base, 1, 2);
    scale(left, 10);
    ASSERT_VALUES(right, 20, 3);
    backward_sum(right);
    ASSERT_GRAD(x, 0, 10, 1);
}

static void test_write_through_a_view_of_a_view(void **state) {
    wick_tensor *x = grad_leaf(MATRIX(2, 2, 1, 2, 3, 4)), *base = SCALED(x, 1);
    wick_tensor *cell = wick_select(C, wick_select(C, wick_transpose(C, base, 0, 1), 0, 1), 0, 0);
    scale(cell, 7);
    ASSERT_VALUES(base, 1, 14, 3, 4);
    backward_sum(base);
    ASSERT_GRAD(x, 1, 7, 1, 1);
}

static void test_gradient_enters_through_a_view(void **state) {
    wick_tensor *x = LEAF(2, 3), *base = T(1, 1, 1);
    assert_false(wick_requires_grad(base));
    wick_copy_(C, part(base, 1, 2), x, NULL);
    assert_true(wick_requires_grad(base));
    backward_sum(wick_mul(C, base, T(5, 6, 7)));
    ASSERT_GRAD(x, 6, 7);
}

static void test_overwriting_stops_the_gradient(void **state) {
    wick_tensor *x = LEAF(1, 2, 3), *y = SCALED(x, 1);
    wick_zero_(C, part(y, 0, 2));
    backward_sum(y);
    ASSERT_GRAD(x, 0, 0, 1);
    wick_set_grad(C, x, NULL);
    y = SCALED(x, 1);
    wick_uniform_(C, y, NULL);
    backward_sum(y);
    ASSERT_GRAD(x, 0, 0, 0);
}

static void test_write_that_saves_its_result_through_a_view(void **state) {
    wick_tensor *x = LEAF(0, 1), *base = SCALED(x, 1), *out;
    wick_exp_(C, part(base, 1, 1));
    wick_tensor *root = SUM(base);
    assert_true(wick_grad(C, &root, NULL, 1, &x, 1, WICK_CREATE_GRAPH, &out));
    ASSERT_VALUES(out, 1, exp(1));
    backward_sum(out);
    ASSERT_GRAD(x, 0, exp(1));
}

static void test_written_view_without_backward_is_freed(void **state) {
    wick_tensor *base = SCALED(LEAF(0, 1), 1);
    wick_exp_(C, part(base, 1, 1));
}

static void test_second_backward_through_a_written_view_fails(void **state) {
    wick_tensor *base = SCALED(LEAF(1, 2), 1);
    wick_exp_(C, part(base, 1, 1));
    wick_tensor *root = SUM(base);
    assert_true(wick_backward(C, root));
    assert_false(wick_backward(C, root));
    assert_failed("a second time");
}

static void test_write_that_saves_self(void **state) {
    wick_tensor *x = LEAF(2, 3), *w = LEAF(5, 7), *y = SCALED(x, 1);
    wick_mul_(C, y, w); /* keeps y as it was, for w */
    backward_sum(y);
    ASSERT_GRAD(x, 5, 7);
    ASSERT_GRAD(w, 2, 3);
}

static void test_second_derivative_through_a_write(void **state) {
    wick_tensor *x = LEAF(2), *w = LEAF(5), *y = wick_mul(C, x, x), *out;
    wick_mul_(C, y, w); /* x^2 w */
    wick_tensor *root = SUM(y);
    assert_true(wick_grad(C, &root, NULL, 1, &w, 1, WICK_CREATE_GRAPH, &out));
    ASSERT_VALUES(out, 4);
    backward_sum(out);
    ASSERT_GRAD(x, 4);
}

/* ---- views that read their base otherwise ---- */
static wick_tensor *complex_of(double a, double b, double c, double d) {
    return wick_tensor_from_host(C, (double[]){a, b, c, d}, WICK_C128, 1, (wick_dim[]){2}, CPU);
}
static wick_tensor *parts_of(wick_tensor *t) { return wick_reshape(C, wick_view_as_real(C, t), DIMS(4)); }

static void test_write_to_the_real_part(void **state) {
    wick_tensor *z = grad_leaf(complex_of(1, 2, 3, 4)), *y = wick_mul(C, z, T(1, 1)), *imaginary = wick_imag(C, y);
    wick_mul_(C, wick_real(C, y), T(10, 20));
    ASSERT_VALUES(parts_of(y), 10, 2, 60, 4);
    backward_sum(wick_add(C, wick_mul(C, parts_of(y), T(1, 2, 3, 4)), wick_sum(C, imaginary, NULL), NULL));
    ASSERT_VALUES(parts_of(wick_grad_of(z)), 10, 2 + 4, 60, 4 + 4);
}

static void test_write_to_a_complex_view(void **state) {
    wick_tensor *x = LEAF(0, 1, 2, 3, 4), *y = SCALED(x, 1);
    wick_tensor *pairs = wick_reshape(C, part(y, 1, 4), DIMS(2, 2)), *z;
    assert_true(wick_shares_storage(pairs, y));
    z = wick_view_as_complex(C, wick_as_strided(C, y, DIMS(2, 2), DIMS(2, 1), NULL)); /* 0+1i, 2+3i */
    wick_mul_(C, z, complex_of(0, 1, 0, 1));
    ASSERT_VALUES(y, -1, 0, -3, 2, 4);
    backward_sum(wick_mul(C, y, T(1, 2, 3, 4, 5)));
    ASSERT_GRAD(x, 2, -1, 4, -3, 5);
}

static void test_conjugate_of_a_written_base(void **state) {
    wick_tensor *z = grad_leaf(complex_of(1, 2, 3, 4)), *y = wick_mul(C, z, T(1, 1)), *bar = wick_conj(C, y);
    wick_mul_(C, y, T(2, 3));
    backward_sum(wick_mul(C, parts_of(wick_resolve_conj(C, bar)), T(1, 10, 100, 1000)));
    ASSERT_VALUES(parts_of(wick_grad_of(z)), 2, -20, 300, -3000);
}

/* ---- what may not be written to ---- */
static void test_write_to_a_leaf_fails(void **state) {
    wick_tensor *x = LEAF(1, 2);
    assert_null(wick_mul_scalar_(C, x, wick_value_float(2)));
    assert_failed("a leaf Variable that requires grad is being used in an in-place operation.");
    ASSERT_VALUES(x, 1, 2);
    assert_null(wick_mul_scalar_(C, part(x, 0, 1), wick_value_float(2)));
    assert_failed("a view of a leaf Variable that requires grad is being used in an in-place operation.");
}

static void test_changed_result_is_found(void **state) {
    wick_tensor *x = LEAF(1, 2), *y = wick_exp(C, x);
    scale(y, 2);
    assert_false(backward_sum(y));
    assert_failed(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        "[torch.float64 [2]], which is output 0 of ExpBackward0, is at version 1; expected version 0 instead.");
}

static void test_changed_input_is_found(void **state) {
    wick_tensor *x = LEAF(1, 2), *factor = T(3, 4), *y = wick_mul(C, x, factor);
    wick_zero_(C, factor);
    assert_false(backward_sum(y));
    assert_failed("[torch.float64 [2]], which is an input of MulBackward0, is at version 1; expected version 0");
}

static void test_changes_through_views_and_aliases_are_found(void **state) {
    wick_tensor *x = LEAF(1, 2), *y = wick_exp(C, x);
    wick_modes modes = wick_no_grad(C);
    wick_zero_(C, part(wick_detach(C, y), 0, 1));
    wick_modes_set(C, modes);
    assert_false(backward_sum(y));
    assert_failed("modified by an inplace operation");
}

static void test_times_itself(void **state) {
    wick_tensor *x = LEAF(2, 3), *y = SCALED(x, 1);
    wick_mul_(C, y, y);
    ASSERT_VALUES(y, 4, 9);
    assert_false(backward_sum(y));
    assert_failed("modified by an inplace operation");
    wick_tensor *m = SCALED(grad_leaf(MATRIX(2, 2, 1, 2, 3, 4)), 1);
    wick_mul_(C, m, wick_narrow(C, m, 1, 0, 1)); /* kept without closing a circle */
    ASSERT_VALUES(m, 1, 2, 9, 12);
}

static void test_out_refuses_gradients(void **state) {
    wick_tensor *x = LEAF(1, 2), *out = T(0, 0);
    assert_null(wick_mul_out(C, x, x, out));
    assert_failed("functions with out=... arguments don't support automatic differentiation");
    assert_null(wick_mul_out(C, out, out, x));
    assert_failed("functions with out=...");
    assert_null(wick_square_out(C, x, out)); /* decomposes */
    assert_failed("functions with out=...");
    ASSERT_VALUES(wick_gt_out(C, x, T(0, 3), out), 1, 0); /* no gradient to lose */
    wick_modes modes = wick_no_grad(C);
    ASSERT_VALUES(wick_mul_out(C, x, x, out), 1, 4);
    wick_modes_set(C, modes);
}

static void test_views_made_without_gradient(void **state) {
    wick_tensor *x = LEAF(1, 2), *w = LEAF(3), *base = SCALED(x, 1);
    wick_modes modes = wick_no_grad(C);
    wick_tensor *view = part(base, 0, 1);
    wick_modes_set(C, modes);
    assert_false(wick_requires_grad(view));
    assert_null(wick_mul_(C, view, w));
    assert_failed("a view was created in no_grad mode and is being modified inplace with grad mode enabled");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_view_gradients),
        CASE(test_expand_and_reshape),
        CASE(test_overlapping_as_strided),
        CASE(test_chain_of_writes),
        CASE(test_write_to_a_base_shows_in_its_views),
        CASE(test_write_to_a_view_shows_in_its_base),
        CASE(test_write_to_a_view_shows_in_other_views),
        CASE(test_write_through_a_view_of_a_view),
        CASE(test_gradient_enters_through_a_view),
        CASE(test_overwriting_stops_the_gradient),
        CASE(test_write_that_saves_its_result_through_a_view),
        CASE(test_written_view_without_backward_is_freed),
        CASE(test_second_backward_through_a_written_view_fails),
        CASE(test_write_that_saves_self),
        CASE(test_second_derivative_through_a_write),
        CASE(test_write_to_the_real_part),
        CASE(test_write_to_a_complex_view),
        CASE(test_conjugate_of_a_written_base),
        CASE(test_write_to_a_leaf_fails),
        CASE(test_changed_result_is_found),
        CASE(test_changed_input_is_found),
        CASE(test_changes_through_views_and_aliases_are_found),
        CASE(test_times_itself),
        CASE(test_out_refuses_gradients),
        CASE(test_views_made_without_gradient),
    };
    return RUN(tests);
}
