/* Data sets and loaders: what is delivered depends on data, seed, epoch and position alone. */
#include "files/files_test.h"

#include <wick/data.h>

/* Samples i = 0..count-1 with two features 2i, 2i+1 and class i % 3. */
static wick_dataset *numbers(int64_t count, const wick_dataset_options *options) {
    wick_array x = WICK_ARRAY_INIT, y = WICK_ARRAY_INIT;
    wick_dataset *d = NULL;
    expect_ok(wick_array_create(WICK_U8, 2, (wick_dim[]){count, 2}, "x", &x));
    expect_ok(wick_array_create(WICK_I32, 1, (wick_dim[]){count}, "y", &y));
    for (int64_t i = 0; i < 2 * count; ++i) ((uint8_t *)x.data)[i] = (uint8_t)i;
    for (int64_t i = 0; i < count; ++i) ((int32_t *)y.data)[i] = (int32_t)(i % 3);
    expect_ok(wick_dataset_from_arrays(&x, &y, options, "numbers", &d));
    return d;
}

static void test_arrays(void **state) {
    wick_dataset_options o = WICK_DATASET_OPTIONS_INIT;
    o.scale = 0.5, o.mean = 1, o.std = 2;
    o.ndim = 3, o.sizes[0] = o.sizes[1] = 1, o.sizes[2] = 2;
    wick_dataset *d = numbers(10, &o);
    const wick_dataset_info info = wick_dataset_describe(d);
    float x[4];
    int64_t y[2];
    assert_int_equal(info.count, 10);
    assert_int_equal(info.ndim, 3);
    assert_int_equal(info.classes, 3);
    assert_int_equal(info.target_dtype, WICK_I64);
    expect_ok(wick_dataset_fetch(d, (int64_t[]){7, 2}, 2, x, y));
    assert_true(x[0] == (14 * 0.5f - 1) / 2 && x[3] == (5 * 0.5f - 1) / 2);
    assert_true(y[0] == 1 && y[1] == 2);
    wick_dataset_release(d);
}

static void test_bad_arrays(void **state) {
    wick_dataset_options o = WICK_DATASET_OPTIONS_INIT;
    wick_dataset *d = NULL;
    wick_array x = WICK_ARRAY_INIT, y = WICK_ARRAY_INIT;
    expect_ok(wick_array_create(WICK_U8, 2, (wick_dim[]){4, 2}, "x", &x));
    expect_ok(wick_array_create(WICK_F64, 1, (wick_dim[]){3}, "y", &y));
    expect_error(wick_dataset_from_arrays(&x, &y, NULL, "a.csv", &d), WICK_DATA_LOSS,
                 "a.csv: got 3 targets of f64, wanted 4");
    expect_ok(wick_array_create(WICK_U8, 2, (wick_dim[]){2, 2}, "x", &x));
    expect_ok(wick_array_create(WICK_F64, 1, (wick_dim[]){2}, "y", &y));
    ((double *)y.data)[0] = 0, ((double *)y.data)[1] = 1.5;
    expect_error(wick_dataset_from_arrays(&x, &y, NULL, "a.csv", &d), WICK_DATA_LOSS, "a.csv: sample 1 has class 1.5");
    expect_ok(wick_array_create(WICK_U8, 2, (wick_dim[]){2, 2}, "x", &x));
    o.ndim = 1, o.sizes[0] = 3;
    expect_error(wick_dataset_from_arrays(&x, &y, &o, "a.csv", &d), WICK_INVALID_ARGUMENT,
                 "a.csv: got samples of shape [2], wanted [3]");
}

static void test_split(void **state) {
    wick_dataset *d = numbers(100, NULL), *a = NULL, *b = NULL, *again = NULL, *rest = NULL;
    bool seen[100] = {false};
    float x[2], same[2];
    int64_t y;
    expect_ok(wick_dataset_split(d, 0.7, 5, &a, &b));
    expect_ok(wick_dataset_split(d, 0.7, 5, &again, &rest));
    assert_int_equal(wick_dataset_describe(a).count, 70);
    assert_int_equal(wick_dataset_describe(b).count, 30);
    for (int64_t i = 0; i < 100; ++i) {
        int64_t k = i < 70 ? i : i - 70;
        expect_ok(wick_dataset_fetch(i < 70 ? a : b, &k, 1, x, &y));
        expect_ok(wick_dataset_fetch(i < 70 ? again : rest, &k, 1, same, &y));
        assert_true(x[0] == same[0] && !seen[(int)x[0] / 2]);
        seen[(int)x[0] / 2] = true;
    }
    wick_dataset *all[] = {d, a, b, again, rest};
    for (int i = 0; i < 5; ++i) wick_dataset_release(all[i]);
}

/* ---- loaders ---- */
#define BATCHES 64

/* The first feature of each batch and its count, from `batch` of `epoch` on. */
typedef struct trace {
    int64_t n;
    float first[BATCHES];
    int64_t count[BATCHES];
} trace;

