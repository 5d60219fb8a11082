/* The conversion loops behind convert.h. */
#include "convert.h"

/* ---- from a dtype to its natural class ---- */
#define WIDEN(D, S, T, expression)                                 \
    static void widen_##D(void *dst, const void *src, int64_t n) { \
        T *d = dst;                                                \
        const S *s = src;                                          \
        CPU_INDEPENDENT for (int64_t i = 0; i < n; ++i) {          \
            S x = s[i];                                            \
            d[i] = (T)(expression);                                \
        }                                                          \
    }
WIDEN(i8, int8_t, int32_t, x)
WIDEN(i16, int16_t, int32_t, x)
WIDEN(u16, uint16_t, int32_t, x)
WIDEN(u32, uint32_t, int64_t, x)
WIDEN(bf16, uint16_t, float, f32_of_bf16(x))
WIDEN(f8e4m3fn, uint8_t, float, f32_of_f8e4m3fn(x))
WIDEN(f8e5m2, uint8_t, float, f32_of_f8e5m2(x))

#if defined(__F16C__)
/* The compiler does not find these instructions by itself. */
static void widen_f16(void *dst, const void *src, int64_t n) {
    float *d = dst;
    const uint16_t *s = src;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(d + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(s + i))));
    for (; i < n; ++i) d[i] = _cvtsh_ss(s[i]);
}

static void narrow_F32_F16(void *dst, const void *src, int64_t n) {
    uint16_t *d = dst;
    const float *s = src;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(d + i), _mm256_cvtps_ph(_mm256_loadu_ps(s + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < n; ++i) d[i] = _cvtss_sh(s[i], _MM_FROUND_TO_NEAREST_INT);
}
#else
WIDEN(f16, uint16_t, float, f32_of_f16(x))
#endif

const cpu_convert_fn CPU_NAME(widen)[WICK_DTYPE_COUNT] = {
    [WICK_I8] = widen_i8,   [WICK_I16] = widen_i16,   [WICK_U16] = widen_u16,           [WICK_U32] = widen_u32,
    [WICK_F16] = widen_f16, [WICK_BF16] = widen_bf16, [WICK_F8E4M3FN] = widen_f8e4m3fn, [WICK_F8E5M2] = widen_f8e5m2,
};

/* ---- from a class to any dtype: loops where speed matters, the rest in two steps that change no result ---- */
/* A floating value goes to a narrow integer through a wide one, so that negative values wrap as integers do. */
static inline uint64_t u64_of_f64(double x) { return x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x; }

#define NARROW(C, S, D, T, expression)                                    \
    static void narrow_##C##_##D(void *dst, const void *src, int64_t n) { \
        T *d = dst;                                                       \
        const S *s = src;                                                 \
        CPU_INDEPENDENT for (int64_t i = 0; i < n; ++i) {                 \
            S x = s[i];                                                   \
            d[i] = (T)(expression);                                       \
        }                                                                 \
    }
#define NARROW_REAL(C, S)                   \
    NARROW(C, S, BOOL, uint8_t, x != 0)     \
    NARROW(C, S, U8, uint8_t, (int64_t)x)   \
    NARROW(C, S, I8, int8_t, (int32_t)x)    \
    NARROW(C, S, I16, int16_t, (int32_t)x)  \
    NARROW(C, S, I32, int32_t, (int32_t)x)  \
    NARROW(C, S, I64, int64_t, (int64_t)x)  \
    NARROW(C, S, U16, uint16_t, (int64_t)x) \
    NARROW(C, S, U32, uint32_t, (int64_t)x) \
    NARROW(C, S, U64, uint64_t, u64_of_f64(x))
NARROW_REAL(F32, float)
NARROW(F32, float, BF16, uint16_t, bf16_of_f32(x))
NARROW(F32, float, F64, double, x)
NARROW(F32, float, C64, float complex, x)
NARROW(F32, float, F8E4M3FN, uint8_t, f8e4m3fn_of_f32(x))
NARROW(F32, float, F8E5M2, uint8_t, f8e5m2_of_f32(x))
#if !defined(__F16C__)
NARROW(F32, float, F16, uint16_t, f16_of_f32(x))
#endif
NARROW_REAL(F64, double)
NARROW(F64, double, F32, float, x)
NARROW(F64, double, C128, double complex, x)
NARROW(C64, float complex, BOOL, uint8_t, x != 0)
NARROW(C64, float complex, F32, float, crealf(x))
NARROW(C64, float complex, C128, double complex, x)
NARROW(C128, double complex, BOOL, uint8_t, x != 0)
NARROW(C128, double complex, F64, double, creal(x))
NARROW(C128, double complex, C64, float complex, x)

/* The bits of an integer do not depend on the signedness of the target. */
#define NARROW_INTEGER(C, S)            \
    NARROW(C, S, BOOL, uint8_t, x != 0) \
    NARROW(C, S, F32, float, x)         \
    NARROW(C, S, F64, double, x)
NARROW_INTEGER(I64, int64_t)
NARROW(I64, int64_t, I8, int8_t, x)
NARROW(I64, int64_t, I16, int16_t, x)
NARROW(I64, int64_t, I32, int32_t, x)
NARROW_INTEGER(I32, int32_t)
NARROW(I32, int32_t, I8, int8_t, x)
NARROW(I32, int32_t, I16, int16_t, x)
NARROW(I32, int32_t, I64, int64_t, x)
NARROW_INTEGER(U8, uint8_t)
NARROW(U8, uint8_t, I16, int16_t, x)
NARROW(U8, uint8_t, I32, int32_t, x)
NARROW(U8, uint8_t, I64, int64_t, x)
NARROW(U64, uint64_t, F32, float, x)
NARROW(U64, uint64_t, F64, double, x)
#define narrow_U64_BOOL narrow_I64_BOOL
#define narrow_U64_I8 narrow_I64_I8
#define narrow_U64_I16 narrow_I64_I16
#define narrow_U64_I32 narrow_I64_I32

