/* convolution and convolution_backward: 1-D to 3-D, groups, dilation, transposed. */
#include "conv.h"
#include "widen.h"

#include <string.h>

/* The arguments that both operators have, from `first` on: stride, padding, dilation, transposed, output_padding,
 * groups. */
enum { STRIDE, PADDING, DILATION, TRANSPOSED, OUTPUT_PADDING, GROUPS };

/* Spatial sizes to the last dimensions of three. */
static void read_sizes(const wick_tensor *t, int64_t *out) {
    const int n = t->ndim - 2;
    for (int d = 0; d < 3; ++d) out[d] = d < 3 - n ? 1 : t->sizes[2 + d - (3 - n)];
}

/* A list of one stands for every dimension; missing leading dimensions get `missing`. */
static void read_list(const wick_value *v, int n, int64_t missing, int64_t *out) {
    for (int d = 0; d < 3; ++d) {
        const int i = d - (3 - n);
        out[d] = i < 0 ? missing : v->as.ints[v->count == 1 ? 0 : i];
    }
}

/* `x` and `y` are the tensors of the convolution that is not transposed. */
static conv_shape read_shape(const wick_value *v, const wick_tensor *x, const wick_tensor *w, const wick_tensor *y) {
    conv_shape s = {.dtype = wick_tensor_dtype(w), .batch = x->sizes[0], .groups = v[GROUPS].as.i};
    const int n = w->ndim - 2;
    s.in_channels = w->sizes[1], s.out_channels = w->sizes[0] / s.groups;
    read_sizes(x, s.in), read_sizes(y, s.out), read_sizes(w, s.kernel);
    read_list(&v[STRIDE], n, 1, s.stride);
    read_list(&v[PADDING], n, 0, s.padding);
    read_list(&v[DILATION], n, 1, s.dilation);
    return s;
}

static bool is_native(wick_dtype dtype) { return cpu_wide_dtype(dtype) == dtype; }

static wick_status *convolution(const wick_kernel_call *call) {
    const wick_tensor *x = wick_arg_tensor(call, 0), *w = wick_arg_tensor(call, 1), *bias = wick_arg_tensor(call, 2);
    const wick_tensor *out = wick_out_tensor(call, 0);
    const wick_value *v = &call->values[3];
    if (!is_native(wick_tensor_dtype(w))) return cpu_call_widened(call, convolution);
    if (out->numel == 0) return NULL;
    const bool transposed = v[TRANSPOSED].as.i != 0;
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
    const wick_value *v = &call->values[4];
    const wick_dtype dtype = wick_tensor_dtype(w);
    if (!is_native(dtype)) return cpu_call_widened(call, convolution_backward);
    if (dy->numel == 0 || x->numel == 0) return clear(dx), clear(dw), clear(db), NULL;
    const bool transposed = v[TRANSPOSED].as.i != 0;
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

#define DTYPES                                                                                                    \
    (WICK_DTYPE_BIT(WICK_F16) | WICK_DTYPE_BIT(WICK_BF16) | WICK_DTYPE_BIT(WICK_F32) | WICK_DTYPE_BIT(WICK_F64) | \
     WICK_DTYPE_BIT(WICK_U8) | WICK_DTYPE_BIT(WICK_I8) | WICK_DTYPE_BIT(WICK_I16) | WICK_DTYPE_BIT(WICK_I32) |    \
     WICK_DTYPE_BIT(WICK_I64))
#define FLAGS (WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_DETERMINISTIC)

static const wick_kernel_row rows[] = {
    CPU_ROW("convolution", convolution, NULL, DTYPES, FLAGS),
    CPU_ROW("convolution_backward", convolution_backward, NULL, DTYPES, FLAGS),
};
const cpu_kernel_table cpu_conv_table = CPU_TABLE(rows);
