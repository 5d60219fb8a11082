/* Matrix products for the kernels: one problem description, solved by our own register-tiled kernels, by a BLAS opened
 * at run time (src/blas.h), or by plain loops, whichever is fastest for the shape and dtype. */
#ifndef WICK_CPU_GEMM_H
#define WICK_CPU_GEMM_H

#include "cpu.h"

/* ---- problems: what kernels solve ---- */
typedef struct cpu_matrix {
    void *data;       /* element (0, 0) */
    int64_t row, col; /* strides in elements */
} cpu_matrix;

typedef struct cpu_gemm {
    wick_dtype dtype; /* F32 F64 C64 C128, or an integer dtype */
    int64_t m, n, k;
    cpu_matrix a, b, c, s;
    const wick_value *alpha, *beta; /* NULL: 1; beta 0: s is not read */
} cpu_gemm;

/* ---- tiles: what simd/gemm_own.c offers for f32 and f64 ---- */
/* C = alpha * A B + beta * S. A's element (i, p) is a[rows[i] + cols[p]]: a matrix with any strides, or the
 * patches of an image. B lies in panels of `panel` columns: element (p, j) is b[j / panel * b_panel + p * b_row +
 * j % panel]. Rows of a panel must be readable up to the next whole vector. C and S have any strides; S may be C,
 * and is not read if beta is 0. */
typedef struct cpu_product {
    int64_t m, n, k;
    const void *a;
    const int64_t *rows, *cols;
    bool large; /* B is packed, and neither it nor C is in the first-level cache */
    const void *b;
    int64_t b_row, b_panel, panel;
    void *c;
    int64_t c_row, c_col;
    const void *s;
    int64_t s_row, s_col;
    double alpha, beta;
} cpu_product;

/* Tiles take so much of k at a time at least, where there is as much, and at most. A block of B that is read again for every
 * strip of rows has about so many elements, and stays in the second-level cache; those of large products go by the size of
 * that (cpu_instance.block_bytes). */
enum { CPU_GEMM_LEAST_K_BLOCK = 384, CPU_GEMM_K_BLOCK = 1024, CPU_GEMM_BLOCK_COUNT = CPU_GEMM_K_BLOCK * 144 };

/* Columns of B that share a register at most (pack_dots). */
enum { CPU_GEMM_DOT_COLUMNS = 4 };

/* One dtype's functions of one instruction set. Pointers are to elements of that dtype; strides count elements. */
typedef struct cpu_gemm_type {
    int64_t vector; /* elements of a SIMD register */
    int64_t strip;  /* rows of a register tile */
    /* Computes the part [m0, m1) x [n0, n1); n0 is a multiple of the panel. */
    void (*run)(const cpu_product *p, int64_t m0, int64_t m1, int64_t n0, int64_t n1);
    /* C = A B on one thread for n of whole vectors, where the rows of B and of C are contiguous, and k > 0: for products so
     * small that the tables of a cpu_product would show. */
    void (*run_small)(const cpu_gemm *g, int64_t panel);
    /* What `run` does for the rows [m0, m1) and all columns, for very few columns: it is vectorized along the rows of A, which
     * come in runs of `length` that are evenly spaced (the pixels of an image row). */
    void (*run_thin)(const cpu_product *p, int64_t m0, int64_t m1, int64_t length);
    /* Likewise for at most `vector` columns and a k of whole vectors, where the rows of A are contiguous, a_row apart, and
     * B is what pack_dots made of it: every element of C is a dot product. p's rows, cols and panels are not read. */
    void (*run_dots)(const cpu_product *p, int64_t a_row, int64_t m0, int64_t m1);
    /* Of a B with contiguous columns; `out` has room for n columns, rounded up to a multiple of CPU_GEMM_DOT_COLUMNS. */
    void (*pack_dots)(void *out, const void *b, int64_t b_col, int64_t k, int64_t n);
    /* Copies columns [n0, n1) of a k x n matrix into panels of width `panel`, filled up with zeros to whole vectors; n0 is
     * a multiple of the panel, and `out` is its place. */
    void (*pack)(void *out, const void *b, int64_t row, int64_t col, int64_t k, int64_t n0, int64_t n1, int64_t panel);
    void (*offsets)(int64_t *out, int64_t n, int64_t step); /* out[i] = i * step */
    /* out[p * n + j] = in[j * row + p]: a transposed copy of `n` rows of `k`. */
    void (*transpose)(void *out, int64_t out_row, const void *in, int64_t in_row, int64_t n, int64_t k);
    double (*dot)(const void *x, int64_t x_stride, const void *y, int64_t y_stride, int64_t n);
    /* y[0..n) = sum over p of x[p * x_stride] * b[p * row + j] */
    void (*combine_rows)(void *y, const void *x, int64_t x_stride, const void *b, int64_t row, int64_t k, int64_t n);
} cpu_gemm_type;

