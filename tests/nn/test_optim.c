/* Optimizers and schedules against values recorded from PyTorch (tests/goldens). */
#include "files/files_test.h"

#include <math.h>
#include <wick/autograd.h>
#include <wick/loss.h>
#include <wick/ops.h>
#include <wick/optim.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define GOLDENS WICK_SOURCE_DIR "/tests/goldens/"
#define OPTIONS 4

/* ---- ten steps of each ---- */
static const struct golden {
    const char *id, *name;
    wick_option options[OPTIONS];
} goldens[] = {
    {"o0", "sgd", {{"lr", 0.1}}},
    {"o1", "sgd", {{"lr", 0.1}, {"momentum", 0.9}}},
    {"o2", "sgd", {{"lr", 0.1}, {"momentum", 0.9}, {"nesterov", 1}, {"weight_decay", 0.01}}},
    {"o3", "sgd", {{"lr", 0.1}, {"momentum", 0.9}, {"dampening", 0.3}}},
    {"o4", "sgd", {{"lr", 0.1}, {"maximize", 1}}},
    {"o5", "adam", {{"lr", 1e-3}}},
    {"o6", "adam", {{"lr", 0.01}, {"beta1", 0.8}, {"beta2", 0.9}, {"weight_decay", 0.1}}},
    {"o7", "adam", {{"lr", 0.01}, {"amsgrad", 1}}},
    {"o8", "adamw", {{"lr", 1e-3}}},
    {"o9", "adamw", {{"lr", 0.01}, {"weight_decay", 0.1}, {"amsgrad", 1}}},
};

static wick_tensor *recorded(wick_context *c, wick_safetensors *file, const struct golden *g, const char *name) {
    char key[32];
    snprintf(key, sizeof key, "%s.%s", g->id, name);
    return wick_safetensors_tensor(c, file, key);
}

static size_t option_count(const struct golden *g) {
    size_t n = 0;
    while (n < OPTIONS && g->options[n].name) ++n;
    return n;
}

/* mean((A w - Y)^2) + 0.1 sum(sin(w)) */
static bool backward(wick_context *c, wick_tensor *a, wick_tensor *y, wick_tensor *w) {
    wick_add_options tenth = WICK_ADD_OPTIONS_INIT;
    tenth.alpha = wick_value_float(0.1);
    wick_tensor *error = wick_mse_loss(c, wick_matmul(c, a, w), y, NULL);
    return wick_backward(c, wick_add(c, error, wick_sum(c, wick_sin(c, w), NULL), &tenth));
}

static void expect_close(const struct golden *g, int step, wick_context *c, wick_tensor *got, wick_tensor *wanted) {
    double a[12], b[12];
    expect_ok(wick_tensor_to_host(c, got, a, sizeof a));
    expect_ok(wick_tensor_to_host(c, wanted, b, sizeof b));
    for (int i = 0; i < 12; ++i)
        if (!(fabs(a[i] - b[i]) <= 1e-9 + 1e-7 * fabs(b[i])))
            fail_msg("%s (%s), step %d, element %d: got %.17g, wanted %.17g", g->id, g->name, step, i, a[i], b[i]);
}

/* A parameter; one that is not contiguous goes through the decomposition instead of the kernel. */
static wick_tensor *parameter(wick_context *c, wick_tensor *w, bool contiguous) {
    w = contiguous ? wick_clone(c, w, NULL) : wick_t(c, wick_contiguous(c, wick_t(c, w), NULL));
    return wick_set_requires_grad(c, wick_detach(c, w), true);
}

static void run_golden(wick_context *c, wick_safetensors *file, const struct golden *g, bool contiguous) {
    char name[8];
    wick_scope scope = wick_scope_open(c);
    wick_tensor *a = recorded(c, file, g, "A"), *y = recorded(c, file, g, "Y");
    wick_tensor *w = parameter(c, recorded(c, file, g, "w0"), contiguous);
    wick_optimizer *o = wick_optimizer_create(c, g->name, &w, 1, g->options, option_count(g));
    expect_ok(wick_status_take(c));
    for (int step = 1; step <= 10; ++step) {
        snprintf(name, sizeof name, "w%d", step);
        assert_true(wick_optimizer_zero_grad(c, o) && backward(c, a, y, w) && wick_optimizer_step(c, o));
        expect_close(g, step, c, w, recorded(c, file, g, name));
    }
    wick_optimizer_free(o);
    wick_scope_close(c, scope);
}

