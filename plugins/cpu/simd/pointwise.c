/* The elementwise engine and the table of its kernels. A call whose operands all lie packed in the dtype they are
 * computed in goes straight to its loop; any other is cut into blocks that fit the first-level cache. */
#include "pointwise.h"

#include <prefetch.h>
#include <stdatomic.h>

#include "stream.h"

#define BLOCK 1024
#define BLOCK_BYTES (BLOCK * sizeof(double complex))
#define STRETCH 256 /* of a long packed array: what is prefetched at a time */
/* Of loops that store past the caches themselves, and compute too much for each line to reach far ahead. */
#define STREAMED_STRETCH 128
#define STREAMED_AHEAD 512
#define SHORT_ROW 64 /* rows at least this long are computed one by one, so that packed ones need no copy */

/* ---- the expressions ---- */
typedef enum pw_kind { KIND_T, KIND_B, KIND_R, KIND_C, KIND_N } pw_kind;

typedef struct pw_op {
    uint8_t inputs, scalars;
    uint8_t kinds[WICK_POINTWISE_OPERANDS]; /* pw_kind, the output's first */
} pw_op;

static const pw_op ops[WICK_PW_COUNT] = {
#define MAP1(id, schema, ns, set, O, A, ...) [WICK_PW_##id] = {1, ns, {KIND_##O, KIND_##A}},
#define MAP2(id, schema, ns, set, O, A, B, ...) [WICK_PW_##id] = {2, ns, {KIND_##O, KIND_##A, KIND_##B}},
#define MAP3(id, schema, ns, set, O, A, B, C, ...) [WICK_PW_##id] = {3, ns, {KIND_##O, KIND_##A, KIND_##B, KIND_##C}},
#define PART1(id, ...) MAP1(id, "", __VA_ARGS__)
#define PART2(id, ...) MAP2(id, "", __VA_ARGS__)
#define PART3(id, ...) MAP3(id, "", __VA_ARGS__)
#include <wick/sdk/pointwise.inc>
};

#define CLASS_LOOPS(name) extern const pw_loop name[WICK_PW_COUNT];
CLASS_LOOPS(CPU_NAME(pw_loops_f32))
CLASS_LOOPS(CPU_NAME(pw_loops_f64))
CLASS_LOOPS(CPU_NAME_256(pw_loops_i64))
CLASS_LOOPS(CPU_NAME_256(pw_loops_i32))
CLASS_LOOPS(CPU_NAME_256(pw_loops_u8))
CLASS_LOOPS(cpu_pw_loops_u64_base)
CLASS_LOOPS(CPU_NAME_256(pw_loops_c64))
CLASS_LOOPS(CPU_NAME_256(pw_loops_c128))
const pw_loop *const CPU_NAME(pw_loops)[CPU_CLASS_COUNT] = {
    [CPU_F32] = CPU_NAME(pw_loops_f32),     [CPU_F64] = CPU_NAME(pw_loops_f64),
    [CPU_I64] = CPU_NAME_256(pw_loops_i64), [CPU_I32] = CPU_NAME_256(pw_loops_i32),
    [CPU_U8] = CPU_NAME_256(pw_loops_u8),   [CPU_U64] = cpu_pw_loops_u64_base,
    [CPU_C64] = CPU_NAME_256(pw_loops_c64), [CPU_C128] = CPU_NAME_256(pw_loops_c128)};

CLASS_LOOPS(CPU_NAME(pw_loops_bf16)) /* NULL for most */
CLASS_LOOPS(CPU_NAME(pw_loops_f32_streamed))
CLASS_LOOPS(CPU_NAME(pw_loops_bf16_streamed))
#ifdef CPU_ISA_avx512
CLASS_LOOPS(CPU_NAME(pw_loops_f32_dividing)) /* likewise */
#endif

static inline pw_loop loop_of(cpu_class c, wick_pointwise_id id) {
#ifdef CPU_ISA_avx512
    if (c == CPU_F32 && cpu_is_amd() && CPU_NAME(pw_loops_f32_dividing)[id]) return CPU_NAME(pw_loops_f32_dividing)[id];
#endif
    return CPU_NAME(pw_loops)[c][id];
}

