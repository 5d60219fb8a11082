/* Reductions by index: positions are sorted by where they go, then every group is folded. */
#include "element.h"
#include "index.h"
#include "sort.h"

#define THREADS 256
#define PIECE 32 /* positions a thread */
#define FLAGS (WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_CAPTURE_SAFE | WICK_KERNEL_DETERMINISTIC)

/* ---- the start of every form ---- */
wick_status *gpu_output_from(const wick_kernel_call *call, const wick_tensor *self) {
    const wick_tensor *out = wick_out_tensor(call, 0);
    gpu_device *d = gpu_device_of(call);
    const size_t bytes = (size_t)out->numel * wick_dtype_bytes((wick_dtype)out->dtype);
    if (!bytes || gpu_data(out) == gpu_data(self)) return NULL;
    GPU_TRY(d->gpu, d->gpu->vendor->make_current(d), "using the device");
    int result = d->gpu->driver.copy((uint64_t)(uintptr_t)gpu_data(out), (uint64_t)(uintptr_t)gpu_data(self), bytes,
                                     gpu_stream(d, call->stream));
    return gpu_check(d->gpu, result, "copying");
}

static wick_status *output_zero(const wick_kernel_call *call) {
    const wick_tensor *out = wick_out_tensor(call, 0);
    gpu_device *d = gpu_device_of(call);
    const size_t bytes = (size_t)out->numel * wick_dtype_bytes((wick_dtype)out->dtype);
    if (!bytes) return NULL;
    GPU_TRY(d->gpu, d->gpu->vendor->make_current(d), "using the device");
    int result = d->gpu->driver.set_bytes((uint64_t)(uintptr_t)gpu_data(out), 0, bytes, gpu_stream(d, call->stream));
    return gpu_check(d->gpu, result, "clearing");
}

/* ---- from a plan to walks ---- */
/* Adds a dimension outside of those that are there, merged with the outermost where `operands` strides allow. */
static bool add_dim(gpu_walk *w, int operands, wick_dim size, const int64_t *strides) {
    if (size == 1) return true;
    const int last = w->ndim - 1;
    bool merges = w->ndim > 0;
    for (int k = 0; merges && k < operands; ++k)
        merges = strides[k] == w->strides[k][last] * (int64_t)w->sizes[last].divisor;
    if (merges) {
        w->sizes[last] = gpu_divider_of((uint32_t)(w->sizes[last].divisor * (uint64_t)size));
        return true;
    }
    if (w->ndim == GPU_DIMS) return false;
    w->sizes[w->ndim] = gpu_divider_of((uint32_t)size);
    for (int k = 0; k < operands; ++k) w->strides[k][w->ndim] = strides[k];
    ++w->ndim;
    return true;
}

static void at_least_one_dim(gpu_walk *w) {
    if (w->ndim) return;
    w->ndim = 1, w->sizes[0] = gpu_divider_of(1);
    for (int k = 0; k < GPU_OPERANDS; ++k) w->strides[k][0] = 0;
}

typedef struct scatter_job {
    const wick_kernel_call *call;
    const gpu_index_plan *plan;
    uint64_t positions; /* dimensions of which the sort orders the positions; the others are columns */
    int64_t skip;       /* an index that is left out */
    bool indexed;
    gpu_scatter_keys_args keys;
    gpu_scatter_args args;
} scatter_job;

/* Dimensions along which places of the target may meet. */
static uint64_t meeting_dims(const gpu_index_plan *plan) {
    uint64_t mask = 0;
    for (int d = 0; d < plan->view[GPU_BASE].t.ndim; ++d)
        if (plan->view[GPU_INDEX].strides[d] || !plan->view[GPU_BASE].strides[d]) mask |= UINT64_C(1) << d;
    return mask;
}

static wick_status *too_large(const wick_kernel_call *call, const char *what, int64_t n) {
    return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED, "%s: %lld %s are too many for device %s",
                           call->host->op_name(call->op), (long long)n, what, gpu_of(call)->device_name);
}