static void test_goldens(void **state) {
    fixture f = fixture_open();
    wick_safetensors *file = NULL;
    expect_ok(wick_safetensors_open(f.rt, GOLDENS "optimizers.safetensors", &file));
    for (size_t i = 0; i < COUNT(goldens); ++i)
        for (int contiguous = 0; contiguous < 2; ++contiguous) run_golden(f.c, file, &goldens[i], contiguous);
    wick_safetensors_close(file);
    fixture_close(&f);
}

/* ---- many parameters, in F32, kernel beside decomposition ---- */
static void test_lists(void **state) {
    fixture f = fixture_open();
    enum { N = 9 };
    bool same = false;
    wick_tensor *plain[N], *strided[N];
    for (int i = 0; i < N; ++i) {
        const wick_dim sizes[] = {3 + 7 * i, 5};
        wick_tensor *w = wick_randn(f.c, sizes, 2, NULL), *g = wick_randn(f.c, sizes, 2, NULL);
        plain[i] = parameter(f.c, w, true), strided[i] = parameter(f.c, w, false);
        wick_set_grad(f.c, plain[i], i == 4 ? NULL : g); /* one takes no part */
        wick_set_grad(f.c, strided[i], i == 4 ? NULL : g);
    }
    for (size_t k = 0; k < COUNT(goldens); ++k) {
        wick_optimizer *a =
            wick_optimizer_create(f.c, goldens[k].name, plain, N, goldens[k].options, option_count(&goldens[k]));
        wick_optimizer *b =
            wick_optimizer_create(f.c, goldens[k].name, strided, N, goldens[k].options, option_count(&goldens[k]));
        for (int step = 0; step < 3; ++step) assert_true(wick_optimizer_step(f.c, a) && wick_optimizer_step(f.c, b));
        for (int i = 0; i < N; ++i) {
            wick_allclose_options near = WICK_ALLCLOSE_OPTIONS_INIT;
            near.rtol = near.atol = 2e-5;
            assert_true(wick_allclose(f.c, plain[i], strided[i], &near, &same) && same);
        }
        wick_optimizer_free(a);
        wick_optimizer_free(b);
    }
    fixture_close(&f);
}

/* A parameter that joins later counts its own steps. */
static void test_steps_are_counted_apart(void **state) {
    fixture f = fixture_open();
    const wick_dim size = 4;
    wick_tensor *together[2], *alone[2], *g = wick_randn(f.c, &size, 1, NULL);
    wick_optimizer *apart[2];
    for (int i = 0; i < 2; ++i) {
        wick_tensor *w = wick_randn(f.c, &size, 1, NULL);
        together[i] = parameter(f.c, w, true), alone[i] = parameter(f.c, w, true);
        apart[i] = wick_adam_create(f.c, &alone[i], 1, NULL);
    }
    wick_optimizer *o = wick_adam_create(f.c, together, 2, NULL);
    for (int step = 0; step < 6; ++step)
        for (int i = 0; i < 2; ++i) {
            const bool joins = i == 0 || step >= 2;
            wick_set_grad(f.c, together[i], joins ? g : NULL);
            wick_set_grad(f.c, alone[i], joins ? g : NULL);
            assert_true(wick_optimizer_step(f.c, apart[i]) && (i == 0 || wick_optimizer_step(f.c, o)));
        }
    for (int i = 0; i < 2; ++i)
        assert_memory_equal(wick_data(together[i]), wick_data(alone[i]), (size_t)size * sizeof(float));
    for (int i = 0; i < 2; ++i) wick_optimizer_free(apart[i]);
    wick_optimizer_free(o);
    fixture_close(&f);
}

