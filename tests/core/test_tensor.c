/* Tensors and storages: from and to the host, wrapping, views of one storage, growing, replacing. */
#include "core_test.h"

/* ---- host memory ---- */
static void test_round_trip(void **state) {
    const float values[] = {1, 2, 3, 4, 5, 6};
    float back[6];
    wick_tensor *t = wick_tensor_from_host(C, values, WICK_F32, 2, (wick_dim[]){2, 3}, CPU);
    assert_int_equal(wick_ndim(t), 2);
    assert_int_equal(wick_stride(t, 0), 3);
    assert_int_equal(wick_size(t, -1), 3);
    assert_true(wick_is_contiguous(t));
    assert_ok(wick_tensor_to_host(C, wick_t(C, t), back, sizeof back));
    assert_true(back[1] == 4 && back[2] == 2); /* row-major, whatever the strides */
    assert_error(wick_tensor_to_host(C, t, back, 4), "the buffer has 4 bytes, wanted 24");
}

static void test_default_device(void **state) {
    wick_tensor *t = wick_tensor_from_host(C, NULL, WICK_F32, 0, NULL, (wick_device){0, 0});
    assert_true(wick_device_equal(t->device, CPU));
    wick_set_default_device(C, (wick_device){WICK_DEVICE_TYPE_META, 0});
    assert_int_equal(wick_ones(C, DIMS(3), NULL)->device.type, WICK_DEVICE_TYPE_META);
}

static void test_default_dtype(void **state) {
    wick_tensor *i = wick_to_dtype(C, T(1, 2), WICK_I32, NULL);
    assert_int_equal(wick_exp(C, i)->dtype, WICK_F32);
    wick_set_default_dtype(C, WICK_F64);
    assert_int_equal(wick_ones(C, DIMS(3), NULL)->dtype, WICK_F64);
    assert_int_equal(wick_exp(C, i)->dtype, WICK_F64);
    wick_set_default_dtype(C, WICK_I64);
    assert_failed("the default dtype must be floating, got i64");
}

static void test_bad_geometry(void **state) {
    assert_null(wick_tensor_from_host(C, NULL, WICK_F32, 2, (wick_dim[]){2, -1}, CPU));
    assert_failed("size -1 at dimension 1 of [2, -1] is negative");
    assert_null(wick_tensor_from_host(C, NULL, WICK_F32, 2, (wick_dim[]){INT64_MAX / 2, 4}, CPU));
    assert_failed("has too many elements");
    assert_null(wick_tensor_from_host(C, NULL, WICK_F32, 1, (wick_dim[]){1}, (wick_device){60, 0}));
    assert_failed("no loaded backend serves it");
    assert_null(wick_empty(C, (wick_dim[WICK_MAX_DIMS + 1]){0}, WICK_MAX_DIMS + 1, NULL));
    assert_failed("dimensions, wanted at most");
}

static void test_many_dimensions(void **state) {
    wick_set_default_dtype(C, WICK_F64);
    const wick_dim sizes[] = {1, 2, 1, 2, 1, 2, 1, 2, 1};
    wick_tensor *t = grad_leaf(wick_ones(C, sizes, 9, NULL));
    backward_sum(wick_mul(C, t, wick_permute(C, t, DIMS(8, 7, 6, 5, 4, 3, 2, 1, 0))));
    assert_healthy();
    assert_int_equal(wick_ndim(wick_grad_of(t)), 9);
    assert_true(wick_item(C, wick_mean(C, wick_grad_of(t), NULL)) == 2);
}

static void test_empty_tensors(void **state) {
    wick_tensor *t = wick_tensor_from_host(C, NULL, WICK_F64, 2, (wick_dim[]){0, 3}, CPU);
    assert_int_equal(wick_numel(wick_exp(C, t)), 0);
    ASSERT_VALUES(SUM(t), 0);
    ASSERT_SIZES(wick_cat(C, (wick_tensor *[]){t, MATRIX(1, 3, 1, 2, 3)}, 2, NULL), 1, 3);
}

static void test_item(void **state) {
    assert_true(wick_item(C, T(2.5)) == 2.5);
    assert_int_equal(wick_item_int(C, wick_to_dtype(C, T(-7), WICK_I8, NULL)), -7);
    assert_true(isnan(wick_item(C, T(1, 2))));
    assert_failed("a Tensor with 2 elements cannot be converted to Scalar");
}

/* ---- wrapping ---- */
static void count_end(void *user) { ++*(int *)user; }

