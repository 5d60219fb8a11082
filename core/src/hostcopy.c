/* Tensors from and to host memory, and single elements. */
#include <math.h>

#include "copy.h"
#include "element.h"

static bool ready(context_impl *c, const char *function) {
    if (c->error) return false;
    return c->scope_depth ||
           !FAIL(c, FAILED_PRECONDITION, "%s: no scope is open: call wick_scope_open first", function);
}

static wick_device device_or_default(context_impl *c, wick_device device) {
    return device.type ? device : c->device.type ? c->device : wick_runtime_host(c->rt);
}

wick_tensor *wick_tensor_from_host(wick_context *pub, const void *data, wick_dtype dtype, int ndim,
                                   const wick_dim *sizes, wick_device device) {
    context_impl *c = ctx(pub);
    wick_tensor *t;
    if (!ready(c, "wick_tensor_from_host")) return NULL;
    if (fail(c, tensor_new(c, dtype, ndim, sizes, NULL, device_or_default(c, device), &t))) return NULL;
    wick_status *s = data ? tensor_write(c, t, data) : NULL;
    if (!s) return scope_own(c, t);
    tensor_release(impl(t), c);
    fail(c, s);
    return NULL;
}

/* ---- wrapping ---- */
static wick_status *check_span(uint64_t bytes, wick_dtype dtype, int ndim, const wick_dim *sizes,
                               const wick_dim *strides) {
    wick_dim numel, contiguous[WICK_MAX_DIMS];
    WICK_TRY(geometry_check(ndim, sizes, &numel, contiguous));
    wick_dim span = geometry_span(ndim, sizes, strides ? strides : contiguous);
    wick_dim wanted = span < 0 ? span : wick_dim_mul(span, (wick_dim)wick_dtype_bytes(dtype));
    if (wanted < 0)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "wick_tensor_wrap: a stride is negative or reaches too far");
    if ((uint64_t)wanted > bytes)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "wick_tensor_wrap: the buffer has %llu bytes, wanted %lld",
                          (unsigned long long)bytes, (long long)wanted);
    return NULL;
}

wick_tensor *wick_tensor_wrap(wick_context *pub, void *data, uint64_t bytes, wick_dtype dtype, int ndim,
                              const wick_dim *sizes, const wick_dim *strides, void (*deleter)(void *user), void *user) {
    context_impl *c = ctx(pub);
    wick_device host = wick_runtime_host(c->rt);
    storage_impl *storage;
    wick_tensor *t;
    if (!ready(c, "wick_tensor_wrap")) return NULL;
    if (!host.type) FAIL(c, UNAVAILABLE, "wick_tensor_wrap: no backend with the host role is loaded");
    if (!wick_dtype_bytes(dtype)) FAIL(c, INVALID_ARGUMENT, "wick_tensor_wrap: dtype %d is invalid", (int)dtype);
    if (c->error || fail(c, check_span(bytes, dtype, ndim, sizes, strides))) return NULL;
    if (fail(c, storage_new_wrapped(c->rt, host, data, bytes, NULL, NULL, &storage))) return NULL;
    bool failed = fail(c, tensor_new_view(c, &storage->pub, dtype, ndim, sizes, strides, 0,
                                          c->modes.inference ? WICK_TENSOR_INFERENCE : 0, &t));
    bool owned = !failed && scope_own(c, t);
    if (owned) {
        storage->data.wrapped.deleter = deleter; /* only now: after a failure the buffer stays the caller's */
        storage->data.wrapped.user = user;
    }
    storage_release(storage, c);
    return owned ? t : NULL;
}

/* ---- reading ---- */
wick_status *wick_tensor_to_host(wick_context *c, wick_tensor *t, void *buffer, size_t bytes) {
    if (!t) return WICK_ERROR(WICK_INVALID_ARGUMENT, "wick_tensor_to_host: the tensor is NULL");
    uint64_t wanted = (uint64_t)t->numel * wick_dtype_bytes((wick_dtype)t->dtype);
    if (bytes != wanted)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "wick_tensor_to_host: the buffer has %zu bytes, wanted %llu", bytes,
                          (unsigned long long)wanted);
    return tensor_read(ctx(c), t, buffer);
}

static bool read_one(context_impl *c, const wick_tensor *t, void *element) {
    if (c->error) return false;
    if (!t) return !FAIL(c, INVALID_ARGUMENT, "item: the tensor is NULL");
    if (t->numel != 1)
        return !FAIL(c, INVALID_ARGUMENT, "a Tensor with %lld elements cannot be converted to Scalar",
                     (long long)t->numel);
    return !fail(c, tensor_read(c, t, element));
}

double wick_item(wick_context *c, wick_tensor *t) {
    char element[16];
    return read_one(ctx(c), t, element) ? element_double((wick_dtype)t->dtype, element) : NAN;
}

int64_t wick_item_int(wick_context *c, wick_tensor *t) {
    char element[16];
    double parts[2];
    if (!read_one(ctx(c), t, element)) return 0;
    wick_value v = element_value((wick_dtype)t->dtype, element, parts);
    return wick_value_as_int(&v);
}

bool tensor_scalar(context_impl *c, const wick_tensor *t, wick_value *out) {
    char element[16];
    double parts[2];
    if (!read_one(c, t, element)) return false;
    *out = element_value((wick_dtype)t->dtype, element, parts);
    return out->tag != WICK_TAG_C128 || (out->as.c = scope_number(c, parts));
}
