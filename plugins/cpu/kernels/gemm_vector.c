/* A matrix times a vector: bound by memory, read once in the order in which it lies. */
#include "gemm_solvers.h"

typedef struct vector_job {
    const cpu_gemm *g;
    const cpu_gemm_type *type;
    char *y;
    size_t bytes; /* of an element */
} vector_job;

static void dot_rows(void *user, int64_t begin, int64_t end, int worker) {
    const vector_job *job = user;
    const cpu_matrix *a = &job->g->a, *b = &job->g->b;
    for (int64_t i = begin; i < end; ++i) {
        const char *row = (const char *)a->data + (size_t)(i * a->row) * job->bytes;
        const double sum = job->type->dot(row, a->col, b->data, b->row, job->g->k);
        if (job->g->dtype == WICK_F32)
            ((float *)job->y)[i] = (float)sum;
        else
            ((double *)job->y)[i] = sum;
    }
}

static void combine_columns(void *user, int64_t begin, int64_t end, int worker) {
    const vector_job *job = user;
    const cpu_matrix *a = &job->g->a, *b = &job->g->b;
    const char *columns = (const char *)a->data + (size_t)begin * job->bytes;
    job->type->combine_rows(job->y + (size_t)begin * job->bytes, b->data, b->row, columns, a->col, job->g->k,
                            end - begin);
}

#define DEFINE_FINISH_VECTOR(T)                                                                 \
    static void finish_vector_##T(const cpu_gemm *g, const T *y, T alpha, T beta) {             \
        T *c = g->c.data;                                                                       \
        const T *s = g->s.data;                                                                 \
        for (int64_t i = 0; i < g->m; ++i)                                                      \
            c[i * g->c.row] = beta != 0 ? alpha * y[i] + beta * s[i * g->s.row] : alpha * y[i]; \
    }
DEFINE_FINISH_VECTOR(float)
DEFINE_FINISH_VECTOR(double)

size_t cpu_gemm_vector_bytes(const cpu_gemm *g) { return cpu_whole_lines((size_t)g->m * wick_dtype_bytes(g->dtype)); }

void cpu_gemm_run_vector(cpu_instance *cpu, const cpu_gemm_plan *plan, void *scratch) {
    const cpu_gemm *g = &plan->g;
    const cpu_gemm_factors *f = &plan->factors;
    vector_job job = {g, plan->type, scratch, wick_dtype_bytes(g->dtype)};
    const int64_t grain = at_least(CPU_GRAIN / at_least(g->k, 1), 1);
    if (g->a.row == 1 && g->a.col != 1)
        cpu_parallel_for(cpu, g->m, at_least(grain, 64), combine_columns, &job);
    else
        cpu_parallel_for(cpu, g->m, grain, dot_rows, &job);
    if (g->dtype == WICK_F32)
        finish_vector_float(g, scratch, f->alpha_f[0], f->beta_f[0]);
    else
        finish_vector_double(g, scratch, f->alpha[0], f->beta[0]);
}
