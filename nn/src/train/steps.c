/* steps.csv: how the loss runs within the epochs, if the INI wants it. */
#include "trainer.h"

#include <wick/file.h>

bool steps_add(wick_context *c, wick_trainer *t, const step_line *line) {
    if (!grow((void **)&t->steps, &t->steps_capacity, t->steps_count, sizeof *t->steps))
        return !FAIL(c, OUT_OF_MEMORY, "no memory for the losses of steps");
    t->steps[t->steps_count++] = *line;
    return true;
}

bool steps_measure(wick_context *c, wick_trainer *t) {
    int64_t batches = wick_loader_batches(t->loader);
    if (!t->log_steps || (t->batch % t->log_steps && t->batch < batches)) return true;
    step_line line = {.step = (double)(t->epoch * batches + t->batch), .epoch = (double)t->epoch + 1};
    wick_scope scope = wick_scope_open(c);
    line.loss_sum = wick_item(c, t->loss_sum), line.samples = (double)t->samples;
    wick_scope_close(c, scope);
    wick_optimizer_get(t->optimizer, 0, "lr", &line.lr);
    return !wick_failed(c) && steps_add(c, t, &line);
}

/* Over the samples since the line before, or since the epoch began. */
static double mean_loss(const step_line *line, const step_line *before) {
    bool first = !before || before->epoch != line->epoch;
    return first ? line->loss_sum / line->samples
                 : (line->loss_sum - before->loss_sum) / (line->samples - before->samples);
}

wick_status *steps_save(const wick_trainer *t) {
    char path[PATH_BYTES];
    text csv = {0};
    if (!t->log_steps) return NULL;
    text_add(&csv, "step,epoch,loss,lr\n");
    for (size_t i = 0; i < t->steps_count; ++i) {
        const step_line *line = &t->steps[i];
        text_add(&csv, "%.0f,%.0f,%.9g,%.9g\n", line->step, line->epoch, mean_loss(line, i ? line - 1 : NULL),
                 line->lr);
    }
    wick_status *status = csv.failed ? WICK_ERROR(WICK_OUT_OF_MEMORY, "no memory for steps.csv") : NULL;
    if (!status) status = trainer_path(t, "steps.csv", path);
    if (!status) status = wick_file_replace(path, csv.data, csv.bytes);
    free(csv.data);
    return status;
}
