/* Batch normalization of dense [samples][channels][pixels]. Its statistics are moments (reduce.cu); here are the sums of
 * the backward, and what is done element by element. */
#include "args_batch_norm.h"
#include "rows.h"

#define THREADS 256

template <class C>
GPU_FN C number_at(const void *p, int dtype, int64_t i, C fallback) {
    return p ? load_at<C>(p, dtype, i) : fallback;
}
template <class C>
GPU_FN C invstd_at(const void *p, int dtype, int64_t i, bool is_variance, double eps) {
    C v = number_at<C>(p, dtype, i, C(1));
    return is_variance ? 1 / real_sqrt(v + (C)eps) : v;
}

/* ---- sums of g and of g * (x - mean) by channel ---- */
template <class C>
struct pair_sums {
    C g, dot;
};
template <class C>
struct pair_value {
    C g, x;
};
template <class C>
struct pair_policy {
    typedef pair_sums<C> acc;
    typedef pair_value<C> value;
    C mean;
    GPU_MEMBER acc identity() const { return acc{0, 0}; }
    GPU_MEMBER void enter(const gpu_reduce_args &a, uint32_t k) { mean = number_at<C>(a.mean, a.mean_dtype, k, C(0)); }
    GPU_MEMBER void add(acc &a, const value &x, int64_t, int) const { a.g += x.g, a.dot += x.g * (x.x - mean); }
    GPU_MEMBER acc join(const acc &a, const acc &b) const { return acc{a.g + b.g, a.dot + b.dot}; }
    /* Results: the gradients of weight and bias; either may be NULL. */
    GPU_MEMBER void store(const gpu_reduce_args &a, const int64_t (&at)[2], uint32_t k, const acc &x) const {
        C *sums = static_cast<C *>(a.sums);
        sums[2 * (int64_t)k] = x.g, sums[2 * (int64_t)k + 1] = x.dot;
        C invstd = invstd_at<C>(a.invstd, a.invstd_dtype, k, a.is_variance != 0, a.param);
        if (a.out[0]) store_any(static_cast<char *>(a.out[0]) + at[0], a.out_dtypes[0], x.dot * invstd);
        if (a.out[1]) store_any(static_cast<char *>(a.out[1]) + at[1], a.out_dtypes[1], x.g);
    }
};
template <class S>
struct pair_source {
    typedef typename compute<S>::type C;
    typedef pair_value<C> value;
    enum { V = 16 / (int)sizeof(S), bytes = (int)sizeof(S) };
    const char *g, *x;
    template <int N>
    GPU_MEMBER void read(int64_t at, value (&out)[N]) const {
        pack<S, N> u = *reinterpret_cast<const pack<S, N> *>(g + at), v = *reinterpret_cast<const pack<S, N> *>(x + at);
        GPU_UNROLL
        for (int j = 0; j < N; ++j) out[j] = value{load_as<C>(u.v[j]), load_as<C>(v.v[j])};
    }
};

#define SOURCE(S) pair_source<S>{static_cast<const char *>(a.in), static_cast<const char *>(a.second)}
#define SUMS(name, S)                                                                          \
    GPU_KERNEL(batch_norm_sums_##name##_rows, THREADS, gpu_reduce_args) {                      \
        reduce_rows(a, pair_policy<compute<S>::type>(), SOURCE(S));                            \
    }                                                                                          \
    GPU_KERNEL(batch_norm_sums_##name##_columns, COLUMN_THREADS, gpu_reduce_args) {            \
        reduce_columns(a, pair_policy<compute<S>::type>(), SOURCE(S));                         \
    }
SUMS(f32, float)
SUMS(f16, f16)
SUMS(bf16, bf16)
SUMS(f64, double)
GPU_KERNEL(batch_norm_sums_finish_f32, THREADS, gpu_reduce_args) { reduce_finish(a, pair_policy<float>()); }
GPU_KERNEL(batch_norm_sums_finish_f64, THREADS, gpu_reduce_args) { reduce_finish(a, pair_policy<double>()); }

/* ---- element by element ---- */
/* y = (x - mean) a + b, or a g + b (x - mean) + c */
template <class C>
struct coefficients {
    C mean, a, b, c;
};
template <class C>
GPU_FN coefficients<C> coefficients_of(const gpu_batch_norm_args &a, int64_t channel, bool backward) {
    const C invstd = invstd_at<C>(a.invstd, a.invstd_dtype, channel, a.is_variance != 0, a.eps);
    coefficients<C> k = {number_at<C>(a.mean, a.mean_dtype, channel, C(0)), 0, 0, 0};
    k.a = invstd * number_at<C>(a.weight, a.weight_dtype, channel, C(1));
    if (!backward) k.b = number_at<C>(a.bias, a.bias_dtype, channel, C(0));
    if (backward && a.sums) {
        const C *sums = static_cast<const C *>(a.sums) + 2 * channel;
        k.b = -k.a * invstd * invstd * sums[1] / (C)a.count;
        k.c = -k.a * sums[0] / (C)a.count;
    }
    return k;
}

template <int N, class S, bool BACKWARD>
GPU_FN void apply(const gpu_batch_norm_args &a) {
    typedef typename compute<S>::type C;
    const int64_t step = gpu_threads();
    for (int64_t i = gpu_thread(); i < a.n; i += step) {
        const uint32_t plane = divide((uint32_t)i, a.pixels), sample = divide(plane, a.channels);
        const coefficients<C> k = coefficients_of<C>(a, plane - sample * a.channels.divisor, BACKWARD);
        C x[N], g[N];
        read_elements(static_cast<const S *>(a.x) + i * N, x);
        if (BACKWARD) read_elements(static_cast<const S *>(a.g) + i * N, g);
        GPU_UNROLL
        for (int j = 0; j < N; ++j)
            x[j] = BACKWARD ? k.a * g[j] + k.b * (x[j] - k.mean) + k.c : (x[j] - k.mean) * k.a + k.b;
        write_elements(static_cast<S *>(a.y) + i * N, x);
    }
}

#define APPLY(name, S)                                                        \
    GPU_KERNEL(batch_norm_##name, THREADS, gpu_batch_norm_args) {             \
        if (a.packed)                                                         \
            apply<width_of<S>::n, S, false>(a);                               \
        else                                                                  \
            apply<1, S, false>(a);                                            \
    }                                                                         \
    GPU_KERNEL(batch_norm_backward_##name, THREADS, gpu_batch_norm_args) {    \
        if (a.packed)                                                         \
            apply<width_of<S>::n, S, true>(a);                                \
        else                                                                  \
            apply<1, S, true>(a);                                             \
    }
APPLY(f32, float)
APPLY(f16, f16)
APPLY(bf16, bf16)
APPLY(f64, double)
