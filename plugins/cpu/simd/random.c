/* Random numbers: Philox4x32-10. Element i of the row-major order takes word i % 4 of the block at counter
 * offset + i / 4, so that results depend neither on threads nor on strides. A second stream of blocks at the same
 * counters (the third counter word is 1) gives the low bits of doubles. */
#include "convert.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <wick/sdk/iter.h>
#include <wick/sdk/random.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define BLOCK 1024 /* elements made at a time; a multiple of 4 */
#define TWO_PI 6.28318530717958647692

/* ---- bits ---- */
#if defined(__AVX2__)
/* As many whole VECTORS of blocks as there are; returns how many blocks. A lane holds a word in its low half, and whatever
 * in its high one, which the multiplication does not read. */
#define VECTORS 2
#define FOUR(x) ((words){(x), (x), (x), (x)})
typedef uint64_t words __attribute__((vector_size(32)));
static inline words product(words a, words b) { return (words)_mm256_mul_epu32((__m256i)a, (__m256i)b); }

static int64_t philox_vectors(uint64_t seed, uint64_t counter, uint32_t stream, int64_t count, uint32_t *out) {
    const words first = FOUR(0xD2511F53u), second = FOUR(0xCD9E8D57u), low = FOUR(0xFFFFFFFFu);
    int64_t i = 0;
    for (; i + 4 * VECTORS <= count; i += 4 * VECTORS) {
        words x[VECTORS][4], key0 = FOUR(seed), key1 = FOUR(seed >> 32);
        for (int v = 0; v < VECTORS; ++v) {
            x[v][0] = FOUR(counter + (uint64_t)i + 4u * (unsigned)v) + (words){0, 1, 2, 3};
            x[v][1] = x[v][0] >> 32, x[v][2] = FOUR(stream), x[v][3] = FOUR(0);
        }
#pragma GCC unroll 10
        for (int round = 0; round < 10; ++round) {
#pragma GCC unroll 2
            for (int v = 0; v < VECTORS; ++v) {
                const words a = product(first, x[v][0]), b = product(second, x[v][2]);
                x[v][0] = b >> 32 ^ x[v][1] ^ key0, x[v][1] = b;
                x[v][2] = a >> 32 ^ x[v][3] ^ key1, x[v][3] = a;
            }
            key0 += 0x9E3779B9u, key1 += 0xBB67AE85u;
        }
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; ++v) {
            const words a = (x[v][0] & low) | x[v][1] << 32, b = (x[v][2] & low) | x[v][3] << 32;
            const words one = __builtin_shufflevector(a, b, 0, 4, 1, 5),
                        two = __builtin_shufflevector(a, b, 2, 6, 3, 7);
            memcpy(out + 4 * i + 16 * v, &one, sizeof one);
            memcpy(out + 4 * i + 16 * v + 8, &two, sizeof two);
        }
    }
    return i;
}
#undef VECTORS
#undef FOUR
#else
static int64_t philox_vectors(uint64_t seed, uint64_t counter, uint32_t stream, int64_t count, uint32_t *out) {
    return 0;
}
#endif

/* `count` blocks of four words, starting at `counter`, in the order of the elements. */
static void philox(uint64_t seed, uint64_t counter, uint32_t stream, int64_t count, uint32_t *out) {
    for (int64_t i = philox_vectors(seed, counter, stream, count, out); i < count; ++i) {
        uint64_t at = counter + (uint64_t)i;
        uint32_t x0 = (uint32_t)at, x1 = (uint32_t)(at >> 32), x2 = stream, x3 = 0;
        uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
        for (int round = 0; round < 10; ++round) {
            uint64_t a = (uint64_t)0xD2511F53u * x0, b = (uint64_t)0xCD9E8D57u * x2;
            x0 = (uint32_t)(b >> 32) ^ x1 ^ key0, x1 = (uint32_t)b;
            x2 = (uint32_t)(a >> 32) ^ x3 ^ key1, x3 = (uint32_t)a;
            key0 += 0x9E3779B9u, key1 += 0xBB67AE85u;
        }
        out[4 * i] = x0, out[4 * i + 1] = x1, out[4 * i + 2] = x2, out[4 * i + 3] = x3;
    }
}

