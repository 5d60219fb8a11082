/* What only the reference device can show: failures on order, memory that faults, work that is not done yet, several
 * instances in one process. */
#include "device_test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wick/sdk/interface.h>
#include <wick/stream.h>

#define REF_SECTION PLUGIN("refdevice", "refdevice")
/* The second name loads the same file. */
#define TWIN_SECTION "[plugin.twin]\npath = " WICK_BUILD_DIR "/lib/wick/refdevice.so\ndevice = twin\ndevices = 1\n"

static void begin(const char *ini) {
    open_runtime(ini, "ref");
    open_context();
}
static void end(void) {
    close_context();
    close_runtime();
}

/* ---- failures on order ---- */
static void an_allocation_fails_once_and_succeeds_again(void **state) {
    begin(CPU_SECTION REF_SECTION "fail_allocation = 2\n");
    wick_tensor *first = noise(1, DEVICE, SIZES(100));
    assert_healthy();
    assert_null(noise(2, DEVICE, SIZES(5000))); /* another size: nothing cached fits */
    assert_failed(WICK_OUT_OF_MEMORY, "fails by fail_allocation");
    assert_near(noise(2, DEVICE, SIZES(5000)), noise(2, CPU, SIZES(5000)), 0, "the second try");
    assert_same(first, noise(1, CPU, SIZES(100)));
    end();
}

static void memory_runs_out_and_comes_back(void **state) {
    begin(CPU_SECTION REF_SECTION "memory = 1048576\n");
    wick_tensor *large = noise(1, DEVICE, SIZES(150000));
    assert_healthy();
    assert_null(noise(2, DEVICE, SIZES(150000)));
    assert_failed(WICK_OUT_OF_MEMORY, "ref:0 is out of memory: wanted 600000 bytes");
    wick_drop(C, large);
    assert_non_null(noise(2, DEVICE, SIZES(250000))); /* only if the cache gave the first block back */
    end();
}

static void a_launch_fails_where_it_is_launched(void **state) {
    begin(CPU_SECTION REF_SECTION "fail_launch = 2\n");
    wick_tensor *x = noise(1, DEVICE, SIZES(10)), *y = wick_mul(C, x, x);
    assert_healthy();
    assert_null(wick_add(C, x, y, NULL));
    assert_failed(WICK_DEVICE_ERROR, "the launch of add");
    assert_near(wick_add(C, x, y, NULL), wick_mul(C, x, wick_add_scalar(C, x, wick_value_int(1), NULL)), 1e-6,
                "after it");
    end();
}

/* Every allocation and every launch of a training step fails once: the error is clear, nothing leaks. */
static wick_tensor *step(wick_tensor *w) {
    wick_tensor *x = noise(3, DEVICE, SIZES(4, 5));
    wick_tensor *loss = wick_mean(C, wick_softmax(C, wick_matmul(C, x, w), 1, NULL), NULL);
    return wick_backward(C, wick_pow_scalar(C, loss, wick_value_int(2))) ? wick_grad_of(w) : NULL;
}
static bool survives(const char *key, int n) {
    char ini[512];
    snprintf(ini, sizeof ini, CPU_SECTION REF_SECTION "%s = %d\n", key, n);
    begin(ini);
    wick_tensor *w = noise(4, DEVICE, SIZES(5, 3));
    if (w) w = wick_set_requires_grad(C, w, true);
    wick_tensor *grad = w ? step(w) : NULL;
    wick_status *status = wick_status_take(C);
    bool failed = status != NULL;
    if (failed && !strstr(status_text(status), key)) fail_msg("%s = %d: got %s", key, n, status_text(status));
    wick_status_free(status);
    if (!failed) assert_non_null(grad);
    end();
    return !failed;
}
static void every_failure_is_clear_and_leaks_nothing(void **state) {
    const char *const keys[] = {"fail_allocation", "fail_launch"};
    for (int k = 0; k < 2; ++k) {
        int n = 1;
        while (n < 500 && !survives(keys[k], n)) ++n;
        assert_in_range(n, 3, 499);
    }
}

