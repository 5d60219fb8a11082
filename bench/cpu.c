/* Kernels of the CPU backend: matrix products beside cblas called directly, the rest as a share of a copy that moves as
 * many bytes, everything on one and on two threads. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wick/ops.h>

#include "copy.h"

/* ---- kernels that move memory: on [rows, COLUMNS] of f32 or bf16 ---- */
enum { COLUMNS = 1024, LEAST_ROWS = 4096, MOST_ROWS = 65536 };

/* An array of f32 is four times the last cache, as STREAM wants it: 16 to 256 MiB. */
static int rows_beyond_cache(void) {
    FILE *file = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r");
    long kib = 0;
    if (file && fscanf(file, "%ldK", &kib) != 1) kib = 0;
    if (file) fclose(file);
    const long rows = 4 * kib * 1024 / (COLUMNS * (long)sizeof(float));
    return (int)(rows < LEAST_ROWS ? LEAST_ROWS : rows > MOST_ROWS ? MOST_ROWS : rows);
}

typedef struct operands {
    wick_context *c;
    wick_tensor *a, *b, *weight, *bias;
} operands;

#define RUN(name, expression)                         \
    static void run_##name(void *user, int64_t n) {   \
        const operands *o = user;                     \
        for (int64_t i = 0; i < n; ++i) {             \
            wick_scope scope = wick_scope_open(o->c); \
            expression;                               \
            wick_scope_close(o->c, scope);            \
        }                                             \
    }

RUN(add, wick_add(o->c, o->a, o->b, NULL))
RUN(mul, wick_mul(o->c, o->a, o->b))
RUN(exp, wick_exp(o->c, o->a))
RUN(tanh, wick_tanh(o->c, o->a))
RUN(gelu, wick_gelu(o->c, o->a, NULL))
RUN(relu, wick_relu(o->c, o->a))
RUN(sum, wick_sum(o->c, o->a, NULL))
RUN(max, wick_max(o->c, o->a))
RUN(sum_rows, wick_sum_dim(o->c, o->a, (const int64_t[]){0}, 1, NULL))
RUN(sum_columns, wick_sum_dim(o->c, o->a, (const int64_t[]){1}, 1, NULL))
RUN(softmax, wick_softmax(o->c, o->a, -1, NULL))
RUN(log_softmax, wick_log_softmax(o->c, o->a, -1, NULL))
RUN(layer_norm, wick_layer_norm(o->c, o->a, (const int64_t[]){COLUMNS}, 1, o->weight, o->bias, NULL))

static const struct {
    const char *name;
    bench_run run;
    wick_dtype dtype;
    int arrays;   /* that it reads and writes */
    double share; /* of the copy's bandwidth that it shall reach */
} kernels[] = {
    {"add", run_add, WICK_F32, 3, 0.9},
    {"mul", run_mul, WICK_F32, 3, 0.9},
    {"exp", run_exp, WICK_F32, 2, 0.9},
    {"tanh", run_tanh, WICK_F32, 2, 0.9},
    {"gelu", run_gelu, WICK_F32, 2, 0.9},
    {"relu", run_relu, WICK_F32, 2, 0.9},
    {"add", run_add, WICK_BF16, 3, 0.9},
    {"sum", run_sum, WICK_F32, 1, 0.9},
    {"max", run_max, WICK_F32, 1, 0.9},
    {"sum_dim0", run_sum_rows, WICK_F32, 1, 0.9},
    {"sum_dim1", run_sum_columns, WICK_F32, 1, 0.9},
    {"softmax", run_softmax, WICK_F32, 2, 0.7},
    {"log_softmax", run_log_softmax, WICK_F32, 2, 0.7},
    {"layer_norm", run_layer_norm, WICK_F32, 2, 0.7},
};

static const char *thread_text(int threads) { return threads == 1 ? "1 thread" : "2 threads"; }

static void measure_kernel(operands *o, size_t k, int rows, int threads, bench_copy *copy) {
    char name[80], work[80];
    bench_process *torch = bench_torch();
    const char *dtype = wick_dtype_name(kernels[k].dtype);
    double bytes = (double)rows * COLUMNS * kernels[k].arrays * (double)wick_dtype_bytes(kernels[k].dtype);
    copy->bytes = (int64_t)bytes / 2;
    snprintf(name, sizeof name, "%s %s, %s", kernels[k].name, dtype, thread_text(threads));
    snprintf(work, sizeof work, "kernel %s %s %d %d", kernels[k].name, dtype, rows, COLUMNS);
    if (!bench_wanted(name)) return;
    bench_entry race[] = {
        {.who = "wick", .run = kernels[k].run, .user = o},
        {.who = "copy loop", .timed = bench_copy_loop, .user = copy},
        {.who = "memcpy", .timed = bench_copy_memcpy, .user = copy},
        {.who = bench_process_name(torch), .process = torch, .work = work, .threads = threads},
    };
    bench_race(race, 4);
    bench_alive(o->c);
    const bench_entry *best = race[1].ns < race[2].ns ? &race[1] : &race[2];
    double speed = bytes / race[0].ns;
    bench_add(name, speed, "GB/s", best->who, bytes / best->ns);
    bench_add(name, 100 * best->ns / race[0].ns, "% of copy", "budget", 100 * kernels[k].share);
    bench_add(name, speed, "GB/s", race[3].who, bytes / race[3].ns);
}

