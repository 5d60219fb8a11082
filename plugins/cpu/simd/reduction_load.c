/* Loaders and stores between element dtypes and accumulators. */
#include "convert.h"
#include "reduction.h"

#include <math.h>

const uint8_t acc_bytes[ACC_COUNT] = {4, 8, 8, 8, 16};

acc_kind acc_of(wick_dtype d) {
    switch (d) {
    case WICK_F64: return ACC_F64;
    case WICK_C64: return ACC_C64;
    case WICK_C128: return ACC_C128;
    default: return wick_dtype_is_floating(d) ? ACC_F32 : ACC_I64;
    }
}

bool acc_is_native(acc_kind a, wick_dtype d) {
    static const uint8_t native[ACC_COUNT] = {WICK_F32, WICK_F64, WICK_I64, WICK_C64, WICK_C128};
    return native[a] == d;
}

#define PLAIN(x) (x)
/* X(dtype, C type, to a real number, from a real number) */
#define REAL_DTYPES(X)                          \
    X(BOOL, uint8_t, PLAIN, (uint8_t)0 !=)      \
    X(U8, uint8_t, PLAIN, (uint8_t))            \
    X(I8, int8_t, PLAIN, (int8_t))              \
    X(I16, int16_t, PLAIN, (int16_t))           \
    X(I32, int32_t, PLAIN, (int32_t))           \
    X(I64, int64_t, PLAIN, (int64_t))           \
    X(U16, uint16_t, PLAIN, (uint16_t))         \
    X(U32, uint32_t, PLAIN, (uint32_t))         \
    X(U64, uint64_t, PLAIN, (uint64_t))         \
    X(F16, uint16_t, f32_of_f16, f16_of_f32)    \
    X(BF16, uint16_t, f32_of_bf16, bf16_of_f32) \
    X(F32, float, PLAIN, (float))               \
    X(F64, double, PLAIN, (double))

#define LOADER(name, T, ACC, VALUE)                                           \
    static void name(void *dst, const void *src, int64_t stride, int64_t n) { \
        ACC *restrict d = dst;                                                \
        const T *restrict s = src;                                            \
        if (stride == 1)                                                      \
            for (int64_t i = 0; i < n; ++i) d[i] = VALUE(s[i]);               \
        else                                                                  \
            for (int64_t i = 0; i < n; ++i) d[i] = VALUE(s[i * stride]);      \
    }
#define STORE(name, T, ACC, VALUE)                                            \
    static void name(void *dst, int64_t stride, const void *src, int64_t n) { \
        T *restrict d = dst;                                                  \
        const ACC *restrict s = src;                                          \
        if (stride == 1)                                                      \
            for (int64_t i = 0; i < n; ++i) d[i] = VALUE(s[i]);               \
        else                                                                  \
            for (int64_t i = 0; i < n; ++i) d[i * stride] = VALUE(s[i]);      \
    }

