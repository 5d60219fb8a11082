/* Kernels that write elements without arithmetic on tensors: copy with casts, fill, arange, uniform. */
#include "kernel.h"

/* ---- copy: (self, src, non_blocking) ---- */
typedef struct copy_work {
    ref_load_fn load;
    ref_store_fn store;
    int32_t bytes; /* of an element if the dtypes are the same, else 0 */
    wick_iter it;
} copy_work;

static void copy_row(const copy_work *w, char *to, const char *from, int64_t n) {
    int64_t to_stride = wick_iter_stride(&w->it, 0), from_stride = wick_iter_stride(&w->it, 1);
    ref_block block;
    if (w->bytes) {
        wick_copy_row(to, to_stride, from, from_stride, n, w->bytes);
        return;
    }
    for (int64_t i = 0, m; i < n; i += m) {
        m = n - i < REF_BLOCK ? n - i : REF_BLOCK;
        w->load(&block, from + i * from_stride, from_stride, m);
        w->store(to + i * to_stride, to_stride, &block, m);
    }
}

static wick_status *run_copy(ref_device *device, const void *payload) {
    const copy_work *w = payload;
    const wick_iter *it = &w->it;
    wick_cursor c = wick_cursor_at(it, 0);
    for (int64_t i = 0, n; i < it->numel; i += n, wick_cursor_advance(it, &c, n)) {
        n = wick_cursor_row(it, &c, it->numel - i);
        copy_row(w, wick_cursor_address(it, &c, 0), wick_cursor_address(it, &c, 1), n);
    }
    return NULL;
}

/* Integers that stay integers keep all their bits; a complex number that becomes real keeps its real part. */
static ref_class copy_class(wick_dtype from, wick_dtype to) {
    if (wick_dtype_is_complex(from) && wick_dtype_is_complex(to)) return REF_COMPLEX;
    return to == WICK_BOOL || wick_dtype_is_complex(from) ? ref_class_of(from)
           : wick_dtype_is_differentiable(from)           ? REF_REAL
                                                          : ref_class_of(from);
}

wick_status *ref_copy(const wick_kernel_call *call) {
    const wick_tensor *out = wick_out_tensor(call, 0), *operands[] = {out, wick_arg_tensor(call, 1)};
    wick_dtype to = wick_tensor_dtype(out), from = wick_tensor_dtype(operands[1]);
    ref_task *task;
    void *payload;
    if (out->numel == 0) return NULL;
    WICK_TRY(ref_launch_begin(call, run_copy, sizeof(copy_work), &task, &payload));
    copy_work *w = payload;
    ref_class c = copy_class(from, to);
    w->load = ref_loader(c, from), w->store = ref_storer(c, to);
    w->bytes = from == to ? (int32_t)wick_dtype_bytes(to) : 0;
    task->bytes = (uint64_t)out->numel * wick_dtype_bytes(to);
    return ref_launch_end(call, task, ref_iter(call, out, operands, 2, 0, &w->it));
}

/* ---- what is made block by block: fill (self, value), arange (start, end, step), uniform (self, from, to) ---- */
typedef struct series series;
/* `n` elements from position `i` on, which is a multiple of 4. */
typedef void (*make_fn)(const series *s, int64_t i, int64_t n, ref_block *out);

struct series {
    make_fn make;
    ref_class wide;
    ref_store_fn store;
    ref_number start, step;
    wick_philox philox;
    uint32_t mask;  /* of the random bits that are used */
    bool long_bits; /* 53 random bits an element instead of 24 */
    wick_iter it;   /* in row-major order */
};

static void store_across_rows(const series *s, wick_cursor *c, const ref_block *block, int64_t n) {
    const char *from = (const char *)block;
    size_t bytes = ref_class_bytes(s->wide);
    for (int64_t done = 0, m; done < n; done += m, wick_cursor_advance(&s->it, c, m)) {
        m = wick_cursor_row(&s->it, c, n - done);
        s->store(wick_cursor_address(&s->it, c, 0), wick_iter_stride(&s->it, 0), from + (size_t)done * bytes, m);
    }
}

static wick_status *run_series(ref_device *device, const void *payload) {
    const series *s = payload;
    wick_cursor c = wick_cursor_at(&s->it, 0);
    ref_block block;
    for (int64_t i = 0, n; i < s->it.numel; i += n) {
        n = s->it.numel - i < REF_BLOCK ? s->it.numel - i : REF_BLOCK;
        s->make(s, i, n, &block);
        store_across_rows(s, &c, &block, n);
    }
    return NULL;
}

