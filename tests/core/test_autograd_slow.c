/* Long graphs and long loops: time and memory stay in proportion. */
#include <sys/resource.h>

#include "core_test.h"

static void test_a_million_nodes(void **state) {
    wick_tensor *x = LEAF(1), *y = long_chain(x, 1000000);
    assert_true(backward_sum(y));
    ASSERT_GRAD(x, 1);
    wick_release(y);
}

static long peak_kilobytes(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* A loop with a scope of its own keeps nothing from one turn to the next. */
static void test_a_million_operators_keep_no_memory(void **state) {
    wick_tensor *x = LEAF(1, 2, 3), *w = LEAF(4, 5, 6);
    long before = 0;
    for (int i = 0; i < 250000; ++i) {
        wick_scope scope = wick_scope_open(C);
        backward_sum(wick_mul(C, x, wick_exp(C, wick_neg(C, w))));
        wick_scope_close(C, scope);
        if (i == 1000) before = peak_kilobytes();
    }
    assert_healthy();
    assert_true(peak_kilobytes() - before < 1024);
}

/* The order matters: peak memory never falls. */
int main(void) {
    const struct CMUnitTest tests[] = {CASE(test_a_million_operators_keep_no_memory), CASE(test_a_million_nodes)};
    return RUN(tests);
}
