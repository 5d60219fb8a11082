/* wick/value.h: the 16-byte slot in which every argument of every operator travels. Append-only. */
#ifndef WICK_VALUE_H
#define WICK_VALUE_H

#include <wick/tensor.h>

typedef struct wick_generator wick_generator;

typedef enum wick_tag {
    WICK_TAG_NONE = 0,
    WICK_TAG_TENSOR = 1,
    WICK_TAG_TENSOR_LIST = 2, /* count tensors; NULLs allowed where the schema says Tensor?[] */
    WICK_TAG_BOOL = 3,
    WICK_TAG_I64 = 4,
    WICK_TAG_F64 = 5,
    WICK_TAG_C128 = 6, /* points at two doubles */
    WICK_TAG_BOOL_LIST = 7,
    WICK_TAG_I64_LIST = 8,
    WICK_TAG_F64_LIST = 9,
    WICK_TAG_STRING = 10, /* NUL-terminated, count bytes */
    WICK_TAG_DTYPE = 11,
    WICK_TAG_LAYOUT = 12,
    WICK_TAG_MEMORY_FORMAT = 13,
    WICK_TAG_DEVICE = 14,
    WICK_TAG_GENERATOR = 15,
    WICK_TAG_SCALAR_LIST = 16, /* count wick_values, each BOOL, I64, F64 or C128 */
    WICK_TAG_SYMBOLIC_I64 = 17 /* reserved */
} wick_tag;

/* A `Scalar` of a schema is BOOL, I64, F64 or C128. Arguments are borrowed for the call. */
typedef struct wick_value {
    union {
        wick_tensor *tensor;
        wick_tensor *const *tensors;
        int64_t i; /* BOOL, I64, DTYPE, LAYOUT, MEMORY_FORMAT */
        double f;
        const double *c;
        const int64_t *ints;
        const double *floats;
        const uint8_t *bools;
        const char *string;
        const struct wick_value *values;
        wick_device device;
        wick_generator *generator;
        void *pointer;
    } as;
    uint32_t tag;
    uint32_t count;
} wick_value;

static inline wick_value wick_value_none(void) {
    wick_value v;
    v.as.i = 0, v.tag = WICK_TAG_NONE, v.count = 0;
    return v;
}
/* NULL gives None. */
static inline wick_value wick_value_tensor(wick_tensor *t) {
    wick_value v;
    v.as.tensor = t, v.tag = t ? WICK_TAG_TENSOR : WICK_TAG_NONE, v.count = 0;
    return v;
}
static inline wick_value wick_value_tensors(wick_tensor *const *list, size_t n) {
    wick_value v;
    v.as.tensors = list, v.tag = WICK_TAG_TENSOR_LIST, v.count = (uint32_t)n;
    return v;
}
static inline wick_value wick_value_tagged(int64_t i, wick_tag tag) {
    wick_value v;
    v.as.i = i, v.tag = tag, v.count = 0;
    return v;
}
static inline wick_value wick_value_bool(bool b) { return wick_value_tagged(b, WICK_TAG_BOOL); }
static inline wick_value wick_value_int(int64_t i) { return wick_value_tagged(i, WICK_TAG_I64); }
static inline wick_value wick_value_dtype(wick_dtype d) {
    return d ? wick_value_tagged(d, WICK_TAG_DTYPE) : wick_value_none();
}
static inline wick_value wick_value_memory_format(wick_memory_format f) {
    return wick_value_tagged(f, WICK_TAG_MEMORY_FORMAT);
}
static inline wick_value wick_value_float(double f) {
    wick_value v;
    v.as.f = f, v.tag = WICK_TAG_F64, v.count = 0;
    return v;
}
/* `parts` = {real, imaginary}, borrowed. */
static inline wick_value wick_value_complex(const double *parts) {
    wick_value v;
    v.as.c = parts, v.tag = WICK_TAG_C128, v.count = 0;
    return v;
}
static inline wick_value wick_value_ints(const int64_t *list, size_t n) {
    wick_value v;
    v.as.ints = list, v.tag = WICK_TAG_I64_LIST, v.count = (uint32_t)n;
    return v;
}
static inline wick_value wick_value_floats(const double *list, size_t n) {
    wick_value v;
    v.as.floats = list, v.tag = WICK_TAG_F64_LIST, v.count = (uint32_t)n;
    return v;
}
static inline wick_value wick_value_bools(const uint8_t *list, size_t n) {
    wick_value v;
    v.as.bools = list, v.tag = WICK_TAG_BOOL_LIST, v.count = (uint32_t)n;
    return v;
}
static inline wick_value wick_value_string(const char *s, size_t bytes) {
    wick_value v;
    v.as.string = s, v.tag = s ? WICK_TAG_STRING : WICK_TAG_NONE, v.count = (uint32_t)bytes;
    return v;
}
static inline wick_value wick_value_device(wick_device d) {
    wick_value v = wick_value_none();
    if (d.type) v.as.device = d, v.tag = WICK_TAG_DEVICE;
    return v;
}

/* Scalars read as the wanted type; a complex one reads as its real part. */
static inline double wick_value_as_double(const wick_value *v) {
    return v->tag == WICK_TAG_F64 ? v->as.f : v->tag == WICK_TAG_C128 ? v->as.c[0] : (double)v->as.i;
}
static inline int64_t wick_value_as_int(const wick_value *v) {
    return v->tag == WICK_TAG_F64 ? (int64_t)v->as.f : v->tag == WICK_TAG_C128 ? (int64_t)v->as.c[0] : v->as.i;
}
static inline bool wick_value_is_none(const wick_value *v) { return v->tag == WICK_TAG_NONE; }

#endif
