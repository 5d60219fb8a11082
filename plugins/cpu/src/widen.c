#define CPU_ISA_SUFFIX base /* convert.h declares these tables; the others are declared below */
#include "widen.h"

#include "../simd/convert.h"

#include <wick/sdk/iter.h>

#define CHUNK 1024
#define MAX_VALUES 32

#define DECLARE_TABLES(isa)                                        \
    extern const cpu_convert_fn cpu_widen_##isa[WICK_DTYPE_COUNT]; \
    extern const cpu_convert_fn cpu_narrow_##isa[CPU_CLASS_COUNT][WICK_DTYPE_COUNT];
#ifdef CPU_HAVE_X86
DECLARE_TABLES(avx2)
DECLARE_TABLES(avx512)
#endif

static cpu_convert_fn widen_fn(const cpu_instance *cpu, wick_dtype from) {
    static const cpu_convert_fn *const by_isa[] = {
        cpu_widen_base,
#ifdef CPU_HAVE_X86
        cpu_widen_avx2,
        cpu_widen_avx512,
#endif
    };
    return by_isa[cpu->isa][from];
}

static cpu_convert_fn narrow_fn(const cpu_instance *cpu, wick_dtype from_class, wick_dtype to) {
    static const cpu_convert_fn(*const by_isa[])[WICK_DTYPE_COUNT] = {
        cpu_narrow_base,
#ifdef CPU_HAVE_X86
        cpu_narrow_avx2,
        cpu_narrow_avx512,
#endif
    };
    return by_isa[cpu->isa][class_of_dtype(from_class)][to];
}

wick_dtype cpu_wide_dtype(wick_dtype dtype) {
    if (dtype == WICK_U64) return WICK_U64;
    if (dtype == WICK_BOOL || wick_dtype_is_integral(dtype)) return WICK_I64;
    return wick_dtype_is_floating(dtype) && dtype != WICK_F64 ? WICK_F32 : dtype;
}

/* n packed elements of `from` to its wide dtype: first to its class, then from the class. n <= CHUNK. */
static void widen_chunk(const cpu_instance *cpu, wick_dtype from, void *out, const void *in, int64_t n) {
    const wick_dtype wide = cpu_wide_dtype(from), middle = dtype_of_class(class_of_dtype(from));
    double buffer[CHUNK];
    const cpu_convert_fn widen = widen_fn(cpu, from);
    if (middle == wide && widen) {
        widen(out, in, n);
    } else if (middle == wide) {
        memcpy(out, in, (size_t)n * wick_dtype_bytes(wide));
    } else {
        if (widen) widen(buffer, in, n);
        narrow_fn(cpu, middle, wide)(out, widen ? buffer : in, n);
    }
}

typedef struct walk_job {
    const cpu_instance *cpu;
    wick_dtype dtype, wide;
    bool linear;
    char *array; /* of the wide dtype, or of the tensor's own where it is only packed */
    wick_iter it;
} walk_job;

static void widen_range(void *user, int64_t begin, int64_t end, int worker) {
    const walk_job *job = user;
    wick_cursor c = wick_cursor_at(&job->it, begin);
    for (int64_t i = begin, n; i < end; i += n) {
        double packed[2 * CHUNK];
        n = end - i < CHUNK ? end - i : CHUNK;
        const void *from = packed;
        if (job->linear)
            from = job->it.data[0] + i * job->it.element_bytes[0];
        else
            wick_iter_gather(&job->it, &c, 0, packed, n), wick_cursor_skip(&job->it, &c, n);
        widen_chunk(job->cpu, job->dtype, job->array + (size_t)i * wick_dtype_bytes(job->wide), from, n);
    }
}

static void narrow_range(void *user, int64_t begin, int64_t end, int worker) {
    const walk_job *job = user;
    const cpu_convert_fn narrow = narrow_fn(job->cpu, job->wide, job->dtype);
    wick_cursor c = wick_cursor_at(&job->it, begin);
    for (int64_t i = begin, n; i < end; i += n) {
        double packed[2 * CHUNK];
        n = end - i < CHUNK ? end - i : CHUNK;
        void *to = job->linear ? (void *)(job->it.data[0] + i * job->it.element_bytes[0]) : packed;
        narrow(to, job->array + (size_t)i * wick_dtype_bytes(job->wide), n);
        if (!job->linear) wick_iter_scatter(&job->it, &c, 0, packed, n), wick_cursor_skip(&job->it, &c, n);
    }
}

static void walk(cpu_instance *cpu, const wick_tensor *t, void *array, cpu_range_fn fn) {
    const wick_dtype dtype = wick_tensor_dtype(t);
    walk_job job = {.cpu = cpu, .dtype = dtype, .wide = cpu_wide_dtype(dtype), .array = array};
    const wick_tensor *operand[1] = {t};
    if (!wick_iter_init(&job.it, t, operand, 1, WICK_ITER_KEEP_ORDER) || job.it.numel == 0) return;
    job.linear = wick_iter_is_linear(&job.it, 0);
    cpu_parallel_for(cpu, job.it.numel, CPU_GRAIN, fn, &job);
}

