/* Convolution: shape rules, decomposition into strided views and bmm, and the functions that lead to it.
 *
 * Everything holds for any number of spatial dimensions: tensors are [batch, channels, spatial...]. */
#include <wick/sdk/arguments.h>

#include "boxed.h"
#include "geometry.h"
#include "rows.h"

#define MAX_SPATIAL 8

static wick_status *check_list(const wick_value *list, int n, const char *name, int64_t least) {
    if (list->count != 1 && (int)list->count != n)
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "expected %s to be a single integer value or a list of %d values, got %u", name, n,
                          list->count);
    for (uint32_t i = 0; i < list->count; ++i)
        if (list->as.ints[i] < least)
            return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s %s is not supported", least ? "non-positive" : "negative",
                              name);
    return NULL;
}

static wick_status *check_lists(const wick_value *v, int n) {
    WICK_TRY(check_list(&v[WICK_CONV_STRIDE], n, "stride", 1));
    WICK_TRY(check_list(&v[WICK_CONV_PADDING], n, "padding", 0));
    WICK_TRY(check_list(&v[WICK_CONV_DILATION], n, "dilation", 1));
    WICK_TRY(check_list(&v[WICK_CONV_OUTPUT_PADDING], n, "output_padding", 0));
    return v[WICK_CONV_GROUPS].as.i > 0 ? NULL
                                        : WICK_ERROR(WICK_INVALID_ARGUMENT, "non-positive groups is not supported");
}

static wick_status *check_channels(const wick_tensor *x, const wick_tensor *w, const wick_tensor *bias,
                                   const wick_value *v) {
    char a[SIZES_TEXT], b[SIZES_TEXT];
    int64_t groups = v[WICK_CONV_GROUPS].as.i,
            wanted = v[WICK_CONV_TRANSPOSED].as.i ? w->sizes[0] : wick_dim_mul(w->sizes[1], groups);
    int64_t out = v[WICK_CONV_TRANSPOSED].as.i ? wick_dim_mul(w->sizes[1], groups) : w->sizes[0];
    if (w->sizes[0] % groups)
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "Given groups=%lld, expected weight to be divisible by %lld at dimension 0, but got "
                          "weight of size %s instead",
                          (long long)groups, (long long)groups, format_sizes(w->ndim, w->sizes, a, sizeof a));
    if (x->sizes[1] != wanted)
        return WICK_ERROR(
            WICK_INVALID_ARGUMENT,
            "Given %s=%lld, weight of size %s, expected input%s to have %lld channels, but got %lld channels instead",
            v[WICK_CONV_TRANSPOSED].as.i ? "transposed=1, groups" : "groups", (long long)groups,
            format_sizes(w->ndim, w->sizes, a, sizeof a), format_sizes(x->ndim, x->sizes, b, sizeof b),
            (long long)wanted, (long long)x->sizes[1]);
    if (bias && (bias->ndim != 1 || bias->sizes[0] != out))
        return WICK_ERROR(
            WICK_INVALID_ARGUMENT,
            "Given weight of size %s, expected bias to be 1-dimensional with %lld elements, but got bias of size "
            "%s instead",
            format_sizes(w->ndim, w->sizes, a, sizeof a), (long long)out,
            format_sizes(bias->ndim, bias->sizes, b, sizeof b));
    return NULL;
}

static wick_status *check_dtypes(op_infer *ix, int first, int last) {
    const wick_tensor *x = arg_tensor(ix->args, first);
    for (int i = first + 1; i <= last; ++i) {
        const wick_tensor *t = arg_tensor(ix->args, i);
        if (t && t->dtype != x->dtype)
            return WICK_ERROR(WICK_INVALID_ARGUMENT, "Input type (%s) and %s type (%s) should be the same",
                              wick_dtype_name((wick_dtype)x->dtype), ix->op->args[i].name,
                              wick_dtype_name((wick_dtype)t->dtype));
    }
    ix->compute = (wick_dtype)x->dtype;
    return NULL;
}

static wick_dim extent(const wick_tensor *w, const wick_value *v, int k) { /* of a dilated kernel */
    return wick_dim_add(wick_dim_mul(entry(&v[WICK_CONV_DILATION], k), wick_dim_sub(w->sizes[k + 2], 1)), 1);
}

