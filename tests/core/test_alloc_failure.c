/* Allocation number N fails, for every N: each run ends in success or in an error, and gives everything back. */
#include <unistd.h>

#include <wick/safetensors.h>

#include "core_test.h"

static struct { int64_t made, failing, outstanding; /* the allocation numbered `failing` fails; 0: none */ } heap;

static bool refuses(void) {
    if (++heap.made != heap.failing) return false;
    return true; /* a breakpoint here shows the allocation in question */
}

static void *allocate(void *user, size_t bytes) {
    void *p = refuses() ? NULL : malloc(bytes);
    heap.outstanding += p != NULL;
    return p;
}
static void *reallocate(void *user, void *old, size_t bytes) {
    void *p = refuses() ? NULL : realloc(old, bytes);
    heap.outstanding += p && !old;
    return p;
}
static void release(void *user, void *p) {
    heap.outstanding -= p != NULL;
    free(p);
}

/* ---- what is tried: it goes on after failures as a program would that checks at the end ---- */
static wick_tensor *many_shapes(wick_tensor *x, wick_tensor *w, wick_tensor *deep) {
    wick_tensor *y = wick_neg(C, wick_exp(C, wick_mul(C, x, w))), *parts[] = {y, x, wick_neg(C, y)};
    if (y) wick_mul_(C, wick_narrow(C, y, 0, 1, 1), wick_narrow(C, w, 0, 0, 1));
    wick_tensor *joined = wick_cat(C, parts, 3, NULL), *high = wick_mul(C, deep, deep);
    return wick_add(C, SUM(wick_tanh(C, joined)), SUM(high), NULL);
}

static bool square_forward(wick_function_call *call, wick_context *c, wick_tensor *const *in, int n, wick_tensor **out,
                           int m) {
    out[0] = wick_mul(c, in[0], in[0]);
    return wick_function_save(call, (wick_tensor *[]){in[0], out[0]}, 2);
}
static bool square_backward(wick_function_call *call, wick_context *c, wick_tensor *const *grads, int m,
                            wick_tensor **out, int n) {
    out[0] = SCALED(wick_mul(c, grads[0], wick_function_saved(call, c, 0)), 2);
    return true;
}

/* A custom function, a retained gradient that moves, a complex base written to through its real part, anomaly mode. */
static wick_tensor *rare_paths(wick_tensor *w) {
    static const wick_function square = {sizeof square, 0, "Square", square_forward, square_backward, NULL};
    wick_modes modes = wick_set_anomaly(C, true);
    wick_tensor *y = NULL, *z;
    wick_function_apply(C, &square, NULL, &w, 1, &y, 1);
    if (y) wick_retain_grad(C, y);
    if (y) wick_mul_(C, y, w);
    z = wick_to_dtype(C, y, WICK_C128, NULL);
    if (z) wick_mul_(C, wick_real(C, z), w);
    wick_modes_set(C, modes);
    return SUM(wick_real(C, wick_mul(C, z, wick_conj(C, z))));
}

static wick_tensor *look(void *user, wick_context *c, wick_tensor *grad) {
    return wick_mul_scalar(c, grad, wick_value_float(1));
}

static void *keep(void *user, wick_context *c, wick_tensor *t) { return wick_keep(c, t); }
static wick_tensor *give(void *user, wick_context *c, void *token) { return token; }
static void drop(void *user, void *token) { wick_release(token); }

static void training_step(wick_tensor *x, wick_tensor *w, wick_tensor *deep) {
    const wick_saved_hooks hooks = {sizeof hooks, 0, keep, give, drop, NULL};
    wick_register_hook(C, w, look, NULL);
    wick_tensor *loss = many_shapes(x, w, deep);
    if (loss) wick_backward_many(C, &loss, NULL, 1, WICK_CREATE_GRAPH);
    wick_saved_hooks_push(C, &hooks);
    wick_tensor *again = many_shapes(x, w, deep), *slope = NULL;
    wick_saved_hooks_pop(C);
    if (again) wick_grad(C, &again, NULL, 1, &w, 1, 0, &slope);
    wick_tensor *rare = rare_paths(w);
    if (rare) wick_backward(C, rare);
    wick_modes modes = wick_no_grad(C);
    if (!wick_failed(C)) wick_sub_(C, w, wick_grad_of(w), NULL);
    wick_modes_set(C, modes);
}

static void save(wick_tensor *w) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/wick_alloc_failure_%d.safetensors", (int)getpid());
    if (!wick_failed(C)) {
        const char *names[] = {"w"};
        wick_tensor *tensors[] = {w};
        wick_fail(C, wick_safetensors_save(C, path, names, tensors, 1, NULL, 0));
    }
    unlink(path);
}

