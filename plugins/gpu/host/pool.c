/* Pooling in two and three dimensions, and columns of patches. All leading dimensions together are planes. */
#include "../device/args_pool.h"
#include "element.h"

#include <wick/sdk/shape.h>

#define THREADS 256
#define FLAGS (WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_CAPTURE_SAFE)
#define NUMBERS (GPU_REALS | (GPU_WHOLES & ~WICK_DTYPE_BIT(WICK_BOOL)))
#define AVERAGED (GPU_REALS | WICK_DTYPE_BIT(WICK_I64))
#define LAUNCH_ELEMENTS (INT64_C(1) << 30)

typedef enum number_class { CLASS_F32, CLASS_F64, CLASS_I64 } number_class;
static number_class class_of(wick_dtype d) {
    return !gpu_is_real(d) ? CLASS_I64 : d == WICK_F64 ? CLASS_F64 : CLASS_F32;
}

static unsigned blocks_for(const wick_kernel_call *call, uint32_t n) {
    return gpu_blocks(gpu_device_of(call), n, THREADS, 1, 64);
}

static wick_status *too_large(const wick_kernel_call *call, int64_t n) {
    return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "%s: planes of %lld elements are too large for device %s",
                           call->host->op_name(call->op), (long long)n, gpu_of(call)->device_name);
}

/* ---- windows ---- */
typedef struct pool_form {
    uint8_t ndim;
    bool adaptive, backward, average;
    uint8_t first;  /* argument of the kernel's size */
    uint8_t places; /* argument of the backward of maxima */
} pool_form;

static wick_windows windows_of(const wick_kernel_call *call, const pool_form *f, const wick_tensor *image,
                               const wick_tensor *pooled) {
    wick_windows w;
    if (f->adaptive)
        wick_windows_of(image, pooled, f->ndim, &w);
    else
        wick_windows_pool(&call->values[f->first], !f->average, image, pooled, f->ndim, &w);
    return w;
}

static void set_windows(const wick_kernel_call *call, const pool_form *f, const wick_windows *w, gpu_pool_args *a) {
    const wick_value *v = &call->values[f->first];
    a->adaptive = f->adaptive;
    for (int d = 0; d < 3; ++d) {
        a->kernel[d] = (int32_t)w->kernel[d], a->stride[d] = (int32_t)w->stride[d];
        a->padding[d] = (int32_t)w->padding[d], a->dilation[d] = (int32_t)w->dilation[d];
    }
    if (!f->average || f->adaptive) return;
    a->include_padding = v[4].as.i != 0;
    a->divisor = wick_value_is_none(&v[5]) ? 0 : v[5].as.i;
}

/* Elements of a plane. */
static int64_t set_sizes(const int64_t *sizes, gpu_divider *out) {
    int64_t n = 1;
    for (int d = 0; d < 3; ++d) {
        n = sizes[d] > INT32_MAX / n ? INT64_MAX / INT32_MAX : n * sizes[d];
        out[d] = gpu_divider_of((uint32_t)sizes[d]);
    }
    return n;
}

static gpu_kernel pool_kernel(const pool_form *f, number_class class) {
    static const gpu_kernel kernels[2][2][3] = {
        {{GPU_max_pool_f32, GPU_max_pool_f64, GPU_max_pool_i64},
         {GPU_max_pool_backward_f32, GPU_max_pool_backward_f64, GPU_max_pool_backward_f64}},
        {{GPU_avg_pool_f32, GPU_avg_pool_f64, GPU_avg_pool_i64},
         {GPU_avg_pool_backward_f32, GPU_avg_pool_backward_f64, GPU_avg_pool_backward_i64}}};
    return kernels[f->average][f->backward][class];
}

/* As many planes a launch as 31 bits count. */
static wick_status *run_planes(const wick_kernel_call *call, gpu_kernel kernel, gpu_pool_args *a, int64_t planes,
                               int64_t from, int64_t to) {
    const int64_t most = LAUNCH_ELEMENTS / (from > to ? from : to);
    if (most < 1) return too_large(call, from > to ? from : to);
    const char *x = a->x;
    char *y = a->y;
    int64_t *places = a->places,
            of_places =
                kernel == GPU_max_pool_f32 || kernel == GPU_max_pool_f64 || kernel == GPU_max_pool_i64 ? to : from;
    for (int64_t p = 0; p < planes; p += most) {
        a->x = x + p * from * a->bytes, a->y = y + p * to * a->bytes;
        if (places) a->places = places + p * of_places;
        a->n = (uint32_t)((planes - p < most ? planes - p : most) * to);
        WICK_TRY(gpu_launch(call, kernel, blocks_for(call, a->n), THREADS, 0, a));
    }
    return NULL;
}

static wick_status *pool(const wick_kernel_call *call) {
    const pool_form *f = call->data;
    const wick_tensor *from = wick_arg_tensor(call, 0), *to = wick_out_tensor(call, 0);
    const wick_tensor *places = f->average    ? NULL
                                : f->backward ? wick_arg_tensor(call, f->places)
                                              : wick_out_tensor(call, 1);
    gpu_pool_args a = {.x = gpu_data(from),
                       .y = gpu_data(to),
                       .places = places ? gpu_data(places) : NULL,
                       .dtype = from->dtype,
                       .bytes = (int32_t)wick_dtype_bytes((wick_dtype)from->dtype)};
    if (!to->numel) return NULL;
    const wick_windows w = windows_of(call, f, f->backward ? to : from, f->backward ? from : to);
    set_windows(call, f, &w, &a);
    const int64_t in = set_sizes(w.in, a.in), out = set_sizes(w.out, a.out);
    const int64_t own = f->backward ? in : out, other = f->backward ? out : in;
    return run_planes(call, pool_kernel(f, class_of((wick_dtype)from->dtype)), &a, to->numel / own, other, own);
}

