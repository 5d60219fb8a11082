/* Pooling: shape rules, and the functions that lead to the two- and three-dimensional operators. */
#include "boxed.h"
#include "geometry.h"
#include "rows.h"

/* ---- windows of a fixed size ---- */
/* n dimensions of `x` shrink under windows; values[0..2] are kernel, stride (empty: the kernel) and padding. */
static wick_status *window_size(wick_dim in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                                bool ceil_mode, wick_dim *out) {
    if (kernel < 1 || dilation < 1)
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "kernel size and dilation should be greater than zero, but got %lld and %lld",
                          (long long)kernel, (long long)dilation);
    if (stride < 1) return WICK_ERROR(WICK_INVALID_ARGUMENT, "stride should not be zero");
    if (padding < 0)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "pad must be non-negative, but got pad: %lld", (long long)padding);
    if (padding > ((kernel - 1) * dilation + 1) / 2)
        return WICK_ERROR(
            WICK_INVALID_ARGUMENT,
            "pad should be at most half of effective kernel size, but got pad=%lld, kernel_size=%lld and dilation=%lld",
            (long long)padding, (long long)kernel, (long long)dilation);
    wick_dim reach = wick_dim_add(wick_dim_mul(dilation, kernel - 1), 1);
    wick_dim room = wick_dim_sub(wick_dim_add(in, 2 * padding), reach);
    *out = wick_dim_add(wick_dim_floordiv(wick_dim_add(room, ceil_mode ? stride - 1 : 0), stride), 1);
    /* the last window must start inside the input or its left padding */
    if (ceil_mode && wick_dim_is_known(*out) && (*out - 1) * stride >= in + padding) --*out;
    return NULL;
}

static wick_status *want_planes(const wick_tensor *x, int n) {
    char text[SIZES_TEXT];
    bool ok = x->ndim == n + 1 || x->ndim == n + 2;
    for (int i = x->ndim == n + 2; ok && i < x->ndim; ++i) ok = x->sizes[i] != 0;
    if (ok) return NULL;
    return WICK_ERROR(WICK_INVALID_ARGUMENT,
                      "Expected %dD or %dD (batch mode) tensor with optional 0 dim batch size for input, but got:%s",
                      n + 1, n + 2, format_sizes(x->ndim, x->sizes, text, sizeof text));
}

static wick_status *pooled(op_infer *ix, int n, bool dilated, int ceil_arg) {
    const wick_tensor *x = arg_tensor(ix->args, 0);
    const wick_value *kernel = &ix->args[1], *stride = ix->args[2].count ? &ix->args[2] : kernel,
                     *padding = &ix->args[3];
    op_meta *m = &ix->outs[0];
    WICK_TRY(want_planes(x, n));
    meta_like(m, x);
    for (int k = 0; k < n; ++k) {
        wick_dim *size = &m->sizes[x->ndim - n + k];
        WICK_TRY(window_size(*size, entry(kernel, k), entry(stride, k), entry(padding, k),
                             dilated ? entry(&ix->args[4], k) : 1, ix->args[ceil_arg].as.i, size));
        if (wick_dim_is_known(*size) && *size >= 1) continue;
        char in[SIZES_TEXT], out[SIZES_TEXT];
        return WICK_ERROR(
            WICK_INVALID_ARGUMENT, "Given input size: %s. Calculated output size: %s. Output size is too small",
            format_sizes(x->ndim, x->sizes, in, sizeof in), format_sizes(m->ndim, m->sizes, out, sizeof out));
    }
    ix->compute = m->dtype;
    return NULL;
}

static wick_status *with_indices(op_infer *ix, wick_status *s) {
    if (s) return s;
    ix->outs[1] = ix->outs[0];
    ix->outs[1].dtype = WICK_I64;
    return NULL;
}

/* An average of integers is cut; as in PyTorch there is one of I64 alone. */
static wick_status *averaged(const op_infer *ix, wick_status *s) {
    if (s || ix->compute == WICK_I64 || wick_dtype_is_differentiable(ix->compute)) return s;
    return WICK_ERROR(WICK_UNSUPPORTED, "average pooling is not implemented for dtype %s",
                      wick_dtype_name(ix->compute));
}
wick_status *infer_avg_pool2d(op_infer *ix) { return averaged(ix, pooled(ix, 2, false, 4)); }
wick_status *infer_avg_pool3d(op_infer *ix) { return averaged(ix, pooled(ix, 3, false, 4)); }
wick_status *infer_max_pool2d(op_infer *ix) { return with_indices(ix, pooled(ix, 2, true, 5)); }
wick_status *infer_max_pool3d(op_infer *ix) { return with_indices(ix, pooled(ix, 3, true, 5)); }