/* ---- real and truth loaders ---- */
#define LOAD_REAL(D, T, TO, FROM)       \
    LOADER(load_f32_##D, T, float, TO)  \
    LOADER(load_f64_##D, T, double, TO) \
    LOADER(load_i64_##D, T, int64_t, (int64_t)TO)
REAL_DTYPES(LOAD_REAL)

#define TRUE_REAL(x) ((x) != 0)
#define TRUE_HALF(x) (((x)&0x7fff) != 0)
#define TRUE_COMPLEX(x) ((x).re != 0 || (x).im != 0)
LOADER(truth_8, uint8_t, int64_t, TRUE_REAL)
LOADER(truth_16, uint16_t, int64_t, TRUE_REAL)
LOADER(truth_32, uint32_t, int64_t, TRUE_REAL)
LOADER(truth_64, uint64_t, int64_t, TRUE_REAL)
LOADER(truth_half, uint16_t, int64_t, TRUE_HALF)
LOADER(truth_f32, float, int64_t, TRUE_REAL)
LOADER(truth_f64, double, int64_t, TRUE_REAL)
LOADER(truth_c64, acc_c64, int64_t, TRUE_COMPLEX)
LOADER(truth_c128, acc_c128, int64_t, TRUE_COMPLEX)

/* ---- complex loaders ---- */
#define MODULUS_C64(x) hypotf((x).re, (x).im)
#define MODULUS_C128(x) hypot((x).re, (x).im)
LOADER(load_f32_C64, acc_c64, float, MODULUS_C64)
LOADER(load_f64_C64, acc_c64, double, MODULUS_C128)
LOADER(load_f64_C128, acc_c128, double, MODULUS_C128)
LOADER(load_c64_C64, acc_c64, acc_c64, PLAIN)
LOADER(load_c128_C128, acc_c128, acc_c128, PLAIN)
#define WIDEN(x) ((acc_c128){(x).re, (x).im})
LOADER(load_c128_C64, acc_c64, acc_c128, WIDEN)
#define LOAD_COMPLEX(D, T, TO, FROM)                                              \
    static inline acc_c64 c64_##D(T x) { return (acc_c64){(float)TO(x), 0}; }     \
    static inline acc_c128 c128_##D(T x) { return (acc_c128){(double)TO(x), 0}; } \
    LOADER(load_c64_##D, T, acc_c64, c64_##D)                                     \
    LOADER(load_c128_##D, T, acc_c128, c128_##D)
REAL_DTYPES(LOAD_COMPLEX)

acc_load_fn acc_loader(acc_kind a, wick_dtype d) {
#define F32_ENTRY(D, T, TO, FROM) [WICK_##D] = load_f32_##D,
#define F64_ENTRY(D, T, TO, FROM) [WICK_##D] = load_f64_##D,
#define I64_ENTRY(D, T, TO, FROM) [WICK_##D] = load_i64_##D,
#define C64_ENTRY(D, T, TO, FROM) [WICK_##D] = load_c64_##D,
#define C128_ENTRY(D, T, TO, FROM) [WICK_##D] = load_c128_##D,
    static const acc_load_fn table[ACC_COUNT][WICK_DTYPE_COUNT] = {
        [ACC_F32] = {REAL_DTYPES(F32_ENTRY)[WICK_C64] = load_f32_C64},
        [ACC_F64] = {REAL_DTYPES(F64_ENTRY)[WICK_C64] = load_f64_C64, [WICK_C128] = load_f64_C128},
        [ACC_I64] = {REAL_DTYPES(I64_ENTRY)},
        [ACC_C64] = {REAL_DTYPES(C64_ENTRY)[WICK_C64] = load_c64_C64},
        [ACC_C128] = {REAL_DTYPES(C128_ENTRY)[WICK_C64] = load_c128_C64, [WICK_C128] = load_c128_C128},
    };
    return table[a][d];
}

acc_load_fn acc_truth_loader(wick_dtype d) {
    static const acc_load_fn table[WICK_DTYPE_COUNT] = {
        [WICK_BOOL] = truth_8,  [WICK_U8] = truth_8,     [WICK_I8] = truth_8,      [WICK_I16] = truth_16,
        [WICK_I32] = truth_32,  [WICK_I64] = truth_64,   [WICK_U16] = truth_16,    [WICK_U32] = truth_32,
        [WICK_U64] = truth_64,  [WICK_F16] = truth_half, [WICK_BF16] = truth_half, [WICK_F32] = truth_f32,
        [WICK_F64] = truth_f64, [WICK_C64] = truth_c64,  [WICK_C128] = truth_c128,
    };
    return table[d];
}

/* ---- stores ---- */
#define STORE_REAL(D, T, TO, FROM)        \
    STORE(store_f32_##D, T, float, FROM)  \
    STORE(store_f64_##D, T, double, FROM) \
    STORE(store_i64_##D, T, int64_t, FROM)
REAL_DTYPES(STORE_REAL)
STORE(store_c64_C64, acc_c64, acc_c64, PLAIN)
STORE(store_c128_C128, acc_c128, acc_c128, PLAIN)
#define NARROW(x) ((acc_c64){(float)(x).re, (float)(x).im})
STORE(store_c128_C64, acc_c64, acc_c128, NARROW)

acc_store_fn acc_store(acc_kind a, wick_dtype d) {
#define F32_STORE(D, T, TO, FROM) [WICK_##D] = store_f32_##D,
#define F64_STORE(D, T, TO, FROM) [WICK_##D] = store_f64_##D,
#define I64_STORE(D, T, TO, FROM) [WICK_##D] = store_i64_##D,
    static const acc_store_fn table[ACC_COUNT][WICK_DTYPE_COUNT] = {
        [ACC_F32] = {REAL_DTYPES(F32_STORE)},
        [ACC_F64] = {REAL_DTYPES(F64_STORE)},
        [ACC_I64] = {REAL_DTYPES(I64_STORE)},
        [ACC_C64] = {[WICK_C64] = store_c64_C64},
        [ACC_C128] = {[WICK_C64] = store_c128_C64, [WICK_C128] = store_c128_C128},
    };
    return table[a][d];
}
