/* wick/sdk/loops.h: elementwise and reduction kernels for memory that the host can address. Header-only.
 *
 * The author writes what happens to a row of packed elements; the helpers broadcast the operands, merge dimensions,
 * convert dtypes (so the row may be flagged WICK_KERNEL_FUSED_CAST) and split the work over host->parallel_for. A
 * kernel in ten lines:
 *
 *     static void swish_row(void *user, const void *const *in, void *out, int64_t n) {
 *         const float *x = in[0];
 *         float *y = out;
 *         for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1 + expf(-x[i]));
 *     }
 *     static wick_status *swish(const wick_kernel_call *call) {
 *         return wick_pointwise_as(call, WICK_F32, WICK_F32, swish_row, NULL);
 *     }
 *     WICK_KERNEL_ROW("mylib::swish", swish, 0, WICK_KERNEL_FUSED_CAST)
 *
 * Row functions may run on several threads at once; `user` is theirs to share. A file whose tensors have no
 * wick_data(), but which knows where their elements are, defines WICK_LOOPS_ADDRESS(tensor) before it includes this
 * header: an expression that gives the address of element 0, as void *. */
#ifndef WICK_SDK_LOOPS_H
#define WICK_SDK_LOOPS_H

#include <wick/sdk/element.h>
#include <wick/sdk/host.h>
#include <wick/sdk/iter.h>

#ifndef WICK_LOOPS_ADDRESS
#define WICK_LOOPS_ADDRESS(tensor) wick_data(tensor)
#endif

#define WICK_LOOPS_OPERANDS 6 /* an output and up to five inputs */
#define WICK_LOOPS_BLOCK WICK_CONVERT_BLOCK
#define WICK_LOOPS_GRAIN 16384 /* elements below which work is not split */

/* n packed elements of each tensor argument, in schema order, give n packed elements. `out` may be the same array as an
 * input, but never overlaps one in part. A bool is a uint8_t, 0 or 1; f16 and bf16 are their bits as uint16_t. */
typedef void (*wick_row_fn)(void *user, const void *const *in, void *out, int64_t n);

/* ---- elementwise ---- */
typedef struct wick_loop_ {
    wick_iter it; /* operand 0 is the output */
    wick_dtype memory[WICK_LOOPS_OPERANDS];
    wick_dtype row[WICK_LOOPS_OPERANDS];
    bool linear[WICK_LOOPS_OPERANDS];
    bool direct; /* rows are the memory itself */
    wick_row_fn fn;
    void *user;
} wick_loop_;

typedef union wick_loop_block_ {
    unsigned char bytes[WICK_LOOPS_BLOCK * 16];
    double alignment;
} wick_loop_block_;

static inline int64_t wick_loop_bytes_(const wick_loop_ *l, int k) { return l->it.element_bytes[k]; }

/* n elements of operand k from element i (where the cursor stands), packed, in the row's dtype. */
static inline const void *wick_loop_load_(const wick_loop_ *l, const wick_cursor *c, int k, int64_t i, int64_t n,
                                          wick_loop_block_ *raw, wick_loop_block_ *block) {
    const void *from = l->it.data[k] + (l->linear[k] ? i * wick_loop_bytes_(l, k) : 0);
    const bool cast = l->memory[k] != l->row[k];
    if (!l->linear[k]) {
        wick_iter_gather(&l->it, c, k, cast ? raw : block, n);
        from = cast ? raw : block;
    }
    if (!cast) return from;
    wick_convert_row(l->memory[k], from, wick_loop_bytes_(l, k), l->row[k], block, (int64_t)wick_dtype_bytes(l->row[k]),
                     n);
    return block;
}

/* The packed results of a block to where the cursor stands. */
static inline void wick_loop_store_(const wick_loop_ *l, const wick_cursor *c, int64_t i, int64_t n, const void *packed,
                                    wick_loop_block_ *raw) {
    char *to = l->it.data[0] + i * wick_loop_bytes_(l, 0);
    const bool cast = l->memory[0] != l->row[0];
    const int64_t row_bytes = (int64_t)wick_dtype_bytes(l->row[0]);
    if (cast)
        wick_convert_row(l->row[0], packed, row_bytes, l->memory[0], l->linear[0] ? to : (char *)raw->bytes,
                         wick_loop_bytes_(l, 0), n);
    if (!l->linear[0]) wick_iter_scatter(&l->it, c, 0, cast ? raw->bytes : packed, n);
}

