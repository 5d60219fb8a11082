/* Matrix products: mm, bmm and their forms with an accumulator. */
#include "gemm.h"

#include "blas.h"

#define TILE 64
#define SMALL_TILE 16
#define SMALL_PRODUCTS (1 << 24) /* unless configured: 256 x 256 x 256 */
#define MOST_SMALL_K 512         /* beyond it one block a tile takes too long */
#define THREADS 256
#define GRID_Z 65535

wick_status *gpu_gemm_open(gpu_instance *gpu, const wick_config *config) {
    WICK_TRY(gpu->host->config_int(config, "small_products", SMALL_PRODUCTS, &gpu->small_products));
    return gpu->small_products >= 0
               ? NULL
               : WICK_HOST_ERROR(gpu->host, WICK_INVALID_ARGUMENT, "small_products = %lld: wanted 0 or more",
                                 (long long)gpu->small_products);
}

/* ---- the own kernels ---- */
static bool is_small(const wick_kernel_call *call, const gpu_gemm *g) {
    const gpu_gemm_args *p = &g->args;
    const double work = (double)p->m * (double)p->n * (double)p->k * (double)p->batch;
    return g->dtype == WICK_F32 && p->k <= MOST_SMALL_K && work <= (double)gpu_of(call)->small_products;
}

static int kernel_of(wick_dtype dtype) {
    static const struct {
        wick_dtype dtype;
        gpu_kernel kernel;
    } kernels[] = {{WICK_F32, GPU_gemm_f32},   {WICK_F64, GPU_gemm_f64}, {WICK_F16, GPU_gemm_f16},
                   {WICK_BF16, GPU_gemm_bf16}, {WICK_U8, GPU_gemm_u8},   {WICK_I8, GPU_gemm_i8},
                   {WICK_I16, GPU_gemm_i16},   {WICK_I32, GPU_gemm_i32}, {WICK_I64, GPU_gemm_i64}};
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; ++i)
        if (kernels[i].dtype == dtype) return (int)kernels[i].kernel;
    return -1;
}

static wick_status *run_own(const wick_kernel_call *call, const gpu_gemm *g, int kernel, int64_t tile) {
    const gpu_gemm_args *p = &g->args;
    int64_t tiles = (p->m + tile - 1) / tile * ((p->n + tile - 1) / tile);
    if (kernel < 0 || tiles > INT32_MAX)
        return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "%s: no kernel for %lld x %lld of dtype %d on device %s",
                               call->host->op_name(call->op), (long long)p->m, (long long)p->n, (int)g->dtype,
                               gpu_of(call)->device_name);
    const unsigned grid[3] = {(unsigned)tiles, 1, (unsigned)(p->batch < GRID_Z ? p->batch : GRID_Z)};
    const unsigned block[3] = {THREADS, 1, 1};
    return gpu_launch_grid(call, (gpu_kernel)kernel, grid, block, 0, p);
}

wick_status *gpu_gemm_run(const wick_kernel_call *call, const gpu_gemm *g) {
    bool done = false;
    if (!g->args.m || !g->args.n || !g->args.batch) return NULL;
    if (is_small(call, g)) return run_own(call, g, GPU_gemm_small_f32, SMALL_TILE);
    if (g->args.k) WICK_TRY(gpu_blas_gemm(call, g, &done));
    return done ? NULL : run_own(call, g, kernel_of(g->dtype), TILE);
}

static gpu_matrix turned(gpu_matrix m) { return (gpu_matrix){m.data, m.col, m.row, m.batch}; }

gpu_gemm gpu_gemm_transposed(const gpu_gemm *g) {
    gpu_gemm t = *g;
    t.args.a = turned(g->args.b);
    t.args.b = turned(g->args.a);
    t.args.c = turned(g->args.c);
    t.args.out = turned(g->args.out);
    t.args.m = g->args.n;
    t.args.n = g->args.m;
    return t;
}

/* ---- rows ---- */
/* The last two dimensions, and a batch before them if `t` has three. */
static gpu_matrix matrix_of(const wick_tensor *t) {
    int last = t->ndim - 1;
    return (gpu_matrix){gpu_data(t), t->strides[last - 1], t->strides[last], last == 2 ? t->strides[0] : 0};
}

/* `t` as it broadcasts to three dimensions (or two). */
static gpu_matrix broadcast_of(const wick_tensor *t) {
    int64_t strides[3] = {0, 0, 0};
    for (int i = 0; i < t->ndim && i < 3; ++i) {
        int d = t->ndim - 1 - i;
        strides[2 - i] = t->sizes[d] == 1 ? 0 : t->strides[d];
    }
    return (gpu_matrix){gpu_data(t), strides[1], strides[2], strides[0]};
}

static gpu_gemm product_of(const wick_kernel_call *call, int first) {
    const wick_tensor *a = wick_arg_tensor(call, first), *b = wick_arg_tensor(call, first + 1);
    const wick_tensor *out = wick_out_tensor(call, 0);
    gpu_gemm g = {.dtype = wick_tensor_dtype(out),
                  .args = {.a = matrix_of(a), .b = matrix_of(b), .out = matrix_of(out), .batch = 1}};
    g.args.m = out->sizes[out->ndim - 2];
    g.args.n = out->sizes[out->ndim - 1];
    g.args.k = a->sizes[a->ndim - 1];
    if (out->ndim == 3) g.args.batch = out->sizes[0];
    g.args.alpha = 1;
    g.args.whole_alpha = 1;
    return g;
}

static wick_status *multiply(const wick_kernel_call *call) {
    const gpu_gemm g = product_of(call, 0);
    return gpu_gemm_run(call, &g);
}

/* (self, a, b, beta, alpha); an accumulator times 0 does not count, whatever it holds. */
static wick_status *multiply_add(const wick_kernel_call *call) {
    gpu_gemm g = product_of(call, 1);
    const wick_value *beta = &call->values[3], *alpha = &call->values[4];
    g.args.beta = wick_value_as_double(beta), g.args.whole_beta = wick_value_as_int(beta);
    g.args.alpha = wick_value_as_double(alpha), g.args.whole_alpha = wick_value_as_int(alpha);
    if (g.args.beta != 0) g.args.c = broadcast_of(wick_arg_tensor(call, 0));
    return gpu_gemm_run(call, &g);
}

#define NUMBERS (WICK_DTYPES_FLOAT | WICK_DTYPES_INT)
#define FLAGS (WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_CAPTURE_SAFE)

static const wick_kernel_row rows[] = {
    WICK_KERNEL_ROW("mm", multiply, NUMBERS, FLAGS),
    WICK_KERNEL_ROW("bmm", multiply, NUMBERS, FLAGS),
    WICK_KERNEL_ROW("addmm", multiply_add, NUMBERS, FLAGS),
    WICK_KERNEL_ROW("baddbmm", multiply_add, NUMBERS, FLAGS),
};

const gpu_table gpu_gemm_table = GPU_TABLE(rows);
