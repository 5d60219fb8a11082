/* Experiments and trainers on a tiny made-up data set: what is learned, what is left behind, and going on. */
#include "files/files_test.h"

#include <math.h>
#include <sys/stat.h>
#include <wick/model.h>
#include <wick/report.h>
#include <wick/trainer.h>

/* Two classes on a plane, told apart by the sign of a product: not linearly. */
static void write_data(const char *path) {
    FILE *file = fopen(path, "w");
    unsigned state = 1;
    for (int i = 0; i < 240; ++i) {
        state = state * 1103515245u + 12345u;
        double x = (double)(state >> 16 & 255) / 128 - 1;
        state = state * 1103515245u + 12345u;
        double y = (double)(state >> 16 & 255) / 128 - 1;
        fprintf(file, "%.6f,%.6f,%d\n", x, y, x * y > 0);
    }
    fclose(file);
}

static const char base[] = "[runtime]\nseed = 4\n[plugin.cpu]\n"
                           "[data]\ntrain = data.csv\nsplit = 0.75\nworkers = 2\n"
                           "[model]\nlayer1 = linear(32)\nlayer2 = batchnorm1d\nlayer3 = relu\nlayer4 = dropout(0.1)\n"
                           "layer5 = linear(2)\n"
                           "[optimizer]\ntype = adam\nlr = 0.02\n[train]\nepochs = 8\nbatch_size = 16\n";

static wick_config_file *config_of(const char *out, const char *const *sets) {
    const wick_config_schema schemas[] = {wick_runtime_config_schema(), wick_train_config_schema()};
    wick_config_file *config = NULL;
    char name[512], assignment[512];
    snprintf(name, sizeof name, "%s/run.ini", scratch_folder);
    expect_ok(wick_config_parse(base, strlen(base), name, NULL, &config));
    snprintf(assignment, sizeof assignment, "train.out=%s/%s", scratch_folder, out);
    expect_ok(wick_config_set(config, assignment, schemas, 2));
    for (; sets && *sets; ++sets) expect_ok(wick_config_set(config, *sets, schemas, 2));
    expect_ok(wick_config_check(config, schemas, 2, 0));
    return config;
}

/* Stops after so many batches. */
typedef struct watcher {
    int batches_left;
    wick_epoch_metrics last;
    int epochs_seen;
} watcher;

static bool should_stop(void *user) { return ((watcher *)user)->batches_left-- == 0; }

static void on_event(void *user, const wick_train_event *event) {
    watcher *w = user;
    if (event->kind != WICK_TRAIN_EPOCH) return;
    w->last = *event->metrics;
    w->epochs_seen++;
}

static wick_status *train(fixture *f, const wick_config_file *config, bool resume, watcher *w) {
    wick_experiment *e = NULL;
    wick_trainer *t = NULL;
    wick_trainer_options o = WICK_TRAINER_OPTIONS_INIT;
    o.resume = resume, o.event = on_event, o.should_stop = should_stop, o.user = w;
    wick_status *status = wick_experiment_create(f->c, config, 0, &e);
    if (!status) status = wick_trainer_create(e, &o, &t);
    if (!status) status = wick_trainer_run(t);
    wick_trainer_free(t);
    wick_experiment_free(e);
    return status;
}

static char *run_file(const char *run, const char *name, size_t *bytes) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s/%s", scratch_folder, run, name);
    return read_bytes(path, bytes);
}

static void expect_same_file(const char *a, const char *b, const char *name) {
    size_t n, m;
    char *x = run_file(a, name, &n), *y = run_file(b, name, &m);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
    free(x);
    free(y);
}

/* ---- training ---- */
static void test_learns(void **state) {
    fixture f = fixture_open();
    size_t bytes;
    watcher w = {.batches_left = -1};
    wick_config_file *config = config_of("learned", (const char *const[]){"train.epochs=40", NULL});
    expect_ok(train(&f, config, false, &w));
    assert_int_equal(w.epochs_seen, 40);
    assert_true(w.last.test_accuracy > 0.85);
    char *csv = run_file("learned", "metrics.csv", &bytes), *html = run_file("learned", "report.html", &bytes);
    assert_non_null(
        strstr(csv, "epoch,train_loss,train_accuracy,test_loss,test_accuracy,lr,seconds,samples_per_second\n1,"));
    assert_non_null(strstr(html, "Confusion matrix"));
    assert_non_null(strstr(html, "<polyline class=\"test\""));
    assert_non_null(strstr(html, "(4): Linear(in_features=32, out_features=2, bias=True)"));
    assert_null(strstr(html, "http://"));
    assert_null(strstr(html, "https://"));
    free(csv);
    free(html);
    wick_config_free(config);
    fixture_close(&f);
}