static void test_wrap(void **state) {
    double buffer[] = {1, 2, 3, 4, 5, 6};
    int ended = 0;
    wick_scope scope = wick_scope_open(C);
    wick_tensor *t = wick_tensor_wrap(C, buffer, sizeof buffer, WICK_F64, 2, (wick_dim[]){2, 2}, (wick_dim[]){3, 1},
                                      count_end, &ended);
    ASSERT_VALUES(t, 1, 2, 4, 5);
    wick_mul_scalar_(C, t, wick_value_float(10));
    assert_true(buffer[0] == 10 && buffer[2] == 3 && buffer[4] == 50);
    wick_tensor *view = wick_keep(C, wick_select(C, t, 0, 1));
    wick_scope_close(C, scope);
    assert_int_equal(ended, 0); /* a view is left */
    wick_release(view);
    assert_int_equal(ended, 1);
}

static void test_wrap_too_small(void **state) {
    double buffer[2];
    int ended = 0;
    assert_null(wick_tensor_wrap(C, buffer, sizeof buffer, WICK_F64, 1, (wick_dim[]){3}, NULL, count_end, &ended));
    assert_failed("the buffer has 16 bytes, wanted 24");
    assert_null(
        wick_tensor_wrap(C, buffer, sizeof buffer, WICK_F64, 1, (wick_dim[]){2}, (wick_dim[]){-1}, count_end, &ended));
    assert_failed("a stride is negative");
    assert_int_equal(ended, 0); /* the buffer stayed the caller's */
}

static void test_wrapped_buffer_does_not_grow(void **state) {
    double buffer[2] = {0};
    wick_tensor *t = wick_tensor_wrap(C, buffer, sizeof buffer, WICK_F64, 1, (wick_dim[]){2}, NULL, NULL, NULL);
    assert_null(wick_add_out(C, T(1, 2, 3), T(1, 2, 3), t, NULL));
    assert_failed("a wrapped buffer of 16 bytes cannot grow to 24");
}

/* ---- storages ---- */
static void test_views_share_storage_and_version(void **state) {
    wick_tensor *x = T(1, 2, 3), *view = wick_narrow(C, x, 0, 1, 2), *copy = wick_clone(C, x, NULL);
    assert_true(wick_shares_storage(x, view) && !wick_shares_storage(x, copy));
    assert_int_equal(view->offset, 1);
    wick_zero_(C, view);
    assert_int_equal(wick_version(x), 1);
    assert_int_equal(wick_version(copy), 0);
    ASSERT_VALUES(x, 1, 0, 0);
}

static void test_views_outlive_their_base(void **state) {
    wick_scope scope = wick_scope_open(C);
    wick_tensor *view = wick_keep(C, wick_narrow(C, T(1, 2, 3), 0, 1, 2));
    wick_scope_close(C, scope);
    ASSERT_VALUES(view, 2, 3);
    wick_release(view);
}

static void test_out_grows_in_place(void **state) {
    wick_tensor *small = T(7), *view = wick_detach(C, small), *x = wick_ones(C, DIMS(1000), NULL);
    wick_tensor *wide = wick_to_dtype(C, x, WICK_F64, NULL);
    wick_add_out(C, wide, wide, small, NULL); /* from inside its block to memory of its own */
    ASSERT_SIZES(small, 1000);
    assert_true(wick_item(C, wick_mean(C, small, NULL)) == 2);
    ASSERT_VALUES(view, 2); /* the storage stayed one */
}

static void test_set(void **state) {
    wick_tensor *x = T(1, 2), *y = T(3, 4, 5), *view = wick_detach(C, x);
    assert_ptr_equal(wick_set_(C, x, y), x);
    ASSERT_VALUES(x, 3, 4, 5);
    assert_true(wick_shares_storage(x, y));
    ASSERT_VALUES(view, 1, 2);
    wick_set_(C, x, y);    /* what it has already */
    wick_set_(C, x, view); /* back home */
    ASSERT_VALUES(x, 1, 2);
    wick_set_(C, y, y);
    ASSERT_VALUES(y, 3, 4, 5);
}

static void test_channels_last(void **state) {
    wick_tensor *t = wick_ones(C, DIMS(2, 3, 4, 5), NULL);
    wick_clone_options o = WICK_CLONE_OPTIONS_INIT;
    o.memory_format = WICK_CHANNELS_LAST;
    wick_tensor *last = wick_clone(C, t, &o);
    assert_true(wick_is_contiguous_as(last, WICK_CHANNELS_LAST) && !wick_is_contiguous(last));
    assert_true(wick_is_contiguous_as(wick_exp(C, last), WICK_CHANNELS_LAST)); /* operators keep the order */
}

