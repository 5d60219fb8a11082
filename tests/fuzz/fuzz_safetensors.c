/* Any bytes as a safetensors file: what is accepted must lie in the file and cover it. */
#include <stdlib.h>
#include <wick/safetensors.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    wick_safetensors *file = NULL;
    wick_status *status = wick_safetensors_parse(NULL, data, bytes, "fuzz", &file);
    if (status) {
        wick_status_free(status);
        return 0;
    }
    uint8_t sink = 0;
    uint64_t total = 0;
    const wick_safetensors_info *t = NULL;
    for (size_t i = 0; (t = wick_safetensors_at(file, i)) != NULL; ++i) {
        const uint8_t *at = wick_safetensors_data(file, t);
        for (uint64_t k = 0; k < t->bytes; ++k) sink ^= at[k];
        if (t->bytes != (uint64_t)wick_dim_product(t->sizes, t->ndim) * wick_dtype_bytes(t->dtype)) abort();
        if (wick_safetensors_find(file, t->name) != t) abort();
        total += t->bytes;
    }
    wick_safetensors_pair pair;
    for (size_t i = 0; wick_safetensors_metadata_at(file, i, &pair); ++i)
        if (wick_safetensors_metadata(file, pair.key) != pair.value) abort();
    volatile uint8_t keep = sink; /* makes the reads real */
    (void)keep;
    if (total > bytes) abort();
    wick_safetensors_close(file);
    return 0;
}
