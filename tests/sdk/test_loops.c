/* wick/sdk/loops.h and random.h: kernels of a plugin linked into the test, against the CPU plugin's operators. */
#define WICK_PLUGIN_STATIC
#include "sdk_test.h"

#include <wick/call.h>
#include <wick/sdk/loops.h>
#include <wick/sdk/plugin.h>
#include <wick/sdk/random.h>

/* ---- the plugin: loops::axpy(x, y, a) = a * x + y, loops::less, loops::total, loops::draw ---- */
static void axpy_f32(void *user, const void *const *in, void *out, int64_t n) {
    const float *x = in[0], *y = in[1], a = *(const float *)user;
    float *z = out;
    for (int64_t i = 0; i < n; ++i) z[i] = a * x[i] + y[i];
}

static void axpy_f64(void *user, const void *const *in, void *out, int64_t n) {
    const double *x = in[0], *y = in[1], a = *(const float *)user;
    double *z = out;
    for (int64_t i = 0; i < n; ++i) z[i] = a * x[i] + y[i];
}

static wick_status *axpy(const wick_kernel_call *call) {
    float a = (float)call->values[2].as.f;
    if (call->compute_dtype == WICK_F64) return wick_pointwise(call, axpy_f64, &a);
    if (call->compute_dtype == WICK_F32) return wick_pointwise(call, axpy_f32, &a);
    return wick_pointwise_as(call, WICK_F32, WICK_F32, axpy_f32, &a);
}

static void less_row(void *user, const void *const *in, void *out, int64_t n) {
    const double *x = in[0], *y = in[1];
    uint8_t *z = out;
    for (int64_t i = 0; i < n; ++i) z[i] = x[i] < y[i];
}

static wick_status *less(const wick_kernel_call *call) {
    return wick_pointwise_as(call, WICK_F64, WICK_BOOL, less_row, NULL);
}

static void add_up(void *user, void *state, const void *in, int64_t first, int64_t n) {
    const double *x = in;
    for (int64_t i = 0; i < n; ++i) *(double *)state += x[i] + (double)(first + i) * 1e-3;
}

static void finish(void *user, const void *state, int64_t count, void *out) {
    const double result = *(const double *)state + (double)count;
    memcpy(out, &result, sizeof result);
}

/* The sum over dims of x + position / 1000, and how many there were. */
static wick_status *total(const wick_kernel_call *call) {
    static const double zero = 0;
    const wick_tensor *x = wick_arg_tensor(call, 0);
    const wick_reduction r = {WICK_F64, WICK_F64, sizeof zero, &zero, add_up, finish, NULL};
    return wick_reduce(call, x, wick_out_tensor(call, 0), wick_reduced_dims(&call->values[1], x->ndim), &r);
}

static wick_status *infer_total(wick_infer_call *call) {
    const wick_tensor *x = call->values[0].as.tensor;
    const uint64_t dims = wick_reduced_dims(&call->values[1], x->ndim);
    const bool keep = call->values[2].as.i != 0;
    wick_meta *out = &call->outs[0];
    out->dtype = x->dtype;
    for (int d = 0; d < x->ndim; ++d)
        if (!(dims >> d & 1) || keep) out->sizes[out->ndim++] = dims >> d & 1 ? 1 : x->sizes[d];
    return NULL;
}

#define AXPY "loops::axpy(Tensor x, Tensor y, float a) -> Tensor"
#define LESS "loops::less(Tensor x, Tensor y) -> Tensor"
#define TOTAL "loops::total(Tensor x, int[] dim, bool keepdim) -> Tensor"

static const wick_operator_row operators[] = {
    {.struct_size = sizeof(wick_operator_row),
     .flags = WICK_OPERATOR_POINTWISE | WICK_OPERATOR_OUT | WICK_OPERATOR_INPLACE,
     .schema = AXPY},
    {.struct_size = sizeof(wick_operator_row),
     .flags = WICK_OPERATOR_POINTWISE | WICK_OPERATOR_BOOL_RESULT | WICK_OPERATOR_OUT,
     .schema = LESS},
    {.struct_size = sizeof(wick_operator_row), .schema = TOTAL, .infer = infer_total},
};

