/* Softmax, its logarithm, and their gradients. softmax_S, softmax_wide_S: rows in registers, whole accesses of 16 bytes.
 * softmax_long_S: rows of any length and address, read twice (the second time from the cache). softmax_columns_C: any
 * dtypes, along a dimension that is not the innermost. */
#include "args_softmax.h"
#include "rows.h"

#define MOST_THREADS 1024
#define COLUMNS 32
#define COLUMN_ROWS 8

/* ---- a maximum and the sum of exp(x - maximum), for any part of a row ---- */
template <class C>
struct exp_sum {
    C top, sum;
};
/* exp(x - top), where there is nothing above -inf: 0. */
template <class C>
GPU_FN C exp_below(C x, C top) {
    return top == lowest<C>() ? (x == x ? C(0) : x) : real_exp(x - top);
}
struct join_exp_sums {
    template <class C>
    GPU_MEMBER exp_sum<C> operator()(const exp_sum<C> &a, const exp_sum<C> &b) const {
        C top = op_higher()(a.top, b.top);
        return exp_sum<C>{top, a.sum * exp_below(a.top, top) + b.sum * exp_below(b.top, top)};
    }
};
template <int N, class C>
GPU_FN void add_exps(exp_sum<C> &s, const C (&x)[N]) {
    C top = s.top, sum = 0;
    GPU_UNROLL
    for (int j = 0; j < N; ++j) top = op_higher()(top, x[j]);
    GPU_UNROLL
    for (int j = 0; j < N; ++j) sum += exp_below(x[j], top);
    s.sum = s.sum * exp_below(s.top, top) + sum;
    s.top = top;
}

/* What an element becomes, once its row's maximum and sum are known: x - shift - log(sum), or exp(x - shift) / sum. */
template <class C>
struct softmax_map {
    C shift, factor;
    bool log;
    GPU_MEMBER C operator()(C x) const { return log ? (x - shift) - factor : real_exp(x - shift) * factor; }
};
template <class C>
GPU_FN softmax_map<C> map_of(const gpu_softmax_args &a, C top, C sum) {
    if (a.safe && top == lowest<C>() && sum == 0) return softmax_map<C>{0, 0, false};
    return softmax_map<C>{top, a.log ? real_log(sum) : 1 / sum, a.log != 0};
}

/* ---- forward ---- */
template <class S>
GPU_FN void softmax_rows(const gpu_softmax_args &a) {
    typedef typename compute<S>::type C;
    enum { V = width_of<S>::n };
    __shared__ C shared[TEAM_WAVES];
    const int team = a.team, lane = (int)threadIdx.x % team, teams = (int)blockDim.x / team;
    for (int64_t first = (int64_t)blockIdx.x * teams; first < a.rows; first += (int64_t)gridDim.x * teams) {
        const int64_t row = first + (int)threadIdx.x / team, n = row < a.rows ? a.n : 0;
        C x[ROW_PACKS][V], top = lowest<C>(), sum = 0;
        row_load(static_cast<const S *>(a.in) + row * a.n, n, lane, team, lowest<C>(), x);
        GPU_UNROLL
        for (int p = 0; p < ROW_PACKS; ++p)
            GPU_UNROLL
            for (int j = 0; j < V; ++j) top = op_higher()(top, x[p][j]);
        top = team_join(top, team, op_higher(), shared);
        const C shift = a.safe && top == lowest<C>() ? 0 : top;
        GPU_UNROLL
        for (int p = 0; p < ROW_PACKS; ++p)
            GPU_UNROLL
            for (int j = 0; j < V; ++j) {
                C e = lane + p * team < n / V ? real_exp(x[p][j] - shift) : C(0);
                sum += e;
                if (!a.log) x[p][j] = e;
            }
        sum = team_join(sum, team, op_sum(), shared);
        const C factor = a.log ? real_log(sum) : a.safe && sum == 0 ? C(0) : 1 / sum;
        GPU_UNROLL
        for (int p = 0; p < ROW_PACKS; ++p)
            GPU_UNROLL
            for (int j = 0; j < V; ++j) x[p][j] = a.log ? (x[p][j] - shift) - factor : x[p][j] * factor;
        row_store(static_cast<S *>(a.out) + row * a.n, n, lane, team, x);
    }
}

