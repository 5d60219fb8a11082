/* What every file of the CPU plugin shares: the instance, its thread pool, and the per-ISA naming.
 *
 * Files in kernels/ are compiled once. Files in simd/ are compiled once per instruction set (base, avx2, avx512) with
 * CPU_ISA set; every external name in them goes through CPU_NAME(). A file F exports one table,
 * `const cpu_kernel_table CPU_NAME(F_table)` (or cpu_F_table in kernels/), which src/plugin.c lists. */
#ifndef WICK_CPU_H
#define WICK_CPU_H

#include <wick/sdk/plugin.h>

typedef struct cpu_pool cpu_pool;
typedef struct cpu_blas cpu_blas;

typedef enum cpu_isa { CPU_ISA_BASE, CPU_ISA_AVX2, CPU_ISA_AVX512 } cpu_isa;

typedef struct cpu_instance {
    const wick_host *host;
    wick_registrar *registrar;
    cpu_pool *pool;
    const cpu_blas *blas; /* NULL: own GEMM */
    cpu_isa isa;
    int64_t block_bytes;   /* of B, that a matrix product keeps in the second-level cache */
    int64_t stream_bytes;  /* results from this size on are stored past the caches (simd/stream.h) */
    char features[256];    /* "avx2 fma avx512f ..." */
    wick_kernel_row *rows; /* the chosen ISA's tables, joined */
    uint64_t row_count;
    wick_backend backend; /* what was registered; lives as long as the instance */
} cpu_instance;

typedef struct cpu_kernel_table {
    const wick_kernel_row *rows;
    uint64_t count;
} cpu_kernel_table;

#define CPU_PASTE3_(a, b, c) a##b##c
#define CPU_PASTE3(a, b, c) CPU_PASTE3_(a, b, c)
#ifdef CPU_ISA_SUFFIX /* avx2 -> cpu_NAME_avx2 */
#define CPU_NAME(name) CPU_PASTE3(cpu_##name, _, CPU_ISA_SUFFIX)
#endif
/* The same for names from files that are not compiled for avx512 (CMakeLists.txt), which shares avx2's. */
#ifdef CPU_ISA_avx512
#define CPU_NAME_256(name) cpu_##name##_avx2
#else
#define CPU_NAME_256(name) CPU_NAME(name)
#endif

/* One row of a table: name, function, data, dtypes, flags. */
#define CPU_ROW(schema, fn, data, dtypes, flags) WICK_KERNEL_ROW_WITH(schema, fn, data, dtypes, flags)
#define CPU_TABLE(rows) \
    { (rows), sizeof(rows) / sizeof((rows)[0]) }

/* ---- thread pool (src/pool.c) ---- */
/* Work on [begin, end); `worker` is in [0, threads). */
typedef void (*cpu_range_fn)(void *user, int64_t begin, int64_t end, int worker);

/* Splits [0, n) into chunks of at least `grain` and runs them on the caller and the pool; returns when all are done.
 * Called from inside a chunk, or when n <= grain, or from a second thread while the pool is busy: runs on the caller. */
void cpu_parallel_for(cpu_instance *cpu, int64_t n, int64_t grain, cpu_range_fn fn, void *user);
int cpu_thread_count(const cpu_instance *cpu);
/* The elements below which a pointwise loop is not worth a second thread. */
#define CPU_GRAIN 32768

static inline cpu_instance *cpu_of(const wick_kernel_call *call) { return (cpu_instance *)call->instance; }

#endif
