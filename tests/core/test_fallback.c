/* Two devices: what runs where, what refuses, what falls back to the host and is counted; a plugin's own key. */
#define WICK_PLUGIN_STATIC
#include "core_test.h"

#include "../fixtures/plugins/spare.c"

static wick_device SPARE;
static char logged[512];

static void keep_log(void *user, wick_log_level level, const char *message) {
    snprintf(logged, sizeof logged, "%s", message);
}

/* A runtime of its own for each test, with the second device's section given. */
static void start(const char *section) {
    char ini[256];
    wick_config_file *config;
    wick_runtime_options options = WICK_RUNTIME_OPTIONS_INIT;
    options.log = keep_log;
    memset(&spare_seen, 0, sizeof spare_seen);
    assert_ok(wick_runtime_create(&options, &RT));
    assert_ok(load_text(RT, CPU_SECTION));
    snprintf(ini, sizeof ini, "[plugin.spare]\n%s\n", section);
    assert_ok(wick_config_parse(ini, strlen(ini), "test.ini", NULL, &config));
    assert_ok(wick_plugin_register_static(RT, "spare", wick_plugin_query_spare, config));
    wick_config_free(config);
    CPU = wick_runtime_host(RT);
    assert_ok(wick_runtime_device(RT, "spare", &SPARE));
    test_start(NULL);
    logged[0] = '\0';
}

static void end(void) {
    test_end(NULL);
    wick_runtime_release(RT);
    assert_int_equal(spare_seen.allocations, 0);
}

static wick_tensor *there(wick_tensor *t) { return wick_to_device(C, t, SPARE, (wick_dtype)t->dtype, NULL); }
static wick_tensor *here(wick_tensor *t) { return wick_to_device(C, t, CPU, (wick_dtype)t->dtype, NULL); }
static uint64_t fallbacks(const char *op) { return wick_op_fallbacks(RT, wick_op_find(RT, op), SPARE.type); }

/* ---- what the device does itself ---- */
static void test_own_kernels(void **state) {
    start("");
    wick_tensor *x = there(T(1, 2)), *y = wick_add(C, x, x, NULL);
    assert_true(wick_device_equal(y->device, SPARE));
    assert_int_equal(spare_seen.adds, 1);
    ASSERT_VALUES(here(y), 2, 4);
    wick_add_(C, y, x, NULL);
    ASSERT_VALUES(here(y), 3, 6);
    assert_int_equal(fallbacks("add.Tensor"), 0);
    end();
}

static void test_views_and_copies_need_no_kernel_of_their_own(void **state) {
    start("");
    wick_tensor *x = there(MATRIX(2, 2, 1, 2, 3, 4));
    wick_tensor *t = wick_clone(C, wick_transpose(C, x, 0, 1), NULL);
    ASSERT_VALUES(here(wick_narrow(C, x, 1, 1, 1)), 2, 4);
    ASSERT_VALUES(here(wick_clone(C, wick_select(C, t, 0, 0), NULL)), 1, 3);
    end();
}

static void test_numbers_from_the_host_may_mix(void **state) {
    start("");
    wick_tensor *x = there(T(1, 2));
    ASSERT_VALUES(here(wick_add_scalar(C, x, wick_value_float(5), NULL)), 6, 7);
    wick_tensor *zero_dim = wick_select(C, T(10), 0, 0);
    ASSERT_VALUES(here(wick_add(C, x, zero_dim, NULL)), 11, 12);
    end();
}

static void test_devices_do_not_mix(void **state) {
    start("devices = 2");
    wick_tensor *x = there(T(1, 2));
    assert_null(wick_add(C, x, T(1, 2), NULL));
    assert_failed("add.Tensor: expected all tensors to be on the same device, got spare:0 and cpu");
    wick_device second;
    assert_ok(wick_runtime_device(RT, "spare:1", &second));
    assert_null(wick_add(C, x, wick_to_device(C, x, second, WICK_F64, NULL), NULL));
    assert_failed("got spare:0 and spare:1");
    end();
}

/* ---- policies ---- */
static void test_policy_error(void **state) {
    start("");
    wick_tensor *x = there(T(1, 2));
    assert_null(wick_exp(C, x));
    assert_failed("exp has no kernel on device spare, no decomposition, and its fallback policy is error");
    assert_int_equal(fallbacks("exp"), 0);
    wick_tensor *single = there(T(1, 2));
    assert_null(wick_to_dtype(C, single, WICK_F32, NULL));
    assert_failed("spare copies f64 and c128 only");
    end();
}

