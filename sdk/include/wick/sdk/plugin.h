/* wick/sdk/plugin.h: the plugin ABI. Pure C17; also compiles as C++.
 *
 * A plugin is a shared object that exports exactly one symbol, wick_plugin_query, made by WICK_PLUGIN(). It links
 * nothing of wick: everything it needs comes through the `wick_host` table that create() receives (or that the first
 * word of any wick_context points to).
 *
 * Every table starts with its size. Tables grow only at the end; a reader takes a field that lies past the writer's
 * size as absent and uses its documented default (WICK_HAS). The ABI is 0.x: a plugin of another minor is refused. */
#ifndef WICK_SDK_PLUGIN_H
#define WICK_SDK_PLUGIN_H

#include <wick/dispatch.h>
#include <wick/runtime.h>
#include <wick/value.h>

#define WICK_ABI_MAJOR 0
#define WICK_ABI_MINOR 1
#define WICK_PLUGIN_MAGIC 0x6b636977u /* "wick" */

/* True if the table at `p` is long enough to have `field` and the field is set. */
#define WICK_HAS(p, type, field) ((p)->struct_size >= offsetof(type, field) + sizeof((p)->field) && (p)->field)

typedef struct wick_host wick_host;
typedef struct wick_op wick_op;
typedef struct wick_context wick_context;
typedef struct wick_registrar wick_registrar; /* collects what create() registers; dropped if create() fails */
typedef struct wick_config wick_config;       /* the plugin's INI section */

/* ---- query: pure, no allocation, no driver, nothing runs before it ---- */
typedef struct wick_host_info {
    uint32_t struct_size;
    uint16_t abi_major;
    uint16_t abi_minor;     /* newest the host speaks */
    uint16_t abi_minor_min; /* oldest the host accepts */
    uint16_t sanitizer;     /* 0 none, 1 address, 2 thread */
} wick_host_info;

typedef struct wick_plugin_desc {
    uint32_t struct_size;
    uint32_t magic;
    uint16_t abi_major;
    uint16_t abi_minor;          /* that the plugin was built for */
    uint16_t host_abi_minor_min; /* oldest host it works with */
    uint16_t sanitizer;
    const char *name;    /* "cpu" */
    const char *version; /* its own */
    const char *build;   /* compiler, flags: free text */
    /* Makes one instance for one INI section. Registers through host->register_*; opens vendor runtimes. A failure
     * leaves no trace. UNAVAILABLE means: fits, but no device here. Required. */
    wick_status *(*create)(const wick_host *host, wick_registrar *registrar, const wick_config *config,
                           void **out_instance);
    /* Called once, after the last object of the instance died. Cannot fail. Optional: nothing. */
    void (*destroy)(void *instance);
} wick_plugin_desc;

/* Returns the constant descriptor, or NULL with *out_refusal = a static one-line reason. */
typedef const wick_plugin_desc *(*wick_plugin_query_fn)(const wick_host_info *host, const char **out_refusal);

/* Defines the one exported symbol. Built with WICK_PLUGIN_STATIC the symbol gets the plugin's name as suffix. */
#ifdef WICK_PLUGIN_STATIC
#define WICK_PLUGIN_SYMBOL(ident) wick_plugin_query_##ident
#else
#define WICK_PLUGIN_SYMBOL(ident) wick_plugin_query
#endif
#define WICK_PLUGIN(ident, descriptor)                                                                          \
    WICK_API const wick_plugin_desc *WICK_PLUGIN_SYMBOL(ident)(const wick_host_info *host, const char **out);   \
    WICK_API const wick_plugin_desc *WICK_PLUGIN_SYMBOL(ident)(const wick_host_info *host, const char **out) {  \
        if (host->abi_major != (descriptor)->abi_major || host->abi_minor < (descriptor)->host_abi_minor_min) { \
            *out = "host ABI is older than this plugin accepts";                                                \
            return NULL;                                                                                        \
        }                                                                                                       \
        return (descriptor);                                                                                    \
    }

