/* What every device must do, whatever its memory and streams: runs on the devices named on the command line or in
 * WICK_TEST_DEVICES, on cpu and ref without them. */
#include "device_test.h"

#include <wick/optim.h>

/* ---- copies ---- */
static void copies_of_all_dtypes(void **state) {
    for (int d = 1; d < WICK_DTYPE_COUNT; ++d) {
        char sent[6 * 16], got[6 * 16];
        size_t bytes = 6 * wick_dtype_bytes((wick_dtype)d);
        for (size_t i = 0; i < bytes; ++i) sent[i] = d == WICK_BOOL ? (char)(i & 1) : (char)(i * 7 + 3);
        wick_tensor *t = wick_tensor_from_host(C, sent, (wick_dtype)d, SIZES(2, 3), DEVICE);
        wick_tensor *back = to(to(to(t, CPU), DEVICE), CPU);
        assert_healthy();
        assert_ok(wick_tensor_to_host(C, t, got, bytes));
        assert_memory_equal(got, sent, bytes);
        assert_ok(wick_tensor_to_host(C, back, got, bytes));
        assert_memory_equal(got, sent, bytes);
    }
}

static void copies_change_dtypes(void **state) {
    const double values[] = {-2.75, 0, 1.5, 100.25};
    wick_tensor *on_cpu = wick_tensor_from_host(C, values, WICK_F64, SIZES(4), CPU), *on_device = to(on_cpu, DEVICE);
    const wick_dtype dtypes[] = {WICK_BOOL, WICK_I8, WICK_I32, WICK_I64, WICK_F16, WICK_BF16, WICK_F32, WICK_C64};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; ++i) {
        wick_tensor *got = wick_to_dtype(C, on_device, dtypes[i], NULL),
                    *wanted = wick_to_dtype(C, on_cpu, dtypes[i], NULL);
        if (dtypes[i] == WICK_C64) got = wick_real(C, got), wanted = wick_real(C, wanted);
        assert_same(got, wanted);
    }
}

/* What a sum starts with is zero in both parts, whatever the stack held before. */
static void complex_sums(void **state) {
    const float parts[] = {-8.5f, -1.75f}, shift[] = {0.25f, 3};
    for (int i = 0; i < 50; ++i) {
        float got[2];
        wick_tensor *x = wick_tensor_from_host(C, parts, WICK_C64, 0, NULL, DEVICE);
        if (i % 2)
            x = wick_sub(C, wick_add(C, x, wick_tensor_from_host(C, shift, WICK_C64, 0, NULL, DEVICE), NULL),
                         wick_tensor_from_host(C, shift, WICK_C64, 0, NULL, DEVICE), NULL);
        wick_tensor *sum = wick_sum(C, wick_reshape(C, x, (const int64_t[]){1}, 1), NULL);
        assert_healthy();
        assert_ok(wick_tensor_to_host(C, sum, got, sizeof got));
        assert_true(got[0] == parts[0] && got[1] == parts[1]);
    }
}

static void strided_copies(void **state) {
    wick_tensor *on_cpu = noise(1, CPU, SIZES(4, 5, 6)), *on_device = to(on_cpu, DEVICE);
    wick_tensor *cpu_part = wick_transpose(C, wick_narrow(C, on_cpu, 1, 1, 3), 0, 2);
    wick_tensor *part = wick_transpose(C, wick_narrow(C, on_device, 1, 1, 3), 0, 2);
    assert_same(part, cpu_part);                 /* device to host */
    assert_same(to(cpu_part, DEVICE), cpu_part); /* host to device */
    assert_same(wick_contiguous(C, part, NULL), cpu_part);
    wick_tensor *target = wick_zeros_like(C, on_device, NULL);
    wick_copy_(C, wick_transpose(C, wick_narrow(C, target, 1, 1, 3), 0, 2), cpu_part, NULL); /* into a strided view */
    wick_tensor *wanted = wick_zeros_like(C, on_cpu, NULL);
    wick_copy_(C, wick_narrow(C, wanted, 1, 1, 3), wick_narrow(C, on_cpu, 1, 1, 3), NULL);
    assert_same(target, wanted);
    wick_tensor *row = wick_narrow(C, on_device, 0, 2, 1);
    wick_copy_(C, target, row, NULL); /* broadcast within the device */
    wick_copy_(C, wanted, wick_narrow(C, on_cpu, 0, 2, 1), NULL);
    assert_same(target, wanted);
}