static inline void wick_loop_blocks_(const wick_loop_ *l, int64_t begin, int64_t end) {
    wick_loop_block_ raw, blocks[WICK_LOOPS_OPERANDS];
    const void *in[WICK_LOOPS_OPERANDS];
    wick_cursor c = wick_cursor_at(&l->it, begin);
    const bool in_place = l->linear[0] && l->memory[0] == l->row[0];
    for (int64_t i = begin, n; i < end; i += n) {
        n = end - i < WICK_LOOPS_BLOCK ? end - i : WICK_LOOPS_BLOCK;
        for (int k = 1; k < l->it.noperands; ++k) in[k - 1] = wick_loop_load_(l, &c, k, i, n, &raw, &blocks[k]);
        void *out = in_place ? (void *)(l->it.data[0] + i * wick_loop_bytes_(l, 0)) : (void *)&blocks[0];
        l->fn(l->user, in, out, n);
        if (!in_place) wick_loop_store_(l, &c, i, n, out, &raw);
        if (i + n < end) wick_cursor_skip(&l->it, &c, n);
    }
}

static inline void wick_loop_range_(void *user, int64_t begin, int64_t end, int worker) {
    const wick_loop_ *l = (const wick_loop_ *)user;
    const void *in[WICK_LOOPS_OPERANDS];
    (void)worker;
    if (!l->direct) {
        wick_loop_blocks_(l, begin, end);
        return;
    }
    for (int k = 1; k < l->it.noperands; ++k) in[k - 1] = l->it.data[k] + begin * wick_loop_bytes_(l, k);
    l->fn(l->user, in, l->it.data[0] + begin * wick_loop_bytes_(l, 0), end - begin);
}

/* Runs fn over [0, n), by the host's workers where there are any. */
static inline void wick_parallel(const wick_kernel_call *call, int64_t n, int64_t grain, wick_range_fn fn, void *user) {
    if (n <= 0) return;
    if (n > grain && WICK_HAS(call->host, wick_host, parallel_for))
        call->host->parallel_for(call, n, grain, fn, user);
    else
        fn(user, 0, n, 0);
}

static inline wick_status *wick_loop_check_(const wick_kernel_call *call, const wick_tensor *t) {
    if (!wick_element_known(t->dtype))
        return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "%s: no conversion for dtype %u",
                               call->host->op_name(call->op), (unsigned)t->dtype);
    if (t->numel > 0 && !WICK_LOOPS_ADDRESS(t))
        return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "%s: an operand's memory has no address on the host",
                               call->host->op_name(call->op));
    return NULL;
}

/* The output and the tensor arguments of the call, outputs first. */
static inline wick_status *wick_loop_operands_(const wick_kernel_call *call, const wick_tensor **operands, int *count) {
    int n = 1;
    operands[0] = wick_out_tensor(call, 0);
    for (int i = 0; i < call->nargs; ++i) {
        const wick_tensor *t = wick_arg_tensor(call, i);
        if (!t) continue;
        if (n == WICK_LOOPS_OPERANDS)
            return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "%s: more than %d tensors",
                                   call->host->op_name(call->op), WICK_LOOPS_OPERANDS - 1);
        operands[n++] = t;
    }
    for (int k = 0; k < n; ++k) WICK_TRY(wick_loop_check_(call, operands[k]));
    *count = n;
    return NULL;
}

static inline void wick_loop_prepare_(wick_loop_ *l, const wick_tensor *const *operands, wick_dtype in,
                                      wick_dtype out) {
    l->direct = true;
    for (int k = 0; k < l->it.noperands; ++k) {
        l->it.data[k] = (char *)WICK_LOOPS_ADDRESS(operands[k]);
        l->memory[k] = wick_tensor_dtype(operands[k]);
        l->row[k] = k ? in : out;
        l->linear[k] = wick_iter_is_linear(&l->it, k);
        l->direct = l->direct && l->linear[k] && l->memory[k] == l->row[k];
    }
}

