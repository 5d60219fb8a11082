/* Cross entropy of rows of classes: log-softmax and negative log likelihood at once, which read the scores once each way
 * and keep two numbers a row. */
#include "class_sums.h"
#include "gemm.h"
#include "softmax.h"

#include <math.h>
#include <string.h>
#include <wick/sdk/arguments.h>

enum { ROWS = 64, PIECE_ELEMENTS = 8192 };

/* What the sums are made of is decided by the shape alone: CLASS_PIECES parts at most, of whole rows. */
typedef struct entropy_job {
    acc_operand x, grad, loss; /* grad: of x, in a backward; loss: of each row, or its gradient */
    acc_operand weight;        /* as doubles; data NULL: 1 */
    void (*transpose)(void *out, int64_t out_row, const void *in, int64_t in_row, int64_t n, int64_t k); /* gemm.h */
    const char *target;
    acc_load_fn load_target;
    size_t target_size;
    void *normalizer; /* each row's maximum, then each row's logarithm of its sum of exp(x - maximum) */
    int64_t rows, classes, ignore, piece;
    bool wide;       /* computed in F64 */
    bool by_row;     /* a loss for each row */
    double gradient; /* of every row's loss, unless by row */
    class_sums sums;
} entropy_job;

/* The row's class and its weight, 0 if it is to be ignored; -1 if there is no such class. */
static int64_t target_of(const entropy_job *job, int64_t row, double *weight) {
    const char *at = job->target + (size_t)row * job->target_size;
    int64_t target;
    *weight = 1;
    if (job->target_size == sizeof target)
        memcpy(&target, at, sizeof target);
    else
        job->load_target(&target, at, 1, 1);
    if (target == job->ignore) return *weight = 0, 0;
    if (target < 0 || target >= job->classes) return -1;
    if (job->weight.data) job->weight.load(weight, job->weight.data + target * job->weight.size, 1, 1);
    return target;
}

#define REAL float
#define REAL_NAME(x) x##_f32
#define EXP_BELOW exp_below_f32
#define LOG log_f32
#include "cross_entropy_body.inc"

#define REAL double
#define REAL_NAME(x) x##_f64
#define EXP_BELOW exp
#define LOG log
#include "cross_entropy_body.inc"

/* ---- pieces ---- */
/* `visit` works on up to ROWS rows and sets job->sums.bad of the piece if a target is out of range. */
static void visit_rows(entropy_job *job, int64_t begin, int64_t end,
                       void (*visit)(entropy_job *job, int64_t piece, int64_t row, int64_t count)) {
    for (int64_t p = begin; p < end; ++p) {
        const int64_t last = reduce_min(job->rows, (p + 1) * job->piece);
        class_sums_begin(&job->sums, p);
        for (int64_t row = p * job->piece; row < last && job->sums.bad[p] < 0; row += ROWS)
            visit(job, p, row, reduce_min(ROWS, last - row));
    }
}
#define DEFINE_PIECES(name)                                                         \
    static void name##_pieces(void *user, int64_t begin, int64_t end, int worker) { \
        entropy_job *job = user;                                                    \
        visit_rows(job, begin, end, job->wide ? name##_rows_f64 : name##_rows_f32); \
    }
DEFINE_PIECES(forward)
DEFINE_PIECES(backward)

