/* Reductions, scans, order statistics and searches in terms of sum, amax, argmax, cumsum, sort, gather and elementwise
 * operators. */
#include "decompose.h"
#include "dims.h"
#include "rows.h"

#include <math.h>

#define N(x) NUMBER(x)
#define R(x) REAL(x)

static bool is_floating(const wick_tensor *t) { return wick_dtype_is_floating((wick_dtype)t->dtype); }
/* A wrapped dimension of a tensor that has some. */
static int64_t dim_of(const wick_tensor *t, int64_t dim) { return dim < 0 ? dim + t->ndim : dim; }
static wick_tensor *part(wick_context *c, wick_tensor *t, int64_t dim, int64_t start, int64_t length) {
    return wick_narrow(c, t, dim, start, length);
}
static wick_tensor *without(wick_context *c, wick_tensor *t, int64_t dim, bool keepdim) {
    return keepdim ? t : wick_squeeze_dim(c, t, dim);
}

/* ---- extrema ---- */
/* Values in the opposite order: no integer is its own negative here. */
static wick_tensor *reversed(wick_context *c, wick_tensor *t) {
    return t && is_floating(t) ? NEG(t) : wick_bitwise_not(c, t);
}
DECOMPOSE(amin, reversed(c, CALL(c, amax, V(reversed(c, T(0))), args[1], args[2])))
DECOMPOSE(argmin, CALL(c, argmax, V(reversed(c, T(0))), args[1], args[2]))

static void take_at(wick_context *c, const wick_value *args, wick_tensor *place, wick_value *rets) {
    wick_tensor *value = wick_gather(c, T(0), I(1), place, NULL);
    rets[0] = V(without(c, value, I(1), I(2)));
    rets[1] = V(without(c, place, I(1), I(2)));
}
void compose_max_dim(wick_context *c, const wick_value *args, wick_value *rets) {
    take_at(c, args, CALL(c, argmax, args[0], args[1], BOOLEAN(true)), rets);
}
void compose_min_dim(wick_context *c, const wick_value *args, wick_value *rets) {
    take_at(c, args, CALL(c, argmin, args[0], args[1], BOOLEAN(true)), rets);
}

/* ---- truth: how many are (not) true ---- */
static wick_tensor *count(wick_context *c, wick_tensor *truth, const wick_value *args) {
    if (args[1].tag == WICK_TAG_I64_LIST && args[1].count == 0) return cast(c, truth, WICK_I64);
    return CALL(c, sum_dim, V(cast(c, truth, WICK_I32)), args[1], args[2], DTYPE(WICK_I64));
}
static wick_dtype truth_dtype(const wick_tensor *t) { return t->dtype == WICK_U8 ? WICK_U8 : WICK_BOOL; }
DECOMPOSE(any_dims, cast(c, wick_ne_scalar(c, count(c, NOT(NOT(T(0))), args), N(0)), truth_dtype(T(0))))
DECOMPOSE(all_dims, cast(c, EQN(count(c, NOT(T(0)), args), N(0)), truth_dtype(T(0))))

/* ---- products: halves with halves ---- */
static wick_tensor *product(wick_context *c, wick_tensor *t, int64_t dim) {
    while (t && t->sizes[dim] > 1) {
        int64_t half = t->sizes[dim] / 2;
        wick_tensor *paired = MUL(part(c, t, dim, 0, half), part(c, t, dim, half, half));
        bool odd = t->sizes[dim] % 2;
        t = odd ? cat_of(c, (wick_tensor *[]){paired, part(c, t, dim, 2 * half, 1)}, 2, dim) : paired;
    }
    return t;
}
static wick_tensor *product_along(wick_context *c, wick_tensor *t, int64_t dim, bool keepdim, wick_dtype dtype) {
    if (!dtype) dtype = wick_dtype_is_differentiable((wick_dtype)t->dtype) ? (wick_dtype)t->dtype : WICK_I64;
    wick_tensor *self = t;
    t = widen(c, cast(c, t, dtype));
    if (!t || t->ndim == 0) return t == self ? wick_clone(c, t, NULL) : cast(c, t, dtype);
    dim = dim_of(t, dim);
    wick_dim sizes[WICK_MAX_DIMS];
    memcpy(sizes, t->sizes, sizeof *sizes * t->ndim);
    sizes[dim] = 1;
    t = t->sizes[dim] ? product(c, t, dim) : wick_new_ones(c, t, sizes, t->ndim, NULL);
    if (t == self) t = wick_clone(c, t, NULL);
    return cast(c, without(c, t, dim, keepdim), dtype);
}
DECOMPOSE(prod_dim, product_along(c, T(0), I(1), I(2), dtype_or_none(&args[3])))
DECOMPOSE(prod, product_along(c, flat(c, T(0)), 0, false, dtype_or_none(&args[1])))

