/* The emulation of GPU kernels (plugins/gpu/emulate): barriers, shuffles, atomics, shared memory, limits. */
#include "gpu_test.h"

#include <pthread.h>

#include "args_emulator.h"

static emulation emulations[2];
static int emulation_count;

static int open_all(void **state) {
    for (int wave = 32; wave <= 64; wave += 32)
        emulation_count += open_emulation("gpu_emulator", wave, &emulations[emulation_count]);
    return 0;
}

#define EACH(e) for (emulation *e = emulations; e < emulations + emulation_count; ++e)

static void test_barriers_and_shared_memory(void **state) {
    static const char *const names[] = {"reverse_static", "reverse_dynamic"};
    int in[3 * 192], out[3 * 192];
    emulator_args args = {out, in, 3 * 192};
    for (int i = 0; i < 3 * 192; ++i) in[i] = 7 * i;
    EACH(e) for (int k = 0; k < 2; ++k) {
        memset(out, 0, sizeof out);
        launch(e, names[k], 3, 192, k * 192 * sizeof(int), &args);
        for (int i = 0; i < 3 * 192; ++i) assert_int_equal(out[i], in[i / 192 * 192 + 191 - i % 192]);
    }
}

static void test_threads_that_return_early(void **state) {
    int out[100] = {0};
    emulator_args args = {out, NULL, 100};
    EACH(e) {
        launch(e, "early_return", 1, 256, 0, &args);
        for (int i = 0; i < 100; ++i) assert_int_equal(out[i], 100);
    }
}

static void test_block_sums(void **state) {
    double in[1000], out, sum = 0;
    emulator_args args = {&out, in, 1000};
    for (int i = 0; i < 1000; ++i) sum += in[i] = i * 0.25;
    EACH(e) for (unsigned block = 64; block <= 256; block += 64) {
        out = 0;
        launch(e, "block_sums", 3, block, 0, &args);
        assert_true(out == sum);
    }
}

static void test_shuffles(void **state) {
    int out[128][4];
    emulator_args args = {out, NULL, 0};
    EACH(e) {
        launch(e, "shuffles", 1, 128, 0, &args);
        for (int t = 0; t < 128; ++t) {
            int lane = t % e->wave;
            assert_int_equal(out[t][0], 103);
            assert_int_equal(out[t][1], lane ^ 5);
            assert_int_equal(out[t][2], lane + 2 < e->wave ? lane + 2 : lane);
            assert_int_equal(out[t][3], e->wave);
        }
    }
}

static void test_wide_shuffle(void **state) {
    double out[64][2];
    emulator_args args = {out, NULL, 0};
    EACH(e) {
        launch(e, "wide_shuffle", 1, 64, 0, &args);
        for (int t = 0; t < 64; ++t) {
            assert_true(out[t][0] == (t ^ 1));
            assert_true(out[t][1] == -(t ^ 1));
        }
    }
}

typedef union counters {
    float real;
    unsigned long long words[3];
} counters;

static void *run_atomics(void *user) {
    EACH(e) {
        emulator_args args = {user, NULL, 0};
        launch(e, "atomics", 4, 256, 0, &args);
    }
    return NULL;
}

/* Two OS threads launch at once on the same memory. */
static void test_atomics_of_two_launches(void **state) {
    counters c = {.words = {0}};
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, run_atomics, &c), 0);
    run_atomics(&c);
    pthread_join(other, NULL);
    unsigned threads = 2 * 1024 * (unsigned)emulation_count;
    assert_true(c.real == 0.5f * (float)threads);
    assert_int_equal(c.words[1], 3 * threads);
    assert_int_equal((unsigned)c.words[2], 2 * threads);
}

static void test_positions(void **state) {
    int64_t out[24 * 30];
    const unsigned grid[3] = {2, 3, 4}, block[3] = {5, 3, 2};
    emulator_args args = {out, NULL, 0};
    EACH(e) {
        memset(out, 0xff, sizeof out);
        assert_int_equal(e->launch(find_kernel(e, "positions"), grid, block, 0, &args), GPU_EMULATE_DONE);
        for (int i = 0; i < 24 * 30; ++i) assert_int_equal(out[i], i / 30 * 1000 + i % 30);
    }
}

static void test_launches_that_do_not_fit(void **state) {
    static const struct {
        unsigned grid[3], block[3];
        size_t shared;
    } bad[] = {{{1, 1, 1}, {65, 1, 1}, 0},
               {{1, 1, 1}, {8, 8, 2}, 0},
               {{0, 1, 1}, {1, 1, 1}, 0},
               {{1, 65536, 1}, {1, 1, 1}, 0},
               {{1, 1, 1}, {1, 1, 1}, GPU_EMULATED_SHARED_BYTES + 1}};
    emulator_args args = {NULL, NULL, 0};
    EACH(e) for (size_t i = 0; i < COUNT(bad); ++i) {
        int result = e->launch(find_kernel(e, "positions"), bad[i].grid, bad[i].block, bad[i].shared, &args);
        assert_int_equal(result, GPU_EMULATE_DOES_NOT_FIT);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_barriers_and_shared_memory),
        cmocka_unit_test(test_threads_that_return_early),
        cmocka_unit_test(test_block_sums),
        cmocka_unit_test(test_shuffles),
        cmocka_unit_test(test_wide_shuffle),
        cmocka_unit_test(test_atomics_of_two_launches),
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_launches_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, open_all, NULL);
}
