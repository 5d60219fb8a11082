/* Copies and fills. Of the same dtype: bytes, any strides (copy_bytesN), or through tiles of shared memory where the two
 * sides are packed along different dimensions (copy_transposeN). Of different dtypes: copy_cast_C computes in C what a
 * source of that class holds; copy_A_B are dense. */
#include "args_copy.h"
#include "gpu.h"

#define THREADS 256
#define UNROLL 4

typedef pack<uint64_t, 2> bytes16;

/* ---- strided ---- */
template <class U>
GPU_FN void copy_units(const gpu_walk_args &a) {
    const char *in = static_cast<const char *>(a.data[1]);
    char *out = static_cast<char *>(a.data[0]);
    const uint64_t step = (uint64_t)gpu_threads();
    for (uint64_t i = (uint64_t)gpu_thread(); i < a.n; i += step * UNROLL) {
        U u[UNROLL];
        int64_t at[UNROLL][2];
        GPU_UNROLL
        for (int j = 0; j < UNROLL; ++j) {
            if (i + step * (uint64_t)j >= a.n) continue;
            offsets_at(a.walk, (uint32_t)(i + step * (uint64_t)j), at[j]);
            u[j] = *reinterpret_cast<const U *>(in + at[j][1]);
        }
        GPU_UNROLL
        for (int j = 0; j < UNROLL; ++j)
            if (i + step * (uint64_t)j < a.n) *reinterpret_cast<U *>(out + at[j][0]) = u[j];
    }
}
GPU_KERNEL(copy_bytes1, THREADS, gpu_walk_args) { copy_units<uint8_t>(a); }
GPU_KERNEL(copy_bytes2, THREADS, gpu_walk_args) { copy_units<uint16_t>(a); }
GPU_KERNEL(copy_bytes4, THREADS, gpu_walk_args) { copy_units<uint32_t>(a); }
GPU_KERNEL(copy_bytes8, THREADS, gpu_walk_args) { copy_units<uint64_t>(a); }
GPU_KERNEL(copy_bytes16, THREADS, gpu_walk_args) { copy_units<bytes16>(a); }

/* ---- transposed ---- */
/* V consecutive elements, of which `n` exist. */
template <class U, int V>
GPU_FN pack<U, V> read_some(const char *from, int n, bool packs) {
    pack<U, V> x = {};
    if (packs && n >= V) return *reinterpret_cast<const pack<U, V> *>(from);
    GPU_UNROLL
    for (int j = 0; j < V; ++j)
        if (j < n) x.v[j] = reinterpret_cast<const U *>(from)[j];
    return x;
}
template <class U, int V>
GPU_FN void write_some(char *to, const pack<U, V> &x, int n, bool packs) {
    if (packs && n >= V) {
        *reinterpret_cast<pack<U, V> *>(to) = x;
        return;
    }
    GPU_UNROLL
    for (int j = 0; j < V; ++j)
        if (j < n) reinterpret_cast<U *>(to)[j] = x.v[j];
}

/* A block takes a tile of 16 V x 16 V elements, a thread V x V of them, V an access: it turns them in registers. The
 * tile holds whole accesses [p][q / V]; number i of row p lies at i ^ p / V, which keeps neighbouring threads on
 * different banks both ways. */
template <class U, int V>
struct transpose_tile {
    enum { SIDE = 16 * V };
    pack<U, V> *packs;
    GPU_MEMBER pack<U, V> &at(int p, int q) const { return packs[p * 16 + (q ^ p / V)]; }
};

/* x[k] are V elements of row k; y[k] those of column k. */
template <class U, int V>
GPU_FN void turn(const pack<U, V> (&x)[V], pack<U, V> (&y)[V]) {
    GPU_UNROLL
    for (int k = 0; k < V; ++k)
        GPU_UNROLL
        for (int j = 0; j < V; ++j) y[k].v[j] = x[j].v[k];
}

