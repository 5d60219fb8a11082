/* Streams, events, the allocator and copies of an asynchronous device. The device does nothing before a test lets it
 * (tests/fixtures/plugins/late.c), so every wrong order shows. */
#define WICK_PLUGIN_STATIC
#include "core_test.h"

#include <wick/stream.h>

#include "../fixtures/plugins/late.c"

static wick_device LATE, LATE1;

static void start(const char *keys) {
    char ini[128];
    wick_config_file *config;
    memset(&late_seen, 0, sizeof late_seen);
    program_start(NULL);
    snprintf(ini, sizeof ini, "[plugin.late]\n%s\n", keys);
    assert_ok(wick_config_parse(ini, strlen(ini), "test.ini", NULL, &config));
    assert_ok(wick_plugin_register_static(RT, "late", wick_plugin_query_late, config));
    wick_config_free(config);
    assert_ok(wick_runtime_device(RT, "late:0", &LATE));
    assert_ok(wick_runtime_device(RT, "late:1", &LATE1));
    test_start(NULL);
}

static void end(void) {
    test_end(NULL);
    wick_runtime_release(RT);
    assert_int_equal(late_seen.blocks, 0);
    assert_int_equal(late_seen.pinned, 0);
    assert_int_equal(late_seen.streams, 0);
    assert_int_equal(late_seen.events, 0);
    assert_null(late_events);
}

static wick_stream *new_stream(wick_device device) {
    wick_stream *s;
    assert_ok(wick_stream_create(RT, device, 0, &s));
    return s;
}
static void on(wick_stream *s) { assert_true(wick_set_stream(C, LATE, s)); }
static wick_tensor *late_tensor(wick_tensor *t) { return wick_to_device(C, t, LATE, WICK_F64, NULL); }
static wick_tensor *host_tensor(wick_tensor *t) { return wick_to_device(C, t, CPU, WICK_F64, NULL); }
static void *block_of(const wick_tensor *t) { return t->storage->memory.handle; }
static void *launched_on(int i) { return late_seen.launch_streams[i]; }
/* The plugin's own stream: the newest that was made. */
static late_stream *newest(void) {
    for (int i = LATE_STREAMS - 1; i >= 0; --i)
        if (late_all[i]) return late_all[i];
    return NULL;
}

/* ---- asynchronous at all ---- */
static void test_work_waits_until_it_is_read(void **state) {
    start("");
    wick_tensor *x = late_tensor(T(1, 2)), *y = wick_neg(C, wick_add(C, x, x, NULL));
    assert_int_equal(late_seen.launches, 2);
    assert_int_equal(late_seen.runs, 0);
    bool idle = true;
    assert_ok(late_stream_query(NULL, 0, NULL, &idle));
    assert_false(idle);
    ASSERT_VALUES(host_tensor(y), -2, -4);
    assert_int_equal(wick_item(C, wick_select(C, y, 0, 1)), -4);
    end();
}

static void test_synchronize(void **state) {
    start("");
    wick_tensor *x = late_tensor(T(1));
    wick_neg(C, x);
    assert_ok(wick_synchronize(RT, LATE));
    assert_int_equal(late_seen.runs, 2);
    wick_device meta;
    assert_ok(wick_runtime_device(RT, "meta", &meta));
    assert_ok(wick_synchronize(RT, meta));
    assert_ok(wick_synchronize(RT, CPU));
    assert_error(wick_synchronize(RT, (wick_device){LATE.type, 7}), "wick_synchronize: no device late:7");
    end();
}

