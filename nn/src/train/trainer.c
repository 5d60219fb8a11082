/* The training loop and what it leaves in the run folder. */
#include "trainer.h"

#include <errno.h>
#include <math.h>
#include <sys/stat.h>
#include <time.h>
#include <wick/file.h>
#include <wick/report.h>

#define EVENT_SECONDS 0.1
#define GRAPH_WARMUP 3 /* steps before a graph is captured */

double trainer_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the run folder ---- */
wick_status *trainer_path(const wick_trainer *t, const char *name, char path[PATH_BYTES]) {
    if (snprintf(path, PATH_BYTES, "%s/%s", t->folder, name) < PATH_BYTES) return NULL;
    return WICK_ERROR(WICK_OUT_OF_RANGE, "%s/%s: the path is too long", t->folder, name);
}

wick_status *wick_train_folder(const wick_config_file *config, char *buffer, size_t bytes) {
    const char *ini = wick_config_name(config), *slash = strrchr(ini, '/'), *name = slash ? slash + 1 : ini;
    const char *dot = strrchr(name, '.');
    WICK_TRY(wick_config_path(config, "train", "out", NULL, buffer, bytes));
    if (*buffer) return NULL;
    int n = snprintf(buffer, bytes, "%.*sruns/%.*s", (int)(name - ini), ini,
                     (int)(dot && dot > name ? dot - name : (long)strlen(name)), name);
    return (size_t)n < bytes ? NULL : WICK_ERROR(WICK_OUT_OF_RANGE, "%s: the path is too long", ini);
}

static wick_status *make_folders(const char *path) {
    char part[PATH_BYTES];
    for (const char *end = path; *end;) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        snprintf(part, sizeof part, "%.*s", (int)(end - path), path);
        if (mkdir(part, 0777) && errno != EEXIST)
            return WICK_ERROR(WICK_IO, "%s: cannot make the folder: %s", part, strerror(errno));
    }
    return NULL;
}

static wick_status *save_config(const wick_trainer *t) {
    char path[PATH_BYTES], nothing[1];
    size_t bytes = wick_config_format(t->e->config, nothing, 1);
    char *ini = malloc(bytes + 1);
    if (!ini) return WICK_ERROR(WICK_OUT_OF_MEMORY, "no memory for the INI");
    wick_config_format(t->e->config, ini, bytes + 1);
    wick_status *status = trainer_path(t, "train.ini", path);
    if (!status) status = wick_file_replace(path, ini, bytes);
    free(ini);
    return status;
}

/* ---- events ---- */
static wick_train_event event_of(const wick_trainer *t, wick_train_event_kind kind) {
    wick_dataset *test = t->e->test;
    return (wick_train_event){.struct_size = sizeof(wick_train_event),
                              .kind = kind,
                              .epoch = t->epoch + 1,
                              .epochs = t->epochs,
                              .batch = t->batch,
                              .batches = wick_loader_batches(t->loader),
                              .train_samples = wick_dataset_describe(t->e->train).count,
                              .test_samples = test ? wick_dataset_describe(test).count : 0,
                              .parameters = wick_module_parameter_elements(t->e->module)};
}

static void send(const wick_trainer *t, const wick_train_event *event) {
    if (t->o.event) t->o.event(t->o.user, event);
}

static void send_saved(const wick_trainer *t, const char *path) {
    wick_train_event event = event_of(t, WICK_TRAIN_SAVED);
    event.path = path;
    send(t, &event);
}

/* Loss and accuracy of the epoch so far: reads the device. */
static void read_totals(wick_trainer *t, double *loss, double *accuracy, double *seconds) {
    wick_context *c = t->e->c;
    wick_scope scope = wick_scope_open(c);
    double samples = t->samples ? (double)t->samples : 1;
    *loss = wick_item(c, t->loss_sum) / samples;
    *accuracy = t->e->class_targets ? (double)wick_item_int(c, t->correct) / samples : NAN;
    *seconds = t->seconds + trainer_now() - t->epoch_begin;
    wick_scope_close(c, scope);
}

