/* Elements by index: gather (self, dim, index), scatter and scatter_add (self, dim, index, src), nonzero (self). */
#include "kernel.h"

typedef struct index_work index_work;
/* One row: `n` elements of the indexed side at bases `base` apart, of the index and of the other side. */
typedef wick_status *(*index_row_fn)(ref_device *device, const index_work *w, const wick_cursor *c, int64_t n);

struct index_work {
    index_row_fn row;
    const char *name;
    int64_t size, stride; /* of the indexed dimension: elements, bytes */
    int32_t bytes;        /* of an element */
    ref_class wide;
    ref_load_fn load, load_index;
    ref_store_fn store;
    bool copies;    /* self is the result's beginning */
    wick_iter copy; /* 0: result, 1: self */
    wick_iter it;   /* 0: the indexed side, standing still along `dim`; 1: the index; 2: the other side */
};

/* Indices of a row as int64; an error names the first that is out of range. */
static wick_status *read_indices(ref_device *device, const index_work *w, const wick_cursor *c, int64_t n,
                                 int64_t *out) {
    w->load_index(out, wick_cursor_address(&w->it, c, 1), wick_iter_stride(&w->it, 1), n);
    for (int64_t i = 0; i < n; ++i)
        if (out[i] < 0 || out[i] >= w->size)
            return REF_TASK_ERROR(device, "%s: index %lld is out of bounds for dimension with size %lld", w->name,
                                  (long long)out[i], (long long)w->size);
    return NULL;
}

static char *indexed(const index_work *w, const wick_cursor *c, int64_t i, int64_t index) {
    return wick_cursor_address(&w->it, c, 0) + i * wick_iter_stride(&w->it, 0) + index * w->stride;
}

static wick_status *gather_row(ref_device *device, const index_work *w, const wick_cursor *c, int64_t n) {
    int64_t indices[REF_BLOCK];
    char *to = wick_cursor_address(&w->it, c, 2);
    WICK_TRY(read_indices(device, w, c, n, indices));
    for (int64_t i = 0; i < n; ++i)
        memcpy(to + i * wick_iter_stride(&w->it, 2), indexed(w, c, i, indices[i]), (size_t)w->bytes);
    return NULL;
}

static wick_status *scatter_row(ref_device *device, const index_work *w, const wick_cursor *c, int64_t n) {
    int64_t indices[REF_BLOCK];
    const char *from = wick_cursor_address(&w->it, c, 2);
    WICK_TRY(read_indices(device, w, c, n, indices));
    for (int64_t i = 0; i < n; ++i)
        memcpy(indexed(w, c, i, indices[i]), from + i * wick_iter_stride(&w->it, 2), (size_t)w->bytes);
    return NULL;
}

static void add(ref_class c, ref_number *total, const ref_number *x) {
    switch (c) {
    case REF_REAL: total->REAL += x->REAL; break;
    case REF_COMPLEX: total->COMPLEX += x->COMPLEX; break;
    default: total->UINT += x->UINT; /* signed ones alike */
    }
}

static wick_status *scatter_add_row(ref_device *device, const index_work *w, const wick_cursor *c, int64_t n) {
    int64_t indices[REF_BLOCK];
    const char *from = wick_cursor_address(&w->it, c, 2);
    WICK_TRY(read_indices(device, w, c, n, indices));
    for (int64_t i = 0; i < n; ++i) {
        char *to = indexed(w, c, i, indices[i]);
        ref_number total, x;
        w->load(&total, to, 0, 1);
        w->load(&x, from + i * wick_iter_stride(&w->it, 2), 0, 1);
        add(w->wide, &total, &x);
        w->store(to, 0, &total, 1);
    }
    return NULL;
}

static void copy_self(const wick_iter *it) {
    wick_cursor c = wick_cursor_at(it, 0);
    for (int64_t i = 0, n; i < it->numel; i += n, wick_cursor_advance(it, &c, n)) {
        n = wick_cursor_row(it, &c, it->numel - i);
        wick_copy_row(wick_cursor_address(it, &c, 0), wick_iter_stride(it, 0), wick_cursor_address(it, &c, 1),
                      wick_iter_stride(it, 1), n, it->element_bytes[0]);
    }
}

static wick_status *run(ref_device *device, const void *payload) {
    const index_work *w = payload;
    const wick_iter *it = &w->it;
    wick_cursor c = wick_cursor_at(it, 0);
    if (w->copies) copy_self(&w->copy);
    for (int64_t i = 0, n; i < it->numel; i += n, wick_cursor_advance(it, &c, n)) {
        int64_t left = it->numel - i;
        n = wick_cursor_row(it, &c, left < REF_BLOCK ? left : REF_BLOCK);
        WICK_TRY(w->row(device, w, &c, n));
    }
    return NULL;
}

/* ---- on the host's thread ---- */
/* `t` in the shape of the index: cut where it is larger, standing still along `dim` if that is >= 0. A tensor without
 * dimensions counts as one of one element. */
static void shape_like(ref_view *view, const wick_tensor *t, const wick_tensor *index, int64_t dim) {
    ref_view_of(view, t);
    view->tensor.ndim = index->ndim;
    for (int d = 0; d < index->ndim; ++d) {
        view->sizes[d] = index->sizes[d];
        view->strides[d] = t->ndim && d != dim ? t->strides[d] : 0;
    }
}

