/* Embeddings, and bags of them, which decompose into differentiable operators. */
#include "geometry.h"
#include "rows.h"
#include "shorthand.h"

static wick_tensor *self_of(const wick_value *args) { return args[0].as.tensor; }

/* ---- single rows ---- */
static wick_status *check_indices(const wick_tensor *indices) {
    if (indices->dtype == WICK_I64 || indices->dtype == WICK_I32) return NULL;
    return WICK_ERROR(WICK_INVALID_ARGUMENT,
                      "Expected tensor for argument 'indices' to have one of the following scalar types: "
                      "Long, Int; but got %s instead",
                      wick_dtype_name((wick_dtype)indices->dtype));
}

wick_status *infer_embedding(op_infer *ix) {
    const wick_tensor *weight = self_of(ix->args), *indices = ix->args[1].as.tensor;
    op_meta *m = &ix->outs[0];
    if (weight->ndim != 2) return WICK_ERROR(WICK_INVALID_ARGUMENT, "'weight' must be 2-D");
    WICK_TRY(check_indices(indices));
    if (indices->ndim == WICK_MAX_DIMS) return WICK_ERROR(WICK_INVALID_ARGUMENT, "'indices' has too many dimensions");
    meta_set(m, (wick_dtype)weight->dtype, indices->ndim, indices->sizes);
    m->sizes[m->ndim++] = weight->sizes[1];
    return NULL;
}

void compose_embedding(wick_context *c, const wick_value *args, wick_value *rets) {
    op_infer ix = {.c = c, .args = args};
    if (wick_fail(c, infer_embedding(&ix))) return;
    wick_tensor *rows = wick_index_select(c, self_of(args), 0, flat(c, args[1].as.tensor));
    give(rets, wick_view(c, rows, ix.outs[0].sizes, (size_t)ix.outs[0].ndim));
}

wick_status *infer_embedding_dense_backward(op_infer *ix) {
    const wick_tensor *grad = self_of(ix->args);
    WICK_TRY(check_indices(ix->args[1].as.tensor));
    if (!grad->ndim)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "embedding_dense_backward: the gradient has no dimensions");
    meta_set(&ix->outs[0], (wick_dtype)grad->dtype, 2, (wick_dim[]){ix->args[2].as.i, grad->sizes[grad->ndim - 1]});
    return NULL;
}

/* How often each row is named, at the places that name it. */
static wick_tensor *frequencies(wick_context *c, wick_tensor *at, wick_tensor *like, wick_dim rows) {
    wick_tensor *ones = at ? wick_new_ones(c, like, &at->numel, 1, NULL) : NULL;
    return wick_index_select(c, wick_index_add(c, zeros_of(c, like, &rows, 1), 0, at, ones, NULL), 0, at);
}

void compose_embedding_dense_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    op_infer ix = {.c = c, .args = args};
    if (wick_fail(c, infer_embedding_dense_backward(&ix))) return;
    const wick_dim *sizes = ix.outs[0].sizes;
    wick_tensor *at = flat(c, args[1].as.tensor);
    wick_tensor *grad = at ? wick_reshape(c, self_of(args), (wick_dim[]){at->numel, sizes[1]}, 2) : NULL;
    if (grad && args[4].as.i)
        grad = cast_like(c, wick_div(c, grad, wick_unsqueeze(c, frequencies(c, at, grad, sizes[0]), 1)), grad);
    wick_tensor *out = wick_index_add(c, zeros_of(c, grad, sizes, 2), 0, at, grad, NULL);
    if (args[3].as.i >= 0 && args[3].as.i < sizes[0]) wick_zero_(c, wick_select(c, out, 0, args[3].as.i));
    give(rets, out);
}

void compose_embedding_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    if (args[5].as.i)
        FAIL(ctx(c), UNSUPPORTED, "embedding_backward: sparse gradients are not supported");
    else
        give(rets, wick_embedding_dense_backward(c, self_of(args), args[1].as.tensor, args[2].as.i, args[3].as.i,
                                                 args[4].as.i));
}

