/* Kernels that need an element's place: sequences, triangles, running sums. */
#define ARANGE 0
#define TRIL 1
#define TRIU 2
#define CUMSUM 3
#define CUMPROD 4

#if EXPRESSION == ARANGE
__kernel void arange(const view v, OUT(O, out), const T start, const T step) {
    const INDEX i = (INDEX)get_global_id(0);
    if (i < v.numel) STORE_O(out, base_O + view_at(&v, i, 0), start + (T)i * step);
}
#elif EXPRESSION == TRIL || EXPRESSION == TRIU
/* Operands O, A; `rows` x `columns` are the two innermost dimensions. */
__kernel void triangle(const view v, OUT(O, out), IN(A, in), const long rows, const long columns,
                       const long diagonal) {
    const INDEX i = (INDEX)get_global_id(0);
    long at[2];
    if (i >= v.numel) return;
    view_locate(&v, i, at, 2);
    const long column = i % columns, row = i / columns % rows;
#if EXPRESSION == TRIL
    const bool keep = column - row <= diagonal;
#else
    const bool keep = column - row >= diagonal;
#endif
    STORE_O(out, base_O + at[0], keep ? RAW_A(in, base_A + at[1]) : 0);
}
#else
/* One item a line; operands O, A without the dimension, `strides` along it. */
__kernel void scan(const view v, OUT(O, out), IN(A, in), const long count, const long2 strides) {
    const INDEX i = (INDEX)get_global_id(0);
    long at[2];
    T x = EXPRESSION == CUMSUM ? (T)0 : (T)1;
    if (i >= v.numel) return;
    view_locate(&v, i, at, 2);
    for (long j = 0; j < count; ++j) {
        const T y = LOAD_A(in, base_A + at[1] + j * strides.y);
        x = EXPRESSION == CUMSUM ? x + y : x * y;
        STORE_O(out, base_O + at[0] + j * strides.x, x);
    }
}
#endif
