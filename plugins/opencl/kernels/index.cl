/* Reading and writing at positions that a tensor of indices names. */
#define FAULT_INDEX 1

/* The index; out of range it is reported and 0 is used. */
long checked(long index, long size, __global int *fault) {
    if (index >= 0 && index < size) return index;
    atomic_cmpxchg(fault, 0, FAULT_INDEX);
    return 0;
}

#if defined(GATHER)
/* O[i] = A[i with dimension `dim` replaced by B[i]]; operands O, A (without its stride along dim), B. */
__kernel void gather(const view v, OUT(O, out), IN(A, in), IN(B, indices), const long size, const long stride,
                     __global int *fault) {
    const INDEX i = (INDEX)get_global_id(0);
    long at[3];
    if (i >= v.numel) return;
    view_locate(&v, i, at, 3);
    const long index = checked((long)RAW_B(indices, base_B + at[2]), size, fault);
    STORE_O(out, base_O + at[0], RAW_A(in, base_A + at[1] + index * stride));
}
#else
#define ASSIGN 0
#define ADD 1
#define MULTIPLY 2

/* One item walks a line along `dim`, so that repeated indices are met in their order: O[index] = A or O[index] op A.
 * Operands O, A, B without dim; `strides` along it. */
__kernel void scatter(const view v, OUT(O, out) A_PARAM, IN(B, indices), const long count, const long size,
                      const long4 strides, __global int *fault) {
    const INDEX i = (INDEX)get_global_id(0);
    long at[3];
    if (i >= v.numel) return;
    view_locate(&v, i, at, 3);
    for (long j = 0; j < count; ++j) {
        const long index = checked((long)RAW_B(indices, base_B + at[2] + j * strides.z), size, fault);
        const long to = base_O + at[0] + index * strides.x;
        const T x = (T)A_AT(at[1] + j * strides.y);
#if EXPRESSION == ASSIGN
        STORE_O(out, to, x);
#else
        const T old = LOAD_O(out, to);
#if EXPRESSION == ADD
        STORE_O(out, to, old + x);
#else
        STORE_O(out, to, old * x);
#endif
#endif
    }
}
#endif
