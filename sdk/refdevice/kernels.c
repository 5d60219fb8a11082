/* Every kernel of the device. README.md says what each is needed for; all other operators decompose into these. */
#include "kernel.h"

#define FLOATS (WICK_DTYPES_FLOAT | WICK_DTYPES_F8)
#define COMPLEXES WICK_DTYPES_COMPLEX
#define INTEGERS (WICK_DTYPES_INT | WICK_DTYPES_UINT)
#define BOOLS WICK_DTYPE_BIT(WICK_BOOL)
#define REALS (FLOATS | INTEGERS | BOOLS)
#define ANY 0

#define COMMON (WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_CAPTURE_SAFE)
#define STRIDED(schema, fn, dtypes) WICK_KERNEL_ROW(schema, fn, dtypes, COMMON)
#define ROW_MAJOR(schema, fn, dtypes) WICK_KERNEL_ROW(schema, fn, dtypes, COMMON | WICK_KERNEL_CONTIGUOUS)
#define POINTWISE(schema, name, dtypes) \
    WICK_KERNEL_ROW_WITH(schema, ref_run_pointwise, &ref_##name, dtypes, COMMON | WICK_KERNEL_HOST_NUMBERS)

const wick_kernel_row ref_kernels[] = {
    /* memory */
    STRIDED("copy_", ref_copy, ANY),
    STRIDED("fill.Scalar", ref_fill, ANY),
    STRIDED("arange.start_step", ref_arange, ANY),
    STRIDED("uniform_", ref_uniform, FLOATS),
    /* one operand */
    POINTWISE("neg", neg, FLOATS | INTEGERS | COMPLEXES),
    POINTWISE("exp", exp, FLOATS | COMPLEXES),
    POINTWISE("log", log, FLOATS | COMPLEXES),
    POINTWISE("sqrt", sqrt, FLOATS | COMPLEXES),
    POINTWISE("reciprocal", reciprocal, FLOATS | COMPLEXES),
    POINTWISE("sin", sin, FLOATS | COMPLEXES),
    POINTWISE("cos", cos, FLOATS | COMPLEXES),
    POINTWISE("tanh", tanh, FLOATS | COMPLEXES),
    POINTWISE("erf", erf, FLOATS),
    POINTWISE("floor", floor, FLOATS | INTEGERS),
    POINTWISE("logical_not", logical_not, ANY),
    POINTWISE("conj_physical", conj_physical, ANY),
    /* two and three operands */
    POINTWISE("add.Tensor", add, ANY),
    POINTWISE("mul.Tensor", mul, ANY),
    POINTWISE("div.Tensor", div, FLOATS | COMPLEXES),
    POINTWISE("pow.Tensor_Tensor", pow, ANY),
    POINTWISE("atan2", atan2, FLOATS),
    POINTWISE("maximum", maximum, REALS),
    POINTWISE("minimum", minimum, REALS),
    POINTWISE("eq.Tensor", eq, ANY),
    POINTWISE("lt.Tensor", lt, REALS),
    POINTWISE("le.Tensor", le, REALS),
    POINTWISE("bitwise_and.Tensor", bitwise_and, INTEGERS | BOOLS),
    POINTWISE("where.self", where, ANY),
    /* along dimensions */
    STRIDED("sum.dim_IntList", ref_sum, ANY),
    STRIDED("amax", ref_amax, REALS),
    ROW_MAJOR("argmax", ref_argmax, REALS),
    ROW_MAJOR("cumsum", ref_cumsum, ANY),
    ROW_MAJOR("sort.stable", ref_sort, REALS),
    /* by index */
    STRIDED("gather", ref_gather, ANY),
    STRIDED("scatter.src", ref_scatter, ANY),
    STRIDED("scatter_add", ref_scatter_add, ANY),
    WICK_KERNEL_ROW("nonzero", ref_nonzero, ANY, WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_CONTIGUOUS), /* waits */
    /* products and patches */
    STRIDED("bmm", ref_bmm, ANY),
    ROW_MAJOR("im2col", ref_im2col, ANY),
    ROW_MAJOR("col2im", ref_col2im, ANY),
};
const uint64_t ref_kernel_count = sizeof ref_kernels / sizeof *ref_kernels;
_Static_assert(sizeof ref_kernels / sizeof *ref_kernels <= 40, "a device needs no more than 40 kernels");
