/* A BLAS opened at run time (OpenBLAS by default) behind one table of functions. Nothing is linked. */
#ifndef WICK_CPU_BLAS_H
#define WICK_CPU_BLAS_H

#include "cpu.h"

enum { CPU_BLAS_ROW_MAJOR = 101, CPU_BLAS_NO_TRANS = 111, CPU_BLAS_TRANS = 112 };

/* X(symbol, member, return type, parameters): all are required. Complex alpha and beta are passed by address. */
#define CPU_BLAS_GEMM_ARGS(scalar, pointer)                                                             \
    (int order, int trans_a, int trans_b, int m, int n, int k, scalar alpha, const pointer *a, int lda, \
     const pointer *b, int ldb, scalar beta, pointer *c, int ldc)
#define CPU_BLAS_SYMBOLS(X)                                             \
    X(cblas_sgemm, sgemm, void, CPU_BLAS_GEMM_ARGS(float, float))       \
    X(cblas_dgemm, dgemm, void, CPU_BLAS_GEMM_ARGS(double, double))     \
    X(cblas_cgemm, cgemm, void, CPU_BLAS_GEMM_ARGS(const void *, void)) \
    X(cblas_zgemm, zgemm, void, CPU_BLAS_GEMM_ARGS(const void *, void))

/* Optional: OpenBLAS's own. */
#define CPU_BLAS_OPTIONAL_SYMBOLS(X)                        \
    X(openblas_set_num_threads, set_threads, void, (int n)) \
    X(openblas_get_config, config, const char *, (void))    \
    X(openblas_get_corename, core_name, const char *, (void))

struct cpu_blas {
    void *library;
    bool named;  /* by the user, who means it to be used */
    cpu_isa isa; /* what its kernels use; below ours, our own are faster */
#define CPU_BLAS_MEMBER(symbol, member, type, parameters) type(*member) parameters;
    CPU_BLAS_SYMBOLS(CPU_BLAS_MEMBER)
    CPU_BLAS_OPTIONAL_SYMBOLS(CPU_BLAS_MEMBER)
#undef CPU_BLAS_MEMBER
};

/* Opens what the key `blas` of the INI section names: auto (OpenBLAS if it is installed), none, or the path of a
 * library with the CBLAS interface. *out is NULL for none, and for auto where there is none; the log says which. A
 * named library that does not load is UNAVAILABLE. The library runs single-threaded: our pool splits the work. */
wick_status *cpu_blas_open(const wick_host *host, wick_registrar *registrar, const wick_config *config,
                           const cpu_blas **out);
/* NULL is allowed. The library stays mapped: it may have threads. */
void cpu_blas_close(const cpu_blas *blas);

#endif
