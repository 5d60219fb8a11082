/* The host side that the CUDA and HIP plugins share: C over a table of driver functions. A vendor's folder adds its
 * library names, its error texts, how a device is made current, and its BLAS and DNN libraries (gpu_vendor).
 *
 * One instance per INI section. Keys: device (name, default the vendor's), devices = all | N, kernel sources and
 * libraries as the vendor documents. */
#ifndef WICK_GPU_HOST_H
#define WICK_GPU_HOST_H

#include <pthread.h>
#include <stdatomic.h>
#include <wick/sdk/plugin.h>

#include "../device/args.h"
#include "kernels.h"

#define GPU_DEVICES 16
#define GPU_IMAGES 32

typedef struct gpu_driver {
#define GPU_DRIVER(field, parameters, cuda, hip) int(*field) parameters;
#include "driver.inc"
} gpu_driver;

enum gpu_result { GPU_SUCCESS = 0, GPU_OUT_OF_MEMORY = 2, GPU_NOT_FOUND = 500, GPU_NOT_READY = 600 };

typedef struct gpu_instance gpu_instance;
typedef struct gpu_device gpu_device;
typedef struct gpu_blas gpu_blas;               /* blas.c */
typedef struct gpu_blas_vendor gpu_blas_vendor; /* blas.h */
typedef struct gpu_dnn gpu_dnn;                 /* dnn.c */
typedef struct gpu_dnn_vendor gpu_dnn_vendor;   /* dnn.h */
typedef struct gpu_gemm gpu_gemm;               /* gemm.h */

/* What differs between the vendors. Constant. */
typedef struct gpu_vendor {
    const char *name;             /* "cuda": plugin and default device name */
    const char *const *libraries; /* of the driver, tried in order; ends with NULL */
    int column;                   /* of driver.inc: 0 CUDA, 1 HIP */
    const void *const *images;    /* kernels: fat binaries or bundles of code objects; ends with NULL */
    const char *images_note;      /* what there is to say about how they were built, "" */
    struct {
        int multiprocessors, wave, shared_bytes, clock_khz, major, minor;
    } attribute; /* numbers that device_attribute takes; -1: the vendor has none */
    /* Symbols beside driver.inc's, into instance->vendor_functions. */
    wick_status *(*open)(gpu_instance *gpu);
    /* The calling thread works on the device from here on. */
    int (*make_current)(gpu_device *device);
    /* A launch as the vendor's newer drivers do it better; optional: driver.launch. */
    int (*launch)(const gpu_device *device, void *function, const unsigned grid[3], const unsigned block[3],
                  unsigned shared_bytes, void *stream, void **parameters);
    int (*open_device)(gpu_device *device);
    void (*close_device)(gpu_device *device);
    const char *(*error_text)(const gpu_instance *gpu, int result);
    /* Libraries are optional: absent ones leave the own kernels. Reasons go to gpu->library_notes. */
    const gpu_blas_vendor *blas; /* NULL: none */
    const gpu_dnn_vendor *dnn;   /* NULL: none */
} gpu_vendor;

struct gpu_device {
    gpu_instance *gpu;
    int index;     /* in the instance */
    int handle;    /* the driver's */
    void *context; /* the vendor's */
    void *modules[GPU_IMAGES];
    int module_count;
    _Atomic(void *) functions[GPU_KERNEL_COUNT]; /* found on first use */
    void *stream;                                /* the default one: it waits for no other */
    int multiprocessors, wave, shared_bytes, major, minor;
    char name[128], pci[32];
};

struct gpu_instance {
    const wick_host *host;
    wick_registrar *registrar;
    const gpu_vendor *vendor;
    void *library;
    gpu_driver driver;
    void *vendor_functions[16];
    gpu_blas *blas;         /* NULL: none */
    gpu_dnn *dnn;           /* NULL: none */
    int64_t small_products; /* gemm.c */
    char library_notes[160];
    char device_name[32];
    int count;
    gpu_device devices[GPU_DEVICES];
    pthread_mutex_t lock;  /* finding functions */
    wick_kernel_row *rows; /* all kernels, joined */
    uint64_t row_count;
    wick_backend backend;
};

