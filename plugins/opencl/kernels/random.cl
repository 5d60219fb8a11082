/* Philox4x32-10. Element i of the row-major order takes word i % 4 of the block at counter offset + i / 4. A
 * second stream of blocks at the same counters (the third counter word is 1) gives the low bits of doubles and of
 * wide integers. */
#define UNIFORM 0
#define BERNOULLI 1
#define NORMAL 2
#define EXPONENTIAL 3
#define INTEGER 4
#define FAULT_PROBABILITY 2
#ifdef HAVE_FP64
typedef double real;
#else
typedef float real;
#endif

uint4 philox(ulong seed, ulong counter, uint stream) {
    uint x0 = (uint)counter, x1 = (uint)(counter >> 32), x2 = stream, x3 = 0;
    uint key0 = (uint)seed, key1 = (uint)(seed >> 32);
    for (int round = 0; round < 10; ++round) {
        const uint a = 0xD2511F53u * x0, a_high = mul_hi(0xD2511F53u, x0);
        const uint b = 0xCD9E8D57u * x2, b_high = mul_hi(0xCD9E8D57u, x2);
        x0 = b_high ^ x1 ^ key0, x1 = b;
        x2 = a_high ^ x3 ^ key1, x3 = a;
        key0 += 0x9E3779B9u, key1 += 0xBB67AE85u;
    }
    return (uint4)(x0, x1, x2, x3);
}

/* In [0, 1): 24 bits, or 53 for results in f64. */
real unit_of(uint high, uint low) {
#if T_IS_F64
    return (real)((ulong)high << 21 | low >> 11) * (real)0x1p-53;
#else
    return (real)(high >> 8) * (real)0x1p-24;
#endif
}

/* Four elements an item. p, q: parameters; `mask`: bits of the words that are used; first, range: of integers. */
__kernel void draw(const view v, OUT(O, out) A_PARAM, const ulong seed, const ulong offset, const real p, const real q,
                   const uint mask, const long first, const ulong range, __global int *fault) {
    const INDEX block = (INDEX)get_global_id(0);
    uint high[4], low[4];
    if ((long)block * 4 >= v.numel) return;
    vstore4(philox(seed, offset + (ulong)block, 0) & mask, 0, high);
    vstore4(philox(seed, offset + (ulong)block, 1), 0, low);
    for (int j = 0; j < 4 && (long)block * 4 + j < v.numel; ++j) {
        long at[2];
        view_locate(&v, block * 4 + j, at, 2);
#if EXPRESSION == UNIFORM
        const real x = unit_of(high[j], low[j]) * (q - p) + p;
#elif EXPRESSION == BERNOULLI
#ifdef A_TYPE
        const real chance = (real)A_AT(at[1]);
        if (!(chance >= 0 && chance <= 1)) atomic_cmpxchg(fault, 0, FAULT_PROBABILITY);
#else
        const real chance = p;
#endif
        const int x = unit_of(high[j], low[j]) < chance;
#elif EXPRESSION == NORMAL
        const int even = j & 2;
        const real radius = q * sqrt((real)-2 * log1p(-unit_of(high[even], low[even])));
        const real angle = (real)6.28318530717958647692 * unit_of(high[even + 1], low[even + 1]);
        const real x = p + radius * (j & 1 ? sin(angle) : cos(angle));
#elif EXPRESSION == EXPONENTIAL
        const real x = -log1p(-unit_of(high[j], low[j])) / p;
#else
        const ulong bits = range >> 32 ? (ulong)high[j] << 32 | low[j] : high[j];
        const long x = (long)(range ? bits % range : bits) + first;
#endif
        STORE_O(out, base_O + at[0], x);
    }
}
