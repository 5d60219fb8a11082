/* Selection and placement by indices and masks in terms of gather, scatter, scatter_add, nonzero, cumsum and
 * elementwise operators; matrices of triangles. */
#include "decompose.h"
#include "rows.h"

#define N(x) NUMBER(x)

/* ---- along a dimension ---- */
/* A list of positions in the shape of a result: `shape` with as many entries along `dim`. */
static wick_tensor *spread_index(wick_context *c, wick_tensor *index, int64_t dim, const wick_dim *shape, int ndim) {
    wick_dim sizes[WICK_MAX_DIMS];
    for (int d = 0; d < ndim; ++d) sizes[d] = d == dim ? index->numel : 1;
    return expand_of(c, wick_reshape(c, index, sizes, (size_t)ndim), shape, (size_t)ndim);
}

void compose_index_select(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *self = T(0), *index = cast(c, T(2), WICK_I64);
    wick_dim sizes[WICK_MAX_DIMS];
    int64_t dim = I(1) < 0 ? I(1) + self->ndim : I(1);
    if (!index) return;
    memcpy(sizes, self->sizes, sizeof *sizes * self->ndim);
    if (self->ndim) sizes[dim] = index->numel;
    give(rets, wick_gather(c, self, dim, spread_index(c, index, dim, sizes, self->ndim), NULL));
}

/* A number in the shape of the index. */
static wick_tensor *number_like(wick_context *c, const wick_value *v, wick_tensor *like, wick_tensor *index) {
    wick_tensor *one = wick_new_full(c, like, NULL, 0, *v, NULL);
    return expand_of(c, one, index->sizes, index->ndim);
}
DECOMPOSE(scatter_value, wick_scatter(c, T(0), I(1), T(2), number_like(c, &args[3], T(0), T(2))))

/* ---- scatter with a reduction: position after position, in each of which no place occurs twice ---- */
typedef enum reduction { SUM, PROD, MEAN, AMAX, AMIN } reduction;

static reduction reduction_of(const char *name) {
    static const struct {
        const char *name;
        reduction r;
    } rows[] = {{"sum", SUM},   {"add", SUM},   {"prod", PROD}, {"multiply", PROD},
                {"mean", MEAN}, {"amax", AMAX}, {"amin", AMIN}};
    for (int i = 0; i < ARRAY_COUNT(rows); ++i)
        if (!strcmp(rows[i].name, name)) return rows[i].r;
    return SUM; /* the shape rule has refused others */
}

static wick_tensor *reduce_two(wick_context *c, reduction r, wick_tensor *a, wick_tensor *b) {
    switch (r) {
    case PROD: return MUL(a, b);
    case AMAX: return wick_maximum(c, a, b);
    case AMIN: return wick_minimum(c, a, b);
    default: return ADD(a, b);
    }
}

/* Divides by how many came together; integers towards minus infinity. */
static wick_tensor *mean_of(wick_context *c, wick_tensor *sum, wick_tensor *counts) {
    counts = wick_maximum(c, counts, wick_ones_like(c, counts, NULL));
    if (!sum || !counts) return NULL;
    bool real = wick_dtype_is_differentiable((wick_dtype)sum->dtype);
    return real ? DIV(sum, cast_like(c, counts, sum)) : cast_like(c, integer_quotient(c, sum, counts, true), sum);
}

