/* Arguments of copy.cu. */
#ifndef WICK_GPU_ARGS_COPY_H
#define WICK_GPU_ARGS_COPY_H

#include "args.h"

/* in[b][q][p] to out[b][p][q]: the source is packed along p, the target along q; `b` is a walk over the other
 * dimensions (operand 0: out, 1: in). Blocks: tiles of p, then of q, then of b. */
typedef struct gpu_transpose_args {
    void *out;
    const void *in;
    uint32_t p, q;             /* elements */
    int64_t in_step, out_step; /* bytes from one q to the next in the source, from one p to the next in the target */
    gpu_divider p_tiles, q_tiles;
    int32_t in_packs, out_packs; /* several elements an access: addresses and steps allow it */
    gpu_walk walk;
} gpu_transpose_args;

/* One value, repeated to 16 bytes. */
typedef struct gpu_fill_args {
    void *out;
    int64_t n; /* dense: bytes; else elements */
    unsigned char value[16];
    gpu_walk walk;
} gpu_fill_args;

#endif
