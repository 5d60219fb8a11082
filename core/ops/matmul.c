/* Matrix products: shape rules and decompositions. */
#include "boxed.h"
#include "geometry.h"
#include "rows.h"

/* ---- shape rules ---- */
static wick_status *want_ndim(const wick_tensor *t, int ndim, const char *name, const char *what) {
    return t->ndim == ndim
               ? NULL
               : WICK_ERROR(WICK_INVALID_ARGUMENT, "%s must be %s, got %d dimension(s)", name, what, t->ndim);
}

static wick_status *want_alike(op_infer *ix, int first, int last) {
    const wick_tensor *a = arg_tensor(ix->args, first);
    for (int i = first + 1; i <= last; ++i) {
        const wick_tensor *b = arg_tensor(ix->args, i);
        if (b && b->dtype != a->dtype)
            return WICK_ERROR(WICK_INVALID_ARGUMENT, "expected %s and %s to have the same dtype, but got: %s != %s",
                              ix->op->args[first].name, ix->op->args[i].name, wick_dtype_name((wick_dtype)a->dtype),
                              wick_dtype_name((wick_dtype)b->dtype));
    }
    ix->compute = (wick_dtype)a->dtype;
    return NULL;
}

static wick_status *set(op_infer *ix, int ndim, const wick_dim *sizes) {
    meta_set(&ix->outs[0], ix->compute, ndim, sizes);
    return NULL;
}
#define SET(ix, ...) set((ix), (int)(sizeof((wick_dim[]){__VA_ARGS__}) / sizeof(wick_dim)), (wick_dim[]){__VA_ARGS__})

/* Sizes of the product of arguments `at` and at + 1, two matrices. */
static wick_status *product(op_infer *ix, int at) {
    const wick_tensor *a = arg_tensor(ix->args, at), *b = arg_tensor(ix->args, at + 1);
    WICK_TRY(want_ndim(a, 2, ix->op->args[at].name, "a matrix"));
    WICK_TRY(want_ndim(b, 2, ix->op->args[at + 1].name, "a matrix"));
    if (a->sizes[1] != b->sizes[0])
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
                          (long long)a->sizes[0], (long long)a->sizes[1], (long long)b->sizes[0],
                          (long long)b->sizes[1]);
    return SET(ix, a->sizes[0], b->sizes[1]);
}

static wick_status *batch_product(op_infer *ix, int at) {
    const wick_tensor *a = arg_tensor(ix->args, at), *b = arg_tensor(ix->args, at + 1);
    WICK_TRY(want_ndim(a, 3, ix->op->args[at].name, "a 3D tensor"));
    WICK_TRY(want_ndim(b, 3, ix->op->args[at + 1].name, "a 3D tensor"));
    if (a->sizes[0] != b->sizes[0] || a->sizes[2] != b->sizes[1])
        return WICK_ERROR(
            WICK_INVALID_ARGUMENT,
            "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but got: [%lld, %lld].",
            (long long)a->sizes[0], (long long)a->sizes[2], (long long)b->sizes[0], (long long)b->sizes[1]);
    return SET(ix, a->sizes[0], a->sizes[1], b->sizes[2]);
}

static wick_status *vector_product(op_infer *ix, int at) {
    const wick_tensor *a = arg_tensor(ix->args, at), *b = arg_tensor(ix->args, at + 1);
    WICK_TRY(want_ndim(a, 2, ix->op->args[at].name, "a matrix"));
    WICK_TRY(want_ndim(b, 1, ix->op->args[at + 1].name, "a vector"));
    if (a->sizes[1] != b->sizes[0])
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "size mismatch, got input (%lldx%lld), vec (%lld)",
                          (long long)a->sizes[0], (long long)a->sizes[1], (long long)b->sizes[0]);
    return SET(ix, a->sizes[0]);
}

