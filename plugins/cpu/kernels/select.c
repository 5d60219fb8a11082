/* Selection by truth: nonzero, nonzero_static, masked_select, masked_scatter. */
#include "index.h"

#include <stdatomic.h>

#define BLOCK 256

/* ---- truth of any dtype: some bit of the item, signs of floats apart, is set ---- */
typedef void (*truth_fn)(const char *from, int64_t stride, int64_t n, uint64_t mask, uint8_t *out);
#define TRUTH(bytes)                                                                                          \
    static void truth_##bytes(const char *from, int64_t stride, int64_t n, uint64_t mask, uint8_t *out) {     \
        for (int64_t i = 0; i < n; ++i) out[i] = (*(const cpu_word##bytes *)(from + i * stride) & mask) != 0; \
    }
TRUTH(1)
TRUTH(2)
TRUTH(4) TRUTH(8) static void truth_16(const char *from, int64_t stride, int64_t n, uint64_t mask, uint8_t *out) {
    for (int64_t i = 0; i < n; ++i) {
        cpu_word16 item = *(const cpu_word16 *)(from + i * stride);
        out[i] = ((item.low | item.high) & mask) != 0;
    }
}
static const truth_fn truths[5] = {truth_1, truth_2, truth_4, truth_8, truth_16};

static uint64_t truth_mask(wick_dtype dtype) {
    static const uint64_t signs[WICK_DTYPE_COUNT] = {[WICK_F8E4M3FN] = 0x80,
                                                     [WICK_F8E5M2] = 0x80,
                                                     [WICK_F16] = 0x8000,
                                                     [WICK_BF16] = 0x8000,
                                                     [WICK_F32] = 0x80000000,
                                                     [WICK_F64] = UINT64_C(1) << 63,
                                                     [WICK_C64] = UINT64_C(0x8000000080000000),
                                                     [WICK_C128] = UINT64_C(1) << 63};
    return ~signs[dtype];
}

typedef int64_t (*pack_fn)(char *block, const char *from, int64_t stride, const uint8_t *flags, int64_t n);

/* ---- visits: the true elements of a mask, in row-major order ---- */
typedef struct visit {
    truth_fn truth;
    uint64_t mask;
    /* One run of at most BLOCK positions; the mask is operand 0 and its truth is in flags. */
    void (*run)(struct visit *v, char *const *data, const int64_t *strides, const uint8_t *flags, int64_t n);
    atomic_llong total; /* counting */
    /* masked_select, masked_scatter: the packed side */
    char *cursor;
    int64_t stride;
    int item;
    cpu_copy_fn copy;
    pack_fn pack;
    /* nonzero: the output's next row, the coordinates where the run begins, the rows that still fit */
    const cpu_view *shape, *out;
    int64_t at[WICK_MAX_DIMS];
    int64_t left;
} visit;

static void visit_run(void *user, char *const *data, const int64_t *strides, int64_t n) {
    visit *v = user;
    uint8_t flags[BLOCK];
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t count = n - i < BLOCK ? n - i : BLOCK;
        char *const part[2] = {data[0] + i * strides[0], data[1] ? data[1] + i * strides[1] : NULL};
        v->truth(part[0], strides[0], count, v->mask, flags);
        v->run(v, part, strides, flags, count);
    }
}

static void visit_init(visit *v, const cpu_view *mask) {
    memset(v, 0, sizeof *v);
    v->truth = truths[cpu_item_log2(mask->item)];
    v->mask = truth_mask(mask->dtype);
}

static void visit_all(const wick_kernel_call *k, visit *v, const cpu_view *mask, const cpu_view *other, bool in_order) {
    cpu_walk walk;
    cpu_walk_of((const cpu_view *const[]){mask, other}, other ? 2 : 1, &walk);
    if (in_order) walk.serial = CPU_WALK_SERIAL;
    cpu_walk_run(cpu_of(k), &walk, visit_run, v);
}

static void count_flags(visit *v, char *const *data, const int64_t *strides, const uint8_t *flags, int64_t n) {
    int sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += flags[i];
    atomic_fetch_add_explicit(&v->total, sum, memory_order_relaxed);
}

static int64_t count_true(const wick_kernel_call *k, const cpu_view *mask) {
    visit v;
    visit_init(&v, mask);
    v.run = count_flags;
    visit_all(k, &v, mask, NULL, false);
    return atomic_load(&v.total);
}

/* ---- nonzero ---- */
/* Moves the coordinates on in row-major order. */
static void advance(visit *v, int64_t by) {
    int d = v->shape->ndim - 1;
    v->at[d] += by;
    for (; d > 0 && v->at[d] >= v->shape->sizes[d]; --d) {
        v->at[d - 1] += v->at[d] / v->shape->sizes[d];
        v->at[d] %= v->shape->sizes[d];
    }
}

static void write_coordinates(visit *v) {
    for (int d = 0; d < v->shape->ndim; ++d) *(int64_t *)(v->cursor + d * v->out->strides[1]) = v->at[d];
    v->cursor += v->out->strides[0];
}

static void emit_coordinates(visit *v, char *const *data, const int64_t *strides, const uint8_t *flags, int64_t n) {
    uint16_t places[BLOCK];
    int64_t kept = 0, done = 0;
    for (int64_t i = 0; i < n; kept += flags[i++]) places[kept] = (uint16_t)i;
    for (int64_t i = 0; i < kept && v->left > 0; ++i, --v->left) {
        advance(v, places[i] - done);
        write_coordinates(v);
        done = places[i];
    }
    advance(v, n - done);
}

