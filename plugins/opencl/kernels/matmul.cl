/* O[b] = A[b] B[b] for matrices of any strides. A group of 8 x 8 items makes a tile of 32 x 64 results, 4 rows of
 * 8 each item, and goes through the inner dimension in steps of 16 that it keeps in local memory. */
#define ROWS 32
#define COLUMNS 64
#define STEP 16
#define SIDE 8
#define ITEMS (SIDE * SIDE)
#define EACH (ROWS / SIDE)
#if T_IS_REAL && (T_IS_F64 || defined(FP_FAST_FMAF))
#define MULTIPLY_ADD(a, b, c) fma((T8)(a), b, c)
#else
#define MULTIPLY_ADD(a, b, c) ((T8)(a) * (b) + (c))
#endif

typedef struct {
    long m, n, k;
    long o[3], a[3], b[3]; /* strides: batch, row, column */
} product;

__kernel void bmm(const product p, OUT(O, out), IN(A, left), IN(B, right)) {
    __local T rows[STEP][ROWS];
    __local T8 columns[STEP][SIDE];
    const int x = (int)get_local_id(0), y = (int)get_local_id(1), item = y * SIDE + x;
    const long column0 = (long)get_group_id(0) * COLUMNS, row0 = (long)get_group_id(1) * ROWS;
    const long batch = (long)get_group_id(2);
    const int m = (int)min(p.m - row0, (long)ROWS), n = (int)min(p.n - column0, (long)COLUMNS);
    const long at_a = base_A + batch * p.a[0] + row0 * p.a[1], at_b = base_B + batch * p.b[0] + column0 * p.b[2];
    T8 sums[EACH];
    for (int r = 0; r < EACH; ++r) sums[r] = (T8)0;
    for (long k0 = 0; k0 < p.k; k0 += STEP) {
        const int steps = (int)min(p.k - k0, (long)STEP);
        for (int e = item; e < ROWS * STEP; e += ITEMS) {
            const int k = e % STEP, row = e / STEP;
            rows[k][row] = row < m && k < steps ? LOAD_A(left, at_a + row * p.a[1] + (k0 + k) * p.a[2]) : (T)0;
        }
        for (int e = item; e < COLUMNS * steps; e += ITEMS) {
            const int column = e % COLUMNS, k = e / COLUMNS;
            ((__local T *)columns)[e] = column < n ? LOAD_B(right, at_b + (k0 + k) * p.b[1] + column * p.b[2]) : (T)0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < steps; ++k)
            for (int r = 0; r < EACH; ++r) sums[r] = MULTIPLY_ADD(rows[k][y * EACH + r], columns[k][x], sums[r]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const long at_o = base_O + batch * p.o[0] + row0 * p.o[1] + column0 * p.o[2];
    for (int r = 0; r < EACH; ++r) {
        T values[8];
        const int row = y * EACH + r;
        vstore8(sums[r], 0, values);
        for (int c = 0; c < 8; ++c) {
            const int column = x * 8 + c;
            if (row < m && column < n) STORE_O(out, at_o + row * p.o[1] + column * p.o[2], values[c]);
        }
    }
}
