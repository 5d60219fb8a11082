/* Rows of kernels: for whom they are, which schemas they may be built for, what their flags ask for, what a kernel can
 * call. */
#include "plug.h"

static struct {
    int calls, nargs;
    wick_value values[8];
    wick_tensor tensors[4]; /* arguments and output as the kernel saw them */
    void *instance;
    const void *data;
    uint32_t compute, flags;
} seen;

static int rows_start(void **state) {
    memset(&seen, 0, sizeof seen);
    return plug_start(state);
}
#define ROW_CASE(name) cmocka_unit_test_setup_teardown(name, rows_start, plug_end)

static void look(const wick_kernel_call *call) {
    seen.calls++;
    seen.nargs = call->nargs;
    seen.instance = call->instance;
    seen.data = call->data;
    seen.compute = call->compute_dtype;
    seen.flags = call->flags;
    for (int i = 0; i < call->nargs + call->nouts && i < 8; ++i) seen.values[i] = call->values[i];
    for (int i = 0, n = 0; i < call->nargs + call->nouts && n < 4; ++i)
        if (call->values[i].tag == WICK_TAG_TENSOR) seen.tensors[n++] = *call->values[i].as.tensor;
}

/* a + factor b over any strides, in f64. */
static wick_status *walk_add(const wick_kernel_call *call, double factor) {
    wick_tensor *out = wick_out_tensor(call, 0);
    const wick_tensor *operands[] = {out, wick_arg_tensor(call, 0), wick_arg_tensor(call, 1)};
    wick_iter it;
    look(call);
    if (!wick_iter_init(&it, out, operands, 3, 0)) return WICK_HOST_ERROR(call->host, WICK_INVALID_ARGUMENT, "shapes");
    wick_cursor c = wick_cursor_at(&it, 0);
    for (int64_t i = 0; i < it.numel; ++i, wick_cursor_advance(&it, &c, 1))
        *(double *)wick_cursor_address(&it, &c, 0) =
            *(double *)wick_cursor_address(&it, &c, 1) + factor * *(double *)wick_cursor_address(&it, &c, 2);
    return NULL;
}
static wick_status *add_kernel(const wick_kernel_call *call) {
    return walk_add(call, wick_value_as_double(&call->values[2]));
}
static wick_status *short_add(const wick_kernel_call *call) { return walk_add(call, 1); }

#define F64 WICK_DTYPE_BIT(WICK_F64)
#define ADD "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
#define ADD_SHORT "add.Tensor(Tensor self, Tensor other) -> Tensor"
#define ADD_LONG \
    "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1, bool saturate=False, int[] places=[3, 4]) -> Tensor"
#define ADD_MOVED "add.Tensor(Scalar alpha=1, *, Tensor other, Tensor self) -> Tensor"

/* ---- the device, with the rows of the test ---- */
static const wick_kernel_row *dev_rows;
static uint64_t dev_row_count;
static wick_status *register_dev(plug *p) { return plug_device(p, dev_rows, dev_row_count); }

static void start_dev(const wick_kernel_row *rows, uint64_t count, const char *keys) {
    dev_rows = rows;
    dev_row_count = count;
    assert_ok(plug_in_with("d", register_dev, keys));
}

static wick_tensor *add_with(wick_tensor *a, wick_tensor *b, double alpha) {
    return CALL("add.Tensor", V(a), V(b), wick_value_float(alpha));
}

/* ---- schemas: equal, shorter, longer, in another order ---- */
static void test_equal_schema(void **state) {
    static const wick_kernel_row rows[] = {WICK_KERNEL_ROW("aten::" ADD, add_kernel, F64, 0)};
    start_dev(ROWS(rows), "");
    assert_string_equal(plug_info()->notes, "");
    ASSERT_VALUES(here(add_with(there(T(1, 2)), there(T(3, 4)), 2)), 7, 10);
    assert_int_equal(seen.nargs, 3);
    assert_int_equal(seen.calls, 1);
}

static void test_shorter_kernel_at_the_default(void **state) {
    static const wick_kernel_row rows[] = {WICK_KERNEL_ROW(ADD_SHORT, short_add, F64, 0)};
    start_dev(ROWS(rows), "");
    assert_string_equal(plug_info()->notes, "");
    wick_tensor *x = there(T(1, 2)), *y = there(T(3, 4));
    ASSERT_VALUES(here(add_with(x, y, 1)), 4, 6);
    ASSERT_VALUES(here(CALL("add.Tensor", V(x), V(y), wick_value_int(1))), 4, 6);
    ASSERT_VALUES(here(CALL("add.Tensor", V(x), V(y))), 4, 6);
    wick_add_(C, x, y, NULL); /* the derived forms as well */
    ASSERT_VALUES(here(x), 4, 6);
    assert_int_equal(seen.nargs, 2);
    assert_int_equal(seen.calls, 4);
}

