/* Joining, repeating and rearranging: shape rules of the kernels and decompositions. */
#include "geometry.h"
#include "op_ids.h"
#include "rows.h"
#include "shorthand.h"

static wick_tensor *self_of(const wick_value *args) { return args[0].as.tensor; }

/* ---- cat and stack ---- */
static bool skipped(const wick_tensor *t) {
    return t->ndim == 1 && t->sizes[0] == 0; /* fits any shape, for history's sake */
}

static wick_status *cat_sizes(const wick_value *list, int64_t dim, int *out_dim, op_meta *m) {
    const wick_tensor *first = NULL;
    for (uint32_t i = 0; i < list->count; ++i) {
        const wick_tensor *t = list->as.tensors[i];
        if (!t->ndim)
            return WICK_ERROR(WICK_INVALID_ARGUMENT, "zero-dimensional tensor (at position %u) cannot be concatenated",
                              i);
        if (skipped(t)) continue;
        if (!first) {
            first = t;
            WICK_TRY(wrap_dim(dim, t->ndim, out_dim));
            meta_like(m, t);
            continue;
        }
        if (t->ndim != m->ndim)
            return WICK_ERROR(WICK_INVALID_ARGUMENT, "Tensors must have same number of dimensions: got %d and %d",
                              m->ndim, t->ndim);
        for (int d = 0; d < t->ndim; ++d)
            if (d != *out_dim && t->sizes[d] != m->sizes[d])
                return WICK_ERROR(
                    WICK_INVALID_ARGUMENT,
                    "Sizes of tensors must match except in dimension %d. Expected size %lld but got size %lld for "
                    "tensor number %u in the list.",
                    *out_dim, (long long)m->sizes[d], (long long)t->sizes[d], i);
        m->sizes[*out_dim] = wick_dim_add(m->sizes[*out_dim], t->sizes[*out_dim]);
    }
    if (!first) {
        WICK_TRY(wrap_dim(dim, 1, out_dim));
        meta_like(m, list->as.tensors[0]);
    }
    return NULL;
}

/* A kernel moves elements of one dtype; a mixed list decomposes, into copies that convert. */
wick_status *infer_cat(op_infer *ix) {
    op_meta *m = &ix->outs[0];
    const wick_value *list = &ix->args[0];
    int dim;
    if (!list->count) return WICK_ERROR(WICK_INVALID_ARGUMENT, "torch.cat(): expected a non-empty list of Tensors");
    WICK_TRY(cat_sizes(list, ix->args[1].as.i, &dim, m));
    WICK_TRY(infer_result_type(ix, &m->dtype));
    for (uint32_t i = 0; i < list->count; ++i) ix->decompose |= list->as.tensors[i]->dtype != m->dtype;
    return NULL;
}

void compose_cat(wick_context *c, const wick_value *args, wick_value *rets) {
    op_infer ix = {.c = c, .op = &ctx(c)->rt->ops->entries[OP_ID_cat], .args = args};
    wick_empty_options o = WICK_EMPTY_OPTIONS_INIT;
    wick_dim start = 0;
    int dim;
    if (wick_fail(c, infer_cat(&ix)) || wick_fail(c, wrap_dim(args[1].as.i, ix.outs[0].ndim, &dim))) return;
    o.dtype = ix.outs[0].dtype;
    o.device = args[0].as.tensors[0]->device;
    wick_tensor *out = wick_empty(c, ix.outs[0].sizes, (size_t)ix.outs[0].ndim, &o);
    for (uint32_t i = 0; i < args[0].count && !wick_failed(c); ++i) {
        wick_tensor *t = args[0].as.tensors[i];
        if (skipped(t)) continue;
        wick_copy_(c, wick_narrow(c, out, dim, start, t->sizes[dim]), t, NULL);
        start += t->sizes[dim];
    }
    give(rets, out);
}

/* What `each` makes of every item. */
static wick_tensor **map(wick_context *c, const wick_value *list, wick_tensor *(*each)(wick_context *, wick_tensor *)) {
    wick_tensor **out = scope_array(ctx(c), list->count);
    for (uint32_t i = 0; out && i < list->count; ++i) out[i] = each(c, list->as.tensors[i]);
    return wick_failed(c) ? NULL : out;
}