static wick_dim out_size(const wick_tensor *x, const wick_tensor *w, const wick_value *v, int k) {
    wick_dim in = x->sizes[k + 2], twice = wick_dim_mul(2, entry(&v[WICK_CONV_PADDING], k)),
             stride = entry(&v[WICK_CONV_STRIDE], k);
    if (v[WICK_CONV_TRANSPOSED].as.i) {
        wick_dim grown = wick_dim_add(wick_dim_mul(wick_dim_sub(in, 1), stride), extent(w, v, k));
        return wick_dim_add(wick_dim_sub(grown, twice), entry(&v[WICK_CONV_OUTPUT_PADDING], k));
    }
    return wick_dim_add(wick_dim_floordiv(wick_dim_sub(wick_dim_add(in, twice), extent(w, v, k)), stride), 1);
}

wick_status *infer_convolution(op_infer *ix) {
    const wick_tensor *x = arg_tensor(ix->args, 0), *w = arg_tensor(ix->args, 1);
    const wick_value *v = &ix->args[WICK_CONV_FIRST];
    op_meta *m = &ix->outs[0];
    if (x->ndim < 3 || x->ndim != w->ndim || x->ndim > 2 + MAX_SPATIAL)
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "Expected input and weight of 3 or more dimensions each, but got %d and %d", x->ndim,
                          w->ndim);
    WICK_TRY(check_dtypes(ix, 0, 2));
    WICK_TRY(check_lists(v, x->ndim - 2));
    WICK_TRY(check_channels(x, w, arg_tensor(ix->args, 2), v));
    meta_like(m, x);
    m->sizes[1] = v[WICK_CONV_TRANSPOSED].as.i ? wick_dim_mul(w->sizes[1], v[WICK_CONV_GROUPS].as.i) : w->sizes[0];
    for (int k = 0; k < x->ndim - 2; ++k) {
        m->sizes[k + 2] = out_size(x, w, v, k);
        if (v[WICK_CONV_TRANSPOSED].as.i ? m->sizes[k + 2] < 1
                                         : x->sizes[k + 2] + 2 * entry(&v[WICK_CONV_PADDING], k) < extent(w, v, k))
            return WICK_ERROR(
                WICK_INVALID_ARGUMENT,
                "Calculated padded input size per channel: (%lld). Kernel size: (%lld). Kernel size can't be greater "
                "than actual input size",
                (long long)(x->sizes[k + 2] + 2 * entry(&v[WICK_CONV_PADDING], k)), (long long)extent(w, v, k));
    }
    return NULL;
}

/* (grad_output, input, weight, bias_sizes, stride...groups, output_mask) */
wick_status *infer_convolution_backward(op_infer *ix) {
    const wick_tensor *dy = arg_tensor(ix->args, 0), *x = arg_tensor(ix->args, 1), *w = arg_tensor(ix->args, 2);
    const uint8_t *mask = ix->args[10].as.bools;
    if (dy->ndim != x->ndim || x->ndim != w->ndim || x->ndim < 3 || x->ndim > 2 + MAX_SPATIAL ||
        ix->args[10].count != 3)
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "convolution_backward: grad_output, input and weight must have the same number of "
                          "dimensions and output_mask three entries");
    WICK_TRY(check_dtypes(ix, 0, 2));
    WICK_TRY(check_lists(&ix->args[WICK_CONV_BACKWARD_FIRST], x->ndim - 2));
    WICK_TRY(check_channels(x, w, NULL, &ix->args[WICK_CONV_BACKWARD_FIRST]));
    meta_like(&ix->outs[0], x);
    meta_like(&ix->outs[1], w);
    meta_set(&ix->outs[2], ix->compute, 1, &dy->sizes[1]);
    for (int i = 0; i < 3; ++i) ix->outs[i].absent = !mask[i];
    return NULL;
}

/* ---- decomposition ---- */
/* Every window of x as a view: [N, C, out..., kernel...]. */
static wick_tensor *windows(wick_context *c, wick_tensor *x, const wick_tensor *w, const wick_value *v) {
    for (int k = 0; k < w->ndim - 2 && x; ++k) {
        x = wick_unfold(c, x, k + 2, extent(w, v, k), entry(&v[WICK_CONV_STRIDE], k));
        x = slice_of(c, x, -1, 0, INT64_MAX, entry(&v[WICK_CONV_DILATION], k));
    }
    return x;
}

