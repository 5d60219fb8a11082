/* Layer, group and root-mean-square normalization of dense rows, forward and backward. norm_S and norm_backward_S hold a
 * row in the registers of a team; norm_walk_S and norm_walk_backward_S take rows of any length and address.
 * The gradients of weight and bias are sums over rows: parts of them first, joined by norm_weights_finish_C. */
#include "args_norm.h"
#include "rows.h"

#define MOST_THREADS 1024
#define BACKWARD_THREADS 512
#define COLUMNS 32
#define COLUMN_ROWS 8

template <class C>
struct two {
    C a, b;
};
struct add_two {
    template <class C>
    GPU_MEMBER two<C> operator()(const two<C> &x, const two<C> &y) const {
        return two<C>{x.a + y.a, x.b + y.b};
    }
};

/* ---- weights ---- */
/* V of them from number i on, which V divides; addresses are aligned. */
template <class S, int V, class C>
GPU_FN void read_weights(const void *w, int64_t i, C (&out)[V]) {
    enum { N = 16 / sizeof(S) < V ? 16 / sizeof(S) : V };
    GPU_UNROLL
    for (int k = 0; k < V / N; ++k) {
        pack<S, N> raw = *reinterpret_cast<const pack<S, N> *>(static_cast<const S *>(w) + i + k * N);
        GPU_UNROLL
        for (int j = 0; j < N; ++j) out[k * N + j] = load_as<C>(raw.v[j]);
    }
}
/* The first element of access `at` of a row; of those behind the row's end, 0. */
template <int V>
GPU_FN int first_of(int64_t n, int at) {
    return at * V < (int)n ? at * V : 0;
}
/* By halves, not one after the other: a chain of additions waits for each. */
template <int N, class C>
GPU_FN C sum_of(const C (&x)[N]) {
    C s[N];
    GPU_UNROLL
    for (int j = 0; j < N; ++j) s[j] = x[j];
    GPU_UNROLL
    for (int half = N / 2; half > 0; half /= 2)
        GPU_UNROLL
        for (int j = 0; j < half; ++j) s[j] += s[j + half];
    return s[0];
}
template <int V, class C>
GPU_FN void weights_at(const void *w, int dtype, int64_t i, C fallback, C (&out)[V]) {
    GPU_UNROLL
    for (int j = 0; j < V; ++j) out[j] = fallback;
    if (!w) return;
    if (dtype == WICK_F32) read_weights<float, V>(w, i, out);
    if (dtype == WICK_F16) read_weights<f16, V>(w, i, out);
    if (dtype == WICK_BF16) read_weights<bf16, V>(w, i, out);
    if (dtype == WICK_F64) read_weights<double, V>(w, i, out);
}
template <class C>
GPU_FN C weight_of(const gpu_norm_args &a, const void *w, int dtype, C fallback, int64_t row, int64_t i) {
    if (!w) return fallback;
    return load_at<C>(w, dtype, a.pixels ? row % a.groups * a.group_channels + i / a.pixels : i);
}

/* ---- forward ---- */
template <class C>
GPU_FN void store_statistics(const gpu_norm_args &a, int64_t row, C mean, C rstd) {
    if (a.mean) store_at(a.mean, a.statistic_dtype, row, mean);
    store_at(a.rstd, a.statistic_dtype, row, rstd);
}

/* A row's mean and rstd, in two passes over what is held: for types whose last digits count. */
template <class S, class C>
GPU_FN two<C> center(const gpu_norm_args &a, int lane, row_words (&words)[ROW_PACKS], C (&shared)[2][TEAM_WAVES]) {
    enum { V = width_of<S>::n };
    C sum = 0, square = 0, mean = 0;
    if (a.mean) {
        each_held<S, C>(words, [&](C(&x)[V], int) { sum += sum_of(x); });
        mean = row_join(sum, a.team, op_sum(), shared[0]) / (C)a.n;
    } else
        __syncthreads(); /* shared[1] is free again */
    each_held<S, C>(words, [&](C(&x)[V], int p) {
        const C less = lane + p * a.team < (int)(a.n / V) ? mean : C(0);
        GPU_UNROLL
        for (int j = 0; j < V; ++j) x[j] = (x[j] - less) * (x[j] - less);
        square += sum_of(x);
    });
    square = row_join(square, a.team, op_sum(), shared[1]);
    return two<C>{mean, 1 / real_sqrt(square / (C)a.n + (C)a.eps)};
}

