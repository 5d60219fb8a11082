/* An INI, its backends and a context. */
#include "cli.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static void print_log(void *user, wick_log_level level, const char *message) {
    static const char *const names[] = {"debug", "info", "warning", "error"};
    if (level >= WICK_LOG_WARNING) fprintf(stderr, "wick: %s: %s\n", names[level], message);
}

wick_status *make_runtime(wick_runtime **out) {
    wick_runtime_options o = WICK_RUNTIME_OPTIONS_INIT;
    o.log = print_log;
    return wick_runtime_create(&o, out);
}

/* A run folder stands for the INI in it. */
static wick_status *ini_of(const char *path, char *ini, bool *is_folder) {
    struct stat info;
    *is_folder = !stat(path, &info) && S_ISDIR(info.st_mode);
    if (snprintf(ini, PATH_BYTES, *is_folder ? "%s/train.ini" : "%s", path) < PATH_BYTES) return NULL;
    return WICK_ERROR(WICK_OUT_OF_RANGE, "%s: the path is too long", path);
}

static wick_status *absolute(const char *path, char *out) {
    char current[PATH_BYTES / 2];
    if (*path == '/') return snprintf(out, PATH_BYTES, "%.*s", PATH_BYTES - 1, path), NULL;
    if (!getcwd(current, sizeof current)) return WICK_ERROR(WICK_IO, "the current folder has no path");
    if (snprintf(out, PATH_BYTES, "%s/%s", current, path) < PATH_BYTES) return NULL;
    return WICK_ERROR(WICK_OUT_OF_RANGE, "%s: the path is too long", path);
}

/* Writes the run folder into the INI, so that the INI as run names it too. */
static wick_status *set_folder(session *s, const char *out, const wick_config_schema *schemas, size_t n) {
    char assignment[PATH_BYTES + 16], folder[PATH_BYTES];
    if (!out) {
        WICK_TRY(wick_train_folder(s->config, folder, sizeof folder));
        out = folder;
    }
    WICK_TRY(absolute(out, s->folder));
    snprintf(assignment, sizeof assignment, "train.out=%s", s->folder);
    return wick_config_set(s->config, assignment, schemas, n);
}

static wick_status *open_config(session *s, const char *path, const options *o) {
    const wick_config_schema schemas[] = {wick_runtime_config_schema(), wick_train_config_schema()};
    char ini[PATH_BYTES];
    bool is_folder;
    WICK_TRY(ini_of(path, ini, &is_folder));
    WICK_TRY(wick_config_load(ini, NULL, &s->config));
    for (size_t i = 0; i < o->set_count; ++i) WICK_TRY(wick_config_set(s->config, o->sets[i], schemas, 2));
    WICK_TRY(wick_config_check(s->config, schemas, 2, 0));
    WICK_TRY(wick_config_resolve_paths(s->config, schemas, 2));
    return set_folder(s, is_folder ? path : o->out, schemas, 2);
}

static wick_status *open_runtime(session *s) {
    WICK_TRY(make_runtime(&s->runtime));
    WICK_TRY(wick_runtime_load(s->runtime, s->config));
    WICK_TRY(wick_context_create(s->runtime, &s->c));
    s->scope = wick_scope_open(s->c);
    return NULL;
}

int session_open(session *s, const char *path, const options *o) {
    memset(s, 0, sizeof *s);
    int code = report(open_config(s, path, o), EXIT_USAGE);
    return code ? code : report(open_runtime(s), EXIT_FAILED);
}

wick_status *session_load_model(session *s, wick_experiment *e) {
    char path[PATH_BYTES + 32];
    snprintf(path, sizeof path, "%s/model.safetensors", s->folder);
    if (wick_module_load(s->c, wick_experiment_module(e), path, 0, NULL)) return NULL;
    wick_status *status = wick_status_take(s->c);
    return wick_status_wrap(status, __FILE__, __LINE__, "%s: %s", path, wick_status_message(status));
}

void session_close(session *s) {
    if (s->c) wick_scope_close(s->c, s->scope);
    wick_context_destroy(s->c);
    if (s->runtime) wick_runtime_release(s->runtime);
    wick_config_free(s->config);
}
