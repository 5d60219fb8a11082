/* Softmax, its logarithm, and their gradients, along one dimension of tensors of any strides. */
#include "softmax.h"

#include <math.h>

#define REAL float
#define REAL_NAME(x) x##_f32
#define EXP exp_f32
#define EXP_BELOW exp_below_f32
#define LOG log_f32
#include "softmax_body.inc"

#define REAL double
#define REAL_NAME(x) x##_f64
#define EXP exp
#define EXP_BELOW exp
#define LOG log
#include "softmax_body.inc"

static wick_status *run_softmax(const wick_kernel_call *call, const wick_tensor *in, const wick_tensor *other,
                                int dim_arg, bool log, bool safe) {
    const wick_tensor *out = wick_out_tensor(call, 0);
    const wick_value *dim_value = &call->values[dim_arg];
    const int dim = wick_dim_of(dim_value, in->ndim);
    acc_kind acc =
        acc_of(wick_tensor_dtype(in)) == ACC_F64 || acc_of(wick_tensor_dtype(out)) == ACC_F64 ? ACC_F64 : ACC_F32;
    softmax_job job = {.log = log, .safe = safe};
    if (!acc_operand_init(&job.in, acc, in) || !acc_operand_init(&job.out, acc, out) ||
        (other && !acc_operand_init(&job.other, acc, other)))
        return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "softmax has no kernel for these dtypes");
    if (out->numel == 0) return NULL;
    reduce_shape *s = &job.shape;
    reduce_shape_init(s, in, wick_reduced_dims(dim_value, in->ndim), out, other, WICK_REDUCE_ELEMENTWISE);
    job.n = s->reduced_count;
    job.in_stride = in->ndim ? in->strides[dim] : 1;
    job.out_stride = in->ndim ? out->strides[dim] : 1;
    job.other_stride = in->ndim && other ? other->strides[dim] : 1;
    if (job.n <= SOFTMAX_SHORT && s->column.size >= SOFTMAX_SHORT) s->columns = true;
    if (!s->columns && job.n * job.out.size <= SOFTMAX_BYTES)
        acc_stream(&job.out, cpu_of(call), out->numel, job.out_stride, false);
    reduce_split(s, SOFTMAX_COLUMNS, reduce_max(1, SOFTMAX_ROW_COUNT / job.n));
    int64_t grain = reduce_max(1, CPU_GRAIN / 4 * s->tasks / (s->kept_count * s->reduced_count));
    cpu_parallel_for(cpu_of(call), s->tasks, grain, acc == ACC_F64 ? softmax_units_f64 : softmax_units_f32, &job);
    return NULL;
}

static const bool plain = false, logarithm = true;

/* (self, dim, half_to_float) */
static wick_status *softmax_call(const wick_kernel_call *call) {
    return run_softmax(call, wick_arg_tensor(call, 0), NULL, 1, *(const bool *)call->data, false);
}
/* (self, dim, dtype) */
static wick_status *safe_softmax_call(const wick_kernel_call *call) {
    return run_softmax(call, wick_arg_tensor(call, 0), NULL, 1, false, true);
}
/* (grad_output, output, dim, input_dtype) */
static wick_status *softmax_backward_call(const wick_kernel_call *call) {
    return run_softmax(call, wick_arg_tensor(call, 0), wick_arg_tensor(call, 1), 2, *(const bool *)call->data, false);
}

static const wick_kernel_row rows[] = {
    CPU_ROW("_softmax", softmax_call, &plain, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("_log_softmax", softmax_call, &logarithm, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("_safe_softmax", safe_softmax_call, NULL, 0, WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_FUSED_CAST),
    CPU_ROW("_softmax_backward_data", softmax_backward_call, &plain, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("_log_softmax_backward_data", softmax_backward_call, &logarithm, 0, WICK_KERNEL_DETERMINISTIC),
};
const cpu_kernel_table CPU_NAME(softmax_table) = CPU_TABLE(rows);
