/* What reading and writing by index share: operands that are walked together, without memory of their own. */
#ifndef WICK_GPU_INDEX_H
#define WICK_GPU_INDEX_H

#include "../device/args_index.h"
#include "gpu.h"

enum { GPU_DENSE, GPU_BASE, GPU_INDEX };

/* A tensor's memory under other sizes and strides. Not copied: `t` points into it. */
typedef struct gpu_view {
    wick_tensor t;
    wick_dim sizes[WICK_MAX_DIMS], strides[WICK_MAX_DIMS]; /* strides in elements */
} gpu_view;

void gpu_view_of(const wick_tensor *t, gpu_view *out); /* a 0-dim tensor reads as [1] */
/* `ndim` dimensions of these sizes, all of stride 0. */
void gpu_view_constant(const wick_tensor *t, int ndim, const wick_dim *sizes, gpu_view *out);
void gpu_view_expand(gpu_view *view, int ndim, const wick_dim *sizes);

/* base[.., index, ..] against a dense operand: all of one shape. The base's stride is 0 where the index chooses. */
typedef struct gpu_index_plan {
    gpu_view view[3]; /* GPU_DENSE .. */
    int64_t size;     /* of the dimension that is indexed */
    int64_t stride;   /* elements of the base per index */
    int64_t grain;    /* what an index moves by is a multiple of this many elements */
    bool wrap;        /* negative indices count from the end */
} gpu_index_plan;

/* Positions along `dim` of `base`, in the shape of `index`; `dense` covers it, NULL: none. */
void gpu_index_along(gpu_index_plan *plan, const wick_tensor *base, int dim, const gpu_view *index,
                     const wick_tensor *dense);
/* A list of positions along `dim` in the shape of `like`. */
void gpu_view_spread(gpu_view *index, int dim, const gpu_view *like);
/* Rows of `weight` by indices; `dense` has a dimension more than `index`. */
void gpu_index_rows(gpu_index_plan *plan, const wick_tensor *weight, const wick_tensor *index,
                    const wick_tensor *dense);
/* Positions in the flattened base. */
void gpu_index_flat(gpu_index_plan *plan, const wick_tensor *base, const wick_tensor *index, const wick_tensor *dense);
/* base[indices] by a Tensor?[]; several tensors are made one in scratch memory, of which `storage` (that lives as long as
 * the plan) then tells. */
wick_status *gpu_index_tensors(const wick_kernel_call *call, gpu_index_plan *plan, const wick_tensor *base,
                               const wick_value *indices, const wick_tensor *dense, wick_storage *storage);

wick_status *gpu_index_read(const wick_kernel_call *call, const gpu_index_plan *plan);
/* `item`: at least 16 bytes, an element of the base repeated; NULL: the dense operand. Where indices meet, one wins. */
wick_status *gpu_index_write(const wick_kernel_call *call, const gpu_index_plan *plan, const void *item);

/* The greatest one; 0 divides nothing and is divided by all. */
int64_t gpu_common_divisor(int64_t a, int64_t b);

/* ---- scatter.c ---- */
/* The output becomes a copy of self; both are dense. */
wick_status *gpu_output_from(const wick_kernel_call *call, const wick_tensor *self);
/* Where indices meet, the last one wins, in row-major order. */
wick_status *gpu_scatter_last(const wick_kernel_call *call, const gpu_index_plan *plan);

#endif
