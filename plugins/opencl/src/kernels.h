/* The kernels that are not elementwise, by file. Each takes the arguments of the operator it is named after. */
#ifndef OCL_KERNELS_H
#define OCL_KERNELS_H

#include "view.h"

/* ---- reduce.c: (self, dim, keepdim, ..); call->data is the kind ---- */
typedef enum ocl_fold { OCL_SUM, OCL_PRODUCT, OCL_MAXIMUM, OCL_MINIMUM, OCL_ANY, OCL_ALL, OCL_FOLDS } ocl_fold;
extern const ocl_fold ocl_folds[]; /* ocl_folds[i] == i: what call->data points at */
wick_status *ocl_reduce(const wick_kernel_call *call);
/* (self, dtype): over all dimensions */
wick_status *ocl_reduce_all(const wick_kernel_call *call);
/* (self, dim, keepdim) -> positions */
wick_status *ocl_arg_reduce(const wick_kernel_call *call);
/* (self, dim, keepdim) -> (values, positions) */
wick_status *ocl_index_reduce(const wick_kernel_call *call);

/* ---- index.c ---- */
wick_status *ocl_gather(const wick_kernel_call *call);
wick_status *ocl_index_select(const wick_kernel_call *call);
/* call->data: the mode */
typedef enum ocl_scatter_mode { OCL_ASSIGN, OCL_ADD, OCL_MULTIPLY, OCL_SCATTERS } ocl_scatter_mode;
extern const ocl_scatter_mode ocl_scatter_modes[];
/* OUT_OF_RANGE if there are indices but nothing that they could point to. */
wick_status *ocl_check_size(const wick_kernel_call *call, int64_t indices, int64_t size);
/* Brings self, argument 0, into the output, unless they are the same. */
wick_status *ocl_start_from_self(const wick_kernel_call *call);
wick_status *ocl_scatter(const wick_kernel_call *call);
/* (self, dim, index, src, reduce) */
wick_status *ocl_scatter_by_name(const wick_kernel_call *call);

/* ---- index_list.c: one tensor of indices for each of several dimensions ---- */
wick_status *ocl_index(const wick_kernel_call *call);     /* (self, indices) */
wick_status *ocl_index_put(const wick_kernel_call *call); /* (self, indices, values, accumulate) */

/* ---- select.c ---- */
wick_status *ocl_sort(const wick_kernel_call *call);
wick_status *ocl_nonzero(const wick_kernel_call *call);

/* ---- matmul.c ---- */
wick_status *ocl_bmm(const wick_kernel_call *call);

/* ---- window.c ---- */
wick_status *ocl_im2col(const wick_kernel_call *call);
wick_status *ocl_col2im(const wick_kernel_call *call);
wick_status *ocl_max_pool2d(const wick_kernel_call *call);
wick_status *ocl_max_pool2d_backward(const wick_kernel_call *call);

/* ---- random.c ---- */
wick_status *ocl_uniform(const wick_kernel_call *call);
wick_status *ocl_normal(const wick_kernel_call *call);
wick_status *ocl_exponential(const wick_kernel_call *call);
wick_status *ocl_bernoulli(const wick_kernel_call *call);        /* (self, p) */
wick_status *ocl_bernoulli_tensor(const wick_kernel_call *call); /* the last tensor argument holds the chances */
wick_status *ocl_random_to(const wick_kernel_call *call);        /* (self, to) */
wick_status *ocl_random_from(const wick_kernel_call *call);      /* (self, from, to) */

/* ---- scan.c ---- */
wick_status *ocl_arange(const wick_kernel_call *call);
wick_status *ocl_tril(const wick_kernel_call *call);
wick_status *ocl_triu(const wick_kernel_call *call);
wick_status *ocl_cumsum(const wick_kernel_call *call);
wick_status *ocl_cumprod(const wick_kernel_call *call);

#endif
