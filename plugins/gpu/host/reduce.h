/* Reductions on the host side: geometry, how threads are laid over it, and the launches. */
#ifndef WICK_GPU_REDUCE_HOST_H
#define WICK_GPU_REDUCE_HOST_H

#include "../device/args_reduce.h"
#include "element.h"

/* The kernels of one reduction; access: elements that its source reads at once where memory allows it. */
typedef struct gpu_reduce_kernels {
    gpu_kernel rows, columns, finish;
    uint8_t access, acc_bytes;
} gpu_reduce_kernels;

typedef struct gpu_reduction {
    gpu_reduce_args args; /* what is folded is the caller's to fill in; the rest is made here */
    const gpu_reduce_kernels *kernels;
    bool columns;
    int64_t kept_count;
} gpu_reduction;

/* Sets operands and geometry. The results have the kept dimensions or all of them; out1 may be NULL. in_order: reduced
 * elements keep their logical order. UNSUPPORTED for what no 31-bit walk covers. */
wick_status *gpu_reduce_shape(const wick_kernel_call *call, gpu_reduction *r, const wick_tensor *in, uint64_t mask,
                              const wick_tensor *out0, const wick_tensor *out1, bool in_order);
/* One launch, or two where few results have many elements each. */
wick_status *gpu_reduce_run(const wick_kernel_call *call, gpu_reduction *r);

/* The kernels of moments of a dtype; NULL for one without. */
const gpu_reduce_kernels *gpu_moment_kernels(wick_dtype dtype);

#endif
