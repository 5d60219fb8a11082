/* Random numbers, the same as on every other device (wick/sdk/random.h): element i takes word i % 4 of the Philox block
 * at counter offset + i / 4. A thread takes blocks. What is computed in double precision is so because the host does. */
#include "args_random.h"
#include "gpu.h"

#define THREADS 256
#define TWO_PI 6.28318530717958647692

struct random_source {
    uint64_t seed, offset;
    GPU_MEMBER philox4 high(int64_t group) const { return philox(seed, offset + (uint64_t)group, 0); }
    GPU_MEMBER philox4 low(int64_t group) const { return philox(seed, offset + (uint64_t)group, 1); }
};
/* Volatile, lest clang makes both branches one load of a chosen address, over which clang 19 never ends (InstCombine). */
GPU_FN random_source source_of(const gpu_random_state &s) {
    const volatile uint64_t *state = s.state;
    return state ? random_source{state[0], state[1] + s.offset} : random_source{s.seed, s.offset};
}

GPU_FN double unit24(uint32_t high) { return (double)(high >> 8) * (1.0 / (1 << 24)); }
GPU_FN uint64_t bits53(uint32_t high, uint32_t low) { return (uint64_t)high << 21 | low >> 11; }
GPU_FN double unit53(uint32_t high, uint32_t low) { return (double)bits53(high, low) * (1.0 / (UINT64_C(1) << 53)); }

GPU_KERNEL(random_write_state, 32, gpu_random_write_args) {
    if (gpu_thread()) return;
    a.state[0] = a.seed;
    a.state[1] = a.offset;
}

/* ---- distributions ---- */
GPU_FN double draw_one(const gpu_random_args &a, double u) {
    switch (a.kind) {
    case GPU_RANDOM_UNIFORM: return u * (a.p[1] - a.p[0]) + a.p[0];
    case GPU_RANDOM_CAUCHY: return a.p[0] + a.p[1] * tan(0.5 * TWO_PI * (u - 0.5));
    case GPU_RANDOM_EXPONENTIAL: return -log1p(-u) / a.p[0];
    case GPU_RANDOM_GEOMETRIC: return ceil(u == 0 ? 1.0 : log(u) / log1p(-a.p[0]));
    default: return u < a.p[0];
    }
}

/* Box and Muller: elements 2k and 2k + 1 share two uniform numbers. */
GPU_FN void draw_pair(const gpu_random_args &a, double *u) {
    const double r = a.p[1] * sqrt(-2 * log1p(-u[0])), angle = TWO_PI * u[1];
    u[0] = a.p[0] + r * cos(angle), u[1] = a.p[0] + r * sin(angle);
}

/* Four uniform numbers become four of the distribution. */
GPU_FN void draw_four(const gpu_random_args &a, double (&u)[4]) {
    if (a.kind == GPU_RANDOM_NORMAL || a.kind == GPU_RANDOM_LOG_NORMAL) {
        draw_pair(a, u);
        draw_pair(a, u + 2);
        return;
    }
    for (int j = 0; j < 4; ++j) u[j] = draw_one(a, u[j]);
}

GPU_FN void *element_of(const gpu_random_args &a, int64_t i) { return static_cast<char *>(a.out) + i * a.bytes; }

GPU_KERNEL(random_f32, THREADS, gpu_random_args) {
    const random_source source = source_of(a.philox);
    for (int64_t g = gpu_thread(); g * 4 < a.n; g += gpu_threads()) {
        const philox4 high = source.high(g);
        double u[4];
        for (int j = 0; j < 4; ++j) u[j] = unit24(high.v[j] & a.word_mask);
        draw_four(a, u);
        for (int j = 0; j < 4 && g * 4 + j < a.n; ++j) {
            float x = (float)u[j];
            if (a.kind == GPU_RANDOM_LOG_NORMAL) x = expf(x);
            if (a.dtype < WICK_F16)
                store_any(element_of(a, g * 4 + j), a.dtype, (int64_t)x);
            else
                store_any(element_of(a, g * 4 + j), a.dtype, x);
        }
    }
}

GPU_KERNEL(random_f64, THREADS, gpu_random_args) {
    const random_source source = source_of(a.philox);
    for (int64_t g = gpu_thread(); g * 4 < a.n; g += gpu_threads()) {
        const philox4 high = source.high(g), low = source.low(g);
        double u[4];
        for (int j = 0; j < 4; ++j) u[j] = unit53(high.v[j], low.v[j]);
        draw_four(a, u);
        for (int j = 0; j < 4 && g * 4 + j < a.n; ++j)
            static_cast<double *>(a.out)[g * 4 + j] = a.kind == GPU_RANDOM_LOG_NORMAL ? exp(u[j]) : u[j];
    }
}