#if defined(__SANITIZE_ADDRESS__)
#define WICK_SANITIZER 1
#elif defined(__SANITIZE_THREAD__)
#define WICK_SANITIZER 2
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WICK_SANITIZER 1
#elif __has_feature(thread_sanitizer)
#define WICK_SANITIZER 2
#endif
#endif
#ifndef WICK_SANITIZER
#define WICK_SANITIZER 0
#endif

/* ---- kernels ---- */
/* Philox4x32-10 state for one call: element i uses counter offset + i / 4, lane i % 4. */
typedef struct wick_philox {
    uint64_t seed;
    uint64_t offset;
} wick_philox;

/* One call of one kernel: always the out form. `values` holds nargs arguments in schema order and then nouts outputs
 * (tag TENSOR; None for an output that the caller's mask left out). The core has run the shape rule, allocated or
 * checked the outputs and inserted casts, broadcasts and copies that the kernel's flags ask for. Everything is
 * borrowed for the call. */
typedef struct wick_kernel_call {
    uint32_t struct_size;
    uint16_t nargs;
    uint16_t nouts;
    const wick_op *op;
    const wick_value *values;
    const void *data; /* of the kernel's row */
    void *instance;
    const wick_host *host;
    wick_context *context;
    void *stream;              /* NULL: synchronous device */
    const wick_philox *philox; /* for operators flagged random */
    wick_device device;
    uint32_t flags;         /* wick_call_flag */
    uint32_t compute_dtype; /* wick_dtype that the shape rule chose; NONE if the row casts nothing */
} wick_kernel_call;

enum wick_call_flag {
    WICK_CALL_DETERMINISTIC = 1,
    WICK_CALL_TF32 = 2,
    WICK_CALL_DENSE = 4 /* elementwise: all tensors are row-major and of one shape, the inputs of the compute dtype, the
                           output of it or bool where the row says so */
};

typedef wick_status *(*wick_kernel_fn)(const wick_kernel_call *call);

enum wick_kernel_flag {
    WICK_KERNEL_CONTIGUOUS = 1 << 0, /* wants contiguous inputs and outputs */
    WICK_KERNEL_FUSED_CAST = 1 << 1, /* reads and writes operands of any dtype, computing in the common one */
    WICK_KERNEL_DETERMINISTIC = 1 << 2,
    WICK_KERNEL_CAPTURE_SAFE = 1 << 3
};

typedef struct wick_kernel_row {
    uint32_t struct_size;
    uint32_t flags;     /* wick_kernel_flag */
    const char *schema; /* ATen name ("add.Tensor") or full schema string */
    wick_kernel_fn fn;
    const void *data;
    uint32_t dtypes; /* WICK_DTYPE_BITs of the compute dtype; 0: any */
    uint32_t reserved;
} wick_kernel_row;

static inline wick_tensor *wick_arg_tensor(const wick_kernel_call *k, int i) {
    return k->values[i].tag == WICK_TAG_TENSOR ? k->values[i].as.tensor : NULL;
}
static inline wick_tensor *wick_out_tensor(const wick_kernel_call *k, int i) {
    return wick_arg_tensor(k, k->nargs + i);
}

/* ---- interfaces of a backend ---- */
enum wick_memory_flag { WICK_MEMORY_ADDRESSABLE = 1 };

typedef struct wick_memory_interface {
    uint32_t struct_size;
    uint32_t flags; /* wick_memory_flag */
    uint32_t alignment_bytes;
    uint32_t reserved;
    /* Raw memory; the core caches. bytes > 0. OUT_OF_MEMORY when there is none. Any thread, no core lock held. */
    wick_status *(*allocate)(void *instance, int32_t index, uint64_t bytes, wick_memory *out);
    /* Cannot fail. Any thread. */
    void (*free)(void *instance, int32_t index, wick_memory *memory);
    /* Copies; offsets are relative to the memory's first byte. Required unless ADDRESSABLE. */
    wick_status *(*copy_from_host)(void *instance, int32_t index, const wick_memory *dst, uint64_t offset,
                                   const void *src, uint64_t bytes);
    wick_status *(*copy_to_host)(void *instance, int32_t index, const wick_memory *src, uint64_t offset, void *dst,
                                 uint64_t bytes);
    wick_status *(*copy)(void *instance, int32_t index, const wick_memory *dst, uint64_t dst_offset,
                         const wick_memory *src, uint64_t src_offset, uint64_t bytes);
} wick_memory_interface;