wick_status *infer_mm(op_infer *ix) {
    WICK_TRY(want_alike(ix, 0, 1));
    return product(ix, 0);
}
wick_status *infer_bmm(op_infer *ix) {
    WICK_TRY(want_alike(ix, 0, 1));
    return batch_product(ix, 0);
}
wick_status *infer_mv(op_infer *ix) {
    WICK_TRY(want_alike(ix, 0, 1));
    return vector_product(ix, 0);
}
wick_status *infer_dot(op_infer *ix) {
    const wick_tensor *a = arg_tensor(ix->args, 0), *b = arg_tensor(ix->args, 1);
    if (a->ndim != 1 || b->ndim != 1)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "1D tensors expected, but got %dD and %dD tensors", a->ndim, b->ndim);
    if (a->numel != b->numel)
        return WICK_ERROR(
            WICK_INVALID_ARGUMENT,
            "inconsistent tensor size, expected tensor [%lld] and src [%lld] to have the same number of elements, "
            "but got %lld and %lld elements respectively",
            (long long)a->numel, (long long)b->numel, (long long)a->numel, (long long)b->numel);
    WICK_TRY(want_alike(ix, 0, 1));
    ix->outs[0].ndim = 0;
    ix->outs[0].dtype = ix->compute;
    return NULL;
}

/* self must broadcast to the product's sizes. */
static wick_status *with_accumulator(op_infer *ix, wick_status *(*sizes)(op_infer *, int)) {
    const wick_tensor *self = arg_tensor(ix->args, 0);
    op_meta *m = &ix->outs[0];
    WICK_TRY(want_alike(ix, 0, 2));
    WICK_TRY(sizes(ix, 1));
    for (int i = 0; i < self->ndim; ++i) {
        int at = m->ndim - self->ndim + i;
        if (at >= 0 && (self->sizes[i] == m->sizes[at] || self->sizes[i] == 1)) continue;
        char a[SIZES_TEXT], b[SIZES_TEXT];
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "The expanded size of the tensor %s must match the existing size %s",
                          format_sizes(m->ndim, m->sizes, a, sizeof a),
                          format_sizes(self->ndim, self->sizes, b, sizeof b));
    }
    return NULL;
}

static wick_status *summed_batch_product(op_infer *ix, int at) {
    WICK_TRY(batch_product(ix, at));
    wick_dim sizes[2] = {ix->outs[0].sizes[1], ix->outs[0].sizes[2]};
    return set(ix, 2, sizes);
}
static wick_status *outer_product(op_infer *ix, int at) {
    const wick_tensor *a = arg_tensor(ix->args, at), *b = arg_tensor(ix->args, at + 1);
    WICK_TRY(want_ndim(a, 1, "vec1", "a vector"));
    WICK_TRY(want_ndim(b, 1, "vec2", "a vector"));
    return SET(ix, a->sizes[0], b->sizes[0]);
}

wick_status *infer_addmm(op_infer *ix) { return with_accumulator(ix, product); }
wick_status *infer_addmv(op_infer *ix) { return with_accumulator(ix, vector_product); }
wick_status *infer_baddbmm(op_infer *ix) { return with_accumulator(ix, batch_product); }
wick_status *infer_addbmm(op_infer *ix) { return with_accumulator(ix, summed_batch_product); }
wick_status *infer_addr(op_infer *ix) {
    const wick_tensor *self = arg_tensor(ix->args, 0);
    ix->decompose = self->dtype != arg_tensor(ix->args, 1)->dtype || self->dtype != arg_tensor(ix->args, 2)->dtype;
    if (!ix->decompose) return with_accumulator(ix, outer_product);
    WICK_TRY(infer_result_type(ix, &ix->compute));
    return outer_product(ix, 1);
}

wick_status *infer_linear(op_infer *ix) {
    const wick_tensor *x = arg_tensor(ix->args, 0), *w = arg_tensor(ix->args, 1), *bias = arg_tensor(ix->args, 2);
    op_meta *m = &ix->outs[0];
    WICK_TRY(want_alike(ix, 0, 2));
    if (x->ndim < 1 || w->ndim < 1 || w->ndim > 2)
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "linear: input needs at least 1 dimension and weight 1 or 2, got %d and %d", x->ndim,
                          w->ndim);
    if (x->sizes[x->ndim - 1] != w->sizes[w->ndim - 1])
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
                          (long long)(x->numel / (x->sizes[x->ndim - 1] ? x->sizes[x->ndim - 1] : 1)),
                          (long long)x->sizes[x->ndim - 1], (long long)w->sizes[w->ndim - 1],
                          (long long)(w->ndim == 2 ? w->sizes[0] : 1));
    meta_like(m, x);
    if (w->ndim == 2)
        m->sizes[x->ndim - 1] = w->sizes[0];
    else
        m->ndim--;
    if (bias && (bias->ndim > 1 || (bias->ndim == 1 && w->ndim == 2 && bias->sizes[0] != w->sizes[0])))
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "linear: bias must be a vector of %lld elements",
                          (long long)w->sizes[0]);
    ix->decompose = w->ndim == 1 || x->ndim == 1 || (bias && bias->ndim == 0);
    return NULL;
}

