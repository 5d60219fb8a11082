/* Chooses how a matrix product is computed, and splits it over the threads. */
#include "gemm.h"

#include <limits.h>
#include <string.h>

#include "blas.h"

/* Below this many multiply-adds a product is not worth a second thread; what a thread then takes at least. */
#define LEAST_MULTIPLY_ADDS (3 << 16)
#define GRAIN_MULTIPLY_ADDS (1 << 17)
/* From here on a BLAS whose kernels suit the machine overtakes ours, other than those for AVX-512. */
#define BLAS_MULTIPLY_ADDS (INT64_C(1) << 25)
/* Up to this many rows threads share a product with a packed B by its columns. */
#define ROWS_BY_COLUMNS 512
/* Below this many rows it does not pay to pack B for dot products. */
#define DOTS_LEAST_ROWS 8
/* So many elements of A stay in the second-level cache beside what else is there. */
#define CACHED_COUNT (INT64_C(1) << 15)

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

static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t at_most(int64_t a, int64_t limit) { return a < limit ? a : limit; }
static int64_t at_least(int64_t a, int64_t limit) { return a > limit ? a : limit; }
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

static double work_of(const cpu_gemm *g) { return (double)g->m * (double)g->n * (double)g->k; }

static bool is_own_type(wick_dtype dtype) { return dtype == WICK_F32 || dtype == WICK_F64; }

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

/* ---- a matrix times a vector: bound by memory, read once in the order in which it lies ---- */
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

static void run_vector(cpu_instance *cpu, const cpu_gemm_plan *plan, void *scratch) {
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

/* ---- our own tiles ---- */
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

/* A block of a packed B stays in the second-level cache while all rows of A pass by. */
static void plan_blocks(const cpu_instance *cpu, cpu_gemm_plan *plan) {
    const cpu_gemm *g = &plan->g;
    const int64_t count = cpu->block_bytes / (int64_t)wick_dtype_bytes(g->dtype), panel = plan->panel;
    const int64_t k = at_most(at_least(count / at_least(g->n, 1), CPU_GEMM_LEAST_K_BLOCK), CPU_GEMM_K_BLOCK);
    const int64_t slices = divide_up(g->n, at_least(count / at_most(g->k, k), panel));
    plan->k_block = g->k <= k ? g->k : divide_up(g->k, divide_up(g->k, k));
    plan->slice = divide_up(divide_up(g->n, slices), panel) * panel;
}

static void plan_tiles(const cpu_instance *cpu, cpu_gemm_plan *plan) {
    const cpu_gemm *g = &plan->g;
    const size_t bytes = wick_dtype_bytes(g->dtype);
    const bool whole_vectors = g->b.col == 1 && g->n % plan->type->vector == 0;
    const bool fits_cache = (size_t)(g->k * g->n) * bytes <= 256 << 10;
    plan->packed = !whole_vectors || !(fits_cache || g->m <= 4 * plan->type->strip);
    plan->by_columns = plan_columns(plan, cpu_thread_count(cpu));
    if (!plan->by_columns) plan->panel = cpu_gemm_panel(plan->type, g->n);
    plan->slice = g->n, plan->k_block = at_least(g->k, 1);
    if (plan->packed && !plan->by_columns && g->k > 0) plan_blocks(cpu, plan);
    plan->offsets_bytes = cpu_whole_lines((size_t)(g->m + g->k) * sizeof(int64_t));
    plan->scratch_bytes = plan->offsets_bytes;
    const int64_t packed = plan->by_columns ? cpu_thread_count(cpu) * plan->panel : plan->packed ? plan->slice : 0;
    plan->scratch_bytes += cpu_whole_lines((size_t)(packed * plan->k_block) * bytes);
}

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

/* Of `tasks` tasks, as many as are worth a thread. */
static int64_t grain_of(double work, int64_t tasks) {
    return (int64_t)(GRAIN_MULTIPLY_ADDS * (double)tasks / (work + 1)) + 1;
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
        cpu_parallel_for(cpu, panels, grain_of(work_of(job->g), panels), run_columns, job);
        return;
    }
    if (job->plan->packed) pack_block(cpu, job);
    run_product(cpu, job);
}