/* Not at its default, without a decomposition: an error that names the argument, or the fallback. */
static void test_shorter_kernel_not_at_the_default(void **state) {
    static const wick_kernel_row rows[] = {WICK_KERNEL_ROW(ADD_SHORT, short_add, F64, 0)};
    start_dev(ROWS(rows), "");
    assert_null(add_with(there(T(1, 2)), there(T(3, 4)), 2));
    assert_failed(
        "add.Tensor: the kernel of device dev:0 was built for a schema without argument alpha, which must equal "
        "its default");
    assert_int_equal(seen.calls, 0);
}

static void test_shorter_kernel_falls_back(void **state) {
    static const wick_kernel_row rows[] = {WICK_KERNEL_ROW(ADD_SHORT, short_add, F64, 0)};
    start_dev(ROWS(rows), "fallback = cpu");
    wick_tensor *x = there(T(1, 2));
    ASSERT_VALUES(here(add_with(x, x, 2)), 3, 6);
    assert_int_equal(wick_op_fallbacks(RT, wick_op_find(RT, "add.Tensor"), dev(0).type), 1);
    ASSERT_VALUES(here(add_with(x, x, 1)), 2, 4);
    assert_int_equal(wick_op_fallbacks(RT, wick_op_find(RT, "add.Tensor"), dev(0).type), 1);
    assert_int_equal(seen.calls, 1);
}

static void test_longer_kernel(void **state) {
    static const wick_kernel_row rows[] = {WICK_KERNEL_ROW(ADD_LONG, add_kernel, F64, 0)};
    start_dev(ROWS(rows), "");
    assert_string_equal(plug_info()->notes, "");
    ASSERT_VALUES(here(add_with(there(T(1, 2)), there(T(3, 4)), 2)), 7, 10);
    assert_int_equal(seen.nargs, 5); /* what the host does not know has the kernel's default */
    assert_int_equal(seen.values[3].tag, WICK_TAG_BOOL);
    assert_int_equal(seen.values[3].as.i, 0);
    assert_int_equal(seen.values[4].tag, WICK_TAG_I64_LIST);
    assert_int_equal(seen.values[4].count, 2);
    assert_int_equal(seen.values[4].as.ints[1], 4);
    assert_int_equal(seen.values[5].tag, WICK_TAG_TENSOR);
}

static wick_status *moved_add(const wick_kernel_call *call) {
    const wick_tensor *other = wick_arg_tensor(call, 1), *self = wick_arg_tensor(call, 2);
    for (int64_t i = 0; i < self->numel; ++i)
        doubles(wick_out_tensor(call, 0))[i] =
            doubles(self)[i] + wick_value_as_double(&call->values[0]) * doubles(other)[i];
    return NULL;
}

static void test_arguments_are_matched_by_name(void **state) {
    static const wick_kernel_row rows[] = {WICK_KERNEL_ROW(ADD_MOVED, moved_add, F64, WICK_KERNEL_CONTIGUOUS)};
    start_dev(ROWS(rows), "");
    assert_string_equal(plug_info()->notes, "");
    ASSERT_VALUES(here(add_with(there(T(1, 2)), there(T(3, 4)), 10)), 31, 42);
}

/* ---- the same of an operator that decomposes: embedding, on the CPU ---- */
static wick_status *embedding_kernel(const wick_kernel_call *call) {
    const wick_tensor *weight = wick_arg_tensor(call, 0), *indices = wick_arg_tensor(call, 1);
    look(call);
    const int64_t width = weight->sizes[1];
    for (int64_t i = 0; i < indices->numel; ++i)
        memcpy(doubles(wick_out_tensor(call, 0)) + i * width,
               doubles(weight) + ((int64_t *)wick_data(indices))[i] * width, sizeof(double) * (size_t)width);
    return NULL;
}

static wick_kernel_row embedding_row;
static wick_status *register_embedding(plug *p) {
    return p->host->register_kernels(p->registrar, "cpu", &embedding_row, 1, p);
}

