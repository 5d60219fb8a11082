/* Batch, layer, group, instance and root-mean-square normalization: shape rules and decompositions. */
#include "norm.h"

#include <wick/sdk/element.h>

#include "boxed.h"
#include "dims.h"
#include "geometry.h"
#include "rows.h"

/* ---- the arithmetic they share ---- */
norm_statistics norm_measure(wick_context *c, wick_tensor *x, uint64_t mask, double eps) {
    norm_statistics s = {NULL, NULL, NULL};
    int64_t dims[WICK_MAX_DIMS];
    if (!(x = widen(c, x))) return s;
    int n = dims_list(mask, x->ndim, dims);
    wick_value both[2];
    if (!CALL_MANY(c, var_mean, both, 2, V(x), INTS(dims, n), NUMBER(0), BOOLEAN(true))) return s;
    s.var = both[0].as.tensor, s.mean = both[1].as.tensor;
    s.rstd = wick_rsqrt(c, wick_add_scalar(c, s.var, REAL(eps), NULL));
    return s;
}

static wick_tensor *normalized(wick_context *c, wick_tensor *x, wick_tensor *mean, wick_tensor *rstd) {
    return wick_mul(c, wick_sub(c, widen(c, x), mean, NULL), rstd);
}

static wick_tensor *affine(wick_context *c, wick_tensor *x, wick_tensor *weight, wick_tensor *bias) {
    if (weight) x = wick_mul(c, x, weight);
    return bias ? wick_add(c, x, bias, NULL) : x;
}

static wick_tensor *mean_over(wick_context *c, wick_tensor *t, uint64_t mask) {
    int64_t dims[WICK_MAX_DIMS];
    int n = t ? dims_list(mask, t->ndim, dims) : 0;
    return CALL(c, mean_dim, V(t), INTS(dims, n), BOOLEAN(true), NONE);
}
static wick_tensor *sum_over(wick_context *c, wick_tensor *t, uint64_t mask, bool keepdim) {
    int64_t dims[WICK_MAX_DIMS];
    int n = t ? dims_list(mask, t->ndim, dims) : 0;
    return n ? sum_dims(c, t, dims, (size_t)n, keepdim) : t;
}

/* rstd (g - mean(g) - y mean(g y)), y = the normalized input, means over what was normalized */
static wick_tensor *through_statistics(wick_context *c, wick_tensor *g, wick_tensor *y, wick_tensor *rstd,
                                       uint64_t mask) {
    wick_tensor *centred = wick_sub(c, g, mean_over(c, g, mask), NULL);
    wick_tensor *along = wick_mul(c, y, mean_over(c, wick_mul(c, g, y), mask));
    return wick_mul(c, wick_sub(c, centred, along, NULL), rstd);
}

/* F16 and BF16 inputs with F32 weights keep their statistics in F32. */
static wick_dtype statistics_dtype(const wick_tensor *x, const wick_tensor *weight, const wick_tensor *bias) {
    const wick_tensor *other = weight ? weight : bias;
    return other && other->dtype != x->dtype ? WICK_F32 : (wick_dtype)x->dtype;
}

static wick_status *want_floating(const wick_tensor *x, const char *name) {
    return wick_dtype_is_floating((wick_dtype)x->dtype)
               ? NULL
               : WICK_ERROR(WICK_UNSUPPORTED, "\"%s\" not implemented for '%s'", name,
                            wick_dtype_name((wick_dtype)x->dtype));
}

/* Kernels walk statistics and weights by what the shapes say: those must have as many elements. `t` may be NULL. */
static wick_status *want_elements(const wick_tensor *t, wick_dim want, const char *name, const char *what) {
    char sizes[SIZES_TEXT];
    if (!t || t->numel == want) return NULL;
    return WICK_ERROR(WICK_INVALID_ARGUMENT, "expected %s to have %lld elements (%s), got shape %s", name,
                      (long long)want, what, format_sizes(t->ndim, t->sizes, sizes, sizeof sizes));
}

