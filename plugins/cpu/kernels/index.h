/* What the indexing, shape and factory kernels share: strided views, walks over them, single items, and the index
 * plan, the one engine behind every gather and scatter.
 *
 * Nothing here allocates except through the workspace of the call. Walks use the thread pool; the callbacks run on
 * several threads at once unless the walk says that a dimension is serial. */
#ifndef WICK_CPU_INDEX_H
#define WICK_CPU_INDEX_H

#include "cpu.h"

#include <string.h>

/* ---- views: a tensor with strides in bytes; 0-dim tensors read as one dimension of size 1 ---- */
typedef struct cpu_view {
    char *data;
    wick_dtype dtype;
    int item; /* bytes */
    int ndim;
    int64_t sizes[WICK_MAX_DIMS];
    int64_t strides[WICK_MAX_DIMS];
} cpu_view;

void cpu_view_of(const wick_tensor *tensor, cpu_view *out);
/* Row-major over memory of the caller. */
void cpu_view_dense(void *data, wick_dtype dtype, int ndim, const int64_t *sizes, cpu_view *out);
int64_t cpu_view_numel(const cpu_view *view);
bool cpu_view_is_dense(const cpu_view *view);
/* Keeps [start, start + length) of a dimension. */
void cpu_view_narrow(cpu_view *view, int dim, int64_t start, int64_t length);
/* Broadcasts to `sizes`, whose compatibility the core has checked. */
void cpu_view_expand(cpu_view *view, int ndim, const int64_t *sizes);
/* A list of positions along `dim` (one dimension) becomes an index of `like`'s shape. */
void cpu_view_spread(cpu_view *index, int dim, const cpu_view *like);
/* Address of an element by its row-major position. */
char *cpu_view_at(const cpu_view *view, int64_t position);

void cpu_view_copy(cpu_instance *cpu, const cpu_view *dst, const cpu_view *src); /* same shape and item size */
void cpu_view_fill(cpu_instance *cpu, const cpu_view *dst, const void *item);
void cpu_view_zero(cpu_instance *cpu, const cpu_view *dst);
/* The first step of every functional form: the output becomes a copy of self, unless it already is self. */
void cpu_output_from(const wick_kernel_call *k, const wick_tensor *self, cpu_view *out);

/* ---- single items ---- */
/* The scalar as an item of `dtype`, at most 16 bytes. */
void cpu_item_from_scalar(wick_dtype dtype, const wick_value *value, void *out);
void cpu_item_from_double(wick_dtype dtype, double value, void *out);
/* Real dtypes only. */
double cpu_item_to_double(wick_dtype dtype, const void *item);
int64_t cpu_item_to_int(wick_dtype dtype, const void *item);

/* Moves n items of one size; a source stride of 0 fills. Indexed by cpu_item_log2. */
typedef void (*cpu_copy_fn)(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n);
extern const cpu_copy_fn cpu_copy_items[5];
static inline int cpu_item_log2(int item) { return __builtin_ctz((unsigned)item); }

/* Words that may alias anything, for moving items by size. */
typedef uint8_t __attribute__((may_alias)) cpu_word1;
typedef uint16_t __attribute__((may_alias)) cpu_word2;
typedef uint32_t __attribute__((may_alias)) cpu_word4;
typedef uint64_t __attribute__((may_alias)) cpu_word8;
typedef struct __attribute__((may_alias)) cpu_word16 {
    uint64_t low, high;
} cpu_word16;
#define CPU_WORDS(X) \
    X(1)             \
    X(2)             \
    X(4)             \
    X(8)             \
    X(16)

/* ---- walks: up to three operands over one shape ---- */
#define CPU_WALK_OPERANDS 3
typedef struct cpu_walk {
    int ndim;
    int operands;
    uint64_t serial; /* bit d: dimension d is walked in order by one thread */
    int64_t sizes[WICK_MAX_DIMS];
    int64_t strides[CPU_WALK_OPERANDS][WICK_MAX_DIMS];
    char *data[CPU_WALK_OPERANDS];
} cpu_walk;
#define CPU_WALK_SERIAL UINT64_MAX

