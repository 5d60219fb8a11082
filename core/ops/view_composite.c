/* Composites of views: reshaping, reordering, splitting, and copies of views. */
#include "../autograd/node.h"
#include "geometry.h"
#include "op_ids.h"
#include "rows.h"
#include "shorthand.h"

static wick_tensor *self_of(const wick_value *args) { return args[0].as.tensor; }

/* ---- reshaping ---- */
static wick_tensor *reshaped(wick_context *c, wick_tensor *t, const int64_t *shape, int ndim) {
    wick_dim sizes[WICK_MAX_DIMS], strides[WICK_MAX_DIMS];
    wick_clone_options dense = WICK_CLONE_OPTIONS_INIT;
    dense.memory_format = WICK_CONTIGUOUS_FORMAT;
    if (wick_fail(c, geometry_resolve(shape, ndim, t->numel, sizes))) return NULL;
    if (!geometry_view(t, ndim, sizes, strides)) t = wick_clone(c, t, &dense);
    return wick_view(c, t, sizes, (size_t)ndim);
}

void compose_reshape(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, reshaped(c, self_of(args), args[1].as.ints, (int)args[1].count));
}

void compose_reshape_as(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, wick_reshape(c, self_of(args), SIZES(args[1].as.tensor)));
}

void compose_view_as(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, wick_view(c, self_of(args), SIZES(args[1].as.tensor)));
}

void compose_unsafe_view(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, wick_view(c, self_of(args), LIST(args[1])));
}

void compose_ravel(wick_context *c, const wick_value *args, wick_value *rets) { give(rets, flat(c, self_of(args))); }

void compose_flatten(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    wick_dim sizes[WICK_MAX_DIMS];
    int start, end, n = 0;
    if (wick_fail(c, wrap_dim(args[1].as.i, t->ndim, &start)) || wick_fail(c, wrap_dim(args[2].as.i, t->ndim, &end)))
        return;
    if (start > end) {
        FAIL(ctx(c), INVALID_ARGUMENT, "flatten() has invalid args: start_dim cannot come after end_dim");
        return;
    }
    if (t->ndim == 0) return give(rets, wick_reshape(c, t, (int64_t[]){1}, 1));
    if (start == end) return give(rets, t);
    for (int i = 0; i < start; ++i) sizes[n++] = t->sizes[i];
    sizes[n++] = wick_dim_product(t->sizes + start, end - start + 1);
    for (int i = end + 1; i < t->ndim; ++i) sizes[n++] = t->sizes[i];
    give(rets, wick_reshape(c, t, sizes, (size_t)n));
}

void compose_unflatten(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    wick_dim sizes[WICK_MAX_DIMS * 2];
    int dim, n = (int)args[2].count;
    if (wick_fail(c, wrap_dim(args[1].as.i, t->ndim, &dim))) return;
    if (n == 0 || n + t->ndim > WICK_MAX_DIMS || t->ndim == 0) {
        FAIL(ctx(c), INVALID_ARGUMENT, "unflatten: sizes must be non-empty");
        return;
    }
    memcpy(sizes, t->sizes, sizeof *sizes * (size_t)dim);
    if (wick_fail(c, geometry_resolve(args[2].as.ints, n, t->sizes[dim], sizes + dim))) return;
    memcpy(sizes + dim + n, t->sizes + dim + 1, sizeof *sizes * (size_t)(t->ndim - dim - 1));
    give(rets, wick_view(c, t, sizes, (size_t)(t->ndim - 1 + n)));
}

void compose_atleast_1d(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    give(rets, t->ndim ? t : wick_reshape(c, t, (int64_t[]){1}, 1));
}

void compose_atleast_2d(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    if (t->ndim == 0)
        t = wick_reshape(c, t, (int64_t[]){1, 1}, 2);
    else if (t->ndim == 1)
        t = wick_unsqueeze(c, t, 0);
    give(rets, t);
}

static wick_tensor *at_least_3d(wick_context *c, wick_tensor *t) {
    if (t->ndim == 0) return wick_reshape(c, t, (int64_t[]){1, 1, 1}, 3);
    if (t->ndim == 1) return wick_unsqueeze(c, wick_unsqueeze(c, t, 0), -1);
    return t->ndim == 2 ? wick_unsqueeze(c, t, -1) : t;
}

void compose_atleast_3d(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, at_least_3d(c, self_of(args)));
}