typedef struct cpu_gemm_isa {
    cpu_gemm_type f32, f64;
} cpu_gemm_isa;

extern const cpu_gemm_isa cpu_gemm_isa_base, cpu_gemm_isa_avx2, cpu_gemm_isa_avx512;

/* The same for int64, by plain loops: without run_small, run_thin, run_dots, pack_dots, offsets, dot and combine_rows. */
extern const cpu_gemm_type cpu_gemm_int64;

/* The functions for F32, F64 or I64 of the instance's instruction set. */
const cpu_gemm_type *cpu_gemm_type_of(const cpu_instance *cpu, wick_dtype dtype);
/* The panel width that spreads n columns most evenly over register tiles. */
int64_t cpu_gemm_panel(const cpu_gemm_type *type, int64_t n);
/* Elements that a packed k x n matrix takes. */
int64_t cpu_gemm_packed_count(const cpu_gemm_type *type, int64_t k, int64_t n);

/* ---- solutions ---- */
/* What solves a problem. */
typedef enum cpu_gemm_solver {
    CPU_GEMM_LOOPS,  /* plain loops */
    CPU_GEMM_VECTOR, /* a matrix times a vector */
    CPU_GEMM_BLAS,
    CPU_GEMM_DOTS,  /* dot products */
    CPU_GEMM_SMALL, /* our own register tiles, of operands that are in the first-level cache and need no preparation */
    CPU_GEMM_TILES  /* our own register tiles */
} cpu_gemm_solver;

typedef struct cpu_gemm_factors {
    double alpha[2], beta[2]; /* complex */
    float alpha_f[2], beta_f[2];
} cpu_gemm_factors;

/* What is found out once, for all products of a batch. */
typedef struct cpu_gemm_plan {
    cpu_gemm g;      /* the problem as it is solved: in a form that suits the solver */
    bool transposed; /* C^T = B^T A^T is solved: g.a is the caller's B */
    cpu_gemm_solver solver;
    cpu_gemm_factors factors;
    const cpu_gemm_type *type; /* of F32 and F64 */
    int threads;               /* that may work on it */
    /* For tiles: */
    bool packed, by_columns;      /* by_columns: threads share the columns, and each packs its own, a panel at a time */
    int64_t panel;                /* columns of a panel */
    int64_t slice, k_block;       /* columns and rows of a block of B */
    int64_t part_rows, part_cols; /* of C, that a thread takes for itself; all where they share in another way */
    size_t offsets_bytes, part_bytes;
    /* For all: */
    size_t scratch_bytes;
} cpu_gemm_plan;

/* plan->g is the problem; all else is filled. `threads`: all of the instance, or 1 for a product inside a parallel loop. */
void cpu_gemm_make_plan(const cpu_instance *cpu, cpu_gemm_plan *plan, int threads);

/* C = alpha * A B + beta * S, on all threads, or on the caller's if it is inside a parallel loop. `scratch` has the
 * plan's scratch_bytes, aligned to 64. C overlaps neither A nor B; S is C or apart from it. */
void cpu_gemm_run(cpu_instance *cpu, const cpu_gemm_plan *plan, void *scratch);

/* The plain loops behind it, for integers (which wrap around) and for complex numbers without a BLAS. */
void cpu_gemm_loops(cpu_instance *cpu, const cpu_gemm *g);

/* `bytes` rounded up to whole cache lines. */
static inline size_t cpu_whole_lines(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

/* Scratch memory of the call, aligned to 64; never NULL on success, even for 0 bytes. */
wick_status *cpu_scratch(const wick_kernel_call *call, size_t bytes, void **out);

#endif
