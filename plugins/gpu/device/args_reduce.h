/* Arguments of reduce.cu and of what reduces like it. */
#ifndef WICK_GPU_ARGS_REDUCE_H
#define WICK_GPU_ARGS_REDUCE_H

#include "args.h"

/* Dimensions, the innermost first, with strides in bytes. */
typedef struct gpu_dims {
    int32_t ndim;
    gpu_divider sizes[GPU_DIMS];
    int64_t in[GPU_DIMS], out[2][GPU_DIMS];
} gpu_dims;

enum gpu_fold { GPU_FOLD_SUM, GPU_FOLD_PROD, GPU_FOLD_MAX, GPU_FOLD_MIN };
/* On every element before the fold. */
enum gpu_map {
    GPU_MAP_NONE,
    GPU_MAP_NAN_TO_ZERO,
    GPU_MAP_ABS,
    GPU_MAP_SQUARE,
    GPU_MAP_ABS_POW,
    GPU_MAP_TRUTH /* x != 0 */
};
/* On every result. */
enum gpu_finish {
    GPU_FINISH_NONE,
    GPU_FINISH_DIVIDE, /* by param */
    GPU_FINISH_SQRT,
    GPU_FINISH_ROOT,  /* x ^ (1 / param) */
    GPU_FINISH_VAR,   /* moments: param is the correction */
    GPU_FINISH_STD,   /* the same */
    GPU_FINISH_BATCH, /* moments: 1 / sqrt(var + param), and running statistics */
};

/* `kept` results of `reduced` elements each. Rows: a team of threads takes a result, or one of its pieces. Columns: a
 * thread takes neighbouring results, other threads take other elements of them. With `packed` an access is 16 bytes, and
 * the innermost dimension of what is walked (the reduced ones of rows, the kept ones of columns) counts accesses. */
typedef struct gpu_reduce_args {
    const void *in, *second; /* second: an operand of the same strides and dtype, for reductions of pairs */
    void *out[2];
    void *partial; /* accumulators, [piece][kept] of columns and [kept][piece] of rows; NULL: results are written */
    int64_t partial_steps[2]; /* second pass: accumulators from a result to the next, from a piece to the next */
    int32_t in_dtype, out_dtypes[2];
    int32_t fold, map, finish;
    double param;
    uint32_t kept, pieces;
    int32_t team, width, packed; /* team: threads of a result; width: of columns side by side */
    int64_t reduced, piece;      /* in accesses */
    int64_t tail;                /* elements behind the last whole access of one-dimensional rows */
    int64_t count;               /* elements that go into a result */
    int64_t kept_out[2];         /* columns: bytes from a result to its neighbour */
    gpu_dims kept_dims, reduced_dims;
    /* statistics of batch normalization */
    void *running[2]; /* mean, variance */
    int32_t running_dtypes[2];
    double momentum;
    const void *mean, *invstd; /* by result */
    int32_t mean_dtype, invstd_dtype;
    int32_t is_variance; /* invstd points at variances, to which param is added */
    void *sums;          /* by result: sum of g, sum of g * (x - mean), of the compute type */
} gpu_reduce_args;

#endif
