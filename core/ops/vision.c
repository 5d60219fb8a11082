/* Sampling grids, and channels traded for pixels. */
#include "boxed.h"
#include "geometry.h"
#include "rows.h"

/* ---- grid_sampler: (input, grid, interpolation_mode, padding_mode, align_corners) ---- */
static wick_status *check_grid(const wick_tensor *x, const wick_tensor *grid, int n) {
    if (x->ndim != n + 2 || grid->ndim != n + 2 || grid->sizes[0] != x->sizes[0] || grid->sizes[n + 1] != n)
        return WICK_ERROR(
            WICK_INVALID_ARGUMENT,
            "grid_sampler(): expected input and grid to have %d dimensions and the same batch size, and grid to "
            "have size %d in its last dimension",
            n + 2, n);
    if (x->dtype != grid->dtype)
        return WICK_ERROR(
            WICK_INVALID_ARGUMENT,
            "grid_sampler(): expected input and grid to have same dtype, but input has %s and grid has %s",
            wick_dtype_name((wick_dtype)x->dtype), wick_dtype_name((wick_dtype)grid->dtype));
    for (int k = 2; k < x->ndim; ++k)
        if (x->sizes[k] < 1)
            return WICK_ERROR(
                WICK_INVALID_ARGUMENT,
                "grid_sampler(): expected input to have non-empty spatial dimensions, but dimension %d is empty", k);
    return NULL;
}

static wick_status *sampled(op_infer *ix, int n) {
    const wick_tensor *x = arg_tensor(ix->args, 0), *grid = arg_tensor(ix->args, 1);
    WICK_TRY(check_grid(x, grid, n));
    meta_like(&ix->outs[0], x);
    memcpy(&ix->outs[0].sizes[2], &grid->sizes[1], sizeof *grid->sizes * (size_t)n);
    ix->compute = ix->outs[0].dtype;
    return NULL;
}
/* (grad_output, input, grid, ..., output_mask) */
static wick_status *sampled_backward(op_infer *ix, int n) {
    const wick_tensor *x = arg_tensor(ix->args, 1), *grid = arg_tensor(ix->args, 2);
    WICK_TRY(check_grid(x, grid, n));
    meta_like(&ix->outs[0], x);
    meta_like(&ix->outs[1], grid);
    for (int i = 0; i < 2; ++i) ix->outs[i].absent = !ix->args[6].as.bools[i];
    ix->compute = (wick_dtype)x->dtype;
    return NULL;
}
wick_status *infer_grid_sampler_2d(op_infer *ix) { return sampled(ix, 2); }
wick_status *infer_grid_sampler_3d(op_infer *ix) { return sampled(ix, 3); }
wick_status *infer_grid_sampler_2d_backward(op_infer *ix) { return sampled_backward(ix, 2); }
wick_status *infer_grid_sampler_3d_backward(op_infer *ix) { return sampled_backward(ix, 3); }

DECOMPOSE(grid_sampler, T(0)->ndim == 5 ? CALL(c, grid_sampler_3d, args[0], args[1], args[2], args[3], args[4])
                                        : CALL(c, grid_sampler_2d, args[0], args[1], args[2], args[3], args[4]))

/* ---- affine_grid_generator: (theta [N, n, n + 1], size [N, C, spatial...], align_corners) ---- */
/* n positions from -1 to 1, at pixel centres unless corners are aligned. */
static wick_tensor *positions(wick_context *c, const wick_tensor *like, wick_dim n, bool align_corners) {
    wick_linspace_options o = WICK_LINSPACE_OPTIONS_INIT;
    wick_dtype dtype = (wick_dtype)like->dtype;
    o.dtype = compute_dtype(dtype), o.device = like->device;
    if (n <= 1) return wick_new_zeros(c, (wick_tensor *)like, &n, 1, NULL);
    wick_tensor *line = wick_linspace(c, REAL(-1), REAL(1), n, &o);
    return cast(c, align_corners ? line : wick_mul_scalar(c, line, REAL((double)(n - 1) / (double)n)), dtype);
}

/* Homogeneous coordinates of every pixel: [pixels, n + 1], x first. */
static wick_tensor *base_grid(wick_context *c, const wick_tensor *theta, const wick_dim *image, int n,
                              bool align_corners) {
    wick_tensor *parts[4];
    for (int k = 0; k < n; ++k) {
        int dim = n - 1 - k;
        wick_dim shape[3] = {1, 1, 1};
        shape[dim] = image[dim];
        parts[k] = expand_of(c, wick_reshape(c, positions(c, theta, image[dim], align_corners), shape, (size_t)n),
                             image, (size_t)n);
    }
    parts[n] = wick_ones_like(c, parts[0], NULL);
    return wick_reshape(c, stack_of(c, parts, (size_t)n + 1, -1), (int64_t[]){-1, n + 1}, 2);
}

static bool check_affine(wick_context *c, const wick_tensor *theta, const wick_value *size, int *n) {
    *n = (int)size->count - 2;
    if (!wick_dtype_is_floating((wick_dtype)theta->dtype))
        return !FAIL(ctx(c), UNSUPPORTED, "Expected theta to have floating point type, but got %s",
                     wick_dtype_name((wick_dtype)theta->dtype));
    if (*n == 2 || *n == 3) return true;
    return !FAIL(ctx(c), INVALID_ARGUMENT, "AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.");
}

