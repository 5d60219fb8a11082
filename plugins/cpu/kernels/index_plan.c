/* The engine behind gather, scatter and advanced indexing: turns indices into byte offsets, a block at a time, and
 * hands each block to a loop that knows only item sizes (moves) or dtypes (reductions). */
#include "index.h"

#include <stdatomic.h>
#include <wick/sdk/shape.h>

#define BLOCK 256

/* ---- indices to offsets ---- */
/* Writes n offsets; false if an index is out of range. */
typedef bool (*load_fn)(const cpu_index_plan *plan, const char *index, int64_t index_stride, int64_t n, int64_t *out);

/* X(DTYPE, type) */
#define INDEX_TYPES(X) \
    X(U8, uint8_t)     \
    X(I8, int8_t)      \
    X(I16, int16_t)    \
    X(I32, int32_t)    \
    X(I64, int64_t)    \
    X(U16, uint16_t)   \
    X(U32, uint32_t)   \
    X(U64, uint64_t)

#define LOAD(DTYPE, type)                                                                                    \
    static bool load_##DTYPE(const cpu_index_plan *plan, const char *index, int64_t index_stride, int64_t n, \
                             int64_t *out) {                                                                 \
        const int64_t size = plan->size, stride = plan->stride, wrap = plan->wrap ? size : 0;                \
        bool bad = false;                                                                                    \
        for (int64_t j = 0; j < n; ++j) {                                                                    \
            int64_t at = (int64_t) * (const type *)(index + j * index_stride);                               \
            at += at < 0 ? wrap : 0;                                                                         \
            bad |= (uint64_t)at >= (uint64_t)size;                                                           \
            out[j] = (int64_t)((uint64_t)at * (uint64_t)stride);                                             \
        }                                                                                                    \
        return !bad;                                                                                         \
    }
INDEX_TYPES(LOAD)

#define LOAD_ENTRY(DTYPE, type) [WICK_##DTYPE] = load_##DTYPE,
static const load_fn loads[WICK_DTYPE_COUNT] = {INDEX_TYPES(LOAD_ENTRY)};

/* ---- moves ---- */
#define PLACES(bytes)                                                                                   \
    static void read_##bytes(char *base, int64_t base_stride, const int64_t *offsets, char *dense,      \
                             int64_t dense_stride, int64_t n, const void *arg) {                        \
        typedef cpu_word##bytes word;                                                                   \
        if (!offsets) {                                                                                 \
            cpu_copy_items[cpu_item_log2(bytes)](dense, dense_stride, base, base_stride, n);            \
            return;                                                                                     \
        }                                                                                               \
        for (int64_t j = 0; j < n; ++j)                                                                 \
            *(word *)(dense + j * dense_stride) = *(const word *)(base + j * base_stride + offsets[j]); \
    }                                                                                                   \
    static void write_##bytes(char *base, int64_t base_stride, const int64_t *offsets, char *dense,     \
                              int64_t dense_stride, int64_t n, const void *arg) {                       \
        typedef cpu_word##bytes word;                                                                   \
        if (!offsets) {                                                                                 \
            cpu_copy_items[cpu_item_log2(bytes)](base, base_stride, dense, dense_stride, n);            \
            return;                                                                                     \
        }                                                                                               \
        for (int64_t j = 0; j < n; ++j)                                                                 \
            *(word *)(base + j * base_stride + offsets[j]) = *(const word *)(dense + j * dense_stride); \
    }
CPU_WORDS(PLACES)

const cpu_place_fn cpu_place_read[5] = {read_1, read_2, read_4, read_8, read_16};
const cpu_place_fn cpu_place_write[5] = {write_1, write_2, write_4, write_8, write_16};

/* ---- running a plan ---- */
typedef struct plan_job {
    const cpu_index_plan *plan;
    load_fn load;
    cpu_place_fn place;
    const void *arg;
    _Atomic(const char *) bad; /* an index that is out of range */
} plan_job;

/* Converts, or remembers which index is bad. */
static bool load_block(plan_job *job, const char *index, int64_t index_stride, int64_t n, int64_t *out) {
    if (WICK_LIKELY(job->load(job->plan, index, index_stride, n, out))) return true;
    int64_t j = 0;
    while (job->load(job->plan, index + j * index_stride, 0, 1, out)) ++j;
    atomic_store(&job->bad, index + j * index_stride);
    return false;
}

