/* hipBLASLt over the mock runtime: products of host memory, put on its streams. What AMD's library refuses is refused: wrong
 * sizes of attributes, matrices that do not fit each other, a handle on two streams. It takes no doubles, so that there is
 * something that it does not take. Numbers are those of hipblaslt.h and hipblas-common.h, written again. */
#include <stdlib.h>
#include <string.h>

#include "mock_element.h"
#include "mock_hip.h"

enum { NOT_INITIALIZED = 1, ALLOC_FAILED = 2, BAD_VALUE = 3, NOT_SUPPORTED = 7 };
enum { F32 = 0, F64 = 1, F16 = 2, BF16 = 14 };
enum { COMPUTE_32F = 2, COMPUTE_32F_FAST_TF32 = 6, COMPUTE_64F = 7 };
enum { OP_N = 111, OP_T = 112, EPILOGUE_DEFAULT = 1, EPILOGUE_BIAS = 4 };
enum { TRANSPOSE_A, TRANSPOSE_B, EPILOGUE, BIAS_POINTER, BIAS_TYPE };
enum { BATCH_COUNT, BATCH_STRIDE };

typedef struct handle {
    const void *stream; /* the only one that it has seen */
    int device;
} handle;

typedef struct layout {
    int type;
    uint64_t rows, columns;
    int64_t leading, batch_stride;
    int32_t batch;
} layout;

typedef struct description {
    int compute, scale;
    int32_t operation[2], bias_type;
    uint32_t epilogue;
    const void *bias;
} description;

typedef struct preference {
    uint64_t workspace_bytes;
} preference;

/* hipblasLtMatmulHeuristicResult_t */
typedef struct heuristic_result {
    struct {
        uint64_t data[2];
        size_t most_workspace_bytes;
    } algorithm;
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
} heuristic_result;

#define ALGORITHM UINT64_C(0x6d6f636b)
#define WORKSPACE_BYTES 4096 /* what the algorithm wants */

/* A product that is under way. */
typedef struct product {
    description desc;
    layout a, b, c, d;
    const void *a_data, *b_data, *c_data;
    void *d_data, *workspace;
    float alpha, beta;
} product;

/* ---- handles, descriptors ---- */
static int create(const char *call, void **out, const void *value, size_t bytes) {
    MOCK_ENTER(call);
    void *p = malloc(bytes);
    if (!p) return ALLOC_FAILED;
    memcpy(p, value, bytes);
    *out = p;
    return MOCK_SUCCESS;
}

static int destroy(const char *call, void *p) {
    MOCK_ENTER(call);
    free(p);
    return p ? MOCK_SUCCESS : BAD_VALUE;
}

typedef struct attribute {
    void *field;
    size_t bytes;
} attribute;

static int set(const char *call, const attribute *known, int count, int number, const void *value, size_t bytes) {
    MOCK_ENTER(call);
    if (number < 0 || number >= count || !value || bytes != known[number].bytes) return BAD_VALUE;
    memcpy(known[number].field, value, bytes);
    return MOCK_SUCCESS;
}

MOCK_API int hipblasLtCreate(void **out) {
    return create("hipblasLtCreate", out, &(handle){.device = mock_current_device()}, sizeof(handle));
}
MOCK_API int hipblasLtDestroy(void *h) { return destroy("hipblasLtDestroy", h); }

MOCK_API int hipblasLtMatmulDescCreate(void **out, int compute, int scale) {
    const description desc = {
        .compute = compute, .scale = scale, .operation = {OP_N, OP_N}, .bias_type = -1, .epilogue = EPILOGUE_DEFAULT};
    return create("hipblasLtMatmulDescCreate", out, &desc, sizeof desc);
}
MOCK_API int hipblasLtMatmulDescDestroy(void *desc) { return destroy("hipblasLtMatmulDescDestroy", desc); }
MOCK_API int hipblasLtMatmulDescSetAttribute(description *desc, int number, const void *value, size_t bytes) {
    const attribute known[] = {[TRANSPOSE_A] = {&desc->operation[0], 4},
                               [TRANSPOSE_B] = {&desc->operation[1], 4},
                               [EPILOGUE] = {&desc->epilogue, 4},
                               [BIAS_POINTER] = {&desc->bias, sizeof(void *)},
                               [BIAS_TYPE] = {&desc->bias_type, 4}};
    return set("hipblasLtMatmulDescSetAttribute", known, 5, number, value, bytes);
}

