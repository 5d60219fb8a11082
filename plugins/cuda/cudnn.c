/* Convolutions by cuDNN: descriptors, the choice of an algorithm, the start. The rest is ../gpu/host/dnn.c. */
#include "libraries.h"

/* Values of cudnn_graph.h, cudnn_ops.h and cudnn_cnn.h. */
enum {
    DATA_FLOAT = 0,
    DATA_DOUBLE = 1,
    DATA_HALF = 2,
    DATA_BFLOAT16 = 9,
    FORMAT_NCHW = 0,
    CROSS_CORRELATION = 1,
    MATH_DEFAULT = 0,
    MATH_FMA = 3,
    DETERMINISTIC = 1
};

#define CHOICES 10

/* cudnnConvolutionFwdAlgoPerf_t and its two brothers */
typedef struct choice {
    int algorithm, status;
    float milliseconds;
    size_t workspace_bytes;
    int determinism, math, reserved[3];
} choice;

/* ---- the library ---- */
typedef struct cudnn_functions {
    gpu_dnn_functions shared;
#define CUDNN(field, parameters, symbol) int(*field) parameters;
#define CUDNN_PRODUCTS(field, parameters, ...) int(*field[3]) parameters;
#include "cudnn.inc"
} cudnn_functions;

static const char *const files[] = {"libcudnn.so.9", "libcudnn.so", NULL};
static const char *const symbols[] = {
#define GPU_DNN(field, parameters, cuda, hip) cuda,
#include "../gpu/host/dnn.inc"
#define CUDNN(field, parameters, symbol) symbol,
#define CUDNN_PRODUCTS(field, parameters, ...) __VA_ARGS__,
#include "cudnn.inc"
};
_Static_assert(sizeof(cudnn_functions) == sizeof symbols, "a symbol per function");

/* By product: a, b and out of its functions. */
static const int order[3][3] = {
    {GPU_DNN_X, GPU_DNN_W, GPU_DNN_Y}, {GPU_DNN_W, GPU_DNN_Y, GPU_DNN_X}, {GPU_DNN_X, GPU_DNN_Y, GPU_DNN_W}};

/* ---- plans ---- */
/* Without TF32, f32 must not go through it. */
static int math_of(const gpu_dnn_key *k) { return k->type == DATA_FLOAT && !k->tf32 ? MATH_FMA : MATH_DEFAULT; }

static int describe(const void *functions, const gpu_dnn_key *k, gpu_dnn_plan *p) {
    const cudnn_functions *dnn = functions;
    const int compute = k->type == DATA_DOUBLE ? DATA_DOUBLE : DATA_FLOAT;
    int result = dnn->weight_set(p->operand[GPU_DNN_W], k->type, FORMAT_NCHW, k->ndim, k->sizes[GPU_DNN_W]);
    if (!result)
        result = dnn->conv_set(p->conv, k->ndim - 2, k->padding, k->stride, k->dilation, CROSS_CORRELATION, compute);
    return result ? result : dnn->conv_set_math(p->conv, math_of(k));
}

/* cuDNN's order, but for what is not allowed. */
static bool is_allowed(const gpu_dnn_key *k, const choice *c) {
    if (c->status || c->workspace_bytes > GPU_DNN_WORKSPACE_BYTES) return false;
    return !(k->deterministic && c->determinism != DETERMINISTIC) && !(math_of(k) == MATH_FMA && c->math != MATH_FMA);
}

static int choose(const void *functions, void *handle, const gpu_dnn_key *k, gpu_dnn_plan *p) {
    const cudnn_functions *dnn = functions;
    const int *o = order[k->product];
    void *const *d = p->operand;
    choice choices[CHOICES];
    int count = 0;
    int result = dnn->choose[k->product](handle, d[o[0]], d[o[1]], p->conv, d[o[2]], CHOICES, &count, choices);
    if (result) return result;
    for (int i = 0; i < count; ++i) {
        if (!is_allowed(k, &choices[i])) continue;
        p->algorithm = (uint64_t)choices[i].algorithm;
        p->workspace_bytes = choices[i].workspace_bytes;
        return dnn->conv_set_math(p->conv, choices[i].math);
    }
    return -1;
}

static int run(const void *functions, void *handle, const gpu_dnn_key *k, const gpu_dnn_plan *p,
               void *const data[GPU_DNN_OPERANDS], void *workspace) {
    static const double real[2] = {0, 1};
    static const float narrow[2] = {0, 1};
    const cudnn_functions *dnn = functions;
    const bool wide = k->type == DATA_DOUBLE;
    const void *zero = wide ? (const void *)&real[0] : &narrow[0], *one = wide ? (const void *)&real[1] : &narrow[1];
    const int *o = order[k->product];
    void *const *d = p->operand;
    return dnn->run[k->product](handle, one, d[o[0]], data[o[0]], d[o[1]], data[o[1]], p->conv, (int)p->algorithm,
                                workspace, p->workspace_bytes, zero, d[o[2]], data[o[2]]);
}

const gpu_dnn_vendor cuda_cudnn = {
    .name = "cuDNN",
    .lib = {"cudnn", files, symbols, sizeof symbols / sizeof symbols[0]},
    .type = {.f32 = DATA_FLOAT, .f64 = DATA_DOUBLE, .f16 = DATA_HALF, .bf16 = DATA_BFLOAT16},
    .describe = describe,
    .choose = choose,
    .run = run,
};