static void plan_run(void *user, char *const *data, const int64_t *strides, int64_t n) {
    plan_job *job = user;
    int64_t offsets[BLOCK];
    if (strides[CPU_INDEX] == 0) {
        if (load_block(job, data[CPU_INDEX], 0, 1, offsets))
            job->place(data[CPU_BASE] + offsets[0], strides[CPU_BASE], NULL, data[CPU_DENSE], strides[CPU_DENSE], n,
                       job->arg);
        return;
    }
    for (int64_t j = 0; j < n; j += BLOCK) {
        int64_t count = n - j < BLOCK ? n - j : BLOCK;
        if (!load_block(job, data[CPU_INDEX] + j * strides[CPU_INDEX], strides[CPU_INDEX], count, offsets)) return;
        job->place(data[CPU_BASE] + j * strides[CPU_BASE], strides[CPU_BASE], offsets,
                   data[CPU_DENSE] + j * strides[CPU_DENSE], strides[CPU_DENSE], count, job->arg);
    }
}

static wick_status *bad_index(const wick_kernel_call *k, const cpu_index_plan *plan, const char *index) {
    cpu_index_plan plain = *plan;
    int64_t value;
    plain.wrap = false, plain.stride = 1;
    loads[plan->dtype](&plain, index, 0, 1, &value);
    return WICK_HOST_ERROR(k->host, WICK_OUT_OF_RANGE, "index %lld is out of bounds for dimension %d with size %lld",
                           (long long)value, plan->dim, (long long)plan->size);
}

static wick_status *run(const wick_kernel_call *k, cpu_index_plan *plan, cpu_place_fn place, const void *arg) {
    plan_job job = {plan, loads[plan->dtype], place, arg, NULL};
    if (!job.load) return WICK_HOST_ERROR(k->host, WICK_INVALID_ARGUMENT, "indices must be integers");
    cpu_walk_run(cpu_of(k), &plan->walk, plan_run, &job);
    const char *bad = atomic_load(&job.bad);
    return bad ? bad_index(k, plan, bad) : NULL;
}

wick_status *cpu_index_read(const wick_kernel_call *k, cpu_index_plan *plan) {
    plan->walk.serial = 0;
    return run(k, plan, cpu_place_read[cpu_item_log2(plan->item)], NULL);
}

/* Positions that differ in a dimension of the base never meet; those that differ only in the others may. */
wick_status *cpu_index_write(const wick_kernel_call *k, cpu_index_plan *plan, cpu_place_fn place, const void *arg) {
    for (int d = 0; d < plan->walk.ndim; ++d)
        if (plan->walk.strides[CPU_BASE][d] == 0) plan->walk.serial |= UINT64_C(1) << d;
    return run(k, plan, place, arg);
}

/* ---- building plans ---- */
static void plan_begin(cpu_index_plan *plan, const cpu_view *base, const cpu_view *index, const cpu_view *dense) {
    cpu_walk_of((const cpu_view *const[]){base, dense, index}, 3, &plan->walk);
    memcpy(plan->walk.sizes, index->sizes, (size_t)index->ndim * sizeof index->sizes[0]);
    plan->walk.ndim = index->ndim;
    plan->dtype = index->dtype;
    plan->item = base->item;
    plan->dim = 0;
    plan->wrap = false;
}

void cpu_index_along(cpu_index_plan *plan, const cpu_view *base, int dim, const cpu_view *index,
                     const cpu_view *dense) {
    plan_begin(plan, base, index, dense);
    plan->size = base->sizes[dim];
    plan->stride = base->strides[dim];
    plan->walk.strides[CPU_BASE][dim] = 0;
    plan->dim = dim;
}

void cpu_index_flat(cpu_index_plan *plan, const cpu_view *base, const cpu_view *index, const cpu_view *dense) {
    plan_begin(plan, index, index, dense);
    plan->walk.data[CPU_BASE] = base->data;
    memset(plan->walk.strides[CPU_BASE], 0, (size_t)index->ndim * sizeof(int64_t));
    plan->size = cpu_view_numel(base);
    plan->stride = base->item;
    plan->item = base->item;
    plan->wrap = true;
}

void cpu_index_rows(cpu_index_plan *plan, const cpu_view *weight, const cpu_view *index, const cpu_view *dense) {
    cpu_view at = *dense, base = *dense;
    int column = dense->ndim - 1, index_ndim = index->ndim < column ? index->ndim : column;
    at.data = index->data, at.dtype = index->dtype;
    memset(at.strides, 0, sizeof at.strides);
    memcpy(at.strides, index->strides, (size_t)index_ndim * sizeof(int64_t));
    base.data = weight->data;
    memset(base.strides, 0, sizeof base.strides);
    base.strides[column] = weight->strides[1];
    plan_begin(plan, &base, &at, dense);
    plan->size = weight->sizes[0];
    plan->stride = weight->strides[0];
    plan->item = weight->item;
}

