/* Stable radix sort of pairs, four bits a pass (Satish, Harris and Garland 2009): tiles count their digits, the counts are
 * added up, and tiles move their pairs. And what makes keys of elements, and elements of what was sorted. */
#include "args_sort.h"
#include "prefix.h"

#define THREADS GPU_RADIX_THREADS
enum { ITEMS = GPU_RADIX_ITEMS, TILE = GPU_RADIX_TILE, RADIX = GPU_RADIX, WAVES = THREADS / 32 };

template <class K> GPU_FN int digit_of(const gpu_radix_args &a, K key) { return (int)(key >> a.shift) & (RADIX - 1); }

/* counts[digit][thread]: a thread's own ITEMS elements, which stand side by side. */
template <class K> GPU_FN void count_own(const gpu_radix_args &a, uint16_t *counts, K (&keys)[ITEMS]) {
    const int64_t first = (int64_t)blockIdx.x * TILE + (int64_t)threadIdx.x * ITEMS;
    GPU_UNROLL
    for (int d = 0; d < RADIX; ++d) counts[d * THREADS + threadIdx.x] = 0;
    GPU_UNROLL
    for (int j = 0; j < ITEMS; ++j) {
        keys[j] = first + j < a.n ? static_cast<const K *>(a.keys)[first + j] : 0;
        if (first + j < a.n) ++counts[digit_of(a, keys[j]) * THREADS + threadIdx.x];
    }
}

/* Sixteen threads a digit. */
template <class K> GPU_FN void radix_count(const gpu_radix_args &a) {
    __shared__ uint16_t counts[RADIX * THREADS];
    K keys[ITEMS];
    count_own(a, counts, keys);
    __syncthreads();
    const int digit = (int)threadIdx.x / 16, part = (int)threadIdx.x % 16;
    int sum = 0;
    for (int i = 0; i < THREADS / 16; ++i) sum += counts[digit * THREADS + part + i * 16];
    for (int mask = 8; mask > 0; mask /= 2) sum += GPU_SHUFFLE_XOR(sum, mask);
    if (!part) a.counts[(uint32_t)digit * a.tiles + blockIdx.x] = (uint32_t)sum;
}
GPU_KERNEL(radix_count_u32, THREADS, gpu_radix_args) { radix_count<uint32_t>(a); }
GPU_KERNEL(radix_count_u64, THREADS, gpu_radix_args) { radix_count<uint64_t>(a); }

/* One block: counts become where each digit of each tile begins. */
GPU_KERNEL(radix_scan, THREADS, gpu_radix_args) {
    __shared__ uint32_t shared[WAVES];
    const uint32_t n = RADIX * a.tiles;
    uint32_t carry = 0, total;
    for (uint32_t first = 0; first < n; first += TILE) {
        uint32_t at = first + threadIdx.x * ITEMS, own[ITEMS], sum = 0;
        GPU_UNROLL
        for (int j = 0; j < ITEMS; ++j) {
            own[j] = sum;
            if (at + (uint32_t)j < n) sum += a.counts[at + (uint32_t)j];
        }
        uint32_t before = carry + block_before(sum, shared, &total);
        GPU_UNROLL
        for (int j = 0; j < ITEMS; ++j)
            if (at + (uint32_t)j < n) a.counts[at + (uint32_t)j] = before + own[j];
        carry += total;
    }
}

/* counts[digit][thread] become the number of pairs of the tile with this digit in the threads before. */
GPU_FN void scan_own(uint16_t *counts, uint32_t *shared) {
    uint32_t sum = 0, total;
    uint16_t *own = counts + threadIdx.x * RADIX; /* a sixteenth of a digit's threads */
    for (int i = 0; i < RADIX; ++i) {
        uint16_t count = own[i];
        own[i] = (uint16_t)sum;
        sum += count;
    }
    uint32_t before = block_before(sum, shared, &total);
    for (int i = 0; i < RADIX; ++i) own[i] = (uint16_t)(own[i] + before);
    __syncthreads();
}

template <class K> GPU_FN void radix_move(const gpu_radix_args &a) {
    __shared__ uint16_t counts[RADIX * THREADS];
    __shared__ uint32_t shared[WAVES], begins[RADIX];
    const int64_t first = (int64_t)blockIdx.x * TILE + (int64_t)threadIdx.x * ITEMS;
    K keys[ITEMS];
    count_own(a, counts, keys);
    __syncthreads();
    scan_own(counts, shared);
    if (threadIdx.x < RADIX)
        begins[threadIdx.x] = a.counts[threadIdx.x * a.tiles + blockIdx.x] - counts[threadIdx.x * THREADS];
    __syncthreads();
    for (int j = 0; j < ITEMS; ++j) {
        if (first + j >= a.n) break;
        const int digit = digit_of(a, keys[j]);
        const uint32_t to = begins[digit] + counts[digit * THREADS + threadIdx.x]++;
        static_cast<K *>(a.keys_out)[to] = keys[j];
        a.values_out[to] = a.values ? a.values[first + j] : (uint32_t)(first + j);
    }
}
GPU_KERNEL(radix_move_u32, THREADS, gpu_radix_args) { radix_move<uint32_t>(a); }
GPU_KERNEL(radix_move_u64, THREADS, gpu_radix_args) { radix_move<uint64_t>(a); }