/* ---- scans: each element with those `step` before it, for doubling steps ---- */
/* Joins `later` with what comes before it. */
typedef wick_tensor *(*join_fn)(wick_context *c, wick_tensor *before, wick_tensor *later);

static wick_tensor *scan(wick_context *c, wick_tensor *t, int64_t dim, join_fn join) {
    int64_t n = t && t->ndim ? t->sizes[dim] : 1;
    for (int64_t step = 1; step < n && t; step *= 2) {
        wick_tensor *joined = join(c, part(c, t, dim, 0, n - step), part(c, t, dim, step, n - step));
        t = cat_of(c, (wick_tensor *[]){part(c, t, dim, 0, step), joined}, 2, dim);
    }
    return t;
}
static wick_tensor *join_product(wick_context *c, wick_tensor *a, wick_tensor *b) { return MUL(a, b); }
static wick_tensor *join_log_sum(wick_context *c, wick_tensor *a, wick_tensor *b) { return wick_logaddexp(c, a, b); }

static wick_tensor *scan_products(wick_context *c, const wick_value *args) {
    wick_dtype dtype = dtype_or_none(&args[2]), own = (wick_dtype)T(0)->dtype;
    const bool inplace = ctx(c)->composing->variant == VARIANT_INPLACE;
    if (!dtype) dtype = inplace || wick_dtype_is_differentiable(own) ? own : WICK_I64;
    wick_tensor *t = widen(c, cast(c, wick_clone(c, T(0), NULL), dtype));
    return cast(c, scan(c, t, dim_of(T(0), I(1)), join_product), dtype);
}
DECOMPOSE(cumprod, scan_products(c, args))
/* Differences of these sums are what the gradient lives on: double precision. */
static wick_tensor *scan_log_sums(wick_context *c, wick_tensor *t, int64_t dim) {
    wick_dtype wide = wick_dtype_is_complex((wick_dtype)t->dtype) ? WICK_C128 : WICK_F64;
    return cast_like(c, scan(c, cast(c, wick_clone(c, t, NULL), wide), dim_of(t, dim), join_log_sum), t);
}
DECOMPOSE(logcumsumexp, scan_log_sums(c, T(0), I(1)))

/* Values with their places: the later one wins a tie, NaN always. */
static void scan_extrema(wick_context *c, const wick_value *args, wick_value *rets, bool greatest) {
    wick_tensor *v = wick_clone(c, T(0), NULL), *i;
    if (!v) return;
    int64_t dim = dim_of(v, I(1)), n = v->ndim ? v->sizes[dim] : 1;
    wick_dim shape[WICK_MAX_DIMS];
    for (int d = 0; d < v->ndim; ++d) shape[d] = d == dim ? n : 1;
    i = wick_view(c, counting(c, n, v), shape, v->ndim);
    i = wick_clone(c, expand_of(c, i, v->sizes, v->ndim), NULL);
    for (int64_t step = 1; step < n && i; step *= 2) {
        wick_tensor *before = part(c, v, dim, 0, n - step), *later = part(c, v, dim, step, n - step);
        wick_tensor *wins = greatest ? wick_ge(c, later, before) : wick_le(c, later, before);
        if (is_floating(v)) wins = OR(wins, wick_isnan(c, later));
        wick_tensor *values = WHERE(wins, later, before);
        wick_tensor *places = WHERE(wins, part(c, i, dim, step, n - step), part(c, i, dim, 0, n - step));
        v = cat_of(c, (wick_tensor *[]){part(c, v, dim, 0, step), values}, 2, dim);
        i = cat_of(c, (wick_tensor *[]){part(c, i, dim, 0, step), places}, 2, dim);
    }
    rets[0] = V(v), rets[1] = V(i);
}
void compose_cummax(wick_context *c, const wick_value *args, wick_value *rets) { scan_extrema(c, args, rets, true); }
void compose_cummin(wick_context *c, const wick_value *args, wick_value *rets) { scan_extrema(c, args, rets, false); }