/* ---- layer normalization: (input, normalized_shape, weight, bias, eps) ---- */
static wick_status *check_layer(const wick_tensor *x, const wick_value *shape, const wick_tensor *weight,
                                const wick_tensor *bias) {
    char a[SIZES_TEXT], b[SIZES_TEXT];
    int n = (int)shape->count;
    size_t bytes = sizeof(wick_dim) * shape->count;
    if (n < 1)
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
                          "element, but got normalized_shape = []");
    if (x->ndim < n || memcmp(&x->sizes[x->ndim - n], shape->as.ints, bytes))
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "Given normalized_shape=%s, expected input with shape [*, %s, but got input of size%s",
                          format_sizes(n, shape->as.ints, a, sizeof a), a + 1,
                          format_sizes(x->ndim, x->sizes, b, sizeof b));
    for (int i = 0; i < 2; ++i) {
        const wick_tensor *t = i ? bias : weight;
        if (t && (t->ndim != n || memcmp(t->sizes, shape->as.ints, bytes)))
            return WICK_ERROR(WICK_INVALID_ARGUMENT,
                              "Expected %s to be of same shape as normalized_shape, but got %s of shape %s and "
                              "normalized_shape = %s",
                              i ? "bias" : "weight", i ? "bias" : "weight",
                              format_sizes(t->ndim, t->sizes, a, sizeof a),
                              format_sizes(n, shape->as.ints, b, sizeof b));
    }
    return NULL;
}

wick_status *infer_layer_norm(op_infer *ix) {
    const wick_tensor *x = arg_tensor(ix->args, 0), *w = arg_tensor(ix->args, 2), *b = arg_tensor(ix->args, 3);
    int n = (int)ix->args[1].count;
    WICK_TRY(want_floating(x, "LayerNormKernelImpl"));
    WICK_TRY(check_layer(x, &ix->args[1], w, b));
    for (int i = 0; i < 3; ++i) meta_like(&ix->outs[i], x);
    for (int i = 1; i < 3; ++i) {
        ix->outs[i].dtype = statistics_dtype(x, w, b);
        for (int d = x->ndim - n; d < x->ndim; ++d) ix->outs[i].sizes[d] = 1;
    }
    return NULL;
}

void compose_layer_norm_core(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = T(0);
    norm_statistics s = norm_measure(c, x, norm_layer_mask(x, (int)args[1].count), F(4));
    rets[0] = V(cast_like(c, affine(c, normalized(c, x, s.mean, s.rstd), T(2), T(3)), x));
    rets[1] = V(cast(c, s.mean, statistics_dtype(x, T(2), T(3))));
    rets[2] = V(cast(c, s.rstd, statistics_dtype(x, T(2), T(3))));
}

/* (grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask) */
wick_status *infer_layer_norm_backward(op_infer *ix) {
    const wick_tensor *x = arg_tensor(ix->args, 1), *w = arg_tensor(ix->args, 5), *b = arg_tensor(ix->args, 6);
    const wick_value *shape = &ix->args[2];
    WICK_TRY(check_layer(x, shape, w, b));
    WICK_TRY(want_elements(arg_tensor(ix->args, 0), x->numel, "grad_out", "as many as input"));
    wick_dim runs = wick_dim_product(x->sizes, x->ndim - (int)shape->count);
    WICK_TRY(want_elements(arg_tensor(ix->args, 3), runs, "mean", "one for each normalized part"));
    WICK_TRY(want_elements(arg_tensor(ix->args, 4), runs, "rstd", "one for each normalized part"));
    meta_like(&ix->outs[0], x);
    for (int i = 1; i < 3; ++i)
        meta_set(&ix->outs[i], (wick_dtype)(w ? w : x)->dtype, (int)shape->count, shape->as.ints);
    for (int i = 0; i < 3; ++i) ix->outs[i].absent = !ix->args[7].as.bools[i];
    return NULL;
}