static void test_memory_statistics(void **state) {
    uint64_t used, peak, cached;
    wick_memory_reset_peak(RT, CPU);
    wick_scope scope = wick_scope_open(C);
    wick_ones(C, DIMS(1 << 18), NULL);
    wick_memory_stats(RT, CPU, &used, &peak, &cached);
    assert_true(used >= 1 << 20 && peak >= used);
    wick_scope_close(C, scope);
    wick_memory_stats(RT, CPU, &used, &peak, &cached);
    assert_true(used == 0 && cached >= 1 << 20);
    wick_memory_trim(RT, CPU);
    wick_memory_stats(RT, CPU, NULL, NULL, &cached);
    assert_int_equal(cached, 0);
}

static uint64_t cached_bytes(void) {
    uint64_t figures[3];
    wick_memory_stats(RT, CPU, &figures[0], &figures[1], &figures[2]);
    return figures[2];
}

/* A tensor of so many MiB, which nobody writes to, comes and goes. */
static void come_and_go(int mib, int count) {
    const wick_dim size = (wick_dim)mib << 20;
    wick_empty_options o = WICK_EMPTY_OPTIONS_INIT;
    o.dtype = WICK_U8;
    wick_scope scope = wick_scope_open(C);
    for (int i = 0; i < count; ++i) wick_empty(C, &size, 1, &o);
    wick_scope_close(C, scope);
}

/* Blocks of a size that is not wanted any more give way to those of one that is. */
static void test_cache_keeps_what_is_used(void **state) {
    wick_memory_trim(RT, CPU);
    come_and_go(192, 4);
    const uint64_t before = cached_bytes();
    for (int i = 0; i < 4; ++i) come_and_go(640, 1);
    const uint64_t kept = cached_bytes();
    assert_true(kept >= UINT64_C(640) << 20 && kept <= before + (UINT64_C(64) << 20));
    const wick_dim size = 640 << 20;
    wick_empty_options o = WICK_EMPTY_OPTIONS_INIT;
    o.dtype = WICK_U8;
    assert_non_null(wick_empty(C, &size, 1, &o));
    assert_true(cached_bytes() + (UINT64_C(640) << 20) <= kept);
    wick_memory_trim(RT, CPU);
}

static void test_lazy_conjugates(void **state) {
    const double values[] = {1, 2, 3, -4};
    double back[4];
    wick_tensor *z = wick_tensor_from_host(C, values, WICK_C128, 1, (wick_dim[]){2}, CPU), *bar = wick_conj(C, z);
    assert_true(bar->flags & WICK_TENSOR_CONJ && wick_shares_storage(z, bar));
    assert_ok(wick_tensor_to_host(C, bar, back, sizeof back));
    assert_true(back[1] == -2 && back[3] == 4);
    ASSERT_VALUES(wick_real(C, wick_mul(C, z, bar)), 5, 25);
    ASSERT_VALUES(wick_imag(C, bar), -2, 4);
    assert_null(wick_exp_(C, bar));
    assert_failed("cannot write to a lazily conjugated tensor");
}

static void test_random_numbers_are_reproducible(void **state) {
    double a[5], b[5];
    uint64_t seed, offset;
    wick_set_default_dtype(C, WICK_F64);
    wick_manual_seed(C, 42);
    assert_ok(wick_tensor_to_host(C, wick_rand(C, DIMS(5), NULL), a, sizeof a));
    wick_rng_get(C, &seed, &offset);
    assert_int_equal(seed, 42);
    assert_int_equal(offset, 2); /* five elements, four a step */
    wick_rng_set(C, 42, 0);
    assert_ok(wick_tensor_to_host(C, wick_rand(C, DIMS(5), NULL), b, sizeof b));
    assert_memory_equal(a, b, sizeof a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_round_trip),
        CASE(test_default_device),
        CASE(test_default_dtype),
        CASE(test_bad_geometry),
        CASE(test_many_dimensions),
        CASE(test_empty_tensors),
        CASE(test_item),
        CASE(test_wrap),
        CASE(test_wrap_too_small),
        CASE(test_wrapped_buffer_does_not_grow),
        CASE(test_views_share_storage_and_version),
        CASE(test_views_outlive_their_base),
        CASE(test_out_grows_in_place),
        CASE(test_set),
        CASE(test_channels_last),
        CASE(test_memory_statistics),
        CASE(test_cache_keeps_what_is_used),
        CASE(test_lazy_conjugates),
        CASE(test_random_numbers_are_reproducible),
    };
    return RUN(tests);
}
