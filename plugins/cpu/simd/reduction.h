/* What the reduction files share: accumulator types, loaders and stores that bring any dtype to them and back, the
 * folds, and the geometry of one reduction. Kernels exist for accumulator types only; every other dtype passes through
 * a block that stays in the first-level cache. Nothing here allocates; everything is safe on any thread. */
#ifndef WICK_CPU_REDUCTION_H
#define WICK_CPU_REDUCTION_H

#include <cpu.h>
#include <prefetch.h>
#include <wick/sdk/shape.h>

#include "stream.h"

typedef struct acc_c64 {
    float re, im;
} acc_c64;
typedef struct acc_c128 {
    double re, im;
} acc_c128;

typedef enum acc_kind { ACC_F32, ACC_F64, ACC_I64, ACC_C64, ACC_C128, ACC_COUNT } acc_kind;

#define acc_bytes CPU_NAME(acc_bytes)
#define acc_of CPU_NAME(acc_of)
#define acc_loader CPU_NAME(acc_loader)
#define acc_truth_loader CPU_NAME(acc_truth_loader)
#define acc_store CPU_NAME(acc_store)
#define acc_is_native CPU_NAME(acc_is_native)
#define reduce_shape_init CPU_NAME(reduce_shape_init)
#define reduce_at CPU_NAME(reduce_at)
#define reduce_split CPU_NAME(reduce_split)
#define reduce_task CPU_NAME(reduce_task)
#define fold_sum CPU_NAME(fold_sum)
#define fold_prod CPU_NAME(fold_prod)
#define fold_max CPU_NAME(fold_max)
#define fold_min CPU_NAME(fold_min)
#define reduce_run CPU_NAME(reduce_run)

/* Reads n elements that lie `stride` elements apart into dense accumulators. */
typedef void (*acc_load_fn)(void *dst, const void *src, int64_t stride, int64_t n);
/* Writes n dense accumulators to elements that lie `stride` elements apart, rounding to their dtype. */
typedef void (*acc_store_fn)(void *dst, int64_t stride, const void *src, int64_t n);

extern const uint8_t acc_bytes[ACC_COUNT];
/* The accumulator of results of dtype `d`: F32 for the floating types up to 32 bits, I64 for integers and bool. */
acc_kind acc_of(wick_dtype d);
/* True if elements of dtype `d` are accumulators of kind `a` as they lie in memory. */
bool acc_is_native(acc_kind a, wick_dtype d);
/* NULL for a pair that does not exist. A real accumulator reads a complex element's modulus. */
acc_load_fn acc_loader(acc_kind a, wick_dtype d);
/* Reads x != 0 as 0 or 1 into I64 accumulators. */
acc_load_fn acc_truth_loader(wick_dtype d);
acc_store_fn acc_store(acc_kind a, wick_dtype d);

/* A tensor as kernels over accumulators see it. */
typedef struct acc_operand {
    char *data;
    acc_load_fn load;
    acc_store_fn store;
    uint8_t size; /* of an element, in bytes */
    bool native;  /* elements are accumulators as they lie in memory */
    bool streams; /* results, native and dense, that are stored past the caches: see acc_stream */
} acc_operand;

/* False if the dtype has no such accumulator. */
static inline bool acc_operand_init(acc_operand *o, acc_kind a, const wick_tensor *t) {
    wick_dtype d = wick_tensor_dtype(t);
    *o = (acc_operand){(char *)wick_data(t), acc_loader(a, d), acc_store(a, d), (uint8_t)wick_dtype_bytes(d),
                       acc_is_native(a, d)};
    return o->load && o->store;
}
/* n dense accumulators from element `at` on: in place where possible, else in `buffer`. */
static inline const void *acc_view(const acc_operand *o, int64_t at, int64_t stride, int64_t n, void *buffer) {
    const char *p = o->data + at * o->size;
    if (o->native && stride == 1) return p;
    o->load(buffer, p, stride, n);
    return buffer;
}
/* Where to write n dense accumulators that acc_commit then brings to element `at` and on. */
static inline void *acc_target(const acc_operand *o, int64_t at, int64_t stride, void *buffer) {
    return o->native && stride == 1 && !o->streams ? o->data + at * o->size : (char *)buffer;
}
static inline void acc_commit(const acc_operand *o, int64_t at, int64_t stride, int64_t n, const void *written) {
    char *p = o->data + at * o->size;
    if (o->streams)
        cpu_stream(p, written, (size_t)(n * o->size));
    else if (p != written)
        o->store(p, stride, written, n);
}
/* Lets results of `count` elements that lie `stride` apart go past the caches, if that is worth while; every worker then
 * ends with cpu_stream_end. */