static double unit_of(uint32_t high, uint32_t low) {
    return (double)((uint64_t)high << 21 | low >> 11) * 0x1p-53; /* [0, 1) */
}

/* ---- from bits to values: `low` is NULL for dtypes that 24 bits fill ---- */
/* Makes n values of the class from the words of their elements; index 0 is a multiple of 4. */
typedef void (*make_fn)(void *out, const uint32_t *high, const uint32_t *low, int64_t n, const double *parameters);

/* `u` is the uniform number of the element, p the parameters. */
#define MAKE(name, expression)                                                                                \
    static void name##_f32(void *to, const uint32_t *high, const uint32_t *low, int64_t n, const double *p) { \
        float *out = to;                                                                                      \
        for (int64_t i = 0; i < n; ++i) {                                                                     \
            double u = (double)(high[i] >> 8) * 0x1p-24;                                                      \
            out[i] = (float)(expression);                                                                     \
        }                                                                                                     \
    }                                                                                                         \
    static void name##_f64(void *to, const uint32_t *high, const uint32_t *low, int64_t n, const double *p) { \
        double *out = to;                                                                                     \
        for (int64_t i = 0; i < n; ++i) {                                                                     \
            double u = unit_of(high[i], low[i]);                                                              \
            out[i] = (expression);                                                                            \
        }                                                                                                     \
    }
MAKE(uniform, u *(p[1] - p[0]) + p[0])
MAKE(exponential, -log1p(-u) / p[0])
MAKE(cauchy, p[0] + p[1] * tan(0.5 * TWO_PI * (u - 0.5)))
MAKE(geometric, ceil(u == 0 ? 1 : log(u) / log1p(-p[0])))
MAKE(bernoulli, u < p[0])

/* Box and Muller: elements 2k and 2k + 1 share two uniform numbers. */
static void normal_pair(double u1, double u2, const double *p, double *a, double *b) {
    double r = p[1] * sqrt(-2 * log1p(-u1)), angle = TWO_PI * u2;
    *a = p[0] + r * cos(angle), *b = p[0] + r * sin(angle);
}

static void normal_f32(void *to, const uint32_t *high, const uint32_t *low, int64_t n, const double *p) {
    float *out = to;
    for (int64_t i = 0; i < n; i += 2) {
        double a, b;
        normal_pair((double)(high[i] >> 8) * 0x1p-24, (double)(high[i + 1] >> 8) * 0x1p-24, p, &a, &b);
        out[i] = (float)a, out[i + 1] = (float)b;
    }
}

static void normal_f64(void *to, const uint32_t *high, const uint32_t *low, int64_t n, const double *p) {
    double *out = to;
    for (int64_t i = 0; i < n; i += 2)
        normal_pair(unit_of(high[i], low[i]), unit_of(high[i + 1], low[i + 1]), p, &out[i], &out[i + 1]);
}

static void log_normal_f32(void *to, const uint32_t *high, const uint32_t *low, int64_t n, const double *p) {
    float *out = to;
    normal_f32(to, high, low, n, p);
    for (int64_t i = 0; i < n; ++i) out[i] = expf(out[i]);
}

static void log_normal_f64(void *to, const uint32_t *high, const uint32_t *low, int64_t n, const double *p) {
    double *out = to;
    normal_f64(to, high, low, n, p);
    for (int64_t i = 0; i < n; ++i) out[i] = exp(out[i]);
}

/* v modulo the range, as core/ops/random.inc defines it; 0 stands for 2^64. */
static uint64_t wide_integer(uint32_t high, uint32_t low, uint64_t range) {
    const uint64_t x = (uint64_t)high << 21 | low >> 11, v = x << 11 | x >> 42;
    if (range == 0) return v;
    return range >> 63 && range << 1 ? v % range : (v >> 1) % range;
}

