/* Makes one class's loops out of <wick/sdk/pointwise.inc>. The including file gives the types T, REAL (the real class
 * of T) and COMPLEX (its complex class), and defines PW_CLASS (the table's name), PW_KIND_R, _I or _C as 1, and
 * SCALAR(s), a wick_pointwise_scalar as a T. */
#include "math_generic.h"
#include "pointwise_each.h"

#define TYPE_T T
#define TYPE_B uint8_t
#define TYPE_R REAL
#define TYPE_C COMPLEX
#define TYPE_N int32_t
#define K(x) ((T)(x))

/* Keeps its arguments where the class is in the set. */
#ifdef PW_KIND_R
#define SET_R(...) __VA_ARGS__
#define SET_RC(...) __VA_ARGS__
#define SET_RI(...) __VA_ARGS__
#define SET_RIB(...) __VA_ARGS__
#else
#define SET_R(...)
#endif
#ifdef PW_KIND_I
#define SET_RC(...)
#define SET_RI(...) __VA_ARGS__
#define SET_RIB(...) __VA_ARGS__
#define SET_I(...) __VA_ARGS__
#define SET_IB(...) __VA_ARGS__
#else
#define SET_I(...)
#define SET_IB(...)
#endif
#ifdef PW_KIND_C
#define SET_RC(...) __VA_ARGS__
#define SET_RI(...)
#define SET_RIB(...)
#endif
#define SET_RIC(...) __VA_ARGS__
#define SET_RICB(...) __VA_ARGS__

/* `loads` reads the pointers, opens the loop and reads the elements. */
#define LOOP(id, out, loads, ...)                                                             \
    static __attribute__((unused)) void loop_##id(void *to, const void *const *in, int64_t n, \
                                                  const wick_pointwise_scalar *scalars) {     \
        const T s0 = SCALAR(scalars[0]), s1 = SCALAR(scalars[1]), s2 = SCALAR(scalars[2]);    \
        TYPE_##out *o = to;                                                                   \
        (void)s0, (void)s1, (void)s2;                                                         \
        loads RESULT = (TYPE_##out)(__VA_ARGS__);                                             \
        EACH_END                                                                              \
    }
#define LOAD1(A)                \
    const TYPE_##A *pa = in[0]; \
    EACH const TYPE_##A a = pa[i];
#define LOAD2(A, B)                \
    const TYPE_##A *pa = in[0];    \
    const TYPE_##B *pb = in[1];    \
    EACH const TYPE_##A a = pa[i]; \
    const TYPE_##B b = pb[i];
#define LOAD3(A, B, C)             \
    const TYPE_##A *pa = in[0];    \
    const TYPE_##B *pb = in[1];    \
    const TYPE_##C *pc = in[2];    \
    EACH const TYPE_##A a = pa[i]; \
    const TYPE_##B b = pb[i];      \
    const TYPE_##C c = pc[i];

/* Runs the slow expression on every stretch that needs it somewhere. */
#define LOOP_SLOW(id, out, A, condition, slow, ...)                                                                    \
    LOOP(id##_fast, out, LOAD1(A), __VA_ARGS__)                                                                        \
    LOOP(id##_slow, out, LOAD1(A), slow)                                                                               \
    static __attribute__((unused)) int needs_slow_##id(const TYPE_##A *pa, int64_t n) {                                \
        int any = 0;                                                                                                   \
        for (int64_t i = 0; i < n; ++i) {                                                                              \
            const TYPE_##A a = pa[i];                                                                                  \
            any |= (condition);                                                                                        \
        }                                                                                                              \
        return any;                                                                                                    \
    }                                                                                                                  \
    static __attribute__((unused)) void loop_##id(void *to, const void *const *in, int64_t n,                          \
                                                  const wick_pointwise_scalar *scalars) {                              \
        for (int64_t i = 0; i < n; i += 256) {                                                                         \
            int64_t count = n - i < 256 ? n - i : 256;                                                                 \
            const TYPE_##A *from = (const TYPE_##A *)in[0] + i;                                                        \
            const void *stretch[] = {from};                                                                            \
            (needs_slow_##id(from, count) ? loop_##id##_slow : loop_##id##_fast)((TYPE_##out *)to + i, stretch, count, \
                                                                                 scalars);                             \
        }                                                                                                              \
    }

#define MAP1(id, schema, ns, set, out, A, ...) SET_##set(LOOP(id, out, LOAD1(A), __VA_ARGS__))
#define MAP2(id, schema, ns, set, out, A, B, ...) SET_##set(LOOP(id, out, LOAD2(A, B), __VA_ARGS__))
#define MAP3(id, schema, ns, set, out, A, B, C, ...) SET_##set(LOOP(id, out, LOAD3(A, B, C), __VA_ARGS__))
#define PART1(id, ns, set, out, A, ...) SET_##set(LOOP(id, out, LOAD1(A), __VA_ARGS__))
#define PART2(id, ns, set, out, A, B, ...) SET_##set(LOOP(id, out, LOAD2(A, B), __VA_ARGS__))
#define PART3(id, ns, set, out, A, B, C, ...) SET_##set(LOOP(id, out, LOAD3(A, B, C), __VA_ARGS__))
#ifdef PW_KIND_R
#define MAP1_SLOW(id, schema, ns, set, out, A, condition, slow, ...) \
    SET_##set(LOOP_SLOW(id, out, A, condition, slow, __VA_ARGS__))
#endif
#include <wick/sdk/pointwise.inc>

#ifdef PW_LOOPS /* a table of these alone: X(id) for each */
#define ENTRY(id, set)
#else
#define PW_LOOPS(X)
#define ENTRY(id, set) SET_##set([WICK_PW_##id] = loop_##id, )
#endif
#define MAP1(id, schema, ns, set, ...) ENTRY(id, set)
#define MAP2(id, schema, ns, set, ...) ENTRY(id, set)
#define MAP3(id, schema, ns, set, ...) ENTRY(id, set)
#define PART1(id, ns, set, ...) ENTRY(id, set)
#define PART2(id, ns, set, ...) ENTRY(id, set)
#define PART3(id, ns, set, ...) ENTRY(id, set)
#define TABLE(name) CPU_NAME(name) /* expands PW_CLASS first */
extern const pw_loop TABLE(PW_CLASS)[WICK_PW_COUNT];
const pw_loop TABLE(PW_CLASS)[WICK_PW_COUNT] = {
#define PICK(id) [WICK_PW_##id] = loop_##id,
    PW_LOOPS(PICK)
#include <wick/sdk/pointwise.inc>
};