/* ---- broadcasting ---- */
void compose_expand_as(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, expand_of(c, self_of(args), SIZES(args[1].as.tensor)));
}

void compose_broadcast_to(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, expand_of(c, self_of(args), LIST(args[1])));
}

void compose_broadcast_tensors(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_dim sizes[WICK_MAX_DIMS];
    int ndim = 0;
    wick_tensor **out = scope_array(ctx(c), args[0].count);
    for (uint32_t i = 0; i < args[0].count; ++i)
        if (wick_fail(c, infer_broadcast(&ndim, sizes, args[0].as.tensors[i]->ndim, args[0].as.tensors[i]->sizes)))
            return;
    for (uint32_t i = 0; out && i < args[0].count; ++i)
        out[i] = expand_of(c, args[0].as.tensors[i], sizes, (size_t)ndim);
    give_list(rets, out, args[0].count);
}

/* Tensor i varies along dimension i; "xy" exchanges the first two. */
void compose_meshgrid(wick_context *c, const wick_value *args, wick_value *rets) {
    uint32_t n = args[0].count;
    wick_dim sizes[WICK_MAX_DIMS], own[WICK_MAX_DIMS];
    bool xy = !strcmp(args[1].as.string, "xy");
    if (n == 0 || n > WICK_MAX_DIMS || (!xy && strcmp(args[1].as.string, "ij"))) {
        FAIL(ctx(c), INVALID_ARGUMENT,
             n == 0 ? "meshgrid expects a non-empty TensorList"
                    : "torch.meshgrid: indexing must be one of \"xy\" or \"ij\"");
        return;
    }
    wick_tensor **out = scope_array(ctx(c), n);
    for (uint32_t i = 0; i < n; ++i) {
        const wick_tensor *t = args[0].as.tensors[i];
        if (t->ndim > 1) FAIL(ctx(c), INVALID_ARGUMENT, "torch.meshgrid: Expected 0D or 1D tensor in the tensor list");
        sizes[xy && n > 1 && i < 2 ? 1 - i : i] = t->numel;
    }
    for (uint32_t i = 0; out && i < n; ++i) {
        uint32_t at = xy && n > 1 && i < 2 ? 1 - i : i;
        for (uint32_t k = 0; k < n; ++k) own[k] = k == at ? sizes[k] : 1;
        out[i] = expand_of(c, wick_view(c, args[0].as.tensors[i], own, n), sizes, n);
    }
    give_list(rets, out, n);
}

/* ---- reordering ---- */
static wick_tensor *moved(wick_context *c, wick_tensor *t, const int64_t *from, size_t n, const int64_t *to,
                          size_t n_to) {
    int64_t order[WICK_MAX_DIMS];
    uint64_t taken = 0, filled = 0;
    if (n != n_to) {
        FAIL(ctx(c), INVALID_ARGUMENT,
             "movedim: Invalid source or destination dims: source (%zu dims) should contain the same number of dims as "
             "destination (%zu dims)",
             n, n_to);
        return NULL;
    }
    for (size_t i = 0; i < n; ++i) {
        int s, d;
        if (wick_fail(c, wrap_dim(from[i], t->ndim, &s)) || wick_fail(c, wrap_dim(to[i], t->ndim, &d))) return NULL;
        if (taken >> s & 1 || filled >> d & 1) {
            FAIL(ctx(c), INVALID_ARGUMENT, "movedim: repeated dim in `%s`", taken >> s & 1 ? "source" : "destination");
            return NULL;
        }
        taken |= UINT64_C(1) << s;
        filled |= UINT64_C(1) << d;
        order[d] = s;
    }
    if (t->ndim == 0) return wick_alias(c, t);
    for (int s = 0, d = 0; s < t->ndim; ++s) {
        if (taken >> s & 1) continue;
        while (filled >> d & 1) d++;
        order[d++] = s;
    }
    return wick_permute(c, t, order, t->ndim);
}

void compose_movedim(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, moved(c, self_of(args), LIST(args[1]), LIST(args[2])));
}

void compose_movedim_int(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, moved(c, self_of(args), &args[1].as.i, 1, &args[2].as.i, 1));
}

void compose_swapaxes(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, wick_transpose(c, self_of(args), args[1].as.i, args[2].as.i));
}

void compose_numpy_T(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    int64_t order[WICK_MAX_DIMS];
    for (int i = 0; i < t->ndim; ++i) order[i] = t->ndim - 1 - i;
    give(rets, wick_permute(c, t, order, t->ndim));
}

