/* Products by our own register tiles: what is packed, and how threads share the work. */
#include "gemm_solvers.h"

/* Up to this many rows threads share a product with a packed B by its columns. */
#define ROWS_BY_COLUMNS 512
/* So many elements of A stay in the second-level cache beside what else is there. */
#define CACHED_COUNT (INT64_C(1) << 15)
/* From here on every thread takes a part of C for itself. */
#define PARTS_MULTIPLY_ADDS (INT64_C(1) << 23)

/* ---- the plan ---- */
/* Panels that are packed one by one where they are used, by the thread that uses them: on one thread a panel is still in the
 * first-level cache then; and what another thread packs would take longer to fetch than a product with few rows. */
static bool plan_columns(cpu_gemm_plan *plan, int threads) {
    const cpu_gemm *g = &plan->g;
    if (!plan->packed || g->m > ROWS_BY_COLUMNS) return false;
    if (threads == 1 || work_of(g) <= LEAST_MULTIPLY_ADDS) {
        plan->panel = cpu_gemm_panel(plan->type, g->n);
        return g->m * g->k <= CACHED_COUNT;
    }
    const int64_t vector = plan->type->vector, vectors = divide_up(divide_up(g->n, vector), threads); /* of a thread */
    if (g->n < 2 * threads * vector || vectors * vector * g->k > CPU_GEMM_BLOCK_COUNT) return false;
    plan->panel = divide_up(vectors, divide_up(vectors, 3)) * vector;
    return true;
}

static bool in_parts(const cpu_gemm_plan *plan) { return plan->part_rows < plan->g.m || plan->part_cols < plan->g.n; }

/* A block of a packed B stays in the second-level cache while all rows of A pass by. */
static void plan_blocks(const cpu_instance *cpu, cpu_gemm_plan *plan) {
    const int64_t n = plan->part_cols;
    const int64_t count = cpu->block_bytes / (int64_t)wick_dtype_bytes(plan->g.dtype), panel = plan->panel;
    const int64_t k = at_most(at_least(count / at_least(n, 1), CPU_GEMM_LEAST_K_BLOCK), CPU_GEMM_K_BLOCK);
    const int64_t slices = divide_up(n, at_least(count / at_most(plan->g.k, k), panel));
    plan->k_block = plan->g.k <= k ? plan->g.k : divide_up(plan->g.k, divide_up(plan->g.k, k));
    plan->slice = divide_up(divide_up(n, slices), panel) * panel;
}

/* A part of C for each thread, that packs its own B and need not wait for others. */
static void plan_parts(cpu_gemm_plan *plan) {
    const cpu_gemm *g = &plan->g;
    const int rows = row_parts_of(g->m, g->n, plan->threads), cols = plan->threads / rows;
    plan->part_rows = divide_up(divide_up(g->m, rows), plan->type->strip) * plan->type->strip;
    plan->part_cols = divide_up(divide_up(g->n, cols), plan->type->vector) * plan->type->vector;
}

void cpu_gemm_plan_tiles(const cpu_instance *cpu, cpu_gemm_plan *plan) {
    const cpu_gemm *g = &plan->g;
    const size_t bytes = wick_dtype_bytes(g->dtype);
    const bool whole_vectors = g->b.col == 1 && g->n % plan->type->vector == 0;
    const bool fits_cache = (size_t)(g->k * g->n) * bytes <= 256 << 10;
    plan->packed = !whole_vectors || !(fits_cache || g->m <= 4 * plan->type->strip);
    plan->by_columns = plan_columns(plan, plan->threads);
    plan->part_rows = g->m, plan->part_cols = g->n;
    const bool blocks = plan->packed && !plan->by_columns && g->k > 0;
    if (blocks && plan->threads > 1 && work_of(g) >= (double)PARTS_MULTIPLY_ADDS) plan_parts(plan);
    if (!plan->by_columns) plan->panel = cpu_gemm_panel(plan->type, plan->part_cols);
    plan->slice = plan->part_cols, plan->k_block = at_least(g->k, 1);
    if (blocks) plan_blocks(cpu, plan);
    plan->offsets_bytes = cpu_whole_lines((size_t)(plan->part_rows + g->k) * sizeof(int64_t));
    const int64_t packed = plan->by_columns ? plan->threads * plan->panel : plan->packed ? plan->slice : 0;
    plan->part_bytes = plan->offsets_bytes + cpu_whole_lines((size_t)(packed * plan->k_block) * bytes);
    plan->scratch_bytes = plan->part_bytes * (size_t)(in_parts(plan) ? plan->threads : 1);
}