void compose_layer_norm_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = T(1), *w = T(5), *g = widen(c, T(0)), *y = normalized(c, x, T(3), T(4));
    const uint8_t *mask = args[7].as.bools;
    uint64_t inner = norm_layer_mask(x, (int)args[2].count), outer = MAX_MASK(x->ndim) & ~inner;
    if (mask[0]) rets[0] = V(cast_like(c, through_statistics(c, w ? wick_mul(c, g, w) : g, y, T(4), inner), x));
    if (mask[1]) rets[1] = V(cast_like(c, sum_over(c, wick_mul(c, g, y), outer, false), w ? w : x));
    if (mask[2]) rets[2] = V(cast_like(c, sum_over(c, g, outer, false), w ? w : x));
}

#define FIRST(c, op, n, ...)                                           \
    do {                                                               \
        wick_value all_[n];                                            \
        if (CALL_MANY(c, op, all_, n, __VA_ARGS__)) rets[0] = all_[0]; \
    } while (0)

void compose_layer_norm(wick_context *c, const wick_value *args, wick_value *rets) {
    FIRST(c, native_layer_norm, 3, args[0], args[1], args[2], args[3], args[4]);
}

/* ---- group normalization: (input, weight, bias, N, C, HxW, group, eps) ---- */
/* `v` are N, C, HxW, group. */
static wick_status *check_groups(const wick_value *v, const wick_tensor *x, const char *name) {
    wick_dim batch = v[0].as.i, channels = v[1].as.i, pixels = v[2].as.i, groups = v[3].as.i;
    char sizes[SIZES_TEXT];
    if (groups < 1 || channels % groups)
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "Expected number of channels in input to be divisible by num_groups, but got %lld "
                          "channels and num_groups=%lld",
                          (long long)channels, (long long)groups);
    if (batch < 0 || channels < 0 || pixels < 0 || wick_dim_mul(batch, wick_dim_mul(channels, pixels)) != x->numel)
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "Expected %s to have N * C * HxW elements, but got N=%lld, C=%lld, HxW=%lld and shape %s",
                          name, (long long)batch, (long long)channels, (long long)pixels,
                          format_sizes(x->ndim, x->sizes, sizes, sizeof sizes));
    return NULL;
}

wick_status *infer_group_norm(op_infer *ix) {
    const wick_tensor *x = arg_tensor(ix->args, 0);
    wick_dim batch = ix->args[3].as.i, channels = ix->args[4].as.i, groups = ix->args[6].as.i;
    WICK_TRY(want_floating(x, "GroupNormKernelImpl"));
    WICK_TRY(check_groups(&ix->args[3], x, "input"));
    WICK_TRY(want_elements(arg_tensor(ix->args, 1), channels, "weight", "one for each channel"));
    WICK_TRY(want_elements(arg_tensor(ix->args, 2), channels, "bias", "one for each channel"));
    meta_like(&ix->outs[0], x);
    for (int i = 1; i < 3; ++i)
        meta_set(&ix->outs[i], statistics_dtype(x, arg_tensor(ix->args, 1), arg_tensor(ix->args, 2)), 2,
                 (wick_dim[]){batch, groups});
    return NULL;
}

/* The input as [N, group, channels of a group, pixels]; `v` are N, C, HxW, group. */
static wick_tensor *by_group(wick_context *c, wick_tensor *x, const wick_value *v) {
    int64_t sizes[] = {v[0].as.i, v[3].as.i, v[1].as.i / v[3].as.i, v[2].as.i};
    return wick_reshape(c, x, sizes, 4);
}
static wick_tensor *by_channel(wick_context *c, wick_tensor *w, const wick_value *v) {
    int64_t sizes[] = {1, v[3].as.i, v[1].as.i / v[3].as.i, 1};
    return w ? wick_reshape(c, w, sizes, 4) : NULL;
}
static wick_tensor *statistic(wick_context *c, wick_tensor *t, const wick_value *v) {
    int64_t sizes[] = {v[0].as.i, v[3].as.i, 1, 1};
    return wick_reshape(c, t, sizes, 4);
}
enum { GROUP_MASK = 12 /* the last two of four */, CHANNEL_MASK = 9 /* all but [group, channel] */ };

