/* Arguments of sort.cu. */
#ifndef WICK_GPU_ARGS_SORT_H
#define WICK_GPU_ARGS_SORT_H

#include "args.h"

#define GPU_RADIX 16 /* values of a digit */
#define GPU_RADIX_THREADS 256
#define GPU_RADIX_ITEMS 8 /* elements of a thread */
#define GPU_RADIX_TILE (GPU_RADIX_THREADS * GPU_RADIX_ITEMS)

/* One digit of a stable radix sort of (key, value) pairs; fewer than 2^31 of them. */
typedef struct gpu_radix_args {
    const void *keys;       /* 4 or 8 bytes each, as the kernel says */
    const uint32_t *values; /* NULL: value i is i */
    void *keys_out;
    uint32_t *values_out;
    uint32_t *counts; /* [GPU_RADIX][tiles] */
    uint32_t n, tiles;
    int32_t shift; /* of the digit */
    int32_t bits;  /* of the keys, where one block sorts all there is: at most a tile */
} gpu_radix_args;

/* Dense [outer][n][inner], sorted along n: row outer * inner + i. */
typedef struct gpu_order_args {
    const void *in;
    void *values, *keys;         /* results [outer][taken][inner]; keys: uint64 or uint32 by position row * n + i */
    int64_t *places;             /* NULL: not wanted */
    const uint32_t *order;       /* positions, sorted */
    int32_t dtype, bytes, bits;  /* bits: of a key, without its row */
    int32_t descending, by_rows; /* by_rows: a key is the row of order[i] */
    uint32_t rows, n, taken;
    int64_t inner;
} gpu_order_args;

#endif
