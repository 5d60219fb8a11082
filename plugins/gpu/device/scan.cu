/* Scans along one dimension, and vectors that are series of numbers. */
#include "args_scan.h"
#include "rows.h"

#define THREADS 256

/* ---- what is scanned: an associative operation, b behind a ---- */
template <class C>
struct scanned {
    C v;
    int64_t i; /* where it comes from, of extrema */
};

GPU_FN double add_exp(double a, double b) {
    double high = a > b || a != a ? a : b, low = high == a ? b : a;
    return (high == low && high - high != 0) || high != high ? high : high + log1p(exp(low - high));
}
GPU_FN int64_t add_exp(int64_t a, int64_t) { return a; }
GPU_FN double wrap_add(double a, double b) { return a + b; }
GPU_FN int64_t wrap_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
GPU_FN double wrap_mul(double a, double b) { return a * b; }
GPU_FN int64_t wrap_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
GPU_FN void set_bounds(double *low, double *high) { *high = -(*low = lowest<double>()); }
GPU_FN void set_bounds(int64_t *low, int64_t *high) { *low = INT64_MIN, *high = INT64_MAX; }

template <class C>
struct scan_op {
    int scan;
    GPU_MEMBER scanned<C> identity() const {
        C low, high;
        set_bounds(&low, &high);
        C v = scan == GPU_SCAN_SUM ? C(0) : scan == GPU_SCAN_PROD ? C(1) : scan == GPU_SCAN_MIN ? high : low;
        return scanned<C>{v, 0};
    }
    /* Of equal extrema the last one wins; a NaN wins and stays. */
    GPU_MEMBER scanned<C> operator()(const scanned<C> &a, const scanned<C> &b) const {
        switch (scan) {
        case GPU_SCAN_SUM: return scanned<C>{wrap_add(a.v, b.v), 0};
        case GPU_SCAN_PROD: return scanned<C>{wrap_mul(a.v, b.v), 0};
        case GPU_SCAN_MAX: return b.v != b.v || b.v >= a.v ? b : a;
        case GPU_SCAN_MIN: return b.v != b.v || b.v <= a.v ? b : a;
        default: return scanned<C>{add_exp(a.v, b.v), 0};
        }
    }
};

template <class C>
GPU_FN scanned<C> scan_load(const gpu_scan_args &a, int64_t at, int64_t i) {
    return scanned<C>{load_any<C>(static_cast<const char *>(a.in) + at * a.in_bytes, a.in_dtype), i};
}
template <class C>
GPU_FN void scan_store(const gpu_scan_args &a, int64_t at, const scanned<C> &x) {
    store_any(static_cast<char *>(a.out) + at * a.out_bytes, a.out_dtype, x.v);
    if (a.places) static_cast<int64_t *>(a.places)[at] = x.i;
}

template <class T>
GPU_FN T lane_from(T x, int lane) {
    uint32_t words[sizeof(T) / 4];
    memcpy(words, &x, sizeof x);
    GPU_UNROLL
    for (int i = 0; i < (int)(sizeof(T) / 4); ++i) words[i] = GPU_SHUFFLE(words[i], lane);
    memcpy(&x, words, sizeof x);
    return x;
}

/* The scan over the block's threads; *total: of all. */
template <class T, class Op>
GPU_FN T block_scan(T x, Op op, T *shared, T *total) {
    const int lane = gpu_lane(), wave = (int)threadIdx.x / GPU_WAVE, waves = (int)blockDim.x / GPU_WAVE;
    for (int offset = 1; offset < GPU_WAVE; offset *= 2) {
        T before = lane_from(x, lane < offset ? lane : lane - offset);
        if (lane >= offset) x = op(before, x);
    }
    if (lane == GPU_WAVE - 1) shared[wave] = x;
    __syncthreads();
    T sum = op.identity();
    for (int i = 0; i < wave; ++i) sum = op(sum, shared[i]);
    x = op(sum, x);
    for (int i = wave; i < waves; ++i) sum = op(sum, shared[i]);
    *total = sum;
    __syncthreads();
    return x;
}

/* A block takes a row, as many elements at a time as it has threads. */
template <class C>
GPU_FN void scan_rows(const gpu_scan_args &a) {
    __shared__ scanned<C> shared[TEAM_WAVES];
    const scan_op<C> op = {a.scan};
    for (int64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
        scanned<C> carry = op.identity(), total;
        for (int64_t first = 0; first < a.n; first += blockDim.x) {
            const int64_t i = first + threadIdx.x;
            scanned<C> x = i < a.n ? scan_load<C>(a, row * a.n + i, i) : op.identity();
            x = block_scan(x, op, shared, &total);
            if (i < a.n) scan_store(a, row * a.n + i, op(carry, x));
            carry = op(carry, total);
        }
    }
}

/* A thread takes a column. */
template <class C>
GPU_FN void scan_columns(const gpu_scan_args &a) {
    const scan_op<C> op = {a.scan};
    for (int64_t c = gpu_thread(); c < a.rows * a.inner; c += gpu_threads()) {
        const int64_t row = c / a.inner, base = row * a.n * a.inner + c - row * a.inner;
        scanned<C> x = op.identity();
        for (int64_t i = 0; i < a.n; ++i) {
            x = op(x, scan_load<C>(a, base + i * a.inner, i));
            scan_store(a, base + i * a.inner, x);
        }
    }
}
GPU_KERNEL(scan_rows_f64, THREADS, gpu_scan_args) { scan_rows<double>(a); }
GPU_KERNEL(scan_rows_i64, THREADS, gpu_scan_args) { scan_rows<int64_t>(a); }
GPU_KERNEL(scan_columns_f64, THREADS, gpu_scan_args) { scan_columns<double>(a); }
GPU_KERNEL(scan_columns_i64, THREADS, gpu_scan_args) { scan_columns<int64_t>(a); }

/* ---- series; both ends of linspace and logspace are exact ---- */
GPU_FN double linspace_at(const gpu_series_args &a, int64_t i) {
    return i < a.n / 2 || a.n == 1 ? a.start + a.step * (double)i : a.end - a.step * (double)(a.n - 1 - i);
}
GPU_KERNEL(series_f64, THREADS, gpu_series_args) {
    for (int64_t i = gpu_thread(); i < a.n; i += gpu_threads()) {
        double x = a.series == GPU_SERIES_ARANGE ? a.start + a.step * (double)i : linspace_at(a, i);
        if (a.series == GPU_SERIES_LOGSPACE) x = pow(a.base, x);
        store_any(static_cast<char *>(a.out) + i * a.bytes, a.dtype, x);
    }
}
GPU_KERNEL(series_i64, THREADS, gpu_series_args) {
    for (int64_t i = gpu_thread(); i < a.n; i += gpu_threads())
        store_any(static_cast<char *>(a.out) + i * a.bytes, a.dtype,
                  (int64_t)((uint64_t)a.int_start + (uint64_t)a.int_step * (uint64_t)i));
}
