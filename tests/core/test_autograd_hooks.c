/* Hooks on tensors, nodes, leaves and saved tensors; callbacks at the end of a pass; nested passes. */
#include "core_test.h"

typedef struct trail {
    char text[64];
    double factor;       /* the hook multiplies by it; 0: it only looks */
    wick_tensor *target; /* of removal */
    int64_t id;
} trail;

static void note(trail *t, char letter) {
    size_t n = strlen(t->text);
    t->text[n] = letter, t->text[n + 1] = '\0';
}

static wick_tensor *scale_hook(void *user, wick_context *c, wick_tensor *grad) {
    trail *t = user;
    note(t, 's');
    return t->factor ? wick_mul_scalar(c, grad, wick_value_float(t->factor)) : NULL;
}
static wick_tensor *add_hook(void *user, wick_context *c, wick_tensor *grad) {
    note(user, 'a');
    return wick_add_scalar(c, grad, wick_value_float(1), NULL);
}
static wick_tensor *remove_hook(void *user, wick_context *c, wick_tensor *grad) {
    trail *t = user;
    note(t, 'r');
    assert_true(wick_remove_hook(t->target, t->id));
    return NULL;
}
static wick_tensor *failing_hook(void *user, wick_context *c, wick_tensor *grad) {
    wick_fail(c, WICK_ERROR(WICK_CANCELLED, "the hook had enough"));
    return NULL;
}

/* ---- tensors ---- */
static void test_hook_replaces_the_gradient_of_a_leaf(void **state) {
    trail t = {.factor = 10};
    wick_tensor *x = LEAF(1, 2);
    assert_true(wick_register_hook(C, x, scale_hook, &t) > 0);
    backward_sum(SCALED(x, 3));
    ASSERT_GRAD(x, 30, 30);
    assert_string_equal(t.text, "s");
}

static void test_hook_sees_the_whole_gradient(void **state) {
    trail t = {.factor = 0};
    wick_tensor *x = LEAF(1), *y = SCALED(x, 2);
    wick_register_hook(C, y, scale_hook, &t);
    wick_register_hook(C, y, add_hook, &t);
    backward_sum(wick_add(C, SCALED(y, 3), SCALED(y, 4), NULL));
    ASSERT_GRAD(x, 2 * (7 + 1));
    assert_string_equal(t.text, "sa");
}

static void test_hooks_run_in_order_and_can_be_removed(void **state) {
    trail t = {.factor = 10};
    wick_tensor *x = LEAF(1);
    int64_t first = wick_register_hook(C, x, scale_hook, &t), second = wick_register_hook(C, x, add_hook, &t);
    backward_sum(x);
    ASSERT_GRAD(x, 11);
    assert_true(wick_remove_hook(x, second));
    assert_false(wick_remove_hook(x, second));
    int64_t third = wick_register_hook(C, x, add_hook, &t);
    assert_true(third != second && third != first);
    assert_false(wick_remove_hook(x, second)); /* a removed id never means another hook */
    backward_sum(x);
    ASSERT_GRAD(x, 22);
    assert_string_equal(t.text, "sasa");
}

static void test_hook_removes_itself_and_others(void **state) {
    trail t = {.factor = 10}, self = {0};
    wick_tensor *x = LEAF(1);
    self.target = x;
    self.id = wick_register_hook(C, x, remove_hook, &self);
    wick_register_hook(C, x, scale_hook, &t);
    backward_sum(x);
    ASSERT_GRAD(x, 10);
    backward_sum(x);
    ASSERT_GRAD(x, 20);
    assert_string_equal(self.text, "r");
}

static void test_hook_needs_a_gradient(void **state) {
    assert_int_equal(wick_register_hook(C, T(1), scale_hook, NULL), 0);
    assert_failed("cannot register a hook on a tensor that doesn't require gradient");
}

static void test_failing_hook(void **state) {
    wick_tensor *x = LEAF(1), *y = SCALED(x, 2);
    wick_register_hook(C, y, failing_hook, NULL);
    assert_false(backward_sum(y));
    assert_failed("the hook had enough");
    assert_null(wick_grad_of(x));
    assert_true(wick_grad_is_partial(x));
}

static void test_retained_gradient_comes_after_hooks(void **state) {
    trail t = {.factor = 10};
    wick_tensor *y = SCALED(LEAF(1), 2);
    wick_retain_grad(C, y);
    wick_register_hook(C, y, scale_hook, &t);
    backward_sum(y);
    ASSERT_GRAD(y, 10);
}

