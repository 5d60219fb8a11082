/* Convolutions by cuDNN or MIOpen. A plan (descriptors, algorithm) is made once per shape, type and switches, and is
 * kept. Making one may compile kernels and load them, which a capture forbids: a graph that is captured before there is
 * a plan gets the own kernels. */
#include "dnn.h"

#include <stdlib.h>
#include <string.h>

typedef struct dnn_device {
    pthread_mutex_t lock;
    gpu_cache handles; /* by stream, or one */
    gpu_cache plans;
} dnn_device;

struct gpu_dnn {
    const gpu_dnn_vendor *vendor;
    gpu_dnn_functions *functions; /* and the vendor's own behind them */
    dnn_device devices[GPU_DEVICES];
};

/* ---- from the shape to a key ---- */
static int type_of(const gpu_dnn_vendor *v, wick_dtype dtype) {
    switch (dtype) {
    case WICK_F32: return v->type.f32;
    case WICK_F64: return v->type.f64;
    case WICK_F16: return v->type.f16;
    case WICK_BF16: return v->type.bf16;
    default: return -1;
    }
}

/* False where the elements are more than the libraries count. */
static bool set_sizes(int32_t *out, int64_t first, int64_t second, const int64_t space[3], int ndim) {
    const int64_t sizes[GPU_DNN_DIMS] = {first, second, space[5 - ndim], space[6 - ndim], space[2]};
    int64_t elements = 1;
    for (int i = 0; i < ndim; ++i) {
        if (sizes[i] > INT32_MAX / elements) return false;
        elements *= sizes[i];
        out[i] = (int32_t)sizes[i];
    }
    return true;
}

/* False for maps that windows over the images do not make: a transposed convolution may ask for more output padding
 * than a stride. */
static bool set_windows(gpu_dnn_key *k, const wick_windows *w) {
    for (int i = 0, d = 5 - k->ndim; d < 3; ++i, ++d) {
        if (w->padding[d] > INT32_MAX || w->stride[d] > INT32_MAX || w->dilation[d] > INT32_MAX) return false;
        const int64_t room = w->in[d] + 2 * w->padding[d] - w->dilation[d] * (w->kernel[d] - 1) - 1;
        if (room < 0 || room / w->stride[d] + 1 != w->out[d]) return false;
        k->padding[i] = (int32_t)w->padding[d], k->stride[i] = (int32_t)w->stride[d];
        k->dilation[i] = (int32_t)w->dilation[d];
    }
    return true;
}

static bool key_of(const gpu_conv_shape *s, gpu_conv_product product, gpu_dnn_key *k) {
    const wick_windows *w = &s->space;
    memset(k, 0, sizeof *k);
    k->product = (int32_t)product;
    k->type = type_of(gpu_of(s->call)->dnn->vendor, s->dtype);
    k->tf32 = s->dtype == WICK_F32 && s->call->flags & WICK_CALL_TF32;
    k->deterministic = (s->call->flags & WICK_CALL_DETERMINISTIC) != 0;
    k->ndim = 2 + (s->ndim < 2 ? 2 : s->ndim);
    k->groups = (int32_t)s->groups;
    return k->type >= 0 && set_sizes(k->sizes[GPU_DNN_X], s->batch, s->groups * s->channels, w->in, k->ndim) &&
           set_sizes(k->sizes[GPU_DNN_W], s->groups * s->maps, s->channels, w->kernel, k->ndim) &&
           set_sizes(k->sizes[GPU_DNN_Y], s->batch, s->groups * s->maps, w->out, k->ndim) && set_windows(k, w);
}

/* ---- plans ---- */
int gpu_dnn_set_tensor(const gpu_dnn_functions *f, void *tensor, const gpu_dnn_key *k, const int32_t *sizes) {
    int strides[GPU_DNN_DIMS];
    for (int i = k->ndim - 1, stride = 1; i >= 0; stride *= sizes[i--]) strides[i] = stride;
    return f->tensor_set(tensor, k->type, k->ndim, sizes, strides);
}

static void release_plan(void *dnn, void *value) {
    const gpu_dnn_functions *f = ((gpu_dnn *)dnn)->functions;
    gpu_dnn_plan *p = value;
    if (p->operand[GPU_DNN_X]) f->tensor_destroy(p->operand[GPU_DNN_X]);
    if (p->operand[GPU_DNN_Y]) f->tensor_destroy(p->operand[GPU_DNN_Y]);
    if (p->operand[GPU_DNN_W]) f->weight_destroy(p->operand[GPU_DNN_W]);
    if (p->conv) f->conv_destroy(p->conv);
    free(p);
}

