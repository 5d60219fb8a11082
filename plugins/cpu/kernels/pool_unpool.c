/* max_unpool2d and 3d: values go to the places that max pooling took them from; zeros elsewhere. */
#include <stdatomic.h>
#include <string.h>

#include "pool_windows.h"

typedef struct unpool_job {
    int64_t in, out; /* elements of a plane */
    size_t bytes;
    const char *x;
    const int64_t *index;
    char *y;
    atomic_bool bad_index;
} unpool_job;

static void unpool_planes(void *user, int64_t begin, int64_t end, int worker) {
    unpool_job *job = user;
    const size_t bytes = job->bytes;
    for (int64_t p = begin; p < end; ++p) {
        char *y = job->y + (size_t)(p * job->out) * bytes;
        memset(y, 0, (size_t)job->out * bytes);
        for (int64_t i = p * job->in; i < (p + 1) * job->in; ++i) {
            if (job->index[i] < 0 || job->index[i] >= job->out)
                atomic_store_explicit(&job->bad_index, true, memory_order_relaxed);
            else
                memcpy(y + (size_t)job->index[i] * bytes, job->x + (size_t)i * bytes, bytes);
        }
    }
}

static int64_t plane_of(const wick_tensor *t, int ndim) {
    int64_t n = 1;
    for (int d = t->ndim - ndim; d < t->ndim; ++d) n *= t->sizes[d];
    return n;
}

static wick_status *max_unpool(const wick_kernel_call *call) {
    const int ndim = *(const int *)call->data;
    const wick_tensor *x = wick_arg_tensor(call, 0), *y = wick_out_tensor(call, 0);
    unpool_job job = {
        .in = plane_of(x, ndim), .out = plane_of(y, ndim), .bytes = wick_dtype_bytes(wick_tensor_dtype(x))};
    job.x = wick_data(x), job.y = wick_data(y), job.index = wick_data(wick_arg_tensor(call, 1));
    if (y->numel == 0) return NULL;
    cpu_parallel_for(cpu_of(call), y->numel / job.out, pool_grain(job.out), unpool_planes, &job);
    if (atomic_load(&job.bad_index))
        return WICK_HOST_ERROR(call->host, WICK_OUT_OF_RANGE,
                               "max_unpool%dd: an index is outside the output plane of %lld", ndim, (long long)job.out);
    return NULL;
}

static const int two = 2, three = 3;

static const wick_kernel_row rows[] = {
    CPU_ROW("max_unpool2d", max_unpool, &two, POOL_NUMBERS, POOL_FLAGS),
    CPU_ROW("max_unpool3d", max_unpool, &three, POOL_NUMBERS, POOL_FLAGS),
};
const cpu_kernel_table cpu_pool_unpool_table = CPU_TABLE(rows);
