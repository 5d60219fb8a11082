/* Recorded learning rates of a schedule. */
#include <string.h>

#include "above.h"

static const struct {
    const char *cls, *name; /* PyTorch's and wick's */
} schedules[] = {
    {"StepLR", "step"},
    {"ConstantLR", "constant"},
    {"LinearLR", "linear"},
    {"ExponentialLR", "exponential"},
    {"PolynomialLR", "polynomial"},
    {"CosineAnnealingLR", "cosine"},
    {"OneCycleLR", "one_cycle"},
};

static bool find_schedule(const char *cls, wick_option_list *out) {
    const char *name = NULL;
    for (size_t i = 0; i < sizeof schedules / sizeof schedules[0] && !name; ++i)
        if (strcmp(schedules[i].cls, cls) == 0) name = schedules[i].name;
    for (size_t i = 0; name && wick_scheduler_describe(i, out); ++i)
        if (strcmp(out->name, name) == 0) return true;
    return false;
}

/* False: the first rate that differs was reported. */
static bool compare_rates(const parity_case *k, const wick_optimizer *o, wick_scheduler *s) {
    size_t step;
    json_t *rate;
    const char *expected, *got;
    json_array_foreach(json_object_get(k->json, "lr"), step, rate) {
        double lr = 0;
        wick_optimizer_get(o, 0, "lr", &lr);
        if (!compare_double(k, rate, lr, &expected, &got)) {
            report_verdict(k, FAILED, arena_format(k->arena, "step %zu", step), expected, got);
            return false;
        }
        wick_scheduler_step(s);
    }
    return true;
}

void run_scheduler(parity_case *k) {
    wick_option_list known = {.struct_size = sizeof known};
    wick_option options[PARITY_MAX_OPTIONS];
    size_t count;
    if (!find_schedule(k->name, &known) || !options_read(k, &known, options, &count)) {
        report_unsupported(k);
        return;
    }
    wick_sgd_options sgd = WICK_SGD_OPTIONS_INIT;
    sgd.lr = json_number_value(json_object_get(k->json, "base_lr"));
    sgd.momentum = 0.9; /* what OneCycleLR changes too */
    wick_tensor *weight = wick_tensor_from_host(k->p->c, &(double){0}, WICK_F64, 0, NULL, k->p->device);
    wick_optimizer *o = wick_sgd_create(k->p->c, &weight, 1, &sgd);
    wick_scheduler *s = o ? wick_scheduler_create(k->p->c, known.name, o, options, count) : NULL;
    if (!s)
        report_error(k, "a failure without an error");
    else if (compare_rates(k, o, s))
        report_verdict(k, PASSED, "", "", "");
    wick_scheduler_free(s);
    wick_optimizer_free(o);
}
