/* Moving elements without computing: cat, padding, flip, roll, repeat, diag_embed. Each is a few strided copies. */
#include "index.h"

/* ---- cat ---- */
static bool skipped(const wick_tensor *t) { return t->ndim == 1 && t->sizes[0] == 0; /* fits any shape */ }

static wick_status *cat(const wick_kernel_call *k) {
    const wick_tensor *result = wick_out_tensor(k, 0);
    int dim = wick_dim_of(&k->values[1], result->ndim);
    int64_t start = 0;
    for (uint32_t i = 0; i < k->values[0].count; ++i) {
        const wick_tensor *t = k->values[0].as.tensors[i];
        if (skipped(t)) continue;
        cpu_view out, part;
        cpu_view_of(result, &out);
        cpu_view_of(t, &part);
        cpu_view_narrow(&out, dim, start, part.sizes[dim]);
        cpu_view_copy(cpu_of(k), &out, &part);
        start += part.sizes[dim];
    }
    return NULL;
}

/* ---- constant_pad_nd ---- */
static int64_t at_least_zero(int64_t x) { return x > 0 ? x : 0; }

/* Fills the borders of one dimension and narrows both views to what they share; negative padding crops self. */
static void pad_dim(cpu_instance *cpu, cpu_view *out, cpu_view *self, int dim, int64_t before, int64_t after,
                    const void *item) {
    int64_t low = at_least_zero(before), high = at_least_zero(after), size = out->sizes[dim];
    cpu_view border = *out;
    cpu_view_narrow(&border, dim, 0, low);
    cpu_view_fill(cpu, &border, item);
    border = *out;
    cpu_view_narrow(&border, dim, size - high, high);
    cpu_view_fill(cpu, &border, item);
    cpu_view_narrow(out, dim, low, size - low - high);
    cpu_view_narrow(self, dim, at_least_zero(-before), size - low - high);
}

/* (self, pad, value): pairs of (before, after) from the last dimension on. */
static wick_status *constant_pad_nd(const wick_kernel_call *k) {
    cpu_view self, out;
    uint64_t item[2];
    const int64_t *pad = k->values[1].as.ints;
    cpu_view_of(wick_arg_tensor(k, 0), &self);
    cpu_view_of(wick_out_tensor(k, 0), &out);
    cpu_item_from_scalar(out.dtype, &k->values[2], item);
    for (uint32_t i = 0; i + 1 < k->values[1].count; i += 2)
        pad_dim(cpu_of(k), &out, &self, out.ndim - 1 - (int)i / 2, pad[i], pad[i + 1], item);
    cpu_view_copy(cpu_of(k), &out, &self);
    return NULL;
}

/* ---- flip, roll ---- */
static wick_status *flip(const wick_kernel_call *k) {
    cpu_view self, out;
    const wick_tensor *t = wick_arg_tensor(k, 0);
    cpu_view_of(t, &self);
    cpu_view_of(wick_out_tensor(k, 0), &out);
    for (uint32_t i = 0; i < k->values[1].count; ++i) {
        int dim = wick_wrap_dim(k->values[1].as.ints[i], t->ndim);
        self.data += (self.sizes[dim] - 1) * self.strides[dim];
        self.strides[dim] = -self.strides[dim];
    }
    if (cpu_view_numel(&out) > 0) cpu_view_copy(cpu_of(k), &out, &self);
    return NULL;
}

/* Rolls dimensions [dim, ndim): each shifted one makes two halves. */
static void roll_from(cpu_instance *cpu, const cpu_view *out, const cpu_view *self, const int64_t *shifts, int dim) {
    while (dim < self->ndim && shifts[dim] == 0) ++dim;
    if (dim == self->ndim) {
        cpu_view_copy(cpu, out, self);
        return;
    }
    int64_t size = self->sizes[dim], shift = shifts[dim];
    cpu_view to = *out, from = *self;
    cpu_view_narrow(&to, dim, shift, size - shift);
    cpu_view_narrow(&from, dim, 0, size - shift);
    roll_from(cpu, &to, &from, shifts, dim + 1);
    to = *out, from = *self;
    cpu_view_narrow(&to, dim, 0, shift);
    cpu_view_narrow(&from, dim, size - shift, shift);
    roll_from(cpu, &to, &from, shifts, dim + 1);
}