void compose_stack(wick_context *c, const wick_value *args, wick_value *rets) {
    const wick_value *list = &args[0];
    char a[SIZES_TEXT], b[SIZES_TEXT];
    int dim;
    if (!list->count) {
        FAIL(ctx(c), INVALID_ARGUMENT, "stack expects a non-empty TensorList");
        return;
    }
    const wick_tensor *first = list->as.tensors[0];
    if (wick_fail(c, wrap_dim(args[1].as.i, first->ndim + 1, &dim))) return;
    wick_tensor **items = scope_array(ctx(c), list->count);
    for (uint32_t i = 0; items && i < list->count; ++i) {
        wick_tensor *t = list->as.tensors[i];
        if (t->ndim != first->ndim || memcmp(t->sizes, first->sizes, sizeof *t->sizes * t->ndim)) {
            FAIL(ctx(c), INVALID_ARGUMENT,
                 "stack expects each tensor to be equal size, but got %s at entry 0 and %s at entry %u",
                 format_sizes(first->ndim, first->sizes, a, sizeof a), format_sizes(t->ndim, t->sizes, b, sizeof b), i);
            return;
        }
        items[i] = wick_unsqueeze(c, t, dim);
    }
    give(rets, wick_failed(c) ? NULL : cat_of(c, items, list->count, dim));
}

void compose_concat(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, cat_of(c, args[0].as.tensors, args[0].count, args[1].as.i));
}

static void cat_mapped(wick_context *c, const wick_value *args, wick_value *rets,
                       wick_tensor *(*each)(wick_context *, wick_tensor *), int dim) {
    wick_tensor **items = map(c, &args[0], each);
    if (items && args[0].count && dim == 1 && items[0]->ndim == 1) dim = 0; /* hstack of vectors */
    give(rets, items ? cat_of(c, items, args[0].count, dim) : NULL);
}

static wick_tensor *as_column(wick_context *c, wick_tensor *t) {
    return t->ndim > 1 ? t : wick_reshape(c, t, (int64_t[]){t->numel, 1}, 2);
}

void compose_hstack(wick_context *c, const wick_value *args, wick_value *rets) {
    cat_mapped(c, args, rets, wick_atleast_1d, 1);
}
void compose_vstack(wick_context *c, const wick_value *args, wick_value *rets) {
    cat_mapped(c, args, rets, wick_atleast_2d, 0);
}
void compose_dstack(wick_context *c, const wick_value *args, wick_value *rets) {
    cat_mapped(c, args, rets, wick_atleast_3d, 2);
}
void compose_column_stack(wick_context *c, const wick_value *args, wick_value *rets) {
    cat_mapped(c, args, rets, as_column, 1);
}

/* Every block gets zero columns on either side; then the rows are joined. */
void compose_block_diag(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor **blocks = map(c, &args[0], wick_atleast_2d);
    wick_dim columns = 0, before = 0;
    for (uint32_t i = 0; blocks && i < args[0].count; ++i) {
        if (blocks[i]->ndim > 2) {
            FAIL(ctx(c), INVALID_ARGUMENT,
                 "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input %u has %d dimensions", i,
                 blocks[i]->ndim);
            return;
        }
        columns += blocks[i]->sizes[1];
    }
    for (uint32_t i = 0; blocks && i < args[0].count && !wick_failed(c); ++i) {
        wick_dim own = blocks[i]->sizes[1];
        blocks[i] = wick_constant_pad_nd(c, blocks[i], (int64_t[]){before, columns - before - own}, 2, NULL);
        before += own;
    }
    if (!wick_failed(c)) give(rets, cat_of(c, blocks, args[0].count, 0));
}

