/* Our own matrix product for f32 and f64, compiled per instruction set. Its shape is that of every fast GEMM (a
 * register tile, B in panels, blocks of k that fit the cache) but A is read through two offset tables, so that a
 * convolution is the same loop over the patches of an image. Contracted multiply-adds are wanted here: see
 * CMakeLists.txt. */
#include <string.h>

#include "gemm.h"

#if defined(CPU_ISA_avx512)
#define VECTOR_BYTES 64
#define STRIP 8
#define TILE_HEIGHTS(X, separator) X(8) separator X(4) separator X(2) separator X(1)
#elif defined(CPU_ISA_avx2)
#define VECTOR_BYTES 32
#define STRIP 4
#define TILE_HEIGHTS(X, separator) X(4) separator X(2) separator X(1)
#else
#define VECTOR_BYTES 16
#define STRIP 4
#define TILE_HEIGHTS(X, separator) X(4) separator X(2) separator X(1)
#endif
#define COMMA ,
#define K_BLOCK 384
#define THIN_BLOCK 128

#define T float
#define NAME(x) x##_f32
#define BLOCK 8
#define BLOCK_ROUNDS 3
#define BLOCK_LOW 0, 8, 1, 9, 2, 10, 3, 11
#define BLOCK_HIGH 4, 12, 5, 13, 6, 14, 7, 15
#include "gemm_tile.inc"
#undef T
#undef NAME
#undef BLOCK
#undef BLOCK_ROUNDS
#undef BLOCK_LOW
#undef BLOCK_HIGH

#define T double
#define NAME(x) x##_f64
#define BLOCK 4
#define BLOCK_ROUNDS 2
#define BLOCK_LOW 0, 4, 1, 5
#define BLOCK_HIGH 2, 6, 3, 7
#include "gemm_tile.inc"

const cpu_gemm_isa CPU_NAME(gemm_isa) = {
    .f32 = {VECTOR_BYTES / sizeof(float), STRIP, run_f32, run_thin_f32, pack_f32, transpose_f32, dot_f32,
            combine_rows_f32},
    .f64 = {VECTOR_BYTES / sizeof(double), STRIP, run_f64, run_thin_f64, pack_f64, transpose_f64, dot_f64,
            combine_rows_f64},
};
