/* Interposers at both ranks: see, replace, go on, nest, come and go while they run. */
#include "core_test.h"

typedef struct watcher {
    char seen[512]; /* names of operators, each followed by a blank */
    wick_interposer_rank rank;
    enum { SEE, REPLACE, POP_SELF, PUSH_OTHER, CALL_INSIDE, REFUSE } what;
    struct watcher *other;
} watcher;

static bool watch(void *user, wick_context *c, const wick_op *op, const wick_value *args, int nargs, wick_value *rets,
                  int nrets) {
    watcher *w = user;
    wick_op_info info = {sizeof info};
    wick_op_describe(op, &info);
    size_t used = strlen(w->seen);
    snprintf(w->seen + used, sizeof w->seen - used, "%s ", info.name);
    switch (w->what) {
    case REPLACE: return wick_call(c, wick_op_find(wick_context_runtime(c), "neg"), args, 1, rets, 1);
    case REFUSE: return !wick_fail(c, WICK_ERROR(WICK_CANCELLED, "not today"));
    case POP_SELF: wick_interposer_pop(c, w->rank); break;
    case PUSH_OTHER: wick_interposer_push(c, w->rank, watch, w->other); break;
    case CALL_INSIDE: wick_exp(c, args[0].as.tensor); break;
    case SEE: break;
    }
    return wick_redispatch(c, op, args, nargs, rets, nrets);
}

static void push(watcher *w) { assert_true(wick_interposer_push(C, w->rank, watch, w)); }
static void pop(wick_interposer_rank rank) { wick_interposer_pop(C, rank); }

static void test_api_rank_sees_calls_as_they_are_made(void **state) {
    watcher w = {.rank = WICK_INTERPOSE_API};
    wick_tensor *x = LEAF(1, 2);
    push(&w);
    wick_tensor *y = wick_square(C, x);
    pop(w.rank);
    assert_string_equal(w.seen, "square ");
    wick_neg(C, x);
    assert_string_equal(w.seen, "square ");
    backward_sum(y);
    ASSERT_GRAD(x, 2, 4);
}

static void test_kernel_rank_sees_what_autograd_hands_down(void **state) {
    watcher w = {.rank = WICK_INTERPOSE_KERNEL};
    wick_tensor *x = LEAF(1, 2);
    push(&w);
    wick_tensor *y = wick_neg(C, wick_exp(C, x));
    assert_string_equal(w.seen, "exp neg ");
    w.seen[0] = '\0';
    backward_sum(y);
    pop(w.rank);
    assert_contains(w.seen, "mul.Tensor "); /* backward's own calls */
    ASSERT_GRAD(x, -exp(1), -exp(2));
}

/* A row that is another one under a second name, or with a number, runs as the same form of that one: nothing is copied. */
static void test_second_names_run_in_place(void **state) {
    watcher w = {.rank = WICK_INTERPOSE_KERNEL};
    wick_tensor *x = T(1, 2), *out = T(0, 0), *inner = LEAF(3, 4);
    push(&w);
    wick_add_scalar_(C, x, wick_value_float(0.5), NULL);
    wick_multiply_(C, x, x);
    wick_remainder_scalar_out(C, x, wick_value_int(2), out);
    pop(w.rank);
    assert_string_equal(w.seen, "add_.Tensor mul_.Tensor remainder.Tensor_out ");
    ASSERT_VALUES(x, 2.25, 6.25);
    ASSERT_VALUES(out, 0.25, 0.25);
    wick_tensor *y = wick_clone(C, inner, NULL);
    backward_sum(wick_mul_scalar_(C, y, wick_value_float(3)));
    ASSERT_GRAD(inner, 3, 3);
    const uint64_t version = wick_version(y);
    wick_mul_scalar_(C, y, wick_value_float(2));
    assert_int_equal(wick_version(y), version + 1);
    assert_null(wick_mul_scalar_(C, wick_to_dtype(C, out, WICK_I64, NULL), wick_value_float(0.5)));
    assert_failed("can't be cast to the desired output type");
}

static void test_replace(void **state) {
    watcher w = {.rank = WICK_INTERPOSE_API, .what = REPLACE};
    wick_tensor *x = LEAF(1, 2);
    push(&w);
    wick_tensor *y = wick_exp(C, x);
    pop(w.rank);
    ASSERT_VALUES(y, -1, -2);
    backward_sum(y);
    ASSERT_GRAD(x, -1, -1);
}

static void test_refuse(void **state) {
    watcher w = {.rank = WICK_INTERPOSE_KERNEL, .what = REFUSE};
    wick_tensor *x = LEAF(1, 2);
    push(&w);
    assert_null(wick_exp(C, x));
    pop(w.rank);
    assert_failed("not today");
}

