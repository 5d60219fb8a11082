/* Convolution in one to three dimensions: by the vendor's library (dnn.c), or as matrix products over columns of patches.
 * Three products serve all: maps from images, images from maps, weights from both; a transposed convolution has its maps
 * where a plain one has its images. */
#include "../device/args_conv.h"
#include "dnn.h"
#include "element.h"
#include "gemm.h"

#define THREADS 256
#define FLAGS (WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_CAPTURE_SAFE)
#define COLUMN_BYTES (INT64_C(256) << 20) /* of scratch memory; a batch is taken in parts that fit */
#define SPLIT_DEPTH 4096 /* the most products that one sum of a weight's gradient has, if it can be split */

/* ---- geometry ---- */
/* `v`: from stride on. */
static wick_status *shape_of(const wick_kernel_call *call, const wick_tensor *image, const wick_tensor *map,
                             const wick_tensor *weight, const wick_value *v, gpu_conv_shape *s) {
    const int ndim = weight->ndim - 2;
    if (ndim > 3)
        return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "%s: at most 3 spatial dimensions on device %s, got %d",
                               call->host->op_name(call->op), gpu_of(call)->device_name, ndim);
    *s = (gpu_conv_shape){.call = call,
                          .dtype = (wick_dtype)weight->dtype,
                          .ndim = ndim,
                          .batch = image->sizes[0],
                          .groups = v[WICK_CONV_GROUPS].as.i,
                          .channels = weight->sizes[1],
                          .maps = weight->sizes[0] / v[WICK_CONV_GROUPS].as.i,
                          .pixels = 1,
                          .outputs = 1,
                          .taps = 1,
                          .is_plain = true};
    wick_windows *w = &s->space;
    wick_windows_convolution(v, image, map, weight, w);
    for (int d = 0; d < 3; ++d) {
        s->pixels *= w->in[d], s->outputs *= w->out[d], s->taps *= w->kernel[d];
        s->is_plain = s->is_plain && w->kernel[d] == 1 && w->stride[d] == 1 && !w->padding[d] && w->in[d] == w->out[d];
    }
    return NULL;
}

/* Images whose columns fit the scratch memory and 31 bits. */
static wick_status *part_of(const gpu_conv_shape *s, int64_t *out) {
    const int64_t elements = s->groups * s->channels * s->taps * s->outputs,
                  bytes = (int64_t)wick_dtype_bytes(s->dtype);
    const int64_t planes = s->groups * s->channels * s->pixels, maps = s->groups * s->maps * s->outputs;
    int64_t largest = elements > planes ? elements : planes;
    if (maps > largest) largest = maps;
    if (largest > INT32_MAX)
        return WICK_HOST_ERROR(s->call->host, WICK_UNSUPPORTED, "%s: images of %lld elements are too large for %s",
                               s->call->host->op_name(s->call->op), (long long)largest, gpu_of(s->call)->device_name);
    *out = COLUMN_BYTES / bytes / (largest ? largest : 1);
    *out = *out < 1 ? 1 : *out > s->batch ? s->batch : *out;
    return NULL;
}

/* Of sizes that may be 0, with which nothing is launched. */
static gpu_divider divider_of(int64_t size) { return gpu_divider_of(size < 1 ? 1 : (uint32_t)size); }

static gpu_conv_args args_of(const gpu_conv_shape *s, int64_t images) {
    const wick_windows *w = &s->space;
    gpu_conv_args a = {.dtype = (int32_t)s->dtype,
                       .bytes = (int32_t)wick_dtype_bytes(s->dtype),
                       .images = divider_of(images),
                       .channels = divider_of(s->groups * s->channels)};
    for (int d = 0; d < 3; ++d) {
        a.in[d] = divider_of(w->in[d]), a.out[d] = divider_of(w->out[d]), a.kernel[d] = divider_of(w->kernel[d]);
        a.stride[d] = (int32_t)w->stride[d], a.padding[d] = (int32_t)w->padding[d];
        a.dilation[d] = (int32_t)w->dilation[d];
    }
    return a;
}