/* (grad_output, input, weight, output_mask): the gradients for input, weight and bias. Of input and weight only what a wanted
 * gradient is made of need be there. */
wick_status *infer_linear_backward(op_infer *ix) {
    const wick_tensor *g = arg_tensor(ix->args, 0), *x = arg_tensor(ix->args, 1), *w = arg_tensor(ix->args, 2);
    const uint8_t *mask = ix->args[3].as.bools;
    const int last = g->ndim - 1;
    WICK_TRY(want_alike(ix, 0, 2));
    if (ix->args[3].count != 3 || (mask[0] && !w) || (mask[1] && !x))
        return WICK_ERROR(WICK_INVALID_ARGUMENT,
                          "linear_backward: the gradient for input wants the weight, that for weight "
                          "the input, and output_mask three entries");
    if (last < 0 || (w && (w->ndim != 2 || w->sizes[0] != g->sizes[last])) ||
        (x && (x->ndim != g->ndim || memcmp(x->sizes, g->sizes, sizeof *x->sizes * (size_t)last))))
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "linear_backward: grad_output, input and weight do not go together");
    meta_like(&ix->outs[0], g);
    if (mask[0]) ix->outs[0].sizes[last] = w->sizes[1];
    if (mask[1]) meta_set(&ix->outs[1], ix->compute, 2, (const wick_dim[]){g->sizes[last], x->sizes[last]});
    meta_set(&ix->outs[2], ix->compute, 1, &g->sizes[last]);
    for (int i = 0; i < 3; ++i) ix->outs[i].absent = !mask[i];
    return NULL;
}

/* ---- decompositions into bmm ---- */
static wick_tensor *lift(wick_context *c, wick_tensor *t) { return wick_unsqueeze(c, t, 0); }
static wick_tensor *column(wick_context *c, wick_tensor *t) { return wick_unsqueeze(c, t, 1); }

DECOMPOSE(mm, wick_squeeze_dim(c, wick_bmm(c, lift(c, T(0)), lift(c, T(1))), 0))
DECOMPOSE(mv, wick_squeeze_dim(c, wick_mm(c, T(0), column(c, T(1))), 1))
DECOMPOSE(dot, wick_reshape(c, wick_mm(c, lift(c, T(0)), column(c, T(1))), NULL, 0))
DECOMPOSE(vdot, wick_dot(c, wick_conj(c, T(0)), T(1)))

/* A number as an element of the dtype: 0.2 is 0 among integers. */
static wick_value rounded(const wick_value *v, wick_dtype dtype) {
    if (dtype == WICK_BOOL) return BOOLEAN(wick_value_as_double(v) != 0);
    return wick_dtype_is_integral(dtype) ? NUMBER(wick_value_as_int(v)) : *v;
}
static bool is_real(const wick_value *v, double x) { return v->tag != WICK_TAG_C128 && wick_value_as_double(v) == x; }

/* beta * self + alpha * product; beta = 0 ignores self, NaN or not. */
static wick_tensor *accumulate(wick_context *c, const wick_value *args, wick_tensor *product) {
    if (!product) return NULL;
    wick_value beta = rounded(&args[3], (wick_dtype)product->dtype),
               alpha = rounded(&args[4], (wick_dtype)product->dtype);
    if (!is_real(&alpha, 1)) product = wick_mul_scalar(c, product, alpha);
    if (is_real(&beta, 0)) return product;
    return wick_add(c, is_real(&beta, 1) ? T(0) : wick_mul_scalar(c, T(0), beta), product, NULL);
}

