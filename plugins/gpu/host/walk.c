/* From broadcast operands to walks of 32-bit positions and few dimensions. */
#include <wick/sdk/iter.h>

#include "gpu.h"

/* Granlund and Montgomery 1994: shift = ceil(log2 d), multiplier = floor(2^32 (2^shift - d) / d) + 1. */
gpu_divider gpu_divider_of(uint32_t divisor) {
    uint32_t shift = 0;
    while (shift < 32 && (UINT64_C(1) << shift) < divisor) ++shift;
    uint64_t multiplier = ((UINT64_C(1) << 32) * ((UINT64_C(1) << shift) - divisor)) / divisor + 1;
    return (gpu_divider){divisor, (uint32_t)multiplier, shift};
}

typedef struct parts {
    const wick_iter *it;
    gpu_walk_fn fn;
    void *user;
} parts;

/* How many inner dimensions one walk takes, and how much of the next one. */
static int inner_dims(const wick_iter *it, int64_t *elements) {
    int d = 0;
    *elements = 1;
    while (d < it->ndim && d < GPU_DIMS && it->sizes[d] <= INT32_MAX / *elements) *elements *= it->sizes[d++];
    return d;
}

static wick_status *run_inner(const parts *p, int dims, int64_t first_size, int64_t elements, const int64_t *offsets) {
    gpu_walk walk;
    walk.ndim = dims ? dims : 1;
    for (int d = 0; d < walk.ndim; ++d) {
        walk.sizes[d] = gpu_divider_of((uint32_t)(d || dims ? p->it->sizes[d] : first_size));
        for (int k = 0; k < p->it->noperands; ++k) walk.strides[k][d] = p->it->strides[k][d];
    }
    return p->fn(p->user, &walk, (uint32_t)elements, offsets);
}

/* A row that alone exceeds 31 bits is cut in pieces of 2^30. */
static wick_status *run_long_row(const parts *p, int64_t *offsets) {
    const int64_t piece = INT64_C(1) << 30;
    int64_t at[WICK_ITER_MAX_OPERANDS];
    for (int64_t begin = 0; begin < p->it->sizes[0]; begin += piece) {
        int64_t n = p->it->sizes[0] - begin < piece ? p->it->sizes[0] - begin : piece;
        for (int k = 0; k < p->it->noperands; ++k) at[k] = offsets[k] + begin * p->it->strides[k][0];
        WICK_TRY(run_inner(p, 0, n, n, at));
    }
    return NULL;
}

wick_status *gpu_walk_over(const wick_kernel_call *call, const wick_tensor *const *operands, int n, gpu_walk_fn fn,
                           void *user) {
    wick_iter it;
    if (!wick_iter_init(&it, operands[0], operands, n, 0))
        return WICK_HOST_ERROR(call->host, WICK_INTERNAL, "%s: operands do not broadcast",
                               call->host->op_name(call->op));
    if (!it.numel) return NULL;
    const parts p = {&it, fn, user};
    int64_t elements, index[WICK_MAX_DIMS] = {0}, offsets[WICK_ITER_MAX_OPERANDS] = {0};
    int inner = inner_dims(&it, &elements), first = inner ? inner : 1;
    for (;;) {
        WICK_TRY(inner ? run_inner(&p, inner, 0, elements, offsets) : run_long_row(&p, offsets));
        int d = first;
        for (; d < it.ndim; ++d) {
            for (int k = 0; k < n; ++k) offsets[k] += it.strides[k][d];
            if (++index[d] < it.sizes[d]) break;
            for (int k = 0; k < n; ++k) offsets[k] -= it.sizes[d] * it.strides[k][d];
            index[d] = 0;
        }
        if (d >= it.ndim) return NULL;
    }
}