static void start_embedding(const char *schema) {
    embedding_row = (wick_kernel_row)WICK_KERNEL_ROW(schema, embedding_kernel, 0, WICK_KERNEL_CONTIGUOUS);
    assert_ok(plug_in("e", register_embedding));
    assert_string_equal(plug_info()->notes, "");
}

static wick_tensor *embed(int64_t padding, bool scale) {
    const int64_t places[] = {2, 0};
    wick_tensor *weight = MATRIX(3, 2, 1, 2, 3, 4, 5, 6);
    wick_tensor *indices = wick_tensor_from_host(C, places, WICK_I64, 1, (const wick_dim[]){2}, CPU);
    return CALL("embedding", V(weight), V(indices), wick_value_int(padding), wick_value_bool(scale));
}

/* Calls the operator with arguments at their defaults and not; both give the right values. */
static void check_embedding(int64_t padding, bool scale, int calls) {
    seen.calls = 0;
    ASSERT_VALUES(embed(padding, scale), 5, 6, 1, 2);
    assert_int_equal(seen.calls, calls);
}

static void test_decomposable_equal(void **state) {
    start_embedding(
        "embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool "
        "sparse=False) -> Tensor");
    check_embedding(-1, false, 1);
    check_embedding(1, true, 1);
}

static void test_decomposable_shorter(void **state) {
    start_embedding("embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1) -> Tensor");
    check_embedding(-1, false, 1);
    check_embedding(1, false, 1); /* this argument it knows */
    check_embedding(-1, true, 0); /* decomposed */
    assert_int_equal(wick_op_fallbacks(RT, wick_op_find(RT, "embedding"), CPU.type), 0);
}

static void test_decomposable_longer(void **state) {
    start_embedding(
        "embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool "
        "sparse=False, float? max_norm=None) -> Tensor");
    check_embedding(-1, false, 1);
    check_embedding(1, true, 1);
    assert_int_equal(seen.nargs, 6);
    assert_true(wick_value_is_none(&seen.values[5]));
}

/* A default that is a string, in a pointwise operator: the short way for dense tensors must see it too. */
static wick_status *gelu_kernel(const wick_kernel_call *call) {
    look(call);
    for (int64_t i = 0; i < wick_out_tensor(call, 0)->numel; ++i) doubles(wick_out_tensor(call, 0))[i] = 42;
    return NULL;
}
static wick_status *register_gelu(plug *p) {
    static const wick_kernel_row row = WICK_KERNEL_ROW("gelu(Tensor self) -> Tensor", gelu_kernel, 0, 0);
    return p->host->register_kernels(p->registrar, "cpu", &row, 1, p);
}

static void test_string_argument(void **state) {
    assert_ok(plug_in("g", register_gelu));
    ASSERT_VALUES(CALL("gelu", V(T(1))), 42);
    ASSERT_VALUES(CALL("gelu", V(T(1)), wick_value_string("none", 4)), 42);
    const double x = 1, inner = 0.7978845608028654 * (x + 0.044715 * x * x * x);
    ASSERT_VALUES(CALL("gelu", V(T(1)), wick_value_string("tanh", 4)), 0.5 * x * (1 + tanh(inner)));
    assert_int_equal(seen.calls, 2);
}

/* ---- rows that do not fit ---- */
static void test_refused_rows_are_told(void **state) {
    static const wick_kernel_row rows[] = {
        WICK_KERNEL_ROW("add.Tensor(Tensor self, *, Scalar alpha=1) -> Tensor", add_kernel, 0, 0),
        WICK_KERNEL_ROW("sub.Tensor(Tensor self, Tensor other, Scalar beta, *, Scalar alpha=1) -> Tensor", add_kernel,
                        0, 0),
        WICK_KERNEL_ROW("mul.Tensor(Tensor self, Scalar other) -> Tensor", add_kernel, 0, 0),
        WICK_KERNEL_ROW("div.Tensor(Tensor self, Tensor other) -> (Tensor, Tensor)", add_kernel, 0, 0),
        WICK_KERNEL_ROW("exp(Tensor self", add_kernel, 0, 0),
        WICK_KERNEL_ROW("new_in_a_later_wick(Tensor self) -> Tensor", add_kernel, 0, 0),
        WICK_KERNEL_ROW("neg_", add_kernel, 0, 0),
        WICK_KERNEL_ROW(ADD, add_kernel, F64, 0),
    };
    static const char *const notes[] = {
        "kernel add.Tensor refused: it lacks argument other, which has no default\n",
        "kernel sub.Tensor refused: argument beta has no default and the host does not know it\n",
        "kernel mul.Tensor refused: argument other has another type\n",
        "kernel div.Tensor refused: it returns 2 values, the host's schema 1\n",
        "kernel exp refused: ",
        "kernel new_in_a_later_wick refused: unknown operator\n",
        "kernel neg_ refused: a kernel serves neg, from which this one is derived",
    };
    start_dev(ROWS(rows), "");
    const wick_backend_info *info = plug_info();
    assert_int_equal(info->state, WICK_BACKEND_READY);
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; ++i) assert_contains(info->notes, notes[i]);
    int lines = 1;
    for (const char *c = info->notes; *c; ++c) lines += *c == '\n';
    assert_int_equal(lines, 7);
    /* The others stand. */
    ASSERT_VALUES(here(add_with(there(T(1)), there(T(2)), 1)), 3);
    assert_false(wick_op_has_kernel(RT, wick_op_find(RT, "mul.Tensor"), dev(0).type));
}