static wick_tensor *padded(wick_context *c, wick_tensor *x, int n, const int64_t *low, const int64_t *high) {
    int64_t pad[2 * MAX_SPATIAL];
    bool any = false;
    for (int k = 0; k < n; ++k) {
        pad[2 * (n - 1 - k)] = low[k], pad[2 * (n - 1 - k) + 1] = high[k];
        any |= low[k] || high[k];
    }
    return any ? wick_constant_pad_nd(c, x, pad, 2 * (size_t)n, NULL) : x;
}

/* [N, C, out..., kernel...] times [O, C / groups, kernel...], group by group: [N, O, out...]. */
static wick_tensor *multiply_windows(wick_context *c, wick_tensor *view, wick_tensor *w, int64_t groups) {
    int n = w->ndim - 2, order[2 * MAX_SPATIAL + 3];
    int64_t perm[2 * MAX_SPATIAL + 3], sizes[2 * MAX_SPATIAL + 3];
    if (!view) return NULL;
    wick_dim batch = view->sizes[0], depth = w->sizes[1], pixels = wick_dim_product(&view->sizes[2], n);
    wick_dim taps = wick_dim_mul(depth, wick_dim_product(&w->sizes[2], n)), out_depth = w->sizes[0] / groups;
    /* [N, g, c, out..., kernel...] -> [g, N, out..., c, kernel...] */
    sizes[0] = batch, sizes[1] = groups, sizes[2] = depth;
    memcpy(&sizes[3], &view->sizes[2], sizeof *sizes * 2 * (size_t)n);
    order[0] = 1, order[1] = 0, order[2 + n] = 2;
    for (int k = 0; k < n; ++k) order[2 + k] = 3 + k, order[3 + n + k] = 3 + n + k;
    for (int i = 0; i < 3 + 2 * n; ++i) perm[i] = order[i];
    wick_tensor *grouped =
        wick_permute(c, wick_reshape(c, view, sizes, (size_t)(3 + 2 * n)), perm, (size_t)(3 + 2 * n));
    wick_tensor *columns = wick_reshape(c, grouped, (int64_t[]){groups, batch * pixels, taps}, 3);
    wick_tensor *kernels = wick_transpose(c, wick_reshape(c, w, (int64_t[]){groups, out_depth, taps}, 3), 1, 2);
    /* [g, N * pixels, o] -> [N, g, o, pixels] */
    wick_tensor *product =
        wick_reshape(c, wick_bmm(c, columns, kernels), (int64_t[]){groups, batch, pixels, out_depth}, 4);
    sizes[0] = batch, sizes[1] = w->sizes[0];
    memcpy(&sizes[2], &view->sizes[2], sizeof *sizes * (size_t)n);
    return wick_reshape(c, wick_permute(c, product, (int64_t[]){1, 0, 3, 2}, 4), sizes, (size_t)(2 + n));
}

/* x with stride - 1 zeros between its elements. */
static wick_tensor *stuffed(wick_context *c, wick_tensor *x, const wick_value *stride) {
    wick_dim sizes[WICK_MAX_DIMS];
    bool spread = false;
    memcpy(sizes, x->sizes, sizeof *sizes * (size_t)x->ndim);
    for (int k = 2; k < x->ndim; ++k) {
        spread |= entry(stride, k - 2) > 1;
        sizes[k] = wick_dim_add(wick_dim_mul(wick_dim_sub(sizes[k], 1), entry(stride, k - 2)), 1);
    }
    if (!spread) return x;
    wick_tensor *out = zeros_of(c, x, sizes, (size_t)x->ndim), *places = out;
    for (int k = 2; k < x->ndim; ++k) places = slice_of(c, places, k, 0, INT64_MAX, entry(stride, k - 2));
    wick_copy_(c, places, x, NULL);
    return out;
}

