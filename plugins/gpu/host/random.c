/* Random numbers: distributions, integers, dropout. */
#include "../device/args_random.h"

#include <math.h>
#include <wick/sdk/iter.h>
#include <wick/sdk/random.h>

#include "element.h"

#define THREADS 256
#define FLAGS (WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_CAPTURE_SAFE | WICK_KERNEL_RANDOM_STATE)

static gpu_random_state state_of(const wick_kernel_call *call) {
    const wick_memory *state = call->random_state;
    return (gpu_random_state){.state = state ? (const uint64_t *)(uintptr_t)gpu_address(state, 0) : NULL,
                              .seed = call->philox->seed,
                              .offset = call->philox->offset};
}

static unsigned blocks_for(const wick_kernel_call *call, int64_t n) {
    return gpu_blocks(gpu_device_of(call), (n + 3) / 4, THREADS, 1, 32);
}

static wick_status *launch_fill(const wick_kernel_call *call, gpu_kernel kernel, gpu_random_args *a) {
    const wick_tensor *out = wick_out_tensor(call, 0);
    if (!gpu_has_dtype((wick_dtype)out->dtype)) return gpu_refuse(call, (wick_dtype)out->dtype);
    if (!out->numel) return NULL;
    a->out = gpu_data(out), a->n = out->numel, a->philox = state_of(call);
    a->dtype = out->dtype, a->bytes = (int32_t)wick_dtype_bytes((wick_dtype)out->dtype);
    return gpu_launch(call, kernel, blocks_for(call, a->n), THREADS, 0, a);
}

/* ---- distributions of two real parameters ---- */
static const uint8_t kernel_kinds[WICK_RANDOM_COUNT] = {
#define KERNEL_KIND(NAME, ...) GPU_RANDOM_##NAME,
    WICK_RANDOM_DISTRIBUTIONS(KERNEL_KIND)};

/* (self, parameters ..) */
static wick_status *draw(const wick_kernel_call *call) {
    const uint8_t *kind = call->data;
    const wick_random_distribution d = (wick_random_distribution)(kind - kernel_kinds);
    const wick_dtype dtype = (wick_dtype)wick_out_tensor(call, 0)->dtype;
    gpu_random_args a = {.kind = *kind, .word_mask = d == WICK_RANDOM_UNIFORM ? wick_random_mask(dtype) : UINT32_MAX};
    WICK_TRY(wick_random_parameters(call, d, a.p));
    return launch_fill(call, dtype == WICK_F64 ? GPU_random_f64 : GPU_random_f32, &a);
}

/* ---- integers ---- */
static wick_status *draw_integers(const wick_kernel_call *call, wick_random_range r) {
    gpu_random_args a = {.first = r.first, .range = r.range};
    return launch_fill(call, GPU_random_i64, &a);
}

/* random_(self) */
static wick_status *random_all(const wick_kernel_call *call) {
    const wick_dtype dtype = (wick_dtype)wick_out_tensor(call, 0)->dtype;
    return draw_integers(call, (wick_random_range){0, wick_random_natural_range(dtype)});
}
static wick_status *random_from(const wick_kernel_call *call) {
    wick_random_range r;
    WICK_TRY(wick_random_from(call, &r));
    return draw_integers(call, r);
}
static wick_status *random_to(const wick_kernel_call *call) {
    wick_random_range r;
    WICK_TRY(wick_random_to(call, &r));
    return draw_integers(call, r);
}

/* ---- by probabilities, one an element ---- */
/* The probabilities as a walk in row-major order of the output. */
static wick_status *chance_walk(const wick_kernel_call *call, const wick_tensor *out, const wick_tensor *chance,
                                gpu_walk *walk) {
    wick_iter it;
    bool fits = wick_iter_init(&it, out, &chance, 1, WICK_ITER_KEEP_ORDER) && it.ndim <= GPU_DIMS;
    if (!fits || out->numel > INT32_MAX)
        return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED,
                               "%s: device %s takes at most %d elements and %d broadcast dimensions, got %lld and %d",
                               call->host->op_name(call->op), gpu_of(call)->device_name, INT32_MAX, GPU_DIMS,
                               (long long)out->numel, out->ndim);
    walk->ndim = it.ndim;
    for (int d = 0; d < it.ndim; ++d) {
        walk->sizes[d] = gpu_divider_of((uint32_t)it.sizes[d]);
        walk->strides[0][d] = it.strides[0][d];
    }
    return NULL;
}

