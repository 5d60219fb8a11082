/* Matrix products of integers (wrapping around, as PyTorch's do) and of complex numbers where no BLAS is at hand. */
#include <complex.h>

#include "gemm.h"

#define COLUMNS 64 /* of C at a time */

typedef struct loop_job {
    const cpu_gemm *g;
    void (*rows)(const cpu_gemm *g, int64_t begin, int64_t end);
} loop_job;

static const wick_value one = {.as = {.i = 1}, .tag = WICK_TAG_I64};

static double complex read_complex(const wick_value *v) {
    const double parts[2] = {wick_value_as_double(v), v->tag == WICK_TAG_C128 ? v->as.c[1] : 0};
    return parts[0] + parts[1] * I;
}

#define READ_INTEGER(T, v) ((T)wick_value_as_int(v))
#define READ_COMPLEX(T, v) ((T)read_complex(v))

/* Row i of C, COLUMNS at a time: the innermost loop runs along a row of B. */
#define DEFINE_ROWS(name, T, READ)                                                                     \
    static void name##_rows(const cpu_gemm *g, int64_t begin, int64_t end) {                           \
        const T alpha = READ(T, g->alpha ? g->alpha : &one), beta = READ(T, g->beta ? g->beta : &one); \
        for (int64_t i = begin; i < end; ++i)                                                          \
            for (int64_t j0 = 0; j0 < g->n; j0 += COLUMNS) {                                           \
                const int64_t n = g->n - j0 < COLUMNS ? g->n - j0 : COLUMNS;                           \
                T sum[COLUMNS] = {0};                                                                  \
                for (int64_t p = 0; p < g->k; ++p) {                                                   \
                    const T a = ((const T *)g->a.data)[i * g->a.row + p * g->a.col];                   \
                    const T *b = (const T *)g->b.data + p * g->b.row + j0 * g->b.col;                  \
                    for (int64_t j = 0; j < n; ++j) sum[j] += a * b[j * g->b.col];                     \
                }                                                                                      \
                T *c = (T *)g->c.data + i * g->c.row + j0 * g->c.col;                                  \
                const T *s = beta != 0 ? (const T *)g->s.data + i * g->s.row + j0 * g->s.col : NULL;   \
                for (int64_t j = 0; j < n; ++j)                                                        \
                    c[j * g->c.col] = s ? alpha * sum[j] + beta * s[j * g->s.col] : alpha * sum[j];    \
            }                                                                                          \
    }
DEFINE_ROWS(int8, uint8_t, READ_INTEGER)
DEFINE_ROWS(int16, uint16_t, READ_INTEGER)
DEFINE_ROWS(int32, uint32_t, READ_INTEGER)
DEFINE_ROWS(int64, uint64_t, READ_INTEGER)
DEFINE_ROWS(c64, float complex, READ_COMPLEX)
DEFINE_ROWS(c128, double complex, READ_COMPLEX)

/* Only addr takes bool: * is and, + is or. */
static void bool_rows(const cpu_gemm *g, int64_t begin, int64_t end) {
    const bool alpha = !g->alpha || wick_value_as_double(g->alpha) != 0,
               beta = !g->beta || wick_value_as_double(g->beta) != 0;
    for (int64_t i = begin; i < end; ++i)
        for (int64_t j = 0; j < g->n; ++j) {
            bool sum = false;
            for (int64_t p = 0; p < g->k; ++p)
                sum |= ((const bool *)g->a.data)[i * g->a.row + p * g->a.col] &
                       ((const bool *)g->b.data)[p * g->b.row + j * g->b.col];
            const bool s = beta && ((const bool *)g->s.data)[i * g->s.row + j * g->s.col];
            ((bool *)g->c.data)[i * g->c.row + j * g->c.col] = (alpha && sum) || s;
        }
}

static void run_rows(void *user, int64_t begin, int64_t end, int worker) {
    const loop_job *job = user;
    job->rows(job->g, begin, end);
}

void cpu_gemm_loops(cpu_instance *cpu, const cpu_gemm *g) {
    static void (*const table[WICK_DTYPE_COUNT])(const cpu_gemm *, int64_t, int64_t) = {
        [WICK_U8] = int8_rows,   [WICK_I8] = int8_rows,   [WICK_U16] = int16_rows, [WICK_I16] = int16_rows,
        [WICK_U32] = int32_rows, [WICK_I32] = int32_rows, [WICK_U64] = int64_rows, [WICK_I64] = int64_rows,
        [WICK_C64] = c64_rows,   [WICK_C128] = c128_rows, [WICK_BOOL] = bool_rows,
    };
    loop_job job = {g, table[g->dtype]};
    cpu_parallel_for(cpu, g->m, 1 + CPU_GRAIN / (g->n * g->k + 1), run_rows, &job);
}
