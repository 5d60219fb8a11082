/* Elementwise kernels, made from wick/sdk/pointwise.inc. Of each expression:
 *     pw_ID_f32, _f16, _bf16, _f64, _i32, _i64   all operands dense and of that type, several elements an access
 *     pw_ID_wf32, _wf64, _wi64                   a walk: any strides, broadcasts and dtypes, computed in that type
 * A 32-bit integer result of a real expression (kind N) and bools (kind B) are stored as what they are. */
#include "math.h"

#define WICK_POINTWISE_COMMON
#include "pointwise_classes.h"

/* ---- operand kinds: what is stored in dense arrays beside the type itself ---- */
template <class S>
struct kinds {
    typedef S T;
    typedef uint8_t B;
    typedef S R;
    typedef int32_t N;
};

#define ALL_THREADS 256

/* ---- numbers among the operands ---- */
/* The value of operand `k`, which has no address, in the type computed in. */
template <class T>
struct number {
    template <class Args>
    GPU_MEMBER static T of(const Args &a, int k) {
        return (T)a.number[k];
    }
};
template <>
struct number<int32_t> {
    template <class Args>
    GPU_MEMBER static int32_t of(const Args &a, int k) {
        return (int32_t)a.whole[k];
    }
};
template <>
struct number<int64_t> {
    template <class Args>
    GPU_MEMBER static int64_t of(const Args &a, int k) {
        return a.whole[k];
    }
};

/* ---- dense loops ---- */
/* One operand: packs of ITEMS elements of its own type, or a number. */
template <class T, class A, int N>
struct source {
    const A *data;
    T constant;
    GPU_MEMBER source(const gpu_dense_args &a, int k)
        : data(static_cast<const A *>(a.in[k])), constant(number<T>::of(a, k)) {}
    GPU_MEMBER void load(int64_t p, T (&out)[N]) const {
        if (data) {
            pack<A, N> x = reinterpret_cast<const pack<A, N> *>(data)[p];
            GPU_UNROLL
            for (int j = 0; j < N; ++j) out[j] = load_as<T>(x.v[j]);
        } else {
            GPU_UNROLL
            for (int j = 0; j < N; ++j) out[j] = constant;
        }
    }
    GPU_MEMBER T at(int64_t i) const { return data ? load_as<T>(data[i]) : constant; }
};

/* Each thread takes N elements at a time; the last ones are taken one by one. */
template <class T, int N, class Out, class A, class F>
GPU_FN void dense1(const gpu_dense_args &a, F f) {
    const int64_t whole = a.n / N;
    const source<T, A, N> x(a, 0);
    Out *out = static_cast<Out *>(a.out);
    for (int64_t p = gpu_thread(); p < whole; p += gpu_threads()) {
        T u[N];
        pack<Out, N> y;
        x.load(p, u);
        GPU_UNROLL
        for (int j = 0; j < N; ++j) y.v[j] = store_as<Out>(f(u[j]));
        reinterpret_cast<pack<Out, N> *>(out)[p] = y;
    }
    for (int64_t i = whole * N + gpu_thread(); i < a.n; i += gpu_threads()) out[i] = store_as<Out>(f(x.at(i)));
}

template <class T, int N, class Out, class A, class B, class F>
GPU_FN void dense2(const gpu_dense_args &a, F f) {
    const int64_t whole = a.n / N;
    const source<T, A, N> x(a, 0);
    const source<T, B, N> y(a, 1);
    Out *out = static_cast<Out *>(a.out);
    for (int64_t p = gpu_thread(); p < whole; p += gpu_threads()) {
        T u[N], v[N];
        pack<Out, N> r;
        x.load(p, u), y.load(p, v);
        GPU_UNROLL
        for (int j = 0; j < N; ++j) r.v[j] = store_as<Out>(f(u[j], v[j]));
        reinterpret_cast<pack<Out, N> *>(out)[p] = r;
    }
    for (int64_t i = whole * N + gpu_thread(); i < a.n; i += gpu_threads())
        out[i] = store_as<Out>(f(x.at(i), y.at(i)));
}