static wick_status *draw_chances(const wick_kernel_call *call, const wick_tensor *chance) {
    const wick_tensor *out = wick_out_tensor(call, 0);
    if (!gpu_has_dtype((wick_dtype)out->dtype)) return gpu_refuse(call, (wick_dtype)out->dtype);
    if (!gpu_has_dtype((wick_dtype)chance->dtype)) return gpu_refuse(call, (wick_dtype)chance->dtype);
    if (!out->numel) return NULL;
    gpu_chance_args a = {.out = gpu_data(out),
                         .chance = gpu_data(chance),
                         .philox = state_of(call),
                         .n = out->numel,
                         .dtype = out->dtype,
                         .bytes = (int32_t)wick_dtype_bytes((wick_dtype)out->dtype),
                         .chance_dtype = chance->dtype};
    WICK_TRY(chance_walk(call, out, chance, &a.walk));
    return gpu_launch(call, GPU_random_chance, blocks_for(call, a.n), THREADS, 0, &a);
}

/* bernoulli(self): self holds the probabilities */
static wick_status *bernoulli_of_self(const wick_kernel_call *call) {
    return draw_chances(call, wick_arg_tensor(call, 0));
}
/* bernoulli_.Tensor(self, p) */
static wick_status *bernoulli_of_tensor(const wick_kernel_call *call) {
    return draw_chances(call, wick_arg_tensor(call, 1));
}

/* ---- dropout ---- */
static gpu_kernel dropout_kernel(wick_dtype dtype) {
    return dtype == WICK_F64    ? GPU_dropout_f64
           : dtype == WICK_F16  ? GPU_dropout_f16
           : dtype == WICK_BF16 ? GPU_dropout_bf16
                                : GPU_dropout_f32;
}

/* native_dropout(input, p, train?) -> (output, mask) */
static wick_status *native_dropout(const wick_kernel_call *call) {
    const wick_tensor *in = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, 0), *mask = wick_out_tensor(call, 1);
    const wick_dtype dtype = (wick_dtype)in->dtype;
    double keep;
    WICK_TRY(wick_random_keep(call, &keep));
    if (!in->numel) return NULL;
    const uintptr_t unit = 4 * wick_dtype_bytes(dtype);
    gpu_dropout_args a = {.out = gpu_data(out),
                          .mask = gpu_data(mask),
                          .in = gpu_data(in),
                          .philox = state_of(call),
                          .n = in->numel,
                          .keep = (uint64_t)ceil(keep * (dtype == WICK_F64 ? 0x1p53 : 0x1p24)),
                          .scale = keep == 0 ? 0 : 1 / keep};
    a.packed = ((uintptr_t)a.out | (uintptr_t)a.in) % unit == 0 && (uintptr_t)a.mask % 4 == 0;
    return gpu_launch(call, dropout_kernel(dtype), blocks_for(call, a.n), THREADS, 0, &a);
}

#define ROW(schema, fn, data, dtypes) WICK_KERNEL_ROW_WITH(schema, fn, data, dtypes, FLAGS)
static const wick_kernel_row rows[] = {
    ROW("uniform_", draw, &kernel_kinds[WICK_RANDOM_UNIFORM], GPU_REALS),
    ROW("normal_", draw, &kernel_kinds[WICK_RANDOM_NORMAL], GPU_REALS),
    ROW("log_normal_", draw, &kernel_kinds[WICK_RANDOM_LOG_NORMAL], GPU_REALS),
    ROW("cauchy_", draw, &kernel_kinds[WICK_RANDOM_CAUCHY], GPU_REALS),
    ROW("exponential_", draw, &kernel_kinds[WICK_RANDOM_EXPONENTIAL], GPU_REALS),
    ROW("geometric_", draw, &kernel_kinds[WICK_RANDOM_GEOMETRIC], 0),
    ROW("bernoulli_.float", draw, &kernel_kinds[WICK_RANDOM_BERNOULLI], 0),
    ROW("bernoulli_.Tensor", bernoulli_of_tensor, NULL, 0),
    ROW("bernoulli", bernoulli_of_self, NULL, GPU_REALS),
    ROW("random_", random_all, NULL, 0),
    ROW("random_.from", random_from, NULL, 0),
    ROW("random_.to", random_to, NULL, 0),
    ROW("native_dropout", native_dropout, NULL, GPU_REALS),
};
const gpu_table gpu_random_table = GPU_TABLE(rows);

/* ---- the state of captured graphs ---- */
/* By a kernel: a copy from the host would wait for the stream. */
static wick_status *write_state(void *instance, int32_t index, void *stream, const wick_memory *state, uint64_t offset,
                                const wick_philox *philox) {
    const wick_kernel_call call = {.instance = instance, .device.index = index, .stream = stream};
    const gpu_random_write_args a = {
        .state = (uint64_t *)(uintptr_t)gpu_address(state, offset), .seed = philox->seed, .offset = philox->offset};
    return gpu_launch(&call, GPU_random_write_state, 1, 32, 0, &a);
}

const wick_generator_interface gpu_generator_interface = {.struct_size = sizeof gpu_generator_interface,
                                                          .write_state = write_state};