/* Sizes and walks; *out_bits of a key. */
static wick_status *shape_job(scatter_job *job, int *out_bits) {
    const gpu_view *views = job->plan->view;
    const int64_t unit = (int64_t)wick_dtype_bytes((wick_dtype)views[GPU_INDEX].t.dtype);
    int64_t n = 1, columns = 1, step = job->indexed ? job->plan->grain : 0;
    bool fits = true;
    for (int d = views[GPU_BASE].t.ndim - 1; fits && d >= 0; --d) {
        const wick_dim size = views[GPU_BASE].sizes[d];
        const int64_t dense = views[GPU_DENSE].strides[d], base = views[GPU_BASE].strides[d];
        const int64_t key[2] = {base, views[GPU_INDEX].strides[d] * unit}, column[2] = {dense, base};
        if (job->positions >> d & 1) {
            n *= size, step = gpu_common_divisor(step, base);
            fits = n <= INT32_MAX && add_dim(&job->keys.walk, 2, size, key) &&
                   add_dim(&job->args.positions, 1, size, &dense);
        } else {
            columns *= size;
            fits = columns <= INT32_MAX && add_dim(&job->args.column, 2, size, column);
        }
    }
    if (!fits) return too_large(job->call, "positions", views[GPU_BASE].t.numel);
    if (step < 1) step = 1;
    const int64_t groups = (wick_out_tensor(job->call, 0)->numel + step - 1) / step;
    if (groups >= UINT32_MAX) return too_large(job->call, "places", groups);
    at_least_one_dim(&job->keys.walk), at_least_one_dim(&job->args.positions), at_least_one_dim(&job->args.column);
    job->keys.n = job->args.n = (uint32_t)n, job->args.columns = columns;
    job->keys.step = job->args.step = step, job->keys.none = job->args.none = (uint32_t)groups;
    for (*out_bits = 0; groups >> *out_bits; ++*out_bits) continue;
    return NULL;
}

static wick_status *sort_positions(scatter_job *job, char *memory, int bits) {
    const uint32_t n = job->args.n;
    gpu_pairs p = {.n = n, .key_bytes = 4, .numbered = true};
    uint32_t *words = (uint32_t *)(void *)memory;
    p.keys = words, p.spare_keys = words + n, p.values = words + 2 * (size_t)n, p.spare_values = words + 3 * (size_t)n;
    p.counts = words + 4 * (size_t)n;
    job->keys.keys = words;
    unsigned blocks = gpu_blocks(gpu_device_of(job->call), n, THREADS, 2, 32);
    WICK_TRY(gpu_launch(job->call, GPU_scatter_keys, blocks, THREADS, 0, &job->keys));
    WICK_TRY(gpu_sort_pairs(job->call, &p, bits));
    job->args.keys = p.keys, job->args.order = p.values;
    return NULL;
}

typedef enum number_class { CLASS_F32, CLASS_F64, CLASS_I64 } number_class;
static number_class class_of(wick_dtype d) {
    return !gpu_is_real(d) ? CLASS_I64 : d == WICK_F64 ? CLASS_F64 : CLASS_F32;
}

static wick_status *fold_groups(scatter_job *job) {
    static const gpu_kernel pieces[] = {GPU_scatter_pieces_f32, GPU_scatter_pieces_f64, GPU_scatter_pieces_i64};
    static const gpu_kernel joined[] = {GPU_scatter_joined_f32, GPU_scatter_joined_f64, GPU_scatter_joined_i64};
    const number_class class = class_of((wick_dtype)job->args.out_dtype);
    unsigned blocks = gpu_blocks(gpu_device_of(job->call), job->args.pieces * job->args.columns, THREADS, 1, 64);
    WICK_TRY(gpu_launch(job->call, pieces[class], blocks, THREADS, 0, &job->args));
    if (job->args.pieces == 1) return NULL;
    return gpu_launch(job->call, joined[class], blocks, THREADS, 0, &job->args);
}

