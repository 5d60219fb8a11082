/* Elementary functions of floats, written so that the compiler vectorizes the loops that inline them: no branches, no
 * tables, no calls. Errors are below 3 units in the last place unless said otherwise; NaN, infinities, subnormals and
 * zeros as in <math.h>. Where a range needs something slower, a *_is_slow() says so and the caller uses <math.h> for
 * that block. */
#ifndef WICK_CPU_MATH_F32_H
#define WICK_CPU_MATH_F32_H

#include "convert.h"

#include <math.h>

#if defined(__FMA__) || defined(__aarch64__)
#define FMA_F32(a, b, c) __builtin_fmaf((a), (b), (c))
#define FMA_F64(a, b, c) __builtin_fma((a), (b), (c))
#else
#define FMA_F32(a, b, c) ((a) * (b) + (c))
#define FMA_F64(a, b, c) ((a) * (b) + (c))
#endif

/* Adding it leaves the nearest integer in the low bits of the sum: |x| < 2^22. */
#define ROUND_MAGIC_F32 12582912.0f

/* Of what the compiler deems too long to be inlined: a call keeps a loop from being vectorized. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

static inline float abs_f32(float x) { return __builtin_fabsf(x); }
static inline float copysign_f32(float x, float sign) { return __builtin_copysignf(x, sign); }

static inline float pow2_f32(int32_t n) { return f32_of_bits((uint32_t)(n + 127) << 23); }

/* As ROUND_MAGIC_F32, but the low bits hold the integer plus twice the bias of an exponent. */
#define SCALE_MAGIC_F32 (ROUND_MAGIC_F32 + 254.0f)

/* p * 2^n for n in [-252, 254], with `t` the bits of SCALE_MAGIC_F32 + n: in two steps, so that subnormal results round
 * once and 2^128 does not overflow. */
static inline float scale_f32(float p, uint32_t t) {
    uint32_t half = t >> 1;
    return p * f32_of_bits(half << 23) * f32_of_bits((t - half) << 23);
}

/* 1 / x to 3 units in the last place, for x in [2^-126, 2^125]; NaN passes. Steps of Newton's method from a guess
 * that is wrong by an eighth at most take far less time than the hardware's division, but where CPU_DIVIDES_FAST says
 * that it is the other way round. */
static inline float reciprocal_bounded_f32(float x) {
#ifdef CPU_DIVIDES_FAST
    return 1.0f / x;
#endif
    float y = f32_of_bits(0x7ef311c7 - bits_of_f32(x)), e = FMA_F32(-x, y, 1.0f);
    y = FMA_F32(y, FMA_F32(e, e, e), y);
    return FMA_F32(y, FMA_F32(-x, y, 1.0f), y);
}

/* x = n ln2 + r with |r| <= ln2 / 2. */
static inline float exp_reduce_f32(float x, int32_t *n) {
    float t = FMA_F32(x, 1.44269504f, ROUND_MAGIC_F32);
    float whole = t - ROUND_MAGIC_F32;
    *n = (int32_t)(bits_of_f32(t) - bits_of_f32(ROUND_MAGIC_F32));
    return FMA_F32(whole, -1.42860677e-6f, FMA_F32(whole, -0.693145752f, x));
}

/* (exp(r) - 1 - r) / r^2 for |r| <= ln2 / 2. */
static inline float exp_tail_f32(float r) {
    float p = 1.37805939e-3f;
    p = FMA_F32(p, r, 8.37312452e-3f);
    p = FMA_F32(p, r, 4.16695364e-2f);
    p = FMA_F32(p, r, 1.66664720e-1f);
    return FMA_F32(p, r, 4.99999851e-1f);
}

static inline float clamp_f32(float x, float low, float high) {
    x = x < low ? low : x; /* NaN passes */
    return x > high ? high : x;
}

/* Limits are set where they cost one instruction: what is too big ends with a big r and so with infinity. */
ALWAYS_INLINE float exp_f32(float x) {
    const uint32_t top = bits_of_f32(SCALE_MAGIC_F32 + 130.0f);
    x = x < -105.0f ? -105.0f : x; /* NaN passes */
    uint32_t t = bits_of_f32(FMA_F32(x, 1.44269504f, SCALE_MAGIC_F32));
    t = t < top ? t : top;
    float whole = f32_of_bits(t) - SCALE_MAGIC_F32;
    float r = FMA_F32(whole, -1.42860677e-6f, FMA_F32(whole, -0.693145752f, x));
    return scale_f32(FMA_F32(FMA_F32(exp_tail_f32(r), r, 1.0f), r, 1.0f), t);
}

