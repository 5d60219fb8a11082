/* The matrix products: mm, bmm, addmm, baddbmm, addbmm, mv, addmv, addr, linear. One kernel reads an operator's
 * form from its row; kernels/gemm_run.c and gemm_solvers.h solve the products. f16 and bf16 compute in f32 and round once. */
#include "gemm.h"
#include "widen.h"

/* Where a form finds its arguments; -1 for those it lacks. */
typedef struct gemm_form {
    int8_t a, b, s, alpha, beta;
    bool outer;       /* vectors a and b make a matrix */
    bool sum_batches; /* all products of the batch add up */
} gemm_form;

typedef struct batch_job {
    cpu_instance *cpu;
    cpu_gemm_plan plan;                              /* of batch 0 */
    int64_t batches, a_step, b_step, c_step, s_step; /* in elements */
    size_t scratch_bytes;                            /* of one product */
    char *scratch;
} batch_job;

static const wick_value zero = {.as = {.i = 0}, .tag = WICK_TAG_I64};

wick_status *cpu_scratch(const wick_kernel_call *call, size_t bytes, void **out) {
    char *memory = call->host->workspace(call, bytes + 64);
    if (!memory) return WICK_HOST_ERROR(call->host, WICK_OUT_OF_MEMORY, "no scratch memory (%zu bytes)", bytes);
    *out = memory + (64 - (uintptr_t)memory % 64) % 64;
    return NULL;
}

/* ---- one batch ---- */
static void step_to(cpu_matrix *x, int64_t i, int64_t step, size_t bytes) {
    x->data = (char *)x->data + (size_t)(i * step) * bytes;
}

static void run_item(const batch_job *job, int64_t i, void *scratch) {
    cpu_gemm_plan plan = job->plan;
    const size_t bytes = wick_dtype_bytes(plan.g.dtype);
    step_to(plan.transposed ? &plan.g.b : &plan.g.a, i, job->a_step, bytes);
    step_to(plan.transposed ? &plan.g.a : &plan.g.b, i, job->b_step, bytes);
    step_to(&plan.g.c, i, job->c_step, bytes);
    if (plan.g.s.data) step_to(&plan.g.s, i, job->s_step, bytes);
    cpu_gemm_run(job->cpu, &plan, scratch);
}

static void run_items(void *user, int64_t begin, int64_t end, int worker) {
    const batch_job *job = user;
    for (int64_t i = begin; i < end; ++i) run_item(job, i, job->scratch + (size_t)worker * job->scratch_bytes);
}

static wick_status *make_scratch(const wick_kernel_call *call, batch_job *job, int threads) {
    job->scratch_bytes = cpu_whole_lines(job->plan.scratch_bytes);
    return cpu_scratch(call, job->scratch_bytes * (size_t)threads, (void **)&job->scratch);
}

/* C = beta * S + alpha * (A0 B0 + A1 B1 + ...) */
static wick_status *run_sum(const wick_kernel_call *call, batch_job *job) {
    cpu_gemm g = job->plan.g;
    if (job->batches == 0) job->plan.g.k = 0;
    cpu_gemm_make_plan(job->cpu, &job->plan, cpu_thread_count(job->cpu));
    WICK_TRY(make_scratch(call, job, 1));
    cpu_gemm_run(job->cpu, &job->plan, job->scratch);
    if (job->batches <= 1) return NULL;
    g.s = g.c;
    g.beta = NULL;
    job->plan.g = g;
    cpu_gemm_make_plan(job->cpu, &job->plan, cpu_thread_count(job->cpu));
    for (int64_t i = 1; i < job->batches; ++i) run_item(job, i, job->scratch);
    return NULL;
}

/* Small products go one to a thread; a big one is split inside. */
static wick_status *run_batch(const wick_kernel_call *call, batch_job *job) {
    cpu_instance *cpu = job->cpu;
    const cpu_gemm *g = &job->plan.g;
    const int threads = cpu_thread_count(cpu);
    const double work = (double)g->m * (double)g->n * (double)g->k;
    const bool apart = job->batches > 1 && (work < 1e8 || job->batches >= 4 * threads);
    cpu_gemm_make_plan(cpu, &job->plan, apart ? 1 : threads);
    WICK_TRY(make_scratch(call, job, apart ? threads : 1));
    if (apart)
        cpu_parallel_for(cpu, job->batches, (int64_t)(3e5 / (work + 1)) + 1, run_items, job);
    else if (job->batches == 1)
        cpu_gemm_run(cpu, &job->plan, job->scratch);
    else
        run_items(job, 0, job->batches, 0);
    return NULL;
}

