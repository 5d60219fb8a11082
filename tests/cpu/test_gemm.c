/* Matrix products of the CPU plugin with each instruction set that the machine has, on one and more threads, at sizes
 * around those at which another kernel, tile or split is taken. Elements are small whole numbers: results are exact in
 * whatever order they are summed. */
#include "cpu_test.h"

/* ---- one product ---- */
/* How the operands lie: a bit each for a transposed A, B and result; with an accumulator, alpha and beta. */
enum { A_TURNED = 1, B_TURNED = 2, OUT_TURNED = 4, ADDED = 8, FORMS = 16 };

static double element(int64_t i, int64_t salt) { return (double)((i * 7 + salt * 3) % 5 - 2); }

static wick_tensor *matrix(wick_dtype dtype, wick_dim rows, wick_dim cols, bool turned, int64_t salt) {
    const wick_dim sizes[2] = {turned ? cols : rows, turned ? rows : cols};
    double *data = malloc((size_t)(rows * cols) * sizeof *data);
    for (wick_dim i = 0; i < rows; ++i)
        for (wick_dim j = 0; j < cols; ++j) data[turned ? j * rows + i : i * cols + j] = element(i * cols + j, salt);
    wick_tensor *t = wick_tensor_from_host(F.c, data, WICK_F64, 2, sizes, F.host);
    free(data);
    t = wick_to_dtype(F.c, t, dtype, NULL);
    return turned ? wick_t(F.c, t) : t;
}

static double wanted_at(const wick_dim mnk[3], int form, wick_dim i, wick_dim j) {
    double sum = 0;
    for (wick_dim q = 0; q < mnk[2]; ++q) sum += element(i * mnk[2] + q, 1) * element(q * mnk[1] + j, 2);
    return form & ADDED ? 2 * sum - 3 * element(i * mnk[1] + j, 3) : sum;
}

static wick_tensor *multiply(wick_dtype dtype, const wick_dim mnk[3], int form) {
    const wick_dim m = mnk[0], n = mnk[1], k = mnk[2];
    wick_tensor *a = matrix(dtype, m, k, form & A_TURNED, 1), *b = matrix(dtype, k, n, form & B_TURNED, 2);
    wick_tensor *out = matrix(dtype, m, n, form & OUT_TURNED, 3);
    wick_addmm_options o = WICK_ADDMM_OPTIONS_INIT;
    o.alpha = wick_value_float(2), o.beta = wick_value_float(-3);
    return form & ADDED ? wick_addmm_(F.c, out, a, b, &o) : wick_mm_out(F.c, a, b, out);
}

/* Every `step`th element. */
static void check(const char *isa, wick_dtype dtype, const wick_dim mnk[3], int form, wick_dim step) {
    wick_scope scope = wick_scope_open(F.c);
    wick_tensor *out = wick_contiguous(F.c, wick_to_dtype(F.c, multiply(dtype, mnk, form), WICK_F64, NULL), NULL);
    expect_good(F.c);
    const double *got = wick_data(out);
    for (wick_dim i = 0; i < mnk[0]; ++i)
        for (wick_dim j = 0; j < mnk[1]; ++j, ++got)
            if ((i * mnk[1] + j) % step == 0 && *got != wanted_at(mnk, form, i, j))
                fail_msg("%s, %s, %lld x %lld x %lld, form %d: element (%lld, %lld) is %g, wanted %g", isa,
                         wick_dtype_name(dtype), (long long)mnk[0], (long long)mnk[1], (long long)mnk[2], form,
                         (long long)i, (long long)j, *got, wanted_at(mnk, form, i, j));
    wick_scope_close(F.c, scope);
}

/* ---- many ---- */
static void check_all(const wick_dim (*sizes)[3], size_t count, int threads) {
    for (size_t s = 0; s < COUNT(isas); ++s) {
        if (!start(isas[s], threads)) continue;
        for (size_t i = 0; i < count; ++i)
            for (int form = 0; form < FORMS; ++form) {
                check(isas[s], WICK_F32, sizes[i], form, 1);
                check(isas[s], WICK_F64, sizes[i], form, 1);
            }
        close_fixture(&F);
    }
}

