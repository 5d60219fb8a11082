/* Indexing several dimensions at once: index and index_put, as NumPy and PyTorch do it. */
#include "kernels.h"

#include <string.h>
#include <wick/sdk/shape.h>

enum { MAX_INDICES = 4 };

static const ocl_recipe recipe = {
    .sources = {ocl_source_index_list}, .kernels = {"index_get", "index_put"}, .places = "B", .complex = true};

/* `places` of kernels/index_list.cl. */
typedef struct places {
    cl_long count;
    cl_long sizes[MAX_INDICES], strides[MAX_INDICES], bases[MAX_INDICES];
    cl_long dtype; /* of the indices */
} places;

typedef struct plan {
    const wick_tensor *self;                 /* what is indexed */
    const wick_tensor *indices[MAX_INDICES]; /* those that are not None */
    int dims[MAX_INDICES];                   /* dimension of self that each one replaces */
    int count;
    wick_selection selection;
    places places;
    ocl_view over, rest;
} plan;

/* ---- from the call to a plan ---- */
static wick_status *collect(plan *p, const wick_kernel_call *call, const wick_value *list) {
    for (uint32_t d = 0; d < list->count; ++d) {
        const wick_tensor *index = list->as.tensors[d];
        if (!index) continue;
        if (p->count == MAX_INDICES || index->dtype == WICK_BOOL ||
            (p->count > 0 && index->dtype != p->indices[0]->dtype))
            return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "%s: opencl takes %d integer indices of one dtype",
                                   call->host->op_name(call->op), MAX_INDICES);
        p->dims[p->count] = (int)d, p->indices[p->count++] = index;
    }
    return NULL;
}

static void place_indices(plan *p) {
    p->places.count = p->count, p->places.dtype = p->count ? p->indices[0]->dtype : WICK_DTYPE_NONE;
    for (int k = 0; k < p->count; ++k) {
        const wick_tensor *t = p->indices[k];
        p->places.sizes[k] = p->self->sizes[p->dims[k]], p->places.strides[k] = p->self->strides[p->dims[k]];
        p->places.bases[k] =
            (int64_t)(t->storage->memory.offset_bytes / wick_dtype_bytes(wick_tensor_dtype(t))) + t->offset;
    }
}

/* Stride of `t` along dimension d of a shape of `ndim` dimensions to which it is broadcast. */
static int64_t broadcast_stride(const wick_tensor *t, int d, int ndim) {
    int own = d - (ndim - t->ndim);
    return own < 0 || t->sizes[own] == 1 ? 0 : t->strides[own];
}

/* `shaped`: the tensor that has, or is broadcast to, the shape of the result. */
static bool make_views(plan *p, const wick_tensor *shaped) {
    const wick_selection *s = &p->selection;
    int dims[WICK_MAX_DIMS], ndim = wick_selection_dims(s, p->self->ndim, dims);
    ocl_view_clear(&p->over), ocl_view_clear(&p->rest);
    for (int at = ndim - 1; at >= 0; --at) {
        int64_t strides[1 + MAX_INDICES] = {broadcast_stride(shaped, at, ndim)};
        const int d = dims[at], chosen = -1 - d;
        if (d >= 0) {
            strides[1] = p->self->strides[d];
            if (!ocl_view_push(&p->rest, p->self->sizes[d], strides, 2)) return false;
            continue;
        }
        for (int k = 0; k < p->count; ++k) strides[k + 1] = broadcast_stride(p->indices[k], chosen, s->ndim);
        if (!ocl_view_push(&p->over, s->sizes[chosen], strides, 1 + MAX_INDICES)) return false;
    }
    return true;
}

static wick_status *make_plan(plan *p, const wick_kernel_call *call, const wick_tensor *self,
                              const wick_tensor *shaped) {
    *p = (plan){.self = self};
    WICK_TRY(collect(p, call, &call->values[1]));
    if (p->count == 0)
        return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "%s: opencl wants an index",
                               call->host->op_name(call->op));
    wick_selection_of(&call->values[1], &p->selection);
    place_indices(p);
    if (!make_views(p, shaped)) return ocl_view_error(call);
    for (int k = 0; k < p->count; ++k)
        WICK_TRY(ocl_check_size(call, p->over.numel * p->rest.numel, p->places.sizes[k]));
    return NULL;
}

/* ---- launching ---- */
static wick_status *begin(ocl_launch *launch, const plan *p, const wick_kernel_call *call, const wick_tensor *out,
                          const wick_tensor *in, int kernel) {
    ocl_variant v = {.recipe = &recipe, .compute = out->dtype};
    v.dtypes[0] = out->dtype, v.dtypes[1] = in->dtype, v.dtypes[2] = p->indices[0]->dtype;
    v.wide = p->over.numel > 0 && p->rest.numel > INT32_MAX / p->over.numel - OCL_GROUP;
    WICK_TRY(ocl_begin(launch, call, &v, kernel, p->over.numel * p->rest.numel));
    ocl_arg(launch, &p->over, sizeof p->over), ocl_arg(launch, &p->rest, sizeof p->rest);
    ocl_arg(launch, &p->places, sizeof p->places);
    ocl_arg_tensor(launch, out), ocl_arg_tensor(launch, in);
    for (int k = 0; k < MAX_INDICES; ++k)
        ocl_arg(launch, &p->indices[k < p->count ? k : 0]->storage->memory.handle, sizeof(cl_mem));
    return NULL;
}

wick_status *ocl_index(const wick_kernel_call *call) {
    const wick_tensor *self = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, 0);
    plan p;
    ocl_launch launch;
    WICK_TRY(make_plan(&p, call, self, out));
    WICK_TRY(begin(&launch, &p, call, out, self, 0));
    ocl_arg_fault(&launch);
    return ocl_end_items(&launch, p.over.numel * p.rest.numel);
}

wick_status *ocl_index_put(const wick_kernel_call *call) {
    const wick_tensor *values = wick_arg_tensor(call, 2), *out = wick_out_tensor(call, 0);
    plan p;
    ocl_launch launch;
    WICK_TRY(make_plan(&p, call, out, values));
    WICK_TRY(ocl_start_from_self(call));
    WICK_TRY(begin(&launch, &p, call, out, values, 1));
    ocl_arg_int(&launch, call->values[3].as.i != 0), ocl_arg_fault(&launch);
    return ocl_end_items(&launch, p.over.numel > 0 ? p.rest.numel : 0);
}
