/* Kernels along one dimension of row-major tensors: argmax (self, dim?, keepdim), cumsum (self, dim, dtype?), sort
 * (self, stable, dim, descending). A line is the n elements that differ in that dimension only. */
#include "kernel.h"

#include <stdlib.h>
#include <wick/sdk/shape.h>

typedef struct along_work {
    wick_fold fold;
    ref_class wide;
    ref_load_fn load;
    ref_store_fn store;
    int64_t in_bytes, out_bytes; /* of an element */
    const char *in;
    char *out, *out2;
    bool descending;
} along_work;

/* Where line `i` begins, in elements; its elements lie `inner` apart. */
static int64_t line_start(const wick_fold *f, int64_t i) { return i / f->inner * f->n * f->inner + i % f->inner; }

static void fill(const wick_kernel_call *call, along_work *w, int64_t dim, ref_class c) {
    const wick_tensor *in = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, 0), *out2 = NULL;
    if (call->nouts > 1) out2 = wick_out_tensor(call, 1);
    w->fold = wick_fold_at(in, wick_wrap_dim(dim, in->ndim));
    w->wide = c;
    w->load = ref_loader(c, wick_tensor_dtype(in));
    w->store = ref_storer(c, wick_tensor_dtype(out));
    w->in_bytes = (int64_t)wick_dtype_bytes(wick_tensor_dtype(in));
    w->out_bytes = (int64_t)wick_dtype_bytes(wick_tensor_dtype(out));
    w->in = ref_data(call, in);
    w->out = ref_data(call, out);
    w->out2 = out2 ? ref_data(call, out2) : NULL;
}

/* ---- one number of a line, ordered: NaN is the greatest ---- */
typedef struct keyed {
    ref_number number;
    int64_t index;
} keyed;

static int compare(ref_class c, const ref_number *a, const ref_number *b) {
    if (c == REF_INT) return (a->INT > b->INT) - (a->INT < b->INT);
    if (c == REF_UINT) return (a->UINT > b->UINT) - (a->UINT < b->UINT);
    bool a_nan = a->REAL != a->REAL, b_nan = b->REAL != b->REAL;
    return a_nan || b_nan ? a_nan - b_nan : (a->REAL > b->REAL) - (a->REAL < b->REAL);
}

/* ---- argmax ---- */
static wick_status *run_argmax(ref_device *device, const void *payload) {
    const along_work *w = payload;
    for (int64_t line = 0; line < w->fold.outer * w->fold.inner; ++line) {
        const char *from = w->in + line_start(&w->fold, line) * w->in_bytes;
        keyed best, next;
        w->load(&best.number, from, 0, 1);
        best.index = 0;
        for (next.index = 1; next.index < w->fold.n; ++next.index) {
            w->load(&next.number, from + next.index * w->fold.inner * w->in_bytes, 0, 1);
            if (compare(w->wide, &next.number, &best.number) > 0) best = next;
        }
        ((int64_t *)w->out)[line] = best.index;
    }
    return NULL;
}

wick_status *ref_argmax(const wick_kernel_call *call) {
    const wick_tensor *in = wick_arg_tensor(call, 0);
    bool all = call->values[1].tag == WICK_TAG_NONE;
    ref_task *task;
    void *payload;
    if (wick_out_tensor(call, 0)->numel == 0) return NULL;
    WICK_TRY(ref_launch_begin(call, run_argmax, sizeof(along_work), &task, &payload));
    along_work *w = payload;
    fill(call, w, all ? 0 : call->values[1].as.i, ref_class_of(wick_tensor_dtype(in)));
    if (all) w->fold = (wick_fold){1, in->numel, 1};
    return ref_launch_end(call, task, NULL);
}

/* ---- cumsum ---- */
static void add(ref_class c, ref_number *total, const ref_number *x) {
    switch (c) {
    case REF_REAL: total->REAL += x->REAL; break;
    case REF_COMPLEX: total->COMPLEX += x->COMPLEX; break;
    default: total->UINT += x->UINT; /* signed ones alike */
    }
}

