#include "isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "search.h"

#define POLL_MS 20

/* Moves a descriptor away from those that the child will have: its own copies must not overwrite it first. */
static int move_up(int fd) {
    int moved = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, ISOLATE_ANSWER_FD + 1);
    if (fd >= 0) close(fd);
    return moved;
}

/* ---- the child's standard input ---- */
static wick_status *write_all(int fd, const char *bytes, size_t length) {
    while (length) {
        ssize_t n = write(fd, bytes, length);
        if (n < 0 && errno != EINTR)
            return WICK_ERROR(WICK_IO, "cannot hand the configuration over: %s", strerror(errno));
        if (n < 0) continue;
        bytes += n;
        length -= (size_t)n;
    }
    return NULL;
}

/* The configuration's text in a file without a name, read from its start. */
static wick_status *text_file(const wick_config_file *config, const wick_allocator *memory, int *out_fd) {
    char one;
    size_t length = wick_config_format(config, &one, 1);
    char *text = memory->allocate(memory->user, length + 1);
    if (!text) return WICK_ERROR(WICK_OUT_OF_MEMORY, "out of memory");
    wick_config_format(config, text, length + 1);
    int fd = move_up(memfd_create("wick-probe", MFD_CLOEXEC));
    wick_status *status =
        fd < 0 ? WICK_ERROR(WICK_IO, "memfd_create: %s", strerror(errno)) : write_all(fd, text, length);
    allocator_free(memory, text);
    if (!status && lseek(fd, 0, SEEK_SET) < 0) status = WICK_ERROR(WICK_IO, "lseek: %s", strerror(errno));
    if (status && fd >= 0) close(fd);
    if (!status) *out_fd = fd;
    return status;
}

/* ---- the child ---- */
typedef struct child {
    pid_t pid;
    int answer; /* read end of its answer pipe */
    bool answered, ended, reaped;
    int wait_status;
} child;

static wick_status *spawn(const char *const argv[], int input, int answer, pid_t *out) {
    extern char **environ;
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return WICK_ERROR(WICK_OUT_OF_MEMORY, "posix_spawn: %s", strerror(error));
    error = posix_spawn_file_actions_adddup2(&actions, answer, ISOLATE_ANSWER_FD);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    if (!error) error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    if (!error) error = posix_spawn(out, argv[0], &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error ? WICK_ERROR(WICK_IO, "cannot start %s: %s", argv[0], strerror(error)) : NULL;
}

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits a moment for an answer and looks whether the child has ended. */
static void watch(child *c) {
    struct pollfd wanted = {.fd = c->answer, .events = POLLIN};
    char buffer[256];
    if (poll(&wanted, c->answer >= 0, POLL_MS) > 0) {
        ssize_t n = read(c->answer, buffer, sizeof buffer);
        if (n > 0)
            c->answered = true;
        else if (n == 0 || errno != EINTR)
            close(c->answer), c->answer = -1;
    }
    pid_t pid = waitpid(c->pid, &c->wait_status, WNOHANG);
    c->reaped = pid == c->pid;
    c->ended = c->reaped || (pid < 0 && errno == ECHILD); /* ECHILD: the program ignores SIGCHLD */
}

static void drain(child *c) {
    char buffer[256];
    if (c->answer < 0) return;
    struct pollfd wanted = {.fd = c->answer, .events = POLLIN};
    if (poll(&wanted, 1, 0) > 0 && read(c->answer, buffer, sizeof buffer) > 0) c->answered = true;
    close(c->answer);
}

static wick_status *verdict(const child *c) {
    if (c->reaped && WIFSIGNALED(c->wait_status)) {
        const char *name = sigabbrev_np(WTERMSIG(c->wait_status));
        return WICK_ERROR(WICK_FAILED_PRECONDITION, "the isolated process died of SIG%s", name ? name : "?");
    }
    if (c->answered) return NULL;
    return WICK_ERROR(WICK_FAILED_PRECONDITION, "the isolated process ended without an answer, exit code %d",
                      c->reaped ? WEXITSTATUS(c->wait_status) : -1);
}

static wick_status *supervise(child *c) {
    int64_t deadline = now_ms() + ISOLATE_TIMEOUT_MS;
    while (!c->ended && now_ms() < deadline) watch(c);
    bool late = !c->ended;
    if (late) {
        kill(c->pid, SIGKILL);
        while (waitpid(c->pid, &c->wait_status, 0) < 0 && errno == EINTR) {}
    }
    drain(c);
    if (!late) return verdict(c);
    return WICK_ERROR(WICK_FAILED_PRECONDITION, "the isolated process was not done in %d s", ISOLATE_TIMEOUT_MS / 1000);
}

static wick_status *run_child(const char *const argv[], int input) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) return WICK_ERROR(WICK_IO, "pipe: %s", strerror(errno));
    child c = {.answer = ends[0]};
    int answer = move_up(ends[1]);
    wick_status *status =
        answer < 0 ? WICK_ERROR(WICK_IO, "pipe: %s", strerror(errno)) : spawn(argv, input, answer, &c.pid);
    if (answer >= 0) close(answer);
    if (!status) return supervise(&c);
    close(c.answer);
    return status;
}

static wick_status *find_program(const wick_allocator *memory, char out[PATH_MAX]) {
    text tried = {.memory = memory};
    wick_status *status = search_probe(&tried, out);
    for (char *c = tried.bytes; c && *c; ++c) {
        if (*c == '\n') *c = ';';
    }
    if (status) status = wick_status_wrap(status, __FILE__, __LINE__, "isolate = yes: tried %s", text_get(&tried));
    text_free(&tried);
    return status;
}

wick_status *isolate_probe(const wick_config_file *config, const wick_allocator *memory, const char *name,
                           const char *path) {
    char program[PATH_MAX];
    int input = -1;
    WICK_TRY(find_program(memory, program));
    WICK_TRY(text_file(config, memory, &input));
    const char *const argv[] = {program, wick_config_name(config), name, path, NULL};
    wick_status *status = run_child(argv, input);
    close(input);
    return status;
}
