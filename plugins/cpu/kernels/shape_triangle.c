/* Of matrices and their triangles: tril, triu, trace. */
#include "index.h"

/* ---- tril, triu: one row at a time ---- */
typedef struct triangle {
    const cpu_view *self, *out;
    cpu_view self_rows, out_rows; /* without the columns */
    cpu_copy_fn copy;
    int64_t diagonal;
    bool upper;
} triangle;

static void triangle_rows(void *user, int64_t begin, int64_t end, int worker) {
    static const uint64_t zero[2];
    const triangle *t = user;
    int column = t->out->ndim - 1;
    int64_t rows = t->out->sizes[column - 1], columns = t->out->sizes[column];
    int64_t to_stride = t->out->strides[column], from_stride = t->self->strides[column];
    for (int64_t i = begin; i < end; ++i) {
        int64_t edge = i % rows + t->diagonal + !t->upper; /* the first column of the upper part */
        edge = edge < 0 ? 0 : edge > columns ? columns : edge;
        int64_t kept = t->upper ? edge : 0, count = t->upper ? columns - edge : edge, cleared = t->upper ? 0 : edge;
        char *to = cpu_view_at(&t->out_rows, i);
        const char *from = cpu_view_at(&t->self_rows, i);
        if (to != from) t->copy(to + kept * to_stride, to_stride, from + kept * from_stride, from_stride, count);
        t->copy(to + cleared * to_stride, to_stride, (const char *)zero, 0, columns - count);
    }
}

static wick_status *keep_triangle(const wick_kernel_call *k, bool upper) {
    cpu_view self, out;
    cpu_view_of(wick_arg_tensor(k, 0), &self);
    cpu_view_of(wick_out_tensor(k, 0), &out);
    int64_t numel = cpu_view_numel(&out), columns = out.sizes[out.ndim - 1];
    if (numel == 0) return NULL;
    triangle t = {&self, &out, self, out, cpu_copy_items[cpu_item_log2(out.item)], k->values[1].as.i, upper};
    --t.self_rows.ndim, --t.out_rows.ndim;
    cpu_parallel_for(cpu_of(k), numel / columns, 1 + CPU_GRAIN / columns, triangle_rows, &t);
    return NULL;
}
static wick_status *tril(const wick_kernel_call *k) { return keep_triangle(k, false); }
static wick_status *triu(const wick_kernel_call *k) { return keep_triangle(k, true); }

/* ---- trace ---- */
typedef struct diagonal {
    const char *data;
    int64_t count, stride;
} diagonal;

static double sum_real(const diagonal *d, int64_t skip, wick_dtype dtype) {
    double sum = 0;
    for (int64_t i = 0; i < d->count; ++i) sum += cpu_item_to_double(dtype, d->data + skip + i * d->stride);
    return sum;
}

static int64_t sum_int(const diagonal *d, wick_dtype dtype) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < d->count; ++i) sum += (uint64_t)cpu_item_to_int(dtype, d->data + i * d->stride);
    return (int64_t)sum;
}

static wick_status *trace(const wick_kernel_call *k) {
    cpu_view self, out;
    cpu_view_of(wick_arg_tensor(k, 0), &self);
    cpu_view_of(wick_out_tensor(k, 0), &out);
    diagonal d = {self.data, self.sizes[0] < self.sizes[1] ? self.sizes[0] : self.sizes[1],
                  self.strides[0] + self.strides[1]};
    double parts[2];
    wick_value sum;
    if (wick_dtype_is_complex(self.dtype)) {
        wick_dtype part = self.dtype == WICK_C64 ? WICK_F32 : WICK_F64;
        parts[0] = sum_real(&d, 0, part), parts[1] = sum_real(&d, self.item / 2, part);
        sum = wick_value_complex(parts);
    } else if (wick_dtype_is_floating(self.dtype)) {
        sum = wick_value_float(sum_real(&d, 0, self.dtype));
    } else {
        sum = wick_value_int(sum_int(&d, self.dtype));
    }
    cpu_item_from_scalar(out.dtype, &sum, out.data);
    return NULL;
}

static const wick_kernel_row rows[] = {
    CPU_ROW("tril", tril, NULL, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("triu", triu, NULL, 0, WICK_KERNEL_DETERMINISTIC),
    CPU_ROW("trace", trace, NULL, 0, WICK_KERNEL_DETERMINISTIC),
};
const cpu_kernel_table cpu_shape_triangle_table = CPU_TABLE(rows);