static void report_progress(wick_trainer *t) {
    double now = trainer_now(), seconds;
    if (!t->o.event || now - t->last_event < EVENT_SECONDS) return;
    wick_train_event event = event_of(t, WICK_TRAIN_BATCH);
    read_totals(t, &event.loss, &event.accuracy, &seconds);
    event.samples_per_second = seconds > 0 ? (double)t->samples / seconds : 0;
    send(t, &event);
    t->last_event = now;
}

/* ---- one batch ---- */
/* Sums stay on the device, so that nothing waits for it. */
static bool add_totals(wick_context *c, wick_trainer *t, const wick_batch *batch, wick_tensor *y, wick_tensor *loss) {
    wick_modes modes = wick_no_grad(c);
    wick_add_options o = WICK_ADD_OPTIONS_INIT;
    o.alpha = wick_value_int(batch->count);
    bool ok = wick_add_(c, t->loss_sum, loss, &o) != NULL;
    if (ok && t->e->class_targets) {
        int64_t dim = 1;
        wick_argmax_options last = WICK_ARGMAX_OPTIONS_INIT;
        last.dim = &dim;
        wick_tensor *hits = wick_eq(c, wick_argmax(c, y, &last), batch->targets);
        ok = wick_add_(c, t->correct, wick_sum(c, hits, NULL), NULL) != NULL;
    }
    wick_modes_set(c, modes);
    t->samples += batch->count;
    return ok;
}

static bool learn(wick_context *c, wick_trainer *t, const wick_batch *batch) {
    if (!wick_optimizer_zero_grad(c, t->optimizer)) return false;
    wick_tensor *y = wick_module_forward(c, t->e->module, batch->features);
    wick_tensor *loss = wick_loss_compute(c, t->e->loss, y, batch->targets);
    if (!loss || !wick_backward(c, loss) || !wick_optimizer_step(c, t->optimizer)) return false;
    return add_totals(c, t, batch, y, loss);
}

/* A tensor of its own for the graph's input, made like the first batch. */
static wick_tensor *input_like(wick_context *c, wick_tensor **place, wick_tensor *t) {
    if (t && !*place) *place = wick_keep(c, wick_empty_like(c, t, NULL));
    return *place;
}

static bool same_shape(const wick_tensor *a, const wick_tensor *b) {
    return !a == !b && (!a || (a->ndim == b->ndim && !memcmp(a->sizes, b->sizes, sizeof *a->sizes * a->ndim)));
}

/* The same as one step of the graph: its input always lies in the same place, and nothing of it is left behind. */
static bool learn_in_graph(wick_context *c, wick_trainer *t, const wick_batch *batch) {
    wick_batch there = *batch;
    there.features = input_like(c, &t->features, batch->features);
    there.targets = input_like(c, &t->targets, batch->targets);
    if (wick_failed(c)) return false;
    if (!same_shape(there.features, batch->features) || !same_shape(there.targets, batch->targets))
        return learn(c, t, batch);
    wick_copy_(c, there.features, batch->features, NULL);
    if (batch->targets) wick_copy_(c, there.targets, batch->targets, NULL);
    if (!wick_step_begin(c, t->graph)) return false;
    wick_scope scope = wick_scope_open(c);
    bool ok = learn(c, t, &there) && wick_optimizer_zero_grad(c, t->optimizer);
    wick_scope_close(c, scope);
    return wick_step_end(c) && ok;
}

static bool train_batch(wick_context *c, wick_trainer *t) {
    wick_batch batch = {.struct_size = sizeof batch};
    if (!wick_loader_next(c, t->loader, &batch)) return false;
    return t->graph ? learn_in_graph(c, t, &batch) : learn(c, t, &batch);
}

/* ---- one epoch ---- */
static bool begin_epoch(wick_trainer *t) {
    wick_context *c = t->e->c;
    t->epoch_begin = trainer_now();
    wick_module_train(t->e->module, true);
    wick_loader_begin(t->loader, t->epoch, t->batch);
    if (t->batch) return true; /* goes on */
    t->samples = 0, t->seconds = 0;
    return wick_zero_(c, t->loss_sum) && wick_zero_(c, t->correct);
}