static wick_status *launch_series(const wick_kernel_call *call, const series *s) {
    const wick_tensor *out = wick_out_tensor(call, 0);
    ref_task *task;
    void *payload;
    if (out->numel == 0) return NULL;
    WICK_TRY(ref_launch_begin(call, run_series, sizeof *s, &task, &payload));
    series *w = payload;
    *w = *s;
    w->store = ref_storer(s->wide, wick_tensor_dtype(out));
    return ref_launch_end(call, task, ref_iter(call, out, &out, 1, WICK_ITER_KEEP_ORDER, &w->it));
}

/* ---- fill ---- */
#define FILL_CASE(CLASS, type)                                          \
    case REF_##CLASS:                                                   \
        for (int64_t k = 0; k < n; ++k) out->CLASS[k] = s->start.CLASS; \
        break;

static void make_fill(const series *s, int64_t i, int64_t n, ref_block *out) {
    switch (s->wide) {
        REF_CLASSES(FILL_CASE)
    default: break;
    }
}

/* The class of a number, which the store casts: 1.5 is true where 1 is. */
static ref_class class_of_number(const wick_value *v, ref_class of_dtype) {
    return v->tag == WICK_TAG_C128  ? REF_COMPLEX
           : v->tag == WICK_TAG_F64 ? REF_REAL
           : of_dtype == REF_UINT   ? REF_UINT
                                    : REF_INT;
}

wick_status *ref_fill(const wick_kernel_call *call) {
    const wick_value *value = &call->values[1];
    series s = {.make = make_fill,
                .wide = class_of_number(value, ref_class_of(wick_tensor_dtype(wick_out_tensor(call, 0))))};
    s.start = ref_scalar(s.wide, value);
    return launch_series(call, &s);
}

/* ---- arange ---- */
static void make_real_steps(const series *s, int64_t i, int64_t n, ref_block *out) {
    for (int64_t k = 0; k < n; ++k) out->REAL[k] = s->start.REAL + s->step.REAL * (double)(i + k);
}
static void make_int_steps(const series *s, int64_t i, int64_t n, ref_block *out) {
    for (int64_t k = 0; k < n; ++k) out->INT[k] = s->start.INT + s->step.INT * (i + k);
}

wick_status *ref_arange(const wick_kernel_call *call) {
    bool integral = wick_dtype_is_integral(wick_tensor_dtype(wick_out_tensor(call, 0)));
    series s = {.make = integral ? make_int_steps : make_real_steps, .wide = integral ? REF_INT : REF_REAL};
    s.start = ref_scalar(s.wide, &call->values[0]);
    s.step = ref_scalar(s.wide, &call->values[2]);
    return launch_series(call, &s);
}

/* ---- uniform: Philox4x32-10. Element i is word i % 4 of the block at counter offset + i / 4; doubles take their low
 * bits from the same counters of a second stream. ---- */
static void philox(uint64_t seed, uint64_t counter, uint32_t stream, uint32_t out[4]) {
    uint32_t x[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), stream, 0};
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    for (int round = 0; round < 10; ++round) {
        uint64_t a = (uint64_t)0xD2511F53u * x[0], b = (uint64_t)0xCD9E8D57u * x[2];
        x[0] = (uint32_t)(b >> 32) ^ x[1] ^ key[0], x[1] = (uint32_t)b;
        x[2] = (uint32_t)(a >> 32) ^ x[3] ^ key[1], x[3] = (uint32_t)a;
        key[0] += 0x9E3779B9u, key[1] += 0xBB67AE85u;
    }
    memcpy(out, x, sizeof x);
}

static void make_uniform(const series *s, int64_t i, int64_t n, ref_block *out) {
    uint32_t high[4], low[4] = {0};
    for (int64_t k = 0; k < n; ++k) {
        if (k % 4 == 0) {
            uint64_t counter = s->philox.offset + (uint64_t)(i + k) / 4;
            philox(s->philox.seed, counter, 0, high);
            if (s->long_bits) philox(s->philox.seed, counter, 1, low);
        }
        uint32_t h = high[k % 4] & s->mask;
        double u = s->long_bits ? (double)((uint64_t)h << 21 | low[k % 4] >> 11) * 0x1p-53 : (double)(h >> 8) * 0x1p-24;
        out->REAL[k] = u * (s->step.REAL - s->start.REAL) + s->start.REAL;
    }
}

/* Reduced dtypes use no more bits than they hold: rounding must not reach the open end. */
wick_status *ref_uniform(const wick_kernel_call *call) {
    wick_dtype dtype = wick_tensor_dtype(wick_out_tensor(call, 0));
    series s = {.make = make_uniform, .wide = REF_REAL, .philox = *call->philox, .long_bits = dtype == WICK_F64};
    s.mask = dtype == WICK_F16 ? 0xffe00000 : dtype == WICK_BF16 ? 0xff000000 : 0xffffffff;
    s.start.REAL = wick_value_as_double(&call->values[1]);
    s.step.REAL = wick_value_as_double(&call->values[2]);
    return launch_series(call, &s);
}
