/* cuBLASLt and cuDNN, opened at run time. Their functions and constants are declared here, so that the plugin builds
 * without their headers; libraries_check.c compares where these are there. */
#ifndef WICK_CUDA_LIBRARIES_H
#define WICK_CUDA_LIBRARIES_H

#include "../gpu/host/gemm.h"
#include "../gpu/host/gpu.h"

/* ---- functions ---- */
typedef struct cublaslt_functions {
#define CUDA_FUNCTION(field, parameters, symbol) int(*field) parameters;
#include "cublaslt.inc"
} cublaslt_functions;

typedef struct cudnn_functions {
#define CUDA_FUNCTION(field, parameters, symbol) int(*field) parameters;
#include "cudnn.inc"
} cudnn_functions;

/* ---- what is kept per shape (cache.c): a key's bytes lead to a value ---- */
#define CUDA_BUCKETS 256

typedef struct cuda_plan {
    struct cuda_plan *next;
    size_t key_bytes;
    void *value;         /* the user's */
    unsigned char key[]; /* whole 32-bit words, all compared: no padding but zeros */
} cuda_plan;

typedef struct cuda_cache {
    cuda_plan *buckets[CUDA_BUCKETS];
} cuda_cache;

/* The value of the key, NULL if there is none. Not thread-safe. */
void *cuda_cache_find(const cuda_cache *cache, const void *key, size_t bytes);
/* Keeps the value; false without memory. */
bool cuda_cache_add(cuda_cache *cache, const void *key, size_t bytes, void *value);
/* Forgets everything; `release` frees a value. */
void cuda_cache_clear(cuda_cache *cache, void (*release)(void *user, void *value), void *user);

/* ---- of one device: handles are made at their first use, under the lock ---- */
typedef struct cuda_library_device {
    pthread_mutex_t lock;
    void *cublaslt, *cudnn;
    cuda_cache products, convolutions;
} cuda_library_device;

struct gpu_libraries {
    cublaslt_functions cublaslt;
    cudnn_functions cudnn;
    bool has_cublaslt, has_cudnn;
    cuda_library_device devices[GPU_DEVICES];
};

static inline cuda_library_device *cuda_libraries_of(const wick_kernel_call *call) {
    return &gpu_of(call)->libraries->devices[call->device.index];
}

wick_status *cuda_libraries_open(gpu_instance *gpu, const wick_config *config);
void cuda_libraries_close(gpu_instance *gpu);

/* ---- gemm.c ---- */
wick_status *cuda_gemm(const wick_kernel_call *call, const gpu_gemm *product, bool *out_done);
void cuda_gemm_release(void *libraries, void *plan);

/* ---- convolution.c ---- */
extern const wick_kernel_row cuda_convolution_rows[];
extern const uint64_t cuda_convolution_row_count;
void cuda_convolution_release(void *libraries, void *plan);

#endif
