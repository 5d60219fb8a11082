/* copy_ and fill: any dtype and strides to any other. */
#include "../device/args_copy.h"
#include "element.h"

#define THREADS 256
#define FLAGS (WICK_KERNEL_FUSED_CAST | WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_CAPTURE_SAFE)

typedef struct copy_job {
    const wick_kernel_call *call;
    char *out;
    const char *in;
    wick_dtype to, from;
    gpu_kernel kernel; /* of a cast */
} copy_job;

static unsigned blocks_for(const wick_kernel_call *call, int64_t n, unsigned per_thread) {
    return gpu_blocks(gpu_device_of(call), n, THREADS, per_thread, 32);
}

/* ---- the same bytes, both packed: the driver's copy ---- */
static wick_status *copy_packed(const wick_kernel_call *call, const wick_tensor *dst, const wick_tensor *src) {
    gpu_device *d = gpu_device_of(call);
    size_t bytes = (size_t)dst->numel * wick_dtype_bytes((wick_dtype)dst->dtype);
    GPU_TRY(d->gpu, d->gpu->vendor->make_current(d), "using the device");
    int result = d->gpu->driver.copy((uint64_t)(uintptr_t)gpu_data(dst), (uint64_t)(uintptr_t)gpu_data(src), bytes,
                                     gpu_stream(d, call->stream));
    return gpu_check(d->gpu, result, "copying");
}

/* ---- the same bytes, packed along different dimensions ---- */
/* The dimension along which the source is packed, while the target is along dimension 0; 0 if there is none. */
static int transposed_dim(const gpu_walk *w, int64_t unit) {
    if (w->strides[0][0] != unit || w->strides[1][0] == unit || w->sizes[0].divisor < 8) return 0;
    for (int d = 1; d < w->ndim; ++d)
        if (w->strides[1][d] == unit && w->sizes[d].divisor >= 8) return d;
    return 0;
}

static gpu_walk without_dims(const gpu_walk *w, int a, int b) {
    gpu_walk rest = {.ndim = 0};
    for (int d = 0; d < w->ndim; ++d) {
        if (d == a || d == b) continue;
        rest.sizes[rest.ndim] = w->sizes[d];
        for (int k = 0; k < 2; ++k) rest.strides[k][rest.ndim] = w->strides[k][d];
        ++rest.ndim;
    }
    return rest;
}

/* May several elements be read or written at once, on operand `k`? */
static bool takes_packs(const gpu_walk *w, int k, int packed, const char *base, int64_t bytes) {
    bool fits = (uintptr_t)base % (uintptr_t)bytes == 0;
    for (int d = 0; d < w->ndim; ++d) fits = fits && (d == packed || w->strides[k][d] % bytes == 0);
    return fits;
}

typedef struct tile_kernel {
    int64_t unit, width; /* bytes, elements an access */
    gpu_kernel copy, transpose, fill;
} tile_kernel;
static const tile_kernel tile_kernels[] = {
    {1, 4, GPU_copy_bytes1, GPU_copy_transpose1, GPU_fill_bytes1},
    {2, 4, GPU_copy_bytes2, GPU_copy_transpose2, GPU_fill_bytes2},
    {4, 4, GPU_copy_bytes4, GPU_copy_transpose4, GPU_fill_bytes4},
    {8, 2, GPU_copy_bytes8, GPU_copy_transpose8, GPU_fill_bytes8},
    {16, 1, GPU_copy_bytes16, GPU_copy_transpose16, GPU_fill_bytes16},
};

static const tile_kernel *kernel_of_unit(int64_t unit) {
    const tile_kernel *k = tile_kernels;
    while (k->unit != unit) ++k;
    return k;
}

static wick_status *run_transpose(const copy_job *job, const gpu_walk *w, uint32_t n, int along, char *out,
                                  const char *in, int64_t unit) {
    const tile_kernel *k = kernel_of_unit(unit);
    uint32_t tile = (uint32_t)(16 * k->width), p = w->sizes[along].divisor, q = w->sizes[0].divisor;
    uint32_t p_tiles = (p + tile - 1) / tile, q_tiles = (q + tile - 1) / tile;
    gpu_transpose_args args = {.out = out,
                               .in = in,
                               .p = p,
                               .q = q,
                               .in_step = w->strides[1][0],
                               .out_step = w->strides[0][along],
                               .p_tiles = gpu_divider_of(p_tiles),
                               .q_tiles = gpu_divider_of(q_tiles),
                               .in_packs = takes_packs(w, 1, along, in, unit * k->width),
                               .out_packs = takes_packs(w, 0, 0, out, unit * k->width),
                               .walk = without_dims(w, 0, along)};
    return gpu_launch(job->call, k->transpose, p_tiles * q_tiles * (n / (p * q)), THREADS, 0, &args);
}