/* ---- current streams ---- */
static void test_current_stream(void **state) {
    start("");
    wick_stream *s = new_stream(LATE);
    late_stream *own = newest();
    wick_tensor *x = late_tensor(T(1));
    assert_null(wick_current_stream(C, LATE));
    assert_true(wick_device_equal(wick_stream_device(s), LATE));
    wick_neg(C, x);
    on(s);
    assert_ptr_equal(wick_current_stream(C, LATE), s);
    assert_null(wick_current_stream(C, LATE1));
    wick_neg(C, x);
    wick_context *child;
    assert_ok(wick_context_create_child(C, &child)); /* a child works on its parent's streams */
    assert_ptr_equal(wick_current_stream(child, LATE), s);
    wick_context_join(C, child);
    on(NULL);
    wick_neg(C, x);
    assert_null(launched_on(0));
    assert_ptr_equal(launched_on(1), own);
    assert_null(launched_on(2));
    wick_stream_release(s);
    end();
}

static void test_query_of_a_stream(void **state) {
    start("");
    bool idle = false;
    wick_stream *s = new_stream(LATE);
    assert_ok(wick_stream_query(s, &idle));
    assert_true(idle);
    wick_tensor *x = late_tensor(T(1));
    on(s);
    wick_tensor *y = wick_neg(C, x);
    assert_ok(wick_stream_query(s, &idle));
    assert_false(idle);
    assert_ok(wick_stream_synchronize(s));
    assert_ok(wick_stream_query(s, &idle));
    assert_true(idle);
    wick_stream_release(wick_stream_retain(s));
    wick_stream_release(s); /* the context still holds it */
    on(NULL);
    assert_int_equal(late_seen.streams, 1); /* and the tensors that were made or used on it */
    wick_drop(C, y);
    assert_int_equal(late_seen.streams, 1);
    wick_drop(C, x);
    assert_int_equal(late_seen.streams, 0);
    wick_stream_release(NULL);
    end();
}

static void test_streams_that_do_not_fit(void **state) {
    start("");
    wick_stream *s = new_stream(LATE), *none;
    assert_false(wick_set_stream(C, LATE1, s));
    assert_failed("wick_set_stream: a stream of late:0 was given for late:1");
    assert_error(wick_stream_create(RT, CPU, 0, &none), "wick_stream_create: device cpu has no interface \"stream\" 1");
    assert_error(wick_stream_create(RT, (wick_device){LATE.type, 2}, 0, &none), "wick_stream_create: no device late:2");
    assert_true(wick_set_stream(C, CPU, NULL)); /* a synchronous device has its default stream */
    assert_null(wick_current_stream(C, CPU));
    wick_stream_release(s);
    end();
}

/* ---- the allocator ---- */
static wick_tensor *fresh(void) { return wick_tensor_from_host(C, NULL, WICK_F64, 1, (const wick_dim[]){1}, LATE); }

static void test_each_stream_reuses_its_own_blocks(void **state) {
    start("");
    wick_stream *s = new_stream(LATE);
    wick_tensor *x = fresh();
    void *first = block_of(x);
    wick_drop(C, x);
    on(s);
    x = fresh();
    void *second = block_of(x);
    assert_ptr_not_equal(second, first);
    wick_drop(C, x);
    x = fresh();
    assert_ptr_equal(block_of(x), second); /* at once: in the order of its stream */
    wick_drop(C, x);
    on(NULL);
    x = fresh();
    assert_ptr_equal(block_of(x), first);
    /* The blocks of a stream that is gone are everybody's. */
    wick_stream_release(s);
    assert_int_equal(late_seen.streams, 0);
    assert_ptr_equal(block_of(fresh()), second);
    end();
}

/* Blocks that wait for a stream keep neither the stream nor the runtime. */
static void test_a_stream_ends_before_its_blocks_return(void **state) {
    start("");
    wick_stream *a = new_stream(LATE), *b = new_stream(LATE);
    on(a);
    wick_tensor *x = fresh();
    void *block = block_of(x);
    on(b);
    wick_tensor *y = wick_neg(C, x);
    on(NULL);
    wick_drop(C, x);
    wick_stream_release(a);
    assert_int_equal(late_seen.streams, 1);
    assert_ptr_not_equal(block_of(fresh()), block);
    wick_drop(C, y);
    wick_stream_release(b); /* waits for its work */
    assert_int_equal(late_seen.streams, 0);
    bool found = false;
    for (int i = 0; i < 4; ++i) found |= block_of(fresh()) == block;
    assert_true(found);
    end();
}

