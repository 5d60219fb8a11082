/* Rows of dense memory that a team of threads works on together: held in registers where they fit, else walked. */
#ifndef WICK_GPU_ROWS_H
#define WICK_GPU_ROWS_H

#include "reduce.h"

/* How many accesses of 16 bytes a thread holds. */
enum { ROW_PACKS = 4 };

template <class S> struct width_of {
    enum { n = 16 / (int)sizeof(S) };
};

/* Where values come by way of branches the compiler splits a store of 16 bytes into its elements: CUDA's is asked
 * for. */
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

/* 16 bytes as they lie in memory. */
typedef pack<uint32_t, 4> row_words;

template <class S, class C> GPU_FN row_words words_of(const C (&x)[width_of<S>::n]) {
    pack<S, width_of<S>::n> raw;
    GPU_UNROLL
    for (int j = 0; j < width_of<S>::n; ++j) raw.v[j] = store_as<S>(x[j]);
    row_words words;
    memcpy(&words, &raw, sizeof words);
    return words;
}
template <class S, class C> GPU_FN void elements_of(const row_words &words, C (&x)[width_of<S>::n]) {
    pack<S, width_of<S>::n> raw;
    memcpy(&raw, &words, sizeof raw);
    GPU_UNROLL
    for (int j = 0; j < width_of<S>::n; ++j) x[j] = load_as<C>(raw.v[j]);
}
/* Elements are unpacked again behind this: kept from before, they would take up to twice the registers. */
GPU_FN void stay_packed(row_words &words) {
#if defined(__CUDA_ARCH__)
    asm volatile("" : "+r"(words.v[0]), "+r"(words.v[1]), "+r"(words.v[2]), "+r"(words.v[3]));
#else
    (void)words;
#endif
}
template <class S> GPU_FN row_words words_filled(typename compute<S>::type value) {
    typename compute<S>::type x[width_of<S>::n];
    GPU_UNROLL
    for (int j = 0; j < width_of<S>::n; ++j) x[j] = value;
    return words_of<S>(x);
}

GPU_FN row_words read_words(const row_words *from) {
#if defined(__CUDA_ARCH__)
    const uint4 bits = *reinterpret_cast<const uint4 *>(from);
    return row_words{{bits.x, bits.y, bits.z, bits.w}};
#else
    return *from;
#endif
}
GPU_FN void write_words(row_words *to, const row_words &words) {
#if defined(__CUDA_ARCH__)
    *reinterpret_cast<uint4 *>(to) = make_uint4(words.v[0], words.v[1], words.v[2], words.v[3]);
#else
    *to = words;
#endif
}
/* Memory that is read or written once: it should leave the caches to what is used again. */
GPU_FN row_words read_once(const row_words *from) {
#if defined(__CUDA_ARCH__)
    const uint4 bits = __ldcs(reinterpret_cast<const uint4 *>(from));
    return row_words{{bits.x, bits.y, bits.z, bits.w}};
#else
    return *from;
#endif
}
GPU_FN void write_once(row_words *to, const row_words &words) {
#if defined(__CUDA_ARCH__)
    __stcs(reinterpret_cast<uint4 *>(to), make_uint4(words.v[0], words.v[1], words.v[2], words.v[3]));
#else
    *to = words;
#endif
}

/* Accesses lane, lane + team, ... of a row's `packs` (at least one), for thread `lane` of its team. No load is behind a
 * branch, so that all are under way at once: those past the end read access 0 and become `fill`. */
template <int PACKS>
GPU_FN void row_fetch(const void *row, int packs, int lane, int team, const row_words &fill,
                      row_words (&words)[PACKS]) {
    GPU_UNROLL
    for (int p = 0; p < PACKS; ++p) {
        const int at = lane + p * team;
        words[p] = read_once(static_cast<const row_words *>(row) + (at < packs ? at : 0));
    }
    GPU_UNROLL
    for (int p = 0; p < PACKS; ++p) {
        GPU_UNROLL
        for (int k = 0; k < 4; ++k) words[p].v[k] = lane + p * team < packs ? words[p].v[k] : fill.v[k];
    }
}
template <class S, class C, int PACKS>
GPU_FN void row_load(const S *row, int64_t n, int lane, int team, C fill, C (&x)[PACKS][width_of<S>::n]) {
    row_words words[PACKS];
    row_fetch(row, (int)(n / width_of<S>::n), lane, team, words_filled<S>(fill), words);
    GPU_UNROLL
    for (int p = 0; p < PACKS; ++p) elements_of<S>(words[p], x[p]);
}
template <class S, class C, int PACKS>
GPU_FN void row_store(S *row, int64_t n, int lane, int team, const C (&y)[PACKS][width_of<S>::n]) {
    GPU_UNROLL
    for (int p = 0; p < PACKS; ++p) {
        const int at = lane + p * team;
        const row_words words = words_of<S>(y[p]);
        if (at < (int)(n / width_of<S>::n)) write_words(reinterpret_cast<row_words *>(row) + at, words);
    }
}

