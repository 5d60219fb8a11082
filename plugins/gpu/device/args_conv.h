/* Arguments of conv.cu. Images are [images][channels][in..], maps [images][maps][out..], columns [channels][taps][images]
 * [out..]; three spatial dimensions, the leading ones of size 1 where there are fewer. */
#ifndef WICK_GPU_ARGS_CONV_H
#define WICK_GPU_ARGS_CONV_H

#include "args.h"

typedef struct gpu_conv_args {
    const void *from;
    void *to;
    const void *bias;   /* added by channel; NULL: none */
    int64_t image_step; /* elements from one image to the next, of images or maps */
    int32_t dtype, bytes, from_dtype, from_bytes;
    uint32_t n; /* elements of `to` */
    gpu_divider images,
        channels; /* of the launch: a part of the batch, all channels; conv_widen: elements of an image */
    gpu_divider in[3], out[3], kernel[3];
    int32_t stride[3], padding[3], dilation[3];
} gpu_conv_args;

/* Sums of planes [images][channels][pixels] by channel, and of parts [parts][n] by element. Sums are float, of f64 double. */
typedef struct gpu_conv_sum_args {
    const void *from;
    void *to; /* by channel: parts [splits][channels] */
    int32_t dtype, bytes;
    int64_t images, channels, pixels;
    uint32_t splits, n;
} gpu_conv_sum_args;

#endif
