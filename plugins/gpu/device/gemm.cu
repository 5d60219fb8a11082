/* Matrix products of any strides, for devices and types without a BLAS: tiles of 64 x 64 in shared memory, 4 x 4 results
 * a thread. blockIdx.x is the tile, blockIdx.z the batch. */
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
