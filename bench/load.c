/* What it takes until the first operator can run: time and memory of creating a runtime and loading the CPU backend, in
 * a fresh process each time, and the size of the library. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

enum { PROCESSES = 30 };
#define MIB (1024.0 * 1024.0)

/* ---- the child: loads once and tells the figure it is asked for ---- */
static double answer(const char *question) {
    double before = bench_self_memory("VmRSS"), start = bench_now_ns();
    bench_wick wick = bench_wick_open(2);
    double ns = bench_now_ns() - start, bytes = bench_self_memory("VmRSS");
    bench_wick_close(&wick);
    if (!strcmp(question, "load time")) return ns;
    return strcmp(question, "load growth") ? bytes : bytes - before;
}

static double minimum(const char *question) {
    double best = NAN;
    for (int i = 0; i < PROCESSES; ++i) {
        bench_process *child = bench_process_self("load", NULL);
        best = fmin(best, bench_process_ask(child, "%s", question));
        bench_process_stop(child);
    }
    return best;
}

/* Whole life of a process that links wick, from fork to its end. */
static double whole_process(void) {
    double best = NAN;
    for (int i = 0; i < PROCESSES; ++i) {
        double start = bench_now_ns();
        bench_process *child = bench_process_self("load", NULL);
        bench_process_ask(child, "load time");
        bench_process_stop(child);
        best = fmin(best, bench_now_ns() - start);
    }
    return best;
}

/* Bytes of the file after `strip`; NaN without that program. */
static double stripped_bytes(const char *library) {
    char stripped[] = "/tmp/wick-bench-XXXXXX";
    struct stat info;
    int file = mkstemp(stripped);
    if (file < 0) return NAN;
    close(file);
    pid_t pid = fork();
    if (pid == 0) {
        execlp("strip", "strip", "-o", stripped, library, (char *)NULL);
        _exit(127);
    }
    int status = 1;
    double bytes =
        pid > 0 && waitpid(pid, &status, 0) == pid && !status && !stat(stripped, &info) ? (double)info.st_size : NAN;
    unlink(stripped);
    return bytes;
}

static void measure(void) {
    bench_process *torch = bench_torch();
    const char *name = bench_process_name(torch);
    double ns = minimum("load time"), growth = minimum("load growth"), total = minimum("load total");
    double library = stripped_bytes(BENCH_LIBRARY);
    bench_add("runtime and CPU backend, time", ns / 1e6, "ms", "budget", 20);
    bench_add("runtime and CPU backend, time", ns / 1e6, "ms", name, bench_process_ask(torch, "load time") / 1e6);
    bench_add("process with both, fork to end", whole_process() / 1e6, "ms", "", NAN);
    bench_add("runtime and CPU backend, memory", growth / MIB, "MiB", name,
              bench_process_ask(torch, "load memory") / MIB);
    bench_add("process with both, memory in all", total / MIB, "MiB", "budget", 10e6 / MIB);
    bench_add("libwick.so, stripped", library / MIB, "MiB", "budget", 1e6 / MIB);
}

int main(int argc, char **argv) {
    bench_begin("load", argc, argv);
    if (bench_child()) return bench_serve("wick", answer);
    measure();
    return bench_end();
}
