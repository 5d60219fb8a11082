/* The tile functions for int64, as plain loops: what convolutions of integers run on. */
#include "gemm.h"

static void run(const cpu_product *p, int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
    const int64_t *a = p->a, *b = p->b, *s = p->s;
    int64_t *c = p->c;
    for (int64_t i = m0; i < m1; ++i)
        for (int64_t j = n0; j < n1; ++j) {
            int64_t sum = 0;
            const int64_t *column = b + j / p->panel * p->b_panel + j % p->panel;
            for (int64_t q = 0; q < p->k; ++q) sum += a[p->rows[i] + p->cols[q]] * column[q * p->b_row];
            sum *= (int64_t)p->alpha;
            if (p->beta != 0) sum += (int64_t)p->beta * s[i * p->s_row + j * p->s_col];
            c[i * p->c_row + j * p->c_col] = sum;
        }
}

static void pack(void *out_, const void *b_, int64_t row, int64_t col, int64_t k, int64_t n0, int64_t n1,
                 int64_t panel) {
    int64_t *out = out_;
    const int64_t *b = b_;
    for (int64_t j = n0; j < n1; ++j)
        for (int64_t p = 0; p < k; ++p)
            out[(j - n0) / panel * panel * k + p * panel + j % panel] = b[p * row + j * col];
}

static void transpose(void *out_, int64_t out_row, const void *in_, int64_t in_row, int64_t n, int64_t k) {
    int64_t *out = out_;
    const int64_t *in = in_;
    for (int64_t p = 0; p < k; ++p)
        for (int64_t j = 0; j < n; ++j) out[p * out_row + j] = in[j * in_row + p];
}

const cpu_gemm_type cpu_gemm_int64 = {.vector = 1, .strip = 1, .run = run, .pack = pack, .transpose = transpose};
