/* Sliding windows: unfolding for convolutions, max pooling. All tensors are row-major. */
#include "kernels.h"

#include <wick/sdk/shape.h>

static const ocl_recipe columns_recipe = {
    .sources = {ocl_source_window}, .kernels = {"im2col", "col2im"}, .expression = "0"};
enum { POOL, POOL_BACKWARD, POOL_ASTRAY };
static const ocl_recipe pool_recipe = {.sources = {ocl_source_window},
                                       .kernels = {"max_pool", "max_pool_backward", "max_pool_astray"},
                                       .expression = "1",
                                       .places = "B"};

/* `window` of kernels/window.cl; kernel, stride, padding and dilation as (height, width). */
typedef struct window {
    cl_long planes, height, width, rows, columns;
    cl_long kernel[2], stride[2], padding[2], dilation[2];
} window;

static window window_of(const wick_windows *from, const wick_tensor *image) {
    window w = {1, from->in[1], from->in[2], from->out[1], from->out[2], {0}, {0}, {0}, {0}};
    for (int d = 0; d < image->ndim - 2; ++d) w.planes *= image->sizes[d];
    for (int d = 0; d < 2; ++d) {
        w.kernel[d] = from->kernel[d + 1], w.stride[d] = from->stride[d + 1];
        w.padding[d] = from->padding[d + 1], w.dilation[d] = from->dilation[d + 1];
    }
    return w;
}

/* ---- im2col and col2im ---- */
/* `first`: position of kernel_size. */
static window column_window(const wick_kernel_call *call, int first, const wick_tensor *image) {
    wick_windows w;
    wick_windows_columns(&call->values[first], image, &w);
    return window_of(&w, image);
}

static wick_status *run_columns(const wick_kernel_call *call, const window *w, int kernel) {
    const wick_tensor *in = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, 0);
    ocl_variant v = {.recipe = &columns_recipe, .compute = out->dtype, .dtypes = {out->dtype, in->dtype}};
    ocl_launch launch;
    WICK_TRY(ocl_begin(&launch, call, &v, kernel, out->numel));
    ocl_arg(&launch, w, sizeof *w);
    ocl_arg_tensor(&launch, out), ocl_arg_tensor(&launch, in);
    return ocl_end_items(&launch, out->numel);
}

/* (self [.., h, w], kernel, dilation, padding, stride) */
wick_status *ocl_im2col(const wick_kernel_call *call) {
    window w = column_window(call, 1, wick_arg_tensor(call, 0));
    return run_columns(call, &w, 0);
}

/* (self, output_size, kernel, dilation, padding, stride) -> [.., h, w] */
wick_status *ocl_col2im(const wick_kernel_call *call) {
    window w = column_window(call, 2, wick_out_tensor(call, 0));
    return run_columns(call, &w, 1);
}

/* ---- max pooling ---- */
/* `first`: position of kernel_size. */
static window pool_window(const wick_kernel_call *call, int first, const wick_tensor *image,
                          const wick_tensor *pooled) {
    wick_windows w;
    wick_windows_pool(&call->values[first], true, image, pooled, 2, &w);
    return window_of(&w, image);
}

static ocl_variant pool_variant(const wick_tensor *out, const wick_tensor *in, const wick_tensor *at) {
    return (ocl_variant){.recipe = &pool_recipe, .compute = out->dtype, .dtypes = {out->dtype, in->dtype, at->dtype}};
}

/* (self, kernel, stride, padding, dilation, ceil_mode) -> (values, positions) */
wick_status *ocl_max_pool2d(const wick_kernel_call *call) {
    const wick_tensor *in = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, 0), *at = wick_out_tensor(call, 1);
    ocl_variant v = pool_variant(out, in, at);
    ocl_launch launch;
    window w = pool_window(call, 1, in, out);
    WICK_TRY(ocl_begin(&launch, call, &v, POOL, out->numel));
    ocl_arg(&launch, &w, sizeof w);
    ocl_arg_tensor(&launch, out), ocl_arg_tensor(&launch, in), ocl_arg_tensor(&launch, at);
    return ocl_end_items(&launch, out->numel);
}

/* ---- its gradient ---- */
typedef struct backward {
    const wick_kernel_call *call;
    window w;
    ocl_variant variant;
    const wick_tensor *grad, *at, *out;
    wick_memory astray; /* scratch: a cl_int a plane, whether a position lies outside its window */
} backward;

static void arg_astray(ocl_launch *launch, const backward *b) {
    cl_mem handle = b->astray.handle;
    ocl_arg(launch, &handle, sizeof handle);
    ocl_arg_long(launch, (int64_t)(b->astray.offset_bytes / sizeof(cl_int)));
}

static wick_status *find_astray(const backward *b) {
    const wick_kernel_call *call = b->call;
    ocl *self = ocl_of(call);
    ocl_line *line = ocl_line_of(self, call->device.index, call->stream);
    cl_int zero = 0;
    ocl_launch launch;
    cl_int code =
        self->api.clEnqueueFillBuffer(line->queue, b->astray.handle, &zero, sizeof zero, b->astray.offset_bytes,
                                      (size_t)b->w.planes * sizeof zero, 0, NULL, NULL);
    ++line->submitted;
    if (code) return ocl_error(self, code, "clEnqueueFillBuffer");
    WICK_TRY(ocl_begin(&launch, call, &b->variant, POOL_ASTRAY, b->out->numel));
    ocl_arg(&launch, &b->w, sizeof b->w), ocl_arg_tensor(&launch, b->at);
    arg_astray(&launch, b);
    return ocl_end_items(&launch, b->grad->numel);
}

/* (grad_output, self, kernel, stride, padding, dilation, ceil_mode, indices) */
wick_status *ocl_max_pool2d_backward(const wick_kernel_call *call) {
    backward b = {.call = call, .grad = wick_arg_tensor(call, 0), .at = wick_arg_tensor(call, 7)};
    ocl_launch launch;
    b.out = wick_out_tensor(call, 0);
    b.variant = pool_variant(b.out, b.grad, b.at);
    if (b.out->numel == 0) return NULL;
    b.w = pool_window(call, 2, b.out, b.grad);
    WICK_TRY(call->host->device_workspace(call, (uint64_t)b.w.planes * sizeof(cl_int), &b.astray));
    WICK_TRY(find_astray(&b));
    WICK_TRY(ocl_begin(&launch, call, &b.variant, POOL_BACKWARD, b.out->numel));
    ocl_arg(&launch, &b.w, sizeof b.w);
    ocl_arg_tensor(&launch, b.out), ocl_arg_tensor(&launch, b.grad), ocl_arg_tensor(&launch, b.at);
    arg_astray(&launch, &b);
    return ocl_end_items(&launch, b.out->numel);
}