static int make_tensor(const gpu_dnn_functions *f, const gpu_dnn_key *k, int operand, gpu_dnn_plan *p) {
    int result = f->tensor_create(&p->operand[operand]);
    return result ? result : gpu_dnn_set_tensor(f, p->operand[operand], k, k->sizes[operand]);
}

static int describe(const gpu_dnn *dnn, const gpu_dnn_key *k, gpu_dnn_plan *p) {
    const gpu_dnn_functions *f = dnn->functions;
    int result = make_tensor(f, k, GPU_DNN_X, p);
    if (!result) result = make_tensor(f, k, GPU_DNN_Y, p);
    if (!result) result = f->weight_create(&p->operand[GPU_DNN_W]);
    if (!result) result = f->conv_create(&p->conv);
    if (!result) result = dnn->vendor->describe(f, k, p);
    return result ? result : f->conv_set_groups(p->conv, k->groups);
}

/* NULL: no memory. A convolution that the library does not take is kept as such. */
static gpu_dnn_plan *make_plan(gpu_dnn *dnn, dnn_device *d, void *handle, const gpu_dnn_key *key) {
    gpu_dnn_plan *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->usable = !describe(dnn, key, p) && !dnn->vendor->choose(dnn->functions, handle, key, p);
    if (gpu_cache_add(&d->plans, key, sizeof *key, p, release_plan, dnn)) return p;
    release_plan(dnn, p);
    return NULL;
}

/* ---- handles ---- */
static void release_handle(void *dnn, void *handle) { ((gpu_dnn *)dnn)->functions->destroy(handle); }

static wick_status *make_handle(const wick_kernel_call *call, dnn_device *d, const void *key, void *stream,
                                void **out) {
    gpu_dnn *dnn = gpu_of(call)->dnn;
    void *handle = NULL;
    int result = dnn->functions->create(&handle);
    if (!result) result = dnn->functions->set_stream(handle, stream);
    if (!result && gpu_cache_add(&d->handles, &key, sizeof key, handle, release_handle, dnn))
        return *out = handle, NULL;
    if (handle) release_handle(dnn, handle);
    if (!result)
        return WICK_HOST_ERROR(call->host, WICK_OUT_OF_MEMORY, "no memory for a handle of %s", dnn->vendor->name);
    return WICK_HOST_ERROR(call->host, WICK_DEVICE_ERROR, "%s: %s does not start: status %d; \"%s = no\" does without",
                           gpu_of(call)->device_name, dnn->vendor->name, result, dnn->vendor->lib.key);
}

/* ---- running: the lock is held, since a handle serves one call at a time ---- */
typedef struct dnn_job {
    const wick_kernel_call *call;
    dnn_device *device;
    void *stream, *handle;
    const gpu_dnn_plan *plan; /* NULL: there cannot be one now */
} dnn_job;

/* A plan, made now if it can be. */
static wick_status *find_plan(dnn_job *j, gpu_dnn_key *key) {
    gpu_instance *gpu = gpu_of(j->call);
    const void *handle_key = gpu->dnn->vendor->handle_per_stream ? j->stream : NULL;
    int capturing = 0;
    j->handle = gpu_cache_find(&j->device->handles, &handle_key, sizeof handle_key);
    key->handle = (uint64_t)(uintptr_t)j->handle;
    if (j->handle) j->plan = gpu_cache_find(&j->device->plans, key, sizeof *key);
    if (j->plan) return NULL;
    GPU_TRY(gpu, gpu->driver.is_capturing(j->stream, &capturing), "asking for a capture");
    if (capturing) return NULL;
    if (!j->handle) WICK_TRY(make_handle(j->call, j->device, handle_key, j->stream, &j->handle));
    key->handle = (uint64_t)(uintptr_t)j->handle;
    j->plan = make_plan(gpu->dnn, j->device, j->handle, key);
    if (j->plan) return NULL;
    return WICK_HOST_ERROR(j->call->host, WICK_OUT_OF_MEMORY, "no memory for a plan of a convolution");
}

