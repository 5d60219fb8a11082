/* The reducing loops of the scatter family, per dtype and operation. */
#include "../simd/convert.h"
#include "scatter.h"

#include <complex.h>
#include <math.h>

/* X(DTYPE, stored type, accumulator type, load). Unsigned arithmetic wraps where signed would be undefined. */
#define ARITHMETIC_TYPES(X)                \
    X(U8, uint8_t, uint8_t, )              \
    X(I8, uint8_t, uint8_t, )              \
    X(I16, uint16_t, uint16_t, )           \
    X(I32, uint32_t, uint32_t, )           \
    X(I64, uint64_t, uint64_t, )           \
    X(U16, uint16_t, uint16_t, )           \
    X(U32, uint32_t, uint32_t, )           \
    X(U64, uint64_t, uint64_t, )           \
    X(F16, uint16_t, float, f32_of_f16)    \
    X(BF16, uint16_t, float, f32_of_bf16)  \
    X(F32, float, float, )                 \
    X(F64, double, double, )               \
    X(C64, float complex, float complex, ) \
    X(C128, double complex, double complex, )
/* X(DTYPE, stored type, accumulator type, load, lowest, highest) */
#define ORDERED_TYPES(X)                                       \
    X(U8, uint8_t, uint8_t, , 0, UINT8_MAX)                    \
    X(I8, int8_t, int8_t, , INT8_MIN, INT8_MAX)                \
    X(I16, int16_t, int16_t, , INT16_MIN, INT16_MAX)           \
    X(I32, int32_t, int32_t, , INT32_MIN, INT32_MAX)           \
    X(I64, int64_t, int64_t, , INT64_MIN, INT64_MAX)           \
    X(U16, uint16_t, uint16_t, , 0, UINT16_MAX)                \
    X(U32, uint32_t, uint32_t, , 0, UINT32_MAX)                \
    X(U64, uint64_t, uint64_t, , 0, UINT64_MAX)                \
    X(F16, uint16_t, float, f32_of_f16, -INFINITY, INFINITY)   \
    X(BF16, uint16_t, float, f32_of_bf16, -INFINITY, INFINITY) \
    X(F32, float, float, , -INFINITY, INFINITY)                \
    X(F64, double, double, , -INFINITY, INFINITY)              \
    X(BOOL, uint8_t, uint8_t, , 0, 1)

/* `a` is what the accumulator holds, `b` what comes in. */
#define PLACE(name, stored, accum, load, expression)                                                             \
    static void name(char *base, int64_t base_stride, const int64_t *offsets, char *dense, int64_t dense_stride, \
                     int64_t n, const void *arg) {                                                               \
        if (!offsets && base_stride == sizeof(accum) && dense_stride == sizeof(stored)) {                        \
            accum *to = (accum *)base;                                                                           \
            const stored *from = (const stored *)dense;                                                          \
            for (int64_t j = 0; j < n; ++j) {                                                                    \
                accum a = to[j], b = load(from[j]);                                                              \
                to[j] = (accum)(expression);                                                                     \
            }                                                                                                    \
            return;                                                                                              \
        }                                                                                                        \
        for (int64_t j = 0; j < n; ++j) {                                                                        \
            accum *to = (accum *)(base + j * base_stride + (offsets ? offsets[j] : 0));                          \
            accum a = *to, b = load(*(const stored *)(dense + j * dense_stride));                                \
            *to = (accum)(expression);                                                                           \
        }                                                                                                        \
    }

