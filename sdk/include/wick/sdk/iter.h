/* wick/sdk/iter.h: walks the elements of several broadcast tensors together. Header-only, pure C17, no allocation.
 *
 * wick_iter_init() broadcasts the operands to one shape, orders the dimensions so that memory is walked forwards and
 * merges those that are one run for every operand. What remains are rows: `sizes[0]` elements at a constant byte
 * stride for each operand. An index counts elements in that walking order, so [begin, end) can be split over threads:
 *
 *     wick_iter it;
 *     if (!wick_iter_init(&it, shape, operands, 3, 0)) return an error;
 *     wick_cursor c = wick_cursor_at(&it, begin);
 *     for (int64_t i = begin, n; i < end; i += n, wick_cursor_advance(&it, &c, n)) {
 *         n = wick_cursor_row(&it, &c, end - i);
 *         ... n elements from wick_cursor_address(&it, &c, k), wick_iter_stride(&it, k) bytes apart ...
 *     }
 *
 * Memory that the host cannot address is walked by numbers: sizes and strides are right without it (only data[] is
 * NULL), wick_iter_element_stride() counts in elements, wick_tensor_base() says where element 0 is in the block that
 * the plugin allocated; a kernel on the device computes base + sum of index * stride.
 *
 * Everything works on the caller's own objects: thread-compatible. */
#ifndef WICK_SDK_ITER_H
#define WICK_SDK_ITER_H

#include <string.h>
#include <wick/tensor.h>

#define WICK_ITER_MAX_OPERANDS 8

enum wick_iter_flag { WICK_ITER_KEEP_ORDER = 1 /* walk in row-major order of the shape, whatever the strides */ };

typedef struct wick_iter {
    int ndim; /* after merging; at least 1; dimension 0 is the innermost */
    int noperands;
    int64_t numel;
    int64_t sizes[WICK_MAX_DIMS];
    int64_t strides[WICK_ITER_MAX_OPERANDS][WICK_MAX_DIMS]; /* in bytes; 0 where the operand is broadcast */
    char *data[WICK_ITER_MAX_OPERANDS];
    int32_t element_bytes[WICK_ITER_MAX_OPERANDS];
} wick_iter;

typedef struct wick_cursor {
    int64_t index[WICK_MAX_DIMS];           /* valid up to the iterator's ndim */
    int64_t offset[WICK_ITER_MAX_OPERANDS]; /* in bytes */
} wick_cursor;

/* Strides of operand `k` over the reversed shape; false if it does not broadcast to it. */
static inline bool wick_iter_broadcast_(wick_iter *it, int k, const wick_tensor *t) {
    int ndim = it->ndim;
    it->data[k] = (char *)wick_data(t);
    it->element_bytes[k] = (int32_t)wick_dtype_bytes(wick_tensor_dtype(t));
    if (t->ndim > ndim) return false;
    for (int d = 0; d < ndim; ++d) {
        int source = t->ndim - 1 - d;
        int64_t size = source >= 0 ? t->sizes[source] : 1;
        if (size != 1 && size != it->sizes[d]) return false;
        it->strides[k][d] = size == 1 ? 0 : t->strides[source] * it->element_bytes[k];
    }
    return true;
}

/* Takes away dimensions of size 1. */
static inline void wick_iter_squeeze_(wick_iter *it) {
    int kept = 0;
    for (int d = 0; d < it->ndim; ++d) {
        if (it->sizes[d] == 1) continue;
        it->sizes[kept] = it->sizes[d];
        for (int k = 0; k < it->noperands; ++k) it->strides[k][kept] = it->strides[k][d];
        ++kept;
    }
    it->ndim = kept;
}

/* True if dimension `outer` should be walked inside dimension `inner`: the first operand that moves along both and
 * tells them apart decides, outputs before inputs. */
static inline bool wick_iter_out_of_order_(const wick_iter *it, int inner, int outer) {
    for (int k = 0; k < it->noperands; ++k) {
        int64_t a = it->strides[k][inner], b = it->strides[k][outer];
        a = a < 0 ? -a : a, b = b < 0 ? -b : b;
        if (a == 0 || b == 0 || (a == b && it->sizes[inner] <= it->sizes[outer])) continue;
        return a > b || a == b;
    }
    return false;
}

static inline void wick_iter_swap_(wick_iter *it, int d, int e) {
    int64_t size = it->sizes[d];
    it->sizes[d] = it->sizes[e], it->sizes[e] = size;
    for (int k = 0; k < it->noperands; ++k) {
        int64_t stride = it->strides[k][d];
        it->strides[k][d] = it->strides[k][e], it->strides[k][e] = stride;
    }
}

