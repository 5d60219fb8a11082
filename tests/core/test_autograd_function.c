/* Custom functions: what they save, mark and leave out; their ends; their failures. */
#include "core_test.h"

/* What the callbacks of every function here are told to do. */
typedef struct plan {
    int destroyed, forwards, backwards;
    bool fail_forward, fail_backward, silent; /* silent: without latching an error */
    bool undefined;                           /* backward saw an undefined gradient */
    bool needs[2];
} plan;

/* It outlives the test: nodes end with the test's scope. */
static plan *begin(plan wanted) {
    static plan kept;
    kept = wanted;
    return &kept;
}

static void destroy(void *user) { ((plan *)user)->destroyed++; }

static bool fails(wick_context *c, const plan *p, bool asked) {
    if (asked && !p->silent) wick_fail(c, WICK_ERROR(WICK_CANCELLED, "told to fail"));
    return asked;
}

static bool apply(const wick_function *fn, plan *p, wick_tensor *const *in, int n, wick_tensor **out, int m) {
    return wick_function_apply(C, fn, p, in, n, out, m);
}
#define FUNCTION(name, forward, backward) \
    { sizeof(wick_function), 0, name, forward, backward, destroy }

/* ---- product: saves its inputs ---- */
static bool product_forward(wick_function_call *call, wick_context *c, wick_tensor *const *in, int n, wick_tensor **out,
                            int m) {
    plan *p = wick_function_user(call);
    p->forwards++;
    assert_false(wick_is_grad_enabled(c));
    p->needs[0] = wick_function_needs_input_grad(call, 0), p->needs[1] = wick_function_needs_input_grad(call, 1);
    if (fails(c, p, p->fail_forward) || !wick_function_save(call, in, 2)) return false;
    out[0] = wick_mul(c, in[0], in[1]);
    return true;
}
static bool product_backward(wick_function_call *call, wick_context *c, wick_tensor *const *grads, int m,
                             wick_tensor **out, int n) {
    plan *p = wick_function_user(call);
    p->backwards++;
    if (fails(c, p, p->fail_backward)) return false;
    if (wick_function_needs_input_grad(call, 0)) out[0] = wick_mul(c, grads[0], wick_function_saved(call, c, 1));
    if (wick_function_needs_input_grad(call, 1)) out[1] = wick_mul(c, grads[0], wick_function_saved(call, c, 0));
    return true;
}
static const wick_function product = FUNCTION("Product", product_forward, product_backward);

static void test_saved_inputs(void **state) {
    plan *p = begin((plan){0});
    wick_tensor *in[] = {LEAF(2, 3), LEAF(5, 7)}, *y;
    wick_scope scope = wick_scope_open(C);
    assert_true(apply(&product, p, in, 2, &y, 1));
    ASSERT_VALUES(y, 10, 21);
    assert_string_equal(wick_node_name(wick_grad_fn(y)), "ProductBackward");
    backward_sum(y);
    ASSERT_GRAD(in[0], 5, 7);
    ASSERT_GRAD(in[1], 2, 3);
    assert_int_equal(p->destroyed, 0);
    wick_scope_close(C, scope);
    assert_int_equal(p->destroyed, 1);
}

static void test_needs_input_grad(void **state) {
    plan *p = begin((plan){0});
    wick_tensor *in[] = {T(2), LEAF(5)}, *y;
    apply(&product, p, in, 2, &y, 1);
    assert_true(!p->needs[0] && p->needs[1]);
    backward_sum(y);
    ASSERT_GRAD(in[1], 2);
}

static void test_without_gradient_ends_at_once(void **state) {
    plan *p = begin((plan){0});
    wick_tensor *in[] = {T(2), T(5)}, *y;
    assert_true(apply(&product, p, in, 2, &y, 1));
    assert_false(wick_requires_grad(y));
    assert_int_equal(p->destroyed, 1);
    wick_modes modes = wick_no_grad(C);
    in[0] = LEAF(2);
    apply(&product, p, in, 2, &y, 1);
    wick_modes_set(C, modes);
    assert_false(wick_requires_grad(y));
    assert_int_equal(p->destroyed, 2);
}

static void test_second_derivative(void **state) {
    plan *p = begin((plan){0});
    wick_tensor *x = LEAF(3), *in[] = {x, x}, *y, *slope;
    apply(&product, p, in, 2, &y, 1);
    in[0] = y;
    apply(&product, p, in, 2, &y, 1); /* x^3 */
    assert_true(wick_grad(C, &y, NULL, 1, &x, 1, WICK_CREATE_GRAPH, &slope));
    ASSERT_VALUES(slope, 27);
    backward_sum(slope);
    ASSERT_GRAD(x, 18);
}