static void a_lost_device_says_so_and_lets_go(void **state) {
    begin(CPU_SECTION REF_SECTION "lose_device = 3\n");
    wick_tensor *x = noise(1, DEVICE, SIZES(10)), *other = NULL;
    for (int i = 0; i < 5 && !wick_failed(C); ++i) other = wick_add(C, x, x, NULL);
    wick_status *status = wick_status_take(C);
    if (!status) status = wick_synchronize(RT, DEVICE);
    assert_error(status, WICK_DEVICE_ERROR, "device ref:0 is lost");
    assert_null(wick_mul(C, x, x));
    assert_failed(WICK_DEVICE_ERROR, "lost");
    float got[10];
    assert_error(wick_tensor_to_host(C, x, got, sizeof got), WICK_DEVICE_ERROR, "lost");
    assert_null(noise(1, DEVICE, SIZES(1000000)));
    assert_failed(WICK_DEVICE_ERROR, "lost");
    wick_device second;
    assert_ok(wick_runtime_device(RT, "ref:1", &second)); /* the other one works */
    assert_same(noise(5, second, SIZES(8)), noise(5, CPU, SIZES(8)));
    (void)other;
    end(); /* release is legal */
}

static void an_index_out_of_range_is_an_asynchronous_error(void **state) {
    begin(CPU_SECTION REF_SECTION);
    int64_t bad = 9;
    wick_tensor *x = noise(1, DEVICE, SIZES(5));
    wick_tensor *index = wick_tensor_from_host(C, &bad, WICK_I64, SIZES(1), DEVICE);
    float got;
    wick_tensor *y = wick_gather(C, x, 0, index, NULL);
    assert_healthy();
    assert_error(wick_tensor_to_host(C, y, &got, sizeof got), WICK_DEVICE_ERROR, "index 9 is out of bounds");
    assert_same(x, noise(1, CPU, SIZES(5))); /* told once, the device goes on */
    end();
}