static inline cpu_class class_of_kind(pw_kind kind, cpu_class c) {
    if (kind == KIND_T) return c;
    if (kind == KIND_B) return CPU_U8;
    if (kind == KIND_N) return CPU_I32;
    if (kind == KIND_R) return c == CPU_C64 ? CPU_F32 : c == CPU_C128 ? CPU_F64 : c;
    return c == CPU_F32 ? CPU_C64 : c == CPU_F64 ? CPU_C128 : c;
}

/* What the shape rule chose; for rows without casts, the dtype of the first operand of the compute class. */
static wick_dtype compute_dtype(const wick_kernel_call *k, const wick_pointwise_eval *e, const pw_op *op) {
    wick_dtype dtype = (wick_dtype)k->compute_dtype;
    for (int i = 1; i <= op->inputs && dtype == WICK_DTYPE_NONE; ++i)
        if (op->kinds[i] == KIND_T) dtype = wick_tensor_dtype(e->operands[i]);
    if (op->kinds[0] != KIND_C) return dtype;
    return dtype == WICK_C64 ? WICK_F32 : dtype == WICK_C128 ? WICK_F64 : dtype;
}

/* ---- everything packed ---- */
typedef struct packed_job {
    pw_loop loop;
    const wick_pointwise_scalar *scalars;
    int inputs;
    bool streams;
    pw_loop streamed; /* stores past the caches itself; NULL: there is no such loop */
    int64_t ahead;    /* elements that are asked for before it needs them */
    char *data[WICK_POINTWISE_OPERANDS];
    int32_t bytes[WICK_POINTWISE_OPERANDS];
} packed_job;

/* Loops that do next to nothing with what they read. */
static const bool light[WICK_PW_COUNT] = {
    [WICK_PW_add] = true,     [WICK_PW_sub] = true,     [WICK_PW_rsub] = true, [WICK_PW_mul] = true,
    [WICK_PW_neg] = true,     [WICK_PW_abs] = true,     [WICK_PW_relu] = true, [WICK_PW_threshold_backward] = true,
    [WICK_PW_maximum] = true, [WICK_PW_minimum] = true, [WICK_PW_same] = true, [WICK_PW_native_dropout_backward] = true,
};

static void inputs_at(const packed_job *job, int64_t at, const void **in) {
    for (int i = 0; i < job->inputs; ++i) in[i] = job->data[i + 1] + at * job->bytes[i + 1];
}

CPU_PREFETCHES void ask_for(const packed_job *job, int64_t at, int64_t n) {
    for (int i = 1; i <= job->inputs; ++i) cpu_prefetch(job->data[i] + at * job->bytes[i], n * job->bytes[i]);
}

static void run_part(const packed_job *job, pw_loop loop, int64_t at, int64_t n) {
    const void *in[WICK_POINTWISE_OPERANDS - 1];
    inputs_at(job, at, in);
    if (n > 0) loop(job->data[0] + at * job->bytes[0], in, n, job->scalars);
}

/* Computes n elements in the first-level cache and moves them on. */
static void stream_stretch(const packed_job *job, int64_t at, int64_t n, int64_t ahead) {
    _Alignas(64) char out[STREAM_STRETCH * sizeof(double complex)];
    const void *in[WICK_POINTWISE_OPERANDS - 1];
    inputs_at(job, at, in);
    if (ahead) ask_for(job, at + ahead, n);
    job->loop(out, in, n, job->scalars);
    cpu_stream(job->data[0] + at * job->bytes[0], out, (size_t)(n * job->bytes[0]));
}

static void stream_stretches(const packed_job *job, int64_t begin, int64_t end) {
    const cpu_stream_order order = cpu_stream_order_of(job->bytes[0]);
    const int64_t turn = order.pages * order.page;
    for (int64_t p = begin; p < end; p += turn)
        for (int64_t i = 0; i < order.page; i += order.stretch)
            for (int64_t at = p + i; at < end && at < p + turn; at += order.page)
                stream_stretch(job, at, end - at < order.stretch ? end - at : order.stretch, order.ahead);
}

