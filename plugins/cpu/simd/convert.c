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

/* ---- from a class to any dtype ---- */
/* A floating value goes to a narrow integer through a wide one, so that negative values wrap as integers do. */
#define WHOLE64(x) _Generic((x), float : (int64_t)(x), double : (int64_t)(x), default : (x))
#define WHOLE32(x) _Generic((x), float : (int32_t)(x), double : (int32_t)(x), default : (x))
static inline uint64_t u64_of_f64(double x) { return x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x; }
#define UNSIGNED64(x) _Generic((x), float : u64_of_f64((double)(x)), double : u64_of_f64((double)(x)), default : (x))

/* `read` takes s[i] to the value x that is converted: a complex number loses its imaginary part. */
#define NARROW(C, S, read, D, T, expression)                              \
    static void narrow_##C##_##D(void *dst, const void *src, int64_t n) { \
        T *d = dst;                                                       \
        const S *s = src;                                                 \
        CPU_INDEPENDENT for (int64_t i = 0; i < n; ++i) {                 \
            __auto_type x = read(s[i]);                                   \
            d[i] = (T)(expression);                                       \
        }                                                                 \
    }

#define SAME(x) (x)
#define NARROW_ALL(C, S, read)                                       \
    NARROW(C, S, SAME, BOOL, uint8_t, x != 0)                        \
    NARROW(C, S, read, U8, uint8_t, WHOLE64(x))                      \
    NARROW(C, S, read, I8, int8_t, WHOLE32(x))                       \
    NARROW(C, S, read, I16, int16_t, WHOLE32(x))                     \
    NARROW(C, S, read, I32, int32_t, WHOLE32(x))                     \
    NARROW(C, S, read, I64, int64_t, WHOLE64(x))                     \
    NARROW(C, S, read, U16, uint16_t, WHOLE64(x))                    \
    NARROW(C, S, read, U32, uint32_t, WHOLE64(x))                    \
    NARROW(C, S, read, U64, uint64_t, UNSIGNED64(x))                 \
    NARROW(C, S, read, BF16, uint16_t, bf16_of_f32((float)x))        \
    NARROW(C, S, read, F32, float, x)                                \
    NARROW(C, S, read, F64, double, x)                               \
    NARROW(C, S, SAME, C64, float complex, x)                        \
    NARROW(C, S, SAME, C128, double complex, x)                      \
    NARROW(C, S, read, F8E4M3FN, uint8_t, f8e4m3fn_of_f32((float)x)) \
    NARROW(C, S, read, F8E5M2, uint8_t, f8e5m2_of_f32((float)x))

NARROW_ALL(F32, float, SAME)
NARROW_ALL(F64, double, SAME)
NARROW_ALL(I64, int64_t, SAME)
NARROW_ALL(I32, int32_t, SAME)
NARROW_ALL(U8, uint8_t, SAME)
NARROW_ALL(U64, uint64_t, SAME)
NARROW_ALL(C64, float complex, crealf)
NARROW_ALL(C128, double complex, creal)

#define NARROW_F16(C, S, read) NARROW(C, S, read, F16, uint16_t, f16_of_f32((float)x))
#if !defined(__F16C__)
NARROW_F16(F32, float, SAME)
#endif
NARROW_F16(F64, double, SAME)
NARROW_F16(I64, int64_t, SAME)
NARROW_F16(I32, int32_t, SAME)
NARROW_F16(U8, uint8_t, SAME)
NARROW_F16(U64, uint64_t, SAME)
NARROW_F16(C64, float complex, crealf)
NARROW_F16(C128, double complex, creal)

#define NARROW_ROW(C, T, native)        \
    [CPU_##C] = {NULL,                  \
                 narrow_##C##_BOOL,     \
                 narrow_##C##_U8,       \
                 narrow_##C##_I8,       \
                 narrow_##C##_I16,      \
                 narrow_##C##_I32,      \
                 narrow_##C##_I64,      \
                 narrow_##C##_U16,      \
                 narrow_##C##_U32,      \
                 narrow_##C##_U64,      \
                 narrow_##C##_F16,      \
                 narrow_##C##_BF16,     \
                 narrow_##C##_F32,      \
                 narrow_##C##_F64,      \
                 narrow_##C##_C64,      \
                 narrow_##C##_C128,     \
                 narrow_##C##_F8E4M3FN, \
                 narrow_##C##_F8E5M2},
const cpu_convert_fn CPU_NAME(narrow)[CPU_CLASS_COUNT][WICK_DTYPE_COUNT] = {CPU_CLASSES(NARROW_ROW)};
_Static_assert(WICK_DTYPE_COUNT == 18, "a new dtype needs its conversions here");