/* exp(x) for |x| <= 87, where the result is normal. */
static inline float exp_bounded_f32(float x) {
    int32_t n;
    float r = exp_reduce_f32(x, &n);
    return FMA_F32(FMA_F32(exp_tail_f32(r), r, 1.0f), r, 1.0f) * pow2_f32(n);
}

static inline float exp2_f32(float x) {
    x = clamp_f32(x, -152.0f, 130.0f);
    float t = x + SCALE_MAGIC_F32;
    float r = (x - (t - SCALE_MAGIC_F32)) * 0.693147181f;
    return scale_f32(FMA_F32(FMA_F32(exp_tail_f32(r), r, 1.0f), r, 1.0f), bits_of_f32(t));
}

/* 2^n (exp(r) - 1) + (2^n - 1), with half of 2^n so that the largest results do not overflow on the way. */
static inline float expm1_f32(float x) {
    int32_t n;
    float r = exp_reduce_f32(clamp_f32(x, -20.0f, 89.0f), &n);
    float p = FMA_F32(exp_tail_f32(r) * r, r, r), half = pow2_f32(n - 1);
    return x == 0 ? x : 2 * FMA_F32(half, p, half - 0.5f);
}

ALWAYS_INLINE float sigmoid_f32(float x) {
    float e = exp_f32(-abs_f32(x));
    return (x < 0 ? e : 1.0f) * reciprocal_bounded_f32(1.0f + e);
}

/* The square of min(t, limit), for t >= 0; what NaN gives is a number. */
static inline float square_below_f32(float t, float limit) {
    uint32_t u = bits_of_f32(t), top = bits_of_f32(limit);
    float least = f32_of_bits(u < top ? u : top);
    return least * least;
}

/* x P(x^2) / Q(x^2), which is 1 from 8 on; errors are below 7 units in the last place. */
ALWAYS_INLINE float tanh_f32(float x) {
    float t = abs_f32(x), s = square_below_f32(t, 8.0f), p = -2.76076847742355e-16f, q = 1.19825839466702e-06f;
    p = FMA_F32(p, s, 2.00018790482477e-13f);
    q = FMA_F32(q, s, 1.18534705686654e-04f);
    p = FMA_F32(p, s, -8.60467152213735e-11f);
    q = FMA_F32(q, s, 2.26843463243900e-03f);
    p = FMA_F32(p, s, 5.12229709037114e-08f);
    q = FMA_F32(q, s, 4.89352518554385e-03f);
    p = FMA_F32(p, s, 1.48572235717979e-05f);
    p = FMA_F32(p, s, 6.37261928875436e-04f);
    p = FMA_F32(p, s, 4.89352455891786e-03f);
    float value = p * reciprocal_bounded_f32(q) * t; /* above 1 where t is above the limit; NaN passes */
    return copysign_f32(value > 1.0f ? 1.0f : value, x);
}

static inline float sinh_f32(float x) {
    float t = abs_f32(x), e = expm1_f32(t), h = exp_f32(0.5f * t);
    float near = 0.5f * (e + e / (e + 1.0f));
    return copysign_f32(t > 88.0f ? 0.5f * h * h : near, x);
}

static inline float cosh_f32(float x) {
    float t = abs_f32(x), e = exp_f32(t), h = exp_f32(0.5f * t);
    return t > 88.0f ? 0.5f * h * h : FMA_F32(0.5f, e, 0.5f / e);
}

/* x = 2^e (1 + f) with 1 + f in [2/3, 4/3), for positive finite x. */
static inline float log_reduce_f32(float x, float *e) {
    bool subnormal = x < 1.17549435e-38f;
    uint32_t u = bits_of_f32(subnormal ? x * 8388608.0f : x);
    uint32_t exponent = (u - 0x3f2aaaab) & 0xff800000;
    *e = FMA_F32((float)(int32_t)exponent, 1.19209290e-7f, subnormal ? -23.0f : 0.0f);
    return f32_of_bits(u - exponent) - 1.0f;
}

/* log(1 + f) for 1 + f in [2/3, 4/3). */
static inline float log_tail_f32(float f) {
    float s = f * f, r = -0.130310059f, t = 0.140869141f;
    r = FMA_F32(r, s, -0.121483751f);
    t = FMA_F32(t, s, 0.139814854f);
    r = FMA_F32(r, s, -0.166846126f);
    t = FMA_F32(t, s, 0.200120345f);
    r = FMA_F32(r, s, -0.249996200f);
    r = FMA_F32(t, f, r);
    r = FMA_F32(r, f, 0.333331972f);
    r = FMA_F32(r, f, -0.5f);
    return FMA_F32(r, s, f);
}

