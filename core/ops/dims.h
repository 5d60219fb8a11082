/* Reduced dimensions: which ones an argument names, and what a tensor looks like without them. */
#ifndef WICK_OPS_DIMS_H
#define WICK_OPS_DIMS_H

#include "../src/dispatch.h"

#define MAX_MASK(ndim) ((ndim) ? UINT64_MAX >> (64 - (ndim)) : 0)

/* Bit i: dimension i is named by `dims` (int, int[] or None). None means all; the empty list means all or nothing. */
wick_status *dims_mask(const wick_value *dims, int ndim, bool empty_is_all, uint64_t *out);
/* The sizes of t after a reduction. Returns their number. */
int dims_reduce(const wick_tensor *t, uint64_t mask, bool keepdim, wick_dim *sizes);
/* How many elements go into one result. */
wick_dim dims_count(int ndim, const wick_dim *sizes, uint64_t mask);
/* The named dimensions as a list. Returns their number. */
int dims_list(uint64_t mask, int ndim, int64_t *list);
/* A result without its reduced dimensions gets them back, with size 1. */
wick_tensor *dims_restore(wick_context *c, wick_tensor *t, int ndim, const wick_dim *sizes, uint64_t mask);

#endif