/* The same in one pass, for 16-bit elements: sums of the distances from `pivot`, an element of the row, and of their
 * squares. That element lies within sqrt(n) standard deviations of the mean, so that what the subtraction loses is less
 * than n 2^-24 of the variance (Chan, Golub, LeVeque: Algorithms for Computing the Sample Variance, 1983). */
template <class S>
GPU_FN two<float> center_at_once(const gpu_norm_args &a, float pivot, row_words (&words)[ROW_PACKS],
                                 two<float> *shared) {
    enum { V = width_of<S>::n };
    two<float> sums = {0, 0};
    each_held<S, float>(words, [&](float(&x)[V], int) {
        float squares[V];
        GPU_UNROLL
        for (int j = 0; j < V; ++j) x[j] -= pivot, squares[j] = x[j] * x[j];
        sums.a += sum_of(x), sums.b += sum_of(squares);
    });
    sums = row_join(sums, a.team, add_two(), shared);
    const float off = a.mean ? sums.a / (float)a.n : 0, square = sums.b / (float)a.n - off * off;
    return two<float>{pivot + off, 1 / sqrtf((square > 0 ? square : 0) + (float)a.eps)};
}

/* How rows of S are centered. `pivot` stands for what is no element; `turn` alternates. */
template <class S>
struct centering {
    typedef S C;
    struct memory {
        C sums[2][TEAM_WAVES];
    };
    static GPU_MEMBER C pivot(const gpu_norm_args &, const S *) { return 0; }
    static GPU_MEMBER two<C> of(const gpu_norm_args &a, int lane, C, row_words (&words)[ROW_PACKS], memory &m, int) {
        return center<S>(a, lane, words, m.sums);
    }
    static GPU_MEMBER C normalized(C x, const two<C> &s) { return (x - s.a) * s.b; }
};
template <class S>
struct centering_16 {
    struct memory {
        two<float> sums[2][TEAM_WAVES];
    };
    /* One multiplication and addition: the elements' own digits end before those that this loses. */
    static GPU_MEMBER float normalized(float x, const two<float> &s) { return x * s.b - s.a * s.b; }
    static GPU_MEMBER float pivot(const gpu_norm_args &a, const S *row) { return a.mean ? load_as<float>(*row) : 0; }
    static GPU_MEMBER two<float> of(const gpu_norm_args &a, int, float pivot, row_words (&words)[ROW_PACKS], memory &m,
                                    int turn) {
        return center_at_once<S>(a, pivot, words, m.sums[turn]);
    }
};
template <>
struct centering<f16> : centering_16<f16> {};
template <>
struct centering<bf16> : centering_16<bf16> {};

