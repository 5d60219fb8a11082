/* Steps of optimizers: one pass over all parameters, which are taken as one long array. */
#include "convert.h"
#include "cpu.h"

#include <math.h>
#include <wick/sdk/arguments.h>

/* A kernel works on elements [at, at + n) of item i. */
typedef struct optim_job optim_job;
typedef void (*optim_run)(const optim_job *job, uint32_t i, int64_t at, int64_t n);

/* Of Adam's formulas at a step. */
typedef struct adam_factors {
    double step, decay, beta1, beta2, step_size, root, eps, sign;
} adam_factors;

struct optim_job {
    const wick_kernel_call *call;
    optim_run run;
    double grad_scale;
    adam_factors first; /* Adam: those of item 0, whose step is mostly that of all */
};

static double number(const wick_kernel_call *call, int i) { return call->values[i].as.f; }
static bool flag(const wick_kernel_call *call, int i) { return call->values[i].as.i != 0; }
static void *item_data(const wick_kernel_call *call, int list, uint32_t i) {
    return wick_data(call->values[list].as.tensors[i]);
}

/* ---- the long array ---- */
static void run_range(void *user, int64_t begin, int64_t end, int worker) {
    const optim_job *job = user;
    const wick_value *self = &job->call->values[WICK_OPTIM_SELF];
    int64_t first = 0;
    for (uint32_t i = 0; i < self->count && first < end; first += self->as.tensors[i++]->numel) {
        int64_t last = first + self->as.tensors[i]->numel;
        int64_t low = begin > first ? begin : first, high = end < last ? end : last;
        if (low < high) job->run(job, i, low - first, high - low);
    }
}

static double scalar_or(const wick_tensor *t, double fallback) {
    if (!t) return fallback;
    return t->dtype == WICK_F64 ? *(const double *)wick_data(t) : *(const float *)wick_data(t);
}

static wick_status *run_all(optim_job *job, int scale_arg, int inf_arg) {
    const wick_kernel_call *call = job->call;
    const wick_value *self = &call->values[WICK_OPTIM_SELF];
    int64_t total = 0;
    job->grad_scale = scalar_or(wick_arg_tensor(call, scale_arg), 1);
    if (scalar_or(wick_arg_tensor(call, inf_arg), 0) == 1) return NULL;
    for (uint32_t i = 0; i < self->count; ++i) total += self->as.tensors[i]->numel;
    cpu_parallel_for(cpu_of(call), total, CPU_GRAIN / 4, run_range, job);
    return NULL;
}

/* ---- Adam ---- */
static adam_factors adam_factors_of(const wick_kernel_call *call, double step) {
    return (adam_factors){.step = step,
                          .decay = number(call, WICK_ADAM_WEIGHT_DECAY),
                          .beta1 = number(call, WICK_ADAM_BETA1),
                          .beta2 = number(call, WICK_ADAM_BETA2),
                          .step_size = number(call, WICK_ADAM_LR) / (1 - pow(number(call, WICK_ADAM_BETA1), step)),
                          .root = sqrt(1 - pow(number(call, WICK_ADAM_BETA2), step)),
                          .eps = number(call, WICK_ADAM_EPS),
                          .sign = flag(call, WICK_ADAM_MAXIMIZE) ? -1 : 1};
}

static double step_of(const wick_kernel_call *call, uint32_t i) {
    return scalar_or(call->values[WICK_ADAM_STEPS].as.tensors[i], 0);
}

/* DECOUPLED is a constant: the loop has no branch. LIMIT turns the second moment into what the root is taken of. */
#define ADAM_LOOP(T, SQRT, DECOUPLED, LIMIT)                          \
    CPU_INDEPENDENT                                                   \
    for (int64_t j = 0; j < n; ++j) {                                 \
        T grad = g[j] * sign, param = p[j];                           \
        if (DECOUPLED)                                                \
            param = param * keep;                                     \
        else                                                          \
            grad = grad + decay * param;                              \
        T mean = m[j] + rest1 * (grad - m[j]);                        \
        T square = v[j] * beta2 + rest2 * grad * grad;                \
        m[j] = mean, v[j] = square;                                   \
        T limit = LIMIT;                                              \
        p[j] = param - step_size * mean / (SQRT(limit) * root + eps); \
    }

#define DEFINE_ADAM(NAME, T, SQRT, DECOUPLED)                                                                          \
    static void NAME(const optim_job *job, uint32_t i, int64_t at, int64_t n) {                                        \
        const wick_kernel_call *call = job->call;                                                                      \
        const double step = step_of(call, i);                                                                          \
        const adam_factors f = step == job->first.step ? job->first : adam_factors_of(call, step);                     \
        T *restrict p = (T *)item_data(call, WICK_OPTIM_SELF, i) + at, *restrict g =                                   \
                                                                           (T *)item_data(call, WICK_OPTIM_GRADS, i) + \
                                                                           at;                                         \
        T *restrict m = (T *)item_data(call, WICK_ADAM_EXP_AVGS, i) + at;                                              \
        T *restrict v = (T *)item_data(call, WICK_ADAM_EXP_AVG_SQS, i) + at;                                           \
        const T keep = (T)(1 - number(call, WICK_ADAM_LR) * f.decay), decay = (T)f.decay, sign = (T)f.sign;            \
        const T rest1 = (T)(1 - f.beta1), beta2 = (T)f.beta2, rest2 = (T)(1 - f.beta2);                                \
        const T step_size = (T)f.step_size, root = (T)(1 / f.root), eps = (T)f.eps;                                    \
        (void)keep, (void)decay;                                                                                       \
        if (job->grad_scale != 1)                                                                                      \
            for (int64_t j = 0; j < n; ++j) g[j] /= (T)job->grad_scale;                                                \
        if (flag(call, WICK_ADAM_AMSGRAD)) {                                                                           \
            T *restrict most = (T *)item_data(call, WICK_ADAM_MAX_EXP_AVG_SQS, i) + at;                                \
            ADAM_LOOP(T, SQRT, DECOUPLED, most[j] = most[j] > square ? most[j] : square)                               \
        } else {                                                                                                       \
            ADAM_LOOP(T, SQRT, DECOUPLED, square)                                                                      \
        }                                                                                                              \
    }
