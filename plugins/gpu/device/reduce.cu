/* Reductions (reduce.h): sums, products, extrema and their places, truth, norms, moments. Of each kind there are kernels
 * for rows, for columns, and for the second pass that joins pieces. */
#include "reduce.h"

#define THREADS 256

template <class C>
struct limits;
template <>
struct limits<float> {
    static GPU_MEMBER float highest() { return bits_to_float(0x7f800000u); }
    static GPU_MEMBER float lowest() { return bits_to_float(0xff800000u); }
};
template <>
struct limits<double> {
    static GPU_MEMBER double highest() { return (double)limits<float>::highest(); }
    static GPU_MEMBER double lowest() { return (double)limits<float>::lowest(); }
};
template <>
struct limits<int64_t> {
    static GPU_MEMBER int64_t highest() { return INT64_MAX; }
    static GPU_MEMBER int64_t lowest() { return INT64_MIN; }
};

/* ---- folds ---- */
struct op_prod {
    template <class T>
    GPU_MEMBER T operator()(T a, T b) const {
        return a * b;
    }
};
/* Integers wrap around. */
struct op_any {
    int fold;
    template <class T>
    GPU_MEMBER T operator()(T a, T b) const {
        switch (fold) {
        case GPU_FOLD_SUM: return op_sum()(a, b);
        case GPU_FOLD_PROD: return op_prod()(a, b);
        case GPU_FOLD_MAX: return op_max()(a, b);
        default: return op_min()(a, b);
        }
    }
    GPU_MEMBER int64_t operator()(int64_t a, int64_t b) const {
        switch (fold) {
        case GPU_FOLD_SUM: return (int64_t)((uint64_t)a + (uint64_t)b);
        case GPU_FOLD_PROD: return (int64_t)((uint64_t)a * (uint64_t)b);
        case GPU_FOLD_MAX: return a > b ? a : b;
        default: return a < b ? a : b;
        }
    }
};

template <class C>
GPU_FN C identity_of(int fold) {
    return fold == GPU_FOLD_SUM    ? C(0)
           : fold == GPU_FOLD_PROD ? C(1)
           : fold == GPU_FOLD_MAX  ? limits<C>::lowest()
                                   : limits<C>::highest();
}

GPU_FN float finished(float x, int finish, double param) {
    switch (finish) {
    case GPU_FINISH_DIVIDE: return x / (float)param;
    case GPU_FINISH_SQRT: return sqrtf(x);
    case GPU_FINISH_ROOT: return powf(x, 1 / (float)param);
    default: return x;
    }
}
GPU_FN double finished(double x, int finish, double param) {
    switch (finish) {
    case GPU_FINISH_DIVIDE: return x / param;
    case GPU_FINISH_SQRT: return sqrt(x);
    case GPU_FINISH_ROOT: return pow(x, 1 / param);
    default: return x;
    }
}
GPU_FN int64_t finished(int64_t x, int, double) { return x; }

GPU_FN float mapped(float x, int map, double param) {
    switch (map) {
    case GPU_MAP_NAN_TO_ZERO: return x == x ? x : 0;
    case GPU_MAP_ABS: return fabsf(x);
    case GPU_MAP_SQUARE: return x * x;
    case GPU_MAP_ABS_POW: return powf(fabsf(x), (float)param);
    default: return x;
    }
}
GPU_FN double mapped(double x, int map, double param) {
    switch (map) {
    case GPU_MAP_NAN_TO_ZERO: return x == x ? x : 0;
    case GPU_MAP_ABS: return fabs(x);
    case GPU_MAP_SQUARE: return x * x;
    case GPU_MAP_ABS_POW: return pow(fabs(x), param);
    default: return x;
    }
}
GPU_FN int64_t mapped(int64_t x, int, double) { return x; }

template <class C, class Op, bool MAPPED>
struct fold_policy {
    typedef C acc;
    typedef C value;
    Op op;
    int fold, map;
    double param;
    GPU_MEMBER C identity() const { return identity_of<C>(fold); }
    GPU_MEMBER void enter(const gpu_reduce_args &, uint32_t) {}
    GPU_MEMBER void add(C &a, C x, int64_t, int) const { a = op(a, MAPPED ? mapped(x, map, param) : x); }
    GPU_MEMBER C join(C a, C b) const { return op(a, b); }
    GPU_MEMBER void store(const gpu_reduce_args &a, const int64_t (&at)[2], uint32_t, C x) const {
        store_any(static_cast<char *>(a.out[0]) + at[0], a.out_dtypes[0], finished(x, a.finish, a.param));
    }
};

/* The truth of an element is taken before it becomes a C. */
template <class C>
struct truth_source {
    typedef C value;
    enum { V = 1, bytes = 0 };
    const char *data;
    int dtype;
    bool truth;
    GPU_MEMBER void read(int64_t at, C (&x)[1]) const {
        x[0] = truth ? (C)(load_any<double>(data + at, dtype) != 0) : load_any<C>(data + at, dtype);
    }
};