/* The tile begins at in and out, and has np x nq elements; WHOLE: all of them, in whole accesses. */
template <class U, int V, bool WHOLE>
GPU_FN void transpose_part(const gpu_transpose_args &a, const transpose_tile<U, V> &tile, const char *in, char *out,
                           int np, int nq) {
    const int row = (int)threadIdx.x / 16, column = (int)threadIdx.x % 16;
    pack<U, V> x[V] = {}, y[V];
    in += (int64_t)(row * V) * a.in_step + column * V * (int)sizeof(U);
    GPU_UNROLL
    for (int k = 0; k < V; ++k) {
        if (WHOLE)
            x[k] = *reinterpret_cast<const pack<U, V> *>(in + k * a.in_step);
        else if (row * V + k < nq)
            x[k] = read_some<U, V>(in + k * a.in_step, np - column * V, a.in_packs);
    }
    turn(x, y);
    GPU_UNROLL
    for (int k = 0; k < V; ++k) tile.at(column * V + k, row) = y[k];
    __syncthreads();
    out += (int64_t)row * a.out_step + column * V * (int)sizeof(U);
    GPU_UNROLL
    for (int k = 0; k < V; ++k) {
        const pack<U, V> z = tile.at(row + 16 * k, column);
        if (WHOLE)
            *reinterpret_cast<pack<U, V> *>(out + 16 * k * a.out_step) = z;
        else if (row + 16 * k < np)
            write_some<U, V>(out + 16 * k * a.out_step, z, nq - column * V, a.out_packs);
    }
}

template <class U, int V>
GPU_FN void transpose(const gpu_transpose_args &a) {
    enum { SIDE = 16 * V };
    __shared__ pack<U, V> packs[SIDE * 16];
    const transpose_tile<U, V> tile = {packs};
    uint32_t rest = divide(blockIdx.x, a.p_tiles), p0 = (blockIdx.x - rest * a.p_tiles.divisor) * SIDE;
    uint32_t batch = divide(rest, a.q_tiles), q0 = (rest - batch * a.q_tiles.divisor) * SIDE;
    int64_t at[2];
    offsets_at(a.walk, batch, at);
    const int np = (int)(a.p - p0), nq = (int)(a.q - q0); /* may exceed the tile */
    const char *in = static_cast<const char *>(a.in) + at[1] + (int64_t)q0 * a.in_step + (int64_t)p0 * sizeof(U);
    char *out = static_cast<char *>(a.out) + at[0] + (int64_t)p0 * a.out_step + (int64_t)q0 * sizeof(U);
    if (np >= SIDE && nq >= SIDE && a.in_packs && a.out_packs)
        transpose_part<U, V, true>(a, tile, in, out, np, nq);
    else
        transpose_part<U, V, false>(a, tile, in, out, np, nq);
}
GPU_KERNEL(copy_transpose1, THREADS, gpu_transpose_args) { transpose<uint8_t, 4>(a); }
GPU_KERNEL(copy_transpose2, THREADS, gpu_transpose_args) { transpose<uint16_t, 4>(a); }
GPU_KERNEL(copy_transpose4, THREADS, gpu_transpose_args) { transpose<uint32_t, 4>(a); }
GPU_KERNEL(copy_transpose8, THREADS, gpu_transpose_args) { transpose<uint64_t, 2>(a); }
GPU_KERNEL(copy_transpose16, THREADS, gpu_transpose_args) { transpose<bytes16, 1>(a); }

/* ---- casts ---- */
/* Numbers become small integers by way of larger ones, as on the host. */
template <class C>
GPU_FN void store_cast(void *p, int dtype, C c) {
    switch (dtype) {
    case WICK_U8: *static_cast<uint8_t *>(p) = (uint8_t)(int64_t)c; return;
    case WICK_I8: *static_cast<int8_t *>(p) = (int8_t)(int32_t)c; return;
    case WICK_I16: *static_cast<int16_t *>(p) = (int16_t)(int32_t)c; return;
    default: store_any(p, dtype, c);
    }
}
template <class C>
GPU_FN void copy_cast(const gpu_walk_args &a) {
    const uint64_t step = (uint64_t)gpu_threads();
    for (uint64_t i = (uint64_t)gpu_thread(); i < a.n; i += step) {
        int64_t at[2];
        offsets_at(a.walk, (uint32_t)i, at);
        C c = load_any<C>(static_cast<const char *>(a.data[1]) + at[1], a.dtypes[1]);
        store_cast(static_cast<char *>(a.data[0]) + at[0], a.dtypes[0], c);
    }
}
GPU_KERNEL(copy_cast_f32, THREADS, gpu_walk_args) { copy_cast<float>(a); }
GPU_KERNEL(copy_cast_f64, THREADS, gpu_walk_args) { copy_cast<double>(a); }
GPU_KERNEL(copy_cast_i64, THREADS, gpu_walk_args) { copy_cast<int64_t>(a); }

