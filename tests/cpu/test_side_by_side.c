/* Kernels of the CPU plugin that work on several rows, runs or windows side by side, with each instruction set that the
 * machine has, against plain loops: sizes around those at which another way is taken. */
#include <wick/autograd.h>

#include "cpu_test.h"

/* ---- tensors and numbers ---- */
/* Whole numbers from -7 to 7 in no order; the same for all machines. */
static double number(int64_t i, int64_t salt) { return (double)((i * 37 + salt * 11 + i / 13) % 15 - 7); }

static wick_tensor *tensor_of(const double *data, wick_dtype dtype, int ndim, const wick_dim *sizes) {
    return wick_to_dtype(F.c, wick_tensor_from_host(F.c, data, WICK_F64, ndim, sizes, F.host), dtype, NULL);
}

static int64_t volume(int ndim, const wick_dim *sizes) {
    int64_t n = 1;
    for (int d = 0; d < ndim; ++d) n *= sizes[d];
    return n;
}

static wick_tensor *numbers(wick_dtype dtype, int ndim, const wick_dim *sizes, int64_t salt, double scale) {
    const int64_t n = volume(ndim, sizes);
    double *data = malloc((size_t)n * sizeof *data);
    for (int64_t i = 0; i < n; ++i) data[i] = scale * number(i, salt);
    wick_tensor *t = tensor_of(data, dtype, ndim, sizes);
    free(data);
    return t;
}

/* Elements in row-major order; valid until the scope closes. */
static const double *values(wick_tensor *t) {
    wick_tensor *wide = wick_contiguous(F.c, wick_to_dtype(F.c, t, WICK_F64, NULL), NULL);
    expect_good(F.c);
    return wick_data(wide);
}

static void expect_near(const char *what, const char *isa, int64_t i, double got, double wanted, double tolerance) {
    if (!(fabs(got - wanted) <= tolerance * (1 + fabs(wanted))))
        fail_msg("%s, %s, element %lld: got %.9g, wanted %.9g", what, isa, (long long)i, got, wanted);
}

/* ---- max pooling two by two ---- */
static void check_pooling(const char *isa, wick_dtype dtype, wick_dim height, wick_dim width) {
    const wick_dim sizes[3] = {3, height, width}, out_h = height / 2, out_w = width / 2;
    double *data = malloc((size_t)(3 * height * width) * sizeof *data);
    for (int64_t i = 0; i < 3 * height * width; ++i)
        data[i] = wick_dtype_is_floating(dtype) && i % 11 == 3 ? NAN : number(i, height);
    wick_scope scope = wick_scope_open(F.c);
    wick_tensor *index, *x = tensor_of(data, dtype, 3, sizes);
    const double *y = values(wick_max_pool2d_with_indices(F.c, x, (const int64_t[]){2, 2}, 2, NULL, &index));
    const double *at = values(index);
    for (wick_dim p = 0; p < 3; ++p)
        for (wick_dim i = 0; i < out_h; ++i)
            for (wick_dim j = 0; j < out_w; ++j, ++y, ++at) {
                int64_t best = 2 * i * width + 2 * j;
                for (int k = 1; k < 4; ++k) {
                    const int64_t other = (2 * i + k / 2) * width + 2 * j + k % 2;
                    const double v = data[p * height * width + other], old = data[p * height * width + best];
                    if (v > old || isnan(v)) best = other;
                }
                const double wanted = data[p * height * width + best];
                if (*at != (double)best || !(*y == wanted || (isnan(*y) && isnan(wanted))))
                    fail_msg("%s, %s, %lld x %lld, window (%lld, %lld): got %g at %g, wanted %g at %lld", isa,
                             wick_dtype_name(dtype), (long long)height, (long long)width, (long long)i, (long long)j,
                             *y, *at, wanted, (long long)best);
            }
    wick_scope_close(F.c, scope);
    free(data);
}

