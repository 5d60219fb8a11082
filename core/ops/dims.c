#include "dims.h"

#include <wick/ops.h>

wick_status *dims_mask(const wick_value *dims, int ndim, bool empty_is_all, uint64_t *out) {
    bool one = dims->tag == WICK_TAG_I64, all = dims->tag == WICK_TAG_NONE || (!one && empty_is_all && !dims->count);
    uint32_t count = one ? 1 : dims->count;
    *out = all ? MAX_MASK(ndim) : 0;
    for (uint32_t i = 0; !all && i < count; ++i) {
        int dim;
        WICK_TRY(wrap_dim(one ? dims->as.i : dims->as.ints[i], ndim, &dim));
        if (*out >> dim & 1)
            return WICK_ERROR(WICK_INVALID_ARGUMENT, "dim %d appears multiple times in the list of dims", dim);
        *out |= 1ull << dim;
    }
    return NULL;
}

int dims_reduce(const wick_tensor *t, uint64_t mask, bool keepdim, wick_dim *sizes) {
    int n = 0;
    for (int i = 0; i < t->ndim; ++i) {
        bool reduced = mask >> i & 1;
        if (!reduced || keepdim) sizes[n++] = reduced ? 1 : t->sizes[i];
    }
    return n;
}

wick_dim dims_count(int ndim, const wick_dim *sizes, uint64_t mask) {
    wick_dim count = 1;
    for (int i = 0; i < ndim; ++i)
        if (mask >> i & 1) count = wick_dim_mul(count, sizes[i]);
    return count;
}

int dims_list(uint64_t mask, int ndim, int64_t *list) {
    int n = 0;
    for (int i = 0; i < ndim; ++i)
        if (mask >> i & 1) list[n++] = i;
    return n;
}

wick_tensor *dims_restore(wick_context *c, wick_tensor *t, int ndim, const wick_dim *sizes, uint64_t mask) {
    wick_dim kept[WICK_MAX_DIMS];
    if (!t || t->ndim == ndim) return t;
    for (int i = 0; i < ndim; ++i) kept[i] = mask >> i & 1 ? 1 : sizes[i];
    return wick_reshape(c, t, kept, (size_t)ndim);
}