void cpu_index_constant(cpu_index_plan *plan, const void *item) {
    plan->walk.data[CPU_DENSE] = (char *)(uintptr_t)item;
    memset(plan->walk.strides[CPU_DENSE], 0, sizeof plan->walk.strides[CPU_DENSE]);
}

/* ---- advanced indexing ---- */
/* Adds one tensor's share, wrapped and checked, to the combined offsets. */
static void add_offsets(char *base, int64_t base_stride, const int64_t *offsets, char *dense, int64_t dense_stride,
                        int64_t n, const void *arg) {
    for (int64_t j = 0; j < n; ++j)
        *(int64_t *)(dense + j * dense_stride) += offsets ? offsets[j] : base - (const char *)arg;
}

/* Several index tensors become one of ready byte offsets. */
static wick_status *combine(const wick_kernel_call *k, const cpu_view *base, const wick_selection *s, cpu_view *out) {
    int64_t *offsets, numel = wick_dim_product(s->sizes, s->ndim);
    WICK_TRY(cpu_scratch(k, numel, sizeof *offsets, &offsets));
    memset(offsets, 0, (size_t)numel * sizeof *offsets);
    static const int64_t one = 1;
    cpu_view_dense(offsets, WICK_I64, s->ndim ? s->ndim : 1, s->ndim ? s->sizes : &one, out);
    for (int i = 0; i < s->slots; ++i) {
        if (!s->tensors[i]) continue;
        cpu_view index, origin = *out;
        cpu_index_plan plan;
        cpu_view_of(s->tensors[i], &index);
        cpu_view_expand(&index, out->ndim, out->sizes);
        origin.data = base->data;
        memset(origin.strides, 0, sizeof origin.strides);
        plan_begin(&plan, &origin, &index, out);
        plan.size = base->sizes[i], plan.stride = base->strides[i], plan.dim = i, plan.wrap = true;
        WICK_TRY(run(k, &plan, add_offsets, base->data));
    }
    return NULL;
}

static wick_status *selection_index(const wick_kernel_call *k, cpu_index_plan *plan, const cpu_view *base,
                                    const wick_selection *s, cpu_view *out) {
    plan->size = INT64_MAX, plan->stride = 1, plan->dim = 0, plan->wrap = false;
    if (s->count != 1) {
        WICK_TRY(combine(k, base, s, out));
    } else {
        cpu_view_of(s->tensors[s->first], out);
        plan->size = base->sizes[s->first], plan->stride = base->strides[s->first];
        plan->dim = s->first, plan->wrap = true;
    }
    plan->dtype = out->dtype;
    return NULL;
}

static void add_dim(cpu_walk *w, int64_t size, int64_t base_stride, int64_t index_stride) {
    w->sizes[w->ndim] = size;
    w->strides[CPU_BASE][w->ndim] = base_stride;
    w->strides[CPU_INDEX][w->ndim++] = index_stride;
}

wick_status *cpu_index_tensors(const wick_kernel_call *k, cpu_index_plan *plan, const cpu_view *base,
                               const wick_value *indices, const cpu_view *dense) {
    wick_selection s;
    cpu_view index, other = *dense;
    cpu_walk *w = &plan->walk;
    int dims[WICK_MAX_DIMS];
    wick_selection_of(indices, &s);
    WICK_TRY(selection_index(k, plan, base, &s, &index));
    w->ndim = 0, w->operands = 3, w->serial = 0;
    for (int i = 0, n = wick_selection_dims(&s, base->ndim, dims); i < n; ++i) {
        const int kept = dims[i], chosen = -1 - kept;
        if (kept >= 0)
            add_dim(w, base->sizes[kept], base->strides[kept], 0);
        else
            add_dim(w, s.sizes[chosen], 0, index.strides[chosen]);
    }
    if (w->ndim == 0) add_dim(w, 1, 0, 0);
    cpu_view_expand(&other, w->ndim, w->sizes);
    memcpy(w->strides[CPU_DENSE], other.strides, (size_t)w->ndim * sizeof(int64_t));
    w->data[CPU_BASE] = base->data, w->data[CPU_DENSE] = other.data, w->data[CPU_INDEX] = index.data;
    plan->item = base->item;
    return NULL;
}
