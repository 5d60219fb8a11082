/* Matrix products of any strides, for devices and types without a BLAS: tiles of 64 x 64 in shared memory, 4 x 4 results
 * a thread; and small ones, tiles of 16 x 16. blockIdx.x is the tile, blockIdx.z the batch. Every result is summed in the
 * order of k. */
#include "gpu.h"

#include "args_gemm.h"

#define TILE 64
#define DEPTH 16
#define THREADS 256 /* 16 x 16 */
#define SIDE 16
#define EACH 4 /* results of a thread in a row and in a column */

/* Tiles are kept with the k index outside; a padding column keeps stores off one bank. */
template <class C>
struct gemm_tiles {
    C a[DEPTH][TILE + 1], b[DEPTH][TILE + 1];
};

/* rows x DEPTH elements from (row, k); zeros beside the matrix. Neighbouring threads read along the smaller stride. */
template <class S, class C>
GPU_FN void load_tile(C (*tile)[TILE + 1], const S *data, int64_t row_stride, int64_t k_stride, int64_t rows,
                      int64_t depth, int64_t row, int64_t k) {
    const bool along_k = k_stride <= row_stride;
    for (int i = (int)threadIdx.x; i < TILE * DEPTH; i += THREADS) {
        int r = along_k ? i / DEPTH : i % TILE, d = along_k ? i % DEPTH : i / TILE;
        bool inside = row + r < rows && k + d < depth;
        tile[d][r] = inside ? load_as<C>(data[(row + r) * row_stride + (k + d) * k_stride]) : C(0);
    }
}

template <class C>
GPU_FN void multiply_tiles(const gemm_tiles<C> &tiles, C (&sum)[EACH][EACH]) {
    const int x = (int)threadIdx.x % SIDE, y = (int)threadIdx.x / SIDE;
    GPU_UNROLL
    for (int d = 0; d < DEPTH; ++d) {
        C a[EACH], b[EACH];
        GPU_UNROLL
        for (int i = 0; i < EACH; ++i) a[i] = tiles.a[d][y + i * SIDE], b[i] = tiles.b[d][x + i * SIDE];
        GPU_UNROLL
        for (int i = 0; i < EACH; ++i)
            GPU_UNROLL
            for (int j = 0; j < EACH; ++j) sum[i][j] += a[i] * b[j];
    }
}

template <class C>
struct gemm_factor {
    static GPU_MEMBER C of(double real, int64_t) { return (C)real; }
};
template <>
struct gemm_factor<int64_t> {
    static GPU_MEMBER int64_t of(double, int64_t whole) { return whole; }
};

template <class S, class C>
GPU_FN void store_tile(const gpu_gemm_args &p, int64_t batch, int64_t row, int64_t col, const C (&sum)[EACH][EACH]) {
    const C alpha = gemm_factor<C>::of(p.alpha, p.whole_alpha), beta = gemm_factor<C>::of(p.beta, p.whole_beta);
    const S *c = static_cast<const S *>(p.c.data);
    S *out = static_cast<S *>(p.out.data) + batch * p.out.batch;
    for (int i = 0; i < EACH; ++i)
        for (int j = 0; j < EACH; ++j) {
            int64_t r = row + (int)threadIdx.x / SIDE + i * SIDE, s = col + (int)threadIdx.x % SIDE + j * SIDE;
            if (r >= p.m || s >= p.n) continue;
            C value = alpha * sum[i][j];
            if (c) value += beta * load_as<C>(c[batch * p.c.batch + r * p.c.row + s * p.c.col]);
            out[r * p.out.row + s * p.out.col] = store_as<S>(value);
        }
}

template <class S, class C>
GPU_FN void gemm(const gpu_gemm_args &p, gemm_tiles<C> &tiles) {
    const int64_t across = (p.n + TILE - 1) / TILE, row = blockIdx.x / across * TILE, col = blockIdx.x % across * TILE;
    for (int64_t batch = blockIdx.z; batch < p.batch; batch += gridDim.z) {
        const S *a = static_cast<const S *>(p.a.data) + batch * p.a.batch;
        const S *b = static_cast<const S *>(p.b.data) + batch * p.b.batch;
        C sum[EACH][EACH] = {};
        for (int64_t k = 0; k < p.k; k += DEPTH) {
            load_tile(tiles.a, a, p.a.row, p.a.col, p.m, p.k, row, k);
            load_tile(tiles.b, b, p.b.col, p.b.row, p.n, p.k, col, k);
            __syncthreads();
            multiply_tiles(tiles, sum);
            __syncthreads();
        }
        store_tile<S>(p, batch, row, col, sum);
    }
}

/* ---- small products: latency is what counts, and that every multiprocessor has a tile ---- */
#define SMALL 16 /* rows and columns of a tile; a result a thread */
#define SMALL_DEPTH 128
#define SMALL_EACH (SMALL * SMALL_DEPTH / THREADS) /* elements that a thread fetches of a tile */
#define SMALL_STEP 32 /* of k, without a branch */
#define VECTOR 4

/* k inside; the padding keeps 16-byte loads of neighbouring rows off one bank. */
struct small_tile {
    alignas(16) float v[SMALL][SMALL_DEPTH + VECTOR];
};

/* One operand's rows (or columns) of a tile, and which elements of it a thread fetches: SMALL_EACH, evenly apart, such that
 * neighbouring threads read along the smaller stride. */
