/* MIOpen's immediate mode over the mock runtime: convolutions of host memory, put on its streams. What AMD's library
 * refuses is refused: operands in another order, sizes that do not fit each other, a handle on another device,
 * compiling within a capture. It takes no doubles and no dilated groups, so that there is something that it does not
 * take. Of its three solutions the fastest wants too much memory, and the next one is not deterministic. Numbers are
 * those of miopen/miopen.h, written again. */
#include <stdlib.h>
#include <string.h>

#include "mock_element.h"
#include "mock_hip.h"

enum { BAD_PARM = 3, ALLOC_FAILED = 4, NOT_IMPLEMENTED = 6, UNKNOWN_ERROR = 7 };
enum { HALF = 0, FLOAT = 1, BFLOAT16 = 5, CONVOLUTION = 0, DETERMINISTIC = 1 };
enum { LARGE = 0x51, ATOMIC, NAIVE };
enum { DIMS = 5, COMPILED = 4096 };
#define LARGE_BYTES ((size_t)8 << 30)
#define ATOMIC_BYTES 4096

typedef struct tensor {
    int type, ndim, sizes[DIMS];
} tensor;

typedef struct convolution {
    int ndim, padding[3], stride[3], dilation[3], groups, deterministic;
} convolution;

typedef enum product { FORWARD, DATA, WEIGHTS } product;

/* With three spatial dimensions, the leading ones of size 1 where there are fewer. */
typedef struct problem {
    product kind;
    tensor x, w, y;
    convolution conv;
    uint64_t solution;
} problem;

typedef struct handle {
    mock_stream *stream;
    int device, compiled_count;
    problem compiled[COMPILED];
} handle;

/* miopenConvSolution_t */
typedef struct solution {
    float milliseconds;
    size_t workspace_bytes;
    uint64_t id;
    int algorithm;
} solution;

/* ---- handles, descriptors ---- */
static int create(const char *call, void **out, size_t bytes) {
    MOCK_ENTER(call);
    *out = calloc(1, bytes);
    return *out ? MOCK_SUCCESS : ALLOC_FAILED;
}

static int destroy(const char *call, void *p) {
    MOCK_ENTER(call);
    free(p);
    return p ? MOCK_SUCCESS : BAD_PARM;
}

/* It allocates and asks the device. */
MOCK_API int miopenCreate(void **out) {
    int result = mock_thread_captures() ? UNKNOWN_ERROR : create("miopenCreate", out, sizeof(handle));
    if (!result) ((handle *)*out)->device = mock_current_device();
    return result;
}
MOCK_API int miopenDestroy(void *h) { return destroy("miopenDestroy", h); }
MOCK_API int miopenSetStream(handle *h, mock_stream *stream) {
    MOCK_ENTER("miopenSetStream");
    if (!h || !stream) return BAD_PARM;
    h->stream = stream;
    return MOCK_SUCCESS;
}

MOCK_API int miopenCreateTensorDescriptor(void **out) {
    return create("miopenCreateTensorDescriptor", out, sizeof(tensor));
}
MOCK_API int miopenDestroyTensorDescriptor(void *t) { return destroy("miopenDestroyTensorDescriptor", t); }

/* The mock takes row-major ones only. */
MOCK_API int miopenSetTensorDescriptor(tensor *t, int type, int ndim, const int *sizes, const int *strides) {
    MOCK_ENTER("miopenSetTensorDescriptor");
    if (!t || ndim < 4 || ndim > DIMS) return BAD_PARM;
    for (int i = ndim - 1, stride = 1; i >= 0; stride *= sizes[i--])
        if (sizes[i] < 1 || strides[i] != stride) return BAD_PARM;
    *t = (tensor){.type = type, .ndim = ndim};
    memcpy(t->sizes, sizes, (size_t)ndim * sizeof *sizes);
    return MOCK_SUCCESS;
}

MOCK_API int miopenCreateConvolutionDescriptor(void **out) {
    return create("miopenCreateConvolutionDescriptor", out, sizeof(convolution));
}
MOCK_API int miopenDestroyConvolutionDescriptor(void *c) { return destroy("miopenDestroyConvolutionDescriptor", c); }

