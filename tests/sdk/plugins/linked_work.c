/* The work of the plugin "linked": functions of every header of wick, called by their usual names. */
#include <wick/sdk/link.h>

#include <stdlib.h>
#include <string.h>

#include "linked.h"
#include "linked_work.h"

#define WANT(condition) \
    if (!(condition)) return WICK_ERROR(WICK_INTERNAL, "not true: %s", #condition)

static wick_tensor *ramp(wick_context *c, wick_dim n) { return wick_arange(c, wick_value_float((double)n), NULL); }

wick_status *linked_scopes(wick_context *c) {
    const int64_t before = wick_runtime_live_objects(wick_context_runtime(c));
    const wick_scope outer = wick_scope_open(c), inner = wick_scope_open(c);
    wick_tensor *x = wick_scope_return(c, inner, wick_relu(c, wick_neg(c, ramp(c, 4))));
    wick_tensor *kept = wick_keep(c, x), *more = wick_retain(x);
    wick_scope_close(c, outer);
    WANT(kept == x && more == x && wick_numel(x) == 4);
    wick_release(more);
    wick_scope_adopt(c, kept);
    wick_drop(c, kept);
    WANT(wick_runtime_live_objects(wick_context_runtime(c)) == before);
    return wick_status_take(c);
}

static bool cube_forward(wick_function_call *call, wick_context *c, wick_tensor *const *inputs, int n,
                         wick_tensor **outputs, int m) {
    wick_function_save(call, inputs, 1);
    outputs[0] = wick_mul(c, inputs[0], wick_square(c, inputs[0]));
    return !wick_failed(c);
}

static bool cube_backward(wick_function_call *call, wick_context *c, wick_tensor *const *grads, int m,
                          wick_tensor **out, int n) {
    wick_tensor *x = wick_function_saved(call, c, 0);
    out[0] = wick_mul(c, grads[0], wick_mul_scalar(c, wick_square(c, x), wick_value_float(3)));
    return !wick_failed(c);
}

wick_status *linked_gradients(wick_context *c) {
    static const wick_function cube = {sizeof cube, 0, "Cube", cube_forward, cube_backward, NULL};
    wick_tensor *x = wick_set_requires_grad(c, wick_add_scalar(c, ramp(c, 3), wick_value_float(1), NULL), true), *y;
    wick_function_apply(c, &cube, NULL, &x, 1, &y, 1);
    wick_backward(c, wick_sum(c, y, NULL));
    WANT(wick_item(c, wick_sum(c, wick_grad_of(x), NULL)) == 3 * (1 + 4 + 9));
    wick_set_grad(c, x, NULL);
    const wick_modes modes = wick_no_grad(c);
    WANT(!wick_requires_grad(wick_mul(c, x, x)));
    wick_modes_set(c, modes);
    wick_tensor *loss = wick_sum(c, wick_exp(c, x), NULL), *grad = NULL;
    wick_grad(c, &loss, NULL, 1, &x, 1, 0, &grad);
    WANT(grad && wick_shares_storage(grad, grad) && !wick_shares_storage(grad, x));
    return wick_status_take(c);
}

wick_status *linked_errors(wick_context *c) {
    WANT(wick_fail(c, WICK_ERROR(WICK_NOT_FOUND, "no %s in %d", "lamp", 7)));
    WANT(wick_failed(c) && !wick_relu(c, NULL));
    WANT(!strcmp(wick_status_message(wick_context_status(c)), "no lamp in 7"));
    wick_status *cause = wick_status_take(c);
    wick_status *status = wick_status_wrap(cause, __FILE__, __LINE__, "%s", "outside");
    WANT(wick_status_code(status) == WICK_NOT_FOUND && wick_status_cause(status) == cause);
    wick_status_free(status);
    const wick_add_options unset = {0};
    wick_tensor *x = ramp(c, 3);
    WANT(!wick_add(c, x, x, &unset) && strstr(wick_status_message(wick_context_status(c)), "without a struct_size"));
    wick_status_free(wick_status_take(c));
    WANT(!wick_failed(c) && wick_code_text(WICK_IO) != NULL);
    return wick_status_take(c);
}

wick_status *linked_operators(wick_context *c) {
    wick_sum_dim_options keep = WICK_SUM_DIM_OPTIONS_INIT;
    wick_add_options alpha = WICK_ADD_OPTIONS_INIT, older = WICK_ADD_OPTIONS_INIT;
    wick_tensor *const *parts = NULL, *values, *indices = NULL;
    const int64_t shape[] = {2, 3}, dim[] = {1};
    bool same = false;
    wick_tensor *x = wick_reshape(c, ramp(c, 6), shape, 2);
    alpha.alpha = wick_value_float(2);
    older.alpha = wick_value_float(5);
    older.struct_size = sizeof older.struct_size; /* of a caller that knows no alpha */
    keep.keepdim = true;
    WANT(wick_item(c, wick_sum(c, wick_add(c, x, x, &alpha), NULL)) == 45);
    WANT(wick_item(c, wick_sum(c, wick_add(c, x, x, &older), NULL)) == 30);
    wick_tensor *rows = wick_sum_dim(c, x, dim, 1, &keep);
    WANT(rows && wick_ndim(rows) == 2 && wick_size(rows, 1) == 1);
    WANT(wick_unbind(c, x, NULL, &parts) == 2 && wick_item(c, wick_sum(c, parts[1], NULL)) == 12);
    values = wick_max_dim(c, x, 1, NULL, &indices);
    WANT(values && indices && wick_item_int(c, wick_sum(c, indices, NULL)) == 4);
    WANT(wick_equal(c, x, wick_clone(c, x, NULL), &same) && same);
    WANT(wick_relu_(c, x) == x && wick_neg_out(c, x, x) == x && wick_item(c, wick_min(c, x)) == -5);
    return wick_status_take(c);
}

wick_status *linked_everything_else(wick_context *c) {
    wick_runtime *runtime = wick_context_runtime(c);
    wick_config_file *ini = NULL;
    wick_device device;
    char name[32], *text = NULL;
    int64_t n = 0;
    WICK_TRY(wick_runtime_device(runtime, "meta", &device));
    WANT(!strcmp(wick_device_format(runtime, device, name, sizeof name), "meta"));
    WANT(wick_dtype_parse("torch.float16") == WICK_F16 && wick_dtype_promote(WICK_I32, WICK_F16) == WICK_F16);
    WANT(wick_op_find(runtime, "relu") && wick_runtime_host(runtime).type);
    WICK_TRY(wick_config_parse("[a]\nb = 7\n", 10, "x.ini", NULL, &ini));
    wick_status *status = wick_config_int(ini, "a", "b", 0, &n);
    if (!status && n != 7) status = WICK_ERROR(WICK_INTERNAL, "b is %lld", (long long)n);
    wick_status_free(wick_config_error(ini, "a", "b", "got %d", 7));
    wick_config_free(ini);
    WICK_TRY(status);
    WICK_TRY(wick_tensor_to_string(c, ramp(c, 2), &text));
    const bool printed = strstr(text, "tensor(") != NULL;
    free(text);
    WANT(printed);
    WICK_TRY(wick_synchronize(runtime, wick_runtime_host(runtime)));
    WANT(!wick_current_stream(c, wick_runtime_host(runtime)));
    return wick_status_take(c);
}
