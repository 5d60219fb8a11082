/* Loaders and stores between element dtypes and accumulators: loops for the pairs that are common, the conversions of
 * convert.h, a block at a time, for the rest. */
#include "convert.h"
#include "reduction.h"

#include <math.h>
#include <wick/sdk/iter.h>

enum { BLOCK = 256 };

const uint8_t acc_bytes[ACC_COUNT] = {4, 8, 8, 8, 16};
static const uint8_t acc_dtypes[ACC_COUNT] = {WICK_F32, WICK_F64, WICK_I64, WICK_C64, WICK_C128};

acc_kind acc_of(wick_dtype d) {
    switch (d) {
    case WICK_F64: return ACC_F64;
    case WICK_C64: return ACC_C64;
    case WICK_C128: return ACC_C128;
    default: return wick_dtype_is_floating(d) ? ACC_F32 : ACC_I64;
    }
}

bool acc_is_native(acc_kind a, wick_dtype d) { return acc_dtypes[a] == d; }

/* ---- loops ---- */
#define PLAIN(x) (x)
#define MODULUS_C64(x) hypotf((x).re, (x).im)
#define MODULUS_C128(x) hypot((x).re, (x).im)

#define LOADER(name, T, ACC, VALUE)                                           \
    static void name(void *dst, const void *src, int64_t stride, int64_t n) { \
        ACC *restrict d = dst;                                                \
        const T *restrict s = src;                                            \
        if (stride == 1)                                                      \
            for (int64_t i = 0; i < n; ++i) d[i] = VALUE(s[i]);               \
        else                                                                  \
            for (int64_t i = 0; i < n; ++i) d[i] = VALUE(s[i * stride]);      \
    }
#define STORE(name, T, ACC)                                                   \
    static void name(void *dst, int64_t stride, const void *src, int64_t n) { \
        T *restrict d = dst;                                                  \
        const ACC *restrict s = src;                                          \
        if (stride == 1)                                                      \
            for (int64_t i = 0; i < n; ++i) d[i] = (T)s[i];                   \
        else                                                                  \
            for (int64_t i = 0; i < n; ++i) d[i * stride] = (T)s[i];          \
    }
LOADER(load_f32_F32, float, float, PLAIN)
LOADER(load_f64_F32, float, double, PLAIN)
LOADER(load_f64_F64, double, double, PLAIN)
LOADER(load_i64_I64, int64_t, int64_t, PLAIN)
LOADER(load_f32_C64, acc_c64, float, MODULUS_C64)
LOADER(load_f64_C64, acc_c64, double, MODULUS_C128)
LOADER(load_f64_C128, acc_c128, double, MODULUS_C128)
STORE(store_f32_F32, float, float)
STORE(store_f64_F32, float, double)
STORE(store_f64_F64, double, double)
STORE(store_i64_I64, int64_t, int64_t)

/* ---- conversions ---- */
static __attribute__((noinline)) void load_any(void *dst, const void *src, int64_t stride, int64_t n, wick_dtype from,
                                               wick_dtype to) {
    _Alignas(64) double complex packed[BLOCK], wide[BLOCK];
    const int32_t bytes = (int32_t)wick_dtype_bytes(from), to_bytes = (int32_t)wick_dtype_bytes(to);
    const cpu_class c = class_of_dtype(from);
    const cpu_convert_fn widen = CPU_NAME(widen)[from],
                         narrow = widen && dtype_of_class(c) == to ? NULL : CPU_NAME(narrow)[c][to];
    for (int64_t i = 0, m; i < n; i += m) {
        const void *x = (const char *)src + i * stride * bytes;
        char *y = (char *)dst + i * to_bytes;
        m = reduce_min(BLOCK, n - i);
        if (stride != 1) wick_copy_row((char *)packed, bytes, x, stride * bytes, m, bytes), x = packed;
        if (widen) widen(narrow ? (char *)wide : y, x, m), x = wide;
        if (narrow) narrow(y, x, m);
    }
}

static __attribute__((noinline)) void load_truth(void *dst, const void *src, int64_t stride, int64_t n,
                                                 wick_dtype from) {
    uint8_t truth[BLOCK];
    const int64_t step = stride * (int64_t)wick_dtype_bytes(from);
    for (int64_t i = 0, m; i < n; i += m) {
        m = reduce_min(BLOCK, n - i);
        load_any(truth, (const char *)src + i * step, stride, m, from, WICK_BOOL);
        CPU_NAME(narrow)[CPU_U8][WICK_I64]((int64_t *)dst + i, truth, m);
    }
}

static __attribute__((noinline)) void store_any(void *dst, int64_t stride, const void *src, int64_t n, acc_kind from,
                                                wick_dtype to) {
    _Alignas(64) double complex packed[BLOCK];
    const int32_t bytes = (int32_t)wick_dtype_bytes(to);
    const cpu_convert_fn narrow = CPU_NAME(narrow)[class_of_dtype((wick_dtype)acc_dtypes[from])][to];
    for (int64_t i = 0, m; i < n; i += m) {
        const char *x = (const char *)src + i * acc_bytes[from];
        char *y = (char *)dst + i * stride * bytes;
        m = reduce_min(BLOCK, n - i);
        narrow(stride == 1 ? (void *)y : packed, x, m);
        if (stride != 1) wick_copy_row(y, stride * bytes, (const char *)packed, bytes, m, bytes);
    }
}