/* The logarithm of x that `value` is for positive finite x. */
static inline float log_finish_f32(float x, float value) {
    value = x < __builtin_inff() ? value : x; /* infinity and NaN */
    value = x == 0 ? -__builtin_inff() : value;
    return x < 0 ? __builtin_nanf("") : value;
}

static inline float log_f32(float x) {
    float e, tail = log_tail_f32(log_reduce_f32(x, &e));
    return log_finish_f32(x, FMA_F32(e, 0.693147182f, tail));
}

static inline float log2_f32(float x) {
    float e, tail = log_tail_f32(log_reduce_f32(x, &e));
    return log_finish_f32(x, FMA_F32(tail, 1.44269504f, e));
}

static inline float log10_f32(float x) {
    float e, tail = log_tail_f32(log_reduce_f32(x, &e));
    return log_finish_f32(x, FMA_F32(e, 0.301029996f, tail * 0.434294482f));
}

static inline float log1p_f32(float x) {
    float u = 1.0f + x, lost = x - (u - 1.0f), value = log_f32(u);
    value = u > 0 && u < __builtin_inff() ? value + lost / u : value;
    return x == 0 ? x : value;
}

static inline float asinh_f32(float x) {
    float t = abs_f32(x), s = t * t;
    float near = log1p_f32(t + s / (1.0f + __builtin_sqrtf(1.0f + s)));
    float far = log_f32(t) + 0.693147181f;
    return copysign_f32(t > 1e9f ? far : near, x);
}

static inline float acosh_f32(float x) {
    float t = x - 1.0f;
    float near = log1p_f32(t + __builtin_sqrtf(FMA_F32(t, t, 2 * t)));
    float far = log_f32(x) + 0.693147181f;
    return x > 1e9f ? far : near;
}

static inline float atanh_f32(float x) {
    float t = abs_f32(x);
    return copysign_f32(0.5f * log1p_f32(2 * t / (1.0f - t)), x);
}

/* ---- circular functions ---- */
#if defined(__FMA__) || defined(__aarch64__)
#define TRIG_LIMIT_F32 40000.0f
#define TRIG_PI_2_A 1.57079601e+00f
#define TRIG_PI_2_B 3.13916473e-07f
#define TRIG_PI_2_C 5.39030253e-15f
#else /* parts short enough that their products with a quotient are exact */
#define TRIG_LIMIT_F32 4000.0f
#define TRIG_PI_2_A 1.5703125f
#define TRIG_PI_2_B 4.837512969970703125e-4f
#define TRIG_PI_2_C 7.549789948768648e-8f
#endif

/* True where the reduction below loses accuracy; NaN and infinities too. */
static inline bool trig_is_slow_f32(float x) { return !(abs_f32(x) <= TRIG_LIMIT_F32); }

/* x = quadrant pi/2 + r with |r| <= pi/4. */
static inline float trig_reduce_f32(float x, uint32_t *quadrant) {
    float t = FMA_F32(x, 0.636619772f, ROUND_MAGIC_F32), n = t - ROUND_MAGIC_F32;
    *quadrant = bits_of_f32(t);
    return FMA_F32(n, -TRIG_PI_2_C, FMA_F32(n, -TRIG_PI_2_B, FMA_F32(n, -TRIG_PI_2_A, x)));
}

static inline float sin_tail_f32(float r) {
    float s = r * r, p = 2.86567956e-6f;
    p = FMA_F32(p, s, -1.98559923e-4f);
    p = FMA_F32(p, s, 8.33338592e-3f);
    p = FMA_F32(p, s, -1.66666672e-1f);
    return FMA_F32(p, r * s, r);
}

static inline float cos_tail_f32(float r) {
    float s = r * r, p = 2.44677067e-5f;
    p = FMA_F32(p, s, -1.38877297e-3f);
    p = FMA_F32(p, s, 4.16666567e-2f);
    p = FMA_F32(p, s, -5.00000000e-1f);
    return FMA_F32(p, s, 1.0f);
}

static inline float sin_quadrant_f32(float r, uint32_t quadrant) {
    float value = quadrant & 1 ? cos_tail_f32(r) : sin_tail_f32(r);
    return f32_of_bits(bits_of_f32(value) ^ (quadrant & 2) << 30);
}

static inline float sin_f32(float x) {
    uint32_t quadrant;
    float r = trig_reduce_f32(x, &quadrant);
    return x == 0 ? x : sin_quadrant_f32(r, quadrant);
}

