/* Tensors from nothing but numbers: arange, linspace, logspace, eye, tril_indices, triu_indices. */
#include "../simd/convert.h"
#include "index.h"

#include <math.h>

#define BLOCK 256

/* ---- series: computed a block at a time in double or int64, then narrowed to the dtype ---- */
typedef struct series {
    double start, end, step, base;
    int64_t int_start, int_step, count;
    char *data;
    int64_t stride;
    wick_dtype dtype;
    double (*at)(const struct series *s, int64_t i); /* NULL: integers, from int_start by int_step */
} series;

/* X(DTYPE, stored type, narrow) */
#define SERIES_TYPES(X)                   \
    X(U8, uint8_t, (uint8_t))             \
    X(I8, int8_t, (int8_t))               \
    X(I16, int16_t, (int16_t))            \
    X(I32, int32_t, (int32_t))            \
    X(I64, int64_t, (int64_t))            \
    X(U16, uint16_t, (uint16_t))          \
    X(U32, uint32_t, (uint32_t))          \
    X(U64, uint64_t, (uint64_t))          \
    X(F16, uint16_t, f16_of_f32)          \
    X(BF16, uint16_t, bf16_of_f32)        \
    X(F8E4M3FN, uint8_t, f8e4m3fn_of_f32) \
    X(F8E5M2, uint8_t, f8e5m2_of_f32)     \
    X(F32, float, (float))                \
    X(F64, double, (double))              \
    X(BOOL, uint8_t, 0 !=)

#define NARROW(DTYPE, type, narrow)                                                         \
    static void real_##DTYPE(char *to, int64_t stride, const double *from, int64_t n) {     \
        for (int64_t i = 0; i < n; ++i) *(type *)(to + i * stride) = (type)narrow(from[i]); \
    }                                                                                       \
    static void int_##DTYPE(char *to, int64_t stride, const int64_t *from, int64_t n) {     \
        for (int64_t i = 0; i < n; ++i) *(type *)(to + i * stride) = (type)narrow(from[i]); \
    }
SERIES_TYPES(NARROW)

typedef void (*narrow_real_fn)(char *to, int64_t stride, const double *from, int64_t n);
typedef void (*narrow_int_fn)(char *to, int64_t stride, const int64_t *from, int64_t n);
#define REAL_ENTRY(DTYPE, type, narrow) [WICK_##DTYPE] = real_##DTYPE,
#define INT_ENTRY(DTYPE, type, narrow) [WICK_##DTYPE] = int_##DTYPE,
static const narrow_real_fn narrow_real[WICK_DTYPE_COUNT] = {SERIES_TYPES(REAL_ENTRY)};
static const narrow_int_fn narrow_int[WICK_DTYPE_COUNT] = {SERIES_TYPES(INT_ENTRY)};

static void real_block(const series *s, int64_t i, int64_t n) {
    double block[BLOCK];
    for (int64_t j = 0; j < n; ++j) block[j] = s->at(s, i + j);
    narrow_real[s->dtype](s->data + i * s->stride, s->stride, block, n);
}

static void int_block(const series *s, int64_t i, int64_t n) {
    int64_t block[BLOCK];
    for (int64_t j = 0; j < n; ++j)
        block[j] = (int64_t)((uint64_t)s->int_start + (uint64_t)s->int_step * (uint64_t)(i + j));
    narrow_int[s->dtype](s->data + i * s->stride, s->stride, block, n);
}

static void series_part(void *user, int64_t begin, int64_t end, int worker) {
    const series *s = user;
    for (int64_t i = begin; i < end; i += BLOCK)
        (s->at ? real_block : int_block)(s, i, end - i < BLOCK ? end - i : BLOCK);
}

static void series_bind(const wick_kernel_call *k, series *s) {
    cpu_view out;
    cpu_view_of(wick_out_tensor(k, 0), &out);
    s->data = out.data, s->stride = out.strides[0], s->count = out.sizes[0], s->dtype = out.dtype;
}

static void series_write(const wick_kernel_call *k, series *s) {
    cpu_parallel_for(cpu_of(k), s->count, CPU_GRAIN, series_part, s);
}

/* ---- arange: (start, end, step) ---- */
static double arange_at(const series *s, int64_t i) { return s->start + s->step * (double)i; }

static wick_status *arange(const wick_kernel_call *k) {
    const wick_value *start = &k->values[0], *step = &k->values[2];
    series s = {.start = wick_value_as_double(start),
                .step = wick_value_as_double(step),
                .int_start = wick_value_as_int(start),
                .int_step = wick_value_as_int(step)};
    series_bind(k, &s);
    s.at = wick_dtype_is_integral(s.dtype) ? NULL : arange_at;
    series_write(k, &s);
    return NULL;
}

