/* Convolutions by MIOpen's immediate mode, which chooses from what it knows and times nothing. The rest is
 * ../gpu/host/dnn.c. */
#include "libraries.h"

/* Values of miopen/miopen.h: miopenDataType_t, miopenConvolutionMode_t, miopenConvolutionAttrib_t. */
enum { HALF = 0, FLOAT = 1, BFLOAT16 = 5, CONVOLUTION = 0, ATTRIBUTE_DETERMINISTIC = 1 };

#define SOLUTIONS 16

/* miopenConvSolution_t */
typedef struct solution {
    float milliseconds;
    size_t workspace_bytes;
    uint64_t id;
    int algorithm;
} solution;
_Static_assert(sizeof(solution) == 32, "miopenConvSolution_t");

/* ---- the library ---- */
typedef struct miopen_functions {
    gpu_dnn_functions shared;
#define MIOPEN(field, parameters, symbol) int(*field) parameters;
#define MIOPEN_PRODUCTS(field, parameters, ...) int(*field[3]) parameters;
#include "miopen.inc"
} miopen_functions;

static const char *const files[] = {"libMIOpen.so", "libMIOpen.so.1", NULL};
static const char *const symbols[] = {
#define GPU_DNN(field, parameters, cuda, hip) hip,
#include "../gpu/host/dnn.inc"
#define MIOPEN(field, parameters, symbol) symbol,
#define MIOPEN_PRODUCTS(field, parameters, ...) __VA_ARGS__,
#include "miopen.inc"
};
_Static_assert(sizeof(miopen_functions) == sizeof symbols, "a symbol per function");

/* By product: a, b and out of its functions. */
static const int order[3][3] = {
    {GPU_DNN_W, GPU_DNN_X, GPU_DNN_Y}, {GPU_DNN_Y, GPU_DNN_W, GPU_DNN_X}, {GPU_DNN_Y, GPU_DNN_X, GPU_DNN_W}};

/* ---- plans ---- */
static int describe(const void *functions, const gpu_dnn_key *k, gpu_dnn_plan *p) {
    const miopen_functions *dnn = functions;
    int result = gpu_dnn_set_tensor(&dnn->shared, p->operand[GPU_DNN_W], k, k->sizes[GPU_DNN_W]);
    if (!result) result = dnn->conv_set(p->conv, k->ndim - 2, k->padding, k->stride, k->dilation, CONVOLUTION);
    if (!result && k->deterministic) result = dnn->conv_set_attribute(p->conv, ATTRIBUTE_DETERMINISTIC, 1);
    return result;
}

/* The fastest, as MIOpen estimates them, of those that are small enough and compile. */
static int choose(const void *functions, void *handle, const gpu_dnn_key *k, gpu_dnn_plan *p) {
    const miopen_functions *dnn = functions;
    const int *o = order[k->product];
    void *const *d = p->operand;
    solution found[SOLUTIONS];
    size_t count = 0;
    int result = dnn->solutions[k->product](handle, d[o[0]], d[o[1]], p->conv, d[o[2]], SOLUTIONS, &count, found);
    for (size_t i = 0; !result && i < count; ++i) {
        if (found[i].workspace_bytes > GPU_DNN_WORKSPACE_BYTES) continue;
        if (dnn->compile[k->product](handle, d[o[0]], d[o[1]], p->conv, d[o[2]], found[i].id)) continue;
        p->algorithm = found[i].id;
        p->workspace_bytes = found[i].workspace_bytes;
        return 0;
    }
    return result ? result : -1;
}

static int run(const void *functions, void *handle, const gpu_dnn_key *k, const gpu_dnn_plan *p,
               void *const data[GPU_DNN_OPERANDS], void *workspace) {
    const miopen_functions *dnn = functions;
    const int *o = order[k->product];
    void *const *d = p->operand;
    return dnn->run[k->product](handle, d[o[0]], data[o[0]], d[o[1]], data[o[1]], p->conv, d[o[2]], data[o[2]],
                                workspace, p->workspace_bytes, p->algorithm);
}

/* Immediate mode is documented for f32, f16 and bf16. */
const gpu_dnn_vendor hip_miopen = {
    .name = "MIOpen",
    .lib = {"miopen", files, symbols, sizeof symbols / sizeof symbols[0]},
    .type = {.f32 = FLOAT, .f64 = -1, .f16 = HALF, .bf16 = BFLOAT16},
    .handle_per_stream = true,
    .describe = describe,
    .choose = choose,
    .run = run,
};
