/* Reductions over any dimensions: how threads walk (reduce_rows, reduce_columns, reduce_finish), apart from what is
 * folded (a policy) and how elements are read (a source).
 *
 * A policy has:  acc, value              the accumulator and what a source gives
 *                acc identity()
 *                void enter(args, k)     before the elements of result k
 *                void add(acc &, value x, int64_t i, int n)   element i of the result, the n-th of this accumulator
 *                acc join(acc, acc)
 *                void store(args, offsets, k, acc)     writes result k
 * A source has:  value, V                elements of a packed access
 *                void read<N>(offset, value (&x)[N])   N = V or 1 elements from a byte offset on
 * Results depend on shapes and launch only: the order of everything is fixed, there are no atomics. */
#ifndef WICK_GPU_REDUCE_H
#define WICK_GPU_REDUCE_H

#include "args_reduce.h"
#include "gpu.h"

/* ---- positions ---- */
GPU_FN int64_t dims_offset(const gpu_dims &d, const int64_t (&strides)[GPU_DIMS], int64_t i) {
    if (d.ndim == 1) return i * strides[0];
    int64_t offset = 0;
    uint32_t left = (uint32_t)i;
    for (int k = 0; k < d.ndim; ++k) {
        uint32_t rest = divide(left, d.sizes[k]);
        offset += (int64_t)(left - rest * d.sizes[k].divisor) * strides[k];
        left = rest;
    }
    return offset;
}

/* ---- teams: powers of two of neighbouring threads, up to a wave, or a whole block ---- */
/* Shuffles of any plain struct. */
template <class T> GPU_FN T lane_xor(T x, int mask) {
    uint32_t words[(sizeof(T) + 3) / 4];
    static_assert(sizeof(T) % 4 == 0, "shuffles move 32 bits at a time");
    memcpy(words, &x, sizeof x);
    GPU_UNROLL
    for (int i = 0; i < (int)(sizeof(T) / 4); ++i) words[i] = GPU_SHUFFLE_XOR(words[i], mask);
    memcpy(&x, words, sizeof x);
    return x;
}

/* Every thread of the team gets the team's result; every thread of the block must call it. `shared`: a T per wave. */
template <class T, class F> GPU_FN T team_join(T x, int team, F join, T *shared) {
    int within = team < GPU_WAVE ? team : GPU_WAVE;
    for (int mask = within / 2; mask > 0; mask /= 2) x = join(x, lane_xor(x, mask));
    if (team <= GPU_WAVE) return x;
    if (gpu_lane() == 0) shared[(int)threadIdx.x / GPU_WAVE] = x;
    __syncthreads();
    x = shared[0];
    for (int i = 1; i < team / GPU_WAVE; ++i) x = join(x, shared[i]);
    __syncthreads();
    return x;
}
#define TEAM_WAVES 32 /* 1024 threads in waves of 32 */

/* ---- rows ---- */
enum { ROW_UNROLL = 4, COLUMN_UNROLL = 4, COLUMN_THREADS = 256 };

/* Accumulators of a thread: one for each element of an access, joined at the end. */
template <int N, class P, class S>
GPU_FN typename P::acc row_part(const gpu_reduce_args &a, P &p, const S &source, int64_t base, int64_t begin,
                                int64_t end, int lane) {
    typename P::acc acc[N];
    GPU_UNROLL
    for (int j = 0; j < N; ++j) acc[j] = p.identity();
    int64_t i = begin + lane;
    int n = 0;
    const int64_t step = a.team;
    for (; i + (ROW_UNROLL - 1) * step < end; i += ROW_UNROLL * step) {
        typename S::value x[ROW_UNROLL][N];
        GPU_UNROLL
        for (int u = 0; u < ROW_UNROLL; ++u)
            source.read(base + dims_offset(a.reduced_dims, a.reduced_dims.in, i + u * step), x[u]);
        GPU_UNROLL
        for (int u = 0; u < ROW_UNROLL; ++u) {
            GPU_UNROLL
            for (int j = 0; j < N; ++j) p.add(acc[j], x[u][j], (i + u * step) * N + j, n + u + 1);
        }
        n += ROW_UNROLL;
    }
    for (; i < end; i += step) {
        typename S::value x[N];
        source.read(base + dims_offset(a.reduced_dims, a.reduced_dims.in, i), x);
        GPU_UNROLL
        for (int j = 0; j < N; ++j) p.add(acc[j], x[j], i * N + j, n + 1);
        ++n;
    }
    GPU_UNROLL
    for (int half = N / 2; half > 0; half /= 2) {
        GPU_UNROLL
        for (int j = 0; j < half; ++j) acc[j] = p.join(acc[j], acc[j + half]);
    }
    return acc[0];
}

