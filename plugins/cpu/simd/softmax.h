/* One softmax-like call: every line along one dimension is normalized on its own. */
#ifndef WICK_CPU_SOFTMAX_H
#define WICK_CPU_SOFTMAX_H

#include "math_f32.h"
#include "reduction.h"

enum {
    SOFTMAX_BYTES = 16384,    /* of a block of a line, or of a block of neighbouring lines */
    SOFTMAX_LANES = 32,       /* elements that are worked on together: loops of 16 and fewer do not vectorize */
    SOFTMAX_SHORT = 32,       /* rows that are not longer are worked on side by side, as columns are */
    SOFTMAX_ROW_COUNT = 8192, /* elements of the rows of one task */
    SOFTMAX_COLUMNS = 256     /* neighbouring lines that are worked on together */
};

#define ADD(a, b) ((a) + (b))
#define MAX(a, b) ((b) > (a) ? (b) : (a))

/* exp(d) for d <= 0, and 0 where it would be subnormal: beside a sum of at least 1 that is nothing, and subnormal
 * results take a hundred times longer. */
static inline float exp_below_f32(float d) {
    int32_t n;
    float r = exp_reduce_f32(d < -87.0f ? -87.0f : d, &n);
    float e = FMA_F32(FMA_F32(exp_tail_f32(r), r, 1.0f), r, 1.0f) * pow2_f32(n);
    return d < -87.0f ? 0 : e;
}

typedef struct softmax_job {
    reduce_shape shape;
    int64_t n, in_stride, out_stride, other_stride; /* of a line */
    acc_operand in, out, other;                     /* other: the forward's result, in a backward */
    bool log, safe;                                 /* safe: a line of only -inf gives zeros */
} softmax_job;

#endif
