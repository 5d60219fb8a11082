/* Distributions from uniform numbers: the same ones, element for element, as on every other device. Bits, uniform
 * numbers and what is drawn by comparing with a probability are equal; what goes through functions agrees within
 * their rounding. */
#include <math.h>

#include "decompose.h"
#include "rows.h"

#define N(x) NUMBER(x)
#define R(x) REAL(x)

/* `count` uniform numbers in [0, 1) on the device of `like`; F64 ones have 53 random bits, others 24. */
static wick_tensor *uniform(wick_context *c, wick_tensor *like, int64_t count, wick_dtype dtype) {
    wick_new_empty_options o = WICK_NEW_EMPTY_OPTIONS_INIT;
    o.dtype = dtype;
    return wick_uniform_(c, wick_new_empty(c, like, &count, 1, &o), NULL);
}
static wick_dtype drawn_dtype(const wick_tensor *t) { return t->dtype == WICK_F64 ? WICK_F64 : WICK_F32; }
/* As many as t has elements, in double precision. */
static wick_tensor *uniform_for(wick_context *c, wick_tensor *t) {
    return cast(c, uniform(c, t, t->numel, drawn_dtype(t)), WICK_F64);
}
/* The numbers become the elements of t, which is returned. */
static void store(wick_context *c, wick_tensor *t, wick_tensor *flat_values, wick_value *rets) {
    give(rets, wick_copy_(c, t, wick_reshape(c, flat_values, SIZES(t)), NULL));
}
#define DRAWN(name, expression)                                                      \
    void compose_##name(wick_context *c, const wick_value *args, wick_value *rets) { \
        wick_tensor *u = uniform_for(c, T(0));                                       \
        if (u) store(c, T(0), (expression), rets);                                   \
    }

/* ---- by comparing ---- */
DRAWN(bernoulli__float, wick_lt_scalar(c, u, args[1]))

/* Numbers of the precision of the probabilities. */
static wick_tensor *hits(wick_context *c, wick_tensor *p, wick_tensor *like) {
    wick_tensor *u = uniform(c, like, like->numel, drawn_dtype(p));
    p = expand_of(c, cast(c, p, WICK_F64), like->sizes, like->ndim);
    return p ? wick_lt(c, wick_reshape(c, cast(c, u, WICK_F64), SIZES(like)), p) : NULL;
}
DECOMPOSE(bernoulli, cast_like(c, hits(c, T(0), T(0)), T(0)))
void compose_bernoulli__tensor(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, wick_copy_(c, T(0), hits(c, T(1), T(0)), NULL));
}

/* ---- by the inverse of the distribution ---- */
DRAWN(exponential_, DIVN(NEG(wick_log1p(c, NEG(u))), args[1]))
DRAWN(cauchy_, ADDN(MULN(wick_tan(c, MULN(ADDN(u, R(-0.5)), R(3.14159265358979323846))), args[2]), args[1]))
DRAWN(geometric_, WHEREN_(EQN(u, N(0)), N(1), wick_ceil(c, DIVN(LOG(u), R(log1p(-F(1)))))))

/* Box and Muller: elements 2k and 2k + 1 share two uniform numbers, drawn in groups of four. */
static wick_tensor *normal(wick_context *c, wick_tensor *t, double mean, double std) {
    int64_t count = (t->numel + 3) / 4 * 4;
    wick_tensor *u = cast(c, uniform(c, t, count, drawn_dtype(t)), WICK_F64);
    u = wick_view(c, u, (wick_dim[]){count / 2, 2}, 2);
    wick_tensor *radius = SQRT(MULN(wick_log1p(c, NEG(wick_select(c, u, 1, 0))), N(-2)));
    wick_tensor *angle = MULN(wick_select(c, u, 1, 1), R(6.28318530717958647692));
    wick_tensor *pair[2] = {MUL(radius, wick_cos(c, angle)), MUL(radius, wick_sin(c, angle))};
    wick_tensor *all = flat(c, stack_of(c, pair, 2, 1));
    return wick_narrow(c, ADDN(MULN(all, R(std)), R(mean)), 0, 0, t->numel);
}
void compose_normal_(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = T(0), *values = t->numel ? normal(c, t, F(1), F(2)) : NULL;
    if (values) store(c, t, values, rets);
    if (!t->numel) give(rets, t);
}
void compose_log_normal_(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = T(0), *values = t->numel ? normal(c, t, F(1), F(2)) : NULL;
    if (values) store(c, t, EXP(values), rets);
    if (!t->numel) give(rets, t);
}