/* ---- for whom ---- */
static wick_status *neg_kernel(const wick_kernel_call *call) {
    look(call);
    wick_tensor *x = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, 0);
    for (int64_t i = 0; i < out->numel; ++i) doubles(out)[i] = 100 - doubles(x)[i];
    return NULL;
}

static const int neg_data = 5;
static const wick_kernel_row neg_rows[] = {
    {sizeof(wick_kernel_row), WICK_KERNEL_CONTIGUOUS, "neg", neg_kernel, &neg_data, F64, 0}};
static const char *neg_device;
static wick_status *register_neg(plug *p) {
    return p->host->register_kernels(p->registrar, neg_device, ROWS(neg_rows), p);
}

static void test_a_kernel_of_the_cpu_is_replaced(void **state) {
    ASSERT_VALUES(wick_neg(C, T(1)), -1);
    neg_device = "cpu";
    assert_ok(plug_in("n", register_neg));
    assert_string_equal(plug_info()->device, "");
    assert_int_equal(plug_info()->state, WICK_BACKEND_READY);
    ASSERT_VALUES(wick_neg(C, T(1)), 99);
    assert_ptr_equal(seen.instance, plug_last);
    assert_ptr_equal(seen.data, &neg_data);
    wick_tensor *x = LEAF(1, 2);
    backward_sum(wick_mul(C, wick_neg(C, x), x)); /* in graphs as well */
    assert_true(seen.calls > 1);
    ASSERT_VALUES(wick_exp(C, T(0)), 1); /* the others are the CPU's */
    /* Of what it does not take, nothing is left of the kernel before. */
    assert_null(wick_neg(C, wick_to_dtype(C, T(1), WICK_F32, NULL)));
    assert_failed("neg is not implemented for dtype f32 on device cpu");
}

static void test_a_kernel_for_every_addressable_device(void **state) {
    start_dev(NULL, 0, "");
    neg_device = "*";
    assert_ok(plug_in("n", register_neg));
    ASSERT_VALUES(wick_neg(C, T(1)), 99);
    ASSERT_VALUES(here(wick_neg(C, there(T(1)))), 99);
    assert_true(wick_op_has_kernel(RT, wick_op_find(RT, "neg"), dev(0).type));
}

static void test_the_newest_kernel_counts(void **state) {
    static wick_kernel_row later[] = {{sizeof(wick_kernel_row), 0, "neg", gelu_kernel, NULL, 0, 0}};
    neg_device = "cpu";
    assert_ok(plug_in("n", register_neg));
    embedding_row = later[0];
    assert_ok(plug_in("m", register_embedding));
    ASSERT_VALUES(wick_neg(C, T(1)), 42);
    neg_device = "nowhere";
    assert_error(plug_in("o", register_neg),
                 "register_kernels: no device \"nowhere\" is loaded: load its plugin before");
    ASSERT_VALUES(wick_neg(C, T(1)), 42);
    neg_device = "a_name_of_more_than_thirty_one_characters";
    assert_error(plug_in("o", register_neg), "register_kernels: wanted a device name and rows");
}

