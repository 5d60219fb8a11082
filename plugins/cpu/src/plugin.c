/* The CPU backend's entry: chooses the instruction set, joins the kernel tables, owns the thread pool.
 *
 * Keys of its INI section: isa = auto | base | avx2 | avx512, threads = N (0 or absent: every CPU of the process),
 * blas = auto | none | PATH (blas.h). */
#ifdef CPU_HAVE_X86
#include <cpuid.h>
#endif
#include "blas.h"
#include "memory.h"
#include "pool.h"
#include "prefetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Files of simd/ and of kernels/ that export a table; those of CPU_SIMD_256_FILES are not compiled for avx512. */
#define CPU_SIMD_FILES(X)  \
    X(pointwise)           \
    X(reduction)           \
    X(reduction_logsumexp) \
    X(reduction_moment)    \
    X(softmax)             \
    X(cross_entropy)       \
    X(norm)                \
    X(norm_layer)          \
    X(optim)
#define CPU_SIMD_256_FILES(X) \
    X(copy)                   \
    X(random)                 \
    X(reduction_index)        \
    X(scan)                   \
    X(loss)
#define CPU_ONCE_FILES(X) \
    X(index)              \
    X(index_renorm)       \
    X(scatter)            \
    X(shape)              \
    X(shape_triangle)     \
    X(factory)            \
    X(select)             \
    X(select_unique)      \
    X(select_search)      \
    X(distance)           \
    X(gemm)               \
    X(gemm_dot)           \
    X(conv)               \
    X(conv_im2col)        \
    X(pool_max)           \
    X(pool_avg)           \
    X(pool_unpool)        \
    X(upsample)           \
    X(upsample_grid)      \
    X(pad)                \
    X(sort)

/* ---- the tables, one list an instruction set ---- */
#define DECLARE_BASE(file) extern const cpu_kernel_table cpu_##file##_table_base;
#define LIST_BASE(file) &cpu_##file##_table_base,
CPU_SIMD_FILES(DECLARE_BASE)
CPU_SIMD_256_FILES(DECLARE_BASE)
static const cpu_kernel_table *const base_tables[] = {CPU_SIMD_FILES(LIST_BASE) CPU_SIMD_256_FILES(LIST_BASE) NULL};

#ifdef CPU_HAVE_X86
#define DECLARE_AVX2(file) extern const cpu_kernel_table cpu_##file##_table_avx2;
#define DECLARE_AVX512(file) extern const cpu_kernel_table cpu_##file##_table_avx512;
#define LIST_AVX2(file) &cpu_##file##_table_avx2,
#define LIST_AVX512(file) &cpu_##file##_table_avx512,
CPU_SIMD_FILES(DECLARE_AVX2)
CPU_SIMD_256_FILES(DECLARE_AVX2)
CPU_SIMD_FILES(DECLARE_AVX512)
static const cpu_kernel_table *const avx2_tables[] = {CPU_SIMD_FILES(LIST_AVX2) CPU_SIMD_256_FILES(LIST_AVX2) NULL};
static const cpu_kernel_table *const avx512_tables[] = {CPU_SIMD_FILES(LIST_AVX512) CPU_SIMD_256_FILES(LIST_AVX2) NULL};
#endif

#define DECLARE_ONCE(file) extern const cpu_kernel_table cpu_##file##_table;
#define LIST_ONCE(file) &cpu_##file##_table,
CPU_ONCE_FILES(DECLARE_ONCE)
static const cpu_kernel_table *const once_tables[] = {CPU_ONCE_FILES(LIST_ONCE) NULL};

/* ---- what this machine can run ---- */
#define FEATURES_AVX2(X) \
    X("avx2")            \
    X("fma")             \
    X("bmi2")
#define FEATURES_AVX512(X) \
    X("avx512f")           \
    X("avx512dq")          \
    X("avx512bw")          \
    X("avx512vl")
#define FEATURES_OTHER(X) \
    X("avx512vnni")       \
    X("avx512bf16")

static bool always(void) { return true; }

#ifdef CPU_HAVE_X86
/* The compiler's runtime reads the CPUID bits and, for the wide registers, that the system saves them (XGETBV). */
#define AND_SUPPORTED(feature) &&__builtin_cpu_supports(feature)
/* Not every compiler's runtime knows this one. */
static bool has_f16c(void) {
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}
static bool has_avx2(void) { return has_f16c() FEATURES_AVX2(AND_SUPPORTED); }
static bool has_avx512(void) { return has_avx2() FEATURES_AVX512(AND_SUPPORTED); }
#endif

