/* Sorting by rank, and the positions of what is not zero. */
#if EXPRESSION == 0
/* One item an element: its rank in its line is the number of elements that come before it. NaN is the largest.
 * Operands of `lines`: A, O (values), B (positions); one more dimension of `count` elements with `strides` for the
 * three. */
__kernel void sort(const view lines, const long count, const long4 strides, OUT(O, values), IN(A, in),
                   OUT(B, positions), const int descending) {
    const long i = (long)get_global_id(0), line = i / count, j = i % count;
    long at[3], rank = 0;
    if (i >= lines.numel * count) return;
    view_locate(&lines, (INDEX)line, at, 3);
    const T x = LOAD_A(in, base_A + at[0] + j * strides.x);
    for (long k = 0; k < count; ++k) {
        const T y = LOAD_A(in, base_A + at[0] + k * strides.x);
        const bool less = x != x ? y == y : y < x, more = x != x ? false : y != y || y > x;
        rank += (descending ? more : less) || (!less && !more && k < j);
    }
    STORE_O(values, base_O + at[1] + rank * strides.y, RAW_A(in, base_A + at[0] + j * strides.x));
    STORE_B(positions, base_B + at[2] + rank * strides.z, j);
}
#else
typedef struct {
    long ndim;
    long sizes[8]; /* the innermost first */
} shape;

/* How many elements of each stretch of `stretch` are not zero. */
__kernel void count_nonzero(const view v, const long stretch, IN(A, in), __global long *counts,
                            const long base_counts) {
    const long chunk = (long)get_global_id(0), begin = chunk * stretch, end = min(begin + stretch, v.numel);
    long n = 0;
    if (begin >= v.numel) return;
    for (long i = begin; i < end; ++i) n += RAW_A(in, base_A + view_at(&v, (INDEX)i, 0)) != 0;
    counts[base_counts + chunk] = n;
}

/* Writes their positions as rows of O, from row counts[chunk] on. */
__kernel void write_nonzero(const view v, const long stretch, IN(A, in), __global const long *counts,
                            const long base_counts, OUT(O, out), const shape s) {
    const long chunk = (long)get_global_id(0), begin = chunk * stretch, end = min(begin + stretch, v.numel);
    if (begin >= v.numel) return;
    long row = counts[base_counts + chunk];
    for (long i = begin; i < end; ++i) {
        if (RAW_A(in, base_A + view_at(&v, (INDEX)i, 0)) == 0) continue;
        long left = i;
        for (int d = 0; d < (int)s.ndim; ++d) {
            STORE_O(out, base_O + row * s.ndim + s.ndim - 1 - d, left % s.sizes[d]);
            left /= s.sizes[d];
        }
        ++row;
    }
}
#endif
