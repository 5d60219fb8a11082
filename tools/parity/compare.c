/* Recorded arrays, and the comparison of results with them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parity.h"

/* ---- reading ---- */
static bool read_dims(json_t *list, int64_t *out, int *ndim) {
    size_t i, n = json_array_size(list);
    json_t *item;
    if (n > WICK_MAX_DIMS) return false;
    json_array_foreach(list, i, item) out[i] = json_integer_value(item);
    *ndim = (int)n;
    return true;
}

static int64_t product(const int64_t *sizes, int ndim) {
    int64_t n = 1;
    for (int i = 0; i < ndim; ++i) n *= sizes[i];
    return n;
}

/* One past the highest element that the view touches. */
static int64_t extent(const host_array *a) {
    int64_t last = 0;
    for (int i = 0; i < a->ndim; ++i) {
        if (a->sizes[i] == 0) return 0;
        last += (a->sizes[i] - 1) * a->strides[i];
    }
    return last + 1;
}

/* The shape that is recorded; modules and optimizers leave it to the file. */
static bool read_shape(json_t *recorded, const wick_safetensors_info *info, host_array *out) {
    json_t *shape = json_object_get(recorded, "shape");
    if (shape) return read_dims(shape, out->sizes, &out->ndim);
    if (info->ndim > WICK_MAX_DIMS) return false;
    out->ndim = info->ndim;
    for (int i = 0; i < out->ndim; ++i) out->sizes[i] = info->sizes[i];
    return true;
}

bool host_array_read(const parity_case *k, json_t *recorded, host_array *out, const char **why) {
    const char *key = json_string_value(json_is_string(recorded) ? recorded : json_object_get(recorded, "t"));
    const char *dtype = json_string_value(json_object_get(recorded, "dtype"));
    const wick_safetensors_info *info = key && k->tensors ? wick_safetensors_find(k->tensors, key) : NULL;
    int stride_count = 0;
    json_t *stride = json_object_get(recorded, "stride");
    *out = (host_array){.strided = stride != NULL};
    *why = arena_format(k->arena, "the recorded tensor %s is missing or broken", key ? key : "?");
    if (!info || !read_shape(recorded, info, out)) return false;
    out->dtype = dtype ? wick_dtype_parse(dtype) : info->dtype;
    if (!out->dtype) return false;
    if (stride && (!read_dims(stride, out->strides, &stride_count) || stride_count != out->ndim)) return false;
    out->data = wick_safetensors_data(k->tensors, info);
    size_t item_bytes = wick_dtype_bytes(out->dtype);
    out->stored = item_bytes ? (int64_t)(info->bytes / item_bytes) : 0;
    return out->strided ? extent(out) <= out->stored : product(out->sizes, out->ndim) == out->stored;
}

/* Steps `index` to the next element, row-major; returns the change of offset. */
static int64_t advance(const host_array *a, int64_t *index) {
    int64_t change = 0;
    for (int d = a->ndim - 1; d >= 0; --d) {
        change += a->strides[d];
        if (++index[d] < a->sizes[d]) break;
        change -= a->sizes[d] * a->strides[d];
        index[d] = 0;
    }
    return change;
}

/* The elements of a strided array, row-major, in the arena. */
static const char *row_major(const parity_case *k, const host_array *a) {
    if (!a->strided) return a->data;
    size_t size = wick_dtype_bytes(a->dtype);
    int64_t n = product(a->sizes, a->ndim), offset = 0, index[WICK_MAX_DIMS] = {0};
    char *out = arena_alloc(k->arena, (size_t)n * size);
    for (int64_t i = 0; i < n; ++i) {
        memcpy(out + (size_t)i * size, a->data + (size_t)offset * size, size);
        offset += advance(a, index);
    }
    return out;
}

/* ---- elements ---- */
static const char *element_text(const parity_case *k, wick_dtype dtype, const double v[2]) {
    if (wick_dtype_is_complex(dtype)) return arena_format(k->arena, "%.9g%+.9gj", v[0], v[1]);
    return arena_format(k->arena, "%.9g", v[0]);
}

