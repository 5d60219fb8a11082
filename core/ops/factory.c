/* Tensors from nothing: empty, filled, sequences, patterns, windows. */
#include <math.h>

#include "../src/copy.h"
#include "geometry.h"
#include "op_ids.h"
#include "rows.h"
#include "shorthand.h"

static wick_tensor *self_of(const wick_value *args) { return args[0].as.tensor; }

/* ---- TensorOptions: dtype, layout, device, pin_memory from argument `at` on ---- */
typedef struct options {
    wick_dtype dtype;
    wick_device device;
} options;

static wick_device default_device(wick_context *c) {
    return ctx(c)->device.type ? ctx(c)->device : wick_runtime_host(ctx(c)->rt);
}

static bool read_options(wick_context *c, const wick_value *at, wick_dtype dtype, wick_device device, options *out) {
    if (at[3].tag == WICK_TAG_BOOL && at[3].as.i)
        return !FAIL(ctx(c), UNSUPPORTED, "pin_memory: no backend here offers pinned memory");
    out->dtype = at[0].tag == WICK_TAG_DTYPE ? (wick_dtype)at[0].as.i : dtype;
    out->device = at[2].tag == WICK_TAG_DEVICE ? at[2].as.device : device;
    return true;
}

static bool fresh_options(wick_context *c, const wick_value *at, wick_dtype dtype, options *out) {
    return read_options(c, at, dtype, default_device(c), out);
}
static bool options_like(wick_context *c, const wick_value *at, const wick_tensor *t, options *out) {
    return read_options(c, at, (wick_dtype)t->dtype, t->device, out);
}

static wick_tensor *make(wick_context *c, const options *o, int ndim, const wick_dim *sizes, const wick_dim *strides) {
    wick_tensor *t;
    if (wick_fail(c, tensor_new(ctx(c), o->dtype, ndim, sizes, strides, o->device, &t))) return NULL;
    return scope_own(ctx(c), t);
}

static wick_memory_format format_or(const wick_value *v, wick_memory_format fallback) {
    return v->tag == WICK_TAG_MEMORY_FORMAT ? (wick_memory_format)v->as.i : fallback;
}

static wick_tensor *make_formatted(wick_context *c, const options *o, int ndim, const wick_dim *sizes,
                                   wick_memory_format format, const wick_tensor *like) {
    wick_dim strides[WICK_MAX_DIMS];
    if (format == WICK_CONTIGUOUS_FORMAT) return make(c, o, ndim, sizes, NULL);
    if (wick_fail(c, geometry_format(format, like, ndim, sizes, strides))) return NULL;
    return make(c, o, ndim, sizes, strides);
}

/* ---- uninitialized ---- */
void compose_empty(wick_context *c, const wick_value *args, wick_value *rets) {
    options o;
    wick_memory_format format = format_or(&args[5], WICK_CONTIGUOUS_FORMAT);
    if (format == WICK_PRESERVE_FORMAT)
        FAIL(ctx(c), UNSUPPORTED, "unsupported memory format option Preserve");
    else if (fresh_options(c, args + 1, ctx(c)->dtype, &o))
        give(rets, make_formatted(c, &o, (int)args[0].count, args[0].as.ints, format, NULL));
}

static wick_tensor *make_strided(wick_context *c, const options *o, const wick_value *sizes,
                                 const wick_value *strides) {
    if (sizes->count == strides->count) return make(c, o, (int)sizes->count, sizes->as.ints, strides->as.ints);
    FAIL(ctx(c), INVALID_ARGUMENT, "dimensionality of sizes (%u) must match dimensionality of strides (%u)",
         sizes->count, strides->count);
    return NULL;
}

void compose_empty_strided(wick_context *c, const wick_value *args, wick_value *rets) {
    options o;
    if (fresh_options(c, args + 2, ctx(c)->dtype, &o)) give(rets, make_strided(c, &o, &args[0], &args[1]));
}

void compose_new_empty_strided(wick_context *c, const wick_value *args, wick_value *rets) {
    options o;
    if (options_like(c, args + 3, self_of(args), &o)) give(rets, make_strided(c, &o, &args[1], &args[2]));
}

/* Arguments (self, dtype, layout, device, pin_memory, memory_format) from `at` on. */
static wick_tensor *empty_like(wick_context *c, wick_tensor *t, const wick_value *at) {
    options o;
    if (!options_like(c, at, t, &o)) return NULL;
    return make_formatted(c, &o, t->ndim, t->sizes, format_or(&at[4], WICK_PRESERVE_FORMAT), t);
}