/* Integers in [p[0], p[0] + range); the range and the first value travel as bits of the doubles. */
static void integer_i64(void *to, const uint32_t *high, const uint32_t *low, int64_t n, const double *p) {
    int64_t *out = to;
    uint64_t range, first;
    memcpy(&first, &p[0], sizeof first), memcpy(&range, &p[1], sizeof range);
    if (range && range >> 32 == 0)
        for (int64_t i = 0; i < n; ++i) out[i] = (int64_t)(high[i] % range + first);
    else
        for (int64_t i = 0; i < n; ++i) out[i] = (int64_t)(wide_integer(high[i], low[i], range) + first);
}

/* ---- filling a tensor ---- */
typedef struct random_job {
    wick_iter it; /* row-major order */
    wick_philox philox;
    make_fn make;
    cpu_convert_fn narrow; /* NULL: the values are the elements */
    bool wide;             /* needs the second stream */
    uint32_t mask;         /* of the words' bits that are used; 0: all */
    double parameters[2];
} random_job;

typedef struct random_buffers {
    _Alignas(64) uint32_t high[BLOCK], low[BLOCK];
    _Alignas(64) double values[BLOCK], elements[2 * BLOCK];
} random_buffers;

/* Values of `n` elements from the multiple of 4 `position` on; the buffer has room for the whole last block of four. */
static void make_values(const random_job *job, int64_t position, int64_t n, random_buffers *b) {
    int64_t groups = (n + 3) / 4;
    uint64_t counter = job->philox.offset + (uint64_t)position / 4;
    philox(job->philox.seed, counter, 0, groups, b->high);
    if (job->wide) philox(job->philox.seed, counter, 1, groups, b->low);
    for (int64_t i = 0; job->mask && i < groups * 4; ++i) b->high[i] &= job->mask;
    job->make(b->values, b->high, b->low, groups * 4, job->parameters);
}

static void run_random(void *user, int64_t begin_group, int64_t end_group, int worker) {
    const random_job *job = user;
    const wick_iter *it = &job->it;
    int64_t begin = begin_group * BLOCK, end = end_group * BLOCK < it->numel ? end_group * BLOCK : it->numel;
    random_buffers b;
    wick_cursor c = wick_cursor_at(it, begin);
    for (int64_t p = begin, n; p < end; p += n, wick_cursor_skip(it, &c, n)) {
        n = end - p < BLOCK ? end - p : BLOCK;
        make_values(job, p, n, &b);
        const void *elements = b.values;
        if (job->narrow) job->narrow(b.elements, b.values, n), elements = b.elements;
        wick_iter_scatter(it, &c, 0, elements, n);
    }
}

static wick_status *fill_random(const wick_kernel_call *k, random_job *job) {
    const wick_tensor *out = wick_out_tensor(k, 0);
    if (out->numel == 0) return NULL;
    if (!wick_iter_init(&job->it, out, &out, 1, WICK_ITER_KEEP_ORDER))
        return WICK_HOST_ERROR(k->host, WICK_INVALID_ARGUMENT, "%s: too many elements", k->host->op_name(k->op));
    job->philox = *k->philox;
    cpu_parallel_for(cpu_of(k), (out->numel + BLOCK - 1) / BLOCK, 8, run_random, job);
    return NULL;
}

/* ---- distributions of two real parameters ---- */
typedef struct maker {
    make_fn f32, f64;
} maker;
static const maker makers[WICK_RANDOM_COUNT] = {
    [WICK_RANDOM_UNIFORM] = {uniform_f32, uniform_f64},
    [WICK_RANDOM_NORMAL] = {normal_f32, normal_f64},
    [WICK_RANDOM_LOG_NORMAL] = {log_normal_f32, log_normal_f64},
    [WICK_RANDOM_CAUCHY] = {cauchy_f32, cauchy_f64},
    [WICK_RANDOM_EXPONENTIAL] = {exponential_f32, exponential_f64},
    [WICK_RANDOM_GEOMETRIC] = {geometric_f32, geometric_f64},
    [WICK_RANDOM_BERNOULLI] = {bernoulli_f32, bernoulli_f64},
};

