/* From a call to a kernel: the operator table, key handlers, execution.
 *
 * A call passes  op_call1 / wick_call -> dispatch (keys, device) -> handlers by rank -> execute (kernel, decomposition,
 * fallback, error). Without a key above DENSE it goes to execute at once. */
#ifndef WICK_CORE_DISPATCH_H
#define WICK_CORE_DISPATCH_H

#include "runtime.h"

#define OP_MAX_SAVES 10

/* One tensor that a gradient rule wants kept. */
typedef struct op_save {
    uint8_t result; /* 1: a return, 0: an argument */
    uint8_t index;
    int8_t only_if; /* kept only if this argument needs a gradient; -1 always */
    uint8_t list;   /* the argument is a list */
} op_save;

typedef struct wick_op {
    const op_row *def;
    const char *schema; /* the variant's own text */
    op_arg *args, *rets;
    const struct wick_op *functional; /* the functional variant */
    const struct wick_op *same_as;    /* what runs in its place */
    int16_t id;                       /* in op_ids.h; -1: a plugin's */
    int16_t row;                      /* index of the row: kernels and fallback counts */
    uint8_t variant;                  /* op_variant */
    uint8_t nargs, nrets;
    uint8_t base_nargs; /* of the functional variant */
    uint8_t ret_list;
    uint8_t tensor_arg_count, list_arg_count;
    uint8_t tensor_args[OP_MAX_ARGS]; /* indices of Tensor and Tensor? arguments */
    uint8_t list_args[8];             /* indices of Tensor[] arguments */
    int8_t device_arg;                /* index of a Device argument, -1 */
    int8_t mutated_arg;               /* first one written to, -1 */
    uint8_t save_count;
    op_save saves[OP_MAX_SAVES];
    uint8_t save_lists, save_results; /* some save is of a list; of a return */
    uint8_t plain_args;               /* every argument is a tensor, none optional: a graph node need not keep them */
    uint8_t edges[OP_MAX_ARGS];       /* of a tensor argument: its edge, if no argument is a list */
    uint8_t dense_args;        /* POINTWISE, not out=: the first n arguments are its tensors, none optional; else 0 */
    uint32_t dense_dtypes;     /* for which the shape rule of alike tensors is "like the inputs" (or bool) */
    uint32_t required_tensors; /* bit i: argument i may not be None */
    uint32_t mutated_args;     /* bit i: argument i is written to */
    char name[96];             /* "add_.Tensor" */
    char backward_name[64];    /* "AddBackward0" */
} op_entry;

/* Entries and what they point to; they never move. */
typedef struct op_block {
    struct op_block *next;
    op_entry *entries;
    int count;
    op_arg *arena; /* every entry's args and rets */
    size_t arena_used, arena_capacity;
} op_block;

/* Names of all operators. Immutable: a plugin's operators make a new one. */
struct op_index {
    const struct op_index *older;
    int count;
    uint32_t mask;            /* of `hashed` */
    const op_entry **by_name; /* sorted */
    const op_entry **hashed;  /* open addressing by WICK_NAME_HASH */
};

#define OP_REGISTERED_ROWS 256 /* operators that plugins may add */

struct op_table {
    op_entry *entries; /* the core's, by op_ids.h */
    int rows;          /* the core's, then the plugins' */
    _Atomic(const op_index *) index;
    op_block blocks; /* the core's first */
};

wick_status *op_table_create(wick_runtime *rt, op_table **out);
void op_table_destroy(wick_runtime *rt, op_table *table);
static inline const op_index *op_table_index(const op_table *table) {
    return atomic_load_explicit(&table->index, memory_order_acquire);
}
/* By name or full schema text, with or without "aten::". NULL if unknown. */
const op_entry *op_table_find(const op_table *table, const char *name);
const op_entry *op_index_find(const op_index *index, const char *name);
const op_entry *op_table_find_hashed(const op_table *table, const char *name, uint32_t hash);
/* For arrays by row: room for the plugins' too. */
int op_table_rows(void);
/* Adds rows, whose texts the caller keeps. They are found once op_table_publish is given the index. Callers exclude
 * each other. */
wick_status *op_table_extend(wick_runtime *rt, op_table *table, const op_row *const *rows, int count,
                             const op_index **out);
void op_table_publish(op_table *table, const op_index *index);
/* Undoes the newest op_table_extend, whose index was not published. */
void op_table_discard(wick_runtime *rt, op_table *table, const op_index *index);
const char *op_full_name(const wick_op *op);

