/* Compiled so that the loop stays a loop (CMakeLists.txt). A second thread copies the second half; both wait for each
 * other before and after every copy, as the threads of a kernel do. */
#include "copy.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#define EVERY_ISA __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define EVERY_ISA
#endif

typedef void (*copy_fn)(float *restrict to, const float *restrict from, int64_t count);

EVERY_ISA static void copy_loop(float *restrict to, const float *restrict from, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i];
}

static void copy_memcpy(float *restrict to, const float *restrict from, int64_t count) {
    memcpy(to, from, (size_t)count * sizeof *to);
}

typedef struct job {
    copy_fn fn;
    const bench_copy *copy;
    atomic_long arrived; /* of both threads, at all meetings so far */
    atomic_bool done;
} job;

/* Waits for the other thread, which may have lost its processor. */
static void meet(job *j, long *meetings) {
    long wanted = ++*meetings * j->copy->threads;
    atomic_fetch_add(&j->arrived, 1);
    for (int spins = 0; atomic_load(&j->arrived) < wanted; ++spins)
        if (spins > 1000) sched_yield();
}

static void copy_part(const job *j, int part) {
    int64_t count = j->copy->bytes / (int64_t)sizeof(float) / j->copy->threads, first = part * count;
    j->fn(j->copy->to + first, j->copy->from + first, count);
}

static void *second_thread(void *user) {
    job *j = user;
    long meetings = 0;
    for (;;) {
        meet(j, &meetings);
        if (atomic_load(&j->done)) return NULL;
        copy_part(j, 1);
        meet(j, &meetings);
    }
}

static double time_copies(copy_fn fn, const bench_copy *copy, double seconds) {
    job j = {.fn = fn, .copy = copy};
    pthread_t thread;
    long meetings = 0;
    bench_turn turn = bench_turn_start(seconds);
    if (copy->threads > 1 && pthread_create(&thread, NULL, second_thread, &j)) bench_die("cannot start a thread");
    do {
        meet(&j, &meetings);
        double start = bench_now_ns();
        copy_part(&j, 0);
        meet(&j, &meetings);
        turn.best = fmin(turn.best, bench_now_ns() - start);
    } while (bench_turn_goes_on(&turn));
    atomic_store(&j.done, true);
    meet(&j, &meetings);
    if (copy->threads > 1) pthread_join(thread, NULL);
    return turn.best;
}

double bench_copy_loop(void *user, double seconds) { return time_copies(copy_loop, user, seconds); }
double bench_copy_memcpy(void *user, double seconds) { return time_copies(copy_memcpy, user, seconds); }
