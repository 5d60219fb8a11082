/* Random numbers: distributions, integers, dropout. */
#include "../device/args_random.h"

#include <math.h>
#include <wick/sdk/iter.h>

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
typedef struct distribution {
    int kind, parameters;
    const char *domain; /* what the parameters must be */
    bool (*valid)(const double *p);
} distribution;

static bool valid_range(const double *p) { return p[0] <= p[1]; }
static bool valid_deviation(const double *p) { return p[1] >= 0; }
static bool valid_scale(const double *p) { return p[1] > 0; }
static bool valid_rate(const double *p) { return p[0] > 0; }
static bool valid_probability(const double *p) { return p[0] >= 0 && p[0] <= 1; }
static bool valid_success(const double *p) { return p[0] > 0 && p[0] < 1; }

static const distribution uniform = {GPU_RANDOM_UNIFORM, 2, "from <= to", valid_range};
static const distribution normal = {GPU_RANDOM_NORMAL, 2, "std >= 0", valid_deviation};
static const distribution log_normal = {GPU_RANDOM_LOG_NORMAL, 2, "std > 0", valid_scale};
static const distribution cauchy = {GPU_RANDOM_CAUCHY, 2, "sigma > 0", valid_scale};
static const distribution exponential = {GPU_RANDOM_EXPONENTIAL, 1, "lambda > 0", valid_rate};
static const distribution geometric = {GPU_RANDOM_GEOMETRIC, 1, "0 < p < 1", valid_success};
static const distribution bernoulli = {GPU_RANDOM_BERNOULLI, 1, "0 <= p <= 1", valid_probability};

/* Uniform numbers of a reduced dtype use no more bits than it holds: rounding must not reach the open end. */
static uint32_t word_mask(const distribution *d, wick_dtype dtype) {
    if (d != &uniform) return UINT32_MAX;
    return dtype == WICK_F16 ? 0xffe00000 : dtype == WICK_BF16 ? 0xff000000 : UINT32_MAX;
}

/* (self, parameters ..) */
static wick_status *draw(const wick_kernel_call *call) {
    const distribution *d = call->data;
    const wick_dtype dtype = (wick_dtype)wick_out_tensor(call, 0)->dtype;
    gpu_random_args a = {.kind = d->kind, .word_mask = word_mask(d, dtype)};
    for (int i = 0; i < d->parameters; ++i) a.p[i] = wick_value_as_double(&call->values[1 + i]);
    if (!d->valid(a.p))
        return WICK_HOST_ERROR(call->host, WICK_INVALID_ARGUMENT, "%s expects %s, got %g, %g",
                               call->host->op_name(call->op), d->domain, a.p[0], a.p[1]);
    return launch_fill(call, dtype == WICK_F64 ? GPU_random_f64 : GPU_random_f32, &a);
}

/* ---- integers ---- */
static wick_status *draw_integers(const wick_kernel_call *call, uint64_t first, uint64_t range) {
    gpu_random_args a = {.first = first, .range = range};
    return launch_fill(call, GPU_random_i64, &a);
}

/* Every integer up to the largest that the dtype holds exactly. */
static uint64_t natural_range(wick_dtype dtype) {
    static const uint8_t bits[WICK_DTYPE_COUNT] = {
        [WICK_BOOL] = 1, [WICK_U8] = 8,   [WICK_I8] = 7,   [WICK_I16] = 15, [WICK_I32] = 31,
        [WICK_I64] = 63, [WICK_F16] = 11, [WICK_BF16] = 8, [WICK_F32] = 24, [WICK_F64] = 53};
    return (UINT64_C(1) << bits[dtype]) + gpu_is_real(dtype);
}

/* random_(self) */
static wick_status *random_all(const wick_kernel_call *call) {
    return draw_integers(call, 0, natural_range((wick_dtype)wick_out_tensor(call, 0)->dtype));
}

static wick_status *random_between(const wick_kernel_call *call, int64_t from, int64_t to) {
    if (from < to) return draw_integers(call, (uint64_t)from, (uint64_t)to - (uint64_t)from);
    return WICK_HOST_ERROR(call->host, WICK_INVALID_ARGUMENT,
                           "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld", (long long)from,
                           (long long)to);
}

/* random_.from(self, from, to?): without `to`, all that the dtype holds */
static wick_status *random_from(const wick_kernel_call *call) {
    const int64_t from = call->values[1].as.i;
    if (!wick_value_is_none(&call->values[2])) return random_between(call, from, call->values[2].as.i);
    const uint64_t end = natural_range((wick_dtype)wick_out_tensor(call, 0)->dtype);
    return draw_integers(call, (uint64_t)from, end - (uint64_t)from);
}

/* random_.to(self, to) */
static wick_status *random_to(const wick_kernel_call *call) { return random_between(call, 0, call->values[1].as.i); }

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
    const double p = wick_value_as_double(&call->values[1]);
    const bool train = wick_value_is_none(&call->values[2]) || call->values[2].as.i;
    const wick_dtype dtype = (wick_dtype)in->dtype;
    if (!(p >= 0 && p <= 1))
        return WICK_HOST_ERROR(call->host, WICK_INVALID_ARGUMENT,
                               "dropout probability has to be between 0 and 1, but got %g", p);
    if (!in->numel) return NULL;
    const double keep = train ? 1 - p : 1;
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
    ROW("uniform_", draw, &uniform, GPU_REALS),
    ROW("normal_", draw, &normal, GPU_REALS),
    ROW("log_normal_", draw, &log_normal, GPU_REALS),
    ROW("cauchy_", draw, &cauchy, GPU_REALS),
    ROW("exponential_", draw, &exponential, GPU_REALS),
    ROW("geometric_", draw, &geometric, 0),
    ROW("bernoulli_.float", draw, &bernoulli, 0),
    ROW("bernoulli_.Tensor", bernoulli_of_tensor, NULL, 0),
    ROW("bernoulli", bernoulli_of_self, NULL, GPU_REALS),
    ROW("random_", random_all, NULL, 0),
    ROW("random_.from", random_from, NULL, 0),
    ROW("random_.to", random_to, NULL, 0),
    ROW("native_dropout", native_dropout, NULL, GPU_REALS),
};
const gpu_table gpu_random_table = GPU_TABLE(rows);