static void run_once(void) {
    wick_scope scope = wick_scope_open(C);
    wick_tensor *x = T(1, 2), *w = LEAF(3, 4), *deep = NULL;
    wick_set_default_dtype(C, WICK_F64);
    deep = wick_set_requires_grad(C, wick_ones(C, DIMS(1, 1, 1, 1, 1, 2, 1, 64), NULL), true);
    if (x && w && deep) training_step(x, w, deep);
    if (w) {
        save(w);
        wick_set_grad(C, w, NULL); /* made with create_graph it leads back to w: a circle, as in PyTorch */
        if (deep) wick_set_grad(C, deep, NULL);
    }
    wick_scope_close(C, scope);
}

/* ---- one call of einsum: nothing but what it allocates itself can fail ---- */
static struct { int64_t made, failing; } contraction;

static void contract_once(void) {
    wick_scope scope = wick_scope_open(C);
    wick_tensor *operands[] = {MATRIX(2, 3, 1, 2, 3, 4, 5, 6), MATRIX(3, 2, 1, 2, 3, 4, 5, 6), LEAF(1, 10)};
    assert_healthy();
    heap.made = 0, heap.failing = contraction.failing;
    wick_tensor *y = wick_einsum(C, "ij,jk,k->ki", operands, 3, NULL);
    contraction.made = heap.made, heap.failing = 0;
    if (y)
        ASSERT_VALUES(y, 22, 49, 280, 640);
    else
        assert_true(wick_failed(C));
    wick_scope_close(C, scope);
}

static void (*body)(void) = run_once;

/* From the runtime's first byte to its last; true if it succeeded. */
static bool whole_life(int64_t failing, bool load) {
    const wick_allocator counting = {allocate, reallocate, release, NULL};
    wick_runtime_options options = WICK_RUNTIME_OPTIONS_INIT;
    options.allocator = &counting;
    heap.made = heap.outstanding = 0;
    heap.failing = load ? failing : 0;
    wick_status *status = wick_runtime_create(&options, &RT);
    if (!status) {
        status = load_text(RT, CPU_SECTION);
        CPU = wick_runtime_host(RT);
        if (!status) status = wick_context_create(RT, &C);
        if (!load) heap.made = 0, heap.failing = failing;
        if (!status) {
            body();
            status = wick_status_take(C);
            wick_context_destroy(C);
            int64_t live = wick_runtime_live_objects(RT);
            if (live) fail_msg("allocation %lld: %lld objects are alive", (long long)failing, (long long)live);
        }
        wick_runtime_release(RT);
    }
    if (heap.outstanding)
        fail_msg("allocation %lld: %lld were not returned", (long long)failing, (long long)heap.outstanding);
    bool ok = !status;
    if (!load && wick_status_code(status) && wick_status_code(status) != WICK_OUT_OF_MEMORY)
        fail_msg("allocation %lld: %s", (long long)failing, wick_status_message(status));
    wick_status_free(status);
    return ok;
}

static void test_nothing_fails(void **state) {
    assert_true(whole_life(0, false));
    assert_true(heap.made > 100);
}

/* Once the number is higher than all that are made, all is well again. */
static void test_each_allocation_of_a_step_fails(void **state) {
    assert_true(whole_life(0, false));
    int64_t all = heap.made, failures = 0;
    for (int64_t n = 1; n <= all; ++n) failures += !whole_life(n, false);
    assert_true(failures > 50);
    assert_true(whole_life(all + 1, false));
}

static void test_allocations_of_loading_fail(void **state) {
    assert_true(whole_life(0, true));
    for (int64_t n = 1; n <= 40; ++n) whole_life(n, true);
}

static int choose_einsum(void **state) { return body = contract_once, 0; }
static int choose_step(void **state) { return body = run_once, 0; }

static void test_each_allocation_of_einsum_fails(void **state) {
    contraction.failing = 0;
    assert_true(whole_life(0, false));
    int64_t all = contraction.made;
    assert_true(all > 10);
    for (int64_t n = 1; n <= all; ++n) {
        contraction.failing = n;
        if (whole_life(0, false)) fail_msg("einsum succeeds although its allocation %lld failed", (long long)n);
    }
    contraction.failing = all + 1;
    assert_true(whole_life(0, false));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_fails),
        cmocka_unit_test(test_each_allocation_of_a_step_fails),
        cmocka_unit_test(test_allocations_of_loading_fail),
        cmocka_unit_test_setup_teardown(test_each_allocation_of_einsum_fails, choose_einsum, choose_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