#define COPY(C, D, T) \
    static void narrow_##C##_##D(void *dst, const void *src, int64_t n) { memmove(dst, src, (size_t)n * sizeof(T)); }
COPY(U8, I8, uint8_t)
COPY(I32, I32, int32_t)
COPY(I64, I64, int64_t)
COPY(F32, F32, float)
COPY(F64, F64, double)
COPY(C64, C64, float complex)
COPY(C128, C128, double complex)
#define narrow_U64_I64 narrow_I64_I64

/* Runs two steps a block at a time. Not inlined into the many that use it, nor are the steps. */
static __attribute__((noinline)) void via(char *dst, int64_t dst_bytes, const char *src, int64_t src_bytes, int64_t n,
                                          cpu_convert_fn first, cpu_convert_fn second) {
    enum { BLOCK = 256 };
    _Alignas(64) double block[BLOCK];
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t count = n - i < BLOCK ? n - i : BLOCK;
        first(block, src + i * src_bytes, count);
        second(dst + i * dst_bytes, block, count);
    }
}

/* From class C to D by way of the real class M. */
#define VIA(C, S, M, D, T)                                                          \
    static void narrow_##C##_##D(void *dst, const void *src, int64_t n) {           \
        via(dst, sizeof(T), src, sizeof(S), n, narrow_##C##_##M, narrow_##M##_##D); \
    }
#define SMALL_FLOATS_VIA_F32(C, S)    \
    VIA(C, S, F32, F16, uint16_t)     \
    VIA(C, S, F32, BF16, uint16_t)    \
    VIA(C, S, F32, F8E4M3FN, uint8_t) \
    VIA(C, S, F32, F8E5M2, uint8_t)
#define COMPLEX_VIA_REAL(C, S)         \
    VIA(C, S, F32, C64, float complex) \
    VIA(C, S, F64, C128, double complex)
#define INTEGERS_VIA(C, S, M)   \
    VIA(C, S, M, U8, uint8_t)   \
    VIA(C, S, M, I8, int8_t)    \
    VIA(C, S, M, I16, int16_t)  \
    VIA(C, S, M, I32, int32_t)  \
    VIA(C, S, M, I64, int64_t)  \
    VIA(C, S, M, U16, uint16_t) \
    VIA(C, S, M, U32, uint32_t) \
    VIA(C, S, M, U64, uint64_t)
VIA(F32, float, F64, C128, double complex)
VIA(F64, double, F32, C64, float complex)
SMALL_FLOATS_VIA_F32(F64, double)
SMALL_FLOATS_VIA_F32(I64, int64_t)
SMALL_FLOATS_VIA_F32(I32, int32_t)
SMALL_FLOATS_VIA_F32(U8, uint8_t)
SMALL_FLOATS_VIA_F32(U64, uint64_t)
SMALL_FLOATS_VIA_F32(C64, float complex)
COMPLEX_VIA_REAL(I64, int64_t)
COMPLEX_VIA_REAL(I32, int32_t)
COMPLEX_VIA_REAL(U8, uint8_t)
COMPLEX_VIA_REAL(U64, uint64_t)
INTEGERS_VIA(C64, float complex, F32)
VIA(C64, float complex, F32, F64, double)
INTEGERS_VIA(C128, double complex, F64)
VIA(C128, double complex, F64, F32, float)
SMALL_FLOATS_VIA_F32(C128, double complex)

/* The row of class C; U8 to U64 are the suffixes of its functions to unsigned integers. */
#define NARROW_ROW(C, U8, U16, U32, U64)                                                                              \
    [CPU_##C] = {                                                                                                     \
        [WICK_BOOL] = narrow_##C##_BOOL,         [WICK_U8] = narrow_##C##_##U8,      [WICK_I8] = narrow_##C##_I8,     \
        [WICK_I16] = narrow_##C##_I16,           [WICK_I32] = narrow_##C##_I32,      [WICK_I64] = narrow_##C##_I64,   \
        [WICK_U16] = narrow_##C##_##U16,         [WICK_U32] = narrow_##C##_##U32,    [WICK_U64] = narrow_##C##_##U64, \
        [WICK_F16] = narrow_##C##_F16,           [WICK_BF16] = narrow_##C##_BF16,    [WICK_F32] = narrow_##C##_F32,   \
        [WICK_F64] = narrow_##C##_F64,           [WICK_C64] = narrow_##C##_C64,      [WICK_C128] = narrow_##C##_C128, \
        [WICK_F8E4M3FN] = narrow_##C##_F8E4M3FN, [WICK_F8E5M2] = narrow_##C##_F8E5M2},
#define REAL_ROW(C) NARROW_ROW(C, U8, U16, U32, U64)
#define INTEGER_ROW(C) NARROW_ROW(C, I8, I16, I32, I64)
const cpu_convert_fn CPU_NAME(narrow)[CPU_CLASS_COUNT][WICK_DTYPE_COUNT] = {
    REAL_ROW(F32) REAL_ROW(F64) REAL_ROW(C64) REAL_ROW(C128) INTEGER_ROW(I64) INTEGER_ROW(I32) INTEGER_ROW(U8)
        INTEGER_ROW(U64)};
_Static_assert(WICK_DTYPE_COUNT == 18, "a new dtype needs its conversions here");
