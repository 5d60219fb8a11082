/* Rows of dense memory that a team of threads works on together: held in registers where they fit, else walked. */
#ifndef WICK_GPU_ROWS_H
#define WICK_GPU_ROWS_H

#include "reduce.h"

/* How many accesses of 16 bytes a thread holds. */
enum { ROW_PACKS = 4 };

template <class S> struct width_of {
    enum { n = 16 / (int)sizeof(S) };
};

/* The elements of a row as 16-byte accesses at `row`, for thread `lane` of its team: PACKS of them in registers.
 * Those behind the row's end are `fill`. */
template <class S, class C, int PACKS>
GPU_FN void row_load(const S *row, int64_t n, int lane, int team, C fill, C (&x)[PACKS][width_of<S>::n]) {
    enum { V = width_of<S>::n };
    pack<S, V> raw[PACKS];
    const int64_t packs = n / V;
    GPU_UNROLL
    for (int p = 0; p < PACKS; ++p)
        if (lane + p * team < packs) raw[p] = reinterpret_cast<const pack<S, V> *>(row)[lane + p * team];
    GPU_UNROLL
    for (int p = 0; p < PACKS; ++p) {
        GPU_UNROLL
        for (int j = 0; j < V; ++j) x[p][j] = lane + p * team < packs ? load_as<C>(raw[p].v[j]) : fill;
    }
}

template <class S, class C, int PACKS>
GPU_FN void row_store(S *row, int64_t n, int lane, int team, const C (&y)[PACKS][width_of<S>::n]) {
    enum { V = width_of<S>::n };
    GPU_UNROLL
    for (int p = 0; p < PACKS; ++p) {
        pack<S, V> raw;
        GPU_UNROLL
        for (int j = 0; j < V; ++j) raw.v[j] = store_as<S>(y[p][j]);
        if (lane + p * team < n / V) reinterpret_cast<pack<S, V> *>(row)[lane + p * team] = raw;
    }
}

/* Elements of a row before the first whole access; all of them if the other operands' rows lie differently. */
template <class S> GPU_FN int64_t row_head(int64_t n, const S *row, const S *other, const S *third) {
    const uint64_t at = (uint64_t)row % 16;
    if ((uint64_t)other % 16 != at || (uint64_t)third % 16 != at) return n;
    const int64_t head = (int64_t)((16 - at) % 16 / sizeof(S));
    return head < n ? head : n;
}

/* f(x, i): x[K][N] are N elements from i on of K rows. */
template <int N, class C, class S, int K, class F> GPU_FN void row_visit(const S *const (&rows)[K], int64_t i, F f) {
    C x[K][N];
    GPU_UNROLL
    for (int k = 0; k < K; ++k) {
        pack<S, N> raw = *reinterpret_cast<const pack<S, N> *>(rows[k] + i);
        GPU_UNROLL
        for (int j = 0; j < N; ++j) x[k][j] = load_as<C>(raw.v[j]);
    }
    f(x, i);
}

/* Accesses p, p + step, ... of K rows, all under way at once. */
template <int UNROLL, class C, class S, int K, class F>
GPU_FN void row_visit_several(const S *const (&rows)[K], int64_t head, int64_t p, int64_t step, F f) {
    enum { V = width_of<S>::n };
    pack<S, V> raw[UNROLL][K];
    GPU_UNROLL
    for (int u = 0; u < UNROLL; ++u) {
        GPU_UNROLL
        for (int k = 0; k < K; ++k)
            raw[u][k] = *reinterpret_cast<const pack<S, V> *>(rows[k] + head + (p + u * step) * V);
    }
    GPU_UNROLL
    for (int u = 0; u < UNROLL; ++u) {
        C x[K][V];
        GPU_UNROLL
        for (int k = 0; k < K; ++k) {
            GPU_UNROLL
            for (int j = 0; j < V; ++j) x[k][j] = load_as<C>(raw[u][k].v[j]);
        }
        f(x, head + (p + u * step) * V);
    }
}

/* f(x, i) for all elements of K rows: x[K][N] are N of each from i on. N is a whole access behind the first `head`
 * elements and before the last ones, else 1. */
template <class C, class S, int K, class F>
GPU_FN void row_walk(const S *const (&rows)[K], int64_t n, int64_t head, int lane, int team, F f) {
    enum { V = width_of<S>::n, UNROLL = K > 1 ? 2 : 4 };
    const int64_t packs = (n - head) / V, step = team;
    for (int64_t i = lane; i < head; i += step) row_visit<1, C>(rows, i, f);
    int64_t p = lane;
    for (; p + (UNROLL - 1) * step < packs; p += UNROLL * step) row_visit_several<UNROLL, C>(rows, head, p, step, f);
    for (; p < packs; p += step) row_visit<V, C>(rows, head + p * V, f);
    for (int64_t i = head + packs * V + lane; i < n; i += step) row_visit<1, C>(rows, i, f);
}
/* N of an f's x. */
#define ROW_WIDTH(x) ((int)(sizeof((x)[0]) / sizeof((x)[0][0])))

template <int N, class S, class C> GPU_FN void read_elements(const S *from, C (&x)[N]) {
    pack<S, N> raw = *reinterpret_cast<const pack<S, N> *>(from);
    GPU_UNROLL
    for (int j = 0; j < N; ++j) x[j] = load_as<C>(raw.v[j]);
}
/* Where values come by way of branches the compiler splits a store of 16 bytes into its elements: CUDA's is asked for. */
template <class T> GPU_FN void write_access(T *to, const T &raw) {
#if defined(__CUDA_ARCH__)
    if (sizeof(T) == 16) {
        uint4 bits;
        memcpy(&bits, &raw, sizeof bits);
        __stwb(reinterpret_cast<uint4 *>(to), bits);
        return;
    }
#endif
    *to = raw;
}
template <int N, class S, class C> GPU_FN void write_elements(S *to, const C (&x)[N]) {
    pack<S, N> raw;
    GPU_UNROLL
    for (int j = 0; j < N; ++j) raw.v[j] = store_as<S>(x[j]);
    write_access(reinterpret_cast<pack<S, N> *>(to), raw);
}

/* ---- arithmetic in float and double ---- */
GPU_FN float real_exp(float x) { return expf(x); }
GPU_FN double real_exp(double x) { return exp(x); }
GPU_FN float real_log(float x) { return logf(x); }
GPU_FN double real_log(double x) { return log(x); }
GPU_FN float real_sqrt(float x) { return sqrtf(x); }
GPU_FN double real_sqrt(double x) { return sqrt(x); }
/* A NaN loses: it comes back by way of the sums. */
struct op_higher {
    GPU_MEMBER float operator()(float a, float b) const { return fmaxf(a, b); }
    GPU_MEMBER double operator()(double a, double b) const { return fmax(a, b); }
};
template <class C> GPU_FN C lowest() { return (C)bits_to_float(0xff800000u); }

#endif
