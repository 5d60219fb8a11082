/* Reductions by index: scatter_add, scatter with reduce, index_add, index_reduce, index_put and put, the backward of
 * embedding and of unfold. All are one plan and one reducing loop (scatter_op.c). */
#include "scatter.h"

/* ---- reductions by name ---- */
typedef struct reduce_name {
    const char *name;
    cpu_scatter_op op;
    bool mean;
} reduce_name;

static const reduce_name reduce_names[] = {
    {"sum", CPU_SCATTER_SUM, false},       {"add", CPU_SCATTER_SUM, false},   {"prod", CPU_SCATTER_PROD, false},
    {"multiply", CPU_SCATTER_PROD, false}, {"amax", CPU_SCATTER_AMAX, false}, {"amin", CPU_SCATTER_AMIN, false},
    {"mean", CPU_SCATTER_SUM, true},
};

static wick_status *find_reduce(const wick_kernel_call *k, const wick_value *name, const reduce_name **out) {
    *out = NULL;
    for (size_t i = 0; i < sizeof reduce_names / sizeof reduce_names[0]; ++i)
        if (strcmp(name->as.string, reduce_names[i].name) == 0) return *out = &reduce_names[i], NULL;
    return WICK_HOST_ERROR(k->host, WICK_INVALID_ARGUMENT, "unknown reduction \"%s\"", name->as.string);
}

/* ---- along a dimension ---- */
/* The call's operands: index of the shape that is walked, source that covers it. */
typedef struct along {
    int dim;
    cpu_view index;
    cpu_view source;
} along;

/* Arguments (self, dim, index, source or value, ...). `item` holds a scalar value. */
static void along_of(const wick_kernel_call *k, const cpu_scatter *s, bool spread, uint64_t item[2], along *out) {
    out->dim = wick_dim_of(&k->values[1], wick_arg_tensor(k, 0)->ndim);
    cpu_view_of(wick_arg_tensor(k, 2), &out->index);
    if (wick_arg_tensor(k, 3)) {
        cpu_view_of(wick_arg_tensor(k, 3), &out->source);
        if (spread) cpu_view_spread(&out->index, out->dim, &out->source);
    } else {
        cpu_item_from_scalar(s->out.dtype, &k->values[3], item);
        out->source = out->index, out->source.data = (char *)item, out->source.item = s->out.item;
        memset(out->source.strides, 0, sizeof out->source.strides);
    }
}

/* Counts the contributions to each element (and self's) and divides. */
static wick_status *divide_by_counts(const cpu_scatter *s, const along *a, bool include_self) {
    int64_t *data, first = include_self;
    cpu_view counts;
    cpu_index_plan plan;
    WICK_TRY(cpu_scratch(s->k, cpu_view_numel(&s->sum), sizeof *data, &data));
    cpu_view_dense(data, WICK_I64, s->sum.ndim, s->sum.sizes, &counts);
    cpu_view_fill(cpu_of(s->k), &counts, &first);
    cpu_index_along(&plan, &counts, a->dim, &a->index, &a->index);
    WICK_TRY(cpu_index_write(s->k, &plan, cpu_scatter_count, NULL));
    cpu_scatter_divide(s, &counts);
    return NULL;
}

/* Elements that the index names forget self. */
static wick_status *forget_self(const cpu_scatter *s, const along *a, cpu_scatter_op op) {
    uint64_t item[2];
    cpu_index_plan plan;
    cpu_scatter_identity(op, s->sum.dtype, item);
    cpu_index_along(&plan, &s->sum, a->dim, &a->index, &a->index);
    cpu_index_constant(&plan, item);
    return cpu_index_write(s->k, &plan, cpu_place_write[cpu_item_log2(s->sum.item)], NULL);
}

static wick_status *reduce_along(const wick_kernel_call *k, bool spread, const reduce_name *reduce, bool include_self) {
    cpu_scatter s;
    along a;
    cpu_index_plan plan;
    uint64_t item[2];
    WICK_TRY(cpu_scatter_begin(k, wick_arg_tensor(k, 0), &s));
    along_of(k, &s, spread, item, &a);
    if (!include_self) WICK_TRY(forget_self(&s, &a, reduce->op));
    cpu_index_along(&plan, &s.sum, a.dim, &a.index, &a.source);
    WICK_TRY(cpu_scatter_apply(&s, &plan, reduce->op, NULL));
    if (reduce->mean) WICK_TRY(divide_by_counts(&s, &a, include_self));
    cpu_scatter_end(&s);
    return NULL;
}