#define DATA static_cast<const char *>(a.in)
#define FOLD(name, S, Op, FOLD)                                                                   \
    GPU_KERNEL(reduce_##name##_rows, THREADS, gpu_reduce_args) {                                  \
        typedef fold_policy<compute<S>::type, Op, false> policy;                                  \
        reduce_rows(a, policy{Op(), FOLD, 0, 0}, typed_source<S>{DATA});                          \
    }                                                                                             \
    GPU_KERNEL(reduce_##name##_columns, COLUMN_THREADS, gpu_reduce_args) {                        \
        typedef fold_policy<compute<S>::type, Op, false> policy;                                  \
        reduce_columns(a, policy{Op(), FOLD, 0, 0}, typed_source<S>{DATA});                       \
    }
template <>
struct compute<int32_t> { /* sums of 32-bit integers have 64 bits */
    typedef int64_t type;
};
FOLD(sum_f32, float, op_sum, GPU_FOLD_SUM)
FOLD(sum_f16, f16, op_sum, GPU_FOLD_SUM)
FOLD(sum_bf16, bf16, op_sum, GPU_FOLD_SUM)
FOLD(sum_f64, double, op_sum, GPU_FOLD_SUM)
FOLD(sum_i32, int32_t, op_sum, GPU_FOLD_SUM)
FOLD(sum_i64, int64_t, op_sum, GPU_FOLD_SUM)
FOLD(max_f32, float, op_max, GPU_FOLD_MAX)
FOLD(max_f16, f16, op_max, GPU_FOLD_MAX)
FOLD(max_bf16, bf16, op_max, GPU_FOLD_MAX)
FOLD(min_f32, float, op_min, GPU_FOLD_MIN)
FOLD(min_f16, f16, op_min, GPU_FOLD_MIN)
FOLD(min_bf16, bf16, op_min, GPU_FOLD_MIN)

