/* What a plugin registers beside a backend: operators, names, keys; all of it or nothing. */
#include "plug.h"

static int seen[8]; /* what callbacks counted; see each test */

static int registrar_start(void **state) {
    memset(seen, 0, sizeof seen);
    return plug_start(state);
}
#define REG_CASE(name) cmocka_unit_test_setup_teardown(name, registrar_start, plug_end)

/* ---- pointwise operators ---- */
static bool twice_compose(void *instance, wick_context *c, const wick_value *values, wick_value *rets) {
    assert_ptr_equal(instance, plug_last);
    wick_tensor *x = values[0].as.tensor;
    seen[0]++;
    return (rets[0] = V(wick_add(c, x, x, NULL))).as.tensor != NULL;
}
static bool twice_backward(const wick_backward_call *call) {
    assert_ptr_equal(call->instance, plug_last);
    assert_int_equal(call->nargs, 1);
    assert_int_equal(call->nouts, 1);
    assert_true(call->needs_grad[0]);
    assert_true(wick_value_is_none(&call->values[0])); /* `saves` names nothing */
    assert_true(wick_value_is_none(&call->results[0]));
    seen[1]++;
    call->grad_inputs[0] = wick_mul_scalar(call->context, call->grad_outputs[0], wick_value_float(2));
    return call->grad_inputs[0] != NULL;
}

static const wick_operator_row twice_rows[] = {
    {sizeof(wick_operator_row), WICK_OPERATOR_POINTWISE | WICK_OPERATOR_INPLACE | WICK_OPERATOR_OUT,
     "my::twice(Tensor x) -> Tensor", NULL, twice_compose, twice_backward, NULL}};

static wick_status *register_twice(plug *p) { return p->host->register_operators(p->registrar, ROWS(twice_rows), p); }

static void test_pointwise_operator(void **state) {
    assert_null(wick_op_find(RT, "my::twice"));
    assert_ok(plug_in("a", register_twice));
    wick_tensor *x = LEAF(1, 2), *y = CALL("my::twice", V(x));
    ASSERT_VALUES(y, 2, 4);
    backward_sum(y);
    ASSERT_GRAD(x, 2, 2);
    assert_int_equal(seen[0], 1);
    assert_int_equal(seen[1], 1);
}

static void test_derived_forms(void **state) {
    assert_ok(plug_in("a", register_twice));
    wick_tensor *x = T(1, 2), *out = T(0), *again = CALL("my::twice_", V(x));
    assert_ptr_equal(again, x);
    ASSERT_VALUES(x, 2, 4);
    assert_int_equal(wick_version(x), 1);
    assert_ptr_equal(CALL("my::twice.out", V(x), V(out)), out);
    ASSERT_VALUES(out, 4, 8);
    wick_op_info info = {.struct_size = sizeof info};
    wick_op_describe(wick_op_find(RT, "my::twice.out"), &info);
    assert_string_equal(info.schema, "my::twice.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)");
}

static void test_in_place_form_has_a_gradient(void **state) {
    assert_ok(plug_in("a", register_twice));
    wick_tensor *x = LEAF(1, 2), *y = wick_clone(C, x, NULL);
    CALL("my::twice_", V(y));
    backward_sum(y);
    ASSERT_GRAD(x, 2, 2);
}

/* ---- flags of pointwise operators, with kernels for the CPU ---- */
static wick_status *half_kernel(const wick_kernel_call *call) {
    seen[0] = (int)call->compute_dtype;
    wick_tensor *x = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, 0);
    if (out->dtype == WICK_F64)
        for (int64_t i = 0; i < out->numel; ++i) doubles(out)[i] = doubles(x)[i] / 2;
    else
        for (int64_t i = 0; i < out->numel; ++i) ((float *)wick_data(out))[i] = ((float *)wick_data(x))[i] / 2;
    return NULL;
}
static wick_status *positive_kernel(const wick_kernel_call *call) {
    wick_tensor *x = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, 0);
    assert_int_equal(out->dtype, WICK_BOOL);
    for (int64_t i = 0; i < out->numel; ++i) ((bool *)wick_data(out))[i] = doubles(x)[i] > 0;
    return NULL;
}

static wick_status *register_flags(plug *p) {
    static const wick_operator_row rows[] = {
        {sizeof(wick_operator_row), WICK_OPERATOR_POINTWISE | WICK_OPERATOR_PROMOTE_FLOAT,
         "my::half(Tensor x) -> Tensor", NULL, NULL, NULL, NULL},
        {sizeof(wick_operator_row), WICK_OPERATOR_POINTWISE | WICK_OPERATOR_BOOL_RESULT,
         "my::positive(Tensor x) -> Tensor", NULL, NULL, NULL, NULL}};
    static const wick_kernel_row kernels[] = {
        WICK_KERNEL_ROW("my::half(Tensor x) -> Tensor", half_kernel, 0, WICK_KERNEL_CONTIGUOUS),
        WICK_KERNEL_ROW("my::positive", positive_kernel, WICK_DTYPE_BIT(WICK_F64), WICK_KERNEL_CONTIGUOUS)};
    WICK_TRY(p->host->register_operators(p->registrar, ROWS(rows), p));
    return p->host->register_kernels(p->registrar, "cpu", ROWS(kernels), p);
}

