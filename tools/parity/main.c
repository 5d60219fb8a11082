/* wick-parity: the command line, and loading of the backend under test. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <wick/config.h>

#include "above.h"

static const char usage[] =
    "usage: wick-parity DIR [--ops] [--api] [--modules] [--optimizers] [--schedulers]\n"
    "                   [--grad] [--grad2] [--only NAME] [--device D] [--config INI] [--known FILE] [--at-least N]\n"
    "                   [--json FILE] [--inject]\n"
    "Runs the results of PyTorch that are recorded in DIR on a device (default cpu) and compares. Without a section:\n"
    "all of them. --grad and --grad2 add first and second-order gradients. --known lists explained failures, a line\n"
    "NAME CASE STAGE REASON each. --inject repeats each operator with every operator inside it failing in turn: only\n"
    "the error may come of it. The last line counts passed, failed and unsupported.\n"
    "Exit code: 0 no failure but explained ones, 1 failures, 2 usage or unreadable files.\n";

static const struct {
    const char *option;
    bool (*run)(parity *p);
} sections[SECTION_COUNT] = {
    [SECTION_OPS] = {"--ops", section_ops},
    [SECTION_API] = {"--api", section_api},
    [SECTION_MODULES] = {"--modules", section_modules},
    [SECTION_OPTIMIZERS] = {"--optimizers", section_optimizers},
    [SECTION_SCHEDULERS] = {"--schedulers", section_schedulers},
};

/* ---- options ---- */
static bool section_option(parity_options *o, const char *word) {
    for (int s = 0; s < SECTION_COUNT; ++s)
        if (strcmp(word, sections[s].option) == 0) return o->sections[s] = true;
    return false;
}

static bool flag_option(parity_options *o, const char *word) {
    if (strcmp(word, "--grad") == 0) return o->grad = true;
    if (strcmp(word, "--grad2") == 0) return o->grad2 = true;
    if (strcmp(word, "--inject") == 0) return o->inject = true;
    return section_option(o, word);
}

static bool value_option(parity_options *o, const char *word, const char *value) {
    const char *at_least = NULL;
    const struct {
        const char *option;
        const char **out;
    } rows[] = {{"--only", &o->only}, {"--device", &o->device}, {"--config", &o->config},
                {"--json", &o->json}, {"--known", &o->known},   {"--at-least", &at_least}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        if (strcmp(word, rows[i].option) != 0) continue;
        *rows[i].out = value;
        if (at_least) o->at_least = strtol(at_least, NULL, 10);
        return true;
    }
    return false;
}

static bool parse_options(int argc, char **argv, parity_options *o) {
    *o = (parity_options){.device = "cpu"};
    for (int i = 1; i < argc; ++i) {
        if (argv[i][0] != '-') {
            if (o->folder) return false;
            o->folder = argv[i];
        } else if (!flag_option(o, argv[i])) {
            if (i + 1 == argc || !value_option(o, argv[i], argv[i + 1])) return false;
            ++i;
        }
    }
    bool any = false;
    for (int s = 0; s < SECTION_COUNT; ++s) any |= o->sections[s];
    for (int s = 0; s < SECTION_COUNT && !any; ++s) o->sections[s] = true;
    return o->folder != NULL;
}

/* ---- the backend under test ---- */
/* The INI named on the command line, else one that loads the host's plugin and the device's. */
static wick_status *read_config(const parity_options *o, wick_config_file **out) {
    char text[256];
    int name = (int)strcspn(o->device, ":");
    if (o->config) return wick_config_load(o->config, NULL, out);
    bool host = name == 3 && strncmp(o->device, "cpu", 3) == 0;
    int length =
        snprintf(text, sizeof text, "[runtime]\nplugins = cpu%s%.*s\n", host ? "" : ", ", host ? 0 : name, o->device);
    return wick_config_parse(text, (size_t)length, "wick-parity", NULL, out);
}

static wick_status *load_backends(parity *p) {
    wick_config_file *config = NULL;
    WICK_TRY(read_config(&p->options, &config));
    wick_status *status = wick_runtime_load(p->runtime, config);
    wick_config_free(config);
    if (!status) status = wick_runtime_device(p->runtime, p->options.device, &p->device);
    if (!status) status = wick_context_create(p->runtime, &p->c);
    if (!status) wick_set_default_device(p->c, p->device);
    return status;
}

static wick_status *open_runtime(parity *p) {
    WICK_TRY(wick_runtime_create(NULL, &p->runtime));
    WICK_TRY(load_backends(p));
    p->as_strided = wick_op_find(p->runtime, "as_strided");
    return NULL;
}

static int run(parity *p) {
    bool ok = report_begin(p);
    for (int s = 0; s < SECTION_COUNT && ok; ++s)
        if (p->options.sections[s]) ok = sections[s].run(p);
    int code = report_end(p);
    return ok ? code : 2;
}

int main(int argc, char **argv) {
    parity p = {.sink = report_count};
    if (!parse_options(argc, argv, &p.options)) {
        fputs(usage, stderr);
        return 2;
    }
    wick_status *status = open_runtime(&p);
    if (status) fprintf(stderr, "wick-parity: %s\n", wick_status_message(status));
    int code = status ? 2 : run(&p);
    wick_status_free(status);
    wick_context_destroy(p.c);
    wick_runtime_release(p.runtime);
    return code;
}