/* Writes what the row's elements become. W: the type of weight and bias. */
template <class S, class W, bool WEIGHT, bool BIAS, class C>
GPU_FN void finish_row(const gpu_norm_args &a, S *row, int packs, int lane, two<C> s, row_words (&words)[ROW_PACKS]) {
    enum { V = width_of<S>::n };
    each_held<S, C>(words, [&](C(&x)[V], int p) {
        const int at = lane + p * a.team;
        C w[V], b[V];
        if (WEIGHT) read_weights<W, V>(a.weight, first_of<V>(a.n, at), w);
        if (BIAS) read_weights<W, V>(a.bias, first_of<V>(a.n, at), b);
        GPU_UNROLL
        for (int j = 0; j < V; ++j) {
            x[j] = centering<S>::normalized(x[j], s);
            if (WEIGHT) x[j] *= w[j];
            if (BIAS) x[j] += b[j];
        }
        if (at < packs) write_once(reinterpret_cast<row_words *>(row) + at, words_of<S>(x));
    });
}
template <class S, class W, class C>
GPU_FN void finish_with(const gpu_norm_args &a, S *row, int packs, int lane, two<C> s, row_words (&words)[ROW_PACKS]) {
    if (a.weight && a.bias)
        finish_row<S, W, true, true>(a, row, packs, lane, s, words);
    else if (a.weight)
        finish_row<S, W, true, false>(a, row, packs, lane, s, words);
    else if (a.bias)
        finish_row<S, W, false, true>(a, row, packs, lane, s, words);
    else
        finish_row<S, W, false, false>(a, row, packs, lane, s, words);
}

/* weight and bias are of the rows' dtype, or both of float. Teams behind the last row repeat it. */
template <class S>
GPU_FN void norm_rows(const gpu_norm_args &a) {
    typedef typename compute<S>::type C;
    enum { V = width_of<S>::n };
    __shared__ typename centering<S>::memory shared;
    const int team = a.team, lane = (int)threadIdx.x & (team - 1), teams = (int)blockDim.x / team;
    const int packs = (int)(a.n / V);
    const bool same = (a.weight ? a.weight_dtype : a.bias_dtype) == a.dtype;
    int turn = 0;
    for (int64_t first = (int64_t)blockIdx.x * teams; first < a.rows; first += (int64_t)gridDim.x * teams, turn ^= 1) {
        const int64_t row = first + (int)threadIdx.x / team, at = (row < a.rows ? row : a.rows - 1) * a.n;
        const S *x = static_cast<const S *>(a.x) + at;
        S *y = static_cast<S *>(a.y) + at;
        row_words words[ROW_PACKS];
        const C pivot = centering<S>::pivot(a, x);
        row_fetch(x, packs, lane, team, words_filled<S>(pivot), words);
        const two<C> s = centering<S>::of(a, lane, pivot, words, shared, turn);
        if (row < a.rows && !lane) store_statistics(a, row, s.a, s.b);
        if (same)
            finish_with<S, S>(a, y, row < a.rows ? packs : 0, lane, s, words);
        else
            finish_with<S, float>(a, y, row < a.rows ? packs : 0, lane, s, words);
    }
}

template <class S>
GPU_FN void norm_walk(const gpu_norm_args &a) {
    typedef typename compute<S>::type C;
    __shared__ C shared[TEAM_WAVES];
    const int team = a.team, lane = (int)threadIdx.x % team, teams = (int)blockDim.x / team;
    for (int64_t first = (int64_t)blockIdx.x * teams; first < a.rows; first += (int64_t)gridDim.x * teams) {
        const int64_t row = first + (int)threadIdx.x / team, n = row < a.rows ? a.n : 0;
        const S *x = static_cast<const S *>(a.x) + row * a.n;
        S *y = static_cast<S *>(a.y) + row * a.n;
        C sum = 0, square = 0, mean = 0;
        const S *const rows[1] = {x};
        if (a.mean) {
            row_walk<C>(rows, n, row_head<S>(n, x, x, x), lane, team, [&](auto &v, int64_t) {
                GPU_UNROLL
                for (int j = 0; j < ROW_WIDTH(v); ++j) sum += v[0][j];
            });
            mean = team_join(sum, team, op_sum(), shared) / (C)a.n;
        }
        row_walk<C>(rows, n, row_head<S>(n, x, x, x), lane, team, [&](auto &v, int64_t) {
            GPU_UNROLL
            for (int j = 0; j < ROW_WIDTH(v); ++j) square += (v[0][j] - mean) * (v[0][j] - mean);
        });
        square = team_join(square, team, op_sum(), shared);
        const C rstd = 1 / real_sqrt(square / (C)a.n + (C)a.eps);
        if (row < a.rows && !lane) store_statistics(a, row, mean, rstd);
        row_walk<C>(rows, n, row_head<S>(n, x, y, y), lane, team, [&](auto &v, int64_t i) {
            GPU_UNROLL
            for (int j = 0; j < ROW_WIDTH(v); ++j)
                v[0][j] = (v[0][j] - mean) * rstd * weight_of(a, a.weight, a.weight_dtype, C(1), row, i + j) +
                          weight_of(a, a.bias, a.bias_dtype, C(0), row, i + j);
            write_elements(y + i, v[0]);
        });
    }
}

