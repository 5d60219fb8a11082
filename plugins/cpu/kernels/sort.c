/* Sorting and order statistics along one dimension: sort, topk, kthvalue, median, nanmedian, mode. All work on
 * order-preserving keys, so that one sort and one selection serve every dtype; NaN is the greatest value. */
#include "select_key.h"

enum { SMALL = 32, GRAIN = 4096 };

/* A line along the dimension, and where its results go. */
typedef struct sort_line {
    uint64_t *keys;      /* of the n elements; may be changed */
    cpu_key_sorter work; /* n entries each; work.keys is `keys` */
    int64_t n;
} sort_line;

typedef struct sort_job sort_job;
/* Returns how many results there are; their places in the line are then line->work.order[0...]. */
typedef int64_t (*sort_rule)(const sort_job *job, sort_line *line);

struct sort_job {
    cpu_view self, values, indices; /* with the dimension last, where they have it */
    cpu_key_sorter work;            /* for all lines */
    int64_t n, lines, results;      /* results: of a line */
    sort_rule rule;
    int64_t k;
    bool descending;
};

/* ---- sorting and selecting a line ---- */
static void number_elements(sort_line *line) {
    for (int64_t i = 0; i < line->n; ++i) line->work.order[i] = i;
}

static void sort_small(uint64_t *keys, int64_t *order, int64_t n) {
    for (int64_t i = 1; i < n; ++i) {
        uint64_t key = keys[i];
        int64_t place = order[i], j = i;
        for (; j > 0 && keys[j - 1] > key; --j) keys[j] = keys[j - 1], order[j] = order[j - 1];
        keys[j] = key, order[j] = place;
    }
}

/* Stable; the results are in work.keys and work.order. */
static void sort_keys(cpu_key_sorter *work, int64_t n) {
    if (n <= SMALL)
        sort_small(work->keys, work->order, n);
    else
        cpu_key_sort(work, n);
}

/* The key of rank k, 0 the least: finds its bytes from the top. */
static uint64_t key_of_rank(const uint64_t *keys, int64_t n, int64_t k) {
    uint64_t prefix = 0, mask = 0;
    for (int shift = 56; shift >= 0; shift -= 8) {
        int64_t counts[256] = {0};
        for (int64_t i = 0; i < n; ++i)
            if ((keys[i] & mask) == prefix) ++counts[keys[i] >> shift & 0xff];
        uint64_t digit = 0;
        for (; k >= counts[digit]; ++digit) k -= counts[digit];
        prefix |= digit << shift, mask |= UINT64_C(0xff) << shift;
    }
    return prefix;
}

static int64_t first_of_key(const sort_line *line, uint64_t key) {
    int64_t i = 0;
    while (line->keys[i] != key) ++i;
    return i;
}

static int64_t pick_rank(sort_line *line, int64_t k) {
    line->work.order[0] = first_of_key(line, key_of_rank(line->keys, line->n, k));
    return 1;
}

/* ---- the rules ---- */
static void turn_around(const sort_job *job, sort_line *line) {
    for (int64_t i = 0; job->descending && i < line->n; ++i) line->keys[i] = ~line->keys[i];
}

static int64_t rule_sort(const sort_job *job, sort_line *line) {
    turn_around(job, line);
    number_elements(line);
    sort_keys(&line->work, line->n);
    return line->n;
}

/* Collects what lies below the key of rank k - 1 and as many equals as fit, then sorts those few. */
static int64_t rule_topk(const sort_job *job, sort_line *line) {
    if (job->k == 0) return 0;
    turn_around(job, line);
    uint64_t limit = key_of_rank(line->keys, line->n, job->k - 1);
    int64_t below = 0, found = 0;
    for (int64_t i = 0; i < line->n; ++i) below += line->keys[i] < limit;
    for (int64_t i = 0, equals = job->k - below; i < line->n; ++i) {
        uint64_t key = line->keys[i];
        if (key > limit || (key == limit && equals-- <= 0)) continue;
        line->keys[found] = key; /* found <= i */
        line->work.order[found++] = i;
    }
    sort_keys(&line->work, found);
    return found;
}

static int64_t rule_kth(const sort_job *job, sort_line *line) { return pick_rank(line, job->k - 1); }

static int64_t count_nan(const sort_job *job, const sort_line *line) {
    int64_t count = 0;
    for (int64_t i = 0; i < line->n; ++i) count += cpu_key_is_nan(line->keys[i], job->self.dtype);
    return count;
}

/* The lower of two middle elements; a NaN wins. */
static int64_t rule_median(const sort_job *job, sort_line *line) {
    return pick_rank(line, count_nan(job, line) ? line->n - 1 : (line->n - 1) / 2);
}

static int64_t rule_nanmedian(const sort_job *job, sort_line *line) {
    int64_t numbers = line->n - count_nan(job, line);
    return pick_rank(line, numbers ? (numbers - 1) / 2 : 0);
}

/* The least of the most frequent values, and its last place. */
static int64_t rule_mode(const sort_job *job, sort_line *line) {
    number_elements(line);
    sort_keys(&line->work, line->n);
    int64_t best = 0, longest = 0;
    for (int64_t i = 0, run = 0; i < line->n; ++i) {
        run = i && line->work.keys[i] == line->work.keys[i - 1] ? run + 1 : 1;
        if (run > longest) longest = run, best = i;
    }
    line->work.order[0] = line->work.order[best];
    return 1;
}