/* Whole lines go past the caches. */
static void stream_lines(const packed_job *job, int64_t begin, int64_t end) {
    const int64_t bytes = job->bytes[0], line = CPU_STREAM_LINE / bytes;
    int64_t at = begin + cpu_stream_head(job->data[0] + begin * bytes) / bytes;
    if (at > end) at = end;
    const int64_t last = at + (end - at) / line * line, step = job->ahead ? STREAMED_STRETCH : last - at;
    run_part(job, job->loop, begin, at - begin);
    for (; at < last; at += step) {
        const int64_t n = last - at < step ? last - at : step;
        if (job->ahead) ask_for(job, at + job->ahead, n);
        run_part(job, job->streamed, at, n);
    }
    run_part(job, job->loop, last, end - last);
}

/* How the results of a job are stored whose expression has, perhaps, a loop in `streamed`. AMD's processors were measured with
 * the buffer. */
static void choose_stores(packed_job *job, const cpu_instance *cpu, int64_t numel, wick_pointwise_id id,
                          const pw_loop *streamed) {
    const bool begins_element = (uintptr_t)job->data[0] % (uintptr_t)job->bytes[0] == 0;
    job->streams = cpu_streams(cpu, numel * job->bytes[0], light[id]);
    job->streamed = streamed && begins_element && !cpu_is_amd() ? streamed[id] : NULL;
    job->ahead = job->inputs == 1 || job->bytes[0] == sizeof(uint16_t) ? STREAMED_AHEAD : 0;
}

static void run_packed(void *user, int64_t begin, int64_t end, int worker) {
    const packed_job *job = user;
    if (job->streams) {
        (job->streamed ? stream_lines : stream_stretches)(job, begin, end);
        cpu_stream_end();
        return;
    }
    const bool ask = job->inputs == 1 && cpu_prefetches_lines();
    const int64_t step = ask ? STRETCH : end - begin;
    for (int64_t p = begin; p < end; p += step) {
        if (ask) ask_for(job, p + 2 * STRETCH, STRETCH);
        run_part(job, job->loop, p, end - p < step ? end - p : step);
    }
}

static inline bool alike(const wick_pointwise_eval *e, const pw_op *op) {
    for (int i = 1; i <= op->inputs; ++i)
        if (e->operands[i]->numel != e->operands[0]->numel || !wick_is_contiguous(e->operands[i])) return false;
    return true;
}

/* Runs the call if every operand is packed and of its compute class's dtype. */
static bool try_packed(const wick_kernel_call *k, const wick_pointwise_eval *e, const pw_op *op, cpu_class c,
                       pw_loop loop) {
    packed_job job;
    int64_t n = e->operands[0]->numel;
    for (int i = 0; i <= op->inputs; ++i) {
        const wick_tensor *t = e->operands[i];
        wick_dtype native = dtype_of_class(class_of_kind((pw_kind)op->kinds[i], c));
        bool same = t->dtype == native || (op->kinds[i] == KIND_B && t->dtype == WICK_BOOL);
        if (!same || !wick_is_contiguous(t) || t->numel != n) return false;
        job.data[i] = wick_data(t);
        job.bytes[i] = (int32_t)wick_dtype_bytes(native);
    }
    if (n <= CPU_GRAIN) {
        loop(job.data[0], (const void *const *)(job.data + 1), n, e->scalars);
        return true;
    }
    job.loop = loop, job.scalars = e->scalars, job.inputs = op->inputs;
    choose_stores(&job, cpu_of(k), n, e->id, c == CPU_F32 ? CPU_NAME(pw_loops_f32_streamed) : NULL);
    cpu_parallel_for(cpu_of(k), n, CPU_GRAIN, run_packed, &job);
    return true;
}