static const wick_kernel_row kernels[] = {
    WICK_KERNEL_ROW(AXPY, axpy, 0, WICK_KERNEL_FUSED_CAST),
    WICK_KERNEL_ROW(LESS, less, 0, WICK_KERNEL_FUSED_CAST),
    WICK_KERNEL_ROW(TOTAL, total, 0, 0),
};

static wick_status *create(const wick_host *host, wick_registrar *registrar, const wick_config *config, void **out) {
    static int instance;
    *out = &instance;
    WICK_TRY(host->register_operators(registrar, operators, COUNT(operators), &instance));
    return host->register_kernels(registrar, "*", kernels, COUNT(kernels), &instance);
}

static const wick_plugin_desc descriptor = {WICK_PLUGIN_DESC_BASE, .name = "loops", .create = create};
WICK_PLUGIN(loops, &descriptor)

/* ---- helpers ---- */
static int open_loops(void **state) {
    fixture *f = calloc(1, sizeof *f);
    if (!f) return 1;
    open_fixture(f, "[plugin.cpu]\nthreads = 3\n");
    expect_ok(wick_plugin_register_static(f->runtime, "loops", wick_plugin_query_loops, NULL));
    *state = f;
    return 0;
}

static int close_loops(void **state) {
    close_fixture(*state);
    free(*state);
    return 0;
}

static wick_tensor *call_op(fixture *f, const char *name, const wick_value *args, int n) {
    const wick_op *op = wick_op_find(f->runtime, name);
    wick_value ret = wick_value_none();
    assert_non_null(op);
    wick_call(f->c, op, args, n, &ret, 1);
    expect_good(f->c);
    return ret.as.tensor;
}

static wick_tensor *noise(fixture *f, int ndim, const wick_dim *sizes, wick_dtype dtype) {
    wick_tensor *t = wick_mul_scalar(f->c, wick_randn(f->c, sizes, (size_t)ndim, NULL), wick_value_float(10));
    t = wick_to_dtype(f->c, t, dtype, NULL);
    expect_good(f->c);
    return t;
}

static void expect_equal(fixture *f, wick_tensor *got, wick_tensor *want, double tolerance) {
    assert_int_equal(got->dtype, want->dtype);
    assert_int_equal(got->ndim, want->ndim);
    for (int d = 0; d < got->ndim; ++d) assert_int_equal(got->sizes[d], want->sizes[d]);
    if (!got->numel) return;
    wick_tensor *a = wick_to_dtype(f->c, got, WICK_F64, NULL), *b = wick_to_dtype(f->c, want, WICK_F64, NULL);
    const double worst = wick_item(f->c, wick_max(f->c, wick_abs(f->c, wick_sub(f->c, a, b, NULL))));
    expect_good(f->c);
    if (!(worst <= tolerance)) fail_msg("differs by %g, wanted at most %g", worst, tolerance);
}

static wick_tensor *axpy_of(fixture *f, wick_tensor *x, wick_tensor *y) {
    const wick_value args[] = {wick_value_tensor(x), wick_value_tensor(y), wick_value_float(0.5)};
    return call_op(f, "loops::axpy", args, 3);
}

/* The same by the core's own. */
static wick_tensor *axpy_want(fixture *f, wick_tensor *x, wick_tensor *y) {
    wick_add_options half = WICK_ADD_OPTIONS_INIT;
    half.alpha = wick_value_float(0.5);
    return wick_add(f->c, y, x, &half);
}

static void check_axpy(fixture *f, wick_tensor *x, wick_tensor *y) {
    expect_equal(f, axpy_of(f, x, y), axpy_want(f, x, y), 1e-5);
}