/* ---- memory ---- */
/* True if reading (or writing) a byte at the address ends the process by a fault. */
static bool faults(volatile char *address, bool write) {
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* sanitizers have handlers of their own */
        if (write)
            *address = 1;
        else
            (void)*address;
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

static void the_host_cannot_touch_device_memory(void **state) {
    begin(CPU_SECTION REF_SECTION);
    wick_tensor *t = noise(1, DEVICE, SIZES(10));
    const wick_memory *memory = &t->storage->memory;
    assert_null(memory->data);
    assert_null(wick_data(t));
    assert_true(faults(memory->handle, false));
    assert_true(faults(memory->handle, true));
    end();
}

/* ---- streams and events ---- */
/* 20 ms a task: what does not wait is seen. */
#define SLOW_SECTION REF_SECTION "delay = 20000\n"

static bool is_idle(wick_stream *stream) {
    bool idle = false;
    assert_ok(wick_stream_query(stream, &idle));
    return idle;
}
static bool is_done(wick_event *event) {
    bool done = false;
    assert_ok(wick_event_query(event, &done));
    return done;
}

static void work_is_asynchronous(void **state) {
    begin(CPU_SECTION SLOW_SECTION);
    wick_stream *stream = NULL;
    wick_event *event = NULL;
    assert_ok(wick_stream_create(RT, DEVICE, 0, &stream));
    assert_ok(wick_event_create(RT, DEVICE, 0, &event));
    assert_true(is_idle(stream));
    assert_true(wick_set_stream(C, DEVICE, stream));
    wick_tensor *x = noise(1, DEVICE, SIZES(64)), *y = wick_mul(C, x, x);
    assert_ok(wick_event_record(event, stream));
    assert_false(is_done(event));
    assert_false(is_idle(stream));
    assert_ok(wick_event_synchronize(event));
    assert_true(is_done(event));
    assert_ok(wick_stream_synchronize(stream));
    assert_true(is_idle(stream));
    assert_same(y, wick_mul(C, noise(1, CPU, SIZES(64)), noise(1, CPU, SIZES(64))));
    assert_true(wick_set_stream(C, DEVICE, NULL));
    wick_event_release(event);
    wick_stream_release(stream);
    end();
}

/* A chain that changes streams behind events; the memory of dropped tensors must not be reused too early. */
static void events_order_streams(void **state) {
    begin(CPU_SECTION REF_SECTION "delay = 2000\n");
    wick_stream *streams[2];
    wick_event *event = NULL;
    for (int i = 0; i < 2; ++i) assert_ok(wick_stream_create(RT, DEVICE, 0, &streams[i]));
    assert_ok(wick_event_create(RT, DEVICE, 0, &event));
    wick_tensor *expected = noise(1, CPU, SIZES(256));
    wick_tensor *x = noise(1, DEVICE, SIZES(256));
    assert_ok(wick_synchronize(RT, DEVICE));
    for (int i = 0; i < 6; ++i) {
        wick_stream *here = streams[i % 2], *next = streams[(i + 1) % 2];
        assert_true(wick_set_stream(C, DEVICE, here));
        wick_tensor *scratch = wick_add(C, x, x, NULL), *old = x;
        x = wick_mul_scalar(C, scratch, wick_value_float(0.5 + i));
        wick_drop(C, scratch), wick_drop(C, old);
        expected = wick_mul_scalar(C, wick_add(C, expected, expected, NULL), wick_value_float(0.5 + i));
        assert_ok(wick_event_record(event, here));
        assert_ok(wick_stream_wait(next, event));
    }
    assert_near(x, expected, 1e-6, "a chain over two streams");
    assert_true(wick_set_stream(C, DEVICE, NULL));
    wick_event_release(event);
    for (int i = 0; i < 2; ++i) wick_stream_release(streams[i]);
    end();
}

static void events_measure_time(void **state) {
    begin(CPU_SECTION SLOW_SECTION);
    wick_event *events[2];
    double milliseconds = 0;
    for (int i = 0; i < 2; ++i) assert_ok(wick_event_create(RT, DEVICE, WICK_EVENT_TIMED, &events[i]));
    wick_tensor *x = noise(1, DEVICE, SIZES(4));
    assert_ok(wick_event_record(events[0], NULL));
    for (int i = 0; i < 3; ++i) x = wick_neg(C, x);
    assert_ok(wick_event_record(events[1], NULL));
    assert_ok(wick_event_synchronize(events[1]));
    assert_ok(wick_event_elapsed(events[0], events[1], &milliseconds));
    assert_true(milliseconds >= 60);
    for (int i = 0; i < 2; ++i) wick_event_release(events[i]);
    end();
}

static void a_synchronous_device_has_no_streams(void **state) {
    begin(CPU_SECTION REF_SECTION "synchronous = yes\n");
    wick_stream *stream = NULL;
    wick_event *event = NULL;
    assert_error(wick_stream_create(RT, DEVICE, 0, &stream), WICK_UNSUPPORTED, "");
    assert_error(wick_event_create(RT, DEVICE, 0, &event), WICK_UNSUPPORTED, "");
    wick_tensor *x = noise(1, DEVICE, SIZES(30));
    assert_near(wick_softmax(C, x, 0, NULL), wick_softmax(C, noise(1, CPU, SIZES(30)), 0, NULL), 1e-6, "softmax");
    end();
}

static void pinned_memory_travels_without_waiting(void **state) {
    begin(CPU_SECTION SLOW_SECTION);
    wick_tensor *pinned = wick_tensor_new_pinned(C, WICK_F32, SIZES(128), DEVICE);
    assert_healthy();
    assert_true(wick_is_pinned(pinned));
    wick_copy_(C, pinned, noise(6, CPU, SIZES(128)), NULL);
    wick_tensor *x = wick_zeros_like(C, noise(1, DEVICE, SIZES(128)), NULL);
    assert_ok(wick_synchronize(RT, DEVICE));
    wick_copy_(C, x, pinned, &(wick_copy__options){sizeof(wick_copy__options), true});
    assert_healthy();
    assert_ok(wick_synchronize(RT, DEVICE));
    assert_same(x, noise(6, CPU, SIZES(128)));
    end();
}

/* ---- the optional interfaces ---- */
static void count_activity(void *user, const wick_activity *a) {
    int *counts = user;
    assert_true(a->end_ns >= a->start_ns);
    if (strcmp(a->category, "kernel") == 0) ++counts[0];
    if (strcmp(a->category, "copy") == 0) ++counts[1];
}

static void the_profiler_sees_kernels_and_copies(void **state) {
    begin(CPU_SECTION REF_SECTION);
    void *instance = NULL;
    int counts[2] = {0, 0};
    const wick_profiler_interface *profiler = wick_backend_interface(RT, DEVICE.type, "profiler", 1, &instance);
    assert_non_null(profiler);
    assert_ok(profiler->start(instance));
    assert_error(profiler->start(instance), WICK_FAILED_PRECONDITION, "runs already");
    wick_tensor *x = noise(1, DEVICE, SIZES(30));
    wick_exp(C, wick_neg(C, x));
    assert_ok(profiler->stop(instance, count_activity, counts));
    assert_int_equal(counts[0], 2);
    assert_int_equal(counts[1], 1);
    end();
}

static void a_graph_replays_what_was_captured(void **state) {
    begin(CPU_SECTION REF_SECTION);
    void *instance = NULL, *graph = NULL;
    const wick_graph_interface *graphs = wick_backend_interface(RT, DEVICE.type, "graph", 1, &instance);
    assert_non_null(graphs);
    wick_tensor *x = noise(1, DEVICE, SIZES(16)), *wanted = noise(1, CPU, SIZES(16));
    wick_neg_(C, x), wick_neg_(C, x); /* warms the cache up: no raw allocation happens in a capture */
    assert_ok(wick_synchronize(RT, DEVICE));
    assert_ok(graphs->capture_begin(instance, DEVICE.index, NULL));
    wick_neg_(C, x);
    float got[16];
    assert_error(wick_tensor_to_host(C, x, got, sizeof got), WICK_FAILED_PRECONDITION, "cannot be waited for");
    assert_ok(graphs->capture_end(instance, DEVICE.index, NULL, &graph));
    assert_same(x, wanted); /* recorded, not run */
    for (int i = 0; i < 3; ++i) assert_ok(graphs->launch(instance, DEVICE.index, graph, NULL));
    assert_same(x, wick_neg(C, wanted));
    graphs->destroy(instance, DEVICE.index, graph);
    end();
}

/* ---- several devices ---- */
static void tensors_move_among_all_devices(void **state) {
    begin(CPU_SECTION REF_SECTION TWIN_SECTION);
    const char *const names[] = {"ref:0", "cpu", "ref:1", "twin", "ref:0", "twin:0", "ref:1", "cpu"};
    wick_tensor *t = noise(3, CPU, SIZES(9, 5)), *wanted = t;
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        wick_device device;
        assert_ok(wick_runtime_device(RT, names[i], &device));
        t = wick_t(C, to(t, device)), wanted = wick_t(C, wanted);
        assert_same(t, wanted);
    }
    end();
}

