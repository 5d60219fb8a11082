/* Padding. Reflection and replication select elements by computed positions, a dimension at a time. */
#include "geometry.h"
#include "rows.h"
#include "shorthand.h"

static wick_tensor *self_of(const wick_value *args) { return args[0].as.tensor; }

/* ---- with a constant ---- */
wick_status *infer_constant_pad(op_infer *ix) {
    const wick_tensor *t = self_of(ix->args);
    const int64_t *pad = ix->args[1].as.ints;
    int n = (int)ix->args[1].count;
    op_meta *m = &ix->outs[0];
    char in[SIZES_TEXT], by[SIZES_TEXT];
    if (n % 2) return WICK_ERROR(WICK_INVALID_ARGUMENT, "Length of pad must be even but instead it equals %d", n);
    if (n / 2 > t->ndim)
        return WICK_ERROR(
            WICK_INVALID_ARGUMENT,
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is %d "
            "while the input has %d dimensions.",
            n, t->ndim);
    meta_like(m, t);
    for (int i = 0; i < n / 2; ++i) {
        int dim = t->ndim - 1 - i;
        m->sizes[dim] = wick_dim_add(m->sizes[dim], wick_dim_add(pad[2 * i], pad[2 * i + 1]));
        if (m->sizes[dim] < 0)
            return WICK_ERROR(
                WICK_INVALID_ARGUMENT,
                "The input size %s, plus negative padding %s resulted in a negative output size, which is invalid. "
                "Check dimension %d of your input.",
                format_sizes(t->ndim, t->sizes, in, sizeof in), format_sizes(n, pad, by, sizeof by), dim);
    }
    return NULL;
}

/* The part of `t` that negative padding leaves, or the part of the result that it fills. */
static wick_tensor *cropped(wick_context *c, wick_tensor *t, const wick_value *pad, int sign) {
    for (uint32_t i = 0; i < pad->count / 2 && t; ++i) {
        int dim = t->ndim - 1 - (int)i;
        int64_t before = sign * pad->as.ints[2 * i], after = sign * pad->as.ints[2 * i + 1];
        t = slice_of(c, t, dim, before > 0 ? before : 0, t->sizes[dim] - (after > 0 ? after : 0), 1);
    }
    return t;
}

void compose_constant_pad(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    op_infer ix = {.c = c, .args = args};
    wick_new_full_options o = WICK_NEW_FULL_OPTIONS_INIT;
    if (wick_fail(c, infer_constant_pad(&ix))) return;
    wick_tensor *out = wick_new_full(c, t, ix.outs[0].sizes, (size_t)ix.outs[0].ndim, args[2], &o);
    wick_copy_(c, cropped(c, out, &args[1], 1), cropped(c, t, &args[1], -1), NULL);
    give(rets, out);
}

/* ---- with what is there ---- */
typedef struct border {
    const char *name;
    bool reflect;
} border;
static const border reflection = {"reflection_pad", true}, replication = {"replication_pad", false};

static wick_status *check_border(const wick_tensor *t, const wick_value *pad, const border *b) {
    int spatial = (int)pad->count / 2;
    if (t->ndim != spatial + 1 && t->ndim != spatial + 2)
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "Expected %dD or %dD (batch mode) tensor for %s%dd, but got %d dimensions", spatial + 1,
                          spatial + 2, b->name, spatial, t->ndim);
    for (int i = t->ndim == spatial + 2; i < t->ndim; ++i)
        if (t->sizes[i] == 0)
            return WICK_ERROR(WICK_INVALID_ARGUMENT,
                              "%s%dd: expected possibly zero batch size and all other non-zero dimensions", b->name,
                              spatial);
    for (int i = 0; i < spatial; ++i) {
        wick_dim size = t->sizes[t->ndim - 1 - i];
        int64_t before = pad->as.ints[2 * i], after = pad->as.ints[2 * i + 1];
        if (b->reflect && (before >= size || after >= size))
            return WICK_ERROR(
                WICK_INVALID_ARGUMENT,
                "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                "(%lld, %lld) at dimension %d of input of size %lld",
                (long long)before, (long long)after, t->ndim - 1 - i, (long long)size);
        if (size + before + after < 1)
            return WICK_ERROR(WICK_INVALID_ARGUMENT, "input (size %lld) is too small. Calculated output size %lld",
                              (long long)size, (long long)(size + before + after));
    }
    return NULL;
}

static wick_status *infer_border(op_infer *ix, const border *b) {
    WICK_TRY(check_border(self_of(ix->args), &ix->args[1], b));
    return infer_constant_pad(ix);
}
wick_status *infer_reflection_pad(op_infer *ix) { return infer_border(ix, &reflection); }
wick_status *infer_replication_pad(op_infer *ix) { return infer_border(ix, &replication); }

wick_status *infer_pad_backward(op_infer *ix) {
    meta_like(&ix->outs[0], ix->args[1].as.tensor);
    return NULL;
}

/* Which of `size` elements stands at each position of the padded dimension. */
static wick_tensor *positions(wick_context *c, const wick_tensor *like, wick_dim size, int64_t before, int64_t after,
                              bool reflect) {
    wick_tensor *p = wick_sub_scalar(c, counting(c, size + before + after, like), NUMBER(before), NULL);
    wick_clamp_options o = WICK_CLAMP_OPTIONS_INIT;
    o.min = NUMBER(0), o.max = NUMBER(size - 1);
    if (!reflect) return wick_clamp(c, p, &o);
    p = wick_abs(c, wick_sub_scalar(c, wick_abs(c, p), NUMBER(size - 1), NULL)); /* distance from the far end */
    return wick_rsub_scalar(c, p, NUMBER(size - 1), NULL);
}

