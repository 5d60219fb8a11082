/* Batched matrix product: [batch, rows, inner] x [batch, inner, columns]. Rows of the second matrix are brought to
 * their class once; a row of the result is a sum of them. */
#include "kernel.h"

typedef struct bmm_work {
    ref_class wide;
    ref_load_fn load[2];
    ref_store_fn store;
    int64_t batch, rows, inner, columns;
    char *data[3];         /* result, first, second */
    int64_t strides[3][3]; /* in bytes */
} bmm_work;

/* row += first[k] * second[k][..] for all k; four at a time, so that the row is read and written less often. */
#define PRODUCT(CLASS, type)                                                                                        \
    static void product_##CLASS(void *row, const void *first, const void *second, int64_t inner, int64_t columns) { \
        type *r = row;                                                                                              \
        const type *a = first, *b = second;                                                                         \
        int64_t k = 0;                                                                                              \
        for (int64_t j = 0; j < columns; ++j) r[j] = 0;                                                             \
        for (; k + 4 <= inner; k += 4, b += 4 * columns)                                                            \
            for (int64_t j = 0; j < columns; ++j)                                                                   \
                r[j] += a[k] * b[j] + a[k + 1] * b[j + columns] + a[k + 2] * b[j + 2 * columns] +                   \
                        a[k + 3] * b[j + 3 * columns];                                                              \
        for (; k < inner; ++k, b += columns)                                                                        \
            for (int64_t j = 0; j < columns; ++j) r[j] += a[k] * b[j];                                              \
    }
REF_CLASSES(PRODUCT)

typedef void (*product_fn)(void *row, const void *first, const void *second, int64_t inner, int64_t columns);
#define PRODUCT_ENTRY(CLASS, type) product_##CLASS,
static const product_fn products[] = {REF_CLASSES(PRODUCT_ENTRY)};

static void multiply(const bmm_work *w, int64_t batch, char *second, char *first, char *row) {
    size_t bytes = ref_class_bytes(w->wide);
    char *data[3];
    for (int i = 0; i < 3; ++i) data[i] = w->data[i] + batch * w->strides[i][0];
    for (int64_t k = 0; k < w->inner; ++k)
        w->load[1](second + (size_t)(k * w->columns) * bytes, data[2] + k * w->strides[2][1], w->strides[2][2],
                   w->columns);
    for (int64_t i = 0; i < w->rows; ++i) {
        w->load[0](first, data[1] + i * w->strides[1][1], w->strides[1][2], w->inner);
        products[w->wide](row, first, second, w->inner, w->columns);
        w->store(data[0] + i * w->strides[0][1], w->strides[0][2], row, w->columns);
    }
}

static wick_status *run(ref_device *device, const void *payload) {
    const bmm_work *w = payload;
    size_t bytes = ref_class_bytes(w->wide);
    size_t second = (size_t)(w->inner * w->columns) * bytes, first = (size_t)w->inner * bytes;
    char *space = ref_allocate(device->self, second + first + (size_t)w->columns * bytes);
    if (!space)
        return REF_TASK_ERROR(device, "bmm: no memory for %lld x %lld elements", (long long)w->inner,
                              (long long)w->columns);
    for (int64_t i = 0; i < w->batch; ++i) multiply(w, i, space, space + second, space + second + first);
    ref_free(device->self, space);
    return NULL;
}

static void fill(const wick_kernel_call *call, bmm_work *w) {
    const wick_tensor *operands[] = {wick_out_tensor(call, 0), wick_arg_tensor(call, 0), wick_arg_tensor(call, 1)};
    wick_dtype dtype = wick_tensor_dtype(operands[0]);
    w->wide = ref_class_of(dtype);
    w->load[0] = ref_loader(w->wide, wick_tensor_dtype(operands[1]));
    w->load[1] = ref_loader(w->wide, wick_tensor_dtype(operands[2]));
    w->store = ref_storer(w->wide, dtype);
    w->batch = operands[1]->sizes[0], w->rows = operands[1]->sizes[1], w->inner = operands[1]->sizes[2];
    w->columns = operands[2]->sizes[2];
    for (int i = 0; i < 3; ++i) {
        w->data[i] = ref_data(call, operands[i]);
        for (int d = 0; d < 3; ++d)
            w->strides[i][d] = operands[i]->strides[d] * (int64_t)wick_dtype_bytes(wick_tensor_dtype(operands[i]));
    }
}

wick_status *ref_bmm(const wick_kernel_call *call) {
    ref_task *task;
    void *payload;
    if (wick_out_tensor(call, 0)->numel == 0) return NULL;
    WICK_TRY(ref_launch_begin(call, run, sizeof(bmm_work), &task, &payload));
    fill(call, payload);
    return ref_launch_end(call, task, NULL);
}