/* ---- elementwise ---- */
static void test_shapes(void **state) {
    fixture *f = *state;
    const wick_dim a[] = {5, 6, 7}, row[] = {7}, column[] = {5, 1, 1}, none[] = {3, 0}, big[] = {700, 301};
    wick_tensor *x = noise(f, 3, a, WICK_F32), *y = noise(f, 3, a, WICK_F32);
    check_axpy(f, x, y);
    check_axpy(f, wick_transpose(f->c, x, 0, 2), wick_transpose(f->c, y, 0, 2));
    check_axpy(f, wick_transpose(f->c, x, 0, 1), wick_transpose(f->c, wick_contiguous(f->c, y, NULL), 0, 1));
    check_axpy(f, x, noise(f, 1, row, WICK_F32));
    check_axpy(f, noise(f, 3, column, WICK_F32), noise(f, 1, row, WICK_F32));
    check_axpy(f, noise(f, 0, NULL, WICK_F32), noise(f, 0, NULL, WICK_F32));
    check_axpy(f, noise(f, 2, none, WICK_F32), noise(f, 2, none, WICK_F32));
    wick_tensor *wide = noise(f, 2, big, WICK_F32);
    check_axpy(f, wide, noise(f, 2, big, WICK_F32));
    check_axpy(f, wick_t(f->c, wide), wick_t(f->c, wide));
    check_axpy(f, wick_select(f->c, x, 1, 2), wick_select(f->c, y, 1, 3));
}

static void test_dtypes(void **state) {
    static const wick_dtype dtypes[] = {WICK_F32, WICK_F64, WICK_F16, WICK_BF16};
    fixture *f = *state;
    const wick_dim sizes[] = {9, 40}, row[] = {40};
    for (size_t i = 0; i < COUNT(dtypes); ++i)
        for (size_t k = 0; k < COUNT(dtypes); ++k) {
            wick_tensor *x = noise(f, 2, sizes, dtypes[i]), *y = noise(f, 1, row, dtypes[k]);
            wick_tensor *got = axpy_of(f, x, y), *want = axpy_want(f, x, y);
            const bool narrow = want->dtype == WICK_F16 || want->dtype == WICK_BF16;
            expect_equal(f, got, want, narrow ? 0.5 : 1e-5);
        }
    expect_equal(f, axpy_of(f, noise(f, 2, sizes, WICK_I32), noise(f, 1, row, WICK_F64)),
                 axpy_want(f, noise(f, 2, sizes, WICK_I32), noise(f, 1, row, WICK_F64)), 1e3);
}

static void test_in_place_and_out(void **state) {
    fixture *f = *state;
    const wick_dim sizes[] = {8, 50};
    wick_tensor *x = noise(f, 2, sizes, WICK_F32), *y = noise(f, 2, sizes, WICK_F32), *want = axpy_want(f, x, y);
    wick_tensor *target = wick_t(f->c, noise(f, 2, (wick_dim[]){50, 8}, WICK_F64));
    const wick_value to[] = {wick_value_tensor(x), wick_value_tensor(y), wick_value_float(0.5),
                             wick_value_tensor(target)};
    assert_ptr_equal(call_op(f, "loops::axpy.out", to, 4), target);
    expect_equal(f, target, wick_to_dtype(f->c, want, WICK_F64, NULL), 1e-5);
    assert_ptr_equal(call_op(f, "loops::axpy_", to, 3), x);
    expect_equal(f, x, want, 1e-5);
}

static void test_predicate(void **state) {
    fixture *f = *state;
    const wick_dim sizes[] = {30, 40}, row[] = {40};
    wick_tensor *x = noise(f, 2, sizes, WICK_I16), *y = noise(f, 1, row, WICK_I16);
    const wick_value args[] = {wick_value_tensor(x), wick_value_tensor(y)};
    expect_equal(f, call_op(f, "loops::less", args, 2), wick_lt(f->c, x, y), 0);
}