static wick_tensor *new_empty(wick_context *c, const wick_value *args, const wick_value *at) {
    options o;
    if (!options_like(c, at, self_of(args), &o)) return NULL;
    return make(c, &o, (int)args[1].count, args[1].as.ints, NULL);
}

void compose_empty_like(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, empty_like(c, self_of(args), args + 1));
}
void compose_new_empty(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, new_empty(c, args, args + 2));
}

/* ---- constants ---- */
static void give_filled(wick_context *c, wick_value *rets, wick_tensor *t, wick_value value) {
    give(rets, wick_fill_(c, t, value));
}

static void fresh_filled(wick_context *c, const wick_value *args, wick_value *rets, wick_value value) {
    options o;
    if (fresh_options(c, args + 1, ctx(c)->dtype, &o))
        give_filled(c, rets, make(c, &o, (int)args[0].count, args[0].as.ints, NULL), value);
}

void compose_zeros(wick_context *c, const wick_value *args, wick_value *rets) {
    fresh_filled(c, args, rets, NUMBER(0));
}
void compose_ones(wick_context *c, const wick_value *args, wick_value *rets) { fresh_filled(c, args, rets, NUMBER(1)); }

/* The dtype of a factory whose result holds a number. */
static wick_dtype dtype_of_number(wick_context *c, const wick_value *v) {
    wick_dtype floating = ctx(c)->dtype;
    switch (v->tag) {
    case WICK_TAG_BOOL: return WICK_BOOL;
    case WICK_TAG_I64: return WICK_I64;
    case WICK_TAG_C128: return floating == WICK_F64 ? WICK_C128 : WICK_C64;
    default: return floating;
    }
}

void compose_full(wick_context *c, const wick_value *args, wick_value *rets) {
    options o;
    if (fresh_options(c, args + 2, dtype_of_number(c, &args[1]), &o))
        give_filled(c, rets, make(c, &o, (int)args[0].count, args[0].as.ints, NULL), args[1]);
}

void compose_scalar_tensor(wick_context *c, const wick_value *args, wick_value *rets) {
    options o;
    if (fresh_options(c, args + 1, ctx(c)->dtype, &o)) give_filled(c, rets, make(c, &o, 0, NULL, NULL), args[0]);
}

void compose_zeros_like(wick_context *c, const wick_value *args, wick_value *rets) {
    give_filled(c, rets, empty_like(c, self_of(args), args + 1), NUMBER(0));
}
void compose_ones_like(wick_context *c, const wick_value *args, wick_value *rets) {
    give_filled(c, rets, empty_like(c, self_of(args), args + 1), NUMBER(1));
}
void compose_full_like(wick_context *c, const wick_value *args, wick_value *rets) {
    give_filled(c, rets, empty_like(c, self_of(args), args + 2), args[1]);
}
void compose_new_zeros(wick_context *c, const wick_value *args, wick_value *rets) {
    give_filled(c, rets, new_empty(c, args, args + 2), NUMBER(0));
}
void compose_new_ones(wick_context *c, const wick_value *args, wick_value *rets) {
    give_filled(c, rets, new_empty(c, args, args + 2), NUMBER(1));
}
void compose_new_full(wick_context *c, const wick_value *args, wick_value *rets) {
    give_filled(c, rets, new_empty(c, args, args + 3), args[2]);
}

/* ---- sequences: shape rules ---- */
static wick_dtype dtype_or(const wick_value *v, wick_dtype fallback) {
    return v->tag == WICK_TAG_DTYPE ? (wick_dtype)v->as.i : fallback;
}

static bool is_whole(const wick_value *v) { return v->tag == WICK_TAG_I64 || v->tag == WICK_TAG_BOOL; }

