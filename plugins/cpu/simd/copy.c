/* Copying and filling: any dtype and strides to any other. */
#include "pointwise.h"

#define BLOCK 1024
#define BLOCK_BYTES (BLOCK * sizeof(double complex))
#define TILE 32           /* of a transposition: two tiles of any dtype fit the first-level cache */
#define COPY_GRAIN 131072 /* bytes */

/* ---- the same bytes, both packed ---- */
typedef struct byte_job {
    char *dst;
    const char *src;
} byte_job;

static void run_bytes(void *user, int64_t begin, int64_t end, int worker) {
    const byte_job *job = user;
    memcpy(job->dst + begin, job->src + begin, (size_t)(end - begin));
}

static void copy_bytes(const wick_kernel_call *k, const wick_tensor *dst, const wick_tensor *src) {
    byte_job job = {wick_data(dst), wick_data(src)};
    int64_t bytes = dst->numel * (int64_t)wick_dtype_bytes(wick_tensor_dtype(dst));
    if (bytes <= COPY_GRAIN)
        memcpy(job.dst, job.src, (size_t)bytes);
    else
        cpu_parallel_for(cpu_of(k), bytes, COPY_GRAIN, run_bytes, &job);
}

/* ---- the same bytes, rows of one along columns of the other ---- */
typedef struct transpose_job {
    const wick_iter *it; /* operand 0 is the destination, packed along dimension 0 */
    int along;           /* the dimension along which the source is packed */
    int64_t panels;      /* of TILE elements along that dimension */
} transpose_job;

#define TRANSPOSE_TILE(T)                 \
    for (int64_t j = 0; j < n_along; ++j) \
        for (int64_t i = 0; i < n0; ++i)  \
            memcpy(dst + j * dst_step + i * (int64_t)sizeof(T), src + j * (int64_t)sizeof(T) + i * src_step, sizeof(T));

static void transpose_tile(char *dst, int64_t dst_step, const char *src, int64_t src_step, int64_t n0, int64_t n_along,
                           int32_t bytes) {
    switch (bytes) {
    case 1: TRANSPOSE_TILE(uint8_t) break;
    case 2: TRANSPOSE_TILE(uint16_t) break;
    case 4: TRANSPOSE_TILE(uint32_t) break;
    case 8: TRANSPOSE_TILE(uint64_t) break;
    default: TRANSPOSE_TILE(double complex) break;
    }
}

/* Byte offset of operand k at the `index`-th combination of the dimensions other than 0 and `along`. */
static int64_t outer_offset(const transpose_job *job, int k, int64_t index) {
    const wick_iter *it = job->it;
    int64_t offset = 0;
    for (int d = 1; d < it->ndim; ++d) {
        if (d == job->along) continue;
        offset += index % it->sizes[d] * it->strides[k][d];
        index /= it->sizes[d];
    }
    return offset;
}

static void run_panels(void *user, int64_t begin, int64_t end, int worker) {
    const transpose_job *job = user;
    const wick_iter *it = job->it;
    int64_t dst_step = it->strides[0][job->along], src_step = it->strides[1][0];
    int32_t bytes = it->element_bytes[0];
    for (int64_t p = begin; p < end; ++p) {
        int64_t first = p % job->panels * TILE, left = it->sizes[job->along] - first;
        int64_t n_along = left < TILE ? left : TILE;
        char *dst = it->data[0] + outer_offset(job, 0, p / job->panels) + first * dst_step;
        const char *src = it->data[1] + outer_offset(job, 1, p / job->panels) + first * bytes;
        for (int64_t i = 0; i < it->sizes[0]; i += TILE) {
            int64_t n0 = it->sizes[0] - i < TILE ? it->sizes[0] - i : TILE;
            transpose_tile(dst + i * bytes, dst_step, src + i * src_step, src_step, n0, n_along, bytes);
        }
    }
}