void compose_addmm(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *p = wick_mm(c, widen(c, T(1)), widen(c, T(2)));
    give(rets, cast_like(c, accumulate(c, args, p), T(1)));
}
void compose_addmv(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *p = wick_mv(c, widen(c, T(1)), widen(c, T(2)));
    give(rets, cast_like(c, accumulate(c, args, p), T(1)));
}
void compose_baddbmm(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *p = wick_bmm(c, widen(c, T(1)), widen(c, T(2)));
    give(rets, cast_like(c, accumulate(c, args, p), T(1)));
}
void compose_addbmm(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *p = sum_dims(c, wick_bmm(c, widen(c, T(1)), widen(c, T(2))), (int64_t[]){0}, 1, false);
    give(rets, cast_like(c, accumulate(c, args, p), T(1)));
}
void compose_addr(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *out = accumulate(c, args, wick_mul(c, column(c, widen(c, T(1))), widen(c, T(2))));
    give(rets, T(0)->dtype == T(1)->dtype ? cast_like(c, out, T(2)) : out);
}

void compose_linear(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = T(0), *w = T(1), *bias = T(2), *turned = w->ndim == 2 ? wick_t(c, w) : w;
    if (bias && x->ndim == 2 && w->ndim == 2) {
        give(rets, wick_addmm(c, bias, x, turned, NULL));
        return;
    }
    wick_tensor *out = wick_matmul(c, x, turned);
    give(rets, bias ? wick_add(c, out, bias, NULL) : out);
}

static wick_tensor *as_rows(wick_context *c, wick_tensor *t) {
    return t->ndim == 2 ? t : wick_reshape(c, t, (int64_t[]){-1, t->sizes[t->ndim - 1]}, 2);
}

void compose_linear_backward(wick_context *c, const wick_value *args, wick_value *rets) {
    const uint8_t *mask = args[3].as.bools;
    wick_tensor *g = T(0), *rows = as_rows(c, g);
    if (mask[0]) rets[0] = V(g->ndim == 2 ? wick_mm(c, g, T(2)) : wick_matmul(c, g, T(2)));
    if (mask[1]) rets[1] = V(wick_mm(c, wick_t(c, rows), as_rows(c, T(1))));
    if (mask[2]) rets[2] = V(sum_dims(c, rows, (const int64_t[]){0}, 1, false));
}

/* ---- matmul ---- */
/* a has 3 dimensions or more, b at most 2: the batch joins the rows. */
static wick_tensor *folded(wick_context *c, wick_tensor *a, wick_tensor *b) {
    wick_dim sizes[WICK_MAX_DIMS];
    int last = a->ndim - 1;
    memcpy(sizes, a->sizes, sizeof *sizes * (size_t)a->ndim);
    wick_tensor *rows = wick_reshape(c, a, (int64_t[]){wick_dim_product(a->sizes, last), a->sizes[last]}, 2);
    if (b->ndim == 1) return wick_view(c, wick_mv(c, rows, b), sizes, (size_t)last);
    sizes[last] = b->sizes[1];
    return wick_view(c, wick_mm(c, rows, b), sizes, (size_t)a->ndim);
}

static wick_tensor *as_batch(wick_context *c, wick_tensor *t, int batch_ndim, const wick_dim *batch) {
    wick_dim sizes[WICK_MAX_DIMS + 2];
    const wick_dim *matrix = &t->sizes[t->ndim - 2];
    memcpy(sizes, batch, sizeof *sizes * (size_t)batch_ndim);
    sizes[batch_ndim] = matrix[0], sizes[batch_ndim + 1] = matrix[1];
    wick_tensor *expanded = expand_of(c, t, sizes, (size_t)batch_ndim + 2);
    return wick_reshape(c, expanded, (int64_t[]){wick_dim_product(batch, batch_ndim), matrix[0], matrix[1]}, 3);
}

static wick_tensor *batched(wick_context *c, wick_tensor *a, wick_tensor *b) {
    wick_dim batch[WICK_MAX_DIMS + 2];
    int n = a->ndim - 2;
    memcpy(batch, a->sizes, sizeof *batch * (size_t)n);
    if (wick_fail(c, infer_broadcast(&n, batch, b->ndim - 2, b->sizes))) return NULL;
    wick_tensor *out = wick_bmm(c, as_batch(c, a, n, batch), as_batch(c, b, n, batch));
    batch[n] = a->sizes[a->ndim - 2], batch[n + 1] = b->sizes[b->ndim - 1];
    return wick_view(c, out, batch, (size_t)n + 2);
}