/* [I, O / g, kernel...] -> [O, I / g, kernel reversed...]: the kernel of the equivalent plain convolution. */
static wick_tensor *turned_kernel(wick_context *c, wick_tensor *w, int64_t groups) {
    int n = w->ndim - 2;
    int64_t sizes[MAX_SPATIAL + 3], dims[MAX_SPATIAL];
    sizes[0] = groups, sizes[1] = w->sizes[0] / groups, sizes[2] = w->sizes[1];
    memcpy(&sizes[3], &w->sizes[2], sizeof *sizes * (size_t)n);
    wick_tensor *grouped = wick_transpose(c, wick_reshape(c, w, sizes, (size_t)n + 3), 1, 2);
    for (int k = 0; k < n; ++k) dims[k] = 2 + k;
    sizes[0] = wick_dim_mul(groups, w->sizes[1]), sizes[1] = w->sizes[0] / groups;
    memcpy(&sizes[2], &w->sizes[2], sizeof *sizes * (size_t)n);
    return wick_flip(c, wick_reshape(c, grouped, sizes, (size_t)n + 2), dims, (size_t)n);
}

static wick_tensor *plain_convolution(wick_context *c, wick_tensor *x, wick_tensor *w, const wick_value *v) {
    int64_t pad[MAX_SPATIAL];
    int n = w->ndim - 2;
    for (int k = 0; k < n; ++k) pad[k] = entry(&v[WICK_CONV_PADDING], k);
    return multiply_windows(c, windows(c, padded(c, x, n, pad, pad), w, v), w, v[WICK_CONV_GROUPS].as.i);
}

static wick_tensor *transposed_convolution(wick_context *c, wick_tensor *x, wick_tensor *w, const wick_value *v) {
    int64_t low[MAX_SPATIAL], high[MAX_SPATIAL], one = 1;
    int n = w->ndim - 2;
    for (int k = 0; k < n; ++k) {
        low[k] = extent(w, v, k) - 1 - entry(&v[WICK_CONV_PADDING], k);
        high[k] = low[k] + entry(&v[WICK_CONV_OUTPUT_PADDING], k);
    }
    wick_value unit[] = {[WICK_CONV_STRIDE] = INTS(&one, 1),
                         [WICK_CONV_PADDING] = v[WICK_CONV_PADDING],
                         [WICK_CONV_DILATION] = v[WICK_CONV_DILATION]};
    wick_tensor *kernel = turned_kernel(c, w, v[WICK_CONV_GROUPS].as.i),
                *spread = padded(c, stuffed(c, x, &v[WICK_CONV_STRIDE]), n, low, high);
    return kernel ? multiply_windows(c, windows(c, spread, kernel, unit), kernel, v[WICK_CONV_GROUPS].as.i) : NULL;
}

static wick_tensor *add_bias(wick_context *c, wick_tensor *out, wick_tensor *bias) {
    int64_t sizes[WICK_MAX_DIMS];
    if (!bias || !out) return out;
    for (int i = 0; i < out->ndim; ++i) sizes[i] = i == 1 ? -1 : 1;
    return wick_add(c, out, wick_reshape(c, bias, sizes, (size_t)out->ndim), NULL);
}

#define CONVOLVE(c, x, w, v) CALL(c, convolution, V(x), V(w), NONE, (v)[0], (v)[1], (v)[2], (v)[3], (v)[4], (v)[5])

/* (a + bi)(c + di) */
static wick_tensor *complex_convolution(wick_context *c, wick_tensor *x, wick_tensor *w, const wick_value *v) {
    wick_tensor *xr = wick_real(c, x), *xi = wick_imag(c, x), *wr = wick_real(c, w), *wi = wick_imag(c, w);
    wick_tensor *real = wick_sub(c, CONVOLVE(c, xr, wr, v), CONVOLVE(c, xi, wi, v), NULL);
    wick_tensor *imag = wick_add(c, CONVOLVE(c, xr, wi, v), CONVOLVE(c, xi, wr, v), NULL);
    return wick_complex(c, real, imag);
}

