/* cuBLASLt and cuDNN, opened at run time. Their functions and constants are declared here, so that the plugin builds
 * without their headers; libraries_check.c compares where these are there. */
#ifndef WICK_CUDA_LIBRARIES_H
#define WICK_CUDA_LIBRARIES_H

#include "../gpu/host/blas.h"

/* ---- cublaslt.c ---- */
extern const gpu_blas_vendor cuda_cublaslt;

/* ---- cuDNN ---- */
typedef struct cudnn_functions {
#define CUDA_FUNCTION(field, parameters, symbol) int(*field) parameters;
#include "cudnn.inc"
} cudnn_functions;

/* Of one device: the handle is made at its first use, under the lock. */
typedef struct cuda_library_device {
    pthread_mutex_t lock;
    void *cudnn;
    gpu_cache convolutions;
} cuda_library_device;

struct gpu_libraries {
    cudnn_functions cudnn;
    cuda_library_device devices[GPU_DEVICES];
};

static inline cuda_library_device *cuda_libraries_of(const wick_kernel_call *call) {
    return &gpu_of(call)->libraries->devices[call->device.index];
}

wick_status *cuda_libraries_open(gpu_instance *gpu, const wick_config *config);
void cuda_libraries_close(gpu_instance *gpu);

/* ---- convolution.c ---- */
extern const wick_kernel_row cuda_convolution_rows[];
extern const uint64_t cuda_convolution_row_count;
void cuda_convolution_release(void *libraries, void *plan);

#endif
