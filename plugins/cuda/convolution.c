/* Convolutions by cuDNN: forward, and the gradients of input, weight and bias, in 1 to 3 dimensions. A transposed
 * convolution is the input gradient of the convolution with the same weight, and the other way round. Plans are kept per
 * shape. */
#include "libraries.h"

#include <stdlib.h>
#include <wick/sdk/shape.h>

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

#define DIMS 5
#define CHOICES 10
#define WORKSPACE_BYTES ((size_t)1 << 30)

/* cudnnConvolutionFwdAlgoPerf_t and its two brothers */
typedef struct choice {
    int algorithm, status;
    float milliseconds;
    size_t workspace_bytes;
    int determinism, math, reserved[3];
} choice;

enum direction { FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT };

/* y = convolution of x with w: sizes with at least two spatial dimensions. */
typedef struct conv_key {
    int32_t direction, type, compute, math, deterministic, ndim, groups;
    int32_t x[DIMS], w[DIMS], y[DIMS];
    int32_t padding[3], stride[3], dilation[3];
} conv_key;

typedef struct conv_plan {
    void *x, *w, *y, *conv;
    choice chosen;
    bool usable;
} conv_plan;

/* ---- descriptors ---- */
static int set_tensor(const cudnn_functions *dnn, void **out, int type, int ndim, const int32_t *sizes) {
    int strides[DIMS], result = dnn->tensor_create(out);
    for (int i = ndim - 1, stride = 1; i >= 0; stride *= sizes[i--]) strides[i] = stride;
    return result ? result : dnn->tensor_set(*out, type, ndim, sizes, strides);
}

static int make_descriptors(const cudnn_functions *dnn, const conv_key *k, conv_plan *p) {
    int result = set_tensor(dnn, &p->x, k->type, k->ndim, k->x);
    if (!result) result = set_tensor(dnn, &p->y, k->type, k->ndim, k->y);
    if (!result) result = dnn->filter_create(&p->w);
    if (!result) result = dnn->filter_set(p->w, k->type, FORMAT_NCHW, k->ndim, k->w);
    if (!result) result = dnn->conv_create(&p->conv);
    if (!result)
        result = dnn->conv_set(p->conv, k->ndim - 2, k->padding, k->stride, k->dilation, CROSS_CORRELATION, k->compute);
    if (!result) result = dnn->conv_set_groups(p->conv, k->groups);
    if (!result) result = dnn->conv_set_math(p->conv, k->math);
    return result;
}

void cuda_convolution_release(void *libraries, void *value) {
    const cudnn_functions *dnn = &((gpu_libraries *)libraries)->cudnn;
    conv_plan *p = value;
    if (p->x) dnn->tensor_destroy(p->x);
    if (p->y) dnn->tensor_destroy(p->y);
    if (p->w) dnn->filter_destroy(p->w);
    if (p->conv) dnn->conv_destroy(p->conv);
    free(p);
}

/* ---- which algorithm: cuDNN's order, but for what is not allowed ---- */
static int ask(const cudnn_functions *dnn, void *handle, const conv_key *k, const conv_plan *p, choice *out,
               int *count) {
    switch (k->direction) {
    case FORWARD: return dnn->forward_choose(handle, p->x, p->w, p->conv, p->y, CHOICES, count, out);
    case INPUT_GRADIENT: return dnn->input_choose(handle, p->w, p->y, p->conv, p->x, CHOICES, count, out);
    default: return dnn->weight_choose(handle, p->x, p->y, p->conv, p->w, CHOICES, count, out);
    }
}

static bool choose(const cudnn_functions *dnn, void *handle, const conv_key *k, conv_plan *p) {
    choice choices[CHOICES];
    int count = 0;
    if (ask(dnn, handle, k, p, choices, &count)) return false;
    for (int i = 0; i < count; ++i) {
        const choice *c = &choices[i];
        if (c->status || c->workspace_bytes > WORKSPACE_BYTES) continue;
        if ((k->deterministic && c->determinism != DETERMINISTIC) || (k->math == MATH_FMA && c->math != MATH_FMA))
            continue;
        p->chosen = *c;
        return !dnn->conv_set_math(p->conv, c->math);
    }
    return false;
}

