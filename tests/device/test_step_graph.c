/* Steps as graphs on the reference device: replayed ones give what ordinary ones give, and whatever differs from the
 * capture falls back with a counted reason. */
#include "device_test.h"

#include <wick/graph.h>
#include <wick/stream.h>

static int program_begin(void **state) {
    open_runtime(CPU_SECTION PLUGIN("refdevice", "refdevice"), "ref");
    return 0;
}

static int program_finish(void **state) {
    close_runtime();
    return 0;
}

static int test_begin(void **state) {
    open_context();
    return 0;
}

static int test_finish(void **state) {
    close_context();
    return 0;
}

/* ---- a small training ---- */
typedef struct training {
    wick_device device;
    wick_tensor *weight, *input; /* scope-owned, made before the first step */
} training;

static wick_tensor *on(wick_device device, const float *values, int rows, int columns) {
    return wick_tensor_from_host(C, values, WICK_F32, SIZES(rows, columns), device);
}

static training training_on(wick_device device) {
    static const float weight[6] = {0.5f, -0.25f, 1, 0.75f, -1, 0.125f},
                       input[12] = {1, 2, 3, -1, 0, 1, 2, -2, 1, 0, 1, 3};
    training t = {device, on(device, weight, 3, 2), on(device, input, 4, 3)};
    wick_set_requires_grad(C, t.weight, true);
    return t;
}

/* Forward, backward, update; what it made is gone when it returns. */
static void train(training *t, int rows) {
    wick_scope scope = wick_scope_open(C);
    wick_tensor *x = wick_narrow(C, t->input, 0, 0, rows);
    wick_tensor *loss =
        wick_sum(C, wick_mul_scalar(C, wick_tanh(C, wick_mm(C, x, t->weight)), wick_value_float(0.5)), NULL);
    assert_true(wick_backward(C, loss));
    wick_modes modes = wick_no_grad(C);
    wick_sub_options rate = WICK_SUB_OPTIONS_INIT;
    rate.alpha = wick_value_float(0.125);
    wick_sub_(C, t->weight, wick_grad_of(t->weight), &rate);
    wick_modes_set(C, modes);
    wick_set_grad(C, t->weight, NULL);
    wick_scope_close(C, scope);
}

static void weights_of(const training *t, float out[6]) {
    assert_ok(wick_tensor_to_host(C, t->weight, out, 6 * sizeof *out));
}

static void assert_alike(const training *a, const training *b) {
    float x[6], y[6];
    weights_of(a, x), weights_of(b, y);
    for (int i = 0; i < 6; ++i) assert_float_equal(x[i], y[i], 1e-6);
}

static wick_step_graph *new_graph(void) {
    wick_step_graph *graph = NULL;
    assert_ok(wick_step_graph_create(RT, DEVICE, 2, &graph));
    return graph;
}

static wick_step_graph_info info_of(const wick_step_graph *graph) {
    wick_step_graph_info info = {.struct_size = sizeof info};
    wick_step_graph_describe(graph, &info);
    return info;
}

static void step(training *there, training *here, wick_step_graph *graph, int rows) {
    assert_true(wick_step_begin(C, graph));
    train(there, rows);
    assert_true(wick_step_end(C));
    train(here, rows);
}

static void test_replayed_steps_train_the_same(void **state) {
    training there = training_on(DEVICE), here = training_on(CPU);
    wick_step_graph *graph = new_graph();
    for (int i = 0; i < 10; ++i) {
        step(&there, &here, graph, 4);
        if (i == 5) assert_alike(&there, &here);
    }
    assert_alike(&there, &here);
    wick_step_graph_info info = info_of(graph);
    assert_string_equal(info.reason, "");
    assert_int_equal(info.steps, 10);
    assert_int_equal(info.captures, 1);
    assert_int_equal(info.replays, 7);
    assert_int_equal(info.fallbacks, 0);
    assert_true(info.launches > 4);
    wick_step_graph_destroy(graph);
}