/* ---- lines ---- */
static void write_results(const sort_job *job, int64_t i, const int64_t *order, int64_t count) {
    const char *from = cpu_view_at(&job->self, i * job->n);
    char *values = cpu_view_at(&job->values, i * job->results), *indices = cpu_view_at(&job->indices, i * job->results);
    int64_t step = job->self.strides[job->self.ndim - 1], value_step = job->values.strides[job->values.ndim - 1];
    int64_t index_step = job->indices.strides[job->indices.ndim - 1];
    cpu_copy_fn copy = cpu_copy_items[cpu_item_log2(job->self.item)];
    for (int64_t j = 0; j < count; ++j) {
        copy(values + j * value_step, 0, from + order[j] * step, 0, 1);
        *(int64_t *)(indices + j * index_step) = order[j];
    }
}

static void sort_lines(void *user, int64_t begin, int64_t end, int worker) {
    const sort_job *job = user;
    for (int64_t i = begin; i < end; ++i) {
        int64_t at = i * job->n;
        sort_line line = {.keys = job->work.keys + at, .n = job->n};
        line.work =
            (cpu_key_sorter){line.keys, job->work.spare_keys + at, job->work.order + at, job->work.spare_order + at};
        int64_t count = job->rule(job, &line);
        write_results(job, i, line.work.order, count);
    }
}

static void move_last(cpu_view *view, int dim) {
    int64_t size = view->sizes[dim], stride = view->strides[dim];
    for (int d = dim; d + 1 < view->ndim; ++d)
        view->sizes[d] = view->sizes[d + 1], view->strides[d] = view->strides[d + 1];
    view->sizes[view->ndim - 1] = size, view->strides[view->ndim - 1] = stride;
}

static wick_status *run(const wick_kernel_call *k, sort_job *job, const wick_value *dim_value) {
    const wick_tensor *self = wick_arg_tensor(k, 0), *values = wick_out_tensor(k, 0);
    int dim = wick_dim_of(dim_value, self->ndim);
    cpu_view_of(self, &job->self);
    cpu_view_of(values, &job->values);
    cpu_view_of(wick_out_tensor(k, 1), &job->indices);
    move_last(&job->self, dim);
    job->results = 1;
    if (values->ndim == self->ndim) {
        job->results = job->values.sizes[dim];
        move_last(&job->values, dim);
        move_last(&job->indices, dim);
    }
    job->n = job->self.sizes[job->self.ndim - 1];
    if (cpu_view_numel(&job->values) == 0) return NULL;
    if (job->n == 0) return WICK_HOST_ERROR(k->host, WICK_OUT_OF_RANGE, "the dimension has no elements");
    job->lines = cpu_view_numel(&job->self) / job->n;
    int64_t total = job->lines * job->n;
    WICK_TRY(cpu_keys_of(k, &job->self, &job->work.keys));
    WICK_TRY(cpu_scratch(k, total, sizeof(uint64_t), &job->work.spare_keys));
    WICK_TRY(cpu_scratch(k, total, sizeof(int64_t), &job->work.order));
    WICK_TRY(cpu_scratch(k, total, sizeof(int64_t), &job->work.spare_order));
    cpu_parallel_for(cpu_of(k), job->lines, job->n < GRAIN ? GRAIN / job->n : 1, sort_lines, job);
    return NULL;
}

/* ---- calls ---- */
/* (self, stable, dim, descending) */
static wick_status *sort_call(const wick_kernel_call *k) {
    sort_job job = {.rule = rule_sort, .descending = k->values[3].as.i != 0};
    return run(k, &job, &k->values[2]);
}
/* (self, k, dim, largest, sorted) */
static wick_status *topk_call(const wick_kernel_call *k) {
    sort_job job = {.rule = rule_topk, .k = k->values[1].as.i, .descending = k->values[3].as.i != 0};
    return run(k, &job, &k->values[2]);
}
/* (self, k, dim, keepdim) */
static wick_status *kthvalue_call(const wick_kernel_call *k) {
    sort_job job = {.rule = rule_kth, .k = k->values[1].as.i};
    return run(k, &job, &k->values[2]);
}
/* (self, dim, keepdim) */
static wick_status *median_call(const wick_kernel_call *k) {
    sort_job job = {.rule = rule_median};
    return run(k, &job, &k->values[1]);
}
static wick_status *nanmedian_call(const wick_kernel_call *k) {
    sort_job job = {.rule = rule_nanmedian};
    return run(k, &job, &k->values[1]);
}
static wick_status *mode_call(const wick_kernel_call *k) {
    sort_job job = {.rule = rule_mode};
    return run(k, &job, &k->values[1]);
}

static const wick_kernel_row rows[] = {
    CPU_ROW("sort.stable", sort_call, NULL, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("topk", topk_call, NULL, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("kthvalue", kthvalue_call, NULL, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("median.dim", median_call, NULL, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("nanmedian.dim", nanmedian_call, NULL, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("mode", mode_call, NULL, 0, WICK_KERNEL_DETERMINISTIC),
};
const cpu_kernel_table cpu_sort_table = CPU_TABLE(rows);