static void test_hooks_run_for_wick_grad(void **state) {
    trail t = {.factor = 10};
    wick_tensor *x = LEAF(1), *root = SUM(SCALED(x, 2)), *out;
    wick_register_hook(C, x, scale_hook, &t);
    assert_true(wick_grad(C, &root, NULL, 1, &x, 1, 0, &out));
    ASSERT_VALUES(out, 20);
}

/* ---- nodes ---- */
static void node_scale(void *user, wick_context *c, wick_node *node, wick_tensor **grads, int n) {
    trail *t = user;
    note(t, (char)('0' + n));
    grads[0] = wick_mul_scalar(c, grads[0], wick_value_float(t->factor));
}
static void node_look(void *user, wick_context *c, wick_node *node, wick_tensor **grads, int n) { note(user, 'n'); }

static void test_node_hooks(void **state) {
    trail before = {.factor = 10}, after = {.factor = 100};
    wick_tensor *x = LEAF(1), *w = LEAF(3), *y = wick_mul(C, x, w);
    int64_t id = wick_node_register_prehook(C, wick_grad_fn(y), node_scale, &before);
    wick_node_register_hook(C, wick_grad_fn(y), node_scale, &after);
    wick_tensor *root = SUM(y);
    wick_backward_many(C, &root, NULL, 1, WICK_RETAIN_GRAPH);
    ASSERT_GRAD(x, 3000);
    ASSERT_GRAD(w, 10);
    assert_string_equal(before.text, "1"); /* one output, two inputs */
    assert_string_equal(after.text, "2");
    assert_true(wick_node_remove_hook(wick_grad_fn(y), id));
    wick_backward(C, root);
    ASSERT_GRAD(x, 3300);
}

static void accumulated(void *user, wick_context *c, wick_tensor *leaf) {
    note(user, 'A');
    assert_non_null(wick_grad_of(leaf));
}

static void test_accumulate_hooks(void **state) {
    trail t = {0};
    wick_tensor *x = LEAF(1), *y = SCALED(x, 2);
    assert_true(wick_register_accumulate_hook(C, x, accumulated, &t) > 0);
    wick_node_register_hook(C, wick_node_next(wick_grad_fn(y), 0, NULL), node_look, &t);
    backward_sum(y);
    assert_string_equal(t.text, "An");
    assert_int_equal(wick_register_accumulate_hook(C, y, accumulated, &t), 0);
    assert_failed("post accumulate grad hooks cannot be registered on non-leaf tensors");
}

/* ---- callbacks and passes within passes ---- */
static void at_end(void *user, wick_context *c) { note(user, 'e'); }
static void queue_at_end(void *user, wick_context *c, wick_tensor *leaf) {
    assert_true(wick_queue_callback(c, at_end, user));
}

static void test_callbacks(void **state) {
    trail t = {0};
    wick_tensor *x = LEAF(1), *y = LEAF(2);
    wick_register_accumulate_hook(C, x, queue_at_end, &t);
    wick_register_accumulate_hook(C, y, accumulated, &t);
    backward_sum(wick_mul(C, x, y));
    assert_string_equal(t.text, "Ae");
    assert_false(wick_queue_callback(C, at_end, &t));
    assert_failed("no backward pass is running on this context");
}

static wick_tensor *nested_hook(void *user, wick_context *c, wick_tensor *grad) {
    wick_modes modes = wick_set_grad_enabled(c, true);
    wick_tensor *inner = wick_sum(c, wick_mul(c, user, user), NULL);
    assert_true(wick_backward(c, inner));
    wick_modes_set(c, modes);
    return NULL;
}

static void test_backward_within_a_hook(void **state) {
    wick_tensor *x = LEAF(1), *z = LEAF(3), *y = SCALED(x, 2);
    wick_register_hook(C, y, nested_hook, z);
    wick_register_hook(C, y, nested_hook, x);
    backward_sum(y);
    ASSERT_GRAD(z, 6);
    ASSERT_GRAD(x, 2 + 2);
}

/* ---- saved tensors ---- */
typedef struct store {
    double values[8][8];
    int packed, unpacked, released;
    bool fail;
} store;

static void *pack(void *user, wick_context *c, wick_tensor *t) {
    store *s = user;
    assert_false(wick_requires_grad(t));
    if (s->fail) {
        wick_fail(c, WICK_ERROR(WICK_OUT_OF_MEMORY, "the store is full"));
        return NULL;
    }
    double *place = s->values[s->packed++];
    place[0] = (double)wick_numel(t);
    assert_ok(wick_tensor_to_host(c, t, place + 1, (size_t)wick_numel(t) * sizeof *place));
    return place;
}
static wick_tensor *unpack(void *user, wick_context *c, void *token) {
    double *place = token;
    ((store *)user)->unpacked++;
    return tensor_of(place + 1, (size_t)place[0]);
}
static void release(void *user, void *token) { ((store *)user)->released++; }

