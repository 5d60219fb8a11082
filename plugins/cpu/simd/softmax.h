/* One softmax-like call: every line along one dimension is normalized on its own. */
#ifndef WICK_CPU_SOFTMAX_H
#define WICK_CPU_SOFTMAX_H

#include "reduction.h"

enum {
    SOFTMAX_BYTES = 16384,    /* of a block of a line, or of a block of neighbouring lines */
    SOFTMAX_LANES = 32,       /* elements that are worked on together: loops of 16 and fewer do not vectorize */
    SOFTMAX_SHORT = 32,       /* rows that are not longer are worked on side by side, as columns are */
    SOFTMAX_ROW_COUNT = 8192, /* elements of the rows of one task */
    SOFTMAX_COLUMNS = 256     /* neighbouring lines that are worked on together */
};

typedef struct softmax_job {
    reduce_shape shape;
    int64_t n, in_stride, out_stride, other_stride; /* of a line */
    acc_operand in, out, other;                     /* other: the forward's result, in a backward */
    bool log, safe;                                 /* safe: a line of only -inf gives zeros */
} softmax_job;

#endif