/* ---- state_dict ---- */
static void step_with(wick_context *c, wick_optimizer *o, wick_tensor *w, float gradient) {
    const wick_dim size = 4;
    const float g[] = {gradient, -gradient, 2 * gradient, 0.5f};
    wick_tensor *t = wick_tensor_from_host(c, g, WICK_F32, 1, &size, w->device);
    assert_true(wick_set_grad(c, w, t) && wick_optimizer_step(c, o));
}

static wick_tensor *ones(wick_context *c) {
    const wick_dim size = 4;
    return wick_set_requires_grad(c, wick_ones(c, &size, 1, NULL), true);
}

static void save_optimizer(wick_context *c, const wick_optimizer *o, const char *path) {
    wick_state *saved = NULL;
    expect_ok(wick_state_create(&saved));
    assert_true(wick_optimizer_state(c, o, "optimizer.", saved));
    expect_ok(wick_state_save(c, saved, path));
    wick_state_free(saved);
}

static void test_state(void **state) {
    fixture f = fixture_open();
    const char *path = scratch_path("optimizer.safetensors");
    wick_safetensors *file = NULL;
    wick_tensor *w = ones(f.c);
    wick_optimizer *a = wick_adamw_create(f.c, &w, 1, NULL);
    step_with(f.c, a, w, 0.3f);
    assert_true(wick_optimizer_set(a, 0, "lr", 0.25));
    save_optimizer(f.c, a, path);
    wick_tensor *copy = parameter(f.c, w, true);
    wick_optimizer *b = wick_adamw_create(f.c, &copy, 1, NULL);
    expect_ok(wick_safetensors_open(f.rt, path, &file));
    assert_non_null(wick_safetensors_find(file, "optimizer.state.0.exp_avg_sq"));
    assert_true(wick_optimizer_load_state(f.c, b, file, "optimizer."));
    step_with(f.c, a, w, -0.7f);
    step_with(f.c, b, copy, -0.7f);
    assert_memory_equal(wick_data(w), wick_data(copy), 4 * sizeof(float));
    wick_safetensors_close(file);
    wick_optimizer_free(a);
    wick_optimizer_free(b);
    fixture_close(&f);
}

/* ---- groups, options, refusals ---- */
static void test_groups_and_options(void **state) {
    fixture f = fixture_open();
    double value = 0;
    wick_tensor *a = ones(f.c), *b = ones(f.c);
    wick_optimizer *o = wick_sgd_create(f.c, &a, 1, NULL);
    assert_true(wick_optimizer_add_group(f.c, o, &b, 1, (wick_option[]){{"lr", 0.5}}, 1));
    assert_true(wick_optimizer_get(o, 0, "lr", &value) && value == 1e-3);
    assert_true(wick_optimizer_get(o, 1, "lr", &value) && value == 0.5);
    assert_false(wick_optimizer_get(o, 2, "lr", &value) || wick_optimizer_set(o, 0, "beta1", 1));
    assert_false(wick_optimizer_add_group(f.c, o, &b, 1, NULL, 0));
    expect_error(wick_status_take(f.c), WICK_INVALID_ARGUMENT, "sgd: parameter 0 is in another group already");
    assert_null(wick_optimizer_create(f.c, "adam", &a, 1, (wick_option[]){{"momentum", 0.5}}, 1));
    expect_error(wick_status_take(f.c), WICK_INVALID_ARGUMENT, "adam has no option 'momentum'; it has: lr, beta1");
    assert_null(wick_optimizer_create(f.c, "adan", &a, 1, NULL, 0));
    expect_error(wick_status_take(f.c), WICK_NOT_FOUND, "no optimizer is called 'adan'; there are: sgd, adam, adamw");
    wick_optimizer_free(o);
    fixture_close(&f);
}

static bool fail_forward(wick_function_call *call, wick_context *c, wick_tensor *const *in, int n, wick_tensor **out,
                         int m) {
    out[0] = wick_clone(c, in[0], NULL);
    return out[0] != NULL;
}
static bool fail_backward(wick_function_call *call, wick_context *c, wick_tensor *const *g, int n, wick_tensor **gin,
                          int m) {
    return !wick_fail(c, WICK_ERROR(WICK_UNSUPPORTED, "broken on purpose"));
}