/* A block of the default stream, in use by another stream when it is freed. */
static void test_a_block_waits_for_other_streams(void **state) {
    start("");
    uint64_t used;
    wick_stream *s = new_stream(LATE);
    late_stream *own = newest();
    wick_tensor *x = late_tensor(T(5));
    void *block = block_of(x);
    assert_ok(wick_synchronize(RT, LATE));
    on(s);
    wick_tensor *y = wick_neg(C, x);
    on(NULL);
    wick_drop(C, x);
    wick_memory_stats(RT, LATE, &used, NULL, NULL);
    assert_int_equal(used, 512); /* y's */
    for (int i = 0; i < 4; ++i) assert_true(block_of(fresh()) != block);
    assert_int_equal(late_run(own, 0, 1), 1); /* the kernel, not yet the event behind it */
    assert_true(block_of(fresh()) != block);
    assert_int_equal(late_run(own, 0, 1), 1);
    assert_int_equal(late_seen.events, 1);
    assert_ptr_equal(block_of(fresh()), block);
    assert_int_equal(late_seen.events, 0);
    on(s);
    ASSERT_VALUES(host_tensor(y), -5);
    on(NULL);
    wick_stream_release(s);
    end();
}

static void test_record_stream(void **state) {
    start("");
    wick_stream *s = new_stream(LATE);
    late_stream *own = newest();
    wick_tensor *x = late_tensor(T(5)), *busy = late_tensor(T(1));
    void *block = block_of(x);
    on(s);
    wick_neg(C, busy); /* some work, of which the core does not know that it needs x */
    on(NULL);
    assert_true(wick_record_stream(C, x, s));
    wick_drop(C, x);
    assert_true(block_of(fresh()) != block);
    late_run(own, 0, 10);
    assert_ptr_equal(block_of(fresh()), block);
    assert_false(wick_record_stream(C, NULL, s));
    assert_failed("wick_record_stream: the tensor is NULL");
    wick_stream_release(s);
    end();
}

/* Without events the host waits when the block is freed. */
static void test_without_events_the_host_waits(void **state) {
    start("events = no");
    wick_stream *s = new_stream(LATE);
    wick_event *event;
    assert_error(wick_event_create(RT, LATE, 0, &event), "wick_event_create: device late has no interface \"event\" 1");
    wick_tensor *x = late_tensor(T(5));
    void *block = block_of(x);
    on(s);
    wick_neg(C, x);
    on(NULL);
    int runs = late_seen.runs;
    wick_drop(C, x);
    assert_true(late_seen.runs > runs);
    assert_ptr_equal(block_of(fresh()), block);
    wick_stream_release(s);
    end();
}

static void test_trim_waits(void **state) {
    start("");
    uint64_t cached;
    wick_stream *s = new_stream(LATE);
    wick_tensor *x = late_tensor(T(5));
    on(s);
    wick_neg(C, x);
    on(NULL);
    wick_drop(C, x);
    int blocks = late_seen.blocks;
    wick_memory_trim(RT, LATE);
    assert_true(late_seen.blocks < blocks);
    assert_int_equal(late_seen.events, 0);
    wick_memory_stats(RT, LATE, NULL, NULL, &cached);
    assert_int_equal(cached, 0);
    wick_stream_release(s);
    end();
}

