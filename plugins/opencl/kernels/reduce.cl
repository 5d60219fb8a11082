/* Reductions of A into O. `kept` holds the dimensions that stay (operands O, A, B), `over` those that go (operand
 * A), in row-major order, so that a position in `over` is the index that argmax returns. EXPRESSION is the kind.
 * Two ways: a work group for one result (fold), or an item for one result (lines). */
#define SUM 0
#define PRODUCT 1
#define MAXIMUM 2
#define MINIMUM 3
#define ANY 4
#define ALL 5
#define GROUP 64

#if EXPRESSION == SUM
#define IDENTITY ((T)0)
#define FOLD(x, y) ((x) + (y))
#elif EXPRESSION == PRODUCT
#define IDENTITY ((T)1)
#define FOLD(x, y) ((x) * (y))
#elif EXPRESSION == MAXIMUM
#define IDENTITY T_LOWEST
#define BEFORE(x, y) ((x) > (y))
#elif EXPRESSION == MINIMUM
#define IDENTITY T_HIGHEST
#define BEFORE(x, y) ((x) < (y))
#elif EXPRESSION == ANY
#define IDENTITY ((T)0)
#define FOLD(x, y) ((T)((x) != 0 || (y) != 0))
#else
#define IDENTITY ((T)1)
#define FOLD(x, y) ((T)((x) != 0 && (y) != 0))
#endif

#ifdef BEFORE /* NaN wins */
#define FOLD(x, y) (BEFORE(y, x) || (y) != (y) ? (y) : (x))
/* True if y at position j takes the place of x at position i; of equal values the first one stays. */
bool replaces(T x, long i, T y, long j) {
    if (i < 0) return j >= 0;
    if (j < 0) return false;
    if (x != x) return y != y && j < i;
    if (y != y) return true;
    return BEFORE(y, x) || (y == x && j < i);
}
#endif

#if EXPRESSION == ANY || EXPRESSION == ALL
#define VALUE(p, i) ((T)(RAW_A(p, i) != 0))
#else
#define VALUE(p, i) LOAD_A(p, i)
#endif

#ifndef B_TYPE /* the position is not wanted */
__kernel void lines(const view kept, const view over, OUT(O, out), IN(A, in)) {
    const INDEX i = (INDEX)get_global_id(0);
    long at[2];
    T x = IDENTITY;
    if (i >= kept.numel) return;
    view_locate(&kept, i, at, 2);
    for (INDEX r = 0; r < over.numel; ++r) {
        const T y = VALUE(in, base_A + at[1] + view_at(&over, r, 0));
        x = FOLD(x, y);
    }
    STORE_O(out, base_O + at[0], x);
}

__kernel void fold(const view kept, const view over, OUT(O, out), IN(A, in)) {
    __local T parts[GROUP];
    const int item = (int)get_local_id(0);
    long at[2];
    T x = IDENTITY;
    view_locate(&kept, (INDEX)get_group_id(0), at, 2);
    for (INDEX r = item; r < over.numel; r += GROUP) {
        const T y = VALUE(in, base_A + at[1] + view_at(&over, r, 0));
        x = FOLD(x, y);
    }
    parts[item] = x;
    for (int width = GROUP / 2; width > 0; width /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < width) parts[item] = FOLD(parts[item], parts[item + width]);
    }
    if (item == 0) STORE_O(out, base_O + at[0], parts[0]);
}
#endif

#if defined(B_TYPE) && defined(BEFORE) /* positions in O, values in B */
__kernel void index_lines(const view kept, const view over, OUT(O, out), IN(A, in), OUT(B, values),
                          const int with_values) {
    const INDEX i = (INDEX)get_global_id(0);
    long at[3], position = -1;
    T x = IDENTITY;
    if (i >= kept.numel) return;
    view_locate(&kept, i, at, 3);
    for (INDEX r = 0; r < over.numel; ++r) {
        const T y = LOAD_A(in, base_A + at[1] + view_at(&over, r, 0));
        if (replaces(x, position, y, r)) x = y, position = r;
    }
    STORE_O(out, base_O + at[0], position);
    if (with_values) STORE_B(values, base_B + at[2], x);
}

__kernel void index_fold(const view kept, const view over, OUT(O, out), IN(A, in), OUT(B, values),
                         const int with_values) {
    __local T parts[GROUP];
    __local long positions[GROUP];
    const int item = (int)get_local_id(0);
    long at[3], position = -1;
    T x = IDENTITY;
    view_locate(&kept, (INDEX)get_group_id(0), at, 3);
    for (INDEX r = item; r < over.numel; r += GROUP) {
        const T y = LOAD_A(in, base_A + at[1] + view_at(&over, r, 0));
        if (replaces(x, position, y, r)) x = y, position = r;
    }
    parts[item] = x, positions[item] = position;
    for (int width = GROUP / 2; width > 0; width /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < width && replaces(parts[item], positions[item], parts[item + width], positions[item + width]))
            parts[item] = parts[item + width], positions[item] = positions[item + width];
    }
    if (item > 0) return;
    STORE_O(out, base_O + at[0], positions[0]);
    if (with_values) STORE_B(values, base_B + at[2], parts[0]);
}
#endif