/* f(x, p) for every access p that is held. */
template <class S, class C, int PACKS, class F> GPU_FN void each_held(row_words (&words)[PACKS], F f) {
    GPU_UNROLL
    for (int p = 0; p < PACKS; ++p) {
        C x[width_of<S>::n];
        stay_packed(words[p]);
        elements_of<S>(words[p], x);
        f(x, p);
    }
}

/* team_join with one barrier: `shared` is free again once the block has passed another one, as two joins that take
 * turns with two arrays do. */
template <class T, class F> GPU_FN T row_join(T x, int team, F join, T *shared) {
    const int within = team < GPU_WAVE ? team : GPU_WAVE;
    for (int mask = within / 2; mask > 0; mask /= 2) x = join(x, lane_xor(x, mask));
    if (team <= GPU_WAVE) return x;
    const int waves = team / GPU_WAVE;
    if (gpu_lane() == 0) shared[(int)threadIdx.x / GPU_WAVE] = x;
    __syncthreads();
    x = shared[gpu_lane() & (waves - 1)];
    for (int mask = waves / 2; mask > 0; mask /= 2) x = join(x, lane_xor(x, mask));
    return x;
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
template <int UNROLL, class C, bool LAST, class S, int K, class F>
GPU_FN void row_visit_several(const S *const (&rows)[K], int64_t head, int64_t p, int64_t step, F f) {
    enum { V = width_of<S>::n };
    row_words raw[UNROLL][K];
    GPU_UNROLL
    for (int u = 0; u < UNROLL; ++u) {
        GPU_UNROLL
        for (int k = 0; k < K; ++k) {
            const row_words *from = reinterpret_cast<const row_words *>(rows[k] + head + (p + u * step) * V);
            raw[u][k] = LAST ? read_once(from) : read_words(from);
        }
    }
    GPU_UNROLL
    for (int u = 0; u < UNROLL; ++u) {
        C x[K][V];
        GPU_UNROLL
        for (int k = 0; k < K; ++k) elements_of<S>(raw[u][k], x[k]);
        f(x, head + (p + u * step) * V);
    }
}

/* f(x, i) for all elements of K rows: x[K][N] are N of each from i on. N is a whole access behind the first `head`
 * elements and before the last ones, else 1. LAST: nothing reads the rows after that. */
template <class C, bool LAST = false, class S, int K, class F>
GPU_FN void row_walk(const S *const (&rows)[K], int64_t n, int64_t head, int lane, int team, F f) {
    enum { V = width_of<S>::n, UNROLL = K > 1 ? 2 : 4 };
    const int64_t packs = (n - head) / V, step = team;
    for (int64_t i = lane; i < head; i += step) row_visit<1, C>(rows, i, f);
    int64_t p = lane;
    for (; p + (UNROLL - 1) * step < packs; p += UNROLL * step)
        row_visit_several<UNROLL, C, LAST>(rows, head, p, step, f);
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
template <int N, class S, class C> GPU_FN void write_elements(S *to, const C (&x)[N]) {
    pack<S, N> raw;
    GPU_UNROLL
    for (int j = 0; j < N; ++j) raw.v[j] = store_as<S>(x[j]);
    write_access(reinterpret_cast<pack<S, N> *>(to), raw);
}

/* The same past the caches, for elements of a row_walk: one, or a whole access. */
template <int N, class S, class C> GPU_FN void write_elements_once(S *to, const C (&x)[N]) {
    pack<S, N> raw;
    GPU_UNROLL
    for (int j = 0; j < N; ++j) raw.v[j] = store_as<S>(x[j]);
    if (sizeof raw != 16) {
        *reinterpret_cast<pack<S, N> *>(to) = raw;
        return;
    }
    row_words words = {};
    memcpy(&words, &raw, sizeof raw);
    write_once(reinterpret_cast<row_words *>(to), words);
}

/* ---- arithmetic in float and double ---- */
GPU_FN float real_exp(float x) { return expf(x); }
GPU_FN double real_exp(double x) { return exp(x); }
/* exp for results that are stored as S: the hardware's own is enough for 16 bits. */
template <class S> struct exp_for {
    template <class C> static GPU_MEMBER C of(C x) { return real_exp(x); }
};
GPU_FN float rough_exp(float x) {
#if defined(__CUDA_ARCH__)
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * 1.4426950408889634f));
    return y;
#elif defined(GPU_EMULATE)
    return expf(x);
#else
    return __expf(x);
#endif
}
template <> struct exp_for<f16> {
    static GPU_MEMBER float of(float x) { return rough_exp(x); }
};
template <> struct exp_for<bf16> {
    static GPU_MEMBER float of(float x) { return rough_exp(x); }
};
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
