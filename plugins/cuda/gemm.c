/* Matrix products by cuBLASLt. A plan (descriptor, layouts, algorithm) is made once per shape, types, layouts and
 * alignment, and kept. cuBLASLt counts in columns: it is given the transposed product, out^T = b^T a^T. */
#include "libraries.h"

#include <stdlib.h>

/* Values of cublasLt.h, library_types.h and cublas_api.h. */
enum {
    R_32F = 0,
    R_64F = 1,
    R_16F = 2,
    R_16BF = 14,
    COMPUTE_32F = 68,
    COMPUTE_64F = 70,
    COMPUTE_32F_FAST_TF32 = 77,
    DESC_TRANSA = 3,
    DESC_TRANSB = 4,
    DESC_EPILOGUE = 7,
    DESC_BIAS_POINTER = 8,
    LAYOUT_BATCH_COUNT = 5,
    LAYOUT_BATCH_STRIDE = 6,
    PREFERENCE_WORKSPACE = 1,
    PREFERENCE_ALIGNMENT_A = 5,
    EPILOGUE_BIAS = 4
};

#define WORKSPACE_BYTES ((size_t)32 << 20)
#define MOST_ALIGNMENT 256

/* cublasLtMatmulHeuristicResult_t */
typedef struct heuristic_result {
    uint64_t algorithm[8];
    size_t workspace_bytes;
    int status;
    float waves;
    int reserved[4];
} heuristic_result;

/* In columns: a is transposed-or-not rows x inner with a leading dimension; see layouts_of. */
typedef struct product_key {
    int64_t m, n, k, batch;
    int64_t leading[4], batch_stride[4]; /* of a, b, c, out */
    int32_t type, compute, transposed[2];
    int32_t alignment[4];
    int32_t has_bias, has_c;
} product_key;

typedef struct product_plan {
    void *desc, *layouts[4];
    heuristic_result result;
    bool usable; /* false: cuBLASLt knows no way */
} product_plan;

/* ---- from the product to a key ---- */
static int type_of(wick_dtype dtype) {
    switch (dtype) {
    case WICK_F32: return R_32F;
    case WICK_F64: return R_64F;
    case WICK_F16: return R_16F;
    case WICK_BF16: return R_16BF;
    default: return -1;
    }
}

static int compute_of(const wick_kernel_call *call, wick_dtype dtype) {
    if (dtype == WICK_F64) return COMPUTE_64F;
    return dtype == WICK_F32 && call->flags & WICK_CALL_TF32 ? COMPUTE_32F_FAST_TF32 : COMPUTE_32F;
}

/* rows x columns with one stride 1: its leading dimension, and whether a column is what is dense. */
static bool leading_of(const gpu_matrix *m, int64_t rows, int64_t columns, int64_t *out_leading, int32_t *out_by_row) {
    bool by_row = (m->col == 1 || columns == 1) && (m->row >= columns || rows == 1);
    bool by_column = (m->row == 1 || rows == 1) && (m->col >= rows || columns == 1);
    if (!by_row && !by_column) return false;
    int64_t dense = by_row ? columns : rows, stride = by_row ? m->row : m->col, count = by_row ? rows : columns;
    *out_leading = count == 1 || stride < dense ? dense : stride;
    *out_by_row = by_row;
    return true;
}

static int32_t alignment_of(const void *p) {
    uintptr_t lowest = (uintptr_t)p & -(uintptr_t)p;
    return lowest && lowest < MOST_ALIGNMENT ? (int32_t)lowest : MOST_ALIGNMENT;
}

/* A bias: one row for all rows of the result. */
static bool is_bias(const gpu_gemm_args *p) {
    return p->c.data && p->c.row == 0 && (p->c.col == 1 || p->n == 1) && p->c.batch == 0 && p->beta == 1 && p->m > 1;
}