/* Every tensor's rows are padded to whole chunks along dim and joined chunk by chunk. */
void compose_chunk_cat(wick_context *c, const wick_value *args, wick_value *rets) {
    int64_t chunks = args[2].as.i;
    int dim = (int)args[1].as.i;
    wick_tensor **parts = scope_array(ctx(c), args[0].count);
    if (chunks <= 0) FAIL(ctx(c), INVALID_ARGUMENT, "_chunk_cat expects positive num_chunks");
    for (uint32_t i = 0; parts && i < args[0].count && !wick_failed(c); ++i) {
        wick_tensor *t = args[0].as.tensors[i];
        int64_t pad[2 * WICK_MAX_DIMS] = {0}, sizes[WICK_MAX_DIMS];
        if (wick_fail(c, wrap_dim(args[1].as.i, t->ndim, &dim))) return;
        size_t n = 2 * (size_t)(t->ndim - dim);
        pad[n - 1] = (chunks - t->sizes[dim] % chunks) % chunks;
        memcpy(sizes, t->sizes, sizeof *sizes * (size_t)dim);
        sizes[dim] = chunks, sizes[dim + 1] = -1;
        parts[i] = wick_reshape(c, wick_constant_pad_nd(c, t, pad, n, NULL), sizes, (size_t)dim + 2);
    }
    if (!wick_failed(c)) give(rets, cat_of(c, parts, args[0].count, dim + 1));
}

/* ---- repeating ---- */
wick_status *infer_repeat(op_infer *ix) {
    const wick_tensor *t = self_of(ix->args);
    op_meta *m = &ix->outs[0];
    int lead = (int)ix->args[1].count - t->ndim;
    if (lead < 0 || ix->args[1].count > WICK_MAX_DIMS)
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "Number of dimensions of repeat dims can not be smaller than number of "
                          "dimensions of tensor");
    m->dtype = (wick_dtype)t->dtype;
    m->ndim = (int)ix->args[1].count;
    for (int i = 0; i < m->ndim; ++i) {
        int64_t times = ix->args[1].as.ints[i];
        if (times < 0)
            return WICK_ERROR(WICK_INVALID_ARGUMENT, "Trying to create tensor with negative dimension %lld",
                              (long long)times);
        m->sizes[i] = wick_dim_mul(i < lead ? 1 : t->sizes[i - lead], times);
    }
    return NULL;
}

/* (times, size) a dimension, expanded over times and copied. */
void compose_repeat(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    op_infer ix = {.c = c, .args = args};
    wick_dim split[2 * WICK_MAX_DIMS], full[2 * WICK_MAX_DIMS];
    int lead = (int)args[1].count - t->ndim, n = 0;
    if (wick_fail(c, infer_repeat(&ix))) return;
    for (int i = 0; i < ix.outs[0].ndim; ++i, n += 2) {
        split[n] = 1, full[n] = args[1].as.ints[i];
        split[n + 1] = full[n + 1] = i < lead ? 1 : t->sizes[i - lead];
    }
    wick_tensor *whole = expand_of(c, wick_reshape(c, t, split, (size_t)n), full, (size_t)n);
    give(rets, wick_reshape(c, wick_clone(c, whole, NULL), ix.outs[0].sizes, (size_t)ix.outs[0].ndim));
}

void compose_tile(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    int64_t times[WICK_MAX_DIMS];
    int n = (int)args[1].count, lead = n < t->ndim ? t->ndim - n : 0;
    for (int i = 0; i < lead; ++i) times[i] = 1;
    memcpy(times + lead, args[1].as.ints, sizeof *times * (size_t)n);
    give(rets, wick_repeat(c, t, times, (size_t)(n + lead)));
}

wick_status *infer_repeat_interleave(op_infer *ix) {
    const wick_tensor *repeats = self_of(ix->args);
    wick_dim none = 0;
    if (repeats->ndim != 1)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "repeat_interleave only accept 1D vector as repeat");
    if (repeats->dtype != WICK_I64 && repeats->dtype != WICK_I32)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "repeats has to be Long or Int tensor");
    meta_set(&ix->outs[0], (wick_dtype)repeats->dtype, 1, &none);
    return NULL;
}