static wick_status *launch(const gpu_conv_shape *s, gpu_kernel kernel, gpu_conv_args *a, int64_t n) {
    a->n = (uint32_t)n;
    if (!n) return NULL;
    return gpu_launch(s->call, kernel, gpu_blocks(gpu_device_of(s->call), n, THREADS, 1, 64), THREADS, 0, a);
}

static gpu_kernel of_width(const gpu_conv_shape *s, gpu_kernel two, gpu_kernel four, gpu_kernel eight) {
    const size_t bytes = wick_dtype_bytes(s->dtype);
    return bytes == 2 ? two : bytes == 4 ? four : eight;
}

static char *element_at(const void *base, const gpu_conv_shape *s, int64_t i) {
    return (char *)(uintptr_t)base + i * (int64_t)wick_dtype_bytes(s->dtype);
}

/* ---- one part of the batch: `images` of them from `first` on ---- */
typedef struct conv_part {
    const gpu_conv_shape *s;
    int64_t first, images;
} conv_part;

static char *images_at(const conv_part *p, const void *image) {
    const gpu_conv_shape *s = p->s;
    return element_at(image, s, p->first * s->groups * s->channels * s->pixels);
}
static char *maps_at(const conv_part *p, const void *map) {
    const gpu_conv_shape *s = p->s;
    return element_at(map, s, p->first * s->groups * s->maps * s->outputs);
}

/* The columns of these images, row by row [groups][channels * taps][images * outputs]; plain ones are the images. */
static wick_status *columns_of(const conv_part *p, const void *image, bool in_place, void *scratch, gpu_matrix *out) {
    const gpu_conv_shape *s = p->s;
    gpu_conv_args a = args_of(s, p->images);
    a.image_step = s->groups * s->channels * s->pixels;
    if (in_place) {
        *out = (gpu_matrix){images_at(p, image), s->pixels, 1, a.image_step};
        return NULL;
    }
    *out = (gpu_matrix){scratch, p->images * s->outputs, 1, s->outputs};
    a.from = images_at(p, image), a.to = scratch;
    return launch(s, of_width(s, GPU_conv_columns_2, GPU_conv_columns_4, GPU_conv_columns_8), &a,
                  s->groups * s->channels * s->taps * p->images * s->outputs);
}

/* [groups][maps][channels * taps]: the first group's. */
static gpu_matrix weight_matrix(const gpu_conv_shape *s, const void *weight) {
    const int64_t row = s->channels * s->taps;
    return (gpu_matrix){(void *)(uintptr_t)weight, row, 1, 0};
}

static gpu_matrix map_matrix(const conv_part *p, const void *map) {
    const gpu_conv_shape *s = p->s;
    return (gpu_matrix){maps_at(p, map), s->outputs, 1, s->groups * s->maps * s->outputs};
}

static gpu_gemm product_of(const gpu_conv_shape *s, int64_t m, int64_t n, int64_t k, int64_t batch) {
    return (gpu_gemm){.dtype = s->dtype,
                      .args = {.m = m, .n = n, .k = k, .batch = batch, .alpha = 1, .whole_alpha = 1}};
}

/* Elements from one group to the next. */
typedef struct group_steps {
    int64_t a, b, c, out;
} group_steps;

static gpu_matrix moved(gpu_matrix m, wick_dtype dtype, int64_t elements) {
    if (m.data) m.data = (char *)m.data + elements * (int64_t)wick_dtype_bytes(dtype);
    return m;
}

