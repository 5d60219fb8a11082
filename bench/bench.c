/* The program around a benchmark: options, the runtime, operands. */
#include "bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wick/config.h>
#include <wick/ops.h>

#include "options.h"

bench_options options = {.seconds = 0.3};

/* ---- options ---- */
static void usage(FILE *out) {
    fprintf(out,
            "usage: bench-%s [--json FILE] [--peer PYTHON] [--only TEXT] [--seconds S]\n"
            "  --json FILE    write the figures there, too\n"
            "  --peer PYTHON  a Python that has PyTorch, to measure beside\n"
            "  --only TEXT    only figures whose name has TEXT in it\n"
            "  --seconds S    time for each contender of a figure (default %g)\n",
            options.name, options.seconds);
}

static const struct {
    const char *name, **value;
} text_options[] = {
    {"--json", &options.json},
    {"--peer", &options.peer},
    {"--only", &options.only},
    {"--child", &options.child},
};

/* Takes the option that is argv[i]; false if there is no such one. */
static bool take_option(int argc, char **argv, int i) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (value && !strcmp(argv[i], "--seconds")) return options.seconds = strtod(value, NULL), true;
    for (size_t k = 0; k < sizeof text_options / sizeof text_options[0]; ++k)
        if (value && !strcmp(argv[i], text_options[k].name)) return *text_options[k].value = value, true;
    return false;
}

void bench_begin(const char *name, int argc, char **argv) {
    options.name = name;
    if (argc == 2 && !strcmp(argv[1], "--help")) usage(stdout), exit(0);
    for (int i = 1; i < argc; i += 2)
        if (!take_option(argc, argv, i)) usage(stderr), exit(2);
    if (!(options.seconds > 0 && options.seconds <= 60)) bench_die("--seconds: wanted a number above 0, at most 60");
}

int bench_end(void) {
    bench_process_stop(options.torch);
    bench_report_print();
    if (options.json && !bench_report_write(options.json)) bench_die("cannot write %s", options.json);
    return 0;
}

bool bench_wanted(const char *figure) { return !options.only || strstr(figure, options.only); }
const char *bench_child(void) { return options.child; }

/* ---- errors ---- */
void bench_die(const char *format, ...) {
    va_list args;
    fprintf(stderr, "bench-%s: ", options.name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

void bench_check(wick_status *status) {
    if (status) bench_die("%s", wick_status_message(status));
}

void bench_alive(wick_context *c) { bench_check(wick_status_take(c)); }

/* ---- wick ---- */
bench_wick bench_wick_open(int threads) {
    bench_wick wick;
    char ini[128];
    wick_config_file *config;
    int bytes = snprintf(ini, sizeof ini, "[runtime]\nplugins = cpu\n[plugin.cpu]\nthreads = %d\n", threads);
    bench_check(wick_config_parse(ini, (size_t)bytes, "bench.ini", NULL, &config));
    bench_check(wick_runtime_create(NULL, &wick.runtime));
    bench_check(wick_runtime_load(wick.runtime, config));
    wick_config_free(config);
    bench_check(wick_context_create(wick.runtime, &wick.c));
    wick_scope_open(wick.c);
    return wick;
}

void bench_wick_close(bench_wick *wick) {
    bench_alive(wick->c);
    wick_context_destroy(wick->c);
    wick_runtime_release(wick->runtime);
}

wick_tensor *bench_tensor(wick_context *c, wick_dtype dtype, int ndim, const wick_dim *sizes) {
    wick_rand_options f32 = WICK_RAND_OPTIONS_INIT;
    f32.dtype = WICK_F32;
    wick_scope scope = wick_scope_open(c);
    wick_tensor *t = wick_rand(c, sizes, (size_t)ndim, &f32);
    t = wick_sub_scalar(c, wick_mul_scalar(c, t, wick_value_float(2)), wick_value_float(1), NULL);
    t = wick_scope_return(c, scope, wick_to_dtype(c, t, dtype, NULL));
    bench_alive(c);
    return t;
}