static conv_plan *make_plan(gpu_libraries *all, cuda_library_device *d, const conv_key *key) {
    conv_plan *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->usable = !make_descriptors(&all->cudnn, key, p) && choose(&all->cudnn, d->cudnn, key, p);
    if (gpu_cache_add(&d->convolutions, key, sizeof *key, p, cuda_convolution_release, all)) return p;
    cuda_convolution_release(all, p);
    return NULL;
}

/* ---- running: the lock is held, since a handle has one stream ---- */
typedef struct conv_job {
    const wick_kernel_call *call;
    const cudnn_functions *dnn;
    cuda_library_device *device;
    conv_key key; /* but for the direction */
} conv_job;

static const double real_one = 1, real_zero = 0;
static const float narrow_one = 1, narrow_zero = 0;
static const void *one(const conv_job *j) {
    return j->key.compute == DATA_DOUBLE ? (const void *)&real_one : &narrow_one;
}
static const void *zero(const conv_job *j) {
    return j->key.compute == DATA_DOUBLE ? (const void *)&real_zero : &narrow_zero;
}

static wick_status *check(const conv_job *j, int result, const char *what) {
    if (!result) return NULL;
    return WICK_HOST_ERROR(j->call->host, WICK_DEVICE_ERROR, "%s: cuDNN: %s: status %d", gpu_of(j->call)->device_name,
                           what, result);
}

static wick_status *begin(conv_job *j) {
    gpu_device *device = gpu_device_of(j->call);
    GPU_TRY(gpu_of(j->call), gpu_of(j->call)->vendor->make_current(device), "using the device");
    if (!j->device->cudnn) WICK_TRY(check(j, j->dnn->create(&j->device->cudnn), "starting"));
    return check(j, j->dnn->set_stream(j->device->cudnn, gpu_stream(device, j->call->stream)), "setting the stream");
}

/* x, w and y of the direction: two are read, one is written. */
static wick_status *run(conv_job *j, enum direction direction, const wick_tensor *x, const wick_tensor *w,
                        const wick_tensor *y) {
    gpu_libraries *all = gpu_of(j->call)->libraries;
    wick_memory workspace = {0};
    j->key.direction = (int32_t)direction;
    conv_plan *p = gpu_cache_find(&j->device->convolutions, &j->key, sizeof j->key);
    if (!p) p = make_plan(all, j->device, &j->key);
    if (!p) return WICK_HOST_ERROR(j->call->host, WICK_OUT_OF_MEMORY, "no memory for a plan of a convolution");
    if (!p->usable)
        return WICK_HOST_ERROR(j->call->host, WICK_UNSUPPORTED, "%s: cuDNN has no algorithm for this convolution",
                               gpu_of(j->call)->device_name);
    if (p->chosen.workspace_bytes)
        WICK_TRY(j->call->host->device_workspace(j->call, p->chosen.workspace_bytes, &workspace));
    void *space = (void *)(uintptr_t)gpu_address(&workspace, 0), *handle = j->device->cudnn;
    const cudnn_functions *dnn = j->dnn;
    const int algorithm = p->chosen.algorithm;
    const size_t bytes = p->chosen.workspace_bytes;
    if (direction == FORWARD)
        return check(j,
                     dnn->forward(handle, one(j), p->x, gpu_data(x), p->w, gpu_data(w), p->conv, algorithm, space,
                                  bytes, zero(j), p->y, gpu_data(y)),
                     "convolution");
    if (direction == INPUT_GRADIENT)
        return check(j,
                     dnn->backward_input(handle, one(j), p->w, gpu_data(w), p->y, gpu_data(y), p->conv, algorithm,
                                         space, bytes, zero(j), p->x, gpu_data(x)),
                     "gradient of a convolution's input");
    return check(j,
                 dnn->backward_weight(handle, one(j), p->x, gpu_data(x), p->y, gpu_data(y), p->conv, algorithm, space,
                                      bytes, zero(j), p->w, gpu_data(w)),
                 "gradient of a convolution's weight");
}

