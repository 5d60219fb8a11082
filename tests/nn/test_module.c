/* Modules and layers: names, initial values, modes, state_dict, layers by text. */
#include "files/files_test.h"

#include <math.h>
#include <wick/layers.h>
#include <wick/ops.h>

static wick_module *small_net(wick_context *c) {
    wick_nn_conv_options padded = WICK_NN_CONV_OPTIONS_INIT;
    padded.padding[0] = padded.padding[1] = 1;
    return wick_nn_sequential(c,
                              (wick_module *[]){wick_nn_conv2d(c, 1, 4, 3, 3, &padded),
                                                wick_nn_batch_norm2d(c, 4, NULL), wick_nn_relu(c),
                                                wick_nn_max_pool2d(c, 2, 2, NULL), wick_nn_flatten(c, 1, -1),
                                                wick_nn_dropout(c, 0.5), wick_nn_linear(c, 64, 3, NULL)},
                              7);
}

/* ---- names ---- */
static bool append_name(void *user, const wick_module_entry *entry) {
    strcat(user, entry->name);
    strcat(user, entry->buffer ? "* " : " ");
    return true;
}

static void test_names(void **state) {
    fixture f = fixture_open();
    char names[512] = "", *text = NULL;
    wick_tensor *params[8];
    wick_module *m = small_net(f.c);
    assert_non_null(m);
    assert_true(wick_module_walk(m, append_name, names));
    assert_string_equal(names, "0.weight 0.bias 1.weight 1.bias 1.running_mean* 1.running_var* 1.num_batches_tracked* "
                               "6.weight 6.bias ");
    assert_int_equal(wick_module_parameters(m, params, 8), 6);
    assert_ptr_equal(params[0], wick_module_find(m, "0.weight"));
    assert_true(wick_requires_grad(params[0]) && !wick_requires_grad(wick_module_find(m, "1.running_mean")));
    assert_null(wick_module_find(m, "0.weights"));
    assert_int_equal(wick_module_parameter_elements(m), 36 + 4 + 4 + 4 + 192 + 3);
    expect_ok(wick_module_to_string(m, &text));
    assert_non_null(strstr(text, "  (0): Conv2d(1, 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))\n"));
    assert_non_null(strstr(text, "  (6): Linear(in_features=64, out_features=3, bias=True)\n)"));
    free(text);
    wick_module_release(m);
    fixture_close(&f);
}

static void test_shared_parameters_count_once(void **state) {
    fixture f = fixture_open();
    wick_module *linear = wick_nn_linear(f.c, 4, 4, NULL);
    wick_module *m = wick_nn_sequential(f.c, (wick_module *[]){wick_module_retain(linear), linear}, 2);
    assert_int_equal(wick_module_parameters(m, NULL, 0), 2);
    assert_int_equal(wick_module_parameter_elements(m), 20);
    wick_module_release(m);
    fixture_close(&f);
}

static void test_bad_children(void **state) {
    fixture f = fixture_open();
    wick_module *m = wick_nn_sequential(f.c, NULL, 0);
    assert_false(wick_module_add(f.c, m, "a.b", wick_nn_relu(f.c)));
    expect_error(wick_status_take(f.c), WICK_INVALID_ARGUMENT, "Sequential: the name 'a.b' is empty or has a dot");
    assert_true(wick_module_add(f.c, m, "a", wick_nn_relu(f.c)));
    assert_false(wick_module_add(f.c, m, "a", wick_nn_relu(f.c)));
    expect_error(wick_status_take(f.c), WICK_INVALID_ARGUMENT, "the name 'a' is taken");
    assert_null(wick_nn_sequential(f.c, (wick_module *[]){wick_nn_relu(f.c), wick_nn_dropout(f.c, 2)}, 2));
    expect_error(wick_status_take(f.c), WICK_INVALID_ARGUMENT, "Dropout: p is 2, wanted 0 to 1");
    wick_module_release(m);
    fixture_close(&f);
}

/* ---- initial values ---- */
static void test_initial_values(void **state) {
    fixture f = fixture_open();
    wick_module *m = wick_nn_linear(f.c, 100, 200, NULL), *e = wick_nn_embedding(f.c, 50, 40, NULL);
    const float *w = wick_data(wick_module_tensor(m, 0)), *v = wick_data(wick_module_tensor(e, 0));
    float largest = 0;
    double square = 0;
    for (int i = 0; i < 20000; ++i) largest = fmaxf(largest, fabsf(w[i]));
    for (int i = 0; i < 2000; ++i) square += v[i] * v[i] / 2000;
    assert_true(largest <= 0.1f && largest > 0.0999f); /* 1 / sqrt(100) */
    assert_true(fabs(square - 1) < 0.15);
    wick_module_release(m);
    wick_module_release(e);
    fixture_close(&f);
}

