/* Compiled so that the loop stays a loop (CMakeLists.txt). A second thread copies the second half; both wait for each
 * other after every copy, as the threads of a kernel do. */
#include "copy.h"

#include <pthread.h>
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
    int64_t n;
    atomic_long arrived; /* by both threads together, ever */
} job;

static void meet(job *j, long meeting) {
    atomic_fetch_add(&j->arrived, 1);
    while (atomic_load(&j->arrived) < meeting * j->copy->threads) {
    }
}

static void copy_part(job *j, int part) {
    int64_t count = j->copy->bytes / (int64_t)sizeof(float) / j->copy->threads, first = part * count;
    for (int64_t i = 0; i < j->n; ++i) {
        j->fn(j->copy->to + first, j->copy->from + first, count);
        meet(j, (long)i + 1);
    }
}

static void *second_thread(void *user) {
    copy_part(user, 1);
    return NULL;
}

static void run(copy_fn fn, const bench_copy *copy, int64_t n) {
    job j = {.fn = fn, .copy = copy, .n = n};
    pthread_t thread;
    if (copy->threads > 1 && pthread_create(&thread, NULL, second_thread, &j)) bench_die("cannot start a thread");
    copy_part(&j, 0);
    if (copy->threads > 1) pthread_join(thread, NULL);
}

void bench_copy_loop(void *user, int64_t n) { run(copy_loop, user, n); }
void bench_copy_memcpy(void *user, int64_t n) { run(copy_memcpy, user, n); }
