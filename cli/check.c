/* wick check */
#include "cli.h"

#include <check.h>

#define EVERY_MODE ((1u << CHECK_MODE_COUNT) - 1)

enum {
    OPTION_MODE = 256,
    OPTION_REPORT,
    OPTION_OUTPUT,
    OPTION_SET,
    OPTION_KNOWN,
    OPTION_ONLY,
    OPTION_PART,
    OPTION_AGAINST,
    OPTION_GOLDENS,
    OPTION_COVERAGE,
    OPTION_TIMEOUT,
    OPTION_QUICK,
    OPTION_IN_PROCESS
};

static const struct option known[] = {
    {"mode", required_argument, NULL, OPTION_MODE},       {"report", required_argument, NULL, OPTION_REPORT},
    {"output", required_argument, NULL, OPTION_OUTPUT},   {"set", required_argument, NULL, OPTION_SET},
    {"known", required_argument, NULL, OPTION_KNOWN},     {"only", required_argument, NULL, OPTION_ONLY},
    {"part", required_argument, NULL, OPTION_PART},       {"against", required_argument, NULL, OPTION_AGAINST},
    {"goldens", required_argument, NULL, OPTION_GOLDENS}, {"coverage", required_argument, NULL, OPTION_COVERAGE},
    {"timeout", required_argument, NULL, OPTION_TIMEOUT}, {"quick", no_argument, NULL, OPTION_QUICK},
    {"in-process", no_argument, NULL, OPTION_IN_PROCESS}, {NULL, 0, NULL, 0},
};

static const struct {
    const char *name;
    void (*write)(const check_report *report, FILE *to);
} formats[] = {{"text", check_write_text}, {"json", check_write_json}, {"html", check_write_html}};

typedef struct request {
    check_options options;
    const char *sets[SETS_LIMIT];
    const char *output, *coverage;
    void (*write)(const check_report *report, FILE *to);
} request;

/* ---- options ---- */
/* "load", "ops,grad" or "all". */
static bool read_modes(const char *list, uint32_t *out) {
    *out = strcmp(list, "all") == 0 ? EVERY_MODE : 0;
    for (const char *s = list; !(*out == EVERY_MODE) && *s;) {
        size_t n = strcspn(s, ",");
        int m = 0;
        while (m < CHECK_MODE_COUNT &&
               (strncmp(check_mode_name((check_mode)m), s, n) != 0 || check_mode_name((check_mode)m)[n] != '\0'))
            ++m;
        if (m == CHECK_MODE_COUNT) return false;
        *out |= 1u << m;
        s += n + (s[n] == ',');
    }
    return *out != 0;
}

static bool read_format(const char *name, request *q) {
    q->write = NULL;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; ++i)
        if (strcmp(formats[i].name, name) == 0) q->write = formats[i].write;
    return q->write != NULL;
}

static bool add_set(request *q, const char *set) {
    const char *equals = strchr(set, '=');
    if (!equals || equals == set || q->options.set_count == SETS_LIMIT) return false;
    q->sets[q->options.set_count++] = set;
    return true;
}

/* 0 if it is no number from 1 to 86400. */
static int read_seconds(const char *text) {
    char *end;
    long n = strtol(text, &end, 10);
    return end == text || *end || n < 1 || n > 86400 ? 0 : (int)n;
}

/* K/N */
static bool read_part(const char *text, check_options *o) {
    char *end;
    const long part = strtol(text, &end, 10), parts = *end == '/' ? strtol(end + 1, &end, 10) : 0;
    if (*end || part < 1 || part > parts || parts > 1000) return false;
    o->part = (int)part, o->parts = (int)parts;
    return true;
}

static bool keep(request *q, int option, const char *value) {
    check_options *o = &q->options;
    switch (option) {
    case OPTION_MODE: return read_modes(value, &o->modes);
    case OPTION_REPORT: return read_format(value, q);
    case OPTION_SET: return add_set(q, value);
    case OPTION_TIMEOUT: return (o->timeout_seconds = read_seconds(value)) > 0;
    case OPTION_OUTPUT: q->output = value; break;
    case OPTION_KNOWN: o->known = value; break;
    case OPTION_ONLY: o->only = value; break;
    case OPTION_PART: return read_part(value, o);
    case OPTION_AGAINST: o->against = value; break;
    case OPTION_GOLDENS: o->goldens = value; break;
    case OPTION_COVERAGE: q->coverage = value; break;
    case OPTION_QUICK: o->flags |= CHECK_QUICK; break;
    default: o->flags |= CHECK_IN_PROCESS;
    }
    return true;
}

/* Exit code; EXIT_OK if all is understood. */
static int read_options(int argc, char **argv, request *q) {
    int option, index = 0;
    *q = (request){.options = {.modes = EVERY_MODE}, .write = check_write_text};
    opterr = 0, optind = 0;
    while ((option = getopt_long(argc, argv, ":", known, &index)) != -1) {
        if (option == ':') return usage_error("check", "%s wants a value", argv[optind - 1]);
        if (option == '?') return usage_error("check", "unknown option '%s'", argv[optind - 1]);
        if (!keep(q, option, optarg)) return usage_error("check", "--%s does not take '%s'", known[index].name, optarg);
    }
    if (argc - optind != 1) return usage_error("check", "wanted one plugin, got %d arguments", argc - optind);
    q->options.plugin = argv[optind];
    q->options.sets = q->sets;
    return EXIT_OK;
}

/* ---- the reports ---- */
static wick_status *write_to(const char *path, const check_report *r,
                             void (*write)(const check_report *report, FILE *to)) {
    FILE *file = fopen(path, "w");
    if (!file) return WICK_ERROR(WICK_IO, "%s: cannot be written", path);
    write(r, file);
    bool failed = ferror(file);
    if (fclose(file) || failed) return WICK_ERROR(WICK_IO, "%s: cannot be written", path);
    return NULL;
}

static wick_status *write_reports(const request *q, const check_report *r) {
    if (q->coverage) WICK_TRY(write_to(q->coverage, r, check_write_coverage));
    if (q->output) return write_to(q->output, r, q->write);
    q->write(r, stdout);
    return NULL;
}

int run_check(int argc, char **argv) {
    request q;
    check_report *r = NULL;
    int code = read_options(argc, argv, &q);
    if (code) return code;
    code = report(check_run(&q.options, &r), EXIT_USAGE);
    if (!code) code = report(write_reports(&q, r), EXIT_USAGE);
    if (!code && check_failures(r)) code = EXIT_FAILED;
    if (q.output && !code) printf("0 failures\n");
    if (q.output && code == EXIT_FAILED) printf("%llu failures: %s\n", (unsigned long long)check_failures(r), q.output);
    check_report_free(r);
    return code;
}
