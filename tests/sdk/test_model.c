/* wick/sdk/model.h: a model of a plugin as a module of [model] plugin = NAME. */
#define WICK_PLUGIN_STATIC
#include "sdk_test.h"

#include <wick/autograd.h>
#include <wick/model.h>
#include <wick/sdk/model.h>
#include <wick/sdk/plugin.h>

/* ---- the plugin: y = (x W + b) * scale, counting its calls ---- */
typedef struct affine {
    int64_t outputs;
    wick_dim inputs;
} affine;

static int destroyed;

static const wick_config_key keys[] = {{"model", "outputs", WICK_CONFIG_INT, NULL, "outputs"}};

static bool affine_create(void *instance, wick_context *c, const wick_model_request *request, void **out) {
    affine *m = calloc(1, sizeof *m);
    if (!m) return !wick_fail(c, WICK_ERROR(WICK_OUT_OF_MEMORY, "no memory"));
    m->inputs = request->sizes[0];
    if (wick_fail(c, wick_config_int(request->config, "model", "outputs", 2, &m->outputs))) return free(m), false;
    *out = m;
    return true;
}

static bool affine_tensor(void *instance, void *model, wick_context *c, uint64_t index, wick_model_tensor *out) {
    static const char *const names[] = {"block.linear.weight", "block.linear.bias", "scale", "calls", NULL};
    const affine *m = model;
    const int64_t sizes[] = {m->inputs, m->outputs};
    out->name = names[index];
    if (index == 0) out->tensor = wick_ones(c, sizes, 2, NULL);
    if (index == 1) out->flags = WICK_MODEL_ABSENT;
    if (index == 2) out->flags = WICK_MODEL_BUFFER, out->tensor = wick_full(c, NULL, 0, wick_value_float(3), NULL);
    if (index == 3) out->flags = WICK_MODEL_BUFFER | WICK_MODEL_TRANSIENT, out->tensor = wick_zeros(c, NULL, 0, NULL);
    return !wick_failed(c);
}

static wick_tensor *affine_forward(void *instance, void *model, wick_context *c, wick_tensor *const *t, wick_tensor *x,
                                   bool training) {
    if (training) wick_add_scalar_(c, t[3], wick_value_float(1), NULL);
    x = wick_matmul(c, x, t[0]);
    return wick_mul(c, t[1] ? wick_add(c, x, t[1], NULL) : x, t[2]);
}

static void affine_destroy(void *instance, void *model) {
    ++destroyed;
    free(model);
}

static const wick_model_interface interface = {
    sizeof interface, 0, "Affine", keys, COUNT(keys), affine_create, affine_tensor, affine_forward, affine_destroy};
static const wick_model_interface incomplete = {.struct_size = sizeof incomplete, .name = "Incomplete"};

static wick_status *create(const wick_host *host, wick_registrar *registrar, const wick_config *config, void **out) {
    static int instance;
    *out = &instance;
    WICK_TRY(host->publish(registrar, WICK_MODEL_FEATURE("affine"), WICK_MODEL_VERSION, &interface, &instance));
    return host->publish(registrar, WICK_MODEL_FEATURE("incomplete"), WICK_MODEL_VERSION, &incomplete, &instance);
}

static const wick_plugin_desc descriptor = {WICK_PLUGIN_DESC_BASE, .name = "affine", .create = create};
WICK_PLUGIN(affine, &descriptor)

/* ---- helpers ---- */
static int open_models(void **state) {
    fixture *f = calloc(1, sizeof *f);
    if (!f) return 1;
    open_fixture(f, "[plugin.cpu]\n");
    expect_ok(wick_plugin_register_static(f->runtime, "affine", wick_plugin_query_affine, NULL));
    destroyed = 0;
    *state = f;
    return 0;
}

static int close_models(void **state) {
    close_fixture(*state);
    free(*state);
    return 0;
}

