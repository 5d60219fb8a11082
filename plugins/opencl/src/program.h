/* Programs: OpenCL C texts, completed by definitions and compiled once each.
 *
 * A recipe names templates from kernels/ and what they need. A variant is a recipe with the element type of every
 * operand. Compiling takes longer than a small tensor is worth: below `ocl.specialize` elements a call uses the general
 * variant of its compute class (f32, f64, i64 or u64), whose kernels get the operands' dtypes as arguments; the variant
 * for exactly these dtypes is compiled when a larger one comes. Templates see, for each operand X of O (the output), A,
 * B, C, D:
 *     OUT(X, p), IN(X, p) the parameters for the array p: p, base_X and, in a general variant, dtype_X
 *     RAW_X(p, i)         element i of the array p as the widest type that computes it; T in a general variant
 *     LOAD_X(p, i)        the same as T
 *     STORE_X(p, i, v)    the other way round, with the conversion that PyTorch does
 * and T (the compute type), INDEX (int, or long if 31 bits do not reach) and what the recipe defines. */
#ifndef OCL_PROGRAM_H
#define OCL_PROGRAM_H

#include "opencl.h"

enum { OCL_OPERANDS = 5, OCL_MAX_KERNELS = 16, OCL_MAX_SOURCES = 3 };

/* Texts of kernels/NAME.cl, made by CMake. */
#define OCL_SOURCES(X) \
    X(types)           \
    X(view)            \
    X(math_real)       \
    X(math_int)        \
    X(pointwise)       \
    X(general)         \
    X(reduce)          \
    X(index)           \
    X(index_list)      \
    X(matmul)          \
    X(window)          \
    X(random)          \
    X(scan)            \
    X(select)
#define OCL_SOURCE_DECLARATION(name) extern const char ocl_source_##name[];
OCL_SOURCES(OCL_SOURCE_DECLARATION)
#undef OCL_SOURCE_DECLARATION

typedef struct ocl_recipe {
    const char *sources[OCL_MAX_SOURCES]; /* after types and view; NULL ends */
    const char *kernels[OCL_MAX_KERNELS]; /* names in the templates; NULL ends */
    const char *places;                   /* operands that are indices: letters, optional */
    const char *expression;               /* EXPRESSION, optional */
    const char *kinds;                    /* pointwise: 'T' or 'B' for O, A, B, C. Optional. */
    int scalars;                          /* pointwise: s0 .. */
    bool complex;                         /* holds for complex numbers, as vectors of two */
    bool math;                            /* includes math_real or math_int, as the compute type wants */
    bool group;                           /* members of the elementwise table, kernels/general.cl */
} ocl_recipe;

/* Compared as bytes: zero what is unused. */
typedef struct ocl_variant {
    const ocl_recipe *recipe;
    uint8_t compute;              /* wick_dtype that T computes; NONE: no T */
    uint8_t dtypes[OCL_OPERANDS]; /* wick_dtype of O, A, B, C, D; NONE: not there */
    uint8_t numbers;              /* bit k: operand k is an argument of type T, no array. Of a group: which one */
    uint8_t wide;                 /* 1: INDEX is long */
    uint8_t general;              /* 1: dtypes are arguments; `dtypes` says only which operands there are */
    uint8_t reserved[7];
} ocl_variant;

/* True if the plugin can read and write the dtype on these devices. */
bool ocl_dtype_known(const ocl *self, wick_dtype dtype);
/* "f32" */
const char *ocl_dtype_name(wick_dtype dtype);
/* The bits of all dtypes the plugin moves and computes with on these devices. */
uint32_t ocl_dtypes_all(const ocl *self);
#define OCL_FLOATS WICK_DTYPES_FLOAT
#define OCL_INTEGERS (WICK_DTYPES_INT | WICK_DTYPES_UINT)

/* The dtype whose type computes for a general variant: of f16, bf16 and f32 f32, of f64 and u64 themselves, of the other
 * integers and bool i64. */
wick_dtype ocl_class_of(wick_dtype dtype);
/* True if a call over so many elements, whose operands have these dtypes, takes the general variant. */
bool ocl_is_general(const ocl *self, const ocl_variant *exact, int64_t elements);

/* One launch, from the program to the queue:
 *     WICK_TRY(ocl_begin(&launch, call, &variant, 0, elements));
 *     ocl_arg...(&launch, ...);
 *     return ocl_end(&launch, dimensions, groups, local);
 * From a successful begin to end the instance is locked. Errors of the arguments appear at the end. */
typedef struct ocl_launch {
    ocl *self;
    const wick_kernel_call *call;
    cl_kernel kernel;
    bool general;
    cl_uint count; /* of arguments */
    cl_int error;
} ocl_launch;
/* `kernel`: position in the recipe's list. `elements`: how many the launch goes over, which decides whether the
 * general variant does. Builds the program if this is the first time. UNSUPPORTED, with the compiler's words, if that
 * fails: it is not tried again. */
wick_status *ocl_begin(ocl_launch *launch, const wick_kernel_call *call, const ocl_variant *exact, int kernel,
                       int64_t elements);
/* A variant as it is, general or not. */
wick_status *ocl_begin_variant(ocl_launch *launch, const wick_kernel_call *call, const ocl_variant *variant,
                               int kernel);
/* UNSUPPORTED unless the plugin computes with all dtypes of the variant. */
wick_status *ocl_check_dtypes(const wick_kernel_call *call, const ocl_variant *exact);
void ocl_arg(ocl_launch *launch, const void *value, size_t bytes);
void ocl_arg_long(ocl_launch *launch, int64_t value);
void ocl_arg_int(ocl_launch *launch, int32_t value);
/* A number of the compute type of `dtype`, or of its class in a general variant. */
void ocl_arg_number(ocl_launch *launch, wick_dtype dtype, const wick_value *value);
/* The array and the position of the tensor's first element in it. */
void ocl_arg_array(ocl_launch *launch, const wick_tensor *tensor);
/* The same and, in a general variant, the dtype. */
void ocl_arg_tensor(ocl_launch *launch, const wick_tensor *tensor);
/* The device's fault word. */
void ocl_arg_fault(ocl_launch *launch);
/* Groups and items per group in each of 1 to 3 dimensions. */
wick_status *ocl_end(ocl_launch *launch, int dimensions, const size_t *groups, const size_t *local);
/* One dimension, groups of OCL_GROUP items, at least n items; nothing for n = 0. */
#define OCL_GROUP 64
wick_status *ocl_end_items(ocl_launch *launch, int64_t n);

void ocl_programs_release(ocl *self);

/* ---- source.c ---- */
/* A piece of a program that is written for a variant. */
typedef struct ocl_text {
    char bytes[16384];
    size_t used;
    bool full; /* it did not fit */
} ocl_text;
/* What stands before everything: types, constants, parameters. All three append, or set `full`. */
void ocl_define(ocl_text *t, const ocl *self, const ocl_variant *v);
/* load_value, load_place, store_value, store_place of a general variant; behind kernels/types.cl. */
void ocl_define_access(ocl_text *t, const ocl *self);
/* The kernels of a group, behind all templates. */
void ocl_define_members(ocl_text *t, const ocl *self, const ocl_variant *v);

static inline ocl *ocl_of(const wick_kernel_call *call) { return call->instance; }

#endif
