/* What device code knows of wick without reading its headers. */
#include <wick/sdk/plugin.h>

#define GPU_SAME(name, value) _Static_assert(WICK_##name == (value), "gpu_dtype of device/args.h: " #name)
GPU_SAME(BOOL, 1);
GPU_SAME(U8, 2);
GPU_SAME(I8, 3);
GPU_SAME(I16, 4);
GPU_SAME(I32, 5);
GPU_SAME(I64, 6);
GPU_SAME(F16, 10);
GPU_SAME(BF16, 11);
GPU_SAME(F32, 12);
GPU_SAME(F64, 13);