/* The elements behind the last whole access; the last piece takes them. */
template <class P, class S>
GPU_FN typename P::acc row_tail(const gpu_reduce_args &a, P &p, const S &source, int64_t base, int lane) {
    typename P::acc acc = p.identity();
    const int64_t first = a.reduced * S::V;
    int n = 0;
    for (int64_t i = lane; i < a.tail; i += a.team) {
        typename S::value x[1];
        source.read(base + (first + i) * S::bytes, x);
        p.add(acc, x[0], first + i, ++n);
    }
    return acc;
}

template <class P, class S>
GPU_FN typename P::acc row_piece(const gpu_reduce_args &a, P &p, const S &source, uint32_t k, uint32_t piece,
                                 int lane) {
    const int64_t base = dims_offset(a.kept_dims, a.kept_dims.in, k), begin = piece * a.piece;
    int64_t end = begin + a.piece;
    if (end > a.reduced) end = a.reduced;
    p.enter(a, k);
    if (!a.packed) return row_part<1>(a, p, source, base, begin, end, lane);
    typename P::acc acc = row_part<S::V>(a, p, source, base, begin, end, lane);
    return a.tail && piece + 1 == a.pieces ? p.join(acc, row_tail(a, p, source, base, lane)) : acc;
}

template <class P> GPU_FN void store_result(const gpu_reduce_args &a, const P &p, uint32_t k, typename P::acc acc) {
    int64_t at[2];
    GPU_UNROLL
    for (int j = 0; j < 2; ++j) at[j] = dims_offset(a.kept_dims, a.kept_dims.out[j], k);
    p.store(a, at, k, acc);
}

template <class P> struct joiner {
    P p;
    GPU_MEMBER typename P::acc operator()(const typename P::acc &x, const typename P::acc &y) const {
        return p.join(x, y);
    }
};

template <class P, class S> GPU_FN void reduce_rows(const gpu_reduce_args &a, P p, const S &source) {
    __shared__ typename P::acc shared[TEAM_WAVES];
    const uint32_t team = (uint32_t)a.team, teams = blockDim.x / team, work = a.kept * a.pieces;
    const int lane = (int)(threadIdx.x % team);
    for (uint32_t first = blockIdx.x * teams; first < work; first += gridDim.x * teams) {
        uint32_t w = first + threadIdx.x / team, k = a.pieces > 1 ? w / a.pieces : w;
        typename P::acc acc = p.identity();
        if (w < work) acc = row_piece(a, p, source, k, w - k * a.pieces, lane);
        acc = team_join(acc, (int)team, joiner<P>{p}, shared);
        if (w >= work || lane) continue;
        if (a.partial)
            static_cast<typename P::acc *>(a.partial)[w] = acc;
        else
            store_result(a, p, k, acc);
    }
}

/* ---- columns ---- */
template <int N, class P, class S>
GPU_FN void column_part(const gpu_reduce_args &a, P (&p)[N], const S &source, typename P::acc (&acc)[N], int64_t base,
                        int64_t i, int64_t end, int64_t step) {
    int n = 0;
    for (; i + (COLUMN_UNROLL - 1) * step < end; i += COLUMN_UNROLL * step) {
        typename S::value x[COLUMN_UNROLL][N];
        GPU_UNROLL
        for (int u = 0; u < COLUMN_UNROLL; ++u)
            source.read(base + dims_offset(a.reduced_dims, a.reduced_dims.in, i + u * step), x[u]);
        GPU_UNROLL
        for (int u = 0; u < COLUMN_UNROLL; ++u) {
            GPU_UNROLL
            for (int j = 0; j < N; ++j) p[j].add(acc[j], x[u][j], i + u * step, n + u + 1);
        }
        n += COLUMN_UNROLL;
    }
    for (; i < end; i += step) {
        typename S::value x[N];
        source.read(base + dims_offset(a.reduced_dims, a.reduced_dims.in, i), x);
        GPU_UNROLL
        for (int j = 0; j < N; ++j) p[j].add(acc[j], x[j], i, n + 1);
        ++n;
    }
}

