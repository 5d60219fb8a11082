/* Elementwise calls: which kernel, how it is launched, and the table of rows. */
#include "../device/pointwise_classes.h"
#include "gpu.h"

#include <wick/sdk/element.h>

#define WICK_POINTWISE_COMMON
#include <wick/sdk/pointwise.h>

#define THREADS 256

/* ---- the kernels of an expression ---- */
typedef enum variant { F32, F16, BF16, F64, I32, I64, WALK_F32, WALK_F64, WALK_I64, VARIANTS } variant;

typedef enum kind { KIND_T, KIND_B, KIND_R, KIND_N } kind;

#define NO_KERNEL (-1)

typedef struct expression {
    uint8_t inputs, scalars;
    uint8_t kinds[WICK_POINTWISE_OPERANDS];
    int16_t kernels[VARIANTS];
} expression;

#define REAL(id)                                                                                                  \
    [F32] = GPU_pw_##id##_f32, [F16] = GPU_pw_##id##_f16, [BF16] = GPU_pw_##id##_bf16, [F64] = GPU_pw_##id##_f64, \
    [WALK_F32] = GPU_pw_##id##_wf32, [WALK_F64] = GPU_pw_##id##_wf64,
#define NO_REAL                                                                                          \
    [F32] = NO_KERNEL, [F16] = NO_KERNEL, [BF16] = NO_KERNEL, [F64] = NO_KERNEL, [WALK_F32] = NO_KERNEL, \
    [WALK_F64] = NO_KERNEL,
#define WHOLE(id) [I32] = GPU_pw_##id##_i32, [I64] = GPU_pw_##id##_i64, [WALK_I64] = GPU_pw_##id##_wi64,
#define NO_WHOLE [I32] = NO_KERNEL, [I64] = NO_KERNEL, [WALK_I64] = NO_KERNEL,
#define KERNELS_R(id) REAL(id) NO_WHOLE
#define KERNELS_RC(id) REAL(id) NO_WHOLE
#define KERNELS_RI(id) REAL(id) WHOLE(id)
#define KERNELS_RIC(id) REAL(id) WHOLE(id)
#define KERNELS_RIB(id) REAL(id) WHOLE(id)
#define KERNELS_RICB(id) REAL(id) WHOLE(id)
#define KERNELS_I(id) NO_REAL WHOLE(id)
#define KERNELS_IB(id) NO_REAL WHOLE(id)

