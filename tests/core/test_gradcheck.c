/* gradcheck and gradgradcheck: they pass what is right and name what is wrong. */
#include "core_test.h"

#define EPS 1e-6, 1e-5, 1e-7

static bool curve(void *user, wick_context *c, wick_tensor *const *in, int n, wick_tensor **out, int m) {
    out[0] = wick_mul(c, wick_sin(c, in[0]), wick_exp(c, in[1]));
    out[1] = wick_sum(c, wick_mul(c, in[0], in[0]), NULL);
    return true;
}

static void test_right(void **state) {
    wick_tensor *in[] = {LEAF(0.3, -0.7), LEAF(0.5, 0.2)};
    assert_ok(wick_gradcheck(C, curve, NULL, in, 2, 2, EPS));
    assert_ok(wick_gradgradcheck(C, curve, NULL, in, 2, 2, EPS));
    assert_null(wick_grad_of(in[0]));
}

static void test_inputs_without_gradient(void **state) {
    wick_tensor *in[] = {LEAF(0.3, -0.7), T(0.5, 0.2)};
    assert_ok(wick_gradcheck(C, curve, NULL, in, 2, 2, EPS));
    assert_ok(wick_gradgradcheck(C, curve, NULL, in, 2, 2, EPS));
    in[0] = T(1, 2);
    assert_error(wick_gradcheck(C, curve, NULL, in, 2, 2, EPS), "no input requires grad");
}

static bool through_views(void *user, wick_context *c, wick_tensor *const *in, int n, wick_tensor **out, int m) {
    wick_tensor *copy = wick_clone(c, in[0], NULL), *row = wick_select(c, copy, 0, 1);
    wick_mul_(c, row, in[1]);
    wick_exp_(c, wick_select(c, wick_transpose(c, copy, 0, 1), 0, 0));
    out[0] = copy;
    return true;
}

static void test_writes_through_views(void **state) {
    wick_tensor *in[] = {grad_leaf(MATRIX(2, 2, 0.1, -0.2, 0.3, 0.4)), LEAF(0.5, 0.2)};
    assert_ok(wick_gradcheck(C, through_views, NULL, in, 2, 1, EPS));
    assert_ok(wick_gradgradcheck(C, through_views, NULL, in, 2, 1, EPS));
}

static bool complex_square(void *user, wick_context *c, wick_tensor *const *in, int n, wick_tensor **out, int m) {
    out[0] = wick_mul(c, in[0], wick_mul(c, in[0], wick_conj(c, in[0])));
    return true;
}

static void test_complex(void **state) {
    const double values[] = {0.3, -0.4, 1.1, 0.2};
    wick_tensor *z = grad_leaf(wick_tensor_from_host(C, values, WICK_C128, 1, (wick_dim[]){2}, CPU));
    assert_ok(wick_gradcheck(C, complex_square, NULL, &z, 1, 1, EPS));
}

/* ---- wrong on purpose ---- */
static bool cube_forward(wick_function_call *call, wick_context *c, wick_tensor *const *in, int n, wick_tensor **out,
                         int m) {
    out[0] = wick_mul(c, in[0], wick_mul(c, in[0], in[0]));
    return wick_function_save(call, in, 1);
}
static bool wrong_backward(wick_function_call *call, wick_context *c, wick_tensor *const *grads, int m,
                           wick_tensor **out, int n) {
    wick_tensor *x = wick_function_saved(call, c, 0);
    out[0] = wick_mul(c, grads[0], SCALED(wick_mul(c, x, x), 2));
    return true;
}
/* Right, but cuts the graph: its own derivative is missing. */
static bool cut_backward(wick_function_call *call, wick_context *c, wick_tensor *const *grads, int m, wick_tensor **out,
                         int n) {
    wick_tensor *x = wick_detach(c, wick_function_saved(call, c, 0));
    out[0] = wick_mul(c, grads[0], SCALED(wick_mul(c, x, x), 3));
    return true;
}
static const wick_function wrong = {sizeof wrong, 0, "Wrong", cube_forward, wrong_backward, NULL};
static const wick_function cut = {sizeof cut, 0, "Cut", cube_forward, cut_backward, NULL};

static bool custom(void *user, wick_context *c, wick_tensor *const *in, int n, wick_tensor **out, int m) {
    return wick_function_apply(c, user, NULL, in, n, out, m);
}

static void test_wrong_first_derivative(void **state) {
    wick_tensor *x = LEAF(1, 2);
    assert_error(wick_gradcheck(C, custom, (void *)&wrong, &x, 1, 1, EPS),
                 "gradcheck: Jacobian mismatch for input 0 at element 0: numerical ");
    assert_false(wick_failed(C));
}

static void test_wrong_second_derivative(void **state) {
    wick_tensor *x = LEAF(1, 2);
    assert_ok(wick_gradcheck(C, custom, (void *)&cut, &x, 1, 1, EPS));
    assert_error(wick_gradgradcheck(C, custom, (void *)&cut, &x, 1, 1, EPS), "Jacobian mismatch for input 0");
}

static bool broken(void *user, wick_context *c, wick_tensor *const *in, int n, wick_tensor **out, int m) {
    out[0] = wick_add(c, in[0], NULL, NULL);
    return true;
}
static bool forgetful(void *user, wick_context *c, wick_tensor *const *in, int n, wick_tensor **out, int m) {
    return true;
}

static void test_failing_functions(void **state) {
    wick_tensor *x = LEAF(1, 2), *single = grad_leaf(wick_to_dtype(C, T(1), WICK_F32, NULL));
    assert_error(wick_gradcheck(C, broken, NULL, &x, 1, 1, EPS), "argument 1 (other)");
    assert_error(wick_gradcheck(C, forgetful, NULL, &x, 1, 1, EPS), "output 0 is NULL");
    assert_error(wick_gradcheck(C, broken, NULL, &single, 1, 1, EPS), "input 0 is f32, wanted f64 or c128");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_right),
        CASE(test_inputs_without_gradient),
        CASE(test_writes_through_views),
        CASE(test_complex),
        CASE(test_wrong_first_derivative),
        CASE(test_wrong_second_derivative),
        CASE(test_failing_functions),
    };
    return RUN(tests);
}
