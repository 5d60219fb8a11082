/* GPU kernels in the emulation, at both wave sizes: all names are there; elementwise kernels of every type, dense and
 * walked, agree with each other and with values computed here. */
#include <wick/sdk/plugin.h>

#include "gpu_test.h"

#include <math.h>

#include "../../plugins/gpu/device/args.h"

static emulation emulations[2];
static int emulation_count;

static int open_all(void **state) {
    for (int wave = 32; wave <= 64; wave += 32)
        emulation_count += open_emulation("gpu_emulated", wave, &emulations[emulation_count]);
    return 0;
}

#define EACH(e) for (emulation *e = emulations; e < emulations + emulation_count; ++e)

/* ---- names ---- */
static const char *const names[] = {
#define GPU_K(name) #name,
#include "../../plugins/gpu/device/kernels.inc"
};

static void test_every_kernel_is_there(void **state) {
    EACH(e) for (size_t i = 0; i < COUNT(names); ++i) {
        const gpu_emulated_kernel *kernel = find_kernel(e, names[i]);
        assert_in_range(kernel->args_bytes, 1, 4096);
        assert_in_range(kernel->max_threads, 32, 1024);
    }
}

/* ---- elementwise expressions ---- */
typedef enum operand { T, B, R, N } operand;

typedef struct expression {
    const char *name, *classes;
    int inputs, scalars;
    operand kinds[GPU_OPERANDS];
} expression;

#define WICK_POINTWISE_COMMON
static const expression expressions[] = {
#define MAP1(id, schema, ns, set, O, A, ...) {#id, #set, 1, ns, {O, A}},
#define MAP2(id, schema, ns, set, O, A, B, ...) {#id, #set, 2, ns, {O, A, B}},
#define MAP3(id, schema, ns, set, O, A, B, C, ...) {#id, #set, 3, ns, {O, A, B, C}},
#define PART1(id, ...) MAP1(id, "", __VA_ARGS__)
#define PART2(id, ...) MAP2(id, "", __VA_ARGS__)
#define PART3(id, ...) MAP3(id, "", __VA_ARGS__)
#include <wick/sdk/pointwise.inc>
};

/* A stored type: the dense kernel's suffix, and that of the walk that computes the same. */
typedef struct type {
    const char *dense, *walk;
    wick_dtype dtype;
    size_t bytes;
    char needs; /* of the expression's classes */
} type;
static const type types[] = {{"f32", "wf32", WICK_F32, 4, 'R'}, {"f64", "wf64", WICK_F64, 8, 'R'},
                             {"f16", "wf32", WICK_F16, 2, 'R'}, {"bf16", "wf32", WICK_BF16, 2, 'R'},
                             {"i32", "wi64", WICK_I32, 4, 'I'}, {"i64", "wi64", WICK_I64, 8, 'I'}};

static wick_dtype operand_dtype(operand k, const type *t) { return k == B ? WICK_BOOL : k == N ? WICK_I32 : t->dtype; }
static size_t operand_bytes(operand k, const type *t) { return k == B ? 1 : k == N ? 4 : t->bytes; }

static void store(void *p, wick_dtype dtype, double x) {
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    switch (dtype) {
    case WICK_BOOL: *(uint8_t *)p = x != 0; break;
    case WICK_I32: *(int32_t *)p = (int32_t)x; break;
    case WICK_I64: *(int64_t *)p = (int64_t)x; break;
    case WICK_F32: *(float *)p = f; break;
    case WICK_F64: *(double *)p = x; break;
    case WICK_BF16: *(uint16_t *)p = (uint16_t)(bits >> 16); break; /* exact for the values used */
    case WICK_F16:                                                  /* likewise, of normal numbers and 0 */
        *(uint16_t *)p =
            (uint16_t)(x == 0 ? 0 : (bits >> 16 & 0x8000) | (((bits >> 23 & 255) - 112) << 10) | (bits >> 13 & 1023));
        break;
    default: fail();
    }
}

static double value_at(const type *t, int64_t i) {
    int64_t step = i * 7 % 23 - 9;
    return t->needs == 'I' ? (double)(step % 5) : (double)step * 0.25;
}

/* Buffers of exactly the size, so that the address sanitizer sees what is read or written beside them. */
typedef struct buffers {
    void *data[GPU_OPERANDS], *walked;
    size_t out_bytes;
} buffers;

static void fill(buffers *b, const expression *x, const type *t, int64_t n) {
    memset(b, 0, sizeof *b);
    b->out_bytes = (size_t)n * operand_bytes(x->kinds[0], t);
    b->walked = malloc(b->out_bytes);
    for (int k = 0; k <= x->inputs; ++k) {
        size_t bytes = operand_bytes(x->kinds[k], t);
        b->data[k] = malloc((size_t)n * bytes);
        for (int64_t i = 0; k && i < n; ++i)
            store((char *)b->data[k] + (size_t)i * bytes, operand_dtype(x->kinds[k], t), value_at(t, i + 3 * k));
    }
}

static void empty(buffers *b) {
    for (int k = 0; k < GPU_OPERANDS; ++k) free(b->data[k]);
    free(b->walked);
}

