/* Products by a BLAS: complex ones, and large ones where its kernels are better than ours or the user named it. */
#include <limits.h>
#include <string.h>

#include "blas.h"
#include "gemm_solvers.h"

/* From here on a BLAS whose kernels suit the machine overtakes ours, other than those for AVX-512. */
#define BLAS_MULTIPLY_ADDS (INT64_C(1) << 25)

/* BLAS takes row-major C and matrices of which one stride is 1, in int sizes. */
static bool fits_blas_matrix(const cpu_matrix *x, int64_t rows, int64_t cols) {
    const int64_t ld = x->col == 1 ? x->row : x->col, least = x->col == 1 ? cols : rows;
    return (x->col == 1 || x->row == 1) && ld >= at_least(least, 1) && ld <= INT_MAX;
}

static bool fits_blas(const cpu_gemm *g) {
    return g->m <= INT_MAX && g->n <= INT_MAX && g->k > 0 && g->k <= INT_MAX && g->c.col == 1 && g->c.row >= g->n &&
           g->c.row <= INT_MAX && fits_blas_matrix(&g->a, g->m, g->k) && fits_blas_matrix(&g->b, g->k, g->n);
}

bool cpu_gemm_prefers_blas(const cpu_instance *cpu, const cpu_gemm *g) {
    if (!cpu->blas || !fits_blas(g)) return false;
    if (wick_dtype_is_complex(g->dtype)) return true;
    if (work_of(g) < (double)BLAS_MULTIPLY_ADDS) return false;
    return cpu->blas->named || (cpu->isa < CPU_ISA_AVX512 && cpu->blas->isa >= cpu->isa);
}

typedef struct blas_job {
    const cpu_blas *blas;
    const cpu_gemm *g;
    const cpu_gemm_factors *f;
    int64_t rows, cols, col_parts; /* of a part of C */
    size_t bytes;
} blas_job;

static void copy_s(const blas_job *job, char *c, const char *s, int64_t m, int64_t n) {
    const cpu_gemm *g = job->g;
    if (c == s && g->s.row == g->c.row && g->s.col == 1) return;
    for (int64_t i = 0; i < m; ++i) {
        char *to = c + (size_t)(i * g->c.row) * job->bytes;
        const char *from = s + (size_t)(i * g->s.row) * job->bytes;
        if (g->s.col == 1)
            memcpy(to, from, (size_t)n * job->bytes);
        else
            for (int64_t j = 0; j < n; ++j)
                memcpy(to + (size_t)j * job->bytes, from + (size_t)(j * g->s.col) * job->bytes, job->bytes);
    }
}

static void call_blas(const blas_job *job, int m, int n, const void *a, const void *b, void *c) {
    const cpu_gemm *g = job->g;
    const cpu_gemm_factors *f = job->f;
    const cpu_blas *blas = job->blas;
    const int ta = g->a.col == 1 ? CPU_BLAS_NO_TRANS : CPU_BLAS_TRANS,
              tb = g->b.col == 1 ? CPU_BLAS_NO_TRANS : CPU_BLAS_TRANS;
    const int lda = (int)(g->a.col == 1 ? g->a.row : g->a.col), ldb = (int)(g->b.col == 1 ? g->b.row : g->b.col);
    const int k = (int)g->k, ldc = (int)g->c.row, order = CPU_BLAS_ROW_MAJOR;
    if (g->dtype == WICK_F32)
        blas->sgemm(order, ta, tb, m, n, k, f->alpha_f[0], a, lda, b, ldb, f->beta_f[0], c, ldc);
    else if (g->dtype == WICK_F64)
        blas->dgemm(order, ta, tb, m, n, k, f->alpha[0], a, lda, b, ldb, f->beta[0], c, ldc);
    else if (g->dtype == WICK_C64)
        blas->cgemm(order, ta, tb, m, n, k, f->alpha_f, a, lda, b, ldb, f->beta_f, c, ldc);
    else
        blas->zgemm(order, ta, tb, m, n, k, f->alpha, a, lda, b, ldb, f->beta, c, ldc);
}

static void run_blas_parts(void *user, int64_t begin, int64_t end, int worker) {
    const blas_job *job = user;
    const cpu_gemm *g = job->g;
    for (int64_t t = begin; t < end; ++t) {
        const int64_t i = t / job->col_parts * job->rows, j = t % job->col_parts * job->cols;
        const int64_t m = at_most(g->m - i, job->rows), n = at_most(g->n - j, job->cols);
        char *c = (char *)g->c.data + (size_t)(i * g->c.row + j) * job->bytes;
        if (job->f->beta[0] != 0 || job->f->beta[1] != 0)
            copy_s(job, c, (const char *)g->s.data + (size_t)(i * g->s.row + j * g->s.col) * job->bytes, m, n);
        call_blas(job, (int)m, (int)n, (const char *)g->a.data + (size_t)(i * g->a.row) * job->bytes,
                  (const char *)g->b.data + (size_t)(j * g->b.col) * job->bytes, c);
    }
}

/* One part of C a thread, as square as can be. */
void cpu_gemm_run_blas(cpu_instance *cpu, const cpu_gemm_plan *plan, void *scratch) {
    const cpu_gemm *g = &plan->g;
    const double work = work_of(g);
    const int threads = work > 2.0 * GRAIN_MULTIPLY_ADDS ? cpu_thread_count(cpu) : 1;
    const int row_parts = row_parts_of(g->m, g->n, threads);
    blas_job job = {.blas = cpu->blas, .g = g, .f = &plan->factors, .bytes = wick_dtype_bytes(g->dtype)};
    job.rows = divide_up(divide_up(g->m, row_parts), 16) * 16;
    job.cols = divide_up(divide_up(g->n, threads / row_parts), 16) * 16;
    job.col_parts = divide_up(g->n, job.cols);
    cpu_parallel_for(cpu, divide_up(g->m, job.rows) * job.col_parts, 1, run_blas_parts, &job);
}