static inline float cos_f32(float x) {
    uint32_t quadrant;
    float r = trig_reduce_f32(x, &quadrant);
    return sin_quadrant_f32(r, quadrant + 1);
}

static inline float tan_f32(float x) {
    uint32_t quadrant;
    float r = trig_reduce_f32(x, &quadrant), s = sin_tail_f32(r), c = cos_tail_f32(r);
    return x == 0 ? x : quadrant & 1 ? -c / s : s / c;
}

static inline float atan_f32(float x) {
    float t = abs_f32(x), z = t > 1 ? 1.0f / t : t, s = z * z, p = -0.0018271847f;
    p = FMA_F32(p, s, 0.0110643152f);
    p = FMA_F32(p, s, -0.0314554684f);
    p = FMA_F32(p, s, 0.0582343191f);
    p = FMA_F32(p, s, -0.0841944590f);
    p = FMA_F32(p, s, 0.109575719f);
    p = FMA_F32(p, s, -0.142652452f);
    p = FMA_F32(p, s, 0.199986383f);
    p = FMA_F32(p, s, -0.333333015f);
    p = FMA_F32(p * s, z, z);
    return copysign_f32(t > 1 ? 1.57079633f - p : p, x);
}

/* asin(z) for |z| <= 1/2. */
static inline float asin_tail_f32(float z) {
    float s = z * z, p = 0.0374822691f;
    p = FMA_F32(p, s, 0.0144675085f);
    p = FMA_F32(p, s, 0.0317984037f);
    p = FMA_F32(p, s, 0.0445183665f);
    p = FMA_F32(p, s, 0.0750049427f);
    p = FMA_F32(p, s, 0.166666597f);
    return FMA_F32(p * s, z, z);
}

static inline float asin_f32(float x) {
    float t = abs_f32(x), far = __builtin_sqrtf(FMA_F32(-0.5f, t, 0.5f));
    float p = asin_tail_f32(t > 0.5f ? far : t);
    return copysign_f32(t > 0.5f ? FMA_F32(-2.0f, p, 1.57079633f) : p, x);
}

static inline float acos_f32(float x) {
    float t = abs_f32(x), far = __builtin_sqrtf(FMA_F32(-0.5f, t, 0.5f));
    float p = asin_tail_f32(t > 0.5f ? far : x);
    float outer = x > 0 ? 2 * p : FMA_F32(-2.0f, p, 3.14159265f);
    return t > 0.5f ? outer : 1.57079633f - p;
}

/* ---- the error function ---- */
/* x within [-limit, limit], through integers, where a minimum is one instruction; what NaN gives is a number. */
static inline float clamp_both_f32(float x, float limit) {
    int32_t top = (int32_t)bits_of_f32(limit), below = (int32_t)bits_of_f32(x);
    below = below < top ? below : top; /* all that are negative are */
    uint32_t u = (uint32_t)below, bottom = bits_of_f32(-limit);
    return f32_of_bits(u < bottom ? u : bottom); /* all that are positive are */
}

#ifdef CPU_DIVIDES_FAST
/* The distribution function of the standard normal distribution, less a half: x P(x^2) / Q(x^2), which is a half from 5.54
 * on. Half as many multiplications as in the polynomial below. */
ALWAYS_INLINE float normal_half_f32(float x) {
    float t = abs_f32(x), s = square_below_f32(t, 5.5437f), p = 2.26504677e-08f, q = 1.19036736e-06f;
    p = FMA_F32(p, s, 6.29509949e-06f);
    q = FMA_F32(q, s, 7.26589437e-05f);
    p = FMA_F32(p, s, 1.66419605e-04f);
    q = FMA_F32(q, s, 1.87115922e-03f);
    p = FMA_F32(p, s, 4.66238035e-03f);
    q = FMA_F32(q, s, 2.85273444e-02f);
    p = FMA_F32(p, s, 3.36595374e-02f);
    q = FMA_F32(q, s, 2.51038319e-01f);
    float value = FMA_F32(p, s, 3.98942273e-01f) * t / FMA_F32(q, s, 1.0f);
    return copysign_f32(value > 0.5f ? 0.5f : value, x); /* above it where t is above the limit; NaN passes */
}
static inline float normal_cdf_f32(float x) { return 0.5f + normal_half_f32(x); }
/* Errors are below 6 units in the last place. */
static inline float erf_f32(float x) { return 2.0f * normal_half_f32(x * 1.41421356f); }
#else
/* x P(x^2 - m) with m in the middle of [0, limit^2], where no power of the argument outgrows the sum; 1 from the limit
 * on. Errors are below 6 units in the last place, without fused multiply-adds below 7. */
