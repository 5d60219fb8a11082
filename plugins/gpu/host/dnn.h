/* Convolutions by cuDNN or MIOpen, opened at run time. What the two share is in dnn.c; how a convolution is described,
 * an algorithm chosen and started is the vendor's (gpu_dnn_vendor). */
#ifndef WICK_GPU_DNN_H
#define WICK_GPU_DNN_H

#include "cache.h"
#include "conv.h"
#include "library.h"

#define GPU_DNN_DIMS 5
#define GPU_DNN_WORKSPACE_BYTES ((size_t)1 << 30) /* the most that an algorithm may want */

typedef struct gpu_dnn_functions {
#define GPU_DNN(field, parameters, cuda, hip) int(*field) parameters;
#include "dnn.inc"
} gpu_dnn_functions;

/* The operands of y = convolution of x with w: images, weight, maps. */
enum gpu_dnn_operand { GPU_DNN_X, GPU_DNN_W, GPU_DNN_Y, GPU_DNN_OPERANDS };

typedef struct gpu_dnn_key {
    uint64_t handle;
    int32_t product; /* gpu_conv_product */
    int32_t type;    /* the library's number */
    int32_t tf32, deterministic, ndim, groups;
    int32_t sizes[GPU_DNN_OPERANDS][GPU_DNN_DIMS]; /* `ndim` of them, at least two of them spatial */
    int32_t padding[3], stride[3], dilation[3];    /* ndim - 2 of them */
} gpu_dnn_key;

typedef struct gpu_dnn_plan {
    void *operand[GPU_DNN_OPERANDS], *conv; /* descriptors */
    uint64_t algorithm;
    size_t workspace_bytes;
    bool usable; /* false: the library knows no way */
} gpu_dnn_plan;

/* `functions`: all of the library's, those of dnn.inc first. Results are the library's statuses. Constant. */
struct gpu_dnn_vendor {
    const char *name;
    gpu_library lib;
    struct {
        int f32, f64, f16, bf16;
    } type;                 /* -1: left to the own kernels */
    bool handle_per_stream; /* a handle serves one stream only */
    /* Fills the descriptors of weight and convolution. */
    int (*describe)(const void *functions, const gpu_dnn_key *key, gpu_dnn_plan *plan);
    /* The plan's algorithm, ready to be started; not 0 if there is none. */
    int (*choose)(const void *functions, void *handle, const gpu_dnn_key *key, gpu_dnn_plan *plan);
    int (*run)(const void *functions, void *handle, const gpu_dnn_key *key, const gpu_dnn_plan *plan,
               void *const data[GPU_DNN_OPERANDS], void *workspace);
};

/* A row-major tensor of these sizes. */
int gpu_dnn_set_tensor(const gpu_dnn_functions *functions, void *tensor, const gpu_dnn_key *key, const int32_t *sizes);

/* gpu->dnn, or a note that there is none. */
wick_status *gpu_dnn_open(gpu_instance *gpu, const wick_config *config);
void gpu_dnn_close(gpu_instance *gpu);
/* Without the bias. Leaves *out_done false where the library does not take the convolution. */
wick_status *gpu_dnn_convolve(const gpu_conv_shape *shape, gpu_conv_product product, const gpu_conv_operands *operands,
                              bool *out_done);

#endif
