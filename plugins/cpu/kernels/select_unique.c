/* unique, unique_dim, unique_consecutive, isin. */
#include "select_key.h"

/* ---- elements or slices, by keys ---- */
/* The things that are compared: `count` rows of `columns` keys each. */
typedef struct items {
    uint64_t *keys;
    int64_t count, columns;
    int64_t *order; /* the order to look at them; NULL: as they come */
    wick_dtype dtype;
    cpu_view self; /* flat, or as it is */
    int dim;       /* along which the items lie */
} items;

static int64_t item_at(const items *s, int64_t i) { return s->order ? s->order[i] : i; }

/* NaN differs from everything, itself too. */
static bool same_items(const items *s, int64_t i, int64_t j) {
    const uint64_t *a = s->keys + i * s->columns, *b = s->keys + j * s->columns;
    for (int64_t c = 0; c < s->columns; ++c)
        if (a[c] != b[c] || cpu_key_is_nan(a[c], s->dtype)) return false;
    return true;
}

/* Sorts by the last column first; the sort is stable. */
static wick_status *sort_items(const wick_kernel_call *k, items *s) {
    cpu_key_sorter sorter;
    WICK_TRY(cpu_key_sorter_init(k, s->count, &sorter));
    for (int64_t i = 0; i < s->count; ++i) sorter.order[i] = i;
    for (int64_t c = s->columns - 1; c >= 0; --c) {
        for (int64_t i = 0; i < s->count; ++i) sorter.keys[i] = s->keys[sorter.order[i] * s->columns + c];
        cpu_key_sort(&sorter, s->count);
    }
    s->order = sorter.order;
    return NULL;
}

/* The view with `dim` in front. */
static void bring_forward(cpu_view *v, int dim) {
    int64_t size = v->sizes[dim], stride = v->strides[dim];
    memmove(v->sizes + 1, v->sizes, (size_t)dim * sizeof v->sizes[0]);
    memmove(v->strides + 1, v->strides, (size_t)dim * sizeof v->strides[0]);
    v->sizes[0] = size, v->strides[0] = stride;
}

/* Slices along `dim` (a value that may be None: then elements) of argument 0. */
static wick_status *items_of(const wick_kernel_call *k, const wick_value *dim, items *out) {
    const wick_tensor *self = wick_arg_tensor(k, 0);
    bool flat = wick_value_is_none(dim);
    cpu_view_of(self, &out->self);
    if (flat) cpu_view_dense(out->self.data, out->self.dtype, 1, &self->numel, &out->self);
    out->dim = flat ? 0 : wick_dim_of(dim, self->ndim);
    out->dtype = out->self.dtype, out->order = NULL;
    cpu_view sliced = out->self;
    bring_forward(&sliced, out->dim);
    out->count = sliced.sizes[0], out->columns = 1;
    for (int d = 1; d < sliced.ndim; ++d) out->columns *= sliced.sizes[d];
    return cpu_keys_of(k, &sliced, &out->keys);
}

/* ---- the three outputs ---- */
/* starts[g] = position in the order where group g begins; starts[groups] = count. */
static wick_status *group_items(const wick_kernel_call *k, const items *s, int64_t **starts, int64_t *groups) {
    WICK_TRY(cpu_scratch(k, s->count + 1, sizeof **starts, starts));
    int64_t n = 0;
    for (int64_t i = 0; i < s->count; ++i)
        if (i == 0 || !same_items(s, item_at(s, i - 1), item_at(s, i))) (*starts)[n++] = i;
    (*starts)[n] = s->count;
    *groups = n;
    return NULL;
}

/* Output 0: the first of each group. */
static wick_status *write_values(const wick_kernel_call *k, const items *s, const int64_t *starts, int64_t groups) {
    wick_dim sizes[WICK_MAX_DIMS];
    int64_t *firsts;
    cpu_view index, out;
    cpu_index_plan plan;
    WICK_TRY(cpu_scratch(k, groups, sizeof *firsts, &firsts));
    for (int64_t g = 0; g < groups; ++g) firsts[g] = item_at(s, starts[g]);
    memcpy(sizes, s->self.sizes, (size_t)s->self.ndim * sizeof sizes[0]);
    sizes[s->dim] = groups;
    WICK_TRY(k->host->resize_output(k, 0, s->self.ndim, sizes));
    cpu_view_of(wick_out_tensor(k, 0), &out);
    cpu_view_dense(firsts, WICK_I64, 1, &groups, &index);
    cpu_view_spread(&index, s->dim, &out);
    cpu_index_along(&plan, &s->self, s->dim, &index, &out);
    return cpu_index_read(k, &plan);
}