wick_status *infer_embedding_renorm(op_infer *ix) {
    if (self_of(ix->args)->ndim != 2) return WICK_ERROR(WICK_INVALID_ARGUMENT, "'self' must be 2-D");
    WICK_TRY(check_indices(ix->args[1].as.tensor));
    meta_like(&ix->outs[0], self_of(ix->args));
    ix->compute = (wick_dtype)self_of(ix->args)->dtype; /* a kernel says of which tables it knows the norm */
    ix->cast_args = 0;
    return NULL;
}

/* ---- bags ---- */
enum { BAG_SUM, BAG_MEAN, BAG_MAX };

typedef struct bags {
    wick_tensor *weight, *indices, *per_sample;
    wick_tensor *starts;   /* of each bag, in indices */
    wick_tensor *bag_of;   /* of each index */
    wick_tensor *used;     /* 1 for an index that counts, 0 for padding; NULL: all count */
    wick_tensor *bag_size; /* indices that count */
    int64_t count, mode, padding_idx;
    bool scale_grad_by_freq;
} bags;

static bool check_bags(wick_context *c, const bags *x, const wick_tensor *offsets) {
    if (!wants_fractions(c, x->weight, "embedding_bag")) return false;
    if (x->weight->ndim != 2) return !FAIL(ctx(c), INVALID_ARGUMENT, "'weight' must be 2-D");
    if (x->indices->ndim != 1 || offsets->ndim != 1)
        return !FAIL(ctx(c), INVALID_ARGUMENT,
                     "embedding_bag: input and offsets have to be 1D Tensors, but got %dD and %dD", x->indices->ndim,
                     offsets->ndim);
    if (x->mode < BAG_SUM || x->mode > BAG_MAX)
        return !FAIL(ctx(c), INVALID_ARGUMENT, "embedding_bag: mode must be 0 (sum), 1 (mean) or 2 (max), got %lld",
                     (long long)x->mode);
    if (x->per_sample && x->mode != BAG_SUM)
        return !FAIL(ctx(c), INVALID_ARGUMENT, "embedding_bag: per_sample_weights only supported with mode='sum'");
    return !wick_fail(c, check_indices(x->indices));
}

static wick_tensor *count_in_bags(wick_context *c, const bags *x, wick_tensor *each) {
    return wick_index_add(c, zeros_of(c, x->bag_of, &x->count, 1), 0, x->bag_of, each, NULL);
}

/* An index is in the bag that began last: as many bags as began up to it, less one. */
static void place_in_bags(wick_context *c, bags *x, wick_tensor *offsets) {
    wick_dim n = x->indices->numel, room = n + 1; /* an empty bag at the end begins behind the last index */
    x->starts = cast(c, slice_of(c, offsets, 0, 0, x->count, 1), WICK_I64);
    wick_tensor *begins = wick_index_add(c, zeros_of(c, x->starts, &room, 1), 0, x->starts,
                                         x->starts ? wick_ones_like(c, x->starts, NULL) : NULL, NULL);
    x->bag_of = wick_sub_scalar(c, slice_of(c, wick_cumsum(c, begins, 0, NULL), 0, 0, n, 1), NUMBER(1), NULL);
    wick_tensor *each = wick_ones_like(c, x->bag_of, NULL);
    if (x->padding_idx >= 0) {
        wick_tensor *counts = wick_ne_scalar(c, x->indices, NUMBER(x->padding_idx));
        x->used = cast_like(c, counts, x->weight);
        each = cast_like(c, counts, each);
    }
    x->bag_size = count_in_bags(c, x, each);
}

static wick_tensor *rows_of_bags(wick_context *c, const bags *x) {
    wick_embedding_options o = WICK_EMBEDDING_OPTIONS_INIT;
    o.padding_idx = x->padding_idx, o.scale_grad_by_freq = x->scale_grad_by_freq;
    wick_tensor *rows = wick_embedding(c, x->weight, x->indices, &o);
    if (x->per_sample) rows = wick_mul(c, rows, wick_unsqueeze(c, x->per_sample, 1));
    if (x->used) rows = wick_mul(c, rows, wick_unsqueeze(c, x->used, 1));
    return rows;
}

