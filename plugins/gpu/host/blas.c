/* Matrix products by cuBLASLt or hipBLASLt. A plan (descriptor, layouts, algorithm) is made once per shape, types, layouts
 * and alignment, and kept. The libraries count in columns: they are given the transposed product, out^T = b^T a^T. */
#include "blas.h"

#include <stdlib.h>
#include <string.h>

/* Values that the libraries share: cudaDataType and hipDataType, epilogues. */
enum { R_32F = 0, R_64F = 1, R_16F = 2, R_16BF = 14, EPILOGUE_BIAS = 4 };

#define WORKSPACE_BYTES ((size_t)32 << 20)
#define MOST_ALIGNMENT 256

#define RESULT_BYTES 256 /* no less than a result of the heuristic, which starts with the algorithm */

typedef struct blas_device {
    pthread_mutex_t lock;
    gpu_cache handles; /* by stream, or one */
    gpu_cache products;
} blas_device;

struct gpu_blas {
    const gpu_blas_vendor *vendor;
    gpu_blas_functions functions;
    blas_device devices[GPU_DEVICES];
};

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
    _Alignas(16) unsigned char result[RESULT_BYTES];
    size_t workspace_bytes;
    bool usable; /* false: the library knows no way */
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

static int compute_of(const gpu_blas_vendor *v, const wick_kernel_call *call, wick_dtype dtype) {
    if (dtype == WICK_F64) return v->compute.f64;
    return dtype == WICK_F32 && call->flags & WICK_CALL_TF32 ? v->compute.tf32 : v->compute.f32;
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

/* False where the libraries cannot say it: strides of neither kind, sizes beyond its own. */
static bool key_of(const wick_kernel_call *call, const gpu_gemm *g, product_key *key) {
    const gpu_gemm_args *p = &g->args;
    int32_t by_row[4] = {1, 1, 1, 1};
    memset(key, 0, sizeof *key);
    key->type = type_of(g->dtype);
    if (key->type < 0 || p->m > INT32_MAX || p->n > INT32_MAX || p->k > INT32_MAX || p->batch > INT32_MAX) return false;
    key->compute = compute_of(gpu_of(call)->blas->vendor, call, g->dtype);
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
static void release_plan(void *blas, void *value) {
    const gpu_blas_functions *lt = &((gpu_blas *)blas)->functions;
    product_plan *plan = value;
    for (int i = 0; i < 4; ++i)
        if (plan->layouts[i]) lt->layout_destroy(plan->layouts[i]);
    if (plan->desc) lt->desc_destroy(plan->desc);
    free(plan);
}

/* Row-major rows x columns is, in columns, columns x rows. */
static int make_layout(const gpu_blas *blas, const product_key *key, int i, int64_t rows, int64_t columns, bool by_row,
                       void **out) {
    const gpu_blas_functions *lt = &blas->functions;
    const gpu_blas_vendor *v = blas->vendor;
    int32_t batch = (int32_t)key->batch;
    int result = by_row ? lt->layout_create(out, key->type, (uint64_t)columns, (uint64_t)rows, key->leading[i])
                        : lt->layout_create(out, key->type, (uint64_t)rows, (uint64_t)columns, key->leading[i]);
    if (!result && batch > 1) result = lt->layout_set(*out, v->layout.batch_count, &batch, sizeof batch);
    if (!result && batch > 1)
        result = lt->layout_set(*out, v->layout.batch_stride, &key->batch_stride[i], sizeof key->batch_stride[i]);
    return result;
}

static int make_descriptor(const gpu_blas *blas, const product_key *key, void **out) {
    const gpu_blas_functions *lt = &blas->functions;
    const gpu_blas_vendor *v = blas->vendor;
    const int32_t bias = EPILOGUE_BIAS, *operation = v->operation;
    int result = lt->desc_create(out, key->compute, key->type == R_64F ? R_64F : R_32F);
    /* the library's A is our b, its B our a */
    if (!result) result = lt->desc_set(*out, v->desc.transpose_a, &operation[key->transposed[1]], sizeof *operation);
    if (!result) result = lt->desc_set(*out, v->desc.transpose_b, &operation[key->transposed[0]], sizeof *operation);
    if (!result && key->has_bias) result = lt->desc_set(*out, v->desc.epilogue, &bias, sizeof bias);
    if (!result && key->has_bias && v->desc.bias_type >= 0)
        result = lt->desc_set(*out, v->desc.bias_type, &key->type, sizeof key->type);
    return result;
}

static int make_descriptors(const gpu_blas *blas, const product_key *key, product_plan *plan) {
    int result = make_descriptor(blas, key, &plan->desc);
    if (!result) result = make_layout(blas, key, 0, key->m, key->k, !key->transposed[0], &plan->layouts[0]);
    if (!result) result = make_layout(blas, key, 1, key->k, key->n, !key->transposed[1], &plan->layouts[1]);
    if (!result) result = make_layout(blas, key, 2, key->m, key->n, true, &plan->layouts[2]);
    if (!result) result = make_layout(blas, key, 3, key->m, key->n, true, &plan->layouts[3]);
    return result;
}

static int set_preference(const gpu_blas *blas, const product_key *key, void *preference) {
    static const int order[4] = {1, 0, 2, 3}; /* of the library's A, B, C, D in ours */
    const gpu_blas_functions *lt = &blas->functions;
    const gpu_blas_vendor *v = blas->vendor;
    const size_t workspace = WORKSPACE_BYTES;
    int result = lt->preference_set(preference, v->preference.workspace, &workspace, sizeof workspace);
    for (int i = 0; !result && v->preference.alignment >= 0 && i < 4; ++i) {
        const uint32_t bytes = (uint32_t)key->alignment[order[i]];
        result = lt->preference_set(preference, v->preference.alignment + i, &bytes, sizeof bytes);
    }
    return result;
}

static int choose(const gpu_blas *blas, void *handle, const product_key *key, product_plan *plan) {
    const gpu_blas_functions *lt = &blas->functions;
    const gpu_blas_vendor *v = blas->vendor;
    void *preference = NULL, **l = plan->layouts;
    int found = 0, status = 0, result = lt->preference_create(&preference);
    if (!result) result = set_preference(blas, key, preference);
    if (!result)
        result = lt->heuristic(handle, plan->desc, l[1], l[0], l[2], l[3], preference, 1, plan->result, &found);
    if (preference) lt->preference_destroy(preference);
    memcpy(&plan->workspace_bytes, plan->result + v->result.workspace, sizeof plan->workspace_bytes);
    memcpy(&status, plan->result + v->result.status, sizeof status);
    return result ? result : found < 1 ? -1 : status;
}

/* NULL: no memory. A shape that the library does not take is kept as such. */
static product_plan *make_plan(gpu_blas *blas, blas_device *d, void *handle, const product_key *key) {
    product_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return NULL;
    plan->usable = !make_descriptors(blas, key, plan) && !choose(blas, handle, key, plan);
    if (gpu_cache_add(&d->products, key, sizeof *key, plan, release_plan, blas)) return plan;
    release_plan(blas, plan);
    return NULL;
}

/* ---- handles ---- */
static void release_handle(void *blas, void *handle) { ((gpu_blas *)blas)->functions.destroy(handle); }

static wick_status *find_handle(const wick_kernel_call *call, blas_device *d, void *stream, void **out) {
    const gpu_instance *gpu = gpu_of(call);
    gpu_blas *blas = gpu->blas;
    const void *key = blas->vendor->handle_per_stream ? stream : NULL;
    if ((*out = gpu_cache_find(&d->handles, &key, sizeof key))) return NULL;
    int result = blas->functions.create(out);
    if (result)
        return WICK_HOST_ERROR(call->host, WICK_DEVICE_ERROR,
                               "%s: %s does not start: status %d; \"%s = no\" does without", gpu->device_name,
                               blas->vendor->name, result, blas->vendor->lib.key);
    if (gpu_cache_add(&d->handles, &key, sizeof key, *out, release_handle, blas)) return NULL;
    release_handle(blas, *out);
    return WICK_HOST_ERROR(call->host, WICK_OUT_OF_MEMORY, "no memory for a handle of %s", blas->vendor->name);
}

/* ---- running: the lock is held, since the bias is part of the descriptor ---- */
static int start(const gpu_blas *blas, void *handle, const product_key *key, const product_plan *plan,
                 const gpu_gemm *g, void *workspace, void *stream) {
    const gpu_blas_functions *lt = &blas->functions;
    const gpu_gemm_args *p = &g->args;
    const double real[2] = {p->alpha, key->has_c ? p->beta : 0};
    const float narrow[2] = {(float)real[0], (float)real[1]};
    const bool wide = g->dtype == WICK_F64;
    void *const *l = plan->layouts;
    const void *c = key->has_c ? p->c.data : p->out.data;
    int result = 0;
    if (key->has_bias) result = lt->desc_set(plan->desc, blas->vendor->desc.bias, &p->c.data, sizeof p->c.data);
    if (result) return result;
    return lt->matmul(handle, plan->desc, wide ? (const void *)&real[0] : &narrow[0], p->b.data, l[1], p->a.data, l[0],
                      wide ? (const void *)&real[1] : &narrow[1], c, l[2], p->out.data, l[3], plan->result, workspace,
                      plan->workspace_bytes, stream);
}

static wick_status *run(const wick_kernel_call *call, const gpu_gemm *g, const product_key *key, bool *out_done) {
    gpu_device *device = gpu_device_of(call);
    gpu_blas *blas = gpu_of(call)->blas;
    blas_device *d = &blas->devices[call->device.index];
    wick_memory workspace = {0};
    void *handle, *stream = gpu_stream(device, call->stream);
    GPU_TRY(gpu_of(call), gpu_of(call)->vendor->make_current(device), "using the device");
    WICK_TRY(find_handle(call, d, stream, &handle));
    product_plan *plan = gpu_cache_find(&d->products, key, sizeof *key);
    if (!plan) plan = make_plan(blas, d, handle, key);
    if (!plan) return WICK_HOST_ERROR(call->host, WICK_OUT_OF_MEMORY, "no memory for a plan of a matrix product");
    if (!plan->usable) return NULL;
    if (plan->workspace_bytes) WICK_TRY(call->host->device_workspace(call, plan->workspace_bytes, &workspace));
    int result = start(blas, handle, key, plan, g, (void *)(uintptr_t)gpu_address(&workspace, 0), stream);
    *out_done = true;
    return result ? WICK_HOST_ERROR(call->host, WICK_DEVICE_ERROR,
                                    "%s: a product of %lld x %lld x %lld by %s: status %d", gpu_of(call)->device_name,
                                    (long long)key->m, (long long)key->n, (long long)key->k, blas->vendor->name, result)
                  : NULL;
}

wick_status *gpu_blas_gemm(const wick_kernel_call *call, const gpu_gemm *g, bool *out_done) {
    product_key key;
    gpu_blas *blas = gpu_of(call)->blas;
    if (!blas) return NULL;
    gpu_gemm turned;
    if (g->args.out.row == 1 && g->args.out.col != 1) turned = gpu_gemm_transposed(g), g = &turned;
    if (!key_of(call, g, &key)) return NULL;
    blas_device *d = &blas->devices[call->device.index];
    pthread_mutex_lock(&d->lock);
    wick_status *status = run(call, g, &key, out_done);
    pthread_mutex_unlock(&d->lock);
    return status;
}

/* ---- life ---- */
wick_status *gpu_blas_open(gpu_instance *gpu, const wick_config *config) {
    const gpu_blas_vendor *vendor = gpu->vendor->blas;
    gpu_blas_functions functions;
    if (!vendor || !gpu_library_open(gpu, config, &vendor->lib, &functions)) return NULL;
    gpu_blas *blas = calloc(1, sizeof *blas);
    if (!blas) return WICK_HOST_ERROR(gpu->host, WICK_OUT_OF_MEMORY, "no memory for %s", vendor->name);
    blas->vendor = vendor;
    blas->functions = functions;
    for (int i = 0; i < GPU_DEVICES; ++i) pthread_mutex_init(&blas->devices[i].lock, NULL);
    gpu->blas = blas;
    return NULL;
}

void gpu_blas_close(gpu_instance *gpu) {
    gpu_blas *blas = gpu->blas;
    if (!blas) return;
    for (int i = 0; i < GPU_DEVICES; ++i) {
        blas_device *d = &blas->devices[i];
        if (i < gpu->count) gpu->vendor->make_current(&gpu->devices[i]);
        gpu_cache_clear(&d->products, release_plan, blas);
        gpu_cache_clear(&d->handles, release_handle, blas);
        pthread_mutex_destroy(&d->lock);
    }
    free(blas);
    gpu->blas = NULL;
}