/* ---- reductions ---- */
/* total of x over dims by the core's own: sum(x + position / 1000) + count. */
static void check_total(fixture *f, wick_tensor *x, const int64_t *dims, int n, bool keep) {
    const wick_value args[] = {wick_value_tensor(x), wick_value_ints(dims, (size_t)n), wick_value_bool(keep)};
    wick_sum_dim_options o = WICK_SUM_DIM_OPTIONS_INIT;
    o.keepdim = keep;
    double extra = 0, count = 1;
    for (int d = 0; d < x->ndim; ++d) {
        bool reduced = n == 0;
        for (int k = 0; k < n; ++k) reduced = reduced || dims[k] == d || dims[k] + x->ndim == d;
        if (reduced) count *= (double)x->sizes[d];
    }
    extra = count * (count - 1) / 2 * 1e-3 + count;
    wick_tensor *want = wick_sum_dim(f->c, x, n ? dims : NULL, (size_t)n, &o);
    want = wick_add_scalar(f->c, want, wick_value_float(extra), NULL);
    expect_equal(f, call_op(f, "loops::total", args, 3), want, x->dtype == WICK_F64 ? 1e-8 : 1e-1);
}

static void test_reductions(void **state) {
    static const int64_t first[] = {0}, last[] = {-1}, outer[] = {0, 2}, all[] = {0, 1, 2};
    fixture *f = *state;
    const wick_dim sizes[] = {6, 300, 7}, none[] = {4, 0, 2};
    for (int keep = 0; keep < 2; ++keep) {
        wick_tensor *x = noise(f, 3, sizes, keep ? WICK_F32 : WICK_F64);
        wick_tensor *views[] = {x, wick_transpose(f->c, x, 0, 2), noise(f, 3, none, WICK_F64)};
        for (size_t i = 0; i < COUNT(views); ++i) {
            check_total(f, views[i], first, 1, keep);
            check_total(f, views[i], last, 1, keep);
            check_total(f, views[i], outer, 2, keep);
            check_total(f, views[i], all, 3, keep);
            check_total(f, views[i], NULL, 0, keep);
        }
    }
    check_total(f, noise(f, 0, NULL, WICK_F64), NULL, 0, false);
}

/* ---- random numbers ---- */
static void test_random(void **state) {
    fixture *f = *state;
    const wick_dim sizes[] = {103};
    float x[103];
    double y[103];
    wick_philox philox;
    wick_empty_options wide = WICK_EMPTY_OPTIONS_INIT;
    wide.dtype = WICK_F64;
    wick_manual_seed(f->c, 42);
    wick_rng_get(f->c, &philox.seed, &philox.offset);
    expect_ok(wick_tensor_to_host(f->c, wick_uniform_(f->c, wick_empty(f->c, sizes, 1, NULL), NULL), x, sizeof x));
    for (int i = 0; i < 103; ++i) assert_true(x[i] == (float)wick_random_f32(&philox, (uint64_t)i));
    wick_rng_get(f->c, &philox.seed, &philox.offset);
    expect_ok(wick_tensor_to_host(f->c, wick_uniform_(f->c, wick_empty(f->c, sizes, 1, &wide), NULL), y, sizeof y));
    for (int i = 0; i < 103; ++i) assert_true(y[i] == wick_random_f64(&philox, (uint64_t)i));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_shapes, open_loops, close_loops),
        cmocka_unit_test_setup_teardown(test_dtypes, open_loops, close_loops),
        cmocka_unit_test_setup_teardown(test_in_place_and_out, open_loops, close_loops),
        cmocka_unit_test_setup_teardown(test_predicate, open_loops, close_loops),
        cmocka_unit_test_setup_teardown(test_reductions, open_loops, close_loops),
        cmocka_unit_test_setup_teardown(test_random, open_loops, close_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
