/* Places of what is true: nonzero. */
#include "../device/args_index.h"
#include "element.h"

#define THREADS 256

static wick_status *count_places(const wick_kernel_call *call, const wick_tensor *mask, gpu_select_args *a) {
    if (!gpu_has_dtype((wick_dtype)mask->dtype)) return gpu_refuse(call, (wick_dtype)mask->dtype);
    if (mask->numel > INT32_MAX || mask->ndim > GPU_DIMS)
        return WICK_HOST_ERROR(call->host, WICK_UNSUPPORTED,
                               "%s: at most %d elements and %d dimensions on device %s, got %lld and %d",
                               call->host->op_name(call->op), INT32_MAX, GPU_DIMS, gpu_of(call)->device_name,
                               (long long)mask->numel, mask->ndim);
    *a = (gpu_select_args){.mask = gpu_data(mask),
                           .dtype = mask->dtype,
                           .bytes = (int32_t)wick_dtype_bytes((wick_dtype)mask->dtype),
                           .ndim = mask->ndim,
                           .n = (uint32_t)mask->numel,
                           .tiles = (uint32_t)((mask->numel + GPU_SELECT_TILE - 1) / GPU_SELECT_TILE)};
    for (int d = 0; d < mask->ndim; ++d) a->sizes[d] = gpu_divider_of((uint32_t)mask->sizes[mask->ndim - 1 - d]);
    WICK_TRY(gpu_scratch(call, ((int64_t)a->tiles + 1) * (int64_t)sizeof *a->counts, (void **)&a->counts));
    WICK_TRY(gpu_launch(call, GPU_select_count, a->tiles, THREADS, 0, a));
    return gpu_launch(call, GPU_select_scan, 1, THREADS, 0, a);
}

/* The total, read back: waits for the stream. */
static wick_status *read_total(const wick_kernel_call *call, const gpu_select_args *a, uint32_t *out) {
    gpu_device *d = gpu_device_of(call);
    void *stream = gpu_stream(d, call->stream);
    GPU_TRY(d->gpu, d->gpu->driver.copy_to_host(out, (uint64_t)(uintptr_t)(a->counts + a->tiles), sizeof *out, stream),
            "copying to the host");
    return gpu_check(d->gpu, d->gpu->driver.stream_synchronize(stream), "waiting for a count");
}

static wick_status *write_places(const wick_kernel_call *call, gpu_select_args *a) {
    const wick_tensor *out = wick_out_tensor(call, 0);
    a->out = gpu_data(out), a->most = (uint32_t)out->sizes[0];
    return out->numel ? gpu_launch(call, GPU_select_places, a->tiles, THREADS, 0, a) : NULL;
}

/* (self) */
static wick_status *nonzero(const wick_kernel_call *call) {
    const wick_tensor *mask = wick_arg_tensor(call, 0);
    gpu_select_args a = {.n = 0};
    uint32_t total = 0;
    if (mask->numel) {
        WICK_TRY(count_places(call, mask, &a));
        WICK_TRY(read_total(call, &a, &total));
    }
    const wick_dim sizes[2] = {total, mask->ndim};
    WICK_TRY(call->host->resize_output(call, 0, 2, sizes));
    return write_places(call, &a);
}

static const wick_kernel_row rows[] = {
    WICK_KERNEL_ROW("nonzero", nonzero, 0, WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_DETERMINISTIC),
};
const gpu_table gpu_select_table = GPU_TABLE(rows);
