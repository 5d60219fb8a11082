/* Pooling in two and three dimensions: what the families share. Tensors are contiguous; all leading dimensions together
 * are planes, so that an unbatched input needs no care. Loops exist for f32, f64 and int64; widen.h brings the rest. */
#ifndef WICK_CPU_POOL_WINDOWS_H
#define WICK_CPU_POOL_WINDOWS_H

#include "gemm.h"
#include "widen.h"

/* Output o of dimension d sees the inputs begin[d][o], begin + step, ... below end[d][o]. A missing leading dimension
 * has size 1. */
typedef struct pool_windows {
    int64_t planes, in[3], out[3], step[3];
    int64_t *begin[3], *end[3];
    int64_t *length[3]; /* of the window with its share of the padding, for averages */
} pool_windows;

/* kernel, stride, padding and dilation stand at `first` and after it (dilation only if there is one). */
wick_status *pool_windows_read(const wick_kernel_call *call, const wick_tensor *in, const wick_tensor *out, int ndim,
                               int first, bool dilated, pool_windows *w);
/* Input and output sizes decide. */
wick_status *pool_windows_adaptive(const wick_kernel_call *call, const wick_tensor *in, const wick_tensor *out,
                                   int ndim, pool_windows *w);

static inline int64_t pool_in_plane(const pool_windows *w) { return w->in[0] * w->in[1] * w->in[2]; }
static inline int64_t pool_out_plane(const pool_windows *w) { return w->out[0] * w->out[1] * w->out[2]; }
/* Planes a chunk, for about `work` steps a plane. */
static inline int64_t pool_grain(int64_t work) { return 1 + CPU_GRAIN / (work + 1); }
static inline bool pool_is_native(wick_dtype dtype) { return cpu_wide_dtype(dtype) == dtype; }

/* The entry of a table with one function for each native dtype. */
static inline int pool_type_index(wick_dtype dtype) { return dtype == WICK_F32 ? 0 : dtype == WICK_F64 ? 1 : 2; }

#define POOL_FLOATS WICK_DTYPES_FLOAT
#define POOL_AVERAGED (POOL_FLOATS | WICK_DTYPE_BIT(WICK_I64))
#define POOL_NUMBERS (POOL_FLOATS | WICK_DTYPES_INT)
#define POOL_FLAGS (WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_DETERMINISTIC)

#endif