/* ---- tensors as matrices ---- */
/* The stride of the dimension `from_end` (1: the last), 0 where the tensor broadcasts. */
static int64_t stride_from_end(const wick_tensor *t, int from_end) {
    const int d = t->ndim - from_end;
    return d < 0 || t->sizes[d] == 1 ? 0 : t->strides[d];
}

/* The last two dimensions. A vector is a column. */
static void set_matrix(cpu_matrix *x, const wick_tensor *t) {
    const bool vector = t->ndim == 1;
    x->data = wick_data(t);
    x->row = t->strides[vector ? 0 : t->ndim - 2];
    x->col = vector ? 1 : t->strides[t->ndim - 1];
}

/* S is broadcast to the shape of an output of `ndim` dimensions without its batch. */
static cpu_matrix broadcast_matrix_of(const wick_tensor *t, int ndim) {
    if (ndim == 1) return (cpu_matrix){wick_data(t), stride_from_end(t, 1), 1};
    return (cpu_matrix){wick_data(t), stride_from_end(t, 2), stride_from_end(t, 1)};
}

static void read_factors(const wick_kernel_call *call, const gemm_form *form, cpu_gemm *g) {
    g->alpha = form->alpha < 0 ? NULL : &call->values[form->alpha];
    g->beta = form->s < 0 ? &zero : &call->values[form->beta];
}

static void read_outer(const wick_tensor *a, const wick_tensor *b, cpu_gemm *g) {
    g->m = a->sizes[0], g->n = b->sizes[0], g->k = 1;
    g->a = (cpu_matrix){wick_data(a), a->strides[0], 1};
    g->b = (cpu_matrix){wick_data(b), 1, b->strides[0]};
}

static void read_product(const wick_tensor *a, const wick_tensor *b, batch_job *job) {
    cpu_gemm *g = &job->plan.g;
    g->m = wick_size(a, -2), g->k = wick_size(a, -1);
    g->n = b->ndim == 1 ? 1 : wick_size(b, -1);
    set_matrix(&g->a, a);
    set_matrix(&g->b, b);
    if (a->ndim < 3) return;
    job->batches = a->sizes[0], job->a_step = a->strides[0], job->b_step = b->strides[0];
}

/* One product, without alpha and S; sizes and matrices are left to the caller. To clear all of it would show in small
 * products. */
static void start_job(batch_job *job, cpu_instance *cpu, wick_dtype dtype) {
    cpu_gemm *g = &job->plan.g;
    job->cpu = cpu, job->batches = 1;
    job->a_step = job->b_step = job->c_step = job->s_step = 0;
    g->dtype = dtype, g->alpha = NULL;
    g->s.data = NULL, g->s.row = g->s.col = 0;
}

static wick_status *gemm(const wick_kernel_call *call) {
    const gemm_form *form = call->data;
    const wick_tensor *out = wick_out_tensor(call, 0), *a = wick_arg_tensor(call, form->a);
    const wick_tensor *b = wick_arg_tensor(call, form->b), *s = form->s < 0 ? NULL : wick_arg_tensor(call, form->s);
    const wick_dtype dtype = wick_tensor_dtype(out);
    if (wick_dtype_is_floating(dtype) && cpu_wide_dtype(dtype) != dtype) return cpu_call_widened(call, gemm);
    batch_job job;
    start_job(&job, cpu_of(call), dtype);
    set_matrix(&job.plan.g.c, out);
    if (form->outer)
        read_outer(a, b, &job.plan.g);
    else
        read_product(a, b, &job);
    if (out->ndim == 3) job.c_step = out->strides[0];
    if (s) job.plan.g.s = broadcast_matrix_of(s, out->ndim), job.s_step = out->ndim == 3 ? stride_from_end(s, 3) : 0;
    read_factors(call, form, &job.plan.g);
    return form->sum_batches ? run_sum(call, &job) : run_batch(call, &job);
}

/* ---- linear: any leading dimensions, bias fused ---- */
/* True if the tensor's rows (all dimensions but the last) are evenly spaced; *out_row is their distance. */
static bool rows_are_even(const wick_tensor *t, int64_t *out_row) {
    int64_t row = 0, rows = 1;
    for (int d = t->ndim - 2; d >= 0; --d) {
        if (t->sizes[d] == 1) continue;
        if (rows == 1)
            row = t->strides[d];
        else if (t->strides[d] != row * rows)
            return false;
        rows *= t->sizes[d];
    }
    *out_row = rows == 1 ? t->sizes[t->ndim - 1] : row;
    return true;
}