/* ---- the same bytes, any strides ---- */
/* Makes two elements one where both sides have them side by side, on even addresses. */
static bool widen(gpu_walk *w, uint32_t *n, int64_t unit, const char *out, const char *in) {
    const int64_t wide = 2 * unit;
    bool fits = unit < 16 && w->strides[0][0] == unit && w->strides[1][0] == unit && w->sizes[0].divisor % 2 == 0;
    fits = fits && ((uintptr_t)out | (uintptr_t)in) % (uintptr_t)wide == 0;
    for (int d = 1; d < w->ndim; ++d) fits = fits && (w->strides[0][d] | w->strides[1][d]) % wide == 0;
    if (!fits) return false;
    w->sizes[0] = gpu_divider_of(w->sizes[0].divisor / 2);
    w->strides[0][0] = w->strides[1][0] = wide;
    *n /= 2;
    return true;
}

static wick_status *copy_part(void *user, const gpu_walk *walk, uint32_t n, const int64_t *offsets) {
    const copy_job *job = user;
    gpu_walk_args args = {.data = {job->out + offsets[0], (char *)job->in + offsets[1]}, .walk = *walk};
    int64_t unit = (int64_t)wick_dtype_bytes(job->to);
    int along = transposed_dim(walk, unit);
    if (along) return run_transpose(job, walk, n, along, args.data[0], args.data[1], unit);
    while (widen(&args.walk, &n, unit, args.data[0], args.data[1])) unit *= 2;
    args.n = n;
    return gpu_launch(job->call, kernel_of_unit(unit)->copy, blocks_for(job->call, n, 4), THREADS, 0, &args);
}

/* ---- casts ---- */
typedef struct dense_cast {
    wick_dtype from, to;
    gpu_kernel kernel;
} dense_cast;
static const dense_cast dense_casts[] = {
    {WICK_F32, WICK_F16, GPU_copy_f32_f16},   {WICK_F32, WICK_BF16, GPU_copy_f32_bf16},
    {WICK_F16, WICK_F32, GPU_copy_f16_f32},   {WICK_BF16, WICK_F32, GPU_copy_bf16_f32},
    {WICK_F16, WICK_BF16, GPU_copy_f16_bf16}, {WICK_BF16, WICK_F16, GPU_copy_bf16_f16},
};

static const dense_cast *dense_cast_of(const wick_tensor *dst, const wick_tensor *src) {
    bool aligned = ((uintptr_t)gpu_data(dst) | (uintptr_t)gpu_data(src)) % 32 == 0;
    if (!aligned || !wick_is_contiguous(dst) || !wick_is_contiguous(src) || dst->numel != src->numel) return NULL;
    for (size_t i = 0; i < sizeof dense_casts / sizeof *dense_casts; ++i)
        if (dense_casts[i].from == (wick_dtype)src->dtype && dense_casts[i].to == (wick_dtype)dst->dtype)
            return &dense_casts[i];
    return NULL;
}

static wick_status *cast_part(void *user, const gpu_walk *walk, uint32_t n, const int64_t *offsets) {
    const copy_job *job = user;
    gpu_walk_args args = {.data = {job->out + offsets[0], (char *)job->in + offsets[1]},
                          .dtypes = {(int32_t)job->to, (int32_t)job->from},
                          .n = n,
                          .walk = *walk};
    return gpu_launch(job->call, job->kernel, blocks_for(job->call, n, 2), THREADS, 0, &args);
}

static wick_status *cast(copy_job *job, const wick_tensor *const *operands) {
    const wick_kernel_call *call = job->call;
    if (!gpu_has_dtype(job->to) || !gpu_has_dtype(job->from))
        return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED,
                               "copy_ from dtype %u to dtype %u is not implemented on device %s", (unsigned)job->from,
                               (unsigned)job->to, gpu_of(call)->device_name);
    const dense_cast *dense = dense_cast_of(operands[0], operands[1]);
    if (dense) {
        gpu_dense_args args = {.out = job->out, .in = {job->in}, .n = operands[0]->numel};
        return gpu_launch(call, dense->kernel, blocks_for(call, args.n, 8), THREADS, 0, &args);
    }
    job->kernel = job->from == WICK_F64               ? GPU_copy_cast_f64
                  : wick_dtype_is_floating(job->from) ? GPU_copy_cast_f32
                                                      : GPU_copy_cast_i64;
    return gpu_walk_over(call, operands, 2, cast_part, job);
}