static wick_status *stop(wick_trainer *t) {
    char path[PATH_BYTES];
    WICK_TRY(steps_save(t));
    WICK_TRY(checkpoint_save(t));
    WICK_TRY(trainer_path(t, "checkpoint.safetensors", path));
    send_saved(t, path);
    return WICK_ERROR(WICK_CANCELLED, "stopped in epoch %lld of %lld after batch %lld of %lld; all is saved in %s",
                      (long long)t->epoch + 1, (long long)t->epochs, (long long)t->batch,
                      (long long)wick_loader_batches(t->loader), path);
}

static wick_status *train_epoch(wick_trainer *t) {
    wick_context *c = t->e->c;
    if (!begin_epoch(t)) return wick_status_take(c);
    while (t->batch < wick_loader_batches(t->loader)) {
        if (t->o.should_stop && t->o.should_stop(t->o.user)) return stop(t);
        wick_scope scope = wick_scope_open(c);
        bool ok = train_batch(c, t);
        wick_scope_close(c, scope);
        if (!ok) return wick_status_take(c);
        t->batch++;
        if (!steps_measure(c, t)) return wick_status_take(c);
        if (t->scheduler && t->schedule_batches) wick_scheduler_step(t->scheduler);
        report_progress(t);
    }
    return NULL;
}

bool trainer_add_metrics(wick_context *c, wick_trainer *t, const wick_epoch_metrics *line) {
    if (!grow((void **)&t->metrics, &t->metrics_capacity, t->metrics_count, sizeof *t->metrics))
        return !FAIL(c, OUT_OF_MEMORY, "no memory for the metrics of an epoch");
    t->metrics[t->metrics_count++] = *line;
    return true;
}

static bool better(const wick_epoch_metrics *a, const wick_epoch_metrics *b) {
    if (isnan(a->test_loss)) return a->train_loss <= b->train_loss;
    if (!isnan(a->test_accuracy) && a->test_accuracy != b->test_accuracy) return a->test_accuracy > b->test_accuracy;
    return a->test_loss < b->test_loss;
}

/* Adds the line of the epoch that just ended. */
static wick_status *measure_epoch(wick_trainer *t, bool *improved) {
    wick_context *c = t->e->c;
    wick_epoch_metrics m = {.epoch = (double)t->epoch + 1, .test_loss = NAN, .test_accuracy = NAN};
    wick_evaluation test = WICK_EVALUATION_INIT;
    read_totals(t, &m.train_loss, &m.train_accuracy, &m.seconds);
    m.samples_per_second = m.seconds > 0 ? (double)t->samples / m.seconds : 0;
    wick_optimizer_get(t->optimizer, 0, "lr", &m.lr);
    if (!isfinite(m.train_loss))
        return WICK_ERROR(WICK_FAILED_PRECONDITION,
                          "the loss is not finite after epoch %lld: try a smaller learning rate than %g",
                          (long long)t->epoch + 1, m.lr);
    if (t->e->test) {
        WICK_TRY(wick_experiment_evaluate(t->e, t->e->test, &test));
        m.test_loss = test.loss, m.test_accuracy = test.accuracy;
        wick_evaluation_free(&test);
    }
    if (!trainer_add_metrics(c, t, &m)) return wick_status_take(c);
    *improved = t->metrics_count == 1 || better(&m, &t->metrics[t->best]);
    if (*improved) t->best = t->metrics_count - 1;
    return NULL;
}

