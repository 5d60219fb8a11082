/* Sizes and strides as kernels get them: the `view` of kernels/view.cl, by value. */
#ifndef OCL_VIEW_H
#define OCL_VIEW_H

#include "program.h"

enum { OCL_DIMS = 8, OCL_VIEW_OPERANDS = 5 };

typedef struct ocl_view {
    cl_long numel;
    cl_long ndim;
    cl_long sizes[OCL_DIMS];                      /* dimension 0 is the innermost */
    cl_long strides[OCL_VIEW_OPERANDS][OCL_DIMS]; /* in elements */
} ocl_view;

/* A view of one element. */
void ocl_view_clear(ocl_view *view);
/* Adds an outer dimension, with a stride for each of `n` operands; one that continues the last for all is merged.
 * False if there are too many. */
bool ocl_view_push(ocl_view *view, int64_t size, const int64_t *strides, int n);
/* The dimensions of `shape` in row-major order, with the strides of n tensors; a dimension that a tensor lacks, or in
 * which it has one element, is broadcast. `skip`, if not -1, is a dimension that is left out. False if there are too
 * many. */
bool ocl_view_of(ocl_view *view, const wick_tensor *shape, int skip, const wick_tensor *const *tensors, int n);
/* True if positions need more than 31 bits. */
bool ocl_view_is_wide(const ocl_view *view);
/* The error for a view that has too many dimensions. */
wick_status *ocl_view_error(const wick_kernel_call *call);

#endif
