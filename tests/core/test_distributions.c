/* Distributions: moments, limits, and that neither threads nor the device change the numbers. */
#include "plug.h"

enum { MANY = 40000 };

static wick_tensor *filled(wick_dtype dtype, double value, wick_dim n) {
    wick_full_options o = WICK_FULL_OPTIONS_INIT;
    o.dtype = dtype;
    return wick_full(C, &n, 1, wick_value_float(value), &o);
}

static double *read_doubles(wick_tensor *t) {
    double *values = malloc((size_t)(t->numel + 1) * sizeof *values);
    assert_non_null(values);
    assert_ok(wick_tensor_to_host(C, wick_to_dtype(C, t, WICK_F64, NULL), values, (size_t)t->numel * sizeof *values));
    return values;
}

/* ---- Poisson ---- */
static void check_moments(wick_dtype dtype, double rate) {
    wick_tensor *t = CALL("poisson", V(filled(dtype, rate, MANY)));
    assert_healthy();
    double *x = read_doubles(t), mean = 0, variance = 0;
    for (int i = 0; i < MANY; ++i) {
        assert_true(x[i] >= 0 && x[i] == floor(x[i]));
        mean += x[i] / MANY;
    }
    for (int i = 0; i < MANY; ++i) variance += (x[i] - mean) * (x[i] - mean) / (MANY - 1);
    free(x);
    const double mean_error = sqrt(rate / MANY), variance_error = sqrt((rate + 2 * rate * rate) / MANY);
    if (!(fabs(mean - rate) < 5 * mean_error)) fail_msg("rate %g: mean %g", rate, mean);
    if (!(fabs(variance - rate) < 5 * variance_error)) fail_msg("rate %g: variance %g", rate, variance);
}

static void test_poisson_moments(void **state) {
    const double rates[] = {0.05, 0.7, 3, 9.99, 10, 11.5, 50, 1000};
    wick_manual_seed(C, 5);
    for (size_t i = 0; i < sizeof rates / sizeof *rates; ++i) check_moments(WICK_F64, rates[i]);
    check_moments(WICK_F32, 4);
    check_moments(WICK_F16, 20);
}

/* Of rate 2: the shares of 0 to 5, which moments alone do not show. */
static void test_poisson_shares(void **state) {
    wick_manual_seed(C, 6);
    double *x = read_doubles(CALL("poisson", V(filled(WICK_F64, 2, MANY)))), share = exp(-2.0);
    for (int k = 0; k < 6; share *= 2.0 / ++k) {
        int count = 0;
        for (int i = 0; i < MANY; ++i) count += x[i] == k;
        if (!(fabs(count - share * MANY) < 5 * sqrt(share * MANY))) fail_msg("%d: %d times of %d", k, count, MANY);
    }
    free(x);
}

static void test_poisson_limits(void **state) {
    ASSERT_VALUES(CALL("poisson", V(T(0, 0, 0))), 0, 0, 0);
    assert_int_equal(CALL("poisson", V(filled(WICK_F32, 1, 0)))->numel, 0);
    const double bad[] = {-1, INFINITY, NAN};
    for (int i = 0; i < 3; ++i) {
        assert_null(CALL("poisson", V(T(1, bad[i]))));
        assert_failed("invalid Poisson rate");
    }
}

/* ---- the number of threads ---- */
static void draw_all(int threads, double *out, size_t count) {
    wick_runtime *outer = RT;
    wick_context *context = C;
    char ini[256];
    snprintf(ini, sizeof ini, CPU_SECTION "threads = %d\n", threads);
    assert_ok(wick_runtime_create(NULL, &RT));
    assert_ok(load_text(RT, ini));
    assert_ok(wick_context_create(RT, &C));
    wick_scope scope = wick_scope_open(C);
    wick_manual_seed(C, 9);
    wick_tensor *parts[] = {CALL("poisson", V(filled(WICK_F64, 12, MANY))),
                            wick_to_dtype(C, CALL("randperm", INT(MANY)), WICK_F64, NULL),
                            wick_uniform_(C, filled(WICK_F64, 0, MANY), NULL)};
    assert_healthy();
    for (int i = 0; i < 3; ++i) assert_ok(wick_tensor_to_host(C, parts[i], out + i * MANY, MANY * sizeof *out));
    assert_true(count == 3 * MANY);
    wick_scope_close(C, scope);
    wick_context_destroy(C);
    wick_runtime_release(RT);
    RT = outer, C = context;
}

static void test_threads_do_not_show(void **state) {
    static double one[3 * MANY], three[3 * MANY];
    draw_all(1, one, 3 * MANY);
    draw_all(3, three, 3 * MANY);
    assert_memory_equal(one, three, sizeof one);
}

/* ---- permutations ---- */
static void test_randperm(void **state) {
    const int sizes[] = {0, 1, 2, 9, 1000, MANY};
    for (int i = 0; i < 6; ++i) {
        const int n = sizes[i];
        double *x = read_doubles(CALL("randperm", INT(n)));
        bool *seen = calloc((size_t)n + 1, 1);
        assert_non_null(seen);
        int fixed = 0;
        for (int k = 0; k < n; ++k) {
            const int value = (int)x[k];
            assert_true(value >= 0 && value < n && !seen[value]);
            seen[value] = true;
            fixed += value == k;
        }
        assert_true(n < 9 || fixed < 9); /* the number of fixed points is Poisson of rate 1 */
        free(seen);
        free(x);
    }
    wick_tensor *narrow = CALL("randperm", INT(7), wick_value_dtype(WICK_I32));
    assert_int_equal(narrow->dtype, WICK_I32);
    ASSERT_VALUES(wick_sum(C, narrow, NULL), 21);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_poisson_moments),     CASE(test_poisson_shares), CASE(test_poisson_limits),
        CASE(test_threads_do_not_show), CASE(test_randperm),
    };
    return RUN(tests);
}