/* ---- events ---- */
static void test_an_event_orders_two_streams(void **state) {
    start("");
    wick_event *event;
    bool done = true;
    wick_stream *a = new_stream(LATE);
    late_stream *first = newest();
    wick_stream *b = new_stream(LATE);
    late_stream *second = newest();
    assert_ptr_not_equal(first, second);
    assert_ok(wick_event_create(RT, LATE, WICK_EVENT_DEFAULT, &event));
    wick_tensor *x = late_tensor(T(3));
    assert_ok(wick_synchronize(RT, LATE));
    on(a);
    wick_tensor *y = wick_neg(C, x);
    assert_ok(wick_event_record(event, a));
    assert_ok(wick_event_query(event, &done));
    assert_false(done);
    on(b);
    assert_ok(wick_stream_wait(b, event));
    wick_tensor *z = wick_add(C, y, y, NULL);
    assert_int_equal(late_run(second, 0, 10), 0); /* it waits */
    late_run(first, 0, 10);
    assert_ok(wick_event_query(event, &done));
    assert_true(done);
    assert_int_equal(late_run(second, 0, 10), 2);
    ASSERT_VALUES(host_tensor(z), -6);
    on(NULL);
    wick_event_release(event);
    wick_stream_release(a);
    wick_stream_release(b);
    end();
}

static void test_events(void **state) {
    start("");
    wick_event *event, *timed, *other;
    wick_stream *elsewhere = new_stream(LATE1);
    double ms;
    assert_ok(wick_event_create(RT, LATE, WICK_EVENT_DEFAULT, &event));
    assert_ok(wick_event_create(RT, LATE, WICK_EVENT_TIMED, &timed));
    assert_ok(wick_event_create(RT, LATE1, WICK_EVENT_TIMED, &other));
    wick_neg(C, late_tensor(T(1)));
    assert_ok(wick_event_record(timed, NULL));
    assert_ok(wick_event_synchronize(timed));
    assert_int_equal(late_seen.runs, 2);
    assert_ok(wick_event_elapsed(timed, timed, &ms));
    assert_true(ms == 2.5);
    assert_error(wick_event_elapsed(event, timed, &ms), "wanted two events of one device, made with WICK_EVENT_TIMED");
    assert_error(wick_event_elapsed(other, timed, &ms), "wanted two events of one device");
    assert_error(wick_event_record(event, elsewhere),
                 "wick_event_record: an event of index 0 with a stream of index 1");
    assert_ok(wick_stream_wait(elsewhere, event)); /* of another device of the backend: allowed */
    assert_error(wick_event_create(RT, CPU, 0, &event), "device cpu has no interface \"event\" 1");
    wick_event_release(wick_event_retain(event));
    wick_event_release(event);
    wick_event_release(timed);
    wick_event_release(other);
    wick_event_release(NULL);
    wick_stream_release(elsewhere);
    end();
}

/* ---- copies with the host ---- */
static void test_pinned_copies_need_not_wait(void **state) {
    start("");
    wick_tensor *pinned = wick_tensor_new_pinned(C, WICK_F64, 1, (const wick_dim[]){2}, LATE);
    assert_healthy();
    assert_true(wick_is_pinned(pinned));
    assert_int_equal(pinned->device.type, CPU.type);
    memcpy(wick_data(pinned), (const double[]){1, 2}, 16);
    wick_tensor *x = wick_tensor_from_host(C, NULL, WICK_F64, 1, (const wick_dim[]){2}, LATE);
    wick_copy_(C, x, pinned, &(wick_copy__options){.struct_size = sizeof(wick_copy__options), .non_blocking = true});
    assert_healthy();
    assert_int_equal(late_seen.async_copies, 1);
    assert_int_equal(late_seen.runs, 0);
    /* The pinned block is not used again before the copy is done. */
    void *block = wick_data(pinned);
    wick_drop(C, pinned);
    pinned = wick_tensor_new_pinned(C, WICK_F64, 1, (const wick_dim[]){2}, LATE);
    assert_ptr_not_equal(wick_data(pinned), block);
    ASSERT_VALUES(host_tensor(x), 1, 2);
    wick_tensor *third = wick_tensor_new_pinned(C, WICK_F64, 1, (const wick_dim[]){2}, LATE);
    assert_ptr_equal(wick_data(third), block);
    /* Back: the values are there when the stream has passed. */
    memset(wick_data(third), 0, 16);
    wick_copy_(C, third, wick_neg(C, x),
               &(wick_copy__options){.struct_size = sizeof(wick_copy__options), .non_blocking = true});
    assert_int_equal(late_seen.async_copies, 2);
    assert_true(((double *)wick_data(third))[1] == 0);
    assert_ok(wick_synchronize(RT, LATE));
    assert_true(((double *)wick_data(third))[1] == -2);
    end();
}

