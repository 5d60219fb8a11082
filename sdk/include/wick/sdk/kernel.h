/* wick/sdk/kernel.h: one call of one kernel, and the row that registers it. */
#ifndef WICK_SDK_KERNEL_H
#define WICK_SDK_KERNEL_H

#include <wick/sdk/abi.h>
#include <wick/value.h>

typedef struct wick_op wick_op;
typedef struct wick_context wick_context;

/* Philox4x32-10 state for one call: element i uses counter offset + i / 4, lane i % 4. */
typedef struct wick_philox {
    uint64_t seed;
    uint64_t offset;
} wick_philox;

/* One call: always the out form. `values` holds nargs arguments in the order of the row's schema and then nouts
 * outputs (tag TENSOR; None for an output that the caller's mask left out). The core has run the shape rule, allocated
 * or checked the outputs and inserted the casts, broadcasts and copies that the row's flags ask for. Everything is
 * borrowed for the call: a kernel that returns before its work is done (a stream) copies what it needs. The memory of
 * the tensors stays for all work that was put on `stream` before the call returns.
 *
 * A row that writes to its argument ("uniform_", "scatter.src" as scatter_) is called in the out form, too: self is an
 * argument like the others, the result is the output behind them.
 *   - Elementwise rows (add_, fill_): an argument may be the output itself, the same elements in the same order; it
 *     never overlaps it in part.
 *   - copy_: the core calls it with self == output, whatever the row's flags and dtypes: src has the output's shape (by
 *     strides of 0, if it is smaller) and any dtype, both have any strides. neg and conj_physical, too, are called
 *     with self == output of any strides, to settle lazy signs.
 *   - All others (scatter_, index_put_, uniform_, normal_, cumsum_): the output is memory of its own, not initialized,
 *     which the core copies to self afterwards; a kernel that writes only some elements copies self to it first. */
typedef struct wick_kernel_call {
    uint32_t struct_size;
    uint16_t nargs;
    uint16_t nouts;
    const wick_op *op;
    const wick_value *values;
    const void *data; /* of the kernel's row */
    void *instance;   /* that registered the kernel */
    const wick_host *host;
    wick_context *context;
    void *stream;              /* of the device's stream interface; NULL: its default stream, or a synchronous device */
    const wick_philox *philox; /* for operators flagged random */
    /* Not NULL while a graph is captured: device memory with {seed, offset} as two uint64, read when the graph runs;
     * the offset in `philox` then counts from there. Only for kernels flagged RANDOM_STATE. */
    const wick_memory *random_state;
    wick_device device;
    uint32_t flags; /* wick_call_flag */
    /* wick_dtype that the shape rule chose. NONE: the operator casts nothing; then the row's `dtypes` are not looked
     * at, and the kernel gets tensors of every dtype (docs/plugin-kernels.md has the list). */
    uint32_t compute_dtype;
    uint32_t reserved;
} wick_kernel_call;

enum wick_call_flag {
    WICK_CALL_DETERMINISTIC = 1,
    WICK_CALL_TF32 = 2,
    WICK_CALL_DENSE = 4 /* elementwise: all tensors are row-major and of one shape, the inputs of the compute dtype, the
                           output of it or bool where the row says so */
};

/* Called by any thread that has a context, one call at a time per context; several contexts may call at once. No core
 * lock is held. An error latches in the context. */
typedef wick_status *(*wick_kernel_fn)(const wick_kernel_call *call);

enum wick_kernel_flag {
    WICK_KERNEL_CONTIGUOUS = 1 << 0, /* wants row-major inputs and outputs */
    WICK_KERNEL_FUSED_CAST = 1 << 1, /* reads and writes operands of any dtype, computing in the common one */
    WICK_KERNEL_DETERMINISTIC = 1 << 2,
    WICK_KERNEL_CAPTURE_SAFE = 1 << 3,      /* may run while a graph is captured */
    WICK_KERNEL_NO_BROADCAST = 1 << 4,      /* elementwise: wants inputs of the output's shape */
    WICK_KERNEL_HOST_NUMBERS = 1 << 5,      /* reads 0-dim tensors of the host through wick_data(), as they are */
    WICK_KERNEL_REGISTERED_DTYPES = 1 << 6, /* takes element types of plugins too (register_dtype) */
    WICK_KERNEL_RANDOM_STATE = 1 << 7       /* can read its random state from device memory: wick_kernel_call */
};

/* Registers a kernel for an operator. The schema is best the full text that the plugin was built for (wick/sdk/
 * schemas.h): arguments are then matched by name, so that host and kernel may differ by defaulted arguments. An
 * argument of the host's that the kernel lacks must equal its default, else the kernel does not take the call; one of
 * the kernel's that the host lacks has the kernel's own default. A row that cannot fit is refused with a reason
 * (`wick info --why`); the others stand. A bare name ("add.Tensor") takes the host's schema as it is. */