ALWAYS_INLINE float erf_f32(float x) {
    const float limit = 3.82f, middle = 7.2962f;
    float t = clamp_both_f32(x, limit), v = FMA_F32(t, t, -middle), w = v * v;
    float p = 8.84201124e-16f, q = -1.79194817e-14f; /* even and odd powers from the second on: two short chains */
    p = FMA_F32(p, w, 1.18767789e-13f);
    q = FMA_F32(q, w, -1.03563089e-12f);
    p = FMA_F32(p, w, 2.34232009e-11f);
    q = FMA_F32(q, w, -3.27424532e-10f);
    p = FMA_F32(p, w, 3.44315043e-09f);
    q = FMA_F32(q, w, -3.58666910e-08f);
    p = FMA_F32(p, w, 3.67791500e-07f);
    q = FMA_F32(q, w, -3.52388292e-06f);
    p = FMA_F32(p, w, 3.20627842e-05f);
    q = FMA_F32(q, w, -2.85435672e-04f);
    p = FMA_F32(p, w, 2.57588737e-03f);
    p = FMA_F32(q, v, p);
    p = FMA_F32(p, v, -2.53144894e-02f);
#if defined(__FMA__) || defined(__aarch64__)
    p = FMA_F32(p, v, 3.70163649e-01f) * t; /* at most 1 */
#else
    p = clamp_f32(FMA_F32(p, v, 3.70163679e-01f) * t, -1.0f, 1.0f);
#endif
    return x == x ? p : x;
}
#endif

/* ---- power: through doubles, whose extra bits absorb the error that the exponent magnifies ---- */
/* log2(x) for x > 0, x normal as a double. */
static inline double log2_for_pow(double x) {
    int64_t u;
    memcpy(&u, &x, sizeof u);
    int64_t exponent = (u - 0x3fe6a09e667f3bcd) >> 52; /* 1 + f in [sqrt(1/2), sqrt(2)) */
    int64_t mantissa = u - exponent * (INT64_C(1) << 52);
    double m;
    memcpy(&m, &mantissa, sizeof m);
    double z = (m - 1.0) / (m + 1.0), s = z * z, p = 2.8853900817779268 / 15;
    p = FMA_F64(p, s, 2.8853900817779268 / 13);
    p = FMA_F64(p, s, 2.8853900817779268 / 11);
    p = FMA_F64(p, s, 2.8853900817779268 / 9);
    p = FMA_F64(p, s, 2.8853900817779268 / 7);
    p = FMA_F64(p, s, 2.8853900817779268 / 5);
    p = FMA_F64(p, s, 2.8853900817779268 / 3);
    p = FMA_F64(p, s, 2.8853900817779268);
    return FMA_F64(p, z, (double)(int32_t)exponent);
}

/* 2^t to 1e-11, for |t| <= 1000. */
static inline double exp2_for_pow(double t) {
    double shifted = t + 6755399441055744.0, r = (t - (shifted - 6755399441055744.0)) * 0.69314718055994531;
    double p = 1.0 / 362880;
    p = FMA_F64(p, r, 1.0 / 40320);
    p = FMA_F64(p, r, 1.0 / 5040);
    p = FMA_F64(p, r, 1.0 / 720);
    p = FMA_F64(p, r, 1.0 / 120);
    p = FMA_F64(p, r, 1.0 / 24);
    p = FMA_F64(p, r, 1.0 / 6);
    p = FMA_F64(p, r, 0.5);
    p = FMA_F64(p, r, 1.0);
    p = FMA_F64(p, r, 1.0);
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;
    double scale;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

static inline float pow_f32(float x, float y) {
    float ax = abs_f32(x), infinity = __builtin_inff();
    double lg = log2_for_pow((double)ax);
    lg = ax == 0 ? -(double)infinity : ax < infinity ? lg : (double)ax;
    double t = (double)y * lg;
    t = t < -200 ? -200 : t;
    t = t > 200 ? 200 : t;
    float value = (float)exp2_for_pow(t);
    float half = 0.5f * y, whole_y = __builtin_rintf(y), whole_half = __builtin_rintf(half);
    bool integral = whole_y == y, odd = integral && whole_half != half;
    value = x < 0 && !integral && ax < infinity ? __builtin_nanf("") : value;
    value = odd ? copysign_f32(value, x) : value;
    value = ax == 1 && abs_f32(y) == infinity ? 1.0f : value;
    return y == 0 || x == 1 ? 1.0f : value;
}

#endif
