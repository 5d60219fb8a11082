/* wick/sdk/element.h: elements of any dtype as float, double, int64 or complex, and back as PyTorch converts them.
 * Header-only, no allocation; pure C17, also C++.
 *
 *     floating -> integer   cut towards zero, then wrapped to the width; what int64 cannot hold becomes INT64_MIN
 *     integer -> integer    wrapped
 *     anything -> bool      not equal to zero
 *     anything -> f16, bf16, f8e4m3fn, f8e5m2   rounded to f32 first, then to nearest, ties to even
 *     complex -> real       the real part
 *
 * A row is n elements that lie `stride` bytes apart (0: the same element n times; may be negative), of any alignment.
 * The dtype must be one of wick/dtype.h, for which wick_element_known() is true. Everything works on the caller's own
 * memory: thread-safe on distinct objects. */
#ifndef WICK_SDK_ELEMENT_H
#define WICK_SDK_ELEMENT_H

#include <string.h>
#include <wick/dtype.h>

typedef struct wick_complex64 {
    float re, im;
} wick_complex64;
typedef struct wick_complex128 {
    double re, im;
} wick_complex128;

static inline bool wick_element_known(uint32_t dtype) { return dtype >= WICK_BOOL && dtype < WICK_DTYPE_COUNT; }

/* "f32": wick_dtype_name for plugins, which link nothing of wick. A static string; "registered" for an element type of
 * a plugin, "invalid" for what is none. */
static inline const char *wick_element_name(uint32_t dtype) {
#define WICK_ELEMENT_NAME_(NAME, value, name, torch_name, bytes, st_name, category) name,
    static const char *const names[] = {"invalid", WICK_DTYPES(WICK_ELEMENT_NAME_)};
#undef WICK_ELEMENT_NAME_
    if (dtype < WICK_DTYPE_COUNT) return names[dtype];
    return wick_dtype_bytes((wick_dtype)dtype) ? "registered" : "invalid";
}

/* The spacing of a floating dtype's numbers above 1: what root-mean-square normalization adds if nothing is given. */
static inline double wick_element_epsilon(uint32_t dtype) {
    return dtype == WICK_F64 ? 0x1p-52 : dtype == WICK_F16 ? 0x1p-10 : dtype == WICK_BF16 ? 0x1p-7 : 0x1p-23;
}