/* `forward`: adds a number per channel to t; else t's sum per channel goes to `channels`. */
static wick_status *run_bias(conv_job *j, bool forward, const wick_tensor *t, const wick_tensor *channels) {
    const cudnn_functions *dnn = j->dnn;
    int32_t sizes[DIMS] = {1, 1, 1, 1, 1}, one_each[DIMS] = {1, 1, 1, 1, 1};
    void *all = NULL, *each = NULL, *handle = j->device->cudnn;
    one_each[1] = sizes[1] = (int32_t)t->sizes[1];
    sizes[0] = (int32_t)t->sizes[0];
    for (int i = 2; i < t->ndim; ++i) sizes[i + j->key.ndim - t->ndim] = (int32_t)t->sizes[i];
    int result = set_tensor(dnn, &all, j->key.type, j->key.ndim, sizes);
    if (!result) result = set_tensor(dnn, &each, j->key.type, j->key.ndim, one_each);
    if (!result && forward)
        result = dnn->add(handle, one(j), each, gpu_data(channels), one(j), all, gpu_data(t));
    else if (!result)
        result = dnn->backward_bias(handle, one(j), all, gpu_data(t), zero(j), each, gpu_data(channels));
    if (all) dnn->tensor_destroy(all);
    if (each) dnn->tensor_destroy(each);
    return check(j, result, forward ? "bias of a convolution" : "gradient of a convolution's bias");
}

/* ---- from the arguments ---- */
static int type_of(wick_dtype dtype) {
    switch (dtype) {
    case WICK_F64: return DATA_DOUBLE;
    case WICK_F16: return DATA_HALF;
    case WICK_BF16: return DATA_BFLOAT16;
    default: return DATA_FLOAT;
    }
}

/* One spatial dimension becomes two, the first of size 1. False: too large for cuDNN. */
static bool set_sizes(int32_t *out, int ndim, const wick_tensor *t) {
    int added = ndim - t->ndim;
    for (int i = 0; i < ndim; ++i) out[i] = 1;
    for (int i = 0; i < t->ndim; ++i) {
        if (t->sizes[i] > INT32_MAX) return false;
        out[i < 2 ? i : i + added] = (int32_t)t->sizes[i];
    }
    return t->numel <= INT32_MAX;
}

/* `first`: position of stride. x is what a convolution reads, y what it makes. */
static wick_status *make_job(const wick_kernel_call *call, const wick_tensor *x, const wick_tensor *w,
                             const wick_tensor *y, int first, conv_job *out) {
    const wick_value *v = &call->values[first];
    gpu_libraries *all = gpu_of(call)->libraries;
    conv_key *k = &out->key;
    wick_windows windows;
    const wick_dtype dtype = wick_tensor_dtype(w);
    memset(out, 0, sizeof *out);
    out->call = call, out->dnn = &all->cudnn, out->device = cuda_libraries_of(call);
    k->ndim = x->ndim < 4 ? 4 : x->ndim;
    k->type = type_of(dtype);
    k->compute = dtype == WICK_F64 ? DATA_DOUBLE : DATA_FLOAT;
    k->math = dtype == WICK_F32 && !(call->flags & WICK_CALL_TF32) ? MATH_FMA : MATH_DEFAULT;
    k->deterministic = (call->flags & WICK_CALL_DETERMINISTIC) != 0;
    k->groups = (int32_t)v[WICK_CONV_GROUPS].as.i;
    bool fits = x->ndim >= 3 && x->ndim <= DIMS && set_sizes(k->x, k->ndim, x) && set_sizes(k->w, k->ndim, w) &&
                set_sizes(k->y, k->ndim, y);
    if (!fits)
        return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED,
                               "%s: cuDNN takes no convolution of %d dimensions and %lld elements",
                               gpu_of(call)->device_name, x->ndim, (long long)x->numel);
    wick_windows_convolution(v, x, y, w, &windows);
    for (int i = 0, d = 5 - k->ndim; d < 3; ++i, ++d) {
        k->stride[i] = (int32_t)windows.stride[d], k->padding[i] = (int32_t)windows.padding[d];
        k->dilation[i] = (int32_t)windows.dilation[d];
    }
    return NULL;
}

