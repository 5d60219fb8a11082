/* Scopes: who owns what operators return. Failed contexts: what still works. Child contexts. */
#include "core_test.h"

static int64_t live(void) { return wick_runtime_live_objects(RT); }

/* ---- scopes ---- */
static void test_closing_frees(void **state) {
    int64_t before = live();
    wick_scope scope = wick_scope_open(C);
    wick_tensor *x = T(1, 2);
    wick_neg(C, x);
    assert_int_equal(live(), before + 2);
    wick_scope_close(C, scope);
    assert_int_equal(live(), before);
}

static void test_scopes_nest(void **state) {
    int64_t before = live();
    wick_scope outer = wick_scope_open(C);
    wick_tensor *x = T(1);
    wick_scope inner = wick_scope_open(C);
    wick_neg(C, x);
    wick_scope_close(C, inner);
    assert_int_equal(live(), before + 1);
    wick_scope_open(C); /* left open: ends with the one around it */
    wick_neg(C, x);
    wick_scope_close(C, outer);
    assert_int_equal(live(), before);
}

static void test_return(void **state) {
    wick_scope outer = wick_scope_open(C), inner = wick_scope_open(C);
    wick_tensor *x = wick_scope_return(C, inner, wick_neg(C, T(1, 2)));
    ASSERT_VALUES(x, -1, -2);
    wick_scope_close(C, outer);
    assert_int_equal(live(), 0);
    assert_null(wick_scope_return(C, wick_scope_open(C), NULL));
}

static void test_return_from_the_outermost_scope(void **state) {
    wick_scope_close(C, SCOPE);
    SCOPE = wick_scope_open(C);
    wick_tensor *x = wick_scope_return(C, SCOPE, T(1));
    assert_int_equal(live(), 1);
    wick_release(x); /* the caller's own */
    SCOPE = wick_scope_open(C);
}

static void test_keep_and_adopt(void **state) {
    wick_scope scope = wick_scope_open(C);
    wick_tensor *x = wick_keep(C, T(1, 2));
    wick_scope_close(C, scope);
    ASSERT_VALUES(x, 1, 2);
    assert_ptr_equal(wick_scope_adopt(C, x), x);
    assert_null(wick_scope_adopt(C, NULL));
    assert_null(wick_keep(C, NULL));
}

static void test_drop(void **state) {
    wick_tensor *x = T(1), *y = T(2), *z = T(3);
    wick_drop(C, y);
    assert_int_equal(live(), 2);
    wick_drop(C, NULL);
    wick_drop(C, x);
    assert_int_equal(live(), 1);
    ASSERT_VALUES(z, 3);
}

static void test_inplace_and_out_register_nothing(void **state) {
    wick_tensor *x = T(1, 2), *out = T(0, 0);
    int64_t before = live();
    wick_scope scope = wick_scope_open(C);
    assert_ptr_equal(wick_exp_(C, x), x);
    assert_ptr_equal(wick_add_out(C, x, x, out, NULL), out);
    wick_scope_close(C, scope);
    assert_int_equal(live(), before);
}

static void test_lists_live_as_long_as_their_scope(void **state) {
    wick_tensor *const *parts;
    wick_scope scope = wick_scope_open(C);
    assert_int_equal(wick_split(C, T(1, 2, 3), 2, NULL, &parts), 2);
    ASSERT_VALUES(parts[0], 1, 2);
    ASSERT_VALUES(parts[1], 3);
    wick_scope_close(C, scope);
    assert_int_equal(live(), 0);
}

static void test_no_scope(void **state) {
    wick_tensor *x = wick_keep(C, T(1));
    wick_scope_close(C, SCOPE);
    assert_null(wick_neg(C, x));
    assert_failed("neg: no scope is open: call wick_scope_open first");
    assert_null(wick_tensor_from_host(C, NULL, WICK_F32, 0, NULL, CPU));
    assert_failed("no scope is open");
    SCOPE = wick_scope_open(C);
    wick_release(x);
}

static void test_many_results_in_one_scope(void **state) {
    wick_scope scope = wick_scope_open(C);
    wick_tensor *x = T(1);
    for (int i = 0; i < 1000; ++i) x = wick_neg(C, x);
    ASSERT_VALUES(x, 1);
    wick_scope_close(C, scope);
    assert_int_equal(live(), 0);
}

