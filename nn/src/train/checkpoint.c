/* Checkpoints: everything that decides how training goes on. */
#include "trainer.h"

#include <inttypes.h>

#define NAME "checkpoint.safetensors"

/* ---- numbers of the trainer ---- */
typedef struct counters {
    double epoch, batch, samples, seconds, scheduler, best;
} counters;

static const char *const counter_names[] = {"epoch", "batch", "samples", "seconds", "scheduler", "best"};

static counters counters_of(const wick_trainer *t) {
    double running = t->batch ? trainer_now() - t->epoch_begin : 0;
    return (counters){(double)t->epoch,
                      (double)t->batch,
                      (double)t->samples,
                      t->seconds + running,
                      t->scheduler ? (double)wick_scheduler_position(t->scheduler) : 0,
                      (double)t->best};
}

static bool save_counters(wick_context *c, const wick_trainer *t, wick_state *state) {
    const counters now = counters_of(t);
    const double *values = &now.epoch;
    for (size_t i = 0; i < COUNT(counter_names); ++i)
        if (!wick_state_add_number(c, state, "trainer.", counter_names[i], values[i])) return false;
    return true;
}

static bool load_counters(wick_context *c, wick_trainer *t, wick_safetensors *file) {
    counters then;
    double *values = &then.epoch;
    for (size_t i = 0; i < COUNT(counter_names); ++i)
        if (!wick_state_read_number(c, file, "trainer.", counter_names[i], &values[i])) return false;
    t->epoch = (int64_t)then.epoch, t->batch = (int64_t)then.batch, t->samples = (int64_t)then.samples;
    t->seconds = then.seconds, t->best = (size_t)then.best;
    if (t->scheduler) wick_scheduler_seek(t->scheduler, (int64_t)then.scheduler);
    return true;
}

/* ---- lines of metrics.csv and steps.csv ---- */
static bool save_lines(wick_context *c, wick_state *state, const char *name, const void *lines, size_t count,
                       size_t columns) {
    const wick_dim sizes[] = {(wick_dim)count, (wick_dim)columns};
    wick_tensor *t = wick_tensor_from_host(c, lines, WICK_F64, 2, sizes, wick_runtime_host(wick_context_runtime(c)));
    return t && wick_state_add(c, state, "trainer.", name, t);
}

/* NULL if they are missing or of another shape. */
static const wick_safetensors_info *find_lines(wick_safetensors *file, const char *name, size_t columns) {
    const wick_safetensors_info *info = wick_safetensors_find(file, name);
    return info && info->dtype == WICK_F64 && info->ndim == 2 && info->sizes[1] == (wick_dim)columns ? info : NULL;
}

static bool load_metrics(wick_context *c, wick_trainer *t, wick_safetensors *file) {
    wick_epoch_metrics line;
    const wick_safetensors_info *info = find_lines(file, "trainer.metrics", METRIC_COLUMNS);
    if (!info) return !FAIL(c, DATA_LOSS, NAME ": trainer.metrics is missing or of another shape");
    for (wick_dim i = 0; i < info->sizes[0]; ++i) {
        memcpy(&line, (const char *)wick_safetensors_data(file, info) + (size_t)i * sizeof line, sizeof line);
        if (!trainer_add_metrics(c, t, &line)) return false;
    }
    if (t->best < t->metrics_count || !t->metrics_count) return true;
    return !FAIL(c, DATA_LOSS, NAME ": trainer.best is %zu of %zu epochs", t->best, t->metrics_count);
}

/* There are none if they were not wanted so far. */
static bool load_steps(wick_context *c, wick_trainer *t, wick_safetensors *file) {
    step_line line;
    const wick_safetensors_info *info = t->log_steps ? find_lines(file, "trainer.steps", STEP_COLUMNS) : NULL;
    for (wick_dim i = 0; info && i < info->sizes[0]; ++i) {
        memcpy(&line, (const char *)wick_safetensors_data(file, info) + (size_t)i * sizeof line, sizeof line);
        if (!steps_add(c, t, &line)) return false;
    }
    return true;
}

/* ---- random numbers ---- */
static bool save_random(wick_context *c, wick_state *state) {
    char number[32];
    uint64_t seed, offset;
    wick_rng_get(c, &seed, &offset);
    snprintf(number, sizeof number, "%" PRIu64, seed);
    if (!wick_state_add_text(c, state, "rng.seed", number)) return false;
    snprintf(number, sizeof number, "%" PRIu64, offset);
    return wick_state_add_text(c, state, "rng.offset", number);
}

static bool load_random(wick_context *c, wick_safetensors *file) {
    const char *seed = wick_safetensors_metadata(file, "rng.seed"),
               *offset = wick_safetensors_metadata(file, "rng.offset");
    if (!seed || !offset) return !FAIL(c, DATA_LOSS, NAME ": rng.seed or rng.offset is missing");
    wick_rng_set(c, strtoull(seed, NULL, 10), strtoull(offset, NULL, 10));
    return true;
}

/* ---- all of it ---- */
static bool collect(wick_context *c, const wick_trainer *t, wick_state *state) {
    wick_scope scope = wick_scope_open(c);
    bool ok = wick_module_state(c, t->e->module, "model.", state) &&
              wick_optimizer_state(c, t->optimizer, "optimizer.", state) &&
              wick_state_add(c, state, "trainer.", "loss_sum", t->loss_sum) &&
              wick_state_add(c, state, "trainer.", "correct", t->correct) && save_counters(c, t, state) &&
              save_lines(c, state, "metrics", t->metrics, t->metrics_count, METRIC_COLUMNS) &&
              (!t->log_steps || save_lines(c, state, "steps", t->steps, t->steps_count, STEP_COLUMNS)) &&
              save_random(c, state);
    wick_scope_close(c, scope);
    return ok;
}

wick_status *checkpoint_save(wick_trainer *t) {
    wick_context *c = t->e->c;
    wick_state *state = NULL;
    char path[PATH_BYTES];
    WICK_TRY(trainer_path(t, NAME, path));
    WICK_TRY(wick_state_create(&state));
    wick_status *status = collect(c, t, state) ? wick_state_save(c, state, path) : wick_status_take(c);
    wick_state_free(state);
    return status;
}

static bool restore(wick_context *c, wick_trainer *t, wick_safetensors *file) {
    return wick_module_load_state(c, t->e->module, file, "model.", 0, NULL) &&
           wick_optimizer_load_state(c, t->optimizer, file, "optimizer.") &&
           wick_state_read(c, file, "trainer.", "loss_sum", t->loss_sum) &&
           wick_state_read(c, file, "trainer.", "correct", t->correct) && load_counters(c, t, file) &&
           load_metrics(c, t, file) && load_steps(c, t, file) && load_random(c, file);
}

wick_status *checkpoint_load(wick_trainer *t) {
    wick_context *c = t->e->c;
    wick_safetensors *file = NULL;
    char path[PATH_BYTES];
    WICK_TRY(trainer_path(t, NAME, path));
    wick_status *status = wick_safetensors_open(wick_context_runtime(c), path, &file);
    if (!status && !restore(c, t, file)) status = wick_status_take(c);
    wick_safetensors_close(file);
    if (!status) return NULL;
    return wick_status_wrap(status, __FILE__, __LINE__, "cannot resume: %s", wick_status_message(status));
}
