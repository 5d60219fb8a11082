#include "element.h"

#include <string.h>

/* ---- the small floats ---- */
static uint32_t bits_of(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static float float_of(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* A format of 1 sign bit, `exponent` and `mantissa` bits; `finite`: without infinity, all ones alone are NaN. */
typedef struct small_format {
    int exponent, mantissa;
    bool finite;
} small_format;
static const small_format f16 = {5, 10, false}, f8e5m2 = {5, 2, false}, f8e4m3fn = {4, 3, true};

static float small_load(uint32_t h, small_format f) {
    int bias = (1 << (f.exponent - 1)) - 1;
    uint32_t magnitude = h & ((1u << (f.exponent + f.mantissa)) - 1), sign = (h >> (f.exponent + f.mantissa)) << 31;
    uint32_t infinity = ((1u << f.exponent) - 1) << f.mantissa;
    uint32_t special = f.finite ? infinity | ((1u << f.mantissa) - 1) : infinity;
    float value = float_of(magnitude << (23 - f.mantissa)) * float_of((uint32_t)(127 + 127 - bias) << 23);
    uint32_t bits = bits_of(value);
    if (magnitude >= special) bits = magnitude == special && !f.finite ? 0x7f800000 : 0x7fc00000;
    return float_of(sign | bits);
}

/* Rounds to nearest even; what is too big becomes infinity, or NaN where there is none. */
static uint32_t small_store(float x, small_format f) {
    int bias = (1 << (f.exponent - 1)) - 1, shift = 23 - f.mantissa;
    uint32_t u = bits_of(x), magnitude = u & 0x7fffffff, sign = (u >> 31) << (f.exponent + f.mantissa);
    uint32_t infinity = ((1u << f.exponent) - 1) << f.mantissa, all = infinity | ((1u << f.mantissa) - 1);
    uint32_t magic = (uint32_t)(127 - bias + shift + 1) << 23; /* its last bit is the smallest subnormal */
    uint32_t result;
    if (magnitude > 0x7f800000)
        result = f.finite ? all : infinity | 1u << (f.mantissa - 1);
    else if (magnitude < (uint32_t)(127 - bias + 1) << 23)
        result = bits_of(float_of(magnitude) + float_of(magic)) - magic;
    else
        result =
            (magnitude - ((uint32_t)(127 - bias) << 23) + (1u << (shift - 1)) - 1 + (magnitude >> shift & 1)) >> shift;
    uint32_t most = f.finite ? all : infinity;
    return sign | (magnitude <= 0x7f800000 && result > most ? most : result);
}

static float load_f16(uint16_t h) { return small_load(h, f16); }
static float load_bf16(uint16_t h) { return float_of((uint32_t)h << 16); }
static float load_f8e5m2(uint8_t h) { return small_load(h, f8e5m2); }
static float load_f8e4m3fn(uint8_t h) { return small_load(h, f8e4m3fn); }
static uint16_t store_f16(float x) { return (uint16_t)small_store(x, f16); }
static uint8_t store_f8e5m2(float x) { return (uint8_t)small_store(x, f8e5m2); }
static uint8_t store_f8e4m3fn(float x) { return (uint8_t)small_store(x, f8e4m3fn); }
static uint16_t store_bf16(float x) {
    uint32_t u = bits_of(x);
    return (uint16_t)(x != x ? 0x7fc0 : (u + 0x7fff + (u >> 16 & 1)) >> 16);
}

/* ---- between classes: what a cast leaves undefined gives the smallest integer, as most processors do ---- */
#define TWO_63 9223372036854775808.0
static int64_t int_of(double x) { return x >= -TWO_63 && x < TWO_63 ? (int64_t)x : INT64_MIN; }
static uint64_t uint_of(double x) { return x >= TWO_63 && x < 2 * TWO_63 ? (uint64_t)x : (uint64_t)int_of(x); }

#define REAL_OF_F(x) ((double)(x))
#define REAL_OF_I(x) ((double)(x))
#define REAL_OF_C(x) creal(x)
#define INT_OF_F(x) int_of(x)
#define INT_OF_I(x) ((int64_t)(x))
#define INT_OF_C(x) int_of(creal(x))
#define UINT_OF_F(x) uint_of(x)
#define UINT_OF_I(x) ((uint64_t)(x))
#define UINT_OF_C(x) uint_of(creal(x))
#define COMPLEX_OF_F(x) CMPLX((double)(x), 0)
#define COMPLEX_OF_I(x) CMPLX((double)(x), 0)
#define COMPLEX_OF_C(x) ((double complex)(x))

/* Kinds of classes, and what is stored: a number that the rest of the row turns into the stored type. */
#define KIND_REAL(to) to##_OF_F
#define KIND_INT(to) to##_OF_I
#define KIND_UINT(to) to##_OF_I
#define KIND_COMPLEX(to) to##_OF_C

/* X(DTYPE, stored type, kind, load, class of the stored values, store) */
#define STORED(X)                                                 \
    X(BOOL, uint8_t, I, 0 !=, BOOL, )                             \
    X(U8, uint8_t, I, , INT, (uint8_t))                           \
    X(I8, int8_t, I, , INT, (int8_t))                             \
    X(I16, int16_t, I, , INT, (int16_t))                          \
    X(I32, int32_t, I, , INT, (int32_t))                          \
    X(I64, int64_t, I, , INT, )                                   \
    X(U16, uint16_t, I, , INT, (uint16_t))                        \
    X(U32, uint32_t, I, , INT, (uint32_t))                        \
    X(U64, uint64_t, I, , UINT, )                                 \
    X(F16, uint16_t, F, load_f16, FLOAT, store_f16)               \
    X(BF16, uint16_t, F, load_bf16, FLOAT, store_bf16)            \
    X(F32, float, F, , FLOAT, )                                   \
    X(F64, double, F, , REAL, )                                   \
    X(C64, float complex, C, , COMPLEX, (float complex))          \
    X(C128, double complex, C, , COMPLEX, )                       \
    X(F8E4M3FN, uint8_t, F, load_f8e4m3fn, FLOAT, store_f8e4m3fn) \
    X(F8E5M2, uint8_t, F, load_f8e5m2, FLOAT, store_f8e5m2)

/* Integers go to f32 and below in one rounding, doubles as they are. */
#define BOOL_OF_F(x) ((x) != 0)
#define BOOL_OF_I(x) ((x) != 0)
#define BOOL_OF_C(x) ((x) != 0)
#define FLOAT_OF_F(x) ((float)(x))
#define FLOAT_OF_I(x) ((float)(x))
#define FLOAT_OF_C(x) ((float)creal(x))

#define LOAD(CLASS, wide_type, DTYPE, type, KIND, load)                                                       \
    static void load_##CLASS##_##DTYPE(void *wide, const char *from, int64_t stride, int64_t n) {             \
        wide_type *out = wide;                                                                                \
        for (int64_t i = 0; i < n; ++i) out[i] = CLASS##_OF_##KIND(load(*(const type *)(from + i * stride))); \
    }
#define STORE(CLASS, wide_type, DTYPE, type, VALUE, store)                                              \
    static void store_##CLASS##_##DTYPE(char *to, int64_t stride, const void *wide, int64_t n) {        \
        const wide_type *in = wide;                                                                     \
        for (int64_t i = 0; i < n; ++i) *(type *)(to + i * stride) = store(KIND_##CLASS(VALUE)(in[i])); \
    }
#define BOTH(DTYPE, type, KIND, load, VALUE, store)        \
    LOAD(REAL, double, DTYPE, type, KIND, load)            \
    LOAD(INT, int64_t, DTYPE, type, KIND, load)            \
    LOAD(UINT, uint64_t, DTYPE, type, KIND, load)          \
    LOAD(COMPLEX, double complex, DTYPE, type, KIND, load) \
    STORE(REAL, double, DTYPE, type, VALUE, store)         \
    STORE(INT, int64_t, DTYPE, type, VALUE, store)         \
    STORE(UINT, uint64_t, DTYPE, type, VALUE, store)       \
    STORE(COMPLEX, double complex, DTYPE, type, VALUE, store)
STORED(BOTH)

/* ---- the tables ---- */
#define LOAD_REAL(DTYPE, ...) [WICK_##DTYPE] = load_REAL_##DTYPE,
#define LOAD_INT(DTYPE, ...) [WICK_##DTYPE] = load_INT_##DTYPE,
#define LOAD_UINT(DTYPE, ...) [WICK_##DTYPE] = load_UINT_##DTYPE,
#define LOAD_COMPLEX(DTYPE, ...) [WICK_##DTYPE] = load_COMPLEX_##DTYPE,
#define STORE_REAL(DTYPE, ...) [WICK_##DTYPE] = store_REAL_##DTYPE,
#define STORE_INT(DTYPE, ...) [WICK_##DTYPE] = store_INT_##DTYPE,
#define STORE_UINT(DTYPE, ...) [WICK_##DTYPE] = store_UINT_##DTYPE,
#define STORE_COMPLEX(DTYPE, ...) [WICK_##DTYPE] = store_COMPLEX_##DTYPE,
static const ref_load_fn loaders[REF_CLASS_COUNT][WICK_DTYPE_COUNT] = {
    [REF_REAL] = {STORED(LOAD_REAL)},
    [REF_INT] = {STORED(LOAD_INT)},
    [REF_UINT] = {STORED(LOAD_UINT)},
    [REF_COMPLEX] = {STORED(LOAD_COMPLEX)},
};
static const ref_store_fn storers[REF_CLASS_COUNT][WICK_DTYPE_COUNT] = {
    [REF_REAL] = {STORED(STORE_REAL)},
    [REF_INT] = {STORED(STORE_INT)},
    [REF_UINT] = {STORED(STORE_UINT)},
    [REF_COMPLEX] = {STORED(STORE_COMPLEX)},
};

ref_load_fn ref_loader(ref_class c, wick_dtype dtype) { return loaders[c][dtype]; }
ref_store_fn ref_storer(ref_class c, wick_dtype dtype) { return storers[c][dtype]; }

ref_class ref_class_of(wick_dtype dtype) {
    if (wick_dtype_is_complex(dtype)) return REF_COMPLEX;
    if (wick_dtype_is_floating(dtype)) return REF_REAL;
    return dtype == WICK_U64 ? REF_UINT : REF_INT;
}

size_t ref_class_bytes(ref_class c) {
#define BYTES(CLASS, type) [REF_##CLASS] = sizeof(type),
    static const size_t bytes[] = {REF_CLASSES(BYTES)};
    return bytes[c];
}