static trace run(wick_context *c, wick_loader *l, int64_t epoch, int64_t batch) {
    trace t = {0};
    wick_batch b = {.struct_size = sizeof b};
    wick_loader_begin(l, epoch, batch);
    while (true) {
        wick_scope scope = wick_scope_open(c);
        bool more = wick_loader_next(c, l, &b);
        if (more) {
            assert_int_equal(b.index, batch + t.n);
            assert_int_equal(b.features->sizes[0], b.count);
            assert_int_equal(b.targets->dtype, WICK_I64);
            float sum = 0; /* depends on the order within the batch */
            for (int64_t i = 0; i < b.count; ++i) sum += (float)(i + 1) * ((float *)wick_data(b.features))[2 * i];
            t.first[t.n] = sum, t.count[t.n++] = b.count;
        }
        wick_scope_close(c, scope);
        if (!more) break;
    }
    assert_false(wick_failed(c));
    return t;
}

static wick_loader *loader(wick_dataset *d, int32_t workers, bool drop_last) {
    wick_loader *l = NULL;
    wick_loader_options o = WICK_LOADER_OPTIONS_INIT;
    o.shuffle = true, o.batch_size = 7, o.seed = 3, o.workers = workers, o.drop_last = drop_last;
    expect_ok(wick_loader_create(d, &o, &l));
    return l;
}

static void test_workers_do_not_matter(void **state) {
    fixture f = fixture_open();
    wick_dataset *d = numbers(100, NULL);
    wick_loader *plain = loader(d, 0, false);
    trace first = run(f.c, plain, 0, 0), second = run(f.c, plain, 1, 0);
    assert_int_equal(first.n, 15);
    assert_int_equal(first.count[14], 2);
    assert_memory_not_equal(first.first, second.first, sizeof first.first);
    for (int32_t workers = 1; workers <= 4; ++workers) {
        wick_loader *l = loader(d, workers, false);
        trace a = run(f.c, l, 0, 0), b = run(f.c, l, 1, 0);
        assert_memory_equal(&a, &first, sizeof a);
        assert_memory_equal(&b, &second, sizeof b);
        wick_loader_free(l);
    }
    wick_loader_free(plain);
    wick_dataset_release(d);
    fixture_close(&f);
}

static void test_resume(void **state) {
    fixture f = fixture_open();
    wick_dataset *d = numbers(100, NULL);
    wick_loader *l = loader(d, 2, true);
    trace whole = run(f.c, l, 4, 0), rest = run(f.c, l, 4, 5);
    assert_int_equal(whole.n, 14);
    assert_int_equal(rest.n, 9);
    assert_memory_equal(whole.first + 5, rest.first, 9 * sizeof(float));
    wick_loader_begin(l, 0, 0); /* leaving in the middle is fine */
    wick_loader_free(l);
    wick_dataset_release(d);
    fixture_close(&f);
}

/* ---- a source of one's own, which fails ---- */
static wick_status *fail_fetch(void *user, const int64_t *indices, int64_t n, float *features, void *targets) {
    for (int64_t i = 0; i < n; ++i) {
        if (indices[i] == 20) return WICK_ERROR(WICK_IO, "sample 20 cannot be read");
        features[i] = 1;
    }
    return NULL;
}

static void test_failing_source(void **state) {
    static const wick_dataset_class cls = {sizeof cls, fail_fetch, NULL};
    fixture f = fixture_open();
    for (int32_t workers = 0; workers < 3; workers += 2) {
        wick_dataset_info info = WICK_DATASET_INFO_INIT;
        wick_dataset *d = NULL;
        wick_loader *l = NULL;
        wick_batch b = {.struct_size = sizeof b};
        wick_loader_options o = WICK_LOADER_OPTIONS_INIT;
        info.count = 50, info.ndim = 1, info.sizes[0] = 1;
        o.batch_size = 8, o.workers = workers;
        expect_ok(wick_dataset_create(&cls, NULL, &info, &d));
        expect_ok(wick_loader_create(d, &o, &l));
        wick_loader_begin(l, 0, 0);
        assert_true(wick_loader_next(f.c, l, &b) && !b.targets);
        assert_true(wick_loader_next(f.c, l, &b));
        assert_false(wick_loader_next(f.c, l, &b));
        expect_error(wick_status_take(f.c), WICK_IO, "sample 20 cannot be read");
        wick_loader_free(l);
        wick_dataset_release(d);
    }
    fixture_close(&f);
}

static void test_bad_options(void **state) {
    wick_dataset *d = numbers(3, NULL);
    wick_loader *l = NULL;
    wick_loader_options o = WICK_LOADER_OPTIONS_INIT;
    o.batch_size = 0;
    expect_error(wick_loader_create(d, &o, &l), WICK_INVALID_ARGUMENT, "loader: got batch_size 0");
    wick_dataset_release(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrays),      cmocka_unit_test(test_bad_arrays),
        cmocka_unit_test(test_split),       cmocka_unit_test(test_workers_do_not_matter),
        cmocka_unit_test(test_resume),      cmocka_unit_test(test_failing_source),
        cmocka_unit_test(test_bad_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
