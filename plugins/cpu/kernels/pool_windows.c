/* The windows of a pooling operator. */
#include "pool_windows.h"

static void read_sizes(const wick_tensor *t, int ndim, int64_t *out) {
    for (int d = 0; d < 3; ++d) out[d] = d < 3 - ndim ? 1 : t->sizes[t->ndim - 3 + d];
}

static wick_status *start(const wick_kernel_call *call, const wick_tensor *in, const wick_tensor *out, int ndim,
                          pool_windows *w) {
    read_sizes(in, ndim, w->in);
    read_sizes(out, ndim, w->out);
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

/* Entry d of a list that may be short: one entry stands for all, none for `absent`. */
static int64_t list_entry(const wick_value *v, int d, const wick_value *absent) {
    if (v->count == 0) v = absent;
    return v->as.ints[v->count == 1 ? 0 : d];
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
    static const int64_t one = 1;
    const wick_value none = wick_value_ints(&one, 1), *v = &call->values[first];
    WICK_TRY(start(call, in, out, ndim, w));
    for (int d = 0; d < 3; ++d) {
        const int i = d - (3 - ndim);
        if (i < 0)
            fill(w, d, 1, 1, 0, 1);
        else
            fill(w, d, list_entry(&v[0], i, &v[0]), list_entry(&v[1], i, &v[0]), list_entry(&v[2], i, &v[2]),
                 list_entry(dilated ? &v[3] : &none, i, &none));
    }
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