/* The rest of the job is zero. `by_row`: the loss or its gradient. */
static wick_status *prepare(const wick_kernel_call *call, entropy_job *job, const wick_tensor *x,
                            const wick_tensor *target, const wick_tensor *weight, const wick_tensor *by_row) {
    const acc_kind acc = acc_of(wick_tensor_dtype(x));
    job->rows = x->sizes[0], job->classes = x->sizes[1];
    job->target = wick_data(target), job->target_size = wick_dtype_bytes(wick_tensor_dtype(target));
    job->load_target = acc_loader(ACC_I64, wick_tensor_dtype(target));
    job->wide = acc == ACC_F64, job->by_row = by_row->ndim > 0;
    job->transpose = cpu_gemm_type_of(cpu_of(call), job->wide ? WICK_F64 : WICK_F32)->transpose;
    const int64_t least = (PIECE_ELEMENTS + job->classes - 1) / reduce_max(job->classes, 1);
    job->piece = reduce_max(reduce_max(least, 1), (job->rows + CLASS_PIECES - 1) / CLASS_PIECES);
    if (!acc_operand_init(&job->x, acc, x) || !acc_operand_init(&job->loss, ACC_F64, by_row) || !job->load_target ||
        (weight && !acc_operand_init(&job->weight, ACC_F64, weight)))
        return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "cross entropy has no kernel for these dtypes");
    return NULL;
}

static wick_status *run(const wick_kernel_call *call, entropy_job *job, cpu_range_fn pieces) {
    const int64_t n = (job->rows + job->piece - 1) / job->piece, elements = job->piece * job->classes;
    cpu_parallel_for(cpu_of(call), n, reduce_max(1, CPU_GRAIN / 4 / reduce_max(elements, 1)), pieces, job);
    return class_sums_join(call, &job->sums, n, job->classes);
}

/* (self, target, weight, reduction, ignore_index) -> (output, total_weight, normalizer) */
static wick_status *forward_call(const wick_kernel_call *call) {
    const wick_tensor *x = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, 0), *total = wick_out_tensor(call, 1);
    const int64_t reduction = call->values[3].as.i;
    entropy_job job = {.ignore = call->values[4].as.i, .normalizer = wick_data(wick_out_tensor(call, 2))};
    WICK_TRY(prepare(call, &job, x, wick_arg_tensor(call, 1), wick_arg_tensor(call, 2), out));
    WICK_TRY(run(call, &job, forward_pieces));
    if (job.by_row) job.sums.weight[0] = 0;
    if (reduction == WICK_LOSS_MEAN) job.sums.loss[0] /= job.sums.weight[0];
    if (!job.by_row) job.loss.store(wick_data(out), 1, job.sums.loss, 1);
    acc_store(ACC_F64, wick_tensor_dtype(total))(wick_data(total), 1, job.sums.weight, 1);
    return NULL;
}

/* (grad_output, self, target, weight, reduction, ignore_index, total_weight, normalizer) */
static wick_status *backward_call(const wick_kernel_call *call) {
    const wick_tensor *grad = wick_arg_tensor(call, 0), *x = wick_arg_tensor(call, 1), *out = wick_out_tensor(call, 0);
    const wick_tensor *total = wick_arg_tensor(call, 6);
    entropy_job job = {.ignore = call->values[5].as.i, .normalizer = wick_data(wick_arg_tensor(call, 7))};
    WICK_TRY(prepare(call, &job, x, wick_arg_tensor(call, 2), wick_arg_tensor(call, 3), grad));
    if (!acc_operand_init(&job.grad, acc_of(wick_tensor_dtype(x)), out))
        return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "cross entropy has no kernel for these dtypes");
    if (!job.by_row) job.loss.load(&job.gradient, wick_data(grad), 1, 1);
    if (call->values[4].as.i == WICK_LOSS_MEAN) {
        double weight;
        acc_loader(ACC_F64, wick_tensor_dtype(total))(&weight, wick_data(total), 1, 1);
        job.gradient /= weight;
    }
    return run(call, &job, backward_pieces);
}

#define FLAGS (WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_DETERMINISTIC)
static const wick_kernel_row rows[] = {
    CPU_ROW("_fused_cross_entropy", forward_call, NULL, WICK_DTYPES_FLOAT, FLAGS),
    CPU_ROW("_fused_cross_entropy_backward", backward_call, NULL, WICK_DTYPES_FLOAT, FLAGS),
};
const cpu_kernel_table CPU_NAME(cross_entropy_table) = CPU_TABLE(rows);