static wick_status *fill(const wick_kernel_call *call, index_work *w, const wick_tensor *side,
                         const wick_tensor *other) {
    const wick_tensor *index = wick_arg_tensor(call, 2);
    const int dim = wick_dim_of(&call->values[1], side->ndim);
    ref_view views[2];
    const wick_tensor *operands[] = {&views[0].tensor, index, &views[1].tensor};
    wick_dtype dtype = wick_tensor_dtype(side);
    shape_like(&views[0], side, index, dim);
    shape_like(&views[1], other, index, -1);
    w->name = call->host->op_name(call->op);
    w->bytes = (int32_t)wick_dtype_bytes(dtype);
    w->size = side->ndim ? side->sizes[dim] : 1;
    w->stride = side->ndim ? side->strides[dim] * w->bytes : 0;
    w->wide = ref_class_of(dtype);
    w->load = ref_loader(w->wide, dtype), w->store = ref_storer(w->wide, dtype);
    w->load_index = ref_loader(REF_INT, wick_tensor_dtype(index));
    return ref_iter(call, index, operands, 3, WICK_ITER_KEEP_ORDER, &w->it);
}

wick_status *ref_gather(const wick_kernel_call *call) {
    ref_task *task;
    void *payload;
    if (wick_out_tensor(call, 0)->numel == 0) return NULL;
    WICK_TRY(ref_launch_begin(call, run, sizeof(index_work), &task, &payload));
    index_work *w = payload;
    w->row = gather_row;
    return ref_launch_end(call, task, fill(call, w, wick_arg_tensor(call, 0), wick_out_tensor(call, 0)));
}

/* The result begins as self, unless it is self. */
static wick_status *launch_scatter(const wick_kernel_call *call, index_row_fn row) {
    const wick_tensor *out = wick_out_tensor(call, 0), *operands[] = {out, wick_arg_tensor(call, 0)};
    ref_task *task;
    void *payload;
    if (out->numel == 0) return NULL;
    WICK_TRY(ref_launch_begin(call, run, sizeof(index_work), &task, &payload));
    index_work *w = payload;
    w->row = row, w->copies = true;
    wick_status *status = ref_iter(call, out, operands, 2, 0, &w->copy);
    return ref_launch_end(call, task, status ? status : fill(call, w, out, wick_arg_tensor(call, 3)));
}

wick_status *ref_scatter(const wick_kernel_call *call) { return launch_scatter(call, scatter_row); }
wick_status *ref_scatter_add(const wick_kernel_call *call) { return launch_scatter(call, scatter_add_row); }

/* ---- nonzero: the host must know how many there are before it can make room for them ---- */
typedef struct nonzero_work {
    ref_class wide;
    ref_load_fn load;
    int64_t numel, bytes, stride; /* stride: rows of the result, in elements; 0: count only */
    const char *in;
    int64_t *out;
    int64_t *count; /* of the host, which waits */
    int ndim;
    wick_dim sizes[WICK_MAX_DIMS];
} nonzero_work;

static bool is_zero(ref_class c, const ref_number *x) {
    return c == REF_REAL ? x->REAL == 0 : c == REF_COMPLEX ? x->COMPLEX == 0 : x->UINT == 0;
}

static void write_coordinates(const nonzero_work *w, int64_t i, int64_t *row) {
    for (int d = w->ndim - 1; d >= 0; --d) row[d] = i % w->sizes[d], i /= w->sizes[d];
}

static wick_status *run_nonzero(ref_device *device, const void *payload) {
    const nonzero_work *w = payload;
    int64_t found = 0;
    for (int64_t i = 0; i < w->numel; ++i) {
        ref_number x;
        w->load(&x, w->in + i * w->bytes, 0, 1);
        if (is_zero(w->wide, &x)) continue;
        if (w->out) write_coordinates(w, i, w->out + found * w->ndim);
        ++found;
    }
    if (w->count) *w->count = found;
    return NULL;
}

static wick_status *launch_nonzero(const wick_kernel_call *call, int64_t *out, int64_t *count) {
    const wick_tensor *in = wick_arg_tensor(call, 0);
    ref_task *task;
    void *payload;
    WICK_TRY(ref_launch_begin(call, run_nonzero, sizeof(nonzero_work), &task, &payload));
    nonzero_work *w = payload;
    w->wide = ref_class_of(wick_tensor_dtype(in));
    w->load = ref_loader(w->wide, wick_tensor_dtype(in));
    w->numel = in->numel, w->bytes = (int64_t)wick_dtype_bytes(wick_tensor_dtype(in));
    w->in = ref_data(call, in);
    w->out = out, w->count = count, w->ndim = in->ndim;
    for (int d = 0; d < in->ndim; ++d) w->sizes[d] = in->sizes[d];
    return ref_launch_end(call, task, NULL);
}

wick_status *ref_nonzero(const wick_kernel_call *call) {
    const wick_tensor *in = wick_arg_tensor(call, 0);
    int64_t count = 0;
    ref_stream *stream;
    if (in->numel) {
        WICK_TRY(launch_nonzero(call, NULL, &count));
        WICK_TRY(ref_stream_of(ref_device_of(call), call->stream, &stream));
        WICK_TRY(ref_stream_finish(stream));
    }
    WICK_TRY(call->host->resize_output(call, 0, 2, (wick_dim[]){count, in->ndim}));
    const wick_tensor *out = wick_out_tensor(call, 0);
    return out->numel ? launch_nonzero(call, (int64_t *)ref_data(call, out), NULL) : NULL;
}