/* Backward operators: the result is like argument 1, `self`. Indices are not cast. */
wick_status *infer_pool_backward(op_infer *ix) {
    const wick_tensor *dy = arg_tensor(ix->args, 0), *x = arg_tensor(ix->args, 1);
    if (dy->ndim != x->ndim || dy->dtype != x->dtype)
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "grad_output and input must have the same dtype and number of dimensions");
    meta_like(&ix->outs[0], x);
    ix->compute = ix->outs[0].dtype;
    ix->cast_args = 3;
    return NULL;
}

wick_status *infer_avg_pool_backward(op_infer *ix) { return averaged(ix, infer_pool_backward(ix)); }

/* ---- windows from the output's size ---- */
static wick_status *sized(op_infer *ix, int n, const wick_value *size) {
    const wick_tensor *x = arg_tensor(ix->args, 0);
    op_meta *m = &ix->outs[0];
    WICK_TRY(want_planes(x, n));
    if (size->count != 1 && (int)size->count != n)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "output_size must be of %d elements, got %u", n, size->count);
    meta_like(m, x);
    for (int k = 0; k < n; ++k) {
        if (entry(size, k) < 0)
            return WICK_ERROR(WICK_INVALID_ARGUMENT,
                              "elements of output_size must be greater than or equal to 0 but received %lld",
                              (long long)entry(size, k));
        m->sizes[x->ndim - n + k] = entry(size, k);
    }
    ix->compute = m->dtype;
    ix->cast_args = 1;
    return NULL;
}

wick_status *infer_adaptive_pool2d(op_infer *ix) { return sized(ix, 2, &ix->args[1]); }
wick_status *infer_adaptive_pool3d(op_infer *ix) { return sized(ix, 3, &ix->args[1]); }
wick_status *infer_adaptive_max_pool2d(op_infer *ix) { return with_indices(ix, sized(ix, 2, &ix->args[1])); }
wick_status *infer_adaptive_max_pool3d(op_infer *ix) { return with_indices(ix, sized(ix, 3, &ix->args[1])); }

static wick_status *fractional(op_infer *ix, int n) {
    const wick_tensor *x = arg_tensor(ix->args, 0), *samples = arg_tensor(ix->args, 3);
    WICK_TRY(sized(ix, n, &ix->args[2]));
    for (int k = 0; k < n; ++k)
        if (entry(&ix->args[2], k) + entry(&ix->args[1], k) - 1 > x->sizes[x->ndim - n + k])
            return WICK_ERROR(WICK_INVALID_ARGUMENT,
                              "fractional_max_pool: pool dimension %d too large relative to input", k);
    if (samples->ndim != 3 || samples->dtype != x->dtype || samples->sizes[2] != n)
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "Expect _random_samples to have the input's dtype and 3 dimensions, the last of size %d", n);
    return with_indices(ix, NULL);
}
wick_status *infer_fractional_pool2d(op_infer *ix) { return fractional(ix, 2); }
wick_status *infer_fractional_pool3d(op_infer *ix) { return fractional(ix, 3); }

static wick_status *unpool(op_infer *ix, int n) {
    const wick_tensor *x = arg_tensor(ix->args, 0), *indices = arg_tensor(ix->args, 1);
    if (indices->dtype != WICK_I64)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "elements in indices should be type int64 but got: %s",
                          wick_dtype_name((wick_dtype)indices->dtype));
    if (indices->ndim != x->ndim || memcmp(indices->sizes, x->sizes, sizeof *x->sizes * x->ndim))
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "Expected shape of indices to be same as that of the input tensor");
    return sized(ix, n, &ix->args[2]);
}
wick_status *infer_max_unpool2d(op_infer *ix) { return unpool(ix, 2); }
wick_status *infer_max_unpool3d(op_infer *ix) { return unpool(ix, 3); }

/* ---- maxima without their places ---- */
#define FIRST(c, op, n, ...)                                             \
    do {                                                                 \
        wick_value both_[2];                                             \
        if (CALL_MANY(c, op, both_, n, __VA_ARGS__)) rets[0] = both_[0]; \
    } while (0)
void compose_max_pool2d(wick_context *c, const wick_value *args, wick_value *rets) {
    FIRST(c, max_pool2d_with_indices, 2, args[0], args[1], args[2], args[3], args[4], args[5]);
}
void compose_max_pool3d(wick_context *c, const wick_value *args, wick_value *rets) {
    FIRST(c, max_pool3d_with_indices, 2, args[0], args[1], args[2], args[3], args[4], args[5]);
}

