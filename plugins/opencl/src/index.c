/* Reading and writing by index along one dimension. */
#include "kernels.h"
#include "pointwise.h"

#include <string.h>

const ocl_scatter_mode ocl_scatter_modes[] = {OCL_ASSIGN, OCL_ADD, OCL_MULTIPLY};

static const ocl_recipe gather_recipe = {.sources = {ocl_source_index},
                                         .kernels = {"gather"},
                                         .expression = "0\n#define GATHER",
                                         .places = "B",
                                         .complex = true};
#define SCATTER_RECIPE(mode) \
    { .sources = {ocl_source_index}, .kernels = {"scatter"}, .expression = #mode, .kinds = "TTT", .places = "B" }
static const ocl_recipe scatter_recipes[OCL_SCATTERS] = {SCATTER_RECIPE(ASSIGN), SCATTER_RECIPE(ADD),
                                                         SCATTER_RECIPE(MULTIPLY)};

/* A tensor with strides (and sizes) of its own over another one's memory, for a view. */
typedef struct restrided {
    wick_tensor tensor;
    wick_dim strides[WICK_MAX_DIMS];
} restrided;

static void restride(restrided *r, const wick_tensor *memory, const wick_tensor *shape) {
    r->tensor = *memory;
    r->tensor.ndim = shape->ndim, r->tensor.sizes = shape->sizes, r->tensor.strides = r->strides;
    memset(r->strides, 0, sizeof r->strides);
}

wick_status *ocl_check_size(const wick_kernel_call *call, int64_t indices, int64_t size) {
    if (indices == 0 || size > 0) return NULL;
    return WICK_HOST_ERROR(call->host, WICK_OUT_OF_RANGE, "%s: an index into a dimension of size 0",
                           call->host->op_name(call->op));
}

/* ---- gather ---- */
/* out[..] = self[.. index at position .. of a tensor with the strides of `index` ..]. */
static wick_status *gather(const wick_kernel_call *call, const wick_tensor *index) {
    const wick_tensor *self = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, 0);
    int dim = wick_dim_of(&call->values[1], self->ndim);
    int64_t size = self->ndim ? self->sizes[dim] : 1, stride = self->ndim ? self->strides[dim] : 0;
    ocl_variant v = {.recipe = &gather_recipe, .dtypes = {out->dtype, self->dtype, index->dtype}};
    restrided source;
    ocl_view view;
    ocl_launch launch;
    WICK_TRY(ocl_check_size(call, out->numel, size));
    restride(&source, self, out);
    for (int d = 0; d < self->ndim; ++d) source.strides[d] = d == dim ? 0 : self->strides[d];
    v.compute = out->dtype;
    if (!ocl_view_of(&view, out, -1, (const wick_tensor *[]){out, &source.tensor, index}, 3))
        return ocl_view_error(call);
    v.wide = ocl_view_is_wide(&view);
    WICK_TRY(ocl_begin(&launch, call, &v, 0, out->numel));
    ocl_arg(&launch, &view, sizeof view);
    ocl_arg_tensor(&launch, out), ocl_arg_tensor(&launch, self), ocl_arg_tensor(&launch, index);
    ocl_arg_long(&launch, size), ocl_arg_long(&launch, stride), ocl_arg_fault(&launch);
    return ocl_end_items(&launch, view.numel);
}

/* (self, dim, index, sparse_grad) */
wick_status *ocl_gather(const wick_kernel_call *call) { return gather(call, wick_arg_tensor(call, 2)); }

/* (self, dim, index): a gather whose index is the same for all other dimensions. */
wick_status *ocl_index_select(const wick_kernel_call *call) {
    const wick_tensor *index = wick_arg_tensor(call, 2), *out = wick_out_tensor(call, 0);
    restrided spread;
    restride(&spread, index, out);
    if (out->ndim > 0 && index->ndim > 0) spread.strides[wick_dim_of(&call->values[1], out->ndim)] = index->strides[0];
    return gather(call, &spread.tensor);
}

/* ---- scatter ---- */
wick_status *ocl_start_from_self(const wick_kernel_call *call) {
    const wick_tensor *self = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, 0);
    if (self->storage == out->storage && self->offset == out->offset) return NULL;
    return ocl_convert(call, out, self);
}

static int64_t along(const wick_tensor *t, int dim, const wick_dim *list) { return t->ndim ? list[dim] : 0; }

static wick_status *scatter(const wick_kernel_call *call, ocl_scatter_mode mode) {
    const wick_tensor *out = wick_out_tensor(call, 0), *index = wick_arg_tensor(call, 2),
                      *src = wick_arg_tensor(call, 3);
    int dim = wick_dim_of(&call->values[1], out->ndim);
    const wick_tensor *from = src ? src : index;
    ocl_variant v = {.recipe = &scatter_recipes[mode], .compute = out->dtype};
    ocl_view view;
    ocl_launch launch;
    WICK_TRY(ocl_start_from_self(call));
    if (index->numel == 0) return NULL;
    WICK_TRY(ocl_check_size(call, index->numel, out->ndim ? out->sizes[dim] : 1));
    v.dtypes[0] = out->dtype, v.dtypes[1] = src ? src->dtype : out->dtype, v.dtypes[2] = index->dtype;
    v.numbers = src ? 0 : 2;
    if (!ocl_view_of(&view, index, dim, (const wick_tensor *[]){out, from, index}, 3)) return ocl_view_error(call);
    v.wide = ocl_view_is_wide(&view);
    cl_long strides[4] = {along(out, dim, out->strides), along(from, dim, from->strides),
                          along(index, dim, index->strides), 0};
    WICK_TRY(ocl_begin(&launch, call, &v, 0, index->numel));
    ocl_arg(&launch, &view, sizeof view), ocl_arg_tensor(&launch, out);
    if (src)
        ocl_arg_tensor(&launch, src);
    else
        ocl_arg_number(&launch, wick_tensor_dtype(out), &call->values[3]);
    ocl_arg_tensor(&launch, index);
    ocl_arg_long(&launch, index->ndim ? index->sizes[dim] : 1), ocl_arg_long(&launch, out->ndim ? out->sizes[dim] : 1);
    ocl_arg(&launch, strides, sizeof strides), ocl_arg_fault(&launch);
    return ocl_end_items(&launch, view.numel);
}

wick_status *ocl_scatter(const wick_kernel_call *call) { return scatter(call, *(const ocl_scatter_mode *)call->data); }

wick_status *ocl_scatter_by_name(const wick_kernel_call *call) {
    const char *name = call->values[4].as.string;
    return scatter(call, !strcmp(name, "add") ? OCL_ADD : OCL_MULTIPLY);
}