/* False where cuBLASLt cannot say it: strides of neither kind, sizes beyond its own. */
static bool key_of(const wick_kernel_call *call, const gpu_gemm *g, product_key *key) {
    const gpu_gemm_args *p = &g->args;
    int32_t by_row[4] = {1, 1, 1, 1};
    memset(key, 0, sizeof *key);
    key->type = type_of(g->dtype);
    if (key->type < 0 || p->m > INT32_MAX || p->n > INT32_MAX || p->k > INT32_MAX || p->batch > INT32_MAX) return false;
    key->compute = compute_of(call, g->dtype);
    key->m = p->m, key->n = p->n, key->k = p->k, key->batch = p->batch;
    key->has_bias = is_bias(p);
    key->has_c = p->c.data && !key->has_bias;
    if (!leading_of(&p->a, p->m, p->k, &key->leading[0], &by_row[0]) ||
        !leading_of(&p->b, p->k, p->n, &key->leading[1], &by_row[1]) ||
        !leading_of(&p->out, p->m, p->n, &key->leading[3], &by_row[3]))
        return false;
    key->leading[2] = key->leading[3];
    if (key->has_c && !leading_of(&p->c, p->m, p->n, &key->leading[2], &by_row[2])) return false;
    if (!by_row[3] || !by_row[2]) return false;
    key->transposed[0] = !by_row[0], key->transposed[1] = !by_row[1];
    const gpu_matrix *matrices[4] = {&p->a, &p->b, key->has_c ? &p->c : &p->out, &p->out};
    for (int i = 0; i < 4; ++i) {
        key->batch_stride[i] = matrices[i]->batch;
        key->alignment[i] = alignment_of(matrices[i]->data);
    }
    return true;
}

/* ---- plans ---- */
void cuda_gemm_release(void *libraries, void *value) {
    const cublaslt_functions *lt = &((gpu_libraries *)libraries)->cublaslt;
    product_plan *plan = value;
    for (int i = 0; i < 4; ++i)
        if (plan->layouts[i]) lt->layout_destroy(plan->layouts[i]);
    if (plan->desc) lt->desc_destroy(plan->desc);
    free(plan);
}

/* Row-major rows x columns is, in columns, columns x rows. */
static int make_layout(const cublaslt_functions *lt, const product_key *key, int i, int64_t rows, int64_t columns,
                       bool by_row, void **out) {
    int32_t batch = (int32_t)key->batch;
    int result = by_row ? lt->layout_create(out, key->type, (uint64_t)columns, (uint64_t)rows, key->leading[i])
                        : lt->layout_create(out, key->type, (uint64_t)rows, (uint64_t)columns, key->leading[i]);
    if (!result && batch > 1) result = lt->layout_set(*out, LAYOUT_BATCH_COUNT, &batch, sizeof batch);
    if (!result && batch > 1)
        result = lt->layout_set(*out, LAYOUT_BATCH_STRIDE, &key->batch_stride[i], sizeof key->batch_stride[i]);
    return result;
}

static int make_descriptors(const cublaslt_functions *lt, const product_key *key, product_plan *plan) {
    const int scale = key->type == R_64F ? R_64F : R_32F;
    const int32_t bias = EPILOGUE_BIAS;
    int result = lt->desc_create(&plan->desc, key->compute, scale);
    /* cuBLASLt's A is our b, its B our a */
    if (!result) result = lt->desc_set(plan->desc, DESC_TRANSA, &key->transposed[1], sizeof(int32_t));
    if (!result) result = lt->desc_set(plan->desc, DESC_TRANSB, &key->transposed[0], sizeof(int32_t));
    if (!result && key->has_bias) result = lt->desc_set(plan->desc, DESC_EPILOGUE, &bias, sizeof bias);
    if (!result) result = make_layout(lt, key, 0, key->m, key->k, !key->transposed[0], &plan->layouts[0]);
    if (!result) result = make_layout(lt, key, 1, key->k, key->n, !key->transposed[1], &plan->layouts[1]);
    if (!result) result = make_layout(lt, key, 2, key->m, key->n, true, &plan->layouts[2]);
    if (!result) result = make_layout(lt, key, 3, key->m, key->n, true, &plan->layouts[3]);
    return result;
}

static int choose(const cublaslt_functions *lt, void *handle, const product_key *key, product_plan *plan) {
    static const int order[4] = {1, 0, 2, 3}; /* of cuBLASLt's A, B, C, D in ours */
    const size_t workspace = WORKSPACE_BYTES;
    void *preference = NULL;
    int found = 0, result = lt->preference_create(&preference);
    if (!result) result = lt->preference_set(preference, PREFERENCE_WORKSPACE, &workspace, sizeof workspace);
    for (int i = 0; !result && i < 4; ++i) {
        const uint32_t bytes = (uint32_t)key->alignment[order[i]];
        result = lt->preference_set(preference, PREFERENCE_ALIGNMENT_A + i, &bytes, sizeof bytes);
    }
    void **l = plan->layouts;
    if (!result)
        result = lt->heuristic(handle, plan->desc, l[1], l[0], l[2], l[3], preference, 1, &plan->result, &found);
    if (preference) lt->preference_destroy(preference);
    return result ? result : found < 1 ? -1 : plan->result.status;
}