/* ---- tolerances: a row for an operator widens the dtype's, with the reason ---- */
/* Where PyTorch rounds partial sums or intermediate results to the half-precision dtype and wick rounds once. */
#define ROUNDS_OFTEN                                                                                              \
    "_adaptive_avg_pool2d _adaptive_avg_pool3d _batch_norm_with_update _embedding_bag_forward_only _log_softmax " \
    "_native_batch_norm_legit _trilinear _unsafe_masked_index_put_accumulate addbmm addr baddbmm convolution "    \
    "native_batch_norm logit adaptive_avg_pool2d adaptive_avg_pool3d batch_norm log_softmax conv2d "
static const struct {
    const char *names; /* operators without overload, each with a blank behind it */
    uint32_t dtypes;
    tolerance limit;
    const char *reason;
} wider[] = {
    {ROUNDS_OFTEN, WICK_DTYPE_BIT(WICK_F16), {1e-2, 1e-2}, "partial results of 11 bits"},
    {ROUNDS_OFTEN, WICK_DTYPE_BIT(WICK_BF16), {5e-2, 5e-2}, "partial results of 8 bits"},
    {"pow __rpow__ ",
     WICK_DTYPE_BIT(WICK_F32) | WICK_DTYPE_BIT(WICK_C64),
     {1e-5, 1e-4},
     "exp(b log a) magnifies rounding by b log a"},
    {"addbmm baddbmm conv2d conv_transpose3d ", WICK_DTYPE_BIT(WICK_C64), {5e-6, 1e-4}, "sums with cancellation"},
    {"addbmm ", WICK_DTYPE_BIT(WICK_F32), {1.3e-6, 2e-5}, "sums with cancellation"},
    {"digamma polygamma special_polygamma ", WICK_DTYPE_BIT(WICK_F32), {1e-4, 1e-4}, "ill-conditioned near the poles"},
    {"scaled_dot_product_attention ", WICK_DTYPE_BIT(WICK_F32), {5e-6, 2e-5}, "softmax rebuilt from its logsumexp"},
    {"special_log_ndtr ", WICK_DTYPE_BIT(WICK_F32), {1e-5, 1e-4}, "ratio of two tails"},
};

static bool lists(const char *names, const char *name) {
    const char *at = strstr(names, name);
    return at && (at == names || at[-1] == ' ');
}

static tolerance case_tolerance(const parity_case *k, wick_dtype dtype) {
    const char *name = arena_format(k->arena, "%s ", operator_name(k));
    for (size_t i = 0; i < sizeof wider / sizeof wider[0]; ++i)
        if (wider[i].dtypes & WICK_DTYPE_BIT(dtype) && lists(wider[i].names, name)) return wider[i].limit;
    return dtype_tolerance(dtype);
}

static bool elements_equal(wick_dtype dtype, const char *expected, const char *got, int64_t i, tolerance t) {
    double e[2], g[2];
    size_t size = wick_dtype_bytes(dtype);
    if (memcmp(expected + (size_t)i * size, got + (size_t)i * size, size) == 0) return true;
    if (t.rtol == 0 && t.atol == 0) return false;
    element_read(expected, dtype, i, e);
    element_read(got, dtype, i, g);
    return element_close(e, g, t);
}

/* ---- comparison ---- */
static char *shape_text(const parity_case *k, wick_dtype dtype, const int64_t *sizes, int ndim) {
    char *text = arena_format(k->arena, "%s [", wick_dtype_name(dtype));
    for (int i = 0; i < ndim; ++i) text = arena_format(k->arena, "%s%s%lld", text, i ? ", " : "", (long long)sizes[i]);
    return arena_format(k->arena, "%s]", text);
}

/* Copies `t` to the host; NULL: *got says why. */
static char *fetch(const parity_case *k, wick_tensor *t, const char **got) {
    size_t bytes = (size_t)wick_numel(t) * wick_dtype_bytes(wick_tensor_dtype(t));
    char *data = arena_alloc(k->arena, bytes);
    wick_status *status = wick_tensor_to_host(k->p->c, t, data, bytes);
    if (!status) return data;
    *got = arena_format(k->arena, "cannot read the result: %s", wick_status_message(status));
    wick_status_free(status);
    return NULL;
}