/* ---- failed contexts ---- */
static void test_first_error_wins(void **state) {
    wick_tensor *x = T(1, 2), *y = T(1, 2, 3);
    assert_null(wick_add(C, x, y, NULL));
    assert_true(wick_failed(C));
    assert_null(wick_mul(C, NULL, NULL)); /* not looked at */
    assert_null(wick_neg(C, x));          /* later calls, too */
    assert_false(wick_backward(C, x));
    assert_true(isnan(wick_item(C, x)));
    wick_fail(C, WICK_ERROR(WICK_IO, "late"));
    assert_contains(wick_status_message(wick_context_status(C)), "The size of tensor a (2) must match");
    wick_status *first = wick_status_take(C);
    assert_int_equal(wick_status_code(first), WICK_INVALID_ARGUMENT);
    wick_status_free(first);
    assert_false(wick_failed(C));
    assert_null(wick_status_take(C));
    ASSERT_VALUES(wick_neg(C, x), -1, -2);
}

static void test_expression_on_a_failed_context(void **state) {
    wick_tensor *x = T(1, 2);
    assert_null(SUM(wick_exp(C, wick_mul(C, wick_add(C, x, T(1, 2, 3), NULL), x))));
    assert_failed("add.Tensor: The size of tensor a (2)");
}

static void test_scopes_close_on_a_failed_context(void **state) {
    wick_scope scope = wick_scope_open(C);
    T(1);
    wick_fail(C, WICK_ERROR(WICK_CANCELLED, "stop"));
    wick_scope_close(C, scope);
    assert_int_equal(live(), 0);
    assert_failed("stop");
}

static void test_null_arguments_are_named(void **state) {
    assert_null(wick_add(C, NULL, T(1), NULL));
    assert_failed("add.Tensor: argument 0 (self) must be a tensor, got NULL");
    wick_tensor *list[] = {T(1), NULL};
    assert_null(wick_cat(C, list, 2, NULL));
    assert_failed("cat: item 1 of tensors is NULL");
}

/* ---- child contexts ---- */
static void test_child_error_joins_the_parent(void **state) {
    wick_context *child;
    assert_ok(wick_context_create_child(C, &child));
    wick_fail(child, WICK_ERROR(WICK_DEVICE_ERROR, "the child fell"));
    wick_context_join(C, child);
    assert_failed("the child fell");
    assert_ok(wick_context_create_child(C, &child));
    wick_context_join(C, child);
    assert_false(wick_failed(C));
}

static void test_child_inherits_modes_and_defaults(void **state) {
    wick_context *child, *other;
    uint64_t seed[3], offset[3];
    wick_no_grad(C);
    wick_set_default_dtype(C, WICK_F64);
    wick_manual_seed(C, 7);
    assert_ok(wick_context_create_child(C, &child));
    assert_ok(wick_context_create_child(C, &other));
    assert_false(wick_is_grad_enabled(child));
    assert_int_equal(wick_default_dtype(child), WICK_F64);
    wick_rng_get(C, &seed[0], &offset[0]);
    wick_rng_get(child, &seed[1], &offset[1]);
    wick_rng_get(other, &seed[2], &offset[2]);
    assert_true(seed[0] == seed[1] && seed[1] == seed[2]);
    assert_true(offset[0] != offset[1] && offset[0] != offset[2] && offset[1] != offset[2]); /* streams of their own */
    wick_context_join(C, child);
    wick_context_join(C, other);
}

static void test_results_outlive_their_context(void **state) {
    wick_context *child;
    assert_ok(wick_context_create_child(C, &child));
    wick_scope_open(child);
    wick_tensor *x = wick_keep(C, wick_neg(child, T(1, 2)));
    wick_context_join(C, child);
    ASSERT_VALUES(x, -1, -2);
    wick_release(x);
}

static void test_context_outlives_the_runtime_handle(void **state) {
    wick_runtime *runtime;
    wick_context *context;
    assert_ok(wick_runtime_create(NULL, &runtime));
    assert_ok(wick_context_create(runtime, &context));
    wick_runtime_release(runtime);
    wick_scope_open(context);
    wick_tensor *t = wick_tensor_from_host(context, NULL, WICK_F32, 1, (wick_dim[]){4}, (wick_device){1, 0});
    assert_non_null(t);
    wick_retain(t);
    wick_context_destroy(context);
    assert_int_equal(wick_numel(t), 4);
    wick_release(t); /* and a tensor, the context */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_closing_frees),
        CASE(test_scopes_nest),
        CASE(test_return),
        CASE(test_return_from_the_outermost_scope),
        CASE(test_keep_and_adopt),
        CASE(test_drop),
        CASE(test_inplace_and_out_register_nothing),
        CASE(test_lists_live_as_long_as_their_scope),
        CASE(test_no_scope),
        CASE(test_many_results_in_one_scope),
        CASE(test_first_error_wins),
        CASE(test_expression_on_a_failed_context),
        CASE(test_scopes_close_on_a_failed_context),
        CASE(test_null_arguments_are_named),
        CASE(test_child_error_joins_the_parent),
        CASE(test_child_inherits_modes_and_defaults),
        CASE(test_results_outlive_their_context),
        CASE(test_context_outlives_the_runtime_handle),
    };
    return RUN(tests);
}