void compose_group_norm_core(wick_context *c, const wick_value *args, wick_value *rets) {
    const wick_value *v = &args[3];
    wick_dtype kept = statistics_dtype(T(0), T(1), T(2));
    wick_tensor *x = by_group(c, T(0), v);
    norm_statistics s = norm_measure(c, x, GROUP_MASK, F(7));
    wick_tensor *y = affine(c, normalized(c, x, s.mean, s.rstd), by_channel(c, T(1), v), by_channel(c, T(2), v));
    rets[0] = V(cast_like(c, wick_reshape(c, y, SIZES(T(0))), T(0)));
    rets[1] = V(cast(c, wick_reshape(c, s.mean, (int64_t[]){v[0].as.i, v[3].as.i}, 2), kept));
    rets[2] = V(cast(c, wick_reshape(c, s.rstd, (int64_t[]){v[0].as.i, v[3].as.i}, 2), kept));
}

/* (grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask) */
wick_status *infer_group_norm_backward(op_infer *ix) {
    const wick_tensor *x = arg_tensor(ix->args, 1), *w = arg_tensor(ix->args, 4);
    const wick_value *v = &ix->args[5];
    WICK_TRY(check_groups(v, x, "input"));
    WICK_TRY(check_groups(v, arg_tensor(ix->args, 0), "grad_out"));
    wick_dim runs = wick_dim_mul(v[0].as.i, v[3].as.i);
    WICK_TRY(want_elements(arg_tensor(ix->args, 2), runs, "mean", "N * group"));
    WICK_TRY(want_elements(arg_tensor(ix->args, 3), runs, "rstd", "N * group"));
    WICK_TRY(want_elements(w, v[1].as.i, "weight", "one for each channel"));
    meta_like(&ix->outs[0], x);
    for (int i = 1; i < 3; ++i) meta_set(&ix->outs[i], (wick_dtype)(w ? w : x)->dtype, 1, &v[1].as.i);
    for (int i = 0; i < 3; ++i) ix->outs[i].absent = !ix->args[9].as.bools[i];
    return NULL;
}

void compose_group_norm_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    const wick_value *v = &args[5];
    const uint8_t *mask = args[9].as.bools;
    wick_tensor *w = by_channel(c, T(4), v), *like = T(4) ? T(4) : T(1), *rstd = statistic(c, T(3), v);
    wick_tensor *g = widen(c, by_group(c, T(0), v)),
                *y = normalized(c, by_group(c, T(1), v), statistic(c, T(2), v), rstd);
    if (mask[0]) {
        wick_tensor *out = through_statistics(c, w ? wick_mul(c, g, w) : g, y, rstd, GROUP_MASK);
        rets[0] = V(cast_like(c, wick_reshape(c, out, SIZES(T(1))), T(1)));
    }
    if (mask[1]) rets[1] = V(cast_like(c, flat(c, sum_over(c, wick_mul(c, g, y), CHANNEL_MASK, false)), like));
    if (mask[2]) rets[2] = V(cast_like(c, flat(c, sum_over(c, g, CHANNEL_MASK, false)), like));
}

/* (input, num_groups, weight, bias, eps) */
void compose_group_norm(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = T(0);
    char text[SIZES_TEXT];
    if (x->ndim < 2 || I(1) < 1 || x->sizes[1] % I(1)) {
        FAIL(ctx(c), INVALID_ARGUMENT,
             "Expected number of channels in input to be divisible by num_groups, but got input of shape %s and "
             "num_groups=%lld",
             format_sizes(x->ndim, x->sizes, text, sizeof text), (long long)I(1));
        return;
    }
    wick_dim pixels = wick_dim_product(&x->sizes[2], x->ndim - 2);
    FIRST(c, native_group_norm, 3, V(wick_contiguous(c, x, NULL)), args[2], args[3], NUMBER(x->sizes[0]),
          NUMBER(x->sizes[1]), NUMBER(pixels), args[1], args[4]);
}