/* NULL: no memory. A shape that cuBLASLt does not take is kept as such. */
static product_plan *make_plan(gpu_libraries *all, cuda_library_device *d, const product_key *key) {
    const cublaslt_functions *lt = &all->cublaslt;
    product_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return NULL;
    plan->usable = !make_descriptors(lt, key, plan) && !choose(lt, d->cublaslt, key, plan);
    if (cuda_cache_add(&d->products, key, sizeof *key, plan)) return plan;
    cuda_gemm_release(all, plan);
    return NULL;
}

/* ---- running: the lock is held, since the bias is part of the descriptor ---- */
static int start(const cublaslt_functions *lt, const cuda_library_device *d, const product_key *key,
                 const product_plan *plan, const gpu_gemm *g, void *workspace, void *stream) {
    const gpu_gemm_args *p = &g->args;
    const double real[2] = {p->alpha, key->has_c ? p->beta : 0};
    const float narrow[2] = {(float)real[0], (float)real[1]};
    const bool wide = g->dtype == WICK_F64;
    void *const *l = plan->layouts;
    const void *c = key->has_c ? p->c.data : p->out.data;
    int result = key->has_bias ? lt->desc_set(plan->desc, DESC_BIAS_POINTER, &p->c.data, sizeof p->c.data) : 0;
    if (result) return result;
    return lt->matmul(d->cublaslt, plan->desc, wide ? (const void *)&real[0] : &narrow[0], p->b.data, l[1], p->a.data,
                      l[0], wide ? (const void *)&real[1] : &narrow[1], c, l[2], p->out.data, l[3],
                      plan->result.algorithm, workspace, plan->result.workspace_bytes, stream);
}

static wick_status *run(const wick_kernel_call *call, const gpu_gemm *g, const product_key *key, bool *out_done) {
    gpu_device *device = gpu_device_of(call);
    const cublaslt_functions *lt = &gpu_of(call)->libraries->cublaslt;
    cuda_library_device *d = cuda_libraries_of(call);
    wick_memory workspace = {0};
    GPU_TRY(gpu_of(call), gpu_of(call)->vendor->make_current(device), "using the device");
    int result = d->cublaslt ? 0 : lt->create(&d->cublaslt);
    if (result)
        return WICK_HOST_ERROR(call->host, WICK_DEVICE_ERROR, "%s: cuBLASLt does not start: status %d",
                               gpu_of(call)->device_name, result);
    product_plan *plan = cuda_cache_find(&d->products, key, sizeof *key);
    if (!plan) plan = make_plan(gpu_of(call)->libraries, d, key);
    if (!plan) return WICK_HOST_ERROR(call->host, WICK_OUT_OF_MEMORY, "no memory for a plan of a matrix product");
    if (!plan->usable) return NULL;
    if (plan->result.workspace_bytes)
        WICK_TRY(call->host->device_workspace(call, plan->result.workspace_bytes, &workspace));
    result =
        start(lt, d, key, plan, g, (void *)(uintptr_t)gpu_address(&workspace, 0), gpu_stream(device, call->stream));
    *out_done = true;
    return result ? WICK_HOST_ERROR(call->host, WICK_DEVICE_ERROR,
                                    "%s: cublasLtMatmul of %lld x %lld x %lld: status %d", gpu_of(call)->device_name,
                                    (long long)key->m, (long long)key->n, (long long)key->k, result)
                  : NULL;
}

wick_status *cuda_gemm(const wick_kernel_call *call, const gpu_gemm *g, bool *out_done) {
    product_key key;
    gpu_libraries *all = gpu_of(call)->libraries;
    if (!all->has_cublaslt) return NULL;
    gpu_gemm turned;
    if (g->args.out.row == 1 && g->args.out.col != 1) turned = gpu_gemm_transposed(g), g = &turned;
    if (!key_of(call, g, &key)) return NULL;
    cuda_library_device *d = cuda_libraries_of(call);
    pthread_mutex_lock(&d->lock);
    wick_status *status = run(call, g, &key, out_done);
    pthread_mutex_unlock(&d->lock);
    return status;
}