/* The same for longer rows of 16-bit elements, held as they are stored. A block takes a row. */
enum { WIDE_PACKS = 7 };
template <class S>
GPU_FN void softmax_wide(const gpu_softmax_args &a) {
    typedef typename compute<S>::type C;
    enum { V = width_of<S>::n };
    __shared__ C shared[TEAM_WAVES];
    const int team = (int)blockDim.x, lane = (int)threadIdx.x, packs = (int)(a.n / V);
    for (int64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
        const pack<S, V> *in = reinterpret_cast<const pack<S, V> *>(static_cast<const S *>(a.in) + row * a.n);
        pack<S, V> *out = reinterpret_cast<pack<S, V> *>(static_cast<S *>(a.out) + row * a.n);
        pack<S, V> x[WIDE_PACKS];
        C top = lowest<C>(), sum = 0;
        GPU_UNROLL
        for (int p = 0; p < WIDE_PACKS; ++p)
            if (lane + p * team < packs) x[p] = in[lane + p * team];
        GPU_UNROLL
        for (int p = 0; p < WIDE_PACKS; ++p)
            GPU_UNROLL
            for (int j = 0; j < V; ++j)
                if (lane + p * team < packs) top = op_higher()(top, load_as<C>(x[p].v[j]));
        top = team_join(top, team, op_higher(), shared);
        const C shift = a.safe && top == lowest<C>() ? 0 : top;
        GPU_UNROLL
        for (int p = 0; p < WIDE_PACKS; ++p)
            GPU_UNROLL
            for (int j = 0; j < V; ++j)
                if (lane + p * team < packs) sum += real_exp(load_as<C>(x[p].v[j]) - shift);
        const softmax_map<C> map = map_of(a, top, team_join(sum, team, op_sum(), shared));
        GPU_UNROLL
        for (int p = 0; p < WIDE_PACKS; ++p) {
            if (lane + p * team >= packs) continue;
            GPU_UNROLL
            for (int j = 0; j < V; ++j) x[p].v[j] = store_as<S>(map(load_as<C>(x[p].v[j])));
            out[lane + p * team] = x[p];
        }
    }
}

template <class S>
GPU_FN void softmax_long(const gpu_softmax_args &a) {
    typedef typename compute<S>::type C;
    __shared__ exp_sum<C> shared[TEAM_WAVES];
    const int team = a.team, lane = (int)threadIdx.x % team, teams = (int)blockDim.x / team;
    for (int64_t first = (int64_t)blockIdx.x * teams; first < a.rows; first += (int64_t)gridDim.x * teams) {
        const int64_t row = first + (int)threadIdx.x / team, n = row < a.rows ? a.n : 0;
        const S *x = static_cast<const S *>(a.in) + row * a.n;
        S *y = static_cast<S *>(a.out) + row * a.n;
        const S *const rows[1] = {x};
        exp_sum<C> s = {lowest<C>(), 0};
        row_walk<C>(rows, n, row_head<S>(n, x, x, x), lane, team, [&](auto &v, int64_t) { add_exps(s, v[0]); });
        s = team_join(s, team, join_exp_sums(), shared);
        const softmax_map<C> map = map_of(a, s.top, s.sum);
        row_walk<C>(rows, n, row_head<S>(n, x, y, y), lane, team, [&](auto &v, int64_t i) {
            GPU_UNROLL
            for (int j = 0; j < ROW_WIDTH(v); ++j) v[0][j] = map(v[0][j]);
            write_elements(y + i, v[0]);
        });
    }
}

/* ---- columns: 32 side by side, 8 threads each ---- */
template <class T, class F>
GPU_FN T column_join(T x, F join, T (&shared)[COLUMN_ROWS][COLUMNS]) {
    const int tx = (int)threadIdx.x % COLUMNS, ty = (int)threadIdx.x / COLUMNS;
    shared[ty][tx] = x;
    __syncthreads();
    x = shared[0][tx];
    for (int i = 1; i < COLUMN_ROWS; ++i) x = join(x, shared[i][tx]);
    __syncthreads();
    return x;
}