static wick_tensor *scatter_reduced(wick_context *c, wick_tensor *self, int64_t dim, wick_tensor *index,
                                    wick_tensor *src, reduction r, bool include_self) {
    wick_dtype dtype = (wick_dtype)self->dtype;
    bool flat_index = index->ndim == 0;
    if (flat_index) index = wick_unsqueeze(c, index, 0), dim = 0;
    if (flat_index && src && src->ndim == 0) src = wick_unsqueeze(c, src, 0);
    bool flat_self = self->ndim == 0;
    if (flat_self) self = wick_unsqueeze(c, self, 0);
    wick_tensor *out = widen(c, wick_clone(c, self, NULL)), *seen = NULL, *counts = NULL;
    if (!out || !index || !src) return NULL;
    if (dim < 0) dim += out->ndim;
    src = cast_like(c, src, out);
    seen = wick_full_like(c, out, wick_value_bool(include_self),
                          &(wick_full_like_options){sizeof(wick_full_like_options), .dtype = WICK_BOOL});
    counts = cast(c, seen, WICK_I64);
    for (int64_t i = 0; i < index->sizes[dim] && !wick_failed(c); ++i) {
        wick_tensor *at = wick_narrow(c, index, dim, i, 1), *value = wick_narrow(c, src, dim, i, 1);
        for (int d = 0; d < at->ndim && value; ++d) value = wick_narrow(c, value, d, 0, at->sizes[d]);
        wick_tensor *old = wick_gather(c, out, dim, at, NULL), *known = wick_gather(c, seen, dim, at, NULL);
        out = wick_scatter(c, out, dim, at, WHERE(known, reduce_two(c, r, old, value), value));
        seen = wick_scatter(c, seen, dim, at, wick_ones_like(c, known, NULL));
        if (r == MEAN) counts = wick_scatter_add(c, counts, dim, at, cast(c, wick_ones_like(c, known, NULL), WICK_I64));
    }
    if (r == MEAN) out = mean_of(c, out, counts);
    if (flat_self) out = wick_squeeze_dim(c, out, 0);
    return cast(c, out, dtype);
}
#define REDUCTION(i) reduction_of(args[i].as.string)
DECOMPOSE(scatter_reduce, scatter_reduced(c, T(0), I(1), T(2), T(3), REDUCTION(4), I(5)))
DECOMPOSE(scatter_reduce_old, scatter_reduced(c, T(0), I(1), T(2), T(3), REDUCTION(4), true))
DECOMPOSE(scatter_value_reduce,
          scatter_reduced(c, T(0), I(1), T(2), number_like(c, &args[3], T(0), T(2)), REDUCTION(4), true))

/* args: self, dim, index, source, reduce, include_self */
void compose_index_reduce(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *source = T(3);
    int64_t dim = I(1) < 0 ? I(1) + T(0)->ndim : I(1);
    wick_tensor *index = spread_index(c, cast(c, T(2), WICK_I64), dim, source->sizes, source->ndim);
    if (index) give(rets, scatter_reduced(c, T(0), dim, index, source, REDUCTION(4), I(5)));
}

/* ---- by index tensors: the indexed dimensions become one, the indices one list of positions in it ---- */
typedef struct indexed {
    wick_tensor *self;      /* [before, positions, after] */
    wick_tensor *positions; /* one-dimensional */
    wick_dim before, count, after;
    int order[WICK_MAX_DIMS]; /* of self's dimensions: before, indexed, after */
    int before_ndim, indexed_ndim;
    int shape_ndim; /* of the broadcast indices */
    wick_dim shape[WICK_MAX_DIMS];
} indexed;

/* Dimensions that are indexed side by side stay where they are, others come to the front. */
static void order_dims(indexed *x, const wick_tensor *self, wick_tensor *const *indices, size_t n) {
    bool taken[WICK_MAX_DIMS] = {false};
    int first = -1, last = -1, k = 0;
    for (size_t i = 0; i < n; ++i)
        if (indices[i]) taken[i] = true, first = first < 0 ? (int)i : first, last = (int)i, ++x->indexed_ndim;
    x->before_ndim = last - first + 1 == x->indexed_ndim ? first : 0;
    for (int d = 0; d < x->before_ndim; ++d) x->order[k++] = d;
    for (int d = 0; d < self->ndim; ++d)
        if (taken[d]) x->order[k++] = d;
    for (int d = x->before_ndim; d < self->ndim; ++d)
        if (!taken[d]) x->order[k++] = d;
}

/* From 0 on; a negative one counts from the end. Looking it up in the list of places finds what is out of range. */
static wick_tensor *checked(wick_context *c, wick_tensor *index, wick_dim size) {
    index = cast(c, index, WICK_I64);
    index = WHERE(LTN(index, N(0)), ADDN(index, N(size)), index);
    wick_tensor *places = counting(c, size, index);
    return wick_reshape(c, wick_gather(c, places, 0, flat(c, index), NULL), SIZES(index));
}

