/* Elementwise operators: operands come in blocks of their class, one expression is computed, the block is stored. */
#include "kernel.h"

#include <math.h>

typedef void (*loop_fn)(ref_block *out, const ref_block *in, ref_number scalar, int64_t n);

struct ref_pointwise {
    int operands;
    bool selects;   /* operand 0 is a condition, of dtype bool or u8 */
    bool predicate; /* the result is true or false */
    bool scaled;    /* the argument after the operands is the scalar `s` */
    loop_fn loops[REF_CLASS_COUNT];
};

/* ---- loops: a, b are the operands, s the scalar, T their class ---- */
#define LOOP1(name, CLASS, type, OUT, ...)                                                          \
    static void name##_##CLASS(ref_block *out, const ref_block *in, ref_number scalar, int64_t n) { \
        for (int64_t i = 0; i < n; ++i) {                                                           \
            const type a = in[0].CLASS[i];                                                          \
            out->OUT[i] = (__VA_ARGS__);                                                            \
        }                                                                                           \
    }
#define LOOP2(name, CLASS, type, OUT, ...)                                                          \
    static void name##_##CLASS(ref_block *out, const ref_block *in, ref_number scalar, int64_t n) { \
        const type s = scalar.CLASS;                                                                \
        (void)s;                                                                                    \
        for (int64_t i = 0; i < n; ++i) {                                                           \
            const type a = in[0].CLASS[i], b = in[1].CLASS[i];                                      \
            out->OUT[i] = (__VA_ARGS__);                                                            \
        }                                                                                           \
    }
#define LOOP_WHERE(CLASS, type)                                                                         \
    static void where_##CLASS(ref_block *out, const ref_block *in, ref_number scalar, int64_t n) {      \
        for (int64_t i = 0; i < n; ++i) out->CLASS[i] = in[0].INT[i] ? in[1].CLASS[i] : in[2].CLASS[i]; \
    }

#define REAL1(name, ...) LOOP1(name, REAL, double, REAL, __VA_ARGS__)
#define INT1(name, ...) LOOP1(name, INT, int64_t, INT, __VA_ARGS__)
#define UINT1(name, ...) LOOP1(name, UINT, uint64_t, UINT, __VA_ARGS__)
#define COMPLEX1(name, ...) LOOP1(name, COMPLEX, double complex, COMPLEX, __VA_ARGS__)
#define REAL2(name, ...) LOOP2(name, REAL, double, REAL, __VA_ARGS__)
#define INT2(name, ...) LOOP2(name, INT, int64_t, INT, __VA_ARGS__)
#define UINT2(name, ...) LOOP2(name, UINT, uint64_t, UINT, __VA_ARGS__)
#define COMPLEX2(name, ...) LOOP2(name, COMPLEX, double complex, COMPLEX, __VA_ARGS__)
#define ORDERED2(name, ...) REAL2(name, __VA_ARGS__) INT2(name, __VA_ARGS__) UINT2(name, __VA_ARGS__)
#define ALL2(name, ...) ORDERED2(name, __VA_ARGS__) COMPLEX2(name, __VA_ARGS__)
#define ORDER(name, ...)                        \
    LOOP2(name, REAL, double, INT, __VA_ARGS__) \
    LOOP2(name, INT, int64_t, INT, __VA_ARGS__) \
    LOOP2(name, UINT, uint64_t, INT, __VA_ARGS__)

/* A negative exponent gives what is left of 1 / a as an integer. */
static uint64_t power(uint64_t a, uint64_t b) {
    uint64_t result = 1;
    for (; b; b >>= 1, a *= a)
        if (b & 1) result *= a;
    return result;
}
static int64_t signed_power(int64_t a, int64_t b) {
    if (b >= 0) return (int64_t)power((uint64_t)a, (uint64_t)b);
    return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
}
static double complex complex_power(double complex a, double complex b) {
    if (b == 0) return 1;
    return a == 0 ? (creal(b) > 0 ? 0 : CMPLX(NAN, NAN)) : cpow(a, b);
}

