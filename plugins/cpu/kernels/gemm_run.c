/* Chooses how a matrix product is computed. */
#include "gemm_solvers.h"

const cpu_gemm_type *cpu_gemm_type_of(const cpu_instance *cpu, wick_dtype dtype) {
    static const cpu_gemm_isa *const by_isa[] = {
        &cpu_gemm_isa_base,
#ifdef CPU_HAVE_X86
        &cpu_gemm_isa_avx2,
        &cpu_gemm_isa_avx512,
#endif
    };
    if (dtype == WICK_I64) return &cpu_gemm_int64;
    return dtype == WICK_F32 ? &by_isa[cpu->isa]->f32 : &by_isa[cpu->isa]->f64;
}

int64_t cpu_gemm_panel(const cpu_gemm_type *type, int64_t n) {
    const int64_t vectors = at_least(divide_up(n, type->vector), 1);
    if (vectors <= 3) return vectors * type->vector;
    if (vectors == 4 && type->strip >= 8) return 4 * type->vector;
    return divide_up(vectors, divide_up(vectors, 3)) * type->vector;
}

int64_t cpu_gemm_packed_count(const cpu_gemm_type *type, int64_t k, int64_t n) {
    const int64_t panel = cpu_gemm_panel(type, n);
    return divide_up(n, panel) * panel * k;
}

/* ---- alpha and beta ---- */
static void read_factor(const wick_value *value, double *out) {
    out[0] = value ? wick_value_as_double(value) : 1;
    out[1] = value && value->tag == WICK_TAG_C128 ? value->as.c[1] : 0;
}

static cpu_gemm_factors read_factors(const cpu_gemm *g) {
    cpu_gemm_factors f;
    read_factor(g->alpha, f.alpha);
    read_factor(g->beta, f.beta);
    for (int i = 0; i < 2; ++i) f.alpha_f[i] = (float)f.alpha[i], f.beta_f[i] = (float)f.beta[i];
    return f;
}

/* ---- the choice ---- */
/* The same problem transposed: C^T = B^T A^T. */
static cpu_gemm transposed(const cpu_gemm *g) {
    cpu_gemm t = *g;
    t.m = g->n, t.n = g->m;
    t.a = (cpu_matrix){g->b.data, g->b.col, g->b.row};
    t.b = (cpu_matrix){g->a.data, g->a.col, g->a.row};
    t.c = (cpu_matrix){g->c.data, g->c.col, g->c.row};
    t.s = (cpu_matrix){g->s.data, g->s.col, g->s.row};
    return t;
}

/* Few columns would leave much of every register empty; its many rows fill them. */
static bool is_narrow(const cpu_instance *cpu, const cpu_gemm *g) {
    const int64_t vector = cpu_gemm_type_of(cpu, g->dtype)->vector;
    return 4 * g->n <= 3 * vector && g->m >= 2 * vector;
}

static cpu_gemm_solver solver_of(const cpu_instance *cpu, const cpu_gemm *g) {
    const bool own = is_own_type(g->dtype);
    if (own && g->n == 1) return CPU_GEMM_VECTOR;
    if (cpu_gemm_prefers_blas(cpu, g)) return CPU_GEMM_BLAS;
    if (!own) return CPU_GEMM_LOOPS;
    return cpu_gemm_suits_dots(cpu, g) ? CPU_GEMM_DOTS : CPU_GEMM_TILES;
}

static void transpose_plan(cpu_gemm_plan *plan) {
    plan->g = transposed(&plan->g);
    plan->transposed = !plan->transposed;
}

/* Vectors stand upright, C's rows are contiguous where that is a matter of the point of view, and not too short. A
 * stride of a dimension of size 1 means nothing and becomes what suits. */
static void choose_form(const cpu_instance *cpu, cpu_gemm_plan *plan) {
    cpu_gemm *x = &plan->g;
    if (x->n != 1 && (x->m == 1 || (x->c.col != 1 && x->c.row == 1))) transpose_plan(plan);
    if (x->n == 1) x->b.col = 1, x->c.col = 1;
    if (x->m == 1) x->a.row = x->k, x->c.row = x->n;
    if (x->k == 1) x->a.col = 1, x->b.row = x->n;
    plan->solver = solver_of(cpu, x);
    if (plan->solver == CPU_GEMM_TILES && is_narrow(cpu, x)) {
        transpose_plan(plan);
        plan->solver = solver_of(cpu, x);
    }
    if (plan->solver == CPU_GEMM_TILES && cpu_gemm_suits_small(plan)) plan->solver = CPU_GEMM_SMALL;
}

void cpu_gemm_make_plan(const cpu_instance *cpu, cpu_gemm_plan *plan, int threads) {
    const wick_dtype dtype = plan->g.dtype;
    plan->transposed = false;
    plan->threads = threads;
    plan->type = is_own_type(dtype) ? cpu_gemm_type_of(cpu, dtype) : NULL;
    plan->scratch_bytes = 0;
    plan->factors = read_factors(&plan->g);
    choose_form(cpu, plan);
    if (plan->solver == CPU_GEMM_TILES) cpu_gemm_plan_tiles(cpu, plan);
    if (plan->solver == CPU_GEMM_DOTS) plan->scratch_bytes = cpu_gemm_dots_bytes(&plan->g);
    if (plan->solver == CPU_GEMM_VECTOR) plan->scratch_bytes = cpu_gemm_vector_bytes(&plan->g);
}

static void run_loops(cpu_instance *cpu, const cpu_gemm_plan *plan, void *scratch) { cpu_gemm_loops(cpu, &plan->g); }

void cpu_gemm_run(cpu_instance *cpu, const cpu_gemm_plan *plan, void *scratch) {
    static void (*const solvers[])(cpu_instance *, const cpu_gemm_plan *, void *) = {
        [CPU_GEMM_LOOPS] = run_loops,          [CPU_GEMM_VECTOR] = cpu_gemm_run_vector,
        [CPU_GEMM_BLAS] = cpu_gemm_run_blas,   [CPU_GEMM_DOTS] = cpu_gemm_run_dots,
        [CPU_GEMM_SMALL] = cpu_gemm_run_small, [CPU_GEMM_TILES] = cpu_gemm_run_tiles,
    };
    if (plan->g.m == 0 || plan->g.n == 0) return;
    solvers[plan->solver](cpu, plan, scratch);
}