static void empty_and_scalar_tensors(void **state) {
    wick_tensor *empty = wick_zeros(C, DIMS(0, 3), &(wick_zeros_options){sizeof(wick_zeros_options), .device = DEVICE});
    assert_int_equal(wick_numel(wick_add(C, empty, empty, NULL)), 0);
    assert_same(wick_sum(C, empty, NULL), wick_tensor_from_host(C, &(float){0}, WICK_F32, 0, NULL, CPU));
    wick_tensor *one = wick_tensor_from_host(C, &(float){2.5f}, WICK_F32, 0, NULL, DEVICE);
    assert_true(wick_item(C, wick_mul(C, one, one)) == 6.25);
}

/* ---- views and in-place operators ---- */
static void views_share_memory(void **state) {
    wick_tensor *t = noise(2, DEVICE, SIZES(3, 4)), *wanted = noise(2, CPU, SIZES(3, 4));
    wick_tensor *column = wick_select(C, t, 1, 2), *cpu_column = wick_select(C, wanted, 1, 2);
    uint64_t version = wick_version(t);
    wick_add_(C, column, wick_mul_scalar(C, column, wick_value_float(2)), NULL);
    wick_add_(C, cpu_column, wick_mul_scalar(C, cpu_column, wick_value_float(2)), NULL);
    assert_true(wick_shares_storage(t, column));
    assert_true(wick_version(t) > version);
    assert_near(t, wanted, 1e-6, "the base");
    wick_fill_(C, wick_view(C, t, DIMS(12)), wick_value_int(3));
    assert_true(wick_item(C, wick_sum(C, t, NULL)) == 36);
}

static void in_place_forms(void **state) {
    wick_tensor *x = noise(3, DEVICE, SIZES(7)), *y = noise(4, DEVICE, SIZES(7));
    wick_tensor *cx = noise(3, CPU, SIZES(7)), *cy = noise(4, CPU, SIZES(7));
    for (int i = 0; i < 2; ++i) {
        wick_tensor *t = i ? cx : x, *u = i ? cy : y;
        wick_sub_(C, wick_mul_(C, wick_relu_(C, t), u), u, NULL);
        wick_clamp_(C, t,
                    &(wick_clamp_options){sizeof(wick_clamp_options), wick_value_float(-0.5), wick_value_float(0.5)});
        wick_sigmoid_(C, t);
    }
    assert_near(x, cx, 1e-6, "in-place chain");
}

/* ---- operators against the CPU ---- */
typedef wick_tensor *(*expression)(wick_tensor *x, wick_tensor *y);

static wick_tensor *softmax_rows(wick_tensor *x, wick_tensor *y) {
    return wick_softmax(C, wick_add(C, x, y, NULL), -1, NULL);
}
static wick_tensor *gelu_product(wick_tensor *x, wick_tensor *y) {
    return wick_gelu(C, wick_matmul(C, x, wick_t(C, y)), NULL);
}
static wick_tensor *variance(wick_tensor *x, wick_tensor *y) { return wick_var(C, wick_mul(C, x, y), NULL); }
static wick_tensor *sorted(wick_tensor *x, wick_tensor *y) {
    wick_tensor *places = NULL;
    wick_tensor *values = wick_sort(C, wick_sub(C, x, y, NULL), NULL, &places);
    return wick_add(C, values, places, NULL);
}
static wick_tensor *picked(wick_tensor *x, wick_tensor *y) {
    wick_tensor *index = wick_argmax(C, x, &(wick_argmax_options){sizeof(wick_argmax_options), &(int64_t){1}, false});
    return wick_index_select(C, y, 1, index);
}
static wick_tensor *masked(wick_tensor *x, wick_tensor *y) { return wick_masked_select(C, x, wick_gt(C, x, y)); }
static wick_tensor *running(wick_tensor *x, wick_tensor *y) {
    return wick_cumsum(C, wick_tril(C, wick_mul(C, x, y), NULL), 1, NULL);
}
static wick_tensor *rest(wick_tensor *x, wick_tensor *y) { return wick_remainder(C, wick_exp(C, x), wick_tanh(C, y)); }

