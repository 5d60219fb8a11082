/* What every kernel file includes: one language over three compilers. CUDA (nvcc), HIP (clang) and, with GPU_EMULATE, a
 * plain C++ compiler that runs kernels on the CPU for tests (emulate/emulate.h).
 *
 * A kernel takes one struct by value (args.h), and is found by its name:
 *
 *     GPU_KERNEL(fill_f32, 256, fill_args) {
 *         for (int64_t i = gpu_thread(); i < a.n; i += gpu_threads()) ((float *)a.out)[i] = a.value;
 *     }
 *
 * `a` is the struct. Waves are 32 or 64 threads wide: nothing may assume one of the two but through GPU_WAVE. */
#ifndef WICK_GPU_DEVICE_H
#define WICK_GPU_DEVICE_H

#include "args.h"

#if defined(GPU_EMULATE)
#include "../emulate/emulate.h"
#elif defined(__HIP__) || defined(__HIPCC__)
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#define GPU_WAVE warpSize
#define GPU_SHUFFLE_DOWN(x, offset) __shfl_down((x), (offset))
#define GPU_SHUFFLE_XOR(x, mask) __shfl_xor((x), (mask))
#define GPU_SHUFFLE(x, lane) __shfl((x), (lane))
#else
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define GPU_WAVE 32
#define GPU_SHUFFLE_DOWN(x, offset) __shfl_down_sync(0xffffffffu, (x), (offset))
#define GPU_SHUFFLE_XOR(x, mask) __shfl_xor_sync(0xffffffffu, (x), (mask))
#define GPU_SHUFFLE(x, lane) __shfl_sync(0xffffffffu, (x), (lane))
#endif

#ifndef GPU_EMULATE
#define GPU_FN static __device__ __forceinline__
#define GPU_MEMBER __device__ __forceinline__
#define GPU_UNROLL _Pragma("unroll")
#define GPU_ROLLED _Pragma("unroll 1")
#if defined(__HIP__) || defined(__HIPCC__)
#define GPU_KERNEL(name, threads, args_type) \
    extern "C" __global__ void __launch_bounds__(threads) name(const args_type a)
#else
/* From Hopper on the host lets a kernel be set up while the one before it still runs (programmatic dependent launch,
 * plugins/cuda/vendor.c). Every kernel says at once that the next one may come, which happens when all its blocks have
 * said so, and waits here, before it touches memory, until the one before it is done. That one has waited, too: so all
 * earlier ones are done. */
GPU_FN void gpu_await_earlier() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
#define GPU_KERNEL(name, threads, args_type)                                                          \
    GPU_FN void name##_body(const args_type &a);                                                      \
    extern "C" __global__ void __launch_bounds__(threads) name(const __grid_constant__ args_type a) { \
        gpu_await_earlier();                                                                          \
        name##_body(a);                                                                               \
    }                                                                                                 \
    GPU_FN void name##_body(const args_type &a)
#endif
/* `type *name`: the launch's dynamic shared memory. */
#define GPU_DYNAMIC_SHARED(type, name)                            \
    extern __shared__ __align__(16) unsigned char gpu_dynamic_[]; \
    type *name = reinterpret_cast<type *>(gpu_dynamic_)
#endif

/* ---- positions ---- */
GPU_FN int64_t gpu_thread() { return (int64_t)blockIdx.x * blockDim.x + threadIdx.x; }
GPU_FN int64_t gpu_threads() { return (int64_t)gridDim.x * blockDim.x; }
GPU_FN int gpu_lane() { return (int)(threadIdx.x % GPU_WAVE); }

/* ---- 16-bit floating types: storage only; arithmetic is in float ---- */
struct f16 {
    uint16_t bits;
};
struct bf16 {
    uint16_t bits;
};