/* out[index] op= source. job->args holds the operation. */
static wick_status *run_job(scatter_job *job) {
    const wick_kernel_call *call = job->call;
    const gpu_view *views = job->plan->view;
    const wick_tensor *out = &views[GPU_BASE].t, *source = &views[GPU_DENSE].t, *index = &views[GPU_INDEX].t;
    const int sum_bytes = class_of((wick_dtype)out->dtype) == CLASS_F32 ? 12 : 16;
    int bits = 0;
    for (int d = 0; d < out->ndim; ++d)
        if (!views[GPU_BASE].sizes[d]) return NULL;
    if (!gpu_has_dtype((wick_dtype)out->dtype)) return gpu_refuse(call, (wick_dtype)out->dtype);
    if (!gpu_has_dtype((wick_dtype)index->dtype)) return gpu_refuse(call, (wick_dtype)index->dtype);
    WICK_TRY(shape_job(job, &bits));
    gpu_scatter_args *a = &job->args;
    a->out = gpu_data(out), a->out_dtype = out->dtype, a->out_bytes = (int32_t)wick_dtype_bytes(out->dtype);
    a->source = gpu_data(source), a->source_dtype = source->dtype;
    a->source_bytes = (int32_t)wick_dtype_bytes(source->dtype);
    a->piece = PIECE, a->pieces = (a->n + PIECE - 1) / PIECE;
    job->keys.index = job->indexed ? gpu_data(index) : NULL, job->keys.index_dtype = index->dtype;
    job->keys.wrap = job->plan->wrap, job->keys.size = job->indexed ? job->plan->size : 1;
    job->keys.stride = job->plan->stride, job->keys.skip = job->skip;
    char *memory;
    const int64_t words = ((int64_t)a->n * 4 + gpu_sort_counts(a->n) + 3) / 4 * 4;
    WICK_TRY(gpu_scratch(call, words * 4 + a->pieces * a->columns * 2 * sum_bytes, (void **)&memory));
    a->partial = memory + words * 4;
    WICK_TRY(sort_positions(job, memory, bits));
    return fold_groups(job);
}

static scatter_job job_of(const wick_kernel_call *call, const gpu_index_plan *plan, int scatter) {
    return (scatter_job){.call = call,
                         .plan = plan,
                         .positions = meeting_dims(plan),
                         .skip = INT64_MIN,
                         .indexed = true,
                         .args = {.scatter = scatter, .with_self = 1, .alpha = 1, .whole_alpha = 1}};
}

wick_status *gpu_scatter_last(const wick_kernel_call *call, const gpu_index_plan *plan) {
    scatter_job job = job_of(call, plan, GPU_SCATTER_LAST);
    return run_job(&job);
}

/* ---- along a dimension ---- */
typedef struct reduce_name {
    const char *name;
    int scatter;
    bool mean;
} reduce_name;
static const reduce_name reduce_names[] = {
    {"sum", GPU_SCATTER_SUM, false},       {"add", GPU_SCATTER_SUM, false},  {"prod", GPU_SCATTER_PROD, false},
    {"multiply", GPU_SCATTER_PROD, false}, {"amax", GPU_SCATTER_MAX, false}, {"amin", GPU_SCATTER_MIN, false},
    {"mean", GPU_SCATTER_SUM, true},
};

static wick_status *find_reduce(const wick_kernel_call *call, const wick_value *name, const reduce_name **out) {
    for (size_t i = 0; i < sizeof reduce_names / sizeof reduce_names[0]; ++i)
        if (strcmp(name->as.string, reduce_names[i].name) == 0) return *out = &reduce_names[i], NULL;
    return WICK_HOST_ERROR(call->host, WICK_INVALID_ARGUMENT, "unknown reduction \"%s\"", name->as.string);
}

/* A number as the source: one element in scratch memory. */
static wick_status *number_source(const wick_kernel_call *call, const wick_tensor *index, wick_storage *storage,
                                  gpu_view *out) {
    const wick_dtype dtype = (wick_dtype)wick_out_tensor(call, 0)->dtype;
    unsigned char item[16];
    void *memory;
    gpu_device *d = gpu_device_of(call);
    if (!gpu_element_of(&call->values[3], dtype, item)) return gpu_refuse(call, dtype);
    WICK_TRY(gpu_scratch(call, sizeof item, &memory));
    GPU_TRY(d->gpu, d->gpu->vendor->make_current(d), "using the device");
    for (size_t i = 0; i < wick_dtype_bytes(dtype); ++i)
        GPU_TRY(d->gpu,
                d->gpu->driver.set_bytes((uint64_t)(uintptr_t)memory + i, item[i], 1, gpu_stream(d, call->stream)),
                "setting a number");
    storage->memory = (wick_memory){.handle = memory, .bytes = sizeof item};
    gpu_view like;
    gpu_view_of(index, &like);
    gpu_view_constant(index, like.t.ndim, like.sizes, out);
    out->t.storage = storage, out->t.offset = 0, out->t.dtype = (uint8_t)dtype;
    return NULL;
}