static wick_tensor *transposed(wick_context *c, wick_tensor *t, const char *name, bool conjugate) {
    if (t->ndim < 2) {
        FAIL(ctx(c), INVALID_ARGUMENT,
             "tensor.%s is only supported on matrices or batches of matrices. Got %d-D tensor.", name, t->ndim);
        return NULL;
    }
    t = wick_transpose(c, t, -2, -1);
    return t && conjugate && wick_dtype_is_complex((wick_dtype)t->dtype) ? wick_conj(c, t) : t;
}

void compose_mT(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, transposed(c, self_of(args), "mT", false));
}
void compose_mH(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, transposed(c, self_of(args), "mH", true));
}
void compose_adjoint(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, transposed(c, self_of(args), "adjoint()", true));
}

void compose_matrix_H(wick_context *c, const wick_value *args, wick_value *rets) {
    if (self_of(args)->ndim == 2) return give(rets, transposed(c, self_of(args), "H", true));
    FAIL(ctx(c), INVALID_ARGUMENT, "tensor.H is only supported on matrices (2-D tensors). Got %d-D tensor.",
         self_of(args)->ndim);
}

void compose_linalg_diagonal(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, diagonal_of(c, self_of(args), args[1].as.i, args[2].as.i, args[3].as.i));
}

/* ---- narrowing ---- */
static wick_tensor *narrowed(wick_context *c, wick_tensor *t, int64_t dim, int64_t start, int64_t length) {
    int d;
    if (!t->ndim) FAIL(ctx(c), INVALID_ARGUMENT, "narrow() cannot be applied to a 0-dim tensor.");
    if (length < 0) FAIL(ctx(c), INVALID_ARGUMENT, "narrow(): length must be non-negative.");
    if (wick_failed(c) || wick_fail(c, wrap_dim(dim, t->ndim, &d))) return NULL;
    wick_dim size = t->sizes[d];
    if (start < -size || start > size) {
        FAIL(ctx(c), OUT_OF_RANGE, "start out of range (expected to be in range of [%lld, %lld], but got %lld)",
             (long long)-size, (long long)size, (long long)start);
        return NULL;
    }
    if (start < 0) start += size;
    if (start > size - length) {
        FAIL(ctx(c), INVALID_ARGUMENT, "start (%lld) + length (%lld) exceeds dimension size (%lld).", (long long)start,
             (long long)length, (long long)size);
        return NULL;
    }
    return slice_of(c, t, d, start, start + length, 1);
}

void compose_narrow(wick_context *c, const wick_value *args, wick_value *rets) {
    give(rets, narrowed(c, self_of(args), args[1].as.i, args[2].as.i, args[3].as.i));
}

void compose_narrow_tensor(wick_context *c, const wick_value *args, wick_value *rets) {
    const wick_tensor *start = args[2].as.tensor;
    if (start->ndim || !wick_dtype_is_integral((wick_dtype)start->dtype)) {
        FAIL(ctx(c), INVALID_ARGUMENT, "start must be an 0-dim integral Tensor.");
        return;
    }
    give(rets, narrowed(c, self_of(args), args[1].as.i, wick_item_int(c, args[2].as.tensor), args[3].as.i));
}

/* ---- splitting ---- */
static bool split_dim(wick_context *c, const wick_tensor *t, int64_t dim, const char *name, int *out) {
    if (!t->ndim) return !FAIL(ctx(c), INVALID_ARGUMENT, "%s expects at least a 1-dimensional tensor", name);
    return !wick_fail(c, wrap_dim(dim, t->ndim, out));
}

/* Pieces that end where `ends` says; an end may lie before its piece's start, which then is empty. */
static void give_pieces(wick_context *c, wick_tensor *t, int dim, const int64_t *ends, size_t n, wick_value *rets) {
    wick_tensor **out = scope_array(ctx(c), n);
    for (size_t i = 0; out && i < n; ++i) out[i] = slice_of(c, t, dim, i ? ends[i - 1] : 0, ends[i], 1);
    if (!wick_failed(c)) give_list(rets, out, n);
}

