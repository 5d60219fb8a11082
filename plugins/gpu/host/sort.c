/* Sorting: pairs of keys and positions, and the rows that sort along a dimension. */
#include "sort.h"

#include "../device/args_sort.h"
#include "element.h"

#include <wick/sdk/shape.h>

#define THREADS GPU_RADIX_THREADS
#define DIGIT_BITS 4
#define FLAGS (WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_CAPTURE_SAFE)

static uint32_t tiles_of(uint32_t n) { return (uint32_t)(((int64_t)n + GPU_RADIX_TILE - 1) / GPU_RADIX_TILE); }
uint32_t gpu_sort_counts(uint32_t n) { return GPU_RADIX * tiles_of(n); }

static gpu_radix_args radix_args_of(const gpu_pairs *p) {
    return (gpu_radix_args){.keys = p->keys,
                            .values = p->numbered ? NULL : p->values,
                            .keys_out = p->spare_keys,
                            .values_out = p->spare_values,
                            .counts = p->counts,
                            .n = p->n,
                            .tiles = tiles_of(p->n)};
}

static void change_places(gpu_pairs *p) {
    void *keys = p->keys;
    uint32_t *values = p->values;
    p->keys = p->spare_keys, p->spare_keys = keys;
    p->values = p->spare_values, p->spare_values = values;
    p->numbered = false;
}

static wick_status *sort_digit(const wick_kernel_call *call, gpu_pairs *p, int shift) {
    const bool wide = p->key_bytes == 8;
    gpu_radix_args a = radix_args_of(p);
    a.shift = shift;
    WICK_TRY(gpu_launch(call, wide ? GPU_radix_count_u64 : GPU_radix_count_u32, a.tiles, THREADS, 0, &a));
    WICK_TRY(gpu_launch(call, GPU_radix_scan, 1, THREADS, 0, &a));
    WICK_TRY(gpu_launch(call, wide ? GPU_radix_move_u64 : GPU_radix_move_u32, a.tiles, THREADS, 0, &a));
    change_places(p);
    return NULL;
}

/* One digit at least: values that are not there yet have to be numbered. */
wick_status *gpu_sort_pairs(const wick_kernel_call *call, gpu_pairs *p, int bits) {
    if (p->n <= GPU_RADIX_TILE) {
        gpu_radix_args a = radix_args_of(p);
        a.bits = bits;
        WICK_TRY(gpu_launch(call, p->key_bytes == 8 ? GPU_radix_tile_u64 : GPU_radix_tile_u32, 1, THREADS, 0, &a));
        change_places(p);
        return NULL;
    }
    int shift = 0;
    do {
        WICK_TRY(sort_digit(call, p, shift));
        shift += DIGIT_BITS;
    } while (shift < bits);
    return NULL;
}

/* ---- along a dimension ---- */
static int bits_of(uint64_t most) {
    int bits = 0;
    while (bits < 64 && most >> bits) ++bits;
    return bits;
}

static int key_bits(wick_dtype d) { return d == WICK_F16 || d == WICK_BF16 ? 32 : 8 * (int)wick_dtype_bytes(d); }

static wick_status *order_of(const wick_kernel_call *call, const wick_tensor *x, int64_t dim, gpu_order_args *a) {
    const wick_fold fold = wick_fold_at(x, wick_wrap_dim(dim, x->ndim));
    if (!gpu_has_dtype((wick_dtype)x->dtype)) return gpu_refuse(call, (wick_dtype)x->dtype);
    if (x->numel > INT32_MAX)
        return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "%s: at most %d elements on device %s, got %lld",
                               call->host->op_name(call->op), INT32_MAX, gpu_of(call)->device_name,
                               (long long)x->numel);
    a->in = gpu_data(x);
    a->dtype = x->dtype, a->bytes = (int32_t)wick_dtype_bytes((wick_dtype)x->dtype);
    a->bits = key_bits((wick_dtype)x->dtype);
    a->rows = (uint32_t)(fold.outer * fold.inner), a->n = (uint32_t)fold.n, a->inner = fold.inner;
    return NULL;
}

static unsigned blocks_for(const wick_kernel_call *call, int64_t n) {
    return gpu_blocks(gpu_device_of(call), n, THREADS, 2, 32);
}

/* Sorts positions row * n + i by element, then, where a key has no room for it, by row. */
static wick_status *sort_rows(const wick_kernel_call *call, gpu_order_args *a) {
    const uint32_t count = a->rows * a->n, counts = gpu_sort_counts(count);
    const int row_bits = bits_of(a->rows - 1);
    char *memory;
    WICK_TRY(gpu_scratch(call, (int64_t)count * 24 + counts * 4, (void **)&memory));
    gpu_pairs p = {
        .keys = memory, .spare_keys = memory + (size_t)count * 8, .n = count, .key_bytes = 8, .numbered = true};
    p.values = (uint32_t *)(void *)(memory + (size_t)count * 16), p.spare_values = p.values + count;
    p.counts = p.spare_values + count;
    a->by_rows = a->bits + row_bits > 64;
    a->keys = p.keys;
    WICK_TRY(gpu_launch(call, GPU_order_keys, blocks_for(call, count), THREADS, 0, a));
    WICK_TRY(gpu_sort_pairs(call, &p, a->by_rows ? a->bits : a->bits + row_bits));
    if (a->by_rows) {
        a->order = p.values, a->keys = p.keys;
        WICK_TRY(gpu_launch(call, GPU_order_rows, blocks_for(call, count), THREADS, 0, a));
        p.key_bytes = 4;
        WICK_TRY(gpu_sort_pairs(call, &p, row_bits));
    }
    a->order = p.values;
    return NULL;
}

/* Sorts and takes the first `taken` of every row. */
static wick_status *sort_and_take(const wick_kernel_call *call, int64_t dim, bool descending, int64_t taken) {
    const wick_tensor *values = wick_out_tensor(call, 0), *places = wick_out_tensor(call, 1);
    gpu_order_args a = {.descending = descending};
    WICK_TRY(order_of(call, wick_arg_tensor(call, 0), dim, &a));
    if (!values->numel) return NULL;
    a.taken = taken < 0 ? a.n : (uint32_t)taken;
    a.values = gpu_data(values), a.places = gpu_data(places);
    WICK_TRY(sort_rows(call, &a));
    return gpu_launch(call, GPU_order_take, blocks_for(call, values->numel), THREADS, 0, &a);
}

/* (self, stable, dim, descending) */
static wick_status *sort(const wick_kernel_call *call) {
    return sort_and_take(call, call->values[2].as.i, call->values[3].as.i != 0, -1);
}

/* (self, k, dim, largest, sorted) */
static wick_status *topk(const wick_kernel_call *call) {
    const wick_tensor *x = wick_arg_tensor(call, 0);
    return sort_and_take(call, call->values[2].as.i, call->values[3].as.i != 0, x->ndim ? call->values[1].as.i : 1);
}

static const wick_kernel_row rows[] = {
    WICK_KERNEL_ROW("sort.stable", sort, 0, FLAGS),
    WICK_KERNEL_ROW("topk", topk, 0, FLAGS),
};
const gpu_table gpu_sort_table = GPU_TABLE(rows);
