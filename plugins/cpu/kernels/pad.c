/* reflection_pad and replication_pad in one to three dimensions, and the backwards: index tables (upsample_taps.h). */
#include "upsample_taps.h"
#include "widen.h"

typedef int64_t (*place_fn)(int64_t i, int64_t n);

/* Where position i of the padded image, counted from the image's first pixel, takes its value; n is the image's
 * size. */
static int64_t replicate(int64_t i, int64_t n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }
static int64_t reflect(int64_t i, int64_t n) { return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i; }

typedef struct pad_form {
    int ndim;
    bool backward;
    place_fn place;
} pad_form;

/* The padding's list starts with the last dimension: low, high, low, high... */
static void fill(const pad_form *form, const int64_t *padding, taps *t) {
    for (int d = 0; d < 3; ++d) {
        const int64_t low = d < 3 - form->ndim ? 0 : padding[2 * (2 - d)];
        for (int64_t o = 0; o < t->out[d]; ++o) t->index[d][o] = form->place(o - low, t->in[d]);
    }
}

static wick_status *pad(const wick_kernel_call *call) {
    const pad_form *form = call->data;
    const wick_tensor *from = wick_arg_tensor(call, 0), *to = wick_out_tensor(call, 0);
    const wick_value *padding = &call->values[form->backward ? 2 : 1];
    const wick_dtype dtype = wick_tensor_dtype(from);
    if (form->backward && cpu_wide_dtype(dtype) != dtype) return cpu_call_widened(call, pad);
    if (to->numel == 0) return NULL;
    taps t;
    taps_sizes(&t, form->backward ? to : from, form->backward ? from : to, form->ndim);
    WICK_TRY(taps_allocate(call, &t, 0));
    fill(form, padding->as.ints, &t);
    if (form->backward)
        taps_scatter(cpu_of(call), &t, dtype, wick_data(from), wick_data(to));
    else
        taps_copy(cpu_of(call), &t, wick_dtype_bytes(dtype), wick_data(from), wick_data(to));
    return NULL;
}

#define DIFFERENTIABLE (WICK_DTYPES_FLOAT | WICK_DTYPES_COMPLEX)
#define FLAGS (WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_DETERMINISTIC)
#define PAD(name, ndim, place)                                             \
    CPU_ROW(name, pad, (&(const pad_form){ndim, false, place}), 0, FLAGS), \
        CPU_ROW(name "_backward", pad, (&(const pad_form){ndim, true, place}), DIFFERENTIABLE, FLAGS)

static const wick_kernel_row rows[] = {
    PAD("reflection_pad1d", 1, reflect),    PAD("reflection_pad2d", 2, reflect),
    PAD("reflection_pad3d", 3, reflect),    PAD("replication_pad1d", 1, replicate),
    PAD("replication_pad2d", 2, replicate), PAD("replication_pad3d", 3, replicate),
};
const cpu_kernel_table cpu_pad_table = CPU_TABLE(rows);
