/* Arguments of renorm.cu. */
#ifndef WICK_GPU_ARGS_RENORM_H
#define WICK_GPU_ARGS_RENORM_H

#include "args.h"

/* Dense rows [count][columns]; those that the n dense indices name get a p-norm of at most `most`. */
typedef struct gpu_renorm_args {
    void *rows;
    const void *index;
    uint8_t *seen; /* by row: 1 where an index names it */
    int32_t dtype, bytes, index_dtype, index_bytes;
    int64_t n, count, columns;
    double most, p;
} gpu_renorm_args;

#endif