/* (self, parameters ..) */
static wick_status *draw(const wick_kernel_call *k) {
    const maker *m = k->data;
    const wick_random_distribution d = (wick_random_distribution)(m - makers);
    wick_dtype dtype = wick_tensor_dtype(wick_out_tensor(k, 0));
    random_job job = {.wide = dtype == WICK_F64};
    WICK_TRY(wick_random_parameters(k, d, job.parameters));
    job.make = job.wide ? m->f64 : m->f32;
    if (d == WICK_RANDOM_UNIFORM) job.mask = wick_random_mask(dtype);
    job.narrow = dtype == WICK_F64 || dtype == WICK_F32 ? NULL : CPU_NAME(narrow)[CPU_F32][dtype];
    return fill_random(k, &job);
}

/* ---- integers ---- */
static wick_status *draw_integers(const wick_kernel_call *k, wick_random_range r) {
    wick_dtype dtype = wick_tensor_dtype(wick_out_tensor(k, 0));
    random_job job = {.make = integer_i64, .wide = r.range == 0 || r.range >> 32 != 0};
    job.narrow = dtype == WICK_I64 ? NULL : CPU_NAME(narrow)[CPU_I64][dtype];
    memcpy(&job.parameters[0], &r.first, sizeof r.first), memcpy(&job.parameters[1], &r.range, sizeof r.range);
    return fill_random(k, &job);
}

/* random_(self) */
static wick_status *random_all(const wick_kernel_call *k) {
    return draw_integers(k,
                         (wick_random_range){0, wick_random_natural_range(wick_tensor_dtype(wick_out_tensor(k, 0)))});
}
static wick_status *random_from(const wick_kernel_call *k) {
    wick_random_range r;
    WICK_TRY(wick_random_from(k, &r));
    return draw_integers(k, r);
}
static wick_status *random_to(const wick_kernel_call *k) {
    wick_random_range r;
    WICK_TRY(wick_random_to(k, &r));
    return draw_integers(k, r);
}

/* ---- by probabilities, one an element ---- */
typedef struct chance_job chance_job;
typedef struct chance_buffers chance_buffers;

struct chance_job {
    wick_iter it; /* out, [mask,] probabilities or values; row-major order */
    wick_philox philox;
    wick_dtype dtype; /* of operand `input` */
    int input;
    /* Turns the n values of the elements from `position` on into the results. */
    void (*decide)(const chance_job *job, int64_t position, int64_t n, chance_buffers *b);
    bool dropout; /* there is a mask, and these: */
    double keep, scale;
    _Atomic bool *bad_rate;    /* Poisson: set if one is met */
    cpu_convert_fn narrow_out; /* from doubles */
};

struct chance_buffers {
    _Alignas(64) uint32_t high[BLOCK], low[BLOCK];
    _Alignas(64) double packed[2 * BLOCK], wide[2 * BLOCK], values[BLOCK];
    uint8_t kept[BLOCK];
};

/* Elements of operand `input` as doubles. */
static void load_doubles(const chance_job *job, const wick_cursor *c, int64_t n, chance_buffers *b) {
    cpu_convert_fn widen = CPU_NAME(widen)[job->dtype];
    const void *from = b->packed;
    wick_iter_gather(&job->it, c, job->input, b->packed, n);
    if (widen) widen(b->wide, b->packed, n), from = b->wide;
    CPU_NAME(narrow)[class_of_dtype(job->dtype)][WICK_F64](b->values, from, n);
}

/* Uniform numbers in [0, 1), in b->wide. */
static void make_units(const chance_job *job, int64_t position, int64_t n, chance_buffers *b) {
    const uint64_t counter = job->philox.offset + (uint64_t)position / 4;
    const bool wide = job->dtype == WICK_F64;
    philox(job->philox.seed, counter, 0, (n + 3) / 4, b->high);
    if (wide) philox(job->philox.seed, counter, 1, (n + 3) / 4, b->low);
    if (wide)
        for (int64_t i = 0; i < n; ++i) b->wide[i] = unit_of(b->high[i], b->low[i]);
    else
        for (int64_t i = 0; i < n; ++i) b->wide[i] = (double)(int32_t)(b->high[i] >> 8) * 0x1p-24;
}