/* ---- one dimension: two, of which the first has size 1 ---- */
static wick_tensor *thicken(wick_context *c, wick_tensor *x) { return wick_unsqueeze(c, x, -2); }
static wick_tensor *thin(wick_context *c, wick_tensor *x) { return wick_squeeze_dim(c, x, -2); }

static bool want_line(wick_context *c, const wick_tensor *x, const char *name) {
    if (x->ndim == 2 || x->ndim == 3) return true;
    return !FAIL(ctx(c), INVALID_ARGUMENT, "%s() Expected 2D or 3D input tensor, but got %d dimensions", name, x->ndim);
}

/* {absent, the list's one entry}; empty stays empty */
typedef struct pair {
    int64_t items[2];
    size_t count;
} pair;
static pair lift_list(const wick_value *list, int64_t absent) {
    pair p = {{absent, list->count ? list->as.ints[0] : 0}, list->count ? 2 : 0};
    return p;
}
#define PAIR(p) wick_value_ints((p).items, (p).count)

void compose_max_pool1d_with_indices(wick_context *c, const wick_value *args, wick_value *rets) {
    pair kernel = lift_list(&args[1], 1), stride = lift_list(&args[2], 1), padding = lift_list(&args[3], 0),
         dilation = lift_list(&args[4], 1);
    if (!want_line(c, T(0), "max_pool1d")) return;
    wick_value both[2];
    if (!CALL_MANY(c, max_pool2d_with_indices, both, 2, V(thicken(c, T(0))), PAIR(kernel), PAIR(stride), PAIR(padding),
                   PAIR(dilation), args[5]))
        return;
    for (int i = 0; i < 2; ++i) rets[i] = V(thin(c, both[i].as.tensor));
}
void compose_max_pool1d(wick_context *c, const wick_value *args, wick_value *rets) {
    FIRST(c, max_pool1d_with_indices, 2, args[0], args[1], args[2], args[3], args[4], args[5]);
}

void compose_avg_pool1d(wick_context *c, const wick_value *args, wick_value *rets) {
    pair kernel = lift_list(&args[1], 1), stride = lift_list(&args[2], 1), padding = lift_list(&args[3], 0);
    if (!want_line(c, T(0), "avg_pool1d")) return;
    give(rets, thin(c, CALL(c, avg_pool2d, V(thicken(c, T(0))), PAIR(kernel), PAIR(stride), PAIR(padding), args[4],
                            args[5], NONE)));
}

void compose_adaptive_avg_pool1d(wick_context *c, const wick_value *args, wick_value *rets) {
    pair size = lift_list(&args[1], 1);
    if (want_line(c, T(0), "adaptive_avg_pool1d"))
        give(rets, thin(c, CALL(c, adaptive_avg_pool2d, V(thicken(c, T(0))), PAIR(size))));
}

void compose_adaptive_max_pool1d(wick_context *c, const wick_value *args, wick_value *rets) {
    pair size = lift_list(&args[1], 1);
    wick_value both[2];
    if (!want_line(c, T(0), "adaptive_max_pool1d") ||
        !CALL_MANY(c, adaptive_max_pool2d, both, 2, V(thicken(c, T(0))), PAIR(size)))
        return;
    for (int i = 0; i < 2; ++i) rets[i] = V(thin(c, both[i].as.tensor));
}

/* ---- one average of everything is a mean ---- */
static bool all_ones(const wick_value *size) {
    for (uint32_t i = 0; i < size->count; ++i)
        if (size->as.ints[i] != 1) return false;
    return size->count > 0;
}
static wick_tensor *mean_of_last(wick_context *c, const wick_value *args, int n) {
    static const int64_t dims[] = {-1, -2, -3};
    return CALL(c, mean_dim, args[0], INTS(dims, n), BOOLEAN(true), NONE);
}
static bool has_planes(const wick_tensor *x, int n) { return x->numel && (x->ndim == n + 1 || x->ndim == n + 2); }

DECOMPOSE(adaptive_avg_pool2d, all_ones(&args[1]) && has_planes(T(0), 2)
                                   ? mean_of_last(c, args, 2)
                                   : CALL(c, _adaptive_avg_pool2d, args[0], args[1]))
DECOMPOSE(adaptive_avg_pool3d, all_ones(&args[1]) && has_planes(T(0), 3)
                                   ? mean_of_last(c, args, 3)
                                   : CALL(c, _adaptive_avg_pool3d, args[0], args[1]))