static void test_pooling_two_by_two(void **state) {
    static const wick_dim sizes[][2] = {{2, 4}, {8, 8}, {5, 9}, {6, 34}, {7, 7}, {4, 22}};
    static const wick_dtype dtypes[] = {WICK_F32, WICK_F64, WICK_I64, WICK_BF16};
    for (size_t s = 0; s < COUNT(isas); ++s) {
        if (!start(isas[s], 1)) continue;
        for (size_t i = 0; i < COUNT(sizes); ++i)
            for (size_t d = 0; d < COUNT(dtypes); ++d) check_pooling(isas[s], dtypes[d], sizes[i][0], sizes[i][1]);
        close_fixture(&F);
    }
}

/* ---- batch norm ---- */
/* How x lies in memory. */
typedef enum layout { ROW_MAJOR, SOME_CHANNELS, TURNED_PLANES, LAYOUTS } layout;

static wick_tensor *laid_out(layout how, wick_dtype dtype, const wick_dim sizes[4], int64_t salt) {
    wick_dim all[4] = {sizes[0], sizes[1], sizes[2], sizes[3]};
    if (how == SOME_CHANNELS) all[1] += 2;
    if (how == TURNED_PLANES) all[2] = sizes[3], all[3] = sizes[2];
    wick_tensor *t = numbers(dtype, 4, all, salt, 0.25);
    if (how == SOME_CHANNELS) return wick_narrow(F.c, t, 1, 1, sizes[1]);
    return how == TURNED_PLANES ? wick_transpose(F.c, t, 2, 3) : t;
}

/* Of a channel: what the formulas say. */
typedef struct moments {
    double mean, invstd, sum, dot; /* sum of g, of g * (x - mean) */
} moments;

static moments moments_of(const wick_dim sizes[4], wick_dim channel, const double *x, const double *g) {
    const int64_t plane = sizes[2] * sizes[3];
    const double count = (double)(sizes[0] * plane);
    moments m = {0, 0, 0, 0};
    double square = 0;
    for (int pass = 0; pass < 2; ++pass)
        for (wick_dim n = 0; n < sizes[0]; ++n)
            for (int64_t i = 0; i < plane; ++i) {
                const int64_t at = (n * sizes[1] + channel) * plane + i;
                if (pass == 0)
                    m.mean += x[at] / count;
                else
                    square += (x[at] - m.mean) * (x[at] - m.mean), m.sum += g[at], m.dot += g[at] * (x[at] - m.mean);
            }
    m.invstd = 1 / sqrt(square / count + 1e-5);
    return m;
}

static void check_batch_norm(const char *isa, wick_dtype dtype, const wick_dim sizes[4], layout how) {
    const double tolerance = dtype == WICK_F64 ? 1e-12 : dtype == WICK_F32 ? 1e-5 : 2e-2;
    const int64_t plane = sizes[2] * sizes[3], all = sizes[0] * sizes[1] * plane;
    const wick_dtype wide = dtype == WICK_BF16 ? WICK_F32 : dtype;
    wick_scope scope = wick_scope_open(F.c);
    wick_tensor *x = laid_out(how, dtype, sizes, 1), *g = laid_out(how, dtype, sizes, 2), *mean, *invstd, *dw, *db;
    wick_tensor *w = numbers(wide, 1, &sizes[1], 3, 0.5), *bias = numbers(wide, 1, &sizes[1], 4, 0.5);
    wick_tensor *y = wick_native_batch_norm(F.c, x, w, bias, NULL, NULL, true, 0.1, 1e-5, &mean, &invstd);
    wick_tensor *dx = wick_native_batch_norm_backward(F.c, g, x, w, NULL, NULL, mean, invstd, true, 1e-5,
                                                      (const uint8_t[]){1, 1, 1}, 3, &dw, &db);
    expect_good(F.c);
    const double *vx = values(x), *vg = values(g), *vy = values(y), *vdx = values(dx), *vw = values(w),
                 *vb = values(bias);
    const double *vmean = values(mean), *vinvstd = values(invstd), *vdw = values(dw), *vdb = values(db);
    for (wick_dim c = 0; c < sizes[1]; ++c) {
        const moments m = moments_of(sizes, c, vx, vg);
        const double count = (double)(sizes[0] * plane);
        expect_near("mean", isa, c, vmean[c], m.mean, 1e-5);
        expect_near("invstd", isa, c, vinvstd[c], m.invstd, 1e-5);
        expect_near("weight's gradient", isa, c, vdw[c], m.dot * m.invstd, 20 * tolerance);
        expect_near("bias's gradient", isa, c, vdb[c], m.sum, 20 * tolerance);
        for (int64_t i = 0; i < all; ++i) {
            if (i / plane % sizes[1] != c) continue;
            const double centered = vx[i] - m.mean;
            const double slope = vg[i] - m.sum / count - centered * m.invstd * m.invstd * m.dot / count;
            expect_near("result", isa, i, vy[i], centered * m.invstd * vw[c] + vb[c], tolerance);
            expect_near("gradient", isa, i, vdx[i], vw[c] * m.invstd * slope, tolerance);
        }
    }
    wick_scope_close(F.c, scope);
}