static void measure_kernels(bench_wick *wick, int threads) {
    const int rows = rows_beyond_cache();
    const wick_dim sizes[] = {rows, COLUMNS};
    size_t copy_bytes = (size_t)rows * COLUMNS * 3 * sizeof(float) / 2;
    bench_copy copy = {.from = malloc(copy_bytes), .to = malloc(copy_bytes), .threads = threads};
    if (!copy.from || !copy.to) bench_die("out of memory");
    memset(copy.from, 1, copy_bytes);
    memset(copy.to, 2, copy_bytes);
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; ++k) {
        wick_scope scope = wick_scope_open(wick->c);
        operands o = {wick->c};
        o.a = bench_tensor(wick->c, kernels[k].dtype, 2, sizes);
        o.b = bench_tensor(wick->c, kernels[k].dtype, 2, sizes);
        o.weight = bench_tensor(wick->c, kernels[k].dtype, 1, sizes + 1);
        o.bias = bench_tensor(wick->c, kernels[k].dtype, 1, sizes + 1);
        measure_kernel(&o, k, rows, threads, &copy);
        wick_scope_close(wick->c, scope);
    }
    free(copy.from);
    free(copy.to);
}

/* ---- matrix products ---- */
typedef struct product {
    wick_dtype dtype;
    int m, n, k;
    bool transposed; /* b is [n, k] */
} product;

static const product products[] = {
    {WICK_F32, 64, 64, 64},        {WICK_F32, 128, 128, 128},    {WICK_F32, 256, 256, 256},
    {WICK_F32, 512, 512, 512},     {WICK_F32, 1024, 1024, 1024}, {WICK_F32, 2048, 2048, 2048},
    {WICK_F64, 256, 256, 256},     {WICK_F64, 1024, 1024, 1024}, {WICK_F32, 64, 10, 128, true},
    {WICK_F32, 64, 128, 64, true},
};

typedef struct product_operands {
    wick_context *c;
    wick_tensor *a, *b;
} product_operands;

static void run_product(void *user, int64_t n) {
    const product_operands *o = user;
    for (int64_t i = 0; i < n; ++i) {
        wick_scope scope = wick_scope_open(o->c);
        wick_mm(o->c, o->a, o->b);
        wick_scope_close(o->c, scope);
    }
}

static product_operands product_make(wick_context *c, const product *p) {
    product_operands o = {c};
    o.a = bench_tensor(c, p->dtype, 2, (const wick_dim[]){p->m, p->k});
    o.b = bench_tensor(c, p->dtype, 2, p->transposed ? (const wick_dim[]){p->n, p->k} : (const wick_dim[]){p->k, p->n});
    if (p->transposed) o.b = wick_t(c, o.b);
    return o;
}

/* cblas in processes of its own, with the kernels that it chooses itself and with those for AVX-512: which are better
 * depends on its version and on the machine. */
typedef struct blas_peers {
    bench_process *own_choice, *avx512;
} blas_peers;

static void measure_product(bench_wick *wick, const product *p, int threads, blas_peers *blas) {
    char name[80], work[80];
    bench_process *torch = bench_torch();
    product_operands o = product_make(wick->c, p);
    snprintf(name, sizeof name, "mm %s %dx%dx%d%s, %s", wick_dtype_name(p->dtype), p->m, p->n, p->k,
             p->transposed ? " NT" : "", thread_text(threads));
    snprintf(work, sizeof work, "mm %s %d %d %d %d", wick_dtype_name(p->dtype), p->m, p->n, p->k, p->transposed);
    if (!bench_wanted(name)) return;
    bench_entry race[] = {
        {.who = "wick", .run = run_product, .user = &o},
        {.process = blas->own_choice, .work = work, .threads = threads},
        {.process = blas->avx512, .work = work, .threads = threads},
        {.who = bench_process_name(torch), .process = torch, .work = work, .threads = threads},
    };
    bench_race(race, 4);
    bench_alive(wick->c);
    bool own = !(race[2].ns < race[1].ns);
    double flops = 2.0 * p->m * p->n * p->k, speed = flops / race[0].ns;
    double best = flops / race[own ? 1 : 2].ns;
    bench_add(name, speed, "GFLOP/s", bench_process_name(own ? blas->own_choice : blas->avx512), best);
    if (!isnan(best)) bench_add(name, 100 * speed / best, "% of cblas", "budget", 95);
    if (!own) bench_add(name, speed, "GFLOP/s", bench_process_name(blas->own_choice), flops / race[1].ns);
    bench_add(name, speed, "GFLOP/s", race[3].who, flops / race[3].ns);
}