/* ---- batch normalization ---- */
static wick_status *batch_like(op_infer *ix, bool training, int outputs) {
    const wick_tensor *x = arg_tensor(ix->args, 0);
    WICK_TRY(want_floating(x, "batch_norm"));
    if (x->ndim < 2)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "batch_norm: input needs at least 2 dimensions, got %d", x->ndim);
    for (int i = 1; i < ix->op->base_nargs; ++i) {
        const wick_tensor *t = ix->op->args[i].type == TYPE_TENSOR ? arg_tensor(ix->args, i) : NULL;
        if (t && (t->ndim != 1 || t->sizes[0] != x->sizes[1]))
            return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s should contain %lld elements not %lld", ix->op->args[i].name,
                              (long long)x->sizes[1], (long long)t->numel);
    }
    char sizes[SIZES_TEXT];
    if (training && x->numel == 0)
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "input tensor must have at least one element, but got input_sizes = %s",
                          format_sizes(x->ndim, x->sizes, sizes, sizeof sizes));
    wick_dim channels = training ? x->sizes[1] : 0;
    meta_like(&ix->outs[0], x);
    for (int i = 1; i < 3; ++i)
        meta_set(&ix->outs[i], statistics_dtype(x, arg_tensor(ix->args, 1), arg_tensor(ix->args, 2)), 1, &channels);
    if (outputs == 4) meta_set(&ix->outs[3], WICK_U8, 1, (wick_dim[]){0});
    return NULL;
}

wick_status *infer_batch_norm(op_infer *ix) {
    bool training = ix->args[5].as.i;
    if (!training && (!arg_tensor(ix->args, 3) || !arg_tensor(ix->args, 4)))
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "running_mean and running_var must be defined in evaluation mode");
    return batch_like(ix, training, 3);
}
wick_status *infer_batch_norm_no_stats(op_infer *ix) { return batch_like(ix, true, 3); }
wick_status *infer_batch_norm_inference(op_infer *ix) { return batch_like(ix, false, 3); }
wick_status *infer_batch_norm_update(op_infer *ix) { return batch_like(ix, true, 4); }

/* A vector over channels next to [N, C, ...]. */
static wick_tensor *over_channels(wick_context *c, wick_tensor *t, const wick_tensor *x) {
    int64_t sizes[WICK_MAX_DIMS];
    if (!t) return NULL;
    for (int i = 0; i < x->ndim; ++i) sizes[i] = i == 1 ? -1 : 1;
    return wick_reshape(c, t, sizes, (size_t)x->ndim);
}

static void update_running(wick_context *c, wick_tensor *running, wick_tensor *now, double momentum) {
    if (!running || !now) return;
    wick_mul_scalar_(c, running, REAL(1 - momentum));
    wick_add_(c, running, cast_like(c, wick_mul_scalar(c, flat(c, now), REAL(momentum)), running), NULL);
}

static void normalize_batch(wick_context *c, wick_tensor *x, wick_tensor *w, wick_tensor *b, wick_tensor *running_mean,
                            wick_tensor *running_var, bool training, double momentum, double eps, wick_value *rets) {
    norm_statistics s;
    wick_dtype kept = statistics_dtype(x, w, b);
    if (training) {
        s = norm_measure(c, x, norm_batch_mask(x), eps);
        double n = x->sizes[1] ? (double)(x->numel / x->sizes[1]) : 0;
        update_running(c, running_mean, s.mean, momentum);
        if (running_var) update_running(c, running_var, wick_mul_scalar(c, s.var, REAL(n / (n - 1))), momentum);
    } else {
        s.mean = over_channels(c, widen(c, running_mean), x);
        s.rstd = wick_rsqrt(c, wick_add_scalar(c, over_channels(c, widen(c, running_var), x), REAL(eps), NULL));
    }
    wick_tensor *y = affine(c, normalized(c, x, s.mean, s.rstd), over_channels(c, w, x), over_channels(c, b, x));
    wick_tensor *none = training ? NULL : cast(c, zeros_of(c, x, (wick_dim[]){0}, 1), kept);
    rets[0] = V(cast_like(c, y, x));
    rets[1] = V(training ? cast(c, flat(c, s.mean), kept) : none);
    rets[2] = V(training ? cast(c, flat(c, s.rstd), kept) : none);
}