static const double real_scalars[GPU_SCALARS] = {0.5, 2, -0.25, 1.5};
static const int64_t whole_scalars[GPU_SCALARS] = {2, 3, -1, 1};

static void set_scalars(double *s, int64_t *si, const type *t) {
    for (int i = 0; i < GPU_SCALARS; ++i) {
        si[i] = whole_scalars[i];
        s[i] = t->needs == 'I' ? (double)whole_scalars[i] : real_scalars[i];
    }
}

static void run_dense(const emulation *e, const expression *x, const type *t, const buffers *b, int64_t n) {
    char name[96];
    gpu_dense_args args = {.out = b->data[0], .n = n};
    for (int k = 0; k < x->inputs; ++k) args.in[k] = b->data[k + 1];
    set_scalars(args.s, args.si, t);
    snprintf(name, sizeof name, "pw_%s_%s", x->name, t->dense);
    memset(b->data[0], 0xaa, b->out_bytes);
    launch(e, name, 2, 256, 0, &args);
}

/* What host/walk.c does. */
static gpu_divider divider(uint32_t d) {
    uint32_t shift = 0;
    while (shift < 32 && (UINT64_C(1) << shift) < d) ++shift;
    return (gpu_divider){d, (uint32_t)(((UINT64_C(1) << 32) * ((UINT64_C(1) << shift) - d)) / d + 1), shift};
}

static void run_walk(const emulation *e, const expression *x, const type *t, const buffers *b, int64_t n) {
    char name[96];
    gpu_walk_args args = {.n = (uint32_t)n, .walk.ndim = 1, .walk.sizes[0] = divider((uint32_t)n)};
    for (int k = 0; k <= x->inputs; ++k) {
        args.data[k] = k ? b->data[k] : b->walked;
        args.dtypes[k] = operand_dtype(x->kinds[k], t);
        args.walk.strides[k][0] = (int64_t)operand_bytes(x->kinds[k], t);
    }
    set_scalars(args.s, args.si, t);
    snprintf(name, sizeof name, "pw_%s_%s", x->name, t->walk);
    memset(b->walked, 0x55, b->out_bytes);
    launch(e, name, 3, 128, 0, &args);
}

static bool has_class(const expression *x, const type *t) {
    return strchr(x->classes, t->needs) || (t->needs == 'I' && strchr(x->classes, 'I'));
}

/* The two kinds of kernels reach the same bits by different ways. NaNs of 16-bit types may differ in their payload. */
static bool same_element(const void *a, const void *b, operand k, const type *t) {
    if (!memcmp(a, b, operand_bytes(k, t))) return true;
    if (k == T && t->dtype == WICK_F32) return isnan(*(const float *)a) && isnan(*(const float *)b);
    if (k == T && t->dtype == WICK_F64) return isnan(*(const double *)a) && isnan(*(const double *)b);
    if (operand_bytes(k, t) != 2) return false;
    uint16_t infinity = t->dtype == WICK_F16 ? 0x7c00 : 0x7f80;
    return (*(const uint16_t *)a & 0x7fff) > infinity && (*(const uint16_t *)b & 0x7fff) > infinity;
}

static void compare(const emulation *e, const expression *x, const type *t, int64_t n) {
    buffers b;
    fill(&b, x, t, n);
    run_dense(e, x, t, &b, n);
    run_walk(e, x, t, &b, n);
    size_t bytes = operand_bytes(x->kinds[0], t);
    for (size_t i = 0; i < (size_t)n; ++i)
        if (!same_element((char *)b.data[0] + i * bytes, (char *)b.walked + i * bytes, x->kinds[0], t))
            fail_msg("%s %s: dense and walk differ at %zu of %lld, waves of %d", x->name, t->dense, i, (long long)n,
                     e->wave);
    empty(&b);
}

static void test_dense_and_walk_agree(void **state) {
    static const int64_t sizes[] = {1, 6, 97};
    EACH(e)
    for (size_t i = 0; i < COUNT(expressions); ++i)
        for (size_t k = 0; k < COUNT(types); ++k)
            for (size_t j = 0; j < COUNT(sizes) && has_class(&expressions[i], &types[k]); ++j)
                compare(e, &expressions[i], &types[k], sizes[j]);
}

/* ---- values ---- */
typedef struct expected {
    const char *name;
    double (*of)(double a, double b, double c, const double *s);
} expected;
#define VALUE(name, expression) \
    static double value_##name(double a, double b, double c, const double *s) { return expression; }
