/* Reading and writing by index: index, index_select, gather, take, embedding, and the writers that do not add up. */
#include "index.h"

/* ---- readers: out = self[index] ---- */
static wick_status *index_tensor(const wick_kernel_call *k) {
    cpu_view self, out;
    cpu_index_plan plan;
    cpu_view_of(wick_arg_tensor(k, 0), &self);
    cpu_view_of(wick_out_tensor(k, 0), &out);
    WICK_TRY(cpu_index_tensors(k, &plan, &self, &k->values[1], &out));
    return cpu_index_read(k, &plan);
}

/* index_select's positions lie along one dimension, gather's index has the output's shape. */
static wick_status *read_along(const wick_kernel_call *k, bool spread) {
    cpu_view self, index, out;
    cpu_index_plan plan;
    cpu_view_of(wick_arg_tensor(k, 0), &self);
    cpu_view_of(wick_arg_tensor(k, 2), &index);
    cpu_view_of(wick_out_tensor(k, 0), &out);
    int dim = wick_dim_of(&k->values[1], wick_arg_tensor(k, 0)->ndim);
    if (spread) cpu_view_spread(&index, dim, &out);
    cpu_index_along(&plan, &self, dim, &index, &out);
    return cpu_index_read(k, &plan);
}
static wick_status *index_select(const wick_kernel_call *k) { return read_along(k, true); }
static wick_status *gather(const wick_kernel_call *k) { return read_along(k, false); }

static wick_status *take(const wick_kernel_call *k) {
    cpu_view self, index, out;
    cpu_index_plan plan;
    cpu_view_of(wick_arg_tensor(k, 0), &self);
    cpu_view_of(wick_arg_tensor(k, 1), &index);
    cpu_view_of(wick_out_tensor(k, 0), &out);
    cpu_index_flat(&plan, &self, &index, &out);
    return cpu_index_read(k, &plan);
}

static wick_status *embedding(const wick_kernel_call *k) {
    cpu_view weight, index, out;
    cpu_index_plan plan;
    cpu_view_of(wick_arg_tensor(k, 0), &weight);
    cpu_view_of(wick_arg_tensor(k, 1), &index);
    cpu_view_of(wick_out_tensor(k, 0), &out);
    cpu_index_rows(&plan, &weight, &index, &out);
    return cpu_index_read(k, &plan);
}

/* ---- writers: out = self, then out[index] = source ---- */
static wick_status *write_items(const wick_kernel_call *k, cpu_index_plan *plan) {
    return cpu_index_write(k, plan, cpu_place_write[cpu_item_log2(plan->item)], NULL);
}

/* Plan for (self, dim, index, ...); the dense operand is argument 3, a tensor or a scalar held in `item`. */
static void plan_write(const wick_kernel_call *k, bool spread, cpu_index_plan *plan, uint64_t item[2]) {
    cpu_view out, index, source;
    const wick_tensor *tensor = wick_arg_tensor(k, 3);
    cpu_output_from(k, wick_arg_tensor(k, 0), &out);
    cpu_view_of(wick_arg_tensor(k, 2), &index);
    int dim = wick_dim_of(&k->values[1], wick_arg_tensor(k, 0)->ndim);
    if (tensor) cpu_view_of(tensor, &source);
    if (spread) cpu_view_spread(&index, dim, &out);
    cpu_index_along(plan, &out, dim, &index, tensor ? &source : &out);
    if (tensor) return;
    cpu_item_from_scalar(out.dtype, &k->values[3], item);
    cpu_index_constant(plan, item);
}

static wick_status *write_along(const wick_kernel_call *k, bool spread, bool wrap) {
    cpu_index_plan plan;
    uint64_t item[2];
    plan_write(k, spread, &plan, item);
    plan.wrap = wrap;
    return write_items(k, &plan);
}
static wick_status *index_copy(const wick_kernel_call *k) { return write_along(k, true, false); }
static wick_status *index_fill(const wick_kernel_call *k) { return write_along(k, true, true); }
static wick_status *scatter(const wick_kernel_call *k) { return write_along(k, false, false); }

static const wick_kernel_row rows[] = {
    CPU_ROW("index.Tensor", index_tensor, NULL, 0, 0),
    CPU_ROW("index_select", index_select, NULL, 0, 0),
    CPU_ROW("gather", gather, NULL, 0, 0),
    CPU_ROW("take", take, NULL, 0, WICK_KERNEL_CONTIGUOUS),
    CPU_ROW("embedding", embedding, NULL, 0, 0),
    CPU_ROW("index_copy", index_copy, NULL, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("index_fill.int_Scalar", index_fill, NULL, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("scatter.src", scatter, NULL, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("scatter.value", scatter, NULL, 0, WICK_KERNEL_DETERMINISTIC),
};
const cpu_kernel_table cpu_index_table = CPU_TABLE(rows);