/* ---- plugin.c ---- */
wick_status *gpu_create(const gpu_vendor *vendor, const wick_host *host, wick_registrar *registrar,
                        const wick_config *config, void **out);
void gpu_destroy(void *instance);

/* ---- errors ---- */
/* NULL for success; OUT_OF_MEMORY or DEVICE_ERROR with the driver's text otherwise. */
wick_status *gpu_check(const gpu_instance *gpu, int result, const char *what);
#define GPU_TRY(gpu, call, what)                                                      \
    do {                                                                              \
        int gpu_result_ = (call);                                                     \
        if (WICK_UNLIKELY(gpu_result_)) return gpu_check((gpu), gpu_result_, (what)); \
    } while (0)

static inline gpu_instance *gpu_of(const wick_kernel_call *call) { return (gpu_instance *)call->instance; }
static inline gpu_device *gpu_device_of(const wick_kernel_call *call) {
    return &gpu_of(call)->devices[call->device.index];
}
/* NULL of the ABI is the device's own default stream. */
static inline void *gpu_stream(const gpu_device *device, void *stream) { return stream ? stream : device->stream; }

/* ---- memory.c, stream.c, random.c ---- */
extern const wick_memory_interface gpu_memory_interface;
extern const wick_stream_interface gpu_stream_interface;
extern const wick_event_interface gpu_event_interface;
extern const wick_graph_interface gpu_graph_interface;
extern const wick_generator_interface gpu_generator_interface;

/* Device address of a memory's first byte, of a tensor's element 0. */
static inline uint64_t gpu_address(const wick_memory *m, uint64_t offset) {
    return (uint64_t)(uintptr_t)m->handle + m->offset_bytes + offset;
}
static inline void *gpu_data(const wick_tensor *t) {
    uint64_t offset = (uint64_t)t->offset * wick_dtype_bytes((wick_dtype)t->dtype);
    return (void *)(uintptr_t)gpu_address(&t->storage->memory, offset);
}

/* ---- launch.c ---- */
/* Puts a kernel on the call's stream. `args` is the kernel's argument struct. */
wick_status *gpu_launch(const wick_kernel_call *call, gpu_kernel kernel, unsigned grid, unsigned threads,
                        unsigned shared_bytes, const void *args);
wick_status *gpu_launch_grid(const wick_kernel_call *call, gpu_kernel kernel, const unsigned grid[3],
                             const unsigned block[3], unsigned shared_bytes, const void *args);
/* Blocks of `threads` for n items, `per_thread` of them a thread, at most `waves` times what the device holds at once. */
unsigned gpu_blocks(const gpu_device *device, int64_t n, unsigned threads, unsigned per_thread, unsigned waves);

/* ---- walk.c ---- */
gpu_divider gpu_divider_of(uint32_t divisor);
/* One part of a walk over broadcast operands: `n` elements from byte offsets. */
typedef wick_status *(*gpu_walk_fn)(void *user, const gpu_walk *walk, uint32_t n, const int64_t *byte_offsets);
/* Broadcasts the operands (outputs first) to the first one's shape, merges dimensions, and calls `fn` for each part of
 * less than 2^31 elements and at most GPU_DIMS dimensions: once, for all but monsters. */
wick_status *gpu_walk_over(const wick_kernel_call *call, const wick_tensor *const *operands, int n, gpu_walk_fn fn,
                           void *user);

/* ---- kernel tables, one a file of rows ---- */
typedef struct gpu_table {
    const wick_kernel_row *rows;
    uint64_t count;
} gpu_table;
#define GPU_TABLE(rows) \
    { (rows), sizeof(rows) / sizeof((rows)[0]) }
#define GPU_TABLES(X) \
    X(pointwise)      \
    X(copy)           \
    X(gemm)           \
    X(reduction)      \
    X(softmax)        \
    X(norm)           \
    X(batch_norm)     \
    X(loss)           \
    X(scan)           \
    X(sort)           \
    X(index)          \
    X(scatter)        \
    X(select)         \
    X(random)         \
    X(optim)          \
    X(pool)           \
    X(conv)           \
    X(renorm)
#define GPU_DECLARE_TABLE(name) extern const gpu_table gpu_##name##_table;
GPU_TABLES(GPU_DECLARE_TABLE)
#undef GPU_DECLARE_TABLE

#endif