MOCK_API int miopenInitConvolutionNdDescriptor(convolution *c, int ndim, const int *padding, const int *stride,
                                               const int *dilation, int mode) {
    MOCK_ENTER("miopenInitConvolutionNdDescriptor");
    if (!c || ndim < 2 || ndim > 3 || mode != CONVOLUTION) return BAD_PARM;
    *c = (convolution){.ndim = ndim, .stride = {1, 1, 1}, .dilation = {1, 1, 1}, .groups = 1};
    for (int i = 0, d = 3 - ndim; i < ndim; ++i, ++d) {
        if (padding[i] < 0 || stride[i] < 1 || dilation[i] < 1) return BAD_PARM;
        c->padding[d] = padding[i], c->stride[d] = stride[i], c->dilation[d] = dilation[i];
    }
    return MOCK_SUCCESS;
}

MOCK_API int miopenSetConvolutionGroupCount(convolution *c, int groups) {
    MOCK_ENTER("miopenSetConvolutionGroupCount");
    if (!c || !c->ndim || groups < 1) return BAD_PARM;
    c->groups = groups;
    return MOCK_SUCCESS;
}

MOCK_API int miopenSetConvolutionAttribute(convolution *c, int attribute, int value) {
    MOCK_ENTER("miopenSetConvolutionAttribute");
    if (!c || !c->ndim || attribute != DETERMINISTIC) return BAD_PARM;
    c->deterministic = value;
    return MOCK_SUCCESS;
}

/* ---- what fits ---- */
static tensor spread(const tensor *t) {
    tensor out = {t->type, DIMS, {t->sizes[0], t->sizes[1], 1, t->sizes[t->ndim - 2], t->sizes[t->ndim - 1]}};
    if (t->ndim == DIMS) out.sizes[2] = t->sizes[2];
    return out;
}

static bool fits(const problem *p) {
    const int *x = p->x.sizes, *w = p->w.sizes, *y = p->y.sizes;
    const convolution *c = &p->conv;
    bool good = p->x.type == p->w.type && p->x.type == p->y.type && x[0] == y[0] && x[1] == w[1] * c->groups &&
                y[1] == w[0] && w[0] % c->groups == 0;
    for (int d = 0; d < 3; ++d) {
        const int room = x[2 + d] + 2 * c->padding[d] - c->dilation[d] * (w[2 + d] - 1) - 1;
        good = good && room >= 0 && y[2 + d] == room / c->stride[d] + 1;
    }
    return good;
}

/* Operands as the three kinds of function take them: (w, x) to y, (dy, w) to dx, (dy, x) to dw. */
static int problem_of(product kind, const tensor *a, const tensor *b, const convolution *c, const tensor *out,
                      uint64_t solution, problem *p) {
    static const int places[3][3] = {{1, 0, 2}, {2, 1, 0}, {1, 2, 0}}; /* of x, w, y among a, b, out */
    const tensor *operands[3] = {a, b, out};
    memset(p, 0, sizeof *p);
    if (!a || !b || !c || !out || a->ndim != b->ndim || a->ndim != out->ndim || c->ndim + 2 != a->ndim) return BAD_PARM;
    p->kind = kind;
    p->x = spread(operands[places[kind][0]]);
    p->w = spread(operands[places[kind][1]]);
    p->y = spread(operands[places[kind][2]]);
    p->conv = *c;
    p->solution = solution;
    return fits(p) ? MOCK_SUCCESS : BAD_PARM;
}

static bool takes(const problem *p) {
    const convolution *c = &p->conv;
    const bool dilated = c->dilation[0] > 1 || c->dilation[1] > 1 || c->dilation[2] > 1;
    const int type = p->x.type;
    return (type == HALF || type == FLOAT || type == BFLOAT16) && !(dilated && c->groups > 1);
}

/* ---- solutions ---- */
static int list(const handle *h, const problem *p, size_t most, size_t *out_count, solution *out) {
    const solution all[] = {
        {.milliseconds = 1, .workspace_bytes = LARGE_BYTES, .id = LARGE},
        {.milliseconds = 2, .workspace_bytes = ATOMIC_BYTES, .id = ATOMIC, .algorithm = 1},
        {.milliseconds = 3, .workspace_bytes = 0, .id = NAIVE, .algorithm = 1},
    };
    size_t count = 0;
    if (!h || h->device != mock_current_device()) return BAD_PARM;
    for (size_t i = 0; takes(p) && i < 3 && count < most; ++i)
        if (all[i].id != ATOMIC || !p->conv.deterministic) out[count++] = all[i];
    *out_count = count;
    return MOCK_SUCCESS;
}