static void test_batch_norm(void **state) {
    static const wick_dim sizes[][4] = {{5, 3, 8, 8}, {40, 2, 8, 9}, {2, 3, 40, 60},
                                        {4, 2, 7, 8}, {3, 5, 6, 5},  {1, 2, 9, 9}};
    static const wick_dtype dtypes[] = {WICK_F32, WICK_F64, WICK_BF16};
    for (size_t s = 0; s < COUNT(isas); ++s) {
        if (!start(isas[s], 1)) continue;
        for (size_t i = 0; i < COUNT(sizes); ++i)
            for (size_t d = 0; d < COUNT(dtypes); ++d)
                for (layout how = ROW_MAJOR; how < LAYOUTS; ++how) check_batch_norm(isas[s], dtypes[d], sizes[i], how);
        close_fixture(&F);
    }
}

/* ---- random numbers ---- */
enum { DRAWN = 300 };
typedef struct drawing {
    float uniform[DRAWN], dropped[DRAWN];
    double wide[DRAWN];
    uint8_t mask[DRAWN];
} drawing;

/* n of each: blocks of four numbers, and what is left of one. */
static void draw(wick_dim n, drawing *out) {
    wick_scope scope = wick_scope_open(F.c);
    const bool train = true;
    wick_tensor *mask, *x = wick_add_scalar(F.c, numbers(WICK_F32, 1, &n, 5, 1), wick_value_float(0.5), NULL);
    wick_rand_options f64 = WICK_RAND_OPTIONS_INIT;
    f64.dtype = WICK_F64;
    wick_manual_seed(F.c, 3);
    wick_tensor *uniform = wick_rand(F.c, &n, 1, NULL), *wide = wick_rand(F.c, &n, 1, &f64);
    wick_tensor *dropped = wick_native_dropout(F.c, x, 0.25, &train, &mask);
    expect_good(F.c);
    expect_ok(wick_tensor_to_host(F.c, uniform, out->uniform, (size_t)n * sizeof *out->uniform));
    expect_ok(wick_tensor_to_host(F.c, wide, out->wide, (size_t)n * sizeof *out->wide));
    expect_ok(wick_tensor_to_host(F.c, dropped, out->dropped, (size_t)n * sizeof *out->dropped));
    expect_ok(wick_tensor_to_host(F.c, mask, out->mask, (size_t)n * sizeof *out->mask));
    const double *in = values(x);
    for (wick_dim i = 0; i < n; ++i) assert_true(out->dropped[i] == (out->mask[i] ? (float)(in[i] / 0.75) : 0));
    wick_scope_close(F.c, scope);
}

static void test_random_numbers_are_those_of_every_machine(void **state) {
    static drawing plain, other;
    for (wick_dim n = 1; n <= DRAWN; n += n < 70 ? 1 : 23) {
        assert_true(start("base", 1));
        draw(n, &plain);
        close_fixture(&F);
        for (size_t s = 1; s < COUNT(isas); ++s) {
            if (!start(isas[s], 1)) continue;
            draw(n, &other);
            close_fixture(&F);
            assert_memory_equal(&plain, &other, sizeof plain);
        }
    }
}