static void operands_of_two_devices_are_refused(void **state) {
    begin(CPU_SECTION REF_SECTION TWIN_SECTION);
    wick_device twin;
    assert_ok(wick_runtime_device(RT, "twin", &twin));
    assert_null(wick_add(C, noise(1, DEVICE, SIZES(3)), noise(1, twin, SIZES(3)), NULL));
    wick_status *status = wick_status_take(C);
    assert_non_null(status);
    wick_status_free(status);
    end();
}

/* Two layers on two devices, of two instances, with the loss on the CPU: the same as all on the CPU. */
enum { SPLIT_STEPS = 5 };
static void train_split(const wick_device devices[3], double *losses) {
    wick_tensor *w[2] = {noise(1, devices[0], SIZES(6, 8)), noise(2, devices[1], SIZES(8, 3))};
    for (int i = 0; i < 2; ++i) w[i] = wick_keep(C, wick_set_requires_grad(C, w[i], true));
    for (int k = 0; k < SPLIT_STEPS; ++k) {
        wick_scope scope = wick_scope_open(C);
        wick_tensor *x = to(noise(3, CPU, SIZES(10, 6)), devices[0]);
        wick_tensor *hidden = wick_tanh(C, wick_matmul(C, x, w[0]));
        wick_tensor *y = to(wick_matmul(C, to(hidden, devices[1]), w[1]), devices[2]);
        wick_tensor *loss = wick_mse_loss(C, y, to(noise(4, CPU, SIZES(10, 3)), devices[2]), NULL);
        losses[k] = wick_item(C, loss);
        assert_true(wick_backward(C, loss));
        wick_modes modes = wick_no_grad(C);
        for (int i = 0; i < 2; ++i) {
            wick_sub_(C, w[i], wick_mul_scalar(C, wick_grad_of(w[i]), wick_value_float(0.5)), NULL);
            wick_set_grad(C, w[i], NULL);
        }
        wick_modes_set(C, modes);
        assert_healthy();
        wick_scope_close(C, scope);
    }
    for (int i = 0; i < 2; ++i) wick_release(w[i]);
}