static void test_partial_gradients_are_refused(void **state) {
    static const wick_function broken = {sizeof broken, 0, "Broken", fail_forward, fail_backward, NULL};
    fixture f = fixture_open();
    wick_tensor *params[] = {ones(f.c), ones(f.c)}, *out = NULL;
    wick_optimizer *o = wick_sgd_create(f.c, params, 2, NULL);
    assert_true(wick_function_apply(f.c, &broken, NULL, &params[0], 1, &out, 1));
    wick_tensor *sum = wick_add(f.c, wick_sum(f.c, out, NULL), wick_sum(f.c, wick_exp(f.c, params[1]), NULL), NULL);
    assert_false(wick_backward(f.c, sum));
    expect_error(wick_status_take(f.c), WICK_UNSUPPORTED, "broken on purpose");
    if (wick_grad_is_partial(params[0]) || wick_grad_is_partial(params[1])) {
        assert_false(wick_optimizer_step(f.c, o));
        expect_error(wick_status_take(f.c), WICK_FAILED_PRECONDITION,
                     "a failed backward left the gradient of parameter");
    }
    assert_true(wick_optimizer_zero_grad(f.c, o) && wick_optimizer_step(f.c, o));
    wick_optimizer_free(o);
    fixture_close(&f);
}

/* ---- schedules ---- */
static const struct schedule {
    const char *recorded, *name;
    wick_option options[OPTIONS];
} schedules[] = {
    {"StepLR", "step", {{"step_size", 3}, {"gamma", 0.5}}},
    {"ConstantLR", "constant", {{"factor", 0.3}, {"total_iters", 4}}},
    {"LinearLR", "linear", {{"start_factor", 0.2}, {"end_factor", 0.9}, {"total_iters", 6}}},
    {"ExponentialLR", "exponential", {{"gamma", 0.8}}},
    {"PolynomialLR", "polynomial", {{"total_iters", 8}, {"power", 2}}},
    {"CosineAnnealingLR", "cosine", {{"t_max", 7}, {"eta_min", 0.01}}},
    {"OneCycleLR", "one_cycle", {{"max_lr", 0.5}, {"total_steps", 20}}},
};

static void run_schedule(wick_context *c, const char *goldens_text, const struct schedule *k) {
    char key[64];
    double rate = 0;
    size_t n = 0;
    snprintf(key, sizeof key, "\"scheduler\": \"%s\"", k->recorded);
    const char *p = strstr(goldens_text, key);
    assert_non_null(p);
    p = strchr(strstr(p, "\"lr\": ["), '[') + 1;
    while (n < OPTIONS && k->options[n].name) ++n;
    wick_tensor *w = ones(c);
    wick_sgd_options sgd = WICK_SGD_OPTIONS_INIT;
    sgd.lr = 0.1;
    wick_optimizer *o = wick_sgd_create(c, &w, 1, &sgd);
    wick_scheduler *s = wick_scheduler_create(c, k->name, o, k->options, n);
    expect_ok(wick_status_take(c));
    for (int step = 0; step < 20; ++step, wick_scheduler_step(s)) {
        char *end;
        double wanted = strtod(p, &end);
        wick_optimizer_get(o, 0, "lr", &rate);
        if (!(fabs(rate - wanted) <= 1e-12 + 1e-9 * wanted))
            fail_msg("%s, step %d: got %.17g, wanted %.17g", k->name, step, rate, wanted);
        p = end + 1;
    }
    wick_scheduler_free(s);
    wick_optimizer_free(o);
}

static void test_schedules(void **state) {
    fixture f = fixture_open();
    size_t bytes;
    char *text = read_bytes(GOLDENS "schedulers.jsonl", &bytes);
    for (size_t i = 0; i < COUNT(schedules); ++i) run_schedule(f.c, text, &schedules[i]);
    free(text);
    fixture_close(&f);
}

