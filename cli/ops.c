/* wick ops */
#include "cli.h"

#include <fnmatch.h>

typedef struct listing {
    wick_runtime *runtime;
    const char *pattern; /* NULL: all */
    int backend;         /* device type; 0: any */
    bool missing;
    int shown;
} listing;

static const char *kind_name(wick_op_kind kind) {
    static const char *const names[] = {"", "primitive", "composite", "implicit", "view", "core"};
    return (unsigned)kind < sizeof names / sizeof names[0] ? names[kind] : "";
}

static bool matches(const listing *l, const char *name) {
    if (!l->pattern) return true;
    return strpbrk(l->pattern, "*?[") ? !fnmatch(l->pattern, name, 0) : strstr(name, l->pattern) != NULL;
}

/* Names of the backends with a kernel, separated by commas. */
static bool implementers(const listing *l, const wick_op *op, char *out, size_t bytes) {
    const wick_backend_info *b;
    size_t used = 0;
    bool wanted = false;
    *out = 0;
    for (int i = 0; (b = wick_runtime_backend(l->runtime, i)) != NULL; ++i) {
        if (b->state != WICK_BACKEND_READY || !wick_op_has_kernel(l->runtime, op, b->device_type)) continue;
        if (!l->backend || l->backend == b->device_type) wanted = true;
        if (used < bytes) used += (size_t)snprintf(out + used, bytes - used, "%s%s", used ? "," : "", b->name);
    }
    return wanted;
}

static void show(listing *l, const wick_op *op) {
    wick_op_info info = {.struct_size = sizeof info};
    char names[128];
    wick_op_describe(op, &info);
    if (!matches(l, info.name)) return;
    bool kernel = implementers(l, op, names, sizeof names);
    if (l->missing ? kernel || info.kind != WICK_OP_PRIMITIVE : l->backend && !kernel) return;
    printf("%-9s %-8s %s\n", kind_name(info.kind), *names ? names : "-", info.schema);
    l->shown++;
}

static int backend_type(wick_runtime *runtime, const char *name) {
    const wick_backend_info *b;
    for (int i = 0; (b = wick_runtime_backend(runtime, i)) != NULL; ++i)
        if (!strcmp(b->name, name) && b->state == WICK_BACKEND_READY) return b->device_type;
    return 0;
}

static wick_status *list(listing *l, const options *o) {
    const wick_op *op;
    WICK_TRY(make_runtime(&l->runtime));
    WICK_TRY(wick_runtime_load_default(l->runtime, o->config));
    if (o->backend && !(l->backend = backend_type(l->runtime, o->backend)))
        return WICK_ERROR(WICK_NOT_FOUND, "no backend '%s' is ready; wick info says why", o->backend);
    for (int i = 0; (op = wick_op_at(l->runtime, i)) != NULL; ++i) show(l, op);
    fprintf(stderr, "%d operators\n", l->shown);
    return NULL;
}

int run_ops(int argc, char **argv) {
    options o;
    listing l = {NULL, NULL, 0, false, 0};
    if (!parse_options("ops", argc, argv, "bmc", &o)) return EXIT_USAGE;
    if (argc - optind > 1) return usage_error("ops", "wanted one pattern, got %d arguments", argc - optind);
    l.pattern = argc > optind ? argv[optind] : NULL;
    l.missing = o.missing;
    int code = report(list(&l, &o), EXIT_FAILED);
    if (l.runtime) wick_runtime_release(l.runtime);
    return code;
}