/* ---- modes ---- */
static void test_train_and_eval(void **state) {
    fixture f = fixture_open();
    const wick_dim sizes[] = {8, 1, 8, 8};
    wick_module *m = small_net(f.c);
    wick_tensor *x = wick_randn(f.c, sizes, 4, NULL), *batches = wick_module_find(m, "1.num_batches_tracked");
    wick_module_forward(f.c, m, x);
    assert_int_equal(wick_item_int(f.c, batches), 1);
    wick_module_train(m, false);
    assert_false(wick_module_is_training(wick_module_child(m, 5)));
    wick_tensor *y = wick_module_forward(f.c, m, x), *again = wick_module_forward(f.c, m, x);
    assert_memory_equal(wick_data(y), wick_data(again), 8 * 3 * sizeof(float));
    assert_int_equal(wick_item_int(f.c, batches), 1);
    assert_true(wick_backward(f.c, wick_sum(f.c, y, NULL)));
    assert_non_null(wick_grad_of(wick_module_find(m, "0.weight")));
    assert_true(wick_module_zero_grad(f.c, m));
    assert_null(wick_grad_of(wick_module_find(m, "0.weight")));
    assert_true(wick_module_requires_grad(f.c, m, false));
    assert_false(wick_requires_grad(wick_module_forward(f.c, m, x)));
    wick_module_release(m);
    fixture_close(&f);
}

static void test_to_dtype(void **state) {
    fixture f = fixture_open();
    wick_module *m = small_net(f.c);
    assert_true(wick_module_to(f.c, m, (wick_device){0, 0}, WICK_F64));
    assert_int_equal(wick_module_find(m, "0.weight")->dtype, WICK_F64);
    assert_true(wick_requires_grad(wick_module_find(m, "0.weight")) && wick_is_leaf(wick_module_find(m, "0.weight")));
    assert_int_equal(wick_module_find(m, "1.num_batches_tracked")->dtype, WICK_I64);
    wick_module_release(m);
    fixture_close(&f);
}

/* A forward in a loop frees what it made. */
static void test_forward_does_not_grow(void **state) {
    fixture f = fixture_open();
    const wick_dim sizes[] = {2, 1, 8, 8};
    wick_module *m = small_net(f.c);
    wick_tensor *x = wick_randn(f.c, sizes, 4, NULL);
    int64_t before = wick_runtime_live_objects(f.rt);
    for (int i = 0; i < 3; ++i) wick_drop(f.c, wick_module_forward(f.c, m, x));
    assert_int_equal(wick_runtime_live_objects(f.rt), before);
    wick_module_release(m);
    fixture_close(&f);
}

/* ---- state_dict ---- */
static void test_state_round_trip(void **state) {
    fixture f = fixture_open();
    const char *path = scratch_path("net.safetensors");
    wick_module *a = small_net(f.c), *b = small_net(f.c);
    expect_ok(wick_module_save(f.c, a, path));
    assert_memory_not_equal(wick_data(wick_module_find(a, "6.weight")), wick_data(wick_module_find(b, "6.weight")),
                            768);
    assert_true(wick_module_load(f.c, b, path, 0, NULL));
    assert_memory_equal(wick_data(wick_module_find(a, "6.weight")), wick_data(wick_module_find(b, "6.weight")), 768);
    assert_true(wick_requires_grad(wick_module_find(b, "6.weight")));
    wick_module_release(a);
    wick_module_release(b);
    fixture_close(&f);
}

