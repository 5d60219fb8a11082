/* Reading and writing by index, and the places of what is true. An index that is out of range touches nothing: readers
 * give NaN (integers -1, bool false), writers leave it out. */
#include "args_index.h"
#include "prefix.h"

#define THREADS 256

GPU_FN int64_t load_index(const void *p, int dtype) {
    return dtype == WICK_I64 ? *static_cast<const int64_t *>(p) : load_any<int64_t>(p, dtype);
}

struct alignas(16) unit16 {
    uint64_t low, high;
};

/* The byte offset that an index means; false: out of range. */
GPU_FN bool index_offset(const gpu_index_args &a, int64_t place, int64_t *out) {
    int64_t i = load_index(static_cast<const char *>(a.index) + place, a.index_dtype);
    if (a.wrap && i < 0) i += a.size;
    *out = i * a.stride;
    return (uint64_t)i < (uint64_t)a.size;
}

template <class U> GPU_FN void index_read(const gpu_index_args &a) {
    U bad;
    memcpy(&bad, a.item, sizeof bad);
    for (uint64_t i = (uint64_t)gpu_thread(); i < a.n; i += (uint64_t)gpu_threads()) {
        int64_t at[3], offset;
        offsets_at(a.walk, (uint32_t)i, at);
        const bool good = index_offset(a, at[2], &offset);
        U x = bad;
        if (good) x = *reinterpret_cast<const U *>(static_cast<const char *>(a.base) + at[1] + offset);
        *reinterpret_cast<U *>(static_cast<char *>(a.dense) + at[0]) = x;
    }
}

template <class U> GPU_FN void index_write(const gpu_index_args &a) {
    U item;
    memcpy(&item, a.item, sizeof item);
    for (uint64_t i = (uint64_t)gpu_thread(); i < a.n; i += (uint64_t)gpu_threads()) {
        int64_t at[3], offset;
        offsets_at(a.walk, (uint32_t)i, at);
        if (!index_offset(a, at[2], &offset)) continue;
        U x = item;
        if (a.dense) x = *reinterpret_cast<const U *>(static_cast<const char *>(a.dense) + at[0]);
        *reinterpret_cast<U *>(static_cast<char *>(a.base) + at[1] + offset) = x;
    }
}

#define INDEX(bytes, U)                                                           \
    GPU_KERNEL(index_read_##bytes, THREADS, gpu_index_args) { index_read<U>(a); } \
    GPU_KERNEL(index_write_##bytes, THREADS, gpu_index_args) { index_write<U>(a); }
INDEX(1, uint8_t)
INDEX(2, uint16_t)
INDEX(4, uint32_t)
INDEX(8, uint64_t)
INDEX(16, unit16)

/* Several index tensors become one of offsets, launch by launch. */
GPU_KERNEL(index_offsets, THREADS, gpu_offsets_args) {
    for (uint64_t i = (uint64_t)gpu_thread(); i < a.n; i += (uint64_t)gpu_threads()) {
        int64_t at[1];
        offsets_at(a.walk, (uint32_t)i, at);
        int64_t x = load_index(static_cast<const char *>(a.index) + at[0], a.index_dtype);
        int64_t sum = a.first ? 0 : a.offsets[i];
        if (x < 0) x += a.size;
        const bool good = (uint64_t)x < (uint64_t)a.size && sum != INT64_MIN;
        a.offsets[i] = good ? sum + x * a.stride : INT64_MIN;
    }
}

/* ---- places of what is true ---- */
GPU_FN bool is_true(const gpu_select_args &a, uint32_t i) {
    if (i >= a.n) return false;
    const char *p = static_cast<const char *>(a.mask) + (int64_t)i * a.bytes;
    return a.dtype == WICK_F64   ? *reinterpret_cast<const double *>(p) != 0
           : a.dtype >= WICK_F16 ? load_any<float>(p, a.dtype) != 0
                                 : load_any<int64_t>(p, a.dtype) != 0;
}

enum { SELECT_ITEMS = GPU_SELECT_TILE / THREADS, WAVES = THREADS / 32 };

GPU_FN uint32_t select_first() { return blockIdx.x * GPU_SELECT_TILE + threadIdx.x * SELECT_ITEMS; }
GPU_FN uint32_t count_true(const gpu_select_args &a) {
    uint32_t count = 0;
    for (uint32_t j = 0; j < SELECT_ITEMS; ++j) count += is_true(a, select_first() + j);
    return count;
}

GPU_KERNEL(select_count, THREADS, gpu_select_args) {
    __shared__ uint32_t shared[WAVES];
    uint32_t total;
    block_before(count_true(a), shared, &total);
    if (!threadIdx.x) a.counts[blockIdx.x] = total;
}

/* One block. */
GPU_KERNEL(select_scan, THREADS, gpu_select_args) {
    __shared__ uint32_t shared[WAVES];
    uint32_t carry = 0, total;
    for (uint32_t first = 0; first < a.tiles; first += THREADS) {
        const uint32_t i = first + threadIdx.x, count = i < a.tiles ? a.counts[i] : 0;
        const uint32_t begin = carry + block_before(count, shared, &total);
        if (i < a.tiles) a.counts[i] = begin;
        carry += total;
    }
    if (!threadIdx.x) a.counts[a.tiles] = carry;
}

GPU_FN void write_place(const gpu_select_args &a, uint32_t row, uint32_t i) {
    for (int d = 0; d < a.ndim; ++d) {
        const uint32_t rest = divide(i, a.sizes[d]);
        a.out[(int64_t)row * a.ndim + a.ndim - 1 - d] = i - rest * a.sizes[d].divisor;
        i = rest;
    }
}

GPU_KERNEL(select_places, THREADS, gpu_select_args) {
    __shared__ uint32_t shared[WAVES];
    uint32_t total, row = a.counts[blockIdx.x] + block_before(count_true(a), shared, &total);
    for (uint32_t j = 0; j < SELECT_ITEMS; ++j)
        if (is_true(a, select_first() + j)) {
            if (row < a.most) write_place(a, row, select_first() + j);
            ++row;
        }
}