/* Any fold, map and dtype, accumulated in C. */
#define FOLD_ANY(C_, C)                                                                                 \
    typedef fold_policy<C, op_any, true> any_##C_;                                                      \
    GPU_KERNEL(reduce_any_##C_##_rows, THREADS, gpu_reduce_args) {                                      \
        reduce_rows(a, any_##C_{op_any{a.fold}, a.fold, a.map, a.param},                                \
                    truth_source<C>{DATA, a.in_dtype, a.map == GPU_MAP_TRUTH});                         \
    }                                                                                                   \
    GPU_KERNEL(reduce_any_##C_##_columns, COLUMN_THREADS, gpu_reduce_args) {                            \
        reduce_columns(a, any_##C_{op_any{a.fold}, a.fold, a.map, a.param},                             \
                       truth_source<C>{DATA, a.in_dtype, a.map == GPU_MAP_TRUTH});                      \
    }                                                                                                   \
    GPU_KERNEL(reduce_finish_##C_, THREADS, gpu_reduce_args) {                                          \
        reduce_finish(a, any_##C_{op_any{a.fold}, a.fold, a.map, a.param});                             \
    }
FOLD_ANY(f32, float)
FOLD_ANY(f64, double)
FOLD_ANY(i64, int64_t)

/* ---- places: argmax, argmin and the values there. The first of equal elements wins, the first NaN over all. ---- */
template <class C>
struct place {
    C v;
    int64_t i;
};
template <class C>
struct place_policy {
    typedef place<C> acc;
    typedef C value;
    bool lowest; /* the place of the minimum */
    GPU_MEMBER acc identity() const {
        return acc{lowest ? limits<C>::highest() : limits<C>::lowest(), INT64_MAX};
    }
    GPU_MEMBER void enter(const gpu_reduce_args &, uint32_t) {}
    GPU_MEMBER bool better(C x, C best) const { return best == best && !(lowest ? x >= best : x <= best); }
    GPU_MEMBER void add(acc &a, C x, int64_t i, int) const {
        if (better(x, a.v) || (a.i == INT64_MAX && !better(a.v, x))) a.v = x, a.i = i;
    }
    GPU_MEMBER acc join(const acc &a, const acc &b) const {
        if (better(b.v, a.v)) return b;
        return better(a.v, b.v) || a.i <= b.i ? a : b;
    }
    GPU_MEMBER void store(const gpu_reduce_args &a, const int64_t (&at)[2], uint32_t, const acc &x) const {
        *reinterpret_cast<int64_t *>(static_cast<char *>(a.out[0]) + at[0]) = x.i;
        if (a.out[1]) store_any(static_cast<char *>(a.out[1]) + at[1], a.out_dtypes[1], x.v);
    }
};

#define PLACE(name, C, ...)                                                    \
    GPU_KERNEL(reduce_place_##name##_rows, THREADS, gpu_reduce_args) {         \
        reduce_rows(a, place_policy<C>{a.fold == GPU_FOLD_MIN}, __VA_ARGS__);  \
    }                                                                          \
    GPU_KERNEL(reduce_place_##name##_columns, COLUMN_THREADS, gpu_reduce_args) { \
        reduce_columns(a, place_policy<C>{a.fold == GPU_FOLD_MIN}, __VA_ARGS__); \
    }
#define PLACE_FINISH(name, C)                                               \
    GPU_KERNEL(reduce_place_finish_##name, THREADS, gpu_reduce_args) {      \
        reduce_finish(a, place_policy<C>{a.fold == GPU_FOLD_MIN});          \
    }
PLACE(f32, float, typed_source<float>{DATA})
PLACE(f16, float, typed_source<f16>{DATA})
PLACE(bf16, float, typed_source<bf16>{DATA})
PLACE(any_f64, double, any_source<double>{DATA, a.in_dtype})
PLACE(any_i64, int64_t, any_source<int64_t>{DATA, a.in_dtype})
PLACE_FINISH(f32, float)
PLACE_FINISH(f64, double)
PLACE_FINISH(i64, int64_t)

/* ---- moments: Welford's by element, joined by Chan et al.'s ---- */
template <class C>
struct moments {
    C mean, square, count; /* square: sum of (x - mean)^2 */
};
GPU_FN float root(float x) { return sqrtf(x); }
GPU_FN double root(double x) { return sqrt(x); }

/* The statistics of batch normalization: 1 / sqrt(var + eps), mean, and the running ones moved towards them. */
template <class C>
GPU_FN void move_running(const gpu_reduce_args &a, int which, uint32_t k, C now) {
    if (!a.running[which]) return;
    const int dtype = a.running_dtypes[which];
    const int bytes = dtype == WICK_F64 ? 8 : dtype == WICK_F32 ? 4 : 2;
    void *p = static_cast<char *>(a.running[which]) + (int64_t)k * bytes;
    store_any(p, dtype, (C)a.momentum * now + (C)(1 - a.momentum) * load_any<C>(p, dtype));
}

template <class C>
struct moment_policy {
    typedef moments<C> acc;
    typedef C value;
    GPU_MEMBER acc identity() const { return acc{0, 0, 0}; }
    GPU_MEMBER void enter(const gpu_reduce_args &, uint32_t) {}
    GPU_MEMBER void add(acc &a, C x, int64_t, int n) const {
        C delta = x - a.mean;
        a.mean += delta * (1 / (C)n);
        a.square += delta * (x - a.mean);
        a.count = (C)n;
    }
    GPU_MEMBER acc join(const acc &a, const acc &b) const {
        C total = a.count + b.count, delta = b.mean - a.mean;
        if (total == 0) return a;
        C part = b.count / total;
        return acc{a.mean + delta * part, a.square + b.square + delta * delta * a.count * part, total};
    }
    GPU_MEMBER void store(const gpu_reduce_args &a, const int64_t (&at)[2], uint32_t k, const acc &x) const {
        const C none = limits<C>::highest() - limits<C>::highest();
        C mean = a.count ? x.mean : none, result;
        if (a.finish == GPU_FINISH_BATCH) {
            result = 1 / root(x.square / (C)a.count + (C)a.param);
            move_running(a, 0, k, mean);
            move_running(a, 1, k, x.square / (C)(a.count - 1));
        } else {
            C divisor = (C)a.count - (C)a.param;
            result = x.square / (divisor > 0 ? divisor : 0);
            if (a.finish == GPU_FINISH_STD) result = root(result);
        }
        store_any(static_cast<char *>(a.out[0]) + at[0], a.out_dtypes[0], result);
        if (a.out[1]) store_any(static_cast<char *>(a.out[1]) + at[1], a.out_dtypes[1], mean);
    }
};

#define MOMENTS(name, S)                                                                     \
    GPU_KERNEL(reduce_moments_##name##_rows, THREADS, gpu_reduce_args) {                     \
        reduce_rows(a, moment_policy<compute<S>::type>(), typed_source<S>{DATA});            \
    }                                                                                        \
    GPU_KERNEL(reduce_moments_##name##_columns, COLUMN_THREADS, gpu_reduce_args) {           \
        reduce_columns(a, moment_policy<compute<S>::type>(), typed_source<S>{DATA});         \
    }
MOMENTS(f32, float)
MOMENTS(f16, f16)
MOMENTS(bf16, bf16)
MOMENTS(f64, double)
GPU_KERNEL(reduce_moments_finish_f32, THREADS, gpu_reduce_args) { reduce_finish(a, moment_policy<float>()); }
GPU_KERNEL(reduce_moments_finish_f64, THREADS, gpu_reduce_args) { reduce_finish(a, moment_policy<double>()); }
