/* The trainer, for the files of this folder. */
#ifndef WICK_NN_TRAIN_TRAINER_H
#define WICK_NN_TRAIN_TRAINER_H

#include "experiment.h"

#include <wick/autograd.h>
#include <wick/graph.h>

/* What is kept for a line of steps.csv: the epoch so far. */
typedef struct step_line {
    double step, epoch; /* from 1 */
    double loss_sum, samples, lr;
} step_line;

struct wick_trainer {
    wick_experiment *e;
    wick_trainer_options o;
    char folder[PATH_BYTES];
    wick_optimizer *optimizer;
    wick_scheduler *scheduler; /* NULL: a constant rate */
    bool schedule_batches;     /* its step is a batch, else an epoch */
    bool save_best;
    wick_loader *loader;
    int64_t epochs;
    /* where training is */
    int64_t epoch, batch;            /* finished epochs; finished batches of the next one */
    wick_tensor *loss_sum;           /* F64, of the epoch's samples, on the device */
    wick_tensor *correct;            /* I64 */
    wick_step_graph *graph;          /* NULL: steps run as usual */
    wick_tensor *features, *targets; /* where a batch lies for the graph */
    int64_t samples;                 /* of the epoch so far */
    double seconds;                  /* of the epoch, before this start */
    wick_epoch_metrics *metrics;
    size_t metrics_count, metrics_capacity;
    size_t best;       /* index of the best line */
    int64_t log_steps; /* steps a line; 0: no steps.csv */
    step_line *steps;
    size_t steps_count, steps_capacity;
    /* since this start */
    double epoch_begin, last_event;
};

#define METRIC_COLUMNS (sizeof(wick_epoch_metrics) / sizeof(double))
#define STEP_COLUMNS (sizeof(step_line) / sizeof(double))

double trainer_now(void);
wick_status *trainer_path(const wick_trainer *t, const char *name, char path[PATH_BYTES]);
bool trainer_add_metrics(wick_context *c, wick_trainer *t, const wick_epoch_metrics *line);

/* steps.c: steps.csv. Measuring, after a step, waits for the device if a line is due. */
bool steps_measure(wick_context *c, wick_trainer *t);
bool steps_add(wick_context *c, wick_trainer *t, const step_line *line);
wick_status *steps_save(const wick_trainer *t);

/* checkpoint.c: all state to and from the run folder's checkpoint. */
wick_status *checkpoint_save(wick_trainer *t);
wick_status *checkpoint_load(wick_trainer *t);

#endif