/* out = u < p */
static void decide_bernoulli(const chance_job *job, int64_t position, int64_t n, chance_buffers *b) {
    make_units(job, position, n, b);
    for (int64_t i = 0; i < n; ++i) b->values[i] = b->wide[i] < b->values[i] ? 1.0 : 0.0;
}

/* out = value / (1 - p) where u < 1 - p, and 0 elsewhere; mask = u < 1 - p */
static void decide_dropout(const chance_job *job, int64_t position, int64_t n, chance_buffers *b) {
    const double keep = job->keep, scale = job->scale;
    make_units(job, position, n, b);
    for (int64_t i = 0; i < n; ++i) {
        const double scaled = b->values[i] * scale;
        b->values[i] = b->wide[i] < keep ? scaled : 0.0;
    }
    for (int64_t i = 0; i < n; ++i) b->kept[i] = b->wide[i] < keep;
}

static void run_chance(void *user, int64_t begin_group, int64_t end_group, int worker) {
    const chance_job *job = user;
    const wick_iter *it = &job->it;
    int64_t begin = begin_group * BLOCK, end = end_group * BLOCK < it->numel ? end_group * BLOCK : it->numel;
    chance_buffers b;
    wick_cursor c = wick_cursor_at(it, begin);
    for (int64_t p = begin, n; p < end; p += n, wick_cursor_skip(it, &c, n)) {
        n = end - p < BLOCK ? end - p : BLOCK;
        load_doubles(job, &c, n, &b);
        job->decide(job, p, n, &b);
        job->narrow_out(b.packed, b.values, n);
        wick_iter_scatter(it, &c, 0, b.packed, n);
        if (job->dropout) wick_iter_scatter(it, &c, 1, b.kept, n);
    }
}

static wick_status *run_chances(const wick_kernel_call *k, chance_job *job, const wick_tensor *const *operands, int n) {
    job->input = n - 1;
    job->dtype = wick_tensor_dtype(operands[n - 1]);
    job->narrow_out = CPU_NAME(narrow)[CPU_F64][operands[0]->dtype];
    job->philox = *k->philox;
    if (operands[0]->numel == 0) return NULL;
    if (!wick_iter_init(&job->it, operands[0], operands, n, WICK_ITER_KEEP_ORDER))
        return WICK_HOST_ERROR(k->host, WICK_INVALID_ARGUMENT, "%s: shapes do not broadcast to the output's",
                               k->host->op_name(k->op));
    cpu_parallel_for(cpu_of(k), (operands[0]->numel + BLOCK - 1) / BLOCK, 8, run_chance, job);
    return NULL;
}

/* bernoulli(self): self holds the probabilities */
static wick_status *bernoulli_of_self(const wick_kernel_call *k) {
    const wick_tensor *operands[] = {wick_out_tensor(k, 0), wick_arg_tensor(k, 0)};
    chance_job job = {.decide = decide_bernoulli};
    return run_chances(k, &job, operands, 2);
}

/* bernoulli_.Tensor(self, p) */
static wick_status *bernoulli_of_tensor(const wick_kernel_call *k) {
    const wick_tensor *operands[] = {wick_out_tensor(k, 0), wick_arg_tensor(k, 1)};
    chance_job job = {.decide = decide_bernoulli};
    return run_chances(k, &job, operands, 2);
}

/* native_dropout(input, p, train?) -> (output, mask) */
static wick_status *native_dropout(const wick_kernel_call *k) {
    const wick_tensor *operands[] = {wick_out_tensor(k, 0), wick_out_tensor(k, 1), wick_arg_tensor(k, 0)};
    chance_job job = {.decide = decide_dropout, .dropout = true};
    WICK_TRY(wick_random_keep(k, &job.keep));
    job.scale = job.keep == 0 ? 0 : 1 / job.keep;
    return run_chances(k, &job, operands, 3);
}