static void test_second_backward_fails(void **state) {
    plan *p = begin((plan){0});
    wick_tensor *in[] = {LEAF(2), LEAF(5)}, *y;
    apply(&product, p, in, 2, &y, 1);
    assert_true(wick_backward(C, y));
    assert_false(wick_backward(C, y));
    assert_failed("ProductBackward: Trying to backward through the graph a second time");
    assert_int_equal(p->backwards, 1);
}

static void test_changed_saved_tensor_is_found(void **state) {
    plan *p = begin((plan){0});
    wick_tensor *in[] = {LEAF(2), T(5)}, *y;
    apply(&product, p, in, 2, &y, 1);
    wick_zero_(C, in[1]);
    assert_false(wick_backward(C, y));
    assert_failed("which is an input of ProductBackward, is at version 1");
}

/* ---- failures ---- */
static void test_failing_forward(void **state) {
    plan *p = begin((plan){.fail_forward = true});
    wick_tensor *in[] = {LEAF(2), LEAF(5)}, *y;
    assert_false(apply(&product, p, in, 2, &y, 1));
    assert_failed("told to fail");
    p->silent = true;
    assert_false(apply(&product, p, in, 2, &y, 1));
    assert_failed("ProductBackward: forward failed");
    assert_int_equal(p->destroyed, 2);
}

static void test_failing_backward(void **state) {
    plan *p = begin((plan){.fail_backward = true});
    wick_tensor *in[] = {LEAF(2), LEAF(5)}, *y;
    apply(&product, p, in, 2, &y, 1);
    assert_false(wick_backward_many(C, &y, NULL, 1, WICK_RETAIN_GRAPH));
    assert_failed("told to fail");
    p->silent = true;
    assert_false(wick_backward(C, y));
    assert_failed("ProductBackward: backward failed");
    assert_true(wick_grad_is_partial(in[0]));
}

static void test_anomaly_mode_names_the_function(void **state) {
    plan *p = begin((plan){0});
    wick_set_anomaly(C, true);
    wick_tensor *in[] = {LEAF(2), LEAF(INFINITY)}, *y;
    apply(&product, p, in, 2, &y, 1);
    assert_false(wick_backward(C, y));
    assert_failed("Function 'ProductBackward' returned nan or infinite values");
}

/* ---- root: saves its output ---- */
static bool root_forward(wick_function_call *call, wick_context *c, wick_tensor *const *in, int n, wick_tensor **out,
                         int m) {
    out[0] = wick_sqrt(c, in[0]);
    return wick_function_save(call, out, 1);
}
static bool root_backward(wick_function_call *call, wick_context *c, wick_tensor *const *grads, int m,
                          wick_tensor **out, int n) {
    out[0] = wick_div(c, grads[0], SCALED(wick_function_saved(call, c, 0), 2));
    return true;
}
static const wick_function root = FUNCTION("Root", root_forward, root_backward);

static void test_saved_output(void **state) {
    plan *p = begin((plan){0});
    wick_tensor *x = LEAF(4), *y, *slope;
    wick_scope scope = wick_scope_open(C);
    apply(&root, p, &x, 1, &y, 1);
    wick_grad(C, &y, NULL, 1, &x, 1, WICK_CREATE_GRAPH, &slope);
    ASSERT_VALUES(slope, 0.25);
    backward_sum(slope);
    ASSERT_GRAD(x, -1.0 / 32);
    wick_scope_close(C, scope);
    assert_int_equal(p->destroyed, 1); /* no circle through the saved output */
}

/* ---- doubling in place: marks dirty ---- */
static bool double_forward(wick_function_call *call, wick_context *c, wick_tensor *const *in, int n, wick_tensor **out,
                           int m) {
    out[0] = wick_mul_scalar_(c, in[0], wick_value_float(2));
    wick_function_mark_dirty(call, out[0]);
    return true;
}
static bool double_backward(wick_function_call *call, wick_context *c, wick_tensor *const *grads, int m,
                            wick_tensor **out, int n) {
    out[0] = SCALED(grads[0], 2);
    return true;
}
static const wick_function doubled = FUNCTION("Double", double_forward, double_backward);

static void test_mark_dirty(void **state) {
    plan *p = begin((plan){0});
    wick_tensor *x = LEAF(1, 2), *y = SCALED(x, 3), *out;
    assert_true(apply(&doubled, p, &y, 1, &out, 1));
    assert_ptr_equal(out, y);
    assert_string_equal(wick_node_name(wick_grad_fn(y)), "DoubleBackward");
    backward_sum(y);
    ASSERT_GRAD(x, 6, 6);
}

static void test_mark_dirty_on_a_view(void **state) {
    plan *p = begin((plan){0});
    wick_tensor *x = LEAF(1, 2), *y = SCALED(x, 3), *view = wick_narrow(C, y, 0, 1, 1), *out;
    assert_true(apply(&doubled, p, &view, 1, &out, 1));
    ASSERT_VALUES(y, 3, 12);
    backward_sum(y);
    ASSERT_GRAD(x, 3, 6);
}

