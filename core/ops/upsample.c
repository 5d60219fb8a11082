/* Resampling of images: shape rules, and the forms that take scale factors. */
#include <math.h>

#include "boxed.h"
#include "geometry.h"
#include "rows.h"

/* ---- [N, C, spatial...] -> [N, C, output_size...] ---- */
static wick_status *check_size(const wick_value *size, int n) {
    if ((int)size->count != n)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "It is expected output_size equals to %d, but got size %u", n,
                          size->count);
    for (int k = 0; k < n; ++k)
        if (size->as.ints[k] < 1)
            return WICK_ERROR(WICK_INVALID_ARGUMENT,
                              "Input and output sizes should be greater than 0, but got output size %lld",
                              (long long)size->as.ints[k]);
    return NULL;
}

static wick_status *upsampled(op_infer *ix, int n) {
    const wick_tensor *x = arg_tensor(ix->args, 0);
    char text[SIZES_TEXT];
    bool ok = x->ndim == n + 2;
    WICK_TRY(check_size(&ix->args[1], n));
    for (int k = 1; ok && k < x->ndim; ++k) ok = x->sizes[k] > 0;
    if (!ok)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "Non-empty %dD data tensor expected but got a tensor with sizes %s",
                          n + 2, format_sizes(x->ndim, x->sizes, text, sizeof text));
    meta_like(&ix->outs[0], x);
    for (int k = 0; k < n; ++k) ix->outs[0].sizes[k + 2] = ix->args[1].as.ints[k];
    ix->compute = ix->outs[0].dtype;
    return NULL;
}

/* (grad_output, output_size, input_size, ...) */
static wick_status *upsampled_backward(op_infer *ix, int n) {
    const wick_tensor *dy = arg_tensor(ix->args, 0);
    const wick_value *in = &ix->args[2];
    WICK_TRY(check_size(&ix->args[1], n));
    if (dy->ndim != n + 2 || (int)in->count != n + 2)
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "Expected grad_output to be a tensor of dimension %d but got: dimension %d", n + 2, dy->ndim);
    for (int k = 0; k < n + 2; ++k) {
        wick_dim wanted = k < 2 ? in->as.ints[k] : ix->args[1].as.ints[k - 2];
        if (dy->sizes[k] != wanted)
            return WICK_ERROR(WICK_INVALID_ARGUMENT,
                              "Expected grad_output to have the same shape as output; output.size(%d) = %lld but got "
                              "grad_output.size(%d) = %lld",
                              k, (long long)wanted, k, (long long)dy->sizes[k]);
    }
    meta_set(&ix->outs[0], (wick_dtype)dy->dtype, n + 2, in->as.ints);
    ix->compute = ix->outs[0].dtype;
    return NULL;
}

wick_status *infer_upsample1d(op_infer *ix) { return upsampled(ix, 1); }
wick_status *infer_upsample2d(op_infer *ix) { return upsampled(ix, 2); }
wick_status *infer_upsample3d(op_infer *ix) { return upsampled(ix, 3); }
wick_status *infer_upsample1d_backward(op_infer *ix) { return upsampled_backward(ix, 1); }
wick_status *infer_upsample2d_backward(op_infer *ix) { return upsampled_backward(ix, 2); }
wick_status *infer_upsample3d_backward(op_infer *ix) { return upsampled_backward(ix, 3); }

/* ---- (input, output_size, [align_corners,] scale_factors): exactly one of size and factors is given ---- */
static bool target_size(wick_context *c, const wick_value *args, const wick_value *factors, int n, int64_t *size,
                        wick_value *scales) {
    const wick_tensor *x = T(0);
    bool sized = args[1].tag != WICK_TAG_NONE, scaled = factors->tag != WICK_TAG_NONE;
    if (sized == scaled)
        return !FAIL(ctx(c), INVALID_ARGUMENT, "Must specify exactly one of output_size and scale_factors");
    if (x->ndim != n + 2 || (int)(sized ? args[1].count : factors->count) != n)
        return !FAIL(ctx(c), INVALID_ARGUMENT,
                     "It is expected that input has %d dimensions and output_size or scale_factors %d entries", n + 2,
                     n);
    for (int k = 0; k < n; ++k) {
        size[k] = sized ? args[1].as.ints[k] : (int64_t)floor((double)x->sizes[k + 2] * factors->as.floats[k]);
        scales[k] = sized ? NONE : REAL(factors->as.floats[k]);
    }
    return true;
}

static void resample(wick_context *c, const wick_value *args, wick_value *rets, int op, int n, bool align) {
    wick_value call[6] = {args[0]};
    int64_t size[3];
    int at = 1;
    call[at++] = INTS(size, n);
    if (align) call[at++] = args[2];
    if (target_size(c, args, &args[align ? 3 : 2], n, size, &call[at])) give(rets, op_call1(c, op, call, at + n));
}
#define RESAMPLE(name, n, align)                                                           \
    void compose_##name##_vec(wick_context *c, const wick_value *args, wick_value *rets) { \
        resample(c, args, rets, OP_ID_##name, n, align);                                   \
    }
RESAMPLE(upsample_nearest1d, 1, false)
RESAMPLE(upsample_nearest2d, 2, false)
RESAMPLE(upsample_nearest3d, 3, false)
RESAMPLE(_upsample_nearest_exact1d, 1, false)
RESAMPLE(_upsample_nearest_exact2d, 2, false)
RESAMPLE(_upsample_nearest_exact3d, 3, false)
RESAMPLE(upsample_linear1d, 1, true)
RESAMPLE(upsample_bilinear2d, 2, true)
RESAMPLE(upsample_trilinear3d, 3, true)
RESAMPLE(upsample_bicubic2d, 2, true)
RESAMPLE(_upsample_bilinear2d_aa, 2, true)
RESAMPLE(_upsample_bicubic2d_aa, 2, true)
