/* wick/sdk/element.h: against the definition of each float format, and against the conversions of the CPU plugin. */
#include "sdk_test.h"

#include <wick/sdk/element.h>

/* ---- small floats: every one of them ---- */
typedef struct format {
    wick_dtype dtype;
    int exponent, mantissa;
    bool finite_top; /* the highest exponent holds numbers; NaN is all ones */
} format;

static const format formats[] = {
    {WICK_F16, 5, 10, false}, {WICK_BF16, 8, 7, false}, {WICK_F8E4M3FN, 4, 3, true}, {WICK_F8E5M2, 5, 2, false}};

static double value_of(const format *f, unsigned bits) {
    const unsigned top = (1u << f->exponent) - 1, fraction = bits & ((1u << f->mantissa) - 1);
    const unsigned e = bits >> f->mantissa & top;
    const int bias = (1 << (f->exponent - 1)) - 1;
    const double sign = bits >> (f->exponent + f->mantissa) & 1 ? -1 : 1;
    if (f->finite_top && e == top && fraction == (1u << f->mantissa) - 1) return NAN;
    if (!f->finite_top && e == top) return fraction ? NAN : sign * INFINITY;
    if (!e) return sign * ldexp(fraction, 1 - bias - f->mantissa);
    return sign * ldexp((double)(fraction | 1u << f->mantissa), (int)e - bias - f->mantissa);
}

static unsigned stored(const format *f, double x) {
    uint16_t wide = 0;
    uint8_t narrow = 0;
    if (wick_dtype_bytes(f->dtype) == 2)
        wick_store_f64(f->dtype, x, &wide);
    else
        wick_store_f64(f->dtype, x, &narrow);
    return wick_dtype_bytes(f->dtype) == 2 ? wide : narrow;
}

static double loaded(const format *f, unsigned bits) {
    const uint16_t wide = (uint16_t)bits;
    const uint8_t narrow = (uint8_t)bits;
    return wick_load_f64(f->dtype, wick_dtype_bytes(f->dtype) == 2 ? (const void *)&wide : (const void *)&narrow);
}

static void check_format(const format *f) {
    const unsigned count = 1u << (1 + f->exponent + f->mantissa);
    for (unsigned bits = 0; bits < count; ++bits) {
        const double x = value_of(f, bits);
        if (isnan(x)) {
            assert_true(isnan(loaded(f, bits)));
            assert_true(isnan(loaded(f, stored(f, x))));
            continue;
        }
        assert_true(loaded(f, bits) == x);
        assert_int_equal(stored(f, x), bits);
        const double next = value_of(f, bits + 1);
        if (bits + 1 >= count / 2 || !isfinite(next)) continue; /* neighbours above zero */
        const double middle = (x + next) / 2;
        assert_int_equal(stored(f, middle), bits & 1 ? bits + 1 : bits); /* ties go to even */
        assert_int_equal(stored(f, nextafterf((float)middle, 0)), bits);
        assert_int_equal(stored(f, nextafterf((float)middle, INFINITY)), bits + 1);
    }
}

static void test_small_floats(void **state) {
    for (size_t i = 0; i < COUNT(formats); ++i) check_format(&formats[i]);
    assert_int_equal(wick_f16_of_f32(65520), 0x7c00); /* rounds to infinity */
    assert_int_equal(wick_f16_of_f32(65519), 0x7bff);
    assert_int_equal(wick_f8e4m3fn_of_f32(464), 0x7e);   /* 448, the largest */
    assert_int_equal(wick_f8e4m3fn_of_f32(-1e6f), 0xff); /* no infinity: NaN */
}

/* ---- numbers beyond what a type holds ---- */
static void test_integers(void **state) {
    uint8_t u8;
    int8_t i8;
    int32_t i32;
    uint64_t u64 = UINT64_MAX;
    wick_store_f64(WICK_U8, -1.9, &u8);
    assert_int_equal(u8, 255);
    wick_store_f64(WICK_I8, 300.7, &i8);
    assert_int_equal(i8, 44);
    wick_store_i64(WICK_I32, INT64_C(0x1ffffffff), &i32);
    assert_int_equal(i32, -1);
    assert_true(wick_load_f64(WICK_U64, &u64) == 0x1p64);
    assert_true(wick_load_i64(WICK_U64, &u64) == -1);
    wick_store_f64(WICK_U64, 0x1.8p63, &u64);
    assert_true(u64 == UINT64_C(3) << 62);
    assert_true(wick_i64_of_f64(NAN) == INT64_MIN && wick_i64_of_f64(1e300) == INT64_MIN);
    assert_true(wick_i64_of_f64(-0x1p63) == INT64_MIN && wick_i32_of_f64(-2147483648.9) == INT32_MIN);
    assert_int_equal(wick_i32_of_f64(-2147483647.5), -2147483647);
}