/* A NaN that is dropped is gone. */
static void test_dropped_nan(void **state) {
    assert_true(start("auto", 1));
    const wick_dim n = 64;
    const bool train = true;
    wick_tensor *mask, *x = wick_full(F.c, &n, 1, wick_value_float(NAN), NULL);
    const double *y = values(wick_native_dropout(F.c, x, 0.5, &train, &mask)), *kept = values(mask);
    for (wick_dim i = 0; i < n; ++i) assert_true(kept[i] != 0 ? isnan(y[i]) : y[i] == 0);
    close_fixture(&F);
}

/* ---- cross entropy ---- */
/* As two operators and as one: loss and gradient. */
static wick_tensor *cross_entropy(wick_tensor *x, wick_tensor *target, wick_tensor *weight, int64_t reduction,
                                  bool fused) {
    wick_cross_entropy_loss_options o = WICK_CROSS_ENTROPY_LOSS_OPTIONS_INIT;
    wick_nll_loss_options nll = WICK_NLL_LOSS_OPTIONS_INIT;
    o.reduction = nll.reduction = reduction, o.ignore_index = nll.ignore_index = 2;
    if (fused) return wick_cross_entropy_loss(F.c, x, target, weight, &o);
    return wick_nll_loss(F.c, wick_log_softmax(F.c, x, 1, NULL), target, weight, &nll);
}

static const double *gradient_of(wick_tensor *x, wick_tensor *loss) {
    wick_backward(F.c, wick_sum(F.c, wick_mul(F.c, loss, loss), NULL));
    return values(wick_grad_of(x));
}

static wick_tensor *leaf(wick_tensor *x) { return wick_set_requires_grad(F.c, wick_clone(F.c, x, NULL), true); }

static void check_cross_entropy(const char *isa, wick_dtype dtype, wick_dim rows, wick_dim classes, int64_t reduction,
                                bool weighted) {
    const double tolerance = dtype == WICK_F64 ? 1e-12 : dtype == WICK_F32 ? 2e-5 : 3e-2;
    const wick_dim sizes[2] = {rows, classes};
    wick_scope scope = wick_scope_open(F.c);
    wick_tensor *x = wick_sin(F.c, numbers(dtype, 2, sizes, 1, 1)), *target = numbers(WICK_F64, 1, &rows, 2, 1);
    target = wick_remainder_scalar(F.c, target, wick_value_int(classes));
    target = wick_to_dtype(F.c, target, rows % 2 && classes < 256 ? WICK_U8 : WICK_I64, NULL);
    wick_tensor *weight = weighted ? wick_exp(F.c, numbers(dtype, 1, &classes, 3, 0.1)) : NULL;
    wick_tensor *wide = dtype == WICK_BF16 ? wick_to_dtype(F.c, x, WICK_F32, NULL) : x;
    wick_tensor *wide_weight = weight && dtype == WICK_BF16 ? wick_to_dtype(F.c, weight, WICK_F32, NULL) : weight;
    wick_tensor *a = leaf(x), *b = leaf(wide), *one = cross_entropy(a, target, weight, reduction, true);
    wick_tensor *two = cross_entropy(b, target, wide_weight, reduction, false);
    const double *got = values(one), *wanted = values(two), *got_grad = gradient_of(a, one),
                 *grad = gradient_of(b, two);
    for (int64_t i = 0; i < one->numel; ++i) expect_near("loss", isa, i, got[i], wanted[i], tolerance);
    for (int64_t i = 0; i < x->numel; ++i) expect_near("its gradient", isa, i, got_grad[i], grad[i], tolerance);
    wick_scope_close(F.c, scope);
}

static void test_cross_entropy(void **state) {
    static const wick_dim sizes[][2] = {{1, 3}, {64, 10}, {70, 32}, {5, 33}, {130, 7}, {3, 5000}};
    static const wick_dtype dtypes[] = {WICK_F32, WICK_F64, WICK_BF16};
    for (size_t s = 0; s < COUNT(isas); ++s)
        for (int threads = 1; threads <= 2; ++threads) {
            if (!start(isas[s], threads)) continue;
            for (size_t i = 0; i < COUNT(sizes); ++i)
                for (size_t d = 0; d < COUNT(dtypes); ++d)
                    for (int form = 0; form < 6; ++form)
                        check_cross_entropy(isas[s], dtypes[d], sizes[i][0], sizes[i][1], form / 2, form % 2);
            close_fixture(&F);
        }
}