static void test_unsupported_dtype(void **state) {
    start("");
    wick_tensor *x = there(wick_to_dtype(C, T(1, 2), WICK_F32, NULL));
    assert_null(wick_add(C, x, x, NULL));
    assert_failed("add.Tensor is not implemented for dtype f32 on device spare");
    end();
}

static void test_policy_cpu(void **state) {
    start("fallback = cpu");
    wick_tensor *x = there(T(1, 2));
    wick_tensor *y = wick_exp(C, x);
    assert_true(wick_device_equal(y->device, SPARE));
    ASSERT_VALUES(here(y), exp(1), exp(2));
    assert_int_equal(fallbacks("exp"), 1);
    wick_exp_(C, x); /* counted with its row */
    ASSERT_VALUES(here(x), exp(1), exp(2));
    assert_int_equal(fallbacks("exp"), 2);
    assert_int_equal(wick_version(x), 1);
    assert_string_equal(logged, "");
    assert_int_equal(fallbacks("add.Tensor"), 0);
    end();
}

static void test_policy_warn_speaks_once(void **state) {
    start("fallback = warn");
    wick_tensor *x = there(T(1, 2));
    wick_exp(C, x);
    assert_string_equal(logged, "exp has no kernel on device spare: running on the host");
    logged[0] = '\0';
    wick_exp(C, x);
    assert_string_equal(logged, "");
    assert_int_equal(fallbacks("exp"), 2);
    end();
}

static void test_fallback_moves_lists(void **state) {
    start("fallback = cpu");
    wick_tensor *parts[] = {there(T(1, 2)), there(T(3))};
    wick_tensor *joined = wick_cat(C, parts, 2, NULL);
    assert_true(wick_device_equal(joined->device, SPARE));
    ASSERT_VALUES(here(joined), 1, 2, 3);
    end();
}

static void test_fallback_of_out_forms(void **state) {
    start("fallback = cpu");
    wick_tensor *x = there(T(1, 2)), *out = there(T(0));
    assert_ptr_equal(wick_exp_out(C, x, out), out);
    ASSERT_VALUES(here(out), exp(1), exp(2));
    wick_tensor *integers = there(wick_to_dtype(C, T(0, 0), WICK_I64, NULL));
    assert_null(wick_exp_out(C, x, integers));
    assert_failed("result type f64 can't be cast to the desired output type i64");
    end();
}

static void test_fallback_keeps_promotion(void **state) {
    start("fallback = cpu");
    wick_tensor *x = wick_select(C, there(T(3)), 0, 0);
    wick_tensor *y = wick_mul_scalar(C, x, wick_value_float(2));
    assert_int_equal(y->dtype, WICK_F64);
    ASSERT_VALUES(here(y), 6);
    end();
}

/* ---- lazy signs ---- */
/* 1 + 2i, 3 + 4i, conjugated; every other element of the storage. */
static wick_tensor *conjugated(wick_tensor *parts) {
    wick_tensor *z = wick_select(C, wick_view_as_complex(C, there(parts)), 1, 0);
    return wick__conj(C, z);
}

static void test_fallback_of_lazy_conjugates(void **state) {
    start("fallback = cpu");
    wick_tensor *z = conjugated(wick_reshape(C, T(1, 2, 9, 9, 3, 4, 9, 9), (wick_dim[]){2, 2, 2}, 3));
    ASSERT_VALUES(wick_view_as_real(C, wick_resolve_conj(C, here(z))), 1, -2, 3, -4);
    wick_tensor *square = here(wick_mul(C, z, z));
    ASSERT_VALUES(wick_view_as_real(C, wick_resolve_conj(C, square)), -3, -4, -7, -24);
    assert_int_equal(fallbacks("mul.Tensor"), 1);
    assert_true(fallbacks("conj_physical") > 0);
    ASSERT_VALUES(here(wick_view_as_real(C, wick_resolve_conj(C, z))), 1, -2, 3, -4);
    ASSERT_VALUES(here(wick__neg_view(C, there(T(1, -2)))), -1, 2);
    ASSERT_VALUES(here(wick_clone(C, wick__neg_view(C, there(T(1, -2))), NULL)), -1, 2);
    ASSERT_VALUES(wick_resolve_neg(C, here(wick_imag(C, z))), -2, -4);
    end();
}

