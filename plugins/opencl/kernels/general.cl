/* Expressions over operands whose dtypes are known at run time: a kernel for each member of a group, one item an
 * element. An input of dtype 0 is a number. `compute` is the dtype that inputs are rounded to. */
#if T_IS_REAL
T rounded(T x, int compute) {
    if (compute == DTYPE_F16) return (T)round_f16((float)x);
    if (compute == DTYPE_BF16) return (T)load_bf16(store_bf16((float)x));
    return x;
}
#else
T rounded(T x, int compute) {
    switch (compute) {
    case DTYPE_BOOL: return (T)(x != 0);
    case DTYPE_U8: return (T)(uchar)x;
    case DTYPE_I8: return (T)(char)x;
    case DTYPE_I16: return (T)(short)x;
    case DTYPE_U16: return (T)(ushort)x;
    case DTYPE_I32: return (T)(int)x;
    case DTYPE_U32: return (T)(uint)x;
    }
    return x;
}
#endif

#define INPUT(X) , __global const void *data_##X, const long base_##X, const int dtype_##X, const T number_##X
#define AT(X, k) (dtype_##X == 0 ? number_##X : load_value(data_##X, base_##X + at[k], dtype_##X))
#define TAKE_T(x, X, k) const T x = rounded(AT(X, k), compute);
#define TAKE_B(x, X, k) const int x = AT(X, k) != 0;

#define BEGIN(name, inputs, n)                                                                                     \
    __kernel void name(const view v, const int compute, OUT(O, data_O) inputs, const T s0, const T s1, const T s2, \
                       const T s3) {                                                                               \
        const INDEX i = (INDEX)get_global_id(0);                                                                   \
        long at[4];                                                                                                \
        if (i >= v.numel) return;                                                                                  \
        view_locate(&v, i, at, n);
#define END(expression)                            \
    STORE_O(data_O, base_O + at[0], (expression)); \
    }
#define MEMBER0(name, expression) BEGIN(name, , 1) END(expression)
#define MEMBER1(name, ka, expression) BEGIN(name, INPUT(A), 2) TAKE_##ka(a, A, 1) END(expression)
#define MEMBER2(name, ka, kb, expression) \
    BEGIN(name, INPUT(A) INPUT(B), 3) TAKE_##ka(a, A, 1) TAKE_##kb(b, B, 2) END(expression)
#define MEMBER3(name, ka, kb, kc, expression)                                                                       \
    BEGIN(name, INPUT(A) INPUT(B) INPUT(C), 4) TAKE_##ka(a, A, 1) TAKE_##kb(b, B, 2) TAKE_##kc(c, C, 3) END(expression)
