/* Strided views and the walk over up to three of them. */
#include "index.h"

/* ---- views ---- */
void cpu_view_of(const wick_tensor *tensor, cpu_view *out) {
    out->data = wick_data(tensor);
    out->dtype = wick_tensor_dtype(tensor);
    out->item = (int)wick_dtype_bytes(out->dtype);
    out->ndim = tensor->ndim ? tensor->ndim : 1;
    out->sizes[0] = 1, out->strides[0] = out->item;
    for (int d = 0; d < tensor->ndim; ++d) {
        out->sizes[d] = tensor->sizes[d];
        out->strides[d] = tensor->strides[d] * out->item;
    }
}

void cpu_view_dense(void *data, wick_dtype dtype, int ndim, const int64_t *sizes, cpu_view *out) {
    out->data = data;
    out->dtype = dtype;
    out->item = (int)wick_dtype_bytes(dtype);
    out->ndim = ndim;
    int64_t stride = out->item;
    for (int d = ndim - 1; d >= 0; --d) {
        out->sizes[d] = sizes[d], out->strides[d] = stride;
        stride *= sizes[d];
    }
}

int64_t cpu_view_numel(const cpu_view *view) {
    int64_t n = 1;
    for (int d = 0; d < view->ndim; ++d) n *= view->sizes[d];
    return n;
}

bool cpu_view_is_dense(const cpu_view *view) {
    int64_t stride = view->item;
    for (int d = view->ndim - 1; d >= 0; --d) {
        if (view->sizes[d] != 1 && view->strides[d] != stride) return false;
        stride *= view->sizes[d];
    }
    return true;
}

void cpu_view_narrow(cpu_view *view, int dim, int64_t start, int64_t length) {
    view->data += start * view->strides[dim];
    view->sizes[dim] = length;
}

void cpu_view_expand(cpu_view *view, int ndim, const int64_t *sizes) {
    int lead = ndim - view->ndim;
    for (int d = ndim - 1; d >= 0; --d) {
        bool kept = d >= lead && view->sizes[d - lead] != 1;
        view->strides[d] = kept ? view->strides[d - lead] : 0;
        view->sizes[d] = sizes[d];
    }
    view->ndim = ndim;
}

void cpu_view_spread(cpu_view *index, int dim, const cpu_view *like) {
    int64_t n = index->sizes[0], stride = index->strides[0];
    index->ndim = like->ndim;
    for (int d = 0; d < like->ndim; ++d) index->sizes[d] = like->sizes[d], index->strides[d] = 0;
    index->sizes[dim] = n, index->strides[dim] = stride;
}

char *cpu_view_at(const cpu_view *view, int64_t position) {
    char *p = view->data;
    for (int d = view->ndim - 1; d >= 0; --d) {
        p += position % view->sizes[d] * view->strides[d];
        position /= view->sizes[d];
    }
    return p;
}

/* ---- walks ---- */
void cpu_walk_of(const cpu_view *const *views, int operands, cpu_walk *out) {
    int ndim = views[0]->ndim;
    out->ndim = ndim, out->operands = operands, out->serial = 0;
    memcpy(out->sizes, views[0]->sizes, (size_t)ndim * sizeof out->sizes[0]);
    for (int k = 0; k < operands; ++k) {
        out->data[k] = views[k]->data;
        memcpy(out->strides[k], views[k]->strides, (size_t)ndim * sizeof out->strides[k][0]);
    }
}

static void swap_dims(cpu_walk *w, int a, int b) {
    int64_t size = w->sizes[a];
    w->sizes[a] = w->sizes[b], w->sizes[b] = size;
    for (int k = 0; k < w->operands; ++k) {
        int64_t stride = w->strides[k][a];
        w->strides[k][a] = w->strides[k][b], w->strides[k][b] = stride;
    }
}

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

void cpu_walk_reorder(cpu_walk *w) {
    for (int d = 1; d < w->ndim; ++d)
        for (int e = d; e > 0 && magnitude(w->strides[0][e - 1]) < magnitude(w->strides[0][e]); --e)
            swap_dims(w, e - 1, e);
}

/* True if dimensions a and b (the next inner one) are one run for every operand. */
static bool mergeable(const cpu_walk *w, int a, int b) {
    for (int k = 0; k < w->operands; ++k)
        if (w->strides[k][a] != w->strides[k][b] * w->sizes[b]) return false;
    return true;
}

static void move_dim(cpu_walk *w, int to, int from) {
    w->sizes[to] = w->sizes[from];
    for (int k = 0; k < w->operands; ++k) w->strides[k][to] = w->strides[k][from];
}

/* Drops dimensions of size 1 and merges neighbours that are serial alike; at least one dimension remains. */
static void simplify(cpu_walk *w) {
    int n = 0;
    uint64_t serial = 0;
    for (int d = 0; d < w->ndim; ++d) {
        if (w->sizes[d] == 1) continue;
        uint64_t bit = w->serial >> d & 1;
        if (n > 0 && (serial >> (n - 1) & 1) == bit && mergeable(w, n - 1, d)) {
            int64_t outer = w->sizes[n - 1];
            move_dim(w, n - 1, d);
            w->sizes[n - 1] *= outer;
        } else {
            move_dim(w, n, d);
            serial |= bit << n++;
        }
    }
    if (n == 0) {
        for (int k = 0; k < w->operands; ++k) w->strides[k][0] = 0;
        w->sizes[n++] = 1;
    }
    w->ndim = n, w->serial = serial;
}

