/* Any bytes as an .npy file: what is accepted has as many elements as its sizes say. */
#include <stdlib.h>
#include <wick/io.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    wick_array array = WICK_ARRAY_INIT;
    wick_status *status = wick_npy_parse(data, bytes, "fuzz", &array);
    if (!status && array.bytes > bytes) abort();
    if (!status && array.bytes != (size_t)wick_dim_product(array.sizes, array.ndim) * wick_dtype_bytes(array.dtype))
        abort();
    wick_status_free(status);
    wick_array_free(&array);
    return 0;
}
