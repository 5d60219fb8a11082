/* The first 20 steps of examples/digits.ini on plugin hip over the mock runtime, as usual and as graphs: their losses are
 * the CPU's. On a card: bench/gpu.sh losses. */
#include "files/files_test.h"

#include "device/device_test.h"

#include <wick/graph.h>
#include <wick/sdk/abi.h>
#include <wick/trainer.h>

/* Sanitizers are slow: less of everything then. */
#define STEPS (WICK_SANITIZER ? 8 : 20)
#define BATCH_SIZE (WICK_SANITIZER ? "4" : "16")
#define TOLERANCE 1e-4 /* relative */

static bool should_stop(void *user) { return (*(int *)user)-- == 0; }

/* Over the mock a kernel's threads run one after the other: small batches. */
static wick_config_file *config_of(const char *device, const char *graphs) {
    const wick_config_schema schemas[] = {wick_runtime_config_schema(), wick_train_config_schema()};
    const char *const settings[][2] = {{"runtime.plugins", "cpu, hip"},
                                       {"runtime.device", device},
                                       {"plugin.hip.driver", WICK_BUILD_DIR "/tests/libmock_hip.so"},
                                       {"plugin.hip.hipblaslt", "no"},
                                       {"plugin.hip.miopen", "no"},
                                       {"plugin.hip.graphs", graphs},
                                       {"train.out", scratch_folder},
                                       {"train.batch_size", BATCH_SIZE},
                                       {"train.log_steps", "1"}};
    wick_config_file *config = NULL;
    char set[512];
    assert_ok(wick_config_load(WICK_SOURCE_DIR "/examples/digits.ini", NULL, &config));
    for (size_t i = 0; i < sizeof settings / sizeof *settings; ++i) {
        snprintf(set, sizeof set, "%s=%s", settings[i][0], settings[i][1]);
        assert_ok(wick_config_set(config, set, schemas, 2));
    }
    assert_ok(wick_config_resolve_paths(config, schemas, 2));
    return config;
}

static void read_losses(double out[STEPS]) {
    size_t bytes;
    char *csv = read_bytes(scratch_path("steps.csv"), &bytes), *line = csv;
    for (int i = 0; i < STEPS; ++i) {
        line = strchr(line, '\n');
        assert_non_null(line);
        assert_int_equal(sscanf(++line, "%*d,%*d,%lf", &out[i]), 1);
    }
    free(csv);
}

static void train(const char *device, const char *graphs, double out[STEPS]) {
    wick_config_file *config = config_of(device, graphs);
    wick_experiment *e = NULL;
    wick_trainer *t = NULL;
    int steps_left = STEPS;
    wick_trainer_options o = WICK_TRAINER_OPTIONS_INIT;
    o.should_stop = should_stop, o.user = &steps_left;
    assert_ok(wick_runtime_create(NULL, &RT));
    assert_ok(wick_runtime_load(RT, config));
    open_context();
    assert_ok(wick_experiment_create(C, config, 0, &e));
    assert_ok(wick_trainer_create(e, &o, &t));
    assert_error(wick_trainer_run(t), WICK_CANCELLED, "stopped in epoch 1");
    if (wick_trainer_graph(t)) {
        wick_step_graph_info info = {.struct_size = sizeof info};
        wick_step_graph_describe(wick_trainer_graph(t), &info);
        if (info.replays < STEPS / 2) fail_msg("%d replays: %s", (int)info.replays, info.reason);
    }
    assert_int_equal(wick_trainer_graph(t) != NULL, !strcmp(graphs, "auto") && strcmp(device, "cpu") != 0);
    wick_trainer_free(t);
    wick_experiment_free(e);
    close_context();
    close_runtime();
    wick_config_free(config);
    read_losses(out);
}

static void compare(const char *graphs) {
    double wanted[STEPS], got[STEPS], most = 0;
    train("cpu", graphs, wanted);
    train("hip", graphs, got);
    for (int i = 0; i < STEPS; ++i) {
        double relative = fabs(got[i] - wanted[i]) / fabs(wanted[i]);
        if (!(relative <= TOLERANCE)) fail_msg("step %d: loss %.9g, wanted %.9g", i + 1, got[i], wanted[i]);
        most = fmax(most, relative);
    }
    print_message("largest relative difference %.2g\n", most);
    if (!WICK_SANITIZER) assert_true(wanted[STEPS - 1] < wanted[0] / 2); /* it learns */
}

static void steps_have_the_losses_of_the_cpu(void **state) { compare("off"); }
static void steps_as_graphs_have_them_too(void **state) { compare("auto"); }

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_have_the_losses_of_the_cpu),
                                       cmocka_unit_test(steps_as_graphs_have_them_too)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
