#include "blas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const automatic_libraries[] = {"libopenblas.so.0", "libopenblas.so", NULL};

/* OpenBLAS's names of the cores whose kernels use wide registers. */
static const struct {
    const char *core;
    cpu_isa isa;
} known_cores[] = {
    {"SkylakeX", CPU_ISA_AVX512}, {"Cooperlake", CPU_ISA_AVX512}, {"Sapphirerapids", CPU_ISA_AVX512},
    {"Haswell", CPU_ISA_AVX2},    {"Zen", CPU_ISA_AVX2},
};

/* A library that does not tell its core is taken to know the machine. */
static cpu_isa core_isa(const cpu_blas *blas) {
    if (!blas->core_name) return CPU_ISA_AVX512;
    const char *core = blas->core_name();
    for (size_t i = 0; i < sizeof known_cores / sizeof known_cores[0]; ++i)
        if (strcmp(core, known_cores[i].core) == 0) return known_cores[i].isa;
    return CPU_ISA_BASE;
}

/* Returns the name of a missing required symbol, NULL if all are there. */
static const char *bind_symbols(cpu_blas *blas) {
    const char *missing = NULL;
#define BIND(symbol, member, type, parameters) *(void **)&blas->member = dlsym(blas->library, #symbol);
#define BIND_REQUIRED(symbol, member, type, parameters) \
    BIND(symbol, member, type, parameters)              \
    if (!blas->member) missing = #symbol;
    CPU_BLAS_SYMBOLS(BIND_REQUIRED)
    CPU_BLAS_OPTIONAL_SYMBOLS(BIND)
    return missing;
}

static void *open_library(const char *wanted) {
    if (strcmp(wanted, "auto") != 0) return dlopen(wanted, RTLD_NOW | RTLD_LOCAL);
    void *library = NULL;
    for (int i = 0; !library && automatic_libraries[i]; ++i)
        library = dlopen(automatic_libraries[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

static void log_choice(const wick_host *host, wick_registrar *registrar, const cpu_blas *blas, const char *wanted) {
    char text[512];
    if (blas)
        snprintf(text, sizeof text, "cpu: BLAS %s (%s)", wanted, blas->config ? blas->config() : "no description");
    else
        snprintf(text, sizeof text, "cpu: no BLAS library (blas = %s): own matrix products only", wanted);
    host->log(registrar, WICK_LOG_INFO, text);
}

wick_status *cpu_blas_open(const wick_host *host, wick_registrar *registrar, const wick_config *config,
                           const cpu_blas **out) {
    const char *wanted = host->config_string(config, "blas", "auto");
    *out = NULL;
    void *library = strcmp(wanted, "none") == 0 ? NULL : open_library(wanted);
    if (!library && (strcmp(wanted, "none") == 0 || strcmp(wanted, "auto") == 0))
        return log_choice(host, registrar, NULL, wanted), NULL;
    if (!library) return WICK_HOST_ERROR(host, WICK_UNAVAILABLE, "blas = %s: %s", wanted, dlerror());
    cpu_blas *blas = calloc(1, sizeof *blas);
    if (!blas) return WICK_HOST_ERROR(host, WICK_OUT_OF_MEMORY, "no memory for the BLAS table");
    blas->library = library;
    const char *missing = bind_symbols(blas);
    if (missing) {
        free(blas);
        return WICK_HOST_ERROR(host, WICK_UNAVAILABLE, "blas = %s: the library has no %s", wanted, missing);
    }
    blas->named = strcmp(wanted, "auto") != 0;
    blas->isa = core_isa(blas);
    if (blas->set_threads) blas->set_threads(1);
    log_choice(host, registrar, blas, wanted);
    return *out = blas, NULL;
}

void cpu_blas_close(const cpu_blas *blas) { free((cpu_blas *)blas); }