/* Runs the call if every operand is packed and bf16, and there is a loop for that. */
static bool try_packed_bf16(const wick_kernel_call *k, const wick_pointwise_eval *e, const pw_op *op) {
    packed_job job = {.loop = CPU_NAME(pw_loops_bf16)[e->id], .scalars = e->scalars, .inputs = op->inputs};
    if (!job.loop) return false;
    for (int i = 0; i <= op->inputs; ++i) {
        const wick_tensor *t = e->operands[i];
        if (t->dtype != WICK_BF16 || !wick_is_contiguous(t)) return false;
        job.data[i] = wick_data(t);
        job.bytes[i] = (int32_t)sizeof(uint16_t);
    }
    choose_stores(&job, cpu_of(k), e->operands[0]->numel, e->id, CPU_NAME(pw_loops_bf16_streamed));
    cpu_parallel_for(cpu_of(k), e->operands[0]->numel, CPU_GRAIN, run_packed, &job);
    return true;
}

static inline char *data_at(const wick_tensor *t, size_t bytes) {
    return (char *)t->storage->memory.data + t->offset * bytes;
}

/* The host has looked already: everything is packed and alike. Short calls go straight to their loop. */
static inline bool run_dense(const wick_kernel_call *k, const pw_op *op) {
    const wick_tensor *out = k->values[k->nargs].as.tensor;
    wick_dtype compute = (wick_dtype)k->compute_dtype;
    pw_loop loop = dtype_is_native(compute) ? loop_of(class_of_dtype(compute), op - ops) : NULL;
    if (out->numel > CPU_GRAIN || !loop) return false;
    const void *in[WICK_POINTWISE_OPERANDS - 1];
    wick_pointwise_scalar scalars[WICK_POINTWISE_SCALARS];
    size_t bytes = wick_dtype_bytes(compute);
    for (int i = 0; i < op->inputs; ++i) in[i] = data_at(k->values[i].as.tensor, bytes);
    for (int i = 0; i < op->scalars; ++i) scalars[i] = wick_pointwise_scalar_of(&k->values[op->inputs + i]);
    loop(wick_data(out), in, out->numel, scalars);
    return true;
}

/* ---- anything else, in blocks ---- */
typedef struct operand_plan {
    cpu_convert_fn steps[3]; /* from the tensor's dtype to the class (inputs), or back (output); packed at the front */
    int32_t bytes;           /* per element of the class */
    bool linear, constant;
} operand_plan;

typedef struct block_job {
    pw_loop loop;
    const wick_pointwise_scalar *scalars;
    int operands;
    bool in_rows; /* blocks do not cross rows */
    bool refuse_zero_divisor;
    atomic_bool zero_divisor;
    operand_plan plans[WICK_POINTWISE_OPERANDS];
    wick_iter it;
} block_job;

typedef struct block_buffers {
    _Alignas(64) char values[WICK_POINTWISE_OPERANDS][BLOCK_BYTES];
    char raw[BLOCK_BYTES], scratch[2][BLOCK_BYTES];
} block_buffers;

static void add_step(operand_plan *plan, cpu_convert_fn step) {
    int n = 0;
    while (plan->steps[n]) ++n;
    if (step) plan->steps[n] = step;
}

/* Products and quotients take a scalar of more digits as it is; elsewhere it is rounded to the compute dtype first. */
static bool rounds_operands(wick_pointwise_id id) { return id != WICK_PW_mul && id != WICK_PW_div; }

/* An input whose dtype is not the compute dtype is cast to it, even where the class could hold more. */
static void plan_input(operand_plan *plan, wick_dtype from, cpu_class to, wick_dtype compute, bool round) {
    bool cast = class_of_dtype(compute) == to && (round || !wick_dtype_is_floating(compute));
    wick_dtype target = cast ? compute : dtype_of_class(to);
    add_step(plan, CPU_NAME(widen)[from]);
    if (from == target || (class_of_dtype(from) == to && dtype_is_native(target))) return;
    add_step(plan, CPU_NAME(narrow)[class_of_dtype(from)][target]);
    add_step(plan, CPU_NAME(widen)[target]);
}

static void plan_output(operand_plan *plan, cpu_class from, wick_dtype to) {
    if (dtype_of_class(from) != to) add_step(plan, CPU_NAME(narrow)[from][to]);
}

