/* wick/call.h: operators by name: find one, inspect it, call it with boxed arguments, interpose. */
#ifndef WICK_CALL_H
#define WICK_CALL_H

#include <wick/context.h>
#include <wick/dispatch.h>

typedef struct wick_op wick_op;

typedef enum wick_op_kind {
    WICK_OP_PRIMITIVE = 1, /* a device kernel */
    WICK_OP_EXPLICIT = 2,  /* gradient rule of its own and a decomposition below autograd */
    WICK_OP_IMPLICIT = 3,  /* decomposes above autograd */
    WICK_OP_VIEW = 4,      /* the core's: shares storage */
    WICK_OP_CORE = 5       /* the core's: factories, copies, metadata */
} wick_op_kind;

typedef struct wick_op_info {
    uint32_t struct_size;
    uint32_t flags;
    wick_op_kind kind;
    int32_t differentiable; /* 1: it has a gradient rule or decomposes into operators that have */
    const char *name;       /* "add.Tensor" */
    const char *schema;     /* full */
    int32_t nargs, nrets;
} wick_op_info;

/* FNV-1a of an operator's name, by which it is looked up. */
static inline uint32_t wick_name_hash_n(const char *name, size_t bytes) {
    uint32_t hash = UINT32_C(2166136261);
    for (size_t i = 0; i < bytes; ++i) hash = (hash ^ (uint8_t)name[i]) * UINT32_C(16777619);
    return hash;
}
static inline uint32_t wick_name_hash(const char *name) {
    size_t bytes = 0;
    while (name[bytes]) ++bytes;
    return wick_name_hash_n(name, bytes);
}

WICK_BEGIN_DECLS
/* Looks an operator up by ATen's name ("add.Tensor", "relu", "aten::relu"). NULL if unknown. Do it once, not per call. */
WICK_API const wick_op *wick_op_find(wick_runtime *runtime, const char *name);
/* Operators in name order; NULL past the end. */
WICK_API const wick_op *wick_op_at(wick_runtime *runtime, int index);
/* Fills what out->struct_size has room for. */
WICK_API void wick_op_describe(const wick_op *op, wick_op_info *out);
/* True if the device type has a kernel for it; false if it decomposes, falls back or fails there. */
WICK_API bool wick_op_has_kernel(wick_runtime *runtime, const wick_op *op, int device_type);
/* How often `op` fell back to the host on devices of that type. */
WICK_API uint64_t wick_op_fallbacks(wick_runtime *runtime, const wick_op *op, int device_type);

/* Calls `op` with `nargs` arguments in schema order; missing trailing ones take their defaults. Returned tensors
 * belong to the innermost scope. `nrets` must be the schema's count of returns. A list of tensors comes back in a
 * TENSOR_LIST slot whose array lives as long as the scope. Returns false on a failed context. */
WICK_API bool wick_call(wick_context *c, const wick_op *op, const wick_value *args, int nargs, wick_value *rets,
                        int nrets);
/* Position of an argument by name, -1 if the schema has none. */
WICK_API int wick_op_argument(const wick_op *op, const char *name);

/* An interposer sees every call at its rank. It may inspect, replace (set rets and return true) or pass on with
 * wick_redispatch. Returning false means the context failed. */
typedef bool (*wick_interposer_fn)(void *user, wick_context *c, const wick_op *op, const wick_value *args, int nargs,
                                   wick_value *rets, int nrets);
typedef enum wick_interposer_rank { WICK_INTERPOSE_API = 0, WICK_INTERPOSE_KERNEL = 1 } wick_interposer_rank;
/* Pushes on the context's stack of that rank; the newest runs first. While one runs, only those below it see its calls;
 * what it pushes takes effect when it returns, and popping the newest may end the running one itself. */
WICK_API bool wick_interposer_push(wick_context *c, wick_interposer_rank rank, wick_interposer_fn fn, void *user);
WICK_API void wick_interposer_pop(wick_context *c, wick_interposer_rank rank);
/* From an interposer or a key handler: go on with the next one below. */
WICK_API bool wick_redispatch(wick_context *c, const wick_op *op, const wick_value *args, int nargs, wick_value *rets,
                              int nrets);
WICK_END_DECLS

#endif
