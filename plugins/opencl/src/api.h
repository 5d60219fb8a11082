/* The OpenCL library: opened at run time, reached through a table of its functions. Nothing is linked. */
#ifndef OCL_API_H
#define OCL_API_H

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <wick/sdk/plugin.h>

/* Every function of OpenCL 1.2 that the plugin calls. */
#define OCL_SYMBOLS(X)              \
    X(clGetPlatformIDs)             \
    X(clGetPlatformInfo)            \
    X(clGetDeviceIDs)               \
    X(clGetDeviceInfo)              \
    X(clCreateContext)              \
    X(clReleaseContext)             \
    X(clCreateCommandQueue)         \
    X(clReleaseCommandQueue)        \
    X(clCreateBuffer)               \
    X(clReleaseMemObject)           \
    X(clCreateProgramWithSource)    \
    X(clBuildProgram)               \
    X(clGetProgramBuildInfo)        \
    X(clReleaseProgram)             \
    X(clCreateKernel)               \
    X(clSetKernelArg)               \
    X(clReleaseKernel)              \
    X(clEnqueueNDRangeKernel)       \
    X(clEnqueueReadBuffer)          \
    X(clEnqueueWriteBuffer)         \
    X(clEnqueueCopyBuffer)          \
    X(clEnqueueFillBuffer)          \
    X(clEnqueueMapBuffer)           \
    X(clEnqueueUnmapMemObject)      \
    X(clEnqueueMarkerWithWaitList)  \
    X(clEnqueueBarrierWithWaitList) \
    X(clWaitForEvents)              \
    X(clGetEventInfo)               \
    X(clGetEventProfilingInfo)      \
    X(clRetainEvent)                \
    X(clReleaseEvent)               \
    X(clFlush)                      \
    X(clFinish)

typedef struct ocl_api {
    void *library;
#define OCL_SYMBOL_FIELD(name) __typeof__(name) *name;
    OCL_SYMBOLS(OCL_SYMBOL_FIELD)
#undef OCL_SYMBOL_FIELD
} ocl_api;

/* Opens `path` (a name for the loader, or absolute) and fills the table. UNAVAILABLE, with the loader's text, if
 * there is no such library or it lacks a function. */
wick_status *ocl_api_open(ocl_api *api, const wick_host *host, const char *path);
/* Closes the library; an empty table is allowed. */
void ocl_api_close(ocl_api *api);

#endif