/* ---- one part ---- */
typedef struct tile_job {
    const cpu_gemm *g;
    const cpu_gemm_plan *plan;
    cpu_product product;
    char *packed;
    int64_t row_block, col_block, col_blocks;
} tile_job;

static void pack_to(const tile_job *job, char *out, int64_t begin, int64_t end) {
    const cpu_matrix *b = &job->g->b;
    const int64_t panel = job->plan->panel;
    job->plan->type->pack(out, job->product.b, b->row, b->col, job->product.k, begin * panel,
                          at_most(end * panel, job->product.n), panel);
}

static size_t panel_bytes(const tile_job *job) {
    return (size_t)(job->plan->panel * job->product.k) * wick_dtype_bytes(job->g->dtype);
}

static void pack_panels(void *user, int64_t begin, int64_t end, int worker) {
    const tile_job *job = user;
    pack_to(job, job->packed + (size_t)begin * panel_bytes(job), begin, end);
}

static void run_columns(void *user, int64_t begin, int64_t end, int worker) {
    const tile_job *job = user;
    const int64_t panel = job->plan->panel;
    char *packed = job->packed + (size_t)worker * panel_bytes(job);
    cpu_product p = job->product;
    p.b = packed, p.b_panel = 0;
    for (int64_t i = begin; i < end; ++i) {
        pack_to(job, packed, i, i + 1);
        job->plan->type->run(&p, 0, p.m, i * panel, at_most((i + 1) * panel, p.n));
    }
}

static void run_blocks(void *user, int64_t begin, int64_t end, int worker) {
    const tile_job *job = user;
    const cpu_product *p = &job->product;
    for (int64_t t = begin; t < end; ++t) {
        const int64_t m0 = t / job->col_blocks * job->row_block, n0 = t % job->col_blocks * job->col_block;
        job->plan->type->run(p, m0, at_most(m0 + job->row_block, p->m), n0, at_most(n0 + job->col_block, p->n));
    }
}

/* Blocks of C: columns so that B's part stays cached, rows so that every thread gets several blocks. */
static void run_product(cpu_instance *cpu, tile_job *job) {
    const cpu_product *p = &job->product;
    const int64_t strip = job->plan->type->strip, threads = cpu_thread_count(cpu);
    const double work = (double)p->m * (double)p->n * (double)p->k;
    const int64_t columns =
        job->plan->packed ? p->n : CPU_GEMM_BLOCK_COUNT / at_least(at_most(p->k, CPU_GEMM_K_BLOCK), 1);
    if ((work <= LEAST_MULTIPLY_ADDS || threads == 1) &&
        p->n <= columns) { /* often so small that divisions would show */
        job->plan->type->run(p, 0, p->m, 0, p->n);
        return;
    }
    job->col_block = at_least(columns / p->panel, 1) * p->panel;
    if (p->m <= 2 * strip && threads > 1) /* a low matrix is split by columns */
        job->col_block = at_most(job->col_block, divide_up(divide_up(p->n, 2 * threads), p->panel) * p->panel);
    job->col_blocks = divide_up(p->n, job->col_block);
    const int64_t row_blocks = work <= LEAST_MULTIPLY_ADDS ? 1 : divide_up(4 * threads, job->col_blocks);
    job->row_block = divide_up(divide_up(p->m, row_blocks), strip) * strip;
    const int64_t tasks = divide_up(p->m, job->row_block) * job->col_blocks;
    cpu_parallel_for(cpu, tasks, grain_of(work, tasks), run_blocks, job);
}

/* The part of the product of B's block of k rows from k0 on and n columns from n0 on; those behind the first k add to C. */
static void set_block(tile_job *job, const int64_t *cols, int64_t n0, int64_t n, int64_t k0, int64_t k) {
    const cpu_gemm *g = job->g;
    const size_t bytes = wick_dtype_bytes(g->dtype);
    const cpu_matrix *s = k0 ? &g->c : &g->s;
    cpu_product *p = &job->product;
    p->n = n, p->k = k;
    p->cols = cols + k0;
    p->b = (const char *)g->b.data + (size_t)(k0 * g->b.row + n0 * g->b.col) * bytes;
    p->c = (char *)g->c.data + (size_t)(n0 * g->c.col) * bytes;
    p->beta = k0 ? 1 : job->plan->factors.beta[0];
    if (p->beta == 0) return;
    p->s = (const char *)s->data + (size_t)(n0 * s->col) * bytes;
    p->s_row = s->row, p->s_col = s->col;
}