/* ---- columns ---- */
/* kernel_size, dilation, padding, stride from `first` on. */
static gpu_columns_args columns_of(const wick_kernel_call *call, int first, const wick_tensor *image) {
    const wick_value *v = &call->values[first];
    gpu_columns_args a = {.from = gpu_data(wick_arg_tensor(call, 0)),
                          .to = gpu_data(wick_out_tensor(call, 0)),
                          .dtype = image->dtype,
                          .bytes = (int32_t)wick_dtype_bytes((wick_dtype)image->dtype)};
    wick_windows w;
    wick_windows_columns(v, image, &w);
    for (int d = 0; d < 2; ++d) {
        a.in[d] = gpu_divider_of((uint32_t)w.in[d + 1]), a.out[d] = gpu_divider_of((uint32_t)w.out[d + 1]);
        a.kernel[d] = gpu_divider_of((uint32_t)w.kernel[d + 1]), a.stride[d] = (int32_t)w.stride[d + 1];
        a.padding[d] = (int32_t)w.padding[d + 1], a.dilation[d] = (int32_t)w.dilation[d + 1];
    }
    return a;
}

/* As many planes a launch as 31 bits count. */
static wick_status *run_columns(const wick_kernel_call *call, gpu_kernel kernel, gpu_columns_args *a,
                                const wick_tensor *image) {
    const wick_tensor *to = wick_out_tensor(call, 0), *from = wick_arg_tensor(call, 0);
    if (!to->numel) return NULL;
    const int64_t planes = image->numel / (wick_size(image, -1) * wick_size(image, -2));
    const int64_t own = to->numel / planes, other = from->numel / planes, most = LAUNCH_ELEMENTS / own;
    if (most < 1) return too_large(call, own);
    const char *source = a->from;
    char *target = a->to;
    for (int64_t p = 0; p < planes; p += most) {
        a->from = source + p * other * a->bytes, a->to = target + p * own * a->bytes;
        a->n = (uint32_t)((planes - p < most ? planes - p : most) * own);
        WICK_TRY(gpu_launch(call, kernel, blocks_for(call, a->n), THREADS, 0, a));
    }
    return NULL;
}

static wick_status *im2col(const wick_kernel_call *call) {
    static const gpu_kernel kernels[] = {GPU_im2col_1, GPU_im2col_2, GPU_im2col_4, GPU_im2col_8, GPU_im2col_16};
    const wick_tensor *image = wick_arg_tensor(call, 0);
    gpu_columns_args a = columns_of(call, 1, image);
    return run_columns(call, kernels[__builtin_ctz((unsigned)a.bytes)], &a, image);
}

static wick_status *col2im(const wick_kernel_call *call) {
    static const gpu_kernel kernels[] = {GPU_col2im_f32, GPU_col2im_f64, GPU_col2im_i64};
    const wick_tensor *image = wick_out_tensor(call, 0);
    if (!gpu_has_dtype((wick_dtype)image->dtype)) return gpu_refuse(call, (wick_dtype)image->dtype);
    gpu_columns_args a = columns_of(call, 2, image);
    return run_columns(call, kernels[class_of((wick_dtype)image->dtype)], &a, image);
}

#define FORM(...) (&(const pool_form){__VA_ARGS__})
#define ROW(schema, form, dtypes) WICK_KERNEL_ROW_WITH(schema, pool, form, dtypes, FLAGS)
#define MAX(n, is_adaptive) FORM(.ndim = n, .adaptive = is_adaptive, .first = 1)
#define MAX_BACK(n, is_adaptive) \
    FORM(.ndim = n, .adaptive = is_adaptive, .backward = true, .first = 2, .places = is_adaptive ? 2 : 7)
#define AVG(n, is_adaptive, back) \
    FORM(.ndim = n, .adaptive = is_adaptive, .backward = back, .average = true, .first = back ? 2 : 1)
static const wick_kernel_row rows[] = {
    ROW("max_pool2d_with_indices", MAX(2, false), NUMBERS),
    ROW("max_pool3d_with_indices", MAX(3, false), NUMBERS),
    ROW("adaptive_max_pool2d", MAX(2, true), NUMBERS),
    ROW("adaptive_max_pool3d", MAX(3, true), NUMBERS),
    ROW("max_pool2d_with_indices_backward", MAX_BACK(2, false), GPU_REALS),
    ROW("max_pool3d_with_indices_backward", MAX_BACK(3, false), GPU_REALS),
    ROW("adaptive_max_pool2d_backward", MAX_BACK(2, true), GPU_REALS),
    ROW("adaptive_max_pool3d_backward", MAX_BACK(3, true), GPU_REALS),
    ROW("avg_pool2d", AVG(2, false, false), AVERAGED),
    ROW("avg_pool3d", AVG(3, false, false), AVERAGED),
    ROW("avg_pool2d_backward", AVG(2, false, true), AVERAGED),
    ROW("avg_pool3d_backward", AVG(3, false, true), AVERAGED),
    ROW("_adaptive_avg_pool2d", AVG(2, true, false), GPU_REALS),
    ROW("_adaptive_avg_pool3d", AVG(3, true, false), GPU_REALS),
    ROW("_adaptive_avg_pool2d_backward", AVG(2, true, true), GPU_REALS),
    ROW("_adaptive_avg_pool3d_backward", AVG(3, true, true), GPU_REALS),
    WICK_KERNEL_ROW("im2col", im2col, 0, FLAGS),
    WICK_KERNEL_ROW("col2im", col2im, 0, FLAGS),
};
const gpu_table gpu_pool_table = GPU_TABLE(rows);