static void test_flags_of_pointwise_operators(void **state) {
    assert_ok(plug_in("a", register_flags));
    wick_tensor *integers = wick_to_dtype(C, T(1, 2), WICK_I64, NULL), *y = CALL("my::half", V(integers));
    assert_int_equal(y->dtype, WICK_F32);
    assert_int_equal(seen[0], WICK_F32);
    ASSERT_VALUES(y, 0.5, 1);
    y = CALL("my::positive", V(T(-1, 1)));
    assert_int_equal(y->dtype, WICK_BOOL);
    ASSERT_VALUES(y, 0, 1);
    wick_tensor *x = LEAF(1);
    y = CALL("my::half", V(x)); /* no gradient rule: recorded as what cannot be differentiated */
    assert_false(backward_sum(y));
    assert_failed("my::half");
}

/* ---- shape rules ---- */
static wick_status *grid_infer(wick_infer_call *call) {
    assert_ptr_equal(call->instance, plug_last);
    assert_int_equal(call->nargs, 2);
    assert_int_equal(call->nouts, 2);
    const int64_t n = call->values[1].as.i;
    const wick_tensor *x = call->values[0].as.tensor;
    if (n < 0)
        return WICK_HOST_ERROR(call->host, WICK_INVALID_ARGUMENT, "got n = %lld, wanted 0 or more", (long long)n);
    if (n == 99) return NULL; /* forgets to fill in */
    call->outs[0] = (wick_meta){.dtype = WICK_F64, .ndim = 2};
    call->outs[0].sizes[0] = n;
    call->outs[0].sizes[1] = x->numel;
    call->outs[1] = (wick_meta){.dtype = WICK_I64, .ndim = 0};
    call->compute_dtype = WICK_F64;
    return NULL;
}

static wick_status *grid_kernel(const wick_kernel_call *call) {
    const wick_tensor *x = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, 0), *count = wick_out_tensor(call, 1);
    assert_int_equal(x->dtype, WICK_F64);
    assert_int_equal(call->compute_dtype, WICK_F64);
    for (int64_t i = 0; i < out->numel; ++i) doubles(out)[i] = doubles(x)[i % x->numel];
    *(int64_t *)wick_data(count) = out->numel;
    return NULL;
}

static wick_status *register_grid(plug *p) {
    static const wick_operator_row row = {
        sizeof row, 0, "my::grid(Tensor x, int n=2) -> (Tensor, Tensor)", grid_infer, NULL, NULL, NULL};
    static const wick_kernel_row kernel = WICK_KERNEL_ROW("my::grid", grid_kernel, 0, WICK_KERNEL_CONTIGUOUS);
    WICK_TRY(p->host->register_operators(p->registrar, &row, 1, p));
    return p->host->register_kernels(p->registrar, "cpu", &kernel, 1, p);
}

static bool grid(wick_tensor *x, int64_t n, wick_value rets[2]) {
    const wick_value args[] = {V(x), wick_value_int(n)};
    return wick_call(C, wick_op_find(RT, "my::grid"), args, n == 2 ? 1 : 2, rets, 2);
}

static void test_shape_rule(void **state) {
    wick_value rets[2];
    assert_ok(plug_in("a", register_grid));
    assert_true(grid(wick_to_dtype(C, T(1, 2), WICK_I32, NULL), 2, rets));
    ASSERT_SIZES(rets[0].as.tensor, 2, 2);
    ASSERT_VALUES(rets[0].as.tensor, 1, 2, 1, 2);
    ASSERT_VALUES(rets[1].as.tensor, 4);
    assert_false(grid(T(1), -1, rets));
    assert_failed("my::grid: got n = -1, wanted 0 or more");
    assert_false(grid(T(1), 99, rets));
    assert_failed("my::grid: its shape rule gave output 0 dtype 0");
    /* The meta device needs no more than the rule. */
    wick_device meta;
    assert_ok(wick_runtime_device(RT, "meta", &meta));
    assert_true(grid(wick_to_device(C, T(1, 2, 3), meta, WICK_F64, NULL), 4, rets));
    ASSERT_SIZES(rets[0].as.tensor, 4, 3);
}

