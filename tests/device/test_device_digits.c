/* An epoch of examples/digits.ini on the reference device: the training loss is the CPU's. */
#include "files/files_test.h"

#include "device_test.h"

#include <wick/sdk/abi.h>
#include <wick/trainer.h>

/* Sanitizers are slow: fewer samples then. */
#define SPLIT (WICK_SANITIZER ? "data.split=0.15" : "data.split=0.8")

/* The first epoch on a device. */
static wick_epoch_metrics train(const char *device) {
    const wick_config_schema schemas[] = {wick_runtime_config_schema(), wick_train_config_schema()};
    char name[64], out[128];
    snprintf(name, sizeof name, "runtime.device=%s", device);
    snprintf(out, sizeof out, "train.out=%s", scratch_folder);
    const char *const sets[] = {"runtime.plugins=cpu, refdevice", name, out, "train.epochs=1", SPLIT};
    wick_config_file *config = NULL;
    wick_experiment *e = NULL;
    wick_trainer *t = NULL;
    assert_ok(wick_config_load(WICK_SOURCE_DIR "/examples/digits.ini", NULL, &config));
    for (size_t i = 0; i < sizeof sets / sizeof *sets; ++i) assert_ok(wick_config_set(config, sets[i], schemas, 2));
    assert_ok(wick_config_resolve_paths(config, schemas, 2));
    assert_ok(wick_runtime_create(NULL, &RT));
    assert_ok(wick_runtime_load(RT, config));
    open_context();
    assert_ok(wick_experiment_create(C, config, 0, &e));
    assert_ok(wick_trainer_create(e, NULL, &t));
    assert_ok(wick_trainer_run(t));
    wick_epoch_metrics metrics = *wick_trainer_metrics(t, 0);
    wick_trainer_free(t);
    wick_experiment_free(e);
    close_context();
    close_runtime();
    wick_config_free(config);
    return metrics;
}

static void an_epoch_gives_the_loss_of_the_cpu(void **state) {
    wick_epoch_metrics wanted = train("cpu"), got = train("ref");
    print_message("cpu %.6f, ref %.6f (%.2f s)\n", wanted.train_loss, got.train_loss, got.seconds);
    if (!(fabs(got.train_loss - wanted.train_loss) <= 1e-4))
        fail_msg("train loss %.6f, wanted %.6f", got.train_loss, wanted.train_loss);
    assert_true(got.test_accuracy > (WICK_SANITIZER ? 0.2 : 0.85));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_epoch_gives_the_loss_of_the_cpu)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
