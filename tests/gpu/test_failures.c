/* A training on plugin hip over the mock runtime in which one call of the runtime fails, each in turn: within forward,
 * backward and the optimizer, while a step is captured and while it is replayed. Either the step goes well all the same, or
 * its caller gets an error with a text; once that is taken, the next training gives the numbers of an undisturbed one.
 * test_failures all: every call, not just one in a few. */
#define MOCK_KEYS "hipblaslt = no\nmiopen = no\n"
#include "mock_test.h"

#include <wick/sdk/abi.h>
#include <wick/stream.h>

#include "training.h"

#define ROWS 4
#define STEPS 6 /* as graphs: two ordinary ones, one that is captured, three that are replayed */
#define NUMBERS (TRAINING_COLUMNS * 32 + 32 + 32 * TRAINING_CLASSES + TRAINING_CLASSES)

static bool every_call;

/* ---- a training ---- */
/* All parameters, read from the device, which waits for it. */
static wick_status *read_parameters(const training *t, float out[NUMBERS]) {
    wick_tensor *parameters[TRAINING_PARAMETERS];
    wick_module_parameters(t->model, parameters, TRAINING_PARAMETERS);
    for (int i = 0; i < TRAINING_PARAMETERS; ++i) {
        size_t n = (size_t)parameters[i]->numel;
        WICK_TRY(wick_tensor_to_host(F.c, parameters[i], out, n * sizeof *out));
        out += n;
    }
    return NULL;
}

static wick_status *run_steps(training *t, wick_step_graph *graph, float out[NUMBERS]) {
    for (int i = 0; i < STEPS; ++i)
        if (!training_step(t, graph, i, ROWS)) return wick_status_take(F.c);
    WICK_TRY(read_parameters(t, out));
    return wick_status_take(F.c);
}

static wick_status *train(bool as_graphs, float out[NUMBERS]) {
    training t;
    wick_step_graph *graph = NULL;
    if (!training_open(&t, F.c, HIP)) return wick_status_take(F.c);
    wick_status *status = as_graphs ? wick_step_graph_create(F.runtime, HIP, 2, &graph) : NULL;
    if (!status) status = run_steps(&t, graph, out);
    wick_step_graph_destroy(graph);
    training_close(&t);
    return status;
}

/* ---- failures ---- */
typedef struct failure {
    const char *call;
    int code, times; /* so often in a row */
    const char *text;
    int stride; /* every how many calls are tried */
    bool tells; /* the caller must be told */
} failure;

/* The order for a mock: call number n, and those after it. */
static const char *order(const failure *f, long n) {
    static char text[512];
    size_t used = 0;
    for (int i = 0; i < f->times; ++i)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s:%ld:%d", i ? "," : "", f->call, n + i, f->code);
    return text;
}

static void assert_readable(const wick_status *status, const failure *f, long n) {
    wick_code wanted = f->code == 2 ? WICK_OUT_OF_MEMORY : WICK_DEVICE_ERROR;
    bool found = false;
    for (const wick_status *s = status; s; s = wick_status_cause(s))
        found |= strstr(wick_status_message(s), f->text) != NULL;
    if (!found || wick_status_code(status) != wanted)
        fail_msg("%s %ld: wanted '%s', got %s: %s", f->call, n, f->text, wick_code_text(wick_status_code(status)),
                 wick_status_message(status));
}

static uint64_t memory_used(void) {
    uint64_t used;
    wick_memory_stats(F.runtime, HIP, &used, NULL, NULL);
    return used;
}

/* True if a call with that number came up. */
static bool fails_once(const failure *f, long n, bool as_graphs, const float wanted[NUMBERS], int *told) {
    float got[NUMBERS];
    uint64_t before = memory_used();
    wick_memory_trim(F.runtime, HIP); /* so that there are allocations */
    long calls = mock_calls(f->call);
    mock_fail(order(f, n));
    wick_status *status = train(as_graphs, got);
    bool came = mock_calls(f->call) - calls >= n;
    mock_fail(NULL);
    if (status) assert_readable(status, f, n);
    if (!status && came && f->tells) fail_msg("%s %ld: nothing was told", f->call, n);
    if (!status && memcmp(got, wanted, sizeof got) != 0) fail_msg("%s %ld: wrong without an error", f->call, n);
    *told += status != NULL;
    wick_status_free(status);
    expect_good(F.c);
    expect_ok(train(as_graphs, got));
    if (memcmp(got, wanted, sizeof got) != 0) fail_msg("%s %ld: the training after it is wrong", f->call, n);
    assert_int_equal(memory_used(), before);
    return came;
}

static void sweep(const failure *failures, size_t count, bool as_graphs) {
    float wanted[NUMBERS];
    start();
    expect_ok(train(as_graphs, wanted));
    for (size_t i = 0; i < count; ++i) {
        int told = 0;
        long n = 1;
        while (fails_once(&failures[i], n, as_graphs, wanted, &told))
            n += every_call ? 1 : failures[i].stride * (WICK_SANITIZER ? 8 : 1);
        print_message("%s (%d): %ld calls, %d of those tried were told\n", failures[i].call, failures[i].code, n, told);
        assert_true(told > 0);
    }
    end();
}

/* Of a step as usual. */
static const failure failures[] = {
    {"hipMalloc", 2, 3, "hip: allocating memory: hipErrorOutOfMemory (2)", 5, true},
    {"hipModuleLaunchKernel", 719, 1, "hipErrorLaunchFailure (719)", 17, true},
    {"asynchronous", 719, 1, "hipErrorLaunchFailure (719)", 29, true},
    {"hipSetDevice", 101, 1, "hipErrorInvalidDevice (101)", 61, false},
    {"hipMemcpyHtoDAsync", 719, 1, "hip: copying from the host: hipErrorLaunchFailure (719)", 5, true},
    {"hipMemcpyDtoHAsync", 719, 1, "hip: copying to the host: hipErrorLaunchFailure (719)", 1, true},
    {"hipStreamSynchronize", 719, 1, "hipErrorLaunchFailure (719)", 7, false},
};

/* Of one that is captured and replayed. */
static const failure graph_failures[] = {
    {"hipStreamBeginCapture", 900, 1, "hip: beginning a capture: hipErrorStreamCaptureUnsupported (900)", 1, true},
    {"hipStreamEndCapture", 905, 1, "hip: ending a capture: hipErrorStreamCaptureIsolation (905)", 1, true},
    {"hipGraphInstantiateWithFlags", 2, 1, "hip: making a graph: hipErrorOutOfMemory (2)", 1, true},
    {"hipGraphLaunch", 719, 1, "hip: launching a graph: hipErrorLaunchFailure (719)", 1, true},
};

static void test_ordinary_steps(void **state) { sweep(failures, COUNT(failures), false); }
static void test_steps_as_graphs(void **state) {
    sweep(failures, COUNT(failures), true);
    sweep(graph_failures, COUNT(graph_failures), true);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ordinary_steps), cmocka_unit_test(test_steps_as_graphs)};
    every_call = argc > 1 && strcmp(argv[1], "all") == 0;
    return cmocka_run_group_tests(tests, open_mock, NULL);
}
