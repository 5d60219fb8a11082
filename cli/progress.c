/* What a training shows: a bar on a terminal, a line an epoch elsewhere. */
#include "cli.h"

#include <math.h>
#include <time.h>
#include <unistd.h>

#define BAR_WIDTH 24

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void progress_begin(progress *p, bool quiet) {
    *p = (progress){.terminal = isatty(STDOUT_FILENO), .quiet = quiet, .begin = now()};
}

void progress_end(progress *p) {
    if (p->line_open) putchar('\n');
    p->line_open = false;
    fflush(stdout);
}

static void print_score(const char *what, double loss, double accuracy) {
    printf("  %sloss %.4f", what, loss);
    if (isfinite(accuracy)) printf("  accuracy %.2f%%", 100 * accuracy);
}

static void show_begin(progress *p, const wick_train_event *e) {
    if (p->quiet) return;
    printf("%lld samples to train with, %lld to test, %lld parameters, %lld batches an epoch\n",
           (long long)e->train_samples, (long long)e->test_samples, (long long)e->parameters, (long long)e->batches);
    if (e->epoch > 1 || e->batch)
        printf("resuming at epoch %lld, batch %lld\n", (long long)e->epoch, (long long)e->batch + 1);
    fflush(stdout);
}

static void show_batch(progress *p, const wick_train_event *e) {
    if (p->quiet || !p->terminal) return;
    int filled = e->batches ? (int)(BAR_WIDTH * e->batch / e->batches) : BAR_WIDTH;
    printf("\r\033[Kepoch %lld/%lld [%.*s%.*s]", (long long)e->epoch, (long long)e->epochs, filled,
           "########################", BAR_WIDTH - filled, "------------------------");
    print_score("", e->loss, e->accuracy);
    printf("  %.0f samples/s", e->samples_per_second);
    p->line_open = true;
    fflush(stdout);
}

static void show_epoch(progress *p, const wick_train_event *e) {
    const wick_epoch_metrics *m = e->metrics;
    if (p->quiet) return;
    printf("%sepoch %lld/%lld", p->line_open ? "\r\033[K" : "", (long long)e->epoch, (long long)e->epochs);
    print_score("", m->train_loss, m->train_accuracy);
    if (isfinite(m->test_loss)) print_score("test ", m->test_loss, m->test_accuracy);
    printf("  %.0f samples/s\n", m->samples_per_second);
    p->line_open = false;
    fflush(stdout);
}

static void show_end(progress *p, const wick_train_event *e) {
    if (e->metrics) {
        printf("epoch %.0f is saved:", e->metrics->epoch);
        if (isfinite(e->metrics->test_loss))
            print_score("test ", e->metrics->test_loss, e->metrics->test_accuracy);
        else
            print_score("", e->metrics->train_loss, e->metrics->train_accuracy);
        printf("  (%.1f s)\n", now() - p->begin);
    }
    printf("model: %s\n", e->path);
    fflush(stdout);
}

static void show_saved(progress *p, const wick_train_event *e) {
    const char *name = strrchr(e->path, '/');
    if (!p->quiet && name && !strcmp(name, "/report.html")) printf("report: %s\n", e->path);
}

void progress_event(void *user, const wick_train_event *event) {
    static void (*const show[])(progress *, const wick_train_event *) = {[WICK_TRAIN_BEGIN] = show_begin,
                                                                         [WICK_TRAIN_BATCH] = show_batch,
                                                                         [WICK_TRAIN_EPOCH] = show_epoch,
                                                                         [WICK_TRAIN_SAVED] = show_saved,
                                                                         [WICK_TRAIN_END] = show_end};
    show[event->kind](user, event);
}
