/* Elements of every dtype as one of four wide classes: kernels compute in these, a block at a time. */
#ifndef REFDEVICE_ELEMENT_H
#define REFDEVICE_ELEMENT_H

#include <complex.h>
#ifndef CMPLX /* C11's; some compilers leave them out */
#define CMPLX(re, im) ((double _Complex){(re), (im)})
#define CMPLXF(re, im) ((float _Complex){(re), (im)})
#endif
#undef I /* the kind of stored integers in element.c */
#include <wick/dtype.h>

/* X(CLASS, C type). f16, bf16, f32 and f64 compute as doubles and are rounded once; bool is an integer 0 or 1. */
#define REF_CLASSES(X) \
    X(REAL, double)    \
    X(INT, int64_t)    \
    X(UINT, uint64_t)  \
    X(COMPLEX, double complex)

typedef enum ref_class {
#define REF_CLASS_ENUM(CLASS, type) REF_##CLASS,
    REF_CLASSES(REF_CLASS_ENUM)
#undef REF_CLASS_ENUM
        REF_CLASS_COUNT
} ref_class;

#define REF_BLOCK 256 /* elements that kernels hold at a time */
typedef union ref_block {
    double REAL[REF_BLOCK];
    int64_t INT[REF_BLOCK];
    uint64_t UINT[REF_BLOCK];
    double complex COMPLEX[REF_BLOCK];
} ref_block;
typedef union ref_number {
    double REAL;
    int64_t INT;
    uint64_t UINT;
    double complex COMPLEX;
} ref_number;

/* The class that holds all values of a dtype. */
ref_class ref_class_of(wick_dtype dtype);
size_t ref_class_bytes(ref_class c);

/* n elements, `stride` bytes apart, to or from a packed array of the class, as PyTorch casts. */
typedef void (*ref_load_fn)(void *wide, const char *from, int64_t stride, int64_t n);
typedef void (*ref_store_fn)(char *to, int64_t stride, const void *wide, int64_t n);
ref_load_fn ref_loader(ref_class c, wick_dtype dtype);
ref_store_fn ref_storer(ref_class c, wick_dtype dtype);

#endif
