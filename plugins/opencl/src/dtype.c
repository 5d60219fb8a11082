/* Element types: how they lie in memory and in which type they are computed. */
#include "dtype.h"
#include "program.h"

#define AS_INT "int", "INT_MIN", "INT_MAX"
#define AS_UINT "uint", "0", "UINT_MAX"
#define AS_LONG "long", "LONG_MIN", "LONG_MAX"
#define AS_ULONG "ulong", "0", "ULONG_MAX"
#define AS_FLOAT2 "float2", "0", "0"
#define AS_DOUBLE2 "double2", "0", "0"
#define AS_FLOAT "float", "(-INFINITY)", "INFINITY"
#define AS_DOUBLE "double", "(-INFINITY)", "INFINITY"
const ocl_dtype ocl_dtypes[] = {
    [WICK_BOOL] = {"bool", "uchar", AS_INT, "((p)[i] != 0)", "((p)[i] = (v) != 0)"},
    [WICK_U8] = {"u8", "uchar", AS_INT, "((int)(p)[i])", "((p)[i] = (uchar)(long)(v))"},
    [WICK_I8] = {"i8", "char", AS_INT, "((int)(p)[i])", "((p)[i] = (char)(long)(v))"},
    [WICK_I16] = {"i16", "short", AS_INT, "((int)(p)[i])", "((p)[i] = (short)(long)(v))"},
    [WICK_U16] = {"u16", "ushort", AS_INT, "((int)(p)[i])", "((p)[i] = (ushort)(long)(v))"},
    [WICK_I32] = {"i32", "int", AS_INT, "((p)[i])", "((p)[i] = (int)(v))"},
    [WICK_U32] = {"u32", "uint", AS_UINT, "((p)[i])", "((p)[i] = (uint)(long)(v))"},
    [WICK_I64] = {"i64", "long", AS_LONG, "((p)[i])", "((p)[i] = (long)(v))"},
    [WICK_U64] = {"u64", "ulong", AS_ULONG, "((p)[i])", "((p)[i] = (ulong)(v))"},
    [WICK_F16] = {"f16", "ushort", AS_FLOAT, "vload_half(i, (const __global half *)(p))",
                  "vstore_half_rte((float)(v), i, (__global half *)(p))"},
    [WICK_BF16] = {"bf16", "ushort", AS_FLOAT, "load_bf16((p)[i])", "((p)[i] = store_bf16((float)(v)))"},
    [WICK_F32] = {"f32", "float", AS_FLOAT, "((p)[i])", "((p)[i] = (float)(v))"},
    [WICK_C64] = {"c64", "float2", AS_FLOAT2, "((p)[i])",
                  "((p)[i] = convert_float2(v))"}, /* moved and conjugated only */
    [WICK_C128] = {"c128", "double2", AS_DOUBLE2, "((p)[i])", "((p)[i] = convert_double2(v))"},
    [WICK_F64] = {"f64", "double", AS_DOUBLE, "((p)[i])", "((p)[i] = (double)(v))"},
};
enum { KNOWN = sizeof ocl_dtypes / sizeof ocl_dtypes[0] };

bool ocl_dtype_known(const ocl *self, wick_dtype dtype) {
    if (!self->fp64 && (dtype == WICK_F64 || dtype == WICK_C128)) return false;
    return (unsigned)dtype < KNOWN && ocl_dtypes[dtype].name;
}

const char *ocl_dtype_name(wick_dtype dtype) {
    static const char *const names[] = {[WICK_DTYPE_NONE] = "none",
#define DTYPE_NAME(NAME, value, name, ...) [value] = name,
                                        WICK_DTYPES(DTYPE_NAME)
#undef DTYPE_NAME
    };
    return (unsigned)dtype < sizeof names / sizeof names[0] ? names[dtype] : "invalid";
}

uint32_t ocl_dtypes_all(const ocl *self) {
    uint32_t bits = OCL_FLOATS | OCL_INTEGERS | WICK_DTYPE_BIT(WICK_BOOL);
    return self->fp64 ? bits : bits & ~WICK_DTYPE_BIT(WICK_F64);
}

wick_dtype ocl_class_of(wick_dtype dtype) {
    if (wick_dtype_is_floating(dtype)) return dtype == WICK_F64 ? WICK_F64 : WICK_F32;
    return dtype == WICK_U64 ? WICK_U64 : WICK_I64;
}

bool ocl_is_general(const ocl *self, const ocl_variant *exact, int64_t elements) {
    if (exact->wide || elements >= self->specialize) return false;
    bool complex = wick_dtype_is_complex((wick_dtype)exact->compute);
    for (int k = 0; k < OCL_OPERANDS; ++k) complex = complex || wick_dtype_is_complex((wick_dtype)exact->dtypes[k]);
    return !complex;
}

/* The bytes of a kernel argument. */
typedef struct number {
    size_t bytes;
    union {
        cl_int i;
        cl_uint u;
        cl_long l;
        cl_float f;
        cl_double d;
        cl_float f2[2];
        cl_double d2[2];
    } as;
} number;

static double imaginary_of(const wick_value *v) { return v->tag == WICK_TAG_C128 ? v->as.c[1] : 0; }

/* An integer as the dtype holds it, wrapped around; of i64 and u64 all. */
static int64_t wrapped(wick_dtype dtype, const wick_value *value) {
    int64_t v = wick_value_as_int(value);
    switch (dtype) {
    case WICK_U8: return (uint8_t)v;
    case WICK_I8: return (int8_t)v;
    case WICK_I16: return (int16_t)v;
    case WICK_U16: return (uint16_t)v;
    case WICK_I32: return (int32_t)v;
    case WICK_U32: return (uint32_t)v;
    default: return v;
    }
}

static number number_of(wick_dtype dtype, const wick_value *value) {
    switch (dtype) {
    case WICK_C64:
        return (number){2 * sizeof(cl_float), {.f2 = {(float)wick_value_as_double(value), (float)imaginary_of(value)}}};
    case WICK_C128: return (number){2 * sizeof(cl_double), {.d2 = {wick_value_as_double(value), imaginary_of(value)}}};
    case WICK_F64: return (number){sizeof(cl_double), {.d = wick_value_as_double(value)}};
    case WICK_F16:
    case WICK_BF16:
    case WICK_F32: return (number){sizeof(cl_float), {.f = (float)wick_value_as_double(value)}};
    case WICK_I64:
    case WICK_U64: return (number){sizeof(cl_long), {.l = wick_value_as_int(value)}};
    case WICK_U32: return (number){sizeof(cl_uint), {.u = (cl_uint)wick_value_as_int(value)}};
    case WICK_BOOL:
        return (number){sizeof(cl_int), {.i = value->tag == WICK_TAG_F64 ? value->as.f != 0 : value->as.i != 0}};
    default: return (number){sizeof(cl_int), {.i = (cl_int)wrapped(dtype, value)}};
    }
}

void ocl_arg_number(ocl_launch *launch, wick_dtype dtype, const wick_value *value) {
    number n = number_of(dtype, value);
    if (launch->general && dtype == WICK_BOOL)
        n = (number){sizeof(cl_long), {.l = n.as.i}};
    else if (launch->general)
        n = wick_dtype_is_floating(dtype) ? number_of(ocl_class_of(dtype), value)
                                          : (number){sizeof(cl_long), {.l = wrapped(dtype, value)}};
    ocl_arg(launch, &n.as, n.bytes);
}