/* Runs the plan's steps from `src`; the result is at the returned address: `src` itself, or `dst`. */
static const void *convert(const operand_plan *plan, const void *src, void *dst, int64_t n, block_buffers *buffers) {
    for (int i = 0; i < 3 && plan->steps[i]; ++i) {
        void *to = i == 2 || !plan->steps[i + 1] ? dst : buffers->scratch[i];
        plan->steps[i](to, src, n);
        src = to;
    }
    return src;
}

#define SHORT_CALL 256 /* elements */

/* Every element is the same one. */
static bool is_constant(const wick_tensor *t) {
    for (int i = 0; i < t->ndim; ++i)
        if (t->sizes[i] != 1 && t->strides[i] != 0) return false;
    return true;
}

/* A short call of packed tensors with constants among them: each of those becomes an array of its value. */
static bool try_short(const wick_pointwise_eval *e, const pw_op *op, cpu_class c, wick_dtype compute, pw_loop loop) {
    const wick_tensor *out = e->operands[0];
    const int64_t n = out->numel;
    const wick_dtype native = dtype_of_class(c);
    const size_t bytes = wick_dtype_bytes(native);
    const void *in[WICK_POINTWISE_OPERANDS - 1];
    block_buffers buffers; /* only the fronts are touched */
    if (n > SHORT_CALL || !wick_is_contiguous(out) || op->kinds[0] != KIND_T || out->dtype != native) return false;
    for (int i = 1; i <= op->inputs; ++i) {
        const wick_tensor *t = e->operands[i];
        if (op->kinds[i] != KIND_T) return false;
        if (t->numel == n && wick_is_contiguous(t) && t->dtype == native) {
            in[i - 1] = data_at(t, bytes);
            continue;
        }
        if (!is_constant(t)) return false;
        operand_plan plan = {.bytes = (int32_t)bytes};
        _Alignas(16) char one[sizeof(double complex)];
        plan_input(&plan, wick_tensor_dtype(t), c, compute, rounds_operands(e->id));
        const void *value = convert(&plan, wick_data(t), one, 1, &buffers);
        wick_copy_row(buffers.values[i], plan.bytes, value, 0, n, plan.bytes);
        in[i - 1] = buffers.values[i];
    }
    loop(data_at(out, bytes), in, n, e->scalars);
    return true;
}

/* Elements [position, position + n) of input `i` as packed values of its class. */
static const void *load(const block_job *job, const wick_cursor *c, int i, int64_t position, int64_t n,
                        block_buffers *buffers) {
    const operand_plan *plan = &job->plans[i];
    const wick_iter *it = &job->it;
    if (plan->linear) {
        const char *from = it->data[i] + position * it->element_bytes[i];
        if (cpu_prefetches_lines()) cpu_prefetch(from + n * it->element_bytes[i], n * it->element_bytes[i]);
        return convert(plan, from, buffers->values[i], n, buffers);
    }
    if (job->in_rows && wick_iter_stride(it, i) == it->element_bytes[i])
        return convert(plan, wick_cursor_address(it, c, i), buffers->values[i], n, buffers);
    void *packed = plan->steps[0] ? buffers->raw : buffers->values[i];
    wick_iter_gather(it, c, i, packed, n);
    return convert(plan, packed, buffers->values[i], n, buffers);
}

/* A whole block of the one value of input `i`. */
static const void *load_constant(const block_job *job, int i, int64_t n, block_buffers *buffers) {
    const operand_plan *plan = &job->plans[i];
    _Alignas(16) char one[sizeof(double complex)];
    const void *value = convert(plan, job->it.data[i], one, 1, buffers);
    wick_copy_row(buffers->values[i], plan->bytes, value, 0, n < BLOCK ? n : BLOCK, plan->bytes);
    return buffers->values[i];
}

/* Where the loop writes: the output itself if that is possible. */
static void *output_target(const block_job *job, const wick_cursor *c, int64_t position, block_buffers *buffers) {
    const wick_iter *it = &job->it;
    if (job->plans[0].steps[0]) return buffers->values[0];
    if (job->plans[0].linear) return it->data[0] + position * it->element_bytes[0];
    bool packed_row = job->in_rows && wick_iter_stride(it, 0) == it->element_bytes[0];
    return packed_row ? wick_cursor_address(it, c, 0) : buffers->values[0];
}