static wick_status *check(const dnn_job *j, int result, const char *what) {
    const gpu_instance *gpu = gpu_of(j->call);
    if (!result) return NULL;
    return WICK_HOST_ERROR(j->call->host, WICK_DEVICE_ERROR, "%s: %s: %s: status %d", gpu->device_name,
                           gpu->dnn->vendor->name, what, result);
}

static wick_status *run(dnn_job *j, gpu_dnn_key *key, void *const data[GPU_DNN_OPERANDS], bool *out_done) {
    static const char *const names[] = {"convolution", "gradient of a convolution's input",
                                        "gradient of a convolution's weight"};
    gpu_instance *gpu = gpu_of(j->call);
    const gpu_dnn *dnn = gpu->dnn;
    wick_memory workspace = {0};
    GPU_TRY(gpu, gpu->vendor->make_current(gpu_device_of(j->call)), "using the device");
    WICK_TRY(find_plan(j, key));
    if (!j->plan || !j->plan->usable) return NULL;
    if (!dnn->vendor->handle_per_stream)
        WICK_TRY(check(j, dnn->functions->set_stream(j->handle, j->stream), "setting the stream"));
    if (j->plan->workspace_bytes)
        WICK_TRY(j->call->host->device_workspace(j->call, j->plan->workspace_bytes, &workspace));
    *out_done = true;
    return check(
        j,
        dnn->vendor->run(dnn->functions, j->handle, key, j->plan, data, (void *)(uintptr_t)gpu_address(&workspace, 0)),
        names[key->product]);
}

wick_status *gpu_dnn_convolve(const gpu_conv_shape *s, gpu_conv_product product, const gpu_conv_operands *o,
                              bool *out_done) {
    gpu_dnn *dnn = gpu_of(s->call)->dnn;
    gpu_dnn_key key;
    if (!dnn || !key_of(s, product, &key)) return NULL;
    void *const data[GPU_DNN_OPERANDS] = {o->image, o->weight, o->map};
    dnn_job j = {.call = s->call,
                 .device = &dnn->devices[s->call->device.index],
                 .stream = gpu_stream(gpu_device_of(s->call), s->call->stream)};
    pthread_mutex_lock(&j.device->lock);
    wick_status *status = run(&j, &key, data, out_done);
    pthread_mutex_unlock(&j.device->lock);
    return status;
}

/* ---- life ---- */
static wick_status *open_library(gpu_instance *gpu, const wick_config *config, gpu_dnn *dnn, bool *out_there) {
    const gpu_library *library = &dnn->vendor->lib;
    const size_t bytes = library->count * sizeof(void *);
    dnn->functions = calloc(1, bytes);
    if (!dnn->functions) return WICK_HOST_ERROR(gpu->host, WICK_OUT_OF_MEMORY, "no memory for %s", dnn->vendor->name);
    *out_there = gpu_library_open(gpu, config, library, dnn->functions);
    return NULL;
}

wick_status *gpu_dnn_open(gpu_instance *gpu, const wick_config *config) {
    bool there = false;
    if (!gpu->vendor->dnn) return NULL;
    gpu_dnn *dnn = calloc(1, sizeof *dnn);
    if (!dnn) return WICK_HOST_ERROR(gpu->host, WICK_OUT_OF_MEMORY, "no memory for %s", gpu->vendor->dnn->name);
    dnn->vendor = gpu->vendor->dnn;
    for (int i = 0; i < GPU_DEVICES; ++i) pthread_mutex_init(&dnn->devices[i].lock, NULL);
    gpu->dnn = dnn;
    wick_status *status = open_library(gpu, config, dnn, &there);
    if (!there) gpu_dnn_close(gpu);
    return status;
}

void gpu_dnn_close(gpu_instance *gpu) {
    gpu_dnn *dnn = gpu->dnn;
    if (!dnn) return;
    for (int i = 0; i < GPU_DEVICES; ++i) {
        dnn_device *d = &dnn->devices[i];
        if (i < gpu->count) gpu->vendor->make_current(&gpu->devices[i]);
        gpu_cache_clear(&d->plans, release_plan, dnn);
        gpu_cache_clear(&d->handles, release_handle, dnn);
        pthread_mutex_destroy(&d->lock);
    }
    free(dnn->functions);
    free(dnn);
    gpu->dnn = NULL;
}