GPU_FN int64_t dtype_bytes(int dtype) { return dtype == WICK_F64 ? 8 : dtype == WICK_F32 ? 4 : 2; }
template <class C>
GPU_FN C load_at(const void *p, int dtype, int64_t i) {
    return load_any<C>(static_cast<const char *>(p) + i * dtype_bytes(dtype), dtype);
}
template <class C>
GPU_FN void store_at(void *p, int dtype, int64_t i, C c) {
    store_any(static_cast<char *>(p) + i * dtype_bytes(dtype), dtype, c);
}

/* f(base, lane, exists) for this thread's columns: element i of the column is at base + i * inner. */
template <class F>
GPU_FN void each_column(const gpu_softmax_args &a, F f) {
    const int64_t columns = a.rows * a.inner;
    for (int64_t first = (int64_t)blockIdx.x * COLUMNS; first < columns; first += (int64_t)gridDim.x * COLUMNS) {
        const int64_t c = first + (int)threadIdx.x % COLUMNS, row = c / a.inner;
        f(row * a.n * a.inner + c % a.inner, (int)threadIdx.x / COLUMNS, c < columns ? a.n : 0);
    }
}

template <class C>
GPU_FN void softmax_columns(const gpu_softmax_args &a) {
    __shared__ exp_sum<C> shared[COLUMN_ROWS][COLUMNS];
    each_column(a, [&](int64_t base, int lane, int64_t n) {
        exp_sum<C> s = {lowest<C>(), 0};
        for (int64_t i = lane; i < n; i += COLUMN_ROWS) {
            C x[1] = {load_at<C>(a.in, a.in_dtype, base + i * a.inner)};
            add_exps(s, x);
        }
        s = column_join(s, join_exp_sums(), shared);
        const softmax_map<C> map = map_of(a, s.top, s.sum);
        for (int64_t i = lane; i < n; i += COLUMN_ROWS)
            store_at(a.out, a.out_dtype, base + i * a.inner, map(load_at<C>(a.in, a.in_dtype, base + i * a.inner)));
    });
}

/* ---- backward: (g - sum(g y)) y, of the logarithm g - exp(y) sum(g) ---- */
template <class C>
GPU_FN C backward_term(const gpu_softmax_args &a, C g, C y) {
    return a.log ? g : g * y;
}
template <class C>
GPU_FN C backward_of(const gpu_softmax_args &a, C g, C y, C sum) {
    return a.log ? g - real_exp(y) * sum : (g - sum) * y;
}

template <class S>
GPU_FN void softmax_rows_backward(const gpu_softmax_args &a) {
    typedef typename compute<S>::type C;
    enum { V = width_of<S>::n };
    __shared__ C shared[TEAM_WAVES];
    const int team = a.team, lane = (int)threadIdx.x % team, teams = (int)blockDim.x / team;
    for (int64_t first = (int64_t)blockIdx.x * teams; first < a.rows; first += (int64_t)gridDim.x * teams) {
        const int64_t row = first + (int)threadIdx.x / team, n = row < a.rows ? a.n : 0;
        pack<S, V> g[ROW_PACKS], y[ROW_PACKS]; /* as stored: half the registers */
        C sum = 0;
        GPU_UNROLL
        for (int p = 0; p < ROW_PACKS; ++p) {
            const int64_t i = row * a.n + (int64_t)(lane + p * team) * V;
            if (lane + p * team >= n / V) continue;
            g[p] = *reinterpret_cast<const pack<S, V> *>(static_cast<const S *>(a.in) + i);
            y[p] = *reinterpret_cast<const pack<S, V> *>(static_cast<const S *>(a.result) + i);
        }
        GPU_UNROLL
        for (int p = 0; p < ROW_PACKS; ++p)
            GPU_UNROLL
            for (int j = 0; j < V; ++j)
                if (lane + p * team < n / V) sum += backward_term(a, load_as<C>(g[p].v[j]), load_as<C>(y[p].v[j]));
        sum = team_join(sum, team, op_sum(), shared);
        GPU_UNROLL
        for (int p = 0; p < ROW_PACKS; ++p) {
            C out[V];
            GPU_UNROLL
            for (int j = 0; j < V; ++j) out[j] = backward_of(a, load_as<C>(g[p].v[j]), load_as<C>(y[p].v[j]), sum);
            if (lane + p * team < n / V)
                write_elements(static_cast<S *>(a.out) + row * a.n + (int64_t)(lane + p * team) * V, out);
        }
    }
}