/* The first group's product, for all groups: of groups and the batch the smaller one is a loop. */
static wick_status *run_groups(const gpu_conv_shape *s, const gpu_gemm *g, const group_steps *step) {
    const bool by_group = s->groups <= g->args.batch;
    for (int64_t i = 0, count = by_group ? s->groups : g->args.batch; i < count; ++i) {
        gpu_gemm one = *g;
        gpu_gemm_args *m = &one.args;
        m->a = moved(m->a, g->dtype, i * (by_group ? step->a : m->a.batch));
        m->b = moved(m->b, g->dtype, i * (by_group ? step->b : m->b.batch));
        m->c = moved(m->c, g->dtype, i * (by_group ? step->c : m->c.batch));
        m->out = moved(m->out, g->dtype, i * (by_group ? step->out : m->out.batch));
        if (!by_group) {
            m->batch = s->groups;
            m->a.batch = step->a, m->b.batch = step->b, m->c.batch = step->c, m->out.batch = step->out;
        }
        WICK_TRY(gpu_gemm_run(s->call, &one));
    }
    return NULL;
}

/* maps = weight x columns + bias */
static wick_status *maps_from_images(const conv_part *p, const void *image, const void *weight, const void *bias,
                                     void *map, void *scratch) {
    const gpu_conv_shape *s = p->s;
    const int64_t row = s->channels * s->taps;
    const group_steps step = {.a = s->maps * row,
                              .b = s->is_plain ? s->channels * s->pixels : row * p->images * s->outputs,
                              .c = s->maps,
                              .out = s->maps * s->outputs};
    gpu_gemm g = product_of(s, s->maps, s->outputs, row, p->images);
    WICK_TRY(columns_of(p, image, s->is_plain, scratch, &g.args.b));
    g.args.a = weight_matrix(s, weight);
    g.args.out = map_matrix(p, map);
    if (bias) {
        g.args.c = (gpu_matrix){(void *)(uintptr_t)bias, 1, 0, 0};
        g.args.beta = 1, g.args.whole_beta = 1;
    }
    return run_groups(s, &g, &step);
}

/* Columns that are added up must not be rounded: halves become floats. */
static wick_dtype column_dtype(const gpu_conv_shape *s) { return s->dtype == WICK_F64 ? WICK_F64 : WICK_F32; }

/* `n` elements from each of `images` places, as floats side by side at `to`. */
static wick_status *widen(const gpu_conv_shape *s, const void *from, int64_t images, int64_t step, int64_t n,
                          void *to) {
    gpu_conv_args a = {.from = from,
                       .to = to,
                       .image_step = step,
                       .from_dtype = (int32_t)s->dtype,
                       .from_bytes = (int32_t)wick_dtype_bytes(s->dtype),
                       .channels = divider_of(n)};
    return launch(s, GPU_conv_widen, &a, images * n);
}

/* The operands of weight' x maps, behind the columns in scratch memory where they are widened. */
static wick_status *column_operands(const conv_part *p, const void *map, const void *weight, float *spare,
                                    gpu_gemm *g) {
    const gpu_conv_shape *s = p->s;
    gpu_matrix w = weight_matrix(s, weight), m = map_matrix(p, map);
    const int64_t weights = s->groups * s->maps * w.row;
    if (s->dtype != column_dtype(s)) {
        WICK_TRY(widen(s, w.data, 1, 0, weights, spare));
        w.data = spare, spare += weights;
        WICK_TRY(widen(s, m.data, p->images, m.batch, m.batch, spare));
        m.data = spare;
    }
    g->args.a = (gpu_matrix){w.data, w.col, w.row, 0};
    g->args.b = m;
    return NULL;
}

/* columns = weight' x maps, then images from columns, with their bias */
static wick_status *images_from_maps(const conv_part *p, const void *map, const void *weight, const void *bias,
                                     void *image, void *scratch) {
    const gpu_conv_shape *s = p->s;
    const int64_t row = s->channels * s->taps, depth = p->images * s->outputs;
    const group_steps step = {.a = s->maps * row, .b = s->maps * s->outputs, .out = row * depth};
    gpu_gemm g = product_of(s, row, s->outputs, s->maps, p->images);
    gpu_conv_args a = args_of(s, p->images);
    g.dtype = column_dtype(s);
    WICK_TRY(column_operands(p, map, weight, (float *)scratch + s->groups * row * depth, &g));
    g.args.out = (gpu_matrix){scratch, depth, 1, s->outputs};
    WICK_TRY(run_groups(s, &g, &step));
    a.from = scratch, a.from_dtype = (int32_t)g.dtype, a.from_bytes = (int32_t)wick_dtype_bytes(g.dtype);
    a.to = images_at(p, image), a.image_step = s->groups * s->channels * s->pixels;
    a.bias = bias;
    return launch(s, s->dtype == WICK_F64 ? GPU_conv_image_f64 : GPU_conv_image_f32, &a, p->images * a.image_step);
}

