/* wick new: writes a project from the templates. */
#include "cli.h"
#include "templates.h"

#include <ctype.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_LIMIT 31 /* of a device's name */
#define PLACEHOLDER "@NAME@"

typedef struct project {
    const char *name, *kind;
    char folder[PATH_BYTES];
} project;

/* ---- checks ---- */
/* Words that cannot name a C identifier, a CMake target or a plugin of a user's own. */
static const char *const taken[] = {
    "all",      "auto",   "bool",     "break",   "case",     "char",   "clean",  "const",  "continue", "cpu",
    "default",  "do",     "double",   "else",    "enum",     "extern", "false",  "float",  "for",      "goto",
    "help",     "if",     "inline",   "install", "int",      "long",   "main",   "meta",   "package",  "register",
    "restrict", "return", "short",    "signed",  "sizeof",   "static", "struct", "switch", "test",     "true",
    "typedef",  "union",  "unsigned", "void",    "volatile", "while",  "wick",
};

static const char *name_error(const char *name) {
    if (!isalpha((unsigned char)name[0])) return "wanted a C identifier that begins with a letter";
    for (const char *p = name; *p; ++p)
        if (!isalnum((unsigned char)*p) && *p != '_') return "wanted a C identifier: letters, digits and _";
    if (strlen(name) > NAME_LIMIT) return "wanted at most 31 letters";
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; ++i)
        if (!strcmp(name, taken[i])) return "that word has another meaning; wanted a name of your own";
    return NULL;
}

static bool kind_exists(const char *kind) {
    for (size_t i = 0; i < template_file_count; ++i)
        if (!strcmp(template_files[i].kind, kind)) return true;
    return false;
}

/* ---- writing ---- */
/* Copies `text` with `from` replaced by `to`; the caller frees it. NULL without memory. */
static char *replaced(const char *text, const char *from, const char *to) {
    const size_t a = strlen(from), b = strlen(to);
    size_t bytes = strlen(text) + 1;
    for (const char *p = text; (p = strstr(p, from)) != NULL; p += a) bytes += b;
    char *out = malloc(bytes), *end = out;
    for (const char *p = text, *next; out && *p; p = next) {
        next = strstr(p, from);
        size_t n = next ? (size_t)(next - p) : strlen(p);
        memcpy(end, p, n), end += n;
        if (!next) break;
        memcpy(end, to, b), end += b, next += a;
    }
    if (out) *end = '\0';
    return out;
}

static wick_status *make_folder(const char *path) {
    if (!mkdir(path, 0777)) return NULL;
    if (errno == EEXIST) return WICK_ERROR(WICK_FAILED_PRECONDITION, "%s is there already; wanted a new folder", path);
    return WICK_ERROR(WICK_IO, "cannot make the folder %s: %s", path, strerror(errno));
}

/* Makes the folders of project/a/b.c below the project's. */
static wick_status *make_parents(const project *p, char *path) {
    for (char *slash = path + strlen(p->folder) + 1; (slash = strchr(slash, '/')) != NULL; ++slash) {
        *slash = '\0';
        wick_status *status = access(path, F_OK) ? make_folder(path) : NULL;
        *slash = '/';
        WICK_TRY(status);
    }
    return NULL;
}

static wick_status *write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "wx");
    if (!file) return WICK_ERROR(WICK_IO, "cannot write %s: %s", path, strerror(errno));
    const bool failed = fputs(text, file) < 0;
    if (fclose(file) || failed) return WICK_ERROR(WICK_IO, "cannot write %s: %s", path, strerror(errno));
    return NULL;
}

static wick_status *write_file(const project *p, const template_file *t) {
    char path[PATH_BYTES];
    char *file = replaced(t->path, "plugin", p->name), *text = replaced(t->text, PLACEHOLDER, p->name);
    wick_status *status = NULL;
    if (!file || !text) status = WICK_ERROR(WICK_OUT_OF_MEMORY, "no memory for %s", t->path);
    if (!status && snprintf(path, sizeof path, "%s/%s", p->folder, file) >= (int)sizeof path)
        status = WICK_ERROR(WICK_OUT_OF_RANGE, "the path of %s is too long", file);
    if (!status) status = make_parents(p, path);
    if (!status) status = write_text(path, text);
    free(file);
    free(text);
    return status;
}

static wick_status *write_project(const project *p) {
    WICK_TRY(make_folder(p->folder));
    for (size_t i = 0; i < template_file_count; ++i)
        if (!strcmp(template_files[i].kind, p->kind)) WICK_TRY(write_file(p, &template_files[i]));
    printf("%s: the project of a plugin of kind %s. Build and test it:\n"
           "  cmake -S %s -B %s/build && cmake --build %s/build && ctest --test-dir %s/build\n",
           p->folder, p->kind, p->folder, p->folder, p->folder, p->folder);
    return NULL;
}

/* ---- the command ---- */
static const struct option known[] = {
    {"kind", required_argument, NULL, 'k'}, {"output", required_argument, NULL, 'o'}, {NULL, 0, NULL, 0}};

/* True if all is there; else a usage error was printed. */
static bool read_arguments(int argc, char **argv, project *p) {
    const char *output = NULL;
    int letter;
    opterr = 0, optind = 0;
    while ((letter = getopt_long(argc, argv, ":", known, NULL)) != -1) {
        if (letter == ':') return usage_error("new", "%s wants a value", argv[optind - 1]), false;
        if (letter == '?') return usage_error("new", "unknown option '%s'", argv[optind - 1]), false;
        *(letter == 'k' ? &p->kind : &output) = optarg;
    }
    if (argc - optind != 2 || strcmp(argv[optind], "plugin") != 0)
        return usage_error("new", "wanted the word plugin and a name"), false;
    p->name = argv[optind + 1];
    const char *wrong = name_error(p->name);
    if (wrong) return usage_error("new", "got the name '%s': %s", p->name, wrong), false;
    if (!p->kind || !kind_exists(p->kind))
        return usage_error("new", "got --kind %s, wanted device, ops or model", p->kind ? p->kind : "nothing"), false;
    if (snprintf(p->folder, sizeof p->folder, "%s", output ? output : p->name) >= (int)sizeof p->folder)
        return usage_error("new", "the folder's path is too long"), false;
    return true;
}

int run_new(int argc, char **argv) {
    project p = {NULL, NULL, ""};
    if (!read_arguments(argc, argv, &p)) return EXIT_USAGE;
    return report(write_project(&p), EXIT_FAILED);
}
