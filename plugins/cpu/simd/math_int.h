/* Integer operations with Python's and PyTorch's rules. A zero divisor gives 0; the kernel reports it beforehand. */
#ifndef WICK_CPU_MATH_INT_H
#define WICK_CPU_MATH_INT_H

#include "convert.h"

/* One text for signed and unsigned classes: for the latter some comparisons are constant. */
#pragma GCC diagnostic ignored "-Wtype-limits"
#define IS_SIGNED(T) ((T)-1 < 0)

#define INT_FUNCTIONS(T, name)                                                                                       \
    static inline T div_trunc_##name(T a, T b) {                                                                     \
        if (b == 0) return 0;                                                                                        \
        return IS_SIGNED(T) && b == (T)-1 ? (T)(0 - a) : (T)(a / b);                                                 \
    }                                                                                                                \
    static inline T fmod_##name(T a, T b) {                                                                          \
        if (b == 0 || (IS_SIGNED(T) && b == (T)-1)) return 0;                                                        \
        return (T)(a % b);                                                                                           \
    }                                                                                                                \
    static inline T remainder_##name(T a, T b) {                                                                     \
        T r = fmod_##name(a, b);                                                                                     \
        return r != 0 && (r < 0) != (b < 0) ? (T)(r + b) : r;                                                        \
    }                                                                                                                \
    static inline T div_floor_##name(T a, T b) {                                                                     \
        T q = div_trunc_##name(a, b), r = fmod_##name(a, b);                                                         \
        return r != 0 && (r < 0) != (b < 0) ? (T)(q - 1) : q;                                                        \
    }                                                                                                                \
    /* A negative exponent gives what is left of 1 / a as an integer. */                                             \
    static inline T pow_##name(T a, T b) {                                                                           \
        if (b < 0) return a == 1 ? 1 : a == (T)-1 ? (T)(b % 2 == 0 ? 1 : -1) : 0;                                    \
        T result = 1;                                                                                                \
        for (; b > 0; b = (T)(b / 2), a = (T)(a * a))                                                                \
            if (b % 2 != 0) result = (T)(result * a);                                                                \
        return result;                                                                                               \
    }                                                                                                                \
    static inline T gcd_##name(T a, T b) {                                                                           \
        while (a != 0) {                                                                                             \
            T r = fmod_##name(b, a);                                                                                 \
            b = a, a = r;                                                                                            \
        }                                                                                                            \
        return b < 0 ? (T)(0 - b) : b;                                                                               \
    }                                                                                                                \
    static inline T lcm_##name(T a, T b) {                                                                           \
        T g = gcd_##name(a, b), m = (T)(div_trunc_##name(a, g) * b);                                                 \
        return m < 0 ? (T)(0 - m) : m;                                                                               \
    }                                                                                                                \
    /* Shifts by a negative count, or by all the bits, leave nothing but the sign. */                                \
    static inline T shift_left_##name(T a, T b) { return (uint64_t)b >= sizeof(T) * 8 ? 0 : (T)((uint64_t)a << b); } \
    static inline T shift_right_##name(T a, T b) {                                                                   \
        const int all = (int)sizeof(T) * 8 - 1;                                                                      \
        if ((uint64_t)b <= (uint64_t)all) return (T)(a >> b);                                                        \
        return IS_SIGNED(T) ? (T)(a >> all) : 0;                                                                     \
    }

INT_FUNCTIONS(int64_t, i64)
INT_FUNCTIONS(int32_t, i32)
INT_FUNCTIONS(uint8_t, u8)
INT_FUNCTIONS(uint64_t, u64)

#endif