#define ARITHMETIC(DTYPE, stored, accum, load)                                 \
    PLACE(sum_##DTYPE, stored, accum, load, a + b)                             \
    PLACE(axpy_##DTYPE, stored, accum, load, a + 1u * *(const accum *)arg * b) \
    PLACE(prod_##DTYPE, stored, accum, load, 1u * a * b)
#define ORDERED(DTYPE, stored, accum, load, lowest, highest)          \
    PLACE(amax_##DTYPE, stored, accum, load, a > b || a != a ? a : b) \
    PLACE(amin_##DTYPE, stored, accum, load, a < b || a != a ? a : b)
ARITHMETIC_TYPES(ARITHMETIC)
ORDERED_TYPES(ORDERED)
PLACE(sum_BOOL, uint8_t, uint8_t, , a | b)
PLACE(axpy_BOOL, uint8_t, uint8_t, , a | (b & *(const uint8_t *)arg))
PLACE(prod_BOOL, uint8_t, uint8_t, , a &b)

#define ENTRY_OF(op, DTYPE) [WICK_##DTYPE] = op##_##DTYPE,
#define SUM_ENTRY(DTYPE, ...) ENTRY_OF(sum, DTYPE)
#define AXPY_ENTRY(DTYPE, ...) ENTRY_OF(axpy, DTYPE)
#define PROD_ENTRY(DTYPE, ...) ENTRY_OF(prod, DTYPE)
#define AMAX_ENTRY(DTYPE, ...) ENTRY_OF(amax, DTYPE)
#define AMIN_ENTRY(DTYPE, ...) ENTRY_OF(amin, DTYPE)
static const cpu_place_fn places[CPU_SCATTER_OPS][WICK_DTYPE_COUNT] = {
    [CPU_SCATTER_SUM] = {ARITHMETIC_TYPES(SUM_ENTRY) SUM_ENTRY(BOOL)},
    [CPU_SCATTER_AXPY] = {ARITHMETIC_TYPES(AXPY_ENTRY) AXPY_ENTRY(BOOL)},
    [CPU_SCATTER_PROD] = {ARITHMETIC_TYPES(PROD_ENTRY) PROD_ENTRY(BOOL)},
    [CPU_SCATTER_AMAX] = {ORDERED_TYPES(AMAX_ENTRY)},
    [CPU_SCATTER_AMIN] = {ORDERED_TYPES(AMIN_ENTRY)},
};

static void count_one(char *base, int64_t base_stride, const int64_t *offsets, char *dense, int64_t dense_stride,
                      int64_t n, const void *arg) {
    for (int64_t j = 0; j < n; ++j) ++*(int64_t *)(base + j * base_stride + (offsets ? offsets[j] : 0));
}
const cpu_place_fn cpu_scatter_count = count_one;

/* ---- the accumulator ---- */
static bool adds_in_f32(wick_dtype dtype) { return dtype == WICK_F16 || dtype == WICK_BF16; }

#define CONVERT(name, from_type, to_type, convert)                                                            \
    static void name(void *user, char *const *data, const int64_t *strides, int64_t n) {                      \
        for (int64_t j = 0; j < n; ++j)                                                                       \
            *(to_type *)(data[0] + j * strides[0]) = convert(*(const from_type *)(data[1] + j * strides[1])); \
    }
CONVERT(widen_f16, uint16_t, float, f32_of_f16)
CONVERT(widen_bf16, uint16_t, float, f32_of_bf16)
CONVERT(narrow_f16, float, uint16_t, f16_of_f32)
CONVERT(narrow_bf16, float, uint16_t, bf16_of_f32)

static void convert(const wick_kernel_call *k, const cpu_view *to, const cpu_view *from, cpu_walk_fn fn) {
    cpu_walk walk;
    cpu_walk_of((const cpu_view *const[]){to, from}, 2, &walk);
    cpu_walk_reorder(&walk);
    cpu_walk_run(cpu_of(k), &walk, fn, NULL);
}

wick_status *cpu_scatter_begin(const wick_kernel_call *k, const wick_tensor *self, cpu_scatter *s) {
    s->k = k;
    cpu_view_of(wick_out_tensor(k, 0), &s->out);
    s->sum = s->out;
    bool wide = adds_in_f32(s->out.dtype);
    if (wide) {
        void *sum;
        WICK_TRY(cpu_scratch(k, cpu_view_numel(&s->out), sizeof(float), &sum));
        cpu_view_dense(sum, WICK_F32, s->out.ndim, s->out.sizes, &s->sum);
    }
    if (!self) {
        cpu_view_zero(cpu_of(k), &s->sum);
    } else if (wide) {
        cpu_view from;
        cpu_view_of(self, &from);
        convert(k, &s->sum, &from, from.dtype == WICK_F16 ? widen_f16 : widen_bf16);
    } else {
        cpu_output_from(k, self, &s->out);
    }
    return NULL;
}

void cpu_scatter_end(const cpu_scatter *s) {
    if (adds_in_f32(s->out.dtype)) convert(s->k, &s->out, &s->sum, s->out.dtype == WICK_F16 ? narrow_f16 : narrow_bf16);
}

wick_status *cpu_scatter_apply(const cpu_scatter *s, cpu_index_plan *plan, cpu_scatter_op op, const void *arg) {
    cpu_place_fn place = places[op][s->out.dtype];
    if (!place) return WICK_HOST_ERROR(s->k->host, WICK_UNSUPPORTED, "this reduction does not work on this dtype");
    return cpu_index_write(s->k, plan, place, arg);
}

void cpu_scatter_identity(cpu_scatter_op op, wick_dtype dtype, void *out) {
    if (op != CPU_SCATTER_AMAX && op != CPU_SCATTER_AMIN) {
        cpu_item_from_double(dtype, op == CPU_SCATTER_PROD, out);
        return;
    }
#define LIMITS(DTYPE, stored, accum, load, lowest, highest)          \
    case WICK_##DTYPE: {                                             \
        accum value = op == CPU_SCATTER_AMAX ? (lowest) : (highest); \
        memcpy(out, &value, sizeof value);                           \
        break;                                                       \
    }
    switch (dtype) {
        ORDERED_TYPES(LIMITS)
    default: break;
    }
}

/* ---- mean ---- */
#define FLOOR(a, b) ((a) / (b) - ((a) % (b) < 0))
#define TRUE_QUOTIENT(a, b) ((a) / (b))
/* X(DTYPE, type, type of the count, quotient) */
#define DIVIDED_TYPES(X)                        \
    X(U8, uint8_t, int64_t, FLOOR)              \
    X(I8, int8_t, int64_t, FLOOR)               \
    X(I16, int16_t, int64_t, FLOOR)             \
    X(I32, int32_t, int64_t, FLOOR)             \
    X(I64, int64_t, int64_t, FLOOR)             \
    X(U16, uint16_t, int64_t, FLOOR)            \
    X(U32, uint32_t, int64_t, FLOOR)            \
    X(U64, uint64_t, uint64_t, TRUE_QUOTIENT)   \
    X(F32, float, float, TRUE_QUOTIENT)         \
    X(F64, double, double, TRUE_QUOTIENT)       \
    X(C64, float complex, float, TRUE_QUOTIENT) \
    X(C128, double complex, double, TRUE_QUOTIENT)
#define DIVIDE(DTYPE, type, count_type, quotient)                                                  \
    static void divide_##DTYPE(void *user, char *const *data, const int64_t *strides, int64_t n) { \
        for (int64_t j = 0; j < n; ++j) {                                                          \
            type *to = (type *)(data[0] + j * strides[0]);                                         \
            count_type count = (count_type) * (const int64_t *)(data[1] + j * strides[1]);         \
            if (count > 1) *to = (type)quotient(*to, count);                                       \
        }                                                                                          \
    }
DIVIDED_TYPES(DIVIDE)

#define DIVIDE_ENTRY(DTYPE, ...) [WICK_##DTYPE] = divide_##DTYPE,
static const cpu_walk_fn divides[WICK_DTYPE_COUNT] = {DIVIDED_TYPES(DIVIDE_ENTRY)};

void cpu_scatter_divide(const cpu_scatter *s, const cpu_view *counts) {
    cpu_view by = *counts;
    cpu_view_expand(&by, s->sum.ndim, s->sum.sizes);
    if (divides[s->sum.dtype]) convert(s->k, &s->sum, &by, divides[s->sum.dtype]);
}