/* ---- Poisson: as many numbers as an element needs; number j of it comes from streams 2j and 2j + 1 ---- */
typedef struct number_source {
    const wick_philox *philox;
    int64_t element;
    uint32_t next;
} number_source;

static double next_number(number_source *s) {
    uint32_t high[4], low[4];
    const uint64_t counter = s->philox->offset + (uint64_t)s->element / 4;
    philox(s->philox->seed, counter, 2 * s->next, 1, high);
    philox(s->philox->seed, counter, 2 * s->next + 1, 1, low);
    ++s->next;
    return unit_of(high[s->element % 4], low[s->element % 4]);
}

/* How many numbers multiply to more than exp(-rate). */
static double poisson_by_products(number_source *s, double rate) {
    const double least = exp(-rate);
    double count = 0;
    for (double product = 1 - next_number(s); product > least; ++count) product *= 1 - next_number(s);
    return count;
}

/* W. Hoermann, The transformed rejection method for generating Poisson random variables (1993): algorithm PTRS. */
static double poisson_by_rejection(number_source *s, double rate) {
    const double b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b, log_rate = log(rate);
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), squeeze = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        const double u = next_number(s) - 0.5, v = 1 - next_number(s), edge = 0.5 - fabs(u);
        const double count = floor((2 * a / edge + b) * u + rate + 0.43);
        int sign;
        if (edge >= 0.07 && v <= squeeze) return count;
        if (!(count >= 0) || (edge < 0.013 && v > edge)) continue;
        if (log(v * inverse_alpha / (a / (edge * edge) + b)) <= count * log_rate - rate - lgamma_r(count + 1, &sign))
            return count;
    }
}

static void decide_poisson(const chance_job *job, int64_t position, int64_t n, chance_buffers *b) {
    for (int64_t i = 0; i < n; ++i) {
        number_source source = {.philox = &job->philox, .element = position + i};
        const double rate = b->values[i];
        if (!(rate >= 0) || isinf(rate)) atomic_store_explicit(job->bad_rate, true, memory_order_relaxed);
        b->values[i] = !(rate > 0) || isinf(rate) ? 0
                       : rate < 10                ? poisson_by_products(&source, rate)
                                                  : poisson_by_rejection(&source, rate);
    }
}

/* poisson(self): self holds the rates */
static wick_status *poisson(const wick_kernel_call *k) {
    const wick_tensor *operands[] = {wick_out_tensor(k, 0), wick_arg_tensor(k, 0)};
    _Atomic bool bad_rate = false;
    chance_job job = {.decide = decide_poisson, .bad_rate = &bad_rate};
    WICK_TRY(run_chances(k, &job, operands, 2));
    if (!bad_rate) return NULL;
    return WICK_HOST_ERROR(k->host, WICK_INVALID_ARGUMENT,
                           "invalid Poisson rate, expected rates to be non-negative and finite");
}

/* ---- permutation: the order of as many keys of 53 bits ---- */
typedef struct key_order {
    uint64_t *keys, *sorted; /* by element, by place */
    int64_t *starts;         /* of the buckets, which the keys' first bits choose; one more than there are */
    int64_t *order;          /* the result */
    int64_t n;
    int shift; /* leaves a key's bucket */
} key_order;

static void draw_keys(const key_order *o, const wick_philox *state) {
    uint32_t high[BLOCK], low[BLOCK];
    for (int64_t i = 0; i < o->n; i += BLOCK) {
        const int64_t n = o->n - i < BLOCK ? o->n - i : BLOCK;
        philox(state->seed, state->offset + (uint64_t)i / 4, 0, (n + 3) / 4, high);
        philox(state->seed, state->offset + (uint64_t)i / 4, 1, (n + 3) / 4, low);
        for (int64_t j = 0; j < n; ++j) o->keys[i + j] = (uint64_t)high[j] << 21 | low[j] >> 11;
    }
}