/* ---- decompositions ---- */
static bool sum_of_squares(void *instance, wick_context *c, const wick_value *values, wick_value *rets) {
    wick_tensor *x = values[0].as.tensor;
    return (rets[0] = V(wick_sum(c, wick_mul(c, x, x), NULL))).as.tensor != NULL;
}
static bool silent_compose(void *instance, wick_context *c, const wick_value *values, wick_value *rets) {
    return false;
}
static wick_status *register_composites(plug *p) {
    static const wick_operator_row rows[] = {
        {sizeof(wick_operator_row), 0, "my::squares(Tensor x) -> Tensor", NULL, sum_of_squares, NULL, NULL},
        {sizeof(wick_operator_row), 0, "my::silent(Tensor x) -> Tensor", NULL, silent_compose, NULL, NULL},
        {sizeof(wick_operator_row), WICK_OPERATOR_NOT_DIFFERENTIABLE, "my::plain(Tensor x) -> Tensor", NULL,
         sum_of_squares, NULL, NULL}};
    return p->host->register_operators(p->registrar, ROWS(rows), p);
}

static void test_decomposition_alone_needs_no_gradient(void **state) {
    assert_ok(plug_in("a", register_composites));
    wick_tensor *x = LEAF(1, 2, 3), *y = CALL("my::squares", V(x));
    ASSERT_VALUES(y, 14);
    wick_backward(C, y);
    ASSERT_GRAD(x, 2, 4, 6);
    wick_op_info info = {.struct_size = sizeof info};
    wick_op_describe(wick_op_find(RT, "my::squares"), &info);
    assert_int_equal(info.kind, WICK_OP_IMPLICIT);
    assert_int_equal(info.differentiable, 1);
    assert_null(CALL("my::silent", V(x)));
    assert_failed("my::silent: its decomposition failed without an error");
    assert_false(wick_requires_grad(CALL("my::plain", V(x))));
}

/* ---- a decomposition that returns its argument: the result of a row with a gradient is new all the same ---- */
static bool same_compose(void *instance, wick_context *c, const wick_value *values, wick_value *rets) {
    rets[0] = values[0];
    return true;
}
static bool first_compose(void *instance, wick_context *c, const wick_value *values, wick_value *rets) {
    rets[0] = V(values[0].as.tensors[0]);
    return true;
}
static bool same_backward(const wick_backward_call *call) {
    assert_non_null(call->results[0].as.tensor);
    call->grad_inputs[0] = call->grad_outputs[0];
    return true;
}

static wick_status *register_same(plug *p) {
    static const wick_operator_row rows[] = {
        {sizeof(wick_operator_row), 0, "my::same(Tensor x) -> Tensor", NULL, same_compose, same_backward, "result"},
        {sizeof(wick_operator_row), 0, "my::first(Tensor[] list) -> Tensor", NULL, first_compose, same_backward,
         "result"}};
    return p->host->register_operators(p->registrar, ROWS(rows), p);
}

/* That nothing keeps itself alive is checked at the end: no object may be left. */
static void test_decomposition_that_returns_its_argument(void **state) {
    assert_ok(plug_in("a", register_same));
    wick_tensor *x = LEAF(1, 2), *y = CALL("my::same", V(x));
    assert_ptr_not_equal(y, x);
    assert_true(wick_is_leaf(x) && !wick_is_leaf(y));
    assert_false(wick_shares_storage(x, y));
    backward_sum(SCALED(y, 3));
    ASSERT_GRAD(x, 3, 3);
    y = CALL("my::same", V(SCALED(x, 2)));
    ASSERT_VALUES(y, 2, 4);
    y = CALL("my::first", wick_value_tensors((wick_tensor *[]){x, y}, 2));
    assert_ptr_not_equal(y, x);
    assert_true(wick_is_leaf(x));
}

/* ---- gradients: x^3, from x and the result ---- */
static bool cube_compose(void *instance, wick_context *c, const wick_value *values, wick_value *rets) {
    wick_tensor *x = values[0].as.tensor;
    return (rets[0] = V(wick_mul(c, x, wick_mul(c, x, x)))).as.tensor != NULL;
}
static bool cube_backward(const wick_backward_call *call) {
    wick_context *c = call->context;
    wick_tensor *x = call->values[0].as.tensor, *y = call->results[0].as.tensor;
    assert_non_null(x);
    assert_non_null(y);
    assert_true(wick_value_is_none(&call->values[1]));
    seen[0]++;
    seen[1] += call->needs_grad[1];
    /* 3 x^2 as 3 y / x, so that both are used. */
    wick_tensor *slope = wick_mul_scalar(c, wick_div(c, y, x), wick_value_float(3));
    call->grad_inputs[0] = wick_mul(c, call->grad_outputs[0], slope);
    return call->grad_inputs[0] != NULL;
}
static bool silent_backward(const wick_backward_call *call) { return false; }

