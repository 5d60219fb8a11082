/* embedding_renorm_. */
#include "../device/args_renorm.h"
#include "element.h"
#include "index.h"

#define THREADS 256

/* (self, indices, max_norm, norm_type) */
static wick_status *embedding_renorm(const wick_kernel_call *call) {
    const wick_tensor *rows = wick_out_tensor(call, 0), *index = wick_arg_tensor(call, 1);
    gpu_device *d = gpu_device_of(call);
    WICK_TRY(gpu_output_from(call, wick_arg_tensor(call, 0)));
    if (!gpu_has_dtype((wick_dtype)index->dtype)) return gpu_refuse(call, (wick_dtype)index->dtype);
    if (!rows->numel || !index->numel) return NULL;
    gpu_renorm_args a = {.rows = gpu_data(rows),
                         .index = gpu_data(index),
                         .dtype = rows->dtype,
                         .bytes = (int32_t)wick_dtype_bytes((wick_dtype)rows->dtype),
                         .index_dtype = index->dtype,
                         .index_bytes = (int32_t)wick_dtype_bytes((wick_dtype)index->dtype),
                         .n = index->numel,
                         .count = rows->sizes[0],
                         .columns = rows->sizes[1],
                         .most = wick_value_as_double(&call->values[2]),
                         .p = wick_value_as_double(&call->values[3])};
    WICK_TRY(gpu_scratch(call, a.count, (void **)&a.seen));
    GPU_TRY(d->gpu, d->gpu->vendor->make_current(d), "using the device");
    GPU_TRY(d->gpu,
            d->gpu->driver.set_bytes((uint64_t)(uintptr_t)a.seen, 0, (size_t)a.count, gpu_stream(d, call->stream)),
            "clearing");
    WICK_TRY(gpu_launch(call, GPU_renorm_mark, gpu_blocks(d, a.n, THREADS, 1, 32), THREADS, 0, &a));
    return gpu_launch(call, GPU_renorm_rows, gpu_blocks(d, a.count, 1, 1, 64), THREADS, 0, &a);
}

static const wick_kernel_row rows[] = {
    WICK_KERNEL_ROW("embedding_renorm_", embedding_renorm, GPU_REALS,
                    WICK_KERNEL_CONTIGUOUS | WICK_KERNEL_DETERMINISTIC | WICK_KERNEL_CAPTURE_SAFE),
};
const gpu_table gpu_renorm_table = GPU_TABLE(rows);
