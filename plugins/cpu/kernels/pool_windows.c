/* The windows of a pooling operator. */
#include "pool_windows.h"

#include <wick/sdk/shape.h>

static wick_status *start(const wick_kernel_call *call, const wick_tensor *in, const wick_tensor *out, int ndim,
                          pool_windows *w) {
    wick_spatial_sizes(in, ndim, w->in);
    wick_spatial_sizes(out, ndim, w->out);
    w->planes = 1;
    for (int d = 0; d < in->ndim - ndim; ++d) w->planes *= in->sizes[d];
    void *memory;
    WICK_TRY(cpu_scratch(call, (size_t)(3 * (w->out[0] + w->out[1] + w->out[2])) * sizeof(int64_t), &memory));
    int64_t *next = memory;
    for (int d = 0; d < 3; ++d) {
        w->step[d] = 1;
        w->begin[d] = next, w->end[d] = next + w->out[d], w->length[d] = next + 2 * w->out[d];
        next += 3 * w->out[d];
    }
    return NULL;
}

static int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }

static void fill(pool_windows *w, int d, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
    w->step[d] = dilation;
    for (int64_t o = 0; o < w->out[d]; ++o) {
        int64_t begin = o * stride - padding;
        w->end[d][o] = at_most(begin + (kernel - 1) * dilation + 1, w->in[d]);
        w->length[d][o] = at_most(begin + kernel, w->in[d] + padding) - begin;
        if (begin < 0) begin += (-begin + dilation - 1) / dilation * dilation;
        w->begin[d][o] = begin;
    }
}

wick_status *pool_windows_read(const wick_kernel_call *call, const wick_tensor *in, const wick_tensor *out, int ndim,
                               int first, bool dilated, pool_windows *w) {
    wick_windows read;
    WICK_TRY(start(call, in, out, ndim, w));
    wick_windows_pool(&call->values[first], dilated, in, out, ndim, &read);
    for (int d = 0; d < 3; ++d) fill(w, d, read.kernel[d], read.stride[d], read.padding[d], read.dilation[d]);
    return NULL;
}

wick_status *pool_windows_adaptive(const wick_kernel_call *call, const wick_tensor *in, const wick_tensor *out,
                                   int ndim, pool_windows *w) {
    WICK_TRY(start(call, in, out, ndim, w));
    for (int d = 0; d < 3; ++d)
        for (int64_t o = 0; o < w->out[d]; ++o) {
            w->begin[d][o] = o * w->in[d] / w->out[d];
            w->end[d][o] = ((o + 1) * w->in[d] + w->out[d] - 1) / w->out[d];
            w->length[d][o] = w->end[d][o] - w->begin[d][o];
        }
    return NULL;
}
