/* The geometry of reductions: which elements go into which result, in which order memory is walked. */
#include "reduction.h"

void reduce_shape_init(reduce_shape *s, const wick_tensor *in, uint64_t mask, const wick_tensor *out0,
                       const wick_tensor *out1, wick_reduce_kind kind) {
    s->nkept = wick_reduce_dims(in, mask, out0, out1, WICK_REDUCE_KEPT, s->kept, &s->kept_count);
    s->nreduced = wick_reduce_dims(in, mask, out0, out1, kind, s->reduced, &s->reduced_count);
    s->column = s->nkept ? s->kept[--s->nkept] : (reduce_dim){1, 0, {1, 1}};
    s->columns =
        s->nreduced && wick_stride_distance(s->column.in) < wick_stride_distance(s->reduced[s->nreduced - 1].in);
}

int64_t reduce_at(const reduce_dim *dims, int n, int64_t flat, int64_t out[2]) {
    int64_t in = 0, out0 = 0, out1 = 0;
    for (int i = n - 1; i >= 0; --i) {
        int64_t rest = i ? flat / dims[i].size : 0, at = flat - rest * dims[i].size;
        in += at * dims[i].in, out0 += at * dims[i].out[0], out1 += at * dims[i].out[1];
        flat = rest;
    }
    if (out) out[0] = out0, out[1] = out1;
    return in;
}

void reduce_split(reduce_shape *s, int64_t columns, int64_t rows) {
    s->block = reduce_max(1, reduce_min(s->column.size, s->columns ? columns : rows));
    s->blocks = (s->column.size + s->block - 1) / s->block;
    s->tasks = s->column.size ? s->kept_count / s->column.size * s->blocks : 0;
}

int64_t reduce_task(const reduce_shape *s, int64_t task, int64_t out[2], int64_t *width) {
    int64_t outer = task / s->blocks, column = (task - outer * s->blocks) * s->block;
    int64_t in = reduce_at(s->kept, s->nkept, outer, out);
    *width = reduce_min(s->block, s->column.size - column);
    out[0] += column * s->column.out[0], out[1] += column * s->column.out[1];
    return in + column * s->column.in;
}