/* Few columns: dot products where k is of whole registers; every remainder of columns and rows. */
static void test_few_columns(void **state) {
    wick_dim sizes[17 * 3 + 4][3];
    size_t count = 0;
    for (wick_dim n = 1; n <= 17; ++n)
        for (int i = 0; i < 3; ++i, ++count)
            sizes[count][0] = (wick_dim[]){8, 15, 33}[i], sizes[count][1] = n,
            sizes[count][2] = (wick_dim[]){16, 48, 32}[i];
    for (int i = 0; i < 4; ++i, ++count)
        sizes[count][0] = (wick_dim[]){7, 2, 1, 64}[i], sizes[count][1] = 10,
        sizes[count][2] = (wick_dim[]){16, 64, 32, 20}[i];
    check_all(sizes, count, 1);
}

static void test_tiles(void **state) {
    static const wick_dim sizes[][3] = {{1, 1, 1},    {3, 5, 7},   {8, 48, 16}, {9, 49, 17},  {16, 64, 5},
                                        {7, 63, 33},  {17, 80, 9}, {5, 97, 12}, {24, 128, 3}, {2, 300, 2},
                                        {70, 20, 40}, {13, 64, 3}, {11, 60, 7}, {1, 64, 128}, {64, 1, 130},
                                        {4, 33, 400}, {12, 31, 1}, {10, 30, 0}, {5, 64, 0}};
    check_all(sizes, COUNT(sizes), 1);
}

/* Products without preparation: strips of every height, alone and with lower ones behind, and panels of every width. */
static void test_small(void **state) {
    wick_dim sizes[13 * 5][3];
    size_t count = 0;
    for (wick_dim m = 1; m <= 13; ++m)
        for (wick_dim vectors = 1; vectors <= 5; ++vectors, ++count)
            sizes[count][0] = m, sizes[count][1] = 16 * vectors, sizes[count][2] = 3 + m;
    check_all(sizes, count, 1);
}

/* Large enough to be shared: by rows, by columns of a packed B, a low and a narrow matrix. */
static void test_threads(void **state) {
    static const wick_dim sizes[][3] = {{64, 128, 64}, {61, 130, 67}, {64, 64, 64}, {70, 64, 50},
                                        {200, 40, 50}, {8, 700, 70},  {900, 12, 64}};
    check_all(sizes, COUNT(sizes), 2);
    check_all(sizes, COUNT(sizes), 3);
}

/* B in several blocks of columns and of k, with remainders of both and of rows; strips of A that are transposed, copied side
 * by side and gathered. */
static void test_blocks(void **state) {
    static const wick_dim sizes[][3] = {{18, 560, 400}, {19, 60, 1100}, {17, 145, 385}, {20, 70, 0}};
    check_all(sizes, COUNT(sizes), 2);
}

/* Few products of a batch, that are worth a thread together but not each: one thread's scratch memory. */
static void test_small_batch(void **state) {
    static const wick_dim sizes[3] = {64, 100, 40};
    assert_true(start("auto", 2));
    wick_tensor *a[2], *b[2], *out;
    for (int i = 0; i < 2; ++i)
        a[i] = matrix(WICK_F32, sizes[0], sizes[2], false, 1), b[i] = matrix(WICK_F32, sizes[2], sizes[1], false, 2);
    for (int round = 0; round < 50; ++round) {
        wick_scope scope = wick_scope_open(F.c);
        out = wick_bmm(F.c, wick_stack(F.c, a, 2, NULL), wick_stack(F.c, b, 2, NULL));
        expect_good(F.c);
        const float *got = wick_data(out);
        for (wick_dim i = 0; i < 2 * sizes[0]; ++i)
            for (wick_dim j = 0; j < sizes[1]; ++j, ++got)
                assert_true(*got == (float)wanted_at(sizes, 0, i % sizes[0], j));
        wick_scope_close(F.c, scope);
    }
    close_fixture(&F);
}

/* Large products by a BLAS that is named, whatever the instruction set; left out where there is no OpenBLAS. */
static void test_named_blas(void **state) {
    static const wick_dim sizes[3] = {330, 340, 350};
    for (size_t s = 0; s < COUNT(isas); ++s) {
        if (!start_with(isas[s], 2, "blas = libopenblas.so.0\n")) continue;
        for (int form = 0; form < FORMS; ++form) {
            check(isas[s], WICK_F32, sizes, form, 97);
            check(isas[s], WICK_F64, sizes, form, 97);
        }
        close_fixture(&F);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_columns), cmocka_unit_test(test_tiles),  cmocka_unit_test(test_small),
        cmocka_unit_test(test_threads),     cmocka_unit_test(test_blocks), cmocka_unit_test(test_small_batch),
        cmocka_unit_test(test_named_blas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