void compose_convolution(wick_context *c, const wick_value *args, wick_value *rets) {
    const wick_value *v = &args[WICK_CONV_FIRST];
    wick_tensor *x = widen(c, T(0)), *w = widen(c, T(1)), *out;
    if (!x || !w) return;
    if (wick_dtype_is_complex((wick_dtype)x->dtype))
        out = complex_convolution(c, x, w, v);
    else
        out = v[WICK_CONV_TRANSPOSED].as.i ? transposed_convolution(c, x, w, v) : plain_convolution(c, x, w, v);
    give(rets, cast_like(c, add_bias(c, out, T(2)), T(0)));
}

/* ---- gradients ---- */
/* The convolution that maps dy back to x's sizes. */
static wick_tensor *input_gradient(wick_context *c, wick_tensor *dy, const wick_tensor *x, wick_tensor *w,
                                   const wick_value *v) {
    int64_t rest[MAX_SPATIAL], none = 0;
    bool transposed = v[WICK_CONV_TRANSPOSED].as.i;
    int n = w->ndim - 2;
    for (int k = 0; k < n; ++k) {
        wick_dim reached = (dy->sizes[k + 2] - 1) * entry(&v[WICK_CONV_STRIDE], k) + extent(w, v, k) -
                           2 * entry(&v[WICK_CONV_PADDING], k);
        rest[k] = x->sizes[k + 2] - reached;
    }
    wick_value output_padding = transposed ? INTS(&none, 1) : INTS(rest, n);
    wick_tensor *dx = CALL(c, convolution, V(dy), V(w), NONE, v[WICK_CONV_STRIDE], v[WICK_CONV_PADDING],
                           v[WICK_CONV_DILATION], BOOLEAN(!transposed), output_padding, v[WICK_CONV_GROUPS]);
    for (int k = 2; transposed && dx && k < x->ndim; ++k) /* output padding past a stride reached no input */
        if (dx->sizes[k] > x->sizes[k]) dx = wick_narrow(c, dx, k, 0, x->sizes[k]);
    return dx;
}

/* One group's weights: channels of `in` correlated with channels of `out` over the batch. */
static wick_tensor *group_gradient(wick_context *c, wick_tensor *in, wick_tensor *out, const wick_tensor *w,
                                   const wick_value *v) {
    int64_t none = 0;
    wick_tensor *g = CALL(c, convolution, V(wick_transpose(c, in, 0, 1)), V(wick_transpose(c, out, 0, 1)), NONE,
                          v[WICK_CONV_DILATION], v[WICK_CONV_PADDING], v[WICK_CONV_STRIDE], BOOLEAN(false),
                          INTS(&none, 1), NUMBER(1));
    for (int k = 2; g && k < w->ndim; ++k)
        if (g->sizes[k] > w->sizes[k]) g = wick_narrow(c, g, k, 0, w->sizes[k]);
    return wick_transpose(c, g, 0, 1);
}

static wick_tensor *weight_gradient(wick_context *c, wick_tensor *dy, wick_tensor *x, const wick_tensor *w,
                                    const wick_value *v) {
    int64_t groups = v[WICK_CONV_GROUPS].as.i;
    wick_tensor *in = v[WICK_CONV_TRANSPOSED].as.i ? dy : x, *out = v[WICK_CONV_TRANSPOSED].as.i ? x : dy;
    wick_dim in_depth = in->sizes[1] / groups, out_depth = out->sizes[1] / groups;
    wick_tensor **parts = scope_array(ctx(c), (size_t)groups);
    for (int64_t g = 0; parts && g < groups && !wick_failed(c); ++g)
        parts[g] = group_gradient(c, wick_narrow(c, in, 1, g * in_depth, in_depth),
                                  wick_narrow(c, out, 1, g * out_depth, out_depth), w, v);
    return wick_failed(c) || !parts ? NULL : groups == 1 ? parts[0] : cat_of(c, parts, (size_t)groups, 0);
}

static wick_tensor *bias_gradient(wick_context *c, wick_tensor *dy) {
    int64_t dims[WICK_MAX_DIMS];
    int n = 0;
    for (int i = 0; i < dy->ndim; ++i)
        if (i != 1) dims[n++] = i;
    return sum_dims(c, dy, dims, (size_t)n, false);
}

