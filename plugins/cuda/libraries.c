/* Opens cuDNN. Without it the own kernels stay, and a note says so. */
#include "libraries.h"

#include <stdlib.h>

static const char *const files[] = {"libcudnn.so.9", "libcudnn.so", NULL};
static const char *const symbols[] = {
#define CUDA_FUNCTION(field, parameters, symbol) symbol,
#include "cudnn.inc"
};
_Static_assert(sizeof(cudnn_functions) == sizeof symbols, "a symbol per function");
static const gpu_library cudnn = {"cudnn", files, symbols, sizeof symbols / sizeof symbols[0]};

wick_status *cuda_libraries_open(gpu_instance *gpu, const wick_config *config) {
    cudnn_functions functions;
    if (!gpu_library_open(gpu, config, &cudnn, &functions)) return NULL;
    gpu_libraries *all = calloc(1, sizeof *all);
    if (!all) return WICK_HOST_ERROR(gpu->host, WICK_OUT_OF_MEMORY, "no memory for the libraries");
    for (int i = 0; i < GPU_DEVICES; ++i) pthread_mutex_init(&all->devices[i].lock, NULL);
    all->cudnn = functions;
    gpu->libraries = all;
    gpu->library_rows = cuda_convolution_rows;
    gpu->library_row_count = cuda_convolution_row_count;
    return NULL;
}

void cuda_libraries_close(gpu_instance *gpu) {
    gpu_libraries *all = gpu->libraries;
    for (int i = 0; i < GPU_DEVICES; ++i) {
        cuda_library_device *d = &all->devices[i];
        if (i < gpu->count && d->cudnn) gpu->vendor->make_current(&gpu->devices[i]);
        gpu_cache_clear(&d->convolutions, cuda_convolution_release, all);
        if (d->cudnn) all->cudnn.destroy(d->cudnn);
        pthread_mutex_destroy(&d->lock);
    }
    free(all);
    gpu->libraries = NULL;
}
