/* Negative log likelihood, forward and backward, for [C], [N, C] and [N, C, spatial...] of any strides. */
#include "class_sums.h"
#include "reduction.h"

#include <math.h>
#include <string.h>
#include <wick/sdk/arguments.h>

enum { PIECE = 8192 };

/* `classes` is the tensor with the class dimension: self, or its gradient. */
typedef struct nll_job {
    reduce_shape shape; /* kept: the samples; in: classes, out[0]: target, out[1]: by-sample loss or its gradient */
    acc_operand classes, weight, loss;
    const char *target;
    acc_load_fn load_target;
    uint8_t target_size;
    int64_t class_count, class_stride, weight_stride, ignore, samples, piece;
    int reduction;
    bool zeroed;     /* the gradient is zero already */
    double gradient; /* of every sample's loss, unless by sample */
    class_sums sums;
} nll_job;

typedef void (*nll_visit)(nll_job *job, int64_t piece, int64_t classes, int64_t loss, int64_t target, double weight);

/* Calls `visit` for the samples that are not ignored; ignored ones have weight 0. */
static void visit_piece(nll_job *job, int64_t piece, nll_visit visit) {
    int64_t end = reduce_min(job->samples, (piece + 1) * job->piece);
    class_sums_begin(&job->sums, piece);
    for (int64_t i = piece * job->piece; i < end; ++i) {
        int64_t out[2], target, classes = reduce_at(job->shape.kept, job->shape.nkept, i, out);
        double weight = 1;
        job->load_target(&target, job->target + out[0] * job->target_size, 1, 1);
        if (target == job->ignore)
            target = 0, weight = 0;
        else if (target < 0 || target >= job->class_count) {
            job->sums.bad[piece] = i;
            return;
        } else if (job->weight.data)
            job->weight.load(&weight, job->weight.data + target * job->weight_stride * job->weight.size, 1, 1);
        visit(job, piece, classes, out[1], target, weight);
    }
}

static void visit_forward(nll_job *job, int64_t piece, int64_t classes, int64_t loss, int64_t target, double weight) {
    double value = 0;
    if (weight != 0)
        job->classes.load(&value, job->classes.data + (classes + target * job->class_stride) * job->classes.size, 1, 1);
    value *= -weight;
    if (job->reduction == WICK_LOSS_NONE) job->loss.store(job->loss.data + loss * job->loss.size, 1, &value, 1);
    job->sums.loss[piece] += value, job->sums.weight[piece] += weight;
}

static void visit_backward(nll_job *job, int64_t piece, int64_t classes, int64_t loss, int64_t target, double weight) {
    double gradient = job->gradient, zero = 0;
    char *line = job->classes.data + classes * job->classes.size;
    if (!job->zeroed)
        for (int64_t c = 0; c < job->class_count; ++c)
            job->classes.store(line + c * job->class_stride * job->classes.size, 1, &zero, 1);
    if (weight == 0) return;
    if (job->reduction == WICK_LOSS_NONE) job->loss.load(&gradient, job->loss.data + loss * job->loss.size, 1, 1);
    gradient *= -weight;
    job->classes.store(line + target * job->class_stride * job->classes.size, 1, &gradient, 1);
}

static void forward_pieces(void *user, int64_t begin, int64_t end, int worker) {
    for (int64_t i = begin; i < end; ++i) visit_piece(user, i, visit_forward);
}
static void backward_pieces(void *user, int64_t begin, int64_t end, int worker) {
    for (int64_t i = begin; i < end; ++i) visit_piece(user, i, visit_backward);
}

