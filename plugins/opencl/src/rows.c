/* The list of kernels: what follows, and every expression of wick/sdk/pointwise.inc that OpenCL can compute. */
#include "kernels.h"
#include "pointwise.h"

#include <string.h>

enum { ALL = OCL_FLOATS | OCL_INTEGERS | WICK_DTYPE_BIT(WICK_BOOL), NUMBERS = OCL_FLOATS | OCL_INTEGERS };
enum { COMPLEX = WICK_DTYPES_COMPLEX };
enum {
    POINTWISE = WICK_KERNEL_FUSED_CAST | WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_HOST_NUMBERS,
    STRIDED = WICK_KERNEL_DETERMINISTIC,
    ROW_MAJOR = WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_CONTIGUOUS
};

#define ROW(schema, fn, dtypes, flags, data) WICK_KERNEL_ROW_WITH(schema, fn, data, dtypes, flags)
static const wick_kernel_row fixed_rows[] = {
    /* elementwise, by kernels that choose the expression */
    ROW("copy_", ocl_copy, 0, POINTWISE, NULL),
    ROW("fill.Scalar", ocl_fill, ALL, STRIDED, NULL),
    ROW("div.Tensor_mode", ocl_div_mode, NUMBERS, POINTWISE, NULL),
    ROW("fmod.Tensor", ocl_fmod, NUMBERS, POINTWISE, NULL),
    ROW("remainder.Tensor", ocl_remainder, NUMBERS, POINTWISE, NULL),
    ROW("pow.Tensor_Scalar", ocl_pow_scalar, NUMBERS, POINTWISE, NULL),
    ROW("conj_physical", ocl_conjugate, ALL | COMPLEX, POINTWISE, NULL),
    ROW("_conj_physical", ocl_conjugate, ALL | COMPLEX, POINTWISE, NULL),
    ROW("bitwise_not", ocl_bitwise_not, OCL_INTEGERS | WICK_DTYPE_BIT(WICK_BOOL), POINTWISE, NULL),
    /* reductions */
    ROW("sum.dim_IntList", ocl_reduce, NUMBERS, STRIDED, &ocl_folds[OCL_SUM]),
    ROW("prod", ocl_reduce_all, NUMBERS, STRIDED, &ocl_folds[OCL_PRODUCT]),
    ROW("prod.dim_int", ocl_reduce, NUMBERS, STRIDED, &ocl_folds[OCL_PRODUCT]),
    ROW("amax", ocl_reduce, ALL, STRIDED, &ocl_folds[OCL_MAXIMUM]),
    ROW("amin", ocl_reduce, ALL, STRIDED, &ocl_folds[OCL_MINIMUM]),
    ROW("any.dims", ocl_reduce, 0, STRIDED, &ocl_folds[OCL_ANY]),
    ROW("all.dims", ocl_reduce, 0, STRIDED, &ocl_folds[OCL_ALL]),
    ROW("argmax", ocl_arg_reduce, ALL, STRIDED, &ocl_folds[OCL_MAXIMUM]),
    ROW("argmin", ocl_arg_reduce, ALL, STRIDED, &ocl_folds[OCL_MINIMUM]),
    ROW("max.dim", ocl_index_reduce, ALL, STRIDED, &ocl_folds[OCL_MAXIMUM]),
    ROW("min.dim", ocl_index_reduce, ALL, STRIDED, &ocl_folds[OCL_MINIMUM]),
    ROW("cumsum", ocl_cumsum, NUMBERS, STRIDED, NULL),
    ROW("cumprod", ocl_cumprod, NUMBERS, STRIDED, NULL),
    /* by index */
    ROW("gather", ocl_gather, ALL, STRIDED, NULL),
    ROW("index_select", ocl_index_select, ALL, STRIDED, NULL),
    ROW("scatter.src", ocl_scatter, ALL, STRIDED, &ocl_scatter_modes[OCL_ASSIGN]),
    ROW("scatter.value", ocl_scatter, ALL, STRIDED, &ocl_scatter_modes[OCL_ASSIGN]),
    ROW("scatter_add", ocl_scatter, ALL, STRIDED, &ocl_scatter_modes[OCL_ADD]),
    ROW("scatter.reduce", ocl_scatter_by_name, ALL, STRIDED, NULL),
    ROW("scatter.value_reduce", ocl_scatter_by_name, ALL, STRIDED, NULL),
    ROW("index.Tensor", ocl_index, ALL, STRIDED, NULL),
    ROW("index_put", ocl_index_put, ALL, STRIDED, NULL),
    ROW("sort.stable", ocl_sort, ALL, STRIDED, NULL),
    ROW("nonzero", ocl_nonzero, 0, STRIDED, NULL),
    /* matrices and windows */
    ROW("bmm", ocl_bmm, NUMBERS, STRIDED, NULL),
    ROW("im2col", ocl_im2col, ALL, ROW_MAJOR, NULL),
    ROW("col2im", ocl_col2im, ALL, ROW_MAJOR, NULL),
    ROW("max_pool2d_with_indices", ocl_max_pool2d, NUMBERS, ROW_MAJOR, NULL),
    ROW("max_pool2d_with_indices_backward", ocl_max_pool2d_backward, NUMBERS, ROW_MAJOR, NULL),
    /* made from nothing */
    ROW("arange.start_step", ocl_arange, NUMBERS, STRIDED, NULL),
    ROW("tril", ocl_tril, ALL, STRIDED, NULL),
    ROW("triu", ocl_triu, ALL, STRIDED, NULL),
    ROW("uniform_", ocl_uniform, OCL_FLOATS, STRIDED, NULL),
    ROW("normal_", ocl_normal, OCL_FLOATS, STRIDED, NULL),
    ROW("exponential_", ocl_exponential, OCL_FLOATS, STRIDED, NULL),
    ROW("bernoulli", ocl_bernoulli_tensor, OCL_FLOATS, STRIDED, NULL),
    ROW("bernoulli_.float", ocl_bernoulli, ALL, STRIDED, NULL),
    ROW("bernoulli_.Tensor", ocl_bernoulli_tensor, ALL, STRIDED, NULL),
    ROW("random_.to", ocl_random_to, ALL, STRIDED, NULL),
    ROW("random_.from", ocl_random_from, ALL, STRIDED, NULL),
};
enum { FIXED = sizeof fixed_rows / sizeof fixed_rows[0] };

static bool is_fixed(const char *schema) {
    for (size_t i = 0; i < FIXED; ++i)
        if (!strcmp(fixed_rows[i].schema, schema)) return true;
    return false;
}

wick_status *ocl_make_rows(ocl *self) {
    size_t most = FIXED + (size_t)ocl_expression_count, n = 0;
    self->rows = self->host->allocate(self->registrar, most * sizeof *self->rows);
    if (!self->rows) return WICK_HOST_ERROR(self->host, WICK_OUT_OF_MEMORY, "opencl: no memory for the kernel table");
    for (; n < FIXED; ++n) {
        self->rows[n] = fixed_rows[n];
        if (self->rows[n].dtypes) self->rows[n].dtypes &= ocl_dtypes_all(self) | COMPLEX;
    }
    for (int i = 0; i < ocl_expression_count; ++i) {
        const ocl_expression *e = &ocl_expressions[i];
        uint32_t dtypes = e->schema && !is_fixed(e->schema) ? ocl_expression_dtypes(self, e) : 0;
        if (dtypes) self->rows[n++] = (wick_kernel_row)ROW(e->schema, ocl_pointwise, dtypes, POINTWISE, e);
    }
    self->backend.kernel_count = n;
    return NULL;
}
