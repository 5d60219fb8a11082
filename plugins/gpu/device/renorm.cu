/* Rows that indices name get at most a given norm, each of them once. */
#include "args_renorm.h"
#include "gpu.h"

#define THREADS 256

GPU_KERNEL(renorm_mark, THREADS, gpu_renorm_args) {
    for (int64_t i = gpu_thread(); i < a.n; i += gpu_threads()) {
        const int64_t row = load_any<int64_t>(static_cast<const char *>(a.index) + i * a.index_bytes, a.index_dtype);
        if ((uint64_t)row < (uint64_t)a.count) a.seen[row] = 1;
    }
}

GPU_FN bool is_infinite(double p) { return p > 1.7976931348623157e308; }
GPU_FN double norm_term(double x, double p) {
    return is_infinite(p) || p == 1 ? x : p == 2 ? x * x : p == 0 ? (double)(x != 0) : pow(x, p);
}
GPU_FN double norm_of(double total, double p) {
    return p == 2 ? sqrt(total) : is_infinite(p) || p == 1 || p == 0 ? total : pow(total, 1 / p);
}

/* A block takes a row. */
GPU_KERNEL(renorm_rows, THREADS, gpu_renorm_args) {
    __shared__ double shared[THREADS / 32];
    for (int64_t row = blockIdx.x; row < a.count; row += gridDim.x) {
        if (!a.seen[row]) continue;
        char *from = static_cast<char *>(a.rows) + row * a.columns * a.bytes;
        double total = 0;
        for (int64_t i = threadIdx.x; i < a.columns; i += blockDim.x) {
            const double x = norm_term(fabs(load_any<double>(from + i * a.bytes, a.dtype)), a.p);
            total = is_infinite(a.p) ? op_max()(total, x) : total + x;
        }
        total =
            is_infinite(a.p) ? block_reduce(total, op_max(), 0.0, shared) : block_reduce(total, op_sum(), 0.0, shared);
        const double norm = norm_of(total, a.p);
        if (!(norm > a.most)) continue;
        for (int64_t i = threadIdx.x; i < a.columns; i += blockDim.x)
            store_any(from + i * a.bytes, a.dtype,
                      load_any<double>(from + i * a.bytes, a.dtype) * (a.most / (norm + 1e-7)));
    }
}