static void test_class_out_of_range(void **state) {
    assert_true(start("auto", 1));
    const wick_dim sizes[2] = {3, 4}, rows = 3;
    wick_tensor *x = numbers(WICK_F32, 2, sizes, 1, 1);
    wick_tensor *target = wick_tensor_from_host(F.c, (const int64_t[]){0, 4, 1}, WICK_I64, 1, &rows, F.host);
    assert_null(wick_cross_entropy_loss(F.c, x, target, NULL, NULL));
    wick_status *status = wick_status_take(F.c);
    assert_int_equal(wick_status_code(status), WICK_OUT_OF_RANGE);
    assert_non_null(strstr(wick_status_message(status), "the target of sample 1 is not below 4"));
    wick_status_free(status);
    close_fixture(&F);
}

/* Samples that are ignored may have no classes at all. */
static void test_nothing_to_choose_from(void **state) {
    assert_true(start("auto", 1));
    const wick_dim sizes[2] = {2, 0}, rows = 2;
    wick_cross_entropy_loss_options o = WICK_CROSS_ENTROPY_LOSS_OPTIONS_INIT;
    o.reduction = 2;
    wick_tensor *x = leaf(wick_zeros(F.c, sizes, 2, NULL));
    wick_tensor *target = wick_tensor_from_host(F.c, (const int64_t[]){-100, -100}, WICK_I64, 1, &rows, F.host);
    wick_tensor *loss = wick_cross_entropy_loss(F.c, x, target, NULL, &o);
    assert_true(values(loss)[0] == 0 && wick_backward(F.c, loss));
    close_fixture(&F);
}

/* ---- the gradients of linear ---- */
static double sum_over_rows(const double *a, int64_t a_step, const double *b, int64_t b_step, int64_t rows) {
    double sum = 0;
    for (int64_t i = 0; i < rows; ++i) sum += a[i * a_step] * (b ? b[i * b_step] : 1);
    return sum;
}

/* Whole numbers: sums are exact. `expanded`: grad_output is one number for all. */
static void check_linear(const char *isa, wick_dtype dtype, wick_dim m, wick_dim n, wick_dim k, bool expanded) {
    const wick_dim g_sizes[3] = {2, m, n}, x_sizes[3] = {2, k, m}, w_sizes[2] = {n, k};
    wick_scope scope = wick_scope_open(F.c);
    wick_tensor *x = wick_transpose(F.c, numbers(dtype, 3, x_sizes, 1, 1), 1, 2), *w = numbers(dtype, 2, w_sizes, 2, 1);
    wick_tensor *g = expanded ? wick_expand(F.c, numbers(dtype, 1, (const wick_dim[]){1}, 3, 1), g_sizes, 3, NULL)
                              : numbers(dtype, 3, g_sizes, 3, 1);
    wick_tensor *dw, *db, *dx = wick__linear_backward(F.c, g, x, w, (const uint8_t[]){1, 1, 1}, 3, &dw, &db);
    const double *vg = values(g), *vx = values(x), *vw = values(w), *vdx = values(dx), *vdw = values(dw),
                 *vdb = values(db);
    for (int64_t i = 0; i < 2 * m * k; ++i)
        expect_near("input's gradient", isa, i, vdx[i], sum_over_rows(vg + i / k * n, 1, vw + i % k, k, n), 0);
    for (int64_t i = 0; i < n * k; ++i)
        expect_near("weight's gradient", isa, i, vdw[i], sum_over_rows(vg + i / k, n, vx + i % k, k, 2 * m), 0);
    for (int64_t i = 0; i < n; ++i)
        expect_near("bias's gradient", isa, i, vdb[i], sum_over_rows(vg + i, n, NULL, 0, 2 * m), 0);
    wick_scope_close(F.c, scope);
}