/* copy_(self, src, non_blocking) */
static wick_status *copy(const wick_kernel_call *call) {
    const wick_tensor *dst = wick_out_tensor(call, 0), *src = wick_arg_tensor(call, 1);
    const wick_tensor *operands[] = {dst, src};
    if (dst->numel == 0) return NULL;
    bool same = dst->dtype == src->dtype, packed = wick_is_contiguous(dst) && wick_is_contiguous(src);
    if (same && packed && dst->numel == src->numel) return copy_packed(call, dst, src);
    copy_job job = {.call = call,
                    .out = gpu_data(dst),
                    .in = gpu_data(src),
                    .to = (wick_dtype)dst->dtype,
                    .from = (wick_dtype)src->dtype};
    return same ? gpu_walk_over(call, operands, 2, copy_part, &job) : cast(&job, operands);
}

/* ---- filling ---- */
typedef struct fill_job {
    const wick_kernel_call *call;
    char *out;
    const unsigned char *value;
    int64_t unit;
} fill_job;

static wick_status *fill_part(void *user, const gpu_walk *walk, uint32_t n, const int64_t *offsets) {
    const fill_job *job = user;
    gpu_fill_args args = {.out = job->out + offsets[0], .n = n, .walk = *walk};
    memcpy(args.value, job->value, sizeof args.value);
    return gpu_launch(job->call, kernel_of_unit(job->unit)->fill, blocks_for(job->call, n, 4), THREADS, 0, &args);
}

/* Zero bytes are the driver's; others go 16 bytes at a time. */
static wick_status *fill_packed(const wick_kernel_call *call, void *out, int64_t bytes, const unsigned char *value) {
    static const unsigned char zero[16];
    gpu_device *d = gpu_device_of(call);
    if (!memcmp(value, zero, sizeof zero)) {
        GPU_TRY(d->gpu, d->gpu->vendor->make_current(d), "using the device");
        int result = d->gpu->driver.set_bytes((uint64_t)(uintptr_t)out, 0, (size_t)bytes, gpu_stream(d, call->stream));
        return gpu_check(d->gpu, result, "clearing");
    }
    gpu_fill_args args = {.out = out, .n = bytes};
    memcpy(args.value, value, sizeof args.value);
    return gpu_launch(call, GPU_fill_dense, blocks_for(call, bytes / 16, 4), THREADS, 0, &args);
}

/* Dense targets of other dtypes than the kernels know, complex among them, are bytes all the same. */
static wick_status *fill_with(const wick_kernel_call *call, const wick_tensor *out, const void *element) {
    unsigned char value[16];
    const int64_t unit = (int64_t)wick_dtype_bytes((wick_dtype)out->dtype);
    for (int64_t i = 0; i < 16; i += unit) memcpy(value + i, element, (size_t)unit);
    if (wick_is_contiguous(out) && (uintptr_t)gpu_data(out) % 16 == 0)
        return fill_packed(call, gpu_data(out), out->numel * unit, value);
    fill_job job = {call, gpu_data(out), value, unit};
    return gpu_walk_over(call, &out, 1, fill_part, &job);
}

/* fill.Scalar(self, value) */
static wick_status *fill(const wick_kernel_call *call) {
    const wick_tensor *out = wick_out_tensor(call, 0);
    unsigned char element[16];
    if (out->numel == 0) return NULL;
    if (!gpu_element_of(&call->values[1], (wick_dtype)out->dtype, element))
        return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "fill is not implemented for dtype %u on device %s",
                               (unsigned)out->dtype, gpu_of(call)->device_name);
    return fill_with(call, out, element);
}

static const wick_kernel_row rows[] = {
    WICK_KERNEL_ROW("copy_", copy, 0, FLAGS),
    WICK_KERNEL_ROW("fill.Scalar", fill, 0, FLAGS),
};
const gpu_table gpu_copy_table = GPU_TABLE(rows);