static void test_lazy_conjugates_without_a_fallback(void **state) {
    start("");
    wick_tensor *z = conjugated(wick_reshape(C, T(1, 2, 9, 9, 3, 4, 9, 9), (wick_dim[]){2, 2, 2}, 3));
    assert_null(wick_resolve_conj(C, z));
    assert_failed("device spare has no kernel neg");
    end();
}

static void test_backward_on_the_second_device(void **state) {
    start("fallback = cpu");
    wick_tensor *x = LEAF(1, 2), *y = there(x), *sum = SUM(wick_mul(C, y, wick_exp(C, y)));
    assert_true(wick_backward(C, sum));
    assert_true(wick_device_equal(wick_grad_of(x)->device, CPU));
    ASSERT_GRAD(x, 2 * exp(1), 3 * exp(2));
    end();
}

/* ---- a key of a plugin's own ---- */
static void test_key_in_the_modes(void **state) {
    start("key = 60");
    wick_modes modes = wick_modes_get(C), before = modes;
    modes.include_keys |= WICK_KEY_BIT(60);
    wick_tensor *x = LEAF(1, 2);
    wick_modes_set(C, modes);
    wick_tensor *y = wick_exp(C, x);
    wick_modes_set(C, before);
    assert_int_equal(spare_seen.keyed, 1);
    assert_string_equal(spare_seen.keyed_name, "exp");
    wick_exp(C, x);
    assert_int_equal(spare_seen.keyed, 1);
    backward_sum(y);
    ASSERT_GRAD(x, exp(1), exp(2));
    end();
}

static void test_key_below_autograd_sees_backward(void **state) {
    start("key = 20");
    wick_tensor *x = LEAF(1, 2);
    wick_modes modes = wick_modes_get(C), before = modes;
    modes.include_keys |= WICK_KEY_BIT(20);
    wick_modes_set(C, modes);
    backward_sum(wick_square(C, x));
    wick_modes_set(C, before);
    assert_true(spare_seen.keyed > 4);
    ASSERT_GRAD(x, 2, 4);
    end();
}

static void test_key_that_is_taken(void **state) {
    wick_config_file *config;
    assert_ok(wick_runtime_create(NULL, &RT));
    const char *ini = "[plugin.spare]\nkey = 46\n[plugin.first]\nkey = 60\n[plugin.second]\nkey = 60\n";
    assert_ok(wick_config_parse(ini, strlen(ini), "test.ini", NULL, &config));
    assert_error(wick_plugin_register_static(RT, "spare", wick_plugin_query_spare, config),
                 "register_key: rank 46 is the core's own AUTOGRAD");
    assert_ok(wick_plugin_register_static(RT, "first", wick_plugin_query_spare, config));
    assert_error(wick_plugin_register_static(RT, "second", wick_plugin_query_spare, config),
                 "rank 60 is already served by another plugin");
    wick_config_free(config);
    wick_runtime_release(RT);
}

static void test_failed_plugin_withdraws_its_key(void **state) {
    wick_config_file *config;
    assert_ok(wick_runtime_create(NULL, &RT));
    const char *ini = "[plugin.none]\nkey = 60\ndevices = 0\n[plugin.first]\nkey = 60\n";
    assert_ok(wick_config_parse(ini, strlen(ini), "test.ini", NULL, &config));
    assert_error(wick_plugin_register_static(RT, "none", wick_plugin_query_spare, config), "no device");
    assert_ok(wick_plugin_register_static(RT, "first", wick_plugin_query_spare, config));
    wick_config_free(config);
    wick_runtime_release(RT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_kernels),
        cmocka_unit_test(test_views_and_copies_need_no_kernel_of_their_own),
        cmocka_unit_test(test_numbers_from_the_host_may_mix),
        cmocka_unit_test(test_devices_do_not_mix),
        cmocka_unit_test(test_policy_error),
        cmocka_unit_test(test_unsupported_dtype),
        cmocka_unit_test(test_policy_cpu),
        cmocka_unit_test(test_policy_warn_speaks_once),
        cmocka_unit_test(test_fallback_moves_lists),
        cmocka_unit_test(test_fallback_of_out_forms),
        cmocka_unit_test(test_fallback_keeps_promotion),
        cmocka_unit_test(test_fallback_of_lazy_conjugates),
        cmocka_unit_test(test_lazy_conjugates_without_a_fallback),
        cmocka_unit_test(test_backward_on_the_second_device),
        cmocka_unit_test(test_key_in_the_modes),
        cmocka_unit_test(test_key_below_autograd_sees_backward),
        cmocka_unit_test(test_key_that_is_taken),
        cmocka_unit_test(test_failed_plugin_withdraws_its_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