/* ---- backward: rstd (g w - mean(g w) - y mean(g w y)), y the normalized input, means over the row ---- */
/* What a row's elements need. */
template <class C>
struct row_state {
    C mean, rstd, along, across; /* means of g w y and of g w */
    GPU_MEMBER C normalized(C x) const { return (x - mean) * rstd; }
    GPU_MEMBER C gradient(C g, C w, C y) const { return rstd * (g * w - across - y * along); }
};
template <class C>
GPU_FN row_state<C> state_of(const gpu_norm_args &a, int64_t row) {
    row_state<C> s = {0, 0, 0, 0};
    if (row >= a.rows) return s;
    if (a.mean) s.mean = load_at<C>(a.mean, a.statistic_dtype, row);
    s.rstd = load_at<C>(a.rstd, a.statistic_dtype, row);
    return s;
}
template <class C>
GPU_FN void set_means(const gpu_norm_args &a, row_state<C> &s, const two<C> &sums) {
    s.across = a.mean ? sums.a / (C)a.n : 0;
    s.along = sums.b / (C)a.n;
}

enum { BACKWARD_PACKS = 2 };

template <class S>
GPU_FN void norm_rows_backward(const gpu_norm_args &a) {
    typedef typename compute<S>::type C;
    enum { V = width_of<S>::n };
    __shared__ two<C> shared[TEAM_WAVES];
    const int team = a.team, lane = (int)threadIdx.x % team, teams = (int)blockDim.x / team;
    C gw[BACKWARD_PACKS][V] = {}, gb[BACKWARD_PACKS][V] = {};
    for (int64_t first = (int64_t)blockIdx.x * teams; first < a.rows; first += (int64_t)gridDim.x * teams) {
        const int64_t row = first + (int)threadIdx.x / team, n = row < a.rows ? a.n : 0;
        C x[BACKWARD_PACKS][V], g[BACKWARD_PACKS][V], w[V];
        row_load(static_cast<const S *>(a.x) + row * a.n, n, lane, team, C(0), x);
        row_load(static_cast<const S *>(a.g) + row * a.n, n, lane, team, C(0), g);
        row_state<C> s = state_of<C>(a, row);
        two<C> sums = {0, 0};
        GPU_UNROLL
        for (int p = 0; p < BACKWARD_PACKS; ++p) {
            const int64_t i = (int64_t)(lane + p * team) * V;
            if (i >= n) continue;
            weights_at(a.weight, a.weight_dtype, i, C(1), w);
            GPU_UNROLL
            for (int j = 0; j < V; ++j) {
                x[p][j] = s.normalized(x[p][j]);
                gw[p][j] += g[p][j] * x[p][j], gb[p][j] += g[p][j];
                g[p][j] *= w[j];
                sums.a += g[p][j], sums.b += g[p][j] * x[p][j];
            }
        }
        if (!a.y) continue;
        set_means(a, s, team_join(sums, team, add_two(), shared));
        GPU_UNROLL
        for (int p = 0; p < BACKWARD_PACKS; ++p) {
            const int64_t i = (int64_t)(lane + p * team) * V;
            GPU_UNROLL
            for (int j = 0; j < V; ++j) x[p][j] = s.gradient(g[p][j], C(1), x[p][j]);
            if (i < n) write_elements(static_cast<S *>(a.y) + row * a.n + i, x[p]);
        }
    }
    if (!a.partial) return;
    C *part = static_cast<C *>(a.partial) + ((int64_t)blockIdx.x * teams + (int)threadIdx.x / team) * 2 * a.n;
    GPU_UNROLL
    for (int p = 0; p < BACKWARD_PACKS; ++p)
        GPU_UNROLL
        for (int j = 0; j < V; ++j) {
            const int64_t i = (int64_t)(lane + p * team) * V + j;
            if (i < a.n) part[i] = gw[p][j], part[a.n + i] = gb[p][j];
        }
}