static inline void wick_iter_sort_(wick_iter *it) {
    for (int d = 1; d < it->ndim; ++d)
        for (int e = d; e > 0 && wick_iter_out_of_order_(it, e - 1, e); --e) wick_iter_swap_(it, e - 1, e);
}

/* True if dimension `outer` continues dimension `inner` without a gap for every operand. */
static inline bool wick_iter_mergeable_(const wick_iter *it, int inner, int outer) {
    for (int k = 0; k < it->noperands; ++k)
        if (it->strides[k][outer] != it->strides[k][inner] * it->sizes[inner]) return false;
    return true;
}

static inline void wick_iter_merge_(wick_iter *it) {
    int last = 0;
    for (int d = 1; d < it->ndim; ++d) {
        if (wick_iter_mergeable_(it, last, d)) {
            it->sizes[last] *= it->sizes[d];
            continue;
        }
        ++last;
        it->sizes[last] = it->sizes[d];
        for (int k = 0; k < it->noperands; ++k) it->strides[k][last] = it->strides[k][d];
    }
    if (it->ndim > 0) it->ndim = last + 1;
}

/* Broadcasts `n` operands (outputs first) to the shape of `shape`, usually the first output. False if an operand does
 * not broadcast, there are too many, or the element count overflows. */
static inline bool wick_iter_init(wick_iter *it, const wick_tensor *shape, const wick_tensor *const *operands, int n,
                                  unsigned flags) {
    if (n > WICK_ITER_MAX_OPERANDS) return false;
    it->ndim = shape->ndim, it->noperands = n, it->numel = 1;
    for (int d = 0; d < it->ndim; ++d) {
        it->sizes[d] = shape->sizes[it->ndim - 1 - d];
        if (__builtin_mul_overflow(it->numel, it->sizes[d], &it->numel)) return false;
    }
    for (int k = 0; k < n; ++k)
        if (!wick_iter_broadcast_(it, k, operands[k])) return false;
    wick_iter_squeeze_(it);
    if (!(flags & WICK_ITER_KEEP_ORDER)) wick_iter_sort_(it);
    wick_iter_merge_(it);
    if (it->ndim > 0) return true;
    it->ndim = 1, it->sizes[0] = 1; /* a single element */
    for (int k = 0; k < n; ++k) it->strides[k][0] = 0;
    return true;
}

/* True if operand `k` lies in walking order without gaps: element i is at data[k] + i * element_bytes[k]. */
static inline bool wick_iter_is_linear(const wick_iter *it, int k) {
    return it->numel == 1 || (it->ndim == 1 && it->strides[k][0] == it->element_bytes[k]);
}

/* True if operand `k` is the same element everywhere. */
static inline bool wick_iter_is_constant(const wick_iter *it, int k) {
    for (int d = 0; d < it->ndim; ++d)
        if (it->strides[k][d] != 0) return false;
    return true;
}

static inline int64_t wick_iter_stride(const wick_iter *it, int k) { return it->strides[k][0]; }

/* ---- without addresses: positions in elements ---- */
/* Of operand `k` along the merged dimension `d`; 0 where it is broadcast. */
static inline int64_t wick_iter_element_stride(const wick_iter *it, int k, int d) {
    return it->strides[k][d] / it->element_bytes[k];
}
/* Where element 0 of `t` is, in elements (in bytes) from the start of what the block's handle stands for. Blocks begin
 * at multiples of the memory interface's alignment, which are whole elements. */
static inline int64_t wick_tensor_base(const wick_tensor *t) {
    return (int64_t)(t->storage->memory.offset_bytes / wick_dtype_bytes(wick_tensor_dtype(t))) + t->offset;
}
static inline uint64_t wick_tensor_base_bytes(const wick_tensor *t) {
    return t->storage->memory.offset_bytes + (uint64_t)t->offset * wick_dtype_bytes(wick_tensor_dtype(t));
}

static inline wick_cursor wick_cursor_at(const wick_iter *it, int64_t position) {
    wick_cursor c;
    for (int k = 0; k < it->noperands; ++k) c.offset[k] = 0;
    for (int d = 0; d < it->ndim; ++d) {
        c.index[d] = it->sizes[d] ? position % it->sizes[d] : 0;
        position = it->sizes[d] ? position / it->sizes[d] : 0;
        for (int k = 0; k < it->noperands; ++k) c.offset[k] += c.index[d] * it->strides[k][d];
    }
    return c;
}

