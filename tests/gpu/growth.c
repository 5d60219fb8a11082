/* growth FILE.ini DEVICE [STEPS [KIB]]: trains for 5,000 steps with batches of changing sizes, as usual and as graphs, and
 * fails if memory grows: what the core holds, what the device has left (less KIB, which a driver may take for itself now and
 * then), what the process has. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <wick/config.h>
#include <wick/stream.h>

#include "training.h"

#define RUN 8                            /* steps with the same size: a graph is captured and replayed in each run */
#define PROCESS_BYTES (INT64_C(2) << 20) /* that malloc may differ by */

static int64_t driver_bytes;

typedef struct figures {
    int64_t used, reserved;       /* bytes that tensors have, with what is cached */
    int64_t device_used, process; /* the device's and the process's bytes */
} figures;

static wick_status *read_figures(wick_runtime *runtime, wick_device device, figures *out) {
    wick_device_info info = {.struct_size = sizeof info};
    uint64_t used, cached;
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
    if (file) fclose(file);
    wick_status *status = wick_synchronize(runtime, device);
    if (!status) status = wick_device_query(runtime, device, &info);
    wick_memory_stats(runtime, device, &used, NULL, &cached);
    *out = (figures){(int64_t)used, (int64_t)(used + cached), (int64_t)(info.memory_bytes - info.memory_free_bytes),
                     pages * sysconf(_SC_PAGESIZE)};
    return status;
}

static void print_figures(int step, const figures *f) {
    printf("  step %5d: %9.1f KiB in use, %9.1f with the cache; device %11.1f, process %11.1f\n", step,
           (double)f->used / 1024, (double)f->reserved / 1024, (double)f->device_used / 1024,
           (double)f->process / 1024);
}

static bool grew(const figures *before, const figures *after) {
    return after->used > before->used || after->reserved > before->reserved ||
           after->device_used > before->device_used + driver_bytes || after->process > before->process + PROCESS_BYTES;
}

/* Every size from 1 on comes up in the first quarter. */
static wick_dim rows_of(int number) { return 1 + (number / RUN) * 37 % TRAINING_ROWS; }

static wick_status *run_steps(training *t, wick_step_graph *graph, int begin, int end) {
    for (int i = begin; i < end; ++i)
        if (!training_step(t, graph, i, rows_of(i))) return wick_status_take(t->c);
    return NULL;
}

/* The first quarter warms up. */
static wick_status *measure(training *t, wick_step_graph *graph, int steps, bool *out_grew) {
    figures warm = {0}, now = {0};
    for (int quarter = 0; quarter < 4; ++quarter) {
        int end = steps / 4 * (quarter + 1);
        WICK_TRY(run_steps(t, graph, steps / 4 * quarter, end));
        WICK_TRY(read_figures(wick_context_runtime(t->c), t->device, &now));
        print_figures(end, &now);
        if (!quarter) warm = now;
    }
    *out_grew = grew(&warm, &now);
    return NULL;
}

static void describe(const wick_step_graph *graph) {
    wick_step_graph_info info = {.struct_size = sizeof info};
    wick_step_graph_describe(graph, &info);
    printf("  %llu steps, %llu captures, %llu replays\n", (unsigned long long)info.steps,
           (unsigned long long)info.captures, (unsigned long long)info.replays);
}

static wick_status *train(wick_context *c, wick_device device, bool as_graphs, int steps, bool *out_grew) {
    training t;
    wick_step_graph *graph = NULL;
    printf("%d steps%s\n", steps, as_graphs ? " as graphs" : "");
    if (!training_open(&t, c, device)) return wick_status_take(c);
    wick_status *status = as_graphs ? wick_step_graph_create(wick_context_runtime(c), device, 2, &graph) : NULL;
    if (!status) status = measure(&t, graph, steps, out_grew);
    if (graph) describe(graph);
    wick_step_graph_destroy(graph);
    training_close(&t);
    return status;
}

static wick_status *run(wick_runtime *runtime, const char *ini, const char *name, int steps, bool *out_grew) {
    wick_config_file *config = NULL;
    wick_context *c = NULL;
    wick_device device;
    wick_status *status = wick_config_load(ini, NULL, &config);
    if (!status) status = wick_runtime_load(runtime, config);
    if (!status) status = wick_runtime_device(runtime, name, &device);
    if (!status) status = wick_context_create(runtime, &c);
    for (int as_graphs = 0; as_graphs < 2 && !status; ++as_graphs) {
        bool phase_grew = false;
        status = train(c, device, as_graphs, steps, &phase_grew);
        *out_grew |= phase_grew;
    }
    if (c) wick_context_destroy(c);
    wick_config_free(config);
    return status;
}

int main(int argc, char **argv) {
    int steps = argc > 3 ? atoi(argv[3]) : 5000;
    driver_bytes = argc > 4 ? atoll(argv[4]) << 10 : 0;
    bool grown = false;
    wick_runtime *runtime = NULL;
    if (argc < 3 || steps < 4 * RUN * TRAINING_ROWS) {
        fprintf(stderr, "usage: growth FILE.ini DEVICE [STEPS [KIB]]    at least %d steps\n", 4 * RUN * TRAINING_ROWS);
        return 2;
    }
    wick_status *status = wick_runtime_create(NULL, &runtime);
    if (!status) status = run(runtime, argv[1], argv[2], steps, &grown);
    for (const wick_status *s = status; s; s = wick_status_cause(s))
        fprintf(stderr, "growth: %s\n", wick_status_message(s));
    if (grown) fprintf(stderr, "growth: memory grows\n");
    int64_t left = !status ? wick_runtime_live_objects(runtime) : 0;
    if (left) fprintf(stderr, "growth: %lld objects are left\n", (long long)left);
    bool failed = status || grown || left;
    wick_status_free(status);
    wick_runtime_release(runtime);
    if (!failed) printf("no growth\n");
    return failed;
}
