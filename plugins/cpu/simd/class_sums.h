/* Sums over samples of a loss of classes, in pieces that the shape alone decides, so that results do not depend on threads. */
#ifndef WICK_CPU_CLASS_SUMS_H
#define WICK_CPU_CLASS_SUMS_H

#include <cpu.h>

enum { CLASS_PIECES = 64 };

typedef struct class_sums {
    double loss[CLASS_PIECES], weight[CLASS_PIECES];
    int64_t bad[CLASS_PIECES]; /* a sample of that piece whose target is out of range, -1: none */
} class_sums;

static inline void class_sums_begin(class_sums *s, int64_t piece) {
    s->loss[piece] = s->weight[piece] = 0, s->bad[piece] = -1;
}

/* Adds the n pieces up in the first. */
static inline wick_status *class_sums_join(const wick_kernel_call *call, class_sums *s, int64_t n, int64_t classes) {
    for (int64_t i = 0; i < n; ++i)
        if (s->bad[i] >= 0)
            return WICK_HOST_ERROR(call->host, WICK_OUT_OF_RANGE, "the target of sample %lld is not below %lld",
                                   (long long)s->bad[i], (long long)classes);
    for (int64_t i = 1; i < n; ++i) s->loss[0] += s->loss[i], s->weight[0] += s->weight[i];
    return NULL;
}

#endif