static wick_status *register_cube(plug *p) {
    static const wick_operator_row rows[] = {
        {sizeof(wick_operator_row), 0, "my::cube(Tensor x, Tensor? unused=None) -> Tensor", NULL, cube_compose,
         cube_backward, "x result"},
        {sizeof(wick_operator_row), 0, "my::mute(Tensor x) -> Tensor", NULL, cube_compose, silent_backward, NULL}};
    return p->host->register_operators(p->registrar, ROWS(rows), p);
}

static void test_gradient_rule(void **state) {
    assert_ok(plug_in("a", register_cube));
    wick_tensor *x = LEAF(1, 2), *y = CALL("my::cube", V(x), V(T(7)));
    ASSERT_VALUES(y, 1, 8);
    backward_sum(y);
    ASSERT_GRAD(x, 3, 12);
    assert_int_equal(seen[0], 1);
    assert_int_equal(seen[1], 0);
    x = LEAF(1);
    assert_false(backward_sum(CALL("my::mute", V(x))));
    assert_failed("my::mute: its gradient rule failed without an error");
}

static void test_gradient_of_a_gradient(void **state) {
    assert_ok(plug_in("a", register_cube));
    wick_tensor *x = LEAF(2, 3), *sum = SUM(CALL("my::cube", V(x))), *first, *second;
    assert_true(wick_grad(C, &sum, NULL, 1, &x, 1, WICK_CREATE_GRAPH, &first));
    ASSERT_VALUES(first, 12, 27);
    sum = SUM(first);
    assert_true(wick_grad(C, &sum, NULL, 1, &x, 1, WICK_CREATE_GRAPH, &second));
    ASSERT_VALUES(second, 12, 18);
    sum = SUM(second);
    assert_true(wick_grad(C, &sum, NULL, 1, &x, 1, 0, &first));
    ASSERT_VALUES(first, 6, 6);
}

static void test_saved_tensors_are_watched(void **state) {
    assert_ok(plug_in("a", register_cube));
    wick_tensor *x = wick_clone(C, LEAF(2), NULL), *y = CALL("my::cube", V(x));
    wick_add_(C, x, T(1), NULL);
    assert_false(backward_sum(y));
    assert_failed("modified by an inplace operation");
}

/* ---- random operators and fallback ---- */
static wick_status *noise_infer(wick_infer_call *call) {
    const wick_tensor *x = call->values[0].as.tensor;
    call->outs[0] = (wick_meta){.dtype = x->dtype, .ndim = x->ndim};
    memcpy(call->outs[0].sizes, x->sizes, sizeof *x->sizes * x->ndim);
    return NULL;
}
static wick_status *noise_kernel(const wick_kernel_call *call) {
    const wick_tensor *out = wick_out_tensor(call, 0);
    for (int64_t i = 0; i < out->numel; ++i) doubles(out)[i] = (double)call->philox->offset;
    return NULL;
}
static wick_status *register_noise(plug *p) {
    static const wick_operator_row rows[] = {
        {sizeof(wick_operator_row), WICK_OPERATOR_RANDOM | WICK_OPERATOR_NO_FALLBACK, "my::noise(Tensor x) -> Tensor",
         noise_infer, NULL, NULL, NULL},
        {sizeof(wick_operator_row), 0, "my::safe(Tensor x) -> Tensor", noise_infer, NULL, NULL, NULL}};
    static const wick_kernel_row kernels[] = {WICK_KERNEL_ROW("my::noise", noise_kernel, 0, 0),
                                              WICK_KERNEL_ROW("my::safe", noise_kernel, 0, 0)};
    WICK_TRY(p->host->register_operators(p->registrar, ROWS(rows), p));
    WICK_TRY(p->host->register_kernels(p->registrar, "cpu", ROWS(kernels), p));
    return plug_device(p, NULL, 0);
}

static void test_random_and_fallback(void **state) {
    uint64_t before, after, seed;
    assert_ok(plug_in_with("a", register_noise, "fallback = cpu"));
    wick_rng_get(C, &seed, &before);
    CALL("my::noise", V(T(1, 2, 3, 4, 5)));
    wick_rng_get(C, &seed, &after);
    assert_int_equal(after - before, 2); /* five numbers: two blocks of four */
    wick_tensor *x = there(T(1, 2));
    assert_non_null(CALL("my::safe", V(x)));
    assert_int_equal(wick_op_fallbacks(RT, wick_op_find(RT, "my::safe"), dev(0).type), 1);
    assert_null(CALL("my::noise", V(x)));
    assert_failed("my::noise has no kernel on device dev");
}

/* ---- rows that are wrong ---- */
static const wick_operator_row *bad_row;
static wick_status *register_bad(plug *p) {
    WICK_TRY(register_twice(p));
    WICK_TRY(p->host->register_operators(p->registrar, bad_row, 1, p));
    return NULL;
}