/* ---- what the flags ask for ---- */
static void test_no_broadcast(void **state) {
    static const wick_kernel_row rows[] = {WICK_KERNEL_ROW("add.Tensor", add_kernel, F64, WICK_KERNEL_NO_BROADCAST),
                                           WICK_KERNEL_ROW("copy_", dev_copy, 0, 0)};
    start_dev(ROWS(rows), "");
    wick_tensor *y = add_with(there(MATRIX(2, 3, 1, 2, 3, 4, 5, 6)), there(T(10, 20, 30)), 1);
    ASSERT_VALUES(here(y), 11, 22, 33, 14, 25, 36);
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(seen.tensors[i].ndim, 2);
        assert_int_equal(seen.tensors[i].numel, 6);
        assert_true(seen.tensors[i].flags & WICK_TENSOR_CONTIGUOUS);
    }
}

static void test_broadcast(void **state) {
    static const wick_kernel_row rows[] = {WICK_KERNEL_ROW("add.Tensor", add_kernel, F64, 0)};
    start_dev(ROWS(rows), "");
    wick_tensor *y = add_with(there(MATRIX(2, 3, 1, 2, 3, 4, 5, 6)), there(T(10, 20, 30)), 1);
    ASSERT_VALUES(here(y), 11, 22, 33, 14, 25, 36);
    assert_int_equal(seen.tensors[1].ndim, 1);
    assert_int_equal(seen.tensors[1].numel, 3);
}

static void test_contiguous(void **state) {
    static const wick_kernel_row rows[] = {WICK_KERNEL_ROW("neg", neg_kernel, F64, WICK_KERNEL_CONTIGUOUS),
                                           WICK_KERNEL_ROW("copy_", dev_copy, 0, 0)};
    start_dev(ROWS(rows), "");
    wick_tensor *x = wick_transpose(C, there(MATRIX(2, 2, 1, 2, 3, 4)), 0, 1),
                *out = wick_transpose(C, there(MATRIX(2, 2, 0, 0, 0, 0)), 0, 1);
    ASSERT_VALUES(here(wick_neg(C, x)), 99, 97, 98, 96);
    assert_true(seen.tensors[0].flags & WICK_TENSOR_CONTIGUOUS);
    assert_ptr_equal(wick_neg_out(C, x, out), out);
    assert_true(seen.tensors[1].flags & WICK_TENSOR_CONTIGUOUS);
    ASSERT_VALUES(here(wick_contiguous(C, out, NULL)), 99, 97, 98, 96);
}

static void test_host_numbers(void **state) {
    static const wick_kernel_row rows[] = {WICK_KERNEL_ROW("add.Tensor", add_kernel, F64, WICK_KERNEL_HOST_NUMBERS)};
    start_dev(ROWS(rows), "");
    uint64_t before, after;
    wick_tensor *x = there(T(1, 2)), *number = wick_select(C, T(10), 0, 0);
    wick_memory_stats(RT, dev(0), &before, NULL, NULL);
    wick_tensor *y = add_with(x, number, 1);
    wick_memory_stats(RT, dev(0), &after, NULL, NULL);
    ASSERT_VALUES(here(y), 11, 12);
    assert_int_equal(seen.tensors[1].device.type, CPU.type);
    assert_int_equal(after - before, 512); /* nothing but the result's block was made */
}

static void test_without_host_numbers(void **state) {
    static const wick_kernel_row rows[] = {WICK_KERNEL_ROW("add.Tensor", add_kernel, F64, 0)};
    start_dev(ROWS(rows), "");
    ASSERT_VALUES(here(add_with(there(T(1, 2)), wick_select(C, T(10), 0, 0), 1)), 11, 12);
    assert_int_equal(seen.tensors[1].device.type, dev(0).type);
}

static wick_status *mixed_kernel(const wick_kernel_call *call) {
    look(call);
    const wick_tensor *a = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, 0);
    for (int64_t i = 0; i < out->numel; ++i) doubles(out)[i] = (double)((int64_t *)wick_data(a))[i];
    return NULL;
}

static void test_fused_cast(void **state) {
    static const wick_kernel_row rows[] = {
        WICK_KERNEL_ROW("add.Tensor", mixed_kernel, F64, WICK_KERNEL_FUSED_CAST | WICK_KERNEL_CONTIGUOUS)};
    start_dev(ROWS(rows), "");
    wick_tensor *integers = there(wick_to_dtype(C, T(5, 6), WICK_I64, NULL));
    ASSERT_VALUES(here(add_with(integers, there(T(1, 2)), 1)), 5, 6);
    assert_int_equal(seen.tensors[0].dtype, WICK_I64);
    assert_int_equal(seen.compute, WICK_F64);
}

