/* wick-probe CONFIG-NAME PLUGIN-NAME PLUGIN-PATH < CONFIG: loads one plugin as the loader would and answers on file
 * descriptor 3 with one line; exit code 0: ready, 1: refused, 2: it could not try. The loader runs it for
 * `isolate = yes`: if the plugin crashes, only this process dies. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <wick/config.h>

#define ANSWER_FD 3
#define TEXT_LIMIT ((size_t)4 << 20)

static wick_status *set(wick_config_file *config, const char *section, const char *key, const char *value) {
    char assignment[8192];
    int length = snprintf(assignment, sizeof assignment, "%s.%s=%s", section, key, value);
    if (length < 0 || (size_t)length >= sizeof assignment) return WICK_ERROR(WICK_OUT_OF_RANGE, "path is too long");
    return wick_config_set(config, assignment, NULL, 0);
}

/* The plugin at `path` alone, here, whatever else the configuration says. */
static wick_status *narrow(wick_config_file *config, const char *name, const char *path) {
    char section[128];
    snprintf(section, sizeof section, "plugin.%s", name);
    WICK_TRY(set(config, "runtime", "plugins", name));
    WICK_TRY(set(config, section, "path", path));
    WICK_TRY(set(config, section, "enabled", "yes"));
    WICK_TRY(set(config, section, "required", "yes"));
    return set(config, section, "isolate", "no");
}

static wick_status *read_config(char **argv, wick_config_file **out) {
    char *text = malloc(TEXT_LIMIT);
    if (!text) return WICK_ERROR(WICK_OUT_OF_MEMORY, "out of memory");
    size_t bytes = fread(text, 1, TEXT_LIMIT, stdin);
    wick_status *status = wick_config_parse(text, bytes, argv[1], NULL, out);
    free(text);
    return status ? status : narrow(*out, argv[2], argv[3]);
}

/* No exit handlers: the answer stands, and the plugin must not spoil it. Without an answer the plugin was not tried. */
static _Noreturn void end(const char *message, int code) {
    if (code < 2)
        dprintf(ANSWER_FD, "%s\n", message);
    else
        dprintf(STDERR_FILENO, "wick-probe: %s\n", message);
    _exit(code);
}

int main(int argc, char **argv) {
    wick_config_file *config = NULL;
    wick_runtime *runtime = NULL;
    if (argc != 4) end("usage: wick-probe CONFIG-NAME PLUGIN-NAME PLUGIN-PATH < CONFIG", 2);
    wick_status *status = read_config(argv, &config);
    if (!status) status = wick_runtime_create(NULL, &runtime);
    if (status) end(wick_status_message(status), 2);
    status = wick_runtime_load(runtime, config);
    wick_runtime_release(runtime);
    end(status ? wick_status_message(status) : "ready", status ? 1 : 0);
}