typedef struct isa_choice {
    cpu_isa isa;
    const char *name;
    bool (*supported)(void);
    const cpu_kernel_table *const *tables;
} isa_choice;

/* The best comes first. */
static const isa_choice isa_choices[] = {
#ifdef CPU_HAVE_X86
    {CPU_ISA_AVX512, "avx512", has_avx512, avx512_tables},
    {CPU_ISA_AVX2, "avx2", has_avx2, avx2_tables},
#endif
    {CPU_ISA_BASE, "base", always, base_tables},
};
#define ISA_COUNT (sizeof isa_choices / sizeof isa_choices[0])

static wick_status *choose_isa(const wick_host *host, const char *wanted, const isa_choice **out) {
    bool automatic = strcmp(wanted, "auto") == 0;
    for (size_t i = 0; i < ISA_COUNT; ++i) {
        const isa_choice *choice = &isa_choices[i];
        if (!automatic && strcmp(wanted, choice->name) != 0) continue;
        if (choice->supported()) return *out = choice, NULL;
        if (!automatic) return WICK_HOST_ERROR(host, WICK_UNAVAILABLE, "this machine has no %s", wanted);
    }
    return WICK_HOST_ERROR(host, WICK_INVALID_ARGUMENT, "isa = %s: wanted auto, base, avx2 or avx512", wanted);
}

static void describe_features(char *buffer, size_t bytes) {
    size_t used = 0;
    buffer[0] = 0;
#ifdef CPU_HAVE_X86
#define APPEND_IF(supported, feature) \
    if ((supported) && used < bytes)  \
        used += (size_t)snprintf(buffer + used, bytes - used, "%s%s", used ? " " : "", feature);
#define APPEND(feature) APPEND_IF(__builtin_cpu_supports(feature), feature)
    FEATURES_AVX2(APPEND)
    APPEND_IF(has_f16c(), "f16c")
    FEATURES_AVX512(APPEND)
    FEATURES_OTHER(APPEND)
#else
    (void)used, (void)bytes;
#endif
}

/* ---- the instance ---- */
static uint64_t count_rows(const cpu_kernel_table *const *tables) {
    uint64_t n = 0;
    for (; *tables; ++tables) n += (*tables)->count;
    return n;
}

static void append_rows(cpu_instance *cpu, const cpu_kernel_table *const *tables) {
    for (; *tables; ++tables) {
        memcpy(cpu->rows + cpu->row_count, (*tables)->rows, (*tables)->count * sizeof *cpu->rows);
        cpu->row_count += (*tables)->count;
    }
}

static wick_status *join_tables(cpu_instance *cpu, const cpu_kernel_table *const *simd_tables) {
    uint64_t n = count_rows(simd_tables) + count_rows(once_tables);
    cpu->rows = malloc(n * sizeof *cpu->rows);
    if (!cpu->rows) return WICK_HOST_ERROR(cpu->host, WICK_OUT_OF_MEMORY, "no memory for the kernel table");
    append_rows(cpu, simd_tables);
    append_rows(cpu, once_tables);
    return NULL;
}

static wick_status *thread_count(const wick_host *host, const wick_config *config, int *out) {
    int64_t threads;
    wick_status *status = host->config_int(config, "threads", 0, &threads);
    if (status) return status;
    if (threads < 0 || threads > 4096)
        return WICK_HOST_ERROR(host, WICK_INVALID_ARGUMENT, "threads = %lld: wanted 0 to 4096", (long long)threads);
    *out = threads ? (int)threads : cpu_online_count();
    return NULL;
}

/* ---- caches ---- */
/* So much of a last cache is taken to be this process's: larger ones are shared by many processors. */
#define MOST_LAST_CACHE (INT64_C(32) << 20)

/* Of the first processor's cache of a level, `usual` where the system does not tell. */
static int64_t cache_bytes(int level, int64_t usual) {
    char path[64], text[32] = "", *unit;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", level);
    FILE *file = fopen(path, "r");
    if (!file) return usual;
    const bool read = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    const long long kib = strtoll(text, &unit, 10);
    return read && *unit == 'K' && kib > 0 && kib < 1 << 24 ? kib << 10 : usual;
}

