/* How an elementwise loop goes through n elements: EACH RESULT = ...; EACH_END, for each i, with the results at `o`. Where
 * PW_STREAMED is defined it makes a line of memory at a time, which goes past the caches: n is of whole lines, and `o` begins
 * one. */
#ifndef WICK_CPU_POINTWISE_EACH_H
#define WICK_CPU_POINTWISE_EACH_H

#include "pointwise.h"

#ifdef PW_STREAMED
#include "stream.h"
#define LINE ((int64_t)(CPU_STREAM_LINE / sizeof *o))
#define EACH                                                                    \
    for (int64_t first = 0; first < n; first += LINE) {                         \
        _Alignas(CPU_STREAM_LINE) __typeof__(*o) line[LINE];                    \
        CPU_INDEPENDENT for (int64_t j = 0; j < LINE; ++j) { /* in registers */ \
            const int64_t i = first + j;
#define RESULT line[j]
#define EACH_END                      \
    }                                 \
    cpu_stream_line(o + first, line); \
    }
#else
#define EACH CPU_INDEPENDENT for (int64_t i = 0; i < n; ++i) {
#define RESULT o[i]
#define EACH_END }
#endif

#endif
