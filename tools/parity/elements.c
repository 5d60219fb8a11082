#include "elements.h"

#include <math.h>
#include <string.h>

static double from_half(uint16_t h) {
    int exponent = h >> 10 & 31;
    double m = h & 1023, sign = h >> 15 ? -1 : 1;
    if (exponent == 31) return m != 0 ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexp(m + 1024, exponent - 25) : ldexp(m, -24));
}

static double from_bfloat(uint16_t b) {
    uint32_t bits = (uint32_t)b << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

void element_read(const char *data, wick_dtype dtype, int64_t i, double out[2]) {
    const char *p = data + (size_t)i * wick_dtype_bytes(dtype);
    union {
        uint8_t u8;
        int8_t i8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        uint64_t u64;
        float f32[2];
        double f64[2];
    } v;
    memcpy(&v, p, wick_dtype_bytes(dtype));
    out[1] = 0;
    switch (dtype) {
    case WICK_I8: out[0] = v.i8; break;
    case WICK_I16: out[0] = v.i16; break;
    case WICK_U16: out[0] = v.u16; break;
    case WICK_I32: out[0] = v.i32; break;
    case WICK_U32: out[0] = v.u32; break;
    case WICK_I64: out[0] = (double)v.i64; break;
    case WICK_U64: out[0] = (double)v.u64; break;
    case WICK_F16: out[0] = from_half(v.u16); break;
    case WICK_BF16: out[0] = from_bfloat(v.u16); break;
    case WICK_F32: out[0] = v.f32[0]; break;
    case WICK_F64: out[0] = v.f64[0]; break;
    case WICK_C64: out[0] = v.f32[0], out[1] = v.f32[1]; break;
    case WICK_C128: out[0] = v.f64[0], out[1] = v.f64[1]; break;
    default: out[0] = v.u8; break;
    }
}

tolerance dtype_tolerance(wick_dtype dtype) {
    switch (dtype) {
    case WICK_F16: return (tolerance){1e-3, 1e-5};
    case WICK_BF16: return (tolerance){1.6e-2, 1e-5};
    case WICK_F32:
    case WICK_C64: return (tolerance){1.3e-6, 1e-5};
    case WICK_F64:
    case WICK_C128: return (tolerance){1e-7, 1e-7};
    default: return (tolerance){0, 0};
    }
}

bool number_close(double expected, double got, tolerance t) {
    if (isnan(expected) || isnan(got)) return isnan(expected) && isnan(got);
    if (expected == got) return true;
    return isfinite(got) && fabs(got - expected) <= t.atol + t.rtol * fabs(expected);
}

bool element_close(const double e[2], const double g[2], tolerance t) {
    bool finite = isfinite(e[0]) && isfinite(e[1]) && isfinite(g[0]) && isfinite(g[1]);
    if (finite) return hypot(g[0] - e[0], g[1] - e[1]) <= t.atol + t.rtol * hypot(e[0], e[1]);
    return number_close(e[0], g[0], t) && number_close(e[1], g[1], t);
}
