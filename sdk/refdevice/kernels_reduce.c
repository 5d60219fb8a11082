/* Reductions over any dimensions: one wide accumulator for each element of the result, which input elements meet in the
 * order of memory. sum (self, dim?, keepdim, dtype?) and amax (self, dim, keepdim). */
#include "kernel.h"

#include <math.h>

typedef struct reduce_work reduce_work;
typedef void (*accumulate_fn)(char *totals, int64_t stride, const ref_block *in, int64_t n);

struct reduce_work {
    ref_load_fn load;
    ref_store_fn store;
    accumulate_fn accumulate;
    ref_class wide;
    ref_number first; /* what accumulators start with */
    int64_t results;
    wick_iter in;  /* operand 0: accumulators, broadcast along what is reduced; 1: elements */
    wick_iter out; /* in row-major order */
};

/* ---- accumulating: along what is reduced the stride is 0 ---- */
#define ACCUMULATE(name, CLASS, type, ...)                                                     \
    static void name##_##CLASS(char *totals, int64_t stride, const ref_block *in, int64_t n) { \
        for (int64_t i = 0; i < n; ++i) {                                                      \
            type *t = (type *)(totals + i * stride), a = in->CLASS[i];                         \
            *t = (__VA_ARGS__);                                                                \
        }                                                                                      \
    }
#define SUM(CLASS, type) ACCUMULATE(sum, CLASS, type, *t + a)
REF_CLASSES(SUM)
ACCUMULATE(amax, REAL, double, a > *t || a != a ? a : *t)
ACCUMULATE(amax, INT, int64_t, a > *t ? a : *t)
ACCUMULATE(amax, UINT, uint64_t, a > *t ? a : *t)

static const accumulate_fn sums[REF_CLASS_COUNT] = {sum_REAL, sum_INT, sum_UINT, sum_COMPLEX};
static const accumulate_fn maxima[REF_CLASS_COUNT] = {amax_REAL, amax_INT, amax_UINT};
static const ref_number least[REF_CLASS_COUNT] = {
    [REF_REAL] = {.REAL = -INFINITY}, [REF_INT] = {.INT = INT64_MIN}, [REF_UINT] = {.UINT = 0}};

static void accumulate_all(const reduce_work *w, char *totals) {
    const wick_iter *it = &w->in;
    ref_block block;
    wick_cursor c = wick_cursor_at(it, 0);
    for (int64_t i = 0, n; i < it->numel; i += n, wick_cursor_advance(it, &c, n)) {
        int64_t left = it->numel - i;
        n = wick_cursor_row(it, &c, left < REF_BLOCK ? left : REF_BLOCK);
        w->load(&block, wick_cursor_address(it, &c, 1), wick_iter_stride(it, 1), n);
        w->accumulate(totals + c.offset[0], wick_iter_stride(it, 0), &block, n);
    }
}

static void store_all(const reduce_work *w, const char *totals) {
    const wick_iter *it = &w->out;
    size_t bytes = ref_class_bytes(w->wide);
    wick_cursor c = wick_cursor_at(it, 0);
    for (int64_t i = 0, n; i < w->results; i += n, wick_cursor_advance(it, &c, n)) {
        n = wick_cursor_row(it, &c, w->results - i);
        w->store(wick_cursor_address(it, &c, 0), wick_iter_stride(it, 0), totals + (size_t)i * bytes, n);
    }
}

static wick_status *run(ref_device *device, const void *payload) {
    const reduce_work *w = payload;
    size_t bytes = ref_class_bytes(w->wide);
    char *totals = ref_allocate(device->self, bytes * (size_t)w->results);
    if (!totals) return REF_TASK_ERROR(device, "a reduction to %lld elements: no memory", (long long)w->results);
    for (int64_t i = 0; i < w->results; ++i) memcpy(totals + (size_t)i * bytes, &w->first, bytes);
    accumulate_all(w, totals);
    store_all(w, totals);
    ref_free(device->self, totals);
    return NULL;
}

/* ---- on the host's thread ---- */
/* The accumulators in the shape of `in`: row-major over what is left, standing still along what is reduced. The
 * iterator's broadcasting needs size 1 for that. */
static void accumulators_of(ref_view *view, const wick_tensor *in, uint64_t reduced, wick_dtype wide) {
    int64_t stride = 1;
    ref_view_of(view, in);
    view->tensor.dtype = (uint8_t)wide;
    for (int d = in->ndim - 1; d >= 0; --d) {
        bool gone = reduced >> d & 1;
        view->strides[d] = gone ? 0 : stride;
        if (gone)
            view->sizes[d] = 1;
        else
            stride *= in->sizes[d];
    }
}

static wick_dtype dtype_of_class(ref_class c) {
    static const wick_dtype dtypes[] = {
        [REF_REAL] = WICK_F64, [REF_INT] = WICK_I64, [REF_UINT] = WICK_U64, [REF_COMPLEX] = WICK_C128};
    return dtypes[c];
}

static wick_status *fill(const wick_kernel_call *call, reduce_work *w, ref_class c) {
    const wick_tensor *in = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, 0);
    ref_view accumulators;
    const wick_tensor *operands[] = {&accumulators.tensor, in};
    accumulators_of(&accumulators, in, wick_reduced_dims(&call->values[1], in->ndim), dtype_of_class(c));
    w->wide = c;
    w->load = ref_loader(c, wick_tensor_dtype(in));
    w->store = ref_storer(c, wick_tensor_dtype(out));
    w->results = out->numel;
    WICK_TRY(ref_iter(call, in, operands, 2, 0, &w->in));
    return ref_iter(call, out, &out, 1, WICK_ITER_KEEP_ORDER, &w->out);
}

static wick_status *launch(const wick_kernel_call *call, ref_class c, accumulate_fn accumulate, ref_number first) {
    ref_task *task;
    void *payload;
    if (wick_out_tensor(call, 0)->numel == 0) return NULL;
    WICK_TRY(ref_launch_begin(call, run, sizeof(reduce_work), &task, &payload));
    reduce_work *w = payload;
    w->accumulate = accumulate, w->first = first;
    return ref_launch_end(call, task, fill(call, w, c));
}

wick_status *ref_sum(const wick_kernel_call *call) {
    ref_class c = ref_class_of(wick_tensor_dtype(wick_out_tensor(call, 0)));
    return launch(call, c, sums[c], (ref_number){.COMPLEX = 0}); /* all of its bytes */
}

wick_status *ref_amax(const wick_kernel_call *call) {
    ref_class c = ref_class_of(wick_tensor_dtype(wick_arg_tensor(call, 0)));
    return launch(call, c, maxima[c], least[c]);
}
