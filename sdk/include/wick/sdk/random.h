/* wick/sdk/random.h: the random numbers that every device gives alike: Philox4x32-10; and what a call asks for, read from
 * its arguments. Header-only, pure; also C++.
 *
 * Element i of a tensor, in row-major order whatever its strides, takes word i % 4 of the block at counter
 * philox->offset + i / 4. A second stream of blocks at the same counters gives the low bits of doubles and of wide
 * integers. A call draws numel(output 0) elements: the core moves the generator on by (numel + 3) / 4 blocks.
 *
 * The functions below give the number of element i in double precision, as the CPU computes it before it stores it;
 * `dtype` is the output's (of tensors of probabilities: theirs), which says how many bits are drawn: 53 for F64, 24
 * for every other. A number is stored by rounding it to f32 first and from there to a narrower dtype: wick_store_f64
 * (wick/sdk/element.h).
 *
 *     uniform_             wick_random_uniform       equal on all devices, as are the bits themselves
 *     bernoulli*           wick_random_bernoulli     equal
 *     random_*             wick_random_integer       equal; stored by wick_store_i64
 *     normal_              wick_random_normal        equal within the rounding of log1p, sqrt, sin and cos
 *     exponential_         wick_random_exponential   equal within the rounding of log1p
 *     log_normal_          exp of the normal number, in f32 (F64: in f64)
 *     cauchy_              median + sigma * tan(pi * (u - 0.5)), u = wick_random_unit
 *     geometric_           ceil(log(u) / log1p(-p)), and 1 where u is 0
 *     native_dropout       keeps where wick_random_bernoulli(philox, dtype of the input, i, 1 - p)
 *     randperm             element i is the place of the i-th least of n f64 numbers, the earlier of equal ones first
 *     poisson              numbers of the kernel's own, of the right distribution
 *
 * With `random_state` in the call (wick/sdk/kernel.h) seed and offset are those in device memory: the offset that is
 * there plus philox->offset. */
#ifndef WICK_SDK_RANDOM_H
#define WICK_SDK_RANDOM_H

#include <math.h>
#include <wick/sdk/host.h>
#include <wick/sdk/kernel.h>

/* The block of four words at `counter` of stream 0 or 1. */
static inline void wick_philox_block(uint64_t seed, uint64_t counter, uint32_t stream, uint32_t out[4]) {
    uint32_t x0 = (uint32_t)counter, x1 = (uint32_t)(counter >> 32), x2 = stream, x3 = 0;
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; ++round) {
        const uint64_t a = (uint64_t)0xD2511F53u * x0, b = (uint64_t)0xCD9E8D57u * x2;
        x0 = (uint32_t)(b >> 32) ^ x1 ^ key0, x1 = (uint32_t)b;
        x2 = (uint32_t)(a >> 32) ^ x3 ^ key1, x3 = (uint32_t)a;
        key0 += 0x9E3779B9u, key1 += 0xBB67AE85u;
    }
    out[0] = x0, out[1] = x1, out[2] = x2, out[3] = x3;
}

/* The word of element `i`. */
static inline uint32_t wick_random_bits(const wick_philox *philox, uint64_t i, uint32_t stream) {
    uint32_t block[4];
    wick_philox_block(philox->seed, philox->offset + i / 4, stream, block);
    return block[i % 4];
}

/* Uniform in [0, 1): what an f32 (and every narrower dtype) of element `i` is made of. */
static inline double wick_random_f32(const wick_philox *philox, uint64_t i) {
    return (double)(wick_random_bits(philox, i, 0) >> 8) * 0x1p-24;
}
/* Uniform in [0, 1) with 53 bits, for f64. */
static inline double wick_random_f64(const wick_philox *philox, uint64_t i) {
    const uint64_t high = wick_random_bits(philox, i, 0), low = wick_random_bits(philox, i, 1);
    return (double)(high << 21 | low >> 11) * 0x1p-53;
}

/* ---- distributions ---- */
/* Uniform in [0, 1) with the bits that `dtype` gets. */
static inline double wick_random_unit(const wick_philox *philox, wick_dtype dtype, uint64_t i) {
    return dtype == WICK_F64 ? wick_random_f64(philox, i) : wick_random_f32(philox, i);
}

/* The bits of a word that uniform numbers of a dtype use. An F16 or BF16 gets no more than it holds (11, 8), so that
 * rounding does not reach the open end of [0, 1). */