static wick_tensor *flat_positions(wick_context *c, indexed *x, const wick_tensor *self, wick_tensor *const *indices) {
    wick_tensor *sum = NULL;
    for (int k = 0; k < x->indexed_ndim && !wick_failed(c); ++k) {
        int d = x->order[x->before_ndim + k];
        wick_tensor *index = checked(c, indices[d], self->sizes[d]);
        sum = sum ? ADD(MULN(sum, N(self->sizes[d])), index) : index;
    }
    if (!sum) return NULL;
    x->shape_ndim = sum->ndim;
    memcpy(x->shape, sum->sizes, sizeof *x->shape * sum->ndim);
    return flat(c, sum);
}

static bool index_begin(wick_context *c, wick_tensor *self, wick_tensor *const *indices, size_t n, indexed *x) {
    int64_t dims[WICK_MAX_DIMS];
    *x = (indexed){.before = 1, .count = 1, .after = 1};
    order_dims(x, self, indices, n);
    for (int d = 0; d < self->ndim; ++d) {
        wick_dim size = self->sizes[x->order[d]];
        dims[d] = x->order[d];
        *(d < x->before_ndim ? &x->before : d < x->before_ndim + x->indexed_ndim ? &x->count : &x->after) *= size;
    }
    wick_tensor *permuted = wick_permute(c, self, dims, self->ndim);
    x->self = wick_reshape(c, permuted, (wick_dim[]){x->before, x->count, x->after}, 3);
    x->positions = flat_positions(c, x, self, indices);
    return !wick_failed(c);
}

/* The sizes of what the indices select. */
static int selected_sizes(const indexed *x, const wick_tensor *self, wick_dim *sizes) {
    int n = 0;
    for (int d = 0; d < x->before_ndim; ++d) sizes[n++] = self->sizes[x->order[d]];
    for (int d = 0; d < x->shape_ndim; ++d) sizes[n++] = x->shape[d];
    for (int d = x->before_ndim + x->indexed_ndim; d < self->ndim; ++d) sizes[n++] = self->sizes[x->order[d]];
    return n;
}
static wick_tensor *index_in_place(wick_context *c, const indexed *x) {
    wick_dim sizes[3] = {x->before, x->positions->numel, x->after};
    return spread_index(c, x->positions, 1, sizes, 3);
}

wick_tensor *index_by_gather(wick_context *c, wick_tensor *self, wick_tensor *const *indices, size_t n) {
    indexed x;
    wick_dim sizes[WICK_MAX_DIMS];
    if (!index_begin(c, self, indices, n, &x)) return NULL;
    int ndim = selected_sizes(&x, self, sizes);
    return wick_reshape(c, wick_gather(c, x.self, 1, index_in_place(c, &x), NULL), sizes, (size_t)ndim);
}

/* Back from [before, positions, after]. */
static wick_tensor *restore_order(wick_context *c, const indexed *x, wick_tensor *t, const wick_tensor *self) {
    wick_dim sizes[WICK_MAX_DIMS];
    int64_t back[WICK_MAX_DIMS];
    for (int d = 0; d < self->ndim; ++d) sizes[d] = self->sizes[x->order[d]], back[x->order[d]] = d;
    return wick_contiguous(c, wick_permute(c, wick_reshape(c, t, sizes, self->ndim), back, self->ndim), NULL);
}

wick_tensor *index_put_by_scatter(wick_context *c, wick_tensor *self, wick_tensor *const *indices, size_t n,
                                  wick_tensor *values, bool accumulate) {
    indexed x;
    wick_dim sizes[WICK_MAX_DIMS];
    if (!index_begin(c, self, indices, n, &x)) return NULL;
    int ndim = selected_sizes(&x, self, sizes);
    wick_dim flat_sizes[3] = {x.before, x.positions->numel, x.after};
    values = wick_reshape(c, expand_of(c, values, sizes, (size_t)ndim), flat_sizes, 3);
    wick_tensor *index = index_in_place(c, &x);
    wick_tensor *out =
        accumulate ? wick_scatter_add(c, x.self, 1, index, values) : wick_scatter(c, x.self, 1, index, values);
    return restore_order(c, &x, out, self);
}