/* clang-format off */
REAL1(neg, -a) INT1(neg, -a) UINT1(neg, -a) COMPLEX1(neg, -a)
REAL1(exp, exp(a)) COMPLEX1(exp, cexp(a))
REAL1(log, log(a)) COMPLEX1(log, clog(a))
REAL1(sqrt, sqrt(a)) COMPLEX1(sqrt, csqrt(a))
REAL1(reciprocal, 1 / a) COMPLEX1(reciprocal, 1 / a)
REAL1(sin, sin(a)) COMPLEX1(sin, csin(a))
REAL1(cos, cos(a)) COMPLEX1(cos, ccos(a))
REAL1(tanh, tanh(a)) COMPLEX1(tanh, ctanh(a))
REAL1(erf, erf(a))
REAL1(floor, floor(a)) INT1(floor, a) UINT1(floor, a)
LOOP1(logical_not, REAL, double, INT, a == 0)
LOOP1(logical_not, INT, int64_t, INT, a == 0)
LOOP1(logical_not, UINT, uint64_t, INT, a == 0)
LOOP1(logical_not, COMPLEX, double complex, INT, a == 0)
REAL1(conj_physical, a) INT1(conj_physical, a) UINT1(conj_physical, a) COMPLEX1(conj_physical, conj(a))
ALL2(add, a + s * b)
ALL2(mul, a * b)
REAL2(div, a / b) COMPLEX2(div, a / b)
REAL2(pow, pow(a, b)) INT2(pow, signed_power(a, b)) UINT2(pow, power(a, b)) COMPLEX2(pow, complex_power(a, b))
REAL2(atan2, atan2(a, b))
ORDERED2(maximum, a > b || a != a ? a : b)
ORDERED2(minimum, a < b || a != a ? a : b)
ORDER(eq, a == b) LOOP2(eq, COMPLEX, double complex, INT, a == b)
ORDER(lt, a < b)
ORDER(le, a <= b)
INT2(bitwise_and, a & b) UINT2(bitwise_and, a & b)
REF_CLASSES(LOOP_WHERE)

#define R(name) [REF_REAL] = name##_REAL
#define I(name) [REF_INT] = name##_INT, [REF_UINT] = name##_UINT
#define C(name) [REF_COMPLEX] = name##_COMPLEX
const ref_pointwise ref_neg = {1, .loops = {R(neg), I(neg), C(neg)}};
const ref_pointwise ref_exp = {1, .loops = {R(exp), C(exp)}};
const ref_pointwise ref_log = {1, .loops = {R(log), C(log)}};
const ref_pointwise ref_sqrt = {1, .loops = {R(sqrt), C(sqrt)}};
const ref_pointwise ref_reciprocal = {1, .loops = {R(reciprocal), C(reciprocal)}};
const ref_pointwise ref_sin = {1, .loops = {R(sin), C(sin)}};
const ref_pointwise ref_cos = {1, .loops = {R(cos), C(cos)}};
const ref_pointwise ref_tanh = {1, .loops = {R(tanh), C(tanh)}};
const ref_pointwise ref_erf = {1, .loops = {R(erf)}};
const ref_pointwise ref_floor = {1, .loops = {R(floor), I(floor)}};
const ref_pointwise ref_logical_not = {1, .predicate = true, .loops = {R(logical_not), I(logical_not), C(logical_not)}};
const ref_pointwise ref_conj_physical = {1, .loops = {R(conj_physical), I(conj_physical), C(conj_physical)}};
const ref_pointwise ref_add = {2, .scaled = true, .loops = {R(add), I(add), C(add)}};
const ref_pointwise ref_mul = {2, .loops = {R(mul), I(mul), C(mul)}};
const ref_pointwise ref_div = {2, .loops = {R(div), C(div)}};
const ref_pointwise ref_pow = {2, .loops = {R(pow), I(pow), C(pow)}};
const ref_pointwise ref_atan2 = {2, .loops = {R(atan2)}};
const ref_pointwise ref_maximum = {2, .loops = {R(maximum), I(maximum)}};
const ref_pointwise ref_minimum = {2, .loops = {R(minimum), I(minimum)}};
const ref_pointwise ref_eq = {2, .predicate = true, .loops = {R(eq), I(eq), C(eq)}};
const ref_pointwise ref_lt = {2, .predicate = true, .loops = {R(lt), I(lt)}};
const ref_pointwise ref_le = {2, .predicate = true, .loops = {R(le), I(le)}};
const ref_pointwise ref_bitwise_and = {2, .loops = {I(bitwise_and)}};
const ref_pointwise ref_where = {3, .selects = true, .loops = {R(where), I(where), C(where)}};
/* clang-format on */