static void walk_all(const cpu_walk *w, cpu_walk_fn fn, void *user) {
    int inner = w->ndim - 1;
    int64_t at[WICK_MAX_DIMS], strides[CPU_WALK_OPERANDS] = {0};
    char *data[CPU_WALK_OPERANDS] = {0};
    for (int d = 0; d < inner; ++d) at[d] = 0;
    for (int k = 0; k < w->operands; ++k) data[k] = w->data[k], strides[k] = w->strides[k][inner];
    for (;;) {
        fn(user, data, strides, w->sizes[inner]);
        int d = inner - 1;
        for (; d >= 0; --d) {
            for (int k = 0; k < w->operands; ++k) data[k] += w->strides[k][d];
            if (++at[d] < w->sizes[d]) break;
            for (int k = 0; k < w->operands; ++k) data[k] -= w->strides[k][d] * w->sizes[d];
            at[d] = 0;
        }
        if (d < 0) return;
    }
}

typedef struct walk_job {
    const cpu_walk *walk;
    cpu_walk_fn fn;
    void *user;
    int split;
} walk_job;

static void walk_part(void *user, int64_t begin, int64_t end, int worker) {
    const walk_job *job = user;
    cpu_walk part = *job->walk;
    part.sizes[job->split] = end - begin;
    for (int k = 0; k < part.operands; ++k) part.data[k] += begin * part.strides[k][job->split];
    walk_all(&part, job->fn, job->user);
}

/* The dimension to cut: the outermost that feeds all threads, else the largest; -1 if all are serial. */
static int split_dim(const cpu_walk *w, int threads) {
    int best = -1;
    for (int d = 0; d < w->ndim; ++d) {
        if (w->serial >> d & 1) continue;
        if (w->sizes[d] >= 4 * threads) return d;
        if (best < 0 || w->sizes[d] > w->sizes[best]) best = d;
    }
    return best;
}

void cpu_walk_run(cpu_instance *cpu, cpu_walk *w, cpu_walk_fn fn, void *user) {
    int64_t numel = 1;
    for (int d = 0; d < w->ndim; ++d) numel *= w->sizes[d];
    if (numel == 0) return;
    simplify(w);
    walk_job job = {w, fn, user, numel > CPU_GRAIN ? split_dim(w, cpu_thread_count(cpu)) : -1};
    if (job.split < 0) {
        walk_all(w, fn, user);
        return;
    }
    int64_t per = numel / w->sizes[job.split];
    cpu_parallel_for(cpu, w->sizes[job.split], 1 + CPU_GRAIN / per, walk_part, &job);
}

/* ---- copies and fills ---- */
#define COPY_ITEMS(bytes)                                                                                            \
    static void copy_##bytes(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n) {        \
        typedef cpu_word##bytes word;                                                                                \
        if (dst_stride == bytes && src_stride == bytes) {                                                            \
            memcpy(dst, src, (size_t)n *bytes);                                                                      \
        } else if (dst_stride == bytes && src_stride == 0) {                                                         \
            word item = *(const word *)src;                                                                          \
            for (int64_t i = 0; i < n; ++i) ((word *)dst)[i] = item;                                                 \
        } else {                                                                                                     \
            for (int64_t i = 0; i < n; ++i) *(word *)(dst + i * dst_stride) = *(const word *)(src + i * src_stride); \
        }                                                                                                            \
    }
CPU_WORDS(COPY_ITEMS)

const cpu_copy_fn cpu_copy_items[5] = {copy_1, copy_2, copy_4, copy_8, copy_16};

static void copy_run(void *user, char *const *data, const int64_t *strides, int64_t n) {
    (*(const cpu_copy_fn *)user)(data[0], strides[0], data[1], strides[1], n);
}

static bool same_elements(const cpu_view *a, const cpu_view *b) {
    if (a->data != b->data) return false;
    for (int d = 0; d < a->ndim; ++d)
        if (a->sizes[d] != 1 && a->strides[d] != b->strides[d]) return false;
    return true;
}

void cpu_view_copy(cpu_instance *cpu, const cpu_view *dst, const cpu_view *src) {
    if (same_elements(dst, src)) return;
    cpu_walk walk;
    cpu_walk_of((const cpu_view *const[]){dst, src}, 2, &walk);
    cpu_walk_reorder(&walk);
    cpu_copy_fn copy = cpu_copy_items[cpu_item_log2(dst->item)];
    cpu_walk_run(cpu, &walk, copy_run, &copy);
}

void cpu_view_fill(cpu_instance *cpu, const cpu_view *dst, const void *item) {
    cpu_view src = *dst;
    src.data = (char *)(uintptr_t)item;
    for (int d = 0; d < src.ndim; ++d) src.strides[d] = 0;
    cpu_view_copy(cpu, dst, &src);
}

void cpu_view_zero(cpu_instance *cpu, const cpu_view *dst) {
    static const uint64_t zero[2];
    cpu_view_fill(cpu, dst, zero);
}

void cpu_output_from(const wick_kernel_call *k, const wick_tensor *self, cpu_view *out) {
    cpu_view from;
    cpu_view_of(wick_out_tensor(k, 0), out);
    cpu_view_of(self, &from);
    cpu_view_expand(&from, out->ndim, out->sizes);
    cpu_view_copy(cpu_of(k), out, &from);
}