static void run_tiles(cpu_instance *cpu, const cpu_gemm_plan *plan, void *scratch) {
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

/* ---- dot products: few columns ---- */
static bool suits_dots(const cpu_instance *cpu, const cpu_gemm *g) {
    if (!is_own_type(g->dtype) || g->a.col != 1 || g->b.row != 1) return false;
    const int64_t vector = cpu_gemm_type_of(cpu, g->dtype)->vector;
    return g->n > 1 && g->n <= vector && g->m >= DOTS_LEAST_ROWS && g->k >= vector && g->k % vector == 0;
}

static size_t dots_bytes(const cpu_gemm *g) {
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

static void run_dots(cpu_instance *cpu, const cpu_gemm_plan *plan, void *scratch) {
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

/* ---- the BLAS ---- */
/* BLAS takes row-major C and matrices of which one stride is 1, in int sizes. */
static bool fits_blas_matrix(const cpu_matrix *x, int64_t rows, int64_t cols) {
    const int64_t ld = x->col == 1 ? x->row : x->col, least = x->col == 1 ? cols : rows;
    return (x->col == 1 || x->row == 1) && ld >= at_least(least, 1) && ld <= INT_MAX;
}

static bool fits_blas(const cpu_gemm *g) {
    return g->m <= INT_MAX && g->n <= INT_MAX && g->k > 0 && g->k <= INT_MAX && g->c.col == 1 && g->c.row >= g->n &&
           g->c.row <= INT_MAX && fits_blas_matrix(&g->a, g->m, g->k) && fits_blas_matrix(&g->b, g->k, g->n);
}

static bool prefers_blas(const cpu_instance *cpu, const cpu_gemm *g) {
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
static void run_blas(cpu_instance *cpu, const cpu_gemm_plan *plan, void *scratch) {
    const cpu_gemm *g = &plan->g;
    const double work = work_of(g);
    const int threads = work > 2.0 * GRAIN_MULTIPLY_ADDS ? cpu_thread_count(cpu) : 1;
    int row_parts = 1;
    for (int r = 2; r <= threads; ++r)
        if (threads % r == 0 && (double)g->m / r + (double)g->n * r / threads <
                                    (double)g->m / row_parts + (double)g->n * row_parts / threads)
            row_parts = r;
    blas_job job = {.blas = cpu->blas, .g = g, .f = &plan->factors, .bytes = wick_dtype_bytes(g->dtype)};
    job.rows = divide_up(divide_up(g->m, row_parts), 16) * 16;
    job.cols = divide_up(divide_up(g->n, threads / row_parts), 16) * 16;
    job.col_parts = divide_up(g->n, job.cols);
    cpu_parallel_for(cpu, divide_up(g->m, job.rows) * job.col_parts, 1, run_blas_parts, &job);
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
    if (prefers_blas(cpu, g)) return CPU_GEMM_BLAS;
    if (!own) return CPU_GEMM_LOOPS;
    return suits_dots(cpu, g) ? CPU_GEMM_DOTS : CPU_GEMM_TILES;
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
    if (plan->solver != CPU_GEMM_TILES || !is_narrow(cpu, x)) return;
    transpose_plan(plan);
    plan->solver = solver_of(cpu, x);
}

void cpu_gemm_make_plan(const cpu_instance *cpu, cpu_gemm_plan *plan) {
    const wick_dtype dtype = plan->g.dtype;
    plan->transposed = false;
    plan->type = is_own_type(dtype) ? cpu_gemm_type_of(cpu, dtype) : NULL;
    plan->scratch_bytes = 0;
    plan->factors = read_factors(&plan->g);
    choose_form(cpu, plan);
    if (plan->solver == CPU_GEMM_TILES) plan_tiles(cpu, plan);
    if (plan->solver == CPU_GEMM_DOTS) plan->scratch_bytes = dots_bytes(&plan->g);
    if (plan->solver == CPU_GEMM_VECTOR)
        plan->scratch_bytes = cpu_whole_lines((size_t)plan->g.m * wick_dtype_bytes(dtype));
}

static void run_loops(cpu_instance *cpu, const cpu_gemm_plan *plan, void *scratch) { cpu_gemm_loops(cpu, &plan->g); }

void cpu_gemm_run(cpu_instance *cpu, const cpu_gemm_plan *plan, void *scratch) {
    static void (*const solvers[])(cpu_instance *, const cpu_gemm_plan *, void *) = {
        [CPU_GEMM_LOOPS] = run_loops, [CPU_GEMM_VECTOR] = run_vector, [CPU_GEMM_BLAS] = run_blas,
        [CPU_GEMM_DOTS] = run_dots,   [CPU_GEMM_TILES] = run_tiles,
    };
    if (plan->g.m == 0 || plan->g.n == 0) return;
    solvers[plan->solver](cpu, plan, scratch);
}
