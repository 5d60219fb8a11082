/* out = EXPRESSION(a, b, c; s0 ..): one item an element. */
#define APPLY(o, pa, pb, pc)                           \
    {                                                  \
        const A_KIND_TYPE a = A_KIND(A_AT(pa));        \
        const B_KIND_TYPE b = B_KIND(B_AT(pb));        \
        const C_KIND_TYPE c = C_KIND(C_AT(pc));        \
        STORE_O(data_O, base_O + (o), (EXPRESSION));   \
    }

__kernel void linear(const long n, OUT(O, data_O) A_PARAM B_PARAM C_PARAM S_PARAMS) {
    const INDEX i = (INDEX)get_global_id(0);
    if (i < n) APPLY(i, i, i, i)
}

/* RUN elements an item: only the first one needs divisions. */
__kernel void strided(const view v, OUT(O, data_O) A_PARAM B_PARAM C_PARAM S_PARAMS) {
    const INDEX begin = (INDEX)get_global_id(0) * RUN, end = (INDEX)min((long)begin + RUN, v.numel);
    long at[4] = {0, 0, 0, 0};
    INDEX place[8];
    view_start(&v, begin, place, at, OPERANDS);
    for (INDEX i = begin; i < end; ++i) {
        APPLY(at[0], at[1], at[2], at[3])
        view_step(&v, place, at, OPERANDS);
    }
}