/* ---- order statistics: from the sorted values ---- */
typedef struct sorted {
    wick_tensor *values, *places;
    int64_t dim, n;
} sorted;

/* A tensor without dimensions gets one for the time being. False: the context failed. */
static bool sort_along(wick_context *c, wick_tensor *t, int64_t dim, bool descending, sorted *out) {
    wick_value pair[2];
    if (t->ndim == 0) t = wick_unsqueeze(c, t, 0), dim = 0;
    if (!t || !CALL_MANY(c, sort_stable, pair, 2, V(t), NONE, wick_value_int(dim), BOOLEAN(descending))) return false;
    *out = (sorted){pair[0].as.tensor, pair[1].as.tensor, dim_of(t, dim), 0};
    out->n = t->sizes[out->dim];
    return true;
}

static void give_pair(wick_context *c, const wick_tensor *self, wick_tensor *v, wick_tensor *i, int64_t dim,
                      bool keepdim, wick_value *rets) {
    bool drop = self->ndim == 0 || !keepdim;
    rets[0] = V(wick_contiguous(c, without(c, v, dim, !drop), NULL));
    rets[1] = V(wick_contiguous(c, without(c, i, dim, !drop), NULL));
}

void compose_topk(wick_context *c, const wick_value *args, wick_value *rets) {
    sorted s;
    if (!sort_along(c, T(0), I(2), I(3), &s)) return;
    bool keep = T(0)->ndim > 0 || I(1) == 0;
    wick_tensor *v = part(c, s.values, s.dim, 0, I(1)), *i = part(c, s.places, s.dim, 0, I(1));
    rets[0] = V(wick_contiguous(c, without(c, v, s.dim, keep), NULL));
    rets[1] = V(wick_contiguous(c, without(c, i, s.dim, keep), NULL));
}

void compose_kthvalue(wick_context *c, const wick_value *args, wick_value *rets) {
    sorted s;
    if (!sort_along(c, T(0), I(2), false, &s)) return;
    give_pair(c, T(0), part(c, s.values, s.dim, I(1) - 1, 1), part(c, s.places, s.dim, I(1) - 1, 1), s.dim, I(3), rets);
}

/* The lower middle; NaN, which sorts last, wins. */
void compose_median_dim(wick_context *c, const wick_value *args, wick_value *rets) {
    sorted s;
    if (!sort_along(c, T(0), I(1), false, &s)) return;
    wick_tensor *v = part(c, s.values, s.dim, (s.n - 1) / 2, 1), *i = part(c, s.places, s.dim, (s.n - 1) / 2, 1);
    if (is_floating(T(0))) {
        wick_tensor *last = part(c, s.values, s.dim, s.n - 1, 1), *nan = wick_isnan(c, last);
        v = WHERE(nan, last, v), i = WHERE(nan, part(c, s.places, s.dim, s.n - 1, 1), i);
    }
    give_pair(c, T(0), v, i, s.dim, I(2), rets);
}

/* The lower middle of those that are not NaN. */
void compose_nanmedian_dim(wick_context *c, const wick_value *args, wick_value *rets) {
    sorted s;
    if (!sort_along(c, T(0), I(1), false, &s)) return;
    wick_tensor *numbers = sum_dims(c, wick_eq(c, s.values, s.values), &s.dim, 1, true);
    wick_tensor *two = wick_full_like(c, numbers, N(2), NULL);
    wick_tensor *middle = integer_quotient(c, ADDN(numbers, N(-1)), two, true);
    middle = WHEREN_(LTN(middle, N(0)), N(0), middle);
    give_pair(c, T(0), wick_gather(c, s.values, s.dim, middle, NULL), wick_gather(c, s.places, s.dim, middle, NULL),
              s.dim, I(2), rets);
}

