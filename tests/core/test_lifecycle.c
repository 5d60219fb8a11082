/* Loading and shutting down while other threads work. Meant for the thread sanitizer, too. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "plug.h"

#define GOOD "[plugin.x]\npath = " WICK_BUILD_DIR "/tests/plugins/good.so\n"

/* ---- a runtime on each of two threads ---- */
static void *live_and_die(void *user) {
    int *failures = user;
    for (int i = 0; i < 10; ++i) {
        wick_runtime *runtime = NULL;
        wick_context *c = NULL;
        if (wick_runtime_create(NULL, &runtime) || load_text(runtime, CPU_SECTION GOOD) ||
            wick_context_create(runtime, &c)) {
            ++*failures;
            continue;
        }
        wick_scope scope = wick_scope_open(c);
        const double values[] = {1, 2};
        wick_tensor *x =
            wick_tensor_from_host(c, values, WICK_F64, 1, (const wick_dim[]){2}, wick_runtime_host(runtime));
        *failures += wick_item(c, wick_sum(c, wick_mul(c, x, x), NULL)) != 5;
        wick_scope_close(c, scope);
        wick_context_destroy(c);
        wick_runtime_release(runtime);
    }
    return NULL;
}

static void test_two_runtimes_on_two_threads(void **state) {
    pthread_t threads[2];
    int failures[2] = {0, 0};
    for (int i = 0; i < 2; ++i) assert_int_equal(pthread_create(&threads[i], NULL, live_and_die, &failures[i]), 0);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
    assert_int_equal(failures[0] + failures[1], 0);
}

/* ---- one runtime: a thread computes, another loads ---- */
typedef struct computing {
    wick_context *context;
    atomic_bool stop, replaced;
    int rounds, wrong, found;
} computing;

/* neg is the CPU's kernel or the one that replaces it. */
static void *compute(void *user) {
    computing *w = user;
    wick_context *c = w->context;
    while (!atomic_load(&w->stop)) {
        wick_scope scope = wick_scope_open(c);
        const double one = 1;
        wick_tensor *x = wick_tensor_from_host(c, &one, WICK_F64, 1, (const wick_dim[]){1}, CPU);
        bool replaced = atomic_load(&w->replaced);
        double y = wick_item(c, wick_neg(c, x));
        w->wrong += y != 99 && (replaced || y != -1);
        w->wrong += wick_item(c, wick_add(c, x, x, NULL)) != 2;
        w->found += wick_op_find(RT, "my::late") != NULL;
        wick_set_requires_grad(c, x, true);
        wick_backward(c, wick_sum(c, wick_mul(c, x, x), NULL));
        w->wrong += wick_item(c, wick_grad_of(x)) != 2;
        wick_scope_close(c, scope);
        w->rounds++;
    }
    return NULL;
}

static wick_status *neg_kernel(const wick_kernel_call *call) {
    const wick_tensor *x = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, 0);
    for (int64_t i = 0; i < out->numel; ++i) doubles(out)[i] = 100 - doubles(x)[i];
    return NULL;
}
static bool late_compose(void *instance, wick_context *c, const wick_value *values, wick_value *rets) {
    return (rets[0] = V(wick_neg(c, values[0].as.tensor))).as.tensor != NULL;
}
static wick_status *register_neg(plug *p) {
    static const wick_kernel_row row = WICK_KERNEL_ROW("neg", neg_kernel, 0, WICK_KERNEL_CONTIGUOUS);
    return p->host->register_kernels(p->registrar, "cpu", &row, 1, p);
}
static wick_status *register_late(plug *p) {
    static const wick_operator_row row = {sizeof row, 0,   "my::late(Tensor x) -> Tensor", NULL, late_compose,
                                          NULL,       NULL};
    static const wick_dtype_row dtype = {sizeof dtype, 4, "my.late"};
    wick_dtype made;
    WICK_TRY(p->host->register_dtype(p->registrar, &dtype, &made));
    return p->host->register_operators(p->registrar, &row, 1, p);
}
static wick_status *register_device(plug *p) { return plug_device(p, NULL, 0); }

static void test_loading_while_another_thread_computes(void **state) {
    computing w = {.rounds = 0};
    pthread_t thread;
    assert_ok(wick_context_create_child(C, &w.context));
    assert_int_equal(pthread_create(&thread, NULL, compute, &w), 0);
    assert_ok(load_text(RT, GOOD));
    assert_ok(plug_in("device", register_device));
    assert_ok(plug_in("operators", register_late));
    assert_ok(plug_in("kernels", register_neg));
    atomic_store(&w.replaced, true);
    ASSERT_VALUES(CALL("my::late", V(T(1))), 99);
    nanosleep(&(struct timespec){0, 50000000}, NULL);
    atomic_store(&w.stop, true);
    pthread_join(thread, NULL);
    wick_context_join(C, w.context);
    assert_healthy();
    assert_int_equal(w.wrong, 0);
    assert_true(w.rounds > 0 && w.found > 0);
}

/* ---- two contexts of one runtime on two threads ---- */
static void test_two_contexts_on_two_threads(void **state) {
    computing w[2] = {{.rounds = 0}, {.rounds = 0}};
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) {
        assert_ok(wick_context_create_child(C, &w[i].context));
        assert_int_equal(pthread_create(&threads[i], NULL, compute, &w[i]), 0);
    }
    nanosleep(&(struct timespec){0, 100000000}, NULL);
    for (int i = 0; i < 2; ++i) {
        atomic_store(&w[i].stop, true);
        pthread_join(threads[i], NULL);
        wick_context_join(C, w[i].context);
        assert_int_equal(w[i].wrong, 0);
        assert_true(w[i].rounds > 0);
    }
    assert_healthy();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_runtimes_on_two_threads),
        PLUG_CASE(test_loading_while_another_thread_computes),
        PLUG_CASE(test_two_contexts_on_two_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
