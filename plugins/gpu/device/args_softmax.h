/* Arguments of softmax.cu. */
#ifndef WICK_GPU_ARGS_SOFTMAX_H
#define WICK_GPU_ARGS_SOFTMAX_H

#include "args.h"

/* Dense [rows][n][inner]; inner is 1 but for the kernels of columns. Backward: `in` is the gradient of the result,
 * `result` what the forward gave. */
typedef struct gpu_softmax_args {
    void *out;
    const void *in, *result;
    int32_t in_dtype, result_dtype, out_dtype; /* columns only: the others have one dtype */
    int32_t log;                               /* log_softmax */
    int32_t safe;                              /* a row of -inf becomes zeros */
    int32_t team;                              /* threads of a row */
    int64_t rows, n, inner;
} gpu_softmax_args;

#endif
