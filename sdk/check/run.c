/* The modes, each in a child process that tells its parent what it finds. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner.h"

#define SILENCE_SECONDS 240 /* without a word from a child, unless the caller says */
#define RESTARTS 25         /* of a mode whose child ends early */
#define LINE_BYTES 4096

static void (*const modes[CHECK_MODE_COUNT])(runner *r) = {
    [CHECK_LOAD] = mode_load, [CHECK_MEMORY] = mode_memory, [CHECK_OPS] = mode_ops,
    [CHECK_GRAD] = mode_grad, [CHECK_STRESS] = mode_stress, [CHECK_PERF] = mode_perf,
};

/* ---- the parent's side of a child ---- */
typedef struct child {
    pid_t pid;
    int channel;
    char item[256]; /* what it began last */
    char label[64]; /* and the case of it */
    char line[LINE_BYTES];
    size_t length;
    uint32_t begun; /* with what earlier children did */
    bool silent;    /* it was ended for that */
} child;

static void take_line(runner *r, child *c) {
    if (strncmp(c->line, "B\t", 2) == 0) {
        snprintf(c->item, sizeof c->item, "%.255s", c->line + 2);
        snprintf(c->label, sizeof c->label, "process");
        ++c->begun;
    } else if (strncmp(c->line, "C\t", 2) == 0) {
        snprintf(c->label, sizeof c->label, "%.63s", c->line + 2);
    } else {
        record_line(r, c->line);
    }
}

static void take_bytes(runner *r, child *c, const char *bytes, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        if (bytes[i] != '\n') {
            if (c->length + 1 < sizeof c->line) c->line[c->length++] = bytes[i];
            continue;
        }
        c->line[c->length] = '\0';
        c->length = 0;
        take_line(r, c);
    }
}

static int silence_seconds(const runner *r) {
    return r->options->timeout_seconds > 0 ? r->options->timeout_seconds : SILENCE_SECONDS;
}

/* Until the child closes its end, or says nothing for too long. */
static void listen_to(runner *r, child *c) {
    char bytes[LINE_BYTES];
    for (;;) {
        struct pollfd wanted = {.fd = c->channel, .events = POLLIN};
        int ready = poll(&wanted, 1, silence_seconds(r) * 1000);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) {
            c->silent = true;
            kill(c->pid, SIGKILL);
            return;
        }
        ssize_t n = read(c->channel, bytes, sizeof bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return;
        take_bytes(r, c, bytes, (size_t)n);
    }
}

/* True if it did all that it had to. */
static bool tell_end(runner *r, const child *c, int wait_status) {
    char text[160];
    if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) return true;
    if (c->silent)
        snprintf(text, sizeof text, "no answer in %d s", silence_seconds(r));
    else if (WIFSIGNALED(wait_status))
        snprintf(text, sizeof text, "the process died of SIG%s", sigabbrev_np(WTERMSIG(wait_status)));
    else
        snprintf(text, sizeof text, "the process ended with exit code %d", WEXITSTATUS(wait_status));
    record_result(r, CHECK_FAIL, c->item, c->label, text);
    return false;
}

static _Noreturn void child_main(runner *r, int channel) {
    r->channel = channel;
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody waits for the results any more */
    modes[r->mode](r);
    close(channel);
    _exit(0); /* the parent's exit handlers are not ours */
}

/* Returns what was begun so far; *done: the mode is complete. */
static uint32_t run_child(runner *r, bool *done) {
    int ends[2], wait_status = 0;
    child c = {.item = "start", .label = "process", .begun = r->resume_at};
    *done = true;
    if (pipe(ends)) return record_result(r, CHECK_FAIL, "start", "process", "no pipe"), c.begun;
    fflush(NULL);
    c.pid = fork();
    if (c.pid == 0) {
        close(ends[0]);
        child_main(r, ends[1]);
    }
    close(ends[1]);
    c.channel = ends[0];
    if (c.pid < 0)
        record_result(r, CHECK_FAIL, "start", "process", "no process");
    else
        listen_to(r, &c);
    close(ends[0]);
    while (c.pid > 0 && waitpid(c.pid, &wait_status, 0) < 0 && errno == EINTR) {}
    if (c.pid > 0) *done = tell_end(r, &c, wait_status);
    return c.begun;
}

static void run_mode(runner *r) {
    bool done = false;
    r->begun = r->resume_at = 0;
    r->channel = -1;
    if (r->options->flags & CHECK_IN_PROCESS) {
        modes[r->mode](r);
        return;
    }
    for (int i = 0; !done && i < RESTARTS; ++i) {
        uint32_t begun = run_child(r, &done);
        if (begun == r->resume_at) return; /* it does not get anywhere, which was told */
        r->resume_at = begun;
    }
    if (!done) record_result(r, CHECK_FAIL, "mode", "process", "given up: too many processes have ended early");
}

/* ---- the whole ---- */
/* What was expected to fail, and passes. */
static void tell_unexpected(runner *r) {
    for (size_t i = 0; i < r->known.count; ++i) {
        known_line l = r->known.lines[i];
        char text[320];
        if (l.exclude || l.hits || !l.passes) continue;
        snprintf(text, sizeof text, "passes, but the known file expects it to fail: %s", l.reason);
        r->known.lines[i].op[0] = '\0'; /* it must not explain this failure */
        record_result(r, CHECK_FAIL, l.op, l.subject, text);
    }
}

static void run_modes(runner *r) {
    const check_options *o = r->options;
    for (int m = 0; m < CHECK_MODE_COUNT; ++m) {
        if (!(o->modes & 1u << m)) continue;
        r->mode = (check_mode)m;
        r->report->modes |= 1u << m;
        bool loaded =
            !(o->modes & 1u << CHECK_LOAD) || m == CHECK_LOAD || r->report->device[0] || r->report->version[0];
        if (loaded)
            run_mode(r);
        else
            record_result(r, CHECK_FAIL, "open", "", "not run: the plugin did not load");
    }
    tell_unexpected(r);
}

static char *copy(const char *text) {
    char *out = strdup(text);
    if (!out) abort();
    return out;
}

wick_status *check_run(const check_options *options, check_report **out) {
    runner r = {.options = options, .channel = -1};
    if (options->known) WICK_TRY(known_read(options->known, &r.known));
    check_report *report = calloc(1, sizeof *report);
    if (!report) return known_free(&r.known), WICK_ERROR(WICK_OUT_OF_MEMORY, "out of memory");
    report->plugin = copy(options->plugin);
    report->version = copy(""), report->device = copy(""), report->hardware = copy("");
    r.report = *out = report;
    run_modes(&r);
    known_free(&r.known);
    return NULL;
}

void check_report_free(check_report *report) {
    if (!report) return;
    for (size_t i = 0; i < report->result_count; ++i) {
        free(report->results[i].item);
        free(report->results[i].label);
        free(report->results[i].detail);
    }
    for (size_t i = 0; i < report->operator_count; ++i) free(report->operators[i].name);
    free(report->results);
    free(report->operators);
    free(report->plugin), free(report->version), free(report->device), free(report->hardware);
    free(report);
}

uint64_t check_failures(const check_report *report) {
    uint64_t n = 0;
    for (int m = 0; m < CHECK_MODE_COUNT; ++m) n += report->counts[m][CHECK_FAIL];
    return n;
}