void compose_native_batch_norm(wick_context *c, const wick_value *args, wick_value *rets) {
    normalize_batch(c, T(0), T(1), T(2), T(3), T(4), I(5), F(6), F(7), rets);
}
void compose_batch_norm_no_stats(wick_context *c, const wick_value *args, wick_value *rets) {
    normalize_batch(c, T(0), T(1), T(2), NULL, NULL, true, F(4), F(5), rets);
}
void compose_batch_norm_inference(wick_context *c, const wick_value *args, wick_value *rets) {
    normalize_batch(c, T(0), T(1), T(2), T(3), T(4), false, F(5), F(6), rets);
}
void compose_batch_norm_update(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_new_zeros_options o = WICK_NEW_ZEROS_OPTIONS_INIT;
    o.dtype = WICK_U8;
    normalize_batch(c, T(0), T(1), T(2), T(3), T(4), true, F(5), F(6), rets);
    rets[3] = V(wick_new_zeros(c, T(0), (wick_dim[]){0}, 1, &o));
}

/* In training the saved statistics are read, else the running ones. */
static wick_status *check_batch_backward(const wick_value *args, const wick_tensor *x) {
    const bool training = args[7].as.i;
    char a[SIZES_TEXT], b[SIZES_TEXT];
    const wick_tensor *g = arg_tensor(args, 0), *w = arg_tensor(args, 2), *mean = arg_tensor(args, training ? 5 : 3),
                      *spread = arg_tensor(args, training ? 6 : 4);
    if (g->ndim != x->ndim || memcmp(g->sizes, x->sizes, sizeof *x->sizes * x->ndim))
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "batch_norm: expected grad_out to have the shape %s of input, got %s",
                          format_sizes(x->ndim, x->sizes, a, sizeof a), format_sizes(g->ndim, g->sizes, b, sizeof b));
    if (!mean || !spread)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "batch_norm: the backward with train=%s needs %s",
                          training ? "True" : "False",
                          training ? "save_mean and save_invstd" : "running_mean and running_var");
    WICK_TRY(want_elements(w, x->sizes[1], "weight", "one for each channel"));
    WICK_TRY(want_elements(mean, x->sizes[1], training ? "save_mean" : "running_mean", "one for each channel"));
    return want_elements(spread, x->sizes[1], training ? "save_invstd" : "running_var", "one for each channel");
}

/* (grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask) */
wick_status *infer_batch_norm_backward(op_infer *ix) {
    const wick_tensor *x = arg_tensor(ix->args, 1), *w = arg_tensor(ix->args, 2);
    const uint8_t *mask = ix->args[9].as.bools;
    if (x->ndim < 2)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "batch_norm: input needs at least 2 dimensions, got %d", x->ndim);
    WICK_TRY(check_batch_backward(ix->args, x));
    meta_like(&ix->outs[0], x);
    for (int i = 1; i < 3; ++i) meta_set(&ix->outs[i], (wick_dtype)(w ? w : x)->dtype, 1, &x->sizes[1]);
    for (int i = 0; i < 3; ++i) ix->outs[i].absent = !mask[i];
    return NULL;
}

void compose_native_batch_norm_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = T(1), *g = widen(c, T(0)), *w = over_channels(c, T(2), x), *like = T(2) ? T(2) : x;
    const uint8_t *mask = args[9].as.bools;
    uint64_t batch = norm_batch_mask(x);
    bool training = I(7);
    wick_tensor *mean = over_channels(c, widen(c, training ? T(5) : T(3)), x);
    wick_tensor *rstd = over_channels(c, widen(c, training ? T(6) : T(4)), x);
    if (!training) rstd = wick_rsqrt(c, wick_add_scalar(c, rstd, args[8], NULL));
    wick_tensor *y = normalized(c, x, mean, rstd);
    if (mask[0]) {
        wick_tensor *scaled = w ? wick_mul(c, g, w) : g;
        rets[0] =
            V(cast_like(c, training ? through_statistics(c, scaled, y, rstd, batch) : wick_mul(c, scaled, rstd), x));
    }
    if (mask[1]) rets[1] = V(cast_like(c, sum_over(c, wick_mul(c, g, y), batch, false), like));
    if (mask[2]) rets[2] = V(cast_like(c, sum_over(c, g, batch, false), like));
}