/* The saved model gives what the last line of the metrics says. */
static void test_saved_model(void **state) {
    fixture f = fixture_open();
    watcher w = {.batches_left = -1};
    wick_experiment *e = NULL;
    wick_evaluation result = WICK_EVALUATION_INIT;
    wick_config_file *config = config_of("saved", (const char *const[]){"train.save=last", NULL});
    expect_ok(train(&f, config, false, &w));
    expect_ok(wick_experiment_create(f.c, config, 0, &e));
    assert_true(wick_module_load(f.c, wick_experiment_module(e), scratch_path("saved/model.safetensors"), 0, NULL));
    expect_ok(wick_experiment_evaluate(e, wick_experiment_test_set(e), &result));
    assert_int_equal(result.count, 60);
    assert_true(result.loss == w.last.test_loss && result.accuracy == w.last.test_accuracy);
    assert_int_equal(result.confusion[0] + result.confusion[1] + result.confusion[2] + result.confusion[3], 60);
    wick_evaluation_free(&result);
    wick_experiment_free(e);
    wick_config_free(config);
    fixture_close(&f);
}

/* Losses of steps: single ones, means, the same after a stop; their mean is the epoch's. */
static double step_losses(const char *run, double *out, int count) {
    size_t bytes;
    char *csv = run_file(run, "steps.csv", &bytes), *line = strchr(csv, '\n');
    double sum = 0, samples = 0;
    assert_memory_equal(csv, "step,epoch,loss,lr\n", 19);
    for (int i = 0; i < count; ++i, line = strchr(line + 1, '\n')) {
        int step, epoch;
        assert_int_equal(sscanf(line + 1, "%d,%d,%lf,", &step, &epoch, &out[i]), 3);
        assert_int_equal(epoch, 1 + (step - 1) / 12);
        double n = step % 12 ? 16 : 4; /* 180 samples: the last batch has 4 */
        if (epoch == 2) sum += n * out[i], samples += n;
    }
    assert_string_equal(line, "\n");
    free(csv);
    return sum / samples;
}

static void test_losses_of_steps(void **state) {
    static const char *const each[] = {"train.epochs=2", "train.log_steps=1", NULL}, *const some[] = {
                                                                                         "train.epochs=2",
                                                                                         "train.log_steps=5", NULL};
    fixture f = fixture_open();
    watcher w = {.batches_left = -1};
    double single[24], mean[6];
    wick_config_file *config = config_of("steps", each);
    expect_ok(train(&f, config, false, &w));
    assert_float_equal(step_losses("steps", single, 24), w.last.train_loss, 1e-7);
    wick_config_free(config);
    config = config_of("some_steps", some); /* lines at 5, 10, 12, 17, 22, 24 */
    w.batches_left = 14;
    expect_error(train(&f, config, false, &w), WICK_CANCELLED, "stopped in epoch 2");
    step_losses("some_steps", mean, 3);
    w.batches_left = -1;
    expect_ok(train(&f, config, true, &w));
    step_losses("some_steps", mean, 6);
    assert_float_equal(mean[2], (16 * single[10] + 4 * single[11]) / 20, 1e-6);
    assert_float_equal(mean[3], (single[12] + single[13] + single[14] + single[15] + single[16]) / 5, 1e-6);
    wick_config_free(config);
    fixture_close(&f);
}