static wick_tensor *matmul(wick_context *c, wick_tensor *a, wick_tensor *b) {
    if (a->ndim == 1 && b->ndim == 1) return wick_dot(c, a, b);
    if (a->ndim == 2 && b->ndim == 1) return wick_mv(c, a, b);
    if (a->ndim == 1 && b->ndim == 2) return wick_squeeze_dim(c, wick_mm(c, lift(c, a), b), 0);
    if (a->ndim == 2 && b->ndim == 2) return wick_mm(c, a, b);
    if (b->ndim <= 2) return folded(c, a, b);
    if (a->ndim == 1) {
        wick_tensor *turned = wick_transpose(c, b, -2, -1);
        return turned ? folded(c, turned, a) : NULL;
    }
    return batched(c, a, b);
}

void compose_matmul(wick_context *c, const wick_value *args, wick_value *rets) {
    if (!T(0)->ndim || !T(1)->ndim)
        FAIL(ctx(c), INVALID_ARGUMENT, "both arguments to matmul need to be at least 1D, but they are %dD and %dD",
             T(0)->ndim, T(1)->ndim);
    else
        give(rets, matmul(c, T(0), T(1)));
}

/* ---- products by other names ---- */
DECOMPOSE(outer, wick_mul(c, wick_reshape(c, T(0), (int64_t[]){T(0)->numel, 1}, 2), T(1)))
DECOMPOSE(linalg_matmul, wick_matmul(c, T(0), T(1)))
DECOMPOSE(ger, wick_outer(c, T(0), T(1)))

void compose_inner(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *a = T(0), *b = T(1);
    if (!a->ndim || !b->ndim) {
        give(rets, wick_mul(c, a, b));
        return;
    }
    if (a->sizes[a->ndim - 1] != b->sizes[b->ndim - 1]) {
        char x[SIZES_TEXT], y[SIZES_TEXT];
        FAIL(ctx(c), INVALID_ARGUMENT,
             "inner() the last dimension must match on both input tensors but got shapes %s and %s",
             format_sizes(a->ndim, a->sizes, x, sizeof x), format_sizes(b->ndim, b->sizes, y, sizeof y));
        return;
    }
    int64_t last_a = -1, last_b = -1;
    give(rets, wick_tensordot(c, a, b, &last_a, 1, &last_b, 1));
}

/* t with `front` dimensions, then `back` ones, as a matrix. */
static wick_tensor *as_matrix(wick_context *c, wick_tensor *t, const int64_t *front, int nfront, const int64_t *back,
                              int nback) {
    int64_t order[WICK_MAX_DIMS];
    wick_dim rows = 1, columns = 1;
    for (int i = 0; i < nfront; ++i) order[i] = front[i], rows = wick_dim_mul(rows, t->sizes[front[i]]);
    for (int i = 0; i < nback; ++i) order[nfront + i] = back[i], columns = wick_dim_mul(columns, t->sizes[back[i]]);
    return wick_reshape(c, wick_permute(c, t, order, (size_t)t->ndim), (int64_t[]){rows, columns}, 2);
}

/* The dimensions of t that are not in `dims`; false (latched) if dims is wrong. */
static bool split_dims(wick_context *c, const wick_tensor *t, const wick_value *dims, int64_t *wrapped, int64_t *rest,
                       int *nrest) {
    uint64_t seen = 0;
    for (uint32_t i = 0; i < dims->count; ++i) {
        int dim;
        if (wick_fail(c, wrap_dim(dims->as.ints[i], t->ndim, &dim))) return false;
        if (seen >> dim & 1 || !t->ndim)
            return !FAIL(ctx(c), INVALID_ARGUMENT, "dim %d appears multiple times in the list of dims", dim);
        seen |= 1ull << dim;
        wrapped[i] = dim;
    }
    *nrest = 0;
    for (int i = 0; i < t->ndim; ++i)
        if (!(seen >> i & 1)) rest[(*nrest)++] = i;
    return true;
}