static void test_ordinary_memory_is_done_with_at_return(void **state) {
    start("");
    double values[] = {1, 2};
    wick_tensor *host =
        wick_tensor_wrap(C, values, sizeof values, WICK_F64, 1, (const wick_dim[]){2}, NULL, NULL, NULL);
    wick_tensor *x = wick_tensor_from_host(C, NULL, WICK_F64, 1, (const wick_dim[]){2}, LATE);
    wick_copy_(C, x, host, &(wick_copy__options){.struct_size = sizeof(wick_copy__options), .non_blocking = true});
    values[0] = 9; /* too late to matter */
    assert_int_equal(late_seen.async_copies, 0);
    assert_false(wick_is_pinned(host));
    wick_tensor *y = wick_neg(C, x);
    wick_copy_(C, host, y, &(wick_copy__options){.struct_size = sizeof(wick_copy__options), .non_blocking = true});
    assert_int_equal(late_seen.async_copies, 0);
    assert_true(values[0] == -1 && values[1] == -2);
    end();
}

static void test_no_pinned_memory(void **state) {
    start("more = no");
    assert_null(wick_tensor_new_pinned(C, WICK_F64, 1, (const wick_dim[]){2}, LATE));
    assert_failed("wick_tensor_new_pinned: device late offers no pinned memory");
    assert_null(wick_tensor_new_pinned(C, WICK_F64, 1, (const wick_dim[]){2}, CPU));
    assert_failed("device cpu offers no pinned memory");
    assert_false(wick_is_pinned(T(1)));
    end();
}

/* ---- between devices ---- */
static void check_peer(const char *keys, int copies) {
    start(keys);
    wick_stream *s = new_stream(LATE1);
    assert_true(wick_set_stream(C, LATE1, s));
    wick_tensor *x = wick_neg(C, late_tensor(T(1, 2)));
    void *block = block_of(x);
    wick_tensor *y = wick_to_device(C, x, LATE1, WICK_F64, NULL);
    assert_healthy();
    assert_int_equal(late_seen.peer_copies, copies);
    if (copies) assert_int_equal(late_seen.runs, 0); /* nobody waited, and the source's block does not move */
    wick_drop(C, x);
    assert_int_equal(block_of(wick_tensor_from_host(C, NULL, WICK_F64, 1, (const wick_dim[]){2}, LATE)) == block, true);
    wick_tensor *z = wick_add(C, y, y, NULL);
    ASSERT_VALUES(host_tensor(z), -2, -4);
    assert_ok(wick_synchronize(RT, LATE));
    wick_stream_release(s);
    end();
}

static void test_peer_copies(void **state) { check_peer("", 1); }
static void test_peer_copies_through_the_host(void **state) { check_peer("more = no", 0); }

/* The target waits for the copy, the copy for whoever used the target's memory before. */
static void test_peer_copies_are_ordered_on_both_sides(void **state) {
    start("");
    wick_tensor *x = late_tensor(T(7)), *y = wick_to_device(C, T(1), LATE1, WICK_F64, NULL);
    wick_tensor *before = wick_neg(C, y);
    wick_copy_(C, y, x, NULL);
    wick_tensor *after = wick_neg(C, y);
    assert_int_equal(late_run(NULL, 0, 10), 1); /* the source's stream: x arrives, then it waits for the target */
    ASSERT_VALUES(host_tensor(after), -7);
    ASSERT_VALUES(host_tensor(before), -1);
    end();
}

