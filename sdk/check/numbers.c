#include "numbers.h"

#include <math.h>
#include <string.h>

#include "arguments.h"

/* ---- writing ---- */
static uint16_t half_of(double v) {
    int exponent;
    if (v == 0) return 0;
    double m = frexp(fabs(v), &exponent); /* in [0.5, 1) */
    return (uint16_t)((v < 0) << 15 | (exponent + 14) << 10 | ((int)(m * 2048) & 1023));
}

static uint16_t bfloat_of(double v) {
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)(bits >> 16);
}

void element_write(char *data, wick_dtype dtype, int64_t i, double re, double im) {
    union {
        uint8_t u8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        int64_t i64;
        float f32[2];
        double f64[2];
    } v;
    switch (dtype) {
    case WICK_I16:
    case WICK_U16: v.i16 = (int16_t)re; break;
    case WICK_I32:
    case WICK_U32: v.i32 = (int32_t)re; break;
    case WICK_I64:
    case WICK_U64: v.i64 = (int64_t)re; break;
    case WICK_F16: v.u16 = half_of(re); break;
    case WICK_BF16: v.u16 = bfloat_of(re); break;
    case WICK_F32:
    case WICK_C64: v.f32[0] = (float)re, v.f32[1] = (float)im; break;
    case WICK_F64:
    case WICK_C128: v.f64[0] = re, v.f64[1] = im; break;
    case WICK_BOOL: v.u8 = re != 0; break;
    default: v.u8 = (uint8_t)(int64_t)re; break;
    }
    memcpy(data + (size_t)i * wick_dtype_bytes(dtype), &v, wick_dtype_bytes(dtype));
}

/* ---- domains: low + index * step, from `count` values ---- */
typedef struct domain {
    char name;
    double low, step; /* floating dtypes */
    int count;
    int int_low, int_count; /* integers */
    int unsigned_low, unsigned_count;
} domain;

static const domain domains[] = {
    {'f', -3, 1.0 / 16, 97, -8, 17, 0, 17},
    {'p', 1.0 / 16, 1.0 / 16, 48, 1, 8, 1, 8},
    {'u', -15.0 / 16, 1.0 / 16, 31, 0, 2, 0, 2},
    {'h', 1.0 / 16, 1.0 / 16, 15, 0, 2, 0, 2},
    {'z', 0.5, 1.0 / 16, 41, 1, 8, 1, 8},
    {'g', 2.125, 1.0 / 16, 47, 3, 7, 3, 7},
    {'k', 0, 1, 5, 0, 5, 0, 5},
    {'t', -1, 2, 2, -1, 2, 1, 1},
    {'s', -3, 1.0 / 16, 97, -8, 17, 0, 17},
    {'b', 0, 1, 2, 0, 2, 0, 2},
};

static const domain *find_domain(char name) {
    for (size_t i = 0; i < sizeof domains / sizeof domains[0]; ++i)
        if (domains[i].name == name) return &domains[i];
    return &domains[0];
}

static bool is_unsigned(wick_dtype d) { return d == WICK_U8 || d == WICK_U16 || d == WICK_U32 || d == WICK_U64; }

typedef struct scale {
    double low, step;
    int count;
    bool signs;  /* half of them negative */
    bool jitter; /* no two differ by a whole number */
} scale;

static scale scale_of(const domain *d, wick_dtype dtype, const number_kind *kind) {
    bool integers = wick_dtype_is_integral(dtype) || dtype == WICK_BOOL;
    scale s = {d->low, d->step, d->count, d->name == 'z' && !is_unsigned(dtype) && dtype != WICK_BOOL, false};
    if (dtype == WICK_BOOL && strchr("pzg", d->name))
        s = (scale){1, 1, 1, false, false};
    else if (dtype == WICK_BOOL)
        s = (scale){0, 1, 2, false, false};
    else if (is_unsigned(dtype))
        s = (scale){d->unsigned_low, 1, d->unsigned_count, false, false};
    else if (integers)
        s = (scale){d->int_low, 1, d->int_count, s.signs, false};
    else if (kind->smooth && !strchr("ktb", d->name))
        s.low += 1.0 / 32 + kind->operand / 128.0, s.jitter = true;
    return s;
}

static double value_at(const scale *s, uint64_t index, uint64_t bits) {
    double v = s->low + s->step * (double)index;
    if (s->jitter) v += (double)(bits % 97) / 7919;
    return s->signs && bits & 1 ? -v : v;
}

/* ---- filling ---- */
#define SPAN 128

/* A permutation of 0 to count - 1, count <= SPAN. */
static void shuffle(uint8_t *order, int count, uint64_t *state) {
    for (int i = 0; i < count; ++i) order[i] = (uint8_t)i;
    for (int i = count - 1; i > 0; --i) {
        int j = (int)(check_random(state) % (uint64_t)(i + 1));
        uint8_t swap = order[i];
        order[i] = order[j], order[j] = swap;
    }
}

static void fill_indices(char *data, wick_dtype dtype, int64_t count, const number_kind *kind, uint64_t *state) {
    int64_t limit = kind->limit > 0 ? kind->limit : 1;
    for (int64_t i = 0; i < count; ++i) {
        int64_t v = (int64_t)(check_random(state) % (uint64_t)limit);
        if (kind->domain == 'd') v = count <= limit ? i : kind->last ? i % kind->last % limit : 0;
        element_write(data, dtype, i, (double)v, 0);
    }
}

void numbers_fill(char *data, wick_dtype dtype, int64_t count, const number_kind *kind) {
    uint64_t state = kind->seed;
    uint8_t order[SPAN];
    if (strchr("ijd", kind->domain)) {
        fill_indices(data, dtype, count, kind, &state);
        return;
    }
    scale s = scale_of(find_domain(kind->domain), dtype, kind);
    bool sorted = kind->domain == 's';
    shuffle(order, s.count, &state);
    for (int64_t i = 0; i < count; ++i) {
        uint64_t bits = check_random(&state) >> 20;
        uint64_t index = sorted        ? (uint64_t)(i * s.count / (count ? count : 1))
                         : i < s.count ? order[i]
                                       : bits / 2 % (uint64_t)s.count;
        double im = wick_dtype_is_complex(dtype) ? value_at(&s, order[(uint64_t)i % (uint64_t)s.count], bits >> 8) : 0;
        element_write(data, dtype, i, value_at(&s, index, bits), im);
    }
}
