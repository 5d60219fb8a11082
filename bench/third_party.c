/* A plugin of somebody else's, for bench/plugin.c: kernels for the CPU of operators that the CPU plugin serves, too. */
#include <stdlib.h>
#include <wick/sdk/plugin.h>

static wick_status *relu(const wick_kernel_call *call) {
    const wick_tensor *in = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, 0);
    const float *x = wick_data(in);
    float *y = wick_data(out);
    for (int64_t i = 0; i < out->numel; ++i) y[i] = x[i] < 0 ? 0 : x[i];
    return NULL;
}

static wick_status *mul(const wick_kernel_call *call) {
    const float *a = wick_data(wick_arg_tensor(call, 0)), *b = wick_data(wick_arg_tensor(call, 1));
    const wick_tensor *out = wick_out_tensor(call, 0);
    float *y = wick_data(out);
    for (int64_t i = 0; i < out->numel; ++i) y[i] = a[i] * b[i];
    return NULL;
}

#define FLAGS (WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_NO_BROADCAST | WICK_KERNEL_DETERMINISTIC)
static const wick_kernel_row rows[] = {
    WICK_KERNEL_ROW("relu", relu, WICK_DTYPE_BIT(WICK_F32), FLAGS),
    WICK_KERNEL_ROW("mul.Tensor", mul, WICK_DTYPE_BIT(WICK_F32), FLAGS),
};

static wick_status *create(const wick_host *host, wick_registrar *registrar, const wick_config *config, void **out) {
    *out = NULL;
    return host->register_kernels(registrar, "cpu", rows, sizeof rows / sizeof rows[0], NULL);
}

static const wick_plugin_desc descriptor = {WICK_PLUGIN_DESC_BASE, .name = "third_party", .create = create};
WICK_PLUGIN(third_party, &descriptor)