static void test_state_that_does_not_fit(void **state) {
    fixture f = fixture_open();
    const char *path = scratch_path("misfit.safetensors");
    wick_load_report report = WICK_LOAD_REPORT_INIT;
    wick_module *a =
        wick_nn_sequential(f.c, (wick_module *[]){wick_nn_linear(f.c, 4, 3, NULL), wick_nn_linear(f.c, 3, 2, NULL)}, 2);
    wick_module *b = wick_nn_sequential(
        f.c, (wick_module *[]){wick_nn_linear(f.c, 4, 3, NULL), wick_nn_relu(f.c), wick_nn_linear(f.c, 3, 2, NULL)}, 3);
    wick_module *d = wick_nn_sequential(f.c, (wick_module *[]){wick_nn_linear(f.c, 4, 5, NULL)}, 1);
    expect_ok(wick_module_save(f.c, a, path));
    assert_false(wick_module_load(f.c, b, path, 0, NULL));
    expect_error(wick_status_take(f.c), WICK_INVALID_ARGUMENT,
                 "missing: 2.weight, 2.bias; unexpected: 1.bias, 1.weight");
    assert_true(wick_module_load(f.c, b, path, WICK_LOAD_PARTIAL, &report));
    assert_int_equal(report.missing_count, 2);
    assert_string_equal(report.unexpected[0], "1.bias");
    assert_memory_equal(wick_data(wick_module_find(a, "0.weight")), wick_data(wick_module_find(b, "0.weight")), 48);
    assert_false(wick_module_load(f.c, d, path, WICK_LOAD_PARTIAL, NULL));
    expect_error(wick_status_take(f.c), WICK_INVALID_ARGUMENT, "0.weight: got shape [3, 4], wanted [5, 4]");
    wick_load_report_free(&report);
    wick_module_release(a);
    wick_module_release(b);
    wick_module_release(d);
    fixture_close(&f);
}

/* ---- layers by text ---- */
static void expect_layer(wick_context *c, const char *spec, int ndim, const wick_dim *shape, const char *text) {
    char *got = NULL;
    wick_module *m = wick_layer_parse(c, spec, ndim, shape);
    expect_ok(wick_status_take(c));
    expect_ok(wick_module_to_string(m, &got));
    assert_string_equal(got, text);
    free(got);
    wick_module_release(m);
}

static void test_layer_text(void **state) {
    fixture f = fixture_open();
    const wick_dim image[] = {3, 8, 8}, flat[] = {64};
    expect_layer(f.c, "conv2d(16, kernel=3x5, padding=1)", 3, image,
                 "Conv2d(3, 16, kernel_size=(3, 5), stride=(1, 1), padding=(1, 1))");
    expect_layer(f.c, " linear ( 10 , bias = no ) ", 1, flat, "Linear(in_features=64, out_features=10, bias=False)");
    expect_layer(f.c, "leaky_relu(0.2)", 1, flat, "LeakyReLU(negative_slope=0.2)");
    expect_layer(f.c, "dropout(2.5e-1)", 1, flat, "Dropout(p=0.25)");
    expect_layer(f.c, "relu", 1, flat, "ReLU()");
    expect_layer(f.c, "relu()", 1, flat, "ReLU()");
    fixture_close(&f);
}

static void test_layer_text_errors(void **state) {
    static const struct {
        const char *spec, *message;
    } cases[] = {
        {"relo", "no layer is called 'relo'; there are: linear, conv1d"},
        {"", "'' is not a layer, wanted NAME or NAME(ARGUMENTS)"},
        {"linear(3", "does not end with its parenthesis"},
        {"linear", "out_features is missing, wanted: out_features, bias:bool=yes"},
        {"linear(3.5)", "out_features is '3.5', wanted an integer"},
        {"linear(3, 4)", "bias is '4', wanted yes or no"},
        {"linear(3, yes, 5)", "no place for '5'"},
        {"linear(3, out_features=4)", "out_features is given twice"},
        {"linear(size=3)", "unknown argument 'size', wanted: out_features"},
        {"dropout(1.5)", "Dropout: p is 1.5, wanted 0 to 1"},
        {"conv2d(3, 3)", "conv2d: got samples of shape [64], wanted channels x height x width"},
    };
    fixture f = fixture_open();
    const wick_dim flat[] = {64};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        assert_null(wick_layer_parse(f.c, cases[i].spec, 1, flat));
        wick_status *status = wick_status_take(f.c);
        expect_error(status, wick_status_code(status), cases[i].message);
    }
    fixture_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_shared_parameters_count_once),
        cmocka_unit_test(test_bad_children),
        cmocka_unit_test(test_initial_values),
        cmocka_unit_test(test_train_and_eval),
        cmocka_unit_test(test_to_dtype),
        cmocka_unit_test(test_forward_does_not_grow),
        cmocka_unit_test(test_state_round_trip),
        cmocka_unit_test(test_state_that_does_not_fit),
        cmocka_unit_test(test_layer_text),
        cmocka_unit_test(test_layer_text_errors),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