/* ---- by masks ---- */
static wick_tensor *selected(wick_context *c, wick_tensor *self, wick_tensor *mask) {
    wick_tensor *const *both;
    size_t n = wick_broadcast_tensors(c, (wick_tensor *[]){self, mask}, 2, &both);
    if (n != 2) return NULL;
    wick_tensor *places = wick_nonzero(c, flat(c, both[1]));
    return wick_gather(c, flat(c, both[0]), 0, flat(c, places), NULL);
}
DECOMPOSE(masked_select, selected(c, T(0), T(1)))

/* The k-th true element of the mask takes the k-th element of the source. */
void compose_masked_scatter(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *const *both;
    if (wick_broadcast_tensors(c, (wick_tensor *[]){T(0), T(1)}, 2, &both) != 2) return;
    wick_tensor *self = both[0], *mask = both[1], *source = flat(c, T(2));
    if (!source || !source->numel || !self->numel) return give(rets, wick_clone(c, self, NULL));
    wick_tensor *place = ADDN(wick_cumsum(c, cast(c, flat(c, mask), WICK_I64), 0, NULL), N(-1));
    wick_tensor *unused = NOT(flat(c, mask));
    place = WHEREN_(unused, N(0), place);
    wick_tensor *taken = wick_reshape(c, wick_gather(c, source, 0, place, NULL), SIZES(self));
    give(rets, WHERE(mask, taken, self));
}

/* args: self, size, fill_value */
void compose_nonzero_static(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *found = wick_nonzero(c, T(0));
    if (!found) return;
    int64_t wanted = I(1), have = found->sizes[0] < wanted ? found->sizes[0] : wanted;
    wick_tensor *parts[2] = {wick_narrow(c, found, 0, 0, have)};
    parts[1] = wick_new_full(c, found, (wick_dim[]){wanted - have, found->sizes[1]}, 2, args[2], NULL);
    give(rets, cat_of(c, parts, 2, 0));
}

/* args: repeats, output_size: entry i as often as repeats[i] says */
void compose_repeat_interleave_tensor(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *ends = wick_cumsum(c, cast(c, T(0), WICK_I64), 0, NULL);
    if (!ends) return;
    int64_t total = !ends->numel                  ? 0
                    : args[1].tag == WICK_TAG_I64 ? I(1)
                                                  : wick_item_int(c, wick_select(c, ends, 0, ends->numel - 1));
    wick_searchsorted_options right = WICK_SEARCHSORTED_OPTIONS_INIT;
    right.right = true;
    give(rets, cast_like(c, wick_searchsorted(c, ends, counting(c, total, ends), &right), T(0)));
}

/* ---- triangles ---- */
static wick_tensor *triangle(wick_context *c, wick_tensor *t, int64_t diagonal, bool lower) {
    wick_tensor *rows = wick_unsqueeze(c, counting(c, wick_size(t, -2), t), 1),
                *columns = counting(c, wick_size(t, -1), t);
    wick_tensor *offset = SUB(columns, rows);
    wick_tensor *kept = lower ? wick_le_scalar(c, offset, N(diagonal)) : GEN(offset, N(diagonal));
    return WHERE(kept, t, wick_new_zeros(c, t, NULL, 0, NULL));
}
DECOMPOSE(tril, triangle(c, T(0), I(1), true))
DECOMPOSE(triu, triangle(c, T(0), I(1), false))