void compose_tensordot(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *a = T(0), *b = T(1);
    int64_t in_a[WICK_MAX_DIMS], in_b[WICK_MAX_DIMS], rest_a[WICK_MAX_DIMS], rest_b[WICK_MAX_DIMS];
    wick_dim sizes[2 * WICK_MAX_DIMS];
    int na, nb, n = (int)args[2].count;
    if (args[2].count != args[3].count || n > WICK_MAX_DIMS) {
        FAIL(ctx(c), INVALID_ARGUMENT, "both dimension lists should have same length");
        return;
    }
    if (!split_dims(c, a, &args[2], in_a, rest_a, &na) || !split_dims(c, b, &args[3], in_b, rest_b, &nb)) return;
    for (int i = 0; i < n; ++i) {
        wick_dim x = a->sizes[in_a[i]], y = b->sizes[in_b[i]];
        if (x == y) continue;
        if (x != 1 && y != 1) {
            FAIL(ctx(c), INVALID_ARGUMENT,
                 "contracted dimensions need to match, but first has size %lld in dim %lld and second "
                 "has size %lld in dim %lld",
                 (long long)x, (long long)in_a[i], (long long)y, (long long)in_b[i]);
            return;
        }
        if (x == 1)
            b = sum_dims(c, b, &in_b[i], 1, true);
        else
            a = sum_dims(c, a, &in_a[i], 1, true);
        if (!a || !b) return;
    }
    for (int i = 0; i < na; ++i) sizes[i] = a->sizes[rest_a[i]];
    for (int i = 0; i < nb; ++i) sizes[na + i] = b->sizes[rest_b[i]];
    wick_tensor *product = wick_mm(c, as_matrix(c, a, rest_a, na, in_a, n), as_matrix(c, b, in_b, n, rest_b, nb));
    give(rets, wick_reshape(c, product, sizes, (size_t)(na + nb)));
}

/* The sizes of a and b alternate: [a0, 1, a1, 1...] * [1, b0, 1, b1...] */
void compose_kron(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *a = T(0), *b = T(1);
    int ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    wick_dim sa[2 * WICK_MAX_DIMS], sb[2 * WICK_MAX_DIMS], out[WICK_MAX_DIMS];
    if (2 * ndim > WICK_MAX_DIMS) {
        FAIL(ctx(c), INVALID_ARGUMENT, "kron: %d dimensions are too many", ndim);
        return;
    }
    for (int i = 0; i < ndim; ++i) {
        int ia = i - (ndim - a->ndim), ib = i - (ndim - b->ndim);
        wick_dim x = ia < 0 ? 1 : a->sizes[ia], y = ib < 0 ? 1 : b->sizes[ib];
        sa[2 * i] = x, sa[2 * i + 1] = 1, sb[2 * i] = 1, sb[2 * i + 1] = y;
        out[i] = wick_dim_mul(x, y);
    }
    wick_tensor *grid = wick_mul(c, wick_reshape(c, a, sa, 2 * (size_t)ndim), wick_reshape(c, b, sb, 2 * (size_t)ndim));
    give(rets, wick_reshape(c, grid, out, (size_t)ndim));
}

void compose_vecdot(wick_context *c, const wick_value *args, wick_value *rets) {
    int64_t dim = I(2);
    give(rets, sum_dims(c, wick_mul(c, wick_conj(c, T(0)), T(1)), &dim, 1, false));
}

/* Powers by squaring; a negative one needs an inverse. */
void compose_matrix_power(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *square = T(0), *out = NULL;
    int64_t n = I(1);
    if (square->ndim < 2 || square->sizes[square->ndim - 1] != square->sizes[square->ndim - 2]) {
        FAIL(ctx(c), INVALID_ARGUMENT, "linalg.matrix_power: A must be batches of square matrices");
        return;
    }
    if (n < 0) {
        FAIL(ctx(c), UNSUPPORTED, "linalg.matrix_power of order %lld needs an inverse, and no operator computes it",
             (long long)n);
        return;
    }
    if (n == 0) {
        wick_eye_options o = WICK_EYE_OPTIONS_INIT;
        o.dtype = (wick_dtype)square->dtype, o.device = square->device;
        give(rets, wick_clone(c, expand_of(c, wick_eye(c, square->sizes[square->ndim - 1], &o), SIZES(square)), NULL));
        return;
    }
    for (; n && !wick_failed(c); n >>= 1) {
        if (n & 1) out = out ? wick_matmul(c, out, square) : square;
        if (n > 1) square = wick_matmul(c, square, square);
    }
    give(rets, I(1) == 1 ? wick_clone(c, out, NULL) : out);
}
DECOMPOSE(matrix_power_alias, CALL(c, linalg_matrix_power, args[0], args[1]))