/* Stopped in the middle of an epoch, between two, and at once: the end is the same, bit by bit. */
static void test_resume_is_exact(void **state) {
    static const int stops[] = {19, 24, 0};
    static const char *const sets[] = {"scheduler.type=one_cycle", "train.epochs=4", NULL};
    fixture f = fixture_open();
    watcher w = {.batches_left = -1};
    wick_config_file *whole = config_of("whole", sets);
    expect_ok(train(&f, whole, false, &w));
    wick_epoch_metrics wanted = w.last;
    for (int i = 0; i < 3; ++i) {
        char name[16];
        snprintf(name, sizeof name, "cut%d", i);
        wick_config_file *config = config_of(name, sets);
        w = (watcher){.batches_left = stops[i]};
        expect_error(train(&f, config, false, &w), WICK_CANCELLED, "stopped in epoch");
        w.batches_left = -1;
        expect_ok(train(&f, config, true, &w));
        assert_true(w.last.train_loss == wanted.train_loss && w.last.test_loss == wanted.test_loss);
        assert_true(w.last.train_accuracy == wanted.train_accuracy && w.last.lr == wanted.lr);
        expect_same_file("whole", name, "model.safetensors");
        wick_config_free(config);
    }
    wick_config_free(whole);
    fixture_close(&f);
}

static void test_regression(void **state) {
    static const char *const sets[] = {"loss.type=mse", "model.layer5=linear(1)", "train.epochs=2", NULL};
    fixture f = fixture_open();
    watcher w = {.batches_left = -1};
    wick_config_file *config = config_of("values", sets);
    expect_ok(train(&f, config, false, &w));
    assert_true(isnan(w.last.test_accuracy) && isfinite(w.last.test_loss));
    wick_config_free(config);
    fixture_close(&f);
}

/* ---- refusals ---- */
static void expect_refused(const char *set, const char *message) {
    fixture f = fixture_open();
    watcher w = {.batches_left = -1};
    wick_config_file *config = config_of("refused", (const char *const[]){set, NULL});
    wick_status *status = train(&f, config, false, &w);
    expect_error(status, wick_status_code(status), message);
    wick_config_free(config);
    fixture_close(&f);
}

static void test_refusals(void **state) {
    static const struct {
        const char *set, *message;
    } cases[] = {
        {"model.layer3=relo", "[model] layer3: for samples of shape [32]: no layer is called 'relo'"},
        {"model.layer3=conv2d(3, 3)",
         "[model] layer3: for samples of shape [32]: conv2d: got samples of shape [32], wanted"},
        {"model.layer5=linear(1)",
         "run.ini: [model] gives shape [1] for a sample, wanted [2]: the data has that many classes"},
        {"model.input=3", "data.csv: got samples of shape [2], wanted [3]"},
        {"model.layerX=relu", "[model] layerX: unknown key"},
        {"optimizer.momentum=0.5", "[optimizer] momentum: type adam has no such option"},
        {"optimizer.type=adan", "[optimizer] type: no optimizer is called 'adan'"},
        {"scheduler.type=cosin", "[scheduler] type: no schedule is called 'cosin'"},
        {"loss.type=crossentropy", "[loss] type: no loss is called 'crossentropy'; there are: cross_entropy"},
        {"loss.type=mse", "wanted [1]: the data has that many values a sample"},
        {"data.split=0", "[data] split: got 0, wanted more than 0"},
        {"data.train=nothing.csv", "nothing.csv: cannot open"},
        {"data.format=idx", "[data] names no file with its labels"},
        {"data.targets=values", "but the loss cross_entropy wants classes"},
        {"train.batch_size=0", "batch_size"},
        {"runtime.device=abacus", "no device \"abacus\""},
        {"optimizer.lr=1e30", "the loss is not finite after epoch 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) expect_refused(cases[i].set, cases[i].message);
}

static void test_nothing_to_resume(void **state) {
    fixture f = fixture_open();
    watcher w = {.batches_left = -1};
    wick_config_file *config = config_of("fresh", NULL);
    expect_error(train(&f, config, true, &w), WICK_NOT_FOUND, "cannot resume: ");
    wick_config_free(config);
    fixture_close(&f);
}

/* ---- setup ---- */
static int setup(void **state) {
    if (scratch_setup(state)) return -1;
    write_data(scratch_path("data.csv"));
    return chdir(scratch_folder);
}

static int teardown(void **state) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", scratch_folder);
    return chdir("/") || system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_learns),
        cmocka_unit_test(test_saved_model),
        cmocka_unit_test(test_losses_of_steps),
        cmocka_unit_test(test_resume_is_exact),
        cmocka_unit_test(test_regression),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_nothing_to_resume),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