static wick_status *scatter_add(const wick_kernel_call *k) { return reduce_along(k, false, &reduce_names[0], true); }

/* scatter.reduce and scatter.value_reduce: argument 4 is the name. */
static wick_status *scatter_reduce(const wick_kernel_call *k) {
    const reduce_name *reduce;
    WICK_TRY(find_reduce(k, &k->values[4], &reduce));
    return reduce_along(k, false, reduce, true);
}

static wick_status *scatter_reduce_two(const wick_kernel_call *k) {
    const reduce_name *reduce;
    WICK_TRY(find_reduce(k, &k->values[4], &reduce));
    return reduce_along(k, false, reduce, k->values[5].as.i);
}

static wick_status *index_reduce(const wick_kernel_call *k) {
    const reduce_name *reduce;
    WICK_TRY(find_reduce(k, &k->values[4], &reduce));
    return reduce_along(k, true, reduce, k->values[5].as.i);
}

static bool is_one(const wick_value *v) {
    return v->tag == WICK_TAG_C128 ? v->as.c[0] == 1 && v->as.c[1] == 0 : wick_value_as_double(v) == 1;
}

static wick_status *index_add(const wick_kernel_call *k) {
    cpu_scatter s;
    along a;
    cpu_index_plan plan;
    uint64_t unused[2], alpha[2];
    WICK_TRY(cpu_scatter_begin(k, wick_arg_tensor(k, 0), &s));
    along_of(k, &s, true, unused, &a);
    cpu_index_along(&plan, &s.sum, a.dim, &a.index, &a.source);
    cpu_item_from_scalar(s.sum.dtype, &k->values[4], alpha);
    WICK_TRY(cpu_scatter_apply(&s, &plan, is_one(&k->values[4]) ? CPU_SCATTER_SUM : CPU_SCATTER_AXPY, alpha));
    cpu_scatter_end(&s);
    return NULL;
}

/* ---- by several indices, by position: argument 3 says whether to add or to replace ---- */
static wick_status *put_begin(const wick_kernel_call *k, cpu_scatter *s) {
    if (k->values[3].as.i) return cpu_scatter_begin(k, wick_arg_tensor(k, 0), s);
    s->k = k;
    cpu_output_from(k, wick_arg_tensor(k, 0), &s->out);
    s->sum = s->out;
    return NULL;
}

static wick_status *put_end(const cpu_scatter *s, cpu_index_plan *plan) {
    if (!s->k->values[3].as.i) return cpu_index_write(s->k, plan, cpu_place_write[cpu_item_log2(plan->item)], NULL);
    WICK_TRY(cpu_scatter_apply(s, plan, CPU_SCATTER_SUM, NULL));
    cpu_scatter_end(s);
    return NULL;
}

static wick_status *index_put(const wick_kernel_call *k) {
    cpu_scatter s;
    cpu_view values;
    cpu_index_plan plan;
    cpu_view_of(wick_arg_tensor(k, 2), &values);
    WICK_TRY(put_begin(k, &s));
    WICK_TRY(cpu_index_tensors(k, &plan, &s.sum, &k->values[1], &values));
    return put_end(&s, &plan);
}

static wick_status *put(const wick_kernel_call *k) {
    cpu_scatter s;
    cpu_view index, source;
    cpu_index_plan plan;
    cpu_view_of(wick_arg_tensor(k, 1), &index);
    cpu_view_of(wick_arg_tensor(k, 2), &source);
    WICK_TRY(put_begin(k, &s));
    int64_t n = cpu_view_numel(&index); /* index and source need only agree in their number of elements */
    cpu_view_dense(index.data, index.dtype, 1, &n, &index);
    cpu_view_dense(source.data, source.dtype, 1, &n, &source);
    cpu_index_flat(&plan, &s.sum, &index, &source);
    return put_end(&s, &plan);
}

