/* Keys and the radix sort behind unique, isin and searchsorted. */
#include "select_key.h"
#include "../simd/convert.h"

/* ---- keys ---- */
static uint64_t key_of_int(int64_t x) { return (uint64_t)x ^ UINT64_C(1) << 63; }

/* Positive floats order as their bits do; negative ones the other way round. */
static uint64_t key_of_real(double x) {
    uint64_t bits;
    if (x != x) return CPU_KEY_NAN;
    x += 0.0; /* -0 becomes 0 */
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

/* X(DTYPE, stored type, load, key) */
#define KEY_TYPES(X)                                   \
    X(BOOL, uint8_t, (uint64_t), (uint64_t))           \
    X(U8, uint8_t, (uint64_t), (uint64_t))             \
    X(U16, uint16_t, (uint64_t), (uint64_t))           \
    X(U32, uint32_t, (uint64_t), (uint64_t))           \
    X(U64, uint64_t, (uint64_t), (uint64_t))           \
    X(I8, int8_t, (int64_t), key_of_int)               \
    X(I16, int16_t, (int64_t), key_of_int)             \
    X(I32, int32_t, (int64_t), key_of_int)             \
    X(I64, int64_t, (int64_t), key_of_int)             \
    X(F8E4M3FN, uint8_t, f32_of_f8e4m3fn, key_of_real) \
    X(F8E5M2, uint8_t, f32_of_f8e5m2, key_of_real)     \
    X(F16, uint16_t, f32_of_f16, key_of_real)          \
    X(BF16, uint16_t, f32_of_bf16, key_of_real)        \
    X(F32, float, (double), key_of_real)               \
    X(F64, double, (double), key_of_real)

#define KEYS(DTYPE, type, load, key)                                                                        \
    static void keys_##DTYPE(void *user, char *const *data, const int64_t *strides, int64_t n) {            \
        for (int64_t i = 0; i < n; ++i)                                                                     \
            *(uint64_t *)(data[0] + i * strides[0]) = key(load(*(const type *)(data[1] + i * strides[1]))); \
    }
KEY_TYPES(KEYS)
#define KEYS_ENTRY(DTYPE, ...) [WICK_##DTYPE] = keys_##DTYPE,
static const cpu_walk_fn keys[WICK_DTYPE_COUNT] = {KEY_TYPES(KEYS_ENTRY)};

wick_status *cpu_keys_of(const wick_kernel_call *k, const cpu_view *view, uint64_t **out) {
    if (!keys[view->dtype]) return WICK_HOST_ERROR(k->host, WICK_UNSUPPORTED, "complex numbers have no order");
    WICK_TRY(cpu_scratch(k, cpu_view_numel(view), sizeof **out, out));
    cpu_view to;
    cpu_walk walk;
    cpu_view_dense(*out, WICK_U64, view->ndim, view->sizes, &to);
    cpu_walk_of((const cpu_view *const[]){&to, view}, 2, &walk);
    cpu_walk_run(cpu_of(k), &walk, keys[view->dtype], NULL);
    return NULL;
}

/* ---- radix sort, a byte a pass; a byte that all keys share costs no pass ---- */
wick_status *cpu_key_sorter_init(const wick_kernel_call *k, int64_t n, cpu_key_sorter *out) {
    WICK_TRY(cpu_scratch(k, n, sizeof(uint64_t), &out->keys));
    WICK_TRY(cpu_scratch(k, n, sizeof(uint64_t), &out->spare_keys));
    WICK_TRY(cpu_scratch(k, n, sizeof(int64_t), &out->order));
    return cpu_scratch(k, n, sizeof(int64_t), &out->spare_order);
}

static void radix_pass(cpu_key_sorter *s, int64_t n, int shift, int64_t counts[256]) {
    int64_t start = 0;
    for (int digit = 0; digit < 256; ++digit) {
        int64_t count = counts[digit];
        counts[digit] = start;
        start += count;
    }
    for (int64_t i = 0; i < n; ++i) {
        int64_t to = counts[s->keys[i] >> shift & 0xff]++;
        s->spare_keys[to] = s->keys[i];
        s->spare_order[to] = s->order[i];
    }
    cpu_key_sorter turned = {s->spare_keys, s->keys, s->spare_order, s->order};
    *s = turned;
}

void cpu_key_sort(cpu_key_sorter *s, int64_t n) {
    int64_t counts[8][256] = {{0}};
    for (int64_t i = 0; i < n; ++i)
        for (int byte = 0; byte < 8; ++byte) ++counts[byte][s->keys[i] >> 8 * byte & 0xff];
    for (int byte = 0; n > 0 && byte < 8; ++byte)
        if (counts[byte][s->keys[0] >> 8 * byte & 0xff] != n) radix_pass(s, n, 8 * byte, counts[byte]);
}