static wick_tensor *sum_of_bags(wick_context *c, const bags *x) {
    wick_clamp_options least = WICK_CLAMP_OPTIONS_INIT;
    least.min = NUMBER(1);
    wick_tensor *zeros = zeros_of(c, x->weight, (wick_dim[]){x->count, x->weight->sizes[1]}, 2);
    wick_tensor *sum = wick_index_add(c, zeros, 0, x->bag_of, rows_of_bags(c, x), NULL);
    if (x->mode == BAG_SUM) return sum;
    return wick_div(c, sum, wick_unsqueeze(c, cast_like(c, wick_clamp(c, x->bag_size, &least), sum), 1));
}

/* A matrix of the bags' indices, padded to the longest bag; *missing marks the padding. */
static wick_tensor *bags_as_rows(wick_context *c, const bags *x, wick_tensor **missing) {
    wick_tensor *whole = count_in_bags(c, x, wick_ones_like(c, x->bag_of, NULL));
    int64_t longest = x->indices->numel ? wick_item_int(c, wick_max(c, whole)) : 1;
    wick_tensor *first = wick_index_select(c, x->starts, 0, x->bag_of);
    wick_tensor *within = wick_sub(c, counting(c, x->indices->numel, x->bag_of), first, NULL);
    wick_tensor *matrix = zeros_of(c, x->indices, (wick_dim[]){x->count, longest}, 2);
    wick_tensor *empty = wick_fill(c, wick_eq(c, matrix, matrix), wick_value_bool(true));
    wick_tensor *at[] = {x->bag_of, within};
    if (wick_failed(c)) return NULL;
    wick_tensor *absent = x->used ? wick_eq_scalar(c, x->used, NUMBER(0)) : wick_ne(c, x->bag_of, x->bag_of);
    *missing = wick_index_put(c, empty, at, 2, absent, NULL);
    return wick_index_put(c, matrix, at, 2, x->indices, NULL);
}

static wick_tensor *max_of_bags(wick_context *c, const bags *x, wick_tensor **max_indices) {
    wick_tensor *missing = NULL, *which = NULL;
    wick_tensor *matrix = bags_as_rows(c, x, &missing);
    wick_tensor *rows = wick_embedding(c, x->weight, matrix, NULL);
    rows = wick_masked_fill(c, rows, wick_unsqueeze(c, missing, 2), REAL(-__builtin_inf()));
    wick_tensor *max = wick_max_dim(c, rows, 1, NULL, &which);
    wick_tensor *none = wick_unsqueeze(c, wick_eq_scalar(c, x->bag_size, NUMBER(0)), 1);
    *max_indices = wick_masked_fill(c, wick_gather(c, matrix, 1, which, NULL), none, NUMBER(0));
    return wick_masked_fill(c, max, none, NUMBER(0));
}

static void embed_bags(wick_context *c, const wick_value *args, wick_value *rets, int64_t padding_idx) {
    wick_tensor *offsets = args[2].as.tensor;
    bags x = {.weight = self_of(args),
              .indices = args[1].as.tensor,
              .per_sample = arg_tensor(args, 6),
              .mode = args[4].as.i,
              .padding_idx = padding_idx,
              .scale_grad_by_freq = args[3].as.i};
    if (args[5].as.i) FAIL(ctx(c), UNSUPPORTED, "embedding_bag: sparse gradients are not supported");
    if (wick_failed(c) || !check_bags(c, &x, offsets)) return;
    x.count = offsets->numel - (args[7].as.i != 0);
    place_in_bags(c, &x, offsets);
    if (wick_failed(c)) return;
    wick_tensor *max_indices = NULL;
    wick_tensor *out = x.mode == BAG_MAX ? max_of_bags(c, &x, &max_indices) : sum_of_bags(c, &x);
    if (!max_indices) max_indices = wick_clone(c, x.bag_size, NULL);
    wick_tensor *results[] = {out, x.bag_of, x.bag_size, max_indices};
    for (int i = 0; i < ARRAY_COUNT(results); ++i) rets[i] = wick_value_tensor(results[i]);
}