static inline char *wick_cursor_address(const wick_iter *it, const wick_cursor *c, int k) {
    return it->data[k] + c->offset[k];
}

/* Elements left in the cursor's row, at most `limit`. */
static inline int64_t wick_cursor_row(const wick_iter *it, const wick_cursor *c, int64_t limit) {
    int64_t left = it->sizes[0] - c->index[0];
    return left < limit ? left : limit;
}

/* Moves on by `count` elements, at most to the end of the row. */
static inline void wick_cursor_advance(const wick_iter *it, wick_cursor *c, int64_t count) {
    c->index[0] += count;
    for (int k = 0; k < it->noperands; ++k) c->offset[k] += count * it->strides[k][0];
    for (int d = 0; c->index[d] == it->sizes[d] && d + 1 < it->ndim; ++d) {
        c->index[d] = 0;
        ++c->index[d + 1];
        for (int k = 0; k < it->noperands; ++k)
            c->offset[k] += it->strides[k][d + 1] - it->sizes[d] * it->strides[k][d];
    }
}

/* ---- one operand at a time: packing elements that do not lie together ---- */
#define WICK_ITER_COPY_LOOP_(type) \
    for (int64_t i = 0; i < n; ++i) memcpy(dst + i * dst_stride, src + i * src_stride, sizeof(type));

/* Copies n elements of 1, 2, 4, 8 or 16 bytes between two strided rows. */
static inline void wick_copy_row(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n,
                                 int32_t element_bytes) {
    typedef struct wick_16_bytes {
        uint64_t part[2];
    } wick_16_bytes;
    if (dst_stride == element_bytes && src_stride == element_bytes) {
        memcpy(dst, src, (size_t)n * (size_t)element_bytes);
        return;
    }
    switch (element_bytes) {
    case 1: WICK_ITER_COPY_LOOP_(uint8_t) break;
    case 2: WICK_ITER_COPY_LOOP_(uint16_t) break;
    case 4: WICK_ITER_COPY_LOOP_(uint32_t) break;
    case 8: WICK_ITER_COPY_LOOP_(uint64_t) break;
    default: WICK_ITER_COPY_LOOP_(wick_16_bytes) break;
    }
}

/* Copies `n` elements of operand `k` from the cursor on, across rows, to or from the packed array at `packed`.
 * The cursor stays where it is. */
static inline void wick_iter_pack_(const wick_iter *it, const wick_cursor *c, int k, char *packed, int64_t n,
                                   bool unpack) {
    int64_t index[WICK_MAX_DIMS];
    const int64_t *strides = it->strides[k];
    int32_t bytes = it->element_bytes[k];
    char *p = wick_cursor_address(it, c, k);
    for (int d = 0; d < it->ndim; ++d) index[d] = c->index[d];
    while (n > 0) {
        int64_t run = it->sizes[0] - index[0] < n ? it->sizes[0] - index[0] : n;
        if (unpack)
            wick_copy_row(p, strides[0], packed, bytes, run, bytes);
        else
            wick_copy_row(packed, bytes, p, strides[0], run, bytes);
        packed += run * bytes, p += run * strides[0], n -= run, index[0] += run;
        for (int d = 0; index[d] == it->sizes[d] && d + 1 < it->ndim; ++d) {
            index[d] = 0, ++index[d + 1];
            p += strides[d + 1] - it->sizes[d] * strides[d];
        }
    }
}
static inline void wick_iter_gather(const wick_iter *it, const wick_cursor *c, int k, void *packed, int64_t n) {
    wick_iter_pack_(it, c, k, (char *)packed, n, false);
}
static inline void wick_iter_scatter(const wick_iter *it, const wick_cursor *c, int k, const void *packed, int64_t n) {
    wick_iter_pack_(it, c, k, (char *)(uintptr_t)packed, n, true);
}

/* Advances over several rows. */
static inline void wick_cursor_skip(const wick_iter *it, wick_cursor *c, int64_t count) {
    while (count > 0) {
        int64_t n = wick_cursor_row(it, c, count);
        wick_cursor_advance(it, c, n);
        count -= n;
    }
}

/* The fast path's question: are all operands gap-free, row-major, and as many elements as the first? */
static inline bool wick_iter_all_contiguous(const wick_tensor *const *operands, int n) {
    for (int k = 0; k < n; ++k)
        if (!wick_is_contiguous(operands[k]) || operands[k]->numel != operands[0]->numel) return false;
    return true;
}

#endif
