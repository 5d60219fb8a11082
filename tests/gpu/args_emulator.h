/* Arguments of the kernels of emulator.cu. */
#ifndef WICK_TESTS_ARGS_EMULATOR_H
#define WICK_TESTS_ARGS_EMULATOR_H

#include <stdint.h>

typedef struct emulator_args {
    void *out;
    const void *in;
    int64_t n;
} emulator_args;

#endif
