/* hipBLASLt and MIOpen, opened at run time. */
#ifndef WICK_HIP_LIBRARIES_H
#define WICK_HIP_LIBRARIES_H

#include "../gpu/host/blas.h"
#include "../gpu/host/dnn.h"

extern const gpu_blas_vendor hip_hipblaslt;
extern const gpu_dnn_vendor hip_miopen;

#endif