static wick_status *save_metrics(const wick_trainer *t) {
    char path[PATH_BYTES];
    text csv = {0};
    text_add(&csv, "epoch,train_loss,train_accuracy,test_loss,test_accuracy,lr,seconds,samples_per_second\n");
    for (size_t i = 0; i < t->metrics_count; ++i) {
        const wick_epoch_metrics *m = &t->metrics[i];
        text_add(&csv, "%g,%.9g,%.9g,%.9g,%.9g,%.9g,%.3f,%.1f\n", m->epoch, m->train_loss, m->train_accuracy,
                 m->test_loss, m->test_accuracy, m->lr, m->seconds, m->samples_per_second);
    }
    wick_status *status = csv.failed ? WICK_ERROR(WICK_OUT_OF_MEMORY, "no memory for metrics.csv") : NULL;
    if (!status) status = trainer_path(t, "metrics.csv", path);
    if (!status) status = wick_file_replace(path, csv.data, csv.bytes);
    free(csv.data);
    return status;
}

static wick_status *save_model(const wick_trainer *t) {
    char path[PATH_BYTES];
    WICK_TRY(trainer_path(t, "model.safetensors", path));
    return wick_module_save(t->e->c, t->e->module, path);
}

static wick_status *end_epoch(wick_trainer *t) {
    bool improved = false;
    WICK_TRY(steps_save(t));
    WICK_TRY(measure_epoch(t, &improved));
    wick_train_event event = event_of(t, WICK_TRAIN_EPOCH);
    event.metrics = &t->metrics[t->metrics_count - 1];
    send(t, &event);
    if (t->scheduler && !t->schedule_batches) wick_scheduler_step(t->scheduler);
    t->epoch++, t->batch = 0;
    if (improved || !t->save_best) WICK_TRY(save_model(t));
    WICK_TRY(save_metrics(t));
    return checkpoint_save(t);
}

/* ---- the end ---- */
static wick_status *write_report(wick_trainer *t, const wick_evaluation *test) {
    char path[PATH_BYTES], nothing[1], *model = NULL;
    size_t bytes = wick_config_format(t->e->config, nothing, 1);
    char *ini = malloc(bytes + 1);
    const wick_report report = {.struct_size = sizeof report,
                                .title = wick_config_name(t->e->config),
                                .metrics = t->metrics,
                                .metrics_count = t->metrics_count,
                                .test = test,
                                .samples = t->e->test};
    wick_report full = report;
    wick_status *status =
        ini ? wick_module_to_string(t->e->module, &model) : WICK_ERROR(WICK_OUT_OF_MEMORY, "no memory for the INI");
    if (ini) wick_config_format(t->e->config, ini, bytes + 1);
    full.model = model, full.config = ini;
    if (!status) status = trainer_path(t, "report.html", path);
    if (!status) status = wick_report_write(&full, path);
    free(model);
    free(ini);
    if (!status) send_saved(t, path);
    return status;
}

/* The report shows the model that was saved. */
static wick_status *finish(wick_trainer *t) {
    char path[PATH_BYTES];
    wick_evaluation test = WICK_EVALUATION_INIT;
    WICK_TRY(trainer_path(t, "model.safetensors", path));
    if (!wick_module_load(t->e->c, t->e->module, path, 0, NULL)) return wick_status_take(t->e->c);
    if (t->e->test) WICK_TRY(wick_experiment_evaluate(t->e, t->e->test, &test));
    wick_status *status = write_report(t, t->e->test ? &test : NULL);
    wick_evaluation_free(&test);
    if (status) return status;
    wick_train_event event = event_of(t, WICK_TRAIN_END);
    event.metrics = t->metrics_count ? &t->metrics[t->save_best ? t->best : t->metrics_count - 1] : NULL;
    event.path = path;
    send(t, &event);
    return NULL;
}

wick_status *wick_trainer_run(wick_trainer *t) {
    wick_train_event event = event_of(t, WICK_TRAIN_BEGIN);
    send(t, &event);
    wick_scope scope = wick_scope_open(t->e->c);
    wick_status *status = NULL;
    while (!status && t->epoch < t->epochs) {
        status = train_epoch(t);
        if (!status) status = end_epoch(t);
    }
    if (!status) status = finish(t);
    wick_scope_close(t->e->c, scope);
    return status;
}

