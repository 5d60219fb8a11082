/* Reducing by index: the loops of scatter_op.c, for the operators of scatter.c. */
#ifndef WICK_CPU_SCATTER_H
#define WICK_CPU_SCATTER_H

#include "index.h"

typedef enum cpu_scatter_op {
    CPU_SCATTER_SUM,
    CPU_SCATTER_AXPY,
    CPU_SCATTER_PROD,
    CPU_SCATTER_AMAX,
    CPU_SCATTER_AMIN,
    CPU_SCATTER_OPS
} cpu_scatter_op;

/* A reduction into output 0. f16 and bf16 add up in f32. */
typedef struct cpu_scatter {
    const wick_kernel_call *k;
    cpu_view out;
    cpu_view sum; /* the accumulator: `out`, or an f32 copy in the workspace */
} cpu_scatter;

/* The accumulator starts as a copy of self, or as zeros if self is NULL. */
wick_status *cpu_scatter_begin(const wick_kernel_call *k, const wick_tensor *self, cpu_scatter *s);
/* sum[index] op= dense; the plan's base is s->sum. arg: the factor of CPU_SCATTER_AXPY, an item of the
 * accumulator's dtype. */
wick_status *cpu_scatter_apply(const cpu_scatter *s, cpu_index_plan *plan, cpu_scatter_op op, const void *arg);
/* sum /= counts (i64), where there are any; broadcasts counts. Integers round down. */
void cpu_scatter_divide(const cpu_scatter *s, const cpu_view *counts);
/* Writes the accumulator to the output. */
void cpu_scatter_end(const cpu_scatter *s);
/* The value that leaves everything as it is under `op`, as an item of `dtype`. */
void cpu_scatter_identity(cpu_scatter_op op, wick_dtype dtype, void *out);
/* counts[index] += 1: a place function for i64 bases. */
extern const cpu_place_fn cpu_scatter_count;

#endif
