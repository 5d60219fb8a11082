/* Convolutions as conv.c prepares them and as dnn.c hands them to a library. */
#ifndef WICK_GPU_CONV_H
#define WICK_GPU_CONV_H

#include <wick/sdk/shape.h>

#include "gpu.h"

/* Images have the channels, maps are what a plain convolution makes of them; a transposed one goes the other way. */
typedef struct gpu_conv_shape {
    const wick_kernel_call *call;
    wick_dtype dtype;
    int ndim; /* spatial dimensions */
    int64_t batch, groups;
    int64_t channels, maps; /* of a group */
    wick_windows space;
    int64_t pixels, outputs, taps; /* products of in, out and kernel */
    bool is_plain;                 /* columns are images: a kernel of one tap without strides and padding */
} gpu_conv_shape;

/* Which of the three is made of the other two. */
typedef enum gpu_conv_product { GPU_CONV_MAPS, GPU_CONV_IMAGES, GPU_CONV_WEIGHT } gpu_conv_product;

typedef struct gpu_conv_operands {
    void *image, *map, *weight;
    const void *bias; /* added to maps or images; NULL: none */
} gpu_conv_operands;

#endif