/* ---- life ---- */
static wick_status *make_loader(wick_trainer *t) {
    const wick_config_file *config = t->e->config;
    wick_loader_options o = WICK_LOADER_OPTIONS_INIT;
    int64_t workers;
    o.shuffle = true, o.seed = t->e->seed;
    WICK_TRY(wick_config_int_range(config, "train", "batch_size", 64, 1, INT32_MAX, &o.batch_size));
    WICK_TRY(wick_config_bool(config, "train", "drop_last", false, &o.drop_last));
    WICK_TRY(wick_config_int_range(config, "data", "workers", 1, 0, 1024, &workers));
    o.workers = (int32_t)workers;
    WICK_TRY(wick_loader_create(t->e->train, &o, &t->loader));
    if (wick_loader_batches(t->loader)) return NULL;
    return wick_config_error(config, "train", "batch_size", "no batch of %lld samples is full, and drop_last = yes",
                             (long long)o.batch_size);
}

static bool find_list(bool (*describe)(size_t, wick_option_list *), const char *name, wick_option_list *out) {
    for (size_t i = 0; describe(i, out); ++i)
        if (!strcmp(out->name, name)) return true;
    return false;
}

static wick_status *located(const wick_trainer *t, const char *section) {
    wick_status *cause = wick_status_take(t->e->c);
    if (!cause) return NULL;
    wick_status *status = wick_config_error(t->e->config, section, "type", "%s", wick_status_message(cause));
    wick_status_free(cause);
    return status;
}

static wick_status *make_optimizer(wick_trainer *t) {
    static const char *const extra[] = {"type", NULL};
    const char *name = wick_config_string(t->e->config, "optimizer", "type", "adamw");
    wick_module *m = t->e->module;
    wick_option options[16];
    wick_option_list list;
    size_t n = 0, count = wick_module_parameters(m, NULL, 0);
    if (find_list(wick_optimizer_describe, name, &list)) {
        WICK_TRY(keys_only(t->e->config, "optimizer", &list, extra));
        WICK_TRY(keys_options(t->e->config, "optimizer", &list, options, &n));
    }
    wick_tensor **params = malloc((count + 1) * sizeof *params);
    if (!params) return WICK_ERROR(WICK_OUT_OF_MEMORY, "no memory for the list of parameters");
    wick_module_parameters(m, params, count);
    t->optimizer = wick_optimizer_create(t->e->c, name, params, count, options, n);
    free(params);
    return located(t, "optimizer");
}

static void add_missing(wick_option *options, size_t *n, const wick_option_list *list, const char *name, double value) {
    bool known = false;
    for (size_t i = 0; i < list->count; ++i) known |= !strcmp(list->options[i].name, name);
    for (size_t i = 0; i < *n; ++i) known &= strcmp(options[i].name, name) != 0;
    if (known) options[(*n)++] = (wick_option){name, value};
}

static wick_status *make_scheduler(wick_trainer *t) {
    static const char *const extra[] = {"type", "unit", NULL};
    const wick_config_file *config = t->e->config;
    const char *name = wick_config_string(config, "scheduler", "type", NULL);
    wick_option options[16];
    wick_option_list list;
    size_t n = 0;
    double lr = 0;
    if (!name) return NULL;
    t->schedule_batches = !strcmp(
        wick_config_string(config, "scheduler", "unit", strcmp(name, "one_cycle") ? "epoch" : "batch"), "batch");
    if (find_list(wick_scheduler_describe, name, &list)) {
        double warmup, steps = (double)t->epochs * (t->schedule_batches ? (double)wick_loader_batches(t->loader) : 1);
        WICK_TRY(keys_only(config, "scheduler", &list, extra));
        WICK_TRY(keys_options(config, "scheduler", &list, options, &n));
        WICK_TRY(wick_config_double(config, "scheduler", "warmup", 0, &warmup));
        wick_optimizer_get(t->optimizer, 0, "lr", &lr);
        add_missing(options, &n, &list, "max_lr", lr);
        add_missing(options, &n, &list, "total_steps", steps - warmup);
        add_missing(options, &n, &list, "t_max", steps - warmup);
    }
    t->scheduler = wick_scheduler_create(t->e->c, name, t->optimizer, options, n);
    return located(t, "scheduler");
}

