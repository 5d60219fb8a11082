/* The `wick` command: what its files share. A command is a row of the table in main.c and a file of its own. */
#ifndef WICK_CLI_CLI_H
#define WICK_CLI_CLI_H

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wick/call.h>
#include <wick/config.h>
#include <wick/layers.h>
#include <wick/trainer.h>

#define PATH_BYTES 4096
#define SETS_LIMIT 64

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

typedef struct command {
    const char *name, *usage, *summary;
    const char *help; /* options and more, lines */
    int (*run)(int argc, char **argv);
} command;

/* ---- commands ---- */
extern const command commands[];
extern const size_t command_count;
int run_train(int argc, char **argv);
int run_eval(int argc, char **argv);
int run_predict(int argc, char **argv);
int run_info(int argc, char **argv);
int run_ops(int argc, char **argv);
int run_check(int argc, char **argv);
int run_new(int argc, char **argv);
int run_help(int argc, char **argv);

/* ---- messages ---- */
/* "wick COMMAND: MESSAGE" on stderr and the usage; returns EXIT_USAGE. */
int usage_error(const char *command, const char *format, ...) WICK_PRINTF(2, 3);
/* Prints the error in one line, frees it and returns `code`; EXIT_OK for NULL. */
int report(wick_status *status, int code);

/* ---- options that several commands have ---- */
typedef struct options {
    const char *sets[SETS_LIMIT];
    size_t set_count;
    const char *config, *out, *data, *labels, *backend, *format;
    bool resume, quiet, why, missing;
} options;

/* Letters of the options that a command takes, out of: s --set, c --config, o --out, d --data, l --labels, b --backend,
 * f --format, r --resume, q --quiet, w --why, m --missing. Arguments are left from argv[optind] on. False: a usage error
 * was printed. */
bool parse_options(const char *command, int argc, char **argv, const char *letters, options *out);

/* ---- an INI, its backends and a context with an open scope ---- */
typedef struct session {
    wick_config_file *config;
    wick_runtime *runtime;
    wick_context *c;
    wick_scope scope;
    char folder[PATH_BYTES]; /* the run folder */
} session;

/* Opens the INI file, or the train.ini of a run folder, with its overrides, and loads the backends. Prints what fails.
 * Returns an exit code; the session is to be closed in any case. */
int session_open(session *s, const char *path, const options *o);
/* Loads the saved weights of the run folder into the experiment's model. */
wick_status *session_load_model(session *s, wick_experiment *e);
void session_close(session *s);
/* Where messages of the library go. */
wick_status *make_runtime(wick_runtime **out);

/* ---- progress of a training ---- */
typedef struct progress {
    bool terminal, quiet, line_open;
    double begin;
} progress;

void progress_begin(progress *p, bool quiet);
/* A wick_trainer_options.event; `user` is a progress. */
void progress_event(void *user, const wick_train_event *event);
/* Ends an open line. */
void progress_end(progress *p);

#endif