static const expression expressions[WICK_PW_COUNT] = {
#define MAP1(id, schema, ns, set, O, A, ...) [WICK_PW_##id] = {1, ns, {KIND_##O, KIND_##A}, {KERNELS_##set(id)}},
#define MAP2(id, schema, ns, set, O, A, B, ...) \
    [WICK_PW_##id] = {2, ns, {KIND_##O, KIND_##A, KIND_##B}, {KERNELS_##set(id)}},
#define MAP3(id, schema, ns, set, O, A, B, C, ...) \
    [WICK_PW_##id] = {3, ns, {KIND_##O, KIND_##A, KIND_##B, KIND_##C}, {KERNELS_##set(id)}},
#define PART1(id, ...) MAP1(id, "", __VA_ARGS__)
#define PART2(id, ...) MAP2(id, "", __VA_ARGS__)
#define PART3(id, ...) MAP3(id, "", __VA_ARGS__)
#include <wick/sdk/pointwise.inc>
};

/* ---- which one ---- */
/* What the shape rule chose; for rows without casts, the dtype of the first operand of the compute class. */
static wick_dtype dtype_of(const wick_kernel_call *call, const wick_pointwise_eval *e, const expression *x) {
    wick_dtype dtype = (wick_dtype)call->compute_dtype;
    for (int i = 1; i <= x->inputs && dtype == WICK_DTYPE_NONE; ++i)
        if (x->kinds[i] == KIND_T) dtype = wick_tensor_dtype(e->operands[i]);
    return dtype;
}

static int dense_variant(wick_dtype dtype) {
    switch (dtype) {
    case WICK_F32: return F32;
    case WICK_F16: return F16;
    case WICK_BF16: return BF16;
    case WICK_F64: return F64;
    case WICK_I32: return I32;
    case WICK_I64: return I64;
    default: return VARIANTS;
    }
}

static variant walk_variant(wick_dtype dtype) {
    return dtype == WICK_F64 ? WALK_F64 : wick_dtype_is_floating(dtype) ? WALK_F32 : WALK_I64;
}

static wick_dtype dtype_of_kind(kind k, wick_dtype dtype) {
    return k == KIND_B ? WICK_BOOL : k == KIND_N ? WICK_I32 : dtype;
}

/* A number of the host's: it travels with the arguments. */
static bool is_number(const wick_tensor *t) { return t->ndim == 0 && wick_data(t) != NULL; }

/* Products and quotients take a number of more digits as it is; elsewhere it is rounded to the compute dtype first. */
static bool rounds_number(wick_pointwise_id id, kind k, wick_dtype compute) {
    if (k == KIND_B || k == KIND_N) return false;
    return !wick_dtype_is_floating(compute) || (id != WICK_PW_mul && id != WICK_PW_div);
}

/* Operand `i`, to `number` and `whole` of its input. */
static void read_number(const wick_pointwise_eval *e, const expression *x, int i, wick_dtype compute, double *number,
                        int64_t *whole) {
    wick_dtype dtype = (wick_dtype)e->operands[i]->dtype;
    const void *p = wick_data(e->operands[i]);
    unsigned char rounded[16];
    if (dtype != compute && rounds_number(e->id, (kind)x->kinds[i], compute)) {
        wick_convert_row(dtype, p, 0, compute, rounded, 0, 1);
        dtype = compute;
        p = rounded;
    }
    number[i - 1] = wick_load_f64(dtype, p);
    whole[i - 1] = wick_load_i64(dtype, p);
}

/* 16-byte accesses need aligned addresses. */
static bool is_dense(const wick_pointwise_eval *e, const expression *x, wick_dtype dtype) {
    for (int i = 0; i <= x->inputs; ++i) {
        const wick_tensor *t = e->operands[i];
        if (i && is_number(t)) continue;
        wick_dtype wanted = dtype_of_kind((kind)x->kinds[i], dtype);
        bool byte = wanted == WICK_BOOL && wick_dtype_bytes((wick_dtype)t->dtype) == 1 && t->dtype != WICK_I8;
        if (t->dtype != wanted && !byte) return false;
        if (!wick_is_contiguous(t) || t->numel != e->operands[0]->numel || (uintptr_t)gpu_data(t) % 16) return false;
    }
    return true;
}

/* ---- launches ---- */
/* Scalars have the width that the host computes in: -1 is 255 beside U8. */
static int64_t in_width_of(wick_dtype dtype, int64_t x) {
    if (dtype == WICK_U8 || dtype == WICK_BOOL) return (uint8_t)x;
    return dtype == WICK_I64 || wick_dtype_is_floating(dtype) ? x : (int32_t)x;
}

static void set_scalars(const wick_pointwise_eval *e, wick_dtype dtype, double *s, int64_t *si) {
    for (int i = 0; i < GPU_SCALARS; ++i) s[i] = e->scalars[i].re, si[i] = in_width_of(dtype, e->scalars[i].i);
}

static wick_status *run_dense(const wick_kernel_call *call, const wick_pointwise_eval *e, const expression *x,
                              wick_dtype dtype) {
    const int kernel = x->kernels[dense_variant(dtype)];
    const gpu_device *d = gpu_device_of(call);
    int64_t n = e->operands[0]->numel;
    gpu_dense_args args = {.out = gpu_data(e->operands[0]), .n = n};
    for (int i = 0; i < x->inputs; ++i) {
        if (is_number(e->operands[i + 1]))
            read_number(e, x, i + 1, dtype, args.number, args.whole);
        else
            args.in[i] = gpu_data(e->operands[i + 1]);
    }
    set_scalars(e, dtype, args.s, args.si);
    unsigned per_thread = 16 / (unsigned)wick_dtype_bytes((wick_dtype)e->operands[0]->dtype);
    return gpu_launch(call, (gpu_kernel)kernel, gpu_blocks(d, n, THREADS, per_thread, 32), THREADS, 0, &args);
}

typedef struct walk_job {
    const wick_kernel_call *call;
    const wick_pointwise_eval *e;
    const expression *x;
    int kernel;
    wick_dtype dtype;
} walk_job;

static wick_status *run_walk(void *user, const gpu_walk *walk, uint32_t n, const int64_t *offsets) {
    const walk_job *job = user;
    const wick_pointwise_eval *e = job->e;
    gpu_walk_args args = {.n = n, .walk = *walk};
    for (int i = 0; i <= job->x->inputs; ++i) {
        const wick_tensor *t = e->operands[i];
        if (i && is_number(t))
            read_number(e, job->x, i, job->dtype, args.number, args.whole);
        else
            args.data[i] = (char *)gpu_data(t) + offsets[i];
        args.dtypes[i] = t->dtype;
    }
    set_scalars(e, job->dtype, args.s, args.si);
    unsigned blocks = gpu_blocks(gpu_device_of(job->call), n, THREADS, 4, 32);
    return gpu_launch(job->call, (gpu_kernel)job->kernel, blocks, THREADS, 0, &args);
}

/* UNSUPPORTED if the expression has no kernel for the call's dtype. */
static wick_status *run(const wick_kernel_call *call, const wick_pointwise_eval *e) {
    const expression *x = &expressions[e->id];
    wick_dtype dtype = dtype_of(call, e, x);
    int dense = dense_variant(dtype), kernel = x->kernels[walk_variant(dtype)];
    if (kernel == NO_KERNEL)
        return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "%s is not implemented for dtype %u on device %s",
                               call->host->op_name(call->op), (unsigned)dtype, gpu_of(call)->device_name);
    if (!e->operands[0]->numel) return NULL;
    if (dense != VARIANTS && is_dense(e, x, dtype)) return run_dense(call, e, x, dtype);
    walk_job job = {call, e, x, kernel, dtype};
    return gpu_walk_over(call, e->operands, x->inputs + 1, run_walk, &job);
}

/* ---- rows ---- */
static const wick_pointwise_id ids[WICK_PW_COUNT] = {
#define MAP1(id, ...) [WICK_PW_##id] = WICK_PW_##id,
#define MAP2(id, ...) [WICK_PW_##id] = WICK_PW_##id,
#define MAP3(id, ...) [WICK_PW_##id] = WICK_PW_##id,
#include <wick/sdk/pointwise.inc>
};

/* The tensors come first, the scalars behind them. */
static wick_status *run_row(const wick_kernel_call *call) {
    wick_pointwise_eval e = {.id = *(const wick_pointwise_id *)call->data};
    const expression *x = &expressions[e.id];
    e.operands[0] = wick_out_tensor(call, 0);
    for (int i = 0; i < x->inputs; ++i) e.operands[i + 1] = wick_arg_tensor(call, i);
    for (int i = 0; i < x->scalars; ++i) e.scalars[i] = wick_pointwise_scalar_of(&call->values[x->inputs + i]);
    return run(call, &e);
}

#define DEFINE_SELECTED(name, schema, set) \
    static wick_status *run_##name(const wick_kernel_call *call) { return wick_pointwise_##name(call, run); }
WICK_POINTWISE_SELECTED(DEFINE_SELECTED)

#define REALS WICK_DTYPES_FLOAT
#define WHOLES WICK_DTYPES_INT
#define BOOLS WICK_DTYPE_BIT(WICK_BOOL)
#define DTYPES_R REALS
#define DTYPES_RC REALS
#define DTYPES_RI (REALS | WHOLES)
#define DTYPES_RIC (REALS | WHOLES)
#define DTYPES_RIB (REALS | WHOLES | BOOLS)
#define DTYPES_RICB (REALS | WHOLES | BOOLS)
#define DTYPES_I WHOLES
#define DTYPES_IB (WHOLES | BOOLS)
#define FLAGS (WICK_KERNEL_HOST_NUMBERS | WICK_KERNEL_FUSED_CAST | WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_CAPTURE_SAFE)

#define ROW(id, schema, set) WICK_KERNEL_ROW_WITH(schema, run_row, &ids[WICK_PW_##id], DTYPES_##set, FLAGS),
static const wick_kernel_row rows[] = {
#define MAP1(id, schema, ns, set, ...) ROW(id, schema, set)
#define MAP2(id, schema, ns, set, ...) ROW(id, schema, set)
#define MAP3(id, schema, ns, set, ...) ROW(id, schema, set)
#include <wick/sdk/pointwise.inc>
#define SELECTED_ROW(name, schema, set) WICK_KERNEL_ROW(schema, run_##name, DTYPES_##set, FLAGS),
    WICK_POINTWISE_SELECTED(SELECTED_ROW)};

const gpu_table gpu_pointwise_table = GPU_TABLE(rows);