/* ---- products of many ---- */
/* Cormen et al., section 15.2: split[i][j] is where the cheapest product of i..j divides. */
#define CHAIN_LIMIT 64
typedef struct chain {
    wick_tensor *items[CHAIN_LIMIT];
    double cost[CHAIN_LIMIT][CHAIN_LIMIT];
    uint8_t split[CHAIN_LIMIT][CHAIN_LIMIT];
} chain;

static void plan(chain *p, int n) {
    for (int i = 0; i < n; ++i) p->cost[i][i] = 0;
    for (int length = 2; length <= n; ++length)
        for (int i = 0, j = length - 1; j < n; ++i, ++j) {
            p->cost[i][j] = __builtin_inf();
            for (int k = i; k < j; ++k) {
                double ends =
                    (double)p->items[i]->sizes[0] * (double)p->items[k]->sizes[1] * (double)p->items[j]->sizes[1];
                double cost = p->cost[i][k] + p->cost[k + 1][j] + ends;
                if (cost < p->cost[i][j]) p->cost[i][j] = cost, p->split[i][j] = (uint8_t)k;
            }
        }
}

static wick_tensor *multiply_chain(wick_context *c, const chain *p, int i, int j) {
    if (i == j) return p->items[i];
    int k = p->split[i][j];
    return wick_mm(c, multiply_chain(c, p, i, k), multiply_chain(c, p, k + 1, j));
}

/* The first may be a row vector, the last a column vector. */
void compose_multi_dot(wick_context *c, const wick_value *args, wick_value *rets) {
    const wick_value *list = &args[0];
    int n = (int)list->count;
    if (n < 2 || n > CHAIN_LIMIT) {
        FAIL(ctx(c), INVALID_ARGUMENT, "multi_dot(): expected at least 2 tensors (and at most %d) but got %d",
             CHAIN_LIMIT, n);
        return;
    }
    wick_tensor *first = list->as.tensors[0], *last = list->as.tensors[n - 1];
    chain *p = rt_alloc(ctx(c)->rt, sizeof *p);
    if (!p) {
        FAIL(ctx(c), OUT_OF_MEMORY, "multi_dot(): cannot allocate the plan");
        return;
    }
    bool ok = true;
    for (int i = 0; i < n && ok; ++i) {
        wick_tensor *t = list->as.tensors[i];
        if (t->ndim == 1) t = i == 0 ? lift(c, t) : i == n - 1 ? column(c, t) : t;
        ok = t && (t->ndim == 2 ||
                   !FAIL(ctx(c), INVALID_ARGUMENT, "multi_dot(): tensor %d must be 2D but got %dD", i, t->ndim));
        p->items[i] = t;
    }
    if (ok) plan(p, n);
    wick_tensor *out = ok ? multiply_chain(c, p, 0, n - 1) : NULL;
    rt_free(ctx(c)->rt, p);
    if (first->ndim == 1) out = wick_squeeze_dim(c, out, 0);
    if (last->ndim == 1) out = wick_squeeze_dim(c, out, -1);
    give(rets, out);
}

void compose_chain_matmul(wick_context *c, const wick_value *args, wick_value *rets) {
    if (args[0].count == 1)
        give(rets, args[0].as.tensors[0]);
    else
        give(rets, CALL(c, linalg_multi_dot, args[0]));
}

/* ---- trilinear: sum over `sumdim` of i1 * i2 * i3, each with new dimensions of size 1 where `expand` says ---- */
static wick_tensor *with_dims(wick_context *c, wick_tensor *t, const wick_value *dims) {
    for (uint32_t i = 0; i < dims->count && t; ++i) t = wick_unsqueeze(c, t, dims->as.ints[i]);
    return t;
}

void compose_trilinear(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *a = with_dims(c, T(0), &args[3]), *b = with_dims(c, T(1), &args[4]), *d = with_dims(c, T(2), &args[5]);
    wick_tensor *product = wick_mul(c, wick_mul(c, a, b), d);
    give(rets, product && args[6].count
                   ? CALL(c, sum_dim, V(product), args[6], BOOLEAN(false), DTYPE((wick_dtype)product->dtype))
                   : product);
}