enum wick_backend_flag { WICK_BACKEND_HOST = 1 /* its memory is the process's own: the host role */ };

typedef struct wick_backend {
    uint32_t struct_size;
    uint32_t flags;          /* wick_backend_flag */
    const char *device_name; /* "cpu" */
    /* Number of devices; never fails, makes no device context. Required. */
    int32_t (*device_count)(void *instance);
    wick_status *(*device_query)(void *instance, int32_t index, wick_device_info *out); /* required */
    /* Waits for all work. Optional: synchronous device. */
    wick_status *(*synchronize)(void *instance, int32_t index);
    /* Optional interfaces by name and version ("memory", 1); NULL where absent. Required slot. */
    const void *(*get_interface)(void *instance, const char *name, uint32_t version);
    const wick_kernel_row *kernels;
    uint64_t kernel_count;
} wick_backend;

/* A handler of a functionality key (wick/dispatch.h): sees every call that carries the key, may set rets and return
 * true, or pass on with host->redispatch. False: the context failed. */
typedef bool (*wick_key_handler_fn)(void *instance, wick_context *context, const wick_op *op, const wick_value *args,
                                    int nargs, wick_value *rets, int nrets);

/* ---- what the host offers ---- */
struct wick_host {
    uint32_t struct_size;
    uint16_t abi_major;
    uint16_t abi_minor;
    /* errors and log */
    wick_status *(*status_make)(wick_code code, const char *file, int line, const char *format, ...)WICK_PRINTF(4, 5);
    void (*status_free)(wick_status *status);
    void (*log)(wick_registrar *registrar, wick_log_level level, const char *message);
    /* host memory through the runtime's allocator: only between create and destroy of `registrar`'s plugin */
    void *(*allocate)(wick_registrar *registrar, size_t bytes);
    void (*free)(wick_registrar *registrar, void *pointer);
    /* scratch memory of the call's device that lives until the kernel returns; NULL when exhausted */
    void *(*workspace)(const wick_kernel_call *call, size_t bytes);
    /* the plugin's INI section: NULL / fallback if the key is missing. create() asks for every key that it knows: one
     * that it did not ask for is refused as unknown. */
    const char *(*config_string)(const wick_config *config, const char *key, const char *fallback);
    wick_status *(*config_int)(const wick_config *config, const char *key, int64_t fallback, int64_t *out);
    /* registration, during create() only */
    wick_status *(*register_backend)(wick_registrar *registrar, const wick_backend *backend, void *instance);
    /* operators and tensors */
    const wick_op *(*op_find)(wick_context *context, const char *name);
    bool (*call)(wick_context *context, const wick_op *op, const wick_value *args, int nargs, wick_value *rets,
                 int nrets);
    const char *(*op_name)(const wick_op *op);
    wick_tensor *(*retain)(wick_tensor *tensor);
    void (*release)(wick_tensor *tensor);
    /* for operators flagged dynamic-shape: gives output i of the running call its shape and memory */
    wick_status *(*resize_output)(const wick_kernel_call *call, int output, int ndim, const wick_dim *sizes);
    /* a free rank of wick/dispatch.h (1..63) for the plugin's own functionality; during create() only */
    wick_status *(*register_key)(wick_registrar *registrar, int rank, wick_key_handler_fn handler, void *instance);
    bool (*redispatch)(wick_context *context, const wick_op *op, const wick_value *args, int nargs, wick_value *rets,
                       int nrets);
};

/* Error from a kernel or an interface function that has `host`. */
#define WICK_HOST_ERROR(host, code, ...) ((host)->status_make((code), __FILE__, __LINE__, __VA_ARGS__))

#endif
