/* wick/dtype.h: element types. Values are part of the ABI: append only. */
#ifndef WICK_DTYPE_H
#define WICK_DTYPE_H

#include <wick/base.h>

/* X(NAME, value, name, PyTorch's name, bytes, safetensors' name, category) */
#define WICK_DTYPES(X)                                                         \
    X(BOOL, 1, "bool", "torch.bool", 1, "BOOL", BOOLEAN)                       \
    X(U8, 2, "u8", "torch.uint8", 1, "U8", INTEGRAL)                           \
    X(I8, 3, "i8", "torch.int8", 1, "I8", INTEGRAL)                            \
    X(I16, 4, "i16", "torch.int16", 2, "I16", INTEGRAL)                        \
    X(I32, 5, "i32", "torch.int32", 4, "I32", INTEGRAL)                        \
    X(I64, 6, "i64", "torch.int64", 8, "I64", INTEGRAL)                        \
    X(U16, 7, "u16", "torch.uint16", 2, "U16", INTEGRAL)                       \
    X(U32, 8, "u32", "torch.uint32", 4, "U32", INTEGRAL)                       \
    X(U64, 9, "u64", "torch.uint64", 8, "U64", INTEGRAL)                       \
    X(F16, 10, "f16", "torch.float16", 2, "F16", FLOATING)                     \
    X(BF16, 11, "bf16", "torch.bfloat16", 2, "BF16", FLOATING)                 \
    X(F32, 12, "f32", "torch.float32", 4, "F32", FLOATING)                     \
    X(F64, 13, "f64", "torch.float64", 8, "F64", FLOATING)                     \
    X(C64, 14, "c64", "torch.complex64", 8, "C64", COMPLEX)                    \
    X(C128, 15, "c128", "torch.complex128", 16, "C128", COMPLEX)               \
    X(F8E4M3FN, 16, "f8e4m3fn", "torch.float8_e4m3fn", 1, "F8_E4M3", FLOATING) \
    X(F8E5M2, 17, "f8e5m2", "torch.float8_e5m2", 1, "F8_E5M2", FLOATING)

typedef enum wick_dtype {
    WICK_DTYPE_NONE = 0,
#define WICK_DTYPE_ENUM(NAME, value, name, torch_name, bytes, st_name, category) WICK_##NAME = value,
    WICK_DTYPES(WICK_DTYPE_ENUM)
#undef WICK_DTYPE_ENUM
        WICK_DTYPE_COUNT
} wick_dtype;

/* Categories are ordered as type promotion orders them. */
typedef enum wick_dtype_category {
    WICK_BOOLEAN = 1,
    WICK_INTEGRAL = 2,
    WICK_FLOATING = 3,
    WICK_COMPLEX = 4
} wick_dtype_category;

typedef struct wick_dtype_info {
    uint32_t struct_size;
    uint16_t bits;                /* per element */
    uint16_t category;            /* wick_dtype_category */
    const char *name;             /* "f32" */
    const char *torch_name;       /* "torch.float32" */
    const char *safetensors_name; /* "F32" */
} wick_dtype_info;

/* Of a set of dtypes; those that plugins register are in no set. */
#define WICK_DTYPE_BIT(dtype) ((unsigned)(dtype) < 32 ? 1u << ((unsigned)(dtype)&31) : 0u)

/* Element types of plugins: opaque, named by the runtime that loaded them (wick_runtime_dtype). Their value tells their
 * size: REGISTERED | log2(bytes) << 4 | number. */
#define WICK_DTYPE_REGISTERED 0x80

/* Bytes per element, 0 for an invalid dtype. Every dtype is a whole number of bytes. */
static inline size_t wick_dtype_bytes(wick_dtype dtype) {
    static const uint8_t bytes[] = {0, 1, 1, 1, 2, 4, 8, 2, 4, 8, 2, 2, 4, 8, 8, 16, 1, 1};
    if ((unsigned)dtype < sizeof bytes) return bytes[dtype];
    return dtype & WICK_DTYPE_REGISTERED ? (size_t)1 << (dtype >> 4 & 7) : 0;
}

static inline bool wick_dtype_is_floating(wick_dtype d) {
    return (d >= WICK_F16 && d <= WICK_F64) || d == WICK_F8E4M3FN || d == WICK_F8E5M2;
}
static inline bool wick_dtype_is_complex(wick_dtype d) { return d == WICK_C64 || d == WICK_C128; }
static inline bool wick_dtype_is_integral(wick_dtype d) { return d >= WICK_U8 && d <= WICK_U64; }
/* Floating or complex: what can require a gradient. */
static inline bool wick_dtype_is_differentiable(wick_dtype d) { return d >= WICK_F16 && d < WICK_DTYPE_COUNT; }

WICK_BEGIN_DECLS
/* Static descriptor, or NULL for an invalid dtype. Thread-safe. */
WICK_API const wick_dtype_info *wick_dtype_describe(wick_dtype dtype);
/* "f32"; "invalid" for an invalid one. */
WICK_API const char *wick_dtype_name(wick_dtype dtype);
/* Accepts wick's, PyTorch's ("torch.float32", "float32") and safetensors' ("F32") names; WICK_DTYPE_NONE if unknown. */
WICK_API wick_dtype wick_dtype_parse(const char *name);
/* PyTorch's promotion of two tensor dtypes of equal standing. WICK_DTYPE_NONE if the pair does not promote. */
WICK_API wick_dtype wick_dtype_promote(wick_dtype a, wick_dtype b);
/* PyTorch's same-kind rule: may a result of dtype `from` be stored into a tensor of dtype `to`? */
WICK_API bool wick_dtype_can_cast(wick_dtype from, wick_dtype to);
WICK_END_DECLS

#endif