static inline uint32_t wick_random_mask(wick_dtype dtype) {
    return dtype == WICK_F16 ? 0xffe00000u : dtype == WICK_BF16 ? 0xff000000u : 0xffffffffu;
}

/* Uniform in [from, to). */
static inline double wick_random_uniform(const wick_philox *philox, wick_dtype dtype, uint64_t i, double from,
                                         double to) {
    const double u = dtype == WICK_F64
                         ? wick_random_f64(philox, i)
                         : (double)((wick_random_bits(philox, i, 0) & wick_random_mask(dtype)) >> 8) * 0x1p-24;
    return u * (to - from) + from;
}

/* Normal, by Box and Muller: elements 2k and 2k + 1 share two uniform numbers, of which theirs are the first and the
 * second. The even one is the cosine's, the odd one the sine's. A last element without a partner is drawn as if it had
 * one. */
static inline double wick_random_normal(const wick_philox *philox, wick_dtype dtype, uint64_t i, double mean,
                                        double deviation) {
    const uint64_t even = i & ~UINT64_C(1);
    const double radius = deviation * sqrt(-2 * log1p(-wick_random_unit(philox, dtype, even)));
    const double angle = 6.28318530717958647692 * wick_random_unit(philox, dtype, even + 1);
    return mean + radius * (i & 1 ? sin(angle) : cos(angle));
}

/* Exponential with rate `lambda`. */
static inline double wick_random_exponential(const wick_philox *philox, wick_dtype dtype, uint64_t i, double lambda) {
    return -log1p(-wick_random_unit(philox, dtype, i)) / lambda;
}

/* True with probability p. Every dtype but F64 compares 24 bits, the reduced ones too. */
static inline bool wick_random_bernoulli(const wick_philox *philox, wick_dtype dtype, uint64_t i, double p) {
    return wick_random_unit(philox, dtype, i) < p;
}

/* Of the integers from `from` to `from` + range - 1; `range` 0 stands for 2^64. Below 2^32: the word modulo the range.
 * Wider ones: x are the 53 bits of the element's f64 number and v = x << 11 | x >> 42; v / 2 modulo a range up to 2^63,
 * else v modulo it. */
static inline int64_t wick_random_integer(const wick_philox *philox, uint64_t i, int64_t from, uint64_t range) {
    const uint64_t high = wick_random_bits(philox, i, 0);
    if (range && range >> 32 == 0) return (int64_t)(high % range + (uint64_t)from);
    const uint64_t x = high << 21 | wick_random_bits(philox, i, 1) >> 11, v = x << 11 | x >> 42;
    const uint64_t value = range == 0 ? v : range > UINT64_C(1) << 63 ? v % range : (v >> 1) % range;
    return (int64_t)(value + (uint64_t)from);
}

/* ---- what a call asks for: arguments read and checked ---- */
/* X(NAME, row, number of parameters behind self, what they must be, the same of p[0] and p[1]) */
#define WICK_RANDOM_DISTRIBUTIONS(X)                                 \
    X(UNIFORM, "uniform_", 2, "from <= to", p[0] <= p[1])            \
    X(NORMAL, "normal_", 2, "std >= 0", p[1] >= 0)                   \
    X(LOG_NORMAL, "log_normal_", 2, "std > 0", p[1] > 0)             \
    X(CAUCHY, "cauchy_", 2, "sigma > 0", p[1] > 0)                   \
    X(EXPONENTIAL, "exponential_", 1, "lambda > 0", p[0] > 0)        \
    X(GEOMETRIC, "geometric_", 1, "0 < p < 1", p[0] > 0 && p[0] < 1) \
    X(BERNOULLI, "bernoulli_.float", 1, "0 <= p <= 1", p[0] >= 0 && p[0] <= 1)

typedef enum wick_random_distribution {
#define WICK_RANDOM_ENUM_(NAME, row, parameters, domain, test) WICK_RANDOM_##NAME,
    WICK_RANDOM_DISTRIBUTIONS(WICK_RANDOM_ENUM_)
#undef WICK_RANDOM_ENUM_
        WICK_RANDOM_COUNT
} wick_random_distribution;

