/* What the tests of emulated kernels share: a library of them, launches by name. */
#ifndef WICK_TESTS_GPU_TEST_H
#define WICK_TESTS_GPU_TEST_H

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../plugins/gpu/emulate/launch.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef struct emulation {
    void *library;
    int (*launch)(const gpu_emulated_kernel *kernel, const unsigned grid[3], const unsigned block[3], size_t shared,
                  const void *args);
    int wave;
} emulation;

/* "gpu_emulated" of wave size 32 or 64; false where this build has none (sanitized builds have 64 only). */
static inline bool open_emulation(const char *name, int wave, emulation *out) {
    char path[1024];
    snprintf(path, sizeof path, "%s/tests/lib%s_wave%d.so", WICK_BUILD_DIR, name, wave);
    if (wave == 32 && access(path, F_OK)) return false;
    out->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!out->library) fail_msg("%s", dlerror());
    *(void **)&out->launch = dlsym(out->library, "gpu_emulate_launch");
    int (*wave_of)(void);
    *(void **)&wave_of = dlsym(out->library, "gpu_emulate_wave");
    assert_non_null(out->launch);
    assert_non_null(wave_of);
    out->wave = wave_of();
    assert_int_equal(out->wave, wave);
    return true;
}

static inline const gpu_emulated_kernel *find_kernel(const emulation *e, const char *name) {
    const gpu_emulated_kernel *kernel = dlsym(e->library, name);
    if (!kernel) fail_msg("no kernel %s in the emulation of waves of %d", name, e->wave);
    return kernel;
}

static inline void launch(const emulation *e, const char *name, unsigned grid, unsigned block, size_t shared,
                          const void *args) {
    const unsigned grids[3] = {grid, 1, 1}, blocks[3] = {block, 1, 1};
    assert_int_equal(e->launch(find_kernel(e, name), grids, blocks, shared, args), GPU_EMULATE_DONE);
}

#endif
