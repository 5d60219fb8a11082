/* What CUDA's driver has and HIP's runtime has not: contexts. The rest are mock_hip.c's functions under CUDA's names. */
#include "mock_hip.h"

#include "../../plugins/cuda/launch.h"

#define DEVICES 16

/* A context is the address of its device's number. */
static const int numbers[DEVICES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static _Thread_local const int *current;

int hipSetDevice(int device);
const char *hipGetErrorName(int result);
int hipModuleLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **parameters,
                          void **extra);

MOCK_API int cuDevicePrimaryCtxRetain(const void **out, int device) {
    MOCK_ENTER("cuDevicePrimaryCtxRetain");
    if (device < 0 || device >= DEVICES) return MOCK_INVALID_DEVICE;
    *out = &numbers[device];
    return MOCK_SUCCESS;
}

MOCK_API int cuDevicePrimaryCtxRelease_v2(int device) {
    MOCK_ENTER("cuDevicePrimaryCtxRelease_v2");
    return MOCK_SUCCESS;
}

MOCK_API int cuCtxSetCurrent(const int *context) {
    MOCK_ENTER("cuCtxSetCurrent");
    int result = context ? hipSetDevice(*context) : MOCK_SUCCESS;
    if (!result) current = context;
    return result;
}

MOCK_API int cuCtxGetCurrent(const int **out) {
    MOCK_ENTER("cuCtxGetCurrent");
    *out = current;
    return MOCK_SUCCESS;
}

MOCK_API int cuGetErrorName(int result, const char **out) {
    *out = hipGetErrorName(result);
    return MOCK_SUCCESS;
}

/* The one attribute that plugin cuda asks for: there is nothing to do for it where a kernel runs at once. */
MOCK_API int cuLaunchKernelEx(const cuda_launch *l, void *function, void **parameters, void **extra) {
    MOCK_ENTER("cuLaunchKernelEx");
    if (l->attribute_count != 1 || l->attributes->id != CUDA_LAUNCH_PROGRAMMATIC || l->attributes->value.yes != 1)
        return MOCK_INVALID_VALUE;
    return hipModuleLaunchKernel(function, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
                                 l->shared_bytes, l->stream, parameters, extra);
}
