/* Single items of any dtype from and to scalars. */
#include "../simd/convert.h"
#include "index.h"

/* Narrowing integers keeps the low bytes. */
static void item_from_int(wick_dtype dtype, int64_t value, void *out) {
    uint64_t bits = (uint64_t)value;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bits <<= 64 - 8 * wick_dtype_bytes(dtype);
#endif
    memcpy(out, &bits, wick_dtype_bytes(dtype));
}

/* Integers keep what a conversion through int64 keeps; negative values wrap. */
static void item_from_real(wick_dtype dtype, double value, void *out) {
    float f = (float)value;
#define WRITE_CASE(DTYPE, type, convert) \
    case WICK_##DTYPE: {                 \
        type item = convert;             \
        memcpy(out, &item, sizeof item); \
        break;                           \
    }
    switch (dtype) {
        WRITE_CASE(F64, double, value)
        WRITE_CASE(F32, float, f)
        WRITE_CASE(F16, uint16_t, f16_of_f32(f))
        WRITE_CASE(BF16, uint16_t, bf16_of_f32(f))
        WRITE_CASE(F8E4M3FN, uint8_t, f8e4m3fn_of_f32(f))
        WRITE_CASE(F8E5M2, uint8_t, f8e5m2_of_f32(f))
        WRITE_CASE(BOOL, uint8_t, value != 0)
    default: item_from_int(dtype, value < 0 ? (int64_t)value : (int64_t)(uint64_t)value, out);
    }
}

static void item_from_complex(wick_dtype dtype, double re, double im, void *out) {
    float floats[2] = {(float)re, (float)im};
    double doubles[2] = {re, im};
    if (dtype == WICK_C64)
        memcpy(out, floats, sizeof floats);
    else
        memcpy(out, doubles, sizeof doubles);
}

void cpu_item_from_double(wick_dtype dtype, double value, void *out) {
    if (wick_dtype_is_complex(dtype))
        item_from_complex(dtype, value, 0, out);
    else
        item_from_real(dtype, value, out);
}

void cpu_item_from_scalar(wick_dtype dtype, const wick_value *value, void *out) {
    bool exact = value->tag == WICK_TAG_I64 || value->tag == WICK_TAG_BOOL;
    if (exact && wick_dtype_is_integral(dtype))
        item_from_int(dtype, value->as.i, out);
    else if (value->tag == WICK_TAG_C128 && wick_dtype_is_complex(dtype))
        item_from_complex(dtype, value->as.c[0], value->as.c[1], out);
    else
        cpu_item_from_double(dtype, wick_value_as_double(value), out);
}

/* X(DTYPE, stored type, conversion) */
#define REAL_ITEMS(X)                     \
    X(BOOL, uint8_t, )                    \
    X(U8, uint8_t, )                      \
    X(I8, int8_t, )                       \
    X(I16, int16_t, )                     \
    X(I32, int32_t, )                     \
    X(I64, int64_t, )                     \
    X(U16, uint16_t, )                    \
    X(U32, uint32_t, )                    \
    X(U64, uint64_t, )                    \
    X(F16, uint16_t, f32_of_f16)          \
    X(BF16, uint16_t, f32_of_bf16)        \
    X(F8E4M3FN, uint8_t, f32_of_f8e4m3fn) \
    X(F8E5M2, uint8_t, f32_of_f8e5m2)     \
    X(F32, float, )                       \
    X(F64, double, )

double cpu_item_to_double(wick_dtype dtype, const void *item) {
#define READ_CASE(DTYPE, type, convert) \
    case WICK_##DTYPE: return (double)convert(*(const type *)item);
    switch (dtype) {
        REAL_ITEMS(READ_CASE)
    default: return 0;
    }
}

int64_t cpu_item_to_int(wick_dtype dtype, const void *item) {
#define READ_INT_CASE(DTYPE, type, convert) \
    case WICK_##DTYPE: return (int64_t)convert(*(const type *)item);
    switch (dtype) {
        REAL_ITEMS(READ_INT_CASE)
    default: return 0;
    }
}