typedef void (*cpu_walk_fn)(void *user, char *const *data, const int64_t *strides, int64_t n);
/* Operands have `views[0]`'s shape. */
void cpu_walk_of(const cpu_view *const *views, int operands, cpu_walk *out);
/* Lets the walk visit elements in the memory order of operand 0 rather than row-major. */
void cpu_walk_reorder(cpu_walk *walk);
/* Calls fn on runs of elements. Changes the walk (merges dimensions). */
void cpu_walk_run(cpu_instance *cpu, cpu_walk *walk, cpu_walk_fn fn, void *user);

/* ---- index plans: base[..., index, ...] against a dense operand ---- */
enum { CPU_BASE, CPU_DENSE, CPU_INDEX };
/* Meets n elements of the base, each at base + j * base_stride + offsets[j] (offsets may be NULL), with n of the dense
 * operand. */
typedef void (*cpu_place_fn)(char *base, int64_t base_stride, const int64_t *offsets, char *dense, int64_t dense_stride,
                             int64_t n, const void *arg);
extern const cpu_place_fn cpu_place_read[5];  /* dense = base, by cpu_item_log2 */
extern const cpu_place_fn cpu_place_write[5]; /* base = dense */

typedef struct cpu_index_plan {
    cpu_walk walk;
    wick_dtype dtype; /* of the index */
    int64_t size;     /* an index is valid in [0, size), with wrap in [-size, size) */
    int64_t stride;   /* bytes of the base per index */
    int dim;          /* for messages */
    int item;         /* bytes of an element */
    bool wrap;
} cpu_index_plan;

/* Positions of `index` (all integral dtypes) along `dim` of the base; index gives the shape, dense covers it. */
void cpu_index_along(cpu_index_plan *plan, const cpu_view *base, int dim, const cpu_view *index, const cpu_view *dense);
/* Advanced indexing: `indices` is a Tensor?[] of integral tensors; dense broadcasts to the shape they select. */
wick_status *cpu_index_tensors(const wick_kernel_call *k, cpu_index_plan *plan, const cpu_view *base,
                               const wick_value *indices, const cpu_view *dense);
/* Position in the flattened, row-major base. */
void cpu_index_flat(cpu_index_plan *plan, const cpu_view *base, const cpu_view *index, const cpu_view *dense);
/* A row of `weight` for each index: embedding. `index` and `dense` may have any number of dimensions. */
void cpu_index_rows(cpu_index_plan *plan, const cpu_view *weight, const cpu_view *index, const cpu_view *dense);
/* Replaces the dense operand by one item for all positions. */
void cpu_index_constant(cpu_index_plan *plan, const void *item);
/* Writers visit positions that may coincide in row-major order on one thread: those that differ where the base's
 * stride is 0, or along dimensions that the caller marked serial in plan->walk. OUT_OF_RANGE names the index. */
wick_status *cpu_index_read(const wick_kernel_call *k, cpu_index_plan *plan);
wick_status *cpu_index_write(const wick_kernel_call *k, cpu_index_plan *plan, cpu_place_fn place, const void *arg);

/* ---- workspace ---- */
/* Scratch until the kernel returns; never asks for 0 bytes. */
static inline wick_status *cpu_scratch(const wick_kernel_call *k, int64_t count, size_t item, void *out) {
    size_t bytes;
    void *p = NULL;
    if (!__builtin_mul_overflow((size_t)(count ? count : 1), item, &bytes)) p = k->host->workspace(k, bytes);
    memcpy(out, &p, sizeof p);
    if (p) return NULL;
    return WICK_HOST_ERROR(k->host, WICK_OUT_OF_MEMORY, "no scratch memory for %lld items", (long long)count);
}

#endif
