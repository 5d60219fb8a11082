/* Opens cuBLASLt and cuDNN. One that is absent leaves the own kernels and a note. */
#include "libraries.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const cublaslt_symbols[] = {
#define CUDA_FUNCTION(field, parameters, symbol) symbol,
#include "cublaslt.inc"
};
static const char *const cudnn_symbols[] = {
#define CUDA_FUNCTION(field, parameters, symbol) symbol,
#include "cudnn.inc"
};
_Static_assert(sizeof(cublaslt_functions) == sizeof cublaslt_symbols, "a symbol per function");
_Static_assert(sizeof(cudnn_functions) == sizeof cudnn_symbols, "a symbol per function");

typedef struct library {
    const char *key;          /* of the INI: the file's path; "no": leave it */
    const char *const *files; /* tried in order; ends with NULL */
    const char *const *symbols;
    size_t count;
} library;

static const char *const cublaslt_files[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so", NULL};
static const char *const cudnn_files[] = {"libcudnn.so.9", "libcudnn.so", NULL};
static const library cublaslt = {"cublaslt", cublaslt_files, cublaslt_symbols,
                                 sizeof cublaslt_symbols / sizeof cublaslt_symbols[0]};
static const library cudnn = {"cudnn", cudnn_files, cudnn_symbols, sizeof cudnn_symbols / sizeof cudnn_symbols[0]};

static void note(gpu_instance *gpu, const char *key, const char *reason) {
    size_t used = strlen(gpu->library_notes), room = sizeof gpu->library_notes - used;
    if (snprintf(gpu->library_notes + used, room, "%sno %s: %.60s", used ? "; " : "", key, reason) < 0) return;
}

/* Fills the functions; all of them or none. */
static bool open_library(gpu_instance *gpu, const wick_config *config, const library *l, void *functions) {
    const char *wanted = gpu->host->config_string(config, l->key, NULL);
    void *file = NULL;
    if (wanted && !strcmp(wanted, "no")) {
        note(gpu, l->key, "by the configuration");
        return false;
    }
    for (int i = 0; !file && l->files[i]; ++i) {
        file = dlopen(wanted ? wanted : l->files[i], RTLD_NOW | RTLD_LOCAL);
        if (wanted) break;
    }
    if (!file) {
        note(gpu, l->key, dlerror());
        return false;
    }
    for (size_t i = 0; i < l->count; ++i) {
        void *symbol = dlsym(file, l->symbols[i]);
        memcpy((char *)functions + i * sizeof symbol, &symbol, sizeof symbol);
        if (symbol) continue;
        char missing[64];
        snprintf(missing, sizeof missing, "it has no %s", l->symbols[i]);
        note(gpu, l->key, missing);
        return false;
    }
    return true;
}

wick_status *cuda_libraries_open(gpu_instance *gpu, const wick_config *config) {
    gpu_libraries *all = calloc(1, sizeof *all);
    if (!all) return WICK_HOST_ERROR(gpu->host, WICK_OUT_OF_MEMORY, "no memory for the libraries");
    for (int i = 0; i < GPU_DEVICES; ++i) pthread_mutex_init(&all->devices[i].lock, NULL);
    gpu->libraries = all;
    all->has_cublaslt = open_library(gpu, config, &cublaslt, &all->cublaslt);
    all->has_cudnn = open_library(gpu, config, &cudnn, &all->cudnn);
    if (all->has_cudnn) {
        gpu->library_rows = cuda_convolution_rows;
        gpu->library_row_count = cuda_convolution_row_count;
    }
    return NULL;
}

/* The libraries themselves stay mapped, like the driver. */
void cuda_libraries_close(gpu_instance *gpu) {
    gpu_libraries *all = gpu->libraries;
    for (int i = 0; i < GPU_DEVICES; ++i) {
        cuda_library_device *d = &all->devices[i];
        if (i < gpu->count && (d->cublaslt || d->cudnn)) gpu->vendor->make_current(&gpu->devices[i]);
        cuda_cache_clear(&d->products, cuda_gemm_release, all);
        cuda_cache_clear(&d->convolutions, cuda_convolution_release, all);
        if (d->cublaslt) all->cublaslt.destroy(d->cublaslt);
        if (d->cudnn) all->cudnn.destroy(d->cudnn);
        pthread_mutex_destroy(&d->lock);
    }
    free(all);
    gpu->libraries = NULL;
}
