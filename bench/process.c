/* Other processes that measure: PyTorch in a Python, or this program again with another environment. */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "options.h"

#define LINE_LIMIT 512
#define ARGUMENTS_LIMIT 8

struct bench_process {
    pid_t pid;
    FILE *to, *from;
    char name[48];
};

static void apply_environment(const char *const *environment) {
    for (; environment && *environment; ++environment) {
        if (strchr(*environment, '='))
            putenv((char *)*environment);
        else
            unsetenv(*environment);
    }
}

static _Noreturn void run_child(const char *const *argv, const char *const *environment, int input, int output) {
    apply_environment(environment);
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    execvp(argv[0], (char *const *)argv);
    fprintf(stderr, "bench: cannot run %s\n", argv[0]);
    _exit(127);
}

/* The text of a string member of a line of JSON without escapes. */
static bool read_name(const char *line, char *name, size_t bytes) {
    const char *at = strstr(line, "\"name\": \"");
    if (!at) return false;
    at += strlen("\"name\": \"");
    snprintf(name, bytes, "%.*s", (int)strcspn(at, "\""), at);
    return true;
}

bench_process *bench_process_start(const char *const *argv, const char *const *environment) {
    int down[2], up[2];
    char line[LINE_LIMIT];
    bench_process *p = calloc(1, sizeof *p);
    signal(SIGPIPE, SIG_IGN);
    if (!p || pipe2(down, O_CLOEXEC) || pipe2(up, O_CLOEXEC)) bench_die("cannot make a pipe");
    fflush(NULL);
    p->pid = fork();
    if (p->pid < 0) bench_die("cannot fork");
    if (p->pid == 0) run_child(argv, environment, down[0], up[1]);
    close(down[0]);
    close(up[1]);
    p->to = fdopen(down[1], "w");
    p->from = fdopen(up[0], "r");
    if (!p->to || !p->from) bench_die("out of memory");
    if (fgets(line, sizeof line, p->from) && read_name(line, p->name, sizeof p->name)) return p;
    bench_process_stop(p);
    return NULL;
}

bench_process *bench_process_self(const char *role, const char *const *environment) {
    const char *argv[] = {"/proc/self/exe", "--child", role, NULL};
    return bench_process_start(argv, environment);
}

const char *bench_process_name(const bench_process *p) { return p ? p->name : "none"; }

double bench_process_ask(bench_process *p, const char *format, ...) {
    char line[LINE_LIMIT], *end;
    va_list args;
    if (!p) return NAN;
    va_start(args, format);
    vfprintf(p->to, format, args);
    va_end(args);
    fputc('\n', p->to);
    if (fflush(p->to) || !fgets(line, sizeof line, p->from)) return NAN;
    const char *at = strstr(line, "\"value\": ");
    double value = at ? strtod(at + strlen("\"value\": "), &end) : NAN;
    return at && end != at + strlen("\"value\": ") ? value : NAN;
}

void bench_process_stop(bench_process *p) {
    if (!p) return;
    fclose(p->to);
    fclose(p->from);
    waitpid(p->pid, NULL, 0);
    free(p);
}

/* glibc would return each large block to the system and take it again, page by page; so PyTorch keeps them, as wick's
 * cache does. A variable that chooses OpenBLAS's kernels is no business of PyTorch's. */
static const char *const torch_environment[] = {"OPENBLAS_CORETYPE", "MALLOC_MMAP_MAX_=0",
                                                "MALLOC_TRIM_THRESHOLD_=2000000000", NULL};

bench_process *bench_torch(void) {
    const char *argv[] = {options.peer, BENCH_TORCH_PEER, NULL};
    if (options.peer && !options.torch) {
        options.torch = bench_process_start(argv, torch_environment);
        if (!options.torch) fprintf(stderr, "bench: %s has no PyTorch: going on without\n", options.peer);
        if (!options.torch) options.peer = NULL;
    }
    return options.torch;
}

int bench_serve(const char *name, bench_answer answer) {
    char line[LINE_LIMIT];
    printf("{\"name\": \"%s\"}\n", name);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        double value = answer(line);
        if (isfinite(value))
            printf("{\"value\": %.9g}\n", value);
        else
            printf("{\"value\": null}\n");
        fflush(stdout);
    }
    return 0;
}

double bench_self_memory(const char *field) {
    char line[256];
    double kib = NAN;
    FILE *f = fopen("/proc/self/status", "r");
    if (!f) return NAN;
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, field, strlen(field)) && line[strlen(field)] == ':')
            kib = strtod(line + strlen(field) + 1, NULL);
    fclose(f);
    return kib * 1024;
}

void bench_self_memory_reset_peak(void) {
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (!f || fputs("5", f) < 0 || fclose(f)) bench_die("cannot reset the peak of the memory use");
}