/* The value with the most equals, the least of several. */
void compose_mode(wick_context *c, const wick_value *args, wick_value *rets) {
    sorted s;
    if (!sort_along(c, T(0), I(1), false, &s)) return;
    wick_tensor *last = wick_movedim(c, s.values, &s.dim, 1, (int64_t[]){-1}, 1);
    wick_tensor *equal = wick_eq(c, wick_unsqueeze(c, last, -1), wick_unsqueeze(c, last, -2));
    wick_tensor *most =
        CALL(c, argmax, V(sum_dims(c, equal, (int64_t[]){-1}, 1, false)), wick_value_int(-1), BOOLEAN(true));
    wick_tensor *place = wick_movedim(c, most, (int64_t[]){-1}, 1, &s.dim, 1);
    give_pair(c, T(0), wick_gather(c, s.values, s.dim, place, NULL), wick_gather(c, s.places, s.dim, place, NULL),
              s.dim, I(2), rets);
}

/* ---- searching: how many come before ---- */
/* `sequence` [.., n] against `values` [.., m] or anything if it has one dimension. NaN comes last. */
static wick_tensor *places_in(wick_context *c, wick_tensor *sequence, wick_tensor *values, bool right, bool narrow) {
    if (sequence->ndim > 1) sequence = wick_unsqueeze(c, sequence, -2);
    values = wick_unsqueeze(c, values, -1);
    wick_tensor *before = right ? NOT(wick_gt(c, sequence, values)) : NOT(wick_ge(c, sequence, values));
    return cast(c, sum_dims(c, before, (int64_t[]){-1}, 1, false), narrow ? WICK_I32 : WICK_I64);
}
/* A number lies on the host: the copy of it lies where `like` does. */
static wick_tensor *beside(wick_context *c, wick_tensor *t, const wick_tensor *like) {
    if (wick_device_equal(t->device, like->device) || t->ndim) return t;
    wick__to_copy_options o = WICK__TO_COPY_OPTIONS_INIT;
    o.dtype = (wick_dtype)t->dtype, o.device = like->device;
    return wick__to_copy(c, t, &o);
}

/* The first two tensors of the row in the dtype in which they are compared, on one device. */
static bool compared(wick_context *c, int op_id, const wick_value *args, wick_tensor *pair[2]) {
    elementwise e;
    if (!elementwise_begin(c, op_id, args, &e)) return false;
    const wick_tensor *first = e.in[0];
    const bool on_host = wick_device_equal(first->device, wick_runtime_host(ctx(c)->rt));
    pair[0] = on_host ? beside(c, e.in[0], e.in[1]) : e.in[0];
    pair[1] = on_host ? e.in[1] : beside(c, e.in[1], first);
    return !wick_failed(c);
}

/* args: sorted_sequence, self, out_int32, right, side, sorter */
void compose_searchsorted(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *pair[2];
    bool right = I(3) || (args[4].tag == WICK_TAG_STRING && args[4].as.string[0] == 'r');
    if (!compared(c, OP_ID_searchsorted, args, pair)) return;
    if (T(5)) pair[0] = wick_gather(c, pair[0], -1, T(5), NULL);
    if (pair[0]) give(rets, places_in(c, pair[0], pair[1], right, I(2)));
}
/* args: self, boundaries, out_int32, right */
void compose_bucketize(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *pair[2];
    if (compared(c, OP_ID_bucketize, args, pair)) give(rets, places_in(c, pair[1], pair[0], I(3), I(2)));
}

static wick_tensor *is_among(wick_context *c, wick_tensor *elements, wick_tensor *tests, bool invert) {
    wick_tensor *equal = wick_eq(c, wick_unsqueeze(c, elements, -1), flat(c, tests));
    wick_tensor *found = GTN(sum_dims(c, equal, (int64_t[]){-1}, 1, false), N(0));
    return invert ? NOT(found) : found;
}
/* args: elements, test_elements, assume_unique, invert */
void compose_isin(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *pair[2];
    if (compared(c, OP_ID_isin, args, pair)) give(rets, is_among(c, pair[0], pair[1], I(3)));
}

/* ---- counting ---- */
/* A number in the digits of a dtype. */
static double in_digits_of(wick_dtype dtype, double x) {
    int exponent, digits = dtype == WICK_F16 ? 11 : dtype == WICK_BF16 ? 8 : dtype == WICK_F32 ? 24 : 53;
    double fraction = frexp(x, &exponent);
    return isfinite(x) ? ldexp(rint(ldexp(fraction, digits)), exponent - digits) : x;
}