#define LOAD_ANY(a, ACC, D)                                                             \
    static void load_##a##_##D(void *dst, const void *src, int64_t stride, int64_t n) { \
        load_any(dst, src, stride, n, WICK_##D, WICK_##ACC);                            \
    }
#define LOAD_TRUTH(D)                                                              \
    static void truth_##D(void *dst, const void *src, int64_t stride, int64_t n) { \
        load_truth(dst, src, stride, n, WICK_##D);                                 \
    }
#define STORE_ANY(a, ACC, D)                                                             \
    static void store_##a##_##D(void *dst, int64_t stride, const void *src, int64_t n) { \
        store_any(dst, stride, src, n, ACC_##ACC, WICK_##D);                             \
    }

/* ---- every pair ---- */
#define NARROW_DTYPES(X) \
    X(BOOL)              \
    X(U8)                \
    X(I8)                \
    X(I16)               \
    X(I32)               \
    X(U16)               \
    X(U32)               \
    X(U64)               \
    X(F16)               \
    X(BF16)
#define REAL_DTYPES(X)      \
    NARROW_DTYPES(X) X(I64) \
    X(F32)                  \
    X(F64)
#define DTYPES(X)         \
    REAL_DTYPES(X) X(C64) \
    X(C128)

#define F32_F64_I64(D)     \
    LOAD_ANY(f32, F32, D)  \
    STORE_ANY(f32, F32, D) \
    LOAD_ANY(f64, F64, D)  \
    STORE_ANY(f64, F64, D) \
    LOAD_ANY(i64, I64, D)  \
    STORE_ANY(i64, I64, D)
NARROW_DTYPES(F32_F64_I64)
LOAD_ANY(f32, F32, I64)
LOAD_ANY(f32, F32, F64)
STORE_ANY(f32, F32, I64)
STORE_ANY(f32, F32, F64)
LOAD_ANY(f64, F64, I64)
STORE_ANY(f64, F64, I64)
LOAD_ANY(i64, I64, F32)
LOAD_ANY(i64, I64, F64)
STORE_ANY(i64, I64, F32)
STORE_ANY(i64, I64, F64)
#define COMPLEX(D)        \
    LOAD_ANY(c64, C64, D) \
    LOAD_ANY(c128, C128, D)
REAL_DTYPES(COMPLEX) LOAD_ANY(c64, C64, C64)
LOAD_ANY(c128, C128, C64)
LOAD_ANY(c128, C128, C128)
STORE_ANY(c64, C64, C64)
STORE_ANY(c128, C128, C64)
STORE_ANY(c128, C128, C128)
DTYPES(LOAD_TRUTH)

acc_load_fn acc_loader(acc_kind a, wick_dtype d) {
#define F32_ENTRY(D) [WICK_##D] = load_f32_##D,
#define F64_ENTRY(D) [WICK_##D] = load_f64_##D,
#define I64_ENTRY(D) [WICK_##D] = load_i64_##D,
#define C64_ENTRY(D) [WICK_##D] = load_c64_##D,
#define C128_ENTRY(D) [WICK_##D] = load_c128_##D,
    static const acc_load_fn table[ACC_COUNT][WICK_DTYPE_COUNT] = {
        [ACC_F32] = {REAL_DTYPES(F32_ENTRY) F32_ENTRY(C64)},
        [ACC_F64] = {DTYPES(F64_ENTRY)},
        [ACC_I64] = {REAL_DTYPES(I64_ENTRY)},
        [ACC_C64] = {REAL_DTYPES(C64_ENTRY) C64_ENTRY(C64)},
        [ACC_C128] = {DTYPES(C128_ENTRY)},
    };
    return table[a][d];
}

acc_load_fn acc_truth_loader(wick_dtype d) {
#define TRUTH_ENTRY(D) [WICK_##D] = truth_##D,
    static const acc_load_fn table[WICK_DTYPE_COUNT] = {DTYPES(TRUTH_ENTRY)};
    return table[d];
}

acc_store_fn acc_store(acc_kind a, wick_dtype d) {
#define F32_STORE(D) [WICK_##D] = store_f32_##D,
#define F64_STORE(D) [WICK_##D] = store_f64_##D,
#define I64_STORE(D) [WICK_##D] = store_i64_##D,
    static const acc_store_fn table[ACC_COUNT][WICK_DTYPE_COUNT] = {
        [ACC_F32] = {REAL_DTYPES(F32_STORE)},
        [ACC_F64] = {REAL_DTYPES(F64_STORE)},
        [ACC_I64] = {REAL_DTYPES(I64_STORE)},
        [ACC_C64] = {[WICK_C64] = store_c64_C64},
        [ACC_C128] = {[WICK_C64] = store_c128_C64, [WICK_C128] = store_c128_C128},
    };
    return table[a][d];
}