/* (grad_out, input, weight, running_mean, running_var, save_mean, save_var, update, eps, output_mask, reserve) */
void compose_batch_norm_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    CALL_MANY(c, native_batch_norm_backward, rets, 3, args[0], args[1], args[2], args[3], args[4], args[5], args[6],
              args[7], args[8], args[9]);
}

/* (input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled) */
void compose_batch_norm(wick_context *c, const wick_value *args, wick_value *rets) {
    if (!T(0)->numel) { /* nothing to normalize: any shape will do */
        wick_tensor *first[2];
        for (int i = 0; i < 2; ++i) first[i] = T(1 + i) && T(1 + i)->numel ? wick_select(c, T(1 + i), 0, 0) : NULL;
        give(rets, affine(c, wick_clone(c, T(0), NULL), first[0], first[1]));
        return;
    }
    FIRST(c, native_batch_norm, 3, args[0], args[1], args[2], args[3], args[4], args[5], args[6], args[7]);
}

/* ---- instance normalization: batch normalization with every (sample, channel) a channel of its own ---- */
static wick_tensor *repeated(wick_context *c, wick_tensor *t, wick_dim times) {
    return t ? wick_repeat(c, t, &times, 1) : NULL;
}

static void average_back(wick_context *c, wick_tensor *running, wick_tensor *copies, wick_dim batch) {
    if (!running) return;
    wick_tensor *rows = wick_reshape(c, copies, (int64_t[]){batch, running->numel}, 2);
    wick_copy_(c, running, CALL(c, mean_dim, V(rows), INTS((const int64_t[]){0}, 1), BOOLEAN(false), NONE), NULL);
}

void compose_instance_norm(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = T(0);
    wick_dim sizes[WICK_MAX_DIMS];
    if (x->ndim < 2 || (!I(5) && (!T(3) || !T(4)))) {
        FAIL(ctx(c), INVALID_ARGUMENT,
             x->ndim < 2 ? "instance_norm: input needs at least 2 dimensions"
                         : "Expected running_mean and running_var to be defined when use_input_stats is false");
        return;
    }
    wick_dim batch = x->sizes[0];
    memcpy(sizes, x->sizes, sizeof *sizes * x->ndim);
    sizes[0] = 1, sizes[1] = wick_dim_mul(batch, x->sizes[1]);
    wick_tensor *mean = repeated(c, T(3), batch), *var = repeated(c, T(4), batch);
    wick_tensor *joined = wick_reshape(c, wick_contiguous(c, x, NULL), sizes, (size_t)x->ndim);
    wick_tensor *out = CALL(c, batch_norm, V(joined), V(repeated(c, T(1), batch)), V(repeated(c, T(2), batch)), V(mean),
                            V(var), args[5], args[6], args[7], BOOLEAN(false));
    if (I(5)) {
        average_back(c, T(3), mean, batch);
        average_back(c, T(4), var, batch);
    }
    give(rets, wick_reshape(c, out, SIZES(x)));
}

/* ---- root mean square: (input, normalized_shape, weight, eps) ---- */
wick_status *infer_rms_norm(op_infer *ix) {
    const wick_tensor *x = arg_tensor(ix->args, 0);
    WICK_TRY(want_floating(x, "RmsNormKernelImpl"));
    WICK_TRY(check_layer(x, &ix->args[1], arg_tensor(ix->args, 2), NULL));
    for (int i = 0; i < 2; ++i) meta_like(&ix->outs[i], x);
    ix->outs[1].dtype = compute_dtype((wick_dtype)x->dtype);
    for (int d = x->ndim - (int)ix->args[1].count; d < x->ndim; ++d) ix->outs[1].sizes[d] = 1;
    return NULL;
}

void compose_rms_norm_core(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = T(0), *wide = widen(c, x), *w = T(2);
    double eps = args[3].tag ? F(3) : wick_element_epsilon(x->dtype);
    wick_tensor *square = mean_over(c, wick_mul(c, wide, wide), norm_layer_mask(x, (int)args[1].count));
    wick_tensor *rstd = wick_rsqrt(c, wick_add_scalar(c, square, REAL(eps), NULL));
    wick_tensor *y = wick_mul(c, wide, rstd);
    rets[0] = V(cast_like(c, w ? wick_mul(c, y, w) : y, x));
    rets[1] = V(rstd);
}