static void fill_buckets(const key_order *o, int64_t buckets) {
    memset(o->starts, 0, (size_t)(buckets + 1) * sizeof *o->starts);
    for (int64_t i = 0; i < o->n; ++i) ++o->starts[(o->keys[i] >> o->shift) + 1];
    for (int64_t i = 0; i < buckets; ++i) o->starts[i + 1] += o->starts[i];
    for (int64_t i = 0; i < o->n; ++i) {
        const int64_t to = o->starts[o->keys[i] >> o->shift]++;
        o->sorted[to] = o->keys[i], o->order[to] = i;
    }
}

/* By insertion: elements move within their buckets only. Equal keys stay in order. */
static void sort_buckets(const key_order *o) {
    for (int64_t i = 1; i < o->n; ++i) {
        const uint64_t key = o->sorted[i];
        const int64_t element = o->order[i];
        int64_t j = i;
        for (; j > 0 && o->sorted[j - 1] > key; --j) o->sorted[j] = o->sorted[j - 1], o->order[j] = o->order[j - 1];
        o->sorted[j] = key, o->order[j] = element;
    }
}

/* randperm(n, ..) */
static wick_status *randperm(const wick_kernel_call *k) {
    const wick_tensor *out = wick_out_tensor(k, 0);
    const wick_dtype dtype = wick_tensor_dtype(out);
    const int64_t n = out->numel;
    int bits = 0;
    while (bits < 40 && n >> (bits + 2)) ++bits;
    const int64_t buckets = INT64_C(1) << bits;
    uint64_t *memory = k->host->workspace(k, (size_t)(3 * n + buckets + 1) * sizeof *memory);
    if (!memory)
        return WICK_HOST_ERROR(k->host, WICK_OUT_OF_MEMORY, "randperm: no memory for %lld indices", (long long)n);
    key_order o = {.keys = memory, .sorted = memory + n, .starts = (int64_t *)(memory + 3 * n), .n = n};
    o.order = dtype == WICK_I64 ? wick_data(out) : (int64_t *)(memory + 2 * n);
    o.shift = 53 - bits;
    draw_keys(&o, k->philox);
    fill_buckets(&o, buckets);
    sort_buckets(&o);
    if (dtype != WICK_I64) CPU_NAME(narrow)[CPU_I64][dtype](wick_data(out), o.order, n);
    return NULL;
}

#define REALS WICK_DTYPES_FLOAT
#define FLAGS WICK_KERNEL_DETERMINISTIC
static const wick_kernel_row rows[] = {
    CPU_ROW("uniform_", draw, &makers[WICK_RANDOM_UNIFORM], REALS, FLAGS),
    CPU_ROW("normal_", draw, &makers[WICK_RANDOM_NORMAL], REALS, FLAGS),
    CPU_ROW("log_normal_", draw, &makers[WICK_RANDOM_LOG_NORMAL], REALS, FLAGS),
    CPU_ROW("cauchy_", draw, &makers[WICK_RANDOM_CAUCHY], REALS, FLAGS),
    CPU_ROW("exponential_", draw, &makers[WICK_RANDOM_EXPONENTIAL], REALS, FLAGS),
    CPU_ROW("geometric_", draw, &makers[WICK_RANDOM_GEOMETRIC], 0, FLAGS),
    CPU_ROW("bernoulli_.float", draw, &makers[WICK_RANDOM_BERNOULLI], 0, FLAGS),
    CPU_ROW("bernoulli_.Tensor", bernoulli_of_tensor, NULL, 0, FLAGS),
    CPU_ROW("bernoulli", bernoulli_of_self, NULL, REALS, FLAGS),
    CPU_ROW("poisson", poisson, NULL, REALS, FLAGS),
    CPU_ROW("random_", random_all, NULL, 0, FLAGS),
    CPU_ROW("random_.from", random_from, NULL, 0, FLAGS),
    CPU_ROW("random_.to", random_to, NULL, 0, FLAGS),
    CPU_ROW("native_dropout", native_dropout, NULL, REALS, FLAGS),
    CPU_ROW("randperm", randperm, NULL, 0, FLAGS | WICK_KERNEL_CONTIGUOUS),
};
const cpu_kernel_table CPU_NAME(random_table) = CPU_TABLE(rows);