static void test_mark_dirty_on_a_leaf_fails(void **state) {
    plan *p = begin((plan){0});
    wick_tensor *x = LEAF(1, 2), *out;
    assert_false(apply(&doubled, p, &x, 1, &out, 1));
    assert_failed("a leaf Variable that requires grad has been used in an in-place operation");
    assert_int_equal(p->destroyed, 1);
}

/* ---- several outputs ---- */
static bool split_forward(wick_function_call *call, wick_context *c, wick_tensor *const *in, int n, wick_tensor **out,
                          int m) {
    out[0] = SCALED(in[0], 2), out[1] = SCALED(in[0], 3), out[2] = wick_sign(c, in[0]);
    wick_function_mark_non_differentiable(call, out[2]);
    return true;
}
static bool split_backward(wick_function_call *call, wick_context *c, wick_tensor *const *grads, int m,
                           wick_tensor **out, int n) {
    ((plan *)wick_function_user(call))->undefined = !grads[1];
    out[0] = SCALED(grads[0], 2);
    if (grads[1]) out[0] = wick_add(c, out[0], SCALED(grads[1], 3), NULL);
    return true;
}
static const wick_function split = FUNCTION("Split", split_forward, split_backward);

static void test_several_outputs(void **state) {
    plan *p = begin((plan){0});
    wick_tensor *x = LEAF(1), *out[3];
    apply(&split, p, &x, 1, out, 3);
    assert_true(wick_requires_grad(out[0]) && wick_requires_grad(out[1]) && !wick_requires_grad(out[2]));
    wick_backward_many(C, out, NULL, 2, WICK_RETAIN_GRAPH);
    ASSERT_GRAD(x, 5);
    backward_sum(out[0]);
    ASSERT_GRAD(x, 7);
    assert_false(p->undefined); /* zeros stand for it */
}

static bool bare_forward(wick_function_call *call, wick_context *c, wick_tensor *const *in, int n, wick_tensor **out,
                         int m) {
    wick_function_set_materialize_grads(call, false);
    return split_forward(call, c, in, n, out, m);
}
static const wick_function bare = FUNCTION("Bare", bare_forward, split_backward);

static void test_undefined_gradients(void **state) {
    plan *p = begin((plan){0});
    wick_tensor *x = LEAF(1), *out[3];
    apply(&bare, p, &x, 1, out, 3);
    backward_sum(out[0]);
    assert_true(p->undefined);
    ASSERT_GRAD(x, 2);
}

/* ---- the input itself as output ---- */
static bool same_forward(wick_function_call *call, wick_context *c, wick_tensor *const *in, int n, wick_tensor **out,
                         int m) {
    out[0] = in[0];
    return true;
}
static const wick_function same = FUNCTION("Same", same_forward, double_backward);

static void test_input_returned(void **state) {
    plan *p = begin((plan){0});
    wick_tensor *x = LEAF(1), *y;
    assert_true(apply(&same, p, &x, 1, &y, 1));
    assert_true(y != x && wick_is_leaf(x));
    backward_sum(y);
    ASSERT_GRAD(x, 2);
}

static bool crooked_backward(wick_function_call *call, wick_context *c, wick_tensor *const *grads, int m,
                             wick_tensor **out, int n) {
    out[0] = T(1, 2, 3);
    return true;
}
static const wick_function crooked = FUNCTION("Crooked", root_forward, crooked_backward);

static void test_wrong_gradient_shape(void **state) {
    plan *p = begin((plan){0});
    wick_tensor *x = LEAF(1, 2), *y;
    apply(&crooked, p, &x, 1, &y, 1);
    assert_false(backward_sum(y));
    assert_failed(
        "Function CrookedBackward returned an invalid gradient: got [3] but expected shape compatible with [2]");
}

static void test_incomplete_function(void **state) {
    plan *p = begin((plan){0});
    wick_tensor *x = LEAF(1), *y;
    const wick_function nothing = FUNCTION("Nothing", NULL, double_backward);
    assert_false(apply(&nothing, p, &x, 1, &y, 1));
    assert_failed("custom function Nothing: needs struct_size, forward, backward");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_saved_inputs),
        CASE(test_needs_input_grad),
        CASE(test_without_gradient_ends_at_once),
        CASE(test_second_derivative),
        CASE(test_second_backward_fails),
        CASE(test_changed_saved_tensor_is_found),
        CASE(test_failing_forward),
        CASE(test_failing_backward),
        CASE(test_anomaly_mode_names_the_function),
        CASE(test_saved_output),
        CASE(test_mark_dirty),
        CASE(test_mark_dirty_on_a_view),
        CASE(test_mark_dirty_on_a_leaf_fails),
        CASE(test_several_outputs),
        CASE(test_undefined_gradients),
        CASE(test_input_returned),
        CASE(test_wrong_gradient_shape),
        CASE(test_incomplete_function),
    };
    return RUN(tests);
}
