/* Dtypes as the loops see them. Arithmetic is done in one of a few compute classes; every dtype has a natural class
 * that holds all its values, and arrays are brought there and back a block at a time. */
#ifndef WICK_CPU_CONVERT_H
#define WICK_CPU_CONVERT_H

#include "cpu.h"

#include <complex.h>
#ifndef CMPLX /* C11's; some compilers leave them out */
#define CMPLX(re, im) ((double _Complex){(re), (im)})
#define CMPLXF(re, im) ((float _Complex){(re), (im)})
#endif
#undef I /* a class of operands in <wick/sdk/pointwise.inc> */
#include <string.h>
#if defined(__F16C__)
#include <immintrin.h>
#endif

/* X(CLASS, C type, its dtype) */
#define CPU_CLASSES(X)              \
    X(F32, float, WICK_F32)         \
    X(F64, double, WICK_F64)        \
    X(I64, int64_t, WICK_I64)       \
    X(I32, int32_t, WICK_I32)       \
    X(U8, uint8_t, WICK_U8)         \
    X(U64, uint64_t, WICK_U64)      \
    X(C64, float complex, WICK_C64) \
    X(C128, double complex, WICK_C128)

typedef enum cpu_class {
#define CPU_CLASS_ENUM(C, T, D) CPU_##C,
    CPU_CLASSES(CPU_CLASS_ENUM)
#undef CPU_CLASS_ENUM
        CPU_CLASS_COUNT
} cpu_class;

static inline cpu_class class_of_dtype(wick_dtype dtype) {
    static const uint8_t classes[WICK_DTYPE_COUNT] = {
        [WICK_BOOL] = CPU_U8,   [WICK_U8] = CPU_U8,   [WICK_I8] = CPU_I32,    [WICK_I16] = CPU_I32,
        [WICK_I32] = CPU_I32,   [WICK_I64] = CPU_I64, [WICK_U16] = CPU_I32,   [WICK_U32] = CPU_I64,
        [WICK_U64] = CPU_U64,   [WICK_F16] = CPU_F32, [WICK_BF16] = CPU_F32,  [WICK_F32] = CPU_F32,
        [WICK_F64] = CPU_F64,   [WICK_C64] = CPU_C64, [WICK_C128] = CPU_C128, [WICK_F8E4M3FN] = CPU_F32,
        [WICK_F8E5M2] = CPU_F32};
    return (cpu_class)classes[dtype];
}

static inline wick_dtype dtype_of_class(cpu_class c) {
    static const uint8_t dtypes[CPU_CLASS_COUNT] = {
#define CPU_CLASS_DTYPE(C, T, D) D,
        CPU_CLASSES(CPU_CLASS_DTYPE)
#undef CPU_CLASS_DTYPE
    };
    return (wick_dtype)dtypes[c];
}

static inline bool dtype_is_native(wick_dtype dtype) { return dtype_of_class(class_of_dtype(dtype)) == dtype; }

/* Converts n elements. dst and src do not overlap, or are the same and of the same width. */
typedef void (*cpu_convert_fn)(void *dst, const void *src, int64_t n);

#ifdef CPU_NAME /* files compiled once use the single elements below */
/* From a dtype to its natural class; NULL where the bytes are the same. */
extern const cpu_convert_fn CPU_NAME(widen)[WICK_DTYPE_COUNT];
/* From a class to any dtype, as PyTorch casts; its own dtype is a plain copy. */
extern const cpu_convert_fn CPU_NAME(narrow)[CPU_CLASS_COUNT][WICK_DTYPE_COUNT];
#endif

/* A loop whose iterations are independent: inputs and output may be the same array, but never partly overlap. */
#if defined(__clang__)
#define CPU_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define CPU_INDEPENDENT _Pragma("GCC ivdep")
#endif

/* ---- one element: the small floats ---- */
static inline uint32_t bits_of_f32(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
static inline float f32_of_bits(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline float f32_of_bf16(uint16_t h) { return f32_of_bits((uint32_t)h << 16); }

static inline uint16_t bf16_of_f32(float x) {
    uint32_t u = bits_of_f32(x);
    uint32_t rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
    return (uint16_t)(x != x ? 0x7fc0 : rounded);
}

/* Rounds the magnitude `u` (bits of a non-negative float) to a float of fewer bits: round to nearest even. A value too
 * big comes out too big. */
static inline uint32_t small_float_round(uint32_t u, int bias, int mantissa) {
    uint32_t magic = (uint32_t)(127 - bias + 23 - mantissa + 1) << 23; /* its last bit is the smallest subnormal */
    uint32_t subnormal = bits_of_f32(f32_of_bits(u) + f32_of_bits(magic)) - magic;
    uint32_t normal =
        (u - ((uint32_t)(127 - bias) << 23) + (1u << (22 - mantissa)) - 1 + ((u >> (23 - mantissa)) & 1)) >>
        (23 - mantissa);
    return u < (uint32_t)(127 - bias + 1) << 23 ? subnormal : normal;
}

/* The value of exponent and mantissa `h`; an all-ones exponent is not special. */
static inline float small_float_value(uint32_t h, int bias, int mantissa) {
    return f32_of_bits(h << (23 - mantissa)) * f32_of_bits((uint32_t)(127 + 127 - bias) << 23);
}

static inline float f32_of_f16(uint16_t h) {
    uint32_t magnitude = h & 0x7fff, sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t value = bits_of_f32(small_float_value(magnitude, 15, 10));
    uint32_t special = 0x7f800000 | (magnitude << 13);
    return f32_of_bits(sign | (magnitude >= 0x7c00 ? special : value));
}

static inline uint16_t f16_of_f32(float x) {
    uint32_t u = bits_of_f32(x), magnitude = u & 0x7fffffff;
    uint32_t special = magnitude > 0x7f800000 ? 0x7e00 : 0x7c00;
    uint32_t value = small_float_round(magnitude, 15, 10);
    return (uint16_t)((u >> 16 & 0x8000) | (magnitude >= 0x47800000 ? special : value));
}

static inline float f32_of_f8e4m3fn(uint8_t h) {
    uint32_t magnitude = h & 0x7f, sign = (uint32_t)(h & 0x80) << 24;
    uint32_t value = bits_of_f32(small_float_value(magnitude, 7, 3));
    return f32_of_bits(sign | (magnitude == 0x7f ? 0x7fc00000 : value));
}

static inline uint8_t f8e4m3fn_of_f32(float x) {
    uint32_t u = bits_of_f32(x), magnitude = u & 0x7fffffff;
    uint32_t value = small_float_round(magnitude, 7, 3);
    return (uint8_t)((u >> 24 & 0x80) | (magnitude >= 0x43f00000 ? 0x7f : value)); /* 480 and more: NaN */
}

static inline float f32_of_f8e5m2(uint8_t h) { return f32_of_f16((uint16_t)(h << 8)); }

static inline uint8_t f8e5m2_of_f32(float x) {
    uint32_t u = bits_of_f32(x), magnitude = u & 0x7fffffff;
    uint32_t special = magnitude > 0x7f800000 ? 0x7f : 0x7c;
    uint32_t value = small_float_round(magnitude, 15, 2);
    return (uint8_t)((u >> 24 & 0x80) | (magnitude >= 0x47800000 ? special : value));
}

#endif