static void test_warmup(void **state) {
    fixture f = fixture_open();
    const double wanted[] = {0.1, 0.2, 0.3, 0.3, 0.15};
    double rate = 0;
    wick_tensor *w = ones(f.c);
    wick_sgd_options sgd = WICK_SGD_OPTIONS_INIT;
    sgd.lr = 0.3;
    wick_optimizer *o = wick_sgd_create(f.c, &w, 1, &sgd);
    wick_scheduler *s =
        wick_scheduler_create(f.c, "step", o, (wick_option[]){{"warmup", 2}, {"step_size", 2}, {"gamma", 0.5}}, 3);
    for (size_t i = 0; i < COUNT(wanted); ++i, wick_scheduler_step(s)) {
        wick_optimizer_get(o, 0, "lr", &rate);
        assert_true(fabs(rate - wanted[i]) < 1e-12);
    }
    wick_scheduler_free(s);
    assert_null(wick_scheduler_create(f.c, "cosine", o, NULL, 0));
    expect_error(wick_status_take(f.c), WICK_INVALID_ARGUMENT, "cosine: t_max is missing");
    assert_null(wick_scheduler_create(f.c, "cosine", o, (wick_option[]){{"t_max", 0}}, 1));
    expect_error(wick_status_take(f.c), WICK_INVALID_ARGUMENT, "cosine: t_max is 0, wanted more than 0");
    wick_optimizer_free(o);
    fixture_close(&f);
}

/* ---- losses ---- */
static void test_losses(void **state) {
    static const struct {
        wick_loss_kind kind;
        double wanted;
    } cases[] = {/* of (0.5, 2, -1) and (0, 0.5, -1.2), by hand */
                 {WICK_LOSS_mse, (0.25 + 2.25 + 0.04) / 3},
                 {WICK_LOSS_l1, (0.5 + 1.5 + 0.2) / 3},
                 {WICK_LOSS_smooth_l1, (0.125 + 1.0 + 0.02) / 3},
                 {WICK_LOSS_huber, (0.125 + 1.0 + 0.02) / 3}};
    fixture f = fixture_open();
    const wick_dim n = 3, shape[] = {1, 3}, one = 1;
    const float x[] = {0.5f, 2, -1}, y[] = {0, 0.5f, -1.2f};
    const int64_t target[] = {1};
    wick_device host = wick_runtime_host(f.rt);
    wick_tensor *a = wick_tensor_from_host(f.c, x, WICK_F32, 1, &n, host),
                *b = wick_tensor_from_host(f.c, y, WICK_F32, 1, &n, host);
    for (size_t i = 0; i < COUNT(cases); ++i) {
        wick_loss *loss = wick_loss_create(f.c, cases[i].kind, NULL);
        assert_true(fabs(wick_item(f.c, wick_loss_compute(f.c, loss, a, b)) - cases[i].wanted) < 1e-6);
        wick_loss_free(loss);
    }
    wick_loss_options smooth = WICK_LOSS_OPTIONS_INIT;
    smooth.label_smoothing = 0.3;
    wick_loss *ce = wick_loss_create(f.c, WICK_LOSS_cross_entropy, &smooth);
    double z = log(exp(0.5) + exp(2) + exp(-1)), wanted = 0.7 * (z - 2) + 0.1 * (3 * z - 1.5);
    wick_tensor *got = wick_loss_compute(f.c, ce, wick_tensor_from_host(f.c, x, WICK_F32, 2, shape, host),
                                         wick_tensor_from_host(f.c, target, WICK_I64, 1, &one, host));
    assert_true(fabs(wick_item(f.c, got) - wanted) < 1e-5);
    wick_loss_free(ce);
    fixture_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_steps_are_counted_apart),
        cmocka_unit_test(test_state),
        cmocka_unit_test(test_groups_and_options),
        cmocka_unit_test(test_partial_gradients_are_refused),
        cmocka_unit_test(test_schedules),
        cmocka_unit_test(test_warmup),
        cmocka_unit_test(test_losses),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