/* Into how many sums a depth of images * outputs is split; images go to splits evenly. */
static int64_t splits_of(const gpu_conv_shape *s, int64_t images) {
    int64_t splits = 1;
    if (s->dtype != WICK_F32 && s->dtype != WICK_F64) return 1; /* what is split would be rounded */
    if (images < s->batch) return 1;                            /* parts of the batch add up in place */
    while (images % (2 * splits) == 0 && images / splits * s->outputs > SPLIT_DEPTH) splits *= 2;
    return splits;
}

/* weight (+)= maps x columns', summed over images and outputs; `scratch` has columns, then maps, then parts. */
static wick_status *weight_from_both(const conv_part *p, const void *image, const void *map, void *weight,
                                     char *scratch) {
    const gpu_conv_shape *s = p->s;
    const int64_t row = s->channels * s->taps, depth = p->images * s->outputs, splits = splits_of(s, p->images);
    const int64_t all_maps = s->groups * s->maps;
    const group_steps step = {s->maps * depth, row * depth, s->maps * row, s->maps * row};
    char *maps = element_at(scratch, s, s->groups * row * depth), *parts = element_at(maps, s, all_maps * depth);
    gpu_gemm g = product_of(s, s->maps, row, depth / splits, splits);
    gpu_conv_args a = args_of(s, p->images);
    gpu_matrix columns;
    WICK_TRY(columns_of(p, image, false, scratch, &columns));
    a.from = maps_at(p, map), a.to = maps, a.image_step = all_maps * s->outputs;
    WICK_TRY(launch(s, of_width(s, GPU_conv_maps_2, GPU_conv_maps_4, GPU_conv_maps_8), &a, all_maps * depth));
    g.args.a = (gpu_matrix){maps, depth, 1, depth / splits};
    g.args.b = (gpu_matrix){columns.data, 1, depth, depth / splits};
    g.args.out = weight_matrix(s, weight);
    if (splits > 1) {
        g.args.out = (gpu_matrix){parts, row, 1, all_maps * row};
    } else if (p->first) {
        g.args.c = g.args.out;
        g.args.beta = 1, g.args.whole_beta = 1;
    }
    WICK_TRY(run_groups(s, &g, &step));
    if (splits == 1) return NULL;
    const gpu_conv_sum_args sum = {.from = parts,
                                   .to = weight,
                                   .dtype = (int32_t)s->dtype,
                                   .bytes = (int32_t)wick_dtype_bytes(s->dtype),
                                   .splits = (uint32_t)splits,
                                   .n = (uint32_t)(all_maps * row)};
    return gpu_launch(s->call, s->dtype == WICK_F64 ? GPU_conv_parts_f64 : GPU_conv_parts_f32,
                      gpu_blocks(gpu_device_of(s->call), sum.n, THREADS, 1, 32), THREADS, 0, &sum);
}

/* ---- all parts ---- */
static wick_status *clear(const wick_kernel_call *call, const wick_tensor *t) {
    gpu_device *d = gpu_device_of(call);
    const size_t bytes = (size_t)t->numel * wick_dtype_bytes((wick_dtype)t->dtype);
    if (!bytes) return NULL;
    GPU_TRY(d->gpu, d->gpu->vendor->make_current(d), "using the device");
    int result = d->gpu->driver.set_bytes((uint64_t)(uintptr_t)gpu_data(t), 0, bytes, gpu_stream(d, call->stream));
    return gpu_check(d->gpu, result, "clearing");
}