/* ---- all pairs of dtypes against the CPU plugin ---- */
static const double samples[] = {0, 1, 2, 3.75, 100, 127, 0.5, 0.001, 17.25, 1e-7, 96, 33.3, 0.99609375, 1e-3, 5, 64};
static const double negatives[] = {-1, -2.5, -100, -0.125};

static void expect_same(wick_dtype from, wick_dtype to, const unsigned char *got, const unsigned char *want, int n) {
    const size_t bytes = wick_dtype_bytes(to);
    for (int i = 0; i < n; ++i)
        if (memcmp(got + (size_t)i * bytes, want + (size_t)i * bytes, bytes) != 0)
            fail_msg("%s -> %s: element %d is %g, wanted %g", wick_dtype_name(from), wick_dtype_name(to), i,
                     wick_load_f64(to, got + (size_t)i * bytes), wick_load_f64(to, want + (size_t)i * bytes));
}

static void check_pair(fixture *f, wick_dtype from, wick_dtype to) {
    unsigned char source[32 * 16 * 2] = {0}, got[32 * 16] = {0}, want[32 * 16] = {0}, packed[32 * 16] = {0};
    const bool is_signed = wick_dtype_is_differentiable(from) || (from >= WICK_I8 && from <= WICK_I64);
    const int64_t bytes = (int64_t)wick_dtype_bytes(from), out = (int64_t)wick_dtype_bytes(to);
    int n = 0;
    for (size_t i = 0; i < COUNT(samples); ++i) wick_store_f64(from, samples[i], source + 2 * bytes * n++);
    for (size_t i = 0; is_signed && i < COUNT(negatives); ++i)
        wick_store_c128(from, (wick_complex128){negatives[i], 0.5}, source + 2 * bytes * n++);
    wick_convert_row(from, source, 2 * bytes, to, got, out, n); /* every second element */
    wick_convert_row(from, source, 2 * bytes, from, packed, bytes, n);
    const wick_dim sizes[] = {n};
    wick_scope scope = wick_scope_open(f->c);
    wick_tensor *t = wick_tensor_from_host(f->c, packed, from, 1, sizes, f->host);
    t = wick_to_dtype(f->c, t, to, NULL);
    expect_good(f->c);
    expect_ok(wick_tensor_to_host(f->c, t, want, (size_t)(n * out)));
    wick_scope_close(f->c, scope);
    expect_same(from, to, got, want, n);
}

static void test_all_pairs(void **state) {
    fixture f;
    open_fixture(&f, "[plugin.cpu]\n");
    for (int from = WICK_BOOL; from < WICK_DTYPE_COUNT; ++from)
        for (int to = WICK_BOOL; to < WICK_DTYPE_COUNT; ++to) check_pair(&f, (wick_dtype)from, (wick_dtype)to);
    close_fixture(&f);
}

/* ---- rows ---- */
static void test_long_rows(void **state) {
    enum { N = 1000 };
    static int64_t source[N];
    static float forward[N], backward[N];
    for (int i = 0; i < N; ++i) source[i] = INT64_C(16777217) * i; /* rounds once, not twice */
    wick_convert_row(WICK_I64, source, 8, WICK_F32, forward, 4, N);
    wick_convert_row(WICK_I64, &source[N - 1], -8, WICK_F32, backward, 4, N);
    for (int i = 0; i < N; ++i) assert_true(forward[i] == (float)source[i] && backward[N - 1 - i] == forward[i]);
    wick_convert_row(WICK_I64, &source[3], 0, WICK_F32, forward, 4, N);
    for (int i = 0; i < N; ++i) assert_true(forward[i] == (float)source[3]);
}

static void test_complex(void **state) {
    const wick_complex128 z = {1.5, -2};
    float narrow[2];
    uint8_t truth;
    wick_store_c128(WICK_C64, z, narrow);
    assert_true(narrow[0] == 1.5f && narrow[1] == -2);
    const wick_complex128 again = wick_load_c128(WICK_C64, narrow);
    assert_true(again.re == 1.5 && again.im == -2);
    assert_true(wick_load_f64(WICK_C64, narrow) == 1.5);
    wick_store_c128(WICK_BOOL, (wick_complex128){0, 1}, &truth);
    assert_int_equal(truth, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_floats), cmocka_unit_test(test_integers), cmocka_unit_test(test_all_pairs),
        cmocka_unit_test(test_long_rows),    cmocka_unit_test(test_complex),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
