/* wick info */
#include "cli.h"

static const char *state_name(wick_backend_state state) {
    static const char *const names[] = {"absent", "found", "refused", "no device", "ready"};
    return (unsigned)state < sizeof names / sizeof names[0] ? names[state] : "unknown";
}

/* The n-th device of all backends; false past the end. */
static bool device_at(wick_runtime *runtime, int n, wick_device *out) {
    const wick_backend_info *b;
    for (int i = 0; (b = wick_runtime_backend(runtime, i)) != NULL; ++i) {
        if (b->state != WICK_BACKEND_READY) continue;
        *out = (wick_device){(int16_t)b->device_type, (int16_t)n};
        if (n < b->device_count) return true;
        n -= b->device_count;
    }
    return false;
}

static bool same_hardware(wick_runtime *runtime, wick_device device, const char *id) {
    wick_device_info info = {.struct_size = sizeof info};
    wick_status *status = wick_device_query(runtime, device, &info);
    bool same = !status && *id && strcmp(info.hardware_id, id) == 0;
    wick_status_free(status);
    return same;
}

/* What several backends see is listed once, at the first of them, with the names it has at the others. */
static bool print_names(wick_runtime *runtime, wick_device device, const char *id) {
    wick_device other;
    char name[64];
    bool seen = false;
    for (int i = 0; device_at(runtime, i, &other) && !wick_device_equal(other, device); ++i)
        if (same_hardware(runtime, other, id)) return false;
    printf("  device");
    for (int i = 0; device_at(runtime, i, &other); ++i) {
        seen = seen || wick_device_equal(other, device);
        if (!seen || !(wick_device_equal(other, device) || same_hardware(runtime, other, id))) continue;
        printf("%s %s", wick_device_equal(other, device) ? "" : ",",
               wick_device_format(runtime, other, name, sizeof name));
    }
    return true;
}

/* 0: the backend does not know. */
static void print_bytes(uint64_t bytes, const char *what) {
    if (bytes) printf(", %.1f GiB %s", (double)bytes / (1 << 30), what);
}

static void print_device(wick_runtime *runtime, wick_device device) {
    wick_device_info info = {.struct_size = sizeof info};
    char name[64];
    wick_status *status = wick_device_query(runtime, device, &info);
    if (status) {
        printf("  device %s: %s\n", wick_device_format(runtime, device, name, sizeof name),
               wick_status_message(status));
        wick_status_free(status);
        return;
    }
    if (!print_names(runtime, device, info.hardware_id)) return;
    printf(": %s", info.name);
    print_bytes(info.memory_bytes, "of memory");
    print_bytes(info.memory_free_bytes, "free");
    puts("");
    if (*info.hardware_id) printf("    id %s\n", info.hardware_id);
    if (*info.features) printf("    features %s\n", info.features);
}

static void print_lines(const char *label, const char *text) {
    while (*text) {
        size_t n = strcspn(text, "\n");
        printf("  %s %.*s\n", label, (int)n, text);
        text += n + (text[n] == '\n');
    }
}

static void print_backend(wick_runtime *runtime, const wick_backend_info *b, bool why) {
    printf("%s: %s", b->name, state_name(b->state));
    if (*b->version) printf(", version %s", b->version);
    printf("\n  path %s\n", *b->path ? b->path : "(none)");
    if (*b->reason) printf("  reason (at %s) %s\n", b->stage, b->reason);
    if (why) print_lines("tried", b->tried);
    if (why) print_lines("note", b->notes);
    if (b->state != WICK_BACKEND_READY) return;
    for (int32_t i = 0; i < b->device_count; ++i)
        print_device(runtime, (wick_device){(int16_t)b->device_type, (int16_t)i});
}

int run_info(int argc, char **argv) {
    options o;
    char ini[PATH_BYTES] = "";
    wick_runtime *runtime = NULL;
    const wick_backend_info *backend;
    if (!parse_options("info", argc, argv, "wc", &o)) return EXIT_USAGE;
    if (argc > optind) return usage_error("info", "unknown argument '%s'", argv[optind]);
    wick_status *status = wick_config_find(o.config, ini, sizeof ini);
    if (!status) status = make_runtime(&runtime);
    if (!status) status = wick_runtime_load_default(runtime, *ini ? ini : NULL);
    printf("wick %s\nINI %s\n", WICK_VERSION_STRING,
           *ini ? ini : "(none: every plugin of the install folder is tried)");
    for (int i = 0; runtime && (backend = wick_runtime_backend(runtime, i)) != NULL; ++i)
        print_backend(runtime, backend, o.why);
    int code = report(status, EXIT_FAILED);
    if (runtime) wick_runtime_release(runtime);
    return code;
}
