#include "upsample_taps.h"

#include <complex.h>
#include <math.h>
#include <string.h>

typedef struct taps_job {
    const taps *t;
    size_t bytes;
    const void *from;
    void *to;
} taps_job;

static int64_t in_plane(const taps *t) { return t->in[0] * t->in[1] * t->in[2]; }
static int64_t out_plane(const taps *t) { return t->out[0] * t->out[1] * t->out[2]; }

void taps_sizes(taps *t, const wick_tensor *in, const wick_tensor *out, int ndim) {
    t->planes = 1;
    for (int d = 0; d < in->ndim - ndim; ++d) t->planes *= in->sizes[d];
    for (int d = 0; d < 3; ++d) {
        const bool missing = d < 3 - ndim;
        t->in[d] = missing ? 1 : in->sizes[in->ndim - 3 + d];
        t->out[d] = missing ? 1 : out->sizes[out->ndim - 3 + d];
        t->count[d] = 1;
    }
}

wick_status *taps_allocate(const wick_kernel_call *call, taps *t, size_t weight_bytes) {
    size_t entries = 0;
    for (int d = 0; d < 3; ++d) entries += (size_t)(t->out[d] * t->count[d]);
    void *memory;
    WICK_TRY(cpu_scratch(call, entries * (sizeof(int64_t) + weight_bytes), &memory));
    int64_t *index = memory;
    char *weight = (char *)(index + entries);
    for (int d = 0; d < 3; ++d) {
        const size_t n = (size_t)(t->out[d] * t->count[d]);
        t->index[d] = index, index += n;
        t->weight[d] = weight_bytes ? weight : NULL, weight += n * weight_bytes;
    }
    return NULL;
}

/* ---- copies ---- */
/* Element types by size; what they hold does not matter. */
typedef struct bytes16 {
    uint64_t part[2];
} bytes16;

#define DEFINE_COPY(name, T)                                                                         \
    static void copy_##name(void *user, int64_t begin, int64_t end, int worker) {                    \
        const taps_job *job = user;                                                                  \
        const taps *t = job->t;                                                                      \
        T *y = (T *)job->to + begin * out_plane(t);                                                  \
        for (int64_t p = begin; p < end; ++p)                                                        \
            for (int64_t i = 0; i < t->out[0]; ++i)                                                  \
                for (int64_t j = 0; j < t->out[1]; ++j) {                                            \
                    const int64_t row = (p * t->in[0] + t->index[0][i]) * t->in[1] + t->index[1][j]; \
                    const T *x = (const T *)job->from + row * t->in[2];                              \
                    for (int64_t k = 0; k < t->out[2]; ++k) *y++ = x[t->index[2][k]];                \
                }                                                                                    \
    }
DEFINE_COPY(1, uint8_t)
DEFINE_COPY(2, uint16_t)
DEFINE_COPY(4, uint32_t)
DEFINE_COPY(8, uint64_t)
DEFINE_COPY(16, bytes16)

static void run(cpu_instance *cpu, const taps *t, cpu_range_fn fn, const void *from, void *to) {
    taps_job job = {.t = t, .from = from, .to = to};
    const int64_t work = in_plane(t) + out_plane(t) * t->count[0] * t->count[1] * t->count[2];
    cpu_parallel_for(cpu, t->planes, 1 + CPU_GRAIN / (work + 1), fn, &job);
}

void taps_copy(cpu_instance *cpu, const taps *t, size_t bytes, const void *x, void *y) {
    const cpu_range_fn table[17] = {[1] = copy_1, [2] = copy_2, [4] = copy_4, [8] = copy_8, [16] = copy_16};
    run(cpu, t, table[bytes], x, y);
}

/* ---- weighted sums ---- */
static inline uint8_t round_u8(float v) { return (uint8_t)(v <= 0 ? 0 : v >= 255 ? 255 : (int)floorf(v + 0.5f)); }
#define KEEP(v) (v)

/* One output row: for each pair of taps in the outer dimensions, a row of inputs combined by the innermost taps.
 * The sum of a block of outputs stays in `sum`. */