template <class T, int N, class Out, class A, class B, class C, class F>
GPU_FN void dense3(const gpu_dense_args &a, F f) {
    const int64_t whole = a.n / N;
    const source<T, A, N> x(a, 0);
    const source<T, B, N> y(a, 1);
    const source<T, C, N> z(a, 2);
    Out *out = static_cast<Out *>(a.out);
    for (int64_t p = gpu_thread(); p < whole; p += gpu_threads()) {
        T u[N], v[N], w[N];
        pack<Out, N> r;
        x.load(p, u), y.load(p, v), z.load(p, w);
        GPU_UNROLL
        for (int j = 0; j < N; ++j) r.v[j] = store_as<Out>(f(u[j], v[j], w[j]));
        reinterpret_cast<pack<Out, N> *>(out)[p] = r;
    }
    for (int64_t i = whole * N + gpu_thread(); i < a.n; i += gpu_threads())
        out[i] = store_as<Out>(f(x.at(i), y.at(i), z.at(i)));
}

/* ---- walks ---- */
template <class T, int N, class F>
GPU_FN void walk(const gpu_walk_args &a, F f) {
    for (uint32_t i = (uint32_t)gpu_thread(); i < a.n; i += (uint32_t)gpu_threads()) {
        int64_t at[N + 1];
        T x[N];
        offsets_at(a.walk, i, at);
        GPU_UNROLL
        for (int k = 0; k < N; ++k)
            x[k] = a.data[k + 1] ? load_any<T>(static_cast<const char *>(a.data[k + 1]) + at[k + 1], a.dtypes[k + 1])
                                 : number<T>::of(a, k);
        store_any(static_cast<char *>(a.data[0]) + at[0], a.dtypes[0], f(x));
    }
}

/* ---- scalars and constants of the class computed in ---- */
template <class T>
struct scalars {
    template <class Args>
    GPU_MEMBER static T of(const Args &a, int i) {
        return (T)a.s[i];
    }
};
template <>
struct scalars<int32_t> {
    template <class Args>
    GPU_MEMBER static int32_t of(const Args &a, int i) {
        return (int32_t)a.si[i];
    }
};
template <>
struct scalars<int64_t> {
    template <class Args>
    GPU_MEMBER static int64_t of(const Args &a, int i) {
        return a.si[i];
    }
};
#define K(x) ((T)(x))
#define PW_SCALARS                                                                                              \
    const T s0 = scalars<T>::of(args, 0), s1 = scalars<T>::of(args, 1), s2 = scalars<T>::of(args, 2),             \
            s3 = scalars<T>::of(args, 3);                                                                       \
    (void)s0, (void)s1, (void)s2, (void)s3;

/* What the expression computes is brought to the stored type; bools are read and computed as numbers 0 and 1. */
#define PW_DENSE1(name, S, O, A, expression)                                                        \
    GPU_KERNEL(name, ALL_THREADS, gpu_dense_args) {                                                 \
        typedef compute<S>::type T;                                                                 \
        const gpu_dense_args &args = a;                                                             \
        PW_SCALARS                                                                                  \
        dense1<T, 16 / (int)sizeof(S), kinds<S>::O, kinds<S>::A>(args, [=](T a) { return (expression); });\
    }
#define PW_DENSE2(name, S, O, A, B, expression)                                                     \
    GPU_KERNEL(name, ALL_THREADS, gpu_dense_args) {                                                 \
        typedef compute<S>::type T;                                                                 \
        const gpu_dense_args &args = a;                                                             \
        PW_SCALARS                                                                                  \
        dense2<T, 16 / (int)sizeof(S), kinds<S>::O, kinds<S>::A, kinds<S>::B>(args, [=](T a, T b) { return (expression); });\
    }
#define PW_DENSE3(name, S, O, A, B, C, expression)                                                  \
    GPU_KERNEL(name, ALL_THREADS, gpu_dense_args) {                                                 \
        typedef compute<S>::type T;                                                                 \
        const gpu_dense_args &args = a;                                                             \
        PW_SCALARS                                                                                  \
        dense3<T, 16 / (int)sizeof(S), kinds<S>::O, kinds<S>::A, kinds<S>::B, kinds<S>::C>(args, [=](T a, T b, T c) { return (expression); });\
    }
