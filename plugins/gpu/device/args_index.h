/* Arguments of index.cu and scatter.cu. */
#ifndef WICK_GPU_ARGS_INDEX_H
#define WICK_GPU_ARGS_INDEX_H

#include "args.h"

/* base[.., index, ..] against a dense operand. Operands of the walk: 0 dense, 1 base, 2 index. */
typedef struct gpu_index_args {
    void *dense; /* NULL: `item` stands for all of it */
    void *base;
    const void *index;
    int32_t index_dtype, wrap; /* wrap: negative indices count from the end */
    int64_t size;              /* an index is valid in [0, size) */
    int64_t stride;            /* bytes of the base per index */
    unsigned char item[16];    /* reading: what an index that is out of range gives */
    uint32_t n;
    gpu_walk walk;
} gpu_index_args;

/* offsets[i] (+)= index[i] * stride, with negative indices from the end; what is out of range becomes INT64_MIN. Operand
 * of the walk: 0 index. */
typedef struct gpu_offsets_args {
    int64_t *offsets;
    const void *index;
    int32_t index_dtype, first;
    int64_t size, stride;
    uint32_t n;
    gpu_walk walk;
} gpu_offsets_args;

/* Keys of positions: which group of `step` elements of the target each position means. Operands of the walk: 0 target (in
 * elements), 1 index (in bytes). */
typedef struct gpu_scatter_keys_args {
    uint32_t *keys;
    const void *index; /* NULL: no index, as if it were 0 */
    int32_t index_dtype, wrap;
    int64_t size, stride, step; /* stride, step: in elements of the target */
    int64_t skip;               /* an index that is left out, INT64_MIN: none */
    uint32_t none;              /* the key of what is left out or out of range */
    uint32_t n;
    gpu_walk walk;
} gpu_scatter_keys_args;

enum gpu_scatter { GPU_SCATTER_SUM, GPU_SCATTER_PROD, GPU_SCATTER_MAX, GPU_SCATTER_MIN, GPU_SCATTER_LAST };

/* Groups of equal keys are folded and meet the target. Positions in pieces of `piece`; strides in elements. */
typedef struct gpu_scatter_args {
    const uint32_t *keys, *order; /* sorted, n each */
    void *out;
    const void *source;
    void *partial; /* [pieces][2][columns]: what a piece has of the first and of the last group that others share */
    int32_t out_dtype, source_dtype, out_bytes, source_bytes;
    int32_t scatter, mean, with_self;
    uint32_t n, none, piece, pieces;
    int64_t columns, step, whole_alpha;
    double alpha;
    gpu_walk positions; /* operand 0: source */
    gpu_walk column;    /* operands: 0 source, 1 target */
} gpu_scatter_args;

/* True elements of a dense mask, in order. */
typedef struct gpu_select_args {
    const void *mask; /* dense, `dtype` */
    uint32_t *counts; /* by tile of GPU_SELECT_TILE elements; then where each begins, and the total behind them */
    int64_t *out;     /* [rows][ndim]: their coordinates */
    int32_t dtype, bytes, ndim;
    uint32_t n, tiles, most;     /* most: rows that there are */
    gpu_divider sizes[GPU_DIMS]; /* innermost first */
} gpu_select_args;
#define GPU_SELECT_TILE 1024

#endif
