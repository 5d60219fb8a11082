/* embedding_renorm_: rows that the indices name get at most a given norm. */
#include "index.h"

#include <math.h>

/* p-norm of a row. */
static double row_norm(const cpu_view *row, double p) {
    double total = 0;
    for (int64_t i = 0; i < row->sizes[1]; ++i) {
        double x = fabs(cpu_item_to_double(row->dtype, row->data + i * row->strides[1]));
        if (isinf(p))
            total = x > total || x != x ? x : total;
        else
            total += p == 2 ? x * x : p == 1 ? x : p == 0 ? x != 0 : pow(x, p);
    }
    return p == 2 ? sqrt(total) : isinf(p) || p == 1 || p == 0 ? total : pow(total, 1 / p);
}

static void scale_row(const cpu_view *row, double factor) {
    for (int64_t i = 0; i < row->sizes[1]; ++i) {
        char *item = row->data + i * row->strides[1];
        cpu_item_from_double(row->dtype, cpu_item_to_double(row->dtype, item) * factor, item);
    }
}

/* (self, indices, max_norm, norm_type) */
static wick_status *embedding_renorm(const wick_kernel_call *k) {
    cpu_view weight, index;
    uint8_t *seen;
    double max_norm = wick_value_as_double(&k->values[2]), p = wick_value_as_double(&k->values[3]);
    cpu_output_from(k, wick_arg_tensor(k, 0), &weight);
    cpu_view_of(wick_arg_tensor(k, 1), &index);
    WICK_TRY(cpu_scratch(k, weight.sizes[0], 1, &seen));
    memset(seen, 0, (size_t)weight.sizes[0]);
    for (int64_t i = 0, n = cpu_view_numel(&index); i < n; ++i) {
        int64_t at = cpu_item_to_int(index.dtype, cpu_view_at(&index, i));
        if (at < 0 || at >= weight.sizes[0])
            return WICK_HOST_ERROR(k->host, WICK_OUT_OF_RANGE,
                                   "index %lld is out of bounds for dimension 0 with size %lld", (long long)at,
                                   (long long)weight.sizes[0]);
        if (seen[at]) continue;
        seen[at] = 1;
        cpu_view row = weight;
        cpu_view_narrow(&row, 0, at, 1);
        double norm = row_norm(&row, p);
        if (norm > max_norm) scale_row(&row, max_norm / (norm + 1e-7));
    }
    return NULL;
}

#define FLOATS WICK_DTYPES_FLOAT
static const wick_kernel_row rows[] = {
    CPU_ROW("embedding_renorm_", embedding_renorm, NULL, FLOATS, WICK_KERNEL_DETERMINISTIC),
};
const cpu_kernel_table cpu_index_renorm_table = CPU_TABLE(rows);