static inline void acc_stream(acc_operand *o, const cpu_instance *cpu, int64_t count, int64_t stride, bool light) {
    o->streams = o->native && stride == 1 && cpu_streams(cpu, count * o->size, light);
}

/* ---- folds: an associative operation over dense accumulators ---- */
typedef struct fold_kernel {
    void (*fill)(void *acc, int64_t n); /* n identities */
    /* acc[j] = op(acc[j], x[r * stride + j]) for r < rows, j < width */
    void (*fold)(void *acc, const void *x, int64_t rows, int64_t stride, int64_t width);
    /* acc[0] = op(acc[0], x[0], ..., x[n - 1]), pairwise over lanes */
    void (*reduce)(void *acc, const void *x, int64_t n);
} fold_kernel;
/* By accumulator kind; max and min have no complex entry. NaN wins in max and min. */
extern const fold_kernel *const fold_sum[ACC_COUNT], *const fold_prod[ACC_COUNT], *const fold_max[ACC_COUNT],
                                                                                      *const fold_min[ACC_COUNT];

/* ---- geometry ---- */
typedef wick_reduce_dim reduce_dim;

/* The dimensions of a reduction, outermost first, coalesced; reduced_count elements go into each of kept_count
 * results. The innermost kept dimension is `column` (of size 1 if there is none), the others are `kept`. With `columns`
 * neighbouring results lie closer together than the reduced elements of one. */
typedef struct reduce_shape {
    int nkept, nreduced;
    bool columns;
    int64_t kept_count, reduced_count;
    int64_t block, blocks, tasks; /* see reduce_split */
    reduce_dim column;
    reduce_dim kept[WICK_MAX_DIMS], reduced[WICK_MAX_DIMS];
} reduce_shape;

/* out0 and out1 are the results, with or without the reduced dimensions; out1 may be NULL. */
void reduce_shape_init(reduce_shape *s, const wick_tensor *in, uint64_t mask, const wick_tensor *out0,
                       const wick_tensor *out1, wick_reduce_kind kind);
/* Offsets of the flat index over the first n of `dims`; returns the input's. `out` may be NULL. */
int64_t reduce_at(const reduce_dim *dims, int n, int64_t flat, int64_t out[2]);

/* Divides the results into s->tasks tasks of up to s->block neighbouring ones of `column`: up to `columns` of them in a
 * column walk, else up to `rows`. */
void reduce_split(reduce_shape *s, int64_t columns, int64_t rows);
/* Offset of a task's first element, as reduce_at; *width results. */
int64_t reduce_task(const reduce_shape *s, int64_t task, int64_t out[2], int64_t *width);

/* ---- a whole reduction ---- */
/* Changes n accumulators in place. */
typedef void (*reduce_map_fn)(void *acc, int64_t n, double param);

typedef struct reduction {
    reduce_shape shape;
    const fold_kernel *fold;
    acc_load_fn load;
    bool direct;          /* elements are accumulators as they lie in memory, and no map wants to change them */
    reduce_map_fn map;    /* on every element before the fold; NULL: none */
    reduce_map_fn finish; /* on every result; NULL: none */
    double map_param, finish_param;
    acc_store_fn store;
    uint8_t acc_size, in_size, out_size;
    const char *in;
    char *out;
} reduction;

/* The split of the work depends on the shape only, so that results do not depend on the thread count. */
wick_status *reduce_run(const wick_kernel_call *call, reduction *r);

/* Joins `count` lanes, a power of two up to 128, into the first. The steps are unrolled: each is a vector operation. */
#define REDUCE_LANES(a, count, COMBINE)                                                                           \
    do {                                                                                                          \
        _Pragma("GCC unroll 7") for (int half_ = (count) / 2; half_ > 0; half_ /= 2) for (int j_ = 0; j_ < half_; \
                                                                                          ++j_)(a)[j_] =          \
            COMBINE((a)[j_], (a)[j_ + half_]);                                                                    \
    } while (0)

static inline int64_t reduce_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t reduce_max(int64_t a, int64_t b) { return a > b ? a : b; }

#endif