/* ---- backward ---- */
static void test_backward_runs_on_the_streams_of_forward(void **state) {
    start("");
    wick_stream *s = new_stream(LATE);
    late_stream *own = newest();
    wick_tensor *x = wick_set_requires_grad(C, late_tensor(T(3)), true), *grad = late_tensor(T(1));
    assert_ok(wick_synchronize(RT, LATE));
    wick_tensor *y = wick_neg(C, x); /* on the default stream */
    wick_event *event;
    assert_ok(wick_event_create(RT, LATE, 0, &event));
    assert_ok(wick_event_record(event, NULL));
    assert_ok(wick_stream_wait(s, event));
    on(s);
    wick_tensor *z = wick_mul(C, y, y);
    assert_ok(wick_event_record(event, s));
    assert_ok(wick_stream_wait(NULL, event));
    on(NULL);
    int first = late_seen.launches;
    assert_true(wick_backward_many(C, &z, &grad, 1, 0));
    assert_null(wick_current_stream(C, LATE));
    bool on_s = false, on_default = false;
    for (int i = first; i < late_seen.launches; ++i) {
        bool mul = !strncmp(late_seen.launch_ops[i], "mul", 3);
        if (mul) assert_ptr_equal(launched_on(i), own);
        on_s |= mul;
        on_default |= !strcmp(late_seen.launch_ops[i], "neg") && !launched_on(i);
    }
    assert_true(on_s && on_default);
    ASSERT_VALUES(host_tensor(wick_grad_of(x)), 6); /* the caller's stream has waited for the pass */
    wick_event_release(event);
    wick_stream_release(s);
    end();
}

/* ---- errors ---- */
static void test_an_asynchronous_error_names_an_operator(void **state) {
    start("");
    wick_tensor *x = late_tensor(T(1));
    assert_ok(wick_synchronize(RT, LATE));
    late_seen.fail = "illegal access";
    wick_tensor *y = wick_neg(C, x), *z = wick_add(C, y, y, NULL);
    assert_healthy(); /* the calls are long over when it happens */
    double value[1];
    wick_status *status = wick_tensor_to_host(C, z, value, sizeof value);
    assert_int_equal(wick_status_code(status), WICK_DEVICE_ERROR);
    assert_error(status, "illegal access (asynchronous: at or before operator add.Tensor)");
    wick_neg(C, x);
    late_seen.fail = "illegal access";
    assert_true(isnan(wick_item(C, x)));
    assert_failed("at or before operator neg");
    end();
}

/* ---- the end ---- */
static void test_shutdown_with_work_pending(void **state) {
    start("");
    wick_stream *s = new_stream(LATE);
    wick_tensor *x = late_tensor(T(1));
    on(s);
    for (int i = 0; i < 5; ++i) wick_drop(C, wick_neg(C, x));
    wick_drop(C, x);
    wick_stream_release(s);
    assert_int_equal(late_seen.runs, 0);
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_work_waits_until_it_is_read),
        cmocka_unit_test(test_synchronize),
        cmocka_unit_test(test_current_stream),
        cmocka_unit_test(test_query_of_a_stream),
        cmocka_unit_test(test_streams_that_do_not_fit),
        cmocka_unit_test(test_each_stream_reuses_its_own_blocks),
        cmocka_unit_test(test_a_stream_ends_before_its_blocks_return),
        cmocka_unit_test(test_a_block_waits_for_other_streams),
        cmocka_unit_test(test_record_stream),
        cmocka_unit_test(test_without_events_the_host_waits),
        cmocka_unit_test(test_trim_waits),
        cmocka_unit_test(test_an_event_orders_two_streams),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_pinned_copies_need_not_wait),
        cmocka_unit_test(test_ordinary_memory_is_done_with_at_return),
        cmocka_unit_test(test_no_pinned_memory),
        cmocka_unit_test(test_peer_copies),
        cmocka_unit_test(test_peer_copies_through_the_host),
        cmocka_unit_test(test_peer_copies_are_ordered_on_both_sides),
        cmocka_unit_test(test_backward_runs_on_the_streams_of_forward),
        cmocka_unit_test(test_an_asynchronous_error_names_an_operator),
        cmocka_unit_test(test_shutdown_with_work_pending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