/* Called by the generated typed functions: arguments complete, in schema order. */
wick_tensor *op_call1(wick_context *c, int op_id, const wick_value *args, int nargs);
bool op_calln(wick_context *c, int op_id, const wick_value *args, int nargs, wick_value *rets, int nrets);
/* Decompositions that have a choice ask this. */
bool op_has_kernel(wick_context *c, int op_id, wick_device device);

static inline bool value_is_number(const wick_value *v) {
    const uint32_t numbers = 1u << WICK_TAG_BOOL | 1u << WICK_TAG_I64 | 1u << WICK_TAG_F64 | 1u << WICK_TAG_C128;
    return numbers >> v->tag & 1;
}

/* A call on its way down. */
typedef struct call_frame {
    const op_entry *op;
    const wick_value *args;
    wick_value *rets;
    uint64_t keys;
    wick_device device;
    wick_tensor *dense; /* all tensors are row-major and have this one's shape, dtype and device; NULL: not known */
    bool numbers;       /* ...but for 0-dim numbers among the arguments */
} call_frame;

/* Differentiated through its decomposition: an implicit composite, or an explicit one without a gradient rule. */
static inline bool op_is_transparent(const op_row *row) {
    bool records = !row->grad && !(row->flags & NOT_DIFFERENTIABLE);
    return row->kind == WICK_OP_IMPLICIT || (row->kind == WICK_OP_EXPLICIT && records && row->compose);
}

/* Can return i, of this dtype, have a gradient? */
static inline bool op_differentiates(const op_entry *op, int i, wick_dtype dtype) {
    return wick_dtype_is_differentiable(dtype) && !(op->def->nondiff_rets >> i & 1);
}

/* Goes on below `rank`; the frame is as before when it returns. */
bool dispatch_below(context_impl *c, call_frame *f, int rank);
/* The bottom: view rule, core function, kernel, decomposition, fallback. */
bool execute(context_impl *c, call_frame *f);
/* Runs a decomposition in a scope of its own; its returns go to the scope around. */
bool execute_compose(context_impl *c, call_frame *f);
/* The autograd layer (autograd/record.c). */
bool autograd_dispatch(context_impl *c, call_frame *f);
/* Of an out form. False: its arguments need a gradient (latched). */
bool autograd_allows_out(context_impl *c, const call_frame *f);

/* Runs the device's own kernel for row `op` on given values (nargs + nouts), without any rule. NULL: no kernel. */
bool kernel_exists(wick_runtime *rt, wick_device device, const op_entry *op);
/* Is there one, and does it take elements of dtype `compute` and, unless the tensors are row-major, any strides? */
bool kernel_takes(wick_runtime *rt, wick_device device, const op_entry *op, wick_dtype compute, bool row_major);
wick_status *kernel_run(context_impl *c, const op_entry *op, wick_device device, const wick_value *values, int nargs,
                        int nouts, wick_dtype compute);

void *dispatch_workspace(context_impl *c, size_t bytes);
wick_status *dispatch_device_workspace(const wick_kernel_call *call, uint64_t bytes, wick_memory *out);
wick_status *dispatch_resize_output(const wick_kernel_call *call, int output, int ndim, const wick_dim *sizes);

/* ---- shape rules' helpers (infer.c) ---- */
static inline wick_tensor *arg_tensor(const wick_value *args, int i) {
    return args[i].tag == WICK_TAG_TENSOR ? args[i].as.tensor : NULL;
}
/* PyTorch's result type over the tensor arguments (dimensioned > 0-dim > wrapped numbers). */
wick_status *infer_result_type(const op_infer *ix, wick_dtype *out);
/* The shape rule of POINTWISE rows that name none: broadcast, promote, and as the row's flags say. */
wick_status *infer_pointwise(op_infer *ix);
wick_dtype dtype_to_real(wick_dtype d); /* c64 -> f32; others unchanged */
/* Broadcasts sizes of b into a. */
wick_status *infer_broadcast(int *ndim, wick_dim *sizes, int b_ndim, const wick_dim *b_sizes);
/* -n..n-1 -> 0..n-1, with PyTorch's error text. A 0-dim tensor has the dims -1 and 0. */
wick_status *wrap_dim(int64_t dim, int ndim, int *out);

#endif
