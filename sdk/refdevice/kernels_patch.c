/* Patches of images as columns, and their sum back: im2col (self, kernel, dilation, padding, stride) and col2im (self,
 * output_size, kernel, dilation, padding, stride), over the last two dimensions of row-major images. */
#include "kernel.h"

#include <wick/sdk/shape.h>

typedef struct patch_work {
    wick_windows w; /* of dimensions 1 and 2 */
    int64_t planes;
    ref_class wide;
    ref_load_fn load;
    ref_store_fn store;
    int64_t bytes;
    const char *in;
    char *out;
} patch_work;

/* The image's element under tap `tap` of window `window`, -1 if it lies outside. */
static int64_t pixel(const wick_windows *w, int64_t tap, int64_t window) {
    int64_t taps[] = {0, tap / w->kernel[2], tap % w->kernel[2]};
    int64_t windows[] = {0, window / w->out[2], window % w->out[2]}, at[3];
    for (int d = 1; d < 3; ++d) {
        at[d] = windows[d] * w->stride[d] - w->padding[d] + taps[d] * w->dilation[d];
        if (at[d] < 0 || at[d] >= w->in[d]) return -1;
    }
    return at[1] * w->in[2] + at[2];
}

static wick_status *run_im2col(ref_device *device, const void *payload) {
    const patch_work *w = payload;
    int64_t pixels = w->w.in[1] * w->w.in[2];
    char *to = w->out;
    for (int64_t plane = 0; plane < w->planes; ++plane)
        for (int64_t tap = 0; tap < w->w.kernel[1] * w->w.kernel[2]; ++tap)
            for (int64_t window = 0; window < w->w.out[1] * w->w.out[2]; ++window, to += w->bytes) {
                int64_t from = pixel(&w->w, tap, window);
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
    int64_t pixels = w->w.in[1] * w->w.in[2];
    const char *from = w->in;
    memset(w->out, 0, (size_t)(w->planes * pixels * w->bytes));
    for (int64_t plane = 0; plane < w->planes; ++plane)
        for (int64_t tap = 0; tap < w->w.kernel[1] * w->w.kernel[2]; ++tap)
            for (int64_t window = 0; window < w->w.out[1] * w->w.out[2]; ++window, from += w->bytes) {
                int64_t to = pixel(&w->w, tap, window);
                if (to >= 0) add_to(w, w->out + (plane * pixels + to) * w->bytes, from);
            }
    return NULL;
}

/* ---- on the host's thread ---- */
/* `first` is the position of kernel_size. */
static void fill(const wick_kernel_call *call, patch_work *w, int first, const wick_tensor *image) {
    wick_dtype dtype = wick_tensor_dtype(image);
    wick_windows_columns(&call->values[first], image, &w->w);
    w->planes = 1;
    for (int d = 0; d < image->ndim - 2; ++d) w->planes *= image->sizes[d];
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