static wick_status *arange_length(const wick_value *args, wick_dtype dtype, wick_dim *out) {
    double start = wick_value_as_double(&args[0]), end = wick_value_as_double(&args[1]),
           step = wick_value_as_double(&args[2]);
    if (step == 0) return WICK_ERROR(WICK_INVALID_ARGUMENT, "step must be nonzero");
    if (!isfinite(start) || !isfinite(end))
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "unsupported range: %g -> %g", start, end);
    if (step > 0 ? end < start : end > start)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "upper bound and lower bound inconsistent with step sign");
    double length = ceil((end - start) / step);
    if (dtype == WICK_I64) {
        int64_t a = wick_value_as_int(&args[0]), b = wick_value_as_int(&args[1]), s = wick_value_as_int(&args[2]);
        if (s == 0) return WICK_ERROR(WICK_INVALID_ARGUMENT, "step must be nonzero");
        length = ceil((double)((b - a + s - (s > 0 ? 1 : -1)) / s));
    }
    if (!(length < 9.2e18)) return WICK_ERROR(WICK_INVALID_ARGUMENT, "invalid size, possible overflow?");
    *out = length > 0 ? (wick_dim)length : 0;
    return NULL;
}

wick_status *infer_arange(op_infer *ix) {
    const wick_value *a = ix->args;
    op_meta *m = &ix->outs[0];
    m->dtype = dtype_or(&a[3], is_whole(&a[0]) && is_whole(&a[1]) && is_whole(&a[2]) ? WICK_I64 : ctx(ix->c)->dtype);
    m->ndim = 1;
    if (wick_dtype_is_complex(m->dtype))
        return WICK_ERROR(WICK_UNSUPPORTED, "\"arange\" not implemented for '%s'", wick_dtype_name(m->dtype));
    for (int i = 0; i < 3; ++i)
        if (a[i].tag == WICK_TAG_C128)
            return WICK_ERROR(WICK_INVALID_ARGUMENT, "arange: start, end and step must be real, got a complex number");
    return arange_length(a, m->dtype, &m->sizes[0]);
}

static void arange_between(wick_context *c, wick_value start, wick_value end, const wick_value *options,
                           wick_value *rets) {
    wick_value args[7] = {start, end, wick_value_int(1)};
    memcpy(args + 3, options, 4 * sizeof *options);
    give(rets, op_call1(c, OP_ID_arange_range, args, 7));
}
void compose_arange(wick_context *c, const wick_value *args, wick_value *rets) {
    arange_between(c, wick_value_int(0), args[0], args + 1, rets);
}
void compose_arange_start(wick_context *c, const wick_value *args, wick_value *rets) {
    arange_between(c, args[0], args[1], args + 2, rets);
}

static wick_status *infer_space(op_infer *ix, int dtype_arg) {
    const wick_value *a = ix->args;
    op_meta *m = &ix->outs[0];
    bool complex = a[0].tag == WICK_TAG_C128 || a[1].tag == WICK_TAG_C128;
    wick_dtype floating = ctx(ix->c)->dtype;
    if (a[2].as.i < 0) return WICK_ERROR(WICK_INVALID_ARGUMENT, "number of steps must be non-negative");
    m->dtype = dtype_or(&a[dtype_arg], !complex ? floating : floating == WICK_F64 ? WICK_C128 : WICK_C64);
    if (complex && !wick_dtype_is_complex(m->dtype))
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "inferred dtype complex can't be safely cast to passed dtype %s",
                          wick_dtype_name(m->dtype));
    m->ndim = 1;
    m->sizes[0] = a[2].as.i;
    return NULL;
}
wick_status *infer_linspace(op_infer *ix) { return infer_space(ix, 3); }
wick_status *infer_logspace(op_infer *ix) {
    WICK_TRY(infer_space(ix, 4));
    ix->decompose = wick_dtype_is_complex(ix->outs[0].dtype);
    return NULL;
}

/* (start, end, steps, base, dtype, layout, device, pin_memory) */
/* Exponents that are to become integers are cut to integers, powers only at the end. */
void compose_logspace(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_value exponents[7] = {args[0], args[1], args[2]};
    wick_dtype dtype = args[4].tag == WICK_TAG_DTYPE ? (wick_dtype)args[4].as.i : WICK_DTYPE_NONE;
    bool whole = dtype && !wick_dtype_is_differentiable(dtype);
    memcpy(exponents + 3, args + 4, 4 * sizeof *args);
    if (whole) {
        for (int i = 0; i < 2; ++i) exponents[i] = REAL((double)wick_value_as_int(&args[i]));
        exponents[3] = wick_value_dtype(WICK_F64);
    }
    wick_tensor *powers = wick_pow_scalar_base(c, args[3], op_call1(c, OP_ID_linspace, exponents, 7));
    give(rets, whole ? cast(c, powers, dtype) : powers);
}