MOCK_API int hipblasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t columns, int64_t leading) {
    const layout l = {.type = type, .rows = rows, .columns = columns, .leading = leading, .batch = 1};
    if (leading < (int64_t)rows) return BAD_VALUE;
    return create("hipblasLtMatrixLayoutCreate", out, &l, sizeof l);
}
MOCK_API int hipblasLtMatrixLayoutDestroy(void *l) { return destroy("hipblasLtMatrixLayoutDestroy", l); }
MOCK_API int hipblasLtMatrixLayoutSetAttribute(layout *l, int number, const void *value, size_t bytes) {
    const attribute known[] = {[BATCH_COUNT] = {&l->batch, 4}, [BATCH_STRIDE] = {&l->batch_stride, 8}};
    return set("hipblasLtMatrixLayoutSetAttribute", known, 2, number, value, bytes);
}

MOCK_API int hipblasLtMatmulPreferenceCreate(void **out) {
    return create("hipblasLtMatmulPreferenceCreate", out, &(preference){0}, sizeof(preference));
}
MOCK_API int hipblasLtMatmulPreferenceDestroy(void *p) { return destroy("hipblasLtMatmulPreferenceDestroy", p); }
MOCK_API int hipblasLtMatmulPreferenceSetAttribute(preference *p, int number, const void *value, size_t bytes) {
    uint32_t search;
    const attribute known[] = {{&search, 4}, {&p->workspace_bytes, 8}};
    return set("hipblasLtMatmulPreferenceSetAttribute", known, 2, number, value, bytes);
}

/* ---- what fits ---- */
static size_t size_of(int type) { return type == F32 ? 4 : 2; }

static bool shape_is(const layout *l, uint64_t rows, uint64_t columns, const layout *d) {
    return l->rows == rows && l->columns == columns && l->type == d->type && l->batch == d->batch;
}

static bool fits(const description *desc, const layout *a, const layout *b, const layout *c, const layout *d) {
    const bool turned_a = desc->operation[0] == OP_T, turned_b = desc->operation[1] == OP_T;
    const uint64_t k = turned_a ? a->rows : a->columns;
    for (int i = 0; i < 2; ++i)
        if (desc->operation[i] != OP_N && desc->operation[i] != OP_T) return false;
    if (desc->epilogue != EPILOGUE_DEFAULT && desc->epilogue != EPILOGUE_BIAS) return false;
    if (desc->epilogue == EPILOGUE_BIAS && desc->bias_type != d->type) return false;
    return shape_is(a, turned_a ? k : d->rows, turned_a ? d->rows : k, d) &&
           shape_is(b, turned_b ? d->columns : k, turned_b ? k : d->columns, d) && shape_is(c, d->rows, d->columns, d);
}

static bool takes(const description *desc, const layout *d) {
    bool type = d->type == F32 || d->type == F16 || d->type == BF16;
    bool compute = desc->compute == COMPUTE_32F || (desc->compute == COMPUTE_32F_FAST_TF32 && d->type == F32);
    return type && compute && desc->scale == F32;
}

MOCK_API int hipblasLtMatmulAlgoGetHeuristic(const handle *h, const description *desc, const layout *a, const layout *b,
                                             const layout *c, const layout *d, const preference *p, int wanted,
                                             heuristic_result *out, int *out_count) {
    MOCK_ENTER("hipblasLtMatmulAlgoGetHeuristic");
    *out_count = 0;
    if (!h || wanted < 1) return BAD_VALUE;
    if (!takes(desc, d)) return NOT_SUPPORTED;
    if (!fits(desc, a, b, c, d)) return BAD_VALUE;
    if (p->workspace_bytes < WORKSPACE_BYTES) return MOCK_SUCCESS;
    *out = (heuristic_result){.algorithm = {{ALGORITHM}, p->workspace_bytes}, .workspace_bytes = WORKSPACE_BYTES};
    *out_count = 1;
    return MOCK_SUCCESS;
}

/* ---- products ---- */
static mock_element element_of(int type) { return type == F32 ? MOCK_F32 : type == F16 ? MOCK_F16 : MOCK_BF16; }

