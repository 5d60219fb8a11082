/* Arithmetic on shapes that several families of rules share. Pure functions. */
#ifndef WICK_OPS_GEOMETRY_H
#define WICK_OPS_GEOMETRY_H

#include <wick/sdk/kernel.h>

#include "../src/dispatch.h"

/* A shape with at most one -1, which takes what is left of numel. */
wick_status *geometry_resolve(const int64_t *shape, int ndim, int64_t numel, wick_dim *out);
/* Strides with which t's elements, unmoved, have the given sizes; false if there are none. */
bool geometry_view(const wick_tensor *t, int ndim, const wick_dim *sizes, wick_dim *strides);
/* start and end of a slice (None: the ends; negative: from the end), clamped. */
void geometry_slice(wick_dim size, const wick_value *start, const wick_value *end, int64_t *out_start,
                    int64_t *out_length);
/* True if the elements fill a block of memory, each once (PyTorch's non-overlapping and dense). */
bool geometry_dense(const wick_tensor *t);
/* Strides of a new tensor in a memory format; PRESERVE keeps the order of t's dimensions in memory. */
wick_status *geometry_format(wick_memory_format format, const wick_tensor *t, int ndim, const wick_dim *sizes,
                             wick_dim *strides);

/* Entry k of a list in which one stands for all. */
static inline int64_t entry(const wick_value *list, int k) { return wick_int_at(list, (uint32_t)k, 0); }

/* ---- what shape rules write ---- */
static inline void meta_set(op_meta *m, wick_dtype dtype, int ndim, const wick_dim *sizes) {
    m->dtype = dtype;
    m->ndim = ndim;
    for (int d = 0; d < ndim; ++d) m->sizes[d] = sizes[d]; /* a copy by vectors would wait for sizes just stored */
}
static inline void meta_like(op_meta *m, const wick_tensor *t) { meta_set(m, (wick_dtype)t->dtype, t->ndim, t->sizes); }

#endif