static void measure_products(bench_wick *wick, int threads) {
    blas_peers blas = {
        bench_process_self("blas", (const char *const[]){"OPENBLAS_CORETYPE", NULL}),
#if defined(__x86_64__)
        __builtin_cpu_supports("avx512f")
            ? bench_process_self("blas", (const char *const[]){"OPENBLAS_CORETYPE=SkylakeX", NULL})
            : NULL,
#endif
    };
    for (size_t k = 0; k < sizeof products / sizeof products[0]; ++k) {
        wick_scope scope = wick_scope_open(wick->c);
        measure_product(wick, &products[k], threads, &blas);
        wick_scope_close(wick->c, scope);
    }
    bench_process_stop(blas.own_choice);
    bench_process_stop(blas.avx512);
}

/* ---- the child that calls cblas ---- */
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };
static struct {
    void (*sgemm)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
    void (*dgemm)(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *,
                  int);
    void (*set_threads)(int);
    const char *(*core_name)(void);
} cblas;

typedef struct blas_job {
    product p;
    void *a, *b, *c;
} blas_job;

static void run_cblas(void *user, int64_t n) {
    const blas_job *j = user;
    const product *p = &j->p;
    int trans = p->transposed ? TRANS : NO_TRANS, ldb = p->transposed ? p->k : p->n;
    for (int64_t i = 0; i < n; ++i) {
        if (p->dtype == WICK_F64)
            cblas.dgemm(ROW_MAJOR, NO_TRANS, trans, p->m, p->n, p->k, 1, j->a, p->k, j->b, ldb, 0, j->c, p->n);
        else
            cblas.sgemm(ROW_MAJOR, NO_TRANS, trans, p->m, p->n, p->k, 1, j->a, p->k, j->b, ldb, 0, j->c, p->n);
    }
}

static void *matrix(int rows, int columns, wick_dtype dtype) {
    size_t count = (size_t)rows * (size_t)columns, bytes = wick_dtype_bytes(dtype) * count;
    void *data = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!data) bench_die("out of memory");
    for (size_t i = 0; i < count; ++i) {
        double value = (double)(i * 7919 % 2048) / 1024 - 1;
        if (dtype == WICK_F64)
            ((double *)data)[i] = value;
        else
            ((float *)data)[i] = (float)value;
    }
    return data;
}

static double answer_blas(const char *question) {
    int threads, transposed;
    double seconds;
    char dtype[8];
    blas_job j = {0};
    product *p = &j.p;
    if (sscanf(question, "time %d %lg mm %7s %d %d %d %d", &threads, &seconds, dtype, &p->m, &p->n, &p->k,
               &transposed) != 7)
        return NAN;
    p->dtype = wick_dtype_parse(dtype);
    p->transposed = transposed != 0;
    if (cblas.set_threads) cblas.set_threads(threads);
    j.a = matrix(p->m, p->k, p->dtype), j.b = matrix(p->k, p->n, p->dtype), j.c = matrix(p->m, p->n, p->dtype);
    double ns = bench_time(run_cblas, &j, seconds);
    free(j.a), free(j.b), free(j.c);
    return ns;
}

static int serve_blas(void) {
    char name[48];
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library) return 1;
    *(void **)&cblas.sgemm = dlsym(library, "cblas_sgemm");
    *(void **)&cblas.dgemm = dlsym(library, "cblas_dgemm");
    *(void **)&cblas.set_threads = dlsym(library, "openblas_set_num_threads");
    *(void **)&cblas.core_name = dlsym(library, "openblas_get_corename");
    if (!cblas.sgemm || !cblas.dgemm) return 1;
    snprintf(name, sizeof name, "cblas (%s)", cblas.core_name ? cblas.core_name() : "unknown core");
    return bench_serve(name, answer_blas);
}

int main(int argc, char **argv) {
    bench_begin("cpu", argc, argv);
    if (bench_child()) return serve_blas();
    for (int threads = 1; threads <= 2; ++threads) {
        bench_wick wick = bench_wick_open(threads);
        measure_products(&wick, threads);
        measure_kernels(&wick, threads);
        bench_wick_close(&wick);
    }
    return bench_end();
}
