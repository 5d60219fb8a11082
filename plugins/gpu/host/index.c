/* Reading and writing by index. */
#include "index.h"

#include "element.h"

#include <wick/sdk/shape.h>

#define THREADS 256
#define FLAGS WICK_KERNEL_CAPTURE_SAFE
#define READ_FLAGS (FLAGS | WICK_KERNEL_DETERMINISTIC)
#define WRITE_FLAGS (FLAGS | WICK_KERNEL_CONTIGUOUS)

/* ---- views ---- */
static void bind(gpu_view *v, int ndim) { v->t.ndim = (uint8_t)ndim, v->t.sizes = v->sizes, v->t.strides = v->strides; }

static void copy_view(const gpu_view *from, gpu_view *to) {
    *to = *from;
    bind(to, from->t.ndim);
}

void gpu_view_of(const wick_tensor *t, gpu_view *out) {
    out->t = *t;
    memcpy(out->sizes, t->sizes, t->ndim * sizeof *out->sizes);
    memcpy(out->strides, t->strides, t->ndim * sizeof *out->strides);
    if (!t->ndim) out->sizes[0] = 1, out->strides[0] = 0;
    bind(out, t->ndim ? t->ndim : 1);
}

void gpu_view_constant(const wick_tensor *t, int ndim, const wick_dim *sizes, gpu_view *out) {
    out->t = *t;
    memcpy(out->sizes, sizes, (size_t)ndim * sizeof *sizes);
    memset(out->strides, 0, (size_t)ndim * sizeof *sizes);
    bind(out, ndim);
}

void gpu_view_expand(gpu_view *v, int ndim, const wick_dim *sizes) {
    wick_dim strides[WICK_MAX_DIMS];
    for (int d = 0; d < ndim; ++d) {
        const int from = d - ndim + v->t.ndim;
        strides[d] = from < 0 || (v->sizes[from] == 1 && sizes[d] != 1) ? 0 : v->strides[from];
    }
    memcpy(v->sizes, sizes, (size_t)ndim * sizeof *sizes);
    memcpy(v->strides, strides, (size_t)ndim * sizeof *sizes);
    bind(v, ndim);
}

void gpu_view_spread(gpu_view *index, int dim, const gpu_view *like) {
    const wick_dim stride = index->strides[0], n = index->sizes[0];
    gpu_view_constant(&index->t, like->t.ndim, like->sizes, index);
    index->sizes[dim] = n, index->strides[dim] = stride;
}

/* ---- plans ---- */
/* Dense and base take the index's sizes. */
static void shape_plan(gpu_index_plan *plan) {
    const gpu_view *index = &plan->view[GPU_INDEX];
    for (int k = GPU_DENSE; k <= GPU_BASE; ++k)
        memcpy(plan->view[k].sizes, index->sizes, index->t.ndim * sizeof *index->sizes);
}

void gpu_index_along(gpu_index_plan *plan, const wick_tensor *base, int dim, const gpu_view *index,
                     const wick_tensor *dense) {
    gpu_view *views = plan->view;
    copy_view(index, &views[GPU_INDEX]);
    gpu_view_of(base, &views[GPU_BASE]);
    if (dense)
        gpu_view_of(dense, &views[GPU_DENSE]);
    else
        gpu_view_constant(base, index->t.ndim, index->sizes, &views[GPU_DENSE]);
    plan->size = views[GPU_BASE].sizes[dim], plan->stride = views[GPU_BASE].strides[dim], plan->wrap = false;
    views[GPU_BASE].strides[dim] = 0;
    plan->grain = plan->stride;
    shape_plan(plan);
}

void gpu_index_rows(gpu_index_plan *plan, const wick_tensor *weight, const wick_tensor *index,
                    const wick_tensor *dense) {
    gpu_view *views = plan->view;
    const int column = dense->ndim - 1;
    gpu_view_of(dense, &views[GPU_DENSE]);
    gpu_view_constant(weight, dense->ndim, dense->sizes, &views[GPU_BASE]);
    gpu_view_constant(index, dense->ndim, dense->sizes, &views[GPU_INDEX]);
    views[GPU_BASE].strides[column] = weight->strides[1];
    memcpy(views[GPU_INDEX].strides, index->strides, (size_t)column * sizeof *index->strides);
    plan->size = weight->sizes[0], plan->stride = plan->grain = weight->strides[0], plan->wrap = false;
}

void gpu_index_flat(gpu_index_plan *plan, const wick_tensor *base, const wick_tensor *index, const wick_tensor *dense) {
    gpu_view *views = plan->view;
    gpu_view_of(index, &views[GPU_INDEX]);
    gpu_view_of(dense, &views[GPU_DENSE]);
    gpu_view_constant(base, views[GPU_INDEX].t.ndim, views[GPU_INDEX].sizes, &views[GPU_BASE]);
    plan->size = base->numel, plan->stride = plan->grain = 1, plan->wrap = true;
}