/* The tensor as a matrix of rows of `width` elements, packed into scratch memory if its rows are not evenly spaced. */
static wick_status *rows_of(const wick_kernel_call *call, const wick_tensor *t, int64_t width, cpu_matrix *out) {
    const bool has_rows = t->ndim > 0 && wick_size(t, -1) == width;
    *out = (cpu_matrix){wick_data(t), width, has_rows ? wick_stride(t, -1) : 1};
    if (wick_is_contiguous(t) || (has_rows && rows_are_even(t, &out->row))) return NULL;
    WICK_TRY(cpu_scratch(call, (size_t)t->numel * wick_dtype_bytes(wick_tensor_dtype(t)), &out->data));
    out->row = width, out->col = 1;
    return NULL;
}

static wick_status *linear(const wick_kernel_call *call) {
    const wick_tensor *out = wick_out_tensor(call, 0), *x = wick_arg_tensor(call, 0), *w = wick_arg_tensor(call, 1);
    const wick_tensor *bias = wick_arg_tensor(call, 2);
    const wick_dtype dtype = wick_tensor_dtype(out);
    if (wick_dtype_is_floating(dtype) && cpu_wide_dtype(dtype) != dtype) return cpu_call_widened(call, linear);
    if (out->numel == 0) return NULL;
    batch_job job;
    start_job(&job, cpu_of(call), dtype);
    cpu_gemm *g = &job.plan.g;
    const bool flat = w->ndim == 1; /* weight [in]: the result loses the last dimension */
    g->n = flat ? 1 : w->sizes[0], g->k = wick_size(x, -1), g->m = out->numel / g->n;
    g->b = (cpu_matrix){wick_data(w), wick_stride(w, -1), flat ? 1 : w->strides[0]};
    g->beta = bias ? NULL : &zero;
    if (bias) g->s = (cpu_matrix){wick_data(bias), 0, stride_from_end(bias, 1)};
    WICK_TRY(rows_of(call, x, g->k, &g->a));
    if (g->a.data != wick_data(x)) cpu_pack_to(job.cpu, x, g->a.data);
    WICK_TRY(rows_of(call, out, g->n, &g->c));
    WICK_TRY(run_batch(call, &job));
    if (g->c.data != wick_data(out)) cpu_unpack_from(job.cpu, out, g->c.data);
    return NULL;
}

/* ---- its gradients ---- */
/* The rows of a sum's first level, and of its second one. */
#define SUM_ROWS 256

typedef struct column_sums {
    const cpu_gemm_type *type;
    const cpu_matrix *in;
    int64_t rows, columns;
    size_t bytes;
    char *out; /* [block of SUM_ROWS rows][column] */
} column_sums;

static void sum_blocks(void *user, int64_t begin, int64_t end, int worker) {
    const column_sums *job = user;
    const float one_f32 = 1;
    const double one_f64 = 1;
    const void *one = job->bytes == sizeof one_f32 ? (const void *)&one_f32 : &one_f64;
    for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i * SUM_ROWS, rows = job->rows - first < SUM_ROWS ? job->rows - first : SUM_ROWS;
        const char *in = (const char *)job->in->data + (size_t)(first * job->in->row) * job->bytes;
        job->type->combine_rows(job->out + (size_t)(i * job->columns) * job->bytes, one, 0, in, job->in->row, rows,
                                job->columns);
    }
}

/* The sum of the rows of a matrix with contiguous columns, block by block, so that errors stay small. */
static wick_status *sum_rows(const wick_kernel_call *call, const wick_tensor *out, const cpu_matrix *in, int64_t rows) {
    const wick_dtype dtype = wick_tensor_dtype(out);
    column_sums job = {
        cpu_gemm_type_of(cpu_of(call), dtype), in, rows, out->numel, wick_dtype_bytes(dtype), wick_data(out)};
    const int64_t blocks = (rows + SUM_ROWS - 1) / SUM_ROWS;
    if (blocks <= 1) return sum_blocks(&job, 0, 1, 0), NULL;
    cpu_matrix partial = {.row = job.columns, .col = 1};
    WICK_TRY(cpu_scratch(call, (size_t)(blocks * job.columns) * job.bytes, &partial.data));
    job.out = partial.data;
    cpu_parallel_for(cpu_of(call), blocks, 1 + CPU_GRAIN / (SUM_ROWS * (job.columns + 1)), sum_blocks, &job);
    return sum_rows(call, out, &partial, blocks);
}