static void test_modes_reach_the_kernel(void **state) {
    static const wick_kernel_row rows[] = {WICK_KERNEL_ROW("neg", neg_kernel, F64, 0)};
    start_dev(ROWS(rows), "");
    wick_modes modes = wick_modes_get(C), before = modes;
    wick_tensor *x = there(T(1));
    wick_neg(C, x);
    assert_int_equal(seen.flags & (WICK_CALL_DETERMINISTIC | WICK_CALL_TF32), 0);
    modes.deterministic = modes.tf32 = 1;
    wick_modes_set(C, modes);
    wick_neg(C, x);
    wick_modes_set(C, before);
    assert_int_equal(seen.flags & (WICK_CALL_DETERMINISTIC | WICK_CALL_TF32), WICK_CALL_DETERMINISTIC | WICK_CALL_TF32);
}

/* ---- element types of plugins ---- */
static wick_dtype quad;
static wick_status *register_quad(plug *p) {
    static const wick_dtype_row row = {sizeof row, 4, "my.quad"};
    WICK_TRY(p->host->register_dtype(p->registrar, &row, &quad));
    return register_dev(p);
}
static wick_status *quad_kernel(const wick_kernel_call *call) {
    const wick_tensor *x = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, 0);
    assert_int_equal(x->dtype, quad);
    for (int64_t i = 0; i < out->numel; ++i) ((uint32_t *)wick_data(out))[i] = ~((uint32_t *)wick_data(x))[i];
    return NULL;
}

static void test_registered_dtypes(void **state) {
    static const wick_kernel_row rows[] = {
        WICK_KERNEL_ROW("bitwise_not", quad_kernel, 0, WICK_KERNEL_REGISTERED_DTYPES | WICK_KERNEL_CONTIGUOUS),
        WICK_KERNEL_ROW("neg", quad_kernel, 0, WICK_KERNEL_CONTIGUOUS)};
    const uint32_t values[] = {1, 2};
    uint32_t got[2];
    dev_rows = rows, dev_row_count = 2;
    assert_ok(plug_in("d", register_quad));
    wick_tensor *x = wick_tensor_from_host(C, values, quad, 1, (const wick_dim[]){2}, dev(0)),
                *y = wick_bitwise_not(C, x);
    assert_healthy();
    assert_ok(wick_tensor_to_host(C, y, got, sizeof got));
    assert_int_equal(got[1], ~UINT32_C(2));
    assert_null(wick_neg(C, x)); /* that row does not say that it takes them */
    assert_failed("neg");
}

/* ---- what a kernel can call ---- */
static wick_memory scratch[2];
static int scratch_wanted;
static wick_status *scratch_kernel(const wick_kernel_call *call) {
    look(call);
    for (int i = 0; i < scratch_wanted; ++i) {
        wick_memory m;
        WICK_TRY(call->host->device_workspace(call, 1000, &m));
        if (i < 2) scratch[i] = m;
        assert_true(m.bytes >= 1000);
        memset(m.data, 1, 1000);
    }
    char *a = call->host->workspace(call, 64), *b = call->host->workspace(call, 64);
    assert_true(a && b && a != b);
    memset(a, 2, 64), memset(b, 3, 64);
    return neg_kernel(call);
}

static void test_workspaces(void **state) {
    static const wick_kernel_row rows[] = {WICK_KERNEL_ROW("neg", scratch_kernel, F64, WICK_KERNEL_CONTIGUOUS)};
    uint64_t before, after, peak;
    start_dev(ROWS(rows), "");
    wick_tensor *x = there(T(1));
    wick_memory_stats(RT, dev(0), &before, NULL, NULL);
    wick_memory_reset_peak(RT, dev(0));
    scratch_wanted = 2;
    wick_drop(C, wick_neg(C, x));
    wick_memory_stats(RT, dev(0), &after, &peak, NULL);
    assert_true(scratch[0].data != scratch[1].data);
    assert_int_equal(after, before);
    assert_true(peak >= before + 2000);
    scratch_wanted = 17;
    assert_null(wick_neg(C, x));
    assert_failed("neg: device_workspace: more than 16 at a time");
    wick_memory_stats(RT, dev(0), &after, NULL, NULL);
    assert_int_equal(after, before);
}