static void test_linear_gradients(void **state) {
    static const wick_dim sizes[][3] = {{1, 1, 1}, {3, 5, 4}, {64, 10, 16}, {70, 33, 20}, {400, 7, 3}};
    for (size_t s = 0; s < COUNT(isas); ++s)
        for (int threads = 1; threads <= 2; ++threads) {
            if (!start(isas[s], threads)) continue;
            for (size_t i = 0; i < COUNT(sizes); ++i)
                for (int form = 0; form < 4; ++form)
                    check_linear(isas[s], form / 2 ? WICK_F64 : WICK_F32, sizes[i][0], sizes[i][1], sizes[i][2],
                                 form % 2);
            close_fixture(&F);
        }
}

/* ---- results that are stored past the caches ---- */
enum { STREAMED = 41003, STREAMED_ROWS = 37, STREAMED_WIDTH = 1100 };
typedef struct streamed {
    double pointwise[5][STREAMED]; /* of F32, F64 or BF16 numbers, written from an odd place on */
    double rows[3][STREAMED_ROWS * STREAMED_WIDTH];
} streamed;

static void keep(double *to, wick_tensor *t, int64_t n) {
    assert_int_equal(t->numel, n);
    memcpy(to, values(t), (size_t)n * sizeof *to);
}

static void run_streamed(wick_dtype dtype, streamed *out) {
    wick_scope scope = wick_scope_open(F.c);
    const wick_dim n = STREAMED, room = STREAMED + 7, sizes[2] = {STREAMED_ROWS, STREAMED_WIDTH};
    wick_tensor *a = numbers(dtype, 1, &n, 1, 0.3), *b = numbers(dtype, 1, &n, 2, 0.7),
                *x = numbers(dtype, 2, sizes, 3, 0.2);
    wick_tensor *place = wick_narrow(F.c, numbers(dtype, 1, &room, 4, 1), 0, 5, n);
    wick_sub_options twice = WICK_SUB_OPTIONS_INIT;
    wick_rsub_options thrice = WICK_RSUB_OPTIONS_INIT;
    twice.alpha = wick_value_float(2), thrice.alpha = wick_value_float(3);
    keep(out->pointwise[0], wick_add_out(F.c, a, b, place, NULL), n);
    keep(out->pointwise[1], wick_sub_out(F.c, a, b, place, &twice), n);
    keep(out->pointwise[2], wick_rsub(F.c, a, b, &thrice), n);
    keep(out->pointwise[3], wick_mul_out(F.c, a, b, place), n);
    keep(out->pointwise[4], wick_gelu_out(F.c, a, place, NULL), n);
    keep(out->rows[0], wick_softmax(F.c, x, 1, NULL), x->numel);
    keep(out->rows[1], wick_log_softmax(F.c, x, 1, NULL), x->numel);
    keep(out->rows[2], wick_layer_norm(F.c, x, &sizes[1], 1, NULL, NULL, NULL), x->numel);
    wick_scope_close(F.c, scope);
}

static void test_stores_past_the_caches(void **state) {
    static const wick_dtype dtypes[] = {WICK_F32, WICK_F64, WICK_BF16};
    static streamed plain, past;
    for (size_t s = 0; s < COUNT(isas); ++s)
        for (size_t d = 0; d < COUNT(dtypes); ++d) {
            if (!start_with(isas[s], 2, "stream_bytes = 1000000000000\n")) continue;
            run_streamed(dtypes[d], &plain);
            close_fixture(&F);
            assert_true(start_with(isas[s], 2, "stream_bytes = 0\n"));
            run_streamed(dtypes[d], &past);
            close_fixture(&F);
            assert_memory_equal(&plain, &past, sizeof plain);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pooling_two_by_two),
        cmocka_unit_test(test_batch_norm),
        cmocka_unit_test(test_random_numbers_are_those_of_every_machine),
        cmocka_unit_test(test_dropped_nan),
        cmocka_unit_test(test_cross_entropy),
        cmocka_unit_test(test_class_out_of_range),
        cmocka_unit_test(test_nothing_to_choose_from),
        cmocka_unit_test(test_linear_gradients),
        cmocka_unit_test(test_stores_past_the_caches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