static bool is_compiled(const handle *h, const problem *p) {
    for (int i = 0; i < h->compiled_count; ++i)
        if (!memcmp(&h->compiled[i], p, sizeof *p)) return true;
    return false;
}

/* Loads a module, which a capture forbids. */
static int compile(handle *h, const problem *p) {
    if (!h || h->device != mock_current_device() || p->solution < LARGE || p->solution > NAIVE) return BAD_PARM;
    if (!takes(p)) return NOT_IMPLEMENTED;
    if (is_compiled(h, p)) return MOCK_SUCCESS;
    if (mock_thread_captures()) return UNKNOWN_ERROR;
    if (h->compiled_count == COMPILED) return ALLOC_FAILED;
    h->compiled[h->compiled_count++] = *p;
    return MOCK_SUCCESS;
}

/* ---- convolutions ---- */
typedef struct job {
    problem problem;
    void *x, *w, *y, *workspace;
} job;

static mock_element element_of(int type) { return type == FLOAT ? MOCK_F32 : type == HALF ? MOCK_F16 : MOCK_BF16; }

static int64_t elements(const tensor *t) {
    int64_t n = 1;
    for (int i = 0; i < DIMS; ++i) n *= t->sizes[i];
    return n;
}
static int64_t space(const tensor *t) { return (int64_t)t->sizes[2] * t->sizes[3] * t->sizes[4]; }

static void place_of(int64_t i, const tensor *t, int out[3]) {
    for (int d = 2; d >= 0; i /= t->sizes[2 + d--]) out[d] = (int)(i % t->sizes[2 + d]);
}

/* The pixel that a tap of an output sees; -1: padding. */
static int64_t pixel_of(const problem *p, const int output[3], const int tap[3]) {
    const convolution *c = &p->conv;
    int64_t pixel = 0;
    for (int d = 0; d < 3; ++d) {
        const int at = output[d] * c->stride[d] - c->padding[d] + tap[d] * c->dilation[d], size = p->x.sizes[2 + d];
        if (at < 0 || at >= size) return -1;
        pixel = pixel * size + at;
    }
    return pixel;
}

/* All products of an image's map and channel, added to what is asked for; x, w and y begin with theirs. */
static void visit(const job *j, int64_t x, int64_t w, int64_t y, float *sums) {
    const problem *p = &j->problem;
    const mock_element type = element_of(p->x.type);
    int output[3], tap[3];
    for (int64_t o = 0; o < space(&p->y); ++o)
        for (int64_t t = 0; t < space(&p->w); ++t) {
            place_of(o, &p->y, output);
            place_of(t, &p->w, tap);
            const int64_t pixel = pixel_of(p, output, tap);
            if (pixel < 0) continue;
            const int64_t at[3] = {x + pixel, w + t, y + o};
            if (p->kind == FORWARD) sums[at[2]] += mock_load(j->x, type, at[0]) * mock_load(j->w, type, at[1]);
            if (p->kind == DATA) sums[at[0]] += mock_load(j->w, type, at[1]) * mock_load(j->y, type, at[2]);
            if (p->kind == WEIGHTS) sums[at[1]] += mock_load(j->x, type, at[0]) * mock_load(j->y, type, at[2]);
        }
}

static void visit_all(const job *j, float *sums) {
    const problem *p = &j->problem;
    const int64_t pixels = space(&p->x), taps = space(&p->w), outputs = space(&p->y);
    const int channels = p->w.sizes[1], maps = p->w.sizes[0], maps_of_group = maps / p->conv.groups;
    for (int n = 0; n < p->x.sizes[0]; ++n)
        for (int k = 0; k < maps; ++k)
            for (int c = 0; c < channels; ++c) {
                const int64_t channel = (int64_t)(k / maps_of_group) * channels + c;
                visit(j, ((int64_t)n * p->x.sizes[1] + channel) * pixels, ((int64_t)k * channels + c) * taps,
                      ((int64_t)n * maps + k) * outputs, sums);
            }
}