static void store(const block_job *job, const wick_cursor *c, int64_t position, int64_t n, block_buffers *buffers) {
    const wick_iter *it = &job->it;
    if (job->plans[0].linear) {
        convert(&job->plans[0], buffers->values[0], it->data[0] + position * it->element_bytes[0], n, buffers);
        return;
    }
    wick_iter_scatter(it, c, 0, convert(&job->plans[0], buffers->values[0], buffers->raw, n, buffers), n);
}

static bool has_zero(const char *values, int32_t bytes, int64_t n) {
    static const char zero[sizeof(double complex)];
    for (int64_t i = 0; i < n; ++i)
        if (memcmp(values + i * bytes, zero, (size_t)bytes) == 0) return true;
    return false;
}

static void run_blocks(void *user, int64_t begin, int64_t end, int worker) {
    block_job *job = user;
    block_buffers buffers;
    const void *in[WICK_POINTWISE_OPERANDS - 1];
    wick_cursor c = wick_cursor_at(&job->it, begin);
    for (int i = 1; i < job->operands; ++i)
        if (job->plans[i].constant) in[i - 1] = load_constant(job, i, end - begin, &buffers);
    for (int64_t p = begin, n; p < end; p += n, wick_cursor_skip(&job->it, &c, n)) {
        n = end - p < BLOCK ? end - p : BLOCK;
        if (job->in_rows) n = wick_cursor_row(&job->it, &c, n);
        for (int i = 1; i < job->operands; ++i)
            if (!job->plans[i].constant) in[i - 1] = load(job, &c, i, p, n, &buffers);
        if (job->refuse_zero_divisor && has_zero(in[1], job->plans[2].bytes, n)) {
            atomic_store(&job->zero_divisor, true);
            return;
        }
        void *out = output_target(job, &c, p, &buffers);
        job->loop(out, in, n, job->scalars);
        if (out == buffers.values[0]) store(job, &c, p, n, &buffers);
    }
}

static void plan_operands(block_job *job, const wick_pointwise_eval *e, const pw_op *op, cpu_class c,
                          wick_dtype compute) {
    bool all_linear = true;
    for (int i = 0; i < job->operands; ++i) {
        operand_plan *plan = &job->plans[i];
        cpu_class own = class_of_kind((pw_kind)op->kinds[i], c);
        wick_dtype dtype = wick_tensor_dtype(e->operands[i]);
        plan->bytes = (int32_t)wick_dtype_bytes(dtype_of_class(own));
        plan->linear = wick_iter_is_linear(&job->it, i);
        plan->constant = i > 0 && wick_iter_is_constant(&job->it, i);
        all_linear &= plan->linear || plan->constant;
        if (op->kinds[i] == KIND_B)
            i ? plan_input(plan, dtype, own, WICK_BOOL, true)
              : plan_output(plan, own, dtype == WICK_BOOL ? WICK_U8 : dtype);
        else
            i ? plan_input(plan, dtype, own, compute, rounds_operands(e->id)) : plan_output(plan, own, dtype);
    }
    job->in_rows = !all_linear && job->it.sizes[0] >= SHORT_ROW;
}

static wick_status *run_in_blocks(const wick_kernel_call *k, const wick_pointwise_eval *e, const pw_op *op,
                                  wick_dtype compute, pw_loop loop) {
    cpu_class c = class_of_dtype(compute);
    block_job job = {.loop = loop, .scalars = e->scalars, .operands = op->inputs + 1};
    job.refuse_zero_divisor = e->refuse_zero_divisor && c >= CPU_I64 && c <= CPU_U64;
    if (!wick_iter_init(&job.it, e->operands[0], e->operands, job.operands, 0))
        return WICK_HOST_ERROR(k->host, WICK_INVALID_ARGUMENT, "%s: shapes do not broadcast to the output's",
                               k->host->op_name(k->op));
    plan_operands(&job, e, op, c, compute);
    cpu_parallel_for(cpu_of(k), job.it.numel, CPU_GRAIN, run_blocks, &job);
    if (atomic_load(&job.zero_divisor)) return WICK_HOST_ERROR(k->host, WICK_INVALID_ARGUMENT, "ZeroDivisionError");
    return NULL;
}