static void pack_block(cpu_instance *cpu, tile_job *job) {
    const int64_t panel = job->plan->panel, panels = divide_up(job->product.n, panel);
    cpu_product *p = &job->product;
    const int64_t grain = p->k * p->n < CPU_GRAIN ? panels : at_least(CPU_GRAIN / (p->k * panel), 1);
    cpu_parallel_for(cpu, panels, grain, pack_panels, job);
    p->b = job->packed, p->b_panel = panel * p->k;
    p->large = p->n > 2 * panel && p->m > 2 * job->plan->type->strip;
}

static void run_tile_block(cpu_instance *cpu, tile_job *job) {
    if (job->plan->by_columns) {
        const int64_t panels = divide_up(job->product.n, job->plan->panel);
        const int64_t grain = job->plan->threads == 1 ? panels : grain_of(work_of(job->g), panels);
        cpu_parallel_for(cpu, panels, grain, run_columns, job);
        return;
    }
    if (job->plan->packed) pack_block(cpu, job);
    run_product(cpu, job);
}

static void run_part(cpu_instance *cpu, const cpu_gemm_plan *plan, void *scratch) {
    const cpu_gemm *g = &plan->g;
    int64_t *rows = scratch, *cols = rows + g->m;
    plan->type->offsets(rows, g->m, g->a.row);
    plan->type->offsets(cols, g->k, g->a.col);
    tile_job job = {.g = g, .plan = plan, .packed = (char *)scratch + plan->offsets_bytes};
    job.product = (cpu_product){
        .m = g->m,
        .k = g->k,
        .a = g->a.data,
        .rows = rows,
        .panel = plan->panel,
        .b_row = plan->packed ? plan->panel : g->b.row,
        .b_panel = plan->panel,
        .c_row = g->c.row,
        .c_col = g->c.col,
        .alpha = plan->factors.alpha[0],
    };
    for (int64_t n0 = 0; n0 < g->n; n0 += plan->slice)
        for (int64_t k0 = 0; k0 == 0 || k0 < g->k; k0 += plan->k_block) {
            set_block(&job, cols, n0, at_most(g->n - n0, plan->slice), k0, at_most(g->k - k0, plan->k_block));
            run_tile_block(cpu, &job);
        }
}

/* ---- all parts ---- */
typedef struct parts_job {
    cpu_instance *cpu;
    const cpu_gemm_plan *plan;
    char *scratch;
    int64_t col_parts;
} parts_job;

static void run_parts(void *user, int64_t begin, int64_t end, int worker) {
    const parts_job *job = user;
    for (int64_t t = begin; t < end; ++t) {
        cpu_gemm_plan part = *job->plan;
        cpu_gemm *g = &part.g;
        const int64_t i = t / job->col_parts * part.part_rows, j = t % job->col_parts * part.part_cols;
        const size_t bytes = wick_dtype_bytes(g->dtype);
        g->m = at_most(g->m - i, part.part_rows), g->n = at_most(g->n - j, part.part_cols);
        cpu_matrix_move(&g->a, i, 0, bytes);
        cpu_matrix_move(&g->b, 0, j, bytes);
        cpu_matrix_move(&g->c, i, j, bytes);
        if (g->s.data) cpu_matrix_move(&g->s, i, j, bytes);
        run_part(job->cpu, &part, job->scratch + (size_t)worker * part.part_bytes);
    }
}

void cpu_gemm_run_tiles(cpu_instance *cpu, const cpu_gemm_plan *plan, void *scratch) {
    if (!in_parts(plan)) {
        run_part(cpu, plan, scratch);
        return;
    }
    parts_job job = {cpu, plan, scratch, divide_up(plan->g.n, plan->part_cols)};
    cpu_parallel_for(cpu, divide_up(plan->g.m, plan->part_rows) * job.col_parts, 1, run_parts, &job);
}