void compose_convolution_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    const uint8_t *mask = args[10].as.bools;
    wick_tensor *dy = widen(c, T(0)), *x = widen(c, T(1)), *w = widen(c, T(2));
    if (!dy || !x || !w) return;
    if (mask[0]) rets[0] = V(cast_like(c, input_gradient(c, dy, x, w, &args[WICK_CONV_BACKWARD_FIRST]), T(1)));
    if (mask[1]) rets[1] = V(cast_like(c, weight_gradient(c, dy, x, w, &args[WICK_CONV_BACKWARD_FIRST]), T(2)));
    if (mask[2]) rets[2] = V(cast_like(c, bias_gradient(c, dy), T(2)));
}

/* ---- convNd: a batch may be missing ---- */
static wick_tensor *with_batch(wick_context *c, wick_tensor *x, int n, const char *name, bool *added) {
    char text[SIZES_TEXT];
    *added = x->ndim == n + 1;
    if (*added) return wick_unsqueeze(c, x, 0);
    if (x->ndim == n + 2) return x;
    FAIL(ctx(c), INVALID_ARGUMENT, "Expected %dD (unbatched) or %dD (batched) input to %s, but got input of size: %s",
         n + 1, n + 2, name, format_sizes(x->ndim, x->sizes, text, sizeof text));
    return NULL;
}

static void convolve(wick_context *c, const wick_value *args, wick_value *rets, int n, const char *name,
                     wick_value stride, wick_value padding, wick_value dilation, bool transposed,
                     wick_value output_padding, wick_value groups) {
    bool added;
    wick_tensor *x = with_batch(c, T(0), n, name, &added);
    wick_tensor *out = CALL(c, convolution, V(x), args[1], args[2], stride, padding, dilation, BOOLEAN(transposed),
                            output_padding, groups);
    give(rets, added ? wick_squeeze_dim(c, out, 0) : out);
}

/* (input, weight, bias, stride, padding, dilation, groups) */
static void conv(wick_context *c, const wick_value *args, wick_value *rets, int n, const char *name) {
    static const int64_t none = 0;
    convolve(c, args, rets, n, name, args[3], args[4], args[5], false, INTS(&none, 1), args[6]);
}
/* (input, weight, bias, stride, padding, output_padding, groups, dilation) */
static void conv_transpose(wick_context *c, const wick_value *args, wick_value *rets, int n, const char *name) {
    convolve(c, args, rets, n, name, args[3], args[4], args[7], true, args[5], args[6]);
}

/* "same": dilation * (kernel - 1) zeros a dimension; an odd one goes to the end. */
static bool same_padding(wick_context *c, const wick_value *args, int n, int64_t *both, wick_tensor **x) {
    const wick_tensor *w = T(1);
    int64_t low[MAX_SPATIAL] = {0}, extra[MAX_SPATIAL] = {0};
    for (int k = 0; k < n; ++k) {
        if (entry(&args[3], k) != 1)
            return !FAIL(ctx(c), INVALID_ARGUMENT, "padding='same' is not supported for strided convolutions");
        if (w->ndim != n + 2)
            return !FAIL(ctx(c), INVALID_ARGUMENT, "Expected a weight of %d dimensions, got %d", n + 2, w->ndim);
        int64_t total = entry(&args[5], k) * (w->sizes[k + 2] - 1);
        both[k] = total / 2, extra[k] = total % 2;
    }
    *x = padded(c, *x, n, low, extra);
    return true;
}

static void conv_text_padding(wick_context *c, const wick_value *args, wick_value *rets, int n, const char *name) {
    int64_t both[MAX_SPATIAL] = {0};
    static const int64_t none = 0;
    const char *mode = args[4].as.string;
    wick_tensor *x = T(0);
    if (strcmp(mode, "same") && strcmp(mode, "valid")) {
        FAIL(ctx(c), INVALID_ARGUMENT, "Invalid padding string: '%s'", mode);
        return;
    }
    if (!strcmp(mode, "same") && !same_padding(c, args, n, both, &x)) return;
    const wick_value changed[] = {V(x), args[1], args[2]};
    if (x) convolve(c, changed, rets, n, name, args[3], INTS(both, n), args[5], false, INTS(&none, 1), args[6]);
}