static bool try_transpose(const wick_kernel_call *k, const wick_iter *it) {
    int32_t bytes = it->element_bytes[0];
    transpose_job job = {it, 0, 0};
    if (it->strides[0][0] != bytes || it->strides[1][0] == bytes || it->sizes[0] < 4) return false;
    for (int d = 1; d < it->ndim && !job.along; ++d)
        if (it->strides[1][d] == bytes && it->sizes[d] >= 4) job.along = d;
    if (!job.along) return false;
    job.panels = (it->sizes[job.along] + TILE - 1) / TILE;
    int64_t outer = it->numel / (it->sizes[0] * it->sizes[job.along]);
    int64_t panel_bytes = it->sizes[0] * TILE * bytes;
    cpu_parallel_for(cpu_of(k), outer * job.panels, COPY_GRAIN / panel_bytes + 1, run_panels, &job);
    return true;
}

/* ---- anything else, in blocks: gather, convert, scatter ---- */
typedef struct convert_job {
    wick_iter it;
    cpu_convert_fn widen, narrow; /* NULL: nothing to do */
    pw_loop conjugate, negate;    /* of the source's class; NULL: not asked for */
} convert_job;

static void run_convert(void *user, int64_t begin, int64_t end, int worker) {
    const convert_job *job = user;
    const wick_iter *it = &job->it;
    _Alignas(64) char buffers[4][BLOCK_BYTES];
    const wick_pointwise_scalar none[WICK_POINTWISE_SCALARS] = {{0}};
    wick_cursor c = wick_cursor_at(it, begin);
    for (int64_t p = begin, n; p < end; p += n, wick_cursor_skip(it, &c, n)) {
        n = end - p < BLOCK ? end - p : BLOCK;
        const void *values = buffers[0];
        if (wick_iter_is_linear(it, 1))
            values = it->data[1] + p * it->element_bytes[1];
        else
            wick_iter_gather(it, &c, 1, buffers[0], n);
        if (job->widen) job->widen(buffers[1], values, n), values = buffers[1];
        if (job->conjugate) job->conjugate(buffers[2], &values, n, none), values = buffers[2];
        if (job->negate) job->negate(buffers[2], &values, n, none), values = buffers[2];
        void *direct = wick_iter_is_linear(it, 0) ? it->data[0] + p * it->element_bytes[0] : NULL;
        if (job->narrow) job->narrow(direct ? direct : buffers[3], values, n), values = direct ? direct : buffers[3];
        if (values != direct) wick_iter_scatter(it, &c, 0, values, n);
    }
}

/* The source's rows straight into the destination's. */
static void run_rows(void *user, int64_t begin, int64_t end, int worker) {
    const wick_iter *it = user;
    wick_cursor c = wick_cursor_at(it, begin);
    for (int64_t p = begin, n; p < end; p += n, wick_cursor_advance(it, &c, n)) {
        n = wick_cursor_row(it, &c, end - p);
        wick_copy_row(wick_cursor_address(it, &c, 0), wick_iter_stride(it, 0), wick_cursor_address(it, &c, 1),
                      wick_iter_stride(it, 1), n, it->element_bytes[0]);
    }
}

static void plan_conversion(convert_job *job, const wick_tensor *dst, const wick_tensor *src) {
    wick_dtype from = wick_tensor_dtype(src), to = wick_tensor_dtype(dst);
    cpu_class c = class_of_dtype(from);
    bool conjugate = (src->flags & WICK_TENSOR_CONJ) && wick_dtype_is_complex(from),
         negate = src->flags & WICK_TENSOR_NEG;
    if (from == to && !conjugate && !negate) return;
    job->widen = CPU_NAME(widen)[from];
    job->conjugate = conjugate ? CPU_NAME(pw_loops)[c][WICK_PW_conj_physical] : NULL;
    job->negate = negate ? CPU_NAME(pw_loops)[c][WICK_PW_neg] : NULL;
    job->narrow = dtype_of_class(c) == to ? NULL : CPU_NAME(narrow)[c][to];
}