GPU_FN float bits_to_float(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}
GPU_FN uint32_t float_to_bits(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

GPU_FN float bf16_to_float(bf16 h) { return bits_to_float((uint32_t)h.bits << 16); }
/* Round to nearest even; a NaN stays one. */
GPU_FN bf16 float_to_bf16(float f) {
    bf16 h;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    __nv_bfloat16 x = __float2bfloat16_rn(f);
    memcpy(&h, &x, sizeof h);
#else
    uint32_t bits = float_to_bits(f);
    h.bits = (uint16_t)(f != f ? 0x7fc0 | bits >> 16 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
#endif
    return h;
}
#if defined(GPU_EMULATE)
GPU_FN float f16_to_float(f16 h) {
    _Float16 x;
    memcpy(&x, &h, sizeof x);
    return (float)x;
}
GPU_FN f16 float_to_f16(float f) {
    _Float16 x = (_Float16)f;
    f16 h;
    memcpy(&h, &x, sizeof h);
    return h;
}
#else
GPU_FN float f16_to_float(f16 h) {
    __half x;
    memcpy(&x, &h, sizeof x);
    return __half2float(x);
}
GPU_FN f16 float_to_f16(float f) {
    __half x = __float2half(f);
    f16 h;
    memcpy(&h, &x, sizeof h);
    return h;
}
#endif

/* ---- from memory to the compute type and back ---- */
template <class C, class S> struct load_as_ {
    static GPU_MEMBER C of(S s) { return (C)s; }
};
template <class C> struct load_as_<C, f16> {
    static GPU_MEMBER C of(f16 s) { return (C)f16_to_float(s); }
};
template <class C> struct load_as_<C, bf16> {
    static GPU_MEMBER C of(bf16 s) { return (C)bf16_to_float(s); }
};
template <class C, class S> GPU_FN C load_as(S s) { return load_as_<C, S>::of(s); }

template <class S, class C> struct store_as_ {
    static GPU_MEMBER S of(C c) { return (S)c; }
};
template <class C> struct store_as_<f16, C> {
    static GPU_MEMBER f16 of(C c) { return float_to_f16((float)c); }
};
template <class C> struct store_as_<bf16, C> {
    static GPU_MEMBER bf16 of(C c) { return float_to_bf16((float)c); }
};
template <class C> struct store_as_<bool, C> {
    static GPU_MEMBER bool of(C c) { return c != 0; }
};
template <class S, class C> GPU_FN S store_as(C c) { return store_as_<S, C>::of(c); }

/* The type in which elements of a storage type are computed. */
template <class S> struct compute { typedef S type; };
template <> struct compute<f16> { typedef float type; };
template <> struct compute<bf16> { typedef float type; };

/* ---- elements of any dtype (wick_dtype), chosen at run time ---- */
#define GPU_DTYPES(X)     \
    X(WICK_BOOL, uint8_t) \
    X(WICK_U8, uint8_t)   \
    X(WICK_I8, int8_t)    \
    X(WICK_I16, int16_t)  \
    X(WICK_I32, int32_t)  \
    X(WICK_I64, int64_t)  \
    X(WICK_F16, f16)      \
    X(WICK_BF16, bf16)    \
    X(WICK_F32, float)    \
    X(WICK_F64, double)

template <class C> GPU_FN C load_any(const void *p, int dtype) {
    switch (dtype) {
#define GPU_LOAD(D, S) \
    case D: return load_as<C, S>(*static_cast<const S *>(p));
        GPU_DTYPES(GPU_LOAD)
#undef GPU_LOAD
    default: return C(0);
    }
}
template <class C> GPU_FN void store_any(void *p, int dtype, C c) {
    switch (dtype) {
    case WICK_BOOL: *static_cast<uint8_t *>(p) = c != C(0); return;
#define GPU_STORE(D, S) \
    case D: *static_cast<S *>(p) = store_as<S, C>(c); return;
        GPU_STORE(WICK_U8, uint8_t)
        GPU_STORE(WICK_I8, int8_t)
        GPU_STORE(WICK_I16, int16_t)
        GPU_STORE(WICK_I32, int32_t)
        GPU_STORE(WICK_I64, int64_t)
        GPU_STORE(WICK_F16, f16)
        GPU_STORE(WICK_BF16, bf16)
        GPU_STORE(WICK_F32, float)
        GPU_STORE(WICK_F64, double)
#undef GPU_STORE
    default: return;
    }
}
/* Bytes of an element of a real dtype, and element i of a dense array of such. */
GPU_FN int64_t dtype_bytes(int dtype) {
    switch (dtype) {
    case WICK_F64:
    case WICK_I64: return 8;
    case WICK_F32:
    case WICK_I32: return 4;
    case WICK_F16:
    case WICK_BF16:
    case WICK_I16: return 2;
    default: return 1;
    }
}
template <class C> GPU_FN C load_at(const void *p, int dtype, int64_t i) {
    return load_any<C>(static_cast<const char *>(p) + i * dtype_bytes(dtype), dtype);
}
template <class C> GPU_FN void store_at(void *p, int dtype, int64_t i, C c) {
    store_any(static_cast<char *>(p) + i * dtype_bytes(dtype), dtype, c);
}

/* ---- several elements in one access ---- */
template <class S, int N> struct alignas(sizeof(S) * N) pack { S v[N]; };

/* ---- waves and blocks ---- */
template <class T, class Op> GPU_FN T wave_reduce(T x, Op op) {
    for (int offset = GPU_WAVE / 2; offset > 0; offset /= 2) x = op(x, GPU_SHUFFLE_XOR(x, offset));
    return x;
}

/* All threads of the block get the result; `shared` holds a T per wave. Every thread must call it. */
template <class T, class Op> GPU_FN T block_reduce(T x, Op op, T identity, T *shared) {
    int wave = (int)threadIdx.x / GPU_WAVE, waves = ((int)blockDim.x + GPU_WAVE - 1) / GPU_WAVE;
    x = wave_reduce(x, op);
    if (gpu_lane() == 0) shared[wave] = x;
    __syncthreads();
    T total = identity;
    for (int i = 0; i < waves; ++i) total = op(total, shared[i]);
    __syncthreads();
    return total;
}

struct op_sum {
    template <class T> GPU_MEMBER T operator()(T a, T b) const { return a + b; }
};
/* A NaN wins, as in PyTorch's amax and amin. */
struct op_max {
    template <class T> GPU_MEMBER T operator()(T a, T b) const { return a != a ? a : b != b ? b : a > b ? a : b; }
};
struct op_min {
    template <class T> GPU_MEMBER T operator()(T a, T b) const { return a != a ? a : b != b ? b : a < b ? a : b; }
};

/* ---- strided positions ---- */
/* Division by a constant: Granlund and Montgomery, "Division by Invariant Integers using Multiplication" (PLDI 1994),
 * for 31-bit numerators. */
GPU_FN uint32_t divide(uint32_t n, const gpu_divider &d) {
#if defined(GPU_EMULATE)
    uint32_t high = (uint32_t)((uint64_t)n * d.multiplier >> 32);
#else
    uint32_t high = __umulhi(n, d.multiplier);
#endif
    return (high + n) >> d.shift;
}

/* Byte offsets of element `i` of the walk for N operands. */
template <int N> GPU_FN void offsets_at(const gpu_walk &w, uint32_t i, int64_t (&offsets)[N]) {
    for (int k = 0; k < N; ++k) offsets[k] = 0;
    for (int d = 0; d < w.ndim; ++d) {
        uint32_t rest = divide(i, w.sizes[d]), index = i - rest * w.sizes[d].divisor;
        for (int k = 0; k < N; ++k) offsets[k] += (int64_t)index * w.strides[k][d];
        i = rest;
    }
}

/* ---- Philox4x32-10: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011) ---- */
struct philox4 {
    uint32_t v[4];
};
/* `stream` 1 gives the low bits of doubles. */
GPU_FN philox4 philox(uint64_t seed, uint64_t counter, uint32_t stream) {
    uint32_t x0 = (uint32_t)counter, x1 = (uint32_t)(counter >> 32), x2 = stream, x3 = 0;
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; ++round) {
        uint64_t a = (uint64_t)0xD2511F53u * x0, b = (uint64_t)0xCD9E8D57u * x2;
        x0 = (uint32_t)(b >> 32) ^ x1 ^ key0, x1 = (uint32_t)b;
        x2 = (uint32_t)(a >> 32) ^ x3 ^ key1, x3 = (uint32_t)a;
        key0 += 0x9E3779B9u, key1 += 0xBB67AE85u;
    }
    return philox4{{x0, x1, x2, x3}};
}

#endif