/* (self, dim, index, source or value, ...) */
static wick_status *reduce_along(const wick_kernel_call *call, bool spread, const reduce_name *reduce,
                                 bool include_self, const wick_value *alpha) {
    const wick_tensor *out = wick_out_tensor(call, 0), *source = wick_arg_tensor(call, 3);
    const int dim = wick_dim_of(&call->values[1], out->ndim);
    gpu_index_plan plan = {.size = 0};
    gpu_view index, from;
    wick_storage storage = {0};
    WICK_TRY(gpu_output_from(call, wick_arg_tensor(call, 0)));
    gpu_view_of(wick_arg_tensor(call, 2), &index);
    if (!index.t.numel) return NULL;
    if (source)
        gpu_view_of(source, &from);
    else
        WICK_TRY(number_source(call, wick_arg_tensor(call, 2), &storage, &from));
    if (spread) gpu_view_spread(&index, dim, &from);
    gpu_index_along(&plan, out, dim, &index, &from.t);
    scatter_job job = job_of(call, &plan, reduce->scatter);
    job.args.mean = reduce->mean, job.args.with_self = include_self;
    if (alpha) job.args.alpha = wick_value_as_double(alpha), job.args.whole_alpha = wick_value_as_int(alpha);
    return run_job(&job);
}

static wick_status *scatter_add(const wick_kernel_call *call) {
    return reduce_along(call, false, &reduce_names[0], true, NULL);
}
static wick_status *index_add(const wick_kernel_call *call) {
    return reduce_along(call, true, &reduce_names[0], true, &call->values[4]);
}
/* scatter.reduce and scatter.value_reduce: argument 4 is the name. */
static wick_status *scatter_reduce(const wick_kernel_call *call) {
    const reduce_name *reduce;
    WICK_TRY(find_reduce(call, &call->values[4], &reduce));
    return reduce_along(call, false, reduce, true, NULL);
}
static wick_status *scatter_reduce_two(const wick_kernel_call *call) {
    const reduce_name *reduce;
    WICK_TRY(find_reduce(call, &call->values[4], &reduce));
    return reduce_along(call, false, reduce, call->values[5].as.i != 0, NULL);
}
static wick_status *index_reduce(const wick_kernel_call *call) {
    const reduce_name *reduce;
    WICK_TRY(find_reduce(call, &call->values[4], &reduce));
    return reduce_along(call, true, reduce, call->values[5].as.i != 0, NULL);
}

/* ---- by several indices, by position: argument 3 says whether to add or to replace ---- */
static wick_status *put_by(const wick_kernel_call *call, const gpu_index_plan *plan) {
    const bool accumulate = call->values[3].as.i != 0;
    if (!accumulate && !(call->flags & WICK_CALL_DETERMINISTIC)) return gpu_index_write(call, plan, NULL);
    scatter_job job = job_of(call, plan, accumulate ? GPU_SCATTER_SUM : GPU_SCATTER_LAST);
    return run_job(&job);
}

/* (self, indices, values, accumulate) */
static wick_status *index_put(const wick_kernel_call *call) {
    gpu_index_plan plan = {.size = 0};
    wick_storage storage = {0};
    WICK_TRY(gpu_output_from(call, wick_arg_tensor(call, 0)));
    WICK_TRY(
        gpu_index_tensors(call, &plan, wick_out_tensor(call, 0), &call->values[1], wick_arg_tensor(call, 2), &storage));
    return put_by(call, &plan);
}

