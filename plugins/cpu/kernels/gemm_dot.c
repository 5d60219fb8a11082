/* dot and vdot. */
#include <complex.h>

#include "gemm.h"
#include "widen.h"

/* Long sums are cut into parts of this length, added up in f64. */
#define PART 16384

typedef struct dot_args {
    const wick_tensor *x, *y, *out;
    bool conjugate;
} dot_args;

static double real_dot(const cpu_gemm_type *type, const dot_args *d) {
    const size_t bytes = wick_dtype_bytes(wick_tensor_dtype(d->x));
    const char *x = wick_data(d->x), *y = wick_data(d->y);
    const int64_t dx = d->x->strides[0], dy = d->y->strides[0], n = d->x->numel;
    double sum = 0;
    for (int64_t i = 0; i < n; i += PART)
        sum +=
            type->dot(x + (size_t)(i * dx) * bytes, dx, y + (size_t)(i * dy) * bytes, dy, n - i < PART ? n - i : PART);
    return sum;
}

#define DEFINE_DOT(name, T, Sum, CONJUGATE)                                   \
    static void dot_##name(const dot_args *d) {                               \
        const T *x = wick_data(d->x), *y = wick_data(d->y);                   \
        Sum sum = 0;                                                          \
        for (int64_t i = 0; i < d->x->numel; ++i) {                           \
            const T a = x[i * d->x->strides[0]], b = y[i * d->y->strides[0]]; \
            sum += (Sum)(d->conjugate ? CONJUGATE(a) : a) * (Sum)b;           \
        }                                                                     \
        *(T *)wick_data(d->out) = (T)sum;                                     \
    }
#define SAME(x) (x)
DEFINE_DOT(8, uint8_t, uint8_t, SAME)
DEFINE_DOT(16, uint16_t, uint32_t, SAME)
DEFINE_DOT(32, uint32_t, uint32_t, SAME)
DEFINE_DOT(64, uint64_t, uint64_t, SAME)
DEFINE_DOT(c64, float complex, double complex, conj)
DEFINE_DOT(c128, double complex, double complex, conj)

static void (*const dot_table[WICK_DTYPE_COUNT])(const dot_args *) = {
    [WICK_U8] = dot_8,   [WICK_I8] = dot_8,    [WICK_I16] = dot_16,    [WICK_I32] = dot_32,
    [WICK_I64] = dot_64, [WICK_C64] = dot_c64, [WICK_C128] = dot_c128,
};

static wick_status *dot(const wick_kernel_call *call) {
    const dot_args d = {wick_arg_tensor(call, 0), wick_arg_tensor(call, 1), wick_out_tensor(call, 0),
                        call->data != NULL};
    const wick_dtype dtype = wick_tensor_dtype(d.out);
    if (dtype == WICK_F16 || dtype == WICK_BF16) return cpu_call_widened(call, dot);
    if (dtype == WICK_F32)
        *(float *)wick_data(d.out) = (float)real_dot(cpu_gemm_type_of(cpu_of(call), dtype), &d);
    else if (dtype == WICK_F64)
        *(double *)wick_data(d.out) = real_dot(cpu_gemm_type_of(cpu_of(call), dtype), &d);
    else
        dot_table[dtype](&d);
    return NULL;
}

#define DTYPES (WICK_DTYPES_FLOAT | WICK_DTYPES_INT | WICK_DTYPES_COMPLEX)

static const wick_kernel_row rows[] = {
    CPU_ROW("dot", dot, NULL, DTYPES, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("vdot", dot, "conjugate", DTYPES, WICK_KERNEL_DETERMINISTIC),
};
const cpu_kernel_table cpu_gemm_dot_table = CPU_TABLE(rows);