template <class S>
GPU_FN void norm_walk_backward(const gpu_norm_args &a) {
    typedef typename compute<S>::type C;
    __shared__ two<C> shared[TEAM_WAVES];
    const int team = a.team, lane = (int)threadIdx.x % team, teams = (int)blockDim.x / team;
    for (int64_t first = (int64_t)blockIdx.x * teams; first < a.rows; first += (int64_t)gridDim.x * teams) {
        const int64_t row = first + (int)threadIdx.x / team, n = row < a.rows ? a.n : 0;
        const S *x = static_cast<const S *>(a.x) + row * a.n, *g = static_cast<const S *>(a.g) + row * a.n;
        S *y = static_cast<S *>(a.y) + row * a.n;
        row_state<C> s = state_of<C>(a, row);
        two<C> sums = {0, 0};
        const S *const rows[2] = {x, g};
        row_walk<C>(rows, n, row_head<S>(n, x, g, g), lane, team, [&](auto &v, int64_t i) {
            GPU_UNROLL
            for (int j = 0; j < ROW_WIDTH(v); ++j) {
                C gw = v[1][j] * weight_of(a, a.weight, a.weight_dtype, C(1), row, i + j);
                sums.a += gw, sums.b += gw * s.normalized(v[0][j]);
            }
        });
        set_means(a, s, team_join(sums, team, add_two(), shared));
        row_walk<C>(rows, n, row_head<S>(n, x, g, y), lane, team, [&](auto &v, int64_t i) {
            GPU_UNROLL
            for (int j = 0; j < ROW_WIDTH(v); ++j) {
                C w = weight_of(a, a.weight, a.weight_dtype, C(1), row, i + j);
                v[0][j] = s.gradient(v[1][j], w, s.normalized(v[0][j]));
            }
            write_elements(y + i, v[0]);
        });
    }
}

/* ---- gradients of weight and bias ---- */
/* Joins the 8 threads of a column; thread 0 has the result. */
template <class C>
GPU_FN two<C> column_sums(two<C> x, two<C> (&shared)[COLUMN_ROWS][COLUMNS]) {
    const int tx = (int)threadIdx.x % COLUMNS, ty = (int)threadIdx.x / COLUMNS;
    shared[ty][tx] = x;
    __syncthreads();
    for (int i = 1; i < COLUMN_ROWS && !ty; ++i) x = add_two()(x, shared[i][tx]);
    __syncthreads();
    return x;
}

/* Layer norm: a block takes 32 elements of the rows of one part. */
template <class C>
GPU_FN void norm_weight_parts(const gpu_norm_args &a) {
    __shared__ two<C> shared[COLUMN_ROWS][COLUMNS];
    const int64_t across = (a.n + COLUMNS - 1) / COLUMNS, part = blockIdx.x / across;
    const int64_t i = (blockIdx.x - part * across) * COLUMNS + threadIdx.x % COLUMNS, end = a.rows * (part + 1) / a.parts;
    two<C> sums = {0, 0};
    for (int64_t row = a.rows * part / a.parts + threadIdx.x / COLUMNS; row < end && i < a.n; row += COLUMN_ROWS) {
        C g = load_at<C>(a.g, a.dtype, row * a.n + i);
        sums.a += g * state_of<C>(a, row).normalized(load_at<C>(a.x, a.dtype, row * a.n + i));
        sums.b += g;
    }
    sums = column_sums(sums, shared);
    if (i >= a.n || threadIdx.x >= COLUMNS) return;
    C *to = static_cast<C *>(a.partial) + part * 2 * a.n + i;
    to[0] = sums.a, to[a.n] = sums.b;
}

