/* The conformance runner: does a plugin keep what the plugin ABI promises? Any plugin by path, through public headers
 * only. `wick check` is its command line; docs/man/wick.1 describes it.
 *
 * Each mode runs in a child process of its own, so that a plugin that crashes or hangs is named and the runner goes on
 * with what comes after. Nothing is loaded into the caller's process unless CHECK_IN_PROCESS asks for it. One thread
 * at a time may run a check. */
#ifndef WICK_CHECK_H
#define WICK_CHECK_H

#include <stdio.h>
#include <wick/status.h>

/* X(NAME, name, what it looks at) */
#define CHECK_MODES(X)                                                                             \
    X(LOAD, "load", "file, symbols, tables, states, isolation, reload")                            \
    X(MEMORY, "memory", "allocation, copies, streams, events")                                     \
    X(OPS, "ops", "every operator against the host's and against recorded results")                \
    X(GRAD, "grad", "gradients against the host's, against recorded ones and against differences") \
    X(STRESS, "stress", "threads, streams, injected failures, reload cycles, growth")              \
    X(PERF, "perf", "launch overhead, bandwidth, matrix products: told, never failing")

typedef enum check_mode {
#define CHECK_MODE_ENUM(NAME, name, text) CHECK_##NAME,
    CHECK_MODES(CHECK_MODE_ENUM)
#undef CHECK_MODE_ENUM
        CHECK_MODE_COUNT
} check_mode;

typedef enum check_verdict {
    CHECK_PASS,
    CHECK_FAIL,
    CHECK_EXPECTED, /* fails, and the known file says so */
    CHECK_NOTE,     /* told, not judged */
    CHECK_VERDICT_COUNT
} check_verdict;

/* How a device runs an operator. */
typedef enum check_how {
    CHECK_KERNEL,
    CHECK_DECOMPOSITION,
    CHECK_CORE,     /* a view, factory or copy of the core's own */
    CHECK_FALLBACK, /* on the host in the device's place */
    CHECK_UNSUPPORTED,
    CHECK_EXCLUDED, /* by the known file */
    CHECK_HOW_COUNT
} check_how;

typedef struct check_result {
    check_mode mode;
    check_verdict verdict;
    char *item;   /* operator, or what was looked at */
    char *label;  /* case, "" if there is one only */
    char *detail; /* what was got and wanted, a figure, a reason */
} check_result;

/* What became of one operator in one mode, over all of its cases. */
typedef struct check_operator {
    check_mode mode;
    check_how how;
    char *name;
    uint32_t passed, failed, unsupported;
    uint32_t dtypes_passed, dtypes_failed; /* WICK_DTYPE_BITs */
    uint32_t dtypes_host;                  /* that the host runs it with: what could be covered */
} check_operator;

typedef struct check_report {
    char *plugin, *version, *device, *hardware; /* "" if unknown */
    check_result *results;
    size_t result_count, result_room;
    check_operator *operators;
    size_t operator_count, operator_room;
    uint32_t modes; /* bits of check_mode that were run */
    uint64_t counts[CHECK_MODE_COUNT][CHECK_VERDICT_COUNT];
} check_report;

enum check_flag {
    CHECK_QUICK = 1,     /* f32, i64 and bool only, no large shapes, few cycles */
    CHECK_IN_PROCESS = 2 /* no child processes: for debuggers */
};

typedef struct check_options {
    const char *plugin;      /* path of the shared object */
    const char *const *sets; /* "key=value" of its INI section */
    size_t set_count;
    const char *only;    /* one operator; NULL: all */
    int part, parts;     /* of the operators, part `part` (from 1) of `parts`; 0: all */
    const char *against; /* plugin that computes what is right; NULL: "cpu", found as the loader finds it */
    const char *goldens; /* folder of recorded results; NULL: none */
    const char *known;   /* file of exclusions and expected failures; NULL: none */
    uint32_t modes;      /* bits of check_mode */
    uint32_t flags;      /* check_flag */
    int timeout_seconds; /* of silence, after which a child is ended; 0: 240 */
} check_options;

const char *check_mode_name(check_mode mode);
const char *check_how_name(check_how how);
const char *check_verdict_name(check_verdict verdict);

/* Runs the modes and fills *out, which the caller frees. An error is one of the request (a known file that cannot be
 * read), never of the plugin: those are in the report. */
WICK_MUST_USE wick_status *check_run(const check_options *options, check_report **out);
void check_report_free(check_report *report);
/* Failures, unexpected passes among them. */
uint64_t check_failures(const check_report *report);

/* Each writes the whole report. */
void check_write_text(const check_report *report, FILE *to);
void check_write_json(const check_report *report, FILE *to);
void check_write_html(const check_report *report, FILE *to);
/* The table of operators alone, for docs/coverage. */
void check_write_coverage(const check_report *report, FILE *to);

#endif