/* args: self, bins, min, max; equal bounds mean those of the data */
void compose_histc(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = flat(c, T(0));
    int64_t bins = I(1);
    if (!x) return;
    wick_dtype dtype = wick_tensor_dtype(x);
    double low = in_digits_of(dtype, F(2)), high = in_digits_of(dtype, F(3));
    if (low == high && x->numel) low = wick_item(c, wick_min(c, x)), high = wick_item(c, wick_max(c, x));
    if (low == high) low = in_digits_of(dtype, low - 1), high = in_digits_of(dtype, high + 1);
    const double width = in_digits_of(dtype, high - low);
    wick_tensor *inside = AND(GEN(x, R(low)), wick_le_scalar(c, x, R(high)));
    /* The borders fall where the arithmetic of the dtype puts them. */
    wick_tensor *place = wick_floor(c, DIVN(MULN(ADDN(x, R(-low)), R((double)bins)), R(width)));
    place = cast(c, WHERE_N(inside, place, N(0)), WICK_I64);
    place = WHERE_N(LTN(place, N(bins)), place, N(bins - 1));
    wick_tensor *zeros = wick_new_zeros(c, x, &bins, 1, NULL);
    give(rets, wick_scatter_add(c, zeros, 0, place, cast_like(c, inside, x)));
}

/* args: self, weights, minlength */
void compose_bincount(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *x = cast(c, T(0), WICK_I64), *weights = T(1);
    int64_t size = x && x->numel ? wick_item_int(c, wick_max(c, x)) + 1 : 0;
    if (size < I(2)) size = I(2);
    if (weights) weights = cast(c, weights, weights->dtype == WICK_F32 ? WICK_F32 : WICK_F64);
    if (!weights && x) weights = wick_ones_like(c, x, NULL);
    wick_tensor *zeros = weights ? wick_new_zeros(c, weights, &size, 1, NULL) : NULL;
    give(rets, wick_scatter_add(c, zeros, 0, x, weights));
}

/* ---- unique: runs of equals, after sorting ---- */
/* One-dimensional `values` in runs; `places` (NULL: as they are) says where they come from. rets: the first of each run,
 * the run of each value in the shape of `like`, how many each run has; what is not wanted is empty. */
static void runs_of(wick_context *c, wick_tensor *values, wick_tensor *places, wick_tensor *like, bool inverse,
                    bool counts, wick_value *rets) {
    int64_t n = values ? values->numel : 0;
    wick_new_empty_options o = WICK_NEW_EMPTY_OPTIONS_INIT;
    o.dtype = WICK_I64;
    wick_tensor *none = wick_new_empty(c, values, (wick_dim[]){0}, 1, &o), *is_first = NULL, *run = NULL;
    if (n) {
        wick_tensor *changes = wick_ne(c, part(c, values, 0, 1, n - 1), part(c, values, 0, 0, n - 1));
        wick_tensor *first = wick_new_ones(c, changes, (wick_dim[]){1}, 1, NULL);
        is_first = cat_of(c, (wick_tensor *[]){first, changes}, 2, 0);
        run = ADDN(wick_cumsum(c, cast(c, is_first, WICK_I64), 0, NULL), N(-1));
    }
    rets[0] = V(n ? wick_masked_select(c, values, is_first) : wick_clone(c, values, NULL));
    wick_tensor *of_value = n && places ? wick_scatter(c, run, 0, places, run) : n ? run : none;
    rets[1] = V(inverse ? wick_reshape(c, of_value, SIZES(like)) : wick_clone(c, none, NULL));
    rets[2] = V(counts && n ? wick_bincount(c, run, NULL, NULL) : wick_clone(c, none, NULL));
}
/* args: self, sorted, return_inverse, return_counts */
void compose__unique2(wick_context *c, const wick_value *args, wick_value *rets) {
    sorted s;
    if (sort_along(c, flat(c, T(0)), 0, false, &s)) runs_of(c, s.values, s.places, T(0), I(2), I(3), rets);
}
/* args: self, return_inverse, return_counts, dim */
void compose_unique_consecutive(wick_context *c, const wick_value *args, wick_value *rets) {
    bool flattened = args[3].tag == WICK_TAG_NONE || T(0)->ndim <= 1;
    if (flattened)
        runs_of(c, flat(c, T(0)), NULL, T(0), I(1), I(2), rets);
    else
        FAIL(ctx(c), UNSUPPORTED, "unique_consecutive along a dimension has no decomposition");
}