template <class C>
GPU_FN void norm_weights_finish(const gpu_norm_args &a) {
    __shared__ two<C> shared[COLUMN_ROWS][COLUMNS];
    const int64_t i = (int64_t)blockIdx.x * COLUMNS + threadIdx.x % COLUMNS;
    const C *from = static_cast<const C *>(a.partial) + i;
    two<C> sums = {0, 0};
    for (uint32_t part = threadIdx.x / COLUMNS; part < a.parts; part += COLUMN_ROWS)
        if (i < a.n) sums.a += from[part * 2 * a.n], sums.b += from[(part * 2 + 1) * a.n];
    sums = column_sums(sums, shared);
    if (i >= a.n || threadIdx.x >= COLUMNS) return;
    if (a.grads[0]) store_at(a.grads[0], a.grad_dtype, i, sums.a);
    if (a.grads[1]) store_at(a.grads[1], a.grad_dtype, i, sums.b);
}

/* Group norm: a block takes a channel of all samples. */
template <class C>
GPU_FN void norm_group_weights(const gpu_norm_args &a) {
    __shared__ two<C> shared[TEAM_WAVES];
    const int64_t channels = a.groups * a.group_channels, samples = a.groups ? a.rows / a.groups : 0;
    for (int64_t channel = blockIdx.x; channel < channels; channel += gridDim.x) {
        two<C> sums = {0, 0};
        for (int64_t sample = 0; sample < samples; ++sample) {
            const row_state<C> s = state_of<C>(a, sample * a.groups + channel / a.group_channels);
            const int64_t base = (sample * channels + channel) * a.pixels;
            for (int64_t i = threadIdx.x; i < a.pixels; i += blockDim.x) {
                C g = load_at<C>(a.g, a.dtype, base + i);
                sums.a += g * s.normalized(load_at<C>(a.x, a.dtype, base + i)), sums.b += g;
            }
        }
        sums = team_join(sums, (int)blockDim.x, add_two(), shared);
        if (threadIdx.x) continue;
        if (a.grads[0]) store_at(a.grads[0], a.grad_dtype, channel, sums.a);
        if (a.grads[1]) store_at(a.grads[1], a.grad_dtype, channel, sums.b);
    }
}

/* ---- kernels ---- */
#define NORM(name, S)                                                                                \
    GPU_KERNEL(norm_##name, MOST_THREADS, gpu_norm_args) { norm_rows<S>(a); }                       \
    GPU_KERNEL(norm_walk_##name, MOST_THREADS, gpu_norm_args) { norm_walk<S>(a); }                   \
    GPU_KERNEL(norm_backward_##name, BACKWARD_THREADS, gpu_norm_args) { norm_rows_backward<S>(a); } \
    GPU_KERNEL(norm_walk_backward_##name, MOST_THREADS, gpu_norm_args) { norm_walk_backward<S>(a); }
NORM(f32, float)
NORM(f16, f16)
NORM(bf16, bf16)
NORM(f64, double)
#define NORM_WEIGHTS(name, C)                                                                                \
    GPU_KERNEL(norm_weight_parts_##name, COLUMNS *COLUMN_ROWS, gpu_norm_args) { norm_weight_parts<C>(a); }   \
    GPU_KERNEL(norm_weights_finish_##name, COLUMNS *COLUMN_ROWS, gpu_norm_args) { norm_weights_finish<C>(a); } \
    GPU_KERNEL(norm_group_weights_##name, 256, gpu_norm_args) { norm_group_weights<C>(a); }
NORM_WEIGHTS(f32, float)
NORM_WEIGHTS(f64, double)