/* A bound given as a 0-dim tensor is read. */
static bool read_bound(wick_context *c, wick_value *v, const char *name, const char *which) {
    if (v->tag != WICK_TAG_TENSOR) return true;
    if (v->as.tensor->ndim)
        return !FAIL(ctx(c), INVALID_ARGUMENT,
                     "%s only supports 0-dimensional start and end tensors, but got %s with %d dimension(s).", name,
                     which, v->as.tensor->ndim);
    return tensor_scalar(ctx(c), v->as.tensor, v);
}

static void space_between_tensors(wick_context *c, const wick_value *args, wick_value *rets, int id, int nargs,
                                  const char *name) {
    wick_value read[8];
    memcpy(read, args, sizeof *read * (size_t)nargs);
    if (read_bound(c, &read[0], name, "start") && read_bound(c, &read[1], name, "end"))
        give(rets, op_call1(c, id, read, nargs));
}
void compose_linspace_tensor(wick_context *c, const wick_value *args, wick_value *rets) {
    space_between_tensors(c, args, rets, OP_ID_linspace, 7, "linspace");
}
void compose_logspace_tensor(wick_context *c, const wick_value *args, wick_value *rets) {
    space_between_tensors(c, args, rets, OP_ID_logspace, 8, "logspace");
}

/* ---- patterns ---- */
static wick_status *infer_matrix(op_infer *ix, int64_t rows, int64_t columns, int dtype_arg) {
    if (rows < 0 || columns < 0)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "n must be greater or equal to 0, got %lld",
                          (long long)(rows < 0 ? rows : columns));
    meta_set(&ix->outs[0], dtype_or(&ix->args[dtype_arg], ctx(ix->c)->dtype), 2, (wick_dim[]){rows, columns});
    return NULL;
}
wick_status *infer_eye(op_infer *ix) { return infer_matrix(ix, ix->args[0].as.i, ix->args[0].as.i, 1); }
wick_status *infer_eye_m(op_infer *ix) { return infer_matrix(ix, ix->args[0].as.i, ix->args[1].as.i, 2); }

static void eye_of(wick_context *c, int64_t rows, int64_t columns, const wick_value *at, wick_value *rets) {
    options o;
    if (!fresh_options(c, at, ctx(c)->dtype, &o)) return;
    wick_tensor *out = wick_zero_(c, make(c, &o, 2, (wick_dim[]){rows, columns}, NULL));
    wick_fill_(c, diagonal_of(c, out, 0, 0, 1), NUMBER(1));
    give(rets, out);
}
void compose_eye(wick_context *c, const wick_value *args, wick_value *rets) {
    eye_of(c, args[0].as.i, args[0].as.i, args + 1, rets);
}
void compose_eye_m(wick_context *c, const wick_value *args, wick_value *rets) {
    eye_of(c, args[0].as.i, args[1].as.i, args + 2, rets);
}

/* Elements on and below a diagonal. */
static wick_dim below_diagonal(int64_t rows, int64_t columns, int64_t offset) {
    wick_dim n = 0;
    for (int64_t i = 0; i < rows; ++i) {
        int64_t own = wick_dim_add(i, wick_dim_add(offset, 1));
        n = wick_dim_add(n, own < 0 ? 0 : own > columns ? columns : own);
    }
    return n;
}

static wick_status *infer_triangle_indices(op_infer *ix, bool upper) {
    const wick_value *a = ix->args;
    int64_t rows = a[0].as.i, columns = a[1].as.i, offset = a[2].as.i;
    if (rows < 0) return WICK_ERROR(WICK_INVALID_ARGUMENT, "row must be non-negative, got%lld", (long long)rows);
    if (columns < 0) return WICK_ERROR(WICK_INVALID_ARGUMENT, "col must be non-negative, got%lld", (long long)columns);
    wick_dim n = upper
                     ? wick_dim_sub(wick_dim_mul(rows, columns), below_diagonal(rows, columns, wick_dim_sub(offset, 1)))
                     : below_diagonal(rows, columns, offset);
    meta_set(&ix->outs[0], dtype_or(&a[3], WICK_I64), 2, (wick_dim[]){2, n});
    return NULL;
}
wick_status *infer_tril_indices(op_infer *ix) { return infer_triangle_indices(ix, false); }
wick_status *infer_triu_indices(op_infer *ix) { return infer_triangle_indices(ix, true); }

/* ---- windows ---- */
#define PI 3.14159265358979323846