template <class S>
GPU_FN void softmax_long_backward(const gpu_softmax_args &a) {
    typedef typename compute<S>::type C;
    __shared__ C shared[TEAM_WAVES];
    const int team = a.team, lane = (int)threadIdx.x % team, teams = (int)blockDim.x / team;
    for (int64_t first = (int64_t)blockIdx.x * teams; first < a.rows; first += (int64_t)gridDim.x * teams) {
        const int64_t row = first + (int)threadIdx.x / team, n = row < a.rows ? a.n : 0;
        const S *g = static_cast<const S *>(a.in) + row * a.n, *y = static_cast<const S *>(a.result) + row * a.n;
        S *out = static_cast<S *>(a.out) + row * a.n;
        const S *const gradient[1] = {g}, *const both[2] = {g, y};
        C sum = 0;
        if (a.log)
            row_walk<C>(gradient, n, row_head<S>(n, g, g, g), lane, team, [&](auto &v, int64_t) {
                GPU_UNROLL
                for (int j = 0; j < ROW_WIDTH(v); ++j) sum += v[0][j];
            });
        else
            row_walk<C>(both, n, row_head<S>(n, g, y, y), lane, team, [&](auto &v, int64_t) {
                GPU_UNROLL
                for (int j = 0; j < ROW_WIDTH(v); ++j) sum += v[0][j] * v[1][j];
            });
        sum = team_join(sum, team, op_sum(), shared);
        row_walk<C>(both, n, row_head<S>(n, g, y, out), lane, team, [&](auto &v, int64_t i) {
            GPU_UNROLL
            for (int j = 0; j < ROW_WIDTH(v); ++j) v[0][j] = backward_of(a, v[0][j], v[1][j], sum);
            write_elements(out + i, v[0]);
        });
    }
}

template <class C>
GPU_FN void softmax_columns_backward(const gpu_softmax_args &a) {
    __shared__ C shared[COLUMN_ROWS][COLUMNS];
    each_column(a, [&](int64_t base, int lane, int64_t n) {
        C sum = 0;
        for (int64_t i = lane; i < n; i += COLUMN_ROWS)
            sum += backward_term(a, load_at<C>(a.in, a.in_dtype, base + i * a.inner),
                                 load_at<C>(a.result, a.result_dtype, base + i * a.inner));
        sum = column_join(sum, op_sum(), shared);
        for (int64_t i = lane; i < n; i += COLUMN_ROWS) {
            C g = load_at<C>(a.in, a.in_dtype, base + i * a.inner);
            C y = load_at<C>(a.result, a.result_dtype, base + i * a.inner);
            store_at(a.out, a.out_dtype, base + i * a.inner, backward_of(a, g, y, sum));
        }
    });
}

/* ---- kernels ---- */
#define SOFTMAX(name, S)                                                                                 \
    GPU_KERNEL(softmax_##name, MOST_THREADS, gpu_softmax_args) { softmax_rows<S>(a); }                   \
    GPU_KERNEL(softmax_long_##name, MOST_THREADS, gpu_softmax_args) { softmax_long<S>(a); }              \
    GPU_KERNEL(softmax_backward_##name, MOST_THREADS, gpu_softmax_args) { softmax_rows_backward<S>(a); } \
    GPU_KERNEL(softmax_long_backward_##name, MOST_THREADS, gpu_softmax_args) { softmax_long_backward<S>(a); }
SOFTMAX(f32, float)
SOFTMAX(f16, f16)
SOFTMAX(bf16, bf16)
SOFTMAX(f64, double)
#define SOFTMAX_COLUMNS(name, C)                                                                                \
    GPU_KERNEL(softmax_columns_##name, COLUMNS *COLUMN_ROWS, gpu_softmax_args) { softmax_columns<C>(a); }       \
    GPU_KERNEL(softmax_columns_backward_##name, COLUMNS *COLUMN_ROWS, gpu_softmax_args) {                       \
        softmax_columns_backward<C>(a);                                                                         \
    }
SOFTMAX_COLUMNS(f32, float)
SOFTMAX_COLUMNS(f64, double)
GPU_KERNEL(softmax_wide_f16, MOST_THREADS, gpu_softmax_args) { softmax_wide<f16>(a); }
GPU_KERNEL(softmax_wide_bf16, MOST_THREADS, gpu_softmax_args) { softmax_wide<bf16>(a); }