static wick_tensor *interleaved(wick_context *c, wick_tensor *t, wick_tensor *repeats, const wick_value *dim,
                                const wick_value *output_size) {
    wick_repeat_interleave_counts_options o = WICK_REPEAT_INTERLEAVE_COUNTS_OPTIONS_INIT;
    int d = 0;
    if (wick_value_is_none(dim))
        t = flat(c, t);
    else if (t->ndim == 0)
        t = wick_unsqueeze(c, t, 0);
    if (!t || (dim->tag != WICK_TAG_NONE && wick_fail(c, wrap_dim(dim->as.i, t->ndim, &d)))) return NULL;
    if (repeats->ndim == 0 || (repeats->ndim == 1 && repeats->numel == 1))
        repeats = expand_of(c, wick_reshape(c, repeats, (int64_t[]){1}, 1), &t->sizes[d], 1);
    else if (repeats->ndim != 1 || repeats->numel != t->sizes[d])
        FAIL(ctx(c), INVALID_ARGUMENT,
             "repeats must have the same size as input along dim, but got repeats.size(0) = %lld and "
             "input.size(%d) = %lld",
             (long long)repeats->numel, d, (long long)t->sizes[d]);
    o.output_size = output_size->tag == WICK_TAG_NONE ? NULL : &output_size->as.i;
    return wick_index_select(c, t, d, wick_repeat_interleave_counts(c, repeats, &o));
}

void compose_repeat_interleave(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, interleaved(c, self_of(args), args[1].as.tensor, &args[2], &args[3]));
}

void compose_repeat_interleave_int(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_full_options o = WICK_FULL_OPTIONS_INIT;
    o.dtype = WICK_I64;
    o.device = self_of(args)->device;
    wick_tensor *repeats = wick_full(c, (int64_t[]){1}, 1, args[1], &o);
    if (args[1].as.i < 0) FAIL(ctx(c), INVALID_ARGUMENT, "Repeats must be non-negative");
    give(rets, repeats ? interleaved(c, self_of(args), repeats, &args[2], &args[3]) : NULL);
}

/* ---- products of lists ---- */
void compose_cartesian_prod(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *const *grid;
    uint32_t n = args[0].count;
    for (uint32_t i = 0; i < n; ++i)
        if (args[0].as.tensors[i]->ndim != 1)
            FAIL(ctx(c), INVALID_ARGUMENT, "Expect a 1D vector, but got shape of %d dimensions",
                 args[0].as.tensors[i]->ndim);
    if (n == 1) return give(rets, args[0].as.tensors[0]);
    size_t made = wick_meshgrid(c, args[0].as.tensors, n, "ij", &grid);
    wick_tensor **columns = scope_array(ctx(c), made);
    for (size_t i = 0; columns && i < made; ++i) columns[i] = flat(c, grid[i]);
    if (!wick_failed(c)) give(rets, stack_of(c, columns, made, 1));
}

/* Of all r-tuples of positions those that ascend. */
void compose_combinations(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args), *positions, *const * grid, *keep = NULL;
    int64_t r = args[1].as.i;
    if (t->ndim != 1) FAIL(ctx(c), INVALID_ARGUMENT, "Expect a 1D vector, but got shape of %d dimensions", t->ndim);
    if (r < 0 || r > WICK_MAX_DIMS)
        FAIL(ctx(c), INVALID_ARGUMENT, "Expect a non-negative number, but got %lld", (long long)r);
    if (wick_failed(c)) return;
    if (r == 0) return give(rets, zeros_of(c, t, (int64_t[]){0}, 1));
    wick_tensor *list[WICK_MAX_DIMS];
    positions = counting(c, t->numel, t);
    for (int64_t i = 0; i < r; ++i) list[i] = positions;
    wick_meshgrid(c, list, (size_t)r, "ij", &grid);
    for (int64_t i = 0; i + 1 < r && !wick_failed(c); ++i) {
        wick_tensor *ascends = (args[2].as.i ? wick_le : wick_lt)(c, grid[i], grid[i + 1]);
        keep = keep ? wick_logical_and(c, keep, ascends) : ascends;
    }
    for (int64_t i = 0; i < r && !wick_failed(c); ++i)
        list[i] = wick_index_select(c, t, 0, keep ? wick_masked_select(c, grid[i], keep) : grid[i]);
    if (!wick_failed(c)) give(rets, stack_of(c, list, (size_t)r, 1));
}