/* ---- linspace and logspace: (start, end, steps, [base]); both ends are exact ---- */
static double linspace_at(const series *s, int64_t i) {
    return i < s->count / 2 || s->count == 1 ? s->start + s->step * (double)i
                                             : s->end - s->step * (double)(s->count - 1 - i);
}

static double logspace_at(const series *s, int64_t i) { return pow(s->base, linspace_at(s, i)); }

static double part_of(const wick_value *v, int part) {
    if (v->tag == WICK_TAG_C128) return v->as.c[part];
    return part == 0 ? wick_value_as_double(v) : 0;
}

/* Complex tensors are two series, one of each part. */
static void space_write(const wick_kernel_call *k, series s, int part) {
    s.start = part_of(&k->values[0], part), s.end = part_of(&k->values[1], part);
    if (wick_dtype_is_integral(s.dtype)) s.start = trunc(s.start), s.end = trunc(s.end);
    if (wick_dtype_is_complex(s.dtype)) {
        s.data += part * (int)wick_dtype_bytes(s.dtype) / 2;
        s.dtype = s.dtype == WICK_C64 ? WICK_F32 : WICK_F64;
    }
    s.step = s.count > 1 ? (s.end - s.start) / (double)(s.count - 1) : 0;
    series_write(k, &s);
}

static wick_status *linspace(const wick_kernel_call *k) {
    series s = {.at = linspace_at};
    series_bind(k, &s);
    for (int part = 0; part < (wick_dtype_is_complex(s.dtype) ? 2 : 1); ++part) space_write(k, s, part);
    return NULL;
}

static wick_status *logspace(const wick_kernel_call *k) {
    series s = {.at = logspace_at, .base = wick_value_as_double(&k->values[3])};
    series_bind(k, &s);
    if (wick_dtype_is_complex(s.dtype))
        return WICK_HOST_ERROR(k->host, WICK_UNSUPPORTED, "logspace has no complex form here");
    space_write(k, s, 0);
    return NULL;
}

/* ---- eye: (n) and (n, m) ---- */
static wick_status *eye(const wick_kernel_call *k) {
    cpu_view out, diagonal;
    uint64_t one[2];
    cpu_view_of(wick_out_tensor(k, 0), &out);
    cpu_view_zero(cpu_of(k), &out);
    cpu_item_from_double(out.dtype, 1, one);
    diagonal = out, diagonal.ndim = 1;
    diagonal.sizes[0] = out.sizes[0] < out.sizes[1] ? out.sizes[0] : out.sizes[1];
    diagonal.strides[0] = out.strides[0] + out.strides[1];
    cpu_view_fill(cpu_of(k), &diagonal, one);
    return NULL;
}

/* ---- tril_indices, triu_indices: (row, col, offset) -> rows above columns ---- */
static wick_status *triangle_indices(const wick_kernel_call *k, bool upper) {
    cpu_view out;
    int64_t rows = k->values[0].as.i, columns = k->values[1].as.i, offset = k->values[2].as.i, at = 0;
    cpu_view_of(wick_out_tensor(k, 0), &out);
    for (int64_t row = 0; row < rows; ++row) {
        int64_t edge = row + offset + !upper;
        edge = edge < 0 ? 0 : edge > columns ? columns : edge;
        series s = {.int_start = row,
                    .stride = out.strides[1],
                    .dtype = out.dtype,
                    .count = upper ? columns - edge : edge,
                    .data = out.data + at * out.strides[1]};
        series_part(&s, 0, s.count, 0);
        s.int_start = upper ? edge : 0, s.int_step = 1, s.data += out.strides[0];
        series_part(&s, 0, s.count, 0);
        at += s.count;
    }
    return NULL;
}
static wick_status *tril_indices(const wick_kernel_call *k) { return triangle_indices(k, false); }
static wick_status *triu_indices(const wick_kernel_call *k) { return triangle_indices(k, true); }

static const wick_kernel_row rows[] = {
    CPU_ROW("arange.start_step", arange, NULL, 0, 0),
    CPU_ROW("linspace", linspace, NULL, 0, 0),
    CPU_ROW("logspace", logspace, NULL, 0, 0),
    CPU_ROW("eye", eye, NULL, 0, 0),
    CPU_ROW("eye.m", eye, NULL, 0, 0),
    CPU_ROW("tril_indices", tril_indices, NULL, 0, 0),
    CPU_ROW("triu_indices", triu_indices, NULL, 0, 0),
};
const cpu_kernel_table cpu_factory_table = CPU_TABLE(rows);