/* Pieces of `step` elements, of `step` + 1 the first `longer` ones; the last one may be cut short. */
static void give_even_pieces(wick_context *c, wick_tensor *t, int dim, int64_t step, int64_t longer, int64_t n,
                             wick_value *rets) {
    wick_tensor **out = scope_array(ctx(c), (size_t)n);
    int64_t start = 0;
    for (int64_t i = 0; out && i < n && !wick_failed(c); ++i) {
        int64_t end = start + step + (i < longer);
        out[i] = slice_of(c, t, dim, start, end, 1);
        start = end;
    }
    if (!wick_failed(c)) give_list(rets, out, (size_t)n);
}

static void split_evenly(wick_context *c, wick_tensor *t, int64_t step, int64_t dim, wick_value *rets) {
    int d;
    if (!split_dim(c, t, dim, "split", &d)) return;
    wick_dim size = t->sizes[d];
    if (step < 0) {
        FAIL(ctx(c), INVALID_ARGUMENT, "split expects split_size be non-negative, but got split_size=%lld",
             (long long)step);
        return;
    }
    if (step == 0 && size) {
        FAIL(ctx(c), INVALID_ARGUMENT,
             "split_size can only be 0 if dimension size is 0, but got dimension size of %lld", (long long)size);
        return;
    }
    give_even_pieces(c, t, d, step < size ? step : size, 0, size ? (size - 1) / step + 1 : 1, rets);
}

void compose_split(wick_context *c, const wick_value *args, wick_value *rets) {
    split_evenly(c, self_of(args), args[1].as.i, args[2].as.i, rets);
}

void compose_split_with_sizes(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    char text[SIZES_TEXT];
    int dim, n = (int)args[1].count;
    const int64_t *sizes = args[1].as.ints;
    if (!split_dim(c, t, args[2].as.i, "split_with_sizes", &dim)) return;
    wick_tensor **out = scope_array(ctx(c), (size_t)n);
    wick_dim start = 0;
    for (int i = 0; out && i < n; ++i) {
        if (sizes[i] < 0) {
            FAIL(ctx(c), INVALID_ARGUMENT,
                 "split_with_sizes expects split_sizes have only non-negative entries, but got "
                 "split_sizes=%s",
                 format_sizes(n, sizes, text, sizeof text));
            return;
        }
        wick_dim end = wick_dim_add(start, sizes[i]);
        out[i] = slice_of(c, t, dim, start, end, 1);
        start = end;
    }
    if (start != t->sizes[dim])
        FAIL(ctx(c), INVALID_ARGUMENT,
             "split_with_sizes expects split_sizes to sum exactly to %lld (input tensor's size at dimension %lld), but "
             "got split_sizes=%s",
             (long long)t->sizes[dim], (long long)args[2].as.i, format_sizes(n, sizes, text, sizeof text));
    if (!wick_failed(c)) give_list(rets, out, (size_t)n);
}

void compose_chunk(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    int64_t chunks = args[1].as.i;
    int dim;
    if (!split_dim(c, t, args[2].as.i, "chunk", &dim)) return;
    if (chunks <= 0) {
        FAIL(ctx(c), INVALID_ARGUMENT, "chunk expects `chunks` to be greater than 0, got: %lld", (long long)chunks);
        return;
    }
    if (t->sizes[dim] == 0) return give_even_pieces(c, t, dim, 0, 0, chunks, rets);
    split_evenly(c, t, (t->sizes[dim] - 1) / chunks + 1, dim, rets);
}

void compose_unbind(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    int dim;
    if (!t->ndim)
        FAIL(ctx(c), OUT_OF_RANGE, "Dimension specified as %lld but tensor has no dimensions", (long long)args[1].as.i);
    if (wick_failed(c) || wick_fail(c, wrap_dim(args[1].as.i, t->ndim, &dim))) return;
    size_t n = (size_t)t->sizes[dim];
    wick_tensor **out = scope_array(ctx(c), n);
    for (size_t i = 0; out && i < n && !wick_failed(c); ++i) out[i] = wick_select(c, t, dim, (int64_t)i);
    if (!wick_failed(c)) give_list(rets, out, n);
}

static void split_sections(wick_context *c, wick_tensor *t, int64_t sections, int dim, wick_value *rets) {
    if (sections > 0)
        return give_even_pieces(c, t, dim, t->sizes[dim] / sections, t->sizes[dim] % sections, sections, rets);
    FAIL(ctx(c), INVALID_ARGUMENT, "number of sections must be larger than 0, got %lld", (long long)sections);
}

