/* The ways in which a matrix product is computed, a file each; gemm_run.c chooses. */
#ifndef WICK_CPU_GEMM_SOLVERS_H
#define WICK_CPU_GEMM_SOLVERS_H

#include "gemm.h"

/* Below this many multiply-adds a product is not worth a second thread; what a thread then takes at least. */
#define LEAST_MULTIPLY_ADDS (3 << 16)
#define GRAIN_MULTIPLY_ADDS (1 << 17)

static inline int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t at_most(int64_t a, int64_t limit) { return a < limit ? a : limit; }
static inline int64_t at_least(int64_t a, int64_t limit) { return a > limit ? a : limit; }

static inline double work_of(const cpu_gemm *g) { return (double)g->m * (double)g->n * (double)g->k; }

/* Can our own kernels compute it? */
static inline bool is_own_type(wick_dtype dtype) { return dtype == WICK_F32 || dtype == WICK_F64; }

/* Of `tasks` tasks, as many as are worth a thread. */
static inline int64_t grain_of(double work, int64_t tasks) {
    return (int64_t)(GRAIN_MULTIPLY_ADDS * (double)tasks / (work + 1)) + 1;
}

/* Makes element (row, col) the first one. */
static inline void cpu_matrix_move(cpu_matrix *x, int64_t row, int64_t col, size_t bytes) {
    x->data = (char *)x->data + (size_t)(row * x->row + col * x->col) * bytes;
}

/* The parts of rows of an m x n result that make one for each thread, together with those of columns, as square as can be:
 * a divisor of `threads`. */
static inline int row_parts_of(int64_t m, int64_t n, int threads) {
    int best = 1;
    for (int r = 2; r <= threads; ++r)
        if (threads % r == 0 && (double)m / r + (double)n * r / threads < (double)m / best + (double)n * best / threads)
            best = r;
    return best;
}

/* Matrices times vectors (gemm_vector.c). */
size_t cpu_gemm_vector_bytes(const cpu_gemm *g);
void cpu_gemm_run_vector(cpu_instance *cpu, const cpu_gemm_plan *plan, void *scratch);

/* Dot products, for few columns (gemm_narrow.c). */
bool cpu_gemm_suits_dots(const cpu_instance *cpu, const cpu_gemm *g);
size_t cpu_gemm_dots_bytes(const cpu_gemm *g);
void cpu_gemm_run_dots(cpu_instance *cpu, const cpu_gemm_plan *plan, void *scratch);

/* Our own register tiles without preparation (gemm_small.c). */
bool cpu_gemm_suits_small(const cpu_gemm_plan *plan);
void cpu_gemm_run_small(cpu_instance *cpu, const cpu_gemm_plan *plan, void *scratch);

/* Our own register tiles (gemm_tiles.c). */
void cpu_gemm_plan_tiles(const cpu_instance *cpu, cpu_gemm_plan *plan);
void cpu_gemm_run_tiles(cpu_instance *cpu, const cpu_gemm_plan *plan, void *scratch);

/* The BLAS (gemm_blas.c). */
bool cpu_gemm_prefers_blas(const cpu_instance *cpu, const cpu_gemm *g);
void cpu_gemm_run_blas(cpu_instance *cpu, const cpu_gemm_plan *plan, void *scratch);

#endif
