/* Kernels that need an element's place: sequences, triangles, running sums and products. */
#include "kernels.h"

enum { ARANGE, TRIL, TRIU, CUMSUM, CUMPROD, KINDS };
#define RECIPE(kind, kernel) \
    { .sources = {ocl_source_scan}, .kernels = {kernel}, .expression = #kind }
static const ocl_recipe recipes[KINDS] = {RECIPE(ARANGE, "arange"), RECIPE(TRIL, "triangle"), RECIPE(TRIU, "triangle"),
                                          RECIPE(CUMSUM, "scan"), RECIPE(CUMPROD, "scan")};

/* (start, end, step, ..) */
wick_status *ocl_arange(const wick_kernel_call *call) {
    const wick_tensor *out = wick_out_tensor(call, 0);
    wick_dtype compute = wick_tensor_dtype(out);
    if (wick_dtype_is_floating(compute) && ocl_of(call)->fp64) compute = WICK_F64;
    ocl_variant v = {.recipe = &recipes[ARANGE], .compute = (uint8_t)compute, .dtypes = {out->dtype}};
    ocl_view view;
    ocl_launch launch;
    if (!ocl_view_of(&view, out, -1, &out, 1)) return ocl_view_error(call);
    v.wide = ocl_view_is_wide(&view);
    WICK_TRY(ocl_begin(&launch, call, &v, 0, out->numel));
    ocl_arg(&launch, &view, sizeof view), ocl_arg_tensor(&launch, out);
    ocl_arg_number(&launch, compute, &call->values[0]), ocl_arg_number(&launch, compute, &call->values[2]);
    return ocl_end_items(&launch, view.numel);
}

/* (self, diagonal) */
static wick_status *triangle(const wick_kernel_call *call, int kind) {
    const wick_tensor *in = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, 0), *both[] = {out, in};
    ocl_variant v = {.recipe = &recipes[kind], .compute = out->dtype, .dtypes = {out->dtype, in->dtype}};
    ocl_view view;
    ocl_launch launch;
    if (!ocl_view_of(&view, out, -1, both, 2)) return ocl_view_error(call);
    v.wide = ocl_view_is_wide(&view);
    WICK_TRY(ocl_begin(&launch, call, &v, 0, out->numel));
    ocl_arg(&launch, &view, sizeof view), ocl_arg_tensor(&launch, out), ocl_arg_tensor(&launch, in);
    ocl_arg_long(&launch, out->sizes[out->ndim - 2]), ocl_arg_long(&launch, out->sizes[out->ndim - 1]);
    ocl_arg_long(&launch, wick_value_as_int(&call->values[1]));
    return ocl_end_items(&launch, view.numel);
}

wick_status *ocl_tril(const wick_kernel_call *call) { return triangle(call, TRIL); }
wick_status *ocl_triu(const wick_kernel_call *call) { return triangle(call, TRIU); }

/* (self, dim, dtype) */
static wick_status *scan(const wick_kernel_call *call, int kind) {
    const wick_tensor *in = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, 0), *both[] = {out, in};
    int dim = wick_dim_of(&call->values[1], in->ndim);
    ocl_variant v = {.recipe = &recipes[kind], .compute = out->dtype, .dtypes = {out->dtype, in->dtype}};
    cl_long count = 1, strides[2] = {0, 0};
    ocl_view view;
    ocl_launch launch;
    if (out->numel == 0) return NULL;
    if (in->ndim > 0) count = in->sizes[dim], strides[0] = out->strides[dim], strides[1] = in->strides[dim];
    if (!ocl_view_of(&view, out, dim, both, 2)) return ocl_view_error(call);
    v.wide = ocl_view_is_wide(&view);
    WICK_TRY(ocl_begin(&launch, call, &v, 0, out->numel));
    ocl_arg(&launch, &view, sizeof view), ocl_arg_tensor(&launch, out), ocl_arg_tensor(&launch, in);
    ocl_arg_long(&launch, count), ocl_arg(&launch, strides, sizeof strides);
    return ocl_end_items(&launch, view.numel);
}

wick_status *ocl_cumsum(const wick_kernel_call *call) { return scan(call, CUMSUM); }
wick_status *ocl_cumprod(const wick_kernel_call *call) { return scan(call, CUMPROD); }
