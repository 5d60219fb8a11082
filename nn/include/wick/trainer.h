/* wick/trainer.h: training, evaluation and prediction of what an INI file describes.
 *
 * An experiment is the data, model and loss of an INI; a trainer runs it and leaves a run folder:
 *     model.safetensors       weights of the best epoch (or the last one, as the INI says), names as in PyTorch
 *     metrics.csv             a line an epoch
 *     steps.csv               loss and learning rate of every [train] log_steps steps, if wanted
 *     train.ini               the INI as run, overrides included (paths too, after wick_config_resolve_paths)
 *     report.html             curves, confusion matrix, sample predictions; self-contained
 *     checkpoint.safetensors  all that it takes to go on, bit by bit as if training had not stopped
 * Each is replaced as a whole or not at all. Nothing here prints or handles signals: events and a poll do.
 * Objects are used by one thread at a time; they use the context that made them, which must outlive them. */
#ifndef WICK_TRAINER_H
#define WICK_TRAINER_H

#include <wick/config.h>
#include <wick/data.h>
#include <wick/loss.h>
#include <wick/module.h>

typedef struct wick_experiment wick_experiment;
typedef struct wick_trainer wick_trainer;

/* What one pass over a data set gave. Arrays are the evaluation's: wick_evaluation_free. */
typedef struct wick_evaluation {
    uint32_t struct_size;
    double loss;                     /* mean over the samples; NaN without targets */
    double accuracy;                 /* 0 to 1; NaN if targets are not classes */
    int64_t count, classes, outputs; /* outputs: numbers that the model gives for a sample */
    int64_t *confusion; /* [classes, classes]: row the target, column the prediction; NULL if not classes */
    float *values;      /* [count, outputs]: what the model gave */
    int32_t *predicted; /* [count]: index of the largest output */
} wick_evaluation;
#define WICK_EVALUATION_INIT \
    { sizeof(wick_evaluation), 0, 0, 0, 0, 0, NULL, NULL, NULL }

/* One line of metrics.csv. */
typedef struct wick_epoch_metrics {
    double epoch;                                                /* from 1 */
    double train_loss, train_accuracy, test_loss, test_accuracy; /* NaN where there is none */
    double lr, seconds, samples_per_second;
} wick_epoch_metrics;

typedef enum wick_train_event_kind {
    WICK_TRAIN_BEGIN, /* before the first batch */
    WICK_TRAIN_BATCH, /* now and then within an epoch */
    WICK_TRAIN_EPOCH, /* after the validation */
    WICK_TRAIN_SAVED, /* `path` was written */
    WICK_TRAIN_END
} wick_train_event_kind;

typedef struct wick_train_event {
    uint32_t struct_size;
    wick_train_event_kind kind;
    int64_t epoch, epochs, batch, batches; /* from 1; of BEGIN: where training goes on */
    int64_t train_samples, test_samples, parameters;
    double loss, accuracy, samples_per_second; /* BATCH: of the epoch so far */
    const wick_epoch_metrics *metrics;         /* EPOCH, END: of the epoch; of the best one */
    const char *path;
} wick_train_event;

typedef struct wick_trainer_options {
    uint32_t struct_size;
    bool resume;                                              /* go on from the run folder's checkpoint */
    void (*event)(void *user, const wick_train_event *event); /* may be NULL */
    bool (*should_stop)(void *user);                          /* polled before each batch; may be NULL */
    void *user;
} wick_trainer_options;
#define WICK_TRAINER_OPTIONS_INIT \
    { sizeof(wick_trainer_options), false, NULL, NULL, NULL }

enum wick_experiment_flag {
    WICK_EXPERIMENT_NO_DATA = 1 /* the model only: its input shape is then in [model] or [data] */
};

WICK_BEGIN_DECLS
/* The keys of training, to be joined with wick_runtime_config_schema() in wick_config_check(). */
WICK_API wick_config_schema wick_train_config_schema(void);

/* ---- experiments ---- */
/* Sets the context's device and seed as [runtime] says, reads the data, makes the model. The config is borrowed. */
WICK_API WICK_MUST_USE wick_status *wick_experiment_create(wick_context *c, const wick_config_file *config,
                                                           unsigned flags, wick_experiment **out);
/* NULL is allowed. */
WICK_API void wick_experiment_free(wick_experiment *e);
/* Lent; NULL without data, and the test set also if the INI leaves nothing for it. */
WICK_API wick_dataset *wick_experiment_train_set(const wick_experiment *e);
WICK_API wick_dataset *wick_experiment_test_set(const wick_experiment *e);
WICK_API wick_module *wick_experiment_module(const wick_experiment *e);
WICK_API const wick_loss *wick_experiment_loss(const wick_experiment *e);
/* Reads a file in the format that [data] names, as the model wants it. With labels: from `labels` (a file, NULL: the
 * label column of a CSV); else a label column that is there is passed over. */
WICK_API WICK_MUST_USE wick_status *wick_experiment_read(const wick_experiment *e, const char *path, const char *labels,
                                                         bool with_labels, wick_dataset **out);
/* Runs the model in eval mode over a data set; the caller frees *out. */
WICK_API WICK_MUST_USE wick_status *wick_experiment_evaluate(wick_experiment *e, wick_dataset *dataset,
                                                             wick_evaluation *out);
WICK_API void wick_evaluation_free(wick_evaluation *e);

/* ---- training ---- */
/* The run folder: [train] out, or runs/NAME beside NAME.ini. */
WICK_API WICK_MUST_USE wick_status *wick_train_folder(const wick_config_file *config, char *buffer, size_t bytes);
/* Makes the run folder and, if asked to, reads the checkpoint. The experiment is borrowed. */
WICK_API WICK_MUST_USE wick_status *wick_trainer_create(wick_experiment *e, const wick_trainer_options *options,
                                                        wick_trainer **out);
/* NULL is allowed. */
WICK_API void wick_trainer_free(wick_trainer *t);
/* Trains to the end. CANCELLED if should_stop said so: everything is saved then and a resumed trainer goes on. After
 * another failure the last checkpoint still stands. */
WICK_API WICK_MUST_USE wick_status *wick_trainer_run(wick_trainer *t);
/* The run folder, lent. */
/* The graph of its steps (wick/graph.h), lent; NULL if they run as usual. */
WICK_API const struct wick_step_graph *wick_trainer_graph(const wick_trainer *t);
WICK_API const char *wick_trainer_folder(const wick_trainer *t);
/* Lines of metrics.csv so far; NULL past the end. */
WICK_API const wick_epoch_metrics *wick_trainer_metrics(const wick_trainer *t, size_t index);
WICK_END_DECLS

#endif