#define PARTS 1000
static _Atomic int touched[PARTS];
static void touch(void *user, int64_t begin, int64_t end, int worker) {
    assert_ptr_equal(user, &touched);
    for (int64_t i = begin; i < end; ++i) touched[i]++;
}
static wick_status *parallel_kernel(const wick_kernel_call *call) {
    call->host->parallel_for(call, PARTS, 7, touch, (void *)&touched);
    call->host->parallel_for(call, 0, 1, touch, NULL);
    return neg_kernel(call);
}

static void test_parallel_for(void **state) {
    static const wick_kernel_row rows[] = {WICK_KERNEL_ROW("neg", parallel_kernel, F64, WICK_KERNEL_CONTIGUOUS)};
    start_dev(ROWS(rows), "");
    for (int i = 0; i < PARTS; ++i) touched[i] = 0;
    ASSERT_VALUES(here(wick_neg(C, there(T(1)))), 99);
    for (int i = 0; i < PARTS; ++i) assert_int_equal(touched[i], 1);
}

static wick_status *calling_kernel(const wick_kernel_call *call) {
    const wick_host *host = call->host;
    const wick_op *exp_op = host->op_find(call->context, "exp");
    wick_value args[] = {V(wick_arg_tensor(call, 0))}, ret;
    assert_string_equal(host->op_name(exp_op), "exp");
    assert_null(host->op_find(call->context, "no such operator"));
    assert_string_equal(host->op_name(call->op), "neg");
    if (!host->call(call->context, exp_op, args, 1, &ret, 1)) return NULL;
    wick_tensor *held = host->retain(ret.as.tensor);
    memcpy(wick_data(wick_out_tensor(call, 0)), wick_data(held), sizeof(double) * (size_t)held->numel);
    host->release(held);
    return NULL;
}
static wick_status *register_calling(plug *p) {
    static const wick_kernel_row row = WICK_KERNEL_ROW("neg", calling_kernel, F64, WICK_KERNEL_CONTIGUOUS);
    return p->host->register_kernels(p->registrar, "cpu", &row, 1, p);
}

static void test_kernels_call_operators(void **state) {
    assert_ok(plug_in("c", register_calling));
    ASSERT_VALUES(wick_neg(C, T(0, 1)), 1, exp(1));
    wick_value ret;
    assert_false(plug_last->host->invoke(C, "nothing", wick_name_hash("nothing"), NULL, 0, &ret, 1));
    assert_failed("no operator nothing");
}

static wick_status *failing_kernel(const wick_kernel_call *call) {
    return WICK_HOST_ERROR(call->host, WICK_DEVICE_ERROR, "launch of %s failed", call->host->op_name(call->op));
}

static void test_a_failing_kernel(void **state) {
    static const wick_kernel_row rows[] = {WICK_KERNEL_ROW("neg", failing_kernel, F64, 0)};
    start_dev(ROWS(rows), "");
    wick_tensor *x = there(T(1));
    assert_null(wick_neg(C, x));
    assert_int_equal(wick_status_code(wick_context_status(C)), WICK_DEVICE_ERROR);
    assert_failed("launch of neg failed");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        ROW_CASE(test_equal_schema),
        ROW_CASE(test_shorter_kernel_at_the_default),
        ROW_CASE(test_shorter_kernel_not_at_the_default),
        ROW_CASE(test_shorter_kernel_falls_back),
        ROW_CASE(test_longer_kernel),
        ROW_CASE(test_arguments_are_matched_by_name),
        ROW_CASE(test_decomposable_equal),
        ROW_CASE(test_decomposable_shorter),
        ROW_CASE(test_decomposable_longer),
        ROW_CASE(test_string_argument),
        ROW_CASE(test_refused_rows_are_told),
        ROW_CASE(test_a_kernel_of_the_cpu_is_replaced),
        ROW_CASE(test_a_kernel_for_every_addressable_device),
        ROW_CASE(test_the_newest_kernel_counts),
        ROW_CASE(test_no_broadcast),
        ROW_CASE(test_broadcast),
        ROW_CASE(test_contiguous),
        ROW_CASE(test_host_numbers),
        ROW_CASE(test_without_host_numbers),
        ROW_CASE(test_fused_cast),
        ROW_CASE(test_modes_reach_the_kernel),
        ROW_CASE(test_registered_dtypes),
        ROW_CASE(test_workspaces),
        ROW_CASE(test_parallel_for),
        ROW_CASE(test_kernels_call_operators),
        ROW_CASE(test_a_failing_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