static wick_status *fill_zero(const wick_kernel_call *call, const wick_tensor *t) {
    const gpu_instance *gpu = gpu_of(call);
    size_t bytes = (size_t)t->numel * wick_dtype_bytes((wick_dtype)t->dtype);
    if (!bytes) return NULL;
    GPU_TRY(gpu, gpu->vendor->make_current(gpu_device_of(call)), "using the device");
    return gpu_check(gpu,
                     gpu->driver.set_bytes((uint64_t)(uintptr_t)gpu_data(t), 0, bytes,
                                           gpu_stream(gpu_device_of(call), call->stream)),
                     "filling with zeros");
}

/* ---- convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups) ---- */
static wick_status *forward_locked(conv_job *j, bool transposed) {
    const wick_kernel_call *call = j->call;
    const wick_tensor *in = wick_arg_tensor(call, 0), *w = wick_arg_tensor(call, 1), *bias = wick_arg_tensor(call, 2);
    const wick_tensor *out = wick_out_tensor(call, 0);
    WICK_TRY(begin(j));
    WICK_TRY(transposed ? run(j, INPUT_GRADIENT, out, w, in) : run(j, FORWARD, in, w, out));
    return bias ? run_bias(j, true, out, bias) : NULL;
}

static wick_status *convolve(const wick_kernel_call *call) {
    const wick_tensor *in = wick_arg_tensor(call, 0), *w = wick_arg_tensor(call, 1), *out = wick_out_tensor(call, 0);
    const bool transposed = call->values[WICK_CONV_FIRST + WICK_CONV_TRANSPOSED].as.i;
    conv_job j;
    if (!out->numel) return NULL;
    if (!in->numel || !w->numel) return fill_zero(call, out);
    WICK_TRY(make_job(call, transposed ? out : in, w, transposed ? in : out, WICK_CONV_FIRST, &j));
    pthread_mutex_lock(&j.device->lock);
    wick_status *status = forward_locked(&j, transposed);
    pthread_mutex_unlock(&j.device->lock);
    return status;
}

/* ---- convolution_backward(grad_output, input, weight, bias_sizes, stride, ..., groups, output_mask) ---- */
static wick_status *backward_locked(conv_job *j, bool transposed) {
    const wick_kernel_call *call = j->call;
    const wick_tensor *grad = wick_arg_tensor(call, 0), *in = wick_arg_tensor(call, 1), *w = wick_arg_tensor(call, 2);
    const wick_tensor *to_in = wick_out_tensor(call, 0), *to_w = wick_out_tensor(call, 1),
                      *to_bias = wick_out_tensor(call, 2);
    WICK_TRY(begin(j));
    if (to_in) WICK_TRY(transposed ? run(j, FORWARD, grad, w, to_in) : run(j, INPUT_GRADIENT, to_in, w, grad));
    if (to_w) WICK_TRY(transposed ? run(j, WEIGHT_GRADIENT, grad, to_w, in) : run(j, WEIGHT_GRADIENT, in, to_w, grad));
    return to_bias ? run_bias(j, false, grad, to_bias) : NULL;
}

static wick_status *convolve_backward(const wick_kernel_call *call) {
    const wick_tensor *grad = wick_arg_tensor(call, 0), *in = wick_arg_tensor(call, 1), *w = wick_arg_tensor(call, 2);
    const bool transposed = call->values[WICK_CONV_BACKWARD_FIRST + WICK_CONV_TRANSPOSED].as.i;
    conv_job j;
    if (!grad->numel || !in->numel || !w->numel) {
        for (int i = 0; i < 3; ++i)
            if (wick_out_tensor(call, i)) WICK_TRY(fill_zero(call, wick_out_tensor(call, i)));
        return NULL;
    }
    WICK_TRY(make_job(call, transposed ? grad : in, w, transposed ? in : grad, WICK_CONV_BACKWARD_FIRST, &j));
    pthread_mutex_lock(&j.device->lock);
    wick_status *status = backward_locked(&j, transposed);
    pthread_mutex_unlock(&j.device->lock);
    return status;
}

#define REALS WICK_DTYPES_FLOAT
#define FLAGS (WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_CAPTURE_SAFE)

const wick_kernel_row cuda_convolution_rows[] = {
    WICK_KERNEL_ROW("convolution", convolve, REALS, FLAGS),
    WICK_KERNEL_ROW("convolution_backward", convolve_backward, REALS, FLAGS),
};
const uint64_t cuda_convolution_row_count = sizeof cuda_convolution_rows / sizeof cuda_convolution_rows[0];
