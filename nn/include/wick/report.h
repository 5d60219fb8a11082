/* wick/report.h: a training run as one HTML page that needs nothing else: curves of loss and accuracy as SVG, the
 * confusion matrix, pictures of samples with their predictions, the INI and the model. */
#ifndef WICK_REPORT_H
#define WICK_REPORT_H

#include <wick/trainer.h>

typedef struct wick_report {
    uint32_t struct_size;
    const char *title;
    const wick_epoch_metrics *metrics;
    size_t metrics_count;
    const wick_evaluation *test; /* may be NULL */
    const wick_dataset *samples; /* what `test` was made of, for the pictures; may be NULL */
    const char *model, *config;  /* texts; may be NULL */
} wick_report;

WICK_BEGIN_DECLS
/* Replaces `path` as a whole or not at all. */
WICK_API WICK_MUST_USE wick_status *wick_report_write(const wick_report *report, const char *path);
WICK_END_DECLS

#endif
