/* A vendor's library that is opened at run time, or not at all. */
#ifndef WICK_GPU_LIBRARY_H
#define WICK_GPU_LIBRARY_H

#include "gpu.h"

typedef struct gpu_library {
    const char *key;          /* of the INI: the file's path; "no": leave it */
    const char *const *files; /* tried in order; ends with NULL */
    const char *const *symbols;
    size_t count;
} gpu_library;

/* Fills an array of `count` function pointers. False: not all of them are there, and gpu->library_notes says why. */
bool gpu_library_open(gpu_instance *gpu, const wick_config *config, const gpu_library *library, void *out_functions);

#endif