/* ---- rearranging ---- */
wick_status *infer_like_self(op_infer *ix) {
    meta_like(&ix->outs[0], self_of(ix->args));
    return NULL;
}

wick_status *infer_flip(op_infer *ix) {
    uint64_t seen = 0;
    for (uint32_t i = 0; i < ix->args[1].count; ++i) {
        int dim;
        WICK_TRY(wrap_dim(ix->args[1].as.ints[i], self_of(ix->args)->ndim, &dim));
        if (seen >> dim & 1)
            return WICK_ERROR(WICK_INVALID_ARGUMENT, "dim %d appears multiple times in the list of dims", dim);
        seen |= UINT64_C(1) << dim;
    }
    return infer_like_self(ix);
}

wick_status *infer_roll(op_infer *ix) {
    uint32_t shifts = ix->args[1].count, dims = ix->args[2].count;
    if (shifts == 0) return WICK_ERROR(WICK_INVALID_ARGUMENT, "`shifts` required");
    if (shifts != dims && (dims || shifts != 1))
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "shifts and dimensions must align. shifts: %u, dims:%u", shifts, dims);
    for (uint32_t i = 0; i < dims; ++i) {
        int dim;
        WICK_TRY(wrap_dim(ix->args[2].as.ints[i], self_of(ix->args)->ndim, &dim));
    }
    return infer_like_self(ix);
}

wick_status *infer_triangle(op_infer *ix) {
    if (self_of(ix->args)->ndim < 2)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "tril: input tensor must have at least 2 dimensions");
    return infer_like_self(ix);
}

void compose_flip(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    for (uint32_t i = 0; i < args[1].count && t; ++i) {
        wick_dim n = wick_size(t, (int)args[1].as.ints[i]);
        wick_tensor *backwards = wick_rsub_scalar(c, counting(c, n, t), NUMBER(n - 1), NULL);
        t = wick_index_select(c, t, args[1].as.ints[i], backwards);
    }
    give(rets, t == self_of(args) ? wick_clone(c, t, NULL) : t);
}

static wick_tensor *flip_one(wick_context *c, wick_tensor *t, int64_t dim) { return wick_flip(c, t, &dim, 1); }
void compose_fliplr(wick_context *c, const wick_value *args, wick_value *rets) {
    if (self_of(args)->ndim < 2)
        FAIL(ctx(c), INVALID_ARGUMENT, "Input must be >= 2-d.");
    else
        give(rets, flip_one(c, self_of(args), 1));
}
void compose_flipud(wick_context *c, const wick_value *args, wick_value *rets) {
    if (self_of(args)->ndim < 1)
        FAIL(ctx(c), INVALID_ARGUMENT, "Input must be >= 1-d.");
    else
        give(rets, flip_one(c, self_of(args), 0));
}

static wick_tensor *roll_one(wick_context *c, wick_tensor *t, int64_t shift, int dim) {
    wick_dim n = t->sizes[dim];
    int64_t start = n ? ((-shift % n) + n) % n : 0;
    if (n == 0) return wick_clone(c, t, NULL);
    wick_tensor *halves[] = {slice_of(c, t, dim, start, n, 1), slice_of(c, t, dim, 0, start, 1)};
    return wick_failed(c) ? NULL : cat_of(c, halves, 2, dim);
}

void compose_roll(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    if (args[2].count == 0) return give(rets, wick_view_as(c, roll_one(c, flat(c, t), args[1].as.ints[0], 0), t));
    for (uint32_t i = 0; i < args[1].count && t; ++i) {
        int dim;
        if (wick_fail(c, wrap_dim(args[2].as.ints[i], t->ndim, &dim))) return;
        t = t->ndim ? roll_one(c, t, args[1].as.ints[i], dim) : wick_clone(c, t, NULL);
    }
    give(rets, t);
}

