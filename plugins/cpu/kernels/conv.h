/* Convolutions as matrix products over patches: no column matrix is built. Element (pixel, (channel, tap)) of the patch
 * matrix is image[rows[pixel] + cols[channel, tap]], which the tiles of gemm.h read where it lies, in a zero-padded
 * copy of the image. The gradients are products of the same kind.
 *
 * All tensors are contiguous. */
#ifndef WICK_CPU_CONV_H
#define WICK_CPU_CONV_H

#include "gemm.h"

#include <wick/sdk/shape.h>

/* The convolution x -> y. A transposed one is described by the convolution whose input gradient it is. */
typedef struct conv_shape {
    wick_dtype dtype;                                 /* F32, F64, I64 */
    int64_t batch, groups, in_channels, out_channels; /* channels of one group */
    wick_windows space;
} conv_shape;

static inline int64_t conv_volume(const int64_t *size) { return size[0] * size[1] * size[2]; }

/* y = conv(x, w) + bias; w is [groups * out, in, taps]; bias may be NULL. */
wick_status *conv_forward(const wick_kernel_call *call, const conv_shape *shape, const void *x, const void *w,
                          const void *bias, void *y);
/* dx = the gradient for x given dy, plus bias: also the forward of a transposed convolution. */
wick_status *conv_grad_input(const wick_kernel_call *call, const conv_shape *shape, const void *dy, const void *w,
                             const void *bias, void *dx);
wick_status *conv_grad_weight(const wick_kernel_call *call, const conv_shape *shape, const void *x, const void *dy,
                              void *dw);
/* db[channel] = the sum over batch and pixels of dy. */
void conv_grad_bias(cpu_instance *cpu, wick_dtype dtype, int64_t batch, int64_t channels, int64_t pixels,
                    const void *dy, void *db);

/* ---- shared by the products (conv_patch.c) ---- */
/* How an image is laid into a zeroed one: pixel p goes to p + low; what falls outside is cut off. */
typedef struct conv_frame {
    int64_t size[3], low[3], padded[3];
} conv_frame;

/* x with the convolution's padding. */
conv_frame conv_frame_of_input(const conv_shape *shape);
/* True if the padded image is the image. */
bool conv_frame_is_plain(const conv_frame *frame);
/* Copies `planes` images of `bytes` an element. */
void conv_pad(cpu_instance *cpu, const conv_frame *frame, size_t bytes, int64_t planes, const void *in, void *out);
/* Images of the batch to work on at a time, so that their padded copies stay cached. */
int64_t conv_slice(const conv_frame *frame, int64_t batch, int64_t channels, size_t bytes);
/* offsets[o] = sum over dimensions of o[d] * step[d] in the padded image, for o in row-major order over `extent`. */
void conv_offsets(const conv_frame *frame, const int64_t *extent, const int64_t *step, int64_t *offsets);

/* The product of every image and group of a slice with the weights. */
typedef struct conv_product {
    cpu_instance *cpu;
    const cpu_gemm_type *type;
    size_t bytes;
    cpu_product product; /* all but the pointers */
    int64_t images, groups;
    const char *source, *weights, *bias;
    char *out;
    int64_t source_image, source_group, weights_group, out_image, out_group, bias_group; /* steps in elements */
    const int64_t *scatter; /* where pixel i of a plane goes; NULL: to i */
    char *block;            /* with scatter: memory for CONV_BLOCK * n elements a thread */
    int64_t row_length;     /* pixels in an image row */
    int64_t blocks;
} conv_product;
#define CONV_BLOCK 256 /* pixels of a task */
void conv_run(conv_product *job);

#endif