static bool compare_elements(const parity_case *k, const host_array *a, wick_tensor *t, const char **expected,
                             const char **got) {
    const char *want = row_major(k, a), *have = fetch(k, t, got);
    tolerance limit = case_tolerance(k, a->dtype);
    int64_t n = product(a->sizes, a->ndim), wrong = 0, first = -1;
    if (!have) return false;
    for (int64_t i = 0; i < n; ++i)
        if (!elements_equal(a->dtype, want, have, i, limit) && wrong++ == 0) first = i;
    if (!wrong) return true;
    double e[2], g[2];
    element_read(want, a->dtype, first, e);
    element_read(have, a->dtype, first, g);
    *expected = element_text(k, a->dtype, e);
    *got = arena_format(k->arena, "%s at element %lld; %lld of %lld differ, %s", element_text(k, a->dtype, g),
                        (long long)first, (long long)wrong, (long long)n, shape_text(k, a->dtype, a->sizes, a->ndim));
    return false;
}

bool compare_tensor(const parity_case *k, json_t *recorded, wick_tensor *t, const char **expected, const char **got) {
    host_array a;
    *expected = "a tensor", *got = "none";
    if (!t) return false;
    if (!host_array_read(k, recorded, &a, got)) return false;
    *expected = shape_text(k, a.dtype, a.sizes, a.ndim);
    *got = shape_text(k, wick_tensor_dtype(t), t->sizes, t->ndim);
    if (strcmp(*expected, *got) != 0) return false;
    return compare_elements(k, &a, t, expected, got);
}

static bool all_zero(const char *data, const host_array *a) {
    double v[2];
    for (int64_t i = 0; i < a->stored; ++i) {
        element_read(data, a->dtype, i, v);
        if (v[0] != 0 || v[1] != 0) return false;
    }
    return true;
}

bool compare_gradient(const parity_case *k, json_t *recorded, wick_tensor *t, const char **expected, const char **got) {
    host_array a;
    if (t) return compare_tensor(k, recorded, t, expected, got);
    *expected = "a gradient", *got = "none";
    return host_array_read(k, recorded, &a, got) && all_zero(a.data, &a);
}

/* The recorded number under one of these keys; "c" is complex. */
static json_t *recorded_number(json_t *recorded) {
    static const char *const keys[] = {"b", "i", "f", "c"};
    json_t *number = NULL;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && !number; ++i) number = json_object_get(recorded, keys[i]);
    return number;
}

static double plain_number(json_t *number) {
    return json_is_boolean(number)  ? json_is_true(number)
           : json_is_string(number) ? strtod(json_string_value(number), NULL)
                                    : json_number_value(number);
}

static bool compare_number(const parity_case *k, json_t *recorded, const wick_value *v, const char **expected,
                           const char **got) {
    json_t *number = recorded_number(recorded);
    bool complex = json_is_array(number);
    tolerance limit = dtype_tolerance(complex ? WICK_C64 : WICK_F64);
    double want[2] = {plain_number(complex ? json_array_get(number, 0) : number), 0},
           have[2] = {wick_value_as_double(v), 0};
    if (complex) want[1] = plain_number(json_array_get(number, 1));
    if (v->tag == WICK_TAG_C128) have[1] = v->as.c[1];
    *expected = arena_format(k->arena, "%.17g%+gj", want[0], want[1]);
    *got = arena_format(k->arena, "%.17g%+gj (tag %u)", have[0], have[1], v->tag);
    bool scalar =
        v->tag == WICK_TAG_BOOL || v->tag == WICK_TAG_I64 || v->tag == WICK_TAG_F64 || v->tag == WICK_TAG_C128;
    return number && scalar && element_close(want, have, limit);
}

bool compare_double(const parity_case *k, json_t *recorded, double have, const char **expected, const char **got) {
    static const tolerance limit = {1e-9, 1e-12};
    double want = plain_number(recorded);
    *expected = arena_format(k->arena, "%.17g", want);
    *got = arena_format(k->arena, "%.17g", have);
    return number_close(want, have, limit);
}

bool compare_value(const parity_case *k, json_t *recorded, const wick_value *v, const char **expected,
                   const char **got) {
    if (json_object_get(recorded, "unasked")) return true; /* the function does not return what the operator does */
    if (json_object_get(recorded, "t"))
        return compare_tensor(k, recorded, v->tag == WICK_TAG_TENSOR ? v->as.tensor : NULL, expected, got);
    if (json_is_null(recorded)) {
        *expected = "none", *got = "a value";
        return v->tag == WICK_TAG_NONE;
    }
    return compare_number(k, recorded, v, expected, got);
}
