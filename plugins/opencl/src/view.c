#include "view.h"

#include <string.h>

void ocl_view_clear(ocl_view *view) {
    memset(view, 0, sizeof *view);
    view->numel = 1;
}

static bool continues(const ocl_view *view, const int64_t *strides, int n) {
    int last = (int)view->ndim - 1;
    for (int k = 0; k < n; ++k)
        if (strides[k] != view->strides[k][last] * view->sizes[last]) return false;
    return true;
}

bool ocl_view_push(ocl_view *view, int64_t size, const int64_t *strides, int n) {
    view->numel *= size;
    if (size == 1) return true;
    if (view->ndim > 0 && continues(view, strides, n)) {
        view->sizes[view->ndim - 1] *= size;
        return true;
    }
    if (view->ndim == OCL_DIMS) return false;
    view->sizes[view->ndim] = size;
    for (int k = 0; k < n; ++k) view->strides[k][view->ndim] = strides[k];
    ++view->ndim;
    return true;
}

/* 0 where the tensor is broadcast: it lacks dimension d (which is negative) or has one element there. */
static int64_t stride_in(const wick_tensor *t, int d, int64_t size) {
    return d < 0 || (t->sizes[d] == 1 && size != 1) ? 0 : t->strides[d];
}

bool ocl_view_of(ocl_view *view, const wick_tensor *shape, int skip, const wick_tensor *const *tensors, int n) {
    int64_t strides[OCL_VIEW_OPERANDS];
    ocl_view_clear(view);
    for (int d = shape->ndim - 1; d >= 0; --d) {
        if (d == skip) continue;
        for (int k = 0; k < n; ++k)
            strides[k] = stride_in(tensors[k], d - (shape->ndim - tensors[k]->ndim), shape->sizes[d]);
        if (!ocl_view_push(view, shape->sizes[d], strides, n)) return false;
    }
    return true;
}

bool ocl_view_is_wide(const ocl_view *view) { return view->numel > INT32_MAX - OCL_GROUP; }

wick_status *ocl_view_error(const wick_kernel_call *call) {
    const wick_host *host = call->host;
    return WICK_HOST_ERROR(host, WICK_UNSUPPORTED,
                           "%s: opencl kernels take %d dimensions that cannot be merged, got more",
                           host->op_name(call->op), OCL_DIMS);
}