/* Eight elements at a time; the last ones are taken one by one. */
template <class D, class S>
GPU_FN void copy_dense(const gpu_dense_args &a) {
    const S *x = static_cast<const S *>(a.in[0]);
    D *y = static_cast<D *>(a.out);
    const int64_t whole = a.n / 8;
    for (int64_t p = gpu_thread(); p < whole; p += gpu_threads()) {
        pack<S, 8> u = reinterpret_cast<const pack<S, 8> *>(x)[p];
        pack<D, 8> w;
        GPU_UNROLL
        for (int j = 0; j < 8; ++j) w.v[j] = store_as<D>(load_as<float>(u.v[j]));
        reinterpret_cast<pack<D, 8> *>(y)[p] = w;
    }
    for (int64_t i = whole * 8 + gpu_thread(); i < a.n; i += gpu_threads()) y[i] = store_as<D>(load_as<float>(x[i]));
}
GPU_KERNEL(copy_f32_f16, THREADS, gpu_dense_args) { copy_dense<f16, float>(a); }
GPU_KERNEL(copy_f32_bf16, THREADS, gpu_dense_args) { copy_dense<bf16, float>(a); }
GPU_KERNEL(copy_f16_f32, THREADS, gpu_dense_args) { copy_dense<float, f16>(a); }
GPU_KERNEL(copy_bf16_f32, THREADS, gpu_dense_args) { copy_dense<float, bf16>(a); }
GPU_KERNEL(copy_f16_bf16, THREADS, gpu_dense_args) { copy_dense<bf16, f16>(a); }
GPU_KERNEL(copy_bf16_f16, THREADS, gpu_dense_args) { copy_dense<f16, bf16>(a); }

/* ---- fills ---- */
/* The target is aligned to 16 bytes. */
GPU_KERNEL(fill_dense, THREADS, gpu_fill_args) {
    bytes16 value;
    memcpy(&value, a.value, sizeof value);
    bytes16 *out = static_cast<bytes16 *>(a.out);
    const int64_t whole = a.n / 16;
    for (int64_t i = gpu_thread(); i < whole; i += gpu_threads()) out[i] = value;
    unsigned char *rest = static_cast<unsigned char *>(a.out) + whole * 16;
    if (gpu_thread() < a.n % 16) rest[gpu_thread()] = a.value[gpu_thread()];
}

template <class U>
GPU_FN void fill_units(const gpu_fill_args &a) {
    U value;
    memcpy(&value, a.value, sizeof value);
    for (int64_t i = gpu_thread(); i < a.n; i += gpu_threads()) {
        int64_t at[1];
        offsets_at(a.walk, (uint32_t)i, at);
        *reinterpret_cast<U *>(static_cast<char *>(a.out) + at[0]) = value;
    }
}
GPU_KERNEL(fill_bytes1, THREADS, gpu_fill_args) { fill_units<uint8_t>(a); }
GPU_KERNEL(fill_bytes2, THREADS, gpu_fill_args) { fill_units<uint16_t>(a); }
GPU_KERNEL(fill_bytes4, THREADS, gpu_fill_args) { fill_units<uint32_t>(a); }
GPU_KERNEL(fill_bytes8, THREADS, gpu_fill_args) { fill_units<uint64_t>(a); }
GPU_KERNEL(fill_bytes16, THREADS, gpu_fill_args) { fill_units<bytes16>(a); }
