#ifndef WICK_HIP_HIPBLASLT_H
#define WICK_HIP_HIPBLASLT_H

#include "../gpu/host/blas.h"

extern const gpu_blas_vendor hip_hipblaslt;

#endif