static wick_status *run_cumsum(ref_device *device, const void *payload) {
    const along_work *w = payload;
    for (int64_t line = 0; line < w->fold.outer * w->fold.inner; ++line) {
        int64_t start = line_start(&w->fold, line);
        ref_number total = {0}, x;
        for (int64_t i = 0, at = start; i < w->fold.n; ++i, at += w->fold.inner) {
            w->load(&x, w->in + at * w->in_bytes, 0, 1);
            add(w->wide, &total, &x);
            w->store(w->out + at * w->out_bytes, 0, &total, 1);
        }
    }
    return NULL;
}

wick_status *ref_cumsum(const wick_kernel_call *call) {
    const wick_tensor *out = wick_out_tensor(call, 0);
    ref_task *task;
    void *payload;
    if (out->numel == 0) return NULL;
    WICK_TRY(ref_launch_begin(call, run_cumsum, sizeof(along_work), &task, &payload));
    fill(call, payload, call->values[1].as.i, ref_class_of(wick_tensor_dtype(out)));
    return ref_launch_end(call, task, NULL);
}

/* ---- sort: by key, then by index, which makes it stable ---- */
static int by_index(const keyed *a, const keyed *b) { return (a->index > b->index) - (a->index < b->index); }
#define ORDER(name, CLASS, sign)                                 \
    static int name(const void *x, const void *y) {              \
        const keyed *a = x, *b = y;                              \
        int order = sign compare(CLASS, &a->number, &b->number); \
        return order ? order : by_index(a, b);                   \
    }
ORDER(real_up, REF_REAL, +)
ORDER(real_down, REF_REAL, -)
ORDER(int_up, REF_INT, +)
ORDER(int_down, REF_INT, -)
ORDER(uint_up, REF_UINT, +)
ORDER(uint_down, REF_UINT, -)

typedef int (*order_fn)(const void *x, const void *y);
static const order_fn orders[][2] = {
    [REF_REAL] = {real_up, real_down}, [REF_INT] = {int_up, int_down}, [REF_UINT] = {uint_up, uint_down}};

static void sort_line(const along_work *w, int64_t start, keyed *line) {
    for (int64_t i = 0; i < w->fold.n; ++i) {
        w->load(&line[i].number, w->in + (start + i * w->fold.inner) * w->in_bytes, 0, 1);
        line[i].index = i;
    }
    qsort(line, (size_t)w->fold.n, sizeof *line, orders[w->wide][w->descending]);
    for (int64_t i = 0; i < w->fold.n; ++i) {
        int64_t at = start + i * w->fold.inner;
        w->store(w->out + at * w->out_bytes, 0, &line[i].number, 1);
        ((int64_t *)w->out2)[at] = line[i].index;
    }
}

static wick_status *run_sort(ref_device *device, const void *payload) {
    const along_work *w = payload;
    keyed *line = ref_allocate(device->self, sizeof *line * (size_t)w->fold.n);
    if (!line) return REF_TASK_ERROR(device, "sort: no memory for %lld elements", (long long)w->fold.n);
    for (int64_t i = 0; i < w->fold.outer * w->fold.inner; ++i) sort_line(w, line_start(&w->fold, i), line);
    ref_free(device->self, line);
    return NULL;
}

wick_status *ref_sort(const wick_kernel_call *call) {
    ref_task *task;
    void *payload;
    if (wick_out_tensor(call, 0)->numel == 0) return NULL;
    WICK_TRY(ref_launch_begin(call, run_sort, sizeof(along_work), &task, &payload));
    along_work *w = payload;
    fill(call, w, call->values[2].as.i, ref_class_of(wick_tensor_dtype(wick_arg_tensor(call, 0))));
    w->descending = call->values[3].as.i != 0;
    return ref_launch_end(call, task, NULL);
}