static void a_model_that_is_split_trains(void **state) {
    begin(CPU_SECTION REF_SECTION "delay = 100\n" TWIN_SECTION);
    wick_device twin, second;
    double got[SPLIT_STEPS], wanted[SPLIT_STEPS];
    assert_ok(wick_runtime_device(RT, "twin", &twin));
    assert_ok(wick_runtime_device(RT, "ref:1", &second));
    train_split((wick_device[]){CPU, CPU, CPU}, wanted);
    assert_true(wanted[SPLIT_STEPS - 1] < wanted[0]);
    for (int i = 0; i < 2; ++i) {
        train_split((wick_device[]){i ? second : DEVICE, twin, i ? DEVICE : CPU}, got);
        for (int k = 0; k < SPLIT_STEPS; ++k) assert_true(fabs(got[k] - wanted[k]) <= 1e-5 * wanted[k]);
    }
    end();
}

/* ---- the INI section ---- */
static void wrong_keys_are_refused(void **state) {
    static const struct {
        const char *line, *reason;
    } rows[] = {{"devices = 99\n", "devices = 99: wanted 0 to 8"},
                {"device = a b\n", "letters, digits and _"},
                {"memory = 12\n", "memory = 12"},
                {"delay = -1\n", "delay = -1"},
                {"speed = 3\n", "speed"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        wick_runtime *runtime = NULL;
        char ini[512];
        snprintf(ini, sizeof ini, CPU_SECTION REF_SECTION "%s", rows[i].line);
        assert_ok(wick_runtime_create(NULL, &runtime));
        wick_status *status = load_text(runtime, ini);
        const wick_backend_info *info = wick_runtime_backend(runtime, 1);
        bool named = strstr(status_text(status), rows[i].reason) || (info && strstr(info->reason, rows[i].reason));
        if (!named) fail_msg("%s: got %s, %s", rows[i].line, status_text(status), info ? info->reason : "");
        wick_status_free(status);
        wick_runtime_release(runtime);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_allocation_fails_once_and_succeeds_again),
        cmocka_unit_test(memory_runs_out_and_comes_back),
        cmocka_unit_test(a_launch_fails_where_it_is_launched),
        cmocka_unit_test(every_failure_is_clear_and_leaks_nothing),
        cmocka_unit_test(a_lost_device_says_so_and_lets_go),
        cmocka_unit_test(an_index_out_of_range_is_an_asynchronous_error),
        cmocka_unit_test(the_host_cannot_touch_device_memory),
        cmocka_unit_test(work_is_asynchronous),
        cmocka_unit_test(events_order_streams),
        cmocka_unit_test(events_measure_time),
        cmocka_unit_test(a_synchronous_device_has_no_streams),
        cmocka_unit_test(pinned_memory_travels_without_waiting),
        cmocka_unit_test(the_profiler_sees_kernels_and_copies),
        cmocka_unit_test(a_graph_replays_what_was_captured),
        cmocka_unit_test(tensors_move_among_all_devices),
        cmocka_unit_test(operands_of_two_devices_are_refused),
        cmocka_unit_test(a_model_that_is_split_trains),
        cmocka_unit_test(wrong_keys_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
