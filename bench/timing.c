/* Minima over batches. A batch is short enough to fit between two interruptions of a busy machine. */
#include <stdlib.h>
#include <time.h>

#include "options.h"

#define ROUNDS 12
#define LEAST_BATCHES 3 /* in each, however long they are */

static double batch_length = 200e3;

void bench_batches(double ns) { batch_length = ns; }

double bench_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double batch_ns(bench_run run, void *user, int64_t n) {
    double start = bench_now_ns();
    run(user, n);
    return bench_now_ns() - start;
}

bench_turn bench_turn_start(double seconds) { return (bench_turn){INFINITY, bench_now_ns() + seconds * 1e9, 0}; }

bool bench_turn_goes_on(bench_turn *turn) { return ++turn->batches < LEAST_BATCHES || bench_now_ns() < turn->end; }

/* Repetitions that take about batch_length. The faster of two trials counts: a first one pays for cold caches, and taken for
 * what the work costs it would make batches so short that reading the clock shows. */
static int64_t batch_size(bench_run run, void *user) {
    int64_t n = 1;
    for (;;) {
        double ns = fmin(batch_ns(run, user, n), batch_ns(run, user, n));
        if (ns >= batch_length / 2) return n;
        n = ns < batch_length / 16 ? n * 8 : (int64_t)((double)n * batch_length / ns) + 1;
    }
}

double bench_time(bench_run run, void *user, double seconds) {
    int64_t n = batch_size(run, user);
    bench_turn turn = bench_turn_start(seconds);
    do turn.best = fmin(turn.best, batch_ns(run, user, n) / (double)n);
    while (bench_turn_goes_on(&turn));
    return turn.best;
}

/* The idle threads of OpenBLAS and of OpenMP go on spinning for so long, on processors that the next one would find taken. */
#define REST_NS 30000000

static double entry_time(const bench_entry *e, double seconds) {
    if (e->run) return bench_time(e->run, e->user, seconds);
    if (e->timed) return e->timed(e->user, seconds);
    const double ns = bench_process_ask(e->process, "time %d %g %s", e->threads, seconds, e->work);
    if (e->process && e->threads > 1) nanosleep(&(struct timespec){.tv_nsec = REST_NS}, NULL);
    return ns;
}

void bench_race(bench_entry *entries, int count) {
    for (int i = 0; i < count; ++i) entries[i].ns = NAN;
    for (int round = 0; round < ROUNDS; ++round)
        for (int i = 0; i < count; ++i)
            entries[i].ns = fmin(entries[i].ns, entry_time(&entries[i], options.seconds / ROUNDS));
}

void bench_calibration_loop(void *user, int64_t n) {
    static const size_t sizes[3] = {64, 128, 256};
    void *volatile blocks[3]; /* volatile: the compiler must not remove the pairs */
    for (int64_t i = 0; i < n; ++i) {
        for (int k = 0; k < 3; ++k) blocks[k] = malloc(sizes[k]);
        for (int k = 0; k < 3; ++k) free(blocks[k]);
    }
}
