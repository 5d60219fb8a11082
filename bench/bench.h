/* bench.h: what the benchmarks share: options, timing, peers, the report.
 *
 * A benchmark is one program: bench_begin, figures, bench_end. Every figure is the minimum over many short batches,
 * taken in turns by everyone it compares, so that a busy machine disturbs all alike. An error ends the program with
 * exit code 1. One thread. */
#ifndef WICK_BENCH_H
#define WICK_BENCH_H

#include <math.h>
#include <stdint.h>
#include <wick/context.h>

/* ---- the program (bench.c) ---- */
/* Reads the options: --json FILE, --peer PYTHON, --only TEXT, --seconds S, --child ROLE. */
void bench_begin(const char *name, int argc, char **argv);
/* Prints the table, writes the JSON file, stops the peers; returns the exit code. */
int bench_end(void);
/* True if --only is absent or part of `figure`. */
bool bench_wanted(const char *figure);
/* The role for which a benchmark started itself, NULL in the program that the user started. */
const char *bench_child(void);
_Noreturn void bench_die(const char *format, ...) WICK_PRINTF(1, 2);
/* Ends the program if the status or the context is an error. */
void bench_check(wick_status *status);
void bench_alive(wick_context *c);

/* A runtime with the CPU backend on so many threads, and a context with a scope open. */
typedef struct bench_wick {
    wick_runtime *runtime;
    wick_context *c;
} bench_wick;
bench_wick bench_wick_open(int threads);
void bench_wick_close(bench_wick *wick);
/* Uniform values in [-1, 1), the same in every run; owned by the scope. */
wick_tensor *bench_tensor(wick_context *c, wick_dtype dtype, int ndim, const wick_dim *sizes);

/* ---- timing (timing.c) ---- */
double bench_now_ns(void);
/* Does the work n times. */
typedef void (*bench_run)(void *user, int64_t n);
/* Does the work for so long and returns the best time of one repetition in ns. */
typedef double (*bench_timed)(void *user, double seconds);
/* One contender for a figure: work in this process, or a question to another one. */
typedef struct bench_entry {
    const char *who;
    bench_run run;
    bench_timed timed; /* instead of run: does its own timing */
    void *user;
    struct bench_process *process; /* asked if both are NULL; may be NULL: no such contender */
    const char *work;              /* what it shall time */
    int threads;                   /* that it shall use */
    double ns;                     /* result: best time of one repetition, NaN if there is none */
} bench_entry;
void bench_race(bench_entry *entries, int count);
/* Batches of about so many ns from here on (200,000): those that end by waiting for a device want to be longer. */
void bench_batches(double ns);
/* A contender's turn: batches for so long, but three at least. */
typedef struct bench_turn {
    double best, end; /* ns */
    int batches;
} bench_turn;
bench_turn bench_turn_start(double seconds);
/* After every batch. */
bool bench_turn_goes_on(bench_turn *turn);
/* The best time of one repetition over batches that take `seconds` together. */
double bench_time(bench_run run, void *user, double seconds);
/* Three malloc+free pairs: the unit that tells how fast the machine is just now. */
void bench_calibration_loop(void *user, int64_t n);

/* ---- other processes (process.c): a question a line, answered by a line of JSON with a "value" ---- */
typedef struct bench_process bench_process;
/* Starts `argv`; `environment` is a list of "NAME=value" to add or "NAME" to remove, ended by NULL. The first line that
 * the process writes tells its "name". NULL if it could not be started. */
bench_process *bench_process_start(const char *const *argv, const char *const *environment);
/* This program again, as --child ROLE. */
bench_process *bench_process_self(const char *role, const char *const *environment);
/* NULL is allowed: "none". */
const char *bench_process_name(const bench_process *p);
/* NaN if there is no process or no answer. */
double bench_process_ask(bench_process *p, const char *format, ...) WICK_PRINTF(2, 3);
void bench_process_stop(bench_process *p);
/* PyTorch, if --peer names a Python that has it; else NULL. Lent. */
bench_process *bench_torch(void);
/* The other side, for a child: tells its name, then answers each question "WORD ..." until the end of the input. */
typedef double (*bench_answer)(const char *question);
int bench_serve(const char *name, bench_answer answer);
/* Bytes of this process's memory: "VmRSS", "VmHWM" (highest), ... */
double bench_self_memory(const char *field);
/* Sets the highest back to what it is now. */
void bench_self_memory_reset_peak(void);

/* ---- the report (report.c) ---- */
/* One row. NaN for a peer value that there is none of. The ratio follows from the unit: above 1 wick is better. */
void bench_add(const char *name, double value, const char *unit, const char *peer, double peer_value);
void bench_report_print(void);
bool bench_report_write(const char *path);

#endif