/* An elementwise kernel whose rows hold inputs of dtype `in` and results of dtype `out`, whatever the tensors have; NONE
 * is the call's compute dtype (the output's where the operator has none). The first output is written. */
static inline wick_status *wick_pointwise_as(const wick_kernel_call *call, wick_dtype in, wick_dtype out,
                                             wick_row_fn row, void *user) {
    wick_loop_ l;
    const wick_tensor *operands[WICK_LOOPS_OPERANDS];
    int n = 0;
    WICK_TRY(wick_loop_operands_(call, operands, &n));
    const wick_dtype compute = call->compute_dtype ? (wick_dtype)call->compute_dtype : wick_tensor_dtype(operands[0]);
    if (!wick_iter_init(&l.it, operands[0], operands, n, 0))
        return WICK_HOST_ERROR(call->host, WICK_INVALID_ARGUMENT, "%s: the operands do not broadcast to the output",
                               call->host->op_name(call->op));
    l.fn = row;
    l.user = user;
    wick_loop_prepare_(&l, operands, in ? in : compute, out ? out : compute);
    wick_parallel(call, l.it.numel, WICK_LOOPS_GRAIN, wick_loop_range_, &l);
    return NULL;
}

/* The same in the compute dtype. */
static inline wick_status *wick_pointwise(const wick_kernel_call *call, wick_row_fn row, void *user) {
    return wick_pointwise_as(call, WICK_DTYPE_NONE, WICK_DTYPE_NONE, row, user);
}

/* ---- reductions ---- */
#define WICK_REDUCE_STATE_BYTES 64

/* How the elements of a reduced range become one. The state starts as `identity` and sees the rows of its range in
 * row-major order; every range is one thread's, so the result does not depend on their number. */
typedef struct wick_reduction {
    wick_dtype in;        /* of the rows; NONE: the input's */
    wick_dtype out;       /* of what finish writes; NONE: the output's */
    uint32_t state_bytes; /* at most WICK_REDUCE_STATE_BYTES */
    const void *identity;
    /* Folds n packed elements, the first of which is element `first` of the range, into the state. */
    void (*combine)(void *user, void *state, const void *in, int64_t first, int64_t n);
    /* Writes one element; `count` elements were reduced. NULL: the state itself is the element. */
    void (*finish)(void *user, const void *state, int64_t count, void *out);
    void *user;
} wick_reduction;

typedef struct wick_reduce_loop_ {
    const wick_reduction *r;
    wick_iter outer; /* output and input over the dimensions that stay */
    wick_iter inner; /* input over those that go */
    wick_dtype memory_in, memory_out, row_in, row_out;
} wick_reduce_loop_;

/* A view of `t` over the dimensions of `shape` that are in `dims`. `dropped`: t has only those, in this order. */
typedef struct wick_reduce_view_ {
    wick_tensor t;
    wick_dim sizes[WICK_MAX_DIMS], strides[WICK_MAX_DIMS];
} wick_reduce_view_;

static inline void wick_reduce_view_init_(wick_reduce_view_ *v, const wick_tensor *t, const wick_tensor *shape,
                                          uint64_t dims, bool dropped) {
    int n = 0;
    v->t = *t;
    for (int d = 0; d < shape->ndim; ++d) {
        if (!(dims >> d & 1)) continue;
        v->sizes[n] = shape->sizes[d];
        v->strides[n] = t->strides[dropped ? n : d];
        ++n;
    }
    v->t.ndim = (uint8_t)n;
    v->t.sizes = v->sizes;
    v->t.strides = v->strides;
}