static wick_status *scratch_of(const gpu_conv_shape *s, gpu_conv_product product, int64_t images, void **out) {
    const int64_t row = s->channels * s->taps, depth = images * s->outputs, all_maps = s->groups * s->maps;
    int64_t elements = s->groups * row * depth;
    if (product == GPU_CONV_MAPS && s->is_plain) return *out = NULL, NULL;
    if (product == GPU_CONV_WEIGHT) elements += all_maps * depth + splits_of(s, images) * all_maps * row;
    if (product == GPU_CONV_IMAGES && s->dtype != column_dtype(s)) elements += all_maps * (depth + row);
    const wick_dtype dtype = product == GPU_CONV_IMAGES ? column_dtype(s) : s->dtype;
    return gpu_scratch(s->call, elements * (int64_t)wick_dtype_bytes(dtype), out);
}

/* The last part of a batch may be smaller. */
static wick_status *run_parts(const gpu_conv_shape *s, gpu_conv_product product, const gpu_conv_operands *o) {
    int64_t most = 1;
    void *scratch = NULL;
    WICK_TRY(part_of(s, &most));
    WICK_TRY(scratch_of(s, product, most, &scratch));
    for (int64_t first = 0; first < s->batch; first += most) {
        const conv_part p = {s, first, s->batch - first < most ? s->batch - first : most};
        WICK_TRY(product == GPU_CONV_MAPS     ? maps_from_images(&p, o->image, o->weight, o->bias, o->map, scratch)
                 : product == GPU_CONV_IMAGES ? images_from_maps(&p, o->map, o->weight, o->bias, o->image, scratch)
                                              : weight_from_both(&p, o->image, o->map, o->weight, scratch));
    }
    return NULL;
}

/* result[image][channel][pixel] += bias[channel] */
static wick_status *add_bias(const gpu_conv_shape *s, gpu_conv_product product, const gpu_conv_operands *o) {
    const bool maps = product == GPU_CONV_MAPS;
    const int64_t channels = s->groups * (maps ? s->maps : s->channels), pixels = maps ? s->outputs : s->pixels;
    gpu_conv_args a = args_of(s, s->batch);
    a.to = maps ? o->map : o->image, a.bias = o->bias;
    a.channels = divider_of(channels), a.in[2] = divider_of(pixels);
    return launch(s, s->dtype == WICK_F64 ? GPU_conv_bias_f64 : GPU_conv_bias_f32, &a, s->batch * channels * pixels);
}

static wick_status *run_library(const gpu_conv_shape *s, gpu_conv_product product, const gpu_conv_operands *o,
                                bool *out_done) {
    WICK_TRY(gpu_dnn_convolve(s, product, o, out_done));
    return *out_done && o->bias ? add_bias(s, product, o) : NULL;
}

/* Sums of nothing are zeros: the bias alone, if there is one, still has to be added. */
static wick_status *run_product(const gpu_conv_shape *s, gpu_conv_product product, const gpu_conv_operands *o,
                                const wick_tensor *result) {
    const bool complete = s->batch && s->outputs && s->pixels && s->taps && s->maps && s->channels;
    bool done = false;
    if (!result->numel) return NULL;
    if (complete) WICK_TRY(run_library(s, product, o, &done));
    if (complete) return done ? NULL : run_parts(s, product, o);
    if (!o->bias) return clear(s->call, result);
    if (s->outputs && s->pixels && s->taps) return run_parts(s, product, o);
    return WICK_HOST_ERROR(s->call->host, WICK_UNSUPPORTED, "%s: empty spatial dimensions on device %s",
                           s->call->host->op_name(s->call->op), gpu_of(s->call)->device_name);
}

/* ---- rows ---- */
static void *data_or_null(const wick_tensor *t) { return t ? gpu_data(t) : NULL; }

