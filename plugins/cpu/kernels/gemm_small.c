/* Products so small that what prepares others (tables, packing, blocks) would show. */
#include "gemm_solvers.h"

/* Bytes of each matrix: about all of them stay in the first-level cache. */
#define MOST_BYTES (32 << 10)

bool cpu_gemm_suits_small(const cpu_gemm_plan *plan) {
    const cpu_gemm *g = &plan->g;
    const int64_t bytes = (int64_t)wick_dtype_bytes(g->dtype), vector = plan->type->vector; /* a power of two */
    return g->b.col == 1 && g->c.col == 1 && (g->n & (vector - 1)) == 0 && g->k > 0 &&
           g->m * g->k * bytes <= MOST_BYTES && g->k * g->n * bytes <= MOST_BYTES &&
           g->m * g->n * bytes <= MOST_BYTES && plan->factors.alpha[0] == 1 && plan->factors.beta[0] == 0;
}

typedef struct small_job {
    const cpu_gemm_plan *plan;
    int64_t panel;
} small_job;

static void run_rows(void *user, int64_t begin, int64_t end, int worker) {
    const small_job *job = user;
    const cpu_gemm_plan *plan = job->plan;
    const size_t bytes = wick_dtype_bytes(plan->g.dtype);
    cpu_gemm rows = plan->g;
    rows.m = end - begin;
    cpu_matrix_move(&rows.a, begin, 0, bytes);
    cpu_matrix_move(&rows.c, begin, 0, bytes);
    plan->type->run_small(&rows, job->panel);
}

void cpu_gemm_run_small(cpu_instance *cpu, const cpu_gemm_plan *plan, void *scratch) {
    const cpu_gemm *g = &plan->g;
    const double work = work_of(g);
    small_job job = {plan, cpu_gemm_panel(plan->type, g->n)};
    if (plan->threads == 1 || work <= LEAST_MULTIPLY_ADDS)
        plan->type->run_small(g, job.panel);
    else
        cpu_parallel_for(cpu, g->m, grain_of(work, g->m), run_rows, &job);
}
