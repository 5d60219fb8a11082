/* Arguments of random.cu. */
#ifndef WICK_GPU_ARGS_RANDOM_H
#define WICK_GPU_ARGS_RANDOM_H

#include "args.h"

enum gpu_random {
    GPU_RANDOM_UNIFORM,
    GPU_RANDOM_NORMAL,
    GPU_RANDOM_LOG_NORMAL,
    GPU_RANDOM_CAUCHY,
    GPU_RANDOM_EXPONENTIAL,
    GPU_RANDOM_GEOMETRIC,
    GPU_RANDOM_BERNOULLI
};

/* With `state`, two uint64 {seed, offset} in device memory, the seed is its and the offset counts from its. */
typedef struct gpu_random_state {
    const uint64_t *state;
    uint64_t seed, offset;
} gpu_random_state;

/* Writes a state. */
typedef struct gpu_random_write_args {
    uint64_t *state;
    uint64_t seed, offset;
} gpu_random_write_args;

/* A dense output of n elements. */
typedef struct gpu_random_args {
    void *out;
    gpu_random_state philox;
    int64_t n;
    int32_t dtype, bytes, kind;
    uint32_t word_mask;    /* of the bits of a word that are used */
    double p[2];           /* the distribution's parameters */
    uint64_t first, range; /* integers: [first, first + range); range 0: all of 64 bits */
} gpu_random_args;

/* out = u < chance, elementwise. Operand 0 of the walk: chance. */
typedef struct gpu_chance_args {
    void *out;
    const void *chance;
    gpu_random_state philox;
    int64_t n;
    int32_t dtype, bytes, chance_dtype;
    gpu_walk walk;
} gpu_chance_args;

/* Dense. Kept where the random bits are below `keep`, 24 of them, for double 53. */
typedef struct gpu_dropout_args {
    void *out;
    uint8_t *mask;
    const void *in;
    gpu_random_state philox;
    int64_t n;
    uint64_t keep;
    double scale;
    int32_t packed; /* four elements an access: addresses allow it */
} gpu_dropout_args;

#endif
