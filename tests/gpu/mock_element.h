/* Elements of the types that the mock libraries compute with. */
#ifndef WICK_TESTS_GPU_MOCK_ELEMENT_H
#define WICK_TESTS_GPU_MOCK_ELEMENT_H

#include <wick/sdk/element.h>

typedef enum mock_element { MOCK_F32, MOCK_F16, MOCK_BF16 } mock_element;

static inline float mock_load(const void *data, mock_element type, int64_t i) {
    if (type == MOCK_F32) return ((const float *)data)[i];
    const uint16_t bits = ((const uint16_t *)data)[i];
    return type == MOCK_F16 ? wick_f32_of_f16(bits) : wick_f32_of_bf16(bits);
}

static inline void mock_store(void *data, mock_element type, int64_t i, float x) {
    if (type == MOCK_F32)
        ((float *)data)[i] = x;
    else
        ((uint16_t *)data)[i] = type == MOCK_F16 ? wick_f16_of_f32(x) : wick_bf16_of_f32(x);
}

#endif