/* copy_(self, src, non_blocking) */
static wick_status *copy(const wick_kernel_call *k) {
    const wick_tensor *dst = wick_out_tensor(k, 0), *src = wick_arg_tensor(k, 1);
    const wick_tensor *operands[] = {dst, src};
    if (dst->numel == 0) return NULL;
    bool lazy = src->flags & (WICK_TENSOR_CONJ | WICK_TENSOR_NEG), same_bytes = dst->dtype == src->dtype && !lazy;
    if (same_bytes && wick_iter_all_contiguous(operands, 2)) return copy_bytes(k, dst, src), NULL;
    convert_job job = {.widen = NULL};
    if (!wick_iter_init(&job.it, dst, operands, 2, 0))
        return WICK_HOST_ERROR(k->host, WICK_INVALID_ARGUMENT,
                               "copy_: the source does not broadcast to the destination");
    if (same_bytes) {
        if (!try_transpose(k, &job.it)) cpu_parallel_for(cpu_of(k), dst->numel, CPU_GRAIN, run_rows, &job.it);
        return NULL;
    }
    plan_conversion(&job, dst, src);
    cpu_parallel_for(cpu_of(k), dst->numel, CPU_GRAIN, run_convert, &job);
    return NULL;
}

/* ---- filling ---- */
typedef struct fill_job {
    wick_iter it;
    _Alignas(16) char value[sizeof(double complex)];
    bool zero;
} fill_job;

#define FILL_LOOP(T)                                   \
    {                                                  \
        T value, *to = (T *)p;                         \
        memcpy(&value, job->value, sizeof value);      \
        for (int64_t i = 0; i < n; ++i) to[i] = value; \
    }

static void fill_row(const fill_job *job, char *p, int64_t n, int32_t bytes) {
    if (job->zero || bytes == 1)
        memset(p, job->value[0], (size_t)n * (size_t)bytes);
    else if (bytes == 2)
        FILL_LOOP(uint16_t)
    else if (bytes == 4)
        FILL_LOOP(uint32_t)
    else if (bytes == 8)
        FILL_LOOP(uint64_t)
    else
        FILL_LOOP(double complex)
}

static void run_fill(void *user, int64_t begin, int64_t end, int worker) {
    const fill_job *job = user;
    const wick_iter *it = &job->it;
    int32_t bytes = it->element_bytes[0];
    wick_cursor c = wick_cursor_at(it, begin);
    for (int64_t p = begin, n; p < end; p += n, wick_cursor_advance(it, &c, n)) {
        n = wick_cursor_row(it, &c, end - p);
        char *row = wick_cursor_address(it, &c, 0);
        if (wick_iter_stride(it, 0) == bytes)
            fill_row(job, row, n, bytes);
        else
            wick_copy_row(row, wick_iter_stride(it, 0), job->value, 0, n, bytes);
    }
}

/* Writes the scalar as one element of `dtype`. */
static void element_of(const wick_value *v, wick_dtype dtype, void *out) {
    cpu_class c = v->tag == WICK_TAG_F64 ? CPU_F64 : v->tag == WICK_TAG_C128 ? CPU_C128 : CPU_I64;
    const void *from = v->tag == WICK_TAG_F64    ? (const void *)&v->as.f
                       : v->tag == WICK_TAG_C128 ? v->as.c
                                                 : (const void *)&v->as.i;
    CPU_NAME(narrow)[c][dtype](out, from, 1);
}

/* fill.Scalar(self, value) */
static wick_status *fill(const wick_kernel_call *k) {
    const wick_tensor *out = wick_out_tensor(k, 0);
    static const char zero[sizeof(double complex)];
    fill_job job;
    if (out->numel == 0) return NULL;
    memset(job.value, 0, sizeof job.value);
    element_of(&k->values[1], wick_tensor_dtype(out), job.value);
    job.zero = memcmp(job.value, zero, sizeof zero) == 0;
    if (!wick_iter_init(&job.it, out, &out, 1, 0))
        return WICK_HOST_ERROR(k->host, WICK_INVALID_ARGUMENT, "fill: too many elements");
    cpu_parallel_for(cpu_of(k), out->numel, CPU_GRAIN, run_fill, &job);
    return NULL;
}

#define FLAGS (WICK_KERNEL_FUSED_CAST | WICK_KERNEL_DETERMINISTIC)
static const wick_kernel_row rows[] = {
    CPU_ROW("copy_", copy, NULL, 0, FLAGS),
    CPU_ROW("fill.Scalar", fill, NULL, 0, FLAGS),
};
const cpu_kernel_table CPU_NAME(copy_table) = CPU_TABLE(rows);