/* (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups) */
static wick_status *convolution(const wick_kernel_call *call) {
    const wick_tensor *x = wick_arg_tensor(call, 0), *w = wick_arg_tensor(call, 1), *y = wick_out_tensor(call, 0);
    const bool transposed = call->values[WICK_CONV_FIRST + WICK_CONV_TRANSPOSED].as.i != 0;
    gpu_conv_shape s;
    WICK_TRY(shape_of(call, transposed ? y : x, transposed ? x : y, w, &call->values[WICK_CONV_FIRST], &s));
    const gpu_conv_operands o = {.image = gpu_data(transposed ? y : x),
                                 .map = gpu_data(transposed ? x : y),
                                 .weight = gpu_data(w),
                                 .bias = data_or_null(wick_arg_tensor(call, 2))};
    return run_product(&s, transposed ? GPU_CONV_IMAGES : GPU_CONV_MAPS, &o, y);
}

/* The gradient of the bias: sums by channel. */
static wick_status *bias_gradient(const wick_kernel_call *call, const wick_tensor *dy, const wick_tensor *out) {
    const bool wide = dy->dtype == WICK_F64;
    const int64_t channels = dy->sizes[1];
    int64_t pixels = 1;
    if (!out->numel) return NULL;
    for (int d = 2; d < dy->ndim; ++d) pixels *= dy->sizes[d];
    gpu_conv_sum_args a = {.from = gpu_data(dy),
                           .dtype = dy->dtype,
                           .bytes = (int32_t)wick_dtype_bytes((wick_dtype)dy->dtype),
                           .images = dy->sizes[0],
                           .channels = channels,
                           .pixels = pixels};
    const int64_t blocks = (dy->sizes[0] * pixels + THREADS * 16 - 1) / (THREADS * 16);
    a.splits = (uint32_t)(blocks < 1 ? 1 : blocks > 64 ? 64 : blocks);
    a.n = (uint32_t)channels;
    WICK_TRY(gpu_scratch(call, a.splits * channels * (wide ? 8 : 4), &a.to));
    WICK_TRY(gpu_launch(call, wide ? GPU_conv_channels_f64 : GPU_conv_channels_f32, (unsigned)(channels * a.splits),
                        THREADS, 0, &a));
    a.from = a.to, a.to = gpu_data(out);
    return gpu_launch(call, wide ? GPU_conv_parts_f64 : GPU_conv_parts_f32,
                      gpu_blocks(gpu_device_of(call), channels, THREADS, 1, 32), THREADS, 0, &a);
}

/* (grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask) */
static wick_status *convolution_backward(const wick_kernel_call *call) {
    const wick_tensor *dy = wick_arg_tensor(call, 0), *x = wick_arg_tensor(call, 1), *w = wick_arg_tensor(call, 2);
    const wick_tensor *dx = wick_out_tensor(call, 0), *dw = wick_out_tensor(call, 1), *db = wick_out_tensor(call, 2);
    const bool transposed = call->values[WICK_CONV_BACKWARD_FIRST + WICK_CONV_TRANSPOSED].as.i != 0;
    gpu_conv_shape s;
    WICK_TRY(shape_of(call, transposed ? dy : x, transposed ? x : dy, w, &call->values[WICK_CONV_BACKWARD_FIRST], &s));
    if (dx) {
        const gpu_conv_operands o = {
            .image = gpu_data(transposed ? dy : dx), .map = gpu_data(transposed ? dx : dy), .weight = gpu_data(w)};
        WICK_TRY(run_product(&s, transposed ? GPU_CONV_MAPS : GPU_CONV_IMAGES, &o, dx));
    }
    if (dw) {
        const gpu_conv_operands o = {
            .image = gpu_data(transposed ? dy : x), .map = gpu_data(transposed ? x : dy), .weight = gpu_data(dw)};
        WICK_TRY(run_product(&s, GPU_CONV_WEIGHT, &o, dw));
    }
    return db ? bias_gradient(call, dy, db) : NULL;
}

static const wick_kernel_row rows[] = {
    WICK_KERNEL_ROW("convolution", convolution, GPU_REALS, FLAGS),
    WICK_KERNEL_ROW("convolution_backward", convolution_backward, GPU_REALS, FLAGS),
};
const gpu_table gpu_conv_table = GPU_TABLE(rows);