VALUE(add, a + s[0] * b)
VALUE(mul, a *b)
VALUE(neg, -a)
VALUE(abs, fabs(a))
VALUE(square, a *a)
VALUE(maximum, a > b ? a : b)
VALUE(where, a ? b : c)
VALUE(div, a / b)
VALUE(exp, exp(a))
VALUE(sigmoid, 1 / (1 + exp(-a)))
VALUE(tanh, tanh(a))
VALUE(gelu_erf, 0.5 * a * (1 + erf(a * 0.70710678118654752)))
VALUE(addcmul, a + s[0] * b * c)
#define ROW(name) \
    { #name, value_##name }
static const expected values[] = {ROW(add), ROW(mul),     ROW(neg),  ROW(abs),      ROW(maximum), ROW(where), ROW(div),
                                  ROW(exp), ROW(sigmoid), ROW(tanh), ROW(gelu_erf), ROW(addcmul), ROW(square)};

static const expression *expression_named(const char *name) {
    for (size_t i = 0; i < COUNT(expressions); ++i)
        if (!strcmp(expressions[i].name, name)) return &expressions[i];
    fail_msg("no expression %s", name);
    return NULL;
}

static double load(const void *p, wick_dtype dtype) {
    float f;
    uint32_t bits;
    switch (dtype) {
    case WICK_BOOL: return *(const uint8_t *)p;
    case WICK_I32: return *(const int32_t *)p;
    case WICK_I64: return (double)*(const int64_t *)p;
    case WICK_F32: return *(const float *)p;
    case WICK_F64: return *(const double *)p;
    case WICK_BF16: bits = (uint32_t) * (const uint16_t *)p << 16; break;
    case WICK_F16: /* normal numbers, infinities and 0 */
        bits = *(const uint16_t *)p;
        if (!(bits & 0x7fff)) return 0;
        if ((bits & 0x7c00) == 0x7c00) return bits & 0x3ff ? NAN : bits & 0x8000 ? -INFINITY : INFINITY;
        if (!(bits & 0x7c00)) return ldexp(bits & 0x3ff, -24) * (bits & 0x8000 ? -1 : 1);
        bits = (bits & 0x8000) << 16 | ((bits >> 10 & 31) + 112) << 23 | (bits & 0x3ff) << 13;
        break;
    default: fail(); return 0;
    }
    memcpy(&f, &bits, sizeof f);
    return f;
}

static double tolerance(wick_dtype dtype) {
    return dtype == WICK_BF16 ? 0x1p-8 : dtype == WICK_F16 ? 0x1p-10 : dtype == WICK_F64 ? 1e-14 : 1e-6;
}

static double input_at(const buffers *b, const expression *x, const type *t, int k, size_t i) {
    if (k > x->inputs) return 0;
    return load((char *)b->data[k] + i * operand_bytes(x->kinds[k], t), operand_dtype(x->kinds[k], t));
}

static void check_values(const emulation *e, const expected *want, const expression *x, const type *t, int64_t n) {
    buffers b;
    double s[GPU_SCALARS];
    int64_t si[GPU_SCALARS];
    set_scalars(s, si, t);
    fill(&b, x, t, n);
    run_dense(e, x, t, &b, n);
    for (size_t i = 0; i < (size_t)n; ++i) {
        double w = want->of(input_at(&b, x, t, 1, i), input_at(&b, x, t, 2, i), input_at(&b, x, t, 3, i), s);
        double got = input_at(&b, x, t, 0, i);
        bool close = w == got || fabs(w - got) <= tolerance(t->dtype) * fabs(w) + 1e-7 || (isnan(w) && isnan(got));
        if (!close) fail_msg("%s %s [%zu]: got %g, wanted %g", x->name, t->dense, i, got, w);
    }
    empty(&b);
}

static void test_values(void **state) {
    EACH(e) for (size_t i = 0; i < COUNT(values); ++i) {
        const expression *x = expression_named(values[i].name);
        for (size_t k = 0; k < COUNT(types); ++k)
            if (has_class(x, &types[k])) check_values(e, &values[i], x, &types[k], 1027);
    }
}

/* ---- strides, broadcasts and casts in one walk: out (f32, transposed) = i16 matrix + s0 * bool row ---- */
static void test_strided_walk(void **state) {
    enum { ROWS = 37, COLUMNS = 11 };
    int16_t a[ROWS * COLUMNS];
    uint8_t row[COLUMNS];
    float out[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; ++i) a[i] = (int16_t)(5 * i - 300);
    for (int i = 0; i < COLUMNS; ++i) row[i] = i % 3 == 0;
    gpu_walk_args args = {.data = {out, a, row},
                          .dtypes = {WICK_F32, WICK_I16, WICK_BOOL},
                          .n = ROWS * COLUMNS,
                          .s = {0.5},
                          .walk = {.ndim = 2, .sizes = {divider(COLUMNS), divider(ROWS)}}};
    const int64_t strides[3][2] = {{ROWS * 4, 4}, {2, COLUMNS * 2}, {1, 0}};
    for (int k = 0; k < 3; ++k) memcpy(args.walk.strides[k], strides[k], sizeof strides[k]);
    EACH(e) {
        memset(out, 0, sizeof out);
        launch(e, "pw_add_wf32", 2, 64, 0, &args);
        for (int r = 0; r < ROWS; ++r)
            for (int c = 0; c < COLUMNS; ++c)
                assert_true(out[c * ROWS + r] == (float)a[r * COLUMNS + c] + 0.5f * (float)row[c]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kernel_is_there),
        cmocka_unit_test(test_dense_and_walk_agree),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_strided_walk),
    };
    return cmocka_run_group_tests(tests, open_all, NULL);
}
