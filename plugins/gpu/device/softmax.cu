/* Softmax, its logarithm, and their gradients. softmax_S, softmax_wide_S: rows in registers, whole accesses of 16 bytes.
 * softmax_long_S: rows of any length and address, read twice (the second time from the cache). softmax_columns_C: any
 * dtypes, along a dimension that is not the innermost. */
#include "args_softmax.h"
#include "exp_sum.h"

#define MOST_THREADS 1024
#define COLUMNS 32
#define COLUMN_ROWS 8

/* What elements become, once their row's maximum and sum are known: x - shift - log(sum), or exp(x - shift) / sum. */
template <class S>
struct softmax_map {
    typedef typename compute<S>::type C;
    C shift, factor;
    bool log;
    template <int N>
    GPU_MEMBER void operator()(C (&x)[N]) const {
        if (log) {
            GPU_UNROLL
            for (int j = 0; j < N; ++j) x[j] = (x[j] - shift) - factor;
        } else {
            GPU_UNROLL
            for (int j = 0; j < N; ++j) x[j] = exp_for<S>::of(x[j] - shift) * factor;
        }
    }
};
template <class S, class C>
GPU_FN softmax_map<S> map_of(const gpu_softmax_args &a, C top, C sum) {
    if (a.safe && top == lowest<C>() && sum == 0) return softmax_map<S>{0, 0, false};
    return softmax_map<S>{top, a.log ? real_log(sum) : 1 / sum, a.log != 0};
}

/* ---- forward ---- */
/* In place: the maximum, then the sum. What is no element is -inf and adds nothing. */
template <class S, bool LOG, class C, int PACKS>
GPU_FN void softmax_of(C (&x)[PACKS][width_of<S>::n], int team, bool safe, C (&shared)[2][TEAM_WAVES]) {
    enum { V = width_of<S>::n };
    C top = lowest<C>(), sum = 0;
    GPU_UNROLL
    for (int p = 0; p < PACKS; ++p)
        GPU_UNROLL
        for (int j = 0; j < V; ++j) top = op_higher()(top, x[p][j]);
    top = row_join(top, team, op_higher(), shared[0]);
    const C shift = safe && top == lowest<C>() ? 0 : top;
    GPU_UNROLL
    for (int p = 0; p < PACKS; ++p) {
        C part = 0;
        GPU_UNROLL
        for (int j = 0; j < V; ++j) {
            const C below = x[p][j] - shift, e = exp_for<S>::of(below);
            part += e;
            x[p][j] = LOG ? below : e;
        }
        sum += part;
    }
    sum = row_join(sum, team, op_sum(), shared[1]);
    const C factor = LOG ? real_log(sum) : safe && sum == 0 ? C(0) : 1 / sum;
    GPU_UNROLL
    for (int p = 0; p < PACKS; ++p)
        GPU_UNROLL
        for (int j = 0; j < V; ++j) x[p][j] = LOG ? x[p][j] - factor : x[p][j] * factor;
}

/* Rows that a team holds in registers; teams behind the last row repeat it. */
template <class S, bool LOG>
GPU_FN void softmax_teams(const gpu_softmax_args &a, typename compute<S>::type (&shared)[2][TEAM_WAVES]) {
    typedef typename compute<S>::type C;
    enum { V = width_of<S>::n };
    const int team = a.team, lane = (int)threadIdx.x & (team - 1), teams = (int)blockDim.x / team;
    for (int64_t first = (int64_t)blockIdx.x * teams; first < a.rows; first += (int64_t)gridDim.x * teams) {
        const int64_t row = first + (int)threadIdx.x / team, at = (row < a.rows ? row : a.rows - 1) * a.n;
        C x[ROW_PACKS][V];
        row_load(static_cast<const S *>(a.in) + at, a.n, lane, team, lowest<C>(), x);
        softmax_of<S, LOG>(x, team, a.safe, shared);
        row_store(static_cast<S *>(a.out) + at, row < a.rows ? a.n : 0, lane, team, x);
    }
}
template <class S>
GPU_FN void softmax_rows(const gpu_softmax_args &a) {
    __shared__ typename compute<S>::type shared[2][TEAM_WAVES];
    if (a.log)
        softmax_teams<S, true>(a, shared);
    else
        softmax_teams<S, false>(a, shared);
}

