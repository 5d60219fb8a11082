/* The geometry of reductions: which elements go into which result, in which order memory is walked. */
#include "reduction.h"

static int64_t distance(int64_t stride) { return stride < 0 ? -stride : stride ? stride : INT64_MAX; }

/* Stable insertion sort, the widest stride first; a stride of 0 repeats elements and counts as the widest. */
static void sort_dims(reduce_dim *dims, int n) {
    for (int i = 1; i < n; ++i) {
        reduce_dim d = dims[i];
        int j = i;
        for (; j > 0 && distance(dims[j - 1].in) < distance(d.in); --j) dims[j] = dims[j - 1];
        dims[j] = d;
    }
}

static int coalesce_dims(reduce_dim *dims, int n) {
    int last = 0;
    for (int i = 1; i < n; ++i) {
        reduce_dim *a = &dims[last], *b = &dims[i];
        if (a->in == b->in * b->size && a->out[0] == b->out[0] * b->size && a->out[1] == b->out[1] * b->size) {
            b->size *= a->size;
            *a = *b;
        } else {
            dims[++last] = *b;
        }
    }
    return n ? last + 1 : 0;
}

void reduce_shape_init(reduce_shape *s, const wick_tensor *in, uint64_t mask, const wick_tensor *out0,
                       const wick_tensor *out1, reduce_kind kind) {
    bool keepdim = out0->ndim == in->ndim, elementwise = kind == REDUCE_ELEMENTWISE;
    s->nkept = s->nreduced = 0;
    s->kept_count = s->reduced_count = 1;
    for (int i = 0, o = 0; i < in->ndim; ++i) {
        bool reduced = mask >> i & 1;
        reduce_dim d = {in->sizes[i], in->strides[i], {0, 0}};
        *(reduced ? &s->reduced_count : &s->kept_count) *= d.size;
        if (!reduced || elementwise) d.out[0] = out0->strides[o], d.out[1] = out1 ? out1->strides[o] : 0;
        if (!reduced || keepdim) ++o;
        if (d.size == 1) continue;
        if (reduced)
            s->reduced[s->nreduced++] = d;
        else
            s->kept[s->nkept++] = d;
    }
    if (kind != REDUCE_IN_ORDER) sort_dims(s->reduced, s->nreduced);
    sort_dims(s->kept, s->nkept);
    s->nreduced = coalesce_dims(s->reduced, s->nreduced);
    s->nkept = coalesce_dims(s->kept, s->nkept);
    s->column = s->nkept ? s->kept[--s->nkept] : (reduce_dim){1, 0, {1, 1}};
    s->columns = s->nreduced && distance(s->column.in) < distance(s->reduced[s->nreduced - 1].in);
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