/* ---- on the worker ---- */
#define OPERANDS 4 /* the output and at most three inputs */

typedef struct pointwise_work {
    loop_fn loop;
    int inputs;
    ref_number scalar;
    ref_store_fn store;
    ref_load_fn loads[OPERANDS];        /* of operands 1 .. inputs */
    uint64_t host_numbers[OPERANDS][2]; /* elements that were on the host */
    bool on_host[OPERANDS];
    wick_iter it;
} pointwise_work;

static wick_status *run(ref_device *device, const void *payload) {
    const pointwise_work *w = payload;
    const wick_iter *it = &w->it;
    ref_block in[OPERANDS - 1], out;
    wick_cursor c = wick_cursor_at(it, 0);
    for (int64_t i = 0, n; i < it->numel; i += n, wick_cursor_advance(it, &c, n)) {
        int64_t left = it->numel - i;
        n = wick_cursor_row(it, &c, left < REF_BLOCK ? left : REF_BLOCK);
        for (int k = 1; k <= w->inputs; ++k) {
            const char *from = w->on_host[k] ? (const char *)w->host_numbers[k] : wick_cursor_address(it, &c, k);
            w->loads[k](&in[k - 1], from, wick_iter_stride(it, k), n);
        }
        w->loop(&out, in, w->scalar, n);
        w->store(wick_cursor_address(it, &c, 0), wick_iter_stride(it, 0), &out, n);
    }
    return NULL;
}

/* ---- on the host's thread ---- */
/* Numbers of the host come as they are and are cast to the compute dtype here. */
static void read_number(pointwise_work *w, int k, const wick_tensor *t, ref_class c, wick_dtype dtype) {
    ref_number number;
    ref_loader(c, wick_tensor_dtype(t))(&number, wick_data(t), 0, 1);
    ref_storer(c, dtype)((char *)w->host_numbers[k], 0, &number, 1);
    w->on_host[k] = true;
}

static void read_input(const wick_kernel_call *call, pointwise_work *w, int k, const wick_tensor *t, ref_class c) {
    wick_dtype dtype = wick_tensor_dtype(t);
    bool number = ref_is_host_number(call, t);
    if (number && call->compute_dtype) dtype = (wick_dtype)call->compute_dtype;
    w->loads[k] = ref_loader(c, dtype);
    if (number) read_number(w, k, t, c, dtype);
}

static wick_status *fill(const wick_kernel_call *call, pointwise_work *w) {
    const ref_pointwise *op = call->data;
    const wick_tensor *operands[OPERANDS] = {wick_out_tensor(call, 0)};
    wick_dtype compute = call->compute_dtype ? (wick_dtype)call->compute_dtype : wick_tensor_dtype(operands[0]);
    ref_class c = ref_class_of(compute);
    w->loop = op->loops[c];
    w->inputs = op->operands;
    w->store = ref_storer(op->predicate ? REF_INT : c, wick_tensor_dtype(operands[0]));
    if (op->scaled) w->scalar = ref_scalar(c, &call->values[op->operands]);
    for (int k = 1; k <= op->operands; ++k) {
        operands[k] = wick_arg_tensor(call, k - 1);
        read_input(call, w, k, operands[k], op->selects && k == 1 ? REF_INT : c);
    }
    return ref_iter(call, operands[0], operands, op->operands + 1, 0, &w->it);
}

wick_status *ref_run_pointwise(const wick_kernel_call *call) {
    ref_task *task;
    void *work;
    if (wick_out_tensor(call, 0)->numel == 0) return NULL;
    WICK_TRY(ref_launch_begin(call, run, sizeof(pointwise_work), &task, &work));
    return ref_launch_end(call, task, fill(call, work));
}
