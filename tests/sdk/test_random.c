/* wick/sdk/random.h: the numbers of the CPU plugin, element for element. */
#include "sdk_test.h"

#include <wick/sdk/element.h>
#include <wick/sdk/random.h>

enum { N = 4099 }; /* several blocks, and a last group that is not full */
static const wick_philox philox = {UINT64_C(0x123456789abcdef), UINT64_C(0xfffffffe)}; /* the counter passes 2^32 */

typedef struct drawing {
    const char *name;
    void (*draw)(wick_context *c, wick_tensor *t);                                    /* as the operator does */
    void (*store)(const wick_philox *philox, wick_dtype dtype, uint64_t i, void *to); /* as the header says */
    bool rounds; /* goes through functions of libm */
} drawing;

static void draw_uniform(wick_context *c, wick_tensor *t) {
    wick_uniform__options o = WICK_UNIFORM__OPTIONS_INIT;
    o.from = -1.5, o.to = 2.25;
    wick_uniform_(c, t, &o);
}
static void store_uniform(const wick_philox *p, wick_dtype dtype, uint64_t i, void *to) {
    wick_store_f64(dtype, wick_random_uniform(p, dtype, i, -1.5, 2.25), to);
}

static void draw_normal(wick_context *c, wick_tensor *t) {
    wick_normal__options o = WICK_NORMAL__OPTIONS_INIT;
    o.mean = 0.5, o.std = 2;
    wick_normal_(c, t, &o);
}
static void store_normal(const wick_philox *p, wick_dtype dtype, uint64_t i, void *to) {
    wick_store_f64(dtype, wick_random_normal(p, dtype, i, 0.5, 2), to);
}

static void draw_exponential(wick_context *c, wick_tensor *t) {
    wick_exponential__options o = WICK_EXPONENTIAL__OPTIONS_INIT;
    o.lambd = 1.5;
    wick_exponential_(c, t, &o);
}
static void store_exponential(const wick_philox *p, wick_dtype dtype, uint64_t i, void *to) {
    wick_store_f64(dtype, wick_random_exponential(p, dtype, i, 1.5), to);
}

static void draw_bernoulli(wick_context *c, wick_tensor *t) {
    wick_bernoulli__options o = WICK_BERNOULLI__OPTIONS_INIT;
    o.p = 0.3;
    wick_bernoulli_(c, t, &o);
}
static void store_bernoulli(const wick_philox *p, wick_dtype dtype, uint64_t i, void *to) {
    wick_store_i64(dtype, wick_random_bernoulli(p, dtype, i, 0.3), to);
}

static void draw_small(wick_context *c, wick_tensor *t) { wick_random_to_(c, t, 100); }
static void store_small(const wick_philox *p, wick_dtype dtype, uint64_t i, void *to) {
    wick_store_i64(dtype, wick_random_integer(p, i, 0, 100), to);
}

#define LOW (-INT64_C(5000000000))
#define HIGH INT64_C(7000000000)
static void draw_wide(wick_context *c, wick_tensor *t) { wick_random_from_(c, t, LOW, (const int64_t[]){HIGH}); }
static void store_wide(const wick_philox *p, wick_dtype dtype, uint64_t i, void *to) {
    wick_store_i64(dtype, wick_random_integer(p, i, LOW, (uint64_t)(HIGH - LOW)), to);
}

/* The whole range, and more than half of it. */
static void draw_all(wick_context *c, wick_tensor *t) { wick_random_from_(c, t, INT64_MIN, NULL); }
static void store_all(const wick_philox *p, wick_dtype dtype, uint64_t i, void *to) {
    wick_store_i64(dtype, wick_random_integer(p, i, INT64_MIN, 0), to);
}
static void draw_most(wick_context *c, wick_tensor *t) { wick_random_from_(c, t, -HIGH, (const int64_t[]){INT64_MAX}); }
static void store_most(const wick_philox *p, wick_dtype dtype, uint64_t i, void *to) {
    wick_store_i64(dtype, wick_random_integer(p, i, -HIGH, (uint64_t)INT64_MAX + HIGH), to);
}

