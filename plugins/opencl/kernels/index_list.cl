/* self[.., i, .., j, ..] for tensors i, j .. of indices that are broadcast together. Two views: `over` walks the
 * indices (operand 0 the tensor of the result's shape, 1 .. the index tensors), `rest` the dimensions without one
 * (operand 0 the same, 1 self). */
#define FAULT_INDEX 1

typedef struct {
    long count;
    long sizes[4], strides[4]; /* of self, along the indexed dimensions */
    long bases[4];             /* of the index tensors */
    long dtype;
} places;

/* Where position j of the indices points to in self. */
long place_of(const places *p, const view *over, INDEX j, __global const B_TYPE *i0, __global const B_TYPE *i1,
              __global const B_TYPE *i2, __global const B_TYPE *i3, __global int *fault) {
    const int dtype_B = (int)p->dtype;
    long at[5], to = 0;
    view_locate(over, j, at, 5);
    for (int k = 0; k < (int)p->count; ++k) {
        __global const B_TYPE *indices = k == 0 ? i0 : k == 1 ? i1 : k == 2 ? i2 : i3;
        long index = (long)RAW_B(indices, p->bases[k] + at[k + 1]);
        if (index < 0) index += p->sizes[k];
        if (index < 0 || index >= p->sizes[k]) {
            atomic_cmpxchg(fault, 0, FAULT_INDEX);
            index = 0;
        }
        to += index * p->strides[k];
    }
    return to;
}

#define INDICES \
    __global const B_TYPE *i0, __global const B_TYPE *i1, __global const B_TYPE *i2, __global const B_TYPE *i3

__kernel void index_get(const view over, const view rest, const places p, OUT(O, out), IN(A, in), INDICES,
                        __global int *fault) {
    const INDEX i = (INDEX)get_global_id(0), j = i / (INDEX)rest.numel, r = i % (INDEX)rest.numel;
    long at[2];
    if (i >= over.numel * rest.numel) return;
    view_locate(&rest, r, at, 2);
    const long from = at[1] + place_of(&p, &over, j, i0, i1, i2, i3, fault);
    STORE_O(out, base_O + at[0] + view_at(&over, j, 0), RAW_A(in, base_A + from));
}

/* One item goes through all indices in their order, so that it does not matter which are equal. */
__kernel void index_put(const view over, const view rest, const places p, OUT(O, out), IN(A, in), INDICES,
                        const int accumulate, __global int *fault) {
    const INDEX r = (INDEX)get_global_id(0);
    long at[2];
    if (r >= rest.numel) return;
    view_locate(&rest, r, at, 2);
    for (INDEX j = 0; j < over.numel; ++j) {
        const long to = base_O + at[1] + place_of(&p, &over, j, i0, i1, i2, i3, fault);
        const T value = LOAD_A(in, base_A + at[0] + view_at(&over, j, 0));
        STORE_O(out, to, accumulate ? LOAD_O(out, to) + value : value);
    }
}