static void test_newest_runs_first(void **state) {
    watcher a = {.rank = WICK_INTERPOSE_API}, b = {.rank = WICK_INTERPOSE_API, .what = REPLACE};
    wick_tensor *x = T(1);
    push(&a), push(&b);
    wick_tensor *y = wick_exp(C, x);
    pop(a.rank), pop(a.rank);
    ASSERT_VALUES(y, -1);
    assert_string_equal(b.seen, "exp ");
    assert_string_equal(a.seen, "neg "); /* what b made of it */
}

static void test_calls_inside_skip_the_running_one(void **state) {
    watcher a = {.rank = WICK_INTERPOSE_API}, b = {.rank = WICK_INTERPOSE_API, .what = CALL_INSIDE};
    wick_tensor *x = T(1);
    push(&a), push(&b);
    wick_neg(C, x);
    pop(a.rank), pop(a.rank);
    assert_string_equal(b.seen, "neg ");
    assert_string_equal(a.seen, "exp neg ");
}

static void test_popped_while_running(void **state) {
    watcher a = {.rank = WICK_INTERPOSE_API}, b = {.rank = WICK_INTERPOSE_API, .what = POP_SELF};
    wick_tensor *x = T(1);
    push(&a), push(&b);
    wick_neg(C, x);
    wick_exp(C, x);
    assert_string_equal(b.seen, "neg ");
    assert_string_equal(a.seen, "neg exp ");
    pop(a.rank);
    wick_abs(C, x);
    assert_string_equal(a.seen, "neg exp ");
}

static void test_pushed_while_running(void **state) {
    watcher a = {.rank = WICK_INTERPOSE_API}, b = {.rank = WICK_INTERPOSE_API, .what = PUSH_OTHER, .other = &a};
    wick_tensor *x = T(1);
    push(&b);
    wick_neg(C, x);
    assert_string_equal(a.seen, ""); /* from the next call on */
    b.what = SEE;
    wick_exp(C, x);
    assert_string_equal(a.seen, "exp ");
    assert_string_equal(b.seen, "neg exp ");
    pop(a.rank), pop(a.rank);
}

static void test_modes_do_not_carry_interposers(void **state) {
    watcher w = {.rank = WICK_INTERPOSE_API};
    wick_tensor *x = T(1);
    wick_modes before = wick_no_grad(C);
    push(&w);
    wick_modes_set(C, before);
    wick_neg(C, x);
    assert_string_equal(w.seen, "neg ");
    wick_modes pushed = wick_modes_get(C);
    pop(w.rank);
    wick_modes_set(C, pushed);
    wick_exp(C, x);
    assert_string_equal(w.seen, "neg ");
}

static void test_factories_and_lists_pass_through(void **state) {
    watcher w = {.rank = WICK_INTERPOSE_API};
    wick_tensor *const *parts;
    push(&w);
    wick_tensor *x = wick_ones(C, DIMS(4), NULL);
    wick_split(C, x, 2, NULL, &parts);
    pop(w.rank);
    assert_string_equal(w.seen, "ones split.Tensor ");
    ASSERT_VALUES(parts[1], 1, 1);
}

static void test_redispatch_elsewhere_fails(void **state) {
    wick_value arg = wick_value_tensor(T(1)), ret;
    assert_false(wick_redispatch(C, wick_op_find(RT, "neg"), &arg, 1, &ret, 1));
    assert_failed("wick_redispatch: called outside an interposer and a key handler");
}

static void test_limit(void **state) {
    watcher w = {.rank = WICK_INTERPOSE_API};
    int pushed = 0;
    while (wick_interposer_push(C, w.rank, watch, &w)) ++pushed;
    assert_failed("more than 32 interposers");
    while (pushed--) pop(w.rank);
    pop(w.rank); /* of an empty stack: nothing */
    wick_neg(C, T(1));
    assert_string_equal(w.seen, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_api_rank_sees_calls_as_they_are_made),
        CASE(test_kernel_rank_sees_what_autograd_hands_down),
        CASE(test_second_names_run_in_place),
        CASE(test_replace),
        CASE(test_refuse),
        CASE(test_newest_runs_first),
        CASE(test_calls_inside_skip_the_running_one),
        CASE(test_popped_while_running),
        CASE(test_pushed_while_running),
        CASE(test_modes_do_not_carry_interposers),
        CASE(test_factories_and_lists_pass_through),
        CASE(test_redispatch_elsewhere_fails),
        CASE(test_limit),
    };
    return RUN(tests);
}
