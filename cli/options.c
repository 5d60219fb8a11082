/* Options, messages. */
#include "cli.h"

#include <stdarg.h>

static const struct option known[] = {
    {"set", required_argument, NULL, 's'},    {"config", required_argument, NULL, 'c'},
    {"out", required_argument, NULL, 'o'},    {"data", required_argument, NULL, 'd'},
    {"labels", required_argument, NULL, 'l'}, {"backend", required_argument, NULL, 'b'},
    {"format", required_argument, NULL, 'f'}, {"resume", no_argument, NULL, 'r'},
    {"quiet", no_argument, NULL, 'q'},        {"why", no_argument, NULL, 'w'},
    {"missing", no_argument, NULL, 'm'},      {NULL, 0, NULL, 0},
};

int usage_error(const char *name, const char *format, ...) {
    va_list args;
    fprintf(stderr, "wick %s: ", name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    for (size_t i = 0; i < command_count; ++i)
        if (!strcmp(commands[i].name, name)) fprintf(stderr, "usage: %s\n", commands[i].usage);
    return EXIT_USAGE;
}

/* What lies behind the error, unless its message tells it already. */
static void print_causes(const wick_status *status) {
    for (const wick_status *cause; (cause = wick_status_cause(status)) != NULL; status = cause)
        if (!strstr(wick_status_message(status), wick_status_message(cause)))
            fprintf(stderr, ": %s", wick_status_message(cause));
    fputc('\n', stderr);
}

int report(wick_status *status, int code) {
    if (!status) return EXIT_OK;
    fprintf(stderr, "wick: %s", wick_status_message(status));
    print_causes(status);
    wick_status_free(status);
    return code;
}

static bool add_set(const char *name, options *o, const char *assignment) {
    if (o->set_count == SETS_LIMIT) return usage_error(name, "more than %d times --set", SETS_LIMIT), false;
    o->sets[o->set_count++] = assignment;
    return true;
}

static bool keep(const char *name, options *o, int letter, const char *value) {
    switch (letter) {
    case 's': return add_set(name, o, value);
    case 'c': o->config = value; break;
    case 'o': o->out = value; break;
    case 'd': o->data = value; break;
    case 'l': o->labels = value; break;
    case 'b': o->backend = value; break;
    case 'f': o->format = value; break;
    case 'r': o->resume = true; break;
    case 'q': o->quiet = true; break;
    case 'w': o->why = true; break;
    default: o->missing = true;
    }
    return true;
}

static const char *name_of(int letter) {
    const struct option *o = known;
    while (o->name && o->val != letter) ++o;
    return o->name ? o->name : "?";
}

bool parse_options(const char *name, int argc, char **argv, const char *letters, options *out) {
    int letter;
    memset(out, 0, sizeof *out);
    opterr = 0, optind = 0;
    while ((letter = getopt_long(argc, argv, ":", known, NULL)) != -1) {
        if (letter == ':') return usage_error(name, "--%s wants a value", name_of(optopt)), false;
        if (letter == '?') return usage_error(name, "unknown option '%s'", argv[optind - 1]), false;
        if (!strchr(letters, letter)) return usage_error(name, "it has no option --%s", name_of(letter)), false;
        if (!keep(name, out, letter, optarg)) return false;
    }
    return true;
}