void compose_rot90(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    const int64_t *dims = args[2].as.ints;
    int64_t k = ((args[1].as.i % 4) + 4) % 4;
    int a, b;
    if (args[2].count != 2) {
        FAIL(ctx(c), INVALID_ARGUMENT, "expected total rotation dims == 2, but got dims = %u", args[2].count);
        return;
    }
    if (t->ndim < 2) FAIL(ctx(c), INVALID_ARGUMENT, "expected total dims >= 2, but got total dims = %d", t->ndim);
    if (wick_failed(c) || wick_fail(c, wrap_dim(dims[0], t->ndim, &a)) || wick_fail(c, wrap_dim(dims[1], t->ndim, &b)))
        return;
    if (a == b) {
        FAIL(ctx(c), INVALID_ARGUMENT, "expected rotation dims to be different, but got dim0 = %lld and dim1 = %lld",
             (long long)dims[0], (long long)dims[1]);
        return;
    }
    if (k == 0) return give(rets, wick_clone(c, t, NULL));
    if (k == 2) return give(rets, wick_flip(c, t, dims, 2));
    give(rets, wick_transpose(c, flip_one(c, t, k == 1 ? b : a), a, b));
}

/* ---- diagonals ---- */
/* Sizes of the matrices, and where their rows and columns go. */
static wick_status *diag_embed_sizes(const wick_value *args, op_meta *m, int *row, int *column) {
    const wick_tensor *t = args[0].as.tensor;
    int64_t offset = args[1].as.i;
    WICK_TRY(wrap_dim(args[2].as.i, t->ndim + 1, row));
    WICK_TRY(wrap_dim(args[3].as.i, t->ndim + 1, column));
    if (*row == *column || !t->ndim)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "diagonal dimensions cannot be identical %lld, %lld",
                          (long long)args[2].as.i, (long long)args[3].as.i);
    m->dtype = (wick_dtype)t->dtype;
    m->ndim = t->ndim + 1;
    wick_dim size = wick_dim_add(t->sizes[t->ndim - 1], offset < 0 ? -offset : offset);
    for (int i = 0, k = 0; i < m->ndim; ++i) m->sizes[i] = i == *row || i == *column ? size : t->sizes[k++];
    return NULL;
}

wick_status *infer_diag_embed(op_infer *ix) {
    int row, column;
    return diag_embed_sizes(ix->args, &ix->outs[0], &row, &column);
}

void compose_diag_embed(wick_context *c, const wick_value *args, wick_value *rets) {
    op_meta m;
    int row, column;
    if (wick_fail(c, diag_embed_sizes(args, &m, &row, &column))) return;
    wick_tensor *out = zeros_of(c, self_of(args), m.sizes, (size_t)m.ndim);
    wick_copy_(c, diagonal_of(c, out, args[1].as.i, row, column), self_of(args), NULL);
    give(rets, out);
}

static wick_tensor *embedded(wick_context *c, wick_tensor *t, int64_t offset) {
    wick_diag_embed_options o = WICK_DIAG_EMBED_OPTIONS_INIT;
    o.offset = offset;
    return wick_diag_embed(c, t, &o);
}

void compose_diag(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    if (t->ndim == 1) return give(rets, embedded(c, t, args[1].as.i));
    if (t->ndim == 2) return give(rets, wick_clone(c, diagonal_of(c, t, args[1].as.i, 0, 1), NULL));
    FAIL(ctx(c), INVALID_ARGUMENT, "diag(): Supports 1D or 2D tensors. Got %dD", t->ndim);
}

void compose_diagflat(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, embedded(c, flat(c, self_of(args)), args[1].as.i));
}

void compose_trace_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    const int64_t *sizes = args[1].as.ints;
    if (args[1].count != 2) {
        FAIL(ctx(c), INVALID_ARGUMENT, "expected matrix input");
        return;
    }
    wick_dim n = sizes[0] < sizes[1] ? sizes[0] : sizes[1];
    wick_tensor *diagonal = expand_of(c, self_of(args), &n, 1);
    give(rets, wick_diagonal_backward(c, diagonal, LIST(args[1]), 0, 0, 1));
}