/* Fills the output's rows, of as many columns as self has dimensions. */
static void write_nonzero(const wick_kernel_call *k, const cpu_view *self, const wick_tensor *result) {
    cpu_view out;
    visit v;
    if (result->sizes[1] == 0) return; /* a 0-dim self has no coordinates */
    cpu_view_of(result, &out);
    visit_init(&v, self);
    v.run = emit_coordinates, v.shape = self, v.out = &out, v.cursor = out.data, v.left = out.sizes[0];
    visit_all(k, &v, self, NULL, true);
}

static wick_status *nonzero(const wick_kernel_call *k) {
    cpu_view self;
    cpu_view_of(wick_arg_tensor(k, 0), &self);
    wick_dim sizes[2] = {count_true(k, &self), wick_arg_tensor(k, 0)->ndim};
    WICK_TRY(k->host->resize_output(k, 0, 2, sizes));
    write_nonzero(k, &self, wick_out_tensor(k, 0));
    return NULL;
}

/* (self, size, fill_value) */
static wick_status *nonzero_static(const wick_kernel_call *k) {
    cpu_view self, out;
    int64_t fill = k->values[2].as.i;
    cpu_view_of(wick_arg_tensor(k, 0), &self);
    cpu_view_of(wick_out_tensor(k, 0), &out);
    cpu_view_fill(cpu_of(k), &out, &fill);
    write_nonzero(k, &self, wick_out_tensor(k, 0));
    return NULL;
}

/* ---- masked_select, masked_scatter ---- */
/* Expands both to their common shape. */
static void expand_together(cpu_view *a, cpu_view *b) {
    int ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    int64_t sizes[WICK_MAX_DIMS];
    for (int d = 0; d < ndim; ++d) {
        int da = d - ndim + a->ndim, db = d - ndim + b->ndim;
        int64_t size = da >= 0 ? a->sizes[da] : 1;
        sizes[d] = size == 1 && db >= 0 ? b->sizes[db] : size;
    }
    cpu_view_expand(a, ndim, sizes);
    cpu_view_expand(b, ndim, sizes);
}

/* Gathers the items whose flag is set to the front of a block; without branches, since masks are unpredictable. */
#define PACK(bytes)                                                                                               \
    static int64_t pack_##bytes(char *block, const char *from, int64_t stride, const uint8_t *flags, int64_t n) { \
        int64_t kept = 0;                                                                                         \
        for (int64_t i = 0; i < n; kept += flags[i++])                                                            \
            ((cpu_word##bytes *)block)[kept] = *(const cpu_word##bytes *)(from + i * stride);                     \
        return kept;                                                                                              \
    }
CPU_WORDS(PACK)
static const pack_fn packs[5] = {pack_1, pack_2, pack_4, pack_8, pack_16};

static void emit_items(visit *v, char *const *data, const int64_t *strides, const uint8_t *flags, int64_t n) {
    uint64_t block[2 * BLOCK];
    int64_t kept = v->pack((char *)block, data[1], strides[1], flags, n);
    v->copy(v->cursor, v->stride, (const char *)block, v->item, kept);
    v->cursor += kept * v->stride;
}

static void absorb_items(visit *v, char *const *data, const int64_t *strides, const uint8_t *flags, int64_t n) {
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && flags[end] == flags[i];) ++end;
        if (!flags[i]) continue;
        v->copy(data[1] + i * strides[1], strides[1], v->cursor, v->stride, end - i);
        v->cursor += (end - i) * v->stride;
    }
}

/* Binds the packed side. */
static void visit_pack(visit *v, const cpu_view *packed) {
    v->cursor = packed->data, v->stride = packed->strides[packed->ndim - 1], v->item = packed->item;
    v->copy = cpu_copy_items[cpu_item_log2(packed->item)], v->pack = packs[cpu_item_log2(packed->item)];
}

static wick_status *masked_select(const wick_kernel_call *k) {
    cpu_view self, mask, out;
    visit v;
    cpu_view_of(wick_arg_tensor(k, 0), &self);
    cpu_view_of(wick_arg_tensor(k, 1), &mask);
    expand_together(&self, &mask);
    wick_dim count = count_true(k, &mask);
    WICK_TRY(k->host->resize_output(k, 0, 1, &count));
    cpu_view_of(wick_out_tensor(k, 0), &out);
    visit_init(&v, &mask);
    visit_pack(&v, &out);
    v.run = emit_items;
    visit_all(k, &v, &mask, &self, true);
    return NULL;
}

/* (self, mask, source): the true places take source's elements in order. */
static wick_status *masked_scatter(const wick_kernel_call *k) {
    cpu_view out, mask, source;
    visit v;
    cpu_output_from(k, wick_arg_tensor(k, 0), &out);
    cpu_view_of(wick_arg_tensor(k, 1), &mask);
    cpu_view_of(wick_arg_tensor(k, 2), &source);
    cpu_view_expand(&mask, out.ndim, out.sizes);
    int64_t count = count_true(k, &mask), given = cpu_view_numel(&source);
    if (count > given)
        return WICK_HOST_ERROR(k->host, WICK_INVALID_ARGUMENT, "source has %lld elements but the mask takes %lld",
                               (long long)given, (long long)count);
    visit_init(&v, &mask);
    cpu_view_dense(source.data, source.dtype, 1, &given, &source);
    visit_pack(&v, &source);
    v.run = absorb_items;
    visit_all(k, &v, &mask, &out, true);
    return NULL;
}

static const wick_kernel_row rows[] = {
    CPU_ROW("nonzero", nonzero, NULL, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("nonzero_static", nonzero_static, NULL, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("masked_select", masked_select, NULL, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("masked_scatter", masked_scatter, NULL, 0, WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_CONTIGUOUS),
};
const cpu_kernel_table cpu_select_table = CPU_TABLE(rows);
