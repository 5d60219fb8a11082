/* copy.h: the yardstick of what moves memory: a STREAM-like copy on one or more threads. */
#ifndef WICK_BENCH_COPY_H
#define WICK_BENCH_COPY_H

#include "bench.h"

typedef struct bench_copy {
    float *from, *to;
    int64_t bytes; /* to read; as many are written */
    int threads;   /* 1 or 2 */
} bench_copy;

/* A plain loop with ordinary stores, and libc's memcpy: a bench_timed each, of which `user` is a bench_copy. */
double bench_copy_loop(void *user, double seconds);
double bench_copy_memcpy(void *user, double seconds);

#endif