/* (self, shifts, dims): without dims the flattened tensor rolls. */
static wick_status *roll(const wick_kernel_call *k) {
    cpu_view self, out;
    const wick_value *by = &k->values[1], *dims = &k->values[2];
    int64_t shifts[WICK_MAX_DIMS] = {0}, n = wick_out_tensor(k, 0)->numel;
    if (n == 0) return NULL;
    cpu_view_of(wick_arg_tensor(k, 0), &self);
    cpu_view_of(wick_out_tensor(k, 0), &out);
    if (dims->count == 0) {
        cpu_view_dense(self.data, self.dtype, 1, &n, &self);
        cpu_view_dense(out.data, out.dtype, 1, &n, &out);
    }
    for (uint32_t i = 0; i < by->count; ++i) {
        int dim = dims->count == 0 ? 0 : wick_wrap_dim(dims->as.ints[i], wick_arg_tensor(k, 0)->ndim);
        int64_t size = self.sizes[dim], shift = (shifts[dim] + by->as.ints[i] % size) % size;
        shifts[dim] = shift < 0 ? shift + size : shift;
    }
    roll_from(cpu_of(k), &out, &self, shifts, 0);
    return NULL;
}

/* ---- repeat, diag_embed ---- */
static void add_dim(cpu_view *view, int64_t size, int64_t stride) {
    view->sizes[view->ndim] = size, view->strides[view->ndim++] = stride;
}

/* The output's dimension d is (repeats, size) of self's; dimensions of size 1 are left out so that the ranks fit. */
static wick_status *repeat(const wick_kernel_call *k) {
    cpu_view self, out, from, to;
    cpu_view_of(wick_out_tensor(k, 0), &out);
    if (cpu_view_numel(&out) == 0) return NULL;
    cpu_view_of(wick_arg_tensor(k, 0), &self);
    from = self, to = out, from.ndim = to.ndim = 0;
    int lead = out.ndim - self.ndim;
    for (int d = 0; d < out.ndim; ++d) {
        int64_t size = d < lead ? 1 : self.sizes[d - lead], times = out.sizes[d] / size;
        if (times != 1) add_dim(&to, times, out.strides[d] * size), add_dim(&from, times, 0);
        if (size != 1) add_dim(&to, size, out.strides[d]), add_dim(&from, size, self.strides[d - lead]);
    }
    if (to.ndim == 0) add_dim(&to, 1, 0), add_dim(&from, 1, 0);
    cpu_view_copy(cpu_of(k), &to, &from);
    return NULL;
}

/* (self, offset, dim1, dim2): self's last dimension becomes a diagonal. */
static wick_status *diag_embed(const wick_kernel_call *k) {
    cpu_view self, out, diagonal;
    cpu_view_of(wick_arg_tensor(k, 0), &self);
    cpu_view_of(wick_out_tensor(k, 0), &out);
    cpu_view_zero(cpu_of(k), &out);
    int64_t offset = k->values[1].as.i;
    int row = wick_dim_of(&k->values[2], out.ndim), column = wick_dim_of(&k->values[3], out.ndim);
    diagonal = out, diagonal.ndim = 0;
    for (int d = 0; d < out.ndim; ++d)
        if (d != row && d != column) add_dim(&diagonal, out.sizes[d], out.strides[d]);
    add_dim(&diagonal, self.sizes[self.ndim - 1], out.strides[row] + out.strides[column]);
    diagonal.data += offset > 0 ? offset * out.strides[column] : -offset * out.strides[row];
    cpu_view_copy(cpu_of(k), &diagonal, &self);
    return NULL;
}

static const wick_kernel_row rows[] = {
    CPU_ROW("cat", cat, NULL, 0, 0),       CPU_ROW("constant_pad_nd", constant_pad_nd, NULL, 0, 0),
    CPU_ROW("flip", flip, NULL, 0, 0),     CPU_ROW("roll", roll, NULL, 0, WICK_KERNEL_CONTIGUOUS),
    CPU_ROW("repeat", repeat, NULL, 0, 0), CPU_ROW("diag_embed", diag_embed, NULL, 0, 0),
};
const cpu_kernel_table cpu_shape_table = CPU_TABLE(rows);