static void pack_range(void *user, int64_t begin, int64_t end, int worker) {
    const walk_job *job = user;
    wick_cursor c = wick_cursor_at(&job->it, begin);
    wick_iter_gather(&job->it, &c, 0, job->array + (size_t)begin * wick_dtype_bytes(job->dtype), end - begin);
}

static void unpack_range(void *user, int64_t begin, int64_t end, int worker) {
    const walk_job *job = user;
    wick_cursor c = wick_cursor_at(&job->it, begin);
    wick_iter_scatter(&job->it, &c, 0, job->array + (size_t)begin * wick_dtype_bytes(job->dtype), end - begin);
}

void cpu_widen_to(cpu_instance *cpu, const wick_tensor *t, void *out) { walk(cpu, t, out, widen_range); }

void cpu_narrow_from(cpu_instance *cpu, const wick_tensor *t, const void *in) {
    walk(cpu, t, (void *)(uintptr_t)in, narrow_range);
}

void cpu_pack_to(cpu_instance *cpu, const wick_tensor *t, void *out) { walk(cpu, t, out, pack_range); }

void cpu_unpack_from(cpu_instance *cpu, const wick_tensor *t, const void *in) {
    walk(cpu, t, (void *)(uintptr_t)in, unpack_range);
}

/* ---- whole calls ---- */
/* A contiguous tensor over borrowed memory: what a kernel reads of one. */
typedef struct stand_in {
    wick_tensor tensor;
    wick_storage storage;
    wick_dim strides[WICK_MAX_DIMS];
} stand_in;

static const wick_tensor *narrow_tensor(const wick_value *v) {
    const wick_tensor *t = v->tag == WICK_TAG_TENSOR ? v->as.tensor : NULL;
    return t && cpu_wide_dtype(wick_tensor_dtype(t)) != wick_tensor_dtype(t) ? t : NULL;
}

static void make_stand_in(stand_in *s, const wick_tensor *like, void *memory) {
    s->tensor = *like;
    s->storage = *like->storage;
    s->storage.memory.data = memory;
    s->tensor.dtype = (uint8_t)cpu_wide_dtype(wick_tensor_dtype(like));
    s->tensor.storage = &s->storage;
    s->tensor.offset = 0;
    s->tensor.strides = s->strides;
    s->tensor.flags = (uint16_t)(like->flags | WICK_TENSOR_CONTIGUOUS);
    wick_dim stride = 1;
    for (int d = like->ndim - 1; d >= 0; --d) {
        s->strides[d] = stride;
        stride *= like->sizes[d] > 1 ? like->sizes[d] : 1;
    }
}

static size_t whole_lines(size_t bytes) { return (bytes + 63) / 64 * 64; }
/* For a widened array; one more element, so that none is empty. */
static size_t wide_bytes(const wick_tensor *t) { return whole_lines(((size_t)t->numel + 1) * sizeof(int64_t)); }

/* One piece of memory for all: a kernel has few. */
static char *widened_memory(const wick_kernel_call *call, int n) {
    size_t bytes = whole_lines((size_t)n * sizeof(stand_in));
    for (int i = 0; i < n; ++i) {
        const wick_tensor *t = narrow_tensor(&call->values[i]);
        if (t) bytes += wide_bytes(t);
    }
    return call->host->workspace(call, bytes);
}

static void widen_values(const wick_kernel_call *call, int n, char *memory, wick_value *values) {
    stand_in *next = (stand_in *)memory;
    memory += whole_lines((size_t)n * sizeof *next);
    for (int i = 0; i < n; ++i) {
        values[i] = call->values[i];
        const wick_tensor *t = narrow_tensor(&call->values[i]);
        if (!t) continue;
        make_stand_in(next, t, memory);
        values[i] = wick_value_tensor(&next++->tensor);
        if (i < call->nargs) cpu_widen_to(cpu_of(call), t, memory);
        memory += wide_bytes(t);
    }
}

wick_status *cpu_call_widened(const wick_kernel_call *call, wick_kernel_fn fn) {
    wick_value values[MAX_VALUES];
    const int n = call->nargs + call->nouts;
    if (n > MAX_VALUES) return WICK_HOST_ERROR(call->host, WICK_INTERNAL, "a call of %d values", n);
    char *memory = widened_memory(call, n);
    if (!memory) return WICK_HOST_ERROR(call->host, WICK_OUT_OF_MEMORY, "no memory for widened tensors");
    widen_values(call, n, memory, values);
    wick_kernel_call wide = *call;
    wide.values = values;
    wick_status *status = fn(&wide);
    for (int i = call->nargs; !status && i < n; ++i) {
        const wick_tensor *t = narrow_tensor(&call->values[i]);
        if (t) cpu_narrow_from(cpu_of(call), t, wick_data(values[i].as.tensor));
    }
    return status;
}
