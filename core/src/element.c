/* One element of any dtype as a number. */
#include "element.h"

#include <math.h>
#include <string.h>

/* An IEEE-like float of `mantissa` bits after `exponent` bits; `finite_top`: the highest exponent holds numbers too. */
static double small_float(unsigned bits, int exponent, int mantissa, bool finite_top) {
    unsigned fraction = bits & ((1u << mantissa) - 1), e = bits >> mantissa & ((1u << exponent) - 1),
             top = (1u << exponent) - 1;
    int bias = (1 << (exponent - 1)) - 1;
    double sign = bits >> (exponent + mantissa) & 1 ? -1.0 : 1.0;
    if (finite_top && e == top && fraction == (1u << mantissa) - 1) return NAN;
    if (!finite_top && e == top) return fraction ? NAN : sign * (double)INFINITY;
    if (e == 0) return sign * ldexp((double)fraction, 1 - bias - mantissa);
    return sign * ldexp((double)(fraction | 1u << mantissa), (int)e - bias - mantissa);
}

typedef union raw {
    uint8_t u8;
    int8_t i8;
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    float f32;
    double f64;
} raw;

static raw load(wick_dtype dtype, const void *data) {
    raw r;
    memcpy(&r, data, wick_dtype_bytes(dtype));
    return r;
}

static int64_t load_integer(wick_dtype dtype, const void *data) {
    raw r = load(dtype, data);
    switch (dtype) {
    case WICK_U8: return r.u8;
    case WICK_I8: return r.i8;
    case WICK_I16: return r.i16;
    case WICK_U16: return r.u16;
    case WICK_I32: return r.i32;
    case WICK_U32: return r.u32;
    default: return r.i64;
    }
}

static double load_floating(wick_dtype dtype, const void *data) {
    raw r = load(dtype, data);
    switch (dtype) {
    case WICK_F16: return small_float(r.u16, 5, 10, false);
    case WICK_BF16: return small_float(r.u16, 8, 7, false);
    case WICK_F8E4M3FN: return small_float(r.u8, 4, 3, true);
    case WICK_F8E5M2: return small_float(r.u8, 5, 2, false);
    case WICK_F32: return r.f32;
    default: return r.f64;
    }
}

wick_value element_value(wick_dtype dtype, const void *data, double parts[2]) {
    if (dtype == WICK_BOOL) return wick_value_bool(load(dtype, data).u8 != 0);
    if (wick_dtype_is_integral(dtype)) return wick_value_int(load_integer(dtype, data));
    if (!wick_dtype_is_complex(dtype)) return wick_value_float(load_floating(dtype, data));
    wick_dtype real = dtype == WICK_C64 ? WICK_F32 : WICK_F64;
    parts[0] = load_floating(real, data);
    parts[1] = load_floating(real, (const char *)data + wick_dtype_bytes(real));
    return wick_value_complex(parts);
}

double element_double(wick_dtype dtype, const void *data) {
    double parts[2];
    wick_value v = element_value(dtype, data, parts);
    return dtype == WICK_U64 ? (double)(uint64_t)v.as.i : wick_value_as_double(&v);
}