void compose_affine_grid(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_dim sizes[5];
    int n;
    if (!check_affine(c, T(0), &args[1], &n)) return;
    const wick_dim *size = args[1].as.ints;
    wick_tensor *base = wick_unsqueeze(c, base_grid(c, T(0), size + 2, n, I(2)), 0);
    if (!base) return;
    base = expand_of(c, base, (wick_dim[]){size[0], base->sizes[1], base->sizes[2]}, 3);
    sizes[0] = size[0], sizes[n + 1] = n;
    memcpy(&sizes[1], size + 2, sizeof *size * (size_t)n);
    give(rets, wick_reshape(c, wick_bmm(c, base, wick_transpose(c, T(0), 1, 2)), sizes, (size_t)n + 2));
}

/* (grad, size, align_corners) */
void compose_affine_grid_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    int n;
    if (!check_affine(c, T(0), &args[1], &n)) return;
    const wick_dim *size = args[1].as.ints;
    wick_tensor *base = wick_unsqueeze(c, base_grid(c, T(0), size + 2, n, I(2)), 0);
    wick_tensor *rows = wick_transpose(c, wick_reshape(c, T(0), (int64_t[]){size[0], -1, n}, 3), 1, 2);
    if (!base) return;
    give(rets, wick_bmm(c, rows, expand_of(c, base, (wick_dim[]){size[0], base->sizes[1], base->sizes[2]}, 3)));
}

/* ---- [*, C r r, H, W] <-> [*, C, H r, W r] ---- */
static bool check_pixels(wick_context *c, const wick_tensor *x, const char *name, int64_t factor, bool shuffle) {
    if (x->ndim < 3)
        return !FAIL(ctx(c), INVALID_ARGUMENT,
                     "%s expects input to have at least 3 dimensions, but got input with %d dimension(s)", name,
                     x->ndim);
    if (factor <= 0)
        return !FAIL(ctx(c), INVALID_ARGUMENT, "%s expects a positive factor, but got %lld", name, (long long)factor);
    const wick_dim *last = &x->sizes[x->ndim - 3];
    bool divides = shuffle ? last[0] % (factor * factor) == 0 : last[1] % factor == 0 && last[2] % factor == 0;
    return divides || !FAIL(ctx(c), INVALID_ARGUMENT, "%s expects its input's %s to be divisible by %lld", name,
                            shuffle ? "channels" : "height and width", (long long)(shuffle ? factor * factor : factor));
}

/* Splits the last three dimensions into six, permutes those and joins them to three. */
static wick_tensor *regroup(wick_context *c, wick_tensor *x, const wick_dim *six, int nsplit, const int *order,
                            const wick_dim *three) {
    wick_dim sizes[WICK_MAX_DIMS + 3];
    int64_t perm[WICK_MAX_DIMS + 3];
    int lead = x->ndim - 3;
    memcpy(sizes, x->sizes, sizeof *sizes * (size_t)lead);
    memcpy(sizes + lead, six, sizeof *sizes * (size_t)nsplit);
    for (int i = 0; i < lead; ++i) perm[i] = i;
    for (int i = 0; i < nsplit; ++i) perm[lead + i] = lead + order[i];
    wick_tensor *moved =
        wick_permute(c, wick_reshape(c, x, sizes, (size_t)(lead + nsplit)), perm, (size_t)(lead + nsplit));
    memcpy(sizes + lead, three, sizeof *sizes * 3);
    return wick_clone(c, wick_reshape(c, moved, sizes, (size_t)lead + 3), NULL);
}

void compose_pixel_shuffle(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = T(0);
    int64_t r = I(1);
    if (!check_pixels(c, x, "pixel_shuffle", r, true)) return;
    const wick_dim *last = &x->sizes[x->ndim - 3];
    const wick_dim split[] = {last[0] / (r * r), r, r, last[1], last[2]},
                   joined[] = {last[0] / (r * r), last[1] * r, last[2] * r};
    give(rets, regroup(c, x, split, 5, (const int[]){0, 3, 1, 4, 2}, joined));
}

void compose_pixel_unshuffle(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = T(0);
    int64_t r = I(1);
    if (!check_pixels(c, x, "pixel_unshuffle", r, false)) return;
    const wick_dim *last = &x->sizes[x->ndim - 3];
    const wick_dim split[] = {last[0], last[1] / r, r, last[2] / r, r},
                   joined[] = {last[0] * r * r, last[1] / r, last[2] / r};
    give(rets, regroup(c, x, split, 5, (const int[]){0, 2, 4, 1, 3}, joined));
}

/* [N, g c, ...] -> [N, c g, ...] */
void compose_channel_shuffle(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = T(0);
    wick_dim sizes[WICK_MAX_DIMS + 1];
    int64_t groups = I(1);
    if (x->ndim < 3 || groups <= 0 || x->sizes[1] % groups) {
        FAIL(ctx(c), INVALID_ARGUMENT,
             "channel_shuffle expects 3 or more dimensions and groups that divide the channels, got %d dimensions and "
             "groups = %lld",
             x->ndim, (long long)groups);
        return;
    }
    sizes[0] = x->sizes[0], sizes[1] = groups, sizes[2] = x->sizes[1] / groups;
    memcpy(&sizes[3], &x->sizes[2], sizeof *sizes * (size_t)(x->ndim - 2));
    wick_tensor *split = wick_transpose(c, wick_reshape(c, x, sizes, (size_t)x->ndim + 1), 1, 2);
    give(rets, wick_clone(c, wick_reshape(c, split, SIZES(x)), NULL));
}
