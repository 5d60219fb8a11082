/* Arguments of scan.cu. */
#ifndef WICK_GPU_ARGS_SCAN_H
#define WICK_GPU_ARGS_SCAN_H

#include "args.h"

enum gpu_scan { GPU_SCAN_SUM, GPU_SCAN_PROD, GPU_SCAN_MAX, GPU_SCAN_MIN, GPU_SCAN_LOG };

/* Dense [rows][n][inner], along n. */
typedef struct gpu_scan_args {
    void *out, *places; /* places: int64, NULL: not wanted */
    const void *in;
    int32_t in_dtype, out_dtype, in_bytes, out_bytes, scan;
    int64_t rows, n, inner;
} gpu_scan_args;

enum gpu_series { GPU_SERIES_ARANGE, GPU_SERIES_LINSPACE, GPU_SERIES_LOGSPACE };

/* Numbers of a dense vector. */
typedef struct gpu_series_args {
    void *out;
    int32_t dtype, bytes, series;
    int64_t n, int_start, int_step;
    double start, step, end, base;
} gpu_series_args;

#endif