int64_t gpu_common_divisor(int64_t a, int64_t b) {
    while (b) {
        const int64_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

/* ---- several index tensors ---- */
typedef struct offsets_job {
    const wick_kernel_call *call;
    gpu_offsets_args args;
} offsets_job;

/* Offsets are dense in the order of the walk, which is that of a dense first operand. */
static wick_status *offsets_part(void *user, const gpu_walk *walk, uint32_t n, const int64_t *byte_offsets) {
    const offsets_job *job = user;
    gpu_offsets_args a = job->args;
    a.offsets += byte_offsets[0] / (int64_t)sizeof *a.offsets;
    a.index = (const char *)a.index + byte_offsets[1];
    a.n = n, a.walk = *walk;
    memcpy(a.walk.strides[0], walk->strides[1], sizeof a.walk.strides[0]);
    return gpu_launch(job->call, GPU_index_offsets, gpu_blocks(gpu_device_of(job->call), n, THREADS, 2, 32), THREADS, 0,
                      &a);
}

static void make_dense(gpu_view *v) {
    wick_dim stride = 1;
    for (int d = v->t.ndim - 1; d >= 0; --d) v->strides[d] = stride, stride *= v->sizes[d];
}

/* `out` becomes an index of ready offsets in elements of the base; its memory is `offsets`. */
static wick_status *combine(const wick_kernel_call *call, const wick_tensor *base, const wick_selection *s,
                            wick_storage *storage, gpu_view *out) {
    static const wick_dim one = 1;
    const wick_tensor as_offsets = {.dtype = WICK_I64, .storage = storage};
    void *offsets;
    gpu_view_constant(&as_offsets, s->ndim ? s->ndim : 1, s->ndim ? s->sizes : &one, out);
    make_dense(out);
    out->t.numel = wick_dim_product(out->sizes, out->t.ndim);
    const int64_t bytes = out->t.numel * (int64_t)sizeof(int64_t);
    WICK_TRY(gpu_scratch(call, bytes, &offsets));
    storage->memory = (wick_memory){.handle = offsets, .bytes = (uint64_t)bytes};
    gpu_device *d = gpu_device_of(call);
    GPU_TRY(d->gpu, d->gpu->vendor->make_current(d), "using the device");
    int result = d->gpu->driver.set_bytes((uint64_t)(uintptr_t)offsets, 0, (size_t)bytes, gpu_stream(d, call->stream));
    GPU_TRY(d->gpu, result, "clearing");
    for (int i = 0; i < s->slots; ++i) {
        if (!s->tensors[i]) continue;
        gpu_view index;
        gpu_view_of(s->tensors[i], &index);
        gpu_view_expand(&index, out->t.ndim, out->sizes);
        const wick_tensor *operands[] = {&out->t, &index.t};
        offsets_job job = {call,
                           {.offsets = offsets,
                            .index = gpu_data(s->tensors[i]),
                            .index_dtype = index.t.dtype,
                            .size = base->sizes[i],
                            .stride = base->strides[i]}};
        WICK_TRY(gpu_walk_over(call, operands, 2, offsets_part, &job));
    }
    return NULL;
}

static void add_dim(gpu_index_plan *plan, wick_dim size, wick_dim base_stride, wick_dim index_stride) {
    const int d = plan->view[GPU_BASE].t.ndim;
    for (int k = GPU_BASE; k <= GPU_INDEX; ++k) plan->view[k].sizes[d] = size, bind(&plan->view[k], d + 1);
    plan->view[GPU_BASE].strides[d] = base_stride;
    plan->view[GPU_INDEX].strides[d] = index_stride;
}

wick_status *gpu_index_tensors(const wick_kernel_call *call, gpu_index_plan *plan, const wick_tensor *base,
                               const wick_value *indices, const wick_tensor *dense, wick_storage *storage) {
    wick_selection s;
    gpu_view index;
    int dims[WICK_MAX_DIMS];
    wick_selection_of(indices, &s);
    plan->size = INT64_MAX, plan->stride = 1, plan->wrap = false, plan->grain = 0;
    for (int i = 0; i < s.slots; ++i)
        if (s.tensors[i]) plan->grain = gpu_common_divisor(plan->grain, base->strides[i]);
    if (s.count == 1) {
        gpu_view_of(s.tensors[s.first], &index);
        plan->size = base->sizes[s.first], plan->stride = base->strides[s.first], plan->wrap = true;
    } else {
        WICK_TRY(combine(call, base, &s, storage, &index));
    }
    plan->view[GPU_BASE].t = *base, plan->view[GPU_INDEX].t = index.t;
    bind(&plan->view[GPU_BASE], 0), bind(&plan->view[GPU_INDEX], 0);
    for (int i = 0, n = wick_selection_dims(&s, base->ndim, dims); i < n; ++i) {
        const int kept = dims[i], chosen = -1 - kept;
        if (kept >= 0)
            add_dim(plan, base->sizes[kept], base->strides[kept], 0);
        else
            add_dim(plan, s.sizes[chosen], 0, index.strides[chosen]);
    }
    if (!plan->view[GPU_BASE].t.ndim) add_dim(plan, 1, 0, 0);
    gpu_view_of(dense, &plan->view[GPU_DENSE]);
    gpu_view_expand(&plan->view[GPU_DENSE], plan->view[GPU_BASE].t.ndim, plan->view[GPU_BASE].sizes);
    return NULL;
}

/* ---- launching ---- */
typedef struct index_job {
    const wick_kernel_call *call;
    gpu_index_args args;
    int64_t unit;
    bool write;
} index_job;

static gpu_kernel index_kernel(int64_t unit, bool write) {
    static const gpu_kernel read[] = {GPU_index_read_1, GPU_index_read_2, GPU_index_read_4, GPU_index_read_8,
                                      GPU_index_read_16};
    static const gpu_kernel written[] = {GPU_index_write_1, GPU_index_write_2, GPU_index_write_4, GPU_index_write_8,
                                         GPU_index_write_16};
    return (write ? written : read)[__builtin_ctzll((uint64_t)unit)];
}

/* Makes two elements one where one index stands for both and they lie side by side, on even addresses. */
static bool widen(gpu_index_args *a, int64_t unit) {
    const int64_t wide = 2 * unit;
    gpu_walk *w = &a->walk;
    bool fits = unit < 16 && w->strides[GPU_INDEX][0] == 0 && w->strides[GPU_BASE][0] == unit &&
                w->sizes[0].divisor % 2 == 0 && a->stride % wide == 0 && (uintptr_t)a->base % (uintptr_t)wide == 0;
    if (a->dense) fits = fits && w->strides[GPU_DENSE][0] == unit && (uintptr_t)a->dense % (uintptr_t)wide == 0;
    for (int d = 1; d < w->ndim; ++d)
        fits = fits && w->strides[GPU_BASE][d] % wide == 0 && (!a->dense || w->strides[GPU_DENSE][d] % wide == 0);
    if (!fits) return false;
    w->sizes[0] = gpu_divider_of(w->sizes[0].divisor / 2);
    w->strides[GPU_BASE][0] = wide;
    if (a->dense) w->strides[GPU_DENSE][0] = wide;
    a->n /= 2;
    return true;
}

static wick_status *index_part(void *user, const gpu_walk *walk, uint32_t n, const int64_t *offsets) {
    const index_job *job = user;
    gpu_index_args a = job->args;
    int64_t unit = job->unit;
    if (a.dense) a.dense = (char *)a.dense + offsets[GPU_DENSE];
    a.base = (char *)a.base + offsets[GPU_BASE];
    a.index = (const char *)a.index + offsets[GPU_INDEX];
    a.n = n, a.walk = *walk;
    while (widen(&a, unit)) unit *= 2;
    unsigned blocks = gpu_blocks(gpu_device_of(job->call), a.n, THREADS, 1, 64);
    return gpu_launch(job->call, index_kernel(unit, job->write), blocks, THREADS, 0, &a);
}

static wick_status *run_plan(const wick_kernel_call *call, const gpu_index_plan *plan, const void *item, bool write) {
    const wick_tensor *dense = &plan->view[GPU_DENSE].t, *base = &plan->view[GPU_BASE].t;
    const wick_tensor *index = &plan->view[GPU_INDEX].t;
    const int64_t unit = (int64_t)wick_dtype_bytes((wick_dtype)base->dtype);
    index_job job = {call,
                     {.dense = write && item ? NULL : gpu_data(dense),
                      .base = gpu_data(base),
                      .index = gpu_data(index),
                      .index_dtype = index->dtype,
                      .wrap = plan->wrap,
                      .size = plan->size,
                      .stride = plan->stride * unit},
                     unit,
                     write};
    if (!index->numel) return NULL;
    if (!gpu_has_dtype((wick_dtype)index->dtype)) return gpu_refuse(call, (wick_dtype)index->dtype);
    if (item) memcpy(job.args.item, item, sizeof job.args.item);
    const wick_tensor *operands[] = {dense, base, index};
    return gpu_walk_over(call, operands, 3, index_part, &job);
}

wick_status *gpu_index_read(const wick_kernel_call *call, const gpu_index_plan *plan) {
    unsigned char bad[16];
    memset(bad, plan->view[GPU_BASE].t.dtype == WICK_BOOL ? 0 : 0xff, sizeof bad);
    return run_plan(call, plan, bad, false);
}

wick_status *gpu_index_write(const wick_kernel_call *call, const gpu_index_plan *plan, const void *item) {
    return run_plan(call, plan, item, true);
}

/* ---- readers: out = self[index] ---- */
static wick_status *index_tensor(const wick_kernel_call *call) {
    gpu_index_plan plan = {.size = 0};
    wick_storage storage = {0};
    WICK_TRY(
        gpu_index_tensors(call, &plan, wick_arg_tensor(call, 0), &call->values[1], wick_out_tensor(call, 0), &storage));
    return gpu_index_read(call, &plan);
}

/* index_select's positions lie along one dimension, gather's index has the output's shape. */
static wick_status *read_along(const wick_kernel_call *call, bool spread) {
    const wick_tensor *self = wick_arg_tensor(call, 0), *result = wick_out_tensor(call, 0);
    const int dim = wick_dim_of(&call->values[1], self->ndim);
    gpu_index_plan plan = {.size = 0};
    gpu_view index, out;
    gpu_view_of(wick_arg_tensor(call, 2), &index);
    gpu_view_of(result, &out);
    if (spread) gpu_view_spread(&index, dim, &out);
    gpu_index_along(&plan, self, dim, &index, result);
    return gpu_index_read(call, &plan);
}
static wick_status *index_select(const wick_kernel_call *call) { return read_along(call, true); }
static wick_status *gather(const wick_kernel_call *call) { return read_along(call, false); }

/* (self, index), self row-major */
static wick_status *take(const wick_kernel_call *call) {
    gpu_index_plan plan = {.size = 0};
    gpu_index_flat(&plan, wick_arg_tensor(call, 0), wick_arg_tensor(call, 1), wick_out_tensor(call, 0));
    return gpu_index_read(call, &plan);
}

static wick_status *embedding(const wick_kernel_call *call) {
    gpu_index_plan plan = {.size = 0};
    gpu_index_rows(&plan, wick_arg_tensor(call, 0), wick_arg_tensor(call, 1), wick_out_tensor(call, 0));
    return gpu_index_read(call, &plan);
}

/* ---- writers: out = self, then out[index] = source ---- */
/* (self, dim, index, source or value) */
static wick_status *write_along(const wick_kernel_call *call, bool spread, bool wrap) {
    const wick_tensor *out = wick_out_tensor(call, 0), *source = wick_arg_tensor(call, 3);
    const int dim = wick_dim_of(&call->values[1], out->ndim);
    gpu_index_plan plan = {.size = 0};
    gpu_view index, target;
    unsigned char item[16];
    WICK_TRY(gpu_output_from(call, wick_arg_tensor(call, 0)));
    gpu_view_of(wick_arg_tensor(call, 2), &index);
    gpu_view_of(out, &target);
    if (spread) gpu_view_spread(&index, dim, &target);
    gpu_index_along(&plan, out, dim, &index, source);
    plan.wrap = wrap;
    if (source)
        return call->flags & WICK_CALL_DETERMINISTIC ? gpu_scatter_last(call, &plan)
                                                     : gpu_index_write(call, &plan, NULL);
    const size_t bytes = wick_dtype_bytes((wick_dtype)out->dtype);
    if (!gpu_element_of(&call->values[3], (wick_dtype)out->dtype, item))
        return gpu_refuse(call, (wick_dtype)out->dtype);
    for (size_t i = bytes; i < sizeof item; i += bytes) memcpy(item + i, item, bytes);
    return gpu_index_write(call, &plan, item);
}
static wick_status *index_copy(const wick_kernel_call *call) { return write_along(call, true, false); }
static wick_status *index_fill(const wick_kernel_call *call) { return write_along(call, true, true); }
static wick_status *scatter(const wick_kernel_call *call) { return write_along(call, false, false); }

static const wick_kernel_row rows[] = {
    WICK_KERNEL_ROW("index.Tensor", index_tensor, 0, READ_FLAGS),
    WICK_KERNEL_ROW("index_select", index_select, 0, READ_FLAGS),
    WICK_KERNEL_ROW("gather", gather, 0, READ_FLAGS),
    WICK_KERNEL_ROW("take", take, 0, READ_FLAGS | WICK_KERNEL_CONTIGUOUS),
    WICK_KERNEL_ROW("embedding", embedding, 0, READ_FLAGS),
    WICK_KERNEL_ROW("index_copy", index_copy, 0, WRITE_FLAGS),
    WICK_KERNEL_ROW("index_fill.int_Scalar", index_fill, 0, WRITE_FLAGS | WICK_KERNEL_DETERMINISTIC),
    WICK_KERNEL_ROW("scatter.src", scatter, 0, WRITE_FLAGS),
    WICK_KERNEL_ROW("scatter.value", scatter, 0, WRITE_FLAGS | WICK_KERNEL_DETERMINISTIC),
};
const gpu_table gpu_index_table = GPU_TABLE(rows);
