/* Plain host arrays, and their way to and from tensors. */
#include <wick/io.h>

#include <stdlib.h>
#include <string.h>

wick_status *wick_array_create(wick_dtype dtype, int ndim, const wick_dim *sizes, const char *source, wick_array *out) {
    size_t bytes = wick_dtype_bytes(dtype);
    bool empty = false;
    if (bytes == 0 || ndim < 0 || ndim > WICK_MAX_DIMS)
        return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: no array can have dtype %s and %d dimensions", source,
                          wick_dtype_name(dtype), ndim);
    for (int i = 0; i < ndim; ++i) {
        empty = empty || sizes[i] == 0;
        if (sizes[i] < 0 || (sizes[i] && __builtin_mul_overflow(bytes, (size_t)sizes[i], &bytes)) || bytes > INT64_MAX)
            return WICK_ERROR(WICK_INVALID_ARGUMENT, "%s: size %lld of dimension %d makes the array too large", source,
                              (long long)sizes[i], i);
    }
    wick_array array = {.dtype = dtype, .ndim = ndim, .bytes = empty ? 0 : bytes};
    array.data = malloc(array.bytes ? array.bytes : 1);
    if (!array.data) return WICK_ERROR(WICK_OUT_OF_MEMORY, "%s: no memory for %zu bytes", source, array.bytes);
    if (ndim) memcpy(array.sizes, sizes, (size_t)ndim * sizeof *sizes);
    *out = array;
    return NULL;
}

void wick_array_free(wick_array *array) {
    free(array->data);
    *array = (wick_array)WICK_ARRAY_INIT;
}

wick_tensor *wick_array_to_tensor(wick_context *c, wick_array *array) {
    if (wick_failed(c)) return NULL;
    wick_tensor *t = NULL;
    if (array->bytes) {
        t = wick_tensor_wrap(c, array->data, array->bytes, array->dtype, array->ndim, array->sizes, NULL, free,
                             array->data);
        if (t) *array = (wick_array)WICK_ARRAY_INIT;
        return t;
    }
    t = wick_tensor_from_host(c, NULL, array->dtype, array->ndim, array->sizes,
                              wick_runtime_host(wick_context_runtime(c)));
    if (t) wick_array_free(array);
    return t;
}

wick_status *wick_array_from_tensor(wick_context *c, wick_tensor *t, wick_array *out) {
    wick_array array = WICK_ARRAY_INIT;
    wick_status *status = wick_array_create(wick_tensor_dtype(t), t->ndim, t->sizes, "tensor", &array);
    if (!status) status = wick_tensor_to_host(c, t, array.data, array.bytes);
    if (status)
        wick_array_free(&array);
    else
        *out = array;
    return status;
}
