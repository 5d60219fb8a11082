/* wick/context.h: what one thread works with: modes, scopes, the first error, generators.
 *
 * A context is used by one thread at a time. Scopes own what operators return: opening a scope, calling operators and
 * closing it frees every result that was not kept or returned outward. An operator without an open scope is an error.
 *
 * The first failure latches. On a failed context operators return NULL before they look at their arguments, so one
 * check at the end of an expression sees the whole story. Release, scope close and reading the error still work. */
#ifndef WICK_CONTEXT_H
#define WICK_CONTEXT_H

#include <wick/runtime.h>
#include <wick/value.h>

struct wick_host;

/* Its first word points to the host's function table, so that plugins link nothing. */
typedef struct wick_context {
    const struct wick_host *host;
} wick_context;

/* All modes in one copyable value. */
typedef struct wick_modes {
    uint64_t include_keys; /* keys that every call carries */
    uint64_t exclude_keys; /* keys that no call carries: no_grad excludes AUTOGRAD */
    uint8_t grad;          /* recording allowed */
    uint8_t inference;
    uint8_t anomaly; /* check gradients for NaN and Inf, remember forward calls */
    uint8_t deterministic;
    uint8_t tf32;
    uint8_t autocast; /* reserved: wick_dtype */
    uint8_t reserved[2];
    int32_t transform_depth; /* reserved */
    int32_t reserved2;
} wick_modes;

typedef size_t wick_scope; /* a mark: pass it back to close */

WICK_BEGIN_DECLS
/* Creates a context with grad mode on. The caller destroys it; the runtime stays alive until then. */
WICK_API WICK_MUST_USE wick_status *wick_context_create(wick_runtime *runtime, wick_context **out);
/* A context for another thread, with the parent's modes and a generator forked from the parent's. */
WICK_API WICK_MUST_USE wick_status *wick_context_create_child(wick_context *parent, wick_context **out);
/* Latches the child's first error in the parent, then destroys the child. */
WICK_API void wick_context_join(wick_context *parent, wick_context *child);
/* Closes every open scope. NULL is allowed. */
WICK_API void wick_context_destroy(wick_context *context);
WICK_API wick_runtime *wick_context_runtime(wick_context *context);

/* ---- scopes ---- */
WICK_API wick_scope wick_scope_open(wick_context *c);
/* Releases what the scope (and any scope inside it) still owns. */
WICK_API void wick_scope_close(wick_context *c, wick_scope scope);
/* Closes `scope`, but moves `t` (may be NULL) to the scope around it; without one the caller owns a reference. */
WICK_API wick_tensor *wick_scope_return(wick_context *c, wick_scope scope, wick_tensor *t);
/* Makes the innermost scope own one reference to `t`, which the caller gives. NULL passes through. */
WICK_API wick_tensor *wick_scope_adopt(wick_context *c, wick_tensor *t);
/* Ends a temporary early: takes it from the scope that owns it. */
WICK_API void wick_drop(wick_context *c, wick_tensor *t);
/* Gives the caller a reference of its own, to be released; the scope's stays. NULL passes through. */
WICK_API wick_tensor *wick_keep(wick_context *c, wick_tensor *t);

/* ---- errors ---- */
WICK_API bool wick_failed(const wick_context *c);
/* Lends the latched error, NULL if none. */
WICK_API const wick_status *wick_context_status(const wick_context *c);
/* Returns the latched error to the caller, who frees it, and clears it. NULL if none. */
WICK_API WICK_MUST_USE wick_status *wick_status_take(wick_context *c);
/* Latches `status` (owned) unless an error is already latched; NULL is ignored. Returns true if status was an error. */
WICK_API bool wick_fail(wick_context *c, wick_status *status);

/* ---- modes ---- */
WICK_API wick_modes wick_modes_get(const wick_context *c);
WICK_API void wick_modes_set(wick_context *c, wick_modes modes);
/* Each returns the modes before, to be restored with wick_modes_set. */
WICK_API wick_modes wick_set_grad_enabled(wick_context *c, bool enabled);
WICK_API wick_modes wick_no_grad(wick_context *c);
WICK_API wick_modes wick_inference_mode(wick_context *c);
WICK_API wick_modes wick_set_anomaly(wick_context *c, bool enabled);
WICK_API bool wick_is_grad_enabled(const wick_context *c);

/* ---- defaults and random numbers ---- */
/* The device of factories that name none: the runtime's host unless set. */
WICK_API void wick_set_default_device(wick_context *c, wick_device device);
WICK_API wick_device wick_default_device(const wick_context *c);
/* Floating dtype of factories that name none and of integer inputs promoted to floating: F32 unless set. */
WICK_API void wick_set_default_dtype(wick_context *c, wick_dtype dtype);
WICK_API wick_dtype wick_default_dtype(const wick_context *c);
/* Philox4x32-10 with counter = offset + logical index / 4; equal on every device and thread count. */
WICK_API void wick_manual_seed(wick_context *c, uint64_t seed);
WICK_API void wick_rng_get(const wick_context *c, uint64_t *seed, uint64_t *offset);
WICK_API void wick_rng_set(wick_context *c, uint64_t seed, uint64_t offset);

/* ---- tensors from and to host memory ---- */
/* A new contiguous tensor on `device` with a copy of `data` (row-major; NULL: uninitialized). Owned by the scope. */
WICK_API wick_tensor *wick_tensor_from_host(wick_context *c, const void *data, wick_dtype dtype, int ndim,
                                            const wick_dim *sizes, wick_device device);
/* Wraps the caller's host buffer without a copy; `deleter(user)` runs when the last tensor on it dies. `strides` in
 * elements, NULL for row-major; none may be negative. On failure the deleter does not run. */
WICK_API wick_tensor *wick_tensor_wrap(wick_context *c, void *data, uint64_t bytes, wick_dtype dtype, int ndim,
                                       const wick_dim *sizes, const wick_dim *strides, void (*deleter)(void *user),
                                       void *user);
/* Copies all elements, row-major, into `buffer` of `bytes` (must be exactly numel * itemsize). Waits for the device. */
WICK_API WICK_MUST_USE wick_status *wick_tensor_to_host(wick_context *c, wick_tensor *t, void *buffer, size_t bytes);
/* The one element of a one-element tensor. NaN / 0 on a failed context. */
WICK_API double wick_item(wick_context *c, wick_tensor *t);
WICK_API int64_t wick_item_int(wick_context *c, wick_tensor *t);
/* PyTorch's text of a tensor, as a NUL-terminated string that the caller frees with free(). */
WICK_API WICK_MUST_USE wick_status *wick_tensor_to_string(wick_context *c, wick_tensor *t, char **out);
WICK_END_DECLS

#endif