/* (grad_out, input, normalized_shape, rstd, weight, output_mask): rstd (g w - y mean(g w y)) */
wick_status *infer_rms_norm_backward(op_infer *ix) {
    const wick_tensor *x = arg_tensor(ix->args, 1), *w = arg_tensor(ix->args, 4);
    WICK_TRY(check_layer(x, &ix->args[2], w, NULL));
    meta_like(&ix->outs[0], x);
    meta_set(&ix->outs[1], (wick_dtype)(w ? w : x)->dtype, (int)ix->args[2].count, ix->args[2].as.ints);
    for (int i = 0; i < 2; ++i) ix->outs[i].absent = !ix->args[5].as.bools[i];
    return NULL;
}

void compose_rms_norm_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = T(1), *w = T(4), *g = widen(c, T(0)), *y = wick_mul(c, widen(c, x), T(3));
    uint64_t inner = norm_layer_mask(x, (int)args[2].count);
    if (args[5].as.bools[0]) {
        wick_tensor *scaled = w ? wick_mul(c, g, w) : g;
        wick_tensor *along = wick_mul(c, y, mean_over(c, wick_mul(c, scaled, y), inner));
        rets[0] = V(cast_like(c, wick_mul(c, wick_sub(c, scaled, along, NULL), T(3)), x));
    }
    if (args[5].as.bools[1])
        rets[1] = V(cast_like(c, sum_over(c, wick_mul(c, g, y), MAX_MASK(x->ndim) & ~inner, false), w ? w : x));
}

void compose_rms_norm(wick_context *c, const wick_value *args, wick_value *rets) {
    FIRST(c, _fused_rms_norm, 2, args[0], args[1], args[2], args[3]);
}

/* ---- weight normalization: (v, g, dim): w = v g / |v|, norms over all dimensions but dim (-1: over all) ---- */
static wick_tensor *norm_except(wick_context *c, wick_tensor *v, int64_t dim) {
    int64_t dims[WICK_MAX_DIMS];
    int n = dims_list(MAX_MASK(v->ndim) & ~(dim < 0 ? 0 : 1ull << dim), v->ndim, dims);
    if (!n) return wick_abs(c, v);
    return CALL(c, linalg_vector_norm, V(v), NUMBER(2), INTS(dims, n), BOOLEAN(dim >= 0), NONE);
}

void compose_weight_norm_core(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *v = widen(c, T(0)), *norms = v ? norm_except(c, v, I(2)) : NULL;
    rets[0] = V(cast_like(c, wick_mul(c, v, wick_div(c, widen(c, T(1)), norms)), T(0)));
    rets[1] = V(norms);
}

/* (grad_w, saved_v, saved_g, saved_norms, dim) */
void compose_weight_norm_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    if (!wants_fractions(c, T(1), "_weight_norm_interface_backward")) return;
    wick_tensor *gw = widen(c, T(0)), *v = widen(c, T(1)), *g = widen(c, T(2)), *norms = T(3),
                *product = wick_mul(c, gw, v);
    if (!product) return;
    uint64_t mask = MAX_MASK(product->ndim) & ~(I(4) < 0 ? 0 : 1ull << I(4));
    wick_tensor *along = wick_div(c, sum_over(c, product, mask, true), norms); /* grad_w on v / |v| */
    wick_tensor *rest = wick_sub(c, gw, wick_mul(c, v, wick_div(c, along, norms)), NULL);
    rets[0] = V(cast_like(c, wick_mul(c, wick_div(c, g, norms), rest), T(1)));
    rets[1] = V(cast_like(c, wick_reshape(c, along, SIZES(T(2))), T(2)));
}

void compose_weight_norm(wick_context *c, const wick_value *args, wick_value *rets) {
    FIRST(c, _weight_norm_interface, 2, args[0], args[1], args[2]);
}