/* From which size on results are stored past the caches. */
static wick_status *stream_bytes(const wick_host *host, const wick_config *config, int64_t *out) {
    int64_t usual = INT64_MAX; /* simd/stream.h is for x86 */
#ifdef CPU_HAVE_X86
    usual = cache_bytes(3, MOST_LAST_CACHE);
    if (usual > MOST_LAST_CACHE) usual = MOST_LAST_CACHE;
#endif
    WICK_TRY(host->config_int(config, "stream_bytes", usual, out));
    if (*out >= 0) return NULL;
    return WICK_HOST_ERROR(host, WICK_INVALID_ARGUMENT, "stream_bytes = %lld: wanted 0 or more", (long long)*out);
}

/* ---- the backend ---- */
static int32_t device_count(void *instance) { return 1; }

static wick_status *device_query(void *instance, int32_t index, wick_device_info *out) {
    const cpu_instance *cpu = instance;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    out->index = index;
    snprintf(out->name, sizeof out->name, "cpu (%s, %d threads)", isa_choices[ISA_COUNT - 1 - cpu->isa].name,
             cpu_thread_count(cpu));
    memcpy(out->features, cpu->features, sizeof out->features);
    out->hardware_id[0] = 0;
    out->memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * page;
    out->memory_free_bytes = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * page;
    return NULL;
}

static int worker_count(void *instance) { return cpu_thread_count(instance); }

static void parallel_for(void *instance, int64_t n, int64_t grain, wick_range_fn fn, void *user) {
    cpu_parallel_for(instance, n, grain, fn, user);
}

static const wick_threads_interface threads = {
    .struct_size = sizeof threads, .count = worker_count, .parallel_for = parallel_for};

static const void *get_interface(void *instance, const char *name, uint32_t version) {
    if (version != 1) return NULL;
    return strcmp(name, "memory") == 0 ? (const void *)&cpu_memory : strcmp(name, "threads") == 0 ? &threads : NULL;
}

static void destroy(void *instance) {
    cpu_instance *cpu = instance;
    cpu_pool_destroy(cpu->pool);
    cpu_blas_close(cpu->blas);
    free(cpu->rows);
    free(cpu);
}

static wick_status *initialize(cpu_instance *cpu, const wick_config *config) {
    const isa_choice *choice = NULL;
    int threads = 1;
    wick_status *status = choose_isa(cpu->host, cpu->host->config_string(config, "isa", "auto"), &choice);
    if (!status) status = thread_count(cpu->host, config, &threads);
    if (!status) status = stream_bytes(cpu->host, config, &cpu->stream_bytes);
    if (!status) status = join_tables(cpu, choice->tables);
    if (!status) status = cpu_pool_create(cpu->host, threads, &cpu->pool);
    if (!status) status = cpu_blas_open(cpu->host, cpu->registrar, config, &cpu->blas);
    if (status) return status;
    cpu->isa = choice->isa;
    cpu->block_bytes = 3 * cache_bytes(2, 1 << 20) / 10;
    describe_features(cpu->features, sizeof cpu->features);
    cpu->backend = (wick_backend){
        .struct_size = sizeof(wick_backend),
        .flags = WICK_BACKEND_HOST,
        .device_name = "cpu",
        .device_count = device_count,
        .device_query = device_query,
        .get_interface = get_interface,
        .kernels = cpu->rows,
        .kernel_count = cpu->row_count,
    };
    return cpu->host->register_backend(cpu->registrar, &cpu->backend, cpu);
}

static wick_status *create(const wick_host *host, wick_registrar *registrar, const wick_config *config, void **out) {
    cpu_instance *cpu = calloc(1, sizeof *cpu);
    if (!cpu) return WICK_HOST_ERROR(host, WICK_OUT_OF_MEMORY, "no memory for the instance");
    cpu->host = host, cpu->registrar = registrar;
    wick_status *status = initialize(cpu, config);
    if (status)
        destroy(cpu);
    else
        *out = cpu;
    return status;
}

static const wick_plugin_desc descriptor = {
    .struct_size = sizeof(wick_plugin_desc),
    .magic = WICK_PLUGIN_MAGIC,
    .abi_major = WICK_ABI_MAJOR,
    .abi_minor = WICK_ABI_MINOR,
    .host_abi_minor_min = WICK_ABI_MINOR,
    .sanitizer = WICK_SANITIZER,
    .name = "cpu",
    .version = WICK_VERSION_STRING,
    .build = "C17, " __VERSION__,
    .create = create,
    .destroy = destroy,
};
WICK_PLUGIN(cpu, &descriptor)
