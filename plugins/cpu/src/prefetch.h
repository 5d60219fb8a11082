/* Who asks for memory ahead of a loop: measured on arrays beyond the caches. Intel's processors begin anew with every page,
 * so that loops with arithmetic, and rows that are read twice, gain from asking. AMD's (Zen 4) fetch alone what is read in
 * the order of memory, but not fast enough for loops that do next to nothing, and not where the order is another one. */
#ifndef WICK_CPU_PREFETCH_H
#define WICK_CPU_PREFETCH_H

#include <stdbool.h>
#include <stdint.h>

static inline bool cpu_is_amd(void) {
#if defined(__x86_64__)
    return __builtin_cpu_is("amd") != 0;
#else
    return false;
#endif
}

/* For memory that is read in its order. */
static inline bool cpu_prefetches_lines(void) { return !cpu_is_amd(); }
/* For sums and maxima of several rows side by side. Along one row, which they read faster than the hardware reads ahead, they
 * ask on every processor. */
static inline bool cpu_prefetches_rows(void) { return cpu_is_amd(); }

/* Bytes that they ask ahead along a row. */
static inline int64_t cpu_prefetch_distance(void) { return cpu_is_amd() ? 8192 : 2048; }

/* Functions that only prefetch must be inlined early: gcc takes them for functions without effect and drops their calls. */
#define CPU_PREFETCHES static inline __attribute__((always_inline))

/* Asks for `bytes` from `from` on; they need not be mapped. */
CPU_PREFETCHES void cpu_prefetch(const void *from, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch((const char *)from + i);
}

#endif