static void pad_border(wick_context *c, const wick_value *args, wick_value *rets, const border *b) {
    wick_tensor *t = self_of(args);
    if (wick_fail(c, check_border(t, &args[1], b))) return;
    for (uint32_t i = 0; i < args[1].count / 2 && t; ++i) {
        int dim = t->ndim - 1 - (int)i;
        int64_t before = args[1].as.ints[2 * i], after = args[1].as.ints[2 * i + 1];
        t = wick_index_select(c, t, dim, positions(c, t, t->sizes[dim], before, after, b->reflect));
    }
    give(rets, t);
}

/* Adds every padded position's gradient to the element that stood there. */
static void pad_border_backward(wick_context *c, const wick_value *args, wick_value *rets, const border *b) {
    wick_tensor *grad = self_of(args);
    const wick_tensor *t = args[1].as.tensor;
    if (wick_fail(c, check_border(t, &args[2], b))) return;
    for (uint32_t i = 0; i < args[2].count / 2 && grad; ++i) {
        int dim = t->ndim - 1 - (int)i;
        wick_dim sizes[WICK_MAX_DIMS];
        memcpy(sizes, grad->sizes, sizeof *sizes * grad->ndim);
        sizes[dim] = t->sizes[dim];
        wick_tensor *at =
            positions(c, t, t->sizes[dim], args[2].as.ints[2 * i], args[2].as.ints[2 * i + 1], b->reflect);
        grad = wick_index_add(c, zeros_of(c, grad, sizes, grad->ndim), dim, at, grad, NULL);
    }
    give(rets, grad);
}

void compose_reflection_pad(wick_context *c, const wick_value *args, wick_value *rets) {
    pad_border(c, args, rets, &reflection);
}
void compose_replication_pad(wick_context *c, const wick_value *args, wick_value *rets) {
    pad_border(c, args, rets, &replication);
}
void compose_reflection_pad_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    pad_border_backward(c, args, rets, &reflection);
}
void compose_replication_pad_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    pad_border_backward(c, args, rets, &replication);
}

/* ---- by name of the mode ---- */
/* Circular padding: whole wraps before and after; negative padding crops. */
static wick_tensor *pad_circular(wick_context *c, wick_tensor *t, const wick_value *pad) {
    for (uint32_t i = 0; i < pad->count / 2 && t; ++i) {
        int dim = t->ndim - 1 - (int)i;
        wick_dim size = t->sizes[dim];
        int64_t before = pad->as.ints[2 * i], after = pad->as.ints[2 * i + 1];
        if (before > size || after > size) {
            FAIL(ctx(c), INVALID_ARGUMENT, "Padding value causes wrapping around more than once.");
            return NULL;
        }
        if (size + before + after < 0) {
            FAIL(ctx(c), INVALID_ARGUMENT, "Negative padding value is resulting in an empty dimension");
            return NULL;
        }
        wick_tensor *p = wick_sub_scalar(c, counting(c, size + before + after, t), NUMBER(before), NULL);
        t = wick_index_select(c, t, dim, wick_remainder_scalar(c, p, NUMBER(size)));
    }
    return t;
}

typedef wick_tensor *(*pad_fn)(wick_context *c, wick_tensor *self, const int64_t *padding, size_t count);
static const struct {
    const char *mode;
    pad_fn by_dims[3];
} pad_modes[] = {
    {"reflect", {wick_reflection_pad1d, wick_reflection_pad2d, wick_reflection_pad3d}},
    {"replicate", {wick_replication_pad1d, wick_replication_pad2d, wick_replication_pad3d}},
};

void compose_pad(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    const char *mode = args[2].as.string;
    uint32_t n = args[1].count;
    if (n % 2 || n > 2u * t->ndim) {
        FAIL(ctx(c), INVALID_ARGUMENT,
             "Padding length must be divisible by 2 and at most twice the number of dimensions of the "
             "input");
        return;
    }
    if (!strcmp(mode, "constant")) {
        wick_constant_pad_nd_options o = WICK_CONSTANT_PAD_ND_OPTIONS_INIT;
        if (args[3].tag != WICK_TAG_NONE) o.value = args[3];
        return give(rets, wick_constant_pad_nd(c, t, LIST(args[1]), &o));
    }
    if (args[3].tag != WICK_TAG_NONE && args[3].as.f != 0) {
        FAIL(ctx(c), INVALID_ARGUMENT, "Padding mode \"%s\" doesn't take in value argument", mode);
        return;
    }
    bool fits = n >= 2 && n <= 6 && (t->ndim == (int)n / 2 + 1 || t->ndim == (int)n / 2 + 2);
    if (fits && !strcmp(mode, "circular")) return give(rets, pad_circular(c, t, &args[1]));
    for (int i = 0; fits && i < ARRAY_COUNT(pad_modes); ++i)
        if (!strcmp(mode, pad_modes[i].mode)) return give(rets, pad_modes[i].by_dims[n / 2 - 1](c, t, LIST(args[1])));
    FAIL(ctx(c), UNSUPPORTED,
         fits ? "Unrecognised padding mode %s"
              : "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now (%s)",
         mode);
}