static void test_bad_rows(void **state) {
    static const struct {
        wick_operator_row row;
        const char *error;
    } cases[] = {
        {{sizeof(wick_operator_row), 0, NULL, NULL, cube_compose, NULL, NULL}, "a row has no schema"},
        {{16, 0, "my::x(Tensor x) -> Tensor", NULL, cube_compose, NULL, NULL},
         "my::x(Tensor x) -> Tensor: got a row of 16 bytes, wanted 48"},
        {{sizeof(wick_operator_row), 0, "x(Tensor x) -> Tensor", NULL, cube_compose, NULL, NULL},
         "got \"x(Tensor x) -> Tensor\", wanted NAMESPACE::NAME(...)"},
        {{sizeof(wick_operator_row), 0, "aten::x(Tensor x) -> Tensor", NULL, cube_compose, NULL, NULL},
         "wanted NAMESPACE::NAME(...)"},
        {{sizeof(wick_operator_row), 0, "my::x", NULL, cube_compose, NULL, NULL}, "my::x"},
        {{sizeof(wick_operator_row), 0, "my::x(Tensr x) -> Tensor", NULL, cube_compose, NULL, NULL}, "Tensr"},
        {{sizeof(wick_operator_row), 0, "my::x(Tensor x) -> Tensor", NULL, NULL, NULL, NULL},
         "wanted infer, compose or the flag POINTWISE"},
        {{sizeof(wick_operator_row), 0, "my::x(Tensor x) -> Tensor", NULL, cube_compose, cube_backward, "y"},
         "cannot read \"y\" in its saves"},
        {{sizeof(wick_operator_row), 0, "my::twice(Tensor x) -> Tensor", NULL, cube_compose, NULL, NULL},
         "operator my::twice is registered already"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        bad_row = &cases[i].row;
        assert_error(plug_in("bad", register_bad), cases[i].error);
        assert_int_equal(plug_info()->state, WICK_BACKEND_REFUSED);
        assert_null(wick_op_find(RT, "my::twice"));
        assert_null(wick_op_find(RT, "my::x"));
    }
    assert_ok(plug_in("good", register_twice));
    ASSERT_VALUES(CALL("my::twice", V(T(1))), 2);
}

/* ---- two plugins ---- */
static wick_status *register_second(plug *p) {
    static const wick_operator_row rows[] = {
        {sizeof(wick_operator_row), 0, "my::other(Tensor x) -> Tensor", NULL, cube_compose, NULL, NULL},
        {sizeof(wick_operator_row), 0, "my::twice(Tensor x) -> Tensor", NULL, cube_compose, NULL, NULL}};
    wick_dtype dtype;
    static const wick_dtype_row row = {sizeof row, 4, "second.four"};
    WICK_TRY(p->host->register_dtype(p->registrar, &row, &dtype));
    return p->host->register_operators(p->registrar, ROWS(rows), p);
}

static void test_the_second_of_the_same_name_is_refused(void **state) {
    assert_ok(plug_in("first", register_twice));
    plug *first = plug_last;
    assert_error(plug_in("second", register_second), "operator my::twice is registered already");
    assert_string_equal(plug_info()->stage, "probe");
    assert_null(wick_op_find(RT, "my::other"));
    assert_int_equal(wick_runtime_dtype(RT, "second.four"), WICK_DTYPE_NONE);
    plug_last = first;
    ASSERT_VALUES(CALL("my::twice", V(T(4))), 8);
}

static int count_operators(void) {
    int n = 0;
    while (wick_op_at(RT, n)) ++n;
    return n;
}

static void test_operators_of_many_plugins(void **state) {
    int before = count_operators();
    assert_ok(plug_in("a", register_cube));
    assert_ok(plug_in("b", register_composites));
    assert_ok(plug_in("c", register_twice));
    assert_int_equal(count_operators(), before + 2 + 3 + 3);
    for (int i = 1; wick_op_at(RT, i); ++i) {
        wick_op_info a = {.struct_size = sizeof a}, b = {.struct_size = sizeof b};
        wick_op_describe(wick_op_at(RT, i - 1), &a);
        wick_op_describe(wick_op_at(RT, i), &b);
        assert_true(strcmp(a.name, b.name) < 0);
    }
    ASSERT_VALUES(CALL("my::cube", V(T(2))), 8);
    ASSERT_VALUES(CALL("my::squares", V(T(1, 2))), 5);
    ASSERT_VALUES(CALL("my::twice", V(T(4))), 8);
}

/* ---- element types ---- */
static wick_dtype made[20];
static const wick_dtype_row dtype_rows[] = {{sizeof(wick_dtype_row), 4, "my.quad"},
                                            {sizeof(wick_dtype_row), 16, "my.wide"}};

static wick_status *register_dtypes(plug *p) {
    for (int i = 0; i < 2; ++i) WICK_TRY(p->host->register_dtype(p->registrar, &dtype_rows[i], &made[i]));
    return plug_device(p, NULL, 0);
}

static void test_dtypes(void **state) {
    assert_ok(plug_in("a", register_dtypes));
    assert_int_equal(wick_runtime_dtype(RT, "my.quad"), made[0]);
    assert_string_equal(wick_runtime_dtype_name(RT, made[1]), "my.wide");
    assert_int_equal(wick_dtype_bytes(made[0]), 4);
    assert_int_equal(wick_dtype_bytes(made[1]), 16);
    assert_true(made[0] != made[1]);
    assert_int_equal(wick_runtime_dtype(RT, "f32"), WICK_F32);
    assert_int_equal(wick_runtime_dtype(RT, "my.none"), WICK_DTYPE_NONE);
    assert_string_equal(wick_runtime_dtype_name(RT, (wick_dtype)(WICK_DTYPE_REGISTERED | 5)), "invalid");
    assert_int_equal(wick_dtype_promote(made[0], made[0]), made[0]);
    assert_int_equal(wick_dtype_promote(made[0], WICK_F32), WICK_DTYPE_NONE);
    assert_false(wick_dtype_is_floating(made[0]));
    assert_false(wick_dtype_is_differentiable(made[0]));
}

static void test_tensors_of_a_registered_dtype(void **state) {
    assert_ok(plug_in("a", register_dtypes));
    const uint32_t values[] = {1, 2, 0xdeadbeef, 4};
    uint32_t got[4] = {0};
    wick_tensor *x = wick_tensor_from_host(C, values, made[0], 2, (const wick_dim[]){2, 2}, CPU);
    assert_healthy();
    wick_tensor *moved = wick_to_device(C, x, dev(1), made[0], NULL);
    wick_tensor *back = wick_to_device(C, moved, CPU, made[0], NULL);
    assert_healthy();
    assert_int_equal(moved->dtype, made[0]);
    assert_ok(wick_tensor_to_host(C, back, got, sizeof got));
    assert_memory_equal(got, values, sizeof got);
    /* Views and copies. */
    wick_tensor *copy = wick_clone(C, wick_transpose(C, x, 0, 1), NULL);
    assert_healthy();
    assert_ok(wick_tensor_to_host(C, wick_contiguous(C, copy, NULL), got, sizeof got));
    assert_int_equal(got[1], 0xdeadbeef);
    /* Arithmetic is nobody's. */
    assert_null(wick_add(C, x, x, NULL));
    assert_failed("add.Tensor");
    assert_null(wick_add(C, x, wick_to_dtype(C, T(1), WICK_F32, NULL), NULL));
    assert_failed("add.Tensor");
}

static wick_status *register_three_bytes(plug *p) {
    static const wick_dtype_row row = {sizeof row, 3, "my.three"};
    return p->host->register_dtype(p->registrar, &row, &made[0]);
}
static wick_status *register_own_name(plug *p) {
    static const wick_dtype_row row = {sizeof row, 4, "torch.float32"};
    return p->host->register_dtype(p->registrar, &row, &made[0]);
}
static wick_status *register_no_name(plug *p) {
    static const wick_dtype_row row = {sizeof row, 4, NULL};
    return p->host->register_dtype(p->registrar, &row, &made[0]);
}
static wick_status *register_same_twice(plug *p) {
    WICK_TRY(p->host->register_dtype(p->registrar, &dtype_rows[0], &made[0]));
    return p->host->register_dtype(p->registrar, &dtype_rows[0], &made[0]);
}
static char many_names[2][16][16];
static int many_round;
static wick_status *register_sixteen(plug *p) {
    for (int i = 0; i < 16; ++i) {
        snprintf(many_names[many_round][i], sizeof many_names[0][0], "my.%c%d", 'a' + many_round, i);
        const wick_dtype_row row = {sizeof row, 2, many_names[many_round][i]};
        WICK_TRY(p->host->register_dtype(p->registrar, &row, &made[i]));
    }
    return NULL;
}

static void test_limits_of_dtypes(void **state) {
    assert_error(plug_in("a", register_three_bytes), "wanted a row of 1, 2, 4, 8 or 16 bytes");
    assert_error(plug_in("a", register_own_name), "torch.float32 is the core's own");
    assert_error(plug_in("a", register_no_name), "register_dtype: wanted a name of 1 to 63 bytes");
    assert_error(plug_in("a", register_same_twice), "register_dtype: \"my.quad\" is registered already");
    assert_int_equal(wick_runtime_dtype(RT, "my.quad"), WICK_DTYPE_NONE);
    many_round = 0;
    assert_ok(plug_in("b", register_sixteen));
    for (int i = 1; i < 16; ++i) assert_true(made[i] != made[i - 1] && wick_dtype_bytes(made[i]) == 2);
    many_round = 1;
    assert_error(plug_in("c", register_sixteen), "register_dtype: more than 16 types of 2 bytes");
    assert_ok(plug_in("d", register_dtypes)); /* of other sizes there is room */
    assert_error(plug_in("e", register_dtypes), "register_dtype: \"my.quad\" is registered already");
}

/* ---- layouts ---- */
static uint32_t layouts[2];
static wick_status *register_layouts(plug *p) {
    WICK_TRY(p->host->register_layout(p->registrar, "my.blocked", &layouts[0]));
    return p->host->register_layout(p->registrar, "my.tiled", &layouts[1]);
}

static void test_layouts(void **state) {
    assert_ok(plug_in("a", register_layouts));
    assert_true(layouts[0] != layouts[1] && layouts[0] != WICK_STRIDED);
    assert_int_equal(wick_runtime_layout(RT, "my.blocked"), layouts[0]);
    assert_int_equal(wick_runtime_layout(RT, "my.tiled"), layouts[1]);
    assert_int_equal(wick_runtime_layout(RT, "my.none"), WICK_STRIDED);
    assert_error(plug_in("b", register_layouts), "register_layout: \"my.blocked\" is registered already");
}

/* ---- features ---- */
static const int feature_one = 1, feature_two = 2;
static const void *found[3];
static void *found_instance;

static wick_status *publish_features(plug *p) {
    WICK_TRY(p->host->publish(p->registrar, "my.feature", 1, &feature_one, p));
    return p->host->publish(p->registrar, "my.feature", 2, &feature_two, p);
}
static wick_status *find_features(plug *p) {
    for (uint32_t i = 0; i < 3; ++i)
        found[i] = p->host->find(p->registrar, "my.feature", i + 1, i ? NULL : &found_instance);
    return register_twice(p);
}
static wick_status *publish_null(plug *p) { return p->host->publish(p->registrar, "my.null", 1, NULL, p); }

static void test_features(void **state) {
    void *instance = NULL;
    assert_ok(plug_in("early", find_features));
    assert_null(found[0]);
    assert_ok(plug_in("a", publish_features));
    const plug *publisher = plug_last;
    assert_error(plug_in("b", publish_features), "publish: \"my.feature\" is registered already");
    assert_error(plug_in("c", publish_null), "publish: the table is NULL");
    assert_ptr_equal(wick_feature(RT, "my.feature", 1, &instance), &feature_one);
    assert_ptr_equal(instance, publisher);
    assert_ptr_equal(wick_feature(RT, "my.feature", 2, NULL), &feature_two);
    assert_null(wick_feature(RT, "my.feature", 3, NULL));
    assert_null(wick_feature(RT, "other.feature", 1, NULL));
}

static void test_plugins_find_features(void **state) {
    assert_ok(plug_in("a", publish_features));
    const plug *publisher = plug_last;
    assert_ok(plug_in("late", find_features));
    assert_ptr_equal(found[0], &feature_one);
    assert_ptr_equal(found[1], &feature_two);
    assert_null(found[2]);
    assert_ptr_equal(found_instance, publisher);
}

/* ---- keys ---- */
static bool answer_add(void *instance, wick_context *c, const wick_op *op, const wick_value *args, int nargs,
                       wick_value *rets, int nrets) {
    const plug *p = instance;
    seen[0]++;
    if (strcmp(p->host->op_name(op), "add.Tensor") != 0) return p->host->redispatch(c, op, args, nargs, rets, nrets);
    assert_int_equal(p->host->op_argument(op, "other"), 1);
    assert_int_equal(p->host->op_argument(op, "nothing"), -1);
    return p->host->invoke(c, "mul.Tensor", wick_name_hash("mul.Tensor"), args, 2, rets, 1);
}
static wick_status *register_handler(plug *p) { return p->host->register_key(p->registrar, 60, answer_add, p); }
static wick_status *register_bad_rank(plug *p) { return p->host->register_key(p->registrar, 64, answer_add, p); }

static void test_key_handlers(void **state) {
    assert_error(plug_in("bad", register_bad_rank), "register_key: got rank 64, wanted 3 to 63 and a handler");
    assert_ok(plug_in("a", register_handler));
    wick_modes modes = wick_modes_get(C), before = modes;
    modes.include_keys |= WICK_KEY_BIT(60);
    wick_modes_set(C, modes);
    wick_tensor *replaced = wick_add(C, T(2, 3), T(4, 5), NULL), *passed = wick_exp(C, T(0));
    wick_modes_set(C, before);
    ASSERT_VALUES(replaced, 8, 15);
    ASSERT_VALUES(passed, 1);
    assert_int_equal(seen[0], 3); /* mul carries the key too */
}

/* ---- all or nothing ---- */
static wick_status *dummy_kernel(const wick_kernel_call *call) { return NULL; }

static wick_status *register_everything(plug *p) {
    static const wick_kernel_row rows[] = {WICK_KERNEL_ROW("neg", dummy_kernel, 0, 0)};
    WICK_TRY(register_twice(p));
    WICK_TRY(register_dtypes(p));
    WICK_TRY(register_layouts(p));
    WICK_TRY(publish_features(p));
    WICK_TRY(register_handler(p));
    return p->host->register_kernels(p->registrar, "cpu", ROWS(rows), p);
}
static wick_status *register_and_fail(plug *p) {
    WICK_TRY(register_everything(p));
    return WICK_HOST_ERROR(p->host, WICK_DEVICE_ERROR, "no luck");
}
static wick_status *register_and_name_no_device(plug *p) {
    static const wick_kernel_row rows[] = {WICK_KERNEL_ROW("neg", dummy_kernel, 0, 0)};
    WICK_TRY(register_everything(p));
    return p->host->register_kernels(p->registrar, "gpu", ROWS(rows), p);
}

static void assert_nothing_registered(void) {
    wick_device device;
    assert_null(wick_op_find(RT, "my::twice"));
    assert_int_equal(wick_runtime_dtype(RT, "my.quad"), WICK_DTYPE_NONE);
    assert_int_equal(wick_runtime_layout(RT, "my.tiled"), WICK_STRIDED);
    assert_null(wick_feature(RT, "my.feature", 1, NULL));
    assert_error(wick_runtime_device(RT, "dev", &device), "no device \"dev\"");
    ASSERT_VALUES(wick_neg(C, T(1, 2)), -1, -2);
    assert_int_equal(plugs_alive, 0);
}

static void test_nothing_is_left_of_a_failure(void **state) {
    assert_error(plug_in("a", register_and_fail), "no luck");
    assert_string_equal(plug_info()->device, "dev"); /* told, although the plugin has taken its table back */
    assert_nothing_registered();
    assert_error(plug_in("b", register_and_name_no_device), "no device \"gpu\" is loaded: load its plugin before");
    assert_nothing_registered();
    dev_devices = 0;
    assert_error(plug_in("c", register_everything), "no device");
    assert_int_equal(plug_info()->state, WICK_BACKEND_NO_DEVICE);
    assert_nothing_registered();
    dev_devices = 1;
    assert_error(plug_in_with("d", register_everything, "unheard = of"), "unheard: got unknown key");
    assert_nothing_registered();
    assert_ok(plug_in("e", register_everything));
    assert_non_null(wick_op_find(RT, "my::twice"));
    assert_int_equal(wick_runtime_dtype(RT, "my.quad"), made[0]);
    assert_non_null(wick_feature(RT, "my.feature", 2, NULL));
}

static void test_nothing_is_registered_outside_create(void **state) {
    assert_ok(plug_in("a", register_twice));
    plug *p = plug_last;
    assert_error(register_twice(p), "register_operators: called outside create");
    assert_error(plug_device(p, NULL, 0), "register_backend: called outside create");
    assert_error(register_handler(p), "register_key: called outside create");
    assert_error(register_layouts(p), "register_layout: called outside create");
    assert_error(register_dtypes(p), "register_dtype: called outside create");
    assert_error(publish_features(p), "publish: called outside create");
    assert_error(p->host->register_kernels(p->registrar, "cpu", NULL, 0, p), "register_kernels: called outside create");
}

static wick_status *register_too_often(plug *p) {
    for (int i = 0; i < 17; ++i) WICK_TRY(p->host->register_kernels(p->registrar, "cpu", NULL, 0, p));
    return NULL;
}

static void test_too_many_registrations(void **state) {
    assert_error(plug_in("a", register_too_often), "register_kernels: called more than 16 times");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        REG_CASE(test_pointwise_operator),
        REG_CASE(test_derived_forms),
        REG_CASE(test_in_place_form_has_a_gradient),
        REG_CASE(test_flags_of_pointwise_operators),
        REG_CASE(test_shape_rule),
        REG_CASE(test_decomposition_alone_needs_no_gradient),
        REG_CASE(test_decomposition_that_returns_its_argument),
        REG_CASE(test_gradient_rule),
        REG_CASE(test_gradient_of_a_gradient),
        REG_CASE(test_saved_tensors_are_watched),
        REG_CASE(test_random_and_fallback),
        REG_CASE(test_bad_rows),
        REG_CASE(test_the_second_of_the_same_name_is_refused),
        REG_CASE(test_operators_of_many_plugins),
        REG_CASE(test_dtypes),
        REG_CASE(test_tensors_of_a_registered_dtype),
        REG_CASE(test_limits_of_dtypes),
        REG_CASE(test_layouts),
        REG_CASE(test_features),
        REG_CASE(test_plugins_find_features),
        REG_CASE(test_key_handlers),
        REG_CASE(test_nothing_is_left_of_a_failure),
        REG_CASE(test_nothing_is_registered_outside_create),
        REG_CASE(test_too_many_registrations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