/* The workspace is written, as algorithms do: who shares it is to be seen. */
static int run(const gpu_emulated_kernel *unused, const unsigned grid[3], const unsigned block[3], size_t shared,
               const void *args) {
    const job *j = args;
    const problem *p = &j->problem;
    const tensor *out = p->kind == FORWARD ? &p->y : p->kind == DATA ? &p->x : &p->w;
    void *data = p->kind == FORWARD ? j->y : p->kind == DATA ? j->x : j->w;
    float *sums = calloc((size_t)elements(out), sizeof *sums);
    if (!sums) return GPU_EMULATE_NO_MEMORY;
    if (p->solution == ATOMIC) memset(j->workspace, 0xff, ATOMIC_BYTES);
    visit_all(j, sums);
    for (int64_t i = 0; i < elements(out); ++i) mock_store(data, element_of(out->type), i, sums[i]);
    free(sums);
    return GPU_EMULATE_DONE;
}

static bool holds(const void *data, const tensor *t) {
    return mock_holds(data, (size_t)elements(t) * (t->type == FLOAT ? 4 : 2), false);
}

static int start(handle *h, const job *j, size_t workspace_bytes) {
    const problem *p = &j->problem;
    const size_t wanted = p->solution == LARGE ? LARGE_BYTES : p->solution == ATOMIC ? ATOMIC_BYTES : 0;
    int result = compile(h, p);
    if (result) return result;
    if (!holds(j->x, &p->x) || !holds(j->w, &p->w) || !holds(j->y, &p->y) || !h->stream) return BAD_PARM;
    if (workspace_bytes < wanted || (wanted && !mock_holds(j->workspace, workspace_bytes, false))) return BAD_PARM;
    if (wanted) MOCK_ENTER("solution with a workspace");
    mock_task t = {.kind = MOCK_LAUNCH, .launch = run, .payload = malloc(sizeof *j)};
    if (!t.payload) return ALLOC_FAILED;
    memcpy(t.payload, j, sizeof *j);
    return mock_put(h->stream, &t);
}

/* ---- the functions of a kind; x, w and y name which of its data are which ---- */
#define FUNCTIONS(name, kind, x_data, w_data, y_data)                                                             \
    MOCK_API int miopenConvolution##name##GetSolution(const handle *h, const tensor *a, const tensor *b,          \
                                                      const convolution *c, const tensor *out, size_t most,       \
                                                      size_t *out_count, solution *solutions) {                   \
        problem p;                                                                                                \
        MOCK_ENTER("miopenConvolution" #name "GetSolution");                                                      \
        int result = problem_of(kind, a, b, c, out, 0, &p);                                                       \
        return result ? result : list(h, &p, most, out_count, solutions);                                         \
    }                                                                                                             \
    MOCK_API int miopenConvolution##name##CompileSolution(handle *h, const tensor *a, const tensor *b,            \
                                                          const convolution *c, const tensor *out, uint64_t id) { \
        problem p;                                                                                                \
        MOCK_ENTER("miopenConvolution" #name "CompileSolution");                                                  \
        int result = problem_of(kind, a, b, c, out, id, &p);                                                      \
        return result ? result : compile(h, &p);                                                                  \
    }                                                                                                             \
    MOCK_API int miopenConvolution##name##Immediate(handle *h, const tensor *a, void *a_data, const tensor *b,    \
                                                    void *b_data, const convolution *c, const tensor *out,        \
                                                    void *out_data, void *workspace, size_t bytes, uint64_t id) { \
        job j = {.x = x_data, .w = w_data, .y = y_data, .workspace = workspace};                                  \
        MOCK_ENTER("miopenConvolution" #name "Immediate");                                                        \
        int result = problem_of(kind, a, b, c, out, id, &j.problem);                                              \
        return result ? result : start(h, &j, bytes);                                                             \
    }
FUNCTIONS(Forward, FORWARD, b_data, a_data, out_data)
FUNCTIONS(BackwardData, DATA, out_data, b_data, a_data)
FUNCTIONS(BackwardWeights, WEIGHTS, b_data, out_data, a_data)