/* Element (row, column) of the batch's matrix, or of its transpose. */
static float element(const void *data, const layout *l, int operation, int64_t batch, int64_t row, int64_t column) {
    const int64_t at = operation == OP_T ? row * l->leading + column : column * l->leading + row;
    return mock_load(data, element_of(l->type), batch * l->batch_stride + at);
}

static void multiply_column(const product *p, int64_t batch, int64_t column) {
    const int64_t depth = (int64_t)(p->desc.operation[0] == OP_T ? p->a.rows : p->a.columns);
    for (int64_t row = 0; row < (int64_t)p->d.rows; ++row) {
        float sum = 0;
        for (int64_t k = 0; k < depth; ++k)
            sum += element(p->a_data, &p->a, p->desc.operation[0], batch, row, k) *
                   element(p->b_data, &p->b, p->desc.operation[1], batch, k, column);
        float value = p->alpha * sum;
        if (p->beta != 0) value += p->beta * element(p->c_data, &p->c, OP_N, batch, row, column);
        if (p->desc.epilogue == EPILOGUE_BIAS) value += mock_load(p->desc.bias, element_of(p->desc.bias_type), row);
        mock_store(p->d_data, element_of(p->d.type), batch * p->d.batch_stride + column * p->d.leading + row, value);
    }
}

/* The workspace is written, as algorithms do: who shares it is to be seen. */
static int run(const gpu_emulated_kernel *unused, const unsigned grid[3], const unsigned block[3], size_t shared,
               const void *args) {
    const product *p = args;
    memset(p->workspace, 0xff, WORKSPACE_BYTES);
    for (int64_t batch = 0; batch < p->d.batch; ++batch)
        for (int64_t column = 0; column < (int64_t)p->d.columns; ++column) multiply_column(p, batch, column);
    return GPU_EMULATE_DONE;
}

/* All of the matrix lies in one block of device memory. */
static bool holds(const void *data, const layout *l) {
    int64_t last = (l->batch - 1) * l->batch_stride + ((int64_t)l->columns - 1) * l->leading + (int64_t)l->rows;
    return mock_holds(data, (size_t)last * size_of(l->type), false);
}

static int check(handle *h, const product *p, const heuristic_result *algorithm, size_t workspace_bytes,
                 const void *stream) {
    if (h->stream && h->stream != stream) return BAD_VALUE;
    h->stream = stream;
    if (h->device != mock_current_device()) return NOT_INITIALIZED;
    if (!algorithm || algorithm->algorithm.data[0] != ALGORITHM || workspace_bytes < WORKSPACE_BYTES) return BAD_VALUE;
    if (!takes(&p->desc, &p->d) || !fits(&p->desc, &p->a, &p->b, &p->c, &p->d)) return BAD_VALUE;
    const size_t bias_bytes = p->d.rows * size_of(p->d.type);
    bool there = holds(p->a_data, &p->a) && holds(p->b_data, &p->b) && holds(p->d_data, &p->d) &&
                 (p->beta == 0 || holds(p->c_data, &p->c)) && mock_holds(p->workspace, workspace_bytes, false) &&
                 (p->desc.epilogue != EPILOGUE_BIAS || mock_holds(p->desc.bias, bias_bytes, false));
    return there ? MOCK_SUCCESS : BAD_VALUE;
}

MOCK_API int hipblasLtMatmul(handle *h, const description *desc, const float *alpha, const void *a,
                             const layout *a_layout, const void *b, const layout *b_layout, const float *beta,
                             const void *c, const layout *c_layout, void *d, const layout *d_layout,
                             const heuristic_result *algorithm, void *workspace, size_t workspace_bytes,
                             mock_stream *stream) {
    MOCK_ENTER("hipblasLtMatmul");
    const product p = {.desc = *desc,
                       .a = *a_layout,
                       .b = *b_layout,
                       .c = *c_layout,
                       .d = *d_layout,
                       .a_data = a,
                       .b_data = b,
                       .c_data = c,
                       .d_data = d,
                       .workspace = workspace,
                       .alpha = *alpha,
                       .beta = *beta};
    int result = check(h, &p, algorithm, workspace_bytes, stream);
    if (result) return result;
    mock_task t = {.kind = MOCK_LAUNCH, .launch = run, .payload = malloc(sizeof p)};
    if (!t.payload) return ALLOC_FAILED;
    memcpy(t.payload, &p, sizeof p);
    return mock_put(stream, &t);
}