static void test_another_shape_falls_back(void **state) {
    training there = training_on(DEVICE), here = training_on(CPU);
    wick_step_graph *graph = new_graph();
    for (int i = 0; i < 12; ++i) step(&there, &here, graph, i == 6 ? 3 : 4);
    assert_alike(&there, &here);
    wick_step_graph_info info = info_of(graph);
    assert_int_equal(info.fallbacks, 1);
    assert_non_null(strstr(info.reason, "with other shapes, numbers or memory"));
    assert_int_equal(info.captures, 2);
    assert_int_equal(info.replays, 3 + 4);
    wick_step_graph_destroy(graph);
}

/* In a replayed step nothing has run when the host looks: it must see the right value all the same. */
static void test_a_read_in_the_middle_sees_the_value(void **state) {
    training there = training_on(DEVICE), here = training_on(CPU);
    wick_step_graph *graph = new_graph();
    for (int i = 0; i < 6; ++i) step(&there, &here, graph, 4);
    assert_true(wick_step_begin(C, graph));
    train(&there, 4);
    train(&here, 4);
    assert_alike(&there, &here);
    assert_true(wick_step_end(C));
    wick_step_graph_info info = info_of(graph);
    assert_int_equal(info.fallbacks, 1);
    assert_non_null(strstr(info.reason, "the host reads a tensor"));
    for (int i = 0; i < 4; ++i) step(&there, &here, graph, 4);
    assert_alike(&there, &here);
    wick_step_graph_destroy(graph);
}

static void test_a_step_that_ends_early(void **state) {
    training there = training_on(DEVICE), here = training_on(CPU);
    wick_step_graph *graph = new_graph();
    for (int i = 0; i < 5; ++i) step(&there, &here, graph, 4);
    assert_true(wick_step_begin(C, graph));
    assert_true(wick_step_end(C));
    wick_step_graph_info info = info_of(graph);
    assert_non_null(strstr(info.reason, "the step ended early"));
    step(&there, &here, graph, 4);
    assert_alike(&there, &here);
    wick_step_graph_destroy(graph);
}

/* After a few vain captures it stays with ordinary steps. */
static void test_random_numbers_are_not_captured(void **state) {
    wick_step_graph *graph = new_graph();
    for (int i = 0; i < 8; ++i) {
        assert_true(wick_step_begin(C, graph));
        wick_scope scope = wick_scope_open(C);
        assert_non_null(wick_rand(C, DIMS(8), &(wick_rand_options){sizeof(wick_rand_options), WICK_F32, DEVICE}));
        wick_scope_close(C, scope);
        assert_true(wick_step_end(C));
    }
    wick_step_graph_info info = info_of(graph);
    assert_int_equal(info.replays, 0);
    assert_int_equal(info.fallbacks, 3);
    assert_non_null(strstr(info.reason, "cannot be captured"));
    wick_step_graph_destroy(graph);
}

static void test_misuse(void **state) {
    wick_step_graph *graph = NULL;
    assert_error(wick_step_graph_create(RT, CPU, 1, &graph), WICK_UNSUPPORTED, "has no interface \"graph\" 1");
    assert_false(wick_step_end(C));
    assert_failed(WICK_FAILED_PRECONDITION, "no step is open");
    graph = new_graph();
    assert_true(wick_step_begin(C, graph));
    assert_false(wick_step_begin(C, graph));
    assert_failed(WICK_FAILED_PRECONDITION, "a step is open already");
    assert_true(wick_step_end(C));
    wick_step_graph_destroy(graph);
    wick_step_graph_destroy(NULL);
}

#undef CASE
#define CASE(test) cmocka_unit_test_setup_teardown(test, test_begin, test_finish)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_replayed_steps_train_the_same),       CASE(test_another_shape_falls_back),
        CASE(test_a_read_in_the_middle_sees_the_value), CASE(test_a_step_that_ends_early),
        CASE(test_random_numbers_are_not_captured),     CASE(test_misuse),
    };
    return cmocka_run_group_tests(tests, program_begin, program_finish);
}