static wick_tensor *scaled(wick_context *c, wick_tensor *t, double by) { return wick_mul_scalar(c, t, REAL(by)); }
static wick_tensor *plus(wick_context *c, wick_tensor *t, double by) { return wick_add_scalar(c, t, REAL(by), NULL); }

/* Values at positions 0, 1, ... of a symmetric window whose last position is `last`. */
typedef wick_tensor *(*window_fn)(wick_context *c, wick_tensor *at, double last);

static wick_tensor *raised_cosine(wick_context *c, wick_tensor *at, double last, double alpha) {
    return plus(c, scaled(c, wick_cos(c, scaled(c, at, 2 * PI / last)), alpha - 1), alpha);
}
static wick_tensor *hann(wick_context *c, wick_tensor *at, double last) { return raised_cosine(c, at, last, 0.5); }
static wick_tensor *hamming(wick_context *c, wick_tensor *at, double last) { return raised_cosine(c, at, last, 0.54); }

static wick_tensor *blackman(wick_context *c, wick_tensor *at, double last) {
    wick_tensor *fast = scaled(c, wick_cos(c, scaled(c, at, 4 * PI / last)), 0.08);
    return plus(c, wick_sub(c, fast, scaled(c, wick_cos(c, scaled(c, at, 2 * PI / last)), 0.5), NULL), 0.42);
}

static wick_tensor *bartlett(wick_context *c, wick_tensor *at, double last) {
    wick_tensor *from_middle = wick_abs(c, plus(c, scaled(c, at, 2 / last), -1));
    return plus(c, wick_neg(c, from_middle), 1);
}

static wick_tensor *kaiser(wick_context *c, wick_tensor *at, double last) {
    const double beta = 12.0;
    wick_tensor *x = plus(c, scaled(c, at, 2 / last), -1);
    wick_tensor *inside = plus(c, wick_neg(c, wick_mul(c, x, x)), 1);
    wick_tensor *bound = wick_full_like(c, at, REAL(beta), NULL);
    return wick_div(c, wick_i0(c, scaled(c, wick_sqrt(c, inside), beta)), wick_i0(c, bound));
}

/* A periodic window is a symmetric one that is longer by one, cut. */
static void window(wick_context *c, const wick_value *args, wick_value *rets, int options_at, const char *name,
                   window_fn fn) {
    wick_arange_options range = WICK_ARANGE_OPTIONS_INIT;
    bool periodic = options_at == 1 || args[1].as.i;
    wick_dim n = args[0].as.i;
    options o;
    if (!fresh_options(c, args + options_at, ctx(c)->dtype, &o)) return;
    if (n < 0)
        FAIL(ctx(c), INVALID_ARGUMENT, "%s requires non-negative window_length, got window_length=%lld", name,
             (long long)n);
    if (!wick_dtype_is_differentiable(o.dtype))
        FAIL(ctx(c), INVALID_ARGUMENT, "%s expects floating point dtypes, got: %s", name, wick_dtype_name(o.dtype));
    if (wick_failed(c)) return;
    if (n <= 1) return give_filled(c, rets, make(c, &o, 1, &n, NULL), NUMBER(1));
    range.dtype = o.dtype == WICK_F64 ? WICK_F64 : WICK_F32, range.device = o.device;
    wick_tensor *at = wick_arange(c, NUMBER(n), &range);
    give(rets, cast(c, fn(c, at, (double)(n - 1 + periodic)), o.dtype));
}

#define WINDOW(name)                                                                                   \
    void compose_##name##_window(wick_context *c, const wick_value *args, wick_value *rets) {          \
        window(c, args, rets, 1, #name "_window", name);                                               \
    }                                                                                                  \
    void compose_##name##_window_periodic(wick_context *c, const wick_value *args, wick_value *rets) { \
        window(c, args, rets, 2, #name "_window", name);                                               \
    }
WINDOW(hann)
WINDOW(hamming)
WINDOW(blackman)
WINDOW(bartlett)
WINDOW(kaiser)

/* ---- filling what is there ---- */
void compose_fill_tensor(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *value = args[1].as.tensor;
    if (value->ndim)
        FAIL(ctx(c), INVALID_ARGUMENT,
             "fill_ only supports 0-dimension value tensor but got tensor with %d dimensions.", value->ndim);
    else
        give(rets, wick_copy_(c, wick_empty_like(c, self_of(args), NULL), value, NULL));
}

void compose_zero_(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, wick_fill_(c, self_of(args), NUMBER(0)));
}