#define SUM_BLOCK 128
#define DEFINE_SUM(name, T, W, FINISH)                                                                                 \
    static void sum_row_##name(const taps *t, const T *x, int64_t i, int64_t j, T *y) {                                \
        const int64_t n2 = t->count[2];                                                                                \
        for (int64_t k0 = 0; k0 < t->out[2]; k0 += SUM_BLOCK) {                                                        \
            const int64_t n = t->out[2] - k0 < SUM_BLOCK ? t->out[2] - k0 : SUM_BLOCK;                                 \
            W sum[SUM_BLOCK] = {0};                                                                                    \
            for (int64_t a = i * t->count[0]; a < (i + 1) * t->count[0]; ++a)                                          \
                for (int64_t b = j * t->count[1]; b < (j + 1) * t->count[1]; ++b) {                                    \
                    const W w = ((const W *)t->weight[0])[a] * ((const W *)t->weight[1])[b];                           \
                    const T *row = x + (t->index[0][a] * t->in[1] + t->index[1][b]) * t->in[2];                        \
                    const int64_t *index = t->index[2] + k0 * n2;                                                      \
                    const W *weight = (const W *)t->weight[2] + k0 * n2;                                               \
                    for (int64_t k = 0; k < n; ++k)                                                                    \
                        for (int64_t c = 0; c < n2; ++c) sum[k] += w * weight[k * n2 + c] * (W)row[index[k * n2 + c]]; \
                }                                                                                                      \
            for (int64_t k = 0; k < n; ++k) y[k0 + k] = FINISH(sum[k]);                                                \
        }                                                                                                              \
    }                                                                                                                  \
    static void sum_##name(void *user, int64_t begin, int64_t end, int worker) {                                       \
        const taps_job *job = user;                                                                                    \
        const taps *t = job->t;                                                                                        \
        T *y = (T *)job->to + begin * out_plane(t);                                                                    \
        for (int64_t p = begin; p < end; ++p)                                                                          \
            for (int64_t i = 0; i < t->out[0]; ++i)                                                                    \
                for (int64_t j = 0; j < t->out[1]; ++j, y += t->out[2])                                                \
                    sum_row_##name(t, (const T *)job->from + p * in_plane(t), i, j, y);                                \
    }
DEFINE_SUM(f32, float, float, KEEP)
DEFINE_SUM(f64, double, double, KEEP)
DEFINE_SUM(u8, uint8_t, float, round_u8)

void taps_sum(cpu_instance *cpu, const taps *t, wick_dtype dtype, const void *x, void *y) {
    run(cpu, t, dtype == WICK_F32 ? sum_f32 : dtype == WICK_F64 ? sum_f64 : sum_u8, x, y);
}

/* ---- the backward ---- */
#define DEFINE_SCATTER(name, T, W)                                                                            \
    static void scatter_row_##name(const taps *t, const T *dy, int64_t i, int64_t j, T *dx) {                 \
        const int64_t n2 = t->count[2];                                                                       \
        const W *w0 = t->weight[0], *w1 = t->weight[1], *w2 = t->weight[2];                                   \
        for (int64_t a = i * t->count[0]; a < (i + 1) * t->count[0]; ++a)                                     \
            for (int64_t b = j * t->count[1]; b < (j + 1) * t->count[1]; ++b) {                               \
                T *row = dx + (t->index[0][a] * t->in[1] + t->index[1][b]) * t->in[2];                        \
                const W w = w0 ? w0[a] * w1[b] : 1;                                                           \
                for (int64_t k = 0; k < t->out[2]; ++k)                                                       \
                    for (int64_t c = 0; c < n2; ++c)                                                          \
                        row[t->index[2][k * n2 + c]] += w2 ? w * w2[k * n2 + c] * dy[k] : dy[k];              \
            }                                                                                                 \
    }                                                                                                         \
    static void scatter_##name(void *user, int64_t begin, int64_t end, int worker) {                          \
        const taps_job *job = user;                                                                           \
        const taps *t = job->t;                                                                               \
        const T *dy = (const T *)job->from + begin * out_plane(t);                                            \
        for (int64_t p = begin; p < end; ++p) {                                                               \
            T *dx = (T *)job->to + p * in_plane(t);                                                           \
            memset(dx, 0, (size_t)in_plane(t) * sizeof(T));                                                   \
            for (int64_t i = 0; i < t->out[0]; ++i)                                                           \
                for (int64_t j = 0; j < t->out[1]; ++j, dy += t->out[2]) scatter_row_##name(t, dy, i, j, dx); \
        }                                                                                                     \
    }
DEFINE_SCATTER(f32, float, float)
DEFINE_SCATTER(f64, double, double)
DEFINE_SCATTER(c64, float complex, float)
DEFINE_SCATTER(c128, double complex, double)
DEFINE_SCATTER(i64, int64_t, int64_t)

void taps_scatter(cpu_instance *cpu, const taps *t, wick_dtype dtype, const void *dy, void *dx) {
    const cpu_range_fn table[WICK_DTYPE_COUNT] = {[WICK_F32] = scatter_f32,
                                                  [WICK_F64] = scatter_f64,
                                                  [WICK_C64] = scatter_c64,
                                                  [WICK_C128] = scatter_c128,
                                                  [WICK_I64] = scatter_i64};
    run(cpu, t, table[dtype], dy, dx);
}
