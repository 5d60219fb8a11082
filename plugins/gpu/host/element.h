/* Dtypes of the kernels, and single elements made on the host. */
#ifndef WICK_GPU_ELEMENT_H
#define WICK_GPU_ELEMENT_H

#include "gpu.h"

#define GPU_REALS WICK_DTYPES_FLOAT
#define GPU_WHOLES (WICK_DTYPES_INT | WICK_DTYPE_BIT(WICK_BOOL))

/* Can device code read and write elements of this dtype (GPU_DTYPES of device/gpu.h)? */
static inline bool gpu_has_dtype(wick_dtype d) { return (WICK_DTYPE_BIT(d) & (GPU_REALS | GPU_WHOLES)) != 0; }
static inline bool gpu_is_real(wick_dtype d) { return (WICK_DTYPE_BIT(d) & GPU_REALS) != 0; }

/* UNSUPPORTED: the operator has no kernel for this dtype on this device. */
wick_status *gpu_refuse(const wick_kernel_call *call, wick_dtype dtype);
/* Writes a number as one element, rounded to nearest even; false for a dtype that is not made here. */
bool gpu_element_of(const wick_value *number, wick_dtype dtype, void *out);
/* Scratch memory for the call's kernels, as a device address. */
wick_status *gpu_scratch(const wick_kernel_call *call, int64_t bytes, void **out);

#endif