#define HOOKS(s) (&(wick_saved_hooks){sizeof(wick_saved_hooks), 0, pack, unpack, release, s})

static void test_saved_tensors_move_to_the_host_and_back(void **state) {
    store s = {0};
    wick_tensor *x = LEAF(1, 2), *w = LEAF(3, 4);
    wick_saved_hooks_push(C, HOOKS(&s));
    wick_tensor *y = wick_exp(C, wick_mul(C, x, w));
    wick_saved_hooks_pop(C);
    assert_int_equal(s.packed, 3);
    backward_sum(wick_mul(C, y, y)); /* not packed */
    ASSERT_GRAD(x, 2 * exp(6) * 3, 2 * exp(16) * 4);
    ASSERT_GRAD(w, 2 * exp(6) * 1, 2 * exp(16) * 2);
    assert_int_equal(s.unpacked, 3);
    assert_int_equal(s.released, 3);
}

static void test_packed_tensors_keep_their_history(void **state) {
    store s = {0};
    wick_scope scope = wick_scope_open(C); /* the graph must not outlive the store */
    wick_tensor *x = LEAF(2), *out;
    wick_saved_hooks_push(C, HOOKS(&s));
    wick_tensor *y = wick_mul(C, x, x), *root = SUM(wick_mul(C, y, wick_exp(C, y)));
    wick_saved_hooks_pop(C);
    wick_grad(C, &root, NULL, 1, &x, 1, WICK_CREATE_GRAPH, &out); /* (1 + y) e^y 2x */
    ASSERT_VALUES(out, 5 * exp(4) * 4);
    backward_sum(out); /* 2 (1 + y) e^y + 4x^2 (2 + y) e^y */
    ASSERT_GRAD(x, exp(4) * (2 * 5 + 16 * 6));
    wick_scope_close(C, scope);
}

static void test_packed_without_backward_is_released(void **state) {
    store s = {0};
    wick_saved_hooks_push(C, HOOKS(&s));
    wick_scope scope = wick_scope_open(C);
    wick_exp(C, LEAF(1));
    wick_scope_close(C, scope);
    wick_saved_hooks_pop(C);
    assert_int_equal(s.packed, 1);
    assert_int_equal(s.released, 1);
    assert_int_equal(s.unpacked, 0);
}

static void test_failing_pack(void **state) {
    store s = {.fail = true};
    wick_saved_hooks_push(C, HOOKS(&s));
    assert_null(wick_exp(C, LEAF(1)));
    wick_saved_hooks_pop(C);
    assert_failed("the store is full");
    assert_int_equal(s.released, 0);
}

static wick_tensor *unpack_nothing(void *user, wick_context *c, void *token) { return NULL; }

static void test_failing_unpack(void **state) {
    store s = {0};
    wick_saved_hooks hooks = *HOOKS(&s);
    hooks.unpack = unpack_nothing;
    wick_saved_hooks_push(C, &hooks);
    wick_tensor *y = wick_exp(C, LEAF(1));
    wick_saved_hooks_pop(C);
    assert_false(backward_sum(y));
    assert_failed("the unpack hook returned NULL");
    hooks.pack = NULL;
    assert_false(wick_saved_hooks_push(C, &hooks));
    assert_failed("need struct_size, pack and unpack");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_hook_replaces_the_gradient_of_a_leaf),
        CASE(test_hook_sees_the_whole_gradient),
        CASE(test_hooks_run_in_order_and_can_be_removed),
        CASE(test_hook_removes_itself_and_others),
        CASE(test_hook_needs_a_gradient),
        CASE(test_failing_hook),
        CASE(test_retained_gradient_comes_after_hooks),
        CASE(test_hooks_run_for_wick_grad),
        CASE(test_node_hooks),
        CASE(test_accumulate_hooks),
        CASE(test_callbacks),
        CASE(test_backward_within_a_hook),
        CASE(test_saved_tensors_move_to_the_host_and_back),
        CASE(test_packed_tensors_keep_their_history),
        CASE(test_packed_without_backward_is_released),
        CASE(test_failing_pack),
        CASE(test_failing_unpack),
    };
    return RUN(tests);
}