/* The same for longer rows of 16-bit elements, held as they are stored. A block takes a row. */
enum { WIDE_PACKS = 7 };
template <class S>
GPU_FN void softmax_wide(const gpu_softmax_args &a) {
    typedef typename compute<S>::type C;
    enum { V = width_of<S>::n };
    __shared__ C shared[2][TEAM_WAVES];
    const int team = (int)blockDim.x, lane = (int)threadIdx.x, packs = (int)(a.n / V);
    for (int64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
        row_words words[WIDE_PACKS];
        row_fetch(static_cast<const S *>(a.in) + row * a.n, packs, lane, team, words_filled<S>(lowest<C>()), words);
        row_words *out = reinterpret_cast<row_words *>(static_cast<S *>(a.out) + row * a.n);
        C top = lowest<C>(), sum = 0;
        each_held<S, C>(words, [&](C(&x)[V], int) {
            GPU_UNROLL
            for (int j = 0; j < V; ++j) top = op_higher()(top, x[j]);
        });
        top = row_join(top, team, op_higher(), shared[0]);
        const C shift = a.safe && top == lowest<C>() ? 0 : top;
        each_held<S, C>(words, [&](C(&x)[V], int) {
            C part = 0;
            GPU_UNROLL
            for (int j = 0; j < V; ++j) part += exp_for<S>::of(x[j] - shift);
            sum += part;
        });
        const softmax_map<S> map = map_of<S>(a, top, row_join(sum, team, op_sum(), shared[1]));
        each_held<S, C>(words, [&](C(&x)[V], int p) {
            map(x);
            if (lane + p * team < packs) write_words(out + lane + p * team, words_of<S>(x));
        });
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
        const softmax_map<S> map = map_of<S>(a, s.top, s.sum);
        row_walk<C, true>(rows, n, row_head<S>(n, x, y, y), lane, team, [&](auto &v, int64_t i) {
            map(v[0]);
            write_elements_once(y + i, v[0]);
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
        const softmax_map<C> map = map_of<C>(a, s.top, s.sum);
        for (int64_t i = lane; i < n; i += COLUMN_ROWS) {
            C x[1] = {load_at<C>(a.in, a.in_dtype, base + i * a.inner)};
            map(x);
            store_at(a.out, a.out_dtype, base + i * a.inner, x[0]);
        }
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

/* Held as they are stored: half the registers. What is no element is 0 and adds nothing. */
template <class S, bool LOG>
GPU_FN void softmax_teams_backward(const gpu_softmax_args &a, typename compute<S>::type (&shared)[2][TEAM_WAVES]) {
    typedef typename compute<S>::type C;
    enum { V = width_of<S>::n };
    const int team = a.team, lane = (int)threadIdx.x & (team - 1), teams = (int)blockDim.x / team;
    const int packs = (int)(a.n / V);
    int turn = 0;
    for (int64_t first = (int64_t)blockIdx.x * teams; first < a.rows; first += (int64_t)gridDim.x * teams, turn ^= 1) {
        const int64_t row = first + (int)threadIdx.x / team, at = (row < a.rows ? row : a.rows - 1) * a.n;
        row_words words[2][ROW_PACKS];
        C sum = 0, g[V], y[V];
        row_fetch(static_cast<const S *>(a.in) + at, packs, lane, team, words_filled<S>(0), words[0]);
        row_fetch(static_cast<const S *>(a.result) + at, packs, lane, team, words_filled<S>(0), words[1]);
        GPU_UNROLL
        for (int p = 0; p < ROW_PACKS; ++p) {
            elements_of<S>(words[0][p], g), elements_of<S>(words[1][p], y);
            GPU_UNROLL
            for (int j = 0; j < V; ++j) sum += LOG ? g[j] : g[j] * y[j];
        }
        sum = row_join(sum, team, op_sum(), shared[turn]);
        row_words *out = reinterpret_cast<row_words *>(static_cast<S *>(a.out) + at);
        GPU_UNROLL
        for (int p = 0; p < ROW_PACKS; ++p) {
            stay_packed(words[0][p]), stay_packed(words[1][p]);
            elements_of<S>(words[0][p], g), elements_of<S>(words[1][p], y);
            GPU_UNROLL
            for (int j = 0; j < V; ++j) g[j] = LOG ? g[j] - exp_for<S>::of(y[j]) * sum : (g[j] - sum) * y[j];
            if (row < a.rows && lane + p * team < packs) write_words(out + lane + p * team, words_of<S>(g));
        }
    }
}
template <class S>
GPU_FN void softmax_rows_backward(const gpu_softmax_args &a) {
    __shared__ typename compute<S>::type shared[2][TEAM_WAVES];
    if (a.log)
        softmax_teams_backward<S, true>(a, shared);
    else
        softmax_teams_backward<S, false>(a, shared);
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
        row_walk<C, true>(both, n, row_head<S>(n, g, y, out), lane, team, [&](auto &v, int64_t i) {
            GPU_UNROLL
            for (int j = 0; j < ROW_WIDTH(v); ++j) v[0][j] = backward_of(a, v[0][j], v[1][j], sum);
            write_elements_once(out + i, v[0]);
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
