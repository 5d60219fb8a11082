/* Resampling as tables: output o of a dimension is a weighted sum of a few inputs. Nearest, linear and cubic
 * upsampling and reflection and replication padding differ only in the tables; their backwards scatter with the
 * same ones. */
#ifndef WICK_CPU_UPSAMPLE_TAPS_H
#define WICK_CPU_UPSAMPLE_TAPS_H

#include "gemm.h"

typedef struct taps {
    int64_t planes, in[3], out[3];
    int64_t count[3];  /* taps of an output */
    int64_t *index[3]; /* [out][count] */
    void *weight[3];   /* [out][count], f32 or f64; NULL in all dimensions: every weight is 1 and count is 1 */
} taps;

/* Sizes from the last `ndim` dimensions of two tensors; a missing leading dimension has size 1. */
void taps_sizes(taps *t, const wick_tensor *in, const wick_tensor *out, int ndim);
/* Memory for the tables, whose counts are set; weights only where `weight_bytes` is not 0. */
wick_status *taps_allocate(const wick_kernel_call *call, taps *t, size_t weight_bytes);

/* y = x resampled. copy: weights of 1, any element of `bytes`; sum: f32, f64, or u8 computed in f32 and rounded. */
void taps_copy(cpu_instance *cpu, const taps *t, size_t bytes, const void *x, void *y);
void taps_sum(cpu_instance *cpu, const taps *t, wick_dtype dtype, const void *x, void *y);
/* dx = what each input gave, summed: f32, f64, or (weights of 1 only) c64, c128 and int64. */
void taps_scatter(cpu_instance *cpu, const taps *t, wick_dtype dtype, const void *dy, void *dx);

#endif
