/* convolution and convolution_backward: 1-D to 3-D, groups, dilation, transposed. */
#include "conv.h"
#include "widen.h"

#include <string.h>

/* `x` and `y` are the tensors of the convolution that is not transposed. */
static conv_shape read_shape(const wick_value *v, const wick_tensor *x, const wick_tensor *w, const wick_tensor *y) {
    conv_shape s = {.dtype = wick_tensor_dtype(w), .batch = x->sizes[0], .groups = v[WICK_CONV_GROUPS].as.i};
    s.in_channels = w->sizes[1], s.out_channels = w->sizes[0] / s.groups;
    wick_windows_convolution(v, x, y, w, &s.space);
    return s;
}

static bool is_native(wick_dtype dtype) { return cpu_wide_dtype(dtype) == dtype; }

static wick_status *convolution(const wick_kernel_call *call) {
    const wick_tensor *x = wick_arg_tensor(call, 0), *w = wick_arg_tensor(call, 1), *bias = wick_arg_tensor(call, 2);
    const wick_tensor *out = wick_out_tensor(call, 0);
    const wick_value *v = &call->values[WICK_CONV_FIRST];
    if (!is_native(wick_tensor_dtype(w))) return cpu_call_widened(call, convolution);
    if (out->numel == 0) return NULL;
    const bool transposed = v[WICK_CONV_TRANSPOSED].as.i != 0;
    const conv_shape s = transposed ? read_shape(v, out, w, x) : read_shape(v, x, w, out);
    return (transposed ? conv_grad_input : conv_forward)(call, &s, wick_data(x), wick_data(w),
                                                         bias ? wick_data(bias) : NULL, wick_data(out));
}

static void clear(const wick_tensor *t) {
    if (t) memset(wick_data(t), 0, (size_t)t->numel * wick_dtype_bytes(wick_tensor_dtype(t)));
}

static wick_status *convolution_backward(const wick_kernel_call *call) {
    const wick_tensor *dy = wick_arg_tensor(call, 0), *x = wick_arg_tensor(call, 1), *w = wick_arg_tensor(call, 2);
    const wick_tensor *dx = wick_out_tensor(call, 0), *dw = wick_out_tensor(call, 1), *db = wick_out_tensor(call, 2);
    const wick_value *v = &call->values[WICK_CONV_BACKWARD_FIRST];
    const wick_dtype dtype = wick_tensor_dtype(w);
    if (!is_native(dtype)) return cpu_call_widened(call, convolution_backward);
    if (dy->numel == 0 || x->numel == 0) return clear(dx), clear(dw), clear(db), NULL;
    const bool transposed = v[WICK_CONV_TRANSPOSED].as.i != 0;
    const conv_shape s = transposed ? read_shape(v, dy, w, x) : read_shape(v, x, w, dy);
    if (dx && transposed) WICK_TRY(conv_forward(call, &s, wick_data(dy), wick_data(w), NULL, wick_data(dx)));
    if (dx && !transposed) WICK_TRY(conv_grad_input(call, &s, wick_data(dy), wick_data(w), NULL, wick_data(dx)));
    if (dw && transposed) WICK_TRY(conv_grad_weight(call, &s, wick_data(dy), wick_data(x), wick_data(dw)));
    if (dw && !transposed) WICK_TRY(conv_grad_weight(call, &s, wick_data(x), wick_data(dy), wick_data(dw)));
    if (db)
        conv_grad_bias(cpu_of(call), dtype, dy->sizes[0], dy->sizes[1], dy->numel / dy->sizes[0] / dy->sizes[1],
                       wick_data(dy), wick_data(db));
    return NULL;
}

#define DTYPES (WICK_DTYPES_FLOAT | WICK_DTYPES_INT)
#define FLAGS (WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_DETERMINISTIC)

static const wick_kernel_row rows[] = {
    CPU_ROW("convolution", convolution, NULL, DTYPES, FLAGS),
    CPU_ROW("convolution_backward", convolution_backward, NULL, DTYPES, FLAGS),
};
const cpu_kernel_table cpu_conv_table = CPU_TABLE(rows);