static void split_indices(wick_context *c, wick_tensor *t, const wick_value *indices, int dim, wick_value *rets) {
    size_t n = indices->count;
    int64_t *ends = rt_alloc(ctx(c)->rt, sizeof *ends * (n + 1));
    if (!ends) {
        FAIL(ctx(c), OUT_OF_MEMORY, "cannot allocate %zu indices", n);
        return;
    }
    memcpy(ends, indices->as.ints, sizeof *ends * n);
    ends[n] = INT64_MAX;
    give_pieces(c, t, dim, ends, n + 1, rets);
    rt_free(ctx(c)->rt, ends);
}

void compose_tensor_split_sections(wick_context *c, const wick_value *args, wick_value *rets) {
    int dim;
    if (split_dim(c, self_of(args), args[2].as.i, "tensor_split", &dim))
        split_sections(c, self_of(args), args[1].as.i, dim, rets);
}

void compose_tensor_split_indices(wick_context *c, const wick_value *args, wick_value *rets) {
    int dim;
    if (split_dim(c, self_of(args), args[2].as.i, "tensor_split", &dim))
        split_indices(c, self_of(args), &args[1], dim, rets);
}

/* hsplit, vsplit and dsplit: sections must divide the size. */
static void split_named(wick_context *c, const wick_value *args, wick_value *rets, const char *name, int least,
                        int dim) {
    wick_tensor *t = self_of(args);
    if (t->ndim < least) {
        FAIL(ctx(c), INVALID_ARGUMENT,
             "torch.%s requires a tensor with at least %d dimension%s, but got a tensor with %d dimensions!", name,
             least, least == 1 ? "" : "s", t->ndim);
        return;
    }
    if (args[1].tag == WICK_TAG_I64_LIST) return split_indices(c, t, &args[1], dim, rets);
    int64_t sections = args[1].as.i;
    if (sections == 0 || t->sizes[dim] % sections) {
        FAIL(ctx(c), INVALID_ARGUMENT,
             "torch.%s attempted to split along dimension %d, but the size of the dimension %lld is not divisible by "
             "the split_size %lld!",
             name, dim, (long long)t->sizes[dim], (long long)sections);
        return;
    }
    split_sections(c, t, sections, dim, rets);
}

void compose_hsplit(wick_context *c, const wick_value *args, wick_value *rets) {
    split_named(c, args, rets, "hsplit", 1, self_of(args)->ndim > 1);
}
void compose_vsplit(wick_context *c, const wick_value *args, wick_value *rets) {
    split_named(c, args, rets, "vsplit", 2, 0);
}
void compose_dsplit(wick_context *c, const wick_value *args, wick_value *rets) {
    split_named(c, args, rets, "dsplit", 3, 2);
}