struct small_side {
    const float *data;      /* this thread's first element */
    int64_t k_stride, step; /* to the tile at the next k, to the next element of this tile */
    int row, k, row_step, k_step, rows;

    GPU_MEMBER small_side(const void *matrix, int64_t row_stride, int64_t k_by, int64_t first, int64_t count) {
        const bool along_k = k_by <= row_stride;
        const int t = (int)threadIdx.x;
        k_stride = k_by;
        row = along_k ? t / SMALL_DEPTH : t % SMALL, row_step = along_k ? THREADS / SMALL_DEPTH : 0;
        k = along_k ? t % SMALL_DEPTH : t / SMALL, k_step = along_k ? 0 : THREADS / SMALL;
        rows = (int)(count - first < SMALL ? count - first : SMALL);
        data = static_cast<const float *>(matrix) + (first + row) * row_stride + k * k_by;
        step = row_step * row_stride + k_step * k_by;
    }
    /* Of the tile at `from`, with `depth` more k; zeros beside the matrix. */
    GPU_MEMBER void fetch(float (&held)[SMALL_EACH], int64_t from, int depth) const {
        const float *at = data + from * k_stride;
        GPU_UNROLL
        for (int e = 0; e < SMALL_EACH; ++e, at += step)
            held[e] = row + e * row_step < rows && k + e * k_step < depth ? *at : 0;
    }
    GPU_MEMBER void put(small_tile &tile, const float (&held)[SMALL_EACH]) const {
        GPU_UNROLL
        for (int e = 0; e < SMALL_EACH; ++e) tile.v[row + e * row_step][k + e * k_step] = held[e];
    }
};

GPU_FN float multiply_small(const small_tile &a, const small_tile &b, int row, int col, int depth, float sum) {
    typedef pack<float, VECTOR> vector;
    GPU_ROLLED
    for (int begin = 0; begin < depth; begin += SMALL_STEP) {
        GPU_UNROLL
        for (int k = begin; k < begin + SMALL_STEP; k += VECTOR) {
            const vector x = *reinterpret_cast<const vector *>(&a.v[row][k]);
            const vector y = *reinterpret_cast<const vector *>(&b.v[col][k]);
            GPU_UNROLL
            for (int i = 0; i < VECTOR; ++i) sum += x.v[i] * y.v[i];
        }
    }
    return sum;
}

GPU_FN void store_small(const gpu_gemm_args &p, int64_t batch, int64_t row, int64_t col, float sum) {
    if (row >= p.m || col >= p.n) return;
    const float *c = static_cast<const float *>(p.c.data);
    float value = (float)p.alpha * sum;
    if (c) value += (float)p.beta * c[batch * p.c.batch + row * p.c.row + col * p.c.col];
    static_cast<float *>(p.out.data)[batch * p.out.batch + row * p.out.row + col * p.out.col] = value;
}

GPU_FN int small_depth(const gpu_gemm_args &p, int64_t k) {
    return (int)(p.k - k < SMALL_DEPTH ? p.k - k : SMALL_DEPTH);
}

/* The next tiles are fetched while these are multiplied. */
GPU_KERNEL(gemm_small_f32, THREADS, gpu_gemm_args) {
    __shared__ small_tile tile_a, tile_b;
    const uint32_t across = (uint32_t)((a.n + SMALL - 1) / SMALL);
    const int64_t first_row = (int64_t)(blockIdx.x / across) * SMALL, first_col = (int64_t)(blockIdx.x % across) * SMALL;
    const int row = (int)threadIdx.x / SMALL, col = (int)threadIdx.x % SMALL;
    for (int64_t batch = blockIdx.z; batch < a.batch; batch += gridDim.z) {
        const float *left = static_cast<const float *>(a.a.data) + batch * a.a.batch;
        const float *right = static_cast<const float *>(a.b.data) + batch * a.b.batch;
        const small_side rows(left, a.a.row, a.a.col, first_row, a.m), columns(right, a.b.col, a.b.row, first_col, a.n);
        float held_a[SMALL_EACH], held_b[SMALL_EACH], sum = 0;
        rows.fetch(held_a, 0, small_depth(a, 0));
        columns.fetch(held_b, 0, small_depth(a, 0));
        for (int64_t k = 0; k < a.k; k += SMALL_DEPTH) {
            const int next = small_depth(a, k + SMALL_DEPTH);
            __syncthreads();
            rows.put(tile_a, held_a);
            columns.put(tile_b, held_b);
            __syncthreads();
            if (next > 0) {
                rows.fetch(held_a, k + SMALL_DEPTH, next);
                columns.fetch(held_b, k + SMALL_DEPTH, next);
            }
            sum = multiply_small(tile_a, tile_b, row, col, small_depth(a, k), sum);
        }
        store_small(a, batch, first_row + row, first_col + col, sum);
    }
}

#define GEMM(name, S, C)                           \
    GPU_KERNEL(gemm_##name, THREADS, gpu_gemm_args) { \
        __shared__ gemm_tiles<C> tiles;            \
        gemm<S>(a, tiles);                         \
    }
GEMM(f32, float, float)
GEMM(f64, double, double)
GEMM(f16, f16, float)
GEMM(bf16, bf16, float)
GEMM(u8, uint8_t, int64_t)
GEMM(i8, int8_t, int64_t)
GEMM(i16, int16_t, int64_t)
GEMM(i32, int32_t, int64_t)
GEMM(i64, int64_t, int64_t)
