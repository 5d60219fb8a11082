/* Devices from different sources in one process: the reference device twice under two names, OpenCL where there is one,
 * the CPU. Tensors travel among them, and a model that is split across them trains. */
#include "device_test.h"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECTIONS                                 \
    CPU_SECTION PLUGIN("refdevice", "refdevice") \
        PLUGIN("second", "refdevice") "device = ref2\n" PLUGIN("opencl", "opencl") "required = no\n"
#define MOST 4

static wick_device devices[MOST]; /* the CPU last */
static int device_count;

static int together_begin(void **state) {
    static const char *const names[] = {"ref:1", "ref2", "opencl"};
    open_runtime(SECTIONS, "ref");
    for (int i = 0; i < 3; ++i) {
        wick_status *status = wick_runtime_device(RT, names[i], &devices[device_count]);
        if (status)
            print_message("without %s: %s\n", names[i], wick_status_message(status));
        else
            device_count++;
        wick_status_free(status);
    }
    assert_true(device_count >= 2);
    devices[device_count++] = CPU;
    return 0;
}

static int together_end(void **state) {
    close_runtime();
    return 0;
}

static wick_tensor *move(wick_tensor *t, wick_device device) {
    return wick_to_device(C, t, device, (wick_dtype)t->dtype, NULL);
}

static void test_tensors_travel(void **state) {
    float out[6];
    static const float in[6] = {1, -2, 3.5f, 0, 5, -6};
    for (int i = 0; i < device_count; ++i)
        for (int k = 0; k < device_count; ++k) {
            wick_tensor *t = wick_tensor_from_host(C, in, WICK_F32, SIZES(2, 3), devices[i]);
            wick_tensor *there = move(wick_transpose(C, t, 0, 1), devices[k]);
            assert_true(wick_device_equal(there->device, devices[k]));
            assert_ok(wick_tensor_to_host(C, wick_transpose(C, there, 0, 1), out, sizeof out));
            assert_memory_equal(out, in, sizeof in);
        }
}

/* One layer a device: y = tanh(x w), on to the next. */
#define LAYERS 4
#define WIDTH 5

static wick_tensor *weight_on(wick_device device, int layer) {
    float values[WIDTH * WIDTH];
    for (int i = 0; i < WIDTH * WIDTH; ++i) values[i] = sinf((float)(layer * 31 + i * 7));
    wick_tensor *w = wick_tensor_from_host(C, values, WICK_F32, SIZES(WIDTH, WIDTH), device);
    return wick_set_requires_grad(C, w, true);
}

static double train_step(wick_tensor *const *weights, wick_device first) {
    float values[3 * WIDTH];
    for (int i = 0; i < 3 * WIDTH; ++i) values[i] = cosf((float)i);
    wick_scope scope = wick_scope_open(C);
    wick_tensor *x = wick_tensor_from_host(C, values, WICK_F32, SIZES(3, WIDTH), first);
    for (int i = 0; i < LAYERS; ++i) x = wick_tanh(C, wick_mm(C, move(x, weights[i]->device), weights[i]));
    wick_tensor *loss = wick_sum(C, wick_mul(C, x, x), NULL);
    assert_true(wick_backward(C, loss));
    wick_modes modes = wick_no_grad(C);
    wick_sub_options rate = WICK_SUB_OPTIONS_INIT;
    rate.alpha = wick_value_float(0.05);
    for (int i = 0; i < LAYERS; ++i) {
        wick_sub_(C, weights[i], wick_grad_of(weights[i]), &rate);
        wick_set_grad(C, weights[i], NULL);
    }
    wick_modes_set(C, modes);
    double value = wick_item(C, loss);
    wick_scope_close(C, scope);
    return value;
}

static void test_a_split_model_trains(void **state) {
    wick_tensor *split[LAYERS], *whole[LAYERS];
    for (int i = 0; i < LAYERS; ++i) {
        split[i] = weight_on(devices[i % device_count], i);
        whole[i] = weight_on(CPU, i);
    }
    double first = 0, last = 0;
    for (int step = 0; step < 8; ++step) {
        double there = train_step(split, devices[0]), here = train_step(whole, CPU);
        assert_float_equal(there, here, 1e-4);
        if (!step) first = there;
        last = there;
    }
    assert_true(last < 0.8 * first);
}

/* ---- what a killed process leaves ---- */
static int count_files(const char *folder) {
    DIR *dir = opendir(folder);
    int n = 0;
    while (dir && readdir(dir)) ++n;
    if (dir) closedir(dir);
    return n;
}

/* A child that makes runtimes, devices and tensors until it is killed. */
static void live(void) {
    static const float in[6] = {1, 2, 3, 4, 5, 6};
    for (;;) {
        open_runtime(CPU_SECTION PLUGIN("refdevice", "refdevice"), "ref");
        open_context();
        wick_tensor *t = wick_tensor_from_host(C, in, WICK_F32, SIZES(2, 3), DEVICE);
        wick_exp(C, wick_add(C, t, t, NULL));
        wick_scope_close(C, SCOPE);
        wick_context_destroy(C);
        close_runtime();
    }
}

static void test_a_killed_process_leaves_nothing(void **state) {
    int before = count_files("/dev/shm");
    for (int i = 0; i < 12; ++i) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (!child) {
            live();
            _exit(1);
        }
        usleep((useconds_t)(1000 + 3701 * i));
        int how;
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
    }
    assert_int_equal(count_files("/dev/shm"), before);
}

int main(void) {
    /* Before any thread is started: the children of the fork begin alone. */
    const struct CMUnitTest killed[] = {cmocka_unit_test(test_a_killed_process_leaves_nothing)};
    int failed = cmocka_run_group_tests_name("killed", killed, NULL, NULL);
    const struct CMUnitTest tests[] = {CASE(test_tensors_travel), CASE(test_a_split_model_trains)};
    return failed + cmocka_run_group_tests_name("together", tests, together_begin, together_end);
}
