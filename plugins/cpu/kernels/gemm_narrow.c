/* Products with few columns: every element is a dot product. */
#include "gemm_solvers.h"

/* Below this many rows it does not pay to pack B. */
#define LEAST_ROWS 8

bool cpu_gemm_suits_dots(const cpu_instance *cpu, const cpu_gemm *g) {
    if (!is_own_type(g->dtype) || g->a.col != 1 || g->b.row != 1) return false;
    const int64_t vector = cpu_gemm_type_of(cpu, g->dtype)->vector;
    return g->n > 1 && g->n <= vector && g->m >= LEAST_ROWS && g->k >= vector && g->k % vector == 0;
}

size_t cpu_gemm_dots_bytes(const cpu_gemm *g) {
    const int64_t columns = divide_up(g->n, CPU_GEMM_DOT_COLUMNS) * CPU_GEMM_DOT_COLUMNS;
    return cpu_whole_lines((size_t)(columns * g->k) * wick_dtype_bytes(g->dtype));
}

typedef struct dots_job {
    cpu_product product;
    const cpu_gemm_type *type;
    int64_t a_row;
} dots_job;

static void run_dot_rows(void *user, int64_t begin, int64_t end, int worker) {
    const dots_job *job = user;
    job->type->run_dots(&job->product, job->a_row, begin, end);
}

void cpu_gemm_run_dots(cpu_instance *cpu, const cpu_gemm_plan *plan, void *scratch) {
    const cpu_gemm *g = &plan->g;
    dots_job job = {.type = plan->type, .a_row = g->a.row};
    plan->type->pack_dots(scratch, g->b.data, g->b.col, g->k, g->n);
    job.product = (cpu_product){
        .m = g->m,
        .n = g->n,
        .k = g->k,
        .a = g->a.data,
        .b = scratch,
        .c = g->c.data,
        .c_row = g->c.row,
        .c_col = g->c.col,
        .s = g->s.data,
        .s_row = g->s.row,
        .s_col = g->s.col,
        .alpha = plan->factors.alpha[0],
        .beta = plan->factors.beta[0],
    };
    const int64_t grain = g->m * g->n * g->k <= GRAIN_MULTIPLY_ADDS ? g->m : GRAIN_MULTIPLY_ADDS / (g->n * g->k);
    cpu_parallel_for(cpu, g->m, at_least(grain, 8), run_dot_rows, &job);
}
