/* Where the headers are there: the numbers and layouts that launch.h, cublaslt.c, cudnn.c and ../gpu/host/blas.c
 * repeat. */
#include <stddef.h>

#if defined(__has_include)
#if __has_include(<cublasLt.h>) && __has_include(<cudnn.h>)
#include <cublasLt.h>
#include <cudnn.h>

#define SAME(name, value) _Static_assert((int)(name) == (value), #name)
SAME(CUDA_R_32F, 0);
SAME(CUDA_R_64F, 1);
SAME(CUDA_R_16F, 2);
SAME(CUDA_R_16BF, 14);
SAME(CUBLAS_COMPUTE_32F, 68);
SAME(CUBLAS_COMPUTE_64F, 70);
SAME(CUBLAS_COMPUTE_32F_FAST_TF32, 77);
SAME(CUBLAS_OP_N, 0);
SAME(CUBLAS_OP_T, 1);
SAME(CUBLASLT_MATMUL_DESC_TRANSA, 3);
SAME(CUBLASLT_MATMUL_DESC_TRANSB, 4);
SAME(CUBLASLT_MATMUL_DESC_EPILOGUE, 7);
SAME(CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8);
SAME(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 5);
SAME(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 6);
SAME(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1);
SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 5);
SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 8);
SAME(CUBLASLT_EPILOGUE_BIAS, 4);
SAME(sizeof(cublasLtMatmulHeuristicResult_t), 96);
SAME(offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize), 64);
SAME(offsetof(cublasLtMatmulHeuristicResult_t, state), 72);

SAME(CUDNN_DATA_FLOAT, 0);
SAME(CUDNN_DATA_DOUBLE, 1);
SAME(CUDNN_DATA_HALF, 2);
SAME(CUDNN_DATA_BFLOAT16, 9);
SAME(CUDNN_TENSOR_NCHW, 0);
SAME(CUDNN_CROSS_CORRELATION, 1);
SAME(CUDNN_DEFAULT_MATH, 0);
SAME(CUDNN_FMA_MATH, 3);
SAME(CUDNN_DETERMINISTIC, 1);
SAME(sizeof(cudnnConvolutionFwdAlgoPerf_t), 48);
SAME(offsetof(cudnnConvolutionFwdAlgoPerf_t, memory), 16);
SAME(offsetof(cudnnConvolutionFwdAlgoPerf_t, mathType), 28);
#endif
#if __has_include(<cuda.h>)
#include <cuda.h>

#include "launch.h"

#if CUDA_VERSION >= 12000
_Static_assert(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION == CUDA_LAUNCH_PROGRAMMATIC, "attribute");
_Static_assert(sizeof(CUlaunchAttribute) == sizeof(cuda_launch_attribute), "attribute");
_Static_assert(offsetof(CUlaunchAttribute, value) == offsetof(cuda_launch_attribute, value), "value");
_Static_assert(sizeof(CUlaunchConfig) == sizeof(cuda_launch), "launch");
_Static_assert(offsetof(CUlaunchConfig, blockDimX) == offsetof(cuda_launch, block), "block");
_Static_assert(offsetof(CUlaunchConfig, sharedMemBytes) == offsetof(cuda_launch, shared_bytes), "shared_bytes");
_Static_assert(offsetof(CUlaunchConfig, hStream) == offsetof(cuda_launch, stream), "stream");
_Static_assert(offsetof(CUlaunchConfig, attrs) == offsetof(cuda_launch, attributes), "attributes");
_Static_assert(offsetof(CUlaunchConfig, numAttrs) == offsetof(cuda_launch, attribute_count), "attribute_count");
#endif
#endif
#endif