typedef struct wick_kernel_row {
    uint32_t struct_size;
    uint32_t flags;     /* wick_kernel_flag */
    const char *schema; /* required */
    wick_kernel_fn fn;  /* required */
    const void *data;   /* the kernel's own. Optional: NULL. */
    uint32_t dtypes;    /* WICK_DTYPE_BITs of the compute dtype; 0: any */
    uint32_t reserved;
} wick_kernel_row;

#define WICK_KERNEL_ROW(schema_, fn_, dtypes_, flags_) \
    { sizeof(wick_kernel_row), (flags_), (schema_), (fn_), NULL, (dtypes_), 0 }
/* With the kernel's own data. */
#define WICK_KERNEL_ROW_WITH(schema_, fn_, data_, dtypes_, flags_) \
    { sizeof(wick_kernel_row), (flags_), (schema_), (fn_), (data_), (dtypes_), 0 }

/* Sets for `dtypes`. */
#define WICK_DTYPES_F8 (WICK_DTYPE_BIT(WICK_F8E4M3FN) | WICK_DTYPE_BIT(WICK_F8E5M2))
#define WICK_DTYPES_FLOAT \
    (WICK_DTYPE_BIT(WICK_F16) | WICK_DTYPE_BIT(WICK_BF16) | WICK_DTYPE_BIT(WICK_F32) | WICK_DTYPE_BIT(WICK_F64))
#define WICK_DTYPES_COMPLEX (WICK_DTYPE_BIT(WICK_C64) | WICK_DTYPE_BIT(WICK_C128))
#define WICK_DTYPES_INT                                                                                        \
    (WICK_DTYPE_BIT(WICK_U8) | WICK_DTYPE_BIT(WICK_I8) | WICK_DTYPE_BIT(WICK_I16) | WICK_DTYPE_BIT(WICK_I32) | \
     WICK_DTYPE_BIT(WICK_I64))
#define WICK_DTYPES_UINT (WICK_DTYPE_BIT(WICK_U16) | WICK_DTYPE_BIT(WICK_U32) | WICK_DTYPE_BIT(WICK_U64))

/* Argument or output `i`, NULL for None. After host->resize_output an output is the same tensor with its new sizes and
 * memory. */
static inline wick_tensor *wick_arg_tensor(const wick_kernel_call *k, int i) {
    return k->values[i].tag == WICK_TAG_TENSOR ? k->values[i].as.tensor : NULL;
}
static inline wick_tensor *wick_out_tensor(const wick_kernel_call *k, int i) {
    return wick_arg_tensor(k, k->nargs + i);
}

/* A dimension of a tensor with `ndim` of them as 0 .. ndim - 1: -1 is the last. The shape rule has checked its range; 0
 * for a tensor without dimensions, which counts as one of size 1. */
static inline int wick_wrap_dim(int64_t dim, int ndim) { return ndim == 0 ? 0 : (int)(dim < 0 ? dim + ndim : dim); }
/* The same for an `int dim` argument. */
static inline int wick_dim_of(const wick_value *value, int ndim) { return wick_wrap_dim(value->as.i, ndim); }

/* Element `i` of an `int[n]` argument: a list of one, or a number, stands for all. An empty list and None have no
 * elements: `fallback` (a pooling's stride: its kernel size). */
static inline int64_t wick_int_at(const wick_value *value, uint32_t i, int64_t fallback) {
    if (value->tag == WICK_TAG_I64) return value->as.i;
    if (value->tag != WICK_TAG_I64_LIST || value->count == 0) return fallback;
    return value->as.ints[value->count == 1 ? 0 : i < value->count ? i : value->count - 1];
}

/* Bits of the dimensions that an argument names: None and the empty list mean all. Negative ones count from the end. */
static inline uint64_t wick_reduced_dims(const wick_value *dims, int ndim) {
    const uint64_t all = ndim < 64 ? (UINT64_C(1) << ndim) - 1 : ~UINT64_C(0);
    uint64_t bits = 0;
    const int64_t *list = dims->tag == WICK_TAG_I64 ? &dims->as.i : dims->as.ints;
    const uint32_t n = dims->tag == WICK_TAG_I64 ? 1 : dims->tag == WICK_TAG_I64_LIST ? dims->count : 0;
    if (!n || !ndim) return all;
    for (uint32_t i = 0; i < n; ++i) bits |= UINT64_C(1) << wick_wrap_dim(list[i], ndim);
    return bits & all;
}

#endif
