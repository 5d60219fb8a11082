/* A thousand lives: load, work, shut down. Memory, files and threads stay what they were. And the flaws that take long. */
#include <dirent.h>
#include <malloc.h>
#include <unistd.h>

#include "core_test.h"
#include "flaws.h"

#define CYCLES 1000
#define WARM_UP 100
#define GROWTH_KB 2048

#define GOOD "[plugin.x]\npath = " WICK_BUILD_DIR "/tests/plugins/good.so\ndevices = 2\n"
/* One that fails in each life, late enough to have made something. */
#define BAD "[plugin.y]\nrequired = no\npath = " WICK_BUILD_DIR "/tests/plugins/memory_no_slot.so\n"

typedef struct usage {
    long resident_kb;
    int files, threads;
} usage;

static int count_entries(const char *path) {
    DIR *folder = opendir(path);
    int n = 0;
    assert_non_null(folder);
    while (readdir(folder)) ++n;
    closedir(folder);
    return n;
}

static usage measure(void) {
    long total, resident;
    malloc_trim(0);
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld %ld", &total, &resident), 2);
    fclose(file);
    return (usage){resident * (sysconf(_SC_PAGESIZE) / 1024), count_entries("/proc/self/fd"),
                   count_entries("/proc/self/task")};
}

static void live(void) {
    program_start(NULL);
    assert_ok(load_text(RT, GOOD BAD));
    assert_int_equal(wick_runtime_backend(RT, 1)->state, WICK_BACKEND_READY);
    assert_int_equal(wick_runtime_backend(RT, 2)->state, WICK_BACKEND_REFUSED);
    test_start(NULL);
    wick_tensor *x = LEAF(1, 2, 3), *y = SUM(wick_exp(C, wick_mul(C, x, x)));
    assert_true(wick_backward(C, y));
    ASSERT_GRAD(x, 2 * exp(1), 4 * exp(4), 6 * exp(9));
    wick_tensor *big = wick_ones(C, DIMS(300, 300), NULL);
    assert_non_null(wick_mm(C, big, big)); /* the plugin's threads as well */
    test_end(NULL);
    program_end(NULL);
}

static void test_a_thousand_lives(void **state) {
    usage before = {0, 0, 0}, after;
    for (int i = 0; i < CYCLES; ++i) {
        if (i == WARM_UP) before = measure();
        live();
    }
    after = measure();
    print_message("resident %ld KB after %d lives, %ld KB after %d\n", before.resident_kb, WARM_UP, after.resident_kb,
                  CYCLES);
    assert_int_equal(after.files, before.files);
    assert_int_equal(after.threads, before.threads);
    /* The sanitizers keep what was freed. */
    if (!WICK_SANITIZER && after.resident_kb > before.resident_kb + GROWTH_KB)
        fail_msg("grew by %ld KB in %d lives", after.resident_kb - before.resident_kb, CYCLES - WARM_UP);
}

static void test_slow_flaws(void **state) {
    for (size_t i = 0; i < sizeof flaws / sizeof flaws[0]; ++i) {
        const flaw *f = &flaws[i];
        char ini[1024];
        if (!f->slow) continue;
        assert_ok(wick_runtime_create(NULL, &RT));
        snprintf(ini, sizeof ini, "[plugin.x]\nrequired = no\npath = " WICK_BUILD_DIR "/tests/plugins/%s\n%s\n%s",
                 f->file, f->keys, CPU_SECTION);
        assert_ok(load_text(RT, ini));
        assert_int_equal(wick_runtime_backend(RT, 0)->state, f->state);
        assert_string_equal(wick_runtime_backend(RT, 0)->stage, f->stage);
        assert_contains(wick_runtime_backend(RT, 0)->reason, f->reason);
        assert_int_equal(wick_runtime_backend(RT, 1)->state, WICK_BACKEND_READY);
        wick_runtime_release(RT);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_thousand_lives),
        cmocka_unit_test(test_slow_flaws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
