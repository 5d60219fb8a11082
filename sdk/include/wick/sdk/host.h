/* wick/sdk/host.h: the table through which a plugin reaches everything of wick. */
#ifndef WICK_SDK_HOST_H
#define WICK_SDK_HOST_H

#include <wick/dispatch.h>
#include <wick/sdk/interface.h>
#include <wick/sdk/operator.h>

/* A handler of a functionality key (wick/dispatch.h): sees every call that carries the key, may set rets and return
 * true, or pass on with host->redispatch. False: the context failed. */
typedef bool (*wick_key_handler_fn)(void *instance, wick_context *context, const wick_op *op, const wick_value *args,
                                    int nargs, wick_value *rets, int nrets);

/* Thread-safe unless a comment says otherwise. Registration is possible only while create() runs; what it registers
 * takes effect if create() succeeds, all of it or nothing. */
struct wick_host {
    uint32_t struct_size;
    uint16_t abi_major;
    uint16_t abi_minor;
    /* ---- errors and log ---- */
    wick_status *(*status_make)(wick_code code, const char *file, int line, const char *format, ...)WICK_PRINTF(4, 5);
    void (*status_free)(wick_status *status);
    void (*log)(wick_registrar *registrar, wick_log_level level, const char *message);
    /* ---- host memory through the runtime's allocator ---- */
    void *(*allocate)(wick_registrar *registrar, size_t bytes); /* NULL when exhausted */
    void (*free)(wick_registrar *registrar, void *pointer);
    /* ---- the plugin's INI section, during create() only: NULL or fallback if the key is missing. create() asks for
     * every key that it knows: one that nobody asked for is refused as unknown. Strings live as long as create(). ---- */
    const char *(*config_string)(const wick_config *config, const char *key, const char *fallback);
    wick_status *(*config_int)(const wick_config *config, const char *key, int64_t fallback, int64_t *out);
    wick_status *(*config_bool)(const wick_config *config, const char *key, bool fallback, bool *out);
    wick_status *(*config_double)(const wick_config *config, const char *key, double fallback, double *out);
    /* A path, relative to the INI's folder, made absolute; "" if there is neither key nor fallback. */
    wick_status *(*config_path)(const wick_config *config, const char *key, const char *fallback, char *buffer,
                                size_t bytes);
    /* ---- registration; tables and rows are lent until destroy() ---- */
    wick_status *(*register_backend)(wick_registrar *registrar, const wick_backend *backend, void *instance); /* once */
    wick_status *(*register_operators)(wick_registrar *registrar, const wick_operator_row *rows, uint64_t count,
                                       void *instance);
    /* Kernels for a device of another plugin that is loaded already, named by its device name ("cpu"); "*": for every
     * such device that is ADDRESSABLE and synchronous. A kernel that the device has is replaced. */
    wick_status *(*register_kernels)(wick_registrar *registrar, const char *device_name, const wick_kernel_row *rows,
                                     uint64_t count, void *instance);
    /* A free rank of wick/dispatch.h (1..63) for a functionality key. */
    wick_status *(*register_key)(wick_registrar *registrar, int rank, wick_key_handler_fn handler, void *instance);
    wick_status *(*register_dtype)(wick_registrar *registrar, const wick_dtype_row *row, wick_dtype *out);
    wick_status *(*register_layout)(wick_registrar *registrar, const char *name, uint32_t *out_layout);
    /* A table of functions that other plugins and applications find by name and version. */
    wick_status *(*publish)(wick_registrar *registrar, const char *name, uint32_t version, const void *table,
                            void *instance);
    /* NULL if nobody has published it; *out_instance (may be NULL) is what its functions take. */
    const void *(*find)(wick_registrar *registrar, const char *name, uint32_t version, void **out_instance);
    /* The public functions of <wick/...> as one table, for wick/sdk/link.h. NULL if this host is older than `version`. */
    const void *(*api)(uint32_t version);
    /* ---- inside a kernel; `call` is the running one ---- */
    /* Host scratch memory that lives until the kernel returns; NULL when exhausted. */
    void *(*workspace)(const wick_kernel_call *call, size_t bytes);
    /* Scratch memory of the call's device, for work put on call->stream before the kernel returns. */
    wick_status *(*device_workspace)(const wick_kernel_call *call, uint64_t bytes, wick_memory *out);
    /* The host role's workers (interface "threads"), else the caller alone. Returns when all is done. */
    void (*parallel_for)(const wick_kernel_call *call, int64_t n, int64_t grain, wick_range_fn fn, void *user);
    /* For operators with results of dynamic shape: gives output i of the call its shape and memory. */
    wick_status *(*resize_output)(const wick_kernel_call *call, int output, int ndim, const wick_dim *sizes);
    /* ---- operators and tensors ---- */
    const wick_op *(*op_find)(wick_context *context,
                              const char *name); /* NULL if unknown; lives as long as the runtime */
    const char *(*op_name)(const wick_op *op);
    int (*op_argument)(const wick_op *op, const char *name); /* position, -1 if the schema has none */
    bool (*call)(wick_context *context, const wick_op *op, const wick_value *args, int nargs, wick_value *rets,
                 int nrets);
    /* Calls by name; `hash` is wick_name_hash of it (wick/call.h): for typed functions. */
    bool (*invoke)(wick_context *context, const char *name, uint32_t hash, const wick_value *args, int nargs,
                   wick_value *rets, int nrets);
    bool (*redispatch)(wick_context *context, const wick_op *op, const wick_value *args, int nargs, wick_value *rets,
                       int nrets);
    wick_tensor *(*retain)(wick_tensor *tensor);
    void (*release)(wick_tensor *tensor);
};

/* Error from a kernel or an interface function that has `host`. */
#define WICK_HOST_ERROR(host, code, ...) ((host)->status_make((code), __FILE__, __LINE__, __VA_ARGS__))

#endif