static inline wick_status *wick_random_parameters(const wick_kernel_call *call, wick_random_distribution d,
                                                  double p[2]) {
#define WICK_RANDOM_NUMBER_(NAME, row, parameters, domain, test) parameters,
    static const int counts[] = {WICK_RANDOM_DISTRIBUTIONS(WICK_RANDOM_NUMBER_)};
#undef WICK_RANDOM_NUMBER_
#define WICK_RANDOM_DOMAIN_(NAME, row, parameters, domain, test) domain,
    static const char *const domains[] = {WICK_RANDOM_DISTRIBUTIONS(WICK_RANDOM_DOMAIN_)};
#undef WICK_RANDOM_DOMAIN_
    bool valid = false;
    for (int i = 0; i < 2; ++i) p[i] = i < counts[d] ? wick_value_as_double(&call->values[1 + i]) : 0;
    switch (d) {
#define WICK_RANDOM_TEST_(NAME, row, parameters, domain, test) \
    case WICK_RANDOM_##NAME: valid = test; break;
        WICK_RANDOM_DISTRIBUTIONS(WICK_RANDOM_TEST_)
#undef WICK_RANDOM_TEST_
    default: break;
    }
    if (valid) return NULL;
    return WICK_HOST_ERROR(call->host, WICK_INVALID_ARGUMENT, "%s expects %s, got %g, %g",
                           call->host->op_name(call->op), domains[d], p[0], p[1]);
}

/* Integers from `first` to first + range - 1; `range` 0: 2^64. */
typedef struct wick_random_range {
    uint64_t first, range;
} wick_random_range;

/* From 0 to the largest integer that the dtype holds exactly, as all below it. */
static inline uint64_t wick_random_natural_range(wick_dtype dtype) {
    switch (dtype) {
    case WICK_BOOL: return 2;
    case WICK_U8: return UINT64_C(1) << 8;
    case WICK_I8: return UINT64_C(1) << 7;
    case WICK_U16: return UINT64_C(1) << 16;
    case WICK_I16: return UINT64_C(1) << 15;
    case WICK_U32: return UINT64_C(1) << 32;
    case WICK_I32: return UINT64_C(1) << 31;
    case WICK_F16: return (UINT64_C(1) << 11) + 1;
    case WICK_BF16: return (UINT64_C(1) << 8) + 1;
    case WICK_F8E4M3FN: return (UINT64_C(1) << 4) + 1;
    case WICK_F8E5M2: return (UINT64_C(1) << 3) + 1;
    case WICK_F32:
    case WICK_C64: return (UINT64_C(1) << 24) + 1;
    case WICK_F64:
    case WICK_C128: return (UINT64_C(1) << 53) + 1;
    default: return UINT64_C(1) << 63;
    }
}

static inline wick_status *wick_random_between_(const wick_kernel_call *call, int64_t from, int64_t to,
                                                wick_random_range *r) {
    r->first = (uint64_t)from, r->range = (uint64_t)to - (uint64_t)from;
    if (from < to) return NULL;
    return WICK_HOST_ERROR(call->host, WICK_INVALID_ARGUMENT,
                           "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld", (long long)from,
                           (long long)to);
}
/* random_.from(self, from, to): without `to`, up to what the dtype holds */
static inline wick_status *wick_random_from(const wick_kernel_call *call, wick_random_range *r) {
    const int64_t from = call->values[1].as.i;
    if (!wick_value_is_none(&call->values[2])) return wick_random_between_(call, from, call->values[2].as.i, r);
    const uint64_t end = wick_random_natural_range(wick_tensor_dtype(wick_out_tensor(call, 0)));
    r->first = (uint64_t)from, r->range = end - (uint64_t)from;
    return NULL;
}
/* random_.to(self, to) */
static inline wick_status *wick_random_to(const wick_kernel_call *call, wick_random_range *r) {
    return wick_random_between_(call, 0, call->values[1].as.i, r);
}

/* native_dropout(input, p, train): the probability that an element stays, by which it is then divided. */
static inline wick_status *wick_random_keep(const wick_kernel_call *call, double *keep) {
    const double p = wick_value_as_double(&call->values[1]);
    const bool train = wick_value_is_none(&call->values[2]) || call->values[2].as.i;
    *keep = train ? 1 - p : 1;
    if (p >= 0 && p <= 1) return NULL;
    return WICK_HOST_ERROR(call->host, WICK_INVALID_ARGUMENT,
                           "dropout probability has to be between 0 and 1, but got %g", p);
}

#endif