static void operators_agree_with_the_cpu(void **state) {
    static const struct {
        const char *name;
        expression f;
    } rows[] = {{"softmax", softmax_rows},
                {"gelu of a product", gelu_product},
                {"var", variance},
                {"sort", sorted},
                {"argmax and index_select", picked},
                {"masked_select", masked},
                {"cumsum of tril", running},
                {"remainder", rest}};
    wick_tensor *x = noise(5, CPU, SIZES(6, 6)), *y = noise(6, CPU, SIZES(6, 6));
    wick_tensor *dx = to(x, DEVICE), *dy = to(y, DEVICE);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        wick_tensor *got = rows[i].f(dx, dy), *wanted = rows[i].f(x, y);
        assert_healthy();
        assert_int_equal(got->device.type, DEVICE.type);
        assert_near(got, wanted, 1e-5, rows[i].name);
    }
}

/* ---- random numbers: equal everywhere ---- */
static wick_tensor *drawn(wick_device device, int which, wick_dtype dtype) {
    wick_empty_options o = WICK_EMPTY_OPTIONS_INIT;
    o.device = device, o.dtype = dtype;
    wick_tensor *t = wick_empty(C, DIMS(5, 7), &o);
    wick_manual_seed(C, 11);
    switch (which) {
    case 0: return wick_uniform_(C, t, NULL);
    case 1: return wick_bernoulli_(C, t, &(wick_bernoulli__options){sizeof(wick_bernoulli__options), .p = 0.3});
    case 2: return wick_random_from_(C, t, -5, &(int64_t){1000});
    case 3: return wick_normal_(C, t, NULL);
    default: return wick_exponential_(C, t, NULL);
    }
}

static void random_numbers_are_the_same_everywhere(void **state) {
    const wick_dtype dtypes[] = {WICK_F32, WICK_F64, WICK_F16, WICK_BF16};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; ++d)
        for (int which = 0; which < 5; ++which) {
            uint64_t seed, offset, cpu_offset;
            wick_tensor *got = drawn(DEVICE, which, dtypes[d]);
            wick_rng_get(C, &seed, &offset);
            wick_tensor *wanted = drawn(CPU, which, dtypes[d]);
            wick_rng_get(C, &seed, &cpu_offset);
            assert_near(got, wanted, which < 3 ? 0 : 1e-3 * (dtypes[d] == WICK_BF16 ? 8 : 1), "random numbers");
            assert_int_equal(offset, cpu_offset);
        }
}

static void dropout_masks_are_the_same_everywhere(void **state) {
    wick_tensor *x = noise(8, CPU, SIZES(9, 11)), *dx = to(x, DEVICE);
    wick_manual_seed(C, 3);
    wick_tensor *got = wick_dropout(C, dx, 0.4, true);
    wick_manual_seed(C, 3);
    assert_near(got, wick_dropout(C, x, 0.4, true), 1e-6, "dropout");
}

/* ---- a transformer block: embedding, attention, layer norm, GELU, cross-entropy ---- */
enum { VOCABULARY = 11, WIDTH = 8, HEADS = 2, LENGTH = 6, BATCH = 3, PARAMETERS = 9 };

typedef struct block {
    wick_tensor *parameters[PARAMETERS]; /* kept */
    wick_tensor *tokens, *targets;
} block;

static wick_tensor *integers(unsigned seed, wick_device device) {
    int64_t values[BATCH * LENGTH];
    for (int i = 0; i < BATCH * LENGTH; ++i) values[i] = (seed = seed * 1103515245u + 12345u) >> 16 & 7;
    return wick_tensor_from_host(C, values, WICK_I64, SIZES(BATCH, LENGTH), device);
}

static void block_create(block *b, wick_device device) {
    const struct {
        size_t ndim;
        wick_dim sizes[2];
    } shapes[PARAMETERS] = {{2, {VOCABULARY, WIDTH}},
                            {1, {WIDTH}},
                            {1, {WIDTH}},
                            {2, {3 * WIDTH, WIDTH}},
                            {2, {WIDTH, WIDTH}},
                            {2, {4 * WIDTH, WIDTH}},
                            {1, {4 * WIDTH}},
                            {2, {WIDTH, 4 * WIDTH}},
                            {1, {WIDTH}}};
    for (int i = 0; i < PARAMETERS; ++i) {
        wick_tensor *t = noise((unsigned)i + 20, device, shapes[i].ndim, shapes[i].sizes);
        b->parameters[i] = wick_keep(C, wick_set_requires_grad(C, t, true));
    }
    b->tokens = integers(1, device), b->targets = integers(2, device);
    assert_healthy();
}

