/* Runs a kernel that knows few dtypes on tensors of more: narrow ones are brought to a wide one and back. */
#ifndef WICK_CPU_WIDEN_H
#define WICK_CPU_WIDEN_H

#include "cpu.h"

/* Calls `fn` with every tensor of a narrow dtype replaced by a contiguous copy in scratch memory: f16, bf16 and the f8s
 * as F32, integers and bool as I64. Results are rounded once, when they are copied into the call's outputs. Tensors
 * of other dtypes are handed on as they are. */
wick_status *cpu_call_widened(const wick_kernel_call *call, wick_kernel_fn fn);

/* The dtype that cpu_call_widened uses for `dtype`. */
wick_dtype cpu_wide_dtype(wick_dtype dtype);

/* Converts the tensor's elements, in row-major order, to and from a contiguous array of its wide dtype. */
void cpu_widen_to(cpu_instance *cpu, const wick_tensor *t, void *out);
void cpu_narrow_from(cpu_instance *cpu, const wick_tensor *t, const void *in);

/* Copies them, in the same order, to and from a contiguous array of the tensor's own dtype. */
void cpu_pack_to(cpu_instance *cpu, const wick_tensor *t, void *out);
void cpu_unpack_from(cpu_instance *cpu, const wick_tensor *t, const void *in);

#endif
