/* Searching and counting: searchsorted, bucketize, bincount, histc, repeat_interleave. */
#include "../simd/convert.h"
#include "select_key.h"

#include <math.h>

/* ---- searchsorted, bucketize ---- */
typedef struct search {
    const uint64_t *sequence, *keys;
    int64_t length;  /* of a sequence */
    int64_t per_row; /* values that share one; 0: there is only one sequence */
    bool right;
    wick_dtype dtype;
    int32_t *out32; /* one of the two */
    int64_t *out64;
} search;

/* The first place that is not below (right: not at or below) the key. NaN compares false, so it goes last. */
static int64_t search_one(const search *s, const uint64_t *sequence, uint64_t key) {
    int64_t low = 0, high = s->length;
    bool nan = cpu_key_is_nan(key, s->dtype);
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        uint64_t at = sequence[middle];
        bool past = !nan && !cpu_key_is_nan(at, s->dtype) && (s->right ? at > key : at >= key);
        if (past)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void search_part(void *user, int64_t begin, int64_t end, int worker) {
    const search *s = user;
    for (int64_t i = begin; i < end; ++i) {
        int64_t row = s->per_row ? i / s->per_row : 0;
        int64_t place = search_one(s, s->sequence + row * s->length, s->keys[i]);
        if (s->out32)
            s->out32[i] = (int32_t)place;
        else
            s->out64[i] = place;
    }
}

/* Puts each row of the sequence in the order that the sorter gives. */
static wick_status *apply_sorter(const wick_kernel_call *k, uint64_t **keys, int64_t length,
                                 const wick_tensor *sorter) {
    uint64_t *sorted;
    const int64_t *order = wick_data(sorter);
    WICK_TRY(cpu_scratch(k, sorter->numel, sizeof *sorted, &sorted));
    for (int64_t i = 0; i < sorter->numel; ++i) {
        if (order[i] < 0 || order[i] >= length)
            return WICK_HOST_ERROR(k->host, WICK_OUT_OF_RANGE, "sorter index %lld is out of range for length %lld",
                                   (long long)order[i], (long long)length);
        sorted[i] = (*keys)[i / length * length + order[i]];
    }
    *keys = sorted;
    return NULL;
}

static wick_status *search_sorted(const wick_kernel_call *k, const wick_tensor *sequence, const wick_tensor *values,
                                  bool right, const wick_tensor *sorter) {
    cpu_view sequence_view, values_view;
    uint64_t *sequence_keys, *keys;
    const wick_tensor *out = wick_out_tensor(k, 0);
    cpu_view_of(sequence, &sequence_view);
    cpu_view_of(values, &values_view);
    int64_t length = sequence_view.sizes[sequence_view.ndim - 1];
    WICK_TRY(cpu_keys_of(k, &sequence_view, &sequence_keys));
    if (sorter) WICK_TRY(apply_sorter(k, &sequence_keys, length, sorter));
    WICK_TRY(cpu_keys_of(k, &values_view, &keys));
    search s = {
        sequence_keys,       keys, length, sequence->ndim > 1 ? values_view.sizes[values_view.ndim - 1] : 0, right,
        sequence_view.dtype, NULL, NULL};
    if (out->dtype == WICK_I32)
        s.out32 = wick_data(out);
    else
        s.out64 = wick_data(out);
    cpu_parallel_for(cpu_of(k), values->numel, CPU_GRAIN / 16, search_part, &s);
    return NULL;
}

/* (sorted_sequence, self, out_int32, right, side, sorter) */
static wick_status *searchsorted(const wick_kernel_call *k) {
    const wick_value *side = &k->values[4];
    bool right = k->values[3].as.i || (!wick_value_is_none(side) && strcmp(side->as.string, "right") == 0);
    return search_sorted(k, wick_arg_tensor(k, 0), wick_arg_tensor(k, 1), right, wick_arg_tensor(k, 5));
}

/* (self, boundaries, out_int32, right) */
static wick_status *bucketize(const wick_kernel_call *k) {
    return search_sorted(k, wick_arg_tensor(k, 1), wick_arg_tensor(k, 0), k->values[3].as.i, NULL);
}

/* ---- bincount: (self, weights, minlength) ---- */
static wick_status *count_bins(const wick_kernel_call *k, const cpu_view *self, int64_t *out_bins) {
    int64_t bins = k->values[2].as.i;
    for (int64_t i = 0; i < self->sizes[0]; ++i) {
        int64_t value = cpu_item_to_int(self->dtype, self->data + i * self->strides[0]);
        if (value < 0)
            return WICK_HOST_ERROR(k->host, WICK_INVALID_ARGUMENT,
                                   "bincount only supports 1-d non-negative integral inputs, got %lld",
                                   (long long)value);
        if (value >= bins) bins = value + 1;
    }
    *out_bins = bins;
    return NULL;
}

static wick_status *bincount(const wick_kernel_call *k) {
    cpu_view self, weights;
    int64_t bins;
    const wick_tensor *weighted = wick_arg_tensor(k, 1);
    cpu_view_of(wick_arg_tensor(k, 0), &self);
    if (weighted) cpu_view_of(weighted, &weights);
    WICK_TRY(count_bins(k, &self, &bins));
    WICK_TRY(k->host->resize_output(k, 0, 1, &bins));
    const wick_tensor *out = wick_out_tensor(k, 0);
    memset(wick_data(out), 0, (size_t)bins * wick_dtype_bytes(wick_tensor_dtype(out)));
    for (int64_t i = 0; i < self.sizes[0]; ++i) {
        int64_t bin = cpu_item_to_int(self.dtype, self.data + i * self.strides[0]);
        double weight = weighted ? cpu_item_to_double(weights.dtype, weights.data + i * weights.strides[0]) : 1;
        if (out->dtype == WICK_I64)
            ++((int64_t *)wick_data(out))[bin];
        else if (out->dtype == WICK_F32)
            ((float *)wick_data(out))[bin] += (float)weight;
        else
            ((double *)wick_data(out))[bin] += weight;
    }
    return NULL;
}

/* ---- histc: (self, bins, min, max) ---- */
/* The bins' borders fall where the arithmetic of the dtype puts them: rounds a result of double arithmetic to it. */
static double rounded(wick_dtype dtype, double x) {
    switch (dtype) {
    case WICK_F32: return (float)x;
    case WICK_F16: return f32_of_f16(f16_of_f32((float)x));
    case WICK_BF16: return f32_of_bf16(bf16_of_f32((float)x));
    default: return x;
    }
}

static int64_t bin_of(wick_dtype dtype, double x, double low, double high, int64_t bins) {
    double scaled = rounded(dtype, rounded(dtype, x - low) * rounded(dtype, (double)bins));
    int64_t bin = (int64_t)rounded(dtype, scaled / rounded(dtype, high - low));
    return bin < bins ? bin : bins - 1;
}

/* Without a range the data give it; an empty range is widened by 1 to each side. */
static wick_status *histogram_range(const wick_kernel_call *k, const cpu_view *self, double *low, double *high) {
    *low = rounded(self->dtype, wick_value_as_double(&k->values[2]));
    *high = rounded(self->dtype, wick_value_as_double(&k->values[3]));
    int64_t n = cpu_view_numel(self);
    if (*low == *high && n > 0) {
        *low = INFINITY, *high = -INFINITY;
        for (int64_t i = 0; i < n; ++i) {
            double x = cpu_item_to_double(self->dtype, self->data + i * self->item);
            if (!(x >= *low)) *low = x;
            if (!(x <= *high)) *high = x;
        }
    }
    if (*low == *high) *low = rounded(self->dtype, *low - 1), *high = rounded(self->dtype, *high + 1);
    if (!isfinite(*low) || !isfinite(*high))
        return WICK_HOST_ERROR(k->host, WICK_INVALID_ARGUMENT, "range of [%g, %g] is not finite", *low, *high);
    if (*low > *high) return WICK_HOST_ERROR(k->host, WICK_INVALID_ARGUMENT, "max must be larger than min");
    return NULL;
}

static wick_status *histc(const wick_kernel_call *k) {
    cpu_view self, out;
    int64_t bins = k->values[1].as.i, *counts;
    double low, high;
    cpu_view_of(wick_arg_tensor(k, 0), &self);
    cpu_view_of(wick_out_tensor(k, 0), &out);
    WICK_TRY(histogram_range(k, &self, &low, &high));
    WICK_TRY(cpu_scratch(k, bins, sizeof *counts, &counts));
    memset(counts, 0, (size_t)bins * sizeof *counts);
    for (int64_t i = 0, n = cpu_view_numel(&self); i < n; ++i) {
        double x = cpu_item_to_double(self.dtype, self.data + i * self.item);
        if (x >= low && x <= high) ++counts[bin_of(self.dtype, x, low, high, bins)];
    }
    for (int64_t b = 0; b < bins; ++b) cpu_item_from_double(out.dtype, (double)counts[b], out.data + b * out.item);
    return NULL;
}

/* ---- repeat_interleave.Tensor: (repeats, output_size): i, repeats[i] times ---- */
static wick_status *total_repeats(const wick_kernel_call *k, const cpu_view *repeats, wick_dim *out) {
    wick_dim total = 0;
    for (int64_t i = 0; i < repeats->sizes[0]; ++i) {
        int64_t times = cpu_item_to_int(repeats->dtype, repeats->data + i * repeats->item);
        if (times < 0) return WICK_HOST_ERROR(k->host, WICK_INVALID_ARGUMENT, "repeats can not be negative");
        total = wick_dim_add(total, times);
    }
    const wick_value *size = &k->values[1];
    if (!wick_value_is_none(size) && size->as.i != total)
        return WICK_HOST_ERROR(k->host, WICK_INVALID_ARGUMENT, "output_size is %lld but the repeats add up to %lld",
                               (long long)size->as.i, (long long)total);
    *out = total;
    return NULL;
}

static wick_status *repeat_interleave(const wick_kernel_call *k) {
    cpu_view repeats, out;
    wick_dim total;
    cpu_view_of(wick_arg_tensor(k, 0), &repeats);
    WICK_TRY(total_repeats(k, &repeats, &total));
    WICK_TRY(k->host->resize_output(k, 0, 1, &total));
    cpu_view_of(wick_out_tensor(k, 0), &out);
    cpu_copy_fn copy = cpu_copy_items[cpu_item_log2(out.item)];
    for (int64_t i = 0; i < repeats.sizes[0]; ++i) {
        uint64_t item[2];
        wick_value position = wick_value_int(i);
        int64_t times = cpu_item_to_int(repeats.dtype, repeats.data + i * repeats.item);
        cpu_item_from_scalar(out.dtype, &position, item);
        copy(out.data, out.item, (const char *)item, 0, times);
        out.data += times * out.item;
    }
    return NULL;
}

#define FLAGS (WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_CONTIGUOUS)
static const wick_kernel_row rows[] = {
    CPU_ROW("searchsorted.Tensor", searchsorted, NULL, 0, FLAGS),
    CPU_ROW("bucketize.Tensor", bucketize, NULL, 0, FLAGS),
    CPU_ROW("bincount", bincount, NULL, 0, FLAGS),
    CPU_ROW("histc", histc, NULL, 0, FLAGS),
    CPU_ROW("repeat_interleave.Tensor", repeat_interleave, NULL, 0, FLAGS),
};
const cpu_kernel_table cpu_select_search_table = CPU_TABLE(rows);