static void block_free(block *b) {
    for (int i = 0; i < PARAMETERS; ++i) wick_release(b->parameters[i]);
}

static wick_tensor *attend(wick_tensor *x, wick_tensor *in, wick_tensor *out) {
    wick_tensor *parts[3], *all = wick_linear(C, x, in, NULL);
    for (int i = 0; i < 3; ++i) {
        wick_tensor *part = wick_narrow(C, all, -1, i * WIDTH, WIDTH);
        parts[i] = wick_transpose(C, wick_reshape(C, part, DIMS(BATCH, LENGTH, HEADS, WIDTH / HEADS)), 1, 2);
    }
    wick_scaled_dot_product_attention_options o = WICK_SCALED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
    o.is_causal = true;
    wick_tensor *mixed = wick_scaled_dot_product_attention(C, parts[0], parts[1], parts[2], NULL, &o);
    return wick_linear(C, wick_reshape(C, wick_transpose(C, mixed, 1, 2), DIMS(BATCH, LENGTH, WIDTH)), out, NULL);
}

static wick_tensor *block_loss(const block *b) {
    wick_tensor *const *p = b->parameters;
    wick_tensor *x = wick_embedding(C, p[0], b->tokens, NULL);
    wick_tensor *norm = wick_layer_norm(C, x, DIMS(WIDTH), p[1], p[2], NULL);
    x = wick_add(C, x, attend(norm, p[3], p[4]), NULL);
    wick_tensor *hidden =
        wick_gelu(C, wick_linear(C, wick_layer_norm(C, x, DIMS(WIDTH), p[1], p[2], NULL), p[5], p[6]), NULL);
    x = wick_add(C, x, wick_linear(C, wick_dropout(C, hidden, 0, true), p[7], p[8]), NULL);
    wick_tensor *scores = wick_reshape(C, wick_matmul(C, x, wick_t(C, p[0])), DIMS(BATCH * LENGTH, VOCABULARY));
    return wick_cross_entropy_loss(C, scores, wick_reshape(C, b->targets, DIMS(BATCH * LENGTH)), NULL, NULL);
}

/* Losses of a few steps. */
enum { STEPS = 4 };
static void block_train(block *b, const char *optimizer, double *losses) {
    wick_option lr = {"lr", strcmp(optimizer, "sgd") == 0 ? 0.05 : 0.005};
    wick_optimizer *o = wick_optimizer_create(C, optimizer, b->parameters, PARAMETERS, &lr, 1);
    for (int i = 0; i < STEPS && !wick_failed(C); ++i) {
        wick_scope scope = wick_scope_open(C);
        wick_tensor *loss = block_loss(b);
        losses[i] = wick_item(C, loss);
        wick_optimizer_zero_grad(C, o);
        wick_backward(C, loss);
        wick_optimizer_step(C, o);
        wick_scope_close(C, scope);
    }
    wick_optimizer_free(o);
    assert_healthy();
}

static void training_steps_agree_with_the_cpu(void **state) {
    const char *const optimizers[] = {"sgd", "adam", "adamw"};
    for (size_t k = 0; k < 3; ++k) {
        block here, there;
        double got[STEPS], wanted[STEPS];
        block_create(&here, DEVICE), block_create(&there, CPU);
        block_train(&here, optimizers[k], got), block_train(&there, optimizers[k], wanted);
        assert_true(wanted[STEPS - 1] < wanted[0]);
        for (int i = 0; i < STEPS; ++i)
            if (!(fabs(got[i] - wanted[i]) <= 1e-5 * wanted[i]))
                fail_msg("%s, step %d: loss %.8f, wanted %.8f", optimizers[k], i, got[i], wanted[i]);
        for (int i = 0; i < PARAMETERS; ++i) assert_near(here.parameters[i], there.parameters[i], 1e-4, optimizers[k]);
        block_free(&here), block_free(&there);
    }
}