static bool is_near(wick_dtype dtype, const void *got, const void *wanted) {
    const double tolerance = dtype == WICK_F64 ? 1e-14 : dtype == WICK_F32 ? 2e-7 : dtype == WICK_F16 ? 1e-3 : 1e-2;
    const double value = wick_load_f64(dtype, wanted);
    return fabs(wick_load_f64(dtype, got) - value) <= tolerance * (1 + fabs(value));
}

static void check(fixture *f, const drawing *d, wick_dtype dtype) {
    static unsigned char want[N * 8], one[8];
    const size_t bytes = wick_dtype_bytes(dtype);
    const wick_dim sizes[] = {N};
    wick_scope scope = wick_scope_open(f->c);
    wick_empty_options o = WICK_EMPTY_OPTIONS_INIT;
    o.dtype = dtype;
    wick_tensor *t = wick_empty(f->c, sizes, 1, &o);
    wick_rng_set(f->c, philox.seed, philox.offset);
    d->draw(f->c, t);
    expect_good(f->c);
    expect_ok(wick_tensor_to_host(f->c, t, want, N * bytes));
    wick_scope_close(f->c, scope);
    for (int i = 0; i < N; ++i) {
        d->store(&philox, dtype, (uint64_t)i, one);
        const unsigned char *wanted = want + (size_t)i * bytes;
        if (!(d->rounds ? is_near(dtype, one, wanted) : memcmp(one, wanted, bytes) == 0))
            fail_msg("%s of %s: element %d is %.17g, the CPU's is %.17g", d->name, wick_element_name(dtype), i,
                     wick_load_f64(dtype, one), wick_load_f64(dtype, wanted));
    }
}

static void test_distributions(void **state) {
    static const drawing drawings[] = {
        {"uniform_", draw_uniform, store_uniform, false},
        {"normal_", draw_normal, store_normal, true},
        {"exponential_", draw_exponential, store_exponential, true},
        {"bernoulli_", draw_bernoulli, store_bernoulli, false},
    };
    static const wick_dtype dtypes[] = {WICK_F16, WICK_BF16, WICK_F32, WICK_F64};
    fixture f;
    open_fixture(&f, "[plugin.cpu]\n");
    for (size_t i = 0; i < COUNT(drawings); ++i)
        for (size_t k = 0; k < COUNT(dtypes); ++k) check(&f, &drawings[i], dtypes[k]);
    close_fixture(&f);
}

static void test_integers(void **state) {
    static const drawing bernoulli = {"bernoulli_", draw_bernoulli, store_bernoulli, false};
    static const drawing small = {"random_.to", draw_small, store_small, false};
    static const drawing wide = {"random_.from", draw_wide, store_wide, false};
    static const drawing all = {"random_.from, all", draw_all, store_all, false};
    static const drawing most = {"random_.from, most", draw_most, store_most, false};
    fixture f;
    open_fixture(&f, "[plugin.cpu]\n");
    for (wick_dtype dtype = WICK_U8; dtype <= WICK_I64; ++dtype) check(&f, &small, dtype);
    check(&f, &small, WICK_F32);
    check(&f, &wide, WICK_I64);
    check(&f, &all, WICK_I64);
    check(&f, &most, WICK_I64);
    check(&f, &bernoulli, WICK_BOOL);
    check(&f, &bernoulli, WICK_I32);
    close_fixture(&f);
}

static void test_names(void **state) {
    for (unsigned dtype = 0; dtype < 256; ++dtype)
        assert_string_equal(wick_element_name(dtype), wick_dtype_name((wick_dtype)dtype));
}

/* ---- arguments of kernels ---- */
static void test_arguments(void **state) {
    const int64_t pair[] = {3, 5};
    const wick_value none = wick_value_none(), last = wick_value_int(-1), first = wick_value_int(0);
    const wick_value empty = wick_value_ints(pair, 0), one = wick_value_ints(pair, 1), two = wick_value_ints(pair, 2);
    assert_int_equal(wick_dim_of(&last, 3), 2);
    assert_int_equal(wick_dim_of(&first, 3), 0);
    assert_int_equal(wick_dim_of(&last, 0), 0);
    assert_int_equal(wick_int_at(&two, 1, 9), 5);
    assert_int_equal(wick_int_at(&one, 1, 9), 3);
    assert_int_equal(wick_int_at(&last, 1, 9), -1);
    assert_int_equal(wick_int_at(&empty, 0, 9), 9);
    assert_int_equal(wick_int_at(&none, 1, 9), 9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
