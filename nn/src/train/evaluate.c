/* One pass of a model over a data set. */
#include "experiment.h"

#include <math.h>

void wick_evaluation_free(wick_evaluation *e) {
    free(e->confusion);
    free(e->values);
    free(e->predicted);
    *e = (wick_evaluation)WICK_EVALUATION_INIT;
}

typedef struct pass {
    wick_experiment *e;
    wick_dataset_info info;
    wick_evaluation *out;
    double loss; /* sum over samples */
    int64_t done, correct;
} pass;

static bool make_room(wick_context *c, pass *p, int64_t outputs) {
    wick_evaluation *out = p->out;
    size_t count = (size_t)out->count;
    out->outputs = outputs;
    out->values = malloc(count * (size_t)outputs * sizeof *out->values + 1);
    out->predicted = malloc(count * sizeof *out->predicted + 1);
    if (p->info.classes) {
        out->classes = outputs > p->info.classes ? outputs : p->info.classes;
        out->confusion = calloc((size_t)(out->classes * out->classes), sizeof *out->confusion);
    }
    if (out->values && out->predicted && (out->confusion || !p->info.classes)) return true;
    return !FAIL(c, OUT_OF_MEMORY, "no memory for %lld results", (long long)out->count);
}

static int32_t largest(const float *values, int64_t n) {
    int32_t best = 0;
    for (int64_t i = 1; i < n; ++i)
        if (values[i] > values[best]) best = (int32_t)i;
    return best;
}

static void count_classes(pass *p, const int64_t *targets, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        int32_t predicted = p->out->predicted[p->done + i];
        p->out->confusion[targets[i] * p->out->classes + predicted]++;
        p->correct += targets[i] == predicted;
    }
}

static bool keep_classes(wick_context *c, pass *p, const wick_batch *batch) {
    int64_t *targets = malloc((size_t)batch->count * sizeof *targets);
    if (!targets) return !FAIL(c, OUT_OF_MEMORY, "no memory for the targets of a batch");
    bool ok = !wick_fail(c, wick_tensor_to_host(c, batch->targets, targets, (size_t)batch->count * sizeof *targets));
    if (ok) count_classes(p, targets, batch->count);
    free(targets);
    return ok;
}

static bool keep_results(wick_context *c, pass *p, const wick_batch *batch, wick_tensor *y) {
    int64_t outputs = y->numel / batch->count;
    if (!p->out->values && !make_room(c, p, outputs)) return false;
    float *values = p->out->values + p->done * outputs;
    y = wick_to_dtype(c, y, WICK_F32, NULL);
    if (!y || wick_fail(c, wick_tensor_to_host(c, y, values, (size_t)y->numel * sizeof *values))) return false;
    for (int64_t i = 0; i < batch->count; ++i) p->out->predicted[p->done + i] = largest(values + i * outputs, outputs);
    return !p->info.classes || keep_classes(c, p, batch);
}

static bool run_batch(wick_context *c, pass *p, const wick_batch *batch) {
    wick_tensor *y = wick_module_forward(c, p->e->module, batch->features);
    if (!y || !keep_results(c, p, batch, y)) return false;
    if (batch->targets)
        p->loss += wick_item(c, wick_loss_compute(c, p->e->loss, y, batch->targets)) * (double)batch->count;
    p->done += batch->count;
    return !wick_failed(c);
}

static bool run_all(wick_context *c, pass *p, wick_loader *loader) {
    wick_batch batch = {.struct_size = sizeof batch};
    bool ok = true;
    wick_loader_begin(loader, 0, 0);
    for (int64_t i = wick_loader_batches(loader); i > 0 && ok; --i) {
        wick_scope scope = wick_scope_open(c);
        ok = wick_loader_next(c, loader, &batch) && run_batch(c, p, &batch);
        wick_scope_close(c, scope);
    }
    return ok;
}

wick_status *wick_experiment_evaluate(wick_experiment *e, wick_dataset *dataset, wick_evaluation *out) {
    pass p = {.e = e, .info = wick_dataset_describe(dataset), .out = out};
    wick_loader_options o = WICK_LOADER_OPTIONS_INIT;
    wick_loader *loader = NULL;
    *out = (wick_evaluation)WICK_EVALUATION_INIT;
    out->count = p.info.count;
    WICK_TRY(wick_config_int_range(e->config, "train", "eval_batch_size", 256, 1, INT32_MAX, &o.batch_size));
    WICK_TRY(wick_loader_create(dataset, &o, &loader));
    bool training = wick_module_is_training(e->module);
    wick_modes modes = wick_no_grad(e->c);
    wick_module_train(e->module, false);
    bool ok = run_all(e->c, &p, loader);
    wick_module_train(e->module, training);
    wick_modes_set(e->c, modes);
    wick_loader_free(loader);
    if (!ok) return wick_evaluation_free(out), wick_status_take(e->c);
    out->loss = p.info.target_dtype && p.done ? p.loss / (double)p.done : NAN;
    out->accuracy = p.info.classes && p.done ? (double)p.correct / (double)p.done : NAN;
    return NULL;
}