/* The rest of the job is zero. by_sample: the loss or its gradient, NULL unless there is one for every sample. */
static wick_status *prepare(const wick_kernel_call *call, nll_job *job, const wick_tensor *classes,
                            const wick_tensor *target, const wick_tensor *weight, const wick_tensor *by_sample) {
    int class_dim = classes->ndim > 1;
    reduce_shape *s = &job->shape;
    reduce_shape_init(s, classes, 1ull << class_dim, target, by_sample, WICK_REDUCE_ANY_ORDER);
    s->kept[s->nkept++] = s->column;
    job->samples = s->kept_count;
    job->class_count = classes->sizes[class_dim], job->class_stride = classes->strides[class_dim];
    job->weight_stride = weight ? weight->strides[0] : 0;
    job->target = wick_data(target);
    job->target_size = (uint8_t)wick_dtype_bytes(wick_tensor_dtype(target));
    job->load_target = acc_loader(ACC_I64, wick_tensor_dtype(target));
    job->piece = reduce_max(PIECE, (job->samples + CLASS_PIECES - 1) / CLASS_PIECES);
    if (!acc_operand_init(&job->classes, ACC_F64, classes) ||
        (weight && !acc_operand_init(&job->weight, ACC_F64, weight)) ||
        (by_sample && !acc_operand_init(&job->loss, ACC_F64, by_sample)) || !job->load_target)
        return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "nll_loss has no kernel for these dtypes");
    return NULL;
}

static wick_status *run(const wick_kernel_call *call, nll_job *job, cpu_range_fn pieces) {
    int64_t n = (job->samples + job->piece - 1) / job->piece;
    cpu_parallel_for(cpu_of(call), n, 1, pieces, job);
    return class_sums_join(call, &job->sums, n, job->class_count);
}

/* (self, target, weight, reduction, ignore_index) */
static wick_status *forward_call(const wick_kernel_call *call) {
    const wick_tensor *out = wick_out_tensor(call, 0), *total = wick_out_tensor(call, 1);
    nll_job job = {.reduction = (int)call->values[3].as.i, .ignore = call->values[4].as.i};
    bool by_sample = job.reduction == WICK_LOSS_NONE;
    WICK_TRY(prepare(call, &job, wick_arg_tensor(call, 0), wick_arg_tensor(call, 1), wick_arg_tensor(call, 2),
                     by_sample ? out : NULL));
    WICK_TRY(run(call, &job, forward_pieces));
    if (by_sample && wick_arg_tensor(call, 0)->ndim > 1) job.sums.weight[0] = 0;
    if (job.reduction == WICK_LOSS_MEAN) job.sums.loss[0] /= job.sums.weight[0];
    if (!by_sample) acc_store(ACC_F64, wick_tensor_dtype(out))(wick_data(out), 1, job.sums.loss, 1);
    if (total) acc_store(ACC_F64, wick_tensor_dtype(total))(wick_data(total), 1, job.sums.weight, 1);
    return NULL;
}

/* (grad_output, self, target, weight, reduction, ignore_index, total_weight) */
static wick_status *backward_call(const wick_kernel_call *call) {
    const wick_tensor *out = wick_out_tensor(call, 0), *gradient = wick_arg_tensor(call, 0);
    const wick_tensor *total = wick_arg_tensor(call, 6);
    nll_job job = {.reduction = (int)call->values[4].as.i, .ignore = call->values[5].as.i};
    bool by_sample = job.reduction == WICK_LOSS_NONE;
    WICK_TRY(prepare(call, &job, out, wick_arg_tensor(call, 2), wick_arg_tensor(call, 3), by_sample ? gradient : NULL));
    if (out->numel == 0) return NULL;
    if (!by_sample) acc_loader(ACC_F64, wick_tensor_dtype(gradient))(&job.gradient, wick_data(gradient), 1, 1);
    if (job.reduction == WICK_LOSS_MEAN) {
        double weight;
        acc_loader(ACC_F64, wick_tensor_dtype(total))(&weight, wick_data(total), 1, 1);
        job.gradient /= weight;
    }
    job.zeroed = wick_is_contiguous(out);
    if (job.zeroed) memset(wick_data(out), 0, (size_t)out->numel * job.classes.size);
    return run(call, &job, backward_pieces);
}

static const wick_kernel_row rows[] = {
    CPU_ROW("nll_loss_forward", forward_call, NULL, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("nll_loss_backward", backward_call, NULL, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("nll_loss2d_forward", forward_call, NULL, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("nll_loss2d_backward", backward_call, NULL, 0, WICK_KERNEL_DETERMINISTIC),
};
const cpu_kernel_table CPU_NAME(loss_table) = CPU_TABLE(rows);