/* A block takes `width` accesses side by side of one piece; its thread rows are joined in shared memory. */
template <int N, class P, class S>
GPU_FN void columns_of(const gpu_reduce_args &a, P policy, const S &source, typename P::acc *shared) {
    const uint32_t width = (uint32_t)a.width, tx = threadIdx.x % width, ty = threadIdx.x / width;
    const uint32_t rows = COLUMN_THREADS / width, accesses = a.kept / N, across = (accesses + width - 1) / width;
    const uint32_t piece = blockIdx.x / across, c = (blockIdx.x - piece * across) * width + tx;
    typename P::acc acc[N];
    P p[N];
    GPU_UNROLL
    for (int j = 0; j < N; ++j) p[j] = policy, acc[j] = policy.identity();
    if (c < accesses) {
        int64_t end = (piece + 1) * a.piece;
        if (end > a.reduced) end = a.reduced;
        GPU_UNROLL
        for (int j = 0; j < N; ++j) p[j].enter(a, c * N + (uint32_t)j);
        column_part(a, p, source, acc, dims_offset(a.kept_dims, a.kept_dims.in, c), (int64_t)(piece * a.piece) + ty,
                    end, rows);
    }
    for (uint32_t half = rows / 2; half > 0; half /= 2) {
        if (ty >= half && ty < 2 * half) {
            GPU_UNROLL
            for (int j = 0; j < N; ++j) shared[(j * COLUMN_THREADS / 2) + (ty - half) * width + tx] = acc[j];
        }
        __syncthreads();
        if (ty < half) {
            GPU_UNROLL
            for (int j = 0; j < N; ++j)
                acc[j] = policy.join(acc[j], shared[(j * COLUMN_THREADS / 2) + ty * width + tx]);
        }
        __syncthreads();
    }
    if (c >= accesses || ty) return;
    int64_t at[2];
    GPU_UNROLL
    for (int j = 0; j < 2; ++j) at[j] = dims_offset(a.kept_dims, a.kept_dims.out[j], c);
    GPU_UNROLL
    for (int j = 0; j < N; ++j) {
        if (a.partial)
            static_cast<typename P::acc *>(a.partial)[(int64_t)piece * a.kept + c * N + (uint32_t)j] = acc[j];
        else
            policy.store(a, at, c * N + (uint32_t)j, acc[j]);
        at[0] += a.kept_out[0], at[1] += a.kept_out[1];
    }
}

template <class P, class S> GPU_FN void reduce_columns(const gpu_reduce_args &a, P policy, const S &source) {
    __shared__ typename P::acc shared[S::V * COLUMN_THREADS / 2];
    if (a.packed)
        columns_of<S::V>(a, policy, source, shared);
    else
        columns_of<1>(a, policy, source, shared);
}

/* ---- second pass: joins the pieces of every result ---- */
template <class P> GPU_FN void reduce_finish(const gpu_reduce_args &a, P p) {
    __shared__ typename P::acc shared[TEAM_WAVES];
    const typename P::acc *partial = static_cast<const typename P::acc *>(a.partial);
    const uint32_t team = (uint32_t)a.team, teams = blockDim.x / team;
    const int lane = (int)(threadIdx.x % team);
    for (uint32_t first = blockIdx.x * teams; first < a.kept; first += gridDim.x * teams) {
        uint32_t k = first + threadIdx.x / team;
        typename P::acc acc = p.identity();
        if (k < a.kept)
            for (uint32_t i = (uint32_t)lane; i < a.pieces; i += team)
                acc = p.join(acc, partial[k * a.partial_steps[0] + i * a.partial_steps[1]]);
        acc = team_join(acc, (int)team, joiner<P>{p}, shared);
        if (k < a.kept && !lane) store_result(a, p, k, acc);
    }
}

/* ---- sources ---- */
template <class S> struct typed_source {
    typedef typename compute<S>::type value;
    enum { V = 16 / (int)sizeof(S), bytes = (int)sizeof(S) };
    const char *data;
    template <int N> GPU_MEMBER void read(int64_t at, value (&x)[N]) const {
        pack<S, N> u = *reinterpret_cast<const pack<S, N> *>(data + at);
        GPU_UNROLL
        for (int j = 0; j < N; ++j) x[j] = load_as<value>(u.v[j]);
    }
};

/* Any dtype, one element at a time. */
template <class C> struct any_source {
    typedef C value;
    enum { V = 1, bytes = 0 };
    const char *data;
    int dtype;
    GPU_MEMBER void read(int64_t at, C (&x)[1]) const { x[0] = load_any<C>(data + at, dtype); }
};

#endif