/* ---- copies of views: the view, cloned ---- */
#define COPY_OF(name, id, nargs)                                                            \
    void compose_##name##_copy(wick_context *c, const wick_value *args, wick_value *rets) { \
        give(rets, wick_clone(c, op_call1(c, OP_ID_##id, args, nargs), NULL));              \
    }
COPY_OF(alias, alias, 1)
COPY_OF(as_strided, as_strided, 4)
COPY_OF(detach, detach, 1)
COPY_OF(diagonal, diagonal, 4)
COPY_OF(expand, expand, 3)
COPY_OF(narrow, narrow, 4)
COPY_OF(permute, permute, 2)
COPY_OF(select, select, 3)
COPY_OF(slice, slice, 5)
COPY_OF(squeeze, squeeze, 1)
COPY_OF(squeeze_dim, squeeze_dim, 2)
COPY_OF(squeeze_dims, squeeze_dims, 2)
COPY_OF(t, t, 1)
COPY_OF(transpose, transpose, 3)
COPY_OF(unfold, unfold, 4)
COPY_OF(unsqueeze, unsqueeze, 2)
COPY_OF(view, view, 2)

static void clone_list(wick_context *c, wick_value *rets) {
    wick_tensor **out = wick_failed(c) ? NULL : scope_array(ctx(c), rets[0].count);
    for (uint32_t i = 0; out && i < rets[0].count; ++i) out[i] = wick_clone(c, rets[0].as.tensors[i], NULL);
    if (out) give_list(rets, out, rets[0].count);
}

#define LIST_COPY_OF(name)                                                                  \
    void compose_##name##_copy(wick_context *c, const wick_value *args, wick_value *rets) { \
        compose_##name(c, args, rets);                                                      \
        clone_list(c, rets);                                                                \
    }
LIST_COPY_OF(split)
LIST_COPY_OF(split_with_sizes)
LIST_COPY_OF(unbind)

/* ---- complex numbers and lazy signs ---- */
void compose_conj(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    give(rets, wick_dtype_is_complex((wick_dtype)t->dtype) ? wick__conj(c, t) : t);
}

/* The stored part; of a lazily conjugated tensor the imaginary one has the other sign. */
static wick_tensor *part_of(wick_context *c, wick_tensor *t, int part) {
    bool conjugated = t->flags & WICK_TENSOR_CONJ;
    wick_tensor *stored = wick_select(c, wick_view_as_real(c, conjugated ? wick__conj(c, t) : t), -1, part);
    return conjugated && part ? wick__neg_view(c, stored) : stored;
}

void compose_real(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    give(rets, wick_dtype_is_complex((wick_dtype)t->dtype) ? part_of(c, t, 0) : t);
}

void compose_imag(wick_context *c, const wick_value *args, wick_value *rets) {
    if (wick_dtype_is_complex((wick_dtype)self_of(args)->dtype)) return give(rets, part_of(c, self_of(args), 1));
    FAIL(ctx(c), UNSUPPORTED, "imag is not implemented for tensors with non-complex dtypes.");
}

void compose_resolve_conj(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    give(rets, t->flags & WICK_TENSOR_CONJ ? wick_clone(c, t, NULL) : t);
}

void compose_resolve_neg(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    give(rets, t->flags & WICK_TENSOR_NEG ? wick_clone(c, t, NULL) : t);
}

/* ---- changes of the tensor itself ---- */
void compose_resize_(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args);
    wick_dim strides[WICK_MAX_DIMS];
    wick_memory_format format =
        args[2].tag == WICK_TAG_NONE ? WICK_CONTIGUOUS_FORMAT : (wick_memory_format)args[2].as.i;
    if (wick_requires_grad(t)) FAIL(ctx(c), FAILED_PRECONDITION, "cannot resize variables that require grad");
    if (format == WICK_PRESERVE_FORMAT) FAIL(ctx(c), UNSUPPORTED, "Unsupported memory format Preserve");
    if (wick_failed(c) || wick_fail(c, tensor_resize(ctx(c), t, (int)args[1].count, args[1].as.ints))) return;
    if (format != WICK_CONTIGUOUS_FORMAT &&
        (wick_fail(c, geometry_format(format, NULL, t->ndim, t->sizes, strides)) ||
         wick_fail(c, tensor_set_geometry(impl(t), t->ndim, t->sizes, strides, t->offset))))
        return;
    give(rets, t);
}

void compose_resize_as_(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *like = args[1].as.tensor;
    wick_resize__options o = WICK_RESIZE__OPTIONS_INIT;
    if (args[2].tag != WICK_TAG_NONE) o.memory_format = (int)args[2].as.i;
    if (o.memory_format == WICK_PRESERVE_FORMAT)
        o.memory_format = wick_is_contiguous_as(like, WICK_CHANNELS_LAST) ? WICK_CHANNELS_LAST : WICK_CONTIGUOUS_FORMAT;
    give(rets, wick_resize_(c, self_of(args), SIZES(like), &o));
}

void compose_set_(wick_context *c, const wick_value *args, wick_value *rets) {
    wick_tensor *t = self_of(args), *source = args[1].as.tensor;
    if (t->dtype != source->dtype || !wick_device_equal(t->device, source->device)) {
        FAIL(ctx(c), INVALID_ARGUMENT, "set_: the source's dtype and device must be self's, got %s for %s",
             wick_dtype_name((wick_dtype)source->dtype), wick_dtype_name((wick_dtype)t->dtype));
        return;
    }
    if (wick_fail(c, tensor_set_geometry(impl(t), source->ndim, source->sizes, source->strides, source->offset)))
        return;
    tensor_set_storage(impl(t), storage_of(source));
    version_bump(t);
    give(rets, t);
}

void compose_detach_(wick_context *c, const wick_value *args, wick_value *rets) {
    tensor_impl *t = impl(self_of(args));
    if (t->base) {
        FAIL(ctx(c), FAILED_PRECONDITION, "Can't detach views in-place. Use detach() instead.");
        return;
    }
    wick_node *history = t->grad_fn;
    t->grad_fn = NULL;
    t->requires_grad = 0;
    t->pub.keys &= ~WICK_KEY(AUTOGRAD);
    if (history) node_release(history, ctx(c));
    give(rets, &t->pub);
}
