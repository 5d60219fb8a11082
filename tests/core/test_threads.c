/* Threads: child contexts that share leaves, graphs and tensors. Meant for the thread sanitizer, too. */
#include <pthread.h>

#include "core_test.h"

#define THREADS 4
#define ROUNDS 50

typedef struct worker {
    pthread_t thread;
    wick_context *context;
    wick_tensor *leaf, *root;
    int index;
} worker;

static void run_all(worker *w, void *(*body)(void *)) {
    for (int i = 0; i < THREADS; ++i) {
        w[i].index = i;
        assert_ok(wick_context_create_child(C, &w[i].context));
    }
    for (int i = 0; i < THREADS; ++i) assert_int_equal(pthread_create(&w[i].thread, NULL, body, &w[i]), 0);
    for (int i = 0; i < THREADS; ++i) pthread_join(w[i].thread, NULL);
    for (int i = 0; i < THREADS; ++i) wick_context_join(C, w[i].context);
    assert_healthy();
}

/* ---- one leaf, a graph for each thread ---- */
static void *forward_and_backward(void *user) {
    worker *w = user;
    wick_context *c = w->context;
    for (int i = 0; i < ROUNDS; ++i) {
        wick_scope scope = wick_scope_open(c);
        wick_backward(c, wick_sum(c, wick_mul(c, w->leaf, w->leaf), NULL));
        wick_scope_close(c, scope);
    }
    return NULL;
}

static void test_threads_share_a_leaf(void **state) {
    worker w[THREADS] = {0};
    wick_tensor *x = LEAF(1, 2);
    for (int i = 0; i < THREADS; ++i) w[i].leaf = x;
    run_all(w, forward_and_backward);
    ASSERT_GRAD(x, 2 * THREADS * ROUNDS, 4 * THREADS * ROUNDS);
}

/* ---- one graph, kept ---- */
static void *backward_again(void *user) {
    worker *w = user;
    for (int i = 0; i < ROUNDS; ++i) wick_backward_many(w->context, &w->root, NULL, 1, WICK_RETAIN_GRAPH);
    return NULL;
}

static void test_threads_share_a_graph(void **state) {
    worker w[THREADS] = {0};
    wick_tensor *x = LEAF(1, 2), *root = SUM(wick_exp(C, wick_mul(C, x, x)));
    for (int i = 0; i < THREADS; ++i) w[i].root = root;
    run_all(w, backward_again);
    const double n = THREADS * ROUNDS;
    ASSERT_GRAD(x, n * 2 * exp(1), n * 4 * exp(4));
}

/* ---- graphs made by threads, joined by the parent ---- */
static void *forward(void *user) {
    worker *w = user;
    wick_scope_open(w->context);
    w->root = wick_keep(w->context,
                        wick_sum(w->context, wick_mul_scalar(w->context, w->leaf, wick_value_int(w->index)), NULL));
    return NULL;
}

static void test_parent_goes_on_with_the_threads_graphs(void **state) {
    worker w[THREADS] = {0};
    wick_tensor *x = LEAF(1), *sum = T(0);
    for (int i = 0; i < THREADS; ++i) w[i].leaf = x;
    run_all(w, forward);
    for (int i = 0; i < THREADS; ++i) sum = wick_add(C, sum, wick_scope_adopt(C, w[i].root), NULL);
    backward_sum(sum);
    ASSERT_GRAD(x, 0 + 1 + 2 + 3);
}

/* ---- release and registration elsewhere ---- */
static void *release_root(void *user) {
    wick_release(((worker *)user)->root);
    return NULL;
}

static void test_release_on_another_thread(void **state) {
    worker w[THREADS] = {0};
    wick_tensor *x = LEAF(1, 2);
    for (int i = 0; i < THREADS; ++i) {
        wick_scope scope = wick_scope_open(C);
        w[i].root = wick_keep(C, wick_exp(C, wick_mul(C, x, x)));
        wick_scope_close(C, scope);
    }
    run_all(w, release_root);
    assert_int_equal(wick_runtime_live_objects(RT), 1);
}

static void *make_and_pass_on(void *user) {
    worker *w = user;
    wick_scope_open(w->context);
    for (int i = 0; i < ROUNDS; ++i) {
        wick_tensor *t = wick_ones(w->context, DIMS(200), NULL);
        wick_release(wick_retain(t));
        wick_drop(w->context, t);
    }
    return NULL;
}

static void test_threads_allocate_at_the_same_time(void **state) {
    worker w[THREADS] = {0};
    run_all(w, make_and_pass_on);
}

static void *fail_in_thread(void *user) {
    worker *w = user;
    wick_scope_open(w->context);
    if (w->index % 2) wick_neg(w->context, NULL);
    return NULL;
}

static void test_errors_join(void **state) {
    worker w[THREADS] = {0};
    for (int i = 0; i < THREADS; ++i) {
        w[i].index = i;
        assert_ok(wick_context_create_child(C, &w[i].context));
        pthread_create(&w[i].thread, NULL, fail_in_thread, &w[i]);
    }
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(w[i].thread, NULL);
        wick_context_join(C, w[i].context);
    }
    assert_failed("neg: argument 0 (self) must be a tensor, got NULL");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_threads_share_a_leaf),
        CASE(test_threads_share_a_graph),
        CASE(test_parent_goes_on_with_the_threads_graphs),
        CASE(test_release_on_another_thread),
        CASE(test_threads_allocate_at_the_same_time),
        CASE(test_errors_join),
    };
    return RUN(tests);
}
