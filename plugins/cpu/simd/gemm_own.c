/* Our own matrix product for f32 and f64, compiled per instruction set. Its shape is that of every fast GEMM (a
 * register tile, B in panels, blocks of k that fit the cache) but A is read through two offset tables, so that a
 * convolution is the same loop over the patches of an image. Contracted multiply-adds are wanted here: see
 * CMakeLists.txt. */
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "gemm.h"

/* X(m) for the heights m of tiles. */
#define HEIGHTS_4(X) \
    X(1)             \
    X(2)             \
    X(3)             \
    X(4)
#define HEIGHTS_6(X)  \
    HEIGHTS_4(X) X(5) \
    X(6)
#define HEIGHTS_8(X)  \
    HEIGHTS_6(X) X(7) \
    X(8)
#if defined(CPU_ISA_avx512)
#define VECTOR_BYTES 64
#define STRIP 8
#define HEIGHTS HEIGHTS_8
#define ROW_NUMBERS 0, 1, 2, 3, 4, 5, 6, 7
#define WIDE_STRIP 6 /* of tiles of four vectors */
#elif defined(CPU_ISA_avx2)
#define VECTOR_BYTES 32
#define STRIP 4
#define HEIGHTS HEIGHTS_4
#define ROW_NUMBERS 0, 1, 2, 3
#else
#define VECTOR_BYTES 16
#define STRIP 4
#define HEIGHTS HEIGHTS_4
#define ROW_NUMBERS 0, 1, 2, 3
#endif
#define LEAST_BLOCK CPU_GEMM_LEAST_K_BLOCK /* also the block where A is gathered */
#define FIRST_CACHE (32 << 10)             /* bytes of the first-level cache that A may take */
#define THIN_BLOCK 128
#define AHEAD 8         /* rows of a panel that are asked for before they are read */
#define TURN_COLUMNS 64 /* of a matrix that is transposed, at a time */
/* Keep a compiler from loading a vector once for every use; from multiplying into a register that holds a factor, as the sum
 * would then have to be moved back; and from keeping what follows from an address in registers that a loop needs. */
#if defined(__x86_64__)
#define IN_REGISTER(v) __asm__("" : "+v"(v))
#define STILL_NEEDED(v) __asm__("" ::"v"(v))
#define COMPUTE_AGAIN(address) __asm__("" : "+r"(address))
#else
#define IN_REGISTER(v) (void)(v)
#define STILL_NEEDED(v) (void)(v)
#define COMPUTE_AGAIN(address) (void)(address)
#endif

/* Registers made of parts of 128 bits, loaded from different places (JOIN) or all from one (SPREAD), or of parts of 256 bits
 * (SPREAD_PAIR). Transpositions are limited by loads and shuffles, which registers of 256 bits have more of (JOIN_TURNED). */
typedef double part128 __attribute__((vector_size(16), aligned(4), may_alias));
#define PART(i) (*(const part128 *)part[i])
#if VECTOR_BYTES >= 32 /* the second part is inserted from memory */
#define JOIN2(i) _mm256_insertf128_pd(_mm256_castpd128_pd256((__m128d)PART(i)), (__m128d)PART(i + 1), 1)
#endif
#if VECTOR_BYTES == 64
#define JOIN(part) _mm512_insertf64x4(_mm512_castpd256_pd512(JOIN2(0)), JOIN2(2), 1)
#define SPREAD(from) _mm512_broadcast_f32x4(_mm_loadu_ps((const float *)(from)))
#define SPREAD_PAIR(from) _mm512_broadcast_f32x8(_mm256_loadu_ps((const float *)(from)))
#define TURN_BYTES 32
#elif VECTOR_BYTES == 32
#define JOIN(part) JOIN2(0)
#define SPREAD_PAIR(from) SPREAD(from) /* unused */
#define SPREAD(from) _mm256_broadcast_ps((const __m128 *)(from))
#define TURN_BYTES 32
#else
#define JOIN(part) PART(0)
#define SPREAD_PAIR(from) SPREAD(from) /* unused */
#define SPREAD(from) (*(const part128 *)(from))
#define TURN_BYTES 16
#endif
#if TURN_BYTES == 32
#define JOIN_TURNED(part) JOIN2(0)
#define EACH_QUAD(X) \
    X(0)             \
    , X(1)
#else
#define JOIN_TURNED(part) PART(0)
#define EACH_QUAD(X) X(0)
#endif

/* LISTn(X, d) is X(l, d) for n lanes l. */
#define LIST2(X, d, l) \
    X(l, d)            \
    , X(l + 1, d)
#define LIST4(X, d, l) LIST2(X, d, l), LIST2(X, d, l + 2)
#define LIST8(X, d, l) LIST4(X, d, l), LIST4(X, d, l + 4)
#define LIST16(X, d, l) LIST8(X, d, l), LIST8(X, d, l + 8)
#if VECTOR_BYTES == 64
#define LIST_F32 LIST16
#define LIST_F64 LIST8
#elif VECTOR_BYTES == 32
#define LIST_F32 LIST8
#define LIST_F64 LIST4
#else
#define LIST_F32 LIST4
#define LIST_F64 LIST2
#endif
#define DOT_ROWS STRIP

#define T float
#define EACH_LANE(X, d) LIST_F32(X, d, 0)
#define NAME(x) x##_f32
#define QUAD 4
#define LOW(i) 4 * (i), TURN_LANES + 4 * (i), 4 * (i) + 1, TURN_LANES + 4 * (i) + 1
#define HIGH(i) 4 * (i) + 2, TURN_LANES + 4 * (i) + 2, 4 * (i) + 3, TURN_LANES + 4 * (i) + 3
#include "gemm_tile.inc"
#undef T
#undef NAME
#undef QUAD
#undef LOW
#undef HIGH

#undef EACH_LANE
#define T double
#define EACH_LANE(X, d) LIST_F64(X, d, 0)
#define NAME(x) x##_f64
#define QUAD 2
#define LOW(i) 2 * (i), TURN_LANES + 2 * (i)
#define HIGH(i) 2 * (i) + 1, TURN_LANES + 2 * (i) + 1
#include "gemm_tile.inc"

/* Of int64, whatever T is. */
static void offsets(int64_t *out, int64_t n, int64_t step) {
    enum { LANES = VECTOR_BYTES / sizeof(int64_t) };
    typedef int64_t lanes __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(int64_t)), may_alias));
    static const int64_t numbers[] = {ROW_NUMBERS};
    lanes at = *(const lanes *)numbers * step;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES, at += LANES * step) *(lanes *)(out + i) = at;
    for (; i < n; ++i) out[i] = i * step;
}

const cpu_gemm_isa CPU_NAME(gemm_isa) = {
    .f32 = {VECTOR_BYTES / sizeof(float), STRIP, run_f32, run_small_f32, run_thin_f32, run_dots_f32, pack_dots_f32,
            pack_f32, offsets, transpose_f32, dot_f32, combine_rows_f32},
    .f64 = {VECTOR_BYTES / sizeof(double), STRIP, run_f64, run_small_f64, run_thin_f64, run_dots_f64, pack_dots_f64,
            pack_f64, offsets, transpose_f64, dot_f64, combine_rows_f64},
};
