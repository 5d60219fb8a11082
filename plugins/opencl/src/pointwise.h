/* Elementwise kernels, made from the expressions of wick/sdk/pointwise.inc. */
#ifndef OCL_POINTWISE_H
#define OCL_POINTWISE_H

#include "view.h"

typedef struct ocl_expression {
    ocl_recipe recipe;
    const char *schema;  /* NULL: chosen by a kernel of its own */
    const char *classes; /* R real, I integer, B bool, C complex */
    int inputs;
} ocl_expression;

/* The list, in the order of pointwise.inc, then copying and filling. In general variants groups of OCL_MAX_KERNELS
 * neighbours share a program. */
extern const ocl_expression ocl_expressions[];
extern const int ocl_expression_count;
/* Bits of the compute dtypes for which the expression holds and all its functions are known; 0: none. */
uint32_t ocl_expression_dtypes(const ocl *self, const ocl_expression *e);

/* True if the expression holds for a class of ocl_class_of. */
bool ocl_expression_has_class(const ocl *self, const ocl_expression *e, wick_dtype class_dtype);

/* Runs `call->data`, an ocl_expression: tensors first, then its scalars. */
wick_status *ocl_pointwise(const wick_kernel_call *call);
/* Runs an expression on given operands and numbers. */
wick_status *ocl_pointwise_run(const wick_kernel_call *call, const ocl_expression *e, wick_dtype compute,
                               const wick_tensor *const *operands, const wick_value *scalars);

/* Copies the elements of a tensor into another one that it broadcasts to, with the conversion that PyTorch does;
 * between equal dtypes, of any kind, the bytes. */
wick_status *ocl_convert(const wick_kernel_call *call, const wick_tensor *to, const wick_tensor *from);

wick_status *ocl_copy(const wick_kernel_call *call);
wick_status *ocl_fill(const wick_kernel_call *call);
wick_status *ocl_div_mode(const wick_kernel_call *call);
wick_status *ocl_fmod(const wick_kernel_call *call);
wick_status *ocl_remainder(const wick_kernel_call *call);
wick_status *ocl_pow_scalar(const wick_kernel_call *call);
wick_status *ocl_conjugate(const wick_kernel_call *call); /* c64 and c128 too */
wick_status *ocl_bitwise_not(const wick_kernel_call *call);

#endif
