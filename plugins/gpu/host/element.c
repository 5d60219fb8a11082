/* Single elements made on the host. */
#include "element.h"

wick_status *gpu_refuse(const wick_kernel_call *call, wick_dtype dtype) {
    return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "%s is not implemented for dtype %u on device %s",
                           call->host->op_name(call->op), (unsigned)dtype, gpu_of(call)->device_name);
}

wick_status *gpu_scratch(const wick_kernel_call *call, int64_t bytes, void **out) {
    wick_memory memory;
    WICK_TRY(call->host->device_workspace(call, (uint64_t)bytes, &memory));
    *out = (void *)(uintptr_t)gpu_address(&memory, 0);
    return NULL;
}

static uint32_t bits_of(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static uint16_t bf16_of(float x) {
    uint32_t u = bits_of(x);
    return (uint16_t)(x != x ? 0x7fc0 : (u + 0x7fff + (u >> 16 & 1)) >> 16);
}

/* The sum with a power of two rounds a magnitude off where f16 is subnormal; elsewhere the mantissa is rounded. */
static uint16_t f16_of(float x) {
    uint32_t u = bits_of(x), magnitude = u & 0x7fffffff, sign = u >> 16 & 0x8000;
    float tiny;
    memcpy(&tiny, &magnitude, sizeof tiny);
    if (magnitude >= 0x47800000) return (uint16_t)(sign | (magnitude > 0x7f800000 ? 0x7e00 : 0x7c00));
    if (magnitude < 0x38800000) return (uint16_t)(sign | (bits_of(tiny + 0.5f) - bits_of(0.5f)));
    return (uint16_t)(sign | (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13);
}

#define STORE(type, expression)                \
    {                                          \
        type element = (type)(expression);     \
        memcpy(out, &element, sizeof element); \
        return true;                           \
    }

bool gpu_element_of(const wick_value *v, wick_dtype dtype, void *out) {
    const double real = wick_value_as_double(v), imaginary = v->tag == WICK_TAG_C128 ? v->as.c[1] : 0;
    switch (dtype) {
    case WICK_BOOL: STORE(uint8_t, real != 0 || imaginary != 0)
    case WICK_U8: STORE(uint8_t, wick_value_as_int(v))
    case WICK_I8: STORE(int8_t, wick_value_as_int(v))
    case WICK_I16: STORE(int16_t, wick_value_as_int(v))
    case WICK_I32: STORE(int32_t, wick_value_as_int(v))
    case WICK_I64: STORE(int64_t, wick_value_as_int(v))
    case WICK_U16: STORE(uint16_t, wick_value_as_int(v))
    case WICK_U32: STORE(uint32_t, wick_value_as_int(v))
    case WICK_U64: STORE(uint64_t, wick_value_as_int(v))
    case WICK_F16: STORE(uint16_t, f16_of((float)real))
    case WICK_BF16: STORE(uint16_t, bf16_of((float)real))
    case WICK_F32: STORE(float, real)
    case WICK_F64: STORE(double, real)
    case WICK_C64: memcpy(out, (float[]){(float)real, (float)imaginary}, 8); return true;
    case WICK_C128: memcpy(out, (double[]){real, imaginary}, 16); return true;
    default: return false;
    }
}