/* ---- integers: random.inc says which ---- */
static wick_tensor *leading_bits(wick_context *c, wick_tensor *u, double count) {
    return cast(c, wick_floor(c, MULN(u, R(count))), WICK_I64);
}

/* 53 bits x, then the first of them again: 63 or 64 in all. */
static wick_tensor *many_bits(wick_context *c, wick_tensor *u, int count) {
    wick_tensor *x = leading_bits(c, u, 0x1p53);
    return ADD(MULN(x, N(INT64_C(1) << (count - 53))), leading_bits(c, u, ldexp(1, count - 53)));
}

/* Unsigned remainder by a range above 2^63; 0 stands for 2^64. Adding 2^63 turns the unsigned order into the signed. */
static wick_tensor *below_wide(wick_context *c, wick_tensor *bits, uint64_t range) {
    if (range == 0) return bits;
    wick_tensor *below = LTN(ADDN(bits, N(INT64_MIN)), N((int64_t)(range ^ UINT64_C(1) << 63)));
    return WHERE(below, bits, ADDN(bits, N((int64_t)(0 - range))));
}

static wick_tensor *integers(wick_context *c, wick_tensor *t, int64_t from, uint64_t range) {
    const uint64_t half = UINT64_C(1) << 63;
    wick_tensor *u = uniform(c, t, t->numel, WICK_F64), *value;
    if (range && range >> 32 == 0)
        value = wick_remainder_scalar(c, leading_bits(c, u, 0x1p32), N((int64_t)range));
    else if (range == half)
        value = many_bits(c, u, 63);
    else if (range && range < half)
        value = wick_remainder_scalar(c, many_bits(c, u, 63), N((int64_t)range));
    else
        value = below_wide(c, many_bits(c, u, 64), range);
    return ADDN(value, N(from));
}

/* Every integer up to the largest that the dtype holds exactly. */
static uint64_t natural_range(wick_dtype dtype) {
    static const uint8_t bits[WICK_DTYPE_COUNT] = {
        [WICK_BOOL] = 1, [WICK_U8] = 8,   [WICK_I8] = 7,    [WICK_I16] = 15,     [WICK_I32] = 31,  [WICK_I64] = 63,
        [WICK_U16] = 16, [WICK_U32] = 32, [WICK_U64] = 63,  [WICK_F16] = 11,     [WICK_BF16] = 8,  [WICK_F32] = 24,
        [WICK_F64] = 53, [WICK_C64] = 24, [WICK_C128] = 53, [WICK_F8E4M3FN] = 4, [WICK_F8E5M2] = 3};
    bool floating = !wick_dtype_is_integral(dtype) && dtype != WICK_BOOL;
    return (UINT64_C(1) << bits[dtype]) + floating;
}
#define INTEGERS(name, from, range)                                                  \
    void compose_##name(wick_context *c, const wick_value *args, wick_value *rets) { \
        wick_tensor *values = integers(c, T(0), (from), (range));                    \
        if (values) store(c, T(0), values, rets);                                    \
    }
static uint64_t range_from(const wick_tensor *t, int64_t from, const wick_value *to) {
    uint64_t end = to->tag == WICK_TAG_NONE ? natural_range((wick_dtype)t->dtype) : (uint64_t)to->as.i;
    return end - (uint64_t)from;
}
INTEGERS(random_, 0, natural_range((wick_dtype)T(0)->dtype))
INTEGERS(random__from, I(1), range_from(T(0), I(1), &args[2]))
INTEGERS(random__to, 0, (uint64_t)I(1))
