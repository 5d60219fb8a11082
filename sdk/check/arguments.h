/* Arguments of one call of an operator, made from a recipe and the schema: the same numbers for every device. */
#ifndef WICK_CHECK_ARGUMENTS_H
#define WICK_CHECK_ARGUMENTS_H

#include <schema.h>

#include "runner.h"

/* An operator and its parsed schema. */
typedef struct subject {
    const wick_op *op;
    wick_op_info info;
    schema_arg args[SCHEMA_MAX_ARGS];
} subject;

enum recipe_flag {
    RECIPE_DISTINCT = 1,  /* elements of one tensor must differ */
    RECIPE_SHAPE = 2,     /* results have no defined values */
    RECIPE_LOOSE = 4,     /* ten times the tolerance */
    RECIPE_ROWS = 8,      /* looks at the storage: row-major only */
    RECIPE_FLOATING = 64, /* floating dtypes only: integer results would be out of range */
    RECIPE_FULL = 32,     /* sizes stand in other arguments, too: no empty case */
    RECIPE_OTHER = 16     /* its gradient is not the derivative here, as PyTorch has it */
};

typedef struct recipe {
    const char *text; /* "" for an operator without row */
    unsigned flags;
} recipe;

/* The index-th recipe of an operator's functional name; false past the last. Every operator has at least one. */
bool recipe_at(const char *op, int index, recipe *out);

/* Shapes of elementwise operands, X(NAME, name). */
#define CASE_SHAPES(X)        \
    X(BASE, "")               \
    X(BROADCAST, "broadcast") \
    X(EMPTY, "empty")         \
    X(SCALAR, "0-dim")        \
    X(LARGE, "large")
/* How tensors lie in memory. */
#define CASE_LAYOUTS(X)      \
    X(ROWS, "")              \
    X(COLUMNS, "transposed") \
    X(GAPS, "strided")       \
    X(EXPANDED, "expanded")

typedef enum case_shape {
#define CASE_SHAPE_ENUM(NAME, name) SHAPE_##NAME,
    CASE_SHAPES(CASE_SHAPE_ENUM)
#undef CASE_SHAPE_ENUM
        SHAPE_COUNT
} case_shape;
typedef enum case_layout {
#define CASE_LAYOUT_ENUM(NAME, name) LAYOUT_##NAME,
    CASE_LAYOUTS(CASE_LAYOUT_ENUM)
#undef CASE_LAYOUT_ENUM
        LAYOUT_COUNT
} case_layout;

typedef struct op_case {
    wick_dtype dtype;
    case_shape shape;
    case_layout layout;
    bool smooth; /* no integers, no ties between operands: for derivatives */
} op_case;

#define ARGUMENTS_ROOM 256

typedef struct arguments {
    wick_value values[SCHEMA_MAX_ARGS];
    int count;             /* values that are set */
    int operands, tensors; /* elementwise operands, tensors among the arguments */
    void *memory[ARGUMENTS_ROOM];
    int memory_count;
    const char *problem; /* why they could not be made */
} arguments;

/* Makes the first `count` arguments of the subject on a device. The tensors belong to the scope. False: the context
 * failed, or out->problem says why. To be freed in any case. */
bool arguments_make(runner *r, const subject *s, int count, const recipe *recipe, const op_case *k, wick_device device,
                    arguments *out);
void arguments_free(arguments *a);
/* True if a recipe has elementwise operands, whose shape may change. */
bool recipe_is_elementwise(const subject *s, const recipe *recipe);
/* True if it has any tensor: factories have none. */
bool recipe_has_tensors(const subject *s, const recipe *recipe);

/* ---- numbers.c ---- */
/* Writes element i of an array. */
void element_write(char *data, wick_dtype dtype, int64_t i, double re, double im);

#endif