static wick_status *make_totals(wick_trainer *t) {
    wick_context *c = t->e->c;
    wick_zeros_options sum = WICK_ZEROS_OPTIONS_INIT, count = WICK_ZEROS_OPTIONS_INIT;
    sum.dtype = WICK_F64, count.dtype = WICK_I64;
    wick_scope scope = wick_scope_open(c);
    t->loss_sum = wick_keep(c, wick_zeros(c, NULL, 0, &sum));
    t->correct = wick_keep(c, wick_zeros(c, NULL, 0, &count));
    wick_scope_close(c, scope);
    return wick_status_take(c);
}

/* Where the INI wants it and the device can. */
static wick_status *make_graph(wick_trainer *t) {
    wick_runtime *runtime = wick_context_runtime(t->e->c);
    wick_device device = wick_default_device(t->e->c);
    if (!wick_device_graphs(runtime, device)) return NULL;
    wick_status *status = wick_step_graph_create(runtime, device, GRAPH_WARMUP, &t->graph);
    if (wick_status_code(status) != WICK_UNSUPPORTED) return status;
    wick_status_free(status);
    return NULL;
}

static wick_status *initialize(wick_trainer *t) {
    const wick_config_file *config = t->e->config;
    if (!t->e->train)
        return WICK_ERROR(WICK_FAILED_PRECONDITION, "%s: the experiment was made without data",
                          wick_config_name(config));
    t->save_best = !strcmp(wick_config_string(config, "train", "save", "best"), "best");
    WICK_TRY(wick_config_int_range(config, "train", "epochs", 10, 0, INT32_MAX, &t->epochs));
    WICK_TRY(wick_config_int_range(config, "train", "log_steps", 0, 0, INT32_MAX, &t->log_steps));
    WICK_TRY(wick_train_folder(config, t->folder, sizeof t->folder));
    WICK_TRY(make_loader(t));
    WICK_TRY(make_optimizer(t));
    WICK_TRY(make_scheduler(t));
    WICK_TRY(make_totals(t));
    WICK_TRY(make_graph(t));
    if (t->o.resume) WICK_TRY(checkpoint_load(t));
    WICK_TRY(make_folders(t->folder));
    WICK_TRY(save_config(t));
    return t->metrics_count ? NULL : save_model(t); /* never a run folder without a model */
}

const wick_step_graph *wick_trainer_graph(const wick_trainer *t) { return t->graph; }

wick_status *wick_trainer_create(wick_experiment *e, const wick_trainer_options *options, wick_trainer **out) {
    static const wick_trainer_options defaults = WICK_TRAINER_OPTIONS_INIT;
    wick_trainer *t = calloc(1, sizeof *t);
    if (!t) return WICK_ERROR(WICK_OUT_OF_MEMORY, "no memory for a trainer");
    t->e = e;
    t->o = options ? *options : defaults;
    wick_scope scope = wick_scope_open(e->c);
    wick_status *status = initialize(t);
    wick_scope_close(e->c, scope);
    if (status)
        wick_trainer_free(t);
    else
        *out = t;
    return status;
}

void wick_trainer_free(wick_trainer *t) {
    if (!t) return;
    wick_loader_free(t->loader);
    wick_scheduler_free(t->scheduler);
    wick_optimizer_free(t->optimizer);
    wick_release(t->features);
    wick_release(t->targets);
    wick_step_graph_destroy(t->graph);
    wick_release(t->loss_sum);
    wick_release(t->correct);
    free(t->metrics);
    free(t->steps);
    free(t);
}

const char *wick_trainer_folder(const wick_trainer *t) { return t->folder; }
const wick_epoch_metrics *wick_trainer_metrics(const wick_trainer *t, size_t index) {
    return index < t->metrics_count ? &t->metrics[index] : NULL;
}