void compose_embedding_bag(wick_context *c, const wick_value *args, wick_value *rets) { embed_bags(c, args, rets, -1); }
void compose__embedding_bag(wick_context *c, const wick_value *args, wick_value *rets) {
    embed_bags(c, args, rets, args[8].as.i);
}

/* Sums that need no gradient leave out what only a backward would read; dtypes other than F64 the indices' bags too. */
void compose_embedding_bag_forward_only(wick_context *c, const wick_value *args, wick_value *rets) {
    compose__embedding_bag(c, args, rets);
    if (wick_failed(c) || args[4].as.i != BAG_SUM) return;
    bool without_bags = self_of(args)->dtype != WICK_F64 && args[8].as.i < 0;
    if (without_bags) rets[1] = wick_value_tensor(zeros_of(c, rets[1].as.tensor, (wick_dim[]){0}, 1));
    for (int i = 2; i < 4; ++i) rets[i] = wick_value_tensor(zeros_of(c, rets[i].as.tensor, SIZES(args[2].as.tensor)));
}

void compose_embedding_bag_padding_idx(wick_context *c, const wick_value *args, wick_value *rets) {
    int64_t padding = -1, rows = self_of(args)->ndim ? self_of(args)->sizes[0] : 0;
    if (args[8].tag != WICK_TAG_NONE) {
        padding = args[8].as.i + (args[8].as.i < 0 ? rows : 0);
        if (padding < 0 || padding >= rows) {
            FAIL(ctx(c), OUT_OF_RANGE,
                 "padding_idx must be within the number of embeddings, -%lld through %lld but got %lld",
                 (long long)rows, (long long)rows - 1, (long long)args[8].as.i);
            return;
        }
    }
    embed_bags(c, args, rets, padding);
}

/* (grad, indices, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq, mode, per_sample_weights,
 *  padding_idx) */
void compose_embedding_bag_dense_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *grad = self_of(args), *per_sample = arg_tensor(args, 8);
    wick_clamp_options least = WICK_CLAMP_OPTIONS_INIT;
    least.min = NUMBER(1);
    if (!wants_fractions(c, grad, "_embedding_bag_dense_backward")) return;
    if (args[7].as.i == BAG_MAX) {
        wick_tensor *zeros = zeros_of(c, grad, (wick_dim[]){args[5].as.i, grad->sizes[1]}, 2);
        wick_tensor *none = wick_unsqueeze(c, wick_eq_scalar(c, args[3].as.tensor, NUMBER(0)), 1);
        return give(rets, wick_scatter_add(c, zeros, 0, args[4].as.tensor, wick_masked_fill(c, grad, none, NUMBER(0))));
    }
    if (args[7].as.i == BAG_MEAN)
        grad = wick_div(c, grad, wick_unsqueeze(c, cast_like(c, wick_clamp(c, args[3].as.tensor, &least), grad), 1));
    grad = wick_index_select(c, grad, 0, args[2].as.tensor);
    if (per_sample) grad = wick_mul(c, grad, wick_unsqueeze(c, per_sample, 1));
    give(rets, wick_embedding_dense_backward(c, grad, args[1].as.tensor, args[5].as.i, args[9].as.i, args[6].as.i));
}

/* (grad, weight, indices, offsets, offset2bag, mode, padding_idx) */
void compose_embedding_bag_per_sample_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    if (!wants_fractions(c, self_of(args), "_embedding_bag_per_sample_weights_backward")) return;
    if (args[5].as.i != BAG_SUM) {
        FAIL(ctx(c), INVALID_ARGUMENT, "embedding_bag_backward: per_sample_weights only supported for mode='sum'");
        return;
    }
    wick_tensor *rows = wick_index_select(c, args[1].as.tensor, 0, args[2].as.tensor);
    wick_tensor *own = wick_index_select(c, self_of(args), 0, args[4].as.tensor);
    wick_tensor *products = sum_dims(c, wick_mul(c, rows, own), (int64_t[]){1}, 1, false);
    if (args[6].as.i >= 0)
        products = wick_masked_fill(c, products, wick_eq_scalar(c, args[2].as.tensor, args[6]), NUMBER(0));
    give(rets, products);
}
