/* The operator row and what its rules see. One row per operator (core/ops/ *.inc); everything else derives from it:
 * the in-place and out variants, the boxed call, the typed functions, the docs and the tests' lists.
 *
 * A row is written
 *     OP("mul.Tensor(Tensor self, Tensor other) -> Tensor", PRIMITIVE,
 *        .infer = infer_arithmetic, .grad = d_mul, .saves = "self:other other:self", .flags = POINTWISE | INPLACE | OUT)
 */
#ifndef WICK_OP_H
#define WICK_OP_H

#include <wick/call.h>

#define OP_MAX_ARGS 24
#define OP_MAX_RETS 8

/* What a shape rule says about one output. */
typedef struct op_meta {
    wick_dtype dtype;
    int ndim;
    bool absent;      /* this output is None (masked out) */
    bool has_strides; /* else contiguous */
    wick_dim sizes[WICK_MAX_DIMS];
    wick_dim strides[WICK_MAX_DIMS];
} op_meta;

typedef struct op_infer {
    wick_context *c;
    const wick_op *op;
    const wick_value *args; /* complete: defaults are filled in */
    wick_dtype compute;     /* the dtype that cast arguments are brought to; NONE: no casts */
    uint32_t cast_args;     /* bit i: argument i is cast to `compute`; all tensor arguments unless the rule says less */
    bool decompose;         /* kernels do not take this call: decompose it; outs need not be filled */
    op_meta outs[OP_MAX_RETS];
} op_infer;

/* Shape-and-dtype rule: fills outs (and compute); also all there is to the meta device. */
typedef wick_status *(*op_infer_fn)(op_infer *ix);
/* A decomposition, written in public operators. rets[i] are scope-owned. A failure latches in the context. */
typedef void (*op_compose_fn)(wick_context *c, const wick_value *args, wick_value *rets);

typedef struct op_view_geometry {
    int ndim;
    wick_dim sizes[WICK_MAX_DIMS];
    wick_dim strides[WICK_MAX_DIMS];
    int64_t offset;      /* absolute, in elements of the result's dtype */
    wick_dtype dtype;    /* NONE: self's */
    uint32_t flip_flags; /* WICK_TENSOR_CONJ / NEG to toggle */
} op_view_geometry;
/* A view rule: argument 0 is the viewed tensor. */
typedef wick_status *(*op_view_fn)(const wick_value *args, op_view_geometry *out);

typedef struct backward_call backward_call; /* autograd/rule.h */
typedef void (*op_grad_fn)(backward_call *b);

enum op_flag {
    POINTWISE = 1 << 0,           /* elementwise over broadcast tensor arguments */
    INPLACE = 1 << 1,             /* derive name_ */
    OUT = 1 << 2,                 /* derive name.out */
    DYNAMIC_SHAPE = 1 << 3,       /* the kernel sets its outputs' shapes */
    RANDOM = 1 << 4,              /* advances the generator by ceil(numel(out0) / 4) */
    NO_FALLBACK = 1 << 5,         /* not safe to run on the host in another device's place */
    UNDEFINED_GRAD = 1 << 6,      /* the rule handles undefined (NULL) output gradients itself */
    MIXED_DEVICE = 1 << 7,        /* tensor arguments may live on different devices */
    MUTATES = 1 << 8,             /* the schema itself is in-place (copy_, zero_) */
    FACTORY = 1 << 9,             /* no tensor argument decides the device */
    NOT_DIFFERENTIABLE = 1 << 10, /* outputs never require grad */
    CONJ_OK = 1 << 11,            /* understands lazily conjugated / negated inputs */
    FLOAT_FAST = 1 << 12,         /* POINTWISE: for floating inputs .infer does no more than the flags say */
    PROMOTE_FLOAT = 1 << 13,      /* POINTWISE: integral inputs compute in the default floating dtype */
    BOOL_RESULT = 1 << 14,        /* POINTWISE: computes in the common dtype, returns bool */
    REAL_RESULT = 1 << 15         /* POINTWISE: a complex input gives a real result of its precision */
};

typedef struct op_row {
    const char *schema;
    wick_op_kind kind;
    op_infer_fn infer;
    op_compose_fn compose; /* IMPLICIT, EXPLICIT, CORE */
    const char *same_as;   /* IMPLICIT: another row, as whose form each form runs, with numbers as tensors */
    op_view_fn view;
    op_grad_fn grad;
    const char *saves; /* "self other:self result0": tensors kept for grad; x:y keeps x only if y needs a gradient */
    uint32_t flags;
    uint32_t nondiff_rets;                  /* bit i: return i has no gradient (indices) */
    const struct registered_op *registered; /* a plugin's: its callbacks (registered.h) */
} op_row;

#define OP(schema_, kind_, ...) {.schema = schema_, .kind = WICK_OP_##kind_, __VA_ARGS__},

/* ---- the schema, parsed (src/schema.c) ---- */
typedef enum op_type {
    TYPE_TENSOR,
    TYPE_SCALAR,
    TYPE_INT,
    TYPE_FLOAT,
    TYPE_BOOL,
    TYPE_STRING,
    TYPE_DTYPE,
    TYPE_LAYOUT,
    TYPE_DEVICE,
    TYPE_MEMORY_FORMAT,
    TYPE_GENERATOR
} op_type;

typedef struct op_arg {
    char name[32];
    uint8_t type;                /* op_type */
    uint8_t optional;            /* T? */
    uint8_t list;                /* T[] */
    uint8_t list_optional_items; /* T?[] */
    uint8_t kwarg_only;
    uint8_t has_default;
    uint8_t alias;     /* a letter of the alias set, 0 none */
    uint8_t mutated;   /* Tensor(a!) */
    uint8_t wildcard;  /* Tensor(a -> *): the results are views of it */
    uint8_t symbolic;  /* written SymInt: may carry a symbolic size */
    int32_t list_size; /* T[n]: a single item stands for n; 0: free */
    wick_value dflt;   /* valid if has_default; lists and strings are owned by the schema */
} op_arg;

typedef struct op_schema {
    char name[64];     /* "add" */
    char overload[32]; /* "Tensor", "" */
    int nargs, nrets;
    bool ret_list; /* -> Tensor[] */
    op_arg args[OP_MAX_ARGS];
    op_arg rets[OP_MAX_RETS]; /* name (may be ""), alias, mutated, type */
} op_schema;

/* Parses; allocates only through the runtime's allocator for defaults of lists and strings (free with deinitialize).
 * `text` may start with "aten::". */
wick_status *op_schema_parse(const wick_allocator *allocator, const char *text, op_schema *out);
void op_schema_deinitialize(const wick_allocator *allocator, op_schema *schema);
/* Writes the schema's canonical text into `buffer`, cut at `bytes`. */
void op_schema_format(const op_schema *schema, char *buffer, size_t bytes);

typedef enum op_variant { VARIANT_FUNCTIONAL, VARIANT_INPLACE, VARIANT_OUT } op_variant;
/* The schema of a variant of `functional`: add.Tensor -> add_.Tensor, add.out. The out form has one more keyword-only
 * argument per return: `out`, or `out0`, `out1`... `out` owns its defaults (free with deinitialize). */
wick_status *op_schema_derive(const wick_allocator *allocator, const op_schema *functional, op_variant variant,
                              op_schema *out);

#endif