#define PW_WALK1(name, T_, expression)                                                                    \
    GPU_KERNEL(name, ALL_THREADS, gpu_walk_args) {                                                        \
        typedef T_ T;                                                                                     \
        const gpu_walk_args &args = a;                                                                    \
        PW_SCALARS                                                                                        \
        walk<T, 1>(args, [=](const T(&x)[1]) {                                                            \
            const T a = x[0];                                                                             \
            return (T)(expression);                                                                       \
        });                                                                                               \
    }
#define PW_WALK2(name, T_, expression)                                                                    \
    GPU_KERNEL(name, ALL_THREADS, gpu_walk_args) {                                                        \
        typedef T_ T;                                                                                     \
        const gpu_walk_args &args = a;                                                                    \
        PW_SCALARS                                                                                        \
        walk<T, 2>(args, [=](const T(&x)[2]) {                                                            \
            const T a = x[0], b = x[1];                                                                   \
            return (T)(expression);                                                                       \
        });                                                                                               \
    }
#define PW_WALK3(name, T_, expression)                                                                    \
    GPU_KERNEL(name, ALL_THREADS, gpu_walk_args) {                                                        \
        typedef T_ T;                                                                                     \
        const gpu_walk_args &args = a;                                                                    \
        PW_SCALARS                                                                                        \
        walk<T, 3>(args, [=](const T(&x)[3]) {                                                            \
            const T a = x[0], b = x[1], c = x[2];                                                         \
            return (T)(expression);                                                                       \
        });                                                                                               \
    }

#define PW_REAL(n, id, ...)                                                                                \
    PW_DENSE##n(pw_##id##_f32, float, __VA_ARGS__) PW_DENSE##n(pw_##id##_f16, f16, __VA_ARGS__)            \
    PW_DENSE##n(pw_##id##_bf16, bf16, __VA_ARGS__) PW_DENSE##n(pw_##id##_f64, double, __VA_ARGS__)
#define PW_WHOLE(n, id, ...)                                                                               \
    PW_DENSE##n(pw_##id##_i32, int32_t, __VA_ARGS__) PW_DENSE##n(pw_##id##_i64, int64_t, __VA_ARGS__)

#define MAP1(id, schema, nscalars, classes, O, A, ...)                                                      \
    PW_R_##classes(PW_REAL(1, id, O, A, (__VA_ARGS__)) PW_WALK1(pw_##id##_wf32, float, (__VA_ARGS__))       \
                       PW_WALK1(pw_##id##_wf64, double, (__VA_ARGS__)))                                     \
        PW_I_##classes(PW_WHOLE(1, id, O, A, (__VA_ARGS__)) PW_WALK1(pw_##id##_wi64, int64_t, (__VA_ARGS__)))
#define MAP2(id, schema, nscalars, classes, O, A, B, ...)                                                   \
    PW_R_##classes(PW_REAL(2, id, O, A, B, (__VA_ARGS__)) PW_WALK2(pw_##id##_wf32, float, (__VA_ARGS__))    \
                       PW_WALK2(pw_##id##_wf64, double, (__VA_ARGS__)))                                     \
        PW_I_##classes(PW_WHOLE(2, id, O, A, B, (__VA_ARGS__)) PW_WALK2(pw_##id##_wi64, int64_t, (__VA_ARGS__)))
#define MAP3(id, schema, nscalars, classes, O, A, B, C, ...)                                                \
    PW_R_##classes(PW_REAL(3, id, O, A, B, C, (__VA_ARGS__)) PW_WALK3(pw_##id##_wf32, float, (__VA_ARGS__)) \
                       PW_WALK3(pw_##id##_wf64, double, (__VA_ARGS__)))                                     \
        PW_I_##classes(                                                                                     \
            PW_WHOLE(3, id, O, A, B, C, (__VA_ARGS__)) PW_WALK3(pw_##id##_wi64, int64_t, (__VA_ARGS__)))
#define PART1(id, nscalars, classes, ...) MAP1(id, "", nscalars, classes, __VA_ARGS__)
#define PART2(id, nscalars, classes, ...) MAP2(id, "", nscalars, classes, __VA_ARGS__)
#define PART3(id, nscalars, classes, ...) MAP3(id, "", nscalars, classes, __VA_ARGS__)
#include <wick/sdk/pointwise.inc>
