/* Reductions by index that always give the same bits: positions are sorted by where they go (sort.cu) and every group is
 * folded in order, pieces of it in parallel. */
#include "args_index.h"
#include "gpu.h"

#define THREADS 256

GPU_KERNEL(scatter_keys, THREADS, gpu_scatter_keys_args) {
    for (uint64_t i = (uint64_t)gpu_thread(); i < a.n; i += (uint64_t)gpu_threads()) {
        int64_t at[2], x = 0;
        offsets_at(a.walk, (uint32_t)i, at);
        if (a.index) x = load_any<int64_t>(static_cast<const char *>(a.index) + at[1], a.index_dtype);
        const bool skipped = x == a.skip;
        if (a.wrap && x < 0) x += a.size;
        const bool good = !skipped && (uint64_t)x < (uint64_t)a.size;
        a.keys[i] = good ? (uint32_t)((at[0] + x * a.stride) / a.step) : a.none;
    }
}

/* ---- arithmetic; integers wrap ---- */
GPU_FN float plus(float a, float b) { return a + b; }
GPU_FN double plus(double a, double b) { return a + b; }
GPU_FN int64_t plus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
GPU_FN float times(float a, float b) { return a * b; }
GPU_FN double times(double a, double b) { return a * b; }
GPU_FN int64_t times(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
GPU_FN float quotient(float a, uint32_t n) { return a / (float)n; }
GPU_FN double quotient(double a, uint32_t n) { return a / (double)n; }
GPU_FN int64_t quotient(int64_t a, uint32_t n) { return a / (int64_t)n - (a % (int64_t)n < 0); }
/* A sum of integers wraps in its own dtype before it is divided. */
GPU_FN float wrapped(void *, int, float v) { return v; }
GPU_FN double wrapped(void *, int, double v) { return v; }
GPU_FN int64_t wrapped(void *p, int dtype, int64_t v) {
    store_any(p, dtype, v);
    return load_any<int64_t>(p, dtype);
}
GPU_FN void alpha_of(const gpu_scatter_args &a, float *out) { *out = (float)a.alpha; }
GPU_FN void alpha_of(const gpu_scatter_args &a, double *out) { *out = a.alpha; }
GPU_FN void alpha_of(const gpu_scatter_args &a, int64_t *out) { *out = a.whole_alpha; }

/* What `n` elements of a group make; nothing yet if there are none. */
template <class C> struct scattered {
    C v;
    uint32_t n, unused;
};

template <class C> GPU_FN C fold_two(int scatter, C x, C y) {
    switch (scatter) {
    case GPU_SCATTER_SUM: return plus(x, y);
    case GPU_SCATTER_PROD: return times(x, y);
    case GPU_SCATTER_MAX: return op_max()(x, y);
    case GPU_SCATTER_MIN: return op_min()(x, y);
    default: return y;
    }
}
template <class C> GPU_FN void fold_in(const gpu_scatter_args &a, scattered<C> *sum, C v, uint32_t n) {
    sum->v = sum->n ? fold_two(a.scatter, sum->v, v) : v;
    sum->n += n;
}

/* ---- a column: the same element of every position ---- */
struct column_at {
    int64_t source, out; /* elements */
    uint32_t piece;
    int64_t c;
};
GPU_FN column_at column_of(const gpu_scatter_args &a, int64_t thread) {
    column_at at;
    int64_t offsets[2];
    at.piece = (uint32_t)(thread / a.columns), at.c = thread - at.piece * a.columns;
    offsets_at(a.column, (uint32_t)at.c, offsets);
    at.source = offsets[0], at.out = offsets[1];
    return at;
}

template <class C> GPU_FN C source_at(const gpu_scatter_args &a, const column_at &at, uint32_t s) {
    int64_t offset[1];
    offsets_at(a.positions, a.order[s], offset);
    return load_any<C>(static_cast<const char *>(a.source) + (offset[0] + at.source) * a.source_bytes, a.source_dtype);
}

template <class C>
GPU_FN void meet_target(const gpu_scatter_args &a, const column_at &at, uint32_t key, const scattered<C> &sum) {
    if (key == a.none) return;
    void *p = static_cast<char *>(a.out) + (key * a.step + at.out) * a.out_bytes;
    C alpha, v = sum.v;
    alpha_of(a, &alpha);
    if (a.scatter == GPU_SCATTER_SUM) v = times(v, alpha);
    if (a.with_self && a.scatter != GPU_SCATTER_LAST) v = fold_two(a.scatter, load_any<C>(p, a.out_dtype), v);
    if (a.mean) v = quotient(wrapped(p, a.out_dtype, v), sum.n + (uint32_t)a.with_self);
    store_any(p, a.out_dtype, v);
}

template <class C>
GPU_FN scattered<C> *partial_at(const gpu_scatter_args &a, const column_at &at, uint32_t piece, int which) {
    return static_cast<scattered<C> *>(a.partial) + ((int64_t)piece * 2 + which) * a.columns + at.c;
}

/* Groups that lie in one piece meet the target at once. */
template <class C> GPU_FN void scatter_piece(const gpu_scatter_args &a, const column_at &at) {
    const uint32_t begin = at.piece * a.piece, end = a.n - begin < a.piece ? a.n : begin + a.piece;
    uint32_t key = a.keys[begin];
    bool shared = begin && a.keys[begin - 1] == key;
    scattered<C> sum = {0, 0, 0};
    for (uint32_t s = begin; s < end; ++s) {
        if (a.keys[s] != key) {
            if (shared)
                *partial_at<C>(a, at, at.piece, 0) = sum;
            else
                meet_target(a, at, key, sum);
            key = a.keys[s], shared = false, sum.n = 0;
        }
        fold_in(a, &sum, source_at<C>(a, at, s), 1);
    }
    if (shared)
        *partial_at<C>(a, at, at.piece, 0) = sum;
    else if (end < a.n && a.keys[end] == key)
        *partial_at<C>(a, at, at.piece, 1) = sum;
    else
        meet_target(a, at, key, sum);
}

/* Groups that begin in a piece and go on in others. */
template <class C> GPU_FN void join_pieces(const gpu_scatter_args &a, const column_at &at) {
    const uint32_t begin = at.piece * a.piece;
    if (a.n - begin <= a.piece) return;
    const uint32_t end = begin + a.piece, key = a.keys[end];
    if (a.keys[end - 1] != key || (begin && a.keys[begin - 1] == key)) return;
    scattered<C> sum = *partial_at<C>(a, at, at.piece, 1);
    for (uint32_t p = at.piece + 1; p < a.pieces && a.keys[p * a.piece] == key; ++p) {
        scattered<C> next = *partial_at<C>(a, at, p, 0);
        fold_in(a, &sum, next.v, next.n);
    }
    meet_target(a, at, key, sum);
}

template <class C> GPU_FN void scatter_pieces(const gpu_scatter_args &a) {
    for (int64_t i = gpu_thread(); i < a.pieces * a.columns; i += gpu_threads()) scatter_piece<C>(a, column_of(a, i));
}
template <class C> GPU_FN void scatter_joined(const gpu_scatter_args &a) {
    for (int64_t i = gpu_thread(); i < a.pieces * a.columns; i += gpu_threads()) join_pieces<C>(a, column_of(a, i));
}

#define SCATTER(name, C)                                                                   \
    GPU_KERNEL(scatter_pieces_##name, THREADS, gpu_scatter_args) { scatter_pieces<C>(a); } \
    GPU_KERNEL(scatter_joined_##name, THREADS, gpu_scatter_args) { scatter_joined<C>(a); }
SCATTER(f32, float)
SCATTER(f64, double)
SCATTER(i64, int64_t)