#define CONV(n)                                                                                    \
    void compose_conv##n##d(wick_context *c, const wick_value *args, wick_value *rets) {           \
        conv(c, args, rets, n, "conv" #n "d");                                                     \
    }                                                                                              \
    void compose_conv##n##d_padding(wick_context *c, const wick_value *args, wick_value *rets) {   \
        conv_text_padding(c, args, rets, n, "conv" #n "d");                                        \
    }                                                                                              \
    void compose_conv_transpose##n##d(wick_context *c, const wick_value *args, wick_value *rets) { \
        conv_transpose(c, args, rets, n, "conv_transpose" #n "d");                                 \
    }
CONV(1)
CONV(2)
CONV(3)

/* ---- im2col(self, kernel, dilation, padding, stride) and back ---- */
static wick_status *window_counts(const wick_value *v, const wick_dim *image, wick_dim out[2]) {
    for (int k = 0; k < 2; ++k) {
        wick_dim reach = wick_dim_add(wick_dim_mul(entry(&v[1], k), wick_dim_sub(entry(&v[0], k), 1)), 1);
        wick_dim room = wick_dim_sub(wick_dim_add(image[k], wick_dim_mul(2, entry(&v[2], k))), reach);
        if (entry(&v[0], k) < 1 || entry(&v[1], k) < 1 || entry(&v[2], k) < 0 || entry(&v[3], k) < 1)
            return WICK_ERROR(WICK_INVALID_ARGUMENT,
                              "kernel_size, dilation and stride must be positive, and padding must not be negative");
        out[k] = wick_dim_add(wick_dim_floordiv(room, entry(&v[3], k)), 1);
        if (out[k] < 1)
            return WICK_ERROR(WICK_INVALID_ARGUMENT,
                              "Given input with spatial size (%lld, %lld): its sliding blocks would have no room",
                              (long long)image[0], (long long)image[1]);
    }
    return NULL;
}

wick_status *infer_im2col(op_infer *ix) {
    const wick_tensor *x = arg_tensor(ix->args, 0);
    const wick_value *v = &ix->args[1];
    wick_dim out[2];
    op_meta *m = &ix->outs[0];
    if (x->ndim != 3 && x->ndim != 4)
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
                          "dimensions for input, but got %d dimensions",
                          x->ndim);
    WICK_TRY(window_counts(v, &x->sizes[x->ndim - 2], out));
    meta_like(m, x);
    m->ndim = x->ndim - 1;
    m->sizes[m->ndim - 2] = wick_dim_mul(x->sizes[x->ndim - 3], wick_dim_mul(entry(&v[0], 0), entry(&v[0], 1)));
    m->sizes[m->ndim - 1] = wick_dim_mul(out[0], out[1]);
    ix->compute = m->dtype;
    return NULL;
}

/* (self, output_size, kernel, dilation, padding, stride) */
wick_status *infer_col2im(op_infer *ix) {
    const wick_tensor *x = arg_tensor(ix->args, 0);
    const wick_value *v = &ix->args[2];
    const wick_dim image[2] = {entry(&ix->args[1], 0), entry(&ix->args[1], 1)};
    wick_dim out[2], taps = wick_dim_mul(entry(&v[0], 0), entry(&v[0], 1));
    op_meta *m = &ix->outs[0];
    if (x->ndim != 2 && x->ndim != 3)
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "Expected 2D or 3D (batch mode) tensor for input, but got %d dimensions", x->ndim);
    WICK_TRY(window_counts(v, image, out));
    if (x->sizes[x->ndim - 2] % taps || x->sizes[x->ndim - 1] != wick_dim_mul(out[0], out[1]))
        return WICK_ERROR(
            WICK_INVALID_ARGUMENT,
            "Expected size of input's dimension 1 to be divisible by %lld and dimension 2 to match the number "
            "of sliding blocks %lld x %lld, but got %lld and %lld",
            (long long)taps, (long long)out[0], (long long)out[1], (long long)x->sizes[x->ndim - 2],
            (long long)x->sizes[x->ndim - 1]);
    meta_like(m, x);
    m->ndim = x->ndim + 1;
    m->sizes[m->ndim - 3] = x->sizes[x->ndim - 2] / taps;
    m->sizes[m->ndim - 2] = image[0], m->sizes[m->ndim - 1] = image[1];
    ix->compute = m->dtype;
    return NULL;
}
