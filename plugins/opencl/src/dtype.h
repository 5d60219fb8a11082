/* The table of element types; private to dtype.c and program.c. */
#ifndef OCL_DTYPE_H
#define OCL_DTYPE_H

typedef struct ocl_dtype {
    const char *name;
    const char *storage; /* OpenCL C type of an element in memory */
    const char *compute; /* of a value */
    const char *lowest;  /* no value is smaller */
    const char *highest;
    const char *load;  /* of (p, i) */
    const char *store; /* of (p, i, v) */
} ocl_dtype;

extern const ocl_dtype ocl_dtypes[]; /* by wick_dtype; `name` is NULL for a dtype that is not known */

#endif