/* (self, index, source, accumulate): index and source need only agree in their number of elements. */
static wick_status *put(const wick_kernel_call *call) {
    gpu_index_plan plan = {.size = 0};
    gpu_view index, source;
    const wick_dim n = wick_arg_tensor(call, 1)->numel;
    WICK_TRY(gpu_output_from(call, wick_arg_tensor(call, 0)));
    gpu_view_constant(wick_arg_tensor(call, 1), 1, &n, &index);
    gpu_view_constant(wick_arg_tensor(call, 2), 1, &n, &source);
    index.strides[0] = source.strides[0] = 1;
    gpu_index_flat(&plan, wick_out_tensor(call, 0), &index.t, &source.t);
    return put_by(call, &plan);
}

/* ---- backward of embedding: (grad_output, indices, num_weights, padding_idx, scale_grad_by_freq) ---- */
static wick_status *embedding_dense_backward(const wick_kernel_call *call) {
    const wick_tensor *grad = wick_arg_tensor(call, 0), *index = wick_arg_tensor(call, 1);
    gpu_index_plan plan = {.size = 0};
    WICK_TRY(output_zero(call));
    if (!grad->numel) return NULL;
    gpu_index_rows(&plan, wick_out_tensor(call, 0), index, grad);
    scatter_job job = job_of(call, &plan, GPU_SCATTER_SUM);
    job.args.with_self = 0, job.args.mean = call->values[4].as.i != 0;
    if (call->values[3].as.i >= 0) job.skip = call->values[3].as.i;
    return run_job(&job);
}

/* ---- backward of unfold: (grad_in, input_sizes, dim, size, step) ---- */
/* The overlapping windows of `dim` that unfold showed, as a view of the output; no index. */
static wick_status *unfold_backward(const wick_kernel_call *call) {
    const wick_tensor *grad = wick_arg_tensor(call, 0), *out = wick_out_tensor(call, 0);
    const int dim = wick_dim_of(&call->values[2], out->ndim), last = grad->ndim - 1;
    gpu_index_plan plan = {.size = 1};
    WICK_TRY(output_zero(call));
    if (!grad->numel) return NULL;
    gpu_view_of(grad, &plan.view[GPU_DENSE]);
    gpu_view_constant(out, grad->ndim, grad->sizes, &plan.view[GPU_BASE]);
    gpu_view_constant(grad, grad->ndim, grad->sizes, &plan.view[GPU_INDEX]);
    for (int d = 0; d < out->ndim; ++d) plan.view[GPU_BASE].strides[d] = out->strides[d];
    plan.view[GPU_BASE].strides[last] = out->ndim ? out->strides[dim] : 1;
    if (out->ndim) plan.view[GPU_BASE].strides[dim] *= call->values[4].as.i;
    scatter_job job = job_of(call, &plan, GPU_SCATTER_SUM);
    job.indexed = false, job.args.with_self = 0;
    job.positions = UINT64_C(1) << dim | UINT64_C(1) << last;
    return run_job(&job);
}

#define PUT_FLAGS (WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_CAPTURE_SAFE)
static const wick_kernel_row rows[] = {
    WICK_KERNEL_ROW("scatter_add", scatter_add, 0, FLAGS),
    WICK_KERNEL_ROW("scatter.reduce", scatter_reduce, 0, FLAGS),
    WICK_KERNEL_ROW("scatter.value_reduce", scatter_reduce, 0, FLAGS),
    WICK_KERNEL_ROW("scatter_reduce.two", scatter_reduce_two, 0, FLAGS),
    WICK_KERNEL_ROW("index_reduce", index_reduce, 0, FLAGS),
    WICK_KERNEL_ROW("index_add", index_add, 0, FLAGS),
    WICK_KERNEL_ROW("index_put", index_put, 0, PUT_FLAGS),
    WICK_KERNEL_ROW("put", put, 0, PUT_FLAGS),
    WICK_KERNEL_ROW("embedding_dense_backward", embedding_dense_backward, 0, FLAGS),
    WICK_KERNEL_ROW("unfold_backward", unfold_backward, 0, FLAGS),
};
const gpu_table gpu_scatter_table = GPU_TABLE(rows);
