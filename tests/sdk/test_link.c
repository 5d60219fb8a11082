/* wick/sdk/link.h and api.h: a plugin that calls the application's functions. */
#include "sdk_test.h"

#include <wick/sdk/api.h>
#include <wick/sdk/host.h>

#include "plugins/linked.h"

#define LINKED "[plugin.linked]\npath = " WICK_BUILD_DIR "/tests/plugins/linked.so\n"

typedef wick_status *(*work_fn)(wick_context *c);

static const linked_table *find(fixture *f) {
    const linked_table *table = wick_feature(f->runtime, "test.linked", 1, NULL);
    assert_non_null(table);
    return table;
}

static void test_work(void **state) {
    fixture f;
    open_fixture(&f, "[plugin.cpu]\n" LINKED);
    const linked_table *t = find(&f);
    const work_fn work[] = {t->scopes, t->gradients, t->errors, t->operators, t->everything_else};
    for (size_t i = 0; i < COUNT(work); ++i) {
        const wick_scope scope = wick_scope_open(f.c);
        expect_ok(work[i](f.c));
        wick_scope_close(f.c, scope);
    }
    close_fixture(&f);
}

/* Two runtimes hand out one table, so that one pointer in the plugin serves both. */
static void test_two_runtimes(void **state) {
    fixture a, b;
    open_fixture(&a, "[plugin.cpu]\n" LINKED);
    open_fixture(&b, "[plugin.cpu]\n" LINKED);
    expect_ok(find(&a)->gradients(a.c));
    close_fixture(&a);
    expect_ok(find(&b)->operators(b.c));
    close_fixture(&b);
}

static void test_table(void **state) {
    fixture f;
    open_fixture(&f, "[plugin.cpu]\n");
    const wick_api *api = f.c->host->api(WICK_API_VERSION);
    assert_non_null(api);
    assert_null(f.c->host->api(WICK_API_VERSION + 1));
    assert_int_equal(api->struct_size, sizeof *api);
    assert_int_equal(api->version, WICK_API_VERSION);
    const char *p = (const char *)&api->wick_status_make, *end = (const char *)api + sizeof *api;
    for (void *slot; p < end; p += sizeof slot) { /* no slot is empty */
        memcpy(&slot, p, sizeof slot);
        assert_non_null(slot);
    }
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_work),
        cmocka_unit_test(test_two_runtimes),
        cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
