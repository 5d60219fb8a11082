/* Rows of dense memory that a team of threads works on together: held in registers where they fit, else walked. */
#ifndef WICK_GPU_ROWS_H
#define WICK_GPU_ROWS_H

#include "reduce.h"

/* How many accesses of 16 bytes a thread holds. */
enum { ROW_PACKS = 4 };

template <class S>
struct width_of {
    enum { n = 16 / (int)sizeof(S) };
};
template <int N>
struct width {
    enum { n = N };
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
    for (int p = 0; p < PACKS; ++p)
        GPU_UNROLL
        for (int j = 0; j < V; ++j) x[p][j] = lane + p * team < packs ? load_as<C>(raw[p].v[j]) : fill;
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
template <class S>
GPU_FN int64_t row_head(int64_t n, const S *row, const S *other, const S *third) {
    const uint64_t at = (uint64_t)row % 16;
    if ((uint64_t)other % 16 != at || (uint64_t)third % 16 != at) return n;
    const int64_t head = (int64_t)((16 - at) % 16 / sizeof(S));
    return head < n ? head : n;
}

/* f(width<N>(), i): N elements from i on. */
template <class S, class F>
GPU_FN void row_walk(int64_t n, int64_t head, int lane, int team, F f) {
    enum { V = width_of<S>::n };
    const int64_t packs = (n - head) / V;
    for (int64_t i = lane; i < head; i += team) f(width<1>(), i);
    for (int64_t p = lane; p < packs; p += team) f(width<V>(), head + p * V);
    for (int64_t i = head + packs * V + lane; i < n; i += team) f(width<1>(), i);
}

template <int N, class S, class C>
GPU_FN void read_elements(const S *from, C (&x)[N]) {
    pack<S, N> raw = *reinterpret_cast<const pack<S, N> *>(from);
    GPU_UNROLL
    for (int j = 0; j < N; ++j) x[j] = load_as<C>(raw.v[j]);
}
template <int N, class S, class C>
GPU_FN void write_elements(S *to, const C (&x)[N]) {
    pack<S, N> raw;
    GPU_UNROLL
    for (int j = 0; j < N; ++j) raw.v[j] = store_as<S>(x[j]);
    *reinterpret_cast<pack<S, N> *>(to) = raw;
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
template <class C>
GPU_FN C lowest() {
    return (C)bits_to_float(0xff800000u);
}

#endif
