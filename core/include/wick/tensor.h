/* wick/tensor.h: the tensor and its storage, as read by applications and plugins.
 *
 * Ownership: what an operator returns belongs to the innermost scope of its context (wick/context.h).
 * wick_retain/wick_release count references; they take no context and work on any thread. Everything else about a
 * tensor is thread-compatible: concurrent reads are fine, a write needs the caller's exclusion. */
#ifndef WICK_TENSOR_H
#define WICK_TENSOR_H

#include <wick/dim.h>
#include <wick/dtype.h>
#include <wick/status.h>

/* A device: a type given at load time and an index. Type 0 is "none", type 1 the core's meta device. */
typedef struct wick_device {
    int16_t type;
    int16_t index;
} wick_device;

#define WICK_DEVICE_TYPE_NONE 0
#define WICK_DEVICE_TYPE_META 1
#define WICK_DEVICE_TYPE_LIMIT 64

static inline bool wick_device_equal(wick_device a, wick_device b) { return a.type == b.type && a.index == b.index; }

typedef enum wick_layout { WICK_STRIDED = 0 } wick_layout;

typedef enum wick_memory_format {
    WICK_CONTIGUOUS_FORMAT = 0,
    WICK_PRESERVE_FORMAT = 1,
    WICK_CHANNELS_LAST = 2,
    WICK_CHANNELS_LAST_3D = 3
} wick_memory_format;

/* Device memory: a plugin's handle, a byte offset into it, and the bytes that may be used. `data` is the address
 * of the first byte if the plugin's memory interface says ADDRESSABLE, else NULL. */
typedef struct wick_memory {
    void *handle;
    uint64_t offset_bytes;
    uint64_t bytes;
    void *data;
} wick_memory;

/* Read-only prefix of a storage; the core owns what follows. */
typedef struct wick_storage {
    uint32_t struct_size;
    wick_device device;
    wick_memory memory;
    uint64_t version; /* counts in-place writes, shared by all views; atomically read by the core */
} wick_storage;

enum wick_tensor_flag {
    WICK_TENSOR_CONJ = 1 << 0,           /* lazily conjugated */
    WICK_TENSOR_NEG = 1 << 1,            /* lazily negated */
    WICK_TENSOR_WRAPPED_NUMBER = 1 << 2, /* made from a scalar: weak in type promotion */
    WICK_TENSOR_INFERENCE = 1 << 3,      /* made in inference mode */
    WICK_TENSOR_CONTIGUOUS = 1 << 4,     /* row-major without gaps */
    WICK_TENSOR_PARAMETER = 1 << 5       /* a module's parameter */
};

/* Read-only, size-prefixed prefix of a tensor. Data is always storage + offset. */
typedef struct wick_tensor {
    uint32_t struct_size;
    uint8_t dtype; /* wick_dtype */
    uint8_t ndim;
    uint16_t flags; /* wick_tensor_flag */
    wick_device device;
    uint32_t layout; /* wick_layout */
    uint64_t keys;   /* functionality bits, wick/dispatch.h */
    wick_storage *storage;
    int64_t offset; /* in elements */
    int64_t numel;
    const wick_dim *sizes;
    const wick_dim *strides; /* in elements */
} wick_tensor;

static inline int wick_ndim(const wick_tensor *t) { return t->ndim; }
static inline int64_t wick_numel(const wick_tensor *t) { return t->numel; }
static inline wick_dim wick_size(const wick_tensor *t, int dim) { return t->sizes[dim < 0 ? dim + t->ndim : dim]; }
static inline wick_dim wick_stride(const wick_tensor *t, int dim) { return t->strides[dim < 0 ? dim + t->ndim : dim]; }
static inline wick_dtype wick_tensor_dtype(const wick_tensor *t) { return (wick_dtype)t->dtype; }
static inline bool wick_is_contiguous(const wick_tensor *t) { return (t->flags & WICK_TENSOR_CONTIGUOUS) != 0; }

/* Address of element 0 of an addressable tensor, else NULL. */
static inline void *wick_data(const wick_tensor *t) {
    char *base = (char *)t->storage->memory.data;
    return base ? base + (size_t)t->offset * wick_dtype_bytes((wick_dtype)t->dtype) : NULL;
}

WICK_BEGIN_DECLS
/* Adds or drops a reference. NULL is allowed. Thread-safe; retain returns its argument. */
WICK_API wick_tensor *wick_retain(wick_tensor *tensor);
WICK_API void wick_release(wick_tensor *tensor);
/* True if a row-major (or channels-last) walk of the elements has no gaps. */
WICK_API bool wick_is_contiguous_as(const wick_tensor *tensor, wick_memory_format format);
/* True if the two tensors share storage. */
WICK_API bool wick_shares_storage(const wick_tensor *a, const wick_tensor *b);
/* The storage's version counter. */
WICK_API uint64_t wick_version(const wick_tensor *tensor);
WICK_END_DECLS

#endif