/* args: row, col, offset, dtype, layout, device: places where a matrix of ones has its triangle */
static wick_tensor *triangle_places(wick_context *c, const wick_value *args, bool lower) {
    wick_full_options o = WICK_FULL_OPTIONS_INIT;
    o.dtype = WICK_BOOL;
    if (args[5].tag == WICK_TAG_DEVICE) o.device = args[5].as.device;
    wick_tensor *ones = wick_full(c, (wick_dim[]){I(0), I(1)}, 2, wick_value_bool(true), &o);
    wick_tensor *places = ones ? wick_nonzero(c, triangle(c, ones, I(2), lower)) : NULL;
    wick_dtype dtype = dtype_or_none(&args[3]);
    return wick_contiguous(c, cast(c, wick_t(c, places), dtype ? dtype : WICK_I64), NULL);
}
DECOMPOSE(tril_indices, triangle_places(c, args, true))
DECOMPOSE(triu_indices, triangle_places(c, args, false))

/* ---- evenly spaced numbers: from the nearer end, so that both are exact ---- */
static wick_tensor *spaced(wick_context *c, double start, double end, int64_t steps, const wick_value *device) {
    wick_arange_options o = WICK_ARANGE_OPTIONS_INIT;
    o.dtype = WICK_F64;
    if (device->tag == WICK_TAG_DEVICE) o.device = device->as.device;
    wick_tensor *i = wick_arange(c, N(steps), &o);
    double step = steps > 1 ? (end - start) / (double)(steps - 1) : 0;
    wick_tensor *up = ADDN(MULN(i, REAL(step)), REAL(start));
    wick_tensor *down =
        wick_rsub_scalar(c, MULN(wick_rsub_scalar(c, i, REAL((double)steps - 1), NULL), REAL(step)), REAL(end), NULL);
    return steps == 1 ? up : WHERE(LTN(i, REAL((double)(steps / 2))), up, down);
}
static double part_of(const wick_value *v, int part) {
    if (v->tag == WICK_TAG_C128) return v->as.c[part];
    return part == 0 ? wick_value_as_double(v) : 0;
}
/* args: start, end, steps, dtype, layout, device */
void compose_linspace(wick_context *c, const wick_value *args, wick_value *rets) {
    bool complex = args[0].tag == WICK_TAG_C128 || args[1].tag == WICK_TAG_C128;
    wick_dtype dtype = dtype_or_none(&args[3]), floating = ctx(c)->dtype;
    if (!dtype) dtype = !complex ? floating : floating == WICK_F64 ? WICK_C128 : WICK_C64;
    bool whole = !wick_dtype_is_differentiable(dtype);
    wick_tensor *parts[2];
    for (int i = 0; i < 2; ++i) {
        double start = part_of(&args[0], i), end = part_of(&args[1], i);
        if (whole) start = (double)(int64_t)start, end = (double)(int64_t)end;
        parts[i] = i == 0 || wick_dtype_is_complex(dtype) ? spaced(c, start, end, I(2), &args[5]) : NULL;
    }
    give(rets, cast(c, parts[1] ? wick_complex(c, parts[0], parts[1]) : parts[0], dtype));
}

/* ---- rows of a table that the indices name get at most a given norm: args: self, indices, max_norm, norm_type ---- */
void compose_embedding_renorm_(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *self = T(0), *indices = flat(c, cast(c, T(1), WICK_I64));
    wick_norm_dim_options o = WICK_NORM_DIM_OPTIONS_INIT;
    o.keepdim = true;
    if (!indices) return;
    wick_tensor *norm = wick_norm_dim(c, widen(c, self), args[3], (int64_t[]){1}, 1, &o);
    wick_new_zeros_options of_bool = WICK_NEW_ZEROS_OPTIONS_INIT;
    of_bool.dtype = WICK_BOOL;
    wick_tensor *rows = wick_new_zeros(c, self, self->sizes, 1, &of_bool);
    wick_tensor *named = wick_scatter_value(c, rows, 0, indices, wick_value_bool(true));
    wick_tensor *too_long = AND(wick_unsqueeze(c, named, 1), wick_gt_scalar(c, norm, args[2]));
    wick_tensor *scale = wick_mul_scalar(c, wick_reciprocal(c, ADDN(norm, REAL(1e-7))), args[2]);
    wick_tensor *scaled = cast_like(c, MUL(widen(c, self), scale), self);
    give(rets, wick_copy_(c, self, WHERE(too_long, scaled, self), NULL));
}
