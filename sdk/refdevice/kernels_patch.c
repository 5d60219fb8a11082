/* Patches of images as columns, and their sum back: im2col (self, kernel, dilation, padding, stride) and col2im (self,
 * output_size, kernel, dilation, padding, stride), over the last two dimensions of row-major images. */
#include "kernel.h"

typedef struct patch_work {
    int64_t planes, image[2], windows[2], kernel[2], dilation[2], padding[2], stride[2];
    ref_class wide;
    ref_load_fn load;
    ref_store_fn store;
    int64_t bytes;
    const char *in;
    char *out;
} patch_work;

/* The image's element under tap `tap` of window `window`, -1 if it lies outside. */
static int64_t pixel(const patch_work *w, int64_t tap, int64_t window) {
    int64_t taps[2] = {tap / w->kernel[1], tap % w->kernel[1]};
    int64_t windows[2] = {window / w->windows[1], window % w->windows[1]}, at[2];
    for (int d = 0; d < 2; ++d) {
        at[d] = windows[d] * w->stride[d] - w->padding[d] + taps[d] * w->dilation[d];
        if (at[d] < 0 || at[d] >= w->image[d]) return -1;
    }
    return at[0] * w->image[1] + at[1];
}

static wick_status *run_im2col(ref_device *device, const void *payload) {
    const patch_work *w = payload;
    int64_t pixels = w->image[0] * w->image[1];
    char *to = w->out;
    for (int64_t plane = 0; plane < w->planes; ++plane)
        for (int64_t tap = 0; tap < w->kernel[0] * w->kernel[1]; ++tap)
            for (int64_t window = 0; window < w->windows[0] * w->windows[1]; ++window, to += w->bytes) {
                int64_t from = pixel(w, tap, window);
                if (from >= 0)
                    memcpy(to, w->in + (plane * pixels + from) * w->bytes, (size_t)w->bytes);
                else
                    memset(to, 0, (size_t)w->bytes);
            }
    return NULL;
}

static void add_to(const patch_work *w, char *to, const char *from) {
    ref_number total, x;
    w->load(&total, to, 0, 1), w->load(&x, from, 0, 1);
    switch (w->wide) {
    case REF_REAL: total.REAL += x.REAL; break;
    case REF_COMPLEX: total.COMPLEX += x.COMPLEX; break;
    default: total.UINT += x.UINT; /* signed ones alike */
    }
    w->store(to, 0, &total, 1);
}

static wick_status *run_col2im(ref_device *device, const void *payload) {
    const patch_work *w = payload;
    int64_t pixels = w->image[0] * w->image[1];
    const char *from = w->in;
    memset(w->out, 0, (size_t)(w->planes * pixels * w->bytes));
    for (int64_t plane = 0; plane < w->planes; ++plane)
        for (int64_t tap = 0; tap < w->kernel[0] * w->kernel[1]; ++tap)
            for (int64_t window = 0; window < w->windows[0] * w->windows[1]; ++window, from += w->bytes) {
                int64_t to = pixel(w, tap, window);
                if (to >= 0) add_to(w, w->out + (plane * pixels + to) * w->bytes, from);
            }
    return NULL;
}

/* ---- on the host's thread ---- */
static void read_pair(const wick_value *v, int64_t out[2]) {
    for (uint32_t d = 0; d < 2; ++d) out[d] = v->as.ints[v->count == 1 ? 0 : d];
}

/* `first` is the position of kernel_size. */
static void fill(const wick_kernel_call *call, patch_work *w, int first, const wick_tensor *image) {
    const wick_value *v = &call->values[first];
    wick_dtype dtype = wick_tensor_dtype(image);
    read_pair(&v[0], w->kernel), read_pair(&v[1], w->dilation), read_pair(&v[2], w->padding),
        read_pair(&v[3], w->stride);
    w->planes = 1;
    for (int d = 0; d < image->ndim - 2; ++d) w->planes *= image->sizes[d];
    for (int d = 0; d < 2; ++d) {
        w->image[d] = wick_size(image, d - 2);
        w->windows[d] = (w->image[d] + 2 * w->padding[d] - w->dilation[d] * (w->kernel[d] - 1) - 1) / w->stride[d] + 1;
    }
    w->wide = ref_class_of(dtype);
    w->load = ref_loader(w->wide, dtype), w->store = ref_storer(w->wide, dtype);
    w->bytes = (int64_t)wick_dtype_bytes(dtype);
    w->in = ref_data(call, wick_arg_tensor(call, 0));
    w->out = ref_data(call, wick_out_tensor(call, 0));
}

static wick_status *launch(const wick_kernel_call *call, ref_run_fn run, int first, const wick_tensor *image) {
    ref_task *task;
    void *payload;
    if (wick_out_tensor(call, 0)->numel == 0) return NULL;
    WICK_TRY(ref_launch_begin(call, run, sizeof(patch_work), &task, &payload));
    fill(call, payload, first, image);
    return ref_launch_end(call, task, NULL);
}

wick_status *ref_im2col(const wick_kernel_call *call) { return launch(call, run_im2col, 1, wick_arg_tensor(call, 0)); }
wick_status *ref_col2im(const wick_kernel_call *call) { return launch(call, run_col2im, 2, wick_out_tensor(call, 0)); }
