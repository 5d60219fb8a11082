/* Arguments of optim.cu. */
#ifndef WICK_GPU_ARGS_OPTIM_H
#define WICK_GPU_ARGS_OPTIM_H

#include "args.h"

#define GPU_OPTIM_ITEMS 64   /* parameters of a launch */
#define GPU_OPTIM_CHUNK 2048 /* elements of a block */

typedef struct gpu_optim_item {
    void *param, *grad;
    void *first, *second, *most; /* moments; momentum buffer: first */
    const float *step;           /* counted from 1 */
    int64_t n;
} gpu_optim_item;

/* Dense arrays of the kernel's type. Block b works on the item whose begins[] it lies behind. */
typedef struct gpu_optim_args {
    gpu_optim_item items[GPU_OPTIM_ITEMS];
    uint32_t begins[GPU_OPTIM_ITEMS]; /* blocks */
    int32_t count;
    int32_t decoupled, amsgrad, maximize, nesterov, is_first;
    int32_t scale_wide, found_wide;     /* double, else float */
    const void *grad_scale, *found_inf; /* NULL: 1, 0 */
    double lr, decay, eps, beta1, beta2, momentum, dampening;
} gpu_optim_args;

#endif
