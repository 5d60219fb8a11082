/* wick/runtime.h: what one process shares: loaded backends, operators, allocators, the log sink.
 *
 * A runtime is reference-counted and thread-safe. Loading a plugin publishes new immutable tables; nothing that a
 * thread already reads ever moves. Tensors and graph nodes keep their runtime alive. */
#ifndef WICK_RUNTIME_H
#define WICK_RUNTIME_H

#include <wick/tensor.h>

typedef struct wick_runtime wick_runtime;

/* The library's memory functions; all of the core's host-side bookkeeping uses them. realloc(p, 0) is never called.
 * Called from any thread. Tensor data of a device comes from its backend instead. */
typedef struct wick_allocator {
    void *(*allocate)(void *user, size_t bytes); /* aligned for any object; NULL when exhausted */
    void *(*reallocate)(void *user, void *pointer, size_t bytes);
    void (*free)(void *user, void *pointer);
    void *user;
} wick_allocator;

typedef enum wick_log_level { WICK_LOG_DEBUG, WICK_LOG_INFO, WICK_LOG_WARNING, WICK_LOG_ERROR } wick_log_level;
typedef void (*wick_log_fn)(void *user, wick_log_level level, const char *message);

typedef struct wick_runtime_options {
    uint32_t struct_size;
    uint32_t flags;                  /* 0 */
    const wick_allocator *allocator; /* NULL: malloc */
    wick_log_fn log;                 /* NULL: messages are dropped; called from any thread */
    void *log_user;
} wick_runtime_options;
#define WICK_RUNTIME_OPTIONS_INIT \
    { sizeof(wick_runtime_options), 0, NULL, NULL, NULL }

/* What became of a backend that the configuration names. */
typedef enum wick_backend_state {
    WICK_BACKEND_ABSENT = 0,    /* no file at any path tried */
    WICK_BACKEND_FOUND = 1,     /* a file was found but could not be loaded */
    WICK_BACKEND_REFUSED = 2,   /* loaded, but the versions or the tables do not fit */
    WICK_BACKEND_NO_DEVICE = 3, /* fits, but there is no device or driver here */
    WICK_BACKEND_READY = 4
} wick_backend_state;

typedef struct wick_backend_info {
    uint32_t struct_size;
    wick_backend_state state;
    const char *name;    /* the INI section's name: plugin.NAME */
    const char *device;  /* device name it serves, "" if none */
    const char *path;    /* file, "" if none was found, "(static)" */
    const char *version; /* the plugin's own version */
    const char *stage;   /* search, elf, isolate, dlopen, query, create, probe, ready */
    const char *reason;  /* one line; "" when ready */
    const char *tried;   /* each path tried with the reason it failed, one a line */
    int32_t device_type; /* 0 if none */
    int32_t device_count;
    const char *notes; /* what was left out, with the reason: kernels that do not fit; one a line */
} wick_backend_info;

typedef struct wick_device_info {
    uint32_t struct_size;
    int32_t index;
    char name[128];
    char hardware_id[64]; /* PCI address, UUID, ... */
    char features[256];   /* e.g. CPU feature bits in words */
    uint64_t memory_bytes;
    uint64_t memory_free_bytes;
} wick_device_info;

WICK_BEGIN_DECLS
/* Creates a runtime without any backend. The caller releases it. */
WICK_API WICK_MUST_USE wick_status *wick_runtime_create(const wick_runtime_options *options, wick_runtime **out);
WICK_API wick_runtime *wick_runtime_retain(wick_runtime *runtime);
/* At the last release backends are shut down in reverse order of loading. */
WICK_API void wick_runtime_release(wick_runtime *runtime);

/* Backends in load order; info is lent until the runtime ends. NULL when `index` is past the end. */
WICK_API const wick_backend_info *wick_runtime_backend(wick_runtime *runtime, int index);
/* "cpu", "cpu:0", "meta" -> device. Unknown names list the known ones. */
WICK_API WICK_MUST_USE wick_status *wick_runtime_device(wick_runtime *runtime, const char *name, wick_device *out);
/* Writes "cpu" or "cpu:1" into `buffer`, cut at `bytes`; returns `buffer`. */
WICK_API char *wick_device_format(wick_runtime *runtime, wick_device device, char *buffer, size_t bytes);
WICK_API WICK_MUST_USE wick_status *wick_device_query(wick_runtime *runtime, wick_device device, wick_device_info *out);
/* The raw table of an optional interface of a device type (wick/sdk/interface.h), NULL if it has none; *out_instance (may
 * be NULL) is what its functions take. Lent until the runtime ends. */
WICK_API const void *wick_backend_interface(wick_runtime *runtime, int device_type, const char *name, uint32_t version,
                                            void **out_instance);
/* A table that a feature plugin published under a name and version; NULL if none did. Lent until the runtime ends. */
WICK_API const void *wick_feature(wick_runtime *runtime, const char *name, uint32_t version, void **out_instance);
/* Element types and layouts of plugins by name: NONE and STRIDED if unknown. The core's own dtypes are known too. */
WICK_API wick_dtype wick_runtime_dtype(wick_runtime *runtime, const char *name);
/* Lent until the runtime ends; "invalid" for an unknown one. */
WICK_API const char *wick_runtime_dtype_name(wick_runtime *runtime, wick_dtype dtype);
WICK_API uint32_t wick_runtime_layout(wick_runtime *runtime, const char *name);
/* The device of the backend with the host role, type NONE when none is loaded. */
WICK_API wick_device wick_runtime_host(wick_runtime *runtime);
/* Live tensors and storages: zero when everything was released. */
WICK_API int64_t wick_runtime_live_objects(wick_runtime *runtime);
/* Allocator statistics of a device: bytes handed out now, the highest that was, bytes held in the cache. */
WICK_API void wick_memory_stats(wick_runtime *runtime, wick_device device, uint64_t *used, uint64_t *peak,
                                uint64_t *cached);
WICK_API void wick_memory_reset_peak(wick_runtime *runtime, wick_device device);
/* Returns cached blocks of the device to its backend. */
WICK_API void wick_memory_trim(wick_runtime *runtime, wick_device device);
WICK_END_DECLS

#endif