/* ---- backward of embedding: (grad_output, indices, num_weights, padding_idx, scale_grad_by_freq) ---- */
/* Divides each row by how often the indices name it. */
static wick_status *divide_by_frequency(const cpu_scatter *s, const cpu_view *index) {
    int64_t *data;
    cpu_view counts, none = *index;
    cpu_index_plan plan;
    WICK_TRY(cpu_scratch(s->k, s->sum.sizes[0], sizeof *data, &data));
    cpu_view_dense(data, WICK_I64, 2, (const int64_t[]){s->sum.sizes[0], 1}, &counts);
    cpu_view_zero(cpu_of(s->k), &counts);
    none.sizes[none.ndim] = 1, none.strides[none.ndim++] = 0;
    cpu_index_rows(&plan, &counts, index, &none);
    WICK_TRY(cpu_index_write(s->k, &plan, cpu_scatter_count, NULL));
    cpu_scatter_divide(s, &counts);
    return NULL;
}

static wick_status *embedding_dense_backward(const wick_kernel_call *k) {
    cpu_scatter s;
    cpu_view grad, index, padding;
    cpu_index_plan plan;
    int64_t padding_row = k->values[3].as.i;
    WICK_TRY(cpu_scatter_begin(k, NULL, &s));
    cpu_view_of(wick_arg_tensor(k, 0), &grad);
    cpu_view_of(wick_arg_tensor(k, 1), &index);
    cpu_index_rows(&plan, &s.sum, &index, &grad);
    WICK_TRY(cpu_scatter_apply(&s, &plan, CPU_SCATTER_SUM, NULL));
    if (k->values[4].as.i) WICK_TRY(divide_by_frequency(&s, &index));
    if (padding_row >= 0 && padding_row < s.sum.sizes[0]) {
        padding = s.sum;
        cpu_view_narrow(&padding, 0, padding_row, 1);
        cpu_view_zero(cpu_of(k), &padding);
    }
    cpu_scatter_end(&s);
    return NULL;
}

/* ---- backward of unfold: (grad_in, input_sizes, dim, size, step) ---- */
/* The overlapping windows of `dim` that unfold showed, as a view of the accumulator. */
static void windows_of(const wick_kernel_call *k, const cpu_scatter *s, const cpu_view *grad, int dim, cpu_view *out) {
    *out = s->sum;
    out->ndim = (int)k->values[1].count;
    out->sizes[out->ndim] = grad->sizes[out->ndim], out->strides[out->ndim] = s->sum.strides[dim];
    if (out->ndim > 0) out->sizes[dim] = grad->sizes[dim], out->strides[dim] *= k->values[4].as.i;
    ++out->ndim;
}

/* A plan without indices: all read the one zero. */
static wick_status *unfold_backward(const wick_kernel_call *k) {
    static const int64_t zero = 0;
    cpu_scatter s;
    cpu_view grad, windows, index;
    cpu_index_plan plan;
    WICK_TRY(cpu_scatter_begin(k, NULL, &s));
    cpu_view_of(wick_arg_tensor(k, 0), &grad);
    int dim = wick_dim_of(&k->values[2], (int)k->values[1].count), last = grad.ndim - 1;
    windows_of(k, &s, &grad, dim, &windows);
    index = grad, index.data = (char *)(uintptr_t)&zero, index.dtype = WICK_I64;
    memset(index.strides, 0, sizeof index.strides);
    cpu_index_along(&plan, &windows, last, &index, &grad);
    plan.walk.strides[CPU_BASE][last] = windows.strides[last];
    plan.walk.serial = UINT64_C(1) << dim | UINT64_C(1) << last;
    WICK_TRY(cpu_scatter_apply(&s, &plan, CPU_SCATTER_SUM, NULL));
    cpu_scatter_end(&s);
    return NULL;
}

static const wick_kernel_row rows[] = {
    CPU_ROW("scatter_add", scatter_add, NULL, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("scatter.reduce", scatter_reduce, NULL, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("scatter.value_reduce", scatter_reduce, NULL, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("scatter_reduce.two", scatter_reduce_two, NULL, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("index_reduce", index_reduce, NULL, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("index_add", index_add, NULL, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("index_put", index_put, NULL, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("put", put, NULL, 0, WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_CONTIGUOUS),
    CPU_ROW("embedding_dense_backward", embedding_dense_backward, NULL, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("unfold_backward", unfold_backward, NULL, 0, WICK_KERNEL_DETERMINISTIC),
};
const cpu_kernel_table cpu_scatter_table = CPU_TABLE(rows);
