/* The elementwise loops of a few expressions whose operands are all bf16: widened, computed in floats and narrowed in
 * one pass. Anything else goes through blocks of floats. */
#include "math_generic.h"
#include "pointwise.h"

#define K(x) ((T)(x))
typedef float T;

#define LISTED_add ~,
#define LISTED_sub ~,
#define LISTED_mul ~,
#define LISTED_div ~,
#define LISTED_relu ~,

/* KEEP(...) where LISTED_id has a definition, nothing elsewhere. */
#define SECOND(a, b, ...) b
#define CHOOSE(...) SECOND(__VA_ARGS__)
#define LISTED(id) CHOOSE(LISTED_##id KEEP, DROP, ~)
#define KEEP(...) __VA_ARGS__
#define DROP(...)

#define LOOP(id, pointers, loads, ...)                                                                        \
    static void loop_##id(void *to, const void *const *in, int64_t n, const wick_pointwise_scalar *scalars) { \
        const T s0 = (T)scalars[0].re;                                                                        \
        const uint16_t *pa = in[0] pointers;                                                                  \
        uint16_t *o = to;                                                                                     \
        (void)s0;                                                                                             \
        CPU_INDEPENDENT for (int64_t i = 0; i < n; ++i) {                                                     \
            const T a = f32_of_bf16(pa[i]) loads;                                                             \
            o[i] = bf16_of_f32(__VA_ARGS__);                                                                  \
        }                                                                                                     \
    }
#define COMMA ,
#define MAP1(id, schema, ns, set, O, A, ...) LISTED(id)(LOOP(id, , , __VA_ARGS__))
#define MAP2(id, schema, ns, set, O, A, B, ...) \
    LISTED(id)(LOOP(id, COMMA *pb = in[1], COMMA b = f32_of_bf16(pb[i]), __VA_ARGS__))
#define MAP3(id, ...)
#include <wick/sdk/pointwise.inc>

#define MAP1(id, ...) LISTED(id)([WICK_PW_##id] = loop_##id, )
#define MAP2(id, ...) MAP1(id, ~)
#define MAP3(id, ...)
const pw_loop CPU_NAME(pw_loops_bf16)[WICK_PW_COUNT] = {
#include <wick/sdk/pointwise.inc>
};
