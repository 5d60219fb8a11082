/* Matrix products. */
#include "kernels.h"

enum { ROWS = 32, COLUMNS = 64, SIDE = 8 };

static const ocl_recipe recipe = {.sources = {ocl_source_matmul}, .kernels = {"bmm"}};

/* `product` of kernels/matmul.cl. */
typedef struct product {
    cl_long m, n, k;
    cl_long o[3], a[3], b[3];
} product;

static void strides_of(cl_long *to, const wick_tensor *t) {
    for (int d = 0; d < 3; ++d) to[d] = t->strides[d];
}

/* (self [b, m, k], mat2 [b, k, n]) */
wick_status *ocl_bmm(const wick_kernel_call *call) {
    const wick_tensor *a = wick_arg_tensor(call, 0), *b = wick_arg_tensor(call, 1), *out = wick_out_tensor(call, 0);
    ocl_variant v = {.recipe = &recipe, .compute = out->dtype, .dtypes = {out->dtype, a->dtype, b->dtype}};
    product p = {.m = out->sizes[1], .n = out->sizes[2], .k = a->sizes[2]};
    size_t groups[] = {(size_t)(p.n + COLUMNS - 1) / COLUMNS, (size_t)(p.m + ROWS - 1) / ROWS, (size_t)out->sizes[0]};
    ocl_launch launch;
    if (out->numel == 0) return NULL;
    strides_of(p.o, out), strides_of(p.a, a), strides_of(p.b, b);
    WICK_TRY(ocl_begin(&launch, call, &v, 0, p.m * p.n * p.k));
    ocl_arg(&launch, &p, sizeof p);
    ocl_arg_tensor(&launch, out), ocl_arg_tensor(&launch, a), ocl_arg_tensor(&launch, b);
    return ocl_end(&launch, 3, groups, (const size_t[]){SIDE, SIDE, 1});
}