/* One block: all digits of a tile. Thread t holds pairs ITEMS * t on; they change places through shared memory. */
template <class K> GPU_FN void radix_tile(const gpu_radix_args &a) {
    __shared__ uint16_t counts[RADIX * THREADS];
    __shared__ uint32_t shared[WAVES], values[TILE];
    __shared__ K keys[TILE];
    const int first = (int)threadIdx.x * ITEMS, n = (int)a.n;
    gpu_radix_args digit = a;
    for (int j = first; j < first + ITEMS && j < n; ++j) {
        keys[j] = static_cast<const K *>(a.keys)[j];
        values[j] = a.values ? a.values[j] : (uint32_t)j;
    }
    for (digit.shift = 0; digit.shift < a.bits; digit.shift += 4) {
        K own[ITEMS];
        uint32_t own_values[ITEMS];
        for (int d = 0; d < RADIX; ++d) counts[d * THREADS + (int)threadIdx.x] = 0;
        GPU_UNROLL
        for (int j = 0; j < ITEMS; ++j)
            if (first + j < n) {
                own[j] = keys[first + j], own_values[j] = values[first + j];
                ++counts[digit_of(digit, own[j]) * THREADS + (int)threadIdx.x];
            }
        __syncthreads();
        scan_own(counts, shared);
        GPU_UNROLL
        for (int j = 0; j < ITEMS; ++j)
            if (first + j < n) {
                const int to = counts[digit_of(digit, own[j]) * THREADS + (int)threadIdx.x]++;
                keys[to] = own[j], values[to] = own_values[j];
            }
        __syncthreads();
    }
    for (int j = first; j < first + ITEMS && j < n; ++j) {
        static_cast<K *>(a.keys_out)[j] = keys[j];
        a.values_out[j] = values[j];
    }
}
GPU_KERNEL(radix_tile_u32, THREADS, gpu_radix_args) { radix_tile<uint32_t>(a); }
GPU_KERNEL(radix_tile_u64, THREADS, gpu_radix_args) { radix_tile<uint64_t>(a); }

/* ---- sorting elements ---- */
/* Unsigned numbers in the order of the elements: zeros are equal, NaNs are equal and the greatest. */
GPU_FN uint64_t real_key(double x) {
    uint64_t bits;
    if (x != x) return ~UINT64_C(0);
    x += 0.0;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}
GPU_FN uint32_t real_key(float x) {
    if (x != x) return ~UINT32_C(0);
    uint32_t bits = float_to_bits(x + 0.0f);
    return bits >> 31 ? ~bits : bits | UINT32_C(1) << 31;
}

GPU_FN uint64_t element_key(const gpu_order_args &a, const void *p) {
    const uint64_t mask = a.bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << a.bits) - 1;
    uint64_t key;
    switch (a.dtype) {
    case WICK_F64: key = real_key(*static_cast<const double *>(p)); break;
    case WICK_F32:
    case WICK_F16:
    case WICK_BF16: key = real_key(load_any<float>(p, a.dtype)); break;
    case WICK_U8:
    case WICK_BOOL: key = *static_cast<const uint8_t *>(p); break;
    default: key = (uint64_t)load_any<int64_t>(p, a.dtype) + (UINT64_C(1) << (a.bits - 1));
    }
    return (a.descending ? ~key : key) & mask;
}

/* Element i of row `row`, in elements. */
GPU_FN int64_t order_at(const gpu_order_args &a, uint32_t row, uint32_t i, uint32_t n) {
    const int64_t outer = row / a.inner;
    return (outer * n + i) * a.inner + row - outer * a.inner;
}

/* Rows go above the keys where both fit into 64 bits. */
GPU_KERNEL(order_keys, THREADS, gpu_order_args) {
    for (int64_t p = gpu_thread(); p < (int64_t)a.rows * a.n; p += gpu_threads()) {
        const uint32_t row = (uint32_t)p / a.n, i = (uint32_t)p - row * a.n;
        uint64_t key = element_key(a, static_cast<const char *>(a.in) + order_at(a, row, i, a.n) * a.bytes);
        if (!a.by_rows && a.bits < 64) key |= (uint64_t)row << a.bits;
        static_cast<uint64_t *>(a.keys)[p] = key;
    }
}

GPU_KERNEL(order_rows, THREADS, gpu_order_args) {
    for (int64_t p = gpu_thread(); p < (int64_t)a.rows * a.n; p += gpu_threads())
        static_cast<uint32_t *>(a.keys)[p] = a.order[p] / a.n;
}

GPU_FN void copy_element(char *to, const char *from, int bytes) {
    switch (bytes) {
    case 1: *to = *from; return;
    case 2: *reinterpret_cast<uint16_t *>(to) = *reinterpret_cast<const uint16_t *>(from); return;
    case 4: *reinterpret_cast<uint32_t *>(to) = *reinterpret_cast<const uint32_t *>(from); return;
    default: *reinterpret_cast<uint64_t *>(to) = *reinterpret_cast<const uint64_t *>(from);
    }
}

/* The first `taken` elements of every row, and where they were. */
GPU_KERNEL(order_take, THREADS, gpu_order_args) {
    for (int64_t p = gpu_thread(); p < (int64_t)a.rows * a.taken; p += gpu_threads()) {
        const uint32_t row = (uint32_t)p / a.taken, j = (uint32_t)p - row * a.taken;
        const uint32_t i = a.order[(int64_t)row * a.n + j] - row * a.n;
        const int64_t to = order_at(a, row, j, a.taken), from = order_at(a, row, i, a.n);
        copy_element(static_cast<char *>(a.values) + to * a.bytes, static_cast<const char *>(a.in) + from * a.bytes,
                     a.bytes);
        if (a.places) a.places[to] = i;
    }
}
