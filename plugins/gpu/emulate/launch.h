/* Launches emulated kernels. C interface, for the mock runtime and the tests. */
#ifndef WICK_GPU_EMULATE_LAUNCH_H
#define WICK_GPU_EMULATE_LAUNCH_H

#include <stddef.h>

#define GPU_EMULATE_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* What dlsym finds under a kernel's name. Constant. */
typedef struct gpu_emulated_kernel {
    void (*run)(const void *args); /* as one thread of a running block */
    unsigned args_bytes, max_threads;
} gpu_emulated_kernel;

#define GPU_EMULATED_SHARED_BYTES (48 << 10)

enum gpu_emulate_result {
    GPU_EMULATE_DONE = 0,
    GPU_EMULATE_NO_MEMORY = -1,
    GPU_EMULATE_DOES_NOT_FIT = -2 /* more threads, blocks or shared memory than the kernel or every device has */
};

/* Runs the whole grid before it returns. `args` is the kernel's argument struct. */
GPU_EMULATE_API int gpu_emulate_launch(const gpu_emulated_kernel *kernel, const unsigned grid[3],
                                       const unsigned block[3], size_t dynamic_shared_bytes, const void *args);
/* 1 if that launch is possible, 0 where it DOES_NOT_FIT. */
GPU_EMULATE_API int gpu_emulate_fits(const gpu_emulated_kernel *kernel, const unsigned grid[3], const unsigned block[3],
                                     size_t dynamic_shared_bytes);
/* Lanes of a wave in this build. */
GPU_EMULATE_API int gpu_emulate_wave(void);

#ifdef __cplusplus
}
#endif
#endif