/* Output 1: the group of each item; empty if not wanted. */
static wick_status *write_inverse(const wick_kernel_call *k, const items *s, const int64_t *starts, int64_t groups,
                                  bool wanted, bool flat) {
    static const wick_dim none = 0;
    const wick_tensor *self = wick_arg_tensor(k, 0);
    if (!wanted) return k->host->resize_output(k, 1, 1, &none);
    if (flat)
        WICK_TRY(k->host->resize_output(k, 1, self->ndim, self->sizes));
    else
        WICK_TRY(k->host->resize_output(k, 1, 1, &s->count));
    int64_t *inverse = wick_data(wick_out_tensor(k, 1));
    for (int64_t g = 0; g < groups; ++g)
        for (int64_t i = starts[g]; i < starts[g + 1]; ++i) inverse[item_at(s, i)] = g;
    return NULL;
}

/* Output 2: the size of each group; empty if not wanted. */
static wick_status *write_counts(const wick_kernel_call *k, const int64_t *starts, int64_t groups, bool wanted) {
    wick_dim size = wanted ? groups : 0;
    WICK_TRY(k->host->resize_output(k, 2, 1, &size));
    int64_t *counts = wick_data(wick_out_tensor(k, 2));
    for (int64_t g = 0; g < size; ++g) counts[g] = starts[g + 1] - starts[g];
    return NULL;
}

static wick_status *find_unique(const wick_kernel_call *k, const wick_value *dim, bool sort, bool inverse,
                                bool counts) {
    items s;
    int64_t *starts, groups;
    WICK_TRY(items_of(k, dim, &s));
    if (sort) WICK_TRY(sort_items(k, &s));
    WICK_TRY(group_items(k, &s, &starts, &groups));
    WICK_TRY(write_values(k, &s, starts, groups));
    WICK_TRY(write_inverse(k, &s, starts, groups, inverse, wick_value_is_none(dim)));
    return write_counts(k, starts, groups, counts);
}

/* (self, sorted, return_inverse, return_counts): sorted or not, the result is. */
static wick_status *unique2(const wick_kernel_call *k) {
    wick_value flat = wick_value_none();
    return find_unique(k, &flat, true, k->values[2].as.i, k->values[3].as.i);
}

/* (self, dim, sorted, return_inverse, return_counts) */
static wick_status *unique_dim(const wick_kernel_call *k) {
    return find_unique(k, &k->values[1], true, k->values[3].as.i, k->values[4].as.i);
}

/* (self, return_inverse, return_counts, dim) */
static wick_status *unique_consecutive(const wick_kernel_call *k) {
    return find_unique(k, &k->values[3], false, k->values[1].as.i, k->values[2].as.i);
}

/* ---- isin: (elements, test_elements, assume_unique, invert) ---- */
typedef struct membership {
    const uint64_t *keys;
    const uint64_t *set; /* sorted */
    int64_t set_count;
    wick_dtype dtype;
    bool invert;
    uint8_t *out;
} membership;

static bool contains(const membership *m, uint64_t key) {
    int64_t low = 0, high = m->set_count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (m->set[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < m->set_count && m->set[low] == key && !cpu_key_is_nan(key, m->dtype);
}

static void isin_part(void *user, int64_t begin, int64_t end, int worker) {
    const membership *m = user;
    for (int64_t i = begin; i < end; ++i) m->out[i] = contains(m, m->keys[i]) != m->invert;
}

static wick_status *isin(const wick_kernel_call *k) {
    cpu_view elements, tests;
    cpu_key_sorter sorter;
    uint64_t *keys, *test_keys;
    cpu_view_of(wick_arg_tensor(k, 0), &elements);
    cpu_view_of(wick_arg_tensor(k, 1), &tests);
    int64_t n = cpu_view_numel(&elements), count = cpu_view_numel(&tests);
    WICK_TRY(cpu_keys_of(k, &elements, &keys));
    WICK_TRY(cpu_keys_of(k, &tests, &test_keys));
    WICK_TRY(cpu_key_sorter_init(k, count, &sorter));
    memcpy(sorter.keys, test_keys, (size_t)count * sizeof *test_keys);
    for (int64_t i = 0; i < count; ++i) sorter.order[i] = i;
    cpu_key_sort(&sorter, count);
    membership m = {keys, sorter.keys, count, elements.dtype, k->values[3].as.i, wick_data(wick_out_tensor(k, 0))};
    cpu_parallel_for(cpu_of(k), n, CPU_GRAIN / 16, isin_part, &m);
    return NULL;
}

#define FLAGS (WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_CONTIGUOUS)
static const wick_kernel_row rows[] = {
    CPU_ROW("_unique2", unique2, NULL, 0, FLAGS),
    CPU_ROW("unique_dim", unique_dim, NULL, 0, FLAGS),
    CPU_ROW("unique_consecutive", unique_consecutive, NULL, 0, FLAGS),
    CPU_ROW("isin.Tensor_Tensor", isin, NULL, 0, FLAGS),
};
const cpu_kernel_table cpu_select_unique_table = CPU_TABLE(rows);