DEFINE_ADAM(adam_f32, float, sqrtf, 0)
DEFINE_ADAM(adam_f64, double, sqrt, 0)
DEFINE_ADAM(adamw_f32, float, sqrtf, 1)
DEFINE_ADAM(adamw_f64, double, sqrt, 1)

/* ---- SGD ---- */
#define DEFINE_SGD(NAME, T)                                                                                            \
    static void NAME(const optim_job *job, uint32_t i, int64_t at, int64_t n) {                                        \
        const wick_kernel_call *call = job->call;                                                                      \
        T *restrict p = (T *)item_data(call, WICK_OPTIM_SELF, i) + at, *restrict g =                                   \
                                                                           (T *)item_data(call, WICK_OPTIM_GRADS, i) + \
                                                                           at;                                         \
        const T decay = (T)number(call, WICK_SGD_WEIGHT_DECAY), lr = (T)number(call, WICK_SGD_LR);                     \
        const T momentum = (T)number(call, WICK_SGD_MOMENTUM), sign = flag(call, WICK_SGD_MAXIMIZE) ? -1 : 1;          \
        const T ahead = flag(call, WICK_SGD_NESTEROV) ? momentum : 0, own = flag(call, WICK_SGD_NESTEROV) ? 1 : 0;     \
        const T old = flag(call, WICK_SGD_IS_FIRST_STEP) ? 0 : momentum;                                               \
        const T fresh = flag(call, WICK_SGD_IS_FIRST_STEP) ? 1 : (T)(1 - number(call, WICK_SGD_DAMPENING));            \
        if (job->grad_scale != 1)                                                                                      \
            for (int64_t j = 0; j < n; ++j) g[j] /= (T)job->grad_scale;                                                \
        if (momentum == 0) {                                                                                           \
            CPU_INDEPENDENT                                                                                            \
            for (int64_t j = 0; j < n; ++j) p[j] -= lr * (g[j] * sign + decay * p[j]);                                 \
            return;                                                                                                    \
        }                                                                                                              \
        T *restrict b = (T *)item_data(call, WICK_SGD_BUFFERS, i) + at;                                                \
        if (flag(call, WICK_SGD_IS_FIRST_STEP))                                                                        \
            for (int64_t j = 0; j < n; ++j) b[j] = 0; /* may hold anything */                                          \
        CPU_INDEPENDENT                                                                                                \
        for (int64_t j = 0; j < n; ++j) {                                                                              \
            T grad = g[j] * sign + decay * p[j];                                                                       \
            T buffer = old * b[j] + fresh * grad;                                                                      \
            b[j] = buffer;                                                                                             \
            p[j] -= lr * (own ? grad + ahead * buffer : buffer);                                                       \
        }                                                                                                              \
    }
DEFINE_SGD(sgd_f32, float)
DEFINE_SGD(sgd_f64, double)

/* ---- entries ---- */
static wick_status *run_adam_of(const wick_kernel_call *call, optim_run run) {
    optim_job job = {.call = call, .run = run};
    if (call->values[WICK_OPTIM_SELF].count) job.first = adam_factors_of(call, step_of(call, 0));
    return run_all(&job, WICK_ADAM_GRAD_SCALE, WICK_ADAM_FOUND_INF);
}
static wick_status *run_adam(const wick_kernel_call *call) {
    return run_adam_of(call, call->compute_dtype == WICK_F64 ? adam_f64 : adam_f32);
}
static wick_status *run_adamw(const wick_kernel_call *call) {
    return run_adam_of(call, call->compute_dtype == WICK_F64 ? adamw_f64 : adamw_f32);
}
static wick_status *run_sgd(const wick_kernel_call *call) {
    optim_job job = {.call = call, .run = call->compute_dtype == WICK_F64 ? sgd_f64 : sgd_f32};
    return run_all(&job, WICK_SGD_GRAD_SCALE, WICK_SGD_FOUND_INF);
}

#define FLOATS (WICK_DTYPE_BIT(WICK_F32) | WICK_DTYPE_BIT(WICK_F64))
static const wick_kernel_row rows[] = {
    CPU_ROW("_fused_adam_", run_adam, NULL, FLOATS, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("_fused_adamw_", run_adamw, NULL, FLOATS, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("_fused_sgd_", run_sgd, NULL, FLOATS, WICK_KERNEL_DETERMINISTIC),
};
const cpu_kernel_table CPU_NAME(optim_table) = CPU_TABLE(rows);
