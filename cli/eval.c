/* wick eval */
#include "cli.h"

#include <math.h>

static void print_result(const wick_evaluation *r) {
    printf("samples %lld\nloss %.6g\n", (long long)r->count, r->loss);
    if (isfinite(r->accuracy)) printf("accuracy %.4f%%\n", 100 * r->accuracy);
    if (!r->confusion || r->classes > 20) return;
    printf("confusion (row: class, column: prediction)\n");
    for (int64_t i = 0; i < r->classes; ++i)
        for (int64_t k = 0; k < r->classes; ++k)
            printf("%5lld%s", (long long)r->confusion[i * r->classes + k], k + 1 < r->classes ? "" : "\n");
}

static wick_status *choose_data(wick_experiment *e, const options *o, wick_dataset **out) {
    if (o->data) return wick_experiment_read(e, o->data, o->labels, true, out);
    *out = wick_dataset_retain(wick_experiment_test_set(e));
    return *out ? NULL : WICK_ERROR(WICK_INVALID_ARGUMENT, "the run has no test data: name some with --data");
}

static wick_status *evaluate(session *s, const options *o) {
    wick_experiment *e = NULL;
    wick_dataset *data = NULL;
    wick_evaluation result = WICK_EVALUATION_INIT;
    wick_status *status = wick_experiment_create(s->c, s->config, o->data ? WICK_EXPERIMENT_NO_DATA : 0, &e);
    if (!status) status = session_load_model(s, e);
    if (!status) status = choose_data(e, o, &data);
    if (!status) status = wick_experiment_evaluate(e, data, &result);
    if (!status) print_result(&result);
    wick_evaluation_free(&result);
    wick_dataset_release(data);
    wick_experiment_free(e);
    return status;
}

int run_eval(int argc, char **argv) {
    options o;
    session s;
    if (!parse_options("eval", argc, argv, "sdl", &o)) return EXIT_USAGE;
    if (argc - optind != 1)
        return usage_error("eval", "wanted one run folder or INI file, got %d arguments", argc - optind);
    int code = session_open(&s, argv[optind], &o);
    if (!code) code = report(evaluate(&s, &o), EXIT_FAILED);
    session_close(&s);
    return code;
}