/* Runs it, in parallel where that pays. */
static wick_status *run(const wick_kernel_call *k, const wick_pointwise_eval *e) {
    const pw_op *op = &ops[e->id];
    wick_dtype compute = compute_dtype(k, e, op);
    cpu_class c = class_of_dtype(compute);
    pw_loop loop = loop_of(c, e->id);
    if (!loop)
        return WICK_HOST_ERROR(k->host, WICK_UNSUPPORTED, "%s: not implemented for dtype %d", k->host->op_name(k->op),
                               (int)compute);
    if (e->operands[0]->numel == 0) return NULL;
    bool plain = !e->refuse_zero_divisor;
    if (plain && compute == WICK_BF16 && alike(e, op) && try_packed_bf16(k, e, op)) return NULL;
    if (plain && (alike(e, op) ? try_packed(k, e, op, c, loop) : try_short(e, op, c, compute, loop))) return NULL;
    return run_in_blocks(k, e, op, compute, loop);
}

/* ---- the kernels ---- */
/* Tensors come first in the schema, then the scalars. */
static wick_status *run_row(const wick_kernel_call *k) {
    const pw_op *op = k->data;
    if (k->flags & WICK_CALL_DENSE && run_dense(k, op)) return NULL;
    wick_pointwise_eval e; /* not all of it is needed: this is the path of the smallest tensors */
    e.id = (wick_pointwise_id)(op - ops), e.refuse_zero_divisor = false;
    e.operands[0] = wick_out_tensor(k, 0);
    for (int i = 0; i < op->inputs; ++i) e.operands[i + 1] = wick_arg_tensor(k, i);
    for (int i = 0; i < op->scalars; ++i) e.scalars[i] = wick_pointwise_scalar_of(&k->values[op->inputs + i]);
    return run(k, &e);
}

#define DEFINE_SELECTED(name, schema, set) \
    static wick_status *run_##name(const wick_kernel_call *k) { return wick_pointwise_##name(k, run); }
WICK_POINTWISE_SELECTED(DEFINE_SELECTED)

#define DTYPES_R (WICK_DTYPES_FLOAT | WICK_DTYPES_F8)
#define DTYPES_I (WICK_DTYPES_INT | WICK_DTYPES_UINT)
#define DTYPES_B WICK_DTYPE_BIT(WICK_BOOL)
#define DTYPES_C WICK_DTYPES_COMPLEX
#define DTYPES_RC (DTYPES_R | DTYPES_C)
#define DTYPES_RI (DTYPES_R | DTYPES_I)
#define DTYPES_IB (DTYPES_I | DTYPES_B)
#define DTYPES_RIB (DTYPES_RI | DTYPES_B)
#define DTYPES_RIC (DTYPES_RI | DTYPES_C)
#define DTYPES_RICB (DTYPES_RIC | DTYPES_B)
#define FLAGS (WICK_KERNEL_FUSED_CAST | WICK_KERNEL_DETERMINISTIC)

static const wick_kernel_row rows[] = {
#define MAP1(id, schema, ns, set, ...) CPU_ROW(schema, run_row, &ops[WICK_PW_##id], DTYPES_##set, FLAGS),
#define MAP2(id, schema, ns, set, ...) CPU_ROW(schema, run_row, &ops[WICK_PW_##id], DTYPES_##set, FLAGS),
#define MAP3(id, schema, ns, set, ...) CPU_ROW(schema, run_row, &ops[WICK_PW_##id], DTYPES_##set, FLAGS),
#include <wick/sdk/pointwise.inc>
#define SELECTED_ROW(name, schema, set) CPU_ROW(schema, run_##name, NULL, DTYPES_##set, FLAGS),
    WICK_POINTWISE_SELECTED(SELECTED_ROW)};
const cpu_kernel_table CPU_NAME(pointwise_table) = CPU_TABLE(rows);