static wick_module *model_of(fixture *f, const char *ini) {
    wick_config_file *config = NULL;
    const wick_dim sizes[] = {4};
    int ndim = -1;
    wick_dim out[WICK_MODEL_DIMS];
    expect_ok(wick_config_parse(ini, strlen(ini), "m.ini", NULL, &config));
    wick_module *m = wick_model_from_config(f->c, config, 1, sizes, &ndim, out);
    wick_config_free(config);
    if (m) assert_true(ndim == 1 && out[0] == 3);
    return m;
}

static void expect_error(fixture *f, const char *ini, const char *text) {
    assert_null(model_of(f, ini));
    wick_status *status = wick_status_take(f->c);
    if (!status || !strstr(wick_status_message(status), text))
        fail_msg("got '%s', wanted '%s'", wick_status_message(status), text);
    wick_status_free(status);
}

#define AFFINE "[model]\nplugin = affine\noutputs = 3\n"

/* ---- tests ---- */
static void test_forward(void **state) {
    fixture *f = *state;
    wick_module *m = model_of(f, AFFINE);
    expect_good(f->c);
    const float values[] = {1, 2, 3, 4};
    wick_tensor *x = wick_tensor_from_host(f->c, values, WICK_F32, 2, (wick_dim[]){1, 4}, f->host);
    wick_tensor *y = wick_module_forward(f->c, m, x);
    assert_true(wick_item(f->c, wick_sum(f->c, y, NULL)) == 90);
    assert_true(wick_item(f->c, wick_module_find(m, "calls")) == 1); /* the trial run was not training */
    wick_module_train(m, false);
    wick_module_forward(f->c, m, x);
    assert_true(wick_item(f->c, wick_module_find(m, "calls")) == 1);
    wick_backward(f->c, wick_sum(f->c, y, NULL));
    assert_true(wick_item(f->c, wick_sum(f->c, wick_grad_of(wick_module_find(m, "block.linear.weight")), NULL)) == 90);
    wick_module_release(m);
    assert_int_equal(destroyed, 1);
}

static bool note(void *user, const wick_module_entry *e) {
    char *text = user;
    const size_t used = strlen(text);
    snprintf(text + used, 256 - used, "%s%s%s ", e->name, e->buffer ? " buffer" : "",
             e->persistent ? "" : " transient");
    return true;
}

static void test_names_and_other_dtypes(void **state) {
    fixture *f = *state;
    wick_module *m = model_of(f, AFFINE);
    char text[256] = "";
    wick_module_walk(m, note, text);
    assert_string_equal(text, "scale buffer calls buffer transient block.linear.weight ");
    assert_int_equal(wick_module_parameters(m, NULL, 0), 1);
    assert_true(wick_module_to(f->c, m, (wick_device){0, 0}, WICK_F64)); /* replaces the tensors */
    const double values[] = {1, 1, 1, 1};
    wick_tensor *x = wick_tensor_from_host(f->c, values, WICK_F64, 2, (wick_dim[]){1, 4}, f->host);
    wick_tensor *y = wick_module_forward(f->c, m, x);
    assert_true(y && y->dtype == WICK_F64 && wick_item(f->c, wick_sum(f->c, y, NULL)) == 36);
    wick_module_release(m);
}

static void test_errors(void **state) {
    fixture *f = *state;
    expect_error(f, "[model]\nplugin = nobody\n", "no plugin has published the model 'nobody'");
    expect_error(f, "[model]\nplugin = incomplete\n", "the table of model 'incomplete' is not complete");
    expect_error(f, AFFINE "outptus = 3\n", "m.ini:4: [model] outptus: the model Affine has no such key");
    expect_error(f, AFFINE "layer1 = relu\n", "the model Affine has no such key");
    expect_error(f, "[model]\nplugin = affine\noutputs = many\n", "wanted an integer");
    expect_error(f, "[model]\nplugin = affine\noutputs = -3\n",
                 "m.ini:2: [model] plugin: tensor 0 of the model Affine: size -3");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_forward, open_models, close_models),
        cmocka_unit_test_setup_teardown(test_names_and_other_dtypes, open_models, close_models),
        cmocka_unit_test_setup_teardown(test_errors, open_models, close_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
