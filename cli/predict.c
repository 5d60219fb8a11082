/* wick predict */
#include "cli.h"

#include <math.h>

/* Softmax at the predicted class. */
static double certainty(const float *y, int64_t n, int32_t best) {
    double sum = 0;
    for (int64_t k = 0; k < n; ++k) sum += exp((double)y[k] - y[best]);
    return 1 / sum;
}

static void print_class(const char *file, int64_t i, const wick_evaluation *r, bool json) {
    int32_t best = r->predicted[i];
    double p = certainty(r->values + i * r->outputs, r->outputs, best);
    printf(json ? "{\"file\": \"%s\", \"sample\": %lld, \"class\": %d, \"probability\": %.6f}\n" : "%s,%lld,%d,%.6f\n",
           file, (long long)i, best, p);
}

static void print_values(const char *file, int64_t i, const wick_evaluation *r, bool json) {
    printf(json ? "{\"file\": \"%s\", \"sample\": %lld, \"values\": [" : "%s,%lld,", file, (long long)i);
    for (int64_t k = 0; k < r->outputs; ++k)
        printf("%s%.9g", !k ? "" : json ? ", " : ",", r->values[i * r->outputs + k]);
    printf(json ? "]}\n" : "\n");
}

/* Names with quotes and the like are written so that both formats stay readable. */
static void plain_name(const char *path, char *out, size_t bytes) {
    size_t n = 0;
    for (; *path && n + 1 < bytes; ++path)
        out[n++] = strchr("\",\\", *path) || (unsigned char)*path < ' ' ? '_' : *path;
    out[n] = 0;
}

static void print_all(const char *path, const wick_evaluation *r, bool classes, bool json) {
    char name[PATH_BYTES];
    plain_name(path, name, sizeof name);
    for (int64_t i = 0; i < r->count; ++i) (classes ? print_class : print_values)(name, i, r, json);
}

static wick_status *predict_file(wick_experiment *e, const char *path, bool json) {
    wick_dataset *data = NULL;
    wick_evaluation result = WICK_EVALUATION_INIT;
    WICK_TRY(wick_experiment_read(e, path, NULL, false, &data));
    wick_status *status = wick_experiment_evaluate(e, data, &result);
    bool classes = wick_loss_has_classes(wick_loss_kind_of(wick_experiment_loss(e)));
    if (!status) print_all(path, &result, classes, json);
    wick_evaluation_free(&result);
    wick_dataset_release(data);
    return status;
}

static wick_status *predict(session *s, char **files, int n, bool json) {
    wick_experiment *e = NULL;
    wick_status *status = wick_experiment_create(s->c, s->config, WICK_EXPERIMENT_NO_DATA, &e);
    if (!status) status = session_load_model(s, e);
    if (!status && !json)
        printf(wick_loss_has_classes(wick_loss_kind_of(wick_experiment_loss(e))) ? "file,sample,class,probability\n"
                                                                                 : "file,sample,values\n");
    for (int i = 0; i < n && !status; ++i) status = predict_file(e, files[i], json);
    wick_experiment_free(e);
    return status;
}

int run_predict(int argc, char **argv) {
    options o;
    session s;
    if (!parse_options("predict", argc, argv, "sf", &o)) return EXIT_USAGE;
    if (argc - optind < 2) return usage_error("predict", "wanted a run folder or INI file, and files of samples");
    if (o.format && strcmp(o.format, "csv") != 0 && strcmp(o.format, "json") != 0)
        return usage_error("predict", "--format is '%s', wanted csv or json", o.format);
    int code = session_open(&s, argv[optind], &o);
    if (!code)
        code = report(predict(&s, argv + optind + 1, argc - optind - 1, o.format && !strcmp(o.format, "json")),
                      EXIT_FAILED);
    session_close(&s);
    return code;
}