static void gradients_agree_with_the_cpu(void **state) {
    block here, there;
    block_create(&here, DEVICE), block_create(&there, CPU);
    assert_true(wick_backward(C, block_loss(&here)));
    assert_true(wick_backward(C, block_loss(&there)));
    for (int i = 0; i < PARAMETERS; ++i)
        assert_near(wick_grad_of(here.parameters[i]), wick_grad_of(there.parameters[i]), 1e-5, "gradient");
    block_free(&here), block_free(&there);
}

/* ---- errors ---- */
static void errors_name_what_is_wrong(void **state) {
    wick_tensor *x = noise(9, DEVICE, SIZES(2, 3));
    assert_null(wick_add(C, x, noise(9, DEVICE, SIZES(4)), NULL));
    assert_failed(WICK_INVALID_ARGUMENT, "must match the size of tensor b (4)");
    assert_null(wick_mm(C, x, x));
    wick_status *status = wick_status_take(C);
    assert_non_null(status);
    wick_status_free(status);
    assert_same(wick_mul(C, x, x), wick_mul(C, to(x, CPU), to(x, CPU))); /* the context goes on */
}

static void too_large_a_tensor_is_out_of_memory(void **state) {
    wick_empty_options o = WICK_EMPTY_OPTIONS_INIT;
    o.device = DEVICE;
    assert_null(wick_empty(C, DIMS(INT64_C(1) << 57), &o));
    assert_failed(WICK_OUT_OF_MEMORY, "cannot allocate");
    assert_non_null(wick_empty(C, DIMS(16), &o));
}

static void memory_is_counted(void **state) {
    uint64_t before, used, peak;
    wick_memory_stats(RT, DEVICE, &before, NULL, NULL);
    wick_tensor *t = noise(1, DEVICE, SIZES(1024));
    wick_memory_stats(RT, DEVICE, &used, &peak, NULL);
    assert_true(used >= before + 4096 && peak >= used);
    wick_drop(C, t);
    wick_memory_stats(RT, DEVICE, &used, NULL, NULL);
    assert_int_equal(used, before);
}

/* Loads the CPU's plugin and the device's: the reference device from the build folder, others as they are installed. */
static void ini_of(const char *device, char *ini, size_t bytes) {
    int name = (int)strcspn(device, ":");
    snprintf(ini, bytes, CPU_SECTION);
    if (name == 3 && strncmp(device, "ref", 3) == 0)
        snprintf(ini, bytes, CPU_SECTION PLUGIN("refdevice", "refdevice"));
    else if (name != 3 || strncmp(device, "cpu", 3) != 0)
        snprintf(ini, bytes, CPU_SECTION "[plugin.%.*s]\n", name, device);
}

static int run_on(const char *device) {
    const struct CMUnitTest tests[] = {
        CASE(copies_of_all_dtypes),
        CASE(copies_change_dtypes),
        CASE(complex_sums),
        CASE(strided_copies),
        CASE(empty_and_scalar_tensors),
        CASE(views_share_memory),
        CASE(in_place_forms),
        CASE(operators_agree_with_the_cpu),
        CASE(random_numbers_are_the_same_everywhere),
        CASE(dropout_masks_are_the_same_everywhere),
        CASE(gradients_agree_with_the_cpu),
        CASE(training_steps_agree_with_the_cpu),
        CASE(errors_name_what_is_wrong),
        CASE(too_large_a_tensor_is_out_of_memory),
        CASE(memory_is_counted),
    };
    char ini[512];
    ini_of(device, ini, sizeof ini);
    print_message("device %s\n", device);
    open_runtime(ini, device);
    int failures = cmocka_run_group_tests_name(device, tests, NULL, NULL);
    close_runtime();
    return failures;
}

int main(int argc, char **argv) {
    char list[256];
    const char *environment = getenv("WICK_TEST_DEVICES");
    int failures = 0;
    snprintf(list, sizeof list, "%s", environment ? environment : "cpu ref ref:1");
    for (int i = 1; i < argc; ++i) failures += run_on(argv[i]);
    for (char *d = argc > 1 ? NULL : strtok(list, " ,"); d; d = strtok(NULL, " ,")) failures += run_on(d);
    return failures;
}
