/* cuBLASLt and cuDNN, opened at run time. Their functions and constants are declared here, so that the plugin builds
 * without their headers; libraries_check.c compares where these are there. */
#ifndef WICK_CUDA_LIBRARIES_H
#define WICK_CUDA_LIBRARIES_H

#include "../gpu/host/blas.h"
#include "../gpu/host/dnn.h"

extern const gpu_blas_vendor cuda_cublaslt;
extern const gpu_dnn_vendor cuda_cudnn;

#endif