/* out[..., o] = sum over i, j of x[..., i] weight[o, i, j] y[..., j] + bias[o] */
void compose_bilinear(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = T(0), *y = T(1), *w = T(2), *bias = T(3);
    if (x->ndim != y->ndim || w->ndim != 3 || x->ndim < 1 || x->sizes[x->ndim - 1] != w->sizes[1] ||
        y->sizes[y->ndim - 1] != w->sizes[2]) {
        FAIL(ctx(c), INVALID_ARGUMENT, "bilinear(): input and weight dimensions do not match");
        return;
    }
    wick_dim sizes[WICK_MAX_DIMS];
    memcpy(sizes, x->sizes, sizeof *sizes * (size_t)x->ndim);
    sizes[x->ndim - 1] = w->sizes[0];
    wick_tensor *a = wick_reshape(c, x, (int64_t[]){-1, w->sizes[1]}, 2),
                *b = wick_reshape(c, y, (int64_t[]){-1, w->sizes[2]}, 2);
    /* [n, i] x [i, o * j] -> [n, o, j], times [n, 1, j] */
    wick_tensor *turned = wick_reshape(c, wick_permute(c, w, (int64_t[]){1, 0, 2}, 3), (int64_t[]){w->sizes[1], -1}, 2);
    wick_tensor *half = wick_reshape(c, wick_mm(c, a, turned), (int64_t[]){-1, w->sizes[0], w->sizes[2]}, 3);
    wick_tensor *out = sum_dims(c, wick_mul(c, half, wick_unsqueeze(c, b, 1)), (int64_t[]){2}, 1, false);
    out = wick_reshape(c, out, sizes, (size_t)x->ndim);
    give(rets, bias ? wick_add(c, out, bias, NULL) : out);
}

/* ---- small linear algebra ---- */
static wick_status *cross_shape(op_infer *ix) {
    const wick_tensor *a = arg_tensor(ix->args, 0), *b = arg_tensor(ix->args, 1);
    op_meta *m = &ix->outs[0];
    int dim;
    if (a->ndim != b->ndim)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "linalg.cross: inputs must have the same number of dimensions.");
    WICK_TRY(wrap_dim(ix->args[2].as.i, a->ndim, &dim));
    if (!a->ndim || a->sizes[dim] != 3 || b->sizes[dim] != 3)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "linalg.cross: inputs dimension %lld must have length 3.",
                          (long long)ix->args[2].as.i);
    meta_like(m, a);
    WICK_TRY(infer_broadcast(&m->ndim, m->sizes, b->ndim, b->sizes));
    WICK_TRY(infer_result_type(ix, &ix->compute));
    m->dtype = ix->compute;
    return NULL;
}
wick_status *infer_cross(op_infer *ix) { return cross_shape(ix); }

/* a x b = a[1 2 0] b[2 0 1] - a[2 0 1] b[1 2 0] */
void compose_linalg_cross(wick_context *c, const wick_value *args, wick_value *rets) {
    int64_t dim = I(2), one = -1, two = -2;
    wick_roll_options o = WICK_ROLL_OPTIONS_INIT;
    o.dims = &dim, o.dims_count = 1;
    wick_tensor *a = T(0), *b = T(1);
    wick_tensor *left = wick_mul(c, wick_roll(c, a, &one, 1, &o), wick_roll(c, b, &two, 1, &o));
    wick_tensor *right = wick_mul(c, wick_roll(c, a, &two, 1, &o), wick_roll(c, b, &one, 1, &o));
    give(rets, wick_sub(c, left, right, NULL));
}

/* Without a dim: the first of size 3. */
void compose_cross(wick_context *c, const wick_value *args, wick_value *rets) {
    int64_t dim = args[2].tag ? I(2) : -1;
    for (int i = 0; !args[2].tag && dim < 0 && i < T(0)->ndim; ++i)
        if (T(0)->sizes[i] == 3) dim = i;
    if (dim < 0 && !args[2].tag)
        FAIL(ctx(c), INVALID_ARGUMENT, "no dimension of size 3 in input");
    else
        give(rets, CALL(c, linalg_cross, args[0], args[1], NUMBER(dim)));
}

wick_status *infer_trace(op_infer *ix) {
    const wick_tensor *t = arg_tensor(ix->args, 0);
    if (t->ndim != 2)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "trace: expected a matrix, but got tensor with dim %d", t->ndim);
    ix->outs[0].ndim = 0;
    ix->outs[0].dtype = t->dtype < WICK_F16 ? WICK_I64 : (wick_dtype)t->dtype;
    return NULL;
}
DECOMPOSE(trace, wick_sum(c, diagonal_of(c, T(0), 0, 0, 1), NULL))