/* ---- the small floats ---- */
static inline uint32_t wick_f32_bits(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
static inline float wick_f32_of_bits(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Rounds a magnitude (the bits of a float >= 0) to `mantissa` bits with exponent bias `bias`: to nearest, ties to even.
 * One that is too big comes out too big. */
static inline uint32_t wick_small_float_round_(uint32_t u, int bias, int mantissa) {
    uint32_t magic = (uint32_t)(127 - bias + 23 - mantissa + 1) << 23; /* its last bit is the smallest subnormal */
    uint32_t subnormal = wick_f32_bits(wick_f32_of_bits(u) + wick_f32_of_bits(magic)) - magic;
    uint32_t half = (1u << (22 - mantissa)) - 1 + ((u >> (23 - mantissa)) & 1);
    uint32_t normal = (u - ((uint32_t)(127 - bias) << 23) + half) >> (23 - mantissa);
    return u < (uint32_t)(127 - bias + 1) << 23 ? subnormal : normal;
}
/* The value of the exponent and mantissa `h`; an exponent of all ones is not special. */
static inline float wick_small_float_value_(uint32_t h, int bias, int mantissa) {
    return wick_f32_of_bits(h << (23 - mantissa)) * wick_f32_of_bits((uint32_t)(127 + 127 - bias) << 23);
}

static inline float wick_f32_of_bf16(uint16_t h) { return wick_f32_of_bits((uint32_t)h << 16); }
static inline uint16_t wick_bf16_of_f32(float x) {
    uint32_t u = wick_f32_bits(x);
    return (uint16_t)(x != x ? 0x7fc0 : (u + 0x7fff + ((u >> 16) & 1)) >> 16);
}
static inline float wick_f32_of_f16(uint16_t h) {
    uint32_t magnitude = h & 0x7fff, sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t value = wick_f32_bits(wick_small_float_value_(magnitude, 15, 10));
    return wick_f32_of_bits(sign | (magnitude >= 0x7c00 ? 0x7f800000 | magnitude << 13 : value));
}
static inline uint16_t wick_f16_of_f32(float x) {
    uint32_t u = wick_f32_bits(x), magnitude = u & 0x7fffffff;
    uint32_t special = magnitude > 0x7f800000 ? 0x7e00 : 0x7c00;
    return (uint16_t)((u >> 16 & 0x8000) |
                      (magnitude >= 0x47800000 ? special : wick_small_float_round_(magnitude, 15, 10)));
}
static inline float wick_f32_of_f8e4m3fn(uint8_t h) {
    uint32_t magnitude = h & 0x7f, sign = (uint32_t)(h & 0x80) << 24;
    uint32_t value = wick_f32_bits(wick_small_float_value_(magnitude, 7, 3));
    return wick_f32_of_bits(sign | (magnitude == 0x7f ? 0x7fc00000 : value));
}
static inline uint8_t wick_f8e4m3fn_of_f32(float x) {
    uint32_t u = wick_f32_bits(x), magnitude = u & 0x7fffffff; /* 480 and more: NaN */
    return (uint8_t)((u >> 24 & 0x80) | (magnitude >= 0x43f00000 ? 0x7f : wick_small_float_round_(magnitude, 7, 3)));
}
static inline float wick_f32_of_f8e5m2(uint8_t h) { return wick_f32_of_f16((uint16_t)(h << 8)); }
static inline uint8_t wick_f8e5m2_of_f32(float x) {
    uint32_t u = wick_f32_bits(x), magnitude = u & 0x7fffffff;
    uint32_t special = magnitude > 0x7f800000 ? 0x7f : 0x7c;
    return (uint8_t)((u >> 24 & 0x80) |
                     (magnitude >= 0x47800000 ? special : wick_small_float_round_(magnitude, 15, 2)));
}

/* ---- to integers, without undefined behaviour ---- */
static inline int64_t wick_i64_of_f64(double x) {
    return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (int64_t)x : INT64_MIN;
}
static inline int32_t wick_i32_of_f64(double x) {
    return x > -2147483649.0 && x < 2147483648.0 ? (int32_t)x : INT32_MIN;
}
static inline uint64_t wick_u64_of_f64(double x) {
    return x >= 9223372036854775808.0 && x < 18446744073709551616.0 ? (uint64_t)x : (uint64_t)wick_i64_of_f64(x);
}
static inline int64_t wick_i64_of_f32(float x) { return wick_i64_of_f64((double)x); }
static inline int32_t wick_i32_of_f32(float x) { return wick_i32_of_f64((double)x); }
static inline uint64_t wick_u64_of_f32(float x) { return wick_u64_of_f64((double)x); }
static inline int64_t wick_i64_of_i64(int64_t x) { return x; }
static inline int32_t wick_i32_of_i64(int64_t x) { return (int32_t)(uint32_t)(uint64_t)x; }
static inline uint64_t wick_u64_of_i64(int64_t x) { return (uint64_t)x; }

/* ---- rows ---- */
/* X(NAME, C type, value of the element `x`): I for what is an integer, R for what is a real number */
#define WICK_ELEMENT_LOADS_(I, R)                 \
    I(BOOL, uint8_t, x != 0)                      \
    I(U8, uint8_t, x)                             \
    I(I8, int8_t, x)                              \
    I(I16, int16_t, x)                            \
    I(I32, int32_t, x)                            \
    I(I64, int64_t, x)                            \
    I(U16, uint16_t, x)                           \
    I(U32, uint32_t, x)                           \
    I(U64, uint64_t, x)                           \
    R(F16, uint16_t, wick_f32_of_f16(x))          \
    R(BF16, uint16_t, wick_f32_of_bf16(x))        \
    R(F32, float, x)                              \
    R(F64, double, x)                             \
    R(C64, float, x)                              \
    R(C128, double, x)                            \
    R(F8E4M3FN, uint8_t, wick_f32_of_f8e4m3fn(x)) \
    R(F8E5M2, uint8_t, wick_f32_of_f8e5m2(x))

#define WICK_ELEMENT_LOAD_(NAME, type, value)        \
    case WICK_##NAME:                                \
        for (int64_t i = 0; i < n; ++i) {            \
            type x;                                  \
            memcpy(&x, from + i * stride, sizeof x); \
            dst[i] = value;                          \
        }                                            \
        break;

/* Element i of the row to dst[i]. */
static inline void wick_load_row_f32(wick_dtype dtype, const void *src, int64_t stride, int64_t n, float *dst) {
    const char *from = (const char *)src;
#define WICK_ELEMENT_CASE_(NAME, type, value) WICK_ELEMENT_LOAD_(NAME, type, (float)(value))
    switch (dtype) {
        WICK_ELEMENT_LOADS_(WICK_ELEMENT_CASE_, WICK_ELEMENT_CASE_)
    default: break;
    }
#undef WICK_ELEMENT_CASE_
}
static inline void wick_load_row_f64(wick_dtype dtype, const void *src, int64_t stride, int64_t n, double *dst) {
    const char *from = (const char *)src;
#define WICK_ELEMENT_CASE_(NAME, type, value) WICK_ELEMENT_LOAD_(NAME, type, (double)(value))
    switch (dtype) {
        WICK_ELEMENT_LOADS_(WICK_ELEMENT_CASE_, WICK_ELEMENT_CASE_)
    default: break;
    }
#undef WICK_ELEMENT_CASE_
}
/* A u64 beyond INT64_MAX wraps. */
static inline void wick_load_row_i64(wick_dtype dtype, const void *src, int64_t stride, int64_t n, int64_t *dst) {
    const char *from = (const char *)src;
#define WICK_ELEMENT_INTEGER_(NAME, type, value) WICK_ELEMENT_LOAD_(NAME, type, (int64_t)(value))
#define WICK_ELEMENT_REAL_(NAME, type, value) WICK_ELEMENT_LOAD_(NAME, type, wick_i64_of_f64((double)(value)))
    switch (dtype) {
        WICK_ELEMENT_LOADS_(WICK_ELEMENT_INTEGER_, WICK_ELEMENT_REAL_)
    default: break;
    }
#undef WICK_ELEMENT_INTEGER_
#undef WICK_ELEMENT_REAL_
}

/* X(NAME, C type, what is stored for the number `x` of class S: f32, f64 or i64) */
#define WICK_ELEMENT_STORES_(X, S)                       \
    X(BOOL, uint8_t, (uint8_t)(x != 0))                  \
    X(U8, uint8_t, (uint8_t)wick_i64_of_##S(x))          \
    X(I8, int8_t, (int8_t)wick_i32_of_##S(x))            \
    X(I16, int16_t, (int16_t)wick_i32_of_##S(x))         \
    X(I32, int32_t, wick_i32_of_##S(x))                  \
    X(I64, int64_t, wick_i64_of_##S(x))                  \
    X(U16, uint16_t, (uint16_t)wick_i64_of_##S(x))       \
    X(U32, uint32_t, (uint32_t)wick_i64_of_##S(x))       \
    X(U64, uint64_t, wick_u64_of_##S(x))                 \
    X(F16, uint16_t, wick_f16_of_f32((float)x))          \
    X(BF16, uint16_t, wick_bf16_of_f32((float)x))        \
    X(F32, float, (float)x)                              \
    X(F64, double, (double)x)                            \
    X(F8E4M3FN, uint8_t, wick_f8e4m3fn_of_f32((float)x)) \
    X(F8E5M2, uint8_t, wick_f8e5m2_of_f32((float)x))

#define WICK_ELEMENT_STORE_(NAME, type, value)          \
    case WICK_##NAME:                                   \
        for (int64_t i = 0; i < n; ++i, to += stride) { \
            const wick_number_ x = src[i];              \
            const type y = value;                       \
            memcpy(to, &y, sizeof y);                   \
        }                                               \
        break;
#define WICK_ELEMENT_STORE_COMPLEX_(NAME, type, part)   \
    case WICK_##NAME:                                   \
        for (int64_t i = 0; i < n; ++i, to += stride) { \
            const type y = {(part)src[i], 0};           \
            memcpy(to, &y, sizeof y);                   \
        }                                               \
        break;

/* Defines wick_store_row_S: src[i] to element i of the row; into a complex dtype as the real part. */
#define WICK_ELEMENT_STORE_ROW_(S, source)                                                                             \
    static inline void wick_store_row_##S(wick_dtype dtype, const source *src, void *dst, int64_t stride, int64_t n) { \
        typedef source wick_number_;                                                                                   \
        char *to = (char *)dst;                                                                                        \
        switch (dtype) {                                                                                               \
            WICK_ELEMENT_STORES_(WICK_ELEMENT_STORE_, S)                                                               \
            WICK_ELEMENT_STORE_COMPLEX_(C64, wick_complex64, float)                                                    \
            WICK_ELEMENT_STORE_COMPLEX_(C128, wick_complex128, double)                                                 \
        default: break;                                                                                                \
        }                                                                                                              \
    }
WICK_ELEMENT_STORE_ROW_(f32, float)
WICK_ELEMENT_STORE_ROW_(f64, double)
WICK_ELEMENT_STORE_ROW_(i64, int64_t)

/* ---- one element ---- */
static inline double wick_load_f64(wick_dtype dtype, const void *src) {
    double x = 0;
    wick_load_row_f64(dtype, src, 0, 1, &x);
    return x;
}
static inline int64_t wick_load_i64(wick_dtype dtype, const void *src) {
    int64_t x = 0;
    wick_load_row_i64(dtype, src, 0, 1, &x);
    return x;
}
static inline wick_complex128 wick_load_c128(wick_dtype dtype, const void *src) {
    wick_complex128 z = {wick_load_f64(dtype, src), 0};
    if (dtype == WICK_C64) z.im = wick_load_f64(WICK_F32, (const char *)src + sizeof(float));
    if (dtype == WICK_C128) z.im = wick_load_f64(WICK_F64, (const char *)src + sizeof(double));
    return z;
}
static inline void wick_store_f64(wick_dtype dtype, double x, void *dst) { wick_store_row_f64(dtype, &x, dst, 0, 1); }
static inline void wick_store_i64(wick_dtype dtype, int64_t x, void *dst) { wick_store_row_i64(dtype, &x, dst, 0, 1); }
static inline void wick_store_c128(wick_dtype dtype, wick_complex128 z, void *dst) {
    const wick_complex64 narrow = {(float)z.re, (float)z.im};
    if (dtype == WICK_C64)
        memcpy(dst, &narrow, sizeof narrow);
    else if (dtype == WICK_C128)
        memcpy(dst, &z, sizeof z);
    else
        wick_store_f64(dtype, dtype == WICK_BOOL && z.re == 0 ? z.im : z.re, dst);
}

/* ---- from any dtype to any ---- */
#define WICK_CONVERT_BLOCK 256
/* Which numbers carry the conversion of a row: 'i' int64, 'f' float, 'd' double, 'c' complex, 'm' copied bytes. */
static inline char wick_convert_class_(wick_dtype from, wick_dtype to) {
    const bool whole = to == WICK_BOOL || wick_dtype_is_integral(to);
    if (from == to) return 'm';
    if (wick_dtype_is_complex(from) && (wick_dtype_is_complex(to) || to == WICK_BOOL)) return 'c';
    if (whole && (from == WICK_BOOL || wick_dtype_is_integral(from))) return 'i';
    return whole || to == WICK_F64 || to == WICK_C128 ? 'd' : 'f';
}

/* At most WICK_CONVERT_BLOCK elements. */
static inline void wick_convert_block_(char by, wick_dtype from, const char *src, int64_t src_stride, wick_dtype to,
                                       char *dst, int64_t dst_stride, int64_t n) {
    union {
        float f[WICK_CONVERT_BLOCK];
        double d[WICK_CONVERT_BLOCK];
        int64_t i[WICK_CONVERT_BLOCK];
    } block;
    if (by == 'f') {
        wick_load_row_f32(from, src, src_stride, n, block.f);
        wick_store_row_f32(to, block.f, dst, dst_stride, n);
    } else if (by == 'd') {
        wick_load_row_f64(from, src, src_stride, n, block.d);
        wick_store_row_f64(to, block.d, dst, dst_stride, n);
    } else if (by == 'i') {
        wick_load_row_i64(from, src, src_stride, n, block.i);
        wick_store_row_i64(to, block.i, dst, dst_stride, n);
    } else if (by == 'c') {
        for (int64_t k = 0; k < n; ++k)
            wick_store_c128(to, wick_load_c128(from, src + k * src_stride), dst + k * dst_stride);
    } else {
        const size_t bytes = wick_dtype_bytes(from);
        for (int64_t k = 0; k < n; ++k) memcpy(dst + k * dst_stride, src + k * src_stride, bytes);
    }
}

/* Converts a row; the two do not overlap. */
static inline void wick_convert_row(wick_dtype from, const void *src, int64_t src_stride, wick_dtype to, void *dst,
                                    int64_t dst_stride, int64_t n) {
    const char by = wick_convert_class_(from, to);
    const int64_t bytes = (int64_t)wick_dtype_bytes(from);
    if (by == 'm' && src_stride == bytes && dst_stride == bytes) {
        memcpy(dst, src, (size_t)(n * bytes));
        return;
    }
    for (int64_t i = 0; i < n; i += WICK_CONVERT_BLOCK)
        wick_convert_block_(by, from, (const char *)src + i * src_stride, src_stride, to, (char *)dst + i * dst_stride,
                            dst_stride, n - i < WICK_CONVERT_BLOCK ? n - i : WICK_CONVERT_BLOCK);
}

#endif