/* Reduces the range whose first element is at `from`. */
static inline void wick_reduce_one_(const wick_reduce_loop_ *l, char *from, void *state) {
    wick_loop_block_ raw, block;
    const wick_iter *it = &l->inner;
    const bool cast = l->memory_in != l->row_in;
    memcpy(state, l->r->identity, l->r->state_bytes);
    if (it->numel == 0) return;
    if (!cast && wick_iter_is_linear(it, 0)) {
        l->r->combine(l->r->user, state, from, 0, it->numel);
        return;
    }
    wick_cursor c = wick_cursor_at(it, 0);
    c.offset[0] = from - it->data[0];
    for (int64_t i = 0, n; i < it->numel; i += n) {
        n = it->numel - i < WICK_LOOPS_BLOCK ? it->numel - i : WICK_LOOPS_BLOCK;
        wick_iter_gather(it, &c, 0, cast ? raw.bytes : block.bytes, n);
        if (cast)
            wick_convert_row(l->memory_in, raw.bytes, it->element_bytes[0], l->row_in, block.bytes,
                             (int64_t)wick_dtype_bytes(l->row_in), n);
        l->r->combine(l->r->user, state, block.bytes, i, n);
        if (i + n < it->numel) wick_cursor_skip(it, &c, n);
    }
}

static inline void wick_reduce_range_(void *user, int64_t begin, int64_t end, int worker) {
    const wick_reduce_loop_ *l = (const wick_reduce_loop_ *)user;
    union {
        unsigned char bytes[WICK_REDUCE_STATE_BYTES];
        double alignment;
    } state, result;
    wick_cursor c = wick_cursor_at(&l->outer, begin);
    (void)worker;
    for (int64_t i = begin; i < end; ++i) {
        wick_reduce_one_(l, wick_cursor_address(&l->outer, &c, 1), state.bytes);
        if (l->r->finish) l->r->finish(l->r->user, state.bytes, l->inner.numel, result.bytes);
        wick_convert_row(l->row_out, l->r->finish ? result.bytes : state.bytes, 0, l->memory_out,
                         wick_cursor_address(&l->outer, &c, 0), 0, 1);
        if (i + 1 < end) wick_cursor_advance(&l->outer, &c, 1);
    }
}

/* Reduces the dimensions of `in` that `dims` has bits for into `out`, which has them with size 1 or not at all. */
static inline wick_status *wick_reduce(const wick_kernel_call *call, const wick_tensor *in, const wick_tensor *out,
                                       uint64_t dims, const wick_reduction *r) {
    wick_reduce_loop_ l;
    wick_reduce_view_ kept_out, kept_in, reduced;
    const bool dropped = out->ndim != in->ndim;
    WICK_TRY(wick_loop_check_(call, in));
    WICK_TRY(wick_loop_check_(call, out));
    if (r->state_bytes > WICK_REDUCE_STATE_BYTES)
        return WICK_HOST_ERROR(call->host, WICK_INVALID_ARGUMENT,
                               "a reduction's state has %u bytes, at most %d are kept", (unsigned)r->state_bytes,
                               WICK_REDUCE_STATE_BYTES);
    wick_reduce_view_init_(&kept_out, out, in, ~dims, dropped);
    wick_reduce_view_init_(&kept_in, in, in, ~dims, false);
    wick_reduce_view_init_(&reduced, in, in, dims, false);
    const wick_tensor *const pair[] = {&kept_out.t, &kept_in.t}, *const one[] = {&reduced.t};
    if (!wick_iter_init(&l.outer, &kept_in.t, pair, 2, 0) ||
        !wick_iter_init(&l.inner, &reduced.t, one, 1, WICK_ITER_KEEP_ORDER))
        return WICK_HOST_ERROR(call->host, WICK_INVALID_ARGUMENT, "%s: the output does not have the reduced shape",
                               call->host->op_name(call->op));
    l.outer.data[0] = (char *)WICK_LOOPS_ADDRESS(out);
    l.outer.data[1] = l.inner.data[0] = (char *)WICK_LOOPS_ADDRESS(in);
    l.r = r;
    l.memory_in = wick_tensor_dtype(in), l.memory_out = wick_tensor_dtype(out);
    l.row_in = r->in ? r->in : l.memory_in, l.row_out = r->out ? r->out : l.memory_out;
    const int64_t each = l.inner.numel > 0 ? l.inner.numel : 1;
    wick_parallel(call, l.outer.numel, WICK_LOOPS_GRAIN / each + 1, wick_reduce_range_, &l);
    return NULL;
}

#endif