/* The tensor as a matrix of rows with contiguous columns. */
static wick_status *packed_rows_of(const wick_kernel_call *call, const wick_tensor *t, cpu_matrix *out) {
    const int64_t width = wick_size(t, -1);
    WICK_TRY(rows_of(call, t, width, out));
    if (out->col != 1 && out->data == wick_data(t))
        WICK_TRY(cpu_scratch(call, (size_t)t->numel * wick_dtype_bytes(wick_tensor_dtype(t)), &out->data));
    if (out->data == wick_data(t)) return NULL;
    out->row = width, out->col = 1;
    cpu_pack_to(cpu_of(call), t, out->data);
    return NULL;
}

static cpu_matrix turned(cpu_matrix x) { return (cpu_matrix){x.data, x.col, x.row}; }

/* out = a b, where out is contiguous and k is what a and b have in common */
static wick_status *multiply(const wick_kernel_call *call, const wick_tensor *out, cpu_matrix a, cpu_matrix b,
                             int64_t k) {
    batch_job job;
    cpu_gemm *g = &job.plan.g;
    start_job(&job, cpu_of(call), wick_tensor_dtype(out));
    g->n = wick_size(out, -1), g->m = out->numel / g->n, g->k = k;
    g->a = a, g->b = b, g->c = (cpu_matrix){wick_data(out), g->n, 1};
    g->beta = &zero;
    return run_batch(call, &job);
}

/* (grad_output, input, weight, output_mask) -> the gradients for input, weight and bias */
static wick_status *linear_backward(const wick_kernel_call *call) {
    const wick_tensor *grad = wick_arg_tensor(call, 0), *x = wick_arg_tensor(call, 1), *w = wick_arg_tensor(call, 2);
    const wick_tensor *dx = wick_out_tensor(call, 0), *dw = wick_out_tensor(call, 1), *db = wick_out_tensor(call, 2);
    const wick_dtype dtype = wick_tensor_dtype(grad);
    if (cpu_wide_dtype(dtype) != dtype) return cpu_call_widened(call, linear_backward);
    const int64_t n = wick_size(grad, -1), m = n ? grad->numel / n : 0;
    cpu_matrix g, inputs;
    WICK_TRY(packed_rows_of(call, grad, &g));
    if (dx && dx->numel) {
        const cpu_matrix weights = {wick_data(w), w->strides[0], w->strides[1]};
        WICK_TRY(multiply(call, dx, g, weights, n));
    }
    if (dw && dw->numel) {
        WICK_TRY(packed_rows_of(call, x, &inputs));
        WICK_TRY(multiply(call, dw, turned(g), inputs, m));
    }
    return db && db->numel ? sum_rows(call, db, &g, m) : NULL;
}

/* ---- the rows ---- */
#define FLOATS WICK_DTYPES_FLOAT
#define COMPLEX WICK_DTYPES_COMPLEX
#define INTEGERS WICK_DTYPES_INT
#define NUMBERS (FLOATS | COMPLEX | INTEGERS)

static const gemm_form form_mm = {0, 1, -1, -1, -1, false, false};
static const gemm_form form_add = {1, 2, 0, 4, 3, false, false};
static const gemm_form form_sum = {1, 2, 0, 4, 3, false, true};
static const gemm_form form_outer = {1, 2, 0, 4, 3, true, false};

static const wick_kernel_row rows[] = {
    CPU_ROW("mm", gemm, &form_mm, NUMBERS, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("bmm", gemm, &form_mm, NUMBERS, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("mv", gemm, &form_mm, NUMBERS, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("addmm", gemm, &form_add, NUMBERS, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("baddbmm", gemm, &form_add, NUMBERS, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("addmv", gemm, &form_add, NUMBERS, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("addbmm", gemm, &form_sum, NUMBERS, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("addr", gemm, &form_outer, NUMBERS | WICK_DTYPE_BIT(WICK_BOOL), WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("linear", linear, NULL, NUMBERS, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("_linear_backward", linear_backward, NULL, FLOATS, WICK_KERNEL_DETERMINISTIC),
};
const cpu_kernel_table cpu_gemm_table = CPU_TABLE(rows);