/* v modulo the range, as core/ops/random.inc defines it; 0 stands for 2^64. */
GPU_FN uint64_t wide_integer(uint32_t high, uint32_t low, uint64_t range) {
    const uint64_t x = bits53(high, low), v = x << 11 | x >> 42;
    if (range == 0) return v;
    return range >> 63 && range << 1 ? v % range : (v >> 1) % range;
}

GPU_KERNEL(random_i64, THREADS, gpu_random_args) {
    const random_source source = source_of(a.philox);
    const bool wide = !a.range || a.range >> 32;
    for (int64_t g = gpu_thread(); g * 4 < a.n; g += gpu_threads()) {
        const philox4 high = source.high(g), low = wide ? source.low(g) : high;
        for (int j = 0; j < 4 && g * 4 + j < a.n; ++j) {
            const uint64_t x = wide ? wide_integer(high.v[j], low.v[j], a.range) : high.v[j] % a.range;
            store_any(element_of(a, g * 4 + j), a.dtype, (int64_t)(x + a.first));
        }
    }
}

/* ---- by probabilities, one an element ---- */
GPU_KERNEL(random_chance, THREADS, gpu_chance_args) {
    const random_source source = source_of(a.philox);
    const bool wide = a.chance_dtype == WICK_F64;
    for (int64_t g = gpu_thread(); g * 4 < a.n; g += gpu_threads()) {
        const philox4 high = source.high(g), low = wide ? source.low(g) : high;
        for (int j = 0; j < 4 && g * 4 + j < a.n; ++j) {
            int64_t at[1];
            offsets_at(a.walk, (uint32_t)(g * 4 + j), at);
            const double chance = load_any<double>(static_cast<const char *>(a.chance) + at[0], a.chance_dtype);
            const double u = wide ? unit53(high.v[j], low.v[j]) : unit24(high.v[j]);
            store_any(static_cast<char *>(a.out) + (g * 4 + j) * a.bytes, a.dtype, (int64_t)(u < chance));
        }
    }
}

/* ---- dropout ---- */
template <bool WIDE> GPU_FN void keep_four(const random_source &source, int64_t g, uint64_t keep, bool (&kept)[4]) {
    const philox4 high = source.high(g), low = WIDE ? source.low(g) : high;
    GPU_UNROLL
    for (int j = 0; j < 4; ++j) kept[j] = (WIDE ? bits53(high.v[j], low.v[j]) : high.v[j] >> 8) < keep;
}
template <class S> GPU_FN S dropped(S x, bool kept, double scale) {
    return store_as<S>(kept ? load_as<double>(x) * scale : 0.0);
}

template <class S, bool WIDE> GPU_FN void dropout(const gpu_dropout_args &a) {
    const random_source source = source_of(a.philox);
    const S *in = static_cast<const S *>(a.in);
    S *out = static_cast<S *>(a.out);
    for (int64_t g = gpu_thread(); g * 4 < a.n; g += gpu_threads()) {
        bool kept[4];
        keep_four<WIDE>(source, g, a.keep, kept);
        if (a.packed && g * 4 + 4 <= a.n) {
            pack<S, 4> x = reinterpret_cast<const pack<S, 4> *>(in)[g];
            pack<uint8_t, 4> mask;
            GPU_UNROLL
            for (int j = 0; j < 4; ++j) x.v[j] = dropped(x.v[j], kept[j], a.scale), mask.v[j] = kept[j];
            reinterpret_cast<pack<S, 4> *>(out)[g] = x;
            reinterpret_cast<pack<uint8_t, 4> *>(a.mask)[g] = mask;
            continue;
        }
        for (int j = 0; j < 4 && g * 4 + j < a.n; ++j) {
            out[g * 4 + j] = dropped(in[g * 4 + j], kept[j], a.scale);
            a.mask[g * 4 + j] = kept[j];
        }
    }
}
GPU_KERNEL(dropout_f32, THREADS, gpu_dropout_args) { dropout<float, false>(a); }
GPU_KERNEL(dropout_f64, THREADS, gpu_dropout_args) { dropout<double, true>(a); }
GPU_KERNEL(dropout_f16, THREADS, gpu_dropout_args) { dropout<f16, false>(a); }
GPU_KERNEL(dropout_bf16, THREADS, gpu_dropout_args) { dropout<bf16, false>(a); }
