/* options.h: the command line, for the files that serve all benchmarks. */
#ifndef WICK_BENCH_OPTIONS_H
#define WICK_BENCH_OPTIONS_H

#include "bench.h"

typedef struct bench_options {
    const char *name, *json, *peer, *only, *child;
    double seconds;
    bench_process *torch; /* started at the first question */
} bench_options;
extern bench_options options;

#endif
